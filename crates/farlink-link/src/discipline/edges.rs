//! Queues that overflow, are emptied at once, or change while they run.

use super::cobalt::CobaltConfig;
use super::queue::*;
use super::tests::{at, overload, packet, random, red_config};
use super::*;
use crate::link::Simplex;
use crate::link::config::LinkConfig;
use farlink_channel::Channel;
use farlink_tcp::Ecn;

fn fair(law: FairQueue, quantum: u32, limit: QueueLimit) -> Discipline {
    let config = FairConfig {
        queues: 64,
        quantum,
        sparse_first: true,
        law,
        seed: 1,
    };
    Discipline::Fair(Fair::new(config, limit, random()))
}

fn pie(limit: QueueLimit) -> Discipline {
    Discipline::Pie(Pie::new(PieConfig::default(), limit, random()))
}

fn cobalt() -> FairQueue {
    FairQueue::Cobalt(CobaltConfig {
        target: Interval::from_millis(5),
        interval: Interval::from_millis(100),
        packet_time: Interval::from_micros(100),
        ecn: false,
    })
}

/// Returns RED without its gentle part and with a mean far above its thresholds.
fn full_red() -> Red {
    let config = RedConfig {
        gentle: false,
        ..red_config()
    };
    let mut queue = Red::new(config, QueueLimit::Unlimited, random());
    let mut drops = Vec::new();
    for number in 0..5000 {
        queue.enqueue(at(0), plain(number, 1, 0), &mut drops);
    }
    assert!(queue.mean() > 60.0, "{}", queue.mean());
    queue
}

/// Returns a packet of 1500 bytes that is not ECN-capable.
fn plain(number: u32, flow: u64, ms: u64) -> Waiting {
    packet(number, 1500, flow, at(ms), Ecn::NotEct)
}

/// RFC 8033, appendix B: a drop by the limit sets the sum of the probabilities to 0. Here each
/// packet that finds room is followed by a packet that does not, so the sum stays below .85.
#[test]
fn pie_spaces_its_drops_from_the_last_drop_by_the_limit() {
    let mut queue = pie(QueueLimit::Packets(100));
    let mut drops = Vec::new();
    for ms in 0..1000 {
        for half in 0..2 {
            queue.enqueue(at(ms), plain(2 * ms as u32 + half, 1, ms), &mut drops);
        }
        queue.dequeue(at(ms + 1), &mut drops);
    }
    assert!(drops.len() > 800, "{}", drops.len());
    assert!(drops.iter().all(|(_, reason)| *reason == Reason::Full));
}

/// A link that loses its far end drops all waiting packets. PIE's delay is then 0. Its probability
/// falls while the link is away, and does not rise to 1.
#[test]
fn pie_forgets_the_delay_of_packets_that_were_removed() {
    let law = FairQueue::Pie(PieConfig::default());
    for mut queue in [
        pie(QueueLimit::Unlimited),
        fair(law, 1514, QueueLimit::Unlimited),
    ] {
        let (dropped, _) = overload(&mut queue, 0, 1000, Ecn::NotEct);
        assert!(!dropped.is_empty());
        queue.drain();
        let mut drops = Vec::new();
        for number in 0..20 {
            queue.enqueue(at(20_000), plain(number, 1, 20_000), &mut drops);
        }
        assert!(drops.is_empty(), "{}", drops.len());
    }
}

/// RFC 8289, 5.6: an empty queue is below the target, so a new interval begins afterwards.
#[test]
fn codel_begins_a_new_interval_after_its_packets_were_removed() {
    let config = CodelConfig::default();
    for mut queue in [
        Discipline::Codel(Codel::new(config, QueueLimit::Unlimited)),
        fair(FairQueue::Codel(config), 1514, QueueLimit::Unlimited),
    ] {
        let (dropped, _) = overload(&mut queue, 0, 90, Ecn::NotEct);
        assert!(dropped.is_empty());
        queue.drain();
        let mut drops = Vec::new();
        for number in 0..4 {
            queue.enqueue(at(200), plain(number, 1, 200), &mut drops);
        }
        assert!(queue.dequeue(at(210), &mut drops).is_some());
        assert!(drops.is_empty());
    }
}

/// Floyd and Jacobson 1993, section 4: the mean falls with time while the queue is empty.
#[test]
fn mean_of_red_falls_while_its_queue_is_empty() {
    let mut drops = Vec::new();
    let mut drained = full_red();
    let before = drained.mean();
    drained.drain(&mut Vec::new());
    drained.enqueue(at(347), plain(0, 1, 347), &mut drops);
    let expected = before * 0.998_f64.powi(348);
    assert!((drained.mean() / expected - 1.0).abs() < 1e-9);

    let mut queue = full_red();
    while queue.dequeue(at(0)).is_some() {}
    drops.clear();
    queue.enqueue(at(1), plain(0, 1, 1), &mut drops);
    assert_eq!(drops.len(), 1, "the mean is still above the thresholds");
    let before = queue.mean();
    queue.enqueue(at(348), plain(0, 1, 348), &mut drops);
    let expected = before * 0.998_f64.powi(348);
    assert!((queue.mean() / expected - 1.0).abs() < 1e-9);
}

#[test]
fn packet_above_the_limit_displaces_no_other() {
    for mut queue in [
        Discipline::HeadDrop(HeadDrop::new(QueueLimit::Bytes(1000))),
        fair(FairQueue::Plain, 1514, QueueLimit::Bytes(1000)),
        fair(cobalt(), 1514, QueueLimit::Bytes(1000)),
    ] {
        let mut drops = Vec::new();
        let small = packet(0, 400, 1, at(0), Ecn::NotEct);
        queue.enqueue(at(0), small, &mut drops);
        assert_eq!(queue.enqueue(at(0), plain(1, 1, 0), &mut drops), None);
        assert_eq!(queue.queued(), (1, 400));
        assert_eq!(drops, [(plain(1, 1, 0), Reason::Full)]);
    }
}

#[test]
fn lower_limit_holds_from_the_next_packet_on() {
    for mut queue in [
        Discipline::HeadDrop(HeadDrop::new(QueueLimit::Unlimited)),
        fair(FairQueue::Plain, 1514, QueueLimit::Unlimited),
    ] {
        let mut drops = Vec::new();
        for number in 0..50 {
            queue.enqueue(at(0), plain(number, 1, 0), &mut drops);
        }
        queue.set_limit(QueueLimit::Packets(10));
        assert_eq!(
            queue.enqueue(at(1), plain(50, 1, 1), &mut drops),
            Some(false)
        );
        assert_eq!((queue.queued().0, drops.len()), (10, 41));
    }
}

/// Shreedhar and Varghese 1995: the service of two flows differs by at most the quantum and two of
/// the longest packets, even with a quantum of 1 byte.
#[test]
fn quantum_of_a_byte_is_fair_to_two_packets() {
    let mut queue = fair(FairQueue::Plain, 1, QueueLimit::Unlimited);
    let mut drops = Vec::new();
    for number in 0..200 {
        queue.enqueue(at(0), plain(number, 1, 0), &mut drops);
        for _ in 0..3 {
            let small = packet(number, 500, 2, at(0), Ecn::NotEct);
            queue.enqueue(at(0), small, &mut drops);
        }
    }
    let mut sent = [0_u64; 2];
    for _ in 0..600 {
        let leaving = queue.dequeue(at(0), &mut drops).expect("packets wait");
        sent[leaving.waiting.flow as usize - 1] += u64::from(leaving.waiting.len);
        assert!(sent[0].abs_diff(sent[1]) <= 1 + 2 * 1500, "{sent:?}");
    }
}

#[test]
fn red_and_cobalt_count_in_packets_of_the_present_rate() {
    let mut queue = full_red();
    while queue.dequeue(at(0)).is_some() {}
    let before = queue.mean();
    queue.set_packet_time(Interval::from_millis(10));
    queue.enqueue(at(3470), plain(0, 1, 3470), &mut Vec::new());
    let expected = before * 0.998_f64.powi(348);
    assert!((queue.mean() / expected - 1.0).abs() < 1e-9);

    // Four packets of the new rate take longer than any packet waits.
    for (millis, drops_some) in [(1, true), (1000, false)] {
        let mut queue = fair(cobalt(), 1514, QueueLimit::Unlimited);
        queue.set_packet_time(Interval::from_millis(millis));
        let (dropped, _) = overload(&mut queue, 0, 500, Ecn::NotEct);
        assert_eq!(!dropped.is_empty(), drops_some);
    }
}

#[test]
fn change_of_a_link_reaches_its_discipline() {
    let packet_time = |simplex: &Simplex| match simplex.discipline() {
        Some(Discipline::Red(queue)) => queue.packet_time(),
        other => panic!("{other:?}"),
    };
    let red = Red::new(red_config(), QueueLimit::Unlimited, random());
    let fast = LinkConfig::plain(12_112_000, Interval::from_millis(10));
    let mut simplex = Simplex::new(fast, Channel::default()).with_discipline(Discipline::Red(red));
    assert_eq!(packet_time(&simplex), Interval::from_millis(1));
    let slow = LinkConfig::plain(121_120, Interval::from_millis(10));
    simplex.set_config(slow);
    assert_eq!(packet_time(&simplex), Interval::from_millis(100));
}
