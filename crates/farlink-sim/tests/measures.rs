//! Metrics over whole runs: phases, losses by cause, and shares.

use crate::common::{self, expand, result};
use farlink_sim::{Column, Monitor, TraceOptions};
use serde_json::Value;

fn flow(result: &Value, flow: usize, name: &str) -> f64 {
    common::metric(result, "flows", flow, name)
}

fn link(result: &Value, link: usize, name: &str) -> f64 {
    common::metric(result, "links", link, name)
}

fn near(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 1e-4, "{value}, not {wanted}");
}

/// Returns a scenario with round trips of 100 ms over a link so fast that segments take no time.
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

/// Slow start sends 1 + 2 + 4 + 8 segments, after which the window of 16 is at the threshold.
/// Congestion avoidance sends 16 and 16 (an ACK adds a little less than a sixteenth of a segment).
/// The flow ends with the arrival of the last segment, half a round trip before its acknowledgment.
#[test]
fn phases_are_counted_in_rounds() {
    let done = result(&rounds("", "initial_ssthresh = \"16000 B\"", "47 kB"));
    near(flow(&done, 0, "duration"), 0.65);
    near(flow(&done, 0, "time_slow_start"), 0.4);
    near(flow(&done, 0, "time_congestion_avoidance"), 0.15);
    near(flow(&done, 0, "time_recovery"), 0.0);
    near(flow(&done, 0, "time_idle"), 0.0);
}

/// The phases add up to the flow's duration without the handshake.
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

/// Every loss of a link is a loss of some flow, with the same cause. The segments that had to cross
/// a link are the sent segments without retransmissions.
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
    // The first link carries all sent segments, the second those that its queue did not drop.
    let sent: f64 = (0..2).map(|i| flow(&result, i, "segments_sent")).sum();
    near(link(&result, 0, "goodput_share"), 2000.0 / sent);
    let carried = sent - link(&result, 2, "drops_congestion");
    near(link(&result, 2, "goodput_share"), 2000.0 / carried);
    assert!(result["links"][1]["metrics"]["goodput_share"].is_null());
}

/// Two hosts with gateways between them, and 100 kB with an MSS of 1000 bytes.
fn gateways(agents: &str) -> String {
    let link = |a: &str, b: &str| {
        format!(
            "[[links]]\nname = \"{a}{b}\"\nbetween = [\"{a}\", \"{b}\"]\n\
             down = {{ rate = \"2 Mbit/s\", delay = \"20 ms\" }}\n"
        )
    };
    let links = link("a", "g") + &link("g", "h") + &link("h", "b");
    format!(
        "[tcp]\nmss = \"1000 B\"\n{links}{agents}\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"100 kB\"\n"
    )
}

/// An agent that splits a connection cuts its data anew: 100 segments of 1000 bytes before it, 200
/// of 500 behind it, each sent once.
#[test]
fn segments_behind_a_split_are_counted_as_cut_there() {
    let agent = |at: &str, link: &str| {
        format!(
            "[[agents]]\nat = \"{at}\"\nwireless = \"{link}\"\nkind = \"split\"\n\
             wireless_tcp = {{ mss = \"500 B\" }}\n"
        )
    };
    let shares = |agents: &str| -> Vec<Option<f64>> {
        let result = result(&gateways(agents));
        let share = |i: usize| result["links"][2 * i]["metrics"]["goodput_share"].as_f64();
        (0..3).map(share).collect()
    };
    let single = shares(&agent("h", "hb"));
    assert_eq!(single, [Some(1.0), Some(1.0), Some(1.0)]);
    // Agents of links beside the path split nothing.
    let side = |at: &str| {
        let name = format!("{at}-side");
        let ends = format!("between = [\"{at}\", \"{name}\"]");
        format!(
            "[[links]]\nname = \"{name}\"\n{ends}\ndown = {{ rate = \"2 Mbit/s\", delay = \"1 ms\" }}\n"
        ) + &agent(at, &name)
    };
    let beside = shares(&(side("g") + &side("h")));
    assert_eq!(beside, [Some(1.0), Some(1.0), Some(1.0)]);
    // The MSS between two agents is known to neither end.
    let pair = shares(&(agent("g", "gh") + &agent("h", "hb")));
    assert_eq!(pair, [Some(1.0), None, Some(1.0)]);
}

/// A duplicate of a datagram had not to cross a link.
#[test]
fn duplicates_of_quic_are_not_needed() {
    let text = "[tcp]\nprofile = \"quic\"\n[[links]]\nbetween = [\"a\", \"b\"]\n\
         down = { rate = \"2 Mbit/s\", delay = \"20 ms\", channel = { duplicate = 0.5 } }\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 MB\"\n";
    let share = link(&result(text), 0, "goodput_share");
    assert!((0.98..=1.0).contains(&share), "{share}");
}

/// Segments out of order: after a lost segment, the rest of the window arrives behind the gap. The
/// retransmission arrives a round trip after the third duplicate ACK.
#[test]
fn a_lost_segment_holds_its_window_up() {
    // Rounds 1 to 4 send segments 1, 2-3, 4-7 and 8-15. Segment 9 is lost.
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
    // Fourteen segments take 50 ms. The ninth takes 150 ms, because its retransmission leaves a
    // round trip later.
    near(
        flow(&done, 0, "segment_delay_mean"),
        (14.0 * 0.05 + 0.15) / 15.0,
    );
}

/// The last of three segments is lost three times. The time-outs of 1, 2 and 4 s count from the ACK
/// of the second segment, a round trip after both were sent.
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

/// The ACK of the first segment is lost, so the retransmission is a duplicate at the receiver. A
/// duplicate has no transit time.
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

/// The MTU makes each segment two fragments. The transit time is that of the whole segment, which
/// waits for its second fragment.
#[test]
fn a_segment_has_arrived_when_it_is_complete() {
    // 1040 bytes are sent as fragments of 540 and 520 bytes, after the ACK of the handshake with 40
    // bytes.
    let text = "[tcp]\nvariant = \"newreno\"\nmss = \"1000 B\"\ninitial_window = 1\n\
         delayed_ack = \"off\"\n[[links]]\nbetween = [\"a\", \"b\"]\n\
         down = { rate = \"1 Mbit/s\", delay = \"50 ms\", mtu = \"540 B\" }\n\
         up = { rate = \"1000 Gbit/s\", delay = \"50 ms\" }\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\ndont_fragment = false\n";
    let done = result(text);
    near(flow(&done, 0, "segment_delay_mean"), 0.05 + 1100.0 * 8e-6);
}

const LIMITS: [&str; 8] = [
    "handshake",
    "application",
    "send_buffer",
    "receive_window",
    "congestion_window",
    "pacing",
    "recovery",
    "timeouts",
];

/// Returns the seconds of flow 0 at each limit that has any. Checks that they add up to the whole.
fn limited(result: &Value, whole: f64) -> Vec<(&'static str, f64)> {
    let share = |name| flow(result, 0, &format!("limited_{name}"));
    near(LIMITS.into_iter().map(share).sum(), 1.0);
    let times = LIMITS.map(|name| (name, share(name) * whole));
    times.into_iter().filter(|&(_, time)| time > 1e-4).collect()
}

#[track_caller]
fn near_all(times: &[(&str, f64)], wanted: &[(&str, f64)]) {
    let names = |all: &[(&str, f64)]| all.iter().map(|x| x.0.to_owned()).collect::<Vec<_>>();
    assert_eq!(names(times), names(wanted), "{times:?}");
    for (time, wanted) in times.iter().zip(wanted) {
        assert!((time.1 - wanted.1).abs() < 1e-4, "{times:?}");
    }
}

/// Limits of a transfer in rounds of 100 ms: first the handshake, then the window in each round
/// until all data is sent. Then the application has no more data, for half a round trip.
#[test]
fn limits_are_counted_in_rounds() {
    let done = result(&rounds("", "", "47 kB"));
    near_all(
        &limited(&done, 0.65),
        &[
            ("handshake", 0.1),
            ("application", 0.05),
            ("congestion_window", 0.5),
        ],
    );
    // Each round sends ten of a hundred segments.
    for (name, key, window) in [
        ("receive_window", "receive_window = \"10 kB\"", 1e4),
        (
            "send_buffer",
            "receive_window = \"10 MB\"\nsend_buffer = \"10 kB\"",
            1e7,
        ),
    ] {
        let text = rounds("", "", "100 kB")
            .replace("initial_window = 1", "initial_window = 100")
            .replace("receive_window = \"10 MB\"", key);
        let done = result(&text);
        near_all(
            &limited(&done, 1.05),
            &[("handshake", 0.1), ("application", 0.05), (name, 0.9)],
        );
        // The value is as near as the scaled field of the header allows.
        assert!((flow(&done, 0, "receive_window_max") / window - 1.0).abs() < 1e-3);
    }
}

/// In the transfers of the tests above, a fast retransmit starts half a round before the end, and
/// three time-outs count from the last acknowledgment before them.
#[test]
fn repairs_are_limits_too() {
    let lost = "scripted_loss = { packets = [9], min_size = \"1000 B\" }";
    near_all(
        &limited(&result(&rounds(lost, "", "15 kB")), 0.55),
        &[
            ("handshake", 0.1),
            ("application", 0.1),
            ("congestion_window", 0.3),
            ("recovery", 0.05),
        ],
    );
    let lost = "scripted_loss = { packets = [3, 4, 5], min_size = \"1000 B\" }";
    near_all(
        &limited(&result(&rounds(lost, "", "3 kB")), 7.35),
        &[
            ("handshake", 0.1),
            ("application", 0.1),
            ("congestion_window", 0.1),
            ("timeouts", 7.05),
        ],
    );
}

/// A controller that paces is limited by its rate. A program with pauses is limited by itself, also
/// between its connections and for either opener. A flow that never connects is limited by its
/// handshake.
#[test]
fn limits_of_every_kind_of_flow_add_up() {
    let text = |flow: &str, tcp: &str| {
        format!(
            "[tcp]\nreceive_window = \"10 MB\"\n{tcp}\n[[links]]\nbetween = [\"a\", \"b\"]\n\
             down = {{ rate = \"10 Mbit/s\", delay = \"50 ms\" }}\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
        )
    };
    let of = |flow: &str, tcp: &str, wanted: &str, least: f64| {
        let done = result(&text(flow, tcp));
        let times = limited(&done, 1.0);
        let share = times.iter().find(|x| x.0 == wanted).map_or(0.0, |x| x.1);
        assert!(share > least, "{flow} {tcp}: {times:?}");
    };
    of("size = \"20 MB\"", "variant = \"bbr\"", "pacing", 0.8);
    let pages = "app = \"http\"\npages = 3\npage_interval = \"10 s\"\nconnections = ";
    of(&format!("{pages}\"per-page\""), "", "application", 0.9);
    of(&format!("{pages}\"persistent\""), "", "application", 0.9);
    let files = "app = \"repeat\"\nsize = \"20 kB\"\nfiles = 3\ninterval = \"10 s\"\nopens = ";
    of(&format!("{files}\"sender\""), "", "application", 0.9);
    of(&format!("{files}\"receiver\""), "", "application", 0.9);
    let nowhere = text("app = \"bulk\"\nduration = \"5 s\"", "").replace(
        "delay = \"50 ms\"",
        "delay = \"50 ms\", channel = { loss = 1.0 }",
    );
    near_all(&limited(&result(&nowhere), 5.0), &[("handshake", 5.0)]);
}

/// The rows of the trace `limits` give the shares: each row is valid until the next, and a time-out
/// from the start of its wait.
#[test]
fn the_trace_of_limits_is_the_shares() {
    let lost = "scripted_loss = { packets = [3, 4, 9, 20], min_size = \"1000 B\" }";
    for text in [
        rounds(lost, "", "60 kB"),
        rounds("loss = 0.05", "", "200 kB"),
        rounds("", "", "20 kB").replace("size", "app = \"repeat\"\nfiles = 3\nsize"),
    ] {
        let scenario = expand(&text);
        let traced =
            farlink_sim::trace(&scenario, 0, &TraceOptions::default(), &Monitor::default())
                .unwrap();
        let outcome: Value =
            serde_json::from_str(&traced.outcome.to_json(&scenario)).expect("JSON");
        let table = traced.tables.iter().find(|t| t.name == "limits").unwrap();
        let column = |name| &table.columns.iter().find(|c| c.0 == name).unwrap().1;
        let (Column::I64(time), Column::U8(limit), Column::U8(side)) =
            (column("time"), column("limit"), column("side"))
        else {
            panic!("columns of another type")
        };
        let rows: Vec<_> = (0..time.len())
            .filter(|&i| side[i] == 0)
            .map(|i| (time[i] as f64 / 1e9, usize::from(limit[i])))
            .collect();
        let end = flow(&outcome, 0, "duration");
        let mut times = [0.0; 8];
        for (i, &(from, limit)) in rows.iter().enumerate() {
            let to = rows.get(i + 1).map_or(end, |row| row.0).min(end);
            times[limit] += (to - from).max(0.0);
        }
        for (name, time) in LIMITS.iter().zip(times) {
            near(time / end, flow(&outcome, 0, &format!("limited_{name}")));
        }
    }
}

/// A flow that does not end does not prevent results of the others: the run is stopped at
/// `max_duration`, and reports the number of incomplete flows.
#[test]
fn a_flow_that_does_not_finish_is_reported() {
    let text = "max_duration = \"60 s\"\n\
         [[links]]\nname = \"near\"\nbetween = [\"a\", \"b\"]\n\
         down = { rate = \"1 Mbit/s\", delay = \"10 ms\" }\n\
         [[links]]\nname = \"far\"\nbetween = [\"b\", \"c\"]\n\
         down = { rate = \"1 kbit/s\", delay = \"10 ms\" }\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"100 kB\"\n\
         [[flows]]\nfrom = \"a\"\nto = \"c\"\nsize = \"100 kB\"\n";
    let done = result(text);
    near(flow(&done, 0, "completed"), 1.0);
    near(flow(&done, 0, "bytes_delivered"), 100_000.0);
    near(flow(&done, 1, "completed"), 0.0);
    assert!(flow(&done, 1, "bytes_delivered") > 1000.0);
    assert_eq!(done["run"][0]["metrics"]["unfinished"], 1.0);
    assert_eq!(done["simulated_s"], 60.0);
    let finished = result(&text.replace("1 kbit/s", "1 Mbit/s"));
    assert_eq!(finished["run"][0]["metrics"]["unfinished"], 0.0);
}

/// Two flows use the link one after the other. Each gets the whole link in its own time. Over the
/// run their sum is at most the capacity.
#[test]
fn goodput_over_the_run_adds_up() {
    let text = "duration = \"20 s\"\n[tcp]\nreceive_window = \"1 MB\"\n\
         [[links]]\nbetween = [\"a\", \"b\"]\n\
         down = { rate = \"1 Mbit/s\", delay = \"10 ms\", queue = { packets = 20 } }\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"bulk\"\nduration = \"5 s\"\n\
         count = 2\nstagger = \"10 s\"\n";
    let done = result(text);
    let sum = |name| flow(&done, 0, name) + flow(&done, 1, name);
    assert!(sum("goodput") > 1.8e6);
    // Both flows end after 15 s.
    let over_run = sum("goodput_over_run");
    assert!(over_run < link(&done, 0, "throughput"), "{over_run}");
    near(over_run, sum("bytes_delivered") * 8.0 / 15.0);
    // The second flow is stopped after 2 s of its 5 s.
    let late = result(&text.replace("\"20 s\"", "\"12 s\""));
    let jain = |name: &str| late["run"][0]["metrics"][name].as_f64().unwrap();
    assert!(jain("jain") > 0.99, "{late}");
    assert!(jain("jain_over_run") < 0.95, "{late}");
}
