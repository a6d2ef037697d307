//! Fate of one packet in a channel.

use farlink_tcp::Interval;

/// Cause of the drop of a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum DropCause {
    /// Queue without room.
    Congestion,
    /// Lost as a whole in the channel.
    Loss,
    /// More bit errors than the link can correct; its far end drops the packet.
    BitError,
    /// Delivered with changed bits and discarded by the receiver's checksum.
    Checksum,
    /// Loss during a change from one link to another.
    Handoff,
    /// The link was in a fade.
    Fade,
    /// The link layer gave up retransmitting.
    LinkGiveUp,
    /// Dropped on purpose by a policy, such as an ACK filter.
    Policy,
    /// Lack of a route to the destination.
    NoRoute,
    /// Too many hops.
    HopLimit,
    /// Longer than the MTU of the next link, and fragmentation is forbidden.
    TooBig,
    /// Fragments that were not received in time, or contradicted each other.
    Reassembly,
    /// Dropped by an agent at a router.
    Agent,
}

impl DropCause {
    /// All causes; the number of a cause is its index here.
    pub const ALL: &[Self] = &[
        Self::Congestion,
        Self::Loss,
        Self::BitError,
        Self::Checksum,
        Self::Handoff,
        Self::Fade,
        Self::LinkGiveUp,
        Self::Policy,
        Self::NoRoute,
        Self::HopLimit,
        Self::TooBig,
        Self::Reassembly,
        Self::Agent,
    ];

    /// Returns the name in results and traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Congestion => "congestion",
            Self::Loss => "loss",
            Self::BitError => "bit_error",
            Self::Checksum => "checksum",
            Self::Handoff => "handoff",
            Self::Fade => "fade",
            Self::LinkGiveUp => "link_give_up",
            Self::Policy => "policy",
            Self::NoRoute => "no_route",
            Self::HopLimit => "hop_limit",
            Self::TooBig => "too_big",
            Self::Reassembly => "reassembly",
            Self::Agent => "agent",
        }
    }
}

/// Arrival or loss of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The packet arrives as it was sent.
    Pass,
    /// The packet arrives with changed bits.
    Corrupt,
    /// The packet is lost for this cause.
    Drop(DropCause),
}

/// Result of a packet's passage through a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    /// Arrival or loss.
    pub verdict: Verdict,
    /// Number of copies that arrive together with the packet, with the same verdict.
    pub copies: u8,
    /// Delay in addition to that of the link.
    pub hold: Interval,
    /// Set if the packet neither waits for earlier packets nor delays later ones. All other packets
    /// leave the channel in the order in which they entered it.
    pub may_overtake: bool,
}

impl Passage {
    /// Passage without any effect.
    pub const CLEAN: Self = Self {
        verdict: Verdict::Pass,
        copies: 0,
        hold: Interval::ZERO,
        may_overtake: false,
    };
}
