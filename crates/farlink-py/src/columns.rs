//! Columns for Python, by the C data interface of Arrow: whoever reads Arrow (pyarrow,
//! pandas, polars, DuckDB) takes them without a copy.

use crate::errors;
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_data::ffi::FFI_ArrowArray;
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Fields};
use farlink_sim::scenario::Expanded;
use farlink_sim::{Column, Holds, Table, TraceColumn, columns_of};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// An array, or why it is none.
pub(crate) type Built = Result<ArrayData, ArrowError>;

/// Columns of one length with their names: an Arrow struct array, which is a batch of a
/// table.
#[pyclass(frozen)]
pub(crate) struct Columns {
    fields: Fields,
    data: ArrayData,
}

#[pymethods]
impl Columns {
    /// The Arrow PyCapsule interface. What is asked for beside is not converted to.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        let schema = FFI_ArrowSchema::try_from(DataType::Struct(self.fields.clone()));
        let schema = schema.map_err(|e| errors::internal(&e))?;
        let array = FFI_ArrowArray::new(&self.data);
        Ok((
            PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }
}

impl Columns {
    /// Columns as they are.
    pub(crate) fn raw<const N: usize>(columns: [(&'static str, Column); N]) -> PyResult<Self> {
        let columns = columns.map(|(name, column)| (name.to_owned(), plain(column), false));
        Self::new(columns.into())
    }

    /// A table of a trace, as people read it.
    pub(crate) fn of(table: Table, scenario: &Expanded) -> PyResult<Self> {
        let known = columns_of(table.name);
        let columns = known.iter().zip(table.columns);
        let columns = columns.map(|(known, (name, column))| {
            let (data, may_be_none) = read(known, column, scenario);
            (name.to_owned(), data, may_be_none)
        });
        Self::new(columns.collect())
    }

    /// Columns by name, and whether some of each may be nothing.
    pub(crate) fn new(columns: Vec<(String, Built, bool)>) -> PyResult<Self> {
        let (mut fields, mut children) = (Vec::new(), Vec::new());
        for (name, data, may_be_none) in columns {
            let data = data.map_err(|e| errors::internal(&e))?;
            fields.push(Field::new(name, data.data_type().clone(), may_be_none));
            children.push(data);
        }
        let fields = Fields::from(fields);
        let data = ArrayDataBuilder::new(DataType::Struct(fields.clone()))
            .len(children.first().map_or(0, ArrayData::len))
            .child_data(children)
            .build()
            .map_err(|e| errors::internal(&e))?;
        Ok(Self { fields, data })
    }
}

/// A column of what its numbers stand for, and whether some may stand for nothing.
fn read(known: &TraceColumn, column: Column, scenario: &Expanded) -> (Built, bool) {
    const NONE: u64 = u64::MAX;
    let seconds = |n: u64| n as f64 / 1e9;
    let data = match known.holds {
        Holds::Time => real(column.numbers().into_iter().map(seconds)),
        Holds::TimeOrNone => real(
            column
                .numbers()
                .into_iter()
                .map(|n| if n == 0 { f64::NAN } else { seconds(n) }),
        ),
        Holds::Whole => plain(Column::I64(
            column.numbers().into_iter().map(|n| n as i64).collect(),
        )),
        Holds::WholeOrNone => {
            let numbers: Vec<_> = column.numbers().into_iter().collect();
            let there = BooleanBuffer::collect_bool(numbers.len(), |i| numbers[i] != NONE);
            let shown = numbers
                .iter()
                .map(|&n| if n == NONE { 0 } else { n as i64 });
            let data = ArrayDataBuilder::new(DataType::Int64)
                .len(numbers.len())
                .null_bit_buffer(Some(there.into_inner()))
                .add_buffer(Buffer::from_vec(shown.collect()))
                .build();
            return (data, true);
        }
        Holds::Window => real(
            column
                .numbers()
                .into_iter()
                .map(|n| if n == NONE { f64::INFINITY } else { n as f64 }),
        ),
        Holds::Real => plain(column),
        Holds::Flag => {
            let set: Vec<_> = column.numbers().into_iter().map(|n| n != 0).collect();
            let bits = BooleanBuffer::from(set.as_slice());
            ArrayDataBuilder::new(DataType::Boolean)
                .len(set.len())
                .add_buffer(bits.into_inner())
                .build()
        }
        Holds::Flow => named(
            &column,
            scenario.flows.iter().map(|flow| flow.name.as_str()),
        ),
        Holds::Link => named(
            &column,
            scenario.links.iter().map(|link| link.name.as_str()),
        ),
        Holds::Name(names) => named(&column, names().into_iter()),
    };
    (data, false)
}

/// Numbers; none where they are not finite.
pub(crate) fn nullable(numbers: Vec<f64>) -> Built {
    let there = BooleanBuffer::collect_bool(numbers.len(), |i| numbers[i].is_finite());
    ArrayDataBuilder::new(DataType::Float64)
        .len(numbers.len())
        .null_bit_buffer(Some(there.into_inner()))
        .add_buffer(Buffer::from_vec(numbers))
        .build()
}

fn real(numbers: impl Iterator<Item = f64>) -> Built {
    plain(Column::F64(numbers.collect()))
}

/// Numbers as they are, where they are.
pub(crate) fn plain(column: Column) -> Built {
    let (kind, len, buffer) = match column {
        Column::I64(v) => (DataType::Int64, v.len(), Buffer::from_vec(v)),
        Column::U64(v) => (DataType::UInt64, v.len(), Buffer::from_vec(v)),
        Column::U32(v) => (DataType::UInt32, v.len(), Buffer::from_vec(v)),
        Column::U8(v) => (DataType::UInt8, v.len(), Buffer::from_vec(v)),
        Column::F64(v) => (DataType::Float64, v.len(), Buffer::from_vec(v)),
    };
    let data = ArrayDataBuilder::new(kind).len(len).add_buffer(buffer);
    data.build()
}

/// Places in a list of names.
fn named<'a>(column: &Column, list: impl Iterator<Item = &'a str>) -> Built {
    let places = column.numbers().into_iter().map(|n| n as i32);
    names(places.collect(), list)
}

/// Places in a list of names.
pub(crate) fn names<'a>(places: Vec<i32>, list: impl Iterator<Item = &'a str>) -> Built {
    let (mut text, mut ends) = (String::new(), vec![0i32]);
    for name in list {
        text += name;
        ends.push(text.len() as i32);
    }
    let list = ArrayDataBuilder::new(DataType::Utf8)
        .len(ends.len() - 1)
        .add_buffer(Buffer::from_vec(ends))
        .add_buffer(Buffer::from_vec(text.into_bytes()))
        .build()?;
    let kind = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    ArrayDataBuilder::new(kind)
        .len(places.len())
        .add_buffer(Buffer::from_vec(places))
        .add_child_data(list)
        .build()
}
