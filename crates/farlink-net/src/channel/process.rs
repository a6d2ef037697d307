//! What a process of a channel is to the rest of the program: it takes packets
//! through, tells what follows from its parameters, and has a closed form.

use super::Passage;
use farlink_tcp::{Instant, Interval};
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

/// The traffic that a closed form is asked for: packets of one length, sent at
/// one spacing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// Bytes of each packet on the wire, check symbols of a block code not
    /// counted.
    pub bytes: u32,
    /// From the end of one packet to the end of the next.
    pub spacing: Interval,
}

/// A closed form, as far as there is one: what is `None` has none here. A process
/// that never loses a packet says so with a loss of 0, and one that delays none
/// with [`DelayLaw::constant`] of 0, so that several can be put together.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Theory {
    /// Mean loss, a fraction of packets; packets delivered corrupt count as lost.
    pub loss: Option<f64>,
    /// Mean number of packets lost in a row.
    pub burst: Option<f64>,
    /// Mean number of packets delivered in a row.
    pub gap: Option<f64>,
    /// Autocorrelation of the loss indicator at lags 1, 2, ... packets.
    pub autocorrelation: Option<Vec<f64>>,
    /// Law of the extra delay.
    pub delay: Option<DelayLaw>,
}

/// Law of an extra delay, beyond that of the link.
#[derive(Clone, PartialEq, Debug)]
pub struct DelayLaw {
    /// Mean, in seconds.
    pub mean: f64,
    /// Standard deviation, in seconds.
    pub deviation: f64,
    /// Quantiles: (probability, seconds), both rising.
    pub quantiles: Vec<(f64, f64)>,
}

/// A quantity that follows from the parameters of a process.
#[derive(Clone, PartialEq, Debug)]
pub struct Derived {
    /// Its name, in the field's words: `fade_rate`, `mean_handoff_interval`.
    pub name: &'static str,
    /// Unit: "s", "Hz", "bit/s", "dB", "probability", or "" for a plain number.
    pub unit: &'static str,
    /// Value.
    pub value: f64,
    /// Equation that it comes from.
    pub source: &'static str,
}
