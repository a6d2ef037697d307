//! Queries by other threads, which run on the engine's thread between packets.

use crate::drive::Emulation;
use farlink_tcp::Instant;
use nix::sys::eventfd::EventFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, sync_channel};
use std::time::Duration;

/// Time limit of a query.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Function that the engine's thread runs between two packets.
pub(crate) type Job = Box<dyn FnOnce(&mut Emulation, Instant) + Send>;

/// Handle by which other threads query an emulation.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    pub(crate) jobs: Sender<Job>,
    pub(crate) wake: Arc<EventFd>,
}

impl Remote {
    /// Runs `task` on the engine's thread and returns its result; `None` if the emulation does not
    /// run.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut Emulation, Instant) -> T + Send + 'static,
    ) -> Option<T> {
        let (answer, result) = sync_channel(1);
        let job: Job = Box::new(move |emulation, now| {
            // The caller may have stopped waiting.
            let _ = answer.send(task(emulation, now));
        });
        self.jobs.send(job).ok()?;
        // A write fails only if the eventfd's counter is at its maximum, which wakes the engine as
        // well.
        let _ = self.wake.write(1);
        result.recv_timeout(TIME_LIMIT).ok()
    }
}
