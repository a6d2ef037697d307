//! Tahoe: the third duplicate ACK acts as an immediate time-out.
//!
//! Jacobson 1988; 4.3BSD-Tahoe `tcp_input.c`: SND.NXT goes back to SND.UNA, and slow start begins
//! with one segment.

use crate::flight::Flight;
use crate::reason::Reason;
use crate::record::{Mark, Recorder};
use crate::time::Instant;

#[inline(never)] // keeps rare code out of the instruction cache
pub(super) fn on_dup_ack(flight: &mut Flight, now: Instant, recorder: &mut Recorder) {
    if flight.loss.dup_acks != flight.loss.threshold {
        return;
    }
    recorder.loss(now, Mark::FastRetransmit, Reason::DuplicateAcks);
    if !flight.loss.assume_corruption {
        let (in_flight, front) = (flight.flight_at_loss(), flight.front_loss(now));
        flight.reduce(now, in_flight, front, false, recorder);
        flight.cc.collapse(u64::from(flight.mss)); // slow start, without a time-out
        flight.loss.reduced = true;
    }
    flight.board.lose_all();
    flight.restart_timer(now);
}
