//! Header prediction (Jacobson 1990): the two segments that a bulk transfer consists
//! of, data and an ACK of new data without options that tell of losses, are known by a
//! few comparisons and take a short way, the shortest if the data is the next in order.
//!
//! The short way does what [`super::input`] does with such a segment, and no more: a
//! test plays each session on it and on the general one, and compares all that comes
//! out, to the bit.

use super::{Connection, State};
use crate::ecn::Ecn;
use crate::maybe::Maybe;
use crate::receive::AckNeed;
use crate::recovery::frto::Frto;
use crate::segment::{Flags, Segment};
use crate::time::Instant;

/// Bits that make a segment one of a kind; without them it is data, an ACK, or both.
const SPECIAL: Flags = Flags::SYN
    .with(Flags::FIN)
    .with(Flags::RST)
    .with(Flags::ECE)
    .with(Flags::CWR);

impl Connection {
    /// Returns whether no configured feature must see every segment. Computed once, at the end of
    /// the handshake.
    pub(super) fn is_predictable(&self) -> bool {
        self.tx.streams() && self.lifetime.is_none() && !self.general_only
    }

    /// Takes a segment that is what was expected. Returns whether it was.
    #[inline(always)] // of each segment
    pub(super) fn take_predicted(&mut self, now: Instant, segment: &Segment) -> bool {
        let options = &segment.options;
        let expected = self.predicts
            && self.state == State::Established
            && segment.flags.0 & (SPECIAL.0 | Flags::ACK.0) == Flags::ACK.0
            && options.are_plain()
            && !segment.dummy
            && segment.ecn != Ecn::Ce
            && self.tx.frto == Frto::Off
            && !self.recorder.on();
        if !expected {
            return false;
        }
        if let Some(ts) = options.timestamps {
            if self.agreed.timestamps && self.stamps.is_old(now, ts.value) {
                return false;
            }
        } else if self.agreed.timestamps {
            return false;
        }
        if segment.body.is_empty() {
            segment.seq == self.rx.ack() && self.take_next_ack(now, segment)
        } else {
            self.take_more_data(now, segment)
        }
    }

    /// Data that the window takes, at the end that sends nothing itself.
    #[inline(always)] // in one place
    fn take_more_data(&mut self, now: Instant, segment: &Segment) -> bool {
        let (una, len) = (self.tx.flight.board.una(), segment.body.len());
        let expected =
            self.tx.flight.board.is_empty() && segment.ack == self.tx.isn.at(una) && !self.deaf;
        if !expected {
            return false;
        }
        let next = segment.seq == self.rx.ack() && self.rx.continues(len);
        let start = if next {
            Some(self.rx.nxt())
        } else {
            self.rx.place_in_window(segment.seq)
        };
        let Some(start) = start else {
            return false;
        };
        self.tx.peer_alive();
        self.tx.set_window(now, start, una, self.scaled(segment));
        if self.agreed.ecn.agreed() {
            self.tx.recovery.loss.mark_echoed = false;
        }
        if let Some(ts) = segment.options.timestamps {
            self.stamps.accepted(now, ts.value, start);
        }
        if !next {
            self.process_text_around_holes(now, segment, start);
            return true;
        }
        self.recorder.count_fresh();
        let age = self.echo_age(now, segment);
        self.rx.tune(now, age);
        let bytes = segment.body.bytes();
        self.rx
            .next_data(now, len, bytes, &mut self.tx.flight.timers);
        true
    }

    /// An ACK of new data that is nothing else.
    #[inline(always)] // in one place
    fn take_next_ack(&mut self, now: Instant, segment: &Segment) -> bool {
        let (una, max) = (self.tx.flight.board.una(), self.tx.flight.board.max());
        let ack = segment.ack.offset(self.tx.isn, una);
        let Some(ack) = ack.filter(|&ack| ack > una && ack <= max) else {
            return false;
        };
        self.at_rest = false;
        let start = self.rx.nxt();
        self.tx.peer_alive();
        self.tx.set_window(now, start, ack, self.scaled(segment));
        self.tx.recovery.loss.mark_echoed = false;
        self.tx.flight.board.first_sacked = Maybe::NONE;
        self.process_next_ack(now, segment, ack, una);
        if let Some(ts) = segment.options.timestamps {
            self.stamps.accepted(now, ts.value, start);
        }
        true
    }

    /// Nothing left the sender when it was asked last, and nothing may before
    /// something else than the next data comes.
    #[inline]
    pub(super) fn rests(&mut self) {
        self.at_rest = self.predicts
            && self.state == State::Established
            && self.dummy_acks == 0
            && self.tx.rests();
    }

    /// An end that only receives: the ACK that is due.
    #[inline(always)] // as `next_ack`
    pub(super) fn transmit_at_rest(&mut self, now: Instant, out: &mut Segment) -> bool {
        let due = self.rx.need() == AckNeed::Now;
        if due {
            self.next_ack(now, out);
        }
        due
    }

    /// Takes the general way alone, as if nothing could be predicted: for tests.
    #[doc(hidden)]
    pub fn set_prediction(&mut self, on: bool) {
        self.general_only = !on;
        self.predicts = self.predicts && on;
        self.at_rest = false;
    }
}
