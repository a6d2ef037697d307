//! Packets of real programs: their places, the answers of routers to them, and their balance.

use super::losses::Lost;
use farlink_tcp::{Instant, Interval};
use farlink_wire::{ById, NodeId, PacketId};
use serde::Serialize;

/// Time in which a router earns the right to one more error (RFC 1812, 4.3.2.8):
/// 1000 a second, as many as a host of Linux sends.
const EARNED: Interval = Interval::from_millis(1);
/// Errors that a router which was silent may send at once.
const AT_ONCE: u64 = 50;

/// Limits the errors of a router.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// Time at which the full error budget is available again.
    pub(super) full: Instant,
}

impl Bucket {
    /// Returns whether another error may be sent now, and counts it.
    pub(super) fn takes(&mut self, now: Instant) -> bool {
        let full = self.full.max(now) + EARNED;
        let allowed = full.since(now) <= EARNED * AT_ONCE;
        if allowed {
            self.full = full;
        }
        allowed
    }
}

/// A node among real programs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Set if programs run at the node.
    pub(super) is_host: bool,
    /// The errors that it may send.
    pub(super) errors: Bucket,
}

/// Packets of real programs.
#[derive(Debug, Default)]
pub(crate) struct RealPackets {
    /// Packets that have arrived: their node and number.
    pub(super) leaving: Vec<(NodeId, PacketId)>,
    /// Lost packets, if the caller asked for them.
    pub(crate) lost: Option<Vec<Lost>>,
    /// Place of each node; empty without real programs.
    pub(super) places: ById<NodeId, Place>,
    /// Host that passes on what is for no address of the network, and whether of IPv6, too.
    pub(super) way_out: Option<(NodeId, bool)>,
    /// Packets of real programs that entered.
    pub(super) entered: u64,
    /// Packets that left.
    pub(super) left: u64,
    /// Copies that channels made of them.
    pub(crate) copied: u64,
    /// Pieces that they were cut into, beyond the first.
    pub(crate) cut: u64,
    /// ICMP messages of routers.
    pub(super) answered: u64,
    /// Errors that were not sent since there were too many.
    pub(super) limited: u64,
    /// Packets that were for a router, and ended there.
    pub(super) for_routers: u64,
}

/// Balance of the packets of real programs: `entered + copied + cut + answered + injected` equals
/// `left + lost + for_routers + absorbed + inside`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Balance {
    /// Packets that entered from hosts.
    pub entered: u64,
    /// Copies that channels made.
    pub copied: u64,
    /// Pieces that routers cut packets into, beyond the first of each.
    pub cut: u64,
    /// ICMP messages that routers sent.
    pub answered: u64,
    /// Packets that agents sent.
    pub injected: u64,
    /// Packets that left to hosts.
    pub left: u64,
    /// Packets lost, as the links count them, for any cause.
    pub lost: u64,
    /// Packets that were for a router, and ended there.
    pub for_routers: u64,
    /// Packets that ended at an agent that took what they carry.
    pub absorbed: u64,
    /// Packets that wait or fly.
    pub inside: u64,
    /// ICMP errors that routers kept to themselves: more than 1000 a second.
    pub limited: u64,
}

impl Balance {
    /// Packets that came into being and are nowhere; below zero, packets that are
    /// somewhere and came from nowhere. Zero, or there is an error in the engine.
    pub fn missing(&self) -> i64 {
        let made = self.entered + self.copied + self.cut + self.answered + self.injected;
        let measured = self.left + self.lost + self.for_routers + self.absorbed + self.inside;
        made.cast_signed().wrapping_sub(measured.cast_signed())
    }
}
