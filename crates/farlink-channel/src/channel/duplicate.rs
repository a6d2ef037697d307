//! Packets that are delivered twice.

use super::passage::Passage;
use crate::rng::{Probability, Stream};

/// Adds a copy of each packet with the same probability. Later stages treat both as one packet, so
/// both have the same fate.
#[derive(Clone, Debug)]
pub struct Duplicate {
    probability: Probability,
    stream: Stream,
}

impl Duplicate {
    /// Creates the process, which duplicates each packet with `probability`.
    pub fn new(probability: Probability, stream: Stream) -> Self {
        Self {
            probability,
            stream,
        }
    }

    pub(super) fn is_inert(&self) -> bool {
        self.probability.is_zero()
    }

    #[inline]
    pub(super) fn pass(&mut self, passage: &mut Passage) {
        if self.stream.chance(self.probability) {
            passage.copies = passage.copies.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{N, assert_near, p, rate_error, stream};
    use super::super::{Channel, Stage, Verdict};
    use super::*;
    use farlink_tcp::Instant;

    #[test]
    fn the_rate_is_the_probability_and_stages_add_up() {
        let stage = |name| Stage::Duplicate(Duplicate::new(p(0.02), stream(name)));
        let mut channel = Channel::new(vec![stage("first"), stage("second")]);
        let mut counts = [0usize; 3];
        for _ in 0..N {
            let passage = channel.pass(Instant::ZERO, 1500);
            assert_eq!(passage.verdict, Verdict::Pass);
            counts[usize::from(passage.copies)] += 1;
        }
        for (copies, expected) in [(1, 2.0 * 0.02 * 0.98), (2, 0.02 * 0.02)] {
            let measured = counts[copies] as f64 / N as f64;
            assert_near(measured, expected, rate_error(expected, N));
        }
    }
}
