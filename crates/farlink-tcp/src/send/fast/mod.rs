//! Fast path for full segments of new data in the middle of a stream, of which a bulk transfer
//! consists.
//!
//! The result equals that of [`Sender::next`], which needs many more checks.
//! `fast_paths_equal_the_general_paths` in `tests/faults.rs` compares both to the bit.

mod burst;

use super::blocked::BlockedOn;
use super::{Chunk, Sender};
use crate::config::Nagle;
use crate::reason::Reason;
use crate::recovery::frto::Frto;
use crate::time::Instant;
pub use burst::BurstBudget;

/// Result of the fast path for a full segment.
pub(crate) enum Streamed {
    /// A full segment of new data.
    Segment(Chunk),
    /// No segment, because a window is full.
    Full,
    /// The fast path does not apply: [`Sender::next`] must decide.
    Unknown,
}

impl Sender {
    /// Returns whether no configured feature must see every segment.
    pub(crate) fn streams(&self) -> bool {
        self.plain()
            && !self.flight.extras.marks.is_some()
            && self.dummies.is_none()
            && !self.flight.extras.peer_window.is_some()
            && self.nagle != Nagle::Fill
    }

    /// Returns whether the last call of [`Self::next`] found nothing in flight and nothing to send.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.blocked_on == BlockedOn::Idle
            && self.flight.board.is_empty()
            && self.flight.board.max() >= self.buffer.end()
            && self.buffer.fin().is_none()
            && !self.probe
    }

    /// Sends the first full-sized segment of a burst, and stores in `burst` how many more may follow
    /// without a new check.
    #[inline(always)] // called for the first segment that an ACK releases
    pub(crate) fn fast_next(&mut self, now: Instant, burst: &mut BurstBudget) -> Streamed {
        let (una, max, mss) = (
            self.flight.board.una(),
            self.flight.board.max(),
            u64::from(self.flight.mss),
        );
        let end = max + mss;
        let streams = !self.flight.board.is_empty()
            && una > 0
            && end <= self.buffer.end()
            && self.buffer.fin() != Some(end)
            && !self.flight.board.may_have_lost()
            && !self.flight.loss.in_recovery
            && self.flight.loss.dup_acks == 0
            && self.frto == Frto::Off
            && self.pacing_allows(now)
            && !self.probe
            && self.probes_in_row == 0;
        if !streams {
            return Streamed::Unknown;
        }
        let usable = (una + self.flight.peer.size).saturating_sub(max);
        if usable < mss {
            if usable >= self.flight.peer.largest / 2 {
                return Streamed::Unknown; // a short segment may still be sent
            }
            self.flight.loss.force = false;
            self.block(now, BlockedOn::Peer);
            return Streamed::Full;
        }
        self.flight.loss.force = false;
        let room = self.flight.cwnd().saturating_sub(self.used());
        if room < mss {
            self.block(now, BlockedOn::Cwnd);
            return Streamed::Full;
        }
        let chunk = self.stream(now);
        self.flight.time(end, now);
        self.last_sent = now;
        if !self.pace(now, &chunk) {
            // The fast path leaves the last segment, which carries the FIN, to [`Self::next`].
            let unsent = self.buffer.end() - end - u64::from(self.buffer.fin().is_some());
            burst.unsent = unsent.min(usable - mss);
            burst.room = room - mss;
        }
        if !self.flight.timer_runs() {
            self.flight.start_timer(now);
        }
        Streamed::Segment(chunk)
    }

    /// Sends another full segment of a burst, or nothing if the congestion window is full. No other
    /// method of the connection may have been called since the burst began, because the conditions
    /// checked by [`Self::fast_next`] are not checked again.
    #[inline(always)] // called for each further segment that an ACK releases
    pub(crate) fn fast_next_in_burst(&mut self, now: Instant, burst: &mut BurstBudget) -> Streamed {
        let mss = u64::from(self.flight.mss);
        if burst.room < mss {
            *burst = BurstBudget::default();
            self.block(now, BlockedOn::Cwnd);
            return Streamed::Full;
        }
        burst.unsent -= mss;
        burst.room -= mss;
        Streamed::Segment(self.stream(now))
    }

    /// Sends a full segment of new data.
    #[inline(always)] // called for each segment of a stream
    fn stream(&mut self, now: Instant) -> Chunk {
        let chunk = Chunk {
            start: self.flight.board.max(),
            len: self.flight.mss,
            syn: false,
            fin: false,
            retransmission: false,
            why: Some(Reason::NewData),
        };
        self.flight.board.fast_sent(self.flight.mss, now);
        chunk
    }
}
