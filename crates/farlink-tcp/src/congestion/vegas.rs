//! Vegas: the window follows an estimate of what it keeps queued (Brakmo and
//! Peterson 1995).
//!
//! The window of losses is here; when a loss is seen is [`crate::recovery`]'s.

use super::extras::access;
use super::metric::metric;
use super::{
    Ack, Algorithm, CongestionControl, Context, Control, Extras, Input, Loss, Parameter, Range,
    RecoveryWindow, Setting, Start, UndoReduction, Undone, Word, half_flight,
};
use crate::seq::Offset;
use crate::time::{Instant, Interval};

/// Least window after a reduction, in segments.
const LEAST: u64 = 2;
/// Slow start that is left for queueing gives back this part of the window.
const EXIT_CUT: u64 = 8;

/// The Vegas controller.
///
/// Once a round trip it compares the rate that it expects, window / `BaseRTT`,
/// with the rate that it has, bytes in transit / RTT of the segment whose ACK
/// ends the round. Diff = (expected - actual) `BaseRTT` is what stands in
/// queues. The window in both is what was in transit, which the paper takes
/// for equal to the congestion window.
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
    /// Window that a reduction comes down to.
    ssthresh: u64,
    /// Slow start is over until a time-out, however small the window becomes.
    avoids: bool,
    /// `BaseRTT`: the least round-trip time of a segment with data.
    base_rtt: Option<Interval>,
    /// Difference compared at the end of the last round, in bytes.
    diff: Option<f64>,
    phase: Phase,
    /// The round ends when something from here on is acknowledged.
    mark: Offset,
    /// Start of the round.
    began: Instant,
    /// Time of the last reduction for a loss.
    last_cut: Option<Instant>,
    /// State that a loss changes beside the windows, for undo.
    before: Option<Before>,
}

/// Reduction of the window for a loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LossCut {
    Reno,
    Half,
    Quarter,
    Segment,
}

/// Change of the window in the current round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Stays.
    Hold,
    /// Grows by what is acknowledged, to twice this.
    Double { from: u64 },
    /// Grows by a segment, spread over what was in transit, of which so much
    /// is acknowledged.
    Increase { from: u64, counted: u64 },
}

/// State before a loss.
#[derive(Clone, Copy, Debug)]
struct Before {
    phase: Phase,
    mark: Offset,
    began: Instant,
    last_cut: Option<Instant>,
    avoids: bool,
}

impl Vegas {
    /// "vegas".
    pub const ALGORITHM: Algorithm = Algorithm {
        name: "vegas",
        summary: "between two thresholds of segments in queues (Brakmo and Peterson 1995)",
        parameters: &[
            Parameter {
                name: "alpha",
                doc: "segments in queues below which the window grows (Brakmo and Peterson 1995, \
                      III.B)",
                default: Setting::Number(1.0),
                range: Range::Number(0.0, 1_000_000.0),
            },
            Parameter {
                name: "beta",
                doc: "segments in queues above which the window shrinks (Brakmo and Peterson 1995, \
                      III.B)",
                default: Setting::Number(3.0),
                range: Range::Number(0.0, 1_000_000.0),
            },
            Parameter {
                name: "gamma",
                doc: "segments in queues that end slow start (Brakmo and Peterson 1995, III.C)",
                default: Setting::Number(1.0),
                range: Range::Number(0.0, 1_000_000.0),
            },
            Parameter {
                name: "loss_cut",
                doc: "reduction of the window by a loss: a quarter, as the authors' TCP; a segment (leung1998, \
                 4.4); half, as in the reference implementation of SCPS-TP; or \"reno\": half, and \
                 ssthresh the same, as in Linux and FreeBSD. PRR goes down to ssthresh, which the others \
                 leave at two segments",
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
                doc: "linear increase: a segment a round trip, or at each ACK MSS MSS / cwnd + \
                      MSS / 8 (leung1998, 2.2.3 with equation 1)",
                default: Setting::Choice("segment"),
                range: Range::Choice(&[Word("segment", ""), Word("per-ack", "")]),
            },
            Parameter {
                name: "timeout_window",
                doc: "segments in the window after a time-out: 2 in the authors' TCP, 1 in Reno",
                default: Setting::Count(2),
                range: Range::Count(1, 1_000),
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
        // A loss takes a part of the window away, and recovery leaves it so.
        inputs: &[
            Input::Window,
            Input::InitialWindow,
            Input::InitialSsthresh,
            Input::WindowUse,
            Input::IdleRestart,
            Input::Pacing,
            Input::FlightAtTimeout,
        ],
        // Except for "reno" a loss sets ssthresh to two segments, which end slow start for good
        // and are not a window to come down to.
        recovery_window: |control| match control.choice("loss_cut") {
            "reno" => RecoveryWindow::Ssthresh,
            _ => RecoveryWindow::Controller,
        },
        extras: Extras {
            undo: access!(Self),
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
            avoids: false,
            base_rtt: None,
            diff: None,
            phase: Phase::Hold,
            mark: 0,
            began: Instant::ZERO,
            last_cut: None,
            before: None,
        }
    }

    /// The ACK that ends a round says what the next one does.
    fn end_round(&mut self, cx: &Context<'_>, ack: &Ack) {
        // While a time-out is repaired nothing is sent once: then the segment
        // that the round began with is the one that was timed.
        let rtt = ack.fine_rtt.unwrap_or_else(|| cx.now.since(self.began));
        let diff = self.diff(cx, rtt);
        self.diff = Some(diff);
        let segments = |n: f64| n * cx.mss as f64;
        self.phase = if self.in_slow_start() {
            // The round after growth is for comparing alone.
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
        // What is sent next: after all that was, unless a time-out made it
        // start over.
        self.mark = cx.snd_una + cx.flight.saturating_sub(ack.bytes);
        self.began = cx.now;
    }

    /// (Expected - actual) `BaseRTT`, in bytes.
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

    /// The authors' TCP sets ssthresh to two segments. Kernels have Reno's, which is what
    /// PRR comes down to: the window after the cut.
    fn leave_slow_start(&mut self, cx: &Context<'_>) {
        self.ssthresh = match self.loss_cut {
            LossCut::Reno => self.cwnd,
            LossCut::Half | LossCut::Quarter | LossCut::Segment => LEAST * cx.mss,
        };
        self.avoids = true;
    }

    fn shrink(&mut self, cx: &Context<'_>, by: u64) {
        let least = (LEAST * cx.mss).min(self.cwnd);
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
        !self.avoids && self.cwnd < self.ssthresh
    }

    fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack) {
        if let Some(rtt) = ack.fine_rtt {
            // Actual above expected is an RTT below BaseRTT, which takes its value.
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        }
        if cx.snd_una > self.mark {
            self.end_round(cx, ack);
        }
        if ack.cwnd_limited {
            self.grow(cx, ack.bytes);
        }
    }

    /// A segment that left before the last reduction says nothing of the
    /// window since.
    fn on_loss(&mut self, cx: &Context<'_>, loss: &Loss) {
        self.phase = Phase::Hold;
        if self.last_cut.is_some_and(|cut| loss.sent_at <= cut) {
            if self.loss_cut == LossCut::Reno {
                self.ssthresh = self.cwnd; // nothing to come down by
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
        self.avoids = false;
        self.collapse(self.timeout_window * cx.mss);
        self.mark = cx.snd_una;
        self.began = cx.now;
        self.last_cut = Some(cx.now);
    }

    fn collapse(&mut self, window: u64) {
        self.cwnd = window;
        self.phase = Phase::Hold;
    }

    fn raise_ssthresh(&mut self, least: u64) {
        if self.ssthresh < least {
            self.ssthresh = least;
            self.avoids = false;
        }
    }

    fn on_idle(&mut self, _cx: &Context<'_>, initial_window: u64) {
        self.collapse(self.cwnd.min(initial_window));
    }
}

impl UndoReduction for Vegas {
    fn remember(&mut self) {
        self.before = Some(Before {
            phase: self.phase,
            mark: self.mark,
            began: self.began,
            last_cut: self.last_cut,
            avoids: self.avoids,
        });
    }

    /// The round goes on that there was.
    fn on_spurious(&mut self, _cx: &Context<'_>, undone: &Undone) {
        self.cwnd = undone.window;
        self.ssthresh = undone.ssthresh;
        if let Some(before) = self.before.take() {
            self.phase = before.phase;
            self.mark = before.mark;
            self.began = before.began;
            self.last_cut = before.last_cut;
            self.avoids = before.avoids;
        }
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

    /// A sender that is limited by its window on a path that delivers rounds
    /// of whole windows.
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

        /// The ACKs of a window with this round-trip time; the window after it.
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

    /// In congestion avoidance with a known `BaseRTT` of 90 ms.
    fn avoiding(settings: &[(&str, Setting)], segments: u64) -> Flow {
        let mut flow = Flow::new(settings, segments, MSS);
        flow.vegas.base_rtt = Some(ms(90));
        flow
    }

    /// Nine segments in 100 ms where 90 are enough: 0.9 segments stand in queues.
    #[test]
    fn metrics_show_what_is_queued() {
        let mut flow = avoiding(&[], 9);
        flow.round(100);
        let shown: Vec<_> = Vegas::ALGORITHM
            .metrics
            .iter()
            .map(|metric| flow.at(0, |vegas, cx| metric.value(vegas, cx)))
            .collect();
        assert_eq!(shown, [Some(0.09), Some(0.9)]);
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
        // Then it is linear: nothing is queued.
        assert_eq!(flow.round(100), 8 * MSS);
    }

    #[test]
    fn gamma_ends_slow_start_and_costs_an_eighth() {
        // Diff = 16 (1 - 100 / RTT): one segment at 106.67 ms.
        for (rtt, after) in [(106, 32 * MSS), (107, 14 * MSS)] {
            let mut flow = Flow::new(&[], 8, u64::MAX);
            flow.round(100);
            assert_eq!(flow.round(100), 16 * MSS);
            assert_eq!(flow.round(rtt), after, "{rtt} ms");
            let slow = flow.vegas.cwnd() < flow.vegas.ssthresh();
            assert_eq!(slow, rtt == 106);
        }
        // A larger gamma bears more: 16 (1 - 100 / 107) = 1.05.
        let mut flow = Flow::new(&[("gamma", Setting::Number(1.1))], 8, u64::MAX);
        flow.round(100);
        flow.round(100);
        assert_eq!(flow.round(107), 32 * MSS);
    }

    #[test]
    fn the_window_of_a_growing_round_is_not_compared() {
        let mut flow = Flow::new(&[], 8, u64::MAX);
        flow.round(100);
        // The first ACK of the round that does not grow brings a long RTT.
        assert_eq!(flow.round(200), 16 * MSS);
        assert!(flow.vegas.ssthresh() == u64::MAX);
    }

    #[test]
    fn alpha_and_beta_bound_what_is_queued() {
        // Diff = W (1 - 90 / RTT) is exact at RTT 100 ms: W / 10.
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
    fn a_loss_takes_a_quarter_or_a_segment_but_two_segments_stay() {
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

    /// Half, as kernels have it, is where PRR comes down to; no slow start follows
    /// from a window that queues make smaller, only from a time-out. A late loss of
    /// the same round leaves nothing to come down by.
    #[test]
    fn half_of_the_window_is_the_threshold_of_kernels() {
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
    fn only_a_segment_sent_after_the_last_cut_cuts_again() {
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
            // Again: ssthresh stays, and what left before does not cut.
            flow.at(MSS, |vegas, cx| vegas.on_timeout(cx, false));
            assert_eq!(flow.vegas.ssthresh(), 8 * MSS);
            assert_eq!(flow.loss(Instant::ZERO + ms(2000)), window);
        }
    }

    #[test]
    fn rounds_go_on_while_a_time_out_is_repaired() {
        let mut flow = Flow::new(&[], 8, u64::MAX);
        flow.now = Instant::ZERO + ms(3000);
        flow.at(8 * MSS, |vegas, cx| vegas.on_timeout(cx, true));
        // Retransmissions are not timed.
        flow.ack(2 * MSS, None, true);
        flow.ack(3 * MSS, None, true);
        assert_eq!(flow.vegas.cwnd(), 4 * MSS);
    }

    /// Queues of exactly alpha, beta and gamma segments are neither too short nor too
    /// long: the window rests, and slow start goes on.
    #[test]
    fn the_bounds_themselves_are_within() {
        for segments in [10, 30] {
            // 10 ms of 100: one segment of ten, three of thirty.
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
