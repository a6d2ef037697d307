//! Negative acknowledgments of a base station: retransmits data of a mobile host that the radio
//! link lost, without reducing the window (Balakrishnan, Seshan, Amir, Katz 1995; west1997, 2.6).
//!
//! The named holes are certainly lost, because the radio link keeps the order. Duplicate ACKs for
//! such a hole arrive later. For SRTT + 4 RTTVAR after the retransmission they are no sign of
//! congestion. Each inflates the window by one segment, because one segment has left the network.

use crate::flight::Flight;
use crate::reason::Reason;
use crate::record::{Mark, Record, Recorder};
use crate::seq::Offset;
use crate::time::{Instant, Interval};

impl Flight {
    /// Retransmits the segments of `[left, right)` that the base station misses. Returns whether
    /// there are any.
    #[cold]
    pub(crate) fn on_missing(
        &mut self,
        now: Instant,
        (left, right): (Offset, Offset),
        recorder: &mut Recorder,
    ) -> bool {
        // The base station repeats a negative acknowledgment only after its own time-out.
        let missed = self.board.miss(left, right, now, Interval::ZERO);
        if missed.is_none() {
            return false;
        }
        recorder.loss(now, Mark::FastRetransmit, Reason::NegativeAck);
        self.loss.force = true;
        self.loss.nacked_to = self.loss.nacked_to.max(right);
        self.restart_timer_for_loss(now);
        true
    }

    /// Returns whether the first unacknowledged segment was retransmitted for a negative
    /// acknowledgment less than SRTT + 4 RTTVAR ago.
    #[inline]
    pub(crate) fn repairs_nack(&self, now: Instant) -> bool {
        self.loss.nacked_to > self.board.una() && !self.loss.in_recovery && self.is_fresh(now)
    }

    /// Processes a duplicate ACK for a segment that a negative acknowledgment had named.
    #[cold]
    pub(crate) fn on_dup_ack_of_nacked(&mut self, now: Instant, recorder: &mut Recorder) {
        recorder.emit(now, Record::DupAck);
        if !self.loss.counts_pipe() {
            self.inflation += i64::from(self.mss);
            self.loss.repair_end = self.board.max();
        }
    }
    #[cold]
    fn is_fresh(&self, now: Instant) -> bool {
        let age = self.rtt.smooth_bound().unwrap_or_else(|| self.rto());
        self.board
            .front()
            .is_some_and(|front| front.is_lost_or_again() && now.since(front.at) < age)
    }
}
