//! Traces, fading, radios and orbits in whole runs.

use crate::common::{self, library};
use farlink_sim::scenario;
use serde_json::Value;

/// Returns a scenario with this direction down and these keys of a flow from a to b, with TCP SACK.
fn text(down: &str, rest: &str) -> String {
    format!(
        "[tcp]\nreceive_window = \"1 MiB\"\n[[links]]\nname = \"link\"\nbetween = [\"a\", \"b\"]\n\
         down = {{ {down} }}\nup = {{ rate = \"10 Mbit/s\", delay = \"10 ms\" }}\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\n{rest}\n"
    )
}

const FILE: &str = "size = \"5 MB\"";
const BULK: &str = "app = \"bulk\"\nduration = \"60 s\"";

/// Returns the texts of the files that the scenarios of these tests name.
fn read(name: &str) -> Result<String, String> {
    match name {
        "12.trace" => Ok("1\n".to_owned()),
        "step.csv" => Ok(
            "time (s),rate (Mbit/s),delay (ms),loss (%)\n0,8,20,0\n10,2,80,1\n20,0,80,0\n".into(),
        ),
        _ => Err("no such file".to_owned()),
    }
}

fn load(text: &str, set: &[(&str, &str)]) -> Result<scenario::Scenario, String> {
    let set: Vec<_> = set
        .iter()
        .map(|(path, value)| ((*path).to_owned(), (*value).to_owned()))
        .collect();
    scenario::load_with(text, "test", &set, &mut read).map_err(|e| e.to_string())
}

fn result_of(scenario: &scenario::Scenario, number: u64) -> Value {
    common::result_of(&scenario.expand().unwrap(), number)
}

fn result(text: &str) -> Value {
    result_of(&load(text, &[]).unwrap(), 0)
}

fn flow(result: &Value, metric: &str) -> f64 {
    result["flows"][0]["metrics"][metric].as_f64().unwrap()
}

fn link(result: &Value, metric: &str) -> f64 {
    result["links"][0]["metrics"][metric].as_f64().unwrap()
}

/// A flow gets the rate of a trace, within 0.5 % over a minute whose first round trips are slow
/// start.
#[test]
fn a_flow_fills_a_trace_as_it_fills_a_constant_rate() {
    let queue = "delay = \"10 ms\", queue = { packets = 200 }";
    let mut rates = Vec::new();
    for rate in [
        "rate = \"12 Mbit/s\"",
        "rate_trace = \"12 Mbit/s\"",
        "rate_trace = { file = \"12.trace\" }",
        "rate_trace = { data = \"time (s),rate (Mbit/s)\\n0,20\\n0.1,4\\n0.2,0\\n\", repeat = true }",
    ] {
        let measured = result(&text(&format!("{rate}, {queue}"), BULK));
        let rate = link(&measured, "throughput");
        assert!((rate / 12e6 - 1.0).abs() < 0.005, "{rate}");
        rates.push(rate);
    }
    // The two forms of the packet-delivery trace give the same run.
    assert_eq!(rates[1], rates[2]);
}

#[test]
fn a_file_becomes_part_of_the_resolved_scenario() {
    let named = text(
        "rate_trace = { file = \"step.csv\", repeat = true }, delay = \"0 s\", \
         channel = { delay_trace = { file = \"step.csv\", repeat = true }, \
         loss_trace = { file = \"step.csv\", repeat = true } }",
        FILE,
    );
    let scenario = load(&named, &[]).unwrap();
    let resolved = scenario.to_json();
    let again = scenario::load(&resolved, "resolved", &[]).unwrap();
    assert_eq!(result_of(&scenario, 3), result_of(&again, 3));
    let value: Value = serde_json::from_str(&resolved).unwrap();
    let trace = &value["links"][0]["down"]["rate_trace"];
    assert_eq!(trace["from"], "step.csv");
    assert!(trace["file"].is_null() && trace["data"].as_str().unwrap().starts_with("time"));
    // An override can replace the file.
    let set = [("links.0.down.rate_trace.file", "12.trace")];
    let fault = load(&resolved, &set).unwrap_err();
    assert!(fault.contains("repeat would be ignored"), "{fault}");
    let set = [("links.0.down.rate_trace", "12 Mbit/s")];
    assert!(load(&resolved, &set).is_ok());
}

#[test]
fn an_override_with_a_rate_trace_replaces_the_rate() {
    let constant = text("rate = \"1 Mbit/s\", delay = \"10 ms\"", FILE);
    let set = [("links.0.down.rate_trace.file", "12.trace")];
    let traced = result_of(&load(&constant, &set).unwrap(), 0);
    assert!(flow(&traced, "duration") < 6.0);
    let both = text(
        "rate = \"1 Mbit/s\", rate_trace = \"12 Mbit/s\", delay = \"10 ms\"",
        FILE,
    );
    assert_eq!(
        load(&both, &[]).unwrap_err(),
        "test:6: links[0].down.rate would be ignored beside rate_trace; write one of them"
    );
}

#[test]
fn an_unreadable_trace_is_an_error() {
    let named = text(
        "rate_trace = { file = \"lte.trace\" }, delay = \"10 ms\"",
        FILE,
    );
    assert_eq!(
        load(&named, &[]).unwrap_err(),
        "test:6: links[0].down.rate_trace.file = \"lte.trace\" cannot be read: no such file"
    );
    let fault = scenario::load(&named, "test", &[]).unwrap_err().to_string();
    assert!(fault.ends_with("a scenario loaded from text alone has no files"));
    let short = text(
        "rate_trace = { file = \"step.csv\" }, delay = \"1 ms\"",
        FILE,
    );
    assert!(
        load(&short, &[])
            .unwrap_err()
            .contains("would never send again")
    );
}

/// A random offset differs between runs. Within a run, it is the same for rate and delay of a
/// direction, and differs between directions.
#[test]
fn a_random_offset_differs_between_runs() {
    let random = text(
        "rate_trace = { file = \"step.csv\", repeat = true, random_offset = true }, \
         delay = \"0 s\"",
        FILE,
    );
    let scenario = load(&random, &[]).unwrap();
    let durations: Vec<f64> = (0..5)
        .map(|number| flow(&result_of(&scenario, number), "duration"))
        .collect();
    let mut distinct = durations.clone();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    // Runs within a single row of the trace take the same time from any start.
    assert!(distinct.len() >= 3, "{durations:?}");
    assert_eq!(
        durations[2],
        flow(&result_of(&scenario, 2), "duration"),
        "a function of scenario, seed and run"
    );
}

/// A delay trace changes the round-trip time: 20 ms + 10 ms in the first ten seconds.
#[test]
fn a_delay_trace_changes_the_round_trip_time() {
    let down = "rate = \"10 Mbit/s\", delay = \"0 s\", \
                channel = { delay_trace = { file = \"step.csv\" } }";
    let measured = result(&text(down, "size = \"200 kB\""));
    let rtt = flow(&measured, "rtt_min");
    assert!((0.030..0.032).contains(&rtt), "{rtt}");
}

/// Vatne and Haugen 2006, section 6.2, at P_E = 0.1: both models and both directions lose the share
/// of packets that the chain gives, within a quarter.
#[test]
fn fades_lose_their_share_of_a_flow() {
    for model in [
        "step = \"1.92 ms\"",
        "step = \"1.92 ms\", shared = true",
        "model = \"jakes\"",
    ] {
        let channel = format!(
            "channel = {{ rayleigh = {{ speed = \"41.67 m/s\", carrier = \"2.4 GHz\", \
             loss = 0.1, {model} }} }}"
        );
        let text = format!(
            "[tcp]\nreceive_window = \"8000 B\"\nmss = \"64 B\"\n[[links]]\nbetween = [\"a\", \
             \"b\"]\ndown = {{ rate = \"250 kbit/s\", delay = \"10 ms\", {channel} }}\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"200 kB\"\n"
        );
        let measured = result(&text);
        for direction in [0, 1] {
            let metrics = &measured["links"][direction]["metrics"];
            let of = |name: &str| metrics[name].as_f64().unwrap();
            let share = of("drops_fade") / of("packets");
            assert!((0.075..0.125).contains(&share), "{model}: {share}");
            assert_eq!(of("drops"), of("drops_fade"));
        }
        assert!(flow(&measured, "duration") > 10.0);
    }
}

/// Over a satellite at 550 km the round-trip time follows from the geometry: 4 times the range of
/// 550 to 1123 km.
#[test]
fn the_round_trip_over_an_orbit_is_that_of_its_range() {
    let orbit = "channel = { orbit = { altitude = \"550 km\", min_elevation = 25 } }";
    let text = format!(
        "[tcp]\nreceive_window = \"64 KiB\"\n[[links]]\nbetween = [\"a\", \"b\"]\n\
         down = {{ rate = \"10 Mbit/s\", delay = \"0 s\", {orbit} }}\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"bulk\"\nduration = \"270 s\"\n\
         tcp = {{ receive_window = \"4 KiB\" }}\n"
    );
    let measured = result(&text);
    let rtt = flow(&measured, "rtt_min") * 1e3;
    // The minimum of 4 * 550 km / c = 7.338 ms occurs once per pass, and both directions use the
    // same satellite. A packet and its ACK take 1.3 ms.
    assert!((7.338..8.8).contains(&rtt), "{rtt}");
}

/// A reconfiguration every 15 s drops packets for 100 ms. A saturated link loses this share, for
/// the cause `handoff`.
#[test]
fn reconfigurations_lose_packets_for_their_cause() {
    let down = "rate = \"10 Mbit/s\", delay = \"20 ms\", queue = { packets = 100 }, channel = { \
                reconfiguration = { delay = [\"0 s\", \"20 ms\"], interruption_time = \"100 ms\" } }";
    let measured = result(&text(down, BULK));
    let lost = link(&measured, "drops_handoff");
    // Each at 12, 27, 42 and 57 s loses about 80 packets, or fewer once TCP notices a loss.
    assert!((100.0..=340.0).contains(&lost), "{lost}");
    assert_eq!(link(&measured, "drops_loss"), 0.0);
}

/// Vatne and Haugen 2006, section 5.2.2 as intended, at 3 m: 14 % of packets of 104 bytes are lost.
/// Packets of the handshake and of the end are fewer than 1 in 100.
#[test]
fn a_radio_loses_the_share_of_its_link_budget() {
    let down = "rate = \"250 kbit/s\", delay = \"1 ms\", channel = { radio = { band = \"2400 MHz\", \
                distance = \"3 m\", noise = \"vatne2006\" } }";
    let measured = result(&text(down, "size = \"60 kB\"\ntcp = { mss = \"64 B\" }"));
    let share = link(&measured, "drops_bit_error") / link(&measured, "packets");
    assert!((0.11..0.17).contains(&share), "{share}");
}

/// Moving nodes change the loss over time, and both directions have the same positions. The run is
/// still a function of scenario and seed.
#[test]
fn nodes_that_move_change_the_loss() {
    let down = "rate = \"250 kbit/s\", delay = \"1 ms\", channel = { radio = { band = \"2400 MHz\", \
                noise = \"vatne2006\", mobility = { model = \"vatne2006\", area = [\"6 m\", \"6 m\"], \
                speed = [\"0.1 m/s\", \"0.5 m/s\"], step = \"1 s\", leg = [\"2 s\", \"9 s\"] } } }";
    let moving = text(down, "size = \"60 kB\"\ntcp = { mss = \"64 B\" }");
    let scenario = load(&moving, &[]).unwrap();
    let shares: Vec<f64> = (0..4)
        .map(|number| {
            let measured = result_of(&scenario, number);
            link(&measured, "drops_bit_error") / link(&measured, "packets")
        })
        .collect();
    let again = result_of(&scenario, 1);
    assert_eq!(
        shares[1],
        link(&again, "drops_bit_error") / link(&again, "packets")
    );
    let (min, max) = (
        shares.iter().copied().fold(1.0, f64::min),
        shares.iter().copied().fold(0.0, f64::max),
    );
    assert!(max > 1.05 * min, "{shares:?}");
}

/// In this scenario of the library, the round trip is never below that of two ranges of 550 km in
/// each direction, and each of the four changes per minute costs packets.
#[test]
fn the_leo_of_the_library_has_the_documented_values() {
    let leo = library("leo-reconfiguration");
    let measured = result_of(&load(leo, &[]).unwrap(), 0);
    let rtt = flow(&measured, "rtt_min");
    assert!((0.0273..0.060).contains(&rtt), "{rtt}");
    assert!(link(&measured, "drops_handoff") > 0.0);
    let goodput = flow(&measured, "goodput");
    assert!((20e6..97e6).contains(&goodput), "{goodput}");
}
