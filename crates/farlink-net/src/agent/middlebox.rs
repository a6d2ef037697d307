//! What an agent is to the network: it is shown packets, and says what becomes of them.

use super::crossing::Crossing;
use super::view::View;
use crate::id::PacketId;
use crate::packet::Packet;
use farlink_tcp::Instant;
use std::fmt::Debug;

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It goes on, as the agent may have changed it.
    Forward,
    /// It is dropped, with the cause `agent`.
    Drop,
    /// It ends here and is not lost: the agent has taken what it carries.
    Absorb,
    /// It stays at the node until the agent says [`Action::Release`] or
    /// [`Action::Discard`].
    Hold,
}

/// What an agent does beside its verdict, in the order in which it says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// A packet of the agent's own leaves its node: it takes a place in the queue of its
    /// link and in the counters.
    Inject(Packet),
    /// A held packet goes on.
    Release(PacketId),
    /// A held packet is dropped.
    Discard(PacketId),
}

/// An agent. What it sends meets no other agent of its node.
pub trait Agent: Debug + Send + Sync {
    /// A packet crosses the node. It is known as `id` until it goes on.
    fn on_packet(
        &mut self,
        now: Instant,
        id: PacketId,
        crossing: Crossing,
        view: &mut View<'_>,
        actions: &mut Vec<Action>,
    ) -> Verdict;

    /// When it wants to be called, if at all; asked after each call.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Its deadline has come.
    fn on_deadline(&mut self, _now: Instant, _actions: &mut Vec<Action>) {}

    /// What it counted, by name.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}
