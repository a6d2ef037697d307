//! Laws of queues and sources of messages that are classes in Python.

use super::controller::fail;
use super::objects::splitmix;
use super::watchdog::step;
use farlink_link::discipline::{Decision, Dropper, Verdict};
use farlink_sim::scenario::{Builders, ClassText, Delivered, MessageSource, set_builders};
use farlink_tcp::{Instant, Interval};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::cell::Cell;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Class and the text by which scenarios name it.
struct Registered {
    class: String,
    file: String,
    python: String,
    object: Py<PyType>,
}

static CLASSES: Mutex<Vec<Registered>> = Mutex::new(Vec::new());

thread_local! {
    static SEED: Cell<u64> = const { Cell::new(0) };
}

/// State of an object: random numbers, and the time of a source's previous message.
#[pyclass(subclass, module = "farlink._farlink")]
pub(crate) struct ClassState {
    random: u64,
    #[pyo3(get)]
    now: f64,
}

#[pymethods]
impl ClassState {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self {
            random: SEED.get(),
            now: 0.0,
        }
    }

    /// Returns a random number of the run, at least 0 and below 1.
    fn random(&mut self) -> f64 {
        (splitmix(&mut self.random) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Packet at a decision of a queue: times in seconds, sizes in bytes. One object serves a queue.
#[pyclass(module = "farlink._farlink", name = "QueuedPacket")]
#[derive(Default)]
pub(crate) struct QueuedPacket {
    #[pyo3(get)]
    now: f64,
    #[pyo3(get)]
    bytes: u32,
    #[pyo3(get)]
    sojourn: f64,
    #[pyo3(get)]
    flow: u64,
    #[pyo3(get)]
    markable: bool,
    #[pyo3(get)]
    queue_packets: u32,
    #[pyo3(get)]
    queue_bytes: u64,
}

/// Registers a class: its name, source file and text. Its base decides on its use.
#[pyfunction]
pub(crate) fn register_class(class: String, file: String, python: String, object: Py<PyType>) {
    set_builders(Builders {
        is_known,
        dropper,
        source,
    });
    let mut all = CLASSES.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|old| (&old.class, &old.file, &old.python) != (&class, &file, &python));
    all.push(Registered {
        class,
        file,
        python,
        object,
    });
}

/// Calls `work` with the registered class of a text.
fn with_class<T>(text: &ClassText, work: impl FnOnce(&Registered) -> T) -> Option<T> {
    let all = CLASSES.lock().unwrap_or_else(PoisonError::into_inner);
    let of = |known: &&Registered| {
        (&known.class, &known.file, &known.python) == (&text.class, &text.file, &text.python)
    };
    all.iter().find(of).map(work)
}

fn is_known(text: &ClassText) -> bool {
    with_class(text, |_| ()).is_some()
}

/// Object of a class, and the names for messages.
struct Object {
    text: &'static ClassText,
    state: Py<PyAny>,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text.class)
    }
}

impl Object {
    fn new(py: Python<'_>, text: &'static ClassText, seed: u64) -> Self {
        let class = with_class(text, |known| known.object.clone_ref(py));
        let class = class.unwrap_or_else(|| panic!("{} has no class", text.class));
        SEED.set(seed);
        let built = (|| {
            let arguments = PyDict::new(py);
            for (name, value) in &text.arguments {
                arguments.set_item(name, value)?;
            }
            step();
            let object = class.bind(py).call((), Some(&arguments));
            step();
            Ok::<_, PyErr>(object?.unbind())
        })();
        match built {
            Ok(state) => Self { text, state },
            Err(error) => fail(
                py,
                (&text.file, &text.class),
                &error,
                "__init__",
                Instant::ZERO,
            ),
        }
    }

    fn fail(&self, py: Python<'_>, error: &PyErr, hook: &str, now: Instant) -> ! {
        fail(py, (&self.text.file, &self.text.class), error, hook, now)
    }
}

/// Law of a queue.
struct PythonDropper {
    object: Object,
    packet: Py<QueuedPacket>,
    arguments: Py<PyTuple>,
    on_arrival: Py<PyAny>,
    on_departure: Py<PyAny>,
}

impl fmt::Debug for PythonDropper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}

fn dropper(text: &'static ClassText, seed: u64) -> Box<dyn Dropper> {
    Python::attach(|py| {
        let object = Object::new(py, text, seed);
        let parts = (|| {
            let packet = Py::new(py, QueuedPacket::default())?;
            Ok::<_, PyErr>((
                PyTuple::new(py, [&packet])?.unbind(),
                packet,
                object.state.getattr(py, "on_arrival")?,
                object.state.getattr(py, "on_departure")?,
            ))
        })();
        match parts {
            Ok((arguments, packet, on_arrival, on_departure)) => Box::new(PythonDropper {
                object,
                packet,
                arguments,
                on_arrival,
                on_departure,
            }),
            Err(error) => object.fail(py, &error, "__init__", Instant::ZERO),
        }
    })
}

impl PythonDropper {
    fn ask(&self, hook: &str, method: &Py<PyAny>, decision: &Decision) -> Verdict {
        Python::attach(|py| {
            {
                let mut packet = self.packet.bind(py).borrow_mut();
                packet.now = decision.now.as_secs_f64();
                packet.bytes = decision.len;
                packet.sojourn = decision.sojourn.as_secs_f64();
                packet.flow = decision.flow;
                packet.markable = decision.markable;
                (packet.queue_packets, packet.queue_bytes) = decision.queued;
            }
            step();
            let answer = method.bind(py).call(self.arguments.bind(py), None);
            step();
            let verdict = answer.and_then(|answer| verdict(&answer));
            match verdict {
                Ok(verdict) => verdict,
                Err(error) => self.object.fail(py, &error, hook, decision.now),
            }
        })
    }
}

/// Reads a hook's answer.
fn verdict(answer: &Bound<'_, PyAny>) -> PyResult<Verdict> {
    if answer.is_none() {
        return Ok(Verdict::Pass);
    }
    match answer.extract::<String>().as_deref() {
        Ok("mark") => Ok(Verdict::Mark),
        Ok("drop") => Ok(Verdict::Drop),
        _ => Err(PyValueError::new_err(format!(
            "returned {}; return \"drop\", \"mark\" or None",
            answer.repr()?
        ))),
    }
}

impl Dropper for PythonDropper {
    fn on_arrival(&mut self, decision: &Decision) -> Verdict {
        self.ask("on_arrival", &self.on_arrival, decision)
    }

    fn on_departure(&mut self, decision: &Decision) -> Verdict {
        self.ask("on_departure", &self.on_departure, decision)
    }
}

/// Module of the base class of sources.
const BASE: &str = "farlink.classes";

/// Largest number of messages at one time. A source that needs more has forgotten to wait.
const MOST_AT_ONCE: u32 = 100_000;

/// Largest pause in seconds, and most bytes of a message.
const LONGEST: f64 = 3.2e8;
const MOST_BYTES: u64 = 1 << 40;

/// Source of messages: the iterator that `messages` returned.
#[derive(Debug)]
struct PythonSource {
    object: Object,
    iterator: Py<PyAny>,
    /// Hook for reports; `None` if the class has none of its own.
    on_delivered: Option<Py<PyAny>>,
    /// Number of messages since the last pause above zero.
    at_once: u32,
}

fn source(text: &'static ClassText, seed: u64) -> Box<dyn MessageSource> {
    Python::attach(|py| {
        let object = Object::new(py, text, seed);
        step();
        let iterator = object.state.call_method0(py, "messages");
        step();
        let iterator = iterator.and_then(|all| Ok(all.bind(py).try_iter()?.into_any().unbind()));
        match iterator {
            Ok(iterator) => Box::new(PythonSource {
                on_delivered: own_hook(py, &object.state),
                object,
                iterator,
                at_once: 0,
            }),
            Err(error) => object.fail(py, &error, "messages", Instant::ZERO),
        }
    })
}

/// Returns the hook for reports if the class has its own, and not that of the base class.
fn own_hook(py: Python<'_>, state: &Py<PyAny>) -> Option<Py<PyAny>> {
    let hook = state.getattr(py, "on_delivered").ok()?;
    let module = hook.getattr(py, "__module__").ok()?;
    let is_base = module.extract::<String>(py).is_ok_and(|name| name == BASE);
    (!is_base).then_some(hook)
}

impl PythonSource {
    fn set_time(&self, py: Python<'_>, now: Instant) {
        if let Ok(state) = self.object.state.bind(py).cast::<ClassState>() {
            state.borrow_mut().now = now.as_secs_f64();
        }
    }

    fn read(&mut self, py: Python<'_>, now: Instant) -> PyResult<Option<(Interval, u64)>> {
        self.set_time(py, now);
        step();
        let next = self.iterator.bind(py).try_iter()?.next();
        step();
        let Some(item) = next.transpose()? else {
            return Ok(None);
        };
        let wrong = |_| {
            PyTypeError::new_err("yield a pause in seconds and a number of bytes: yield 0.04, 1200")
        };
        let (pause, bytes) = item.extract::<(f64, f64)>().map_err(wrong)?;
        if !(0.0..=LONGEST).contains(&pause) {
            return Err(PyValueError::new_err(format!(
                "yielded a pause of {pause} s; write 0 to {LONGEST:e}"
            )));
        }
        if !(1.0..=MOST_BYTES as f64).contains(&bytes) {
            return Err(PyValueError::new_err(format!(
                "yielded {bytes} bytes; write 1 to 2**40"
            )));
        }
        let pause = Interval::from_nanos((pause * 1e9).round() as u64);
        self.at_once = if pause.is_zero() { self.at_once + 1 } else { 0 };
        if self.at_once >= MOST_AT_ONCE {
            return Err(PyValueError::new_err(format!(
                "yielded {MOST_AT_ONCE} messages at one time; yield a pause above 0"
            )));
        }
        Ok(Some((pause, bytes as u64)))
    }
}

impl MessageSource for PythonSource {
    fn next_message(&mut self, now: Instant) -> Option<(Interval, u64)> {
        Python::attach(|py| match self.read(py, now) {
            Ok(message) => message,
            Err(error) => self.object.fail(py, &error, "messages", now),
        })
    }

    fn wants_reports(&self) -> bool {
        self.on_delivered.is_some()
    }

    fn on_delivered(&mut self, now: Instant, message: Delivered) {
        let Some(hook) = &self.on_delivered else {
            return;
        };
        let (due, arrived) = (message.due.as_secs_f64(), message.arrived.as_secs_f64());
        Python::attach(|py| {
            self.set_time(py, now);
            step();
            let answer = hook.bind(py).call1((due, arrived, message.bytes));
            step();
            if let Err(error) = answer {
                self.object.fail(py, &error, "on_delivered", now);
            }
        });
    }

    fn refuse_reports(&self) {
        if self.on_delivered.is_some() {
            let message =
                "is never called, because datagrams have no way back; write app = \"stream\"";
            let error = PyValueError::new_err(message);
            Python::attach(|py| {
                self.object.fail(py, &error, "on_delivered", Instant::ZERO);
            });
        }
    }
}
