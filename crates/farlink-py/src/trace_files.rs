//! Writes the traces of a run to Parquet files while the run goes on.
//!
//! The run passes pieces of its tables to a thread, which encodes them. Each piece becomes a row
//! group. Memory therefore does not depend on the length of the run.

use crate::bins::Bins;
use crate::chunk::{Chunk, Part, encode, field};
use crate::columns::names_of;
use crate::control;
use crate::errors;
use crate::job::{self, watch};
use crate::measures::{Known, Measures, Row};
use farlink_sim::scenario::Expanded;
use farlink_sim::{Holds, Piece, RunError, Table, Trace, TraceColumn, TraceOptions, columns_of};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

/// Number of rows above which a table passes its rows on; also the most rows of a row group.
const PIECE: usize = 1 << 15;

/// Pieces that may wait for the thread that writes.
const WAITING: usize = 2;

/// Path of a file, table, columns of the table, and key-value pairs of the footer.
type Asked = (PathBuf, String, Vec<String>, Vec<(String, String)>);

/// Runs a scenario once and writes tables to Parquet files. Returns measures, captures, and the
/// bytes that each link direction delivered, by bins of time.
///
/// # Errors
///
/// Fails as a run does, and with `OSError` if a file cannot be written.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)] // Python gives them so
pub(crate) fn trace_files<'py>(
    py: Python<'py>,
    scenario: &str,
    run: u64,
    snaplen: Option<u32>,
    packets: bool,
    files: Vec<Asked>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let expanded = &job::expand(py, scenario)?;
    let options = TraceOptions {
        snaplen,
        comment: comment(expanded, run),
        packets,
    };
    let mut failed = None;
    let traced = watch(py, 1, progress.as_ref(), |monitor, dog| {
        let tables = match Tables::create(files, expanded) {
            Ok(tables) => tables,
            Err(error) => {
                failed = Some(error);
                return Err(RunError::Interrupted);
            }
        };
        std::thread::scope(|scope| {
            let (send, pieces) = sync_channel(WAITING);
            let writer = scope.spawn(move || tables.write_all(&pieces));
            let mut sink = |piece: Piece| send.send(piece).map_err(|_| RunError::Interrupted);
            let mut work =
                || farlink_sim::trace_into(expanded, run, &options, monitor, PIECE, &mut sink);
            let traced = if control::uses_python(expanded) {
                control::run_attached(dog, expanded, run, work)
            } else {
                work()
            };
            drop(send);
            let written = writer.join().unwrap_or_else(|_| Err(panicked()));
            match written {
                Ok(bins) => Ok((traced?, bins)),
                Err(error) => {
                    failed = Some(error);
                    Err(RunError::Interrupted)
                }
            }
        })
    });
    if let Some(error) = failed {
        return Err(failure(error));
    }
    let (traced, bins) = traced?;
    let out = results(py, expanded, run, traced)?;
    let (width, bins) = bins.columns(expanded)?;
    out.set_item("width_ns", width)?;
    out.set_item("bins", bins)?;
    Ok(out)
}

/// Returns the measures, captures, TLS secrets and logs of a traced run.
pub(crate) fn results<'py>(
    py: Python<'py>,
    expanded: &Expanded,
    run: u64,
    traced: Trace,
) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    let known = Known::of(expanded, &traced.outcome);
    let measures = Measures::new(known, vec![Row::of(run, &traced.outcome)]);
    out.set_item("measures", measures)?;
    let pcaps = PyDict::new(py);
    for (name, bytes) in &traced.captures {
        pcaps.set_item(name, PyBytes::new(py, bytes))?;
    }
    out.set_item("pcaps", pcaps)?;
    out.set_item("secrets", traced.secrets)?;
    let qlogs = PyDict::new(py);
    for (name, text) in traced.qlogs {
        qlogs.set_item(name, text)?;
    }
    out.set_item("qlogs", qlogs)?;
    Ok(out)
}

/// Returns the comment in the captures of a run.
pub(crate) fn comment(scenario: &Expanded, run: u64) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("farlink {version}, seed {}, run {run}", scenario.seed)
}

/// Returns name, NumPy type, whether values may be missing, and whether the values are texts, of
/// each column of an engine's table.
#[pyfunction]
pub(crate) fn trace_columns(table: &str) -> Vec<(&'static str, &'static str, bool, bool)> {
    let columns = columns_of(table).into_iter();
    let layout = columns.map(|column| match column.holds {
        Holds::Flow | Holds::Link | Holds::Name(_) | Holds::NameOrNone(_) => {
            (column.name, "int32", false, true)
        }
        Holds::Flag => (column.name, "bool", false, false),
        Holds::Whole => (column.name, "int64", false, false),
        Holds::WholeOrNone => (column.name, "int64", true, false),
        _ => (column.name, "float64", false, false),
    });
    layout.collect()
}

fn panicked() -> ParquetError {
    ParquetError::General("the thread that writes traces has panicked".to_owned())
}

/// Returns the exception of a file that cannot be written.
fn failure(error: ParquetError) -> PyErr {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => (*cause).into(),
            Err(cause) => errors::internal(&cause),
        },
        other => errors::internal(&other),
    }
}

/// Files of all tables.
struct Tables {
    tables: BTreeMap<String, TableFiles>,
    bins: Bins,
}

/// Columns of a table, and the files that have some of them.
struct TableFiles {
    columns: Vec<TableColumn>,
    /// Writer of each file, with the places of its columns.
    files: Vec<(SerializedFileWriter<File>, Vec<usize>)>,
}

/// Column of a table.
struct TableColumn {
    known: TraceColumn,
    /// Texts of a column of names.
    texts: Vec<String>,
    field: TypePtr,
    /// Set if a file has the column.
    is_wanted: bool,
}

impl Tables {
    fn create(files: Vec<Asked>, scenario: &Expanded) -> Result<Self> {
        let mut tables: BTreeMap<String, TableFiles> = BTreeMap::new();
        for (path, table, names, metadata) in files {
            if !tables.contains_key(&table) {
                tables.insert(table.clone(), TableFiles::of(&table, scenario)?);
            }
            if let Some(known) = tables.get_mut(&table) {
                known.add(&path, &names, metadata)?;
            }
        }
        let bins = Bins::default();
        Ok(Self { tables, bins })
    }

    /// Writes all pieces, and ends the files.
    fn write_all(mut self, pieces: &Receiver<Piece>) -> Result<Bins> {
        while let Ok(piece) = pieces.recv() {
            let is_binned = piece.name() == "deliveries";
            if !is_binned && !self.tables.contains_key(piece.name()) {
                continue;
            }
            let piece = piece.into_table();
            if is_binned {
                self.bins.add(&piece);
            }
            if let Some(files) = self.tables.get_mut(piece.name) {
                files.write(&piece)?;
            }
        }
        for table in self.tables.into_values() {
            for (file, _) in table.files {
                file.close()?;
            }
        }
        Ok(self.bins)
    }
}

impl TableFiles {
    fn of(table: &str, scenario: &Expanded) -> Result<Self> {
        let columns = columns_of(table).into_iter().map(|known| {
            Ok(TableColumn {
                texts: names_of(&known, scenario),
                field: Arc::new(field(&known)?),
                is_wanted: false,
                known,
            })
        });
        Ok(Self {
            columns: columns.collect::<Result<_>>()?,
            files: Vec::new(),
        })
    }

    /// Creates a file for the columns with these names.
    fn add(&mut self, path: &Path, names: &[String], pairs: Vec<(String, String)>) -> Result<()> {
        let place = |name: &String| self.columns.iter().position(|c| c.known.name == name);
        let places: Vec<usize> = names.iter().filter_map(place).collect();
        for &at in &places {
            self.columns[at].is_wanted = true;
        }
        let fields = places.iter().map(|&at| Arc::clone(&self.columns[at].field));
        let schema = Type::group_type_builder("schema").with_fields(fields.collect());
        let pairs = pairs
            .into_iter()
            .map(|(key, value)| KeyValue::new(key, value));
        let properties = WriterProperties::builder()
            .set_key_value_metadata(Some(pairs.collect()))
            .build();
        let file = File::create_new(path)?;
        let writer =
            SerializedFileWriter::new(file, Arc::new(schema.build()?), Arc::new(properties))?;
        self.files.push((writer, places));
        Ok(())
    }

    /// Encodes each column of a piece once, and adds it to the files as row groups.
    fn write(&mut self, piece: &Table) -> Result<()> {
        let rows = piece.columns.first().map_or(0, |(_, column)| column.len());
        for start in (0..rows).step_by(PIECE) {
            let range = start..rows.min(start + PIECE);
            let columns = self.columns.iter().zip(&piece.columns);
            let chunks = columns.map(|(column, (_, numbers))| {
                let part = || Part::of(numbers, range.clone());
                let chunk = column
                    .is_wanted
                    .then(|| encode(&column.known, &column.field, &column.texts, part()));
                chunk.transpose()
            });
            let chunks: Vec<Option<Chunk>> = chunks.collect::<Result<_>>()?;
            for (file, places) in &mut self.files {
                let mut group = file.next_row_group()?;
                for chunk in places.iter().filter_map(|&at| chunks[at].as_ref()) {
                    group.append_column(&chunk.bytes, chunk.closed.clone())?;
                }
                group.close()?;
            }
        }
        Ok(())
    }
}
