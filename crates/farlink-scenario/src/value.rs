//! Values of the tables of keys in a scenario, with their units and with messages for wrong values.

use farlink_tcp::Interval;
use farlink_tcp::key::{Kind, Value, Word};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _};
use serde_json::json;

use super::decode::suggestion;
use super::units::{Factor, Scalar, Size, Time};

/// Parses a value of this kind.
///
/// # Errors
/// A message that completes a sentence beginning with the key.
pub(super) fn read(written: &Scalar, kind: Kind) -> Result<Value, String> {
    let wrong = || Err(format!("= {written} is wrong; write {}", wanted(kind)));
    let outside = || {
        let range = range(kind);
        Err(format!("= {written} is out of range; write {range}"))
    };
    let value = match (kind, written) {
        (Kind::Flag, &Scalar::Bool(on)) => Value::Flag(on),
        (Kind::Number(..), Scalar::Float(x)) => Value::Number(*x),
        (Kind::Number(..), Scalar::Integer(n)) => Value::Number(*n as f64),
        (Kind::Count(..), Scalar::Integer(n)) => match u32::try_from(*n) {
            Ok(n) => Value::Count(n),
            Err(_) => return outside(),
        },
        (Kind::Time(..), _) => Value::Time(Time::read(written)?.0),
        (Kind::Size(..), _) => Value::Size(Size::read(written)?.0),
        (Kind::Ratio(..), _) => Value::Ratio(Factor::read(written)?.0),
        (Kind::Choice(words), _) => {
            let text = match written {
                Scalar::Text(text) => text.clone(),
                other => other.to_string(),
            };
            return kind.word(&text).ok_or_else(|| {
                let names: Vec<_> = words.iter().map(|word| word.0).collect();
                let help = suggestion(&text, &names, "choices");
                format!("= {written} is unknown; {help}")
            });
        }
        (Kind::Or(words, other), _) => {
            return match written {
                Scalar::Text(text) if kind.word(text).is_some() => Ok(Value::Choice(
                    words.iter().find(|w| w.0 == text).map_or("", |w| w.0),
                )),
                Scalar::Bool(false) if kind.word("off").is_some() => Ok(Value::Choice("off")),
                _ => read(written, *other)
                    .map_err(|message| format!("{message}, or {}", either(words))),
            };
        }
        (Kind::Ways(words), Scalar::Text(text)) => {
            let bits = |name: &str| match kind.word(name) {
                Some(Value::Ways(_, bits)) => Some(bits),
                _ => None,
            };
            let all = text
                .split('+')
                .try_fold(0, |all, way| Some(all | bits(way)?));
            match all {
                _ if text == "off" => Value::Ways(words, 0),
                Some(all) => Value::Ways(words, all),
                None => return wrong(),
            }
        }
        _ => return wrong(),
    };
    if kind.allows(value) {
        Ok(value)
    } else {
        outside()
    }
}

/// Returns a value as in a scenario.
pub(super) fn write(value: Value) -> Scalar {
    match value {
        Value::Number(x) => Scalar::Float(x),
        Value::Count(n) => Scalar::Integer(n.into()),
        Value::Flag(on) => Scalar::Bool(on),
        Value::Time(t) => Scalar::Text(Time(t).to_string()),
        Value::Size(n) => Scalar::Text(Size(n).to_string()),
        Value::Ratio(r) => Scalar::Float(r.as_f64()),
        Value::Choice(word) => Scalar::Text(word.to_owned()),
        Value::Ways(_, 0) => Scalar::Text("off".to_owned()),
        Value::Ways(words, bits) => {
            let words = words.iter().enumerate();
            let on = words.filter(|(i, _)| bits >> i & 1 == 1);
            let names: Vec<_> = on.map(|(_, word)| word.0).collect();
            Scalar::Text(names.join("+"))
        }
    }
}

/// Describes the allowed values for a message.
pub(super) fn wanted(kind: Kind) -> String {
    match kind {
        Kind::Flag => "true or false".to_owned(),
        Kind::Number(..) => format!("a number from {}", range(kind)),
        Kind::Count(..) => format!("a whole number from {}", range(kind)),
        Kind::Time(Interval::ZERO, _) => format!("a time of {}", range(kind)),
        Kind::Time(..) => format!("a time from {}", range(kind)),
        Kind::Size(..) => format!("a size from {}", range(kind)),
        Kind::Ratio(..) => format!("a factor from {}", range(kind)),
        Kind::Choice(words) => either(words),
        Kind::Or(words, other) => format!("{}, or {}", wanted(*other), either(words)),
        Kind::Ways(words) => {
            let (first, last) = (words[0].0, words[words.len() - 1].0);
            format!(
                "\"off\", {}, or several as in \"{first}+{last}\"",
                either(words)
            )
        }
    }
}

fn range(kind: Kind) -> String {
    match kind {
        Kind::Number(low, high) => format!("{low} to {high}"),
        Kind::Count(low, high) => format!("{low} to {high}"),
        Kind::Time(Interval::ZERO, high) => format!("at most \"{}\"", Time(high)),
        Kind::Time(low, high) => format!("\"{}\" to \"{}\"", Time(low), Time(high)),
        Kind::Size(low, high) => format!("\"{low} B\" to \"{}\"", Size(high)),
        Kind::Ratio(low, high) => format!("{} to {}", low.as_f64(), high.as_f64()),
        _ => wanted(kind),
    }
}

/// Formats a list of words: `"a"`, `"a" or "b"`, `"a", "b" or "c"`.
fn either(words: &[Word]) -> String {
    let names: Vec<_> = words.iter().map(|word| format!("{:?}", word.0)).collect();
    match names.as_slice() {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        _ => names.concat(),
    }
}

/// Returns the schema of the values of a kind.
pub(super) fn schema(kind: Kind, generator: &mut SchemaGenerator) -> Schema {
    match kind {
        Kind::Flag => bool::json_schema(generator),
        Kind::Number(low, high) => {
            json_schema!({ "type": "number", "minimum": low, "maximum": high })
        }
        Kind::Count(low, high) => {
            json_schema!({ "type": "integer", "minimum": low, "maximum": high })
        }
        Kind::Time(..) => generator.subschema_for::<Time>(),
        Kind::Size(..) => generator.subschema_for::<Size>(),
        Kind::Ratio(low, high) => {
            let (low, high) = (low.as_f64(), high.as_f64());
            json_schema!({ "type": "number", "minimum": low, "maximum": high })
        }
        Kind::Choice(words) => one_of(words),
        Kind::Or(words, other) => {
            let other = schema(*other, generator);
            json_schema!({ "anyOf": [one_of(words), other] })
        }
        Kind::Ways(words) => {
            let names: Vec<_> = words.iter().map(|word| word.0).collect();
            let any = names.join("|");
            json_schema!({ "type": "string", "pattern": format!(r"^(off|({any})(\+({any}))*)$") })
        }
    }
}

/// Returns the schema of words, with their meanings if they have any.
fn one_of(words: &[Word]) -> Schema {
    if words.iter().any(|word| word.1.is_empty()) {
        let names: Vec<_> = words.iter().map(|word| word.0).collect();
        return json_schema!({ "enum": names });
    }
    let means = |Word(name, means): &Word| json!({ "const": name, "description": means.trim() });
    let list: Vec<_> = words.iter().map(means).collect();
    json_schema!({ "oneOf": list })
}

/// Decodes a value of this kind.
pub(super) struct Of(pub(super) Kind);

impl<'de> DeserializeSeed<'de> for Of {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        read(&Scalar::deserialize(deserializer)?, self.0).map_err(D::Error::custom)
    }
}
