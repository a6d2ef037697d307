//! Rules of RFC 9000 and RFC 9002 with closed forms: loss detection, probe timeouts, persistent
//! congestion, ACKs, flow control, amplification and the idle timeout. A round trip takes 100 ms.

mod net;

use farlink_quic::{Config, Control, End, Sessions, Side};
use net::{CLEAN, Loses, MS, Net, config};
use std::time::Duration;

/// Bytes of the file of a first flight: eight datagrams of 1200 bytes.
const FLIGHT: u64 = 9_000;

fn net(loses: Loses, len: u64, change: impl Fn(Config) -> Config) -> Net {
    let mut net = Net::new(Control::NewReno, CLEAN, [len, 0]);
    let fixed = |seed| {
        change(Config {
            finds_mtu: false,
            ..config(Control::NewReno, seed)
        })
    };
    net.ends = [
        End::new(Side::Client, fixed(1), len).unwrap(),
        End::new(Side::Server, fixed(2), 0).unwrap(),
    ];
    net.loses = loses;
    net
}

/// Returns the times in microseconds at which the client sent datagrams with data, and the number of
/// the first of them.
fn data_times(net: &Net) -> (Vec<u64>, usize) {
    let sent = net.log.iter().filter(|sent| sent.1 == 0 && sent.2.has_data);
    let first = net
        .log
        .iter()
        .position(|sent| sent.1 == 0 && sent.2.has_data);
    (sent.map(|sent| sent.0 / 1000).collect(), first.unwrap() + 1)
}

/// Returns the times of the data of a first flight whose datagram `lost` (from 0 on) is lost.
fn times_with_loss(lost: usize) -> (Vec<u64>, Net) {
    let mut clean = net(Box::new(|_, _, _| false), FLIGHT, |config| config);
    clean.run(|ends| ends[0].is_acknowledged());
    let (times, first) = data_times(&clean);
    assert_eq!(times, [100_000; 8], "one flight after the handshake");
    let mut net = net(
        Box::new(move |_, _, number| number == first + lost),
        FLIGHT,
        |c| c,
    );
    net.run(|ends| ends[0].is_acknowledged());
    (data_times(&net).0[8..].to_vec(), net)
}

/// RFC 9002, 6.1.1: a packet is lost once one that was sent three later is acknowledged; 6.1.2: or
/// 9/8 of a round trip after it was sent.
#[test]
fn loss_is_found_by_three_packets_or_by_nine_eighths_of_a_round_trip() {
    for (lost, at) in [
        (1, 200_000),
        (3, 200_000),
        (4, 200_000),
        (5, 212_500),
        (6, 212_500),
    ] {
        let (mut again, net) = times_with_loss(lost);
        again.dedup();
        assert_eq!(again, [at], "datagram {lost}");
        assert_eq!(net.ends[0].counters().lost, 1, "datagram {lost}");
    }
}

/// RFC 9002, 6.2.1: the probe timeout is the smoothed RTT, four variations and 25 ms of ACK delay,
/// and each timeout doubles the next. The variation is half of the first sample, and shrinks by a
/// quarter with each equal sample.
#[test]
fn probe_timeouts_have_the_formula_and_double() {
    let dead = Box::new(|at, _, _| at >= 205);
    let mut net = net(dead, 60_000, |config| config);
    net.run(|ends| ends[0].fault().is_some());
    let (mut times, _) = data_times(&net);
    times.dedup();
    let before = times.partition_point(|at| *at < 205_000);
    let probes = &times[before - 1..];
    let gaps: Vec<_> = probes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.len() >= 6, "{gaps:?}");
    let of = |samples: i32| (125_000.0 + 200_000.0 * 0.75_f64.powi(samples - 1)) as u64;
    let samples = (2..=9).find(|&samples| of(samples).abs_diff(gaps[0]) <= 2);
    assert!(samples.is_some(), "{gaps:?}");
    for pair in gaps.windows(2) {
        assert!((2 * pair[0]).abs_diff(pair[1]) <= 2, "{gaps:?}");
    }
    assert_eq!(
        net.ends[0].control_stats().persistent,
        0,
        "nothing came back"
    );
}

/// RFC 9002, 7.6: packets that are lost over three probe timeouts are persistent congestion, after
/// which the window is two datagrams.
#[test]
fn losses_over_three_probe_timeouts_are_persistent_congestion() {
    let of = |until: u64| {
        let gap = Box::new(move |at, from, _| from == 0 && (205..until).contains(&at));
        let mut net = net(gap, 200_000, |config| config);
        net.run(|ends| ends[0].is_acknowledged());
        assert_eq!(net.ends[1].read(), 200_000, "{until}");
        net.ends[0].control_stats().persistent
    };
    // The flights after 200 ms are lost; probes follow after one, three and seven timeouts.
    assert_eq!([of(300), of(500)], [0, 0]);
    assert_eq!([of(1_500), of(3_000)], [1, 1]);
}

/// RFC 9000, 13.2.2: an ACK follows every second packet, and by 13.2.1 a single one after 25 ms.
#[test]
fn each_second_packet_and_each_late_one_has_an_ack() {
    let mut net = net(Box::new(|_, _, _| false), 500, |config| config);
    net.run(|ends| ends[0].is_acknowledged());
    // The data arrives with the end of the handshake, whose confirmation goes out at once.
    assert!((200 * MS..=226 * MS).contains(&net.now), "{}", net.now);
    let acks = |eliciting| {
        let mut net = self::net(Box::new(|_, _, _| false), 2_000_000, |config| Config {
            acks: eliciting,
            ..config
        });
        net.run(|ends| ends[0].is_acknowledged());
        net.ends[1].counters().without_data
    };
    assert!(acks(None) > 100);
}

/// RFC 9000, 4.1: no byte is sent beyond the limits of a stream and of the connection.
#[test]
fn a_sender_stops_at_the_window() {
    for (receive, send, most) in [
        (Some(5_000), None, 5_000),
        (Some(7_777), None, 7_777),
        (None, Some(6_000), 6_000),
        (None, None, FLIGHT),
    ] {
        // Nothing of the server arrives after its first flight.
        let mute = Box::new(|at, from, _| from == 1 && at > 60);
        let mut net = net(mute, FLIGHT, |config| Config {
            receive_window: receive,
            send_window: send,
            ..config
        });
        net.run(|ends| ends[0].fault().is_some());
        assert_eq!(net.ends[1].read(), most, "{receive:?} {send:?}");
    }
}

/// RFC 9000, 8.1: before it has validated the address, a server sends at most three times what it got.
/// quinn-proto sends a whole datagram while any of that is left.
#[test]
fn a_server_sends_three_times_what_it_got() {
    let dead = Box::new(|_, from, number| from == 0 && number > 1);
    let mut net = net(dead, 1_000, |config| Config {
        idle_timeout: Some(Duration::from_secs(300)),
        ..config
    });
    net.run(|ends| ends[0].fault().is_some());
    let sent: usize = (net.log.iter().filter(|sent| sent.1 == 1))
        .map(|sent| sent.2.bytes.len())
        .sum();
    assert!((3_600..3_600 + 1_200).contains(&sent), "{sent}");
}

/// RFC 9000, 10.1: the idle time ends a silent connection, and 10.1.2: packets each third of it keep
/// one alive.
#[test]
fn silence_ends_a_connection_unless_it_is_kept_alive() {
    for (keeps_alive, idle) in [(false, None), (true, None), (true, Some(6))] {
        let mut net = net(Box::new(|_, _, _| false), 0, |config| Config {
            keeps_alive,
            idle_timeout: idle.map(Duration::from_secs),
            ..config
        });
        for end in &mut net.ends {
            end.hold();
        }
        net.run(|ends| ends[0].fault().is_some());
        let silent = [net.ends[0].fault(), net.ends[1].fault()];
        if keeps_alive {
            assert_eq!(silent, [None, None], "{idle:?}");
            let mut times: Vec<_> = net.log.iter().map(|sent| sent.0).collect();
            times.retain(|at| *at > 1000 * MS);
            let longest = times
                .windows(2)
                .map(|pair| pair[1] - pair[0])
                .max()
                .unwrap();
            let third = idle.unwrap_or(30) * 1000 / 3;
            assert!((third - 200..=third).contains(&(longest / MS)), "{longest}");
        } else {
            assert!(silent.contains(&Some("timed out")), "{silent:?}");
            assert!((30_000..30_400).contains(&(net.now / MS)), "{}", net.now);
        }
    }
}

/// RFC 9002, 7.5 lets probes alone leave beyond the window: one datagram each timeout, and two of
/// quinn-proto's.
#[test]
fn early_data_stays_within_the_window_and_the_probes() {
    let control = Control::NewReno;
    let sessions = Sessions::known(config(control, 7), config(control, 8)).unwrap();
    let mut net = net(Box::new(|_, from, _| from == 1), 100_000, |config| config);
    net.ends[0] =
        End::resuming(Side::Client, config(control, 1), 100_000, Some(&sessions)).unwrap();
    net.ends[1] = End::resuming(Side::Server, config(control, 2), 0, Some(&sessions)).unwrap();
    net.run(|ends| ends[0].fault().is_some());
    let of_client = |first, last| {
        let in_time = |sent: &&(u64, usize, _)| (first..last).contains(&(sent.0 / MS));
        let sent = net.log.iter().filter(|sent| sent.1 == 0);
        sent.filter(in_time).count()
    };
    let first = of_client(0, 1);
    // The first window of RFC 9002, 7.2 has ten datagrams.
    assert!((8..=12).contains(&first), "{first}");
    // Timeouts of 0.999 s that double: at 1, 3, 7 and 15 s. Those of the handshake start again.
    for (from, to) in [(1, 999), (1_000, 2_990), (3_000, 6_990), (7_000, 14_980)] {
        assert_eq!(of_client(from, to), 0, "{from} {to}");
    }
    for at in [999, 2_997, 6_993, 14_985] {
        assert!((2..=3).contains(&of_client(at, at + 1)), "{at}");
    }
}
