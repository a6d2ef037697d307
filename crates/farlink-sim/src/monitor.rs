//! Progress of runs, the request to stop them, and the reasons why a run gives no result.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Why a run gave no result.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario cannot be built.
    #[error("{0}")]
    Build(String),
    /// A queue without a limit exceeds the memory bound.
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
        /// Packets that wait.
        packets: u32,
        /// Simulated time.
        seconds: f64,
    },
    /// Stopped on request.
    #[error("interrupted")]
    Interrupted,
}

/// Progress of runs, seen from another thread, and the request to stop them.
#[derive(Debug, Default)]
pub struct Monitor {
    /// Set to stop.
    pub stop: AtomicBool,
    /// Runs done.
    pub done: AtomicU64,
    /// Simulated nanoseconds of the run that reported last.
    pub simulated: AtomicU64,
    /// Finished share of that run, in millionths.
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
