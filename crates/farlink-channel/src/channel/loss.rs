//! Independent loss of whole packets.

use super::passage::{DropCause, Passage, Verdict};
use crate::rng::{Probability, Stream};

/// Drops each packet with the same probability.
#[derive(Clone, Debug)]
pub struct Loss {
    probability: Probability,
    stream: Stream,
}

impl Loss {
    /// Creates the process, which loses packets of any length with `probability`.
    pub fn new(probability: Probability, stream: Stream) -> Self {
        Self {
            probability,
            stream,
        }
    }

    /// Returns the probability that a packet is lost.
    pub fn probability(&self) -> Probability {
        self.probability
    }

    pub(super) fn is_inert(&self) -> bool {
        self.probability.is_zero()
    }

    #[inline]
    pub(super) fn pass(&mut self, passage: &mut Passage) {
        if self.stream.chance(self.probability) {
            passage.verdict = Verdict::Drop(DropCause::Loss);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Stage;
    use super::super::testing::{N, assert_near, drops, p, rate, rate_error, stream};
    use super::*;

    #[test]
    fn the_rate_is_the_probability_and_losses_are_independent() {
        for loss in [0.3, 0.05, 1e-3, 1e-5] {
            let lost = drops(
                Stage::Loss(Loss::new(p(loss), stream("loss"))),
                DropCause::Loss,
            );
            assert_near(rate(&lost), loss, rate_error(loss, N));
            let pairs: Vec<bool> = lost.windows(2).map(|pair| pair[0] && pair[1]).collect();
            // Neighbouring pairs share a packet: the variance is q + 2 l^3 (1 - l) - ..., below 3
            // times that of independent pairs.
            assert_near(
                rate(&pairs),
                loss * loss,
                3f64.sqrt() * rate_error(loss * loss, N),
            );
        }
    }
}
