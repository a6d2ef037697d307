//! Requests of HTTP/0.9 over QUIC ("hq-interop"): `GET /N` on a stream is answered by N bytes.

use crate::pattern;
use quinn_proto::{Connection, ReadError, StreamId, VarInt, WriteError};

/// Length above which a request is refused.
const MAX_REQUEST: usize = 4096;
/// Error code with which a request that cannot be answered is refused. HTTP/0.9 has no codes.
const REFUSED: VarInt = VarInt::from_u32(1);

/// Returns the request for `size` bytes.
pub(crate) fn line(size: u64) -> String {
    format!("GET /{size}\r\n")
}

/// Returns the number of bytes that a request asks for: `whole` for `/`, `None` for what cannot be
/// answered.
fn size_of(request: &[u8], whole: u64) -> Option<u64> {
    let request = std::str::from_utf8(request).ok()?;
    let mut words = request.split_ascii_whitespace();
    let path = words
        .next()
        .filter(|&word| word == "GET")
        .and(words.next())?;
    match path.strip_prefix('/')? {
        "" => Some(whole),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok(),
        _ => None,
    }
}

/// A stream that a client has opened.
#[derive(Debug)]
pub(crate) enum Request {
    /// The request has not arrived as a whole.
    Arriving(Vec<u8>),
    /// The answer is being sent.
    Answering {
        /// Bytes written.
        written: u64,
        /// Bytes of the answer.
        size: u64,
    },
    /// Nothing is left to do.
    Done,
}

impl Request {
    pub(crate) fn new() -> Self {
        Self::Arriving(Vec::new())
    }

    /// Reads the request, and begins to answer it once it is whole.
    pub(crate) fn read(&mut self, connection: &mut Connection, id: StreamId, whole: u64) {
        let Self::Arriving(text) = self else {
            // A client that sends more than its request is not read.
            return;
        };
        let ended = gather(connection, id, text);
        if !ended && !text.contains(&b'\n') && text.len() <= MAX_REQUEST {
            return;
        }
        if let Some(size) = size_of(text, whole) {
            *self = Self::Answering { written: 0, size };
            self.write(connection, id);
        } else {
            // Both fail only if the stream is closed, and then nothing is left to do.
            let _ = connection.recv_stream(id).stop(REFUSED);
            let _ = connection.send_stream(id).reset(REFUSED);
            *self = Self::Done;
        }
    }

    /// Writes as much of the answer as the connection takes.
    pub(crate) fn write(&mut self, connection: &mut Connection, id: StreamId) {
        let Self::Answering { written, size } = self else {
            return;
        };
        let mut stream = connection.send_stream(id);
        let mut ends = true;
        while written < size {
            let part = pattern::part(*written, *size - *written);
            match stream.write_chunks(&mut [part]) {
                Ok(taken) => *written += taken.bytes as u64,
                Err(WriteError::Blocked) => {
                    ends = false;
                    break;
                }
                Err(WriteError::Stopped(code)) => {
                    let _ = stream.reset(code);
                    break;
                }
                Err(WriteError::ClosedStream) => break,
            }
        }
        if ends {
            // The call fails only if the client has stopped the stream.
            let _ = stream.finish();
            *self = Self::Done;
        }
    }
}

/// Appends what has arrived on a stream. Returns whether the stream has ended.
fn gather(connection: &mut Connection, id: StreamId, text: &mut Vec<u8>) -> bool {
    let mut stream = connection.recv_stream(id);
    let Ok(mut chunks) = stream.read(true) else {
        return true;
    };
    let ended = loop {
        match chunks.next(MAX_REQUEST) {
            Ok(Some(chunk)) => text.extend_from_slice(&chunk.bytes),
            Ok(None) | Err(ReadError::Reset(_)) => break true,
            Err(ReadError::Blocked) => break false,
        }
        if text.len() > MAX_REQUEST {
            break true;
        }
    };
    let _ = chunks.finalize();
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_the_number_of_bytes() {
        let size = |request: &str| size_of(request.as_bytes(), 77);
        assert_eq!(size("GET /1000\r\n"), Some(1000));
        assert_eq!(size("GET /0"), Some(0));
        assert_eq!(size("GET / HTTP/0.9\r\n"), Some(77));
        assert_eq!(size(&line(5)), Some(5));
        for wrong in [
            "",
            "GET",
            "GET 5",
            "PUT /5\r\n",
            "GET /5x\r\n",
            "GET /-5\r\n",
            "GET /+5",
        ] {
            assert_eq!(size(wrong), None, "{wrong:?}");
        }
        assert_eq!(size("GET /99999999999999999999"), None);
        assert_eq!(size_of(b"GET /\xff", 77), None);
    }
}
