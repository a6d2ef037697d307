//! BBR version 1: controls rate and window by a model of the path, and does not react to losses
//! (draft-cardwell-iccrg-bbr-congestion-control-00; Cardwell et al. 2016).
//!
//! The rate is the bottleneck bandwidth from delivery-rate samples. The window is a multiple of
//! this bandwidth times the least RTT. Section numbers are those of the draft. The order of steps,
//! and what the draft leaves open, follow Linux's tcp_bbr.c.

mod model;
mod policer;

use super::PACED_HEADERS;
use super::aggregation::{Aggregation, WINDOW_ROUNDS};
use super::extras::access;
use super::metric::metric;
use super::mix::mix;
use super::{
    Ack, Algorithm, CongestionControl, Context, Control, Extras, Input, Loss, Parameter, Range,
    RateSample, RateSampled, RecoveryWindow, Resumable, Setting, Start, UndoReduction, Undone,
    Word,
};
use crate::seq::Offset;
use crate::time::{Instant, Interval};
use farlink_small::reference;
use model::{BandwidthFilter, FullPipe, MinRtt, Round};
use policer::{Finding, Policer, Totals};

/// Pacing gains of the phases of `ProbeBW` (4.3.4.2).
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// `BBRMinPipeCwnd` in segments (4.2.3).
const MIN_WINDOW: u64 = 4;
/// Number of send quanta added to the inflight target as headroom (4.2.3.2).
const QUANTA: f64 = 3.0;

/// State machine (4.1.1, 4.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Startup,
    Drain,
    /// Probing, in this phase of [`CYCLE`].
    ProbeBw(usize),
    /// `ProbeRTT`, with the earliest time of its end once in-flight data is small enough.
    ProbeRtt(Option<Instant>),
}

/// State of loss recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Repair {
    None,
    /// Fast recovery.
    Recovery,
    /// After a time-out, until this position is acknowledged.
    Timeout(Offset),
}

/// Parameters of [`Bbr::ALGORITHM`].
#[derive(Debug)]
struct Settings {
    startup_gain: f64,
    window_gain: f64,
    probe_rtt_time: Interval,
    /// Pacing rate at a gain of one, as a share of the bandwidth.
    pace: f64,
    mixed_phase: bool,
    /// Rounds cwnd to an even number of segments, with two more in the probing phase.
    even_window: bool,
    unpaced: u64,
}

/// The BBR controller. Rates are in bytes of sequence space per second.
#[derive(Debug)]
pub struct Bbr {
    settings: Settings,
    state: State,
    cwnd: u64,
    initial_window: u64,
    ssthresh: u64,
    /// cwnd before recovery or `ProbeRTT`.
    prior_cwnd: u64,
    repair: Repair,
    /// `repair` at the last ACK that delivered data (`prev_ca_state`).
    prior_repair: Repair,
    /// Packet conservation in the first round of recovery: each byte delivered allows one byte to
    /// be sent.
    conserve: bool,
    bandwidth: BandwidthFilter,
    round: Round,
    min_rtt: MinRtt,
    full_pipe: FullPipe,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    /// Start of the current phase of `ProbeBW`.
    phase_at: Instant,
    pacing_gain: f64,
    cwnd_gain: f64,
    /// Pacing rate in bytes of sequence space per second.
    pacing_rate: f64,
    /// Set once the pacing rate was initialized from an RTT sample and not from the default of 1
    /// ms.
    has_seen_rtt: bool,
    /// Bytes on the wire per byte of sequence space, for full segments.
    wire: f64,
    /// Policer detection; `None` if off.
    policer: Option<Policer>,
    /// Time of the last delivery.
    delivered_at: Instant,
    /// Set if a time-out happened since the last ACK that delivered data.
    timed_out: bool,
    /// Allowance for aggregated ACKs; `None` if off.
    aggregation: Option<Aggregation>,
}

impl Bbr {
    /// Description of BBR for the table of algorithms.
    pub const ALGORITHM: Algorithm = Algorithm {
        name: "bbr",
        summary: "rate and window from a model of the path (BBR version 1)",
        parameters: &[
            Parameter {
                name: "startup_gain",
                doc: reference(
                    "pacing and window gain of Startup, 2/ln 2; Drain paces at its inverse \
                      (draft-cardwell-iccrg-bbr-congestion-control-00, 4.3.2.1)",
                ),
                default: Setting::Number(2.885),
                range: Range::Number(1.1, 10.0),
            },
            Parameter {
                name: "cwnd_gain",
                doc: reference("window in bandwidth-delay products in ProbeBW (4.2.3.2)"),
                default: Setting::Number(2.0),
                range: Range::Number(1.0, 10.0),
            },
            Parameter {
                name: "bandwidth_rounds",
                doc: reference(
                    "length of the maximum filter of the bandwidth in round trips (4.1.1.3)",
                ),
                default: Setting::Count(10),
                range: Range::Count(1, 1000),
            },
            Parameter {
                name: "rtt_window",
                doc: reference(
                    "time after which ProbeRTT measures the least round-trip time anew, unless \
                      a sample renews it (4.1.2.2)",
                ),
                default: Setting::Time(Interval::from_secs(10)),
                range: Range::Time(Interval::from_millis(1), Interval::from_secs(86_400)),
            },
            Parameter {
                name: "equal_rtt_counts",
                doc: reference(
                    "a sample equal to the least round-trip time renews it (4.1.2.3; not in \
                      Linux since 5.10). On a path without jitter every round trip through an \
                      empty queue then renews it, so that ProbeRTT may never start",
                ),
                default: Setting::Flag(true),
                range: Range::Flag,
            },
            Parameter {
                name: "probe_rtt_time",
                doc: reference(
                    "minimum duration of ProbeRTT, which also lasts at least a round trip \
                      (4.3.5)",
                ),
                default: Setting::Time(Interval::from_millis(200)),
                range: Range::Time(Interval::ZERO, Interval::from_secs(60)),
            },
            Parameter {
                name: "pacing_margin",
                doc: reference(
                    "share by which the pacing rate at gain 1 is below the bandwidth; 0 in the \
                      paper and the draft, 0.01 in Linux since 4.20",
                ),
                default: Setting::Number(0.0),
                range: Range::Number(0.0, 0.5),
            },
            Parameter {
                name: "first_phase",
                doc: reference(
                    "first phase of ProbeBW: \"mixed\" is any but the draining phase, chosen by \
                      time and position of the flow (random in 4.3.4.3); \"probe\" is the \
                      probing phase",
                ),
                default: Setting::Choice("mixed"),
                range: Range::Choice(&[Word("mixed", ""), Word("probe", "")]),
            },
            Parameter {
                name: "policer_detection",
                doc: reference(
                    "detection of a policer: two intervals of at least four round trips, each \
                      with a fifth of the data lost and both with the same rate, set BtlBw to \
                      that rate for 48 round trips; not in the draft, in Linux (tcp_bbr.c: \
                      bbr_lt_bw_sampling)",
                ),
                default: Setting::Flag(true),
                range: Range::Flag,
            },
            Parameter {
                name: "ack_aggregation",
                doc: reference(
                    "addition to the window for data that ACKs deliver above BtlBw; not in the \
                      draft, in Linux since 5.1 (tcp_bbr.c: bbr_update_ack_aggregation)",
                ),
                default: Setting::Flag(false),
                range: Range::Flag,
            },
            Parameter {
                name: "even_window",
                doc: reference(
                    "window of an even number of segments, with two more in the probing phase \
                      of ProbeBW; not in the draft, in Linux (tcp_bbr.c: \
                      bbr_quantization_budget)",
                ),
                default: Setting::Flag(false),
                range: Range::Flag,
            },
            Parameter {
                name: "unpaced_segments",
                doc: reference(
                    "segments at the start of a connection that are sent in one burst; 0 in the \
                      draft, 10 in Linux (tcp_output.c: tcp_update_skb_after_send)",
                ),
                default: Setting::Count(0),
                range: Range::Count(0, 1000),
            },
        ],
        metrics: &[
            metric!(
                "bottleneck_bandwidth",
                "bit/s",
                "BtlBw, in bytes of the stream",
                |bbr: &Self, _: &Context<'_>| Some(8.0 * bbr.bandwidth.max())
            ),
            metric!(
                "min_rtt",
                "s",
                "RTprop, the least round-trip time of the window of time",
                |bbr: &Self, _: &Context<'_>| bbr.min_rtt.least.map(Interval::as_secs_f64)
            ),
            metric!(
                "state",
                "",
                "0 Startup, 1 Drain, 2 ProbeBW, 3 ProbeRTT",
                |bbr: &Self, _: &Context<'_>| Some(match bbr.state {
                    State::Startup => 0.0,
                    State::Drain => 1.0,
                    State::ProbeBw(_) => 2.0,
                    State::ProbeRtt(_) => 3.0,
                })
            ),
            metric!(
                "pacing_gain",
                "",
                "gain of the pacing rate over BtlBw",
                |bbr: &Self, _: &Context<'_>| Some(bbr.pacing_gain)
            ),
            metric!(
                "cwnd_gain",
                "",
                "gain of the window over BtlBw RTprop",
                |bbr: &Self, _: &Context<'_>| Some(bbr.cwnd_gain)
            ),
            metric!(
                "pacing_rate",
                "bit/s",
                "rate at which segments leave, headers included",
                |bbr: &Self, _: &Context<'_>| bbr.pacing_rate().map(|rate| rate as f64)
            ),
        ],
        // All other inputs come from BBR's path model.
        inputs: &[Input::Window, Input::InitialWindow],
        // tcp_bbr.c: bbr_main is its `cong_control`. BBR's ssthresh is informational only.
        recovery_window: |_| RecoveryWindow::Controller,
        extras: Extras {
            undo: access!(Self),
            rate: access!(Self),
            resume: access!(Self),
            ..Extras::NONE
        },
        build: |control, start| Box::new(Self::new(control, start)),
    };

    fn new(control: &Control, start: Start) -> Self {
        let startup_gain = control.number("startup_gain");
        let settings = Settings {
            startup_gain,
            window_gain: control.number("cwnd_gain"),
            probe_rtt_time: control.time("probe_rtt_time"),
            pace: 1.0 - control.number("pacing_margin"),
            mixed_phase: control.choice("first_phase") == "mixed",
            even_window: control.flag("even_window"),
            unpaced: control.count("unpaced_segments").into(),
        };
        let equal_rtt_counts = control.flag("equal_rtt_counts");
        Self {
            settings,
            state: State::Startup,
            cwnd: start.window,
            initial_window: start.window,
            ssthresh: start.ssthresh,
            prior_cwnd: 0,
            repair: Repair::None,
            prior_repair: Repair::None,
            conserve: false,
            bandwidth: BandwidthFilter::new(control.count("bandwidth_rounds").into()),
            round: Round::default(),
            min_rtt: MinRtt::new(control.time("rtt_window"), equal_rtt_counts),
            full_pipe: FullPipe::default(),
            probe_rtt_round_done: false,
            idle_restart: false,
            phase_at: Instant::ZERO,
            pacing_gain: startup_gain,
            cwnd_gain: startup_gain,
            pacing_rate: 0.0,
            has_seen_rtt: false,
            wire: 1.0,
            policer: control.flag("policer_detection").then(Policer::default),
            delivered_at: Instant::ZERO,
            timed_out: false,
            aggregation: control.flag("ack_aggregation").then(Aggregation::default),
        }
    }

    /// Returns the policer's rate if one was detected, else BtlBw.
    fn rate_in_use(&self) -> f64 {
        let policed = self.policer.as_ref().and_then(Policer::rate);
        policed.unwrap_or_else(|| self.bandwidth.max())
    }

    /// `BBRInflight` (4.2.3.2): target of the bytes in flight.
    fn inflight(&self, gain: f64, mss: u64) -> u64 {
        self.budget(self.bandwidth.max(), gain, 0, mss)
    }

    /// Returns cwnd for `gain` BDPs at `rate`, plus `allowance` bytes.
    fn budget(&self, rate: f64, gain: f64, allowance: u64, mss: u64) -> u64 {
        let Some(min_rtt) = self.min_rtt.least else {
            return self.initial_window;
        };
        let product = gain * rate * min_rtt.as_secs_f64() + allowance as f64;
        let target = product + QUANTA * self.send_quantum(mss);
        if !self.settings.even_window {
            return target as u64;
        }
        let segments = (target / mss as f64).ceil() as u64;
        let probing = if self.state == State::ProbeBw(0) {
            2
        } else {
            0
        };
        (segments.next_multiple_of(2) + probing) * mss
    }

    /// `BBRSetSendQuantum` (4.2.2). farlink sends segment by segment, so the quantum only adds
    /// headroom to cwnd.
    fn send_quantum(&self, mss: u64) -> f64 {
        let mss = mss as f64;
        let wire_rate = self.pacing_rate * self.wire;
        if wire_rate < 1.2e6 / 8.0 {
            mss
        } else if wire_rate < 24e6 / 8.0 {
            2.0 * mss
        } else {
            (wire_rate * 0.001).clamp(2.0 * mss, 65_536.0)
        }
    }

    /// `BBRInitPacingRate` (4.2.1).
    fn init_pacing_rate(&mut self, cx: &Context<'_>) {
        let srtt = cx.rtt.srtt().filter(|t| !t.is_zero());
        self.has_seen_rtt = srtt.is_some();
        let rtt = srtt.unwrap_or(Interval::from_millis(1));
        let nominal = self.cwnd as f64 / rtt.as_secs_f64();
        self.pacing_rate = self.settings.startup_gain * nominal * self.settings.pace;
    }

    /// `BBRUpdateModelAndState`.
    fn update_model(&mut self, cx: &Context<'_>, sample: &RateSample) {
        self.update_bandwidth(cx, sample);
        self.check_cycle_phase(cx, sample);
        if !self.full_pipe.filled && self.round.start && !sample.app_limited {
            self.full_pipe.check(self.bandwidth.max());
        }
        self.check_drain(cx, sample);
        self.min_rtt.update(cx.now, sample.rtt);
        self.check_probe_rtt(cx, sample);
    }

    /// `BBRUpdateRound` and `BBRUpdateBtlBw` (4.1.1). A sample without a valid rate starts no round
    /// (tcp_bbr.c: `bbr_update_bw`).
    fn update_bandwidth(&mut self, cx: &Context<'_>, sample: &RateSample) {
        self.round.delivered = sample.delivered;
        self.round.start = false;
        self.timeout_sampled(cx, sample);
        self.delivered_at = cx.now;
        let Some(rate) = sample.rate() else { return };
        self.round.update(sample);
        self.conserve &= !self.round.start;
        let totals = Totals {
            at: cx.now,
            delivered: sample.delivered,
            lost: sample.lost,
            round_start: self.round.start,
            lossy: sample.newly_lost > 0,
            app_limited: sample.app_limited,
        };
        self.look_for_policer(cx, &totals);
        self.bandwidth
            .push(self.round.count, rate, sample.app_limited);
        if let Some(aggregation) = &mut self.aggregation {
            let policed = self.policer.as_ref().and_then(Policer::rate);
            let rate = policed.unwrap_or_else(|| self.bandwidth.max());
            let bounds = (self.cwnd, cx.mss);
            let rounds = self.round.start.then_some(WINDOW_ROUNDS);
            aggregation.on_ack(cx.now, rounds, rate, sample.newly_delivered, bounds);
        }
    }

    /// Reports a time-out since the last sample to policer detection, as the end of a round with a
    /// loss (tcp_bbr.c: `bbr_set_state`).
    fn timeout_sampled(&mut self, cx: &Context<'_>, sample: &RateSample) {
        if !std::mem::take(&mut self.timed_out) {
            return;
        }
        let totals = Totals {
            at: self.delivered_at,
            delivered: sample.delivered - sample.newly_delivered,
            lost: sample.lost - sample.newly_lost,
            round_start: true,
            lossy: true,
            app_limited: false,
        };
        self.look_for_policer(cx, &totals);
    }

    fn look_for_policer(&mut self, cx: &Context<'_>, totals: &Totals) {
        let probing = matches!(self.state, State::ProbeBw(_));
        let Some(policer) = &mut self.policer else {
            return;
        };
        match policer.on_event(totals, probing) {
            Finding::Nothing => {}
            Finding::Policed => self.pacing_gain = 1.0,
            Finding::Over => self.enter_probe_bw(cx),
        }
    }

    /// `BBRCheckCyclePhase` (4.3.4.3).
    fn check_cycle_phase(&mut self, cx: &Context<'_>, sample: &RateSample) {
        let State::ProbeBw(phase) = self.state else {
            return;
        };
        let full_length = cx.now.since(self.phase_at) > self.min_rtt.least.unwrap_or_default();
        let gain = self.pacing_gain;
        let next = if gain > 1.0 {
            let enough =
                sample.newly_lost > 0 || sample.prior_flight >= self.inflight(gain, cx.mss);
            full_length && enough
        } else if gain < 1.0 {
            full_length || sample.prior_flight <= self.inflight(1.0, cx.mss)
        } else {
            full_length
        };
        if next {
            self.enter_phase(cx.now, (phase + 1) % CYCLE.len());
        }
    }

    fn enter_phase(&mut self, now: Instant, phase: usize) {
        self.state = State::ProbeBw(phase);
        self.phase_at = now;
        let policed = self.policer.as_ref().and_then(Policer::rate).is_some();
        self.pacing_gain = if policed { 1.0 } else { CYCLE[phase] };
    }

    fn enter_probe_bw(&mut self, cx: &Context<'_>) {
        self.cwnd_gain = self.settings.window_gain;
        let phase = if self.settings.mixed_phase {
            // Phases 2 to 7 or 0, but never the draining phase 1.
            (2 + (mix(cx.now.as_nanos() ^ cx.snd_max.rotate_left(32)) % 7) as usize) % CYCLE.len()
        } else {
            0
        };
        self.enter_phase(cx.now, phase);
    }

    /// `BBRCheckDrain` (4.3.3).
    fn check_drain(&mut self, cx: &Context<'_>, sample: &RateSample) {
        if self.state == State::Startup && self.full_pipe.filled {
            self.state = State::Drain;
            self.pacing_gain = 1.0 / self.settings.startup_gain;
            self.cwnd_gain = self.settings.startup_gain;
            self.ssthresh = self.inflight(1.0, cx.mss); // informational, as in Linux
        }
        if self.state == State::Drain && sample.flight <= self.inflight(1.0, cx.mss) {
            self.enter_probe_bw(cx);
        }
    }

    /// `BBRCheckProbeRTT` and `BBRHandleProbeRTT` (4.3.5).
    fn check_probe_rtt(&mut self, cx: &Context<'_>, sample: &RateSample) {
        let probing = matches!(self.state, State::ProbeRtt(_));
        if !probing && self.min_rtt.expired && !self.idle_restart {
            self.save_window();
            self.state = State::ProbeRtt(None);
            self.pacing_gain = 1.0;
            self.cwnd_gain = 1.0;
        }
        self.idle_restart = false;
        let State::ProbeRtt(end) = self.state else {
            return;
        };
        match end {
            None if sample.flight <= MIN_WINDOW * cx.mss => {
                self.state = State::ProbeRtt(Some(cx.now + self.settings.probe_rtt_time));
                self.probe_rtt_round_done = false;
                self.round.restart();
            }
            None => {}
            Some(end) => {
                self.probe_rtt_round_done |= self.round.start;
                if self.probe_rtt_round_done && cx.now > end {
                    self.leave_probe_rtt(cx);
                }
            }
        }
    }

    fn leave_probe_rtt(&mut self, cx: &Context<'_>) {
        self.min_rtt.at = cx.now;
        self.restore_window();
        if self.full_pipe.filled {
            self.enter_probe_bw(cx);
        } else {
            self.state = State::Startup;
            self.pacing_gain = self.settings.startup_gain;
            self.cwnd_gain = self.settings.startup_gain;
        }
    }

    /// `BBRSetPacingRateWithGain` (4.2.1).
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.rate_in_use() * self.settings.pace;
        if rate > 0.0 && (self.full_pipe.filled || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// `BBRSetCwnd` (4.2.3.6).
    fn set_window(&mut self, cx: &Context<'_>, sample: &RateSample) {
        // BBRModulateCwndForRecovery (4.2.3.4).
        if sample.newly_lost > 0 {
            self.cwnd = self.cwnd.saturating_sub(sample.newly_lost).max(cx.mss);
        }
        if matches!(self.repair, Repair::Timeout(point) if cx.snd_una >= point) {
            self.repair = Repair::None;
        }
        // If one ACK ends a recovery and begins the next, both count as one recovery.
        let before = std::mem::replace(&mut self.prior_repair, self.repair);
        if self.repair == Repair::Recovery && before != Repair::Recovery {
            self.conserve = true;
            self.round.restart();
            self.cwnd = sample.flight + sample.newly_delivered.max(cx.mss);
        } else if self.repair == Repair::None && before != Repair::None {
            self.conserve = false;
            self.restore_window();
        }
        if self.conserve {
            self.cwnd = self.cwnd.max(sample.flight + sample.newly_delivered);
        } else {
            let rate = self.rate_in_use();
            let allowance = match &self.aggregation {
                Some(aggregation) if self.full_pipe.filled => aggregation.allowance(rate),
                _ => 0,
            };
            let target = self.budget(rate, self.cwnd_gain, allowance, cx.mss);
            if self.full_pipe.filled {
                self.cwnd = target.min(self.cwnd + sample.newly_delivered);
            } else if self.cwnd < target || self.round.delivered < self.initial_window {
                self.cwnd += sample.newly_delivered;
            }
            self.cwnd = self.cwnd.max(MIN_WINDOW * cx.mss);
        }
        // BBRModulateCwndForProbeRTT (4.2.3.5).
        if matches!(self.state, State::ProbeRtt(_)) {
            self.cwnd = self.cwnd.min(MIN_WINDOW * cx.mss);
        }
    }

    /// `BBRSaveCwnd` (4.2.3.4).
    fn save_window(&mut self) {
        let small = self.prior_repair != Repair::None || matches!(self.state, State::ProbeRtt(_));
        let least = if small { self.prior_cwnd } else { 0 };
        self.prior_cwnd = self.cwnd.max(least);
    }

    /// `BBRRestoreCwnd`.
    fn restore_window(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

impl CongestionControl for Bbr {
    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn in_slow_start(&self) -> bool {
        self.state == State::Startup
    }

    /// Does nothing, because [`Self::on_rate_sample`] processes the same ACK.
    fn on_ack(&mut self, _cx: &Context<'_>, _ack: &Ack) {}

    fn on_loss(&mut self, _cx: &Context<'_>, _loss: &Loss) {
        self.save_window();
        self.repair = Repair::Recovery;
    }

    /// Ignores ECN marks, as BBR version 1 does.
    fn on_congestion_mark(&mut self, _cx: &Context<'_>, _loss: &Loss) {}

    /// Ends recovery. The ACK's rate sample restores cwnd, unless the same ACK starts another
    /// recovery.
    fn on_recovered(&mut self, _cx: &Context<'_>, _window: u64) {
        self.repair = Repair::None;
    }

    fn on_timeout(&mut self, cx: &Context<'_>, _first: bool) {
        self.save_window();
        self.repair = Repair::Timeout(cx.snd_max);
        self.prior_repair = self.repair;
        self.timed_out = true;
        // As in Linux a time-out resets the growth reference of the full-pipe detection.
        self.full_pipe.reset_growth();
        self.collapse(cx.mss);
    }

    fn collapse(&mut self, window: u64) {
        self.cwnd = window;
    }

    fn on_idle(&mut self, _cx: &Context<'_>, _initial_window: u64) {}

    fn pacing_rate(&self) -> Option<u64> {
        (self.pacing_rate > 0.0).then_some((self.pacing_rate * self.wire * 8.0 + 0.5) as u64)
    }

    fn unpaced_segments(&self) -> u64 {
        self.settings.unpaced
    }

    fn on_established(&mut self, cx: &Context<'_>) {
        let mss = cx.mss as f64;
        self.wire = (mss + f64::from(PACED_HEADERS)) / mss;
        self.min_rtt.least = cx.rtt.srtt();
        self.min_rtt.at = cx.now;
        self.init_pacing_rate(cx);
    }
}

impl UndoReduction for Bbr {
    /// Restores cwnd from before the spurious recovery, and restarts the full-pipe detection, as in
    /// Linux. The path model is unaffected by losses.
    fn on_spurious(&mut self, _cx: &Context<'_>, _undone: &Undone) {
        self.repair = Repair::None;
        self.prior_repair = Repair::None;
        self.conserve = false;
        self.full_pipe.restart();
        if let Some(policer) = &mut self.policer {
            policer.reset();
        }
        self.restore_window();
    }
}

impl RateSampled for Bbr {
    fn on_rate_sample(&mut self, cx: &Context<'_>, sample: &RateSample) {
        self.update_model(cx, sample);
        if !self.has_seen_rtt && cx.rtt.srtt().is_some() {
            self.init_pacing_rate(cx);
        }
        self.set_pacing_rate(self.pacing_gain);
        self.set_window(cx, sample);
    }

    fn limits_itself(&self) -> bool {
        matches!(self.state, State::ProbeRtt(_))
    }

    /// `BBRHandleRestartFromIdle` (4.3.4.4).
    fn on_transmit_start(&mut self, cx: &Context<'_>) {
        self.idle_restart = true;
        if let Some(aggregation) = &mut self.aggregation {
            aggregation.restart(cx.now);
        }
        if matches!(self.state, State::ProbeBw(_)) {
            self.set_pacing_rate(1.0);
        }
    }
}

impl Resumable for Bbr {
    fn may_jump(&self) -> bool {
        self.state == State::Startup
    }

    /// Bounds the window that the end of recovery restores. The model has no threshold.
    fn limit(&mut self, ssthresh: u64, _grows: bool) {
        self.prior_cwnd = self.prior_cwnd.min(ssthresh);
    }
}

#[cfg(test)]
mod tests;
