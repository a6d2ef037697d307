//! NewReno: a partial ACK shows the next hole. RFC 6582.

use super::{NewAck, fast_retransmit, recovered, set_by_controller};
use crate::config::{Careful, NewRenoExit};
use crate::record::Recorder;
use crate::send::{Sender, context};
use crate::seq::Offset;
use crate::time::Instant;

/// State of NewReno.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewReno {
    impatient: bool,
    careful: Careful,
    exit: NewRenoExit,
    /// Partial ACKs of this recovery.
    pub(super) partial_acks: u32,
    /// Position acknowledged by the ACK before the last (4.1).
    pub(super) previous_ack: Offset,
    /// The last new ACK echoes the timestamp of the latest transmission of the
    /// segment it acknowledges: that one was needed (4.2).
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
}

pub(super) fn on_dup_ack(tx: &mut Sender, now: Instant, newreno: NewReno, recorder: &mut Recorder) {
    let mss = i64::from(tx.mss);
    if tx.loss.in_recovery {
        tx.loss.inflation += mss; // RFC 6582, 3.2 step 3 (RFC 5681, 3.2 step 4)
    } else if tx.loss.dup_acks == tx.loss.threshold && may_enter(tx, newreno) {
        fast_retransmit(tx, now, recorder); // step 2
        tx.loss.inflation = i64::from(tx.loss.threshold) * mss;
        tx.loss_seen(now);
    }
}

/// Returns whether three duplicate ACKs mean a loss, or only that a time-out sent again data that
/// had arrived (RFC 6582, 3.2 step 2; section 4).
fn may_enter(tx: &Sender, newreno: NewReno) -> bool {
    let una = tx.board.una();
    if una > tx.loss.recover {
        return true;
    }
    match newreno.careful {
        Careful::Less => una >= tx.loss.recover,
        Careful::Plain => false,
        // 4.1: the window is larger than a segment and the ACK before advanced
        // by at most four: not the jump after a retransmitted hole.
        Careful::AckHeuristic => {
            tx.cwnd() > u64::from(tx.mss) && una - newreno.previous_ack <= 4 * u64::from(tx.mss)
        }
        // 4.2: the retransmission that was acknowledged last was needed.
        Careful::TimestampHeuristic => newreno.echo_of_latest,
    }
}

/// Step 3. Returns whether the retransmission timer restarts.
pub(super) fn on_recovery_ack(
    tx: &mut Sender,
    now: Instant,
    new: NewAck,
    newreno: NewReno,
    recorder: &mut Recorder,
) -> bool {
    let mss = u64::from(tx.mss);
    if tx.board.una() >= tx.loss.recover {
        let (flight, ssthresh) = (tx.board.flight(), tx.cc.ssthresh());
        let window = match newreno.exit {
            NewRenoExit::FlightSize => ssthresh.min(flight.max(mss) + mss),
            NewRenoExit::FlightSizeRfc3782 => ssthresh.min(flight + mss),
            NewRenoExit::Ssthresh => ssthresh,
        };
        recovered(tx, now, window, recorder);
        return true;
    }
    // Partial: deflate by what it acknowledges, add a segment if that was one,
    // and send the next hole again.
    if !set_by_controller(tx, now, new, None) {
        tx.loss.inflation -= new.ack.bytes.min(i64::MAX as u64) as i64;
        if new.ack.bytes >= mss {
            tx.loss.inflation += mss as i64;
        }
    }
    tx.cc
        .on_recovery_ack(&context!(tx, now, new.flight), &new.ack);
    tx.board.lose_front();
    tx.loss.force = true;
    if let Some(newreno) = tx.loss.newreno_mut() {
        newreno.partial_acks += 1;
    }
    newreno.partial_acks == 0 || !newreno.impatient
}
