//! Columns of equal length for Python: bytes in NumPy's layout, and a list of texts.

use crate::errors;
use farlink_sim::scenario::Expanded;
use farlink_sim::{Column, Holds, Table, TraceColumn, columns_of};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// Values of one column.
pub(crate) enum Values {
    /// Real numbers; NaN means no value.
    F64(Vec<f64>),
    /// Whole numbers, and for each row whether it has a value. An empty second list means that all
    /// rows have one.
    I64(Vec<i64>, Vec<bool>),
    U64(Vec<u64>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    U8(Vec<u8>),
    Flag(Vec<u8>),
    /// For each row an index into the list of texts.
    Text(Vec<i32>, Vec<String>),
}

impl Values {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::F64(v) => v.len(),
            Self::I64(v, _) => v.len(),
            Self::U64(v) => v.len(),
            Self::U32(v) => v.len(),
            Self::I32(v) | Self::Text(v, _) => v.len(),
            Self::U8(v) | Self::Flag(v) => v.len(),
        }
    }

    /// Returns the NumPy type name. Text columns have the type of their indices.
    pub(crate) fn dtype(&self) -> &'static str {
        match self {
            Self::F64(_) => "float64",
            Self::I64(..) => "int64",
            Self::U64(_) => "uint64",
            Self::U32(_) => "uint32",
            Self::I32(_) | Self::Text(..) => "int32",
            Self::U8(_) => "uint8",
            Self::Flag(_) => "bool",
        }
    }

    /// Parses a column from bytes in NumPy's layout.
    fn parse(dtype: &str, data: &[u8], present: Vec<bool>, texts: Option<Vec<String>>) -> Self {
        fn numbers<const N: usize, T>(data: &[u8], read: fn([u8; N]) -> T) -> Vec<T> {
            data.as_chunks()
                .0
                .iter()
                .map(|&bytes| read(bytes))
                .collect()
        }
        match (dtype, texts) {
            (_, Some(texts)) => Self::Text(numbers(data, i32::from_ne_bytes), texts),
            ("float64", _) => Self::F64(numbers(data, f64::from_ne_bytes)),
            ("int64", _) => Self::I64(numbers(data, i64::from_ne_bytes), present),
            ("uint64", _) => Self::U64(numbers(data, u64::from_ne_bytes)),
            ("uint32", _) => Self::U32(numbers(data, u32::from_ne_bytes)),
            ("int32", _) => Self::I32(numbers(data, i32::from_ne_bytes)),
            ("bool", _) => Self::Flag(data.to_vec()),
            _ => Self::U8(data.to_vec()),
        }
    }

    fn bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        fn copy<'py, const N: usize, T: Copy>(
            py: Python<'py>,
            values: &[T],
            write: fn(T) -> [u8; N],
        ) -> PyResult<Bound<'py, PyBytes>> {
            PyBytes::new_with(py, N * values.len(), |out| {
                for (place, &value) in out.as_chunks_mut().0.iter_mut().zip(values) {
                    *place = write(value);
                }
                Ok(())
            })
        }
        match self {
            Self::F64(v) => copy(py, v, f64::to_ne_bytes),
            Self::I64(v, _) => copy(py, v, i64::to_ne_bytes),
            Self::U64(v) => copy(py, v, u64::to_ne_bytes),
            Self::U32(v) => copy(py, v, u32::to_ne_bytes),
            Self::I32(v) | Self::Text(v, _) => copy(py, v, i32::to_ne_bytes),
            Self::U8(v) | Self::Flag(v) => Ok(PyBytes::new(py, v)),
        }
    }
}

/// Columns of one length with their names.
#[pyclass(frozen)]
pub(crate) struct Columns(pub(crate) Vec<(String, Arc<Values>)>);

/// NumPy type, bytes, one byte per row that is 1 if the row has a value, texts.
type Layout<'py> = (
    &'static str,
    Bound<'py, PyBytes>,
    Option<Bound<'py, PyBytes>>,
    Option<Vec<String>>,
);

#[pymethods]
impl Columns {
    /// Builds columns from tuples (name, NumPy type, bytes, presence bytes, texts).
    #[new]
    #[allow(clippy::type_complexity)] // Python gives it so
    fn parse(
        columns: Vec<(
            String,
            String,
            PyBackedBytes,
            Option<PyBackedBytes>,
            Option<Vec<String>>,
        )>,
    ) -> PyResult<Self> {
        let columns = columns
            .into_iter()
            .map(|(name, dtype, data, present, texts)| {
                let present = present
                    .iter()
                    .flat_map(|rows| rows.iter())
                    .map(|&x| x != 0)
                    .collect();
                (name, Values::parse(&dtype, &data, present, texts))
            });
        Self::new(columns.collect())
    }

    fn __len__(&self) -> usize {
        self.0.first().map_or(0, |(_, values)| values.len())
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the columns with these names, in this order.
    fn select(&self, names: Vec<String>) -> PyResult<Self> {
        let chosen = names.into_iter().map(|name| {
            let values = Arc::clone(self.get(&name)?);
            Ok((name, values))
        });
        chosen.collect::<PyResult<_>>().map(Self)
    }

    /// Returns NumPy type, bytes, presence bytes (None if all rows have a value) and texts of a
    /// column.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Layout<'py>> {
        let values = self.get(name)?;
        let (present, texts) = match &**values {
            Values::I64(_, present) if !present.is_empty() => {
                let present: Vec<u8> = present.iter().map(|&x| u8::from(x)).collect();
                (Some(PyBytes::new(py, &present)), None)
            }
            Values::Text(_, texts) => (None, Some(texts.clone())),
            _ => (None, None),
        };
        Ok((values.dtype(), values.bytes(py)?, present, texts))
    }
}

impl Columns {
    pub(crate) fn new(columns: Vec<(String, Values)>) -> PyResult<Self> {
        let rows = columns.first().map_or(0, |(_, values)| values.len());
        if columns.iter().any(|(_, values)| values.len() != rows) {
            return Err(PyValueError::new_err("columns differ in length"));
        }
        let columns = columns.into_iter();
        Ok(Self(
            columns
                .map(|(name, values)| (name, Arc::new(values)))
                .collect(),
        ))
    }

    fn get(&self, name: &str) -> PyResult<&Arc<Values>> {
        let column = self.0.iter().find(|(known, _)| known == name);
        let missing = || errors::internal(&format!("no column {name}"));
        column.map(|(_, values)| values).ok_or_else(missing)
    }

    /// Builds columns from unconverted numbers.
    pub(crate) fn raw<const N: usize>(columns: [(&'static str, Column); N]) -> PyResult<Self> {
        let columns = columns.map(|(name, column)| (name.to_owned(), plain(column)));
        Self::new(columns.into())
    }

    /// Builds the table of a trace, with times in seconds and with the names of flows and links.
    pub(crate) fn of(table: Table, scenario: &Expanded) -> PyResult<Self> {
        let known = columns_of(table.name);
        let columns = known.iter().zip(table.columns);
        let columns =
            columns.map(|(known, (name, column))| (name.to_owned(), read(known, column, scenario)));
        Self::new(columns.collect())
    }
}

/// Converts a column of the engine to the unit of its trace.
fn read(known: &TraceColumn, column: Column, scenario: &Expanded) -> Values {
    const NONE: u64 = u64::MAX;
    let seconds = |n: u64| n as f64 / 1e9;
    let numbers = |column: Column, value: fn(u64) -> f64| {
        Values::F64(column.numbers().into_iter().map(value).collect())
    };
    match known.holds {
        Holds::Time => Values::F64(column.numbers().into_iter().map(seconds).collect()),
        Holds::TimeOrNone => numbers(column, |n| if n == 0 { f64::NAN } else { n as f64 / 1e9 }),
        Holds::TimeOrNever => numbers(
            column,
            |n| if n == NONE { f64::NAN } else { n as f64 / 1e9 },
        ),
        Holds::Window => numbers(column, |n| if n == NONE { f64::INFINITY } else { n as f64 }),
        Holds::Whole => {
            let whole = column.numbers().into_iter().map(|n| n as i64);
            Values::I64(whole.collect(), Vec::new())
        }
        Holds::WholeOrNone => {
            let numbers: Vec<_> = column.numbers().into_iter().collect();
            let present = numbers.iter().map(|&n| n != NONE).collect();
            let whole = numbers
                .iter()
                .map(|&n| if n == NONE { 0 } else { n as i64 });
            Values::I64(whole.collect(), present)
        }
        Holds::Real => plain(column),
        Holds::Flag => {
            let flags = column.numbers().into_iter().map(|n| u8::from(n != 0));
            Values::Flag(flags.collect())
        }
        Holds::Flow | Holds::Link | Holds::Name(_) | Holds::NameOrNone(_) => {
            let names = names_of(known, scenario);
            let last = names.len().saturating_sub(1) as u64;
            let places = column.numbers().into_iter().map(|n| n.min(last) as i32);
            Values::Text(places.collect(), names)
        }
    }
}

/// Returns the texts that the numbers of a column are indices of; empty for other columns. A number
/// behind the list means the last text.
pub(crate) fn names_of(known: &TraceColumn, scenario: &Expanded) -> Vec<String> {
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    match known.holds {
        Holds::Flow => scenario
            .flows
            .iter()
            .map(|flow| flow.name.clone())
            .collect(),
        Holds::Link => scenario
            .links
            .iter()
            .map(|link| link.name.clone())
            .collect(),
        Holds::Name(names) => owned(names()),
        Holds::NameOrNone(names) => owned(names().into_iter().chain([""]).collect()),
        _ => Vec::new(),
    }
}

/// Returns the numbers of a column unconverted.
pub(crate) fn plain(column: Column) -> Values {
    match column {
        Column::I64(v) => Values::I64(v, Vec::new()),
        Column::U64(v) => Values::U64(v),
        Column::U32(v) => Values::U32(v),
        Column::U8(v) => Values::U8(v),
        Column::F64(v) => Values::F64(v),
    }
}
