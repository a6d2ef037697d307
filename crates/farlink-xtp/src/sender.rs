//! Sender of an XTP flow.

use super::config::Config;
use super::rate::Rate;
use super::rtt::RoundTrip;
use farlink_small::Set;
use farlink_tcp::{Instant, Interval, Stats};
use farlink_wire::xtp::{Content, Pdu, Span, Status};
use std::collections::VecDeque;

/// Time-out of a report before the first round-trip sample.
const FIRST_WAIT: Interval = Interval::from_secs(3);
/// Minimum and maximum of the time-out.
const MIN_WAIT: Interval = Interval::from_millis(10);
const MAX_WAIT: Interval = Interval::from_secs(60);

/// Packet in flight: serial number of its transmission, and its positions in the stream.
type Transmission = (u64, Span);

/// Unanswered request for a status report.
#[derive(Clone, Copy, Debug)]
struct Request {
    sync: u32,
    /// Number of transmissions up to the request, with its own packet.
    sent: u64,
    at: Instant,
}

/// Sends the stream at the configured rate, and retransmits data that status reports show to be
/// missing.
#[derive(Debug)]
pub struct Sender {
    /// End of the stream: the positions of its data, and one of its opening and of its close if
    /// these take any.
    size: u64,
    packet: u32,
    sreq_every: u64,
    rate: Rate,
    /// Set if the stream opens an association, whose opening takes position 0.
    opens: bool,
    /// Set if the stream has no further data.
    ended: bool,
    /// Set if the first packet opens the association.
    is_first: bool,
    /// Position after everything sent at least once.
    next: u64,
    /// First byte that no report has acknowledged.
    rseq: u64,
    alloc: u64,
    /// Received spans after `rseq` in the last report.
    spans: Vec<(u64, u64)>,
    /// Transmissions that no report covers, in order.
    in_flight: VecDeque<Transmission>,
    /// Packets to retransmit.
    lost: Set<Span>,
    /// Number of transmissions.
    sent: u64,
    /// Bytes sent since the last request.
    since_request: u64,
    /// Number of the last request.
    sync: u32,
    requests: VecDeque<Request>,
    /// Request whose report must arrive before more data is sent.
    synchronizes: Option<u32>,
    /// Set if a request without data is due.
    asks: bool,
    /// Set when a report has arrived, which shows that the receiver has the association.
    known: bool,
    round_trip: RoundTrip,
    doublings: u32,
    /// WTIMER: deadline of the expected report; `None` if no report is expected.
    waits_until: Option<Instant>,
    /// Counters of the sent packets and of the round trips.
    pub stats: Stats,
}

impl Sender {
    /// Creates a sender of a stream of `size` bytes. Its first packet opens the association.
    pub fn new(config: &Config, size: u64, started: Instant) -> Self {
        Self {
            size,
            packet: config.packet,
            sreq_every: u64::from(config.sreq_every),
            rate: Rate::new(config.rate, config.burst, started),
            opens: false,
            ended: true,
            is_first: true,
            next: 0,
            rseq: 0,
            alloc: config.window,
            spans: Vec::new(),
            in_flight: VecDeque::new(),
            lost: Set::new(),
            sent: 0,
            since_request: 0,
            sync: 0,
            requests: VecDeque::new(),
            synchronizes: None,
            asks: false,
            known: false,
            round_trip: RoundTrip::default(),
            doublings: 0,
            waits_until: None,
            stats: Stats::default(),
        }
    }

    /// Creates a sender of a stream to which data is added later. With `opens` it opens the
    /// association.
    pub fn stream(config: &Config, opens: bool, started: Instant) -> Self {
        Self {
            opens,
            ended: false,
            is_first: opens,
            known: !opens,
            ..Self::new(config, u64::from(opens), started)
        }
    }

    /// Adds bytes to the stream.
    pub fn extend(&mut self, bytes: u64) {
        self.size += bytes;
    }

    /// Ends the stream. The close takes a position of its own.
    pub fn finish(&mut self) {
        if !self.ended {
            self.ended = true;
            self.size += 1;
        }
    }

    /// Returns the number of data bytes that reports have acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.data_before(self.rseq.min(self.size))
    }

    /// Returns the number of data bytes of the stream that were added.
    pub fn written(&self) -> u64 {
        self.data_before(self.size)
    }

    /// Returns whether the stream has ended and all of it was acknowledged.
    pub fn is_over(&self) -> bool {
        self.ended && self.is_done()
    }

    /// Returns whether the close takes the last position. That of a stream of known length does not.
    fn closes(&self) -> bool {
        self.ended && (self.opens || !self.is_first)
    }

    /// Returns the number of data bytes before a position.
    fn data_before(&self, position: u64) -> u64 {
        let close = u64::from(self.closes() && position == self.size);
        position
            .saturating_sub(u64::from(self.opens))
            .saturating_sub(close)
    }

    /// Returns whether a report has acknowledged all data.
    pub fn is_done(&self) -> bool {
        self.rseq >= self.size
    }

    /// Returns the packet that begins at this position.
    fn packet_at(&self, from: u64) -> Span {
        (from, (from + u64::from(self.packet)).min(self.size))
    }

    fn is_received(&self, (from, to): Span) -> bool {
        if to <= self.rseq {
            return true;
        }
        let behind = self.spans.partition_point(|span| span.0 <= from);
        behind > 0 && to <= self.spans[behind - 1].1
    }

    /// Returns the packet to send next: the first lost packet, otherwise a new one.
    fn wanted(&mut self) -> Option<Span> {
        if self.synchronizes.is_some() || self.is_done() {
            return None;
        }
        while let Some(&packet) = self.lost.first() {
            if !self.is_received(packet) {
                return Some(packet);
            }
            self.lost.pop_first();
        }
        let (from, to) = self.packet_at(self.next);
        (from < self.size && to <= self.alloc).then_some((from, to))
    }

    /// Returns the packet to send now, if any.
    pub fn transmit(&mut self, now: Instant) -> Option<Pdu> {
        if self.asks {
            self.asks = false;
            self.request(now);
            return Some(self.pdu(true, Content::default()));
        }
        let (seq, end) = self.wanted()?;
        if !self.rate.allows(now) {
            return None;
        }
        let len = (self.data_before(end) - self.data_before(seq)) as u32;
        self.rate.take(len);
        if self.lost.remove(&(seq, end)) {
            self.stats.segments_retransmitted += 1;
            self.stats.bytes_retransmitted += u64::from(len);
        } else {
            self.next = end;
        }
        self.stats.segments_sent += 1;
        self.stats.bytes_sent += u64::from(len);
        self.sent += 1;
        self.since_request += 1;
        self.in_flight.push_back((self.sent, (seq, end)));
        let first = self.is_first && seq == 0;
        let sreq = first || self.since_request >= self.sreq_every || self.must_ask();
        if sreq {
            self.request(now);
        }
        let content = Content::Data {
            seq,
            len,
            first,
            last: self.ended && end == self.size,
        };
        Some(self.pdu(sreq, content))
    }

    /// Returns whether the packet just sent requests a report because no later packet will: it is
    /// the last one of the stream or of the window. While a stream goes on, a report on its way is
    /// enough, because the sender asks again when the report arrives.
    fn must_ask(&mut self) -> bool {
        self.wanted().is_none() && (self.ended || self.requests.is_empty())
    }

    /// Returns the packet that opens the association, as it was sent.
    fn first_packet(&self) -> Span {
        let sent = self.in_flight.iter().find(|sent| sent.1.0 == 0);
        sent.map_or(self.packet_at(0), |sent| sent.1)
    }

    fn pdu(&self, sreq: bool, content: Content) -> Pdu {
        Pdu {
            sreq,
            sync: self.sync,
            content,
            ..Pdu::default()
        }
    }

    fn request(&mut self, now: Instant) {
        self.sync += 1;
        self.since_request = 0;
        self.requests.push_back(Request {
            sync: self.sync,
            sent: self.sent,
            at: now,
        });
        // Before the first report, the timer belongs to the packet that opens the association.
        if self.known || self.waits_until.is_none() {
            self.waits_until = Some(now + self.wait());
        }
    }

    /// Returns the time-out of a report.
    fn wait(&self) -> Interval {
        let wait = self.round_trip.bound().unwrap_or(FIRST_WAIT).max(MIN_WAIT);
        wait.saturating_mul(1 << self.doublings.min(16))
            .min(MAX_WAIT)
    }

    /// Returns the next deadline.
    pub fn deadline(&mut self, now: Instant) -> Option<Instant> {
        if self.is_done() {
            return None;
        }
        if self.asks {
            return Some(now);
        }
        let sends = self.wanted().map(|_| self.rate.next(now));
        sends.into_iter().chain(self.waits_until).min()
    }

    /// Handles WTIMER if it has expired.
    pub fn on_time(&mut self, now: Instant) {
        if self.waits_until.is_none_or(|until| until > now) || self.is_done() {
            return;
        }
        // Without a report in time, a request without data is sent, and no data until its report
        // arrives.
        self.waits_until = None;
        self.stats.timeouts += 1;
        if self.doublings > 0 {
            self.stats.timeouts_repeated += 1;
        }
        self.doublings += 1;
        if self.known {
            self.asks = true;
            self.synchronizes.get_or_insert(self.sync + 1);
        } else {
            // The packet that opens the association may be lost.
            self.lost.insert(self.first_packet());
        }
    }

    /// Handles a status report. A report has at most `max_spans` spans.
    pub fn on_status(&mut self, now: Instant, status: Status, max_spans: usize) {
        self.known = true;
        self.alloc = self.alloc.max(status.alloc);
        let answered = self.requests.front().is_some_and(|r| r.sync <= status.echo);
        if !answered {
            return; // The report is older than the last one.
        }
        self.rseq = self.rseq.max(status.rseq);
        self.doublings = 0;
        let mut report = 0;
        while let Some(&request) = self.requests.front()
            && request.sync <= status.echo
        {
            self.requests.pop_front();
            report = request.sent;
            if request.sync == status.echo {
                self.sample(now.since(request.at));
            }
        }
        if self.synchronizes.is_some_and(|sync| sync <= status.echo) {
            self.synchronizes = None;
        }
        if self.requests.is_empty() {
            self.waits_until = None;
        }
        // A report with the maximum number of spans says nothing about data after its last span.
        let full = status.spans.len() == max_spans;
        let edge = status.spans.last().filter(|_| full).map(|span| span.1);
        self.spans = status.spans;
        let mut unreported = Vec::new();
        while let Some(&sent) = self.in_flight.front()
            && sent.0 <= report
        {
            self.in_flight.pop_front();
            if self.is_received(sent.1) {
                continue;
            }
            if edge.is_some_and(|edge| sent.1.1 > edge) {
                unreported.push(sent);
            } else {
                self.lost.insert(sent.1);
            }
        }
        for sent in unreported.into_iter().rev() {
            self.in_flight.push_front(sent);
        }
        if !self.is_done() && self.requests.is_empty() && self.wanted().is_none() {
            self.asks = true;
        }
    }

    /// Takes the time from a request to its report.
    fn sample(&mut self, rtt: Interval) {
        self.round_trip.sample(rtt, &mut self.stats);
        self.stats.rto_sum += self.wait().as_nanos();
    }
}

#[cfg(test)]
mod tests;
