use super::*;
use crate::config::RtoConfig;
use crate::congestion::vegas::Vegas;
use crate::congestion::{CongestionControl, Control, Loss, Setting, Start};
use crate::rto::RttEstimator;

const MSS: u64 = 1000;

/// A sender whose ACKs cover one segment each.
struct Flow {
    vegas: Box<dyn CongestionControl>,
    now: Instant,
    una: Offset,
    max: Offset,
}

impl Flow {
    fn new(
        arithmetic: &'static str,
        settings: &[(&str, Setting)],
        cwnd: u64,
        ssthresh: u64,
    ) -> Self {
        let mut control = Control::new(&Vegas::ALGORITHM)
            .with("arithmetic", Setting::Choice(arithmetic))
            .with("loss_cut", Setting::Choice("reno"))
            .with("timeout_window", Setting::Count(1));
        for &(name, setting) in settings {
            control = control.with(name, setting);
        }
        let window = cwnd * MSS;
        let start = Start {
            window,
            ssthresh: ssthresh.saturating_mul(MSS),
            ..Start::default()
        };
        Self {
            vegas: control.build(start),
            now: Instant::ZERO + Interval::from_secs(10),
            una: 1,
            max: 1 + window,
        }
    }

    fn windows(&self) -> (u64, u64) {
        (self.vegas.cwnd() / MSS, self.vegas.ssthresh() / MSS)
    }

    fn at<T>(&mut self, call: impl FnOnce(&mut dyn CongestionControl, &Context<'_>) -> T) -> T {
        let rtt = RttEstimator::new(RtoConfig::default());
        let cx = Context {
            now: self.now,
            mss: MSS,
            flight: self.max - self.una,
            snd_una: self.una,
            snd_max: self.max,
            rtt: &rtt,
        };
        call(&mut *self.vegas, &cx)
    }

    /// Acknowledges a segment with an RTT (ms), then sends up to cwnd.
    fn ack(&mut self, segments: u64, rtt: Option<u64>) {
        self.una += segments * MSS;
        self.max = self.max.max(self.una);
        let ack = Ack {
            bytes: segments * MSS,
            rtt_sample: None,
            fine_rtt: rtt.map(Interval::from_millis),
            cwnd_limited: true,
        };
        self.at(|vegas, cx| vegas.on_ack(cx, &ack));
        self.max = self.max.max(self.una + self.vegas.cwnd());
    }

    /// Acknowledges the data in flight with these RTTs, the last one repeated. Returns the windows
    /// after the ACK that ends the round, which is the first of the next window.
    fn round(&mut self, rtts: &[u64]) -> (u64, u64) {
        self.now += Interval::from_millis(rtts[0]);
        let segments = (self.max - self.una) / MSS;
        for k in 0..segments {
            let rtt = rtts.get(k as usize).or(rtts.last());
            self.ack(1, rtt.copied());
        }
        self.windows()
    }
}

/// The authors' TCP doubles in every second round; the kernel in each.
#[test]
fn slow_start_doubles_in_each_round() {
    for arithmetic in ["linux-2.6", "linux"] {
        let mut flow = Flow::new(arithmetic, &[], 4, 1 << 40);
        let windows: Vec<_> = (0..4).map(|_| flow.round(&[100]).0).collect();
        assert_eq!(windows, [8, 16, 32, 64], "{arithmetic}");
    }
}

/// A delay that varies is no queue while one segment of a round has the least RTT.
#[test]
fn the_least_rtt_of_a_round_counts() {
    for arithmetic in ["linux-2.6", "linux"] {
        let mut flow = Flow::new(arithmetic, &[], 20, 2);
        flow.round(&[100]);
        let before = flow.windows().0;
        for _ in 0..5 {
            flow.round(&[150, 150, 150, 100, 180]);
        }
        let after = flow.windows().0;
        assert!(after >= before + 3, "{arithmetic}: {before} to {after}");
        // Without such a segment the window shrinks by one segment a round.
        let before = flow.windows().0;
        for _ in 0..6 {
            flow.round(&[150]);
        }
        let after = flow.windows().0;
        assert!(after <= before - 3, "{arithmetic}: {before} to {after}");
    }
}

/// 2.6.12: of 20 segments sent, target = floor(2 * 20 * 101 / 111) = 36 halves, diff = 40 - 36 = 4
/// halves, which is above gamma (2 halves). cwnd becomes 36 / 2 + 1 = 19, ssthresh 2.
#[test]
fn slow_start_ends_with_the_window_that_fills_the_path() {
    let mut flow = Flow::new("linux-2.6", &[], 20, 1 << 40);
    flow.ack(1, Some(100)); // the round starts: 21 segments in flight
    let start = flow.windows().0;
    assert_eq!(start, 21);
    while flow.windows().1 > 2 {
        flow.ack(1, Some(110));
        assert!(flow.windows().0 < 60);
    }
    // Sent in the round: from una to max at its start, 19 segments of the first window.
    let (cwnd, ssthresh) = flow.windows();
    let sent = 19;
    let target = 2 * sent * 101 / 111;
    assert_eq!((cwnd, ssthresh), (target / 2 + 1, 2));
}

/// Current kernels: target = floor(cwnd base / rtt), ssthresh = max(target + 1, 3/4 cwnd).
#[test]
fn slow_start_of_current_kernels_ends_at_target_and_one() {
    let mut flow = Flow::new("linux", &[], 10, 1 << 40);
    flow.ack(1, Some(100));
    let mut before = flow.windows();
    while flow.windows().1 > 1 << 30 {
        before = flow.windows();
        flow.ack(1, Some(120));
        assert!(flow.windows().0 < 60);
    }
    let target = before.0 * 100_001 / 120_001;
    assert_eq!(flow.windows(), (target + 1, target + 1));
}

/// alpha and beta in halves of a segment (2.6.12) and in segments (current). With a base of 99 + 1
/// jiffies and RTT + 1 = 110: of 20 segments 2 * 20 - floor(40 * 100 / 110) = 4 halves.
#[test]
fn alpha_and_beta_keep_grow_and_shrink() {
    let cases = [
        ("linux-2.6", 1.0, 3.0, 99, 109, 20, 0), // 4 halves: within 2 to 6
        ("linux-2.6", 2.0, 3.0, 99, 109, 20, 0), // 4 halves: equal to alpha
        ("linux-2.6", 2.5, 3.0, 99, 109, 20, 1), // below 5 halves
        ("linux-2.6", 1.0, 2.0, 99, 109, 20, 0), // equal to beta
        ("linux-2.6", 1.0, 1.5, 99, 109, 20, -1), // above 3 halves
        ("linux", 2.0, 4.0, 100, 115, 20, 0),    // floor(20 * 15 / 100) = 2 or 3
        ("linux", 4.0, 6.0, 100, 115, 20, 1),
        ("linux", 1.0, 1.0, 100, 115, 20, -1),
    ];
    for (arithmetic, alpha, beta, base, rtt, cwnd, change) in cases {
        let settings = [
            ("alpha", Setting::Number(alpha)),
            ("beta", Setting::Number(beta)),
        ];
        let mut flow = Flow::new(arithmetic, &settings, cwnd, 2);
        flow.ack(1, Some(base)); // base RTT; the round begins
        let before = flow.windows().0;
        // The round ends with the first ACK beyond the data in flight at its start.
        let in_round = cwnd;
        for _ in 0..in_round {
            flow.ack(1, Some(rtt));
        }
        let after = flow.windows().0;
        assert_eq!(
            after as i64 - before as i64,
            change,
            "{arithmetic} {alpha} {beta}"
        );
    }
}

/// A round with at most two samples is not compared: 2.6.12 adds a segment, current kernels grow
/// as Reno.
#[test]
fn a_round_of_two_samples_is_not_compared() {
    let mut flow = Flow::new("linux-2.6", &[], 8, 2);
    flow.ack(1, Some(100));
    flow.ack(4, None);
    assert_eq!(flow.windows().0, 8);
    flow.ack(4, None);
    assert_eq!(flow.windows().0, 9);
    let mut flow = Flow::new("linux", &[], 8, 2);
    flow.ack(1, Some(100));
    flow.ack(7, None);
    assert_eq!(flow.windows().0, 8);
    flow.ack(8, Some(300)); // Reno: 8 segments of a window of 8
    assert_eq!(flow.windows().0, 9);
}

/// A loss halves the window in whole segments; a time-out leaves one, and Reno's slow start until
/// the data in flight is acknowledged, whatever the RTT.
#[test]
fn losses_are_those_of_reno() {
    for arithmetic in ["linux-2.6", "linux"] {
        let mut flow = Flow::new(arithmetic, &[], 21, 1 << 40);
        flow.now += Interval::from_millis(100);
        flow.at(|vegas, cx| {
            vegas.on_loss(
                cx,
                &Loss {
                    sent_at: Instant::ZERO,
                },
            );
        });
        assert_eq!(flow.windows(), (10, 10), "{arithmetic}");
        let mut flow = Flow::new(arithmetic, &[], 20, 1 << 40);
        flow.ack(1, Some(100));
        let flight = (flow.max - flow.una) / MSS;
        flow.at(|vegas, cx| vegas.on_timeout(cx, true));
        assert_eq!(flow.windows(), (1, flight / 2), "{arithmetic}");
        for k in 0..5 {
            flow.ack(1, Some(900));
            assert_eq!(flow.windows().0, 2 + k, "{arithmetic}");
        }
    }
}

/// cwnd never falls below two segments. With ssthresh = 2 the code of 2.6.12 adds a segment to two
/// (`snd_cwnd <= snd_ssthresh`).
#[test]
fn the_least_window_is_two_segments() {
    for (arithmetic, least) in [("linux-2.6", 3), ("linux", 2)] {
        let settings = [
            ("alpha", Setting::Number(0.0)),
            ("beta", Setting::Number(0.0)),
        ];
        let mut flow = Flow::new(arithmetic, &settings, 4, 2);
        flow.ack(1, Some(10));
        for _ in 0..30 {
            flow.ack(1, Some(500));
        }
        assert_eq!(flow.windows().0, least, "{arithmetic}");
    }
}

/// At 100 jiffies per second an RTT of 9 ms more is no queue when both are in the same jiffy.
#[test]
fn jiffies_hide_small_queues() {
    let diff = |hz| {
        let mut flow = Flow::new("linux-2.6", &[("hz", Setting::Count(hz))], 20, 2);
        flow.now += Interval::from_millis(9);
        flow.ack(1, Some(100)); // sent at 9.909 s: jiffy 990 to 1000
        for _ in 0..25 {
            flow.ack(1, Some(105)); // sent at 9.904 s
        }
        let metric = Vegas::ALGORITHM.metrics.iter().find(|m| m.name == "diff");
        flow.at(|vegas, cx| metric.and_then(|metric| metric.value(vegas, cx)))
    };
    assert_eq!(diff(100), Some(0.0));
    assert!(diff(1000) > Some(0.0));
}

/// After a pause BaseRTT is measured anew.
#[test]
fn a_pause_forgets_base_rtt() {
    for (idle, grows) in [(false, false), (true, true)] {
        let mut flow = Flow::new("linux", &[], 20, 2);
        flow.ack(1, Some(100));
        if idle {
            flow.at(|vegas, cx| vegas.on_idle(cx, 20 * MSS));
        }
        for _ in 0..50 {
            flow.ack(1, Some(200));
        }
        assert_eq!(flow.windows().0 > 20, grows);
    }
}
