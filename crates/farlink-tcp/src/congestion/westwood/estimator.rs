//! Estimate of the bandwidth, as both forms use it.

use crate::congestion::RoundTrip;
use crate::time::{Instant, Interval};
use std::fmt::Debug;

/// Versions of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kernel {
    /// Linux 2.4.26 and 2.6.3 to 2.6.17: both filters start from zero, the round-trip
    /// time is SRTT.
    First,
    /// Linux 2.6.18 and later: the first sample fills both filters, the first ACK
    /// counts nothing, a time-out restarts `rtt_min`.
    Current,
}

/// An estimate of the bandwidth.
pub(super) trait Estimator: Debug + Send + 'static {
    /// The handshake is over.
    fn established(&mut self, _now: Instant) {}

    /// An ACK shows that `bytes` left the network. `rtt` is the last
    /// round-trip time that is known.
    fn delivered(&mut self, now: Instant, bytes: u64, rtt: Option<Interval>);

    /// The ACK that [`Self::delivered`] was called for gave the round-trip time `last`,
    /// which is part of `rtt` already.
    fn measured(&mut self, _last: Option<Interval>, _rtt: &dyn RoundTrip) {}

    /// No ACK has come until `now`.
    fn silence(&mut self, _now: Instant) {}

    /// A time-out reduced ssthresh.
    fn timed_out(&mut self) {}

    /// `BWE` in bytes per second.
    fn bandwidth(&self) -> f64;

    /// `RTTmin`, where the estimator has a rule of its own for it.
    fn rtt_min(&self) -> Option<Interval> {
        None
    }

    /// `BWE * RTTmin` in bytes, at least two segments.
    fn share(&self, rtt_min: Interval, mss: u64) -> u64 {
        ((self.bandwidth() * rtt_min.as_secs_f64()) as u64).max(2 * mss)
    }

    /// Kernel whose window the estimate is for; `None` for that of the papers.
    fn kernel(&self) -> Option<Kernel> {
        None
    }
}
