//! Directions with a shaper: calls at the times of its schedule, on links of their own and on a
//! shared medium.
#![allow(missing_docs)]

use farlink_channel::rng::Streams;
use farlink_channel::{Channel, DropCause};
use farlink_link::discipline::{
    AckFilter, Cake, CakeConfig, Discipline, Isolation, Overhead, Tins,
};
use farlink_link::{Due, Link, LinkConfig, Links, Outcome, QueueLimit, Simplex};
use farlink_tcp::{Body, Flags, Instant, Interval, Segment, Seq};
use farlink_wire::{Direction, FlowId, LinkId, NodeId, Packet, PacketId, Packets, Payload};
use std::collections::BTreeSet;

const MS: u64 = 1_000_000;
/// 12 Mbit/s: a packet of 1500 bytes takes 1 ms.
const RATE: u64 = 12_000_000;
const IDS: [LinkId; 2] = [
    LinkId::new(0, Direction::Down),
    LinkId::new(0, Direction::Up),
];

fn simplex(to: u32, shaper: Option<u64>, ack_filter: AckFilter) -> Simplex {
    let config = LinkConfig::plain(RATE, Interval::ZERO);
    let cake = CakeConfig {
        rate: shaper,
        overhead: Overhead::default(),
        tins: Tins::Besteffort,
        isolation: Isolation::Triple,
        ack_filter,
        target: Interval::from_secs(100),
        interval: Interval::from_secs(100),
        seed: 1,
    };
    let random = Streams::new(1, 0).stream("cake");
    let cake = Cake::new(cake, QueueLimit::Unlimited, random);
    Simplex::new(config, Channel::default())
        .with_end(NodeId(to))
        .with_discipline(Discipline::Cake(Box::new(cake)))
}

fn data(len: u32) -> Segment {
    Segment {
        body: Body::of_len(len - 40),
        ..Segment::default()
    }
}

fn ack(number: u32) -> Segment {
    Segment {
        ack: Seq(number),
        flags: Flags::ACK,
        ..Segment::default()
    }
}

/// Offers segments at times in ns, and returns the arrival times by direction and the packets that
/// the queue dropped.
fn play(mut links: Links, offers: Vec<(u64, usize, Segment)>) -> ([Vec<u64>; 2], Vec<u32>) {
    let (mut held, mut outcomes) = (Packets::default(), Vec::new());
    let mut arrived = [Vec::new(), Vec::new()];
    let mut lost = Vec::new();
    // Time, kind (arrival, offer, call) and number of the direction.
    let mut events = BTreeSet::new();
    let mut offers = offers.into_iter().peekable();
    loop {
        let event: Option<(u64, u8, usize)> = events.first().copied();
        let offer = offers.peek().map(|offer| offer.0);
        let direction = match (event, offer) {
            (None, None) => return (arrived, lost),
            (Some((at, kind, direction)), _)
                if offer.is_none_or(|offer| (at, kind) < (offer, 1)) =>
            {
                events.pop_first();
                let now = Instant::from_nanos(at);
                if kind == 0 {
                    let arrival = links.arrive(IDS[direction]).expect("one flies");
                    arrived[direction].push(at);
                    events.extend(arrival.next.map(|at| (at.as_nanos(), 0, direction)));
                    continue;
                }
                links.advance(now, IDS[direction], Due::Low, &mut held, &mut outcomes);
                direction
            }
            _ => {
                let (at, direction, segment) = offers.next().expect("an offer");
                let packet = Packet {
                    flow: FlowId(direction as u32),
                    ..Packet::new(NodeId(0), NodeId(1), Payload::Tcp(segment))
                };
                let number = held.insert(packet);
                let now = Instant::from_nanos(at);
                links.offer(now, IDS[direction], number, &mut held, &mut outcomes);
                direction
            }
        };
        if let Some((_, at)) = links.deadline(IDS[direction]) {
            events.insert((at.as_nanos(), 2, direction));
        }
        for outcome in outcomes.drain(..) {
            match outcome {
                Outcome::FirstInFlight(id, at) => {
                    events.insert((at.as_nanos(), 0, usize::from(id == IDS[1])));
                }
                Outcome::Lost(_, PacketId(packet), cause, _) => {
                    assert_eq!(cause, DropCause::Policy);
                    lost.push(packet);
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

fn links(shapers: [Option<u64>; 2], shared: bool) -> Links {
    let down = simplex(1, shapers[0], AckFilter::No);
    let link = Link::new(down, simplex(0, shapers[1], AckFilter::No));
    let mut links = Links::default();
    links.push(if shared { link.half_duplex() } else { link });
    links
}

#[test]
fn packets_leave_at_the_rate_of_the_shaper() {
    // Ten packets at once, one that finds an idle transmitter behind a busy shaper, and one later.
    let mut offers: Vec<_> = (0..10).map(|_| (0, 0, data(1500))).collect();
    offers.extend([(37 * MS, 0, data(1500)), (100 * MS, 0, data(1500))]);
    let (arrived, lost) = play(links([Some(RATE / 4), None], false), offers);
    let ms: Vec<_> = arrived[0].iter().map(|at| at / MS).collect();
    assert_eq!(ms, [1, 5, 9, 13, 17, 21, 25, 29, 33, 37, 41, 101]);
    assert!(lost.is_empty() && arrived[0].iter().all(|at| at % MS == 0));
}

#[test]
fn shaper_above_the_rate_of_the_link_changes_nothing() {
    for shaper in [None, Some(RATE), Some(10 * RATE)] {
        let offers = (0..10).map(|n| (n * MS / 2, 0, data(1500))).collect();
        let (arrived, _) = play(links([shaper, None], false), offers);
        let expected: Vec<_> = (1..=10).map(|ms| ms * MS).collect();
        assert_eq!(arrived[0], expected, "{shaper:?}");
    }
}

/// A direction of a shared medium waits for its shaper, and the other direction sends meanwhile.
#[test]
fn shaped_direction_of_a_shared_medium_does_not_hold_the_other() {
    let mut offers: Vec<_> = (0..4).map(|_| (0, 0, data(1500))).collect();
    // The other direction comes while the call of the first is 7 ms ahead.
    offers.extend((0..6).map(|_| (3 * MS, 1, data(1500))));
    let (arrived, _) = play(links([Some(RATE / 10), None], true), offers);
    assert_eq!(arrived[0], [1, 11, 21, 31].map(|ms| ms * MS));
    assert_eq!(arrived[1], [4, 5, 6, 7, 8, 9].map(|ms| ms * MS));
    // Both have shapers: each has its schedule, as long as the medium is free then.
    let mut offers: Vec<_> = (0..4).map(|_| (0, 0, data(1500))).collect();
    offers.extend((0..6).map(|_| (5 * MS, 1, data(1500))));
    let (arrived, _) = play(links([Some(RATE / 10), Some(RATE / 2)], true), offers);
    assert_eq!(arrived[0], [1, 11, 21, 31].map(|ms| ms * MS));
    assert_eq!(arrived[1], [6, 8, 10, 12, 14, 16].map(|ms| ms * MS));
}

#[test]
fn redundant_acks_are_lost_and_the_last_one_arrives() {
    let filter = |ack_filter| {
        let mut links = Links::default();
        let down = simplex(1, Some(RATE / 4), ack_filter);
        links.push(Link::new(down, simplex(0, None, AckFilter::No)));
        let acks = (0..20).map(|n| (0, 0, ack(1000 + n)));
        play(
            links,
            [(0, 0, data(1500))].into_iter().chain(acks).collect(),
        )
    };
    let (arrived, lost) = filter(AckFilter::No);
    assert_eq!((arrived[0].len(), lost.len()), (21, 0));
    // The conservative filter keeps two before the newest.
    let (arrived, lost) = filter(AckFilter::Conservative);
    assert_eq!((arrived[0].len(), lost.len()), (3, 18));
    assert_eq!(lost, (1..19).collect::<Vec<_>>());
    let (arrived, lost) = filter(AckFilter::Aggressive);
    assert_eq!((arrived[0].len(), lost.len()), (2, 19));
}
