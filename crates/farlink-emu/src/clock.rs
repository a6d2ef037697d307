//! The engine's time: the monotonic clock, counted from the start of the run.

use crate::packet_socket::DayTime;
use farlink_tcp::{Instant, Interval};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Value of `CLOCK_MONOTONIC` at engine time 0, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    zero: u64,
}

fn monotonic() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

fn read(clock: ClockId) -> u64 {
    // Reading these clocks cannot fail on Linux.
    clock_gettime(clock)
        .map(|t| t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64)
        .unwrap_or_default()
}

impl Clock {
    /// Starts the engine's time at 0 now.
    pub(crate) fn start() -> Self {
        Self { zero: monotonic() }
    }

    /// Returns the current time of the engine.
    #[inline]
    pub(crate) fn now(self) -> Instant {
        Instant::from_nanos(monotonic() - self.zero)
    }

    /// Converts a recent wall-clock time to the engine's time by its age. The result is wrong only
    /// if the wall clock was set in between.
    pub(crate) fn instant(self, at: DayTime) -> Instant {
        let ago = read(ClockId::CLOCK_REALTIME).saturating_sub(at.0);
        let now = self.now().since(Instant::ZERO);
        Instant::ZERO + now.saturating_sub(Interval::from_nanos(ago))
    }

    /// Converts an instant of the engine to `CLOCK_MONOTONIC`.
    pub(crate) fn absolute(self, at: Instant) -> TimeSpec {
        TimeSpec::from_duration(Duration::from_nanos(
            self.zero.saturating_add(at.as_nanos()),
        ))
    }
}
