//! Header prediction (Jacobson 1990). A bulk transfer consists of two kinds of segments: data, and
//! ACKs of new data without options that report losses. A few comparisons recognise both.

use crate::congestion::Feedback;
use crate::connection::{Connection, State};
use crate::ecn::Ecn;
use crate::maybe::Maybe;
use crate::recovery::frto::Frto;
use crate::segment::{Flags, Segment};
use crate::time::Instant;

/// Flags that exclude a segment from the fast path.
const SPECIAL: Flags = Flags::SYN
    .with(Flags::FIN)
    .with(Flags::RST)
    .with(Flags::ECE)
    .with(Flags::CWR);

impl Connection {
    /// Processes an expected segment. Returns false if the segment needs
    /// [`Connection::process_segment`].
    #[inline(always)] // called for each segment
    pub(in crate::connection) fn fast_on_segment(
        &mut self,
        now: Instant,
        segment: &Segment,
    ) -> bool {
        let options = &segment.options;
        let expected = self.predicts
            && self.state == State::Established
            && segment.flags.0 & (SPECIAL.0 | Flags::ACK.0) == Flags::ACK.0
            && options.are_plain()
            && !segment.dummy
            && !segment.ae
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
            segment.seq == self.rx.ack() && self.fast_ack(now, segment)
        } else {
            self.fast_data(now, segment)
        }
    }

    /// Processes data that fits the window, at an end that has nothing to send.
    #[inline(always)] // one call site
    fn fast_data(&mut self, now: Instant, segment: &Segment) -> bool {
        let (una, len) = (self.tx.flight.board.una(), segment.body.len());
        let expected = self.tx.flight.board.is_empty()
            && segment.ack == self.tx.isn.at(una)
            && !self.read_shut;
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
        if self.agreed.feedback != Feedback::None {
            self.tx.flight.loss.mark_echoed = false;
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
            .fast_data(now, len, bytes, &mut self.tx.flight.timers);
        true
    }

    /// Processes a pure ACK of new data.
    #[inline(always)] // one call site
    fn fast_ack(&mut self, now: Instant, segment: &Segment) -> bool {
        let (una, max) = (self.tx.flight.board.una(), self.tx.flight.board.max());
        let ack = segment.ack.offset(self.tx.isn, una);
        let Some(ack) = ack.filter(|&ack| ack > una && ack <= max) else {
            return false;
        };
        self.idle = false;
        let start = self.rx.nxt();
        self.tx.peer_alive();
        self.tx.set_window(now, start, ack, self.scaled(segment));
        self.tx.flight.loss.mark_echoed = false;
        self.tx.flight.board.first_sacked = Maybe::NONE;
        self.process_new_ack_inline(now, segment, ack, una);
        if let Some(ts) = segment.options.timestamps {
            self.stamps.accepted(now, ts.value, start);
        }
        true
    }
}
