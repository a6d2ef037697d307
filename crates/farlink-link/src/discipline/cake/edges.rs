//! Queues that are empty, shared, drained or late, turn by turn.

use super::flow::Set;
use super::tests::{PLAIN, cake, from, of_class, plain, put, serve};
use super::*;
use crate::discipline::tests::{at, packet, random};
use farlink_tcp::{Ecn, Interval};

fn tin(config: CakeConfig) -> Tin {
    Tin::new(&config, Tins::Besteffort.shares()[0])
}

fn entry(waiting: Waiting) -> Entry {
    Entry {
        waiting,
        wire: waiting.len,
        header: None,
    }
}

/// Puts a packet into its queue and returns the number of the queue.
fn push(tin: &mut Tin, waiting: Waiting, hosts: [u64; 2]) -> Place {
    let place = tin.place(&waiting, hosts);
    tin.push(place, entry(waiting));
    place
}

fn next(tin: &mut Tin, ms: u64) -> Option<u64> {
    let served = tin.serve(at(ms), &mut true, &mut random(), &mut Vec::new());
    served.map(|(entry, _)| entry.waiting.flow)
}

#[test]
fn schedule_of_a_tin_catches_up_and_is_at_most_a_packet_ahead() {
    // 1500 bytes take 1 ms.
    let after = |ms, bytes, now| {
        let mut clock = Clock::new(12_000_000);
        clock.catch_up(at(ms));
        clock.charge_bounded(bytes, at(now));
        clock.next
    };
    assert_eq!(after(5, 1500, 9), at(6));
    assert_eq!(after(9, 1500, 9), at(10));
    assert_eq!(after(10, 3000, 9), at(11));
    // The schedule never goes back.
    assert_eq!(after(20, 1500, 9), at(20));
}

#[test]
fn tin_that_was_idle_gathers_no_precedence() {
    let config = CakeConfig {
        rate: Some(12_000_000),
        tins: Tins::Diffserv4,
        target: Interval::from_secs(100),
        ..PLAIN
    };
    let mut queue = cake(config);
    for number in 0..2000 {
        put(&mut queue, plain(number, 1500, 1), of_class(0));
    }
    serve(&mut queue, at(0), 1000);
    for number in 0..400 {
        let late = packet(number, 1500, 2, at(1000), Ecn::NotEct);
        put(&mut queue, late, of_class(46));
    }
    let left = serve(&mut queue, at(1000), 400);
    let voice = left.iter().filter(|(_, waiting)| waiting.flow == 2).count();
    assert!(voice.abs_diff(100) <= 2, "{voice}");
}

#[test]
fn tin_that_was_idle_gathers_no_turns_without_a_shaper() {
    let mut queue = cake(CakeConfig {
        tins: Tins::Diffserv3,
        ..PLAIN
    });
    for number in 0..3000 {
        put(&mut queue, plain(number, 500, 1), of_class(0));
    }
    serve(&mut queue, at(0), 2000);
    for number in 0..1000 {
        put(&mut queue, plain(number, 500, 2), of_class(46));
    }
    let left = serve(&mut queue, at(0), 500);
    let voice = left.iter().filter(|(_, waiting)| waiting.flow == 2).count();
    assert!(voice.abs_diff(100) <= 3, "{voice}");
}

#[test]
fn packets_that_come_meanwhile_do_not_move_the_schedule() {
    let mut queue = cake(CakeConfig {
        rate: Some(12_000_000),
        ..PLAIN
    });
    for number in 0..8 {
        // The transmitter takes none of them for 10 ms.
        let waiting = packet(number, 1500, 1, at(u64::from(number)), Ecn::NotEct);
        put(&mut queue, waiting, Labels::default());
    }
    let left = serve(&mut queue, at(10), 8);
    assert!(left.iter().all(|(time, _)| *time == 10_000_000));
}

#[test]
fn packet_of_a_whole_quantum_ends_the_turn() {
    let mut queue = cake(PLAIN);
    for flow in [1, 1, 1, 2, 2, 2] {
        put(&mut queue, plain(0, 1514, flow), Labels::default());
    }
    let left = serve(&mut queue, at(0), 6);
    let order: Vec<_> = left.iter().map(|(_, waiting)| waiting.flow).collect();
    assert_eq!(order, [1, 2, 1, 2, 1, 2]);
}

/// Turns count bytes on the medium: 1756 bytes of one flow for 356 of the other.
#[test]
fn turns_count_overhead() {
    let overhead = Overhead {
        bytes: 256,
        ..Overhead::default()
    };
    let mut queue = cake(CakeConfig { overhead, ..PLAIN });
    for number in 0..1000 {
        put(&mut queue, plain(number, 100, 1), Labels::default());
        put(&mut queue, plain(number, 1500, 2), Labels::default());
    }
    let left = serve(&mut queue, at(0), 1000);
    let small = left.iter().filter(|(_, waiting)| waiting.flow == 1).count();
    assert!(small.abs_diff(1000 * 1756 / (1756 + 356)) <= 6, "{small}");
}

#[test]
fn pairs_of_hosts_have_queues_by_direction() {
    let key = |hosts| Isolation::HostPairs.key(0, hosts);
    let keys = [[1, 2], [2, 1], [4, 7], [1, 3]].map(key);
    let distinct: std::collections::BTreeSet<_> = keys.into_iter().collect();
    assert_eq!(distinct.len(), 4);
}

/// A flow that sent more than its quantum and has no packet left waits among the old queues, without
/// being a load of its host. With its next packet it is one.
#[test]
fn empty_queue_with_a_deficit_is_no_load_until_its_next_packet() {
    let config = CakeConfig {
        isolation: Isolation::Triple,
        rate: Some(1_000_000),
        ..PLAIN
    };
    let mut tin = tin(config);
    let place = push(&mut tin, plain(0, 1500, 1), [5, 6]);
    push(&mut tin, plain(1, 100, 2), [5, 6]);
    assert_eq!(next(&mut tin, 0), Some(1));
    assert_eq!((tin.flow(place).set, tin.load(0, 5)), (Set::Sparse, 0));
    assert_eq!(next(&mut tin, 0), Some(2));
    assert_eq!((tin.flow(place).set, tin.load(0, 5)), (Set::SparseWait, 0));
    push(&mut tin, plain(2, 1500, 1), [5, 6]);
    assert_eq!(tin.flow(place).set, Set::Bulk);
    assert_eq!((tin.load(0, 5), tin.load(1, 6), tin.load(1, 5)), (1, 1, 0));
}

#[test]
fn shared_queue_counts_for_the_host_of_its_latest_flow() {
    let config = CakeConfig {
        isolation: Isolation::Triple,
        rate: Some(1_000_000),
        ..PLAIN
    };
    let mut tin = tin(config);
    let group = |flow: u64| (crate::discipline::fair::mix(flow ^ 1) as usize % 1024) / 8;
    let flows: Vec<_> = (0..).filter(|&flow| group(flow) == 3).take(9).collect();
    for &flow in &flows[..8] {
        for number in 0..3 {
            push(&mut tin, plain(number, 1500, flow), [flow, 1]);
        }
    }
    // After the first packets, which exceed the quanta, all queues are bulk.
    for _ in 0..9 {
        next(&mut tin, 0);
    }
    let last = flows[8];
    let place = push(&mut tin, plain(0, 1500, last), [last, 2]);
    assert_eq!(tin.flow(place).hosts, [last, 2]);
    assert_eq!(
        (tin.load(0, last), tin.load(1, 1), tin.load(1, 2)),
        (1, 7, 1)
    );
    let loads: u32 = flows.iter().map(|&flow| tin.load(0, flow)).sum();
    assert_eq!(loads, 8);
}

/// COBALT's state of a queue is kept until it is at rest: an interval after the last packet.
#[test]
fn empty_queue_is_kept_until_its_law_is_at_rest() {
    let mut tin = tin(PLAIN);
    let waiting = packet(0, 1500, 1, at(10), Ecn::NotEct);
    let place = push(&mut tin, waiting, [0; 2]);
    assert_eq!(next(&mut tin, 10), Some(1));
    assert_eq!(next(&mut tin, 10), None);
    assert_eq!(tin.flow(place).set, Set::Decaying);
    push(&mut tin, plain(0, 1500, 2), [0; 2]);
    assert_eq!(
        next(&mut tin, 109),
        None,
        "the kept queue is looked at first"
    );
    assert_eq!(tin.flow(place).set, Set::Decaying);
    assert_eq!(next(&mut tin, 110), None);
    assert_eq!(tin.flow(place).set, Set::None);
    assert_eq!(next(&mut tin, 110), Some(2));
}

#[test]
fn law_of_an_empty_queue_runs_back() {
    let mut tin = tin(PLAIN);
    let place = push(&mut tin, plain(0, 1500, 1), [0; 2]);
    assert_eq!(next(&mut tin, 0), Some(1));
    tin.flow(place).cobalt.count = 3;
    for (ms, count) in [(200, 2), (500, 1), (900, 0)] {
        assert_eq!(next(&mut tin, ms), None);
        assert_eq!(tin.flow(place).cobalt.count, count, "{ms}");
    }
}

#[test]
fn overflow_raises_the_drop_probability_of_the_longest_queue() {
    let mut queue = Cake::new(PLAIN, QueueLimit::Packets(2), random());
    let mut drops = Vec::new();
    for number in 0..3 {
        let waiting = packet(number, 1500, 1, at(10), Ecn::NotEct);
        queue.enqueue(at(10), waiting, &Labels::default(), &mut drops);
    }
    assert_eq!(drops.len(), 1);
    let (_, flow) = queue.tins[0]
        .flows()
        .find(|(_, flow)| flow.bytes > 0)
        .expect("a queue");
    assert!((flow.cobalt.blue - 1.0 / 256.0).abs() < 1e-12);
}

#[test]
fn newest_packet_is_refused_if_it_is_first_in_the_longest_queue() {
    let mut queue = Cake::new(PLAIN, QueueLimit::Bytes(1000), random());
    let mut drops = Vec::new();
    put(&mut queue, plain(0, 400, 1), Labels::default());
    let large = plain(1, 900, 2);
    assert_eq!(
        queue.enqueue(at(0), large, &Labels::default(), &mut drops),
        None
    );
    assert_eq!(drops, [(large, Reason::Full)]);
}

#[test]
fn last_packet_of_a_queue_is_never_dropped_by_the_law() {
    let mut tin = tin(PLAIN);
    let place = push(&mut tin, plain(0, 1500, 1), [0; 2]);
    push(&mut tin, plain(1, 1500, 1), [0; 2]);
    tin.flow(place).cobalt.blue = 1.0;
    let mut drops = Vec::new();
    let served = tin.serve(at(0), &mut true, &mut random(), &mut drops);
    assert_eq!(served.map(|(entry, _)| entry.waiting.packet.0), Some(1));
    assert_eq!(drops, [(plain(0, 1500, 1), Reason::Control)]);
}

#[test]
fn ecn_capable_packets_are_marked_and_others_dropped() {
    let mut outcomes = Vec::new();
    for ecn in [Ecn::Ect0, Ecn::NotEct] {
        let mut queue = cake(PLAIN);
        let (mut drops, mut marks) = (Vec::new(), 0);
        for ms in 0..1000 {
            for _ in 0..2 {
                put(
                    &mut queue,
                    packet(0, 1500, 1, at(ms), ecn),
                    Labels::default(),
                );
            }
            let leaving = queue.dequeue(at(ms), &mut drops);
            marks += usize::from(leaving.is_some_and(|leaving| leaving.marked));
        }
        outcomes.push((drops.len(), marks));
    }
    assert_eq!(outcomes[0].0, 0);
    assert_eq!(outcomes[1].1, 0);
    assert!(outcomes[0].1 > 15 && outcomes[1].0 > 15, "{outcomes:?}");
}

#[test]
fn drained_queue_has_neither_loads_nor_bytes() {
    let config = CakeConfig {
        isolation: Isolation::DualSource,
        ..PLAIN
    };
    let mut queue = Cake::new(config, QueueLimit::Bytes(60_000), random());
    for number in 0..40 {
        put(
            &mut queue,
            plain(number, 1500, u64::from(number % 4)),
            from(1, 2),
        );
    }
    serve(&mut queue, at(0), 12);
    queue.drain(&mut Vec::new());
    for number in 0..20 {
        put(&mut queue, plain(number, 1500, 9), from(1, 2));
        put(&mut queue, plain(number, 1500, 8), from(3, 2));
    }
    // The longest queue is one that has packets.
    let mut drops = Vec::new();
    queue.enqueue(at(0), plain(99, 1500, 9), &from(1, 2), &mut drops);
    assert_eq!(drops, [(plain(0, 1500, 9), Reason::Full)]);
    let left = serve(&mut queue, at(0), 30);
    let nines = left.iter().filter(|(_, waiting)| waiting.flow == 9).count();
    assert!(nines.abs_diff(15) <= 1, "{nines}");
}

/// A tin without packets gets its weight when the turn passes it, once (`sch_cake.c`: `tin_deficit`).
#[test]
fn turn_that_passes_an_idle_tin_leaves_its_weight() {
    let config = CakeConfig {
        tins: Tins::Diffserv4,
        ..PLAIN
    };
    let mut queue = cake(config);
    for number in 0..3 {
        put(&mut queue, plain(number, 100, 1), of_class(46));
    }
    serve(&mut queue, at(0), 3);
    let deficits: Vec<_> = queue.tins.iter().map(|tin| tin.deficit).collect();
    assert_eq!(deficits[..3], [1024, 64, 512]);
}
