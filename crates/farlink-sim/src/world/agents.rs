//! Agents at routers in the world: packets cross them, and what they ask for is done.

use super::World;
use super::placed::Placed;
use crate::heap::{Event, Kind};
use farlink_net::agent::{Action, Agent, Crossing, Verdict, View};
use farlink_net::channel::DropCause;
use farlink_net::{LinkId, NodeId, PacketId};
use farlink_tcp::Instant;

impl World {
    /// Puts an agent at a node, behind those that are there; it looks after link number
    /// `wireless`.
    pub(crate) fn add_agent(&mut self, node: NodeId, wireless: u32, agent: Box<dyn Agent>) {
        self.nodes[node].has_agents = true;
        self.agents.all.push(Placed {
            node,
            wireless,
            agent,
            due: Instant::MAX,
        });
        self.watch_agent(self.agents.all.len() - 1);
    }

    /// A packet that came over `link` crosses a node with agents. Returns whether it goes
    /// on.
    #[cold]
    pub(crate) fn cross(&mut self, node: NodeId, link: LinkId, packet: PacketId) -> bool {
        let next = self.nodes[node].next_hop(self.packets.label(packet).dst);
        for number in 0..self.agents.all.len() {
            let placed = &mut self.agents.all[number];
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
            let (now, agent) = (self.now, &mut placed.agent);
            let mut actions = std::mem::take(&mut self.agents.actions);
            let verdict = self.packets.rewrite(packet, |crosses| {
                let mut view = View::new(crosses);
                agent.on_packet(now, packet, crossing, &mut view, &mut actions)
            });
            if verdict == Verdict::Hold {
                self.agents.held.insert(packet, link);
            }
            self.perform_actions(node, actions);
            self.watch_agent(number);
            match verdict {
                Verdict::Forward => {}
                Verdict::Drop => {
                    self.lose_beyond(link, packet, DropCause::Agent);
                    return false;
                }
                Verdict::Absorb => {
                    self.agents.absorbed += 1;
                    self.packets.release(packet);
                    return false;
                }
                Verdict::Hold => return false,
            }
        }
        true
    }

    /// An agent wanted to be called now, unless it changed its mind.
    #[cold]
    pub(crate) fn agent_due(&mut self, number: usize) {
        let placed = &mut self.agents.all[number];
        if placed.due != self.now {
            return;
        }
        placed.due = Instant::MAX;
        if placed.agent.deadline().is_some_and(|at| at <= self.now) {
            let node = placed.node;
            let mut actions = std::mem::take(&mut self.agents.actions);
            placed.agent.on_deadline(self.now, &mut actions);
            self.perform_actions(node, actions);
        }
        self.watch_agent(number);
    }

    /// Does what an agent asks for.
    fn perform_actions(&mut self, node: NodeId, mut actions: Vec<Action>) {
        for action in actions.drain(..) {
            match action {
                Action::Inject(packet) => {
                    self.agents.injected += 1;
                    let packet = self.packets.hold(packet);
                    if !self.forward(node, packet) {
                        // As if it had never been.
                        self.agents.injected -= 1;
                        self.packets.release(packet);
                    }
                }
                Action::Release(packet) => {
                    if let Some(link) = self.agents.held.remove(&packet)
                        && !self.forward(node, packet)
                    {
                        self.no_route(node, link, packet);
                    }
                }
                Action::Discard(packet) => {
                    if let Some(link) = self.agents.held.remove(&packet) {
                        self.lose_beyond(link, packet, DropCause::Agent);
                    }
                }
            }
        }
        self.agents.actions = actions;
    }

    /// Sees to it that an agent is called when it wants to be.
    fn watch_agent(&mut self, number: usize) {
        let placed = &mut self.agents.all[number];
        let due = placed.agent.deadline().unwrap_or(Instant::MAX);
        if due < placed.due {
            let at = due.max(self.now);
            placed.due = at;
            let event = Event::new(at, Kind::Agent, number as u32, 0, 0);
            self.heap.push(event);
        }
    }
}

#[cfg(test)]
mod tests;
