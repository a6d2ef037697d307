//! Dummy segments on the sending side: the data that they copy, and whether the peer supports them.

use crate::flight::{Flight, context};
use crate::record::{Record, Recorder};
use crate::seq::Offset;
use crate::time::{Instant, Interval};
use crate::timers::Timer;

/// State of a sender whose controller sends dummy segments.
#[derive(Debug)]
pub(crate) struct Dummies {
    /// Position and length of the data sent last.
    last: Option<(Offset, u32)>,
    /// Send time of the first dummy, and the time until which an ACK may still belong to the last
    /// dummy.
    first_at: Option<Instant>,
    until: Instant,
    /// Dummies sent and not acknowledged.
    outstanding: u64,
    peer: Peer,
}

/// Reaction of the peer to dummy segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Peer {
    /// No answer yet.
    Unknown,
    /// The peer marks the ACKs of dummies.
    Echoes,
    /// The peer does not mark ACKs.
    Plain,
}

impl Dummies {
    pub(crate) fn new() -> Self {
        Self {
            last: None,
            first_at: None,
            until: Instant::ZERO,
            outstanding: 0,
            peer: Peer::Unknown,
        }
    }

    /// Notes that data was sent.
    pub(crate) fn data(&mut self, start: Offset, len: u32) {
        self.last = Some((start, len));
    }

    /// Discards the dummies in flight, because their ACKs no longer give information about the
    /// path.
    pub(crate) fn discard_outstanding(&mut self) {
        self.outstanding = 0;
    }
    /// Returns position and length of the dummy to send now, if any. `end` is the end of the
    /// stream.
    #[inline(never)] // keeps rare code out of the instruction cache
    pub(crate) fn next(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        end: Offset,
    ) -> Option<(Offset, u32)> {
        flight.timers.stop(Timer::Dummy);
        let una = flight.board.una();
        // Without unacknowledged data no dummy is useful, and a closed window forbids copies of
        // data too.
        if una == 0 || una >= end || flight.peer.size == 0 {
            return None;
        }
        let due = flight.extras.dummies.of_mut(&mut *flight.cc)?.due()?;
        let (start, len) = self.last.filter(|_| self.peer != Peer::Plain)?;
        if due > now {
            flight.timers.set(Timer::Dummy, due);
            return None;
        }
        self.first_at.get_or_insert(now);
        self.until = now + flight.rto();
        self.outstanding += 1;
        let cx = context!(flight, now, flight.board.flight());
        if let Some(source) = flight.extras.dummies.of_mut(&mut *flight.cc) {
            source.on_sent(&cx);
        }
        // Acknowledged bytes are no longer in the buffer.
        let end = start + u64::from(len);
        let start = if end > una { start.max(una) } else { start };
        Some((start, (end - start) as u32))
    }

    /// Processes the ACK of a dummy. Returns whether a dummy was outstanding.
    pub(crate) fn on_ack(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        recorder: &mut Recorder,
    ) -> bool {
        if self.outstanding == 0 {
            return false;
        }
        self.outstanding -= 1;
        if self.peer == Peer::Unknown {
            self.peer = Peer::Echoes;
        }
        recorder.emit(now, Record::DummyAcked);
        let cx = context!(flight, now, flight.board.flight());
        if let Some(source) = flight.extras.dummies.of_mut(&mut *flight.cc) {
            source.on_ack(&cx);
        }
        true
    }

    /// Returns whether an apparent duplicate ACK answers a dummy. Three such ACKs, from a peer
    /// without support for dummies, would look like a loss. No answer arrives before `rtt_min`, the
    /// shortest round trip.
    pub(crate) fn are_answered(
        &mut self,
        flight: &mut Flight,
        now: Instant,
        rtt_min: Option<Interval>,
    ) -> bool {
        let soonest = self.first_at.map(|at| at + rtt_min.unwrap_or_default());
        let possible = soonest.is_some_and(|soonest| (soonest..=self.until).contains(&now));
        if self.peer == Peer::Echoes || self.outstanding == 0 || !possible {
            return false;
        }
        self.outstanding -= 1;
        self.refuse(flight);
        true
    }

    /// At an ACK of new data, decides that the peer does not support dummies if none was
    /// acknowledged within one RTO of the first dummy.
    #[inline(never)]
    pub(crate) fn check_support(&mut self, flight: &mut Flight, now: Instant) {
        let silent = |at| now >= at + flight.rto();
        if self.peer == Peer::Unknown && self.first_at.is_some_and(silent) {
            self.refuse(flight);
        }
    }

    fn refuse(&mut self, flight: &mut Flight) {
        if self.peer == Peer::Unknown {
            self.peer = Peer::Plain;
            if let Some(source) = flight.extras.dummies.of_mut(&mut *flight.cc) {
                source.on_refused();
            }
        }
    }
}
