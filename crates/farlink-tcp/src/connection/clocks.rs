//! Phase and limit of a sender, and the time in each.

use crate::clock::Clock;
use crate::limit::Limit;
use crate::phase::Phase;
use crate::time::Instant;

/// Phase and limit of the sender; `None` while they are not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct SenderState {
    pub(super) phase: Option<Phase>,
    pub(super) limit: Option<Limit>,
}

/// Time in each phase and limit up to the last change. Holds `challenge_at` too, because few
/// connections use that field.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    pub(super) phase: Clock<Phase, { Phase::ALL.len() }>,
    pub(super) limit: Clock<Limit, { Limit::ALL.len() }>,
    /// Earliest time of the next challenge ACK.
    pub(super) challenge_at: Instant,
}
