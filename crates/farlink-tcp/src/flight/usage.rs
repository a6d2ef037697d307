//! Congestion window validation: an unused window has not probed the path, and does not grow.
//!
//! The rule is that of Linux (`tcp_cwnd_validate`, `tcp_is_cwnd_limited`), in bytes, on the
//! principle of RFC 2861, 3, and RFC 9002, 7.8. RFC 7661 differs: the window grows in every phase
//! that uses at least half of it, and is reduced after a phase that uses less.

use crate::config::{CwndLimit, WindowConfig};
use crate::seq::Offset;

/// Use of the congestion window in the last window of data.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct CwndUsage {
    /// The window grows only while it is in use.
    pub(super) validates: bool,
    /// The peer's largest window bounds the congestion window.
    pub(super) limited_by_peer: bool,
    /// Set if the window was full, or kept data from being sent.
    full: bool,
    /// Maximum bytes in flight in this window of data.
    most: u64,
    /// End position of the window of data for which `full` and the most bytes in flight count.
    end: Offset,
}

impl CwndUsage {
    pub(super) fn new(config: &WindowConfig) -> Self {
        Self {
            validates: config.cwnd_validation,
            limited_by_peer: config.cwnd_limit == CwndLimit::ReceiveWindow,
            ..Self::default()
        }
    }

    /// Records the use of the window when sending stops, with `used` bytes in flight up to `max`.
    /// The highest use in a window of data counts until that window is acknowledged.
    pub(crate) fn note(&mut self, full: bool, used: u64, una: Offset, max: Offset) {
        if una >= self.end || full || (!self.full && used > self.most) {
            *self = Self {
                full,
                most: used,
                end: max,
                ..*self
            };
        }
    }

    /// Notes that the window is full, independent of the bytes in flight.
    #[inline]
    pub(crate) fn note_full(&mut self, max: Offset) {
        self.full = true;
        self.end = max;
    }

    /// Returns whether the window may grow because it was full. In slow start with window
    /// `slow_start`, half of it in use is enough, because slow start doubles the used part.
    #[inline]
    pub(crate) fn limited(&self, slow_start: impl FnOnce() -> Option<u64>) -> bool {
        self.full || slow_start().is_some_and(|cwnd| cwnd < 2 * self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_used_window_grows_only_in_slow_start() {
        let mut usage = CwndUsage::default();
        usage.note(false, 6, 0, 6);
        assert!(usage.limited(|| Some(11)) && !usage.limited(|| Some(12)));
        assert!(!usage.limited(|| None));
    }

    #[test]
    fn full_window_counts_until_acknowledged() {
        let mut usage = CwndUsage::default();
        usage.note_full(10);
        usage.note(false, 3, 7, 10);
        assert!(usage.limited(|| None));
        usage.note(false, 3, 10, 13);
        assert!(!usage.limited(|| None));
        // A higher use of the same window of data replaces the lower one.
        usage.note(false, 6, 11, 17);
        assert!(usage.limited(|| Some(11)));
    }
}
