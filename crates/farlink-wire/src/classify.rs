//! Fields of a packet that queue disciplines read: its hosts, and the ACK in its TCP header.

use crate::codec::node_of;
use crate::ipv6;
use crate::packet::{Packet, Payload, Raw};
use farlink_tcp::{Flags, RareOptions, SackBlock, SackBlocks, Segment, Seq, Timestamps};
use std::net::IpAddr;

/// Protocol number of TCP.
const TCP: u8 = 6;
/// Kinds of options: end of list, no operation, SACK and timestamps.
const END: u8 = 0;
const NOP: u8 = 1;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
/// Control bits that an ACK filter compares instead of refusing.
const ECHO: Flags = Flags::ECE.with(Flags::CWR);

/// Fields of a TCP header with ACK and without SYN that an ACK filter reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckHeader {
    /// Source and destination port.
    pub ports: (u16, u16),
    /// Acknowledgment number.
    pub ack: Seq,
    /// ECE and CWR.
    pub echo: Flags,
    /// Set if the packet has neither data nor other control bits nor options beside timestamps and
    /// SACK.
    pub is_pure: bool,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks.
    pub sack: SackBlocks,
}

impl AckHeader {
    /// Reads the header of a packet; `None` for fragments, other protocols and SYNs.
    pub fn of(packet: &Packet) -> Option<Self> {
        if packet.piece.is_some() {
            return None;
        }
        match &packet.payload {
            Payload::Tcp(segment) => Self::of_segment(segment),
            Payload::Udp(_) => None,
            Payload::Raw(raw) => Self::of_bytes(tcp_bytes(raw)?),
        }
    }

    /// Returns whether the ACK is pure, and `newer` of the same connection has all its information
    /// and more. ECE and CWR are not compared.
    pub fn is_covered_by(&self, newer: &Self) -> bool {
        let ahead = newer.ack.diff(self.ack);
        if !self.is_pure || ahead < 0 || !has_later_timestamps(self, newer) {
            return false;
        }
        let (old, new) = (self.sack.as_slice(), newer.sack.as_slice());
        if old.iter().any(|block| block.left.diff(self.ack) < 0) || repeats(old) {
            return false; // A duplicate SACK (RFC 2883) is reported once.
        }
        let kept = |&block: &SackBlock| new.iter().any(|&other| contains(other, block));
        old.iter().all(kept) && (ahead > 0 || bytes(new) > bytes(old))
    }

    fn of_segment(segment: &Segment) -> Option<Self> {
        let flags = segment.flags;
        if flags.0 & (Flags::ACK.0 | Flags::SYN.0) != Flags::ACK.0 {
            return None;
        }
        let sack = segment.options.sack;
        let only_sack = RareOptions {
            sack,
            ..RareOptions::NONE
        };
        Some(Self {
            ports: (segment.src_port, segment.dst_port),
            ack: segment.ack,
            echo: Flags(flags.0 & ECHO.0),
            is_pure: flags.0 & !ECHO.0 == Flags::ACK.0
                && segment.body.is_empty()
                && !segment.ae
                && !segment.dummy
                && (segment.options.are_plain() || *segment.options == only_sack),
            timestamps: segment.options.timestamps,
            sack,
        })
    }

    /// Reads the header of a TCP segment.
    fn of_bytes(tcp: &[u8]) -> Option<Self> {
        let &[a, b, c, d, _, _, _, _, e, f, g, h, offset, flags, ..] = tcp else {
            return None;
        };
        if flags & (Flags::ACK.0 | Flags::SYN.0) != Flags::ACK.0 {
            return None;
        }
        let header = usize::from(offset >> 4) * 4;
        let mut read = Self {
            ports: (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])),
            ack: Seq(u32::from_be_bytes([e, f, g, h])),
            echo: Flags(flags & ECHO.0),
            is_pure: flags & !ECHO.0 == Flags::ACK.0
                && offset.trailing_zeros() >= 4
                && tcp.len() == header,
            timestamps: None,
            sack: SackBlocks::NONE,
        };
        let options = tcp.get(20..header)?;
        read.is_pure &= read.read_options(options).is_some();
        Some(read)
    }

    /// Reads timestamps and SACK; `None` if an option is malformed or of another kind.
    fn read_options(&mut self, mut options: &[u8]) -> Option<()> {
        while let Some((&kind, rest)) = options.split_first() {
            match kind {
                END => return Some(()),
                NOP => {
                    options = rest;
                    continue;
                }
                _ => {}
            }
            let len = usize::from(*rest.first()?);
            let value = options.get(2..len)?;
            match kind {
                TIMESTAMPS if value.len() == 8 => {
                    self.timestamps = Some(Timestamps {
                        value: word(value),
                        echo: word(&value[4..]),
                    });
                }
                SACK if value.len().is_multiple_of(8) => {
                    let block = |bytes: &[u8]| SackBlock {
                        left: Seq(word(bytes)),
                        right: Seq(word(&bytes[4..])),
                    };
                    self.sack = value.chunks_exact(8).map(block).collect();
                }
                _ => return None,
            }
            options = &options[len..];
        }
        Some(())
    }
}

fn has_later_timestamps(older: &AckHeader, newer: &AckHeader) -> bool {
    let Some(old) = older.timestamps else {
        return true;
    };
    let later = |old: u32, new: u32| new.wrapping_sub(old) as i32 >= 0;
    newer
        .timestamps
        .is_some_and(|new| later(old.value, new.value) && later(old.echo, new.echo))
}

/// Returns whether the first block is part of another, as in a duplicate SACK above the
/// acknowledgment number (RFC 2883, 4).
fn repeats(blocks: &[SackBlock]) -> bool {
    let Some((first, others)) = blocks.split_first() else {
        return false;
    };
    others.iter().any(|&other| contains(other, *first))
}

fn contains(outer: SackBlock, inner: SackBlock) -> bool {
    inner.left.diff(outer.left) >= 0 && outer.right.diff(inner.right) >= 0
}

/// Returns the number of bytes in blocks.
fn bytes(blocks: &[SackBlock]) -> u64 {
    let len = |block: &SackBlock| u64::from(block.right.0.wrapping_sub(block.left.0));
    blocks.iter().map(len).sum()
}

/// Returns the TCP segment of a packet; `None` for fragments and other protocols.
fn tcp_bytes(raw: &Raw) -> Option<&[u8]> {
    let bytes = raw.bytes();
    if raw.is_ipv6() {
        let carried = ipv6::carried(bytes);
        let whole = carried.protocol == TCP && !carried.is_part;
        return bytes.get(carried.at..).filter(|_| whole);
    }
    let [more_and_offset, rest] = [bytes[6] & 0x3f, bytes[7]];
    let whole = bytes[9] == TCP && more_and_offset == 0 && rest == 0;
    let header = usize::from(bytes[0] & 15) * 4;
    bytes.get(header..).filter(|_| whole)
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

impl Packet {
    /// Returns a number for the source host and one for the destination host: node numbers in the
    /// simulator, and hashes of foreign addresses for a packet of a real program.
    pub fn hosts(&self) -> [u64; 2] {
        match &self.payload {
            Payload::Raw(raw) => [raw.source(), raw.destination()].map(host),
            Payload::Tcp(_) | Payload::Udp(_) => [self.src, self.dst].map(|node| u64::from(node.0)),
        }
    }
}

/// Returns the number of a host (FNV-1a of an address that is not of a node).
fn host(address: IpAddr) -> u64 {
    if let Some(node) = node_of(address) {
        return u64::from(node.0);
    }
    let fold = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            })
    };
    match address {
        IpAddr::V4(v4) => fold(&v4.octets()),
        IpAddr::V6(v6) => fold(&v6.octets()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Addresses, encode};
    use crate::fragment::Piece;
    use crate::id::NodeId;
    use crate::packet::{Datagram, Ip};
    use farlink_tcp::{Body, Options};

    fn segment() -> Segment {
        Segment {
            src_port: 7,
            dst_port: 9,
            ack: Seq(0xfedc_ba98),
            flags: Flags::ACK,
            ..Segment::default()
        }
    }

    /// Returns a packet with the segment, and the same packet as bytes.
    fn both(segment: &Segment, ip: Ip) -> [Packet; 2] {
        let mut packet = Packet::new(NodeId(3), NodeId(70_000), Payload::Tcp(segment.clone()));
        packet.ip = ip;
        let bytes = encode(&packet, Addresses::of(&packet)).unwrap();
        let raw = Payload::Raw(Raw::new(bytes).unwrap());
        [packet.clone(), Packet::new(packet.src, packet.dst, raw)]
    }

    fn sack(blocks: &[(u32, u32)]) -> SackBlocks {
        let block = |&(left, right): &(u32, u32)| SackBlock {
            left: Seq(left),
            right: Seq(right),
        };
        blocks.iter().map(block).collect()
    }

    /// Segments with whether they are pure ACKs; `None` if they acknowledge nothing.
    fn samples() -> Vec<(Segment, Option<bool>)> {
        let with = |change: fn(&mut Segment)| {
            let mut segment = segment();
            change(&mut segment);
            segment
        };
        let stamps = |segment: &mut Segment| {
            segment.options = Options::from(Some(Timestamps { value: 5, echo: 6 }));
        };
        vec![
            (segment(), Some(true)),
            (with(stamps), Some(true)),
            (
                with(|s| s.options.set_sack(sack(&[(1, 2), (8, 9)]))),
                Some(true),
            ),
            (with(|s| s.flags = s.flags.with(Flags::ECE)), Some(true)),
            (with(|s| s.flags = s.flags.with(Flags::CWR)), Some(true)),
            (with(|s| s.body = Body::of_len(1)), Some(false)),
            (with(|s| s.flags = s.flags.with(Flags::FIN)), Some(false)),
            (with(|s| s.flags = s.flags.with(Flags::RST)), Some(false)),
            (with(|s| s.flags = s.flags.with(Flags::PSH)), Some(false)),
            (with(|s| s.flags = s.flags.with(Flags::URG)), Some(false)),
            (with(|s| s.ae = true), Some(false)),
            (with(|s| s.dummy = true), Some(false)),
            (with(|s| s.options.eln = true), Some(false)),
            (with(|s| s.flags = s.flags.with(Flags::SYN)), None),
            (with(|s| s.flags = Flags::RST), None),
        ]
    }

    #[test]
    fn header_of_a_segment_is_that_of_its_bytes() {
        for ip in [Ip::V4, Ip::V6] {
            for (segment, is_pure) in samples() {
                let [own, raw] = both(&segment, ip).map(|packet| AckHeader::of(&packet));
                assert_eq!(own, raw, "{segment:?}");
                assert_eq!(own.map(|header| header.is_pure), is_pure, "{segment:?}");
                let Some(header) = own else { continue };
                assert_eq!((header.ports, header.ack), ((7, 9), Seq(0xfedc_ba98)));
                assert_eq!(header.timestamps, segment.options.timestamps);
                assert_eq!(header.sack, segment.options.sack);
                assert_eq!(header.echo.0, segment.flags.0 & 0xc0);
            }
        }
    }

    #[test]
    fn unknown_and_malformed_options_are_not_pure() {
        let of = |options: &[u8]| {
            let mut bytes = vec![
                0, 7, 0, 9, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0x10, 0, 0, 0, 0, 0, 0,
            ];
            bytes[12] = (5 + options.len() as u8 / 4) << 4;
            bytes.extend(options);
            AckHeader::of_bytes(&bytes).map(|header| header.is_pure)
        };
        assert_eq!(of(&[]), Some(true));
        assert_eq!(of(&[1, 1, 1, 0]), Some(true));
        assert_eq!(of(&[0, 9, 9, 9]), Some(true));
        assert_eq!(of(&[254, 4, 1, 1]), Some(false));
        assert_eq!(of(&[1, 8, 6, 0, 0, 0, 0, 0]), Some(false));
        assert_eq!(of(&[5, 9, 0, 0, 0, 0, 0, 0]), Some(false));
        assert_eq!(of(&[1, 1, 1, 8]), Some(false));
        assert_eq!(of(&[8, 0, 1, 1]), Some(false));
        // A header that is cut off.
        assert_eq!(AckHeader::of_bytes(&[0; 13]), None);
        let mut long = [0; 20];
        (long[12], long[13]) = (0x60, 0x10);
        assert_eq!(AckHeader::of_bytes(&long), None);
    }

    #[test]
    fn fragments_and_other_protocols_have_no_header() {
        let [mut own, raw] = both(&segment(), Ip::V4);
        let piece = |offset, more| Piece {
            offset,
            len: 16,
            more,
        };
        own.piece = Some(piece(0, true));
        assert_eq!(AckHeader::of(&own), None);
        let Payload::Raw(raw) = raw.payload else {
            panic!("bytes");
        };
        for (offset, more, is_whole) in [(0, false, true), (0, true, false), (8, false, false)] {
            let mut bytes = raw.bytes().to_vec();
            crate::fragment::write_fragment_fields(&mut bytes, piece(offset, more));
            let raw = Raw::with_checksum(bytes);
            assert_eq!(tcp_bytes(&raw).is_some(), is_whole);
        }
        let datagram = Payload::Udp(Datagram::default());
        assert_eq!(
            AckHeader::of(&Packet::new(NodeId(0), NodeId(1), datagram)),
            None
        );
    }

    #[test]
    fn hosts_are_nodes_also_of_real_packets() {
        for ip in [Ip::V4, Ip::V6] {
            for packet in both(&segment(), ip) {
                assert_eq!(packet.hosts(), [3, 70_000]);
            }
        }
        let address = |text: &str| host(text.parse().unwrap());
        let foreign = ["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"].map(address);
        let distinct: std::collections::BTreeSet<_> = foreign.into_iter().collect();
        assert_eq!(distinct.len(), 4);
    }
}
