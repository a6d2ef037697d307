//! H-TCP: the increase grows with the time since the last loss, and the decrease empties the queue.
//!
//! Leith, Shorten, *H-TCP: TCP for high-speed and long-distance networks*, PFLDnet 2004;
//! draft-leith-tcp-htcp. With `Delta` seconds since the last loss, cwnd grows by `alpha = 2 (1 -
//! beta) alpha(Delta)` segments per RTT, where `alpha(Delta) = 1 + 10 (Delta - 1) + ((Delta - 1) /
//! 2)^2` from one second on. A loss multiplies cwnd by beta = RTTmin / RTTmax, bounded to between
//! 0.5 and 0.8. beta is 0.5 if the throughput changed by more than 20 % since the previous loss.
//! The integers of Linux (`tcp_htcp.c`) are in [`linux`].

mod linux;

use super::counting::AckCounting;
use super::extras::access;
use super::fraction::Fraction;
use super::metric::metric;
use super::{
    Ack, Algorithm, CongestionControl, Context, Control, EndSlowStart, Extras, Input, Loss,
    Parameter, Range, RecoveryWindow, Setting, Start, UndoReduction, Undone, Word,
};
use crate::seq::Offset;
use crate::time::{Instant, Interval};
use linux::Jiffies;

/// `Delta_L`: time after a loss in seconds during which alpha is Reno's.
const LOW_SPEED: f64 = 1.0;
/// Bounds of beta.
const BETA_MIN: f64 = 0.5;
const BETA_MAX: f64 = 0.8;
/// Change of the throughput between two losses from which beta is 0.5.
const CHANGE: f64 = 0.2;
/// RTT at which [`scaling`] is 1 (`tcp_htcp.c`: HZ / 10).
const RTT_REFERENCE: f64 = 0.1;
/// Minimum window after a reduction, in segments.
const MIN_CWND: u64 = 2;

/// Returns `alpha(Delta)` in segments per RTT, without the factor 2 (1 - beta).
fn alpha(delta: f64) -> f64 {
    if delta <= LOW_SPEED {
        return 1.0;
    }
    let over = delta - LOW_SPEED;
    1.0 + 10.0 * over + over * over / 4.0
}

/// Returns the factor of RTT scaling: RTT / 100 ms, from 1/10 to 2.
fn scaling(rtt: Interval) -> f64 {
    (rtt.as_secs_f64() / RTT_REFERENCE).clamp(0.1, 2.0)
}

/// Reason why RTTs and throughput are not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Repair {
    None,
    Recovery,
    /// After a time-out, until this position is acknowledged.
    Timeout(Offset),
}

/// Measurements since the last loss, and those of the epoch before that beta needs.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    since: Instant,
    beta: f64,
    max_rtt: Interval,
    /// Largest throughput over a round trip, in bytes per second, of this epoch and the one before.
    throughput: f64,
    previous: Option<f64>,
    /// Start of the current sample of the throughput, and bytes delivered since.
    sample_start: Instant,
    sample_bytes: u64,
}

/// The H-TCP controller.
#[derive(Debug)]
pub struct Htcp {
    rtt_scaling: bool,
    adaptive: bool,
    counting: AckCounting,
    window: Fraction,
    ssthresh: u64,
    repair: Repair,
    min_rtt: Option<Interval>,
    epoch: Epoch,
    saved: Option<Epoch>,
    linux: Option<Jiffies>,
}

impl Htcp {
    /// Description of H-TCP for the table of algorithms.
    pub const ALGORITHM: Algorithm = Algorithm {
        name: "htcp",
        summary: "alpha from the time since the last loss, beta = RTTmin / RTTmax (Leith, Shorten 2004)",
        parameters: &[
            Parameter {
                name: "rtt_scaling",
                doc: "alpha is multiplied by RTTmin / 100 ms, from 1/10 to 2, so that growth per \
                      second does not depend on the round trip (tcp_htcp.c: use_rtt_scaling = 1; \
                      an option of draft-leith-tcp-htcp)",
                default: Setting::Flag(false),
                range: Range::Flag,
            },
            Parameter {
                name: "adaptive_backoff",
                doc: "beta = RTTmin / RTTmax between 0.5 and 0.8; if false, 0.5. With \"linux\" \
                      only the test of the throughput is switched (use_bandwidth_switch)",
                default: Setting::Flag(true),
                range: Range::Flag,
            },
            Parameter {
                name: "arithmetic",
                doc: "computation: \"exact\" as printed, or \"linux\" in jiffies, whole segments \
                      and 1/128 (tcp_htcp.c)",
                default: Setting::Choice("exact"),
                range: Range::Choice(&[Word("exact", ""), Word("linux", "")]),
            },
            Parameter {
                name: "hz",
                doc: "jiffies per second for \"linux\" (CONFIG_HZ)",
                default: Setting::Count(250),
                range: Range::Count(24, 1200),
            },
        ],
        metrics: &[
            metric!(
                "increase",
                "segments",
                "alpha, the increase of the window per round trip",
                |htcp: &Self, cx: &Context<'_>| Some(htcp.alpha_now(cx.now))
            ),
            metric!(
                "beta",
                "",
                "beta, the share of the window that a loss leaves",
                |htcp: &Self, _: &Context<'_>| Some(htcp.beta())
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
        let scaling = control.flag("rtt_scaling");
        let adaptive = control.flag("adaptive_backoff");
        Self {
            rtt_scaling: scaling,
            adaptive,
            counting: AckCounting::new(start.byte_counting),
            window: Fraction::new(start.window),
            ssthresh: start.ssthresh,
            repair: Repair::None,
            min_rtt: None,
            epoch: Epoch {
                since: Instant::ZERO,
                beta: BETA_MIN,
                max_rtt: Interval::ZERO,
                throughput: 0.0,
                previous: None,
                sample_start: Instant::ZERO,
                sample_bytes: 0,
            },
            saved: None,
            linux: (control.choice("arithmetic") == "linux")
                .then(|| Jiffies::new(control.count("hz"), scaling, adaptive)),
        }
    }

    fn beta(&self) -> f64 {
        self.linux.as_ref().map_or(self.epoch.beta, Jiffies::beta)
    }

    /// Returns alpha in segments per RTT.
    fn alpha_now(&self, now: Instant) -> f64 {
        if let Some(linux) = &self.linux {
            return linux.alpha();
        }
        let delta = now.since(self.epoch.since).as_secs_f64();
        let scale = match self.min_rtt {
            Some(rtt) if self.rtt_scaling => scaling(rtt),
            _ => 1.0,
        };
        // At least Reno's increase at beta = 0.5, as in tcp_htcp.c (factor >= 1).
        2.0 * (1.0 - self.epoch.beta) * (alpha(delta) * scale).max(1.0)
    }

    /// Adds the delivered bytes to the sample of the throughput, which lasts at least RTTmin.
    fn measure(&mut self, now: Instant, bytes: u64) {
        let epoch = &mut self.epoch;
        epoch.sample_bytes += bytes;
        let passed = now.since(epoch.sample_start);
        if self.min_rtt.is_some_and(|rtt| passed >= rtt) && !passed.is_zero() {
            let throughput = epoch.sample_bytes as f64 / passed.as_secs_f64();
            epoch.throughput = epoch.throughput.max(throughput);
            (epoch.sample_start, epoch.sample_bytes) = (now, 0);
        }
    }

    /// Sets beta at a loss, from the epoch that ends.
    fn adapt(&mut self) {
        let epoch = &mut self.epoch;
        let steady = epoch
            .previous
            .is_some_and(|before| (epoch.throughput - before).abs() <= CHANGE * before);
        epoch.beta = match self.min_rtt {
            Some(least) if self.adaptive && steady && !epoch.max_rtt.is_zero() => {
                let ratio = least.as_nanos() as f64 / epoch.max_rtt.as_nanos() as f64;
                ratio.clamp(BETA_MIN, BETA_MAX)
            }
            _ => BETA_MIN,
        };
    }

    /// Starts the epoch after a loss.
    fn begin_epoch(&mut self, now: Instant) {
        self.epoch = Epoch {
            since: now,
            max_rtt: Interval::ZERO,
            throughput: 0.0,
            previous: Some(self.epoch.throughput),
            sample_start: now,
            sample_bytes: 0,
            ..self.epoch
        };
    }

    /// Returns ssthresh after a loss: beta of the data in flight, at least two segments.
    fn reduced(&mut self, cx: &Context<'_>) -> u64 {
        if let Some(linux) = &mut self.linux {
            let segments = linux.on_loss(cx.now, cx.flight / cx.mss);
            return segments.max(MIN_CWND) * cx.mss;
        }
        self.adapt();
        self.begin_epoch(cx.now);
        ((cx.flight as f64 * self.epoch.beta) as u64).max(MIN_CWND * cx.mss)
    }

    /// Ends a repair: Delta counts from here (`htcp_state` of tcp_htcp.c).
    fn end_repair(&mut self, now: Instant) {
        self.repair = Repair::None;
        if let Some(linux) = &mut self.linux {
            linux.on_open(now);
        }
    }
}

impl CongestionControl for Htcp {
    fn cwnd(&self) -> u64 {
        self.window.bytes()
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn on_established(&mut self, cx: &Context<'_>) {
        self.epoch.since = cx.now;
        self.epoch.sample_start = cx.now;
        if let Some(linux) = &mut self.linux {
            linux.on_established(cx.now);
        }
    }

    fn on_delivered(&mut self, cx: &Context<'_>, ack: &Ack) {
        if let Repair::Timeout(end) = self.repair
            && cx.snd_una >= end
        {
            self.end_repair(cx.now);
        }
        let open = self.repair == Repair::None;
        if let Some(linux) = &mut self.linux {
            let cwnd = self.window.bytes() / cx.mss;
            linux.on_delivered(cx, ack, open, cwnd);
            return;
        }
        if let Some(rtt) = ack.fine_rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
            if open {
                self.epoch.max_rtt = self.epoch.max_rtt.max(rtt);
            }
        }
        if open {
            self.measure(cx.now, ack.bytes);
        } else {
            (self.epoch.sample_start, self.epoch.sample_bytes) = (cx.now, 0);
        }
    }

    fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        let cwnd = self.window.bytes();
        if cwnd < self.ssthresh {
            let step = self
                .counting
                .slow_start(cwnd, self.ssthresh, ack.bytes, cx.mss);
            self.window.set(cwnd + step);
        } else if let Some(linux) = &mut self.linux {
            let steps = linux.steps(cx.now, cwnd / cx.mss);
            self.window.set(cwnd + steps * cx.mss);
        } else {
            let share = self.counting.share(ack.bytes, cx.mss) as f64;
            let growth = self.alpha_now(cx.now) * share * cx.mss as f64 / cwnd.max(1) as f64;
            self.window.add(growth, 0);
        }
    }

    fn on_loss(&mut self, cx: &Context<'_>, _loss: &Loss) {
        self.ssthresh = self.reduced(cx);
        self.window.set(self.ssthresh);
        self.repair = Repair::Recovery;
    }

    fn on_congestion_mark(&mut self, cx: &Context<'_>, loss: &Loss) {
        self.on_loss(cx, loss);
        self.end_repair(cx.now); // no segment is lost
    }

    fn on_recovered(&mut self, cx: &Context<'_>, window: u64) {
        self.window.set(window);
        self.end_repair(cx.now);
    }

    fn on_timeout(&mut self, cx: &Context<'_>, first: bool) {
        if first {
            self.ssthresh = self.reduced(cx);
        }
        self.collapse(cx.mss);
        self.counting.on_timeout();
        self.repair = Repair::Timeout(cx.snd_max);
    }

    fn collapse(&mut self, window: u64) {
        self.window.set(window);
    }

    fn raise_ssthresh(&mut self, least: u64) {
        self.ssthresh = self.ssthresh.max(least);
    }

    fn on_idle(&mut self, _cx: &Context<'_>, initial_window: u64) {
        self.window.set(self.window.bytes().min(initial_window));
    }

    /// Moves the time of the last loss forward by the idle time, so that cwnd does not grow for the
    /// pause.
    fn on_pause(&mut self, cx: &Context<'_>, since_last: Interval) {
        if self.linux.is_none() {
            self.epoch.since = (self.epoch.since + since_last).min(cx.now);
            (self.epoch.sample_start, self.epoch.sample_bytes) = (cx.now, 0);
        }
    }
}

impl EndSlowStart for Htcp {
    fn end_slow_start(&mut self, window: u64) {
        self.window.set(window);
        self.ssthresh = window;
    }
}

impl UndoReduction for Htcp {
    fn save(&mut self) {
        self.saved = Some(self.epoch);
        if let Some(linux) = &mut self.linux {
            linux.save();
        }
    }

    fn on_spurious(&mut self, _cx: &Context<'_>, undone: &Undone) {
        self.window.set(undone.window);
        self.ssthresh = undone.ssthresh;
        self.repair = Repair::None;
        if let Some(epoch) = self.saved.take() {
            self.epoch = epoch;
        }
        if let Some(linux) = &mut self.linux {
            linux.on_spurious();
        }
    }
}

#[cfg(test)]
mod tests;
