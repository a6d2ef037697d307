//! Quantiles of many times, from a histogram with narrow bins.

use crate::Map;

/// Logarithm to base 2 of the number of bins per doubling. The width of a bin is at most 1/128 of
/// its values.
const BITS: u32 = 7;

/// Histogram with bins of about equal relative width. A run uses a few hundred bins; unused bins
/// take no memory.
#[derive(Debug, Default)]
pub struct Quantiles {
    bins: Map<u16, u64>,
    count: u64,
    least: u64,
    most: u64,
}

impl Quantiles {
    /// Adds a value.
    pub fn add(&mut self, x: u64) {
        *self.bins.entry(bin(x)).or_default() += 1;
        self.least = if self.count == 0 {
            x
        } else {
            self.least.min(x)
        };
        self.most = self.most.max(x);
        self.count += 1;
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the smallest value, if any.
    pub fn least(&self) -> Option<u64> {
        (self.count > 0).then_some(self.least)
    }

    /// Returns the largest value, if any.
    pub fn most(&self) -> Option<u64> {
        (self.count > 0).then_some(self.most)
    }

    /// Returns the percentile by nearest rank, with an error of at most 0.4 %.
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100) as u64;
        let mut up_to = 0;
        for (&bin, &count) in &self.bins {
            up_to += count;
            if up_to >= rank && count > 0 {
                return Some(middle(bin).clamp(self.least, self.most));
            }
        }
        None
    }
}

/// Returns the bin of a value: the value itself below 2^BITS, then 2^BITS bins per doubling.
fn bin(x: u64) -> u16 {
    let doublings = (u64::BITS - x.leading_zeros()).saturating_sub(BITS + 1);
    let leading = x >> doublings;
    (u64::from(doublings) * (1 << BITS) + leading) as u16
}

fn middle(bin: u16) -> u64 {
    let doublings = u64::from(bin >> BITS).saturating_sub(1);
    let leading = u64::from(bin) - doublings * (1 << BITS);
    (leading << doublings) + ((1 << doublings) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_in_order_and_narrow() {
        let mut last = 0;
        for x in (0..2000).chain((11..64).map(|n| (1u64 << n) - 1)) {
            assert!(bin(x) >= last, "{x}");
            last = bin(x);
            let error = middle(bin(x)).abs_diff(x) as f64;
            assert!(error <= x as f64 / 255.0, "{x}: {}", middle(bin(x)));
        }
        assert_eq!(middle(bin(u64::MAX)), u64::MAX - (1 << 55) + 1);
    }

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let mut all = Quantiles::default();
        assert_eq!(all.percentile(99), None);
        for x in 1..=100 {
            all.add(x);
        }
        for percent in [1, 50, 95, 99, 100] {
            assert_eq!(all.percentile(percent), Some(percent));
        }
        // The percentile of equal values is exact.
        let mut same = Quantiles::default();
        (0..10).for_each(|_| same.add(123_456_789));
        assert_eq!(same.percentile(99), Some(123_456_789));
        assert_eq!(
            (same.least(), same.most()),
            (same.percentile(1), same.percentile(50))
        );
    }
}
