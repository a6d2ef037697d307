//! BBR version 3: controls rate and window by a model of the path, with bounds from losses and marks
//! (draft-ietf-ccwg-bbr-06).
//!
//! Section numbers and names in code type are those of the draft. `rules = "linux"` follows
//! `tcp_bbr.c` of Google's tree (branch v3) where it differs from the draft. Rates are in bytes of
//! sequence space per second.

mod algorithm;
mod bounds;
mod cycle;
mod marks;
mod path;
mod probe;

use super::aggregation::{Aggregation, WINDOW_ROUNDS};
use super::{
    Ack, CongestionControl, Context, Control, Feedback, Loss, LossSampled, LostSegment,
    MarkCounting, MarkReport, PACED_HEADERS, RateSample, RateSampled, Resumable, Start,
    UndoReduction, Undone,
};
use crate::seq::Offset;
use crate::time::{Instant, Interval};
use bounds::{Bounds, Evidence, UNBOUNDED};
use cycle::{Cycle, Phase};
use marks::Marks;
use path::{FullPipe, Latest, MaxBandwidth, MinRtt, Round};

/// `BBR.MinPipeCwnd` in segments (5.6.4.3).
const MIN_WINDOW: u64 = 4;
/// Send quanta of the offload budget (5.5.8.1).
const QUANTA: f64 = 3.0;
/// `BBRStartupFullLossCnt`: ACKs with losses in a round that end Startup (5.3.1.3).
const FULL_LOSSES: u32 = 6;
/// `BBR.ProbeRTTCwndGain` (5.3.4.1).
const PROBE_RTT_GAIN: f64 = 0.5;
/// Gains of `ProbeBW_UP` (5.3.3.4).
const UP_GAIN: f64 = 1.25;
const UP_WINDOW_GAIN: f64 = 2.25;
/// `BBR.DefaultCwndGain`.
const WINDOW_GAIN: f64 = 2.0;

/// State machine (5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Startup,
    Drain,
    ProbeBw(Phase),
    /// `ProbeRTT`, with the earliest time of its end once little enough is in flight.
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

/// Parameters of [`Bbr3::ALGORITHM`].
#[derive(Debug)]
struct Settings {
    startup_gain: f64,
    drain_gain: f64,
    down_gain: f64,
    /// `BBR.LossThresh`.
    losses: f64,
    /// `BBR.Beta`: share that a reduction keeps.
    beta: f64,
    headroom: f64,
    /// Pacing rate at a gain of one, as a share of the bandwidth.
    pace: f64,
    probe_rtt_time: Interval,
    /// Rules of Google's Linux in place of the draft's.
    linux: bool,
    unpaced: u64,
}

/// Losses and windows of the present round and recovery.
#[derive(Debug)]
struct Episode {
    repair: Repair,
    /// cwnd before recovery or `ProbeRTT`.
    prior_cwnd: u64,
    /// `BBR.loss_in_round`.
    in_round: bool,
    in_cycle: bool,
    /// Set if the next rate sample restores cwnd, because recovery is over.
    restores: bool,
    /// ACKs of the round that detected losses.
    events: u32,
    /// State and bounds before the first loss, for an undo.
    before: (State, Bounds),
}

/// The BBR version 3 controller.
#[derive(Debug)]
pub struct Bbr3 {
    settings: Settings,
    state: State,
    cwnd: u64,
    initial_window: u64,
    ssthresh: u64,
    round: Round,
    bandwidth: MaxBandwidth,
    min_rtt: MinRtt,
    full_pipe: FullPipe,
    latest: Latest,
    bounds: Bounds,
    cycle: Cycle,
    marks: Option<Marks>,
    losses: Episode,
    aggregation: Aggregation,
    /// cwnd was in full use in this and in the previous round.
    window_used: [bool; 2],
    probe_rtt_round_done: bool,
    idle_restart: bool,
    /// Pacing rate in bytes of sequence space per second.
    pacing_rate: f64,
    has_seen_rtt: bool,
    /// Bytes on the wire per byte of sequence space, for full segments.
    wire: f64,
}

impl Bbr3 {
    fn new(control: &Control, start: Start) -> Self {
        let settings = Settings {
            startup_gain: control.number("startup_gain"),
            drain_gain: control.number("drain_gain"),
            down_gain: control.number("down_gain"),
            losses: control.number("loss_threshold"),
            beta: control.number("beta"),
            headroom: control.number("headroom"),
            pace: 1.0 - control.number("pacing_margin"),
            probe_rtt_time: control.time("probe_rtt_time"),
            linux: control.choice("rules") == "linux",
            unpaced: control.count("unpaced_segments").into(),
        };
        Self {
            settings,
            state: State::Startup,
            cwnd: start.window,
            initial_window: start.window,
            ssthresh: start.ssthresh,
            round: Round::default(),
            bandwidth: MaxBandwidth::default(),
            min_rtt: MinRtt::new(control.time("probe_rtt_interval")),
            full_pipe: FullPipe::default(),
            latest: Latest::default(),
            bounds: Bounds::default(),
            cycle: Cycle::default(),
            marks: control
                .flag("ecn")
                .then(|| Marks::new(control.time("ecn_max_rtt"))),
            losses: Episode {
                repair: Repair::None,
                prior_cwnd: 0,
                restores: false,
                in_round: false,
                in_cycle: false,
                events: 0,
                before: (State::Startup, Bounds::default()),
            },
            aggregation: Aggregation::default(),
            window_used: [false; 2],
            probe_rtt_round_done: false,
            idle_restart: false,
            pacing_rate: 0.0,
            has_seen_rtt: false,
            wire: 1.0,
        }
    }

    /// `BBR.bw` (`BBRBoundBWForModel`).
    fn rate(&self) -> f64 {
        self.bandwidth.max().min(self.bounds.rate)
    }

    /// Returns the pacing gain and the window gain of the state (5.6.1).
    fn gains(&self) -> (f64, f64) {
        match self.state {
            State::Startup => (self.settings.startup_gain, WINDOW_GAIN),
            State::Drain => (self.settings.drain_gain, WINDOW_GAIN),
            State::ProbeBw(Phase::Down) => (self.settings.down_gain, WINDOW_GAIN),
            State::ProbeBw(Phase::Cruise | Phase::Refill) => (1.0, WINDOW_GAIN),
            State::ProbeBw(Phase::Up) => (UP_GAIN, UP_WINDOW_GAIN),
            // Linux has a gain of 1 and the same bound of half a BDP.
            State::ProbeRtt(_) if self.settings.linux => (1.0, 1.0),
            State::ProbeRtt(_) => (1.0, PROBE_RTT_GAIN),
        }
    }

    /// `BBRBDPMultiple`: `gain` bandwidth-delay products at `rate`, in bytes.
    fn product(&self, rate: f64, gain: f64) -> f64 {
        match self.min_rtt.least {
            Some(min_rtt) => gain * rate * min_rtt.as_secs_f64(),
            None => self.initial_window as f64,
        }
    }

    /// `BBRQuantizationBudget`.
    fn quantized(&self, product: f64, mss: u64) -> u64 {
        let budget = product.max(QUANTA * self.send_quantum(mss));
        let window = (budget as u64).max(MIN_WINDOW * mss);
        if self.state == State::ProbeBw(Phase::Up) {
            window + 2 * mss
        } else {
            window
        }
    }

    /// `BBRInflight`: target of the bytes in flight at the greatest bandwidth.
    fn inflight(&self, mss: u64) -> u64 {
        self.quantized(self.product(self.bandwidth.max(), 1.0), mss)
    }

    /// `BBRTargetInflight`.
    fn target(&self, mss: u64) -> u64 {
        let product = self.product(self.rate(), 1.0);
        let target = if self.settings.linux {
            self.quantized(product, mss)
        } else {
            product as u64
        };
        target.min(self.cwnd)
    }

    /// `BBRProbeRTTCwnd` (5.6.4.5).
    fn probe_rtt_window(&self, mss: u64) -> u64 {
        let half = self.product(self.rate(), PROBE_RTT_GAIN) as u64;
        half.max(MIN_WINDOW * mss)
    }

    /// `BBRSetSendQuantum` (5.6.3). farlink sends segment by segment, so the quantum only adds
    /// headroom to cwnd.
    fn send_quantum(&self, mss: u64) -> f64 {
        let bytes = (self.pacing_rate * self.wire * 0.001).min(65_536.0);
        bytes.max(2.0 * mss as f64)
    }

    /// `BBRInitPacingRate` (5.6.2).
    fn init_pacing_rate(&mut self, cx: &Context<'_>) {
        let srtt = cx.rtt.srtt().filter(|t| !t.is_zero());
        self.has_seen_rtt = srtt.is_some();
        let rtt = srtt.unwrap_or(Interval::from_millis(1));
        let nominal = self.cwnd as f64 / rtt.as_secs_f64();
        let pace = if self.settings.linux {
            self.settings.pace
        } else {
            1.0
        };
        self.pacing_rate = self.settings.startup_gain * nominal * pace;
    }

    /// `BBRSetPacingRateWithGain` (5.6.2).
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.rate() * self.settings.pace;
        if rate > 0.0 && (self.full_pipe.reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// `BBRUpdateACKAggregation` (5.5.9), with two windows of five rounds as in Linux, and one round
    /// each before the pipe is full.
    fn update_aggregation(&mut self, cx: &Context<'_>, sample: &RateSample) {
        if sample.interval.is_none() {
            return;
        }
        let window = if self.full_pipe.reached {
            WINDOW_ROUNDS
        } else {
            1
        };
        let window = self.round.start.then_some(window);
        let (rate, bounds) = (self.rate(), (self.cwnd, cx.mss));
        self.aggregation
            .on_ack(cx.now, window, rate, sample.newly_delivered, bounds);
    }

    /// `BBRSetCwnd` (5.6.4.6).
    fn set_window(&mut self, cx: &Context<'_>, sample: &RateSample) {
        if matches!(self.losses.repair, Repair::Timeout(point) if cx.snd_una >= point) {
            self.losses.repair = Repair::None;
            self.losses.restores = true;
        }
        if std::mem::take(&mut self.losses.restores) {
            self.restore_window();
        }
        let rate = self.rate();
        let extra = if self.settings.linux {
            self.aggregation.allowance(rate)
        } else {
            self.aggregation.excess()
        };
        let (_, gain) = self.gains();
        let target = self.quantized(self.product(rate, gain) + extra as f64, cx.mss);
        let starts = if self.settings.linux {
            self.cwnd < 2 * self.initial_window
        } else {
            sample.delivered < self.initial_window
        };
        if self.full_pipe.reached {
            self.cwnd = target.min(self.cwnd + sample.newly_delivered);
        } else if self.cwnd < target || starts {
            self.cwnd += sample.newly_delivered;
        }
        self.cwnd = self.cwnd.max(MIN_WINDOW * cx.mss);
        if matches!(self.state, State::ProbeRtt(_)) {
            self.cwnd = self.cwnd.min(self.probe_rtt_window(cx.mss));
        }
        self.bound_window(cx.mss);
    }

    /// `BBRBoundCwndForModel` (5.6.4.7).
    fn bound_window(&mut self, mss: u64) {
        let least = MIN_WINDOW * mss;
        let long = match self.state {
            State::ProbeBw(Phase::Cruise) | State::ProbeRtt(_) => {
                let share = self.settings.headroom;
                self.bounds.with_headroom(share, mss, least)
            }
            State::ProbeBw(_) => self.bounds.long,
            State::Startup | State::Drain => UNBOUNDED,
        };
        self.cwnd = self.cwnd.min(long.min(self.bounds.short).max(least));
    }

    /// `BBRSaveCwnd` (5.6.4.4).
    fn save_window(&mut self) {
        // An ACK may end a recovery and begin another before cwnd is restored.
        let repairs = self.losses.repair != Repair::None || self.losses.restores;
        let small = repairs || matches!(self.state, State::ProbeRtt(_));
        let least = if small { self.losses.prior_cwnd } else { 0 };
        self.losses.prior_cwnd = self.cwnd.max(least);
    }

    /// `BBRRestoreCwnd`.
    fn restore_window(&mut self) {
        self.cwnd = self.cwnd.max(self.losses.prior_cwnd);
    }

    /// `BBRSaveStateUponLoss` (5.5.11.1).
    fn save_state(&mut self) {
        self.losses.before = (self.state, self.bounds);
    }

    /// Notes whether cwnd is in full use: no other full segment may leave.
    fn note_window_use(&mut self, cx: &Context<'_>, sample: &RateSample) {
        if self.round.start {
            self.window_used = [false, self.window_used[0]];
        }
        self.window_used[0] |= sample.prior_flight + cx.mss > self.cwnd;
    }

    /// `C.is_cwnd_limited`.
    fn is_window_limited(&self) -> bool {
        self.window_used[0] || self.window_used[1]
    }

    fn is_too_high(&self, evidence: &Evidence, selective: bool) -> bool {
        evidence.is_too_high(self.settings.losses, marks::THRESHOLD, selective)
    }
}

impl CongestionControl for Bbr3 {
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
        self.save_state();
        self.losses.repair = Repair::Recovery;
    }

    /// Does nothing: the response to marks is part of the model.
    fn on_congestion_mark(&mut self, _cx: &Context<'_>, _loss: &Loss) {}

    /// Ends recovery. The rate sample of the same ACK restores cwnd and bounds it by the model.
    fn on_recovered(&mut self, _cx: &Context<'_>, _window: u64) {
        self.losses.repair = Repair::None;
        self.losses.restores = true;
    }

    /// `BBROnEnterRTO`. Recovery then raises cwnd to the bytes in flight and one segment.
    fn on_timeout(&mut self, cx: &Context<'_>, _first: bool) {
        self.save_window();
        self.save_state();
        if self.settings.linux {
            self.full_pipe.reset(0.0);
            if !self.is_probing() {
                self.bounds.start_short(self.losses.prior_cwnd);
            }
        }
        self.losses.repair = Repair::Timeout(cx.snd_max);
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
        self.min_rtt.start(cx.now, cx.rtt.srtt());
        self.init_pacing_rate(cx);
    }
}

impl MarkCounting for Bbr3 {
    fn on_agreed(&mut self, feedback: Feedback) {
        if let Some(marks) = &mut self.marks {
            marks.agreed = feedback != Feedback::None;
        }
    }

    /// Does nothing, because rate samples count the marks.
    fn on_marks(&mut self, _cx: &Context<'_>, _report: &MarkReport) {}
}

impl UndoReduction for Bbr3 {
    /// `BBRHandleSpuriousLossDetection` (5.5.11.2). Linux restores no state.
    fn on_spurious(&mut self, cx: &Context<'_>, _undone: &Undone) {
        self.losses.repair = Repair::None;
        self.losses.in_round = false;
        self.full_pipe.reset(0.0);
        let (state, before) = self.losses.before;
        self.bounds.undo(&before);
        if !self.settings.linux && !matches!(self.state, State::ProbeRtt(_)) && self.state != state
        {
            match state {
                State::Startup => self.state = State::Startup,
                State::ProbeBw(Phase::Up) => self.start_up(cx, self.latest.rate),
                _ => {}
            }
        }
        self.restore_window();
    }
}

impl LossSampled for Bbr3 {
    /// `BBRHandleLostPacket` (5.5.10.2).
    fn on_segments_lost(&mut self, cx: &Context<'_>, segments: &[LostSegment], delivered: u64) {
        for segment in segments {
            if !self.losses.in_round {
                self.latest.round_delivered = delivered;
            }
            self.losses.in_round = true;
            self.losses.in_cycle = true;
            let evidence = Evidence::of_loss(segment);
            if self.cycle.samples && self.is_too_high(&evidence, true) {
                let at = bounds::inflight_at_loss(segment, self.settings.losses);
                self.on_inflight_too_high(cx, at, segment.app_limited);
            }
        }
    }
}

impl RateSampled for Bbr3 {
    /// `BBRUpdateOnACK` (5.2.3).
    fn on_rate_sample(&mut self, cx: &Context<'_>, sample: &RateSample) {
        self.round.update(sample);
        self.note_window_use(cx, sample);
        self.update_marks(cx, sample);
        self.latest.update(sample);
        self.update_signals(sample);
        self.update_aggregation(cx, sample);
        self.check_startup_losses(cx, sample);
        if let Some(rate) = sample.rate().filter(|_| !sample.app_limited) {
            let early = self.settings.linux;
            self.full_pipe.check(rate, self.round.start, early);
        }
        self.check_drain(cx, sample);
        self.update_cycle(cx, sample);
        self.min_rtt.update(cx.now, sample.rtt);
        self.check_probe_rtt(cx, sample);
        if !self.has_seen_rtt && cx.rtt.srtt().is_some() {
            self.init_pacing_rate(cx);
        }
        let (gain, _) = self.gains();
        self.set_pacing_rate(gain);
        self.set_window(cx, sample);
        self.latest.advance(sample);
    }

    fn limits_itself(&self) -> bool {
        matches!(self.state, State::ProbeRtt(_))
    }

    /// `BBRHandleRestartFromIdle` (5.4.1).
    fn on_transmit_start(&mut self, cx: &Context<'_>) {
        self.idle_restart = true;
        self.aggregation.restart(cx.now);
        match self.state {
            State::ProbeBw(_) => self.set_pacing_rate(1.0),
            State::ProbeRtt(Some(end)) if cx.now > end => self.leave_probe_rtt(cx),
            _ => {}
        }
    }
}

impl Resumable for Bbr3 {
    fn may_jump(&self) -> bool {
        self.state == State::Startup
    }

    /// Bounds the window that the end of recovery restores. The model has no threshold.
    fn limit(&mut self, ssthresh: u64, _grows: bool) {
        self.losses.prior_cwnd = self.losses.prior_cwnd.min(ssthresh);
    }
}

#[cfg(test)]
mod tests;
