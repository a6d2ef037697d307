//! RTT estimator of Linux: Sarolahti and Kuznetsov 2002, "Congestion Control in Linux TCP", section
//! 4 (`tcp_rtt_estimator`).
//!
//! SRTT is that of Jacobson 1988. The deviation differs in three ways, each to avoid spurious
//! time-outs. The RTO adds the maximum deviation of the last round, not the current one. The
//! minimum applies to the deviation, not to the whole RTO. A sample far below SRTT raises the
//! deviation only by an eighth.

use crate::seq::Offset;
use crate::time::Interval;

/// State in nanoseconds, scaled as in Linux.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Linux {
    /// 8 SRTT; zero before the first sample.
    srtt: u64,
    /// 4 times the smoothed deviation.
    mdev: u64,
    /// Maximum of `mdev` since the start of the round.
    mdev_max: u64,
    /// Margin above SRTT.
    rttvar: u64,
    /// SND.UNA and SND.NXT.
    window: (Offset, Offset),
    /// SND.NXT at the start of the round.
    round_end: Offset,
}

impl Linux {
    /// Stores the window in flight for the next sample.
    pub(super) fn window(&mut self, una: Offset, nxt: Offset) {
        self.window = (una, nxt);
    }

    /// Processes a sample; `min` is the minimum of RTO - SRTT.
    pub(super) fn sample(&mut self, rtt: Interval, min: Interval) {
        let (rtt, min) = (rtt.as_nanos(), min.as_nanos());
        let (una, nxt) = self.window;
        if self.srtt == 0 {
            self.start(rtt, rtt / 2, min);
            self.round_end = nxt;
            return;
        }
        let mean = self.srtt >> 3;
        self.srtt = self.srtt - mean + rtt;
        let (err, deviation) = (rtt.abs_diff(mean), self.mdev >> 2);
        if err < deviation {
            self.mdev -= deviation - err;
        } else if rtt < mean {
            self.mdev += (err - deviation) >> 3;
        } else {
            self.mdev += err - deviation;
        }
        self.mdev_max = self.mdev_max.max(self.mdev);
        self.rttvar = self.rttvar.max(self.mdev_max);
        if una > self.round_end {
            self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
            self.round_end = nxt;
            self.mdev_max = min;
        }
    }

    /// Starts from this mean and deviation, without history.
    pub(super) fn start(&mut self, srtt: u64, deviation: u64, min: u64) {
        self.srtt = srtt.max(1) << 3;
        self.mdev = deviation << 2;
        self.rttvar = self.mdev.max(min);
        self.mdev_max = self.rttvar;
    }

    /// Mean.
    pub(super) fn srtt(&self) -> Interval {
        Interval::from_nanos(self.srtt >> 3)
    }

    /// Returns RTO - SRTT.
    pub(super) fn margin(&self) -> Interval {
        Interval::from_nanos(self.rttvar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Interval = Interval::from_millis;

    /// Processes samples, each in a round of its own.
    fn rounds(linux: &mut Linux, samples: &[u64]) {
        for &rtt in samples {
            let end = linux.round_end;
            linux.window(end + 1, end + 10);
            linux.sample(MS(rtt), MS(200));
        }
    }

    fn after(samples: &[u64]) -> (Interval, Interval) {
        let mut linux = Linux::default();
        rounds(&mut linux, samples);
        (linux.srtt(), linux.margin())
    }

    /// RTO = 3 R at the first sample, but at least R + 200 ms (not 200 ms).
    #[test]
    fn the_first_sample() {
        assert_eq!(after(&[600]), (MS(600), MS(1200)));
        assert_eq!(after(&[10]), (MS(10), MS(200)));
    }

    /// At equal samples the margin falls by a quarter of its excess per round, down to 200 ms.
    #[test]
    fn the_margin_falls_by_a_quarter_a_round_trip_to_its_least() {
        let mut linux = Linux::default();
        rounds(&mut linux, &[600]);
        // The round that ends here still contains the maximum of the handshake.
        rounds(&mut linux, &[600]);
        assert_eq!(linux.margin(), MS(1200));
        // mdev is now 9/16 of 1200 ms, and 3/4 of the excess above it remains.
        rounds(&mut linux, &[600]);
        assert_eq!(linux.margin(), MS(1200) - (MS(1200) - MS(675)) / 4);
        rounds(&mut linux, &[600; 60]);
        let least = linux.margin();
        assert!(least >= MS(200) && least < MS(201), "{least:?}");
    }

    /// Within a round the margin never falls.
    #[test]
    fn no_sample_within_a_round_lowers_the_margin() {
        let mut linux = Linux::default();
        rounds(&mut linux, &[600]);
        for _ in 0..100 {
            linux.window(linux.round_end, linux.round_end + 10);
            linux.sample(MS(600), MS(200));
        }
        assert_eq!(linux.margin(), MS(1200));
    }

    /// A sample 32 ms above the mean adds 32 - 4 ms. An equal distance below the mean adds an
    /// eighth of that.
    #[test]
    fn a_sample_below_the_mean_raises_the_deviation_by_an_eighth() {
        let deviation = |rtt| {
            let mut linux = Linux::default();
            linux.start(MS(600).as_nanos(), MS(4).as_nanos(), 0);
            linux.sample(MS(rtt), MS(0));
            linux.mdev
        };
        assert_eq!(deviation(632), MS(16 + 28).as_nanos());
        assert_eq!(deviation(568), MS(16).as_nanos() + MS(28).as_nanos() / 8);
        // A small error lowers the deviation in either direction: RFC 6298's 3/4 and 1/4.
        assert_eq!(deviation(602), MS(14).as_nanos());
        assert_eq!(deviation(598), MS(14).as_nanos());
    }
}
