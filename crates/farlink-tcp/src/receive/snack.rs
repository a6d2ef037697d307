//! Reports of holes to the sender: SNACK (CCSDS 714.0-B).

use super::Receiver;
use crate::seq::Offset;
use crate::snack::{SNACK_BLOCKS, Snack};
use std::num::NonZeroU16;

/// Least length of the option in bytes.
const MIN_ROOM: u32 = 8;

impl Receiver {
    /// Returns the SNACK of the next ACK, in blocks of `mss` and at most `room` bytes. Successive
    /// calls report successive holes and then start again at the first, so that each hole is
    /// reported until it is filled. A bit vector that reaches the last hole is followed by the
    /// first hole.
    #[inline(never)] // keeps rare code out of the instruction cache
    pub(crate) fn snack(&mut self, long: bool, mss: u64, room: u32) -> Option<Snack> {
        if self.holes().ranges.is_empty() || room < MIN_ROOM {
            return None;
        }
        let units = |at: Offset| (at - self.nxt) / mss;
        let blocks = match room - 6 {
            _ if !long => 0,
            bytes => (8 * bytes).min(SNACK_BLOCKS),
        };
        let first = self.holes().ranges.first()?;
        let highest = self.holes().ranges.end()?;
        let reaches_all = blocks > 0 && highest <= first.0 + u64::from(blocks) * mss;
        // Reports the hole before each range in turn.
        let next = self
            .holes()
            .ranges
            .behind(self.holes().snack_next)
            .filter(|_| !reaches_all);
        let (left, right) = next
            .map(|(right, _)| (self.hole_before(right), right))
            .filter(|&(left, _)| u16::try_from(units(left)).is_ok())
            .unwrap_or((self.nxt, first.0));
        let offset = units(left);
        let block = self.nxt + offset * mss;
        let size = (right - block).div_ceil(mss).min(u64::from(u16::MAX));
        let behind = block + size * mss;
        let mut report = right;
        let mut bits = 0;
        for i in 0..blocks {
            let at = behind + u64::from(i) * mss;
            if self.has_block(at, at + mss) {
                bits |= 1 << (SNACK_BLOCKS - 1 - i);
                report = at + mss;
            }
        }
        if let Some(holes) = &mut self.holes {
            holes.snack_next = report;
        }
        Some(Snack {
            offset: offset as u16,
            size: NonZeroU16::new(size as u16)?,
            bits,
        })
    }

    /// Returns the start of the hole that ends at `right`.
    fn hole_before(&self, right: Offset) -> Offset {
        let before = self.holes().ranges.up_to(right - 1);
        before.map_or(self.nxt, |(_, end)| end)
    }

    /// Returns whether all of `[left, right)` up to the highest received byte has arrived.
    fn has_block(&self, left: Offset, right: Offset) -> bool {
        let highest = self.holes().ranges.end().unwrap_or(0);
        self.holes()
            .ranges
            .ending_behind(left)
            .is_some_and(|r| r.0 <= left && r.1 >= right.min(highest))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Receiver;
    use crate::config::ReceiverConfig;
    use crate::seq::Seq;
    use crate::time::Instant;

    fn receiver(arrived: &[(u64, u32)]) -> Receiver {
        let mut r = Receiver::of(ReceiverConfig::default(), 100, 0);
        r.synchronize(Seq(0));
        for &(start, len) in arrived {
            r.arrive(Instant::ZERO, start, len, None);
        }
        r
    }

    fn next(r: &mut Receiver, long: bool, room: u32) -> Option<(u16, u16, u64)> {
        let s = r.snack(long, 100, room)?;
        Some((s.offset, s.size.get(), s.bits >> 58))
    }

    #[test]
    fn successive_snacks_report_successive_holes() {
        let mut r = receiver(&[(1, 100), (201, 100), (501, 100)]);
        assert_eq!(r.nxt(), 101);
        assert_eq!(next(&mut r, false, 40), Some((0, 1, 0)));
        assert_eq!(next(&mut r, false, 40), Some((2, 2, 0)));
        assert_eq!(next(&mut r, false, 40), Some((0, 1, 0)));
        r.arrive(Instant::ZERO, 101, 100, None); // fills the first hole
        assert_eq!(r.nxt(), 301);
        assert_eq!(next(&mut r, false, 40), Some((0, 2, 0)));
        r.arrive(Instant::ZERO, 301, 200, None);
        assert_eq!(next(&mut r, false, 40), None);
    }

    #[test]
    fn bit_vector_has_ones_for_received_blocks() {
        let mut r = receiver(&[(101, 100), (301, 200), (601, 50)]);
        // The hole of one block, then the bits 1 0 1 1 0 1; the last hole is shorter than a block.
        assert_eq!(next(&mut r, true, 40), Some((0, 1, 0b10_1101)));
        assert_eq!(next(&mut r, true, 40), Some((0, 1, 0b10_1101)));
        assert_eq!(next(&mut r, true, 8), Some((0, 1, 0b10_1101)));
        assert_eq!(next(&mut r, true, 7), None);
    }

    #[test]
    fn hole_of_part_of_a_block_is_rounded_up() {
        let mut r = receiver(&[(51, 100), (161, 40)]);
        assert_eq!(next(&mut r, false, 40), Some((0, 1, 0)));
        // The hole from 151 to 161 begins in the second block.
        assert_eq!(next(&mut r, false, 40), Some((1, 1, 0)));
    }

    #[test]
    fn hole_beyond_the_bit_vector_is_reported_next() {
        let mut r = receiver(&[(101, 100)]);
        for i in 1..80 {
            r.arrive(Instant::ZERO, 201 + 200 * i, 100, None);
        }
        let first = r.snack(true, 100, 40).unwrap();
        assert_eq!((first.offset, first.size.get()), (0, 1));
        let second = r.snack(true, 100, 40).unwrap();
        // The vector ends 64 blocks behind the first hole; the next report begins where its last 1
        // ends.
        let ones = 64 - first.bits.trailing_zeros();
        assert_eq!(u32::from(second.offset), 1 + ones);
    }
}
