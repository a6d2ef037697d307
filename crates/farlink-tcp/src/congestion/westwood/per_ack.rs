//! Filter of TCP Westwood: a first-order low-pass filter for unevenly spaced samples (Mascolo et
//! al. 2001, 2.2).

use super::estimator::Estimator;
use crate::time::{Instant, Interval};

/// Minimum interval of a sample after samples of zero. If an ACK arrives earlier, the interval of
/// the last zero sample is added, because bytes over a tiny interval give a meaningless rate. Value
/// from the authors' ns module.
const MIN_INTERVAL_AFTER_ZEROS: Interval = Interval::from_millis(10);

/// Bytes per second below which the estimate is set to zero.
const NEGLIGIBLE: f64 = 1e-9;

/// Low-pass filter with time constant tau, by Tustin's approximation: `BWE_k = a_k BWE_(k-1) + (1 -
/// a_k) (b_k + b_(k-1)) / 2` with samples `b_k = d_k / (t_k - t_(k-1))`, `a_k = (2 tau - d) / (2
/// tau + d)` and `d = t_k - t_(k-1)`.
#[derive(Debug)]
pub(super) struct Tustin {
    tau: Interval,
    /// tau/m: the longest time between samples.
    step: Interval,
    /// Time of the last sample; `None` before the first ACK.
    last: Option<Instant>,
    /// Bytes of ACKs that arrived at the time of the last sample; they count for the next sample.
    pending: u64,
    sample: f64,
    estimate: f64,
}

impl Tustin {
    pub(super) fn new(tau: Interval, m: u32) -> Self {
        Self {
            tau,
            step: tau / u64::from(m),
            last: None,
            pending: 0,
            sample: 0.0,
            estimate: 0.0,
        }
    }

    /// Filters a sample of `rate` bytes per second over `interval`.
    fn filter(&mut self, rate: f64, interval: Interval) {
        let (tau, d) = (self.tau.as_secs_f64(), interval.as_secs_f64());
        let a = (2.0 * tau - d) / (2.0 * tau + d);
        self.estimate = a * self.estimate + (1.0 - a) * (rate + self.sample) / 2.0;
        self.sample = rate;
    }

    /// Filters `count` samples of zero, tau/m apart.
    fn zeros(&mut self, count: u64) {
        for _ in 0..count {
            self.filter(0.0, self.step);
            if self.estimate < NEGLIGIBLE {
                self.estimate = 0.0;
                break;
            }
        }
    }
}

impl Estimator for Tustin {
    fn on_delivered(&mut self, now: Instant, bytes: u64, _rtt: Option<Interval>) {
        let Some(last) = self.last else {
            // The first ACK only starts the first interval.
            self.last = Some(now);
            return;
        };
        self.pending += bytes;
        let mut interval = now.since(last);
        if interval.is_zero() {
            return;
        }
        let mut idle = interval.as_nanos() / self.step.as_nanos();
        interval = interval - self.step * idle;
        if idle > 0 && interval < MIN_INTERVAL_AFTER_ZEROS {
            interval = interval + self.step;
            idle -= 1;
        }
        self.zeros(idle);
        let bytes = std::mem::take(&mut self.pending);
        self.filter(bytes as f64 / interval.as_secs_f64(), interval);
        self.last = Some(now);
    }

    fn on_silence(&mut self, now: Instant) {
        if let Some(last) = self.last {
            let idle = now.since(last).as_nanos() / self.step.as_nanos();
            self.zeros(idle);
            self.last = Some(last + self.step * idle);
        }
    }

    fn bandwidth(&self) -> f64 {
        self.estimate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Interval = Interval::from_millis;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} is not {b}");
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + MS(ms)
    }

    /// An ACK of 1,000 bytes 100 ms after the first: b = 10,000 bytes/s, a = 1.9 / 2.1, BWE = (0.2
    /// / 2.1) b / 2.
    #[test]
    fn the_first_sample() {
        let mut filter = Tustin::new(MS(1000), 2);
        filter.on_delivered(at(500), 1000, None);
        assert_eq!(filter.bandwidth(), 0.0);
        filter.on_delivered(at(600), 1000, None);
        close(filter.bandwidth(), 0.2 / 2.1 * 10_000.0 / 2.0);
        filter.on_delivered(at(700), 1000, None);
        close(
            filter.bandwidth(),
            1.9 / 2.1 * (0.2 / 2.1 * 5000.0) + 0.2 / 2.1 * 10_000.0,
        );
    }

    /// Step response: after n samples of b spaced d, BWE / b = 1 - a^(n-1) (1 + a) / 2 for any d.
    #[test]
    fn step_response() {
        for spacing in [1, 7, 50, 400] {
            let mut filter = Tustin::new(MS(1000), 2);
            let d = spacing as f64 / 1000.0;
            let a = (2.0 - d) / (2.0 + d);
            filter.on_delivered(at(0), 1000, None);
            let mut power = 1.0;
            for n in 1..=100 {
                filter.on_delivered(at(n * spacing), 1000, None);
                close(
                    filter.bandwidth(),
                    (1.0 - power * (1.0 + a) / 2.0) * 1000.0 / d,
                );
                power *= a;
            }
        }
    }

    /// m = 2: each tau/2 without an ACK adds a sample of zero with a = (2m - 1) / (2m + 1) = 3/5.
    /// The first zero is still averaged with the last rate.
    #[test]
    fn samples_of_zero() {
        let mut filter = Tustin::new(MS(1000), 2);
        filter.on_delivered(at(0), 1000, None);
        filter.on_delivered(at(100), 1000, None);
        let (b, before) = (10_000.0, filter.bandwidth());
        filter.on_silence(at(1_700)); // 3 zeros, at 600, 1100, 1600 ms
        let decayed = (0.6 * before + 0.4 * b / 2.0) * 0.6 * 0.6;
        close(filter.bandwidth(), decayed);
        // The ACK at 1,800 ms has an interval of 200 ms, counted from the last sample of zero.
        filter.on_delivered(at(1_800), 1000, None);
        close(
            filter.bandwidth(),
            1.8 / 2.2 * decayed + 0.4 / 2.2 * 5000.0 / 2.0,
        );
        // An ACK 5 ms after a sample of zero also takes the interval of that sample.
        let before = filter.bandwidth();
        filter.on_delivered(at(2_305), 1000, None);
        let a = (2.0 - 0.505) / (2.0 + 0.505);
        close(
            filter.bandwidth(),
            a * before + (1.0 - a) * (1000.0 / 0.505 + 5000.0) / 2.0,
        );
    }

    #[test]
    fn acks_at_one_instant_are_one_sample() {
        let mut item = Tustin::new(MS(1000), 2);
        let mut two = Tustin::new(MS(1000), 2);
        for filter in [&mut item, &mut two] {
            filter.on_delivered(at(0), 1000, None);
        }
        item.on_delivered(at(100), 1000, None);
        item.on_delivered(at(100), 1000, None);
        item.on_delivered(at(200), 1000, None);
        two.on_delivered(at(100), 1000, None);
        two.on_delivered(at(200), 2000, None);
        assert_eq!(item.bandwidth(), two.bandwidth());
    }

    #[test]
    fn estimate_decays_to_zero_over_a_long_time_without_acks() {
        let mut filter = Tustin::new(MS(1), 1000);
        filter.on_delivered(at(0), 1000, None);
        filter.on_delivered(at(1), 1000, None);
        filter.on_silence(at(1) + Interval::from_secs(1_000_000));
        assert_eq!(filter.bandwidth(), 0.0);
    }
}
