//! Tests of DCTCP.

use super::super::{CongestionControl as _, Control};
use super::*;
use crate::config::RtoConfig;
use crate::rto::RttEstimator;
use crate::time::Instant;

const MSS: u64 = 1000;

struct Bench {
    dctcp: Dctcp,
    rtt: RttEstimator,
    una: Offset,
    max: Offset,
}

impl Bench {
    fn new(settings: &[(&str, Setting)], segments: u64) -> Self {
        let mut control = Control::new(&Dctcp::ALGORITHM);
        for &(name, setting) in settings {
            control = control.with(name, setting);
        }
        let start = Start {
            window: segments * MSS,
            ssthresh: segments * MSS,
            byte_counting: super::super::ByteCounting::Acks,
            paced: false,
        };
        Self {
            dctcp: Dctcp::new(&control, start),
            rtt: RttEstimator::new(RtoConfig::default()),
            una: 1,
            max: 1 + segments * MSS,
        }
    }

    /// Acknowledges one segment, `marked` of whose bytes carry a mark. Sends up to cwnd.
    fn ack(&mut self, marked: u64) {
        self.una += MSS;
        let cx = Context {
            now: Instant::ZERO,
            mss: MSS,
            flight: self.max - self.una,
            snd_una: self.una,
            snd_max: self.max,
            rtt: &self.rtt,
        };
        let report = MarkReport {
            delivered: MSS,
            marked,
            marked_packets: marked / MSS,
            cwnd_limited: true,
        };
        self.dctcp.on_marks(&cx, &report);
        let ack = Ack {
            bytes: MSS,
            rtt_sample: None,
            fine_rtt: None,
            cwnd_limited: true,
        };
        if marked == 0 {
            self.dctcp.on_ack(&cx, &ack);
        }
        self.max = self.max.max(self.una + self.dctcp.cwnd());
    }

    fn mark(&mut self) {
        let cx = Context {
            now: Instant::ZERO,
            mss: MSS,
            flight: self.max - self.una,
            snd_una: self.una,
            snd_max: self.max,
            rtt: &self.rtt,
        };
        let loss = Loss {
            sent_at: Instant::ZERO,
        };
        self.dctcp.on_congestion_mark(&cx, &loss);
    }
}

fn update(linux: bool, marked: &[u64]) -> Vec<f64> {
    let mut share = Share::new(linux, 0.0625, 1.0);
    let step = |&n: &u64| {
        share.update(10 * MSS, n * MSS, MSS);
        share.alpha()
    };
    marked.iter().map(step).collect()
}

/// RFC 8257, 3.3: alpha starts at 1. The shares of marked data are 0, 1/2 and 1, and g = 1/16.
#[test]
fn alpha_is_a_moving_average() {
    let all = update(false, &[0, 5, 10]);
    assert_eq!(all, [0.9375, 0.910_156_25, 0.915_771_484_375]);
}

/// At a constant share p, alpha - p falls by the factor 1 - g per window. After n windows from 1,
/// alpha is p + (1 - p)(15/16)^n.
#[test]
fn alpha_converges_to_a_constant_share() {
    let alpha = *update(false, &[3; 40]).last().unwrap();
    assert!((alpha - (0.3 + 0.7 * 0.9375_f64.powi(40))).abs() < 1e-12);
}

/// `tcp_dctcp.c`: 1024 - 64 = 960; 960 - 60 + (5 << 6) / 10 = 932; 932 - 58 + 64 = 938. Below 16 the
/// estimate falls to zero at once (`min_not_zero`).
#[test]
fn alpha_of_linux_is_in_parts_of_1024() {
    let parts: Vec<_> = update(true, &[0, 5, 10])
        .iter()
        .map(|a| a * 1024.0)
        .collect();
    assert_eq!(parts, [960.0, 932.0, 938.0]);
    let mut share = Share::Linux {
        alpha: 15,
        shift: 4,
    };
    share.update(10 * MSS, 0, MSS);
    assert!(share.alpha() < 1e-12);
    let whole = update(true, &[10; 50]);
    assert!((whole[49] - 1.0).abs() < 1e-12);
}

/// Rounds g down to a power of two: 1/16 stays, and 1/10 becomes 1/16.
#[test]
fn gain_of_linux_is_a_power_of_two() {
    for (g, expected) in [(1.0, 0), (0.5, 1), (0.0625, 4), (0.1, 4), (0.000_977, 10)] {
        let Share::Linux { shift, .. } = Share::new(true, g, 1.0) else {
            panic!("{g}");
        };
        assert_eq!(shift, expected, "{g}");
    }
}

#[test]
fn a_mark_reduces_by_half_the_share() {
    for (alpha, exact, linux) in [
        (1.0, 50_500, 50_000),
        (0.5, 75_750, 76_000),
        (0.0, 101_000, 101_000),
    ] {
        let initial = ("initial_alpha", Setting::Number(alpha));
        let mut bench = Bench::new(&[initial], 101);
        bench.mark();
        assert_eq!((bench.dctcp.cwnd(), bench.dctcp.ssthresh()), (exact, exact));
        let arithmetic = ("arithmetic", Setting::Choice("linux"));
        let mut bench = Bench::new(&[initial, arithmetic], 101);
        bench.mark();
        // 101 - (101 * 1024 >> 11) = 51.
        let expected = if alpha > 0.9 { 51_000 } else { linux };
        assert_eq!(bench.dctcp.cwnd(), expected, "{alpha}");
    }
    let mut small = Bench::new(&[], 3);
    small.mark();
    assert_eq!(small.dctcp.cwnd(), 2 * MSS);
}

/// RFC 8257, 3.3, step 3: an observation window ends with the first ACK beyond its data. In Linux
/// it ends with the ACK of its last byte.
#[test]
fn observation_window_is_a_window_of_data() {
    for (arithmetic, acks) in [("exact", 10), ("linux", 9)] {
        let mut bench = Bench::new(&[("arithmetic", Setting::Choice(arithmetic))], 10);
        bench.ack(0); // the first window is empty
        let first = bench.dctcp.share.alpha();
        let end = bench.dctcp.window_end;
        let mut count = 0;
        while bench.dctcp.share.alpha() >= first {
            bench.ack(0);
            count += 1;
        }
        let last = u64::from(arithmetic == "exact");
        assert_eq!(bench.una, end + last * MSS, "{arithmetic}");
        assert_eq!(count, acks, "{arithmetic}");
    }
}

/// Response to a constant share p of evenly spaced marks. At most one mark per window reduces cwnd,
/// by the factor alpha / 2. If every window has a mark, growth by one segment per window balances a
/// reduction of W p / 2 at W = 2 / p.
#[test]
fn window_under_a_constant_share_is_two_over_p() {
    for p in [0.02, 0.05, 0.1] {
        let mut bench = Bench::new(&[], 20);
        let (mut due, mut sum, mut acks, mut barred) = (0.0, 0.0, 0.0, 0);
        for i in 0..400_000 {
            due += p;
            let marked = due >= 1.0;
            if marked {
                due -= 1.0;
            }
            bench.ack(if marked { MSS } else { 0 });
            if marked && bench.una > barred {
                bench.mark();
                barred = bench.max;
            }
            if i > 100_000 {
                // Mean over time: an ACK lasts 1 / W of a round trip.
                sum += 1.0;
                acks += 1.0 / (bench.dctcp.cwnd() as f64 / MSS as f64);
            }
        }
        let mean = sum / acks;
        assert!((mean * p / 2.0 - 1.0).abs() < 0.15, "{p}: {mean}");
    }
}

/// An observation window with half a segment marked, and then one without marks: alpha = 15/16 alpha
/// + F/16. F is half of 1/11, as the window ends with the eleventh ACK; Linux counts one of 10.
#[test]
fn each_observation_window_counts_its_own_marks() {
    for (arithmetic, marked) in [("exact", 0.5 / 11.0), ("linux", 0.1)] {
        let mut bench = Bench::new(&[("arithmetic", Setting::Choice(arithmetic))], 10);
        bench.dctcp.window_end = bench.max;
        let mut alphas = vec![1.0];
        while alphas.len() < 3 {
            let first = bench.una == 1;
            bench.ack(if first { MSS / 2 } else { 0 });
            let alpha = bench.dctcp.share.alpha();
            if alphas.last() != Some(&alpha) {
                alphas.push(alpha);
            }
        }
        let after = [0.9375 + marked / 16.0, 0.9375 * (0.9375 + marked / 16.0)];
        for (alpha, expected) in alphas[1..].iter().zip(after) {
            assert!(
                (alpha - expected).abs() < 1.0 / 1024.0,
                "{arithmetic}: {alphas:?}"
            );
        }
    }
}

/// More marked than acknowledged bytes count as all of them. Linux counts packets, so a part of a
/// segment is one.
#[test]
fn shares_are_at_most_one_and_of_packets_in_linux() {
    let mut exact = Share::new(false, 0.5, 0.5);
    exact.update(10 * MSS, 20 * MSS, MSS);
    assert_eq!(exact.alpha(), 0.75);
    let linux = |acked, marked, alpha: f64| {
        let mut share = Share::new(true, 0.0625, alpha);
        share.update(acked, marked, MSS);
        share.alpha() * 1024.0
    };
    assert_eq!(linux(10 * MSS, 20 * MSS, 1.0), 1024.0);
    assert_eq!(linux(10 * MSS, 500, 0.0), 6.0); // (1 << 6) / 10
    assert_eq!(linux(3 * MSS + 1, 2 * MSS, 0.0), 32.0); // (2 << 6) / 4
}

/// Time-outs, a restored threshold and losses are Reno's: only the first time-out of a segment
/// sets ssthresh.
#[test]
fn losses_are_those_of_reno() {
    let mut bench = Bench::new(&[], 20);
    let cx = |flight| Context {
        now: Instant::ZERO,
        mss: MSS,
        flight: flight * MSS,
        snd_una: 1,
        snd_max: 1 + 20 * MSS,
        rtt: &bench.rtt,
    };
    let dctcp = &mut bench.dctcp;
    dctcp.on_timeout(&cx(20), true);
    dctcp.on_timeout(&cx(4), false);
    assert_eq!((dctcp.cwnd(), dctcp.ssthresh()), (MSS, 10 * MSS));
    dctcp.raise_ssthresh(15 * MSS);
    assert_eq!(dctcp.ssthresh(), 15 * MSS);
    dctcp.on_loss(
        &cx(8),
        &Loss {
            sent_at: Instant::ZERO,
        },
    );
    assert_eq!((dctcp.cwnd(), dctcp.ssthresh()), (4 * MSS, 4 * MSS));
}
