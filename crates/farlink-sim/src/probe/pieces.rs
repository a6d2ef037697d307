//! Tables in pieces: rows leave the probes during the run, so memory does not grow with the run.

use super::tables::{Queue, Row, Table, in_order};
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

    /// Passes the finished rows of tables with at least `piece` rows to `sink`, in order of time. Rows
    /// before `time` are finished. The table `packets` stays, because later events change its rows,
    /// and the table `limits`, because an expired timer adds a row about its start.
    pub(crate) fn drain<E>(
        &mut self,
        piece: usize,
        time: Instant,
        sink: &mut impl FnMut(Table) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.queue.has(piece) {
            self.order_queue();
        }
        self.state.drain(piece, time, sink)?;
        self.inner.drain(piece, time, sink)?;
        self.rtt.drain(piece, time, sink)?;
        self.sent.drain(piece, time, sink)?;
        self.acks.drain(piece, time, sink)?;
        self.sacks.drain(piece, time, sink)?;
        self.moments.drain(piece, time, sink)?;
        self.delivered.drain(piece, time, sink)?;
        self.arrivals.drain(piece, time, sink)?;
        self.queue.drain(piece, time, sink)?;
        self.deliveries.drain(piece, time, sink)?;
        self.drops.drain(piece, time, sink)?;
        self.sojourns.drain(piece, time, sink)?;
        self.queue_marks.drain(piece, time, sink)?;
        self.datagrams.drain(piece, time, sink)?;
        self.acted.drain(piece, time, sink)?;
        self.passages.drain(piece, time, sink)?;
        self.frames.drain(piece, time, sink)
    }

    /// Sorts the rows of queues by time, then by link and direction. The time at which a departure
    /// gets its row depends on the pieces, and the order of rows must not.
    pub(crate) fn order_queue(&mut self) {
        let key = |row: &Queue| (row.time, row.link, row.direction);
        if !self.queue.list.is_sorted_by_key(key) {
            self.queue.list.sort_by_key(key);
        }
    }
}

impl<T: Row> Rows<T> {
    fn has(&self, piece: usize) -> bool {
        self.list.len() >= piece
    }

    fn drain<E>(
        &mut self,
        piece: usize,
        time: Instant,
        sink: &mut impl FnMut(Table) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.has(piece) {
            return Ok(());
        }
        self.list = in_order(std::mem::take(&mut self.list));
        let finished = self.list.partition_point(|row| row.time() < time);
        sink(T::columns(&self.list[..finished]))?;
        self.list.drain(..finished);
        Ok(())
    }
}
