//! Radios that cannot send and receive at once, over whole runs.

use crate::common::{self, datagram, expand, metric, result};
use farlink_sim::{Live, Monitor, TraceOptions, run, trace};
use farlink_tcp::Instant;

/// Returns a radio of 500 kbit/s with 1 ms in each direction.
fn radio(more: &str, flows: &str) -> String {
    format!(
        "duration = \"200 s\"\n\
         [[links]]\nbetween = [\"base\", \"mobile\"]\nhalf_duplex = true\n{more}\n\
         down = {{ rate = \"500 kbit/s\", delay = \"1 ms\", queue = {{ packets = 50 }} }}\n{flows}"
    )
}

/// Two flows, each with packets of 1000 bytes and more load than its share of the capacity.
const BOTH_WAYS: &str = "\
    [[flows]]\nfrom = \"base\"\nto = \"mobile\"\napp = \"cbr\"\nrate = \"600 kbit/s\"\n\
    packet = \"972 B\"\nduration = \"300 s\"\n\
    [[flows]]\nfrom = \"mobile\"\nto = \"base\"\napp = \"cbr\"\nrate = \"800 kbit/s\"\n\
    packet = \"972 B\"\nduration = \"300 s\"\n";

/// Two saturated directions share the capacity equally, for any loads, and with a link protocol
/// too.
#[test]
fn two_directions_share_the_capacity() {
    for (more, frame) in [
        ("", 1000.0),
        ("arq = { protocol = \"none\", header = \"6 B\" }", 1006.0),
    ] {
        let done = result(&radio(more, BOTH_WAYS));
        let expected = 500_000.0 / 2.0 * 1000.0 / frame;
        for link in [0, 1] {
            let got = metric(&done, "links", link, "throughput");
            assert!(
                (got / expected - 1.0).abs() < 0.001,
                "{got}, not {expected}"
            );
            let busy = metric(&done, "links", link, "utilisation");
            assert!((busy - 0.5).abs() < 0.001, "{busy}");
        }
    }
}

/// Every second segment is acknowledged, and no data is sent while the ACK occupies the medium.
#[test]
fn acknowledgments_take_the_time_of_data() {
    let flow = "[tcp]\ndelayed_ack = \"200 ms\"\nmss = \"1460 B\"\n\
                [[flows]]\nfrom = \"base\"\nto = \"mobile\"\napp = \"bulk\"\nduration = \"199 s\"";
    let goodput = |text: &str| metric(&result(text), "flows", 0, "goodput");
    let bits = |bytes: f64| bytes * 8.0 / 500_000.0;
    let expected = 2.0 * 1460.0 * 8.0 / (2.0 * bits(1500.0) + bits(40.0));
    let got = goodput(&radio("", flow));
    assert!(
        (got / expected - 1.0).abs() < 0.005,
        "{got}, not {expected}"
    );
    // The service time of a packet also takes time of the medium.
    let slow = radio("", flow).replace("queue", "service_time = \"30 ms\", queue");
    let expected = 2.0 * 1460.0 * 8.0 / (2.0 * bits(1500.0) + bits(40.0) + 3.0 * 0.03);
    let got = goodput(&slow);
    assert!(
        (got / expected - 1.0).abs() < 0.005,
        "{got}, not {expected}"
    );
    // If each direction has its own medium, ACKs take no time from the data.
    let full = slow.replace("half_duplex = true", "");
    let expected = 1460.0 * 8.0 / (bits(1500.0) + 0.03);
    let got = goodput(&full);
    assert!(
        (got / expected - 1.0).abs() < 0.005,
        "{got}, not {expected}"
    );
}

/// Link protocols recover losses, and the two directions are never busy at once.
#[test]
fn a_protocol_sends_its_frames_in_turns() {
    let flows = "[[flows]]\nfrom = \"base\"\nto = \"mobile\"\nsize = \"300 kB\"\n\
                 [[flows]]\nfrom = \"mobile\"\nto = \"base\"\nsize = \"300 kB\"\n";
    for protocol in ["none", "lapb", "mdlp", "rlp"] {
        let arq = format!("arq = {{ protocol = \"{protocol}\" }}");
        let lossy = |text: String| text.replace("queue", "channel = { loss = 0.1 }, queue");
        let scenario = lossy(radio(&arq, flows)).replace("duration = \"200 s\"", "");
        let done = result(&scenario);
        let busy = [0, 1].map(|link| metric(&done, "links", link, "utilisation"));
        assert!(busy[0] + busy[1] <= 1.0, "{protocol}: {busy:?}");
        for flow in [0, 1] {
            assert_eq!(
                metric(&done, "flows", flow, "bytes_delivered"),
                300_000.0,
                "{protocol}"
            );
        }
        if protocol != "none" {
            assert_eq!(metric(&done, "links", 0, "drops"), 0.0, "{protocol}");
        }
    }
}

/// Headers are compressed in the order in which packets are sent.
#[test]
fn headers_are_compressed_over_one_medium() {
    let flows = "[[flows]]\nfrom = \"base\"\nto = \"mobile\"\nsize = \"300 kB\"\n\
                 [[flows]]\nfrom = \"mobile\"\nto = \"base\"\nsize = \"300 kB\"\n\
                 tcp = { variant = \"peach\" }";
    let text = radio("header_compression = { method = \"rfc1144\" }", flows);
    let done = result(&text.replace("duration = \"200 s\"", ""));
    for flow in [0, 1] {
        assert_eq!(metric(&done, "flows", flow, "bytes_delivered"), 300_000.0);
        assert_eq!(metric(&done, "flows", flow, "timeouts"), 0.0);
    }
}

/// A traced run has the results of a run without traces, whose hops are fused. Every packet that
/// enters a queue leaves it.
#[test]
fn looking_changes_nothing() {
    let wired = "[[links]]\nbetween = [\"fixed\", \"base\"]\n\
                 down = { rate = \"10 Mbit/s\", delay = \"1 ms\" }\n";
    let flows = BOTH_WAYS
        .replace("\"base\"", "\"fixed\"")
        .replace("300 s", "3 s");
    let text = radio("", &format!("{wired}{flows}")).replace("200 s", "5 s");
    let scenario = expand(&text);
    let plain = run(&scenario, 0, &Monitor::default()).expect("a run");
    let traced = trace(&scenario, 0, &TraceOptions::default(), &Monitor::default()).expect("a run");
    assert_eq!(plain, traced.outcome);
    let column = |name: &str| common::column(&traced.tables, "queue", name);
    let (links, directions, packets) = (column("link"), column("direction"), column("packets"));
    for direction in [0, 1] {
        let of = |row: usize| links[row] == 0 && directions[row] == direction;
        let rows = (0..packets.len()).filter(|&row| of(row));
        let lengths: Vec<_> = rows.map(|row| packets[row]).collect();
        assert_eq!(lengths.iter().max(), Some(&50));
        assert_eq!(lengths.last(), Some(&0));
        assert!(lengths.windows(2).all(|two| two[0].abs_diff(two[1]) <= 1));
    }
}

/// Packets of real programs share the medium.
#[test]
fn packets_of_real_programs_wait_for_each_other() {
    let mut live = Live::new(&expand(&radio("", BOTH_WAYS)), 0).expect("a network");
    for _ in 0..2 {
        for (host, from, to) in [(0, 0, 1), (1, 1, 0)] {
            let sent = live.send(Instant::ZERO, host, datagram(from, to, &[7; 972]));
            sent.expect("a packet of this network");
        }
    }
    let mut received = Vec::new();
    live.advance(Instant::from_nanos(1_000_000_000), |host, due, _| {
        received.push((host, due.as_nanos() / 1_000_000));
    });
    // Packets take 16 ms each, in turns.
    assert_eq!(received, [(1, 17), (0, 33), (1, 49), (0, 65)]);
}
