use super::*;
use crate::time::Interval;

fn receiver(config: ReceiverConfig) -> Receiver {
    let mut r = Receiver::of(config, 100, 0);
    r.synchronize(Seq(1000));
    r
}

fn blocks(r: &mut Receiver) -> Vec<(u32, u32)> {
    r.sack_blocks(4)
        .as_slice()
        .iter()
        .map(|b| (b.left.0 - 1000, b.right.0 - 1000))
        .collect()
}

#[test]
fn sack_blocks_name_the_latest_range_first() {
    let mut r = receiver(ReceiverConfig::default());
    for start in [201, 401, 601, 801, 1001] {
        r.arrive(Instant::ZERO, start, 100, None);
    }
    assert_eq!(
        blocks(&mut r),
        [(1001, 1101), (801, 901), (601, 701), (401, 501)]
    );
    r.arrive(Instant::ZERO, 301, 100, None); // joins two ranges
    assert_eq!(
        blocks(&mut r),
        [(201, 501), (1001, 1101), (801, 901), (601, 701)]
    );
    r.arrive(Instant::ZERO, 1, 200, None);
    assert_eq!(r.nxt(), 501);
    assert_eq!(blocks(&mut r), [(1001, 1101), (801, 901), (601, 701)]);
}

#[test]
fn overlapping_segments_deliver_each_byte_once() {
    let mut r = receiver(ReceiverConfig::default());
    let stream: Vec<u8> = (0..=255).collect();
    for (from, to) in [(50, 70), (60, 90), (40, 55), (10, 45), (20, 100), (0, 12)] {
        r.arrive(
            Instant::ZERO,
            1 + from as u64,
            (to - from) as u32,
            Some(&stream[from..to]),
        );
    }
    let mut out = Vec::new();
    assert_eq!(r.read_bytes(&mut out, usize::MAX), 100);
    assert_eq!(out, stream[..100]);
    assert_eq!(r.nxt(), 101);
}

/// Receives every second byte of a window. The buffer bounds the stored ranges, and the time does
/// not grow with their square (80,000 ranges once took seconds).
#[test]
fn out_of_order_ranges_are_bounded_by_the_buffer() {
    let mut r = receiver(ReceiverConfig::default());
    for start in (2..60_000).rev().step_by(2) {
        r.arrive(Instant::ZERO, start, 1, Some(b"x"));
    }
    assert_eq!(r.holes().ranges.len(), 65_535 / 128);
    let last = r.holes().ranges.end().unwrap();
    // A byte that extends a stored range is accepted beyond the bound.
    r.arrive(Instant::ZERO, last, 1, Some(b"y"));
    assert_eq!(r.holes().ranges.end(), Some(last + 1));
    // In-order data is always accepted.
    r.arrive(Instant::ZERO, 1, 60_000, Some(&vec![7; 60_000]));
    assert_eq!((r.nxt(), r.holes().ranges.len()), (60_001, 0));
    let mut out = Vec::new();
    assert_eq!(r.read_bytes(&mut out, usize::MAX), 60_000);

    let buffer = 1 << 26;
    let mut r = receiver(ReceiverConfig {
        buffer,
        ..ReceiverConfig::default()
    });
    let began = r.most_ranges();
    for at in 0..200_000 {
        // Ranges are inserted at both ends alternately, so that neither end has an advantage.
        let start = if at % 2 == 0 {
            2 + 2 * at
        } else {
            2 * buffer / 2 - 2 * at
        };
        r.arrive(Instant::ZERO, start, 1, None);
    }
    assert_eq!(r.holes().ranges.len(), 200_000.min(began));
}

#[test]
fn without_reassembly_out_of_order_data_is_dropped() {
    let mut r = receiver(ReceiverConfig {
        reassembly: false,
        ..ReceiverConfig::default()
    });
    r.arrive(Instant::ZERO, 101, 100, None);
    r.arrive(Instant::ZERO, 1, 100, None);
    assert_eq!(r.nxt(), 101);
}

#[test]
fn the_right_edge_never_moves_left_under_scaling() {
    let config = ReceiverConfig {
        buffer: 1 << 20,
        ..ReceiverConfig::default()
    };
    let mut r = Receiver::of(config, 100, 5);
    r.synchronize(Seq(0));
    let mut edge = 0;
    let mut at = 1;
    for len in (1..60).chain(1..60) {
        r.arrive(Instant::ZERO, at, len, None);
        at += u64::from(len);
        let field = u64::from(r.advertise());
        let new = r.nxt() + (field << 5);
        assert!(new >= edge, "{new} < {edge}");
        edge = new;
    }
}

#[test]
fn window_opens_by_at_least_one_segment() {
    let mut r = receiver(ReceiverConfig {
        buffer: 300,
        ..ReceiverConfig::default()
    });
    r.arrive(Instant::ZERO, 1, 300, None);
    assert_eq!(r.advertise(), 0);
    r.acknowledged(&mut Timers::none());
    r.read_len(99);
    assert_eq!((r.need(), r.advertise()), (AckNeed::None, 0));
    r.read_len(1);
    assert_eq!((r.need(), r.advertise()), (AckNeed::Now, 100));
}

#[test]
fn out_of_order_fin_is_in_the_sack_block() {
    let mut r = receiver(ReceiverConfig::default());
    r.arrive(Instant::ZERO, 101, 100, None);
    r.fin(201);
    assert_eq!(blocks(&mut r), [(101, 202)]);
    assert_eq!((r.nxt(), r.finished(), r.delivered()), (1, false, 0));
    r.arrive(Instant::ZERO, 1, 100, None);
    assert_eq!((r.nxt(), r.finished(), r.delivered()), (202, true, 200));
    assert_eq!((r.need(), r.unread()), (AckNeed::Now, 200));
    assert_eq!(blocks(&mut r), []);
}

#[test]
fn delayed_acknowledgment_by_count_time_and_heartbeat() {
    let ms = Interval::from_millis;
    let mut r = receiver(ReceiverConfig::default());
    let mut timers = Timers::none();
    let due = |timers: &Timers| timers.at(Timer::DelayedAck);
    r.data(Instant::ZERO + ms(10), 1, 100, None, &mut timers);
    assert_eq!(
        (r.need(), due(&timers)),
        (AckNeed::Delayed, Instant::ZERO + ms(210))
    );
    r.acknowledged(&mut timers);
    assert!(!timers.runs(Timer::DelayedAck));
    r.arrive(Instant::ZERO + ms(10), 101, 100, None);
    r.arrive(Instant::ZERO + ms(20), 201, 100, None);
    assert_eq!(r.need(), AckNeed::Now);
    let delayed_ack = DelayedAck {
        heartbeat: true,
        quick: 0,
        ..DelayedAck::default()
    };
    let mut r = receiver(ReceiverConfig {
        delayed_ack,
        ..ReceiverConfig::default()
    });
    r.data(Instant::ZERO + ms(10), 1, 100, None, &mut timers);
    assert_eq!(due(&timers), Instant::ZERO + ms(200));
}
