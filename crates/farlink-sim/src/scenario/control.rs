//! `[tcp.control.NAME]`: parameters of congestion-control algorithms.
//!
//! What there is comes from the algorithms' own descriptions. Parameters of an
//! algorithm that a flow does not use wait for a `--tcp` that does; that they
//! exist and are within range is checked all the same.

use std::collections::BTreeMap;

use farlink_tcp::congestion::{self, ALGORITHMS, Algorithm, Control, Parameter, Range, Setting};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::decode::{Problem, suggestion};
use super::tree::Step;
use super::units::{Scalar, Time};

/// Parameters as they are written, by algorithm.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ControlSpec(BTreeMap<String, BTreeMap<String, Scalar>>);

impl ControlSpec {
    /// These parameters, and those of `base` that are not among them.
    pub(super) fn over(&self, base: &Self) -> Self {
        let mut merged = base.0.clone();
        for (algorithm, parameters) in &self.0 {
            let under = merged.entry(algorithm.clone()).or_default();
            under.extend(parameters.clone());
        }
        Self(merged)
    }

    /// Everything that is written is known and within range.
    pub(super) fn check(&self) -> Result<(), Problem> {
        for (name, parameters) in &self.0 {
            let Some(algorithm) = congestion::lookup(name) else {
                let says = format!("is not a congestion control; {}", near(name));
                return Err(Problem::new(
                    [Step::from("control"), Step::from(name.as_str())],
                    says,
                ));
            };
            apply(&mut Control::new(algorithm), parameters)
                .map_err(|p| p.within(name.as_str()).within("control"))?;
        }
        Ok(())
    }

    /// `base` with what is written for its algorithm.
    pub(super) fn lay_over(&self, base: Control) -> Result<Control, Problem> {
        let mut control = base;
        let name = control.algorithm().name;
        if let Some(parameters) = self.0.get(name) {
            apply(&mut control, parameters).map_err(|p| p.within(name).within("control"))?;
        }
        Ok(control)
    }

    /// Every parameter of an algorithm in use.
    pub(super) fn of(control: &Control) -> Option<Self> {
        let all: BTreeMap<_, _> = control
            .settings()
            .map(|(p, setting)| (p.name.to_owned(), written(setting)))
            .collect();
        let name = control.algorithm().name.to_owned();
        (!all.is_empty()).then(|| Self([(name, all)].into()))
    }
}

/// The algorithm that `congestion = "name"` asks for.
pub(super) fn named(name: &str) -> Result<&'static Algorithm, Problem> {
    congestion::lookup(name).ok_or_else(|| {
        let says = format!("= {name:?} is not a congestion control; {}", near(name));
        Problem::new([Step::from("congestion")], says)
    })
}

fn near(name: &str) -> String {
    let names: Vec<_> = ALGORITHMS.iter().map(|a| a.name).collect();
    suggestion(name, &names, "choices")
}

fn apply(control: &mut Control, parameters: &BTreeMap<String, Scalar>) -> Result<(), Problem> {
    let algorithm = control.algorithm();
    for (name, scalar) in parameters {
        let Some(parameter) = algorithm.parameters.iter().find(|p| p.name == name) else {
            let names: Vec<_> = algorithm.parameters.iter().map(|p| p.name).collect();
            let says = format!(
                "is not a parameter of {}; {}",
                algorithm.name,
                suggestion(name, &names, "parameters")
            );
            return Err(Problem::new([Step::from(name.as_str())], says));
        };
        let fits = read(scalar, parameter).filter(|&s| control.set(name, s).is_ok());
        if fits.is_none() {
            let says = format!("= {scalar} is wrong; write {}", wanted(parameter.range));
            return Err(Problem::new([Step::from(name.as_str())], says));
        }
    }
    Ok(())
}

fn read(scalar: &Scalar, parameter: &Parameter) -> Option<Setting> {
    match (parameter.range, scalar) {
        (Range::Number(..), Scalar::Float(x)) => Some(Setting::Number(*x)),
        (Range::Number(..), Scalar::Integer(n)) => Some(Setting::Number(*n as f64)),
        (Range::Count(..), Scalar::Integer(n)) => u32::try_from(*n).ok().map(Setting::Count),
        (Range::Flag, Scalar::Bool(on)) => Some(Setting::Flag(*on)),
        (Range::Time(..), scalar) => Time::read(scalar).ok().map(|t| Setting::Time(t.0)),
        // Of what is off or one of several, true is the last and false none.
        (Range::Choice(words), Scalar::Bool(on)) if words.contains(&"off") => {
            let word = if *on { words.last()? } else { &"off" };
            Some(Setting::Choice(word))
        }
        (Range::Choice(words), Scalar::Text(text)) => {
            let word = words.iter().find(|w| **w == text.as_str())?;
            Some(Setting::Choice(word))
        }
        _ => None,
    }
}

pub(super) fn written(setting: Setting) -> Scalar {
    match setting {
        Setting::Number(x) => Scalar::Float(x),
        Setting::Count(n) => Scalar::Integer(n.into()),
        Setting::Flag(on) => Scalar::Bool(on),
        Setting::Time(t) => Scalar::Text(Time(t).to_string()),
        Setting::Choice(word) => Scalar::Text(word.to_owned()),
    }
}

/// What may be written, for people.
pub(super) fn wanted(range: Range) -> String {
    match range {
        Range::Number(low, high) => format!("a number from {low} to {high}"),
        Range::Count(low, high) => format!("a whole number from {low} to {high}"),
        Range::Time(low, high) => format!("a time from \"{}\" to \"{}\"", Time(low), Time(high)),
        Range::Choice(words) => {
            let quoted: Vec<_> = words.iter().map(|w| format!("{w:?}")).collect();
            quoted.join(" or ")
        }
        Range::Flag => "true or false".to_owned(),
    }
}

impl JsonSchema for ControlSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Control".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut algorithms = Map::new();
        for algorithm in ALGORITHMS.iter().filter(|a| !a.parameters.is_empty()) {
            let mut properties = Map::new();
            for p in algorithm.parameters {
                let mut value = match p.range {
                    Range::Number(low, high) => {
                        serde_json::json!({ "type": "number", "minimum": low, "maximum": high })
                    }
                    Range::Count(low, high) => {
                        serde_json::json!({ "type": "integer", "minimum": low, "maximum": high })
                    }
                    Range::Time(..) => serde_json::json!({ "type": "string" }),
                    Range::Choice(words) if words.contains(&"off") => {
                        serde_json::json!({ "anyOf": [{ "enum": words }, { "type": "boolean" }] })
                    }
                    Range::Choice(words) => serde_json::json!({ "enum": words }),
                    Range::Flag => serde_json::json!({ "type": "boolean" }),
                };
                let default = serde_json::to_value(written(p.default)).unwrap_or_default();
                value["description"] = Value::from(format!("{}.", p.doc));
                value["default"] = default;
                properties.insert(p.name.to_owned(), value);
            }
            let table = serde_json::json!({
                "description": format!("{}.", algorithm.summary),
                "type": "object",
                "additionalProperties": false,
                "properties": properties,
            });
            algorithms.insert(algorithm.name.to_owned(), table);
        }
        json_schema!({
            "title": "tables of parameters",
            "type": "object",
            "additionalProperties": false,
            "properties": algorithms,
        })
    }
}
