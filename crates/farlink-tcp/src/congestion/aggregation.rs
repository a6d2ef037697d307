//! Allowance for aggregated ACKs (Linux, tcp_bbr.c: `bbr_update_ack_aggregation`).
//!
//! The bytes acknowledged beyond BtlBw times the elapsed time are added to cwnd, so that the sender
//! does not run dry between two bursts of ACKs.

use crate::time::{Instant, Interval};

/// `bbr_extra_acked_win_rtts`: length in rounds of each of the two windows of the maximum filter.
pub(super) const WINDOW_ROUNDS: u32 = 5;
/// `bbr_extra_acked_max_us`: the allowance is at most BtlBw times this time.
const MAX_TIME: Interval = Interval::from_millis(100);
/// `bbr_ack_epoch_acked_reset_thresh` in segments.
const LONGEST_EPOCH: u64 = 1 << 20;

/// Maximum filter of the excess over BtlBw.
#[derive(Debug, Default)]
pub(super) struct Aggregation {
    epoch_at: Instant,
    epoch_acked: u64,
    /// Largest excess in bytes in the current and in the previous window of rounds; `index` is the
    /// current one.
    extra: [u64; 2],
    index: usize,
    rounds: u32,
}

impl Aggregation {
    /// Starts an epoch.
    pub(super) fn restart(&mut self, now: Instant) {
        self.epoch_at = now;
        self.epoch_acked = 0;
    }

    /// Processes an ACK of `acked` bytes at an estimated `rate` (bytes per second) and a window of
    /// `cwnd` bytes. `window` is the length of a filter window in rounds, if the ACK starts a round.
    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        window: Option<u32>,
        rate: f64,
        acked: u64,
        (cwnd, mss): (u64, u64),
    ) {
        if let Some(window) = window {
            self.rounds += 1;
            if self.rounds >= window {
                self.rounds = 0;
                self.index = 1 - self.index;
                self.extra[self.index] = 0;
            }
        }
        let mut expected = (rate * now.since(self.epoch_at).as_secs_f64()) as u64;
        if self.epoch_acked <= expected || self.epoch_acked + acked >= LONGEST_EPOCH * mss {
            self.restart(now);
            expected = 0;
        }
        self.epoch_acked += acked;
        let excess = self.epoch_acked.saturating_sub(expected).min(cwnd);
        self.extra[self.index] = self.extra[self.index].max(excess);
    }

    /// Returns the bytes to add to cwnd at `rate`.
    pub(super) fn allowance(&self, rate: f64) -> u64 {
        let max = (rate * MAX_TIME.as_secs_f64()) as u64;
        self.excess().min(max)
    }

    /// Returns the largest excess of both windows in bytes.
    pub(super) fn excess(&self) -> u64 {
        self.extra[0].max(self.extra[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;
    const RATE: f64 = 1e6;

    fn ack(a: &mut Aggregation, ms: u64, round_start: bool, acked: u64) {
        let now = Instant::ZERO + Interval::from_millis(ms);
        a.on_ack(
            now,
            round_start.then_some(WINDOW_ROUNDS),
            RATE,
            acked,
            (50 * MSS, MSS),
        );
    }

    #[test]
    fn bytes_acked_above_the_rate_are_added_to_cwnd() {
        let mut a = Aggregation::default();
        // A segment per ms is exactly the rate, so the only excess is the segment that starts an
        // epoch.
        for ms in 1..10 {
            ack(&mut a, ms, false, MSS);
        }
        assert_eq!(a.allowance(RATE), MSS);
        // Twenty segments in 2 ms exceed the rate by 18.
        ack(&mut a, 20, false, 10 * MSS);
        ack(&mut a, 22, false, 10 * MSS);
        assert_eq!(a.allowance(RATE), 18 * MSS);
        assert_eq!(a.allowance(RATE / 10.0), 10 * MSS); // 100 ms
        // cwnd limits the excess.
        ack(&mut a, 23, false, 90 * MSS);
        assert_eq!(a.allowance(RATE), 50 * MSS);
    }

    #[test]
    fn an_excess_expires_after_five_to_ten_rounds() {
        let mut a = Aggregation::default();
        ack(&mut a, 1, true, 20 * MSS);
        for round in 2..10 {
            ack(&mut a, 100 * round, true, MSS);
            assert_eq!(a.allowance(RATE), 20 * MSS, "{round}");
        }
        ack(&mut a, 1000, true, MSS);
        assert_eq!(a.allowance(RATE), MSS);
    }

    #[test]
    fn an_epoch_ends_after_a_million_segments() {
        let mut a = Aggregation {
            epoch_acked: LONGEST_EPOCH * MSS - 2 * MSS,
            ..Aggregation::default()
        };
        ack(&mut a, 1, false, MSS);
        assert_eq!(a.allowance(RATE), 50 * MSS);
        ack(&mut a, 2, false, MSS);
        assert_eq!(a.epoch_acked, MSS);
    }
}
