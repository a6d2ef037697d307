//! Notices of the network beside segments.

use crate::seq::Seq;

/// Cause of the loss of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossCause {
    /// A queue was full, or it was dropped on purpose.
    Congestion,
    /// The medium lost or damaged it.
    Corruption,
}

/// A message of a node on the way to the sender of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notice {
    /// Explicit bad state notification (west1997, 3): the base station could not
    /// deliver the segment that begins here, and tries again.
    BadState {
        /// Sequence number of the segment, by which the notice is believed.
        seq: Seq,
    },
}
