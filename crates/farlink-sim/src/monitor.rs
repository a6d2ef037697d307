//! Progress of runs, the request to stop them, and the reasons why a run has no result.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Reason why a run has no result.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario cannot be built.
    #[error("{0}")]
    Build(String),
    /// A queue without a configured limit exceeded the memory limit.
    #[error(
        "{packets} packets wait in the unlimited queue of link {link:?}, {direction}, at {seconds:.3} s \
         of the run; write a limit, for example queue = {{ packets = 1000 }}, or a rate that carries \
         what is sent"
    )]
    Full {
        /// Name of the link.
        link: String,
        /// Direction of the link.
        direction: &'static str,
        /// Number of packets that wait.
        packets: u32,
        /// Simulated time in seconds.
        seconds: f64,
    },
    /// The run was stopped on request.
    #[error("interrupted")]
    Interrupted,
}

/// Progress of runs, read by another thread, and the request to stop them.
#[derive(Debug, Default)]
pub struct Monitor {
    /// Set to stop the runs.
    pub stop: AtomicBool,
    /// Number of completed runs.
    pub done: AtomicU64,
    /// Simulated nanoseconds of the run that reported last.
    pub simulated: AtomicU64,
    /// Completed share of this run, in millionths.
    pub share: AtomicU64,
}

impl Monitor {
    /// Returns an error if the stop flag is set.
    pub(crate) fn stopped(&self) -> Result<(), RunError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
        Ok(())
    }
}
