//! Actions on a loss that several algorithms share.

use crate::config::ReduceFrom;
use crate::congestion::{Ack, Delivery, InForce, Loss};
use crate::flight::{Flight, context};
use crate::reason::Reason;
use crate::record::{Mark, Record, Recorder};
use crate::seq::Offset;
use crate::time::Instant;

/// An ACK of new data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewAck {
    /// Bytes in flight before the ACK.
    pub(crate) in_flight: u64,
    /// Acknowledged data.
    pub(crate) ack: Ack,
    /// SND.UNA before the ACK.
    pub(crate) before: Offset,
}

impl NewAck {
    /// Returns the bytes acknowledged as a signed number.
    pub(super) fn bytes(&self) -> i64 {
        i64::try_from(self.ack.bytes).unwrap_or(i64::MAX)
    }
}

impl Flight {
    /// Returns the bytes from which ssthresh is computed when ACKs show a loss or a mark. Data sent
    /// by limited transmit is subtracted (RFC 5681, 3.2, step 2), except with [`ReduceFrom::Cwnd`].
    pub(crate) fn flight_at_loss(&self) -> u64 {
        let beyond = match self.config().reduce_from {
            ReduceFrom::Cwnd => 0,
            _ => self.loss.limited_sent,
        };
        self.reduced_from().saturating_sub(beyond)
    }

    /// Begins a recovery that lasts until all outstanding data is acknowledged.
    pub(super) fn enter_recovery(&mut self) {
        self.loss.in_recovery = true;
        self.loss.limited_sent = 0;
        self.loss.recover = self.board.max();
        self.loss.force = true;
        self.loss.reduced |= !self.loss.assume_corruption;
        self.loss.repair_end = 0;
    }

    pub(super) fn leave_recovery(&mut self) {
        self.inflation = 0;
        self.loss.in_recovery = false;
        self.loss.dup_acks = 0;
        self.loss.force = false;
    }

    /// Ends a recovery after its repair: removes the inflation, and passes the exit window `window`
    /// to the controller.
    pub(super) fn end_recovery(&mut self, now: Instant, window: u64, recorder: &mut Recorder) {
        self.leave_recovery();
        if !self.loss.assume_corruption {
            let cx = context!(self, now, self.board.flight());
            self.cc.on_recovered(&cx, window);
        }
        recorder.emit(now, Record::Mark(Mark::Recovered));
    }

    /// Reduces the controller's window for a loss of unknown cause, unless such losses are
    /// attributed to corruption. `in_flight` is the FlightSize of the reduction.
    pub(super) fn reduce(
        &mut self,
        now: Instant,
        in_flight: u64,
        loss: Loss,
        by_timeout: bool,
        recorder: &mut Recorder,
    ) {
        if self.loss.assume_corruption {
            return;
        }
        self.begin_episode(by_timeout);
        self.bound_controller();
        let in_flight = self.at_most_window(in_flight);
        self.cc.on_loss(&context!(self, now, in_flight), &loss);
        self.after_reduction(now, false, recorder);
    }

    /// Handles an ACK in slow start by the rule that may end it before a loss.
    #[cold]
    pub(super) fn on_slow_start_ack(
        &mut self,
        now: Instant,
        new: &NewAck,
        recorder: &mut Recorder,
    ) {
        let cx = context!(self, now, new.in_flight);
        let rule = self.rare.as_mut().and_then(|rare| rare.slow_start.as_mut());
        let Some(rule) = rule else {
            self.cc.on_ack(&cx, &new.ack);
            return;
        };
        if let Some(mark) = rule.on_ack(&mut *self.cc, self.extras, &cx, &new.ack) {
            recorder.emit(now, Record::Mark(mark));
            self.keep_slow_start_rule(false);
        }
    }

    /// Handles the end of a reduction of the controller's window: prepares the rule of slow start,
    /// and lets Careful Resume retreat.
    #[inline]
    pub(crate) fn after_reduction(&mut self, now: Instant, timeout: bool, recorder: &mut Recorder) {
        self.keep_slow_start_rule(timeout);
        if self.rare.is_some() {
            self.resume_after_reduction(now, timeout, recorder);
        }
    }

    #[cold]
    fn resume_after_reduction(&mut self, now: Instant, timeout: bool, recorder: &mut Recorder) {
        let Some(rare) = &mut self.rare else { return };
        let Some(resume) = &mut rare.resume else {
            return;
        };
        let at = (self.board.max(), u64::from(self.mss));
        if let Some(mark) = resume.on_reduction(&mut *self.cc, self.extras, at, timeout) {
            recorder.emit(now, Record::Mark(mark));
        }
        rare.end_resume();
    }

    /// Handles an ACK of new data by Careful Resume, after the hooks of the window.
    #[cold]
    pub(super) fn resume_on_ack(&mut self, now: Instant, new: &NewAck, recorder: &mut Recorder) {
        let Some(rare) = &mut self.rare else { return };
        let Some(resume) = &mut rare.resume else {
            return;
        };
        let cx = context!(self, now, self.board.flight());
        let delivery = Delivery {
            bytes: new.ack.bytes,
            flight_before: new.in_flight,
            cwnd_limited: new.ack.cwnd_limited,
            losses: self.board.losses(),
        };
        if let Some(mark) = resume.on_ack(&mut *self.cc, self.extras, &cx, &delivery) {
            recorder.emit(now, Record::Mark(mark));
        }
        rare.end_resume();
    }

    /// Returns whether Careful Resume bounds the window after congestion.
    pub(super) fn retreats(&self) -> bool {
        let resume = self.rare.as_ref().and_then(|rare| rare.resume.as_ref());
        resume.is_some_and(|resume| resume.retreats())
    }

    /// Prepares the rule of slow start for the next slow start, or removes it.
    #[inline]
    pub(crate) fn keep_slow_start_rule(&mut self, timeout: bool) {
        if let Some(rare) = &mut self.rare
            && let Some(rule) = &rare.slow_start
        {
            rare.slow_start = rule.keep(timeout).map(Box::new);
        }
    }

    /// Marks the first unacknowledged segment lost, reduces the controller's window, and begins a
    /// recovery.
    pub(super) fn fast_retransmit(&mut self, now: Instant, recorder: &mut Recorder) {
        recorder.loss(now, Mark::FastRetransmit, Reason::DuplicateAcks);
        let (in_flight, loss) = (self.flight_at_loss(), self.front_loss(now));
        if !self.reduced_for_mark(self.board.una()) {
            self.reduce(now, in_flight, loss, false, recorder);
        }
        self.enter_recovery();
        self.board.lose_front();
    }

    /// Processes an ACK that echoes an ECN mark, with `in_flight` bytes in flight before it.
    /// Reduces the window unless a mark or a loss already did so for this window of data (RFC 3168,
    /// 6.1.2). Returns whether it was reduced.
    pub(crate) fn on_congestion_mark(
        &mut self,
        now: Instant,
        in_flight: u64,
        recorder: &mut Recorder,
    ) -> bool {
        if self.board.una() <= self.loss.marked.max(self.loss.recover) {
            return false;
        }
        let front = self.front_loss(now);
        self.bound_controller();
        let before = self.cc.cwnd();
        let in_flight = self.at_most_window(in_flight);
        let cx = context!(self, now, in_flight);
        self.cc.on_congestion_mark(&cx, &front);
        self.after_reduction(now, false, recorder);
        if self.cc.cwnd() > before {
            self.cc.collapse(before); // the minimum window after a loss exceeds cwnd
        }
        self.loss.marked = self.board.max();
        self.loss.reduced = true;
        true
    }

    /// Returns whether a mark already reduced the window in which the loss at `una` was sent (RFC
    /// 3168, 6.1.2). A controller that counts marks reduces for the loss as well (RFC 8257, 3.5).
    pub(super) fn reduced_for_mark(&self, una: Offset) -> bool {
        una <= self.loss.marked && !self.extras.marks.is_some()
    }

    /// Returns the loss of the first unacknowledged segment.
    pub(super) fn front_loss(&self, now: Instant) -> Loss {
        Loss {
            sent_at: self.board.front().map_or(now, |s| s.at),
        }
    }

    /// Sets the window that the controller chooses at a partial ACK. Returns whether it chose one.
    pub(super) fn set_by_controller(
        &mut self,
        now: Instant,
        new: &NewAck,
        pipe: Option<u64>,
    ) -> bool {
        let in_force = InForce {
            window: self.cwnd(),
            pipe,
        };
        let cx = context!(self, now, new.in_flight);
        let repair = self.extras.repair.of(&*self.cc);
        let chosen = repair.and_then(|repair| repair.partial_ack_window(&cx, &new.ack, in_force));
        if let Some(window) = chosen {
            self.inflate_to(window);
        }
        chosen.is_some()
    }
}
