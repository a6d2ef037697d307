//! Two directions over one medium, as a radio that cannot send and receive at once has.
//!
//! While one direction sends the other waits. When the medium becomes free and both have
//! something to send, they take turns, packet by packet: the one that did not send last goes
//! first. So which packet goes when depends on what comes later in the other direction, and all
//! packets wait in the class whose packets are decided when the medium is free ([`super::low`]),
//! those that an agent sends ahead in front.

use super::Simplex;
use farlink_tcp::Instant;

/// Medium that both directions may share.
#[derive(Debug, Default)]
pub(in crate::link) struct Medium {
    pub(in crate::link) is_shared: bool,
    /// Set if this direction was the last of the two to send.
    sent_last: bool,
    /// End of the other direction's transmission.
    busy_until: Instant,
}

impl Simplex {
    /// The other direction sends over the same medium from now on.
    pub(in crate::link) fn share(&mut self) {
        (self.medium.is_shared, self.features.defers_dequeue) = (true, true);
        self.update_flags();
    }

    /// Returns whether no direction sends at `now`.
    #[inline]
    pub(super) fn is_free(&self, now: Instant) -> bool {
        self.medium_free_at() <= now
    }

    /// Returns when the medium becomes free, as far as is known.
    #[inline]
    pub(in crate::link) fn medium_free_at(&self) -> Instant {
        self.transmitter.free_at.max(self.medium.busy_until)
    }

    /// Returns whether this direction sends next, if the other direction has packets too.
    pub(in crate::link) fn has_turn(&self) -> bool {
        !self.medium.sent_last
    }

    /// Occupies the medium. Returns the end of the transmission.
    pub(in crate::link) fn occupy_medium(&mut self) -> Instant {
        self.medium.sent_last = true;
        self.transmitter.free_at
    }

    /// The other direction began to send.
    pub(in crate::link) fn yield_medium(&mut self, until: Instant) {
        self.medium.sent_last = false;
        self.medium.busy_until = until;
    }
}
