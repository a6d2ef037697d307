//! Reports of duplicates to the sender: D-SACK (RFC 2883).

use super::Receiver;
use crate::reason::Reason;
use crate::segment::{SackBlock, SackBlocks};
use crate::seq::Offset;

impl Receiver {
    /// Notes which part of the arriving `[start, end)` is a duplicate, before the data is
    /// processed. The next ACK reports the first such part (RFC 2883, 4.2.3). That ACK is sent at
    /// once, unless ACKs of duplicates are delayed.
    pub(crate) fn note_duplicate(&mut self, start: Offset, end: Offset) {
        if !self.config.receiver.dsack {
            return;
        }
        let (left, right) = if start < self.nxt {
            (start, end.min(self.nxt))
        } else {
            match self.holes().ranges.ending_behind(start) {
                Some((left, right)) => (start.max(left), end.min(right)),
                None => return,
            }
        };
        if left < right {
            self.holes.get_or_insert_default().duplicate = Some((left, right));
            // If duplicate ACKs are delayed, the ACK that reports the duplicate is delayed too.
            if !self.config.receiver.delay_dup_acks {
                self.acknowledge_now(Reason::Duplicate);
            }
        }
    }

    /// Returns whether any data was ever missing, damaged or duplicate, so that an ACK may report
    /// it.
    #[inline]
    pub(crate) fn may_report(&self) -> bool {
        self.holes.is_some()
    }

    /// Returns whether there may be a block to report. Most ACKs have none.
    #[inline]
    pub(crate) fn has_report(&self) -> bool {
        let holes = self.holes();
        !holes.ranges.is_empty() || !holes.recent.is_empty() || holes.duplicate.is_some()
    }

    /// Returns up to `most` blocks to report. A duplicate comes first, and only once. If it lies
    /// above the cumulative ACK, the range around it follows, to mark the first block as a D-SACK
    /// (RFC 2883, 4).
    pub(crate) fn report(&mut self, most: usize) -> SackBlocks {
        let nxt = self.nxt;
        // A duplicate above the ACK needs two blocks, because alone it looks like an ordinary SACK
        // block.
        let fits = |&mut (left, _): &mut (Offset, Offset)| left < nxt || most >= 2;
        let holes = self.holes.as_deref_mut();
        let Some((left, right)) = holes.and_then(|holes| holes.duplicate.take_if(fits)) else {
            return self.sack_blocks(most);
        };
        let above = left >= nxt;
        let rest = self.sack_blocks(most - 1);
        if above {
            let holds = self.holes().ranges.ending_behind(left);
            let holds = holds.map(|r| self.irs.at(r.0));
            if rest.as_slice().first().map(|b| b.left) != holds {
                return self.sack_blocks(most);
            }
        }
        let first = SackBlock {
            left: self.irs.at(left),
            right: self.irs.at(right),
        };
        std::iter::once(first)
            .chain(rest.as_slice().iter().copied())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::config::ReceiverConfig;
    use crate::receive::Receiver;
    use crate::seq::Seq;
    use crate::time::Instant;

    fn receiver(dsack: bool) -> Receiver {
        let config = ReceiverConfig {
            dsack,
            ..ReceiverConfig::default()
        };
        let mut r = Receiver::of(config, 500, 0);
        r.synchronize(Seq(1000));
        r
    }

    fn arrives(r: &mut Receiver, start: u64, len: u32) -> Vec<(u32, u32)> {
        r.note_duplicate(start, start + u64::from(len));
        let from = start.max(r.nxt());
        let end = start + u64::from(len);
        if from < end {
            r.arrive(Instant::ZERO, from, (end - from) as u32, None);
        }
        let blocks = r.report(4);
        blocks
            .as_slice()
            .iter()
            .map(|b| (b.left.0 - 1000, b.right.0 - 1000))
            .collect()
    }

    #[test]
    fn duplicate_is_reported_once_and_first() {
        let mut r = receiver(true);
        arrives(&mut r, 1, 500);
        arrives(&mut r, 1001, 500);
        assert_eq!(arrives(&mut r, 1, 500), [(1, 501), (1001, 1501)]);
        assert_eq!(arrives(&mut r, 1501, 500), [(1001, 2001)]);
        // The duplicate lies above the ACK, so the range around it is the second block.
        assert_eq!(arrives(&mut r, 1001, 500), [(1001, 1501), (1001, 2001)]);
    }

    #[test]
    fn only_the_duplicate_part_of_a_segment_is_reported() {
        let mut r = receiver(true);
        arrives(&mut r, 1, 500);
        assert_eq!(arrives(&mut r, 251, 500), [(251, 501)]);
        arrives(&mut r, 1001, 100);
        arrives(&mut r, 1301, 100);
        // The segment fills the hole and repeats data on both sides of it; the ACK reports the
        // first duplicate part.
        assert_eq!(arrives(&mut r, 751, 1000), [(1001, 1101)]);
        assert_eq!(r.nxt(), 1751);
    }

    #[test]
    fn no_dsack_without_option_or_room() {
        let mut r = receiver(false);
        arrives(&mut r, 1, 500);
        assert_eq!(arrives(&mut r, 1, 500), []);
        let mut r = receiver(true);
        r.arrive(Instant::ZERO, 1001, 500, None);
        r.note_duplicate(1001, 1501);
        assert_eq!(r.report(1), r.sack_blocks(1));
        assert_eq!(r.report(2).as_slice().len(), 2);
    }
}
