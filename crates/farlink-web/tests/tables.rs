//! `web/src/generated/tables.json`: keys, TCPs, scenarios, traces and metrics, from the schema and the
//! registries that everything else is made from.
//!
//! The test fails if the file is not current; with `UPDATE_DOCS=1` in the environment it writes the
//! file instead.
#![allow(missing_docs)]

use farlink_sim::scenario;
use farlink_tcp::variant::VARIANTS;
use serde_json::{Map, Value, json};
use std::fs;

const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../web/src/generated/tables.json"
);

/// Type of the keys of a TCP, which occurs at six places and is listed below `tcp` alone.
const TCP: &str = "TcpSpec";

/// Keys below a type of the schema.
struct Keys<'a> {
    schema: &'a Value,
    rows: Vec<Value>,
    /// Types around the current one, so that a recursive type ends.
    around: Vec<String>,
}

impl Keys<'_> {
    /// Adds the keys of all tables that a value of this schema may be. `path` is that of the value.
    fn below(&mut self, path: &str, schema: &Value) {
        if let Some(name) = reference(schema) {
            let is_listed = name == TCP && path != "tcp";
            if is_listed || self.around.iter().any(|outer| outer == name) {
                return;
            }
            self.around.push(name.to_owned());
            self.below(path, &self.schema["$defs"][name]);
            self.around.pop();
            return;
        }
        for choice in alternatives(schema) {
            self.below(path, choice);
        }
        if schema["items"].is_object() {
            self.below(&join(path, "N"), &schema["items"]);
        }
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = join(path, key);
            if path == "resolved_tcp" {
                continue; // written by the engine
            }
            let row = self.row(&path, property);
            self.rows.push(row);
            self.below(&path, property);
        }
    }

    fn row(&self, path: &str, property: &Value) -> Value {
        let mut row = json!({ "path": path, "description": sentence(property) });
        let mut facts = Facts::default();
        self.collect(property, &mut facts);
        if let Some(unit) = facts.unit {
            row["unit"] = unit.into();
        }
        if !facts.choices.is_empty() {
            row["choices"] = facts.choices.into();
        }
        for bound in ["default", "minimum", "maximum"] {
            if !property[bound].is_null() {
                row[bound] = property[bound].clone();
            }
        }
        row
    }

    /// Collects what the values of a key look like.
    fn collect(&self, schema: &Value, facts: &mut Facts) {
        if let Some(name) = reference(schema) {
            self.collect(&self.schema["$defs"][name], facts);
            return;
        }
        if let Some(title) = schema["title"].as_str() {
            facts.unit.get_or_insert(title.to_owned());
        }
        let words = schema["enum"].as_array().into_iter().flatten();
        for word in words.chain([&schema["const"]]) {
            facts.choices.extend(word.as_str().map(str::to_owned));
        }
        let is_flag = match &schema["type"] {
            Value::Array(kinds) => kinds.contains(&"boolean".into()),
            kind => kind == "boolean",
        };
        if is_flag {
            facts
                .choices
                .extend(["true".to_owned(), "false".to_owned()]);
        }
        for choice in alternatives(schema) {
            self.collect(choice, facts);
        }
    }
}

/// Facts about the values of a key.
#[derive(Default)]
struct Facts {
    /// Kind of a value with a unit: "time", "rate", ...
    unit: Option<String>,
    choices: Vec<String>,
}

fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/$defs/")
}

fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["anyOf", "oneOf"].map(|key| &schema[key]);
    lists.into_iter().filter_map(Value::as_array).flatten()
}

fn join(path: &str, step: &str) -> String {
    if path.is_empty() {
        step.to_owned()
    } else {
        format!("{path}.{step}")
    }
}

fn sentence(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn keys() -> Vec<Value> {
    let schema: Value = serde_json::from_str(&scenario::schema()).unwrap();
    let mut keys = Keys {
        schema: &schema,
        rows: Vec::new(),
        around: Vec::new(),
    };
    keys.below("", &schema);
    let mut seen = Map::new();
    let mut rows = keys.rows;
    // Alternatives of one key, such as two kinds of tables, may share keys.
    rows.retain(|row| seen.insert(row["path"].to_string(), Value::Null).is_none());
    rows
}

/// Formats one row a line, so that a change is one line.
fn written(lists: &[(&str, Vec<Value>)]) -> String {
    let list = |(name, rows): &(&str, Vec<Value>)| {
        let rows: Vec<_> = rows.iter().map(|row| format!("    {row}")).collect();
        format!("  \"{name}\": [\n{}\n  ]", rows.join(",\n"))
    };
    let lists: Vec<_> = lists.iter().map(list).collect();
    format!("{{\n{}\n}}\n", lists.join(",\n"))
}

fn rows(list: impl serde::Serialize) -> Vec<Value> {
    match serde_json::to_value(list).unwrap() {
        Value::Array(rows) => rows,
        other => vec![other],
    }
}

#[test]
fn tables_of_the_page_are_current() {
    let scenarios = scenario::library().iter().map(|item| item.0.into());
    let tcps = VARIANTS
        .iter()
        .map(|row| json!({ "name": row.name, "summary": row.summary, "status": row.status() }));
    let fresh = written(&[
        ("keys", keys()),
        ("tcps", tcps.collect()),
        ("scenarios", scenarios.collect()),
        ("traces", rows(farlink_sim::traces())),
        ("metrics", rows(farlink_sim::metrics())),
        ("quantities", rows(farlink_sim::quantities())),
    ]);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(FILE, fresh).unwrap();
        return;
    }
    assert!(
        fs::read_to_string(FILE).unwrap_or_default() == fresh,
        "web/src/generated/tables.json is not current: run the tests with UPDATE_DOCS=1"
    );
}

#[test]
fn keys_have_paths_units_and_choices() {
    let keys = keys();
    let key = |path: &str| {
        let row = keys.iter().find(|row| row["path"] == path);
        row.unwrap_or_else(|| panic!("no {path}")).clone()
    };
    let delay = key("links.N.down.delay");
    assert_eq!(delay["unit"], "time");
    assert!(!delay["description"].as_str().unwrap().is_empty());
    assert!(
        key("agents.N.kind")["choices"]
            .as_array()
            .unwrap()
            .contains(&"snoop".into())
    );
    assert_eq!(key("seed")["default"], 1);
    key("links.N.down.channel.gilbert.loss");
    key("tcp.receive_window");
}
