//! Copa: the rate moves towards 1 / (delta dq), where dq is the queueing delay.
//!
//! Arun, Balakrishnan, *Copa: Practical Delay-Based Congestion Control for the Internet*, NSDI
//! 2018; section numbers are those of the paper. `dq = RTTstanding - RTTmin`, where `RTTstanding`
//! is the least RTT of the last SRTT / 2, and `RTTmin` is the least of the last 10 s. Each ACK
//! raises or lowers cwnd by `v / (delta cwnd)` segments per acknowledged segment. The velocity `v`
//! doubles while the direction stays the same. Against flows that fill the queue, delta itself
//! follows AIMD ([`mode`]).

mod mode;

use super::PACED_HEADERS;
use super::extras::access;
use super::fraction::Fraction;
use super::metric::metric;
use super::recent::Recent;
use super::{
    Ack, Algorithm, CongestionControl, Context, Control, Extras, Input, Loss, Parameter, Range,
    RateSample, RateSampled, RecoveryWindow, Resumable, Setting, Start, UndoReduction, Undone,
};
use crate::seq::Offset;
use crate::time::{Interval, NANOS_PER_SEC};
use mode::Mode;

/// Window of `RTTmin` (2.1).
const MIN_RTT_WINDOW: Interval = Interval::from_secs(10);
/// Rounds in one direction after which the velocity doubles each round (2.1, step 3).
const STEADY_ROUNDS: u32 = 3;
/// Least cwnd in segments.
const MIN_CWND: u64 = 2;

/// State that an undo restores.
#[derive(Clone, Copy, PartialEq, Debug)]
struct State {
    slow_start: bool,
    velocity: f64,
    /// Set if cwnd rose over the last round.
    up: bool,
    /// Rounds in this direction.
    rounds: u32,
    /// SND.MAX and cwnd at the start of the round.
    round_end: Offset,
    round_window: u64,
    /// 1 / delta of the competitive mode.
    mode: Mode,
}

/// The Copa controller.
#[derive(Debug)]
pub struct Copa {
    window: Fraction,
    ssthresh: u64,
    mss: u64,
    min_rtt: Recent,
    standing: Recent,
    /// Largest RTT of four RTTs, for the detection of flows that fill the queue.
    largest: Recent,
    state: State,
    saved: Option<State>,
}

impl Copa {
    /// Description of Copa for the table of algorithms.
    pub const ALGORITHM: Algorithm = Algorithm {
        name: "copa",
        summary: "target rate 1 / (delta dq), velocity, competitive mode (Arun, Balakrishnan 2018)",
        parameters: &[
            Parameter {
                name: "delta",
                doc: "delta of the default mode: 1 / delta segments of the flow stay in the queue \
                      on average (2.1)",
                default: Setting::Number(0.5),
                range: Range::Number(0.001, 10.0),
            },
            Parameter {
                name: "competitive",
                doc: "competitive mode: if the queue was not nearly empty within five round \
                      trips, 1 / delta rises by 1 a round trip and is halved by a loss (2.2)",
                default: Setting::Flag(true),
                range: Range::Flag,
            },
        ],
        metrics: &[
            metric!(
                "delta",
                "",
                "delta, the weight of delay against rate",
                |copa: &Self, _: &Context<'_>| Some(copa.state.mode.delta())
            ),
            metric!(
                "velocity",
                "",
                "v, the speed at which cwnd moves",
                |copa: &Self, _: &Context<'_>| Some(copa.state.velocity)
            ),
            metric!(
                "queueing_delay",
                "s",
                "dq, RTTstanding - RTTmin",
                |copa: &Self, _: &Context<'_>| copa.queueing().map(Interval::as_secs_f64)
            ),
        ],
        // Losses do not use FlightSize in the default mode, and Copa paces by itself.
        inputs: &[Input::Window, Input::InitialWindow, Input::IdleRestart],
        recovery_window: |_| RecoveryWindow::Controller,
        extras: Extras {
            undo: access!(Self),
            rate: access!(Self),
            resume: access!(Self),
            ..Extras::NONE
        },
        build: |control, start| Box::new(Self::new(control, start)),
    };

    fn new(control: &Control, start: Start) -> Self {
        Self {
            window: Fraction::new(start.window),
            ssthresh: u64::MAX,
            mss: u64::MAX,
            min_rtt: Recent::least(),
            standing: Recent::least(),
            largest: Recent::largest(),
            state: State {
                slow_start: true,
                velocity: 1.0,
                up: true,
                rounds: 0,
                round_end: 0,
                round_window: start.window,
                mode: Mode::new(control.number("delta"), control.flag("competitive")),
            },
            saved: None,
        }
    }

    /// Returns dq, the queueing delay.
    fn queueing(&self) -> Option<Interval> {
        Some(self.standing.get()?.saturating_sub(self.min_rtt.get()?))
    }

    /// Adds an RTT to the filters.
    fn measure(&mut self, cx: &Context<'_>, rtt: Interval) {
        let srtt = cx.rtt.srtt().unwrap_or(rtt);
        self.min_rtt.add(cx.now, rtt, MIN_RTT_WINDOW);
        self.standing.add(cx.now, rtt, srtt / 2);
        self.largest.add(cx.now, rtt, srtt * 4);
        if let (Some(queueing), Some(most), Some(least)) =
            (self.queueing(), self.largest.get(), self.min_rtt.get())
        {
            let spread = most.saturating_sub(least);
            self.state.mode.on_delay(cx.now, queueing, spread, srtt);
        }
    }

    /// Returns whether cwnd / `RTTstanding` is at most the target rate `1 / (delta dq)`, compared
    /// without a division by zero.
    fn below_target(&self, mss: u64) -> bool {
        let (Some(queueing), Some(standing)) = (self.queueing(), self.standing.get()) else {
            return true;
        };
        let segments = self.window.bytes() as f64 / mss as f64;
        let load = segments * self.state.mode.delta() * queueing.as_nanos() as f64;
        load <= standing.as_nanos() as f64
    }

    /// Compares cwnd with that at the start of the round, and doubles or resets the velocity (2.1,
    /// step 3).
    fn end_round(&mut self, cx: &Context<'_>) {
        let cwnd = self.window.bytes();
        let up = cwnd > self.state.round_window;
        if up == self.state.up {
            self.state.rounds += 1;
            if self.state.rounds >= STEADY_ROUNDS {
                self.state.velocity *= 2.0;
            }
        } else {
            self.turn(up);
        }
        self.state.round_end = cx.snd_max;
        self.state.round_window = cwnd;
        self.state.mode.on_round();
    }

    /// Changes the direction; the velocity starts again at 1.
    fn turn(&mut self, up: bool) {
        (self.state.up, self.state.rounds, self.state.velocity) = (up, 0, 1.0);
    }

    /// Moves cwnd for `bytes` delivered.
    fn follow(&mut self, cx: &Context<'_>, bytes: u64, used: bool) {
        let rises = self.below_target(cx.mss);
        if self.state.slow_start && rises {
            if used {
                self.window.add(bytes as f64, 0);
            }
            return;
        }
        if std::mem::take(&mut self.state.slow_start) {
            self.ssthresh = self.window.bytes();
            self.turn(false);
            self.state.round_end = cx.snd_max;
            self.state.round_window = self.window.bytes();
        }
        if rises && !used {
            return;
        }
        // The velocity of the previous direction would overshoot the target.
        if rises != self.state.up && self.state.velocity > 1.0 {
            self.turn(rises);
            self.state.round_end = cx.snd_max;
            self.state.round_window = self.window.bytes();
        }
        let cwnd = self.window.bytes().max(1) as f64;
        let mss = cx.mss as f64;
        // At most cwnd per RTT, the growth of slow start.
        let speed = (self.state.velocity / self.state.mode.delta()).min(cwnd / mss);
        let change = speed * bytes as f64 * mss / cwnd;
        let least = (MIN_CWND * cx.mss).min(self.window.bytes());
        self.window.add(if rises { change } else { -change }, least);
    }
}

impl CongestionControl for Copa {
    fn cwnd(&self) -> u64 {
        self.window.bytes()
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn in_slow_start(&self) -> bool {
        self.state.slow_start
    }

    fn on_established(&mut self, cx: &Context<'_>) {
        self.mss = cx.mss;
        if let Some(rtt) = cx.rtt.latest() {
            self.measure(cx, rtt);
        }
    }

    /// Does nothing, because [`Self::on_rate_sample`] processes the same ACK.
    fn on_ack(&mut self, _cx: &Context<'_>, _ack: &Ack) {}

    /// Leaves cwnd unchanged; in the competitive mode delta doubles (2.2).
    fn on_loss(&mut self, _cx: &Context<'_>, _loss: &Loss) {
        self.state.mode.on_loss();
    }

    fn on_timeout(&mut self, cx: &Context<'_>, _first: bool) {
        self.state.mode.on_loss();
        self.collapse(cx.mss);
        self.state.slow_start = true;
        self.turn(true);
    }

    fn collapse(&mut self, window: u64) {
        self.window.set(window);
    }

    fn on_idle(&mut self, _cx: &Context<'_>, initial_window: u64) {
        self.window.set(self.window.bytes().min(initial_window));
    }

    /// Returns 2 cwnd / `RTTstanding`, with headers (2.1: pacing).
    fn pacing_rate(&self) -> Option<u64> {
        let standing = self.standing.get().filter(|rtt| !rtt.is_zero())?.as_nanos();
        let cwnd = self.window.bytes();
        let bytes = cwnd + cwnd.div_ceil(self.mss.max(1)) * u64::from(PACED_HEADERS);
        let bits = 2 * 8 * u128::from(bytes);
        u64::try_from(bits * u128::from(NANOS_PER_SEC) / u128::from(standing)).ok()
    }
}

impl RateSampled for Copa {
    fn on_rate_sample(&mut self, cx: &Context<'_>, sample: &RateSample) {
        if let Some(rtt) = sample.rtt {
            self.measure(cx, rtt);
        }
        if cx.snd_una > self.state.round_end && !self.state.slow_start {
            self.end_round(cx);
        }
        // Pacing seldom lets cwnd stop the sender, so half of cwnd in flight is enough for growth.
        let used = 2 * sample.prior_flight >= self.window.bytes();
        self.follow(cx, sample.newly_delivered, used);
    }

    fn limits_itself(&self) -> bool {
        false
    }

    fn on_transmit_start(&mut self, _cx: &Context<'_>) {}
}

impl UndoReduction for Copa {
    fn save(&mut self) {
        self.saved = Some(self.state);
    }

    fn on_spurious(&mut self, _cx: &Context<'_>, undone: &Undone) {
        self.window.set(undone.window);
        self.ssthresh = undone.ssthresh;
        if let Some(state) = self.saved.take() {
            self.state = state;
        }
    }
}

impl Resumable for Copa {
    fn may_jump(&self) -> bool {
        self.state.slow_start
    }

    /// Sets ssthresh, which is informational. Copa's target rate ends slow start.
    fn limit(&mut self, ssthresh: u64, _grows: bool) {
        self.ssthresh = ssthresh;
    }
}

#[cfg(test)]
mod tests;
