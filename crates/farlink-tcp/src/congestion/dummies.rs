//! Interface of a congestion controller that probes the path with dummy segments.

use super::Context;
use crate::time::Instant;
use farlink_small::{Printable, printable};

printable!(DummySegments);

/// A source of dummy segments (Akyildiz, Morabito, Palazzo 2001). A dummy is a low-priority copy of
/// the data sent last, and its ACK shows that the path has room for another segment. The connection
/// sends a dummy when [`Self::due`] has passed, data is outstanding, and the window allows no more
/// data.
pub trait DummySegments: Printable {
    /// Returns the time at which the next dummy is due, or `None` if no dummy is left. A past
    /// instant means now.
    fn due(&self) -> Option<Instant>;

    /// Handles the transmission of data, new or retransmitted.
    fn on_data_sent(&mut self, cx: &Context<'_>);

    /// Handles the transmission of the dummy that was due.
    fn on_sent(&mut self, cx: &Context<'_>);

    /// Handles the peer's ACK of a dummy.
    fn on_ack(&mut self, cx: &Context<'_>);

    /// Handles a peer that does not acknowledge dummies as such. The connection sends no further
    /// dummy.
    fn on_refused(&mut self);
}
