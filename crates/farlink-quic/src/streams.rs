//! Streams of a file: what an end sends, and what it reads.

use crate::pattern;
use quinn_proto::{Connection, Dir, StreamId};
use std::collections::BTreeMap;

/// Greatest number of separate pieces of a stream that quinn-proto's ordered reader keeps.
const MOST_GAPS: u64 = 1024;
/// Least number of bytes in a packet of a stream with much data, for 1200 bytes of datagram.
const LEAST_DATA: u64 = 1100;
/// Receive window of a stream in quinn-proto without another.
const USUAL_WINDOW: u64 = 1_250_000;

/// Data that an end sends, one part for each stream.
#[derive(Debug, Default)]
pub(crate) struct Outgoing(Vec<Source>);

/// Data that is written to one stream.
#[derive(Debug)]
pub(crate) struct Source {
    /// Bytes still to write; `u64::MAX` for no end.
    left: u64,
    written: u64,
    id: Option<StreamId>,
    finished: bool,
    /// Set if more data may follow `left`.
    held: bool,
    /// Set if the peer has acknowledged the whole stream.
    acknowledged: bool,
}

impl Outgoing {
    /// Creates the streams of `len` bytes; `u64::MAX` for no end.
    pub(crate) fn new(len: u64, streams: u32) -> Self {
        let n = u64::from(streams.max(1));
        let part = |i: u64| match len {
            u64::MAX => len,
            len => len / n + u64::from(i < len % n),
        };
        // The reader waits for all streams of a short file, so some may be empty.
        let streams = if len == 0 { 0 } else { n };
        Self((0..streams).map(|i| Source::new(part(i))).collect())
    }

    /// Creates a stream whose data is added bit by bit.
    pub(crate) fn held() -> Self {
        Self(vec![Source {
            held: true,
            ..Source::new(0)
        }])
    }

    /// Adds bytes to the stream of [`Outgoing::held`].
    pub(crate) fn add(&mut self, len: u64) {
        if let Some(source) = self.0.first_mut() {
            source.left += len;
        }
    }

    /// Ends the stream of [`Outgoing::held`].
    pub(crate) fn end(&mut self) {
        if let Some(source) = self.0.first_mut() {
            source.held = false;
        }
    }

    /// Writes as much as the connection takes.
    pub(crate) fn write(&mut self, connection: &mut Connection) {
        for source in &mut self.0 {
            source.write(connection);
        }
    }

    /// Handles the acknowledgment of a whole stream.
    pub(crate) fn on_acknowledged(&mut self, id: StreamId) {
        let source = self.0.iter_mut().find(|source| source.id == Some(id));
        if let Some(source) = source {
            source.acknowledged = true;
        }
    }

    /// Returns whether the peer has acknowledged all streams. Without streams it has not.
    pub(crate) fn is_acknowledged(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|source| source.acknowledged)
    }
}

impl Source {
    fn new(left: u64) -> Self {
        Self {
            left,
            written: 0,
            id: None,
            finished: false,
            held: false,
            acknowledged: false,
        }
    }

    /// Creates the data of an open stream.
    pub(crate) fn on(id: StreamId, left: u64) -> Self {
        Self {
            id: Some(id),
            ..Self::new(left)
        }
    }

    /// Returns whether all data is written.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Writes as much as the connection takes.
    pub(crate) fn write(&mut self, connection: &mut Connection) {
        if self.finished || (self.held && self.left == 0) {
            return;
        }
        self.id = self.id.or_else(|| connection.streams().open(Dir::Uni));
        let Some(id) = self.id else { return };
        let mut stream = connection.send_stream(id);
        while self.left > 0 {
            let part = pattern::part(self.written, self.left);
            // The only errors are a full send buffer and a stream that the peer has stopped.
            let Ok(taken) = stream.write_chunks(&mut [part]) else {
                return;
            };
            self.written += taken.bytes as u64;
            if self.left != u64::MAX {
                self.left -= taken.bytes as u64;
            }
        }
        self.finished = !self.held && stream.finish().is_ok();
    }
}

/// Returns whether quinn-proto puts the data of a stream with this window in order.
///
/// quinn-proto ends a connection if a stream in order has more than 1024 gaps. A window in which
/// so many fit is therefore read in the order of arrival.
pub(crate) fn is_ordered(window: Option<u64>) -> bool {
    window.unwrap_or(USUAL_WINDOW) <= 2 * MOST_GAPS * LEAST_DATA
}

/// Returns the limits that an end with this window sets for each stream and for all.
pub(crate) fn windows(window: Option<u64>) -> (u64, u64) {
    (window.unwrap_or(USUAL_WINDOW), window.unwrap_or(u64::MAX))
}

/// Data that an end reads.
#[derive(Debug)]
pub(crate) struct Incoming {
    /// Number of streams that the peer sends.
    expected: usize,
    /// Set if quinn-proto puts the data in order.
    ordered: bool,
    sinks: BTreeMap<StreamId, Sink>,
    /// Number of streams that have ended, and their bytes.
    ended: usize,
    bytes_ended: u64,
    /// Set if a byte was not that of its stream.
    pub(crate) wrong: bool,
}

/// Stream of [`Incoming`].
#[derive(Debug, Default)]
pub(crate) struct Sink {
    /// Number of bytes that arrived without a gap.
    pub(crate) read: u64,
    /// Bytes beyond a gap, by their offset, with the offset of their end.
    beyond: BTreeMap<u64, u64>,
}

impl Incoming {
    /// Creates the reader of `streams` streams with this window.
    pub(crate) fn new(streams: u32, window: Option<u64>) -> Self {
        Self {
            expected: streams.max(1) as usize,
            ordered: is_ordered(window),
            sinks: BTreeMap::new(),
            ended: 0,
            bytes_ended: 0,
            wrong: false,
        }
    }

    /// Reads all data of a stream that is there. Returns whether the stream has ended now.
    pub(crate) fn read(&mut self, connection: &mut Connection, id: StreamId) -> bool {
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(self.ordered) else {
            return false;
        };
        let sink = self.sinks.entry(id).or_default();
        let mut has_ended = false;
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    self.wrong |= !pattern::is_at(chunk.offset, &chunk.bytes);
                    sink.add(chunk.offset, chunk.bytes.len() as u64);
                }
                Ok(None) => {
                    has_ended = true;
                    break;
                }
                Err(_) => break,
            }
        }
        // The connection asks to be polled after every call anyway.
        let _ = chunks.finalize();
        if has_ended && let Some(sink) = self.sinks.remove(&id) {
            self.ended += 1;
            self.bytes_ended += sink.read;
        }
        has_ended
    }

    /// Returns the number of bytes that arrived without a gap in their streams.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes_ended + self.sinks.values().map(|sink| sink.read).sum::<u64>()
    }

    /// Returns whether all streams have ended.
    pub(crate) fn has_all(&self) -> bool {
        self.ended == self.expected
    }
}

impl Sink {
    /// Adds bytes that did not arrive before.
    pub(crate) fn add(&mut self, at: u64, len: u64) {
        if at != self.read {
            self.beyond.insert(at, at + len);
            return;
        }
        self.read += len;
        while let Some(end) = self.beyond.remove(&self.read) {
            self.read = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_split_over_its_streams() {
        let parts = |len, n| {
            let sources = Outgoing::new(len, n).0.into_iter();
            sources.map(|source| source.left).collect::<Vec<_>>()
        };
        assert_eq!(parts(10, 1), [10]);
        assert_eq!(parts(11, 3), [4, 4, 3]);
        assert_eq!(parts(2, 3), [1, 1, 0]);
        assert_eq!(parts(u64::MAX, 2), [u64::MAX; 2]);
        assert!(parts(0, 1).is_empty());
    }

    #[test]
    fn bytes_beyond_a_gap_count_once_it_is_filled() {
        let mut sink = Sink::default();
        sink.add(0, 10);
        sink.add(30, 10);
        sink.add(20, 10);
        assert_eq!(sink.read, 10);
        sink.add(10, 10);
        assert_eq!((sink.read, sink.beyond.len()), (40, 0));
        sink.add(50, 1);
        assert_eq!(sink.read, 40);
    }

    #[test]
    fn wide_windows_are_read_in_the_order_of_arrival() {
        let ordered = |window| Incoming::new(1, window).ordered;
        assert!(ordered(None) && ordered(Some(2_252_800)));
        assert!(!ordered(Some(2_252_801)));
    }
}
