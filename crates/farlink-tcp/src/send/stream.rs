//! Full segments of new data in the middle of a stream: what a bulk transfer sends.
//!
//! A short way to what [`Sender::next`] finds out after many more questions.

use super::held::Held;
use super::{Chunk, Sender, Streamed};
use crate::maybe::Maybe;
use crate::recovery::frto::Frto;
use crate::time::Instant;

impl Sender {
    /// Whether nothing is configured that has to see every segment.
    pub(crate) fn streams(&self) -> bool {
        self.plain() && self.dummies.is_none() && !self.extras.peer_window.is_some()
    }

    /// Whether nothing is in flight or waits to be sent, as [`Self::next`] found.
    #[inline]
    pub(crate) fn rests(&self) -> bool {
        self.held == Held::Idle
            && self.board.is_empty()
            && self.board.max() >= self.buffer.end()
            && self.buffer.fin().is_none()
            && !self.probe
    }

    /// What may leave, of which a full segment is on its way then.
    #[inline(always)] // of each segment of a stream
    pub(crate) fn next_in_stream(&mut self, now: Instant) -> Streamed {
        let (una, max, mss) = (self.board.una(), self.board.max(), u64::from(self.mss));
        let end = max + mss;
        let streams = !self.board.is_empty()
            && una > 0
            && end <= self.buffer.end()
            && self.buffer.fin() != Some(end)
            && !self.board.may_have_lost()
            && !self.loss.in_recovery
            && self.loss.dup_acks == 0
            && self.spurious.frto == Frto::Off
            && now >= self.paced_until
            && !self.probe
            && self.probes_in_row == 0;
        if !streams {
            return Streamed::Unknown;
        }
        let usable = (una + self.wnd).saturating_sub(max);
        if usable < mss {
            if usable >= self.max_wnd / 2 {
                return Streamed::Unknown; // a short segment may be worth it
            }
            self.loss.force = false;
            self.hold(now, Held::Peer);
            return Streamed::Full;
        }
        self.loss.force = false;
        if self.used() + mss > self.cwnd() {
            self.hold(now, Held::Cwnd);
            return Streamed::Full;
        }
        let chunk = Chunk {
            start: max,
            len: self.mss,
            syn: false,
            fin: false,
            retransmission: false,
        };
        self.board.sent(self.mss, now);
        if self.one_sample && self.timed.is_none() {
            self.timed = Maybe::some((end, now));
        }
        self.last_sent = now;
        self.pace(now, &chunk);
        if !self.timer_runs() {
            self.start_timer(now);
        }
        Streamed::Segment(chunk)
    }
}
