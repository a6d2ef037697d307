//! Least and largest RTT of a sliding time window.

use crate::time::{Instant, Interval};
use std::collections::VecDeque;

/// Samples within the window over this number share an entry, which bounds the memory. An entry
/// leaves with its last sample, so an extreme stays at most this share of the window too long.
const GRAINS: u64 = 128;

/// Extreme of the samples of a sliding window, whose length may change at each sample.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    largest: bool,
    /// Candidates, oldest first; each is more extreme than all later ones.
    entries: VecDeque<Entry>,
}

/// A candidate, and the samples of the next grain that are no more extreme.
#[derive(Clone, Copy, Debug)]
struct Entry {
    first: Instant,
    last: Instant,
    value: Interval,
}

impl Recent {
    /// Returns a filter of the least sample.
    pub(super) const fn least() -> Self {
        Self {
            largest: false,
            entries: VecDeque::new(),
        }
    }

    /// Returns a filter of the largest sample.
    pub(super) const fn largest() -> Self {
        Self {
            largest: true,
            entries: VecDeque::new(),
        }
    }

    /// Returns the extreme at the last update.
    pub(super) fn get(&self) -> Option<Interval> {
        self.entries.front().map(|entry| entry.value)
    }

    /// Adds a sample at `now`, and discards those older than `window`.
    pub(super) fn add(&mut self, now: Instant, value: Interval, window: Interval) {
        let beats = |old: Interval| {
            if self.largest {
                value >= old
            } else {
                value <= old
            }
        };
        while self.entries.back().is_some_and(|entry| beats(entry.value)) {
            self.entries.pop_back();
        }
        let grain = window / GRAINS;
        let shared = self
            .entries
            .back_mut()
            .filter(|entry| now.since(entry.first) < grain);
        if let Some(entry) = shared {
            entry.last = now;
        } else {
            self.entries.push_back(Entry {
                first: now,
                last: now,
                value,
            });
        }
        while self.entries.len() > 1 && self.entries[0].last + window < now {
            self.entries.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(mut filter: Recent, window: u64, samples: &[(u64, u64)]) -> Vec<u64> {
        let mut observed = Vec::new();
        for &(at, value) in samples {
            let now = Instant::ZERO + Interval::from_millis(at);
            filter.add(
                now,
                Interval::from_millis(value),
                Interval::from_millis(window),
            );
            observed.push(filter.get().unwrap().as_nanos() / 1_000_000);
        }
        observed
    }

    #[test]
    fn extremes_leave_after_the_window() {
        let samples = [(0, 50), (10, 60), (20, 55), (100, 70), (101, 80), (121, 90)];
        assert_eq!(
            run(Recent::least(), 100, &samples),
            [50, 50, 50, 50, 55, 70]
        );
        assert_eq!(
            run(Recent::largest(), 100, &samples),
            [50, 60, 60, 70, 80, 90]
        );
        assert_eq!(run(Recent::largest(), 100, &[(0, 9), (101, 5)]), [9, 5]);
    }

    /// Rising samples would all be candidates, so at most one per grain is kept.
    #[test]
    fn memory_is_bounded() {
        let mut filter = Recent::least();
        for i in 0..100_000_u64 {
            let now = Instant::ZERO + Interval::from_micros(i * 100);
            filter.add(now, Interval::from_nanos(1000 + i), Interval::from_secs(1));
        }
        assert!(filter.entries.len() <= 130, "{}", filter.entries.len());
    }
}
