//! Fractions that are equal on every machine.

/// A fixed-point fraction in millionths. It is exact, so that runs are equal to the bit on every
/// machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ratio(u32);

impl Ratio {
    /// Millionths in one.
    pub const ONE: u32 = 1_000_000;

    /// Builds a ratio of `n` millionths.
    pub const fn from_millionths(n: u32) -> Self {
        Self(n)
    }

    /// Returns `num / den`, rounded to the nearest millionth.
    pub const fn new(num: u32, den: u32) -> Self {
        Self(((num as u64 * Self::ONE as u64 + den as u64 / 2) / den as u64) as u32)
    }

    /// Returns the ratio in millionths.
    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// Returns `value * self`, rounded down.
    #[inline]
    pub const fn of(self, value: u64) -> u64 {
        if let Some(product) = value.checked_mul(self.0 as u64) {
            product / Self::ONE as u64
        } else {
            ((value as u128 * self.0 as u128) / Self::ONE as u128) as u64
        }
    }

    /// Returns the fraction as a float, for display.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ONE)
    }
}
