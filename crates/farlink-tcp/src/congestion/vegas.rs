//! Vegas: cwnd follows an estimate of the sender's own data in queues (Brakmo and Peterson 1995).
//!
//! This file sets the window after a loss; [`crate::recovery`] detects the loss.

mod linux;
#[cfg(test)]
mod tests;

use super::extras::access;
use super::metric::metric;
use super::{
    Ack, Algorithm, CongestionControl, Context, Control, Extras, Input, Loss, Parameter, Range,
    RecoveryWindow, Resumable, Setting, Start, UndoReduction, Undone, Word, half_flight,
};
use crate::seq::Offset;
use crate::time::{Instant, Interval};
use farlink_small::reference;
use linux::{Form, Rounds, Thresholds, Windows};

/// Default of the minimum cwnd after a reduction, and ssthresh after slow start, in segments.
const MIN_CWND: u64 = 2;
/// cwnd is reduced by 1/8 when Diff > gamma ends slow start.
const EXIT_CUT: u64 = 8;

/// The Vegas controller.
///
/// Once per RTT Vegas computes Expected = W / `BaseRTT` and Actual = W / RTT. W is the flight size
/// (the paper uses cwnd), and RTT is that of the segment whose ACK ends the round. Diff = (Expected
/// - Actual) `BaseRTT` estimates the bytes in queues, and is compared with alpha, beta and gamma.
#[derive(Clone, Debug)]
pub struct Vegas {
    /// Thresholds in segments.
    alpha: f64,
    beta: f64,
    gamma: f64,
    loss_cut: LossCut,
    per_ack: bool,
    timeout_window: u64,
    /// Minimum cwnd after a reduction, in segments.
    min_window: u64,
    /// Set if Expected is cwnd over `BaseRTT`, instead of the flight size.
    of_cwnd: bool,
    cwnd: u64,
    /// Slow-start threshold in bytes. With `LossCut::Reno` also the window to which recovery (PRR)
    /// reduces cwnd.
    ssthresh: u64,
    /// Set when slow start ends; until the next time-out the sender stays in congestion avoidance,
    /// even if cwnd < ssthresh.
    in_avoidance: bool,
    /// `BaseRTT`: least RTT of a data segment.
    base_rtt: Option<Interval>,
    /// Diff at the end of the last round, in bytes.
    diff: Option<f64>,
    phase: Phase,
    /// SND.MAX at the start of the round. An ACK above `round_end` ends the round.
    round_end: Offset,
    /// Start of the round.
    round_start: Instant,
    /// Time of the last reduction for a loss or time-out.
    last_cut: Option<Instant>,
    /// State before a loss, restored by an undo.
    before: Option<Before>,
    /// Rounds as in Linux; `None` for those of the paper.
    linux: Option<Box<Rounds>>,
}

/// Reduction of cwnd after a loss: by half (`Reno` also sets ssthresh = cwnd), by half, by a
/// quarter, or by one MSS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LossCut {
    Reno,
    Half,
    Quarter,
    Segment,
}

/// Growth of cwnd during the current round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// cwnd is constant.
    Hold,
    /// Slow start: cwnd grows by the bytes acknowledged, up to 2 `from`.
    Double { from: u64 },
    /// Congestion avoidance: cwnd grows by one MSS per `from` acknowledged bytes; `counted` bytes
    /// are acknowledged so far.
    Increase { from: u64, counted: u64 },
}

/// State before a loss.
#[derive(Clone, Copy, Debug)]
struct Before {
    phase: Phase,
    round_end: Offset,
    round_start: Instant,
    last_cut: Option<Instant>,
    in_avoidance: bool,
}

impl Vegas {
    /// Description of Vegas for the table of algorithms.
    pub const ALGORITHM: Algorithm = Algorithm {
        name: "vegas",
        summary: "between two thresholds of segments in queues (Brakmo and Peterson 1995)",
        parameters: &[
            Parameter {
                name: "alpha",
                doc: reference(
                    "segments in queues below which the window grows (Brakmo and Peterson 1995, \
                      III.B)",
                ),
                default: Setting::Number(1.0),
                range: Range::Number(0.0, 1_000_000.0),
            },
            Parameter {
                name: "beta",
                doc: reference(
                    "segments in queues above which the window shrinks (Brakmo and Peterson 1995, \
                      III.B)",
                ),
                default: Setting::Number(3.0),
                range: Range::Number(0.0, 1_000_000.0),
            },
            Parameter {
                name: "gamma",
                doc: reference(
                    "segments in queues that end slow start (Brakmo and Peterson 1995, III.C)",
                ),
                default: Setting::Number(1.0),
                range: Range::Number(0.0, 1_000_000.0),
            },
            Parameter {
                name: "loss_cut",
                doc: reference(
                    "reduction of the window by a loss: \"quarter\" as in the authors' TCP; \
                      \"segment\" (leung1998, 4.4); \"half\" as in the reference implementation \
                      of SCPS-TP; \"reno\" is half too, and sets ssthresh to the new window for \
                      PRR, as in Linux and FreeBSD. The others set ssthresh to two segments",
                ),
                default: Setting::Choice("quarter"),
                range: Range::Choice(&[
                    Word("quarter", ""),
                    Word("segment", ""),
                    Word("half", ""),
                    Word("reno", ""),
                ]),
            },
            Parameter {
                name: "increase",
                doc: reference(
                    "linear increase: one segment per round trip, or MSS MSS / cwnd + MSS / 8 \
                      at each ACK (leung1998, 2.2.3 with equation 1)",
                ),
                default: Setting::Choice("segment"),
                range: Range::Choice(&[Word("segment", ""), Word("per-ack", "")]),
            },
            Parameter {
                name: "timeout_window",
                doc: reference(
                    "window after a time-out in segments: 2 in the authors' TCP, 1 in Reno",
                ),
                default: Setting::Count(2),
                range: Range::Count(1, 1_000),
            },
            Parameter {
                name: "min_window",
                doc: reference(
                    "least window after a reduction in segments: 2 in the authors' TCP, 1 in Reno",
                ),
                default: Setting::Count(MIN_CWND as u32),
                range: Range::Count(1, 1_000),
            },
            Parameter {
                name: "expected",
                doc: reference(
                    "window that divided by BaseRTT is Expected: \"flight\", the data in flight, or \
                      \"cwnd\" (leung1998, 2.2.3)",
                ),
                default: Setting::Choice("flight"),
                range: Range::Choice(&[Word("flight", ""), Word("cwnd", "")]),
            },
            Parameter {
                name: "arithmetic",
                doc: reference(
                    "rounds and growth: \"exact\" as in the paper; \"linux-2.6\" as in Linux \
                      2.6.6 to 2.6.12, in halves of a segment and in jiffies; \"linux\" as in \
                      current kernels, in segments. The last two take the least RTT of a round, \
                      grow in each round of slow start, and ignore `increase`",
                ),
                default: Setting::Choice("exact"),
                range: Range::Choice(&[
                    Word("exact", ""),
                    Word("linux-2.6", ""),
                    Word("linux", ""),
                ]),
            },
            Parameter {
                name: "hz",
                doc: reference(
                    "jiffies per second for \"linux-2.6\" (CONFIG_HZ, 1000 in Linux 2.6.12)",
                ),
                default: Setting::Count(1000),
                range: Range::Count(24, 1200),
            },
        ],
        metrics: &[
            metric!(
                "base_rtt",
                "s",
                "BaseRTT, the least round-trip time of a segment with data",
                |vegas: &Self, _: &Context<'_>| vegas.base_rtt.map(Interval::as_secs_f64)
            ),
            metric!(
                "diff",
                "segments",
                "(expected - actual) BaseRTT at the end of the last round: data in queues",
                |vegas: &Self, cx: &Context<'_>| vegas.diff.map(|bytes| bytes / cx.mss as f64)
            ),
        ],
        // Losses do not use FlightSize, and the end of recovery leaves cwnd unchanged.
        inputs: &[
            Input::Window,
            Input::InitialWindow,
            Input::InitialSsthresh,
            Input::WindowUse,
            Input::IdleRestart,
            Input::Pacing,
            Input::FlightAtTimeout,
        ],
        // Except with "reno" a loss sets ssthresh to 2 MSS, which only ends slow start. PRR must
        // not reduce cwnd to this value.
        recovery_window: |control| match control.choice("loss_cut") {
            "reno" => RecoveryWindow::Ssthresh,
            _ => RecoveryWindow::Controller,
        },
        extras: Extras {
            undo: access!(Self),
            resume: access!(Self),
            ..Extras::NONE
        },
        build: |control, start| Box::new(Self::new(control, start)),
    };

    fn new(control: &Control, start: Start) -> Self {
        Self {
            alpha: control.number("alpha"),
            beta: control.number("beta"),
            gamma: control.number("gamma"),
            loss_cut: match control.choice("loss_cut") {
                "segment" => LossCut::Segment,
                "half" => LossCut::Half,
                "reno" => LossCut::Reno,
                _ => LossCut::Quarter,
            },
            per_ack: control.choice("increase") == "per-ack",
            timeout_window: control.count("timeout_window").into(),
            min_window: control.count("min_window").into(),
            of_cwnd: control.choice("expected") == "cwnd",
            cwnd: start.window,
            ssthresh: start.ssthresh,
            in_avoidance: false,
            base_rtt: None,
            diff: None,
            phase: Phase::Hold,
            round_end: 0,
            round_start: Instant::ZERO,
            last_cut: None,
            before: None,
            linux: Self::rounds(control).map(Box::new),
        }
    }

    /// Returns the rounds of Linux if `arithmetic` selects them.
    fn rounds(control: &Control) -> Option<Rounds> {
        let form = match control.choice("arithmetic") {
            "linux-2.6" => Form::First,
            "linux" => Form::Current,
            _ => return None,
        };
        let thresholds = Thresholds {
            alpha: control.number("alpha"),
            beta: control.number("beta"),
            gamma: control.number("gamma"),
        };
        Some(Rounds::new(form, control.count("hz"), thresholds))
    }

    /// Handles an ACK as Linux does, in whole segments. Returns false for the rounds of the paper.
    fn on_ack_of_linux(&mut self, cx: &Context<'_>, ack: &Ack) -> bool {
        let Some(rounds) = &mut self.linux else {
            return false;
        };
        let whole = |bytes: u64| bytes / cx.mss;
        let now = Windows {
            cwnd: whole(self.cwnd),
            ssthresh: whole(self.ssthresh),
        };
        let after = rounds.on_ack(cx, ack, now);
        self.diff = rounds.diff().map(|segments| segments * cx.mss as f64);
        let bytes = |segments: u64| segments.saturating_mul(cx.mss);
        self.cwnd = bytes(after.cwnd);
        if after.ssthresh != now.ssthresh {
            self.ssthresh = bytes(after.ssthresh);
        }
        true
    }

    /// Computes Diff at the ACK that ends a round, adjusts cwnd, and sets the growth for the next
    /// round. Slow start doubles cwnd in every second round, and compares Diff with gamma after
    /// each round in between.
    fn end_round(&mut self, cx: &Context<'_>, ack: &Ack) {
        // Without an exact RTT (retransmitted segments) the duration of the round takes its place.
        let rtt = ack
            .fine_rtt
            .unwrap_or_else(|| cx.now.since(self.round_start));
        let diff = self.diff(cx, rtt);
        self.diff = Some(diff);
        let segments = |n: f64| n * cx.mss as f64;
        self.phase = if self.in_slow_start() {
            // The round after a doubling leaves cwnd constant, so that Diff can be measured.
            if matches!(self.phase, Phase::Double { .. }) {
                Phase::Hold
            } else if diff > segments(self.gamma) {
                self.shrink(cx, self.cwnd / EXIT_CUT);
                self.leave_slow_start(cx);
                Phase::Hold
            } else {
                Phase::Double { from: self.cwnd }
            }
        } else if diff > segments(self.beta) {
            self.shrink(cx, cx.mss);
            Phase::Hold
        } else if diff < segments(self.alpha) {
            Phase::Increase {
                from: cx.flight.max(cx.mss),
                counted: 0,
            }
        } else {
            Phase::Hold
        };
        // The next round ends with the ACK of the first segment sent after this ACK (SND.MAX, or
        // SND.NXT while go-back-N after a time-out resends).
        self.round_end = cx.snd_una + cx.flight.saturating_sub(ack.bytes);
        self.round_start = cx.now;
    }

    /// Returns Diff = (Expected - Actual) `BaseRTT` in bytes.
    fn diff(&self, cx: &Context<'_>, rtt: Interval) -> f64 {
        let Some(base) = self.base_rtt else {
            return 0.0;
        };
        let mut diff = 0.0;
        if rtt > base {
            diff = cx.flight as f64 * (rtt - base).as_nanos() as f64 / rtt.as_nanos() as f64;
        }
        if self.of_cwnd {
            diff += self.cwnd.saturating_sub(cx.flight) as f64;
        }
        diff
    }

    fn grow(&mut self, cx: &Context<'_>, bytes: u64) {
        match &mut self.phase {
            Phase::Hold => {}
            Phase::Double { from } => {
                let limit = from.saturating_mul(2).min(self.ssthresh);
                self.cwnd = self.cwnd.saturating_add(bytes).min(limit).max(self.cwnd);
            }
            Phase::Increase { .. } if self.per_ack => {
                self.cwnd += cx.mss * cx.mss / self.cwnd + cx.mss / 8;
            }
            Phase::Increase { from, counted } => {
                let part = |counted: u64| cx.mss * counted / *from;
                let before = part(*counted);
                *counted = (*counted + bytes).min(*from);
                self.cwnd += part(*counted) - before;
            }
        }
    }

    /// Ends slow start until the next time-out. ssthresh becomes 2 MSS as in the authors' TCP; with
    /// `LossCut::Reno` it becomes cwnd after the cut, as in Linux and FreeBSD, for PRR.
    fn leave_slow_start(&mut self, cx: &Context<'_>) {
        self.ssthresh = match self.loss_cut {
            LossCut::Reno => self.cwnd,
            LossCut::Half | LossCut::Quarter | LossCut::Segment => MIN_CWND * cx.mss,
        };
        self.in_avoidance = self.linux.is_none();
    }

    fn shrink(&mut self, cx: &Context<'_>, by: u64) {
        let least = (self.min_window * cx.mss).min(self.cwnd);
        self.cwnd = self.cwnd.saturating_sub(by).max(least);
    }
}

impl CongestionControl for Vegas {
    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn in_slow_start(&self) -> bool {
        !self.in_avoidance && self.cwnd < self.ssthresh
    }

    fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack) {
        if let Some(rtt) = ack.fine_rtt {
            // If Actual > Expected, the RTT was below BaseRTT, which is then set to the RTT.
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        }
        if self.on_ack_of_linux(cx, ack) {
            return;
        }
        if cx.snd_una > self.round_end {
            self.end_round(cx, ack);
        }
        if ack.cwnd_limited {
            self.grow(cx, ack.bytes);
        }
    }

    /// Reduces cwnd by `loss_cut`. A loss of a segment sent before the last reduction causes no
    /// second reduction.
    fn on_loss(&mut self, cx: &Context<'_>, loss: &Loss) {
        self.phase = Phase::Hold;
        if let Some(rounds) = &mut self.linux {
            rounds.on_loss();
        }
        if self.last_cut.is_some_and(|cut| loss.sent_at <= cut) {
            if self.loss_cut == LossCut::Reno {
                self.ssthresh = self.cwnd; // PRR then reduces nothing
            }
            return;
        }
        match self.loss_cut {
            LossCut::Half | LossCut::Reno => self.shrink(cx, self.cwnd / 2),
            LossCut::Quarter => self.shrink(cx, self.cwnd / 4),
            LossCut::Segment => self.shrink(cx, cx.mss),
        }
        self.leave_slow_start(cx);
        self.last_cut = Some(cx.now);
    }

    fn on_timeout(&mut self, cx: &Context<'_>, first: bool) {
        if first {
            self.ssthresh = half_flight(cx);
        }
        self.in_avoidance = false;
        self.collapse(self.timeout_window * cx.mss);
        if let Some(rounds) = &mut self.linux {
            rounds.on_timeout(cx.snd_max);
        }
        self.round_end = cx.snd_una;
        self.round_start = cx.now;
        self.last_cut = Some(cx.now);
    }

    fn collapse(&mut self, window: u64) {
        self.cwnd = window;
        self.phase = Phase::Hold;
    }

    fn raise_ssthresh(&mut self, least: u64) {
        if self.ssthresh < least {
            self.ssthresh = least;
            self.in_avoidance = false;
        }
    }

    fn on_idle(&mut self, _cx: &Context<'_>, initial_window: u64) {
        self.collapse(self.cwnd.min(initial_window));
        if let Some(rounds) = &mut self.linux {
            rounds.on_idle();
        }
    }
}

impl UndoReduction for Vegas {
    fn save(&mut self) {
        self.before = Some(Before {
            phase: self.phase,
            round_end: self.round_end,
            round_start: self.round_start,
            last_cut: self.last_cut,
            in_avoidance: self.in_avoidance,
        });
    }

    /// Restores the windows and the round that was under way before the loss.
    fn on_spurious(&mut self, _cx: &Context<'_>, undone: &Undone) {
        self.cwnd = undone.window;
        self.ssthresh = undone.ssthresh;
        if let Some(before) = self.before.take() {
            self.phase = before.phase;
            self.round_end = before.round_end;
            self.round_start = before.round_start;
            self.last_cut = before.last_cut;
            self.in_avoidance = before.in_avoidance;
        }
    }
}

impl Resumable for Vegas {
    fn may_jump(&self) -> bool {
        !self.in_avoidance
    }

    fn limit(&mut self, ssthresh: u64, grows: bool) {
        self.ssthresh = ssthresh;
        self.in_avoidance &= !grows;
    }
}
