//! Applications over whole runs.
#![allow(missing_docs)]

use farlink_sim::{Monitor, run, scenario};
use serde_json::Value;

fn load(name: &str, set: &[(&str, &str)]) -> scenario::Expanded {
    let (_, text) = scenario::library()
        .iter()
        .find(|(n, _)| *n == name)
        .expect("a scenario of the library");
    expand(text, set)
}

fn expand(text: &str, set: &[(&str, &str)]) -> scenario::Expanded {
    let set: Vec<_> = set
        .iter()
        .map(|&(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
    scenario::load(text, "test", &set)
        .and_then(|s| s.expand())
        .unwrap_or_else(|e| panic!("{e}"))
}

fn result(scenario: &scenario::Expanded) -> Value {
    let outcome = run(scenario, 0, &Monitor::default()).unwrap_or_else(|e| panic!("{e}"));
    serde_json::from_str(&outcome.to_json(scenario)).expect("JSON")
}

fn metric(result: &Value, flow: usize, name: &str) -> f64 {
    result["flows"][flow]["metrics"][name]
        .as_f64()
        .unwrap_or_else(|| panic!("{name} of {result}"))
}

/// Omueti and Trajkovic 2007, Table 4: 4.3 s without and 4.9 s with delayed ACK,
/// for SACK and `NewReno` alike.
#[test]
fn page_times_are_those_of_omueti_table_4() {
    for (delayed, low, high) in [("off", 4.15, 4.45), ("200 ms", 4.7, 5.1)] {
        let mut times = Vec::new();
        for variant in ["sack", "newreno"] {
            let set = [("tcp.delayed_ack", delayed), ("tcp.variant", variant)];
            let result = result(&load("geo-http-omueti2007", &set));
            assert_eq!(metric(&result, 0, "responses"), 34.0);
            let time = metric(&result, 0, "response_time_mean");
            println!("delayed_ack {delayed}, {variant}: {time}");
            assert!((low..high).contains(&time), "{variant}, {delayed}: {time}");
            times.push(time);
        }
        assert!((times[0] / times[1] - 1.0).abs() < 1e-3, "{times:?}");
    }
}
