//! Transit times of data segments from one TCP to the other, with retransmissions.
//!
//! Data in flight is in a queue of pieces. Without reordering and loss, departures are added at one
//! end and arrivals removed at the other. The queue is at most as long as the window, and allocates
//! no memory after it has reached this length.

use farlink_tcp::{Instant, Ring, Seq};

/// A range of the stream that starts at the end of the previous piece.
#[derive(Clone, Copy, Debug)]
struct Piece {
    end: Seq,
    /// Time of the first departure, or `ARRIVED` after the arrival.
    left: Instant,
}

const ARRIVED: Instant = Instant::MAX;

/// Times of the segments of one direction of a flow.
#[derive(Clone, Debug, Default)]
#[repr(align(64))] // Otherwise some values would span two cache lines.
pub(crate) struct Transit {
    /// Pieces that have not arrived, and arrived pieces after them.
    pieces: Ring<Piece>,
    /// Start of the first piece.
    start: Seq,
    /// Position after the last byte that has left; `None` before the first.
    end: Option<Seq>,
    /// Index after the piece that arrived last, because most segments arrive in sequence, also
    /// after a hole.
    next: u32,
    /// Number of arrived pieces in the queue, which follow missing pieces.
    arrived_count: u32,
    /// Sum of the transit times in nanoseconds, and their number.
    sum: u64,
    count: u64,
}

impl Transit {
    /// Prefetches the pieces that the next departure or arrival reads.
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.pieces.prefetch(0);
        if self.next > 0 {
            self.pieces.prefetch(self.next as usize);
        }
    }

    /// Adds a departing data segment. Bytes that departed before keep the time of their first
    /// departure.
    #[inline(always)] // one call site
    pub(crate) fn sent(&mut self, seq: Seq, len: u32, now: Instant) {
        let end = seq.at(u64::from(len));
        debug_assert!(len > 0, "no data");
        if self.end != Some(seq) && !self.sent_elsewhere(seq, end) {
            return;
        }
        self.end = Some(end);
        self.pieces.push_back(Piece { end, left: now });
    }

    /// Handles a segment that does not start at `self.end`. The segment is the first data, or some
    /// of its data departed before. Returns whether the segment has new bytes.
    #[cold]
    fn sent_elsewhere(&mut self, seq: Seq, end: Seq) -> bool {
        if let Some(from) = self.end {
            return end.diff(from) > 0;
        }
        self.start = seq;
        true
    }

    /// Handles an arriving data segment with new bytes.
    #[inline(always)] // one call site
    pub(crate) fn arrived(&mut self, seq: Seq, len: u32, now: Instant) {
        let end = seq.at(u64::from(len));
        match self.pieces.front() {
            Some(&Piece { end: whole, left }) if whole == end && self.start == seq => {
                self.pass_front(end);
                self.add(now, left);
            }
            Some(_) if self.start == seq => self.arrived_first(end, now),
            _ => self.arrived_behind(seq, end, now),
        }
        while self.arrived_count > 0
            && let Some(&Piece { end, left: ARRIVED }) = self.pieces.front()
        {
            self.arrived_count -= 1;
            self.pass_front(end);
        }
    }

    /// Removes the first piece, which ends at `end`.
    #[inline]
    fn pass_front(&mut self, end: Seq) {
        self.pieces.drop_front();
        self.start = end;
        self.next = self.next.saturating_sub(1);
    }

    /// Handles the next segment in sequence, whose end is not that of the first piece. A proxy that
    /// forms new segments sends most of its segments so.
    #[inline(never)] // Rarely called without such a proxy.
    fn arrived_first(&mut self, end: Seq, now: Instant) {
        let mut first = None;
        while self.start.diff(end) < 0
            && let Some(&piece) = self.pieces.front()
        {
            if piece.left == ARRIVED {
                self.arrived_count -= 1;
            } else {
                first = first.or(Some(piece.left));
                if piece.end.diff(end) > 0 {
                    self.start = end;
                    break;
                }
            }
            self.pass_front(piece.end);
        }
        if let Some(left) = first {
            self.add(now, left);
        }
    }

    /// Handles a segment that arrives out of order. Most such segments follow the piece that
    /// arrived last.
    fn arrived_behind(&mut self, seq: Seq, end: Seq, now: Instant) {
        let begins = match self.next {
            0 => self.start,
            n => self.pieces[n as usize - 1].end,
        };
        match self.pieces.get_mut(self.next as usize) {
            Some(piece) if piece.end == end && begins == seq && piece.left != ARRIVED => {
                let left = std::mem::replace(&mut piece.left, ARRIVED);
                self.arrived_count += 1;
                self.next += 1;
                self.add(now, left);
            }
            _ => self.arrived_anywhere(seq, end, now),
        }
    }

    /// Starts another connection, and removes the pieces of the previous one.
    pub(crate) fn renew(&mut self) {
        self.pieces.clear();
        (self.next, self.arrived_count) = (0, 0);
        self.end = None;
    }

    /// Removes and returns the departures since the last call, as the end of each piece and its
    /// time.
    pub(crate) fn drain_departures(&mut self) -> Vec<(Seq, Instant)> {
        let pieces = self.pieces.iter().map(|piece| (piece.end, piece.left));
        let pieces = pieces.collect();
        self.pieces.clear();
        pieces
    }

    /// Returns the first position of the stream that has not arrived.
    pub(crate) fn start(&self) -> Seq {
        self.start
    }

    /// Adds departures from another part of the network, where the stream starts at `start`.
    pub(crate) fn add_departures(&mut self, start: Seq, departures: &[(Seq, Instant)]) {
        if self.end.is_none() {
            self.start = start;
        }
        for &(end, left) in departures {
            self.end = Some(end);
            self.pieces.push_back(Piece { end, left });
        }
    }

    /// Returns the mean transit time in nanoseconds.
    pub(crate) fn mean_nanos(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    fn add(&mut self, now: Instant, left: Instant) {
        let time = now.since(left).as_nanos();
        self.sum = self.sum.saturating_add(time);
        self.count += 1;
    }

    /// Handles a segment at any position, whose boundaries may differ from those of its first
    /// departure.
    #[inline(never)] // Rarely called: nearly all segments arrive at the expected index.
    fn arrived_anywhere(&mut self, seq: Seq, end: Seq, now: Instant) {
        let place = seq.diff(self.start);
        let mut i = self
            .pieces
            .partition_point(|piece| piece.end.diff(self.start) <= place);
        let mut at = match i.checked_sub(1) {
            Some(before) => self.pieces[before].end,
            None => self.start,
        };
        let mut first = None;
        while let Some(&piece) = self.pieces.get(i) {
            if at.diff(end) >= 0 {
                break;
            }
            if piece.left != ARRIVED {
                first = first.or(Some(piece.left));
                if at.diff(seq) < 0 {
                    // The bytes before the segment have not arrived.
                    self.pieces.insert(i, Piece { end: seq, ..piece });
                    i += 1;
                }
                if piece.end.diff(end) > 0 {
                    self.pieces.insert(i, Piece { end, left: ARRIVED });
                    self.arrived_count += 1;
                    i += 1;
                    break;
                }
                self.pieces[i].left = ARRIVED;
                self.arrived_count += 1;
            }
            at = piece.end;
            i += 1;
        }
        self.next = i as u32;
        if let Some(left) = first {
            self.add(now, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farlink_tcp::Interval;

    const MS: fn(u64) -> Instant = |n| Instant::ZERO + Interval::from_millis(n);

    fn mean_ms(transit: &Transit) -> Option<f64> {
        transit.mean_nanos().map(|nanos| nanos / 1e6)
    }

    #[test]
    fn each_segment_counts_once_from_its_first_departure() {
        let mut t = Transit::default();
        // The ISN is just below the wrap of sequence numbers.
        let isn = Seq(u32::MAX - 150);
        for i in 0..4 {
            t.sent(isn.at(100 * i), 100, MS(10 * i));
        }
        assert_eq!(mean_ms(&t), None);
        t.arrived(isn, 100, MS(50));
        t.arrived(isn.at(200), 100, MS(70)); // 100 is missing
        t.arrived(isn.at(300), 100, MS(80));
        assert_eq!(mean_ms(&t), Some(50.0));
        t.sent(isn.at(100), 100, MS(200)); // sent again
        t.arrived(isn.at(100), 100, MS(260)); // after 250
        assert_eq!(mean_ms(&t), Some(100.0));
        assert!(t.pieces.is_empty());
    }

    #[test]
    fn pieces_of_other_lengths_count_from_their_first_new_byte() {
        let mut t = Transit::default();
        let isn = Seq(7);
        t.sent(isn, 100, MS(0));
        t.sent(isn.at(100), 100, MS(10));
        t.arrived(isn.at(40), 20, MS(100)); // out of the middle: 100
        t.arrived(isn.at(60), 80, MS(100)); // over the border: 100
        assert_eq!(t.pieces.len(), 5);
        t.arrived(isn, 100, MS(160)); // with 40 new bytes: 160
        t.arrived(isn.at(120), 80, MS(170)); // the last 60 of the second: 160
        assert_eq!(mean_ms(&t), Some(130.0));
        assert!(t.pieces.is_empty());
    }

    #[test]
    fn next_segment_may_cover_pieces_and_parts_of_pieces() {
        let mut t = Transit::default();
        let isn = Seq(u32::MAX - 150);
        for i in 0..4 {
            t.sent(isn.at(100 * i), 100, MS(10 * i));
        }
        t.arrived(isn, 40, MS(50)); // the first part of a piece: 50
        t.arrived(isn.at(40), 110, MS(60)); // its rest, and half of the second: 60
        assert_eq!((t.pieces.len(), t.start), (3, isn.at(150)));
        t.arrived(isn.at(220), 30, MS(70)); // out of the third: 50
        t.arrived(isn.at(150), 80, MS(80)); // up to within the piece that has arrived: 70
        assert_eq!((t.pieces.len(), t.start), (2, isn.at(250)));
        t.arrived(isn.at(250), 150, MS(110)); // all that is left: 90
        assert_eq!(mean_ms(&t), Some(64.0));
        assert!(t.pieces.is_empty() && t.arrived_count == 0);
    }

    #[test]
    fn next_connection_forgets_pieces_and_adds_to_the_mean() {
        let mut t = Transit::default();
        t.sent(Seq(1), 10, MS(0));
        t.arrived(Seq(1), 10, MS(20));
        t.sent(Seq(11), 10, MS(20));
        t.renew();
        t.sent(Seq(3_000_000_000), 10, MS(100));
        t.arrived(Seq(3_000_000_000), 10, MS(140));
        assert_eq!(mean_ms(&t), Some(30.0));
        assert!(t.pieces.is_empty());
    }
}
