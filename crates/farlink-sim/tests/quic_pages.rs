//! Pages and files on request over QUIC in whole runs.

use crate::common::{load_error, metric, result, traced};
use serde_json::Value;
use std::collections::BTreeSet;

fn value(result: &Value, name: &str) -> f64 {
    metric(result, "flows", 0, name)
}

/// Returns a path of 600 ms and 10 Mbit/s with a flow of these keys, over QUIC.
fn text(channel: &str, flow: &str) -> String {
    format!(
        "[tcp]\nprofile = \"quic\"\n[[links]]\nbetween = [\"server\", \"client\"]\n\
         down = {{ rate = \"10 Mbit/s\", delay = \"300 ms\"{channel} }}\n\
         [[flows]]\nfrom = \"server\"\nto = \"client\"\n{flow}\n"
    )
}

fn http(keys: &str) -> String {
    let flow = "app = \"http\"\nmain_object = \"1 kB\"\ninline_object = \"1 kB\"\n";
    text("", &format!("{flow}{keys}"))
}

/// A page takes three round trips: handshake, main object, inline objects.
#[test]
fn a_page_takes_its_round_trips() {
    for (keys, first, later) in [
        ("connections = \"per-page\"", 3.0, 3.0),
        ("connections = \"persistent\"", 3.0, 2.0),
        ("connections = \"persistent\"\npipelining = false", 6.0, 5.0),
        (
            "connections = \"persistent\"\npage_interval = \"40 s\"",
            3.0,
            3.0,
        ),
    ] {
        let pages = if keys.contains("page_interval") {
            "pages = 3\ninline_objects = 4\n"
        } else {
            "pages = 3\ninline_objects = 4\npage_interval = \"10 s\"\n"
        };
        let result = result(&http(&format!("{pages}{keys}")));
        assert_eq!(value(&result, "completed"), 1.0, "{keys}");
        assert_eq!(value(&result, "responses"), 3.0, "{keys}");
        assert_eq!(value(&result, "bytes_delivered"), 15_000.0, "{keys}");
        let mean = value(&result, "response_time_mean") / 0.6;
        let trips = (first + 2.0 * later) / 3.0;
        assert!((trips..trips + 0.05).contains(&mean), "{keys}: {mean}");
        let longest = value(&result, "response_time_max") / 0.6;
        assert!(
            (first..first + 0.05).contains(&longest),
            "{keys}: {longest}"
        );
        let p95 = value(&result, "response_time_p95") / 0.6;
        assert!((longest - p95).abs() < 0.03, "{keys}: {p95}");
    }
}

#[test]
fn pages_follow_each_other_by_interval_and_think_time() {
    let run = |keys: &str| {
        let keys = format!("connections = \"persistent\"\npages = 2\ninline_objects = 1\n{keys}");
        value(&result(&http(&keys)), "duration")
    };
    // The second page takes 1.2 s.
    let by_interval = run("page_interval = \"20 s\"");
    assert!((21.2..21.3).contains(&by_interval), "{by_interval}");
    let by_thought = run("page_interval = \"0 s\"\nthink_time = \"5 s\"");
    assert!((8.0..8.1).contains(&by_thought), "{by_thought}");
    let at_once = run("page_interval = \"0 s\"");
    assert!((3.0..3.1).contains(&at_once), "{at_once}");
}

#[test]
fn more_objects_than_streams_wait_for_a_stream() {
    let result = result(&http("pages = 1\ninline_objects = 250"));
    assert_eq!(value(&result, "completed"), 1.0);
    assert_eq!(value(&result, "bytes_delivered"), 251_000.0);
}

#[test]
fn pages_are_whole_under_faults_and_runs_are_equal() {
    for channel in [
        ", channel = { loss = 0.15 }",
        ", channel = { loss = 0.05, duplicate = 0.1, reorder = { probability = 0.2, delay = \"30 ms\" } }",
        ", channel = { byte_errors = { distance = \"50 kB\" } }",
    ] {
        for connections in ["per-page", "persistent"] {
            for app in [
                "app = \"http\"\npages = 5\npage_interval = \"1 s\"",
                "app = \"web\"\nfiles = 5\nsize = { distribution = \"exponential\", mean = \"20 kB\" }",
            ] {
                let flow = format!("{app}\nconnections = \"{connections}\"");
                let text = text(channel, &flow);
                let first = result(&text);
                assert_eq!(value(&first, "completed"), 1.0, "{text}");
                assert_eq!(value(&first, "responses"), 5.0, "{text}");
                assert_eq!(first, result(&text));
            }
        }
    }
}

#[test]
fn each_connection_has_its_secrets() {
    for (connections, lines) in [("per-page", 15), ("persistent", 5)] {
        let keys = format!("pages = 3\nconnections = \"{connections}\"\npage_interval = \"0 s\"");
        let trace = traced(&http(&keys));
        assert_eq!(trace.secrets.lines().count(), lines, "{connections}");
    }
}

#[test]
fn a_dead_path_fails_the_flow_during_a_page() {
    let flow = "app = \"http\"\npages = 2\nconnections = \"persistent\"";
    let result = result(&text(", channel = { loss = 1.0 }", flow));
    assert_eq!(value(&result, "completed"), 0.0);
    let seconds = value(&result, "duration");
    assert!((30.0..31.0).contains(&seconds), "{seconds}");
    assert_eq!(value(&result, "responses"), 0.0);
}

/// With a session each connection of a page saves the round trip of its handshake.
#[test]
fn zero_rtt_saves_a_round_trip_of_each_connection() {
    for (keys, trips) in [
        ("connections = \"per-page\"", 2.0),
        ("connections = \"persistent\"", 2.0),
        ("connections = \"per-page\"\ninline_objects = 0", 1.0),
    ] {
        let inline = if keys.contains("inline") {
            ""
        } else {
            "inline_objects = 4\n"
        };
        let session = "tcp = { quic = { zero_rtt = true } }";
        // The client has two tickets, and gets more a round trip after the first answer.
        let pages = if inline.is_empty() { 2 } else { 3 };
        let keys = format!("pages = {pages}\n{inline}page_interval = \"10 s\"\n{session}\n{keys}");
        let result = result(&http(&keys));
        assert_eq!(value(&result, "completed"), 1.0, "{keys}");
        assert_eq!(value(&result, "responses"), f64::from(pages), "{keys}");
        let mean = value(&result, "response_time_mean") / 0.6;
        assert!((trips..trips + 0.05).contains(&mean), "{keys}: {mean}");
    }
    // The log has the data of the first flight.
    let keys = "pages = 1\ntcp = { quic = { zero_rtt = true } }";
    let trace = traced(&http(keys));
    let client = records(&trace.qlogs[0].1);
    let early = client.iter().filter(|r| {
        let is_early = r["data"]["header"]["packet_type"] == "0RTT";
        let frames = r["data"]["frames"].to_string();
        is_early && frames.contains("\"stream\"")
    });
    assert!(early.count() > 0);
    assert!(trace.secrets.contains("CLIENT_EARLY_TRAFFIC_SECRET"));
}

#[test]
fn pages_without_number_last_as_long_as_the_flow() {
    let keys = "duration = \"65 s\"\npage_interval = \"10 s\"\ninline_objects = 1";
    let result = result(&http(keys));
    assert_eq!(value(&result, "responses"), 7.0);
    assert_eq!(value(&result, "completed"), 1.0);
    assert_eq!(value(&result, "duration"), 65.0);
    let error = load_error(&http("inline_objects = 1"));
    assert!(error.contains("has no \"pages\""), "{error}");
}

/// Returns the JSON texts of a log (RFC 7464).
fn records(log: &str) -> Vec<Value> {
    let lines = log.lines().map(|line| line.strip_prefix('\u{1e}'));
    let texts = lines.map(|text| text.expect("a record separator"));
    texts
        .map(|text| serde_json::from_str(text).expect(text))
        .collect()
}

/// Returns how many records of a log have this name, and the number of their datagrams.
fn count(records: &[Value], name: &str) -> (usize, usize) {
    let named: Vec<_> = records.iter().filter(|r| r["name"] == name).collect();
    let ids = named.iter().map(|r| r["data"]["datagram_id"].to_string());
    let datagrams: BTreeSet<_> = ids.collect();
    (named.len(), datagrams.len())
}

/// Returns the numbers of the packets with application data that records of this name have.
fn numbers(records: &[Value], name: &str) -> Vec<u64> {
    let named = records.iter().filter(|r| r["name"] == name);
    let headers = named.map(|r| &r["data"]["header"]);
    let data = headers.filter(|header| header["packet_type"] == "1RTT");
    data.map(|header| header["packet_number"].as_u64().expect("a number"))
        .collect()
}

/// Returns the numbers that the ACKs in records of this name acknowledge.
fn acknowledged(records: &[Value], name: &str) -> BTreeSet<u64> {
    let named = records.iter().filter(|r| r["name"] == name);
    let data = named.filter(|r| r["data"]["header"]["packet_type"] == "1RTT");
    let frames = data.flat_map(|r| r["data"]["frames"].as_array().expect("frames"));
    let ranges = frames
        .filter(|frame| frame["frame_type"] == "ack")
        .flat_map(|frame| frame["acked_ranges"].as_array().expect("ranges"));
    let bound = |range: &Value, i: usize| range[i].as_u64().expect("a number");
    ranges
        .flat_map(|range| bound(range, 0)..=bound(range, 1))
        .collect()
}

/// On a path without reordering the packets that are declared lost are those that did not arrive.
#[test]
fn logs_name_the_packets_that_are_lost_and_acknowledged() {
    for control in ["cubic", "newreno", "bbr"] {
        let file = text(", channel = { loss = 0.02 }", "size = \"1 MB\"");
        let file = file.replace("[tcp]", &format!("[tcp]\nvariant = \"{control}\""));
        let trace = traced(&file);
        let [client, server] = [0, 1].map(|end: usize| records(&trace.qlogs[end].1));
        let sent = numbers(&client, "transport:packet_sent");
        let arrived: BTreeSet<_> = numbers(&server, "transport:packet_received")
            .into_iter()
            .collect();
        let lost = numbers(&client, "recovery:packet_lost");
        assert!(lost.len() > 10, "{control}: {lost:?}");
        for number in &lost {
            assert!(sent.contains(number) && !arrived.contains(number));
        }
        // Searches for the MTU are no losses, and the last packets have nobody to report them.
        let acked = acknowledged(&client, "transport:packet_received");
        let missing: Vec<_> = sent
            .iter()
            .filter(|number| {
                !arrived.contains(number) && Some(*number + 3) <= acked.last().copied()
            })
            .collect();
        assert!(
            missing.len() <= lost.len() + 5,
            "{control}: {missing:?} {lost:?}"
        );
        assert!(acked.is_subset(&arrived), "{control}");
        // The flow ends with the delivery, so the last ACKs are on their way.
        assert!(acked.len() > arrived.len() / 2, "{control}");
        let sent_acks = acknowledged(&server, "transport:packet_sent");
        assert!(acked.is_subset(&sent_acks), "{control}");
        let dropped = count(&server, "transport:packet_dropped");
        assert_eq!(dropped.0, 0, "{control}");
        let states = count(&client, "recovery:congestion_state_updated").0;
        assert_eq!(states > 2, control != "bbr", "{control}: {states}");
    }
}

#[test]
fn logs_count_what_the_metrics_count() {
    let channel = ", channel = { loss = 0.02 }";
    let file = text(channel, "size = \"1 MB\"");
    let trace = traced(&file);
    let names: Vec<_> = trace.qlogs.iter().map(|log| log.0.as_str()).collect();
    assert_eq!(names, ["flow-client.sqlog", "flow-server.sqlog"]);
    let whole: Value = result(&file);
    for (end, (_, log)) in trace.qlogs.iter().enumerate() {
        let records = records(log);
        let header = &records[0];
        let role = ["client", "server"][end];
        assert_eq!(header["qlog_version"], "0.3");
        assert_eq!(header["qlog_format"], "JSON-SEQ");
        assert_eq!(header["trace"]["vantage_point"]["type"], role);
        let times: Vec<_> = records[1..]
            .iter()
            .map(|r| r["time"].as_f64().unwrap())
            .collect();
        assert!(times.is_sorted());
        let sent = count(&records, "transport:packet_sent");
        let received = count(&records, "transport:packet_received");
        let lost = count(&records, "recovery:packet_lost").0;
        assert!(sent.0 >= sent.1 && received.1 > 0);
        if end == 0 {
            assert_eq!(lost as f64, value(&whole, "segments_retransmitted"));
            assert!(sent.1 as f64 >= value(&whole, "segments_sent"));
            let window = "congestion_window";
            let changes = records.iter().filter(|r| !r["data"][window].is_null());
            assert!(changes.count() > 20);
        } else {
            // Few datagrams of the server in the handshake carry no data of the stream either.
            assert_eq!(sent.1 as f64, value(&whole, "acks_sent"));
        }
        let numbers = numbers(&records, "transport:packet_sent");
        assert!(numbers.is_sorted() && numbers.len() > 50);
    }
    // Pages over a connection each are groups of one file.
    let keys = "pages = 2\nconnections = \"per-page\"\npage_interval = \"0 s\"";
    let trace = traced(&http(keys));
    let records = records(&trace.qlogs[0].1);
    let groups: BTreeSet<_> = records[1..]
        .iter()
        .map(|r| r["group_id"].to_string())
        .collect();
    assert_eq!(groups.len(), 2);
    assert_eq!(
        records
            .iter()
            .filter(|r| !r["qlog_version"].is_null())
            .count(),
        1
    );
}
