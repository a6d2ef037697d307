//! The selective negative acknowledgment of SCPS-TP (CCSDS 714.0-B), which reports missing data in
//! blocks of one MSS.

use crate::seq::Offset;
use std::num::NonZeroU16;

/// Blocks that a bit vector covers: 64 fit beside timestamps, and suffice for most windows.
pub(crate) const SNACK_BLOCKS: u32 = u64::BITS;

/// The SNACK option: a hole, and in the long form a bit vector of the blocks behind it. A block has
/// the size of the MSS in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(Rust, packed(2))]
pub struct Snack {
    /// Distance from the acknowledgment number to the hole, in blocks.
    pub offset: u16,
    /// Length of the hole in blocks.
    pub size: NonZeroU16,
    /// Blocks behind the hole, most significant bit first: 1 has arrived, 0 has not. Blocks after
    /// the last 1 are unknown. Zero is the short form.
    pub bits: u64,
}

impl Snack {
    /// Bytes of the bit vector; 0 in the short form.
    #[inline]
    pub const fn vector_len(&self) -> usize {
        (SNACK_BLOCKS - self.bits.trailing_zeros()).div_ceil(8) as usize
    }

    /// Length of the option in a header, in bytes, padded to a multiple of four: 8 in the short
    /// form.
    #[inline]
    pub const fn wire_len(&self) -> u32 {
        (6 + self.vector_len() as u32).next_multiple_of(4)
    }

    /// Returns the reported holes as ranges of the stream, in blocks of `mss` from `ack` on.
    pub(crate) fn holes(self, ack: Offset, mss: u64) -> impl Iterator<Item = (Offset, Offset)> {
        let start = ack + u64::from(self.offset) * mss;
        let end = start + u64::from(self.size.get()) * mss;
        let known = SNACK_BLOCKS - self.bits.trailing_zeros();
        let behind = (0..known)
            .filter(move |i| self.bits >> (SNACK_BLOCKS - 1 - i) & 1 == 0)
            .map(move |i| {
                let at = end + u64::from(i) * mss;
                (at, at + mss)
            });
        std::iter::once((start, end)).chain(behind)
    }
}

/// The SCPS Capabilities option on a SYN (CCSDS 714.0-B).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ScpsCapabilities {
    /// Capabilities of the sender of the SYN.
    pub bits: u8,
    /// Identifier for header compression, which this endpoint does not offer.
    pub connection: u8,
}

impl ScpsCapabilities {
    /// Short form of SNACK (SNACK1).
    pub const SNACK_SHORT: u8 = 0x40;
    /// Long form of SNACK, with a bit vector (SNACK2).
    pub const SNACK_LONG: u8 = 0x20;

    /// Returns whether all of `bits` are offered.
    #[inline]
    pub const fn has(self, bits: u8) -> bool {
        self.bits & bits == bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snack(offset: u16, size: u16, bits: u64) -> Snack {
        Snack {
            offset,
            size: NonZeroU16::new(size).unwrap(),
            bits,
        }
    }

    #[test]
    fn hole_offsets_count_blocks_from_the_ack() {
        let holes = |s: Snack| s.holes(1001, 100).collect::<Vec<_>>();
        assert_eq!(holes(snack(0, 1, 0)), [(1001, 1101)]);
        assert_eq!(holes(snack(3, 2, 0)), [(1301, 1501)]);
        // The bits 1 0 1 1 0 1 report two more holes; the zeros after the last 1 report nothing.
        let bits = 0b10_1101 << 58;
        assert_eq!(
            holes(snack(0, 1, bits)),
            [(1001, 1101), (1201, 1301), (1501, 1601)]
        );
    }

    #[test]
    fn bit_vector_is_encoded_in_least_bytes() {
        assert_eq!(snack(0, 1, 0).wire_len(), 8);
        assert_eq!(snack(0, 1, 1 << 63).vector_len(), 1);
        assert_eq!(snack(0, 1, 1 << 63).wire_len(), 8);
        assert_eq!(snack(0, 1, 1 << 55).vector_len(), 2);
        assert_eq!(snack(0, 1, 1 << 47).wire_len(), 12);
        assert_eq!(snack(0, 1, 1).vector_len(), 8);
        assert_eq!(snack(0, 1, 1).wire_len(), 16);
    }
}
