//! Association with a stream in each direction, as the half of a split connection.

use super::config::Config;
use super::life::Life;
use super::receiver::Receiver;
use super::sender::Sender;
use farlink_tcp::{CloseReason, Event, Instant, State, Stats};
use farlink_wire::xtp::{Content, Pdu};

/// An end of an association.
///
/// The end that opens it sends FIRST. An end closes its stream with WCLOSE, which takes a position
/// in the stream, so that a lost WCLOSE is retransmitted as data is. Both streams closed and
/// acknowledged end the association. END ends it at once, without the data under way.
#[derive(Debug)]
pub struct Association {
    /// Number of the association, the same at both ends.
    key: u64,
    /// Most bytes that are written and not acknowledged.
    buffer: u64,
    opens: bool,
    sender: Sender,
    receiver: Receiver,
    /// Position of the peer's WCLOSE, if it has arrived.
    peer_end: Option<u64>,
    /// Requests of the peer that wait for their report; the last one answers all.
    requested: Option<u32>,
    /// Set if END is to be sent.
    sends_end: bool,
    life: Life,
    /// Set if the last packet sent had data that was sent before.
    again: bool,
}

impl Association {
    /// Creates an end, which sends FIRST if it `opens` the association. `buffer` is the most data
    /// that waits for acknowledgment.
    pub fn new(config: &Config, opens: bool, key: u64, buffer: u64, now: Instant) -> Self {
        let mut receiver = Receiver::new(config.window, config.packet);
        if opens {
            receiver.open();
        }
        Self {
            key,
            buffer,
            opens,
            sender: Sender::stream(config, opens, now),
            receiver,
            peer_end: None,
            requested: None,
            sends_end: false,
            life: Life::default(),
            again: false,
        }
    }

    /// Returns the number of the association.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// Handles a packet.
    pub fn on_pdu(&mut self, now: Instant, pdu: &Pdu) {
        if pdu.end {
            self.life.close(now, CloseReason::Reset);
            return;
        }
        if self.life.closed == Some(CloseReason::Aborted) {
            // END may be lost.
            self.sends_end = self.life.until.is_some();
            return;
        }
        match &pdu.content {
            &Content::Data {
                seq,
                len,
                first,
                last,
            } => self.on_data(seq, len, first, last),
            Content::Control(status) if status.alloc > 0 => {
                let max_spans = self.receiver.max_spans();
                self.sender.on_status(now, status.clone(), max_spans);
            }
            Content::Control(_) => {} // a request without data
        }
        if pdu.sreq {
            self.requested = Some(self.requested.map_or(pdu.sync, |last| last.max(pdu.sync)));
        }
        self.settle(now);
    }

    fn on_data(&mut self, seq: u64, len: u32, first: bool, last: bool) {
        let before = self.delivered();
        let positions = len + u32::from(first) + u32::from(last);
        if last {
            self.peer_end = Some(seq + u64::from(positions));
        }
        self.receiver.on_data(seq, positions, first);
        self.receiver.unread += self.delivered() - before;
    }

    /// Reports the peer's close, and ends the association when both streams are over.
    fn settle(&mut self, now: Instant) {
        let ended = self.peer_end.is_some_and(|end| self.receiver.rseq >= end);
        if ended {
            self.life.peer_closes();
        }
        if ended && self.sender.is_over() {
            self.life.close(now, CloseReason::Done);
        }
    }

    /// Ends the association at once, and notifies the peer by END.
    pub fn abort(&mut self, now: Instant) {
        self.sends_end |= self.life.close(now, CloseReason::Aborted);
    }

    /// Ends the stream to the peer after the data written so far.
    pub fn shutdown(&mut self) {
        self.sender.finish();
    }

    /// Handles the timers.
    pub fn on_timeout(&mut self, now: Instant) {
        self.life.expire(now);
        if self.life.closed.is_none() {
            self.sender.on_time(now);
        }
    }

    /// Returns the next deadline.
    pub fn deadline(&mut self, now: Instant) -> Option<Instant> {
        if self.life.closed.is_some() {
            return self.life.until;
        }
        self.sender.deadline(now)
    }

    /// Returns the next packet to send, if any.
    pub fn transmit(&mut self, now: Instant) -> Option<Pdu> {
        self.again = false;
        if std::mem::take(&mut self.sends_end) {
            return Some(Pdu {
                key: self.key,
                end: true,
                ..Pdu::default()
            });
        }
        let answers = self.life.answers();
        if let Some(sync) = self.requested.take()
            && answers
            && let Some(status) = self.receiver.on_request(sync)
        {
            return Some(Pdu {
                key: self.key,
                sync,
                content: Content::Control(status),
                ..Pdu::default()
            });
        }
        if self.life.closed.is_some() {
            return None;
        }
        let before = self.sender.stats.segments_retransmitted;
        let pdu = self.sender.transmit(now)?;
        self.again = self.sender.stats.segments_retransmitted > before;
        Some(Pdu {
            key: self.key,
            ..pdu
        })
    }

    /// Returns whether the last packet had data that was sent before.
    pub fn sent_again(&self) -> bool {
        self.again
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.life.poll_event()
    }

    /// Returns the state in the terms of TCP.
    pub fn state(&self) -> State {
        self.life.state()
    }

    /// Returns the number of bytes that the peer sent and that arrived in order.
    pub fn delivered(&self) -> u64 {
        let opening = u64::from(!self.opens);
        let close = u64::from(self.peer_end.is_some_and(|end| self.receiver.rseq >= end));
        self.receiver
            .rseq
            .saturating_sub(opening)
            .saturating_sub(close)
    }

    /// Returns the number of written bytes that the peer has acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.sender.acknowledged()
    }

    /// Returns the number of bytes that can be read.
    pub fn readable(&self) -> u64 {
        self.receiver.unread
    }

    /// Reads at most `len` bytes. Returns their number.
    pub fn read_len(&mut self, len: u64) -> u64 {
        let read = len.min(self.receiver.unread);
        self.receiver.unread -= read;
        read
    }

    /// Returns the number of bytes that can be written.
    pub fn room(&self) -> u64 {
        let waiting = self.sender.written() - self.sender.acknowledged();
        self.buffer.saturating_sub(waiting)
    }

    /// Writes at most `len` bytes. Returns their number.
    pub fn write_len(&mut self, len: u64) -> u64 {
        let written = len.min(self.room());
        self.sender.extend(written);
        written
    }

    /// Returns the counters of both streams.
    pub fn stats(&self) -> Stats {
        let mut stats = self.sender.stats;
        stats.add(&self.receiver.stats);
        stats
    }
}

#[cfg(test)]
mod tests;
