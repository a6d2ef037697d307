//! Sojourn times and drops by reason of directions with a queue discipline, against closed forms.
#![allow(missing_docs)]

use farlink_channel::Channel;
use farlink_channel::rng::Streams;
use farlink_link::discipline::{
    ClassConfig, Classes, Codel, CodelConfig, Discipline, HeadDrop, Reason,
};
use farlink_link::{Due, Link, LinkConfig, Links, Outcome, QueueLimit, Simplex};
use farlink_tcp::{Body, Instant, Interval, Segment};
use farlink_wire::{Direction, LinkId, NodeId, Packet, Packets, Payload};

const MS: u64 = 1_000_000;
const DOWN: LinkId = LinkId::new(0, Direction::Down);

/// A link on which a packet of 1500 bytes takes 1 ms, with its packets.
struct Bench {
    links: Links,
    packets: Packets,
    outcomes: Vec<Outcome>,
}

impl Bench {
    fn new(queue: QueueLimit, discipline: Discipline) -> Self {
        let config = LinkConfig {
            queue,
            ..LinkConfig::plain(12_000_000, Interval::ZERO)
        };
        let direction = |to| Simplex::new(config, Channel::default()).with_end(NodeId(to));
        let mut links = Links::default();
        links.push(Link::new(
            direction(1).with_discipline(discipline),
            direction(0),
        ));
        links.watch_departures();
        Self {
            links,
            packets: Packets::default(),
            outcomes: Vec::new(),
        }
    }

    /// Sends the packets whose turn comes before `until`.
    fn serve(&mut self, until: u64) {
        while let Some(due) = self.links[DOWN]
            .low_due()
            .filter(|at| at.as_nanos() < until)
        {
            self.links.deadline(DOWN);
            let (packets, outcomes) = (&mut self.packets, &mut self.outcomes);
            self.links.advance(due, DOWN, Due::Low, packets, outcomes);
            self.outcomes.clear();
        }
    }

    fn offer(&mut self, at: u64) {
        self.serve(at);
        let segment = Segment {
            body: Body::of_len(1460),
            ..Segment::default()
        };
        let packet = Packet::new(NodeId(0), NodeId(1), Payload::Tcp(segment));
        let number = self.packets.insert(packet);
        let now = Instant::from_nanos(at);
        let (packets, outcomes) = (&mut self.packets, &mut self.outcomes);
        self.links.offer(now, DOWN, number, packets, outcomes);
        self.outcomes.clear();
    }

    /// Returns the mean, the 99 % quantile and the maximum of the sojourn times in ms.
    fn sojourns(&self) -> [f64; 3] {
        let stats = self.links[DOWN].queue_stats().expect("a discipline");
        let [p99, max] = [stats.sojourns.percentile(99), stats.sojourns.most()]
            .map(|ns| ns.expect("packets") as f64 / MS as f64);
        [stats.sojourn_mean().expect("packets") / MS as f64, p99, max]
    }

    fn drops(&self) -> [u64; 3] {
        let stats = self.links[DOWN].queue_stats().expect("a discipline");
        Reason::ALL.map(|reason| stats.drops(reason))
    }
}

fn head_drop(queue: QueueLimit) -> Bench {
    Bench::new(queue, Discipline::HeadDrop(HeadDrop::new(queue)))
}

/// Packet k of a burst waits for k others: the times are 0, 1, ..., n - 1 ms.
#[test]
fn packet_k_of_a_burst_waits_for_k_others() {
    let mut bench = head_drop(QueueLimit::Unlimited);
    assert!(
        bench.links[DOWN]
            .queue_stats()
            .is_some_and(|s| s.sojourn_mean().is_none())
    );
    (0..200).for_each(|_| bench.offer(5 * MS));
    bench.serve(u64::MAX);
    let [mean, p99, max] = bench.sojourns();
    assert_eq!((mean, max), (99.5, 199.0));
    assert!((p99 / 197.0 - 1.0).abs() < 0.004, "{p99}");
}

/// A packet that finds the transmitter idle has a sojourn time of zero.
#[test]
fn spaced_packets_do_not_wait() {
    let mut bench = head_drop(QueueLimit::Unlimited);
    (0..50).for_each(|n| bench.offer(n * MS));
    bench.serve(u64::MAX);
    assert_eq!(bench.sojourns(), [0.0; 3]);
    assert_eq!(bench.drops(), [0; 3]);
}

/// The mean wait of M/D/1 is rho S / (2 (1 - rho)).
#[test]
fn mean_sojourn_is_that_of_m_d_1() {
    for rho in [0.3, 0.6, 0.8] {
        let mut stream = Streams::new(1, 0).stream("arrivals");
        let mut uniform = || (stream.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut bench = head_drop(QueueLimit::Unlimited);
        let mut now = 0.0;
        for _ in 0..400_000 {
            now -= libm::log(1.0 - uniform()) / rho * MS as f64;
            bench.offer(now as u64);
        }
        bench.serve(u64::MAX);
        let expected = rho / (2.0 * (1.0 - rho));
        let mean = bench.sojourns()[0];
        assert!(
            (mean / expected - 1.0).abs() < 0.02,
            "{mean} for {expected}"
        );
    }
}

/// A queue of ten packets and one being sent take eleven of a burst of thirty.
#[test]
fn drops_of_a_full_queue_are_counted_with_their_reason() {
    let mut bench = head_drop(QueueLimit::Packets(10));
    (0..30).for_each(|_| bench.offer(0));
    assert_eq!(bench.drops(), [19, 0, 0]);
    let reasons: Vec<_> = bench.links[DOWN].drain_reasons().collect();
    assert_eq!(reasons.len(), 19);
    assert!(reasons.iter().all(|entry| entry.1 == Reason::Full));
    assert_eq!(bench.links[DOWN].drain_reasons().count(), 0);
    bench.serve(u64::MAX);
    // Head drop keeps the last ten, which wait 1 to 10 ms.
    let [mean, p99, max] = bench.sojourns();
    assert_eq!((mean, max), (5.0, 10.0));
    assert!((p99 / 10.0 - 1.0).abs() < 0.004, "{p99}");
}

/// CoDel drops first at the departure an interval after the sojourn time rose above the target.
#[test]
fn drops_of_a_control_law_are_counted_with_their_reason() {
    let queue = QueueLimit::Unlimited;
    let mut bench = Bench::new(
        queue,
        Discipline::Codel(Codel::new(CodelConfig::default(), queue)),
    );
    (0..300).for_each(|_| bench.offer(0));
    bench.serve(u64::MAX);
    let [full, aqm, redundant] = bench.drops();
    // The drops at 106, 206, 277, ... ms: interval / sqrt(count) after each other.
    assert!((2..=4).contains(&aqm), "{aqm}");
    assert_eq!((full, redundant), (0, 0));
    let stats = bench.links[DOWN].stats();
    assert_eq!(stats.packets + aqm, 300);
    assert!(bench.sojourns()[2] > 290.0);
}

/// A packet that its class sends at once has waited for zero, and counts.
#[test]
fn packets_that_pass_their_class_count_with_zero() {
    let queue = QueueLimit::Packets(20);
    let class = ClassConfig {
        codepoints: None,
        weight: None,
        limit: None,
        discipline: None,
    };
    let classes = Classes::new(vec![class], queue);
    let mut bench = Bench::new(queue, Discipline::Classes(Box::new(classes)));
    bench.offer(0);
    bench.offer(0);
    bench.serve(u64::MAX);
    assert_eq!(bench.sojourns(), [0.5, 1.0, 1.0]);
}

#[test]
fn longest_queue_of_a_discipline_is_without_the_packet_being_sent() {
    let mut bench = head_drop(QueueLimit::Unlimited);
    (0..5).for_each(|_| bench.offer(0));
    bench.serve(u64::MAX);
    bench.offer(100 * MS);
    assert_eq!(bench.links[DOWN].stats().queue_max, 4);
}
