//! Full segments of new data in the middle of a stream: what a bulk transfer sends.
//!
//! A short way to what [`Sender::next`] finds out after many more questions.

use super::held::Held;
use super::turn::Turn;
use super::{Chunk, Sender, Streamed};
use crate::recovery::frto::Frto;
use crate::time::Instant;

impl Sender {
    /// Returns whether no configured feature must see every segment.
    pub(crate) fn streams(&self) -> bool {
        self.plain() && self.dummies.is_none() && !self.flight.extras.peer_window.is_some()
    }

    /// Returns whether nothing is in flight or waits to be sent, as [`Self::next`] found.
    #[inline]
    pub(crate) fn rests(&self) -> bool {
        self.held == Held::Idle
            && self.flight.board.is_empty()
            && self.flight.board.max() >= self.buffer.end()
            && self.buffer.fin().is_none()
            && !self.probe
    }

    /// Sends the first full-sized segment of a burst, and stores in `turn` how many more may follow
    /// without a new check.
    #[inline(always)] // of the first segment of a stream that an ACK lets out
    pub(crate) fn next_in_stream(&mut self, now: Instant, turn: &mut Turn) -> Streamed {
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
            && !self.recovery.loss.in_recovery
            && self.recovery.loss.dup_acks == 0
            && self.frto == Frto::Off
            && now >= self.paced_until
            && !self.probe
            && self.probes_in_row == 0;
        if !streams {
            return Streamed::Unknown;
        }
        let usable = (una + self.flight.peer.size).saturating_sub(max);
        if usable < mss {
            if usable >= self.flight.peer.largest / 2 {
                return Streamed::Unknown; // a short segment may be worth it
            }
            self.recovery.loss.force = false;
            self.hold(now, Held::Peer);
            return Streamed::Full;
        }
        self.recovery.loss.force = false;
        let room = self.flight.cwnd().saturating_sub(self.used());
        if room < mss {
            self.hold(now, Held::Cwnd);
            return Streamed::Full;
        }
        let chunk = self.stream(now);
        self.flight.time(end, now);
        self.last_sent = now;
        if !self.pace(now, &chunk) {
            // A FIN leaves with the last segment: that is no full one.
            let unsent = self.buffer.end() - end - u64::from(self.buffer.fin().is_some());
            turn.there = unsent.min(usable - mss);
            turn.room = room - mss;
        }
        if !self.flight.timer_runs() {
            self.flight.start_timer(now);
        }
        Streamed::Segment(chunk)
    }

    /// Another full segment of a turn, or nothing more because the congestion window is full.
    /// Nothing else may have happened to the connection since the turn began, so that all else
    /// which [`Self::next_in_stream`] asks and does is as it was.
    #[inline(always)] // of each segment of a stream but the first that an ACK lets out
    pub(crate) fn next_of_turn(&mut self, now: Instant, turn: &mut Turn) -> Streamed {
        let mss = u64::from(self.flight.mss);
        if turn.room < mss {
            *turn = Turn::default();
            self.hold(now, Held::Cwnd);
            return Streamed::Full;
        }
        turn.there -= mss;
        turn.room -= mss;
        Streamed::Segment(self.stream(now))
    }

    /// A full segment of new data leaves.
    #[inline(always)] // of each segment of a stream
    fn stream(&mut self, now: Instant) -> Chunk {
        let chunk = Chunk {
            start: self.flight.board.max(),
            len: self.flight.mss,
            syn: false,
            fin: false,
            retransmission: false,
        };
        self.flight.board.sent_in_stream(self.flight.mss, now);
        chunk
    }
}
