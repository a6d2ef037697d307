//! Explicit loss notification: a segment that the medium damaged goes again,
//! and the window stays (west1997, 2.3.3).
//!
//! A marked ACK names the damaged segment by its acknowledgment number. It does
//! not count toward the duplicate ACKs that mean congestion, and needs no second
//! one. Until what was out then is acknowledged, each marked duplicate makes room
//! for a segment, since one has left the network.

use super::state::{LossState, NewAck};
use crate::flight::Flight;
use crate::record::{Mark, Record, Recorder};
use crate::time::Instant;

impl LossState {
    /// Processes a marked ACK; `duplicate` is whether it would count as a duplicate ACK.
    pub(crate) fn on_marked_ack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        duplicate: bool,
        recorder: &mut Recorder,
    ) {
        if duplicate {
            recorder.emit(now, Record::DupAck);
            if !self.counts_pipe() {
                flight.inflation += i64::from(flight.mss);
            }
        }
        // Marks come for a round trip, because of what was out: only later ones may
        // tell of the retransmission.
        let age = flight.rtt.smooth_bound().unwrap_or_else(|| flight.rto());
        if flight.board.front_is_due(now, age) {
            recorder.emit(now, Record::Mark(Mark::FastRetransmit));
            flight.board.lose_front();
            self.force = true;
            flight.restart_timer_for_loss(now);
        }
        self.repair_end = flight.board.max();
    }

    /// Takes back the room that marked duplicates made, when new data is acknowledged outside of a
    /// recovery.
    #[inline]
    pub(super) fn end_repair(&mut self, flight: &mut Flight, new: &NewAck) {
        if self.repair_end == 0 {
            return;
        }
        if flight.board.una() >= self.repair_end {
            self.repair_end = 0;
            flight.inflation = 0;
        } else {
            flight.inflation = (flight.inflation - new.bytes()).max(0);
        }
    }
}
