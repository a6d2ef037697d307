//! Runs long work without the GIL, reports progress, and reacts to Ctrl-C.

use crate::control::Watchdog;
use crate::errors;
use crate::resolve::load;
use farlink_sim::scenario::Expanded;
use farlink_sim::{Monitor, RunError};
use farlink_tcp::congestion::Abort;
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Interval at which signals and progress are checked.
const CHECK_EVERY: Duration = Duration::from_millis(50);

/// Stack size of worker threads, equal to that of Python's main thread.
pub(crate) const STACK: usize = 8 << 20;

/// Reads a resolved scenario.
pub(crate) fn expand(py: Python<'_>, text: &str) -> PyResult<Expanded> {
    let text = text.to_owned();
    let work = move || load(&text);
    aside(py, work)?.map_err(|e| errors::scenario(py, &e.to_string()))
}

/// Runs `work` on its own thread and returns its result. Returns early if Python has a signal to
/// raise; the thread then finishes later, and drops its result.
#[allow(clippy::redundant_closure_for_method_calls)] // the method takes one lifetime only
pub(crate) fn aside<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (done, result) = channel();
    let thread = std::thread::Builder::new().stack_size(STACK);
    let started = thread.spawn(move || {
        let _ = done.send(catch_unwind(AssertUnwindSafe(work)));
    });
    if let Err(error) = started {
        return Err(errors::internal(&format!("cannot start a thread: {error}")));
    }
    let result = std::sync::Mutex::new(result);
    py.detach(|| {
        loop {
            let outcome = match result.lock() {
                Ok(result) => result.recv_timeout(CHECK_EVERY),
                Err(_) => Err(RecvTimeoutError::Disconnected),
            };
            match outcome {
                Ok(Ok(made)) => return Ok(made),
                Ok(Err(panic)) => return Err(errors::internal(&message(&*panic))),
                Err(RecvTimeoutError::Disconnected) => return Err(errors::internal(&"no message")),
                Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
            }
        }
    })
}

/// Returns the message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".to_owned())
}

/// Scenarios, each with the numbers of its runs.
pub(crate) struct Jobs {
    parts: Vec<(Expanded, Vec<u64>)>,
}

impl Jobs {
    pub(crate) fn new<T: AsRef<str>>(py: Python<'_>, parts: Vec<(T, Vec<u64>)>) -> PyResult<Self> {
        let (texts, runs): (Vec<_>, Vec<_>) = parts
            .into_iter()
            .map(|(text, runs)| (text.as_ref().to_owned(), runs))
            .unzip();
        // A single thread reads the scenarios, because a sweep has thousands of short runs.
        let work = move || {
            texts
                .iter()
                .map(|text| load(text))
                .collect::<Result<_, _>>()
        };
        let scenarios: Result<Vec<Expanded>, _> = aside(py, work)?;
        let scenarios = scenarios.map_err(|e| errors::scenario(py, &e.to_string()))?;
        Ok(Self {
            parts: scenarios.into_iter().zip(runs).collect(),
        })
    }

    /// Returns the number of parts.
    pub(crate) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Returns the number of runs of all parts.
    pub(crate) fn len(&self) -> usize {
        self.parts.iter().map(|(_, runs)| runs.len()).sum()
    }

    /// Returns all runs, and the index of each run's part. The order is the first run of each part,
    /// the second of each part, and so on.
    pub(crate) fn list(&self) -> (Vec<(&Expanded, u64)>, Vec<usize>) {
        let most = self.parts.iter().map(|(_, runs)| runs.len()).max();
        (0..most.unwrap_or(0))
            .flat_map(|k| {
                let parts = self.parts.iter().enumerate();
                parts.filter_map(move |(part, (scenario, runs))| {
                    Some(((scenario, *runs.get(k)?), part))
                })
            })
            .unzip()
    }

    /// Groups results by part. `kept` is in the order of [`Self::list`], and `places` has the index
    /// of each result's part.
    pub(crate) fn by_part<T>(&self, kept: Vec<T>, places: &[usize]) -> Vec<Vec<T>> {
        let mut parts: Vec<Vec<T>> = self.parts.iter().map(|_| Vec::new()).collect();
        for (item, &place) in kept.into_iter().zip(places) {
            parts[place].push(item);
        }
        parts
    }
}

/// Number of links and flows above which scenarios are dropped on another thread.
const MANY: usize = 10_000;

impl Drop for Jobs {
    /// Drops large scenarios on another thread, so that Ctrl-C returns at once.
    fn drop(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        let size =
            |(scenario, _): &(Expanded, Vec<u64>)| scenario.links.len() + scenario.flows.len();
        if parts.iter().map(size).sum::<usize>() > MANY {
            let thread = std::thread::Builder::new();
            // If the thread cannot start, the closure and its scenarios are dropped here.
            let _ = thread.spawn(move || drop(parts));
        }
    }
}

/// Runs `work` on its own thread and calls `progress` meanwhile. Stops the work when Python has a
/// signal to raise.
pub(crate) fn watch<T: Send>(
    py: Python<'_>,
    total: usize,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Monitor, &Arc<Watchdog>) -> Result<T, RunError> + Send,
) -> PyResult<T> {
    let monitor = Monitor::default();
    let dog = Arc::new(Watchdog::default());
    let result = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, result) = channel();
            let (monitor, dog) = (&monitor, &dog);
            let mut seen = (0, None);
            scope.spawn(move || {
                let outcome = catch_unwind(AssertUnwindSafe(|| work(monitor, dog)));
                let _ = done.send(outcome);
            });
            let mut raised = None;
            loop {
                match result.recv_timeout(CHECK_EVERY) {
                    Ok(outcome) => return (outcome, raised),
                    Err(RecvTimeoutError::Disconnected) => {
                        return (Ok(Err(RunError::Interrupted)), raised);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if raised.is_none() {
                    raised = Python::attach(|py| {
                        dog.check(py, &mut seen);
                        check(py, monitor, total, progress)
                    })
                    .err();
                    if raised.is_some() {
                        monitor.stop.store(true, Ordering::Relaxed);
                    }
                }
            }
        })
    });
    match result {
        (_, Some(raised)) => Err(raised),
        (Ok(outcome), None) => outcome.map_err(|e| errors::run(py, &e)),
        (Err(panic), None) => Err(match panic.downcast_ref::<Abort>() {
            Some(Abort(message)) => errors::scenario(py, message),
            None => errors::internal(&message(&*panic)),
        }),
    }
}

fn check(
    py: Python<'_>,
    monitor: &Monitor,
    total: usize,
    progress: Option<&Py<PyAny>>,
) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress {
        let simulated = monitor.simulated.load(Ordering::Relaxed) as f64 / 1e9;
        let share = monitor.share.load(Ordering::Relaxed) as f64 / 1e6;
        let expected = if share > 0.0 {
            simulated / share
        } else {
            f64::NAN
        };
        let done = monitor.done.load(Ordering::Relaxed);
        progress.call1(py, (simulated, expected, done, total))?;
    }
    Ok(())
}
