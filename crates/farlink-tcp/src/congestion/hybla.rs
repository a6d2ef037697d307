//! TCP Hybla: throughput that does not depend on the RTT.
//!
//! Caini, Firrincieli, *TCP Hybla: a TCP enhancement for heterogeneous networks*, Int. J. Satell.
//! Commun. Network. 22, 2004. With `rho = RTT / RTT0`, cwnd is rho times that of a reference
//! connection with round-trip time `RTT0`, so both send at the same rate. In slow start `W(t) = rho
//! 2^(t/RTT0)`. In congestion avoidance W grows by rho segments per `RTT0`. Each ACK adds `2^rho -
//! 1` or `rho^2 / W` segments.

use super::counting::AckCounting;
use super::extras::access;
use super::metric::metric;
use super::{
    Ack, Algorithm, CongestionControl, Context, Control, EndSlowStart, Extras, Input, Loss,
    PACED_HEADERS, Parameter, Range, RecoveryWindow, Setting, Start, UndoReduction, Undone, Word,
    half_flight,
};
use crate::seq::Offset;
use crate::time::{Instant, Interval, NANOS_PER_SEC};
use farlink_small::reference;

/// Largest receive window of RFC 7323, 2.3, as the maximum of cwnd, because `2^rho` grows without
/// bound.
const MAX_WINDOW: u64 = 1 << 30;

/// The Hybla controller.
#[derive(Debug)]
pub struct Hybla {
    rtt0: Interval,
    smoothed: bool,
    counting: AckCounting,
    scale_window: bool,
    scale_ssthresh: bool,
    pacing: bool,
    reno_in_loss: bool,
    /// SND.MAX at a time-out. Until it is acknowledged cwnd grows as in Reno.
    reno_until: Option<Offset>,
    cwnd: u64,
    /// Fraction of a byte of growth that is not in `cwnd` yet.
    carry: f64,
    ssthresh: u64,
    rtt_min: Option<Interval>,
    srtt: Option<Interval>,
    mss: u64,
    probe: Probe,
    /// Set if a loss ended the bandwidth estimate; an undo restarts it.
    probing: bool,
}

/// State of the bandwidth estimate from the spacing of the first ACKs (Hoe 1996).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Probe {
    /// No ACK yet.
    Waiting,
    /// Number of ACKs since `first` with gaps of at most RTT / 2, and their bytes.
    Timing {
        first: Instant,
        last: Instant,
        acks: u32,
        bytes: u64,
    },
    /// The estimate is complete or not configured.
    Done,
}

/// Number of closely spaced ACKs that the bandwidth estimate needs.
const PROBE_ACKS: u32 = 3;

impl Hybla {
    /// Description of Hybla for the table of algorithms.
    pub const ALGORITHM: Algorithm = Algorithm {
        name: "hybla",
        summary: "2^rho - 1 and rho^2/W per ACK, rho = RTT/RTT0 (Caini, Firrincieli 2004)",
        parameters: &[
            Parameter {
                name: "rtt0",
                doc: reference(
                    "RTT0, the round-trip time of the reference connection (Caini, Firrincieli \
                      2004)",
                ),
                default: Setting::Time(Interval::from_millis(25)),
                range: Range::Time(Interval::from_millis(1), Interval::from_secs(10)),
            },
            Parameter {
                name: "rtt",
                doc: reference(
                    "round-trip time in rho: the least one, so that queueing does not raise \
                      rho, or the smoothed one",
                ),
                default: Setting::Choice("min"),
                range: Range::Choice(&[Word("min", ""), Word("smoothed", "")]),
            },
            Parameter {
                name: "bandwidth_estimate",
                doc: reference(
                    "the first three closely spaced ACKs set ssthresh to their rate times the \
                      round-trip time (Hoe 1996); until then the window grows as Reno's",
                ),
                default: Setting::Flag(true),
                range: Range::Flag,
            },
            Parameter {
                name: "scale_initial_ssthresh",
                doc: reference(
                    "the initial ssthresh is multiplied by rho (rho gamma in Caini, Firrincieli \
                      2004); no effect if it is unlimited",
                ),
                default: Setting::Flag(true),
                range: Range::Flag,
            },
            Parameter {
                name: "scale_initial_window",
                doc: reference(
                    "the initial window is multiplied by rho, as W(0) = rho in Caini, \
                      Firrincieli 2004",
                ),
                default: Setting::Flag(false),
                range: Range::Flag,
            },
            Parameter {
                name: "pacing",
                doc: reference(
                    "pacing of segments at window / round-trip time, after the bandwidth \
                      estimate",
                ),
                default: Setting::Flag(false),
                range: Range::Flag,
            },
            Parameter {
                name: "after_timeout",
                doc: reference(
                    "growth of the window after a time-out, until the data in flight then is \
                      acknowledged: \"hybla\", or \"reno\" by the bytes that ACKs cover (Linux: \
                      tcp_hybla.c, hybla_state)",
                ),
                default: Setting::Choice("hybla"),
                range: Range::Choice(&[Word("hybla", ""), Word("reno", "")]),
            },
        ],
        metrics: &[metric!(
            "rho",
            "",
            "RTT / RTT0, at least 1",
            |hybla: &Self, cx: &Context<'_>| Some(hybla.rho(cx))
        )],
        inputs: Input::ALL,
        recovery_window: |_| RecoveryWindow::Ssthresh,
        extras: Extras {
            undo: access!(Self),
            slow_start: access!(Self),
            ..Extras::NONE
        },
        build: |control, start| Box::new(Self::new(control, start)),
    };

    fn new(control: &Control, start: Start) -> Self {
        Self {
            rtt0: control.time("rtt0"),
            smoothed: control.choice("rtt") == "smoothed",
            counting: AckCounting::new(start.byte_counting),
            scale_window: control.flag("scale_initial_window"),
            scale_ssthresh: control.flag("scale_initial_ssthresh"),
            pacing: control.flag("pacing"),
            reno_in_loss: control.choice("after_timeout") == "reno",
            reno_until: None,
            cwnd: start.window,
            carry: 0.0,
            ssthresh: start.ssthresh,
            rtt_min: None,
            srtt: None,
            mss: u64::MAX,
            probing: false,
            probe: if control.flag("bandwidth_estimate") {
                Probe::Waiting
            } else {
                Probe::Done
            },
        }
    }

    /// Returns rho, at least 1, so that RTTs below RTT0 give Reno's growth.
    fn rho(&self, cx: &Context<'_>) -> f64 {
        let rtt = if self.smoothed {
            cx.rtt.srtt()
        } else {
            self.rtt_min.or(cx.rtt.min())
        };
        let rtt = rtt.unwrap_or_default().as_nanos() as f64;
        (rtt / self.rtt0.as_nanos() as f64).max(1.0)
    }

    /// Multiplies the initial window and initial ssthresh by rho at the first RTT sample.
    fn scale_start(&mut self, cx: &Context<'_>) {
        let rho = self.rho(cx);
        if std::mem::take(&mut self.scale_window) {
            self.cwnd = (self.cwnd as f64 * rho) as u64;
        }
        if std::mem::take(&mut self.scale_ssthresh) && self.ssthresh != u64::MAX {
            self.ssthresh = (self.ssthresh as f64 * rho) as u64;
        }
    }

    /// Returns the number of segments that an ACK counts.
    fn segments(&self, cx: &Context<'_>, ack: &Ack) -> f64 {
        self.counting.limited(ack.bytes, cx.mss) as f64 / cx.mss as f64
    }

    /// Increases cwnd by `segments`, at most to `limit`.
    fn grow(&mut self, cx: &Context<'_>, segments: f64, limit: u64) {
        let window = self.cwnd as f64 + self.carry + segments * cx.mss as f64;
        let limit = limit.min(MAX_WINDOW).max(self.cwnd);
        if window >= limit as f64 {
            self.cwnd = limit;
            self.carry = 0.0;
        } else {
            self.cwnd = window as u64;
            self.carry = window - self.cwnd as f64;
        }
    }

    /// Returns whether data in flight at a time-out is still unacknowledged. Until it is
    /// acknowledged, cwnd grows as in Reno.
    fn repairs_timeout(&mut self, cx: &Context<'_>) -> bool {
        self.reno_until = self.reno_until.filter(|&end| cx.snd_una < end);
        self.reno_until.is_some()
    }

    /// Increases cwnd by the bytes acknowledged, as Linux's Reno does.
    fn grow_as_reno(&mut self, cx: &Context<'_>, ack: &Ack) {
        let segments = ack.bytes as f64 / cx.mss as f64;
        if self.cwnd < self.ssthresh {
            self.grow(cx, segments, self.ssthresh);
        } else {
            let window = self.cwnd as f64 / cx.mss as f64;
            self.grow(cx, segments / window, MAX_WINDOW);
        }
    }

    fn set_window(&mut self, window: u64) {
        self.cwnd = window;
        self.carry = 0.0;
    }

    /// Adds an ACK to the bandwidth estimate.
    fn probe(&mut self, cx: &Context<'_>, ack: &Ack) {
        let start = Probe::Timing {
            first: cx.now,
            last: cx.now,
            acks: 1,
            bytes: 0,
        };
        let rtt = self.rtt_min.or(cx.rtt.min()).unwrap_or_default();
        match self.probe {
            Probe::Done => {}
            Probe::Waiting => self.probe = start,
            // ACKs more than half an RTT apart belong to different flights.
            Probe::Timing { last, .. } if cx.now.since(last) * 2 > rtt => self.probe = start,
            Probe::Timing {
                first, acks, bytes, ..
            } => {
                let (acks, bytes) = (acks + 1, bytes + ack.bytes);
                let passed = cx.now.since(first).as_nanos();
                if acks < PROBE_ACKS || passed == 0 {
                    self.probe = Probe::Timing {
                        first,
                        last: cx.now,
                        acks,
                        bytes,
                    };
                    return;
                }
                let share = u128::from(bytes) * u128::from(rtt.as_nanos()) / u128::from(passed);
                let share = u64::try_from(share).unwrap_or(u64::MAX).max(2 * cx.mss);
                self.ssthresh = self.ssthresh.min(share);
                self.probe = Probe::Done;
            }
        }
    }
}

impl CongestionControl for Hybla {
    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn on_established(&mut self, cx: &Context<'_>) {
        if cx.rtt.min().is_some() {
            self.scale_start(cx);
        }
        (self.srtt, self.mss) = (cx.rtt.srtt(), cx.mss);
    }

    fn on_delivered(&mut self, cx: &Context<'_>, ack: &Ack) {
        if let Some(rtt) = ack.fine_rtt {
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        }
        (self.srtt, self.mss) = (cx.rtt.srtt(), cx.mss);
        // An ACK of data gives rho. `on_established` may lack it, because a retransmitted SYN gives
        // no RTT sample.
        self.scale_start(cx);
    }

    fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack) {
        self.probe(cx, ack);
        // With pacing cwnd seldom stops the sender. Half of cwnd in flight is therefore enough, as
        // in the validated phase of RFC 7661 (4.3).
        let limited = ack.cwnd_limited || (self.pacing && 2 * cx.flight >= self.cwnd);
        if !limited {
            return;
        }
        if self.repairs_timeout(cx) {
            self.grow_as_reno(cx, ack);
            return;
        }
        let segments = self.segments(cx, ack);
        if self.cwnd >= self.ssthresh {
            self.counting.on_avoidance();
            let rho = self.rho(cx);
            let window = self.cwnd as f64 / cx.mss as f64;
            self.grow(cx, segments * rho * rho / window, MAX_WINDOW);
        } else if self.probe == Probe::Done {
            let step = libm::exp2(self.rho(cx)) - 1.0;
            self.grow(cx, segments * step, self.ssthresh);
        } else {
            self.grow(cx, segments, self.ssthresh);
        }
    }

    fn on_loss(&mut self, cx: &Context<'_>, _loss: &Loss) {
        self.probe = Probe::Done;
        self.scale_ssthresh = false; // ssthresh no longer has its initial value.
        self.ssthresh = half_flight(cx);
        self.set_window(self.ssthresh);
    }

    fn on_recovered(&mut self, _cx: &Context<'_>, window: u64) {
        self.set_window(window);
    }

    fn on_timeout(&mut self, cx: &Context<'_>, first: bool) {
        self.probe = Probe::Done;
        if first {
            self.scale_ssthresh = false;
            self.ssthresh = half_flight(cx);
        }
        self.collapse(cx.mss);
        self.counting.on_timeout();
        self.reno_until = self.reno_in_loss.then_some(cx.snd_max);
    }

    fn collapse(&mut self, window: u64) {
        self.scale_window = false; // a lost SYN forbids more than a segment
        self.set_window(window);
    }

    fn raise_ssthresh(&mut self, least: u64) {
        self.ssthresh = self.ssthresh.max(least);
    }

    fn on_idle(&mut self, _cx: &Context<'_>, initial_window: u64) {
        self.set_window(self.cwnd.min(initial_window));
    }

    fn pacing_rate(&self) -> Option<u64> {
        let srtt = self.srtt.filter(|t| !t.is_zero())?.as_nanos();
        if !self.pacing || self.probe != Probe::Done {
            return None;
        }
        let bits = 8 * u128::from(self.cwnd + self.cwnd / self.mss * u64::from(PACED_HEADERS));
        u64::try_from(bits * u128::from(NANOS_PER_SEC) / u128::from(srtt)).ok()
    }
}

impl EndSlowStart for Hybla {
    fn end_slow_start(&mut self, window: u64) {
        self.set_window(window);
        self.ssthresh = window;
    }
}

impl UndoReduction for Hybla {
    fn save(&mut self) {
        self.probing = self.probe != Probe::Done;
    }

    fn on_spurious(&mut self, _cx: &Context<'_>, undone: &Undone) {
        self.reno_until = None;
        self.set_window(undone.window);
        self.ssthresh = undone.ssthresh;
        if std::mem::take(&mut self.probing) {
            self.probe = Probe::Waiting; // the estimate starts again with the next ACKs
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ByteCounting, RtoConfig};
    use crate::rto::RttEstimator;

    const MSS: u64 = 1000;

    fn ms(n: u64) -> Interval {
        Interval::from_millis(n)
    }

    fn estimator(rtt: u64) -> RttEstimator {
        let mut estimator = RttEstimator::new(RtoConfig::default());
        estimator.sample(Instant::ZERO, Instant::ZERO + ms(rtt));
        estimator
    }

    fn cx(rtt: &RttEstimator, at: u64) -> Context<'_> {
        Context {
            now: Instant::ZERO + ms(at),
            mss: MSS,
            flight: 40 * MSS,
            snd_una: 1,
            snd_max: 1 + 40 * MSS,
            rtt,
        }
    }

    fn ack(segments: u64) -> Ack {
        Ack {
            bytes: segments * MSS,
            rtt_sample: None,
            fine_rtt: None,
            cwnd_limited: true,
        }
    }

    fn hybla(settings: &[(&str, Setting)], window: u64, ssthresh: u64) -> Hybla {
        let mut control = Control::new(&Hybla::ALGORITHM);
        for &(name, setting) in settings {
            control = control.with(name, setting);
        }
        Hybla::new(
            &control,
            Start {
                window: window * MSS,
                ssthresh,
                ..Start::default()
            },
        )
    }

    const NO_ESTIMATE: (&str, Setting) = ("bandwidth_estimate", Setting::Flag(false));

    /// Each ACK adds 2^rho - 1 segments: 1, 3, 7 at 25, 50 and 75 ms; 1.828 at 37.5 ms. An RTT
    /// below RTT0 gives Reno's growth.
    #[test]
    fn slow_start() {
        for (rtt, step) in [(10, 1000), (25, 1000), (50, 3000), (75, 7000)] {
            let rtt = estimator(rtt);
            let mut h = hybla(&[NO_ESTIMATE], 10, u64::MAX);
            h.on_ack(&cx(&rtt, 0), &ack(1));
            assert_eq!(h.cwnd(), 10 * MSS + step);
            h.on_ack(&cx(&rtt, 0), &ack(2));
            assert_eq!(h.cwnd(), 10 * MSS + 2 * step);
        }
        let mut rtt = RttEstimator::new(RtoConfig::default());
        rtt.sample(Instant::ZERO, Instant::ZERO + Interval::from_micros(37_500));
        let mut h = hybla(&[NO_ESTIMATE], 10, u64::MAX);
        h.on_ack(&cx(&rtt, 0), &ack(1));
        assert_eq!(h.cwnd(), 11_828); // 2^1.5 - 1 = 1.8284
    }

    /// Each ACK adds rho^2 / W segments. At 100 ms rho = 4, which is about 16 segments per window
    /// of ACKs, and a little less because W grows.
    #[test]
    fn congestion_avoidance() {
        let rtt = estimator(100);
        let mut h = hybla(&[NO_ESTIMATE], 160, 0);
        h.on_ack(&cx(&rtt, 0), &ack(1));
        assert_eq!((h.cwnd(), h.carry), (160 * MSS + 100, 0.0));
        let mut expected = 160.1_f64;
        for _ in 1..160 {
            h.on_ack(&cx(&rtt, 0), &ack(1));
            expected += 16.0 / expected;
        }
        assert!((h.cwnd() as f64 / 1000.0 - expected).abs() < 0.01);
        assert!((h.cwnd() as f64 - 175_200.0).abs() < 100.0, "{}", h.cwnd());
        let mut h = hybla(&[NO_ESTIMATE], 160, 0);
        h.counting = AckCounting::new(ByteCounting::Unlimited);
        h.on_ack(&cx(&rtt, 0), &ack(2));
        assert_eq!(h.cwnd(), 160 * MSS + 200);
    }

    /// tcp_hybla.c, hybla_state: after a time-out Linux grows cwnd as Reno until all data that was
    /// in flight is acknowledged. The ACK that completes this already has Hybla's growth.
    #[test]
    fn reno_repairs_a_time_out_if_configured() {
        let rtt = estimator(50); // 2^rho - 1 = 3
        for (growth, steps) in [("hybla", [3, 3, 3]), ("reno", [1, 2, 3])] {
            let mut h = hybla(
                &[NO_ESTIMATE, ("after_timeout", Setting::Choice(growth))],
                40,
                u64::MAX,
            );
            h.on_timeout(&cx(&rtt, 0), true);
            assert_eq!((h.cwnd(), h.ssthresh()), (MSS, 20 * MSS));
            for ((acked, segments), step) in [(1, 1), (3, 2), (40, 1)].into_iter().zip(steps) {
                let before = h.cwnd();
                let after = Context {
                    snd_una: 1 + acked * MSS,
                    ..cx(&rtt, 100)
                };
                h.on_ack(&after, &ack(segments));
                assert_eq!(h.cwnd() - before, step * MSS, "{growth}");
            }
            // At cwnd = ssthresh an ACK adds only its share of a segment.
            h.on_timeout(&cx(&rtt, 200), false);
            h.set_window(h.ssthresh());
            h.on_ack(&cx(&rtt, 300), &ack(2));
            let share = if growth == "reno" {
                2 * MSS / 20
            } else {
                4 * MSS / 20
            };
            assert_eq!(h.cwnd(), 20 * MSS + share, "{growth}");
        }
    }

    #[test]
    fn slow_start_ends_at_ssthresh_and_at_the_largest_window() {
        let rtt = estimator(500);
        let mut h = hybla(&[NO_ESTIMATE], 10, 64_000);
        h.scale_ssthresh = false;
        h.on_ack(&cx(&rtt, 0), &ack(1));
        assert_eq!(h.cwnd(), 64_000);
        let rtt = estimator(525); // 2^21 segments
        let mut h = hybla(&[NO_ESTIMATE], 10, u64::MAX);
        h.on_ack(&cx(&rtt, 0), &ack(1));
        assert_eq!(h.cwnd(), 1 << 30);
    }

    /// W(0) = rho W and initial ssthresh = rho gamma, with the RTT of the handshake: rho = 20 at
    /// 500 ms.
    #[test]
    fn initial_window_and_ssthresh_are_multiplied_by_rho() {
        let rtt = estimator(500);
        let mut h = hybla(
            &[NO_ESTIMATE, ("scale_initial_window", Setting::Flag(true))],
            2,
            64_000,
        );
        h.on_established(&cx(&rtt, 0));
        assert_eq!((h.cwnd(), h.ssthresh()), (40 * MSS, 20 * 64_000));
        h.on_delivered(&cx(&rtt, 0), &ack(1));
        assert_eq!((h.cwnd(), h.ssthresh()), (40 * MSS, 20 * 64_000));
        let mut h = hybla(
            &[("scale_initial_ssthresh", Setting::Flag(false))],
            2,
            64_000,
        );
        h.on_established(&cx(&rtt, 0));
        assert_eq!((h.cwnd(), h.ssthresh()), (2 * MSS, 64_000));
    }

    /// An ssthresh that a loss set before the first RTT sample is FlightSize / 2 (RFC 5681,
    /// equation 4), and is not multiplied by rho later.
    #[test]
    fn the_threshold_of_a_loss_is_not_scaled() {
        let rtt = estimator(500);
        let loss = Loss {
            sent_at: Instant::ZERO,
        };
        let losses: [fn(&mut Hybla, &Context<'_>, &Loss); 2] = [
            |h, cx, loss| h.on_loss(cx, loss),
            |h, cx, _| h.on_timeout(cx, true),
        ];
        for lose in losses {
            let mut h = hybla(&[], 2, 64_000);
            lose(&mut h, &cx(&rtt, 0), &loss);
            h.on_delivered(&cx(&rtt, 0), &ack(1));
            assert_eq!(h.ssthresh(), 20 * MSS);
        }
    }

    /// Three ACKs of 1,000 bytes 10 ms apart are 100,000 bytes/s: ssthresh is 50 segments at 500
    /// ms. ACKs of different flights do not count together.
    #[test]
    fn the_spacing_of_the_first_acks_sets_ssthresh() {
        let rtt = estimator(500);
        let mut h = hybla(&[], 2, u64::MAX);
        h.on_ack(&cx(&rtt, 500), &ack(1));
        h.on_ack(&cx(&rtt, 1000), &ack(1));
        assert_eq!((h.cwnd(), h.ssthresh()), (4 * MSS, u64::MAX));
        h.on_ack(&cx(&rtt, 1010), &ack(1));
        h.on_ack(&cx(&rtt, 1020), &ack(1));
        assert_eq!((h.cwnd(), h.ssthresh()), (50 * MSS, 50 * MSS));
    }

    /// rho comes from the least RTT, or from SRTT if so configured.
    #[test]
    fn rho_uses_the_least_or_the_smoothed_rtt() {
        let rtt = estimator(100);
        let mut h = hybla(&[NO_ESTIMATE], 10, 0);
        for sample in [100, 75, 500] {
            let fine_rtt = Some(ms(sample));
            h.on_delivered(&cx(&rtt, 0), &Ack { fine_rtt, ..ack(1) });
        }
        assert_eq!(h.rho(&cx(&rtt, 0)), 3.0);
        let h = hybla(&[("rtt", Setting::Choice("smoothed"))], 10, 0);
        assert_eq!(h.rho(&cx(&rtt, 0)), 4.0);
    }

    #[test]
    fn decrease_is_that_of_reno() {
        let rtt = estimator(100);
        let mut h = hybla(&[], 60, u64::MAX);
        let loss = Loss {
            sent_at: Instant::ZERO,
        };
        h.on_loss(&cx(&rtt, 0), &loss);
        assert_eq!((h.cwnd(), h.ssthresh()), (20 * MSS, 20 * MSS));
        h.on_timeout(&cx(&rtt, 0), true);
        assert_eq!((h.cwnd(), h.ssthresh()), (MSS, 20 * MSS));
    }

    /// 50 segments with headers in 500 ms: 832,000 bit/s.
    #[test]
    fn paced_segments_fill_the_round_trip_time() {
        let rtt = estimator(500);
        let pacing = ("pacing", Setting::Flag(true));
        let mut h = hybla(&[NO_ESTIMATE, pacing], 50, u64::MAX);
        assert_eq!(h.pacing_rate(), None);
        h.on_established(&cx(&rtt, 0));
        assert_eq!(h.pacing_rate(), Some(832_000));
        let mut waits = hybla(&[pacing], 50, u64::MAX);
        waits.on_established(&cx(&rtt, 0));
        assert_eq!(waits.pacing_rate(), None);
    }

    /// With pacing half of cwnd in flight is enough for growth (RFC 7661, 4.3). Without pacing cwnd
    /// must have stopped the sender.
    #[test]
    fn half_a_window_in_use_is_enough_when_paced() {
        let rtt = estimator(25);
        let idle = Ack {
            cwnd_limited: false,
            ..ack(1)
        };
        let paced = ("pacing", Setting::Flag(true));
        for (pacing, window, grows) in [(true, 80, true), (true, 81, false), (false, 80, false)] {
            let settings: &[_] = if pacing {
                &[NO_ESTIMATE, paced]
            } else {
                &[NO_ESTIMATE]
            };
            let mut h = hybla(settings, window, u64::MAX);
            h.on_ack(&cx(&rtt, 0), &idle); // 40 segments are in flight
            assert_eq!(h.cwnd() > window * MSS, grows, "{pacing} {window}");
        }
    }

    /// The bandwidth estimate needs three ACKs, each at most half an RTT after the previous one.
    /// ssthresh is at least two segments.
    #[test]
    fn the_share_is_of_acks_within_half_a_round_trip_and_two_segments_at_least() {
        let rtt = estimator(100);
        for (gap, bytes, ssthresh) in [
            (50, 5 * MSS, 10 * MSS), // 10 segments in the 100 ms
            (51, 5 * MSS, u64::MAX),
            (50, MSS / 2, 2 * MSS),
        ] {
            let mut h = hybla(&[], 2, u64::MAX);
            for i in 0..3 {
                let ack = Ack { bytes, ..ack(1) };
                h.probe(&cx(&rtt, i * gap), &ack);
            }
            assert_eq!(h.ssthresh(), ssthresh, "{gap} {bytes}");
        }
    }

    /// A loss ends the bandwidth estimate. The undo of a spurious loss restarts the estimate if it
    /// was not complete.
    #[test]
    fn undo_restarts_the_bandwidth_estimate() {
        let rtt = estimator(100);
        for (settings, probe) in [(&[] as &[_], Probe::Waiting), (&[NO_ESTIMATE], Probe::Done)] {
            let mut h = hybla(settings, 10, u64::MAX);
            let undone = Undone {
                window: h.cwnd(),
                ssthresh: h.ssthresh(),
            };
            h.save();
            let sent_at = Instant::ZERO;
            h.on_loss(&cx(&rtt, 0), &Loss { sent_at });
            assert_eq!(h.probe, Probe::Done);
            h.on_spurious(&cx(&rtt, 0), &undone);
            assert_eq!(h.probe, probe);
        }
    }
}
