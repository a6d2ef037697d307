//! Interface of a channel process: it passes packets, derives values from its parameters, and has a
//! closed form.

use super::closed_form::{Derived, Sampling, Theory};
use super::passage::Passage;
use farlink_tcp::Instant;
use std::fmt;

/// A process of a channel, behind one pointer: the plain stages, which packets
/// meet by the million, are variants of [`super::Stage`] of their own.
pub trait Process: fmt::Debug + Send + Sync {
    /// Takes a packet through that leaves the transmitter at `now`, `bytes` long
    /// on the wire, check symbols of a block code not counted. `now` never goes back from call to call.
    fn pass(&mut self, now: Instant, bytes: u32, passage: &mut Passage);

    /// Returns whether the process can never change a packet.
    fn is_inert(&self) -> bool {
        false
    }

    /// Returns whether no packet can overtake another.
    fn keeps_order(&self) -> bool {
        true
    }

    /// The nodes at its ends are so many metres apart from now on. Only radios look at that.
    fn set_distance(&mut self, _metres: f64) {}

    /// Computes the closed form under the traffic of `sampling`.
    fn theory(&self, sampling: Sampling) -> Theory;

    /// Returns the values derived from the parameters, for the result.
    fn derived(&self) -> Vec<Derived> {
        Vec::new()
    }

    /// A copy, in the same state.
    fn clone_box(&self) -> Box<dyn Process>;
}

impl Clone for Box<dyn Process> {
    fn clone(&self) -> Self {
        self.clone_box()
    }
}
