//! Negative acknowledgments of a base station: what the radio lost of a mobile host's data goes
//! again, and the window stays (Balakrishnan, Seshan, Amir, Katz 1995; west1997, 2.6).
//!
//! The holes that the base station names are lost for certain, because the radio keeps order.
//! The peer's duplicate ACKs for such a hole arrive later, and do not count as signs of
//! congestion for a time-out of SRTT + 4 RTTVAR after its retransmission. Each makes room for a
//! segment, since one has left the network.

use crate::flight::Flight;
use crate::record::{Mark, Record, Recorder};
use crate::seq::Offset;
use crate::time::{Instant, Interval};

impl Flight {
    /// Sends again what the base station misses of `[left, right)`. Returns whether there is any.
    #[cold]
    pub(crate) fn on_missing(
        &mut self,
        now: Instant,
        (left, right): (Offset, Offset),
        recorder: &mut Recorder,
    ) -> bool {
        // The base station repeats itself only after its own time-out.
        let missed = self.board.miss(left, right, now, Interval::ZERO);
        if missed.is_none() {
            return false;
        }
        recorder.emit(now, Record::Mark(Mark::FastRetransmit));
        self.loss.force = true;
        self.loss.nacked_to = self.loss.nacked_to.max(right);
        self.restart_timer_for_loss(now);
        true
    }

    /// Returns whether the first unacknowledged segment went again for a negative acknowledgment,
    /// less than a time-out ago: the peer cannot have acknowledged it yet.
    #[inline]
    pub(crate) fn repairs_nack(&self, now: Instant) -> bool {
        self.loss.nacked_to > self.board.una() && !self.loss.in_recovery && self.is_fresh(now)
    }

    /// Processes a duplicate ACK for a segment that is being repaired.
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
