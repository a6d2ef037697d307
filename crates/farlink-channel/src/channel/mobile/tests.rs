//! Tests of the mobile channel against its closed form and its study.

use super::super::agreement::{PacketFates, agrees, near, sampling};
use super::super::testing::{p, stream};
use super::*;

fn streams() -> MobileStreams {
    MobileStreams {
        handoffs: stream("handoffs"),
        fades: stream("fades"),
        packets: stream("packets"),
    }
}

fn ms(ms: f64) -> Interval {
    seconds(ms / 1e3)
}

fn handoffs(forwarding: Forwarding) -> Handoffs {
    Handoffs {
        interval: ms(2000.0),
        duration: ms(100.0),
        forwarding,
    }
}

fn fading(interval: f64, duration: f64, bad: f64, rule: FadeRule) -> Fading {
    Fading {
        interval: ms(interval),
        duration: ms(duration),
        good: StateLoss::NONE,
        bad: StateLoss::Packet(p(bad)),
        rule,
    }
}

const RULES: [FadeRule; 3] = [FadeRule::PerPacket, FadeRule::Instant, FadeRule::Overlap];

#[test]
fn equations_7_and_8_give_the_times_of_the_study() {
    // Leung 1998, section 5.5 prints 140 s for R = 2 km at 75 km/h, and 3.5 s for d = 100 m. The
    // equations give 138.5 and 3.462 s. Figure 5.16 has 2.00 s for 50 m at 65 km/h.
    let measure = |radius, region, kmh: f64| {
        Handoffs::from_motion(radius, region, kmh / 3.6).map(Interval::as_secs_f64)
    };
    let [normal, handoff] = measure(2000.0, 100.0, 75.0);
    assert!((normal - 138.5).abs() < 0.01 && (handoff - 3.462).abs() < 0.001);
    assert!((measure(2000.0, 50.0, 65.0)[1] - 1.998).abs() < 0.001);
    for (kmh, normal, handoff) in [(45.0, 57.71, 2.885), (120.0, 21.64, 1.082)] {
        let [a, b] = measure(500.0, 50.0, kmh);
        assert!(
            (a - normal).abs() < 0.01 && (b - handoff).abs() < 0.001,
            "{kmh}"
        );
    }
}

#[test]
fn equations_9_to_11_give_the_fades_of_the_study() {
    // 850 MHz, 75 km/h, 30 dB below rms: 4.68 fades a second of 0.214 ms.
    let rho = 10f64.powf(-30.0 / 20.0);
    let [n, t] = Fading::at_margin(30.0);
    let [between, fade] = Fading::from_motion(75.0 / 3.6, 850e6, n, t)
        .unwrap()
        .map(Interval::as_secs_f64);
    assert!((1.0 / (between + fade) - 4.68).abs() < 0.01);
    assert!((fade - 0.214e-3).abs() < 0.001e-3, "{fade}");
    assert!((between - 0.2136).abs() < 0.001, "{between}");
    // The share of time in fades is 1 - exp(-rho^2) at any speed.
    for kmh in [15.0, 75.0, 120.0] {
        let [between, fade] = Fading::from_motion(kmh / 3.6, 850e6, n, t)
            .unwrap()
            .map(Interval::as_secs_f64);
        let share = fade / (between + fade);
        assert!((share / -libm::expm1(-rho * rho) - 1.0).abs() < 1e-4);
    }
    assert!(Fading::from_motion(20.0, 850e6, 1.0, 1.0).is_err());
}

/// Returns Leung's channel without handoffs on 19.2 kbit/s at a speed.
fn cdpd(kmh: f64, loss: f64, rule: FadeRule) -> Mobile {
    let [n, t] = Fading::at_margin(30.0);
    let [interval, duration] = Fading::from_motion(kmh / 3.6, 850e6, n, t).unwrap();
    let fading = Fading {
        interval,
        duration,
        good: StateLoss::NONE,
        bad: StateLoss::Packet(p(loss)),
        rule,
    };
    Mobile::new(19_200, None, Some(fading), streams()).unwrap()
}

#[test]
fn the_loss_grows_with_speed_as_in_figure_5_3() {
    // Computed bad shares: 0.32, 0.40 and 0.45 at 45, 75 and 120 km/h for packets of 552 bytes.
    for (kmh, share) in [(45.0, 0.32), (75.0, 0.40), (120.0, 0.45)] {
        let theory = cdpd(kmh, 1.0, FadeRule::PerPacket).theory(sampling(552, 230_000_000));
        assert!(
            (theory.loss.unwrap() - share).abs() < 0.005,
            "{kmh}: {theory:?}"
        );
    }
    let speeds = [15.0, 30.0, 45.0, 60.0, 75.0, 90.0, 105.0, 120.0];
    for loss in [0.05, 0.1, 0.2, 0.35] {
        let measured = speeds.map(|kmh| {
            let mut channel = cdpd(kmh, loss, FadeRule::PerPacket);
            let theory = channel.theory(sampling(552, 230_000_000));
            let measured = PacketFates::of(&mut channel, |i| (552, (i as u64 + 1) * 230_000_000));
            measured.near_loss(theory.loss.unwrap());
            measured.loss
        });
        assert!(
            measured.windows(2).all(|w| w[1] > w[0]),
            "{loss}: {measured:?}"
        );
        assert!(measured[7] > 1.1 * measured[1], "{loss}: {measured:?}");
    }
}

#[test]
fn the_other_rules_do_not_show_figure_5_3() {
    // The share of time in fades does not depend on speed.
    let loss = |kmh, rule| {
        let theory = cdpd(kmh, 0.2, rule).theory(sampling(552, 230_000_000));
        theory.loss.unwrap()
    };
    let [slow, fast] = [30.0, 120.0].map(|kmh| loss(kmh, FadeRule::Instant));
    assert!((fast / slow - 1.0).abs() < 1e-4 && slow < 0.001);
    // The share of packets that overlap a fade depends on speed: 1 - (1 - share) exp(-c T).
    let [slow, fast] = [30.0, 120.0].map(|kmh| loss(kmh, FadeRule::Overlap));
    assert!(fast > 1.1 * slow, "{slow} {fast}");
}

#[test]
fn fades_alone_agree_with_the_closed_form() {
    for rule in RULES {
        for (interval, duration, bad) in [(30.0, 10.0, 1.0), (20.0, 3.0, 0.3)] {
            let fading = fading(interval, duration, bad, rule);
            // Packets take 4 ms to send and are 7 ms apart.
            let mobile = Mobile::new(1_000_000, None, Some(fading), streams()).unwrap();
            agrees(mobile, sampling(500, 7_000_000));
        }
    }
}

#[test]
fn handoffs_and_fades_agree_with_the_closed_form() {
    for rule in RULES {
        let fading = fading(60.0, 20.0, 0.4, rule);
        let handoffs = Some(handoffs(Forwarding::Drop));
        let mobile = Mobile::new(1_000_000, handoffs, Some(fading), streams()).unwrap();
        agrees(mobile, sampling(500, 10_000_000));
    }
    let alone = Mobile::new(1_000_000, Some(handoffs(Forwarding::Drop)), None, streams());
    let measured = agrees(alone.unwrap(), sampling(500, 10_000_000));
    measured.near_loss(100.0 / 2100.0);
}

#[test]
fn bit_errors_count_the_length() {
    let fading = Fading {
        interval: ms(30.0),
        duration: ms(10.0),
        good: StateLoss::Bits(p(1e-6)),
        bad: StateLoss::Bits(p(5e-5)),
        rule: FadeRule::Instant,
    };
    let new = || Mobile::new(1_000_000, None, Some(fading), streams()).unwrap();
    let expected = |bytes| {
        0.75 * StateLoss::Bits(p(1e-6)).of(bytes) + 0.25 * StateLoss::Bits(p(5e-5)).of(bytes)
    };
    for bytes in [552, 40] {
        let measured = agrees(new(), sampling(bytes, 7_000_000));
        measured.near_loss(expected(bytes));
    }
}

#[test]
fn a_code_corrects_the_bit_errors_of_a_state_and_takes_its_time() {
    let code = BlockCode::new(255, 223, 8, 16).unwrap();
    for rule in [FadeRule::PerPacket, FadeRule::Instant, FadeRule::Overlap] {
        let fading = Fading {
            interval: ms(30.0),
            duration: ms(10.0),
            good: StateLoss::Bits(p(1e-4)),
            bad: StateLoss::Bits(p(6e-3)),
            rule,
        };
        let new = || Mobile::new(1_000_000, None, Some(fading), streams()).unwrap();
        let coded = new().with_code(code);
        // The code adds 7 * 32 bytes to 1500.
        assert_eq!(coded.sending(1500), new().sending(1724));
        let measured = agrees(coded.clone(), sampling(1500, 14_000_000));
        if rule == FadeRule::Instant {
            let of = |ber| code.packet_loss(1500, p(ber));
            measured.near_loss(0.75 * of(1e-4) + 0.25 * of(6e-3));
        }
        let names: Vec<_> = coded.derived().iter().map(|item| item.name).collect();
        assert!(names.contains(&"fade_loss_1500_bytes") && names.contains(&"code_rate"));
    }
}

#[test]
fn each_cause_is_named() {
    let fading = fading(60.0, 20.0, 0.4, FadeRule::Instant);
    let handoffs = Some(handoffs(Forwarding::Drop));
    let mut mobile = Mobile::new(1_000_000, handoffs, Some(fading), streams()).unwrap();
    let mut causes = [0.0; 2];
    let n = 1_000_000;
    for i in 0..n {
        let mut passage = Passage::CLEAN;
        mobile.pass(Instant::from_nanos(i * 10_000_000), 500, &mut passage);
        match passage.verdict {
            Verdict::Drop(DropCause::Handoff) => causes[0] += 1.0,
            Verdict::Drop(DropCause::Fade) => causes[1] += 1.0,
            Verdict::Pass => {}
            other => panic!("{other:?}"),
        }
    }
    let share = 100.0 / 2100.0;
    // Over 5000 cycles of handoffs the standard error is 2 % of the share; 4 of these are allowed.
    assert!(
        (causes[0] / n as f64 / share - 1.0).abs() < 0.08,
        "{causes:?}"
    );
    let fades = (1.0 - share) * 0.25 * 0.4;
    assert!(
        (causes[1] / n as f64 / fades - 1.0).abs() < 0.03,
        "{causes:?}"
    );
}

#[test]
fn forwarded_packets_wait_for_the_end_of_the_handoff_and_none_is_lost() {
    let forward = handoffs(Forwarding::Forward { limit: None });
    // Packets of 40 us are 1 s apart, so no packet waits for another.
    let mut mobile = Mobile::new(100_000_000, Some(forward), None, streams()).unwrap();
    assert_eq!(mobile.theory(sampling(500, 1_000_000_000)).loss, Some(0.0));
    let measured = PacketFates::of(&mut mobile, |i| (500, (i as u64 + 1) * 1_000_000_000));
    assert_eq!(measured.loss, 0.0);
    let n = measured.delays.len() as f64;
    let held: Vec<f64> = measured
        .delays
        .iter()
        .copied()
        .filter(|&d| d > 0.0)
        .collect();
    let share: f64 = 100.0 / 2100.0;
    // The probability that a packet meets a handoff is the handoffs' share of time. The packet then
    // waits for the rest of the handoff (exponential, with the mean of a handoff) and for its own
    // transmission. The spacing of 1 s is 0.5 + 10 mean times, so packets are almost independent.
    let error = (share * (1.0 - share) / n).sqrt();
    near("held", (held.len() as f64 / n, error), share);
    let mean = held.iter().sum::<f64>() / held.len() as f64;
    near(
        "hold",
        (mean, 0.1 / (held.len() as f64).sqrt()),
        0.1 + 40e-6,
    );
}

#[test]
fn forwarded_packets_leave_in_order_at_the_rate_of_the_link() {
    let forward = handoffs(Forwarding::Forward { limit: None });
    // Packets take 10 ms and follow each other, so the link is always busy.
    let mut mobile = Mobile::new(400_000, Some(forward), None, streams()).unwrap();
    let sending = 10_000_000;
    let mut last = Instant::ZERO;
    let (mut waited, mut caught_up) = (0, 0);
    for i in 1..200_000u64 {
        // A pause after every 1000 packets empties the buffer.
        let now = Instant::from_nanos((i + i / 1000 * 100) * sending);
        let mut passage = Passage::CLEAN;
        mobile.pass(now, 500, &mut passage);
        assert_eq!(passage.verdict, Verdict::Pass);
        let out = now + passage.hold;
        assert!(out.since(last) >= Interval::from_nanos(sending), "{i}");
        waited += u32::from(!passage.hold.is_zero());
        caught_up += u32::from(passage.hold.is_zero());
        last = out;
    }
    assert!(
        waited > 10_000 && caught_up > 10_000,
        "{waited} {caught_up}"
    );
}

#[test]
fn a_full_buffer_loses_the_rest() {
    let limited = handoffs(Forwarding::Forward { limit: Some(2000) });
    let mut mobile = Mobile::new(4_000_000, Some(limited), None, streams()).unwrap();
    assert_eq!(mobile.theory(sampling(500, 10_000_000)).loss, None);
    let mut lost = 0;
    let mut kept = 0;
    for i in 1..100_000u64 {
        let now = Instant::from_nanos(i * 10_000_000);
        let mut passage = Passage::CLEAN;
        mobile.pass(now, 500, &mut passage);
        match passage.verdict {
            Verdict::Drop(DropCause::Handoff) => lost += 1,
            Verdict::Pass => kept += u32::from(!passage.hold.is_zero()),
            other => panic!("{other:?}"),
        }
        let changing = mobile.changing.as_ref().unwrap();
        assert!(changing.kept_bytes <= 2000);
        let sum: u32 = changing.kept.iter().map(|kept| kept.1).sum();
        assert_eq!(u64::from(sum), changing.kept_bytes);
    }
    // A mean handoff of 100 ms meets 10 packets, and 4 of them are kept.
    assert!(lost > 1000 && kept > 1000, "{lost} {kept}");
}

#[test]
fn a_channel_without_handoffs_or_losses_is_left_out() {
    let harmless = fading(1.0, 1.0, 0.0, FadeRule::Instant);
    let mobile = |handoffs, fading| Mobile::new(19_200, handoffs, fading, streams()).unwrap();
    assert!(mobile(None, None).is_inert());
    assert!(mobile(None, Some(harmless)).is_inert());
    assert!(!mobile(Some(handoffs(Forwarding::Drop)), None).is_inert());
}

/// Packets kept during a handoff are sent one after another when it ends. At most `limit` bytes are
/// kept at a time. A packet that arrives after the last kept packet has left is not delayed.
#[test]
fn kept_packets_leave_one_by_one_behind_the_handoff() {
    let s = ms(1.0);
    let kept = handoffs(Forwarding::Forward { limit: Some(1000) });
    let mut mobile = Mobile::new(4_000_000, Some(kept), None, streams()).unwrap();
    // Finds the first handoff longer than 4 ms that is followed by enough time.
    let mut chain = mobile.changing.as_ref().unwrap().chain.clone();
    let end = loop {
        let start = chain.until();
        if !chain.at(start) {
            continue;
        }
        let end = chain.until();
        let long = end.since(start) > s * 4;
        if long && !chain.at(end) && chain.until() > end + s * 10 {
            break end;
        }
    };
    let before = |time: Interval| Instant::ZERO + (end.since(Instant::ZERO) - time);
    let mut sent = |now: Instant| {
        let mut passage = Passage::CLEAN;
        mobile.pass(now, 500, &mut passage);
        (passage.verdict == Verdict::Pass).then(|| now + passage.hold)
    };
    assert_eq!(sent(before(s * 3)), Some(end + s));
    assert_eq!(sent(before(s * 2)), Some(end + s * 2));
    // 1000 bytes are waiting.
    assert_eq!(sent(before(s)), None);
    // One of the two packets has left.
    assert_eq!(sent(end + s), Some(end + s * 3));
    let half = s / 2;
    assert_eq!(sent(end + s + half), None);
    assert_eq!(sent(end + s * 2 + half), Some(end + s * 4));
    assert_eq!(sent(end + s * 5), Some(end + s * 5));
    assert_eq!(sent(end + s * 5 + half), Some(end + s * 5 + half));
}

/// A packet whose transmission ends exactly when its wait would begin needs no room in the buffer.
#[test]
fn a_packet_that_does_not_wait_needs_no_room() {
    let none = handoffs(Forwarding::Forward { limit: Some(0) });
    let mut mobile = Mobile::new(4_000_000, Some(none), None, streams()).unwrap();
    assert!(
        !mobile
            .changing
            .as_ref()
            .unwrap()
            .chain
            .clone()
            .at(Instant::ZERO + ms(1.0))
    );
    let mut passage = Passage::CLEAN;
    mobile.pass(Instant::ZERO + ms(1.0), 500, &mut passage);
    assert_eq!(passage.verdict, Verdict::Pass);
}

/// The first packet meets the bad state of the chain per packet with the stationary share
/// leave_good / (leave_good + leave_bad), at 4 ms per packet.
#[test]
fn the_chain_per_packet_begins_in_its_stationary_distribution() {
    let n = 10_000;
    let fading = fading(30.0, 10.0, 1.0, FadeRule::PerPacket);
    let first = |i| {
        let packets = stream(&format!("first {i}"));
        let streams = MobileStreams {
            packets,
            ..streams()
        };
        let mut mobile = Mobile::new(1_000_000, None, Some(fading), streams).unwrap();
        let mut passage = Passage::CLEAN;
        mobile.pass(Instant::ZERO, 500, &mut passage);
        passage.verdict == Verdict::Drop(DropCause::Fade)
    };
    let lost = (0..n).filter(|&i| first(i)).count() as f64 / f64::from(n);
    let [good, bad] = [-libm::expm1(-4.0 / 30.0), -libm::expm1(-4.0 / 10.0)];
    let share = good / (good + bad);
    assert!((lost - share).abs() < 4.0 * (share * (1.0 - share) / f64::from(n)).sqrt());
}
