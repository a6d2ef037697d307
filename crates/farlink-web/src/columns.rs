//! Columns of a trace as the page reads them: arrays of 64-bit reals or of short integers.

use farlink_sim::scenario::Expanded;
use farlink_sim::{Column, Holds, Table, columns_of};

/// Values of a column.
#[derive(Debug, PartialEq)]
pub(crate) enum Values {
    /// Real numbers, times in seconds, and 64-bit integers; NaN means no value.
    F64(Vec<f64>),
    U32(Vec<u32>),
    U8(Vec<u8>),
}

impl Values {
    /// Returns the name of the type, the address of the first value and the number of values.
    pub(crate) fn place(&self) -> (&'static str, usize, usize) {
        match self {
            Self::F64(v) => ("f64", v.as_ptr().addr(), v.len()),
            Self::U32(v) => ("u32", v.as_ptr().addr(), v.len()),
            Self::U8(v) => ("u8", v.as_ptr().addr(), v.len()),
        }
    }
}

/// A column with its name, and the words for its numbers.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) values: Values,
    pub(crate) names: Vec<String>,
}

/// Converts a table of the engine to the units of its trace.
pub(crate) fn of(table: Table, scenario: &Expanded) -> Vec<Named> {
    let known = columns_of(table.name);
    let columns = known.iter().zip(table.columns);
    let named = columns.map(|(known, (name, column))| Named {
        name,
        names: names(known.holds, scenario),
        values: read(known.holds, column),
    });
    named.collect()
}

fn names(holds: Holds, scenario: &Expanded) -> Vec<String> {
    match holds {
        Holds::Flow => scenario.flows.iter().map(|f| f.name.clone()).collect(),
        Holds::Link => scenario.links.iter().map(|l| l.name.clone()).collect(),
        Holds::Name(names) | Holds::NameOrNone(names) => {
            names().into_iter().map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

fn read(holds: Holds, column: Column) -> Values {
    const SECOND: f64 = 1e9;
    match holds {
        Holds::Time => reals(column, |n| n as f64 / SECOND),
        Holds::TimeOrNone => reals(
            column,
            |n| if n == 0 { f64::NAN } else { n as f64 / SECOND },
        ),
        Holds::TimeOrNever => reals(column, |n| none_above(n, u64::MAX) / SECOND),
        Holds::Window => reals(column, |n| {
            if n == u64::MAX {
                f64::INFINITY
            } else {
                n as f64
            }
        }),
        Holds::WholeOrNone => match column {
            // The largest number of the column's own type means no value.
            Column::U32(v) => reals(Column::U32(v), |n| none_above(n, u32::MAX.into())),
            Column::U8(v) => reals(Column::U8(v), |n| none_above(n, u8::MAX.into())),
            other => reals(other, |n| none_above(n, u64::MAX)),
        },
        _ => match column {
            Column::F64(v) => Values::F64(v),
            Column::U32(v) => Values::U32(v),
            Column::U8(v) => Values::U8(v),
            other => reals(other, |n| n as f64),
        },
    }
}

fn none_above(n: u64, none: u64) -> f64 {
    if n == none { f64::NAN } else { n as f64 }
}

/// Converts whole numbers to reals, in place where they have 64 bits.
fn reals(column: Column, value: impl Fn(u64) -> f64) -> Values {
    Values::F64(match column {
        Column::I64(v) => v.into_iter().map(|n| value(n as u64)).collect(),
        Column::U64(v) => v.into_iter().map(value).collect(),
        Column::U32(v) => v.into_iter().map(|n| value(n.into())).collect(),
        Column::U8(v) => v.into_iter().map(|n| value(n.into())).collect(),
        Column::F64(v) => v,
    })
}
