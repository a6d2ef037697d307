//! Rounds of Vegas as in Linux (`tcp_input.c` of 2.6.6 to 2.6.12, `net/ipv4/tcp_vegas.c` since).
//!
//! The kernel differs from the authors' TCP in four points. cwnd grows in every round of slow
//! start. The RTT of a round is its least sample, so a delay that varies from packet to packet is
//! no queue. At the end of slow start cwnd becomes the window that fills the path. The kernel
//! counts in whole segments, 2.6.6 to 2.6.12 in halves of a segment and in jiffies.

use crate::congestion::{Ack, Context};
use crate::seq::Offset;
use crate::time::{Instant, Interval};

/// Minimum cwnd of the kernel, in segments.
const MIN_CWND: u64 = 2;
/// Number of RTT samples up to which a round is not compared with the thresholds.
const FEW_SAMPLES: u32 = 2;
/// Fractional bits of the thresholds in Linux 2.6.6 to 2.6.12 (`V_PARAM_SHIFT`).
const SHIFT: u32 = 1;

/// Versions of the kernel's code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// Linux 2.6.6 to 2.6.12. Thresholds are in halves of a segment, RTTs in jiffies.
    First,
    /// Current kernels. Thresholds are in segments, RTTs in microseconds.
    Current,
}

/// Window and slow-start threshold in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Windows {
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
}

/// Thresholds in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thresholds {
    pub(super) alpha: f64,
    pub(super) beta: f64,
    pub(super) gamma: f64,
}

/// `struct vegas` of the kernel.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    form: Form,
    hz: u64,
    thresholds: Thresholds,
    /// `beg_snd_una`, `beg_snd_nxt` and `beg_snd_cwnd`: data of the round under way, and cwnd at
    /// its start.
    begin_una: Offset,
    begin_nxt: Offset,
    begin_cwnd: u64,
    /// `baseRTT` and `minRTT`, plus one, in jiffies or microseconds.
    base_rtt: u64,
    min_rtt: u64,
    /// `cntRTT`: number of RTT samples of the round.
    samples: u32,
    /// Set if the next ACK starts a round (`vegas_enable`).
    starts: bool,
    /// SND.MAX at a time-out. Until it is acknowledged cwnd grows as in Reno.
    reno_until: Offset,
    /// `snd_cwnd_cnt`: segments acknowledged since Reno last increased cwnd.
    counted: u64,
    /// Diff of the last round in segments.
    diff: Option<f64>,
}

impl Rounds {
    pub(super) fn new(form: Form, hz: u32, thresholds: Thresholds) -> Self {
        Self {
            form,
            hz: hz.into(),
            thresholds,
            begin_una: 0,
            begin_nxt: 0,
            begin_cwnd: 0,
            base_rtt: u64::MAX,
            min_rtt: u64::MAX,
            samples: 0,
            starts: true,
            reno_until: 0,
            counted: 0,
            diff: None,
        }
    }

    pub(super) fn diff(&self) -> Option<f64> {
        self.diff
    }

    /// Handles a loss: the round under way is not compared.
    pub(super) fn on_loss(&mut self) {
        self.starts = true;
    }

    /// Handles a pause of the sender: `BaseRTT` is measured anew (`tcp_vegas_init`).
    pub(super) fn on_idle(&mut self) {
        self.starts = true;
        self.base_rtt = u64::MAX;
    }

    /// Handles a time-out with data up to `snd_max` in flight.
    pub(super) fn on_timeout(&mut self, snd_max: Offset) {
        self.starts = true;
        self.reno_until = snd_max;
    }

    /// Returns the windows after an ACK.
    pub(super) fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack, now: Windows) -> Windows {
        self.sample(cx.now, ack.fine_rtt);
        let acked = (ack.bytes / cx.mss).max(1);
        if cx.snd_una < self.reno_until {
            return if ack.cwnd_limited {
                self.grow_as_reno(now, acked)
            } else {
                now
            };
        }
        if std::mem::take(&mut self.starts) {
            self.begin(cx, now.cwnd);
        }
        match self.form {
            Form::First => self.first(cx, ack, now),
            Form::Current => self.current(cx, now, acked),
        }
    }

    /// `vegas_rtt_calc`: adds an RTT sample. A sample in jiffies counts the ticks between sending
    /// and ACK. One is added so that no sample is zero.
    fn sample(&mut self, now: Instant, rtt: Option<Interval>) {
        let Some(rtt) = rtt else { return };
        let rtt = match self.form {
            Form::First => {
                let end = now.as_nanos();
                self.jiffies(end) - self.jiffies(end.saturating_sub(rtt.as_nanos()))
            }
            Form::Current => rtt.as_nanos() / 1_000,
        } + 1;
        self.base_rtt = self.base_rtt.min(rtt);
        self.min_rtt = self.min_rtt.min(rtt);
        self.samples += 1;
    }

    fn jiffies(&self, nanoseconds: u64) -> u64 {
        let second = Interval::from_secs(1).as_nanos();
        nanoseconds / second * self.hz + nanoseconds % second * self.hz / second
    }

    fn begin(&mut self, cx: &Context<'_>, cwnd: u64) {
        self.begin_una = cx.snd_una;
        self.begin_nxt = cx.snd_max;
        self.begin_cwnd = cwnd;
        self.forget_samples();
    }

    fn forget_samples(&mut self) {
        self.min_rtt = u64::MAX;
        self.samples = 0;
    }

    /// `vegas_cong_avoid` of 2.6.6 to 2.6.12.
    fn first(&mut self, cx: &Context<'_>, ack: &Ack, now: Windows) -> Windows {
        let Windows {
            mut cwnd,
            mut ssthresh,
        } = now;
        if cx.snd_una > self.begin_nxt {
            let sent = (self.begin_nxt - self.begin_una) / cx.mss;
            let before = self.begin_cwnd;
            self.begin_una = self.begin_nxt;
            self.begin_nxt = cx.snd_max;
            self.begin_cwnd = cwnd;
            // `tcp_rtt_estimator` has counted the sample of this ACK already.
            self.sample(cx.now, ack.fine_rtt);
            if self.samples <= FEW_SAMPLES {
                cwnd += u64::from(cwnd > ssthresh);
            } else {
                let target = ((sent * self.base_rtt) << SHIFT) / self.min_rtt;
                let diff = (sent << SHIFT) - target;
                self.diff = Some(diff as f64 / 2.0);
                let above = |segments: f64| diff as f64 > 2.0 * segments;
                if cwnd < ssthresh {
                    if above(self.thresholds.gamma) {
                        ssthresh = MIN_CWND;
                        cwnd = cwnd.min((target >> SHIFT) + 1);
                    }
                } else {
                    let wanted = if above(self.thresholds.beta) {
                        before - 1
                    } else if (diff as f64) < 2.0 * self.thresholds.alpha {
                        before + 1
                    } else {
                        before
                    };
                    cwnd = wanted.clamp(cwnd.saturating_sub(1), cwnd + 1);
                }
            }
            self.forget_samples();
        }
        cwnd += u64::from(cwnd <= ssthresh);
        Windows {
            cwnd: cwnd.max(MIN_CWND),
            ssthresh,
        }
    }

    /// `tcp_vegas_cong_avoid` of current kernels.
    fn current(&mut self, cx: &Context<'_>, now: Windows, acked: u64) -> Windows {
        if cx.snd_una <= self.begin_nxt {
            return if now.cwnd < now.ssthresh {
                self.grow_as_reno(now, acked)
            } else {
                now
            };
        }
        self.begin_nxt = cx.snd_max;
        if self.samples <= FEW_SAMPLES {
            self.forget_samples();
            return self.grow_as_reno(now, acked);
        }
        let Windows {
            mut cwnd,
            mut ssthresh,
        } = now;
        let target = cwnd * self.base_rtt / self.min_rtt;
        let diff = cwnd * (self.min_rtt - self.base_rtt) / self.base_rtt;
        self.diff = Some(diff as f64);
        if cwnd < ssthresh {
            if diff as f64 > self.thresholds.gamma {
                cwnd = cwnd.min(target + 1);
                ssthresh = ssthresh.min(cwnd);
            } else {
                cwnd = (cwnd + acked).min(ssthresh);
            }
        } else if diff as f64 > self.thresholds.beta {
            cwnd -= 1;
            ssthresh = ssthresh.min(cwnd);
        } else if (diff as f64) < self.thresholds.alpha {
            cwnd += 1;
        }
        cwnd = cwnd.max(MIN_CWND);
        self.forget_samples();
        // `tcp_current_ssthresh`
        Windows {
            cwnd,
            ssthresh: ssthresh.max(cwnd / 2 + cwnd / 4),
        }
    }

    /// `tcp_reno_cong_avoid`. Before 2.6.13 an ACK counts one segment.
    fn grow_as_reno(&mut self, now: Windows, acked: u64) -> Windows {
        let Windows { mut cwnd, ssthresh } = now;
        let (acked, slow) = match self.form {
            Form::First => (1, cwnd <= ssthresh),
            Form::Current => (acked, cwnd < ssthresh),
        };
        if slow {
            let most = match self.form {
                Form::First => u64::MAX,
                Form::Current => ssthresh,
            };
            cwnd = (cwnd + acked).min(most);
        } else {
            self.counted += acked;
            if self.counted >= cwnd {
                self.counted = 0;
                cwnd += 1;
            }
        }
        Windows { cwnd, ssthresh }
    }
}

#[cfg(test)]
mod tests;
