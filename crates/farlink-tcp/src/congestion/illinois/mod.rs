//! TCP-Illinois: losses decide when the window shrinks, queueing delay decides by how much.
//!
//! Liu, Basar, Srikant, *TCP-Illinois: A Loss and Delay-Based Congestion Control Algorithm for
//! High-Speed Networks*, VALUETOOLS 2006 and Performance Evaluation 65, 2008. Once per RTT, alpha
//! and beta are set from the mean queueing delay `da` and the largest one, `dm`. alpha is the
//! additive increase (from 10 down to 0.3 segments per RTT). beta is the multiplicative decrease
//! (from 1/8 up to 1/2). The integers of Linux (`tcp_illinois.c`) are in [`linux`].

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
use crate::time::Interval;

/// alpha and beta of Reno, for small windows and after a time-out.
const RENO: Rates = Rates {
    alpha: 1.0,
    beta: 0.5,
};

/// Minimum window after a reduction, in segments.
const MIN_CWND: u64 = 2;

/// Parameters of [`Illinois::ALGORITHM`].
#[derive(Debug)]
struct Settings {
    alpha_min: f64,
    alpha_max: f64,
    beta_min: f64,
    beta_max: f64,
    /// d1, d2 and d3 over dm.
    eta: [f64; 3],
    theta: u32,
    window_threshold: u64,
    linux: bool,
}

/// Additive increase in segments per RTT, and multiplicative decrease.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Rates {
    alpha: f64,
    beta: f64,
}

/// State that an undo restores.
#[derive(Clone, Copy, Debug)]
struct State {
    rates: Rates,
    /// Set if a round's delay exceeded d1 since alpha was last at its maximum.
    above: bool,
    /// Rounds at or below d1 while `above` is set.
    low_rounds: u32,
    /// Segments acknowledged towards the next increase (`snd_cwnd_cnt`), and bytes that make no
    /// whole segment yet; only with the integers of Linux.
    credit: u64,
    partial: u64,
}

/// The Illinois controller.
#[derive(Debug)]
pub struct Illinois {
    settings: Settings,
    counting: AckCounting,
    window: Fraction,
    ssthresh: u64,
    state: State,
    saved: Option<State>,
    base_rtt: Option<Interval>,
    max_rtt: Interval,
    /// Sum and number of the RTTs of the current round.
    sum: u64,
    count: u64,
    /// SND.MAX at the start of the round; an ACK above it ends the round.
    round_end: Offset,
}

impl Illinois {
    /// Description of Illinois for the table of algorithms.
    pub const ALGORITHM: Algorithm = Algorithm {
        name: "illinois",
        summary: "alpha and beta from the mean queueing delay of a round (Liu, Basar, Srikant 2006)",
        parameters: PARAMETERS,
        metrics: &[
            metric!(
                "increase",
                "segments",
                "alpha, the increase of the window per round trip",
                |illinois: &Self, _: &Context<'_>| Some(illinois.state.rates.alpha)
            ),
            metric!(
                "beta",
                "",
                "beta, the share of the window that a loss takes",
                |illinois: &Self, _: &Context<'_>| Some(illinois.state.rates.beta)
            ),
            metric!(
                "max_delay",
                "s",
                "dm, the largest queueing delay so far",
                |illinois: &Self, _: &Context<'_>| {
                    let base = illinois.base_rtt?;
                    Some(illinois.max_rtt.saturating_sub(base).as_secs_f64())
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
        let settings = Settings {
            alpha_min: control.number("alpha_min"),
            alpha_max: control.number("alpha_max"),
            beta_min: control.number("beta_min"),
            beta_max: control.number("beta_max"),
            eta: ["eta1", "eta2", "eta3"].map(|name| control.number(name)),
            theta: control.count("theta"),
            window_threshold: control.count("window_threshold").into(),
            linux: control.choice("arithmetic") == "linux",
        };
        Self {
            state: State {
                rates: Rates {
                    alpha: settings.alpha_max,
                    beta: settings.beta_max,
                },
                above: false,
                low_rounds: 0,
                credit: 0,
                partial: 0,
            },
            settings,
            counting: AckCounting::new(start.byte_counting),
            window: Fraction::new(start.window),
            ssthresh: start.ssthresh,
            saved: None,
            base_rtt: None,
            max_rtt: Interval::ZERO,
            sum: 0,
            count: 0,
            round_end: 0,
        }
    }

    /// Ends the round: sets alpha and beta from its delays.
    fn end_round(&mut self, cx: &Context<'_>) {
        if self.window.bytes() / cx.mss < self.settings.window_threshold {
            self.state.rates = RENO;
        } else if let (Some(base), true) = (self.base_rtt, self.count > 0) {
            let mean = Interval::from_nanos(self.sum / self.count).saturating_sub(base);
            let most = self.max_rtt.saturating_sub(base);
            self.adapt(mean, most);
        }
        self.start_round(cx);
    }

    /// Sets alpha and beta for the mean delay `da` and the largest delay `dm`.
    fn adapt(&mut self, da: Interval, dm: Interval) {
        let linux = self.settings.linux;
        let (us_a, us_m) = (da.as_nanos() / 1000, dm.as_nanos() / 1000);
        let low = if linux {
            us_a <= us_m / 100
        } else {
            da.as_nanos() as f64 <= self.settings.eta[0] * dm.as_nanos() as f64
        };
        let state = &mut self.state;
        if low {
            state.low_rounds += u32::from(state.above);
            if !state.above || state.low_rounds >= self.settings.theta {
                (state.above, state.low_rounds) = (false, 0);
                state.rates.alpha = self.settings.alpha_max;
            }
        } else {
            // In tcp_illinois.c this branch leaves the count of low rounds unchanged.
            state.above = true;
            state.rates.alpha = if linux {
                linux::alpha(us_a, us_m)
            } else {
                self.settings
                    .alpha(da.as_nanos() as f64, dm.as_nanos() as f64)
            };
        }
        self.state.rates.beta = if linux {
            linux::beta(us_a, us_m)
        } else {
            self.settings
                .beta(da.as_nanos() as f64, dm.as_nanos() as f64)
        };
    }

    fn start_round(&mut self, cx: &Context<'_>) {
        self.round_end = cx.snd_max;
        (self.sum, self.count) = (0, 0);
    }

    /// Increases cwnd by alpha / W segments for each segment acknowledged.
    fn avoid(&mut self, cx: &Context<'_>, ack: &Ack) {
        let alpha = self.state.rates.alpha;
        if self.settings.linux {
            let acked = self.state.partial + ack.bytes;
            self.state.partial = acked % cx.mss;
            self.state.credit += acked / cx.mss;
            let cwnd = self.window.bytes() / cx.mss;
            let steps = linux::steps(&mut self.state.credit, alpha, cwnd.max(1));
            self.window.set(self.window.bytes() + steps * cx.mss);
            return;
        }
        let share = self.counting.share(ack.bytes, cx.mss) as f64;
        let window = self.window.bytes().max(1) as f64;
        self.window.add(alpha * share * cx.mss as f64 / window, 0);
    }

    /// Returns ssthresh after a loss: (1 - beta) of the data in flight, at least two segments.
    fn reduced(&self, cx: &Context<'_>) -> u64 {
        let beta = self.state.rates.beta;
        if self.settings.linux {
            return linux::ssthresh(cx.flight / cx.mss, beta).max(MIN_CWND) * cx.mss;
        }
        ((cx.flight as f64 * (1.0 - beta)) as u64).max(MIN_CWND * cx.mss)
    }
}

impl Settings {
    /// Returns `kappa1 / (kappa2 + da)` above d1; equal to `alpha_max` at d1 and to `alpha_min` at
    /// dm.
    fn alpha(&self, da: f64, dm: f64) -> f64 {
        let d1 = self.eta[0] * dm;
        let (least, most) = (self.alpha_min, self.alpha_max);
        if da <= d1 || most <= least {
            return most;
        }
        let kappa1 = (dm - d1) * least * most / (most - least);
        let kappa2 = (dm - d1) * least / (most - least) - d1;
        kappa1 / (kappa2 + da)
    }

    /// Returns beta: constant up to d2 and from d3, and linear between them.
    fn beta(&self, da: f64, dm: f64) -> f64 {
        let (d2, d3) = (self.eta[1] * dm, self.eta[2] * dm);
        if da <= d2 {
            self.beta_min
        } else if da >= d3 || d3 <= d2 {
            self.beta_max
        } else {
            self.beta_min + (self.beta_max - self.beta_min) * (da - d2) / (d3 - d2)
        }
    }
}

impl CongestionControl for Illinois {
    fn cwnd(&self) -> u64 {
        self.window.bytes()
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn on_established(&mut self, cx: &Context<'_>) {
        self.start_round(cx);
    }

    fn on_delivered(&mut self, _cx: &Context<'_>, ack: &Ack) {
        let Some(mut rtt) = ack.fine_rtt else { return };
        if self.settings.linux {
            rtt = rtt.min(linux::RTT_MAX);
        }
        self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        self.max_rtt = self.max_rtt.max(rtt);
        self.sum += rtt.as_nanos();
        self.count += 1;
    }

    fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack) {
        if cx.snd_una > self.round_end {
            self.end_round(cx);
        }
        if !ack.cwnd_limited {
            return;
        }
        if self.window.bytes() < self.ssthresh {
            let cwnd = self.window.bytes();
            let step = self
                .counting
                .slow_start(cwnd, self.ssthresh, ack.bytes, cx.mss);
            self.window.set(cwnd + step);
        } else {
            self.avoid(cx, ack);
        }
    }

    fn on_loss(&mut self, cx: &Context<'_>, _loss: &Loss) {
        self.ssthresh = self.reduced(cx);
        self.window.set(self.ssthresh);
        self.state.credit = 0;
    }

    fn on_recovered(&mut self, _cx: &Context<'_>, window: u64) {
        self.window.set(window);
    }

    fn on_timeout(&mut self, cx: &Context<'_>, first: bool) {
        if first {
            self.ssthresh = self.reduced(cx);
        }
        self.collapse(cx.mss);
        self.counting.on_timeout();
        self.state = State {
            rates: RENO,
            above: false,
            low_rounds: 0,
            credit: 0,
            partial: 0,
        };
        self.start_round(cx);
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
}

impl EndSlowStart for Illinois {
    fn end_slow_start(&mut self, window: u64) {
        self.window.set(window);
        self.ssthresh = window;
    }
}

impl UndoReduction for Illinois {
    fn save(&mut self) {
        self.saved = Some(self.state);
    }

    /// Restores the windows, alpha and beta; Linux keeps alpha and beta of the time-out.
    fn on_spurious(&mut self, _cx: &Context<'_>, undone: &Undone) {
        self.window.set(undone.window);
        self.ssthresh = undone.ssthresh;
        if let Some(state) = self.saved.take().filter(|_| !self.settings.linux) {
            self.state = state;
        }
    }
}

const SHARE: Range = Range::Number(0.0, 1.0);

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "alpha_min",
        doc: "least increase in segments per round trip, at the largest queueing delay (Liu, \
              Basar, Srikant 2006); 0.3 in \"linux\"",
        default: Setting::Number(0.3),
        range: Range::Number(0.001, 1000.0),
    },
    Parameter {
        name: "alpha_max",
        doc: "largest increase in segments per round trip, without queueing delay (Liu, Basar, \
              Srikant 2006); 10 in \"linux\"",
        default: Setting::Number(10.0),
        range: Range::Number(0.001, 1000.0),
    },
    Parameter {
        name: "beta_min",
        doc: "share of the window that a loss takes up to eta2 of the largest queueing delay; \
              1/8 in \"linux\"",
        default: Setting::Number(0.125),
        range: SHARE,
    },
    Parameter {
        name: "beta_max",
        doc: "share of the window that a loss takes from eta3 of the largest queueing delay; 1/2 \
              in \"linux\"",
        default: Setting::Number(0.5),
        range: SHARE,
    },
    Parameter {
        name: "eta1",
        doc: "d1 / dm, the delay up to which alpha is at its maximum; 1/100 in \"linux\"",
        default: Setting::Number(0.01),
        range: SHARE,
    },
    Parameter {
        name: "eta2",
        doc: "d2 / dm, the delay up to which beta is at its minimum; 1/10 in \"linux\"",
        default: Setting::Number(0.1),
        range: SHARE,
    },
    Parameter {
        name: "eta3",
        doc: "d3 / dm, the delay from which beta is at its maximum; 8/10 in \"linux\"",
        default: Setting::Number(0.8),
        range: SHARE,
    },
    Parameter {
        name: "theta",
        doc: "rounds with a delay up to d1 after which alpha returns to its maximum",
        default: Setting::Count(5),
        range: Range::Count(1, 1000),
    },
    Parameter {
        name: "window_threshold",
        doc: "segments below which alpha is 1 and beta 1/2 (tcp_illinois.c: win_thresh)",
        default: Setting::Count(15),
        range: Range::Count(0, 1_000_000),
    },
    Parameter {
        name: "arithmetic",
        doc: "computation of alpha and beta: \"exact\" as printed, or \"linux\" in whole \
              microseconds and segments (tcp_illinois.c), which ignores the bounds above",
        default: Setting::Choice("exact"),
        range: Range::Choice(&[Word("exact", ""), Word("linux", "")]),
    },
];

#[cfg(test)]
mod tests;
