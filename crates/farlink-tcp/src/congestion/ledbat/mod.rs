//! LEDBAT and LEDBAT++: background transport whose queueing delay stays near a target.
//!
//! RFC 6817 (LEDBAT) and draft-irtf-iccrg-ledbat-plus-plus (LEDBAT++). LEDBAT changes cwnd by the
//! distance of the queueing delay from a target of 100 ms. LEDBAT++ has a target of 60 ms. It adds
//! a gain that depends on the path, a multiplicative decrease, and periodic slowdowns that drain
//! the queue so that the least RTT is measured. Both use RTTs as delays, as LEDBAT++ prescribes
//! (4.5), so a queue on the reverse path is included.

mod delay;
mod plus_plus;

use super::counting::AckCounting;
use super::extras::access;
use super::fraction::Fraction;
use super::metric::metric;
use super::{
    Ack, Algorithm, CongestionControl, Context, Control, Extras, Input, Loss, Parameter, Range,
    RecoveryWindow, Resumable, Setting, Start, UndoReduction, Undone, half_flight,
};
use crate::time::Interval;
use delay::Delay;
pub use plus_plus::LEDBAT_PLUS_PLUS;

/// `MIN_CWND` of RFC 6817 in segments; also the window of a slowdown of LEDBAT++.
const MIN_CWND: u64 = 2;

/// Number of recent samples of which the least is the current delay (LEDBAT++, 4.5: 4).
const FILTER: Parameter = Parameter {
    name: "current_filter",
    doc: "number of the last RTTs, the least of which is the current delay (RFC 6817, 2.4.2: \
          CURRENT_FILTER, at least 1; 4 in LEDBAT++)",
    default: Setting::Count(4),
    range: Range::Count(1, 1000),
};

/// Inputs of LEDBAT. The flight bounds cwnd, so no rule for the use of cwnd is needed. Without slow
/// start ssthresh has no effect.
const INPUTS: &[Input] = &[
    Input::Window,
    Input::InitialWindow,
    Input::Pacing,
    Input::FlightAtLoss,
    Input::RecoveryExit,
];

/// Description of LEDBAT for the table of algorithms.
pub static LEDBAT: Algorithm = Algorithm {
    name: "ledbat",
    summary: "cwnd moves by the distance of the queueing delay from a target (RFC 6817)",
    parameters: &[
        Parameter {
            name: "target",
            doc: "queueing delay that LEDBAT aims at (RFC 6817, 2.4.2: TARGET, at most 100 ms)",
            default: Setting::Time(Interval::from_millis(100)),
            range: Range::Time(Interval::from_millis(1), Interval::from_secs(10)),
        },
        Parameter {
            name: "gain",
            doc: "segments per round trip by which cwnd grows without queueing delay (RFC 6817, \
                  2.4.2: GAIN, at most 1)",
            default: Setting::Number(1.0),
            range: Range::Number(0.001, 100.0),
        },
        Parameter {
            name: "allowed_increase",
            doc: "segments by which cwnd may exceed the data in flight (RFC 6817, 2.4.2: \
                  ALLOWED_INCREASE)",
            default: Setting::Count(1),
            range: Range::Count(0, 1_000_000),
        },
        Parameter {
            name: "slow_start",
            doc: "slow start up to ssthresh before LEDBAT, which the pseudocode of RFC 6817 does \
                  not have; a loss or half of the target ends it",
            default: Setting::Flag(false),
            range: Range::Flag,
        },
        FILTER,
    ],
    metrics: &[
        metric!(
            "queueing_delay",
            "s",
            "queueing delay: least of the last RTTs less the least of ten minutes",
            |ledbat: &Ledbat, _: &Context<'_>| ledbat.delay.queueing().map(Interval::as_secs_f64)
        ),
        metric!(
            "target",
            "s",
            "TARGET, the queueing delay that LEDBAT aims at",
            |ledbat: &Ledbat, _: &Context<'_>| Some(ledbat.target.as_secs_f64())
        ),
    ],
    inputs: INPUTS,
    recovery_window: |_| RecoveryWindow::Ssthresh,
    extras: Extras {
        undo: access!(Ledbat),
        resume: access!(Ledbat),
        ..Extras::NONE
    },
    build: |control, start| Box::new(Ledbat::new(control, start)),
};

/// The LEDBAT controller.
#[derive(Debug)]
struct Ledbat {
    target: Interval,
    gain: f64,
    allowed_increase: u64,
    /// Set if slow start precedes LEDBAT.
    starts_slowly: bool,
    /// Set while slow start is on.
    slow_start: bool,
    saved_slow_start: bool,
    counting: AckCounting,
    window: Fraction,
    ssthresh: u64,
    delay: Delay,
}

impl Ledbat {
    fn new(control: &Control, start: Start) -> Self {
        Self {
            target: control.time("target"),
            gain: control.number("gain"),
            allowed_increase: control.count("allowed_increase").into(),
            starts_slowly: control.flag("slow_start"),
            slow_start: control.flag("slow_start"),
            saved_slow_start: false,
            counting: AckCounting::new(start.byte_counting),
            window: Fraction::new(start.window),
            ssthresh: start.ssthresh,
            delay: Delay::new(control.count("current_filter")),
        }
    }

    /// Returns whether the queueing delay is above half of the target.
    fn queues(&self) -> bool {
        self.delay.queueing().is_some_and(|d| d * 2 > self.target)
    }

    /// Moves cwnd by `GAIN off_target bytes MSS / cwnd`, with `off_target = (TARGET - delay) /
    /// TARGET`. An ACK counts at most cwnd bytes, as in libutp: after a time-out one ACK may cover
    /// the whole window of before.
    fn follow_target(&mut self, cx: &Context<'_>, ack: &Ack) {
        let Some(delay) = self.delay.queueing() else {
            return;
        };
        let off_target = 1.0 - delay.as_nanos() as f64 / self.target.as_nanos() as f64;
        if off_target > 0.0 && !ack.cwnd_limited {
            return;
        }
        let cwnd = self.window.bytes();
        let share = ack.bytes.min(cwnd) as f64 / cwnd.max(1) as f64;
        let least = (MIN_CWND * cx.mss).min(cwnd);
        let change = self.gain * off_target * share * cx.mss as f64;
        self.window.add(change, least);
        let most = cx.flight + self.allowed_increase * cx.mss;
        if self.window.bytes() > most.max(MIN_CWND * cx.mss) {
            self.window.set(most.max(MIN_CWND * cx.mss));
        }
    }
}

impl CongestionControl for Ledbat {
    fn cwnd(&self) -> u64 {
        self.window.bytes()
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn in_slow_start(&self) -> bool {
        self.slow_start && self.window.bytes() < self.ssthresh
    }

    fn on_delivered(&mut self, cx: &Context<'_>, ack: &Ack) {
        if let Some(rtt) = ack.fine_rtt {
            self.delay.add(cx.now, rtt);
        }
    }

    fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack) {
        self.slow_start &= !self.queues() && self.window.bytes() < self.ssthresh;
        if !self.slow_start {
            self.follow_target(cx, ack);
        } else if ack.cwnd_limited {
            let cwnd = self.window.bytes();
            let step = self
                .counting
                .slow_start(cwnd, self.ssthresh, ack.bytes, cx.mss);
            self.window.set(cwnd + step);
        }
    }

    /// Halves cwnd, once per RTT (RFC 6817, 2.4.2: `cwnd = min(cwnd, max(cwnd / 2, MIN_CWND))`).
    fn on_loss(&mut self, cx: &Context<'_>, _loss: &Loss) {
        self.slow_start = false;
        self.ssthresh = half_flight(cx);
        self.window.set(self.ssthresh);
    }

    fn on_recovered(&mut self, _cx: &Context<'_>, window: u64) {
        self.window.set(window);
    }

    /// Reduces cwnd to one segment (RFC 6817, 2.4.2: a CTO), from which it grows by `follow_target`.
    fn on_timeout(&mut self, cx: &Context<'_>, first: bool) {
        self.slow_start = false;
        if first {
            self.ssthresh = half_flight(cx);
        }
        self.collapse(cx.mss);
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

impl UndoReduction for Ledbat {
    fn save(&mut self) {
        self.saved_slow_start = self.slow_start;
    }

    fn on_spurious(&mut self, _cx: &Context<'_>, undone: &Undone) {
        self.window.set(undone.window);
        self.ssthresh = undone.ssthresh;
        self.slow_start = self.saved_slow_start;
    }
}

impl Resumable for Ledbat {
    fn may_jump(&self) -> bool {
        !self.queues()
    }

    fn limit(&mut self, ssthresh: u64, grows: bool) {
        self.ssthresh = ssthresh;
        self.slow_start = grows && self.starts_slowly;
    }
}

#[cfg(test)]
mod tests;
