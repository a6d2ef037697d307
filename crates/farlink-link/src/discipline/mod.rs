//! Queue disciplines: which waiting packet leaves next, and which packets are dropped or marked.
//!
//! A discipline replaces the FIFO queue in front of a transmitter. The link offers each packet that
//! has to wait, and asks for the next one when the transmitter is free. Disciplines read no clock:
//! the caller passes in the time.

mod cobalt;
mod codel;
mod dual_pi2;
mod fair;
mod head_drop;
mod pie;
mod red;

pub use cobalt::CobaltConfig;
pub use codel::{Codel, CodelConfig};
pub use dual_pi2::{DualPi2, DualPi2Config};
pub use fair::{Fair, FairConfig, FairQueue};
pub use head_drop::HeadDrop;
pub use pie::{Pie, PieConfig};
pub use red::{Red, RedConfig};

use crate::link::QueueLimit;
use farlink_tcp::{Ecn, Instant, Interval};
use farlink_wire::id::PacketId;
use std::collections::VecDeque;

/// Packet that waits in a discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// Number of the packet.
    pub packet: PacketId,
    /// Length and flags as the link packs them.
    pub packed: u32,
    /// Length in bytes.
    pub len: u32,
    /// Time at which the packet joined the queue.
    pub joined: Instant,
    /// Hash of addresses, protocol and ports.
    pub flow: u64,
    /// ECN field of the IP header.
    pub ecn: Ecn,
}

impl Waiting {
    /// Returns the time spent in the queue.
    pub fn sojourn(&self, now: Instant) -> Interval {
        now.since(self.joined)
    }
}

/// Reason of a drop or a mark by a discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The queue is at its limit.
    Full,
    /// The control law asks for it.
    Control,
}

/// Packet that leaves a discipline for the transmitter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaving {
    /// The packet.
    pub waiting: Waiting,
    /// Set if the packet leaves with a congestion mark (CE).
    pub marked: bool,
}

/// Packets that a call dropped, in order.
pub type Drops = Vec<(Waiting, Reason)>;

/// Queue discipline of one direction of a link.
#[derive(Debug)]
pub enum Discipline {
    /// CoDel (RFC 8289).
    Codel(Codel),
    /// PIE (RFC 8033).
    Pie(Pie),
    /// RED (Floyd and Jacobson 1993), with its gentle and adaptive forms.
    Red(Red),
    /// Dual queue with a coupled PI2 controller (RFC 9332).
    DualPi2(DualPi2),
    /// One FIFO queue that drops its first packet when full.
    HeadDrop(HeadDrop),
    /// A queue per flow, served by deficit round robin (RFC 8290).
    Fair(Fair),
}

impl Discipline {
    /// Offers a packet that has to wait. Dropped packets, which may include the offered one, are
    /// added to `drops`. Returns whether the packet was marked on arrival, or `None` if it was
    /// dropped.
    pub fn enqueue(&mut self, now: Instant, packet: Waiting, drops: &mut Drops) -> Option<bool> {
        match self {
            Self::Codel(queue) => queue.enqueue(packet, drops).then_some(false),
            Self::Pie(queue) => queue.enqueue(now, packet, drops),
            Self::Red(queue) => queue.enqueue(now, packet, drops),
            Self::DualPi2(queue) => queue.enqueue(now, packet, drops),
            Self::Fair(queue) => queue.enqueue(now, packet, drops),
            Self::HeadDrop(queue) => queue.enqueue(packet, drops).then_some(false),
        }
    }

    /// Removes the packet that the transmitter sends next. Packets that the discipline drops first
    /// are added to `drops`.
    pub fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Leaving> {
        match self {
            Self::Codel(queue) => queue.dequeue(now, drops),
            Self::Pie(queue) => queue.dequeue(now),
            Self::Red(queue) => queue.dequeue(now),
            Self::DualPi2(queue) => queue.dequeue(now, drops),
            Self::Fair(queue) => queue.dequeue(now, drops),
            Self::HeadDrop(queue) => queue.dequeue(),
        }
    }

    /// Returns the number and bytes of the waiting packets.
    pub fn queued(&self) -> (u32, u64) {
        match self {
            Self::Codel(queue) => queue.queued(),
            Self::Pie(queue) => queue.queued(),
            Self::Red(queue) => queue.queued(),
            Self::DualPi2(queue) => queue.queued(),
            Self::Fair(queue) => queue.queued(),
            Self::HeadDrop(queue) => queue.queued(),
        }
    }
}

impl Discipline {
    /// Replaces the limit, for packets offered from now on.
    pub fn set_limit(&mut self, limit: QueueLimit) {
        match self {
            Self::Codel(queue) => queue.limit = limit,
            Self::Pie(queue) => queue.limit = limit,
            Self::Red(queue) => queue.limit = limit,
            Self::DualPi2(queue) => queue.limit = limit,
            Self::Fair(queue) => queue.limit = limit,
            Self::HeadDrop(queue) => queue.limit = limit,
        }
    }

    /// Removes all packets, queue by queue.
    pub fn drain(&mut self) -> Vec<PacketId> {
        let mut packets = Vec::new();
        match self {
            Self::Codel(queue) => queue.queue.drain(&mut packets),
            Self::Pie(queue) => queue.queue.drain(&mut packets),
            Self::Red(queue) => queue.queue.drain(&mut packets),
            Self::HeadDrop(queue) => queue.queue.drain(&mut packets),
            Self::DualPi2(queue) => queue.drain(&mut packets),
            Self::Fair(queue) => queue.drain(&mut packets),
        }
        packets
    }
}

/// FIFO queue with a limit, which the disciplines are built on.
#[derive(Debug)]
pub(crate) struct Fifo {
    waiting: VecDeque<Waiting>,
    bytes: u64,
}

impl Fifo {
    pub(crate) const fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }

    pub(crate) fn queued(&self) -> (u32, u64) {
        (self.waiting.len() as u32, self.bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns whether a packet of `len` bytes exceeds the limit.
    pub(crate) fn is_full(&self, limit: QueueLimit, len: u32) -> bool {
        limit.is_full(self.waiting.len() as u32, self.bytes, len)
    }

    pub(crate) fn push(&mut self, packet: Waiting) {
        self.bytes += u64::from(packet.len);
        self.waiting.push_back(packet);
    }

    pub(crate) fn pop(&mut self) -> Option<Waiting> {
        let first = self.waiting.pop_front()?;
        self.bytes -= u64::from(first.len);
        Some(first)
    }

    /// Removes all packets.
    pub(crate) fn drain(&mut self, into: &mut Vec<PacketId>) {
        into.extend(self.waiting.drain(..).map(|packet| packet.packet));
        self.bytes = 0;
    }

    /// Returns the first packet.
    pub(crate) fn front(&self) -> Option<&Waiting> {
        self.waiting.front()
    }

    /// Returns the time that the first packet has waited; zero if none waits.
    pub(crate) fn delay(&self, now: Instant) -> Interval {
        let first = self.front();
        first.map_or(Interval::ZERO, |packet| packet.sojourn(now))
    }
}

#[cfg(test)]
mod tests;
