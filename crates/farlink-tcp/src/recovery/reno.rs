//! Reno: fast retransmit and fast recovery, over with the first new ACK.
//!
//! RFC 2581, 3.2. A second loss in the same window needs three more duplicate
//! ACKs or a time-out.

use super::{fast_retransmit, recovered};
use crate::record::Recorder;
use crate::send::Sender;
use crate::time::Instant;

pub(super) fn on_dup_ack(tx: &mut Sender, now: Instant, recorder: &mut Recorder) {
    let mss = i64::from(tx.mss);
    if tx.loss.in_recovery {
        tx.loss.inflation += mss; // step 3
    } else if tx.loss.dup_acks == tx.loss.threshold {
        fast_retransmit(tx, now, recorder); // steps 1 and 2
        tx.loss.inflation = i64::from(tx.loss.threshold) * mss;
        tx.loss_seen(now);
    }
}

/// Step 5: any ACK of new data deflates the window to ssthresh.
pub(super) fn on_recovery_ack(tx: &mut Sender, now: Instant, recorder: &mut Recorder) {
    let window = tx.cc.ssthresh();
    recovered(tx, now, window, recorder);
}
