//! LAPB: go-back-N (ITU-T X.25, 2.4; Wong 1998, 3.2.3.1).
//!
//! The receiver accepts only the next frame in sequence. On any other frame it sends one REJ, and
//! no second REJ until the missing frame arrives. A REJ makes the sender go back to that frame. If
//! the REJ or the retransmission is lost, T1 of the sender repairs the loss.

use super::frame::{Frame, FrameKind, Outcome};
use super::hdlc::{Answer, GiveUp, RetryFrom, Station};
use super::limits::{ArqError, check_time, check_window, most_go_back};
use super::window::Sending;
use farlink_tcp::{Instant, Interval};

/// Parameters of LAPB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LapbConfig {
    /// Modulus of the sequence numbers, 8 or 128.
    pub modulus: u8,
    /// Maximum number of unacknowledged frames, k, at most `modulus - 1`.
    pub window: u8,
    /// Retransmission timer T1; [`RetryFrom`] defines its start.
    pub t1: Interval,
    /// Longest delay of an acknowledgment.
    pub t2: Interval,
    /// Set if the first frame after a T1 time-out sets the poll bit, so that the peer acknowledges
    /// it at once (X.25, 2.4.5.9).
    pub poll: bool,
    /// Start of timer T1.
    pub retry_from: RetryFrom,
    /// Action after N2 time-outs in a row.
    pub give_up: GiveUp,
}

impl Default for LapbConfig {
    /// Returns the values of Wong 1998, 4.4.2, with sequence numbers modulo 128.
    fn default() -> Self {
        Self {
            modulus: 128,
            window: 15,
            t1: Interval::from_secs(1),
            t2: Interval::from_millis(300),
            poll: true,
            retry_from: RetryFrom::LastFrame,
            give_up: GiveUp::Never,
        }
    }
}

/// LAPB entity at one end of a link.
#[derive(Clone, Debug)]
pub struct Lapb {
    pub(super) station: Station,
    poll: bool,
    /// V(R).
    expected: u64,
    /// Set between sending a REJ and the arrival of the frame that the REJ requested.
    rejecting: bool,
    reject_due: bool,
    poll_due: bool,
}

impl Lapb {
    pub(super) fn new(config: &LapbConfig) -> Result<Self, ArqError> {
        check_window(config.modulus, config.window, most_go_back)?;
        check_time("T1", config.t1)?;
        let send = Sending::new(config.modulus, config.window);
        Ok(Self {
            station: Station::new(
                send,
                (config.t1, config.retry_from),
                config.t2,
                config.give_up,
            ),
            poll: config.poll,
            expected: 0,
            rejecting: false,
            reject_due: false,
            poll_due: false,
        })
    }

    #[inline]
    fn nr(&self) -> u8 {
        self.station.send.wire(self.expected)
    }

    /// Returns whether the next frame would carry a new packet.
    pub(super) fn takes_new(&self) -> bool {
        !self.reject_due && self.station.takes_new()
    }

    #[inline]
    pub(super) fn poll_frame(&mut self) -> Option<Frame> {
        let nr = self.nr();
        if let Some(frame) = self.station.mode_setting(nr) {
            return Some(frame);
        }
        if std::mem::take(&mut self.reject_due) {
            return Some(self.station.response(FrameKind::Reject, nr));
        }
        if let Some(frame) = self.station.ready(nr) {
            return Some(frame);
        }
        if self.station.awaiting_ua() {
            return None;
        }
        let number = self.station.send.pop_next()?;
        let poll = std::mem::take(&mut self.poll_due);
        Some(self.station.information(number, nr, poll))
    }

    #[inline]
    pub(super) fn receive(&mut self, now: Instant, frame: &Frame, outcomes: &mut Vec<Outcome>) {
        match frame.kind {
            FrameKind::Information if self.station.ignores_frames() => {
                outcomes.push(Outcome::Discard(frame.item.token));
            }
            FrameKind::Information => {
                self.station.on_ack(now, frame.nr, outcomes);
                self.information(now, frame, outcomes);
            }
            FrameKind::ReceiveReady => self.station.on_ack(now, frame.nr, outcomes),
            FrameKind::Reject => {
                self.station.on_ack(now, frame.nr, outcomes);
                if !self.station.awaiting_ua() {
                    self.station.go_back_to(frame.nr);
                }
            }
            FrameKind::Sabme => {
                self.station.on_sabme(outcomes);
                self.renew();
            }
            FrameKind::Ua => {
                if self.station.on_ua(frame.nr, outcomes) == Answer::Renewed {
                    self.renew();
                }
                self.poll_due = false;
            }
            _ => {}
        }
    }

    #[inline]
    fn information(&mut self, now: Instant, frame: &Frame, outcomes: &mut Vec<Outcome>) {
        let token = frame.item.token;
        if frame.ns == self.nr() {
            outcomes.push(Outcome::Accepted(token));
            outcomes.push(Outcome::Deliver(token));
            self.expected += 1;
            self.rejecting = false;
            self.reject_due = false;
            self.station.schedule_ack(now, frame.poll);
            return;
        }
        outcomes.push(Outcome::Discard(token));
        // An out-of-sequence frame is acknowledged too, because the peer may have lost the last
        // acknowledgment.
        self.station.schedule_ack(now, frame.poll);
        if !self.rejecting {
            self.rejecting = true;
            self.reject_due = true;
        }
    }

    /// Resets the receiving side.
    fn renew(&mut self) {
        self.rejecting = false;
        self.reject_due = false;
        self.poll_due = false;
        if !self.station.keeps_queue() {
            self.expected = 0;
        }
    }

    pub(super) fn timeout(&mut self, now: Instant, outcomes: &mut Vec<Outcome>) {
        self.station.on_ack_timer(now);
        if self.station.on_retry_timer(now, outcomes) {
            self.station.go_back();
            self.poll_due = self.poll;
        } else if self.station.ignores_frames() {
            self.renew();
        }
    }

    #[inline]
    pub(super) fn confirm(&mut self, now: Instant, frame: &Frame) {
        self.station.confirm(now, frame);
    }
}
