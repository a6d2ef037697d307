//! Dynamic right-sizing of the receive buffer (Fisk and Feng 2001), as Linux
//! does it: `tcp_rcv_space_adjust` and `tcp_rcv_rtt_update`.
//!
//! The bytes that the application reads in a round trip equal the sender's window. The buffer is
//! set to twice these bytes, so that it never limits the sender.
//!
//! A gradual window (Linux: `rcv_ssthresh`) grows by two bytes per received byte up to the whole
//! buffer. Out-of-order data is added to the buffer (Linux 6.16: `tcp_rcvbuf_grow`).

use crate::seq::Offset;
use crate::time::{Instant, Interval};

/// Segments (`TCP_INIT_CWND`) that count as read in the round trip before the first measurement.
const FIRST_SEGMENTS: u64 = 10;
/// Segments added to twice the bytes read, for the growth of the sender's window.
const SPARE_SEGMENTS: u64 = 16;

/// Initial gradual window in bytes: the largest window that a SYN can offer.
const FIRST_WINDOW: u64 = 65_535;
/// Least length in bytes of a segment that widens a gradual window (`tcp_event_data_recv`).
const MIN_OPENING: u32 = 128;

/// Measures round trips at the receiver, and the bytes read in each.
#[derive(Debug)]
pub(super) struct Autotune {
    max: u64,
    mss: u64,
    /// Most bytes read in a round trip.
    space: u64,
    /// Position and time at which the measurement of this round trip began.
    from: (Offset, Instant),
    /// Eight times the RTT in nanoseconds; 0 if unknown.
    rtt: u64,
    /// End of the measured window of data, and the time at which its measurement began.
    round: Option<(Offset, Instant)>,
    /// Bound in bytes of a gradual window; `None` without gradual growth.
    open: Option<u64>,
}

impl Autotune {
    /// Builds the state for a buffer of at most `max` bytes and an initial window of `window`.
    pub(super) fn new(max: u64, mss: u64, window: u64, gradual: bool) -> Self {
        Self {
            max,
            mss,
            space: window.min(FIRST_SEGMENTS * mss).max(1),
            from: (1, Instant::ZERO),
            rtt: 0,
            round: None,
            open: gradual.then(|| window.min(FIRST_WINDOW)),
        }
    }

    /// Bound in bytes of the offered window; `None` for the whole buffer.
    #[inline]
    pub(super) fn open(&self) -> Option<u64> {
        self.open
    }

    /// Processes `len` received bytes. `ahead` is the distance from RCV.NXT to the last
    /// out-of-order byte. Returns the wanted buffer size, given the current size `buffer`.
    #[inline]
    pub(super) fn on_data(&mut self, len: u32, ahead: u64, buffer: u64) -> u64 {
        let Some(open) = &mut self.open else {
            return buffer;
        };
        let expected = match ahead {
            0 => 0,
            _ => (2 * self.space).saturating_add(ahead).min(self.max),
        };
        let buffer = buffer.max(expected);
        if len >= MIN_OPENING {
            *open = (*open + 2 * u64::from(len)).min(buffer);
        }
        buffer
    }

    /// Takes an RTT sample from a data segment that echoes our timestamp of age `rtt`.
    pub(super) fn echoed(&mut self, rtt: Interval) {
        let sample = rtt.as_nanos().max(1);
        self.rtt = match self.rtt {
            0 => 8 * sample,
            rtt => rtt - rtt / 8 + sample,
        };
    }

    /// Measures once per round trip. Data is in order up to `nxt`, read up to `read`, with a window
    /// of `window`. Returns the wanted buffer size if it may exceed the current size.
    pub(super) fn arrived(
        &mut self,
        now: Instant,
        (nxt, read): (Offset, Offset),
        window: u64,
        timestamps: bool,
    ) -> Option<u64> {
        if !timestamps {
            self.time_window(now, nxt, window);
        }
        let (start, since) = self.from;
        if self.rtt == 0 || now.since(since).as_nanos() < self.rtt / 8 {
            return None;
        }
        let mut copied = read.saturating_sub(start);
        let mut spare = SPARE_SEGMENTS * self.mss;
        if self.open.is_some() {
            copied = copied.saturating_sub(nxt.saturating_sub(read));
            spare = 0;
        }
        let mut expected = None;
        if copied > self.space {
            let base = 2 * copied + spare;
            // Adds room for the same relative growth again, because slow start doubles.
            let growth = u128::from(base) * u128::from(copied - self.space);
            let growth = (growth / u128::from(self.space)) as u64;
            expected = Some(base.saturating_add(growth.saturating_mul(2)).min(self.max));
            self.space = copied;
        }
        self.from = (read, now);
        expected
    }

    /// Estimates the RTT without timestamps. A window of data takes at least a round trip, so the
    /// shortest time for a window is an upper bound.
    fn time_window(&mut self, now: Instant, nxt: Offset, window: u64) {
        if let Some((end, at)) = self.round {
            if nxt < end {
                return;
            }
            let sample = 8 * now.since(at).as_nanos().max(1);
            if self.rtt == 0 || sample < self.rtt {
                self.rtt = sample;
            }
        }
        self.round = Some((nxt + window, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Instant {
        Instant::from_nanos(n * 1_000_000)
    }

    #[test]
    fn buffer_follows_bytes_read_per_round_trip() {
        let mut tune = Autotune::new(1 << 20, 1000, 65_535, false);
        tune.echoed(Interval::from_millis(100));
        // The first measurement is compared with ten segments. Ten segments read do not exceed
        // that.
        assert_eq!(tune.arrived(ms(100), (10_001, 10_001), 65_535, true), None);
        // Nothing is measured before a round trip has passed.
        assert_eq!(tune.arrived(ms(199), (30_001, 30_001), 65_535, true), None);
        // 2 · 20 + 16 segments, and 2 · 56 · (20 - 10) / 10.
        let expected = tune.arrived(ms(200), (30_001, 30_001), 65_535, true);
        assert_eq!(expected, Some(56_000 + 2 * 56_000));
        // 2 · 30 + 16, and 2 · 76 · (30 - 20) / 20.
        let expected = tune.arrived(ms(300), (60_001, 60_001), 65_535, true);
        assert_eq!(expected, Some(76_000 + 76_000));
        // Bytes that the application has not read do not count, and fewer bytes than before change
        // nothing.
        assert_eq!(tune.arrived(ms(400), (200_001, 80_001), 65_535, true), None);
        let expected = tune.arrived(ms(500), (900_001, 900_001), 65_535, true);
        assert_eq!(expected, Some(1 << 20), "never beyond the limit");
    }

    #[test]
    fn timestamp_samples_are_smoothed_by_eighths() {
        let mut tune = Autotune::new(1 << 20, 1000, 65_535, false);
        tune.echoed(Interval::from_millis(80));
        assert_eq!(tune.rtt, 8 * 80_000_000);
        tune.echoed(Interval::from_millis(160));
        assert_eq!(tune.rtt, 8 * 90_000_000);
    }

    #[test]
    fn rtt_without_timestamps_is_least_time_of_a_window() {
        let mut tune = Autotune::new(1 << 20, 1000, 4000, false);
        let mut arrive = |at, nxt| {
            tune.arrived(ms(at), (nxt, nxt), 4000, false);
            tune.rtt / 8
        };
        assert_eq!(arrive(10, 1001), 0);
        assert_eq!(arrive(50, 4001), 0);
        assert_eq!(arrive(110, 5001), 100_000_000);
        assert_eq!(arrive(260, 9001), 100_000_000);
        assert_eq!(arrive(330, 13_001), 70_000_000);
    }

    /// Linux 6.16: no spare segments are added, and unread in-order data does not count as read.
    #[test]
    fn buffer_of_gradual_window_has_no_spare_segments() {
        let mut tune = Autotune::new(1 << 20, 1000, 65_535, true);
        tune.echoed(Interval::from_millis(100));
        assert_eq!(tune.arrived(ms(100), (10_001, 10_001), 65_535, true), None);
        // 2 · 20 segments, and 2 · 40 · (20 - 10) / 10.
        let expected = tune.arrived(ms(200), (30_001, 30_001), 65_535, true);
        assert_eq!(expected, Some(40_000 + 2 * 40_000));
        // 35 segments were read and 15 are unread: 35 - 15 = 20, as before.
        assert_eq!(tune.arrived(ms(300), (80_001, 65_001), 65_535, true), None);
    }

    #[test]
    fn gradual_window_grows_by_twice_the_received_bytes() {
        let mut tune = Autotune::new(1 << 20, 1000, 81_920, true);
        assert_eq!(tune.open(), Some(65_535));
        assert_eq!(tune.on_data(127, 0, 81_920), 81_920);
        assert_eq!(tune.open(), Some(65_535), "too short");
        tune.on_data(1000, 0, 81_920);
        assert_eq!(tune.open(), Some(67_535));
        for _ in 0..20 {
            tune.on_data(1000, 0, 81_920);
        }
        assert_eq!(tune.open(), Some(81_920));
        // Buffer: twice the bytes read per round trip, plus the bytes out of order.
        assert_eq!(tune.on_data(1000, 61_920, 81_920), 81_920);
        assert_eq!(tune.on_data(1000, 62_920, 81_920), 82_920);
        assert_eq!(tune.open(), Some(82_920));
        assert_eq!(tune.on_data(1000, 2 << 20, 81_920), 1 << 20);
    }

    #[test]
    fn ungradual_window_is_the_whole_buffer() {
        let mut tune = Autotune::new(1 << 20, 1000, 20_000, false);
        assert_eq!(tune.on_data(1000, 500_000, 20_000), 20_000);
        assert_eq!(tune.open(), None);
    }
}
