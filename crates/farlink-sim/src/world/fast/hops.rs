//! Fused hops: forwards a packet to the next link without an event for the arrival at the router.
//!
//! The arrival at a router affects only the next link. Suppose that the next link gets all its
//! packets from one link, and that nothing observes packets at the router. A packet offered to the
//! first link is then offered to the next link at once. Hops are not fused in traced runs, in
//! emulations, and in networks with agents. The general way is an event for each arrival
//! ([`World::handle`]). `hops/tests.rs` runs random scenarios in both ways, and compares all
//! results bit by bit.

use crate::event_queue::{Event, Kind};
use crate::quic::QuicFlow;
use crate::scenario::{Expanded, ExpandedFlow};
use crate::udp::UdpFlow;
use crate::world::World;
use crate::xtp::XtpFlow;
use farlink_channel::DropCause;
use farlink_tcp::congestion::sends_dummies;
use farlink_tcp::{Dscp, Instant, Priority};
use farlink_wire::{ById, LinkId, NodeId, PacketId};

/// Source or destination of a link's packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Feeder {
    /// The link is on no path.
    None,
    /// All packets come from, or go to, this link.
    Link(LinkId),
    /// Packets come from, or go to, several links or a node at the end of a path.
    Others,
}

impl Feeder {
    /// Adds another source or destination.
    fn join(&mut self, other: Self) {
        *self = match *self {
            Self::None => other,
            same if same == other => same,
            _ => Self::Others,
        };
    }
}

impl World {
    /// Fuses the hops that nothing observes. Must be called before the run starts, in a world
    /// without probes and without packets of real programs.
    pub(crate) fn fast_collapse_hops(&mut self, scenario: &Expanded) {
        // The departure of a low-priority packet depends on later arrivals.
        let low = |flow: &ExpandedFlow| {
            let ends = [&flow.sender, &flow.receiver];
            flow.dscp == Dscp::LE || ends.iter().any(|end| sends_dummies(&end.congestion))
        };
        if !self.routes_are_constant() || !self.crosses_no_agent() || scenario.flows.iter().any(low)
        {
            return;
        }
        let Some((feeders, fed)) = self.feeders() else {
            return;
        };
        self.is_loop_free = true;
        for (id, &feeder) in feeders.each() {
            if let Feeder::Link(from) = feeder
                && self.links[from].may_forward_early()
                && self.links[id].may_admit_early()
            {
                self.links[from].forward_early();
                self.links[id].admit_early_from(from);
                if fed[from] == Feeder::Link(id) {
                    self.links[from].forward_all_early_to(id);
                }
            }
        }
    }

    /// Returns the sources and the destinations of each link's packets, from the paths of all
    /// flows; `None` if a path has [`farlink_wire::HOST_TTL`] links or more.
    fn feeders(&self) -> Option<(ById<LinkId, Feeder>, ById<LinkId, Feeder>)> {
        let none = || self.links.ids().map(|_| Feeder::None).collect();
        let mut feeders: ById<LinkId, Feeder> = none();
        let mut fed: ById<LinkId, Feeder> = none();
        let over_tcp = self.ends.iter().map(|end| (end.node, end.peer));
        let datagrams = self.udp.iter().map(UdpFlow::nodes).map(|[a, b]| (a, b));
        let over_xtp = self.xtp.iter().map(XtpFlow::nodes);
        let over_xtp = over_xtp.flat_map(|[a, b]| [(a, b), (b, a)]);
        let over_quic = self.quic.iter().map(QuicFlow::nodes);
        let over_quic = over_quic.flat_map(|[a, b]| [(a, b), (b, a)]);
        let all = over_tcp.chain(datagrams).chain(over_xtp);
        for (from, to) in all.chain(over_quic) {
            let (mut at, mut comes) = (from, Feeder::Others);
            for hop in 0.. {
                if at == to {
                    break;
                }
                let link = self.nodes[at].next_hop(to);
                if !self.links.has(link) {
                    break;
                }
                if hop + 1 >= farlink_wire::HOST_TTL {
                    return None;
                }
                feeders[link].join(comes);
                if let Feeder::Link(before) = comes {
                    fed[before].join(Feeder::Link(link));
                }
                comes = Feeder::Link(link);
                at = self.links[link].to();
            }
            if let Feeder::Link(last) = comes {
                fed[last] = Feeder::Others;
            }
        }
        Some((feeders, fed))
    }

    /// Offers a packet that arrives at the far end of `link` at time `at` to the next link now.
    /// Continues while the links are fused.
    pub(crate) fn fast_forward_early(&mut self, link: LinkId, packet: PacketId, at: Instant) {
        let label = self.packets.label(packet);
        let (mut link, mut at) = (link, at);
        while self.links[link].forwards_early() {
            let next = match self.links[link].forwards_all_early_to() {
                Some(next) => next,
                None => match self.fast_next_early(link, label.dst) {
                    Some(next) => next,
                    None => break,
                },
            };
            let Some(arrives) = self.links[next].fast_admit(self.now, at, label) else {
                self.serial = self.serial.wrapping_add(1).max(1);
                let event = Event::new(at, Kind::Arrival, link.0, self.serial);
                self.queue.push_with(event, packet.0);
                return;
            };
            self.events += 1;
            (link, at) = (next, arrives);
        }
        if self.links[link].push_in_flight(packet, at) {
            self.queue.push(Event::new(at, Kind::Arrival, link.0, 0));
        }
    }

    /// Returns the fused link after `link` on the path to `dst`.
    #[inline]
    fn fast_next_early(&self, link: LinkId, dst: NodeId) -> Option<LinkId> {
        let node = self.links[link].to();
        let next = self.nodes[node].next_hop(dst);
        (dst != node && self.links[next].admits_early_from(link)).then_some(next)
    }

    /// Handles the arrival at a router of a packet that was forwarded early, but for which the next
    /// link had no room.
    #[cold]
    pub(crate) fn fast_refused_early(&mut self, link: LinkId, packet: PacketId) {
        let node = self.links[link].to();
        let next = self.nodes[node].next_hop(self.packets.label(packet).dst);
        let cause = DropCause::Congestion;
        self.links.count_drop(next, cause, Priority::Normal);
        self.lose(next, packet, cause, self.now);
    }

    /// Brings fused links to their state in a run without fused hops, at the end of the run. `last`
    /// is the last handled event.
    pub(crate) fn fast_settle_hops(&mut self, last: &Event) {
        let now = self.now;
        let has_arrived =
            |from: LinkId, at: Instant| Event::new(at, Kind::Arrival, from.0, 0) <= *last;
        for id in self.links.ids() {
            let early = self.links[id].fast_roll_back(now, has_arrived);
            self.events -= early as u64;
        }
    }
}

#[cfg(test)]
mod tests;
