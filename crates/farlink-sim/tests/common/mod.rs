//! Helpers shared by the tests of whole runs.

use farlink_sim::{Monitor, run, scenario};
use farlink_tcp::Body;
use farlink_wire::{Datagram, NodeId, Packet, Payload};
use serde_json::Value;

/// Loads and expands a valid scenario.
pub(crate) fn expand(text: &str) -> scenario::Expanded {
    scenario::load(text, "test", &[])
        .and_then(|s| s.expand())
        .unwrap_or_else(|e| panic!("{e}"))
}

/// Returns the result of run 0 of a scenario.
pub(crate) fn result(text: &str) -> Value {
    let scenario = expand(text);
    let outcome = run(&scenario, 0, &Monitor::default()).unwrap_or_else(|e| panic!("{e}"));
    serde_json::from_str(&outcome.to_json(&scenario)).expect("JSON")
}

/// Returns a metric of row `which` of `list` ("flows" or "links").
pub(crate) fn metric(result: &Value, list: &str, which: usize, name: &str) -> f64 {
    result[list][which]["metrics"][name]
        .as_f64()
        .unwrap_or_else(|| panic!("{name} of {result}"))
}

/// Returns a UDP datagram of a real program with this data.
pub(crate) fn datagram(from: u32, to: u32, data: &[u8]) -> Vec<u8> {
    let payload = Payload::Udp(Datagram {
        body: Body::of_bytes(data),
        ..Datagram::default()
    });
    let packet = Packet::new(NodeId(from), NodeId(to), payload);
    farlink_wire::encode(&packet, farlink_wire::Addresses::of(&packet)).expect("a datagram")
}
