//! Rate control: a credit of `burst` bytes per period that does not accumulate over periods.

use farlink_tcp::{Instant, Interval};

/// Rate control of a sender.
///
/// Each period lasts `burst` / `rate` and sets the credit to `burst`. A packet may be sent if any
/// credit is left. Bytes beyond the credit reduce the credit of the next periods, so the rate holds
/// for any packet lengths and bursts.
#[derive(Debug)]
pub(crate) struct Rate {
    bits_per_second: u64,
    burst: u64,
    started: Instant,
    /// Number of periods that have begun.
    periods: u64,
    credit: i64,
}

impl Rate {
    pub(crate) fn new(bits_per_second: u64, burst: u64, started: Instant) -> Self {
        Self {
            bits_per_second,
            burst,
            started,
            periods: 0,
            credit: burst as i64,
        }
    }

    /// Returns the start of period `number`, counted from 0. It is computed from the start of the
    /// flow, so rounding errors do not add up.
    fn begins(&self, number: u64) -> Instant {
        let bits = u128::from(self.burst) * 8 * u128::from(number);
        let nanos = bits * 1_000_000_000 / u128::from(self.bits_per_second);
        self.started + Interval::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX / 2))
    }

    /// Returns the number of the current period.
    fn period(&self, now: Instant) -> u64 {
        let nanos = u128::from(now.since(self.started).as_nanos());
        let length = u128::from(self.burst) * 8 * 1_000_000_000;
        let number = nanos * u128::from(self.bits_per_second) / length;
        let number = u64::try_from(number).unwrap_or(u64::MAX);
        // The starts of periods are rounded down.
        number + u64::from(self.begins(number + 1) <= now)
    }

    /// Returns whether a packet may be sent now.
    pub(crate) fn allows(&mut self, now: Instant) -> bool {
        let period = self.period(now);
        let burst = self.burst as i64;
        let begun = i64::try_from(period - self.periods).unwrap_or(i64::MAX);
        self.periods = period;
        let refilled = self.credit.saturating_add(burst.saturating_mul(begun));
        self.credit = refilled.min(burst);
        self.credit > 0
    }

    /// Subtracts the data bytes of a sent packet from the credit.
    pub(crate) fn take(&mut self, bytes: u32) {
        self.credit -= i64::from(bytes);
    }

    /// Returns the earliest time of the next packet: now if there is credit, otherwise the time of
    /// the next credit.
    pub(crate) fn next(&mut self, now: Instant) -> Instant {
        if self.allows(now) {
            return now;
        }
        let missing = self.credit.unsigned_abs() + 1;
        self.begins(self.periods + missing.div_ceil(self.burst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the departure times of packets with these lengths, in nanoseconds.
    fn leave(rate: u64, burst: u64, packets: &[u32]) -> Vec<u64> {
        let mut rate = Rate::new(rate, burst, Instant::ZERO);
        let mut now = Instant::ZERO;
        let mut times = Vec::new();
        for &bytes in packets {
            now = rate.next(now);
            assert!(rate.allows(now), "it was told too early");
            rate.take(bytes);
            times.push(now.since(Instant::ZERO).as_nanos());
        }
        times
    }

    #[test]
    fn a_packet_leaves_each_period_and_rounding_does_not_add_up() {
        // 8000 bits take 2,666,666.67 ns at 3 Mbit/s.
        let times = leave(3_000_000, 1000, &[1000; 7]);
        let expected: Vec<u64> = (0..7u64).map(|k| k * 8_000_000 / 3).collect();
        assert_eq!(times, expected);
    }

    #[test]
    fn overdrawn_rate_credit_delays_later_packets() {
        // Periods have 1 ms and 100 bytes. After 250 bytes, the credit is positive again in the
        // third period after the first.
        let ms = |times: Vec<u64>| times.iter().map(|t| t / 1_000_000).collect::<Vec<_>>();
        assert_eq!(ms(leave(800_000, 100, &[250, 250, 10, 10])), [0, 2, 5, 5]);
        // A packet of exactly two bursts uses up the credit of this period and the next.
        assert_eq!(ms(leave(800_000, 100, &[200, 100])), [0, 2]);
        assert_eq!(ms(leave(800_000, 100, &[60, 60, 60])), [0, 0, 1]);
    }

    #[test]
    fn idle_time_does_not_accumulate_rate_credit() {
        let mut rate = Rate::new(800_000, 100, Instant::ZERO);
        let late = Instant::ZERO + Interval::from_secs(1);
        assert_eq!(rate.next(late), late);
        rate.take(100);
        assert_eq!(rate.next(late), late + Interval::from_millis(1));
    }
}
