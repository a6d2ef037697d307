//! What metrics measure, over whole runs: phases, losses by cause, shares.
#![allow(missing_docs)]

use farlink_sim::{Monitor, run, scenario};
use serde_json::Value;

fn result(text: &str) -> Value {
    let scenario = scenario::load(text, "test", &[])
        .and_then(|s| s.expand())
        .unwrap_or_else(|e| panic!("{e}"));
    let outcome = run(&scenario, 0, &Monitor::default()).unwrap_or_else(|e| panic!("{e}"));
    serde_json::from_str(&outcome.to_json(&scenario)).expect("JSON")
}

fn flow(result: &Value, flow: usize, name: &str) -> f64 {
    result["flows"][flow]["metrics"][name]
        .as_f64()
        .unwrap_or_else(|| panic!("{name} of {result}"))
}

fn link(result: &Value, link: usize, name: &str) -> f64 {
    result["links"][link]["metrics"][name]
        .as_f64()
        .unwrap_or_else(|| panic!("{name} of {result}"))
}

fn near(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 1e-4, "{value}, not {wanted}");
}

/// Rounds of 100 ms over a link so fast that segments take no time.
fn rounds(channel: &str, tcp: &str, size: &str) -> String {
    format!(
        "[tcp]\nvariant = \"newreno\"\nmss = \"1000 B\"\ninitial_window = 1\n\
         receive_window = \"10 MB\"\ndelayed_ack = \"off\"\n{tcp}\n\
         [[links]]\nbetween = [\"a\", \"b\"]\n\
         down = {{ rate = \"1000 Gbit/s\", delay = \"50 ms\", channel = {{ {channel} }} }}\n\
         up = {{ rate = \"1000 Gbit/s\", delay = \"50 ms\" }}\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"{size}\"\n"
    )
}

/// 1 + 2 + 4 + 8 segments in slow start, where the window is 16 at the threshold,
/// then 16 and 16 in congestion avoidance (an ACK adds a little less than a
/// sixteenth); the last of them arrives, which ends the flow, half a round before
/// it is acknowledged.
#[test]
fn phases_are_counted_in_rounds() {
    let done = result(&rounds("", "initial_ssthresh = \"16000 B\"", "47 kB"));
    near(flow(&done, 0, "duration"), 0.65);
    near(flow(&done, 0, "time_slow_start"), 0.4);
    near(flow(&done, 0, "time_congestion_avoidance"), 0.15);
    near(flow(&done, 0, "time_recovery"), 0.0);
    near(flow(&done, 0, "time_idle"), 0.0);
}

/// The phases add up to the flow without its handshake.
#[test]
fn phases_add_up() {
    let text = rounds("loss = 0.02", "", "2 MB");
    let lossy = result(&text);
    let phases = [
        "time_slow_start",
        "time_congestion_avoidance",
        "time_recovery",
        "time_idle",
    ];
    let sum: f64 = phases.iter().map(|name| flow(&lossy, 0, name)).sum();
    near(sum, flow(&lossy, 0, "duration") - 0.1);
    assert!(flow(&lossy, 0, "time_recovery") > 1.0);
}

/// Every loss of a link is that of some flow, with its cause; and the segments
/// that had to cross are those sent but for the retransmissions.
#[test]
fn losses_by_cause_and_goodput_as_a_share() {
    let text = "[tcp]\nvariant = \"sack\"\nmss = \"1000 B\"\n\
         [[links]]\nbetween = [\"a\", \"r\"]\ndown = { rate = \"10 Mbit/s\", delay = \"1 ms\" }\n\
         [[links]]\nbetween = [\"r\", \"b\"]\n\
         down = { rate = \"2 Mbit/s\", delay = \"20 ms\", queue = { packets = 10 }, \
         channel = { loss = 0.01, corrupt = 0.01 } }\n\
         up = { rate = \"2 Mbit/s\", delay = \"20 ms\", channel = { loss = 0.02 } }\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 MB\"\ncount = 2\n";
    let result = result(text);
    for cause in ["congestion", "loss", "checksum"] {
        let lost: f64 = (0..2)
            .map(|i| flow(&result, i, &format!("lost_{cause}")))
            .sum();
        assert!(lost > 0.0, "{cause}");
        near(lost, link(&result, 2, &format!("drops_{cause}")));
    }
    let acks: f64 = (0..2).map(|i| flow(&result, i, "acks_lost")).sum();
    assert!(acks > 0.0);
    near(acks, link(&result, 3, "drops_loss"));
    near(
        flow(&result, 0, "fair_share") + flow(&result, 1, "fair_share"),
        2.0,
    );
    // The first link carries whatever was sent, the second not what the queue
    // in front of it dropped.
    let sent: f64 = (0..2).map(|i| flow(&result, i, "segments_sent")).sum();
    near(link(&result, 0, "goodput_share"), 2000.0 / sent);
    let carried = sent - link(&result, 2, "drops_congestion");
    near(link(&result, 2, "goodput_share"), 2000.0 / carried);
    assert!(result["links"][1]["metrics"]["goodput_share"].is_null());
}

/// What a receiver sees of a lost segment: seven of the eight of a window come
/// behind the hole, and the segment itself a round trip after it was first sent
/// again by the third duplicate ACK.
#[test]
fn a_lost_segment_holds_its_window_up() {
    // Segments 1, 2-3, 4-7, 8-15 in rounds 1 to 4; 9 is lost.
    let text = rounds(
        "scripted_loss = { packets = [9], min_size = \"1000 B\" }",
        "",
        "15 kB",
    );
    let done = result(&text);
    near(flow(&done, 0, "segments_sent"), 16.0);
    near(flow(&done, 0, "segments_out_of_order"), 6.0);
    near(flow(&done, 0, "segments_duplicate"), 0.0);
    near(flow(&done, 0, "timeouts_repeated"), 0.0);
    // Fourteen take 50 ms; the ninth left, and left again, a round trip apart.
    near(
        flow(&done, 0, "segment_delay_mean"),
        (14.0 * 0.05 + 0.15) / 15.0,
    );
}

/// The last of three segments is lost three times: the time-outs of 1, 2 and 4 s
/// begin with the ACK of the second, a round trip after both were sent.
#[test]
fn time_outs_of_one_segment_are_repeated() {
    let text = rounds(
        "scripted_loss = { packets = [3, 4, 5], min_size = \"1000 B\" }",
        "",
        "3 kB",
    );
    let done = result(&text);
    near(flow(&done, 0, "timeouts"), 3.0);
    near(flow(&done, 0, "timeouts_repeated"), 2.0);
    near(flow(&done, 0, "segments_sent"), 6.0);
    near(flow(&done, 0, "segments_out_of_order"), 0.0);
    near(
        flow(&done, 0, "segment_delay_mean"),
        (2.0 * 0.05 + 0.1 + 7.0 + 0.05) / 3.0,
    );
}

/// The ACK of the first segment is lost: what goes again is not needed, comes as a
/// duplicate, and has no delay of its own.
#[test]
fn a_retransmission_that_was_not_needed_is_a_duplicate() {
    let text = rounds("", "", "2 kB").replace(
        "up = { rate = \"1000 Gbit/s\", delay = \"50 ms\" }",
        "up = { rate = \"1000 Gbit/s\", delay = \"50 ms\", channel = { scripted_loss = { packets \
         = [2] } } }",
    );
    let done = result(&text);
    near(flow(&done, 0, "timeouts"), 1.0);
    near(flow(&done, 0, "timeouts_repeated"), 0.0);
    near(flow(&done, 0, "segments_duplicate"), 1.0);
    near(flow(&done, 0, "segments_out_of_order"), 0.0);
    near(flow(&done, 0, "segments_sent"), 3.0);
    near(flow(&done, 0, "segment_delay_mean"), 0.05);
}

/// A fragment more than the MTU holds makes two of each segment: the delay is that
/// of the whole, which waits for its second fragment.
#[test]
fn a_segment_is_there_when_it_is_whole() {
    // 1040 bytes go as fragments of 540 and 520, behind the 40 of the handshake's ACK.
    let text = "[tcp]\nvariant = \"newreno\"\nmss = \"1000 B\"\ninitial_window = 1\n\
         delayed_ack = \"off\"\n[[links]]\nbetween = [\"a\", \"b\"]\n\
         down = { rate = \"1 Mbit/s\", delay = \"50 ms\", mtu = \"540 B\" }\n\
         up = { rate = \"1000 Gbit/s\", delay = \"50 ms\" }\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\ndont_fragment = false\n";
    let done = result(text);
    near(flow(&done, 0, "segment_delay_mean"), 0.05 + 1100.0 * 8e-6);
}
