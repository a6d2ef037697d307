//! The monotonic clock as an instant of the engine, counted from the start.

use farlink_tcp::Instant;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Nanoseconds of `CLOCK_MONOTONIC` at which the engine's time is zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    zero: u64,
}

fn monotonic() -> u64 {
    // The monotonic clock of Linux cannot fail.
    clock_gettime(ClockId::CLOCK_MONOTONIC)
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

    /// An instant of the engine as the monotonic clock shows it.
    pub(crate) fn absolute(self, at: Instant) -> TimeSpec {
        TimeSpec::from_duration(Duration::from_nanos(
            self.zero.saturating_add(at.as_nanos()),
        ))
    }
}
