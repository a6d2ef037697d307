//! Closed forms of single stages and of stages in series.
//!
//! For any stationary loss process with mean loss L and autocorrelation a at lag 1, P(lost, next
//! delivered) = L (1 - L) (1 - a). The mean burst is therefore 1 / ((1 - L) (1 - a)) packets, and
//! the mean gap 1 / (L (1 - a)).

use super::bit_errors::BitErrors;
use super::closed_form::{DelayDistribution, Derived, Sampling, Theory};
use super::closed_form::{LAGS, LEVELS};
use super::corrupt::Corrupt;
use super::gilbert::Gilbert;
use super::jitter::{Distribution, Jitter};
use super::loss::Loss;
use super::reorder::Reorder;
use super::{Channel, Stage};
use farlink_tcp::Interval;

impl Stage {
    /// Computes the closed form of this stage alone under the traffic of `sampling`.
    pub fn theory(&self, sampling: Sampling) -> Theory {
        self.theory_behind(sampling, &Theory::clean())
    }

    /// Computes the closed form for the traffic that stages with the closed form `before` let
    /// through.
    fn theory_behind(&self, sampling: Sampling, before: &Theory) -> Theory {
        match self {
            Self::Gilbert(stage) => stage.theory(),
            Self::Loss(stage) => stage.theory(),
            Self::BitErrors(stage) => stage.theory(sampling.bytes),
            Self::Corrupt(stage) => stage.theory(),
            Self::Duplicate(_) => Theory::clean(),
            Self::Reorder(stage) => stage.theory(),
            Self::Jitter(stage) => stage.theory(sampling.spacing, before),
            Self::Process(stage) => stage.theory(sampling),
        }
    }

    /// Returns the values derived from the parameters.
    pub fn derived(&self) -> Vec<Derived> {
        match self {
            Self::Gilbert(stage) => stage.derived(),
            Self::BitErrors(stage) => stage.derived(),
            Self::Reorder(stage) => delay_derived(stage.theory().delay, "p d, d sqrt(p (1 - p))"),
            Self::Jitter(stage) => delay_derived(
                stage.distribution().of_delay(None, 0.0),
                "moments of the distribution, before packets wait for each other",
            ),
            Self::Process(stage) => stage.derived(),
            Self::Loss(_) | Self::Corrupt(_) | Self::Duplicate(_) => Vec::new(),
        }
    }
}

impl Channel {
    /// Computes the closed form of all stages together under the traffic of `sampling`.
    pub fn theory(&self, sampling: Sampling) -> Theory {
        self.stages().iter().fold(Theory::clean(), |before, stage| {
            let next = stage.theory_behind(sampling, &before);
            before.then(next)
        })
    }
}

fn derived(name: &'static str, unit: &'static str, value: f64, source: &'static str) -> Derived {
    Derived {
        name,
        unit,
        value,
        source,
    }
}

fn delay_derived(distribution: Option<DelayDistribution>, source: &'static str) -> Vec<Derived> {
    let Some(distribution) = distribution else {
        return Vec::new();
    };
    vec![
        derived("mean_extra_delay", "s", distribution.mean, source),
        derived("deviation_of_delay", "s", distribution.deviation, source),
    ]
}

impl Gilbert {
    /// Returns the closed form of Elliott (1963). Losses of two packets k apart have the covariance
    /// (h - k)^2 b (1 - b) m^k, where b is the share of the bad state and m = 1 - p - r.
    fn theory(&self) -> Theory {
        let (bad, memory) = (self.bad_share(), 1.0 - self.p().get() - self.r().get());
        let loss = self.mean_loss();
        let apart = self.k().get() - self.h().get();
        let scale = apart * apart * bad * (1.0 - bad) / (loss * (1.0 - loss));
        let lags = (1..=LAGS).map(|lag| scale * libm::pow(memory, lag as f64));
        Theory::of_loss(loss, lags.collect())
    }

    fn derived(&self) -> Vec<Derived> {
        const SOURCE: &str = "Gilbert 1960, Elliott 1963";
        let gap = self.mean_burst() * (1.0 - self.mean_loss()) / self.mean_loss();
        vec![
            derived("p", "probability", self.p().get(), SOURCE),
            derived("r", "probability", self.r().get(), SOURCE),
            derived("bad_share", "probability", self.bad_share(), SOURCE),
            derived("mean_loss", "probability", self.mean_loss(), SOURCE),
            derived("mean_burst_packets", "", self.mean_burst(), SOURCE),
            derived("mean_gap_packets", "", gap, SOURCE),
        ]
    }
}

impl Loss {
    fn theory(&self) -> Theory {
        Theory::independent(self.probability().get())
    }
}

impl Corrupt {
    fn theory(&self) -> Theory {
        Theory::independent(self.probability().get())
    }
}

impl BitErrors {
    fn theory(&self, bytes: u32) -> Theory {
        Theory::independent(self.packet_loss(bytes))
    }

    fn derived(&self) -> Vec<Derived> {
        const SOURCE: &str = "binomial tail: more errors than can be corrected";
        let loss = |bytes| self.packet_loss(bytes);
        let mut out = vec![
            derived("packet_loss_1500_B", "probability", loss(1500), SOURCE),
            derived("packet_loss_40_B", "probability", loss(40), SOURCE),
        ];
        if let Some((code, ber)) = self.code() {
            let block = code.block_loss(ber);
            out.push(code.derived());
            out.push(derived("block_loss", "probability", block, SOURCE));
        }
        out
    }
}

impl Reorder {
    fn theory(&self) -> Theory {
        let (p, delay) = (self.probability().get(), self.delay().as_secs_f64());
        let at = |level: f64| if level > 1.0 - p { delay } else { 0.0 };
        Theory {
            delay: Some(DelayDistribution {
                mean: p * delay,
                deviation: delay * libm::sqrt(p * (1.0 - p)),
                quantiles: LEVELS.iter().map(|&level| (level, at(level))).collect(),
            }),
            ..Theory::clean()
        }
    }
}

impl Jitter {
    fn theory(&self, spacing: Interval, before: &Theory) -> Theory {
        let delay = if self.keeps_order() {
            let spacing = spacing.as_secs_f64();
            let even = before
                .delay
                .as_ref()
                .is_some_and(DelayDistribution::is_zero);
            let apart = spacing >= self.distribution().width();
            match before.loss {
                // No packet can catch up with the previous one.
                _ if even && apart => self.distribution().of_delay(None, 0.0),
                Some(loss) if even && !before.has_memory() => {
                    self.distribution().of_delay(Some(spacing), loss)
                }
                _ => None,
            }
        } else {
            self.distribution().of_delay(None, 0.0)
        };
        Theory {
            delay,
            ..Theory::clean()
        }
    }
}

/// Number of points of the grid on which a distribution is integrated.
const POINTS: f64 = 20_000.0;
/// Maximum number of points, for packets so close that the grid must be finer.
const MAX_POINTS: f64 = 4e6;
/// Distance (in standard deviations or means) beyond which a normal or exponential tail is
/// neglected.
const TAIL: f64 = 40.0;

impl Distribution {
    /// Returns P(draw <= x), x in seconds.
    fn below(self, x: f64) -> f64 {
        if x < 0.0 {
            return 0.0;
        }
        match self {
            Self::Uniform { low, high } => {
                let (low, high) = (low.as_secs_f64(), high.as_secs_f64());
                ((x - low) / (high - low)).clamp(0.0, 1.0)
            }
            Self::Normal { mean, deviation } => {
                let (mean, deviation) = (mean.as_secs_f64(), deviation.as_secs_f64());
                let normal = |x: f64| {
                    0.5 * libm::erfc((mean - x) / deviation * std::f64::consts::FRAC_1_SQRT_2)
                };
                let cut = normal(0.0);
                (normal(x) - cut) / (1.0 - cut)
            }
            Self::Exponential { mean } => -libm::expm1(-x / mean.as_secs_f64()),
        }
    }

    /// Returns the smallest and the largest draw of the grid, in seconds.
    fn support(self) -> (f64, f64) {
        match self {
            Self::Uniform { low, high } => (low.as_secs_f64(), high.as_secs_f64()),
            Self::Normal { mean, deviation } => {
                let (mean, tail) = (mean.as_secs_f64(), 9.0 * deviation.as_secs_f64());
                ((mean - tail).max(0.0), mean + tail)
            }
            Self::Exponential { mean } => (0.0, TAIL * mean.as_secs_f64()),
        }
    }

    fn width(self) -> f64 {
        let (low, high) = self.support();
        high - low
    }

    /// Computes the distribution of a delay. With a `spacing`, packets wait for earlier packets,
    /// and the share `lost` of those is missing. Then P(delay <= d) = F(d) times the product of
    /// (lost + (1 - lost) F(d + i spacing)) over i >= 1. Returns `None` if packets are too close
    /// for the grid.
    fn of_delay(self, spacing: Option<f64>, lost: f64) -> Option<DelayDistribution> {
        let (low, high) = self.support();
        if high <= low {
            return Some(DelayDistribution::constant(low));
        }
        // The grid makes a spacing a whole number of steps.
        let wanted = high / POINTS;
        let step = spacing
            .filter(|&apart| apart < high)
            .map_or(wanted, |apart| apart / libm::ceil(apart / wanted));
        let points = libm::ceil(high / step);
        if points > MAX_POINTS || step <= 0.0 {
            return None;
        }
        let points = points as usize + 1;
        let mut distribution: Vec<f64> = (0..points).map(|i| self.below(i as f64 * step)).collect();
        if let Some(apart) = spacing {
            let back = libm::round(apart / step) as usize;
            // The product over earlier packets is computed from the far end, where it is 1.
            let mut waits = vec![1.0; points];
            for i in (0..points).rev() {
                let further = waits.get(i + back).copied().unwrap_or(1.0);
                waits[i] = (lost + (1.0 - lost) * distribution[i]) * further;
                distribution[i] *= further;
            }
        }
        let (mut mean, mut square) = (0.0, 0.0);
        for (i, below) in distribution.iter().enumerate() {
            let above = 1.0 - below;
            let weight = if i == 0 || i + 1 == points { 0.5 } else { 1.0 };
            mean += weight * above;
            square += weight * above * 2.0 * (i as f64 * step);
        }
        let (mean, square) = (mean * step, square * step);
        let quantile = |level: f64| {
            let next = distribution.partition_point(|&below| below < level);
            if next == 0 || next == points {
                return next as f64 * step;
            }
            let (before, after) = (distribution[next - 1], distribution[next]);
            (next as f64 - 1.0 + (level - before) / (after - before)) * step
        };
        Some(DelayDistribution {
            mean,
            deviation: libm::sqrt((square - mean * mean).max(0.0)),
            quantiles: LEVELS
                .iter()
                .map(|&level| (level, quantile(level)))
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{N, assert_near, p, stream};
    use super::super::{Duplicate, Verdict};
    use super::*;
    use farlink_tcp::Instant;

    const SPACING: Interval = Interval::from_millis(1);
    const SAMPLING: Sampling = Sampling {
        bytes: 1500,
        spacing: SPACING,
    };

    fn gilbert(loss: f64, burst: f64) -> Stage {
        Stage::Gilbert(Gilbert::from_means(p(loss), burst, stream("gilbert")).unwrap())
    }

    fn loss(probability: f64) -> Stage {
        Stage::Loss(Loss::new(p(probability), stream("loss")))
    }

    fn jitter(distribution: Distribution, keep_order: bool) -> Stage {
        Stage::Jitter(Jitter::new(distribution, keep_order, stream("jitter")).unwrap())
    }

    fn exponential(mean: u64) -> Distribution {
        Distribution::Exponential {
            mean: Interval::from_millis(mean),
        }
    }

    /// Sends `N` packets, and returns which were lost and the delays of the others.
    fn sample(channel: &Channel) -> (Vec<bool>, Vec<f64>) {
        let mut channel = channel.clone();
        let mut delays = Vec::new();
        let lost = (0..N as u64)
            .map(|packet| {
                let passage = channel.pass(Instant::ZERO + SPACING * packet, SAMPLING.bytes);
                if passage.verdict == Verdict::Pass {
                    delays.push(passage.hold.as_secs_f64());
                }
                passage.verdict != Verdict::Pass
            })
            .collect();
        (lost, delays)
    }

    /// Returns the mean of `values` with its standard error over 100 batches.
    fn batches(values: &[f64]) -> (f64, f64) {
        let means: Vec<f64> = values
            .chunks_exact(values.len() / 100)
            .map(|batch| batch.iter().sum::<f64>() / batch.len() as f64)
            .collect();
        let n = means.len() as f64;
        let mean = means.iter().sum::<f64>() / n;
        let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, (variance / n).sqrt())
    }

    fn check(stages: Vec<Stage>) {
        let channel = Channel::new(stages);
        let theory = channel.theory(SAMPLING);
        let (lost, delays) = sample(&channel);
        let indicator: Vec<f64> = lost.iter().map(|&lost| f64::from(u8::from(lost))).collect();
        let mean = theory.loss.unwrap();
        let (measured, error) = batches(&indicator);
        assert_near(measured, mean, error);
        if let Some(lags) = theory.autocorrelation {
            assert!(theory.burst.is_some() && theory.gap.is_some());
            for lag in [1usize, 2, 5, 20] {
                let both: Vec<f64> = lost
                    .windows(lag + 1)
                    .map(|w| f64::from(u8::from(w[0] && w[lag])))
                    .collect();
                let (measured, error) = batches(&both);
                let expected = mean * (mean + (1.0 - mean) * lags[lag - 1]);
                assert_near(measured, expected, error);
            }
            let ends: Vec<f64> = lost
                .windows(2)
                .map(|w| f64::from(u8::from(w[0] && !w[1])))
                .collect();
            let (measured, error) = batches(&ends);
            assert_near(measured, mean / theory.burst.unwrap(), error);
            assert_near(measured, (1.0 - mean) / theory.gap.unwrap(), error);
        }
        let distribution = theory.delay.unwrap();
        let (measured, error) = batches(&delays);
        assert_near(measured, distribution.mean, error.max(1e-12));
        let squares: Vec<f64> = delays
            .iter()
            .map(|d| (d - distribution.mean).powi(2))
            .collect();
        let (measured, error) = batches(&squares);
        assert_near(measured, distribution.deviation.powi(2), error.max(1e-15));
        if distribution.deviation > 0.0 {
            for (level, at) in distribution.quantiles {
                let share = |chosen: &dyn Fn(f64) -> bool| {
                    let hits: Vec<f64> = delays
                        .iter()
                        .map(|&delay| f64::from(u8::from(chosen(delay))))
                        .collect();
                    batches(&hits)
                };
                // A distribution with a step has the whole step at a quantile. The tolerance is a
                // grid point and a nanosecond of rounding.
                let (max, error) = share(&|delay| delay <= at + 1e-9);
                let (min, _) = share(&|delay| delay < at - 1e-9);
                let near = 4.0 * error + 1e-4;
                assert!(
                    min <= level + near && max >= level - near,
                    "{level}: {min} {max}"
                );
            }
        }
    }

    #[test]
    fn stages_alone_are_as_their_closed_forms() {
        check(vec![gilbert(0.05, 4.0)]);
        check(vec![loss(0.01)]);
        let four = Gilbert::new(p(0.02), p(0.1), p(0.3), p(0.99), stream("four"));
        check(vec![Stage::Gilbert(four.unwrap())]);
        check(vec![Stage::BitErrors(BitErrors::new(
            p(2e-6),
            0,
            stream("ber"),
        ))]);
        check(vec![Stage::Corrupt(Corrupt::new(
            p(0.02),
            stream("corrupt"),
        ))]);
    }

    #[test]
    fn stages_together_are_as_their_product() {
        check(vec![gilbert(0.05, 4.0), loss(0.02)]);
        let ber = BitErrors::new(p(1e-6), 0, stream("ber"));
        let duplicate = Duplicate::new(p(0.1), stream("duplicate"));
        check(vec![
            gilbert(0.2, 10.0),
            Stage::BitErrors(ber),
            Stage::Duplicate(duplicate),
            jitter(exponential(3), false),
        ]);
    }

    #[test]
    fn a_later_chain_per_packet_has_only_a_loss() {
        let theory = Channel::new(vec![loss(0.5), gilbert(0.1, 5.0)]).theory(SAMPLING);
        assert!((theory.loss.unwrap() - 0.55).abs() < 1e-12);
        assert_eq!((theory.burst, theory.autocorrelation), (None, None));
    }

    #[test]
    fn delays_are_as_their_distributions_with_and_without_order() {
        let ms = Interval::from_millis;
        let uniform = Distribution::Uniform {
            low: ms(2),
            high: ms(8),
        };
        let normal = Distribution::Normal {
            mean: ms(4),
            deviation: ms(3),
        };
        for distribution in [uniform, normal, exponential(5)] {
            check(vec![jitter(distribution, false)]);
            check(vec![jitter(distribution, true)]);
            check(vec![loss(0.4), jitter(distribution, true)]);
        }
        let reorder = Reorder::new(p(0.1), ms(5), stream("reorder"));
        check(vec![Stage::Reorder(reorder)]);
    }

    #[test]
    fn moments_of_the_grid_are_those_of_the_distributions() {
        let distribution = exponential(5).of_delay(None, 0.0).unwrap();
        assert!((distribution.mean / 0.005 - 1.0).abs() < 1e-5);
        assert!((distribution.deviation / 0.005 - 1.0).abs() < 1e-5);
        // The standard error of the median is ln 2 times that of the mean.
        assert!((distribution.quantiles[4].1 / (0.005 * 2f64.ln()) - 1.0).abs() < 1e-5);
        // The tests use packets far enough apart that none waits, and packets close enough that all
        // wait.
        let apart = exponential(5).of_delay(Some(1.0), 0.0).unwrap();
        assert_eq!(apart, distribution);
        let close = exponential(5).of_delay(Some(1e-4), 0.0).unwrap();
        assert!(close.mean > 4.0 * distribution.mean, "{close:?}");
    }

    #[test]
    fn combinations_without_closed_form_have_none() {
        // Bursts of loss thin the packets for which a delay in order waits.
        let mixed = vec![gilbert(0.1, 5.0), jitter(exponential(5), true)];
        assert_eq!(Channel::new(mixed).theory(SAMPLING).delay, None);
        let twice = vec![jitter(exponential(5), false), jitter(exponential(5), true)];
        assert_eq!(Channel::new(twice).theory(SAMPLING).delay, None);
        // For the sum of two independent delays, moments add up but quantiles do not.
        let twice = vec![jitter(exponential(5), false), jitter(exponential(5), false)];
        let distribution = Channel::new(twice).theory(SAMPLING).delay.unwrap();
        assert!((distribution.mean - 0.01).abs() < 1e-6 && distribution.quantiles.is_empty());
    }
}
