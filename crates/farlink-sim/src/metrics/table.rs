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
    Values::packed(&values)
}

/// Values of one flow or link direction, in the order of [`super::metrics`]; `None` if there was
/// nothing to measure.
///
/// A run of 100,000 flows has eight million values, most of them 0 or `None`. These take no room of
/// their own: words with a bit for each value tell the positive zeros and the other numbers, and
/// the other numbers follow.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    count: u32,
    words: Box<[u64]>,
}

/// Number of words before the other numbers: for each 64 values, a word with the bits of zeros and
/// a word with those of the other numbers.
fn head(count: u32) -> usize {
    2 * (count as usize).div_ceil(64)
}

impl Values {
    /// Packs values, in which NaN is `None`.
    fn packed(values: &[f64]) -> Self {
        let count = values.len() as u32;
        let others = |&&x: &&f64| !x.is_nan() && x.to_bits() != 0;
        let mut words = Vec::with_capacity(head(count) + values.iter().filter(others).count());
        for group in values.chunks(64) {
            let bits = |of: &dyn Fn(&&f64) -> bool| {
                let each = group.iter().zip(0..);
                each.map(|(x, place)| u64::from(of(&x)) << place)
                    .sum::<u64>()
            };
            words.extend([bits(&|x| x.to_bits() == 0), bits(&others)]);
        }
        words.extend(values.iter().filter(others).map(|x| x.to_bits()));
        Self {
            count,
            words: words.into_boxed_slice(),
        }
    }

    /// Returns the values, NaN for `None`.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        let (head, others) = self.words.split_at(head(self.count));
        let mut others = others.iter();
        (0..self.count as usize).map(move |place| {
            let at = |word: usize| head[2 * (place / 64) + word] >> (place % 64) & 1 != 0;
            match (at(0), at(1)) {
                (true, _) => 0.0,
                (_, true) => others.next().map_or(f64::NAN, |&bits| f64::from_bits(bits)),
                _ => f64::NAN,
            }
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        self.numbers().map(|x| (!x.is_nan()).then_some(x))
    }
}

impl FromIterator<Option<f64>> for Values {
    fn from_iter<T: IntoIterator<Item = Option<f64>>>(iter: T) -> Self {
        Self::packed(&iter.into_iter().map(or_nan).collect::<Vec<_>>())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Packing changes no bit: `None`, both zeros, other numbers, in more than one group.
    #[test]
    fn values_are_unpacked_to_the_bit() {
        let kinds = [
            None,
            Some(0.0),
            Some(-0.0),
            Some(1.5),
            Some(f64::MIN_POSITIVE),
        ];
        for count in [0, 1, 63, 64, 65, 128, 200] {
            let all: Vec<_> = (0..count).map(|i| kinds[i * i % 7 % 5]).collect();
            let values: Values = all.iter().copied().collect();
            let bits = |x: Option<f64>| x.map(f64::to_bits);
            assert!(values.iter().map(bits).eq(all.iter().copied().map(bits)));
            assert_eq!(values.numbers().count(), count);
        }
        let zeros: Values = (0..64).map(|_| Some(0.0)).collect();
        assert_eq!(zeros.words.len(), 2);
    }
}
