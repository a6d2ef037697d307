//! Two ends over a path that delays, loses, copies and reorders datagrams.

mod net;

use farlink_quic::{Acks, Config, Control, End, Exchange, Sessions, Side};
use net::{CLEAN, CONTROLS, MS, Net, Path, config};
use std::time::Duration;

#[test]
fn a_file_arrives_over_a_clean_path() {
    for control in CONTROLS {
        let mut net = Net::new(control, CLEAN, [1_000_000, 0]);
        net.run(|ends| ends[0].is_acknowledged());
        let [client, server] = &net.ends;
        assert!(
            server.has_all() && server.read() == 1_000_000,
            "{control:?}"
        );
        assert_eq!((client.fault(), server.fault()), (None, None));
        assert_eq!(client.counters().lost, 0);
        // Quinn searches for up to 1452 bytes (RFC 8899).
        assert_eq!(client.counters().mtu, 1452);
        let control_stats = client.control_stats();
        assert_eq!(control_stats.rtt_min, 100 * MS);
        assert!(control_stats.rtt_max < 126 * MS, "{control_stats:?}"); // a delayed ACK waits 25 ms at most
    }
}

#[test]
fn first_datagrams_are_those_of_a_handshake() {
    let mut net = Net::new(Control::Cubic, CLEAN, [10_000, 0]);
    net.run(|ends| ends[0].is_acknowledged());
    let (at, from, first) = &net.log[0];
    assert_eq!((*at, *from, first.bytes.len()), (0, 0, 1200));
    assert_eq!(
        first.bytes[0] & 0xf0,
        0xc0,
        "an Initial packet (RFC 9000, 17.2)"
    );
    assert_eq!(first.bytes[1..5], [0, 0, 0, 1], "version 1");
    // The server answers after half a round trip and the client has data in flight after one.
    assert_eq!((net.log[1].0, net.log[1].1), (50 * MS, 1));
    let data = net.log.iter().find(|sent| sent.2.has_data).unwrap();
    assert_eq!((data.0, data.1), (100 * MS, 0));
    assert_eq!(data.2.ecn, 2, "ECT(0)");
}

#[test]
fn bytes_are_exact_under_loss_copies_and_reordering() {
    for control in CONTROLS {
        for (loss, copies, late) in [(1, 0, 0), (15, 0, 0), (0, 20, 20), (5, 10, 10)] {
            let path = Path {
                loss,
                copies,
                late,
                ..CLEAN
            };
            let mut net = Net::new(control, path, [300_000, 0]);
            net.run(|ends| ends[0].is_acknowledged());
            let [client, server] = &net.ends;
            let what = format!("{control:?} {loss} {copies} {late}");
            assert_eq!((client.fault(), server.fault()), (None, None), "{what}");
            assert_eq!((server.read(), server.has_all()), (300_000, true), "{what}");
            assert!(loss == 0 || client.counters().lost > 0, "{what}");
        }
    }
}

#[test]
fn two_runs_are_equal_and_another_seed_is_not() {
    for control in CONTROLS {
        let path = Path {
            loss: 3,
            copies: 3,
            late: 3,
            ..CLEAN
        };
        let run = |seed| {
            let mut net = Net::new(control, path, [2_000_000, 50_000]);
            net.ends[0] = End::new(Side::Client, config(control, seed), 2_000_000).unwrap();
            net.run(|ends| ends.iter().all(End::is_acknowledged));
            (
                net.now,
                net.log,
                net.ends.map(|end| (end.control_stats(), end.secrets())),
            )
        };
        let first = run(1);
        assert_eq!(first.2[0].1.lines().count(), 5, "five secrets");
        assert!(first == run(1), "{control:?}");
        assert!(first != run(3), "{control:?}");
    }
}

#[test]
fn server_sends_as_well_and_both_directions_at_once() {
    let mut net = Net::new(Control::Cubic, CLEAN, [20_000, 400_000]);
    net.run(|ends| ends.iter().all(End::is_acknowledged));
    assert_eq!((net.ends[0].read(), net.ends[1].read()), (400_000, 20_000));
    assert!(
        net.ends
            .iter()
            .all(|end| end.has_all() && end.fault().is_none())
    );
}

#[test]
fn windows_limit_what_is_in_flight() {
    let rate = |receive_window, send_window| {
        let mut net = Net::new(Control::Cubic, CLEAN, [1_000_000, 0]);
        let seed = |side, seed, len| {
            let config = Config {
                receive_window,
                send_window,
                ..config(Control::Cubic, seed)
            };
            End::new(side, config, len).unwrap()
        };
        net.ends = [seed(Side::Client, 1, 1_000_000), seed(Side::Server, 2, 0)];
        net.run(|ends| ends[0].is_acknowledged());
        net.now / MS
    };
    let free = rate(None, None);
    // 1 MB in windows of 50 kB takes 20 round trips of 100 ms and more.
    assert!(rate(Some(50_000), None) > 2000 && free < 1000, "{free}");
    assert!(rate(None, Some(50_000)) > 2000);
}

#[test]
fn closing_tells_the_peer_and_a_dead_path_ends_the_connection() {
    let mut net = Net::new(Control::Cubic, CLEAN, [10_000, 0]);
    net.run(|ends| ends[0].is_acknowledged());
    net.ends[0].close(net.now);
    net.run(|ends| ends[1].fault().is_some());
    assert!(
        net.ends[1].fault().unwrap().contains("closed"),
        "{:?}",
        net.ends[1]
    );
    let dead = Path { most: 100, ..CLEAN };
    let mut net = Net::new(Control::Cubic, dead, [10_000, 0]);
    net.run(|ends| ends[0].fault().is_some());
    assert_eq!(net.ends[0].fault(), Some("timed out"));
    assert!((30_000 * MS..31_000 * MS).contains(&net.now), "{}", net.now);
}

#[test]
fn mtu_search_ends_at_the_path() {
    let narrow = Path {
        most: 1372,
        ..CLEAN
    };
    let mut net = Net::new(Control::Cubic, narrow, [3_000_000, 0]);
    net.run(|ends| ends[0].is_acknowledged());
    let counters = net.ends[0].counters();
    // The search stops within 20 bytes of the limit.
    assert!((1352..=1372).contains(&counters.mtu), "{}", counters.mtu);
    assert_eq!(counters.lost, 0, "lost probes do not count");
}

#[test]
fn a_wide_window_has_room_for_many_gaps() {
    for control in CONTROLS {
        let path = Path { loss: 20, ..CLEAN };
        let mut net = Net::new(control, path, [20_000_000, 0]);
        let wide = |side, seed, len| {
            let config = Config {
                receive_window: Some(32 << 20),
                send_window: Some(64 << 20),
                ..config(control, seed)
            };
            End::new(side, config, len).unwrap()
        };
        net.ends = [wide(Side::Client, 1, 20_000_000), wide(Side::Server, 2, 0)];
        net.run(|ends| ends[0].is_acknowledged() || ends.iter().any(|end| end.fault().is_some()));
        let faults = net
            .ends
            .each_ref()
            .map(|end| end.fault().map(str::to_owned));
        assert_eq!(faults, [None, None], "{control:?}");
        // NewReno and CUBIC need longer than ten minutes here.
        if control == Control::Bbr {
            assert_eq!(net.ends[1].read(), 20_000_000);
        }
    }
}

#[test]
fn a_file_over_several_streams_arrives_whole() {
    for streams in [2, 7, 100] {
        let path = Path {
            loss: 5,
            copies: 5,
            late: 5,
            ..CLEAN
        };
        let mut net = Net::new(Control::Bbr, path, [300_000, 90_001]);
        let several = |side, seed, len| {
            let config = Config {
                streams,
                ..config(Control::Bbr, seed)
            };
            End::new(side, config, len).unwrap()
        };
        net.ends = [
            several(Side::Client, 1, 300_000),
            several(Side::Server, 2, 90_001),
        ];
        net.run(|ends| ends.iter().all(End::is_acknowledged));
        assert_eq!((net.ends[0].read(), net.ends[1].read()), (90_001, 300_000));
        for end in &net.ends {
            assert!(end.has_all() && end.fault().is_none(), "{streams}: {end:?}");
        }
    }
}

#[test]
fn the_idle_time_is_that_of_the_configuration() {
    for (seconds, ends_at) in [(100, Some(100)), (5000, None), (0, None)] {
        let dead = Path { most: 100, ..CLEAN };
        let mut net = Net::new(Control::Cubic, dead, [10_000, 0]);
        let config = Config {
            idle_timeout: Some(Duration::from_secs(seconds)),
            ..config(Control::Cubic, 1)
        };
        net.ends[0] = End::new(Side::Client, config, 10_000).unwrap();
        net.run(|ends| ends[0].fault().is_some());
        match ends_at {
            Some(at) => assert_eq!(net.now / (1000 * MS), at),
            None => assert_eq!(net.ends[0].fault(), None, "{seconds} s"),
        }
    }
}

/// RFC 9002, 6.2.1 and 6.2.2: the first probe timeout is three times the initial RTT, because the
/// variation starts from its half, and later ones double.
#[test]
fn probe_timeouts_of_a_handshake_follow_the_initial_rtt() {
    let times = |initial| {
        let dead = Path { most: 100, ..CLEAN };
        let mut net = Net::new(Control::Cubic, dead, [10_000, 0]);
        let config = Config {
            idle_timeout: Some(Duration::from_secs(8000)),
            initial_rtt: initial,
            ..config(Control::Cubic, 1)
        };
        net.ends[0] = End::new(Side::Client, config, 10_000).unwrap();
        net.run(|ends| ends[0].fault().is_some());
        let mut times: Vec<_> = net.log.iter().map(|sent| sent.0 / MS).collect();
        times.dedup();
        times
    };
    assert_eq!(times(None)[..4], [0, 999, 2997, 6993]);
    assert_eq!(
        times(Some(Duration::from_secs(20)))[..4],
        [0, 60_000, 180_000, 420_000]
    );
}

#[test]
fn the_peer_sends_as_many_acks_as_it_is_asked_for() {
    let acks = |acks| {
        let mut net = Net::new(Control::Cubic, CLEAN, [3_000_000, 0]);
        let config = Config {
            acks,
            ..config(Control::Cubic, 1)
        };
        net.ends[0] = End::new(Side::Client, config, 3_000_000).unwrap();
        net.run(|ends| ends[0].is_acknowledged());
        assert_eq!(net.ends[1].read(), 3_000_000);
        let sent = net.ends[0].counters().with_data as f64;
        sent / net.ends[1].counters().without_data as f64
    };
    let wish = |packets, delay| {
        Some(Acks {
            eliciting_threshold: Some(packets),
            max_delay: Some(Duration::from_millis(delay)),
            reordering_threshold: None,
        })
    };
    // Datagrams of a burst arrive at the same time here and share an ACK, so one for each is rare.
    let (usual, few) = (acks(None), acks(wish(19, 90)));
    assert!(few > 1.2 * usual, "{usual} {few}");
    // A delay of 5 ms sends more of them.
    let soon = acks(wish(1000, 5));
    assert!(soon < acks(wish(1000, 90)), "{soon}");
}

/// Runs a client that requests four objects of 30 kB when the connection is open. Returns the times
/// in milliseconds at which the objects are complete.
fn times_of_objects(drops: u64) -> Vec<u64> {
    let mut net = Net::new(Control::Cubic, Path { drops, ..CLEAN }, [0, 0]);
    let mut times = vec![0; 4];
    net.ends[0].open(0);
    while times.contains(&0) {
        while let Some(event) = net.ends[1].exchange() {
            if let Exchange::Request(number) = event {
                net.ends[1].answer(number, 30_000);
            }
        }
        while let Some(event) = net.ends[0].exchange() {
            match event {
                Exchange::Connected => (0..4).for_each(|_| net.ends[0].request(300)),
                Exchange::Answer(number) => times[number as usize] = net.now / MS,
                Exchange::Request(_) => unreachable!("the server requests nothing"),
            }
        }
        net.step().expect("more to come");
    }
    assert_eq!(net.ends[0].read(), 120_000);
    times
}

/// RFC 9000, 2: streams are independent, so a lost packet holds the data of its streams alone.
#[test]
fn a_lost_packet_holds_its_own_streams_alone() {
    let clean = times_of_objects(0);
    let mut held = [0; 5];
    for drops in 1..80 {
        let late = times_of_objects(drops);
        let slower = late.iter().zip(&clean).filter(|(late, clean)| late > clean);
        held[slower.count()] += 1;
    }
    // A loss in the last window makes one object late, and an earlier one reduces the window for all.
    assert!(held[1] > 20, "{held:?}");
}

#[test]
fn a_client_with_a_session_sends_data_in_its_first_flight() {
    for control in CONTROLS {
        let sessions = Sessions::known(config(control, 7), config(control, 8)).unwrap();
        let mut net = Net::new(control, CLEAN, [5_000, 0]);
        let end = |side, seed, len| {
            End::resuming(side, config(control, seed), len, Some(&sessions)).unwrap()
        };
        net.ends = [end(Side::Client, 1, 5_000), end(Side::Server, 2, 0)];
        net.run(|ends| ends[1].has_all());
        // Data takes 50 ms one way; without a session it leaves a round trip later.
        assert_eq!(net.now, 50 * MS, "{control:?}");
        net.run(|ends| ends[0].is_acknowledged());
        assert!(net.ends[0].resumed(), "{control:?}");
        assert_eq!((net.ends[0].fault(), net.ends[1].fault()), (None, None));
        assert!(
            net.ends[0]
                .secrets()
                .contains("CLIENT_EARLY_TRAFFIC_SECRET")
        );
        let mut net = Net::new(control, CLEAN, [5_000, 0]);
        net.run(|ends| ends[1].has_all());
        assert_eq!(net.now, 150 * MS, "{control:?}");
        assert!(!net.ends[0].resumed());
    }
}

/// Returns the numbers of the runs with 15 % of loss each way that end before all data is
/// acknowledged.
fn stalled(control: Control, len: u64, early: bool) -> Vec<u64> {
    let sessions = Sessions::known(config(control, 7), config(control, 8)).unwrap();
    let known = early.then_some(&sessions);
    let has_stalled = |seed: &u64| {
        let path = Path { loss: 15, ..CLEAN };
        let mut net = Net::new(control, path, [len, 0]);
        net.random = *seed;
        let end = |side, key, len| {
            let config = config(control, key + 2 * (seed % 100) as u8);
            End::resuming(side, config, len, known).unwrap()
        };
        net.ends = [end(Side::Client, 1, len), end(Side::Server, 2, 0)];
        net.run(|ends| ends[0].is_acknowledged() || ends.iter().any(|end| end.fault().is_some()));
        !net.ends[0].is_acknowledged() || net.ends[1].read() != len
    };
    (0..200).filter(has_stalled).collect()
}

/// RFC 9002, 7.5: the window blocks no probe. Early data that was lost fills it, and the client's
/// last packet of the handshake must leave all the same.
#[test]
fn no_handshake_stalls_at_many_losses() {
    for control in CONTROLS {
        for len in [1_000, 5_000, 20_000] {
            for early in [false, true] {
                let stalled = stalled(control, len, early);
                assert_eq!(stalled, [0; 0], "{control:?} {len} {early}");
            }
        }
    }
}
