//! Queue of a flow.

use crate::discipline::cobalt::Cobalt;
use crate::discipline::queue::Waiting;
use farlink_wire::classify::AckHeader;
use std::collections::VecDeque;

/// Packet that waits in the queue of a flow.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) waiting: Waiting,
    /// Bytes on the medium behind the shaper.
    pub(super) wire: u32,
    /// Header that the ACK filter reads.
    pub(super) header: Option<Box<AckHeader>>,
}

/// List that a queue is in, which is its kind in the terms of DRR++.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Set {
    /// Idle, in no list.
    #[default]
    None,
    /// In the list of new queues.
    Sparse,
    /// In the list of old queues with a deficit, though its packets so far are all sent.
    SparseWait,
    /// In the list of old queues.
    Bulk,
    /// Empty, with a state of COBALT that is not at rest yet.
    Decaying,
}

/// Queue of a flow.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// Hash value of the flow for which the queue is reserved.
    pub(super) tag: u64,
    /// Source and destination host.
    pub(super) hosts: [u64; 2],
    pub(super) queue: VecDeque<Entry>,
    /// IP bytes of the waiting packets.
    pub(super) bytes: u64,
    pub(super) set: Set,
    /// Bytes on the medium that the queue may still send in its turn.
    pub(super) deficit: i64,
    /// Fraction of a byte of the quantum that is still due, in units of 1/load of the host.
    rest: u32,
    pub(super) cobalt: Cobalt,
}

impl Flow {
    /// Returns the quantum of a queue of a host with `load` bulk queues. Fractions of a byte are
    /// carried over.
    pub(super) fn quantum(&mut self, quantum: u32, load: u32) -> i64 {
        let load = load.max(1);
        let whole = quantum + self.rest.min(load - 1);
        self.rest = whole % load;
        i64::from(whole / load)
    }

    pub(super) fn push(&mut self, entry: Entry) {
        self.bytes += u64::from(entry.waiting.len);
        self.queue.push_back(entry);
    }

    /// Removes the packet at a position.
    pub(super) fn remove(&mut self, position: usize) -> Option<Entry> {
        let entry = self.queue.remove(position)?;
        self.bytes -= u64::from(entry.waiting.len);
        Some(entry)
    }
}
