//! Connections over several paths, after MPTCP (RFC 8684).
//!
//! Each subflow is a TCP flow of the world with ordinary endpoints. This module has what is above
//! them: data sequence numbers and their mapping to subflow bytes, the data ACK, the receive window
//! of the connection, reinjection, and the scheduler. It does no input or output; the event loop
//! passes the state of the subflows (`world/multipath.rs`).

mod coupled;
mod reassembly;
mod schedule;

use crate::scenario::{CouplingName, SchedulerName, Subflow as Place};
pub(crate) use coupled::{Share, gain};
use farlink_small::Map;
use farlink_tcp::{DataMapping, Extra, Instant, Interval};
use farlink_wire::FlowId;
pub(crate) use reassembly::Reassembly;
use schedule::Scheduler;
pub(crate) use schedule::{Path, allowed};
use std::collections::{BTreeMap, VecDeque};

/// Connections over several paths, and the place of each of their subflows.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    pub(crate) all: Vec<Connection>,
    /// Index of the connection and of the path of a subflow.
    places: Map<FlowId, (usize, usize)>,
}

impl Connections {
    /// Adds a subflow. Subflow 0 begins a connection of `size` bytes (`u64::MAX` for one without
    /// end) with a receive window of `window` bytes.
    pub(crate) fn add(&mut self, flow: FlowId, place: Place, size: u64, window: u64) {
        if place.path == 0 {
            self.all.push(Connection::new(place, size, window));
        }
        let number = self.all.len() - 1;
        let subflows = &mut self.all[number].subflows;
        self.places.insert(flow, (number, subflows.len()));
        subflows.push(Subflow::new(flow, place.backup));
    }

    /// Returns the connection and the path of a subflow.
    pub(crate) fn place(&self, flow: FlowId) -> Option<(usize, usize)> {
        self.places.get(&flow).copied()
    }

    /// Returns the connection of a subflow, and the index of its path.
    pub(crate) fn of(&self, flow: FlowId) -> Option<(&Connection, usize)> {
        let (number, path) = self.place(flow)?;
        Some((&self.all[number], path))
    }
}

/// Bytes of a subflow with their data sequence number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mapping {
    /// Position in the subflow's stream.
    at: u64,
    /// Data sequence number of the first byte.
    dsn: u64,
    len: u64,
}

/// Subflow of a connection.
#[derive(Debug)]
pub(crate) struct Subflow {
    pub(crate) flow: FlowId,
    pub(crate) backup: bool,
    /// Set once the subflow has ended before its connection.
    pub(crate) dead: bool,
    /// Set from a time-out to the next ACK of new data.
    failing: bool,
    timeouts: u64,
    acknowledged: u64,
    spacing: Spacing,
    /// Bytes written into the subflow.
    written: u64,
    /// Bytes of the subflow that the receiver has passed to the reassembly.
    read: u64,
    /// Mappings whose data the subflow's sender or receiver still has.
    mappings: VecDeque<Mapping>,
    /// Data sequence number that this subflow sends next, for the scheduler "redundant".
    next: u64,
    /// End of a penalty, during which the subflow uses half of its congestion window.
    penalised_until: Instant,
}

impl Subflow {
    fn new(flow: FlowId, backup: bool) -> Self {
        Self {
            flow,
            backup,
            dead: false,
            failing: false,
            timeouts: 0,
            acknowledged: 0,
            spacing: Spacing::default(),
            written: 0,
            read: 0,
            mappings: VecDeque::new(),
            next: 0,
            penalised_until: Instant::ZERO,
        }
    }

    /// Returns whether the subflow may get new data.
    pub(crate) fn works(&self) -> bool {
        !self.dead && !self.failing
    }

    /// Returns whether the subflow uses half of its congestion window at `now`.
    pub(crate) fn is_penalised(&self, now: Instant) -> bool {
        now < self.penalised_until
    }

    /// Returns the larger one of the bytes acknowledged between the last two losses and since the
    /// last loss.
    pub(crate) fn loss_spacing(&self) -> u64 {
        let since = self.acknowledged - self.spacing.from;
        since.max(self.spacing.before)
    }

    /// Returns the number of bytes written into the subflow.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Returns the index of the mapping of the subflow's byte `at`, or of the next mapping.
    fn mapping_at(&self, at: u64) -> usize {
        self.mappings
            .partition_point(|mapping| mapping.at + mapping.len <= at)
    }

    /// Removes mappings of data that the sender has no longer, and that the receiver has read.
    fn forget(&mut self) {
        let done = self.acknowledged.min(self.read);
        while let Some(first) = self.mappings.front()
            && first.at + first.len <= done
        {
            self.mappings.pop_front();
        }
    }
}

/// Spacing of the losses of a subflow, in acknowledged bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Spacing {
    losses: u64,
    /// Bytes acknowledged at the last loss.
    from: u64,
    /// Bytes acknowledged between the last two losses.
    before: u64,
}

/// Counters of the sender of a subflow since its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) acknowledged: u64,
    pub(crate) timeouts: u64,
    /// Reductions of the window by losses.
    pub(crate) losses: u64,
}

/// Counters of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    /// Bytes sent again over a second subflow.
    pub(crate) reinjected: u64,
    /// Number of times at which a subflow had room, and the receive window had none.
    pub(crate) blocked: u64,
}

/// Connection over several paths.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) subflows: Vec<Subflow>,
    scheduler: Scheduler,
    opportunistic: bool,
    pub(crate) coupling: CouplingName,
    /// Bytes of the application; `u64::MAX` without end.
    pub(crate) size: u64,
    /// Receive window of the connection, relative to the data ACK. The application reads at once.
    window: u64,
    /// Next new data sequence number.
    next: u64,
    /// Data sequence number up to which the sender has data ACKs.
    acknowledged: u64,
    /// Data to send again: by data sequence number the length and the subflow that had it.
    again: BTreeMap<u64, (u64, usize)>,
    /// Data sequence number that opportunistic retransmission sent last, plus one.
    repeated: u64,
    /// End of the current RTT of the fastest subflow, and whether the window blocked in it.
    round: (Instant, bool),
    pub(crate) reassembly: Reassembly,
    pub(crate) counters: Counters,
    /// Set once the receiver has all data, or the flow has stopped.
    pub(crate) is_over: bool,
    /// Set once the sender has closed its subflows.
    pub(crate) is_closed: bool,
}

impl Connection {
    fn new(place: Place, size: u64, window: u64) -> Self {
        Self {
            subflows: Vec::with_capacity(place.paths),
            scheduler: Scheduler::new(place.scheduler),
            opportunistic: place.opportunistic,
            coupling: place.coupling,
            size,
            window,
            next: 0,
            acknowledged: 0,
            again: BTreeMap::new(),
            repeated: 0,
            round: (Instant::ZERO, false),
            reassembly: Reassembly::default(),
            counters: Counters::default(),
            is_over: false,
            is_closed: false,
        }
    }

    /// Returns the delivered share of the data.
    pub(crate) fn share(&self) -> f64 {
        self.reassembly.data_ack() as f64 / self.size.max(1) as f64
    }

    /// Returns whether the sender has data ACKs for all data.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.acknowledged >= self.size
    }

    /// Returns the DSS option of a segment of the data sender: the mapping of its first byte.
    pub(crate) fn mapping_option(&self, path: usize, at: u64, len: u32) -> Option<Extra> {
        let subflow = &self.subflows[path];
        let mapping = subflow.mappings.get(subflow.mapping_at(at))?;
        let dsn = mapping.dsn + at.checked_sub(mapping.at)?;
        Some(Extra::Mapping(DataMapping {
            dsn: dsn as u32,
            subflow_seq: (at as u32).wrapping_add(1),
            len: len as u16,
        }))
    }

    /// Returns the DSS option of a segment of the data receiver: the data ACK.
    pub(crate) fn ack_option(&self) -> Extra {
        Extra::DataAck(self.reassembly.data_ack() as u32)
    }

    /// Handles a data ACK at the sender. Its lower 32 bits are on the wire (RFC 8684, 3.3.1).
    pub(crate) fn on_data_ack(&mut self, ack: u32) {
        let ahead = ack.wrapping_sub(self.acknowledged as u32).cast_signed();
        if ahead > 0 {
            self.acknowledged += u64::from(ahead.unsigned_abs());
        }
    }

    /// Passes the bytes that a subflow has delivered in order, `total` since its start, to the
    /// reassembly. Returns whether the data ACK has moved.
    pub(crate) fn on_delivered(&mut self, path: usize, total: u64) -> bool {
        let before = self.reassembly.data_ack();
        let subflow = &mut self.subflows[path];
        let mut index = subflow.mapping_at(subflow.read);
        while subflow.read < total
            && let Some(mapping) = subflow.mappings.get(index)
        {
            let end = total.min(mapping.at + mapping.len);
            let start = mapping.dsn + (subflow.read - mapping.at);
            self.reassembly.insert(start, start + (end - subflow.read));
            subflow.read = end;
            index += 1;
        }
        subflow.forget();
        self.reassembly.data_ack() > before
    }

    /// Updates a subflow's state at the sender. At a new time-out the subflow's data is sent again
    /// over others.
    pub(crate) fn on_progress(&mut self, path: usize, progress: Progress) {
        let subflow = &mut self.subflows[path];
        if progress.acknowledged > subflow.acknowledged {
            subflow.acknowledged = progress.acknowledged;
            subflow.failing = false;
            subflow.forget();
        }
        if progress.losses > subflow.spacing.losses {
            subflow.spacing = Spacing {
                losses: progress.losses,
                from: subflow.acknowledged,
                before: subflow.acknowledged - subflow.spacing.from,
            };
        }
        if progress.timeouts > subflow.timeouts {
            subflow.timeouts = progress.timeouts;
            // A time-out of the handshake leaves no data whose ACK could end the failure.
            subflow.failing = subflow.written > subflow.acknowledged;
            self.reinject(path);
        }
    }

    /// Marks a subflow that has ended, and sends its data again over others. Returns whether no
    /// subflow is left.
    pub(crate) fn on_end(&mut self, path: usize) -> bool {
        self.subflows[path].dead = true;
        self.reinject(path);
        self.subflows.iter().all(|subflow| subflow.dead)
    }

    /// Notes a subflow's data without a data ACK, to be sent again over others (RFC 8684, 3.3.6).
    fn reinject(&mut self, path: usize) {
        if self.scheduler.name == SchedulerName::Redundant {
            return; // All subflows send all data.
        }
        let subflow = &self.subflows[path];
        for mapping in subflow
            .mappings
            .range(subflow.mapping_at(subflow.acknowledged)..)
        {
            if mapping.dsn + mapping.len > self.acknowledged {
                self.again.insert(mapping.dsn, (mapping.len, path));
            }
        }
    }

    /// Chooses a subflow and the data that it sends next, and notes their mapping. Returns the
    /// index of the path and the number of bytes.
    pub(crate) fn schedule(&mut self, now: Instant, paths: &[Path]) -> Option<(usize, u64)> {
        if self.is_closed {
            return None;
        }
        if self.scheduler.name == SchedulerName::Redundant {
            return self.schedule_redundant(paths);
        }
        if let Some(again) = self.schedule_again(paths) {
            return Some(again);
        }
        self.adapt(now, paths);
        let left = self.size - self.next;
        if left == 0 {
            return None;
        }
        let path = self.scheduler.choose(paths, self.window)?;
        let len = left.min(paths[path].mss).min(self.window);
        if self.next + len > self.acknowledged + self.window {
            self.round.1 = true;
            self.counters.blocked += 1;
            return self.schedule_opportunistic(now, paths, path);
        }
        let dsn = self.next;
        self.next += len;
        Some(self.map(path, dsn, len))
    }

    fn map(&mut self, path: usize, dsn: u64, len: u64) -> (usize, u64) {
        let subflow = &mut self.subflows[path];
        let at = subflow.written;
        subflow.mappings.push_back(Mapping { at, dsn, len });
        subflow.written += len;
        (path, len)
    }

    /// Ends a round of BLEST after an RTT of the fastest subflow.
    fn adapt(&mut self, now: Instant, paths: &[Path]) {
        if self.scheduler.name == SchedulerName::Blest && now >= self.round.0 {
            let least = paths
                .iter()
                .filter(|path| path.works)
                .filter_map(|path| path.srtt)
                .min();
            self.scheduler.adapt(self.round.1);
            self.round = (now + least.unwrap_or(Interval::ZERO), false);
        }
    }

    /// Schedules the next data of the subflow that is the least far in the stream.
    fn schedule_redundant(&mut self, paths: &[Path]) -> Option<(usize, u64)> {
        let acknowledged = self.acknowledged;
        for subflow in &mut self.subflows {
            subflow.next = subflow.next.max(acknowledged);
        }
        let limit = self.size.min(acknowledged.saturating_add(self.window));
        let can = allowed(paths);
        let path = (0..paths.len())
            .filter(|&n| can(&paths[n]) && paths[n].has_room && self.subflows[n].next < limit)
            .min_by_key(|&n| self.subflows[n].next)?;
        let dsn = self.subflows[path].next;
        let len = paths[path].mss.min(limit - dsn);
        self.subflows[path].next += len;
        self.counters.reinjected += len.min(self.next.saturating_sub(dsn));
        self.next = self.next.max(dsn + len);
        Some(self.map(path, dsn, len))
    }

    /// Schedules the first data to be sent again, on a subflow that has not had it.
    fn schedule_again(&mut self, paths: &[Path]) -> Option<(usize, u64)> {
        while let Some((&dsn, &(len, had))) = self.again.first_key_value() {
            if dsn + len <= self.acknowledged {
                self.again.pop_first();
                continue;
            }
            let can = allowed(paths);
            let path = (0..paths.len())
                .filter(|&n| n != had && can(&paths[n]) && paths[n].has_room)
                .min_by_key(|&n| paths[n].srtt)?;
            let sent = len.min(paths[path].mss);
            self.again.pop_first();
            if sent < len {
                self.again.insert(dsn + sent, (len - sent, had));
            }
            self.counters.reinjected += sent;
            return Some(self.map(path, dsn, sent));
        }
        None
    }

    /// Sends the oldest data without a data ACK over `path`, if another subflow has it, and
    /// penalises that subflow for one of its RTTs (Raiciu et al. 2012, 4.2 and 4.3).
    fn schedule_opportunistic(
        &mut self,
        now: Instant,
        paths: &[Path],
        path: usize,
    ) -> Option<(usize, u64)> {
        let dsn = self.acknowledged;
        if !self.opportunistic || self.repeated > dsn {
            return None;
        }
        let (holder, mapping) = self.holder(dsn)?;
        if holder == path {
            return None;
        }
        let len = (mapping.dsn + mapping.len - dsn).min(paths[path].mss);
        self.repeated = dsn + 1;
        if let Some(srtt) = paths[holder].srtt {
            self.subflows[holder].penalised_until = now + srtt;
        }
        self.counters.reinjected += len;
        Some(self.map(path, dsn, len))
    }

    /// Returns the subflow that has the data of `dsn` in flight, and its mapping.
    fn holder(&self, dsn: u64) -> Option<(usize, Mapping)> {
        self.subflows
            .iter()
            .enumerate()
            .find_map(|(path, subflow)| {
                let from = subflow.mapping_at(subflow.acknowledged);
                let mut in_flight = subflow.mappings.range(from..);
                let has =
                    |mapping: &&Mapping| (mapping.dsn..mapping.dsn + mapping.len).contains(&dsn);
                in_flight.find(has).map(|&mapping| (path, mapping))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The spacing is the larger one of the bytes between the last two losses and since the last.
    #[test]
    fn spacing_of_losses_counts_acknowledged_bytes() {
        let place = Place {
            path: 0,
            paths: 1,
            scheduler: SchedulerName::MinRtt,
            backup: false,
            opportunistic: false,
            coupling: CouplingName::Olia,
        };
        let mut connection = Connection::new(place, u64::MAX, u64::MAX);
        connection.subflows.push(Subflow::new(FlowId(0), false));
        for (acknowledged, losses, spacing) in [
            (5000, 0, 5000),
            (6000, 1, 6000), // 0 since the loss
            (9000, 1, 6000), // 3000 since the loss
            (13_000, 1, 7000),
            (14_000, 2, 8000),
            (15_000, 3, 1000),
            (18_000, 3, 3000),
        ] {
            let progress = Progress {
                acknowledged,
                timeouts: 0,
                losses,
            };
            connection.on_progress(0, progress);
            assert_eq!(
                connection.subflows[0].loss_spacing(),
                spacing,
                "{acknowledged}"
            );
        }
    }
}
