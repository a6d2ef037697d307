//! Runs with classes in Python: one thread that keeps the GIL, and a time bound per hook.

use super::objects::MARK;
use farlink_sim::scenario::Expanded;
use pyo3::create_exception;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

create_exception!(
    farlink,
    HookTimeout,
    PyBaseException,
    "A hook of a class takes too long."
);

/// Time after which a hook is stopped.
pub(super) const BOUND: Duration = Duration::from_secs(2);

/// Hook calls of the thread that runs, for the thread that watches.
#[derive(Default)]
pub(crate) struct Watchdog {
    /// Number of entries and exits; odd within a hook.
    steps: AtomicU64,
    /// Identity of the running thread in Python.
    thread: AtomicU64,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Watchdog>>> = const { RefCell::new(None) };
    static SEED: Cell<u64> = const { Cell::new(0) };
}

impl Watchdog {
    /// Raises [`HookTimeout`] in a hook that has run for [`BOUND`]. `seen` is the state of the last
    /// check.
    pub(crate) fn check(&self, py: Python<'_>, seen: &mut (u64, Option<Instant>)) {
        let steps = self.steps.load(Ordering::Relaxed);
        if steps.is_multiple_of(2) || steps != seen.0 {
            *seen = (steps, (steps % 2 == 1).then(Instant::now));
        } else if seen.1.is_some_and(|since| since.elapsed() > BOUND) {
            let class = py.get_type::<HookTimeout>();
            let thread = self.thread.load(Ordering::Relaxed);
            // SAFETY: the GIL is held, and Python ignores the identity of a thread that has ended.
            #[allow(unsafe_code)]
            unsafe {
                pyo3::ffi::PyThreadState_SetAsyncExc(thread as _, class.as_ptr());
            }
        }
    }
}

/// Counts the entry into a hook or the exit from it.
pub(super) fn step() {
    CURRENT.with_borrow(|current| {
        if let Some(dog) = current {
            dog.steps.fetch_add(1, Ordering::Relaxed);
        }
    });
}

/// Returns the seed of the next controller of the run on this thread.
pub(super) fn next_seed() -> u64 {
    let mut state = SEED.get();
    let seed = super::objects::splitmix(&mut state);
    SEED.set(state);
    seed
}

/// Calls `work` with the generator of controllers' seeds at `state`, and stores its new state.
pub(super) fn with_seeds<T>(state: &mut u64, work: impl FnOnce() -> T) -> T {
    let outer = SEED.replace(*state);
    let result = work();
    *state = SEED.replace(outer);
    result
}

/// Returns the first state of the generator of controllers' seeds in run `run` of a scenario.
pub(super) fn first_seed(seed: u64, run: u64) -> u64 {
    seed ^ run.wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// Prepares this thread for run `run` of a scenario.
pub(super) fn begin(seed: u64, run: u64) {
    SEED.set(first_seed(seed, run));
}

/// Returns whether the scenario has a class in Python.
pub(crate) fn uses_python(scenario: &Expanded) -> bool {
    let in_python = |control: &farlink_tcp::congestion::Control| {
        let parameters = control.algorithm().parameters;
        parameters.first().is_some_and(|first| first.name == MARK)
    };
    let mut flows = scenario.flows.iter();
    scenario.has_python_classes()
        || flows.any(|f| in_python(&f.sender.congestion) || in_python(&f.receiver.congestion))
}

/// Runs `work` with the GIL held throughout, as run `run` of the scenario. Hooks then attach at no
/// cost. Python still hands the GIL to other threads between the bytecodes of hooks.
pub(crate) fn run_attached<T>(
    dog: &Arc<Watchdog>,
    scenario: &Expanded,
    run: u64,
    work: impl FnOnce() -> T,
) -> T {
    Python::attach(|py| {
        let ident = py
            .import("threading")
            .and_then(|m| m.call_method0("get_ident"));
        let ident = ident.and_then(|id| id.extract::<u64>()).unwrap_or_default();
        dog.thread.store(ident, Ordering::Relaxed);
        CURRENT.set(Some(Arc::clone(dog)));
        begin(scenario.seed, run);
        work()
    })
}
