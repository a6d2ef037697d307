//! Agents at routers: packets pass the agents, and the actions that agents request are executed.

use super::handoff::AgentDelivery;
use super::placed::{Handing, Placed};
use super::{Node, World};
use crate::event_queue::{Event, Kind};
use crate::flow::EndId;
use farlink_agent::{Action, Agent, Crossing, Injection, LinkEvent, Out, Tag, Verdict, View};
use farlink_channel::DropCause;
use farlink_tcp::{Dscp, Instant, Notice, Reason};
use farlink_wire::{ById, Direction, LinkId, NodeId, Packet, PacketId, Payload, icmp};

impl World {
    /// Replaces the nodes, and keeps their agents.
    pub(crate) fn set_nodes(&mut self, nodes: ById<NodeId, Node>) {
        self.nodes = nodes;
        for placed in &self.agents.all {
            self.nodes[placed.node].has_agents = true;
        }
        self.note_movers();
    }

    /// Sets the fate of an agent's per-host state when the host leaves the agent's link.
    pub(crate) fn set_handing(&mut self, number: usize, handing: Handing) {
        self.agents.all[number].handing = handing;
    }

    /// Adds an agent at a node, after the node's other agents, and returns its number. The agent is
    /// asleep until [`Self::wake_agent`]. `wireless` is the number of its link.
    pub(crate) fn add_agent(
        &mut self,
        node: NodeId,
        wireless: u32,
        agent: Box<dyn Agent>,
    ) -> usize {
        self.nodes[node].has_agents = true;
        self.agents.taps.add(node, wireless);
        self.agents.all.push(Placed {
            node,
            wireless,
            agent,
            due: Instant::MAX,
            injected: 0,
            handing: Handing::default(),
            sleeps: true,
        });
        let number = self.agents.all.len() - 1;
        self.watch_agent(number);
        number
    }

    /// Wakes an agent that is on or will be switched on: from now on its link reports departures.
    /// The links of agents that stay off report nothing.
    pub(crate) fn wake_agent(&mut self, number: usize) {
        let placed = &mut self.agents.all[number];
        placed.sleeps = false;
        let (node, wireless, agent) = (placed.node, placed.wireless, &placed.agent);
        if agent.follows() || agent.sends_ahead() {
            for direction in Direction::BOTH {
                let id = LinkId::new(wireless, direction);
                if self.links[id].to() != node {
                    self.links.attach_agent(id, agent.sends_ahead());
                }
            }
        }
    }

    /// Lets packets bypass the agents if all agents are asleep. Returns whether they are.
    pub(super) fn crosses_no_agent(&mut self) -> bool {
        if !self.agents.all.iter().all(|placed| placed.sleeps) {
            return false;
        }
        for placed in &self.agents.all {
            self.nodes[placed.node].has_agents = false;
        }
        true
    }

    /// Passes a packet that arrived over `link` through the agents of a node.
    #[cold]
    pub(crate) fn cross(&mut self, node: NodeId, link: LinkId, packet: PacketId) {
        if !self.nobody_moves() && self.is_stale(node, link, packet) {
            return;
        }
        self.cross_from(node, link, packet, 0);
    }

    /// Passes a packet through a node's agents, beginning with agent number `first`.
    pub(super) fn cross_from(
        &mut self,
        node: NodeId,
        link: LinkId,
        packet: PacketId,
        first: usize,
    ) {
        let next = self.nodes[node].next_hop(self.packets.label(packet).dst);
        let watched = self.agents.taps.is_watched();
        if watched && first == 0 {
            self.tap(node, (link.link(), next.link()), packet, false);
        }
        for number in first..self.agents.all.len() {
            let placed = &self.agents.all[number];
            if placed.node != node {
                continue;
            }
            let crossing = if next.link() == placed.wireless {
                Crossing::ToWireless
            } else if link.link() == placed.wireless {
                Crossing::FromWireless
            } else {
                Crossing::Beside
            };
            if !self.nobody_moves() {
                match self.hold_for_state(number, link, packet) {
                    AgentDelivery::Now => {}
                    AgentDelivery::Later => return,
                    AgentDelivery::Never => continue,
                }
            }
            let mut out = self.agents.out();
            let (now, agent) = (self.now, &mut self.agents.all[number].agent);
            let verdict = self.packets.rewrite(packet, |crosses| {
                let mut view = View::new(crosses);
                agent.cross(now, packet, crossing, &mut view, &mut out)
            });
            if verdict == Verdict::Hold {
                self.agents.held.insert(packet, link);
            }
            self.act(number, out);
            match verdict {
                Verdict::Forward => {}
                Verdict::Follow(tag) => self.agents.followed.add(packet, number, tag),
                Verdict::Drop => {
                    self.refused(packet);
                    self.lose_beyond(link, packet, DropCause::Agent);
                    return;
                }
                Verdict::Hold => {
                    self.refused(packet);
                    return;
                }
                Verdict::Absorb => {
                    self.agents.absorbed += 1;
                    self.refused(packet);
                    self.packets.release(packet);
                    return;
                }
            }
        }
        if watched {
            self.tap(node, (next.link(), link.link()), packet, true);
        }
        if !self.forward(node, packet) {
            self.refused(packet);
            self.no_route(node, link, packet);
        }
    }

    /// Calls an agent whose timer has expired. A stale event is ignored.
    #[cold]
    pub(crate) fn agent_due(&mut self, number: usize) {
        let placed = &mut self.agents.all[number];
        if placed.due != self.now {
            return;
        }
        placed.due = Instant::MAX;
        if placed.agent.deadline().is_some_and(|at| at <= self.now) {
            self.call_agent(number, |agent, now, out| agent.on_deadline(now, out));
        } else {
            self.watch_agent(number);
        }
    }

    /// Sets the initial state of an agent (on or off), and schedules its switches.
    pub(crate) fn plan_switches(
        &mut self,
        number: usize,
        mut on: bool,
        switches: impl Iterator<Item = Instant>,
    ) {
        if on {
            self.wake_agent(number);
        } else {
            self.switch_agent(number, false);
        }
        for at in switches {
            on = !on;
            self.wake_agent(number);
            self.serial = self.serial.wrapping_add(1);
            let event = Event::new(at, Kind::Switch, number as u32, self.serial);
            self.queue.push_with(event, u32::from(on));
        }
    }

    /// Switches an agent off or on.
    pub(crate) fn switch_agent(&mut self, number: usize, on: bool) {
        if on && self.agents.all[number].sleeps {
            self.wake_agent(number);
        }
        self.call_agent(number, |agent, now, out| agent.switch(now, on, out));
    }

    /// Reports a packet's departure to its followers: its last bit has left the transmitter of a
    /// link with an agent. Only the first departure is reported.
    pub(super) fn left(&mut self, link: LinkId, packet: PacketId, at: Instant) {
        if self.links.arq(link).is_some() {
            self.notify_followers(packet, LinkEvent::Departed(at));
        } else {
            self.end_following(packet, LinkEvent::Departed(at));
        }
    }

    /// Reports to agents that the ARQ of the link retransmitted a packet.
    pub(super) fn left_again(&mut self, packet: PacketId, at: Instant) {
        self.notify_followers(packet, LinkEvent::Retransmitted(at));
    }

    /// Reports to the agents that follow a packet that it does not leave their node.
    pub(super) fn refused(&mut self, packet: PacketId) {
        self.end_following(packet, LinkEvent::Refused);
    }

    /// Ends the observation of a packet by agents.
    pub(super) fn unfollow(&mut self, packet: PacketId) {
        if !self.agents.followed.is_empty() {
            while self.agents.followed.pop(packet).is_some() {}
        }
    }

    fn notify_followers(&mut self, packet: PacketId, sent: LinkEvent) {
        let mut next = 0;
        while let Some((agent, tag)) = self.agents.followed.get(packet, next) {
            next += 1;
            self.notify_agent(agent, tag, sent);
        }
    }

    fn end_following(&mut self, packet: PacketId, sent: LinkEvent) {
        if self.agents.followed.is_empty() {
            return;
        }
        while let Some((agent, tag)) = self.agents.followed.pop(packet) {
            self.notify_agent(agent, tag, sent);
        }
    }

    fn notify_agent(&mut self, number: usize, tag: Tag, sent: LinkEvent) {
        self.call_agent(number, |agent, now, out| agent.on_sent(now, tag, sent, out));
    }

    /// Calls a method of an agent, and executes the actions that the agent requests.
    pub(super) fn call_agent(
        &mut self,
        number: usize,
        method: impl FnOnce(&mut dyn Agent, Instant, &mut Out),
    ) {
        let mut out = self.agents.out();
        let agent = &mut self.agents.all[number].agent;
        method(agent.as_mut(), self.now, &mut out);
        self.act(number, out);
    }

    /// Turns on the traces of agents: their records, and the packets that pass them.
    pub(crate) fn watch_agents(&mut self) {
        self.agents.taps.probed = true;
    }

    /// Executes the actions in `out`, which an agent has requested.
    fn act(&mut self, number: usize, mut out: Out) {
        if out.actions.is_empty() && out.notes.is_none() {
            self.agents.out = out;
            self.watch_agent(number);
            return;
        }
        let node = self.agents.all[number].node;
        for action in out.actions.drain(..) {
            match action {
                Action::Inject(injection) => self.inject(number, node, injection),
                Action::Notify(about) => self.send_bad_state(number, node, &about),
                Action::Release(packet) => {
                    if let Some(link) = self.agents.held.remove(&packet) {
                        self.tap_own(number, node, packet);
                        if !self.forward(node, packet) {
                            self.no_route(node, link, packet);
                        }
                    }
                }
                Action::Discard(packet) => {
                    if let Some(link) = self.agents.held.remove(&packet) {
                        self.lose_beyond(link, packet, DropCause::Agent);
                    }
                }
            }
        }
        self.take_notes(number, &mut out);
        self.agents.out = out;
        self.watch_agent(number);
    }

    /// Sends the ICMP message "bad state" about a packet to its sender.
    fn send_bad_state(&mut self, number: usize, node: NodeId, about: &Packet) {
        let Some(message) = icmp::bad_state(node, about) else {
            return;
        };
        let packet = Packet {
            src: node,
            dst: about.src,
            flow: about.flow,
            from_opener: !about.from_opener,
            ident: 0,
            ttl: message.ttl(),
            corrupt: false,
            ip: message.ip(),
            piece: None,
            payload: Payload::Raw(message),
        };
        let injection = Injection {
            packet,
            ahead: false,
            follow: None,
            why: (Reason::Icmp, false),
        };
        self.inject(number, node, injection);
    }

    /// Handles an ICMP message at an end of a flow. A "bad state" message is passed to the
    /// connection.
    pub(super) fn on_icmp(&mut self, end: EndId, number: PacketId) {
        if let Payload::Raw(raw) = &self.packets[number].payload
            && let Some((seq, ..)) = raw.bad_state_segment()
            && self.ends[end].live
        {
            let notice = Notice::BadState { seq };
            self.ends[end].conn.on_notice(self.now, notice);
        }
        self.packets.release(number);
        self.serve(end);
    }

    fn inject(&mut self, number: usize, node: NodeId, injection: Injection) {
        self.agents.injected += 1;
        self.agents.all[number].injected += 1;
        let (reason, again) = injection.why;
        let mut packet = injection.packet;
        if let Payload::Tcp(segment) = &mut packet.payload
            && segment.dscp == Dscp::DEFAULT
            && let Some(flow) = self.hot.get(packet.flow)
        {
            segment.dscp = flow.dscp;
        }
        let packet = self.make_packet(packet, reason, again);
        if injection.ahead {
            self.packets.send_ahead(packet);
        }
        if let Some(tag) = injection.follow {
            self.agents.followed.add(packet, number, tag);
        }
        self.tap_own(number, node, packet);
        if !self.forward(node, packet) {
            // A packet without a route does not count as sent.
            self.agents.injected -= 1;
            self.agents.all[number].injected -= 1;
            self.unfollow(packet);
            self.packets.release(packet);
        }
    }

    /// Records a packet that an agent sends, if taps are on.
    fn tap_own(&mut self, number: usize, node: NodeId, packet: PacketId) {
        if self.agents.taps.is_watched() {
            let next = self.nodes[node].next_hop(self.packets.label(packet).dst);
            let wireless = self.agents.all[number].wireless;
            self.tap(node, (next.link(), wireless), packet, true);
        }
    }

    /// Passes an agent's notes to the probes.
    fn take_notes(&mut self, number: usize, out: &mut Out) {
        let Some(notes) = &mut out.notes else { return };
        for note in notes.drain(..) {
            let seq = self.place_in_stream(note.flow, note.from_opener, note.seq);
            if let Some(probes) = &mut self.probes {
                probes.agent(self.now, number as u32, &note, seq);
            }
        }
    }

    /// Schedules an agent's next call at the time that the agent requests.
    fn watch_agent(&mut self, number: usize) {
        let placed = &mut self.agents.all[number];
        let due = placed.agent.deadline().unwrap_or(Instant::MAX);
        if due < placed.due {
            let at = due.max(self.now);
            placed.due = at;
            let event = Event::new(at, Kind::Agent, number as u32, 0);
            self.queue.push(event);
        }
    }
}

#[cfg(test)]
mod tests;
