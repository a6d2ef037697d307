//! Tests of closed forms at the edges of their range against values computed by hand, and of
//! parameters at the edges of the allowed range.

use farlink_channel::orbit::Passes;
use farlink_channel::rng::{Probability, Stream, Streams};
use farlink_channel::trace::Timeline;
use farlink_channel::{
    Advance, ByteErrors, Channel, ChannelError, Corrupt, DelayDistribution, DelayTrace,
    Distribution, Duplicate, FadeRule, Fading, Gap, GilbertTime, Handoffs, InternetDelay,
    Interruption, Jitter, LEVELS, Loss, LossTrace, Mobile, MobileStreams, Orbit, Process, Raised,
    RayleighChain, Reconfiguration, Sampling, Satellite, Scripted, Stage, StateLoss, Theory,
};
use farlink_tcp::Interval;

fn p(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

fn ms(value: u64) -> Interval {
    Interval::from_millis(value)
}

fn stream() -> Stream {
    Streams::new(1, 0).stream("theory")
}

fn spaced(spacing: Interval) -> Sampling {
    Sampling {
        bytes: 1500,
        spacing,
    }
}

#[track_caller]
fn near(measured: f64, expected: f64) {
    assert!(
        (measured - expected).abs() <= 1e-9 * expected.abs().max(1e-3),
        "{measured} is not {expected}"
    );
}

fn process(process: impl Process + 'static) -> Stage {
    Stage::Process(Box::new(process))
}

fn reconfiguration(time: Interval, action: Interruption, [low, high]: [u64; 2]) -> Stage {
    let (interval, first) = (Interval::from_secs(15), Interval::from_secs(12));
    process(Reconfiguration::new(
        interval,
        first,
        [ms(low), ms(high)],
        Gap { time, action },
        true,
        stream(),
    ))
}

/// Packets closer together than an interruption is long meet every interruption: 100 ms every 15 s
/// lose time / spacing packets in a row, and the rest of the period is the gap. Packets farther
/// apart may miss an interruption.
#[test]
fn packets_that_meet_every_interruption_have_its_burst() {
    let theory =
        |spacing| reconfiguration(ms(100), Interruption::Drop, [5, 25]).theory(spaced(spacing));
    let met = theory(ms(4));
    near(met.loss.unwrap(), 0.1 / 15.0);
    near(met.burst.unwrap(), 25.0);
    near(met.gap.unwrap(), 14.9 / 0.004);
    near(theory(ms(100)).burst.unwrap(), 1.0);
    for spacing in [ms(101), Interval::ZERO] {
        let open = theory(spacing);
        near(open.loss.unwrap(), 0.1 / 15.0);
        assert_eq!((open.burst, open.gap), (None, None));
    }
    // An interruption that holds packets, or takes no time, loses none.
    for (time, action) in [(100, Interruption::Hold), (0, Interruption::Drop)] {
        let none = reconfiguration(ms(time), action, [5, 25]).theory(spaced(ms(4)));
        assert_eq!((none.loss, none.burst, none.gap), (Some(0.0), None, None));
    }
    let passes = Passes {
        altitude: 550e3,
        min_elevation: 25f64.to_radians(),
        max_elevation: 90f64.to_radians(),
        inclination: None,
    };
    let gap = Gap {
        time: ms(500),
        action: Interruption::Drop,
    };
    let whole = passes.duration();
    let measured = process(Orbit::new(passes, 2, gap, stream())).theory(spaced(ms(5)));
    near(measured.burst.unwrap(), 100.0);
    assert!((measured.gap.unwrap() / ((whole - 0.5) / 0.005) - 1.0).abs() < 1e-6);
    assert!((measured.loss.unwrap() / (0.5 / whole) - 1.0).abs() < 1e-6);
}

/// The delay of a period is uniform from 5 to 25 ms. A gap g in a period T that holds packets adds
/// a wait with mean g^2 / 2T and second moment g^3 / 3T, and leaves no quantiles.
#[test]
fn a_reconfiguration_has_the_distribution_of_a_uniform_delay() {
    let distribution = |gap, action| {
        let theory = reconfiguration(ms(gap), action, [5, 25]).theory(spaced(ms(4)));
        theory.delay.unwrap()
    };
    for (gap, action) in [(100, Interruption::Drop), (0, Interruption::Hold)] {
        let distribution = distribution(gap, action);
        near(distribution.mean, 0.015);
        near(distribution.deviation, 0.02 / 12f64.sqrt());
        assert!(distribution.quantiles.len() > 5);
        for (level, at) in distribution.quantiles {
            near(at, 0.005 + 0.02 * level);
        }
    }
    let held = distribution(3000, Interruption::Hold);
    let wait = 9.0 / 30.0;
    near(held.mean, 0.015 + wait);
    near(
        held.deviation,
        (0.02f64.powi(2) / 12.0 + 27.0 / 45.0 - wait * wait).sqrt(),
    );
    assert!(held.quantiles.is_empty());
}

fn constant(delay: u64) -> Stage {
    let none = Interval::ZERO;
    process(InternetDelay::new(ms(delay), 2, none, None, true, stream()).unwrap())
}

/// A constant delay shifts the distribution of another delay, whichever comes first. Two constant
/// delays add up.
#[test]
fn a_constant_delay_moves_the_distribution_of_another() {
    let exponential = || {
        let distribution = Distribution::Exponential { mean: ms(3) };
        Stage::Jitter(Jitter::new(distribution, false, stream()).unwrap())
    };
    let distribution = |stages| Channel::new(stages).theory(spaced(ms(1))).delay.unwrap();
    let alone = distribution(vec![exponential()]);
    for stages in [
        vec![constant(20), exponential()],
        vec![exponential(), constant(20)],
    ] {
        let moved = distribution(stages);
        near(moved.mean, alone.mean + 0.02);
        near(moved.deviation, alone.deviation);
        assert_eq!(moved.quantiles.len(), LEVELS.len());
        for ((level, at), (_, before)) in moved.quantiles.into_iter().zip(&alone.quantiles) {
            near(at, before + 0.02);
            // The quantile of an exponential variate is -m ln(1 - p).
            assert!(
                (at - 0.02 + 0.003 * (1.0 - level).ln()).abs() < 1e-6,
                "{level}"
            );
        }
    }
    assert_eq!(
        distribution(vec![constant(20)]),
        DelayDistribution::constant(0.02)
    );
    let both = distribution(vec![constant(20), constant(5)]);
    near(both.mean, 0.025);
    assert_eq!(both.deviation, 0.0);
    for (_, at) in both.quantiles {
        near(at, 0.025);
    }
}

/// With draws 3 ms wide no packet catches up with one sent 4 ms earlier, but packets 1 ms apart
/// may. Packets behind a constant delay do not count as evenly spaced, so there is no closed form.
#[test]
fn a_delay_in_order_is_that_of_its_draws_where_packets_are_far_apart() {
    let distribution = Distribution::Uniform {
        low: ms(2),
        high: ms(5),
    };
    let jitter = |keep| Stage::Jitter(Jitter::new(distribution, keep, stream()).unwrap());
    let distribution = |keep, spacing| jitter(keep).theory(spaced(spacing)).delay.unwrap();
    for spacing in [ms(3), ms(4)] {
        assert_eq!(distribution(true, spacing), distribution(false, spacing));
    }
    assert!(distribution(true, ms(1)).mean > distribution(false, ms(1)).mean);
    let behind = Channel::new(vec![constant(20), jitter(true)]).theory(spaced(ms(4)));
    assert_eq!(behind.delay, None);
}

/// Two independent losses of 1/2 and 1/5 combine to 1 - 1/2 4/5, without memory.
#[test]
fn independent_losses_multiply() {
    let loss = |value| Stage::Loss(Loss::new(p(value), stream()));
    let theory = Channel::new(vec![loss(0.5), loss(0.2)]).theory(spaced(ms(1)));
    near(theory.loss.unwrap(), 0.6);
    near(theory.burst.unwrap(), 2.5);
    near(theory.gap.unwrap(), 1.0 / 0.6);
    for lag in theory.autocorrelation.unwrap() {
        assert!(lag.abs() < 1e-12);
    }
}

/// In time the chain makes a whole number of steps between two packets, or one more with the
/// probability of the remainder of the spacing. By packets it makes one step at any spacing.
#[test]
fn the_memory_of_a_chain_in_time_is_that_of_its_steps() {
    let chain = |advance| {
        let steps = [p(0.1), p(0.3)];
        RayleighChain::with_transitions(steps, ms(4), advance, Interval::ZERO, stream())
    };
    let lags = |advance, spacing| -> Vec<f64> {
        let theory = process(chain(advance)).theory(spaced(spacing));
        near(theory.loss.unwrap(), 0.25);
        theory.autocorrelation.unwrap()
    };
    let memory = 0.6f64;
    for (spacing, first, second) in [
        (ms(4), memory, memory.powi(2)),
        (ms(8), memory.powi(2), memory.powi(4)),
        // 2.25 steps, and 4.5.
        (
            ms(9),
            0.75 * memory.powi(2) + 0.25 * memory.powi(3),
            0.5 * memory.powi(4) + 0.5 * memory.powi(5),
        ),
        // A quarter of a step, and a half.
        (ms(1), 0.75 + 0.25 * memory, 0.5 + 0.5 * memory),
    ] {
        let measured = lags(Advance::Time, spacing);
        near(measured[0], first);
        near(measured[1], second);
        let measured = lags(Advance::Packet, spacing);
        near(measured[0], memory);
        near(measured[1], memory.powi(2));
    }
}

/// A trace of one row has that row's value. Otherwise the mean is over time, and with interpolation
/// each straight line has the moments of a uniform delay.
#[test]
fn a_trace_has_the_mean_of_its_rows_in_time() {
    let line = |times: &[u64]| {
        let times: Vec<_> = times.iter().map(|&time| ms(time)).collect();
        Timeline::new(&times, times.len() > 1).unwrap()
    };
    let distribution = |times, delays: &[u64], interpolate| {
        let delays = delays.iter().map(|&delay| ms(delay)).collect();
        let trace = DelayTrace::new(line(times), delays, interpolate, ms(0), true);
        process(trace).theory(spaced(ms(1))).delay.unwrap()
    };
    let only = distribution(&[0], &[30], true);
    near(only.mean, 0.03);
    assert!(only.deviation < 1e-9, "{}", only.deviation);
    assert!(
        only.quantiles
            .iter()
            .all(|&(_, at)| (at - 0.03).abs() < 1e-12)
    );
    let steps = distribution(&[0, 300, 400], &[10, 50, 50], false);
    near(steps.mean, 0.02);
    near(steps.deviation, 0.04 * (0.75f64 * 0.25).sqrt());
    let slope = distribution(&[0, 100], &[10, 50], true);
    near(slope.mean, 0.03);
    near(slope.deviation, 0.04 / 12f64.sqrt());
    for (level, at) in slope.quantiles {
        near(at, 0.01 + 0.04 * level);
    }
    let loss = |times, losses: &[f64]| {
        let losses = losses.iter().map(|&loss| p(loss)).collect();
        let trace = LossTrace::new(line(times), losses, ms(0), stream());
        process(trace).theory(spaced(ms(1))).loss.unwrap()
    };
    near(loss(&[0], &[0.3]), 0.3);
    near(loss(&[0, 300, 400], &[0.1, 0.5, 0.9]), 0.2);
}

/// A script of losses ends, so it has no mean loss; it delays no packet. Plain loss, damage and
/// copies have no derived values.
#[test]
fn processes_without_closed_form_or_derived_values_return_none() {
    let script = process(Scripted::new(&[3], 0).unwrap());
    let open = Theory {
        delay: Some(DelayDistribution::constant(0.0)),
        ..Theory::default()
    };
    assert_eq!(script.theory(spaced(ms(1))), open);
    let duplicate = Stage::Duplicate(Duplicate::new(p(0.1), stream()));
    assert_eq!(duplicate.theory(spaced(ms(1))), Theory::clean());
    for stage in [
        script,
        duplicate,
        Stage::Loss(Loss::new(p(0.1), stream())),
        Stage::Corrupt(Corrupt::new(p(0.1), stream())),
        reconfiguration(ms(1), Interruption::Drop, [0, 1]),
    ] {
        assert_eq!(stage.derived(), [], "{stage:?}");
    }
}

/// Breaks every condition of every constructor alone, and accepts the neighbouring valid value.
#[test]
fn each_invalid_parameter_is_refused_alone() {
    let bytes = |distance, burst| ByteErrors::new(distance, burst, 0, stream(), stream()).is_ok();
    assert_eq!(
        [bytes(1, 1), bytes(0, 1), bytes(1, 0)],
        [true, false, false]
    );
    let hour = Interval::from_secs(3600);
    let more = hour + Interval::from_nanos(1);
    let in_time = |burst| GilbertTime::from_means(p(0.1), burst, stream()).err();
    assert_eq!(in_time(hour), None);
    assert_eq!(in_time(more), Some(ChannelError::BurstTime(more)));
    let sky = |b, g| Satellite::new(p(b), p(g), p(0.0), p(0.1), stream()).is_ok();
    assert_eq!(
        [sky(0.1, 0.0), sky(0.0, 0.1), sky(0.0, 0.0)],
        [true, true, false]
    );
    let raised = |enter, leave, weights: &[f64]| {
        let raised = Raised {
            enter: p(enter),
            leave: p(leave),
            means: weights.iter().map(|&weight| (weight, ms(1))).collect(),
        };
        InternetDelay::new(ms(1), 1, ms(1), Some(raised), true, stream()).is_ok()
    };
    assert!(raised(0.1, 0.0, &[1.0]) && raised(0.0, 0.1, &[1.0]) && raised(0.1, 0.1, &[0.0, 1.0]));
    for weights in [&[] as &[f64], &[2.0, -1.0], &[f64::INFINITY], &[f64::NAN]] {
        assert!(!raised(0.1, 0.1, weights), "{weights:?}");
    }
    let motion = |rate, duration| Fading::from_motion(20.0, 850e6, rate, duration).is_ok();
    assert!(motion(0.5, 1.9) && motion(0.5, 0.5));
    for (rate, duration) in [(0.0, 0.5), (0.5, 0.0), (-0.5, 0.5), (0.5, -0.5), (0.5, 2.0)] {
        assert!(!motion(rate, duration), "{rate} {duration}");
    }
    let mobile = |good, bad| {
        let fading = Fading {
            interval: ms(good),
            duration: ms(bad),
            good: StateLoss::NONE,
            bad: StateLoss::Packet(p(1.0)),
            rule: FadeRule::Instant,
        };
        let streams = MobileStreams {
            handoffs: stream(),
            fades: stream(),
            packets: stream(),
        };
        Mobile::new(19_200, None, Some(fading), streams).is_ok()
    };
    assert_eq!(
        [mobile(1, 1), mobile(0, 1), mobile(1, 0)],
        [true, false, false]
    );
    let bounds = |low, high| {
        let distribution = Distribution::Uniform {
            low: ms(low),
            high: ms(high),
        };
        Jitter::new(distribution, true, stream()).is_ok()
    };
    assert_eq!(
        [bounds(2, 3), bounds(2, 2), bounds(3, 2)],
        [true, true, false]
    );
    // Rain has the share 1/6, so it cannot cause a larger loss. A packet of no bytes cannot be
    // lost.
    let rain = |loss, bytes| Satellite::ber_for_loss(p(0.01), p(0.05), p(0.0), p(loss), bytes);
    assert_eq!(rain(0.1, 0), None);
    assert_eq!(rain(0.0, 500), Some(Probability::ZERO));
    assert_eq!(rain(0.2, 500), None);
    // Cells of 100 m at 10 m/s, and a region of 20 m: R / (v ln 2) and half of d / (v ln 2).
    let [between, handoff] = Handoffs::from_motion(100.0, 20.0, 10.0);
    near(between.as_secs_f64(), 10.0 / 2f64.ln());
    near(handoff.as_secs_f64(), 1.0 / 2f64.ln());
}
