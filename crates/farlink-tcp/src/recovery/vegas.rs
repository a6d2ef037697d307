//! Vegas: Reno with a clock for each segment (Brakmo and Peterson 1995, III.A).
//!
//! A duplicate ACK, and each of the first two new ACKs after a retransmission,
//! is a reason to look at how long the first unacknowledged segment is out. If
//! that is longer than a time-out from an exact clock, it is sent again at once.
//! Three duplicate ACKs, and the coarse timer, are still what they are in Reno.

use super::{Algorithm, LossState, front_loss, reduce};
use crate::config::RtoConfig;
use crate::record::{Mark, Record, Recorder};
use crate::rto::RttEstimator;
use crate::scoreboard::{Acked, Sent};
use crate::send::Sender;
use crate::seq::Offset;
use crate::time::{Instant, Interval};

/// New ACKs after a retransmission that are a reason to look.
const CHECKED_ACKS: u32 = 2;
/// Least time-out of a timer: on a path without delay it would go off for ever.
const LEAST_TIMER: Interval = Interval::from_millis(1);

/// The fine-grained time-out, beside that of the retransmission timer or in its
/// place.
#[derive(Debug)]
pub(crate) struct FineTimeout {
    estimator: RttEstimator,
    k: u64,
    granularity: Interval,
    /// New ACKs that are still a reason to look.
    checks: u32,
    /// The first unacknowledged segment, if it was sent again: position after it,
    /// and when it left the time before the last.
    again: Option<(Offset, Instant)>,
    /// Position after the highest byte sent when the first segment was acknowledged
    /// that had been sent again since the last sample.
    ambiguous: Option<Offset>,
    /// Least time-out until the next sample; before the first one, the time-out.
    floor: Interval,
}

impl FineTimeout {
    /// SRTT + max(granularity, k D).
    pub(super) fn new(k: u32, granularity: Interval) -> Self {
        let exact = RtoConfig {
            tick: Interval::ZERO,
            ..RtoConfig::default()
        };
        Self {
            estimator: RttEstimator::new(exact),
            k: k.into(),
            granularity,
            checks: 0,
            again: None,
            ambiguous: None,
            floor: Interval::ZERO,
        }
    }

    /// The ACK of new data up to `to` covers `front`, the first segment that was
    /// unacknowledged, and what else `acked` says.
    ///
    /// All before `to` is acknowledged, first of it the segment that left at `sent`
    /// for the last time; `max` is the position after the highest byte sent.
    ///
    /// What left once gives a sample. An ACK of what left twice may be of either
    /// time; Karn's rule is to take no sample from it, and to back off until one
    /// comes. Where nothing backs off, that would keep a time-out that is too short
    /// for ever: each segment is sent again before its ACK, and none gives a sample.
    /// So when a whole window has passed without a sample, such an ACK is taken for
    /// one of the transmission before the last, and until there is a sample the
    /// time-out is at least as long as that took, but longer than it was by no more
    /// than the ACK took from the last transmission. It is no sample itself, or the
    /// time-outs that waited for lost segments would be learnt as round trips.
    ///
    /// Before the first sample there is no time-out that could be too short, only
    /// the coarse one, which has backed off: the first such ACK is taken at once, or
    /// a first window that is lost whole would be repaired by a segment each backed-off
    /// time-out, up to a minute each.
    pub(crate) fn acknowledged(
        &mut self,
        now: Instant,
        (to, max): (Offset, Offset),
        sent: Instant,
        acked: &Acked,
    ) {
        let again = self.again.take_if(|again| again.0 <= to);
        if let Some(at) = acked.sample_from {
            self.ambiguous = None;
            self.floor = Interval::ZERO;
            self.estimator.sample(at, now);
        } else if let Some((end, before)) = again {
            let took = now.since(before);
            match self.timeout() {
                None => self.floor = took,
                Some(timeout) => {
                    let window = *self.ambiguous.get_or_insert(max);
                    if end > window {
                        self.floor = took.min(timeout + now.since(sent));
                    }
                }
            }
        }
    }

    /// `front`, the first unacknowledged segment, is about to be sent again.
    fn sends_again(&mut self, front: Sent) {
        self.again = Some((front.end(), front.at));
    }

    /// SRTT + max(G, k D); `None` before anything is known of the round trip.
    fn timeout(&self) -> Option<Interval> {
        let Some(srtt) = self.estimator.srtt() else {
            return Some(self.floor).filter(|floor| !floor.is_zero());
        };
        let variation = self.estimator.deviation() * self.k;
        Some((srtt + variation.max(self.granularity)).max(self.floor))
    }
}

#[inline(never)] // nothing of it need be fetched by others
pub(super) fn on_dup_ack(tx: &mut Sender, now: Instant, recorder: &mut Recorder) {
    let mss = i64::from(tx.mss);
    let expired = expired(tx, now);
    if tx.loss.in_recovery {
        tx.loss.inflation += mss;
        if expired {
            retransmit(tx, now, Mark::FastRetransmit, recorder);
        }
        return;
    }
    // What a time-out sent again makes duplicates of its own.
    let third = tx.loss.dup_acks == tx.loss.threshold && !tx.loss.after_timeout;
    if expired || third {
        retransmit(tx, now, Mark::FastRetransmit, recorder);
        tx.loss.inflation = i64::from(tx.loss.dup_acks) * mss;
    }
}

/// After any new ACK: other segments of the window may have been lost before
/// the one that was sent again.
#[inline]
pub(super) fn after_new_ack(tx: &mut Sender, now: Instant, recorder: &mut Recorder) {
    if tx.loss.fine().is_some() {
        look_after_new_ack(tx, now, recorder);
    }
}

#[inline(never)]
fn look_after_new_ack(tx: &mut Sender, now: Instant, recorder: &mut Recorder) {
    let Some(fine) = tx.loss.fine_mut() else {
        return;
    };
    if fine.checks == 0 {
        return;
    }
    fine.checks -= 1;
    if expired(tx, now) {
        retransmit(tx, now, Mark::FastRetransmit, recorder);
    }
}

/// The retransmission timer, which runs on the fine time-out, went off: the
/// first segment goes again, and it is a loss as any other (leung1998, 6.2).
pub(crate) fn on_timeout(tx: &mut Sender, now: Instant, recorder: &mut Recorder) {
    retransmit(tx, now, Mark::Timeout, recorder);
}

/// Returns whether the first unacknowledged segment is in flight for longer than the fine time-out,
/// and not about to be sent again.
fn expired(tx: &mut Sender, now: Instant) -> bool {
    let timeout = tx.loss.fine().and_then(FineTimeout::timeout);
    match (timeout, tx.board.front()) {
        (Some(timeout), Some(front)) if now.since(front.at) > timeout => {
            tx.board.next_lost().is_none()
        }
        _ => false,
    }
}

/// The first unacknowledged segment is presumed lost. The controller knows
/// whether this loss reduces the window.
fn retransmit(tx: &mut Sender, now: Instant, mark: Mark, recorder: &mut Recorder) {
    recorder.emit(now, Record::Mark(mark));
    let flight = tx.flight_at_loss();
    let loss = front_loss(tx, now);
    reduce(tx, now, flight, loss, mark == Mark::Timeout);
    tx.loss.enter(tx.board.max(), &mut tx.timers);
    if let (Some(fine), Some(front)) = (tx.loss.fine_mut(), tx.board.front()) {
        fine.sends_again(*front);
    }
    tx.board.lose_front();
    tx.loss.look_again();
    tx.loss_seen(now);
}

impl LossState {
    /// The fine time-out where it is what the retransmission timer runs on.
    #[inline]
    pub(crate) fn fine_rto(&self) -> Option<Interval> {
        match &self.algorithm {
            Algorithm::Vegas {
                fine,
                coarse_timeout: false,
            } => Some(fine.timeout()?.max(LEAST_TIMER)),
            _ => None,
        }
    }

    /// Returns whether a time-out calls [`on_timeout`].
    pub(crate) fn sends_front_at_timeout(&self) -> bool {
        matches!(
            self.algorithm,
            Algorithm::Vegas {
                coarse_timeout: false,
                ..
            }
        )
    }

    pub(super) fn look_again(&mut self) {
        if let Some(fine) = self.fine_mut() {
            fine.checks = CHECKED_ACKS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Interval = Interval::from_millis;

    fn fine(fine_k: u32, granularity: u64) -> FineTimeout {
        FineTimeout::new(fine_k, MS(granularity))
    }

    fn feed(fine: &mut FineTimeout, rtt: u64) {
        fine.estimator
            .sample(Instant::ZERO, Instant::ZERO + MS(rtt));
    }

    #[test]
    fn the_time_out_is_the_mean_and_k_deviations_of_an_exact_clock() {
        let mut f = fine(4, 0);
        assert_eq!(f.timeout(), None);
        feed(&mut f, 80); // SRTT 80, D 40
        assert_eq!(f.timeout(), Some(MS(80 + 4 * 40)));
        feed(&mut f, 88); // D = 3/4 40 + 1/4 8, SRTT = 7/8 80 + 1/8 88
        assert_eq!(f.timeout(), Some(MS(81 + 4 * 32)));
        let mut f = fine(2, 0);
        feed(&mut f, 80);
        assert_eq!(f.timeout(), Some(MS(80 + 2 * 40)));
    }

    #[test]
    fn the_granularity_bounds_the_variation_from_below() {
        let mut f = fine(4, 2);
        for _ in 0..100 {
            feed(&mut f, 80);
        }
        assert_eq!(f.timeout(), Some(MS(82)));
    }
}
