//! CUBIC (RFC 9438): the window follows a cubic of the time since the last
//! reduction, so that growth does not depend on the round-trip time.

mod linux;

use self::linux::{Law, Segments};
use super::counting::AckCounting;
use super::hystart::{GROWTH_LIMIT, Growth, HyStart};
use super::hystart_classic::Classic;
use super::{
    Ack, Algorithm, CongestionControl, Context, Control, Loss, Parameter, Range, Setting, Start,
    Undone,
};
use crate::config::Ratio;
use crate::time::{Instant, Interval, NANOS_PER_SEC};

/// The CUBIC controller. Windows are in bytes; equations that the RFC states in
/// segments are scaled by the MSS.
///
/// Growth is counted by bytes acknowledged, as `segments_acked` of RFC 9438,
/// 4.1.2, also in the concave and convex regions: with delayed ACKs the window
/// then still reaches the target one round-trip time later (4.2). Slow start
/// grows by at most one segment per ACK (RFC 5681, equation 2), or as byte
/// counting or HyStart++ say.
#[derive(Clone, Debug)]
pub struct Cubic {
    /// C in segments per second cubed.
    c: f64,
    beta: Ratio,
    /// `alpha_cubic` of RFC 9438, 4.3.
    alpha: f64,
    fast_convergence: bool,
    counting: AckCounting,
    cwnd: u64,
    /// Growth below one byte that `cwnd` does not show yet.
    carry: f64,
    ssthresh: u64,
    /// `W_max` in bytes; `None` before the first loss and after a time-out,
    /// where congestion avoidance starts at the plateau (4.8, 4.10).
    w_max: Option<f64>,
    /// `cwnd_prior` in bytes: the window when ssthresh was last set.
    cwnd_prior: Option<u64>,
    /// The congestion-avoidance stage that is running.
    epoch: Option<Epoch>,
    hystart: Exit,
    /// What a spurious reduction restores beside cwnd and ssthresh (4.9).
    before: Option<Before>,
    /// Congestion avoidance in whole segments, as Linux counts it.
    segments: Option<Segments>,
}

/// What ends slow start before a loss does.
#[derive(Clone, Debug)]
enum Exit {
    Nothing,
    /// Only the first slow start (RFC 9406, 4.2).
    Plus(HyStart),
    Classic(Classic),
}

impl Exit {
    fn new(name: &str) -> Self {
        match name {
            "plus" => Self::Plus(HyStart::default()),
            "classic" => Self::Classic(Classic::default()),
            _ => Self::Nothing,
        }
    }
}

/// What a reduction changes.
#[derive(Clone, Debug)]
struct Before {
    w_max: Option<f64>,
    cwnd_prior: Option<u64>,
    epoch: Option<Epoch>,
    hystart: Exit,
}

/// A congestion-avoidance stage.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Time in the stage, without the time in which the application and not
    /// the window was the limit (RFC 9438, 4.2 and 5.8).
    elapsed: Interval,
    /// When `elapsed` was brought up to date.
    updated: Instant,
    /// Nothing was outstanding then: the sender may have been idle since.
    drained: bool,
    /// K in seconds (equation 2).
    k: f64,
    /// Height of the plateau in bytes.
    w_max: f64,
    /// `W_est` in bytes: the window that Reno would have (4.3).
    w_est: f64,
}

impl Cubic {
    /// "cubic".
    pub const ALGORITHM: Algorithm = Algorithm {
        name: "cubic",
        summary: "a cubic of the time since the last reduction (RFC 9438)",
        parameters: &[
            Parameter {
                name: "c",
                doc: "scaling constant C in segments per second cubed (RFC 9438, 5)",
                default: Setting::Number(0.4),
                range: Range::Number(0.000_001, 1000.0),
            },
            Parameter {
                name: "beta",
                doc: "multiplicative decrease factor (RFC 9438, 4.6)",
                default: Setting::Number(0.7),
                range: Range::Number(0.01, 0.99),
            },
            Parameter {
                name: "fast_convergence",
                doc: "fast convergence (RFC 9438, 4.7)",
                default: Setting::Flag(true),
                range: Range::Flag,
            },
            Parameter {
                name: "hystart",
                doc: "what ends slow start before a loss: \"classic\" a train of ACKs or a delay \
                      (Ha and Rhee 2011, as Linux has it), \"plus\" HyStart++ (RFC 9406); true is \
                      \"plus\", false is \"off\"",
                default: Setting::Choice("off"),
                range: Range::Choice(&["off", "classic", "plus"]),
            },
            Parameter {
                name: "counting",
                doc: "how congestion avoidance counts: \"rfc9438\" in bytes, \"linux\" in whole \
                      segments, one step behind Reno's estimate and without its faster growth \
                      above the window before the loss (4.3)",
                default: Setting::Choice("rfc9438"),
                range: Range::Choice(&["rfc9438", "linux"]),
            },
        ],
        build: |control, start| Box::new(Self::new(control, start)),
    };

    fn new(control: &Control, start: Start) -> Self {
        let beta = control.number("beta");
        Self {
            c: control.number("c"),
            beta: Ratio::from_millionths((beta * 1e6 + 0.5) as u32),
            alpha: 3.0 * (1.0 - beta) / (1.0 + beta),
            fast_convergence: control.flag("fast_convergence"),
            counting: AckCounting::new(start.byte_counting),
            cwnd: start.window,
            carry: 0.0,
            ssthresh: start.ssthresh,
            w_max: None,
            cwnd_prior: None,
            epoch: None,
            hystart: Exit::new(control.choice("hystart")),
            before: None,
            segments: (control.choice("counting") == "linux").then(Segments::default),
        }
    }

    fn slow_start(&mut self, cx: &Context<'_>, ack: &Ack) {
        if let Exit::Plus(hystart) = &mut self.hystart {
            let limit = self.counting.limit(cx.mss);
            let growth = hystart.on_ack(cx, ack, limit.unwrap_or(GROWTH_LIMIT * cx.mss));
            self.grow_conservatively(growth);
        } else if ack.cwnd_limited {
            self.cwnd += self
                .counting
                .slow_start(self.cwnd, self.ssthresh, ack.bytes, cx.mss);
        }
    }

    /// What HyStart++ wants.
    fn grow_conservatively(&mut self, growth: Growth) {
        match growth {
            Growth::Grow(bytes) => self.cwnd = self.cwnd.saturating_add(bytes),
            Growth::GrowAndExit(bytes) => {
                self.cwnd = self.cwnd.saturating_add(bytes);
                self.ssthresh = self.cwnd;
                self.cwnd_prior = Some(self.cwnd);
                self.hystart = Exit::Nothing;
            }
        }
    }

    fn congestion_avoidance(&mut self, cx: &Context<'_>, ack: &Ack) {
        if self.segments.is_some() {
            self.avoid_by_segments(cx, ack);
            return;
        }
        let mss = cx.mss as f64;
        self.counting.resumed();
        let cwnd = self.cwnd as f64 + self.carry;
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.start_epoch(cx, cwnd),
        };
        let rtt = cx.rtt.srtt().unwrap_or(Interval::ZERO);
        let since = cx.now.since(epoch.updated);
        epoch.updated = cx.now;
        if ack.cwnd_limited {
            // What this ACK acknowledges left a round-trip time ago; idle time
            // before that is not the stage's.
            let counted = if epoch.drained { since.min(rtt) } else { since };
            epoch.elapsed = epoch.elapsed + counted;
            // Share of the window that this ACK covers: the sum over a
            // round-trip time is one.
            let share = (ack.bytes as f64 / cwnd).min(1.0);
            let reno_like = self
                .cwnd_prior
                .is_none_or(|prior| epoch.w_est >= prior as f64);
            epoch.w_est += if reno_like {
                mss * share
            } else {
                self.alpha * mss * share
            };

            let t = seconds(epoch.elapsed);
            if self.w_cubic(&epoch, t, mss) < epoch.w_est {
                self.set_window(epoch.w_est.max(cwnd));
            } else {
                let target = self
                    .w_cubic(&epoch, t + seconds(rtt), mss)
                    .clamp(cwnd, 1.5 * cwnd);
                self.set_window(cwnd + (target - cwnd) * share);
            }
        }
        epoch.drained = cx.snd_una == cx.snd_max;
        self.epoch = Some(epoch);
    }

    fn avoid_by_segments(&mut self, cx: &Context<'_>, ack: &Ack) {
        let law = Law {
            c: self.c,
            beta: self.beta,
            w_max: self.w_max.map_or(0, |w_max| w_max as u64 / cx.mss),
        };
        let before = self.cwnd / cx.mss;
        if let Some(segments) = self.segments.as_mut().filter(|_| ack.cwnd_limited) {
            let after = segments.avoid(cx, law, before, ack.bytes);
            self.cwnd += (after - before) * cx.mss;
        }
    }

    /// A window as it is counted: in whole segments, or as it is.
    fn whole(&self, window: f64, mss: u64) -> f64 {
        match self.segments {
            Some(_) => (window as u64 / mss * mss) as f64,
            None => window,
        }
    }

    /// Begins a congestion-avoidance stage at the window it has now.
    fn start_epoch(&self, cx: &Context<'_>, cwnd: f64) -> Epoch {
        let w_max = self.w_max.map_or(cwnd, |w_max| w_max.max(cwnd));
        Epoch {
            elapsed: Interval::ZERO,
            updated: cx.now,
            drained: false,
            k: cube_root((w_max - cwnd) / cx.mss as f64 / self.c),
            w_max,
            w_est: cwnd,
        }
    }

    /// Equation 1, in bytes, `t` seconds into the stage.
    fn w_cubic(&self, epoch: &Epoch, t: f64, mss: f64) -> f64 {
        let d = t - epoch.k;
        self.c * mss * (d * d * d) + epoch.w_max
    }

    /// Sets the window to a whole number of bytes and keeps the rest.
    fn set_window(&mut self, window: f64) {
        self.cwnd = window as u64;
        self.carry = window - self.cwnd as f64;
    }

    /// ssthresh after a congestion event (4.6), and the window before it.
    fn reduce_ssthresh(&mut self, cx: &Context<'_>) {
        let ssthresh = self.beta.of(cx.flight);
        let ssthresh = match &mut self.segments {
            Some(segments) => {
                segments.reduced();
                ssthresh / cx.mss * cx.mss
            }
            None => ssthresh,
        };
        self.ssthresh = ssthresh.max(2 * cx.mss);
        self.cwnd_prior = Some(self.cwnd);
        if matches!(self.hystart, Exit::Plus(_)) {
            self.hystart = Exit::Nothing;
        }
        self.epoch = None;
        self.carry = 0.0;
    }
}

impl CongestionControl for Cubic {
    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack) {
        if self.cwnd < self.ssthresh
            && let Exit::Classic(hystart) = &mut self.hystart
            && hystart.on_ack(cx, ack, self.cwnd)
        {
            self.ssthresh = self.cwnd;
            self.cwnd_prior = Some(self.cwnd);
        }
        if self.cwnd < self.ssthresh {
            self.slow_start(cx, ack);
        } else {
            self.congestion_avoidance(cx, ack);
        }
    }

    fn on_loss(&mut self, cx: &Context<'_>, _loss: &Loss) {
        let cwnd = self.cwnd as f64;
        // A flow that did not get back to its last plateau leaves room for a
        // new one (4.7).
        let w_max = match self.w_max {
            Some(w_max) if self.fast_convergence && cwnd < w_max => {
                cwnd * (1.0 + self.beta.as_f64()) / 2.0
            }
            _ => cwnd,
        };
        self.w_max = Some(self.whole(w_max, cx.mss));
        self.reduce_ssthresh(cx);
        self.cwnd = self.ssthresh;
    }

    fn on_recovered(&mut self, cx: &Context<'_>, window: u64) {
        self.cwnd = self.cwnd.min(window.max(cx.mss));
        self.carry = 0.0;
    }

    fn on_timeout(&mut self, cx: &Context<'_>, first: bool) {
        if first {
            self.reduce_ssthresh(cx);
        }
        self.w_max = None;
        self.counting.timed_out();
        if matches!(self.hystart, Exit::Classic(_)) {
            self.hystart = Exit::new("classic");
        }
        self.collapse(cx.mss);
    }

    fn counts_acks(&self) -> bool {
        true
    }

    fn can_undo(&self) -> bool {
        true
    }

    fn remember(&mut self) {
        self.before = Some(Before {
            w_max: self.w_max,
            cwnd_prior: self.cwnd_prior,
            epoch: self.epoch,
            hystart: self.hystart.clone(),
        });
    }

    fn on_spurious(&mut self, _cx: &Context<'_>, undone: &Undone) {
        self.cwnd = undone.window;
        self.ssthresh = undone.ssthresh;
        self.carry = 0.0;
        if let Some(before) = self.before.take() {
            self.w_max = before.w_max;
            self.cwnd_prior = before.cwnd_prior;
            self.epoch = before.epoch;
            self.hystart = before.hystart;
        }
    }

    fn collapse(&mut self, window: u64) {
        self.cwnd = window;
        self.carry = 0.0;
        self.epoch = None;
    }

    fn on_idle(&mut self, _cx: &Context<'_>, initial_window: u64) {
        self.collapse(self.cwnd.min(initial_window));
    }
}

fn seconds(interval: Interval) -> f64 {
    interval.as_nanos() as f64 / NANOS_PER_SEC as f64
}

/// Cube root of `x >= 0` by basic operations alone, which every machine rounds
/// alike; std's is the platform's. Within one or two units in the last place.
fn cube_root(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    // A third of the exponent, within 6 %; each Halley step cubes the error.
    let mut y = f64::from_bits(x.to_bits() / 3 + 0x2a9f_7893_0000_0000);
    for _ in 0..4 {
        let cube = y * y * y;
        y *= (cube + 2.0 * x) / (2.0 * cube + x);
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RtoConfig;
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

    /// A sender that is always limited by its window: each round-trip time the
    /// window is acknowledged, evenly spread, `per_ack` segments at a time.
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

        /// Lets `duration` pass in congestion avoidance.
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

    /// RFC 9438, 4.9: after a loss that was none the window grows as if nothing
    /// had happened.
    #[test]
    fn a_spurious_loss_leaves_no_trace() {
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
            c.remember();
            lose(&mut c, &path);
            if timeout {
                c.on_timeout(&path.cx(c.cwnd()), true);
            }
            assert!(c.cwnd() < calm.cwnd());
            c.on_spurious(&path.cx(c.cwnd()), &undone);
            assert_eq!((c.cwnd(), c.ssthresh()), (calm.cwnd(), calm.ssthresh()));
            let (mut one, mut other) = (path.clone(), path.clone());
            let mut calm = calm.clone();
            one.run(&mut calm, ms(4000));
            other.run(&mut c, ms(4000));
            // The part of a byte that cwnd does not show was dropped.
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

    /// W_max 100, window 70 segments: K = cbrt(30 / 0.4) s = 4.217 s, and
    /// equation 1 at 0, 1, 2, K and 10 s.
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

    /// Concave and convex: 1,000 segments lost once on a long path. K is
    /// cbrt(300 / 0.4) = 9.086 s; once it has climbed onto the curve, the window
    /// follows W_cubic within a segment, with and without delayed ACKs.
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
                // The lag behind W_cubic(t + RTT) dies out by 1/e per RTT; it
                // starts at the slope 3 C K^2 = 99 segments/s times 0.1 s.
                let tolerance = if t < 1.0 { 12.0 } else { 1.0 };
                close(window, expected, tolerance);
            }
        }
    }

    /// Short round-trip time and small window: the Reno-friendly region. From
    /// W_est = 7 segments, alpha 9/17 per round-trip time until 10 segments,
    /// one segment after that.
    #[test]
    fn reno_friendly_region() {
        let mut path = Path::new(ms(10));
        let mut c = cubic(10, &[]);
        lose(&mut c, &path);
        assert_eq!(c.cwnd(), 7 * MSS);
        path.run(&mut c, ms(40));
        // Four rounds: 7 + 4 * 9/17 = 9.118 (within a round).
        close(c.cwnd() as f64 / MSS as f64, 7.0 + 4.0 * 9.0 / 17.0, 0.55);
        // The plateau is reached after 3 / (9/17) = 5.667 rounds; 20 rounds
        // later Reno has grown by 20 segments, CUBIC by 0.4 (0.2567 - K)^3 < 0.
        path.run(&mut c, ms(17));
        let at_plateau = c.cwnd() as f64 / MSS as f64;
        path.run(&mut c, ms(200));
        close(c.cwnd() as f64 / MSS as f64, at_plateau + 20.0, 1.1);
    }

    /// Equation of 4.2: the target is at most 1.5 windows, so the window grows
    /// by no more than half in a round-trip time.
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

    /// 4.7: a second loss below the plateau gives W_max = cwnd (1 + beta) / 2.
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

    /// 4.8: ssthresh by beta from what was in flight, slow start from one
    /// segment, then K = 0 and the plateau where slow start ended.
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
        // The convex curve 0.4 t^3 adds 50 segments in 5 s.
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

    /// 4.2: the curve stands still while the application, not the window, is
    /// the limit, and over idle times.
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

    /// A window of 2,000 segments, one second before a plateau 400 bytes above:
    /// each of 40,000 ACKs adds a fraction of a byte, and it gets there.
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

    /// With no loss yet the curve starts on its plateau, 0.4 t^3; Reno's segment
    /// per round-trip time, 20 a second, is more for the first 7 s.
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

    /// RFC 9438, 4.10: leaving slow start by HyStart++ sets ssthresh to the
    /// window and starts on the plateau. Rounds: 10 segments at 100 ms (20
    /// after it), 20 at 120 ms: eight ACKs in full, twelve at a quarter (31),
    /// then a quarter per round.
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
                // Whole segments of the window are outstanding when the round ends.
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
}
