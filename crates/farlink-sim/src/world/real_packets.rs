//! Packets of real programs: their hosts, ICMP answers of routers, and their balance.

use super::losses::Lost;
use farlink_tcp::{Instant, Interval};
use farlink_wire::{ById, NodeId, PacketId};
use serde::Serialize;

/// Interval at which a router may send one more ICMP error (RFC 1812, 4.3.2.8): 1000/s, the limit
/// of a Linux host.
const EARNED: Interval = Interval::from_millis(1);
/// Number of ICMP errors that a router may send in a burst after a pause.
const AT_ONCE: u64 = 50;

/// Token bucket that limits the ICMP errors of a router.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// Time at which the full error budget is available again.
    pub(super) full: Instant,
}

impl Bucket {
    /// Takes a token if there is one. Returns whether an ICMP error may be sent now.
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
    /// Limiter of the ICMP errors that the node sends.
    pub(super) errors: Bucket,
}

/// State and counters of packets of real programs.
#[derive(Debug, Default)]
pub(crate) struct RealPackets {
    /// Arrived packets that have not left the simulation: node and packet number.
    pub(super) leaving: Vec<(NodeId, PacketId)>,
    /// Lost packets; `None` if the caller does not collect them.
    pub(crate) lost: Option<Vec<Lost>>,
    /// State of each node; empty without real programs.
    pub(super) places: ById<NodeId, Place>,
    /// The uplink: host that gets packets for addresses outside the network, and whether IPv6
    /// packets are included.
    pub(super) uplink: Option<(NodeId, bool)>,
    /// Packets that entered from hosts.
    pub(super) entered: u64,
    /// Packets that left to hosts.
    pub(super) left: u64,
    /// Copies that channels made of packets.
    pub(crate) copied: u64,
    /// Fragments of packets, beyond the first of each.
    pub(crate) cut: u64,
    /// ICMP messages that routers sent.
    pub(super) answered: u64,
    /// ICMP errors that the limiter suppressed.
    pub(super) limited: u64,
    /// Packets addressed to a router, which ended there.
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
    /// Fragments that routers made of packets, beyond the first of each.
    pub cut: u64,
    /// ICMP messages that routers sent.
    pub answered: u64,
    /// Packets that agents sent.
    pub injected: u64,
    /// Packets that left to hosts.
    pub left: u64,
    /// Packets lost for any cause, as counted by the links.
    pub lost: u64,
    /// Packets addressed to a router, which ended there.
    pub for_routers: u64,
    /// Packets that ended at an agent, which took over their content.
    pub absorbed: u64,
    /// Packets that wait in queues or are in flight.
    pub inside: u64,
    /// ICMP errors suppressed by the routers' limit of 1000/s.
    pub limited: u64,
}

impl Balance {
    /// Returns the packets that were created and are unaccounted for; negative if more are found
    /// than were created. Any value but 0 is a bug in the engine.
    pub fn missing(&self) -> i64 {
        let made = self.entered + self.copied + self.cut + self.answered + self.injected;
        let measured = self.left + self.lost + self.for_routers + self.absorbed + self.inside;
        made.cast_signed().wrapping_sub(measured.cast_signed())
    }
}
