//! Reno: fast retransmit and fast recovery, which ends at the first ACK of new data (RFC 2581,
//! 3.2).
//!
//! A second loss in the same window is repaired after three more duplicate ACKs or a time-out.

use crate::flight::Flight;
use crate::record::Recorder;
use crate::time::Instant;

pub(super) fn on_dup_ack(flight: &mut Flight, now: Instant, recorder: &mut Recorder) {
    let mss = i64::from(flight.mss);
    if flight.loss.in_recovery {
        flight.inflation += mss; // step 3
    } else if flight.loss.dup_acks == flight.loss.threshold {
        flight.fast_retransmit(now, recorder); // steps 1 and 2
        flight.inflation = i64::from(flight.loss.threshold) * mss;
        flight.restart_timer_for_loss(now);
    }
}

/// Step 5: an ACK of new data sets the window to ssthresh.
pub(super) fn on_recovery_ack(flight: &mut Flight, now: Instant, recorder: &mut Recorder) {
    let window = flight.cc.ssthresh();
    flight.end_recovery(now, window, recorder);
}
