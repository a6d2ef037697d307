//! Tables of metrics: entries with a description and a function that computes the value.

use farlink_channel::DropCause;
use serde::Serialize;

/// Subject of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// A flow.
    Flow,
    /// A link direction.
    Link,
    /// A run as a whole.
    Run,
    /// An agent at a router.
    Agent,
}

/// A metric.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Metric {
    /// Name in results.
    pub name: String,
    /// Subject.
    pub scope: Scope,
    /// Unit; empty for numbers without one.
    pub unit: &'static str,
    /// Kind of number.
    pub kind: Kind,
    /// Rule that combines the values of several flows.
    pub combine: Combine,
    /// For [`Combine::Pooled`]: the metric of the counted part, and the metric of the remainder.
    pub pooled: &'static [&'static str],
    /// Exact definition.
    pub definition: String,
}

/// Kinds of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Count.
    Count,
    /// 0 or 1.
    Flag,
    /// Bits a second.
    Rate,
    /// Quotient of two quantities, not limited to 1.
    Ratio,
    /// Fraction of a whole, 0 to 1.
    Share,
    /// Bytes.
    Size,
    /// Seconds.
    Time,
}

/// Rule that combines the values of a run's flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Combine {
    /// Sum.
    Sum,
    /// Mean.
    Mean,
    /// Sum of the parts divided by the sum of the wholes. A mean of the ratios would give a slow
    /// flow with few packets the weight of a fast flow.
    Pooled,
    /// No combination: metrics of links, runs and agents.
    Apart,
}

/// Subject of a table of metrics.
pub(super) trait Subject {
    /// Data from which the metrics are computed.
    type View<'a>;
}

/// An entry of the registry.
pub(super) struct Measure<S: Subject> {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) kind: Kind,
    pub(super) combine: Combine,
    pub(super) pooled: &'static [&'static str],
    pub(super) definition: &'static str,
    pub(super) value: Value<S>,
}

/// Function of a metric; it returns `None` if there is nothing to measure.
pub(super) enum Value<S: Subject> {
    One(fn(&S::View<'_>) -> Option<f64>),
    /// One value for each drop cause, whose name is appended to that of the entry.
    Each(fn(&S::View<'_>, DropCause) -> Option<f64>),
}

/// Declares a table of metrics. An entry has a name, a unit, a kind, the rule that combines flows,
/// a value and a definition. A pooled rule names the metrics of the part and of the remainder.
macro_rules! measures {
    ($table:ident: $subject:ty;
     $($name:literal $unit:literal $kind:ident $combine:ident $(: $part:literal + $rest:literal,)?
       $value:expr, $definition:literal;)*
     $(each $prefix:literal $u:literal $k:ident $c:ident $v:expr, $d:literal;)?
    ) => {
        pub(in crate::metrics) static $table: &[$crate::metrics::table::Measure<$subject>] = &[
            $(measures!($name $unit $kind $combine [$($part, $rest)?] One $value, $definition),)*
            $(measures!($prefix $u $k $c [] Each $v, $d),)?
        ];
    };
    ($name:literal $unit:literal $kind:ident $combine:ident [$($of:literal),*] $how:ident
     $value:expr, $definition:literal) => {
        $crate::metrics::table::Measure {
            name: $name,
            unit: $unit,
            kind: $crate::metrics::table::Kind::$kind,
            combine: $crate::metrics::table::Combine::$combine,
            pooled: &[$($of),*],
            definition: farlink_small::reference($definition),
            value: $crate::metrics::table::Value::$how($value),
        }
    };
}
pub(super) use measures;

impl<S: Subject> Measure<S> {
    pub(super) fn described(&self, scope: Scope) -> Vec<Metric> {
        let item = |name: String, definition: String| Metric {
            name,
            scope,
            unit: self.unit,
            kind: self.kind,
            combine: self.combine,
            pooled: self.pooled,
            definition,
        };
        match self.value {
            Value::One(_) => vec![item(self.name.to_owned(), self.definition.to_owned())],
            Value::Each(_) => DropCause::ALL
                .iter()
                .map(|cause| cause.name())
                .map(|cause| {
                    item(
                        format!("{}{cause}", self.name),
                        format!("{}, cause {cause}", self.definition),
                    )
                })
                .collect(),
        }
    }
}

/// Computes the values of all metrics of a table.
pub(super) fn taken<S: Subject>(table: &[Measure<S>], view: &S::View<'_>) -> Values {
    let width = |measure: &Measure<S>| match measure.value {
        Value::One(_) => 1,
        Value::Each(_) => DropCause::ALL.len(),
    };
    let mut values = Vec::with_capacity(table.iter().map(width).sum());
    for measure in table {
        match measure.value {
            Value::One(value) => values.push(or_nan(value(view))),
            Value::Each(value) => {
                values.extend(
                    DropCause::ALL
                        .iter()
                        .map(|&cause| or_nan(value(view, cause))),
                );
            }
        }
    }
    Values(values.into_boxed_slice())
}

/// Values of one flow or link direction, in the order of [`super::metrics`]; `None` if there was
/// nothing to measure.
///
/// A run of a thousand flows has a hundred thousand values. As options they would use more memory
/// than the connections, so `None` is stored as NaN, which is never a metric's value.
#[derive(Clone, Debug)]
pub(crate) struct Values(Box<[f64]>);

impl Values {
    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        self.0.iter().map(|&x| (!x.is_nan()).then_some(x))
    }

    pub(crate) fn as_slice(&self) -> &[f64] {
        &self.0
    }
}

impl FromIterator<Option<f64>> for Values {
    fn from_iter<T: IntoIterator<Item = Option<f64>>>(iter: T) -> Self {
        Self(iter.into_iter().map(or_nan).collect())
    }
}

/// Returns the stored form of a value: NaN for `None`.
fn or_nan(value: Option<f64>) -> f64 {
    value.unwrap_or(f64::NAN)
}

impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// Returns `part / of`, or `None` if `of` is 0.
pub(super) fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

pub(super) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
