//! Procedures shared by LAPB and MDLP: acknowledgment delay, time-out and poll, and re-establishing
//! the link.

use super::frame::{Frame, FrameKind, Outcome};
use super::window::Sending;
use farlink_tcp::{Instant, Interval};

/// Action of a link after N2 time-outs in a row (Wong 1998, 5.1.1). The count restarts with each
/// acknowledgment of a retransmitted frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GiveUp {
    /// Retries for ever.
    Never,
    /// SABME and UA: both ends throw away all that is queued, and begin again at
    /// number 0.
    Reset(u32),
    /// SABME and UA with N(R): nothing is thrown away. The receiver hands on what
    /// it holds and no longer waits for what is missing; the sender goes on at
    /// N(R).
    BestEffort(u32),
}

impl GiveUp {
    fn reached(self, retries: u32) -> bool {
        match self {
            Self::Never => false,
            Self::Reset(n2) | Self::BestEffort(n2) => retries >= n2,
        }
    }

    /// Returns whether re-establishing the link keeps the queue.
    pub(super) fn keeps_queue(self) -> bool {
        matches!(self, Self::BestEffort(_))
    }
}

/// From when the retransmission timer runs, T1 of LAPB and T200 of MDLP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RetryFrom {
    /// From the end of the last I frame: each one starts it anew (Wong 1998,
    /// 3.2.3.1). It stands still while an I frame is at the MAC, so a frame longer
    /// than it does not time out unsent.
    #[default]
    LastFrame,
    /// From the end of the first I frame that is not acknowledged; an
    /// acknowledgment that leaves others open starts it anew (ITU-T Q.921, 5.6.1
    /// and 5.6.3).
    FirstFrame,
}

/// Meaning of a UA for the receiving side of its station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// Nothing.
    None,
    /// The peer numbers from 0 again.
    Renewed,
}

/// The sending side and the timers of a balanced station.
#[derive(Clone, Debug)]
pub(super) struct Station {
    pub(super) send: Sending,
    /// T1 of LAPB, T200 of MDLP.
    retransmit_after: Interval,
    retry_from: RetryFrom,
    /// T2 of LAPB, T205 of MDLP.
    ack_delay: Interval,
    give_up: GiveUp,
    retry_at: Instant,
    ack_at: Instant,
    retries: u32,
    awaiting_ua: bool,
    sabme_due: bool,
    ua_due: bool,
    rr_due: bool,
    final_due: bool,
}

impl Station {
    pub(super) fn new(
        send: Sending,
        (retransmit_after, retry_from): (Interval, RetryFrom),
        ack_delay: Interval,
        give_up: GiveUp,
    ) -> Self {
        Self {
            send,
            retransmit_after,
            retry_from,
            ack_delay,
            give_up,
            retry_at: Instant::MAX,
            ack_at: Instant::MAX,
            retries: 0,
            awaiting_ua: false,
            sabme_due: false,
            ua_due: false,
            rr_due: false,
            final_due: false,
        }
    }

    /// Returns whether frames of the old numbering must be ignored.
    pub(super) fn deaf(&self) -> bool {
        self.awaiting_ua && !self.give_up.keeps_queue()
    }

    pub(super) fn keeps_queue(&self) -> bool {
        self.give_up.keeps_queue()
    }

    pub(super) fn awaiting_ua(&self) -> bool {
        self.awaiting_ua
    }

    #[inline]
    pub(super) fn deadline(&self) -> Instant {
        self.retry_at.min(self.ack_at)
    }

    /// SABME or UA, if one is due.
    #[inline]
    pub(super) fn mode_setting(&mut self, nr: u8) -> Option<Frame> {
        if std::mem::take(&mut self.sabme_due) {
            return Some(Frame::control(FrameKind::Sabme, 0, true));
        }
        if std::mem::take(&mut self.ua_due) {
            self.acknowledged();
            return Some(Frame::control(FrameKind::Ua, nr, true));
        }
        None
    }

    /// RR, if one is due.
    #[inline]
    pub(super) fn ready(&mut self, nr: u8) -> Option<Frame> {
        self.rr_due
            .then(|| self.response(FrameKind::ReceiveReady, nr))
    }

    /// RR or REJ, with the final bit if a poll waits for it.
    pub(super) fn response(&mut self, kind: FrameKind, nr: u8) -> Frame {
        let fin = std::mem::take(&mut self.final_due);
        self.acknowledged();
        Frame::control(kind, nr, fin)
    }

    /// An I frame with the packet of `number`.
    #[inline]
    pub(super) fn information(&mut self, number: u64, nr: u8, poll: bool) -> Frame {
        self.acknowledged();
        if self.retry_from == RetryFrom::LastFrame {
            self.retry_at = Instant::MAX;
        }
        let slot = self.send.slot(number);
        slot.sent_at = Instant::MAX;
        slot.again = false;
        Frame {
            ns: self.send.wire(number),
            item: self.send.item(number),
            ..Frame::control(FrameKind::Information, nr, poll)
        }
    }

    /// Records that a frame handed to the MAC carries N(R).
    fn acknowledged(&mut self) {
        self.ack_at = Instant::MAX;
        self.rr_due = false;
    }

    /// An I frame came: it is acknowledged now or soon.
    #[inline]
    pub(super) fn owe_ack(&mut self, now: Instant, poll: bool) {
        if poll {
            self.rr_due = true;
            self.final_due = true;
        } else if self.ack_at == Instant::MAX && !self.rr_due {
            self.ack_at = now + self.ack_delay;
        }
    }

    #[inline]
    pub(super) fn confirm(&mut self, now: Instant, frame: &Frame) {
        let running = match frame.kind {
            FrameKind::Information => {
                let starts =
                    self.retry_from == RetryFrom::LastFrame || self.retry_at == Instant::MAX;
                starts && !self.awaiting_ua && self.send.outstanding() > 0
            }
            FrameKind::Sabme => self.awaiting_ua,
            _ => false,
        };
        if running {
            self.retry_at = now + self.retransmit_after;
        }
        if frame.kind == FrameKind::Information
            && let Some(number) = self.send.find(frame.ns)
        {
            self.send.slot(number).sent_at = now;
        }
    }

    /// An N(R) came.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Instant, nr: u8, outcomes: &mut Vec<Outcome>) {
        if self.awaiting_ua {
            return;
        }
        if let Some(number) = self.send.find_ack(nr)
            && number > self.send.una
        {
            self.send.release(number, outcomes);
            self.retries = 0;
            if self.send.outstanding() == 0 {
                self.retry_at = Instant::MAX;
            } else if self.retry_from == RetryFrom::FirstFrame && self.retry_at != Instant::MAX {
                self.retry_at = now + self.retransmit_after;
            }
        }
    }

    /// Retransmits from `nr` on, if that is what was acknowledged last.
    pub(super) fn go_back_to(&mut self, nr: u8) {
        if self.send.find_ack(nr) == Some(self.send.una) {
            self.go_back();
        }
    }

    /// Retransmits everything from the first unacknowledged frame on.
    pub(super) fn go_back(&mut self) {
        self.send.next = self.send.una;
        if self.retry_from == RetryFrom::FirstFrame {
            self.retry_at = Instant::MAX;
        }
    }

    /// The peer answered a poll.
    pub(super) fn answered(&mut self) {
        self.retries = 0;
    }

    pub(super) fn on_ack_timer(&mut self, now: Instant) {
        if self.ack_at <= now {
            self.ack_at = Instant::MAX;
            self.rr_due = true;
        }
    }

    /// Returns whether T1 expired and frames must be sent again. The link may have to be
    /// re-established instead.
    pub(super) fn on_retry_timer(&mut self, now: Instant, outcomes: &mut Vec<Outcome>) -> bool {
        if self.retry_at > now {
            return false;
        }
        self.retry_at = Instant::MAX;
        if self.awaiting_ua {
            self.sabme_due = true;
            return false;
        }
        self.retries += 1;
        if !self.give_up.reached(self.retries) {
            return true;
        }
        outcomes.push(Outcome::Reset);
        self.renew(outcomes);
        self.awaiting_ua = true;
        self.sabme_due = true;
        false
    }

    /// Forgets what was owed; without best effort, also what was to be sent.
    fn renew(&mut self, outcomes: &mut Vec<Outcome>) {
        self.retries = 0;
        if !self.give_up.keeps_queue() {
            self.send.reset(outcomes);
            self.final_due = false;
            self.acknowledged();
        }
    }

    /// The peer re-establishes the link. The caller renews the receiving side.
    pub(super) fn on_sabme(&mut self, outcomes: &mut Vec<Outcome>) {
        self.ua_due = true;
        if !self.give_up.keeps_queue() {
            self.renew(outcomes);
            if !self.awaiting_ua {
                self.retry_at = Instant::MAX;
            }
        }
    }

    /// The peer agrees. One that nothing waits for answers an earlier SABME, after
    /// which the peer began at 0 once more.
    pub(super) fn on_ua(&mut self, nr: u8, outcomes: &mut Vec<Outcome>) -> Answer {
        let waited = std::mem::take(&mut self.awaiting_ua);
        if !waited {
            return if self.give_up.keeps_queue() {
                Answer::None
            } else {
                Answer::Renewed
            };
        }
        self.sabme_due = false;
        self.retry_at = Instant::MAX;
        if self.give_up.keeps_queue() {
            if let Some(number) = self.send.find_ack(nr) {
                self.send.release(number, outcomes);
            }
            self.send.next = self.send.una;
        }
        Answer::None
    }
}
