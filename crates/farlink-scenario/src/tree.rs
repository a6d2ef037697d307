//! Values of a scenario with the places where they were written.
//!
//! TOML text, JSON text, presets and overrides all become this tree. The message of a later fault
//! can therefore name the file and the line.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use toml_edit::{Document, Item, TableLike};

use super::units::Scalar;

/// Place where a value was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum At {
    /// Unknown, as for a Python dictionary.
    Nowhere,
    /// A line of the file, counted from 1.
    Line(usize),
    /// An override, with its text.
    Set(Arc<str>),
    /// A preset, by its name.
    Preset(Arc<str>),
}

/// Step of the path to a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// Formats a path, such as `links[0].down`.
pub(super) fn show(path: &[Step]) -> String {
    let mut out = String::new();
    for step in path {
        match step {
            Step::Key(key) if out.is_empty() => out.push_str(key),
            Step::Key(key) => {
                out.push('.');
                out.push_str(key);
            }
            Step::Index(i) => {
                let _ = write!(out, "[{i}]");
            }
        }
    }
    out
}

/// Maximum number of steps of an override's path, because longer paths only create nested tables.
const DEEPEST: usize = 64;

/// A value and its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) at: At,
    pub(super) value: Value,
}

/// A scalar, a list or a table.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Scalar(Scalar),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key of a table, with its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    /// Place of the key.
    pub(super) at: At,
    pub(super) node: Node,
}

impl Node {
    /// Returns a table without keys.
    pub(super) fn empty(at: At) -> Self {
        Self {
            at,
            value: Value::Table(Vec::new()),
        }
    }

    /// Parses TOML. An error has the line and the fault.
    pub(super) fn from_toml(text: &str) -> Result<Self, (At, String)> {
        let lines = Lines::of(text);
        let document = Document::parse(text).map_err(|fault| {
            let at = match fault.span() {
                Some(span) => lines.at(span.start),
                None => deepest_line(text),
            };
            (at, fault_line(fault.message()))
        })?;
        Ok(from_table(document.as_table(), At::Line(1), &|span| {
            lines.at(span)
        }))
    }

    /// Parses JSON. An error has the line and the fault.
    pub(super) fn from_json(text: &str) -> Result<Self, (At, String)> {
        serde_json::from_str(text).map_err(|fault| {
            let message = fault.to_string();
            // The place states the position, so the message need not repeat it.
            let message = message.split(" at line ").next().unwrap_or_default();
            (At::Line(fault.line()), fault_line(message))
        })
    }

    /// Returns the value of a key; `None` if this node is not a table or has no such key.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let Value::Table(entries) = &self.value else {
            return None;
        };
        entries
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| &entry.node)
    }

    /// As [`Self::get`], for changes.
    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        let Value::Table(entries) = &mut self.value else {
            return None;
        };
        entries
            .iter_mut()
            .find(|entry| entry.key == key)
            .map(|entry| &mut entry.node)
    }

    /// Returns the text of a key; `None` if the value is not a text.
    pub(super) fn get_text(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.value {
            Value::Scalar(Scalar::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the elements of a list; none for other values.
    pub(super) fn elements_mut(&mut self) -> &mut [Self] {
        match &mut self.value {
            Value::List(nodes) => nodes,
            _ => &mut [],
        }
    }

    /// Returns the place of the value at `path`, or of the deepest existing value that encloses it.
    pub(super) fn locate(&self, path: &[Step]) -> At {
        let mut at = self.at.clone();
        let mut node = self;
        for step in path {
            let next = match (step, &node.value) {
                (Step::Key(key), Value::Table(entries)) => entries
                    .iter()
                    .find(|entry| entry.key == *key)
                    .map(|e| (&e.at, &e.node)),
                (Step::Index(i), Value::List(nodes)) => nodes.get(*i).map(|n| (&n.at, n)),
                _ => None,
            };
            let Some((place, child)) = next else { break };
            if *place != At::Nowhere {
                at = place.clone();
            }
            node = child;
        }
        at
    }

    /// Adds the values of `base` that are absent here, table by table, and returns their number.
    /// Keys in `whole` are added only as a whole.
    pub(super) fn fill_from(&mut self, base: &Self, whole: &[&str]) -> usize {
        let (Value::Table(mine), Value::Table(theirs)) = (&mut self.value, &base.value) else {
            return 0;
        };
        let mut added = 0;
        for entry in theirs {
            match mine.iter_mut().find(|own| own.key == entry.key) {
                Some(own) if !whole.contains(&own.key.as_str()) => {
                    added += own.node.fill_from(&entry.node, whole);
                }
                Some(_) => {}
                None => {
                    mine.push(entry.clone());
                    added += 1;
                }
            }
        }
        added
    }

    /// Sets the value at a path such as `links.0.down.delay` or `links[0].down.delay`. An element
    /// of a list can also be named by its `name`, and a link without a name by its nodes with a
    /// hyphen. Tables that do not exist are created. The value `default` removes the key.
    pub(super) fn set(&mut self, path: &str, value: &str) -> Result<(), String> {
        let at = At::Set(format!("{path}={value}").into());
        let path = path.replace('[', ".").replace(']', "");
        let steps: Vec<&str> = path.split('.').map(str::trim).collect();
        if steps.iter().any(|step| step.is_empty()) {
            return Err("is not PATH=VALUE; write for example \"links.0.down.delay=300ms\"".into());
        }
        if steps.len() > DEEPEST {
            return Err(format!(
                "has {} steps; the deepest key of a scenario has fewer than {DEEPEST}",
                steps.len()
            ));
        }
        if value.trim() == "default" {
            return self.unset(&steps);
        }
        let mut node = self;
        let mut walked = String::new();
        for step in steps {
            node = node.child(step, &walked, &at)?;
            if !walked.is_empty() {
                walked.push('.');
            }
            walked.push_str(step);
        }
        *node = parse_value(value, &at);
        Ok(())
    }

    /// Removes the key at a path, so its default applies.
    fn unset(&mut self, steps: &[&str]) -> Result<(), String> {
        let missing = || {
            format!(
                "there is no {} to take away: it is what it is by default",
                steps.join(".")
            )
        };
        let (key, tables) = steps.split_last().ok_or_else(missing)?;
        let mut node = self;
        for step in tables {
            node = if let Value::List(nodes) = &node.value {
                let index = element(nodes, step).ok_or_else(missing)?;
                node.elements_mut().get_mut(index).ok_or_else(missing)?
            } else {
                node.get_mut(step).ok_or_else(missing)?
            };
        }
        node.get(key).ok_or_else(missing)?;
        node.remove(key);
        Ok(())
    }

    /// Removes a key from a table.
    pub(super) fn remove(&mut self, key: &str) {
        if let Value::Table(entries) = &mut self.value {
            entries.retain(|entry| entry.key != key);
        }
    }

    /// Adds a text to a table, with the place `at`.
    pub(super) fn put(&mut self, key: &str, at: &At, text: String) {
        if let Value::Table(entries) = &mut self.value {
            entries.push(Entry {
                key: key.to_owned(),
                at: at.clone(),
                node: Self {
                    at: at.clone(),
                    value: Value::Scalar(Scalar::Text(text)),
                },
            });
        }
    }

    /// Adds a copy of `down` as `up` to each link without `up`.
    pub(super) fn mirror_links(&mut self) {
        let Some(links) = self.get_mut("links") else {
            return;
        };
        for link in links.elements_mut() {
            if link.get("up").is_some() || link.get("preset").is_some() {
                continue;
            }
            let Some(down) = link.get("down").cloned() else {
                continue;
            };
            if let Value::Table(entries) = &mut link.value {
                let at = down.at.clone();
                entries.push(Entry {
                    key: "up".to_owned(),
                    at,
                    node: down,
                });
            }
        }
    }

    fn child(&mut self, step: &str, walked: &str, at: &At) -> Result<&mut Self, String> {
        if matches!(self.value, Value::Scalar(_)) {
            *self = Self::empty(at.clone());
        }
        match &mut self.value {
            Value::List(nodes) => {
                let index = element(nodes, step).ok_or_else(|| {
                    format!(
                        "{walked} has no element named {step:?}; write its number, counted from 0"
                    )
                })?;
                let count = nodes.len();
                nodes.get_mut(index).ok_or_else(|| match count {
                    0 => format!("{walked} is empty"),
                    1 => format!("{walked} has one element, number 0"),
                    n => format!("{walked} has {n} elements, numbers 0 to {}", n - 1),
                })
            }
            Value::Table(entries) => {
                let index = entries.iter().position(|entry| entry.key == step);
                let index = index.unwrap_or_else(|| {
                    let node = Self::empty(at.clone());
                    entries.push(Entry {
                        key: step.to_owned(),
                        at: at.clone(),
                        node,
                    });
                    entries.len() - 1
                });
                // Values below this one come from the override.
                entries[index].at = at.clone();
                Ok(&mut entries[index].node)
            }
            Value::Scalar(_) => unreachable!("made a table above"),
        }
    }
}

/// Finds an element of a list by its number, by its `name`, or by the default name of a link.
fn element(nodes: &[Node], step: &str) -> Option<usize> {
    let called = |node: &Node| match node.get_text("name") {
        Some(name) => name == step,
        None => match node.get("between").map(|between| &between.value) {
            Some(Value::List(ends)) => {
                let names = ends.iter().map(|end| match &end.value {
                    Value::Scalar(Scalar::Text(name)) => name.as_str(),
                    _ => "",
                });
                names.collect::<Vec<_>>().join("-") == step
            }
            _ => false,
        },
    };
    match step.parse() {
        Ok(index) => Some(index),
        Err(_) => nodes.iter().position(called),
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Json::deserialize(deserializer).map(|json| json.0.unwrap_or(Self::empty(At::Nowhere)))
    }
}

/// A JSON value; `None` for `null`.
struct Json(Option<Node>);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json(None))
    }

    fn visit_bool<E>(self, v: bool) -> Result<Json, E> {
        Ok(scalar(Scalar::Bool(v)))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Json, E> {
        Ok(scalar(Scalar::Integer(v.into())))
    }

    fn visit_u64<E>(self, v: u64) -> Result<Json, E> {
        Ok(scalar(Scalar::Integer(v.into())))
    }

    fn visit_f64<E>(self, v: f64) -> Result<Json, E> {
        Ok(scalar(Scalar::Float(v)))
    }

    fn visit_str<E>(self, v: &str) -> Result<Json, E> {
        Ok(scalar(Scalar::Text(v.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let mut nodes = Vec::new();
        while let Some(Json(node)) = list.next_element()? {
            nodes.push(node.ok_or_else(|| A::Error::custom("null in a list"))?);
        }
        Ok(Json(Some(Node {
            at: At::Nowhere,
            value: Value::List(nodes),
        })))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut entries: Vec<Entry> = Vec::new();
        while let Some((key, Json(node))) = map.next_entry::<String, Json>()? {
            if entries.iter().any(|entry| entry.key == key) {
                return Err(A::Error::custom(format!("duplicate key {key:?}")));
            }
            if let Some(node) = node {
                entries.push(Entry {
                    key,
                    at: At::Nowhere,
                    node,
                });
            }
        }
        Ok(Json(Some(Node {
            at: At::Nowhere,
            value: Value::Table(entries),
        })))
    }
}

fn scalar(value: Scalar) -> Json {
    Json(Some(Node {
        at: At::Nowhere,
        value: Value::Scalar(value),
    }))
}

fn from_table(table: &dyn TableLike, at: At, line: &dyn Fn(usize) -> At) -> Node {
    let entries = table
        .iter()
        .filter_map(|(key, item)| {
            let key_at = table
                .key(key)
                .and_then(toml_edit::Key::span)
                .map_or_else(|| at.clone(), |span| line(span.start));
            let node = from_item(item, &key_at, line)?;
            Some(Entry {
                key: key.to_owned(),
                at: key_at,
                node,
            })
        })
        .collect();
    Node {
        at,
        value: Value::Table(entries),
    }
}

fn from_item(item: &Item, around: &At, line: &dyn Fn(usize) -> At) -> Option<Node> {
    let at = item
        .span()
        .map_or_else(|| around.clone(), |span| line(span.start));
    Some(match item {
        Item::None => return None,
        Item::Value(value) => from_value(value, around, line),
        Item::Table(table) => from_table(table, at, line),
        Item::ArrayOfTables(tables) => {
            let nodes = tables
                .iter()
                .map(|table| {
                    let at = table
                        .span()
                        .map_or_else(|| at.clone(), |span| line(span.start));
                    from_table(table, at, line)
                })
                .collect();
            Node {
                at,
                value: Value::List(nodes),
            }
        }
    })
}

fn from_value(value: &toml_edit::Value, around: &At, line: &dyn Fn(usize) -> At) -> Node {
    use toml_edit::Value as Toml;
    let at = value
        .span()
        .map_or_else(|| around.clone(), |span| line(span.start));
    let value = match value {
        Toml::String(s) => Value::Scalar(Scalar::Text(s.value().clone())),
        Toml::Integer(n) => Value::Scalar(Scalar::Integer((*n.value()).into())),
        Toml::Float(x) => Value::Scalar(Scalar::Float(*x.value())),
        Toml::Boolean(b) => Value::Scalar(Scalar::Bool(*b.value())),
        Toml::Datetime(d) => Value::Scalar(Scalar::Text(d.value().to_string())),
        Toml::Array(list) => Value::List(list.iter().map(|v| from_value(v, &at, line)).collect()),
        Toml::InlineTable(table) => return from_table(table, at, line),
    };
    Node { at, value }
}

/// Parses the value of an override: TOML if it is valid, otherwise a text.
fn parse_value(text: &str, at: &At) -> Node {
    let text = text.trim();
    if !is_surely_text(text)
        && let Ok(document) = Document::parse(format!("value = {text}"))
        && document.as_table().len() == 1
        && let Some(item) = document.as_table().get("value")
        && let Some(node) = from_item(item, at, &|_| at.clone())
    {
        return node;
    }
    Node {
        at: at.clone(),
        value: Value::Scalar(Scalar::Text(text.to_owned())),
    }
}

/// Returns whether a value cannot be TOML: a word such as `unlimited`, or a number with its unit. The
/// overrides of sweeps mostly are, and the parser takes a fifth of the time that a point does.
fn is_surely_text(text: &str) -> bool {
    let is_word = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphabetic());
    if let Some((number, unit)) = text.split_once(' ') {
        return number.starts_with(|first: char| first.is_ascii_digit())
            && number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
            && unit.split('/').all(is_word);
    }
    is_word(text) && !["true", "false", "inf", "nan"].contains(&text)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a parser's error in one line. An error about the parser's limit of recursion becomes a
/// plain sentence.
fn fault_line(text: &str) -> String {
    if text.contains("recurs") {
        return "tables or lists are nested too deep to be read".to_owned();
    }
    one_line(text)
}

/// Finds the line with the most brackets and dots, for a parser that reports too deep nesting
/// without a line.
fn deepest_line(text: &str) -> At {
    let depth = |line: &str| line.matches(['.', '[', '{']).count();
    let lines = (1..).zip(text.lines());
    let deepest = lines.max_by_key(|(number, line)| (depth(line), std::cmp::Reverse(*number)));
    deepest.map_or(At::Nowhere, |(number, _)| At::Line(number))
}

/// Offsets at which the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(i, _)| i + 1).collect())
    }

    fn at(&self, offset: usize) -> At {
        At::Line(self.0.partition_point(|&start| start <= offset) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "seed = 1\n\n[[links]]\nname = \"sat\"\n[links.down]\nrate = \"1 kbit/s\"\n\
                        queue = { packets = 3 }\n";

    fn path(steps: &[&str]) -> Vec<Step> {
        steps
            .iter()
            .map(|s| {
                s.parse()
                    .map_or_else(|_| Step::from(*s), |i: usize| Step::from(i))
            })
            .collect()
    }

    /// Tries each text of up to five of these characters, and some longer texts.
    #[test]
    fn what_is_surely_text_is_no_toml() {
        let letters = ['1', '0', '.', ' ', 'e', 'x', '/', '-', '"'];
        let mut texts: Vec<String> = vec![String::new()];
        for start in 0..5 {
            let shorter: Vec<String> = texts.iter().filter(|t| t.len() == start).cloned().collect();
            texts.extend(
                shorter
                    .iter()
                    .flat_map(|t| letters.map(|c| format!("{t}{c}"))),
            );
        }
        let words = ["true", "false", "inf", "nan", "tru", "unlimited", "True"];
        let units = [
            "250 ms",
            "1.5 Mbit/s",
            "9 packets",
            "1979-05-27 07:32:00",
            "0xff",
            "1e6",
        ];
        texts.extend(words.iter().chain(&units).map(|&text| text.to_owned()));
        let mut count = 0;
        for text in texts.iter().filter(|text| is_surely_text(text)) {
            assert!(
                Document::parse(format!("value = {text}")).is_err(),
                "{text}"
            );
            count += 1;
        }
        assert!(count > 100, "{count}");
        for text in ["250 ms", "1.5 Mbit/s", "unlimited", "bbr"] {
            assert!(is_surely_text(text), "{text}");
        }
    }

    #[test]
    fn values_have_their_lines() {
        let tree = Node::from_toml(TEXT).unwrap();
        for (steps, line) in [
            (&["seed"][..], 1),
            (&["links", "0"], 3),
            (&["links", "0", "name"], 4),
            (&["links", "0", "down"], 5),
            (&["links", "0", "down", "delay"], 5),
            (&["links", "0", "down", "rate"], 6),
            (&["links", "0", "down", "queue", "packets"], 7),
        ] {
            assert_eq!(tree.locate(&path(steps)), At::Line(line), "{steps:?}");
        }
    }

    #[test]
    fn an_override_is_a_place_too() {
        let mut tree = Node::from_toml(TEXT).unwrap();
        tree.set("links[0].down.delay", "300ms").unwrap();
        tree.set("links.sat.up.channel.ber", "1e-6").unwrap();
        let at = |s: &str| At::Set(s.into());
        assert_eq!(
            tree.locate(&path(&["links", "0", "down", "delay"])),
            at("links[0].down.delay=300ms")
        );
        let ber = path(&["links", "0", "up", "channel", "ber"]);
        assert_eq!(tree.locate(&ber), at("links.sat.up.channel.ber=1e-6"));
        assert_eq!(
            tree.set("links.1.name", "x").unwrap_err(),
            "links has one element, number 0"
        );
        assert!(
            tree.set("links.moon.name", "x")
                .unwrap_err()
                .contains("no element named \"moon\"")
        );
        assert!(
            tree.set("links..name", "x")
                .unwrap_err()
                .contains("PATH=VALUE")
        );
    }

    #[test]
    fn syntax_errors_have_a_line() {
        let (at, _) = Node::from_toml("a = 1\nb = = 2\n").unwrap_err();
        assert_eq!(at, At::Line(2));
        let (at, text) = Node::from_json("{\n\"a\": 1,\n\"a\": 2}").unwrap_err();
        assert_eq!((at, text.as_str()), (At::Line(3), "duplicate key \"a\""));
    }

    #[test]
    fn deep_nesting_has_a_line_and_overflows_no_stack() {
        let key = format!("a = 1.5\nb = 2\n{}c = 1\n", "d.".repeat(100_000));
        let header = format!("\n\n[{}c]\n", "d.".repeat(100_000));
        let list = format!("\n\na = {}", "[".repeat(100_000));
        for text in [key, header, list] {
            let (at, message) = Node::from_toml(&text).unwrap_err();
            let expected = "tables or lists are nested too deep to be read";
            assert_eq!((at, message.as_str()), (At::Line(3), expected));
        }
        let (at, message) = Node::from_json(&format!("\n{}", "[".repeat(100_000))).unwrap_err();
        assert_eq!(at, At::Line(2));
        assert!(message.contains("nested too deep"));
        let mut tree = Node::empty(At::Nowhere);
        let message = tree
            .set(&format!("{}b", "a.".repeat(100_000)), "1")
            .unwrap_err();
        assert!(message.starts_with("has 100001 steps;"), "{message}");
        tree.set("a", &"[".repeat(100_000)).unwrap();
    }
}
