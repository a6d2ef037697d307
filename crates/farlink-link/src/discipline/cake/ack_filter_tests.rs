//! ACKs that the filter drops and keeps.

use super::flow::Entry;
use super::*;
use crate::discipline::tests::{at, packet};
use ack_filter::redundant;
use farlink_tcp::{Ecn, Flags, SackBlock, SackBlocks, Seq, Timestamps};
use std::collections::VecDeque;

/// Returns the header of a pure ACK.
pub(super) fn pure(ack: u32) -> AckHeader {
    AckHeader {
        ports: (1, 2),
        ack: Seq(ack),
        echo: Flags(0),
        is_pure: true,
        timestamps: None,
        sack: SackBlocks::NONE,
    }
}

fn sacked(ack: u32, blocks: &[(u32, u32)]) -> AckHeader {
    let blocks = blocks.iter().map(|&(left, right)| SackBlock {
        left: Seq(left),
        right: Seq(right),
    });
    AckHeader {
        sack: blocks.collect(),
        ..pure(ack)
    }
}

fn stamped(ack: u32, value: u32, echo: u32) -> AckHeader {
    AckHeader {
        timestamps: Some(Timestamps { value, echo }),
        ..pure(ack)
    }
}

fn echo(ack: u32, flags: Flags) -> AckHeader {
    AckHeader {
        echo: flags,
        ..pure(ack)
    }
}

fn data(ack: u32) -> AckHeader {
    AckHeader {
        is_pure: false,
        ..pure(ack)
    }
}

fn entry(number: u32, flow: u64, header: Option<AckHeader>) -> Entry {
    Entry {
        waiting: packet(number, 40, flow, at(0), Ecn::NotEct),
        wire: 40,
        header: header.map(Box::new),
    }
}

/// Returns the positions that both kinds of the filter drop.
fn dropped(headers: &[AckHeader]) -> [Option<usize>; 2] {
    let entries = headers.iter().enumerate();
    let queue: VecDeque<_> = entries
        .map(|(number, &header)| entry(number as u32, 1, Some(header)))
        .collect();
    [AckFilter::Conservative, AckFilter::Aggressive].map(|filter| redundant(&queue, filter))
}

const NONE: [Option<usize>; 2] = [None, None];
const AGGRESSIVE: [Option<usize>; 2] = [None, Some(0)];
const BOTH: [Option<usize>; 2] = [Some(0), Some(0)];

#[test]
fn first_of_two_redundant_acks_is_dropped() {
    assert_eq!(dropped(&[pure(1)]), NONE);
    assert_eq!(dropped(&[pure(1), pure(2)]), AGGRESSIVE);
    assert_eq!(dropped(&[pure(1), pure(2), pure(3)]), BOTH);
    // Numbers wrap.
    assert_eq!(dropped(&[pure(u32::MAX), pure(0), pure(1)]), BOTH);
    // Data acknowledge, too, but data are never dropped.
    assert_eq!(dropped(&[pure(1), pure(2), data(3)]), BOTH);
    assert_eq!(dropped(&[data(1), data(2), pure(3)]), NONE);
    // Between ACKs, data neither count nor end the search.
    assert_eq!(dropped(&[pure(1), data(2), pure(3), pure(4)]), BOTH);
    assert_eq!(dropped(&[pure(1), data(2), pure(3)]), NONE);
}

#[test]
fn duplicate_acks_and_late_acks_are_kept() {
    assert_eq!(dropped(&[pure(5), pure(5), pure(5), pure(5)]), NONE);
    assert_eq!(dropped(&[pure(6), pure(6), pure(5)]), NONE);
    // Only ACK 4 is below the newest ACK.
    assert_eq!(dropped(&[pure(4), pure(5), pure(5)]), NONE);
}

#[test]
fn ack_with_sack_that_newer_one_lacks_is_kept() {
    let older = sacked(1, &[(10, 20)]);
    assert_eq!(dropped(&[older, pure(2)]), NONE);
    assert_eq!(dropped(&[older, pure(30)]), NONE);
    assert_eq!(dropped(&[older, sacked(1, &[(11, 30)])]), NONE);
    assert_eq!(dropped(&[older, sacked(1, &[(9, 19)])]), NONE);
    assert_eq!(
        dropped(&[
            sacked(1, &[(10, 20), (30, 40)]),
            sacked(1, &[(10, 29), (50, 90)])
        ]),
        NONE
    );
    // Repeated blocks are a duplicate ACK; more blocks make the older ACK redundant.
    assert_eq!(dropped(&[older, older]), NONE);
    assert_eq!(dropped(&[older, sacked(1, &[(10, 21)])]), AGGRESSIVE);
    assert_eq!(
        dropped(&[older, sacked(1, &[(30, 40), (10, 20)])]),
        AGGRESSIVE
    );
    assert_eq!(dropped(&[pure(1), sacked(1, &[(10, 20)])]), AGGRESSIVE);
    assert_eq!(dropped(&[older, sacked(2, &[(10, 20)])]), AGGRESSIVE);
}

#[test]
fn duplicate_sack_is_kept() {
    // Below the acknowledgment number, and above it as a part of the next block (RFC 2883, 4).
    assert_eq!(
        dropped(&[sacked(9, &[(5, 7)]), sacked(10, &[(5, 7)])]),
        NONE
    );
    // A block at the acknowledgment number is not below it.
    assert_eq!(
        dropped(&[sacked(5, &[(5, 7)]), sacked(5, &[(5, 8)])]),
        AGGRESSIVE
    );
    let above = sacked(1, &[(10, 12), (10, 20)]);
    assert_eq!(dropped(&[above, sacked(1, &[(10, 30)])]), NONE);
}

#[test]
fn change_of_ece_or_cwr_is_kept() {
    let (none, ece, cwr) = (Flags(0), Flags::ECE, Flags::CWR);
    assert_eq!(dropped(&[echo(1, ece), echo(2, none)]), NONE);
    assert_eq!(dropped(&[echo(1, ece), echo(2, ece)]), AGGRESSIVE);
    assert_eq!(
        dropped(&[echo(1, ece), echo(2, none), echo(3, none)]),
        [None, Some(1)]
    );
    assert_eq!(
        dropped(&[echo(1, cwr), echo(2, ece), echo(3, ece)]),
        [None, Some(1)]
    );
    assert_eq!(dropped(&[echo(1, ece), echo(2, ece), echo(3, none)]), BOTH);
    // Data with another flag hide the change as well.
    let marked = AckHeader {
        echo: ece,
        ..data(2)
    };
    assert_eq!(dropped(&[pure(1), marked, echo(3, ece), pure(4)]), NONE);
}

#[test]
fn timestamps_may_not_go_back() {
    assert_eq!(dropped(&[stamped(1, 5, 9), stamped(2, 5, 9)]), AGGRESSIVE);
    assert_eq!(dropped(&[stamped(1, 5, 9), stamped(2, 4, 9)]), NONE);
    assert_eq!(dropped(&[stamped(1, 5, 9), stamped(2, 5, 8)]), NONE);
    assert_eq!(
        dropped(&[stamped(1, u32::MAX, 0), stamped(2, 0, 0)]),
        AGGRESSIVE
    );
    assert_eq!(dropped(&[stamped(1, 5, 9), pure(2)]), NONE);
    assert_eq!(dropped(&[pure(1), stamped(2, 5, 9)]), AGGRESSIVE);
}

#[test]
fn only_acks_of_the_connection_count() {
    let mut queue: VecDeque<_> = [entry(0, 1, Some(pure(1))), entry(1, 2, Some(pure(2)))].into();
    let add = |queue: &mut VecDeque<Entry>, next| {
        queue.push_back(next);
        redundant(queue, AckFilter::Aggressive)
    };
    assert_eq!(add(&mut queue, entry(2, 3, Some(pure(3)))), None);
    let other_port = AckHeader {
        ports: (1, 3),
        ..pure(4)
    };
    assert_eq!(add(&mut queue, entry(3, 1, Some(other_port))), None);
    assert_eq!(add(&mut queue, entry(4, 1, None)), None);
    // The redundant one is not directly before the newest.
    assert_eq!(add(&mut queue, entry(5, 1, Some(pure(5)))), None);
    assert_eq!(add(&mut queue, entry(6, 1, Some(pure(6)))), Some(0));
}
