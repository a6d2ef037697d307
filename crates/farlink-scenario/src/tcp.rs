//! The TCP of a flow: keys over a variant of the table of variants.
//!
//! The parameters come from the table of keys ([`farlink_tcp::key`]). In addition, three keys
//! choose from tables of their own: the variant, the profile, and the congestion control with its
//! parameters.

use farlink_small::Map;
use std::fmt;
use std::sync::OnceLock;

use farlink_tcp::config::Config;
use farlink_tcp::congestion::{Control, is_added};
use farlink_tcp::key::{self, Key, Value};
use farlink_tcp::profile::{self, Profile};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use super::control::{self, ControlSpec};
use super::decode::{Problem, suggestion};
use super::error::ScenarioError;
use super::quic_table::QuicTable;
use super::tcp_together;
use super::units::Scalar;
use super::value;

/// Parameters of a TCP. A key that is absent has the value of the variant.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TcpSpec {
    /// Name of a variant of the table of variants, such as "reno" or "cubic".
    pub variant: Option<String>,
    /// Name of a profile.
    pub profile: Option<&'static str>,
    /// Name of an algorithm.
    pub congestion: Option<String>,
    /// Parameters of algorithms.
    pub control: Option<ControlSpec>,
    /// Parameters of QUIC.
    pub quic: Option<QuicTable>,
    /// Values of keys, by the index of the key in the table.
    keys: Map<usize, Value>,
}

/// Keys that choose from tables of their own, with their descriptions.
pub(super) const CHOICES: [(&str, &str); 5] = [
    (
        "variant",
        "Row of the table of variants, such as \"reno\" or \"cubic\".",
    ),
    (
        "profile",
        "Set of keys laid over the row of the variant: none, or all mechanisms of a kernel. \
         `docs/tcp/profiles.md` has the values of each profile. Keys beside it in a scenario win.",
    ),
    (
        "congestion",
        "Congestion control: name of an algorithm, such as \"reno\".",
    ),
    (
        "control",
        "Parameters of algorithms, a table for each: `[tcp.control.cubic]`.",
    ),
    (
        "quic",
        "Parameters of QUIC, in a table: `[tcp.quic]`. Needs profile = \"quic\".",
    ),
];

/// Returns the description of a key: its meaning and its condition.
pub(super) fn meaning(key: &Key) -> String {
    let doc = key.doc.trim();
    let idle = key.idle.as_ref().map(|idle| idle.needs);
    match key.needs.or(idle) {
        Some(needs) => format!("{doc} Needs {needs}."),
        None => doc.to_owned(),
    }
}

impl TcpSpec {
    /// Returns these keys over those of `base`.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        let mut keys = base.keys.clone();
        keys.extend(&self.keys);
        let control = match (&self.control, &base.control) {
            (Some(control), Some(under)) => Some(control.over(under)),
            (control, under) => control.clone().or_else(|| under.clone()),
        };
        let quic = match (self.quic, base.quic) {
            (Some(quic), Some(under)) => Some(quic.over(&under)),
            (quic, under) => quic.or(under),
        };
        // A class in Python stands for a row of the table, and a row named here replaces the base's.
        let inherits = |name: &&String| self.variant.is_none() || !is_added(name);
        let inherited = base.congestion.as_ref().filter(inherits);
        Self {
            variant: self.variant.clone().or_else(|| base.variant.clone()),
            profile: self.profile.or(base.profile),
            congestion: self.congestion.clone().or_else(|| inherited.cloned()),
            control,
            quic,
            keys,
        }
    }

    /// Returns the keys with segments shorter by `bytes`. If the segment length is set, the keys
    /// are unchanged.
    pub(super) fn with_shorter_segments(mut self, bytes: u32) -> Self {
        let place = key::place("mss");
        if bytes > 0
            && !self.has("mss")
            && let (Ok(base), Some(place)) = (self.base(), place)
        {
            let mss = u64::from(base.mss.saturating_sub(bytes));
            self.keys.insert(place, Value::Size(mss));
        }
        self
    }

    /// Iterates over the keys that are set, in the order of the table.
    fn written(&self) -> impl Iterator<Item = (&'static Key, Value)> {
        let of = |(&i, &value)| Some((key::at(i)?, value));
        self.keys.iter().filter_map(of)
    }

    /// Returns whether the key `key` is set.
    pub(super) fn has(&self, key: &str) -> bool {
        match key {
            "variant" => self.variant.is_some(),
            "profile" => self.profile.is_some(),
            "congestion" => self.congestion.is_some(),
            "control" => self.control.is_some(),
            "quic" => self.quic.is_some(),
            _ => key::place(key).is_some_and(|i| self.keys.contains_key(&i)),
        }
    }

    /// Sets a key that may be written in a table and alone, but not both.
    fn insert<E: Error>(&mut self, i: usize, value: Value) -> Result<(), E> {
        if self.keys.insert(i, value).is_none() {
            return Ok(());
        }
        let name = key::at(i).map_or("", |key| key.name);
        Err(E::custom(format!(
            "has {name} in the table resume and alone; write one of the two"
        )))
    }

    /// Returns the value of the key `key`, if it is set.
    pub(super) fn value(&self, key: &str) -> Option<Value> {
        self.keys.get(&key::place(key)?).copied()
    }

    /// Returns whether no key is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the first key whose value differs from that in `given`, with a message.
    pub(super) fn difference(&self, given: &Self) -> Option<(String, String)> {
        // Each resolved scenario of a sweep is read again, and JSON trees take a third of that.
        if self == given {
            return None;
        }
        let whole = |spec: &Self| serde_json::to_value(spec).unwrap_or_default();
        let (text, given) = (whole(self), whole(given));
        let show = |value: &serde_json::Value| match value {
            serde_json::Value::Null => "nothing".to_owned(),
            value => value.to_string(),
        };
        let names = CHOICES.iter().map(|choice| choice.0);
        let mut names = names.chain(key::all().map(|key| key.name));
        let key = names.find(|&key| text[key] != given[key])?;
        let (text, given) = (show(&text[key]), show(&given[key]));
        let message =
            format!("= {text} differs from {given}, which the rest of the scenario gives");
        Some((key.to_owned(), message))
    }

    /// Returns all parameters of the variant, with those of these keys replaced.
    ///
    /// # Errors
    /// Fails for an unknown variant, a value out of its range, or values that exclude each other.
    /// The message is one line that names the key.
    pub fn to_config(&self) -> Result<Config, ScenarioError> {
        self.resolve()
            .map_err(|problem| ScenarioError::bare(&problem.within("tcp")))
    }

    /// Returns keys with every parameter of `config`, so a resolved scenario has all
    /// parameters of its run.
    pub fn from_config(variant: &str, config: &Config) -> Self {
        let keys = key::all().enumerate();
        Self {
            variant: Some(variant.to_owned()),
            profile: None,
            congestion: Some(config.congestion.algorithm().name.to_owned()),
            control: ControlSpec::of(&config.congestion),
            quic: None,
            keys: keys
                .filter_map(|(i, key)| Some((i, key.get(config)?)))
                .collect(),
        }
    }

    /// Returns every key of this TCP.
    pub(super) fn whole(&self) -> Result<Self, Problem> {
        Ok(Self {
            profile: Some(self.profile().name),
            ..Self::from_config(self.variant_name(), &self.resolve()?)
        })
    }

    /// As [`Self::to_config`], but paths in errors begin with the key.
    pub(super) fn resolve(&self) -> Result<Config, Problem> {
        let base = self.base()?;
        let mut config = base.clone();
        config.congestion = self.congestion(&base.congestion)?;
        for (key, value) in self.written() {
            key.set(&mut config, value);
        }
        key::normalize(&mut config);
        tcp_together::remove_unusable_defaults(self, &mut config);
        tcp_together::consistent(self, &base, &config)?;
        Ok(config)
    }

    fn congestion(&self, base: &Control) -> Result<Control, Problem> {
        let mut control = base.clone();
        if let Some(name) = &self.congestion {
            let algorithm = control::named(name)?;
            if algorithm.name != base.algorithm().name {
                control = self.profile().control(Control::new(algorithm));
            }
        }
        match &self.control {
            Some(written) => written.lay_over(control),
            None => Ok(control),
        }
    }

    /// Checks that the parameters of all algorithms and of QUIC, used or not, are within range.
    pub(super) fn check(&self) -> Result<(), Problem> {
        self.control.as_ref().map_or(Ok(()), ControlSpec::check)?;
        let quic = self.quic.as_ref().map_or(Ok(()), QuicTable::check);
        quic.map_err(|problem| problem.within("quic"))
    }

    /// Returns the profile; the default is that of the unchanged variants.
    pub(super) fn profile(&self) -> &'static Profile {
        let written = self.profile.and_then(profile::lookup);
        written.unwrap_or(&profile::RFC)
    }

    /// Returns the name of the variant; the default is that of the profile.
    pub fn variant_name(&self) -> &str {
        self.variant.as_deref().unwrap_or(self.profile().usual)
    }

    /// Returns the variant in the form of the profile.
    fn base(&self) -> Result<Config, Problem> {
        let (name, profile) = (self.variant_name(), self.profile());
        let row = profile.config(name);
        row.ok_or_else(|| Problem::new(["variant".into()], self.unknown(name)))
    }

    /// Returns the message for a name that is no TCP of the profile.
    fn unknown(&self, name: &str) -> String {
        if let Some((other, tcp)) = profile::split(name) {
            return format!(
                "= {name:?} has a profile before it; write profile = {:?} and variant = {tcp:?}",
                other.name
            );
        }
        let profile = self.profile();
        let known = profile.names();
        if profile.members.is_some() {
            return format!(
                "= {name:?} is not a TCP of profile = {:?}; it has {}",
                profile.name,
                known.join(", ")
            );
        }
        let mut hint = suggestion(name, &known, "variants");
        if hint.starts_with("did") {
            hint = format!("{hint} The variants are {}", known.join(", "));
        }
        format!("= {name:?} is not a TCP; {hint}")
    }

    /// Returns the keys that are set but have no effect in this configuration, with what they need.
    /// Keys that have an effect in another TCP are in [`Self::idle`] instead.
    pub(super) fn ignored(&self, config: &Config) -> Vec<(&'static str, &'static str)> {
        let counts = |key: &Key| key.idle.as_ref().is_none_or(|idle| (idle.counts)(config));
        let lacks = |key: &'static Key| {
            let missing = key.get(config).is_none() && counts(key);
            key.needs.filter(|_| missing)
        };
        self.written()
            .filter_map(|(key, _)| Some((key.name, lacks(key)?)))
            .collect()
    }

    /// Returns the keys that are set but have no effect in this recovery and congestion control,
    /// with what they need. They are allowed in a scenario that runs with several TCPs, because
    /// they have an effect in others.
    pub(super) fn idle(&self, config: &Config) -> Vec<(&'static str, &'static str)> {
        let without = |key: &'static Key| key.idle.as_ref().filter(|idle| !(idle.counts)(config));
        self.written()
            .filter_map(|(key, _)| Some((key.name, without(key)?.needs)))
            .collect()
    }
}

impl Serialize for TcpSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut text = |key, value: Option<&str>| {
            value.map_or(Ok(()), |value| map.serialize_entry(key, value))
        };
        text("variant", self.variant.as_deref())?;
        text("profile", self.profile)?;
        text("congestion", self.congestion.as_deref())?;
        if let Some(control) = &self.control {
            map.serialize_entry("control", control)?;
        }
        if let Some(quic) = &self.quic {
            map.serialize_entry("quic", quic)?;
        }
        for (key, value) in self.written() {
            map.serialize_entry(key.name, &value::write(value))?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for TcpSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("TcpSpec", names(), Written)
    }
}

/// Returns the names of all keys.
pub(super) fn names() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let choices = CHOICES.iter().map(|choice| choice.0);
        choices.chain(key::all().map(|key| key.name)).collect()
    })
}

/// Returns the place of a key in the table, and the key.
fn placed(name: &str) -> Option<(usize, &'static Key)> {
    let place = key::place(name)?;
    Some((place, key::at(place)?))
}

struct Written;

impl<'de> Visitor<'de> for Written {
    type Value = TcpSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TcpSpec, A::Error> {
        let mut spec = TcpSpec::default();
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "variant" => spec.variant = Some(map.next_value()?),
                "profile" => spec.profile = Some(map.next_value::<ProfileName>()?.0),
                "congestion" => spec.congestion = Some(map.next_value()?),
                "control" => spec.control = Some(map.next_value()?),
                "quic" => spec.quic = Some(map.next_value()?),
                "resume" => map.next_value_seed(ResumeTable(&mut spec))?,
                name => {
                    let (i, key) =
                        placed(name).ok_or_else(|| A::Error::unknown_field(name, names()))?;
                    let value = map.next_value_seed(value::Of(key.kind))?;
                    spec.insert(i, value)?;
                }
            }
        }
        Ok(spec)
    }
}

/// Keys of the table `resume`, which are those of the flat keys without `resume_`.
const RESUME: [&str; 4] = ["cwnd", "rtt", "age", "lifetime"];

/// Returns whether a path below `tcp` writes a key: its name, or a place of the table `resume`.
pub(super) fn path_writes(path: &str, key: &str) -> bool {
    let (table, name) = path.split_once('.').unwrap_or((path, ""));
    let in_table = |of: &str| name.is_empty() || name == of;
    path == key
        || table == key
        || table == "resume" && key.strip_prefix("resume_").is_some_and(in_table)
}

/// Reads the table `resume` into its flat keys.
struct ResumeTable<'a>(&'a mut TcpSpec);

impl<'de> DeserializeSeed<'de> for ResumeTable<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_struct("Resume", &RESUME, self)
    }
}

impl<'de> Visitor<'de> for ResumeTable<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut is_empty = true;
        while let Some(name) = map.next_key::<String>()? {
            is_empty = false;
            let flat = format!("resume_{name}");
            let (i, key) = placed(&flat).ok_or_else(|| A::Error::unknown_field(&name, &RESUME))?;
            let value = map.next_value_seed(value::Of(key.kind))?;
            self.0.insert(i, value)?;
        }
        if is_empty {
            return Err(A::Error::custom("is empty; write cwnd and rtt"));
        }
        Ok(())
    }
}

/// The name of an existing profile.
struct ProfileName(&'static str);

impl<'de> Deserialize<'de> for ProfileName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Scalar::deserialize(deserializer)?;
        let names: Vec<_> = profile::all().map(|profile| profile.name).collect();
        let text = match &written {
            Scalar::Text(text) => text.clone(),
            other => other.to_string(),
        };
        let known = names.iter().find(|name| **name == text).copied();
        known.map(Self).ok_or_else(|| {
            let help = suggestion(&text, &names, "choices");
            D::Error::custom(format!("= {written} is unknown; {help}"))
        })
    }
}

impl JsonSchema for TcpSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TcpSpec".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let profile = |p: &Profile| serde_json::json!({ "const": p.name, "description": format!("{}.", p.summary) });
        let profiles: Vec<_> = profile::all().map(profile).collect();
        let mut properties = serde_json::Map::new();
        let mut put = |name: &str, meaning: String, mut schema: Schema| {
            schema.insert("description".to_owned(), meaning.into());
            properties.insert(name.to_owned(), schema.to_value());
        };
        for (name, meaning) in CHOICES {
            let schema = match name {
                "profile" => json_schema!({ "oneOf": profiles }),
                "control" => generator.subschema_for::<ControlSpec>(),
                "quic" => generator.subschema_for::<QuicTable>(),
                _ => json_schema!({ "type": "string" }),
            };
            put(name, meaning.to_owned(), schema);
        }
        for key in key::all() {
            put(key.name, meaning(key), value::schema(key.kind, generator));
        }
        let mut table = serde_json::Map::new();
        for name in RESUME {
            if let Some(key) = key::lookup(&format!("resume_{name}")) {
                table.insert(
                    name.to_owned(),
                    value::schema(key.kind, generator).to_value(),
                );
            }
        }
        properties.insert(
            "resume".to_owned(),
            serde_json::json!({
                "description": "The keys resume_cwnd, resume_rtt, resume_age and resume_lifetime as \
                                a table.",
                "type": "object",
                "additionalProperties": false,
                "properties": table,
            }),
        );
        json_schema!({
            "description": "Parameters of a TCP. A key that is not written keeps the value of the \
                            variant's row.",
            "type": "object",
            "additionalProperties": false,
            "properties": properties,
        })
    }
}

#[cfg(test)]
#[path = "tcp_tests.rs"]
mod tests;
