//! Processing of the ACK field: delivered data, selective and duplicate ACKs, the window, and signs
//! of losses (RFC 9293, 3.10.7.4, the fifth check; RFC 5681; RFC 6675).

use super::{CloseReason, Connection, State};
use crate::config::Eln;
use crate::congestion::Ack;
use crate::fast_open::Extra;
use crate::maybe::Maybe;
use crate::record::Record;
use crate::recovery::frto::{self, FrtoAck};
use crate::recovery::rack::{self, AckKind};
use crate::recovery::{self, NewAck, eln, nack, prr, snack};
use crate::segment::{Flags, Segment};
use crate::seq::Offset;
use crate::spurious;
use crate::time::Instant;

impl Connection {
    /// The ACK field. Returns whether the rest of the segment counts.
    pub(super) fn take_ack(&mut self, now: Instant, segment: &Segment, start: Offset) -> bool {
        let una = self.tx.board.una();
        let max = self.tx.board.max();
        let ack = segment.ack.offset(self.tx.isn, una);
        if self.state == State::SynReceived && !self.ends_handshake(now, segment, start, ack) {
            return false;
        }
        let una = self.tx.board.una();
        // Older than any window, or of what was never sent (RFC 5961, 5.2).
        let Some(ack) = ack.filter(|&ack| ack <= max && ack + self.tx.max_wnd() >= una) else {
            self.challenge(now);
            return false;
        };
        self.tx.heard();
        self.heard(now);
        let window = self.scaled(segment);
        let same_window = window == self.tx.wnd();
        if ack >= una {
            self.tx.update_window(now, start, ack, window);
        }
        let receives = ack == una && self.tx.board.is_empty() && !self.general_only;
        if receives && self.tx.plain() && Self::is_plain(segment) {
            // An ACK to an end that only receives data moves nothing.
            self.tx.loss.mark_echoed = false;
            return self.after_ack(now);
        }
        if ack > una || (ack == una && !self.tx.board.is_empty()) {
            self.recorder.emit(
                now,
                Record::Ack {
                    ack: ack.saturating_sub(1),
                    window,
                },
            );
        }
        let rated = self.tx.rated_flight();
        let before = prr::before_ack(&self.tx);
        let timed = if self.tx.loss.rack().is_some() {
            let echoed = self.echoed(now, segment);
            rack::before_ack(&mut self.tx, now, echoed)
        } else {
            None
        };
        let marked = ack >= una && self.ecn.echoes(segment.flags);
        let flight_before = if marked { self.tx.flight_at_loss() } else { 0 };
        self.tx.loss.mark_echoed = marked;
        // A sender without the scoreboard of RFC 6675 does not know what SACK says.
        let sacking = self.sack && self.tx.loss.sacking();
        let duplicate = if self.sack {
            spurious::duplicate_report(&segment.options.sack, self.tx.isn, una, ack)
        } else {
            None
        };
        // In a recovery the first segment goes again anyway.
        let damaged =
            segment.options.eln && self.config().eln != Eln::Off && !self.tx.loss.in_recovery;
        let news = if sacking {
            self.take_sacks(now, segment, ack)
        } else {
            0
        };
        let bare = segment.body.is_empty() && !segment.flags.has(Flags::FIN);
        let plain = || bare && same_window && segment.options.sack.as_slice().is_empty();
        let mut another = false;
        if ack > una {
            let recovering = self.tx.loss.in_recovery;
            self.take_new_ack(now, segment, ack, una);
            if damaged && !self.tx.board.is_empty() {
                eln::on_marked_ack(&mut self.tx, now, false, &mut self.recorder);
                self.record_state(now);
            }
            // With SACK news it is a duplicate ACK as well (RFC 6675, 2 and 5).
            if news > 0 && !recovering && !damaged && !nack::is_repairing(&self.tx, now) {
                recovery::on_dup_ack(&mut self.tx, now, &mut self.recorder);
                self.record_state(now);
            }
        } else if ack == una && !self.tx.board.is_empty() {
            if news > 0 {
                self.tx.sacked_only(now, &mut self.recorder);
            }
            another = if sacking {
                news > 0
            } else {
                bare && same_window
                    && window > 0
                    && duplicate.is_none()
                    && !self.tx.answers_a_dummy(now, self.recorder.rtt_min())
            };
            if damaged {
                eln::on_marked_ack(&mut self.tx, now, another, &mut self.recorder);
                self.record_state(now);
            } else if another {
                if nack::is_repairing(&self.tx, now) {
                    nack::on_dup_ack(&mut self.tx, now, &mut self.recorder);
                } else {
                    recovery::on_dup_ack(&mut self.tx, now, &mut self.recorder);
                }
                self.record_state(now);
            }
        }
        if let (true, Some(snack)) = (self.tx.loss.snacking(), segment.options.extra.snack())
            && ack == self.tx.board.una()
        {
            snack::on_snack(&mut self.tx, now, snack, &mut self.recorder);
            self.record_state(now);
        }
        if let Some(range) = duplicate {
            spurious::on_duplicate_report(&mut self.tx, now, range, &mut self.recorder);
            self.record_state(now);
        }
        if self.tx.spurious.frto != frto::Frto::Off && ack >= una {
            let ack = FrtoAck {
                before: una,
                news: news > 0,
                duplicate: another || (ack == una && plain()),
            };
            frto::on_ack(&mut self.tx, now, ack, &mut self.recorder);
            self.record_state(now);
        }
        if let Some(before) = timed {
            let kind = AckKind {
                ack,
                duplicate,
                bare: plain(),
            };
            rack::after_ack(&mut self.tx, now, before, kind, &mut self.recorder);
            self.record_state(now);
        }
        if marked && recovery::on_congestion_mark(&mut self.tx, now, flight_before) {
            self.record_state(now);
        }
        if let Some(flight) = rated {
            self.tx.sample_rate(now, flight);
            self.record_state(now);
        }
        if before.is_some_and(|before| prr::after_ack(&mut self.tx, before)) {
            self.record_state(now);
        }
        self.after_ack(now)
    }

    /// An ACK in SYN-RECEIVED. Returns whether it is of our SYN.
    #[cold]
    fn ends_handshake(
        &mut self,
        now: Instant,
        segment: &Segment,
        start: Offset,
        ack: Option<Offset>,
    ) -> bool {
        let (una, max) = (self.tx.board.una(), self.tx.board.max());
        if ack.is_none_or(|a| a == 0 || a > max) || max == 0 {
            self.reply = self.reset_of(now, segment);
            return false;
        }
        if una == 0 {
            let timeouts = self.tx.timeouts_in_row();
            self.acknowledge_syn(now, segment, 1);
            if !self.tx.early {
                self.tx.after_lost_syns(timeouts);
            }
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
            && options.extra == Extra::None
            && !options.eln
            && !segment.flags.has(Flags::ECE)
    }

    #[inline]
    pub(super) fn scaled(&self, segment: &Segment) -> u64 {
        u64::from(segment.window) << self.peer_shift
    }

    #[inline]
    fn take_sacks(&mut self, now: Instant, segment: &Segment, ack: Offset) -> u64 {
        let mut news = 0;
        self.tx.board.first_sacked = Maybe::NONE;
        for block in segment.options.sack.as_slice() {
            let near = self.tx.board.una();
            let (Some(left), Some(right)) = (
                block.left.offset(self.tx.isn, near),
                block.right.offset(self.tx.isn, near),
            ) else {
                continue;
            };
            // Below the ACK is a duplicate report (RFC 2883); beyond what was
            // sent is nonsense.
            if left < ack || right <= left || right > self.tx.board.max() {
                continue;
            }
            let fresh = self.tx.board.sack(left, right);
            if fresh > 0 {
                news += fresh;
                let record = Record::Sacked {
                    left: left.saturating_sub(1),
                    right: right - 1,
                };
                self.recorder.emit(now, record);
            }
        }
        news
    }

    #[inline(never)] // what most ACKs take is inlined once
    fn take_new_ack(&mut self, now: Instant, segment: &Segment, ack: Offset, una: Offset) {
        self.take_next_new_ack(now, segment, ack, una);
    }

    #[inline(always)] // of each ACK that is what was expected
    pub(super) fn take_next_new_ack(
        &mut self,
        now: Instant,
        segment: &Segment,
        ack: Offset,
        una: Offset,
    ) {
        let echoed = self.echoed(now, segment);
        let cwnd_limited = self.tx.cwnd_limited();
        let (flight, acked, rtt_sample) = self.tx.acknowledge(now, ack, echoed, &mut self.recorder);
        if let Some(newreno) = self.tx.loss.newreno_mut() {
            newreno.echo_of_latest = match (segment.options.timestamps, acked.latest) {
                (Some(ts), Some(at)) => ts.echo == self.stamps.at(at),
                _ => false,
            };
        }
        self.tx.judge_silence(now);
        let ack = Ack {
            bytes: acked.len,
            rtt_sample,
            fine_rtt: acked.sample_from.map(|at| now.since(at)),
            cwnd_limited,
        };
        let new = NewAck {
            flight,
            ack,
            before: una,
        };
        recovery::on_new_ack(&mut self.tx, now, &new, &mut self.recorder);
        let echo = segment.options.timestamps.filter(|_| self.timestamps);
        spurious::on_new_ack(
            &mut self.tx,
            now,
            &ack,
            echo.map(|ts| ts.echo),
            |at| self.stamps.at(at),
            &mut self.recorder,
        );
        self.record_state(now);
    }

    /// State changes that an acknowledged FIN brings.
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
