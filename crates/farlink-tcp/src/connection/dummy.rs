//! Dummy segments and their ACKs, marked by a reserved bit of the TCP header
//! (Akyildiz, Morabito, Palazzo 2001).
//!
//! Dummies are no part of the data stream. Their sequence numbers, windows and timestamps are
//! ignored, because low-priority segments may be overtaken by any later segment.

use super::{Connection, State};
use crate::config::DummyReply;
use crate::priority::Dscp;
use crate::reason::Reason;
use crate::record::Record;
use crate::segment::{Flags, Segment};
use crate::seq::Offset;
use crate::time::Instant;

impl Connection {
    /// Processes a dummy segment or the ACK of a dummy. Returns false if `segment` is neither and
    /// must be processed normally.
    #[cold]
    pub(super) fn process_dummy(&mut self, now: Instant, segment: &Segment) -> bool {
        let control = Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0;
        let plain = segment.flags.0 & control == 0 && segment.flags.has(Flags::ACK);
        if !plain || self.state == State::SynReceived {
            return false;
        }
        if segment.body.is_empty() {
            let max = self.tx.flight.board.max();
            let ack = segment.ack.offset(self.tx.isn, self.tx.flight.board.una());
            let (flight, recorder) = (&mut self.tx.flight, &mut self.recorder);
            if ack.is_some_and(|ack| ack <= max)
                && let Some(dummies) = &mut self.tx.dummies
                && dummies.on_ack(flight, now, recorder)
            {
                self.record_state(now);
            }
            return true;
        }
        match self.config().receiver.dummies {
            DummyReply::Plain => return false,
            DummyReply::Ignore => {}
            DummyReply::Echo => self.dummy_acks += 1,
        }
        true
    }

    /// Builds a dummy: a copy of the data sent last.
    #[cold]
    pub(super) fn dummy_segment(&mut self, now: Instant, start: Offset, len: u32) -> Segment {
        self.recorder.emit(now, Record::DummySent);
        self.recorder.explain(Reason::Dummy, false);
        let mut segment = self.marked(now);
        segment.seq = self.tx.isn.at(start);
        segment.body = self.tx.dummy_body(start, len);
        segment
    }

    /// Builds the ACK of a dummy.
    #[cold]
    pub(super) fn dummy_ack(&mut self, now: Instant) -> Segment {
        self.recorder.emit(now, Record::AckSent);
        self.recorder.explain(Reason::DummyAck, false);
        let mut segment = self.marked(now);
        segment.seq = self.tx.isn.at(self.tx.flight.ack_position());
        segment
    }

    /// Builds the header of a dummy or of its ACK. The header leaves delayed ACKs pending, because
    /// the segment may well be lost, and has no SACK blocks.
    fn marked(&mut self, now: Instant) -> Segment {
        Segment {
            src_port: self.local_port,
            dst_port: self.remote_port,
            flags: Flags::ACK,
            ack: self.rx.ack(),
            window: self.rx.advertise(),
            options: self.timestamps_option(now, true),
            dscp: Dscp::LE,
            dummy: true,
            ..Segment::default()
        }
    }
}
