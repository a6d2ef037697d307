//! UDP flows over whole runs.

use crate::common::{self, expand, load_error, result, traced};
use farlink_sim::{Monitor, run, scenario};
use serde_json::Value;

fn value(result: &Value, flow: usize, name: &str) -> Value {
    result["flows"][flow]["metrics"][name].clone()
}

fn metric(result: &Value, flow: usize, name: &str) -> f64 {
    value(result, flow, name)
        .as_f64()
        .unwrap_or_else(|| panic!("{name} of {result}"))
}

fn near(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 1e-9, "{value}, not {wanted}");
}

/// Returns a link of 1 Mbit/s and 100 ms in each direction, with these further keys of the
/// direction down.
fn link(more: &str) -> String {
    format!(
        "[[links]]\nbetween = [\"a\", \"b\"]\n\
         down = {{ rate = \"1 Mbit/s\", delay = \"100 ms\"{more} }}\n"
    )
}

fn flow(keys: &str) -> String {
    format!("[[flows]]\nfrom = \"a\"\nto = \"b\"\n{keys}\n")
}

/// 972 bytes of data are 1000 bytes on the wire, 8 ms on this link.
const CBR: &str = "app = \"cbr\"\npacket = \"972 B\"\n";

#[test]
fn below_the_rate_of_the_link_nothing_is_lost_and_every_delay_is_the_same() {
    let text = link("") + &flow(&format!("{CBR}rate = \"500 kbit/s\"\nduration = \"10 s\""));
    let result = result(&text);
    // A datagram is sent every 972 * 8 / 500,000 = 15.552 ms from 0 s, so 643.004 intervals fit.
    assert_eq!(metric(&result, 0, "datagrams_sent"), 644.0);
    assert_eq!(metric(&result, 0, "datagrams_received"), 644.0);
    for nothing in [
        "datagrams_lost",
        "loss_rate",
        "loss_burst_max",
        "delay_sd",
        "jitter",
    ] {
        assert_eq!(metric(&result, 0, nothing), 0.0, "{nothing}");
    }
    for same in ["delay_mean", "delay_min", "delay_max", "delay_p99"] {
        near(metric(&result, 0, same), 0.108);
    }
    near(metric(&result, 0, "duration"), 10.0);
    near(metric(&result, 0, "goodput"), 644.0 * 972.0 * 8.0 / 10.0);
    assert_eq!(metric(&result, 0, "completed"), 1.0);
    // The run ends with the arrival of the last datagram, 108 ms after it was sent.
    let end = result["simulated_s"].as_f64().unwrap_or_default();
    near(end, 643.0 * 0.015_552 + 0.108);
    for none in [
        "segments_sent",
        "timeouts",
        "rtt_mean",
        "responses",
        "reverse_goodput",
    ] {
        assert_eq!(value(&result, 0, none), Value::Null, "{none}");
    }
}

/// A source of rate R above the link's rate C loses 1 - C / R of its datagrams, except those in the
/// queue at the end. This is exact to a packet.
#[test]
fn above_the_rate_of_the_link_the_rest_is_lost() {
    for (rate, queue) in [(1.5, 10), (2.0, 50), (4.0, 1)] {
        let keys = format!("{CBR}rate = \"{} bit/s\"\ndatagrams = 20000", rate * 972e3);
        let text = link(&format!(", queue = {{ packets = {queue} }}")) + &flow(&keys);
        let result = result(&text);
        // The source sends for the time of 20,000 / R packets. In this time the link carries
        // packets at rate C, and afterwards the queue and the packet in transmission.
        let carried = 20_000.0 / rate + f64::from(queue);
        let received = metric(&result, 0, "datagrams_received");
        assert!(
            (received - carried).abs() <= 1.0 + 1.0,
            "{rate}: {received}, not {carried}"
        );
        let lost = metric(&result, 0, "datagrams_lost");
        assert_eq!(lost + received, 20_000.0);
        let share = metric(&result, 0, "loss_rate");
        assert!((share - (1.0 - 1.0 / rate)).abs() < f64::from(queue + 2) / 20_000.0);
        // The packet with the longest delay took the last place of the queue.
        let longest = 0.1 + 0.008 * f64::from(queue + 1);
        assert!(metric(&result, 0, "delay_max") <= longest + 1e-9);
        assert!(metric(&result, 0, "delay_max") > longest - 0.008);
        let drops = &result["links"][0]["metrics"]["drops_congestion"];
        assert_eq!(drops.as_f64(), Some(lost));
    }
}

#[test]
fn losses_are_those_of_the_channel() {
    let keys = format!("{CBR}rate = \"500 kbit/s\"\ndatagrams = 50000");
    let text = link(", channel = { loss = 0.02 }") + &flow(&keys);
    let result = result(&text);
    let share = metric(&result, 0, "loss_rate");
    assert!(
        (share - 0.02).abs() < 4.0 * (0.02f64 * 0.98 / 50_000.0).sqrt(),
        "{share}"
    );
    let lost = metric(&result, 0, "datagrams_lost");
    assert_eq!(
        result["links"][0]["metrics"]["drops_loss"].as_f64(),
        Some(lost)
    );
    let burst = metric(&result, 0, "loss_burst_max");
    assert!((2.0..=6.0).contains(&burst), "{burst}");
}

#[test]
fn copies_and_late_datagrams_are_counted() {
    let keys = format!("{CBR}rate = \"100 kbit/s\"\ndatagrams = 5000");
    let channel =
        ", channel = { duplicate = 0.1, reorder = { probability = 0.05, delay = \"100 ms\" } }";
    let result = result(&(link(channel) + &flow(&keys)));
    assert_eq!(metric(&result, 0, "datagrams_received"), 5000.0);
    assert_eq!(metric(&result, 0, "datagrams_lost"), 0.0);
    let error = |p: f64| 4.0 * (p * (1.0 - p) * 5000.0).sqrt();
    let copies = metric(&result, 0, "datagrams_duplicated");
    assert!((copies - 500.0).abs() < error(0.1), "{copies}");
    // A datagram held for 100 ms is overtaken by the next, sent 77.76 ms later, unless the next is
    // held too.
    let late = metric(&result, 0, "datagrams_reordered");
    assert!(
        (late - 5000.0 * 0.05 * 0.95).abs() < error(0.0475),
        "{late}"
    );
    near(metric(&result, 0, "delay_min"), 0.108);
}

/// For any channel, every datagram of every flow is received or lost, and the run ends.
#[test]
fn every_datagram_is_received_or_lost() {
    let channels = [
        "loss = 0.1, duplicate = 0.2",
        "corrupt = 0.1, duplicate = 0.2",
        "gilbert = { loss = 0.2, burst = 5.0 }, reorder = { probability = 0.2, delay = \"90 ms\" }",
        "jitter = { distribution = \"exponential\", mean = \"30 ms\", keep_order = false }, loss = 1.0",
    ];
    for channel in channels {
        for seed in 1..6 {
            let text = format!(
                "seed = {seed}\n\
                 [[links]]\nbetween = [\"a\", \"m\"]\n\
                 down = {{ rate = \"2 Mbit/s\", delay = \"10 ms\" }}\n\
                 [[links]]\nbetween = [\"m\", \"b\"]\n\
                 down = {{ rate = \"1 Mbit/s\", delay = \"50 ms\", queue = {{ packets = 5 }}, \
                 channel = {{ {channel} }} }}\n"
            ) + &flow(
                "app = \"onoff\"\nrate = \"1 Mbit/s\"\npacket = \"500 B\"\ndatagrams = 500\n\
                 on = { distribution = \"exponential\", mean = \"100 ms\" }\noff = \"50 ms\"\n\
                 count = 3",
            );
            let result = result(&text);
            let mut causes = 0.0;
            for i in 0..3 {
                let get = |name| metric(&result, i, name);
                assert_eq!(get("datagrams_sent"), 500.0);
                assert_eq!(get("datagrams_received") + get("datagrams_lost"), 500.0);
                assert_eq!(get("completed"), 1.0);
                assert!(get("loss_burst_max") <= get("datagrams_lost"));
                assert!(get("datagrams_reordered") < 500.0);
                let flow = result["flows"][i]["metrics"].as_object().expect("metrics");
                let lost = flow.iter().filter(|(name, _)| name.starts_with("lost_"));
                causes += lost.filter_map(|(_, n)| n.as_f64()).sum::<f64>();
                // Lost copies count in addition.
                let copies = get("datagrams_duplicated");
                assert!(copies == 0.0 || channel.contains("duplicate"));
            }
            let drops: f64 = (0..4)
                .filter_map(|i| result["links"][i]["metrics"]["drops"].as_f64())
                .sum();
            assert_eq!(causes, drops, "{channel}");
            let all: f64 = (0..3).map(|i| metric(&result, i, "datagrams_lost")).sum();
            // The run ends when the fate of the last datagram is known. Packets that still wait at
            // the lossy link (five, and one in transmission) have not left it.
            assert!(drops + 6.0 >= all, "{channel}: {drops}, {all}");
            let certain = channel.contains("loss = 1.0");
            assert_eq!(all == 1500.0, certain, "{channel}");
        }
    }
}

/// If a run is stopped, datagrams in flight do not count as lost.
#[test]
fn packets_in_transit_at_the_end_are_not_lost() {
    let keys = format!("{CBR}rate = \"500 kbit/s\"\nduration = \"10 s\"");
    let text = format!("duration = \"1 s\"\n{}{}", link(""), flow(&keys));
    let result = result(&text);
    // Datagrams are sent at 0, 15.552, ..., 995.328 ms. Those sent by 892 ms have arrived.
    assert_eq!(metric(&result, 0, "datagrams_sent"), 65.0);
    assert_eq!(metric(&result, 0, "datagrams_received"), 58.0);
    assert_eq!(metric(&result, 0, "datagrams_lost"), 0.0);
    assert_eq!(metric(&result, 0, "loss_burst_max"), 0.0);
    assert_eq!(metric(&result, 0, "completed"), 0.0);
    near(metric(&result, 0, "duration"), 1.0);
}

/// Constant periods of 1 s on and 3 s off give a quarter of the rate.
#[test]
fn an_on_off_source_sends_while_it_is_on() {
    let keys = "app = \"onoff\"\nrate = \"80 kbit/s\"\npacket = \"100 B\"\n\
                on = \"1 s\"\noff = \"3 s\"\nduration = \"40 s\"";
    let result = result(&(link("") + &flow(keys)));
    assert_eq!(metric(&result, 0, "datagrams_sent"), 1000.0);
    near(metric(&result, 0, "goodput"), 20_000.0);
    let drawn = "app = \"onoff\"\nrate = \"80 kbit/s\"\npacket = \"100 B\"\n\
                 on = { distribution = \"exponential\", mean = \"1 s\" }\n\
                 off = { distribution = \"pareto\", mean = \"3 s\", shape = 2.5 }\n\
                 duration = \"20000 s\"";
    let result = self::result(&(link("") + &flow(drawn)));
    let goodput = metric(&result, 0, "goodput");
    assert!((goodput / 20_000.0 - 1.0).abs() < 0.1, "{goodput}");
    assert_eq!(metric(&result, 0, "datagrams_lost"), 0.0);
}

/// TCP gets nearly all of the rate that the constant rate leaves, and has only losses by the queue.
/// The bytes of each flow are those received by its end.
#[test]
fn tcp_gets_the_rate_that_a_constant_source_leaves() {
    let keys = format!("{CBR}rate = \"486 kbit/s\"\nduration = \"60 s\"");
    let cbr = flow(&keys);
    let bulk = flow("app = \"bulk\"\nduration = \"60 s\"");
    let text = link(", queue = { packets = 30 }") + &cbr + &bulk;
    let result = result(&text);
    // 500 kbit/s of datagrams, with headers, are half of the link's rate.
    let (udp, tcp) = (metric(&result, 0, "goodput"), metric(&result, 1, "goodput"));
    assert!(udp > 0.93 * 486e3 && udp <= 486.2e3, "{udp}");
    assert!(tcp > 0.9 * 480e3 && tcp < 0.54e6, "{tcp}");
    assert_eq!(value(&result, 1, "datagrams_sent"), Value::Null);
    let sent = metric(&result, 0, "datagrams_sent");
    let known = metric(&result, 0, "datagrams_received") + metric(&result, 0, "datagrams_lost");
    assert_eq!(sent, known);
    // Both ends together have received all that arrived over the link, except headers.
    let used = result["links"][0]["metrics"]["utilisation"].as_f64();
    assert!(used > Some(0.97), "{used:?}");
}

/// Flows have their number in the scenario, independent of their kind.
#[test]
fn traces_and_captures_hold_datagrams() {
    let keys = format!("{CBR}rate = \"500 kbit/s\"\ndatagrams = 50");
    let text = link(", channel = { loss = 0.1 }") + &flow(&keys) + &flow("size = \"20 kB\"");
    let trace = traced(&text);
    let column = |table: &str, name: &str| common::column(&trace.tables, table, name);
    let json: Value = serde_json::from_str(&trace.outcome.to_json(&expand(&text))).expect("JSON");
    let received = metric(&json, 0, "datagrams_received") as usize;
    let arrived = column("datagrams", "flow");
    assert_eq!(arrived.len(), received);
    assert!(arrived.iter().all(|&flow| flow == 0));
    assert!(
        column("datagrams", "delay")
            .iter()
            .all(|&d| d >= 108_000_000)
    );
    let of = |table: &str, flow: u64| column(table, "flow").iter().filter(|&&f| f == flow).count();
    assert_eq!(of("segments", 0), 50);
    assert!(of("segments", 1) >= 14);
    assert_eq!(of("drops", 0), 50 - received);
    assert_eq!(of("state", 0), 0);
    assert!(of("state", 1) > 0);
    let bytes = column("delivered", "bytes");
    let flows = column("delivered", "flow");
    let last = flows.iter().rposition(|&f| f == 0).expect("rows");
    assert_eq!(bytes[last], 972 * received as u64);
    // At the source, the capture has all 50 datagrams (protocol 17) with their ports.
    let (_, capture) = &trace.captures[0];
    let datagrams = capture
        .windows(24)
        .filter(|w| w[0] == 0x45 && w[9] == 17 && w[20..24] == [0xc0, 0x00, 0x13, 0x89])
        .count();
    assert_eq!(datagrams, 50);
    assert_eq!(
        trace.outcome,
        run(&expand(&text), 0, &Monitor::default()).expect("a run")
    );
}

/// A UDP flow on another link changes no random stream of a TCP flow, whose results equal those
/// without the UDP flow bit by bit.
#[test]
fn datagrams_elsewhere_change_nothing() {
    let links =
        "[[links]]\nbetween = [\"c\", \"d\"]\ndown = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n";
    let tcp = "name = \"tcp\"\nsize = \"200 kB\"";
    let lossy = link(", channel = { loss = 0.02 }");
    let alone = result(&(lossy.clone() + links + &flow(tcp)));
    let cbr = format!(
        "[[flows]]\nname = \"cbr\"\nfrom = \"c\"\nto = \"d\"\n{CBR}rate = \"100 kbit/s\"\ndatagrams = 5\n"
    );
    for text in [
        lossy.clone() + links + &cbr + &flow(tcp),
        lossy + links + &flow(tcp) + &cbr,
    ] {
        let both = result(&text);
        let flows = both["flows"].as_array().expect("flows");
        let same = flows.iter().find(|f| f["flow"] == "tcp").expect("a flow");
        let mut same = same.clone();
        // Only its share of the total goodput depends on the other flow.
        same["metrics"]["fair_share"] = Value::Null;
        assert_eq!(same, alone["flows"][0]);
    }
}

#[test]
fn errors_have_one_line() {
    let cases = [
        (
            "app = \"cbr\"\nrate = \"1 Mbit/s\"\ndatagrams = 5\ntcp = { variant = \"reno\" }",
            "flows[0].tcp would be ignored: app = \"cbr\" sends UDP datagrams, which have no TCP; \
             remove it",
        ),
        (
            "app = \"cbr\"\nrate = \"1 Mbit/s\"\ndatagrams = 5\nopens = \"sender\"",
            "flows[0].opens would be ignored: app = \"cbr\" sends UDP datagrams, which have no \
             connection; remove it",
        ),
        (
            "app = \"cbr\"\ndatagrams = 5",
            "flows[0] has no \"rate\"; write for example rate = \"2048 kbit/s\"",
        ),
        (
            "app = \"cbr\"\nrate = \"1 Mbit/s\"",
            "flows[0] has no \"datagrams\"; write for example datagrams = 10, or a duration",
        ),
        (
            "app = \"cbr\"\nrate = \"1 Mbit/s\"\ndatagrams = 5\npacket = \"64 KiB\"",
            "flows[0].packet = \"64 KiB\" is out of range; write \"1 B\" to \"65507 B\"",
        ),
        (
            "app = \"onoff\"\nrate = \"1 Mbit/s\"\ndatagrams = 5\non = \"1 s\"",
            "flows[0] has no \"off\"; write for example off = { distribution = \"exponential\", \
             mean = \"2 s\" }",
        ),
        (
            "app = \"cbr\"\nrate = \"1 Mbit/s\"\ndatagrams = 5\non = \"1 s\"",
            "flows[0].on would be ignored; it needs app = \"onoff\"",
        ),
        (
            "app = \"onoff\"\nrate = \"1 Mbit/s\"\ndatagrams = 5\noff = \"1 s\"\n\
             on = { distribution = \"pareto\", mean = \"1 s\", shape = 0.9 }",
            "flows[0].on.shape = 0.9 has no mean; write a shape above 1, or \"min\" instead of \
             \"mean\", or a \"max\"",
        ),
        (
            "app = \"onoff\"\nrate = \"1 Mbit/s\"\ndatagrams = 5\noff = \"1 s\"\n\
             on = { distribution = \"exponential\", mean = \"1 s\", shape = 2.0 }",
            "flows[0].on.shape would be ignored; it needs distribution = \"pareto\"",
        ),
        (
            "app = \"onoff\"\nrate = \"1 Mbit/s\"\ndatagrams = 5\noff = \"1 s\"\n\
             on = { distribution = \"log-normal\", mean = \"1 s\" }",
            "flows[0].on has no \"sigma\"; write for example sigma = 1.0",
        ),
        (
            "size = { distribution = \"exponential\", mean = \"1 kB\" }",
            "flows[0].size is a distribution, and app = \"file\" takes one value; write for \
             example size = \"10 kB\"",
        ),
    ];
    for (keys, entry) in cases {
        let message = load_error(&(link("") + &flow(keys)));
        assert!(message.ends_with(entry), "{message}\nnot\n{entry}");
        assert!(!message.contains('\n'));
    }
    let text = format!(
        "[tcp]\nmss = \"500 B\"\n{}{}",
        link(""),
        flow("app = \"cbr\"\nrate = \"1 Mbit/s\"\ndatagrams = 5")
    );
    let message = load_error(&text);
    assert!(
        message.ends_with("tcp would be ignored: no flow uses TCP; remove it"),
        "{message}"
    );
}

/// The scenario in a result loads to the same scenario.
#[test]
fn a_resolved_scenario_of_datagrams_is_the_same_scenario() {
    let keys = "app = \"onoff\"\nrate = \"80 kbit/s\"\non = \"1 s\"\n\
                off = { distribution = \"pareto\", mean = \"3 s\", shape = 1.2, max = \"60 s\" }\n\
                datagrams = 50";
    let text = link("") + &flow(keys) + &flow("size = \"1 kB\"");
    let scenario = scenario::load(&text, "test", &[]).unwrap_or_else(|e| panic!("{e}"));
    let again = scenario::load(&scenario.to_json(), "again", &[]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scenario, again);
}
