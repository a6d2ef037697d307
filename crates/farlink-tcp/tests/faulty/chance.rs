//! The random generator of all tests: SplitMix64 (Steele, Lea & Flood 2014).

/// A stream of random numbers, determined by a seed.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Draws from `low..high`.
    pub(crate) fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low)
    }

    /// Returns true with probability n/1000.
    pub(crate) fn per_mille(&mut self, n: u64) -> bool {
        self.within(0, 1000) < n
    }

    pub(crate) fn flip(&mut self) -> bool {
        self.next() & 1 == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.within(0, from.len() as u64) as usize]
    }
}
