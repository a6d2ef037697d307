//! Option lines: from `key=value` words to a [`Config`].

use super::Script;
use farlink_tcp::config::{Config, Ratio};
use farlink_tcp::key::{self, Kind, Value};
use farlink_tcp::{Interval, profile};
use std::str::FromStr;

/// Reads an option line: `--tcp NAME` and `key=value` words, in order.
pub(crate) fn apply(script: &mut Script, line: &str) -> Result<(), String> {
    let mut words = line.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "--tcp" => {
                let name = words.next().ok_or("--tcp needs a name")?;
                let (profile, tcp) = profile::split(name).unwrap_or((&profile::RFC, name));
                let config = profile.config(tcp);
                script.config = config.ok_or_else(|| format!("unknown TCP {name:?}"))?;
            }
            "--isn" => script.isn = number(words.next().ok_or("--isn needs a number")?)?,
            "--peer-isn" => {
                script.peer_isn = number(words.next().ok_or("--peer-isn needs a number")?)?;
            }
            "--cookie" => {
                script.cookie = Some(number(words.next().ok_or("--cookie needs a number")?)?);
            }
            "--cookie-mss" => {
                script.cookie_mss = number(words.next().ok_or("--cookie-mss needs a number")?)?;
            }
            "--tolerance" => {
                script.tolerance = interval(words.next().ok_or("--tolerance needs a time")?)?;
            }
            _ => {
                let (key, value) = word
                    .split_once('=')
                    .ok_or_else(|| format!("{word:?} is not key=value"))?;
                set(&mut script.config, key, value).map_err(|e| format!("{key}: {e}"))?;
            }
        }
    }
    Ok(())
}

/// Sets a parameter of the congestion control, or a key of the table.
pub(crate) fn set(config: &mut Config, name: &str, text: &str) -> Result<(), String> {
    let algorithm = config.congestion.algorithm();
    if let Some(parameter) = algorithm.parameters.iter().find(|p| p.name == name) {
        let set = config.congestion.set(name, value(text, parameter.range)?);
        return set.map_err(|error| format!("{error:?}"));
    }
    let Some(key) = key::lookup(name) else {
        return Err(format!("neither a key nor a parameter of {algorithm:?}"));
    };
    let before = config.clone();
    key.set(config, value(text, key.kind)?);
    match (key.get(config), key.needs) {
        // A script may test one end, with a value for which the other end needs the key.
        (None, Some(needs)) if *config == before => Err(format!("needs {needs}")),
        _ => Ok(()),
    }
}

/// Parses a value that the kind allows: sizes are bytes, other values are as in a scenario.
fn value(text: &str, kind: Kind) -> Result<Value, String> {
    let value = match kind {
        Kind::Flag => match text {
            "true" => Value::Flag(true),
            "false" => Value::Flag(false),
            _ => return Err(format!("{text:?} is neither true nor false")),
        },
        Kind::Count(..) => Value::Count(number(text)?),
        Kind::Number(..) => Value::Number(number(text)?),
        Kind::Size(..) => Value::Size(number(text)?),
        Kind::Time(..) => Value::Time(interval(text)?),
        Kind::Ratio(..) => Value::Ratio(ratio(text)?),
        Kind::Choice(_) => {
            let words: Vec<_> = kind.words().iter().map(|word| word.0).collect();
            kind.word(text).ok_or_else(|| words.join(" or "))?
        }
        Kind::Or(_, other) => match kind.word(text) {
            Some(word) => word,
            None => value(text, *other)?,
        },
        Kind::Ways(words) => {
            let mut all = 0;
            for word in text.split('+').filter(|&word| word != "off") {
                match kind.word(word) {
                    Some(Value::Ways(_, way)) => all |= way,
                    _ => return Err(format!("{word:?} is none of {words:?}")),
                }
            }
            Value::Ways(words, all)
        }
    };
    if kind.allows(value) {
        Ok(value)
    } else {
        Err(format!("{text:?} is out of range: {kind:?}"))
    }
}

/// Parses a decimal number that fits `T`.
pub(crate) fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| format!("{text:?} is not a number that fits here"))
}

/// Parses `num/den`.
fn ratio(text: &str) -> Result<Ratio, String> {
    let (num, den) = text
        .split_once('/')
        .ok_or_else(|| format!("{text:?} is not num/den"))?;
    Ok(Ratio::new(number(num)?, number(den)?))
}

/// Parses a time: decimal seconds, or with one of the units s, ms, us, ns.
pub(crate) fn interval(text: &str) -> Result<Interval, String> {
    let malformed = || format!("{text:?} is not a time, such as 0.25, 250ms or 3us");
    let digits = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (value, unit) = text.split_at(digits);
    let decimals = match unit {
        "" | "s" => 9,
        "ms" => 6,
        "us" => 3,
        "ns" => 0,
        _ => return Err(malformed()),
    };
    // Exact: the fraction is padded to whole nanoseconds.
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    if fraction.len() > decimals || (whole.is_empty() && fraction.is_empty()) {
        return Err(malformed());
    }
    let ns = format!("{whole}{fraction:0<decimals$}");
    Ok(Interval::from_nanos(ns.parse().map_err(|_| malformed())?))
}
