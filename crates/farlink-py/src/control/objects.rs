//! Class in Python, and the objects that it reads and writes: its own state, and the event of a
//! hook.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::cell::Cell;

/// Parameter that holds the source of the class. Each scenario in use has it.
pub(crate) const MARK: &str = "python";

/// Names of the hooks, in the order of `Hook` of the controller.
pub(super) const HOOKS: [&str; 11] = [
    "on_established",
    "on_delivered",
    "on_ack",
    "on_dup_ack",
    "on_loss",
    "on_ecn",
    "on_recovery_ack",
    "on_recovered",
    "on_timeout",
    "on_idle",
    "on_pause",
];

/// Class and what the engine needs of it.
pub(super) struct Class {
    pub(super) object: Py<PyType>,
    pub(super) name: &'static str,
    /// Name of the source file in tracebacks.
    pub(super) file: String,
    /// Hooks that the class defines.
    pub(super) hooks: Vec<usize>,
    /// Attributes in traces.
    pub(super) published: Vec<Py<PyAny>>,
}

/// Largest window that a class may set, in bytes. A float holds every whole number below.
const MAX_BYTES: f64 = (1_u64 << 53) as f64;

/// Initial state of the next instance on this thread.
#[derive(Clone, Copy, Default)]
pub(super) struct Initial {
    pub(super) cwnd: f64,
    pub(super) ssthresh: f64,
    pub(super) seed: u64,
}

thread_local! {
    pub(super) static INITIAL: Cell<Initial> = const {
        Cell::new(Initial { cwnd: 0.0, ssthresh: f64::INFINITY, seed: 0 })
    };
}

/// State that the engine reads after each hook. The setters refuse impossible values, so that the
/// error has the line of the assignment.
#[pyclass(subclass, module = "farlink._farlink")]
pub(crate) struct ControlState {
    pub(super) cwnd: f64,
    pub(super) ssthresh: f64,
    pub(super) pacing_rate: Option<f64>,
    random: u64,
}

/// Returns the next output of the generator splitmix64.
pub(super) fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[pymethods]
impl ControlState {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        let initial = INITIAL.get();
        Self {
            cwnd: initial.cwnd,
            ssthresh: initial.ssthresh,
            pacing_rate: None,
            random: initial.seed,
        }
    }

    #[getter]
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    #[setter]
    fn set_cwnd(&mut self, bytes: f64) -> PyResult<()> {
        if !(0.0..=MAX_BYTES).contains(&bytes) {
            return Err(PyValueError::new_err(format!(
                "cwnd = {bytes}; write bytes from 0 to 2**53"
            )));
        }
        self.cwnd = bytes;
        Ok(())
    }

    #[getter]
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    #[setter]
    fn set_ssthresh(&mut self, bytes: f64) -> PyResult<()> {
        if bytes.is_nan() || bytes < 0.0 {
            return Err(PyValueError::new_err(format!(
                "ssthresh = {bytes}; write bytes of 0 or more, or math.inf"
            )));
        }
        self.ssthresh = bytes;
        Ok(())
    }

    #[getter]
    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    #[setter]
    fn set_pacing_rate(&mut self, rate: Option<f64>) -> PyResult<()> {
        if let Some(rate) = rate.filter(|rate| !(1.0..=1e15).contains(rate)) {
            return Err(PyValueError::new_err(format!(
                "pacing_rate = {rate}; write bit/s from 1 to 1e15, or None"
            )));
        }
        self.pacing_rate = rate;
        Ok(())
    }

    /// Returns a random number of the run, at least 0 and below 1.
    fn random(&mut self) -> f64 {
        (splitmix(&mut self.random) >> 11) as f64 / MAX_BYTES
    }
}

/// Event of a hook: times in seconds, sizes in bytes. One object serves all hooks of a connection.
#[pyclass(module = "farlink._farlink", name = "ControlEvent")]
#[derive(Default)]
pub(crate) struct ControlEvent {
    #[pyo3(get)]
    pub(super) now: f64,
    #[pyo3(get)]
    pub(super) mss: u64,
    #[pyo3(get)]
    pub(super) flight: u64,
    #[pyo3(get)]
    pub(super) acked: u64,
    #[pyo3(get)]
    pub(super) rtt: Option<f64>,
    #[pyo3(get)]
    pub(super) srtt: Option<f64>,
    #[pyo3(get)]
    pub(super) min_rtt: Option<f64>,
    #[pyo3(get)]
    pub(super) rto: f64,
    #[pyo3(get)]
    pub(super) cwnd_limited: bool,
    #[pyo3(get)]
    pub(super) sent_at: f64,
    #[pyo3(get)]
    pub(super) first: bool,
    #[pyo3(get)]
    pub(super) window: u64,
    #[pyo3(get)]
    pub(super) idle: f64,
}
