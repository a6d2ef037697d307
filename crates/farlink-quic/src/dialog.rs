//! Requests of a client and answers of a server, each pair on a stream of its own.

use crate::streams::Source;
use quinn_proto::{Connection, Dir, StreamId};
use std::collections::VecDeque;

/// Event of a dialog. Requests are numbered from 0 in the order of their streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exchange {
    /// The client may send requests.
    Connected,
    /// The server has read the whole request of this number.
    Request(u64),
    /// The client has read the whole answer to the request of this number.
    Answer(u64),
}

/// Streams in both directions of an end.
#[derive(Debug, Default)]
pub(crate) struct Dialog {
    /// Lengths of requests that wait for a stream.
    waiting: VecDeque<u64>,
    /// Data that the end writes.
    sources: Vec<Source>,
    events: VecDeque<Exchange>,
}

impl Dialog {
    /// Adds a request of `len` bytes of the client.
    pub(crate) fn request(&mut self, len: u64) {
        self.waiting.push_back(len);
    }

    /// Adds the answer of `len` bytes of the server to a request.
    pub(crate) fn answer(&mut self, number: u64, len: u64) {
        let id = StreamId::new(quinn_proto::Side::Client, Dir::Bi, number);
        self.sources.push(Source::on(id, len));
    }

    /// Adds an event.
    pub(crate) fn push(&mut self, event: Exchange) {
        self.events.push_back(event);
    }

    /// Returns the next event.
    pub(crate) fn next(&mut self) -> Option<Exchange> {
        self.events.pop_front()
    }

    /// Opens streams for requests that wait, and writes as much as the connection takes.
    pub(crate) fn write(&mut self, connection: &mut Connection) {
        while let Some(&len) = self.waiting.front()
            && let Some(id) = connection.streams().open(Dir::Bi)
        {
            self.waiting.pop_front();
            self.sources.push(Source::on(id, len));
        }
        for source in &mut self.sources {
            source.write(connection);
        }
        self.sources.retain(|source| !source.is_finished());
    }
}
