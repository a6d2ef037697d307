//! Exception hierarchy: `FarlinkError` > `ScenarioError`, `RunError`.

use farlink_sim::RunError as SimError;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

create_exception!(
    farlink,
    FarlinkError,
    PyException,
    "Base of all errors of this package."
);
create_exception!(
    farlink,
    RunError,
    FarlinkError,
    "A run could not be finished."
);

static SCENARIO_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Adds the exception classes to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    m.add("FarlinkError", py.get_type::<FarlinkError>())?;
    m.add("RunError", py.get_type::<RunError>())?;
    m.add("ScenarioError", scenario_error(py)?)
}

/// Returns the class `ScenarioError`. It is also a `ValueError`, so it is created with two bases.
fn scenario_error(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    let class = SCENARIO_ERROR.get_or_try_init(py, || {
        let bases = PyTuple::new(
            py,
            [py.get_type::<FarlinkError>(), py.get_type::<PyValueError>()],
        )?;
        let body = PyDict::new(py);
        body.set_item("__module__", "farlink")?;
        body.set_item(
            "__doc__",
            "What was asked for is wrong; the message says what, where, and what to write.",
        )?;
        let class = py
            .get_type::<PyType>()
            .call1(("ScenarioError", bases, body))?;
        Ok::<_, PyErr>(class.cast_into::<PyType>()?.unbind())
    })?;
    Ok(class.bind(py).clone())
}

/// Builds a `ScenarioError`: a mistake in a scenario.
pub(crate) fn scenario(py: Python<'_>, message: &str) -> PyErr {
    match scenario_error(py) {
        Ok(class) => PyErr::from_type(class, (message.to_owned(),)),
        Err(error) => error,
    }
}

/// Builds the exception for a run without a result.
pub(crate) fn run(py: Python<'_>, error: &SimError) -> PyErr {
    match error {
        SimError::Interrupted => PyKeyboardInterrupt::new_err(()),
        SimError::Build(message) => scenario(py, message),
        SimError::Full { .. } => RunError::new_err(error.to_string()),
    }
}

/// Builds a `RunError` from an error of the emulator.
#[cfg(target_os = "linux")]
pub(crate) fn run_error(error: &impl std::fmt::Display) -> PyErr {
    RunError::new_err(error.to_string())
}

/// Builds the error of a condition that cannot occur.
pub(crate) fn internal(error: &impl std::fmt::Display) -> PyErr {
    FarlinkError::new_err(format!("internal error: {error}"))
}
