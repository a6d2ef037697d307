//! Programs of a user-space host: send checked data, fetch and compare it, echo, discard.

use super::data::Pattern;
use farlink_tcp::{CloseReason, Connection, Event, Instant, Interval};

/// Bytes written ahead of the data that has left: enough for a burst, and little for a sender that
/// waits.
const AHEAD: u64 = 256 << 10;
/// Read at a time.
const CHUNK: usize = 64 << 10;

/// Service on a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// Echo: received bytes are sent back (RFC 862).
    Echo,
    /// Discard: received bytes are thrown away (RFC 863).
    Discard,
    /// Checked data of so many bytes, then the end. Without an end it is a
    /// character generator (RFC 864).
    Data(u64),
}

/// Result of a fetch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fetched {
    /// Bytes that arrived and were right.
    pub bytes: u64,
    /// From the SYN that was answered to the end.
    pub duration: Interval,
    /// Set if each byte arrived in order and unchanged, and no other byte.
    pub correct: bool,
    /// Reason of the end of the connection, if it ended before the data.
    pub failure: Option<CloseReason>,
}

/// Program at one end of a connection.
#[derive(Debug)]
pub(super) enum App {
    /// See [`Service::Echo`].
    Echo {
        /// Read, and not written yet.
        held: Vec<u8>,
        /// The peer has closed.
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
        /// Pattern of the bytes to be sent.
        pattern: Pattern,
    },
    /// Receives checked data.
    Sink {
        /// Bytes wanted.
        size: u64,
        /// Bytes that were right so far.
        received: u64,
        /// Set if a byte was wrong.
        wrong: bool,
        /// Time at which the connection was opened.
        began: Instant,
        /// Result of the fetch, once it is done.
        done: Option<Fetched>,
        /// Pattern of the bytes that are expected.
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

    /// Reads, writes and closes as far as the connection lets it. `scratch` is
    /// empty before and after.
    pub(super) fn work(
        &mut self,
        now: Instant,
        connection: &mut Connection,
        scratch: &mut Vec<u8>,
    ) {
        self.read(connection, scratch);
        self.write(now, connection);
        while let Some(event) = connection.poll_event() {
            self.event(now, connection, event);
        }
    }

    fn read(&mut self, connection: &mut Connection, scratch: &mut Vec<u8>) {
        loop {
            // What cannot be sent on is left unread, so that the window closes.
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
                failure,
            });
        }
    }
}
