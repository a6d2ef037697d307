//! RLP: the receiver reports periodically what it has received (Paul et al. 1995, as modified in
//! Wong 1998, 3.2.3.3).
//!
//! Each end sends one status frame per period. N(R) acknowledges all lower frames, and the bitmap
//! marks which later frames were received. On each status the sender retransmits the missing frames
//! that it last sent at least `min_interval` ago. This also repairs the loss of the last frame,
//! which no later frame reveals. RLP has no time-out and no piggybacked acknowledgments. If a frame
//! takes longer than a period to send, status and information frames alternate.

use super::frame::{Frame, FrameKind, Outcome};
use super::limits::{ArqError, check_time, check_window, most_selective};
use super::window::{Receiving, Sending};
use farlink_tcp::{Instant, Interval};

/// Parameters of RLP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RlpConfig {
    /// Modulus of the sequence numbers, 8 or 128.
    pub modulus: u8,
    /// Maximum number of unacknowledged frames, at most `modulus / 2 - 1`.
    pub window: u8,
    /// Interval between status frames.
    pub status_period: Interval,
    /// Minimum time from the end of a frame to its retransmission.
    pub min_interval: Interval,
    /// Set if packets are delivered in sequence.
    pub in_sequence: bool,
    /// Maximum time that the receiver waits for a missing frame; `None` for no limit (Wong 1998,
    /// 5.1.2).
    pub max_recovery_delay: Option<Interval>,
}

impl Default for RlpConfig {
    /// Returns the values of Wong 1998, 4.4.2, with no limit on recovery time.
    fn default() -> Self {
        Self {
            modulus: 128,
            window: 15,
            status_period: Interval::from_millis(200),
            min_interval: Interval::from_millis(300),
            in_sequence: true,
            max_recovery_delay: None,
        }
    }
}

/// RLP entity at one end of a link.
#[derive(Clone, Debug)]
pub struct Rlp {
    pub(super) send: Sending,
    receiving: Receiving,
    status_period: Interval,
    min_interval: Interval,
    max_recovery_delay: Option<Interval>,
    /// Number of frames to retransmit.
    again: u32,
    /// Time at which the receiver first missed each frame, indexed by wire number. These times
    /// increase with the frame number.
    missed_at: Box<[Instant]>,
    status_at: Instant,
    status_due: bool,
    /// Set if the last frame was a status frame. A waiting information frame precedes the next
    /// status frame.
    status_sent: bool,
}

impl Rlp {
    pub(super) fn new(config: &RlpConfig) -> Result<Self, ArqError> {
        check_window(config.modulus, config.window, most_selective)?;
        check_time("status period", config.status_period)?;
        Ok(Self {
            send: Sending::new(config.modulus, config.window),
            receiving: Receiving::new(config.modulus, config.window, config.in_sequence),
            status_period: config.status_period,
            min_interval: config.min_interval,
            max_recovery_delay: config.max_recovery_delay,
            again: 0,
            missed_at: vec![Instant::ZERO; usize::from(config.modulus)].into(),
            status_at: Instant::ZERO + config.status_period,
            status_due: false,
            status_sent: false,
        })
    }

    #[inline]
    pub(super) fn deadline(&self) -> Instant {
        self.status_at
    }

    /// Returns whether the next frame would carry a new packet.
    pub(super) fn takes_new(&self) -> bool {
        let status = self.status_due && !self.status_sent;
        !status && self.again == 0 && self.send.takes_new()
    }

    #[inline]
    pub(super) fn poll_frame(&mut self) -> Option<Frame> {
        if self.status_due && !self.status_sent {
            return Some(self.status_frame());
        }
        let Some(number) = self.pop_retransmission().or_else(|| self.send.pop_new()) else {
            return self.status_due.then(|| self.status_frame());
        };
        self.status_sent = false;
        let slot = self.send.slot(number);
        slot.sent_at = Instant::MAX;
        Some(Frame {
            ns: self.send.wire(number),
            item: self.send.item(number),
            ..Frame::control(FrameKind::Information, 0, false)
        })
    }

    fn status_frame(&mut self) -> Frame {
        (self.status_due, self.status_sent) = (false, true);
        // The frame reports the state when it is built, not when the status timer expired.
        let nr = self.receiving.wire(self.receiving.expected);
        Frame {
            bitmap: self.receiving.bitmap(),
            ..Frame::control(FrameKind::Status, nr, false)
        }
    }

    /// Returns the first frame to retransmit.
    #[inline]
    fn pop_retransmission(&mut self) -> Option<u64> {
        if self.again == 0 {
            return None;
        }
        let number = (self.send.una..self.send.top).find(|&n| self.send.slot(n).again)?;
        self.send.slot(number).again = false;
        self.again -= 1;
        Some(number)
    }

    #[inline]
    pub(super) fn confirm(&mut self, now: Instant, frame: &Frame) {
        if frame.kind == FrameKind::Information
            && let Some(number) = self.send.find(frame.ns)
        {
            self.send.slot(number).sent_at = now;
        }
    }

    #[inline]
    pub(super) fn receive(&mut self, now: Instant, frame: &Frame, outcomes: &mut Vec<Outcome>) {
        match frame.kind {
            FrameKind::Information => self.information(now, frame, outcomes),
            FrameKind::Status => self.status(now, frame, outcomes),
            _ => {}
        }
    }

    #[inline]
    fn information(&mut self, now: Instant, frame: &Frame, outcomes: &mut Vec<Outcome>) {
        let Some(number) = self.receiving.find_new(frame.ns) else {
            outcomes.push(Outcome::Discard(frame.item.token));
            return;
        };
        for missing in self.receiving.top..number {
            self.missed_at[usize::from(self.receiving.wire(missing))] = now;
        }
        self.receiving.accept(number, frame.item.token, outcomes);
    }

    fn status(&mut self, now: Instant, frame: &Frame, outcomes: &mut Vec<Outcome>) {
        let Some(acknowledged) = self.send.find_ack(frame.nr) else {
            return;
        };
        for number in self.send.una..acknowledged {
            self.again -= u32::from(self.send.slot(number).again);
        }
        self.send.release(acknowledged, outcomes);
        for number in self.send.una..self.send.top {
            let bit = number - acknowledged;
            let reported = bit > 0 && bit <= 64 && frame.bitmap >> (bit - 1) & 1 == 1;
            let slot = self.send.slot(number);
            slot.held |= reported;
            let long_ago = slot.sent_at != Instant::MAX && slot.sent_at + self.min_interval <= now;
            let again = !slot.held && (slot.again || long_ago);
            self.again = self.again + u32::from(again) - u32::from(slot.again);
            slot.again = again;
        }
    }

    /// Handles the end of a status period.
    pub(super) fn timeout(&mut self, now: Instant, outcomes: &mut Vec<Outcome>) {
        if self.status_at > now {
            return;
        }
        self.status_at += self.status_period;
        self.status_due = true;
        let Some(limit) = self.max_recovery_delay else {
            return;
        };
        while self.receiving.expected < self.receiving.top {
            let first = usize::from(self.receiving.wire(self.receiving.expected));
            if now.since(self.missed_at[first]) <= limit {
                break;
            }
            self.receiving.skip(outcomes);
        }
    }
}
