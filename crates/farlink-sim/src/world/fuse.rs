//! Hops that need no event of their own.
//!
//! A packet's arrival at a router changes nothing but the link that it takes next. If that link
//! carries nothing but what comes over one other link, and nobody looks at it in between, it may
//! take each packet as soon as the link before has: the result is the same to the bit, and the
//! packet has an event fewer. Runs with probes and networks that carry packets of real programs
//! are looked at at any time, agents that are on hold and send what they like: there nothing is
//! fused.

use super::World;
use crate::event_queue::{Event, Kind};
use crate::scenario::{Expanded, ExpandedFlow};
use crate::udp::UdpFlow;
use crate::xtp::XtpFlow;
use farlink_channel::DropCause;
use farlink_tcp::congestion::sends_dummies;
use farlink_tcp::{Instant, Priority};
use farlink_wire::{ById, LinkId, NodeId, PacketId};

/// Source or destination of a link's packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Feeder {
    /// Nothing is known to.
    None,
    /// One link, for all packets.
    Link(LinkId),
    /// Several links, or packets begin or end here.
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
    /// Fuses the hops of which nobody can tell. To be called before a run, on a world without
    /// probes and packets of real programs.
    pub(crate) fn fuse(&mut self, scenario: &Expanded) {
        // When what is of low priority goes on depends on what comes later.
        let low = |flow: &ExpandedFlow| {
            let ends = [&flow.sender, &flow.receiver];
            ends.iter().any(|end| sends_dummies(&end.congestion))
        };
        if !self.nobody_moves() || !self.crosses_no_agent() || scenario.flows.iter().any(low) {
            return;
        }
        let Some((feeders, fed)) = self.feeders() else {
            return;
        };
        for (id, &feeder) in feeders.each() {
            if let Feeder::Link(from) = feeder
                && self.links[from].may_hand_on()
                && self.links[id].may_take_ahead()
            {
                self.links[from].hand_on();
                self.links[id].take_all_ahead_from(from);
                if fed[from] == Feeder::Link(id) {
                    self.links[from].hand_all_onto(id);
                }
            }
        }
    }

    /// Returns the sources and destinations of each link by the paths of all flows; `None` if a
    /// path is as long as a packet can live.
    fn feeders(&self) -> Option<(ById<LinkId, Feeder>, ById<LinkId, Feeder>)> {
        let none = || self.links.ids().map(|_| Feeder::None).collect();
        let mut feeders: ById<LinkId, Feeder> = none();
        let mut fed: ById<LinkId, Feeder> = none();
        let over_tcp = self.ends.iter().map(|end| (end.node, end.peer));
        let datagrams = self.udp.iter().map(UdpFlow::nodes).map(|[a, b]| (a, b));
        let over_xtp = self.xtp.iter().map(XtpFlow::nodes);
        let over_xtp = over_xtp.flat_map(|[a, b]| [(a, b), (b, a)]);
        for (from, to) in over_tcp.chain(datagrams).chain(over_xtp) {
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

    /// A packet will be at the far end of a link at `at`: the next link takes it now, if it may,
    /// and so may the one behind that.
    pub(crate) fn hand_on(&mut self, link: LinkId, packet: PacketId, at: Instant) {
        let label = self.packets.label(packet);
        let (mut link, mut at) = (link, at);
        while self.links[link].hands_on() {
            let next = match self.links[link].hands_all_onto() {
                Some(next) => next,
                None => match self.takes_ahead(link, label.dst) {
                    Some(next) => next,
                    None => break,
                },
            };
            let Some(arrives) = self.links[next].take_ahead(self.now, at, label) else {
                self.serial = self.serial.wrapping_add(1).max(1);
                let event = Event::new(at, Kind::Arrival, link.0, self.serial);
                self.queue.push_with(event, packet.0);
                return;
            };
            self.events += 1;
            (link, at) = (next, arrives);
        }
        if self.links[link].flies(packet, at) {
            self.queue.push(Event::new(at, Kind::Arrival, link.0, 0));
        }
    }

    /// The link that takes a packet ahead of time that comes over `link` on its way to `dst`.
    #[inline]
    fn takes_ahead(&self, link: LinkId, dst: NodeId) -> Option<LinkId> {
        let node = self.links[link].to();
        let next = self.nodes[node].next_hop(dst);
        (dst != node && self.links[next].takes_ahead_from(link)).then_some(next)
    }

    /// A packet that was handed on is where it finds no room on the next link.
    #[cold]
    pub(crate) fn refused_ahead(&mut self, link: LinkId, packet: PacketId) {
        let node = self.links[link].to();
        let next = self.nodes[node].next_hop(self.packets.label(packet).dst);
        let cause = DropCause::Congestion;
        self.links.count_drop(next, cause, Priority::Normal);
        self.lose(next, packet, cause, self.now);
    }

    /// The run is over, and `last` was its last event: links that took packets ahead of time are
    /// as they would be if they had not.
    pub(crate) fn settle_fused(&mut self, last: &Event) {
        let now = self.now;
        let has_come =
            |from: LinkId, at: Instant| Event::new(at, Kind::Arrival, from.0, 0) <= *last;
        for id in self.links.ids() {
            let early = self.links[id].settle(now, has_come);
            self.events -= early as u64;
        }
    }
}

#[cfg(test)]
mod tests;
