//! Notices of the network, separate from segments.

use crate::seq::Seq;

/// Cause of the loss of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossCause {
    /// A full queue, or a deliberate drop.
    Congestion,
    /// Loss or damage on the medium.
    Corruption,
}

/// A message of a node on the path to the sender of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notice {
    /// Explicit bad state notification (west1997, 3): the base station could not deliver the
    /// segment that begins at `seq`, and tries again.
    BadState {
        /// Sequence number of the segment, by which the sender checks the notice.
        seq: Seq,
    },
}
