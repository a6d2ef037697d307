//! Low-priority class of a queue: sent only when no normal packet waits, and dropped first.
//!
//! The departure of a normal packet is known on arrival, because the low class can delay it only by
//! the packet being sent. The departure of a waiting low packet depends on later arrivals, so it is
//! decided when the transmitter becomes free. The class needs only this event, and only while a
//! packet waits in it.
//!
//! If an agent sends packets ahead of the queue, normal packets also wait in this class, in front
//! of low-priority packets. Only the departures of the agent's packets are then known on arrival.
//! If both directions share a medium or the far end may move, all packets wait in this class.

use super::Simplex;
use super::disciplined::Disciplined;
use super::queue::{AHEAD, LENGTH, LOW, pack, priority};
use crate::link::fate::Fate;
use farlink_channel::DropCause;
use farlink_tcp::{Instant, Priority};
use farlink_wire::id::PacketId;
use farlink_wire::packet::Packet;
use std::collections::VecDeque;

/// Packet that waits in the low class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Waiting {
    packet: PacketId,
    /// Packed length and flags of the packet.
    packed: u32,
}

/// Packets that wait in the low class.
#[derive(Debug, Default)]
pub(super) struct LowClass {
    waiting: VecDeque<Waiting>,
    /// Queue discipline, which holds all packets in place of `waiting`.
    pub(super) disciplined: Option<Box<Disciplined>>,
    /// IP bytes of the waiting packets.
    pub(super) bytes: u64,
}

/// Class and queue position of an offered packet.
#[derive(Clone, Copy, Debug)]
pub(in crate::link) struct Class {
    /// Set if the packet has low priority and the queue has a class for it.
    pub(in crate::link) is_low: bool,
    /// Set if an agent sends the packet ahead of the queue.
    pub(in crate::link) ahead: bool,
    /// Set if the packet's departure is decided only when the transmitter is free.
    pub(in crate::link) deferred: bool,
}

impl Simplex {
    /// Returns whether the queue has a class for low-priority packets.
    #[inline]
    pub fn has_priorities(&self) -> bool {
        self.config.priorities
    }

    /// Returns the class of a packet. The queue in front of a link-layer protocol (`arq`) has one
    /// class for all packets.
    pub(in crate::link) fn classify(&self, priority: Priority, ahead: bool, arq: bool) -> Class {
        let is_low = priority == Priority::Low && self.has_priorities();
        let overtaken = !ahead && (is_low || self.features.may_overtake);
        Class {
            is_low,
            ahead,
            deferred: !arq && (self.features.defers_dequeue || overtaken),
        }
    }

    /// Enqueues a packet of `len` bytes in its class, after dropping low packets that take its
    /// room. Each dropped packet is passed to `lose`. Returns the packet's fate, or `None` if the
    /// packet waits for a later decision.
    pub(in crate::link) fn enqueue_in_class(
        &mut self,
        now: Instant,
        class: Class,
        (number, packet, len): (PacketId, &Packet, u32),
        medium_idle: bool,
        mut lose: impl FnMut(PacketId),
    ) -> Option<Fate> {
        let pushes_out = if class.deferred {
            !class.is_low || class.ahead
        } else {
            self.low_watched
        };
        while pushes_out && let Some(last) = self.push_out(now, len) {
            lose(last);
        }
        let (priority, data) = (packet.priority(), packet.has_data());
        if !class.deferred {
            return Some(self.enqueue(now, len, priority, data));
        }
        let packed = pack(len, data, priority, class.ahead);
        self.enqueue_deferred(now, packed, number, medium_idle)
    }

    /// Returns the number and IP bytes of the packets that wait in the low class.
    #[inline]
    pub fn low_queued(&self) -> (u32, u64) {
        (self.low_waiting, self.low.bytes)
    }

    /// Offers a low-priority packet of `ip_len` bytes at `now`. The packet pushes out no other and
    /// joins the end of its class.
    pub fn offer_low(&mut self, now: Instant, ip_len: u32, packet: PacketId) -> Option<Fate> {
        self.enqueue_deferred(now, ip_len | LOW, packet, true)
    }

    /// Enqueues a packet that later packets may overtake while it waits; `packed` is its length
    /// with flags. The packet is sent at once if three conditions hold: the transmitter is idle, no
    /// packet precedes it in the class, and the other direction has no claim on the medium.
    pub(in crate::link) fn enqueue_deferred(
        &mut self,
        now: Instant,
        packed: u32,
        packet: PacketId,
        medium_idle: bool,
    ) -> Option<Fate> {
        let ip_len = packed & LENGTH;
        let (packets, bytes) = self.queued(now);
        let is_low = packed & LOW != 0 && self.config.priorities;
        let behind = if packed & AHEAD != 0 {
            self.low
                .waiting
                .partition_point(|entry| entry.packed & AHEAD != 0)
        } else if is_low || !self.config.priorities {
            self.low.waiting.len()
        } else {
            let before = |entry: &Waiting| entry.packed & LOW == 0 || entry.packed & AHEAD != 0;
            self.low.waiting.partition_point(before)
        };
        if self.is_free(now) && behind == 0 && medium_idle {
            return Some(self.send(now, packed));
        }
        if self.config.queue.is_full(packets, bytes, ip_len) {
            self.count_drop(DropCause::Congestion, priority(packed));
            return Some(Fate::Lost {
                cause: DropCause::Congestion,
                at: now,
            });
        }
        self.low.waiting.insert(behind, Waiting { packet, packed });
        self.low_waiting += 1;
        self.low.bytes += u64::from(ip_len);
        self.counts.queue_max = self.counts.queue_max.max(packets + 1);
        None
    }

    /// Drops the last low-priority packet if a normal packet of `ip_len` bytes that arrives at
    /// `now` needs its room. The caller repeats the call until it returns `None`.
    pub fn push_out(&mut self, now: Instant, ip_len: u32) -> Option<PacketId> {
        let (packets, bytes) = self.queued(now);
        let (low_packets, low_bytes) = self.low_priority_queued();
        let limit = self.config.queue;
        if low_packets == 0
            || self.is_free(now)
            || !limit.is_full(packets, bytes, ip_len)
            || limit.is_full(packets - low_packets, bytes - low_bytes, ip_len)
        {
            // Dropping is useless: no low packet waits, the packet fits anyway, or dropping all low
            // packets would not make enough room.
            return None;
        }
        let last = self.low.waiting.pop_back()?;
        self.low_waiting -= 1;
        self.low.bytes -= u64::from(last.packed & LENGTH);
        self.count_drop(DropCause::Congestion, Priority::Low);
        Some(last.packet)
    }

    /// Returns the number and IP bytes of the low-priority packets that wait in the low class.
    fn low_priority_queued(&self) -> (u32, u64) {
        if !self.holds_normal() {
            return self.low_queued();
        }
        let last = self.low.waiting.iter().rev();
        let is_low =
            |waiting: &&Waiting| waiting.packed & (LOW | AHEAD) == LOW && self.config.priorities;
        let low = last.take_while(is_low);
        let lengths = low.map(|waiting| u64::from(waiting.packed & LENGTH));
        lengths.fold((0, 0), |(packets, bytes), len| (packets + 1, bytes + len))
    }

    /// Returns the number and IP bytes of the normal packets that wait in the low class.
    pub(super) fn overtaken_queued(&self) -> (u32, u64) {
        let (packets, bytes) = self.low_queued();
        let (low_packets, low_bytes) = self.low_priority_queued();
        (packets - low_packets, bytes - low_bytes)
    }

    /// Returns whether a waiting packet leaves before `packet` is queued. A packet whose turn comes
    /// when another arrives leaves first, as on a link with one class.
    pub(in crate::link) fn is_due_before(&self, now: Instant, packet: &Packet) -> bool {
        self.holds_normal()
            && !self.medium.is_shared
            && self.low_due().is_some_and(|at| at <= now)
            && !self.passes(now, packet)
    }

    /// Returns whether normal packets also wait in the low class.
    pub(in crate::link) fn holds_normal(&self) -> bool {
        self.features.may_overtake || self.features.defers_dequeue
    }

    /// Removes all waiting packets, in the order in which they would have left.
    pub(super) fn drain_waiting(&mut self) -> Vec<PacketId> {
        (self.low_waiting, self.low.bytes) = (0, 0);
        let disciplined = self.low.disciplined.as_deref_mut();
        let in_discipline = disciplined.map(|own| own.discipline.drain());
        let waiting = self.low.waiting.drain(..).map(|entry| entry.packet);
        waiting.chain(in_discipline.into_iter().flatten()).collect()
    }

    /// Returns whether a packet waits for [`Self::start_low`].
    #[inline]
    pub(in crate::link) fn has_waiting(&self) -> bool {
        self.low_waiting > 0
    }

    /// Returns the time at which the next packet of the low class may leave, if a packet waits:
    /// the transmitter (or shared medium) is free, and a shaper lets the packet leave.
    #[inline]
    pub fn low_due(&self) -> Option<Instant> {
        self.has_waiting()
            .then(|| self.medium_free_at().max(self.held_until()))
    }

    /// Sends the first packet of the low class at `now`, if the transmitter is free. Returns its
    /// number and fate.
    pub fn start_low(&mut self, now: Instant) -> Option<(PacketId, Fate)> {
        // Background packets that arrived earlier precede the low class.
        self.queued(now);
        if !self.is_free(now) {
            return None;
        }
        let first = self.low.waiting.pop_front()?;
        self.low_waiting -= 1;
        self.low.bytes -= u64::from(first.packed & LENGTH);
        let fate = self.send(now, first.packed);
        Some((first.packet, fate))
    }

    /// Returns the time at which the transmission of a packet accepted at `now` begins. Returns
    /// `None` if the packet waits in the low class or a discipline.
    pub fn departure(&self, now: Instant, packet: PacketId) -> Option<Instant> {
        if self.has_discipline() {
            // The offered packet is sent at once only into an empty queue, or ahead of later classes.
            return (self.low_waiting == 0 || self.has_passed()).then_some(now);
        }
        let mut waiting = self.low.waiting.iter();
        if waiting.any(|entry| entry.packet == packet) {
            return None;
        }
        let last = self.queue.waiting.back();
        Some(last.map_or(now, |&(starts, _)| starts.max(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LinkConfig, QueueLimit};
    use super::*;
    use farlink_channel::Channel;
    use farlink_channel::rng::Streams;
    use farlink_tcp::Interval;
    use proptest::prelude::*;

    /// 1500 bytes take a millisecond.
    fn link(queue: QueueLimit) -> Simplex {
        let config = LinkConfig {
            queue,
            ..LinkConfig::plain(12_000_000, Interval::ZERO)
        };
        Simplex::new(config, Channel::default())
    }

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * MS)
    }

    /// Returns the time in ms at which a packet with this fate left the transmitter (the links have
    /// no delay).
    fn left(fate: Fate) -> u64 {
        match fate {
            Fate::Arrives { at, .. } => at.as_nanos() / MS,
            Fate::Lost { .. } => panic!("lost"),
        }
    }

    #[test]
    fn low_packet_is_sent_at_once_on_idle_link() {
        let mut link = link(QueueLimit::Packets(1));
        let Some(fate) = link.offer_low(at(0), 1500, PacketId(7)) else {
            panic!("it need not wait");
        };
        assert_eq!((left(fate), link.low_due()), (1, None));
        // A normal packet waits until the low packet being sent has left.
        assert_eq!(left(link.offer(at(0), 1500, Priority::Normal)), 2);
        assert_eq!((link.stats().packets, link.stats().low_packets), (2, 1));
    }

    #[test]
    fn later_normal_packets_precede_waiting_low_packets() {
        let mut link = link(QueueLimit::Unlimited);
        assert_eq!(left(link.offer(at(0), 1500, Priority::Normal)), 1);
        assert_eq!(link.offer_low(at(0), 1500, PacketId(7)), None);
        assert_eq!(link.offer_low(at(0), 1500, PacketId(8)), None);
        assert_eq!(link.low_due(), Some(at(1)));
        assert_eq!(left(link.offer(at(0), 1500, Priority::Normal)), 2);
        // A normal packet that arrives just as the transmitter becomes free precedes waiting low
        // packets.
        assert_eq!(left(link.offer(at(2), 1500, Priority::Normal)), 3);
        assert_eq!(link.start_low(at(2)), None);
        assert_eq!(link.low_due(), Some(at(3)));
        let (packet, fate) = link.start_low(at(3)).expect("the transmitter is free");
        assert_eq!((packet, left(fate)), (PacketId(7), 4));
        assert_eq!(left(link.offer(at(3), 1500, Priority::Normal)), 5);
        let (packet, fate) = link.start_low(at(5)).expect("the transmitter is free");
        assert_eq!((packet, left(fate)), (PacketId(8), 6));
        assert_eq!(link.low_due(), None);
    }

    #[test]
    fn full_queue_drops_latest_low_packets_first() {
        let mut link = link(QueueLimit::Packets(3));
        link.offer(at(0), 1500, Priority::Normal);
        link.offer(at(0), 1500, Priority::Normal);
        assert_eq!(link.offer_low(at(0), 1500, PacketId(7)), None);
        assert_eq!(link.offer_low(at(0), 1500, PacketId(8)), None);
        let refused = Fate::Lost {
            cause: DropCause::Congestion,
            at: at(0),
        };
        assert_eq!(link.offer_low(at(0), 1500, PacketId(9)), Some(refused));
        assert_eq!(link.push_out(at(0), 1500), Some(PacketId(8)));
        assert_eq!(link.push_out(at(0), 1500), None);
        assert_eq!(left(link.offer(at(0), 1500, Priority::Normal)), 3);
        assert_eq!(link.push_out(at(0), 1500), Some(PacketId(7)));
        assert_eq!(left(link.offer(at(0), 1500, Priority::Normal)), 4);
        // No low packet is left to push out, so the arriving packet is dropped (drop-tail).
        assert_eq!(link.push_out(at(0), 1500), None);
        assert_eq!(link.offer(at(0), 1500, Priority::Normal), refused);
        assert_eq!(link.stats().drops[DropCause::Congestion as usize], 4);
        assert_eq!(link.stats().low_drops[DropCause::Congestion as usize], 3);
        assert_eq!(link.stats().queue_max, 3);
    }

    #[test]
    fn byte_limit_drops_only_as_many_low_packets_as_needed() {
        let mut link = link(QueueLimit::Bytes(2000));
        link.offer(at(0), 1500, Priority::Normal);
        for packet in 0..4 {
            assert_eq!(link.offer_low(at(0), 500, PacketId(packet)), None);
        }
        assert_eq!(link.push_out(at(0), 2001), None);
        assert_eq!(link.push_out(at(0), 900), Some(PacketId(3)));
        assert_eq!(link.push_out(at(0), 900), Some(PacketId(2)));
        assert_eq!(link.push_out(at(0), 900), None);
        assert_eq!(link.queued(at(0)), (2, 1000));
    }

    proptest! {
        /// The link matches a model with two queues. Whenever its transmitter becomes free, the
        /// model sends the first normal packet, or else the first low packet. The limit counts both
        /// queues, and low packets make room for normal ones.
        #[test]
        fn matches_model_of_two_classes(
            arrivals in proptest::collection::vec((0..800_000_u64, 1..=1500_u32, any::<bool>()), 1..200),
            limit in prop_oneof![
                Just(QueueLimit::Unlimited),
                (1..8_u32).prop_map(QueueLimit::Packets),
                (1500..9000_u64).prop_map(QueueLimit::Bytes),
            ],
        ) {
            let mut link = link(limit);
            let mut model = Model { limit, ..Model::default() };
            let mut left = Vec::new();
            let mut lost = Vec::new();
            let mut now = 0;
            for (number, &(after, len, low)) in (0..).zip(&arrivals) {
                now += after;
                while let Some(due) = link.low_due().filter(|due| due.as_nanos() < now) {
                    let (packet, fate) = link.start_low(due).expect("it is due");
                    left.push((fate, packet));
                }
                model.arrives(now, number, len, low);
                let time = Instant::from_nanos(now);
                if low {
                    match link.offer_low(time, len, PacketId(number)) {
                        Some(Fate::Lost { .. }) => lost.push(number),
                        Some(fate) => left.push((fate, PacketId(number))),
                        None => {}
                    }
                    continue;
                }
                while let Some(packet) = link.push_out(time, len) {
                    lost.push(packet.0);
                }
                match link.offer(time, len, Priority::Normal) {
                    Fate::Lost { .. } => lost.push(number),
                    fate @ Fate::Arrives { .. } => left.push((fate, PacketId(number))),
                }
            }
            while let Some(due) = link.low_due() {
                let (packet, fate) = link.start_low(due).expect("it is due");
                left.push((fate, packet));
            }
            model.runs(u64::MAX);
            let left: Vec<_> = left
                .into_iter()
                .map(|(fate, packet)| match fate {
                    Fate::Arrives { at, .. } => (at.as_nanos(), packet.0),
                    Fate::Lost { .. } => panic!("a clean link"),
                })
                .collect();
            prop_assert_eq!(left, model.left);
            prop_assert_eq!(lost, model.lost);
        }
    }

    /// Model: a transmitter with two queues.
    struct Model {
        limit: QueueLimit,
        free_at: u64,
        /// Waiting packets with their lengths: normal queue, low queue.
        queues: [Vec<(u32, u32)>; 2],
        left: Vec<(u64, u32)>,
        lost: Vec<u32>,
    }

    impl Default for Model {
        fn default() -> Self {
            Self {
                limit: QueueLimit::Unlimited,
                free_at: 0,
                queues: Default::default(),
                left: Vec::new(),
                lost: Vec::new(),
            }
        }
    }

    impl Model {
        fn starts(&mut self, at: u64, packet: u32, len: u32) {
            let sending = Interval::of_bits(u64::from(len) * 8, 12_000_000);
            self.free_at = at + sending.as_nanos();
            self.left.push((self.free_at, packet));
        }

        /// Runs every event before `until`.
        fn runs(&mut self, until: u64) {
            while self.free_at < until
                && let Some(class) = self.queues.iter().position(|queue| !queue.is_empty())
            {
                let (packet, len) = self.queues[class].remove(0);
                self.starts(self.free_at, packet, len);
            }
        }

        fn full(&self, len: u32) -> bool {
            let waiting = self.queues.iter().flatten();
            let bytes = waiting.clone().map(|&(_, len)| u64::from(len)).sum();
            self.limit.is_full(waiting.count() as u32, bytes, len)
        }

        fn arrives(&mut self, now: u64, packet: u32, len: u32, low: bool) {
            self.runs(now);
            if self.free_at == now && !self.queues[0].is_empty() {
                // A waiting packet precedes one that arrives at the same time.
                let (packet, len) = self.queues[0].remove(0);
                self.starts(now, packet, len);
            }
            if self.free_at <= now && (!low || self.queues[1].is_empty()) {
                self.starts(now, packet, len);
                return;
            }
            let before = self.queues[1].clone();
            let mut pushed = Vec::new();
            while !low && self.full(len) {
                match self.queues[1].pop() {
                    Some((packet, _)) => pushed.push(packet),
                    None => break,
                }
            }
            if self.full(len) {
                self.queues[1] = before;
                self.lost.push(packet);
                return;
            }
            self.lost.append(&mut pushed);
            self.queues[usize::from(low)].push((packet, len));
        }
    }

    /// Packets of 1 ms arrive as a Poisson process, with load `rho` (normal) and `rho_low` (low).
    /// With R = (rho + rho_low) 1 ms / 2, the mean waits under non-preemptive priority are R / (1 -
    /// rho) for the first class and R / ((1 - rho) (1 - rho - rho_low)) for the second (Cobham
    /// 1954).
    #[test]
    fn mean_waits_match_cobham_formula() {
        let (rho, rho_low) = (0.5, 0.3);
        let mut stream = Streams::new(1, 0).stream("low");
        let mut uniform = || (stream.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut link = link(QueueLimit::Unlimited);
        let mut plain = self::link(QueueLimit::Unlimited);
        let mut low = Low::default();
        let (mut now, mut sent, mut waited) = (0, 0, 0);
        for _ in 0..400_000 {
            now += (-libm::log(1.0 - uniform()) / (rho + rho_low) * MS as f64) as u64;
            let time = Instant::from_nanos(now);
            low.serve(&mut link, now);
            plain.offer(time, 1500, Priority::Normal);
            if uniform() < rho / (rho + rho_low) {
                let Fate::Arrives { at, .. } = link.offer(time, 1500, Priority::Normal) else {
                    panic!("lost");
                };
                waited += at.as_nanos() - MS - now;
                sent += 1;
            } else {
                link.offer_low(time, 1500, PacketId(low.arrived.len() as u32));
                low.arrived.push(now);
            }
        }
        low.serve(&mut link, u64::MAX);
        let mean = |waited: u64, n: usize| waited as f64 / n as f64 / MS as f64;
        let residual = f64::midpoint(rho, rho_low);
        let expected = residual / (1.0 - rho);
        let measured = mean(waited, sent);
        assert!(
            (measured / expected - 1.0).abs() < 0.02,
            "{measured} for {expected}"
        );
        let expected = expected / (1.0 - rho - rho_low);
        let measured = mean(low.waited, low.arrived.len());
        assert!(
            (measured / expected - 1.0).abs() < 0.04,
            "{measured} for {expected}"
        );
        // The transmitter is work-conserving, so it finishes at the same time as with a FIFO queue.
        assert_eq!(link.transmitter.free_at, plain.transmitter.free_at);
        assert_eq!(link.stats().busy, plain.stats().busy);
    }

    /// Test driver that serves the low class when it is due.
    #[derive(Default)]
    struct Low {
        arrived: Vec<u64>,
        waited: u64,
    }

    impl Low {
        fn serve(&mut self, link: &mut Simplex, until: u64) {
            while let Some(due) = link.low_due().filter(|due| due.as_nanos() < until) {
                let (packet, _) = link.start_low(due).expect("it is due");
                self.waited += due.as_nanos() - self.arrived[packet.0 as usize];
            }
        }
    }
}
