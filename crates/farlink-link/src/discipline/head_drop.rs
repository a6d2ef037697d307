//! FIFO queue that, when full, drops its first packet for a new one. The sender then detects the
//! loss earlier, by the queue's delay.

use super::queue::{Drops, Fifo, Leaving, Reason, Waiting};
use crate::link::config::QueueLimit;

/// FIFO queue that drops at its head.
#[derive(Debug)]
pub struct HeadDrop {
    pub(super) limit: QueueLimit,
    pub(super) queue: Fifo,
}

impl HeadDrop {
    /// Creates an empty queue.
    pub const fn new(limit: QueueLimit) -> Self {
        Self {
            limit,
            queue: Fifo::new(),
        }
    }

    pub(super) fn queued(&self) -> (u32, u64) {
        self.queue.queued()
    }

    pub(super) fn enqueue(&mut self, packet: Waiting, drops: &mut Drops) -> bool {
        if self.limit.is_full(0, 0, packet.len) {
            drops.push((packet, Reason::Full));
            return false;
        }
        while self.queue.is_full(self.limit, packet.len)
            && let Some(first) = self.queue.pop()
        {
            drops.push((first, Reason::Full));
        }
        self.queue.push(packet);
        true
    }

    pub(super) fn dequeue(&mut self) -> Option<Leaving> {
        self.queue.pop().map(|waiting| Leaving {
            waiting,
            marked: false,
        })
    }
}
