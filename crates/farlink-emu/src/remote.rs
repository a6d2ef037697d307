//! Asking an emulation something from another thread, while it carries packets.

use crate::drive::Emulation;
use farlink_tcp::Instant;
use nix::sys::eventfd::EventFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, sync_channel};
use std::time::Duration;

/// Time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Job of the engine's thread between two packets.
pub(crate) type Job = Box<dyn FnOnce(&mut Emulation, Instant) + Send>;

/// A way to an emulation.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    pub(crate) jobs: Sender<Job>,
    pub(crate) wake: Arc<EventFd>,
}

impl Remote {
    /// Does `work` on the engine's thread; `None` if there is no answer, since the
    /// emulation is not running.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Emulation, Instant) -> T + Send + 'static,
    ) -> Option<T> {
        let (answer, result) = sync_channel(1);
        let job: Job = Box::new(move |emulation, now| {
            // Nobody may be waiting any more.
            let _ = answer.send(work(emulation, now));
        });
        self.jobs.send(job).ok()?;
        // A counter that cannot be added to is one that was added to.
        let _ = self.wake.write(1);
        result.recv_timeout(PATIENCE).ok()
    }
}
