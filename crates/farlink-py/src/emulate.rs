//! Emulation for Linux: real packets in real time.

use crate::errors;
use farlink_emu::{Answer, EmuError, GatewayOptions, Options, Place, Request};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyPermissionError, PySystemExit};
use pyo3::prelude::*;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Carries packets between the hosts of a resolved scenario while a program runs in one of them.
/// `options` is JSON (`farlink_emu::Options`). Calls `notice` with each line for the user of a
/// unit. Returns the report as JSON.
#[pyfunction]
#[pyo3(signature = (scenario, options, notice = None))]
#[allow(clippy::needless_pass_by_value)] // taken from Python, for a thread without it
pub(crate) fn emulate(
    py: Python<'_>,
    scenario: String,
    options: String,
    notice: Option<Py<PyAny>>,
) -> PyResult<String> {
    let options: Options = serde_json::from_str(&options).map_err(|e| errors::internal(&e))?;
    let report = py.detach(|| {
        farlink_emu::emulate(&scenario, &options, |carrying, lines| {
            tell(notice.as_ref(), lines)?;
            Python::attach(|py| match py.check_signals() {
                // While packets are carried, Ctrl-C or `SystemExit` ends the emulation with its
                // results, without an exception.
                Err(e)
                    if carrying
                        && (e.is_instance_of::<PyKeyboardInterrupt>(py)
                            || e.is_instance_of::<PySystemExit>(py)) =>
                {
                    Ok(false)
                }
                other => other.map(|()| true),
            })
        })
    });
    let report = report.map_err(|e| failure(py, &e))??;
    Ok(report.to_json().to_string())
}

/// Calls `notice` with each line.
fn tell(notice: Option<&Py<PyAny>>, lines: &[String]) -> PyResult<()> {
    let Some(notice) = notice.filter(|_| !lines.is_empty()) else {
        return Ok(());
    };
    Python::attach(|py| {
        lines
            .iter()
            .try_for_each(|line| notice.call1(py, (line,)).map(|_| ()))
    })
}

/// Restores and removes what killed emulations have left behind.
#[pyfunction]
pub(crate) fn sweep(py: Python<'_>) -> Vec<String> {
    py.detach(farlink_emu::sweep)
}

/// Returns a new key with which gateways join a unit.
#[pyfunction]
pub(crate) fn new_key() -> PyResult<String> {
    farlink_emu::new_key().map_err(|e| errors::run_error(&e))
}

/// Runs a gateway: a host of a unit's scenario. `options` is JSON (`farlink_emu::GatewayOptions`).
/// Calls `notice` with each line for the user. Returns the report as JSON.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken from Python, for a thread without it
pub(crate) fn gateway(py: Python<'_>, options: String, notice: Py<PyAny>) -> PyResult<String> {
    let options: GatewayOptions =
        serde_json::from_str(&options).map_err(|e| errors::internal(&e))?;
    let done = py.detach(|| {
        farlink_emu::gateway(&options, |lines| {
            tell(Some(&notice), lines)?;
            Python::attach(|py| match py.check_signals() {
                Err(e) if e.is_instance_of::<PyKeyboardInterrupt>(py) => Ok(false),
                other => other.map(|()| true),
            })
        })
    });
    let done = done.map_err(|e| failure(py, &e))??;
    serde_json::to_string(&done).map_err(|e| errors::internal(&e))
}

/// Sends a request to the emulation whose socket is at `path`, and returns its answer. Both are
/// JSON (`farlink_emu::Request`, `farlink_emu::Answer`). Raises the error that the emulation
/// reports.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken from Python, for a thread without it
pub(crate) fn ask(py: Python<'_>, path: PathBuf, request: String) -> PyResult<String> {
    let request: Request = serde_json::from_str(&request).map_err(|e| errors::internal(&e))?;
    match py.detach(|| farlink_emu::ask(&path, &request)) {
        Ok(Answer::State {
            links,
            agents,
            channels_off,
        }) => {
            let state = serde_json::json!({
                "links": links,
                "agents": agents,
                "channels_off": channels_off,
            });
            Ok(state.to_string())
        }
        Ok(Answer::Stats(stats)) => Ok(stats.to_string()),
        Ok(Answer::Place(place)) => serde_json::to_string(&place).map_err(|e| errors::internal(&e)),
        Ok(Answer::Error(message)) => Err(errors::scenario(py, &message)),
        Err(e) if e.kind() == ErrorKind::PermissionDenied => {
            Err(PyPermissionError::new_err(e.to_string()))
        }
        Err(e) => Err(PyOSError::new_err(e.to_string())),
    }
}

/// Runs a program in the host that `place` describes (JSON of `farlink_emu::Place`). Returns its
/// exit code.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken from Python, for a thread without it
pub(crate) fn execute(py: Python<'_>, place: String, argv: Vec<String>) -> PyResult<i32> {
    let place: Place = serde_json::from_str(&place).map_err(|e| errors::internal(&e))?;
    py.detach(|| farlink_emu::execute(&place, &argv))
        .map_err(|e| failure(py, &e))
}

fn failure(py: Python<'_>, error: &EmuError) -> PyErr {
    match error {
        EmuError::Scenario(message) => errors::scenario(py, message),
        _ => errors::run_error(error),
    }
}
