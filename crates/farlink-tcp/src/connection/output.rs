//! Output of a connection: SYN, data, FIN, acknowledgments, resets.

use super::{Connection, State};
use crate::ack_rate::AckRateOption;
use crate::config::{Eln, SnackForm};
use crate::congestion::Feedback;
use crate::ecn::Ecn;
use crate::fast_open::Extra;
use crate::priority::Dscp;
use crate::reason::Reason;
use crate::receive::AckNeed;
use crate::record::Record;
use crate::segment::{Flags, MAX_SACK_BLOCKS, Options, Segment, Timestamps, reset_for};
use crate::send::{BurstBudget, Chunk};
use crate::seq::{Offset, Seq};
use crate::time::Instant;

/// Bytes of the ELN option in a header.
const ELN_LEN: u32 = 4;
/// Most bytes of options in a header.
const MAX_OPTIONS: u32 = 40;
/// Bytes of a SACK option with two blocks in a header.
const TWO_BLOCKS: u32 = 20;
/// Largest SNACK option in bytes. Of the 40 bytes of options, timestamps and ELN leave 24.
const MAX_SNACK: u32 = 16;

impl Connection {
    /// Returns the next segment to send; `None` when there is nothing to send now.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        let (mut segment, mut burst) = (Segment::default(), BurstBudget::default());
        self.transmit_into(now, &mut burst, &mut segment)
            .then_some(segment)
    }

    /// Returns true if a cheap check shows that [`Self::poll_transmit`] has nothing to send.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.idle && self.rx.need() != AckNeed::Now
    }

    /// Works as [`Self::poll_transmit`] but overwrites `out`. Returns whether there was a segment.
    /// `burst` starts as the default and stays valid as long as only this function is called, with
    /// the same `now`.
    #[inline(always)] // called for each segment sent
    pub fn transmit_into(
        &mut self,
        now: Instant,
        burst: &mut BurstBudget,
        out: &mut Segment,
    ) -> bool {
        if self.idle {
            self.fast_transmit_ack(now, out)
        } else {
            self.fast_transmit(now, burst, out)
        }
    }

    /// Builds the next segment of any kind, in the general way.
    #[inline(never)]
    pub(super) fn transmit(&mut self, now: Instant, out: &mut Segment) -> bool {
        if let Some(reply) = self.reply.take() {
            *out = *reply;
            let reason = if out.flags.has(Flags::RST) {
                Reason::Reset
            } else {
                Reason::Marked
            };
            self.recorder.explain(reason, false);
            return true;
        }
        match self.state {
            State::Closed | State::Listen => {
                self.note_state_unconnected(now);
                return false;
            }
            State::SynSent | State::SynReceived if self.syn_due => {
                self.syn_segment(now, out);
                return true;
            }
            _ => {}
        }
        if self.owes_handshake_ack() {
            self.ack_segment(now, out);
            return true;
        }
        if let Some(chunk) = self.tx.next(now) {
            if chunk.fin {
                self.fin_left();
            }
            self.data_segment(now, &chunk, out);
            return true;
        }
        if let Some(dummies) = &mut self.tx.dummies
            && let end = self.tx.buffer.end()
            && let Some((start, len)) = dummies.next(&mut self.tx.flight, now, end)
        {
            *out = self.dummy_segment(now, start, len);
            return true;
        }
        if self.rx.need() == AckNeed::Now {
            self.ack_segment(now, out);
            return true;
        }
        if self.dummy_acks > 0 {
            self.dummy_acks -= 1;
            *out = self.dummy_ack(now);
            return true;
        }
        if self.lifetime.is_some() {
            if self.keepalive_probe(now, out) {
                return true;
            }
            self.watch_lifetime(now);
        }
        self.note_state(now);
        self.note_idle();
        false
    }

    #[cold]
    fn syn_segment(&mut self, now: Instant, out: &mut Segment) {
        self.syn_due = false;
        let len = self.syn_data(now);
        self.tx.send_syn(now, len);
        let syn = Chunk {
            start: 0,
            len,
            syn: true,
            fin: false,
            retransmission: false,
            why: Some(Reason::Handshake),
        };
        self.data_segment(now, &syn, out);
        let extra = self.syn_extra();
        if extra != Extra::None {
            out.options.extra = extra;
        }
    }

    /// Enters FIN-WAIT-1 or LAST-ACK after our FIN was sent (RFC 9293, 3.10.4).
    fn fin_left(&mut self) {
        match self.state {
            State::Established | State::SynReceived => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            _ => {}
        }
    }

    fn data_segment(&mut self, now: Instant, chunk: &Chunk, out: &mut Segment) {
        self.build_data(now, chunk, out);
    }

    #[inline(always)] // of each segment of a stream, of whose chunk most is known
    pub(super) fn build_data(&mut self, now: Instant, chunk: &Chunk, out: &mut Segment) {
        let Chunk { start, len, .. } = *chunk;
        self.recorder.emit(
            now,
            Record::Sent {
                seq: start.saturating_sub(1),
                len,
                retransmission: chunk.retransmission,
            },
        );
        if self.recorder.on() {
            self.explain_data(chunk);
        }
        let mut flags = Flags::default();
        if chunk.fin {
            flags = flags.with(Flags::FIN);
        }
        if len > 0 && start + u64::from(len) == self.tx.buffer.end() {
            flags = flags.with(Flags::PSH);
        }
        let mut ecn = Ecn::NotEct;
        // Only new data is ECN-capable (RFC 3168, 6.1.5 and 6.1.6).
        let capable = self.agreed.feedback != Feedback::None;
        if capable && len > 0 && !chunk.retransmission && !self.tx.probing() {
            ecn = self.clocks.ecn.codepoint();
            let reduced = std::mem::take(&mut self.tx.flight.loss.reduced);
            if reduced && self.agreed.feedback == Feedback::Classic {
                flags = flags.with(Flags::CWR);
            }
        }
        if chunk.syn {
            *out = self.syn_chunk(now, chunk, flags, ecn);
            return;
        }
        let room = self.tx.flight.mss.saturating_sub(len);
        self.tx.body_into(chunk, &mut out.body);
        self.segment(now, start, flags, ecn, room, out);
        if !self.predicts && len > 0 && self.clocks.ack_rate.is_on() {
            let end = start + u64::from(len);
            self.request_ack_rate(end, &mut out.options, MAX_OPTIONS);
        }
    }

    /// Stores the reason of a chunk being sent.
    #[cold]
    fn explain_data(&mut self, chunk: &Chunk) {
        self.rx.pop_reason(); // the segment has the ACK that was due
        let flight = &self.tx.flight;
        let beyond = flight.loss.dup_acks > 0
            && !flight.loss.in_recovery
            && flight.board.flight() > flight.cc.cwnd();
        let reason = match chunk.why {
            Some(Reason::NewData) if chunk.len == 0 => Reason::EndOfData,
            Some(Reason::NewData) if beyond => Reason::LimitedTransmit,
            Some(reason) => reason,
            None => {
                if let Some(reason) = self.tx.resends.take() {
                    self.recorder.sign(reason);
                }
                self.recorder.pop_sign(self.tx.flight.loss.sacking)
            }
        };
        self.recorder.explain(reason, chunk.retransmission);
    }

    /// Builds a SYN or SYN-ACK, first or retransmitted.
    #[cold]
    fn syn_chunk(&mut self, now: Instant, chunk: &Chunk, flags: Flags, ecn: Ecn) -> Segment {
        let acks = self.state != State::SynSent;
        let bits = self.clocks.ecn.syn_bits(acks);
        let mut flags = flags.with(Flags::SYN).with(bits.flags);
        let mut options = self.timestamps_option(now, acks);
        self.offer(&mut options);
        let taken = options.wire_len() + self.syn_extra().wire_len();
        let room = MAX_OPTIONS.saturating_sub(taken);
        if acks && let Some(option) = self.clocks.ecn.option(room) {
            options.accecn = Some(option);
        }
        let window = self.rx.syn_window();
        let mut ack = Seq::default();
        if acks {
            flags = flags.with(Flags::ACK);
            ack = self.rx.ack();
            self.acknowledges();
        }
        Segment {
            src_port: self.local_port,
            dst_port: self.remote_port,
            seq: self.tx.isn.at(chunk.start),
            ack,
            flags,
            window,
            ecn,
            ae: bits.ae,
            options,
            body: self.tx.body(chunk),
            ..Segment::default()
        }
    }

    pub(super) fn ack_segment(&mut self, now: Instant, out: &mut Segment) {
        self.build_ack(now, out);
    }

    #[inline(always)] // Called for each ACK of an end that only receives.
    pub(super) fn build_ack(&mut self, now: Instant, out: &mut Segment) {
        self.recorder.emit(now, Record::AckSent);
        if self.recorder.on() {
            let reason = self.rx.pop_reason();
            self.recorder.explain(reason, false);
        }
        let (none, start) = (Flags::default(), self.tx.flight.ack_position());
        out.body.set_len(0);
        self.segment(now, start, none, Ecn::NotEct, u32::MAX, out);
    }

    /// Builds the segment at `start` of our stream without its body: ACK, window, and the options
    /// that fit into `room` bytes.
    #[inline(always)] // each of the two callers fixes some arguments
    fn segment(
        &mut self,
        now: Instant,
        start: Offset,
        flags: Flags,
        ecn: Ecn,
        room: u32,
        out: &mut Segment,
    ) {
        out.options.set_plain(self.timestamps(now, true));
        if self.rx.may_report() || self.agreed.feedback == Feedback::Accurate {
            self.report(&mut out.options, room);
        }
        out.window = self.rx.advertise();
        self.acknowledges();
        (out.src_port, out.dst_port) = (self.local_port, self.remote_port);
        out.seq = self.tx.isn.at(start);
        out.ack = self.rx.ack();
        out.flags = flags.with(Flags::ACK);
        out.ae = false;
        if self.agreed.echo {
            out.flags = out.flags.with(Flags::ECE);
        } else if self.agreed.feedback == Feedback::Accurate {
            self.write_count(room == u32::MAX, out);
        }
        out.ecn = ecn;
        out.dscp = Dscp::DEFAULT;
        out.dummy = false;
    }

    /// Updates the state for a segment, about to be sent, that acknowledges all in-order data.
    #[inline]
    fn acknowledges(&mut self) {
        self.stamps.last_ack_sent = self.rx.nxt();
        self.rx.acknowledged(&mut self.tx.flight.timers);
    }

    /// Adds the options of a SYN.
    #[cold]
    pub(super) fn offer(&self, options: &mut Options) {
        options.mss = Some(self.config().mss.min(u32::from(u16::MAX)) as u16);
        options.window_scale = self.scaling.then(|| self.rx.shift());
        options.sack_permitted = self.agreed.sack;
        options.scps = self.snack.offer();
        options.ackp = self.config().notices.ackp.is_some();
        options.nack = self.config().notices.nack;
        let room = MAX_OPTIONS.saturating_sub(options.wire_len() + self.syn_extra().wire_len());
        if self.clocks.ack_rate.offers(self.state != State::SynSent) && room >= 4 {
            options.ack_rate = Some(AckRateOption::Capable);
        }
    }

    /// Adds the options that report missing data (ELN, SNACK, SACK), in up to `room` bytes.
    #[inline(never)]
    fn report(&mut self, options: &mut Options, mut room: u32) {
        if room >= ELN_LEN && self.config().notices.eln != Eln::Off && self.rx.expects_damaged() {
            options.eln = true;
            room -= ELN_LEN;
        }
        if self.snack.on() {
            let long = self.snack == SnackForm::Long;
            let room = room.min(MAX_SNACK);
            let snack = self.rx.snack(long, u64::from(self.tx.flight.mss), room);
            if let Some(snack) = snack {
                options.extra = Extra::Snack(snack);
            }
        }
        let blocks = self.agreed.sack && self.rx.has_report();
        if self.agreed.feedback == Feedback::Accurate {
            // Two SACK blocks come first (RFC 9768, 3.2.3.3).
            let kept = if blocks { TWO_BLOCKS } else { 0 };
            let free = MAX_OPTIONS.saturating_sub(options.wire_len());
            let space = free.min(room).saturating_sub(kept);
            if let Some(option) = self.clocks.ecn.option(space) {
                room -= option.wire_len();
                options.accecn = Some(option);
            }
        }
        if blocks {
            // 40 bytes of options hold three blocks beside timestamps.
            let max = match (self.agreed.timestamps, options.eln) {
                (true, true) => MAX_SACK_BLOCKS - 2,
                (false, false) => MAX_SACK_BLOCKS,
                _ => MAX_SACK_BLOCKS - 1,
            };
            let free = MAX_OPTIONS - options.wire_len();
            let fit = (free.min(room).saturating_sub(4) / 8) as usize;
            if fit > 0 {
                let blocks = self.rx.report(max.min(fit));
                if !blocks.is_empty() {
                    options.set_sack(blocks);
                }
            }
        }
    }

    /// Returns options with only Timestamps, or none if timestamps are not agreed.
    #[inline]
    pub(super) fn timestamps_option(&self, now: Instant, acks: bool) -> Options {
        self.timestamps(now, acks).into()
    }

    #[inline]
    fn timestamps(&self, now: Instant, acks: bool) -> Option<Timestamps> {
        self.agreed
            .timestamps
            .then(|| self.stamps.option(now, acks))
    }

    /// Builds a reset at the next sequence number that the peer expects, so that the peer accepts
    /// it. It has timestamps as any other segment (RFC 7323, 3.2).
    pub(super) fn reset(&self, now: Instant) -> Segment {
        Segment {
            src_port: self.local_port,
            dst_port: self.remote_port,
            seq: self.tx.isn.at(self.tx.flight.board.max()),
            ack: self.rx.ack(),
            flags: Flags::RST.with(Flags::ACK),
            options: self.timestamps_option(now, true),
            ..Segment::default()
        }
    }

    /// Builds the reset that answers `segment` of another connection between the same ports.
    #[cold]
    pub(super) fn reset_of(&self, now: Instant, segment: &Segment) -> Option<Box<Segment>> {
        let mut reset = reset_for(segment)?;
        reset.options = self.timestamps_option(now, reset.flags.has(Flags::ACK));
        Some(Box::new(reset))
    }
}
