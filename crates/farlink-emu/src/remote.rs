//! Runs queries of other threads on the engine's thread while it carries packets.

use crate::drive::Emulation;
use farlink_tcp::Instant;
use nix::sys::eventfd::EventFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, sync_channel};
use std::time::Duration;

/// Time limit of a query.
const PATIENCE: Duration = Duration::from_secs(2);

/// Function that the engine's thread runs between two packets.
pub(crate) type Job = Box<dyn FnOnce(&mut Emulation, Instant) + Send>;

/// Handle by which other threads query an emulation.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    pub(crate) jobs: Sender<Job>,
    pub(crate) wake: Arc<EventFd>,
}

impl Remote {
    /// Runs `work` on the engine's thread and returns its result; `None` if the emulation is not
    /// running.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Emulation, Instant) -> T + Send + 'static,
    ) -> Option<T> {
        let (answer, result) = sync_channel(1);
        let job: Job = Box::new(move |emulation, now| {
            // The caller may have given up.
            let _ = answer.send(work(emulation, now));
        });
        self.jobs.send(job).ok()?;
        // A write fails only if the eventfd's counter is at its maximum, which wakes the engine as
        // well.
        let _ = self.wake.write(1);
        result.recv_timeout(PATIENCE).ok()
    }
}
