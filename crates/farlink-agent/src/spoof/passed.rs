//! Ranges of data beyond a hole in front of the agent that passed without a copy.
//!
//! The far end has this data. When the hole is filled, the in-order position advances past these
//! ranges. Without the record each later segment would seem to follow a hole, and cause a duplicate
//! ACK.

use farlink_tcp::Seq;

/// Maximum number of ranges recorded for a connection.
const MAX_RANGES: usize = 256;

/// Sequence ranges, in order and disjoint.
#[derive(Debug, Default)]
pub(super) struct Passed {
    ranges: Vec<(Seq, Seq)>,
}

impl Passed {
    /// Adds a range and merges it with the ranges that it touches.
    pub(super) fn add(&mut self, start: Seq, end: Seq) {
        let from = self.ranges.partition_point(|range| range.1.diff(start) < 0);
        let to = self.ranges.partition_point(|range| range.0.diff(end) <= 0);
        if from >= to {
            // A range beyond the limit is not recorded, which can only cause extra duplicate ACKs.
            if self.ranges.len() < MAX_RANGES {
                self.ranges.insert(from, (start, end));
            }
            return;
        }
        let (first, last) = (self.ranges[from].0, self.ranges[to - 1].1);
        let left = if first.diff(start) < 0 { first } else { start };
        let right = if last.diff(end) > 0 { last } else { end };
        self.ranges[from] = (left, right);
        self.ranges.drain(from + 1..to);
    }

    /// Returns the end of the range that contains `place`, or `place` itself if no range does.
    /// Removes all ranges below the result.
    pub(super) fn end_of_run(&mut self, place: Seq) -> Seq {
        let below = self
            .ranges
            .partition_point(|range| range.0.diff(place) <= 0);
        let ends = self.ranges.drain(..below).map(|range| range.1);
        ends.fold(
            place,
            |end, other| if other.diff(end) > 0 { other } else { end },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the set after adding ranges in this order.
    fn passed(ranges: &[(u32, u32)]) -> Passed {
        let mut passed = Passed::default();
        for &(start, end) in ranges {
            passed.add(Seq(start), Seq(end));
        }
        passed
    }

    #[test]
    fn touching_ranges_are_merged() {
        let all = passed(&[(30, 40), (10, 20), (20, 25), (50, 60), (24, 31)]);
        assert_eq!(all.ranges, [(Seq(10), Seq(40)), (Seq(50), Seq(60))]);
        let all = passed(&[(30, 40), (10, 20), (5, 70), (6, 7)]);
        assert_eq!(all.ranges, [(Seq(5), Seq(70))]);
    }

    #[test]
    fn position_moves_to_the_end_of_its_range() {
        let mut all = passed(&[(10, 20), (30, 40), (50, 60)]);
        assert_eq!(all.end_of_run(Seq(9)), Seq(9));
        assert_eq!(all.end_of_run(Seq(10)), Seq(20));
        assert_eq!(all.end_of_run(Seq(45)), Seq(45));
        assert_eq!(all.ranges, [(Seq(50), Seq(60))]);
    }

    #[test]
    fn ranges_wrap_and_their_number_is_bounded() {
        let mut all = passed(&[(u32::MAX - 1, 3), (9, 12), (3, 5)]);
        assert_eq!(all.end_of_run(Seq(u32::MAX)), Seq(5));
        for place in 0..1000 {
            all.add(Seq(100 + 2 * place), Seq(101 + 2 * place));
        }
        assert_eq!(all.ranges.len(), MAX_RANGES);
    }
}
