//! Vegas loss recovery: Reno plus a send time for each segment (Brakmo and Peterson 1995, III.A).
//!
//! At each duplicate ACK, and at the first two new ACKs after a retransmission, the sender checks
//! the age of the first unacknowledged segment. If it exceeds the fine time-out, the segment is
//! retransmitted at once. Three duplicate ACKs and the coarse RTO act as in Reno.

use crate::flight::{Flight, Rare};
use crate::reason::Reason;
use crate::record::{Mark, Recorder};
use crate::rto::fine::FineTimeout;
use crate::time::Instant;

#[inline(never)] // keeps rare code out of the instruction cache
pub(super) fn on_dup_ack(flight: &mut Flight, now: Instant, recorder: &mut Recorder) {
    let mss = i64::from(flight.mss);
    let expired = expired(flight, now);
    if flight.loss.in_recovery {
        flight.inflation += mss;
        if expired {
            retransmit(flight, now, Reason::FineTimeout, recorder);
        }
        return;
    }
    // Retransmissions after a time-out may cause duplicate ACKs without a loss.
    let third = flight.loss.dup_acks == flight.loss.threshold && !flight.loss.after_timeout;
    if expired || third {
        let sign = if expired {
            Reason::FineTimeout
        } else {
            Reason::DuplicateAcks
        };
        retransmit(flight, now, sign, recorder);
        flight.inflation = i64::from(flight.loss.dup_acks) * mss;
    }
}

/// Checks at a new ACK whether the fine time-out has expired for the next segment, because several
/// segments of a window may be lost.
#[inline(never)]
pub(super) fn after_new_ack(flight: &mut Flight, now: Instant, recorder: &mut Recorder) {
    if Rare::fine(&mut flight.rare).is_some_and(FineTimeout::count_check) && expired(flight, now) {
        retransmit(flight, now, Reason::FineTimeout, recorder);
    }
}

/// Handles a time-out of a retransmission timer that uses the fine time-out. Retransmits the first
/// segment, and reduces the window as for any loss (leung1998, 6.2).
pub(crate) fn on_timeout(flight: &mut Flight, now: Instant, recorder: &mut Recorder) {
    retransmit(flight, now, Reason::Timeout, recorder);
}

/// Lets the next new ACKs check the fine time-out, because a time-out sent only the first segment
/// again.
pub(super) fn check_again(flight: &mut Flight) {
    if let Some(fine) = Rare::fine(&mut flight.rare) {
        fine.check_again();
    }
}

/// Returns whether the first unacknowledged segment has been in flight for longer than the fine
/// time-out. False if a lost segment waits for retransmission.
fn expired(flight: &mut Flight, now: Instant) -> bool {
    let timeout = flight.fine().and_then(FineTimeout::timeout);
    match (timeout, flight.board.front()) {
        (Some(timeout), Some(front)) if now.since(front.at) > timeout => {
            flight.board.next_lost().is_none()
        }
        _ => false,
    }
}

/// Marks the first unacknowledged segment lost, and reports the loss to the controller, which
/// decides about the window.
fn retransmit(flight: &mut Flight, now: Instant, sign: Reason, recorder: &mut Recorder) {
    let by_timer = sign == Reason::Timeout;
    let mark = if by_timer {
        Mark::Timeout
    } else {
        Mark::FastRetransmit
    };
    recorder.loss(now, mark, sign);
    let (in_flight, front) = (flight.flight_at_loss(), flight.front_loss(now));
    flight.reduce(now, in_flight, front, by_timer, recorder);
    flight.enter_recovery();
    if let Some(fine) = Rare::fine(&mut flight.rare) {
        if let Some(front) = flight.board.front() {
            fine.on_retransmission(*front);
        }
        fine.check_again();
    }
    flight.board.lose_front();
    flight.restart_timer_for_loss(now);
}
