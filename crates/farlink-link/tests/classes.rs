//! Classes by Diffserv codepoint: strict priority, weights, and the room that classes make for each
//! other, by arithmetic.
#![allow(missing_docs)]

use farlink_channel::rng::Streams;
use farlink_link::QueueLimit;
use farlink_link::discipline::{
    ClassConfig, Classes, Codel, CodelConfig, Discipline, Fair, FairConfig, FairQueue, Reason,
    Waiting,
};
use farlink_tcp::{Body, Dscp, Ecn, Instant, Segment};
use farlink_wire::{NodeId, Packet, PacketId, Payload};

const EF: Dscp = Dscp::new(46);
const AF41: Dscp = Dscp::new(34);

fn class(codepoints: &[Dscp], weight: Option<u32>) -> ClassConfig {
    ClassConfig {
        codepoints: (!codepoints.is_empty()).then(|| codepoints.to_vec()),
        weight,
        limit: None,
        discipline: None,
    }
}

/// Classes with the packets that they dropped.
struct Bench {
    classes: Discipline,
    drops: Vec<(u32, Reason)>,
    next: u32,
}

impl Bench {
    fn new(classes: Vec<ClassConfig>, limit: QueueLimit) -> Self {
        Self {
            classes: Discipline::Classes(Box::new(Classes::new(classes, limit))),
            drops: Vec::new(),
            next: 0,
        }
    }

    /// Offers a packet, and returns its number.
    fn offer(&mut self, len: u32, dscp: Dscp) -> u32 {
        let packet = Packet::new(
            NodeId(0),
            NodeId(1),
            Payload::Tcp(Segment {
                dscp,
                body: Body::of_len(len),
                ..Segment::default()
            }),
        );
        let number = self.next;
        self.next += 1;
        let waiting = Waiting {
            packet: PacketId(number),
            packed: len,
            len,
            joined: Instant::ZERO,
            flow: u64::from(number % 7),
            ecn: Ecn::NotEct,
        };
        let mut drops = Vec::new();
        let taken = self
            .classes
            .offer(Instant::ZERO, (waiting, &packet), &mut drops);
        let refused = drops.iter().any(|(dropped, _)| dropped.packet.0 == number);
        assert_eq!(taken.is_none(), refused);
        let dropped = drops
            .into_iter()
            .map(|(dropped, reason)| (dropped.packet.0, reason));
        self.drops.extend(dropped);
        number
    }

    fn burst(&mut self, count: u32, len: u32, dscp: Dscp) {
        for _ in 0..count {
            self.offer(len, dscp);
        }
    }

    fn pop(&mut self) -> Option<u32> {
        let mut drops = Vec::new();
        let leaving = self.classes.dequeue(Instant::ZERO, &mut drops)?;
        Some(leaving.waiting.packet.0)
    }

    fn all(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.pop()).collect()
    }
}

/// A class is sent only while every earlier one is empty.
#[test]
fn strict_classes_leave_in_their_order() {
    let strict = vec![
        class(&[EF], None),
        class(&[], None),
        class(&[Dscp::LE], None),
    ];
    let mut bench = Bench::new(strict, QueueLimit::Unlimited);
    for _ in 0..3 {
        for dscp in [Dscp::LE, Dscp::DEFAULT, AF41, EF] {
            bench.offer(1000, dscp);
        }
    }
    assert_eq!(bench.classes.queued(), (12, 12_000));
    assert_eq!(bench.all(), [3, 7, 11, 1, 2, 5, 6, 9, 10, 0, 4, 8]);
    assert_eq!(bench.classes.queued(), (0, 0));
    // A packet of the first class precedes all that waited before.
    let waiting = [
        bench.offer(1000, Dscp::LE),
        bench.offer(1000, Dscp::DEFAULT),
    ];
    let expedited = bench.offer(1000, EF);
    assert_eq!(bench.all(), [expedited, waiting[1], waiting[0]]);
}

/// While all classes of a group wait, each has its share to within one packet per weight.
#[test]
fn weights_divide_bytes_to_within_one_packet() {
    for (weights, lengths) in [
        ([3, 1, 1], [1500, 1500, 1500]),
        ([5, 2, 1], [1500, 40, 900]),
        ([1000, 10, 1], [100, 1500, 1500]),
    ] {
        let names = [EF, AF41, Dscp::DEFAULT];
        let group = vec![
            class(&names[..1], Some(weights[0])),
            class(&names[1..2], Some(weights[1])),
            class(&[], Some(weights[2])),
        ];
        let mut bench = Bench::new(group, QueueLimit::Unlimited);
        let mut class_of = Vec::new();
        for number in 0..3 {
            for _ in 0..600_000 / lengths[number] * weights[number] {
                bench.offer(lengths[number], names[number]);
                class_of.push(number);
            }
        }
        let mut sent = [0_u64; 3];
        let least = *weights.iter().min().unwrap();
        let rounds = 300;
        let turn = |number: usize| 1514 * u64::from(weights[number] / least);
        while sent[2] < 1514 * rounds {
            let number = class_of[bench.pop().unwrap() as usize];
            sent[number] += u64::from(lengths[number]);
        }
        for number in 0..3 {
            // The bytes of 300 rounds, with at most one turn and one packet more or less.
            let expected = turn(number) * rounds;
            let error = sent[number].abs_diff(expected);
            let bound = turn(number) + u64::from(lengths[number]);
            assert!(error <= bound, "{weights:?}: {sent:?}");
        }
    }
}

/// A strict class precedes a group with weights, and follows it if it comes later in the list.
#[test]
fn groups_are_strict_among_each_other() {
    let classes = vec![
        class(&[EF], None),
        class(&[AF41], Some(2)),
        class(&[], Some(1)),
        class(&[Dscp::LE], None),
    ];
    let mut bench = Bench::new(classes, QueueLimit::Unlimited);
    for dscp in [Dscp::LE, Dscp::DEFAULT, AF41, EF] {
        for _ in 0..3 {
            bench.offer(1514, dscp);
        }
    }
    // Default and AF41 take turns of one and two packets, the first to wait first.
    assert_eq!(bench.all(), [9, 10, 11, 3, 6, 7, 4, 8, 5, 0, 1, 2]);
}

/// An idle class begins with a whole turn, without bytes saved or owed from before.
#[test]
fn idle_classes_save_no_turns() {
    let group = vec![class(&[EF], Some(1)), class(&[], Some(1))];
    let mut bench = Bench::new(group, QueueLimit::Unlimited);
    bench.burst(50, 1514, Dscp::DEFAULT);
    assert_eq!((0..40).filter_map(|_| bench.pop()).count(), 40);
    bench.burst(10, 1514, EF);
    let next: Vec<_> = (0..6).map(|_| bench.pop().unwrap() >= 50).collect();
    assert_eq!(next, [true, false, true, false, true, false]);
}

/// In the shared limit the last packets of later classes make room, if that is enough.
#[test]
fn later_classes_make_room_for_earlier_ones() {
    let strict = || {
        vec![
            class(&[EF], None),
            class(&[], None),
            class(&[Dscp::LE], None),
        ]
    };
    let mut bench = Bench::new(strict(), QueueLimit::Packets(4));
    for dscp in [Dscp::LE, Dscp::LE, Dscp::DEFAULT, EF] {
        bench.offer(1000, dscp);
    }
    assert!(bench.drops.is_empty());
    bench.offer(1000, EF); // 4 displaces 1, the last of the lowest class
    bench.offer(1000, Dscp::DEFAULT); // 5 displaces 0
    bench.offer(1000, Dscp::LE); // 6 finds no lower class
    bench.offer(1000, Dscp::DEFAULT); // 7 neither
    bench.offer(1000, EF); // 8 displaces 5
    let expected = [1, 0, 6, 7, 5].map(|number| (number, Reason::Full));
    assert_eq!(bench.drops, expected);
    assert_eq!(bench.all(), [3, 4, 8, 2]);

    // 1500 bytes wait in the last class. All of them would not make room for 2001.
    let mut bench = Bench::new(strict(), QueueLimit::Bytes(2000));
    bench.burst(3, 500, Dscp::LE);
    bench.offer(2001, EF);
    assert_eq!(bench.drops, [(3, Reason::Full)]);
    bench.offer(900, EF);
    assert_eq!(bench.drops[1..], [(2, Reason::Full)]);
    bench.offer(1100, EF);
    assert_eq!(bench.drops[2..], [(1, Reason::Full), (0, Reason::Full)]);
    assert_eq!(bench.classes.queued(), (2, 2000));
}

/// A class with a limit of its own neither takes nor makes room in the shared limit.
#[test]
fn limits_of_classes_hold_for_each_alone() {
    let mut classes = vec![
        class(&[EF], None),
        class(&[], None),
        class(&[Dscp::LE], None),
    ];
    classes[0].limit = Some(QueueLimit::Packets(2));
    classes[2].limit = Some(QueueLimit::Bytes(1500));
    let mut bench = Bench::new(classes, QueueLimit::Packets(3));
    for dscp in [EF, Dscp::DEFAULT, Dscp::LE] {
        bench.burst(4, 700, dscp);
    }
    let dropped: Vec<_> = bench.drops.iter().map(|drop| drop.0).collect();
    assert_eq!(dropped, [2, 3, 7, 10, 11]);
    bench.classes.set_limit(QueueLimit::Packets(4));
    for dscp in [EF, Dscp::DEFAULT, Dscp::DEFAULT] {
        bench.offer(700, dscp);
    }
    let dropped: Vec<_> = bench.drops.iter().skip(5).map(|drop| drop.0).collect();
    assert_eq!(dropped, [12, 14]);
}

/// Each class has a discipline of its own, whose limit is that of the direction or of the class.
#[test]
fn classes_have_disciplines() {
    let limit = QueueLimit::Packets(10);
    let fair = FairConfig {
        queues: 64,
        quantum: 1514,
        sparse_first: false,
        law: FairQueue::Plain,
        seed: 1,
    };
    let random = Streams::new(1, 0).stream("classes");
    let mut classes = vec![class(&[EF], None), class(&[], None)];
    classes[0].discipline = Some(Discipline::Codel(Codel::new(CodelConfig::default(), limit)));
    classes[1].discipline = Some(Discipline::Fair(Fair::new(fair, limit, random)));
    classes[1].limit = Some(QueueLimit::Packets(3));
    let mut bench = Bench::new(classes, limit);
    for dscp in [EF, Dscp::DEFAULT] {
        bench.burst(20, 100, dscp);
    }
    assert_eq!(bench.classes.queued(), (13, 1300));
    assert_eq!(bench.drops.len(), 10 + 17);
    let order = bench.all();
    assert_eq!(order[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(order.len(), 13);
    bench.burst(5, 100, EF);
    assert_eq!(bench.classes.drain().len(), 5);
    assert_eq!((bench.classes.queued(), bench.pop()), ((0, 0), None));
    assert_eq!(bench.offer(100, EF), bench.pop().unwrap());
}
