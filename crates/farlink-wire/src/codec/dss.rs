//! The Data Sequence Signal option as bytes (RFC 8684, 3.3), with 32-bit numbers and without
//! checksum.

use farlink_tcp::{DataMapping, Extra, Options};

/// Kind of all options of MPTCP (RFC 8684, 2).
pub(super) const MPTCP: u8 = 30;
/// Subtype DSS in the upper half of the third byte.
const DSS: u8 = 0x20;
/// Flags A (a data ACK is present) and M (a mapping is present).
const ACK: u8 = 0x01;
const ACK_AND_MAPPING: u8 = 0x05;

/// Encodes a data ACK, or two bytes of padding (NOP) and a mapping. A mapping has the data ACK 0, because the other direction has
/// no data.
pub(super) fn put(extra: Extra, put: &mut impl FnMut(&[u8])) {
    match extra {
        Extra::DataAck(ack) => {
            put(&[MPTCP, 8, DSS, ACK]);
            put(&ack.to_be_bytes());
        }
        Extra::Mapping(DataMapping {
            dsn,
            subflow_seq,
            len,
        }) => {
            put(&[1, 1, MPTCP, 18, DSS, ACK_AND_MAPPING, 0, 0, 0, 0]);
            put(&dsn.to_be_bytes());
            put(&subflow_seq.to_be_bytes());
            put(&len.to_be_bytes());
        }
        _ => {}
    }
}

/// Parses the forms that [`put`] writes. Others are ignored, as unknown options are (RFC 9293, 3.1).
pub(super) fn take(options: &mut Options, value: &[u8]) {
    match *value {
        [DSS, ACK, a, b, c, d] => {
            options.extra = Extra::DataAck(u32::from_be_bytes([a, b, c, d]));
        }
        [DSS, ACK_AND_MAPPING, _, _, _, _, ref rest @ ..] if rest.len() == 10 => {
            let word = |at: usize| {
                u32::from_be_bytes([rest[at], rest[at + 1], rest[at + 2], rest[at + 3]])
            };
            options.extra = Extra::Mapping(DataMapping {
                dsn: word(0),
                subflow_seq: word(4),
                len: u16::from_be_bytes([rest[8], rest[9]]),
            });
        }
        _ => {}
    }
}
