//! The extension module `farlink._farlink`. Its functions take texts and numbers, and return texts
//! and columns. The user interface is in Python.

mod bins;
mod chunk;
mod columns;
mod control;
#[cfg(target_os = "linux")]
mod emulate;
mod errors;
mod job;
mod measures;
mod parquet;
mod paths;
mod resolve;
mod trace_files;

use columns::Columns;
use control::Watchdog;
use farlink_sim::scenario::Expanded;
use farlink_sim::{Asked, Column, Monitor, Outcome, RunError, TraceOptions, scenario};
use farlink_tcp::{Interval, profile, variant::VARIANTS};
use job::{Jobs, watch};
use measures::{Known, Measures, Row};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyList};
use std::io::Write;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

/// The compiled engine of farlink.
#[pymodule(name = "_farlink")]
fn extension(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("log_started", start_log())?;
    errors::register(m)?;
    m.add_function(wrap_pyfunction!(version, m)?)?;
    m.add_function(wrap_pyfunction!(engine, m)?)?;
    m.add_function(wrap_pyfunction!(resolve::resolve, m)?)?;
    m.add_function(wrap_pyfunction!(resolve::resolve_many, m)?)?;
    m.add_function(wrap_pyfunction!(schema, m)?)?;
    m.add_function(wrap_pyfunction!(presets, m)?)?;
    m.add_function(wrap_pyfunction!(scenarios, m)?)?;
    m.add_function(wrap_pyfunction!(variants, m)?)?;
    m.add_function(wrap_pyfunction!(profiles, m)?)?;
    m.add_function(wrap_pyfunction!(registry, m)?)?;
    m.add_function(wrap_pyfunction!(simulate, m)?)?;
    m.add_function(wrap_pyfunction!(trace, m)?)?;
    m.add_function(wrap_pyfunction!(trace_files::trace_files, m)?)?;
    m.add_function(wrap_pyfunction!(trace_files::trace_columns, m)?)?;
    m.add_function(wrap_pyfunction!(trajectory, m)?)?;
    #[cfg(target_os = "linux")]
    m.add_function(wrap_pyfunction!(emulate::emulate, m)?)?;
    #[cfg(target_os = "linux")]
    m.add_function(wrap_pyfunction!(emulate::gateway, m)?)?;
    #[cfg(target_os = "linux")]
    m.add_function(wrap_pyfunction!(emulate::new_key, m)?)?;
    #[cfg(target_os = "linux")]
    m.add_function(wrap_pyfunction!(emulate::sweep, m)?)?;
    #[cfg(target_os = "linux")]
    m.add_function(wrap_pyfunction!(emulate::ask, m)?)?;
    #[cfg(target_os = "linux")]
    m.add_function(wrap_pyfunction!(emulate::execute, m)?)?;
    m.add_function(wrap_pyfunction!(sample_channel, m)?)?;
    m.add_class::<Columns>()?;
    m.add_class::<control::ControlState>()?;
    m.add_class::<control::ControlEvent>()?;
    m.add_class::<control::Steps>()?;
    m.add_class::<control::ClassState>()?;
    m.add_class::<control::QueuedPacket>()?;
    m.add_function(wrap_pyfunction!(control::register_control, m)?)?;
    m.add_function(wrap_pyfunction!(control::register_class, m)?)?;
    m.add_function(wrap_pyfunction!(beta_reg, m)?)?;
    m.add_function(wrap_pyfunction!(paths::least_paths, m)?)?;
    m.add_function(wrap_pyfunction!(gamma_lr, m)?)?;
    m.add_function(wrap_pyfunction!(gamma_ur, m)?)?;
    m.add_function(wrap_pyfunction!(parquet::to_parquet, m)?)?;
    m.add_function(wrap_pyfunction!(parquet::from_parquet, m)?)?;
    m.add_function(wrap_pyfunction!(parquet::parquet_footer, m)?)?;
    Ok(())
}

/// Logs the engine's events to stderr if the environment variable `FARLINK_LOG` has a level or
/// directives of `tracing-subscriber`. Returns false, after a line on stderr, if they are invalid.
fn start_log() -> bool {
    let Some(directives) = std::env::var_os("FARLINK_LOG") else {
        return true;
    };
    let directives = directives.to_string_lossy();
    // The parser takes any other single word for a target, and a misspelt level would log nothing.
    let is_level = |word: &str| word.parse::<LevelFilter>().is_ok();
    let known = directives
        .split(',')
        .all(|directive| directive.contains('=') || is_level(directive.trim()));
    let Some(filter) = directives.parse::<Targets>().ok().filter(|_| known) else {
        // A closed stderr changes nothing: the command still ends with exit code 2.
        let _ = writeln!(
            std::io::stderr(),
            "farlink: error: FARLINK_LOG = {directives:?} is no log filter; write a level (error, \
             warn, info, debug, trace) or target=level, for example debug or farlink=debug"
        );
        return false;
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time();
    let log = tracing_subscriber::registry().with(lines.with_filter(filter));
    // Fails if the embedding program has set its own subscriber, which then stays.
    let _ = log.try_init();
    true
}

#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Returns version and digest of the engine's sources. Engines with equal names give equal results.
#[pyfunction]
fn engine() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), "+", env!("FARLINK_SOURCES"))
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

/// Returns the table of TCPs as JSON.
#[pyfunction]
fn variants() -> String {
    let rows: Vec<_> = VARIANTS
        .iter()
        .map(|v| {
            serde_json::json!({
                "name": v.name, "summary": v.summary, "source": v.source, "status": v.status(),
            })
        })
        .collect();
    serde_json::Value::from(rows).to_string()
}

/// Returns the profiles as JSON, each with its TCPs and the keys of `[tcp]` that it sets.
#[pyfunction]
fn profiles() -> String {
    let all: Vec<_> = profile::all()
        .map(|p| {
            serde_json::json!({
                "name": p.name, "summary": p.summary, "source": p.source, "tcp": p.names(),
                "usual": p.usual,
                "keys": p.values.iter().map(|v| v.key).collect::<Vec<_>>(),
            })
        })
        .collect();
    serde_json::Value::from(all).to_string()
}

/// Returns as JSON all measures with unit and definition, all traces with their columns, and the
/// quantities of congestion controls.
#[pyfunction]
fn registry() -> String {
    serde_json::json!({
        "measures": farlink_sim::metrics(),
        "traces": farlink_sim::traces(),
        "quantities": farlink_sim::quantities(),
    })
    .to_string()
}

/// Runs parts, each a resolved scenario with its run numbers, and returns the measures of each
/// part. The first runs of all parts start first, then the second runs, and so on. If the call
/// raises (Ctrl-C), `done` gets the first n runs of every part, where n is the number of runs that
/// all parts have finished. Each of `threads` runs at a time takes up to `cores` threads, and
/// `notes` gets a sentence about the threads of the first run of every part.
#[pyfunction]
#[pyo3(signature = (parts, threads, progress=None, done=None, cores=1, notes=None))]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
fn simulate(
    py: Python<'_>,
    // Borrowed, because a scenario can contain traces of megabytes.
    parts: Vec<(PyBackedStr, Vec<u64>)>,
    threads: usize,
    progress: Option<Py<PyAny>>,
    done: Option<Bound<'_, PyList>>,
    cores: usize,
    notes: Option<Bound<'_, PyList>>,
) -> PyResult<Vec<Measures>> {
    let jobs = Jobs::new(py, parts)?;
    let before = Mutex::new(Vec::new());
    let known: Vec<OnceLock<Known>> = (0..jobs.parts()).map(|_| OnceLock::new()).collect();
    let notes_by_part: Vec<OnceLock<String>> = known.iter().map(|_| OnceLock::new()).collect();
    let outcomes = watch(py, jobs.len(), progress.as_ref(), |monitor, dog| {
        let (list, places) = jobs.list();
        let keep = |number: usize, outcome: Outcome, note: Option<String>| {
            let (scenario, run) = list[number];
            known[places[number]].get_or_init(|| Known::of(scenario, &outcome));
            notes_by_part[places[number]].get_or_init(|| note.unwrap_or_default());
            Row::of(run, &outcome)
        };
        let (rows, error) = run_list(&list, (threads, cores), monitor, dog, keep);
        match error {
            None => Ok(jobs.by_part(rows, &places)),
            Some(error) => {
                let mut rows = jobs.by_part(rows, &places);
                let complete = rows.iter().map(Vec::len).min().unwrap_or(0);
                for part in &mut rows {
                    part.truncate(complete);
                }
                *before.lock().unwrap_or_else(PoisonError::into_inner) = rows;
                Err(error)
            }
        }
    });
    let measures = |rows: Vec<Vec<Row>>| {
        let parts = known.into_iter().zip(rows);
        let parts =
            parts.filter_map(|(known, rows)| Some(Measures::new(known.into_inner()?, rows)));
        parts.collect::<Vec<_>>()
    };
    if let Some(notes) = notes {
        for note in notes_by_part {
            notes.append(note.into_inner())?;
        }
    }
    match (outcomes, done) {
        (Ok(rows), _) => Ok(measures(rows)),
        (Err(error), Some(done)) => {
            let before = before.into_inner().unwrap_or_else(PoisonError::into_inner);
            for part in measures(before) {
                done.append(part)?;
            }
            Err(error)
        }
        (Err(error), None) => Err(error),
    }
}

/// Runs all runs of a list, `threads` at a time or each on `cores` threads. `keep` also gets a
/// sentence about the threads of a run on several.
fn run_list<T: Send + Sync>(
    list: &[(&Expanded, u64)],
    (threads, cores): (usize, usize),
    monitor: &Monitor,
    dog: &Arc<Watchdog>,
    keep: impl Fn(usize, Outcome, Option<String>) -> T + Sync,
) -> (Vec<T>, Option<RunError>) {
    if list.iter().any(|run| control::uses_python(run.0)) {
        let note = || "one part, because a class in Python runs in it".to_owned();
        let keep = |number, outcome| keep(number, outcome, Some(note()));
        return run_in_order(list, monitor, dog, keep);
    }
    if cores > 1 {
        let size = ((threads / cores).max(1), cores);
        return farlink_sim::run_each_parallel(list, size, monitor, |number, outcome, cores| {
            keep(number, outcome, Some(cores.to_string()))
        });
    }
    farlink_sim::run_each(list, threads, monitor, |number, outcome| {
        keep(number, outcome, None)
    })
}

/// Runs scenarios one after another on this thread. Threads would only wait for each other's GIL.
fn run_in_order<T>(
    list: &[(&Expanded, u64)],
    monitor: &Monitor,
    dog: &Arc<Watchdog>,
    keep: impl Fn(usize, Outcome) -> T,
) -> (Vec<T>, Option<RunError>) {
    let mut kept = Vec::with_capacity(list.len());
    for (number, &(scenario, run)) in list.iter().enumerate() {
        let work = || farlink_sim::run(scenario, run, monitor);
        match control::run_attached(dog, scenario, run, work) {
            Ok(outcome) => kept.push(keep(number, outcome)),
            Err(error) => return (kept, Some(error)),
        }
        monitor.done.fetch_add(1, Ordering::Relaxed);
    }
    (kept, None)
}

/// Runs a scenario once with probes. Returns measures, tables and captures.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
fn trace<'py>(
    py: Python<'py>,
    scenario: &str,
    run: u64,
    snaplen: Option<u32>,
    packets: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let expanded = &job::expand(py, scenario)?;
    let options = TraceOptions {
        snaplen,
        comment: trace_files::comment(expanded, run),
        packets,
    };
    let mut tables = Vec::new();
    let traced = watch(py, 1, progress.as_ref(), |monitor, dog| {
        let mut sink = |piece: farlink_sim::Piece| {
            tables.push(piece.into_table());
            Ok(())
        };
        let mut work =
            || farlink_sim::trace_into(expanded, run, &options, monitor, usize::MAX, &mut sink);
        if control::uses_python(expanded) {
            control::run_attached(dog, expanded, run, work)
        } else {
            work()
        }
    })?;
    let out = trace_files::results(py, expanded, run, traced)?;
    if packets {
        let lines = farlink_sim::story(expanded, &tables);
        let rows = lines.into_iter().map(|line| {
            let flow = &expanded.flows[line.flow as usize].name;
            let side = if line.side == 0 { "from" } else { "to" };
            let time = line.time.as_secs_f64();
            (time, flow.clone(), side, line.text, line.packet)
        });
        out.set_item("story", rows.collect::<Vec<_>>())?;
    }
    let by_name = PyDict::new(py);
    for table in tables {
        by_name.set_item(table.name, Columns::of(table, expanded)?)?;
    }
    out.set_item("tables", by_name)?;
    Ok(out)
}

/// Returns the positions of a radio link's nodes, as columns in seconds and metres.
#[pyfunction]
fn trajectory(
    py: Python<'_>,
    scenario: &str,
    run: u64,
    link: &str,
    step: f64,
    duration: f64,
) -> PyResult<Columns> {
    let expanded = job::expand(py, scenario)?;
    let nanos = |seconds: f64| Interval::from_nanos((seconds * 1e9).round() as u64);
    let measured = farlink_sim::trajectory(&expanded, run, link, nanos(step), nanos(duration))
        .map_err(|e| errors::run(py, &e))?;
    let [x1, y1, x2, y2] = measured.places;
    Columns::raw([
        ("time", Column::F64(measured.time)),
        ("x1", Column::F64(x1)),
        ("y1", Column::F64(y1)),
        ("x2", Column::F64(x2)),
        ("y2", Column::F64(y2)),
        ("distance", Column::F64(measured.distance)),
    ])
}

/// Sends packets through the channel of a link. Returns columns with the fate of each packet, and
/// closed form, derived values and traffic as JSON.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)] // Python names them
#[pyo3(signature = (scenario, link, direction, packets, length, spacing_ns, run))]
fn sample_channel<'py>(
    py: Python<'py>,
    scenario: &str,
    link: &str,
    direction: &str,
    packets: u64,
    length: u32,
    spacing_ns: Option<u64>,
    run: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let expanded = &job::expand(py, scenario)?;
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

/// Returns the regularised incomplete beta function I_x(a, b), for a, b > 0 and 0 <= x <= 1.
#[pyfunction]
fn beta_reg(a: f64, b: f64, x: f64) -> f64 {
    statrs::function::beta::beta_reg(a, b, x)
}

/// Returns the lower regularised incomplete gamma function P(a, x), for a > 0 and x >= 0.
#[pyfunction]
fn gamma_lr(a: f64, x: f64) -> f64 {
    statrs::function::gamma::gamma_lr(a, x)
}

/// Returns the upper regularised incomplete gamma function Q(a, x), for a > 0 and x >= 0.
#[pyfunction]
fn gamma_ur(a: f64, x: f64) -> f64 {
    statrs::function::gamma::gamma_ur(a, x)
}
