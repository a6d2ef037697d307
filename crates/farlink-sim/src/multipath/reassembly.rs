//! Receiver of a connection over several paths: order at the data level.

use std::collections::BTreeMap;

/// Data by data sequence number, of which all before `next` were delivered in order.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    /// Data ACK: number of bytes delivered in order.
    next: u64,
    /// Ranges above `next`, from start to end, disjoint and not adjacent.
    ranges: BTreeMap<u64, u64>,
    buffered: u64,
    /// Maximum of `buffered`.
    pub(crate) buffered_max: u64,
    /// Bytes that arrived a second time.
    pub(crate) duplicate: u64,
}

impl Reassembly {
    /// Returns the data ACK.
    pub(crate) fn data_ack(&self) -> u64 {
        self.next
    }

    /// Adds the bytes `[start, end)`, and delivers what is in order.
    pub(crate) fn insert(&mut self, start: u64, end: u64) {
        let (mut left, mut right) = (start.max(self.next), end);
        let mut fresh = right.saturating_sub(left);
        if left >= right {
            self.duplicate += end - start;
            return;
        }
        // Ranges that overlap or touch the new range become part of it.
        while let Some((&a, &b)) = self.ranges.range(..=right).next_back() {
            if b < left {
                break;
            }
            fresh -= b.min(right).saturating_sub(a.max(left));
            self.ranges.remove(&a);
            self.buffered -= b - a;
            left = left.min(a);
            right = right.max(b);
        }
        self.duplicate += (end - start) - fresh;
        if left == self.next {
            self.next = right;
        } else {
            self.ranges.insert(left, right);
            self.buffered += right - left;
            self.buffered_max = self.buffered_max.max(self.buffered);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn delivers_in_order_and_counts_what_waits() {
        let mut reassembly = Reassembly::default();
        reassembly.insert(10, 20);
        reassembly.insert(30, 40);
        assert_eq!((reassembly.data_ack(), reassembly.buffered_max), (0, 20));
        reassembly.insert(20, 30);
        assert_eq!((reassembly.data_ack(), reassembly.buffered_max), (0, 30));
        reassembly.insert(0, 15);
        assert_eq!((reassembly.data_ack(), reassembly.duplicate), (40, 5));
        assert_eq!((reassembly.buffered, reassembly.buffered_max), (0, 30));
        reassembly.insert(0, 40);
        assert_eq!((reassembly.data_ack(), reassembly.duplicate), (40, 45));
        // A shorter wait later leaves the maximum.
        reassembly.insert(50, 55);
        assert_eq!((reassembly.buffered, reassembly.buffered_max), (5, 30));
    }

    proptest! {
        /// Each byte is delivered once and in order: the data ACK is the length of the prefix that
        /// arrived, and bytes are either new, in the buffer, or duplicates.
        #[test]
        fn equals_a_set_of_bytes(pieces in prop::collection::vec((0_u64..60, 1_u64..12), 0..60)) {
            let mut reassembly = Reassembly::default();
            let mut bytes = [false; 80];
            let mut duplicate = 0;
            for (start, len) in pieces {
                reassembly.insert(start, start + len);
                for byte in &mut bytes[start as usize..(start + len) as usize] {
                    duplicate += u64::from(*byte);
                    *byte = true;
                }
                let prefix = bytes.iter().take_while(|&&byte| byte).count() as u64;
                let all = bytes.iter().filter(|&&byte| byte).count() as u64;
                prop_assert_eq!(reassembly.data_ack(), prefix);
                prop_assert_eq!(reassembly.buffered, all - prefix);
                prop_assert_eq!(reassembly.duplicate, duplicate);
            }
        }
    }
}
