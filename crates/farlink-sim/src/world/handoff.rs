//! Hosts that move from link to link.
//!
//! A moving host is attached to one of its links at a time. When it leaves a link, packets in
//! transmission are lost, and queued packets are lost or stored. Agents drop, transfer or keep
//! their state of the host's connections. When the host joins the next link, the routes from and to
//! the host change, and stored packets are sent over the new routes.

use super::World;
use super::mover::{Mover, Plan, StateTransfer, nearest};
use crate::event_queue::{Event, Kind};
use crate::log;
use farlink_channel::DropCause;
use farlink_channel::mobility::Point;
use farlink_tcp::{Instant, Interval};
use farlink_wire::{ById, Direction, LinkId, NodeId, PacketId};

// Kinds of handoff events, stored in the event's counter. One transfer event handles all transfers
// due at its time.
const LEAVE: u32 = 0;
const JOIN: u32 = 1;
const STATE: u32 = 2;

impl World {
    /// Adds a moving host, attached to the first of its links.
    pub(crate) fn add_mover(&mut self, mover: Mover) {
        let number = self.roaming.movers.len() as u32;
        for (place, &link) in mover.links.iter().enumerate() {
            self.links.may_close(link);
            if place != mover.at {
                self.links.close(link);
            }
        }
        let leave = |at| Event::new(at, Kind::Handoff, number, LEAVE);
        match &mover.plan {
            Plan::At(times) => {
                for &at in times {
                    self.queue.push(leave(at));
                }
            }
            Plan::Walk { every, .. } => self.queue.push(leave(Instant::ZERO + *every)),
        }
        self.roaming.movers.push(mover);
        self.note_movers();
    }

    /// Sets the reported position of a host, which from now on replaces the position on its walk.
    pub(crate) fn place(&mut self, node: NodeId, at: Point) {
        for mover in &mut self.roaming.movers {
            if mover.node == node {
                mover.reported = Some(at);
            }
        }
    }

    /// Sets the routes to moving hosts, and lets their stations check packets that cross them
    /// ([`World::is_stale`]). Must be called after the nodes are built.
    pub(crate) fn note_movers(&mut self) {
        for number in 0..self.roaming.movers.len() {
            for link in self.roaming.movers[number].links.clone() {
                for direction in Direction::BOTH {
                    let end = self.links[LinkId::new(link, direction)].to();
                    self.nodes[end].has_agents = true;
                }
            }
            self.reroute(number);
        }
    }

    /// Handles a handoff event of a moving host.
    #[cold]
    pub(crate) fn handoff_due(&mut self, number: usize, what: u32) {
        match what {
            LEAVE => self.decide(number),
            JOIN => self.join(number),
            _ => self.take_over(),
        }
    }

    /// Starts a handoff if the plan or the position of a host requires another link now.
    fn decide(&mut self, number: usize) {
        let now = self.now;
        let mover = &mut self.roaming.movers[number];
        let reported = mover.reported;
        let target = match &mut mover.plan {
            Plan::At(_) => (mover.at + 1) % mover.links.len(),
            Plan::Walk {
                walker,
                places,
                every,
                hysteresis,
            } => {
                let event = Event::new(now + *every, Kind::Handoff, number as u32, LEAVE);
                self.queue.push(event);
                let here = reported.unwrap_or_else(|| walker.at(now));
                let far = |place: usize| here.distance(places[place]);
                let best = nearest(here, places, mover.at);
                if far(best) + *hysteresis > far(mover.at) {
                    return;
                }
                best
            }
        };
        if target == mover.at || mover.is_away {
            return;
        }
        self.leave_link(number, target);
    }

    /// Detaches a host from its link. `target` is the index of the next link in the host's list.
    fn leave_link(&mut self, number: usize, target: usize) {
        let mover = &mut self.roaming.movers[number];
        let (node, left) = (mover.node, mover.links[mover.at]);
        log::handoff(self.now, node.0, left, mover.links[target]);
        mover.counts.handoffs += 1;
        (mover.at, mover.is_away) = (target, true);
        let waiting = self.links.close(left);
        for (direction, waiting) in Direction::BOTH.into_iter().zip(waiting) {
            let link = LinkId::new(left, direction);
            let from = self.links[link.reverse()].to();
            for packet in waiting {
                self.refused(packet);
                self.keep_or_lose(number, from, link, packet);
            }
            self.watch_closed(link);
        }
        // State in transit to an agent of the old link moves on with the host.
        let mut next = 0;
        while let Some(transfer) = self.roaming.transfers.get(next) {
            if transfer.mover != number {
                next += 1;
                continue;
            }
            let transfer = self.roaming.transfers.remove(next);
            let at = self.agents.all[transfer.agent].node;
            let link = LinkId::new(left, Direction::Down);
            for (_, packet) in transfer.held {
                self.keep_or_lose(number, at, link, packet);
            }
            let mover = &mut self.roaming.movers[number];
            mover.moved.push((transfer.agent, transfer.moved));
        }
        for agent in 0..self.agents.all.len() {
            let placed = &self.agents.all[agent];
            let Some(how) = placed.handing.how.filter(|_| placed.wireless == left) else {
                continue;
            };
            let mut moved = None;
            self.call_agent(agent, |agent, now, out| {
                moved = agent.on_leave(now, node, how, out);
            });
            let mover = &mut self.roaming.movers[number];
            mover.moved.extend(moved.map(|moved| (agent, moved)));
        }
        let gap = self.roaming.movers[number].gap;
        if gap.is_zero() {
            self.join(number);
        } else {
            let event = Event::new(self.now + gap, Kind::Handoff, number as u32, JOIN);
            self.queue.push(event);
        }
    }

    /// Attaches a host to its next link, changes the routes, and forwards stored packets.
    fn join(&mut self, number: usize) {
        let mover = &mut self.roaming.movers[number];
        mover.is_away = false;
        let link = mover.links[mover.at];
        let kept = std::mem::take(&mut mover.kept);
        let moved = std::mem::take(&mut mover.moved);
        mover.counts.forwarded += kept.len() as u64;
        self.links.reopen(link);
        self.reroute(number);
        for (agent, moved) in moved {
            let handing = &self.agents.all[agent].handing;
            let mut peers = handing.peers.iter();
            let Some(&(_, peer)) = peers.find(|peer| peer.0 == link) else {
                continue;
            };
            let bits = moved.bytes * 8;
            let sending = match handing.rate {
                0 => Interval::ZERO,
                rate => Interval::of_bits(bits, rate),
            };
            let takes = handing.delay + sending;
            let counts = &mut self.roaming.movers[number].counts;
            counts.transferred += moved.bytes;
            counts.transfer_time += takes.as_nanos();
            self.roaming.transfers.push(StateTransfer {
                agent: peer,
                mover: number,
                at: self.now + takes,
                moved,
                held: Vec::new(),
            });
            let at = self.now + takes;
            let event = Event::new(at, Kind::Handoff, number as u32, STATE);
            self.queue.push(event);
        }
        self.take_over();
        for (node, link, packet) in kept {
            if !self.forward(node, packet) {
                self.no_route(node, link.reverse(), packet);
            }
        }
    }

    /// Passes state whose transfer has ended to the agents.
    fn take_over(&mut self) {
        while let Some(place) = self
            .roaming
            .transfers
            .iter()
            .position(|item| item.at <= self.now)
        {
            let transfer = self.roaming.transfers.remove(place);
            let moved = transfer.moved;
            self.call_agent(transfer.agent, |agent, now, out| {
                agent.on_join(now, moved, out);
            });
            for (link, packet) in transfer.held {
                let node = self.agents.all[transfer.agent].node;
                self.cross_from(node, link, packet, transfer.agent);
            }
        }
    }

    /// Holds a packet that crosses an agent while state of the packet's host is in transit to this
    /// agent. Returns when the agent gets the packet.
    pub(super) fn hold_for_state(
        &mut self,
        agent: usize,
        link: LinkId,
        packet: PacketId,
    ) -> AgentDelivery {
        let label = self.packets.label(packet);
        let src = self.packets[packet].src;
        let movers = &self.roaming.movers;
        let of_host = |transfer: &&mut StateTransfer| {
            let host = movers[transfer.mover].node;
            transfer.agent == agent && (host == label.dst || host == src)
        };
        let Some(transfer) = self.roaming.transfers.iter_mut().find(of_host) else {
            return AgentDelivery::Now;
        };
        if !self.agents.all[agent].agent.is_needed() {
            return AgentDelivery::Never;
        }
        transfer.held.push((link, packet));
        AgentDelivery::Later
    }

    /// Returns whether no host moves.
    pub(crate) fn nobody_moves(&self) -> bool {
        self.roaming.movers.is_empty()
    }

    /// Drops a packet to a moving host that reached a station over a route from before the handoff.
    /// If queued packets are forwarded, it is not dropped. Returns whether it was.
    pub(super) fn is_stale(&mut self, node: NodeId, link: LinkId, packet: PacketId) -> bool {
        let to = self.packets.label(packet).dst;
        let Some(number) = self
            .roaming
            .movers
            .iter()
            .position(|entry| entry.node == to)
        else {
            return false;
        };
        let mover = &self.roaming.movers[number];
        let ends = |&link: &u32| {
            let ends =
                Direction::BOTH.map(|direction| self.links[LinkId::new(link, direction)].to());
            ends.contains(&node)
        };
        let before = self.links[link.reverse()].to();
        if mover.forwards
            || mover.is_away
            || !mover.links.iter().any(ends)
            || self.nodes[before].next_hop(to) == link
        {
            return false;
        }
        self.refused(packet);
        self.lose_beyond(link, packet, DropCause::Handoff);
        self.roaming.movers[number].counts.lost_waiting += 1;
        true
    }

    /// Stores or drops a packet that is offered to a link whose host has left.
    #[cold]
    pub(super) fn offered_to_closed(&mut self, node: NodeId, link: LinkId, packet: PacketId) {
        self.refused(packet);
        let mut movers = self.roaming.movers.iter();
        if let Some(number) = movers.position(|mover| mover.links.contains(&link.link())) {
            self.keep_or_lose(number, node, link, packet);
        }
    }

    fn keep_or_lose(&mut self, number: usize, node: NodeId, link: LinkId, packet: PacketId) {
        let mover = &mut self.roaming.movers[number];
        if mover.forwards {
            mover.kept.push((node, link, packet));
            return;
        }
        mover.counts.lost_waiting += 1;
        self.lose_beyond(link, packet, DropCause::Handoff);
    }

    /// Drops a packet at the far end of a link. Losses by a handoff are counted.
    #[cold]
    pub(super) fn cut_off(&mut self, link: LinkId, packet: PacketId, cause: DropCause) {
        if cause == DropCause::Handoff {
            let mut movers = self.roaming.movers.iter_mut();
            if let Some(mover) = movers.find(|entry| entry.links.contains(&link.link())) {
                mover.counts.lost_on_air += 1;
            }
        }
        self.lose_beyond(link, packet, cause);
    }

    /// Sets the routes from and to a host. They lead over its current link, with the fewest links
    /// to its station, and not through another moving host.
    fn reroute(&mut self, number: usize) {
        let mover = &self.roaming.movers[number];
        let (host, link) = (mover.node, mover.links[mover.at]);
        let passes = |node: NodeId| self.roaming.movers.iter().all(|item| item.node != node);
        let mut distance: ById<NodeId, u32> = self.nodes.iter().map(|_| u32::MAX).collect();
        distance[host] = 0;
        let mut list = vec![host];
        let mut next = 0;
        while let Some(&at) = list.get(next) {
            next += 1;
            for id in self.links.ids() {
                let (from, to) = (self.links[id.reverse()].to(), self.links[id].to());
                let open = at != host || id.link() == link;
                if to == at && open && passes(from) && distance[from] == u32::MAX {
                    distance[from] = distance[at] + 1;
                    list.push(from);
                }
            }
        }
        for &at in &list[1..] {
            let nearer = |id: &LinkId| {
                let (from, to) = (self.links[id.reverse()].to(), self.links[*id].to());
                from == at && distance[to] == distance[at] - 1 && (to != host || id.link() == link)
            };
            let route = self.links.ids().find(nearer);
            if let (Some(route), Some(entry)) = (route, self.nodes[at].routes.get_mut(host)) {
                *entry = route;
            }
        }
        let own = Direction::BOTH.map(|direction| LinkId::new(link, direction));
        let out = own.into_iter().find(|id| self.links[*id].to() != host);
        let routes = &mut self.nodes[host].routes;
        for to in routes.ids() {
            if let (Some(out), true) = (out, to != host) {
                routes[to] = out;
            }
        }
    }
}

/// Time at which an agent gets a packet that crosses it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AgentDelivery {
    /// At once.
    Now,
    /// After the state in transit has arrived at the agent.
    Later,
    /// Never, because the packet bypasses the agent.
    Never,
}
