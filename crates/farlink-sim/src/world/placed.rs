//! The agents of a network, each at its node.

use super::taps::Taps;
use farlink_agent::{Agent, Leaving, Out, Tag};
use farlink_tcp::{Instant, Interval};
use farlink_wire::{Id, LinkId, NodeId, PacketId};
use std::collections::BTreeMap;

/// Fate of an agent's per-host state at a handoff.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handing {
    /// Kind of transfer; `None` if the state stays at the agent.
    pub(crate) how: Option<Leaving>,
    /// Rate of the transfer to another agent in bit/s; 0 transfers at once.
    pub(crate) rate: u64,
    /// Additional delay of the transfer.
    pub(crate) delay: Interval,
    /// Possible receivers of the state: number of the link and of the agent.
    pub(crate) peers: Vec<(u32, usize)>,
}

/// An agent at its node.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) node: NodeId,
    /// Number of the link that the agent serves.
    pub(super) wireless: u32,
    pub(super) agent: Box<dyn Agent>,
    /// Time of the event that counts; others are stale.
    pub(super) due: Instant,
    /// Packets that it made.
    pub(super) injected: u64,
    /// Fate of its state of a host that leaves its link.
    pub(super) handing: Handing,
    /// Set if the agent is off from the start, and nothing will switch it on.
    pub(super) sleeps: bool,
}

/// Agents of a network.
#[derive(Debug, Default)]
pub(crate) struct Agents {
    pub(super) all: Vec<Placed>,
    /// Packets that agents hold, with the link that brought each.
    pub(super) held: BTreeMap<PacketId, LinkId>,
    pub(super) followed: Followed,
    pub(crate) taps: Taps,
    /// Reused buffer for the actions of an agent.
    pub(super) out: Out,
    /// Packets that agents sent.
    pub(crate) injected: u64,
    /// Packets that ended at an agent, which took over their content.
    pub(crate) absorbed: u64,
}

impl Agents {
    /// Returns an empty buffer for actions. It is taken out of `self`, because carrying out an
    /// action may call another agent.
    pub(super) fn out(&mut self) -> Out {
        let mut out = std::mem::take(&mut self.out);
        if self.taps.probed && out.notes.is_none() {
            out.notes = Some(Vec::new());
        }
        out
    }

    /// Returns the counters of each agent up to `now`, in the order of the scenario.
    pub(crate) fn counters(
        &self,
        now: Instant,
    ) -> impl Iterator<Item = Vec<(&'static str, f64)>> + '_ {
        self.all.iter().map(move |placed| {
            let mut counted = placed.agent.counters(now);
            counted.push(("injected", placed.injected as f64));
            counted
        })
    }
}

/// Packets that agents follow to their link. Each has a list of agents with their tags, nearly
/// always of length 1.
#[derive(Debug, Default)]
pub(super) struct Followed {
    by_packet: Vec<Vec<(usize, Tag)>>,
    count: usize,
}

impl Followed {
    /// Returns whether there are no agents.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Agent number `agent` follows a packet.
    pub(super) fn add(&mut self, packet: PacketId, agent: usize, tag: Tag) {
        let place = packet.index();
        if self.by_packet.len() <= place {
            self.by_packet.resize_with(place + 1, Vec::new);
        }
        self.by_packet[place].push((agent, tag));
        self.count += 1;
    }

    /// Agents that follow a packet, from number `next` on.
    pub(super) fn get(&self, packet: PacketId, next: usize) -> Option<(usize, Tag)> {
        let all = self.by_packet.get(packet.index())?;
        all.get(next).copied()
    }

    /// Removes and returns the last follower of a packet.
    pub(super) fn pop(&mut self, packet: PacketId) -> Option<(usize, Tag)> {
        let popped = self.by_packet.get_mut(packet.index())?.pop();
        self.count -= usize::from(popped.is_some());
        popped
    }
}
