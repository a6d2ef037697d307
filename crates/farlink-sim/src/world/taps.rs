//! Taps on both sides of an agent, for captures and for the trace `passages`.

use farlink_tcp::Instant;
use farlink_wire::{NodeId, Packet};

/// A node with agents, and the link that the agents serve. A tap has two sides: this link, and the
/// other links of the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tap {
    pub(crate) node: NodeId,
    pub(crate) wireless: u32,
}

/// Returns the names of the two sides of a tap: "wired" for the other links, then "wireless" for
/// the agent's link. Names of nodes and links cannot contain "@", so no host has the same name.
pub(crate) fn names(node: &str, link: &str) -> [String; 2] {
    ["wired", "wireless"].map(|side| format!("{node}@{link}-{side}"))
}

/// A packet that passed a tap of a live network.
#[derive(Debug)]
pub(crate) struct Tapped {
    pub(crate) at: Instant,
    pub(crate) tap: usize,
    pub(crate) is_wireless: bool,
    pub(crate) packet: Packet,
}

/// Taps, and the consumers of their packets.
#[derive(Debug, Default)]
pub(crate) struct Taps {
    pub(crate) all: Vec<Tap>,
    /// Set if the probes of a run record packets.
    pub(super) probed: bool,
    /// Packets of a live network that are not fetched yet; `None` if captures are off.
    pub(crate) kept: Option<Vec<Tapped>>,
}

impl Taps {
    pub(super) fn add(&mut self, node: NodeId, wireless: u32) {
        let tap = Tap { node, wireless };
        if !self.all.contains(&tap) {
            self.all.push(tap);
        }
    }

    pub(super) fn is_watched(&self) -> bool {
        self.probed || self.kept.is_some()
    }
}
