//! The extension module `farlink._farlink`: texts and numbers in, texts and
//! columns out. What people touch is Python; this only carries.

mod columns;
#[cfg(target_os = "linux")]
mod emulate;
mod errors;
mod job;
mod measure;

use columns::Columns;
use farlink_sim::scenario::Expanded;
use farlink_sim::{Asked, Column, Outcome, scenario};
use farlink_tcp::{Interval, profile::PROFILES, variant::VARIANTS};
use job::{Jobs, watch};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::sync::{Mutex, PoisonError};

/// The compiled engine of farlink.
#[pymodule(name = "_farlink")]
fn extension(m: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::register(m)?;
    m.add_function(wrap_pyfunction!(version, m)?)?;
    m.add_function(wrap_pyfunction!(engine, m)?)?;
    m.add_function(wrap_pyfunction!(resolve, m)?)?;
    m.add_function(wrap_pyfunction!(schema, m)?)?;
    m.add_function(wrap_pyfunction!(presets, m)?)?;
    m.add_function(wrap_pyfunction!(scenarios, m)?)?;
    m.add_function(wrap_pyfunction!(variants, m)?)?;
    m.add_function(wrap_pyfunction!(profiles, m)?)?;
    m.add_function(wrap_pyfunction!(registry, m)?)?;
    m.add_function(wrap_pyfunction!(simulate, m)?)?;
    m.add_function(wrap_pyfunction!(measure::measure, m)?)?;
    m.add_function(wrap_pyfunction!(trace, m)?)?;
    m.add_function(wrap_pyfunction!(trajectory, m)?)?;
    #[cfg(target_os = "linux")]
    m.add_function(wrap_pyfunction!(emulate::emulate, m)?)?;
    #[cfg(target_os = "linux")]
    m.add_function(wrap_pyfunction!(emulate::ask, m)?)?;
    m.add_function(wrap_pyfunction!(sample_channel, m)?)?;
    Ok(())
}

#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Version and digest of the engine's sources: results under the same name are the same.
#[pyfunction]
fn engine() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), "+", env!("FARLINK_SOURCES"))
}

/// Reads a scenario and returns it with every default spelled out, as JSON. `read`
/// is called with the name of each file that the scenario names and returns its text.
#[pyfunction]
#[pyo3(signature = (text, origin, overrides, read=None))]
#[allow(clippy::needless_pass_by_value)] // what PyO3 extracts is owned
fn resolve(
    py: Python<'_>,
    text: &str,
    origin: &str,
    overrides: Vec<(String, String)>,
    read: Option<Py<PyAny>>,
) -> PyResult<String> {
    let mut reader = |name: &str| match &read {
        None => Err("nothing here reads files".to_owned()),
        Some(read) => read
            .call1(py, (name,))
            .and_then(|text| text.extract::<String>(py))
            .map_err(|e| e.value(py).to_string()),
    };
    let loaded = scenario::load_with(text, origin, &overrides, &mut reader)
        .and_then(|s| s.expand().map(|_| s))
        .map_err(|e| errors::scenario(py, &e.to_string()))?;
    Ok(loaded.to_json())
}

#[pyfunction]
fn schema() -> String {
    scenario::schema()
}

#[pyfunction]
fn presets() -> String {
    scenario::presets_json()
}

#[pyfunction]
fn scenarios() -> Vec<(&'static str, &'static str)> {
    scenario::library().to_vec()
}

/// The table of TCPs, as JSON.
#[pyfunction]
fn variants() -> String {
    let rows: Vec<_> = VARIANTS
        .iter()
        .map(|v| {
            serde_json::json!({
                "name": v.name, "summary": v.summary, "source": v.source, "status": v.status,
            })
        })
        .collect();
    serde_json::Value::from(rows).to_string()
}

/// The profiles, each with its TCPs and the keys of `[tcp]` that it sets, as JSON.
#[pyfunction]
fn profiles() -> String {
    let all: Vec<_> = PROFILES
        .iter()
        .map(|p| {
            serde_json::json!({
                "name": p.name, "summary": p.summary, "source": p.source, "tcp": p.names(),
                "keys": p.values.iter().map(|v| v.key).collect::<Vec<_>>(),
            })
        })
        .collect();
    serde_json::Value::from(all).to_string()
}

/// Every measure with unit and definition, every trace with its columns, and the
/// quantities of congestion controls, as JSON.
#[pyfunction]
fn registry() -> String {
    serde_json::json!({
        "measures": farlink_sim::metrics(),
        "traces": farlink_sim::traces(),
        "quantities": farlink_sim::quantities(),
    })
    .to_string()
}

/// Runs jobs of (resolved scenario, run number); results in their order. When it raises
/// (Ctrl-C), the results of the jobs before the first that was not done are put into `done`.
#[pyfunction]
#[pyo3(signature = (jobs, threads, progress=None, done=None))]
#[allow(clippy::needless_pass_by_value)]
fn simulate(
    py: Python<'_>,
    // Not copied: a scenario can hold traces of megabytes.
    jobs: Vec<(PyBackedStr, u64)>,
    threads: usize,
    progress: Option<Py<PyAny>>,
    done: Option<Bound<'_, PyList>>,
) -> PyResult<Vec<String>> {
    let jobs = Jobs::new(py, &jobs)?;
    let before = Mutex::new(Vec::new());
    let outcomes = watch(py, jobs.len(), progress.as_ref(), |monitor| {
        let keep = |scenario: &Expanded, outcome: Outcome| outcome.to_json(scenario);
        let (results, error) = farlink_sim::run_each(&jobs.list(), threads, monitor, keep);
        match error {
            None => Ok(results),
            Some(error) => {
                before
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .extend(results);
                Err(error)
            }
        }
    });
    if let (Err(_), Some(done)) = (&outcomes, done) {
        for result in before.into_inner().unwrap_or_else(PoisonError::into_inner) {
            done.append(result)?;
        }
    }
    outcomes
}

/// One run with probes on: result, tables, captures.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
fn trace(
    py: Python<'_>,
    scenario: String,
    run: u64,
    snaplen: Option<u32>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'_, PyDict>> {
    let jobs = Jobs::new(py, &[(scenario, run)])?;
    let list = jobs.list();
    let (expanded, _) = list[0];
    let comment = format!("farlink {}, seed {}, run {run}", version(), expanded.seed);
    let traced = watch(py, 1, progress.as_ref(), |monitor| {
        farlink_sim::trace(expanded, run, snaplen, &comment, monitor)
    })?;
    let out = PyDict::new(py);
    out.set_item("result", traced.outcome.to_json(expanded))?;
    let pcaps = PyDict::new(py);
    for (name, bytes) in &traced.captures {
        pcaps.set_item(name, PyBytes::new(py, bytes))?;
    }
    out.set_item("pcaps", pcaps)?;
    let tables = PyDict::new(py);
    for table in traced.tables {
        tables.set_item(table.name, Columns::of(table, expanded)?)?;
    }
    out.set_item("tables", tables)?;
    Ok(out)
}

/// Where the nodes of a link's radio are: columns of seconds and metres.
#[pyfunction]
fn trajectory(
    py: Python<'_>,
    scenario: &str,
    run: u64,
    link: &str,
    step: f64,
    duration: f64,
) -> PyResult<Columns> {
    let expanded = scenario::load(scenario, "resolved scenario", &[])
        .and_then(|s| s.expand())
        .map_err(|e| errors::scenario(py, &e.to_string()))?;
    let nanos = |seconds: f64| Interval::from_nanos((seconds * 1e9).round() as u64);
    let found = farlink_sim::trajectory(&expanded, run, link, nanos(step), nanos(duration))
        .map_err(|e| errors::run(py, &e))?;
    let [x1, y1, x2, y2] = found.places;
    Columns::raw([
        ("time", Column::F64(found.time)),
        ("x1", Column::F64(x1)),
        ("y1", Column::F64(y1)),
        ("x2", Column::F64(x2)),
        ("y2", Column::F64(y2)),
        ("distance", Column::F64(found.distance)),
    ])
}

/// Packets through the channel of a link by itself: columns of what became of
/// them, and the closed form, derived quantities and traffic as JSON.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)] // Python names them
#[pyo3(signature = (scenario, link, direction, packets, length, spacing_ns, run))]
fn sample_channel<'py>(
    py: Python<'py>,
    scenario: String,
    link: &str,
    direction: &str,
    packets: u64,
    length: u32,
    spacing_ns: Option<u64>,
    run: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let jobs = Jobs::new(py, &[(scenario, run)])?;
    let list = jobs.list();
    let (expanded, _) = list[0];
    let asked = Asked {
        link,
        down: direction == "down",
        packets,
        bytes: length,
        spacing: spacing_ns.map(Interval::from_nanos),
    };
    let sample = py
        .detach(|| farlink_sim::sample_channel(expanded, asked, run))
        .map_err(|e| errors::scenario(py, &e.to_string()))?;
    let out = PyDict::new(py);
    out.set_item("told", sample.to_json())?;
    out.set_item("columns", Columns::raw(sample.columns)?)?;
    Ok(out)
}
