//! FIFO queue in front of a transmitter.

use crate::link::config::QueueLimit;
use farlink_tcp::{Instant, Priority, Ring};

/// Mask of the IP length in a packed description. The other bits are the flags ahead, background
/// traffic, data and low priority.
pub(super) const LENGTH: u32 = (1 << 28) - 1;
/// Flag of a packet that an agent sends ahead of packets without the flag.
pub(super) const AHEAD: u32 = 1 << 28;
pub(super) const BACKGROUND: u32 = 1 << 29;
pub(super) const DATA: u32 = 1 << 30;
pub(super) const LOW: u32 = 1 << 31;

/// Waiting packets in the order of departure.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Queue {
    /// Start of transmission and packed description of each packet.
    pub(super) waiting: Ring<(Instant, u32)>,
    /// IP bytes of the waiting packets.
    pub(super) bytes: u64,
    /// Copy of the configured queue limit.
    pub(super) limit: QueueLimit,
}

impl Queue {
    pub(super) fn new(limit: QueueLimit) -> Self {
        Self {
            waiting: Ring::new(),
            bytes: 0,
            limit,
        }
    }

    /// Appends a packet whose transmission starts at `starts`.
    #[inline(always)] // like `Simplex::enqueue`
    pub(super) fn push(&mut self, starts: Instant, packet: u32) {
        self.waiting.push_back((starts, packet));
        self.bytes += u64::from(packet & LENGTH);
    }
}

/// Packs the length and flags of a packet.
pub(super) fn pack(ip_len: u32, data: bool, priority: Priority, ahead: bool) -> u32 {
    let first = if ahead { AHEAD } else { 0 };
    let kind = match (priority, data) {
        (Priority::Low, _) => LOW,
        (Priority::Normal, true) => DATA,
        (Priority::Normal, false) => 0,
    };
    ip_len | kind | first
}

/// Returns the priority of a packed packet.
pub(super) fn priority(packed: u32) -> Priority {
    if packed & LOW == 0 {
        Priority::Normal
    } else {
        Priority::Low
    }
}
