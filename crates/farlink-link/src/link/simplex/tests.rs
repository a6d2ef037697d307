use super::*;
use farlink_channel::fec::BlockCode;
use std::mem::offset_of;

fn geo(queue: QueueLimit) -> Simplex {
    let config = LinkConfig {
        queue,
        ..LinkConfig::plain(2_048_000, Interval::from_millis(250))
    };
    Simplex::new(config, Channel::default())
}

fn arrival(fate: Fate) -> Option<u64> {
    match fate {
        Fate::Arrives { at, .. } => Some(at.as_nanos()),
        Fate::Lost { .. } => None,
    }
}

/// Limits the size of a direction. A pair of hosts has four directions, and a scenario may have
/// 1000 pairs. Rare counters and inactive stages are therefore behind pointers.
#[test]
fn direction_stays_below_size_limit() {
    let size = size_of::<Simplex>();
    assert!(size <= 448, "{size} bytes");
}

/// An arrival reads fields of the first cache line only, and an offered packet those of the first
/// three.
#[test]
fn fields_of_the_packet_path_share_cache_lines() {
    assert!(offset_of!(Simplex, has_slow_path) < 64 && offset_of!(Simplex, queue) == 64);
    assert!(offset_of!(Simplex, counts) == 128 && offset_of!(Simplex, channel) <= 192);
}

#[test]
fn the_achieved_rate_is_the_configured_rate_at_geo_delay() {
    // A queue of two packets keeps the transmitter busy, because packets in flight do not use its
    // room.
    let mut link = geo(QueueLimit::Packets(2));
    let gap = Interval::of_bits(12_000, 2_048_000);
    let mut now = Instant::ZERO;
    let mut last = 0;
    for _ in 0..10_000 {
        last = arrival(link.offer(now, 1500, Priority::Normal)).expect("never full");
        now += gap;
    }
    let rate = 10_000.0 * 12_000.0 / (last as f64 / 1e9 - 0.25);
    assert!((rate / 2_048_000.0 - 1.0).abs() < 1e-6, "{rate}");
}

#[test]
fn drop_tail_limit_counts_waiting_packets_only() {
    let mut link = geo(QueueLimit::Packets(3));
    let fates: Vec<_> = (0..6)
        .map(|_| arrival(link.offer(Instant::ZERO, 1500, Priority::Normal)))
        .collect();
    // One packet is being sent, three wait and two are dropped.
    assert_eq!(fates.iter().filter(|f| f.is_some()).count(), 4);
    assert_eq!(fates[3], Some(4 * 5_859_375 + 250_000_000));
    assert_eq!(link.stats().drops[DropCause::Congestion as usize], 2);
    assert_eq!(link.queued(Instant::from_nanos(5_859_375)), (2, 3000));
    let mut link = geo(QueueLimit::Bytes(3000));
    let kept = (0..6)
        .filter(|_| arrival(link.offer(Instant::ZERO, 1500, Priority::Normal)).is_some())
        .count();
    assert_eq!(kept, 3);
}

#[test]
fn packets_are_marked_above_the_limit_only() {
    for (mark, from) in [
        (QueueLimit::Packets(2), 3),
        (QueueLimit::Bytes(3000), 3),
        (QueueLimit::Bytes(2999), 2),
        (QueueLimit::Unlimited, 6),
    ] {
        let mut link = geo(QueueLimit::Unlimited);
        link.config.mark = mark;
        // The first packet is being sent; the second and third wait.
        let marked: Vec<_> = (0..6)
            .map(|_| {
                let marked = link.congested(Instant::ZERO, 1500);
                link.offer(Instant::ZERO, 1500, Priority::Normal);
                marked
            })
            .collect();
        let expected: Vec<_> = (0..6).map(|i| i >= from).collect();
        assert_eq!(marked, expected, "{mark:?}");
    }
}

/// After a change to a shorter delay or a clean channel, no packet overtakes those in flight.
/// Packets offered before the change keep their arrival time.
#[test]
fn new_parameters_apply_to_later_packets_and_keep_order() {
    let mut link = geo(QueueLimit::Unlimited);
    let first = arrival(link.offer(Instant::ZERO, 256, Priority::Normal)).unwrap();
    assert_eq!(first, 251_000_000);
    let arrives = Instant::from_nanos(first);
    link.push_in_flight(PacketId(0), arrives);
    let mut config = *link.config();
    (config.delay, config.rate) = (Interval::from_millis(10), 4_096_000);
    link.set_config(config);
    let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    assert_eq!(
        arrival(link.offer(at(1), 256, Priority::Normal)),
        Some(251_000_000)
    );
    assert_eq!(
        arrival(link.offer(at(300), 256, Priority::Normal)),
        Some(310_500_000)
    );
}

#[test]
fn switched_off_channel_passes_packets_unchanged() {
    use farlink_channel::rng::{Probability, Streams};
    use farlink_channel::{Loss, Stage};
    let stream = Streams::new(1, 0).stream("loss");
    let all = Loss::new(Probability::new(1.0).unwrap(), stream);
    let mut link = geo(QueueLimit::Unlimited);
    link.switch_channel(false);
    link.set_channel(Channel::new(vec![Stage::Loss(all)]));
    assert!(arrival(link.offer(Instant::ZERO, 100, Priority::Normal)).is_some());
    link.switch_channel(true);
    assert!(arrival(link.offer(Instant::ZERO, 100, Priority::Normal)).is_none());
    link.set_channel(Channel::default());
    assert!(arrival(link.offer(Instant::ZERO, 100, Priority::Normal)).is_some());
}

#[test]
fn packet_waiting_for_an_opportunity_counts_as_queued() {
    // The trace sends one packet every 10 ms, so a packet waits even on an idle link.
    let trace = farlink_channel::trace::RateTrace::opportunities(vec![10]).unwrap();
    let pace = Pace::new(std::sync::Arc::new(trace), Interval::ZERO);
    let mut link = geo(QueueLimit::Packets(3)).with_pace(pace);
    let fates: Vec<_> = (0..6)
        .map(|_| arrival(link.offer(Instant::ZERO, 1500, Priority::Normal)))
        .collect();
    let ms = |n: u64| Some((n + 250) * 1_000_000);
    assert_eq!(fates, [ms(10), ms(20), ms(30), None, None, None]);
    assert_eq!(link.queued(Instant::from_nanos(9_999_999)), (3, 4500));
    assert_eq!(link.queued(Instant::from_nanos(20_000_000)), (1, 1500));
    assert_eq!(link.stats().busy, 30_000_000);
    assert_eq!(link.stats().queue_max, 3);
}

#[test]
fn check_symbols_take_time_and_no_queue_bytes() {
    let config = LinkConfig {
        overhead: 23,
        fec: Some(BlockCode::new(255, 223, 8, 16).unwrap()),
        ..LinkConfig::plain(1_000_000, Interval::ZERO)
    };
    let mut link = Simplex::new(config, Channel::default());
    // The code adds 32 check symbols to each 223 bytes of framed packet. 200 bytes and framing give
    // one block of 255. 1500 bytes give 7 blocks, 224 bytes more. 1550 bytes alone would be 7
    // blocks, but with framing they are 8.
    let wire = [255, 1523 + 224, 255, 1573 + 256];
    let mut at = 0;
    for (ip_len, wire) in [200, 1500, 200, 1550].into_iter().zip(wire) {
        at += wire * 8000;
        let fate = link.offer(Instant::ZERO, ip_len, Priority::Normal);
        assert_eq!(arrival(fate), Some(at));
    }
    assert_eq!(link.queued(Instant::ZERO), (3, 3250));
    assert_eq!(link.stats().busy, at);
}

#[test]
fn framing_takes_time_and_no_queue_bytes() {
    let config = LinkConfig {
        overhead: 25,
        ..LinkConfig::plain(1_000_000, Interval::ZERO)
    };
    let mut link = Simplex::new(config, Channel::default());
    assert_eq!(
        arrival(link.offer(Instant::ZERO, 100, Priority::Normal)),
        Some(1_000_000)
    );
    assert_eq!(link.stats().bytes, 100);
}
