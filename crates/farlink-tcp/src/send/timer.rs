//! Retransmission and persist time-outs.

use super::{Sender, context};
use crate::congestion::Repair;
use crate::reason::Reason;
use crate::record::{Mark, Record, Recorder};
use crate::recovery::vegas;
use crate::time::{Instant, Interval};
use crate::timers::Timer;

impl Sender {
    /// Processes a retransmission time-out. Returns the number of consecutive time-outs.
    pub(crate) fn on_timeout(&mut self, now: Instant, recorder: &mut Recorder) -> u32 {
        let flight = &mut self.flight;
        flight.timeouts_in_row += 1;
        if flight.timeouts_in_row > 1 {
            recorder.emit(now, Record::TimeoutRepeated);
        }
        let handshake = flight.board.una() == 0;
        let more = self.buffer.fin().is_none();
        if flight.sends_front_at_timeout() && !handshake {
            vegas::on_timeout(flight, now, recorder);
            flight.back_off(more);
            flight.start_timer(now);
            return flight.timeouts_in_row;
        }
        recorder.loss(now, Mark::Timeout, Reason::Timeout);
        let in_flight = flight.at_most_window(flight.reduced_from());
        let reduces = !handshake && !flight.loss.assume_corruption;
        let again = flight.config().reduce_once && flight.loss.reduced_since(flight.board.una());
        if reduces {
            flight.begin_episode(true);
            let repairing = flight.loss.recovering();
            self.frto.on_timeout(flight, repairing);
        }
        self.recovery.lose_at_timeout(flight, now);
        if let Some(dummies) = &mut self.dummies {
            dummies.discard_outstanding();
        }
        flight.stop_timing();
        flight.back_off(more);
        flight.start_timer(now);
        self.retransmitted_in_row = 0;
        if !handshake {
            let repair = flight.extras.repair.of(&*flight.cc);
            let delay = repair.map_or(Interval::ZERO, Repair::timeout_delay);
            flight.start_timer(now + delay);
            self.recovery.on_timeout(flight);
        }
        if handshake && self.early && flight.timeouts_in_row >= flight.config().window.lost_syns {
            // RFC 5681, 3.1: the window is one segment if the SYN-ACK was lost.
            flight.cc.collapse(u64::from(flight.mss));
        }
        if reduces {
            let first = flight.timeouts_in_row == 1 && !again;
            let cx = context!(flight, now, in_flight);
            flight.cc.on_timeout(&cx, first);
            flight.after_reduction(now, true, recorder);
            let modelled = flight.extras.rate.of(&*flight.cc).is_some();
            if self.recovery.rack().is_some() && modelled {
                // Linux, `tcp_enter_loss`. The window of a model-based controller has room for the
                // pipe.
                flight
                    .cc
                    .collapse(flight.board.pipe() + u64::from(flight.mss));
            }
        }
        flight.timeouts_in_row
    }

    /// Returns whether the segment to be sent is a window probe.
    pub(crate) fn probing(&self) -> bool {
        self.probes_in_row > 0
    }

    /// Processes a persist time-out. Returns the number of consecutive unanswered probes. The
    /// interval doubles whether or not probes are answered (RFC 9293, 3.8.6.1, SHLD-30).
    pub(crate) fn on_persist(&mut self, now: Instant, recorder: &mut Recorder) -> u32 {
        self.probes_in_row += 1;
        self.probes_unanswered += 1;
        let shift = self.probes_in_row.min(16);
        let wait = self
            .flight
            .rtt
            .rto()
            .saturating_mul(1 << shift)
            .min(Interval::from_secs(60));
        self.flight
            .timers
            .set(Timer::Persist, self.flight.rtt.on_tick(now + wait));
        self.flight.timers.stop(Timer::Retransmission);
        self.recovery.stop_rack(&mut self.flight);
        self.probe = true;
        recorder.emit(now, Record::Mark(Mark::ZeroWindowProbe));
        self.probes_unanswered
    }
}
