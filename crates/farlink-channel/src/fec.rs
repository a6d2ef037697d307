//! Forward error correction: block codes on a direction of a link.

use crate::channel::{Derived, damage_probability};
use crate::rng::Probability;

/// Maximum number of symbols of a block.
pub const MAX_SYMBOLS: u32 = 65_535;
/// Maximum number of bits of a symbol.
pub const MAX_SYMBOL_BITS: u32 = 16;
/// Maximum number of symbols that a code may send per symbol of data.
pub const MAX_EXPANSION: u32 = 100;

/// Systematic block code: `k` symbols of data become a block of `n` symbols. The decoder corrects
/// up to `correctable` wrong symbols, and detects a block with more of them.
///
/// Reed-Solomon codes correct t = (n - k) / 2 symbols of m bits (Reed and Solomon 1960). With
/// symbols of one bit the code is binary, such as BCH.
///
/// Each packet begins a new block. Its last block is shortened (the virtual fill of CCSDS 131.0-B):
/// missing data symbols are not sent, but all n - k check symbols are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockCode {
    n: u32,
    k: u32,
    symbol_bits: u32,
    correctable: u32,
}

/// Impossible parameters of a code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FecError {
    /// No data, or no block.
    #[error("a block of n = {n} symbols with k = {k} of data cannot be: write 1 <= k < n <= 65535")]
    Symbols {
        /// Symbols of a block.
        n: u32,
        /// Symbols of data.
        k: u32,
    },
    /// The code sends more than a hundred symbols for one.
    #[error("k = {k} of n = {n} symbols is a code rate below 1/100: write a larger k")]
    Expansion {
        /// Symbols of a block.
        n: u32,
        /// Symbols of data.
        k: u32,
    },
    /// The number of bits of a symbol is out of range.
    #[error("symbols of {0} bits cannot be: write 1 to 16")]
    SymbolBits(u32),
    /// More symbols are to be corrected than the Singleton bound allows.
    #[error("{correctable} correctable symbols cannot be: n - k = {checks} allow {most} at most")]
    Correctable {
        /// Requested number.
        correctable: u32,
        /// Check symbols.
        checks: u32,
        /// Maximum: half of the check symbols.
        most: u32,
    },
}

impl BlockCode {
    /// Creates a code with `n` symbols of `symbol_bits` bits, `k` of them data. The code corrects
    /// `correctable` symbols of each block.
    ///
    /// # Errors
    /// Fails if the numbers are impossible: a code of distance d corrects (d - 1) / 2 symbols, and
    /// d <= n - k + 1 (Singleton 1964).
    pub fn new(n: u32, k: u32, symbol_bits: u32, correctable: u32) -> Result<Self, FecError> {
        if k == 0 || k >= n || n > MAX_SYMBOLS {
            return Err(FecError::Symbols { n, k });
        }
        if n > MAX_EXPANSION * k {
            return Err(FecError::Expansion { n, k });
        }
        if !(1..=MAX_SYMBOL_BITS).contains(&symbol_bits) {
            return Err(FecError::SymbolBits(symbol_bits));
        }
        let checks = n - k;
        if correctable > checks / 2 {
            return Err(FecError::Correctable {
                correctable,
                checks,
                most: checks / 2,
            });
        }
        Ok(Self {
            n,
            k,
            symbol_bits,
            correctable,
        })
    }

    /// Returns the number of data symbols in `bytes`; the last symbol is padded.
    fn symbols(self, bytes: u32) -> u64 {
        (8 * u64::from(bytes)).div_ceil(self.symbol_bits.into())
    }

    /// Returns the number of blocks of a packet of `bytes` before coding.
    pub fn blocks(self, bytes: u32) -> u64 {
        self.symbols(bytes).div_ceil(self.k.into())
    }

    /// Returns the bytes that a packet of `bytes` takes on the wire with its check symbols, rounded
    /// up to a byte.
    #[inline]
    pub fn wire(self, bytes: u32) -> u32 {
        let checks = u64::from(self.n - self.k);
        let symbols = self.symbols(bytes) + self.blocks(bytes) * checks;
        (symbols * u64::from(self.symbol_bits)).div_ceil(8) as u32
    }

    /// Returns the code rate, k / n.
    pub fn rate(self) -> f64 {
        f64::from(self.k) / f64::from(self.n)
    }

    /// Returns the probability that a symbol is wrong: 1 - (1 - BER)^m.
    fn symbol_error(self, ber: Probability) -> Probability {
        Probability::clamped(damage_probability(self.symbol_bits.into(), ber, 0))
    }

    /// Returns the probability that a block with `data` symbols of data has more than `correctable`
    /// wrong symbols, the tail of a binomial distribution.
    fn undecodable(self, data: u64, ber: Probability) -> f64 {
        let symbols = data + u64::from(self.n - self.k);
        damage_probability(symbols, self.symbol_error(ber), self.correctable)
    }

    /// Returns the probability that a whole block cannot be decoded, with independent bit errors at
    /// this rate.
    pub fn block_loss(self, ber: Probability) -> f64 {
        self.undecodable(self.k.into(), ber)
    }

    /// Returns the probability that any block of a packet of `bytes` before coding cannot be
    /// decoded.
    pub fn packet_loss(self, bytes: u32, ber: Probability) -> f64 {
        let Some(whole) = self.blocks(bytes).checked_sub(1) else {
            return 0.0;
        };
        let last = self.undecodable(self.symbols(bytes) - whole * u64::from(self.k), ber);
        // 1 - (1 - whole block)^whole (1 - last), in a form without cancellation for a small loss.
        let kept = if whole == 0 {
            0.0
        } else {
            whole as f64 * libm::log1p(-self.block_loss(ber))
        };
        -libm::expm1(kept + libm::log1p(-last))
    }

    /// Returns the code rate, for the result.
    pub fn derived(self) -> Derived {
        Derived {
            name: "code_rate",
            unit: "",
            value: self.rate(),
            source: "k / n",
        }
    }
}

/// Error correction of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Correction {
    /// Number of bits corrected anywhere in the packet.
    Bits(u32),
    /// Correction of each block by the code of the link.
    Blocks(BlockCode),
}

impl Correction {
    /// Returns the probability that a packet of `bytes`, before coding, has more errors than are
    /// corrected.
    pub fn packet_loss(self, bytes: u32, ber: Probability) -> f64 {
        match self {
            Self::Bits(bits) => damage_probability(8 * u64::from(bytes), ber, bits),
            Self::Blocks(code) => code.packet_loss(bytes, ber),
        }
    }

    /// Returns the block code, if the correction is one.
    pub fn code(self) -> Option<BlockCode> {
        match self {
            Self::Bits(_) => None,
            Self::Blocks(code) => Some(code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::testing::{N, assert_near, p, rate_error, stream};
    use crate::channel::{BitErrors, Channel, DropCause, Process, Satellite, Stage, Verdict};
    use farlink_tcp::Instant;

    fn code(n: u32, k: u32, symbol_bits: u32, t: u32) -> BlockCode {
        BlockCode::new(n, k, symbol_bits, t).unwrap()
    }

    #[test]
    fn the_wire_has_the_check_symbols_of_every_block() {
        let rs = code(255, 223, 8, 16);
        for (data, wire) in [
            (0, 0),
            (1, 33),
            (223, 255),
            (224, 255 + 33),
            (446, 510),
            (1500, 1500 + 7 * 32),
        ] {
            assert_eq!(rs.wire(data), wire, "{data}");
        }
        // Whole blocks take exactly n / k.
        assert_eq!(rs.wire(223 * 100), 255 * 100);
        // 12,000 bits of data are six blocks of 1923 and one of 462, with 124
        // check bits each: 12,868 bits, in bytes 1608.5.
        let bch = code(2047, 1923, 1, 11);
        assert_eq!((bch.blocks(1500), bch.wire(1500)), (7, 1609));
        // 1500 bytes are 1200 symbols of 10 bits: 3 blocks, 90 check symbols.
        assert_eq!(code(544, 514, 10, 15).wire(1500), 1290 * 10 / 8 + 1);
    }

    /// Returns the tail by a sum term by term, with the products of a binomial coefficient.
    fn tail(n: u32, q: f64, t: u32) -> f64 {
        let within: f64 = (0..=t)
            .map(|j| {
                let choose: f64 = (0..j)
                    .map(|i| f64::from(n - i) / f64::from(i + 1))
                    .product();
                choose * q.powi(j as i32) * (1.0 - q).powi((n - j) as i32)
            })
            .sum();
        1.0 - within
    }

    #[test]
    fn blocks_and_packets_fail_with_the_binomial_tail() {
        let (rs, ber) = (code(255, 223, 8, 16), 6e-3);
        let q = 1.0 - (1.0_f64 - ber).powi(8);
        let block = tail(255, q, 16);
        assert!((rs.block_loss(p(ber)) / block - 1.0).abs() < 1e-9);
        // 1500 = 6 * 223 + 162, so the last block has 194 symbols.
        let packet = 1.0 - (1.0 - block).powi(6) * (1.0 - tail(194, q, 16));
        assert!((rs.packet_loss(1500, p(ber)) / packet - 1.0).abs() < 1e-9);
        // A packet of one block has the loss of a shortened code.
        let short = tail(72, q, 16);
        assert!((rs.packet_loss(40, p(ber)) - short).abs() < 1e-12);
        // Small probabilities keep their digits: 7 blocks, each about C(n, 17) q^17.
        let loss = rs.packet_loss(1561, p(1e-5));
        let first: f64 = (0..17)
            .map(|i| f64::from(255 - i) / f64::from(i + 1))
            .product();
        let q = 8e-5_f64;
        assert!(
            (loss / (7.0 * first * q.powi(17)) - 1.0).abs() < 0.03,
            "{loss}"
        );
        assert_eq!(rs.packet_loss(1500, p(0.0)), 0.0);
        assert_eq!(rs.packet_loss(1500, p(1.0)), 1.0);
        assert_eq!(rs.packet_loss(0, p(0.5)), 0.0);
    }

    /// Draws bits one by one and counts wrong symbols and blocks, for comparison with the closed
    /// form. The blocks are small, so 20,000 packets suffice.
    #[test]
    fn packets_of_single_bits_fail_as_often() {
        for (code, ber, bytes) in [
            (code(15, 11, 4, 2), 0.015, 40),
            (code(31, 21, 1, 2), 0.02, 33),
            (code(63, 47, 6, 8), 0.02, 100),
        ] {
            let mut bits = stream("bits");
            let packets = 20_000;
            let mut lost = 0;
            for _ in 0..packets {
                let mut data = code.symbols(bytes);
                let mut fails = false;
                while data > 0 {
                    let taken = data.min(code.k.into());
                    data -= taken;
                    let symbols = taken + u64::from(code.n - code.k);
                    let wrong = (0..symbols)
                        .filter(|_| {
                            (0..code.symbol_bits)
                                .filter(|_| bits.chance(p(ber)))
                                .count()
                                > 0
                        })
                        .count();
                    fails |= wrong > code.correctable as usize;
                }
                lost += u32::from(fails);
            }
            let expected = code.packet_loss(bytes, p(ber));
            assert!((0.05..0.9).contains(&expected), "{expected}");
            let measured = f64::from(lost) / f64::from(packets);
            assert_near(measured, expected, rate_error(expected, packets as usize));
        }
    }

    fn loss(stage: Stage, bytes: u32) -> f64 {
        let mut channel = Channel::new(vec![stage]);
        let lost = (0..N).filter(|_| channel.pass(Instant::ZERO, bytes).verdict != Verdict::Pass);
        lost.count() as f64 / N as f64
    }

    #[test]
    fn the_loss_of_a_million_packets_matches_the_closed_form() {
        for (code, ber) in [
            (code(255, 223, 8, 16), 6e-3),
            (code(255, 239, 8, 8), 1.5e-3),
            (code(2047, 1923, 1, 11), 2.5e-3),
        ] {
            for bytes in [1500, 223, 40] {
                let stage = BitErrors::new(p(ber), 0, stream("ber")).with_code(code);
                let expected = code.packet_loss(bytes, p(ber));
                let measured = loss(Stage::BitErrors(stage), bytes);
                assert_near(measured, expected, rate_error(expected, N));
            }
        }
    }

    #[test]
    fn rain_and_clear_sky_have_the_code_too() {
        let code = code(255, 223, 8, 16);
        let rain = Satellite::new(p(0.2), p(0.2), p(1e-4), p(6e-3), stream("s"))
            .unwrap()
            .with_code(code);
        let expected = f64::midpoint(
            code.packet_loss(1500, p(1e-4)),
            code.packet_loss(1500, p(6e-3)),
        );
        assert!((rain.mean_loss(1500) / expected - 1.0).abs() < 1e-12);
        let names: Vec<_> = rain.derived().iter().map(|item| item.name).collect();
        assert!(names.contains(&"code_rate"), "{names:?}");
        let measured = loss(Stage::Process(Box::new(rain)), 1500);
        // Neighbours are correlated, so the variance is (1 + 0.6) / (1 - 0.6) = 4 times as large.
        assert_near(measured, expected, 2.0 * rate_error(expected, N));
    }

    #[test]
    fn a_block_that_fails_drops_the_packet_for_bit_errors() {
        let stage = BitErrors::new(p(1.0), 0, stream("ber")).with_code(code(255, 223, 8, 16));
        let mut channel = Channel::new(vec![Stage::BitErrors(stage)]);
        let verdict = channel.pass(Instant::ZERO, 40).verdict;
        assert_eq!(verdict, Verdict::Drop(DropCause::BitError));
    }

    #[test]
    fn invalid_codes_are_refused_with_a_reason() {
        for (n, k, m, t, message) in [
            (223, 255, 8, 0, "a block of n = 223 symbols with k = 255"),
            (70_000, 223, 8, 0, "a block of n = 70000"),
            (255, 2, 8, 0, "k = 2 of n = 255 symbols is a code rate"),
            (255, 223, 0, 16, "symbols of 0 bits cannot be"),
            (255, 223, 17, 16, "symbols of 17 bits cannot be"),
            (
                255,
                223,
                8,
                17,
                "17 correctable symbols cannot be: n - k = 32 allow 16",
            ),
        ] {
            let error = BlockCode::new(n, k, m, t).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
