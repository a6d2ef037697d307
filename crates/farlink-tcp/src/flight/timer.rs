//! The retransmission timer: its duration, starts and stops.

use super::Flight;
use crate::config::PartialAck;
use crate::rto::fine::FineTimeout;
use crate::time::{Instant, Interval};
use crate::timers::Timer;

/// A stream with fewer segments in flight is thin (Linux: `tcp_stream_is_thin`).
const THIN_SEGMENTS: usize = 4;
/// Consecutive time-outs of a thin stream without backoff (Linux: `TCP_THIN_LINEAR_RETRIES`).
const THIN_TIMEOUTS: u32 = 6;

impl Flight {
    /// Retransmission time-out in force.
    #[inline]
    pub(crate) fn rto(&self) -> Interval {
        self.fine_rto().unwrap_or_else(|| self.rtt.rto())
    }

    /// Returns Vegas' fine-grained time-out if it drives the retransmission timer.
    #[inline]
    fn fine_rto(&self) -> Option<Interval> {
        self.fine()?.rto()
    }

    /// Returns whether a time-out retransmits only the first segment, as duplicate ACKs do.
    pub(crate) fn sends_front_at_timeout(&self) -> bool {
        self.fine().is_some_and(FineTimeout::replaces_coarse)
    }

    /// Returns the expiry time of a retransmission timer started at `now`.
    #[inline]
    fn deadline(&self, now: Instant) -> Instant {
        match self.fine_rto() {
            Some(rto) => now + rto,
            None => self.rtt.deadline(now),
        }
    }

    /// (Re)starts the retransmission timer, or stops it when nothing is in
    /// flight (RFC 6298, 5.2 and 5.3).
    #[inline]
    pub(crate) fn restart_timer(&mut self, now: Instant) {
        self.timer_restarted = now;
        if self.board.is_empty() {
            self.timers.stop(Timer::Retransmission);
        } else {
            self.start_timer(now);
        }
    }

    /// Restarts the retransmission timer for a fast retransmit, where that is configured.
    pub(crate) fn restart_timer_for_loss(&mut self, now: Instant) {
        if self.config().restart_on_retransmit {
            self.restart_timer(now);
        }
    }

    /// Starts the retransmission timer.
    #[inline]
    pub(crate) fn start_timer(&mut self, now: Instant) {
        let at = self.deadline(now);
        self.timers.set(Timer::Retransmission, at);
    }

    /// Returns whether the retransmission timer runs.
    pub(crate) fn timer_runs(&self) -> bool {
        self.timers.runs(Timer::Retransmission)
    }

    /// Applies a partial acknowledgment to the retransmission timer, if the timer runs.
    pub(crate) fn partial_ack(&mut self, now: Instant, how: PartialAck) {
        if !self.timer_runs() {
            return;
        }
        let at = match how {
            PartialAck::Restart => match self.fine_rto() {
                Some(rto) => now + rto,
                None => self.rtt.on_tick(now + self.rtt.base_rto()),
            },
            PartialAck::Constant(interval) => self.rtt.on_tick(now + interval),
            PartialAck::BackOff => {
                self.rtt.back_off();
                self.deadline(now)
            }
        };
        self.timers.set(Timer::Retransmission, at);
    }

    /// Backs off the RTO, unless the stream is thin. `more` is set if the application may still
    /// write. Linux also requires a set ssthresh, which the time-out has just set.
    pub(crate) fn back_off(&mut self, more: bool) {
        let established = self.board.una() > 0 && more;
        let thin = self.board.segments() < THIN_SEGMENTS && self.timeouts_in_row <= THIN_TIMEOUTS;
        if established && thin {
            self.rtt.thin_timeout();
        } else {
            self.rtt.back_off();
        }
    }
}
