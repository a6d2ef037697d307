//! Closed form of a process: its mean effect on packets, and the dependence between packets.

use farlink_tcp::Interval;

/// Number of lags for which a stage of this crate gives its autocorrelation.
pub const LAGS: usize = 100;

/// Probabilities for which a distribution of delay has quantiles.
pub const LEVELS: [f64; 10] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999];

/// Traffic for which a closed form is computed: packets of one length at one spacing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// Bytes of each packet on the wire, without the check symbols of a block code.
    pub bytes: u32,
    /// Time from the end of one packet to the end of the next.
    pub spacing: Interval,
}

/// Closed form of a process; `None` where none exists. A process that loses no packet has loss 0,
/// and a process without delay has [`DelayDistribution::constant`] of 0, so that closed forms can
/// be combined.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Theory {
    /// Mean loss as a fraction of packets; packets delivered corrupt count as lost.
    pub loss: Option<f64>,
    /// Mean number of packets lost in a row.
    pub burst: Option<f64>,
    /// Mean number of packets delivered in a row.
    pub gap: Option<f64>,
    /// Autocorrelation of the loss indicator at lags 1, 2, ... packets.
    pub autocorrelation: Option<Vec<f64>>,
    /// Distribution of the extra delay.
    pub delay: Option<DelayDistribution>,
}

/// Distribution of the delay that a stage adds to the delay of the link.
#[derive(Clone, PartialEq, Debug)]
pub struct DelayDistribution {
    /// Mean, in seconds.
    pub mean: f64,
    /// Standard deviation, in seconds.
    pub deviation: f64,
    /// Quantiles: (probability, seconds), both rising.
    pub quantiles: Vec<(f64, f64)>,
}

/// Quantity derived from the parameters of a process.
#[derive(Clone, PartialEq, Debug)]
pub struct Derived {
    /// Name, such as `fade_rate` or `mean_handoff_interval`.
    pub name: &'static str,
    /// Unit of the value: "s", "Hz", "bit/s", "dB", "probability", or "" for a plain number.
    pub unit: &'static str,
    /// Value.
    pub value: f64,
    /// Equation that defines the quantity.
    pub source: &'static str,
}

impl From<(&'static str, &'static str, f64, &'static str)> for Derived {
    fn from(row: (&'static str, &'static str, f64, &'static str)) -> Self {
        let (name, unit, value, source) = row;
        Self {
            name,
            unit,
            value,
            source,
        }
    }
}

impl DelayDistribution {
    /// Returns the distribution of a constant delay.
    pub fn constant(seconds: f64) -> Self {
        Self {
            mean: seconds,
            deviation: 0.0,
            quantiles: LEVELS.iter().map(|&level| (level, seconds)).collect(),
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.mean == 0.0 && self.deviation == 0.0
    }

    /// Returns the closed form of the sum of two independent delays. Quantiles exist only if one
    /// delay is constant: they are those of the other, shifted by the constant.
    pub(super) fn plus(&self, other: &Self) -> Self {
        let (shift, base) = if self.deviation == 0.0 {
            (self.mean, &other.quantiles)
        } else {
            (other.mean, &self.quantiles)
        };
        let shifted = base.iter().map(|&(level, at)| (level, at + shift));
        let known = self.deviation == 0.0 || other.deviation == 0.0;
        let quantiles = shifted.take(if known { base.len() } else { 0 }).collect();
        Self {
            mean: self.mean + other.mean,
            deviation: libm::hypot(self.deviation, other.deviation),
            quantiles,
        }
    }
}

impl Theory {
    /// Returns the closed form of a stage that loses and delays no packet.
    pub fn clean() -> Self {
        Self {
            loss: Some(0.0),
            delay: Some(DelayDistribution::constant(0.0)),
            ..Self::default()
        }
    }

    /// Returns the closed form of a stage without delay. `loss` is the mean loss, and
    /// `autocorrelation` holds lags 1, 2, ...
    pub fn of_loss(loss: f64, autocorrelation: Vec<f64>) -> Self {
        if loss <= 0.0 {
            return Self::clean();
        }
        let change = autocorrelation.first().map(|first| 1.0 - first);
        let mean = |share: f64| change.map(|change| 1.0 / (share * change));
        Self {
            loss: Some(loss),
            burst: mean(1.0 - loss).filter(|burst| burst.is_finite()),
            gap: mean(loss).filter(|gap| gap.is_finite()),
            autocorrelation: change.map(|_| autocorrelation),
            delay: Some(DelayDistribution::constant(0.0)),
        }
    }

    /// Returns the closed form of a stage without delay that loses each packet independently, with
    /// the same probability.
    pub fn independent(loss: f64) -> Self {
        Self::of_loss(loss, vec![0.0; LAGS])
    }

    /// Returns whether the fate of a packet depends on earlier packets, or may do so.
    pub(super) fn has_memory(&self) -> bool {
        self.loss != Some(0.0)
            && self
                .autocorrelation
                .as_ref()
                .is_none_or(|lags| lags.iter().any(|&lag| lag != 0.0))
    }

    /// Combines this stage with `next`, which gets only the packets that pass this stage. The
    /// probability of delivery is the product of the two. The autocorrelation is unknown if `next`
    /// depends on earlier packets and this stage loses packets, because losses leave gaps in the
    /// sequence of `next`.
    pub(super) fn then(self, next: Self) -> Self {
        let (Some(first), Some(second)) = (self.loss, next.loss) else {
            return Self {
                delay: sum(self.delay.as_ref(), next.delay.as_ref()),
                ..Self::default()
            };
        };
        let loss = 1.0 - (1.0 - first) * (1.0 - second);
        let delay = sum(self.delay.as_ref(), next.delay.as_ref());
        let whole = if second == 0.0 {
            self
        } else if first == 0.0 {
            next
        } else if next.has_memory() {
            Self {
                loss: Some(loss),
                ..Self::default()
            }
        } else {
            let delivered = |loss: f64, lag: f64| {
                let through = 1.0 - loss;
                through * through + loss * through * lag
            };
            match (self.autocorrelation, next.autocorrelation) {
                (Some(a), Some(b)) => Self::of_loss(
                    loss,
                    a.iter()
                        .zip(&b)
                        .map(|(&a, &b)| {
                            let both = delivered(first, a) * delivered(second, b);
                            (both - (1.0 - loss) * (1.0 - loss)) / (loss * (1.0 - loss))
                        })
                        .collect(),
                ),
                _ => Self {
                    loss: Some(loss),
                    ..Self::default()
                },
            }
        };
        Self { delay, ..whole }
    }
}

fn sum(a: Option<&DelayDistribution>, b: Option<&DelayDistribution>) -> Option<DelayDistribution> {
    Some(a?.plus(b?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(measured: f64, expected: f64) {
        assert!((measured - expected).abs() < 1e-12, "{measured} {expected}");
    }

    /// a(1) = 1/2 gives bursts of 1 / (0.9 / 2) and gaps of 1 / (0.1 / 2) packets.
    #[test]
    fn bursts_and_gaps_follow_from_the_first_lag() {
        let theory = Theory::of_loss(0.1, vec![0.5]);
        near(theory.burst.unwrap(), 1.0 / 0.45);
        near(theory.gap.unwrap(), 20.0);
    }

    /// Both stages deliver two packets in a row with (0.81 + 0.09 a) 0.64. At a = 1/2 that is
    /// 0.5472, of which 0.72^2 is the independent part and 0.28 0.72 the variance.
    #[test]
    fn two_stages_deliver_the_product_of_their_shares() {
        let both = Theory::of_loss(0.1, vec![0.5, 0.25]).then(Theory::of_loss(0.2, vec![0.0; 2]));
        near(both.loss.unwrap(), 0.28);
        let lags = both.autocorrelation.unwrap();
        near(lags[0], 1.0 / 7.0);
        near(lags[1], 1.0 / 14.0);
    }

    /// The loss of two stages is known even if its autocorrelation is not. Delays add, independent
    /// of losses.
    #[test]
    fn two_stages_combine_their_known_values() {
        let unknown = Theory {
            loss: Some(0.1),
            ..Theory::default()
        };
        let both = unknown.then(Theory::independent(0.2));
        near(both.loss.unwrap(), 0.28);
        assert_eq!(both.autocorrelation, None);
        let counts = Theory::of_loss(0.2, vec![0.5]);
        near(Theory::independent(0.1).then(counts).loss.unwrap(), 0.28);
        let held = |seconds| Theory {
            delay: Some(DelayDistribution::constant(seconds)),
            ..Theory::default()
        };
        let both = held(1.0).then(held(2.0));
        assert_eq!(both.loss, None);
        near(both.delay.unwrap().mean, 3.0);
    }
}
