//! Slow start, congestion avoidance, multiplicative decrease: RFC 5681.

use super::counting::AckCounting;
use super::extras::access;
use super::{
    Ack, Algorithm, CongestionControl, Context, Control, EndSlowStart, Extras, Input, Loss,
    Parameter, Range, RecoveryWindow, Setting, Start, UndoReduction, Undone, half_flight,
};
use farlink_small::reference;

/// The window of the Reno family (Jacobson 1988; RFC 5681).
#[derive(Debug)]
pub struct Reno {
    counting: AckCounting,
    mss_over_8: bool,
    /// Share of the flight that remains after a mark; `None` for the share after a loss.
    beta_ecn: Option<f64>,
    cwnd: u64,
    ssthresh: u64,
}

impl Reno {
    /// Description of Reno for the table of algorithms.
    pub const ALGORITHM: Algorithm = Algorithm {
        name: "reno",
        summary: "slow start and AIMD congestion avoidance (RFC 5681)",
        parameters: &[
            Parameter {
                name: "mss_over_8",
                doc: reference(
                    "adds MSS/8 to each increase in congestion avoidance, as 4.3BSD did by \
                      mistake (RFC 5681, 3.1)",
                ),
                default: Setting::Flag(false),
                range: Range::Flag,
            },
            Parameter {
                name: "beta_ecn",
                doc: reference(
                    "share of the data in flight that remains after an ECN mark in congestion \
                  avoidance; 0.8 is alternative backoff (ABE, RFC 8511)",
                ),
                default: Setting::Number(0.5),
                range: Range::Number(0.5, 0.99),
            },
        ],
        metrics: &[],
        inputs: Input::ALL,
        recovery_window: |_| RecoveryWindow::Ssthresh,
        extras: Extras {
            undo: access!(Self),
            slow_start: access!(Self),
            ..Extras::NONE
        },
        build: |control, start| Box::new(Self::new(control, start)),
    };

    pub(super) fn new(control: &Control, start: Start) -> Self {
        let beta_ecn = control.number("beta_ecn");
        Self {
            counting: AckCounting::new(start.byte_counting),
            mss_over_8: control.flag("mss_over_8"),
            beta_ecn: (beta_ecn > 0.5).then_some(beta_ecn),
            cwnd: start.window,
            ssthresh: start.ssthresh,
        }
    }

    /// Sets cwnd and ssthresh to `window` bytes.
    pub(super) fn reduce_to(&mut self, window: u64) {
        self.ssthresh = window;
        self.cwnd = window;
        self.counting.on_reduction();
    }

    /// Returns the bytes that an ACK of `bytes` counts in congestion avoidance.
    pub(super) fn counted(&mut self, bytes: u64, mss: u64) -> u64 {
        self.counting.share(bytes, mss)
    }

    /// Adds `step` bytes to cwnd, which stays at least one segment.
    pub(super) fn grow(&mut self, step: i64, mss: u64) {
        self.cwnd = self.cwnd.saturating_add_signed(step).max(mss);
    }

    fn slow_start(&mut self, cx: &Context<'_>, bytes: u64) {
        self.cwnd += self
            .counting
            .slow_start(self.cwnd, self.ssthresh, bytes, cx.mss);
    }

    fn avoid_congestion(&mut self, cx: &Context<'_>, bytes: u64) {
        self.cwnd += self.counting.avoidance(self.cwnd, bytes, cx.mss);
        if self.mss_over_8 {
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

    fn on_loss(&mut self, cx: &Context<'_>, _loss: &Loss) {
        self.reduce_to(half_flight(cx));
    }

    fn on_congestion_mark(&mut self, cx: &Context<'_>, loss: &Loss) {
        match self.beta_ecn.filter(|_| !self.in_slow_start()) {
            Some(beta) => self.reduce_to(((cx.flight as f64 * beta) as u64).max(2 * cx.mss)),
            None => self.on_loss(cx, loss),
        }
    }

    fn on_recovered(&mut self, _cx: &Context<'_>, window: u64) {
        self.cwnd = window;
    }

    fn on_timeout(&mut self, cx: &Context<'_>, first: bool) {
        if first {
            self.ssthresh = half_flight(cx);
        }
        self.collapse(cx.mss);
        self.counting.on_timeout();
    }

    fn collapse(&mut self, window: u64) {
        self.cwnd = window;
        self.counting.on_reduction();
    }

    fn lower_ssthresh(&mut self, threshold: u64) {
        self.ssthresh = threshold;
    }

    fn raise_ssthresh(&mut self, least: u64) {
        self.ssthresh = self.ssthresh.max(least);
    }

    fn on_idle(&mut self, _cx: &Context<'_>, initial_window: u64) {
        self.cwnd = self.cwnd.min(initial_window);
    }
}

impl EndSlowStart for Reno {
    fn end_slow_start(&mut self, window: u64) {
        self.reduce_to(window);
    }
}

impl UndoReduction for Reno {
    fn on_spurious(&mut self, _cx: &Context<'_>, undone: &Undone) {
        self.cwnd = undone.window;
        self.ssthresh = undone.ssthresh;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RtoConfig;
    use crate::rto::RttEstimator;
    use crate::time::Instant;

    const MSS: u64 = 1000;

    fn reno(settings: &[(&str, Setting)], window: u64, ssthresh: u64) -> Reno {
        let mut control = Control::new(&Reno::ALGORITHM);
        for &(name, setting) in settings {
            control = control.with(name, setting);
        }
        Reno::new(
            &control,
            Start {
                window,
                ssthresh,
                ..Start::default()
            },
        )
    }

    fn run(settings: &[(&str, Setting)], cwnd: u64, ssthresh: u64, acks: &[u64]) -> u64 {
        let rtt = RttEstimator::new(RtoConfig::default());
        let cx = Context {
            now: Instant::ZERO,
            mss: MSS,
            flight: cwnd,
            snd_una: 1,
            snd_max: 1 + cwnd,
            rtt: &rtt,
        };
        let mut reno = reno(settings, cwnd, ssthresh);
        for &bytes in acks {
            reno.on_ack(
                &cx,
                &Ack {
                    bytes,
                    rtt_sample: None,
                    fine_rtt: None,
                    cwnd_limited: true,
                },
            );
        }
        reno.cwnd()
    }

    #[test]
    fn slow_start_adds_a_segment_an_ack() {
        let per_ack = &[];
        assert_eq!(run(per_ack, 2 * MSS, u64::MAX, &[MSS, MSS]), 4 * MSS);
        assert_eq!(run(per_ack, 2 * MSS, u64::MAX, &[2 * MSS]), 3 * MSS);
    }

    #[test]
    fn congestion_avoidance_adds_about_a_segment_a_window() {
        let per_ack = &[];
        // 10 ACKs at 10 segments: increments 100, 99, 98, ... as cwnd grows.
        let grown = run(per_ack, 10 * MSS, MSS, &[MSS; 10]);
        assert!((10_900..=11_000).contains(&grown), "{grown}");
        let old = &[("mss_over_8", Setting::Flag(true))];
        assert_eq!(run(old, 10 * MSS, MSS, &[MSS]), 10 * MSS + 100 + 125);
    }

    #[test]
    fn undo_restores_cwnd_and_ssthresh() {
        let rtt = RttEstimator::new(RtoConfig::default());
        let cx = Context {
            now: Instant::ZERO,
            mss: MSS,
            flight: 20 * MSS,
            snd_una: 1,
            snd_max: 1,
            rtt: &rtt,
        };
        let mut reno = reno(&[], 20 * MSS, 30 * MSS);
        reno.on_timeout(&cx, true);
        reno.on_spurious(
            &cx,
            &Undone {
                window: 20 * MSS,
                ssthresh: 30 * MSS,
            },
        );
        assert_eq!((reno.cwnd(), reno.ssthresh()), (20 * MSS, 30 * MSS));
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
        let mut reno = reno(&[], 4 * MSS, u64::MAX);
        reno.on_ack(
            &cx,
            &Ack {
                bytes: MSS,
                rtt_sample: None,
                fine_rtt: None,
                cwnd_limited: false,
            },
        );
        assert_eq!(reno.cwnd(), 4 * MSS);
    }

    /// RFC 8511, 3: in congestion avoidance a mark leaves the configured share, and at least two
    /// segments. In slow start a mark acts like a loss.
    #[test]
    fn alternative_backoff_applies_in_congestion_avoidance() {
        let rtt = RttEstimator::new(RtoConfig::default());
        let loss = Loss {
            sent_at: Instant::ZERO,
        };
        for (beta, ssthresh, flight, kept) in [
            (0.8, 20, 20, 16_000),
            (0.5, 20, 20, 10_000),
            (0.8, 21, 20, 10_000),
            (0.8, 20, 2, 2_000),
        ] {
            let cx = Context {
                now: Instant::ZERO,
                mss: MSS,
                flight: flight * MSS,
                snd_una: 1,
                snd_max: 1,
                rtt: &rtt,
            };
            let beta = ("beta_ecn", Setting::Number(beta));
            let mut reno = reno(&[beta], 20 * MSS, ssthresh * MSS);
            reno.on_congestion_mark(&cx, &loss);
            assert_eq!((reno.cwnd(), reno.ssthresh()), (kept, kept));
        }
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
        let mut reno = reno(&[], 30 * MSS, u64::MAX);
        reno.on_loss(
            &cx,
            &Loss {
                sent_at: Instant::ZERO,
            },
        );
        assert_eq!((reno.cwnd(), reno.ssthresh()), (10 * MSS, 10 * MSS));
        cx.flight = 3 * MSS;
        reno.on_timeout(&cx, true);
        assert_eq!((reno.cwnd(), reno.ssthresh()), (MSS, 2 * MSS));
        cx.flight = 100 * MSS;
        reno.on_timeout(&cx, false);
        assert_eq!(reno.ssthresh(), 2 * MSS);
    }
}
