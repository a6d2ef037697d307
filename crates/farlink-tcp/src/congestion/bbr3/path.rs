//! Path model: rounds, greatest bandwidth, least RTT, full pipe, and the latest round (5.5).

use crate::congestion::RateSample;
use crate::time::{Instant, Interval};

/// Growth factor of the bandwidth in a round. `FULL_ROUNDS` rounds below the factor show a full pipe
/// (5.3.1.2).
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// `MinRTTFilterLen`: time after which a higher RTT replaces the least RTT (5.5.7.2).
pub(super) const MIN_RTT_WINDOW: Interval = Interval::from_secs(10);

/// Counter of packet-timed round trips (5.5.1).
#[derive(Debug, Default)]
pub(super) struct Round {
    /// Set if the current sample starts a round.
    pub(super) start: bool,
    next_delivered: u64,
    pub(super) delivered: u64,
}

impl Round {
    /// `BBRUpdateRound`. A sample without a valid rate starts no round, as in Linux.
    pub(super) fn update(&mut self, sample: &RateSample) {
        self.delivered = sample.delivered;
        self.start = sample.interval.is_some() && sample.prior_delivered >= self.next_delivered;
        if self.start {
            self.next_delivered = sample.delivered;
        }
    }

    /// `BBRStartRound`: the next round starts with the data sent from now on.
    pub(super) fn restart(&mut self) {
        self.next_delivered = self.delivered;
    }
}

/// Greatest bandwidth of the previous and the current `ProbeBW` cycle in bytes per second (5.5.5).
#[derive(Debug, Default)]
pub(super) struct MaxBandwidth([f64; 2]);

impl MaxBandwidth {
    /// `BBR.max_bw`.
    pub(super) fn max(&self) -> f64 {
        self.0[0].max(self.0[1])
    }

    /// `BBRUpdateMaxBw`.
    pub(super) fn push(&mut self, rate: f64, app_limited: bool) {
        if rate >= self.max() || !app_limited {
            self.0[1] = self.0[1].max(rate);
        }
    }

    /// `BBRAdvanceMaxBwFilter`. A cycle without a sample keeps the cycle before, as in Linux.
    pub(super) fn advance(&mut self) {
        if self.0[1] > 0.0 {
            self.0 = [self.0[1], 0.0];
        }
    }
}

/// Least RTT, and the least RTT since the last `ProbeRTT` (5.3.4.3).
#[derive(Debug)]
pub(super) struct MinRtt {
    /// `ProbeRTTInterval`.
    interval: Interval,
    pub(super) least: Option<Interval>,
    pub(super) at: Instant,
    /// `BBR.probe_rtt_min_delay` and its time.
    probe: Option<Interval>,
    pub(super) probe_at: Instant,
    /// `BBR.probe_rtt_expired`.
    pub(super) expired: bool,
}

impl MinRtt {
    pub(super) fn new(interval: Interval) -> Self {
        Self {
            interval,
            least: None,
            at: Instant::ZERO,
            probe: None,
            probe_at: Instant::ZERO,
            expired: false,
        }
    }

    /// Starts with the RTT of the handshake.
    pub(super) fn start(&mut self, now: Instant, rtt: Option<Interval>) {
        (self.least, self.probe) = (rtt, rtt);
        (self.at, self.probe_at) = (now, now);
    }

    /// `BBRUpdateMinRTT`.
    pub(super) fn update(&mut self, now: Instant, sample: Option<Interval>) {
        self.expired = now > self.probe_at + self.interval;
        if let Some(rtt) = sample
            && (self.expired || self.probe.is_none_or(|least| rtt < least))
        {
            self.probe = Some(rtt);
            self.probe_at = now;
        }
        let stale = now > self.at + MIN_RTT_WINDOW;
        if let Some(probe) = self.probe
            && (stale || self.least.is_none_or(|least| probe < least))
        {
            self.least = Some(probe);
            self.at = self.probe_at;
        }
    }
}

/// Detector of a plateau of the bandwidth, in Startup and in `ProbeBW_UP` (5.3.1.2).
#[derive(Debug, Default)]
pub(super) struct FullPipe {
    bandwidth: f64,
    count: u32,
    /// `BBR.full_bw_now`.
    pub(super) now: bool,
    /// `BBR.full_bw_reached`: the pipe was full once.
    pub(super) reached: bool,
}

impl FullPipe {
    /// `BBRResetFullBW`, with `bandwidth` as the new baseline.
    pub(super) fn reset(&mut self, bandwidth: f64) {
        self.bandwidth = bandwidth;
        self.count = 0;
        self.now = false;
    }

    /// `BBRCheckFullBWReached` for a sample that is not application-limited. With `early` growth
    /// counts at each ACK, as in Linux; otherwise at the start of a round.
    pub(super) fn check(&mut self, rate: f64, round_start: bool, early: bool) {
        if self.now || !(round_start || early) {
            return;
        }
        if rate >= self.bandwidth * FULL_GROWTH {
            self.reset(rate);
        } else if round_start {
            self.count += 1;
            self.now = self.count >= FULL_ROUNDS;
            self.reached |= self.now;
        }
    }
}

/// Delivery of the latest round trip (5.5.10.3).
#[derive(Debug, Default)]
pub(super) struct Latest {
    /// `BBR.bw_latest` in bytes per second.
    pub(super) rate: f64,
    /// `BBR.inflight_latest` in bytes.
    pub(super) volume: u64,
    /// `BBR.loss_round_start`.
    pub(super) round_start: bool,
    /// `BBR.loss_round_delivered`.
    pub(super) round_delivered: u64,
}

impl Latest {
    /// `BBRUpdateLatestDeliverySignals`.
    pub(super) fn update(&mut self, sample: &RateSample) {
        self.round_start = false;
        let Some(rate) = sample.rate() else { return };
        self.rate = self.rate.max(rate);
        self.volume = self.volume.max(sample.delivered - sample.prior_delivered);
        if sample.prior_delivered >= self.round_delivered {
            self.round_delivered = sample.delivered;
            self.round_start = true;
        }
    }

    /// `BBRAdvanceLatestDeliverySignals`.
    pub(super) fn advance(&mut self, sample: &RateSample) {
        if self.round_start {
            self.rate = sample.rate().unwrap_or(0.0);
            self.volume = sample.delivered - sample.prior_delivered;
        }
    }
}
