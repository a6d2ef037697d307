//! Fate of one packet in a channel.

use farlink_tcp::Interval;

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum DropCause {
    /// No room in a queue.
    Congestion,
    /// Lost in the channel as a whole packet.
    Loss,
    /// More bits in error than the link can correct; dropped at its far end.
    BitError,
    /// Delivered with changed bits and discarded by the receiver's checksum.
    Checksum,
    /// Lost while changing from one link to another.
    Handoff,
    /// The link was in a fade.
    Fade,
    /// The link layer gave up retransmitting.
    LinkGiveUp,
    /// Dropped on purpose by a policy.
    Policy,
    /// No route to the destination.
    NoRoute,
    /// Too many hops.
    HopLimit,
    /// Longer than the next link takes, and not to be cut.
    TooBig,
    /// Some of its fragments did not come in time, or contradicted each other.
    Reassembly,
    /// Dropped by an agent at a router.
    Agent,
}

impl DropCause {
    /// Every cause; a cause's number is its place here.
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
    /// As it was sent.
    Pass,
    /// With changed bits.
    Corrupt,
    /// Lost, for this cause.
    Drop(DropCause),
}

/// Result of one packet's way through a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    /// Arrival or loss.
    pub verdict: Verdict,
    /// Copies that arrive beside it, with its verdict, at its time.
    pub copies: u8,
    /// Delay beyond that of the link.
    pub hold: Interval,
    /// Set if the packet is outside the order: it neither waits for earlier packets nor delays
    /// later ones. Packets without this mark leave the channel in the order in which they entered
    /// it.
    pub may_overtake: bool,
}

impl Passage {
    /// Through, untouched.
    pub const CLEAN: Self = Self {
        verdict: Verdict::Pass,
        copies: 0,
        hold: Interval::ZERO,
        may_overtake: false,
    };
}
