//! Packets of real programs: their hosts, ICMP answers of routers, and their balance.

use super::losses::Lost;
use farlink_tcp::{Instant, Interval};
use farlink_wire::{ById, NodeId, PacketId};
use serde::Serialize;

/// Interval after which a router may send another ICMP error (RFC 1812, 4.3.2.8): 1 ms, so 1000 per
/// second, as for a Linux host.
const EARNED: Interval = Interval::from_millis(1);
/// Maximum number of ICMP errors of a router without pauses.
const AT_ONCE: u64 = 50;

/// Token bucket that limits the ICMP errors of a router.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// Time at which the bucket is full again.
    pub(super) full: Instant,
}

impl Bucket {
    /// Removes a token if the bucket has one. Returns whether an ICMP error may be sent now.
    pub(super) fn try_take(&mut self, now: Instant) -> bool {
        let full = self.full.max(now) + EARNED;
        let allowed = full.since(now) <= EARNED * AT_ONCE;
        if allowed {
            self.full = full;
        }
        allowed
    }
}

/// State of a node in a network that carries packets of real programs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Set if programs run at the node.
    pub(super) is_host: bool,
    /// Limit of the ICMP errors that the node sends.
    pub(super) errors: Bucket,
}

/// State and counters of packets of real programs.
#[derive(Debug, Default)]
pub(crate) struct RealPackets {
    /// Arrived packets that have not left the simulation, as node and number of the packet.
    pub(super) leaving: Vec<(NodeId, PacketId)>,
    /// Lost packets; `None` if the caller does not collect them.
    pub(crate) lost: Option<Vec<Lost>>,
    /// State of each node; empty without real programs.
    pub(super) places: ById<NodeId, Place>,
    /// Uplink: the host that gets packets for addresses outside of the network, and whether IPv6
    /// packets are included.
    pub(super) uplink: Option<(NodeId, bool)>,
    /// Number of packets that entered from hosts.
    pub(super) entered: u64,
    /// Number of packets that left to hosts.
    pub(super) left: u64,
    /// Number of copies of packets by channels.
    pub(crate) copied: u64,
    /// Number of fragments after the first of each packet.
    pub(crate) cut: u64,
    /// Number of ICMP messages that routers sent.
    pub(super) answered: u64,
    /// Number of ICMP errors that the limit suppressed.
    pub(super) limited: u64,
    /// Number of packets addressed to a router, where they ended.
    pub(super) for_routers: u64,
}

/// Balance of the packets of real programs: `entered + copied + cut + answered + injected` equals
/// `left + lost + for_routers + absorbed + inside`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Balance {
    /// Number of packets that entered from hosts.
    pub entered: u64,
    /// Number of copies of packets by channels.
    pub copied: u64,
    /// Number of fragments by routers after the first of each packet.
    pub cut: u64,
    /// Number of ICMP messages that routers sent.
    pub answered: u64,
    /// Number of packets that agents sent.
    pub injected: u64,
    /// Number of packets that left to hosts.
    pub left: u64,
    /// Number of packets lost for any cause, as counted by the links.
    pub lost: u64,
    /// Number of packets addressed to a router, where they ended.
    pub for_routers: u64,
    /// Number of packets that ended at an agent, which took over their content.
    pub absorbed: u64,
    /// Number of packets in queues or in flight.
    pub inside: u64,
    /// Number of ICMP errors that the routers' limit of 1000 per second suppressed.
    pub limited: u64,
}

impl Balance {
    /// Returns the number of packets that were created and are unaccounted for, or minus the number
    /// of packets in excess. Any value but 0 is a bug of the engine.
    pub fn missing(&self) -> i64 {
        let made = self.entered + self.copied + self.cut + self.answered + self.injected;
        let measured = self.left + self.lost + self.for_routers + self.absorbed + self.inside;
        made.cast_signed().wrapping_sub(measured.cast_signed())
    }
}
