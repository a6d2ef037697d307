//! Path model: rounds, bandwidth, least RTT, full pipe (4.1, 4.3.2.2).

use crate::congestion::RateSample;
use crate::time::{Instant, Interval};
use std::collections::VecDeque;

/// Growth factor of the bandwidth in a Startup round. `FULL_ROUNDS` successive rounds below the
/// factor show a full pipe (4.3.2.2).
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;

/// Counter of round trips (4.1.1.3).
#[derive(Debug, Default)]
pub(super) struct Round {
    pub(super) count: u64,
    /// Set if the current sample starts a round.
    pub(super) start: bool,
    next_delivered: u64,
    pub(super) delivered: u64,
}

impl Round {
    /// `BBRUpdateRound`, for a sample with a valid rate.
    pub(super) fn update(&mut self, sample: &RateSample) {
        self.start = sample.prior_delivered >= self.next_delivered;
        if self.start {
            self.next_delivered = sample.delivered;
            self.count += 1;
        }
    }

    /// Lets the next round start with the data sent from now on.
    pub(super) fn restart(&mut self) {
        self.next_delivered = self.delivered;
    }
}

/// Maximum filter of the bandwidth.
#[derive(Debug)]
pub(super) struct BandwidthFilter {
    /// Number of rounds for which a sample is kept.
    rounds: u64,
    /// Round and rate of each sample. Both values decrease from back to front.
    pub(super) samples: VecDeque<(u64, f64)>,
}

impl BandwidthFilter {
    pub(super) fn new(rounds: u64) -> Self {
        Self {
            rounds,
            samples: VecDeque::new(),
        }
    }

    /// `BBR.BtlBw`.
    pub(super) fn max(&self) -> f64 {
        self.samples.front().map_or(0.0, |&(_, rate)| rate)
    }

    /// `BBRUpdateBtlBw`.
    pub(super) fn push(&mut self, round: u64, rate: f64, app_limited: bool) {
        if rate < self.max() && app_limited {
            return;
        }
        while self.samples.back().is_some_and(|&(_, old)| old <= rate) {
            self.samples.pop_back();
        }
        self.samples.push_back((round, rate));
        while let Some(&(oldest, _)) = self.samples.front()
            && round - oldest > self.rounds
        {
            self.samples.pop_front();
        }
    }
}

/// Filter of the least RTT, `RTprop`.
#[derive(Debug)]
pub(super) struct MinRtt {
    window: Interval,
    equal_counts: bool,
    pub(super) least: Option<Interval>,
    pub(super) at: Instant,
    pub(super) expired: bool,
}

impl MinRtt {
    /// Builds a minimum filter over `window`. With `equal_counts` a sample equal to the minimum
    /// renews it.
    pub(super) fn new(window: Interval, equal_counts: bool) -> Self {
        Self {
            window,
            equal_counts,
            least: None,
            at: Instant::ZERO,
            expired: false,
        }
    }

    /// `BBRUpdateRTprop` (4.1.2.3).
    pub(super) fn update(&mut self, now: Instant, sample: Option<Interval>) {
        self.expired = now > self.at + self.window;
        let renews = |rtt: Interval| match self.least {
            Some(least) => rtt < least || (self.equal_counts && rtt == least),
            None => true,
        };
        if let Some(rtt) = sample
            && (self.expired || renews(rtt))
        {
            self.least = Some(rtt);
            self.at = now;
        }
    }
}

/// Detector of a full pipe in Startup.
#[derive(Debug, Default)]
pub(super) struct FullPipe {
    bandwidth: f64,
    pub(super) count: u32,
    pub(super) filled: bool,
}

impl FullPipe {
    /// `BBRCheckFullPipe` (4.3.2.2), at the start of a round.
    pub(super) fn check(&mut self, bandwidth: f64) {
        if bandwidth >= self.bandwidth * FULL_GROWTH {
            self.bandwidth = bandwidth;
            self.count = 0;
            return;
        }
        self.count += 1;
        self.filled = self.count >= FULL_ROUNDS;
    }

    /// Resets the reference bandwidth, so that growth is measured anew.
    pub(super) fn reset_growth(&mut self) {
        self.bandwidth = 0.0;
    }

    /// Starts the detection anew.
    pub(super) fn restart(&mut self) {
        self.bandwidth = 0.0;
        self.count = 0;
    }
}
