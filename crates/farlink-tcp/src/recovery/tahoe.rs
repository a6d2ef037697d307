//! Tahoe: the third duplicate ACK is a time-out without the waiting.
//!
//! Jacobson 1988; 4.3BSD-Tahoe `tcp_input.c`: SND.NXT goes back to SND.UNA and
//! slow start begins from one segment.

use super::front_loss;
use crate::record::{Mark, Record, Recorder};
use crate::send::{Sender, context};
use crate::spurious;
use crate::time::Instant;

#[inline(never)] // nothing of it need be fetched by others
pub(super) fn on_dup_ack(tx: &mut Sender, now: Instant, recorder: &mut Recorder) {
    if tx.loss.dup_acks != tx.loss.threshold {
        return;
    }
    recorder.emit(now, Record::Mark(Mark::FastRetransmit));
    let flight = tx.at_most_window(tx.flight_at_loss());
    let loss = front_loss(tx, now);
    if !tx.loss.assume_corruption {
        spurious::begin(tx, false);
        tx.cc.on_loss(&context!(tx, now, flight), &loss);
        tx.cc.collapse(u64::from(tx.mss)); // slow start, without a time-out
        tx.loss.reduced = true;
    }
    tx.board.lose_all();
    tx.restart_timer(now);
}
