//! SACK blocks: the report of out-of-order data to the sender (RFC 2018).

use super::{Holes, Receiver};
use crate::segment::{MAX_SACK_BLOCKS, SackBlock, SackBlocks};
use crate::seq::Offset;

/// Number of recent out-of-order arrivals remembered for SACK blocks.
const RECENT: usize = 8;

/// Starts of recent arrivals out of order, newest first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recent {
    len: u8,
    starts: [Offset; RECENT],
}

impl Recent {
    pub(super) const NONE: Self = Self {
        len: 0,
        starts: [0; RECENT],
    };

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn starts(&self) -> &[Offset] {
        &self.starts[..usize::from(self.len)]
    }

    /// Notes an arrival at `start`, now part of range `[left, right)`. Keeps one entry per range
    /// and drops the oldest if full.
    pub(super) fn arrived(&mut self, start: Offset, (left, right): (Offset, Offset)) {
        let mut carried = start;
        let mut len = 0;
        for i in 0..usize::from(self.len) {
            let older = self.starts[i];
            if older < left || older >= right {
                self.starts[len] = carried;
                carried = older;
                len += 1;
            }
        }
        if len < RECENT {
            self.starts[len] = carried;
            len += 1;
        }
        self.len = len as u8;
    }

    /// Removes the starts below `from`.
    fn drop_before(&mut self, from: Offset) {
        let mut len = 0;
        for i in 0..usize::from(self.len) {
            let start = self.starts[i];
            if start >= from {
                self.starts[len] = start;
                len += 1;
            }
        }
        self.len = len as u8;
    }
}

impl Receiver {
    /// Returns up to `most` SACK blocks: first the range of the latest arrival, then ranges
    /// reported earlier (RFC 2018, 4).
    pub(crate) fn sack_blocks(&mut self, most: usize) -> SackBlocks {
        let mut out = SackBlocks::default();
        let (nxt, irs) = (self.nxt, self.irs);
        let Some(Holes { ranges, recent, .. }) = self.holes.as_deref_mut() else {
            return out;
        };
        if ranges.is_empty() {
            *recent = Recent::NONE;
        }
        recent.drop_before(nxt);
        let mut last: [Offset; MAX_SACK_BLOCKS] = [0; MAX_SACK_BLOCKS];
        let mut n = 0;
        for &point in recent.starts() {
            if n == most.min(MAX_SACK_BLOCKS) {
                break;
            }
            let Some((left, right)) = ranges.ending_behind(point) else {
                continue;
            };
            if last[..n].contains(&right) {
                continue;
            }
            last[n] = right;
            n += 1;
            out.push(SackBlock {
                left: irs.at(left),
                right: irs.at(right),
            });
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a list in which each arrival moves its range to the front.
        #[test]
        fn newest_arrival_per_range_is_remembered(
            steps in prop::collection::vec((0..60u64, 0..12u64, 0..12u64, any::<bool>()), 0..60),
        ) {
            let mut recent = Recent::default();
            let mut list: Vec<Offset> = Vec::new();
            for (start, before, behind, drops) in steps {
                let (left, right) = (start.saturating_sub(before), start + 1 + behind);
                recent.arrived(start, (left, right));
                list.retain(|&p| p < left || p >= right);
                list.insert(0, start);
                list.truncate(RECENT);
                if drops {
                    recent.drop_before(before);
                    list.retain(|&p| p >= before);
                }
                prop_assert_eq!(recent.starts(), &list);
                prop_assert_eq!(recent.is_empty(), list.is_empty());
            }
        }
    }
}
