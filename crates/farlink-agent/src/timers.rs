//! Timers of an agent's connections.

use farlink_tcp::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Min-heap of deadlines, one per slot. Moving a deadline later, as each ACK does, pushes no entry;
/// the connection checks its real deadline when the old entry fires.
#[derive(Debug, Default)]
pub(super) struct Timers {
    entries: BinaryHeap<Reverse<(Instant, u32)>>,
    /// Earliest entry of each slot.
    first: Vec<Instant>,
}

impl Timers {
    /// Sets or clears the deadline of a slot.
    #[inline]
    pub(super) fn set(&mut self, place: u32, due: Option<Instant>) {
        let Some(due) = due else { return };
        let index = place as usize;
        if self.first.len() <= index {
            self.first.resize(index + 1, Instant::MAX);
        }
        if due < self.first[index] {
            self.first[index] = due;
            self.entries.push(Reverse((due, place)));
        }
    }

    /// Returns the first entry, which may be earlier than the connection's real deadline.
    pub(super) fn next(&self) -> Option<Instant> {
        self.entries.peek().map(|entry| entry.0.0)
    }

    /// Removes and returns a slot whose entry is due.
    pub(super) fn pop(&mut self, now: Instant) -> Option<u32> {
        while let Some(&Reverse((at, place))) = self.entries.peek() {
            if at > now {
                return None;
            }
            self.entries.pop();
            let first = &mut self.first[place as usize];
            // Stale entry: its connection has a later deadline.
            if *first == at {
                *first = Instant::MAX;
                return Some(place);
            }
        }
        None
    }

    /// Removes all deadlines.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.first.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slot_fires_at_its_earliest_deadline_and_can_be_rearmed() {
        let at = Instant::from_nanos;
        let mut timers = Timers::default();
        timers.set(0, Some(at(5)));
        timers.set(0, Some(at(9))); // later: checked when the entry of 5 fires
        timers.set(3, Some(at(7)));
        timers.set(3, Some(at(4)));
        timers.set(1, None);
        assert_eq!(timers.next(), Some(at(4)));
        assert_eq!((timers.pop(at(4)), timers.pop(at(4))), (Some(3), None));
        assert_eq!(timers.pop(at(6)), Some(0));
        timers.set(0, Some(at(9)));
        assert_eq!(timers.pop(at(8)), None, "3 has no entry any more");
        assert_eq!((timers.pop(at(9)), timers.next()), (Some(0), None));
        timers.set(2, Some(at(1)));
        timers.clear();
        assert_eq!(timers.next(), None);
    }
}
