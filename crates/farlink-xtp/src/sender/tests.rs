use super::*;

/// Packets of 100 bytes at 800 kbit/s, so one per millisecond, and a request with every fourth.
fn spec() -> Config {
    Config {
        rate: 800_000,
        burst: 100,
        packet: 100,
        window: 100_000,
        sreq_every: 4,
    }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Interval::from_millis(ms)
}

fn sender(spec: &Config) -> Sender {
    Sender::new(spec, 100_000, Instant::ZERO)
}

/// Sends packets in these milliseconds. Returns the packets' numbers.
fn send(sender: &mut Sender, ms: std::ops::RangeInclusive<u64>) -> Vec<u64> {
    let mut sent = Vec::new();
    let mut now = at(*ms.start());
    while now <= at(*ms.end()) {
        sender.on_time(now);
        while let Some(pdu) = sender.transmit(now) {
            if let Content::Data { seq, .. } = pdu.content {
                sent.push(seq / 100);
            }
        }
        match sender.deadline(now) {
            Some(next) => now = next.max(now),
            None => break,
        }
    }
    sent
}

fn status(rseq: u64, echo: u32, spans: &[(u64, u64)]) -> Status {
    Status {
        rseq: 100 * rseq,
        alloc: 200_000,
        echo,
        spans: spans.iter().map(|(a, b)| (100 * a, 100 * b)).collect(),
    }
}

#[test]
fn data_outside_spans_is_retransmitted_once() {
    let mut sender = sender(&spec());
    // Packets 0, 4 and 8 carry requests.
    assert_eq!(send(&mut sender, 0..=9), (0..10).collect::<Vec<_>>());
    assert_eq!(sender.sync, 3);
    sender.on_status(at(10), status(1, 1, &[]), 8);
    sender.on_status(at(10), status(2, 2, &[(3, 4)]), 8);
    // By the second report, packets 2 and 4 are lost. It does not cover packets 5 to 9.
    assert_eq!(send(&mut sender, 10..=12), [2, 4, 10]);
    // The third report was sent before the retransmissions arrived, so nothing is lost a second
    // time.
    sender.on_status(at(13), status(2, 3, &[(3, 4), (5, 9)]), 8);
    assert_eq!(send(&mut sender, 13..=14), [11, 12]);
    assert_eq!(sender.stats.segments_retransmitted, 2);
}

#[test]
fn data_covered_by_later_report_is_not_retransmitted() {
    let mut sender = sender(&spec());
    send(&mut sender, 0..=9);
    sender.on_status(at(10), status(0, 2, &[]), 8); // packets 0 to 4 seem to be lost
    sender.on_status(at(10), status(3, 3, &[(4, 5), (6, 9)]), 8); // Packets 0 to 2 were late.
    assert_eq!(send(&mut sender, 10..=12), [3, 5, 10]);
}

#[test]
fn full_report_marks_nothing_lost_beyond_its_last_span() {
    let mut sender = sender(&spec());
    send(&mut sender, 0..=9);
    // Here a report has room for two spans.
    sender.on_status(at(10), status(1, 3, &[(2, 3), (4, 5)]), 2);
    assert_eq!(send(&mut sender, 10..=13), [1, 3, 10, 11]);
    // The next request is in packet 11. Its report has room for the remaining spans.
    sender.on_status(at(14), status(5, 4, &[(6, 9), (10, 12)]), 2);
    assert_eq!(send(&mut sender, 14..=15), [5, 9]);
}

#[test]
fn an_old_report_changes_nothing() {
    let mut sender = sender(&Config {
        window: 1000,
        ..spec()
    });
    send(&mut sender, 0..=9);
    sender.on_status(at(10), status(9, 3, &[]), 8);
    assert_eq!((sender.rseq, sender.alloc), (900, 200_000));
    let old = Status {
        alloc: 1100,
        ..status(5, 2, &[(7, 8)])
    };
    sender.on_status(at(10), old, 8);
    assert_eq!((sender.rseq, sender.alloc), (900, 200_000));
    assert!(sender.spans.is_empty());
    assert_eq!(sender.stats.rtt_samples, 1);
}

#[test]
fn missing_report_is_requested_and_stops_data_until_it_arrives() {
    let mut sender = sender(&spec());
    send(&mut sender, 0..=0);
    sender.on_status(at(20), status(1, 1, &[]), 8);
    // With SRTT 20 ms and deviation 10 ms, the time-out is 60 ms from the last request.
    let spec = spec();
    sender.alloc = 500; // packets 1 to 4 and no more
    assert_eq!(send(&mut sender, 1..=24), [1, 2, 3, 4]);
    let requested = sender.requests.back().expect("a request").at;
    assert_eq!(
        sender.deadline(at(24)),
        Some(requested + Interval::from_millis(60))
    );
    let now = requested + Interval::from_millis(60);
    sender.on_time(now);
    assert_eq!(sender.stats.timeouts, 1);
    let pdu = sender.transmit(now).expect("a request");
    assert!(pdu.sreq && pdu.content == Content::default());
    assert_eq!(sender.transmit(now), None);
    let twice = now + Interval::from_millis(120);
    assert_eq!(sender.waits_until, Some(twice), "twice as long");
    // The report to the previous request opens the window, but does not end the synchronization.
    let first = pdu.sync;
    sender.on_status(now, status(3, first - 1, &[]), 8);
    assert!(sender.alloc > spec.window);
    assert_eq!(sender.transmit(now), None);
    // Without a report the time-out doubles. A report to any of the requests stops the timer.
    let wait = sender.wait();
    sender.doublings = 1;
    assert_eq!(sender.wait(), wait * 2);
    let again = sender.waits_until.expect("waits");
    sender.on_time(again);
    assert_eq!(sender.transmit(again).expect("a request").sync, first + 1);
    sender.on_status(again, status(3, first, &[]), 8);
    assert!(
        sender.transmit(again).is_some(),
        "packet 3 or 4 again, or 5"
    );
    assert_eq!(sender.doublings, 0);
}

#[test]
fn report_timeout_is_bounded_and_follows_jacobson() {
    let mut sender = sender(&spec());
    assert_eq!(sender.wait(), FIRST_WAIT);
    sender.doublings = 10;
    assert_eq!(sender.wait(), MAX_WAIT);
    sender.doublings = 0;
    sender.sample(Interval::from_micros(100));
    assert_eq!(sender.wait(), MIN_WAIT);
    sender.round_trip = RoundTrip::default();
    sender.sample(Interval::from_millis(80));
    assert_eq!(sender.wait(), Interval::from_millis(80 + 4 * 40));
    // Jacobson's gains are 1/4 for the mean deviation and 1/8 for the mean.
    sender.sample(Interval::from_millis(160));
    assert_eq!(sender.wait(), Interval::from_millis(90 + 4 * 50));
}

#[test]
fn the_time_of_a_report_is_that_of_its_own_request() {
    let mut sender = sender(&spec());
    send(&mut sender, 0..=9);
    // The first two reports are lost. The request in packet 8 was sent at 8 ms.
    sender.on_status(at(50), status(9, 3, &[]), 8);
    assert_eq!(sender.stats.rtt_samples, 1);
    assert_eq!(sender.round_trip.smoothed, Some(Interval::from_millis(42)));
    assert!(sender.requests.is_empty());
    assert_eq!(sender.waits_until, None);
    assert_eq!(sender.deadline(at(50)), Some(at(50)), "only to send");
}

#[test]
fn the_window_ends_in_the_middle_of_a_packet() {
    let mut sender = sender(&Config {
        window: 350,
        ..spec()
    });
    assert_eq!(send(&mut sender, 0..=9), [0, 1, 2]);
}

#[test]
fn sender_requests_report_when_window_is_full_and_none_is_pending() {
    let mut sender = sender(&Config {
        window: 400,
        ..spec()
    });
    send(&mut sender, 0..=9);
    let full = Status {
        alloc: 400,
        ..status(4, 2, &[])
    };
    sender.on_status(at(10), full, 8);
    assert_eq!(sender.deadline(at(10)), Some(at(10)));
    let pdu = sender.transmit(at(10)).expect("a request");
    assert!(pdu.sreq && pdu.content == Content::default());
}
