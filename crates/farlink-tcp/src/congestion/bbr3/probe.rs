//! State machine: Startup, Drain, the phases of `ProbeBW`, and `ProbeRTT` (5.3).

use super::bounds::{Evidence, UNBOUNDED};
use super::cycle::{AckPhase, Phase};
use super::{Bbr3, Context, FULL_LOSSES, MIN_WINDOW, RateSample, Repair, State};
use crate::congestion::mix::mix;

impl Bbr3 {
    /// `BBRIsProbingBW`.
    pub(super) fn is_probing(&self) -> bool {
        matches!(
            self.state,
            State::Startup | State::ProbeBw(Phase::Refill | Phase::Up)
        )
    }

    /// Updates the share of marks, once per round. Marks end Startup in Google's Linux.
    pub(super) fn update_marks(&mut self, cx: &Context<'_>, sample: &RateSample) {
        let start = self.round.start;
        if start {
            self.cycle.rounds += 1;
        }
        let least = self.min_rtt.least;
        let Some(marks) = &mut self.marks else { return };
        let full = start && marks.on_round(sample, least);
        marks.on_ack(sample);
        if full && !self.full_pipe.reached {
            self.fill_pipe(cx.mss);
        }
    }

    /// `BBRUpdateCongestionSignals` (5.5.10.3).
    pub(super) fn update_signals(&mut self, sample: &RateSample) {
        let Some(rate) = sample.rate() else { return };
        self.bandwidth.push(rate, sample.app_limited);
        self.losses.in_round |= sample.newly_lost > 0;
        if let Some(marks) = &mut self.marks {
            marks.in_cycle |= marks.in_round;
        }
        self.losses.in_cycle |= self.losses.in_round;
        if !self.latest.round_start {
            return;
        }
        if !self.is_probing() {
            self.adapt_short_term();
        }
        self.losses.in_round = false;
        if let Some(marks) = &mut self.marks {
            marks.in_last_round = std::mem::take(&mut marks.in_round);
        }
    }

    /// `BBRAdaptLowerBoundsFromCongestion`. Marks reduce the bytes in flight alone, as in Linux
    /// (`bbr_ecn_lower_bounds`).
    fn adapt_short_term(&mut self) {
        let mut by_marks = UNBOUNDED;
        if let Some(marks) = self.marks.as_ref().filter(|marks| marks.in_round) {
            self.bounds.start_short(self.cwnd);
            by_marks = (self.bounds.short as f64 * marks.kept()) as u64;
        }
        if self.losses.in_round {
            let (beta, most) = (self.settings.beta, self.bandwidth.max());
            self.bounds
                .on_loss_round(&self.latest, beta, most, self.cwnd);
        }
        self.bounds.short = self.bounds.short.min(by_marks);
    }

    /// `BBRCheckStartupHighLoss` (5.3.1.3). Discontiguous losses are counted as ACKs that detect
    /// losses, as in Linux.
    pub(super) fn check_startup_losses(&mut self, cx: &Context<'_>, sample: &RateSample) {
        if self.full_pipe.reached {
            return;
        }
        if sample.newly_lost > 0 {
            self.losses.events = self.losses.events.saturating_add(1);
        }
        let recovers = self.losses.repair == Repair::Recovery;
        if !sample.selective {
            if recovers && sample.newly_lost > 0 {
                self.fill_pipe(cx.mss);
            }
            return;
        }
        if !self.latest.round_start {
            return;
        }
        let evidence = Evidence::of_sample(sample, self.counts_marks());
        if recovers && self.losses.events >= FULL_LOSSES && self.is_too_high(&evidence, true) {
            self.fill_pipe(cx.mss);
        }
        self.losses.events = 0;
    }

    /// Ends Startup because of losses or marks, with a bound on the bytes in flight.
    fn fill_pipe(&mut self, mss: u64) {
        self.full_pipe.reached = true;
        self.bounds.long = self.inflight(mss).max(self.latest.volume);
    }

    /// `BBRCheckStartupDone` and `BBRCheckDrainDone` (5.3.2).
    pub(super) fn check_drain(&mut self, cx: &Context<'_>, sample: &RateSample) {
        if self.state == State::Startup && self.full_pipe.reached {
            self.state = State::Drain;
            self.ssthresh = self.inflight(cx.mss); // informational, as in Linux
            if self.settings.linux {
                self.reset_signals();
            }
        }
        if self.state == State::Drain && sample.flight <= self.inflight(cx.mss) {
            self.start_down(cx);
        }
    }

    /// `BBRResetCongestionSignals`.
    fn reset_signals(&mut self) {
        self.losses.in_round = false;
        self.losses.in_cycle = false;
        self.latest.rate = 0.0;
        self.latest.volume = 0;
        if let Some(marks) = &mut self.marks {
            marks.in_round = false;
            marks.in_cycle = false;
        }
    }

    /// `BBRUpdateProbeBWCyclePhase` (5.3.3.6).
    pub(super) fn update_cycle(&mut self, cx: &Context<'_>, sample: &RateSample) {
        if !self.full_pipe.reached || self.adapt_long_term(cx, sample) {
            return;
        }
        let State::ProbeBw(phase) = self.state else {
            return;
        };
        match phase {
            Phase::Down => {
                if !self.probe_if_due(cx) && self.may_cruise(cx, sample) {
                    self.start_cruise();
                }
            }
            Phase::Cruise => {
                self.probe_if_due(cx);
            }
            Phase::Refill => {
                if self.round.start {
                    self.cycle.samples = true;
                    self.start_up(cx, sample.rate().unwrap_or(0.0));
                }
            }
            Phase::Up => {
                if self.probe_is_done(sample) {
                    self.cycle.was_too_high = false;
                    self.start_down(cx);
                }
            }
        }
    }

    /// `BBRAdaptLongTermModel`. Returns whether it chose the next state.
    fn adapt_long_term(&mut self, cx: &Context<'_>, sample: &RateSample) -> bool {
        let probing = matches!(self.state, State::ProbeBw(_));
        if self.round.start && self.cycle.acks == AckPhase::ProbeStarting {
            self.cycle.acks = AckPhase::ProbeFeedback;
        }
        if self.round.start && self.cycle.acks == AckPhase::ProbeStopping {
            self.cycle.samples = false;
            self.cycle.acks = AckPhase::Init;
            if probing && !sample.app_limited {
                self.bandwidth.advance();
            }
            // Linux probes again at once if the bound stopped a probe without losses.
            if probing && self.cycle.stopped_at_bound && !self.cycle.was_too_high {
                self.start_refill(0);
                return true;
            }
        }
        let evidence = Evidence::of_sample(sample, self.counts_marks());
        if self.is_too_high(&evidence, sample.selective) {
            if self.cycle.samples && (self.settings.linux || !sample.selective) {
                self.on_inflight_too_high(cx, sample.tx_in_flight, sample.app_limited);
            }
            return false;
        }
        if self.bounds.long == UNBOUNDED {
            return false;
        }
        self.bounds.long = self.bounds.long.max(sample.tx_in_flight);
        let full = self.is_window_limited() && self.cwnd >= self.bounds.long;
        if self.state == State::ProbeBw(Phase::Up) && full {
            let window = (self.cwnd / cx.mss, cx.mss);
            let start = self.round.start;
            let more = self
                .cycle
                .on_probe_ack(sample.newly_delivered, start, window);
            self.bounds.long += more * cx.mss;
        }
        false
    }

    fn counts_marks(&self) -> bool {
        self.marks.as_ref().is_some_and(|marks| marks.counts)
    }

    /// `BBRHandleInflightTooHigh`, once per probe.
    pub(super) fn on_inflight_too_high(
        &mut self,
        cx: &Context<'_>,
        in_flight: u64,
        app_limited: bool,
    ) {
        self.cycle.was_too_high = true;
        self.cycle.samples = false;
        if !app_limited {
            let kept = (self.settings.beta * self.target(cx.mss) as f64) as u64;
            self.bounds.long = in_flight.max(kept);
        }
        if self.state == State::ProbeBw(Phase::Up) {
            self.start_down(cx);
        }
    }

    /// `BBRIsTimeToGoDown`. Linux also stops at the bound that the previous probe found.
    fn probe_is_done(&mut self, sample: &RateSample) -> bool {
        let at_bound = sample.prior_flight >= self.bounds.long;
        if self.settings.linux && self.cycle.was_too_high && at_bound {
            self.cycle.stopped_at_bound = true;
            return true;
        }
        if self.is_window_limited() && self.cwnd >= self.bounds.long {
            self.full_pipe.reset(sample.rate().unwrap_or(0.0));
            return false;
        }
        self.full_pipe.now
    }

    /// Starts a probe if it is time. Google's Linux probes at once when marks cease in a cycle without
    /// losses (`bbr_ecn_reprobe_gain`).
    fn probe_if_due(&mut self, cx: &Context<'_>) -> bool {
        let marked = self
            .marks
            .as_ref()
            .is_some_and(|marks| marks.in_cycle && !marks.in_round && !marks.in_last_round);
        if marked && !self.losses.in_cycle && self.losses.repair == Repair::None {
            let half = (self.bounds.long.min(self.cwnd) / 2 / cx.mss).max(1);
            self.start_refill(half.ilog2());
            return true;
        }
        let due = self
            .cycle
            .is_due(cx.now, self.target(cx.mss) / cx.mss.max(1));
        if due {
            self.start_refill(0);
        }
        due
    }

    /// `BBRIsTimeToCruise`.
    fn may_cruise(&self, cx: &Context<'_>, sample: &RateSample) -> bool {
        let in_flight = if self.settings.linux {
            sample.prior_flight
        } else {
            sample.flight
        };
        let least = MIN_WINDOW * cx.mss;
        let bound = self
            .bounds
            .with_headroom(self.settings.headroom, cx.mss, least);
        in_flight <= bound && in_flight <= self.inflight(cx.mss)
    }

    /// `BBRStartProbeBW_DOWN`.
    pub(super) fn start_down(&mut self, cx: &Context<'_>) {
        self.reset_signals();
        let random = mix(cx.now.as_nanos() ^ cx.snd_max.rotate_left(32));
        self.cycle.start_down(cx.now, random);
        self.round.restart();
        self.state = State::ProbeBw(Phase::Down);
    }

    /// `BBRStartProbeBW_CRUISE`. Linux bounds the short-term bound by the long-term bound.
    fn start_cruise(&mut self) {
        if self.settings.linux && self.bounds.short != UNBOUNDED {
            self.bounds.short = self.bounds.short.min(self.bounds.long);
        }
        self.state = State::ProbeBw(Phase::Cruise);
    }

    /// `BBRStartProbeBW_REFILL`.
    fn start_refill(&mut self, doublings: u32) {
        self.bounds.reset_short_term();
        self.cycle.start_refill(doublings);
        self.round.restart();
        self.state = State::ProbeBw(Phase::Refill);
    }

    /// `BBRStartProbeBW_UP`, with `rate` as the baseline of the plateau.
    pub(super) fn start_up(&mut self, cx: &Context<'_>, rate: f64) {
        self.cycle.start_up(cx.now, self.cwnd / cx.mss.max(1));
        self.round.restart();
        self.full_pipe.reset(rate);
        self.state = State::ProbeBw(Phase::Up);
    }

    /// `BBRCheckProbeRTT` and `BBRHandleProbeRTT` (5.3.4.3).
    pub(super) fn check_probe_rtt(&mut self, cx: &Context<'_>, sample: &RateSample) {
        let probing = matches!(self.state, State::ProbeRtt(_));
        if !probing && self.min_rtt.expired && !self.idle_restart {
            self.save_window();
            self.state = State::ProbeRtt(None);
            self.cycle.acks = AckPhase::ProbeStopping;
            self.round.restart();
        }
        self.idle_restart = false;
        let State::ProbeRtt(end) = self.state else {
            return;
        };
        match end {
            None if sample.flight <= self.probe_rtt_window(cx.mss) => {
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

    /// `BBRCheckProbeRTTDone` and `BBRExitProbeRTT` (5.3.4.4).
    pub(super) fn leave_probe_rtt(&mut self, cx: &Context<'_>) {
        self.min_rtt.probe_at = cx.now;
        self.restore_window();
        self.bounds.reset_short_term();
        if self.full_pipe.reached {
            self.start_down(cx);
            self.start_cruise();
        } else {
            self.state = State::Startup;
        }
    }
}
