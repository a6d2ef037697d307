//! Round trips of Prague: the share of marked data in each, and the virtual round trip.

use crate::congestion::{Context, MarkReport};
use crate::seq::Offset;
use crate::time::{Instant, Interval};

/// Weight of a new share in alpha (draft, 2.4.2: 1/16).
const GAIN: f64 = 1.0 / 16.0;

/// Counts of the current round trip, and the estimate alpha.
#[derive(Debug)]
pub(super) struct Rounds {
    alpha: f64,
    /// Set once a mark was reported; alpha stays at 1 until then.
    marked_once: bool,
    /// SND.NXT when the round began.
    end: Offset,
    delivered: u64,
    marked: u64,
    /// Rounds since slow start ended.
    count: u32,
    /// Time of the last update of alpha, and of the last reduction.
    updated: Instant,
    reduced: Option<Instant>,
    rtt_virtual: Interval,
    transition: u32,
}

impl Rounds {
    pub(super) fn new(rtt_virtual: Interval, transition: u32) -> Self {
        Self {
            alpha: 1.0,
            marked_once: false,
            end: 0,
            delivered: 0,
            marked: 0,
            count: 0,
            updated: Instant::ZERO,
            reduced: None,
            rtt_virtual,
            transition,
        }
    }

    /// Estimated share of marked data.
    pub(super) fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Counts an ACK. The round ends if the ACK covers all data of the round and, with a virtual
    /// round trip, this time has passed too (Linux: `prague_should_update_ewma`).
    pub(super) fn on_ack(&mut self, cx: &Context<'_>, report: &MarkReport, slow_start: bool) {
        self.delivered += report.delivered;
        self.marked += report.marked;
        self.marked_once |= report.marked > 0;
        let waits = self.is_independent() && cx.now < self.updated + self.rtt_virtual;
        if cx.snd_una < self.end || waits {
            return;
        }
        if self.marked_once {
            let share = (self.marked as f64 / self.delivered.max(1) as f64).min(1.0);
            self.alpha += GAIN * (share - self.alpha);
            self.updated = cx.now;
        }
        (self.delivered, self.marked) = (0, 0);
        self.end = cx.snd_max;
        if !slow_start {
            self.count = self.count.saturating_add(1);
        }
    }

    /// Returns whether the virtual round trip applies.
    fn is_independent(&self) -> bool {
        !self.rtt_virtual.is_zero() && self.count >= self.transition
    }

    /// Returns the factor of the growth per window. A round trip below the virtual one has (RTT /
    /// virtual RTT)^2, which gives the rate of a flow with the virtual round trip (Linux:
    /// `prague_rate_scaled_ai_ack_increase`).
    pub(super) fn growth(&self, cx: &Context<'_>) -> f64 {
        let Some(srtt) = cx.rtt.srtt().filter(|_| self.is_independent()) else {
            return 1.0;
        };
        if srtt.is_zero() || srtt >= self.rtt_virtual {
            return 1.0;
        }
        let ratio = srtt.as_nanos() as f64 / self.rtt_virtual.as_nanos() as f64;
        ratio * ratio
    }

    /// Returns whether a mark may reduce cwnd now, and notes the reduction.
    pub(super) fn may_reduce(&mut self, cx: &Context<'_>) -> bool {
        let recent = self
            .reduced
            .is_some_and(|at| cx.now < at + self.rtt_virtual);
        if self.is_independent() && recent {
            return false;
        }
        self.reduced = Some(cx.now);
        true
    }
}
