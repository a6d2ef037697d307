//! Tests of each channel process: derived values against values computed by hand, whether the
//! process can change packets, and whether it keeps their order.

use farlink_channel::fading::Margin;
use farlink_channel::fec::BlockCode;
use farlink_channel::mobility::Separation;
use farlink_channel::orbit::Passes;
use farlink_channel::radio::{Band, Budget, Modulation, Noise, PathLoss};
use farlink_channel::rng::{Probability, Stream, Streams};
use farlink_channel::trace::Timeline;
use farlink_channel::{
    Advance, BitErrors, BitFading, ByteErrors, Channel, Congestion, DelayTrace, Derived,
    Distribution, FadeRule, Fading, Forwarding, Gap, Gilbert, GilbertTime, Handoffs, InternetDelay,
    Interruption, JakesFading, Jitter, LEVELS, LossTrace, Mobile, MobileStreams, Orbit, Passage,
    Process, Radio, Raised, RayleighChain, RayleighField, Reconfiguration, Reorder, Sampling,
    Satellite, Scripted, Stage, StateLoss, Verdict,
};
use farlink_tcp::{Instant, Interval};

fn p(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

fn ms(value: u64) -> Interval {
    Interval::from_millis(value)
}

fn stream() -> Stream {
    Streams::new(1, 0).stream("derived")
}

fn process(process: impl Process + 'static) -> Stage {
    Stage::Process(Box::new(process))
}

/// Fails unless the derived values are exactly these, in this order, to 1 part in 10^9.
#[track_caller]
fn assert_derived(stage: &Stage, expected: &[(&str, f64)]) {
    assert_derived_within(stage, expected, 1e-9);
}

#[track_caller]
fn assert_derived_within(stage: &Stage, expected: &[(&str, f64)], error: f64) {
    let derived: Vec<Derived> = stage.derived();
    let names: Vec<_> = derived.iter().map(|entry| entry.name).collect();
    let wanted: Vec<_> = expected.iter().map(|entry| entry.0).collect();
    assert_eq!(names, wanted);
    for (measured, (name, value)) in derived.iter().zip(expected) {
        assert!(
            (measured.value - value).abs() <= error * value.abs(),
            "{name}: {} is not {value}",
            measured.value
        );
    }
}

/// Returns the probability that at least one bit of `bytes` bytes errs.
fn hit(ber: f64, bytes: u32) -> f64 {
    -(f64::from(8 * bytes) * (-ber).ln_1p()).exp_m1()
}

#[test]
fn of_bursts_by_packets_and_in_time() {
    let simple = Gilbert::from_means(p(0.05), 4.0, stream()).unwrap();
    assert_derived(
        &Stage::Gilbert(simple),
        &[
            ("p", 0.25 * 0.05 / 0.95),
            ("r", 0.25),
            ("bad_share", 0.05),
            ("mean_loss", 0.05),
            ("mean_burst_packets", 4.0),
            ("mean_gap_packets", 76.0),
        ],
    );
    // A burst ends when a loss in either state is followed by a delivery in either.
    let four = Gilbert::new(p(0.02), p(0.1), p(0.3), p(0.99), stream()).unwrap();
    let ends = 0.7 / 6.0 * (0.1 * 0.99 + 0.9 * 0.3) + 0.05 / 6.0 * (0.02 * 0.3 + 0.98 * 0.99);
    assert_derived(
        &Stage::Gilbert(four),
        &[
            ("p", 0.02),
            ("r", 0.1),
            ("bad_share", 1.0 / 6.0),
            ("mean_loss", 0.125),
            ("mean_burst_packets", 0.125 / ends),
            ("mean_gap_packets", 0.875 / ends),
        ],
    );
    assert_derived(
        &process(GilbertTime::from_means(p(0.2), ms(10), stream()).unwrap()),
        &[
            ("mean_loss", 0.2),
            ("mean_bad_time", 0.01),
            ("mean_good_time", 0.04),
            ("burst_rate", 20.0),
        ],
    );
    assert_derived(
        &process(Congestion::new(ms(30), ms(10), p(0.1), p(0.5), stream(), stream()).unwrap()),
        &[
            ("mean_clear", 0.03),
            ("mean_congested", 0.01),
            ("congestion_periods", 25.0),
            ("congested_share", 0.25),
            ("mean_loss", 0.75 * 0.1 + 0.25 * 0.5),
        ],
    );
}

#[test]
fn of_bits_and_bytes_in_error() {
    let bits = BitErrors::new(p(1e-5), 0, stream());
    assert_derived(
        &Stage::BitErrors(bits.clone()),
        &[
            ("packet_loss_1500_B", hit(1e-5, 1500)),
            ("packet_loss_40_B", hit(1e-5, 40)),
        ],
    );
    // A code with one check symbol of 8 bits corrects nothing, so a block fails if any bit of its 3
    // bytes errs.
    let code = BlockCode::new(3, 2, 8, 0).unwrap();
    assert_derived(
        &Stage::BitErrors(bits.with_code(code)),
        &[
            ("packet_loss_1500_B", hit(1e-5, 2250)),
            ("packet_loss_40_B", hit(1e-5, 60)),
            ("code_rate", 2.0 / 3.0),
            ("block_loss", hit(1e-5, 3)),
        ],
    );
    let bytes = ByteErrors::new(2000, 2, 10, stream(), stream()).unwrap();
    let falls = |bytes: f64| -(-bytes / 2000.0).exp_m1();
    assert_derived(
        &process(bytes),
        &[
            ("equivalent_ber", 1.0 / 16_000.0),
            ("damage_1500_bytes", falls(3000.0)),
            ("damage_40_bytes", falls(80.0)),
            ("ip_header_1500_bytes", falls(20.0) / falls(1500.0)),
        ],
    );
    let satellite = Satellite::new(p(0.01), p(0.04), p(1e-7), p(1e-5), stream()).unwrap();
    let mean = |bytes| 0.8 * hit(1e-7, bytes) + 0.2 * hit(1e-5, bytes);
    let expected = |data: f64, ack: f64| {
        [
            ("rain_share", 0.2),
            ("mean_clear_packets", 100.0),
            ("mean_rain_packets", 25.0),
            ("loss_1500_bytes", data),
            ("loss_40_bytes", ack),
            ("unacknowledged_1500_40", 1.0 - (1.0 - data) * (1.0 - ack)),
        ]
    };
    assert_derived(&process(satellite.clone()), &expected(mean(1500), mean(40)));
    let mut coded = expected(mean(2250), mean(60)).to_vec();
    coded.push(("code_rate", 2.0 / 3.0));
    assert_derived(&process(satellite.with_code(code)), &coded);
}

#[test]
fn of_delays() {
    let held = Stage::Reorder(Reorder::new(p(0.1), ms(5), stream()));
    assert_derived(
        &held,
        &[
            ("mean_extra_delay", 0.5e-3),
            ("deviation_of_delay", 5e-3 * 0.09f64.sqrt()),
        ],
    );
    // The tenth of packets that is held is the upper end of the distribution.
    let spacing = ms(1);
    let distribution = held.theory(Sampling { bytes: 40, spacing }).delay.unwrap();
    let at = |level: f64| (level, if level > 0.9 { 5e-3 } else { 0.0 });
    assert_eq!(distribution.quantiles, LEVELS.map(at));
    let jitter = |distribution| Stage::Jitter(Jitter::new(distribution, true, stream()).unwrap());
    let (low, high) = (ms(2), ms(8));
    for (distribution, mean, deviation) in [
        (Distribution::Exponential { mean: ms(3) }, 3e-3, 3e-3),
        (
            Distribution::Uniform { low, high },
            5e-3,
            6e-3 / 12f64.sqrt(),
        ),
        (Distribution::Uniform { low, high: low }, 2e-3, 0.0),
    ] {
        let expected = [
            ("mean_extra_delay", mean),
            ("deviation_of_delay", deviation),
        ];
        assert_derived_within(&jitter(distribution), &expected, 1e-5);
    }
    // Erlang variates of order 2 and mean m have a second moment of 1.5 m^2.
    let raised = Raised {
        enter: p(0.1),
        leave: p(0.4),
        means: vec![(3.0, ms(10)), (1.0, ms(100))],
    };
    let delay = InternetDelay::new(ms(10), 2, ms(1), Some(raised), true, stream()).unwrap();
    let square = 1.5 * (0.8 + 0.2 * (0.75 * 100.0 + 0.25 * 10_000.0));
    let beyond = 0.8 + 0.2 * (7.5 + 25.0);
    assert_derived(
        &process(delay),
        &[
            ("mean_delay", 1e-3 * (10.0 + beyond)),
            ("delay_deviation", 1e-3 * (square - beyond * beyond).sqrt()),
            ("raised_share", 0.2),
            ("mean_raised_run", 2.5),
        ],
    );
    let line = Timeline::new(&[ms(0), ms(400), ms(500)], true).unwrap();
    let trace = DelayTrace::new(line, vec![ms(30), ms(20), ms(70)], true, ms(0), true);
    assert_derived(
        &process(trace),
        &[
            ("trace_length", 0.5),
            ("delay_min", 0.02),
            ("delay_max", 0.07),
        ],
    );
}

fn passes() -> Passes {
    Passes {
        altitude: 550e3,
        min_elevation: 25f64.to_radians(),
        max_elevation: 90f64.to_radians(),
        inclination: None,
    }
}

fn gap(time: Interval, action: Interruption) -> Gap {
    Gap { time, action }
}

/// At 550 km an orbit takes 2 pi sqrt(r^3 / mu). The satellite is above 25 degrees for twice the
/// angle acos(R cos e / r) - e at the centre of the Earth.
#[test]
fn of_an_orbit() {
    let (earth, mu, light) = (6_371_008.8f64, 3.986_004_418e14f64, 299_792_458.0);
    let radius = earth + 550e3;
    let period = std::f64::consts::TAU * (radius.powi(3) / mu).sqrt();
    let elevation = 25f64.to_radians();
    let angle = (earth * elevation.cos() / radius).acos() - elevation;
    let far = (earth * earth + radius * radius - 2.0 * earth * radius * angle.cos()).sqrt();
    let orbit = Orbit::new(passes(), 2, gap(ms(0), Interruption::Drop), stream());
    assert_derived_within(
        &process(orbit),
        &[
            ("orbit_period", period),
            ("handover_interval", period * angle / std::f64::consts::PI),
            ("delay_min", 2.0 * 550e3 / light),
            ("delay_max", 2.0 * far / light),
        ],
        1e-6,
    );
}

fn mobile(rule: FadeRule) -> Mobile {
    let handoffs = Handoffs {
        interval: ms(1900),
        duration: ms(100),
        forwarding: Forwarding::Drop,
    };
    let fading = Fading {
        interval: ms(30),
        duration: ms(10),
        good: StateLoss::Bits(p(1e-6)),
        bad: StateLoss::Bits(p(1e-4)),
        rule,
    };
    let streams = MobileStreams {
        handoffs: stream(),
        fades: stream(),
        packets: stream(),
    };
    Mobile::new(1_000_000, Some(handoffs), Some(fading), streams).unwrap()
}

/// 1500 bytes take 12 ms at 1 Mbit/s, and 18 ms with a code of 3 symbols for 2 that corrects
/// nothing. Each rule counts a fade of 10 ms in 40 ms differently.
#[test]
fn of_handoffs_and_fades() {
    let code = BlockCode::new(3, 2, 8, 0).unwrap();
    for rule in [FadeRule::PerPacket, FadeRule::Instant, FadeRule::Overlap] {
        let share = |seconds: f64| match rule {
            FadeRule::Instant => 0.25,
            FadeRule::Overlap => 1.0 - 0.75 * (-seconds / 0.03).exp(),
            FadeRule::PerPacket => {
                let (good, bad) = (-(-seconds / 0.03).exp_m1(), -(-seconds / 0.01).exp_m1());
                good / (good + bad)
            }
        };
        let expected = |bad: f64| {
            vec![
                ("mean_time_between_handoffs", 1.9),
                ("mean_handoff", 0.1),
                ("handoff_share", 0.05),
                ("fade_rate", 25.0),
                ("mean_fade", 0.01),
                ("mean_time_between_fades", 0.03),
                ("fade_share", 0.25),
                ("bad_share_1500_bytes", bad),
            ]
        };
        assert_derived(&process(mobile(rule)), &expected(share(0.012)));
        let bad = share(0.018);
        let mut coded = expected(bad);
        let loss = (1.0 - bad) * hit(1e-6, 2250) + bad * hit(1e-4, 2250);
        coded.push(("fade_loss_1500_bytes", loss));
        coded.push(("code_rate", 2.0 / 3.0));
        assert_derived(&process(mobile(rule).with_code(code)), &coded);
    }
}

fn field() -> RayleighField {
    RayleighField {
        doppler: 20.0,
        margin: Margin::from_db(10.0),
    }
}

#[test]
fn of_a_rayleigh_signal_and_its_chain() {
    let share = -(-0.1f64).exp_m1();
    let rate = (std::f64::consts::TAU / 10.0).sqrt() * 20.0 * (-0.1f64).exp();
    let signal = [
        ("doppler", 20.0),
        ("fade_margin", 10.0),
        ("fade_share", share),
        ("fade_rate", rate),
        ("mean_fade", share / rate),
    ];
    assert_derived(&process(JakesFading::new(field(), 16, stream())), &signal);
    let chain = RayleighChain::new(field(), ms(1), Advance::Time, ms(0), stream());
    let (alpha, beta) = (chain.alpha(), chain.beta());
    let mut expected = signal.to_vec();
    expected.extend([
        ("alpha", alpha),
        ("beta", beta),
        ("mean_bad_run", 1.0 / beta),
        ("mean_loss", share),
    ]);
    assert_derived(&process(chain), &expected);
    let given = [p(0.1), p(0.4)];
    let given = RayleighChain::with_transitions(given, ms(1), Advance::Packet, ms(0), stream());
    assert_derived(
        &process(given),
        &[
            ("alpha", 0.1),
            ("beta", 0.4),
            ("mean_bad_run", 2.5),
            ("mean_loss", 0.2),
        ],
    );
}

/// A packet is in a fade while the power is below 1/F of its mean. The mean over signals is 1, with
/// variance 1 - 1/n each, because E[power^2] = 2 - 1/n.
#[test]
fn the_power_of_a_signal_has_mean_1_and_decides() {
    let (signals, n) = (4000u64, 16);
    let mut sum = 0.0;
    for i in 0..signals {
        let stream = Streams::new(i, 0).stream("signal");
        let mut signal = JakesFading::new(field(), n, stream);
        let now = Instant::ZERO + ms(i);
        let power = signal.power(now);
        sum += power;
        let mut passage = Passage::CLEAN;
        signal.pass(now, 1500, &mut passage);
        assert_eq!(passage.verdict != Verdict::Pass, power < 0.1, "{power}");
    }
    let error = (1.0 / signals as f64).sqrt();
    assert!((sum / signals as f64 - 1.0).abs() < 4.0 * error, "{sum}");
}

fn budget() -> Budget {
    Budget {
        band: Band::Mhz2400,
        power: 10.0,
        gain: 0.0,
        temperature: 290.0,
        noise_figure: 10.0,
        path_loss: PathLoss::Friis,
        noise: Noise::Thermal,
    }
}

/// The path loss over 1 km at 2.4 GHz in free space is 20 log10(4 pi d fc / c). The SNR is the
/// energy per bit over k T with a noise figure of 10 dB.
#[test]
fn of_a_radio() {
    let radio = |fading| {
        let place = Separation::Fixed(1000.0);
        Radio::new(budget(), Modulation::Bpsk, fading, 0, place, stream())
    };
    let loss = 20.0 * (4.0 * std::f64::consts::PI * 1000.0 * 2.4e9 / 3e8).log10();
    let noise = 10.0 * (1.380_650_5e-23 * 290.0f64).log10() + 10.0;
    let snr = 10.0 - 30.0 - loss - 10.0 * 250e3f64.log10() - noise;
    let expected = [
        ("bit_rate", 250e3),
        ("distance", 1000.0),
        ("path_loss", loss),
        ("snr_per_bit", snr),
    ];
    assert_derived_within(&process(radio(BitFading::Packets)), &expected, 1e-6);
    // BPSK over Rayleigh fading: (1 - sqrt(g / (1 + g))) / 2.
    let ratio = 10f64.powf(snr / 10.0);
    let rate = 0.5 * (1.0 - (ratio / (1.0 + ratio)).sqrt());
    let mut faded = expected.to_vec();
    faded.push(("bit_error_rate", rate));
    assert_derived_within(&process(radio(BitFading::Bits)), &faded, 1e-6);
    let code = BlockCode::new(3, 2, 8, 0).unwrap();
    faded.push(("code_rate", 2.0 / 3.0));
    faded.push(("packet_loss_1500_B", hit(rate, 2250)));
    assert_derived_within(
        &process(radio(BitFading::Bits).with_code(code)),
        &faded,
        1e-6,
    );
}

fn changing(high: u64, time: u64, keep_order: bool) -> Stage {
    let second = Interval::from_secs(15);
    let gap = gap(ms(time), Interruption::Hold);
    process(Reconfiguration::new(
        second,
        second,
        [ms(0), ms(high)],
        gap,
        keep_order,
        stream(),
    ))
}

fn erlang(constant: u64, mean: u64, raised: u64, keep_order: bool) -> Stage {
    let raised = Raised {
        enter: p(0.5),
        leave: p(0.5),
        means: vec![(1.0, ms(raised))],
    };
    process(
        InternetDelay::new(
            ms(constant),
            2,
            ms(mean),
            Some(raised),
            keep_order,
            stream(),
        )
        .unwrap(),
    )
}

fn delay_trace(delay: u64, keep_order: bool) -> Stage {
    let line = Timeline::new(&[ms(0), ms(10)], false).unwrap();
    process(DelayTrace::new(
        line,
        vec![ms(0), ms(delay)],
        false,
        ms(0),
        keep_order,
    ))
}

fn loss_trace(loss: f64) -> Stage {
    let line = Timeline::new(&[ms(0), ms(10)], false).unwrap();
    process(LossTrace::new(line, vec![p(0.0), p(loss)], ms(0), stream()))
}

fn jitter(distribution: Distribution, keep_order: bool) -> Stage {
    Stage::Jitter(Jitter::new(distribution, keep_order, stream()).unwrap())
}

/// A stage that can never change a packet is left out of the channel. A stage that can, even in
/// only one of its states or by one of its parameters, stays.
#[test]
fn only_stages_without_effect_are_left_out() {
    let gilbert = |parts: [f64; 4]| {
        let [to_bad, to_good, h, k] = parts.map(p);
        Stage::Gilbert(Gilbert::new(to_bad, to_good, h, k, stream()).unwrap())
    };
    let normal = |mean, deviation| Distribution::Normal {
        mean: ms(mean),
        deviation: ms(deviation),
    };
    let uniform = |high| Distribution::Uniform {
        low: ms(0),
        high: ms(high),
    };
    let reorder = |chance, delay| Stage::Reorder(Reorder::new(p(chance), ms(delay), stream()));
    let in_time = |loss| process(GilbertTime::from_means(p(loss), ms(1), stream()).unwrap());
    let congestion =
        |a, b| process(Congestion::new(ms(1), ms(1), p(a), p(b), stream(), stream()).unwrap());
    let fades = |good, bad| {
        let fading = Fading {
            interval: ms(1),
            duration: ms(1),
            good: StateLoss::Packet(p(good)),
            bad: StateLoss::Bits(p(bad)),
            rule: FadeRule::Instant,
        };
        let streams = MobileStreams {
            handoffs: stream(),
            fades: stream(),
            packets: stream(),
        };
        process(Mobile::new(19_200, None, Some(fading), streams).unwrap())
    };
    let satellite = |b, clear, rain| {
        process(Satellite::new(p(b), p(0.1), p(clear), p(rain), stream()).unwrap())
    };
    let nothing = [
        gilbert([0.0, 0.1, 0.0, 1.0]),
        gilbert([0.1, 0.1, 1.0, 1.0]),
        jitter(normal(0, 0), true),
        jitter(uniform(0), true),
        reorder(0.5, 0),
        reorder(0.0, 5),
        in_time(0.0),
        congestion(0.0, 0.0),
        fades(0.0, 0.0),
        satellite(0.0, 0.0, 0.1),
        satellite(0.1, 0.0, 0.0),
        changing(0, 0, true),
        erlang(0, 0, 0, true),
        delay_trace(0, true),
        loss_trace(0.0),
    ];
    for stage in nothing {
        assert!(Channel::new(vec![stage.clone()]).is_clean(), "{stage:?}");
    }
    let something = [
        gilbert([0.0, 0.1, 0.0, 0.9]),
        gilbert([0.1, 0.1, 0.9, 1.0]),
        gilbert([0.1, 0.0, 0.0, 1.0]),
        jitter(normal(1, 0), true),
        jitter(normal(0, 1), true),
        jitter(uniform(1), true),
        reorder(0.5, 5),
        in_time(0.1),
        congestion(0.1, 0.0),
        congestion(0.0, 0.1),
        fades(0.1, 0.0),
        fades(0.0, 0.1),
        satellite(0.1, 0.0, 0.1),
        satellite(0.0, 0.1, 0.0),
        changing(1, 0, true),
        changing(0, 1, true),
        erlang(1, 0, 0, true),
        erlang(0, 1, 0, true),
        erlang(0, 0, 1, true),
        delay_trace(1, true),
        loss_trace(0.1),
        process(mobile(FadeRule::Instant)),
        process(ByteErrors::new(1000, 1, 0, stream(), stream()).unwrap()),
        process(Orbit::new(
            passes(),
            1,
            gap(ms(0), Interruption::Drop),
            stream(),
        )),
        process(JakesFading::new(field(), 16, stream())),
        process(RayleighChain::new(
            field(),
            ms(1),
            Advance::Time,
            ms(0),
            stream(),
        )),
        process(Scripted::new(&[3], 0).unwrap()),
        process(Radio::new(
            budget(),
            Modulation::Bpsk,
            BitFading::None,
            0,
            Separation::Fixed(1.0),
            stream(),
        )),
    ];
    for stage in something {
        let channel = Channel::new(vec![stage.clone()]);
        assert!(!channel.is_clean(), "{stage:?}");
        let reorders = matches!(stage, Stage::Reorder(_));
        assert_eq!(channel.keeps_order(), !reorders, "{stage:?}");
    }
}

/// Delays configured not to keep the order report this for the stage and for each packet.
#[test]
fn delays_without_order_mark_their_packets() {
    let exponential = Distribution::Exponential { mean: ms(1) };
    let unordered: [fn(bool) -> Stage; 3] = [
        |keep| changing(1, 0, keep),
        |keep| erlang(1, 1, 1, keep),
        |keep| delay_trace(1, keep),
    ];
    let jitters = [true, false].map(|keep| (jitter(exponential, keep), keep));
    let others = unordered
        .iter()
        .flat_map(|new| [true, false].map(|keep| (new(keep), keep)));
    for (stage, keep) in others.chain(jitters) {
        let mut channel = Channel::new(vec![stage]);
        assert_eq!(channel.keeps_order(), keep);
        let passage = channel.pass(Instant::ZERO, 1500);
        assert_eq!(passage.may_overtake, !keep);
    }
}
