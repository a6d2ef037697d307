//! Unit tests of CUBIC against its equations.

use super::*;
use crate::config::{ByteCounting, RtoConfig};
use crate::rto::RttEstimator;

const MSS: u64 = 1000;

fn close(a: f64, b: f64, tolerance: f64) {
    assert!(
        (a - b).abs() <= tolerance,
        "{a} is not within {tolerance} of {b}"
    );
}

fn ms(n: u64) -> Interval {
    Interval::from_millis(n)
}

/// A cwnd-limited sender. In each RTT its whole window is acknowledged, evenly spaced, by ACKs of
/// `per_ack` segments.
#[derive(Clone)]
struct Path {
    now: Instant,
    rtt: Interval,
    estimator: RttEstimator,
    per_ack: u64,
}

impl Path {
    fn new(rtt: Interval) -> Self {
        let mut estimator = RttEstimator::new(RtoConfig::default());
        estimator.sample(Instant::ZERO, Instant::ZERO + rtt);
        Self {
            now: Instant::from_nanos(1 << 40),
            rtt,
            estimator,
            per_ack: 1,
        }
    }

    fn cx(&self, flight: u64) -> Context<'_> {
        Context {
            now: self.now,
            mss: MSS,
            flight,
            snd_una: 1 << 30,
            snd_max: 1 << 31,
            rtt: &self.estimator,
        }
    }

    fn ack(&self, cubic: &mut Cubic, bytes: u64, cwnd_limited: bool) {
        let ack = Ack {
            bytes,
            rtt_sample: Some(self.rtt),
            fine_rtt: None,
            cwnd_limited,
        };
        cubic.on_ack(&self.cx(cubic.cwnd()), &ack);
    }

    /// Simulates `duration` of congestion avoidance.
    fn run(&mut self, cubic: &mut Cubic, duration: Interval) {
        let end = self.now + duration;
        while self.now < end {
            let bytes = self.per_ack * MSS;
            let gap =
                u128::from(self.rtt.as_nanos()) * u128::from(bytes) / u128::from(cubic.cwnd());
            self.now += Interval::from_nanos(gap as u64);
            self.ack(cubic, bytes, true);
        }
    }
}

fn cubic(window_segments: u64, settings: &[(&str, Setting)]) -> Cubic {
    let window = window_segments * MSS;
    built(
        settings,
        Start {
            window,
            ssthresh: window,
            ..Start::default()
        },
    )
}

fn built(settings: &[(&str, Setting)], start: Start) -> Cubic {
    let mut control = Control::new(&Cubic::ALGORITHM);
    for &(name, setting) in settings {
        control = control.with(name, setting);
    }
    Cubic::new(&control, start)
}

fn lose(cubic: &mut Cubic, path: &Path) {
    let cx = path.cx(cubic.cwnd());
    cubic.on_loss(
        &cx,
        &Loss {
            sent_at: Instant::ZERO,
        },
    );
    cubic.on_recovered(&cx, u64::MAX);
}

/// RFC 9438, 4.9: after a spurious loss is undone, the window grows as if there had been no loss.
#[test]
fn undo_restores_the_cubic_growth() {
    let mut path = Path::new(ms(100));
    let mut calm = cubic(100, &[]);
    lose(&mut calm, &path);
    path.run(&mut calm, ms(2000));
    for timeout in [false, true] {
        let mut c = calm.clone();
        let undone = Undone {
            window: c.cwnd(),
            ssthresh: c.ssthresh(),
        };
        c.save();
        lose(&mut c, &path);
        if timeout {
            c.on_timeout(&path.cx(c.cwnd()), true);
        }
        assert!(c.cwnd() < calm.cwnd());
        c.on_spurious(&path.cx(c.cwnd()), &undone);
        assert_eq!((c.cwnd(), c.ssthresh()), (calm.cwnd(), calm.ssthresh()));
        let (mut item, mut other) = (path.clone(), path.clone());
        let mut calm = calm.clone();
        item.run(&mut calm, ms(4000));
        other.run(&mut c, ms(4000));
        // The undo drops the fraction of a byte in `carry`, so the windows may differ by up to 2
        // bytes.
        assert!(
            c.cwnd().abs_diff(calm.cwnd()) <= 2,
            "{} {}",
            c.cwnd(),
            calm.cwnd()
        );
    }
}

#[test]
fn cube_roots() {
    assert_eq!(cube_root(0.0), 0.0);
    close(cube_root(27.0), 3.0, 1e-15);
    close(cube_root(75.0), 4.217_163_326_508_746, 2e-15);
    for exponent in -40..40 {
        let x = 10.0_f64.powi(exponent) * 3.7;
        let y = cube_root(x);
        close(y * y * y / x, 1.0, 2e-15);
    }
}

/// W_max = 100 segments, cwnd = 70: K = cbrt(30 / 0.4) = 4.217 s (equation 2). Equation 1 is
/// checked at 0, 1, 2, K and 10 s.
#[test]
fn equations_1_and_2() {
    let path = Path::new(ms(100));
    let mut c = cubic(100, &[]);
    lose(&mut c, &path);
    assert_eq!((c.cwnd(), c.ssthresh()), (70 * MSS, 70 * MSS));
    let epoch = c.start_epoch(&path.cx(0), c.cwnd() as f64);
    close(epoch.k, 4.217_163_326_508_746, 1e-12);
    for (t, segments) in [
        (0.0, 70.0),
        (1.0, 86.680_763_835_129_88),
        (2.0, 95.640_335_686_638_78),
        (epoch.k, 100.0),
        (10.0, 177.353_992),
    ] {
        close(
            c.w_cubic(&epoch, t, MSS as f64) / MSS as f64,
            segments,
            1e-5,
        );
    }
}

/// alpha_cubic = 3 (1 - beta) / (1 + beta), 9/17 for beta 0.7.
#[test]
fn alpha() {
    close(cubic(10, &[]).alpha, 9.0 / 17.0, 1e-15);
    let half = &[("beta", Setting::Number(0.5))];
    assert_eq!(cubic(10, half).alpha, 1.0);
}

/// Concave and convex regions of a long path after one loss at 1,000 segments: K = cbrt(300 / 0.4)
/// = 9.086 s. Once cwnd has caught up with W_cubic it stays within a segment of W_cubic, with and
/// without delayed ACKs.
#[test]
fn window_follows_the_cubic() {
    for per_ack in [1, 2] {
        let mut path = Path::new(ms(100));
        path.per_ack = per_ack;
        let mut c = cubic(1000, &[]);
        lose(&mut c, &path);
        path.ack(&mut c, MSS, true);
        let start = path.now;
        for _ in 0..150 {
            path.run(&mut c, ms(100));
            let t = path.now.since(start).as_secs_f64();
            let d = t - 9.085_602_964_160_698;
            let expected = 0.4 * d * d * d + 1000.0;
            let window = c.cwnd() as f64 / MSS as f64;
            // cwnd starts behind W_cubic(t + RTT) by the slope 3 C K^2 = 99 segments/s times 0.1 s.
            // This lag shrinks by 1/e per RTT.
            let tolerance = if t < 1.0 { 12.0 } else { 1.0 };
            close(window, expected, tolerance);
        }
    }
}

/// Reno-friendly region at a short RTT and a small window. W_est grows from 7 to 10 segments by
/// alpha = 9/17 per RTT, and by one segment per RTT above.
#[test]
fn reno_friendly_region() {
    let mut path = Path::new(ms(10));
    let mut c = cubic(10, &[]);
    lose(&mut c, &path);
    assert_eq!(c.cwnd(), 7 * MSS);
    path.run(&mut c, ms(40));
    // After four rounds W_est = 7 + 4 * 9/17 = 9.118 segments; cwnd may lag by one round.
    close(c.cwnd() as f64 / MSS as f64, 7.0 + 4.0 * 9.0 / 17.0, 0.55);
    // W_est reaches W_max = 10 segments after 3 / (9/17) = 5.667 rounds. In the next 20 rounds Reno
    // grows by 20 segments, while W_cubic - W_max = 0.4 (0.2567 - K)^3 is still negative.
    path.run(&mut c, ms(17));
    let at_plateau = c.cwnd() as f64 / MSS as f64;
    path.run(&mut c, ms(200));
    close(c.cwnd() as f64 / MSS as f64, at_plateau + 20.0, 1.1);
}

/// RFC 9438, 4.2: the target is at most 1.5 cwnd, so cwnd grows by at most half in one RTT.
#[test]
fn target_is_clamped() {
    let mut path = Path::new(Interval::from_secs(20));
    let mut c = cubic(10, &[]);
    for _ in 0..10 {
        path.ack(&mut c, MSS, true);
    }
    // One ACK adds at most share * cwnd / 2 = half a segment.
    assert!(c.cwnd() <= 15 * MSS, "{}", c.cwnd());
    path.now += Interval::from_secs(100);
    let before = c.cwnd();
    path.ack(&mut c, MSS, true);
    close((c.cwnd() - before) as f64, 0.5 * MSS as f64, 1.0);
}

/// RFC 9438, 4.7: a second loss below W_max sets W_max = cwnd (1 + beta) / 2.
#[test]
fn fast_convergence() {
    let path = Path::new(ms(100));
    for (fast_convergence, w_max) in [(true, 59_500.0), (false, 70_000.0)] {
        let config = &[("fast_convergence", Setting::Flag(fast_convergence))];
        let mut c = cubic(100, config);
        lose(&mut c, &path);
        assert_eq!(c.w_max, Some(100_000.0));
        lose(&mut c, &path);
        assert_eq!(c.ssthresh(), 49 * MSS);
        close(c.w_max.unwrap(), w_max, 1e-6);
    }
}

/// RFC 9438, 4.8: a time-out sets ssthresh = beta FlightSize and cwnd = 1 segment. After slow start
/// K = 0, and W_max is cwnd at the end of slow start.
#[test]
fn timeout() {
    let mut path = Path::new(ms(100));
    let mut c = cubic(100, &[]);
    lose(&mut c, &path);
    c.on_timeout(&path.cx(40 * MSS), true);
    assert_eq!((c.cwnd(), c.ssthresh()), (MSS, 28 * MSS));
    c.on_timeout(&path.cx(MSS), false);
    assert_eq!((c.cwnd(), c.ssthresh()), (MSS, 28 * MSS));
    for segments in 2..=28 {
        path.ack(&mut c, 3 * MSS, true);
        assert_eq!(c.cwnd(), segments * MSS);
    }
    path.ack(&mut c, MSS, true);
    let epoch = c.epoch.unwrap();
    assert_eq!((epoch.k, epoch.w_max), (0.0, 28_000.0));
    // With K = 0, 0.4 t^3 adds 50 segments in 5 s.
    path.run(&mut c, Interval::from_secs(5));
    let t = 5.0;
    close(c.cwnd() as f64 / MSS as f64, 28.0 + 0.4 * t * t * t, 1.2);
}

#[test]
fn ssthresh_is_at_least_two_segments() {
    let path = Path::new(ms(100));
    let mut c = cubic(2, &[]);
    lose(&mut c, &path);
    assert_eq!((c.cwnd(), c.ssthresh()), (2 * MSS, 2 * MSS));
}

/// RFC 9438, 4.2: the time of the curve does not advance while the sender is application-limited or
/// idle.
#[test]
fn the_epoch_stops_when_the_window_is_not_the_limit() {
    let mut path = Path::new(ms(100));
    let mut c = cubic(1000, &[]);
    lose(&mut c, &path);
    path.run(&mut c, Interval::from_secs(2));
    let (window, elapsed) = (c.cwnd(), c.epoch.unwrap().elapsed);
    for _ in 0..50 {
        path.now += ms(100);
        path.ack(&mut c, MSS, false);
    }
    assert_eq!((c.cwnd(), c.epoch.unwrap().elapsed), (window, elapsed));
    let all = Context {
        snd_una: 1 << 31,
        ..path.cx(MSS)
    };
    c.on_ack(
        &all,
        &Ack {
            bytes: MSS,
            rtt_sample: None,
            fine_rtt: None,
            cwnd_limited: false,
        },
    );
    path.now += Interval::from_secs(60);
    path.ack(&mut c, MSS, true);
    assert_eq!(c.epoch.unwrap().elapsed, elapsed + ms(100));
    assert!(c.cwnd() - window < MSS);
}

/// cwnd = 2,000 segments, one second before a W_max that is 400 bytes higher. Each of 40,000 ACKs
/// adds a fraction of a byte, and together they reach W_max.
#[test]
fn fractions_of_a_byte_are_not_lost() {
    let mut path = Path::new(ms(50));
    let mut c = cubic(2000, &[]);
    let plateau = c.cwnd() as f64;
    c.cwnd -= 400;
    c.ssthresh = c.cwnd;
    let (elapsed, updated) = (Interval::ZERO, path.now);
    c.epoch = Some(Epoch {
        elapsed,
        updated,
        drained: false,
        k: 1.0,
        w_max: plateau,
        w_est: 0.0,
    });
    path.run(&mut c, ms(1000));
    close(c.cwnd() as f64, plateau, 1.5);
}

/// Without a loss yet, K = 0 and W_cubic grows by 0.4 t^3 segments. Reno's 20 segments per second
/// are more during the first 7 s.
#[test]
fn reno_is_faster_at_first_on_a_short_path() {
    let mut path = Path::new(ms(50));
    let mut c = cubic(2000, &[]);
    path.ack(&mut c, MSS, true);
    let start = path.now;
    path.run(&mut c, Interval::from_secs(2));
    let t = path.now.since(start).as_secs_f64();
    close(c.cwnd() as f64 / MSS as f64, 2_000.0 + 20.0 * t, 1.0);
}

#[test]
fn idle_restart_keeps_ssthresh() {
    let path = Path::new(ms(100));
    let mut c = cubic(100, &[]);
    c.on_idle(&path.cx(0), 10 * MSS);
    assert_eq!((c.cwnd(), c.ssthresh()), (10 * MSS, 100 * MSS));
    c.on_idle(&path.cx(0), 20 * MSS);
    assert_eq!(c.cwnd(), 10 * MSS);
}

/// RFC 9438, 4.10: when HyStart++ ends slow start, ssthresh = cwnd and W_max = cwnd. Round 1: 10
/// segments at 100 ms (cwnd 20 afterwards). Round 2: 20 segments at 120 ms, of which eight ACKs
/// count in full and twelve a quarter (cwnd 31). Later rounds add a quarter of the whole segments
/// in flight.
#[test]
fn hystart_ends_slow_start_without_loss() {
    let mut path = Path::new(ms(100));
    let config = &[("hystart", Setting::Choice("plus"))];
    let start = Start {
        window: 10 * MSS,
        ssthresh: u64::MAX,
        ..Start::default()
    };
    let mut c = built(config, start);
    let mut una = 1;
    // 31 -> 31 + 31/4 = 38.75 -> + 38/4 = 48.25 -> + 48/4 = 60.25 -> + 60/4 = 75.25.
    for (round, window) in [20_000, 31_000, 38_750, 48_250, 60_250, 75_250]
        .iter()
        .enumerate()
    {
        path.rtt = if round == 0 { ms(100) } else { ms(120) };
        let end = una + c.cwnd() / MSS * MSS;
        while una < end {
            una += MSS;
            // At the end of a round, the outstanding data is cwnd in whole segments.
            let snd_max = if una == end {
                end + window / MSS * MSS
            } else {
                end
            };
            let cx = Context {
                snd_una: una,
                snd_max,
                ..path.cx(c.cwnd())
            };
            let ack = Ack {
                bytes: MSS,
                rtt_sample: Some(path.rtt),
                fine_rtt: None,
                cwnd_limited: true,
            };
            assert_eq!(c.ssthresh(), u64::MAX);
            c.on_ack(&cx, &ack);
        }
        assert_eq!(c.cwnd(), *window);
    }
    assert_eq!(c.ssthresh(), 75_250);
    path.ack(&mut c, MSS, true);
    assert_eq!(c.epoch.unwrap().k, 0.0);
}

/// Linux counts cwnd in whole segments: during growth, after a reduction, and in the W_max that a
/// loss sets.
#[test]
fn linux_counting_keeps_windows_at_whole_segments() {
    let linux = ("counting", Setting::Choice("linux"));
    let path = Path::new(ms(100));
    let mut c = cubic(10, &[linux]);
    for _ in 0..19 {
        path.ack(&mut c, MSS, true);
    }
    assert_eq!(c.cwnd(), 10 * MSS);
    // Without a W_max every twentieth acknowledged segment adds a segment. An ACK that was not
    // cwnd-limited is left out.
    path.ack(&mut c, MSS, false);
    assert_eq!(c.cwnd(), 10 * MSS);
    path.ack(&mut c, MSS, true);
    assert_eq!(c.cwnd(), 11 * MSS);
    lose(&mut c, &path);
    assert_eq!((c.cwnd(), c.w_max), (7 * MSS, Some(11_000.0))); // 7.7
    lose(&mut c, &path);
    assert_eq!((c.cwnd(), c.w_max), (4 * MSS, Some(5000.0))); // 4.9, 5.95
}

/// RFC 9406, 4.3: an ACK adds at most eight segments in HyStart++ without byte counting. With paced
/// segments the ACK adds all that it acknowledges, and with byte counting at most L.
#[test]
fn conservative_slow_start_has_the_limit_of_byte_counting_or_its_own() {
    for (byte_counting, paced, grown) in [
        (ByteCounting::Off, false, 8),
        (ByteCounting::Off, true, 10),
        (ByteCounting::Limit(3), true, 3),
        (ByteCounting::Limit(3), false, 3),
    ] {
        let start = Start {
            window: 10 * MSS,
            ssthresh: u64::MAX,
            byte_counting,
            paced,
        };
        let mut c = built(&[("hystart", Setting::Choice("plus"))], start);
        Path::new(ms(100)).ack(&mut c, 10 * MSS, true);
        assert_eq!(c.cwnd(), (10 + grown) * MSS);
    }
}

/// RFC 3465, 2.3: L is one segment in the slow start after a time-out. Congestion avoidance ends
/// this limit in each way of counting.
#[test]
fn congestion_avoidance_ends_the_limit_after_a_time_out() {
    for counting in ["rfc9438", "linux"] {
        let start = Start {
            window: 4 * MSS,
            ssthresh: 4 * MSS,
            byte_counting: ByteCounting::Limit(2),
            ..Start::default()
        };
        let mut c = built(&[("counting", Setting::Choice(counting))], start);
        let path = Path::new(ms(100));
        c.on_timeout(&path.cx(4 * MSS), true);
        path.ack(&mut c, 2 * MSS, true);
        assert_eq!(c.cwnd(), 2 * MSS, "{counting}");
        path.ack(&mut c, MSS, true); // cwnd = ssthresh = max(floor(0.7 * 4), 2) segments
        path.ack(&mut c, MSS, true);
        c.on_idle(&path.cx(0), MSS);
        let before = c.cwnd();
        path.ack(&mut c, 2 * MSS, true);
        assert_eq!(c.cwnd(), before + 2 * MSS, "{counting}");
    }
}

/// Metrics follow the equations: W_max = 100 segments, K = cbrt(30 / 0.4) s, epoch time 2 s, and
/// W_est half a round trip into the epoch (alpha = 9/17 per RTT). In whole segments the values are
/// the same, with K in units of 1/1024 s.
#[test]
fn metrics_show_the_epoch() {
    for (counting, k, w_est) in [
        ("rfc9438", 4.217_163, 80_000.0),
        ("linux", 4.216_796, 79_000.0),
    ] {
        let mut path = Path::new(ms(100));
        let mut c = cubic(100, &[("counting", Setting::Choice(counting))]);
        let metrics = |c: &Cubic, path: &Path| -> Vec<_> {
            let metrics = Cubic::ALGORITHM.metrics.iter();
            metrics.map(|metric| metric.value(c, &path.cx(0))).collect()
        };
        assert_eq!(metrics(&c, &path), [None; 4], "{counting}");
        lose(&mut c, &path);
        path.run(&mut c, ms(2000));
        let metrics = metrics(&c, &path);
        let metrics: Vec<_> = metrics.into_iter().flatten().collect();
        assert_eq!(metrics[0], 100_000.0);
        close(metrics[1], k, 1e-6);
        close(metrics[2], 2.0, 0.01);
        close(metrics[3], w_est, 1000.0);
    }
}
