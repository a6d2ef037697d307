//! Random extra delay.

use super::error::ChannelError;
use super::passage::Passage;
use crate::rng::Stream;
use farlink_tcp::{Instant, Interval};

/// Distribution of the extra delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Distribution {
    /// Uniform from `low` to `high`.
    Uniform {
        /// Smallest delay.
        low: Interval,
        /// Largest delay.
        high: Interval,
    },
    /// Normal, truncated at 0: negative values are drawn again. The mean delay is then mean +
    /// deviation phi(a) / Phi(a) with a = mean / deviation, phi the density and Phi the
    /// distribution function of the standard normal.
    Normal {
        /// Mean before truncation.
        mean: Interval,
        /// Standard deviation before truncation.
        deviation: Interval,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean: Interval,
    },
}

impl Distribution {
    /// Draws a delay, to the nearest nanosecond.
    fn draw(self, stream: &mut Stream) -> Interval {
        let nanos = match self {
            Self::Uniform { low, high } => {
                nanos(low) + stream.uniform() * (nanos(high) - nanos(low))
            }
            // The mean is not negative, so at least half of all draws are accepted.
            Self::Normal { mean, deviation } => loop {
                let drawn = nanos(mean) + stream.normal() * nanos(deviation);
                if drawn >= 0.0 {
                    break drawn;
                }
            },
            Self::Exponential { mean } => stream.exponential(nanos(mean)),
        };
        Interval::from_nanos(libm::round(nanos) as u64)
    }

    fn is_zero(self) -> bool {
        match self {
            Self::Uniform { high, .. } => high.is_zero(),
            Self::Normal { mean, deviation } => mean.is_zero() && deviation.is_zero(),
            Self::Exponential { mean } => mean.is_zero(),
        }
    }
}

fn nanos(interval: Interval) -> f64 {
    interval.as_nanos() as f64
}

/// Delays each packet by an independent draw.
#[derive(Clone, Debug)]
pub struct Jitter {
    distribution: Distribution,
    keep_order: bool,
    /// Departure time of the last packet, before which no later packet may leave.
    last: Instant,
    stream: Stream,
}

impl Jitter {
    /// Creates the process. With `keep_order` a packet waits for earlier packets, so the delay of
    /// closely spaced packets exceeds their draws. Otherwise packets may overtake each other.
    ///
    /// # Errors
    /// Fails if the upper bound of a uniform distribution is below the lower one.
    pub fn new(
        distribution: Distribution,
        keep_order: bool,
        stream: Stream,
    ) -> Result<Self, ChannelError> {
        match distribution {
            Distribution::Uniform { low, high } if low > high => {
                Err(ChannelError::Bounds { low, high })
            }
            _ => Ok(Self {
                distribution,
                keep_order,
                last: Instant::ZERO,
                stream,
            }),
        }
    }

    /// Returns the distribution of the delays.
    pub fn distribution(&self) -> Distribution {
        self.distribution
    }

    pub(super) fn is_inert(&self) -> bool {
        self.distribution.is_zero()
    }

    pub(super) fn keeps_order(&self) -> bool {
        self.keep_order
    }

    #[inline]
    pub(super) fn pass(&mut self, now: Instant, passage: &mut Passage) {
        passage.hold = passage.hold + self.distribution.draw(&mut self.stream);
        if !self.keep_order {
            passage.may_overtake = true;
        } else if !passage.may_overtake {
            self.last = self.last.max(now + passage.hold);
            passage.hold = self.last.since(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{N, assert_near, stream};
    use super::super::{Channel, Stage};
    use super::*;

    const MS: f64 = 1e6;

    fn ms(value: u64) -> Interval {
        Interval::from_millis(value)
    }

    /// Returns the delays of `N` packets at this spacing, in nanoseconds.
    fn delays(distribution: Distribution, keep_order: bool, spacing: Interval) -> Vec<f64> {
        let jitter = Jitter::new(distribution, keep_order, stream("jitter")).unwrap();
        let mut channel = Channel::new(vec![Stage::Jitter(jitter)]);
        (0..N as u64)
            .map(|packet| nanos(channel.pass(Instant::ZERO + spacing * packet, 1500).hold))
            .collect()
    }

    /// Compares mean and deviation with their closed forms. The error of the deviation is sd *
    /// sqrt((kurtosis - 1) / 4n).
    #[track_caller]
    fn assert_moments(delays: &[f64], mean: f64, deviation: f64, kurtosis: f64) {
        let n = delays.len() as f64;
        let measured = delays.iter().sum::<f64>() / n;
        assert_near(measured, mean, deviation / n.sqrt());
        let spread = delays.iter().map(|x| (x - measured).powi(2)).sum::<f64>() / n;
        assert_near(
            spread.sqrt(),
            deviation,
            deviation * ((kurtosis - 1.0) / 4.0 / n).sqrt(),
        );
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        for keep_order in [false, true] {
            // At a spacing of a second no packet waits for another.
            let draws = |distribution| delays(distribution, keep_order, Interval::from_secs(1));
            let uniform = draws(Distribution::Uniform {
                low: ms(2),
                high: ms(8),
            });
            assert_moments(&uniform, 5.0 * MS, 6.0 * MS / 12f64.sqrt(), 1.8);
            assert!(uniform.iter().all(|x| (2.0 * MS..=8.0 * MS).contains(x)));
            let exponential = draws(Distribution::Exponential { mean: ms(3) });
            assert_moments(&exponential, 3.0 * MS, 3.0 * MS, 9.0);
            // With a mean far from 0 nothing is truncated.
            let normal = draws(Distribution::Normal {
                mean: ms(100),
                deviation: ms(10),
            });
            assert_moments(&normal, 100.0 * MS, 10.0 * MS, 3.0);
            // With mean 0 the distribution is half-normal: sd * sqrt(2 / pi), sd * sqrt(1 - 2 /
            // pi).
            let half = draws(Distribution::Normal {
                mean: ms(0),
                deviation: ms(10),
            });
            let two_over_pi = std::f64::consts::FRAC_2_PI;
            let deviation = 10.0 * MS * (1.0 - two_over_pi).sqrt();
            assert_moments(&half, 10.0 * MS * two_over_pi.sqrt(), deviation, 3.87);
        }
    }

    #[test]
    fn truncation_moves_the_mean_as_stated() {
        // a = 1: phi(1) = 0.2419707245, Phi(1) = 0.8413447461.
        let ratio = 0.241_970_724_519_143_37 / 0.841_344_746_068_542_9;
        let mean = 10.0 * MS * (1.0 + ratio);
        let deviation = 10.0 * MS * (1.0 - ratio - ratio * ratio).sqrt();
        let normal = Distribution::Normal {
            mean: ms(10),
            deviation: ms(10),
        };
        assert_moments(&delays(normal, false, ms(1)), mean, deviation, 4.0);
    }

    #[test]
    fn order_is_kept_only_with_keep_order() {
        let exponential = Distribution::Exponential { mean: ms(3) };
        let overtakes = |keep_order| {
            let delays = delays(exponential, keep_order, ms(1));
            delays.windows(2).filter(|w| w[1] + MS < w[0]).count() as f64 / (N - 1) as f64
        };
        assert_eq!(overtakes(true), 0.0);
        // A packet overtakes the one before it if X2 + s < X1, where X1 and X2 are their jitter and s
        // is their spacing. The probability is exp(-s / mean) / 2. Neighbouring pairs share a packet,
        // so the variance of the share is at most 3 times that of independent pairs.
        let expected = (-1.0f64 / 3.0).exp() / 2.0;
        assert_near(
            overtakes(false),
            expected,
            (3.0 * expected / N as f64).sqrt(),
        );
    }

    #[test]
    fn bounds_the_wrong_way_round_are_refused() {
        let wrong = Distribution::Uniform {
            low: ms(8),
            high: ms(2),
        };
        let error = Jitter::new(wrong, true, stream("jitter")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "uniform jitter from 0.008000000s to 0.002000000s cannot be: write the smaller \
             bound first"
        );
    }
}
