//! Captures as pcapng (IETF draft-ietf-opsawg-pcapng), in memory.
//!
//! A file has one capture point: a section header with the program's name and comments, one
//! interface of raw IP with times in nanoseconds, and a block per packet. The encoder is our own,
//! because three kinds of blocks need little code, no buffer per packet, and no error handling.

use crate::codec::{self, Addresses, WireError};
use crate::packet::Packet;
use farlink_tcp::{Instant, Interval};

/// Capture time of the start of the run: the second day of 1970, so that the time of day (UTC) in a
/// capture is the time in the run. On the first day the first SYN could have the time 0, which
/// tcptrace treats as "none".
pub const START: Interval = Interval::from_secs(86_400);

/// Link type of packets that start with their IP header (LINKTYPE_RAW).
const LINKTYPE_RAW: u16 = 101;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

const OPT_END: u16 = 0;
const OPT_COMMENT: u16 = 1;
const SHB_USER_APPLICATION: u16 = 4;
const IF_NAME: u16 = 2;
const IF_TIME_RESOLUTION: u16 = 9;

/// Capture at one point of the network, as a file that Wireshark reads.
#[derive(Clone, Debug)]
pub struct CapturePoint {
    out: Vec<u8>,
    snaplen: u32,
}

impl CapturePoint {
    /// Starts a file. `name` is the name of the interface, and `comment` is in the section header.
    /// The first `snaplen` bytes of each packet are written; 0 means all.
    pub fn new(name: &str, comment: &str, snaplen: u32) -> Self {
        let mut out = Vec::with_capacity(4096);
        block(&mut out, SECTION_HEADER, |out| {
            out.extend_from_slice(&BYTE_ORDER_MAGIC.to_le_bytes());
            // Version 1.0; the length of the section is left open.
            out.extend_from_slice(&1u16.to_le_bytes());
            out.extend_from_slice(&0u16.to_le_bytes());
            out.extend_from_slice(&u64::MAX.to_le_bytes());
            text(out, OPT_COMMENT, comment);
            text(out, SHB_USER_APPLICATION, "farlink");
            option(out, OPT_END, &[]);
        });
        block(&mut out, INTERFACE_DESCRIPTION, |out| {
            out.extend_from_slice(&LINKTYPE_RAW.to_le_bytes());
            out.extend_from_slice(&0u16.to_le_bytes());
            out.extend_from_slice(&snaplen.to_le_bytes());
            text(out, IF_NAME, name);
            // Resolution 10^-9 s.
            option(out, IF_TIME_RESOLUTION, &[9]);
            option(out, OPT_END, &[]);
        });
        Self { out, snaplen }
    }

    /// Adds a packet captured at `time` of the run, which starts at [`START`].
    ///
    /// # Errors
    /// Fails if the packet cannot be encoded ([`codec::encode`]); the file is then unchanged.
    pub fn packet(&mut self, time: Instant, packet: &Packet) -> Result<(), WireError> {
        let max = if self.snaplen == 0 {
            u32::MAX
        } else {
            self.snaplen
        };
        let start = self.out.len();
        let nanos = (time + START).as_nanos();
        let mut result = Ok(());
        block(&mut self.out, ENHANCED_PACKET, |out| {
            let high_and_low = [(nanos >> 32) as u32, nanos as u32];
            let lengths = [packet.ip_len().min(max), packet.ip_len()];
            let interface = 0u32;
            for field in [interface].into_iter().chain(high_and_low).chain(lengths) {
                out.extend_from_slice(&field.to_le_bytes());
            }
            result = codec::encode_prefix(packet, Addresses::of(packet), max, out);
            pad(out);
        });
        if result.is_err() {
            self.out.truncate(start);
        }
        result
    }

    /// Adds the bytes of a datagram captured at `time` of the run, with a comment unless `comment`
    /// is empty.
    pub fn raw(&mut self, time: Instant, bytes: &[u8], comment: &str) {
        let max = if self.snaplen == 0 {
            usize::MAX
        } else {
            self.snaplen as usize
        };
        let kept = &bytes[..bytes.len().min(max)];
        let nanos = (time + START).as_nanos();
        block(&mut self.out, ENHANCED_PACKET, |out| {
            let lengths = [kept.len() as u32, bytes.len() as u32];
            for field in [0, (nanos >> 32) as u32, nanos as u32]
                .into_iter()
                .chain(lengths)
            {
                out.extend_from_slice(&field.to_le_bytes());
            }
            out.extend_from_slice(kept);
            pad(out);
            if !comment.is_empty() {
                text(out, OPT_COMMENT, comment);
                option(out, OPT_END, &[]);
            }
        });
    }

    /// Returns the number of bytes that [`Self::drain`] would return.
    pub fn pending(&self) -> usize {
        self.out.len()
    }

    /// Returns the bytes that were added to the file since the last call.
    pub fn drain(&mut self) -> Vec<u8> {
        let next = Vec::with_capacity(self.out.capacity());
        std::mem::replace(&mut self.out, next)
    }

    /// Puts bytes that the caller could not write back into the buffer. No packet may be added
    /// between [`Self::drain`] and this call.
    pub fn put_back(&mut self, piece: Vec<u8>) {
        debug_assert!(self.out.is_empty());
        self.out = piece;
    }

    /// Returns the remaining bytes of the file.
    pub fn finish(self) -> Vec<u8> {
        self.out
    }
}

/// Appends a block: its type, and its content between two length fields.
fn block(out: &mut Vec<u8>, kind: u32, content: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    content(out);
    let len = ((out.len() + 4 - start) as u32).to_le_bytes();
    out.extend_from_slice(&len);
    out[start + 4..start + 8].copy_from_slice(&len);
}

/// Appends a text as one or more options of the same code, because an option has at most 65,535
/// bytes.
fn text(out: &mut Vec<u8>, code: u16, mut value: &str) {
    while !value.is_empty() {
        let mut end = value.len().min(usize::from(u16::MAX));
        while !value.is_char_boundary(end) {
            end -= 1;
        }
        option(out, code, &value.as_bytes()[..end]);
        value = &value[end..];
    }
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&(value.len() as u16).to_le_bytes());
    out.extend_from_slice(value);
    pad(out);
}

/// Pads to a multiple of four bytes.
fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::decode;
    use crate::id::{FlowId, NodeId};
    use crate::packet::Payload;
    use farlink_tcp::{Body, Dscp, Ecn, Flags, Options, Segment, Seq, Timestamps};

    fn packet(len: u32) -> Packet {
        Packet {
            flow: FlowId(0),
            ident: 1,
            ..Packet::new(
                NodeId(0),
                NodeId(1),
                Payload::Tcp(Segment {
                    src_port: 49_152,
                    dst_port: 80,
                    seq: Seq(1),
                    ack: Seq(1),
                    flags: Flags::ACK.with(Flags::PSH),
                    ecn: Ecn::NotEct,
                    dscp: Dscp::DEFAULT,
                    dummy: false,
                    ae: false,
                    window: 65_535,
                    options: Options::from(Some(Timestamps { value: 1, echo: 2 })),
                    body: Body::of_len(len),
                }),
            )
        }
    }

    /// Type and content of a block.
    type Block = (u32, Vec<u8>);

    fn u16_at(bytes: &[u8], at: usize) -> u16 {
        u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
    }

    fn u32_at(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    fn blocks(mut file: &[u8]) -> Vec<Block> {
        let mut out = vec![];
        while !file.is_empty() {
            let len = u32_at(file, 4) as usize;
            assert_eq!(len % 4, 0);
            assert_eq!(u32_at(file, len - 4) as usize, len);
            out.push((u32_at(file, 0), file[8..len - 4].to_vec()));
            file = &file[len..];
        }
        out
    }

    fn options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
        let mut out = vec![];
        loop {
            let (code, len) = (u16_at(bytes, 0), usize::from(u16_at(bytes, 2)));
            if code == OPT_END {
                assert_eq!((len, bytes.len()), (0, 4));
                return out;
            }
            out.push((code, bytes[4..4 + len].to_vec()));
            bytes = &bytes[4 + len.next_multiple_of(4)..];
        }
    }

    #[test]
    fn headers_say_what_the_file_is() {
        let file = CapturePoint::new("sat down", "GEO, 250 ms", 96).finish();
        let blocks = blocks(&file);
        let kinds: Vec<u32> = blocks.iter().map(|block| block.0).collect();
        assert_eq!(kinds, [SECTION_HEADER, INTERFACE_DESCRIPTION]);
        assert_eq!(u32_at(&blocks[0].1, 0), BYTE_ORDER_MAGIC);
        assert_eq!(
            options(&blocks[0].1[16..]),
            [
                (OPT_COMMENT, b"GEO, 250 ms".to_vec()),
                (SHB_USER_APPLICATION, b"farlink".to_vec())
            ]
        );
        assert_eq!(u16_at(&blocks[1].1, 0), 101);
        assert_eq!(u32_at(&blocks[1].1, 4), 96);
        assert_eq!(
            options(&blocks[1].1[8..]),
            [
                (IF_NAME, b"sat down".to_vec()),
                (IF_TIME_RESOLUTION, vec![9])
            ]
        );
    }

    #[test]
    fn packets_keep_time_lengths_and_bytes() {
        let mut point = CapturePoint::new("p", "", 0);
        let time = Instant::from_nanos((3 << 32) + 7);
        let stamp = (3 << 32) + 7 + 86_400_000_000_000u64;
        point.packet(time, &packet(1001)).unwrap();
        let blocks = blocks(&point.finish());
        let (kind, content) = &blocks[2];
        assert_eq!(*kind, ENHANCED_PACKET);
        let fields: Vec<u32> = (0..5).map(|field| u32_at(content, 4 * field)).collect();
        assert_eq!(fields, [0, (stamp >> 32) as u32, stamp as u32, 1053, 1053]);
        let (_, segment) = decode(&content[20..20 + 1053]).unwrap();
        assert_eq!(segment.body.bytes().unwrap(), [0; 1001]);
        assert_eq!(content.len(), 20 + 1056);
    }

    /// Packets have the bytes that were added, and a file read in pieces equals the file read at
    /// once.
    #[test]
    fn file_read_in_pieces_equals_the_whole_file() {
        let (mut whole, mut pieces) =
            (CapturePoint::new("p", "", 6), CapturePoint::new("p", "", 6));
        let mut taken = pieces.drain();
        for (nanos, bytes) in [(1, &[1u8, 2, 3, 4, 5][..]), (2, &[9; 9])] {
            for point in [&mut whole, &mut pieces] {
                point.raw(Instant::from_nanos(nanos), bytes, "why");
            }
            taken.extend(pieces.drain());
            assert_eq!(pieces.pending(), 0);
        }
        let whole = whole.finish();
        assert_eq!(whole, taken);
        let blocks = blocks(&whole);
        assert_eq!((u32_at(&blocks[2].1, 12), u32_at(&blocks[2].1, 16)), (5, 5));
        assert_eq!(blocks[2].1[20..28], [1, 2, 3, 4, 5, 0, 0, 0]);
        assert_eq!(
            options(&blocks[2].1[28..]),
            [(OPT_COMMENT, b"why".to_vec())]
        );
        assert_eq!((u32_at(&blocks[3].1, 12), u32_at(&blocks[3].1, 16)), (6, 9));
    }

    #[test]
    fn short_snap_length_keeps_original_lengths_in_headers() {
        let (mut short, mut whole) = (
            CapturePoint::new("p", "", 52),
            CapturePoint::new("p", "", 0),
        );
        for point in [&mut short, &mut whole] {
            point.packet(Instant::ZERO, &packet(1448)).unwrap();
        }
        let (short, whole) = (blocks(&short.finish()), blocks(&whole.finish()));
        assert_eq!(
            (u32_at(&short[2].1, 12), u32_at(&short[2].1, 16)),
            (52, 1500)
        );
        assert_eq!(short[2].1[20..], whole[2].1[20..72]);
    }

    #[test]
    fn packet_without_bytes_writes_nothing() {
        let mut point = CapturePoint::new("p", "", 0);
        let before = point.clone().finish();
        assert_eq!(
            point.packet(Instant::ZERO, &packet(70_000)),
            Err(WireError::TooLong(70_052))
        );
        assert_eq!(point.finish(), before);
    }

    #[test]
    fn long_comment_is_split_between_characters() {
        let comment = "ü".repeat(70_000);
        let file = CapturePoint::new("p", &comment, 0).finish();
        let mut text = String::new();
        for (code, value) in options(&blocks(&file)[0].1[16..]) {
            if code == OPT_COMMENT {
                text.push_str(std::str::from_utf8(&value).unwrap());
            }
        }
        assert_eq!(text, comment);
    }
}
