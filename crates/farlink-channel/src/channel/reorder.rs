//! Packets that are held back while others overtake them.

use super::passage::Passage;
use crate::rng::{Probability, Stream};
use farlink_tcp::Interval;

/// Holds each packet with the same probability for a fixed time. Packets sent within this time
/// after a held packet arrive before it.
#[derive(Clone, Debug)]
pub struct Reorder {
    probability: Probability,
    delay: Interval,
    stream: Stream,
}

impl Reorder {
    /// Creates the process. `probability` is per packet, `delay` the time for which a chosen packet
    /// is held.
    pub fn new(probability: Probability, delay: Interval, stream: Stream) -> Self {
        Self {
            probability,
            delay,
            stream,
        }
    }

    /// Returns the probability that a packet is held.
    pub fn probability(&self) -> Probability {
        self.probability
    }

    /// Returns the extra delay of reordered packets.
    pub fn delay(&self) -> Interval {
        self.delay
    }

    pub(super) fn is_inert(&self) -> bool {
        self.probability.is_zero() || self.delay.is_zero()
    }

    #[inline]
    pub(super) fn pass(&mut self, passage: &mut Passage) {
        if self.stream.chance(self.probability) {
            passage.hold = passage.hold + self.delay;
            passage.may_overtake = true;
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
    fn chosen_packets_are_held_and_overtaken_at_the_closed_rate() {
        // At 1 ms spacing and 2.5 ms of delay, at least one of the two packets behind a held packet
        // overtakes it, unless both are held as well.
        let (probability, spacing) = (0.1, 1_000_000);
        let delay = Interval::from_nanos(2_500_000);
        let stage = Reorder::new(p(probability), delay, stream("reorder"));
        let mut channel = Channel::new(vec![Stage::Reorder(stage)]);
        let out: Vec<(bool, Instant)> = (0..N as u64)
            .map(|packet| {
                let now = Instant::from_nanos(packet * spacing);
                let passage = channel.pass(now, 1500);
                let expected = if passage.may_overtake {
                    delay
                } else {
                    Interval::ZERO
                };
                assert_eq!(passage.hold, expected);
                (passage.may_overtake, now + passage.hold)
            })
            .collect();
        let held: Vec<bool> = out.iter().map(|(held, _)| *held).collect();
        assert_near(rate(&held), probability, rate_error(probability, N));
        let overtaken: Vec<bool> = out
            .windows(4)
            .map(|w| w[1..].iter().any(|later| later.1 < w[0].1))
            .collect();
        let expected = probability * (1.0 - probability * probability);
        // Windows overlap by up to three packets, so the variance is at most 4 times that of
        // independent ones.
        assert_near(rate(&overtaken), expected, 2.0 * rate_error(expected, N));
    }
}
