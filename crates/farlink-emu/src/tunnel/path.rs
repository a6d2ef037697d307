//! Delay of the tunnel. The clocks of the two machines are not synchronised, so the one-way delay
//! is estimated as half of the round-trip time.

use farlink_tcp::Interval;
use std::collections::VecDeque;

/// Number of round-trip times that are stored.
const MAX_ENTRIES: usize = 64;

/// The latest round-trip times.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundTrips(VecDeque<Interval>);

impl RoundTrips {
    /// Adds a round-trip time.
    pub(crate) fn add(&mut self, round_trip: Interval) {
        if self.0.len() == MAX_ENTRIES {
            self.0.pop_front();
        }
        self.0.push_back(round_trip);
    }

    /// Returns the number of stored round-trip times.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns half of the median round-trip time; `None` without a measurement.
    pub(crate) fn one_way(&self) -> Option<Interval> {
        Some(Interval::from_nanos(self.quantile(0.5)?.as_nanos() / 2))
    }

    /// Returns half of the difference between the 90th and the 10th percentile of the round-trip
    /// time.
    pub(crate) fn jitter(&self) -> Option<Interval> {
        let (max, min) = (self.quantile(0.9)?, self.quantile(0.1)?);
        Some(Interval::from_nanos((max.as_nanos() - min.as_nanos()) / 2))
    }

    fn quantile(&self, share: f64) -> Option<Interval> {
        let mut all: Vec<_> = self.0.iter().copied().collect();
        all.sort_unstable();
        let at = (share * all.len() as f64) as usize;
        all.get(at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_way_is_half_of_the_median() {
        let mut path = RoundTrips::default();
        assert_eq!(path.one_way(), None);
        // Only the latest 64 values count.
        for ms in (0..100)
            .map(|_| 900)
            .chain((0..64).map(|i| if i < 2 { 1 } else { 10 + i % 3 }))
        {
            path.add(Interval::from_millis(ms));
        }
        assert_eq!(path.one_way(), Some(Interval::from_micros(5500)));
        assert_eq!(path.jitter(), Some(Interval::from_millis(1)));
        assert_eq!(path.len(), MAX_ENTRIES);
    }
}
