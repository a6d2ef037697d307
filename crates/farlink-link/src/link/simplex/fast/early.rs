//! Hops without an event: a direction admits packets before their arrival.
//!
//! The early path requires that all packets of a link come in order from one other link, and that
//! nothing else observes the link's state. A packet's arrival time is then known as soon as the
//! previous link has admitted it, and the link can admit it at once with that time. Each admitted
//! packet is recorded until it has left the transmitter. At the end of a run,
//! [`Simplex::fast_roll_back`] undoes those that have not arrived.
//!
//! General way: [`Simplex::enqueue`] at the arrival time.
//! `runs_with_and_without_fused_hops_are_equal` of farlink-sim runs random scenarios both ways and
//! compares all results to the bit.

use super::super::Simplex;
use super::super::queue::{DATA, LENGTH};
use crate::link::config::QueueLimit;
use farlink_tcp::{Instant, Interval, Priority};
use farlink_wire::id::LinkId;
use farlink_wire::packets::Label;
use std::collections::VecDeque;

/// Highest rate (bit/s) of a direction that forwards early. Packets then leave at different times,
/// because the shortest (40 bytes) takes more than 1 ns.
const FASTEST: u64 = 100_000_000_000;

/// Set of packets that a direction forwards early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum EarlyForwarding {
    /// No packet is forwarded early.
    Off,
    /// Early admission by the next link of each packet.
    Each,
    /// Early admission of all packets by one direction, to which they all go.
    All,
}

/// Packet that was admitted before its arrival.
#[derive(Clone, Copy, Debug)]
struct EarlyPacket {
    /// Arrival time at this direction.
    arrives: Instant,
    /// Time at which the packet will have left the transmitter.
    departs: Instant,
    /// Packed description, as in the queue.
    packet: u32,
    /// Value of `queue_max` before this packet was admitted.
    queue_max: u32,
}

/// Packets that a direction admitted before their arrival.
#[derive(Debug)]
pub(in super::super) struct EarlyAdmissions {
    /// Direction of the previous link, from which all packets come.
    from: LinkId,
    packets: VecDeque<EarlyPacket>,
}

impl Simplex {
    /// Returns whether packets arrive unchanged, in order and each at a different time. The next
    /// link may then admit them early.
    pub fn may_forward_early(&self) -> bool {
        !self.features.carries_frames
            && !self.features.defers_dequeue
            && self.compression.is_none()
            && self.pace.is_none()
            && self.channel.is_without_delay()
            && self.config.rate <= FASTEST
            && self.config.delay > Interval::ZERO
    }

    /// Returns whether the direction may admit packets early. The fate of a packet must depend on
    /// earlier packets only.
    pub fn may_admit_early(&self) -> bool {
        self.may_forward_early()
            && self.channel_is_transparent
            && self.background.is_none()
            && self.mtu.is_none()
            && self.config.mark == QueueLimit::Unlimited
    }

    /// Forwards packets early if their next link admits them early.
    pub fn forward_early(&mut self) {
        self.early = EarlyForwarding::Each;
    }

    /// Forwards all packets early to direction `next`.
    pub fn forward_all_early_to(&mut self, next: LinkId) {
        self.early = EarlyForwarding::All;
        self.onto = next;
    }

    /// Forwards no packet early.
    pub fn forward_none_early(&mut self) {
        (self.early, self.onto) = (EarlyForwarding::Off, LinkId::NONE);
    }

    /// Admits no packet early.
    pub fn admit_none_early(&mut self) {
        self.admitted_early = None;
    }

    /// Returns the direction to which all packets are forwarded early, if any.
    #[inline]
    pub fn forwards_all_early_to(&self) -> Option<LinkId> {
        (self.early == EarlyForwarding::All).then_some(self.onto)
    }

    /// Returns whether packets are forwarded early.
    #[inline]
    pub fn forwards_early(&self) -> bool {
        self.early != EarlyForwarding::Off
    }

    /// Admits packets early from now on. All packets must come from direction `from`.
    pub fn admit_early_from(&mut self, from: LinkId) {
        self.admitted_early = Some(Box::new(EarlyAdmissions {
            from,
            packets: VecDeque::new(),
        }));
    }

    /// Returns whether packets that arrive over `from` are admitted early.
    #[inline]
    pub fn admits_early_from(&self, from: LinkId) -> bool {
        self.admitted_early
            .as_ref()
            .is_some_and(|early| early.from == from)
    }

    /// Admits at `now` a packet that arrives at `arrives`. Returns its arrival time at the far end.
    /// Returns `None` if the queue is full at `arrives`. Nothing is then counted, and the caller
    /// calls [`Self::count_drop`] at `arrives`.
    #[inline]
    pub fn fast_admit(&mut self, now: Instant, arrives: Instant, label: Label) -> Option<Instant> {
        let waiting = self.normal_queued(arrives);
        let queue_max = self.counts.queue_max;
        let data = if label.data { DATA } else { 0 };
        let packet = label.ip_len | data;
        if !self.admit::<true>(arrives, packet, waiting) {
            return None;
        }
        if let Some(early) = &mut self.admitted_early {
            let packets = &mut early.packets;
            while packets.front().is_some_and(|first| first.departs <= now) {
                packets.pop_front();
            }
            packets.push_back(EarlyPacket {
                arrives,
                departs: self.transmitter.free_at,
                packet,
                queue_max,
            });
        }
        self.propagate(arrives, packet, Priority::Normal).plain()
    }

    /// Undoes the admission of packets that have not arrived by the end of a run. Returns their
    /// number.
    pub fn fast_roll_back(
        &mut self,
        now: Instant,
        has_arrived: impl Fn(LinkId, Instant) -> bool,
    ) -> usize {
        let Some(early) = self.admitted_early.take() else {
            return 0;
        };
        let EarlyAdmissions { from, packets } = *early;
        let arrived = packets.partition_point(|entry| has_arrived(from, entry.arrives));
        let sending = |entry: &EarlyPacket| {
            let bytes = (entry.packet & LENGTH) + self.config.overhead;
            self.config.sending(self.config.coded(bytes))
        };
        let start = |entry: &EarlyPacket| entry.departs.as_nanos() - sending(entry).as_nanos();
        let starts: Vec<_> = packets
            .iter()
            .map(|entry| Instant::from_nanos(start(entry)))
            .collect();
        for (entry, &starts) in packets.iter().zip(&starts).skip(arrived) {
            self.counts.packets -= 1;
            self.counts.bytes -= u64::from(entry.packet & LENGTH);
            self.counts.data -= u64::from(entry.packet & DATA != 0);
            self.counts.busy -= entry.departs.since(starts).as_nanos();
        }
        if let Some(first) = packets.get(arrived) {
            self.counts.queue_max = first.queue_max;
        }
        self.queue.waiting.clear();
        self.queue.bytes = 0;
        self.transmitter.free_at = self.transmitter.free_at.min(now);
        for (entry, &starts) in packets.iter().zip(&starts).take(arrived) {
            self.transmitter.free_at = entry.departs;
            if starts > now {
                self.queue.push(starts, entry.packet);
            } else {
                self.transmitter.packet = entry.packet;
            }
        }
        packets.len() - arrived
    }
}
