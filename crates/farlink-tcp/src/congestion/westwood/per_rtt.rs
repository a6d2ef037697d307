//! Bandwidth estimate of Westwood+: one sample per RTT, so that compressed ACKs do not raise the
//! estimate (Grieco, Mascolo 2004).

use super::estimator::Estimator;
use crate::time::{Instant, Interval};

/// Sample `b_k = d_k / T_k`, the bytes acknowledged during the k-th RTT over its duration; `BWE_k =
/// gain BWE_(k-1) + (1 - gain) b_k`.
#[derive(Debug)]
pub(super) struct PerRtt {
    gain: f64,
    fill: bool,
    least: Interval,
    /// Start of the current RTT, and the bytes acknowledged since.
    round: Option<(Instant, u64)>,
    estimate: Option<f64>,
}

impl PerRtt {
    pub(super) fn new(gain: f64, fill: bool, least: Interval) -> Self {
        Self {
            gain,
            fill,
            least,
            round: None,
            estimate: (!fill).then_some(0.0),
        }
    }

    fn filter(&mut self, rate: f64) {
        debug_assert!(self.fill || self.estimate.is_some());
        self.estimate = Some(
            self.estimate
                .map_or(rate, |old| self.gain * old + (1.0 - self.gain) * rate),
        );
    }
}

impl Estimator for PerRtt {
    fn on_delivered(&mut self, now: Instant, bytes: u64, rtt: Option<Interval>) {
        let Some((start, counted)) = self.round else {
            self.round = Some((now, bytes));
            return;
        };
        let passed = now.since(start);
        match rtt {
            Some(rtt) if passed >= rtt.max(self.least) && !passed.is_zero() => {
                self.filter(counted as f64 / passed.as_secs_f64());
                // This ACK ends the sample; its bytes count for the next one.
                self.round = Some((now, bytes));
            }
            _ => self.round = Some((start, counted + bytes)),
        }
    }

    fn bandwidth(&self) -> f64 {
        self.estimate.unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Interval = Interval::from_millis;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} is not {b}");
    }

    /// Acknowledges `bytes` every `spacing` ms during `rounds` RTTs of 500 ms.
    fn feed(filter: &mut PerRtt, from: u64, spacing: u64, bytes: u64, rounds: u64) {
        for t in (from..from + rounds * 500).step_by(spacing as usize) {
            filter.on_delivered(Instant::ZERO + MS(t), bytes, Some(MS(500)));
        }
    }

    /// Step response: n samples of b after an estimate x give b - 0.9^n (b - x). The first sample
    /// sets the filter, or counts a tenth.
    #[test]
    fn filter() {
        for fill in [true, false] {
            let mut filter = PerRtt::new(0.9, fill, MS(0));
            feed(&mut filter, 0, 10, 1000, 1);
            assert_eq!(filter.bandwidth(), 0.0);
            feed(&mut filter, 500, 10, 1000, 1); // the ACK at 500 ms takes the first sample
            let first = if fill { 100_000.0 } else { 10_000.0 };
            close(filter.bandwidth(), first);
            feed(&mut filter, 1000, 10, 3000, 1); // this ACK takes the second sample, of the same rate
            let mut expected = 0.9 * first + 0.1 * 100_000.0;
            close(filter.bandwidth(), expected);
            for n in 1..=20 {
                feed(&mut filter, 1000 + n * 500, 10, 3000, 1);
                expected = 300_000.0 - 0.9 * (300_000.0 - expected);
                close(filter.bandwidth(), expected);
            }
        }
    }

    /// The same bytes in one bunch of ACKs per RTT give the same rate.
    #[test]
    fn compressed_acks_do_not_count_more() {
        let mut bunched = PerRtt::new(0.9, true, MS(0));
        for round in 0..10 {
            for i in 0..50 {
                let now = Instant::ZERO + MS(round * 500) + Interval::from_micros(i);
                bunched.on_delivered(now, 1000, Some(MS(500)));
            }
        }
        close(bunched.bandwidth(), 100_000.0);
    }

    #[test]
    fn a_sample_lasts_at_least_the_minimum_interval() {
        let mut filter = PerRtt::new(0.9, true, MS(50));
        for t in 0..5 {
            filter.on_delivered(Instant::ZERO + MS(t * 10), 1000, Some(MS(10)));
        }
        assert_eq!(filter.bandwidth(), 0.0);
        filter.on_delivered(Instant::ZERO + MS(50), 1000, Some(MS(10)));
        close(filter.bandwidth(), 100_000.0);
    }
}
