//! Tables in pieces: rows leave the probes during the run, so memory does not grow with the run.

use super::order::{Piece, Ties};
use super::tables::Row;
use super::{Probes, Rows};
use farlink_tcp::Instant;

impl Probes {
    /// Returns whether the tables of queues and of frames have at least `piece` rows. Some of their
    /// rows are added after their time.
    pub(crate) fn delayed_tables_have(&self, piece: usize) -> (bool, bool) {
        (self.queue.has(piece), self.frames.has(piece))
    }

    /// Declares that all departures from queues before `time` have their rows.
    pub(crate) fn set_departed_before(&mut self, time: Instant) {
        self.departed_before = time;
    }

    /// Passes the finished rows of tables with at least `piece` rows to `sink`. Rows before `time` are
    /// finished. The time at which a departure gets its row in `queue` depends on the pieces, and the
    /// order of rows must not. The table `packets` stays, because later events change its rows,
    /// and the table `limits`, because an expired timer adds a row about its start.
    pub(crate) fn drain<E>(
        &mut self,
        piece: usize,
        time: Instant,
        sink: &mut impl FnMut(Piece) -> Result<(), E>,
    ) -> Result<(), E> {
        let kept = (time, Ties::Kept);
        self.state.drain(piece, kept, sink)?;
        self.inner.drain(piece, kept, sink)?;
        self.rtt.drain(piece, kept, sink)?;
        self.sent.drain(piece, kept, sink)?;
        self.acks.drain(piece, kept, sink)?;
        self.sacks.drain(piece, kept, sink)?;
        self.moments.drain(piece, kept, sink)?;
        self.delivered.drain(piece, kept, sink)?;
        self.arrivals.drain(piece, kept, sink)?;
        self.queue.drain(piece, (time, Ties::ByLink), sink)?;
        self.deliveries.drain(piece, kept, sink)?;
        self.drops.drain(piece, kept, sink)?;
        self.sojourns.drain(piece, kept, sink)?;
        self.queue_marks.drain(piece, kept, sink)?;
        self.datagrams.drain(piece, kept, sink)?;
        self.acted.drain(piece, kept, sink)?;
        self.passages.drain(piece, kept, sink)?;
        self.frames.drain(piece, kept, sink)
    }
}

impl<T: Row> Rows<T> {
    fn has(&self, piece: usize) -> bool {
        self.list.len() >= piece
    }

    fn drain<E>(
        &mut self,
        piece: usize,
        (time, ties): (Instant, Ties),
        sink: &mut impl FnMut(Piece) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.has(piece) {
            return Ok(());
        }
        let finished = if self.latest < time.as_nanos() {
            self.latest = 0;
            let next = Vec::with_capacity(self.list.capacity());
            std::mem::replace(&mut self.list, next)
        } else {
            let is_finished = |row: &T| row.time() < time;
            let finished = self.list.iter().copied().filter(is_finished).collect();
            // The latest row stays.
            self.list.retain(|row| !is_finished(row));
            finished
        };
        sink(Piece::of(finished, ties))
    }
}
