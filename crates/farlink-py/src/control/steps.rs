//! A run that a program in Python advances by time, for environments of learning programs.

use super::watchdog::{first_seed, with_seeds};
use crate::errors;
use crate::job::expand;
use crate::measures::{Known, Measures, Row};
use farlink_sim::{Progress, Stepper};
use farlink_tcp::{Instant, Interval, congestion::Abort};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Longest time of a run, in seconds, that a step may name: 292 years in nanoseconds.
const LONGEST: f64 = 9.2e9;

/// Run in progress. It stays on the thread that built it.
#[pyclass(unsendable, module = "farlink._farlink")]
pub(crate) struct Steps {
    /// `None` after the end, and after an error in a hook.
    stepper: Option<Stepper>,
    run: u64,
    seeds: u64,
}

impl Steps {
    fn guarded<T>(
        &mut self,
        py: Python<'_>,
        work: impl FnOnce(&mut Option<Stepper>) -> PyResult<T>,
    ) -> PyResult<T> {
        let Self { stepper, seeds, .. } = self;
        let result = with_seeds(seeds, || catch_unwind(AssertUnwindSafe(|| work(stepper))));
        result.unwrap_or_else(|panic| {
            self.stepper = None;
            Err(match panic.downcast_ref::<Abort>() {
                Some(Abort(message)) => errors::scenario(py, message),
                None => errors::internal(&"a step of a run panicked"),
            })
        })
    }
}

fn over() -> PyErr {
    errors::internal(&"the run is over")
}

#[pymethods]
impl Steps {
    #[new]
    fn new(py: Python<'_>, scenario: &str, run: u64) -> PyResult<Self> {
        let scenario = expand(py, scenario)?;
        let mut steps = Self {
            stepper: None,
            run,
            seeds: first_seed(scenario.seed, run),
        };
        steps.guarded(py, |stepper| {
            let built = Stepper::new(scenario, run, &[""; 0]);
            *stepper = Some(built.map_err(|e| errors::run(py, &e))?);
            Ok(())
        })?;
        Ok(steps)
    }

    /// Handles all events up to a time in seconds. Returns whether the run is over, and the time of
    /// the last event.
    fn until(&mut self, py: Python<'_>, seconds: f64) -> PyResult<(bool, f64)> {
        let at = Instant::ZERO + Interval::from_nanos((seconds.clamp(0.0, LONGEST) * 1e9) as u64);
        let progress: Progress = self.guarded(py, |stepper| {
            let progress = stepper.as_mut().ok_or_else(over)?.step_until(at);
            progress.map_err(|e| errors::run(py, &e))
        })?;
        Ok((progress.is_over, progress.simulated))
    }

    /// Ends the run at the present time, and returns its measures.
    fn finish(&mut self, py: Python<'_>) -> PyResult<Measures> {
        let run = self.run;
        self.guarded(py, |stepper| {
            let (scenario, trace) = stepper.take().ok_or_else(over)?.finish();
            let known = Known::of(&scenario, &trace.outcome);
            Ok(Measures::new(known, vec![Row::of(run, &trace.outcome)]))
        })
    }
}
