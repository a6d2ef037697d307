//! Rules of the path model and the bounds, one at a time.

use super::super::bounds::Bounds;
use super::super::cycle::Cycle;
use super::super::path::{Latest, MaxBandwidth, MinRtt, Round};
use super::*;

/// 5.5.10.3: a bound does not fall below the delivery of the latest round.
#[test]
fn short_term_bounds_stay_above_the_latest_delivery() {
    for (rate, volume, bounds) in [(10.0, 10, (70.0, 70)), (80.0, 90, (80.0, 90))] {
        let mut bound = Bounds::default();
        let latest = Latest {
            rate,
            volume,
            ..Latest::default()
        };
        bound.on_loss_round(&latest, 0.7, 100.0, 100);
        assert_eq!((bound.rate, bound.short), bounds);
    }
}

/// `BBRProbeInflightLongtermUpward`: bytes beyond a whole increase count for the next one.
#[test]
fn acked_bytes_beyond_an_increase_are_carried_over() {
    let mut cycle = Cycle::default();
    cycle.start_refill(0);
    cycle.start_up(Instant::ZERO, 10);
    let ack = |cycle: &mut Cycle, segments| cycle.on_probe_ack(segments * MSS, false, (10, MSS));
    let increases = [7, 7, 7, 9].map(|segments| ack(&mut cycle, segments));
    assert_eq!(increases, [0, 1, 1, 1]);
}

/// 5.5.6: a sample that the application limited counts if it is not below the filter.
#[test]
fn limited_samples_can_raise_the_bandwidth() {
    let mut bandwidth = MaxBandwidth::default();
    for (rate, limited, greatest) in [(5.0, false, 5.0), (7.0, true, 7.0), (6.0, true, 7.0)] {
        bandwidth.push(rate, limited);
        assert_eq!(bandwidth.max(), greatest);
    }
    bandwidth.advance();
    bandwidth.push(6.0, true);
    bandwidth.advance();
    assert_eq!(bandwidth.max(), 7.0);
}

/// 5.3.4.3: the least RTT is as old as the sample that it comes from.
#[test]
fn least_rtt_has_the_time_of_its_sample() {
    let mut least = MinRtt::new(Interval::from_secs(5));
    let at = |seconds| Instant::ZERO + Interval::from_secs(seconds);
    least.start(at(0), Some(RTT));
    least.update(at(6), Some(RTT.saturating_mul(2)));
    assert_eq!((least.least, least.probe_at), (Some(RTT), at(6)));
    least.update(at(11), Some(RTT.saturating_mul(3)));
    assert_eq!(least.least, Some(RTT.saturating_mul(2)));
    assert_eq!(least.at, at(6));
}

/// A sample without a rate starts no round, as in Linux (`tcp_bbr.c`).
#[test]
fn sample_without_a_rate_starts_no_round() {
    let mut d = Driver::new(&[]);
    let mut round = Round::default();
    let sample = d.sample(MSS, RATE, MSS);
    for (interval, starts) in [(None, false), (sample.interval, true)] {
        round.update(&RateSample { interval, ..sample });
        assert_eq!(round.start, starts);
    }
}

/// 5.3.3.6: cruising begins once the flight leaves headroom below the long-term bound.
#[test]
fn cruising_waits_for_headroom() {
    for (flight, cruises) in [(70, false), (68, true)] {
        let mut d = Driver::new(&[]).at(Phase::Down);
        d.bbr.bounds.long = 80 * MSS;
        d.now += Interval::from_millis(1);
        let sample = d.late_sample(flight * MSS);
        let sample = RateSample {
            tx_in_flight: 0,
            ..sample
        };
        d.give(&sample);
        let state = State::ProbeBw(if cruises { Phase::Cruise } else { Phase::Down });
        assert_eq!(d.bbr.state, state, "{flight}");
    }
}
