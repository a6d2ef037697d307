//! What becomes of packets on a link.

use crate::channel::DropCause;
use crate::id::{LinkId, PacketId};
use farlink_tcp::Instant;

/// What becomes of a packet that was handed to the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is lost; `at` is when that happened.
    Lost {
        /// Why.
        cause: DropCause,
        /// When.
        at: Instant,
    },
    /// It arrives.
    Arrives {
        /// When.
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
    /// When a packet arrives to which nothing happens on the way.
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

    /// Whether a full queue did not take it.
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

/// What became of packets on a link, and what it asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// A packet is the first in flight: [`super::Links::arrive`] is to be called then.
    Flies(LinkId, Instant),
    /// A packet reaches the far end then, and may be handed on now:
    /// [`super::Simplex::takes_ahead_from`]; where it is not, [`super::Simplex::flies`].
    HandsOn(LinkId, PacketId, Instant),
    /// A packet arrives outside the order of the others.
    Overtakes(LinkId, PacketId, Instant),
    /// A packet is at the far end, now.
    Arrived(LinkId, PacketId),
    /// A packet was copied; this is the copy.
    Copied(PacketId),
    /// A packet's last bit will have left the transmitter then: where an agent looks
    /// after the direction.
    Left(LinkId, PacketId, Instant),
    /// The same of a packet that the protocol of the link sends again.
    Again(LinkId, PacketId, Instant),
    /// A packet is lost; the time is when that happens.
    Lost(LinkId, PacketId, DropCause, Instant),
}
