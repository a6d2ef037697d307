//! Negative acknowledgments of a base station: what the radio lost of a mobile host's data goes
//! again, and the window stays (Balakrishnan, Seshan, Amir, Katz 1995; west1997, 2.6).
//!
//! The holes that the base station names are lost for certain, because the radio keeps order.
//! The peer's duplicate ACKs for such a hole arrive later, and do not count as signs of
//! congestion for a time-out of SRTT + 4 RTTVAR after its retransmission. Each makes room for a
//! segment, since one has left the network.

use super::LossState;
use crate::record::{Mark, Record, Recorder};
use crate::send::Sender;
use crate::seq::Offset;
use crate::time::{Instant, Interval};

/// The base station misses `[left, right)`. Returns whether any of it goes again.
#[cold]
pub(crate) fn on_missing(
    tx: &mut Sender,
    now: Instant,
    (left, right): (Offset, Offset),
    recorder: &mut Recorder,
) -> bool {
    // The base station repeats itself only after its own time-out.
    if tx.board.miss(left, right, now, Interval::ZERO).is_none() {
        return false;
    }
    recorder.emit(now, Record::Mark(Mark::FastRetransmit));
    tx.loss.force = true;
    tx.loss.nacked_to = tx.loss.nacked_to.max(right);
    tx.loss_seen(now);
    true
}

/// Returns whether the first unacknowledged segment went again for a negative acknowledgment,
/// less than a time-out ago: the peer cannot have acknowledged it yet.
#[inline]
pub(crate) fn is_repairing(tx: &Sender, now: Instant) -> bool {
    tx.loss.nacked_to > tx.board.una() && !tx.loss.in_recovery && is_fresh(tx, now)
}

#[cold]
fn is_fresh(tx: &Sender, now: Instant) -> bool {
    let age = tx.rtt.smooth_bound().unwrap_or_else(|| tx.rto());
    tx.board
        .front()
        .is_some_and(|front| front.is_lost_or_again() && now.since(front.at) < age)
}

/// A duplicate ACK came for a segment that is being repaired.
#[cold]
pub(crate) fn on_dup_ack(tx: &mut Sender, now: Instant, recorder: &mut Recorder) {
    recorder.emit(now, Record::DupAck);
    if !tx.loss.counts_pipe() {
        tx.loss.inflation += i64::from(tx.mss);
        tx.loss.repair_end = tx.board.max();
    }
}

impl LossState {
    /// Forgets what a base station named.
    pub(super) fn forget_nacks(&mut self) {
        self.nacked_to = 0;
    }
}
