//! Lateness of packets: the time from a packet's due time to its departure. The longest time that
//! the packet may have waited before the engine read it is added.

use farlink_tcp::Interval;

/// Number of linear sub-buckets per power of two (in ns) of the histogram.
const STEPS: u32 = 16;
const BUCKETS: usize = 64 * STEPS as usize;

/// Histogram of latenesses with a relative error of at most 1/16.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: Vec<u64>,
    count: u64,
    sum: u64,
    max: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            counts: vec![0; BUCKETS],
            count: 0,
            sum: 0,
            max: 0,
        }
    }
}

fn bucket(nanos: u64) -> usize {
    if nanos < u64::from(STEPS) {
        return nanos as usize;
    }
    let power = nanos.ilog2();
    let step = (nanos >> (power - 4)) as u32 & (STEPS - 1);
    ((power - 3) * STEPS + step) as usize
}

/// Returns the largest value of a bucket, in nanoseconds.
fn upper(bucket: usize) -> u64 {
    let (power, step) = (bucket as u32 / STEPS, bucket as u64 % u64::from(STEPS));
    if power == 0 {
        return step;
    }
    let width = 1u64 << (power - 1);
    (u64::from(STEPS) + step) * width + (width - 1)
}

impl Lateness {
    /// Adds the lateness of one packet.
    #[inline]
    pub fn add(&mut self, late: Interval) {
        let nanos = late.as_nanos();
        self.counts[bucket(nanos)] += 1;
        self.count += 1;
        self.sum += nanos;
        self.max = self.max.max(nanos);
    }

    /// Returns the number of packets.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean; zero without packets.
    pub fn mean(&self) -> Interval {
        Interval::from_nanos(self.sum.checked_div(self.count).unwrap_or(0))
    }

    /// Returns the maximum.
    pub fn max(&self) -> Interval {
        Interval::from_nanos(self.max)
    }

    /// Returns the quantile `p` (0 to 1), rounded up by at most 1/16.
    pub fn quantile(&self, p: f64) -> Interval {
        let wanted = (p * self.count as f64).ceil() as u64;
        let mut observed = 0;
        for (i, &n) in self.counts.iter().enumerate() {
            observed += n;
            if observed >= wanted && observed > 0 {
                return Interval::from_nanos(upper(i).min(self.max));
            }
        }
        Interval::from_nanos(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_its_bucket() {
        let mut last = 0;
        for n in (0..70u64).chain((7..63).flat_map(|p| [(1 << p) - 1, 1 << p, (1 << p) + 1])) {
            let b = bucket(n);
            assert!(b >= last, "{n}");
            last = b;
            assert!(upper(b) >= n, "{n}");
            assert!(upper(b) - n <= n / 16, "{n}: {}", upper(b));
        }
    }

    #[test]
    fn quantiles_of_1000_values() {
        let mut late = Lateness::default();
        for n in 1..=1000 {
            late.add(Interval::from_micros(n));
        }
        assert_eq!(late.count(), 1000);
        assert_eq!(late.mean(), Interval::from_nanos(500_500));
        assert_eq!(late.max(), Interval::from_micros(1000));
        for (p, wanted) in [(0.5, 500_000.0), (0.99, 990_000.0)] {
            let measured = late.quantile(p).as_nanos() as f64;
            assert!(
                (wanted..wanted * 17.0 / 16.0).contains(&measured),
                "{p}: {measured}"
            );
        }
        assert_eq!(late.quantile(1.0), late.max());
    }
}
