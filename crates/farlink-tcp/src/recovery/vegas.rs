//! Vegas: Reno with a clock for each segment (Brakmo and Peterson 1995, III.A).
//!
//! A duplicate ACK, and each of the first two new ACKs after a retransmission,
//! is a reason to look at how long the first unacknowledged segment is out. If
//! that is longer than a time-out from an exact clock, it is sent again at once.
//! Three duplicate ACKs, and the coarse timer, are still what they are in Reno.

use crate::flight::Flight;
use crate::record::{Mark, Record, Recorder};
use crate::time::Instant;

#[inline(never)] // nothing of it need be fetched by others
pub(super) fn on_dup_ack(flight: &mut Flight, now: Instant, recorder: &mut Recorder) {
    let mss = i64::from(flight.mss);
    let expired = expired(flight, now);
    if flight.loss.in_recovery {
        flight.inflation += mss;
        if expired {
            retransmit(flight, now, Mark::FastRetransmit, recorder);
        }
        return;
    }
    // What a time-out sent again makes duplicates of its own.
    let third = flight.loss.dup_acks == flight.loss.threshold && !flight.loss.after_timeout;
    if expired || third {
        retransmit(flight, now, Mark::FastRetransmit, recorder);
        flight.inflation = i64::from(flight.loss.dup_acks) * mss;
    }
}

/// Looks after any new ACK whether other segments of the window were lost before the one that was
/// sent again.
#[inline(never)]
pub(super) fn after_new_ack(flight: &mut Flight, now: Instant, recorder: &mut Recorder) {
    if flight.fine.as_mut().is_some_and(|fine| fine.checks()) && expired(flight, now) {
        retransmit(flight, now, Mark::FastRetransmit, recorder);
    }
}

/// Processes a time-out of the retransmission timer that runs on the fine time-out: the
/// first segment goes again, and it is a loss as any other (leung1998, 6.2).
pub(crate) fn on_timeout(flight: &mut Flight, now: Instant, recorder: &mut Recorder) {
    retransmit(flight, now, Mark::Timeout, recorder);
}

/// Returns whether the first unacknowledged segment is in flight for longer than the fine time-out,
/// and not about to be sent again.
fn expired(flight: &mut Flight, now: Instant) -> bool {
    let timeout = flight.fine.as_ref().and_then(|fine| fine.timeout());
    match (timeout, flight.board.front()) {
        (Some(timeout), Some(front)) if now.since(front.at) > timeout => {
            flight.board.next_lost().is_none()
        }
        _ => false,
    }
}

/// Presumes the first unacknowledged segment lost. The controller knows whether this loss reduces
/// the window.
fn retransmit(flight: &mut Flight, now: Instant, mark: Mark, recorder: &mut Recorder) {
    recorder.emit(now, Record::Mark(mark));
    let (in_flight, front) = (flight.flight_at_loss(), flight.front_loss(now));
    flight.reduce(now, in_flight, front, mark == Mark::Timeout);
    flight.enter_recovery();
    if let Some(fine) = &mut flight.fine {
        if let Some(front) = flight.board.front() {
            fine.sends_again(*front);
        }
        fine.check_again();
    }
    flight.board.lose_front();
    flight.restart_timer_for_loss(now);
}
