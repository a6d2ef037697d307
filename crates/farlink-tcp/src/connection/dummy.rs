//! Dummy segments and their ACKs, marked by a reserved bit of the TCP header
//! (Akyildiz, Morabito, Palazzo 2001).
//!
//! They stand outside of the flow of data: neither says anything of sequence
//! numbers, windows or time stamps, because in their class they may be overtaken
//! by anything that left after them.

use super::{Connection, State};
use crate::config::DummyReply;
use crate::priority::Priority;
use crate::record::Record;
use crate::segment::{Flags, Segment};
use crate::seq::Offset;
use crate::time::Instant;

impl Connection {
    /// Takes a segment that is marked as a dummy, or as the ACK of one. Returns
    /// whether that is all; otherwise it is a segment as any other.
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

    /// A dummy: the data that left last, once more.
    #[cold]
    pub(super) fn dummy_segment(&mut self, now: Instant, start: Offset, len: u32) -> Segment {
        self.recorder.emit(now, Record::DummySent);
        let mut segment = self.marked(now);
        segment.seq = self.tx.isn.at(start);
        segment.body = self.tx.dummy_body(start, len);
        segment
    }

    /// The ACK of a dummy.
    #[cold]
    pub(super) fn dummy_ack(&mut self, now: Instant) -> Segment {
        self.recorder.emit(now, Record::AckSent);
        let mut segment = self.marked(now);
        segment.seq = self.tx.isn.at(self.tx.flight.ack_position());
        segment
    }

    /// Header of both. It acknowledges nothing that waits for an ACK, since it may
    /// well be lost, and says nothing of blocks.
    fn marked(&mut self, now: Instant) -> Segment {
        Segment {
            src_port: self.local_port,
            dst_port: self.remote_port,
            flags: Flags::ACK,
            ack: self.rx.ack(),
            window: self.rx.advertise(),
            options: self.timestamps_option(now, true),
            priority: Priority::Low,
            dummy: true,
            ..Segment::default()
        }
    }
}
