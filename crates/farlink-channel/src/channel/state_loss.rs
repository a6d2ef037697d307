//! Loss of packets in one state of a channel.

use super::bit_errors::damage_probability;
use crate::fec::BlockCode;
use crate::rng::Probability;

/// Loss of packets in a state.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum StateLoss {
    /// Loss with one probability for packets of any length.
    Packet(Probability),
    /// Loss when any bit is in error, at this bit error rate.
    Bits(Probability),
    /// Loss when any block of the code cannot be decoded, at this bit error rate.
    Coded(Probability, BlockCode),
}

impl StateLoss {
    /// No packet is lost.
    pub const NONE: Self = Self::Packet(Probability::ZERO);

    /// Returns the probability that a packet of `bytes` on the wire is lost: 1 - (1 - BER)^(8
    /// bytes) for bit errors.
    pub fn of(self, bytes: u32) -> f64 {
        match self {
            Self::Packet(p) => p.get(),
            Self::Bits(ber) => damage_probability(8 * u64::from(bytes), ber, 0),
            Self::Coded(ber, code) => code.packet_loss(bytes, ber),
        }
    }

    pub(super) fn is_zero(self) -> bool {
        match self {
            Self::Packet(p) | Self::Bits(p) | Self::Coded(p, _) => p.is_zero(),
        }
    }
}

/// Number of lengths whose probability is cached.
const KNOWN: usize = 8;

/// [`StateLoss`] with a cache of the probabilities of the last lengths.
#[derive(Clone, Debug)]
pub(super) struct KnownLoss {
    loss: StateLoss,
    known: [(u32, Probability); KNOWN],
}

impl KnownLoss {
    pub(super) fn new(loss: StateLoss) -> Self {
        // Entries start with the loss of a packet without bytes, which is valid.
        let none = (0, Probability::clamped(loss.of(0)));
        Self {
            loss,
            known: [none; KNOWN],
        }
    }

    pub(super) fn loss(&self) -> StateLoss {
        self.loss
    }

    #[inline]
    pub(super) fn of(&mut self, bytes: u32) -> Probability {
        let place = (bytes / 4) as usize % KNOWN;
        if self.known[place].0 != bytes {
            self.known[place] = (bytes, Probability::clamped(self.loss.of(bytes)));
        }
        self.known[place].1
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::p;
    use super::*;

    /// Lengths that may share a cache entry have their own losses.
    #[test]
    fn each_length_has_its_own_cached_loss() {
        let loss = StateLoss::Bits(p(1e-3));
        let mut known = KnownLoss::new(loss);
        for bytes in [0, 40, 40, 72, 41, 40, 1500, 1500, 0] {
            assert_eq!(known.of(bytes), Probability::clamped(loss.of(bytes)));
        }
    }

    #[test]
    fn a_state_loses_nothing_only_if_its_rate_is_zero() {
        let code = BlockCode::new(255, 223, 8, 16).unwrap();
        for (rate, zero) in [(0.0, true), (1e-3, false)] {
            let rate = p(rate);
            for loss in [
                StateLoss::Packet(rate),
                StateLoss::Bits(rate),
                StateLoss::Coded(rate, code),
            ] {
                assert_eq!(loss.is_zero(), zero, "{loss:?}");
            }
        }
    }
}
