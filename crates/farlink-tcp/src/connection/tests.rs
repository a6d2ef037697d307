//! Tests of whole connections, end to end in memory. The packet scripts (`tests/scripts`) test
//! single rules of the RFCs.

use super::*;
use crate::record::Mark;

/// Carries segments between two endpoints over a lossless link with the one-way delay `delay`.
fn exchange(a: &mut Connection, b: &mut Connection, delay: Interval, until: Instant) -> Instant {
    let mut now = Instant::ZERO;
    let mut wire: Vec<(Instant, bool, Segment)> = Vec::new();
    loop {
        for (to_b, from) in [(true, &mut *a), (false, &mut *b)] {
            from.read_len(u64::MAX);
            while let Some(event) = from.poll_event() {
                if event == Event::Established {
                    from.shutdown(now); // after the queued data
                }
            }
            while let Some(segment) = from.poll_transmit(now) {
                wire.push((now + delay, to_b, segment));
            }
        }
        let timer = [a.next_timeout(), b.next_timeout()]
            .into_iter()
            .flatten()
            .min();
        let arrival = wire.first().map(|w| w.0);
        let Some(next) = [timer, arrival].into_iter().flatten().min() else {
            return now;
        };
        if next > until {
            return now;
        }
        now = next;
        if arrival == Some(now) {
            let (_, to_b, segment) = wire.remove(0);
            let to = if to_b { &mut *b } else { &mut *a };
            to.on_segment(now, &segment);
        } else {
            for end in [&mut *a, &mut *b] {
                if end.next_timeout().is_some_and(|t| t <= now) {
                    end.on_timeout(now);
                }
            }
        }
    }
}

/// A run with thousands of flows has two connections per flow, so rarely used state (options,
/// recovery) belongs behind a pointer. With 888 bytes here, an end of the simulator (`End` of
/// farlink-sim, tested there) has 960 bytes: 15 cache lines.
#[test]
fn connection_size_is_bounded() {
    let size = size_of::<Connection>();
    assert!(size <= 888, "{size} bytes");
}

/// The simulator's `End` begins with 48 bytes of its own in a cache line. The sender state that a
/// receiving end reads for each segment then lies in two cache lines.
#[test]
fn sender_state_of_a_receiver_fits_two_cache_lines() {
    let sender = 48 + std::mem::offset_of!(Connection, tx);
    let first = sender + std::mem::offset_of!(Sender, frto);
    let last = sender + std::mem::offset_of!(Sender, flight.board) + 16; // SND.UNA, SND.MAX
    assert_eq!((first % 64, last - first), (0, 128));
}

#[test]
fn every_variant_delivers_both_ways_and_closes() {
    for variant in crate::variant::VARIANTS {
        let config = Arc::new((variant.config)());
        let mut a = Connection::open(Arc::clone(&config), 1, 2, Seq(u32::MAX - 5));
        let mut b = Connection::listen(config, 2, Seq(77));
        a.write_len(100_000).unwrap();
        b.write_len(30_000).unwrap();
        exchange(
            &mut a,
            &mut b,
            Interval::from_millis(20),
            Instant::ZERO + Interval::from_secs(200),
        );
        assert_eq!(
            (a.delivered(), b.delivered()),
            (30_000, 100_000),
            "{}",
            variant.name
        );
        assert_eq!(
            (a.state(), b.state()),
            (State::Closed, State::Closed),
            "{}",
            variant.name
        );
        assert_eq!(a.stats().segments_retransmitted, 0, "{}", variant.name);
    }
}

#[test]
fn byte_counts_exceed_32_bits() {
    let config = Arc::new(Config {
        mss: 60_000,
        ..(crate::variant::lookup("sack").unwrap().config)()
    });
    let mut a = Connection::open(Arc::clone(&config), 1, 2, Seq(0));
    let mut b = Connection::listen(config, 2, Seq(0));
    let size = (1 << 32) + 123;
    a.write_len(size).unwrap();
    exchange(&mut a, &mut b, Interval::from_micros(1), Instant::MAX);
    assert_eq!(b.delivered(), size);
}

fn pair(config: &Arc<Config>) -> (Connection, Connection) {
    (
        Connection::open(Arc::clone(config), 1, 2, Seq(9)),
        Connection::listen(Arc::clone(config), 2, Seq(77)),
    )
}

/// A write whose data would never be sent returns an error.
#[test]
fn write_fails_if_data_would_not_be_sent() {
    let config = Arc::new(Config::default());
    let now = Instant::ZERO;
    let (mut a, mut b) = pair(&config);
    assert_eq!(a.write(b"some"), Ok(4));
    assert_eq!(a.write_len(0), Err(WriteError::Mixed));
    assert_eq!(a.write_len(7), Err(WriteError::Mixed));
    assert_eq!(b.write_len(7), Ok(7));
    assert_eq!(b.write(b"some"), Err(WriteError::Mixed));
    assert!(a.poll_transmit(now).is_some(), "no panic");
    a.abort(now);
    assert_eq!(a.write(b"more"), Err(WriteError::Closed));
    b.shutdown(now);
    assert_eq!(b.write_len(1), Err(WriteError::Closed));
}

/// Records of an abort have the time that the application passed to `abort`.
#[test]
fn abort_is_recorded_at_the_time_of_the_call() {
    let (mut a, _) = pair(&Arc::new(Config::default()));
    a.set_tracing(true);
    let now = Instant::ZERO + Interval::from_secs(3);
    a.abort(now);
    let closed = (now, Record::Mark(Mark::Closed));
    assert_eq!(a.drain_records().last(), Some(closed));
}

/// Each change of the congestion control's inner state is recorded once. The last record of each
/// metric equals the value that `metrics` returns.
#[test]
fn each_change_of_inner_state_is_recorded_once() {
    let config = Arc::new((crate::variant::lookup("westwood").unwrap().config)());
    let (mut a, mut b) = pair(&config);
    a.set_tracing(true);
    a.write_len(200_000).unwrap();
    let delay = Interval::from_millis(20);
    let end = exchange(&mut a, &mut b, delay, Instant::MAX);
    let mut last = Vec::new();
    for (_, record) in a.drain_records() {
        if let Record::Inner { metric, value } = record {
            let before = last.iter().rfind(|(m, _)| *m == metric);
            assert_ne!(before, Some(&(metric, value)), "no change");
            last.push((metric, value));
        }
    }
    assert_eq!(last.iter().filter(|(m, _)| m.name == "rtt_min").count(), 1);
    assert!(last.iter().filter(|(m, _)| m.name == "bandwidth").count() > 3);
    for shown in a.metrics(end) {
        assert_eq!(last.iter().rfind(|(m, _)| *m == shown.0), Some(&shown));
    }
    let rtt = last.iter().find(|(m, _)| m.name == "rtt_min");
    assert_eq!(rtt.unwrap().1, Some(0.04), "a round trip of 40 ms");
}

/// A changed setting of an open connection applies from that time on.
#[test]
fn nagle_and_buffers_apply_when_set_after_the_open() {
    let config = Arc::new(Config {
        send_buffer: 1000,
        nagle: Nagle::Rfc896,
        ..Config::default()
    });
    let (mut a, mut b) = pair(&config);
    let ms = Interval::from_millis(1);
    let mut now = Instant::ZERO;
    for _ in 0..2 {
        for _ in 0..2 {
            while let Some(segment) = a.poll_transmit(now) {
                b.on_segment(now, &segment);
            }
            std::mem::swap(&mut a, &mut b);
        }
        now += ms;
    }
    assert_eq!(a.write_len(5000), Ok(1000));
    a.set_send_buffer(3000);
    assert_eq!(a.write_len(5000), Ok(2000));
    let sent = std::iter::from_fn(|| a.poll_transmit(now));
    // Two whole segments of 1,460 bytes; the rest waits for an ACK (RFC 896).
    assert_eq!(sent.map(|s| s.body.len()).sum::<u32>(), 2920);
    a.set_nagle(Nagle::Off);
    assert_eq!(a.poll_transmit(now).unwrap().body.len(), 80);
    b.set_receive_buffer(30_000);
    b.rx.acknowledge_now(Reason::Answer);
    // The right edge that was offered stays, and the smaller buffer applies beyond it.
    assert_eq!(b.poll_transmit(now).unwrap().window, 65_535);
}

/// `Nagle::Fill` sends partial segments, also if it is set after the handshake.
#[test]
fn fill_sends_a_partial_segment_up_to_the_window_of_the_peer() {
    for late in [false, true] {
        let config = Arc::new(Config {
            nagle: if late { Nagle::Rfc896 } else { Nagle::Fill },
            ..Config::default()
        });
        let (mut a, mut b) = pair(&config);
        b.set_receive_buffer(3500);
        let now = Instant::ZERO;
        for _ in 0..4 {
            while let Some(segment) = a.poll_transmit(now) {
                b.on_segment(now, &segment);
            }
            std::mem::swap(&mut a, &mut b);
        }
        if late {
            a.set_nagle(Nagle::Fill);
        }
        assert_eq!(a.write_len(10_000), Ok(10_000));
        let sent = std::iter::from_fn(|| a.poll_transmit(now));
        let sizes: Vec<_> = sent.map(|s| s.body.len()).collect();
        assert_eq!(sizes, [1460, 1460, 580], "{late}");
    }
}

/// Settings of a passive open also hold for the next peer, after one that disappeared in
/// SYN-RECEIVED.
#[test]
fn settings_are_kept_on_return_to_listen() {
    let config = Arc::new(Config {
        nagle: Nagle::Minshall,
        ..Config::default()
    });
    let now = Instant::ZERO;
    let mut server = Connection::listen(config.clone(), 80, Seq(7));
    server.set_nagle(Nagle::Off);
    server.set_send_buffer(3000);
    server.set_receive_buffer(9000);
    let mut client = Connection::open(config.clone(), 1, 80, Seq(1));
    server.on_segment(now, &client.poll_transmit(now).unwrap());
    client.on_segment(now, &server.poll_transmit(now).unwrap());
    client.abort(now);
    server.on_segment(now, &client.poll_transmit(now).unwrap());
    assert_eq!(server.state(), State::Listen);

    let mut client = Connection::open(config, 1, 80, Seq(1));
    server.on_segment(now, &client.poll_transmit(now).unwrap());
    let syn_ack = server.poll_transmit(now).unwrap();
    assert_eq!(syn_ack.window, 9000);
    client.on_segment(now, &syn_ack);
    server.on_segment(now, &client.poll_transmit(now).unwrap());
    assert_eq!(server.write_len(5000), Ok(3000));
    let sent = std::iter::from_fn(|| server.poll_transmit(now));
    // Two whole segments, and the rest without an ACK.
    assert_eq!(sent.map(|s| s.body.len()).sum::<u32>(), 3000);
}
