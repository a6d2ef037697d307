//! Bandwidth estimate of Westwood+ as in Linux: bytes per jiffy in integers
//! (`net/ipv4/tcp_westwood.c`; before 2.6.13 part of `tcp_input.c`).
//!
//! A jiffy is 1/HZ of a second. Each division drops its remainder, so the filter `(7 a + b) >> 3`
//! stops 7 bytes per jiffy below a steady sample when it rises. The estimate is the output of two
//! such filters in series. At 250 kbit/s and HZ = 1000 a sample is 31 bytes per jiffy, and the
//! estimate rises only to 17.

use super::estimator::{Estimator, Kernel};
use crate::congestion::RoundTrip;
use crate::time::{Instant, Interval};

/// `struct westwood` of the kernel. Times are in jiffies, rates in bytes per jiffy.
#[derive(Debug)]
pub(super) struct Jiffies {
    kernel: Kernel,
    hz: u64,
    /// Output of the first filter.
    bw_ns_est: u64,
    /// Output of the second filter, which is the estimate.
    bw_est: u64,
    /// Bytes acknowledged in the current sample.
    bk: u64,
    /// Start of the current sample.
    rtt_win_sx: u64,
    rtt: u64,
    rtt_min: u64,
    first_ack: bool,
    reset_rtt_min: bool,
}

impl Jiffies {
    pub(super) fn new(kernel: Kernel, hz: u32) -> Self {
        let hz = u64::from(hz);
        Self {
            kernel,
            hz,
            bw_ns_est: 0,
            bw_est: 0,
            bk: 0,
            rtt_win_sx: 0,
            rtt: 20 * hz, // TCP_WESTWOOD_INIT_RTT
            rtt_min: 20 * hz,
            first_ack: kernel == Kernel::Current,
            reset_rtt_min: kernel == Kernel::Current,
        }
    }

    /// Returns the whole jiffies in `nanoseconds`.
    fn jiffies(&self, nanoseconds: u64) -> u64 {
        let second = Interval::from_secs(1).as_nanos();
        nanoseconds / second * self.hz + nanoseconds % second * self.hz / second
    }

    /// Returns `time` in jiffies, rounded up (`usecs_to_jiffies`).
    fn jiffies_up(&self, time: Interval) -> u64 {
        let whole = self.jiffies(time.as_nanos());
        let second = Interval::from_secs(1).as_nanos();
        let exact = (time.as_nanos() % second * self.hz).is_multiple_of(second);
        whole + u64::from(!exact)
    }

    /// `westwood_update_window`: ends the sample once it lasts longer than both the RTT and HZ / 20
    /// (`TCP_WESTWOOD_RTT_MIN`, 50 ms).
    fn update_window(&mut self, now: u64) {
        let delta = now - self.rtt_win_sx;
        if delta <= self.rtt.max(self.hz / 20) {
            return;
        }
        if self.rtt > 0 {
            self.filter(self.bk / delta);
        } else if self.kernel == Kernel::Current {
            return; // the sample goes on
        }
        self.bk = 0;
        self.rtt_win_sx = now;
    }

    /// Filters a sample in bytes per jiffy (`westwood_filter`).
    fn filter(&mut self, sample: u64) {
        let fills = self.kernel == Kernel::Current;
        if fills && self.bw_ns_est == 0 && self.bw_est == 0 {
            self.bw_ns_est = sample;
            self.bw_est = sample;
        } else {
            self.bw_ns_est = smoothed(self.bw_ns_est, sample);
            self.bw_est = smoothed(self.bw_est, self.bw_ns_est);
        }
    }

    /// Updates `rtt_min` with the RTT known before the current ACK (`update_rtt_min`).
    fn update_rtt_min(&mut self) {
        if self.reset_rtt_min {
            self.reset_rtt_min = false;
            self.rtt_min = self.rtt;
        } else if self.kernel == Kernel::Current {
            self.rtt_min = self.rtt_min.min(self.rtt);
        } else if self.rtt != 0 && (self.rtt < self.rtt_min || self.rtt_min == 0) {
            self.rtt_min = self.rtt;
        }
    }
}

/// Returns the output of one filter (`westwood_do_filter`).
fn smoothed(old: u64, new: u64) -> u64 {
    (7 * old + new) >> 3
}

impl Estimator for Jiffies {
    fn on_established(&mut self, now: Instant) {
        self.rtt_win_sx = self.jiffies(now.as_nanos());
    }

    /// The kernel counts the bytes of an ACK before it reads the ACK's RTT.
    fn on_delivered(&mut self, now: Instant, bytes: u64, _rtt: Option<Interval>) {
        self.update_window(self.jiffies(now.as_nanos()));
        // The kernel ignores the bytes of the first ACK, which only sets its copy of SND.UNA.
        if !std::mem::take(&mut self.first_ack) {
            self.bk += bytes;
        }
        self.update_rtt_min();
    }

    fn on_rtt(&mut self, last: Option<Interval>, rtt: &dyn RoundTrip) {
        match self.kernel {
            Kernel::First => {
                if let Some(srtt) = rtt.srtt() {
                    self.rtt = self.jiffies(srtt.as_nanos());
                }
            }
            Kernel::Current => {
                if let Some(last) = last {
                    self.rtt = self.jiffies_up(last);
                }
            }
        }
    }

    fn on_timeout(&mut self) {
        self.reset_rtt_min = self.kernel == Kernel::Current;
    }

    fn bandwidth(&self) -> f64 {
        (self.bw_est * self.hz) as f64
    }

    fn rtt_min(&self) -> Option<Interval> {
        let second = Interval::from_secs(1);
        Some(second * self.rtt_min / self.hz)
    }

    /// Returns `BWE * RTTmin` in whole segments (`tcp_westwood_bw_rttmin`).
    fn share(&self, _rtt_min: Interval, mss: u64) -> u64 {
        (self.bw_est * self.rtt_min / mss).max(2) * mss
    }

    fn kernel(&self) -> Option<Kernel> {
        Some(self.kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{RtoAlgorithm, RtoConfig};
    use crate::rto::RttEstimator;

    const MS: fn(u64) -> Interval = Interval::from_millis;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + MS(ms)
    }

    /// The filter step by step, for samples of 31 (250 kbit/s, HZ = 1000) from zero: floor((7 * 0 +
    /// 31) / 8) = 3, floor((21 + 31) / 8) = 6, ... The first filter stops at 31 - 7, the second 7
    /// below the first.
    #[test]
    fn filters_from_zero_come_to_rest_fourteen_below_the_sample() {
        let mut w = Jiffies::new(Kernel::First, 1000);
        let mut observed = Vec::new();
        for _ in 0..14 {
            w.filter(31);
            observed.push((w.bw_ns_est, w.bw_est));
        }
        #[rustfmt::skip]
        assert_eq!(observed, [
            (3, 0), (6, 0), (9, 1), (11, 2), (13, 3), (15, 4), (17, 5),
            (18, 6), (19, 7), (20, 8), (21, 9), (22, 10), (23, 11), (24, 12),
        ]);
        for _ in 0..100 {
            w.filter(31);
        }
        assert_eq!((w.bw_ns_est, w.bw_est), (24, 17));
    }

    /// A falling filter also drops the remainder, so it reaches the sample: 24, 23, 22, ... From
    /// zero, a filter stays at zero for samples below eight bytes per jiffy.
    #[test]
    fn filters_fall_all_the_way_and_do_not_rise_below_eight() {
        let mut w = Jiffies::new(Kernel::First, 1000);
        (w.bw_ns_est, w.bw_est) = (24, 24);
        for expected in [(23, 23), (22, 22), (21, 21)] {
            w.filter(17);
            assert_eq!((w.bw_ns_est, w.bw_est), expected);
        }
        for _ in 0..100 {
            w.filter(17);
        }
        assert_eq!((w.bw_ns_est, w.bw_est), (17, 17));
        for (sample, rest) in [(7, 0), (8, 1)] {
            let mut w = Jiffies::new(Kernel::First, 1000);
            for _ in 0..100 {
                w.filter(sample);
            }
            assert_eq!(w.bw_ns_est, rest);
        }
    }

    /// Since 2.6.18 the first sample that is not zero sets both filters.
    #[test]
    fn the_first_sample_fills_the_filters_of_later_kernels() {
        let mut w = Jiffies::new(Kernel::Current, 1000);
        w.filter(0);
        assert_eq!((w.bw_ns_est, w.bw_est), (0, 0));
        w.filter(31);
        assert_eq!((w.bw_ns_est, w.bw_est), (31, 31));
        w.filter(40); // floor((217 + 40) / 8) = 32, floor((217 + 32) / 8) = 31
        assert_eq!((w.bw_ns_est, w.bw_est), (32, 31));
    }

    /// 125 kB/s at each HZ: the sample is floor(125,000 / HZ), the filter stops 14 below, and the
    /// estimate is HZ times the result. BWE * RTTmin over 100 ms is rounded to whole segments.
    #[test]
    fn the_estimate_is_lower_where_jiffies_are_shorter() {
        for (hz, idle) in [(100, 1236), (250, 486), (512, 230), (1000, 111)] {
            let mut w = Jiffies::new(Kernel::First, hz);
            for _ in 0..200 {
                w.filter(125_000 / u64::from(hz));
            }
            assert_eq!(w.bw_est, idle, "{hz}");
            w.rtt_min = u64::from(hz) / 10;
            let bytes = idle * (u64::from(hz) / 10);
            assert_eq!(w.share(MS(0), 1000), bytes / 1000 * 1000, "{hz}");
            assert_eq!(w.bandwidth(), (idle * u64::from(hz)) as f64);
        }
        let w = Jiffies::new(Kernel::First, 1000);
        assert_eq!(w.share(MS(0), 1000), 2000); // at least two segments
    }

    /// A sample lasts longer than the RTT and than HZ / 20, and the ACK that ends it counts for the
    /// next sample. HZ = 250: 100 ms are 25 jiffies, HZ / 20 is 12, and an ACK exactly one RTT
    /// after the start does not end the sample.
    #[test]
    fn a_sample_is_longer_than_the_round_trip_and_than_fifty_milliseconds() {
        let mut w = Jiffies::new(Kernel::Current, 250);
        w.on_established(at(1000));
        w.on_delivered(at(1100), 9999, None); // the first ACK counts nothing
        assert_eq!(w.bk, 0);
        w.on_rtt(Some(MS(100)), &RttEstimator::new(RtoConfig::default()));
        assert_eq!(w.rtt, 25);
        w.on_delivered(at(1100), 700, None); // 25 jiffies: not longer than 25
        assert_eq!((w.bk, w.bw_est), (700, 0));
        w.on_delivered(at(1104), 300, None); // 26: floor(700 / 26) = 26 bytes per jiffy
        assert_eq!((w.bk, w.bw_est, w.rtt_win_sx), (300, 26, 276));
        w.on_rtt(Some(MS(8)), &RttEstimator::new(RtoConfig::default()));
        w.on_delivered(at(1104 + 48), 1, None); // 12 jiffies
        assert_eq!(w.bk, 301);
        w.on_delivered(at(1104 + 52), 1, None); // 13: floor(301 / 13) = 23
        assert_eq!((w.bk, w.bw_ns_est), (1, 25)); // floor((182 + 23) / 8)
    }

    /// Since 2.6.18 an RTT is rounded up to jiffies; before, SRTT is rounded down.
    #[test]
    fn round_trip_times_are_whole_jiffies() {
        let mut estimator = RttEstimator::new(RtoConfig {
            algorithm: RtoAlgorithm::Linux,
            ..RtoConfig::default()
        });
        estimator.sample(at(0), at(109));
        for (kernel, hz, jiffies) in [
            (Kernel::Current, 100, 11),
            (Kernel::Current, 250, 28),
            (Kernel::Current, 1000, 109),
            (Kernel::First, 100, 10),
            (Kernel::First, 250, 27),
            (Kernel::First, 1000, 109),
        ] {
            let mut w = Jiffies::new(kernel, hz);
            w.on_rtt(Some(MS(109)), &estimator);
            assert_eq!(w.rtt, jiffies, "{kernel:?} {hz}");
        }
    }

    /// `rtt_min` uses the RTT known before an ACK. Since 2.6.18 a time-out restarts it; before, it
    /// never rose.
    #[test]
    fn a_timeout_restarts_the_least_round_trip_of_later_kernels() {
        for (kernel, after) in [(Kernel::First, 20), (Kernel::Current, 50)] {
            let mut w = Jiffies::new(kernel, 100);
            for rtt in [30, 20, 50] {
                w.rtt = rtt;
                w.on_delivered(at(0), 0, None);
            }
            assert_eq!(w.rtt_min(), Some(MS(200)), "{kernel:?}");
            w.on_timeout();
            w.on_delivered(at(0), 0, None);
            assert_eq!(w.rtt_min, after, "{kernel:?}");
        }
    }

    /// An RTT of zero jiffies gives no sample. Kernels before 2.6.18 also discard the bytes
    /// counted.
    #[test]
    fn a_round_trip_below_a_jiffy_gives_no_sample() {
        for (kernel, left) in [(Kernel::First, 0), (Kernel::Current, 500)] {
            let mut w = Jiffies::new(kernel, 100);
            (w.rtt, w.bk, w.first_ack) = (0, 500, true);
            w.on_delivered(at(1000), 500, None);
            assert_eq!((w.bk, w.bw_est), (left, 0), "{kernel:?}");
        }
    }
}
