//! Fate of packets on a link.

use farlink_channel::DropCause;
use farlink_tcp::Instant;
use farlink_wire::id::{LinkId, PacketId};

/// Fate of a packet that was handed to the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Lost; `at` is the time of the loss.
    Lost {
        /// Why.
        cause: DropCause,
        /// Time of the loss.
        at: Instant,
    },
    /// Arrives.
    Arrives {
        /// Time of arrival.
        at: Instant,
        /// With changed bits.
        corrupt: bool,
        /// With so many copies beside it.
        copies: u8,
        /// Outside the order of the others.
        overtakes: bool,
    },
}

impl Fate {
    /// Returns the arrival time of a packet that arrives unchanged.
    #[inline]
    pub(super) fn plain(self) -> Option<Instant> {
        match self {
            Self::Arrives {
                at,
                corrupt: false,
                copies: 0,
                overtakes: false,
            } => Some(at),
            _ => None,
        }
    }

    /// Returns whether a full queue refused the packet.
    #[inline]
    pub(super) fn refused(self) -> bool {
        matches!(
            self,
            Self::Lost {
                cause: DropCause::Congestion,
                ..
            }
        )
    }
}

/// Outcome of packets on a link, and requests of the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// A packet is the first in flight: [`super::Links::arrive`] is to be called then.
    FirstInFlight(LinkId, Instant),
    /// A packet reaches the far end then, and may be handed on now:
    /// [`super::Simplex::admits_early_from`]; where it is not, [`super::Simplex::push_in_flight`].
    ForwardEarly(LinkId, PacketId, Instant),
    /// A packet arrives outside the order of the others.
    Overtakes(LinkId, PacketId, Instant),
    /// A packet is at the far end, now.
    Arrived(LinkId, PacketId),
    /// A packet was copied; this is the copy.
    Copied(PacketId),
    /// A packet's last bit will have left the transmitter then: where an agent looks
    /// after the direction.
    Left(LinkId, PacketId, Instant),
    /// Arrival of a packet that the link-layer protocol retransmits.
    Again(LinkId, PacketId, Instant),
    /// A packet is lost; the time is when that happens.
    Lost(LinkId, PacketId, DropCause, Instant),
}
