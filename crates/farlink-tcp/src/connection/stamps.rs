//! Timestamps (RFC 7323): our clock, and the peer's last timestamp.

use crate::segment::Timestamps;
use crate::seq::{Offset, Seq};
use crate::time::{Instant, Interval};

/// Lifetime of TS.Recent without renewal: 24 days, shortly before a clock of 1 ms has passed 2^31
/// ticks (RFC 7323, 5.5).
const RECENT_LIFE: Interval = Interval::from_secs(24 * 24 * 3600);

/// State of the option on one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamps {
    /// Timestamp clock at the start of time.
    offset: u32,
    /// TS.Recent (RFC 7323, 4.3), and the time at which it was set.
    recent: u32,
    recent_at: Instant,
    /// Last.ACK.sent (RFC 7323, 4.3).
    pub(super) last_ack_sent: Offset,
}

impl Stamps {
    /// Derives the clock's offset (RFC 7323, 5.4) from the initial sequence number. The offset is
    /// therefore as random as that number, and the same in every run.
    pub(super) fn new(isn: Seq) -> Self {
        // The finalizer of MurmurHash3 (Appleby 2011): each input bit affects each output bit.
        let mut h = isn.0 ^ 0x9e37_79b9;
        h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
        h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
        Self {
            offset: h ^ (h >> 16),
            recent: 0,
            recent_at: Instant::ZERO,
            last_ack_sent: 0,
        }
    }

    /// Returns our timestamp clock at `now` in milliseconds (RFC 7323, 5.4, allows ticks of 1 ms to
    /// 1 s).
    #[inline]
    pub(super) fn at(&self, now: Instant) -> u32 {
        self.offset
            .wrapping_add((now.as_nanos() / 1_000_000) as u32)
    }

    /// Returns the option to send. `acks` is set if the segment has an ACK; without an ACK the echo
    /// is zero (RFC 7323, 3.2).
    #[inline]
    pub(super) fn option(&self, now: Instant, acks: bool) -> Timestamps {
        Timestamps {
            value: self.at(now),
            echo: if acks { self.recent } else { 0 },
        }
    }

    /// Returns the age of our timestamp `echo`; `None` if `echo` is from the future.
    #[inline]
    pub(super) fn age(&self, now: Instant, echo: u32) -> Option<Interval> {
        let age = self.at(now).wrapping_sub(echo);
        (age < 1 << 31).then(|| Interval::from_millis(u64::from(age)))
    }

    /// Returns the send time of our timestamp `echo`; `None` if `echo` is from the future or from
    /// before time zero.
    #[inline]
    pub(super) fn sent_at(&self, now: Instant, echo: u32) -> Option<Instant> {
        let age = Interval::from_millis(u64::from(self.at(now).wrapping_sub(echo)));
        let tick = now.as_nanos() / 1_000_000 * 1_000_000;
        tick.checked_sub(age.as_nanos()).map(Instant::from_nanos)
    }

    /// Returns whether a segment with this timestamp is an old duplicate (PAWS, RFC 7323, 5.3, R1).
    #[inline]
    pub(super) fn is_old(&self, now: Instant, value: u32) -> bool {
        (value.wrapping_sub(self.recent) as i32) < 0 && now.since(self.recent_at) <= RECENT_LIFE
    }

    /// Sets TS.Recent from the peer's SYN.
    pub(super) fn synchronize(&mut self, now: Instant, value: u32) {
        (self.recent, self.recent_at) = (value, now);
    }

    /// Updates TS.Recent from an accepted segment that begins at `start` (RFC 7323, 5.3, R3). A
    /// segment beyond a hole does not update it (4.3).
    #[inline]
    pub(super) fn accepted(&mut self, now: Instant, value: u32, start: Offset) {
        if start <= self.last_ack_sent {
            (self.recent, self.recent_at) = (value, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_offsets_differ_between_connections() {
        let offsets: Vec<_> = (0..1000).map(|n| Stamps::new(Seq(n)).offset).collect();
        let mut sorted = offsets.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 1000);
        // Half of the offsets are expected in each half of the 32-bit range; the bounds are six
        // standard deviations.
        let low = offsets.iter().filter(|&&n| n < 1 << 31).count();
        assert!((405..=595).contains(&low), "{low}");
        assert_ne!(offsets[0], 0);
    }

    #[test]
    fn echoed_timestamp_gives_its_send_time() {
        let stamps = Stamps::new(Seq(7));
        let at = |ms| Instant::ZERO + Interval::from_millis(ms);
        let echo = stamps.at(at(40));
        assert_eq!(stamps.sent_at(at(100), echo), Some(at(40)));
        assert_eq!(stamps.age(at(100), echo), Some(Interval::from_millis(60)));
        assert_eq!(stamps.sent_at(at(39), echo), None, "from the future");
        assert_eq!(stamps.age(at(39), echo), None, "from the future");
    }
}
