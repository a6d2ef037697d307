//! Interface of a channel process: passage of packets, derived values, closed form.

use super::closed_form::{Derived, Sampling, Theory};
use super::passage::Passage;
use farlink_small::{Printable, printable};
use farlink_tcp::Instant;

printable!(Process);

/// Process of a channel behind a pointer. The simple stages, which most packets meet, are variants
/// of [`super::Stage`] instead.
pub trait Process: Printable + Send + Sync {
    /// Decides the fate of a packet that leaves the transmitter at `now`. `bytes` is its length on
    /// the wire without check symbols of a block code. `now` never goes back from call to call.
    fn pass(&mut self, now: Instant, bytes: u32, passage: &mut Passage);

    /// Returns whether the process can never change a packet.
    fn is_inert(&self) -> bool {
        false
    }

    /// Returns whether no packet can overtake another.
    fn keeps_order(&self) -> bool {
        true
    }

    /// Sets the distance of the nodes at the channel's ends in metres. Only radios use it.
    fn set_distance(&mut self, _metres: f64) {}

    /// Computes the closed form under the traffic of `sampling`.
    fn theory(&self, sampling: Sampling) -> Theory;

    /// Returns the values derived from the parameters, for the result.
    fn derived(&self) -> Vec<Derived> {
        Vec::new()
    }

    /// Returns a copy in the same state.
    fn clone_box(&self) -> Box<dyn Process>;
}

impl Clone for Box<dyn Process> {
    fn clone(&self) -> Self {
        self.clone_box()
    }
}
