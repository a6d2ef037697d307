//! The monotonic clock as an instant of the engine, counted from the start.

use crate::packet_socket::DayTime;
use farlink_tcp::{Instant, Interval};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Nanoseconds of `CLOCK_MONOTONIC` at which the engine's time is zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    zero: u64,
}

fn monotonic() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

fn read(clock: ClockId) -> u64 {
    // The clocks of Linux cannot fail.
    clock_gettime(clock)
        .map(|t| t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64)
        .unwrap_or_default()
}

impl Clock {
    /// The engine's time is zero now.
    pub(crate) fn start() -> Self {
        Self { zero: monotonic() }
    }

    /// Now, in the engine's time.
    #[inline]
    pub(crate) fn now(self) -> Instant {
        Instant::from_nanos(monotonic() - self.zero)
    }

    /// The instant of a time of day not long ago: not between, the clock of the day may have been
    /// set.
    pub(crate) fn instant(self, at: DayTime) -> Instant {
        let ago = read(ClockId::CLOCK_REALTIME).saturating_sub(at.0);
        let now = self.now().since(Instant::ZERO);
        Instant::ZERO + now.saturating_sub(Interval::from_nanos(ago))
    }

    /// An instant of the engine as the monotonic clock shows it.
    pub(crate) fn absolute(self, at: Instant) -> TimeSpec {
        TimeSpec::from_duration(Duration::from_nanos(
            self.zero.saturating_add(at.as_nanos()),
        ))
    }
}
