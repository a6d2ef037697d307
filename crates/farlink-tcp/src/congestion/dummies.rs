//! Interface of a controller that probes the path with dummy segments.

use super::Context;
use crate::time::Instant;
use std::fmt::Debug;

/// A source of dummy segments: copies of the data that left last, in the class of
/// low priority, whose ACKs tell how much room the path has (Akyildiz, Morabito,
/// Palazzo 2001). The connection sends them when they are due and something is
/// still to be acknowledged, after all that the window lets out.
pub trait DummySegments: Debug {
    /// Returns when the next dummy is due; `None` for never. A past instant means now.
    fn due(&self) -> Option<Instant>;

    /// Data left, sent before or not.
    fn on_data_sent(&mut self, cx: &Context<'_>);

    /// The one that was due left.
    fn on_sent(&mut self, cx: &Context<'_>);

    /// The peer acknowledged one.
    fn on_ack(&mut self, cx: &Context<'_>);

    /// The peer does not acknowledge them as such: none will leave any more.
    fn on_refused(&mut self);
}
