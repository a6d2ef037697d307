//! Cuts packets that are longer than a datagram into pieces, and reassembles them.

use super::frame::{Inner, ROOM};
use std::collections::VecDeque;

/// Maximum number of stored incomplete packets. A further one replaces the oldest.
const MAX_WAITING: usize = 64;
/// Maximum length of a packet in bytes.
const LONGEST: usize = 65_535;

/// Calls `each` with the packet or, if it does not fit into a datagram, with pieces of nearly equal
/// length.
pub(crate) fn cut(packet: &[u8], checked: bool, ident: u32, mut each: impl FnMut(Inner<'_>)) {
    let count = packet.len().div_ceil(ROOM);
    if count < 2 {
        let bytes = packet;
        return each(Inner::Packet { checked, bytes });
    }
    let pieces = packet.chunks(packet.len().div_ceil(count));
    for (index, bytes) in (0..).zip(pieces) {
        each(Inner::Piece {
            checked,
            ident,
            index,
            count: count as u8,
            bytes,
        });
    }
}

/// A packet of which some pieces are missing.
#[derive(Debug)]
struct Partial {
    /// Session number, and the packet's identification in this session. After a restart of a
    /// gateway, identifications repeat in another session.
    ident: (u32, u32),
    pieces: Vec<Option<Vec<u8>>>,
}

/// Reassembly of incomplete packets.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    waiting: VecDeque<Partial>,
    /// Number of packets given up because a piece did not arrive.
    pub(crate) incomplete: u64,
}

impl Pieces {
    /// Handles a message of a session. If the message completes a packet, returns the packet and
    /// whether its checksum is known to be right.
    pub(crate) fn on_message(&mut self, session: u32, inner: Inner<'_>) -> Option<(Vec<u8>, bool)> {
        match inner {
            Inner::Packet { checked, bytes } => Some((bytes.to_vec(), checked)),
            Inner::Piece {
                checked,
                ident,
                index,
                count,
                bytes,
            } => self
                .add((session, ident), index, count, bytes)
                .map(|whole| (whole, checked)),
            _ => None,
        }
    }

    /// Adds a piece. Returns the packet if it is now complete.
    fn add(&mut self, ident: (u32, u32), index: u8, count: u8, bytes: &[u8]) -> Option<Vec<u8>> {
        let max = LONGEST.div_ceil(ROOM);
        let (index, count) = (usize::from(index), usize::from(count));
        if !(2..=max).contains(&count) || index >= count || bytes.is_empty() || bytes.len() > ROOM {
            return None;
        }
        let place = self.waiting.iter().position(|item| item.ident == ident);
        let at = place.unwrap_or_else(|| {
            if self.waiting.len() == MAX_WAITING {
                self.waiting.pop_front();
                self.incomplete += 1;
            }
            self.waiting.push_back(Partial {
                ident,
                pieces: vec![None; count],
            });
            self.waiting.len() - 1
        });
        let pieces = &mut self.waiting[at].pieces;
        if pieces.len() != count {
            return None;
        }
        pieces[index] = Some(bytes.to_vec());
        if pieces.iter().any(Option::is_none) {
            return None;
        }
        let whole = self.waiting.remove(at)?;
        let bytes: Vec<u8> = whole.pieces.into_iter().flatten().flatten().collect();
        (bytes.len() <= LONGEST).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces_of(packet: &[u8], ident: u32) -> Vec<(u8, u8, Vec<u8>)> {
        let mut out = Vec::new();
        cut(packet, true, ident, |inner| match inner {
            Inner::Piece {
                index,
                count,
                bytes,
                ..
            } => out.push((index, count, bytes.to_vec())),
            _ => unreachable!("it is short"),
        });
        out
    }

    #[test]
    fn pieces_in_any_order_are_reassembled() {
        for length in [ROOM + 1, 1500, 2 * ROOM, 2 * ROOM + 1, 9000, LONGEST] {
            let packet: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            let mut all = pieces_of(&packet, 7);
            assert!(all.iter().all(|(_, _, bytes)| bytes.len() <= ROOM));
            all.reverse();
            let (mut pieces, mut whole) = (Pieces::default(), None);
            for (index, count, bytes) in all {
                assert_eq!(whole, None);
                whole = pieces.add((1, 7), index, count, &bytes);
            }
            assert_eq!(whole.as_ref(), Some(&packet), "{length}");
        }
    }

    #[test]
    fn incomplete_packets_are_given_up() {
        let mut pieces = Pieces::default();
        for ident in 0..1000 {
            assert_eq!(pieces.add((1, ident), 0, 2, &[1]), None);
        }
        assert_eq!(pieces.incomplete, 1000 - 64);
        assert_eq!(pieces.add((1, 999), 1, 2, &[2]), Some(vec![1, 2]));
        for (index, count) in [(0, 0), (0, 1), (2, 2), (0, 255)] {
            assert_eq!(pieces.add((1, 5000), index, count, &[1]), None);
        }
        assert_eq!(pieces.waiting.len(), 63);
    }

    /// Pieces with the same identification from two sessions are not combined.
    #[test]
    fn pieces_of_two_sessions_are_not_combined() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.add((1, 7), 1, 2, &[2]), None);
        assert_eq!(pieces.add((2, 7), 0, 2, &[3]), None);
        assert_eq!(pieces.add((2, 7), 1, 2, &[4]), Some(vec![3, 4]));
        assert_eq!(pieces.add((1, 7), 0, 2, &[1]), Some(vec![1, 2]));
    }

    /// A gateway with the key may send contradictory pieces. The first piece determines their
    /// number.
    #[test]
    fn contradictory_pieces_are_not_combined() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.add((1, 7), 0, 2, &[1]), None);
        assert_eq!(pieces.add((1, 7), 2, 3, &[9]), None);
        assert_eq!(pieces.add((1, 7), 1, 2, &[2]), Some(vec![1, 2]));
        let (count, full) = (LONGEST.div_ceil(ROOM) as u8, [0; ROOM]);
        for index in 0..count {
            assert_eq!(pieces.add((1, 8), index, count, &full), None, "too long");
        }
        assert_eq!(pieces.waiting.len(), 0);
    }
}
