//! Fate of packets on a link.

use farlink_channel::DropCause;
use farlink_tcp::Instant;
use farlink_wire::id::{LinkId, PacketId};

/// Fate of a packet offered to a direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Lost at time `at`.
    Lost {
        /// Cause of the loss.
        cause: DropCause,
        /// Time of the loss.
        at: Instant,
    },
    /// Arrives at the far end.
    Arrives {
        /// Time of arrival.
        at: Instant,
        /// Set if the channel changed bits.
        corrupt: bool,
        /// Number of duplicates that the channel made.
        copies: u8,
        /// Set if the packet may arrive out of order.
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

/// Outcome that a link reports to the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The packet is the first in flight. The caller must call [`super::Links::arrive`] at this
    /// time.
    FirstInFlight(LinkId, Instant),
    /// The packet arrives at this time. The caller may admit it to the next link now if
    /// [`super::Simplex::admits_early_from`] holds, and otherwise calls
    /// [`super::Simplex::push_in_flight`].
    ForwardEarly(LinkId, PacketId, Instant),
    /// The packet arrives at this time, independent of the order of the others.
    Overtakes(LinkId, PacketId, Instant),
    /// The packet arrives now.
    Arrived(LinkId, PacketId),
    /// The channel duplicated a packet; the second is the duplicate.
    Copied(PacketId, PacketId),
    /// The packet's last bit leaves the transmitter at this time. Reported only for a direction
    /// with an agent.
    Left(LinkId, PacketId, Instant),
    /// A frame with the packet leaves the transmitter at this time, after an earlier one did
    /// (retransmission by the link-layer protocol).
    Again(LinkId, PacketId, Instant),
    /// The packet is lost at this time.
    Lost(LinkId, PacketId, DropCause, Instant),
}
