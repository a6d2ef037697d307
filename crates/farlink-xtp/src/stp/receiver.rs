//! Receiver of an STP stream.

use crate::receiver::Receiver as Spans;
use farlink_small::Map;
use farlink_tcp::Stats;
use farlink_wire::stp::{HEADER_LEN, NUMBER_LEN, Poll, Span, Stat};

/// Gaps that a report may have at any packet length.
const MIN_GAPS: u32 = 8;

/// Collects the packets of a stream, and reports what is missing.
#[derive(Debug)]
pub(super) struct Receiver {
    packet: u64,
    window: u64,
    max_gaps: usize,
    /// Numbers of the packets that arrived.
    arrived: Spans,
    /// Lengths of the packets that arrived out of order.
    lengths: Map<u64, u32>,
    /// Number after the highest packet known to be sent, VR(H).
    top: u64,
    /// Number after the packet that ends the stream, if it has arrived.
    end: Option<u64>,
    /// Highest number of a POLL that was answered.
    answered: u32,
    /// Bytes that arrived in order, and those that the program has not read.
    pub(super) delivered: u64,
    pub(super) unread: u64,
}

impl Receiver {
    pub(super) fn new(window: u64, packet: u32) -> Self {
        let mut arrived = Spans::new(0, packet);
        arrived.open();
        let room = packet.saturating_sub(HEADER_LEN + 4 * NUMBER_LEN) / (2 * NUMBER_LEN);
        Self {
            packet: packet.into(),
            window,
            max_gaps: room.max(MIN_GAPS) as usize,
            arrived,
            lengths: Map::new(),
            top: 0,
            end: None,
            answered: 0,
            delivered: 0,
            unread: 0,
        }
    }

    /// Returns the first missing packet, N(R).
    pub(super) fn next(&self) -> u64 {
        self.arrived.rseq
    }

    /// Returns the first packet that the sender may not send, N(MR).
    pub(super) fn credit(&self) -> u64 {
        self.next() + self.window.saturating_sub(self.unread) / self.packet
    }

    /// Returns whether the whole stream has arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.end.is_some_and(|end| self.next() >= end)
    }

    /// Returns the counters of the packets and reports.
    pub(super) fn stats(&self) -> &Stats {
        &self.arrived.stats
    }

    /// Counts a report.
    pub(super) fn reported(&mut self) {
        self.arrived.stats.acks_sent += 1;
    }

    /// Handles a packet. Returns the gap that it shows first, if any.
    pub(super) fn on_data(&mut self, seq: u64, len: u32, last: bool) -> Option<Span> {
        let before = self.arrived.stats.segments_fresh;
        let mut position = self.next();
        self.arrived.on_data(seq, 1, false);
        if self.arrived.stats.segments_fresh == before {
            return None;
        }
        if last {
            self.end = Some(seq + 1);
        }
        self.lengths.insert(seq, len);
        while position < self.next() {
            let len = u64::from(self.lengths.remove(&position).unwrap_or(0));
            self.delivered += len;
            self.unread += len;
            position += 1;
        }
        let gap = (seq > self.top).then_some((self.top, seq));
        self.top = self.top.max(seq + 1);
        gap
    }

    /// Returns the report that answers a POLL; `None` if a later one was answered.
    pub(super) fn on_poll(&mut self, poll: Poll) -> Option<Stat> {
        if poll.number <= self.answered {
            return None;
        }
        self.answered = poll.number;
        self.top = self.top.max(poll.next);
        let (mut edge, mut gaps) = (self.next(), Vec::new());
        for (&from, &to) in self.arrived.beyond() {
            if gaps.len() == self.max_gaps {
                break;
            }
            gaps.push((edge, from));
            edge = to;
        }
        if edge < self.top && gaps.len() < self.max_gaps {
            gaps.push((edge, self.top));
            edge = self.top;
        }
        self.reported();
        Some(Stat {
            poll: poll.number,
            next: self.next(),
            credit: self.credit(),
            gaps,
            edge,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver(packets: &[u64]) -> Receiver {
        let mut receiver = Receiver::new(10_500, 1000);
        for &number in packets {
            receiver.on_data(number, 100, false);
        }
        receiver
    }

    fn report(receiver: &mut Receiver, number: u32, next: u64) -> (u64, u64, Vec<Span>, u64) {
        let stat = receiver.on_poll(Poll { number, next }).expect("an answer");
        assert_eq!(stat.poll, number);
        (stat.next, stat.credit, stat.gaps, stat.edge)
    }

    /// A new gap is told once; the POLL tells also what is missing at the end.
    #[test]
    fn gaps_are_reported_when_they_appear_and_when_polled() {
        let mut some = receiver(&[0, 1]);
        assert_eq!(some.on_data(4, 100, false), Some((2, 4)));
        assert_eq!(some.on_data(5, 100, false), None);
        assert_eq!(some.on_data(5, 100, false), None);
        assert_eq!(some.on_data(3, 100, false), None);
        assert_eq!(some.on_data(8, 100, false), Some((6, 8)));
        let gaps = vec![(2, 3), (6, 8), (9, 11)];
        assert_eq!(report(&mut some, 1, 11), (2, 12, gaps, 11));
        // A packet that a POLL announced is no new gap.
        assert_eq!(some.on_data(10, 100, false), None);
        assert_eq!(report(&mut some, 2, 11).2, [(2, 3), (6, 8), (9, 10)]);
        assert_eq!(report(&mut some, 3, 11).3, 11);
    }

    #[test]
    fn bytes_count_once_they_are_in_order() {
        let mut some = receiver(&[0, 2, 2]);
        assert_eq!((some.delivered, some.unread), (100, 100));
        some.on_data(1, 50, false);
        assert_eq!((some.delivered, some.unread), (250, 250));
        assert_eq!(some.stats().segments_duplicate, 1);
        // Room: 10,250 of 10,500 bytes are left, which is 10 packets.
        assert_eq!(some.credit(), 13);
        some.unread = 10_600;
        assert_eq!(some.credit(), 3);
    }

    #[test]
    fn an_old_poll_gets_no_report() {
        let mut some = receiver(&[0]);
        let poll = |number| Poll { number, next: 1 };
        assert!(some.on_poll(poll(2)).is_some());
        assert!(some.on_poll(poll(2)).is_none());
        assert!(some.on_poll(poll(1)).is_none());
        assert_eq!(some.stats().acks_sent, 1);
    }

    /// A report without room says nothing about the rest.
    #[test]
    fn a_report_has_room_for_the_first_gaps() {
        let mut some = Receiver::new(10_000, 20);
        for number in 0..20 {
            some.on_data(2 * number + 1, 10, false);
        }
        let (_, _, gaps, edge) = report(&mut some, 1, 40);
        assert_eq!((gaps.len(), gaps[7], edge), (8, (14, 15), 16));
        assert_eq!(Receiver::new(1, 1440).max_gaps, 177);
    }

    #[test]
    fn a_stream_is_complete_when_all_of_it_has_arrived() {
        let mut some = receiver(&[0]);
        some.on_data(2, 0, true);
        assert!(!some.is_complete());
        some.on_data(1, 10, false);
        assert!(some.is_complete());
    }
}
