//! Taps on either side of an agent, for captures and for the trace of passages.

use farlink_tcp::Instant;
use farlink_wire::{NodeId, Packet};

/// A node with agents, and the link that they look after. It is seen on two sides: that of
/// this link, and that of the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tap {
    pub(crate) node: NodeId,
    pub(crate) wireless: u32,
}

/// The names of the two sides of the taps, first that of the other links. Node and link may
/// not have "@" in their names, so that no host is called so.
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

/// Taps, and who wants to know what passes them.
#[derive(Debug, Default)]
pub(crate) struct Taps {
    pub(crate) all: Vec<Tap>,
    /// For the probes of a run.
    pub(super) probed: bool,
    /// For captures of a live network, until they are taken.
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
