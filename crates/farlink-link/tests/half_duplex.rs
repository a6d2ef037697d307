//! Links whose two directions share one medium.
#![allow(missing_docs)]

use farlink_channel::Channel;
use farlink_link::{Arrival, Due, Link, LinkConfig, Links, Offered, Outcome, QueueLimit, Simplex};
use farlink_tcp::{Body, Dscp, Instant, Interval, Segment};
use farlink_wire::{Direction, FlowId, LinkId, NodeId, Packet, Packets, Payload};
use proptest::prelude::*;

/// 8 Mbit/s: a byte takes 1 us.
const RATE: u64 = 8_000_000;
/// Additional transmitter time per packet.
const SERVICE: Interval = Interval::from_micros(100);
const DELAY: u64 = 5_000_000;

fn links(queue: QueueLimit) -> Links {
    let config = LinkConfig {
        service: SERVICE,
        queue,
        ..LinkConfig::plain(RATE, Interval::from_nanos(DELAY))
    };
    let simplex = |to| Simplex::new(config, Channel::default()).with_end(NodeId(to));
    let mut links = Links::default();
    links.push(Link::new(simplex(1), simplex(0)).half_duplex());
    // An agent at one end may send packets ahead of the queue.
    links.attach_agent(LinkId::new(0, Direction::Down), true);
    links
}

/// Packet to offer.
#[derive(Clone, Copy, Debug)]
struct Offer {
    at: u64,
    direction: usize,
    len: u32,
    low: bool,
    ahead: bool,
}

fn packet(offer: &Offer) -> Packet {
    Packet {
        flow: FlowId(0),
        ..Packet::new(
            NodeId(0),
            NodeId(1),
            Payload::Tcp(Segment {
                body: Body::of_len(offer.len - 40),
                dscp: if offer.low { Dscp::LE } else { Dscp::DEFAULT },
                ..Segment::default()
            }),
        )
    }
}

/// Fates of packets: arrival times, and packets dropped by a full queue.
#[derive(Debug, Default, PartialEq)]
struct Fates {
    arrived: Vec<(u64, u32)>,
    lost: Vec<u32>,
}

fn play(offers: &[Offer], room: u32) -> (Fates, Links) {
    let mut links = links(QueueLimit::Packets(room));
    let (mut held, mut outcomes) = (Packets::default(), Vec::new());
    let mut fates = Fates::default();
    let ids = Direction::BOTH.map(|direction| LinkId::new(0, direction));
    let mut arrivals = std::collections::BTreeSet::new();
    let mut due: Option<(u64, LinkId)> = None;
    let mut next = offers.iter().peekable();
    loop {
        let arrival: Option<(u64, LinkId)> = arrivals.first().copied();
        let offer = next.peek().map(|item| item.at);
        let times = [arrival.map(|item| item.0), offer, due.map(|item| item.0)];
        let Some(now) = times.into_iter().flatten().min() else {
            fates.arrived.sort_unstable();
            fates.lost.sort_unstable();
            return (fates, links);
        };
        let at = Instant::from_nanos(now);
        let changed = if let Some((_, id)) = arrival.filter(|item| item.0 == now) {
            arrivals.pop_first();
            let Arrival {
                packet, next: then, ..
            } = links.arrive(id).expect("one flies");
            fates.arrived.push((now, packet.0));
            arrivals.extend(then.map(|at| (at.as_nanos(), id)));
            continue;
        } else if offer == Some(now) {
            let offer = next.next().expect("it was there");
            let number = held.insert(packet(offer));
            if offer.ahead {
                held.send_ahead(number);
            }
            let id = ids[offer.direction];
            let offered = links.offer(at, id, number, &mut held, &mut outcomes);
            assert_eq!(offered, Offered::Decided);
            id
        } else {
            let (_, id) = due.take().expect("nothing else is");
            links.advance(at, id, Due::Low, &mut held, &mut outcomes);
            id
        };
        if let Some((_, at)) = links.deadline(changed) {
            assert_eq!(due, None, "a call for both directions");
            due = Some((at.as_nanos(), changed));
        }
        for outcome in outcomes.drain(..) {
            match outcome {
                Outcome::FirstInFlight(id, at) => {
                    arrivals.insert((at.as_nanos(), id));
                }
                Outcome::Left(..) => {}
                Outcome::Lost(_, packet, ..) => fates.lost.push(packet.0),
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Model: one transmitter, and three queues per direction that share `room` places.
fn model(offers: &[Offer], room: usize) -> Fates {
    let mut fates = Fates::default();
    let mut queues: [[Vec<u32>; 3]; 2] = Default::default();
    let (mut free_at, mut turn) = (0, 0);
    let end = u64::MAX;
    for number in 0..=offers.len() {
        let at = offers.get(number).map_or(end, |offer| offer.at);
        while free_at <= at {
            let waits = |direction: usize| queues[direction].iter().any(|entry| !entry.is_empty());
            let Some(direction) = [turn, 1 - turn].into_iter().find(|&entry| waits(entry)) else {
                break;
            };
            let queue = queues[direction].iter_mut().find(|entry| !entry.is_empty());
            let first = queue.expect("something waits").remove(0);
            free_at += u64::from(offers[first as usize].len) * 1000 + SERVICE.as_nanos();
            turn = 1 - direction;
            fates.arrived.push((free_at + DELAY, first));
        }
        let Some(offer) = offers.get(number) else {
            break;
        };
        let own = &mut queues[offer.direction];
        let class = match (offer.ahead && offer.direction == 0, offer.low) {
            (true, _) => 0,
            (_, false) => 1,
            (_, true) => 2,
        };
        let waiting: usize = own.iter().map(Vec::len).sum();
        if free_at < at {
            free_at = at + u64::from(offer.len) * 1000 + SERVICE.as_nanos();
            turn = 1 - offer.direction;
            fates.arrived.push((free_at + DELAY, number as u32));
        } else if waiting < room {
            own[class].push(number as u32);
        } else if class < 2 && !own[2].is_empty() {
            fates.lost.extend(own[2].pop());
            own[class].push(number as u32);
        } else {
            fates.lost.push(number as u32);
        }
    }
    fates.arrived.sort_unstable();
    fates.lost.sort_unstable();
    fates
}

/// Two saturated directions alternate, so each sends one packet in the time of a packet of both.
#[test]
fn two_saturated_directions_take_turns() {
    let offers: Vec<_> = (0..2000)
        .map(|number| Offer {
            at: number,
            direction: (number % 2) as usize,
            len: if number % 2 == 0 { 1500 } else { 40 },
            low: false,
            ahead: false,
        })
        .collect();
    let (fates, links) = play(&offers, 2000);
    let pair = (1500 + 40) * 1000 + 2 * SERVICE.as_nanos();
    for (direction, last) in [(0, 1998), (1, 1999)] {
        let times = fates.arrived.iter().filter(|item| item.1 % 2 == direction);
        let times: Vec<_> = times.map(|item| item.0).collect();
        assert!(times.windows(2).all(|two| two[1] - two[0] == pair));
        assert_eq!(times.len(), 1000);
        assert!(fates.arrived.iter().any(|item| item.1 == last));
    }
    let end = Instant::from_nanos(fates.arrived.last().expect("a packet arrived").0);
    let busy = Direction::BOTH.map(|item| links.stats_at(LinkId::new(0, item), end).0.busy);
    assert_eq!(busy, [1600 * 1_000_000, 140 * 1_000_000]);
    assert_eq!(busy[0] + busy[1] + DELAY, end.as_nanos());
}

/// Only packets that have left are counted, and the busy times of the directions do not overlap.
#[test]
fn only_departed_packets_are_counted() {
    let offers: Vec<_> = (0..10)
        .map(|number| Offer {
            at: number,
            direction: (number % 2) as usize,
            len: 1000,
            low: false,
            ahead: false,
        })
        .collect();
    let (_, links) = play(&offers, 100);
    let end = Instant::from_nanos(10 * 1_100_000);
    let counts = Direction::BOTH.map(|item| links.stats_at(LinkId::new(0, item), end).0);
    assert_eq!(
        counts.map(|item| (item.packets, item.bytes)),
        [(5, 5000); 2]
    );
    // The last packet is still being sent.
    let before = Instant::from_nanos(10 * 1_100_000 - 100_000);
    let up = links.stats_at(LinkId::new(0, Direction::Up), before).0;
    assert_eq!((up.packets, up.busy), (4, 5 * 1_100_000 - 100_000));
}

proptest! {
    /// Matches a model of one transmitter that alternates between the directions.
    #[test]
    fn matches_model_of_one_alternating_transmitter(
        offers in proptest::collection::vec(
            (0..3000_u64, 0..2_usize, 40..1500_u32, any::<bool>(), any::<bool>()),
            1..100,
        ),
        room in 1..10_u32,
    ) {
        // An offset of `number` ns gives each offer its own time, so that no two events coincide.
        let mut at = 0;
        let offers: Vec<_> = (0..).zip(offers).map(|(number, (gap, direction, len, low, ahead))| {
            at += gap * 1000;
            Offer { at: at + number, direction, len, low, ahead }
        }).collect();
        prop_assert_eq!(play(&offers, room).0, model(&offers, room as usize));
    }
}
