//! Congestion control of STP: slow start and congestion avoidance by reports, or a fixed rate.

use super::config::Config;
use crate::rate::Rate;
use farlink_tcp::{Instant, Interval};

/// Window at the start (RFC 2581), and the least one after a loss.
const INITIAL: u64 = 2;

/// Limit of a sender: a rate, or a congestion window.
#[derive(Debug)]
pub(super) enum Limit {
    Rate(Rate),
    Window(Window),
}

/// Congestion window, in packets.
#[derive(Debug)]
pub(super) struct Window {
    size: u64,
    threshold: u64,
    /// Packets acknowledged in congestion avoidance since the last growth.
    acked: u64,
    /// Number of the last transmission before the last reduction. Losses up to it belong to it.
    reduced_at: u64,
    /// Earliest time of the next packet.
    next: Instant,
}

impl Limit {
    pub(super) fn new(config: &Config, now: Instant) -> Self {
        match config.rate {
            Some(rate) => Self::Rate(Rate::new(rate, config.packet.into(), now)),
            None => Self::Window(Window {
                size: INITIAL,
                threshold: u64::MAX,
                acked: 0,
                reduced_at: 0,
                next: now,
            }),
        }
    }

    /// Returns whether a further packet may be under way beside `flying` ones.
    pub(super) fn has_room(&self, flying: u64) -> bool {
        match self {
            Self::Rate(_) => true,
            Self::Window(window) => flying < window.size,
        }
    }

    /// Returns the earliest time of the next packet.
    pub(super) fn next(&mut self, now: Instant) -> Instant {
        match self {
            Self::Rate(rate) => rate.next(now),
            Self::Window(window) => window.next.max(now),
        }
    }

    /// Counts a packet with this many bytes of data.
    pub(super) fn take(&mut self, now: Instant, bytes: u32, rtt: Option<Interval>) {
        match self {
            Self::Rate(rate) => rate.take(bytes),
            Self::Window(window) => {
                // Reports are rare and free many packets at once, which are spread: over half a
                // round trip in slow start, and over four fifths of one later.
                let rtt = rtt.unwrap_or(Interval::ZERO);
                let gap = if window.size < window.threshold {
                    rtt / (2 * window.size)
                } else {
                    rtt * 4 / (5 * window.size)
                };
                window.next = window.next.max(now) + gap;
            }
        }
    }

    /// Handles newly acknowledged packets. Only a window that limited the sender grows.
    pub(super) fn on_acked(&mut self, packets: u64, limited: bool) {
        let Self::Window(window) = self else { return };
        if !limited {
            return;
        }
        let fast = packets.min(window.threshold.saturating_sub(window.size));
        window.size += fast;
        window.acked += packets - fast;
        if window.acked >= window.size {
            window.acked -= window.size;
            window.size += 1;
        }
    }

    /// Handles the loss of transmission `number`, of which `sent` there were so far, with `flying`
    /// packets under way. The window is halved at most once per round trip.
    pub(super) fn on_lost(&mut self, number: u64, sent: u64, flying: u64) {
        if let Self::Window(window) = self
            && number > window.reduced_at
        {
            window.threshold = INITIAL.max(flying / 2);
            window.size = window.threshold;
            window.acked = 0;
            window.reduced_at = sent;
        }
    }

    /// Handles the lack of any report.
    pub(super) fn on_silence(&mut self, sent: u64, flying: u64) {
        if let Self::Window(window) = self {
            window.threshold = INITIAL.max(flying / 2).min(window.threshold);
            window.size = 1;
            window.acked = 0;
            window.reduced_at = sent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(limit: &Limit) -> u64 {
        (0..1 << 40)
            .find(|&flying| !limit.has_room(flying))
            .expect("one")
    }

    fn limit() -> Limit {
        let config = Config {
            rate: None,
            packet: 1000,
            window: 1 << 20,
            polls: 3,
            early_data: true,
        };
        Limit::new(&config, Instant::ZERO)
    }

    #[test]
    fn the_window_doubles_and_later_grows_by_one_per_round_trip() {
        let mut some = limit();
        assert_eq!(size(&some), 2);
        some.on_acked(2, true);
        some.on_acked(4, true);
        assert_eq!(size(&some), 8);
        some.on_acked(100, false);
        assert_eq!(size(&some), 8);
        // Halved: 4, and a round trip adds one.
        some.on_lost(9, 20, 8);
        assert_eq!(size(&some), 4);
        some.on_acked(3, true);
        assert_eq!(size(&some), 4);
        some.on_acked(1, true);
        assert_eq!(size(&some), 5);
        some.on_acked(5, true);
        assert_eq!(size(&some), 6);
    }

    #[test]
    fn losses_of_one_round_trip_halve_once() {
        let mut some = limit();
        some.on_acked(62, true);
        some.on_lost(1, 100, 64);
        assert_eq!(size(&some), 32);
        some.on_lost(100, 120, 64);
        assert_eq!(size(&some), 32);
        some.on_lost(101, 130, 32);
        assert_eq!(size(&some), 16);
        some.on_lost(200, 201, 1);
        assert_eq!(size(&some), 2);
    }

    /// After a silence the window is 1, and grows fast to half of what it was.
    #[test]
    fn silence_starts_again() {
        let mut some = limit();
        some.on_acked(62, true);
        some.on_silence(100, 64);
        assert_eq!(size(&some), 1);
        some.on_lost(100, 100, 64);
        assert_eq!(size(&some), 1);
        some.on_acked(31, true);
        assert_eq!(size(&some), 32);
        some.on_acked(32, true);
        assert_eq!(size(&some), 33);
        // A second silence does not raise the threshold.
        some.on_silence(200, 1000);
        some.on_acked(31, true);
        some.on_acked(31, true);
        assert_eq!(size(&some), 32);
    }

    /// A window of 4 in slow start sends each eighth of the round trip, and one of 4 in congestion
    /// avoidance each fifth.
    #[test]
    fn packets_are_spread_over_the_round_trip() {
        let mut some = limit();
        let rtt = Some(Interval::from_millis(400));
        some.on_acked(2, true);
        let at = |ms| Instant::ZERO + Interval::from_millis(ms);
        assert_eq!(some.next(at(0)), at(0));
        some.take(at(0), 1000, rtt);
        assert_eq!(some.next(at(0)), at(50));
        some.take(at(60), 1000, rtt);
        assert_eq!(some.next(at(0)), at(110));
        some.on_lost(9, 20, 8);
        some.take(at(200), 1000, rtt);
        assert_eq!(some.next(at(0)), at(280));
        some.take(at(280), 1000, None);
        assert_eq!(some.next(at(0)), at(280));
    }
}
