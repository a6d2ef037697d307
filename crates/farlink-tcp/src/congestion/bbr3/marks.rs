//! Response to ECN marks, as Google's Linux has it (`tcp_bbr.c`: `bbr_update_ecn_alpha`). The draft has
//! none.

use crate::congestion::RateSample;
use crate::time::Interval;

/// `bbr_ecn_alpha_gain`: weight of the share of marks of a round.
const GAIN: f64 = 1.0 / 16.0;
/// `bbr_ecn_factor`: greatest reduction of the short-term bound by marks.
const FACTOR: f64 = 1.0 / 3.0;
/// `bbr_ecn_thresh`: share of marks above which too much is in flight.
pub(super) const THRESHOLD: f64 = 0.5;
/// `bbr_full_ecn_cnt`: rounds above the threshold that end Startup.
const FULL_ROUNDS: u32 = 2;

/// Share of marked data, and whether it counts.
#[derive(Debug)]
pub(super) struct Marks {
    /// `bbr_ecn_max_rtt_us`: least RTT up to which marks count; none if always.
    most_rtt: Option<Interval>,
    /// Both ends use ECN.
    pub(super) agreed: bool,
    /// `ecn_eligible`.
    pub(super) counts: bool,
    /// `ecn_alpha`.
    pub(super) alpha: f64,
    delivered: u64,
    marked: u64,
    rounds_above: u32,
    pub(super) in_round: bool,
    /// Marks came in the round before.
    pub(super) in_last_round: bool,
    pub(super) in_cycle: bool,
}

impl Marks {
    pub(super) fn new(most_rtt: Interval) -> Self {
        Self {
            most_rtt: (!most_rtt.is_zero()).then_some(most_rtt),
            agreed: false,
            counts: false,
            alpha: 1.0,
            delivered: 0,
            marked: 0,
            rounds_above: 0,
            in_round: false,
            in_last_round: false,
            in_cycle: false,
        }
    }

    /// Updates alpha at the start of a round. Returns whether marks end Startup.
    pub(super) fn on_round(&mut self, sample: &RateSample, min_rtt: Option<Interval>) -> bool {
        let near = match (self.most_rtt, min_rtt) {
            (Some(most), Some(rtt)) => rtt <= most,
            (Some(_), None) => false,
            (None, _) => true,
        };
        self.counts |= self.agreed && near;
        let delivered = sample.delivered - self.delivered;
        if !self.counts || delivered == 0 {
            return false;
        }
        let share = (sample.delivered_ce - self.marked) as f64 / delivered as f64;
        self.alpha = ((1.0 - GAIN) * self.alpha + GAIN * share).min(1.0);
        self.delivered = sample.delivered;
        self.marked = sample.delivered_ce;
        self.rounds_above = if share >= THRESHOLD {
            self.rounds_above + 1
        } else {
            0
        };
        self.rounds_above >= FULL_ROUNDS
    }

    /// Notes the marks of an ACK.
    pub(super) fn on_ack(&mut self, sample: &RateSample) {
        self.in_round |= self.counts && sample.newly_marked > 0;
    }

    /// Returns the share of the short-term bound that marks leave (`bbr_ecn_cut`).
    pub(super) fn kept(&self) -> f64 {
        1.0 - self.alpha * FACTOR
    }
}
