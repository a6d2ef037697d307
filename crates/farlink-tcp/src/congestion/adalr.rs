//! TCP with adaptive delay and loss response (Omueti and Trajkovic 2007).
//!
//! Reno with three changes: growth scaled by the RTT until the first loss, a receive window taken
//! larger than advertised, and milder reactions to partial ACKs and time-outs. The printed
//! algorithm has gaps and ambiguities; each is a parameter, and `docs/tcp/adalr-sack.md` explains
//! them.

use super::counting::AckCounting;
use super::extras::access;
use super::metric::metric;
use super::{
    Ack, Algorithm, CongestionControl, Context, Control, EndSlowStart, Extras, InForce, Input,
    Loss, Parameter, PeerWindow, Range, RecoveryWindow, Repair, Setting, Start, UndoReduction,
    Undone, Word, half_flight,
};
use crate::seq::Offset;
use crate::time::Interval;
use farlink_small::reference;

/// The window of TCP-ADaLR.
#[derive(Debug)]
pub struct Adalr {
    settings: Settings,
    counting: AckCounting,
    cwnd: u64,
    ssthresh: u64,
    /// Set while ssthresh follows the peer's window, until the first loss.
    follow: bool,
    /// Scaling component, equation (1).
    rho: f64,
    /// SND.MAX at the last loss; zero before the first loss (`snd_recover`).
    recover: Offset,
    /// `follow` and `recover` before a loss, for undo.
    before: Option<(bool, Offset)>,
    /// Last advertised receive window in bytes.
    advertised: u64,
    /// Bytes by which [`Rwnd::PerCall`] has enlarged the peer's window.
    grown: f64,
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    rho_per_second: f64,
    rho_min: f64,
    rho_max: f64,
    breakpoint: f64,
    timer_clock: bool,
    root_of_quotient: bool,
    gaps_hold: bool,
    all_subphases: bool,
    threshold_holds: bool,
    boost_below_breakpoint: bool,
    increased_in_conditions: bool,
    rwnd: Rwnd,
    rwnd_per_segment: f64,
    rwnd_per_ack: f64,
    deflation: Deflation,
    sack: SackPartialAck,
    timeout_delay: Interval,
    retransmit_limit: u32,
}

/// Formula that enlarges the peer's window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rwnd {
    MultSqrt,
    AddHalfRho,
    AddRho,
    PerCall,
    None,
}

/// Condition for Algorithm 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Deflation {
    PartialAck,
    Literal,
    Rfc6582,
}

/// Form of Algorithm 2 with a SACK scoreboard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SackPartialAck {
    Room,
    Deflate,
    None,
}

/// Builds a parameter with a choice of words; the first word is the default.
const fn choice(name: &'static str, doc: &'static str, words: &'static [Word]) -> Parameter {
    Parameter {
        name,
        doc,
        default: Setting::Choice(words[0].0),
        range: Range::Choice(words),
    }
}

const fn number(name: &'static str, doc: &'static str, default: f64) -> Parameter {
    Parameter {
        name,
        doc,
        default: Setting::Number(default),
        range: Range::Number(0.001, 1e6),
    }
}

impl Adalr {
    /// Description of TCP-ADaLR for the table of algorithms.
    pub const ALGORITHM: Algorithm = Algorithm {
        name: "adalr",
        summary: "TCP-ADaLR: growth scaled by the round-trip time, a stretched receive window \
                  (Omueti & Trajkovic 2007)",
        parameters: &[
            number(
                "rho_per_second",
                "rho for a round trip of one second (2.2, eq. 1)",
                60.0,
            ),
            number("rho_min", "least rho (2.2)", 1.0),
            number("rho_max", "greatest rho (2.2)", 60.0),
            number(
                "rho_breakpoint",
                "rho from which the increases are adaptive (2.3)",
                15.0,
            ),
            choice(
                "rho_clock",
                "RTT of rho: \"exact\", or \"timer\" for the sample in ticks of the retransmission timer",
                &[Word("exact", ""), Word("timer", "")],
            ),
            choice(
                "root",
                "factors of Algorithm 1: root \"of_rho\", sqrt(rho)/4 and sqrt(rho)/2, or \
                 \"of_quotient\", sqrt(rho/4) and sqrt(rho/2)",
                &[Word("of_rho", ""), Word("of_quotient", "")],
            ),
            choice(
                "gaps",
                "slow start where no sub-phase of Algorithm 1 applies: as \"reno\", or \"hold\" \
                 the window as printed",
                &[Word("reno", ""), Word("hold", "")],
            ),
            choice(
                "subphases",
                "the \"first\" sub-phase of Algorithm 1 that applies counts, or \"all\" that do, \
                 one after the other, as printed",
                &[Word("first", ""), Word("all", "")],
            ),
            choice(
                "at_threshold",
                "cwnd equal to ssthresh is congestion avoidance (\"avoid\"), or neither phase \
                 (\"hold\"), as printed",
                &[Word("avoid", ""), Word("hold", "")],
            ),
            Parameter {
                name: "boost_below_breakpoint",
                doc: reference(
                    "congestion avoidance is scaled below the breakpoint too, as printed",
                ),
                default: Setting::Flag(false),
                range: Range::Flag,
            },
            choice(
                "conditions_window",
                "peer's window in the conditions of Algorithm 1: \"advertised\" or \"increased\"",
                &[Word("advertised", ""), Word("increased", "")],
            ),
            choice(
                "rwnd_increase",
                "peer's window before the first loss; the paper has no formula. Times sqrt(rho)/4 \
                 (\"mult_sqrt\", calibrated to its Table 5), plus rho/2 segments (\"add_half_rho\"), plus \
                 rho segments (\"add_rho\"), growing by some bytes with each ACK and each segment \
                 that it acknowledges (\"per_call\"), \"none\"",
                &[
                    Word("mult_sqrt", ""),
                    Word("add_half_rho", ""),
                    Word("add_rho", ""),
                    Word("per_call", ""),
                    Word("none", ""),
                ],
            ),
            number(
                "rwnd_per_segment",
                "\"per_call\": bytes for each segment (calibrated to Table 5)",
                0.77,
            ),
            number(
                "rwnd_per_ack",
                "\"per_call\": bytes for each ACK (calibrated to Table 5)",
                0.77,
            ),
            choice(
                "deflation",
                "when Algorithm 2 sets the window: at each \"partial_ack\"; \"literal\", at each \
                 ACK above the recovery point, as printed; never (\"rfc6582\")",
                &[
                    Word("partial_ack", ""),
                    Word("literal", ""),
                    Word("rfc6582", ""),
                ],
            ),
            choice(
                "sack_partial_ack",
                "Algorithm 2 with SACK recovery: \"room\" for two segments above the pipe; \
                 \"deflate\" the window as printed; \"none\"",
                &[Word("room", ""), Word("deflate", ""), Word("none", "")],
            ),
            Parameter {
                name: "timeout_delay",
                doc: reference("time added to the RTO after a time-out (2.5)"),
                default: Setting::Time(Interval::from_millis(200)),
                range: Range::Time(Interval::ZERO, Interval::from_secs(10)),
            },
            Parameter {
                name: "retransmit_limit",
                doc: reference(
                    "maximum number of segments that one ACK retransmits after an RTO (section \
                      3); 0 for as many as the window allows",
                ),
                default: Setting::Count(3),
                range: Range::Count(0, 1_000_000),
            },
            Parameter {
                name: "ssthresh_from_window",
                doc: reference(
                    "an unlimited initial ssthresh is the largest window that the peer \
                      advertises, as in the authors' simulator",
                ),
                default: Setting::Flag(true),
                range: Range::Flag,
            },
        ],
        metrics: &[
            metric!(
                "rho",
                "",
                "scaling component rho, equation (1)",
                |adalr: &Self, _: &Context<'_>| Some(adalr.rho)
            ),
            metric!(
                "increased_rwnd",
                "B",
                "increased value of the peer's last advertised window",
                |adalr: &Self, cx: &Context<'_>| {
                    let known = adalr.advertised != u64::MAX;
                    known.then(|| adalr.peer_window(adalr.advertised, cx.mss) as f64)
                }
            ),
        ],
        inputs: Input::ALL,
        recovery_window: |_| RecoveryWindow::Ssthresh,
        extras: Extras {
            undo: access!(Self),
            slow_start: access!(Self),
            peer_window: access!(Self),
            repair: access!(Self),
            ..Extras::NONE
        },
        build: |control, start| Box::new(Self::new(control, start)),
    };

    fn new(control: &Control, start: Start) -> Self {
        let is = |name, word| control.choice(name) == word;
        let settings = Settings {
            rho_per_second: control.number("rho_per_second"),
            rho_min: control.number("rho_min"),
            rho_max: control.number("rho_max"),
            breakpoint: control.number("rho_breakpoint"),
            timer_clock: is("rho_clock", "timer"),
            root_of_quotient: is("root", "of_quotient"),
            gaps_hold: is("gaps", "hold"),
            all_subphases: is("subphases", "all"),
            threshold_holds: is("at_threshold", "hold"),
            boost_below_breakpoint: control.flag("boost_below_breakpoint"),
            increased_in_conditions: is("conditions_window", "increased"),
            rwnd: match control.choice("rwnd_increase") {
                "mult_sqrt" => Rwnd::MultSqrt,
                "add_half_rho" => Rwnd::AddHalfRho,
                "add_rho" => Rwnd::AddRho,
                "per_call" => Rwnd::PerCall,
                _ => Rwnd::None,
            },
            rwnd_per_segment: control.number("rwnd_per_segment"),
            rwnd_per_ack: control.number("rwnd_per_ack"),
            deflation: match control.choice("deflation") {
                "partial_ack" => Deflation::PartialAck,
                "literal" => Deflation::Literal,
                _ => Deflation::Rfc6582,
            },
            sack: match control.choice("sack_partial_ack") {
                "room" => SackPartialAck::Room,
                "deflate" => SackPartialAck::Deflate,
                _ => SackPartialAck::None,
            },
            timeout_delay: control.time("timeout_delay"),
            retransmit_limit: match control.count("retransmit_limit") {
                0 => u32::MAX,
                n => n,
            },
        };
        Self {
            settings,
            counting: AckCounting::new(start.byte_counting),
            cwnd: start.window,
            ssthresh: start.ssthresh,
            follow: start.ssthresh == u64::MAX && control.flag("ssthresh_from_window"),
            rho: settings.rho_min,
            recover: 0,
            before: None,
            advertised: u64::MAX,
            grown: 0.0,
        }
    }

    /// Updates rho by equation (1) from RTTs that the retransmission timer samples.
    fn sample(&mut self, ack: &Ack) {
        let Some(timer) = ack.rtt_sample else { return };
        let rtt = if self.settings.timer_clock {
            timer
        } else {
            ack.fine_rtt.unwrap_or(timer)
        };
        let s = &self.settings;
        self.rho = (rtt.as_secs_f64() * s.rho_per_second)
            .min(s.rho_max)
            .max(s.rho_min);
    }

    /// Returns sqrt(rho)/n, or sqrt(rho/n) as the other interpretation. IEEE 754 requires the exact
    /// rounding of square roots, so results are equal on all machines.
    fn factor(&self, n: f64) -> f64 {
        if self.settings.root_of_quotient {
            (self.rho / n).sqrt()
        } else {
            self.rho.sqrt() / n
        }
    }

    /// Returns whether growth is scaled: no loss yet, and rho above the breakpoint.
    fn boosts(&self) -> bool {
        self.recover == 0 && self.rho >= self.settings.breakpoint
    }

    /// Returns the receive window used in the conditions of Algorithm 1.
    fn conditions_window(&self, mss: u64) -> u64 {
        if self.settings.increased_in_conditions {
            self.peer_window(self.advertised, mss)
        } else {
            self.advertised
        }
    }

    /// Enlarges the peer's window at an ACK. The paper increments the window where the sender sizes
    /// its segments (section 3). farlink counts that once for each segment, and once for each ACK,
    /// because the sender tries to send after an ACK also if the window has no room.
    fn enlarge(&mut self, cx: &Context<'_>, bytes: u64) {
        let s = &self.settings;
        if s.rwnd == Rwnd::PerCall && self.boosts() {
            self.grown += s.rwnd_per_ack + s.rwnd_per_segment * bytes as f64 / cx.mss as f64;
        }
    }

    /// Grows cwnd below ssthresh by Algorithm 1.
    fn slow_start(&mut self, cx: &Context<'_>, bytes: u64) {
        let (ssthresh, wnd) = (self.ssthresh, self.conditions_window(cx.mss));
        let reno = self.counting.slow_start(self.cwnd, ssthresh, bytes, cx.mss);
        let step = if self.boosts() {
            (self.factor(4.0) * cx.mss as f64) as u64
        } else {
            reno
        };
        let low = cx.flight < wnd / 4;
        let middle = !low && cx.flight < wnd / 2;
        let mut covered = false;
        for subphase in 1..=4 {
            let cwnd = self.cwnd;
            let applies = match subphase {
                1 => cwnd <= ssthresh / 4 && low,
                2 => cwnd > ssthresh / 4 && cwnd <= ssthresh / 2 && low,
                3 => cwnd > ssthresh / 4 && middle,
                _ => cwnd > ssthresh / 2 && middle,
            };
            if applies {
                self.cwnd += step;
                covered = true;
                if !self.settings.all_subphases {
                    break;
                }
            }
        }
        if !covered && !self.settings.gaps_hold {
            self.cwnd += reno;
        }
        // cwnd stops at ssthresh as in ns-2, which the authors extended.
        self.cwnd = self.cwnd.min(ssthresh);
    }

    /// Grows cwnd above ssthresh by Algorithm 1.
    fn avoid_congestion(&mut self, cx: &Context<'_>, bytes: u64) {
        let long = self.rho >= self.settings.breakpoint;
        let lost = long && self.recover != 0;
        let near = cx.flight >= self.conditions_window(cx.mss) / 2;
        let entering = cx.snd_una <= self.recover && lost || near;
        let exiting = cx.snd_una >= self.recover && lost || !near;
        let per_window = (cx.mss * self.counting.share(bytes, cx.mss)) as f64 / self.cwnd as f64;
        let step = if !entering && exiting && (long || self.settings.boost_below_breakpoint) {
            self.factor(2.0) * per_window
        } else {
            per_window
        };
        self.cwnd += (step as u64).max(1);
    }

    /// Returns the window that Algorithm 2 sets at a partial ACK: window - acked + 2 MSS.
    fn deflated(window: u64, acked: u64, mss: u64) -> u64 {
        window.saturating_sub(acked) + 2 * mss
    }

    /// Ends the phase before the first loss: ssthresh no longer follows the peer's window, and
    /// growth is no longer scaled.
    fn lost(&mut self, cx: &Context<'_>) {
        self.follow = false;
        self.recover = cx.snd_max;
    }
}

impl CongestionControl for Adalr {
    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack) {
        self.sample(ack);
        self.enlarge(cx, ack.bytes);
        if !ack.cwnd_limited {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.slow_start(cx, ack.bytes);
        } else if self.cwnd > self.ssthresh || !self.settings.threshold_holds {
            self.avoid_congestion(cx, ack.bytes);
        }
        if self.settings.deflation == Deflation::Literal && cx.snd_una > self.recover {
            self.cwnd = Self::deflated(self.cwnd, ack.bytes, cx.mss);
        }
    }

    fn on_loss(&mut self, cx: &Context<'_>, _loss: &Loss) {
        self.ssthresh = half_flight(cx);
        self.cwnd = self.ssthresh;
        self.lost(cx);
    }

    fn on_recovery_ack(&mut self, _cx: &Context<'_>, ack: &Ack) {
        self.sample(ack);
    }

    fn on_recovered(&mut self, _cx: &Context<'_>, window: u64) {
        self.cwnd = window;
    }

    fn on_timeout(&mut self, cx: &Context<'_>, first: bool) {
        if first {
            self.ssthresh = half_flight(cx);
        }
        self.lost(cx);
        self.collapse(cx.mss);
        self.counting.on_timeout();
    }

    fn collapse(&mut self, window: u64) {
        self.cwnd = window;
    }

    fn raise_ssthresh(&mut self, least: u64) {
        self.ssthresh = self.ssthresh.max(least);
    }

    fn on_idle(&mut self, _cx: &Context<'_>, initial_window: u64) {
        self.cwnd = self.cwnd.min(initial_window);
    }
}

impl EndSlowStart for Adalr {
    fn end_slow_start(&mut self, window: u64) {
        self.cwnd = window;
        self.ssthresh = window;
    }
}

impl UndoReduction for Adalr {
    fn save(&mut self) {
        self.before = Some((self.follow, self.recover));
    }

    /// Restores the state before the first loss, including the scaled growth.
    fn on_spurious(&mut self, _cx: &Context<'_>, undone: &Undone) {
        self.cwnd = undone.window;
        self.ssthresh = undone.ssthresh;
        if let Some(before) = self.before.take() {
            (self.follow, self.recover) = before;
        }
    }
}

impl PeerWindow for Adalr {
    fn on_peer_window(&mut self, advertised: u64, mss: u64) {
        self.advertised = advertised;
        if self.follow && (self.ssthresh == u64::MAX || self.ssthresh < advertised) {
            self.ssthresh = advertised.max(2 * mss);
        }
    }

    fn peer_window(&self, advertised: u64, mss: u64) -> u64 {
        if !self.boosts() || advertised == 0 {
            return advertised;
        }
        let segments = |n: f64| (n * mss as f64) as u64;
        match self.settings.rwnd {
            Rwnd::MultSqrt => (advertised as f64 * (self.rho.sqrt() / 4.0).max(1.0)) as u64,
            Rwnd::AddHalfRho => advertised + segments(self.rho / 2.0),
            Rwnd::AddRho => advertised + segments(self.rho),
            Rwnd::PerCall => advertised + self.grown as u64,
            Rwnd::None => advertised,
        }
    }
}

impl Repair for Adalr {
    fn partial_ack_window(&self, cx: &Context<'_>, ack: &Ack, now: InForce) -> Option<u64> {
        if self.settings.deflation != Deflation::PartialAck {
            return None;
        }
        match (now.pipe, self.settings.sack) {
            (None, _) | (Some(_), SackPartialAck::Deflate) => {
                Some(Self::deflated(now.window, ack.bytes, cx.mss))
            }
            (Some(pipe), SackPartialAck::Room) => Some(now.window.max(pipe + 2 * cx.mss)),
            (Some(_), SackPartialAck::None) => None,
        }
    }

    fn timeout_delay(&self) -> Interval {
        self.settings.timeout_delay
    }

    fn retransmit_limit(&self) -> u32 {
        self.settings.retransmit_limit
    }
}

#[cfg(test)]
mod tests;
