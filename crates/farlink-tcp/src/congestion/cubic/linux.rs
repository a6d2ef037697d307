//! CUBIC's congestion avoidance in whole segments, as in Linux (`tcp_cubic.c`: `bictcp_update`,
//! `tcp_cong.c`: `tcp_cong_avoid_ai`).
//!
//! Three differences from RFC 9438 matter at windows of about ten segments. Each reduction rounds
//! cwnd down to a whole segment. cwnd follows Reno's estimate at the pace of the acknowledged
//! segments, up to one RTT later. Reno's estimate always grows by `alpha_cubic`, while RFC 9438
//! (4.3) lets it grow by one segment per RTT once it has reached the window before the loss.

use super::cube_root;
use crate::config::Ratio;
use crate::congestion::Context;
use crate::time::{Instant, Interval, NANOS_PER_SEC};

/// Minimum time between two evaluations of the cubic while cwnd does not change: HZ / 32.
const PAUSE: Interval = Interval::from_nanos(NANOS_PER_SEC / 32);

/// Counters in segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Segments {
    /// Number of segments acknowledged per increase of cwnd by one segment (`cnt`).
    per_step: u64,
    /// Segments acknowledged towards the next increase of cwnd (`snd_cwnd_cnt`).
    credit: u64,
    /// Acknowledged bytes that do not make a whole segment yet.
    partial: u64,
    /// Window and time of the last evaluation of the cubic.
    evaluated: Option<(u64, Instant)>,
    stage: Option<Stage>,
}

/// A congestion-avoidance stage.
#[derive(Clone, Copy, Debug)]
struct Stage {
    since: Instant,
    /// K in 1/1024 s.
    k: u64,
    /// Window at the plateau of the cubic, in segments (`bic_origin_point`).
    origin: u64,
    /// Segments acknowledged towards the next segment of `reno`.
    counted: u64,
    /// Window that Reno would have, in segments (`tcp_cwnd`).
    reno: u64,
}

/// Inputs from the controller; windows in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curve {
    pub(super) c: f64,
    pub(super) beta: Ratio,
    /// Window before the last reduction, after fast convergence; zero before any reduction.
    pub(super) w_max: u64,
}

impl Segments {
    /// Ends the epoch at a reduction of the window.
    pub(super) fn on_reduction(&mut self) {
        self.stage = None;
        self.credit = 0;
    }

    /// Moves the start of the epoch forward by the idle time `pause`, so that the cubic excludes
    /// the pause (`tcp_cubic.c`: `cubictcp_cwnd_event`).
    pub(super) fn on_pause(&mut self, now: Instant, pause: Interval) {
        if let Some(stage) = &mut self.stage {
            stage.since = (stage.since + pause).min(now);
        }
    }

    /// Returns K of the epoch in seconds.
    pub(super) fn k(&self) -> Option<f64> {
        self.stage.map(|stage| stage.k as f64 / 1024.0)
    }

    /// Returns the duration of the epoch in seconds.
    pub(super) fn elapsed(&self, now: Instant) -> Option<f64> {
        self.stage.map(|stage| now.since(stage.since).as_secs_f64())
    }

    /// Returns the window that Reno would have, in segments.
    pub(super) fn reno(&self) -> Option<u64> {
        self.stage.map(|stage| stage.reno)
    }

    /// Returns the window, in segments, after an ACK of `bytes`.
    pub(super) fn avoid(&mut self, cx: &Context<'_>, curve: Curve, cwnd: u64, bytes: u64) -> u64 {
        self.partial += bytes;
        let acked = self.partial / cx.mss;
        self.partial %= cx.mss;
        if acked == 0 {
            return cwnd;
        }
        self.update(cx, curve, cwnd, acked);
        let mut cwnd = cwnd;
        if self.credit >= self.per_step {
            self.credit = 0;
            cwnd += 1;
        }
        self.credit += acked;
        cwnd += self.credit / self.per_step;
        self.credit %= self.per_step;
        cwnd
    }

    /// Updates the stage and `per_step` (`bictcp_update`).
    fn update(&mut self, cx: &Context<'_>, curve: Curve, cwnd: u64, acked: u64) {
        if let Some(stage) = &mut self.stage {
            stage.counted += acked;
            if let Some((window, at)) = self.evaluated
                && window == cwnd
                && cx.now.since(at) <= PAUSE
            {
                return;
            }
        }
        self.evaluated = Some((cwnd, cx.now));
        let stage = self
            .stage
            .get_or_insert_with(|| Stage::new(cx.now, curve, cwnd, acked));
        let target = stage.target(cx, curve.c);
        let mut per_step = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            100 * cwnd
        };
        if curve.w_max == 0 {
            per_step = per_step.min(20);
        }
        stage.follow_reno(curve.beta, cwnd);
        if stage.reno > cwnd {
            per_step = per_step.min(cwnd / (stage.reno - cwnd));
        }
        self.per_step = per_step.max(2);
    }
}

impl Stage {
    fn new(now: Instant, curve: Curve, cwnd: u64, acked: u64) -> Self {
        let below = curve.w_max.saturating_sub(cwnd);
        Self {
            since: now,
            k: (1024.0 * cube_root(below as f64 / curve.c)) as u64,
            origin: curve.w_max.max(cwnd),
            counted: acked,
            reno: cwnd,
        }
    }

    /// Evaluates equation 1 of RFC 9438 at one least RTT from now.
    fn target(&self, cx: &Context<'_>, c: f64) -> u64 {
        let ahead = cx.rtt.min().unwrap_or(Interval::ZERO);
        let nanos = cx.now.since(self.since) + ahead;
        let t = u128::from(nanos.as_nanos()) * 1024 / u128::from(NANOS_PER_SEC);
        let offset = t.abs_diff(u128::from(self.k));
        // Linux stores C = 0.4 as 410 / 1024.
        let scale = (1024.0 * c + 0.5) as u128;
        let delta = (scale * offset * offset * offset) >> 40;
        let delta = u64::try_from(delta).unwrap_or(u64::MAX);
        if t < u128::from(self.k) {
            self.origin.saturating_sub(delta)
        } else {
            self.origin.saturating_add(delta)
        }
    }

    /// Increases Reno's window by one segment for each `15 cwnd / 8` segments acknowledged (at beta
    /// = 0.7). Linux computes the factor 15/8 in eighths; it is the inverse of `alpha_cubic`.
    fn follow_reno(&mut self, beta: Ratio, cwnd: u64) {
        let (item, beta) = (u64::from(Ratio::ONE), u64::from(beta.millionths()));
        let eighths = 8 * (item + beta) / 3 / (item - beta);
        let each = (cwnd * eighths / 8).max(1);
        if self.counted > each {
            let steps = (self.counted - 1) / each;
            self.counted -= steps * each;
            self.reno += steps;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RtoConfig;
    use crate::rto::RttEstimator;

    const MSS: u64 = 1000;

    /// Returns the numbers of the ACKs at which cwnd grew, once per segment of growth. Each RTT
    /// acknowledges one window, evenly spaced.
    fn growth(w_max: u64, cwnd: u64, rtt: Interval, acks: usize) -> Vec<usize> {
        grown(&mut Segments::default(), w_max, cwnd, rtt, acks)
    }

    fn grown(
        segments: &mut Segments,
        w_max: u64,
        mut cwnd: u64,
        rtt: Interval,
        acks: usize,
    ) -> Vec<usize> {
        let mut estimator = RttEstimator::new(RtoConfig::default());
        estimator.sample(Instant::ZERO, Instant::ZERO + rtt);
        let curve = Curve {
            c: 0.4,
            beta: Ratio::new(7, 10),
            w_max,
        };
        let mut now = Instant::from_nanos(1 << 40);
        let mut grew = Vec::new();
        for i in 0..acks {
            now += Interval::from_nanos(rtt.as_nanos() / cwnd);
            let cx = Context {
                now,
                mss: MSS,
                flight: cwnd * MSS,
                snd_una: 1 << 30,
                snd_max: 1 << 31,
                rtt: &estimator,
            };
            let after = segments.avoid(&cx, curve, cwnd, MSS);
            assert!(after - cwnd <= 1);
            if after > cwnd {
                grew.push(i);
            }
            cwnd = after;
        }
        grew
    }

    /// Reference values are the ACKs at which cwnd grows, from a transcription of `bictcp_update`
    /// and `tcp_cong_avoid_ai` in integers. Cases: cwnd a little below W_max, no W_max, and far
    /// below W_max.
    #[test]
    fn windows_grow_at_the_same_acks_as_the_kernels() {
        assert_eq!(
            growth(10, 7, Interval::from_millis(100), 200),
            [6, 14, 45, 70, 91, 112, 138, 164, 190]
        );
        assert_eq!(
            growth(0, 10, Interval::from_millis(100), 100),
            [19, 39, 59, 79, 99]
        );
        assert_eq!(
            growth(100, 70, Interval::from_millis(50), 1200),
            [
                34, 80, 151, 224, 298, 373, 449, 526, 604, 683, 763, 866, 971, 1076, 1183
            ]
        );
    }

    /// Reference values of the same transcription for two cases. In one, Reno's estimate is above
    /// the cubic. In the other, W_max is far away, so cwnd does not grow within 100 windows of
    /// ACKs.
    #[test]
    fn windows_equal_the_kernels_where_reno_leads_and_on_the_plateau() {
        let ms = Interval::from_millis;
        assert_eq!(
            growth(10, 7, ms(10), 200),
            [6, 33, 63, 72, 108, 119, 161, 174]
        );
        assert_eq!(growth(200, 200, ms(10), 800), [626]);
    }

    /// `bictcp_update`: `tcp_cwnd` gains one segment per 15/8 windows acknowledged. The comparison
    /// is strict, so exactly 15/8 windows give no segment.
    #[test]
    fn reno_gains_a_segment_after_fifteen_eighths_of_a_window() {
        for (counted, gained, left) in [(15, 0, 15), (16, 1, 1), (30, 1, 15), (31, 2, 1)] {
            let mut stage = Stage {
                since: Instant::ZERO,
                k: 0,
                origin: 8,
                counted,
                reno: 8,
            };
            stage.follow_reno(Ratio::new(7, 10), 8);
            assert_eq!((stage.reno, stage.counted), (8 + gained, left), "{counted}");
        }
    }

    /// A reduction ends the epoch and resets the count of segments acknowledged.
    #[test]
    fn a_reduction_resets_the_epoch_and_the_count() {
        let rtt = Interval::from_millis(100);
        let mut segments = Segments::default();
        grown(&mut segments, 100, 70, rtt, 10);
        segments.on_reduction();
        assert_eq!(
            grown(&mut segments, 10, 7, rtt, 100),
            growth(10, 7, rtt, 100)
        );
    }

    /// ACKs of less than a segment add up to whole segments.
    #[test]
    fn acks_of_less_than_a_segment_add_up() {
        let estimator = RttEstimator::new(RtoConfig::default());
        let cx = Context {
            now: Instant::from_nanos(1 << 40),
            mss: MSS,
            flight: 2 * MSS,
            snd_una: 1,
            snd_max: 2 * MSS,
            rtt: &estimator,
        };
        let curve = Curve {
            c: 0.4,
            beta: Ratio::new(7, 10),
            w_max: 0,
        };
        let mut segments = Segments::default();
        let windows: Vec<_> = (0..40)
            .map(|_| segments.avoid(&cx, curve, 2, MSS / 2))
            .collect();
        // Without a W_max cwnd gains a segment for every twenty acknowledged.
        assert_eq!(windows.iter().position(|&window| window == 3), Some(39));
    }
}
