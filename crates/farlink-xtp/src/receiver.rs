//! Receiver of an XTP flow.

use farlink_small::Map;
use farlink_tcp::Stats;
use farlink_wire::xtp::{ECNTL_LEN, SPAN_LEN, Span, Status};

/// Number of spans that a report may have at any packet length.
const MIN_SPANS: usize = 8;

/// Reassembles the stream, and sends status reports on request.
#[derive(Debug)]
pub struct Receiver {
    /// Number of bytes that the receiver buffers beyond the in-order data.
    window: u64,
    max_spans: usize,
    /// Set when the packet that opens the association has arrived.
    open: bool,
    /// Next byte expected in order.
    pub rseq: u64,
    /// Received spans after `rseq`, as start and end.
    beyond: Map<u64, u64>,
    /// Highest number of the received requests.
    echo: u32,
    /// Counters of the received packets and of the reports.
    pub stats: Stats,
    /// Bytes before `rseq` that the program has not read. They use up the window.
    pub unread: u64,
}

impl Receiver {
    /// Creates a receiver with room for `window` bytes, and packets of at most `packet` bytes.
    pub fn new(window: u64, packet: u32) -> Self {
        let room = packet.saturating_sub(ECNTL_LEN) / SPAN_LEN;
        Self {
            window,
            max_spans: MIN_SPANS.max(room as usize),
            open: false,
            rseq: 0,
            beyond: Map::new(),
            echo: 0,
            stats: Stats::default(),
            unread: 0,
        }
    }

    /// Opens the association without a packet, at the end that opened it.
    pub fn open(&mut self) {
        self.open = true;
    }

    /// Handles data. Before the packet that opens the association, data is dropped.
    pub fn on_data(&mut self, seq: u64, len: u32, first: bool) {
        self.open |= first;
        if !self.open {
            return;
        }
        let end = seq + u64::from(len);
        let (mut from, mut to) = (seq, end);
        let held = self.beyond.range(..=seq).next_back();
        if end <= self.rseq || held.is_some_and(|(_, &held)| end <= held) {
            self.stats.segments_duplicate += 1;
            return;
        }
        self.stats.segments_fresh += 1;
        if seq > self.rseq {
            self.stats.segments_out_of_order += 1;
        }
        // Merges the new span with the spans that it touches or overlaps.
        while let Some((&begins, &ends)) = self.beyond.range(..=to).next_back()
            && ends >= from
        {
            self.beyond.remove(&begins);
            (from, to) = (from.min(begins), to.max(ends));
        }
        if from <= self.rseq {
            self.rseq = to;
        } else {
            self.beyond.insert(from, to);
        }
    }

    /// Handles a request for a status report.
    pub fn on_request(&mut self, sync: u32) -> Option<Status> {
        if !self.open {
            return None;
        }
        self.echo = self.echo.max(sync);
        self.stats.acks_sent += 1;
        let spans = self.beyond.iter().take(self.max_spans);
        Some(Status {
            rseq: self.rseq,
            alloc: self.rseq + self.window.saturating_sub(self.unread),
            echo: self.echo,
            spans: spans.map(|(&from, &to)| -> Span { (from, to) }).collect(),
        })
    }

    /// Returns the received spans after `rseq`, as start and end.
    pub(crate) fn beyond(&self) -> impl Iterator<Item = (&u64, &u64)> {
        self.beyond.iter()
    }

    /// Returns the largest number of spans in a report.
    pub fn max_spans(&self) -> usize {
        self.max_spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver(packets: &[u64]) -> Receiver {
        let mut receiver = Receiver::new(10_000, 1000);
        for &number in packets {
            receiver.on_data(1000 * number, 1000, number == 0);
        }
        receiver
    }

    fn spans(receiver: &mut Receiver) -> (u64, Vec<Span>) {
        let status = receiver.on_request(1).expect("open");
        (status.rseq / 1000, status.spans)
    }

    #[test]
    fn adjacent_spans_are_merged() {
        let mut some = receiver(&[0, 2, 4, 6, 5]);
        let expected = vec![(2000, 3000), (4000, 7000)];
        assert_eq!(spans(&mut some), (1, expected));
        some.on_data(3000, 1000, false);
        assert_eq!(spans(&mut some), (1, vec![(2000, 7000)]));
        some.on_data(1000, 1000, false);
        assert_eq!(spans(&mut some), (7, vec![]));
        assert_eq!(some.stats.segments_out_of_order, 5);
    }

    #[test]
    fn duplicate_and_overlapping_data_is_counted_once() {
        let mut some = receiver(&[0, 1, 1, 3, 3, 0]);
        assert_eq!(some.stats.segments_duplicate, 3);
        assert_eq!(some.stats.segments_fresh, 3);
        // Of an overlapping packet, only the new part counts.
        some.on_data(1500, 1000, false);
        assert_eq!(some.rseq, 2500);
    }

    #[test]
    fn without_its_first_packet_an_association_is_unknown() {
        let mut some = receiver(&[1, 2]);
        assert!(some.on_request(1).is_none());
        some.on_data(0, 1000, true);
        assert_eq!(spans(&mut some), (1, vec![]));
    }

    #[test]
    fn a_report_has_room_for_the_first_spans() {
        let mut some = Receiver::new(10_000, 100);
        some.on_data(0, 100, true);
        for number in 1..20 {
            some.on_data(200 * number, 100, false);
        }
        let (rseq, report) = spans(&mut some);
        assert_eq!(
            (rseq, report.len(), report[7]),
            (0, MIN_SPANS, (1600, 1700))
        );
        assert_eq!(Receiver::new(1, 1000).max_spans(), 61);
    }

    #[test]
    fn an_old_request_does_not_lower_the_echo() {
        let mut some = receiver(&[0]);
        assert_eq!(some.on_request(5).expect("open").echo, 5);
        let status = some.on_request(4).expect("open");
        assert_eq!((status.echo, status.alloc), (5, 11_000));
    }
}
