//! What a process of a channel is to the rest of the program: it takes packets
//! through, tells what follows from its parameters, and has a closed form.

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

    /// Whether it can never do anything.
    fn is_inert(&self) -> bool {
        false
    }

    /// Whether no packet can overtake another.
    fn keeps_order(&self) -> bool {
        true
    }

    /// The nodes at its ends are so many metres apart from now on. Only radios look at that.
    fn set_distance(&mut self, _metres: f64) {}

    /// Its closed form under the traffic of `sampling`.
    fn theory(&self, sampling: Sampling) -> Theory;

    /// What follows from its parameters, for the result.
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
