//! Tests of the window and of AckedCount, which Westwood and Westwood+ share.

use super::*;
use crate::config::RtoConfig;
use crate::rto::RttEstimator;
use crate::time::Instant;

const MSS: u64 = 1000;

/// Estimator with a fixed bandwidth; also sums the bytes delivered.
#[derive(Debug)]
struct Fixed(f64, u64);

impl Estimator for Fixed {
    fn on_delivered(&mut self, _now: Instant, bytes: u64, _rtt: Option<Interval>) {
        self.1 += bytes;
    }

    fn bandwidth(&self) -> f64 {
        self.0
    }
}

fn estimator() -> RttEstimator {
    RttEstimator::new(RtoConfig::default())
}

fn cx(rtt: &RttEstimator) -> Context<'_> {
    Context {
        now: Instant::ZERO,
        mss: MSS,
        flight: 50 * MSS,
        snd_una: 1,
        snd_max: 1 + 50 * MSS,
        rtt,
    }
}

fn ack(bytes: u64, fine_rtt: Option<u64>) -> Ack {
    Ack {
        bytes,
        rtt_sample: None,
        fine_rtt: fine_rtt.map(Interval::from_millis),
        cwnd_limited: true,
    }
}

const LOSS: Loss = Loss {
    sent_at: Instant::ZERO,
};

fn westwood(bandwidth: f64, raise: bool, cwnd: u64) -> Westwood<Fixed> {
    let start = Start {
        window: cwnd,
        ssthresh: u64::MAX,
        ..Start::default()
    };
    Westwood::new(Box::new(Fixed(bandwidth, 0)), raise, start)
}

/// 100,000 bytes/s times the least RTT (300 ms) are 30 segments.
#[test]
fn loss_sets_ssthresh_to_bandwidth_times_least_rtt() {
    let rtt = estimator();
    let cx = cx(&rtt);
    for (raise, cwnd, after) in [
        (false, 50, 30),
        (false, 20, 20),
        (true, 50, 30),
        (true, 20, 30),
    ] {
        let mut w = westwood(100_000.0, raise, cwnd * MSS);
        for sample in [500, 300, 400] {
            w.on_delivered(&cx, &ack(MSS, Some(sample)));
        }
        w.on_loss(&cx, &LOSS);
        assert_eq!((w.cwnd(), w.ssthresh()), (after * MSS, 30 * MSS));
        w.on_timeout(&cx, true);
        assert_eq!((w.cwnd(), w.ssthresh()), (MSS, 30 * MSS));
    }
}

#[test]
fn ssthresh_is_at_least_two_segments() {
    let rtt = estimator();
    let mut w = westwood(0.0, false, 10 * MSS);
    w.on_loss(&cx(&rtt), &LOSS);
    assert_eq!((w.cwnd(), w.ssthresh()), (2 * MSS, 2 * MSS));
    w.on_timeout(&cx(&rtt), true);
    assert_eq!((w.cwnd(), w.ssthresh()), (MSS, 2 * MSS));
}

/// Segment 1 of 6 is lost: five duplicate ACKs account for one segment each, and the ACK of all six
/// for the remaining one. A delayed ACK accounts for both of its segments.
#[test]
fn accounting() {
    let mut w = westwood(0.0, false, 10 * MSS);
    for _ in 0..5 {
        assert_eq!(w.acked_count(0, MSS), MSS);
    }
    assert_eq!(w.acked_count(6 * MSS, MSS), MSS);
    assert_eq!(w.acked_count(2 * MSS, MSS), 2 * MSS);
    assert_eq!(w.accounted, 0);
}

/// Segments 1 and 4 of 8 are lost, with six duplicate ACKs. The partial ACK of three segments
/// counts one and uses up three duplicates; the ACK of the other five counts two.
#[test]
fn accounting_of_partial_acks() {
    let mut w = westwood(0.0, false, 10 * MSS);
    for _ in 0..6 {
        w.acked_count(0, MSS);
    }
    assert_eq!(w.acked_count(3 * MSS, MSS), MSS);
    assert_eq!(w.accounted, 3 * MSS);
    assert_eq!(w.acked_count(5 * MSS, MSS), 2 * MSS);
}

#[test]
fn growth_is_that_of_reno() {
    let rtt = estimator();
    let cx = cx(&rtt);
    let mut w = westwood(0.0, false, 4 * MSS);
    w.on_ack(&cx, &ack(2 * MSS, None));
    assert_eq!(w.cwnd(), 5 * MSS);
    w.ssthresh = 5 * MSS;
    w.on_ack(&cx, &ack(2 * MSS, None));
    assert_eq!(w.cwnd(), 5 * MSS + 200);
}

/// Builds a Linux estimator at HZ = 1000 with 100 bytes per jiffy and `rtt_min` = 200 ms.
fn linux(kernel: Kernel, cwnd: u64) -> Westwood<Jiffies> {
    let rtt = estimator();
    let mut jiffies = Jiffies::new(kernel, 1000);
    let at = |ms| Instant::ZERO + Interval::from_millis(ms);
    for n in 0..400 {
        jiffies.on_delivered(at(n * 201), if n == 0 { 0 } else { 114 * 201 }, None);
        jiffies.on_rtt(Some(Interval::from_millis(200)), &rtt);
    }
    // `Kernel::First` uses SRTT as its RTT, so this estimator needs a sample.
    if kernel == Kernel::First {
        let mut rtt = estimator();
        rtt.sample(at(0), at(200));
        for n in 400..800 {
            jiffies.on_rtt(None, &rtt);
            jiffies.on_delivered(at(n * 201), 114 * 201, None);
        }
    }
    let start = Start {
        window: cwnd,
        ssthresh: u64::MAX,
        ..Start::default()
    };
    Westwood::new(Box::new(jiffies), true, start)
}

/// Linux 2.4 sets ssthresh to the estimate, 100 bytes per jiffy * 200 jiffies = 20 segments. The
/// samples are 114 bytes per jiffy, but the integer filters stop 14 below. A loss never raises
/// cwnd. The end of recovery sets cwnd to the estimate, which may be larger.
#[test]
fn linux_2_4_reduces_to_the_estimate() {
    let rtt = estimator();
    let cx = cx(&rtt);
    for (cwnd, down) in [(50, 20), (12, 12)] {
        let mut w = linux(Kernel::First, cwnd * MSS);
        w.on_loss(&cx, &LOSS);
        assert_eq!((w.cwnd(), w.ssthresh()), (down * MSS, 20 * MSS));
        w.on_recovered(&cx, MSS);
        assert_eq!((w.cwnd(), w.ssthresh()), (20 * MSS, 20 * MSS));
    }
}

/// Linux since 2.6.18 halves cwnd as Reno does, and sets it to the estimate after recovery. The
/// filters fell to 114 bytes per jiffy, which gives 22 segments. After a mark both steps happen at
/// once.
#[test]
fn linux_halves_cwnd_and_sets_the_estimate_after_recovery() {
    let rtt = estimator();
    let cx = cx(&rtt);
    let mut w = linux(Kernel::Current, 51 * MSS + 500);
    w.on_loss(&cx, &LOSS);
    assert_eq!((w.cwnd(), w.ssthresh()), (25 * MSS, 25 * MSS));
    w.on_recovered(&cx, MSS);
    assert_eq!((w.cwnd(), w.ssthresh()), (22 * MSS, 22 * MSS));
    w.on_loss(&cx, &LOSS);
    assert_eq!((w.cwnd(), w.ssthresh()), (11 * MSS, 11 * MSS));
    w.on_congestion_mark(&cx, &LOSS);
    assert_eq!((w.cwnd(), w.ssthresh()), (22 * MSS, 22 * MSS));
}

/// In Linux only the first of several consecutive time-outs sets ssthresh to the estimate.
#[test]
fn linux_keeps_ssthresh_at_a_repeated_time_out() {
    let rtt = estimator();
    let cx = cx(&rtt);
    let mut w = linux(Kernel::Current, 50 * MSS);
    w.on_timeout(&cx, false);
    assert_eq!((w.cwnd(), w.ssthresh()), (MSS, u64::MAX));
    w.on_timeout(&cx, true);
    assert_eq!((w.cwnd(), w.ssthresh()), (MSS, 22 * MSS));
}
