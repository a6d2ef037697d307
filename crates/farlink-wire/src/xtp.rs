//! Packets of an XTP-like transport, and their bytes in a capture.
//!
//! The layout follows XTP 4.0 (XTP Forum, "Xpress Transport Protocol Specification", revision 4.0,
//! 1995): a header of 32 bytes, followed by data or by a control segment. The packets are sent in
//! UDP datagrams.

/// Bytes of the header that begins each packet.
pub const HEADER_LEN: u32 = 32;
/// Bytes of the address and traffic segments that precede the data of a FIRST packet.
pub const FIRST_LEN: u32 = 16 + 8;
/// Bytes of the control segment of a CNTL packet.
pub const CNTL_LEN: u32 = 20;
/// Bytes of the control segment of an ECNTL packet without its spans.
pub const ECNTL_LEN: u32 = 24;
/// Bytes of a span.
pub const SPAN_LEN: u32 = 16;

const VERSION: u8 = 1 << 5;
const SREQ: u32 = 0x4000;
const WCLOSE: u32 = 0x0800;
const EOM: u32 = 0x0400;
const END: u32 = 0x0200;
/// Bit of the key that is set in packets from the end that did not open the association.
const RETURN_KEY: u64 = 1 << 63;

/// Range of received bytes: position of the first byte, and position after the last byte.
pub type Span = (u64, u64);

/// XTP packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pdu {
    /// Number of the association.
    pub key: u64,
    /// Set if the packet requests a status report, whose `echo` will be the value of `sync`.
    pub sreq: bool,
    /// Number of the last request for a status report.
    pub sync: u32,
    /// Set if the packet ends the association at once.
    pub end: bool,
    /// Content of the packet.
    pub content: Content,
}

/// Content of an XTP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Data.
    Data {
        /// Position of the first byte in the stream.
        seq: u64,
        /// Number of bytes.
        len: u32,
        /// Set if the packet opens the association.
        first: bool,
        /// Set if this is the last data of the stream.
        last: bool,
    },
    /// Report of the bytes received by the end that sends the report. An end that sends data
    /// reports none.
    Control(Status),
}

impl Default for Content {
    fn default() -> Self {
        Self::Control(Status::default())
    }
}

/// A status report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// All bytes before this position have arrived.
    pub rseq: u64,
    /// The sender may send all bytes before this position.
    pub alloc: u64,
    /// Highest `sync` of the received requests.
    pub echo: u32,
    /// Data received after `rseq`, in order, with a gap before each span.
    pub spans: Vec<Span>,
}

impl Pdu {
    /// Returns the length in a UDP datagram, in bytes.
    pub fn wire_len(&self) -> u32 {
        HEADER_LEN + self.segment_len()
    }

    /// Returns the field `dlen`: the number of bytes after the header.
    fn segment_len(&self) -> u32 {
        match &self.content {
            Content::Data { len, first, .. } => len + if *first { FIRST_LEN } else { 0 },
            Content::Control(status) if status.spans.is_empty() => CNTL_LEN,
            Content::Control(status) => ECNTL_LEN + SPAN_LEN * status.spans.len() as u32,
        }
    }

    /// Returns the bytes without the data, which are zeros.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (kind, seq, options) = match &self.content {
            Content::Data {
                seq, first, last, ..
            } => (
                if *first { 2 } else { 0 },
                *seq,
                if *last { EOM | WCLOSE } else { 0 },
            ),
            Content::Control(status) => (if status.spans.is_empty() { 1 } else { 3 }, 0, 0),
        };
        let options = options | if self.sreq { SREQ } else { 0 } | if self.end { END } else { 0 };
        let back = matches!(&self.content, Content::Control(status) if status.alloc > 0);
        let key = self.key | if back { RETURN_KEY } else { 0 };
        let mut out = Vec::with_capacity(self.wire_len() as usize);
        out.extend_from_slice(&key.to_be_bytes());
        out.extend_from_slice(&options.to_be_bytes()[1..]);
        out.push(VERSION | kind);
        out.extend_from_slice(&self.segment_len().to_be_bytes());
        out.extend_from_slice(&[0; 4]); // check, sort
        out.extend_from_slice(&self.sync.to_be_bytes());
        out.extend_from_slice(&seq.to_be_bytes());
        match &self.content {
            Content::Data { first: false, .. } => {}
            Content::Data { .. } => {
                // Addresses of the IP domain, although the IP header has them too.
                out.extend_from_slice(&[0, 16, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
                out.extend_from_slice(&[0, 8, 4, 0, 0, 0, 0, 0]); // a reliable unicast stream
            }
            Content::Control(status) => {
                out.extend_from_slice(&status.rseq.to_be_bytes());
                out.extend_from_slice(&status.alloc.to_be_bytes());
                out.extend_from_slice(&status.echo.to_be_bytes());
                if !status.spans.is_empty() {
                    out.extend_from_slice(&(status.spans.len() as u32).to_be_bytes());
                }
                for (from, to) in &status.spans {
                    out.extend_from_slice(&from.to_be_bytes());
                    out.extend_from_slice(&to.to_be_bytes());
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_have_the_layout_of_xtp_4() {
        let data = |first| Pdu {
            key: 7,
            sreq: true,
            sync: 5,
            end: false,
            content: Content::Data {
                seq: 0x0102_0304_0506,
                len: 1000,
                first,
                last: true,
            },
        };
        let bytes = data(false).to_bytes();
        assert_eq!(bytes.len(), 32);
        assert_eq!(data(false).wire_len(), 1032);
        assert_eq!(bytes[..8], 7u64.to_be_bytes());
        assert_eq!(
            bytes[8..12],
            [0, 0x4c, 0x00, 0x20],
            "SREQ, WCLOSE, EOM; DATA"
        );
        assert_eq!(bytes[12..16], 1000u32.to_be_bytes());
        assert_eq!(bytes[20..24], 5u32.to_be_bytes());
        assert_eq!(bytes[24..32], 0x0102_0304_0506u64.to_be_bytes());
        assert_eq!(data(true).to_bytes().len(), 56);
        assert_eq!(data(true).wire_len(), 1056);
        assert_eq!(data(true).to_bytes()[11], 0x22, "FIRST");

        let control = |spans: Vec<Span>| Pdu {
            content: Content::Control(Status {
                rseq: 9,
                alloc: 10,
                echo: 11,
                spans,
            }),
            ..Pdu::default()
        };
        let bytes = control(vec![]).to_bytes();
        assert_eq!((bytes[0], bytes[11], bytes.len()), (0x80, 0x21, 52), "CNTL");
        assert_eq!(control(vec![]).wire_len(), 52);
        assert_eq!(bytes[32..40], 9u64.to_be_bytes());
        assert_eq!(bytes[40..48], 10u64.to_be_bytes());
        assert_eq!(bytes[48..52], 11u32.to_be_bytes());
        let end = Pdu {
            end: true,
            ..Pdu::default()
        };
        assert_eq!(end.to_bytes()[8..12], [0, 0x02, 0x00, 0x21], "END; CNTL");
        let extended = control(vec![(20, 30), (40, 50)]);
        let bytes = extended.to_bytes();
        assert_eq!((bytes[11], bytes.len()), (0x23, 88), "ECNTL");
        assert_eq!(extended.wire_len(), 88);
        assert_eq!(bytes[52..56], 2u32.to_be_bytes());
        assert_eq!(bytes[72..80], 40u64.to_be_bytes());
    }
}
