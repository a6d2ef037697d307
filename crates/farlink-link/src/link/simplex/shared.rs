//! Two directions over one medium, as a radio that cannot send and receive at once has.
//!
//! While one direction sends the other waits. When the medium becomes free and both have
//! something to send, they take turns, packet by packet: the one that did not send last goes
//! first. So which packet goes when depends on what comes later in the other direction, and all
//! packets wait in the class whose packets are decided when the medium is free ([`super::low`]),
//! those that an agent sends ahead in front.

use super::Simplex;
use farlink_tcp::Instant;

impl Simplex {
    /// The other direction sends over the same medium from now on.
    pub(in crate::link) fn share(&mut self) {
        (self.shares, self.keeps) = (true, true);
        self.note();
    }

    /// Returns whether no direction sends at `now`.
    #[inline]
    pub(super) fn is_free(&self, now: Instant) -> bool {
        self.medium_free_at() <= now
    }

    /// Returns when the medium becomes free, as far as is known.
    #[inline]
    pub(in crate::link) fn medium_free_at(&self) -> Instant {
        self.free_at.max(self.taken_until)
    }

    /// Returns whether this direction sends next, if the other direction has packets too.
    pub(in crate::link) fn has_turn(&self) -> bool {
        !self.sent_last
    }

    /// Occupies the medium. Returns the end of the transmission.
    pub(in crate::link) fn takes_medium(&mut self) -> Instant {
        self.sent_last = true;
        self.free_at
    }

    /// The other direction began to send.
    pub(in crate::link) fn leaves_medium(&mut self, until: Instant) {
        self.sent_last = false;
        self.taken_until = until;
    }
}
