//! Round-trip times from a request to its report.

use farlink_tcp::{Interval, Stats};

/// Smoothed round-trip time and its mean deviation (Jacobson 1988).
#[derive(Debug, Default)]
pub(crate) struct RoundTrip {
    pub(crate) smoothed: Option<Interval>,
    deviation: Interval,
}

impl RoundTrip {
    /// Takes a sample, which is also counted.
    pub(crate) fn sample(&mut self, rtt: Interval, stats: &mut Stats) {
        stats.rtt_samples += 1;
        stats.rtt_sum += rtt.as_nanos();
        stats.rtt_min = Some(stats.rtt_min.map_or(rtt, |least| least.min(rtt)));
        stats.rtt_max = stats.rtt_max.max(rtt);
        (self.smoothed, self.deviation) = match self.smoothed {
            None => (Some(rtt), rtt / 2),
            Some(smoothed) => (
                Some((smoothed * 7 + rtt) / 8),
                (self.deviation * 3 + rtt.abs_diff(smoothed)) / 4,
            ),
        };
    }

    /// Returns the round-trip time plus four deviations; `None` before a sample.
    pub(crate) fn bound(&self) -> Option<Interval> {
        self.smoothed.map(|smoothed| smoothed + self.deviation * 4)
    }
}
