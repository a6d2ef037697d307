//! Agents at routers: machines between the ends of a connection that read, change, drop,
//! hold and send packets.
//!
//! An agent is told the time and each packet that crosses its node, and answers what
//! becomes of it; it names the instant at which it wants to be called again. It sees a
//! packet through a [`View`], and cannot tell whether the packet is simulated or bytes of
//! a real program.

mod connections;
mod eln;
mod view;

use crate::id::PacketId;
use crate::packet::Packet;
pub use connections::{Connections, Ends, Limits};
pub use eln::Eln;
use farlink_tcp::Instant;
use std::fmt::Debug;
pub use view::{Path, View};

/// Where a packet goes as it crosses the node of an agent, seen from the link that the
/// agent looks after: the wireless one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Crossing {
    /// To the wireless link.
    ToWireless,
    /// From the wireless link.
    FromWireless,
    /// Between two other links.
    Beside,
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It goes on, as the agent may have changed it.
    Forward,
    /// It is dropped, with the cause `agent`.
    Drop,
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
