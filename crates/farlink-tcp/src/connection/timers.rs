//! Timers of a connection: the action of each when it expires, and the end of the connection.

use super::lifetime::Watched;
use super::{CloseReason, Connection, Event, State};
use crate::reason::Reason;
use crate::record::{Mark, Record};
use crate::segment::Segment;
use crate::time::Instant;
use crate::timers::Timer;

impl Connection {
    /// Processes the timers that are due. The caller must call this at the time that
    /// [`Self::next_timeout`] returned.
    pub fn on_timeout(&mut self, now: Instant) {
        self.idle = false;
        for timer in Timer::ALL {
            if self.tx.flight.timers.pop_due(timer, now) {
                self.expired(now, timer);
            }
        }
    }

    /// Processes a timer that has expired and was stopped. A timer that ends the connection stops
    /// all others.
    fn expired(&mut self, now: Instant, timer: Timer) {
        match timer {
            Timer::User | Timer::FinWait2 => self.end(now, CloseReason::TimedOut),
            Timer::KeepAlive => self.on_keepalive(now),
            Timer::Join => self.release_joined(now),
            Timer::DelayedAck => self.rx.acknowledge_now(Reason::DelayedAck),
            // Segments that these timers delayed may be sent now.
            Timer::Pacing | Timer::Dummy => {}
            Timer::Reordering => {
                let recovery = &mut self.tx.recovery;
                recovery.on_reordering_timer(&mut self.tx.flight, now, &mut self.recorder);
                self.record_state(now);
            }
            Timer::TailProbe => {
                let (fresh, recovery) = (self.tx.unsent_segment().is_some(), &mut self.tx.recovery);
                recovery.on_probe_timer(&mut self.tx.flight, now, fresh, &mut self.recorder);
                self.record_state(now);
            }
            Timer::Retransmission => {
                self.waited_for_timer();
                let max = if self.tx.flight.board.una() == 0 {
                    self.config().lifetime.max_syn_retransmits
                } else {
                    self.config().lifetime.max_retransmits
                };
                if self.tx.on_timeout(now, &mut self.recorder) > max {
                    self.end(now, CloseReason::TimedOut);
                } else {
                    self.record_state(now);
                }
            }
            Timer::Persist => {
                let probes = self.tx.on_persist(now, &mut self.recorder);
                if probes > self.config().lifetime.max_retransmits {
                    self.end(now, CloseReason::TimedOut);
                }
            }
            Timer::TimeWait => self.end(now, CloseReason::Done),
        }
    }

    pub(super) fn end(&mut self, now: Instant, reason: CloseReason) {
        self.state = State::Closed;
        self.syn_due = false;
        self.dummy_acks = 0;
        self.tx.recovery.stop_rack(&mut self.tx.flight);
        self.tx.flight.timers.stop_all();
        if let Some(life) = &mut self.lifetime {
            life.stop();
        }
        self.rx.acknowledged(&mut self.tx.flight.timers);
        self.events.push(Event::Closed(reason));
        self.recorder.emit(now, Record::Mark(Mark::Closed));
    }

    // Limits of a connection whose peer no longer answers.

    /// Notes a valid segment of this connection, which proves that the peer is alive.
    #[inline]
    pub(super) fn peer_alive(&mut self, now: Instant) {
        if self.predicts {
            return; // no limit is configured
        }
        if let Some(life) = &mut self.lifetime {
            life.on_segment(now);
        }
    }

    /// Notes that the application will not read any more.
    pub(super) fn stop_reading(&mut self, now: Instant) {
        if let (false, Some(life)) = (self.read_shut, &mut self.lifetime) {
            life.on_close(now);
        }
        self.read_shut = true;
    }

    /// Sets the timers of the limits again, after the events at `now`.
    #[cold]
    pub(super) fn watch_lifetime(&mut self, now: Instant) {
        if let Some(life) = &mut self.lifetime {
            let flight = &mut self.tx.flight;
            let watched = Watched {
                state: self.state,
                una: flight.board.una(),
                in_flight: !flight.board.is_empty(),
                read_shut: self.read_shut,
            };
            life.watch(now, watched, &mut flight.timers);
        }
    }

    /// Sends another keep-alive probe, or ends the connection.
    fn on_keepalive(&mut self, now: Instant) {
        let Some(life) = &mut self.lifetime else {
            return;
        };
        match life.on_keepalive(now) {
            Some(again) => self.tx.flight.timers.set(Timer::KeepAlive, again),
            None => self.end(now, CloseReason::TimedOut),
        }
    }

    /// Sends a keep-alive probe, if one is due: a segment at SND.NXT - 1 without data, which
    /// the peer has to acknowledge (RFC 9293, 3.8.4).
    pub(super) fn keepalive_probe(&mut self, now: Instant, out: &mut Segment) -> bool {
        let due = (self.lifetime.as_mut()).is_some_and(|life| life.pop_probe());
        if due {
            self.ack_segment(now, out);
            self.recorder.explain(Reason::KeepAlive, false);
            out.seq = self.tx.isn.at(self.tx.flight.board.max() - 1);
        }
        due
    }
}
