//! Packets that an agent sends ahead of a link's queue.

use farlink_channel::Channel;
use farlink_link::{Arrival, Due, Link, LinkConfig, Links, Offered, Outcome, QueueLimit, Simplex};
use farlink_tcp::{Body, Instant, Interval, Segment};
use farlink_wire::{Direction, FlowId, LinkId, NodeId, Packet, Packets, Payload};
use proptest::prelude::*;

const DOWN: LinkId = LinkId(0);
/// 8 Mbit/s: a byte takes 1 us.
const RATE: u64 = 8_000_000;

fn links(queue: QueueLimit, agent: Option<bool>) -> Links {
    let config = LinkConfig {
        queue,
        ..LinkConfig::plain(RATE, Interval::from_millis(5))
    };
    let simplex = || Simplex::new(config, Channel::default());
    let mut links = Links::default();
    links.push(Link::new(simplex().with_end(NodeId(1)), simplex()));
    assert_eq!(LinkId::new(0, Direction::Down), DOWN);
    if let Some(ahead) = agent {
        links.attach_agent(DOWN, ahead);
    }
    links
}

fn packet(len: u32) -> Packet {
    Packet {
        flow: FlowId(0),
        ..Packet::new(
            NodeId(0),
            NodeId(1),
            Payload::Tcp(Segment {
                body: Body::of_len(len - 40),
                ..Segment::default()
            }),
        )
    }
}

/// Fates of packets: arrivals (time in ns, number), departures (time in ns, number) and packets
/// dropped by a full queue.
#[derive(Debug, Default, PartialEq)]
struct Fates {
    arrived: Vec<(u64, u32)>,
    left: Vec<(u64, u32)>,
    lost: Vec<u32>,
}

/// Offers packets given as time in us, length in bytes and whether an agent sends them ahead.
fn play(mut links: Links, packets: &[(u64, u32, bool)]) -> Fates {
    let (mut held, mut outcomes) = (Packets::default(), Vec::new());
    let mut fates = Fates::default();
    let mut arrivals = std::collections::BTreeSet::new();
    let mut due = None;
    let mut next = packets.iter().peekable();
    loop {
        let arrival: Option<u64> = arrivals.first().copied();
        let offer = next.peek().map(|item| item.0 * 1000);
        let Some(now) = [arrival, offer, due].into_iter().flatten().min() else {
            return fates;
        };
        let at = Instant::from_nanos(now);
        if arrival == Some(now) {
            arrivals.pop_first();
            let Arrival {
                packet, next: then, ..
            } = links.arrive(DOWN).expect("one flies");
            fates.arrived.push((now, packet.0));
            arrivals.extend(then.map(Instant::as_nanos));
        } else if offer == Some(now) {
            let &(_, len, ahead) = next.next().expect("it was there");
            let id = held.insert(packet(len));
            if ahead {
                held.send_ahead(id);
            }
            if let Offered::FirstInFlight(at) = links.offer(at, DOWN, id, &mut held, &mut outcomes)
            {
                arrivals.insert(at.as_nanos());
            }
        } else {
            due = None;
            links.advance(at, DOWN, Due::Low, &mut held, &mut outcomes);
        }
        if let Some((_, at)) = links.deadline(DOWN) {
            due = Some(at.as_nanos());
        }
        for outcome in outcomes.drain(..) {
            match outcome {
                Outcome::FirstInFlight(_, at) => {
                    arrivals.insert(at.as_nanos());
                }
                Outcome::Left(_, packet, at) => fates.left.push((at.as_nanos(), packet.0)),
                Outcome::Lost(_, packet, ..) => fates.lost.push(packet.0),
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Model: one transmitter and two queues that share `room` places.
fn model(packets: &[(u64, u32, bool)], room: usize) -> Fates {
    let mut fates = Fates::default();
    let mut free_at = 0;
    let mut queues: [Vec<(u32, u32)>; 2] = Default::default();
    let mut begin = |free_at: &mut u64, at: u64, (number, len): (u32, u32)| {
        *free_at = at + u64::from(len) * 1000;
        fates.left.push((*free_at, number));
        fates.arrived.push((*free_at + 5_000_000, number));
    };
    let mut lost = Vec::new();
    for (number, &(at, len, ahead)) in (0..).zip(packets) {
        let at = at * 1000;
        // When the transmitter becomes free as a packet arrives, a waiting packet is sent first,
        // unless the arriving one goes ahead of it.
        while free_at < at || free_at == at && (!ahead || !queues[0].is_empty()) {
            let Some(queue) = queues.iter_mut().find(|queue| !queue.is_empty()) else {
                break;
            };
            let first = queue.remove(0);
            let at = free_at;
            begin(&mut free_at, at, first);
        }
        let waiting = queues[0].len() + queues[1].len();
        if free_at <= at && (ahead || waiting == 0) {
            begin(&mut free_at, at, (number, len));
        } else if waiting >= room {
            lost.push(number);
        } else {
            queues[usize::from(!ahead)].push((number, len));
        }
    }
    for first in queues.concat() {
        let at = free_at;
        begin(&mut free_at, at, first);
    }
    fates.lost = lost;
    fates
}

#[test]
fn packet_ahead_precedes_waiting_packets() {
    let packets = [
        (0, 1000, false),
        (0, 1000, false),
        (0, 500, false),
        (1, 100, true),
        (2, 200, true),
    ];
    let fates = play(links(QueueLimit::Unlimited, Some(true)), &packets);
    let ends = [(1000, 0), (1100, 3), (1300, 4), (2300, 1), (2800, 2)];
    assert_eq!(fates.left, ends.map(|(us, number)| (us * 1000, number)));
    // On a link without such an agent, the same packets keep their order.
    let fates = play(links(QueueLimit::Unlimited, Some(false)), &packets);
    let order: Vec<_> = fates.arrived.iter().map(|item| item.1).collect();
    assert_eq!(order, [0, 1, 2, 3, 4]);
}

proptest! {
    /// Matches a model with two queues in front of one transmitter, whose limit counts both. If no
    /// packet is sent ahead, the link behaves like one without an agent.
    #[test]
    fn matches_model_with_packets_ahead(
        gaps in proptest::collection::vec((0..2000_u64, 40..1500_u32, any::<bool>()), 1..100),
        room in 1..20_u32,
    ) {
        let mut at = 0;
        let mut packets = gaps;
        for packet in &mut packets {
            at += packet.0;
            packet.0 = at;
        }
        let queue = QueueLimit::Packets(room);
        let mut fates = play(links(queue, Some(true)), &packets);
        fates.left.sort_unstable();
        prop_assert_eq!(&fates, &model(&packets, room as usize));
        for packet in &mut packets {
            packet.2 = false;
        }
        let plain = play(links(queue, None), &packets);
        for agent in [true, false] {
            let fates = play(links(queue, Some(agent)), &packets);
            prop_assert_eq!(&fates.arrived, &plain.arrived);
            prop_assert_eq!(&fates.lost, &plain.lost);
        }
    }
}
