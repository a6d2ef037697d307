//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus; section numbers are those of the draft).

use super::super::counting::AckCounting;
use super::super::extras::access;
use super::super::fraction::Fraction;
use super::super::metric::metric;
use super::super::{
    Ack, Algorithm, CongestionControl, Context, Control, Extras, Input, Loss, Parameter, Range,
    RecoveryWindow, Resumable, Setting, Start, UndoReduction, Undone, half_flight,
};
use super::delay::Delay;
use super::{FILTER, MIN_CWND};
use crate::time::{Instant, Interval};

/// Round trips between the end of slow start and the first slowdown, and in which a slowdown keeps
/// two segments (4.4).
const SLOWDOWN_RTTS: u64 = 2;

/// Description of LEDBAT++ for the table of algorithms.
pub static LEDBAT_PLUS_PLUS: Algorithm = Algorithm {
    name: "ledbat_plus_plus",
    summary: "gain by the base delay, multiplicative decrease, periodic slowdowns \
              (draft-irtf-iccrg-ledbat-plus-plus)",
    parameters: &[
        Parameter {
            name: "target",
            doc: "queueing delay above which cwnd shrinks (4.5)",
            default: Setting::Time(Interval::from_millis(60)),
            range: Range::Time(Interval::from_millis(1), Interval::from_secs(10)),
        },
        Parameter {
            name: "least_gain",
            doc: "N in GAIN = 1 / min(N, ceil(2 TARGET / base)) (4.2)",
            default: Setting::Count(16),
            range: Range::Count(1, 1_000_000),
        },
        Parameter {
            name: "constant",
            doc: "factor of the decrease in W += max(GAIN - constant W (delay / TARGET - 1), -W / \
                  2) per round trip (4.3)",
            default: Setting::Number(1.0),
            range: Range::Number(0.0, 1000.0),
        },
        Parameter {
            name: "slow_start_exit",
            doc: "share of the target at which the queueing delay ends the initial slow start (4.1)",
            default: Setting::Number(0.75),
            range: Range::Number(0.0, 1000.0),
        },
        Parameter {
            name: "slowdown_period",
            doc: "time between two slowdowns, as a multiple of the duration of the first (4.4)",
            default: Setting::Count(9),
            range: Range::Count(1, 1_000_000),
        },
        Parameter {
            name: "slowdowns",
            doc: "periodic slowdowns to two segments (4.4)",
            default: Setting::Flag(true),
            range: Range::Flag,
        },
        FILTER,
    ],
    metrics: &[
        metric!(
            "queueing_delay",
            "s",
            "queueing delay: least of the last RTTs less the least of ten minutes",
            |ledbat: &PlusPlus, _: &Context<'_>| {
                ledbat.delay.queueing().map(Interval::as_secs_f64)
            }
        ),
        metric!(
            "gain",
            "",
            "GAIN, the increase of cwnd in segments per round trip",
            |ledbat: &PlusPlus, _: &Context<'_>| Some(ledbat.gain())
        ),
        metric!(
            "slowdowns",
            "",
            "number of slowdowns so far",
            |ledbat: &PlusPlus, _: &Context<'_>| Some(ledbat.state.slowdowns.into())
        ),
    ],
    inputs: Input::ALL,
    recovery_window: |_| RecoveryWindow::Ssthresh,
    extras: Extras {
        undo: access!(PlusPlus),
        resume: access!(PlusPlus),
        ..Extras::NONE
    },
    build: |control, start| Box::new(PlusPlus::new(control, start)),
};

/// Phase of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Initial slow start, which a queueing delay of 3/4 of the target ends.
    Start,
    /// Congestion avoidance.
    Avoid,
    /// Two segments until this time.
    Freeze(Instant),
    /// Slow start up to ssthresh, after a slowdown or a time-out.
    Ramp,
}

/// State that an undo restores.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) phase: Phase,
    /// Start of the current slowdown.
    began: Option<Instant>,
    /// Start of the next slowdown.
    pub(super) next: Option<Instant>,
    pub(super) slowdowns: u32,
}

/// The LEDBAT++ controller.
#[derive(Debug)]
pub(super) struct PlusPlus {
    target: Interval,
    least_gain: u32,
    constant: f64,
    exit: f64,
    period: u64,
    slowing: bool,
    counting: AckCounting,
    pub(super) window: Fraction,
    pub(super) ssthresh: u64,
    pub(super) delay: Delay,
    pub(super) state: State,
    saved: Option<State>,
}

impl PlusPlus {
    pub(super) fn new(control: &Control, start: Start) -> Self {
        Self {
            target: control.time("target"),
            least_gain: control.count("least_gain"),
            constant: control.number("constant"),
            exit: control.number("slow_start_exit"),
            period: control.count("slowdown_period").into(),
            slowing: control.flag("slowdowns"),
            counting: AckCounting::new(start.byte_counting),
            window: Fraction::new(start.window),
            ssthresh: start.ssthresh,
            delay: Delay::new(control.count("current_filter")),
            state: State {
                phase: Phase::Start,
                began: None,
                next: None,
                slowdowns: 0,
            },
            saved: None,
        }
    }

    /// Returns GAIN = 1 / min(16, ceil(2 TARGET / base)) (4.2), or the least gain without a base.
    pub(super) fn gain(&self) -> f64 {
        let base = self.delay.base().map_or(0, Interval::as_nanos);
        let ratio = (2 * self.target.as_nanos()).checked_div(base);
        let divisor = match ratio {
            Some(whole) => whole + u64::from(whole * base < 2 * self.target.as_nanos()),
            None => u64::MAX,
        };
        1.0 / divisor.clamp(1, self.least_gain.into()) as f64
    }

    /// Returns the change of a window of `segments` per RTT (4.3).
    pub(super) fn change(&self, segments: f64, delay: Interval) -> f64 {
        let ratio = delay.as_nanos() as f64 / self.target.as_nanos() as f64;
        if ratio <= 1.0 {
            return self.gain();
        }
        (self.gain() - self.constant * segments * (ratio - 1.0)).max(-segments / 2.0)
    }

    fn rtt(cx: &Context<'_>) -> Interval {
        cx.rtt.srtt().unwrap_or_default()
    }

    /// Ends slow start and schedules the next slowdown: two RTTs after the initial slow start, and
    /// nine durations after the end of a slowdown (4.4).
    fn leave_slow_start(&mut self, cx: &Context<'_>) {
        self.state.phase = Phase::Avoid;
        self.ssthresh = self.ssthresh.min(self.window.bytes());
        let pause = match self.state.began.take() {
            Some(began) => cx.now.since(began).saturating_mul(self.period),
            None => Self::rtt(cx) * SLOWDOWN_RTTS,
        };
        if self.slowing {
            self.state.next = Some(cx.now + pause);
        }
    }

    /// Starts a slowdown: ssthresh stores cwnd, and cwnd is two segments for two RTTs (4.4).
    fn slow_down(&mut self, cx: &Context<'_>) {
        self.ssthresh = self.window.bytes();
        self.window
            .set((MIN_CWND * cx.mss).min(self.window.bytes()));
        self.state = State {
            phase: Phase::Freeze(cx.now + Self::rtt(cx) * SLOWDOWN_RTTS),
            began: Some(cx.now),
            next: None,
            slowdowns: self.state.slowdowns + 1,
        };
    }

    /// Increases cwnd by GAIN times the bytes acknowledged (4.1), up to ssthresh.
    fn slow_start(&mut self, cx: &Context<'_>, ack: &Ack) {
        let cwnd = self.window.bytes();
        if ack.cwnd_limited && cwnd < self.ssthresh {
            let bytes = self.counting.limited(ack.bytes, cx.mss) as f64;
            let room = (self.ssthresh - cwnd) as f64;
            self.window.add((self.gain() * bytes).min(room), 0);
        }
        if self.window.bytes() >= self.ssthresh {
            self.leave_slow_start(cx);
        }
    }

    fn avoid(&mut self, cx: &Context<'_>, ack: &Ack) {
        let cwnd = self.window.bytes().max(1) as f64;
        let delay = self.delay.queueing().unwrap_or_default();
        let change = self.change(cwnd / cx.mss as f64, delay);
        if change > 0.0 && !ack.cwnd_limited {
            return;
        }
        let share = (ack.bytes as f64 / cwnd).min(1.0);
        let least = (MIN_CWND * cx.mss).min(self.window.bytes());
        self.window.add(change * share * cx.mss as f64, least);
    }
}

impl CongestionControl for PlusPlus {
    fn cwnd(&self) -> u64 {
        self.window.bytes()
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn in_slow_start(&self) -> bool {
        matches!(self.state.phase, Phase::Start | Phase::Ramp)
    }

    fn on_delivered(&mut self, cx: &Context<'_>, ack: &Ack) {
        if let Some(rtt) = ack.fine_rtt {
            self.delay.add(cx.now, rtt);
        }
    }

    fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack) {
        match self.state.phase {
            Phase::Start => {
                let delay = self.delay.queueing().unwrap_or_default().as_nanos() as f64;
                if delay > self.exit * self.target.as_nanos() as f64 {
                    self.leave_slow_start(cx);
                } else {
                    self.slow_start(cx, ack);
                }
            }
            Phase::Avoid if self.state.next.is_some_and(|at| cx.now >= at) => self.slow_down(cx),
            Phase::Avoid => self.avoid(cx, ack),
            Phase::Freeze(until) if cx.now >= until => {
                self.state.phase = Phase::Ramp;
                self.slow_start(cx, ack);
            }
            Phase::Freeze(_) => {}
            Phase::Ramp => self.slow_start(cx, ack),
        }
    }

    /// Halves the window as Reno does (RFC 6817, 2.4.2). The loss ends the initial slow start. A
    /// slowdown continues towards the reduced ssthresh.
    fn on_loss(&mut self, cx: &Context<'_>, _loss: &Loss) {
        self.ssthresh = half_flight(cx);
        let frozen = matches!(self.state.phase, Phase::Freeze(_) | Phase::Ramp);
        if frozen {
            self.window.set(self.window.bytes().min(self.ssthresh));
        } else {
            self.window.set(self.ssthresh);
        }
        if self.state.phase == Phase::Start {
            self.leave_slow_start(cx);
        }
    }

    fn on_recovered(&mut self, _cx: &Context<'_>, window: u64) {
        self.window.set(window);
    }

    fn on_timeout(&mut self, cx: &Context<'_>, first: bool) {
        if first {
            self.ssthresh = half_flight(cx);
        }
        self.collapse(cx.mss);
        self.counting.on_timeout();
        self.state.phase = Phase::Ramp;
    }

    fn collapse(&mut self, window: u64) {
        self.window.set(window);
    }

    fn raise_ssthresh(&mut self, least: u64) {
        self.ssthresh = self.ssthresh.max(least);
    }

    fn on_idle(&mut self, _cx: &Context<'_>, initial_window: u64) {
        self.window.set(self.window.bytes().min(initial_window));
    }
}

impl UndoReduction for PlusPlus {
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

impl Resumable for PlusPlus {
    fn may_jump(&self) -> bool {
        self.state.phase == Phase::Start
    }

    fn limit(&mut self, ssthresh: u64, grows: bool) {
        self.ssthresh = ssthresh;
        if grows {
            self.state.phase = Phase::Ramp;
        }
    }
}
