//! The retransmission timer: how long, until when, what moves it, and what happens
//! when it or the persist timer goes off.

use super::{Sender, context};
use crate::config::PartialAck;
use crate::congestion::Repair;
use crate::record::{Mark, Record, Recorder};
use crate::recovery::{frto, rack, vegas};
use crate::spurious;
use crate::time::{Instant, Interval};
use crate::timers::Timer;

/// A stream with less in flight is thin (Linux: `tcp_stream_is_thin`).
const THIN_SEGMENTS: usize = 4;
/// Time-outs in a row that do not back off then (Linux: `TCP_THIN_LINEAR_RETRIES`).
const THIN_TIMEOUTS: u32 = 6;

impl Sender {
    /// Retransmission time-out in force.
    #[inline]
    pub(crate) fn rto(&self) -> Interval {
        self.loss.fine_rto().unwrap_or_else(|| self.rtt.rto())
    }

    /// Returns when a retransmission timer expires that is started now.
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

    /// Returns whether the retransmission timer runs.
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

    /// The time-out after this one: longer, unless the stream is thin. Linux asks for a set
    /// ssthresh too, but the time-out has just set it.
    fn back_off(&mut self) {
        let established = self.board.una() > 0 && self.buffer.fin().is_none();
        let thin = self.board.segments() < THIN_SEGMENTS && self.timeouts_in_row <= THIN_TIMEOUTS;
        if established && thin {
            self.rtt.thin_timeout();
        } else {
            self.rtt.back_off();
        }
    }

    /// The retransmission timer went off. Returns how often in a row.
    pub(crate) fn on_timeout(&mut self, now: Instant, recorder: &mut Recorder) -> u32 {
        self.timeouts_in_row += 1;
        if self.timeouts_in_row > 1 {
            recorder.emit(now, Record::TimeoutRepeated);
        }
        let handshake = self.board.una() == 0;
        if self.loss.sends_front_at_timeout() && !handshake {
            vegas::on_timeout(self, now, recorder);
            self.back_off();
            self.start_timer(now);
            return self.timeouts_in_row;
        }
        recorder.emit(now, Record::Mark(Mark::Timeout));
        let flight = self.at_most_window(self.reduced_from());
        let reduces = !handshake && !self.loss.assume_corruption;
        let again = self.config().reduce_once && self.loss.reduced_since(self.board.una());
        if reduces {
            spurious::begin(self, true);
            frto::on_timeout(self, self.loss.in_recovery || self.loss.after_timeout());
        }
        if self.loss.rack().is_some() && !handshake {
            rack::on_timeout(self, now);
        } else {
            self.board.lose_all();
        }
        if let Some(dummies) = &mut self.dummies {
            dummies.forget();
        }
        self.distrust_timed();
        self.back_off();
        self.start_timer(now);
        self.sent_again = 0;
        if !handshake {
            let repair = self.extras.repair.of(&*self.cc);
            let delay = repair.map_or(Interval::ZERO, Repair::timeout_delay);
            self.start_timer(now + delay);
            self.loss.on_timeout(self.board.max());
            // RACK leaves in the pipe what may still arrive.
            self.loss.force = self.loss.rack().is_some();
        }
        if handshake && self.early && self.timeouts_in_row >= self.config().lost_syns {
            // RFC 5681, 3.1: one segment if the SYN-ACK was lost.
            self.cc.collapse(u64::from(self.mss));
        }
        if reduces {
            let first = self.timeouts_in_row == 1 && !again;
            let cx = context!(self, now, flight);
            self.cc.on_timeout(&cx, first);
            if self.loss.rack().is_some() && self.extras.rate.of(&*self.cc).is_some() {
                // tcp_input.c: `tcp_enter_loss`. A model's window has room for the pipe.
                self.cc.collapse(self.board.pipe() + u64::from(self.mss));
            }
        }
        self.timeouts_in_row
    }

    /// Returns whether the segment that leaves is a window probe.
    pub(crate) fn probing(&self) -> bool {
        self.probes_in_row > 0
    }

    /// The persist timer went off. Returns how often in a row without an answer.
    /// Answers or not, the interval grows (RFC 9293, 3.8.6.1, SHLD-30).
    pub(crate) fn on_persist(&mut self, now: Instant, recorder: &mut Recorder) -> u32 {
        self.probes_in_row += 1;
        self.probes_unanswered += 1;
        let shift = self.probes_in_row.min(16);
        let wait = self
            .rtt
            .rto()
            .saturating_mul(1 << shift)
            .min(Interval::from_secs(60));
        self.timers
            .set(Timer::Persist, self.rtt.on_tick(now + wait));
        self.timers.stop(Timer::Retransmission);
        self.stop_rack();
        self.probe = true;
        recorder.emit(now, Record::Mark(Mark::ZeroWindowProbe));
        self.probes_unanswered
    }
}
