//! The application of a client: one request, whose answer it counts or compares.

use crate::streams::{Sink, is_ordered};
use crate::{pattern, request};
use quinn_proto::{Connection, Dir, Event, ReadError, StreamEvent, StreamId};

/// Result of a download.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fetched {
    /// Bytes received without a gap.
    pub bytes: u64,
    /// Set if all bytes have arrived, none was wrong, and the server sent no more.
    pub correct: bool,
    /// Reason for which the connection or the stream ended early.
    pub failure: Option<String>,
}

/// A download.
#[derive(Debug)]
pub(crate) struct Download {
    size: u64,
    /// Set if the bytes are those that a host of this crate sends.
    known: bool,
    stream: Option<StreamId>,
    /// Bytes of the request that are not written.
    request: Vec<u8>,
    /// Set if quinn-proto puts the data in order.
    ordered: bool,
    sink: Sink,
    wrong: bool,
    connected: bool,
    done: Option<Fetched>,
}

impl Download {
    pub(crate) fn new(size: u64, known: bool, window: Option<u64>) -> Self {
        Self {
            size,
            known,
            stream: None,
            request: request::line(size).into_bytes(),
            ordered: is_ordered(window),
            sink: Sink::default(),
            wrong: false,
            connected: false,
            done: None,
        }
    }

    pub(crate) fn done(&self) -> Option<&Fetched> {
        self.done.as_ref()
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.connected
    }

    /// Handles an event of the connection. Returns whether the download has just ended.
    pub(crate) fn on_event(&mut self, connection: &mut Connection, event: Event) -> bool {
        let before = self.done.is_some();
        match event {
            Event::Connected => {
                self.connected = true;
                self.ask(connection);
            }
            Event::Stream(
                StreamEvent::Available { dir: Dir::Bi } | StreamEvent::Writable { .. },
            ) => {
                self.ask(connection);
            }
            Event::Stream(StreamEvent::Readable { id }) if Some(id) == self.stream => {
                self.take(connection, id);
            }
            Event::ConnectionLost { reason } => self.end(Some(reason.to_string())),
            _ => {}
        }
        self.done.is_some() && !before
    }

    /// Sends the request as far as the connection takes it.
    fn ask(&mut self, connection: &mut Connection) {
        if !self.connected || self.request.is_empty() {
            return;
        }
        let stream = self.stream.or_else(|| connection.streams().open(Dir::Bi));
        self.stream = stream;
        let Some(id) = stream else { return };
        let mut stream = connection.send_stream(id);
        // A stream that the server has stopped ends by its answer, or with the connection.
        if let Ok(taken) = stream.write(&self.request) {
            self.request.drain(..taken);
        }
        if self.request.is_empty() {
            let _ = stream.finish();
        }
    }

    fn take(&mut self, connection: &mut Connection, id: StreamId) {
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(self.ordered) else {
            return;
        };
        let ended = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    let more = chunk.bytes.len() as u64;
                    self.wrong |= chunk.offset + more > self.size
                        || self.known && !pattern::is_at(chunk.offset, &chunk.bytes);
                    self.sink.add(chunk.offset, more);
                }
                Ok(None) => break Some(None),
                Err(ReadError::Reset(code)) => {
                    break Some(Some(format!(
                        "the server reset the stream with code {code}"
                    )));
                }
                Err(ReadError::Blocked) => break None,
            }
        };
        // The connection asks to be polled after every call anyway.
        let _ = chunks.finalize();
        if let Some(failure) = ended {
            self.end(failure);
        }
    }

    fn end(&mut self, failure: Option<String>) {
        let correct = !self.wrong && failure.is_none() && self.sink.read == self.size;
        self.done.get_or_insert(Fetched {
            bytes: self.sink.read,
            correct,
            failure,
        });
    }
}
