//! Bursty loss: the chain of Gilbert (1960) and Elliott (1963).

use super::error::ChannelError;
use super::passage::{DropCause, Passage, Verdict};
use crate::rng::{Probability, Stream};

/// Two-state Markov chain. A packet is lost with the probability of the present state, and then the
/// chain makes one step.
///
/// The step from good to bad has probability `p`, the step back `r`. A packet is delivered with
/// probability `k` in the good state and `h` in the bad one. The chain starts in its stationary
/// distribution, so the first packets are like any other.
#[derive(Clone, Debug)]
pub struct Gilbert {
    p: Probability,
    r: Probability,
    h: Probability,
    k: Probability,
    loss_bad: Probability,
    loss_good: Probability,
    bad: bool,
    stream: Stream,
}

impl Gilbert {
    /// Creates the chain from the four probabilities.
    ///
    /// # Errors
    /// Fails if `p` and `r` are both 0.
    pub fn new(
        p: Probability,
        r: Probability,
        h: Probability,
        k: Probability,
        mut stream: Stream,
    ) -> Result<Self, ChannelError> {
        if p.is_zero() && r.is_zero() {
            return Err(ChannelError::Frozen);
        }
        let bad = stream.chance(Probability::clamped(p.get() / (p.get() + r.get())));
        Ok(Self {
            p,
            r,
            h,
            k,
            loss_bad: h.complement(),
            loss_good: k.complement(),
            bad,
            stream,
        })
    }

    /// Creates the simple chain (every packet lost in the bad state, none in the good one) from the
    /// mean loss and the mean burst: r = 1 / burst and p = r loss / (1 - loss). `burst` is the mean
    /// number of packets lost in a row; independent loss has 1 / (1 - loss).
    ///
    /// # Errors
    /// Fails if the burst is below 1 packet, or too short for so much loss.
    pub fn from_means(loss: Probability, burst: f64, stream: Stream) -> Result<Self, ChannelError> {
        if !(burst.is_finite() && burst >= 1.0) {
            return Err(ChannelError::Burst(burst));
        }
        let loss = loss.get();
        if loss == 1.0 {
            return Err(ChannelError::NothingPasses);
        }
        let shortest = loss / (1.0 - loss);
        // The tolerance allows for rounding, because the largest possible loss must be accepted.
        if shortest / burst > 1.0 + 1e-9 {
            // The suggested values are rounded to the safe side, to short numbers.
            return Err(ChannelError::LossForBurst {
                loss,
                burst,
                largest: libm::floor(burst / (burst + 1.0) * 1e6) / 1e6,
                shortest: libm::ceil(shortest * 1e6 - 1e-3) / 1e6,
            });
        }
        Self::new(
            Probability::clamped(shortest / burst),
            Probability::clamped(1.0 / burst),
            Probability::ZERO,
            Probability::ONE,
            stream,
        )
    }

    /// Returns the probability of a change from good to bad, per packet.
    pub fn p(&self) -> Probability {
        self.p
    }

    /// Returns the probability of a change from bad to good, per packet.
    pub fn r(&self) -> Probability {
        self.r
    }

    /// Returns the probability of delivery in the bad state.
    pub fn h(&self) -> Probability {
        self.h
    }

    /// Returns the probability of delivery in the good state.
    pub fn k(&self) -> Probability {
        self.k
    }

    /// Returns the stationary probability of the bad state, p / (p + r).
    pub fn bad_share(&self) -> f64 {
        self.p.get() / (self.p.get() + self.r.get())
    }

    /// Returns the mean loss as a fraction of packets.
    pub fn mean_loss(&self) -> f64 {
        let bad = self.bad_share();
        bad * (1.0 - self.h.get()) + (1.0 - bad) * (1.0 - self.k.get())
    }

    /// Returns the mean number of packets lost in a row: P(lost) / P(lost, next delivered). This is
    /// 1 / r for the simple chain, and NaN if no packet is ever lost.
    pub fn mean_burst(&self) -> f64 {
        let (p, r, h, k) = (self.p.get(), self.r.get(), self.h.get(), self.k.get());
        let bad = self.bad_share();
        let ends = bad * (1.0 - h) * (r * k + (1.0 - r) * h)
            + (1.0 - bad) * (1.0 - k) * (p * h + (1.0 - p) * k);
        self.mean_loss() / ends
    }

    pub(super) fn is_inert(&self) -> bool {
        (self.loss_bad.is_zero() || self.p.is_zero()) && self.loss_good.is_zero()
    }

    #[inline]
    pub(super) fn pass(&mut self, passage: &mut Passage) {
        let (loss, leave) = if self.bad {
            (self.loss_bad, self.r)
        } else {
            (self.loss_good, self.p)
        };
        if self.stream.chance(loss) {
            passage.verdict = Verdict::Drop(DropCause::Loss);
        }
        self.bad ^= self.stream.chance(leave);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Stage;
    use super::super::testing::{N, assert_near, drops, p, rate, rate_error, stream};
    use super::*;

    /// Returns the mean length and the number of runs of the value `of`. The first and the last run
    /// are left out, because the ends cut them off.
    fn runs(events: &[bool], of: bool) -> (f64, f64) {
        let mut lengths: Vec<(bool, u32)> = vec![];
        for &event in events {
            match lengths.last_mut() {
                Some((kind, length)) if *kind == event => *length += 1,
                _ => lengths.push((event, 1)),
            }
        }
        let inner = &lengths[1..lengths.len() - 1];
        let (mut sum, mut count) = (0.0, 0.0);
        for (_, length) in inner.iter().filter(|(kind, _)| *kind == of) {
            sum += f64::from(*length);
            count += 1.0;
        }
        (sum / count, count)
    }

    /// Returns the autocorrelation at `lag` about the known mean m, from the rate c of losses `lag`
    /// packets after a loss: (c - m) / (1 - m). The standard error comes from the residuals of 100
    /// batches of 10,000 packets.
    fn autocorrelation(events: &[bool], mean: f64, lag: usize) -> (f64, f64) {
        let batches: Vec<(f64, f64)> = events
            .chunks(events.len() / 100)
            .map(|batch| {
                let losses = batch[..batch.len() - lag]
                    .iter()
                    .filter(|&&lost| lost)
                    .count();
                let both = batch.windows(lag + 1).filter(|w| w[0] && w[lag]).count();
                (losses as f64, both as f64)
            })
            .collect();
        let losses: f64 = batches.iter().map(|batch| batch.0).sum();
        let rate = batches.iter().map(|batch| batch.1).sum::<f64>() / losses;
        let left: f64 = batches
            .iter()
            .map(|batch| (batch.1 - rate * batch.0).powi(2))
            .sum();
        (
            (rate - mean) / (1.0 - mean),
            left.sqrt() / losses / (1.0 - mean),
        )
    }

    /// Returns the standard error of the loss rate of the simple chain. The standard error of
    /// independent losses is multiplied by sqrt((1 + m) / (1 - m)), where m = 1 - p - r.
    fn loss_error(gilbert: &Gilbert) -> f64 {
        let memory = 1.0 - gilbert.p().get() - gilbert.r().get();
        rate_error(gilbert.mean_loss(), N) * ((1.0 + memory) / (1.0 - memory)).sqrt()
    }

    #[test]
    fn loss_burst_gap_and_memory_are_those_of_the_chain() {
        for (loss, burst) in [(0.05, 4.0), (0.01, 20.0), (0.3, 2.0), (0.05, 1.0 / 0.95)] {
            let gilbert = Gilbert::from_means(p(loss), burst, stream("gilbert")).unwrap();
            let (to_bad, to_good) = (gilbert.p().get(), gilbert.r().get());
            let error = loss_error(&gilbert);
            let lost = drops(Stage::Gilbert(gilbert), DropCause::Loss);
            assert_near(rate(&lost), loss, error);
            // Runs of losses and of deliveries are both geometric.
            let (mean, count) = runs(&lost, true);
            assert_near(mean, burst, (1.0 - to_good).sqrt() / to_good / count.sqrt());
            let (mean, count) = runs(&lost, false);
            assert_near(
                mean,
                1.0 / to_bad,
                (1.0 - to_bad).sqrt() / to_bad / count.sqrt(),
            );
            for lag in 1..=5u8 {
                let (measured, error) = autocorrelation(&lost, loss, lag.into());
                assert!(error < 0.02, "the bound says nothing: {error}");
                assert_near(measured, (1.0 - to_bad - to_good).powi(lag.into()), error);
            }
        }
    }

    #[test]
    fn the_four_probabilities_give_their_means() {
        let gilbert = Gilbert::new(p(0.02), p(0.1), p(0.3), p(0.99), stream("four")).unwrap();
        assert!((gilbert.bad_share() - 1.0 / 6.0).abs() < 1e-15);
        let expected = 0.7 / 6.0 + 0.01 * 5.0 / 6.0;
        assert!((gilbert.mean_loss() - expected).abs() < 1e-15);
        let burst = gilbert.mean_burst();
        let lost = drops(Stage::Gilbert(gilbert), DropCause::Loss);
        // The variance of the mean is at most that of a state's share, times the factor of the
        // chain's memory.
        let memory: f64 = 0.88;
        let wide = ((1.0 + memory) / (1.0 - memory)).sqrt();
        assert_near(rate(&lost), expected, rate_error(expected, N) * wide);
        let (mean, count) = runs(&lost, true);
        assert_near(mean, burst, burst / count.sqrt());
    }

    #[test]
    fn from_means_gives_these_means() {
        for loss in [1e-6, 0.05, 0.5] {
            for burst in [1.0 / (1.0 - loss), 4.0, 1000.0] {
                let gilbert = Gilbert::from_means(p(loss), burst, stream("g")).unwrap();
                assert!((gilbert.mean_loss() / loss - 1.0).abs() < 1e-12);
                assert!((gilbert.mean_burst() / burst - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn five_per_cent_stays_five_per_cent_whatever_the_burst() {
        for burst in [1.0, 1.5, 3.0, 10.0, 50.0, 200.0] {
            let gilbert = Gilbert::from_means(p(0.05), burst, stream("five")).unwrap();
            let error = loss_error(&gilbert);
            let lost = drops(Stage::Gilbert(gilbert), DropCause::Loss);
            assert_near(rate(&lost), 0.05, error);
        }
    }

    #[test]
    fn the_first_packet_is_like_any_other() {
        let streams = crate::rng::Streams::new(1, 0);
        let runs: Vec<bool> = (0..10_000)
            .map(|run| {
                let stream = streams.stream(&format!("start {run}"));
                let mut gilbert = Gilbert::from_means(p(0.2), 100.0, stream).unwrap();
                let mut passage = Passage::CLEAN;
                gilbert.pass(&mut passage);
                passage.verdict != Verdict::Pass
            })
            .collect();
        assert_near(rate(&runs), 0.2, rate_error(0.2, runs.len()));
    }

    #[test]
    fn the_error_names_the_largest_possible_loss() {
        let means = |loss, burst| Gilbert::from_means(p(loss), burst, stream("g"));
        let message = means(0.9, 2.0).unwrap_err().to_string();
        assert_eq!(
            message,
            "a mean loss of 0.9 with a mean burst of 2 packets cannot be: at least one packet \
             passes between bursts, so the largest loss for this burst is 0.666666; write at \
             most that, or a mean burst of at least 9"
        );
        assert!(means(0.666_666, 2.0).is_ok());
        assert!(means(0.9, 9.0).is_ok());
        assert!(means(2.0 / 3.0, 2.0).is_ok());
        assert_eq!(means(0.1, 0.5).unwrap_err(), ChannelError::Burst(0.5));
        assert!(matches!(
            means(0.1, f64::NAN).unwrap_err(),
            ChannelError::Burst(_)
        ));
        assert_eq!(means(1.0, 5.0).unwrap_err(), ChannelError::NothingPasses);
        let frozen = Gilbert::new(p(0.0), p(0.0), p(0.0), p(1.0), stream("g"));
        assert_eq!(
            frozen.unwrap_err().to_string(),
            "p and r cannot both be 0: the chain would stay for ever where it starts; write at \
             least one above 0"
        );
    }
}
