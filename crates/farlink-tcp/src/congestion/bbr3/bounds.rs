//! Long- and short-term bounds of the bytes in flight and of the bandwidth (5.5.10).

use super::path::Latest;
use crate::congestion::{LostSegment, RateSample};

/// Value of a bound in bytes that is not set.
pub(super) const UNBOUNDED: u64 = u64::MAX;

/// Bounds that losses and marks set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// `BBR.bw_shortterm` in bytes per second; infinite if not set.
    pub(super) rate: f64,
    /// `BBR.inflight_shortterm` in bytes.
    pub(super) short: u64,
    /// `BBR.inflight_longterm` in bytes.
    pub(super) long: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            rate: f64::INFINITY,
            short: UNBOUNDED,
            long: UNBOUNDED,
        }
    }
}

impl Bounds {
    /// `BBRResetShortTermModel`.
    pub(super) fn reset_short_term(&mut self) {
        self.rate = f64::INFINITY;
        self.short = UNBOUNDED;
    }

    /// `BBRInitLowerBounds` for the bytes in flight.
    pub(super) fn start_short(&mut self, cwnd: u64) {
        if self.short == UNBOUNDED {
            self.short = cwnd;
        }
    }

    /// `BBRInitLowerBounds` and `BBRLossLowerBounds`, once per round trip with a loss.
    pub(super) fn on_loss_round(&mut self, latest: &Latest, beta: f64, max_rate: f64, cwnd: u64) {
        self.start_short(cwnd);
        if self.rate.is_infinite() {
            self.rate = max_rate;
        }
        self.rate = latest.rate.max(beta * self.rate);
        self.short = latest.volume.max((beta * self.short as f64) as u64);
    }

    /// Returns the long-term bound less the headroom for other flows (`BBRInflightWithHeadroom`).
    pub(super) fn with_headroom(&self, share: f64, mss: u64, least: u64) -> u64 {
        if self.long == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = ((share * self.long as f64) as u64).max(mss);
        self.long.saturating_sub(headroom).max(least)
    }

    /// Restores the greater of both values of each bound, after a spurious loss.
    pub(super) fn undo(&mut self, before: &Self) {
        self.rate = self.rate.max(before.rate);
        self.short = self.short.max(before.short);
        self.long = self.long.max(before.long);
    }
}

/// Losses and marks that tell whether too much was in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// Bytes lost since the segment was sent.
    pub(super) lost: u64,
    /// Bytes in flight when the segment was sent.
    pub(super) tx_in_flight: u64,
    /// Bytes delivered, and those of them that were marked, since the segment was sent.
    pub(super) delivered: u64,
    pub(super) marked: u64,
}

impl Evidence {
    pub(super) fn of_sample(sample: &RateSample, counts_marks: bool) -> Self {
        let marked = sample.delivered_ce - sample.prior_delivered_ce;
        Self {
            lost: sample.lost_since,
            tx_in_flight: sample.tx_in_flight,
            delivered: sample.delivered - sample.prior_delivered,
            marked: if counts_marks { marked } else { 0 },
        }
    }

    pub(super) fn of_loss(segment: &LostSegment) -> Self {
        Self {
            lost: segment.lost_since,
            tx_in_flight: segment.tx_in_flight,
            delivered: 0,
            marked: 0,
        }
    }

    /// `IsInflightTooHigh`. Without SACK (`selective` is false) one loss is enough.
    pub(super) fn is_too_high(&self, losses: f64, marks: f64, selective: bool) -> bool {
        let by_loss =
            self.lost > 0 && (!selective || self.lost as f64 > losses * self.tx_in_flight as f64);
        let by_marks = self.marked > 0 && self.marked as f64 > marks * self.delivered as f64;
        by_loss || by_marks
    }
}

/// `BBRInflightAtLoss`: bytes in flight at which the share of losses exceeded `threshold`, within the
/// lost segment.
pub(super) fn inflight_at_loss(segment: &LostSegment, threshold: f64) -> u64 {
    let before = segment.tx_in_flight.saturating_sub(segment.len) as f64;
    let lost_before = segment.lost_since.saturating_sub(segment.len) as f64;
    let prefix = (threshold * before - lost_before) / (1.0 - threshold);
    (before + prefix.max(0.0)) as u64
}
