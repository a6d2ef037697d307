//! Probe timeout of a handshake whose packets wait for the window.
//!
//! Data without acknowledgment (0-RTT data that was lost, for example) can fill the window before
//! the handshake ends. quinn-proto then holds back the client's last packet of the handshake. It
//! probes with 1-RTT packets alone, which the server cannot read. Neither end makes progress until
//! the idle time. RFC 9002, 7.5 demands that probes are not blocked by the window. This timer
//! therefore opens the window for one datagram. The packets of the handshake go first in it.

use std::time::Duration;

/// Largest exponent of the backoff.
const MAX_BACKOFF: u32 = 16;

/// Timer of an end from its first packet of the handshake until the handshake is confirmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rescue {
    /// No packet of the handshake was sent, or the handshake is confirmed.
    Idle,
    /// The timer runs.
    Armed {
        /// Time in nanoseconds.
        due: u64,
        /// Number of expirations.
        expired: u32,
    },
}

/// Returns whether a datagram starts with a packet of the handshake (RFC 9000, 17.2): Initial is
/// type 0 and Handshake type 2.
pub(crate) fn is_of_handshake(datagram: &[u8]) -> bool {
    let first = datagram.first().copied().unwrap_or_default();
    first & 0x80 != 0 && matches!((first >> 4) & 3, 0 | 2)
}

/// Returns the probe timeout: three round-trip times, as after the first sample, whose variation is
/// half of it (RFC 9002, 5.3 and 6.2.1). It doubles with each expiration.
fn timeout(rtt: Duration, expired: u32) -> u64 {
    (3 * rtt.as_nanos() as u64).saturating_mul(1 << expired.min(MAX_BACKOFF))
}

impl Rescue {
    /// Returns the time at which the timer expires.
    pub(crate) fn due(self) -> Option<u64> {
        match self {
            Self::Idle => None,
            Self::Armed { due, .. } => Some(due),
        }
    }

    /// Restarts the timer if the datagram that leaves has a packet of the handshake.
    pub(crate) fn on_sent(&mut self, now: u64, datagram: &[u8], rtt: Duration) {
        if !is_of_handshake(datagram) {
            return;
        }
        let expired = match *self {
            Self::Idle => 0,
            Self::Armed { expired, .. } => expired,
        };
        let due = now + timeout(rtt, expired);
        *self = Self::Armed { due, expired };
    }

    /// Restarts a timer that has expired. Returns whether it has.
    pub(crate) fn on_time(&mut self, now: u64, rtt: Duration) -> bool {
        let Self::Armed { due, expired } = self else {
            return false;
        };
        if *due > now {
            return false;
        }
        *expired += 1;
        *due = now + timeout(rtt, *expired);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);
    const MS: u64 = 1_000_000;

    #[test]
    fn timer_runs_from_the_latest_packet_of_the_handshake_and_doubles() {
        let mut timer = Rescue::Idle;
        // Short headers and 0-RTT packets start no timer.
        for first in [0x40, 0x7f, 0xd0, 0x9c] {
            timer.on_sent(0, &[first], RTT);
            assert_eq!(timer.due(), None, "{first:x}");
        }
        for (now, first) in [(5 * MS, 0xc3), (9 * MS, 0xe0), (9 * MS, 0xa0)] {
            timer.on_sent(now, &[first], RTT);
            assert_eq!(timer.due(), Some(now + 300 * MS), "{first:x}");
        }
        assert!(!timer.on_time(308 * MS, RTT));
        assert!(timer.on_time(309 * MS, RTT));
        assert_eq!(timer.due(), Some((309 + 600) * MS));
        timer.on_sent(400 * MS, &[0xe0], RTT);
        assert_eq!(timer.due(), Some(1000 * MS));
        assert!(timer.on_time(1000 * MS, RTT));
        assert_eq!(timer.due(), Some(2200 * MS));
        for _ in 0..100 {
            let due = timer.due().unwrap();
            assert!(timer.on_time(due, RTT));
        }
    }
}
