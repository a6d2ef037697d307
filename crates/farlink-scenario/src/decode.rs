//! Decodes the tree of a scenario into the types of the schema.
//!
//! A serde deserializer that records the path to each value, and turns serde's errors into plain
//! sentences.

use std::fmt;

use serde::de::{
    self, DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;

use super::tree::{Node, Step, Value, show};
use super::units::Scalar;

/// A fault with its place in the scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Problem {
    /// Steps of the path to the value, outermost first.
    pub(super) path: Vec<Step>,
    fault: Fault,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Fault {
    /// Message that completes a sentence beginning with the path: "= 3 is not a text".
    Message(String),
    /// The last step of the path is not a key.
    UnknownKey(&'static [&'static str]),
}

impl Problem {
    /// Builds a problem; `message` completes a sentence that begins with the path.
    pub(super) fn new(path: impl IntoIterator<Item = Step>, message: impl Into<String>) -> Self {
        Self {
            path: path.into_iter().collect(),
            fault: Fault::Message(message.into()),
        }
    }

    /// Returns the problem with `step` put before its path.
    pub(super) fn within(mut self, step: impl Into<Step>) -> Self {
        self.path.insert(0, step.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.fault, self.path.split_last()) {
            (Fault::Message(message), None) => write!(f, "the scenario {message}"),
            (Fault::Message(message), Some(_)) => write!(f, "{} {message}", show(&self.path)),
            // An experiment varies a scenario, which it names.
            (Fault::UnknownKey(_), Some((Step::Key(key), []))) if key == "scenario" => {
                write!(
                    f,
                    "unknown key {key:?}; a file with it is an experiment: farlink sweep"
                )
            }
            (Fault::UnknownKey(known), Some((Step::Key(key), around))) => {
                write!(f, "unknown key {key:?}")?;
                if !around.is_empty() {
                    write!(f, " in {}", show(around))?;
                }
                write!(f, "; {}", suggestion(key, known, "keys"))
            }
            (Fault::UnknownKey(_), _) => f.write_str("unknown key"),
        }
    }
}

/// Returns "did you mean ..." if a known name is similar to the word, otherwise the list of known
/// names.
pub(super) fn suggestion<S: AsRef<str>>(word: &str, known: &[S], plural: &str) -> String {
    // The TCP "westwood+" is the congestion control "westwood_plus".
    let spelled = |name: &str| name.replace('+', "_plus");
    let distance = |name: &str| strsim::osa_distance(&spelled(word), &spelled(name));
    let near = known
        .iter()
        .map(|name| (distance(name.as_ref()), name.as_ref()))
        .min_by_key(|(distance, _)| *distance);
    let mut longer = known.iter().filter(|name| name.as_ref().starts_with(word));
    let begun = longer.next().filter(|_| longer.next().is_none());
    match (near, begun) {
        (Some((distance, name)), _) if distance <= 1 + word.chars().count() / 4 => {
            format!("did you mean {name:?}?")
        }
        (_, Some(name)) => format!("did you mean {:?}?", name.as_ref()),
        (Some(_), None) => {
            let list: Vec<_> = known
                .iter()
                .map(|name| format!("{:?}", name.as_ref()))
                .collect();
            format!("the {plural} are {}", list.join(", "))
        }
        (None, None) => format!("there are no {plural}"),
    }
}

impl std::error::Error for Problem {}

impl de::Error for Problem {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new([], message.to_string())
    }

    fn invalid_type(measured: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::new([], mismatch(&measured, &wanted.to_string()))
    }

    fn invalid_value(measured: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::new([], mismatch(&measured, &wanted.to_string()))
    }

    fn invalid_length(length: usize, wanted: &dyn Expected) -> Self {
        let wanted = wanted.to_string();
        let wanted = wanted
            .strip_prefix("an array of length ")
            .unwrap_or(&wanted);
        Self::new([], format!("has {length} elements; write {wanted}"))
    }

    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Self {
        Self::new(
            [],
            format!(
                "= {name:?} is unknown; {}",
                suggestion(name, known, "choices")
            ),
        )
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        Self {
            path: vec![name.into()],
            fault: Fault::UnknownKey(known),
        }
    }

    fn missing_field(name: &'static str) -> Self {
        Self::new([], format!("has no {name:?}{}", example(name)))
    }
}

/// Returns an example value for a missing key.
pub(super) fn example(key: &str) -> &'static str {
    match key {
        "between" => "; write for example between = [\"gateway\", \"client\"]",
        "from" => "; write for example from = \"server\"",
        "to" => "; write for example to = \"client\"",
        "protocol" => "; write for example protocol = \"mdlp\"",
        "access" => "; write for example access = \"exponential\"",
        "rate" => "; write for example rate = \"2048 kbit/s\"",
        "delay" => "; write for example delay = \"250 ms\"",
        "down" => "; write [links.down] with a rate and a delay",
        "size" => "; write for example size = \"50 MiB\"",
        "duration" => "; write for example duration = \"10 s\"",
        "on" => "; write for example on = { distribution = \"exponential\", mean = \"1 s\" }",
        "off" => "; write for example off = { distribution = \"exponential\", mean = \"2 s\" }",
        "distribution" => "; write for example distribution = \"exponential\"",
        "links" => "; write [[links]]",
        "flows" => "; write [[flows]]",
        _ => "",
    }
}

fn mismatch(measured: &Unexpected<'_>, wanted: &str) -> String {
    // The error states a range only for whole numbers.
    let wanted = match (wanted, measured) {
        ("u32" | "u64", Unexpected::Signed(_)) => "a whole number that is not negative".to_owned(),
        ("u32" | "u64", Unexpected::Unsigned(_)) => "a smaller number".to_owned(),
        ("u32" | "u64", _) => "a whole number".to_owned(),
        ("f64", _) => "a number".to_owned(),
        ("a boolean", _) => "true or false".to_owned(),
        ("a string", _) => "a text in quotes".to_owned(),
        ("a sequence", _) => "a list".to_owned(),
        (other, _) => other.to_owned(),
    };
    match measured {
        Unexpected::Map if wanted == "a list" => {
            "is one table, not a list of them; write it with double brackets, [[...]]".to_owned()
        }
        Unexpected::Map => format!("is a table; write {wanted}"),
        Unexpected::Seq => format!("is a list; write {wanted}"),
        Unexpected::Bool(b) => format!("= {b} is wrong; write {wanted}"),
        Unexpected::Unsigned(n) => format!("= {n} is wrong; write {wanted}"),
        Unexpected::Signed(n) => format!("= {n} is wrong; write {wanted}"),
        Unexpected::Float(x) => format!("= {x} is wrong; write {wanted}"),
        Unexpected::Str(s) => format!("= {s:?} is wrong; write {wanted}"),
        other => format!("is {other}; write {wanted}"),
    }
}

impl<'de> IntoDeserializer<'de, Problem> for &'de Node {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match &self.value {
            Value::Scalar(Scalar::Bool(b)) => visitor.visit_bool(*b),
            Value::Scalar(Scalar::Integer(n)) => match (i64::try_from(*n), u64::try_from(*n)) {
                (Ok(n), _) => visitor.visit_i64(n),
                (_, Ok(n)) => visitor.visit_u64(n),
                _ => Err(Problem::new([], format!("= {n} is too large"))),
            },
            Value::Scalar(Scalar::Float(x)) => visitor.visit_f64(*x),
            Value::Scalar(Scalar::Text(s)) => visitor.visit_borrowed_str(s),
            Value::List(nodes) => {
                let mut list = List { nodes, next: 0 };
                let out = visitor.visit_seq(&mut list)?;
                if list.next < nodes.len() {
                    let message = format!("has {} elements; write {}", nodes.len(), list.next);
                    return Err(Problem::new([], message));
                }
                Ok(out)
            }
            Value::Table(entries) => visitor.visit_map(Table { entries, next: 0 }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        match &self.value {
            // By default serde accepts a list as the fields of a struct in order; a scenario must
            // name each key.
            Value::List(_) => Err(Problem::new([], "is a list; write a table")),
            Value::Scalar(s) => Err(Problem::new([], format!("= {s} is wrong; write a table"))),
            Value::Table(_) => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        match &self.value {
            Value::Scalar(Scalar::Text(s)) => visitor.visit_enum(s.as_str().into_deserializer()),
            Value::Scalar(s) => Err(Problem::new(
                [],
                format!(
                    "= {s} is unknown; {}",
                    suggestion(&s.to_string(), known, "choices")
                ),
            )),
            Value::List(_) | Value::Table(_) => Err(Problem::new(
                [],
                format!("is not a text; {}", suggestion("", known, "choices")),
            )),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

struct List<'de> {
    nodes: &'de [Node],
    next: usize,
}

impl<'de> SeqAccess<'de> for &mut List<'de> {
    type Error = Problem;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Problem> {
        let Some(node) = self.nodes.get(self.next) else {
            return Ok(None);
        };
        let index = self.next;
        self.next += 1;
        seed.deserialize(node)
            .map(Some)
            .map_err(|problem| problem.within(index))
    }
}

struct Table<'de> {
    entries: &'de [super::tree::Entry],
    next: usize,
}

impl<'de> MapAccess<'de> for Table<'de> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Problem> {
        let Some(entry) = self.entries.get(self.next) else {
            return Ok(None);
        };
        seed.deserialize(entry.key.as_str().into_deserializer())
            .map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Problem> {
        let entry = &self.entries[self.next];
        self.next += 1;
        seed.deserialize(&entry.node)
            .map_err(|problem| problem.within(entry.key.as_str()))
    }
}
