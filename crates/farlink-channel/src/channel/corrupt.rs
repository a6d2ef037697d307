//! Packets that are delivered with changed bits.

use super::passage::{Passage, Verdict};
use crate::rng::{Probability, Stream};

/// Changes bits of each packet with the same probability. The link does not detect the change; the
/// receiver's checksum must.
#[derive(Clone, Debug)]
pub struct Corrupt {
    probability: Probability,
    stream: Stream,
}

impl Corrupt {
    /// Creates the process, which corrupts each packet with `probability`.
    pub fn new(probability: Probability, stream: Stream) -> Self {
        Self {
            probability,
            stream,
        }
    }

    /// Returns the probability that a packet is changed.
    pub fn probability(&self) -> Probability {
        self.probability
    }

    pub(super) fn is_inert(&self) -> bool {
        self.probability.is_zero()
    }

    #[inline]
    pub(super) fn pass(&mut self, passage: &mut Passage) {
        if self.stream.chance(self.probability) {
            passage.verdict = Verdict::Corrupt;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{N, assert_near, p, rate, rate_error, stream};
    use super::super::{Channel, Stage};
    use super::*;
    use farlink_tcp::Instant;

    #[test]
    fn the_rate_is_the_probability() {
        let stage = Corrupt::new(p(0.01), stream("corrupt"));
        let mut channel = Channel::new(vec![Stage::Corrupt(stage)]);
        let corrupt: Vec<bool> = (0..N)
            .map(|_| channel.pass(Instant::ZERO, 1500).verdict == Verdict::Corrupt)
            .collect();
        assert_near(rate(&corrupt), 0.01, rate_error(0.01, N));
    }
}
