//! Helpers shared by the tests of whole runs.

use farlink_sim::scenario::{Expanded, library as scenarios, load};
use farlink_sim::{Monitor, Table, Trace, TraceOptions, run, trace};
use farlink_tcp::Body;
use farlink_wire::{Datagram, NodeId, Packet, Payload};
use serde_json::Value;

/// Returns the text of a scenario of the library.
pub(crate) fn library(name: &str) -> &'static str {
    let entry = scenarios().iter().find(|entry| entry.0 == name);
    entry.unwrap_or_else(|| panic!("no scenario {name}")).1
}

/// Loads and expands a valid scenario with these overrides (key and value).
pub(crate) fn expand_with(text: &str, set: &[(&str, &str)]) -> Expanded {
    let set: Vec<_> = set
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    load(text, "test", &set)
        .and_then(|s| s.expand())
        .unwrap_or_else(|e| panic!("{e}"))
}

/// Loads and expands a valid scenario.
pub(crate) fn expand(text: &str) -> Expanded {
    expand_with(text, &[])
}

/// Returns the error of a scenario that cannot be loaded.
pub(crate) fn load_error(text: &str) -> String {
    load(text, "test", &[])
        .expect_err("must be refused")
        .to_string()
}

/// Returns the result of run `number` of a scenario.
pub(crate) fn result_of(scenario: &Expanded, number: u64) -> Value {
    let outcome = run(scenario, number, &Monitor::default()).unwrap_or_else(|e| panic!("{e}"));
    serde_json::from_str(&outcome.to_json(scenario)).expect("JSON")
}

/// Returns the result of run 0 of a scenario.
pub(crate) fn result(text: &str) -> Value {
    result_of(&expand(text), 0)
}

/// Returns run 0 of a scenario with all tables and captures.
pub(crate) fn traced(text: &str) -> Trace {
    let options = TraceOptions::capturing(0);
    trace(&expand(text), 0, &options, &Monitor::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns a column of a table as whole numbers.
pub(crate) fn column(tables: &[Table], table: &str, name: &str) -> Vec<u64> {
    let table = tables.iter().find(|t| t.name == table).expect(table);
    let column = table.columns.iter().find(|c| c.0 == name).expect(name);
    column.1.numbers()
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
