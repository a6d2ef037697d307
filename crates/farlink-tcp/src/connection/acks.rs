//! Processing of the ACK field (RFC 9293, 3.10.7.4, the fifth check; RFC 5681; RFC 6675).
//!
//! The order of the blocks of [`Connection::process_ack`] decides results:
//!
//! 1. The handshake ends, or the segment is refused (RFC 5961, 5.2). A refused ACK changes nothing.
//! 2. The send window is updated before any block sends. At an end that only receives, processing
//!    stops here.
//! 3. The sender's state is stored for later comparison by rate samples, PRR, RACK-TLP and marks.
//! 4. SACK blocks enter the scoreboard before the ACK moves SND.UNA. Newly SACKed data decides
//!    whether the ACK is a duplicate (RFC 6675, 2), and may give the RTT sample.
//! 5. New data is acknowledged, or the ACK is a duplicate. Either may begin or end a recovery.
//! 6. Reports of losses follow: SNACK, then D-SACK, which may undo a reduction of block 5.
//! 7. F-RTO classifies a time-out after D-SACK and Eifel, because these are more reliable.
//! 8. RACK-TLP detects losses by time, once all deliveries of the ACK are known.
//! 9. An ECN mark reduces the window last, unless a loss of the same window already did (RFC 3168,
//!    6.1.2).
//! 10. The rate sample follows the hooks of the window, as in Linux (`tcp_cong_control`).
//! 11. PRR sets the window from the pipe after all other blocks (RFC 9937, 6).

use super::{CloseReason, Connection, State};
use crate::config::Eln;
use crate::congestion::{Ack, Feedback};
use crate::maybe::Maybe;
use crate::record::Record;
use crate::recovery::frto::{Frto, FrtoAck};
use crate::recovery::{AckKind, BeforeAck, NewAck, duplicate_report};
use crate::segment::{Flags, Segment};
use crate::send::Sender;
use crate::seq::Offset;
use crate::time::Instant;

/// An acceptable ACK, and the state of the sender before it.
pub(super) struct Arrival {
    pub(super) ack: Offset,
    /// SND.UNA before the ACK.
    pub(super) una: Offset,
    window: u64,
    same_window: bool,
    /// Set if the segment has neither data nor FIN.
    bare: bool,
    /// Set if the segment is a pure ACK: no data, no new window, no SACK block.
    plain: bool,
    /// Set if the ACK has an ELN mark outside of recovery. In recovery the first segment is
    /// retransmitted in any case.
    damaged: bool,
    /// Set if the scoreboard of RFC 6675 is used.
    sacking: bool,
    /// Range that the ACK reports as a duplicate (D-SACK).
    duplicate: Option<(Offset, Offset)>,
    /// Base of a reduction before this ACK, if the ACK echoes a congestion mark.
    pub(super) marked: Option<u64>,
    /// Bytes in the network before this ACK, for a controller that takes rate samples.
    rated: Option<u64>,
    before: BeforeAck,
}

impl Connection {
    /// Processes the ACK field. Returns whether the rest of the segment must be processed.
    pub(super) fn process_ack(&mut self, now: Instant, segment: &Segment, start: Offset) -> bool {
        let una = self.tx.flight.board.una();
        let max = self.tx.flight.board.max();
        let ack = segment.ack.offset(self.tx.isn, una);
        if self.state == State::SynReceived && !self.ends_handshake(now, segment, start, ack) {
            return false;
        }
        let una = self.tx.flight.board.una();
        // The ACK is older than any window, or acknowledges data never sent (RFC 5961, 5.2).
        let largest = self.tx.flight.peer.largest;
        let Some(ack) = ack.filter(|&ack| ack <= max && ack + largest >= una) else {
            self.challenge(now);
            return false;
        };
        self.tx.peer_alive();
        self.peer_alive(now);
        let window = self.scaled(segment);
        let same_window = window == self.tx.flight.peer.size;
        if ack >= una {
            self.tx.update_window(now, start, ack, window);
        }
        let empty = self.tx.flight.board.is_empty();
        let receives = ack == una && empty && !self.general_only;
        if receives
            && self.tx.plain()
            && Self::is_plain(segment)
            && self.agreed.feedback != Feedback::Accurate
        {
            // At an end that only receives, an ACK changes no sender state.
            self.tx.flight.loss.mark_echoed = false;
            return self.after_ack(now);
        }
        if ack > una || (ack == una && !empty) {
            let ack = ack.saturating_sub(1);
            self.recorder.emit(now, Record::Ack { ack, window });
        }
        let mut arrival = self.before_ack(now, segment, ack, same_window);
        let newly_sacked = if arrival.sacking {
            self.process_sack_blocks(now, segment, ack)
        } else {
            0
        };
        if self.counts_marks() {
            self.count_marks(now, segment, &mut arrival, newly_sacked);
        }
        let duplicate = if ack > una {
            self.process_cumulative_ack(now, segment, &arrival, newly_sacked);
            false
        } else {
            ack == una && !empty && self.process_same_ack(now, &arrival, newly_sacked)
        };
        self.process_loss_signs(now, segment, &arrival, (newly_sacked > 0, duplicate));
        self.after_ack(now)
    }

    /// Stores the ACK and the sender state with which later blocks compare.
    fn before_ack(
        &mut self,
        now: Instant,
        segment: &Segment,
        ack: Offset,
        same_window: bool,
    ) -> Arrival {
        let una = self.tx.flight.board.una();
        let options = &segment.options;
        let echoed = self.echoed(now, segment);
        let rated = self.tx.rated_flight();
        let (recovery, flight) = self.tx.parts();
        let before = recovery.before_ack(flight, now, echoed);
        let marked = ack >= una
            && self.agreed.feedback == Feedback::Classic
            && segment.flags.has(Flags::ECE);
        flight.loss.mark_echoed = marked;
        let bare = segment.body.is_empty() && !segment.flags.has(Flags::FIN);
        Arrival {
            ack,
            una,
            window: self.scaled(segment),
            same_window,
            bare,
            plain: bare && same_window && options.sack.is_empty(),
            damaged: options.eln
                && self.config().notices.eln != Eln::Off
                && !self.tx.flight.loss.in_recovery,
            // A sender without the scoreboard of RFC 6675 ignores SACK blocks.
            sacking: self.agreed.sack && self.tx.flight.loss.sacking,
            duplicate: if self.agreed.sack {
                duplicate_report(&options.sack, self.tx.isn, una, ack)
            } else {
                None
            },
            marked: marked.then(|| self.tx.flight.flight_at_loss()),
            rated,
            before,
        }
    }

    /// Processes an ACK of new data. If the ACK also SACKs new data, it is a duplicate ACK as well
    /// (RFC 6675, 2 and 5).
    fn process_cumulative_ack(
        &mut self,
        now: Instant,
        segment: &Segment,
        arrival: &Arrival,
        newly_sacked: u64,
    ) {
        let recovering = self.tx.flight.loss.in_recovery;
        self.process_new_ack(now, segment, arrival.ack, arrival.una);
        if arrival.damaged && !self.tx.flight.board.is_empty() {
            self.process_marked_ack(now, false);
        }
        if newly_sacked > 0 && !recovering && !arrival.damaged && !self.repairs_nack(now) {
            self.process_dup_ack(now);
        }
    }

    /// Processes an ACK for the first unacknowledged byte. Returns whether it is a duplicate ACK.
    fn process_same_ack(&mut self, now: Instant, arrival: &Arrival, newly_sacked: u64) -> bool {
        if newly_sacked > 0 {
            self.tx.sacked_only(now, &mut self.recorder);
        }
        let duplicate = if arrival.sacking {
            newly_sacked > 0
        } else {
            arrival.bare
                && arrival.same_window
                && arrival.window > 0
                && arrival.duplicate.is_none()
                && !self.answers_dummy(now)
        };
        if arrival.damaged {
            self.process_marked_ack(now, duplicate);
        } else if duplicate && self.repairs_nack(now) {
            let flight = &mut self.tx.flight;
            flight.on_dup_ack_of_nacked(now, &mut self.recorder);
            self.record_state(now);
        } else if duplicate {
            self.process_dup_ack(now);
        }
        duplicate
    }

    fn process_marked_ack(&mut self, now: Instant, duplicate: bool) {
        let flight = &mut self.tx.flight;
        flight.on_marked_ack(now, duplicate, &mut self.recorder);
        self.record_state(now);
    }

    fn process_dup_ack(&mut self, now: Instant) {
        let (recovery, flight) = self.tx.parts();
        recovery.on_dup_ack(flight, now, &mut self.recorder);
        self.record_state(now);
    }

    fn repairs_nack(&self, now: Instant) -> bool {
        self.tx.flight.repairs_nack(now)
    }

    /// Returns whether an apparent duplicate ACK answers a dummy segment.
    fn answers_dummy(&mut self, now: Instant) -> bool {
        let rtt_min = self.recorder.rtt_min();
        let flight = &mut self.tx.flight;
        self.tx
            .dummies
            .as_mut()
            .is_some_and(|dummies| dummies.are_answered(flight, now, rtt_min))
    }

    /// Processes blocks 6 to 11: SNACK, D-SACK, F-RTO, RACK-TLP, marks, rate sample, PRR.
    fn process_loss_signs(
        &mut self,
        now: Instant,
        segment: &Segment,
        arrival: &Arrival,
        (newly_sacked, duplicate): (bool, bool),
    ) {
        let &Arrival { ack, una, .. } = arrival;
        let (recovery, flight) = self.tx.parts();
        if let Some(snack) = segment.options.extra.snack()
            && ack == flight.board.una()
            && recovery.on_snack(flight, now, snack, &mut self.recorder)
        {
            self.record_state(now);
        }
        if let Some(range) = arrival.duplicate {
            self.process_duplicate_report(now, range);
        }
        if self.tx.frto != Frto::Off && ack >= una {
            self.process_frto_ack(now, arrival, newly_sacked, duplicate);
        }
        let (recovery, flight) = self.tx.parts();
        let kind = AckKind {
            ack,
            duplicate: arrival.duplicate,
            bare: arrival.plain,
        };
        if recovery.detect_losses(flight, now, (arrival.before, kind), &mut self.recorder) {
            self.record_state(now);
        }
        if let Some(in_flight) = arrival.marked
            && self
                .tx
                .flight
                .on_congestion_mark(now, in_flight, &mut self.recorder)
        {
            self.record_state(now);
        }
        if let Some(in_flight) = arrival.rated {
            self.tx.sample_rate(now, in_flight);
            self.record_state(now);
        }
        let (recovery, flight) = self.tx.parts();
        if recovery.reduce_by_prr(flight, arrival.before) {
            self.record_state(now);
        }
    }

    /// Processes a D-SACK: data arrived twice, so a reduction may have been needless.
    fn process_duplicate_report(&mut self, now: Instant, range: (Offset, Offset)) {
        let (recovery, flight) = self.tx.parts();
        if recovery.on_duplicate_report(flight, now, range, &mut self.recorder) {
            self.tx.frto = Frto::Off;
        }
        self.record_state(now);
    }

    /// Passes an ACK to F-RTO, which decides whether the last time-out was spurious.
    fn process_frto_ack(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        newly_sacked: bool,
        duplicate: bool,
    ) {
        let before = arrival.una;
        let ack = FrtoAck {
            before,
            newly_sacked,
            duplicate: duplicate || (arrival.ack == before && arrival.plain),
            fresh: self.tx.unsent_segment().is_some(),
            sacking: self.tx.flight.loss.sacking,
        };
        let Sender {
            recovery,
            flight,
            frto,
            ..
        } = &mut self.tx;
        if frto.on_ack(flight, ack) {
            let acked = flight.board.una() - before;
            recovery.undo_timeout(flight, now, acked, &mut self.recorder);
        }
        self.record_state(now);
    }

    /// Processes an ACK in SYN-RECEIVED. Returns whether the ACK acknowledges our SYN.
    #[cold]
    fn ends_handshake(
        &mut self,
        now: Instant,
        segment: &Segment,
        start: Offset,
        ack: Option<Offset>,
    ) -> bool {
        let (una, max) = (self.tx.flight.board.una(), self.tx.flight.board.max());
        if ack.is_none_or(|a| a == 0 || a > max) || max == 0 {
            self.reply = self.reset_of(now, segment);
            return false;
        }
        if una == 0 {
            self.clocks.ecn.on_handshake_ack(segment);
            let timeouts = self.tx.flight.timeouts_in_row;
            self.acknowledge_syn(now, segment, 1);
            if !self.tx.early {
                self.tx.flight.after_lost_syns(timeouts);
            }
            self.respond_to_marked_handshake();
        }
        self.established(now);
        self.tx.update_window(now, start, 1, self.scaled(segment));
        true
    }

    /// Returns whether a segment carries no information about losses or marks.
    #[inline]
    fn is_plain(segment: &Segment) -> bool {
        let options = &segment.options;
        options.sack.is_empty()
            && options.extra.is_plain()
            && !options.eln
            && !segment.flags.has(Flags::ECE)
    }

    #[inline]
    pub(super) fn scaled(&self, segment: &Segment) -> u64 {
        u64::from(segment.window) << self.agreed.peer_shift
    }

    #[inline]
    fn process_sack_blocks(&mut self, now: Instant, segment: &Segment, ack: Offset) -> u64 {
        let mut newly_sacked = 0;
        self.tx.flight.board.first_sacked = Maybe::NONE;
        for block in segment.options.sack.as_slice() {
            let near = self.tx.flight.board.una();
            let (Some(left), Some(right)) = (
                block.left.offset(self.tx.isn, near),
                block.right.offset(self.tx.isn, near),
            ) else {
                continue;
            };
            // A block below the ACK is a D-SACK (RFC 2883); a block beyond SND.MAX is invalid.
            if left < ack || right <= left || right > self.tx.flight.board.max() {
                continue;
            }
            let fresh = self.tx.flight.board.sack(left, right);
            if fresh > 0 {
                newly_sacked += fresh;
                let record = Record::Sacked {
                    left: left.saturating_sub(1),
                    right: right - 1,
                };
                self.recorder.emit(now, record);
            }
        }
        newly_sacked
    }

    #[inline(never)] // Most ACKs take an inlined copy instead.
    fn process_new_ack(&mut self, now: Instant, segment: &Segment, ack: Offset, una: Offset) {
        self.process_new_ack_inline(now, segment, ack, una);
    }

    /// Processes an ACK of new data: first its samples, then recovery or growth of the window.
    #[inline(always)] // called for each expected ACK
    pub(super) fn process_new_ack_inline(
        &mut self,
        now: Instant,
        segment: &Segment,
        ack: Offset,
        una: Offset,
    ) {
        let echoed = self.echoed(now, segment);
        let cwnd_limited = self.tx.flight.cwnd_limited();
        let (in_flight, acked, rtt_sample) =
            self.tx.acknowledge(now, ack, echoed, &mut self.recorder);
        let (stamps, recorder) = (&self.stamps, &mut self.recorder);
        let Sender {
            recovery,
            flight,
            frto,
            dummies,
            ..
        } = &mut self.tx;
        recovery.note_echo(|| match (segment.options.timestamps, acked.latest) {
            (Some(ts), Some(at)) => ts.echo == stamps.at(at),
            _ => false,
        });
        if let Some(dummies) = dummies {
            dummies.check_support(flight, now);
        }
        let new = NewAck {
            in_flight,
            ack: Ack {
                bytes: acked.len,
                rtt_sample,
                fine_rtt: acked.sample_from.map(|at| now.since(at)),
                cwnd_limited,
            },
            before: una,
        };
        recovery.on_new_ack(flight, now, &new, recorder);
        if flight.loss.spurious.in_episode() {
            let echo = segment
                .options
                .timestamps
                .filter(|_| self.agreed.timestamps);
            let echo = (echo.map(|ts| ts.echo), |at| stamps.at(at));
            if recovery.detect_by_eifel(flight, now, &new, echo, recorder) {
                *frto = Frto::Off;
            }
        }
        self.record_state(now);
    }

    /// Changes the state if our FIN is acknowledged. Returns whether the connection still exists.
    fn after_ack(&mut self, now: Instant) -> bool {
        if self.tx.fin_acknowledged() {
            match self.state {
                State::FinWait1 => self.state = State::FinWait2,
                State::Closing => self.enter_time_wait(now),
                State::LastAck => {
                    self.end(now, CloseReason::Done);
                    return false;
                }
                _ => {}
            }
        }
        true
    }
}
