//! Growth of cwnd per ACK: by one segment, or by the bytes acknowledged (RFC 3465).

/// Rule for the growth of cwnd per ACK.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ByteCounting {
    /// In slow start the bytes acknowledged, at most one segment. In congestion avoidance MSS * MSS
    /// / cwnd, rounded down to bytes, at least one (RFC 5681, equations 2 and 3).
    #[default]
    Off,
    /// As [`Self::Off`], with fractions of a byte added up, so that a window of ACKs adds one
    /// segment.
    Acks,
    /// The bytes acknowledged. In slow start at most this many segments (L of RFC 3465), and at
    /// most one in the slow start after a time-out (2.3).
    Limit(u32),
    /// The bytes acknowledged, in slow start up to ssthresh, as in Linux.
    Unlimited,
}

/// State of the growth by ACKs (RFC 5681) or by bytes (RFC 3465).
#[derive(Clone, Copy, Debug)]
pub(super) struct AckCounting {
    rule: ByteCounting,
    /// Set in the slow start after a time-out, where L is one segment, because an ACK may cover
    /// data that arrived long ago (RFC 3465, 2.3).
    restarted: bool,
    /// Bytes acknowledged towards the next segment of congestion avoidance. With
    /// [`ByteCounting::Acks`] the remainder of MSS * MSS / cwnd.
    counted: u64,
}

impl AckCounting {
    pub(super) fn new(rule: ByteCounting) -> Self {
        Self {
            rule,
            restarted: false,
            counted: 0,
        }
    }

    /// Returns the bytes that an ACK of `bytes` counts, in any phase.
    pub(super) fn limited(&self, bytes: u64, mss: u64) -> u64 {
        match self.rule {
            ByteCounting::Off | ByteCounting::Acks => bytes.min(mss),
            ByteCounting::Limit(_) if self.restarted => bytes.min(mss),
            ByteCounting::Limit(segments) => bytes.min(u64::from(segments) * mss),
            ByteCounting::Unlimited => bytes,
        }
    }

    /// Returns the increase of `cwnd` in slow start for an ACK of `bytes`. As in Linux cwnd stops
    /// at ssthresh, because one ACK could otherwise exceed ssthresh by far.
    pub(super) fn slow_start(&self, cwnd: u64, ssthresh: u64, bytes: u64, mss: u64) -> u64 {
        let step = self.limited(bytes, mss);
        if self.rule == ByteCounting::Unlimited {
            step.min(ssthresh.saturating_sub(cwnd))
        } else {
            step
        }
    }

    /// Returns the increase of `cwnd` in congestion avoidance. By bytes (RFC 3465, 2.1) the
    /// increase is one segment per window of bytes. By ACKs (RFC 5681, equation 3) it is MSS * MSS
    /// / cwnd, either in whole bytes and at least one, or with fractions kept.
    pub(super) fn avoidance(&mut self, cwnd: u64, bytes: u64, mss: u64) -> u64 {
        self.on_avoidance();
        if self.rule == ByteCounting::Off {
            return (mss * mss / cwnd).max(1);
        }
        if self.rule == ByteCounting::Acks {
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

    /// Returns the bytes that an ACK of `bytes` counts in algorithms that increase cwnd at each ACK
    /// of congestion avoidance.
    pub(super) fn share(&mut self, bytes: u64, mss: u64) -> u64 {
        self.on_avoidance();
        match self.rule {
            ByteCounting::Off | ByteCounting::Acks => mss,
            ByteCounting::Limit(_) | ByteCounting::Unlimited => bytes,
        }
    }

    /// Handles an ACK in congestion avoidance, which ends the limit of L after a time-out.
    pub(super) fn on_avoidance(&mut self) {
        self.restarted = false;
    }

    /// Resets the count after a reduction of cwnd.
    pub(super) fn on_reduction(&mut self) {
        self.counted = 0;
    }

    /// Resets the count at a time-out, and limits L to one segment.
    pub(super) fn on_timeout(&mut self) {
        self.counted = 0;
        self.restarted = true;
    }

    /// Returns L in bytes, or `None` where none is configured and the algorithm's own L applies.
    pub(super) fn limit(&self, mss: u64) -> Option<u64> {
        match self.rule {
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

    fn step(rule: ByteCounting, bytes: u64) -> u64 {
        AckCounting::new(rule).slow_start(10 * MSS, 15 * MSS, bytes, MSS)
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

    /// RFC 3465, 2.3: L is one segment in the slow start after a time-out, until congestion
    /// avoidance begins.
    #[test]
    fn after_a_time_out_l_is_one_segment() {
        let mut counting = AckCounting::new(ByteCounting::Limit(2));
        counting.on_timeout();
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

    /// Growth in one RTT with an ACK per segment, at a window of n segments of 1,460 bytes. By
    /// bytes, or with fractions kept, the growth is one segment at any window. In whole bytes (RFC
    /// 5681, 3.1) it is n max(1, floor(1460 / n)) bytes: less than a segment up to 1,460 segments,
    /// and n / 1,460 segments above.
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
            let growth = |rule| -> u64 {
                let mut counting = AckCounting::new(rule);
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

    /// A window that grows at each ACK follows W^2 = n^2 + 2 k in segments after k ACKs (dW/dk =
    /// 1/W). The error of the integral is below ln(W / n) / W.
    #[test]
    fn a_window_growing_per_ack_follows_the_closed_form() {
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

    /// After a reduction, the remainder from a larger window adds nothing.
    #[test]
    fn a_reduction_discards_the_remainder() {
        let mut counting = AckCounting::new(ByteCounting::Acks);
        assert_eq!(counting.avoidance(10_000 * MSS, MSS, MSS), 0);
        assert_eq!(counting.avoidance(10 * MSS, MSS, MSS), MSS / 10);
    }

    /// L is in units of the connection's MSS; without byte counting the algorithm's own L applies.
    #[test]
    fn limit_is_l_times_the_mss() {
        let limit = |rule| AckCounting::new(rule).limit(MSS);
        assert_eq!(limit(ByteCounting::Off), None);
        assert_eq!(limit(ByteCounting::Acks), None);
        assert_eq!(limit(ByteCounting::Limit(3)), Some(3 * MSS));
        assert_eq!(limit(ByteCounting::Unlimited), Some(u64::MAX));
    }

    /// A reduction discards the bytes counted towards the next segment.
    #[test]
    fn a_loss_resets_the_count_of_bytes() {
        let mut counting = AckCounting::new(ByteCounting::Unlimited);
        assert_eq!(counting.avoidance(10 * MSS, 9 * MSS, MSS), 0);
        counting.on_reduction();
        assert_eq!(counting.avoidance(10 * MSS, 9 * MSS, MSS), 0);
        counting.on_timeout();
        assert_eq!(counting.avoidance(10 * MSS, 9 * MSS, MSS), 0);
        assert_eq!(counting.avoidance(10 * MSS, MSS, MSS), MSS);
    }

    /// With byte counting an ACK counts its bytes, otherwise one segment.
    #[test]
    fn an_ack_counts_a_segment_or_its_bytes() {
        for (rule, share) in [
            (ByteCounting::Off, MSS),
            (ByteCounting::Acks, MSS),
            (ByteCounting::Limit(2), 3 * MSS),
            (ByteCounting::Unlimited, 3 * MSS),
        ] {
            assert_eq!(
                AckCounting::new(rule).share(3 * MSS, MSS),
                share,
                "{rule:?}"
            );
        }
    }
}
