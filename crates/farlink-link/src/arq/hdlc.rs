//! Procedures that LAPB and MDLP share: acknowledgment delay, time-out, poll, and re-establishing
//! the link.

use super::frame::{Frame, FrameKind, Outcome};
use super::window::Sending;
use farlink_tcp::{Instant, Interval};

/// Action of a sender after N2 consecutive time-outs (Wong 1998, 5.1.1). A new acknowledgment or
/// the answer to a poll resets the count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GiveUp {
    /// Retransmits without limit.
    Never,
    /// Exchanges SABME and UA. Both ends discard all queued packets and restart their numbering at
    /// 0.
    Reset(u32),
    /// Exchanges SABME and UA with N(R), and discards nothing. The receiver delivers its buffered
    /// packets and gives up the missing ones. The sender continues at N(R).
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

/// Start of the retransmission timer: T1 of LAPB, T200 of MDLP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RetryFrom {
    /// Each I frame restarts the timer when its transmission ends (Wong 1998, 3.2.3.1). The timer
    /// is stopped while the MAC holds an I frame, so no frame times out before it is sent.
    #[default]
    LastFrame,
    /// The timer starts at the end of the first unacknowledged I frame. An acknowledgment that
    /// leaves frames outstanding restarts it (ITU-T Q.921, 5.6.1 and 5.6.3).
    FirstFrame,
}

/// Effect of a UA on the receiving side of the station that gets it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// No effect.
    None,
    /// The peer restarted its numbering at 0.
    Renewed,
}

/// Sending side and timers of a station in asynchronous balanced mode.
#[derive(Clone, Debug)]
pub(super) struct Station {
    pub(super) send: Sending,
    /// Duration of T1 (LAPB) or T200 (MDLP).
    retransmit_after: Interval,
    retry_from: RetryFrom,
    /// Duration of T2 (LAPB) or T205 (MDLP).
    ack_delay: Interval,
    give_up: GiveUp,
    retry_at: Instant,
    ack_at: Instant,
    retries: u32,
    /// Least N(R) (as a packet number) that restarts `retries`; 0 if any new N(R) does.
    count_ends: u64,
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
            count_ends: 0,
            awaiting_ua: false,
            sabme_due: false,
            ua_due: false,
            rr_due: false,
            final_due: false,
        }
    }

    /// Returns whether received frames must be ignored, because they use the numbering from before
    /// the reset.
    pub(super) fn ignores_frames(&self) -> bool {
        self.awaiting_ua && !self.give_up.keeps_queue()
    }

    pub(super) fn keeps_queue(&self) -> bool {
        self.give_up.keeps_queue()
    }

    pub(super) fn awaiting_ua(&self) -> bool {
        self.awaiting_ua
    }

    /// Returns whether no supervisory frame precedes a new packet.
    pub(super) fn takes_new(&self) -> bool {
        let supervisory = self.sabme_due || self.ua_due || self.rr_due;
        !supervisory && !self.awaiting_ua && self.send.takes_new()
    }

    #[inline]
    pub(super) fn deadline(&self) -> Instant {
        self.retry_at.min(self.ack_at)
    }

    /// Returns the SABME or UA that is due, if any.
    #[inline]
    pub(super) fn mode_setting(&mut self, nr: u8) -> Option<Frame> {
        if std::mem::take(&mut self.sabme_due) {
            return Some(Frame::control(FrameKind::Sabme, 0, true));
        }
        if std::mem::take(&mut self.ua_due) {
            self.cancel_ack();
            return Some(Frame::control(FrameKind::Ua, nr, true));
        }
        None
    }

    /// Returns an RR, if one is due.
    #[inline]
    pub(super) fn ready(&mut self, nr: u8) -> Option<Frame> {
        self.rr_due
            .then(|| self.response(FrameKind::ReceiveReady, nr))
    }

    /// Builds an RR or REJ. The final bit is set if a received poll is unanswered.
    pub(super) fn response(&mut self, kind: FrameKind, nr: u8) -> Frame {
        let fin = std::mem::take(&mut self.final_due);
        self.cancel_ack();
        Frame::control(kind, nr, fin)
    }

    /// Builds the I frame with packet `number`.
    #[inline]
    pub(super) fn information(&mut self, number: u64, nr: u8, poll: bool) -> Frame {
        self.cancel_ack();
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

    /// Cancels the pending acknowledgment, because a frame for the MAC carries N(R).
    fn cancel_ack(&mut self) {
        self.ack_at = Instant::MAX;
        self.rr_due = false;
    }

    /// Schedules the acknowledgment of a received I frame: at once if the frame polls, otherwise
    /// after `ack_delay`.
    #[inline]
    pub(super) fn schedule_ack(&mut self, now: Instant, poll: bool) {
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

    /// Handles a received N(R).
    #[inline]
    pub(super) fn on_ack(&mut self, now: Instant, nr: u8, outcomes: &mut Vec<Outcome>) {
        if self.awaiting_ua {
            return;
        }
        if let Some(number) = self.send.find_ack(nr)
            && number > self.send.una
        {
            self.send.release(number, outcomes);
            if number >= self.count_ends {
                self.retries = 0;
            }
            if self.send.outstanding() == 0 {
                self.retry_at = Instant::MAX;
            } else if self.retry_from == RetryFrom::FirstFrame && self.retry_at != Instant::MAX {
                self.retry_at = now + self.retransmit_after;
            }
        }
    }

    /// Returns to the first unacknowledged frame if `nr` is its number.
    pub(super) fn go_back_to(&mut self, nr: u8) {
        if self.send.find_ack(nr) == Some(self.send.una) {
            self.go_back();
        }
    }

    /// Restarts transmission at the first unacknowledged frame.
    pub(super) fn go_back(&mut self) {
        self.send.next = self.send.una;
        if self.retry_from == RetryFrom::FirstFrame {
            self.retry_at = Instant::MAX;
        }
    }

    /// Lets only an N(R) beyond all frames sent so far restart the time-out count. The first
    /// time-out in a row decides, so that later frames do not extend the row.
    pub(super) fn count_until_received(&mut self) {
        if self.retries == 1 {
            self.count_ends = self.send.top;
        }
    }

    /// Resets the time-out count, because the peer answered a poll.
    pub(super) fn on_poll_answer(&mut self) {
        self.retries = 0;
    }

    pub(super) fn on_ack_timer(&mut self, now: Instant) {
        if self.ack_at <= now {
            self.ack_at = Instant::MAX;
            self.rr_due = true;
        }
    }

    /// Returns whether the retransmission timer expired and the caller must retransmit. After N2
    /// time-outs it re-establishes the link instead and returns false.
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

    /// Clears the time-out count. Unless the queue is kept, also discards all packets and cancels
    /// pending acknowledgments.
    fn renew(&mut self, outcomes: &mut Vec<Outcome>) {
        self.retries = 0;
        self.count_ends = 0;
        if !self.give_up.keeps_queue() {
            self.send.reset(outcomes);
            self.final_due = false;
            self.cancel_ack();
        }
    }

    /// Handles a SABME, with which the peer re-establishes the link. The caller resets the
    /// receiving side.
    pub(super) fn on_sabme(&mut self, outcomes: &mut Vec<Outcome>) {
        self.ua_due = true;
        if !self.give_up.keeps_queue() {
            self.renew(outcomes);
            if !self.awaiting_ua {
                self.retry_at = Instant::MAX;
            }
        }
    }

    /// Handles a UA. Without an open SABME, the UA answers an earlier SABME, and the peer has
    /// restarted its numbering at 0 again.
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
