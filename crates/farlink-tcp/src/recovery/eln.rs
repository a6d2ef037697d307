//! Explicit loss notification: a segment that the medium damaged goes again,
//! and the window stays (west1997, 2.3.3).
//!
//! A marked ACK names the damaged segment by its acknowledgment number. It does
//! not count toward the duplicate ACKs that mean congestion, and needs no second
//! one. Until what was out then is acknowledged, each marked duplicate makes room
//! for a segment, since one has left the network.

use super::LossState;
use crate::record::{Mark, Record, Recorder};
use crate::send::Sender;
use crate::seq::Offset;
use crate::time::Instant;

/// An ACK is marked; `duplicate` is whether it would count as a duplicate ACK.
pub(crate) fn on_marked_ack(
    tx: &mut Sender,
    now: Instant,
    duplicate: bool,
    recorder: &mut Recorder,
) {
    if duplicate {
        recorder.emit(now, Record::DupAck);
        if !tx.loss.counts_pipe() {
            tx.loss.inflation += i64::from(tx.mss);
        }
    }
    // Marks come for a round trip, because of what was out: only later ones may
    // tell of the retransmission.
    let age = tx.rtt.smooth_bound().unwrap_or_else(|| tx.rto());
    if tx.board.front_is_due(now, age) {
        recorder.emit(now, Record::Mark(Mark::FastRetransmit));
        tx.board.lose_front();
        tx.loss.force = true;
        tx.loss_seen(now);
    }
    tx.loss.repair_end = tx.board.max();
}

/// New data was acknowledged outside of a recovery: what the marked duplicates
/// made room for is in flight instead.
#[inline]
pub(super) fn on_new_ack(loss: &mut LossState, una: Offset, acked: u64) {
    if loss.repair_end == 0 {
        return;
    }
    if una >= loss.repair_end {
        loss.repair_end = 0;
        loss.inflation = 0;
    } else {
        let acked = acked.min(i64::MAX as u64) as i64;
        loss.inflation = (loss.inflation - acked).max(0);
    }
}
