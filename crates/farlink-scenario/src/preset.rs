//! Link presets: named links with their source, in `scenarios/presets.toml`.

use std::fmt::Write as _;
use std::sync::LazyLock;

use farlink_tcp::Interval;
use serde::{Deserialize, Serialize};

use super::arq::ArqSpec;
use super::bdp;
use super::decode::{Problem, suggestion};
use super::queue::QueueSpec;
use super::spec::DirectionTable;
use super::tree::{At, Entry, Node, Value};
use super::units::Scalar;

const TEXT: &str = include_str!("../../../scenarios/presets.toml");

/// Length of the packets by which a queue limit in packets is converted to bytes.
const FULL_PACKET: u64 = 1500;

/// The file of presets.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    preset: Vec<Preset>,
}

/// A named link.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Preset {
    name: String,
    description: String,
    /// Source of the values, and the values that are not from this source.
    source: String,
    /// Year of the source.
    date: String,
    down: DirectionTable,
    up: DirectionTable,
    /// Link protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arq: Option<ArqSpec>,
}

/// Preset with derived values.
#[derive(Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    preset: &'a Preset,
    /// Propagation delay of the direction down in seconds.
    one_way_delay_s: f64,
    /// Propagation delay of both directions together in seconds.
    rtt_s: f64,
    /// Bandwidth-delay product of the direction down, in bytes: rate times round-trip time.
    bdp_bytes: u64,
    /// Queue limit of the direction down in bytes; null if unlimited.
    buffer_bytes: Option<u64>,
    /// Queue limit divided by the bandwidth-delay product.
    buffer_bdp: Option<f64>,
}

/// Returns the presets as a JSON list: name, description, source, date and both directions. Derived
/// values of the direction down are the one-way delay (s), the round-trip time (s), the
/// bandwidth-delay product (bytes), and the queue limit (in bytes and in bandwidth-delay products).
/// A limit in packets is converted at 1500 bytes per packet.
pub fn presets_json() -> String {
    let presets = all();
    let listed: Vec<_> = presets.iter().map(list).collect();
    serde_json::to_string(&listed).unwrap_or_default()
}

/// Fills each link that names a preset with the preset's values.
pub(super) fn apply(tree: &mut Node) -> Result<(), Problem> {
    let Some(links) = tree.get_mut("links") else {
        return Ok(());
    };
    let links = links.elements_mut();
    if !links.iter().any(|link| link.get("preset").is_some()) {
        return Ok(());
    }
    let known = &*NODES;
    for (i, link) in links.iter_mut().enumerate() {
        // A name that is not a text is refused when the link is decoded.
        if let Some(name) = link.get_text("preset").map(str::to_owned) {
            let filled = fill(link, &name, known);
            let wrong =
                |message| Problem::new(["links".into(), i.into(), "preset".into()], message);
            filled.map_err(wrong)?;
        }
    }
    Ok(())
}

/// Adds the keys of the preset `name` that the link does not have. An error is a message about the
/// key `preset`.
fn fill(link: &mut Node, name: &str, known: &[Node]) -> Result<(), String> {
    let named = |node: &&Node| node.get_text("name") == Some(name);
    let Some(preset) = known.iter().find(named) else {
        let names = known.iter().filter_map(|node| node.get_text("name"));
        let names: Vec<_> = names.collect();
        let hint = suggestion(name, &names, "presets");
        return Err(format!("= {name:?} is not a preset; {hint}"));
    };
    let at = At::Preset(name.into());
    let mut added = 0;
    for key in ["down", "up", "arq"] {
        let Some(node) = preset.get(key) else {
            continue;
        };
        let mut node = moved(node, &at);
        // A trace of rates or a contact plan replaces the rate of the preset.
        if link
            .get(key)
            .is_some_and(|own| own.get("rate_trace").or(own.get("contacts")).is_some())
        {
            node.remove("rate");
        }
        let whole = ["queue", "mark", "fec", "channel", "background", "arq"];
        added += link.fill_from(&only(key, node), &whole);
    }
    if added == 0 {
        return Err("would be ignored; the link says all of it itself".into());
    }
    let mut source = format!("preset {name}");
    if let Some(text) = preset.get_text("source") {
        let _ = write!(source, ": {text}");
    }
    let value = Value::Scalar(Scalar::Text(source));
    link.fill_from(&only("source", Node { at, value }), &[]);
    Ok(())
}

/// Returns a table with one key.
fn only(key: &str, node: Node) -> Node {
    let at = node.at.clone();
    let entry = Entry {
        key: key.to_owned(),
        at: at.clone(),
        node,
    };
    Node {
        at,
        value: Value::Table(vec![entry]),
    }
}

/// Returns a copy of the values whose place is `at`.
fn moved(node: &Node, at: &At) -> Node {
    let value = match &node.value {
        Value::Scalar(scalar) => Value::Scalar(scalar.clone()),
        Value::List(nodes) => Value::List(nodes.iter().map(|node| moved(node, at)).collect()),
        Value::Table(entries) => Value::Table(
            entries
                .iter()
                .map(|entry| Entry {
                    key: entry.key.clone(),
                    at: at.clone(),
                    node: moved(&entry.node, at),
                })
                .collect(),
        ),
    };
    Node {
        at: at.clone(),
        value,
    }
}

/// Presets of the file, which is compiled into the program. A sweep resolves thousands of scenarios,
/// and the file is ten times as long as one of them, so it is parsed once.
static NODES: LazyLock<Vec<Node>> = LazyLock::new(|| {
    let tree = Node::from_toml(TEXT).unwrap_or_else(|_| Node::empty(At::Nowhere));
    match tree.get("preset").map(|node| &node.value) {
        Some(Value::List(nodes)) => nodes.clone(),
        _ => Vec::new(),
    }
});

fn all() -> Vec<Preset> {
    Node::from_toml(TEXT)
        .ok()
        .and_then(|tree| File::deserialize(&tree).ok())
        .map_or_else(Vec::new, |file| file.preset)
}

fn list(preset: &Preset) -> Listed<'_> {
    let seconds = |table: &DirectionTable| table.delay.map_or(0.0, |delay| delay.0.as_secs_f64());
    let one_way_delay_s = seconds(&preset.down);
    let rtt_s = one_way_delay_s + seconds(&preset.up);
    let bdp = preset
        .down
        .rate
        .map_or(0.0, |rate| rate.0 as f64 / 8.0 * rtt_s);
    let round_trip = preset.down.delay.map_or(Interval::ZERO, |down| {
        down.0 + preset.up.delay.map_or(Interval::ZERO, |up| up.0)
    });
    let limit = preset.down.rate.map_or(preset.down.queue, |rate| {
        bdp::in_bytes(preset.down.queue, rate, round_trip)
    });
    let buffer_bytes = match limit {
        QueueSpec::Packets(n) => Some(u64::from(n) * FULL_PACKET),
        QueueSpec::Bytes(n) => Some(n),
        QueueSpec::Unlimited | QueueSpec::Bdp { .. } | QueueSpec::Time(_) => None,
    };
    let buffer_bdp = buffer_bytes
        .filter(|_| bdp > 0.0)
        .map(|bytes| bytes as f64 / bdp);
    Listed {
        preset,
        one_way_delay_s,
        rtt_s,
        bdp_bytes: bdp as u64,
        buffer_bytes,
        buffer_bdp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_presets_is_sound() {
        let tree = Node::from_toml(TEXT).unwrap();
        let file = File::deserialize(&tree).unwrap();
        for preset in &file.preset {
            assert!(
                preset.source.len() > 20,
                "{} says too little of its source",
                preset.name
            );
            for table in [&preset.down, &preset.up] {
                assert!(
                    table.rate.is_some() && table.delay.is_some(),
                    "{}",
                    preset.name
                );
            }
            assert_eq!(
                file.preset.iter().filter(|p| p.name == preset.name).count(),
                1
            );
        }
    }

    #[test]
    fn derived_values_are_arithmetic() {
        let presets: serde_json::Value = serde_json::from_str(&presets_json()).unwrap();
        let geo = presets
            .as_array()
            .and_then(|list| list.iter().find(|p| p["name"] == "geo-omueti2007"))
            .unwrap();
        assert_eq!(geo["one_way_delay_s"], 0.25);
        assert_eq!(geo["rtt_s"], 0.5);
        // 2048 kbit/s for half a second.
        assert_eq!(geo["bdp_bytes"], 128_000);
        assert_eq!(geo["down"]["rate"], "2048 kbit/s");
    }
}
