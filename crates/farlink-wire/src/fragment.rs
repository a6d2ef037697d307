//! Fragments of IP datagrams: cutting and reassembly (RFC 791, 2.3 and 3.2; RFC 8200, 4.5).

use etherparse::checksum::Sum16BitWords;

/// Bytes of an IPv4 header without options.
pub const IPV4_HEADER_LEN: u32 = 20;
/// Bytes of the IPv6 fragment header (RFC 8200, 4.5).
pub const FRAGMENT_HEADER_LEN: u32 = 8;

/// MTU of a link, and the rule by which longer packets are cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mtu {
    /// Maximum length of an IP packet in bytes.
    pub bytes: u32,
    /// Unit in bytes of the lengths of all fragments except the last: 8 (RFC 791), or 1 as in the
    /// arithmetic of wong1998, 3.3, which an IPv4 header cannot express.
    pub unit: u32,
}

/// A part of a datagram's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Offset of the part in the payload, in bytes.
    pub offset: u16,
    /// Length in bytes. Offset plus length is at most 65,535.
    pub len: u16,
    /// Set if more fragments follow.
    pub more: bool,
}

impl Piece {
    /// Returns the offset after the last byte.
    const fn end(self) -> u32 {
        self.offset as u32 + self.len as u32
    }
}

impl Mtu {
    /// Cuts `whole` into parts for packets with headers of `header` bytes, or returns `whole` alone
    /// if it fits. Each part but the last is as long as possible (RFC 791, 3.2).
    pub fn cut(self, whole: Piece, header: u32) -> impl Iterator<Item = Piece> {
        let room = self.bytes.saturating_sub(header);
        // The minimum MTU of 68 bytes has room for a header of 60 bytes and one unit.
        let step = (room / self.unit * self.unit).max(self.unit);
        let mut cut = 0;
        let mut over = false;
        std::iter::from_fn(move || {
            let left = u32::from(whole.len) - cut;
            if over {
                return None;
            }
            over = left <= room;
            let piece = Piece {
                // The offset may exceed its 16 bits, because a fragment may end beyond 65,535
                // bytes. It wraps here, and the receiver rejects the fragment.
                offset: whole.offset.wrapping_add(cut as u16),
                len: if over { left } else { step } as u16,
                more: !over || whole.more,
            };
            cut += u32::from(piece.len);
            Some(piece)
        })
    }

    /// Returns the number of fragments of a packet of `ip_len` bytes with a 20-byte header on the
    /// link.
    pub fn packets(self, ip_len: u32) -> u32 {
        let whole = Piece {
            offset: 0,
            len: ip_len.saturating_sub(IPV4_HEADER_LEN) as u16,
            more: false,
        };
        self.cut(whole, IPV4_HEADER_LEN).count() as u32
    }
}

/// Result of adding a fragment to an incomplete datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Added {
    /// The fragment is new, and other fragments are still missing.
    Waits,
    /// The fragment is new and completes the datagram.
    Complete,
    /// The fragment was received before.
    Duplicate,
    /// The fragment overlaps another without being a copy, or gives the datagram a second end. The
    /// whole datagram is discarded (RFC 5722, 4, for IPv6; hosts do the same for IPv4).
    Overlap,
}

/// Received fragments of one datagram.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reassembly {
    /// Fragments in order, without overlaps.
    pieces: Vec<Piece>,
    bytes: u32,
}

impl Reassembly {
    /// Returns the number of received fragments.
    pub fn count(&self) -> usize {
        self.pieces.len()
    }

    /// Removes all fragments, for reuse by another datagram.
    pub fn clear(&mut self) {
        self.pieces.clear();
        self.bytes = 0;
    }

    /// Adds a fragment. After [`Added::Overlap`] the state is invalid until it is cleared.
    pub fn add(&mut self, piece: Piece) -> Added {
        let at = self.pieces.partition_point(|p| p.offset < piece.offset);
        let (before, after) = self.pieces.split_at(at);
        if after.first() == Some(&piece) {
            return Added::Duplicate;
        }
        let clear = before
            .last()
            .is_none_or(|p| p.more && p.end() <= piece.offset.into())
            && after
                .first()
                .is_none_or(|p| piece.more && piece.end() <= p.offset.into());
        if !clear || piece.len == 0 {
            return Added::Overlap;
        }
        self.pieces.insert(at, piece);
        self.bytes += u32::from(piece.len);
        match self.pieces.last() {
            Some(last) if !last.more && last.end() == self.bytes => Added::Complete,
            _ => Added::Waits,
        }
    }
}

/// Changes the header of a whole datagram into that of a fragment: total length, more fragments,
/// fragment offset, checksum.
pub(crate) fn write_fragment_fields(bytes: &mut [u8], piece: Piece) {
    let header = usize::from(bytes[0] & 15) * 4;
    let field = (piece.offset / 8) | u16::from(piece.more) << 13;
    let total = bytes.len() as u16;
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    bytes[6..8].copy_from_slice(&field.to_be_bytes());
    bytes[10..12].fill(0);
    let sum = Sum16BitWords::new()
        .add_slice(&bytes[..header])
        .ones_complement();
    bytes[10..12].copy_from_slice(&sum.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn whole(len: u32) -> Piece {
        Piece {
            offset: 0,
            len: len as u16,
            more: false,
        }
    }

    fn sizes(mtu: Mtu, ip_len: u32) -> Vec<u32> {
        mtu.cut(whole(ip_len - 20), 20)
            .map(|p| u32::from(p.len) + 20)
            .collect()
    }

    const fn rfc791(bytes: u32) -> Mtu {
        Mtu { bytes, unit: 8 }
    }

    /// A 1500-byte packet over MTU 576 becomes 552 + 552 + 376 bytes of payload. A packet that fits
    /// is not cut.
    #[test]
    fn fragment_lengths_follow_rfc791() {
        assert_eq!(sizes(rfc791(576), 1500), [572, 572, 396]);
        assert_eq!(sizes(rfc791(576), 576), [576]);
        assert_eq!(sizes(rfc791(1500), 65_535).len(), 45); // 65,515 / 1480
        // The last fragment may have any length, even one that is not a multiple of 8.
        assert_eq!(sizes(rfc791(575), 572 + 555 - 20), [572, 555]);
        assert_eq!(sizes(rfc791(68), 116), [68, 68]);
    }

    /// A fragment with an end beyond the longest datagram is cut like any other. An earlier version
    /// looked for its parts outside of the datagram.
    #[test]
    fn fragment_ending_beyond_the_longest_datagram_is_cut() {
        let piece = Piece {
            offset: 65_528,
            len: 3000,
            more: false,
        };
        let parts: Vec<_> = rfc791(1500).cut(piece, 20).collect();
        let fields: Vec<_> = parts.iter().map(|p| (p.offset, p.len, p.more)).collect();
        let expected = [(65_528, 1480, true), (1472, 1480, true), (2952, 40, false)];
        assert_eq!(fields, expected);
    }

    /// The rule of Wong 1998, 3.3, cuts 532 bytes of TCP into five packets of up to 1024 bits, the
    /// standard into six. The fragments by its rule have 5056 bits in total. An acknowledgment is
    /// not cut.
    #[test]
    fn study_rule_gives_five_fragments_and_standard_six() {
        let study = Mtu {
            bytes: 128,
            unit: 1,
        };
        assert_eq!(sizes(study, 552), [128, 128, 128, 128, 120]);
        assert_eq!(8 * sizes(study, 552).iter().sum::<u32>(), 5056);
        assert_eq!(sizes(rfc791(128), 552), [124, 124, 124, 124, 124, 32]);
        assert_eq!(study.packets(40), 1);
    }

    #[test]
    fn a_fragment_is_cut_again_at_the_next_link() {
        let first = rfc791(576).cut(whole(1480), 20).next().unwrap();
        let again: Vec<_> = rfc791(296).cut(first, 20).collect();
        let at: Vec<_> = again.iter().map(|p| (p.offset, p.len, p.more)).collect();
        assert_eq!(at, [(0, 272, true), (272, 272, true), (544, 8, true)]);
    }

    #[test]
    fn overlapping_fragments_and_second_ends_are_refused() {
        let piece = |offset, len, more| Piece { offset, len, more };
        let mut there = Reassembly::default();
        assert_eq!(there.add(piece(8, 16, true)), Added::Waits);
        let mut other = there.clone();
        assert_eq!(other.add(piece(16, 16, true)), Added::Overlap);
        let mut other = there.clone();
        assert_eq!(other.add(piece(0, 16, true)), Added::Overlap);
        let mut other = there.clone();
        assert_eq!(other.add(piece(8, 16, false)), Added::Overlap);
        let mut other = there.clone();
        assert_eq!(other.add(piece(0, 8, false)), Added::Overlap);
        assert_eq!(there.add(piece(24, 5, false)), Added::Waits);
        let mut other = there.clone();
        assert_eq!(other.add(piece(32, 8, true)), Added::Overlap);
        assert_eq!(there.add(piece(0, 8, true)), Added::Complete);
    }

    proptest! {
        /// After cuts by two links, fragments may arrive in any order and several times. The
        /// datagram is complete exactly when its last missing part arrives.
        #[test]
        fn fragments_reassemble_in_any_order(
            len in 1u16..9000,
            mtus in (68u32..2000, 68u32..2000),
            unit in prop_oneof![Just(1u32), Just(8)],
            keys in proptest::collection::vec((any::<u32>(), 0u8..3), 400),
            missing in any::<prop::sample::Index>(),
        ) {
            let cut = |bytes, piece| Mtu { bytes, unit }.cut(piece, 20);
            let pieces: Vec<_> =
                cut(mtus.0, whole(len.into())).flat_map(|p| cut(mtus.1, p)).collect();
            let mut at = 0;
            for piece in &pieces {
                prop_assert_eq!(piece.offset, at);
                prop_assert!(u32::from(piece.len) + 20 <= mtus.0.min(mtus.1));
                prop_assert!(!piece.more || u32::from(piece.len) % unit == 0);
                at += piece.len;
            }
            prop_assert_eq!(at, len);
            let mut order: Vec<_> = pieces
                .iter()
                .zip(&keys)
                .flat_map(|(&p, &(key, copies))| {
                    (0..=copies).map(move |c| (key.rotate_left(7 * u32::from(c)), p))
                })
                .collect();
            order.sort_by_key(|o| o.0);
            let mut observed = std::collections::BTreeSet::new();
            let mut there = Reassembly::default();
            let mut without = Reassembly::default();
            let missing = missing.get(&pieces);
            for (_, piece) in order {
                let new = observed.insert(piece.offset);
                let wanted = match (new, observed.len() == pieces.len()) {
                    (false, _) => Added::Duplicate,
                    (true, true) => Added::Complete,
                    (true, false) => Added::Waits,
                };
                prop_assert_eq!(there.add(piece), wanted);
                if piece != *missing {
                    prop_assert_ne!(without.add(piece), Added::Complete);
                }
            }
            prop_assert_eq!(there.count(), pieces.len());
        }
    }
}
