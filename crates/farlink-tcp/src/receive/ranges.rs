//! A set of positions of the stream as disjoint ranges.

use crate::seq::Offset;
use farlink_small::Map;

/// Largest number of ranges that are stored in the list.
const FEW: usize = 64;

/// Ranges `[start, end)`: sorted, disjoint, not adjacent. Every operation takes logarithmic time in
/// their number.
///
/// Up to [`FEW`] ranges, the usual case, are in a list, which is faster than a tree and uses fewer
/// cache lines. A hostile peer may create a range at every second byte of the window, so larger
/// numbers go into a tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    /// Ranges, while the tree is empty.
    few: Vec<(Offset, Offset)>,
    /// Ranges by start: used from the time there are more than [`FEW`] until none is left.
    many: Map<Offset, Offset>,
}

impl Ranges {
    pub(super) const EMPTY: Self = Self {
        few: Vec::new(),
        many: Map::new(),
    };

    /// Prefetches the last ranges.
    #[inline]
    pub(super) fn prefetch(&self) {
        if let Some(last) = self.few.last() {
            farlink_prefetch::whole(last);
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.few.is_empty() && self.many.is_empty()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.few.len() + self.many.len()
    }

    pub(super) fn clear(&mut self) {
        self.few.clear();
        self.many.clear();
    }

    /// Returns the first range.
    #[inline]
    pub(super) fn first(&self) -> Option<(Offset, Offset)> {
        if self.in_list() {
            return self.few.first().copied();
        }
        let first = self.many.first_key_value();
        first.map(|(&start, &end)| (start, end))
    }

    /// Returns the position after the last range.
    #[inline]
    pub(super) fn end(&self) -> Option<Offset> {
        if self.in_list() {
            return self.few.last().map(|&(_, end)| end);
        }
        self.many.last_key_value().map(|(_, &end)| end)
    }

    /// Returns the last range that begins at or before `at`.
    #[inline]
    pub(super) fn up_to(&self, at: Offset) -> Option<(Offset, Offset)> {
        if self.in_list() {
            let i = self.begun_at(at).checked_sub(1)?;
            return self.few.get(i).copied();
        }
        let entry = self.many.range(..=at).next_back();
        entry.map(|(&start, &end)| (start, end))
    }

    /// Returns the first range that begins after `at`.
    pub(super) fn behind(&self, at: Offset) -> Option<(Offset, Offset)> {
        if self.in_list() {
            return self.few.get(self.begun_at(at)).copied();
        }
        let entry = self.many.range(at + 1..).next();
        entry.map(|(&start, &end)| (start, end))
    }

    /// Returns the first range that ends after `at`: the range around `at`, or the next.
    #[inline]
    pub(super) fn ending_behind(&self, at: Offset) -> Option<(Offset, Offset)> {
        if self.in_list() {
            let i = self.few.partition_point(|r| r.1 <= at);
            return self.few.get(i).copied();
        }
        let holding = self.up_to(at).filter(|&(_, end)| end > at);
        holding.or_else(|| self.behind(at))
    }

    /// Returns whether `[start, end)` touches or overlaps a range.
    pub(super) fn joins(&self, start: Offset, end: Offset) -> bool {
        self.up_to(end).is_some_and(|(_, right)| right >= start)
    }

    /// Adds `[start, end)`. Returns the range that contains it afterwards.
    pub(super) fn insert(&mut self, start: Offset, end: Offset) -> (Offset, Offset) {
        // Most insertions extend the last range or lie behind it.
        if let Some(last) = self.few.last_mut()
            && last.0 <= start
            && start <= last.1
        {
            last.1 = end.max(last.1);
            return *last;
        }
        // Others extend the last range that begins at `end` or before. No later range touches them.
        if let Some(i) = self.begun_at(end).checked_sub(1)
            && let range = &mut self.few[i]
            && range.0 <= start
            && start <= range.1
        {
            range.1 = end.max(range.1);
            return *range;
        }
        let (mut left, mut right) = (start, end);
        while let Some((from, to)) = self.up_to(right).filter(|&(_, to)| to >= left) {
            self.remove_at(from);
            (left, right) = (left.min(from), right.max(to));
        }
        self.put(left, right);
        (left, right)
    }

    /// Removes `[start, end)` from the set.
    pub(super) fn remove(&mut self, start: Offset, end: Offset) {
        while let Some((from, to)) = self.ending_behind(start).filter(|&(from, _)| from < end) {
            self.remove_at(from);
            if from < start {
                self.put(from, start);
            }
            if to > end {
                self.put(end, to);
            }
            if from < start && to > end {
                break;
            }
        }
    }

    /// Removes the ranges that end at `at` or before.
    pub(super) fn drop_up_to(&mut self, at: Offset) {
        while let Some((start, _)) = self.first().filter(|&(_, end)| end <= at) {
            self.remove_at(start);
        }
    }

    /// Removes the first range if it begins at `at` or before. Returns its end.
    pub(super) fn pop_reached(&mut self, at: Offset) -> Option<Offset> {
        let (start, end) = self.first().filter(|&(start, _)| start <= at)?;
        self.remove_at(start);
        Some(end)
    }

    /// Returns whether the ranges are in the list, and not in the tree.
    #[inline]
    fn in_list(&self) -> bool {
        self.many.is_empty()
    }

    /// Returns the number of the list's ranges that begin at `at` or before. Most queries are near
    /// the last range.
    #[inline]
    fn begun_at(&self, at: Offset) -> usize {
        match self.few.last() {
            Some(last) if last.0 > at => self.few.partition_point(|r| r.0 <= at),
            _ => self.few.len(),
        }
    }

    /// Adds a range that touches no stored range.
    fn put(&mut self, start: Offset, end: Offset) {
        if self.few.len() == FEW {
            self.many.extend(self.few.drain(..));
        }
        if self.in_list() {
            let place = self.begun_at(start);
            self.few.insert(place, (start, end));
        } else {
            self.many.insert(start, end);
        }
    }

    /// Removes the range that begins at `start`.
    fn remove_at(&mut self, start: Offset) {
        if self.in_list() {
            if let Some(i) = self.begun_at(start).checked_sub(1)
                && self.few[i].0 == start
            {
                self.few.remove(i);
            }
        } else {
            self.many.remove(&start);
        }
    }

    /// Returns the parts of `[start, end)` that are in no range, in order.
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
        let tree = self.many.iter().map(|(&start, &end)| (start, end));
        self.few.iter().copied().chain(tree).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares the set with an array of one flag per position.
        #[test]
        fn ranges_equal_an_array_of_flags(
            (steps, at) in (1..20u64).prop_flat_map(|longest| (
                prop::collection::vec((0..3u8, 0..60u64, 1..=longest), 1..120),
                0..80u64,
            )),
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
            prop_assert_eq!(ranges.len(), ranges.all().len());
            prop_assert_eq!(ranges.is_empty(), ranges.all().is_empty());
            prop_assert_eq!(ranges.first(), ranges.all().first().copied());
            prop_assert_eq!(ranges.end(), ranges.all().last().map(|r| r.1));
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
            ranges.drop_up_to(at);
            prop_assert!(ranges.all().iter().all(|&(_, end)| end > at));
            while let Some(end) = ranges.pop_reached(at + 10) {
                prop_assert!(end > at);
            }
            prop_assert!(ranges.first().is_none_or(|(start, _)| start > at + 10));
        }
    }

    #[test]
    fn ranges_use_a_tree_until_none_is_left() {
        let mut ranges = Ranges::default();
        for i in (0..=FEW as u64).rev() {
            assert!(ranges.in_list());
            ranges.insert(10 * i, 10 * i + 5);
        }
        assert!(!ranges.in_list() && ranges.few.is_empty());
        for i in 0..=FEW as u64 {
            assert_eq!(ranges.pop_reached(10 * i), Some(10 * i + 5));
        }
        assert!(ranges.is_empty() && ranges.in_list());
        ranges.insert(1, 2);
        assert_eq!(ranges.few, [(1, 2)]);
    }
}
