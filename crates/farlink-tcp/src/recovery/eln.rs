//! Explicit loss notification: a segment that the medium damaged goes again,
//! and the window stays (west1997, 2.3.3).
//!
//! A marked ACK names the damaged segment by its acknowledgment number. It does
//! not count toward the duplicate ACKs that mean congestion, and needs no second
//! one. Until what was out then is acknowledged, each marked duplicate makes room
//! for a segment, since one has left the network.

use super::loss::NewAck;
use crate::flight::Flight;
use crate::record::{Mark, Record, Recorder};
use crate::time::Instant;

impl Flight {
    /// Processes a marked ACK; `duplicate` is whether it would count as a duplicate ACK.
    pub(crate) fn on_marked_ack(&mut self, now: Instant, duplicate: bool, recorder: &mut Recorder) {
        if duplicate {
            recorder.emit(now, Record::DupAck);
            if !self.loss.counts_pipe() {
                self.inflation += i64::from(self.mss);
            }
        }
        // Marks come for a round trip, because of what was out: only later ones may
        // tell of the retransmission.
        let age = self.rtt.smooth_bound().unwrap_or_else(|| self.rto());
        if self.board.front_is_due(now, age) {
            recorder.emit(now, Record::Mark(Mark::FastRetransmit));
            self.board.lose_front();
            self.loss.force = true;
            self.restart_timer_for_loss(now);
        }
        self.loss.repair_end = self.board.max();
    }

    /// Takes back the room that marked duplicates made, when new data is acknowledged outside of a
    /// recovery.
    #[inline]
    pub(super) fn end_repair(&mut self, new: &NewAck) {
        if self.loss.repair_end == 0 {
            return;
        }
        if self.board.una() >= self.loss.repair_end {
            self.loss.repair_end = 0;
            self.inflation = 0;
        } else {
            self.inflation = (self.inflation - new.bytes()).max(0);
        }
    }
}
