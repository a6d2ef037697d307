//! The connection at work, end to end in memory; the rules one by one are the
//! packet scripts' business (`tests/scripts`).

use super::*;

/// Carries segments between two ends over a perfect link with this delay.
fn exchange(a: &mut Connection, b: &mut Connection, delay: Interval, until: Instant) -> Instant {
    let mut now = Instant::ZERO;
    let mut wire: Vec<(Instant, bool, Segment)> = Vec::new();
    loop {
        for (to_b, from) in [(true, &mut *a), (false, &mut *b)] {
            from.read_len(u64::MAX);
            while let Some(event) = from.poll_event() {
                if event == Event::Established {
                    from.shutdown(now); // after what was written
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

/// A run of thousands of flows has two of these a flow: what is only there with an
/// option, or in a recovery, belongs behind a pointer.
#[test]
fn a_connection_is_small() {
    let size = size_of::<Connection>();
    assert!(size <= 1536, "{size} bytes");
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
fn a_transfer_past_four_gigabytes_keeps_its_count() {
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
