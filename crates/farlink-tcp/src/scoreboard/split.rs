//! Splitting of segments that are longer than a lowered path MTU allows.

use super::{EVER_RETX, LOST, RETX, SACKED, Scoreboard, Sent};

impl Scoreboard {
    /// Splits segments longer than `mss` that are not SACKed, and marks the parts lost. The loss is
    /// not congestion, so neither [`Scoreboard::losses`] nor a rate sample counts it. Returns
    /// whether any segment was split.
    pub(crate) fn split(&mut self, mss: u32) -> bool {
        let too_long = |s: &Sent| s.len > mss && !s.is(SACKED);
        if !self.segments.iter().any(too_long) {
            return false;
        }
        for i in (0..self.segments.len()).rev() {
            let whole = self.segments[i];
            if !too_long(&whole) {
                continue;
            }
            if !whole.is(LOST) {
                self.lost += u64::from(whole.len);
            }
            if whole.is(RETX) {
                self.retransmitted -= u64::from(whole.len);
            }
            let piece = |start: u32| Sent {
                start: whole.start + u64::from(start),
                len: mss.min(whole.len - start),
                state: (whole.state & EVER_RETX) | LOST,
                at: whole.at,
            };
            self.segments[i] = piece(0);
            for (more, start) in (1..).zip((mss..whole.len).step_by(mss as usize)) {
                self.segments.insert(i + more, piece(start));
                if let Some(rate) = &mut self.rate {
                    rate.split(i);
                }
            }
        }
        // The split changed indices, so the search for lost segments starts again at the first.
        self.next_retransmission = self.first;
        let lost = (0..self.segments.len())
            .rev()
            .find(|&i| self.segments[i].is(LOST));
        self.scanned_to = self.first + lost.map_or(0, |last| last as u64 + 1);
        self.order_anew();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::RateSampler;
    use crate::time::Instant;

    #[test]
    fn too_long_segments_are_split_and_retransmitted_in_order() {
        let mut b = Scoreboard {
            rate: Some(Box::<RateSampler>::default()),
            order: Some(Box::default()),
            ..Scoreboard::default()
        };
        for len in [100, 250, 90, 250, 200] {
            b.sent(len, Instant::ZERO);
        }
        b.sack(440, 690); // the fourth segment arrived before the path changed
        assert!(b.split(100));
        b.check();
        assert_eq!(b.losses(), 0);
        let mut again = Vec::new();
        while let Some((i, s)) = b.next_lost() {
            again.push((s.start, s.len));
            b.sent_again(i, Instant::ZERO);
            b.check();
        }
        let expected = [(100, 100), (200, 100), (300, 50), (690, 100), (790, 100)];
        assert_eq!(again, expected);
        assert!(!b.split(100));
    }
}
