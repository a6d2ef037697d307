//! Control laws number by number, and shares in closed form.

use super::cobalt::{Cobalt, Head};
use super::codel::control_law;
use super::pie::Controller;
use super::queue::*;
use super::*;
use farlink_channel::rng::{Stream, Streams};
use farlink_tcp::{Ecn, Interval};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

pub(super) fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * MS)
}

pub(super) fn random() -> Stream {
    Streams::new(7, 0).stream("discipline")
}

/// Returns a packet of `len` bytes that joins at `joined`.
pub(super) fn packet(number: u32, len: u32, flow: u64, joined: Instant, ecn: Ecn) -> Waiting {
    Waiting {
        packet: PacketId(number),
        packed: len,
        len,
        joined,
        flow,
        ecn,
    }
}

/// Offers two packets of 1500 bytes per millisecond to a queue that sends one per millisecond.
/// Returns the times of drops and of marks in milliseconds.
pub(super) fn overload(
    queue: &mut Discipline,
    from: u64,
    to: u64,
    ecn: Ecn,
) -> (Vec<u64>, Vec<u64>) {
    let (mut dropped, mut marked) = (Vec::new(), Vec::new());
    for ms in from..to {
        let mut drops = Vec::new();
        for half in 0..2 {
            let joined = Instant::from_nanos(ms * MS + half * MS / 2);
            let mark = queue.enqueue(joined, packet(ms as u32, 1500, 1, joined, ecn), &mut drops);
            marked.extend((mark == Some(true)).then_some(ms));
        }
        let now = at(ms + 1);
        let leaving = queue.dequeue(now, &mut drops);
        marked.extend(leaving.filter(|leaving| leaving.marked).map(|_| ms + 1));
        dropped.extend(drops.iter().map(|_| ms + 1));
    }
    (dropped, marked)
}

/// Returns the times of `count` drops that begin at `first`, on a grid of milliseconds: the n-th
/// gap is 100 ms / sqrt(n) (RFC 8289, 5.3).
fn law(first: u64, count: usize) -> Vec<u64> {
    let mut next = first as f64;
    let gaps = (1..count).map(|n| 100.0 / (n as f64).sqrt());
    let later = gaps.map(|gap| {
        next += gap;
        next.ceil() as u64
    });
    std::iter::once(first).chain(later).collect()
}

fn codel(ecn: bool) -> Discipline {
    let config = CodelConfig {
        ecn,
        ..CodelConfig::default()
    };
    Discipline::Codel(Codel::new(config, QueueLimit::Unlimited))
}

#[test]
fn codel_drops_at_the_times_of_its_control_law() {
    let (dropped, marked) = overload(&mut codel(true), 0, 1000, Ecn::NotEct);
    // The packet that leaves at t ms came at (t - 1) / 2 ms, so the packet at 9 ms is the first to
    // have waited 5 ms. The first drop is 100 ms later.
    assert_eq!(dropped[0], 109);
    assert_eq!(dropped, law(109, dropped.len()));
    assert!(dropped.len() > 15, "{}", dropped.len());
    assert!(marked.is_empty());
}

#[test]
fn codel_marks_at_the_same_times_and_drops_nothing_capable_of_ecn() {
    let (dropped, marked) = overload(&mut codel(true), 0, 1000, Ecn::Ect0);
    assert!(dropped.is_empty());
    assert_eq!(marked, law(109, marked.len()));
    let (dropped, marked) = overload(&mut codel(false), 0, 1000, Ecn::Ect0);
    assert!(marked.is_empty() && dropped[0] == 109);
}

#[test]
fn codel_drops_nothing_below_the_target_or_with_one_packet_behind() {
    let mut queue = codel(false);
    let mut drops = Vec::new();
    for ms in 0..2000 {
        // Four packets wait for 4 ms each.
        queue.enqueue(at(ms), packet(0, 1500, 1, at(ms), Ecn::NotEct), &mut drops);
        if ms >= 4 {
            queue.dequeue(at(ms), &mut drops).expect("packets wait");
        }
    }
    // A packet that waits long and leaves at most an MTU behind is no standing queue.
    let mut queue = codel(false);
    for ms in (0..4000).step_by(50) {
        queue.enqueue(at(ms), packet(0, 1500, 1, at(ms), Ecn::NotEct), &mut drops);
        if ms >= 50 {
            queue.dequeue(at(ms), &mut drops).expect("a packet waits");
        }
    }
    assert!(drops.is_empty());
}

/// RFC 8289, 5.5: a standing queue has more than an MTU behind the packet that leaves.
#[test]
fn codel_drops_nothing_with_exactly_an_mtu_behind() {
    for (mtu, count) in [(1500, 0), (1499, 1)] {
        let config = CodelConfig {
            mtu,
            ..CodelConfig::default()
        };
        let mut queue = Codel::new(config, QueueLimit::Unlimited);
        let mut drops = Vec::new();
        for number in 0..4 {
            queue.enqueue(packet(number, 1500, 1, at(0), Ecn::NotEct), &mut drops);
        }
        for ms in [10, 20, 200] {
            queue.dequeue(at(ms), &mut drops);
        }
        assert_eq!(drops.len(), count, "{mtu}");
    }
}

#[test]
fn codel_resumes_its_rate_soon_after_it_stopped_and_starts_anew_later() {
    for (pause, resumed) in [(500, true), (5000, false)] {
        let mut queue = codel(false);
        let (first, _) = overload(&mut queue, 0, 1000, Ecn::NotEct);
        let mut drops = Vec::new();
        while queue.dequeue(at(1001), &mut drops).is_some() {}
        let (again, _) = overload(&mut queue, 1000 + pause, 2000 + pause, Ecn::NotEct);
        // The second phase begins with the gap that the first one ended with, or with 100 ms.
        let gap = again[1] - again[0];
        let count = first.len() as f64;
        let expected = if resumed {
            100.0 / (count - 1.0).sqrt()
        } else {
            100.0
        };
        assert!((gap as f64 - expected).abs() <= 4.0, "{gap} for {expected}");
    }
}

#[test]
fn control_law_is_the_interval_over_the_square_root_of_the_count() {
    for count in [1_u32, 2, 3, 4, 100, 65_536, u32::MAX] {
        let step = control_law(Instant::ZERO, Interval::from_millis(100), count).as_nanos();
        let expected = 1e8 / f64::from(count).sqrt();
        assert!(
            (step as f64 - expected).abs() <= 1.0,
            "{step} for {expected}"
        );
    }
}

/// Returns the probability of PIE after `updates` updates at a constant delay.
fn pie_after(updates: u64, delay: u64) -> f64 {
    let config = PieConfig::default();
    let mut controller = Controller::new(&config);
    controller.on_dequeue(Interval::from_millis(delay), false);
    controller.run(&config, at(15 * updates));
    controller.probability
}

#[test]
fn pie_raises_its_probability_by_alpha_times_the_excess() {
    // At 115 ms the excess is 100 ms. An update adds .125 * .1 = .0125, halved below 10 %.
    let gain = pie_after(60, 115) - pie_after(59, 115);
    assert!((gain - 0.0125).abs() < 1e-12, "{gain}");
    // Above 250 ms another 2 % is added, and above 10 % a step is at most 2 %.
    let gain = pie_after(22, 415) - pie_after(21, 415);
    assert!((gain - 0.04).abs() < 1e-12, "{gain}");
    // The first update adds beta times the change: (.0125 + 1.25 * .115) / 2048.
    let first = pie_after(1, 115);
    assert!(
        (first - (0.0125 + 1.25 * 0.115) / 2048.0).abs() < 1e-12,
        "{first}"
    );
}

#[test]
fn pie_drops_the_share_that_its_probability_says() {
    let config = PieConfig::default();
    let mut controller = Controller::new(&config);
    controller.on_dequeue(Interval::from_millis(30), false);
    controller.run(&config, at(300));
    for probability in [0.06, 0.2, 0.5] {
        controller.probability = probability;
        let mut random = random();
        let dropped = (0..100_000)
            .filter(|_| controller.selects(&config, 100_000, &mut random))
            .count();
        // After a drop nothing is dropped until the probabilities add up to .85. From there the
        // wait is geometric. The mean gap is ceil(.85 / p) - 1 + 1 / p, up to the bound of 8.5.
        let gap = (0.85_f64 / probability).ceil() - 1.0 + 1.0 / probability;
        let expected = 100_000.0 / gap;
        let error = dropped as f64 / expected - 1.0;
        assert!(
            error.abs() < 0.02,
            "{dropped} for {expected} at {probability}"
        );
    }
}

#[test]
fn pie_keeps_a_burst_of_150_ms_after_idling() {
    let queue = Pie::new(PieConfig::default(), QueueLimit::Unlimited, random());
    let (dropped, _) = overload(&mut Discipline::Pie(queue), 0, 400, Ecn::NotEct);
    assert!(dropped[0] > 150, "{}", dropped[0]);
}

#[test]
fn pie_marks_only_up_to_ten_percent() {
    let queue = Pie::new(PieConfig::default(), QueueLimit::Unlimited, random());
    let (dropped, marked) = overload(&mut Discipline::Pie(queue), 0, 3000, Ecn::Ect0);
    assert!(marked.len() > 5, "{}", marked.len());
    // The overload of 50 % raises the probability above 10 %, where marking ends.
    let first = dropped[0];
    assert!(marked.iter().all(|&ms| ms <= first));
}

pub(super) fn red_config() -> RedConfig {
    RedConfig {
        min: 5.0,
        max: 15.0,
        probability: 0.1,
        weight: 0.002,
        gentle: true,
        adaptive: false,
        ecn: true,
        packet_time: Interval::from_millis(1),
    }
}

/// Returns the share of packets that RED drops or marks with `length` packets in the queue.
fn red_share(config: RedConfig, length: u32, ecn: Ecn) -> (f64, f64) {
    let mut queue = Red::new(config, QueueLimit::Unlimited, random());
    let mut drops = Vec::new();
    let (mut offered, mut marked) = (0_u32, 0_u32);
    for number in 0..400_000_u64 {
        let now = Instant::from_nanos(number);
        while queue.queued().0 > length {
            queue.dequeue(now);
        }
        let mark = queue.enqueue(now, packet(0, 1500, 1, now, ecn), &mut drops);
        if queue.queued().0 < length || number < 100_000 {
            drops.clear();
            continue;
        }
        offered += 1;
        marked += u32::from(mark == Some(true));
    }
    let share = |count: f64| count / f64::from(offered);
    (share(drops.len() as f64), share(f64::from(marked)))
}

/// Returns the share of packets that RED selects at a base probability: the n-th packet after a drop
/// is dropped with p / (1 - n p) (Floyd and Jacobson 1993, figure 2).
fn red_law(base: f64) -> f64 {
    let (mut survives, mut gap) = (1.0, 0.0);
    for count in 1.. {
        let left = 1.0 - f64::from(count) * base;
        let chance = if left > base { base / left } else { 1.0 };
        gap += survives;
        survives *= 1.0 - chance;
        if survives <= 0.0 {
            break;
        }
    }
    1.0 / gap
}

#[test]
fn red_drops_evenly_with_the_probability_of_the_mean_queue() {
    // At the middle of the thresholds p is 5 %. Gaps are uniform from 1 to 1 / p - 1, so the share
    // is 2 p.
    let expected = red_law(0.05);
    assert!((expected - 0.1).abs() < 1e-9, "{expected}");
    let (dropped, marked) = red_share(red_config(), 10, Ecn::NotEct);
    assert!(
        (dropped / expected - 1.0).abs() < 0.02,
        "{dropped} for {expected}"
    );
    assert!(marked.abs() < f64::EPSILON);
    let (dropped, marked) = red_share(red_config(), 10, Ecn::Ect0);
    assert!(dropped.abs() < f64::EPSILON);
    assert!(
        (marked / expected - 1.0).abs() < 0.02,
        "{marked} for {expected}"
    );
    let (dropped, _) = red_share(red_config(), 4, Ecn::NotEct);
    assert!(dropped.abs() < f64::EPSILON);
}

#[test]
fn red_is_gentle_above_the_maximum_or_drops_all() {
    // At 1.2 times the maximum the probability is a fifth of the way from 10 % to 1.
    let (dropped, _) = red_share(red_config(), 18, Ecn::Ect0);
    let expected = red_law(0.28);
    assert!(
        (dropped / expected - 1.0).abs() < 0.02,
        "{dropped} for {expected}"
    );
    let harsh = RedConfig {
        gentle: false,
        ..red_config()
    };
    let (dropped, _) = red_share(harsh, 18, Ecn::Ect0);
    assert!((dropped - 1.0).abs() < f64::EPSILON, "{dropped}");
}

#[test]
fn adaptive_red_raises_its_probability_by_a_hundredth_and_lowers_it_by_a_tenth() {
    let config = RedConfig {
        adaptive: true,
        ..red_config()
    };
    let mut queue = Red::new(config, QueueLimit::Unlimited, random());
    let mut drops = Vec::new();
    for number in 0..20_000 {
        let now = Instant::from_nanos(number);
        while queue.queued().0 > 14 {
            queue.dequeue(now);
        }
        queue.enqueue(now, packet(0, 1500, 1, now, Ecn::Ect0), &mut drops);
    }
    let rise = |queue: &mut Red, ms| {
        let before = queue.probability_at_max();
        let mut drops = Vec::new();
        queue.enqueue(at(ms), packet(0, 1500, 1, at(ms), Ecn::Ect0), &mut drops);
        queue.probability_at_max() - before
    };
    // The mean of 14 packets is above 11, the upper end of the range to keep.
    assert!((rise(&mut queue, 501) - 0.01).abs() < 1e-12);
    assert!(rise(&mut queue, 502).abs() < 1e-12);
    assert!((rise(&mut queue, 1001) - 0.01).abs() < 1e-12);
}

#[test]
fn red_forgets_its_mean_while_idle() {
    let mut queue = Red::new(red_config(), QueueLimit::Unlimited, random());
    let mut drops = Vec::new();
    for number in 0..2000 {
        queue.enqueue(at(0), packet(number, 1500, 1, at(0), Ecn::Ect0), &mut drops);
    }
    while queue.dequeue(at(0)).is_some() {}
    let before = queue.mean();
    // 347 packet times halve the mean: (1 - .002)^347 = .499.
    queue.enqueue(at(347), packet(0, 1500, 1, at(347), Ecn::Ect0), &mut drops);
    let expected = before * 0.998_f64.powi(348);
    assert!((queue.mean() / expected - 1.0).abs() < 1e-9);
}

fn fair(law: FairQueue, sparse_first: bool) -> Fair {
    let config = FairConfig {
        queues: 1024,
        quantum: 1514,
        sparse_first,
        law,
        seed: 1,
    };
    Fair::new(config, QueueLimit::Packets(1000), random())
}

#[test]
fn deficit_round_robin_gives_equal_bytes_to_a_packet() {
    let mut queue = fair(FairQueue::Plain, false);
    let mut drops = Vec::new();
    for number in 0..100 {
        queue.enqueue(
            at(0),
            packet(number, 1500, 1, at(0), Ecn::NotEct),
            &mut drops,
        );
        for _ in 0..5 {
            queue.enqueue(
                at(0),
                packet(number, 300, 2, at(0), Ecn::NotEct),
                &mut drops,
            );
        }
    }
    let mut sent = [0_u64; 2];
    for _ in 0..300 {
        let leaving = queue.dequeue(at(0), &mut drops).expect("packets wait");
        sent[leaving.waiting.flow as usize - 1] += u64::from(leaving.waiting.len);
        // Fairness of DRR (Shreedhar and Varghese 1995): quantum and twice the longest packet.
        assert!(sent[0].abs_diff(sent[1]) <= 1514 + 2 * 1500, "{sent:?}");
    }
    assert!(drops.is_empty());
}

#[test]
fn sparse_flow_waits_for_one_packet_of_others_at_most() {
    let mut queue = fair(FairQueue::Codel(CodelConfig::default()), true);
    let mut drops = Vec::new();
    for flow in 1..=20 {
        for number in 0..20 {
            queue.enqueue(
                at(0),
                packet(number, 1500, flow, at(0), Ecn::NotEct),
                &mut drops,
            );
        }
    }
    // All flows are old after their first round.
    for _ in 0..40 {
        queue.dequeue(at(0), &mut drops).expect("packets wait");
    }
    for number in 0..5 {
        queue.enqueue(
            at(0),
            packet(number, 100, 99, at(0), Ecn::NotEct),
            &mut drops,
        );
        let leaving = queue.dequeue(at(0), &mut drops).expect("packets wait");
        assert_eq!(leaving.waiting.flow, 99, "turn {number}");
        // The flow empties, so it passes through the list of old flows once before it is new again.
        for _ in 0..42 {
            queue.dequeue(at(0), &mut drops).expect("packets wait");
        }
    }
}

#[test]
fn full_queue_drops_the_head_of_the_longest_flow() {
    let mut queue = fair(FairQueue::Plain, true);
    let mut drops = Vec::new();
    for number in 0..990 {
        queue.enqueue(
            at(0),
            packet(number, 1500, 1, at(0), Ecn::NotEct),
            &mut drops,
        );
    }
    for number in 0..20 {
        let kept = queue.enqueue(
            at(0),
            packet(5000 + number, 1500, 2, at(0), Ecn::NotEct),
            &mut drops,
        );
        assert_eq!(kept, Some(false));
    }
    let numbers: Vec<_> = drops.iter().map(|(dropped, _)| dropped.packet.0).collect();
    assert_eq!(numbers, (0..10).collect::<Vec<_>>());
    assert_eq!(queue.queued(), (1000, 1_500_000));
}

#[test]
fn cobalt_counts_back_while_the_queue_is_short() {
    let config = CobaltConfig {
        target: Interval::from_millis(5),
        interval: Interval::from_millis(100),
        packet_time: Interval::from_micros(100),
        ecn: false,
    };
    let mut cobalt = Cobalt::default();
    let mut random = random();
    let mut dropped = Vec::new();
    for ms in 20..1000 {
        let late = packet(0, 1500, 1, at(ms - 20), Ecn::NotEct);
        if cobalt.decide(&config, &late, at(ms), 1, &mut random) == Head::Drop {
            dropped.push(ms);
        }
    }
    // The first packet above the target arms the law, and the first drop is an interval later.
    assert_eq!(dropped[..3], [120, 220 - 29, 191 + 58]);
    let most = cobalt.count;
    assert_eq!(most as usize, dropped.len() + 1);
    for ms in 1000..1100 {
        let early = packet(0, 1500, 1, at(ms - 1), Ecn::NotEct);
        let head = cobalt.decide(&config, &early, at(ms), 1, &mut random);
        assert_eq!(head, Head::Keep);
    }
    assert!(cobalt.count < most);
}

#[test]
fn blue_rises_by_a_256th_and_falls_by_a_4096th_at_most_once_in_a_target() {
    let config = CobaltConfig {
        target: Interval::from_millis(5),
        interval: Interval::from_millis(100),
        packet_time: Interval::from_micros(100),
        ecn: false,
    };
    let mut cobalt = Cobalt::default();
    for ms in 1..=60 {
        cobalt.on_overflow(&config, at(ms));
    }
    // The steps are at 6, 12, ..., 60 ms.
    assert!(
        (cobalt.blue - 10.0 / 256.0).abs() < 1e-12,
        "{}",
        cobalt.blue
    );
    cobalt.on_empty(&config, at(66));
    cobalt.on_empty(&config, at(67));
    assert!((cobalt.blue - (10.0 / 256.0 - 1.0 / 4096.0)).abs() < 1e-12);
}

#[test]
fn dual_queue_couples_by_the_square_and_rises_by_its_gains() {
    let mut queue = DualPi2::new(DualPi2Config::default(), QueueLimit::Unlimited);
    let mut drops = Vec::new();
    for number in 0..100 {
        queue.enqueue(
            at(0),
            packet(number, 1500, 1, at(0), Ecn::NotEct),
            &mut drops,
        );
    }
    // The head of the queue ages by 16 ms per update, so p' rises by .16 (d - 15 ms) + 3.2 * 16 ms.
    let mut base = 0.0;
    for update in 1..=7 {
        let now = at(16 * update);
        queue.enqueue(now, packet(0, 1500, 1, now, Ecn::NotEct), &mut drops);
        base += 0.16 * (0.016 * update as f64 - 0.015) + 3.2 * 0.016;
        let (classic, coupled) = (queue.classic_probability(), queue.coupled_probability());
        assert!(
            (coupled - 2.0 * base).abs() < 1e-12,
            "{coupled} at {update}"
        );
        assert!((classic - (coupled / 2.0).powi(2)).abs() < 1e-12);
    }
}

#[test]
fn dual_queue_serves_the_classic_half_with_its_share() {
    let mut queue = DualPi2::new(DualPi2Config::default(), QueueLimit::Unlimited);
    let mut drops = Vec::new();
    for number in 0..1000 {
        queue.enqueue(
            at(0),
            packet(number, 1500, 1, at(0), Ecn::NotEct),
            &mut drops,
        );
        queue.enqueue(at(0), packet(number, 1500, 2, at(0), Ecn::Ect1), &mut drops);
    }
    let leaving = (0..1000).filter_map(|_| queue.dequeue(at(0), &mut drops));
    let classic = leaving.filter(|leaving| leaving.waiting.flow == 1).count();
    assert!((99..=101).contains(&classic), "{classic}");
}

#[test]
fn dual_queue_marks_l4s_above_its_ramp_and_never_drops_it_below_overload() {
    let mut queue = DualPi2::new(DualPi2Config::default(), QueueLimit::Unlimited);
    let mut drops = Vec::new();
    // Half way up the ramp, every second packet is marked.
    let mut marked = 0;
    for number in 0..10_000_u64 {
        let joined = Instant::from_nanos(number * MS);
        for _ in 0..3 {
            queue.enqueue(joined, packet(0, 1500, 2, joined, Ecn::Ect1), &mut drops);
        }
        let now = joined + Interval::from_micros(1000);
        for _ in 0..2 {
            marked += u32::from(
                queue
                    .dequeue(now, &mut drops)
                    .is_some_and(|leaving| leaving.marked),
            );
        }
        while queue.queued().0 > 0 {
            queue.dequeue(now, &mut drops);
        }
    }
    assert!((9_990..=10_010).contains(&marked), "{marked}");
    assert!(drops.is_empty());
}

/// RFC 9332, 4.2.3 and appendix A: from p' = 1/k on, every L4S packet that is not dropped is
/// marked. Both queues drop the share p'^2, including ECN-capable packets.
#[test]
fn dual_queue_drops_both_halves_alike_in_overload() {
    let config = DualPi2Config {
        alpha: 0.0,
        beta: 1.0,
        ..DualPi2Config::default()
    };
    for (waited, share, kept_marks) in [(640, 0.4096, true), (400, 0.16, false)] {
        let mut queue = DualPi2::new(config, QueueLimit::Unlimited);
        let mut drops = Vec::new();
        for ecn in [Ecn::Ect1, Ecn::Ect0] {
            for number in 0..5_000 {
                queue.enqueue(at(0), packet(number, 1500, 1, at(0), ecn), &mut drops);
            }
        }
        // With alpha = 0 and beta = 1, p' is the delay in seconds.
        let now = at(waited);
        let mut marked = [0_u32; 2];
        let mut left = [0_u32; 2];
        while let Some(leaving) = queue.dequeue(now, &mut drops) {
            let classic = usize::from(leaving.waiting.ecn == Ecn::Ect0);
            left[classic] += 1;
            marked[classic] += u32::from(leaving.marked);
        }
        let dropped = |ecn| drops.iter().filter(|(p, _)| p.ecn == ecn).count() as f64 / 5e3;
        if kept_marks {
            assert!((dropped(Ecn::Ect1) - share).abs() < 1e-3);
            assert!((dropped(Ecn::Ect0) - share).abs() < 1e-3);
            assert_eq!((marked[0], marked[1]), (left[0], 0));
        } else {
            // Below p' = 1/k nothing is dropped, and classic packets are marked with p'^2.
            assert!(drops.is_empty());
            assert!(
                (f64::from(marked[1]) / 5e3 - share).abs() < 1e-3,
                "{marked:?}"
            );
        }
    }
}

/// RFC 9332, 2.1: at a constant p', the share of marks is k p' for L4S and p'^2 for classic
/// packets. The test covers the range of both, to within one packet of 20,000.
#[test]
fn dual_queue_shares_follow_the_square() {
    let config = DualPi2Config {
        alpha: 0.0,
        beta: 1.0,
        ramp: (Interval::from_secs(3600), Interval::from_secs(3601)),
        ..DualPi2Config::default()
    };
    for base in [0.016, 0.048, 0.096, 0.192, 0.304, 0.448] {
        let mut queue = DualPi2::new(config, QueueLimit::Unlimited);
        let mut drops = Vec::new();
        let now = Instant::from_nanos((base * 1e9) as u64);
        for ecn in [Ecn::Ect1, Ecn::Ect0] {
            for number in 0..20_000 {
                queue.enqueue(at(0), packet(number, 1500, 1, at(0), ecn), &mut drops);
            }
        }
        let mut marked = [0_u32; 2];
        while let Some(leaving) = queue.dequeue(now, &mut drops) {
            let classic = usize::from(leaving.waiting.ecn == Ecn::Ect0);
            marked[classic] += u32::from(leaving.marked);
        }
        let [low, classic] = marked.map(|count| f64::from(count) / 20_000.0);
        assert!((low - 2.0 * base).abs() < 1e-4, "{base}: {low}");
        assert!((classic - base * base).abs() < 1e-4, "{base}: {classic}");
    }
}

proptest! {
    /// Every packet that was offered leaves, is dropped, or still waits, and bytes agree.
    #[test]
    fn every_packet_is_accounted_for(
        steps in proptest::collection::vec((0..3_000_000_u64, 40..1500_u32, 0..6_u64, 0..3_u8, any::<bool>()), 1..300),
        kind in 0..8_u8,
        limit in prop_oneof![
            Just(QueueLimit::Unlimited),
            (1..30_u32).prop_map(QueueLimit::Packets),
            (1500..60_000_u64).prop_map(QueueLimit::Bytes),
        ],
    ) {
        let cobalt = CobaltConfig {
            target: Interval::from_millis(5),
            interval: Interval::from_millis(100),
            packet_time: Interval::from_micros(100),
            ecn: true,
        };
        let config = |law, sparse_first| FairConfig { queues: 4, quantum: 300, sparse_first, law, seed: 3 };
        let mut queue = match kind {
            0 => Discipline::Codel(Codel::new(CodelConfig::default(), limit)),
            1 => Discipline::Pie(Pie::new(PieConfig::default(), limit, random())),
            2 => Discipline::Red(Red::new(red_config(), limit, random())),
            3 => Discipline::DualPi2(DualPi2::new(DualPi2Config::default(), limit)),
            4 => Discipline::Fair(Fair::new(config(FairQueue::Plain, false), limit, random())),
            5 => Discipline::Fair(Fair::new(config(FairQueue::Codel(CodelConfig::default()), true), limit, random())),
            6 => Discipline::Fair(Fair::new(config(FairQueue::Pie(PieConfig::default()), true), limit, random())),
            _ => Discipline::Fair(Fair::new(config(FairQueue::Cobalt(cobalt), true), limit, random())),
        };
        let mut now = Instant::ZERO;
        let (mut waiting, mut bytes) = (0_u32, 0_u64);
        for (number, &(after, len, flow, ecn, leaves)) in (0..).zip(&steps) {
            now += Interval::from_nanos(after);
            let mut drops = Vec::new();
            let offered = packet(number, len, flow, now, Ecn::from_bits(ecn));
            let accepted = queue.enqueue(now, offered, &mut drops);
            prop_assert_eq!(accepted.is_none(), drops.iter().any(|(dropped, _)| dropped.packet == offered.packet));
            waiting += 1;
            bytes += u64::from(len);
            if leaves {
                let leaving = queue.dequeue(now, &mut drops);
                if let Some(leaving) = leaving {
                    waiting -= 1;
                    bytes -= u64::from(leaving.waiting.len);
                    prop_assert!(!leaving.marked || leaving.waiting.ecn != Ecn::NotEct);
                }
            }
            for (dropped, _) in drops {
                waiting -= 1;
                bytes -= u64::from(dropped.len);
            }
            prop_assert_eq!(queue.queued(), (waiting, bytes));
            match limit {
                QueueLimit::Unlimited => {}
                QueueLimit::Packets(most) => prop_assert!(waiting <= most),
                QueueLimit::Bytes(most) => prop_assert!(bytes <= most),
            }
        }
        let mut drops = Vec::new();
        let mut left = 0;
        while queue.dequeue(now, &mut drops).is_some() {
            left += 1;
        }
        prop_assert_eq!(left + drops.len() as u32, waiting);
    }
}
