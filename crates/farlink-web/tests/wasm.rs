//! The engine in WebAssembly gives what the native one gives, to the bit: digests of measures and
//! tables, under node.
//!
//! Both tests need `make engine-wasm` and node. `make test-web` runs the recorded runs, and
//! `make test-long` runs both.
#![allow(missing_docs)]

#[path = "../../farlink-sim/tests/recorded/links.rs"]
mod links;
#[path = "../../farlink-sim/tests/recorded/runs.rs"]
mod runs;
#[path = "../../farlink-sim/tests/recorded/tables.rs"]
mod tables;

use farlink_sim::scenario;
use farlink_web::{Engine, Status};
use runs::{runs, tcps};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Scenarios too large to run in full for every TCP, with the override that shortens them.
const LARGE: [(&str, &str); 6] = [
    ("dumbbell-100", "1 s"),
    ("dumbbell-1000", "300 ms"),
    ("dumbbell-1000-pairs", "300 ms"),
    ("gigabit-cubic", "2 s"),
    ("geo-mixed", "60 s"),
    ("internet-leung1998", "20 s"),
];

/// Run of the library's scenario over QUIC.
const QUIC: &str = "scenario_mars-contacts";

/// Returns the names of all tables, `packets` among them.
fn all_tables() -> BTreeSet<&'static str> {
    farlink_sim::traces().iter().map(|t| t.table).collect()
}

/// Runs a request natively and returns its digest, or the message of its error.
fn native(request: &Value) -> String {
    let mut engine = Engine::default();
    if engine.start(&request.to_string()) != Status::Failed {
        while engine.step(0, 100_000) == Status::Running {}
        engine.finish(0);
    }
    let answer: Value = serde_json::from_str(engine.answer()).unwrap();
    let digest = answer["digest"].as_str().or(answer["message"].as_str());
    digest.unwrap().to_owned()
}

/// Runs named requests in WebAssembly and natively, and compares the digests.
fn compare(name: &str, requests: &[(String, Value)]) {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let wasm = env::var_os("FARLINK_WASM").map(PathBuf::from);
    let wasm = wasm.unwrap_or_else(|| web.join("public/engine.wasm.xz"));
    assert!(
        wasm.is_file(),
        "no {}: run make engine-wasm",
        wasm.display()
    );
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.json"));
    let list: Vec<_> = requests.iter().map(|(_, request)| request).collect();
    fs::write(&file, json!(list).to_string()).unwrap();
    let node = Command::new("node")
        .arg(web.join("tools/digests.mjs"))
        .args([&wasm, &file])
        .output()
        .expect("node");
    let errors = String::from_utf8_lossy(&node.stderr);
    assert!(node.status.success(), "{errors}");
    let output = String::from_utf8(node.stdout).unwrap();
    let in_wasm: Vec<_> = output.lines().collect();
    assert_eq!(in_wasm.len(), requests.len(), "{errors}");
    let wrong: Vec<_> = requests
        .iter()
        .zip(in_wasm)
        // The engine in WebAssembly has no QUIC, and says so.
        .filter(|((name, _), digest)| !(name == QUIC && digest.contains("this page has no QUIC")))
        .filter(|((_, request), digest)| native(request) != *digest)
        .map(|((name, _), digest)| format!("{name}: {digest}"))
        .collect();
    assert!(wrong.is_empty(), "differ: {wrong:#?}");
}

/// The runs that are recorded for the engine: of every TCP, application, channel, link protocol and
/// scenario.
#[test]
#[ignore = "needs make engine-wasm and node"]
fn recorded_runs_have_equal_digests() {
    let tables = all_tables();
    let requests = runs().into_iter().map(|run| {
        let request = json!({ "toml": run.text, "overrides": run.set, "tables": tables });
        (run.name, request)
    });
    compare("recorded", &requests.collect::<Vec<_>>());
}

/// Every scenario of the library under every TCP, without probes and with all tables but the largest.
#[test]
#[ignore = "needs make engine-wasm and node, and takes minutes"]
fn every_scenario_has_equal_digests_under_every_tcp() {
    let mut requests = Vec::new();
    let tables: Vec<_> = ["state", "marks", "drops", "control", "queue"].into();
    for (name, text) in scenario::library() {
        let large = LARGE.iter().find(|(large, _)| large == name);
        let overrides: Vec<_> = large
            .map(|(_, time)| ("duration", time))
            .into_iter()
            .collect();
        let none: &[&str] = &[];
        for (place, tcp) in tcps().iter().enumerate() {
            let tables = if place % 4 == 0 { &tables[..] } else { none };
            let request = json!({
                "toml": text, "tcp": tcp, "overrides": overrides, "tables": tables,
            });
            requests.push((format!("{name} {tcp}"), request));
        }
    }
    compare("library", &requests);
}
