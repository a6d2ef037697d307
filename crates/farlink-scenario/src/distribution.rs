//! Times and sizes that may be random: a single value, or a table with a distribution.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::checks::out_of_range;
use super::decode::Problem;
use super::table::table;
use super::tree::Step;
use super::units::{Size, Time};
use farlink_channel::distribution::Distribution;

/// Distributions of times and sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DistributionName {
    /// Exponential. Needs `mean`.
    Exponential,
    /// P(X > x) = (min / x)^shape. Needs `shape`, and `mean` or `min`. With `max` the distribution
    /// is conditional on X <= max. Without `max`, a `mean` needs a shape above 1.
    Pareto,
    /// The logarithm has a normal distribution with standard deviation `sigma`. Needs `mean` and
    /// `sigma`.
    LogNormal,
}

table! {
    /// A distribution of a time.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct TimeDistributionTable {
        /// Name of the distribution.
        distribution: DistributionName;
        /// Mean, above 0 s; with `max` the mean of values up to `max`.
        mean?: Time;
        /// Smallest value, for "pareto", instead of `mean`.
        min?: Time;
        /// Largest value, for "pareto".
        max?: Time;
        /// Shape, for "pareto", above 0 and up to 100.
        shape?: f64;
        /// Standard deviation of the natural logarithm, for "log-normal", above 0 and
        /// up to 10.
        sigma?: f64;
    }
}

table! {
    /// A distribution of a size.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct SizeDistributionTable {
        /// Name of the distribution.
        distribution: DistributionName;
        /// Mean, above 0 B; with `max` the mean of values up to `max`.
        mean?: Size;
        /// Smallest value, for "pareto", instead of `mean`.
        min?: Size;
        /// Largest value, for "pareto".
        max?: Size;
        /// Shape, for "pareto", above 0 and up to 100.
        shape?: f64;
        /// Standard deviation of the natural logarithm, for "log-normal", above 0 and
        /// up to 10.
        sigma?: f64;
    }
}

/// Declares a type of a constant value or a distribution of values.
macro_rules! drawn {
    ($(#[$doc:meta])* $name:ident, $title:literal, $value:ident, $table:ident, $number:expr, $example:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub enum $name {
            /// Constant value.
            Just($value),
            /// Random values.
            Drawn($table),
        }

        impl $name {
            /// Returns the constant value, for an application that takes no distribution.
            pub(super) fn just(self, key: &str, app: &str) -> Result<$value, Problem> {
                match self {
                    Self::Just(value) => Ok(value),
                    Self::Drawn(_) => {
                        let message = format!(
                            "is a distribution, and app = {app:?} takes one value; write for \
                             example {key} = {:?}",
                            $example
                        );
                        Err(Problem::new([Step::from(key)], message))
                    }
                }
            }

            /// Returns the checked distribution, of nanoseconds or bytes.
            pub(super) fn distribution(&self, key: &str) -> Result<Distribution, Problem> {
                match self {
                    Self::Just(value) => Ok(Distribution::Constant($number(value))),
                    Self::Drawn(t) => {
                        let bounds = [t.mean, t.min, t.max].map(|x| x.as_ref().map($number));
                        table_distribution(t.distribution, bounds, t.shape, t.sigma, $example)
                            .map_err(|problem| problem.within(key))
                    }
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    Self::Just(value) => value.serialize(serializer),
                    Self::Drawn(table) => table.serialize(serializer),
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Any;
                impl<'de> Visitor<'de> for Any {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!(
                            "a value such as \"", $example, "\" or a table such as ",
                            "{ distribution = \"exponential\", mean = \"", $example, "\" }"
                        ))
                    }
                    fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<$name, E> {
                        $value::deserialize(v.into_deserializer()).map($name::Just)
                    }
                    // A number without a unit is refused by the type of the value, whose message
                    // explains it.
                    fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<$name, E> {
                        $value::deserialize(v.into_deserializer()).map($name::Just)
                    }
                    fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<$name, E> {
                        $value::deserialize(v.into_deserializer()).map($name::Just)
                    }
                    fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<$name, E> {
                        $value::deserialize(v.into_deserializer()).map($name::Just)
                    }
                    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<$name, A::Error> {
                        $table::deserialize(MapAccessDeserializer::new(map)).map($name::Drawn)
                    }
                }
                deserializer.deserialize_any(Any)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let value = generator.subschema_for::<$value>();
                let table = generator.subschema_for::<$table>();
                json_schema!({ "title": $title, "anyOf": [value, table] })
            }
        }
    };
}

drawn!(
    /// Time, or a distribution of times.
    TimeDistribution, "time or distribution", Time, TimeDistributionTable,
    |time: &Time| time.0.as_nanos() as f64, "10 s"
);
drawn!(
    /// Size, or a distribution of sizes.
    SizeDistribution, "size or distribution", Size, SizeDistributionTable,
    |size: &Size| size.0 as f64, "10 kB"
);

/// Returns the distribution of a table.
fn table_distribution(
    name: DistributionName,
    [mean, min, max]: [Option<f64>; 3],
    shape: Option<f64>,
    sigma: Option<f64>,
    example: &str,
) -> Result<Distribution, Problem> {
    use DistributionName::{Exponential, LogNormal, Pareto};
    let keys = [
        ("min", min.is_some(), Pareto),
        ("max", max.is_some(), Pareto),
        ("shape", shape.is_some(), Pareto),
        ("sigma", sigma.is_some(), LogNormal),
    ];
    for (key, written, wanted) in keys {
        if written && name != wanted {
            let wanted = if wanted == Pareto {
                "pareto"
            } else {
                "log-normal"
            };
            let message = format!("would be ignored; it needs distribution = {wanted:?}");
            return Err(Problem::new([Step::from(key)], message));
        }
    }
    for (key, value) in [("mean", mean), ("min", min), ("max", max)] {
        if value == Some(0.0) {
            let message = format!("is 0 and must be above it; write for example {example:?}");
            return Err(Problem::new([Step::from(key)], message));
        }
    }
    let missing = |key: &str, example: &str| {
        Problem::new(
            [],
            format!("has no {key:?}; write for example {key} = {example}"),
        )
    };
    let quoted = format!("{example:?}");
    let needs_mean = || mean.ok_or_else(|| missing("mean", &quoted));
    let between = |key: &str, value: Option<f64>, most: f64, example: &str| match value {
        Some(x) if x > 0.0 && x <= most => Ok(x),
        Some(x) => {
            let message = format!("{x} is out of range; write a number above 0 and up to {most}");
            Err(out_of_range([Step::from(key)], &message))
        }
        None => Err(missing(key, example)),
    };
    Ok(match name {
        Exponential => Distribution::Exponential {
            mean: needs_mean()?,
        },
        LogNormal => {
            let sigma = between("sigma", sigma, 10.0, "1.0")?;
            Distribution::log_normal_of_mean(needs_mean()?, sigma)
        }
        Pareto => {
            let shape = between("shape", shape, 100.0, "1.5")?;
            pareto([mean, min, max], shape, || missing("mean", &quoted))?
        }
    })
}

/// Builds a Pareto distribution from its mean or its least value. With a largest value it is
/// bounded.
fn pareto(
    [mean, min, max]: [Option<f64>; 3],
    shape: f64,
    no_mean: impl Fn() -> Problem,
) -> Result<Distribution, Problem> {
    if mean.is_some() && min.is_some() {
        return Err(Problem::new(
            [],
            "has both \"mean\" and \"min\"; write one of them",
        ));
    }
    let below_max = |key: &str, value: f64, max: f64| {
        if value < max {
            return Ok(());
        }
        let message = format!("is not above {key}; write a larger max");
        Err(Problem::new([Step::from("max")], message))
    };
    Ok(match (mean, min, max) {
        (Some(mean), _, Some(most)) => {
            below_max("mean", mean, most)?;
            Distribution::bounded_pareto_of_mean(mean, most, shape)
        }
        (Some(mean), _, None) if shape > 1.0 => Distribution::pareto_of_mean(mean, shape),
        (Some(_), _, None) => {
            let message = format!(
                "= {shape} has no mean; write a shape above 1, or \"min\" instead of \
                 \"mean\", or a \"max\""
            );
            return Err(Problem::new([Step::from("shape")], message));
        }
        (None, Some(least), Some(most)) => {
            below_max("min", least, most)?;
            Distribution::BoundedPareto { least, most, shape }
        }
        (None, Some(least), None) => Distribution::Pareto { least, shape },
        (None, None, _) => return Err(no_mean()),
    })
}
