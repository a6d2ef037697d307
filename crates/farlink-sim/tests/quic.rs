//! Flows over QUIC in whole runs.

use crate::common::traced;
use crate::common::{column, expand, expand_with, library, load_error, metric, result, result_of};
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
fn other_applications_are_refused() {
    let text = text(GEO, "app = \"http\"\npages = 1", "cubic");
    assert_eq!(
        load_error(&text),
        "test:10: flows[0].app does not go with profile = \"quic\"; write \"file\" or \"bulk\", or \
         another profile in the flow's tcp"
    );
}

#[test]
fn unknown_congestion_controls_are_refused() {
    let error = load_error(&text(GEO, "size = \"1 kB\"", "vegas"));
    assert!(
        error.contains("is not a TCP of profile = \"quic\"; it has cubic, newreno, bbr"),
        "{error}"
    );
}
