//! Independent bit errors at a given bit error rate (BER).

use super::passage::{DropCause, Passage, Verdict};
use crate::fec::{BlockCode, Correction};
use crate::rng::{Probability, Stream};

/// Drops a packet if more of its bits are in error than can be corrected.
///
/// Bits fail independently with probability `ber`. Either the whole packet on the wire is one code
/// word in which any `correctable_bits` errors are corrected, or it consists of the blocks of a
/// code.
#[derive(Clone, Debug)]
pub struct BitErrors {
    ber: Probability,
    correction: Correction,
    known: Box<[(u32, Probability); KNOWN]>,
    stream: Stream,
}

/// Number of lengths whose loss probability is cached. A path carries few lengths: full segments,
/// and ACKs with and without options, whose lengths are multiples of four.
const KNOWN: usize = 32;

impl BitErrors {
    /// Creates the process. `ber` is the probability that a bit is in error; with 0
    /// `correctable_bits` the link only detects errors.
    pub fn new(ber: Probability, correctable_bits: u32, stream: Stream) -> Self {
        // The first cached entry is valid from the start: a packet without bytes has no errors.
        Self {
            ber,
            correction: Correction::Bits(correctable_bits),
            known: Box::new([(0, Probability::ZERO); KNOWN]),
            stream,
        }
    }

    /// Adds a block code, which replaces `correctable_bits`. From then on, packet lengths exclude
    /// check symbols.
    pub fn with_code(self, code: BlockCode) -> Self {
        Self {
            correction: Correction::Blocks(code),
            ..self
        }
    }

    /// Returns the block code, if there is one, and the bit error rate.
    pub(super) fn code(&self) -> Option<(BlockCode, Probability)> {
        Some((self.correction.code()?, self.ber))
    }

    /// Returns the probability that a packet of `bytes` on the wire is lost.
    pub fn packet_loss(&self, bytes: u32) -> f64 {
        self.correction.packet_loss(bytes, self.ber)
    }

    pub(super) fn is_inert(&self) -> bool {
        self.ber.is_zero()
    }

    #[inline]
    pub(super) fn pass(&mut self, bytes: u32, passage: &mut Passage) {
        let place = (bytes / 4) as usize % KNOWN;
        if self.known[place].0 != bytes {
            self.cache(place, bytes);
        }
        if self.stream.chance(self.known[place].1) {
            passage.verdict = Verdict::Drop(DropCause::BitError);
        }
    }

    #[cold]
    fn cache(&mut self, place: usize, bytes: u32) {
        let damage = self.packet_loss(bytes);
        self.known[place] = (bytes, Probability::clamped(damage));
    }
}

/// Returns P(Binomial(bits, ber) > correctable), the probability that more than `correctable` of
/// `bits` bits are in error. The relative error is at most 1e-9, however small the result is.
pub fn damage_probability(bits: u64, ber: Probability, correctable: u32) -> f64 {
    let (n, p, t) = (bits as f64, ber.get(), f64::from(correctable));
    if t >= n || p == 0.0 {
        return 0.0;
    }
    if p == 1.0 {
        return 1.0;
    }
    if correctable == 0 {
        // This is 1 - (1 - p)^n without cancellation for a small p.
        return -libm::expm1(n * libm::log1p(-p));
    }
    let point = |k: f64| {
        libm::exp(
            libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0)
                + k * libm::log(p)
                + (n - k) * libm::log1p(-p),
        )
    };
    let odds = p / (1.0 - p);
    // The sum starts at t + 1 or t and moves away from the mean, where terms fall. It is the tail
    // itself if the tail is the smaller part, otherwise the complement of the tail.
    let mut sum = 0.0;
    if t + 1.0 >= n * p {
        let mut k = t + 1.0;
        let mut term = point(k);
        while k <= n && term > sum * NEGLIGIBLE {
            sum += term;
            term *= (n - k) / (k + 1.0) * odds;
            k += 1.0;
        }
        sum
    } else {
        let mut k = t;
        let mut term = point(k);
        while k >= 0.0 && term > sum * NEGLIGIBLE {
            sum += term;
            term *= k / ((n - k + 1.0) * odds);
            k -= 1.0;
        }
        1.0 - sum
    }
}

/// Relative size of a term that no longer changes the sum.
const NEGLIGIBLE: f64 = 1e-17;

#[cfg(test)]
mod tests {
    use super::super::testing::{N, assert_near, p, rate, rate_error, stream};
    use super::super::{Channel, Stage};
    use super::*;
    use farlink_tcp::Instant;

    /// Computes the tail by summing the recurrence from P(0) = (1 - p)^n. This way differs from the
    /// tested method, and is exact unless the result is tiny.
    fn by_recurrence(bits: u64, ber: f64, correctable: u32) -> f64 {
        let mut term = (1.0 - ber).powi(bits as i32);
        let mut below = term;
        for k in 0..correctable {
            term *= (bits - u64::from(k)) as f64 / f64::from(k + 1) * ber / (1.0 - ber);
            below += term;
        }
        1.0 - below
    }

    #[test]
    fn the_closed_form_agrees_with_the_recurrence() {
        for bytes in [40, 52, 576, 1500, 9000] {
            for ber in [1e-6, 1e-5, 1e-4, 1e-3] {
                for correctable in [0, 1, 2, 5, 12, 40] {
                    let measured = damage_probability(8 * bytes, p(ber), correctable);
                    let expected = by_recurrence(8 * bytes, ber, correctable);
                    assert!(
                        (measured - expected).abs() < 1e-10,
                        "{bytes} B, {ber}, {correctable}: {measured} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn tiny_probabilities_keep_their_digits() {
        let near = |measured: f64, expected: f64| (measured / expected - 1.0).abs() < 1e-7;
        // First terms: n p for one error, C(n, 2) p^2 for two, C(n, 4) p^4 for four.
        assert!(near(damage_probability(12_000, p(1e-12), 0), 1.2e-8));
        let two = 12_000.0 * 11_999.0 / 2.0 * 1e-24;
        assert!(near(damage_probability(12_000, p(1e-12), 1), two));
        let four = 12_000.0 * 11_999.0 * 11_998.0 * 11_997.0 / 24.0 * 1e-48;
        assert!(near(damage_probability(12_000, p(1e-12), 3), four));
    }

    #[test]
    fn the_ends_are_exact() {
        assert_eq!(damage_probability(320, p(0.0), 0), 0.0);
        assert_eq!(damage_probability(0, p(0.5), 0), 0.0);
        assert_eq!(damage_probability(320, p(1.0), 319), 1.0);
        assert_eq!(damage_probability(320, p(1.0), 320), 0.0);
        assert_eq!(damage_probability(320, p(0.5), u32::MAX), 0.0);
        assert!((damage_probability(524_280, p(0.5), 262_140) - 0.5).abs() < 1e-3);
        assert!(damage_probability(524_280, p(0.5), 1000) > 0.999_999);
    }

    #[test]
    fn lengths_that_alternate_are_each_dropped_at_their_own_rate() {
        for (ber, correctable) in [(1e-6, 0), (1e-5, 0), (1e-4, 0), (1e-4, 1), (1e-3, 10)] {
            let stage = BitErrors::new(p(ber), correctable, stream("ber"));
            let mut channel = Channel::new(vec![Stage::BitErrors(stage)]);
            // Lengths 52 and 180 share a cache entry.
            let lengths = [1500, 40, 52, 180];
            let mut dropped = lengths.map(|_| Vec::with_capacity(N / 4));
            for packet in 0..N {
                let verdict = channel.pass(Instant::ZERO, lengths[packet % 4]).verdict;
                dropped[packet % 4].push(verdict == Verdict::Drop(DropCause::BitError));
            }
            for (bytes, dropped) in lengths.iter().zip(&dropped) {
                let expected = by_recurrence(8 * u64::from(*bytes), ber, correctable);
                assert_near(
                    rate(dropped),
                    expected,
                    rate_error(expected.max(1e-9), N / 4),
                );
            }
        }
    }

    #[test]
    fn flipping_bits_one_by_one_gives_the_same() {
        // Errors are placed by geometric gaps, as on a real wire.
        let (ber, bits, correctable) = (p(2e-4), 12_000, 2);
        let mut errors = stream("bits");
        let mut next = errors.geometric(ber);
        let packets: Vec<bool> = (0..200_000)
            .map(|_| {
                let mut hits = 0;
                while next < bits {
                    hits += 1;
                    next += 1 + errors.geometric(ber);
                }
                next -= bits;
                hits > correctable
            })
            .collect();
        let expected = damage_probability(bits, ber, correctable);
        assert_near(
            rate(&packets),
            expected,
            rate_error(expected, packets.len()),
        );
    }

    #[test]
    fn a_stage_without_errors_is_inert() {
        let errors = |ber| BitErrors::new(p(ber), 0, stream("inert"));
        assert!(errors(0.0).is_inert());
        assert!(!errors(1e-9).is_inert());
    }
}
