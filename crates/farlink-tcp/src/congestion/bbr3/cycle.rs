//! Phases of `ProbeBW`, and the time between two probes (5.3.3).

use super::bounds::UNBOUNDED;
use crate::time::{Instant, Interval};

/// Greatest number of rounds between two probes, so that Reno and CUBIC get a fair share of paths with
/// up to this many segments (5.3.3.5.2).
const MOST_ROUNDS: u64 = 63;
/// Least time between two probes, and the greatest random addition (5.3.3.5.3).
const LEAST_WAIT: Interval = Interval::from_secs(2);
const RANDOM_WAIT_NS: u64 = 1_000_000_000;
/// Greatest exponent of the growth of the long-term bound.
const MOST_DOUBLINGS: u32 = 30;

/// Phase of `ProbeBW`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Down,
    Cruise,
    Refill,
    Up,
}

/// Position of the ACKs that report a probe.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of the probing.
#[derive(Debug)]
pub(super) struct Cycle {
    /// `BBR.cycle_stamp`.
    pub(super) since: Instant,
    /// `BBR.bw_probe_wait`.
    wait: Interval,
    /// `BBR.rounds_since_bw_probe`.
    pub(super) rounds: u64,
    pub(super) acks: AckPhase,
    /// `BBR.bw_probe_samples`: samples reflect a probe that no response followed yet.
    pub(super) samples: bool,
    /// `BBR.bw_probe_up_rounds`, `BBR.bw_probe_up_acks` (bytes), `BBR.probe_up_cnt` (segments).
    doublings: u32,
    acked: u64,
    segments_per_increase: u64,
    /// `stopped_risky_probe` and `prev_probe_too_high` of Linux.
    pub(super) stopped_at_bound: bool,
    pub(super) was_too_high: bool,
}

impl Default for Cycle {
    fn default() -> Self {
        Self {
            since: Instant::ZERO,
            wait: Interval::ZERO,
            rounds: 0,
            acks: AckPhase::Init,
            samples: false,
            doublings: 0,
            acked: 0,
            segments_per_increase: UNBOUNDED,
            stopped_at_bound: false,
            was_too_high: false,
        }
    }
}

impl Cycle {
    /// Enters `ProbeBW_DOWN` with a random wait (`BBRPickProbeWait`) made of `random`.
    pub(super) fn start_down(&mut self, now: Instant, random: u64) {
        self.segments_per_increase = UNBOUNDED;
        self.rounds = random & 1;
        self.wait = LEAST_WAIT + Interval::from_nanos((random >> 1) % RANDOM_WAIT_NS);
        self.since = now;
        self.acks = AckPhase::ProbeStopping;
    }

    /// Enters `ProbeBW_REFILL`. The first round of the probe increases the bound by `2^doublings`
    /// segments.
    pub(super) fn start_refill(&mut self, doublings: u32) {
        self.doublings = doublings;
        self.acked = 0;
        self.stopped_at_bound = false;
        self.acks = AckPhase::Refilling;
    }

    /// Enters `ProbeBW_UP`.
    pub(super) fn start_up(&mut self, now: Instant, window_segments: u64) {
        self.acks = AckPhase::ProbeStarting;
        self.since = now;
        self.raise_slope(window_segments);
    }

    /// Returns whether it is time to probe (`BBRIsTimeToProbeBW`). `target` is `BBRTargetInflight` in
    /// segments.
    pub(super) fn is_due(&self, now: Instant, target: u64) -> bool {
        now > self.since + self.wait || self.rounds >= target.min(MOST_ROUNDS)
    }

    /// `BBRRaiseInflightLongtermSlope`.
    fn raise_slope(&mut self, window_segments: u64) {
        let growth = 1_u64 << self.doublings;
        self.doublings = (self.doublings + 1).min(MOST_DOUBLINGS);
        self.segments_per_increase = (window_segments / growth).max(1);
    }

    /// `BBRProbeInflightLongtermUpward`: returns the segments to add to the long-term bound.
    pub(super) fn on_probe_ack(
        &mut self,
        acked: u64,
        round_start: bool,
        (window_segments, mss): (u64, u64),
    ) -> u64 {
        self.acked += acked;
        let each = self.segments_per_increase.saturating_mul(mss);
        let increase = self.acked / each;
        self.acked -= increase * each;
        if round_start {
            self.raise_slope(window_segments);
        }
        increase
    }
}
