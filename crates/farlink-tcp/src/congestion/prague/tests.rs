//! Tests of Prague.

use super::super::{ByteCounting, Control, RoundTrip};
use super::*;
use crate::seq::Offset;
use crate::time::Instant;

const MSS: u64 = 1000;

#[derive(Debug)]
struct Rtt(Interval);

impl RoundTrip for Rtt {
    fn srtt(&self) -> Option<Interval> {
        Some(self.0)
    }

    fn latest(&self) -> Option<Interval> {
        Some(self.0)
    }

    fn min(&self) -> Option<Interval> {
        Some(self.0)
    }

    fn rto(&self) -> Interval {
        Interval::from_secs(1)
    }
}

struct Bench {
    prague: Prague,
    rtt: Rtt,
    now: Instant,
    una: Offset,
    max: Offset,
}

impl Bench {
    fn new(segments: u64, ssthresh: u64, rtt_ms: u64, transition: u32) -> Self {
        let control =
            Control::new(&Prague::ALGORITHM).with("transition", Setting::Count(transition));
        let start = Start {
            window: segments * MSS,
            ssthresh: ssthresh.saturating_mul(MSS),
            byte_counting: ByteCounting::Off,
            paced: false,
        };
        let mut prague = Prague::new(&control, start);
        prague.on_agreed(Feedback::Accurate);
        Self {
            prague,
            rtt: Rtt(Interval::from_millis(rtt_ms)),
            now: Instant::ZERO,
            una: 1,
            max: 1 + segments * MSS,
        }
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut Prague, &Context<'_>) -> T) -> T {
        let cx = Context {
            now: self.now,
            mss: MSS,
            flight: self.max - self.una,
            snd_una: self.una,
            snd_max: self.max,
            rtt: &self.rtt,
        };
        act(&mut self.prague, &cx)
    }

    fn ack(&mut self, delivered: u64, marked: u64) {
        self.una += delivered;
        let report = MarkReport {
            delivered,
            marked,
            marked_packets: marked.div_ceil(MSS),
            cwnd_limited: true,
        };
        self.with(|prague, cx| prague.on_marks(cx, &report));
        self.max = self.max.max(self.una + self.prague.cwnd());
    }

    fn mark(&mut self) {
        let loss = Loss {
            sent_at: Instant::ZERO,
        };
        self.with(|prague, cx| prague.on_congestion_mark(cx, &loss));
    }

    fn alpha(&self) -> f64 {
        self.prague.rounds.alpha()
    }
}

/// Unmarked bytes grow cwnd by one segment per window, with fractions kept. Marked bytes add
/// nothing.
#[test]
fn growth_counts_unmarked_bytes_only() {
    let mut bench = Bench::new(10, 10, 50, 500);
    bench.ack(2 * MSS, 0);
    assert!((bench.prague.cwnd - 10_200.0).abs() < 1e-9);
    bench.ack(2 * MSS, MSS);
    assert!((bench.prague.cwnd - (10_200.0 + 1e6 / 10_200.0)).abs() < 1e-9);
    bench.ack(2 * MSS, 2 * MSS);
    assert_eq!(bench.prague.cwnd(), 10_298);
}

/// Slow start adds the delivered bytes up to ssthresh. The rest of the ACK's bytes follow
/// congestion avoidance.
#[test]
fn slow_start_ends_at_ssthresh() {
    let mut bench = Bench::new(10, 11, 50, 500);
    bench.ack(2 * MSS, 0);
    assert!((bench.prague.cwnd - (11_000.0 + 1e6 / 11_000.0)).abs() < 1e-9);
}

/// Alpha stays at 1 until the first mark, which therefore halves cwnd. The first round with a share
/// of 1/10 then gives 1 + (1/10 - 1)/16.
#[test]
fn first_mark_halves_and_alpha_starts_with_it() {
    let mut bench = Bench::new(10, u64::MAX, 50, 500);
    for _ in 0..30 {
        bench.ack(MSS, 0);
    }
    assert_eq!((bench.prague.cwnd(), bench.alpha()), (40_000, 1.0));
    let cwnd = bench.prague.cwnd;
    bench.mark();
    assert_eq!(bench.prague.cwnd(), (cwnd / 2.0) as u64);
    assert_eq!(bench.prague.ssthresh(), bench.prague.cwnd());
    let mut rounds = Rounds::new(Interval::from_millis(25), 500);
    bench.una = 100_001;
    bench.max = 200_001;
    let report = MarkReport {
        delivered: 10 * MSS,
        marked: MSS,
        ..MarkReport::default()
    };
    bench.with(|_, cx| rounds.on_ack(cx, &report, false));
    assert!((rounds.alpha() - 0.943_75).abs() < 1e-12);
    // The next round ends when SND.NXT of now is acknowledged.
    bench.una = 200_000;
    bench.with(|_, cx| rounds.on_ack(cx, &report, false));
    assert!((rounds.alpha() - 0.943_75).abs() < 1e-12);
    bench.una = 200_001;
    bench.with(|_, cx| rounds.on_ack(cx, &report, false));
    assert!((rounds.alpha() - (0.943_75 + (0.1 - 0.943_75) / 16.0)).abs() < 1e-12);
}

/// Round trip of 5 ms after the transition: growth is (5/25)^2 = 1/25 of a segment per window, and
/// alpha and cwnd change once per 25 ms. A round trip of 50 ms is as before.
#[test]
fn short_round_trips_behave_as_the_virtual_one() {
    let mut bench = Bench::new(10, 10, 5, 0);
    bench.ack(10 * MSS, 0);
    assert!((bench.prague.cwnd - 10_040.0).abs() < 1e-9);
    let mut long = Bench::new(10, 10, 50, 0);
    long.ack(10 * MSS, 0);
    assert!((long.prague.cwnd - 11_000.0).abs() < 1e-9);
    bench.now = Instant::ZERO + Interval::from_millis(100);
    bench.mark();
    let cwnd = bench.prague.cwnd;
    bench.now += Interval::from_millis(24);
    bench.mark();
    assert!((bench.prague.cwnd - cwnd).abs() < 1e-9);
    bench.now += Interval::from_millis(1);
    bench.mark();
    assert!((bench.prague.cwnd - cwnd / 2.0).abs() < 1e-9);
}

/// Alpha waits for the virtual round trip even if the flow's own is over.
#[test]
fn alpha_is_updated_once_per_virtual_round_trip() {
    let mut bench = Bench::new(10, 10, 5, 0);
    bench.now = Instant::ZERO + Interval::from_secs(1);
    bench.ack(10 * MSS, 10 * MSS);
    assert!((bench.alpha() - 1.0).abs() < 1e-12);
    bench.now += Interval::from_millis(24);
    bench.una = bench.max;
    bench.ack(0, 0);
    assert!((bench.alpha() - 1.0).abs() < 1e-12);
    bench.now += Interval::from_millis(1);
    bench.ack(10 * MSS, 0);
    assert!((bench.alpha() - 0.9375).abs() < 1e-12);
}

/// A loss halves cwnd, which then does not grow before the recovery ends.
#[test]
fn loss_halves_and_stops_growth() {
    let mut bench = Bench::new(10, 10, 50, 500);
    let loss = Loss {
        sent_at: Instant::ZERO,
    };
    bench.with(|prague, cx| prague.on_loss(cx, &loss));
    assert_eq!((bench.prague.cwnd(), bench.prague.ssthresh()), (5000, 5000));
    bench.ack(MSS, 0);
    assert_eq!(bench.prague.cwnd(), 5000);
    bench.with(|prague, cx| prague.on_recovered(cx, 4000));
    bench.ack(2 * MSS, 0);
    // Slow start ends at ssthresh with the first segment; the second adds 1/5 of a segment.
    assert_eq!(bench.prague.cwnd(), 5200);
    bench.with(|prague, cx| prague.on_timeout(cx, true));
    assert_eq!(bench.prague.cwnd(), MSS);
}

/// 10 segments of 1,040 bytes with headers in 50 ms are 1.664 Mbit/s, and twice as much in slow
/// start.
#[test]
fn pacing_rate_is_the_window_per_round_trip() {
    let mut bench = Bench::new(10, 10, 50, 500);
    bench.with(Prague::on_established);
    assert_eq!(bench.prague.pacing_rate(), Some(1_664_000));
    let mut starting = Bench::new(10, u64::MAX, 50, 500);
    starting.with(Prague::on_established);
    assert_eq!(starting.prague.pacing_rate(), Some(3_328_000));
}

/// Without Accurate ECN the window is Reno's: a mark halves the flight, and counts mean nothing.
#[test]
fn without_accurate_ecn_it_is_reno() {
    let mut bench = Bench::new(10, 10, 50, 500);
    bench.prague.on_agreed(Feedback::Classic);
    bench.ack(10 * MSS, 0);
    assert_eq!(bench.prague.cwnd(), 10 * MSS);
    let ack = Ack {
        bytes: MSS,
        rtt_sample: None,
        fine_rtt: None,
        cwnd_limited: true,
    };
    bench.with(|prague, cx| prague.on_ack(cx, &ack));
    assert_eq!(bench.prague.cwnd(), 10_100);
    bench.una = 1;
    bench.max = 1 + 8 * MSS;
    bench.mark();
    assert_eq!(bench.prague.cwnd(), 4 * MSS);
}

/// The pacing rate doubles below half of ssthresh only. It follows each ACK with marks counted, and
/// each reduction.
#[test]
fn the_pacing_rate_follows_the_window() {
    let rate = |segments: u64| Some(8 * segments * 1040 * 20);
    for (ssthresh, double) in [(20, 1), (21, 2), (11, 1)] {
        let mut bench = Bench::new(10, ssthresh, 50, 500);
        bench.with(Prague::on_established);
        assert_eq!(bench.prague.pacing_rate(), rate(10 * double), "{ssthresh}");
    }
    let mut bench = Bench::new(10, 12, 50, 500);
    bench.ack(2 * MSS, 0);
    assert_eq!(bench.prague.pacing_rate(), rate(12));
    let loss = Loss {
        sent_at: Instant::ZERO,
    };
    bench.with(|prague, cx| prague.on_loss(cx, &loss));
    assert_eq!(bench.prague.pacing_rate(), rate(6));
}

/// cwnd is at least two segments after a reduction. A window that does not limit the sender does
/// not grow.
#[test]
fn reductions_and_growth_are_bounded() {
    let mut bench = Bench::new(3, 3, 50, 500);
    bench.mark();
    assert_eq!(bench.prague.cwnd(), 2 * MSS);
    let report = MarkReport {
        delivered: MSS,
        ..MarkReport::default()
    };
    bench.with(|prague, cx| prague.on_marks(cx, &report));
    assert_eq!(bench.prague.cwnd(), 2 * MSS);
}

/// Rounds of slow start do not count towards the transition to the virtual round trip. The round in
/// which slow start ends counts, and growth in the next one is a segment.
#[test]
fn the_transition_counts_rounds_after_slow_start() {
    let mut bench = Bench::new(10, 40, 5, 2);
    for _ in 0..3 {
        bench.ack(10 * MSS, 0);
    }
    assert_eq!(bench.prague.cwnd(), 40 * MSS);
    bench.ack(40 * MSS, 0);
    assert!((bench.prague.cwnd - 41_000.0).abs() < 1e-9);
    let before = bench.prague.cwnd;
    bench.ack(41 * MSS, 0);
    assert!((bench.prague.cwnd - before - 40.0).abs() < 1e-9);
}

/// Before the transition, and without a virtual round trip, each round's mark may reduce. Round
/// trips of exactly the virtual one, or of more than 100 ms, grow by a segment.
#[test]
fn the_virtual_round_trip_has_bounds() {
    let (mut reduces, mut off) = (Bench::new(16, 16, 5, 500), Bench::new(16, 16, 5, 0));
    off.prague.rounds = Rounds::new(Interval::ZERO, 0);
    for bench in [&mut reduces, &mut off] {
        bench.mark();
        bench.mark();
        assert_eq!(bench.prague.cwnd(), 4 * MSS);
    }
    for (rtt, virtual_ms, growth) in [
        (25, 25, 1.0),
        (20, 25, 0.64),
        (0, 0, 1.0),
        (99, 100, 0.9801),
    ] {
        let mut bench = Bench::new(10, 10, rtt, 0);
        bench.prague.rounds = Rounds::new(Interval::from_millis(virtual_ms), 0);
        let rounds = std::mem::replace(&mut bench.prague.rounds, Rounds::new(Interval::ZERO, 0));
        let factor = bench.with(|_, cx| rounds.growth(cx));
        assert!((factor - growth).abs() < 1e-12, "{rtt} {virtual_ms}");
    }
}

/// More marked than delivered bytes count as all of them.
#[test]
fn the_share_of_a_round_is_at_most_one() {
    let mut bench = Bench::new(10, 10, 50, 500);
    bench.una = bench.max;
    bench.ack(0, 5 * MSS);
    assert_eq!(bench.alpha(), 1.0);
}

/// The end of a recovery, idle time, the end of slow start and a collapse set cwnd. A time-out or
/// an undo ends the pause of growth that a loss begins.
#[test]
fn windows_of_other_rules_replace_cwnd() {
    let loss = Loss {
        sent_at: Instant::ZERO,
    };
    let mut bench = Bench::new(10, 10, 50, 500);
    bench.with(|prague, cx| prague.on_recovered(cx, 20 * MSS));
    assert_eq!(bench.prague.cwnd(), 10 * MSS);
    bench.with(|prague, cx| prague.on_idle(cx, 20 * MSS));
    assert_eq!(bench.prague.cwnd(), 10 * MSS);
    bench.with(|prague, cx| prague.on_idle(cx, 8 * MSS));
    assert_eq!(bench.prague.cwnd(), 8 * MSS);
    bench.prague.end_slow_start(6 * MSS);
    assert_eq!(
        (bench.prague.cwnd(), bench.prague.ssthresh()),
        (6 * MSS, 6 * MSS)
    );
    bench.prague.collapse(3 * MSS);
    assert_eq!(bench.prague.cwnd(), 3 * MSS);
    bench.with(|prague, cx| prague.on_loss(cx, &loss));
    bench.with(|prague, cx| prague.on_timeout(cx, true));
    bench.ack(MSS, 0);
    assert_eq!(bench.prague.cwnd(), 2 * MSS);
    bench.with(|prague, cx| prague.on_loss(cx, &loss));
    let undone = Undone {
        window: 9 * MSS,
        ssthresh: 20 * MSS,
    };
    bench.with(|prague, cx| prague.on_spurious(cx, &undone));
    assert_eq!(bench.prague.cwnd(), 9 * MSS);
    bench.ack(MSS, 0);
    assert_eq!(bench.prague.cwnd(), 10 * MSS);
}
