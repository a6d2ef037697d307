//! Fast paths of a connection, for speed alone.
//!
//! [`input`] equals [`Connection::process_segment`] for the segments that it recognises, and
//! [`output`] equals [`Connection::transmit`] where it sends. `fast_paths_equal_the_general_paths`
//! in `tests/faults.rs` runs sessions of every variant on both paths, and compares all segments,
//! events and inner state to the bit.

mod input;
mod output;

use super::{Connection, State};

impl Connection {
    /// Returns whether the fast path may be used, because no configured feature must see every
    /// segment. Computed once, at the end of the handshake.
    pub(super) fn can_predict(&self) -> bool {
        self.tx.streams()
            && self.lifetime.is_none()
            && self.clocks.joining.is_none()
            && !self.clocks.ack_rate.is_on()
            && !self.general_only
            && !self.clocks.ecn.sees_every_segment()
    }

    /// Sets `idle` if the sender has nothing to send. Any later input except the next in-order data
    /// clears `idle`.
    #[inline]
    pub(super) fn note_idle(&mut self) {
        self.idle = self.predicts
            && self.state == State::Established
            && self.dummy_acks == 0
            && self.tx.is_idle();
    }

    /// Enables or disables the fast path, for tests.
    #[doc(hidden)]
    pub fn set_prediction(&mut self, on: bool) {
        self.general_only = !on;
        self.predicts = self.predicts && on;
        self.idle = false;
    }
}
