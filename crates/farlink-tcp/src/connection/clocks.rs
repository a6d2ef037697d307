//! Phase and limit of a sender, and the time in each.

use crate::accecn::Negotiation;
use crate::ack_rate::AckRateState;
use crate::clock::Clock;
use crate::config::Config;
use crate::join::Joining;
use crate::limit::Limit;
use crate::phase::Phase;
use crate::time::Instant;

/// Phase and limit of the sender; `None` while they are not timed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct SenderState {
    pub(super) phase: Option<Phase>,
    pub(super) limit: Option<Limit>,
}

/// Time in each phase and limit up to the last change. The struct also has some unrelated fields
/// that few connections use.
#[derive(Debug)]
pub(super) struct Clocks {
    pub(super) phase: Clock<Phase, { Phase::ALL.len() }>,
    pub(super) limit: Clock<Limit, { Limit::ALL.len() }>,
    /// Earliest time of the next challenge ACK.
    pub(super) challenge_at: Instant,
    /// Negotiation of ECN, and counters of marks.
    pub(super) ecn: Negotiation,
    /// Segments that wait to be joined, if that is configured.
    pub(super) joining: Option<Box<Joining>>,
    /// TCP ACK Rate Request.
    pub(super) ack_rate: AckRateState,
}

impl Clocks {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            phase: Clock::default(),
            limit: Clock::default(),
            challenge_at: Instant::ZERO,
            ecn: Negotiation::new(config.ecn),
            joining: Joining::new(config.receiver.gro),
            ack_rate: AckRateState::new(config.ack_rate),
        }
    }
}
