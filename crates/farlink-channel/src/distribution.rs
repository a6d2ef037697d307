//! Distributions of times and sizes.
//!
//! A draw is a number in the unit of the parameters: nanoseconds or bytes. All distributions but
//! the log-normal are drawn by inverting the distribution function, so one uniform number gives one
//! value. Logarithms and powers are those of `libm`, so a draw is the same on every machine.

use crate::rng::Stream;
use farlink_tcp::Interval;

/// Empirical distribution function: pairs of a value and the share of values up to it. Both rise,
/// and the last share is 1. Between two points the function is linear. The first share is the
/// probability of the first value itself.
pub type Points = &'static [(f64, f64)];

/// Distribution of a positive number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Distribution {
    /// Constant value.
    Constant(f64),
    /// Exponential.
    Exponential {
        /// Mean.
        mean: f64,
    },
    /// Pareto: P(X > x) = (least / x)^shape.
    Pareto {
        /// Smallest value.
        least: f64,
        /// Shape; the mean is infinite up to 1, the variance up to 2.
        shape: f64,
    },
    /// Pareto distribution conditional on values up to `most`.
    BoundedPareto {
        /// Smallest value.
        least: f64,
        /// Largest value.
        most: f64,
        /// Shape.
        shape: f64,
    },
    /// Log-normal: the logarithm is normal.
    LogNormal {
        /// Mean of the logarithm.
        mu: f64,
        /// Deviation of the logarithm.
        sigma: f64,
    },
    /// Empirical.
    Table(Points),
}

impl Distribution {
    /// Returns the Pareto distribution with this mean; `shape` must be above 1.
    pub fn pareto_of_mean(mean: f64, shape: f64) -> Self {
        let least = mean * (shape - 1.0) / shape;
        Self::Pareto { least, shape }
    }

    /// Returns the bounded Pareto distribution with this mean, which must be below `most`.
    pub fn bounded_pareto_of_mean(mean: f64, most: f64, shape: f64) -> Self {
        // The mean rises with the least value, from 0 to `most`. A hundred bisections reach the
        // precision of a double.
        let (mut low, mut high) = (0.0, mean);
        for _ in 0..100 {
            let least = f64::midpoint(low, high);
            if bounded_pareto_mean(least, most, shape) > mean {
                high = least;
            } else {
                low = least;
            }
        }
        let least = high;
        Self::BoundedPareto { least, most, shape }
    }

    /// Returns the log-normal distribution with this mean, whose logarithm has the deviation
    /// `sigma`: its median is mean / exp(sigma^2 / 2).
    pub fn log_normal_of_mean(mean: f64, sigma: f64) -> Self {
        let mu = libm::log(mean) - sigma * sigma / 2.0;
        Self::LogNormal { mu, sigma }
    }

    /// Draws a value.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        match *self {
            Self::Constant(value) => value,
            Self::Exponential { mean } => stream.exponential(mean),
            Self::LogNormal { mu, sigma } => libm::exp(mu + sigma * stream.normal()),
            Self::Pareto { least, shape } => pareto(least, shape, stream.uniform()),
            Self::BoundedPareto { least, most, shape } => {
                let cut = 1.0 - libm::pow(least / most, shape);
                pareto(least, shape, stream.uniform() * cut).min(most)
            }
            Self::Table(points) => value_at(points, stream.uniform()),
        }
    }

    /// Draws a whole number of bytes, rounded up, from 1 to 2^50.
    pub fn draw_bytes(&self, stream: &mut Stream) -> u64 {
        (libm::ceil(self.draw(stream)) as u64).clamp(1, 1 << 50)
    }

    /// Draws a time in nanoseconds, up to ten years.
    pub fn draw_time(&self, stream: &mut Stream) -> Interval {
        const LONGEST: Interval = Interval::from_secs(87_600 * 3600);
        Interval::from_nanos(self.draw(stream) as u64).min(LONGEST)
    }

    /// Returns the mean; infinite for a Pareto distribution with a shape up to 1.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Constant(value) => value,
            Self::Exponential { mean } => mean,
            Self::Pareto { shape, .. } if shape <= 1.0 => f64::INFINITY,
            Self::Pareto { least, shape } => least * shape / (shape - 1.0),
            Self::BoundedPareto { least, most, shape } => bounded_pareto_mean(least, most, shape),
            Self::LogNormal { mu, sigma } => libm::exp(mu + sigma * sigma / 2.0),
            Self::Table(points) => {
                let first = points.first().map_or(0.0, |&(value, share)| value * share);
                let lines = points.windows(2).map(|pair| {
                    let ((low, from), (high, to)) = (pair[0], pair[1]);
                    f64::midpoint(low, high) * (to - from)
                });
                first + lines.sum::<f64>()
            }
        }
    }
}

/// Returns the quantile of a Pareto distribution at `u` below 1.
fn pareto(least: f64, shape: f64, u: f64) -> f64 {
    least * libm::pow(1.0 - u, -1.0 / shape)
}

/// Returns the mean of a bounded Pareto distribution (Harchol-Balter, Crovella and Murta 1999),
/// with its limit at shape 1.
fn bounded_pareto_mean(least: f64, most: f64, shape: f64) -> f64 {
    let ratio = least / most;
    let cut = 1.0 - libm::pow(ratio, shape);
    if (shape - 1.0).abs() < 1e-9 {
        return -least * libm::log(ratio) / cut;
    }
    least * shape / (shape - 1.0) * (1.0 - libm::pow(ratio, shape - 1.0)) / cut
}

/// Returns the quantile at `u`.
fn value_at(points: Points, u: f64) -> f64 {
    let next = points.partition_point(|&(_, share)| share < u);
    match (next.checked_sub(1).map(|i| points[i]), points.get(next)) {
        (Some((low, from)), Some(&(high, to))) => low + (high - low) * (u - from) / (to - from),
        (None, Some(&(value, _))) | (Some((value, _)), None) => value,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    const N: u32 = 200_000;

    fn draws(distribution: Distribution) -> Vec<f64> {
        let mut stream = Streams::new(1, 0).stream("law");
        let mut all: Vec<_> = (0..N).map(|_| distribution.draw(&mut stream)).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// Fails unless the share of draws up to `x` is within 4 standard errors of `wanted`.
    fn up_to(sorted: &[f64], x: f64, wanted: f64) {
        let share = sorted.partition_point(|&d| d <= x) as f64 / f64::from(N);
        let error = (wanted * (1.0 - wanted) / f64::from(N)).sqrt();
        assert!(
            (share - wanted).abs() <= 4.0 * error,
            "P(X <= {x}): {share}, not {wanted}"
        );
    }

    fn mean(sorted: &[f64]) -> f64 {
        sorted.iter().sum::<f64>() / f64::from(N)
    }

    #[test]
    fn exponential_and_constant() {
        let all = draws(Distribution::Exponential { mean: 5.0 });
        for x in [0.1, 1.0, 5.0, 20.0] {
            up_to(&all, x, 1.0 - (-x / 5.0f64).exp());
        }
        assert_eq!(draws(Distribution::Constant(7.0))[0], 7.0);
    }

    #[test]
    fn pareto_has_its_tail_and_its_mean() {
        let distribution = Distribution::pareto_of_mean(12.0, 2.5);
        assert!((distribution.mean() - 12.0).abs() < 1e-12);
        let Distribution::Pareto { least, .. } = distribution else {
            panic!("{distribution:?}")
        };
        assert!((least - 7.2).abs() < 1e-12);
        let all = draws(distribution);
        assert!(all[0] >= least);
        for x in [7.3, 8.0, 12.0, 50.0] {
            up_to(&all, x, 1.0 - (7.2f64 / x).powf(2.5));
        }
        // The variance is least^2 a / ((a - 1)^2 (a - 2)).
        let deviation = (7.2 * 7.2 * 2.5 / (1.5 * 1.5 * 0.5f64)).sqrt();
        let error = deviation / f64::from(N).sqrt();
        assert!((mean(&all) - 12.0).abs() < 4.0 * error, "{}", mean(&all));
        let heavy = Distribution::Pareto {
            least: 1.0,
            shape: 1.0,
        };
        assert_eq!(heavy.mean(), f64::INFINITY);
    }

    #[test]
    fn a_bounded_pareto_keeps_its_bounds_and_its_mean() {
        for shape in [0.8, 1.0, 1.2, 3.0] {
            let distribution = Distribution::bounded_pareto_of_mean(10.0, 1000.0, shape);
            assert!(
                (distribution.mean() - 10.0).abs() < 1e-9,
                "{shape}: {}",
                distribution.mean()
            );
            let Distribution::BoundedPareto { least, .. } = distribution else {
                panic!("{distribution:?}")
            };
            let all = draws(distribution);
            assert!(all[0] >= least && all[all.len() - 1] <= 1000.0);
            let cut = 1.0 - (least / 1000.0).powf(shape);
            for x in [2.0 * least, 10.0, 100.0] {
                up_to(&all, x, (1.0 - (least / x).powf(shape)) / cut);
            }
        }
        // Shape 1 is the limit of neighbouring shapes.
        let near = |shape| bounded_pareto_mean(2.0, 300.0, shape);
        assert!((near(1.0) - near(1.0 + 1e-6)).abs() < 1e-4);
    }

    #[test]
    fn log_normal_has_its_median_and_its_mean() {
        let distribution = Distribution::log_normal_of_mean(20.0, 1.0);
        assert!((distribution.mean() - 20.0).abs() < 1e-12);
        let all = draws(distribution);
        let median = 20.0 / 0.5f64.exp();
        up_to(&all, median, 0.5);
        // The logarithm is normal with a deviation of 1: 34.1 % are within it on each side.
        up_to(&all, median * 1.0f64.exp(), 0.841_344_746);
        up_to(&all, median / 1.0f64.exp(), 0.158_655_254);
        let deviation = 20.0 * (1.0f64.exp() - 1.0).sqrt();
        assert!((mean(&all) - 20.0).abs() < 4.0 * deviation / f64::from(N).sqrt());
    }

    #[test]
    fn a_table_is_a_line_between_its_points() {
        const POINTS: Points = &[(2.0, 0.25), (4.0, 0.75), (10.0, 1.0)];
        let distribution = Distribution::Table(POINTS);
        assert_eq!(distribution.mean(), 0.5 + 1.5 + 1.75);
        for (u, value) in [
            (0.0, 2.0),
            (0.25, 2.0),
            (0.5, 3.0),
            (0.75, 4.0),
            (0.875, 7.0),
        ] {
            assert_eq!(value_at(POINTS, u), value, "{u}");
        }
        let all = draws(distribution);
        for (x, share) in [(2.0, 0.25), (3.0, 0.5), (4.0, 0.75), (7.0, 0.875)] {
            up_to(&all, x, share);
        }
        assert!((mean(&all) - 3.75).abs() < 4.0 * 2.2 / f64::from(N).sqrt());
    }
}
