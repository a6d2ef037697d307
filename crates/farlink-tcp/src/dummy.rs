//! Dummy segments on the sending side: what they are copies of, and whether the
//! peer knows them.

use crate::congestion::DummySegments;
use crate::record::{Record, Recorder};
use crate::segment::Body;
use crate::send::{Sender, context};
use crate::seq::Offset;
use crate::time::{Instant, Interval};
use crate::timers::Timer;

/// State of a sender whose controller sends dummy segments.
#[derive(Debug)]
pub(crate) struct Dummies {
    /// Position and length of the data that left last.
    last: Option<(Offset, u32)>,
    /// Departure of the first dummy, and the time until which an ACK may still be for the last.
    first_at: Option<Instant>,
    until: Instant,
    /// Sent and not acknowledged.
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

    /// Data left.
    pub(crate) fn data(&mut self, start: Offset, len: u32) {
        self.last = Some((start, len));
    }

    /// Forgets the dummies in flight, which no longer say anything about the path.
    pub(crate) fn forget(&mut self) {
        self.outstanding = 0;
    }
}

impl Sender {
    fn source(&mut self) -> Option<&mut (dyn DummySegments + 'static)> {
        self.extras.dummies.of_mut(&mut *self.cc)
    }

    /// The dummy that leaves now, if one does: position and length.
    #[inline(never)] // nothing of it need be fetched by others
    pub(crate) fn next_dummy(&mut self, now: Instant) -> Option<(Offset, u32)> {
        self.timers.stop(Timer::Dummy);
        let una = self.board.una();
        // Without data that waits for its ACK there is nothing to find out for,
        // and a closed window is closed to copies too.
        if una == 0 || una >= self.buffer.end() || self.wnd() == 0 {
            return None;
        }
        let rto = self.rto();
        let due = self.source()?.due()?;
        let dummies = self.dummies.as_mut()?;
        let (start, len) = dummies.last.filter(|_| dummies.peer != Peer::Plain)?;
        if due > now {
            self.timers.set(Timer::Dummy, due);
            return None;
        }
        dummies.first_at.get_or_insert(now);
        dummies.until = now + rto;
        dummies.outstanding += 1;
        let cx = context!(self, now, self.board.flight());
        if let Some(source) = self.extras.dummies.of_mut(&mut *self.cc) {
            source.on_sent(&cx);
        }
        // Of what is acknowledged the buffer has no bytes any more.
        let end = start + u64::from(len);
        let start = if end > una { start.max(una) } else { start };
        Some((start, (end - start) as u32))
    }

    /// Bytes of a dummy: those of the stream, or any if the peer has these.
    pub(crate) fn dummy_body(&self, start: Offset, len: u32) -> Body {
        if start >= self.board.una() {
            self.buffer.body(start, len)
        } else if self.buffer.holds_bytes() {
            Body::of_bytes(&vec![0; len as usize])
        } else {
            Body::of_len(len)
        }
    }

    /// An ACK says that a dummy arrived. Returns whether one was out.
    pub(crate) fn on_dummy_ack(&mut self, now: Instant, recorder: &mut Recorder) -> bool {
        let Some(dummies) = &mut self.dummies else {
            return false;
        };
        if dummies.outstanding == 0 {
            return false;
        }
        dummies.outstanding -= 1;
        if dummies.peer == Peer::Unknown {
            dummies.peer = Peer::Echoes;
        }
        recorder.emit(now, Record::DummyAcked);
        let cx = context!(self, now, self.board.flight());
        if let Some(source) = self.extras.dummies.of_mut(&mut *self.cc) {
            source.on_ack(&cx);
        }
        true
    }

    /// Returns whether an apparent duplicate ACK answers a dummy, from a peer that does not know
    /// dummies: three such ACKs would look like a loss. No answer arrives within a round trip, of
    /// which `rtt_min` is the shortest.
    pub(crate) fn answers_a_dummy(&mut self, now: Instant, rtt_min: Option<Interval>) -> bool {
        let Some(dummies) = &mut self.dummies else {
            return false;
        };
        let soonest = dummies.first_at.map(|at| at + rtt_min.unwrap_or_default());
        let possible = soonest.is_some_and(|soonest| (soonest..=dummies.until).contains(&now));
        if dummies.peer == Peer::Echoes || dummies.outstanding == 0 || !possible {
            return false;
        }
        dummies.outstanding -= 1;
        self.refuse_dummies();
        true
    }

    /// New data was acknowledged: a peer that acknowledged no dummy for a time-out
    /// since the first does not know them.
    #[inline(always)] // of each ACK, and nearly always there are none
    pub(crate) fn judge_silence(&mut self, now: Instant) {
        if self.dummies.is_some() {
            self.judge_silence_of_dummies(now);
        }
    }

    #[inline(never)]
    fn judge_silence_of_dummies(&mut self, now: Instant) {
        if let Some(dummies) = &self.dummies
            && dummies.peer == Peer::Unknown
            && dummies.first_at.is_some_and(|at| now >= at + self.rto())
        {
            self.refuse_dummies();
        }
    }

    fn refuse_dummies(&mut self) {
        if let Some(dummies) = &mut self.dummies
            && dummies.peer == Peer::Unknown
        {
            dummies.peer = Peer::Plain;
            if let Some(source) = self.source() {
                source.on_refused();
            }
        }
    }
}
