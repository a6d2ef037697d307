//! The tables of `docs/scenario.md`, generated from the schema.
//!
//! The test fails if the file is not current. With `UPDATE_DOCS=1` in the environment the test
//! writes the file instead.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use farlink_tcp::config::{RtoAlgorithm, SavedPath};
use farlink_tcp::key::{self, Field, Key, Value};
use farlink_tcp::variant;
use serde_json::{Value as Json, json};

use super::{tcp, value};

const BEGIN: &str = "<!-- begin: made from the schema by the tests of farlink-scenario -->\n";
const END: &str = "<!-- end -->\n";

/// Heading, type in the schema, and text above the table.
const SECTIONS: &[(&str, &str, &str)] = &[
    ("Top level", "", ""),
    ("`[tcp]`", "TcpSpec", TCP),
    (
        "`[tcp.quic]`",
        "QuicTable",
        "For `profile = \"quic\"`. See `docs/quic.md`.",
    ),
    ("`[[links]]`", "LinkSpec", ""),
    ("`[links.down]`, `[links.up]`", "DirectionTable", ""),
    (
        "`queue = { ... }`, `mark = { ... }`",
        "QueueTable",
        "One of `packets`, `bytes`, `bdp` and `time`, or `\"unlimited\"`, which for `mark` is none.",
    ),
    (
        "`fec = { ... }`",
        "FecSpec",
        "`code`, or `n` and `k`. See `docs/fec.md`.",
    ),
    (
        "`discipline = { ... }`",
        "DisciplineTable",
        "Or its method alone, `\"fq-codel\"`. See `docs/queues.md`.",
    ),
    (
        "`class = { ... }`, `source = { ... }`",
        "ClassText",
        "Written by the command from the name of a class: `--set links.satellite.down.discipline=drop.py:Dropper`. See `docs/learn/queue-and-traffic.md`.",
    ),
    (
        "`classes = [{ ... }]`",
        "ClassSpec",
        "In the order in which they are sent. See `docs/queues.md`.",
    ),
    ("`background = [{ ... }]`", "BackgroundSpec", ""),
    (
        "`rate_trace = { ... }`",
        "RateTraceTable",
        "Or a rate such as `\"12 Mbit/s\"`. Formats: `docs/channels/traces.md`.",
    ),
    (
        "`contacts = { ... }`",
        "ContactsSpec",
        "Formats: `docs/channels/contacts.md`.",
    ),
    ("`channel = { ... }`", "ChannelSpec", ""),
    ("`rayleigh = { ... }`", "RayleighSpec", ""),
    ("`radio = { ... }`", "RadioSpec", ""),
    ("`mobility = { ... }`", "MobilitySpec", ""),
    ("`loss_trace = { ... }`", "LossTraceSpec", ""),
    ("`delay_trace = { ... }`", "DelayTraceSpec", ""),
    ("`orbit = { ... }`", "OrbitSpec", ""),
    ("`reconfiguration = { ... }`", "ReconfigurationSpec", ""),
    ("`gilbert = { ... }`", "GilbertSpec", ""),
    ("`reorder = { ... }`", "ReorderSpec", ""),
    ("`jitter = { ... }`", "JitterSpec", ""),
    ("`satellite = { ... }`", "SatelliteSpec", ""),
    ("`mobile = { ... }`", "MobileSpec", ""),
    ("`congestion = { ... }`", "CongestionSpec", ""),
    ("`byte_errors = { ... }`", "ByteErrorsSpec", ""),
    ("`outage = { ... }`", "OutageSpec", ""),
    ("`scripted_loss = { ... }`", "ScriptedLossSpec", ""),
    ("`internet_delay = { ... }`", "InternetDelaySpec", ""),
    ("`raised = [{ ... }]` of `internet_delay`", "RaisedSpec", ""),
    ("`[links.arq]`", "ArqSpec", ""),
    ("`mac = { ... }`", "MacSpec", ""),
    (
        "`header_compression = { ... }`",
        "CompressionTable",
        "Or its method alone, `\"rfc1144\"`. See `docs/header-compression.md`.",
    ),
    ("`[[routes]]`", "RouteSpec", ""),
    (
        "`[[agents]]`",
        "AgentSpec",
        "Kinds and their use: `docs/agents.md`.",
    ),
    (
        "`satellite_xtp = { ... }` of an agent",
        "XtpHalfSpec",
        "Proxies with XTP between them: `docs/agents/pep.md`.",
    ),
    (
        "`satellite_stp = { ... }` of an agent",
        "StpHalfSpec",
        "Proxies with STP between them: `docs/stp.md`.",
    ),
    (
        "`[[handoffs]]`",
        "HandoffSpec",
        "Effect of a handoff: `docs/agents/handoff.md`.",
    ),
    (
        "`[[hosts]]`",
        "HostSpec",
        "Delay of packets inside a host: `docs/channel-tools.md`.",
    ),
    ("`jitter = { ... }` of a host", "HostJitterSpec", ""),
    ("`[[flows]]`", "FlowSpec", ""),
    (
        "`multipath = { ... }` of a flow",
        "MultipathSpec",
        "Connections over several paths: `docs/multipath.md`.",
    ),
    ("`paths = [{ ... }]` of `multipath`", "PathSpec", ""),
    (
        "A time that is drawn: `{ distribution = ... }`",
        "TimeDistributionTable",
        DISTRIBUTION,
    ),
    ("A size that is drawn", "SizeDistributionTable", ""),
];

const DISTRIBUTION: &str = "Where a key of a flow takes a time or a distribution, it takes `\"10 s\"` or such a \
                   table.";

const TCP: &str = "In `[tcp]` for every flow, and in `tcp = { ... }` of a flow for that one. Without \
                   a key the value is that of the row of the variant; the default shown is that of \
                   `sack`, or of the standard where `sack` has no such parameter.";

fn tables() -> String {
    let schema: Json = serde_json::from_str(&super::schema()).unwrap();
    let mut out = String::new();
    for &(heading, name, above) in SECTIONS {
        let table = if name.is_empty() {
            &schema
        } else {
            &schema["$defs"][name]
        };
        let _ = writeln!(out, "\n### {heading}\n");
        if !above.is_empty() {
            let _ = writeln!(out, "{above}\n");
        }
        out.push_str("| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
        let required = table["required"].as_array().cloned().unwrap_or_default();
        let mut choices = String::new();
        for (key, property) in in_order(name, table) {
            let default = if required.contains(&Json::from(key.as_str())) {
                "required".to_owned()
            } else if name == "TcpSpec" {
                tcp_default(&key)
            } else {
                plain_default(&property)
            };
            let (kind, list) = match key::lookup(&key) {
                Some(key) if name == "TcpSpec" => tcp_value(key),
                _ => kind(&schema, &property),
            };
            let meaning = sentence(&property);
            let _ = writeln!(out, "| `{key}` | {kind} | {default} | {meaning} |");
            for (choice, meaning) in list {
                let _ = writeln!(choices, "- `{key} = \"{choice}\"`: {meaning}");
            }
        }
        if !choices.is_empty() {
            let _ = write!(out, "\n{choices}");
        }
    }
    out
}

/// Returns the properties in the order of the type, because a JSON object has no order.
fn in_order(name: &str, table: &Json) -> Vec<(String, Json)> {
    let properties = table["properties"].as_object().unwrap();
    if name == "TcpSpec" {
        let keys = tcp::names().iter();
        return keys
            .map(|&key| (key.to_owned(), properties[key].clone()))
            .collect();
    }
    let name = if name.is_empty() { "Scenario" } else { name };
    let defines = |text: &String| {
        let (_, rest) = text.split_once(&format!("struct {name} "))?;
        Some(rest.split_once('{')?.1.to_owned())
    };
    let body = sources().iter().find_map(defines).unwrap();
    let place = |key: &str| {
        let keys = [format!(" {key}: "), format!(" {key}?: ")];
        keys.iter().filter_map(|key| body.find(key)).min()
    };
    let mut out: Vec<_> = properties
        .iter()
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    out.sort_by_key(|(key, _)| place(key));
    out
}

/// Returns the source texts of the crate, which have the keys in order.
fn sources() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut out = Vec::new();
    for folder in [folder.join("process"), folder] {
        let files = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let texts = files.filter(|path| path.extension().is_some_and(|e| e == "rs"));
        out.extend(texts.map(|path| fs::read_to_string(path).unwrap()));
    }
    out
}

fn plain_default(property: &Json) -> String {
    match &property["default"] {
        Json::Null => "none".to_owned(),
        Json::Object(table) if table.is_empty() => "none".to_owned(),
        Json::Array(list) if list.is_empty() => "none".to_owned(),
        other => format!("`{other}`"),
    }
}

/// Returns the default of a TCP key: its value in `sack`, or in the first variant that has the key.
/// If no variant has it, a timer with the key is tried.
fn tcp_default(name: &str) -> String {
    let Some(key) = key::lookup(name) else {
        let shown = match name {
            "variant" => "sack",
            "profile" => "rfc",
            "congestion" => "reno",
            _ => return "none".to_owned(),
        };
        return format!("`{shown:?}`");
    };
    let mut rows: Vec<_> = variant::VARIANTS.iter().collect();
    rows.sort_by_key(|row| row.name != "sack");
    for row in rows {
        let config = (row.config)();
        let mut timed = config.clone();
        timed.rto.algorithm = RtoAlgorithm::of(Value::Choice("jacobson"));
        timed.window.resume = Some(SavedPath::default());
        if let Some(value) = key.get(&config).or_else(|| key.get(&timed)) {
            return format!("`{}`", json!(value::write(value)));
        }
    }
    "none".to_owned()
}

/// Returns the values that a key of the table may have, and the meanings of its words.
fn tcp_value(key: &Key) -> (String, Vec<(String, String)>) {
    let words = key.kind.words().iter().filter(|word| !word.1.is_empty());
    let list: Vec<_> = words
        .map(|word| (word.0.to_owned(), one_line(word.1)))
        .collect();
    if list.is_empty() {
        (value::wanted(key.kind), list)
    } else {
        ("one of the choices below".to_owned(), list)
    }
}

fn sentence(schema: &Json) -> String {
    one_line(schema["description"].as_str().unwrap_or_default())
}

fn one_line(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}

/// Returns the allowed values of a key, and the meanings of its choices.
fn kind(schema: &Json, property: &Json) -> (String, Vec<(String, String)>) {
    if let Some(title) = property["title"].as_str() {
        return (title.to_owned(), Vec::new());
    }
    if let Some(name) = property["$ref"]
        .as_str()
        .and_then(|r| r.strip_prefix("#/$defs/"))
    {
        return kind(schema, &schema["$defs"][name]);
    }
    for key in ["anyOf", "oneOf"] {
        let Some(list) = property[key].as_array() else {
            continue;
        };
        let choices: Vec<_> = list
            .iter()
            .filter_map(|c| Some((c["const"].as_str()?.to_owned(), sentence(c))))
            .collect();
        if !choices.is_empty() {
            return ("one of the choices below".to_owned(), choices);
        }
        return kind(schema, &list[0]);
    }
    let of = match &property["type"] {
        Json::Array(kinds) => kinds[0].as_str(),
        item => item.as_str(),
    };
    let text = match of {
        Some("string") => "text",
        Some("integer") => "whole number",
        Some("number") => "number",
        Some("boolean") => "true or false",
        Some("array") if property["items"]["type"] == "integer" => "list of whole numbers",
        Some("array") if property["minItems"] == 2 => "list of two texts",
        Some("array") => "list of tables",
        _ => "table",
    };
    (text.to_owned(), Vec::new())
}

#[test]
fn the_reference_is_current() {
    let page = include_str!("../../../docs/scenario.md");
    let (head, rest) = page.split_once(BEGIN).expect("a begin mark");
    let (_, tail) = rest.split_once(END).expect("an end mark");
    let fresh = format!("{head}{BEGIN}{}\n{END}{tail}", tables());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario.md");
        fs::write(path, &fresh).unwrap();
    } else {
        assert!(
            page == fresh,
            "docs/scenario.md is not current: run the tests with UPDATE_DOCS=1"
        );
    }
}

#[test]
fn the_example_of_the_reference_loads() {
    let page = include_str!("../../../docs/scenario.md");
    let example = page
        .split("```toml\n")
        .nth(1)
        .and_then(|s| s.split("```").next())
        .unwrap();
    let scenario = super::load(example, "scenario.md", &[]).unwrap();
    assert_eq!(scenario.expand().unwrap().flows.len(), 1);
}
