//! Agents of a network, each at its node.

use super::taps::Taps;
use farlink_agent::{Agent, Leaving, Out, Tag};
use farlink_small::Map;
use farlink_tcp::{Instant, Interval};
use farlink_wire::{Id, LinkId, NodeId, PacketId};

/// Fate of an agent's per-host state at a handoff.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handing {
    /// Fate of the state at a handoff; `None` if the state stays at the agent.
    pub(crate) how: Option<Leaving>,
    /// Rate of a transfer to another agent in bit/s; 0 for a transfer without delay.
    pub(crate) rate: u64,
    /// Additional delay of the transfer.
    pub(crate) delay: Interval,
    /// Agents to which the state may be transferred: number of the link, number of the agent.
    pub(crate) peers: Vec<(u32, usize)>,
}

/// An agent at its node.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) node: NodeId,
    /// Number of the link that the agent serves.
    pub(super) wireless: u32,
    pub(super) agent: Box<dyn Agent>,
    /// Time of the valid timer event; events of other times are stale.
    pub(super) due: Instant,
    /// Number of packets that the agent sent.
    pub(super) injected: u64,
    /// Fate of the agent's state of a host that leaves the agent's link.
    pub(super) handing: Handing,
    /// Set if the agent is off from the start and is never switched on.
    pub(super) sleeps: bool,
}

/// Agents of a network.
#[derive(Debug, Default)]
pub(crate) struct Agents {
    pub(super) all: Vec<Placed>,
    /// Packets that agents hold, each with the link over which it arrived.
    pub(super) held: Map<PacketId, LinkId>,
    pub(super) followed: Followed,
    pub(crate) taps: Taps,
    /// Buffer for the actions of an agent, which is reused.
    pub(super) out: Out,
    /// Number of packets that agents sent.
    pub(crate) injected: u64,
    /// Number of packets that ended at an agent, which took over their content.
    pub(crate) absorbed: u64,
}

impl Agents {
    /// Returns the number of agents at a node that cut the data anew which crosses these links.
    pub(crate) fn cutting_at(&self, node: NodeId, links: [Option<LinkId>; 2]) -> usize {
        let served = |placed: &&Placed| {
            let mut numbers = links.iter().flatten().map(|link| link.link());
            placed.node == node && numbers.any(|number| number == placed.wireless)
        };
        let here = self.all.iter().filter(served);
        here.filter(|placed| !placed.sleeps && placed.agent.cuts_anew())
            .count()
    }

    /// Returns an empty buffer for actions. The buffer leaves `self`, because an action may call
    /// another agent.
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

/// Packets between an agent and its link, each with the agents that follow the packet and their
/// tags. Nearly all packets have one agent.
#[derive(Debug, Default)]
pub(super) struct Followed {
    by_packet: Vec<Vec<(usize, Tag)>>,
    count: usize,
}

impl Followed {
    /// Returns whether no packet is followed.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Lets agent number `agent` follow a packet.
    pub(super) fn add(&mut self, packet: PacketId, agent: usize, tag: Tag) {
        let place = packet.index();
        if self.by_packet.len() <= place {
            self.by_packet.resize_with(place + 1, Vec::new);
        }
        self.by_packet[place].push((agent, tag));
        self.count += 1;
    }

    /// Returns follower number `next` of a packet.
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
