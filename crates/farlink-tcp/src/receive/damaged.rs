//! Segments that the medium damaged, for explicit loss notification
//! (west1997, 2.3.3).

use super::Receiver;
use crate::seq::Offset;

impl Receiver {
    /// Records that `[start, end)` was damaged on its way. Returns whether the data is in the
    /// window and still missing.
    pub(crate) fn note_damaged(&mut self, start: Offset, end: Offset) -> bool {
        let inside = start >= self.nxt && start < self.edge && start < end;
        let arrived = || {
            let range = self.holes().ranges.ending_behind(start);
            range.is_some_and(|r| r.0 <= start)
        };
        if !inside || self.finished() || arrived() {
            return false;
        }
        let max = self.most_ranges();
        let damaged = &mut self.holes.get_or_insert_default().damaged;
        damaged.drop_up_to(self.nxt);
        let end = end.min(self.edge);
        if damaged.joins(start, end) || damaged.len() < max {
            damaged.insert(start, end);
        }
        true
    }

    /// Clears the damage mark of `[start, end)`, because the last loss had another cause.
    pub(crate) fn clear_damage(&mut self, start: Offset, end: Offset) {
        if let Some(holes) = &mut self.holes {
            holes.damaged.remove(start, end);
        }
    }

    /// Returns whether the next expected data was damaged when it last arrived.
    #[inline]
    pub(crate) fn expects_damaged(&mut self) -> bool {
        let nxt = self.nxt;
        let Some(holes) = &mut self.holes else {
            return false;
        };
        holes.damaged.drop_up_to(nxt);
        holes.damaged.first().is_some_and(|d| d.0 <= nxt)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Receiver;
    use crate::config::ReceiverConfig;
    use crate::seq::Seq;
    use crate::time::Instant;

    fn receiver() -> Receiver {
        let mut r = Receiver::of(ReceiverConfig::default(), 100, 0);
        r.synchronize(Seq(0));
        r
    }

    #[test]
    fn damage_is_reported_once_the_segment_is_next_expected() {
        let mut r = receiver();
        assert!(r.note_damaged(101, 201));
        assert!(!r.expects_damaged());
        r.arrive(Instant::ZERO, 1, 100, None);
        assert!(r.expects_damaged());
        r.arrive(Instant::ZERO, 101, 100, None);
        assert!(!r.expects_damaged() && r.holes().damaged.is_empty());
    }

    #[test]
    fn received_or_out_of_window_data_is_not_missing() {
        let mut r = receiver();
        r.arrive(Instant::ZERO, 1, 100, None);
        r.arrive(Instant::ZERO, 201, 100, None);
        assert!(!r.note_damaged(1, 101)); // acknowledged
        assert!(!r.note_damaged(201, 301)); // parked
        assert!(!r.note_damaged(200_000, 200_100));
        assert!(!r.note_damaged(101, 101));
        assert!(r.note_damaged(101, 201));
    }

    #[test]
    fn later_congestion_loss_clears_the_damage_mark() {
        let mut r = receiver();
        r.note_damaged(1, 101);
        r.note_damaged(101, 201);
        assert_eq!(r.holes().damaged.all(), [(1, 201)]);
        r.clear_damage(1, 101);
        assert_eq!(r.holes().damaged.all(), [(101, 201)]);
        assert!(!r.expects_damaged());
        r.clear_damage(121, 141);
        assert_eq!(r.holes().damaged.all(), [(101, 121), (141, 201)]);
    }
}
