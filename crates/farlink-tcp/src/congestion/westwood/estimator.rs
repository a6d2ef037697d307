//! Interface of the bandwidth estimators of Westwood and Westwood+.

use crate::congestion::RoundTrip;
use crate::time::{Instant, Interval};
use farlink_small::{Printable, printable};

printable!(Estimator);

/// Kernel versions, whose estimates and window rules differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kernel {
    /// Linux 2.4.26 and 2.6.3 to 2.6.17: both filters start from zero, and the RTT is SRTT.
    First,
    /// Linux 2.6.18 and later: the first sample sets both filters, the first ACK counts no bytes, a
    /// time-out restarts `rtt_min`.
    Current,
}

/// An estimator of the bandwidth.
pub(super) trait Estimator: Printable + Send + 'static {
    /// Handles the end of the handshake.
    fn on_established(&mut self, _now: Instant) {}

    /// Counts `bytes` that an ACK shows to have left the network. `rtt` is the last known RTT.
    fn on_delivered(&mut self, now: Instant, bytes: u64, rtt: Option<Interval>);

    /// Processes the RTT `last` of the ACK just passed to [`Self::on_delivered`]; `rtt` already
    /// includes it.
    fn on_rtt(&mut self, _last: Option<Interval>, _rtt: &dyn RoundTrip) {}

    /// Accounts for the time without an ACK up to `now`.
    fn on_silence(&mut self, _now: Instant) {}

    /// Handles a time-out that reduced ssthresh.
    fn on_timeout(&mut self) {}

    /// Returns `BWE` in bytes per second.
    fn bandwidth(&self) -> f64;

    /// Returns the estimator's own `RTTmin`; `None` for the controller's.
    fn rtt_min(&self) -> Option<Interval> {
        None
    }

    /// Returns `BWE * RTTmin` in bytes, at least two segments.
    fn share(&self, rtt_min: Interval, mss: u64) -> u64 {
        ((self.bandwidth() * rtt_min.as_secs_f64()) as u64).max(2 * mss)
    }

    /// Returns the kernel whose window rules apply; `None` for those of the papers.
    fn kernel(&self) -> Option<Kernel> {
        None
    }
}
