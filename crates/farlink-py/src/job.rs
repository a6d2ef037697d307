//! Long work without the GIL: progress is reported and Ctrl-C works meanwhile.

use crate::errors;
use farlink_sim::scenario::{self, Expanded};
use farlink_sim::{Monitor, RunError};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Time between two looks at signals and progress.
const LOOK: Duration = Duration::from_millis(50);

/// Jobs with each distinct scenario read once.
pub(crate) struct Jobs {
    scenarios: Vec<Expanded>,
    jobs: Vec<(usize, u64)>,
}

impl Jobs {
    pub(crate) fn new<T: AsRef<str>>(py: Python<'_>, jobs: &[(T, u64)]) -> PyResult<Self> {
        let mut texts: Vec<&str> = Vec::new();
        let mut scenarios = Vec::new();
        let mut list = Vec::with_capacity(jobs.len());
        for (text, run) in jobs {
            let text = text.as_ref();
            let known = texts
                .iter()
                .position(|&t| std::ptr::eq(t, text) || t == text);
            let index = if let Some(index) = known {
                index
            } else {
                let expanded = scenario::load(text, "resolved scenario", &[])
                    .and_then(|s| s.expand())
                    .map_err(|e| errors::scenario(py, &e.to_string()))?;
                texts.push(text);
                scenarios.push(expanded);
                scenarios.len() - 1
            };
            list.push((index, *run));
        }
        Ok(Self {
            scenarios,
            jobs: list,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.jobs.len()
    }

    pub(crate) fn list(&self) -> Vec<(&Expanded, u64)> {
        self.jobs
            .iter()
            .map(|&(i, run)| (&self.scenarios[i], run))
            .collect()
    }
}

/// Does `work` on a thread of its own, calls `progress` meanwhile, and stops
/// the work when Python has a signal to raise.
pub(crate) fn watch<T: Send>(
    py: Python<'_>,
    total: usize,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Monitor) -> Result<T, RunError> + Send,
) -> PyResult<T> {
    let monitor = Monitor::default();
    let result = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, result) = channel();
            let monitor = &monitor;
            scope.spawn(move || {
                let outcome = catch_unwind(AssertUnwindSafe(|| work(monitor)));
                let _ = done.send(outcome);
            });
            let mut raised = None;
            loop {
                match result.recv_timeout(LOOK) {
                    Ok(outcome) => return (outcome, raised),
                    Err(RecvTimeoutError::Disconnected) => {
                        return (Ok(Err(RunError::Interrupted)), raised);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if raised.is_none() {
                    raised = Python::attach(|py| look(py, monitor, total, progress)).err();
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
        (Err(panic), None) => {
            let what = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("no message");
            Err(errors::internal(&what))
        }
    }
}

fn look(
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
