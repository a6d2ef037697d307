//! Explicit loss notification: retransmits a segment that the medium damaged, without reducing the
//! window (west1997, 2.3.3).
//!
//! The acknowledgment number of a marked ACK names the damaged segment. One marked ACK is enough,
//! and marked ACKs do not count as duplicate ACKs. Until the data outstanding then is acknowledged,
//! each marked duplicate inflates the window by one segment, because one has left the network.

use super::loss::NewAck;
use crate::flight::Flight;
use crate::reason::Reason;
use crate::record::{Mark, Record, Recorder};
use crate::time::Instant;

impl Flight {
    /// Processes a marked ACK; `duplicate` is set if it is a duplicate ACK apart from the mark.
    pub(crate) fn on_marked_ack(&mut self, now: Instant, duplicate: bool, recorder: &mut Recorder) {
        if duplicate {
            recorder.emit(now, Record::DupAck);
            if !self.loss.counts_pipe() {
                self.inflation += i64::from(self.mss);
            }
        }
        // Marked ACKs refer to the original transmission for one RTT. Only later ones may report
        // the loss of the retransmission.
        let age = self.rtt.smooth_bound().unwrap_or_else(|| self.rto());
        if self.board.front_is_due(now, age) {
            recorder.loss(now, Mark::FastRetransmit, Reason::LossNotice);
            self.board.lose_front();
            self.loss.force = true;
            self.restart_timer_for_loss(now);
        }
        self.loss.repair_end = self.board.max();
    }

    /// Removes the inflation of marked duplicates at an ACK of new data outside of recovery.
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
