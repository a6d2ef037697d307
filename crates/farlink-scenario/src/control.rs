//! `[tcp.control.NAME]`: parameters of congestion-control algorithms.
//!
//! The parameters are described where the algorithms are. Names and ranges are always checked, but
//! the parameters of an algorithm only take effect if a flow or a `--tcp` uses the algorithm.

use std::collections::BTreeMap;

use farlink_tcp::congestion::{self, ALGORITHMS, Algorithm, Control, Range, Setting};
use farlink_tcp::key::Word;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::decode::{Problem, suggestion};
use super::tree::Step;
use super::units::Scalar;
use super::value;

/// Parameters in the scenario, by algorithm.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ControlSpec(BTreeMap<String, BTreeMap<String, Scalar>>);

impl ControlSpec {
    /// Returns these parameters over those of `base`.
    pub(super) fn over(&self, base: &Self) -> Self {
        let mut merged = base.0.clone();
        for (algorithm, parameters) in &self.0 {
            let under = merged.entry(algorithm.clone()).or_default();
            under.extend(parameters.clone());
        }
        Self(merged)
    }

    /// Checks that all parameters are known and within range.
    pub(super) fn check(&self) -> Result<(), Problem> {
        for (name, parameters) in &self.0 {
            let Some(algorithm) = congestion::lookup(name) else {
                let message = format!("is not a congestion control; {}", near(name));
                return Err(Problem::new(
                    [Step::from("control"), Step::from(name.as_str())],
                    message,
                ));
            };
            apply(&mut Control::new(algorithm), parameters)
                .map_err(|p| p.within(name.as_str()).within("control"))?;
        }
        Ok(())
    }

    /// Returns `base` with the parameters for its algorithm.
    pub(super) fn lay_over(&self, base: Control) -> Result<Control, Problem> {
        let mut control = base;
        let name = control.algorithm().name;
        if let Some(parameters) = self.0.get(name) {
            apply(&mut control, parameters).map_err(|p| p.within(name).within("control"))?;
        }
        Ok(control)
    }

    /// Returns all parameters of an algorithm in use; `None` if it has no parameters.
    pub(super) fn of(control: &Control) -> Option<Self> {
        let all: BTreeMap<_, _> = control
            .settings()
            .map(|(p, setting)| (p.name.to_owned(), value::write(setting)))
            .collect();
        let name = control.algorithm().name.to_owned();
        (!all.is_empty()).then(|| Self([(name, all)].into()))
    }
}

/// Looks up the algorithm named by `congestion`.
pub(super) fn named(name: &str) -> Result<&'static Algorithm, Problem> {
    congestion::lookup(name).ok_or_else(|| {
        let message = format!("= {name:?} is not a congestion control; {}", near(name));
        Problem::new([Step::from("congestion")], message)
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
            let message = format!(
                "is not a parameter of {}; {}",
                algorithm.name,
                suggestion(name, &names, "parameters")
            );
            return Err(Problem::new([Step::from(name.as_str())], message));
        };
        let read = read(scalar, parameter.range);
        let setting = read.map_err(|message| Problem::new([Step::from(name.as_str())], message))?;
        let set = control.set(name, setting);
        debug_assert_eq!(set, Ok(()), "within the range of {name}");
    }
    Ok(())
}

/// Reads a setting. In a choice with "off", false stands for "off" and true for the last word.
fn read(written: &Scalar, range: Range) -> Result<Setting, String> {
    match (range, written) {
        (Range::Choice([.., last]), Scalar::Bool(true)) if has_off(range.words()) => {
            Ok(Setting::Choice(last.0))
        }
        (Range::Choice(words), Scalar::Bool(false)) if has_off(words) => Ok(Setting::Choice("off")),
        _ => value::read(written, range),
    }
}

fn has_off(words: &[Word]) -> bool {
    words.iter().any(|word| word.0 == "off")
}

impl JsonSchema for ControlSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Control".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut algorithms = Map::new();
        for algorithm in ALGORITHMS.iter().filter(|a| !a.parameters.is_empty()) {
            let mut properties = Map::new();
            for p in algorithm.parameters {
                let mut value = match p.range {
                    Range::Choice(words) if has_off(words) => json_schema!({
                        "anyOf": [value::schema(p.range, generator), { "type": "boolean" }]
                    }),
                    range => value::schema(range, generator),
                };
                let default = value::write(p.default);
                value.insert("description".to_owned(), format!("{}.", p.doc).into());
                value.insert("default".to_owned(), serde_json::json!(default));
                properties.insert(p.name.to_owned(), value.to_value());
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
