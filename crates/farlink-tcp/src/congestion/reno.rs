//! Slow start, congestion avoidance, multiplicative decrease: RFC 5681.

use super::{Ack, CongestionControl, Context, half_flight};
use crate::config::RenoConfig;

/// The window of the Reno family (Jacobson 1988; RFC 5681).
#[derive(Debug)]
pub struct Reno {
    config: RenoConfig,
    cwnd: u64,
    ssthresh: u64,
    /// Bytes acknowledged towards the next segment (byte counting only).
    counted: u64,
}

impl Reno {
    /// Starts with a window of `initial` bytes.
    pub fn new(config: RenoConfig, initial: u64, ssthresh: u64) -> Self {
        Self {
            config,
            cwnd: initial,
            ssthresh,
            counted: 0,
        }
    }

    fn slow_start(&mut self, cx: &Context<'_>, bytes: u64) {
        let step = match self.config.byte_counting {
            // RFC 3465, 2.2: at most L segments an ACK.
            Some(limit) => bytes.min(u64::from(limit.0) * cx.mss),
            // RFC 5681, equation (2).
            None => bytes.min(cx.mss),
        };
        self.cwnd += step;
    }

    fn avoid_congestion(&mut self, cx: &Context<'_>, bytes: u64) {
        if self.config.byte_counting.is_some() {
            // RFC 3465, 2.1: one segment for a window of bytes.
            self.counted += bytes;
            if self.counted >= self.cwnd {
                self.counted -= self.cwnd;
                self.cwnd += cx.mss;
            }
        } else {
            // RFC 5681, equation (3), at least one byte.
            self.cwnd += (cx.mss * cx.mss / self.cwnd).max(1);
        }
        if self.config.mss_over_8 {
            self.cwnd += cx.mss / 8;
        }
    }
}

impl CongestionControl for Reno {
    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.slow_start(cx, ack.bytes);
        } else {
            self.avoid_congestion(cx, ack.bytes);
        }
    }

    fn on_loss(&mut self, cx: &Context<'_>) {
        self.ssthresh = half_flight(cx);
        self.cwnd = self.ssthresh;
        self.counted = 0;
    }

    fn on_recovered(&mut self, _cx: &Context<'_>, window: u64) {
        self.cwnd = window;
    }

    fn on_timeout(&mut self, cx: &Context<'_>, first: bool) {
        if first {
            self.ssthresh = half_flight(cx);
        }
        self.collapse(cx.mss);
    }

    fn collapse(&mut self, window: u64) {
        self.cwnd = window;
        self.counted = 0;
    }

    fn on_idle(&mut self, _cx: &Context<'_>, initial_window: u64) {
        self.cwnd = self.cwnd.min(initial_window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AbcLimit, RtoConfig};
    use crate::rto::RttEstimator;
    use crate::time::Instant;

    const MSS: u64 = 1000;

    fn run(config: RenoConfig, cwnd: u64, ssthresh: u64, acks: &[u64]) -> u64 {
        let rtt = RttEstimator::new(RtoConfig::default());
        let cx = Context {
            now: Instant::ZERO,
            mss: MSS,
            flight: cwnd,
            snd_una: 1,
            snd_max: 1 + cwnd,
            rtt: &rtt,
        };
        let mut reno = Reno::new(config, cwnd, ssthresh);
        for &bytes in acks {
            reno.on_ack(
                &cx,
                &Ack {
                    bytes,
                    rtt_sample: None,
                    cwnd_limited: true,
                },
            );
        }
        reno.cwnd()
    }

    #[test]
    fn slow_start_adds_a_segment_an_ack() {
        let per_ack = RenoConfig::default();
        assert_eq!(run(per_ack, 2 * MSS, u64::MAX, &[MSS, MSS]), 4 * MSS);
        assert_eq!(run(per_ack, 2 * MSS, u64::MAX, &[2 * MSS]), 3 * MSS);
        let abc = RenoConfig {
            byte_counting: Some(AbcLimit(2)),
            ..per_ack
        };
        assert_eq!(run(abc, 2 * MSS, u64::MAX, &[2 * MSS]), 4 * MSS);
        assert_eq!(run(abc, 2 * MSS, u64::MAX, &[5 * MSS]), 4 * MSS);
    }

    #[test]
    fn congestion_avoidance_adds_about_a_segment_a_window() {
        let per_ack = RenoConfig::default();
        // 10 ACKs at 10 segments: increments 100, 99, 98, ... as cwnd grows.
        let grown = run(per_ack, 10 * MSS, MSS, &[MSS; 10]);
        assert!((10_900..=11_000).contains(&grown), "{grown}");
        let abc = RenoConfig {
            byte_counting: Some(AbcLimit(2)),
            ..per_ack
        };
        assert_eq!(run(abc, 10 * MSS, MSS, &[MSS; 10]), 11 * MSS);
        assert_eq!(run(abc, 10 * MSS, MSS, &[MSS; 9]), 10 * MSS);
        let old = RenoConfig {
            mss_over_8: true,
            ..per_ack
        };
        assert_eq!(run(old, 10 * MSS, MSS, &[MSS]), 10 * MSS + 100 + 125);
    }

    #[test]
    fn growth_needs_a_full_window() {
        let rtt = RttEstimator::new(RtoConfig::default());
        let cx = Context {
            now: Instant::ZERO,
            mss: MSS,
            flight: MSS,
            snd_una: 1,
            snd_max: 1 + MSS,
            rtt: &rtt,
        };
        let mut reno = Reno::new(RenoConfig::default(), 4 * MSS, u64::MAX);
        reno.on_ack(
            &cx,
            &Ack {
                bytes: MSS,
                rtt_sample: None,
                cwnd_limited: false,
            },
        );
        assert_eq!(reno.cwnd(), 4 * MSS);
    }

    #[test]
    fn decrease_is_half_the_flight_but_two_segments() {
        let rtt = RttEstimator::new(RtoConfig::default());
        let mut cx = Context {
            now: Instant::ZERO,
            mss: MSS,
            flight: 20 * MSS,
            snd_una: 1,
            snd_max: 1,
            rtt: &rtt,
        };
        let mut reno = Reno::new(RenoConfig::default(), 30 * MSS, u64::MAX);
        reno.on_loss(&cx);
        assert_eq!((reno.cwnd(), reno.ssthresh()), (10 * MSS, 10 * MSS));
        cx.flight = 3 * MSS;
        reno.on_timeout(&cx, true);
        assert_eq!((reno.cwnd(), reno.ssthresh()), (MSS, 2 * MSS));
        cx.flight = 100 * MSS;
        reno.on_timeout(&cx, false);
        assert_eq!(reno.ssthresh(), 2 * MSS);
    }
}
