//! Applications over whole runs.

use crate::common::{self, expand, expand_with, library, result, result_of};
use farlink_sim::{Monitor, Trace, TraceOptions, run, trace};
use serde_json::Value;
use std::collections::BTreeMap;

fn metric(result: &Value, flow: usize, name: &str) -> f64 {
    common::metric(result, "flows", flow, name)
}

/// Omueti and Trajkovic 2007, Table 4, print 4.3 s without and 4.9 s with delayed ACK, equal for
/// SACK and `NewReno`.
#[test]
fn page_times_are_those_of_omueti_table_4() {
    for (delayed, low, high) in [("off", 4.15, 4.45), ("200 ms", 4.7, 5.1)] {
        let mut times = Vec::new();
        for variant in ["sack", "newreno"] {
            let set = [("tcp.delayed_ack", delayed), ("tcp.variant", variant)];
            let result = result_of(&expand_with(library("geo-http-omueti2007"), &set), 0);
            assert_eq!(metric(&result, 0, "responses"), 34.0);
            let time = metric(&result, 0, "response_time_mean");
            assert!((low..high).contains(&time), "{variant}, {delayed}: {time}");
            times.push(time);
        }
        assert!((times[0] / times[1] - 1.0).abs() < 1e-3, "{times:?}");
    }
}

/// Returns a scenario with a link so fast and windows so large that all times are multiples of a
/// round trip of 100 ms.
fn round_trips(flow: &str) -> String {
    format!(
        "[tcp]\ninitial_window = 100\nnagle = false\nreceive_window = \"10 MiB\"\n\
         delayed_ack = \"off\"\n\
         [[links]]\nbetween = [\"server\", \"client\"]\n\
         down = {{ rate = \"1000 Gbit/s\", delay = \"50 ms\", queue = \"unlimited\" }}\n\
         [[flows]]\nfrom = \"server\"\nto = \"client\"\n{flow}"
    )
}

fn near(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 1e-5, "{value}, not {wanted}");
}

/// In closed form, a page takes one round trip for the handshake, one for the main object, and one
/// for all inline objects together (with pipelining) or one for each.
#[test]
fn a_page_takes_a_round_trip_per_request() {
    let page = "app = \"http\"\npages = 4\npage_interval = \"10 s\"\ninline_objects = 5\n";
    let cases = [
        ("connections = \"per-page\"\npipelining = true", 0.3, 30.3),
        ("connections = \"per-page\"\npipelining = false", 0.7, 30.7),
        // The first page includes the handshake.
        (
            "connections = \"persistent\"\npipelining = true",
            0.225,
            30.2,
        ),
        (
            "connections = \"persistent\"\npipelining = false",
            0.625,
            30.6,
        ),
    ];
    for (mode, response, duration) in cases {
        let result = result(&round_trips(&format!("{page}{mode}\n")));
        assert_eq!(metric(&result, 0, "responses"), 4.0, "{mode}");
        near(metric(&result, 0, "response_time_mean"), response);
        near(metric(&result, 0, "duration"), duration);
        let bytes = 4.0 * (10_710.0 + 5.0 * 7_758.0);
        assert_eq!(metric(&result, 0, "bytes_delivered"), bytes, "{mode}");
        assert_eq!(metric(&result, 0, "completed"), 1.0);
    }
}

/// The next page waits for the previous page, and for the think time.
#[test]
fn a_page_that_is_late_delays_the_next() {
    let page = "app = \"http\"\npages = 3\nconnections = \"persistent\"\ninline_objects = 0\n";
    for (times, duration) in [
        // The first page takes 0.2 s; later pages take 0.1 s and start 0.15 s after the start of
        // the previous page.
        ("page_interval = \"150 ms\"", 0.2 + 0.1 + 0.15),
        // Each page starts 0.5 s after the end of the previous page.
        (
            "page_interval = \"150 ms\"\nthink_time = \"500 ms\"",
            0.4 + 2.0 * 0.5,
        ),
    ] {
        let result = result(&round_trips(&format!("{page}{times}\n")));
        near(metric(&result, 0, "duration"), duration);
    }
}

/// In closed form, data follows the handshake at once if the sender opens, and half a round trip
/// later if the receiver opens. A connection starts when the previous one has ended. The FIN is
/// sent with the last byte; its ACK and the other FIN take a round trip and a half.
#[test]
fn each_file_has_its_own_connection() {
    for (opens, response, duration) in [("sender", 0.15, 20.15), ("receiver", 0.2, 20.2)] {
        let flow = format!(
            "app = \"repeat\"\nsize = \"20 kB\"\nfiles = 3\ninterval = \"10 s\"\nopens = \"{opens}\"\n"
        );
        let result = result(&round_trips(&flow));
        assert_eq!(metric(&result, 0, "responses"), 3.0);
        near(metric(&result, 0, "response_time_mean"), response);
        near(metric(&result, 0, "duration"), duration);
        assert_eq!(metric(&result, 0, "bytes_delivered"), 60_000.0);
        assert_eq!(metric(&result, 0, "segments_sent"), 3.0 * 14.0);
    }
    let flow = "app = \"repeat\"\nsize = \"20 kB\"\nfiles = 3\n";
    let result = result(&round_trips(flow));
    near(metric(&result, 0, "response_time_mean"), 0.15);
    near(metric(&result, 0, "duration"), 3.0 * 0.15 + 2.0 * 0.1);
}

#[test]
fn a_flow_with_a_duration_is_cut_off_there() {
    let flow = "app = \"http\"\nduration = \"25.2 s\"\npage_interval = \"5 s\"\n";
    let result = result(&round_trips(flow));
    // The sixth page is incomplete.
    assert_eq!(metric(&result, 0, "responses"), 5.0);
    near(metric(&result, 0, "duration"), 25.2);
    assert_eq!(metric(&result, 0, "completed"), 1.0);
}

#[test]
fn a_flow_that_cannot_connect_fails_and_ends() {
    for app in [
        "app = \"http\"\npages = 2",
        "app = \"repeat\"\nsize = \"1 kB\"\nfiles = 2",
    ] {
        let text = round_trips(&format!("{app}\n"));
        let dead = [("links.0.down.channel", "{ loss = 1.0 }")];
        let result = result_of(&expand_with(&text, &dead), 0);
        assert_eq!(metric(&result, 0, "completed"), 0.0);
        assert_eq!(metric(&result, 0, "responses"), 0.0);
    }
}

const BAD: &str =
    "{ loss = 0.05, duplicate = 0.1, reorder = { probability = 0.05, delay = \"700 ms\" } }";

/// For any channel, every byte of every connection arrives exactly once, segments of one connection
/// never reach the next, and probes have the same counts as metrics.
#[test]
fn connections_of_a_bad_channel_do_not_mix() {
    for (app, bytes, responses) in [
        (
            "app = \"repeat\"\nsize = \"20 kB\"\nfiles = 60\n",
            60 * 20_000,
            60.0,
        ),
        (
            "app = \"http\"\npages = 40\npage_interval = \"0 s\"\ninline_objects = 3\n",
            40 * (10_710 + 3 * 7_758),
            40.0,
        ),
    ] {
        for seed in ["1", "2", "3"] {
            let set = [("links.0.down.channel", BAD), ("seed", seed)];
            let scenario = expand_with(&round_trips(app), &set);
            let plain = run(&scenario, 0, &Monitor::default()).expect("a run");
            let traced = trace(
                &scenario,
                0,
                &TraceOptions::capturing(64),
                &Monitor::default(),
            )
            .expect("a trace");
            assert_eq!(plain, traced.outcome);
            let result = result_of(&scenario, 0);
            assert_eq!(metric(&result, 0, "responses"), responses);
            assert_eq!(metric(&result, 0, "bytes_delivered"), f64::from(bytes));
            let first_sent =
                metric(&result, 0, "segments_sent") - metric(&result, 0, "segments_retransmitted");
            let first_traced = rows(&traced, "segments")
                .filter(|row| row["side"] == 0 && row["retransmission"] == 0)
                .count();
            assert_eq!(first_traced as f64, first_sent);
            // Positions continue from one connection to the next.
            let delivered: Vec<_> = rows(&traced, "delivered")
                .filter(|row| row["side"] == 1)
                .map(|row| row["bytes"])
                .collect();
            assert!(delivered.is_sorted());
            assert_eq!(
                delivered.last(),
                Some(&u64::try_from(bytes).expect("positive"))
            );
            let end = rows(&traced, "segments").filter(|row| row["side"] == 0);
            assert_eq!(
                end.map(|row| row["seq"] + row["len"]).max(),
                delivered.last().copied()
            );
        }
    }
}

/// In a capture every connection has its own port, even beside another flow.
#[test]
fn each_connection_has_its_own_port_in_captures() {
    let text = round_trips(
        "name = \"pages\"\napp = \"http\"\npages = 3\npage_interval = \"1 s\"\ninline_objects = 1\n\
         [[flows]]\nname = \"files\"\nfrom = \"server\"\nto = \"client\"\napp = \"repeat\"\nsize = \"1 kB\"\n\
         files = 4\nopens = \"receiver\"\n",
    );
    let traced = trace(
        &expand(&text),
        0,
        &TraceOptions::capturing(0),
        &Monitor::default(),
    )
    .expect("a trace");
    let (_, capture) = traced
        .captures
        .iter()
        .find(|(name, _)| name == "client")
        .expect("the client's capture");
    let mut ports = Vec::new();
    let mut at = 0;
    while at < capture.len() {
        let word = |at: usize| {
            u32::from_le_bytes(capture[at..at + 4].try_into().expect("four bytes")) as usize
        };
        if word(at) == 6 {
            let packet = &capture[at + 28..at + 28 + word(at + 20)];
            // The IP header follows the link's header, if there is one.
            let ip = packet.iter().position(|&b| b == 0x45).expect("IPv4");
            let tcp = &packet[ip + 20..];
            if tcp[13] == 0x02 {
                ports.push(u16::from_be_bytes([tcp[0], tcp[1]]));
            }
        }
        at += word(at + 4);
    }
    ports.sort_unstable();
    // Flow 0 has the even ports and flow 1 the odd ports.
    assert_eq!(
        ports,
        [49_152, 49_153, 49_154, 49_155, 49_156, 49_157, 49_159]
    );
}

/// Iterates over the rows of a trace's table, by column.
fn rows<'a>(
    trace: &'a Trace,
    name: &str,
) -> impl Iterator<Item = BTreeMap<&'static str, u64>> + use<'a> {
    let table = trace
        .tables
        .iter()
        .find(|table| table.name == name)
        .expect("a table");
    let columns = table.columns.iter();
    let columns: Vec<_> = columns.map(|(name, c)| (*name, c.numbers())).collect();
    (0..).map_while(move |i| {
        let cells = columns.iter();
        cells
            .map(|(name, column)| Some((*name, *column.get(i)?)))
            .collect()
    })
}

/// Sends messages of one segment every 100 ms over a link of 1 Mbit/s and 50 ms with this channel.
fn messages(channel: &str) -> Value {
    let text = format!(
        "[tcp]\ninitial_window = 100\nnagle = \"off\"\nrto_min = \"5 s\"\nrto_initial = \"5 s\"\n\
         [[links]]\nbetween = [\"a\", \"b\"]\n\
         down = {{ rate = \"1 Mbit/s\", delay = \"50 ms\"{channel} }}\n\
         up = {{ rate = \"1 Mbit/s\", delay = \"50 ms\" }}\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"stream\"\nsize = \"1000 B\"\n\
         rate = \"80 kbit/s\"\nmessages = 50\n"
    );
    result(&text)
}

/// A message takes 8.4 ms of transmission and 50 ms of propagation.
#[test]
fn a_message_on_a_lossless_path_takes_the_one_way_delay() {
    let clean = messages("");
    assert_eq!(metric(&clean, 0, "responses"), 50.0);
    for name in ["response_time_mean", "response_time_max"] {
        let time = metric(&clean, 0, name);
        assert!((0.0582..0.0590).contains(&time), "{name}: {time}");
    }
}

/// Messages that are due in an outage of 1 s wait for its end: the first for almost 1 s, the next
/// 100 ms less, and so on.
#[test]
fn messages_wait_for_the_end_of_an_outage() {
    let outage =
        ", channel = { outage = { start = \"2.01 s\", duration = \"1 s\", packets = \"hold\" } }";
    let (clean, out) = (messages(""), messages(outage));
    let more = |name| metric(&out, 0, name) - metric(&clean, 0, name);
    assert_eq!(metric(&out, 0, "responses"), 50.0);
    assert!((0.9..1.0).contains(&more("response_time_max")));
    // Ten messages wait at most 1 s, each 0.1 s less than the one before.
    let waited = 50.0 * more("response_time_mean");
    assert!((4.5..5.5).contains(&waited), "{waited}");
}
