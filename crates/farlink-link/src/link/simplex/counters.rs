//! Counters of a direction.

use crate::link::config::LinkStats;
use farlink_channel::DropCause;
use farlink_tcp::{Instant, Priority};
use std::collections::VecDeque;

/// The counters that every packet moves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    // Counters that move together are kept apart, because the compiler would add to both at once,
    // which takes more instructions.
    pub(super) packets: u64,
    pub(super) busy: u64,
    pub(super) bytes: u64,
    pub(super) data: u64,
    /// Most packets that waited at once.
    pub(super) queue_max: u32,
}

/// Packets lost by cause, and those of them of low priority.
#[derive(Debug, Default)]
struct Losses {
    all: [u64; DropCause::ALL.len()],
    low: [u64; DropCause::ALL.len()],
    /// Packets among them that are lost when they have left the transmitter, possibly in the
    /// future: time, cause, and whether the priority is low.
    later: VecDeque<(Instant, DropCause, bool)>,
}

/// Counters that few packets move.
#[derive(Debug, Default)]
pub(super) struct RareCounts {
    /// None before the first loss: thousands of links are nearly all without one.
    losses: Option<Box<Losses>>,
    pub(super) low_packets: u64,
    pub(super) marks: u64,
}

impl RareCounts {
    /// Counts a lost packet.
    pub(super) fn count_drop(&mut self, cause: DropCause, priority: Priority) {
        let losses = self.losses.get_or_insert_default();
        losses.all[cause as usize] += 1;
        losses.low[cause as usize] += u64::from(priority == Priority::Low);
    }

    /// Counts a packet that came at `now` and that the channel will lose when the packet has left
    /// the transmitter, at `at`.
    pub(super) fn lose_later(
        &mut self,
        now: Instant,
        at: Instant,
        cause: DropCause,
        priority: Priority,
    ) {
        self.count_drop(cause, priority);
        let later = &mut self.losses.get_or_insert_default().later;
        while later.front().is_some_and(|lost| lost.0 <= now) {
            later.pop_front();
        }
        later.push_back((at, cause, priority == Priority::Low));
    }

    /// Removes the losses behind `now` from counters.
    pub(super) fn subtract_later(&self, now: Instant, stats: &mut LinkStats) {
        let later = self.losses.iter().flat_map(|losses| &losses.later);
        for &(_, cause, low) in later.filter(|lost| lost.0 > now) {
            stats.drops[cause as usize] -= 1;
            stats.low_drops[cause as usize] -= u64::from(low);
        }
    }
}

/// Counters of every accepted packet and every decided loss.
pub(super) fn total(counts: &Counts, rare: &RareCounts) -> LinkStats {
    let none = [0; DropCause::ALL.len()];
    let losses = rare.losses.as_deref();
    let (drops, low_drops) = losses.map_or((none, none), |losses| (losses.all, losses.low));
    LinkStats {
        packets: counts.packets,
        bytes: counts.bytes,
        busy: counts.busy,
        queue_max: u64::from(counts.queue_max),
        marks: rare.marks,
        data: counts.data,
        drops,
        low_packets: rare.low_packets,
        low_drops,
    }
}
