//! Counters of a direction.

use crate::link::config::LinkStats;
use farlink_channel::DropCause;
use farlink_tcp::{Instant, Priority};
use std::collections::VecDeque;

/// Counters that every packet updates.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    // Counters that are updated together are not adjacent. Otherwise the compiler would vectorise
    // the additions, which takes more instructions.
    pub(super) packets: u64,
    pub(super) busy: u64,
    pub(super) bytes: u64,
    pub(super) data: u64,
    /// Maximum number of packets that waited at once.
    pub(super) queue_max: u32,
}

/// Lost packets by cause, and the low-priority packets among them.
#[derive(Debug, Default)]
struct Losses {
    all: [u64; DropCause::ALL.len()],
    low: [u64; DropCause::ALL.len()],
    /// Losses that occur when the packet leaves the transmitter, possibly in the future: time,
    /// cause, and whether the priority is low.
    later: VecDeque<(Instant, DropCause, bool)>,
    marks: u64,
}

/// Counters that few packets move.
#[derive(Debug, Default)]
pub(super) struct RareCounts {
    /// `None` before the first loss, which saves memory on most of the thousands of links.
    losses: Option<Box<Losses>>,
    pub(super) low_packets: u64,
}

impl RareCounts {
    /// Counts an ECN mark.
    pub(super) fn count_mark(&mut self) {
        self.losses.get_or_insert_default().marks += 1;
    }

    /// Counts a lost packet.
    pub(super) fn count_drop(&mut self, cause: DropCause, priority: Priority) {
        let losses = self.losses.get_or_insert_default();
        losses.all[cause as usize] += 1;
        losses.low[cause as usize] += u64::from(priority == Priority::Low);
    }

    /// Counts a packet offered at `now` that the channel loses at `at`, when the packet has left
    /// the transmitter.
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

    /// Subtracts the losses after `now` from `stats`.
    pub(super) fn subtract_later(&self, now: Instant, stats: &mut LinkStats) {
        let later = self.losses.iter().flat_map(|losses| &losses.later);
        for &(_, cause, low) in later.filter(|lost| lost.0 > now) {
            stats.drops[cause as usize] -= 1;
            stats.low_drops[cause as usize] -= u64::from(low);
        }
    }
}

/// Returns the counters of all accepted packets and decided losses.
pub(super) fn total(counts: &Counts, rare: &RareCounts) -> LinkStats {
    let none = [0; DropCause::ALL.len()];
    let losses = rare.losses.as_deref();
    let (drops, low_drops) = losses.map_or((none, none), |losses| (losses.all, losses.low));
    LinkStats {
        packets: counts.packets,
        bytes: counts.bytes,
        busy: counts.busy,
        queue_max: u64::from(counts.queue_max),
        marks: rare.losses.as_deref().map_or(0, |losses| losses.marks),
        data: counts.data,
        drops,
        low_packets: rare.low_packets,
        low_drops,
    }
}
