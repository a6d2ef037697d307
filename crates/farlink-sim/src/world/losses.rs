//! Records of lost packets, for captures and for the counters of flows.

use farlink_channel::DropCause;
use farlink_tcp::Instant;
use farlink_wire::{FlowId, LinkId, Packet};

/// A packet of a real program that was lost.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) at: Instant,
    pub(crate) link: LinkId,
    pub(crate) cause: DropCause,
    pub(crate) packet: Packet,
}

/// A loss after a transmitter that the packet has not left yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LostLater {
    pub(crate) at: Instant,
    /// Flow of the packet.
    pub(crate) flow: FlowId,
    /// Cause of the loss. `None` for a packet of the data receiver, whose losses are not counted by
    /// cause.
    pub(crate) cause: Option<DropCause>,
}
