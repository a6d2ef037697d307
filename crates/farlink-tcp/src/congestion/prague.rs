//! TCP Prague (draft-briscoe-iccrg-prague-congestion-control-04, Linux: `tcp_prague.c`): DCTCP for
//! the Internet.
//!
//! The unmarked data of each ACK increases cwnd, even in a window that a mark has reduced. cwnd has
//! fractions of a segment, and segments are paced at cwnd / SRTT. A flow with a round trip below 25
//! ms grows and reduces as if it were 25 ms, from its 500th round trip on. Without Accurate ECN the
//! flow is a Reno flow.

mod rounds;
#[cfg(test)]
mod tests;

use super::extras::access;
use super::metric::metric;
use super::{
    Ack, Algorithm, CongestionControl, Context, Control, EndSlowStart, Extras, Feedback, Input,
    Loss, MarkCounting, MarkReport, PACED_HEADERS, Parameter, Range, RecoveryWindow, Reno, Setting,
    Start, UndoReduction, Undone,
};
use crate::time::{Interval, NANOS_PER_SEC};
use farlink_small::reference;
use rounds::Rounds;

/// Largest round trip whose growth is scaled (Linux: `MAX_SCALED_RTT`).
const LONGEST_SCALED: Interval = Interval::from_millis(100);

/// The Prague controller.
#[derive(Debug)]
pub struct Prague {
    /// Window of a flow without Accurate ECN, and ssthresh of every flow.
    reno: Reno,
    /// Set if the peer counts marks.
    scalable: bool,
    /// cwnd in bytes, with fractions, if marks are counted.
    cwnd: f64,
    /// Set from a loss to the end of its recovery, when cwnd does not grow.
    in_loss: bool,
    rounds: Rounds,
    pacing_rate: Option<u64>,
}

impl Prague {
    /// Description of Prague for the table of algorithms.
    pub const ALGORITHM: Algorithm = Algorithm {
        name: "prague",
        summary: "paced DCTCP with growth at every unmarked ACK and less dependence on the \
                  round-trip time (draft-briscoe-iccrg-prague-congestion-control-04)",
        parameters: &[
            Parameter {
                name: "rtt_virtual",
                doc: reference(
                    "round-trip time as which shorter ones behave after `transition` (Linux: \
                      prague_rtt_target, 25 ms); zero leaves them as they are",
                ),
                default: Setting::Time(Interval::from_millis(25)),
                range: Range::Time(Interval::ZERO, LONGEST_SCALED),
            },
            Parameter {
                name: "transition",
                doc: reference(
                    "round trips after slow start from which `rtt_virtual` applies (Linux: \
                      prague_rtt_transition)",
                ),
                default: Setting::Count(500),
                range: Range::Count(0, 1_000_000),
            },
        ],
        metrics: &[
            metric!(
                "alpha",
                "",
                "alpha, the estimated share of marked data",
                |prague: &Self, _: &Context<'_>| Some(prague.rounds.alpha())
            ),
            metric!(
                "pacing_rate",
                "bit/s",
                "pacing rate",
                |prague: &Self, _: &Context<'_>| prague.pacing_rate.map(|rate| rate as f64)
            ),
        ],
        inputs: &[
            Input::Window,
            Input::InitialWindow,
            Input::InitialSsthresh,
            Input::ByteCounting,
            Input::WindowUse,
            Input::IdleRestart,
            Input::FlightAtLoss,
            Input::FlightAtTimeout,
            Input::RecoveryExit,
        ],
        recovery_window: |_| RecoveryWindow::Ssthresh,
        extras: Extras {
            undo: access!(Self),
            slow_start: access!(Self),
            marks: access!(Self),
            ..Extras::NONE
        },
        build: |control, start| Box::new(Self::new(control, start)),
    };

    fn new(control: &Control, start: Start) -> Self {
        Self {
            reno: Reno::new(&Control::new(&Reno::ALGORITHM), start),
            scalable: false,
            cwnd: start.window as f64,
            in_loss: false,
            rounds: Rounds::new(control.time("rtt_virtual"), control.count("transition")),
            pacing_rate: None,
        }
    }

    /// Increases cwnd for `bytes` of unmarked data. Slow start adds the bytes themselves.
    /// Congestion avoidance adds one segment per window, scaled at a short round trip (draft, 2.4.3
    /// and 2.4.4; Linux: `prague_update_cwnd`).
    fn grow(&mut self, cx: &Context<'_>, bytes: f64) {
        let mut rest = bytes;
        if self.in_slow_start() {
            let room = self.reno.ssthresh() as f64 - self.cwnd;
            let taken = rest.min(room);
            self.cwnd += taken;
            rest -= taken;
        }
        if rest > 0.0 {
            self.cwnd += rest * cx.mss as f64 / self.cwnd * self.rounds.growth(cx);
        }
    }

    /// Sets the pacing rate to cwnd / SRTT, twice as much in slow start (Linux:
    /// `prague_update_pacing_rate`).
    fn pace(&mut self, cx: &Context<'_>) {
        let Some(srtt) = cx.rtt.srtt().filter(|srtt| !srtt.is_zero()) else {
            return;
        };
        let ratio = if self.cwnd() < self.reno.ssthresh() / 2 {
            2
        } else {
            1
        };
        let packet = u128::from(cx.mss + u64::from(PACED_HEADERS));
        let bits = 8 * ratio * u128::from(self.cwnd()) * packet / u128::from(cx.mss);
        let rate = bits * u128::from(NANOS_PER_SEC) / u128::from(srtt.as_nanos());
        self.pacing_rate = Some(u64::try_from(rate).unwrap_or(u64::MAX));
    }

    fn reduce_to(&mut self, window: f64, mss: u64) {
        self.cwnd = window.max(2.0 * mss as f64);
        self.reno.reduce_to(self.cwnd as u64);
    }
}

impl MarkCounting for Prague {
    fn on_agreed(&mut self, feedback: Feedback) {
        self.scalable = feedback == Feedback::Accurate;
    }

    fn on_marks(&mut self, cx: &Context<'_>, report: &MarkReport) {
        if !self.scalable {
            return;
        }
        let unmarked = report.delivered.saturating_sub(report.marked);
        if unmarked > 0 && report.cwnd_limited && !self.in_loss {
            self.grow(cx, unmarked as f64);
        }
        let slow_start = self.in_slow_start();
        self.rounds.on_ack(cx, report, slow_start);
        self.pace(cx);
    }
}

impl CongestionControl for Prague {
    fn cwnd(&self) -> u64 {
        if self.scalable {
            self.cwnd as u64
        } else {
            self.reno.cwnd()
        }
    }

    fn ssthresh(&self) -> u64 {
        self.reno.ssthresh()
    }

    fn on_established(&mut self, cx: &Context<'_>) {
        self.pace(cx);
    }

    fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack) {
        if !self.scalable {
            self.reno.on_ack(cx, ack);
            self.pace(cx);
        }
    }

    /// Halves cwnd (draft, 2.4.2: as Reno).
    fn on_loss(&mut self, cx: &Context<'_>, loss: &Loss) {
        if self.scalable {
            self.reduce_to(self.cwnd / 2.0, cx.mss);
            self.in_loss = true;
        } else {
            self.reno.on_loss(cx, loss);
        }
        self.pace(cx);
    }

    /// Reduces cwnd by alpha / 2, at most once per virtual round trip (Linux: `prague_enter_cwr`).
    fn on_congestion_mark(&mut self, cx: &Context<'_>, loss: &Loss) {
        if !self.scalable {
            self.reno.on_loss(cx, loss);
        } else if self.rounds.may_reduce(cx) {
            let kept = 1.0 - self.rounds.alpha() / 2.0;
            self.reduce_to(self.cwnd * kept, cx.mss);
        }
        self.pace(cx);
    }

    fn on_recovered(&mut self, cx: &Context<'_>, window: u64) {
        self.in_loss = false;
        self.reno.on_recovered(cx, window);
        self.cwnd = self.cwnd.min(window as f64);
    }

    fn on_timeout(&mut self, cx: &Context<'_>, first: bool) {
        self.in_loss = false;
        self.reno.on_timeout(cx, first);
        self.cwnd = self.reno.cwnd() as f64;
        self.pace(cx);
    }

    fn collapse(&mut self, window: u64) {
        self.reno.collapse(window);
        self.cwnd = window as f64;
    }

    fn raise_ssthresh(&mut self, least: u64) {
        self.reno.raise_ssthresh(least);
    }

    fn on_idle(&mut self, cx: &Context<'_>, initial_window: u64) {
        self.reno.on_idle(cx, initial_window);
        self.cwnd = self.cwnd.min(initial_window as f64);
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.pacing_rate
    }
}

impl EndSlowStart for Prague {
    fn end_slow_start(&mut self, window: u64) {
        self.reno.end_slow_start(window);
        self.cwnd = window as f64;
    }
}

impl UndoReduction for Prague {
    fn on_spurious(&mut self, cx: &Context<'_>, undone: &Undone) {
        self.in_loss = false;
        self.reno.on_spurious(cx, undone);
        self.cwnd = undone.window as f64;
    }
}
