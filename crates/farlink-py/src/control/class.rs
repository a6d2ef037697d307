//! Registration of a class as an algorithm of the engine.

use super::controller::{PythonControl, UNDO};
use super::objects::{Class, HOOKS, MARK};
use super::watchdog::next_seed;
use crate::errors;
use farlink_tcp::congestion::{
    self, Algorithm, CongestionControl, Context, Control, Extras, Input, Metric, Parameter, Range,
    RecoveryWindow, Setting, Start,
};
use farlink_tcp::key::Word;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Classes by the address of their algorithm, which lives for ever.
static CLASSES: Mutex<Option<HashMap<usize, Arc<Class>>>> = Mutex::new(None);

fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

type Reader = fn(&dyn CongestionControl, &Context<'_>) -> Option<f64>;

/// Readers of published attributes by number: a metric has a function without captured values.
const READERS: [Reader; 8] = [
    read::<0>, read::<1>, read::<2>, read::<3>, read::<4>, read::<5>, read::<6>, read::<7>,
];

fn read<const N: usize>(control: &dyn CongestionControl, cx: &Context<'_>) -> Option<f64> {
    let control: &dyn Any = control;
    control.downcast_ref::<PythonControl>()?.published(N, cx)
}

/// Registers a class: its name, source file and text, hooks, parameters with defaults, published
/// attributes as (name, unit, meaning), and whether the class owns cwnd during recovery.
#[pyfunction]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // Python names them
#[pyo3(signature = (*, name, file, text, cls, hooks, parameters, published, owns_recovery))]
pub(crate) fn register_control(
    py: Python<'_>,
    name: &str,
    file: String,
    text: &str,
    cls: Py<PyType>,
    hooks: Vec<String>,
    parameters: Vec<(String, Py<PyAny>)>,
    published: Vec<(String, String, String)>,
    owns_recovery: bool,
) -> PyResult<()> {
    let mut all = vec![
        word(MARK, "source of the class", text),
        word("file", "file", &file),
    ];
    for (name, default) in &parameters {
        all.push(parameter(name, default.bind(py))?);
    }
    let metrics = published
        .iter()
        .zip(READERS)
        .map(|((name, unit, doc), read)| Metric {
            name: leak(name),
            unit: leak(unit),
            doc: leak(doc),
            read,
        });
    let algorithm: &'static Algorithm = Box::leak(Box::new(Algorithm {
        name: leak(name),
        summary: "congestion control in Python",
        parameters: Vec::leak(all),
        metrics: Vec::leak(metrics.collect()),
        inputs: INPUTS,
        recovery_window: if owns_recovery {
            |_| RecoveryWindow::Controller
        } else {
            |_| RecoveryWindow::Ssthresh
        },
        extras: Extras {
            undo: UNDO,
            ..Extras::NONE
        },
        build,
    }));
    let defined = |hook: &&str| hooks.iter().any(|name| name == hook);
    let entry = Class {
        object: cls,
        name: algorithm.name,
        file,
        hooks: (0..HOOKS.len()).filter(|&i| defined(&HOOKS[i])).collect(),
        published: published
            .iter()
            .map(|(name, ..)| pyo3::types::PyString::intern(py, name).into_any().unbind())
            .collect(),
    };
    let mut classes = CLASSES.lock().unwrap_or_else(PoisonError::into_inner);
    let address = std::ptr::from_ref(algorithm) as usize;
    classes
        .get_or_insert_default()
        .insert(address, Arc::new(entry));
    congestion::register(algorithm).map_err(|own| {
        let message = format!(
            "{} is a congestion control of farlink; rename the class",
            own.name
        );
        errors::scenario(py, &message)
    })
}

/// Parts of the configuration that a class uses: all but byte counting, which the class does itself.
const INPUTS: &[Input] = &[
    Input::Window,
    Input::InitialWindow,
    Input::InitialSsthresh,
    Input::WindowUse,
    Input::IdleRestart,
    Input::Pacing,
    Input::FlightAtLoss,
    Input::FlightAtTimeout,
    Input::RecoveryExit,
];

fn word(name: &'static str, doc: &'static str, text: &str) -> Parameter {
    let text = leak(text);
    Parameter {
        name,
        doc,
        default: Setting::Choice(text),
        range: Range::Choice(Vec::leak(vec![Word(text, "")])),
    }
}

fn parameter(name: &str, default: &Bound<'_, PyAny>) -> PyResult<Parameter> {
    let (default, range) = match default.extract::<bool>() {
        Ok(on) => (Setting::Flag(on), Range::Flag),
        Err(_) => (
            Setting::Number(default.extract()?),
            Range::Number(-1e15, 1e15),
        ),
    };
    Ok(Parameter {
        name: leak(name),
        doc: "argument of the class",
        default,
        range,
    })
}

/// Builds a controller, as an instance of the class with the parameters as keywords.
fn build(control: &Control, start: Start) -> Box<dyn CongestionControl> {
    let address = std::ptr::from_ref(control.algorithm()) as usize;
    let class = {
        let classes = CLASSES.lock().unwrap_or_else(PoisonError::into_inner);
        classes.as_ref().and_then(|all| all.get(&address)).cloned()
    };
    let class = class.unwrap_or_else(|| panic!("{} has no class", control.algorithm().name));
    let seed = next_seed();
    Python::attach(|py| {
        let arguments = PyDict::new(py);
        for (parameter, setting) in control.settings() {
            let set = match setting {
                Setting::Flag(on) => arguments.set_item(parameter.name, on),
                Setting::Number(x) => arguments.set_item(parameter.name, x),
                _ => Ok(()),
            };
            debug_assert!(set.is_ok(), "a dictionary takes a string as key");
        }
        Box::new(PythonControl::new(py, class, &arguments, start, seed))
    })
}
