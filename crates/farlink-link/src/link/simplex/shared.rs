//! Two directions that share one medium, as with a half-duplex radio.
//!
//! While one direction sends, the other waits. If both have packets when the medium becomes free,
//! they alternate: the direction that did not send last goes first. The order thus depends on later
//! arrivals in the other direction. All packets therefore wait in the low class ([`super::low`]),
//! whose next packet is selected when the medium is free. Packets that an agent sends ahead are at
//! its front.

use super::Simplex;
use farlink_tcp::Instant;

/// Medium that both directions may share.
#[derive(Debug, Default)]
pub(in crate::link) struct Medium {
    pub(in crate::link) is_shared: bool,
    /// Set if this direction sent last.
    sent_last: bool,
    /// End of the other direction's transmission.
    busy_until: Instant,
}

impl Simplex {
    /// Makes the direction share its medium with the other direction from now on.
    pub(in crate::link) fn share(&mut self) {
        (self.medium.is_shared, self.features.defers_dequeue) = (true, true);
        self.update_flags();
    }

    /// Returns whether neither direction sends at `now`.
    #[inline]
    pub(super) fn is_free(&self, now: Instant) -> bool {
        self.medium_free_at() <= now
    }

    /// Returns the time at which the transmissions started so far end.
    #[inline]
    pub(in crate::link) fn medium_free_at(&self) -> Instant {
        self.transmitter.free_at.max(self.medium.busy_until)
    }

    /// Returns whether this direction precedes the other if both have packets.
    pub(in crate::link) fn has_turn(&self) -> bool {
        !self.medium.sent_last
    }

    /// Occupies the medium. Returns the end of the transmission.
    pub(in crate::link) fn occupy_medium(&mut self) -> Instant {
        self.medium.sent_last = true;
        self.transmitter.free_at
    }

    /// Records a transmission of the other direction that ends at `until`.
    pub(in crate::link) fn yield_medium(&mut self, until: Instant) {
        self.medium.sent_last = false;
        self.medium.busy_until = until;
    }
}
