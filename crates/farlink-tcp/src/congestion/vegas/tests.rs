//! Unit tests of Vegas.

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

/// Reductions by Diff and by losses stop at `min_window`; ssthresh stays two segments.
#[test]
fn the_least_window_bounds_reductions() {
    for (least, after) in [(1, MSS), (3, 3 * MSS)] {
        let settings = [
            ("min_window", Setting::Count(least)),
            ("loss_cut", Setting::Choice("segment")),
            ("beta", Setting::Number(0.1)),
            ("alpha", Setting::Number(0.0)),
        ];
        let mut flow = avoiding(&settings, 3);
        for _ in 0..4 {
            flow.round(200);
        }
        assert_eq!(flow.vegas.cwnd(), after);
        flow.now += ms(100);
        assert_eq!(flow.loss(flow.now), after);
        assert_eq!(flow.vegas.ssthresh(), 2 * MSS);
    }
}

/// cwnd = 2.5 segments, of which 2 are in flight, at RTT 100 ms and `BaseRTT` 90 ms: Diff is
/// 2 (1 - 90 / 100) = 0.2 segments of the flight, and 2.5 - 2 90 / 100 = 0.7 of cwnd.
#[test]
fn expected_is_that_of_the_flight_or_of_cwnd() {
    for (window, expected) in [("flight", 0.2), ("cwnd", 0.7)] {
        let mut flow = avoiding(&[("expected", Setting::Choice(window))], 2);
        flow.vegas.cwnd = 2 * MSS + MSS / 2;
        flow.now += ms(100);
        flow.ack(2 * MSS, Some(ms(100)), false);
        let diff = flow.vegas.diff.unwrap() / MSS as f64;
        assert!((diff - expected).abs() < 1e-9, "{window}: {diff}");
        // At RTT = BaseRTT only the unused part of cwnd is left.
        flow.vegas.round_end = 0;
        flow.ack(2 * MSS, Some(ms(90)), false);
        let diff = flow.vegas.diff.unwrap() / MSS as f64;
        let rest = if window == "cwnd" { 0.5 } else { 0.0 };
        assert!((diff - rest).abs() < 1e-9, "{window}: {diff}");
    }
}
