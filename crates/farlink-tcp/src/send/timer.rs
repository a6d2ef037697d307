//! The retransmission timer: how long, until when, and what moves it.

use super::Sender;
use crate::config::PartialAck;
use crate::time::{Instant, Interval};
use crate::timers::Timer;

impl Sender {
    /// Retransmission time-out in force.
    #[inline]
    pub(crate) fn rto(&self) -> Interval {
        self.loss.fine_rto().unwrap_or_else(|| self.rtt.rto())
    }

    /// When the retransmission timer goes off that is started now.
    #[inline]
    fn deadline(&self, now: Instant) -> Instant {
        match self.loss.fine_rto() {
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

    /// The retransmission timer is started now.
    #[inline]
    pub(super) fn start_timer(&mut self, now: Instant) {
        let at = self.deadline(now);
        self.timers.set(Timer::Retransmission, at);
    }

    /// Whether the retransmission timer runs.
    pub(crate) fn timer_runs(&self) -> bool {
        self.timers.runs(Timer::Retransmission)
    }

    /// A partial acknowledgment moves the retransmission timer, if it runs.
    pub(crate) fn partial_ack(&mut self, now: Instant, how: PartialAck) {
        if !self.timer_runs() {
            return;
        }
        let at = match how {
            PartialAck::Restart => match self.loss.fine_rto() {
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
}
