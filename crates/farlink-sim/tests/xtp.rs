//! Flows over the XTP-like transport, over whole runs.

use crate::common::{expand, metric, result};
use farlink_sim::{Monitor, Trace, TraceOptions, scenario, trace};
use proptest::prelude::*;
use serde_json::Value;

fn refused(text: &str) -> String {
    scenario::load(text, "test", &[])
        .expect_err("must be refused")
        .to_string()
}

fn traced(text: &str) -> Trace {
    trace(
        &expand(text),
        0,
        &TraceOptions::capturing(0),
        &Monitor::default(),
    )
    .unwrap_or_else(|e| panic!("{e}"))
}

fn value(result: &Value, name: &str) -> f64 {
    metric(result, "flows", 0, name)
}

fn rows(trace: &Trace, table: &str) -> usize {
    let entry = trace.tables.iter().find(|t| t.name == table);
    let table = entry.unwrap_or_else(|| panic!("no {table}"));
    table.columns[1].1.numbers().len()
}

fn near(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 1e-9, "{value}, not {wanted}");
}

/// 1 Mbit/s and 100 ms each way, with what else the direction of the data says.
fn link(more: &str) -> String {
    format!(
        "[[links]]\nbetween = [\"a\", \"b\"]\n\
         down = {{ rate = \"1 Mbit/s\", delay = \"100 ms\"{more} }}\n\
         up = {{ rate = \"1 Mbit/s\", delay = \"100 ms\" }}\n"
    )
}

/// 100 packets of 940 bytes, 1000 on the wire (the first: 1024), at 500 kbit/s of data, each
/// 15.04 ms.
fn flow(more: &str) -> String {
    format!(
        "[[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"xtp\"\nsize = \"94 kB\"\npacket = \"940 B\"\n\
         rate = \"500 kbit/s\"\n{more}\n"
    )
}

#[test]
fn without_losses_the_rate_is_the_throughput() {
    let result = result(&(link("") + &flow("")));
    // The last packet is sent after 99 intervals and takes 8 ms and 100 ms.
    let seconds = 99.0 * 0.01504 + 0.108;
    near(value(&result, "duration"), seconds);
    near(value(&result, "goodput"), 94_000.0 * 8.0 / seconds);
    assert_eq!(value(&result, "bytes_delivered"), 94_000.0);
    assert_eq!(value(&result, "completed"), 1.0);
    assert_eq!(value(&result, "segments_sent"), 100.0);
    for nothing in [
        "segments_retransmitted",
        "timeouts",
        "acks_lost",
        "segments_out_of_order",
    ] {
        assert_eq!(value(&result, nothing), 0.0, "{nothing}");
    }
    // Asked with the first packet, each sixteenth after it, and the last.
    assert_eq!(value(&result, "acks_sent"), 1.0 + 6.0 + 1.0);
    // A packet there, 80 bytes of a report back: 108 and 100.64 ms; the first is 24 bytes longer.
    near(value(&result, "rtt_min"), 0.20864);
    near(value(&result, "rtt_max"), 0.208_832);
}

#[test]
fn bursts_leave_at_once_and_the_rate_is_the_same() {
    // 4700 bytes each 75.2 ms: the last five packets leave at 19 periods, one behind the other.
    let whole = result(&(link("") + &flow("burst = \"4700 B\"")));
    near(value(&whole, "duration"), 19.0 * 0.0752 + 5.0 * 0.008 + 0.1);
    // Bursts that are no whole number of packets: what one takes too much the next has less.
    let odd = result(&(link("") + &flow("burst = \"1500 B\"")));
    let seconds = value(&odd, "duration") - 0.108;
    assert!((seconds / (99.0 * 0.01504) - 1.0).abs() < 0.02, "{seconds}");
}

#[test]
fn a_lost_packet_costs_one_packet() {
    for every in [1, 16] {
        let loss = link(", channel = { scripted_loss = { packets = [41] } }");
        let result = result(&(loss + &flow(&format!("sreq_every = {every}"))));
        assert_eq!(value(&result, "segments_sent"), 101.0);
        assert_eq!(value(&result, "segments_retransmitted"), 1.0);
        assert_eq!(value(&result, "lost_loss"), 1.0);
        assert_eq!(value(&result, "timeouts"), 0.0);
        assert_eq!(value(&result, "segments_duplicate"), 0.0);
        // It goes in the place of a new packet: the last leaves an interval later.
        near(value(&result, "duration"), 100.0 * 0.01504 + 0.108);
    }
}

#[test]
fn what_is_lost_at_the_end_costs_a_round_trip() {
    // The last packet but one; the report that the last one asks for tells of it.
    let loss = link(", channel = { scripted_loss = { packets = [99] } }");
    let whole = result(&(loss + &flow("")));
    near(
        value(&whole, "duration"),
        99.0 * 0.01504 + 0.108 + 0.1 + 0.0008 + 0.108, // a report with a span
    );
    assert_eq!(value(&whole, "segments_sent"), 101.0);
    // The last one: nobody asks, until the timer does, alone. The report then costs a round trip.
    let loss = link(", channel = { scripted_loss = { packets = [100] } }");
    let whole = result(&(loss + &flow("")));
    assert_eq!(value(&whole, "timeouts"), 1.0);
    assert_eq!(value(&whole, "segments_sent"), 101.0);
    let late = value(&whole, "duration") - (99.0 * 0.01504 + 0.108);
    let wait = late - (0.1 + 0.00064 + 0.1 + 0.00064); // request (28 + 32 + 20), report
    assert!((0.2086..0.35).contains(&wait), "the timer waits {wait} s");
}

#[test]
fn without_its_first_packet_nothing_is_understood() {
    let loss = link(", channel = { scripted_loss = { packets = [1] } }");
    let result = result(&(loss + &flow("")));
    assert_eq!(value(&result, "timeouts"), 1.0);
    // All of it comes twice over the link, but for the first packet.
    assert_eq!(value(&result, "segments_sent"), 200.0);
    assert_eq!(value(&result, "segments_duplicate"), 0.0);
    let seconds = 3.0 + 0.208_832 + 98.0 * 0.01504 + 0.108;
    let late = value(&result, "duration") - seconds;
    assert!((-0.016..0.016).contains(&late), "{late}");
}

#[test]
fn the_window_limits_what_is_not_reported() {
    // Ten packets leave, and the report that the last of them asks for lets ten more out; one
    // more, since the first asks, too.
    let text = link("") + &flow("window = \"9400 B\"").replace("500 kbit/s", "100 Mbit/s");
    let result = result(&text);
    assert_eq!(value(&result, "segments_retransmitted"), 0.0);
    let goodput = value(&result, "goodput");
    // Ten in 80 ms of packets and 200.64 ms of delay, and so many in all.
    let limit = 75_200.0 / 0.28064;
    assert!((limit..1.1 * limit).contains(&goodput), "{goodput}");
}

#[test]
fn damaged_packets_are_lost_packets() {
    let result = result(&(link(", channel = { corrupt = 0.1 }") + &flow("sreq_every = 4")));
    assert_eq!(value(&result, "bytes_delivered"), 94_000.0);
    let lost = value(&result, "lost_checksum");
    assert!(lost > 2.0, "{lost}");
    let again = value(&result, "segments_retransmitted");
    assert!(again >= lost, "{again} for {lost}");
}

#[test]
fn the_trace_has_what_was_sent_and_what_was_there() {
    let loss = link(", channel = { scripted_loss = { packets = [41] } }");
    let trace = traced(&(loss + &flow("")));
    assert_eq!(rows(&trace, "segments"), 101);
    // One row for packet 41 and what waited for it: those that came until it was sent again.
    assert!((70..95).contains(&rows(&trace, "delivered")));
}

#[test]
fn losses_are_told_by_their_place_and_those_of_reports_apart() {
    // Before a flow of datagrams and one over TCP, which packets number first.
    let others = |app: &str| format!("[[flows]]\nfrom = \"a\"\nto = \"b\"\n{app}\n");
    let text = "[[links]]\nbetween = [\"a\", \"b\"]\ndown = { rate = \"1 Mbit/s\", delay = \"1 ms\", channel = { scripted_loss = { packets = [3], min_size = \"900 B\" } } }\n\
         up = { rate = \"1 Mbit/s\", delay = \"1 ms\", channel = { scripted_loss = { packets = [2, 3] } } }\n"
        .to_owned()
        + &flow("")
        + &others("app = \"cbr\"\nrate = \"1 kbit/s\"\npacket = \"100 B\"\ndatagrams = 2")
        + &others("size = \"100 B\"\nstart = \"10 s\"");
    let trace = traced(&text);
    let column = |name: &str| {
        let drops = trace
            .tables
            .iter()
            .find(|t| t.name == "drops")
            .expect("drops");
        let entry = drops.columns.iter().find(|c| c.0 == name);
        entry.expect("a column").1.numbers().clone()
    };
    assert_eq!(column("flow"), [0, 0, 0]);
    let mut seq = column("seq");
    seq.sort_unstable();
    assert_eq!(seq, [2 * 940, u64::MAX, u64::MAX]);
    let json: Value = serde_json::from_str(&trace.outcome.to_json(&expand(&text))).expect("JSON");
    let metrics = &json["flows"][0]["metrics"];
    assert_eq!(
        (&metrics["acks_lost"], &metrics["lost_loss"]),
        (&2.0.into(), &1.0.into())
    );
    assert_eq!(metrics["datagrams_sent"], Value::Null);
    assert_eq!(json["flows"][1]["metrics"]["acks_lost"], Value::Null);
    // Of 104 packets with data that entered the link one was needless: that of the lost one.
    let link = &json["links"][0]["metrics"]["goodput_share"];
    assert_eq!(link, &Value::from(103.0 / 104.0));
}

#[test]
fn what_cannot_work_is_refused() {
    let with = |more: &str| refused(&(link("") + &flow(more)));
    let error = with("window = \"900 B\"");
    assert!(
        error.contains("flows[0].window = \"900 B\" has no room for a packet of \"940 B\""),
        "{error}"
    );
    let error = with("duration = \"10 s\"");
    assert!(
        error.contains("flows[0].duration would be ignored"),
        "{error}"
    );
    let error = with("opens = \"sender\"");
    assert!(error.contains("no connection"), "{error}");
    let error = with("tcp = { variant = \"reno\" }");
    assert!(error.contains("no TCP"), "{error}");
    let text = link("") + &flow("").replace("rate = \"500 kbit/s\"", "");
    assert!(refused(&text).contains("no \"rate\""));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 2 / 5))]

    /// Whatever a channel does both ways, the stream comes whole, and what is lost is what is
    /// sent besides, up to needless packets where the order is not kept.
    #[test]
    fn the_stream_comes_whole(
        loss in 0.0..0.4f64, copies in 0.0..0.2f64, late in 0.0..0.2f64, damaged in 0.0..0.1f64,
        packet in 1..3000u32, size in 1..60_000u64, packets in 1..60u64, every in 1..40u32,
        kbits in 20..5000u32, burst in 1..5000u32,
    ) {
        let way = format!(
            "{{ rate = \"1 Mbit/s\", delay = \"20 ms\", queue = {{ packets = 30 }}, channel = {{ \
             loss = {loss}, corrupt = {damaged}, duplicate = {copies}, \
             reorder = {{ probability = {late}, delay = \"30 ms\" }} }} }}"
        );
        let size = size.min(u64::from(packet) * 300);
        let window = packets * u64::from(packet);
        let text = format!(
            "max_duration = \"100000 s\"\n[[links]]\nbetween = [\"a\", \"b\"]\ndown = {way}\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"xtp\"\nsize = \"{size} B\"\n\
             packet = \"{packet} B\"\nrate = \"{kbits} kbit/s\"\nburst = \"{burst} B\"\n\
             window = \"{window} B\"\nsreq_every = {every}\n"
        );
        let result = result(&text);
        prop_assert_eq!(value(&result, "completed"), 1.0);
        prop_assert_eq!(value(&result, "bytes_delivered"), size as f64);
        let (sent, again) = (value(&result, "segments_sent"), value(&result, "segments_retransmitted"));
        prop_assert_eq!(sent - again, size.div_ceil(u64::from(packet)) as f64);
    }
}
