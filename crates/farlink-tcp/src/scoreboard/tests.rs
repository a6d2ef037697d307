//! Tests of the scoreboard.

use super::*;
use proptest::prelude::*;

const MSS: u32 = 100;

fn board(n: u32) -> Scoreboard {
    let mut b = Scoreboard::default();
    for i in 0..n {
        b.sent(MSS, Instant::from_nanos(u64::from(i)));
    }
    b
}

#[test]
fn is_lost_by_ranges_and_by_bytes() {
    // Three SACKed ranges of one segment each lie above byte 0.
    let mut b = board(10);
    assert_eq!(b.sack(100, 200), 100);
    assert_eq!(b.sack(300, 400), 100);
    assert!(!b.mark_lost(3, u64::from(MSS)));
    assert_eq!(b.sack(500, 600), 100);
    assert!(b.mark_lost(3, u64::from(MSS)));
    // Only the first hole is lost: above the second hole are two ranges and 200 bytes.
    assert_eq!(b.pipe(), 1000 - 300 - 100);
    // One range of more than 2 MSS lies above bytes 0..200.
    let mut b = board(10);
    b.sack(200, 400);
    assert!(!b.mark_lost(3, u64::from(MSS)));
    b.sack(400, 500);
    assert!(b.mark_lost(3, u64::from(MSS)));
    assert_eq!(b.pipe(), 1000 - 300 - 200);
    b.check();
}

/// Segments count only as a whole, and SACKed ones not at all.
#[test]
fn undelivered_segments_are_whole_and_not_sacked() {
    let mut b = board(10);
    assert_eq!(b.undelivered(0), (0, 0));
    assert_eq!(b.undelivered(250), (2, 250));
    b.sack(100, 200);
    assert_eq!(b.undelivered(250), (1, 150));
    assert_eq!(b.undelivered(1000), (9, 900));
}

#[test]
fn lost_segments_are_retransmitted_once_in_order() {
    let mut b = board(10);
    b.sack(200, 300);
    b.sack(400, 900);
    b.mark_lost(3, u64::from(MSS));
    let mut order = Vec::new();
    while let Some((i, s)) = b.next_lost() {
        order.push(s.start);
        b.sent_again(i, Instant::ZERO);
    }
    assert_eq!(order, [0, 100, 300]);
    assert_eq!(b.pipe(), 1000 - 600);
    assert_eq!(b.last_hole().map(|(_, s)| s.start), Some(900));
    b.check();
}

#[test]
fn missing_segments_are_retransmitted_in_order_once_per_round_trip() {
    let ns = Interval::from_nanos;
    let at = |n| Instant::from_nanos(n);
    let mut b = board(6);
    assert_eq!(b.miss(400, 500, at(10), ns(5)).map(|s| s.start), Some(400));
    // It overlaps two segments.
    assert_eq!(b.miss(150, 250, at(10), ns(5)).map(|s| s.start), Some(200));
    let mut order = Vec::new();
    while let Some((i, s)) = b.next_lost() {
        order.push(s.start);
        b.sent_again(i, at(10));
    }
    assert_eq!(order, [100, 200, 400]);
    assert_eq!(b.flight(), 600);
    assert!(b.miss(100, 300, at(14), ns(5)).is_none());
    assert_eq!(b.miss(200, 300, at(15), ns(5)).map(|s| s.start), Some(200));
    assert_eq!(b.next_lost().map(|(_, s)| s.start), Some(200));
    assert_eq!(b.flight(), 500);
    b.check();
}

#[test]
fn front_is_due_once_per_round_trip() {
    let ns = Interval::from_nanos;
    let at = |n| Instant::from_nanos(n);
    let mut b = board(2);
    assert!(b.front_is_due(at(10), ns(5)));
    b.lose_front();
    assert_eq!(b.losses(), 100);
    assert!(!b.front_is_due(at(10), ns(5)));
    let (i, _) = b.next_lost().unwrap();
    b.sent_again(i, at(10));
    assert!(!b.front_is_due(at(14), ns(5)));
    assert!(b.front_is_due(at(15), ns(5)));
    // After another loss the front is not in flight, and therefore not due. `clear_losses` returns
    // it to the flight.
    b.lose_all();
    assert!(!b.front_is_due(at(99), ns(5)));
    b.clear_losses();
    assert!(!b.front_is_due(at(14), ns(5)));
    assert!(b.front_is_due(at(15), ns(5)));
}

#[test]
fn timeout_keeps_sacks_unless_the_peer_reneged() {
    let mut b = board(4);
    b.sack(200, 300);
    b.lose_all();
    assert_eq!((b.pipe(), b.sacked), (0, 100));
    let (i, _) = b.next_lost().unwrap();
    b.sent_again(i, Instant::ZERO);
    assert_eq!(b.pipe(), 100);
    // The ACK fills the first hole, but does not cover the SACKed segment behind it.
    b.acknowledge(200);
    b.lose_all();
    assert_eq!(b.sacked, 0);
    b.check();
}

#[test]
fn retransmitted_segment_gives_no_rtt_sample() {
    let mut b = board(3);
    assert_eq!(b.acknowledge(100).sample_from, Some(Instant::from_nanos(0)));
    b.lose_front();
    let (i, _) = b.next_lost().unwrap();
    b.sent_again(i, Instant::from_nanos(9));
    assert_eq!(b.acknowledge(300).sample_from, None);
}

#[test]
fn segment_sacked_earlier_gives_no_rtt_sample() {
    // The segment at 200 arrived long before this ACK, which was delayed by the hole below. The
    // time since its transmission is therefore no RTT.
    let mut b = board(3);
    b.sack(200, 300);
    assert_eq!(b.acknowledge(100).sample_from, Some(Instant::from_nanos(0)));
    assert_eq!(b.acknowledge(300).sample_from, None);
}

#[derive(Debug, Clone)]
enum Op {
    Send(u32),
    Ack(u64),
    Sack(u64, u64),
    MarkLost,
    LoseAll,
    LoseNone,
    LoseFront,
    Miss(u64, u64, bool),
    Retransmit,
    Hole,
    Split(u32),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        (1u32..200).prop_map(Op::Send),
        (0u64..300).prop_map(Op::Ack),
        (0u64..2000, 1u64..500).prop_map(|(l, n)| Op::Sack(l, n)),
        Just(Op::MarkLost),
        Just(Op::LoseAll),
        Just(Op::LoseNone),
        Just(Op::LoseFront),
        (0u64..2000, 1u64..500, any::<bool>()).prop_map(|(l, n, old)| Op::Miss(l, n, old)),
        Just(Op::Retransmit),
        Just(Op::Hole),
        (20u32..200).prop_map(Op::Split),
    ]
}

proptest! {
    /// The result does not depend on the lengths of the records, nor on the acknowledged part of
    /// the first.
    #[test]
    fn index_of_finds_the_record_of_a_position(
        lens in proptest::collection::vec(prop_oneof![4 => Just(MSS), 1 => 1..2 * MSS], 1..12),
        acked in 0..150u64,
        at in 0..1500u64,
    ) {
        let mut b = Scoreboard::default();
        for &len in &lens {
            b.sent(len, Instant::ZERO);
        }
        b.acknowledge(acked.min(b.max));
        prop_assert_eq!(b.index_of(at), b.segments.partition_point(|s| s.end() <= at));
    }

    /// The running sums equal a recount after any operation. `acknowledge` gives the same result as
    /// `acknowledge_any`, which visits each segment.
    #[test]
    fn sums_match_the_records(ops in proptest::collection::vec(op(), 1..200)) {
        let mut boards = [Scoreboard::default(), Scoreboard::default()];
        for (n, op) in ops.into_iter().enumerate() {
            let now = Instant::from_nanos(n as u64);
            let mut acked = Vec::new();
            for (general, b) in boards.iter_mut().enumerate() {
                match op {
                    Op::Send(n) => b.sent(n, now),
                    Op::Ack(n) => {
                        let to = (b.una() + n).min(b.max());
                        acked.push(if general == 1 { b.acknowledge_any(to) } else { b.acknowledge(to) });
                    }
                    Op::Sack(l, n) => { b.sack(b.una() + l, b.una() + l + n); }
                    Op::MarkLost => { b.mark_lost(3, 100); }
                    Op::Split(mss) => { b.split(mss); }
                    Op::LoseAll => b.lose_all(),
                    Op::LoseNone => b.clear_losses(),
                    Op::LoseFront => b.lose_front(),
                    Op::Miss(l, n, old) => {
                        let age = Interval::from_nanos(u64::from(!old));
                        b.miss(b.una() + l, b.una() + l + n, now, age);
                    }
                    Op::Retransmit => if let Some((i, _)) = b.next_lost() { b.sent_again(i, now) },
                    Op::Hole => if let Some((i, _)) = b.next_hole() { b.sent_again(i, now) },
                }
                b.check();
                prop_assert!(b.pipe() <= 2 * (b.max() - b.una()));
            }
            let both = boards.each_ref().map(|board| format!("{board:?}"));
            prop_assert_eq!(&both[0], &both[1]);
            let acked = acked.iter().map(|acked| format!("{acked:?}")).collect::<Vec<_>>();
            prop_assert!(acked.windows(2).all(|two| two[0] == two[1]));
        }
    }
}

/// No RTT sample comes from a segment that counts as sent twice; later segments give samples
/// (Karn).
#[test]
fn excluded_segment_gives_no_rtt_sample() {
    let mut b = board(3);
    b.exclude_rtt_samples(200);
    assert_eq!(b.acknowledge(100).sample_from, None);
    assert_eq!(b.acknowledge(200).sample_from, None);
    assert_eq!(b.acknowledge(300).sample_from, Some(Instant::from_nanos(2)));
}

/// Adjacent SACKed ranges are one range. A loss needs three ranges above a hole (RFC 6675, IsLost),
/// not three segments in a row.
#[test]
fn adjacent_sacked_ranges_merge() {
    let mut b = board(10);
    for left in [100, 200, 300] {
        assert_eq!(b.sack(left, left + 100), 100);
    }
    assert!(!b.mark_lost(3, 10 * u64::from(MSS)));
    b.check();
}

/// A block that closes the gaps between ranges leaves one range.
#[test]
fn sack_block_over_a_gap_merges_ranges() {
    let mut b = board(10);
    b.sack(100, 200);
    b.sack(300, 400);
    b.sack(500, 600);
    b.sack(700, 800);
    assert_eq!(b.sack(300, 600), 100);
    // 300 SACKed bytes lie above the hole at 200, and 400 above the hole at 0.
    assert!(!b.mark_lost(4, 2 * u64::from(MSS)));
    assert_eq!(b.sack(600, 700), 100);
    assert!(b.mark_lost(3, 2 * u64::from(MSS)));
    assert_eq!(b.pipe(), 1000 - 600 - 200);
    b.check();
}

/// A peer that reneged may acknowledge data only up to a SACKed segment. That segment is then
/// first, and is not lost.
#[test]
fn sacked_front_is_not_lost() {
    let mut b = board(10);
    b.sack(100, 500);
    b.acknowledge(100);
    assert!(!b.mark_lost(3, u64::from(MSS)));
    assert_eq!(b.pipe(), 900 - 400);
}

/// `NextSeg`, rule (3), returns each hole below the highest SACKed byte once, even if the hole is
/// not lost yet.
#[test]
fn next_hole_returns_holes_in_order_below_highest_sack() {
    let mut b = board(6);
    b.acknowledge(100);
    b.sack(200, 300);
    b.sack(400, 500);
    let mut order = Vec::new();
    while let Some((i, s)) = b.next_hole() {
        order.push(s.start);
        b.sent_again(i, Instant::ZERO);
    }
    assert_eq!(order, [100, 300]);
    b.check();
}

/// A retransmitted segment gives no RTT. It does not matter which copy was SACKed or acknowledged
/// (Karn).
#[test]
fn rate_sample_rtt_excludes_retransmitted_segments() {
    let at = |n| Instant::from_nanos(n);
    let mut b = Scoreboard {
        rate: Some(Box::default()),
        ..Scoreboard::default()
    };
    for i in 0..4 {
        b.sent(MSS, at(i));
    }
    b.lose_front();
    for i in [0, 2] {
        b.sent_again(i, at(5));
    }
    let mut sampled = |what: fn(&mut Scoreboard), now| {
        what(&mut b);
        let rate = b.rate.as_mut().unwrap();
        rate.finish_ack(at(now))
            .unwrap()
            .rtt
            .map(Interval::as_nanos)
    };
    assert_eq!(sampled(|b| _ = b.sack(100, 200), 10), Some(9));
    assert_eq!(sampled(|b| _ = b.sack(200, 300), 11), None);
    assert_eq!(sampled(|b| _ = b.acknowledge(300).len, 12), None);
    assert_eq!(sampled(|b| _ = b.acknowledge(400).len, 13), Some(10));
}
