//! Packets of a queue discipline, and the FIFO queue that the disciplines are built on.

use crate::link::config::QueueLimit;
use farlink_tcp::{Ecn, Instant, Interval};
use farlink_wire::id::PacketId;
use std::collections::VecDeque;

/// Bytes of the longest usual packet with its Ethernet header. RED and COBALT use its transmission
/// time as a unit.
pub const LONGEST_PACKET: u32 = 1514;

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

/// Reason of a drop by a discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The queue is at its limit.
    Full,
    /// Decision of the control law.
    Control,
    /// A later ACK makes the packet redundant.
    Redundant,
}

impl Reason {
    /// Reasons in the order of their numbers in traces.
    pub const ALL: [Self; 3] = [Self::Full, Self::Control, Self::Redundant];

    /// Returns the name in traces and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Control => "aqm",
            Self::Redundant => "redundant",
        }
    }
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

    /// Removes the last packet.
    pub(crate) fn pop_last(&mut self) -> Option<Waiting> {
        let last = self.waiting.pop_back()?;
        self.bytes -= u64::from(last.len);
        Some(last)
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
