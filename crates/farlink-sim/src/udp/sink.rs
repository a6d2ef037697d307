//! Receiver of a UDP flow.

use farlink_small::Quantiles;
use farlink_tcp::{Instant, Interval};

/// Counters of a receiver. All but `duplicated` count only the first copy of each datagram.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    /// Bitmap of the received datagrams.
    bitmap: Vec<u64>,
    pub(crate) received: u64,
    /// Bytes of data in the received datagrams.
    pub(crate) bytes: u64,
    /// Number of copies received after the first.
    pub(crate) duplicated: u64,
    /// Number of datagrams that arrived after a datagram sent later (RFC 4737, 3.3).
    pub(crate) reordered: u64,
    /// Highest received number plus one.
    next: u64,
    delays: Quantiles,
    delay_sum: u128,
    /// Mean and sum of squares by Welford's method (1962), in nanoseconds.
    mean: f64,
    squares: f64,
    last: Interval,
    /// Arrival time of the last datagram.
    last_at: Instant,
    /// Interarrival jitter (RFC 3550, 6.4.1) in nanoseconds.
    jitter: f64,
}

impl Sink {
    /// Records the arrival of datagram `number` with `len` bytes of data. Returns whether it is the
    /// first copy.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        (number, len): (u64, u32),
        sent_at: Instant,
    ) -> bool {
        let (word, bit) = ((number / 64) as usize, 1u64 << (number % 64));
        if self.bitmap.len() <= word {
            self.bitmap.resize(word + 1, 0);
        }
        if self.bitmap[word] & bit != 0 {
            self.duplicated += 1;
            return false;
        }
        self.bitmap[word] |= bit;
        self.received += 1;
        self.bytes += u64::from(len);
        if number < self.next {
            self.reordered += 1;
        } else {
            self.next = number + 1;
        }
        self.time(now.since(sent_at));
        self.last_at = now;
        true
    }

    /// Returns the time from `start` to the last arrival, minus the least delay. If the last
    /// datagram did not wait in a queue, the source had sent for this time.
    pub(crate) fn span(&self, start: Instant) -> Option<Interval> {
        let least = self.delays.least()?;
        let nanos = self.last_at.since(start).as_nanos();
        Some(Interval::from_nanos(nanos.saturating_sub(least)))
    }

    fn time(&mut self, delay: Interval) {
        let nanos = delay.as_nanos();
        if self.received > 1 {
            let change = delay.abs_diff(self.last).as_nanos() as f64;
            self.jitter += (change - self.jitter) / 16.0;
        }
        self.last = delay;
        self.delays.add(nanos);
        self.delay_sum += u128::from(nanos);
        let off = nanos as f64 - self.mean;
        self.mean += off / self.received as f64;
        self.squares += off * (nanos as f64 - self.mean);
    }

    /// Returns the mean one-way delay in nanoseconds.
    pub(crate) fn delay_mean(&self) -> Option<f64> {
        (self.received > 0).then(|| self.delay_sum as f64 / self.received as f64)
    }

    /// Returns the standard deviation of the one-way delay in nanoseconds.
    pub(crate) fn delay_deviation(&self) -> Option<f64> {
        (self.received > 1).then(|| libm::sqrt(self.squares / (self.received - 1) as f64))
    }

    pub(crate) fn delays(&self) -> &Quantiles {
        &self.delays
    }

    /// Returns the interarrival jitter in nanoseconds.
    pub(crate) fn jitter(&self) -> Option<f64> {
        (self.received > 1).then_some(self.jitter)
    }

    /// Returns the highest received number plus one.
    pub(crate) fn highest(&self) -> u64 {
        self.next
    }

    /// Returns the length of the longest run of missing datagrams among the first `sent`.
    pub(crate) fn longest_gap(&self, sent: u64) -> u64 {
        let mut longest = 0;
        let mut next = 0;
        for (word, &bitmap) in (0..).zip(&self.bitmap) {
            let mut left = bitmap;
            while left != 0 {
                let number = word * 64 + u64::from(left.trailing_zeros());
                longest = longest.max(number.min(sent).saturating_sub(next));
                next = number + 1;
                left &= left - 1;
            }
        }
        longest.max(sent.saturating_sub(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a sink of datagrams sent every 10 ms, with these numbers and arrival times in ms.
    fn sink(arrivals: &[(u64, u64)]) -> Sink {
        let at = |ms| Instant::ZERO + Interval::from_millis(ms);
        let mut sink = Sink::default();
        for &(number, ms) in arrivals {
            sink.receive(at(ms), (number, 100), at(10 * number));
        }
        sink
    }

    #[test]
    fn duplicates_and_reordered_datagrams_are_counted_separately() {
        let sink = sink(&[(0, 5), (2, 25), (1, 26), (1, 27), (5, 55), (70, 705)]);
        assert_eq!((sink.received, sink.duplicated, sink.reordered), (5, 1, 1));
        assert_eq!(sink.highest(), 71);
    }

    #[test]
    fn the_longest_gap_may_be_at_either_end() {
        assert_eq!(sink(&[]).longest_gap(9), 9);
        assert_eq!(sink(&[(3, 35), (4, 45)]).longest_gap(5), 3);
        assert_eq!(sink(&[(0, 5), (4, 45)]).longest_gap(5), 3);
        assert_eq!(sink(&[(0, 5), (4, 45)]).longest_gap(10), 5);
        assert_eq!(sink(&[(0, 5), (1, 15)]).longest_gap(2), 0);
        assert_eq!(sink(&[(0, 5), (130, 1305)]).longest_gap(131), 129);
        // A late datagram closes its gap.
        assert_eq!(sink(&[(0, 5), (2, 25), (1, 26)]).longest_gap(3), 0);
    }

    #[test]
    fn delays_in_closed_form() {
        // Delays of 5, 9 and 7 ms.
        let sink = sink(&[(0, 5), (1, 19), (2, 27)]);
        assert_eq!(sink.delay_mean(), Some(7e6));
        assert_eq!(sink.delay_deviation(), Some(2e6));
        assert_eq!(sink.delays().most(), Some(9_000_000));
        // J is 4/16, then grows by (2 - J)/16.
        let expected = 0.25 + (2.0 - 0.25) / 16.0;
        assert!((sink.jitter().unwrap() / 1e6 - expected).abs() < 1e-12);
        let constant = self::sink(&[(0, 5), (1, 15), (2, 25)]);
        assert_eq!(constant.delay_deviation(), Some(0.0));
        assert_eq!(constant.jitter(), Some(0.0));
        assert_eq!(self::sink(&[]).delay_mean(), None);
    }
}
