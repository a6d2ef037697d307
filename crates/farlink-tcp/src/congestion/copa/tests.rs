//! Tests of the target rate, the velocity, slow start and pacing.

use super::*;
use crate::config::RtoConfig;
use crate::rto::RttEstimator;
use crate::time::Instant;

const MSS: u64 = 1000;

fn ms(n: u64) -> Interval {
    Interval::from_millis(n)
}

fn estimator(rtt: u64) -> RttEstimator {
    let mut estimator = RttEstimator::new(RtoConfig::default());
    estimator.sample(Instant::ZERO, Instant::ZERO + ms(rtt));
    estimator
}

fn copa(window: u64, slow_start: bool) -> Copa {
    let mut copa = Copa::new(
        &Control::new(&Copa::ALGORITHM),
        Start {
            window: window * MSS,
            ..Start::default()
        },
    );
    copa.mss = MSS;
    copa.state.slow_start = slow_start;
    copa
}

fn cx(srtt: &RttEstimator, now: u64, una: u64, max: u64) -> Context<'_> {
    Context {
        now: Instant::ZERO + ms(now),
        mss: MSS,
        flight: max - una,
        snd_una: una,
        snd_max: max,
        rtt: srtt,
    }
}

fn sample(bytes: u64, flight: u64, rtt: u64) -> RateSample {
    RateSample {
        delivered: bytes,
        prior_delivered: 0,
        interval: None,
        app_limited: false,
        rtt: Some(ms(rtt)),
        newly_delivered: bytes,
        delivered_ce: 0,
        prior_delivered_ce: 0,
        newly_marked: 0,
        tx_in_flight: 0,
        lost_since: 0,
        selective: true,
        newly_lost: 0,
        lost: 0,
        prior_flight: flight,
        flight,
    }
}

/// Sets RTTmin to 100 ms, and delivers a segment with this RTT after 100 ms, when RTTstanding
/// (SRTT / 2 = 50 ms) has only the new sample.
fn deliver(copa: &mut Copa, rtt: u64) {
    let srtt = estimator(100);
    copa.measure(&cx(&srtt, 0, 1, 1), ms(100));
    let flight = copa.cwnd();
    copa.on_rate_sample(&cx(&srtt, 100, 1, 1 + flight), &sample(MSS, flight, rtt));
}

/// The target is 1 / (delta dq): with dq = 20 ms and delta = 0.5 100 segments per second, and with
/// RTTstanding = 120 ms 12 segments of cwnd. One segment acknowledged moves cwnd by v / (delta cwnd)
/// = 2 / 12.
#[test]
fn cwnd_moves_towards_the_target_rate() {
    for (window, rtt, cwnd) in [
        (12, 120, 12_166),
        (13, 120, 12_846),
        (1000, 100, 1_000_002),
        (4, 150, 4_500),
        (7, 150, 6_714),
    ] {
        let mut copa = copa(window, false);
        copa.state.round_end = u64::MAX;
        deliver(&mut copa, rtt);
        assert_eq!(copa.cwnd(), cwnd, "{window} {rtt}");
    }
}

/// dq uses the least RTT of SRTT / 2 and the least RTT of 10 s. An RTT within 1/128 of the latter
/// is treated as equal to it.
#[test]
fn delays_are_the_least_of_their_windows() {
    let srtt = estimator(100);
    let mut copa = copa(10, false);
    for (now, rtt, queueing) in [
        (0, 100, 0),
        (40, 130, 0),
        (51, 140, 30),
        (90, 150, 30),
        (91, 160, 40),
        (10_051, 160, 60),
        (10_052, 160, 10),
    ] {
        copa.measure(&cx(&srtt, now, 1, 1), ms(rtt));
        assert_eq!(copa.queueing(), Some(ms(queueing)), "{now}");
    }
}

/// The velocity doubles from the third round in one direction on, and a turn resets it to 1.
#[test]
fn velocity_doubles_after_three_rounds_and_turns_reset_it() {
    let srtt = estimator(100);
    let mut copa = copa(100, false);
    let mut velocities = Vec::new();
    for round in 0..6_u64 {
        copa.state.round_window = copa.cwnd() - 1; // cwnd rose
        let una = copa.state.round_end + 1;
        copa.end_round(&cx(&srtt, round, una, una + 10));
        velocities.push(copa.state.velocity);
    }
    assert_eq!(velocities, [1.0, 1.0, 2.0, 4.0, 8.0, 16.0]);
    copa.state.round_window = copa.cwnd();
    copa.end_round(&cx(&srtt, 9, 1, 10));
    assert_eq!(
        (copa.state.velocity, copa.state.up, copa.state.rounds),
        (1.0, false, 0)
    );
    assert_eq!(copa.state.round_window, copa.cwnd());
    assert_eq!(copa.state.round_end, 10);
}

/// A fast rise turns at once where cwnd exceeds the target, and then falls at velocity 1. At most
/// cwnd is added per RTT, as in slow start.
#[test]
fn a_turn_between_rounds_resets_the_velocity() {
    let mut fast = copa(50, false);
    fast.state.round_end = u64::MAX;
    (fast.state.velocity, fast.state.rounds) = (64.0, 8);
    deliver(&mut fast, 120);
    assert_eq!((fast.cwnd(), fast.state.velocity), (49_960, 1.0));
    assert_eq!((fast.state.up, fast.state.rounds), (false, 0));
    let mut bounded = copa(10, false);
    bounded.state.round_end = u64::MAX;
    bounded.state.velocity = 1024.0;
    deliver(&mut bounded, 100);
    assert_eq!(bounded.cwnd(), 11_000);
}

/// Slow start adds the delivered data to cwnd until cwnd / RTTstanding exceeds the target. The ACK
/// at which this happens already reduces cwnd.
#[test]
fn slow_start_ends_above_the_target_rate() {
    for (window, rtt, cwnd, on) in [(12, 120, 13_000, true), (13, 120, 12_846, false)] {
        let mut copa = copa(window, true);
        deliver(&mut copa, rtt);
        assert_eq!((copa.cwnd(), copa.in_slow_start()), (cwnd, on));
        let ssthresh = if on { u64::MAX } else { window * MSS };
        assert_eq!(copa.ssthresh(), ssthresh);
    }
}

/// A sender that uses less than half of cwnd does not raise cwnd, but can lower it. cwnd is at
/// least two segments.
#[test]
fn an_unused_window_does_not_grow() {
    let srtt = estimator(100);
    for slow_start in [true, false] {
        for (flight, grows) in [(50_000, true), (49_999, false)] {
            let mut copa = copa(100, slow_start);
            copa.state.round_end = u64::MAX;
            copa.on_rate_sample(&cx(&srtt, 0, 1, 1), &sample(MSS, flight, 100));
            assert_eq!(copa.cwnd() > 100 * MSS, grows, "{slow_start} {flight}");
        }
    }
    let mut low = copa(3, false);
    low.measure(&cx(&srtt, 0, 1, 1), ms(100));
    low.on_rate_sample(&cx(&srtt, 100, 1, 1), &sample(10 * MSS, 0, 900));
    assert_eq!(low.cwnd(), 2 * MSS);
}

/// A loss leaves cwnd alone in the default mode. A time-out starts again with a segment, and its
/// undo restores window, velocity and phase.
#[test]
fn losses_leave_the_window_and_time_outs_restart() {
    let srtt = estimator(100);
    let mut copa = copa(40, false);
    copa.state.velocity = 4.0;
    let before = copa.state;
    let sent_at = Instant::ZERO;
    copa.on_loss(&cx(&srtt, 0, 1, 1), &Loss { sent_at });
    assert_eq!((copa.cwnd(), copa.state.mode.delta()), (40 * MSS, 0.5));
    copa.state = before;
    copa.save();
    copa.on_timeout(&cx(&srtt, 0, 1, 1), true);
    assert_eq!(
        (copa.cwnd(), copa.in_slow_start(), copa.state.velocity),
        (MSS, true, 1.0)
    );
    copa.on_spurious(
        &cx(&srtt, 0, 1, 1),
        &Undone {
            window: 40 * MSS,
            ssthresh: 9,
        },
    );
    assert_eq!(
        (copa.cwnd(), copa.ssthresh(), copa.state),
        (40 * MSS, 9, before)
    );
}

/// 2 cwnd / RTTstanding: 40 segments of 1,040 bytes twice in 100 ms are 6.656 Mbit/s.
#[test]
fn pacing_is_twice_the_rate() {
    let mut copa = copa(40, true);
    assert_eq!(copa.pacing_rate(), None);
    copa.on_established(&cx(&estimator(100), 0, 1, 1));
    assert_eq!(copa.pacing_rate(), Some(6_656_000));
    copa.on_idle(&cx(&estimator(100), 0, 1, 1), 10 * MSS);
    assert_eq!(copa.pacing_rate(), Some(1_664_000));
}

/// The spread of the RTTs is that of four SRTTs: a peak of 300 ms counts for 400 ms.
#[test]
fn the_largest_rtt_is_of_four_round_trips() {
    let srtt = estimator(100);
    let mut copa = copa(10, false);
    for (now, rtt, largest) in [
        (0, 300, 300),
        (10, 100, 300),
        (400, 110, 300),
        (405, 105, 110),
    ] {
        copa.measure(&cx(&srtt, now, 1, 1), ms(rtt));
        assert_eq!(copa.largest.get(), Some(ms(largest)), "{now}");
    }
}

/// A queue of 100 ms that lasts more than five RTTs is competitive, and 1 / delta rises once per
/// round. The first sample, 10 s after the start, begins this time.
#[test]
fn rounds_of_the_competitive_mode_lower_delta() {
    let srtt = estimator(100);
    let mut copa = copa(100, false);
    for (now, rtt, inverse) in [
        (10_000, 100, 2.0),
        (10_100, 200, 2.0),
        (10_500, 200, 2.0),
        (10_501, 200, 3.0),
        (10_502, 200, 4.0),
    ] {
        copa.measure(&cx(&srtt, now, 1, 1), ms(rtt));
        copa.end_round(&cx(&srtt, now, 1, 10));
        assert!(
            (copa.state.mode.delta() * inverse - 1.0).abs() < 1e-12,
            "{now}"
        );
    }
}

/// A round ends with the first ACK beyond its data. Slow start has no rounds, and its end begins
/// one.
#[test]
fn rounds_are_windows_of_data() {
    let srtt = estimator(100);
    for (una, rounds) in [(5, 0), (6, 1)] {
        let mut copa = copa(10, false);
        copa.state.round_end = 5;
        copa.state.round_window = copa.cwnd() - 1;
        copa.on_rate_sample(&cx(&srtt, 0, una, 100), &sample(MSS, 0, 100));
        assert_eq!(copa.state.rounds, rounds, "{una}");
        let end = if rounds == 0 { 5 } else { 100 };
        assert_eq!(copa.state.round_end, end, "{una}");
    }
    for (window, rtt, end, at_start) in [(12, 120, 0, 12_000), (13, 120, 13_001, 13_000)] {
        let mut copa = copa(window, true);
        deliver(&mut copa, rtt);
        assert_eq!(
            (copa.state.round_end, copa.state.round_window),
            (end, at_start),
            "{window}"
        );
    }
}

/// The least velocity above 1 is reset by a turn, too.
#[test]
fn a_turn_resets_a_velocity_of_two() {
    let mut copa = copa(50, false);
    copa.state.round_end = u64::MAX;
    copa.state.velocity = 2.0;
    deliver(&mut copa, 120);
    assert_eq!((copa.cwnd(), copa.state.velocity), (49_960, 1.0));
}
