//! The generator that the BBR of quinn-proto draws from, in place of the crate of this name.
//!
//! quinn-proto seeds that generator from the operating system and offers no way to set the seed, so
//! two runs would differ. This crate has the same generator, and takes its seed from
//! [`set_next_seed`] if the caller has set one.
//!
//! The generator is PCG-XSH-RR 64/32 (O'Neill 2014, "PCG: A family of simple fast space-efficient
//! statistically good algorithms for random number generation", 6.3).
#![forbid(unsafe_code)]

use rand_core::{Infallible, Rng, SeedableRng, TryRng};
use std::cell::Cell;

/// Multiplier of the linear congruential generator.
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

thread_local! {
    static NEXT_SEED: Cell<Option<[u8; 16]>> = const { Cell::new(None) };
}

/// Sets the seed of the next generator that this thread makes from another generator.
pub fn set_next_seed(seed: [u8; 16]) {
    NEXT_SEED.set(Some(seed));
}

/// PCG-XSH-RR with 64 bits of state and 32 bits of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lcg64Xsh32 {
    state: u64,
    increment: u64,
}

/// Usual name of the generator.
pub type Pcg32 = Lcg64Xsh32;

impl Lcg64Xsh32 {
    /// Creates a generator from a state and a stream number.
    pub fn new(state: u64, stream: u64) -> Self {
        let increment = stream << 1 | 1;
        let mut made = Self {
            state: state.wrapping_add(increment),
            increment,
        };
        made.step();
        made
    }

    fn step(&mut self) {
        self.state = self
            .state
            .wrapping_mul(MULTIPLIER)
            .wrapping_add(self.increment);
    }

    fn draw(&mut self) -> u32 {
        let state = self.state;
        self.step();
        let mixed = (((state >> 18) ^ state) >> 27) as u32;
        mixed.rotate_right((state >> 59) as u32)
    }
}

impl SeedableRng for Lcg64Xsh32 {
    type Seed = [u8; 16];

    fn from_seed(seed: [u8; 16]) -> Self {
        let whole = u128::from_le_bytes(seed);
        Self::new(whole as u64, (whole >> 64) as u64)
    }

    fn from_rng<R: Rng + ?Sized>(rng: &mut R) -> Self {
        let seed = NEXT_SEED.take().unwrap_or_else(|| {
            let mut seed = [0; 16];
            rng.fill_bytes(&mut seed);
            seed
        });
        Self::from_seed(seed)
    }
}

impl TryRng for Lcg64Xsh32 {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.draw())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let low = u64::from(self.draw());
        Ok(u64::from(self.draw()) << 32 | low)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(4) {
            let word = self.draw().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of the authors' pcg32-demo for state 42 and stream 54.
    #[test]
    fn numbers_are_those_of_the_reference() {
        let mut generator = Pcg32::new(42, 54);
        let drawn: Vec<u32> = (0..6).map(|_| generator.next_u32()).collect();
        let expected = [
            0xa15c_02b7,
            0x7b47_f409,
            0xba1d_3330,
            0x83d2_f293,
            0xbfa4_784b,
            0xcbed_606e,
        ];
        assert_eq!(drawn, expected);
    }

    #[test]
    fn a_set_seed_is_used_once_and_before_the_other_generator() {
        let mut other = Pcg32::new(1, 1);
        set_next_seed([7; 16]);
        assert_eq!(Pcg32::from_rng(&mut other), Pcg32::from_seed([7; 16]));
        assert_eq!(other, Pcg32::new(1, 1));
        let drawn = Pcg32::from_rng(&mut other);
        assert_ne!(drawn, Pcg32::from_seed([7; 16]));
        assert_ne!(other, Pcg32::new(1, 1));
    }

    #[test]
    fn bytes_and_words_come_from_one_sequence() {
        let mut words = Pcg32::new(3, 4);
        let mut bytes = words.clone();
        let mut drawn = [0; 7];
        bytes.fill_bytes(&mut drawn);
        let word = words.next_u64().to_le_bytes();
        assert_eq!(drawn, word[..7]);
    }
}
