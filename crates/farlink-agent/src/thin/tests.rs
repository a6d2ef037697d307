use super::*;
use crate::bed::{FIXED, MOBILE, hostile_segment, packet};
use farlink_channel::rng::Streams;
use farlink_tcp::{Body, Flags, Options, SackBlock, Segment, Seq, Timestamps};
use std::collections::BTreeMap;

const INTERVAL: Interval = Interval::from_millis(20);

fn at(ms: u64) -> Instant {
    Instant::ZERO + Interval::from_millis(ms)
}

fn thin(most: u32, connections: usize) -> Thin {
    Thin::new(ThinConfig {
        interval: INTERVAL,
        most,
        limits: Limits {
            connections,
            ..Limits::DEFAULT
        },
    })
}

fn ack(number: u32) -> Segment {
    Segment {
        src_port: 80,
        dst_port: 5000,
        ack: Seq(number),
        flags: Flags::ACK,
        window: 100,
        ..Segment::default()
    }
}

fn sacked(number: u32, blocks: &[(u32, u32)]) -> Segment {
    let sack = blocks.iter().map(|&(left, right)| SackBlock {
        left: Seq(left),
        right: Seq(right),
    });
    let mut segment = ack(number);
    segment.options.set_sack(sack.collect());
    segment
}

/// Agent and the number of the next packet, with packets simulated or as bytes.
struct Bed {
    agent: Thin,
    real: bool,
    next: u32,
}

impl Bed {
    fn new(agent: Thin, real: bool) -> Self {
        Self {
            agent,
            real,
            next: 0,
        }
    }

    /// Passes a segment towards the wireless link. Returns the verdict and the actions.
    fn pass(&mut self, ms: u64, segment: Segment) -> (Verdict, Vec<Action>) {
        self.cross(ms, segment, FIXED)
    }

    fn cross(&mut self, ms: u64, segment: Segment, from: usize) -> (Verdict, Vec<Action>) {
        let arrived = packet(from, segment, self.real);
        let mut crosses = arrived.clone();
        let (mut out, id) = (Out::default(), PacketId(self.next));
        self.next += 1;
        let crossing = if from == FIXED {
            Crossing::ToWireless
        } else {
            Crossing::FromWireless
        };
        let view = &mut View::new(&mut crosses);
        let verdict = self.agent.on_packet(at(ms), id, crossing, view, &mut out);
        assert_eq!(crosses, arrived);
        (verdict, out.actions)
    }

    fn deadline(&mut self, ms: u64) -> Vec<Action> {
        assert_eq!(self.agent.deadline(), Some(at(ms)));
        let mut out = Out::default();
        self.agent.on_deadline(at(ms), &mut out);
        out.actions
    }

    fn counters(&self) -> [f64; 3] {
        let counters: BTreeMap<_, _> = self.agent.counters(at(0)).into_iter().collect();
        ["acks_passed", "acks_delayed", "acks_dropped"].map(|name| counters[name])
    }
}

/// Returns a bed for packets of each form.
fn beds(most: u32, connections: usize) -> [Bed; 2] {
    [false, true].map(|real| Bed::new(thin(most, connections), real))
}

const NOTHING: Vec<Action> = Vec::new();

fn release(number: u32) -> Vec<Action> {
    vec![Action::Release(PacketId(number))]
}

fn discard(number: u32) -> Vec<Action> {
    vec![Action::Discard(PacketId(number))]
}

/// The first ACK passes, and of those in the interval the last one at its end. An interval without
/// an ACK ends the state.
#[test]
fn newest_ack_leaves_once_per_interval() {
    for mut bed in beds(100, 10) {
        assert_eq!(bed.pass(0, ack(100)), (Verdict::Forward, NOTHING));
        assert_eq!(bed.pass(1, ack(200)), (Verdict::Hold, NOTHING));
        assert_eq!(bed.pass(2, ack(300)), (Verdict::Hold, discard(1)));
        assert_eq!(bed.pass(19, ack(400)), (Verdict::Hold, discard(2)));
        assert_eq!(bed.deadline(20), release(3));
        assert_eq!(bed.pass(21, ack(500)), (Verdict::Hold, NOTHING));
        assert_eq!(bed.deadline(40), release(4));
        assert_eq!(bed.deadline(60), NOTHING);
        assert_eq!(bed.agent.deadline(), None);
        assert_eq!(bed.pass(61, ack(600)), (Verdict::Forward, NOTHING));
        assert_eq!(bed.counters(), [4.0, 4.0, 2.0]);
    }
}

/// A duplicate, a window update, a duplicate SACK, lost SACK blocks, other ECN flags, older
/// timestamps: the held ACK leaves first, and the new one follows.
#[test]
fn acks_that_are_not_covered_pass_in_order() {
    let stamped = |number, value| {
        let mut segment = ack(number);
        segment.options = Some(Timestamps { value, echo: 1 }).into();
        segment
    };
    let with = |flags: Flags| Segment {
        flags: Flags::ACK.with(flags),
        ..ack(300)
    };
    let wider = Segment {
        window: 200,
        ..ack(200)
    };
    for (older, newer) in [
        (ack(200), ack(200)),
        (ack(200), wider),
        (ack(200), ack(150)),
        (sacked(200, &[(100, 150)]), ack(300)),
        (sacked(200, &[(400, 500)]), ack(300)),
        (sacked(200, &[(400, 500)]), sacked(200, &[(400, 500)])),
        (ack(200), with(Flags::ECE)),
        (ack(200), with(Flags::CWR)),
        (stamped(200, 7), stamped(300, 6)),
    ] {
        for mut bed in beds(100, 10) {
            bed.pass(0, ack(100));
            assert_eq!(bed.pass(1, older.clone()), (Verdict::Hold, NOTHING));
            let passed = bed.pass(2, newer.clone());
            assert_eq!(passed, (Verdict::Forward, release(1)), "{newer:?}");
            assert_eq!(bed.counters(), [3.0, 1.0, 0.0]);
            // The interval goes on.
            assert_eq!(bed.pass(3, ack(900)), (Verdict::Hold, NOTHING));
            assert_eq!(bed.deadline(20), release(3));
        }
    }
}

/// A higher acknowledgment with the same blocks or all of them, and more blocks.
#[test]
fn acks_with_all_blocks_replace_older_ones() {
    for (older, newer) in [
        (sacked(200, &[(400, 500)]), sacked(200, &[(400, 600)])),
        (sacked(200, &[(400, 500)]), sacked(300, &[(400, 500)])),
        (ack(200), sacked(200, &[(400, 500)])),
    ] {
        for mut bed in beds(100, 10) {
            bed.pass(0, ack(100));
            bed.pass(1, older.clone());
            assert_eq!(bed.pass(2, newer.clone()), (Verdict::Hold, discard(1)));
        }
    }
}

#[test]
fn other_segments_pass_at_once_after_the_held_ack() {
    let with = |flags: Flags| Segment { flags, ..ack(300) };
    let data = Segment {
        body: Body::of_bytes(&[0; 4]),
        ..ack(300)
    };
    for segment in [
        with(Flags::ACK.with(Flags::FIN)),
        with(Flags::ACK.with(Flags::RST)),
        with(Flags::ACK.with(Flags::PSH)),
        with(Flags::ACK.with(Flags::SYN)),
        with(Flags::RST),
        data,
    ] {
        for mut bed in beds(100, 10) {
            assert_eq!(bed.pass(0, segment.clone()), (Verdict::Forward, NOTHING));
            assert_eq!(bed.agent.deadline(), None);
            bed.pass(1, ack(100));
            bed.pass(2, ack(200));
            assert_eq!(bed.pass(3, segment.clone()), (Verdict::Forward, release(2)));
            assert_eq!(bed.counters(), [2.0, 1.0, 0.0]);
        }
    }
}

/// With two, the third ACK of an interval replaces two, leaves, and begins an interval.
#[test]
fn an_ack_that_replaces_enough_leaves_at_once() {
    for mut bed in beds(2, 10) {
        bed.pass(0, ack(100));
        assert_eq!(bed.pass(1, ack(200)), (Verdict::Hold, NOTHING));
        assert_eq!(bed.pass(2, ack(300)), (Verdict::Hold, discard(1)));
        assert_eq!(bed.pass(5, ack(400)), (Verdict::Forward, discard(2)));
        assert_eq!(bed.pass(6, ack(500)), (Verdict::Hold, NOTHING));
        // The end of the first interval is void.
        assert_eq!(bed.deadline(20), NOTHING);
        assert_eq!(bed.deadline(25), release(4));
        assert_eq!(bed.counters(), [3.0, 3.0, 2.0]);
    }
}

#[test]
fn connections_are_separate_and_bounded() {
    let other = |number| Segment {
        dst_port: 5001,
        ..ack(number)
    };
    for mut bed in beds(100, 1) {
        bed.pass(0, ack(100));
        for ms in 1..4 {
            let passed = bed.pass(ms, other(100 * ms as u32));
            assert_eq!(passed, (Verdict::Forward, NOTHING));
        }
        assert_eq!(bed.pass(4, ack(200)), (Verdict::Hold, NOTHING));
    }
    for mut bed in beds(100, 2) {
        bed.pass(0, ack(100));
        bed.pass(1, other(100));
        bed.pass(2, ack(200));
        assert_eq!(bed.pass(3, other(200)), (Verdict::Hold, NOTHING));
        assert_eq!(bed.deadline(20), release(2));
        assert_eq!(bed.deadline(21), release(3));
    }
}

#[test]
fn acks_from_the_wireless_link_and_of_a_switched_off_agent_pass() {
    for mut bed in beds(100, 10) {
        for ms in 0..3 {
            let passed = bed.cross(ms, ack(100 * ms as u32), MOBILE);
            assert_eq!(passed, (Verdict::Forward, NOTHING));
        }
        bed.pass(3, ack(100));
        bed.pass(4, ack(200));
        let mut out = Out::default();
        bed.agent.switch(at(5), false, &mut out);
        assert_eq!(out.actions, release(4));
        assert_eq!(bed.agent.deadline(), None);
        assert_eq!(bed.pass(6, ack(300)), (Verdict::Forward, NOTHING));
        assert_eq!(bed.pass(7, ack(400)), (Verdict::Forward, NOTHING));
        bed.agent.switch(at(8), true, &mut out);
        bed.pass(9, ack(500));
        assert_eq!(bed.pass(10, ack(600)), (Verdict::Hold, NOTHING));
        let mut out = Out::default();
        bed.agent
            .on_leave(at(11), NodeId(99), Leaving::Lose, &mut out);
        assert_eq!(out.actions, NOTHING);
    }
}

/// Segments of an attacker: each packet leaves once or is dropped, no packet waits longer than an
/// interval, and the state stays bounded.
#[test]
fn every_packet_leaves_or_is_dropped_within_an_interval() {
    let mut agent = thin(5, 8);
    let mut stream = Streams::new(7, 0).stream("hostile_segment");
    let mut waiting: BTreeMap<PacketId, Instant> = BTreeMap::new();
    let mut now = Instant::ZERO;
    for number in 0..20_000 {
        let (_, mut segment) = hostile_segment(&mut stream);
        if number % 4 > 0 {
            (segment.options, segment.body) = (Options::default(), Body::EMPTY);
        }
        now += Interval::from_micros(stream.next_u64() % 3_000);
        while let Some(due) = agent.deadline().filter(|&due| due <= now) {
            let mut out = Out::default();
            agent.on_deadline(due, &mut out);
            settle(&mut waiting, &out, due);
        }
        let mut out = Out::default();
        let mut crosses = packet(FIXED, segment, stream.next_u64().is_multiple_of(2));
        let view = &mut View::new(&mut crosses);
        let id = PacketId(number);
        match agent.on_packet(now, id, Crossing::ToWireless, view, &mut out) {
            Verdict::Hold => assert_eq!(waiting.insert(id, now), None),
            verdict => assert_eq!(verdict, Verdict::Forward),
        }
        settle(&mut waiting, &out, now);
        assert!(agent.flows.len() <= 8 && waiting.len() <= 8);
    }
    let [passed, delayed, dropped] = Bed::new(agent, false).counters();
    assert!(
        passed > 1_000.0 && delayed > 100.0 && dropped > 10.0,
        "{passed} {delayed} {dropped}"
    );
}

fn settle(waiting: &mut BTreeMap<PacketId, Instant>, out: &Out, now: Instant) {
    for action in &out.actions {
        let (Action::Release(id) | Action::Discard(id)) = action else {
            panic!("{action:?}");
        };
        let since = waiting.remove(id).expect("a packet that waits");
        assert!(now.since(since) <= INTERVAL);
    }
}

/// ACKs for a host that leaves its link are released, and those for others stay.
#[test]
fn ack_leaves_the_agent_with_its_host() {
    for mut bed in beds(8, 10) {
        bed.pass(0, ack(1000));
        assert_eq!(bed.pass(1, ack(2000)).0, Verdict::Hold);
        let mobile = packet(MOBILE, ack(1), false).src;
        let other = NodeId(mobile.0 + 1);
        let mut out = Out::default();
        bed.agent.on_leave(at(2), other, Leaving::Lose, &mut out);
        assert_eq!(out.actions, NOTHING);
        bed.agent.on_leave(at(2), mobile, Leaving::Lose, &mut out);
        assert_eq!(out.actions, [Action::Release(PacketId(1))]);
    }
}
