//! Reno: fast retransmit and fast recovery, over with the first new ACK.
//!
//! RFC 2581, 3.2. A second loss in the same window needs three more duplicate
//! ACKs or a time-out.

use super::state::LossState;
use crate::flight::Flight;
use crate::record::Recorder;
use crate::time::Instant;

pub(super) fn on_dup_ack(
    loss: &mut LossState,
    flight: &mut Flight,
    now: Instant,
    recorder: &mut Recorder,
) {
    let mss = i64::from(flight.mss);
    if loss.in_recovery {
        flight.inflation += mss; // step 3
    } else if loss.dup_acks == loss.threshold {
        loss.fast_retransmit(flight, now, recorder); // steps 1 and 2
        flight.inflation = i64::from(loss.threshold) * mss;
        flight.restart_timer_for_loss(now);
    }
}

/// Step 5: any ACK of new data deflates the window to ssthresh.
pub(super) fn on_recovery_ack(
    loss: &mut LossState,
    flight: &mut Flight,
    now: Instant,
    recorder: &mut Recorder,
) {
    let window = flight.cc.ssthresh();
    loss.recovered(flight, now, window, recorder);
}
