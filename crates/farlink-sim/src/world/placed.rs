//! The agents of a network, each at its node.

use farlink_net::agent::{Action, Agent};
use farlink_net::{LinkId, NodeId, PacketId};
use farlink_tcp::Instant;
use std::collections::BTreeMap;

/// An agent at its node.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) node: NodeId,
    /// Number of the link that it looks after.
    pub(super) wireless: u32,
    pub(super) agent: Box<dyn Agent>,
    /// Time of the event that counts; others are stale.
    pub(super) due: Instant,
}

/// All agents of a network.
#[derive(Debug, Default)]
pub(crate) struct Agents {
    pub(super) all: Vec<Placed>,
    /// Packets that agents hold, with the link that brought each.
    pub(super) held: BTreeMap<PacketId, LinkId>,
    /// Room for what an agent asks for.
    pub(super) actions: Vec<Action>,
    /// Packets that agents made.
    pub(crate) injected: u64,
    /// Packets that ended at an agent that took what they carry.
    pub(crate) absorbed: u64,
}

impl Agents {
    /// What each agent counted, in the order of the scenario.
    pub(crate) fn counters(&self) -> impl Iterator<Item = Vec<(&'static str, u64)>> + '_ {
        self.all.iter().map(|placed| placed.agent.counters())
    }
}
