//! Value of an ACK: one segment, or the bytes that it acknowledges (RFC 3465).

/// Value of an ACK that opens the window.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ByteCounting {
    /// Itself, and at most a segment. In congestion avoidance it adds MSS * MSS / cwnd in whole
    /// bytes, at least one (RFC 5681, equations 2 and 3).
    #[default]
    Off,
    /// As [`Self::Off`], and fractions of a byte add up: a window of ACKs adds a segment.
    Acks,
    /// The bytes that it acknowledges; in slow start at most so many segments, L
    /// of RFC 3465, and one in the slow start after a time-out (2.3).
    Limit(u32),
    /// The bytes that it acknowledges, in slow start up to ssthresh, as in Linux.
    Unlimited,
}

/// Growth by ACKs as RFC 5681 has it, or by bytes as RFC 3465 has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckCounting {
    how: ByteCounting,
    /// Slow start follows a time-out: an ACK may then cover what arrived long
    /// ago, and L is one segment (RFC 3465, 2.3).
    restarted: bool,
    /// Bytes acknowledged towards the next segment of congestion avoidance. By ACKs the remainder
    /// of MSS * MSS / cwnd.
    counted: u64,
}

impl AckCounting {
    pub(super) fn new(how: ByteCounting) -> Self {
        Self {
            how,
            restarted: false,
            counted: 0,
        }
    }

    /// Bytes that an ACK of `bytes` counts for, whatever the phase.
    pub(super) fn limited(&self, bytes: u64, mss: u64) -> u64 {
        match self.how {
            ByteCounting::Off | ByteCounting::Acks => bytes.min(mss),
            ByteCounting::Limit(_) if self.restarted => bytes.min(mss),
            ByteCounting::Limit(segments) => bytes.min(u64::from(segments) * mss),
            ByteCounting::Unlimited => bytes,
        }
    }

    /// Returns what slow start adds to `cwnd` for an ACK of `bytes`. The window stops at ssthresh,
    /// as in Linux; otherwise one ACK would leap over it.
    pub(super) fn slow_start(&self, cwnd: u64, ssthresh: u64, bytes: u64, mss: u64) -> u64 {
        let step = self.limited(bytes, mss);
        if self.how == ByteCounting::Unlimited {
            step.min(ssthresh.saturating_sub(cwnd))
        } else {
            step
        }
    }

    /// Returns what congestion avoidance adds: a segment for a window of bytes (RFC 3465, 2.1), or
    /// its share for each ACK (RFC 5681, equation 3): in whole bytes and at least one, or exactly.
    pub(super) fn avoidance(&mut self, cwnd: u64, bytes: u64, mss: u64) -> u64 {
        self.resumed();
        if self.how == ByteCounting::Off {
            return (mss * mss / cwnd).max(1);
        }
        if self.how == ByteCounting::Acks {
            if self.counted >= cwnd {
                self.counted %= cwnd; // the window was reduced below the remainder
            }
            let share = self.counted + mss * mss;
            self.counted = share % cwnd;
            return share / cwnd;
        }
        self.counted += bytes;
        if self.counted < cwnd {
            return 0;
        }
        self.counted -= cwnd;
        mss
    }

    /// Bytes that an ACK of `bytes` counts for where congestion avoidance adds its
    /// share of the window at each ACK.
    pub(super) fn share(&mut self, bytes: u64, mss: u64) -> u64 {
        self.resumed();
        match self.how {
            ByteCounting::Off | ByteCounting::Acks => mss,
            ByteCounting::Limit(_) | ByteCounting::Unlimited => bytes,
        }
    }

    /// Congestion avoidance goes on.
    pub(super) fn resumed(&mut self) {
        self.restarted = false;
    }

    /// The window was reduced: a window of bytes is counted anew.
    pub(super) fn reduced(&mut self) {
        self.counted = 0;
    }

    /// A time-out: slow start begins anew.
    pub(super) fn timed_out(&mut self) {
        self.counted = 0;
        self.restarted = true;
    }

    /// L in bytes where it is configured: `None` leaves it to the algorithm.
    pub(super) fn limit(&self, mss: u64) -> Option<u64> {
        match self.how {
            ByteCounting::Off | ByteCounting::Acks => None,
            ByteCounting::Limit(segments) => Some(u64::from(segments) * mss),
            ByteCounting::Unlimited => Some(u64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn step(how: ByteCounting, bytes: u64) -> u64 {
        AckCounting::new(how).slow_start(10 * MSS, 15 * MSS, bytes, MSS)
    }

    #[test]
    fn slow_start_counts_acks_or_bytes_up_to_l() {
        assert_eq!(step(ByteCounting::Off, 3 * MSS), MSS);
        assert_eq!(step(ByteCounting::Acks, 3 * MSS), MSS);
        assert_eq!(step(ByteCounting::Limit(2), 3 * MSS), 2 * MSS);
        assert_eq!(step(ByteCounting::Limit(2), MSS / 2), MSS / 2);
        assert_eq!(step(ByteCounting::Unlimited, 3 * MSS), 3 * MSS);
        assert_eq!(step(ByteCounting::Unlimited, 9 * MSS), 5 * MSS); // to ssthresh
    }

    /// RFC 3465, 2.3: L is one segment in the slow start after a time-out, until
    /// congestion avoidance begins.
    #[test]
    fn after_a_time_out_l_is_one_segment() {
        let mut counting = AckCounting::new(ByteCounting::Limit(2));
        counting.timed_out();
        assert_eq!(counting.slow_start(MSS, 9 * MSS, 5 * MSS, MSS), MSS);
        counting.avoidance(9 * MSS, MSS, MSS);
        assert_eq!(counting.slow_start(MSS, 9 * MSS, 5 * MSS, MSS), 2 * MSS);
    }

    #[test]
    fn congestion_avoidance_adds_a_segment_for_a_window_of_bytes() {
        let mut counting = AckCounting::new(ByteCounting::Limit(2));
        assert_eq!(counting.avoidance(10 * MSS, 6 * MSS, MSS), 0);
        assert_eq!(counting.avoidance(10 * MSS, 6 * MSS, MSS), MSS);
        assert_eq!(counting.counted, 2 * MSS);
        let mut by_acks = AckCounting::new(ByteCounting::Off);
        assert_eq!(by_acks.avoidance(10 * MSS, 6 * MSS, MSS), 100);
        assert_eq!(by_acks.avoidance(2_000_000, MSS, MSS), 1);
    }

    /// Growth over a round trip of an ACK a segment, at a window of n segments of 1,460
    /// bytes. It is a segment at any window where fractions add up, and by bytes. In whole bytes,
    /// as RFC 5681, 3.1, has it, it is n max(1, floor(1460 / n)) bytes: too little up to 1,460
    /// segments and n / 1,460 segments above.
    #[test]
    fn a_window_of_acks_adds_a_segment_unless_bytes_are_whole() {
        for (n, whole) in [
            (10, 1460),
            (100, 1400),
            (1000, 1000),
            (1460, 1460),
            (3000, 3000),
            (10_000, 10_000),
        ] {
            let growth = |how| -> u64 {
                let mut counting = AckCounting::new(how);
                (0..n)
                    .map(|_| counting.avoidance(n * 1460, 1460, 1460))
                    .sum()
            };
            assert_eq!(growth(ByteCounting::Off), whole, "{n}");
            assert_eq!(growth(ByteCounting::Acks), 1460, "{n}");
            assert_eq!(growth(ByteCounting::Limit(1)), 1460, "{n}");
            assert_eq!(growth(ByteCounting::Unlimited), 1460, "{n}");
        }
    }

    /// A window that grows with each ACK has W^2 = n^2 + 2 k in segments after k ACKs
    /// (dW/dk = 1/W). The terms that the integral leaves out are below ln(W / n) / W.
    #[test]
    fn a_growing_window_keeps_to_the_closed_form() {
        for n in [10, 100, 1000, 3000, 10_000_u64] {
            let (mut counting, mut cwnd) = (AckCounting::new(ByteCounting::Acks), n * 1460);
            for _ in 0..20 * n {
                cwnd += counting.avoidance(cwnd, 1460, 1460);
            }
            let (n, grown) = (n as f64, cwnd as f64 / 1460.0);
            let expected = libm::sqrt(n * n + 40.0 * n);
            let left_out = libm::log(expected / n) / expected;
            assert!(
                (grown - expected).abs() <= left_out + 2.0 / 1460.0,
                "{n}: {grown}"
            );
        }
    }

    /// A remainder of a large window adds nothing to a small one.
    #[test]
    fn a_remainder_does_not_outlive_its_window() {
        let mut counting = AckCounting::new(ByteCounting::Acks);
        assert_eq!(counting.avoidance(10_000 * MSS, MSS, MSS), 0);
        assert_eq!(counting.avoidance(10 * MSS, MSS, MSS), MSS / 10);
    }

    /// An algorithm with a limit of its own takes L in bytes where there is one.
    #[test]
    fn l_is_in_segments_of_the_connection() {
        let limit = |how| AckCounting::new(how).limit(MSS);
        assert_eq!(limit(ByteCounting::Off), None);
        assert_eq!(limit(ByteCounting::Acks), None);
        assert_eq!(limit(ByteCounting::Limit(3)), Some(3 * MSS));
        assert_eq!(limit(ByteCounting::Unlimited), Some(u64::MAX));
    }

    /// A loss begins a window of bytes anew: what was counted towards a segment
    /// before is gone.
    #[test]
    fn a_loss_begins_the_count_anew() {
        let mut counting = AckCounting::new(ByteCounting::Unlimited);
        assert_eq!(counting.avoidance(10 * MSS, 9 * MSS, MSS), 0);
        counting.reduced();
        assert_eq!(counting.avoidance(10 * MSS, 9 * MSS, MSS), 0);
        counting.timed_out();
        assert_eq!(counting.avoidance(10 * MSS, 9 * MSS, MSS), 0);
        assert_eq!(counting.avoidance(10 * MSS, MSS, MSS), MSS);
    }

    /// An ACK that adds its share of the window is worth a segment, or its bytes.
    #[test]
    fn a_share_is_of_acks_or_of_bytes() {
        for (how, share) in [
            (ByteCounting::Off, MSS),
            (ByteCounting::Acks, MSS),
            (ByteCounting::Limit(2), 3 * MSS),
            (ByteCounting::Unlimited, 3 * MSS),
        ] {
            assert_eq!(AckCounting::new(how).share(3 * MSS, MSS), share, "{how:?}");
        }
    }
}
