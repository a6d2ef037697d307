//! Frames of QUIC packets (RFC 9000, 19), as far as traces and logs show them.

use std::fmt::Write as _;

/// A frame. Contents of streams and of TLS are left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Frame {
    /// Bytes of padding, in a row.
    Padding(u64),
    Ping,
    Ack {
        /// Delay in microseconds, scaled by 2^[`ACK_DELAY_EXPONENT`].
        delay: u64,
        /// First and last number of each range, the largest numbers first.
        ranges: Vec<(u64, u64)>,
    },
    Crypto {
        offset: u64,
        len: u64,
    },
    Stream {
        id: u64,
        offset: u64,
        len: u64,
        fin: bool,
    },
    /// Limit of all data of the connection.
    MaxData(u64),
    /// Limit of the data of a stream.
    MaxStreamData {
        id: u64,
        max: u64,
    },
    /// End of the connection with an error code, of the application or of the transport.
    Close {
        application: bool,
        code: u64,
    },
    /// Another frame, by its name in qlog, with its values as members of a JSON object.
    Other(&'static str, String),
}

/// Exponent of ACK delays that quinn-proto announces (RFC 9000, 18.2).
pub(crate) const ACK_DELAY_EXPONENT: u32 = 3;

/// Reads integers and bytes of a payload.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads an integer of variable length (RFC 9000, 16).
    fn integer(&mut self) -> Option<u64> {
        let first = *self.0.first()?;
        let all = self.skip(1 << (first >> 6))?;
        let start = u64::from(first & 0x3f);
        Some(
            all[1..]
                .iter()
                .fold(start, |n, &byte| n << 8 | u64::from(byte)),
        )
    }

    fn skip(&mut self, len: u64) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(usize::try_from(len).ok()?)?;
        self.0 = rest;
        Some(head)
    }

    fn left(&self) -> u64 {
        self.0.len() as u64
    }

    /// Reads a length and as many bytes.
    fn counted(&mut self) -> Option<&'a [u8]> {
        let len = self.integer()?;
        self.skip(len)
    }
}

/// Returns the frames of a decrypted payload. An unknown frame ends the list, because its length is
/// unknown.
pub(crate) fn parse(payload: &[u8]) -> Vec<Frame> {
    let mut reader = Reader(payload);
    let mut frames = Vec::new();
    while let Some(&kind) = reader.0.first() {
        let Some(frame) = next(&mut reader) else {
            frames.push(unknown(kind.into()));
            break;
        };
        frames.push(frame);
    }
    frames
}

/// Returns a frame that qlog has no name for.
fn unknown(kind: u64) -> Frame {
    Frame::Other("unknown", format!(",\"raw_frame_type\":{kind}"))
}

fn next(reader: &mut Reader<'_>) -> Option<Frame> {
    let kind = reader.integer()?;
    Some(match kind {
        0x00 => {
            let zeros = reader.0.iter().take_while(|&&byte| byte == 0).count() as u64;
            reader.skip(zeros)?;
            Frame::Padding(zeros + 1)
        }
        0x01 => Frame::Ping,
        0x02 | 0x03 => ack(reader, kind == 0x03)?,
        0x06 => {
            let offset = reader.integer()?;
            let len = reader.counted()?.len() as u64;
            Frame::Crypto { offset, len }
        }
        0x08..=0x0f => stream(reader, kind)?,
        0x10 => Frame::MaxData(reader.integer()?),
        0x11 => {
            let id = reader.integer()?;
            let max = reader.integer()?;
            Frame::MaxStreamData { id, max }
        }
        0x1c | 0x1d => {
            let code = reader.integer()?;
            if kind == 0x1c {
                reader.integer()?;
            }
            reader.counted()?;
            let application = kind == 0x1d;
            Frame::Close { application, code }
        }
        _ => other(reader, kind)?,
    })
}

/// Returns a frame of which only the log has the values.
fn other(reader: &mut Reader<'_>, kind: u64) -> Option<Frame> {
    let stream = if kind & 1 == 0 {
        ",\"stream_type\":\"bidirectional\""
    } else {
        ",\"stream_type\":\"unidirectional\""
    };
    let (name, fields, before): (_, &[&str], _) = match kind {
        0x04 => (
            "reset_stream",
            &["stream_id", "error_code", "final_size"],
            "",
        ),
        0x05 => ("stop_sending", &["stream_id", "error_code"], ""),
        0x12 | 0x13 => ("max_streams", &["maximum"], stream),
        0x14 => ("data_blocked", &["limit"], ""),
        0x15 => ("stream_data_blocked", &["stream_id", "limit"], ""),
        0x16 | 0x17 => ("streams_blocked", &["limit"], stream),
        0x18 => (
            "new_connection_id",
            &["sequence_number", "retire_prior_to"],
            "",
        ),
        0x19 => ("retire_connection_id", &["sequence_number"], ""),
        0x07 => ("new_token", &[], ""),
        0x1a => ("path_challenge", &[], ""),
        0x1b => ("path_response", &[], ""),
        0x1e => ("handshake_done", &[], ""),
        // Frames of draft-ietf-quic-ack-frequency, whose names qlog 0.3 does not have.
        0x1f => return Some(unknown(kind)),
        0xaf => {
            for _ in 0..4 {
                reader.integer()?;
            }
            return Some(unknown(kind));
        }
        _ => return None,
    };
    let mut text = before.to_owned();
    for field in fields {
        let value = reader.integer()?;
        let _ = write!(text, ",\"{field}\":{value}");
    }
    match kind {
        0x07 => {
            let token = hex(reader.counted()?);
            let _ = write!(text, ",\"token\":{{\"raw\":{{\"data\":\"{token}\"}}}}");
        }
        0x18 => {
            let id = hex(reader.counted()?);
            let _ = write!(text, ",\"connection_id\":\"{id}\"");
            // The token of a stateless reset.
            reader.skip(16)?;
        }
        0x1a | 0x1b => {
            let data = hex(reader.skip(8)?);
            let _ = write!(text, ",\"data\":\"{data}\"");
        }
        _ => {}
    }
    Some(Frame::Other(name, text))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn ack(reader: &mut Reader<'_>, with_ecn: bool) -> Option<Frame> {
    let largest = reader.integer()?;
    let delay = reader.integer()?;
    let more = reader.integer()?;
    let mut low = largest.checked_sub(reader.integer()?)?;
    let mut ranges = vec![(low, largest)];
    for _ in 0..more {
        let gap = reader.integer()?;
        let len = reader.integer()?;
        let high = low.checked_sub(gap + 2)?;
        low = high.checked_sub(len)?;
        ranges.push((low, high));
    }
    if with_ecn {
        for _ in 0..3 {
            reader.integer()?;
        }
    }
    Some(Frame::Ack { delay, ranges })
}

fn stream(reader: &mut Reader<'_>, kind: u64) -> Option<Frame> {
    let id = reader.integer()?;
    let offset = if kind & 4 == 0 { 0 } else { reader.integer()? };
    let len = if kind & 2 == 0 {
        let rest = reader.left();
        reader.skip(rest)?;
        rest
    } else {
        reader.counted()?.len() as u64
    };
    let fin = kind & 1 == 1;
    Some(Frame::Stream {
        id,
        offset,
        len,
        fin,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ack_ranges_follow_from_gaps_and_lengths() {
        // RFC 9000, 19.3.1: largest 20, delay 5, 2 ranges more; 18 to 20, 10 to 15, 8.
        let payload = [0x02, 20, 5, 2, 2, 1, 5, 0, 0];
        let ranges = vec![(18, 20), (10, 15), (8, 8)];
        assert_eq!(parse(&payload), [Frame::Ack { delay: 5, ranges }]);
        // With the three counters of ECN, and a frame behind them.
        let payload = [0x03, 3, 0, 0, 3, 9, 9, 9, 0x01];
        let ranges = vec![(0, 3)];
        let expected = [Frame::Ack { delay: 0, ranges }, Frame::Ping];
        assert_eq!(parse(&payload), expected);
        // A range below 0 is no ACK.
        assert_eq!(parse(&[0x02, 1, 0, 0, 2]), [unknown(2)]);
        assert_eq!(parse(&[0x02, 3, 0, 1, 1, 1, 0]), [unknown(2)]);
    }

    #[test]
    fn streams_have_offset_and_length_or_end_the_packet() {
        let stream = |id, offset, len, fin| Frame::Stream {
            id,
            offset,
            len,
            fin,
        };
        let payload = [
            0x0e, 4, 0x44, 0, 2, 7, 7, 0x0a, 0, 1, 7, 0x0d, 2, 5, 7, 7, 7,
        ];
        let expected = [
            stream(4, 1024, 2, false),
            stream(0, 0, 1, false),
            stream(2, 5, 3, true),
        ];
        assert_eq!(parse(&payload), expected);
        assert_eq!(parse(&[0x08, 3, 1, 1]), [stream(3, 0, 2, false)]);
    }

    #[test]
    fn all_frames_of_the_rfc_have_their_length_and_values() {
        let other = |name, fields: &str| Frame::Other(name, fields.replace('\'', "\""));
        let close = |application, code| Frame::Close { application, code };
        let (two, one) = (
            "'stream_type':'bidirectional'",
            "'stream_type':'unidirectional'",
        );
        let frames: [(&[u8], Frame); 19] = [
            (&[0, 0, 0], Frame::Padding(3)),
            (
                &[4, 1, 2, 3],
                other(
                    "reset_stream",
                    ",'stream_id':1,'error_code':2,'final_size':3",
                ),
            ),
            (
                &[5, 1, 2],
                other("stop_sending", ",'stream_id':1,'error_code':2"),
            ),
            (&[6, 9, 2, 0, 0], Frame::Crypto { offset: 9, len: 2 }),
            (
                &[7, 1, 10],
                other("new_token", ",'token':{'raw':{'data':'0a'}}"),
            ),
            (&[0x10, 0x40, 0x80], Frame::MaxData(128)),
            (&[0x11, 4, 9], Frame::MaxStreamData { id: 4, max: 9 }),
            (
                &[0x12, 4],
                other("max_streams", &format!(",{two},'maximum':4")),
            ),
            (
                &[0x13, 4],
                other("max_streams", &format!(",{one},'maximum':4")),
            ),
            (&[0x14, 4], other("data_blocked", ",'limit':4")),
            (
                &[0x15, 4, 5],
                other("stream_data_blocked", ",'stream_id':4,'limit':5"),
            ),
            (
                &[0x17, 4],
                other("streams_blocked", &format!(",{one},'limit':4")),
            ),
            (
                &[0x19, 4],
                other("retire_connection_id", ",'sequence_number':4"),
            ),
            (
                &[0x1a, 0, 0, 0, 0, 0, 0, 0, 1],
                other("path_challenge", ",'data':'0000000000000001'"),
            ),
            (
                &[0x1b, 0, 0, 0, 0, 0, 0, 0, 2],
                other("path_response", ",'data':'0000000000000002'"),
            ),
            (&[0x1c, 7, 6, 1, 0], close(false, 7)),
            (&[0x1d, 7, 1, 0], close(true, 7)),
            (&[0x40, 0xaf, 0, 1, 2, 3], unknown(0xaf)),
            (&[0x1f], unknown(0x1f)),
        ];
        for (bytes, frame) in frames {
            let mut payload = bytes.to_vec();
            payload.push(0x1e);
            let expected = [frame, other("handshake_done", "")];
            assert_eq!(parse(&payload), expected, "{bytes:?}");
        }
        let mut payload = vec![0x18, 1, 0, 2, 8, 9];
        payload.extend([9; 16]);
        payload.push(0x01);
        let fields = ",'sequence_number':1,'retire_prior_to':0,'connection_id':'0809'";
        let expected = [other("new_connection_id", fields), Frame::Ping];
        assert_eq!(parse(&payload), expected);
        // Frames that are cut off or unknown end the list.
        for bytes in [&[0x06, 0, 9, 1][..], &[0x40], &[0x30]] {
            assert_eq!(parse(bytes), [unknown(bytes[0].into())]);
        }
    }
}
