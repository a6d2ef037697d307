//! Processing of arriving segments, in the order of RFC 9293, 3.10.7.

use super::{CloseReason, Connection, Event, State};
use crate::accecn::Negotiation;
use crate::config::EcnMode;
use crate::congestion::Feedback;
use crate::flight::context;
use crate::reason::Reason;
use crate::record::{Mark, Record};
use crate::recovery::AckKind;
use crate::segment::{Flags, Segment, TIMESTAMPS_LEN, reset_for};
use crate::seq::Offset;
use crate::time::{Instant, Interval};
use crate::timers::Timer;
use std::sync::Arc;

/// Least time between two challenge ACKs of a connection. RFC 5961, 7, leaves the
/// number to the implementation; this is `tcp_invalid_ratelimit` of Linux.
const CHALLENGE_EVERY: Interval = Interval::from_millis(500);
/// Smallest MSS option that is accepted: 68 bytes, the least MTU of IPv4 (RFC 791, 3.2), minus
/// headers. Smaller values come from attackers.
const MIN_MSS: u32 = 28;

impl Connection {
    /// Processes a segment for this connection, whose checksum is verified.
    #[inline(always)] // one call site
    pub fn on_segment(&mut self, now: Instant, segment: &Segment) {
        if !self.fast_on_segment(now, segment) {
            self.process_segment(now, segment);
        }
    }

    /// Processes any segment in the general way.
    #[inline(never)]
    fn process_segment(&mut self, now: Instant, segment: &Segment) {
        self.idle = false;
        if self.clocks.joining.is_none() || !self.holds_back(now, segment) {
            self.process_single(now, segment);
        }
    }

    /// Processes a segment that is not held back.
    #[inline(always)] // like `process_segment`
    pub(super) fn process_single(&mut self, now: Instant, segment: &Segment) {
        match self.state {
            State::Closed => self.reply = reset_for(segment).map(Box::new),
            State::Listen => self.on_listen(now, segment),
            State::SynSent => self.on_syn_sent(now, segment),
            _ => self.on_synchronized(now, segment),
        }
    }

    /// Processes a segment in LISTEN (RFC 9293, 3.10.7.2).
    #[cold]
    fn on_listen(&mut self, now: Instant, segment: &Segment) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        if segment.flags.has(Flags::ACK) {
            self.reply = reset_for(segment).map(Box::new);
            return;
        }
        if segment.flags.has(Flags::SYN) {
            self.remote_port = segment.src_port;
            self.agreed.feedback = self.clocks.ecn.on_syn(segment);
            self.process_syn(now, segment);
            self.state = State::SynReceived;
            self.syn_due = true;
            if self.fast_open.is_some() {
                self.process_fast_open(now, segment);
            }
        }
    }

    /// Processes a segment in SYN-SENT (RFC 9293, 3.10.7.3).
    #[cold]
    fn on_syn_sent(&mut self, now: Instant, segment: &Segment) {
        let acked = if segment.flags.has(Flags::ACK) {
            match segment.ack.offset(self.tx.isn, 0) {
                Some(ack) if ack > 0 && ack <= self.tx.flight.board.max() => Some(ack),
                _ => {
                    self.reply = reset_for(segment).map(Box::new);
                    return;
                }
            }
        } else {
            None
        };
        if segment.flags.has(Flags::RST) {
            if acked.is_some() {
                self.end(now, CloseReason::Refused);
            }
            return;
        }
        if !segment.flags.has(Flags::SYN) {
            return;
        }
        self.peer_alive(now);
        self.process_syn(now, segment);
        if let Some(ack) = acked {
            self.agreed.feedback = self.clocks.ecn.on_syn_ack(segment);
            self.acknowledge_syn(now, segment, ack);
            self.respond_to_marked_handshake();
            if self.fast_open.is_some() {
                self.process_fast_open_answer(segment);
            }
            self.rx.acknowledge_now(Reason::Handshake);
            self.established(now);
            // Data, FIN and other flags of the SYN-ACK are processed as in ESTABLISHED.
            self.process_first_text(now, segment);
        } else {
            // Simultaneous open: the SYN goes out again, now with an ACK.
            self.state = State::SynReceived;
            if self.config().ecn.mode == EcnMode::Accurate {
                self.agreed.feedback = self.clocks.ecn.on_syn(segment); // RFC 9768, 3.1.2
            }
            self.tx.flight.board.lose_all();
        }
    }

    /// Processes sequence number, options and window of the peer's SYN.
    fn process_syn(&mut self, now: Instant, segment: &Segment) {
        self.rx.synchronize(segment.seq);
        let options = &segment.options;
        self.agreed.sack &= options.sack_permitted;
        self.snack = self.snack.agreed(options.scps.unwrap_or_default());
        self.agreed.timestamps &= options.timestamps.is_some();
        if let Some(ts) = options.timestamps {
            self.stamps.synchronize(now, ts.value);
        }
        if let (true, Some(shift)) = (self.scaling, options.window_scale) {
            self.agreed.peer_shift = shift.min(14);
        } else {
            self.scaling = false;
            self.rx.without_scaling();
        }
        // RFC 9293, 3.7.1: 536 bytes when the option is absent.
        let peer = options.mss.map_or(536, u32::from).max(MIN_MSS);
        let mut mss = self.config().mss.min(peer);
        if self.agreed.timestamps {
            mss = mss.saturating_sub(TIMESTAMPS_LEN).max(1);
        }
        self.clocks.ack_rate.on_syn(options.ack_rate);
        let reserved = self.clocks.ack_rate.reserved();
        if reserved > 0 {
            mss = mss.saturating_sub(reserved).max(1);
        }
        let config = Arc::clone(self.config());
        self.tx.negotiated(&config, mss, self.agreed.sack);
        if !self.snack.on() {
            self.tx.recovery.without_snack();
        }
        self.tx.update_window(now, 0, 0, u64::from(segment.window));
    }

    pub(super) fn acknowledge_syn(&mut self, now: Instant, segment: &Segment, ack: Offset) {
        let echoed = self.echoed(now, segment);
        let (recovery, flight) = self.tx.parts();
        let before = recovery.before_ack(flight, now, echoed);
        self.tx.acknowledge(now, ack, echoed, &mut self.recorder);
        self.tx.skip_sample(now);
        self.tx.flight.restart_timer(now);
        let kind = AckKind {
            ack,
            duplicate: None,
            bare: false,
        };
        let (recovery, flight) = self.tx.parts();
        recovery.detect_losses(flight, now, (before, kind), &mut self.recorder);
    }

    pub(super) fn established(&mut self, now: Instant) {
        self.state = State::Established;
        if !self.tx.early {
            self.events.push(Event::Established);
        }
        self.recorder.emit(now, Record::Mark(Mark::Established));
        self.predicts = self.can_predict();
        let (feedback, tx) = (self.agreed.feedback, &mut self.tx);
        if let Some(counting) = tx.flight.extras.marks.of_mut(&mut *tx.flight.cc) {
            counting.on_agreed(feedback);
        }
        tx.flight.cc.on_established(&context!(tx.flight, now, 0));
        self.record_state(now);
    }

    /// Returns the send time of the segment whose timestamp the peer echoes.
    pub(super) fn echoed(&self, now: Instant, segment: &Segment) -> Option<Instant> {
        let ts = segment
            .options
            .timestamps
            .filter(|_| self.agreed.timestamps)?;
        self.stamps.sent_at(now, ts.echo)
    }

    /// Processes a segment in a synchronized state (RFC 9293, 3.10.7.4).
    fn on_synchronized(&mut self, now: Instant, segment: &Segment) {
        if segment.dummy && self.process_dummy(now, segment) {
            return;
        }
        let flags = segment.flags;
        let Some(start) = self.rx.offset(segment.seq) else {
            self.refuse(now, flags);
            return;
        };
        if self.agreed.timestamps
            && !flags.has(Flags::RST)
            && !self.passes_paws(now, segment, start)
        {
            return;
        }
        if self.state == State::SynReceived && flags.has(Flags::SYN) {
            self.syn_again(now, segment, start);
            return;
        }
        // First, the sequence number.
        let acceptable = self.is_acceptable(segment, start);
        if !acceptable && !self.process_unacceptable(now, segment, start) {
            return;
        }
        // Second, RST.
        if flags.has(Flags::RST) {
            self.process_reset(now, start);
            return;
        }
        // Fourth, SYN: a challenge ACK (RFC 5961, 4.2).
        if flags.has(Flags::SYN) {
            if flags.has(Flags::ACK) {
                self.clocks.ecn.on_syn_ack_again(segment);
            }
            self.challenge(now);
            return;
        }
        if self.is_of_base_station(segment) {
            self.process_base_station_ack(now, segment);
            return;
        }
        // Fifth, ACK.
        if !flags.has(Flags::ACK) || !self.process_ack(now, segment, start) || !acceptable {
            return;
        }
        if let Some(ts) = segment.options.timestamps {
            self.stamps.accepted(now, ts.value, start);
        }
        self.fin_in_time_wait(now, flags);
        if let Some(option) = segment.options.ack_rate {
            self.follow_ack_rate(option, segment);
        }
        self.process_text(now, segment, start);
    }

    /// Checks a segment against wrapped sequence numbers (PAWS; RFC 7323, 5.3, R1). Returns false
    /// for an old duplicate, and for a segment without timestamps (RFC 7323, 3.2).
    #[inline]
    fn passes_paws(&mut self, now: Instant, segment: &Segment, start: Offset) -> bool {
        let Some(ts) = segment.options.timestamps else {
            return false;
        };
        let old = self.stamps.is_old(now, ts.value);
        if old {
            self.note_duplicate(segment, start);
            self.note_refused(now, segment, start);
            self.refuse(now, segment.flags);
        }
        !old
    }

    /// Returns whether a segment at `start` is acceptable (RFC 9293, 3.4).
    #[inline]
    fn is_acceptable(&self, segment: &Segment, start: Offset) -> bool {
        let (nxt, window) = (self.rx.nxt(), self.rx.window());
        let space = u64::from(segment.seq_len());
        if space == 0 {
            // The ACKs of a peer that has filled our window have SEQ = RCV.NXT + RCV.WND. RFC 9293,
            // 3.4, refuses them, so that the loss of one segment of that window would cost all ACKs
            // after it. BSD and Linux accept them.
            let edge = nxt + window;
            let at_edge = start == edge && !segment.flags.has(Flags::RST);
            start >= nxt && (start < edge || at_edge) || start == nxt
        } else {
            window > 0 && start < nxt + window && start + space > nxt
        }
    }

    /// Answers an unacceptable segment. Returns whether its ACK must still be processed.
    fn process_unacceptable(&mut self, now: Instant, segment: &Segment, start: Offset) -> bool {
        let flags = segment.flags;
        if flags.has(Flags::RST) {
            return false;
        }
        let (nxt, window) = (self.rx.nxt(), self.rx.window());
        let space = u64::from(segment.seq_len());
        self.fin_in_time_wait(now, flags);
        self.note_duplicate(segment, start);
        self.note_refused(now, segment, start);
        if space > 0 && start + space <= nxt && !flags.has(Flags::SYN) {
            let timers = &mut self.tx.flight.timers;
            self.rx.acknowledge_again(now, Reason::Duplicate, timers);
        } else {
            self.refuse(now, flags);
        }
        // With a closed window valid ACKs are still processed (RFC 9293, 3.4, MUST-66). The same
        // holds for ACKs with SEQ = RCV.NXT - 1, from a peer that has not seen the acceptance of
        // its window probe's byte. Otherwise two such peers would refuse each other's ACKs without
        // end.
        let before_probe = start + 1 == nxt && space <= 1;
        before_probe || (window == 0 && start == nxt)
    }

    /// Processes a reset (RFC 5961, 3.2).
    fn process_reset(&mut self, now: Instant, start: Offset) {
        if start != self.rx.nxt() {
            self.challenge(now);
        } else if self.returns_to_listen() {
            self.listen_again();
        } else {
            let reason = match self.state {
                State::SynReceived if self.active => CloseReason::Refused,
                State::TimeWait => CloseReason::Done,
                _ => CloseReason::Reset,
            };
            self.end(now, reason);
        }
    }

    /// Returns whether a segment comes from a base station and not from the peer: a partial
    /// (west1997, 3.4) or negative acknowledgment.
    #[inline]
    fn is_of_base_station(&self, segment: &Segment) -> bool {
        segment.options.nack || (segment.options.ackp && self.config().notices.ackp.is_some())
    }

    /// Processes a partial or negative acknowledgment.
    #[cold]
    fn process_base_station_ack(&mut self, now: Instant, segment: &Segment) {
        if !segment.flags.has(Flags::ACK) || segment.seq_len() > 0 {
            return;
        }
        if let Some(how) = self.config().notices.ackp.filter(|_| segment.options.ackp) {
            self.process_partial_ack(now, segment, how);
        } else if self.config().notices.nack {
            self.process_nack(now, segment);
        }
    }

    /// Processes data and FIN of a SYN-ACK.
    #[cold]
    #[inline(never)]
    fn process_first_text(&mut self, now: Instant, segment: &Segment) {
        self.process_text(now, segment, 1);
    }

    /// Processes acceptable data out of order, or data that fills a hole.
    #[inline(never)]
    pub(super) fn process_text_around_holes(
        &mut self,
        now: Instant,
        segment: &Segment,
        start: Offset,
    ) {
        self.process_text(now, segment, start);
    }

    /// Processes data that begins at `start`, and FIN (RFC 9293, 3.10.7.4, steps seven and eight).
    #[inline(always)] // called for each segment
    fn process_text(&mut self, now: Instant, segment: &Segment, start: Offset) {
        let (nxt, window) = (self.rx.nxt(), self.rx.window());
        if self.receiving() {
            self.note_duplicate(segment, start);
        }
        let data = u64::from(segment.body.len());
        let fresh = data > 0 && start + data > nxt && start < nxt + window;
        let ecn = self.agreed.feedback != Feedback::None;
        let changed = ecn && self.process_echo(now, segment, fresh);
        if data > 0 && self.receiving() && !self.process_data(now, segment, start) {
            return;
        }
        if ecn && (changed || self.counts_codepoint(segment)) {
            self.rx.acknowledge_now(Reason::Marked);
        }

        // Eighth, FIN, if all data before it is within the window.
        let fin = segment.flags.has(Flags::FIN);
        if fin && start + data <= nxt + window && self.receiving() {
            self.rx.fin(start + data);
        }
        if self.rx.finished() {
            self.peer_finished(now);
        }
    }

    /// Processes data that begins at `start`. Returns whether the connection still exists.
    #[inline(always)] // like `process_text`
    pub(super) fn process_data(&mut self, now: Instant, segment: &Segment, start: Offset) -> bool {
        let (nxt, window) = (self.rx.nxt(), self.rx.window());
        let data = u64::from(segment.body.len());
        let from = start.max(nxt);
        let to = (start + data).min(nxt + window);
        if self.read_shut && from < to {
            self.abort(now);
            return false;
        }
        if from < to {
            let duplicate = self.rx.holds(from, to);
            let record = Record::Arrived {
                seq: start.saturating_sub(1),
                len: data as u32,
                fresh: !duplicate && self.rx.would_keep(from, to),
                duplicate,
                out_of_order: start > nxt,
            };
            self.recorder.emit(now, record);
            let bytes = segment
                .body
                .bytes()
                .map(|b| &b[(from - start) as usize..(to - start) as usize]);
            let before = self.rx.delivered();
            self.rx.tune(now, self.echo_age(now, segment));
            let len = (to - from) as u32;
            self.rx
                .data(now, from, len, bytes, &mut self.tx.flight.timers);
            let total = self.rx.delivered();
            if total != before {
                self.recorder.emit(now, Record::Delivered { total });
            }
        } else {
            self.note_refused(now, segment, start);
            self.rx.acknowledge_now(Reason::Refused);
        }
        true
    }

    /// Returns the age of the timestamp that a segment echoes.
    #[inline]
    pub(super) fn echo_age(&self, now: Instant, segment: &Segment) -> Option<Interval> {
        let echo = segment
            .options
            .timestamps
            .filter(|_| self.agreed.timestamps)?
            .echo;
        self.stamps.age(now, echo)
    }

    /// Notes the part of a segment at `start` that is a duplicate (RFC 2883).
    #[inline]
    fn note_duplicate(&mut self, segment: &Segment, start: Offset) {
        let space = u64::from(segment.seq_len());
        if self.agreed.sack && space > 0 && !segment.flags.has(Flags::SYN) {
            self.rx.note_duplicate(start, start + space);
        }
    }

    /// Records data that is dropped, because it is a duplicate or the window has no room.
    fn note_refused(&mut self, now: Instant, segment: &Segment, start: Offset) {
        let len = segment.body.len();
        if len > 0 && !segment.flags.has(Flags::SYN) {
            let nxt = self.rx.nxt();
            let record = Record::Arrived {
                seq: start.saturating_sub(1),
                len,
                fresh: false,
                duplicate: start + u64::from(len) <= nxt,
                out_of_order: start > nxt,
            };
            self.recorder.emit(now, record);
        }
    }

    /// Processes a SYN in SYN-RECEIVED. A repeated SYN of the peer gets another SYN-ACK, because
    /// the peer may have missed the first, and a bare ACK would not help. A different SYN in the
    /// window returns a passive open to LISTEN (RFC 9293, 3.10.7.4); its sender will repeat that
    /// SYN.
    fn syn_again(&mut self, now: Instant, segment: &Segment, start: Offset) {
        let flags = segment.flags;
        let inside = start > 0 && start < self.rx.nxt() + self.rx.window();
        if start == 0 && !flags.has(Flags::ACK) {
            if !self.clocks.ecn.on_syn_again(segment) {
                self.abort(now);
            } else if self.may_challenge(now) {
                self.lose_syn();
            }
        } else if start == 0 {
            // Simultaneous open: the repeated SYN is old, but its ACK field gets an answer.
            self.rx.acknowledge_now(Reason::Handshake);
        } else if inside && flags.has(Flags::RST) {
            self.challenge(now);
        } else if inside && self.returns_to_listen() {
            self.listen_again();
        } else {
            self.refuse(now, flags);
        }
    }

    /// Answers an unacceptable segment with an ACK. A segment with a SYN comes from another
    /// connection or an attacker, and gets a challenge ACK.
    fn refuse(&mut self, now: Instant, flags: Flags) {
        if flags.has(Flags::SYN) {
            self.challenge(now);
        } else {
            self.rx.acknowledge_now(Reason::Answer);
        }
    }

    /// Sends a challenge ACK (RFC 5961, 3.2, 4.2 and 5.2) if the rate limit allows.
    pub(super) fn challenge(&mut self, now: Instant) {
        if self.may_challenge(now) {
            self.rx.acknowledge_now(Reason::Answer);
        }
    }

    /// Returns whether the rate limit allows another challenge ACK now, and counts it (RFC 5961,
    /// 7).
    fn may_challenge(&mut self, now: Instant) -> bool {
        let may = now >= self.clocks.challenge_at;
        if may {
            self.clocks.challenge_at = now + CHALLENGE_EVERY;
        }
        may
    }

    /// Restarts TIME-WAIT if the peer repeats its FIN, because our ACK of it was lost (RFC 9293,
    /// 3.10.7.4).
    fn fin_in_time_wait(&mut self, now: Instant, flags: Flags) {
        if self.state == State::TimeWait && flags.has(Flags::FIN) {
            self.wait_for_old_segments(now);
            self.rx.acknowledge_now(Reason::Fin);
        }
    }

    /// Marks the SYN lost. Data sent after the SYN may still arrive.
    fn lose_syn(&mut self) {
        if self.tx.early {
            self.tx.flight.board.lose_front();
        } else {
            self.tx.flight.board.lose_all();
        }
    }

    /// Returns whether the connection may return to LISTEN. It must be a passive open, and its
    /// application must not have received an event or closed.
    fn returns_to_listen(&self) -> bool {
        let open = self.tx.buffer.fin().is_none();
        self.state == State::SynReceived && !self.active && !self.tx.early && open
    }

    /// Returns to LISTEN after a reset in SYN-RECEIVED of a passive open. Data that the application
    /// wrote waits for the next peer, and its settings stay.
    fn listen_again(&mut self) {
        let listening = Self::listen(Arc::clone(self.config()), self.local_port, self.tx.isn);
        let before = std::mem::replace(self, listening);
        self.tx.settings_of(before.tx);
        self.rx.settings_of(&before.rx);
        self.fast_open = before.fast_open;
        self.recorder = before.recorder;
        self.general_only = before.general_only;
        self.sender_state = before.sender_state;
        self.clocks = before.clocks;
        self.clocks.ecn = Negotiation::new(self.config().ecn);
    }

    /// Returns whether data and FIN of the peer are still accepted in this state.
    fn receiving(&self) -> bool {
        matches!(
            self.state,
            State::Established | State::FinWait1 | State::FinWait2
        )
    }

    fn peer_finished(&mut self, now: Instant) {
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => {
                self.state = State::Closing;
                if self.tx.fin_acknowledged() {
                    self.enter_time_wait(now);
                }
            }
            State::FinWait2 => self.enter_time_wait(now),
            _ => return,
        }
        self.idle = false;
        self.events.push(Event::PeerClosed);
    }

    pub(super) fn enter_time_wait(&mut self, now: Instant) {
        self.state = State::TimeWait;
        self.tx.flight.timers.stop(Timer::Retransmission);
        self.tx.flight.timers.stop(Timer::Persist);
        self.tx.recovery.stop_rack(&mut self.tx.flight);
        self.wait_for_old_segments(now);
    }

    /// Starts the timer of TIME-WAIT (2 MSL) again.
    fn wait_for_old_segments(&mut self, now: Instant) {
        let at = now + self.config().lifetime.msl * 2;
        self.tx.flight.timers.set(Timer::TimeWait, at);
    }
}
