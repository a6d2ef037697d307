//! Shares, times and drops of CAKE in closed form.

use super::*;
use crate::discipline::Discipline;
use crate::discipline::tests::{at, packet, random};
use farlink_tcp::{Ecn, Interval};
use proptest::prelude::*;

pub(super) const PLAIN: CakeConfig = CakeConfig {
    rate: None,
    overhead: Overhead {
        bytes: 0,
        mpu: 0,
        framing: Framing::Packets,
    },
    tins: Tins::Besteffort,
    isolation: Isolation::Flows,
    ack_filter: AckFilter::No,
    target: Interval::from_millis(5),
    interval: Interval::from_millis(100),
    seed: 1,
};

pub(super) fn cake(config: CakeConfig) -> Cake {
    Cake::new(config, QueueLimit::Unlimited, random())
}

/// Returns a packet that joins at time 0.
pub(super) fn plain(number: u32, len: u32, flow: u64) -> Waiting {
    packet(number, len, flow, at(0), Ecn::NotEct)
}

pub(super) fn put(queue: &mut Cake, waiting: Waiting, labels: Labels) {
    let mut drops = Vec::new();
    let kept = queue.enqueue(waiting.joined, waiting, &labels, &mut drops);
    assert_eq!((kept, drops), (Some(false), vec![]));
}

pub(super) fn from(source: u64, destination: u64) -> Labels {
    Labels {
        hosts: [source, destination],
        ..Labels::default()
    }
}

pub(super) fn of_class(dscp: u8) -> Labels {
    Labels {
        dscp,
        ..Labels::default()
    }
}

/// Serves a queue at the times that its shaper gives, from `now` on. Returns the times and packets.
pub(super) fn serve(queue: &mut Cake, mut now: Instant, count: usize) -> Vec<(u64, Waiting)> {
    let mut drops = Vec::new();
    let mut left = Vec::new();
    while left.len() < count {
        now = now.max(queue.ready_at());
        let leaving = queue.dequeue(now, &mut drops).expect("packets wait");
        left.push((now.as_nanos(), leaving.waiting));
    }
    assert!(drops.is_empty(), "{drops:?}");
    left
}

#[test]
fn wire_bytes_have_overhead_then_least_then_cells() {
    let wire = |bytes, mpu, framing, len| {
        Overhead {
            bytes,
            mpu,
            framing,
        }
        .wire(len)
    };
    assert_eq!(wire(0, 0, Framing::Packets, 1500), 1500);
    assert_eq!(wire(44, 0, Framing::Packets, 1500), 1544);
    assert_eq!(wire(-14, 0, Framing::Packets, 1514), 1500);
    assert_eq!(wire(-60, 0, Framing::Packets, 40), 0);
    assert_eq!(wire(18, 64, Framing::Packets, 40), 64);
    assert_eq!(wire(18, 64, Framing::Packets, 46), 64);
    assert_eq!(wire(18, 64, Framing::Packets, 47), 65);
    for (len, cells) in [(1, 1), (48, 1), (49, 2), (96, 2), (1544, 33)] {
        assert_eq!(wire(0, 0, Framing::Atm, len), 53 * cells, "{len}");
    }
    // The least length counts before the cells.
    assert_eq!(wire(8, 96, Framing::Atm, 40), 106);
    for (len, more) in [(1, 1), (64, 1), (65, 2), (128, 2), (1500, 24)] {
        assert_eq!(wire(0, 0, Framing::Ptm, len), len + more, "{len}");
    }
}

/// The n-th packet leaves once those before it are sent at the rate, to the nanosecond.
#[test]
fn shaper_has_exactly_its_rate_with_overhead_and_cells() {
    for (overhead, rate) in [
        (Overhead::default(), 1_000_003),
        (
            Overhead {
                bytes: 44,
                mpu: 84,
                framing: Framing::Atm,
            },
            999_999_937,
        ),
        (
            Overhead {
                bytes: -14,
                mpu: 64,
                framing: Framing::Ptm,
            },
            19_200,
        ),
    ] {
        let mut queue = cake(CakeConfig {
            rate: Some(rate),
            overhead,
            target: Interval::from_secs(3600),
            ..PLAIN
        });
        let lens: Vec<u32> = (0..2000).map(|n| 40 + n * 7919 % 1461).collect();
        for (number, &len) in (0..).zip(&lens) {
            put(
                &mut queue,
                packet(number, len, 1, at(5), Ecn::NotEct),
                Labels::default(),
            );
        }
        let mut bytes = 0_u128;
        let left = serve(&mut queue, at(5), lens.len());
        for ((time, waiting), &len) in left.iter().zip(&lens) {
            assert_eq!(waiting.len, len);
            let after = bytes * 8_000_000_000 / u128::from(rate);
            assert_eq!(u128::from(*time), 5_000_000 + after);
            bytes += u128::from(overhead.wire(len));
        }
    }
}

/// An idle shaper gathers no credit, and one that fell behind its schedule catches up.
#[test]
fn shaper_has_no_burst_after_idleness_and_keeps_its_schedule_while_busy() {
    let config = CakeConfig {
        rate: Some(12_000_000),
        ..PLAIN
    };
    let mut queue = cake(config);
    for ms in [0, 100] {
        for number in 0..3 {
            put(
                &mut queue,
                packet(number, 1500, 1, at(ms), Ecn::NotEct),
                Labels::default(),
            );
        }
        let left = serve(&mut queue, at(ms), 3);
        let times: Vec<_> = left.iter().map(|(time, _)| time / 1_000_000).collect();
        assert_eq!(times, [ms, ms + 1, ms + 2]);
    }
    // A packet that comes before the schedule waits for it.
    put(
        &mut queue,
        packet(9, 1500, 1, at(102), Ecn::NotEct),
        Labels::default(),
    );
    assert_eq!(queue.ready_at(), at(103));
    assert!(queue.dequeue(at(102), &mut Vec::new()).is_none());
    assert_eq!(serve(&mut queue, at(102), 1)[0].0, 103_000_000);
    // A transmitter that was busy for 10 ms takes the packets of its schedule at once.
    for number in 0..12 {
        put(
            &mut queue,
            packet(number, 1500, 1, at(104), Ecn::NotEct),
            Labels::default(),
        );
    }
    let left = serve(&mut queue, at(114), 12);
    let times: Vec<_> = left.iter().map(|(time, _)| time / 1_000_000).collect();
    assert_eq!(times, [&[114; 11][..], &[115]].concat());
}

/// Sends `packets` packets of 1500 bytes while all flows wait. Returns the numbers by source host.
fn shares_of_hosts(isolation: Isolation, hosts: &[(u64, u64, u64)], packets: usize) -> Vec<usize> {
    let mut queue = cake(CakeConfig { isolation, ..PLAIN });
    for number in 0..packets as u32 {
        for &(flow, source, destination) in hosts {
            put(
                &mut queue,
                plain(number, 1500, flow),
                from(source, destination),
            );
        }
    }
    let left = serve(&mut queue, at(0), packets);
    let sources = hosts
        .iter()
        .map(|&(_, source, _)| source)
        .max()
        .unwrap_or(0);
    let mut sent = vec![0; sources as usize + 1];
    for (_, waiting) in left {
        let flow = hosts.iter().find(|&&(flow, ..)| flow == waiting.flow);
        sent[flow.expect("a flow").1 as usize] += 1;
    }
    sent
}

/// Two hosts with eight flows and one flow. The first round gives each flow a whole quantum,
/// because all are new.
#[test]
fn hosts_have_halves_beside_the_first_round() {
    let hosts: Vec<_> = (0..8).map(|flow| (flow, 0, 7)).chain([(8, 1, 7)]).collect();
    let rounds = 900;
    let sent = shares_of_hosts(Isolation::DualSource, &hosts, 9 + 2 * rounds);
    // The quantum of 1514 bytes and one packet of each flow are the bound of DRR.
    assert!(sent[0].abs_diff(8 + rounds) <= 9, "{sent:?}");
    assert!(sent[1].abs_diff(1 + rounds) <= 9, "{sent:?}");
    // The destination of all has nine flows, which is more than any source has.
    for isolation in [
        Isolation::Flows,
        Isolation::DualDestination,
        Isolation::Triple,
    ] {
        let sent = shares_of_hosts(isolation, &hosts, 900);
        assert!(sent[0].abs_diff(800) <= 9, "{isolation:?} {sent:?}");
    }
    // A queue per host has no first round of flows.
    for isolation in [Isolation::SourceHosts, Isolation::HostPairs] {
        let sent = shares_of_hosts(isolation, &hosts, 900);
        assert!(sent[0].abs_diff(450) <= 1, "{isolation:?} {sent:?}");
    }
    // Destination hosts: all flows have one queue.
    let sent = shares_of_hosts(Isolation::DestinationHosts, &hosts, 900);
    assert_eq!(sent, [800, 100]);
}

/// Isolation of destinations with these two hosts; then a source that sends to eight hosts beside a
/// source that sends to a ninth host.
#[test]
fn destinations_have_halves_and_triple_takes_the_busier_side() {
    let swapped: Vec<_> = (0..8).map(|flow| (flow, 0, 7)).chain([(8, 1, 6)]).collect();
    for isolation in [Isolation::DualDestination, Isolation::Triple] {
        let sent = shares_of_hosts(isolation, &swapped, 9 + 1800);
        assert!(sent[0].abs_diff(908) <= 9, "{isolation:?} {sent:?}");
    }
    let spread: Vec<_> = (0..8).map(|n| (n, 0, 10 + n)).chain([(8, 1, 7)]).collect();
    for (isolation, share) in [
        (Isolation::DualSource, 908),
        (Isolation::Triple, 908),
        (Isolation::DualDestination, 1608),
    ] {
        let sent = shares_of_hosts(isolation, &spread, 9 + 1800);
        assert!(sent[0].abs_diff(share) <= 9, "{isolation:?} {sent:?}");
    }
}

/// A host that ends its flows gives the share of each to those that remain.
#[test]
fn load_of_a_host_falls_with_its_flows() {
    let config = CakeConfig {
        isolation: Isolation::DualSource,
        ..PLAIN
    };
    let mut queue = cake(config);
    for flow in 0..4 {
        for number in 0..if flow == 0 { 400 } else { 20 } {
            put(&mut queue, plain(number, 1500, flow), from(0, 9));
        }
    }
    for number in 0..400 {
        put(&mut queue, plain(number, 1500, 4), from(1, 9));
    }
    // The short flows end first; then the two long ones have halves.
    serve(&mut queue, at(0), 4 * 20 + 80);
    let mut sent = [0_usize; 5];
    for (_, waiting) in serve(&mut queue, at(0), 200) {
        sent[waiting.flow as usize] += 1;
    }
    assert!(sent[0].abs_diff(sent[4]) <= 4, "{sent:?}");
    assert_eq!(sent[1..4], [0; 3]);
}

/// Fractions of a quantum are carried over: 7 turns of a host with 7 flows are a whole quantum.
#[test]
fn quantum_of_a_host_is_exact() {
    let mut flow = flow::Flow::default();
    for load in [1, 2, 7, 11, 1000, 2000] {
        let turns: i64 = (0..load).map(|_| flow.quantum(1514, load)).sum();
        assert_eq!(turns, 1514, "{load}");
    }
    // A carried fraction never exceeds a byte of a smaller load.
    flow.quantum(1514, 1000);
    assert!(flow.quantum(1514, 1) <= 1515);
}

#[test]
fn sparse_flow_waits_for_the_packet_being_sent_only() {
    let mut queue = cake(CakeConfig {
        isolation: Isolation::Triple,
        ..PLAIN
    });
    for flow in 1..=20 {
        for number in 0..50 {
            put(&mut queue, plain(number, 1500, flow), from(1, 2));
        }
    }
    serve(&mut queue, at(0), 60);
    for _ in 0..20 {
        put(&mut queue, plain(0, 100, 99), from(1, 2));
        assert_eq!(serve(&mut queue, at(0), 1)[0].1.flow, 99);
        serve(&mut queue, at(0), 20);
    }
}

/// With thresholds of 1/16, 1/2 and 1/4 of the rate for bulk, video and voice, best effort has the
/// remaining 3/16 while all classes wait.
#[test]
fn tins_have_their_thresholds_and_best_effort_the_rest() {
    let (best_effort, bulk, video, voice) = (0, 8, 34, 46);
    let shares = |tins, classes: &[u8]| {
        let mut queue = cake(CakeConfig {
            rate: Some(12_000_000),
            tins,
            target: Interval::from_secs(100),
            ..PLAIN
        });
        for number in 0..1600 {
            for &class in classes {
                put(
                    &mut queue,
                    plain(number, 1500, u64::from(class)),
                    of_class(class),
                );
            }
        }
        let left = serve(&mut queue, at(0), 1600);
        let count = |class: &u8| {
            left.iter()
                .filter(|(_, w)| w.flow == u64::from(*class))
                .count()
        };
        classes.iter().map(count).collect::<Vec<_>>()
    };
    let close = |sent: &[usize], expected: &[usize]| {
        let mut pairs = sent.iter().zip(expected);
        pairs.all(|(a, b)| a.abs_diff(*b) <= 3)
    };
    let all = [best_effort, bulk, video, voice];
    let four = shares(Tins::Diffserv4, &all);
    assert!(close(&four, &[300, 100, 800, 400]), "{four:?}");
    let three = shares(Tins::Diffserv3, &[best_effort, bulk, voice]);
    assert!(close(&three, &[1100, 100, 400]), "{three:?}");
    // A class alone has the whole rate. A packet of bulk sets its schedule 16 packets ahead, and one
    // of voice 4. Bulk is the earlier one in turn 14.
    assert_eq!(shares(Tins::Diffserv4, &[voice]), [1600]);
    let two = shares(Tins::Diffserv4, &[bulk, voice]);
    assert!(close(&two, &[1600 / 14, 1600 - 1600 / 14]), "{two:?}");
    assert_eq!(shares(Tins::Besteffort, &all), [400; 4]);
}

/// A packet of voice within the threshold of its tin precedes all others.
#[test]
fn voice_precedes_best_effort_within_its_threshold() {
    let mut queue = cake(CakeConfig {
        rate: Some(12_000_000),
        tins: Tins::Diffserv4,
        target: Interval::from_secs(100),
        ..PLAIN
    });
    for flow in 0..50 {
        for number in 0..5 {
            put(&mut queue, plain(number, 1500, flow), of_class(0));
        }
    }
    for turn in 0..20 {
        let now = Instant::from_nanos(turn * 10_000_000);
        put(
            &mut queue,
            packet(0, 1500, 99, now, Ecn::NotEct),
            of_class(46),
        );
        assert_eq!(serve(&mut queue, now, 1)[0].1.flow, 99, "{turn}");
        serve(&mut queue, now, 9);
    }
}

/// Without a shaper, tins share by their weights: 1024, 64, 512 and 256.
#[test]
fn tins_without_a_shaper_share_by_weight() {
    let mut queue = cake(CakeConfig {
        tins: Tins::Diffserv4,
        ..PLAIN
    });
    let classes = [0_u8, 8, 34, 46];
    for number in 0..3000 {
        for class in classes {
            put(
                &mut queue,
                plain(number, 500, u64::from(class)),
                of_class(class),
            );
        }
    }
    let left = serve(&mut queue, at(0), 2900);
    for (class, weight) in classes.into_iter().zip([1024, 64, 512, 256]) {
        let sent = left
            .iter()
            .filter(|(_, w)| w.flow == u64::from(class))
            .count();
        assert!(sent.abs_diff(2900 * weight / 1856) <= 3, "{class}: {sent}");
    }
}

/// Linux's `cake_set_rate`: the target is 1.5 long packets at least, and the interval grows alike.
#[test]
fn target_and_quantum_follow_the_rate_of_the_tin() {
    let of = |rate, share| Tin::new(&CakeConfig { rate, ..PLAIN }, share);
    let whole = Tins::Besteffort.shares()[0];
    let tin = of(Some(12_112_000), whole);
    // 1514 bytes take 1 ms.
    let ms = Interval::from_millis;
    assert_eq!((tin.law().target, tin.law().interval), (ms(5), ms(100)));
    assert_eq!((tin.law().packet_time, tin.largest_turn()), (ms(1), 369));
    let tin = of(Some(1_211_200), whole);
    assert_eq!((tin.law().target, tin.law().interval), (ms(15), ms(110)));
    assert_eq!((tin.law().packet_time, tin.largest_turn()), (ms(10), 300));
    let tin = of(Some(19_200), whole);
    assert_eq!(tin.law().target.as_nanos(), 946_250_000 - 1);
    assert_eq!(tin.law().interval, tin.law().target.saturating_mul(2));
    let tin = of(Some(12_112_000), Tins::Diffserv4.shares()[1]);
    assert_eq!(tin.law().target, ms(24));
    assert_eq!(of(Some(1_000_000_000), whole).largest_turn(), 1514);
    let tin = of(None, whole);
    assert_eq!(
        (tin.law().target, tin.law().packet_time),
        (ms(5), Interval::ZERO)
    );
    assert_eq!(tin.largest_turn(), 1514);
}

#[test]
fn full_memory_drops_the_head_of_the_longest_queue_of_all_tins() {
    let config = CakeConfig {
        tins: Tins::Diffserv3,
        ..PLAIN
    };
    let mut queue = Cake::new(config, QueueLimit::Bytes(30_000), random());
    for number in 0..15 {
        put(&mut queue, plain(number, 1000, 1), of_class(0));
        put(&mut queue, plain(100 + number, 1000, 2), of_class(46));
    }
    let mut drops = Vec::new();
    let next = plain(200, 1000, 2);
    assert_eq!(
        queue.enqueue(at(0), next, &of_class(46), &mut drops),
        Some(false)
    );
    assert_eq!(drops, [(plain(100, 1000, 2), Reason::Full)]);
    drops.clear();
    // A packet above the whole limit displaces no other.
    let large = plain(201, 30_001, 3);
    assert_eq!(queue.enqueue(at(0), large, &of_class(0), &mut drops), None);
    assert_eq!(drops, [(large, Reason::Full)]);
    assert_eq!(queue.queued(), (30, 30_000));
}

/// Eight flows of one group of queues have a queue each, and a ninth shares one.
#[test]
fn flows_of_a_group_have_queues_of_their_own_up_to_eight() {
    let mut tin = Tin::new(&PLAIN, Tins::Besteffort.shares()[0]);
    let group = |flow: u64| (crate::discipline::fair::mix(flow ^ 1) as usize % 1024) / 8;
    let flows: Vec<_> = (0..).filter(|&flow| group(flow) == 3).take(9).collect();
    let mut places = Vec::new();
    for &flow in &flows {
        let waiting = plain(0, 100, flow);
        let place = tin.place(&waiting, [0; 2]);
        let entry = Entry {
            waiting,
            wire: 100,
            header: None,
        };
        tin.push(place, entry);
        places.push(place);
        // A later packet of the flow finds the queue again.
        assert_eq!(tin.place(&waiting, [0; 2]), place);
    }
    let mut distinct = places[..8].to_vec();
    distinct.sort_unstable();
    assert_eq!(distinct, (24..32).collect::<Vec<_>>());
    let hash = crate::discipline::fair::mix(flows[8] ^ 1) as usize % 1024;
    assert_eq!(usize::from(places[8]), hash);
}

#[test]
fn drained_queue_starts_anew() {
    let mut queue = cake(CakeConfig {
        isolation: Isolation::Triple,
        rate: Some(12_000_000),
        target: Interval::from_secs(100),
        ..PLAIN
    });
    for number in 0..40 {
        put(
            &mut queue,
            plain(number, 1500, u64::from(number % 4)),
            from(1, 2),
        );
    }
    serve(&mut queue, at(0), 12);
    let mut gone = Vec::new();
    queue.drain(&mut gone);
    assert_eq!((gone.len(), queue.queued()), (28, (0, 0)));
    assert!(queue.dequeue(at(50), &mut Vec::new()).is_none());
    // No load of a host is left behind: the hosts have halves again.
    for number in 0..400 {
        put(
            &mut queue,
            packet(number, 1500, 9, at(50), Ecn::NotEct),
            from(1, 2),
        );
        put(
            &mut queue,
            packet(number, 1500, 8, at(50), Ecn::NotEct),
            from(3, 2),
        );
    }
    let left = serve(&mut queue, at(50), 400);
    assert_eq!(left[0].0, 50_000_000);
    let nines = left.iter().filter(|(_, waiting)| waiting.flow == 9).count();
    assert!(nines.abs_diff(200) <= 2, "{nines}");
}

proptest! {
    /// Every packet that was offered leaves, is dropped, or still waits, and bytes agree. No packet
    /// leaves before the shaper lets it.
    #[test]
    fn every_packet_is_accounted_for(
        steps in proptest::collection::vec(
            (0..3_000_000_u64, 40..1500_u32, 0..40_u64, 0..3_u8, 0..64_u8, any::<bool>(), 0..4_u32),
            1..300,
        ),
        rate in prop_oneof![Just(None), Just(Some(20_000_000)), Just(Some(1_000_000))],
        tins in prop_oneof![Just(Tins::Besteffort), Just(Tins::Diffserv3), Just(Tins::Diffserv8)],
        isolation in prop_oneof![Just(Isolation::Triple), Just(Isolation::SourceHosts)],
        ack_filter in prop_oneof![Just(AckFilter::No), Just(AckFilter::Aggressive)],
        limit in prop_oneof![
            Just(QueueLimit::Unlimited),
            (1..30_u32).prop_map(QueueLimit::Packets),
            (1500..60_000_u64).prop_map(QueueLimit::Bytes),
        ],
    ) {
        let config = CakeConfig { rate, tins, isolation, ack_filter, ..PLAIN };
        let mut queue = Cake::new(config, limit, random());
        let mut now = Instant::ZERO;
        let (mut waiting, mut bytes) = (0_u32, 0_u64);
        for (number, &(after, len, flow, ecn, dscp, leaves, ack)) in (0..).zip(&steps) {
            now += Interval::from_nanos(after);
            let mut drops = Vec::new();
            let offered = packet(number, len, flow, now, Ecn::from_bits(ecn));
            let header = ack_filter_tests::pure(ack);
            let labels = Labels { hosts: [flow % 5, flow % 3], dscp, ack: (ack > 0).then_some(header) };
            let accepted = queue.enqueue(now, offered, &labels, &mut drops);
            prop_assert_eq!(accepted.is_none(), drops.iter().any(|(dropped, _)| dropped.packet == offered.packet));
            waiting += 1;
            bytes += u64::from(len);
            if leaves {
                let held = queue.ready_at() > now;
                let leaving = queue.dequeue(now, &mut drops);
                prop_assert!(!held || leaving.is_none());
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
        while queue.queued().0 > 0 {
            now = now.max(queue.ready_at());
            left += u32::from(queue.dequeue(now, &mut drops).is_some());
        }
        prop_assert_eq!(left + drops.len() as u32, waiting);
    }
}

#[test]
fn discipline_offers_ready_times_of_the_shaper_alone() {
    let shaped = CakeConfig {
        rate: Some(12_000_000),
        ..PLAIN
    };
    for (config, ready) in [(PLAIN, at(0)), (shaped, at(8))] {
        let mut queue = Discipline::Cake(Box::new(cake(config)));
        let mut drops = Vec::new();
        queue.enqueue(at(7), packet(0, 1500, 1, at(7), Ecn::NotEct), &mut drops);
        assert!(queue.dequeue(at(7), &mut drops).is_some());
        assert_eq!(queue.ready_at(), ready);
    }
}
