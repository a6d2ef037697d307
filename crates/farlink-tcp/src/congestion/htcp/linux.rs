//! H-TCP in the integers of Linux (`tcp_htcp.c`): times in jiffies, alpha and beta in 1/128,
//! windows in segments. All have 32 bits and wrap as in Linux.

use crate::congestion::{Ack, Context};
use crate::time::{Instant, Interval, NANOS_PER_SEC};

/// `BETA_MIN` and `BETA_MAX`: 0.5 and 0.8 in 1/128.
const BETA_MIN: u32 = 1 << 6;
const BETA_MAX: u32 = 102;

/// State of `struct htcp`.
#[derive(Clone, Debug)]
pub(super) struct Jiffies {
    hz: u32,
    rtt_scaling: bool,
    bandwidth_switch: bool,
    alpha: u32,
    beta: u32,
    /// Set after the first loss, or the first one at a steady throughput (`modeswitch`).
    mode_switch: bool,
    /// Segments that the last ACK covered (`pkts_acked`).
    acked: u32,
    /// Bytes that do not make a whole segment yet.
    partial: u64,
    /// Segments towards the next increase (`snd_cwnd_cnt`).
    credit: u32,
    packet_count: u32,
    min_rtt: u32,
    max_rtt: u32,
    last_congestion: u32,
    /// Set between a loss and the end of its repair (`undo_last_cong`).
    repairing: bool,
    max_b: u32,
    old_max_b: u32,
    b: u32,
    last_time: u32,
    /// `last_cong`, `maxRTT` and `old_maxB` before a loss.
    saved: Option<(u32, u32, u32)>,
}

impl Jiffies {
    pub(super) fn new(hz: u32, rtt_scaling: bool, bandwidth_switch: bool) -> Self {
        Self {
            hz,
            rtt_scaling,
            bandwidth_switch,
            alpha: 128,
            beta: BETA_MIN,
            mode_switch: false,
            acked: 1,
            partial: 0,
            credit: 0,
            packet_count: 0,
            min_rtt: 0,
            max_rtt: 0,
            last_congestion: 0,
            repairing: false,
            max_b: 0,
            old_max_b: 0,
            b: 0,
            last_time: 0,
            saved: None,
        }
    }

    pub(super) fn alpha(&self) -> f64 {
        f64::from(self.alpha) / 128.0
    }

    pub(super) fn beta(&self) -> f64 {
        f64::from(self.beta) / 128.0
    }

    fn at(&self, now: Instant) -> u32 {
        let jiffies = u128::from(now.as_nanos()) * u128::from(self.hz) / u128::from(NANOS_PER_SEC);
        jiffies as u32
    }

    /// Returns an interval in jiffies, rounded up (`usecs_to_jiffies`).
    fn jiffies_up(&self, interval: Interval) -> u32 {
        let scaled = u128::from(interval.as_nanos()) * u128::from(self.hz);
        scaled.div_ceil(u128::from(NANOS_PER_SEC)) as u32
    }

    fn since_congestion(&self, now: u32) -> u32 {
        now.wrapping_sub(self.last_congestion)
    }

    pub(super) fn on_established(&mut self, now: Instant) {
        self.last_congestion = self.at(now);
    }

    /// Processes an ACK; `open` is set outside of loss recovery (`measure_achieved_throughput`).
    pub(super) fn on_delivered(&mut self, cx: &Context<'_>, ack: &Ack, open: bool, cwnd: u64) {
        let now = self.at(cx.now);
        let bytes = self.partial + ack.bytes;
        self.partial = bytes % cx.mss;
        let acked = (bytes / cx.mss) as u32;
        if open {
            self.acked = acked;
        }
        if let Some(rtt) = ack.fine_rtt {
            self.measure_rtt(self.jiffies_up(rtt), open);
        }
        if !self.bandwidth_switch {
            return;
        }
        if !open {
            (self.packet_count, self.last_time) = (0, now);
            return;
        }
        self.packet_count = self.packet_count.wrapping_add(acked);
        let passed = now.wrapping_sub(self.last_time);
        let nearly = (cwnd as u32).wrapping_sub((self.alpha >> 7).max(1));
        if self.packet_count >= nearly && passed >= self.min_rtt && self.min_rtt > 0 {
            let current = self.packet_count.wrapping_mul(self.hz) / passed.max(1);
            if self.since_congestion(now) / self.min_rtt <= 3 {
                (self.max_b, self.b) = (current, current);
            } else {
                self.b = self.b.wrapping_mul(3).wrapping_add(current) / 4;
                self.max_b = self.max_b.max(self.b);
            }
            (self.packet_count, self.last_time) = (0, now);
        }
    }

    /// Updates the least and the largest RTT, in jiffies. The largest rises by at most 20 ms a
    /// sample.
    fn measure_rtt(&mut self, rtt: u32, open: bool) {
        if self.min_rtt > rtt || self.min_rtt == 0 {
            self.min_rtt = rtt;
        }
        if open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            let step = self.jiffies_up(Interval::from_millis(20));
            if self.max_rtt < rtt && rtt <= self.max_rtt + step {
                self.max_rtt = rtt;
            }
        }
    }

    /// Returns the segments that an ACK adds to a window of `cwnd` (`htcp_cong_avoid`).
    pub(super) fn steps(&mut self, now: Instant, cwnd: u64) -> u64 {
        let full = u64::from(self.credit.wrapping_mul(self.alpha) >> 7) >= cwnd;
        if full {
            self.credit = 0;
            self.update_alpha(self.at(now));
        } else {
            self.credit = self.credit.wrapping_add(self.acked);
        }
        self.acked = 1;
        u64::from(full)
    }

    /// Updates alpha and beta at a loss, and returns the window that it leaves of `cwnd` segments
    /// (`htcp_recalc_ssthresh`, `htcp_reset`).
    pub(super) fn on_loss(&mut self, now: Instant, cwnd: u64) -> u64 {
        let now = self.at(now);
        let max_rtt = self.max_rtt;
        self.update_beta();
        self.update_alpha(now);
        if self.min_rtt > 0 && max_rtt > self.min_rtt {
            self.max_rtt = self.min_rtt + (max_rtt - self.min_rtt).wrapping_mul(95) / 100;
        }
        self.last_congestion = now;
        self.repairing = true;
        self.credit = 0;
        (cwnd * u64::from(self.beta)) >> 7
    }

    fn update_beta(&mut self) {
        if self.bandwidth_switch {
            let old = std::mem::replace(&mut self.old_max_b, self.max_b);
            let (low, high) = (old.wrapping_mul(4), old.wrapping_mul(6));
            let here = self.max_b.wrapping_mul(5);
            if high.wrapping_sub(low) < here.wrapping_sub(low) {
                (self.beta, self.mode_switch) = (BETA_MIN, false);
                return;
            }
        }
        let least = self.jiffies_up(Interval::from_millis(10));
        if self.mode_switch && self.min_rtt > least && self.max_rtt > 0 {
            self.beta = ((self.min_rtt << 7) / self.max_rtt).clamp(BETA_MIN, BETA_MAX);
        } else {
            (self.beta, self.mode_switch) = (BETA_MIN, true);
        }
    }

    fn update_alpha(&mut self, now: u32) {
        let (hz, mut factor) = (self.hz, 1_u32);
        let diff = self.since_congestion(now);
        if diff > hz {
            let over = diff - hz;
            let square = (over / 2).wrapping_mul(over / 2) / hz;
            factor = 1 + over.wrapping_mul(10).wrapping_add(square) / hz;
        }
        if self.rtt_scaling && self.min_rtt > 0 {
            let scale = ((hz << 3) / self.min_rtt.wrapping_mul(10).max(1)).clamp(1 << 2, 10 << 3);
            factor = (factor.wrapping_mul(8) / scale).max(1);
        }
        self.alpha = factor.wrapping_mul(2).wrapping_mul(128 - self.beta);
        if self.alpha == 0 {
            self.alpha = 128;
        }
    }

    /// Restarts the time since the last loss at the end of a repair (`htcp_state`).
    pub(super) fn on_open(&mut self, now: Instant) {
        if std::mem::take(&mut self.repairing) {
            self.last_congestion = self.at(now);
        }
    }

    pub(super) fn save(&mut self) {
        self.saved = Some((self.last_congestion, self.max_rtt, self.old_max_b));
    }

    /// Restores the time of the last loss, RTTmax and the throughput (`htcp_cwnd_undo`).
    pub(super) fn on_spurious(&mut self) {
        if let Some((last, max_rtt, old_max_b)) = self.saved.take() {
            (self.last_congestion, self.max_rtt) = (last, max_rtt);
            self.old_max_b = old_max_b;
            self.repairing = false;
        }
    }
}

#[cfg(test)]
impl Jiffies {
    /// Sets what the tests of a loss start from: RTTs in jiffies and throughputs.
    pub(super) fn with(mut self, rtts: (u32, u32), throughputs: (u32, u32), mode: bool) -> Self {
        (self.min_rtt, self.max_rtt) = rtts;
        (self.old_max_b, self.max_b) = throughputs;
        self.mode_switch = mode;
        self
    }

    pub(super) fn seen(&self) -> (u32, u32, u32, bool) {
        (self.alpha, self.beta, self.max_rtt, self.mode_switch)
    }

    /// Returns the segments that the last ACK outside of recovery covered.
    pub(super) fn counted(&self) -> u32 {
        self.acked
    }

    pub(super) fn throughput(&self) -> (u32, u32) {
        (self.b, self.max_b)
    }
}
