//! No result changes: a run of every TCP, application, channel, link protocol and so on has the
//! recorded results, bit by bit.
//!
//! `recorded/digests.txt` has a line for each run: its name, the digest of its metrics, traces and
//! captures, the time of its end, and the number of packets that its links sent. The digest covers
//! the metrics and columns that the head of the file names, so new ones change nothing.
//! `UPDATE_RECORDED=1 cargo test -p farlink-sim --test recorded` writes the lines with these names
//! again, `UPDATE_RECORDED=names` with all current names.
#![allow(missing_docs)]

#[path = "recorded/links.rs"]
mod links;
#[path = "recorded/packets.rs"]
mod packets;
#[path = "recorded/pieces.rs"]
mod pieces;
#[path = "recorded/runs.rs"]
mod runs;
#[path = "recorded/tables.rs"]
mod tables;

use farlink_sim::{
    Column, Monitor, Outcome, RunError, Scope, Trace, TraceOptions, drop_causes, frame_kinds,
    limits, metrics, scenario, trace,
};
use farlink_tcp::Mark;
use runs::{Run, runs, tcps};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded/digests.txt");

const SCOPES: [(Scope, &str); 3] = [
    (Scope::Flow, "flow"),
    (Scope::Link, "link"),
    (Scope::Run, "run"),
];

/// Names of metrics by their scope, and names of columns by their table.
type Names = BTreeMap<String, Vec<String>>;

/// Returns the names that the head of the file covers.
fn covered(file: &str) -> Names {
    let lines = file
        .lines()
        .filter_map(|line| line.strip_prefix("# covers "));
    let named = lines.filter_map(|line| line.split_once(": "));
    named
        .map(|(of, names)| {
            let names = names.split(' ').map(str::to_owned).collect();
            (of.to_owned(), names)
        })
        .collect()
}

/// Returns all names that exist now.
fn all_names(traced: &Trace) -> Names {
    let measures = SCOPES.map(|(scope, name)| {
        let all = metrics().iter().filter(|m| m.scope == scope);
        (
            format!("measures of a {name}"),
            all.map(|m| m.name.clone()).collect(),
        )
    });
    let columns = traced.tables.iter().map(|table| {
        let names = table.columns.iter().map(|(name, _)| (*name).to_owned());
        (format!("columns of {}", table.name), names.collect())
    });
    measures.into_iter().chain(columns).collect()
}

/// FNV-1a of 64 bits (Fowler, Noll and Vo; RFC 9923).
struct Digest(u64);

impl Digest {
    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
        self.bytes(&[0]);
    }
}

/// Adds the cells of a column to the digest: numbers, or the names that they stand for.
fn cells(digest: &mut Digest, table: &str, name: &str, column: &Column) {
    let numbers = match column {
        Column::F64(v) => v.iter().map(|x| x.to_bits()).collect(),
        other => other.numbers(),
    };
    let words = match (table, name) {
        ("drops", "cause") => drop_causes(),
        ("limits", "limit") => limits(),
        ("marks", "kind") => Mark::ALL.map(Mark::name).to_vec(),
        ("frames", "frame") => frame_kinds(),
        _ => Vec::new(),
    };
    for number in numbers {
        match words.get(number as usize) {
            Some(word) => digest.text(word),
            None => digest.bytes(&number.to_le_bytes()),
        }
    }
}

/// Returns the values of `scope`, each row in the order of `names`.
fn measured(outcome: &Outcome, scope: Scope, names: &[String]) -> Vec<Vec<f64>> {
    let all: Vec<_> = metrics().iter().filter(|m| m.scope == scope).collect();
    let at: Vec<_> = names
        .iter()
        .map(|name| all.iter().position(|m| m.name == *name))
        .map(|place| place.expect("a recorded measure is not there any more"))
        .collect();
    let rows = outcome.values(scope).into_iter();
    rows.map(|row| at.iter().map(|&i| row[i]).collect())
        .collect()
}

fn digest(traced: &Trace, names: &Names) -> u64 {
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    for (scope, name) in SCOPES {
        let names = &names[&format!("measures of a {name}")];
        for row in measured(&traced.outcome, scope, names) {
            for (name, value) in names.iter().zip(row) {
                digest.text(name);
                let bits = if value.is_nan() {
                    u64::MAX
                } else {
                    value.to_bits()
                };
                digest.bytes(&bits.to_le_bytes());
            }
        }
    }
    for (of, columns) in names {
        let Some(name) = of.strip_prefix("columns of ") else {
            continue;
        };
        let table = traced.tables.iter().find(|table| table.name == name);
        let table = table.expect("a recorded table is not there any more");
        for wanted in columns {
            let column = table.columns.iter().find(|(name, _)| name == wanted);
            let (_, column) = column.expect("a recorded column is not there any more");
            digest.text(wanted);
            cells(&mut digest, name, wanted, column);
        }
    }
    for (node, bytes) in &traced.captures {
        digest.text(node);
        digest.bytes(bytes);
    }
    digest.0
}

fn play(run: &Run) -> Result<Trace, String> {
    let scenario = scenario::load(&run.text, "recorded", &run.set).and_then(|s| s.expand());
    let scenario = scenario.map_err(|e| e.to_string())?;
    // The captures have the headers of packets, because the rest is zeros. Some fragments cannot be
    // captured.
    let mut options = TraceOptions {
        packets: true,
        ..TraceOptions::capturing(96)
    };
    let mut traced = trace(&scenario, 0, &options, &Monitor::default());
    if let Err(RunError::Build(why)) = &traced
        && why.contains("cannot be captured")
    {
        options.snaplen = None;
        traced = trace(&scenario, 0, &options, &Monitor::default());
    }
    traced.map_err(|e| e.to_string())
}

/// Formats the line of a run.
fn line(run: &Run, names: &Names) -> String {
    let traced = play(run).unwrap_or_else(|why| panic!("{}: {why}", run.name));
    let packets = measured(&traced.outcome, Scope::Link, &["packets".to_owned()]);
    let packets: f64 = packets.iter().flatten().sum();
    let ended = traced.outcome.simulated.as_nanos();
    let digest = digest(&traced, names);
    format!("{} {digest:016x} {ended} {packets}", run.name)
}

/// Returns the lines of all runs, in order, computed on all cores.
fn lines(runs: &[Run], names: &Names) -> Vec<String> {
    for_each(runs, |run| line(run, names))
}

/// Calls `of` for all runs on all cores, and returns the texts in the order of the runs.
fn for_each(runs: &[Run], of: impl Fn(&Run) -> String + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let lines = Mutex::new(vec![String::new(); runs.len()]);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((i, run)) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    runs.get(i).map(|run| (i, run))
                } {
                    let line = of(run);
                    lines.lock().unwrap()[i] = line;
                }
            });
        }
    });
    lines.into_inner().unwrap()
}

#[test]
fn no_result_changed() {
    let runs = runs();
    let file = std::fs::read_to_string(FILE).unwrap_or_default();
    let update = std::env::var("UPDATE_RECORDED").unwrap_or_default();
    let names = if update == "names" {
        all_names(&play(&runs[0]).unwrap())
    } else {
        covered(&file)
    };
    let measured = lines(&runs, &names);
    if !update.is_empty() {
        let mut text = "# Made by the tests of farlink-sim: run, digest of its measures, traces and captures,\n\
                        # nanoseconds at its end, packets that its links sent. See ../recorded.rs.\n"
            .to_owned();
        for (of, names) in &names {
            let _ = writeln!(text, "# covers {of}: {}", names.join(" "));
        }
        text += &(measured.join("\n") + "\n");
        std::fs::write(FILE, text).unwrap();
        return;
    }
    let recorded: Vec<_> = file.lines().filter(|line| !line.starts_with('#')).collect();
    let (was, is): (BTreeSet<_>, BTreeSet<_>) = (
        recorded.into_iter().collect(),
        measured.iter().map(String::as_str).collect(),
    );
    let changed: Vec<_> = was
        .difference(&is)
        .map(|line| format!("- {line}"))
        .collect();
    let new = is.difference(&was).map(|line| format!("+ {line}"));
    let all: Vec<_> = changed.into_iter().chain(new).collect();
    assert!(
        all.is_empty(),
        "{} lines are not as recorded (name, digest, ns, packets):\n{}",
        all.len(),
        all.join("\n")
    );
}

#[test]
fn packets_agree_with_the_other_tables() {
    let runs = runs();
    for_each(&runs, |run| {
        let traced = play(run).unwrap_or_else(|why| panic!("{}: {why}", run.name));
        packets::check(&run.name, &traced);
        String::new()
    });
}

#[test]
fn pieces_are_the_tables_of_a_whole_trace() {
    let runs = runs();
    for_each(&runs, |run| {
        pieces::check(run, 50);
        String::new()
    });
}

/// The recorded scenarios contain every quoted word and every key of a stage in the schema.
#[test]
fn everything_that_the_tables_list_is_recorded() {
    let runs = runs();
    let names: Vec<_> = runs.iter().map(|run| run.name.as_str()).collect();
    assert_eq!(
        names.iter().collect::<BTreeSet<_>>().len(),
        names.len(),
        "a name stands twice"
    );
    for tcp in tcps() {
        let of_it = names
            .iter()
            .filter(|name| name.starts_with(&format!("tcp_{tcp}_")));
        assert_eq!(of_it.count(), 5, "{tcp}");
    }
    let entry: Vec<_> = runs
        .iter()
        .flat_map(|run| run.set.iter().map(|(_, value)| format!("\"{value}\"")))
        .chain(runs.iter().map(|run| run.text.clone()))
        .collect();
    let schema: Value = serde_json::from_str(&scenario::schema()).unwrap();
    let mut words = BTreeSet::new();
    choices(&schema, &mut words);
    assert!(
        words.contains("telnet") && words.contains("csma-ca"),
        "{words:?}"
    );
    words.retain(|word| {
        !entry
            .iter()
            .any(|text| text.contains(&format!("\"{word}\"")))
    });
    // Words of defaults.
    let usual = [
        "off",
        "pass",
        "departure",
        "full",
        "plain",
        "safe-ack",
        "congestion",
        "immediate",
        "echo",
        "rfc6298",
        "flight",
        "one-per-rtt",
        "rfc",
        "linux",
        "freebsd",
        // Runs of QUIC depend on versions of its crates; tests/quic.rs compares two runs.
        "quic",
        // A class that the command names.
        "python",
    ];
    words.retain(|word| !usual.contains(&word.as_str()));
    assert!(words.is_empty(), "not recorded: {words:?}");
    let stages = schema["$defs"]["ChannelSpec"]["properties"]
        .as_object()
        .unwrap();
    for stage in stages.keys() {
        let written = format!("{stage} = ");
        assert!(
            entry.iter().any(|text| text.contains(&written)),
            "{stage} is not recorded"
        );
    }
}

/// Collects the words that are values of some key.
fn choices(schema: &Value, words: &mut BTreeSet<String>) {
    match schema {
        Value::Object(all) => {
            words.extend(all.get("const").and_then(Value::as_str).map(str::to_owned));
            all.values().for_each(|item| choices(item, words));
        }
        Value::Array(all) => all.iter().for_each(|item| choices(item, words)),
        _ => {}
    }
}
