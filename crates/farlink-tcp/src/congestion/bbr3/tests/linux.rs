//! Rules of Linux that the draft lacks.

use super::*;

#[test]
fn linux_stops_a_probe_at_the_bound_of_the_last_one_and_probes_again() {
    let mut d = Driver::new(&[
        ("rules", Setting::Choice("linux")),
        ("probe_rtt_interval", Setting::Time(Interval::from_secs(60))),
    ])
    .at(Phase::Up);
    d.lose(20, 120 * MSS);
    assert!(d.bbr.cycle.was_too_high);
    let bound = d.bbr.bounds.long;
    d.until(RATE, PRODUCT - 20 * MSS, |state| {
        state == State::ProbeBw(Phase::Up)
    });
    d.round(RATE, bound);
    assert_eq!(d.bbr.state, State::ProbeBw(Phase::Down));
    assert!(d.bbr.cycle.stopped_at_bound);
    // No loss in the ACKs of the probe: the next probe begins one round later.
    d.round(RATE, PRODUCT - 20 * MSS);
    assert_eq!(d.bbr.state, State::ProbeBw(Phase::Refill));
}

#[test]
fn without_sack_one_loss_of_a_recovery_ends_startup() {
    let mut d = Driver::new(&[]);
    d.round(RATE, PRODUCT);
    d.recover();
    d.now += RTT;
    let sample = RateSample {
        newly_lost: MSS,
        selective: false,
        ..d.sample(PRODUCT, 2 * RATE, PRODUCT)
    };
    d.give(&sample);
    assert!(d.bbr.full_pipe.reached);
}

#[test]
fn linux_bounds_the_aggregation_to_a_tenth_of_a_second() {
    // Each ACK is of a full round of 100 segments: 100 ms at the rate are 100 segments, too.
    let window = |d: Driver| {
        let mut d = d.at(Phase::Cruise);
        d.bbr.bandwidth = MaxBandwidth::default();
        d.bbr.bandwidth.push(RATE as f64 / 2.0, false);
        let late = d.late_sample(PRODUCT / 2);
        let sample = RateSample {
            interval: Some(Interval::from_nanos(late.delivered * 2_000)),
            ..late
        };
        d.give(&sample);
        d.bbr.cwnd() / MSS
    };
    // 2 BDP of 50 segments, and the excess of 100 segments or of 50.
    assert!((200..=201).contains(&window(Driver::new(&[]))));
    assert_eq!(window(Driver::linux()), 150);
}

#[test]
fn a_time_out_starts_the_short_term_bound_in_linux() {
    for (linux, phase, bounded) in [
        (true, Phase::Cruise, true),
        (true, Phase::Up, false),
        (false, Phase::Cruise, false),
    ] {
        let rules = if linux { "linux" } else { "draft" };
        let mut d = Driver::new(&[("rules", Setting::Choice(rules))]).at(phase);
        let window = d.bbr.cwnd();
        d.hook(|bbr, cx| bbr.on_timeout(cx, true));
        let expected = if bounded { window } else { UNBOUNDED };
        assert_eq!(d.bbr.bounds.short, expected, "{rules} {phase:?}");
    }
}

#[test]
fn linux_bounds_the_short_term_by_the_long_term_bound_when_it_cruises() {
    for (mut d, expected) in [(Driver::linux(), 70 * MSS), (Driver::new(&[]), 90 * MSS)] {
        d = d.at(Phase::Cruise);
        d.bbr.state = State::ProbeBw(Phase::Down);
        d.bbr.bounds.long = 70 * MSS;
        d.bbr.bounds.short = 90 * MSS;
        let sample = d.late_sample(10 * MSS);
        d.give(&sample);
        assert_eq!(d.bbr.state, State::ProbeBw(Phase::Cruise));
        assert_eq!(d.bbr.bounds.short, expected);
    }
}

#[test]
fn linux_reduces_the_bound_by_the_sample_of_an_ack() {
    for (d, expected) in [(Driver::linux(), 120 * MSS), (Driver::new(&[]), UNBOUNDED)] {
        let mut d = d.at(Phase::Up);
        let sample = RateSample {
            lost_since: 3 * MSS,
            ..d.late_sample(120 * MSS)
        };
        d.give(&sample);
        assert_eq!(d.bbr.bounds.long, expected);
    }
}

#[test]
fn without_sack_a_flight_is_too_large_only_if_something_was_lost() {
    let evidence = |lost| Evidence {
        lost,
        tx_in_flight: 1_000_000,
        delivered: 0,
        marked: 0,
    };
    assert!(!evidence(0).is_too_high(0.02, 0.5, false));
    assert!(evidence(1).is_too_high(0.02, 0.5, false));
    assert!(!evidence(1).is_too_high(0.02, 0.5, true));
}
