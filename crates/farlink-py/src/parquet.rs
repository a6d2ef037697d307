//! Converts columns to the bytes of a Parquet file and back.
//!
//! Uses the crate `parquet` without Arrow and with Snappy compression, because both keep the
//! package small. All readers of Parquet (DuckDB, pandas, Polars) open these files.

use crate::chunk::{encode_reals, encode_texts};
use crate::columns::{Columns, Values};
use bytes::Bytes;
use farlink_wire::parquet::{Numbers, read_indices, read_reals, read_wholes};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::column::page::Page;
use parquet::column::reader::{ColumnReader, GenericColumnReader, get_typed_column_reader};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// For a column, the texts of the rows to read.
type Filter = HashMap<String, Vec<String>>;

/// Returns columns as a Parquet file, with these key-value pairs in its footer. `ends` has rising
/// row numbers at which a row group ends. NaN is written as null.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // Python gives it so
pub(crate) fn to_parquet<'py>(
    py: Python<'py>,
    columns: &Columns,
    metadata: Vec<(String, String)>,
    ends: Vec<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = py
        .detach(|| write(columns, metadata, &ends))
        .map_err(|e| invalid(&e))?;
    Ok(PyBytes::new(py, &bytes))
}

/// Returns the number of rows, the key-value pairs and the column names of a Parquet file.
///
/// # Errors
///
/// `ValueError` if the bytes are no Parquet file.
#[pyfunction]
#[allow(clippy::type_complexity)] // Python unpacks it
pub(crate) fn parquet_footer(
    data: PyBackedBytes,
) -> PyResult<(usize, HashMap<String, String>, Vec<String>)> {
    let file = SerializedFileReader::new(Bytes::from_owner(data)).map_err(|e| invalid(&e))?;
    let footer = file.metadata().file_metadata();
    let pairs = footer.key_value_metadata().into_iter().flatten();
    let pairs = pairs.map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default()));
    let columns = footer
        .schema_descr()
        .columns()
        .iter()
        .map(|column| column.name().to_owned());
    let rows = usize::try_from(footer.num_rows()).unwrap_or_default();
    Ok((rows, pairs.collect(), columns.collect()))
}

/// Reads columns of a Parquet file. With `filter`, only rows whose texts are listed.
///
/// # Errors
///
/// `ValueError` if the bytes are no Parquet file, or lack a column.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // Python gives it so
pub(crate) fn from_parquet(
    py: Python<'_>,
    data: PyBackedBytes,
    columns: Vec<String>,
    filter: Filter,
) -> PyResult<Columns> {
    let columns = py
        .detach(|| read(data, &columns, &filter))
        .map_err(|e| invalid(&e))?;
    Columns::new(columns)
}

fn invalid(error: &ParquetError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn write(columns: &Columns, metadata: Vec<(String, String)>, ends: &[usize]) -> Result<Vec<u8>> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_dictionary_enabled(false)
        .set_key_value_metadata(Some(
            metadata
                .into_iter()
                .map(|(key, value)| KeyValue::new(key, value))
                .collect(),
        ));
    let mut fields: Vec<TypePtr> = Vec::new();
    for (name, values) in &columns.0 {
        // Numbers rarely repeat, so a dictionary would be larger than the numbers. Whole numbers
        // mostly rise from row to row, so differences are short.
        let path = ColumnPath::from(name.as_str());
        properties = match **values {
            Values::Text(..) => properties.set_column_dictionary_enabled(path, true),
            Values::F64(_) | Values::Flag(_) => properties,
            _ => properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
        };
        fields.push(Arc::new(field(name, values)?));
    }
    let schema = Arc::new(
        Type::group_type_builder("schema")
            .with_fields(fields.clone())
            .build()?,
    );
    let mut out = Vec::new();
    let mut file = SerializedFileWriter::new(&mut out, schema, Arc::new(properties.build()))?;
    let rows = columns.0.first().map_or(0, |(_, values)| values.len());
    let mut start = 0;
    for &end in ends.iter().chain([&rows]) {
        if start < end && end <= rows {
            let mut group = file.next_row_group()?;
            for ((_, values), field) in columns.0.iter().zip(&fields) {
                let chunk = match &**values {
                    Values::Text(places, texts) if is_short(texts) => {
                        let places = places_in(&places[start..end], texts)?;
                        encode_texts(field, texts, Numbers::U32(&places))?
                    }
                    Values::F64(numbers) => encode_reals(field, &numbers[start..end])?,
                    _ => {
                        let Some(mut column) = group.next_column()? else {
                            break;
                        };
                        write_column(&mut column, values, start..end)?;
                        column.close()?;
                        continue;
                    }
                };
                group.append_column(&chunk.bytes, chunk.closed)?;
            }
            group.close()?;
            start = end;
        }
    }
    file.close()?;
    Ok(out)
}

/// Returns whether texts are a dictionary of usual size; longer ones are written as values.
fn is_short(texts: &[String]) -> bool {
    texts.iter().map(String::len).sum::<usize>() <= 1 << 24
}

/// Returns the indices of texts as unsigned numbers.
fn places_in(places: &[i32], texts: &[String]) -> Result<Vec<u32>> {
    let known = |&place: &i32| {
        let place = u32::try_from(place).ok();
        place.filter(|&place| (place as usize) < texts.len())
    };
    let known: Option<Vec<u32>> = places.iter().map(known).collect();
    known.ok_or_else(|| ParquetError::General("a text is not in its list".to_owned()))
}

fn field(name: &str, values: &Values) -> Result<Type> {
    let integer = |bit_width| Some(LogicalType::integer(bit_width, false));
    let (physical, logical, nullable) = match values {
        Values::F64(_) => (Physical::DOUBLE, None, true),
        Values::I64(_, present) => (Physical::INT64, None, !present.is_empty()),
        Values::U64(_) => (Physical::INT64, integer(64), false),
        Values::U32(_) => (Physical::INT32, integer(32), false),
        Values::I32(_) => (Physical::INT32, None, false),
        Values::U8(_) => (Physical::INT32, integer(8), false),
        Values::Flag(_) => (Physical::BOOLEAN, None, false),
        Values::Text(..) => (Physical::BYTE_ARRAY, Some(LogicalType::String), false),
    };
    let repetition = if nullable {
        Repetition::OPTIONAL
    } else {
        Repetition::REQUIRED
    };
    Type::primitive_type_builder(name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .build()
}

/// Writes whole numbers, flags or long texts.
fn write_column(
    column: &mut SerializedColumnWriter<'_>,
    values: &Values,
    rows: Range<usize>,
) -> Result<()> {
    fn put<T: DataType>(
        column: &mut SerializedColumnWriter<'_>,
        values: &[T::T],
        present: Option<&[bool]>,
    ) -> Result<()> {
        let levels: Option<Vec<i16>> =
            present.map(|present| present.iter().map(|&x| i16::from(x)).collect());
        column
            .typed::<T>()
            .write_batch(values, levels.as_deref(), None)?;
        Ok(())
    }
    match values {
        Values::F64(_) => Err(ParquetError::General(
            "real numbers are a chunk of their own".to_owned(),
        )),
        Values::I64(v, present) if present.is_empty() => put::<Int64Type>(column, &v[rows], None),
        Values::I64(v, present) => {
            let pairs = v[rows.clone()].iter().zip(&present[rows.clone()]);
            let numbers: Vec<i64> = pairs.filter(|(_, is)| **is).map(|(&n, _)| n).collect();
            put::<Int64Type>(column, &numbers, Some(&present[rows]))
        }
        Values::U64(v) => {
            let numbers: Vec<i64> = v[rows].iter().map(|&n| n.cast_signed()).collect();
            put::<Int64Type>(column, &numbers, None)
        }
        Values::U32(v) => {
            let numbers: Vec<i32> = v[rows].iter().map(|&n| n.cast_signed()).collect();
            put::<Int32Type>(column, &numbers, None)
        }
        Values::I32(v) => put::<Int32Type>(column, &v[rows], None),
        Values::U8(v) => {
            let numbers: Vec<i32> = v[rows].iter().map(|&n| n.into()).collect();
            put::<Int32Type>(column, &numbers, None)
        }
        Values::Flag(v) => {
            let flags: Vec<bool> = v[rows].iter().map(|&n| n != 0).collect();
            put::<BoolType>(column, &flags, None)
        }
        Values::Text(places, texts) => {
            let texts: Vec<ByteArray> = texts.iter().map(|text| text.as_str().into()).collect();
            let of = |&place: &i32| usize::try_from(place).ok().and_then(|at| texts.get(at));
            let known = places[rows].iter().map(|place| of(place).cloned());
            let known: Option<Vec<ByteArray>> = known.collect();
            let outside = || ParquetError::General("a text is not in its list".to_owned());
            put::<ByteArrayType>(column, &known.ok_or_else(outside)?, None)
        }
    }
}

fn read(data: PyBackedBytes, wanted: &[String], filter: &Filter) -> Result<Vec<(String, Values)>> {
    let file = SerializedFileReader::new(Bytes::from_owner(data))?;
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let place = |name: &String| {
        let column = schema
            .columns()
            .iter()
            .position(|column| column.name() == name);
        column.ok_or_else(|| ParquetError::General(format!("no column {name:?}")))
    };
    let places: Vec<usize> = wanted.iter().map(place).collect::<Result<_>>()?;
    let mut columns: Vec<Reading> = Vec::new();
    for &at in &places {
        columns.push(Reading::new(schema.column(at).physical_type())?);
    }
    let filter: Vec<_> = filter
        .iter()
        .map(|(name, texts)| Ok((place(name)?, texts.iter().collect::<HashSet<_>>())))
        .collect::<Result<_>>()?;
    for number in 0..file.num_row_groups() {
        let group = file.get_row_group(number)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or_default();
        let mut keep = vec![true; rows];
        for (at, texts) in &filter {
            let mut column = Reading::new(Physical::BYTE_ARRAY)?;
            column.read(&*group, *at, &vec![true; rows])?;
            let Reading::Text {
                places,
                texts: list,
                ..
            } = column
            else {
                continue;
            };
            let is_wanted: Vec<bool> = list.iter().map(|text| texts.contains(text)).collect();
            for (keep, place) in keep.iter_mut().zip(places) {
                *keep &= is_wanted[place as usize];
            }
        }
        if keep.contains(&true) {
            for (column, &at) in columns.iter_mut().zip(&places) {
                column.read(&*group, at, &keep)?;
            }
        }
    }
    let columns = columns.into_iter().map(Reading::finish);
    Ok(wanted.iter().cloned().zip(columns).collect())
}

/// Values of a column, read row group by row group.
enum Reading {
    F64(Vec<f64>),
    I64(Vec<i64>, Vec<bool>),
    I32(Vec<i32>),
    Flag(Vec<u8>),
    Text {
        places: Vec<i32>,
        texts: Vec<String>,
        seen: HashMap<Vec<u8>, i32>,
    },
}

impl Reading {
    fn new(physical: Physical) -> Result<Self> {
        Ok(match physical {
            Physical::DOUBLE => Self::F64(Vec::new()),
            Physical::INT64 => Self::I64(Vec::new(), Vec::new()),
            Physical::INT32 => Self::I32(Vec::new()),
            Physical::BOOLEAN => Self::Flag(Vec::new()),
            Physical::BYTE_ARRAY => Self::Text {
                places: Vec::new(),
                texts: Vec::new(),
                seen: HashMap::new(),
            },
            other => return Err(ParquetError::General(format!("a column has type {other}"))),
        })
    }

    /// Appends the rows of a row group for which `keep` is set.
    fn read(&mut self, group: &dyn RowGroupReader, at: usize, keep: &[bool]) -> Result<()> {
        if let Self::Text {
            places,
            texts,
            seen,
        } = self
            && let Some((dictionary, codes)) = dictionary_codes(group, at, keep.len())?
        {
            places.extend(kept_places(dictionary, &codes, keep, texts, seen)?);
            return Ok(());
        }
        if let Self::F64(out) = self
            && let Some(numbers) = simple_reals(group, at, keep.len())?
        {
            out.extend(chosen(numbers, keep));
            return Ok(());
        }
        if let Self::I32(out) = self
            && let Some(numbers) = simple_wholes(group, at, keep.len())?
        {
            out.extend(chosen(numbers, keep).map(|number| number as i32));
            return Ok(());
        }
        let reader = group.get_column_reader(at)?;
        match self {
            Self::F64(out) => {
                let values = values::<DoubleType>(reader, keep.len())?;
                out.extend(kept(values, keep).map(|x| x.unwrap_or(f64::NAN)));
            }
            Self::I64(out, present) => {
                for value in kept(values::<Int64Type>(reader, keep.len())?, keep) {
                    present.push(value.is_some());
                    out.push(value.unwrap_or_default());
                }
            }
            Self::I32(out) => {
                let values = values::<Int32Type>(reader, keep.len())?;
                out.extend(kept(values, keep).map(Option::unwrap_or_default));
            }
            Self::Flag(out) => {
                let values = values::<BoolType>(reader, keep.len())?;
                out.extend(kept(values, keep).map(|x| u8::from(x == Some(true))));
            }
            Self::Text {
                places,
                texts,
                seen,
            } => {
                // Texts are sorted or repeated, so the previous text is mostly the same.
                let mut last: Option<(ByteArray, i32)> = None;
                for value in kept(values::<ByteArrayType>(reader, keep.len())?, keep) {
                    let value = value.unwrap_or_else(|| "".into());
                    let same = last.as_ref().filter(|(text, _)| *text == value);
                    let known = same
                        .map(|(_, place)| place)
                        .or_else(|| seen.get(value.data()));
                    let place = match known {
                        Some(&place) => place,
                        None => place_of(value.data(), texts, seen)?,
                    };
                    places.push(place);
                    last = Some((value, place));
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Values {
        match self {
            Self::F64(v) => Values::F64(v),
            Self::I64(v, present) if present.contains(&false) => Values::I64(v, present),
            Self::I64(v, _) => Values::I64(v, Vec::new()),
            Self::I32(v) => Values::I32(v),
            Self::Flag(v) => Values::Flag(v),
            Self::Text { places, texts, .. } => Values::Text(places, texts),
        }
    }
}

/// Returns the place of a text in `texts`, which gets it if it is new.
fn place_of(text: &[u8], texts: &mut Vec<String>, seen: &mut HashMap<Vec<u8>, i32>) -> Result<i32> {
    if let Some(&place) = seen.get(text) {
        return Ok(place);
    }
    let place = texts.len() as i32;
    let known = std::str::from_utf8(text).map_err(|error| ParquetError::External(error.into()))?;
    texts.push(known.to_owned());
    seen.insert(text.to_vec(), place);
    Ok(place)
}

/// Returns the places in `texts` of the rows to keep. Texts of other rows are not added.
fn kept_places(
    dictionary: Vec<Bytes>,
    codes: &[u32],
    keep: &[bool],
    texts: &mut Vec<String>,
    seen: &mut HashMap<Vec<u8>, i32>,
) -> Result<Vec<i32>> {
    let mut known = Vec::with_capacity(dictionary.len());
    let mut used = vec![false; dictionary.len()];
    let kept = || codes.iter().zip(keep).filter(|(_, keep)| **keep);
    for (&code, _) in kept() {
        match used.get_mut(code as usize) {
            Some(is_used) => *is_used = true,
            None => return Err(damaged()),
        }
    }
    for (text, is_used) in dictionary.into_iter().zip(used) {
        known.push(if is_used {
            place_of(&text, texts, seen)?
        } else {
            -1
        });
    }
    Ok(kept().map(|(&code, _)| known[code as usize]).collect())
}

fn damaged() -> ParquetError {
    ParquetError::General("a page is damaged".to_owned())
}

/// Reads a column of texts as its dictionary and the code of each row. Returns `None` if the column
/// has another encoding.
///
/// The general reader makes a value with a shared owner of each row, which takes ten times as long.
fn dictionary_codes(
    group: &dyn RowGroupReader,
    at: usize,
    rows: usize,
) -> Result<Option<(Vec<Bytes>, Vec<u32>)>> {
    let (mut dictionary, mut codes) = (Vec::new(), Vec::with_capacity(rows));
    if group.metadata().column(at).column_descr().max_def_level() > 0 {
        return Ok(None);
    }
    for page in group.get_column_page_reader(at)? {
        match page? {
            Page::DictionaryPage {
                buf,
                num_values,
                encoding: Encoding::PLAIN,
                ..
            } => {
                let mut at = 0;
                for _ in 0..num_values {
                    let start = at + 4;
                    let length = buf.get(at..start).and_then(|bytes| bytes.try_into().ok());
                    let length = length.map(u32::from_le_bytes).ok_or_else(damaged)?;
                    at = start + length as usize;
                    if at > buf.len() {
                        return Err(damaged());
                    }
                    dictionary.push(buf.slice(start..at));
                }
            }
            Page::DataPage {
                buf,
                num_values,
                encoding: Encoding::RLE_DICTIONARY,
                ..
            } if num_values as usize <= rows - codes.len() => {
                read_indices(&buf, num_values as usize, &mut codes).ok_or_else(damaged)?;
            }
            _ => return Ok(None),
        }
    }
    if codes.len() != rows {
        return Ok(None);
    }
    Ok(Some((dictionary, codes)))
}

/// Reads a column of real numbers, NaN for null. Returns `None` if the general reader is needed,
/// which takes several times as long.
fn simple_reals(group: &dyn RowGroupReader, at: usize, rows: usize) -> Result<Option<Vec<f64>>> {
    let column = group.metadata().column(at);
    let mut out = Vec::with_capacity(rows);
    if column.column_descr().max_def_level() != 1 || column.column_descr().max_rep_level() != 0 {
        return Ok(None);
    }
    for page in group.get_column_page_reader(at)? {
        let Page::DataPage {
            buf,
            num_values,
            encoding: encoding @ (Encoding::PLAIN | Encoding::BYTE_STREAM_SPLIT),
            def_level_encoding: Encoding::RLE,
            ..
        } = page?
        else {
            return Ok(None);
        };
        let count = num_values as usize;
        if count > rows - out.len() {
            return Err(damaged());
        }
        let in_streams = encoding == Encoding::BYTE_STREAM_SPLIT;
        read_reals(&buf, count, in_streams, &mut out).ok_or_else(damaged)?;
    }
    Ok((out.len() == rows).then_some(out))
}

/// Reads a column of differences without nulls, as [`simple_reals`] does.
fn simple_wholes(group: &dyn RowGroupReader, at: usize, rows: usize) -> Result<Option<Vec<i64>>> {
    let mut out = Vec::with_capacity(rows);
    if group.metadata().column(at).column_descr().max_def_level() > 0 {
        return Ok(None);
    }
    for page in group.get_column_page_reader(at)? {
        let Page::DataPage {
            buf,
            num_values,
            encoding: Encoding::DELTA_BINARY_PACKED,
            ..
        } = page?
        else {
            return Ok(None);
        };
        let count = num_values as usize;
        if count > rows - out.len() {
            return Err(damaged());
        }
        read_wholes(&buf, count, &mut out).ok_or_else(damaged)?;
    }
    Ok((out.len() == rows).then_some(out))
}

fn chosen<T>(values: Vec<T>, keep: &[bool]) -> impl Iterator<Item = T> {
    let pairs = values.into_iter().zip(keep);
    pairs.filter(|(_, keep)| **keep).map(|(value, _)| value)
}

/// Reads all rows of a column of a row group, None for null.
fn values<T: DataType>(reader: ColumnReader, rows: usize) -> Result<Vec<Option<T::T>>> {
    let mut reader: GenericColumnReader<_, _, _> = get_typed_column_reader::<T>(reader);
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    while levels.len().max(values.len()) < rows {
        let left = rows - levels.len().max(values.len());
        let (records, ..) = reader.read_records(left, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            break;
        }
    }
    let mut values = values.into_iter();
    let rows_read: Vec<_> = if levels.is_empty() {
        values.map(Some).collect()
    } else {
        levels
            .iter()
            .map(|&level| if level > 0 { values.next() } else { None })
            .collect()
    };
    if rows_read.len() != rows {
        return Err(ParquetError::General("a column is too short".to_owned()));
    }
    Ok(rows_read)
}

fn kept<T>(values: Vec<Option<T>>, keep: &[bool]) -> impl Iterator<Item = Option<T>> {
    values
        .into_iter()
        .zip(keep)
        .filter(|(_, keep)| **keep)
        .map(|(value, _)| value)
}
