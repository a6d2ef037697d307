//! Fine-grained time-out: a clock for each segment (Brakmo and Peterson 1995, III.A).

use super::RttEstimator;
use crate::config::RtoConfig;
use crate::scoreboard::{Acked, Sent};
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
    /// The retransmission timer runs on it.
    replaces_coarse: bool,
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
    pub(crate) fn new(k: u32, granularity: Interval, replaces_coarse: bool) -> Self {
        let exact = RtoConfig {
            tick: Interval::ZERO,
            ..RtoConfig::default()
        };
        Self {
            estimator: RttEstimator::new(exact),
            k: k.into(),
            replaces_coarse,
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
    pub(crate) fn sends_again(&mut self, front: Sent) {
        self.again = Some((front.end(), front.at));
    }

    /// Counts a new ACK. Returns whether it is a reason to look.
    pub(crate) fn checks(&mut self) -> bool {
        let checks = self.checks > 0;
        self.checks -= u32::from(checks);
        checks
    }

    /// Makes the next new ACKs reasons to look.
    pub(crate) fn check_again(&mut self) {
        self.checks = CHECKED_ACKS;
    }

    /// Returns whether the retransmission timer runs on it.
    pub(crate) fn replaces_coarse(&self) -> bool {
        self.replaces_coarse
    }

    /// Returns the time-out of the retransmission timer where that runs on it.
    #[inline]
    pub(crate) fn rto(&self) -> Option<Interval> {
        let timeout = self.timeout().filter(|_| self.replaces_coarse)?;
        Some(timeout.max(LEAST_TIMER))
    }

    /// SRTT + max(G, k D); `None` before anything is known of the round trip.
    pub(crate) fn timeout(&self) -> Option<Interval> {
        let Some(srtt) = self.estimator.srtt() else {
            return Some(self.floor).filter(|floor| !floor.is_zero());
        };
        let variation = self.estimator.deviation() * self.k;
        Some((srtt + variation.max(self.granularity)).max(self.floor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Interval = Interval::from_millis;

    fn fine(fine_k: u32, granularity: u64) -> FineTimeout {
        FineTimeout::new(fine_k, MS(granularity), false)
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
