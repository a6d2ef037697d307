//! Numbers of many runs as they are kept: a row per run and no text.

use crate::columns::Columns;
use crate::job::{Jobs, watch};
use farlink_sim::Column;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

/// What a number is: its scope, what it is of, and its measure.
type Named = (&'static str, String, String);

/// Runs each part, a resolved scenario with numbers of its runs. Returned are, by part, what
/// the numbers of a run are and a column of them, run after run.
#[pyfunction]
#[pyo3(signature = (parts, threads, progress=None))]
#[allow(clippy::needless_pass_by_value)] // what PyO3 extracts is owned
pub(crate) fn measure(
    py: Python<'_>,
    parts: Vec<(PyBackedStr, Vec<u64>)>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<(Vec<Named>, Columns)>> {
    let list: Vec<(&str, u64)> = parts
        .iter()
        .flat_map(|(text, runs)| runs.iter().map(move |&run| (&**text, run)))
        .collect();
    let jobs = Jobs::new(py, &list)?;
    let outcomes = watch(py, jobs.len(), progress.as_ref(), |monitor| {
        farlink_sim::run_all(&jobs.list(), threads, monitor)
    })?;
    let list = jobs.list();
    let mut done = list.iter().zip(&outcomes);
    let parts = parts.iter().map(|(_, runs)| {
        let (mut numbers, mut layout) = (Vec::new(), Vec::new());
        for (&(scenario, _), outcome) in done.by_ref().take(runs.len()) {
            if layout.is_empty() {
                layout = outcome.layout(scenario);
            }
            numbers.extend(outcome.numbers());
        }
        Ok((layout, Columns::raw([("value", Column::F64(numbers))])?))
    });
    parts.collect()
}
