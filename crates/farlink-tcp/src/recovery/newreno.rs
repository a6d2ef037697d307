//! NewReno (RFC 6582): a partial ACK shows the next lost segment.

use super::loss::NewAck;
use crate::config::{Careful, NewRenoExit};
use crate::flight::{Flight, context};
use crate::reason::Reason;
use crate::record::Recorder;
use crate::seq::Offset;
use crate::time::Instant;

/// State of NewReno.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewReno {
    impatient: bool,
    careful: Careful,
    exit: NewRenoExit,
    /// Number of partial ACKs in this recovery.
    partial_acks: u32,
    /// SND.UNA before the last ACK of new data (4.1).
    pub(super) previous_ack: Offset,
    /// Set if the last new ACK echoes the timestamp of the segment's latest transmission, which
    /// shows that this transmission was necessary (4.2).
    pub(crate) echo_of_latest: bool,
}

impl NewReno {
    pub(super) fn new(impatient: bool, careful: Careful, exit: NewRenoExit) -> Self {
        Self {
            impatient,
            careful,
            exit,
            partial_acks: 0,
            previous_ack: 0,
            echo_of_latest: false,
        }
    }
    pub(super) fn on_dup_ack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        recorder: &mut Recorder,
    ) {
        let mss = i64::from(flight.mss);
        if flight.loss.in_recovery {
            flight.inflation += mss; // RFC 6582, 3.2 step 3 (RFC 5681, 3.2 step 4)
        } else if flight.loss.dup_acks == flight.loss.threshold && self.may_enter(flight) {
            flight.fast_retransmit(now, recorder); // step 2
            self.partial_acks = 0;
            flight.inflation = i64::from(flight.loss.threshold) * mss;
            flight.restart_timer_for_loss(now);
        }
    }

    /// Returns whether three duplicate ACKs indicate a loss. After a time-out they may be caused by
    /// retransmissions of data that had arrived (RFC 6582, 3.2, step 2; section 4).
    fn may_enter(&self, flight: &Flight) -> bool {
        let una = flight.board.una();
        if una > flight.loss.recover {
            return true;
        }
        match self.careful {
            Careful::Less => una >= flight.loss.recover,
            Careful::Plain => false,
            // 4.1: cwnd exceeds one segment, and the previous ACK advanced by at most four
            // segments. A larger advance would be caused by the retransmission of a hole.
            Careful::AckHeuristic => {
                let mss = u64::from(flight.mss);
                flight.cwnd() > mss && una - self.previous_ack <= 4 * mss
            }
            // 4.2: the retransmission acknowledged last was not spurious.
            Careful::TimestampHeuristic => self.echo_of_latest,
        }
    }

    /// Processes an ACK of new data in recovery (step 3). Returns whether the retransmission timer
    /// restarts.
    pub(super) fn on_recovery_ack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        new: &NewAck,
        recorder: &mut Recorder,
    ) -> bool {
        let mss = u64::from(flight.mss);
        if flight.board.una() >= flight.loss.recover {
            let (in_flight, ssthresh) = (flight.board.flight(), flight.cc.ssthresh());
            let window = match self.exit {
                NewRenoExit::FlightSize => ssthresh.min(in_flight.max(mss) + mss),
                NewRenoExit::FlightSizeRfc3782 => ssthresh.min(in_flight + mss),
                NewRenoExit::Ssthresh => ssthresh,
            };
            flight.end_recovery(now, window, recorder);
            return true;
        }
        // Partial ACK: deflate the window by the acknowledged bytes, add one MSS if those are at
        // least one MSS, and retransmit the next hole.
        if !flight.set_by_controller(now, new, None) {
            flight.inflation -= new.bytes();
            if new.ack.bytes >= mss {
                flight.inflation += mss as i64;
            }
        }
        let cx = context!(flight, now, new.in_flight);
        flight.cc.on_recovery_ack(&cx, &new.ack);
        flight.board.lose_front();
        recorder.sign(Reason::PartialAck);
        flight.loss.force = true;
        self.partial_acks += 1;
        self.partial_acks == 1 || !self.impatient
    }
}
