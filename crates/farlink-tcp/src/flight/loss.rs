//! Loss-recovery state that all recovery algorithms share.

use crate::config::{AssumeLoss, Config, Recovery};
use crate::recovery::Spurious;
use crate::seq::Offset;

/// Loss-recovery state that all algorithms share.
#[derive(Debug)]
#[repr(C)] // keeps the fields that each segment needs together in memory
pub(crate) struct LossState {
    pub(crate) in_recovery: bool,
    /// Set if the next retransmission is sent even if the window is full.
    pub(crate) force: bool,
    /// Set if a time-out happened and `recover` is not yet acknowledged, so that data sent before
    /// the time-out is sent again.
    pub(crate) after_timeout: bool,
    /// Set if the window was reduced and no new data has carried CWR since.
    pub(crate) reduced: bool,
    /// Set if the current ACK echoes a congestion mark, so that the window must not grow.
    pub(crate) mark_echoed: bool,
    pub(crate) limited_transmit: bool,
    /// Set if all losses are assumed to be corruption.
    pub(crate) assume_corruption: bool,
    /// Set if the scoreboard of RFC 6675 is used.
    pub(crate) sacking: bool,
    pub(crate) dup_acks: u32,
    pub(crate) threshold: u32,
    /// Bytes in flight that limited transmit sent since the last ACK of new data. They do not count
    /// when the window is reduced (RFC 5681, 3.2, step 2).
    pub(crate) limited_sent: u64,
    /// Position after the highest byte sent when the last loss was seen
    /// (`recover` of RFC 6582, `RecoveryPoint` of RFC 6675).
    pub(crate) recover: Offset,
    /// SND.MAX when an ELN-marked ACK arrived; zero if no repair is pending.
    pub(crate) repair_end: Offset,
    /// Position after the highest byte that a negative acknowledgment named; zero without any.
    pub(crate) nacked_to: Offset,
    /// Position after the highest byte sent when the window was last reduced for
    /// a mark (RFC 3168).
    pub(crate) marked: Offset,
    pub(crate) spurious: Spurious,
}

impl LossState {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            in_recovery: false,
            force: false,
            after_timeout: false,
            reduced: false,
            mark_echoed: false,
            limited_transmit: config.limited_transmit,
            assume_corruption: config.assume_loss == AssumeLoss::Corruption,
            sacking: matches!(config.recovery, Recovery::Sack { .. }),
            dup_acks: 0,
            threshold: config.dupack_threshold,
            limited_sent: 0,
            recover: 0,
            repair_end: 0,
            nacked_to: 0,
            marked: 0,
            spurious: Spurious::default(),
        }
    }

    /// Returns whether data outstanding at the last loss is still being repaired.
    #[inline]
    pub(crate) fn repairing(&self, una: Offset) -> bool {
        self.recovering() && una < self.recover
    }

    /// Returns whether fast recovery or recovery after a time-out is in progress.
    #[inline]
    pub(crate) fn recovering(&self) -> bool {
        self.in_recovery || self.after_timeout
    }

    /// Returns whether cwnd is compared with the pipe, which excludes SACKed bytes. Outside of
    /// recovery this is limited transmit (RFC 6675, 5, step 3).
    #[inline]
    pub(crate) fn counts_pipe(&self) -> bool {
        self.sacking && (self.in_recovery || self.after_timeout || self.limited_transmit)
    }

    /// Returns the bytes that limited transmit allows beyond the window (RFC 3042): one MSS per
    /// duplicate ACK below the threshold. With SACK the credit is zero, because the pipe has this
    /// effect.
    #[inline]
    pub(crate) fn limited_transmit_credit(&self, mss: u64) -> u64 {
        if self.limited_transmit && !self.in_recovery && !self.sacking {
            mss * u64::from(self.dup_acks.min(self.threshold - 1))
        } else {
            0
        }
    }

    /// Counts `len` bytes of new data sent with `in_flight` bytes outstanding and a window of
    /// `cwnd`.
    #[inline]
    pub(crate) fn new_data(&mut self, len: u64, in_flight: u64, cwnd: u64) {
        if self.dup_acks > 0 && !self.in_recovery && in_flight + len > cwnd {
            self.limited_sent += len;
        }
    }

    /// Returns whether a loss or a mark in the window of data at `una` has reduced the congestion
    /// window and is still being handled.
    pub(crate) fn reduced_since(&self, una: Offset) -> bool {
        (self.in_recovery && una < self.recover) || una < self.marked
    }
}
