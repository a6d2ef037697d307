//! The facts of `docs/tcp/`, generated from the table of variants: a block in the page of each
//! variant, and the list of all variants.
//!
//! The tests fail if a page is missing or not current. With `UPDATE_DOCS=1` in the environment they
//! write the blocks instead. Only the text between the marks is generated; authors write the rest.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use farlink_tcp::profile::{PROFILES, Profile};
use farlink_tcp::variant::{self, VARIANTS, Variant};
use farlink_tcp::{Config, congestion};
use serde_json::{Map, Value};

use super::tcp::TcpSpec;
use super::value;

const BEGIN: &str =
    "<!-- begin: made from the table of variants by the tests of farlink-scenario -->\n";
const END: &str = "<!-- end -->\n";

fn pages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tcp")
}

/// Returns every key of the variant's TCP, as in a scenario.
fn keys(row: &Variant) -> Map<String, Value> {
    shown(row.name, &(row.config)())
}

fn shown(name: &str, config: &Config) -> Map<String, Value> {
    match serde_json::to_value(TcpSpec::from_config(name, config)) {
        Ok(Value::Object(keys)) => keys,
        other => panic!("{name}: {other:?}"),
    }
}

/// Returns name, source, status, the choice on each axis, parameters and figure.
fn facts(row: &Variant) -> String {
    let config = (row.config)();
    let keys = keys(row);
    let word = |key: &str| keys.get(key).map_or(String::new(), plain);
    let algorithm = config.congestion.algorithm();
    let mut out = String::from("\n| | |\n| --- | --- |\n");
    let mut line = |what: &str, text: &str| {
        let _ = writeln!(out, "| {what} | {} |", text.replace('|', "\\|"));
    };
    line("name", &format!("`{}`", row.name));
    line("summary", row.summary);
    line("source", row.source);
    line("status", &format!("**{}**", row.status()));
    line("recovery", &format!("`{}`", word("recovery")));
    line(
        "congestion control",
        &format!("`{}`: {}", algorithm.name, algorithm.summary),
    );
    line(
        "retransmission timer",
        &format!(
            "`{}`, at least {}, ticks of {}",
            word("timer"),
            word("rto_min"),
            word("rto_tick")
        ),
    );
    line("receiver", &receiver(&keys));
    if algorithm.parameters.is_empty() {
        out.push_str("\nThe congestion control has no parameters.\n");
    } else {
        let _ = writeln!(
            out,
            "\nParameters of the congestion control, in `[tcp.control.{}]`:\n\n| key | default | \
             values | meaning |\n| --- | --- | --- | --- |",
            algorithm.name
        );
        for (p, setting) in config.congestion.settings() {
            let default = serde_json::to_value(value::write(setting)).unwrap_or_default();
            let _ = writeln!(
                out,
                "| `{}` | `{default}` | {} | {} |",
                p.name,
                value::wanted(p.range),
                p.doc.replace('|', "\\|")
            );
        }
    }
    out.push_str(&differences(row, &keys));
    let picture = format!("img/{}.svg", row.name);
    if pages().join(&picture).exists() {
        let _ = writeln!(
            out,
            "\n![cwnd of {} on a GEO link, without losses and with a bit error rate of 1e-6]({picture})",
            row.name
        );
    }
    out.push('\n');
    out
}

/// Returns the keys of `[tcp]` in which a variant differs from `sack`, without the parameters of
/// the congestion control.
fn differences(row: &Variant, own: &Map<String, Value>) -> String {
    let Some(sack) = variant::lookup("sack").filter(|sack| sack.name != row.name) else {
        return String::new();
    };
    let sack = keys(sack);
    let list: Vec<_> = own
        .iter()
        .filter(|(key, value)| {
            !matches!(key.as_str(), "variant" | "control") && sack.get(*key) != Some(*value)
        })
        .map(|(key, value)| format!("`{key} = {value}`"))
        .collect();
    if list.is_empty() {
        return String::new();
    }
    format!(
        "\nKeys of `[tcp]` that are not as in `sack`: {}.\n",
        list.join(", ")
    )
}

fn receiver(keys: &Map<String, Value>) -> String {
    let on = |key: &str| keys.get(key) == Some(&Value::Bool(true));
    let mut parts = vec![if on("reassembly") {
        "keeps segments out of order"
    } else {
        "drops segments out of order"
    }];
    parts.push(if on("sack") { "SACK" } else { "no SACK" });
    parts.join(", ")
}

/// Formats a value for prose.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn list() -> String {
    let mut out =
        String::from("\n| row | summary | source | status |\n| --- | --- | --- | --- |\n");
    for row in VARIANTS {
        let _ = writeln!(
            out,
            "| [`{}`]({}.md) | {} | {} | {} |",
            row.name,
            row.name,
            row.summary,
            row.source,
            row.status()
        );
    }
    out.push('\n');
    out
}

/// Returns the values of the profiles, each with its source.
fn profiles() -> String {
    let mut out = String::new();
    for profile in PROFILES.iter().filter(|p| !p.values.is_empty()) {
        let names: Vec<_> = profile.names().iter().map(|n| format!("`{n}`")).collect();
        let _ = writeln!(
            out,
            "\n## {}\n\nIt is {}: {}. Its TCPs are {}; `{}` where none is named.\n\n| key | value | \
             from |\n| --- | --- | --- |",
            profile.name,
            profile.summary,
            profile.source,
            names.join(", "),
            profile.usual
        );
        for value in profile.values {
            let shown = value_of(profile, value);
            let _ = writeln!(
                out,
                "| `{}` | {shown} | {} |",
                value.key,
                value.source.replace('|', "\\|")
            );
        }
    }
    out.push('\n');
    out
}

/// Formats a value of a profile as in a scenario.
fn value_of(profile: &Profile, value: &farlink_tcp::profile::Value) -> String {
    let written = if value.parameter().is_some() {
        serde_json::to_value(value::write(value.value)).unwrap()
    } else {
        let config = profile.config(profile.usual).unwrap();
        shown(profile.usual, &config)[value.key].clone()
    };
    format!("`{written}`")
}

/// Returns the page with `block` between its marks; `None` if it has no marks.
fn with_block(page: &str, block: &str) -> Option<String> {
    let (head, rest) = page.split_once(BEGIN)?;
    let (_, tail) = rest.split_once(END)?;
    Some(format!("{head}{BEGIN}{block}{END}{tail}"))
}

/// Returns the page with marks after its heading.
fn with_marks(page: &str) -> String {
    let (heading, rest) = page.split_once('\n').unwrap_or((page, ""));
    format!("{heading}\n\n{BEGIN}{END}{rest}")
}

/// Pages that belong to no variant: the list, and options of many variants.
const OTHER_PAGES: &[&str] = &[
    "README",
    "undo",
    "rack-tlp",
    "autotuning",
    "fast-open",
    "ebsn",
    "ackp",
    "samples",
    "sack-timer",
    "profiles",
    "profiles-matrix",
    "starting",
];

/// Returns the fault of the page `file`. If `update` is set, writes the page instead.
fn fault(file: &str, block: &str, update: bool) -> Option<String> {
    let path = pages().join(file);
    let Ok(page) = fs::read_to_string(&path) else {
        return Some(format!("docs/tcp/{file} is missing"));
    };
    let fresh = with_block(&page, block);
    if update {
        let fresh = fresh.or_else(|| with_block(&with_marks(&page), block))?;
        fs::write(path, fresh).unwrap();
        return None;
    }
    match fresh {
        None => Some(format!("docs/tcp/{file} has no marks for its block")),
        Some(fresh) if fresh != page => Some(format!("docs/tcp/{file} is not current")),
        Some(_) => None,
    }
}

#[test]
fn every_row_has_a_current_page() {
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    let mut faults: Vec<_> = fault("README.md", &list(), update).into_iter().collect();
    faults.extend(fault("profiles.md", &profiles(), update));
    for row in VARIANTS {
        faults.extend(fault(&format!("{}.md", row.name), &facts(row), update));
    }
    assert!(
        faults.is_empty(),
        "{}\na person writes the page; UPDATE_DOCS=1 makes its block",
        faults.join("\n")
    );
}

#[test]
fn every_page_is_of_a_row_and_its_links_lead_somewhere() {
    for entry in fs::read_dir(pages()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "md") {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(
            OTHER_PAGES.contains(&&*name) || variant::lookup(&name).is_some(),
            "docs/tcp/{name}.md is not of a row of the table"
        );
        let page = fs::read_to_string(&path).unwrap();
        for link in page.split("](").skip(1).filter_map(|s| s.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            assert!(
                file.is_empty() || file.contains("://") || pages().join(file).exists(),
                "docs/tcp/{name}.md: {link} leads nowhere"
            );
        }
    }
}

/// A value of a profile sets the key after which it is named. With another value in the TCP, the
/// key still gives the value of the whole profile.
#[test]
fn every_value_of_a_profile_sets_its_key() {
    let mut contrary = (variant::lookup("tahoe").unwrap().config)();
    contrary.recovery = (variant::lookup("bbr").unwrap().config)().recovery; // with RACK
    contrary.receiver.sack = true;
    contrary.receiver.buffer_max = Some(1 << 20);
    for profile in PROFILES {
        let full = profile.config(profile.usual).unwrap();
        for value in profile.values {
            let mut alone = contrary.clone();
            if let Some((name, parameter)) = value.parameter() {
                let control = congestion::Control::new(congestion::lookup(name).unwrap());
                alone.congestion = profile.control(control);
                let mut all = alone.congestion.settings();
                assert!(all.any(|(p, now)| p.name == parameter && now == value.value));
                continue;
            }
            value.apply(&mut alone);
            let (alone, full) = (shown("sack", &alone), shown("sack", &full));
            assert!(
                full.contains_key(value.key),
                "{}: {}",
                profile.name,
                value.key
            );
            assert_eq!(alone.get(value.key), full.get(value.key), "{}", value.key);
        }
    }
}

#[test]
fn a_profile_has_each_key_once() {
    for profile in PROFILES {
        for (i, value) in profile.values.iter().enumerate() {
            let again = profile.values.iter().rposition(|v| v.key == value.key);
            assert_eq!(again, Some(i), "{} of {}", value.key, profile.name);
        }
    }
}

#[test]
fn a_block_replaces_the_text_between_its_marks() {
    let page = format!("# x\n{BEGIN}old\n{END}text\n");
    let fresh = with_block(&page, "new\n").unwrap();
    assert_eq!(fresh, format!("# x\n{BEGIN}new\n{END}text\n"));
    assert_eq!(with_block("# x\n", "new\n"), None);
    let marked = with_block(&with_marks("# x\n\ntext\n"), "new\n").unwrap();
    assert_eq!(marked, format!("# x\n\n{BEGIN}new\n{END}\ntext\n"));
}
