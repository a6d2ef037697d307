//! XTP flows over whole runs.

use crate::common::{self, expand, load_error, metric, result, traced};
use farlink_sim::Trace;
use proptest::prelude::*;
use serde_json::Value;

fn value(result: &Value, name: &str) -> f64 {
    metric(result, "flows", 0, name)
}

fn rows(trace: &Trace, table: &str) -> usize {
    common::column(&trace.tables, table, "time").len()
}

fn near(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 1e-9, "{value}, not {wanted}");
}

/// Returns a link of 1 Mbit/s and 100 ms in each direction, with these further keys of the
/// direction of the data.
fn link(more: &str) -> String {
    format!(
        "[[links]]\nbetween = [\"a\", \"b\"]\n\
         down = {{ rate = \"1 Mbit/s\", delay = \"100 ms\"{more} }}\n\
         up = {{ rate = \"1 Mbit/s\", delay = \"100 ms\" }}\n"
    )
}

/// Returns a flow of 100 packets of 940 bytes (1000 bytes on the wire, the first 1024) at 500
/// kbit/s of data, so one every 15.04 ms.
fn flow(more: &str) -> String {
    format!(
        "[[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"xtp\"\nsize = \"94 kB\"\npacket = \"940 B\"\n\
         rate = \"500 kbit/s\"\n{more}\n"
    )
}

#[test]
fn without_losses_the_rate_is_the_throughput() {
    let result = result(&(link("") + &flow("")));
    // The last packet is sent after 99 intervals, and takes 8 ms and 100 ms.
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
    // Reports are requested by the first packet, by every sixteenth packet after it, and by the
    // last.
    assert_eq!(value(&result, "acks_sent"), 1.0 + 6.0 + 1.0);
    // A packet takes 108 ms, and a report of 80 bytes 100.64 ms back. The first packet is 24 bytes
    // longer.
    near(value(&result, "rtt_min"), 0.20864);
    near(value(&result, "rtt_max"), 0.208_832);
}

#[test]
fn bursts_leave_at_once_and_the_rate_is_the_same() {
    // 4700 bytes are sent every 75.2 ms. The last five packets are sent together at period 19.
    let whole = result(&(link("") + &flow("burst = \"4700 B\"")));
    near(value(&whole, "duration"), 19.0 * 0.0752 + 5.0 * 0.008 + 0.1);
    // If a burst is not a whole number of packets, the excess of one period is missing in the next.
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
        // The retransmission takes the place of a new packet, so the last packet is sent an
        // interval later.
        near(value(&result, "duration"), 100.0 * 0.01504 + 0.108);
    }
}

#[test]
fn a_loss_at_the_end_costs_a_round_trip() {
    // The last packet but one is lost. The report requested by the last packet shows this.
    let loss = link(", channel = { scripted_loss = { packets = [99] } }");
    let whole = result(&(loss + &flow("")));
    near(
        value(&whole, "duration"),
        99.0 * 0.01504 + 0.108 + 0.1 + 0.0008 + 0.108, // a report with a span
    );
    assert_eq!(value(&whole, "segments_sent"), 101.0);
    // The last packet is lost with its request. The timer then sends a request alone, so the report
    // costs a time-out and a round trip.
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
    // All packets but the first are sent twice over the link.
    assert_eq!(value(&result, "segments_sent"), 200.0);
    assert_eq!(value(&result, "segments_duplicate"), 0.0);
    let seconds = 3.0 + 0.208_832 + 98.0 * 0.01504 + 0.108;
    let late = value(&result, "duration") - seconds;
    assert!((-0.016..0.016).contains(&late), "{late}");
}

#[test]
fn the_window_limits_unreported_data() {
    // Ten packets are sent, and the report requested by the last of them allows ten more. There is
    // one more, because the first packet requests a report too.
    let text = link("") + &flow("window = \"9400 B\"").replace("500 kbit/s", "100 Mbit/s");
    let result = result(&text);
    assert_eq!(value(&result, "segments_retransmitted"), 0.0);
    let goodput = value(&result, "goodput");
    // The limit is ten packets per 80 ms of transmission plus 200.64 ms of delay.
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
fn the_trace_has_sent_and_received_data() {
    let loss = link(", channel = { scripted_loss = { packets = [41] } }");
    let trace = traced(&(loss + &flow("")));
    assert_eq!(rows(&trace, "segments"), 101);
    // Packet 41 and the packets that waited for it have one row.
    assert!((70..95).contains(&rows(&trace, "delivered")));
}

#[test]
fn losses_are_counted_by_place_and_those_of_reports_separately() {
    // Packets count flows of datagrams and TCP flows first, so this flow has other numbers than in
    // the scenario.
    let others = |app: &str| format!("[[flows]]\nfrom = \"a\"\nto = \"b\"\n{app}\n");
    let text = "[[links]]\nbetween = [\"a\", \"b\"]\ndown = { rate = \"1 Mbit/s\", delay = \"1 ms\", channel = { scripted_loss = { packets = [3], min_size = \"900 B\" } } }\n\
         up = { rate = \"1 Mbit/s\", delay = \"1 ms\", channel = { scripted_loss = { packets = [2, 3] } } }\n"
        .to_owned()
        + &flow("")
        + &others("app = \"cbr\"\nrate = \"1 kbit/s\"\npacket = \"100 B\"\ndatagrams = 2")
        + &others("size = \"100 B\"\nstart = \"10 s\"");
    let trace = traced(&text);
    let column = |name: &str| common::column(&trace.tables, "drops", name);
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
    // Of 104 data packets on the link, one was unnecessary: the lost one.
    let link = &json["links"][0]["metrics"]["goodput_share"];
    assert_eq!(link, &Value::from(103.0 / 104.0));
}

#[test]
fn impossible_scenarios_are_rejected() {
    let with = |more: &str| load_error(&(link("") + &flow(more)));
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
    assert!(load_error(&text).contains("no \"rate\""));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 2 / 5))]

    /// For any channels in both directions, the whole stream arrives. Packets in excess are
    /// retransmissions of losses, and some unnecessary ones if the order is not kept.
    #[test]
    fn the_stream_arrives_complete(
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
