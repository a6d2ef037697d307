//! Sequence numbers: 32 wrapping bits in the header, 64 bits inside.
//!
//! Inside an endpoint every position in the stream is a `u64` [`Offset`] from the initial sequence
//! number. Comparisons are then ordinary, and a transfer may have any length. [`Seq`] exists only
//! in segments.

use std::fmt;

/// Position in one direction of a connection, counted from the initial sequence number: the SYN is
/// offset 0, the first byte of data is 1.
pub type Offset = u64;

/// Sequence number of a TCP header (RFC 9293, 3.4), modulo 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Seq(pub u32);

impl Seq {
    /// Returns the sequence number of `offset` in a stream whose initial sequence number is `self`.
    #[inline]
    pub const fn at(self, offset: Offset) -> Self {
        Self(self.0.wrapping_add(offset as u32))
    }

    /// Returns the offset nearest to `near` that has this number in a stream that starts at `isn`;
    /// `None` if that offset lies before the start.
    #[inline]
    pub const fn offset(self, isn: Self, near: Offset) -> Option<Offset> {
        let low = self.0.wrapping_sub(isn.0);
        let delta = low.wrapping_sub(near as u32) as i32;
        near.checked_add_signed(delta as i64)
    }

    /// Signed distance `self - other`, in the modular order of RFC 9293.
    #[inline]
    pub const fn diff(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }
}

impl fmt::Debug for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// `at` and `offset` are inverse as long as `near` is within 2 GiB of the offset.
        #[test]
        fn offset_inverts_at(isn: u32, near in 0u64..1 << 40, delta in -(1i64 << 31) + 1..1i64 << 31) {
            if let Some(offset) = near.checked_add_signed(delta) {
                prop_assert_eq!(Seq(isn).at(offset).offset(Seq(isn), near), Some(offset));
            }
        }
    }

    #[test]
    fn offset_before_the_start_is_none() {
        assert_eq!(Seq(9).offset(Seq(10), 0), None);
        assert_eq!(Seq(10).offset(Seq(10), 0), Some(0));
    }
}
