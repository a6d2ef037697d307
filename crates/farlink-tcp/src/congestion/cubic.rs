//! CUBIC (RFC 9438): cwnd is a cubic function of the time since the last reduction, so growth does
//! not depend on the RTT.

mod linux;
#[cfg(test)]
mod tests;

use self::linux::{Curve, Segments};
use super::counting::AckCounting;
use super::extras::access;
use super::hystart::{GROWTH_LIMIT, Growth, HyStart};
use super::hystart_classic::Classic;
use super::metric::metric;
use super::{
    Ack, Algorithm, CongestionControl, Context, Control, EndSlowStart, Extras, Input, Loss,
    Parameter, Range, RecoveryWindow, Setting, Start, UndoReduction, Undone, Word,
};
use crate::config::Ratio;
use crate::time::{Instant, Interval, NANOS_PER_SEC};
use farlink_small::reference;

/// The CUBIC controller. Windows are in bytes; equations that the RFC states in segments are scaled
/// by the MSS.
///
/// Growth is proportional to the bytes acknowledged (`segments_acked` of RFC 9438, 4.1.2), also in
/// the concave and convex regions. With delayed ACKs cwnd then still reaches the target within one
/// RTT (4.2). Slow start grows by at most one segment per ACK (RFC 5681, equation 2), or by the
/// rules of byte counting or HyStart++.
#[derive(Clone, Debug)]
pub struct Cubic {
    /// C in segments per second cubed.
    c: f64,
    beta: Ratio,
    /// Share of the flight that remains after a mark.
    beta_ecn: Ratio,
    /// `alpha_cubic` of RFC 9438, 4.3.
    alpha: f64,
    fast_convergence: bool,
    counting: AckCounting,
    cwnd: u64,
    /// Fraction of a byte of growth that is not in `cwnd` yet.
    carry: f64,
    ssthresh: u64,
    /// `W_max` in bytes. `None` before the first loss and after a time-out; congestion avoidance
    /// then starts with W_max = cwnd (4.8, 4.10).
    w_max: Option<f64>,
    /// `cwnd_prior` in bytes: cwnd when ssthresh was last set.
    cwnd_prior: Option<u64>,
    /// Current congestion-avoidance stage.
    epoch: Option<Epoch>,
    hystart: Exit,
    /// Set if segments are paced.
    paced: bool,
    /// State besides cwnd and ssthresh that the undo of a spurious reduction restores (4.9).
    before: Option<Before>,
    /// Congestion avoidance in whole segments, as in Linux; `None` counts bytes.
    segments: Option<Segments>,
}

/// Rule that ends slow start before a loss.
#[derive(Clone, Debug)]
enum Exit {
    Nothing,
    /// HyStart++, in the first slow start only (RFC 9406, 4.2).
    Plus(HyStart),
    Classic(Classic),
}

impl Exit {
    fn new(name: &str, paced: bool) -> Self {
        match name {
            "plus" => Self::Plus(HyStart::default()),
            "classic" => Self::Classic(Classic::new(paced)),
            _ => Self::Nothing,
        }
    }
}

/// State before a reduction.
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
    /// Duration of the stage, without the time in which the sender was application-limited (RFC
    /// 9438, 4.2 and 5.8).
    elapsed: Interval,
    /// Time of the last update of `elapsed`.
    updated: Instant,
    /// Set if nothing was outstanding at `updated`, so the sender may have been idle since.
    drained: bool,
    /// K in seconds (equation 2).
    k: f64,
    /// `W_max` of the stage in bytes.
    w_max: f64,
    /// `W_est` in bytes: window that Reno would have (4.3).
    w_est: f64,
}

impl Cubic {
    /// Description of CUBIC for the table of algorithms.
    pub const ALGORITHM: Algorithm = Algorithm {
        name: "cubic",
        summary: "a cubic of the time since the last reduction (RFC 9438)",
        parameters: &[
            Parameter {
                name: "c",
                doc: reference("scaling constant C in segments per second cubed (RFC 9438, 5)"),
                default: Setting::Number(0.4),
                range: Range::Number(0.000_001, 1000.0),
            },
            Parameter {
                name: "beta",
                doc: reference("multiplicative decrease factor (RFC 9438, 4.6)"),
                default: Setting::Number(0.7),
                range: Range::Number(0.01, 0.99),
            },
            Parameter {
                name: "beta_ecn",
                doc: reference(
                    "share of the data in flight that remains after an ECN mark in congestion \
                      avoidance, if it is larger than `beta`; 0.85 is alternative backoff (ABE, \
                      RFC 8511)",
                ),
                default: Setting::Number(0.7),
                range: Range::Number(0.01, 0.99),
            },
            Parameter {
                name: "fast_convergence",
                doc: reference("fast convergence (RFC 9438, 4.7)"),
                default: Setting::Flag(true),
                range: Range::Flag,
            },
            Parameter {
                name: "hystart",
                doc: reference(
                    "rule that ends slow start before a loss: \"classic\" is HyStart, by a \
                      train of ACKs or a delay (Ha and Rhee 2011, as in Linux), \"plus\" is \
                      HyStart++ (RFC 9406); true is \"plus\", false is \"off\"",
                ),
                default: Setting::Choice("off"),
                range: Range::Choice(&[Word("off", ""), Word("classic", ""), Word("plus", "")]),
            },
            Parameter {
                name: "counting",
                doc: reference(
                    "unit of the window in congestion avoidance: \"rfc9438\" is bytes; \
                      \"linux\" is whole segments, where the window follows Reno's estimate \
                      later, and does not grow faster above the window before the loss (4.3)",
                ),
                default: Setting::Choice("rfc9438"),
                range: Range::Choice(&[Word("rfc9438", ""), Word("linux", "")]),
            },
        ],
        metrics: &[
            metric!(
                "w_max",
                "B",
                "W_max, the window before the last reduction, after fast convergence",
                |cubic: &Self, _: &Context<'_>| cubic.w_max
            ),
            metric!(
                "k",
                "s",
                "K, the time from the beginning of the epoch to its plateau",
                |cubic: &Self, _: &Context<'_>| match &cubic.segments {
                    Some(segments) => segments.k(),
                    None => cubic.epoch.map(|epoch| epoch.k),
                }
            ),
            metric!(
                "epoch",
                "s",
                "duration of the congestion avoidance stage so far: t of W_cubic(t)",
                |cubic: &Self, cx: &Context<'_>| match &cubic.segments {
                    Some(segments) => segments.elapsed(cx.now),
                    None => cubic.epoch.map(|epoch| seconds(epoch.elapsed)),
                }
            ),
            metric!(
                "w_est",
                "B",
                "W_est, the window that Reno would have",
                |cubic: &Self, cx: &Context<'_>| match &cubic.segments {
                    Some(segments) => segments.reno().map(|window| (window * cx.mss) as f64),
                    None => cubic.epoch.map(|epoch| epoch.w_est),
                }
            ),
        ],
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
        let beta = control.number("beta");
        let beta_ecn = control.number("beta_ecn").max(beta);
        Self {
            c: control.number("c"),
            beta: Ratio::from_millionths((beta * 1e6 + 0.5) as u32),
            beta_ecn: Ratio::from_millionths((beta_ecn * 1e6 + 0.5) as u32),
            alpha: 3.0 * (1.0 - beta) / (1.0 + beta),
            fast_convergence: control.flag("fast_convergence"),
            counting: AckCounting::new(start.byte_counting),
            cwnd: start.window,
            carry: 0.0,
            ssthresh: start.ssthresh,
            w_max: None,
            cwnd_prior: None,
            epoch: None,
            hystart: Exit::new(control.choice("hystart"), start.paced),
            paced: start.paced,
            before: None,
            segments: (control.choice("counting") == "linux").then(Segments::default),
        }
    }

    fn slow_start(&mut self, cx: &Context<'_>, ack: &Ack) {
        if let Exit::Plus(hystart) = &mut self.hystart {
            // L of RFC 9406, 4.3; unlimited with pacing, which sends no bursts.
            let own = if self.paced {
                u64::MAX
            } else {
                GROWTH_LIMIT * cx.mss
            };
            let limit = self.counting.limit(cx.mss).unwrap_or(own);
            let growth = hystart.on_ack(cx, ack, limit);
            self.grow_conservatively(growth);
        } else if ack.cwnd_limited {
            self.cwnd += self
                .counting
                .slow_start(self.cwnd, self.ssthresh, ack.bytes, cx.mss);
        }
    }

    /// Increases cwnd by the growth that HyStart++ returned, and ends slow start at `GrowAndExit`.
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
        self.counting.on_avoidance();
        if self.segments.is_some() {
            self.avoid_by_segments(cx, ack);
            return;
        }
        let mss = cx.mss as f64;
        let cwnd = self.cwnd as f64 + self.carry;
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.start_epoch(cx, cwnd),
        };
        let rtt = cx.rtt.srtt().unwrap_or(Interval::ZERO);
        let since = cx.now.since(epoch.updated);
        epoch.updated = cx.now;
        if ack.cwnd_limited {
            // After a pause count at most one RTT, because the data acknowledged now was sent one
            // RTT ago.
            let counted = if epoch.drained { since.min(rtt) } else { since };
            epoch.elapsed = epoch.elapsed + counted;
            // Share of cwnd that this ACK covers. The shares of one RTT sum to one.
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
        let curve = Curve {
            c: self.c,
            beta: self.beta,
            w_max: self.w_max.map_or(0, |w_max| w_max as u64 / cx.mss),
        };
        let before = self.cwnd / cx.mss;
        if let Some(segments) = self.segments.as_mut().filter(|_| ack.cwnd_limited) {
            let after = segments.avoid(cx, curve, before, ack.bytes);
            self.cwnd += (after - before) * cx.mss;
        }
    }

    /// Rounds `window` down to whole segments if cwnd is counted in segments.
    fn whole(&self, window: f64, mss: u64) -> f64 {
        match self.segments {
            Some(_) => (window as u64 / mss * mss) as f64,
            None => window,
        }
    }

    /// Returns a new congestion-avoidance stage that starts at `cwnd`.
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

    /// Returns `W_cubic` (equation 1) in bytes, `t` seconds into the stage.
    fn w_cubic(&self, epoch: &Epoch, t: f64, mss: f64) -> f64 {
        let d = t - epoch.k;
        self.c * mss * (d * d * d) + epoch.w_max
    }

    /// Sets cwnd to a whole number of bytes, and keeps the fraction in `carry`.
    fn set_window(&mut self, window: f64) {
        self.cwnd = window as u64;
        self.carry = window - self.cwnd as f64;
    }

    /// Reduces the window to the share `beta` of the flight at a congestion event.
    fn reduce(&mut self, cx: &Context<'_>, beta: Ratio) {
        let cwnd = self.cwnd as f64;
        // Fast convergence (4.7): if cwnd stayed below the last W_max, reduces W_max further to
        // leave bandwidth to new flows.
        let w_max = match self.w_max {
            Some(w_max) if self.fast_convergence && cwnd < w_max => {
                cwnd * (1.0 + self.beta.as_f64()) / 2.0
            }
            _ => cwnd,
        };
        self.w_max = Some(self.whole(w_max, cx.mss));
        self.reduce_ssthresh(cx, beta);
        self.cwnd = self.ssthresh;
    }

    /// Sets ssthresh (4.6) and `cwnd_prior` at a congestion event.
    fn reduce_ssthresh(&mut self, cx: &Context<'_>, beta: Ratio) {
        let ssthresh = beta.of(cx.flight);
        let ssthresh = match &mut self.segments {
            Some(segments) => {
                segments.on_reduction();
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
        self.reduce(cx, self.beta);
    }

    fn on_congestion_mark(&mut self, cx: &Context<'_>, _loss: &Loss) {
        let beta = if self.in_slow_start() {
            self.beta
        } else {
            self.beta_ecn
        };
        self.reduce(cx, beta);
    }

    fn on_recovered(&mut self, cx: &Context<'_>, window: u64) {
        self.cwnd = self.cwnd.min(window.max(cx.mss));
        self.carry = 0.0;
    }

    fn on_timeout(&mut self, cx: &Context<'_>, first: bool) {
        if first {
            self.reduce_ssthresh(cx, self.beta);
        }
        self.w_max = None;
        self.counting.on_timeout();
        if matches!(self.hystart, Exit::Classic(_)) {
            self.hystart = Exit::new("classic", self.paced);
        }
        self.collapse(cx.mss);
    }

    fn collapse(&mut self, window: u64) {
        self.cwnd = window;
        self.carry = 0.0;
        self.epoch = None;
    }

    fn raise_ssthresh(&mut self, least: u64) {
        self.ssthresh = self.ssthresh.max(least);
    }

    fn on_idle(&mut self, _cx: &Context<'_>, initial_window: u64) {
        self.collapse(self.cwnd.min(initial_window));
    }

    /// Shifts the stage by the pause if cwnd is counted in segments. Counting in bytes excludes
    /// pauses at the next ACK.
    fn on_pause(&mut self, cx: &Context<'_>, since_last: Interval) {
        if let Some(segments) = &mut self.segments {
            segments.on_pause(cx.now, since_last);
        }
    }
}

impl EndSlowStart for Cubic {
    fn end_slow_start(&mut self, window: u64) {
        self.collapse(window);
        self.ssthresh = window;
        self.cwnd_prior = Some(window);
    }
}

impl UndoReduction for Cubic {
    fn save(&mut self) {
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
}

fn seconds(interval: Interval) -> f64 {
    interval.as_nanos() as f64 / NANOS_PER_SEC as f64
}

/// Cube root of `x >= 0` to within two units in the last place. Uses basic operations only, because
/// `f64::cbrt` may round differently on other platforms.
fn cube_root(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    // Dividing the exponent by three is within 6 %; each Halley step cubes the error.
    let mut y = f64::from_bits(x.to_bits() / 3 + 0x2a9f_7893_0000_0000);
    for _ in 0..4 {
        let cube = y * y * y;
        y *= (cube + 2.0 * x) / (2.0 * cube + x);
    }
    y
}
