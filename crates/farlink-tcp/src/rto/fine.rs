//! Fine-grained time-out: a send time for each segment (Brakmo and Peterson 1995, III.A).

use super::RttEstimator;
use crate::config::RtoConfig;
use crate::scoreboard::{Acked, Sent};
use crate::seq::Offset;
use crate::time::{Instant, Interval};

/// Number of new ACKs after a retransmission at which the fine time-out is checked.
const CHECKED_ACKS: u32 = 2;
/// Minimum time-out of the retransmission timer. Without it, the timer would expire endlessly on a
/// path without delay.
const MIN_TIMER: Interval = Interval::from_millis(1);

/// Fine-grained time-out, used in addition to the RTO or in its place.
#[derive(Debug)]
pub(crate) struct FineTimeout {
    estimator: RttEstimator,
    k: u64,
    /// Set if the retransmission timer uses the fine time-out.
    replaces_coarse: bool,
    granularity: Interval,
    /// Number of new ACKs at which the fine time-out is still checked.
    checks: u32,
    /// First unacknowledged segment, if retransmitted: its end, and the time of its second-last
    /// transmission.
    again: Option<(Offset, Instant)>,
    /// SND.MAX when a retransmitted segment was first acknowledged since the last sample.
    ambiguous: Option<Offset>,
    /// Minimum time-out until the next sample; before the first sample, the time-out.
    floor: Interval,
}

impl FineTimeout {
    /// Builds the time-out SRTT + max(`granularity`, `k` D).
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

    /// Processes an ACK of all data before `to`. The first segment it covers was last sent at
    /// `sent`; `max` is SND.MAX.
    ///
    /// A segment sent once gives a sample. Karn's rule takes no sample from a retransmitted
    /// segment, and keeps the backoff until the next sample. The fine time-out does not back off,
    /// so a time-out below the RTT would last forever: each segment is retransmitted before its
    /// ACK, and none gives a sample. Therefore, after a whole window without a sample, the ACK is
    /// attributed to the second-last transmission. Until the next sample the time-out is at least
    /// the age of that transmission, but rises at most by the time since the last transmission. The
    /// age is not used as a sample, because time-outs of lost segments would then become RTTs.
    ///
    /// Before the first sample only the coarse, backed-off RTO exists, so the first ACK of a
    /// retransmitted segment is used at once. Otherwise a lost first window would be repaired by
    /// one segment per RTO, up to a minute each.
    pub(crate) fn on_ack(
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

    /// Stores the last transmission time of `front`, the first unacknowledged segment, before it is
    /// retransmitted.
    pub(crate) fn on_retransmission(&mut self, front: Sent) {
        self.again = Some((front.end(), front.at));
    }

    /// Counts a new ACK. Returns whether the fine time-out is checked at it.
    pub(crate) fn count_check(&mut self) -> bool {
        let checks = self.checks > 0;
        self.checks -= u32::from(checks);
        checks
    }

    /// Lets the next `CHECKED_ACKS` new ACKs check the fine time-out.
    pub(crate) fn check_again(&mut self) {
        self.checks = CHECKED_ACKS;
    }

    /// Returns whether the retransmission timer uses the fine time-out.
    pub(crate) fn replaces_coarse(&self) -> bool {
        self.replaces_coarse
    }

    /// Returns the time-out of the retransmission timer, if that uses the fine time-out.
    #[inline]
    pub(crate) fn rto(&self) -> Option<Interval> {
        let timeout = self.timeout().filter(|_| self.replaces_coarse)?;
        Some(timeout.max(MIN_TIMER))
    }

    /// Returns SRTT + max(G, k D); `None` before any RTT information.
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
