//! Connection with a stream in each direction, as the half of a split connection.

use super::config::Config;
use super::receiver::Receiver;
use super::sender::Sender;
use crate::life::Life;
use farlink_tcp::{CloseReason, Event, Instant, Interval, State, Stats};
use farlink_wire::stp::{Content, Pdu, Poll, Span};
use std::collections::VecDeque;

/// Time after which BGN and END are repeated, Timer_CC: at first, as in TCP. It doubles.
const REPEAT: Interval = Interval::from_secs(3);
const MAX_REPEAT: Interval = Interval::from_secs(60);
/// Number of times that an END is sent at most, `MaxCC`.
const MAX_ENDS: u32 = 4;

/// An end of a connection.
///
/// BGN opens it, and BGAK answers. The packet of data that ends a stream is marked. An end whose
/// stream has arrived, and that has all of the peer's, sends END, and ENDAK answers. An END without
/// the mark that all is done resets the connection.
#[derive(Debug)]
pub struct Connection {
    key: u32,
    /// Set at the end that did not open the connection, before BGN.
    idle: bool,
    /// Most bytes that are written and not acknowledged.
    buffer: u64,
    sender: Sender,
    receiver: Receiver,
    life: Life,
    /// Packets of control to be sent.
    control: VecDeque<Content>,
    /// BGN or END that waits for its answer.
    asked: Option<Asked>,
    /// POLL to be answered; the last one answers all.
    polled: Option<Poll>,
    /// New gaps to be reported.
    gaps: VecDeque<Span>,
    /// Set if the last packet had data that was sent before.
    again: bool,
}

/// BGN or END without an answer.
#[derive(Debug)]
struct Asked {
    content: Content,
    first: Instant,
    times: u32,
    repeats_at: Instant,
}

impl Connection {
    /// Creates an end, which sends BGN if it `opens` the connection. `buffer` is the most data that
    /// waits for acknowledgment.
    pub fn new(config: &Config, opens: bool, key: u32, buffer: u64, now: Instant) -> Self {
        let receiver = Receiver::new(config.window, config.packet);
        let mut some = Self {
            key,
            idle: !opens,
            buffer,
            sender: Sender::new(config, !opens, now),
            receiver,
            life: Life::default(),
            control: VecDeque::new(),
            asked: None,
            polled: None,
            gaps: VecDeque::new(),
            again: false,
        };
        if opens {
            let credit = some.receiver.credit();
            some.ask(
                now,
                Content::Begin {
                    answers: false,
                    credit,
                },
            );
        }
        some
    }

    /// Returns the number of the connection.
    pub fn key(&self) -> u32 {
        self.key
    }

    /// Sends BGN or END, and repeats it until its answer arrives.
    fn ask(&mut self, now: Instant, content: Content) {
        self.control.push_back(content.clone());
        self.asked = Some(Asked {
            content,
            first: now,
            times: 1,
            repeats_at: now + REPEAT,
        });
    }

    /// Handles a packet.
    pub fn on_pdu(&mut self, now: Instant, pdu: &Pdu) {
        match &pdu.content {
            &Content::End { done } => self.on_end(now, done),
            Content::EndAck if self.life.closed.is_some() => self.asked = None,
            Content::EndAck => {}
            Content::Reject => {
                self.asked = None;
                self.life.close(now, CloseReason::Reset);
            }
            content if self.life.closed.is_some() => self.on_late(content),
            Content::Begin { answers: false, .. } => self.on_begin(now, &pdu.content),
            _ if self.idle => {}
            content => {
                // Any packet of the peer shows that it has the connection.
                let asked = self.asked.take();
                let once = asked.filter(|asked| asked.times == 1);
                let opening = once.map(|asked| now.since(asked.first));
                self.sender.opened(now, opening);
                self.on_content(now, content);
                self.settle(now);
            }
        }
    }

    /// Answers BGN, also a repeated one.
    fn on_begin(&mut self, now: Instant, content: &Content) {
        self.idle = false;
        self.control.push_back(Content::Begin {
            answers: true,
            credit: self.receiver.credit(),
        });
        self.on_content(now, content);
    }

    fn on_content(&mut self, now: Instant, content: &Content) {
        match content {
            &Content::Begin { credit, .. } => self.sender.allow(credit),
            &Content::Data {
                seq,
                len,
                last,
                poll,
                ..
            } => {
                self.gaps.extend(self.receiver.on_data(seq, len, last));
                self.polled = poll.or(self.polled);
            }
            &Content::Poll(poll) => self.polled = Some(poll),
            Content::Stat(stat) => self.sender.on_stat(now, stat),
            &Content::Ustat { next, credit, gap } => self.sender.on_ustat(next, credit, gap),
            Content::End { .. } | Content::EndAck | Content::Reject => {}
        }
    }

    fn on_end(&mut self, now: Instant, done: bool) {
        if self.life.answers() || self.life.closed == Some(CloseReason::Reset) {
            self.control.push_back(Content::EndAck);
        }
        self.asked = None;
        if done && self.life.closed.is_none() {
            self.life.peer_closes();
            self.sender.conclude();
        }
        let reason = if done {
            CloseReason::Done
        } else {
            CloseReason::Reset
        };
        self.life.close(now, reason);
    }

    /// Handles a packet that arrives after the end: the peer has not heard of it.
    fn on_late(&mut self, content: &Content) {
        let asks = matches!(content, Content::Data { .. } | Content::Poll(_));
        if asks && self.asked.is_none() && self.life.until.is_some() {
            let done = self.life.closed == Some(CloseReason::Done);
            self.control.push_back(Content::End { done });
        }
    }

    /// Reports the peer's close, and ends the connection when both streams are over.
    fn settle(&mut self, now: Instant) {
        if self.receiver.is_complete() {
            self.life.peer_closes();
            if self.sender.is_over() && self.life.close(now, CloseReason::Done) {
                self.ask(now, Content::End { done: true });
            }
        }
    }

    /// Ends the connection at once, and notifies the peer by END.
    pub fn abort(&mut self, now: Instant) {
        if self.life.close(now, CloseReason::Aborted) {
            self.control.clear();
            self.ask(now, Content::End { done: false });
        }
    }

    /// Ends the stream to the peer after the data written so far.
    pub fn shutdown(&mut self) {
        self.sender.finish();
    }

    /// Handles the timers.
    pub fn on_timeout(&mut self, now: Instant) {
        self.life.expire(now);
        if let Some(asked) = &mut self.asked
            && asked.repeats_at <= now
        {
            let wait = REPEAT.saturating_mul(1 << asked.times.min(16));
            asked.times += 1;
            asked.repeats_at = now + wait.min(MAX_REPEAT);
            self.control.push_back(asked.content.clone());
            if self.life.closed.is_some() && asked.times >= MAX_ENDS {
                self.asked = None;
            }
        }
        if self.life.closed.is_none() {
            self.sender.on_time(now);
        }
    }

    /// Returns the next deadline.
    pub fn deadline(&mut self, now: Instant) -> Option<Instant> {
        let asks = self.asked.as_ref().map(|asked| asked.repeats_at);
        let rest = if self.life.closed.is_some() {
            self.life.until
        } else if self.idle {
            None
        } else {
            self.sender.deadline(now)
        };
        asks.into_iter().chain(rest).min()
    }

    /// Returns the next packet to send, if any.
    pub fn transmit(&mut self, now: Instant) -> Option<Pdu> {
        self.again = false;
        let content = self.content(now)?;
        Some(Pdu {
            key: self.key,
            content,
        })
    }

    fn content(&mut self, now: Instant) -> Option<Content> {
        if let Some(content) = self.control.pop_front() {
            return Some(content);
        }
        if self.idle || self.life.closed.is_some() {
            return None;
        }
        if let Some(poll) = self.polled.take()
            && let Some(stat) = self.receiver.on_poll(poll)
        {
            self.gaps.clear(); // the report has them
            return Some(Content::Stat(stat));
        }
        if let Some(gap) = self.gaps.pop_front() {
            self.receiver.reported();
            return Some(Content::Ustat {
                next: self.receiver.next(),
                credit: self.receiver.credit(),
                gap,
            });
        }
        let before = self.sender.stats.segments_retransmitted;
        let content = self.sender.transmit(now);
        self.again = self.sender.stats.segments_retransmitted > before;
        content
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
        self.receiver.delivered
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
        self.buffer.saturating_sub(self.sender.waiting())
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
        stats.add(self.receiver.stats());
        stats
    }
}

#[cfg(test)]
mod tests;
