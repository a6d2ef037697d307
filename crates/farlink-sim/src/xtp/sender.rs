//! Sender of an XTP flow.

use super::rate::Rate;
use crate::scenario::XtpSpec;
use farlink_small::Set;
use farlink_tcp::{Instant, Interval, Stats};
use farlink_wire::xtp::{Content, Pdu, Status};
use std::collections::VecDeque;

/// Time-out of a report before the first round-trip sample.
const FIRST_WAIT: Interval = Interval::from_secs(3);
/// Minimum and maximum of the time-out.
const MIN_WAIT: Interval = Interval::from_millis(10);
const MAX_WAIT: Interval = Interval::from_secs(60);

/// Packet in flight: serial number of its transmission, and packet number.
type Transmission = (u64, u64);

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
pub(super) struct Sender {
    size: u64,
    packet: u32,
    sreq_every: u64,
    rate: Rate,
    /// Number of packets sent at least once.
    next: u64,
    /// First byte that no report has acknowledged.
    rseq: u64,
    alloc: u64,
    /// Received spans after `rseq` in the last report.
    spans: Vec<(u64, u64)>,
    /// Transmissions that no report covers, in order.
    in_flight: VecDeque<Transmission>,
    /// Packets to retransmit.
    lost: Set<u64>,
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
    srtt: Option<Interval>,
    deviation: Interval,
    doublings: u32,
    /// WTIMER: deadline of the expected report; `None` if no report is expected.
    waits_until: Option<Instant>,
    pub(super) stats: Stats,
}

impl Sender {
    pub(super) fn new(spec: &XtpSpec, started: Instant) -> Self {
        Self {
            size: spec.size,
            packet: spec.packet,
            sreq_every: u64::from(spec.sreq_every),
            rate: Rate::new(spec, started),
            next: 0,
            rseq: 0,
            alloc: spec.window,
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
            srtt: None,
            deviation: Interval::ZERO,
            doublings: 0,
            waits_until: None,
            stats: Stats::default(),
        }
    }

    /// Returns whether a report has acknowledged all data.
    pub(super) fn is_done(&self) -> bool {
        self.rseq >= self.size
    }

    /// Returns the start and the end of packet `number`.
    fn bounds(&self, number: u64) -> (u64, u64) {
        let from = number * u64::from(self.packet);
        (from, (from + u64::from(self.packet)).min(self.size))
    }

    fn is_received(&self, number: u64) -> bool {
        let (from, to) = self.bounds(number);
        if to <= self.rseq {
            return true;
        }
        let behind = self.spans.partition_point(|span| span.0 <= from);
        behind > 0 && to <= self.spans[behind - 1].1
    }

    /// Returns the number of the packet to send next: the first lost packet, otherwise a new one.
    fn wanted(&mut self) -> Option<u64> {
        if self.synchronizes.is_some() || self.is_done() {
            return None;
        }
        while let Some(&number) = self.lost.first() {
            if !self.is_received(number) {
                return Some(number);
            }
            self.lost.pop_first();
        }
        let (from, to) = self.bounds(self.next);
        (from < self.size && to <= self.alloc).then_some(self.next)
    }

    /// Returns the packet to send now, if any.
    pub(super) fn transmit(&mut self, now: Instant) -> Option<Pdu> {
        if self.asks {
            self.asks = false;
            self.request(now);
            return Some(self.pdu(true, Content::default()));
        }
        let number = self.wanted()?;
        if !self.rate.allows(now) {
            return None;
        }
        let (seq, end) = self.bounds(number);
        let len = (end - seq) as u32;
        self.rate.take(len);
        if self.lost.remove(&number) {
            self.stats.segments_retransmitted += 1;
            self.stats.bytes_retransmitted += u64::from(len);
        } else {
            self.next += 1;
        }
        self.stats.segments_sent += 1;
        self.stats.bytes_sent += u64::from(len);
        self.sent += 1;
        self.since_request += 1;
        self.in_flight.push_back((self.sent, number));
        // The last packet, of the data or of the window, requests a report, because no later packet
        // will.
        let first = number == 0;
        let sreq = first || self.since_request >= self.sreq_every || self.wanted().is_none();
        if sreq {
            self.request(now);
        }
        let content = Content::Data {
            seq,
            len,
            first,
            last: end == self.size,
        };
        Some(self.pdu(sreq, content))
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
        let wait = self
            .srtt
            .map_or(FIRST_WAIT, |srtt| srtt + self.deviation * 4);
        let wait = wait.max(MIN_WAIT);
        wait.saturating_mul(1 << self.doublings.min(16))
            .min(MAX_WAIT)
    }

    /// Returns the next deadline.
    pub(super) fn deadline(&mut self, now: Instant) -> Option<Instant> {
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
    pub(super) fn on_time(&mut self, now: Instant) {
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
            self.lost.insert(0);
        }
    }

    /// Handles a status report. A report has at most `max_spans` spans.
    pub(super) fn on_status(&mut self, now: Instant, status: Status, max_spans: usize) {
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
            if edge.is_some_and(|edge| self.bounds(sent.1).1 > edge) {
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

    /// Updates SRTT (Jacobson 1988) with the time from a request to its report.
    fn sample(&mut self, rtt: Interval) {
        self.stats.rtt_samples += 1;
        self.stats.rtt_sum += rtt.as_nanos();
        self.stats.rtt_min = Some(self.stats.rtt_min.map_or(rtt, |least| least.min(rtt)));
        self.stats.rtt_max = self.stats.rtt_max.max(rtt);
        (self.srtt, self.deviation) = match self.srtt {
            None => (Some(rtt), rtt / 2),
            Some(srtt) => (
                Some((srtt * 7 + rtt) / 8),
                (self.deviation * 3 + rtt.abs_diff(srtt)) / 4,
            ),
        };
        self.stats.rto_sum += self.wait().as_nanos();
    }
}

#[cfg(test)]
mod tests;
