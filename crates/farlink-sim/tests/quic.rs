//! Flows over QUIC in whole runs.

use crate::common::traced;
use crate::common::{column, expand, expand_with, library, load_error, metric, result, result_of};
use farlink_sim::Trace;
use farlink_sim::scenario::load;
use serde_json::Value;

const CONTROLS: [&str; 3] = ["cubic", "newreno", "bbr"];

fn value(result: &Value, name: &str) -> f64 {
    metric(result, "flows", 0, name)
}

fn none(result: &Value, name: &str) -> bool {
    result["flows"][0]["metrics"][name].is_null()
}

/// Returns a path with these keys of each direction and a flow with these keys, over QUIC.
fn text(down: &str, flow: &str, control: &str) -> String {
    format!(
        "[tcp]\nprofile = \"quic\"\nvariant = \"{control}\"\n\
         [[links]]\nbetween = [\"a\", \"b\"]\ndown = {{ {down} }}\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    )
}

const GEO: &str = "rate = \"10 Mbit/s\", delay = \"300 ms\"";
const LAN: &str = "rate = \"1 Gbit/s\", delay = \"200 us\"";

#[test]
fn a_file_arrives_over_satellite_and_lan() {
    for control in CONTROLS {
        for (path, loss, least) in [
            (GEO, "0", 1.0e6),
            (GEO, "0.01", 5.0e4),
            (LAN, "0", 1.5e8),
            (LAN, "0.15", 1.0e5),
        ] {
            let down = format!("{path}, channel = {{ loss = {loss} }}");
            let result = result(&text(&down, "size = \"5 MB\"", control));
            let what = format!("{control} {down}");
            assert_eq!(value(&result, "completed"), 1.0, "{what}");
            assert_eq!(value(&result, "bytes_delivered"), 5e6, "{what}");
            let goodput = value(&result, "goodput");
            assert!(goodput > least, "{what}: {goodput}");
            let lost = value(&result, "segments_retransmitted");
            assert_eq!(lost > 0.0, loss != "0", "{what}: {lost} lost");
        }
    }
}

/// A short file: one round trip for the handshake, and half of one for the data. The client's
/// first packet has 1200 bytes, and its data follows the server's answer at once.
#[test]
fn a_short_file_takes_the_time_of_its_handshake() {
    let result = result(&text(GEO, "size = \"1 kB\"", "cubic"));
    // Three packets of 1228 bytes and 1 kB of data, at 10 Mbit/s, with little more around it.
    let seconds = value(&result, "duration") - 0.9;
    assert!((0.003..0.005).contains(&seconds), "{seconds}");
    // The end of the handshake fills part of the first datagram, so the data needs a second.
    assert_eq!(value(&result, "segments_sent"), 2.0);
    assert!(none(&result, "timeouts") && none(&result, "dup_acks"));
    assert!(none(&result, "datagrams_sent") && none(&result, "limited_pacing"));
}

/// On a clean path that the window fills, the goodput is the rate less the headers: of 1480 bytes
/// at least 1452 - 39 are data (1 byte of flags, 8 of connection ID, up to 4 of packet number, 16 of
/// the tag, up to 10 of the frame).
#[test]
fn goodput_on_a_clean_path_is_the_rate_less_the_headers() {
    for control in ["cubic", "newreno"] {
        let path = "rate = \"10 Mbit/s\", delay = \"5 ms\"";
        let result = result(&text(path, "size = \"40 MB\"", control));
        let share = value(&result, "goodput") / 10e6;
        assert!((0.945..0.972).contains(&share), "{control}: {share}");
        let sent = value(&result, "segments_sent");
        assert!((40e6 / 1452.0..40e6 / 1390.0).contains(&sent), "{sent}");
        assert!(value(&result, "rtt_min") > 0.01);
    }
}

#[test]
fn two_runs_are_equal_to_the_bit_with_and_without_probes() {
    for control in CONTROLS {
        let down = format!("{GEO}, channel = {{ loss = 0.02, duplicate = 0.02 }}");
        let text = text(&down, "size = \"2 MB\"\nreverse = \"200 kB\"", control);
        let first = traced(&text);
        let again = traced(&text);
        assert_eq!(first.captures, again.captures, "{control}");
        assert_eq!(first.tables, again.tables);
        assert_eq!(first.secrets.lines().count(), 5);
        let expanded = expand(&text);
        let plain: Value = result_of(&expanded, 0);
        let traced: Value = serde_json::from_str(&first.outcome.to_json(&expanded)).unwrap();
        assert_eq!(plain["flows"], traced["flows"], "{control}");
        assert_ne!(plain["flows"], result_of(&expanded, 1)["flows"]);
        assert!(value(&plain, "reverse_goodput") > 0.0);
    }
}

#[test]
fn bytes_are_exact_under_faults() {
    for control in CONTROLS {
        for channel in [
            "channel = { loss = 0.15 }",
            "channel = { duplicate = 0.3 }",
            "channel = { loss = 0.05, duplicate = 0.1, reorder = { probability = 0.2, delay = \"30 ms\" } }",
            "channel = { byte_errors = { distance = \"100 kB\" } }",
        ] {
            let down = format!("rate = \"5 Mbit/s\", delay = \"20 ms\", {channel}");
            let text = text(&down, "size = \"500 kB\"", control);
            let Ok(scenario) = load(&text, "test", &[]) else {
                panic!("{channel}: {}", load_error(&text));
            };
            let result = result_of(&scenario.expand().unwrap(), 0);
            // An end that reads a wrong byte fails.
            assert_eq!(value(&result, "completed"), 1.0, "{control} {channel}");
            assert_eq!(value(&result, "bytes_delivered"), 5e5);
        }
    }
}

#[test]
fn a_bulk_flow_lasts_as_long_as_it_should() {
    for control in CONTROLS {
        let flow = "app = \"bulk\"\nduration = \"20 s\"";
        let result = result(&text(GEO, flow, control));
        assert_eq!(value(&result, "duration"), 20.0);
        assert_eq!(value(&result, "completed"), 1.0);
        let goodput = value(&result, "goodput");
        assert!((2e6..10e6).contains(&goodput), "{control}: {goodput}");
    }
}

#[test]
fn receiver_may_open_the_connection() {
    let opens = |who: &str| {
        let flow = format!("size = \"1 MB\"\nopens = \"{who}\"");
        let result = result(&text(GEO, &flow, "cubic"));
        assert_eq!(value(&result, "completed"), 1.0);
        value(&result, "duration")
    };
    let (sender, receiver) = (opens("sender"), opens("receiver"));
    // A server has the client's last packet of the handshake before it sends data.
    assert!((receiver - sender - 0.6).abs() < 0.7, "{sender} {receiver}");
    assert!(receiver > sender, "{sender} {receiver}");
}

#[test]
fn windows_of_the_scenario_are_those_of_quic() {
    let with = |key: &str| {
        let base = text(GEO, "size = \"3 MB\"", "cubic");
        value(
            &result_of(&expand_with(&base, &[("tcp.receive_window", key)]), 0),
            "goodput",
        )
    };
    // 64 KiB in 600 ms are .87 Mbit/s.
    let small = with("64 KiB");
    assert!((6e5..8.8e5).contains(&small), "{small}");
    assert!(with("16 MiB") > 2.0 * small);
}

#[test]
fn a_dead_path_fails_the_flow_after_the_idle_time() {
    let down = format!("{GEO}, channel = {{ loss = 1.0 }}");
    let result = result(&text(&down, "size = \"1 kB\"", "cubic"));
    assert_eq!(value(&result, "completed"), 0.0);
    let seconds = value(&result, "duration");
    assert!((30.0..31.0).contains(&seconds), "{seconds}");
}

#[test]
fn traces_have_window_round_trips_and_deliveries() {
    let trace = traced(&text(GEO, "size = \"1 MB\"", "cubic"));
    let windows = column(&trace.tables, "state", "cwnd");
    assert!(windows.len() > 50 && windows.last() > windows.first());
    let rtts = column(&trace.tables, "rtt", "rtt");
    assert!(rtts.iter().all(|&rtt| rtt > 600_000_000), "{rtts:?}");
    let delivered = column(&trace.tables, "delivered", "bytes");
    assert_eq!(delivered.last(), Some(&1_000_000));
    assert!(delivered.is_sorted());
}

/// Returns the rows of these two columns of a table of the data sender.
fn pairs(trace: &Trace, table: &str, columns: [&str; 2]) -> Vec<(u64, u64)> {
    let [from, first, second] =
        ["side", columns[0], columns[1]].map(|name| column(&trace.tables, table, name));
    let rows = from.into_iter().zip(first.into_iter().zip(second));
    rows.filter(|row| row.0 == 0).map(|row| row.1).collect()
}

/// Returns data, ACKs and blocks of the data sender, and checks that they fit each other.
fn checked_progress(name: &str, trace: &Trace, size: u64) -> [Vec<(u64, u64)>; 3] {
    let sent = pairs(trace, "segments", ["seq", "len"]);
    let again = pairs(trace, "segments", ["retransmission", "len"]);
    let acks = pairs(trace, "acks", ["ack", "window"]);
    let blocks = pairs(trace, "sacks", ["left", "right"]);
    let mut next = 0;
    for (&(seq, len), &(again, _)) in sent.iter().zip(&again) {
        assert_eq!(again == 1, seq < next, "{name}: {seq}");
        assert!(seq <= next, "{name}: {seq}");
        next = next.max(seq + len);
    }
    assert_eq!(next, size, "{name}");
    assert!(acks.iter().map(|ack| ack.0).is_sorted(), "{name}");
    // The flow ends with the delivery, so the last ACKs are on their way.
    assert!(
        acks.last()
            .is_some_and(|ack| ack.0 > size / 2 && ack.0 < size),
        "{name}"
    );
    assert!(acks.iter().map(|ack| ack.0 + ack.1).is_sorted(), "{name}");
    assert!(blocks.iter().all(|block| block.0 < block.1), "{name}");
    [sent, acks, blocks]
}

#[test]
fn traces_have_the_data_that_was_sent_and_acknowledged() {
    let size = "size = \"1 MB\"";
    let trace = traced(&text(GEO, size, "cubic"));
    let [sent, acks, blocks] = checked_progress("clean", &trace, 1_000_000);
    assert_eq!(sent.iter().map(|row| row.1).sum::<u64>(), 1_000_000);
    // Each ACK acknowledges all before its edge, and the window is that of a stream.
    assert!(acks.len() < sent.len() && blocks.len() <= acks.len());
    assert_eq!(acks[0].0 + acks[0].1, 1_250_000);
    let lossy = format!("{GEO}, channel = {{ loss = 0.02 }}");
    for control in CONTROLS {
        let trace = traced(&text(&lossy, size, control));
        let [sent, acks, blocks] = checked_progress(control, &trace, 1_000_000);
        let again = sent.iter().map(|row| row.1).sum::<u64>() - 1_000_000;
        assert!((5_000..60_000).contains(&again), "{control}: {again}");
        // Lost data holds the edge back, and what is beyond has blocks.
        let beyond = |block: &&(u64, u64)| !acks.iter().any(|ack| ack.0 == block.1);
        assert!(blocks.iter().filter(beyond).count() > 5, "{control}");
        let lost = column(&trace.tables, "drops", "seq");
        let dropped = lost.iter().filter(|&&seq| seq != u64::MAX);
        let all: Vec<_> = dropped.collect();
        assert!(all.len() > 10, "{control}: {all:?}");
        for seq in all {
            let times = sent
                .iter()
                .filter(|row| row.0 <= *seq && *seq < row.0 + row.1);
            assert!(times.count() > 1, "{control}: {seq} was not repaired");
        }
    }
}

#[test]
fn traces_of_several_streams_have_one_row_of_positions() {
    let keys = "size = \"300 kB\"\ntcp = { quic = { streams = 3 } }\nreverse = \"50 kB\"";
    let lossy = format!("{GEO}, channel = {{ loss = 0.02 }}");
    let trace = traced(&text(&lossy, keys, "cubic"));
    checked_progress("streams", &trace, 300_000);
    // The other end has rows of its own.
    let [ends, acks] = ["side", "ack"].map(|name| column(&trace.tables, "acks", name));
    let back = ends.into_iter().zip(acks).filter(|row| row.0 == 1);
    assert_eq!(back.map(|row| row.1).max(), Some(50_000));
}

/// Datagrams and the payload of links are those of UDP: agents for TCP have nothing to do.
#[test]
fn agents_let_it_pass() {
    for (name, node) in [("geo-pep", 0), ("wlan-west1997", 0)] {
        let set = [("tcp.profile", "quic"), ("tcp.variant", "cubic")];
        let set = [&set[..], &[("flows.0.size", "300 kB")]].concat();
        let result = result_of(&expand_with(library(name), &set), 0);
        assert_eq!(value(&result, "completed"), 1.0, "{name}");
        let counted = result["agents"][node]["metrics"].as_object().expect(name);
        let acts = counted.values().filter_map(Value::as_f64);
        assert_eq!(acts.sum::<f64>(), 0.0, "{name}: {counted:?}");
    }
}

#[test]
fn beside_tcp_each_flow_has_its_own() {
    let text = "[[links]]\nbetween = [\"a\", \"b\"]\n\
                down = { rate = \"10 Mbit/s\", delay = \"20 ms\", queue = { packets = 50 } }\n\
                [[flows]]\nname = \"tcp\"\nfrom = \"a\"\nto = \"b\"\nsize = \"5 MB\"\n\
                tcp = { variant = \"cubic\" }\n\
                [[flows]]\nname = \"quic\"\nfrom = \"a\"\nto = \"b\"\nsize = \"5 MB\"\n\
                tcp = { profile = \"quic\" }\n";
    let result = result(text);
    for which in 0..2 {
        assert_eq!(metric(&result, "flows", which, "completed"), 1.0);
        let share = metric(&result, "flows", which, "fair_share");
        assert!((0.4..1.6).contains(&share), "{which}: {share}");
    }
}

#[test]
fn unknown_congestion_controls_are_refused() {
    let error = load_error(&text(GEO, "size = \"1 kB\"", "vegas"));
    assert!(
        error.contains("is not a TCP of profile = \"quic\"; it has cubic, newreno, bbr"),
        "{error}"
    );
}

/// Scenario of a single path with these keys of `[tcp.quic]`.
fn with_quic(down: &str, flow: &str, keys: &str) -> String {
    text(down, flow, "cubic").replace("[[links]]", &format!("[tcp.quic]\n{keys}\n[[links]]"))
}

#[test]
fn a_path_of_minutes_needs_a_longer_idle_time() {
    let mars = "rate = \"1 Mbit/s\", delay = \"4 min\"";
    let flow = "size = \"100 kB\"";
    let run = |keys: &str| result(&with_quic(mars, flow, keys));
    let ended = run("");
    assert_eq!(value(&ended, "completed"), 0.0);
    let seconds = value(&ended, "duration");
    assert!(seconds < 100.0, "{seconds}");
    let patient = run("idle_timeout = \"1 h\"\ninitial_rtt = \"480 s\"");
    assert_eq!(value(&patient, "completed"), 1.0);
    assert_eq!(value(&patient, "bytes_delivered"), 1e5);
    // A round trip of 480 s for the handshake, three for windows of 12, 24 and 48 kB, half of one
    // for the rest, and the time over which quinn paces the last windows.
    let trips = value(&patient, "duration") / 480.0;
    assert!((4.5..4.7).contains(&trips), "{trips}");
    assert_eq!(value(&patient, "segments_retransmitted"), 0.0);
    assert!(value(&patient, "acks_sent") < 100.0);
    // Probe timeouts from 333 ms on send the handshake several times, and it works all the same.
    let hasty = run("idle_timeout = \"1 h\"");
    assert_eq!(value(&hasty, "completed"), 1.0);
}

#[test]
fn a_file_may_be_sent_over_several_streams() {
    for (streams, size) in [(1, "5 MB"), (4, "5 MB"), (100, "50 B")] {
        let down = format!("{GEO}, channel = {{ loss = 0.01 }}");
        let flow = format!("size = \"{size}\"\nreverse = \"{size}\"");
        let result = result(&with_quic(&down, &flow, &format!("streams = {streams}")));
        assert_eq!(value(&result, "completed"), 1.0, "{streams}");
    }
}

/// After the overflow of a wide window the receiver has thousands of gaps.
#[test]
fn an_overflow_of_a_wide_window_does_not_end_the_connection() {
    for control in CONTROLS {
        let down = "rate = \"50 Mbit/s\", delay = \"300 ms\", queue = { bdp = 1 }";
        let text = text(down, "size = \"40 MB\"", control).replace(
            "[[links]]",
            "receive_window = \"32 MiB\"\nsend_buffer = \"64 MiB\"\n[[links]]",
        );
        let result = result(&text);
        assert_eq!(value(&result, "completed"), 1.0, "{control}");
        assert_eq!(value(&result, "bytes_delivered"), 4e7, "{control}");
        assert!(
            value(&result, "segments_retransmitted") > 1024.0,
            "{control}"
        );
    }
}

#[test]
fn wrong_keys_of_quic_are_refused() {
    for (keys, message) in [
        (
            "idle_timeout = \"1 us\"",
            "tcp.quic.idle_timeout = \"1 us\" is below 1 ms; write \"0 s\" for no timeout",
        ),
        ("initial_rtt = \"0 s\"", "tcp.quic.initial_rtt"),
        ("streams = 101", "tcp.quic.streams"),
        (
            "stream = 2",
            "unknown key \"stream\" in tcp.quic; did you mean \"streams\"?",
        ),
    ] {
        let error = load_error(&with_quic(GEO, "size = \"1 kB\"", keys));
        assert!(error.contains(message), "{error}");
    }
    let tcp = with_quic(GEO, "size = \"1 kB\"", "streams = 2").replace("profile = \"quic\"\n", "");
    let error = load_error(&tcp);
    assert!(
        error.contains("tcp.quic would be ignored; it needs profile = \"quic\""),
        "{error}"
    );
    let own = text(
        GEO,
        "size = \"1 kB\"\ntcp = { variant = \"reno\", profile = \"rfc\", quic = { streams = 2 } }",
        "cubic",
    );
    let error = load_error(&own);
    assert!(
        error.contains("flows[0].tcp.quic would be ignored; it needs profile = \"quic\""),
        "{error}"
    );
}

#[test]
fn fewer_acks_on_request() {
    let acks = |keys: &str| {
        let result = result(&with_quic(GEO, "size = \"5 MB\"", keys));
        assert_eq!(value(&result, "completed"), 1.0);
        value(&result, "acks_sent")
    };
    // 5 MB are some 3,600 packets, and each second one has an ACK.
    let usual = acks("");
    assert!((1_700.0..2_000.0).contains(&usual), "{usual}");
    assert!(acks("ack_eliciting_threshold = 9\nmax_ack_delay = \"100 ms\"") < usual / 4.0);
    assert!(acks("ack_eliciting_threshold = 0") > 1.8 * usual);
    let held = acks("ack_eliciting_threshold = 1000\nmax_ack_delay = \"200 ms\"");
    assert!(held < acks("ack_eliciting_threshold = 1000") / 2.0);
}

/// A client with a session sends its data a round trip earlier. A receiver that opens the connection
/// has no data to send.
#[test]
fn zero_rtt_saves_a_round_trip() {
    for control in CONTROLS {
        let time = |flow: &str, zero: bool| {
            let keys = format!("tcp = {{ quic = {{ zero_rtt = {zero} }} }}\n{flow}");
            let result = result(&text(GEO, &keys, control));
            assert_eq!(value(&result, "completed"), 1.0);
            value(&result, "duration")
        };
        let sender = "size = \"5 kB\"";
        let saved = time(sender, false) - time(sender, true);
        // The round trip has the serialization of the handshake, and the first flight has more bytes.
        assert!((0.6..0.603).contains(&saved), "{control}: {saved}");
        assert!((0.3..0.31).contains(&time(sender, true)), "{control}");
        // The windows of quinn's NewReno and BBR start later with early data.
        let long = "size = \"1 MB\"";
        let saved = time(long, false) - time(long, true);
        assert_eq!(saved > 0.5, control == "cubic", "{control}: {saved}");
        let receiver = "size = \"5 kB\"\nopens = \"receiver\"";
        let saved = time(receiver, false) - time(receiver, true);
        assert!(saved.abs() < 0.01, "{control}: {saved}");
    }
}

/// A lost first flight is sent again, and early data in flight does not block the handshake.
#[test]
fn zero_rtt_survives_losses_both_ways() {
    for (size, runs, loss) in [
        ("20 kB", 40, 0.05),
        ("5 kB", 200, 0.15),
        ("20 kB", 200, 0.15),
    ] {
        let channel = format!("{GEO}, channel = {{ loss = {loss} }}");
        let keys = format!("tcp = {{ quic = {{ zero_rtt = true }} }}\nsize = \"{size}\"");
        let both = format!("{channel} }}\nup = {{ {channel}");
        let failures: Vec<_> = (0..runs)
            .filter(|seed| {
                let file = format!("seed = {seed}\n{}", text(&both, &keys, "cubic"));
                value(&result(&file), "completed") < 1.0
            })
            .collect();
        assert_eq!(failures, [0; 0], "{loss} {size}");
    }
}
