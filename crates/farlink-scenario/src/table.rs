//! The macro `table`, which declares a scenario's tables of keys: the allowed values of each key,
//! its default, and where it has an effect.

use std::ops::RangeInclusive;

use schemars::Schema;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::checks::{fault, ignored};
use super::decode::Problem;

/// Declares a table of keys: a struct with all that serde and the schema need. A key that is
/// required, or whose default serde fills in, has an entry
///
/// ```text
/// /// Meaning of the key.
/// key: Type, in low..=high;
/// ```
///
/// An optional key, which becomes an `Option`, has an entry
///
/// ```text
/// /// Meaning of the key.
/// key?: Type = default, in low..=high, of [Kind, Other = default], needs other_key;
/// ```
///
/// All parts after the type may be absent. Their order is:
///
/// - `= default`: the key has a method of its name that returns the value in the scenario or the
///   default.
/// - `in`: range of the values. It may be followed by the `unit` of a plain number, and by an
///   alternative such as `or "leave it out"`.
/// - `of`: in a table `for key: Kind`, the kinds in which this key has an effect, each with its own
///   default if needed.
/// - `needs`: another key without which this key has no effect.
/// - `like`: example of a key that the kinds in `of` require.
///
/// `check_keys` refuses keys that violate their entries. `fill` (only of a table `for` kinds)
/// writes the defaults into the keys. The schema and the reference state the entries, so comments
/// need not.
macro_rules! table {
    ($(#[$meta:meta])* pub struct $name:ident $(for $by:ident: $kind:ident)? { $($body:tt)* }) => {
        $crate::table::table! { @next [$(#[$meta])*] $name [$($by $kind)?] [] [] [] $($body)* }
    };
    (@next $meta:tt $name:ident $by:tt [$($fields:tt)*] [$($entries:tt)*] $plain:tt
        $(#[$doc:meta])* $key:ident ?: $type:ty $(= $default:expr)?
        $(, in $range:expr $(, unit $unit:literal)? $(, or $or:literal)?)?
        $(, of [$($one:ident $(= $own:expr)?),*])? $(, needs $needs:ident)?
        $(, like $like:literal)?; $($rest:tt)*) => {
        $crate::table::table! { @next $meta $name $by
            [$($fields)*
                $(#[$doc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $key: Option<$type>,
            ]
            [$($entries)* ($key [$type] [$($default)?] [$($range, concat!("" $(, " (", $unit, ")")? $(, ", or ", $or)?))?]
                [$([$($one [$($own)?])*])?] [$($needs)?] [$($like)?])]
            $plain
            $($rest)*
        }
    };
    (@next $meta:tt $name:ident $by:tt [$($fields:tt)*] $entries:tt [$($plain:tt)*]
        $(#[$doc:meta])* $key:ident : $type:ty, in $range:expr $(, unit $unit:literal)?; $($rest:tt)*) => {
        $crate::table::table! { @next $meta $name $by
            [$($fields)*
                $(#[$doc])*
                pub $key: $type,
            ]
            $entries
            [$($plain)* ($key [$type] [$range, concat!("" $(, " (", $unit, ")")?)])]
            $($rest)*
        }
    };
    (@next $meta:tt $name:ident $by:tt [$($fields:tt)*] $entries:tt $plain:tt
        $(#[$doc:meta])* $key:ident : $type:ty; $($rest:tt)*) => {
        $crate::table::table! { @next $meta $name $by
            [$($fields)* $(#[$doc])* pub $key: $type,] $entries $plain $($rest)*
        }
    };
    (@next [$(#[$meta:meta])*] $name:ident $by:tt [$($fields:tt)*]
        $entries:tt $plain:tt) => {
        $(#[$meta])*
        #[serde(deny_unknown_fields)]
        #[schemars(transform = $name::note)]
        pub struct $name { $($fields)* }

        $crate::table::table! { @keys $name $by $entries $plain }
    };
    (@keys $name:ident $by:tt [$(($key:ident [$type:ty] [$($default:expr)?]
        [$($range:expr, $unit:expr)?] $of:tt [$($needs:ident)?] [$($like:literal)?]))*] [$(($must:ident [$held:ty] [$bounds:expr, $measure:expr]))*]) => {
        #[allow(dead_code, unused_variables, unreachable_pub)] // Some tables use only a part.
        impl $name {
            /// Adds the facts of each entry to the schema of its key.
            fn note(table: &mut schemars::Schema) {
                $(if let Some(schema) = $crate::table::property(table, stringify!($key)) {
                    $(let default: $type = $default;
                    $crate::table::default(schema, &default);)?
                    $($crate::table::range::<$type>(schema, &$range, $unit);)?
                    $crate::table::table! { @note schema $by $type, $of }
                    $($crate::table::say(schema, concat!("Needs `", stringify!($needs), "`."));)?
                    $($crate::table::say(schema, concat!("Has to be there, like ", $like, "."));)?
                })*
                $(if let Some(schema) = $crate::table::property(table, stringify!($must)) {
                    $crate::table::range::<$held>(schema, &$bounds, $measure);
                })*
            }

            /// Refuses keys and values that violate their entries.
            pub(crate) fn check_keys(&self) -> Result<(), $crate::decode::Problem> {
                $($crate::table::table! { @misplaced self $key $by $of [$($like)?] })*
                $($(if self.$key.is_some() && self.$needs.is_none() {
                    return Err($crate::checks::ignored(stringify!($key), stringify!($needs)));
                })?)*
                $($(if let Some(value) = &self.$key {
                    $crate::table::within(stringify!($key), value, &$range, $unit)?;
                })?)*
                $($crate::table::within(stringify!($must), &self.$must, &$bounds, $measure)?;)*
                Ok(())
            }

            $($(
                /// Returns the value in the scenario, or the default.
                pub fn $key(&self) -> $type {
                    self.$key.clone().unwrap_or_else(|| $default)
                }
            )?)*
        }

        $crate::table::table! { @fill $name $by
            [$(($key [$($default)?] $of [$($needs)?]))*] }
    };
    (@note $schema:ident $by:tt $type:ty, []) => {};
    (@note $schema:ident [$by:ident $kind:ident] $type:ty, [[$($one:ident [$($own:expr)?])*]]) => {
        let own: &[(serde_json::Value, &dyn Fn() -> $type)] =
            &[$($((serde_json::json!($kind::$one), &|| $own),)?)*];
        $crate::table::own_defaults($schema, own);
        $crate::table::of($schema, &[$($kind::$one),*]);
    };
    (@misplaced $self:ident $key:ident $by:tt [] []) => {};
    (@misplaced $self:ident $key:ident [$by:ident $kind:ident]
        [[$($one:ident [$($own:expr)?])*]] [$($like:literal)?]) => {
        let of = &[$($kind::$one),*];
        if $self.$key.is_some() {
            $crate::table::placed(stringify!($key), stringify!($by), &$self.$by, of)?;
        }
        $(if $self.$key.is_none() && of.contains(&$self.$by) {
            return Err($crate::table::left_out(stringify!($key), $like));
        })?
    };
    (@fill $name:ident [] $entries:tt) => {};
    (@fill $name:ident [$by:ident $kind:ident] [$(($key:ident [$($default:expr)?] $of:tt [$($needs:ident)?]))*]) => {
        #[allow(dead_code)] // a table need not have a default
        impl $name {
            /// Writes the defaults of absent keys.
            pub(crate) fn fill(&mut self) {
                $(if true $(&& self.$needs.is_some())? {
                    $crate::table::table! { @default self $key $by $kind [$($default)?] $of }
                })*
            }
        }
    };
    (@default $self:ident $key:ident $by:ident $kind:ident [] []) => {};
    (@default $self:ident $key:ident $by:ident $kind:ident [$default:expr] []) => {
        $self.$key.get_or_insert_with(|| $default);
    };
    (@default $self:ident $key:ident $by:ident $kind:ident [$default:expr]
        [[$($one:ident [])*]]) => {
        if matches!($self.$by, $($kind::$one)|*) {
            $self.$key.get_or_insert_with(|| $default);
        }
    };
    (@default $self:ident $key:ident $by:ident $kind:ident []
        [[$($one:ident [$($own:expr)?])*]]) => {
        $($(if $self.$by == $kind::$one {
            $self.$key.get_or_insert_with(|| $own);
        })?)*
    };
}

pub(crate) use table;

/// Refuses a key that belongs to other kinds than `kind`, the value of the key `by`.
pub(crate) fn placed<K: PartialEq + Serialize>(
    key: &str,
    by: &str,
    kind: &K,
    of: &[K],
) -> Result<(), Problem> {
    if of.contains(kind) {
        return Ok(());
    }
    Err(ignored(key, &format!("{by} = {}", listed(of, "or"))))
}

/// Builds the problem of an absent key; `example` is an example of its value.
pub(crate) fn left_out(key: &str, example: &str) -> Problem {
    Problem::new(
        [],
        format!("has no {key:?}; write for example {key} = {example}"),
    )
}

/// Refuses a value outside its range.
pub(crate) fn within<T: PartialOrd + Serialize>(
    key: &str,
    value: &T,
    range: &RangeInclusive<T>,
    unit: &str,
) -> Result<(), Problem> {
    if range.contains(value) {
        return Ok(());
    }
    let (value, range) = (show(value), bounds(range));
    Err(fault(
        key,
        format!("= {value} is out of range; write {range}{unit}"),
    ))
}

/// Returns a value as a scenario has it.
fn show<T: Serialize>(value: &T) -> String {
    match json!(value).as_f64() {
        Some(x) if x != 0.0 && !(1e-4..1e6).contains(&x.abs()) && json!(value).is_f64() => {
            format!("{x:e}")
        }
        Some(x) => x.to_string(),
        None => json!(value).to_string(),
    }
}

fn bounds<T: Serialize>(range: &RangeInclusive<T>) -> String {
    let (low, high) = (show(range.start()), show(range.end()));
    if low == "\"0 s\"" {
        format!("at most {high}")
    } else {
        format!("{low} to {high}")
    }
}

/// Formats a list: `"a"`, `"a" or "b"`, `"a", "b" or "c"`; `joint` replaces "or".
fn listed<T: Serialize>(all: &[T], joint: &str) -> String {
    let names: Vec<_> = all.iter().map(show).collect();
    match names.as_slice() {
        [most @ .., last] if !most.is_empty() => format!("{} {joint} {last}", most.join(", ")),
        _ => names.concat(),
    }
}

/// Returns the schema of a key.
pub(crate) fn property<'a>(table: &'a mut Schema, key: &str) -> Option<&'a mut Schema> {
    let property = table.get_mut("properties")?.get_mut(key)?;
    property.try_into().ok()
}

/// Adds a sentence to the description of a schema.
pub(crate) fn say(schema: &mut Schema, sentence: &str) {
    let text = schema.get("description").and_then(Json::as_str);
    let text = text.map_or(sentence.to_owned(), |text| format!("{text} {sentence}"));
    schema.insert("description".to_owned(), text.into());
}

/// Sets the default of a key.
pub(crate) fn default<T: Serialize>(schema: &mut Schema, value: &T) {
    schema.insert("default".to_owned(), json!(value));
}

/// Adds the range of a key: a sentence, and bounds if the key is a number.
pub(crate) fn range<T: Serialize>(schema: &mut Schema, range: &RangeInclusive<T>, unit: &str) {
    for (bound, value) in [("minimum", range.start()), ("maximum", range.end())] {
        let value = json!(value);
        if value.is_number() {
            schema.insert(bound.to_owned(), value);
        }
    }
    let bounds = bounds(range);
    let mut letters = bounds.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    let sentence: String = first.into_iter().chain(letters).collect();
    say(schema, &format!("{sentence}{unit}."));
}

/// Adds the defaults of the kinds. Kinds with the same default share a sentence.
pub(crate) fn own_defaults<T: Serialize>(schema: &mut Schema, own: &[(Json, &dyn Fn() -> T)]) {
    let mut defaults: Vec<(String, Vec<&Json>)> = Vec::new();
    for (kind, default) in own {
        let default = show(&default());
        match defaults.iter_mut().find(|(other, _)| *other == default) {
            Some((_, kinds)) => kinds.push(kind),
            None => defaults.push((default, vec![kind])),
        }
    }
    for (default, kinds) in defaults {
        let kinds = listed(&kinds, "and");
        say(schema, &format!("By default {default} for {kinds}."));
    }
}

/// Adds the kinds in which a key has an effect.
pub(crate) fn of<K: Serialize>(schema: &mut Schema, kinds: &[K]) {
    say(schema, &format!("For {}.", listed(kinds, "and")));
}

#[cfg(test)]
#[allow(unreachable_pub)] // The macro makes public items.
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;
    use crate::units::Time;
    use farlink_tcp::Interval;

    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Kind {
        Bird,
        Fish,
        Stone,
    }

    table! {
        #[derive(Debug, Serialize, Deserialize, JsonSchema)]
        pub struct Sample for kind: Kind {
            kind: Kind;
            /// Mass of the animal.
            grams: f64, in 0.5..=10.0, unit "g";
            /// Colours of the animal.
            colours?: u32, in 1..=7, or "leave it out", of [Bird, Fish];
            /// Food of the animal.
            eats?: String, of [Fish], like "\"flies\"";
            /// Length of the stay.
            stay?: Time = Time(Interval::from_secs(2)), in Time(Interval::ZERO)..=Time(Interval::from_secs(9));
            /// Limbs of the animal.
            limbs?: u32, in 0..=8, of [Bird = 2, Fish = 5];
            /// Whether the first is red.
            red?: bool = true, of [Bird, Fish], needs name;
            /// Name of the animal.
            name?: String;
        }
    }

    fn sample(text: &str) -> Sample {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn values_that_violate_an_entry_are_refused() {
        for (text, message) in [
            (
                r#""kind": "bird", "grams": 1.0, "limbs": 8, "name": "b", "red": false"#,
                "",
            ),
            (
                r#""kind": "bird", "grams": 0.4"#,
                "grams = 0.4 is out of range; write 0.5 to 10 (g)",
            ),
            (
                r#""kind": "bird", "grams": 1.0, "stay": "10 s""#,
                "stay = \"10 s\" is out of range; write at most \"9 s\"",
            ),
            (
                r#""kind": "bird", "grams": 1.0, "limbs": 9"#,
                "limbs = 9 is out of range; write 0 to 8",
            ),
            (
                r#""kind": "stone", "grams": 1.0, "limbs": 1"#,
                "limbs would be ignored; it needs kind = \"bird\" or \"fish\"",
            ),
            (
                r#""kind": "bird", "grams": 1.0, "colours": 8"#,
                "colours = 8 is out of range; write 1 to 7, or leave it out",
            ),
            (
                r#""kind": "fish", "grams": 1.0"#,
                "the scenario has no \"eats\"; write for example eats = \"flies\"",
            ),
            (
                r#""kind": "bird", "grams": 1.0, "eats": "figs""#,
                "eats would be ignored; it needs kind = \"fish\"",
            ),
            (
                r#""kind": "fish", "grams": 1.0, "eats": "flies", "red": true"#,
                "red would be ignored; it needs name",
            ),
        ] {
            let measured = sample(&format!("{{{text}}}")).check_keys();
            assert_eq!(
                measured.map_or_else(|p| p.to_string(), |()| String::new()),
                message
            );
        }
    }

    #[test]
    fn defaults_are_those_of_the_kind() {
        let filled = |text: &str| {
            let mut sample = sample(text);
            sample.fill();
            (sample.limbs, sample.red, sample.stay())
        };
        let stay = Time(Interval::from_secs(2));
        assert_eq!(
            filled(r#"{ "kind": "bird", "grams": 1.0 }"#),
            (Some(2), None, stay)
        );
        let fish = r#"{ "kind": "fish", "grams": 1.0, "name": "f" }"#;
        assert_eq!(filled(fish), (Some(5), Some(true), stay));
        assert!(sample(fish).red());
        let stone = r#"{ "kind": "stone", "grams": 1.0, "name": "s", "stay": "1 s" }"#;
        assert_eq!(filled(stone), (None, None, Time(Interval::from_secs(1))));
    }

    #[test]
    fn the_schema_states_the_entries() {
        let schema = schemars::schema_for!(Sample).to_value();
        let text = |key: &str| schema["properties"][key]["description"].clone();
        assert_eq!(text("grams"), "Mass of the animal. 0.5 to 10 (g).");
        assert_eq!(text("stay"), "Length of the stay. At most \"9 s\".");
        let colours = "Colours of the animal. 1 to 7, or leave it out. For \"bird\" and \"fish\".";
        assert_eq!(text("colours"), colours);
        let eats = "Food of the animal. For \"fish\". Has to be there, like \"flies\".";
        assert_eq!(text("eats"), eats);
        let limbs = "Limbs of the animal. 0 to 8. By default 2 for \"bird\". By default 5 for \"fish\". For \"bird\" and \"fish\".";
        assert_eq!(text("limbs"), limbs);
        let red = "Whether the first is red. For \"bird\" and \"fish\". Needs `name`.";
        assert_eq!(text("red"), red);
        assert_eq!(schema["properties"]["stay"]["default"], "2 s");
        assert_eq!(schema["properties"]["limbs"]["maximum"], 8);
    }
}
