//! Phase and limit of the sender, with the time in each.

use super::clocks::SenderState;
use super::{Connection, State};
use crate::limit::Limit;
use crate::phase::Phase;
use crate::record::Record;
use crate::time::Instant;

impl Connection {
    /// Records phase and limit of the sender if either has changed. Called after all events at
    /// `now`.
    #[inline(always)] // called after each packet
    pub(super) fn note_state(&mut self, now: Instant) {
        let state = self.sender_state();
        if state != self.sender_state {
            self.note_change(now, state);
        }
    }

    /// Records phase and limit of a connection that is closed or listening.
    #[cold]
    #[inline(never)]
    pub(super) fn note_state_unconnected(&mut self, now: Instant) {
        self.note_state(now);
    }

    #[inline(always)] // called after each packet
    fn sender_state(&self) -> SenderState {
        let (phase, limit) = match self.state {
            State::Closed | State::TimeWait => (None, None),
            State::Listen | State::SynSent => (None, Some(Limit::Handshake)),
            State::SynReceived if !self.tx.early => (None, Some(Limit::Handshake)),
            _ if self.tx.flight.loss.repairing(self.tx.flight.board.una())
                && !self.tx.flight.board.is_empty() =>
            {
                let limit = if self.tx.flight.loss.after_timeout {
                    Limit::Timeout
                } else {
                    Limit::Recovery
                };
                (Some(Phase::Recovery), Some(limit))
            }
            _ => {
                let phase = if self.tx.flight.board.is_empty() {
                    Phase::Idle
                } else if self.tx.flight.cc.in_slow_start() {
                    Phase::SlowStart
                } else {
                    Phase::Avoidance
                };
                (Some(phase), Some(self.tx.limit()))
            }
        };
        SenderState { phase, limit }
    }

    /// Records a change. Changes are rare, so this function is not inlined.
    #[inline(never)]
    fn note_change(&mut self, now: Instant, state: SenderState) {
        self.sender_state = state;
        self.clocks.phase.set(now, state.phase);
        if self.clocks.limit.set(now, state.limit) && self.recorder.on() {
            // A connection that has ended counts as limited by the application.
            let limit = state.limit.unwrap_or(Limit::Application);
            self.recorder.emit(now, Record::Limited(limit));
        }
    }

    /// Counts the time since the last progress as a wait for the retransmission timer, which has
    /// just expired.
    #[cold]
    pub(super) fn waited_for_timer(&mut self) {
        if self.tx.flight.board.una() > 0
            && let Some(since) = self
                .clocks
                .limit
                .set_since(self.tx.quiet_since(), Limit::Timeout)
        {
            self.sender_state.limit = Some(Limit::Timeout);
            self.recorder.emit(since, Record::Limited(Limit::Timeout));
        }
    }
}
