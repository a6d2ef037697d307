//! Named random streams. Every random process owns one, so adding a process, a flow or another TCP
//! leaves the draws of the others unchanged.
//!
//! The state of a stream is a function of (seed, run, name) alone. Its four 64-bit words are
//! SipHash-2-4 (Aumasson & Bernstein 2012) under the 128-bit key (seed, run) of the bytes of the
//! name followed by one byte that counts the words 0, 1, 2, 3. The generator is xoshiro256++
//! (Blackman & Vigna 2021). Both, and the functions below, use whole-number arithmetic or `libm`,
//! so a stream is the same on every machine. None of this may ever change, because saved results
//! must re-run to the same bits; a golden test checks this.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::fmt;

/// Number in [0, 1], with the threshold for a random draw.
#[derive(Clone, Copy, PartialEq)]
pub struct Probability {
    value: f64,
    /// `value` * 2^64, rounded; `u64::MAX` for 1.
    threshold: u64,
}

/// Value outside of [0, 1].
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
#[error("{0} is not a probability: write a number from 0 to 1")]
pub struct ProbabilityError(pub f64);

impl Probability {
    /// Probability of an impossible event.
    pub const ZERO: Self = Self {
        value: 0.0,
        threshold: 0,
    };
    /// Probability of a certain event.
    pub const ONE: Self = Self {
        value: 1.0,
        threshold: u64::MAX,
    };

    /// Creates a probability from a number in [0, 1].
    ///
    /// # Errors
    /// Fails if the number is outside [0, 1] or NaN.
    pub fn new(value: f64) -> Result<Self, ProbabilityError> {
        if (0.0..=1.0).contains(&value) {
            Ok(Self::clamped(value))
        } else {
            Err(ProbabilityError(value))
        }
    }

    /// Creates a probability from a computed number that rounding may have put just outside of [0,
    /// 1].
    pub fn clamped(value: f64) -> Self {
        let value = value.clamp(0.0, 1.0);
        // The product with a power of two is exact, and the conversion saturates. The largest
        // number below 1 gives 2^64 - 2^11, so only the probability 1 gives MAX.
        Self {
            value,
            threshold: libm::round(value * TWO_POW_64) as u64,
        }
    }

    /// Returns the number.
    #[inline]
    pub const fn get(self) -> f64 {
        self.value
    }

    /// Returns the probability of the opposite event.
    #[must_use]
    pub fn complement(self) -> Self {
        Self::clamped(1.0 - self.value)
    }

    /// Returns whether the probability is zero.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.threshold == 0
    }
}

impl fmt::Debug for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// 2^64.
const TWO_POW_64: f64 = 18_446_744_073_709_551_616.0;
/// Step of a uniform number, 2^-53.
const TWO_POW_MINUS_53: f64 = 1.0 / 9_007_199_254_740_992.0;

/// Source of all random streams of one run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Streams {
    seed: u64,
    run: u64,
}

impl Streams {
    /// Creates the streams of replication `run` of a scenario with this seed.
    pub const fn new(seed: u64, run: u64) -> Self {
        Self { seed, run }
    }

    /// Returns the stream of this name from its start. The same name gives the same numbers, so
    /// names must be unique; by convention they are paths such as `link/satellite/down/loss`.
    pub fn stream(&self, name: &str) -> Stream {
        let mut message = Vec::with_capacity(name.len() + 1);
        message.extend_from_slice(name.as_bytes());
        message.push(0);
        let mut state = [0; 32];
        for (word, bytes) in state.chunks_exact_mut(8).enumerate() {
            message[name.len()] = word as u8;
            bytes.copy_from_slice(&siphash24(self.seed, self.run, &message).to_le_bytes());
        }
        Stream(Xoshiro256PlusPlus::from_seed(state))
    }
}

/// Random numbers of one process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// Returns 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws a uniform number in [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * TWO_POW_MINUS_53
    }

    /// Draws a uniform number in (0, 1], a multiple of 2^-53, whose logarithm is finite.
    #[inline]
    fn uniform_above_zero(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * TWO_POW_MINUS_53
    }

    /// Draws whether an event of probability `p` happens. The probability is exact to 2^-65, a
    /// relative error of 3e-11 at 1e-9. The draw uses one number for any `p`, and an event that
    /// happens at `p` also happens at any larger probability.
    #[inline]
    pub fn chance(&mut self, p: Probability) -> bool {
        let drawn = self.next_u64();
        drawn < p.threshold || p.threshold == u64::MAX
    }

    /// Draws an exponential number with this mean, in the mean's unit.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(self.uniform_above_zero())
    }

    /// Draws a normal number with mean 0 and deviation 1 (Box & Muller 1958), from two uniform
    /// numbers.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.uniform_above_zero()));
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }

    /// Draws the number of failures before the first success in trials of probability `p`, with
    /// mean (1 - p) / p. `u64::MAX` if no trial succeeds.
    #[inline]
    pub fn geometric(&mut self, p: Probability) -> u64 {
        let drawn = libm::log(self.uniform_above_zero());
        if p.is_zero() {
            u64::MAX
        } else {
            (drawn / libm::log1p(-p.get())) as u64
        }
    }
}

/// Returns SipHash-2-4 of a message under the key (k0, k1).
fn siphash24(k0: u64, k1: u64, message: &[u8]) -> u64 {
    fn round(v: &mut [u64; 4]) {
        v[0] = v[0].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[2] = v[2].rotate_left(32);
    }
    fn absorb(v: &mut [u64; 4], word: u64) {
        v[3] ^= word;
        round(v);
        round(v);
        v[0] ^= word;
    }
    // The constants spell "somepseudorandomlygeneratedbytes".
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let (words, rest) = message.as_chunks::<8>();
    for word in words {
        absorb(&mut v, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    last[7] = message.len() as u8;
    absorb(&mut v, u64::from_le_bytes(last));
    v[2] ^= 0xff;
    for _ in 0..4 {
        round(&mut v);
    }
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u32 = 1_000_000;

    /// Returns mean and variance of `N` draws.
    fn moments(mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..N {
            let x = draw();
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(N);
        (mean, squares / f64::from(N) - mean * mean)
    }

    /// Returns whether a mean of `N` draws with this deviation is within 4 standard errors of
    /// `expected`. One seed in 16,000 would fail by chance, and the seed is fixed.
    fn near(mean: f64, expected: f64, deviation: f64) -> bool {
        (mean - expected).abs() <= 4.0 * deviation / f64::from(N).sqrt()
    }

    #[test]
    fn siphash_is_the_published_one() {
        // Aumasson & Bernstein 2012, appendix A.
        let message: Vec<u8> = (0..15).collect();
        let hash = siphash24(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908, &message);
        assert_eq!(hash, 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn streams_never_change() {
        let mut stream = Streams::new(1, 0).stream("link/satellite/down/loss");
        // Values from a second implementation.
        assert_eq!(
            [stream.next_u64(), stream.next_u64(), stream.next_u64()],
            [
                12_903_891_574_441_209_378,
                1_634_236_738_801_462_879,
                15_946_633_616_240_899_098
            ]
        );
        assert_eq!(stream.uniform(), 0.046_900_806_836_657_43);
        assert_eq!(stream.exponential(1.0), 1.284_876_608_603_533);
        assert_eq!(stream.normal(), -0.742_527_274_730_392_6);
        assert_eq!(stream.geometric(Probability::new(1e-3).unwrap()), 1727);
    }

    #[test]
    fn seed_run_and_name_each_make_another_stream() {
        let first = |seed, run, name: &str| Streams::new(seed, run).stream(name).next_u64();
        let mut draws = vec![
            first(1, 0, "a"),
            first(2, 0, "a"),
            first(1, 1, "a"),
            first(0, 1, "a"),
            first(1, 0, "b"),
            first(1, 0, "a\0"),
            first(1, 0, ""),
        ];
        assert_eq!(first(1, 0, "a"), draws[0]);
        draws.sort_unstable();
        draws.dedup();
        assert_eq!(draws.len(), 7);
    }

    #[test]
    fn different_names_are_uncorrelated() {
        let streams = Streams::new(1, 0);
        let (mut a, mut b) = (streams.stream("a"), streams.stream("b"));
        let (mean, _) = moments(|| (a.uniform() - 0.5) * (b.uniform() - 0.5));
        assert!(near(mean, 0.0, 1.0 / 12.0), "{mean}");
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut stream = Streams::new(1, 0).stream("moments");
        let (mean, variance) = moments(|| stream.uniform());
        assert!(near(mean, 0.5, (1.0f64 / 12.0).sqrt()), "{mean}");
        assert!(
            near(variance, 1.0 / 12.0, (1.0f64 / 180.0).sqrt()),
            "{variance}"
        );
        let (mean, variance) = moments(|| stream.exponential(3.0));
        assert!(near(mean, 3.0, 3.0), "{mean}");
        assert!(near(variance, 9.0, 9.0 * 8.0f64.sqrt()), "{variance}");
        let (mean, variance) = moments(|| stream.normal());
        assert!(near(mean, 0.0, 1.0), "{mean}");
        assert!(near(variance, 1.0, 2.0f64.sqrt()), "{variance}");
        let p = Probability::new(0.01).unwrap();
        let (mean, _) = moments(|| stream.geometric(p) as f64);
        assert!(near(mean, 99.0, 0.99f64.sqrt() / 0.01), "{mean}");
    }

    #[test]
    fn a_chance_is_exact_to_the_threshold() {
        let exact = |p: f64| Probability::new(p).unwrap().threshold;
        assert_eq!(exact(0.5), 1 << 63);
        assert_eq!(exact(1e-9), 18_446_744_074);
        assert_eq!(exact(0.0), 0);
        assert_eq!(exact(1.0), u64::MAX);
        assert_eq!(exact(1.0f64.next_down()), u64::MAX - 2047);
        let mut stream = Streams::new(1, 0).stream("chance");
        assert!((0..1000).all(|_| stream.chance(Probability::ONE)));
        assert!((0..1000).all(|_| !stream.chance(Probability::ZERO)));
        let p = Probability::new(1e-3).unwrap();
        let (rate, _) = moments(|| f64::from(u8::from(stream.chance(p))));
        assert!(near(rate, 1e-3, 1e-3f64.sqrt()), "{rate}");
    }

    #[test]
    fn geometric_takes_the_ends() {
        let mut stream = Streams::new(1, 0).stream("ends");
        assert_eq!(stream.geometric(Probability::ZERO), u64::MAX);
        assert!((0..1000).all(|_| stream.geometric(Probability::ONE) == 0));
    }

    #[test]
    fn invalid_probabilities_are_refused() {
        for wrong in [-1e-9, 1.000_001, f64::NAN, f64::INFINITY] {
            let message = Probability::new(wrong).unwrap_err().to_string();
            assert_eq!(
                message,
                format!("{wrong} is not a probability: write a number from 0 to 1")
            );
        }
    }
}
