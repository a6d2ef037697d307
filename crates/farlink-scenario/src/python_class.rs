//! Classes in Python that a scenario uses: a queue's law, or a source of messages.
//!
//! The engine knows no Python. The program around the engine sets [`Builders`], which build an
//! object of a class for each link direction or flow.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use farlink_link::discipline::Dropper;
use farlink_small::{Printable, printable};
use farlink_tcp::{Instant, Interval};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::decode::Problem;

printable!(MessageSource);

/// Source of an application's messages.
pub trait MessageSource: Printable + Send {
    /// Returns the pause before the next message, and the bytes of the message; `None` at the end.
    /// `now` is the time of the previous message.
    fn next_message(&mut self, now: Instant) -> Option<(Interval, u64)>;

    /// Returns whether the source wants a report of each message that is delivered.
    fn wants_reports(&self) -> bool {
        false
    }

    /// Handles the report of a message, which reaches the source now.
    fn on_delivered(&mut self, _now: Instant, _message: Delivered) {}

    /// Ends the run if the source wants reports, for a transport that has no way back.
    fn refuse_reports(&self) {}
}

/// A message that the receiver has read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivered {
    /// Time at which the message was due.
    pub due: Instant,
    /// Arrival time of its last byte.
    pub arrived: Instant,
    /// Bytes of the message.
    pub bytes: u64,
}

/// Functions that build objects of classes. `seed` is the seed of an object's random numbers.
#[derive(Clone, Copy, Debug)]
pub struct Builders {
    /// Returns whether the class is registered.
    pub is_known: fn(&ClassText) -> bool,
    /// Builds the law of a queue.
    pub dropper: fn(&'static ClassText, seed: u64) -> Box<dyn Dropper>,
    /// Builds a source of messages.
    pub source: fn(&'static ClassText, seed: u64) -> Box<dyn MessageSource>,
}

static BUILDERS: OnceLock<Builders> = OnceLock::new();

/// Sets the functions that build objects. Only the first call has an effect.
pub fn set_builders(builders: Builders) {
    let _ = BUILDERS.set(builders);
}

/// Class in Python with its source.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassText {
    /// Name of the class.
    pub class: String,
    /// Name of the class's file.
    pub file: String,
    /// Text of the file.
    pub python: String,
    /// Arguments of the class by name.
    #[serde(default)]
    pub arguments: BTreeMap<String, f64>,
}

/// Class in Python. Equal classes of a program share one text, which is never freed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PythonClass(&'static ClassText);

impl PythonClass {
    fn new(text: ClassText) -> Self {
        static TEXTS: Mutex<Vec<&'static ClassText>> = Mutex::new(Vec::new());
        let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = texts.iter().find(|known| ***known == text) {
            return Self(known);
        }
        let text: &'static ClassText = Box::leak(Box::new(text));
        texts.push(text);
        Self(text)
    }

    /// Returns name, file, source and arguments.
    pub fn text(self) -> &'static ClassText {
        self.0
    }

    /// Refuses a class that the program around the engine has not registered.
    pub(super) fn check(self) -> Result<(), Problem> {
        if BUILDERS.get().is_some_and(|all| (all.is_known)(self.0)) {
            return Ok(());
        }
        let ClassText { class, file, .. } = self.0;
        let message = format!(
            "{class} is a class in Python, which only the Python package runs, and only if the \
             command names its file: write {file}:{class}"
        );
        Err(Problem::new([], message))
    }

    /// Builds the law of a queue. [`Self::check`] has accepted the class.
    pub(super) fn dropper(self, seed: u64) -> Option<Box<dyn Dropper>> {
        BUILDERS.get().map(|all| (all.dropper)(self.0, seed))
    }

    /// Builds a source of messages; `None` without a Python program.
    pub fn source(self, seed: u64) -> Option<Box<dyn MessageSource>> {
        BUILDERS.get().map(|all| (all.source)(self.0, seed))
    }
}

impl Serialize for PythonClass {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PythonClass {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Table;
        impl<'de> Visitor<'de> for Table {
            type Value = ClassText;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a class")
            }
            fn visit_str<E: Error>(self, v: &str) -> Result<ClassText, E> {
                Err(E::custom(format!(
                    "= {v:?} in a file runs nothing; name the class in the command: --set \
                     flows.0.source={v}"
                )))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ClassText, A::Error> {
                ClassText::deserialize(serde::de::value::MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(Table).map(Self::new)
    }
}

impl JsonSchema for PythonClass {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        ClassText::schema_name()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        ClassText::json_schema(generator)
    }
}
