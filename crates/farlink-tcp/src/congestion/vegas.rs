//! Vegas: cwnd follows an estimate of the sender's own data in queues (Brakmo and Peterson 1995).
//!
//! This file sets the window after a loss; [`crate::recovery`] detects the loss.

mod linux;

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

/// Minimum cwnd after a reduction, in segments.
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
        match self.base_rtt {
            Some(base) if rtt > base => {
                cx.flight as f64 * (rtt - base).as_nanos() as f64 / rtt.as_nanos() as f64
            }
            _ => 0.0,
        }
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
        let least = (MIN_CWND * cx.mss).min(self.cwnd);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RtoConfig;
    use crate::rto::RttEstimator;

    const MSS: u64 = 1000;

    fn ms(n: u64) -> Interval {
        Interval::from_millis(n)
    }

    /// A cwnd-limited sender; each round acknowledges a whole window.
    struct Flow {
        vegas: Vegas,
        now: Instant,
        una: Offset,
    }

    impl Flow {
        fn new(settings: &[(&str, Setting)], segments: u64, ssthresh: u64) -> Self {
            let mut control = Control::new(&Vegas::ALGORITHM);
            for &(name, setting) in settings {
                control = control.with(name, setting);
            }
            let window = segments * MSS;
            Self {
                vegas: Vegas::new(
                    &control,
                    Start {
                        window,
                        ssthresh,
                        ..Start::default()
                    },
                ),
                now: Instant::ZERO,
                una: 1,
            }
        }

        fn at<T>(&mut self, flight: u64, call: impl FnOnce(&mut Vegas, &Context<'_>) -> T) -> T {
            let rtt = RttEstimator::new(RtoConfig::default());
            let cx = Context {
                now: self.now,
                mss: MSS,
                flight,
                snd_una: self.una,
                snd_max: self.una + flight,
                rtt: &rtt,
            };
            call(&mut self.vegas, &cx)
        }

        fn ack(&mut self, flight: u64, rtt: Option<Interval>, cwnd_limited: bool) {
            self.una += MSS;
            let ack = Ack {
                bytes: MSS,
                rtt_sample: None,
                fine_rtt: rtt,
                cwnd_limited,
            };
            self.at(flight, |vegas, cx| vegas.on_ack(cx, &ack));
        }

        /// Acknowledges one window with an RTT of `rtt` ms; returns cwnd afterwards.
        fn round(&mut self, rtt: u64) -> u64 {
            self.now += ms(rtt);
            for _ in 0..self.vegas.cwnd() / MSS {
                let flight = self.vegas.cwnd() / MSS * MSS;
                self.ack(flight, Some(ms(rtt)), true);
            }
            self.vegas.cwnd()
        }

        fn loss(&mut self, sent_at: Instant) -> u64 {
            let flight = self.vegas.cwnd();
            self.at(flight, |vegas, cx| vegas.on_loss(cx, &Loss { sent_at }));
            self.vegas.cwnd()
        }
    }

    /// Returns a flow in congestion avoidance with `BaseRTT` = 90 ms.
    fn avoiding(settings: &[(&str, Setting)], segments: u64) -> Flow {
        let mut flow = Flow::new(settings, segments, MSS);
        flow.vegas.base_rtt = Some(ms(90));
        flow
    }

    /// W = 9 segments at RTT 100 ms and BaseRTT 90 ms: Diff = 9 (1 - 90 / 100) = 0.9 segments.
    #[test]
    fn metrics_show_the_queue_estimate() {
        let mut flow = avoiding(&[], 9);
        flow.round(100);
        let metrics: Vec<_> = Vegas::ALGORITHM
            .metrics
            .iter()
            .map(|metric| flow.at(0, |vegas, cx| metric.value(vegas, cx)))
            .collect();
        assert_eq!(metrics, [Some(0.09), Some(0.9)]);
    }

    #[test]
    fn slow_start_doubles_every_other_round() {
        let mut flow = Flow::new(&[], 4, u64::MAX);
        let windows: Vec<_> = (0..6).map(|_| flow.round(100) / MSS).collect();
        assert_eq!(windows, [8, 8, 16, 16, 32, 32]);
    }

    #[test]
    fn slow_start_ends_at_ssthresh() {
        let mut flow = Flow::new(&[], 4, 7 * MSS);
        assert_eq!(flow.round(100), 7 * MSS);
        // After slow start cwnd grows linearly, because Diff is 0.
        assert_eq!(flow.round(100), 8 * MSS);
    }

    #[test]
    fn slow_start_ends_above_gamma_with_a_cut_of_an_eighth() {
        // Diff = 16 (1 - 100 / RTT) segments reaches gamma = 1 at RTT 106.67 ms.
        for (rtt, after) in [(106, 32 * MSS), (107, 14 * MSS)] {
            let mut flow = Flow::new(&[], 8, u64::MAX);
            flow.round(100);
            assert_eq!(flow.round(100), 16 * MSS);
            assert_eq!(flow.round(rtt), after, "{rtt} ms");
            let slow = flow.vegas.cwnd() < flow.vegas.ssthresh();
            assert_eq!(slow, rtt == 106);
        }
        // With gamma = 1.1 slow start continues at Diff = 16 (1 - 100 / 107) = 1.05.
        let mut flow = Flow::new(&[("gamma", Setting::Number(1.1))], 8, u64::MAX);
        flow.round(100);
        flow.round(100);
        assert_eq!(flow.round(107), 32 * MSS);
    }

    #[test]
    fn diff_is_not_compared_after_a_growing_round() {
        let mut flow = Flow::new(&[], 8, u64::MAX);
        flow.round(100);
        // The first ACK of the round with constant cwnd measures a long RTT.
        assert_eq!(flow.round(200), 16 * MSS);
        assert!(flow.vegas.ssthresh() == u64::MAX);
    }

    #[test]
    fn alpha_and_beta_bound_the_queue_estimate() {
        // Diff = W (1 - 90 / RTT) is exactly W / 10 at RTT 100 ms.
        for (segments, after) in [(9, 10), (10, 10), (20, 20), (30, 30), (31, 30), (40, 39)] {
            let mut flow = avoiding(&[], segments);
            assert_eq!(flow.round(100) / MSS, after, "{segments} segments");
        }
        let settings = [
            ("alpha", Setting::Number(2.0)),
            ("beta", Setting::Number(4.0)),
        ];
        for (segments, after) in [(19, 20), (20, 20), (40, 40), (41, 40)] {
            let mut flow = avoiding(&settings, segments);
            assert_eq!(flow.round(100) / MSS, after, "{segments} segments");
        }
    }

    #[test]
    fn linear_increase_is_a_segment_spread_over_the_round() {
        let mut flow = avoiding(&[], 8);
        for n in 1..=8 {
            flow.ack(8 * MSS, Some(ms(90)), true);
            assert_eq!(flow.vegas.cwnd(), 8 * MSS + n * MSS / 8);
        }
    }

    #[test]
    fn per_ack_increase_is_equation_1() {
        let mut flow = avoiding(&[("increase", Setting::Choice("per-ack"))], 10);
        flow.ack(10 * MSS, Some(ms(90)), true);
        assert_eq!(flow.vegas.cwnd(), 10 * MSS + 100 + 125);
    }

    #[test]
    fn growth_needs_a_full_window() {
        let mut flow = avoiding(&[], 8);
        for _ in 0..8 {
            flow.ack(4 * MSS, Some(ms(90)), false);
        }
        assert_eq!(flow.vegas.cwnd(), 8 * MSS);
    }

    #[test]
    fn base_rtt_is_the_least() {
        let mut flow = avoiding(&[], 10);
        flow.round(80);
        assert_eq!(flow.vegas.base_rtt, Some(ms(80)));
        flow.round(120);
        assert_eq!(flow.vegas.base_rtt, Some(ms(80)));
    }

    #[test]
    fn a_loss_cuts_by_loss_cut_down_to_two_segments() {
        let segment = [("loss_cut", Setting::Choice("segment"))];
        for (settings, before, after) in [
            (&[][..], 20, 15 * MSS),
            (&[][..], 2, 2 * MSS),
            (&[][..], 1, MSS),
            (&segment[..], 20, 19 * MSS),
            (&segment[..], 2, 2 * MSS),
        ] {
            let mut flow = Flow::new(settings, before, u64::MAX);
            assert_eq!(flow.loss(Instant::ZERO), after);
            assert_eq!(flow.vegas.ssthresh(), 2 * MSS);
        }
    }

    /// `LossCut::Reno`, as in kernels: ssthresh is half of cwnd, to which PRR reduces cwnd. Only a
    /// time-out starts slow start, not Diff > beta with cwnd < ssthresh. A later loss of the same
    /// round sets ssthresh = cwnd, so PRR reduces nothing.
    #[test]
    fn loss_cut_reno_sets_ssthresh_to_half_of_cwnd() {
        let half = [("loss_cut", Setting::Choice("reno"))];
        for (before, after) in [(20, 10), (3, 2), (10_000, 5_000)] {
            let mut flow = Flow::new(&half, before, u64::MAX);
            flow.now = Instant::ZERO + ms(100);
            assert_eq!(flow.loss(Instant::ZERO + ms(10)), after * MSS);
            assert_eq!(flow.vegas.ssthresh(), after * MSS);
            flow.vegas.cwnd = after * MSS - MSS / 2;
            assert!(!flow.vegas.in_slow_start());
            flow.loss(Instant::ZERO + ms(20));
            assert_eq!(flow.vegas.ssthresh(), after * MSS - MSS / 2);
            flow.at(4 * MSS, |vegas, cx| vegas.on_timeout(cx, true));
            flow.vegas.cwnd = MSS;
            assert!(flow.vegas.in_slow_start());
        }
    }

    #[test]
    fn only_the_loss_of_a_segment_sent_after_the_last_cut_reduces_again() {
        let mut flow = Flow::new(&[], 16, u64::MAX);
        flow.now = Instant::ZERO + ms(100);
        assert_eq!(flow.loss(Instant::ZERO + ms(10)), 12 * MSS);
        flow.now = Instant::ZERO + ms(200);
        assert_eq!(flow.loss(Instant::ZERO + ms(20)), 12 * MSS);
        assert_eq!(flow.loss(Instant::ZERO + ms(100)), 12 * MSS);
        assert_eq!(flow.loss(Instant::ZERO + ms(101)), 9 * MSS);
    }

    #[test]
    fn a_time_out_leaves_two_segments_and_slow_start() {
        for (settings, window) in [
            (&[][..], 2 * MSS),
            (&[("timeout_window", Setting::Count(1))][..], MSS),
        ] {
            let mut flow = Flow::new(settings, 16, u64::MAX);
            flow.now = Instant::ZERO + ms(3000);
            flow.at(16 * MSS, |vegas, cx| vegas.on_timeout(cx, true));
            assert_eq!(
                (flow.vegas.cwnd(), flow.vegas.ssthresh()),
                (window, 8 * MSS)
            );
            // A repeated time-out keeps ssthresh, and the loss of an older segment does not reduce
            // cwnd.
            flow.at(MSS, |vegas, cx| vegas.on_timeout(cx, false));
            assert_eq!(flow.vegas.ssthresh(), 8 * MSS);
            assert_eq!(flow.loss(Instant::ZERO + ms(2000)), window);
        }
    }

    #[test]
    fn rounds_continue_during_the_repair_of_a_time_out() {
        let mut flow = Flow::new(&[], 8, u64::MAX);
        flow.now = Instant::ZERO + ms(3000);
        flow.at(8 * MSS, |vegas, cx| vegas.on_timeout(cx, true));
        // Retransmissions are not timed.
        flow.ack(2 * MSS, None, true);
        flow.ack(3 * MSS, None, true);
        assert_eq!(flow.vegas.cwnd(), 4 * MSS);
    }

    /// Diff equal to alpha or beta leaves cwnd unchanged; Diff equal to gamma does not end slow
    /// start.
    #[test]
    fn diff_equal_to_a_threshold_changes_nothing() {
        for segments in [10, 30] {
            // 10 ms of 100 ms: Diff is one segment of ten, three of thirty.
            let mut flow = avoiding(&[], segments);
            for _ in 0..3 {
                assert_eq!(flow.round(100), segments * MSS);
            }
        }
        let mut flow = Flow::new(&[], 10, u64::MAX);
        flow.vegas.base_rtt = Some(ms(90));
        flow.round(100);
        assert_eq!(flow.vegas.ssthresh(), u64::MAX);
    }
}
