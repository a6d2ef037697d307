//! ACK filter: finds a pure ACK that later ones of the same connection make redundant.

use super::flow::Entry;
use farlink_tcp::Flags;
use std::collections::VecDeque;

/// Pure ACKs that are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AckFilter {
    /// None.
    #[default]
    No,
    /// The first of two that the newest packet makes redundant.
    Conservative,
    /// Also the only one, directly before the newest packet.
    Aggressive,
}

/// Returns the position of the ACK to drop in a queue whose last packet is the newest.
pub(super) fn redundant(queue: &VecDeque<Entry>, filter: AckFilter) -> Option<usize> {
    let newest = queue.back()?;
    let header = newest.header.as_deref()?;
    let mut first: Option<(usize, Flags)> = None;
    let mut count = 0;
    for (position, entry) in queue.iter().enumerate().take(queue.len() - 1) {
        let Some(older) = entry.header.as_deref() else {
            continue;
        };
        if entry.waiting.flow != newest.waiting.flow || older.ports != header.ports {
            continue;
        }
        if first.is_some_and(|(_, echo)| echo != older.echo) {
            // A drop would hide the change of ECE or CWR.
            first = None;
            count -= 1;
        }
        if !older.is_covered_by(header) {
            continue;
        }
        let (position, _) = *first.get_or_insert((position, older.echo));
        count += 1;
        if count > 1 {
            return Some(position);
        }
    }
    let (position, echo) = first?;
    let last_but_one = position + 2 == queue.len();
    (filter == AckFilter::Aggressive && last_but_one && echo == header.echo).then_some(position)
}
