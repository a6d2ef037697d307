//! Programs of a user-space host: they send checked data, fetch and compare it, echo, or discard.

use super::data::Pattern;
use farlink_tcp::{CloseReason, Connection, Event, Instant, Interval};

/// Number of bytes that a sender gives to TCP in advance. It suffices for a burst, and keeps the
/// memory of a slow connection small.
const AHEAD: u64 = 256 << 10;
/// Maximum number of bytes per read from a connection.
const CHUNK: usize = 64 << 10;

/// Service on a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// Echo: received bytes are sent back (RFC 862).
    Echo,
    /// Discard: received bytes are ignored (RFC 863).
    Discard,
    /// Sends this number of bytes of checked data, then closes. A number that is never reached
    /// makes a character generator (RFC 864).
    Data(u64),
}

/// Reason for the early end of a fetch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// End of a TCP connection, or a refusal of QUIC.
    Closed(CloseReason),
    /// End of a QUIC connection, in its implementation's words.
    Quic(String),
}

/// Result of a fetch.
#[derive(Clone, PartialEq, Debug)]
pub struct Fetched {
    /// Correct bytes received.
    pub bytes: u64,
    /// Time from the first answered SYN to the end.
    pub duration: Interval,
    /// Set if exactly the expected bytes have arrived, in order.
    pub correct: bool,
    /// Reason for the end of the connection, if it ended before all data had arrived.
    pub failure: Option<Failure>,
}

/// Program that uses one end of a connection.
#[derive(Debug)]
pub(super) enum App {
    /// See [`Service::Echo`].
    Echo {
        /// Bytes read and not yet written back.
        held: Vec<u8>,
        /// Set once the peer has closed.
        closing: bool,
    },
    /// See [`Service::Discard`].
    Discard,
    /// See [`Service::Data`].
    Source {
        /// Bytes to send.
        size: u64,
        /// Bytes written.
        written: u64,
        /// Source of the bytes to send.
        pattern: Pattern,
    },
    /// Receives checked data.
    Sink {
        /// Bytes wanted.
        size: u64,
        /// Correct bytes received so far.
        received: u64,
        /// Set if a byte was wrong.
        wrong: bool,
        /// Time at which the connection was opened.
        began: Instant,
        /// Result of the fetch, once it has ended.
        done: Option<Fetched>,
        /// Source of the expected bytes.
        pattern: Pattern,
    },
}

impl App {
    pub(super) fn of(service: Service) -> Self {
        match service {
            Service::Echo => Self::Echo {
                held: Vec::new(),
                closing: false,
            },
            Service::Discard => Self::Discard,
            Service::Data(size) => Self::Source {
                size,
                written: 0,
                pattern: Pattern::default(),
            },
        }
    }

    pub(super) fn sink(size: u64, began: Instant) -> Self {
        Self::Sink {
            size,
            received: 0,
            wrong: false,
            began,
            done: None,
            pattern: Pattern::default(),
        }
    }

    /// Reads, writes and closes as far as the connection allows. `scratch` is empty before and
    /// after the call.
    pub(super) fn run(&mut self, now: Instant, connection: &mut Connection, scratch: &mut Vec<u8>) {
        self.read(connection, scratch);
        self.write(now, connection);
        while let Some(event) = connection.poll_event() {
            self.event(now, connection, event);
        }
    }

    fn read(&mut self, connection: &mut Connection, scratch: &mut Vec<u8>) {
        loop {
            // Nothing is read while echoed data waits to be written, so the receive window closes.
            let most = match self {
                Self::Echo { held, .. } if !held.is_empty() => 0,
                _ => CHUNK,
            };
            if connection.read(scratch, most) == 0 {
                return;
            }
            match self {
                Self::Echo { held, .. } => {
                    let n = connection.write(scratch).unwrap_or_default();
                    held.extend_from_slice(&scratch[n..]);
                }
                Self::Sink {
                    size,
                    received,
                    wrong,
                    pattern,
                    ..
                } => {
                    let more = scratch.len() as u64;
                    if *wrong || *received + more > *size || !pattern.is(*received, scratch) {
                        *wrong = true;
                    } else {
                        *received += more;
                    }
                }
                Self::Discard | Self::Source { .. } => {}
            }
            scratch.clear();
        }
    }

    fn write(&mut self, now: Instant, connection: &mut Connection) {
        match self {
            Self::Echo { held, closing } => {
                if !held.is_empty() {
                    let n = connection.write(held).unwrap_or_default();
                    held.drain(..n);
                }
                if *closing && held.is_empty() && connection.readable() == 0 {
                    connection.close(now);
                }
            }
            Self::Source {
                size,
                written,
                pattern,
            } => {
                while *written < *size {
                    let sent = connection.snd_max().saturating_sub(1);
                    if *written >= sent + AHEAD {
                        return;
                    }
                    let data = pattern.at(*written);
                    let most = (*size - *written).min(data.len() as u64) as usize;
                    let n = connection.write(&data[..most]).unwrap_or_default();
                    *written += n as u64;
                    if n < most {
                        return;
                    }
                    if *written == *size {
                        connection.shutdown(now);
                    }
                }
            }
            Self::Discard | Self::Sink { .. } => {}
        }
    }

    fn event(&mut self, now: Instant, connection: &mut Connection, event: Event) {
        match event {
            Event::Established => {
                if let Self::Source { size: 0, .. } = self {
                    connection.shutdown(now);
                }
            }
            Event::PeerClosed => {
                self.finish(now, None);
                if let Self::Echo { closing, .. } = self {
                    *closing = true;
                    self.write(now, connection);
                } else {
                    connection.close(now);
                }
            }
            Event::Closed(reason) => self.finish(now, Some(reason)),
        }
    }

    fn finish(&mut self, now: Instant, failure: Option<CloseReason>) {
        if let Self::Sink {
            size,
            received,
            wrong,
            began,
            done,
            ..
        } = self
        {
            done.get_or_insert(Fetched {
                bytes: *received,
                duration: now.since(*began),
                correct: !*wrong && *received == *size,
                failure: failure.map(Failure::Closed),
            });
        }
    }
}
