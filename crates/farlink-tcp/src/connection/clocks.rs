//! Phase and limit of a sender, and the time in each.

use crate::clock::Clock;
use crate::limit::Limit;
use crate::phase::Phase;
use crate::time::Instant;

/// State of the sender and its limit; `None` while they are not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct SenderState {
    pub(super) phase: Option<Phase>,
    pub(super) limit: Option<Limit>,
}

/// Time in each state up to the last change, and a time that hardly any connection needs.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    pub(super) phase: Clock<Phase, { Phase::ALL.len() }>,
    pub(super) limit: Clock<Limit, { Limit::ALL.len() }>,
    /// From when on another challenge ACK may leave.
    pub(super) challenge_at: Instant,
}
