//! A set of positions of the stream as disjoint ranges.

use crate::seq::Offset;
use std::collections::BTreeMap;

/// Ranges `[start, end)`: sorted, disjoint, not adjacent. Every operation takes a
/// time that grows with the logarithm of their number.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges(BTreeMap<Offset, Offset>);

impl Ranges {
    pub(super) const EMPTY: Self = Self(BTreeMap::new());

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The range before everything else.
    #[inline]
    pub(super) fn first(&self) -> Option<(Offset, Offset)> {
        self.0.first_key_value().map(|(&start, &end)| (start, end))
    }

    /// Position after the last range.
    #[inline]
    pub(super) fn end(&self) -> Option<Offset> {
        self.0.last_key_value().map(|(_, &end)| end)
    }

    /// The last range that begins at `at` or before.
    #[inline]
    pub(super) fn up_to(&self, at: Offset) -> Option<(Offset, Offset)> {
        // Most of what is asked for is behind everything.
        let last = self.0.last_key_value().filter(|&(&start, _)| start <= at);
        let found = last.or_else(|| self.0.range(..=at).next_back());
        found.map(|(&start, &end)| (start, end))
    }

    /// The first range that begins behind `at`.
    pub(super) fn behind(&self, at: Offset) -> Option<(Offset, Offset)> {
        let found = self.0.range(at + 1..).next();
        found.map(|(&start, &end)| (start, end))
    }

    /// The first range that ends behind `at`: the one that holds it, or the next.
    pub(super) fn ending_behind(&self, at: Offset) -> Option<(Offset, Offset)> {
        let holding = self.up_to(at).filter(|&(_, end)| end > at);
        holding.or_else(|| self.behind(at))
    }

    /// Whether `[start, end)` touches or overlaps one that is here.
    pub(super) fn joins(&self, start: Offset, end: Offset) -> bool {
        self.up_to(end).is_some_and(|(_, right)| right >= start)
    }

    /// Adds `[start, end)`; returns the range that it is in now.
    pub(super) fn insert(&mut self, start: Offset, end: Offset) -> (Offset, Offset) {
        // Most of what comes goes on with the last range.
        if let Some(mut last) = self.0.last_entry()
            && *last.key() <= start
            && start <= *last.get()
        {
            *last.get_mut() = end.max(*last.get());
            return (*last.key(), *last.get());
        }
        let (mut left, mut right) = (start, end);
        while let Some((from, to)) = self.up_to(right).filter(|&(_, to)| to >= left) {
            self.0.remove(&from);
            (left, right) = (left.min(from), right.max(to));
        }
        self.0.insert(left, right);
        (left, right)
    }

    /// Takes `[start, end)` out.
    pub(super) fn remove(&mut self, start: Offset, end: Offset) {
        while let Some((from, to)) = self.ending_behind(start).filter(|&(from, _)| from < end) {
            self.0.remove(&from);
            if from < start {
                self.0.insert(from, start);
            }
            if to > end {
                self.0.insert(end, to);
            }
            if from < start && to > end {
                break;
            }
        }
    }

    /// Takes out the ranges that end at `at` or before.
    pub(super) fn drop_up_to(&mut self, at: Offset) {
        while self.first().is_some_and(|(_, end)| end <= at) {
            self.0.pop_first();
        }
    }

    /// Takes out the first range if it begins at `at` or before; returns its end.
    pub(super) fn pop_reached(&mut self, at: Offset) -> Option<Offset> {
        let entry = self.0.first_entry().filter(|entry| *entry.key() <= at)?;
        Some(entry.remove())
    }

    /// The parts of `[start, end)` that no range holds, in order.
    pub(super) fn missing(
        &self,
        start: Offset,
        end: Offset,
    ) -> impl Iterator<Item = (Offset, Offset)> + '_ {
        let mut at = start;
        std::iter::from_fn(move || {
            while at < end {
                let next = self.ending_behind(at).filter(|&(from, _)| from < end);
                let (from, to) = next.unwrap_or((end, end));
                let piece = (at, from);
                at = to;
                if piece.0 < piece.1 {
                    return Some(piece);
                }
            }
            None
        })
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> Vec<(Offset, Offset)> {
        self.0.iter().map(|(&start, &end)| (start, end)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the plainest model: a flag for each position.
        #[test]
        fn they_are_the_set_of_what_was_put_in_and_not_taken_out(
            steps in prop::collection::vec((0..3u8, 0..60u64, 1..20u64), 1..60),
            at in 0..80u64,
        ) {
            let mut ranges = Ranges::default();
            let mut model = [false; 100];
            for (what, start, len) in steps {
                let span = start as usize..(start + len) as usize;
                match what {
                    0 | 1 => {
                        let joins = (span.start.saturating_sub(1)..=span.end).any(|i| model[i]);
                        prop_assert_eq!(ranges.joins(start, start + len), joins);
                        model[span].fill(true);
                        let (left, right) = ranges.insert(start, start + len);
                        prop_assert!(left <= start && right >= start + len);
                    }
                    _ => {
                        model[span].fill(false);
                        ranges.remove(start, start + len);
                    }
                }
            }
            let holds = |i: u64| ranges.all().iter().any(|&(l, r)| l <= i && i < r);
            for i in 0..100 {
                prop_assert_eq!(holds(i), model[i as usize]);
            }
            prop_assert!(ranges.all().windows(2).all(|w| w[0].1 < w[1].0));
            let missing: Vec<u64> = ranges.missing(at, 99).flat_map(|(a, b)| a..b).collect();
            let wanted: Vec<u64> = (at..99).filter(|&i| !model[i as usize]).collect();
            prop_assert_eq!(missing, wanted);
            let next = ranges.all().into_iter().find(|&(_, end)| end > at);
            prop_assert_eq!(ranges.ending_behind(at), next);
        }
    }
}
