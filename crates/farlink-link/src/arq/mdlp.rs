//! MDLP: selective reject (CDPD 1.1, part 403; Wong 1998, 3.2.3.2).
//!
//! The receiver buffers out-of-sequence frames and sends one SREJ for each frame newly found
//! missing. If an SREJ or the requested frame is lost, the sender's T200 expires. The sender then
//! polls with its last I frame and goes back to the N(R) of the answer. It may resend frames that
//! the receiver has already buffered.

use super::frame::{Frame, FrameKind, Outcome};
use super::hdlc::{Answer, GiveUp, RetryFrom, Station};
use super::limits::{ArqError, check_time, check_window, most_selective};
use super::window::{Receiving, Sending};
use farlink_tcp::{Instant, Interval};
use std::collections::VecDeque;

/// Parameters of MDLP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MdlpConfig {
    /// Modulus of the sequence numbers, 8 or 128.
    pub modulus: u8,
    /// Maximum number of unacknowledged frames, at most `modulus / 2 - 1`.
    pub window: u8,
    /// Timer T200 until the sender polls; [`RetryFrom`] defines its start.
    pub t200: Interval,
    /// Longest delay of an acknowledgment.
    pub t205: Interval,
    /// Set if packets are delivered in sequence.
    pub in_sequence: bool,
    /// Set if an SREJ is repeated when the frame that a later SREJ requested arrives first. The
    /// loss of the last SREJ cannot be detected that way.
    pub srej_repeat: bool,
    /// Start of timer T200.
    pub retry_from: RetryFrom,
    /// Action after N2 time-outs in a row.
    pub give_up: GiveUp,
    /// Set if the answer to a poll restarts the count of time-outs. If not set, the count runs
    /// until N(R) covers the frame that the first time-out of the row polled with.
    pub answer_ends_count: bool,
}

impl Default for MdlpConfig {
    /// Returns the values of Wong 1998, 4.4.2.
    fn default() -> Self {
        Self {
            modulus: 128,
            window: 15,
            t200: Interval::from_secs(1),
            t205: Interval::from_millis(300),
            in_sequence: true,
            srej_repeat: false,
            retry_from: RetryFrom::LastFrame,
            give_up: GiveUp::Never,
            answer_ends_count: true,
        }
    }
}

/// MDLP entity at one end of a link.
#[derive(Clone, Debug)]
pub struct Mdlp {
    pub(super) station: Station,
    receiving: Receiving,
    /// Frames to resend because the peer sent an SREJ.
    resend: VecDeque<u64>,
    /// Missing frames for which an SREJ is due.
    srej_due: VecDeque<u64>,
    srej_repeat: bool,
    /// For each frame number, the value of `srejs` at its latest SREJ; 0 if none was sent.
    last_srej: Box<[u64]>,
    srejs: u64,
    answer_ends_count: bool,
    poll_due: bool,
    /// Set while a poll is unanswered. No new frame is sent then.
    polling: bool,
}

impl Mdlp {
    pub(super) fn new(config: &MdlpConfig) -> Result<Self, ArqError> {
        check_window(config.modulus, config.window, most_selective)?;
        check_time("T200", config.t200)?;
        let send = Sending::new(config.modulus, config.window);
        Ok(Self {
            station: Station::new(
                send,
                (config.t200, config.retry_from),
                config.t205,
                config.give_up,
            ),
            receiving: Receiving::new(config.modulus, config.window, config.in_sequence),
            resend: VecDeque::new(),
            srej_due: VecDeque::new(),
            srej_repeat: config.srej_repeat,
            last_srej: vec![0; usize::from(config.modulus)].into(),
            srejs: 0,
            answer_ends_count: config.answer_ends_count,
            poll_due: false,
            polling: false,
        })
    }

    #[inline]
    fn nr(&self) -> u8 {
        self.receiving.wire(self.receiving.expected)
    }

    fn last_srej(&mut self, number: u64) -> &mut u64 {
        let place = self.receiving.wire(number);
        &mut self.last_srej[usize::from(place)]
    }

    /// Returns whether the next frame would carry a new packet.
    pub(super) fn takes_new(&self) -> bool {
        let rejects = |&number: &u64| self.receiving.is_missing(number);
        let resends = |&number: &u64| number >= self.station.send.una;
        !self.poll_due
            && !self.polling
            && self.station.takes_new()
            && !self.srej_due.iter().any(rejects)
            && !self.resend.iter().any(resends)
    }

    #[inline]
    pub(super) fn poll_frame(&mut self) -> Option<Frame> {
        let nr = self.nr();
        if let Some(frame) = self.station.mode_setting(nr) {
            return Some(frame);
        }
        while let Some(number) = self.srej_due.pop_front() {
            if self.receiving.is_missing(number) {
                self.srejs += 1;
                *self.last_srej(number) = self.srejs;
                let wire = self.receiving.wire(number);
                return Some(Frame::control(FrameKind::SelectiveReject, wire, false));
            }
        }
        if let Some(frame) = self.station.ready(nr) {
            return Some(frame);
        }
        if self.station.awaiting_ua() {
            return None;
        }
        if std::mem::take(&mut self.poll_due) {
            self.polling = true;
            let last = self.station.send.top - 1;
            return Some(self.station.information(last, nr, true));
        }
        while let Some(number) = self.resend.pop_front() {
            if number >= self.station.send.una {
                return Some(self.station.information(number, nr, false));
            }
        }
        if self.polling {
            return None;
        }
        let number = self.station.send.pop_next()?;
        Some(self.station.information(number, nr, false))
    }

    #[inline]
    pub(super) fn receive(&mut self, now: Instant, frame: &Frame, outcomes: &mut Vec<Outcome>) {
        match frame.kind {
            FrameKind::Information if self.station.ignores_frames() => {
                outcomes.push(Outcome::Discard(frame.item.token));
            }
            FrameKind::Information => {
                self.on_ack(now, frame.nr, outcomes);
                self.information(now, frame, outcomes);
            }
            FrameKind::ReceiveReady => {
                self.on_ack(now, frame.nr, outcomes);
                if frame.poll && self.polling && !self.station.awaiting_ua() {
                    self.polling = false;
                    if self.answer_ends_count {
                        self.station.on_poll_answer();
                    }
                    self.go_back();
                }
            }
            FrameKind::SelectiveReject if !self.station.awaiting_ua() => self.on_srej(frame.nr),
            FrameKind::Sabme => {
                self.station.on_sabme(outcomes);
                self.renew(outcomes);
                if self.station.keeps_queue() {
                    self.receiving.skip_all(outcomes);
                }
            }
            FrameKind::Ua => match self.station.on_ua(frame.nr, outcomes) {
                Answer::None => self.clear_requests(),
                Answer::Renewed => self.receiving.reset(outcomes),
            },
            _ => {}
        }
    }

    #[inline]
    fn on_ack(&mut self, now: Instant, nr: u8, outcomes: &mut Vec<Outcome>) {
        self.station.on_ack(now, nr, outcomes);
        if self.station.send.outstanding() == 0 {
            self.polling = false;
            self.poll_due = false;
        }
    }

    /// Restarts transmission at the first unacknowledged frame.
    fn go_back(&mut self) {
        self.clear_requests();
        self.station.go_back();
    }

    fn clear_requests(&mut self) {
        for number in self.resend.drain(..) {
            self.station.send.slot(number).again = false;
        }
    }

    /// Queues the frame that an SREJ requests, unless it is already queued, at the MAC, or due
    /// after going back.
    fn on_srej(&mut self, nr: u8) {
        let send = &mut self.station.send;
        let Some(number) = send.find(nr) else {
            return;
        };
        let due = number >= send.next;
        let slot = send.slot(number);
        if !due && !slot.again && slot.sent_at != Instant::MAX {
            slot.again = true;
            self.resend.push_back(number);
        }
    }

    #[inline]
    fn information(&mut self, now: Instant, frame: &Frame, outcomes: &mut Vec<Outcome>) {
        self.station.schedule_ack(now, frame.poll);
        let Some(number) = self.receiving.find_new(frame.ns) else {
            outcomes.push(Outcome::Discard(frame.item.token));
            return;
        };
        let top = self.receiving.top;
        self.receiving.accept(number, frame.item.token, outcomes);
        for missing in top..number {
            *self.last_srej(missing) = 0;
            self.srej_due.push_back(missing);
        }
        if self.srej_repeat && number < top {
            self.repeat_srejs(number);
        }
    }

    /// Handles the arrival of a requested frame. Frames that earlier SREJs requested are requested
    /// again, because those SREJs or their answers were lost.
    fn repeat_srejs(&mut self, number: u64) {
        let answered = *self.last_srej(number);
        for open in self.receiving.expected..self.receiving.top {
            let srej = *self.last_srej(open);
            if srej != 0 && srej < answered && self.receiving.is_missing(open) {
                *self.last_srej(open) = 0;
                self.srej_due.push_back(open);
            }
        }
    }

    /// Cancels the SREJs that are due. Unless the queue is kept, also discards buffered frames and
    /// retransmission requests.
    fn renew(&mut self, outcomes: &mut Vec<Outcome>) {
        self.srej_due.clear();
        if !self.station.keeps_queue() {
            self.receiving.reset(outcomes);
            self.resend.clear();
            self.polling = false;
            self.poll_due = false;
        }
    }

    pub(super) fn timeout(&mut self, now: Instant, outcomes: &mut Vec<Outcome>) {
        self.station.on_ack_timer(now);
        if self.station.on_retry_timer(now, outcomes) {
            self.poll_due = true;
            if !self.answer_ends_count {
                self.station.count_until_received();
            }
        } else if self.station.awaiting_ua() {
            self.polling = false;
            if self.station.ignores_frames() {
                self.renew(outcomes);
            }
        }
    }

    #[inline]
    pub(super) fn confirm(&mut self, now: Instant, frame: &Frame) {
        self.station.confirm(now, frame);
    }
}
