//! ACK filter: finds a pure ACK that later ones of the same connection make redundant.

use super::flow::Entry;
use farlink_tcp::{Flags, SackBlock};
use farlink_wire::classify::AckHeader;
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
        if !is_covered(older, header) {
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

/// Returns whether an ACK is pure, and `newer` has all its information and more.
fn is_covered(older: &AckHeader, newer: &AckHeader) -> bool {
    let ahead = newer.ack.diff(older.ack);
    if !older.is_pure || ahead < 0 || !has_later_timestamps(older, newer) {
        return false;
    }
    let (old, new) = (older.sack.as_slice(), newer.sack.as_slice());
    if old.iter().any(|block| block.left.diff(older.ack) < 0) || repeats(old) {
        return false; // A duplicate SACK (RFC 2883) is reported once.
    }
    let kept = |&block: &SackBlock| new.iter().any(|&other| contains(other, block));
    old.iter().all(kept) && (ahead > 0 || bytes(new) > bytes(old))
}

fn has_later_timestamps(older: &AckHeader, newer: &AckHeader) -> bool {
    let Some(old) = older.timestamps else {
        return true;
    };
    let later = |old: u32, new: u32| new.wrapping_sub(old) as i32 >= 0;
    newer
        .timestamps
        .is_some_and(|new| later(old.value, new.value) && later(old.echo, new.echo))
}

/// Returns whether the first block is part of another, as in a duplicate SACK above the
/// acknowledgment number (RFC 2883, 4).
fn repeats(blocks: &[SackBlock]) -> bool {
    let Some((first, others)) = blocks.split_first() else {
        return false;
    };
    others.iter().any(|&other| contains(other, *first))
}

fn contains(outer: SackBlock, inner: SackBlock) -> bool {
    inner.left.diff(outer.left) >= 0 && outer.right.diff(inner.right) >= 0
}

/// Returns the number of bytes in blocks.
fn bytes(blocks: &[SackBlock]) -> u64 {
    let len = |block: &SackBlock| u64::from(block.right.0.wrapping_sub(block.left.0));
    blocks.iter().map(len).sum()
}
