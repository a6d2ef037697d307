//! Handling of SIGINT while a program runs. A terminal sends Ctrl-C to the program as well, which
//! decides how to react. A SIGINT from another process (`kill -INT`, `timeout -s INT`) may have
//! reached farlink only, and is meant for the whole run.

use crate::EmuError;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::Child;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time in which the program may end by its own SIGINT, before farlink sends one to it.
const OWN_SIGNAL: Duration = Duration::from_millis(200);
/// Time in which the program may end after a SIGINT to farlink.
const GRACE: Duration = Duration::from_secs(3);

/// Set once another process has sent SIGINT.
static RECEIVED: AtomicBool = AtomicBool::new(false);

/// Handler for SIGINT from other processes. Dropping the value restores the previous handler.
pub(crate) struct Watch {
    before: libc::sigaction,
}

impl Watch {
    /// Installs the handler.
    ///
    /// # Errors
    /// Fails if the system call fails.
    pub(crate) fn start() -> Result<Self, EmuError> {
        RECEIVED.store(false, Ordering::Relaxed);
        // SAFETY: both structures are plain data that outlive the call, and the handler only stores
        // to an atomic.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let mut before: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_interrupt as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigemptyset(&raw mut action.sa_mask);
            if libc::sigaction(libc::SIGINT, &raw const action, &raw mut before) != 0 {
                let error = std::io::Error::last_os_error();
                return Err(EmuError::system("watch for SIGINT", error));
            }
            Ok(Self { before })
        }
    }

    /// Returns whether another process has sent SIGINT.
    pub(crate) fn is_received() -> bool {
        RECEIVED.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // SAFETY: restores the action that was in force before.
        unsafe { libc::sigaction(libc::SIGINT, &raw const self.before, ptr::null_mut()) };
        RECEIVED.store(false, Ordering::Relaxed);
    }
}

extern "C" fn on_interrupt(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a whole structure to a handler with SA_SIGINFO.
    if unsafe { (*info).si_code } != libc::SI_KERNEL {
        RECEIVED.store(true, Ordering::Relaxed);
    }
}

/// Exit code of a run that SIGINT ended.
pub(crate) const INTERRUPTED: i32 = 128 + Signal::SIGINT as i32;

/// State of a program's shutdown after a SIGINT to farlink.
#[derive(Default)]
pub(crate) struct Interrupt {
    since: Option<Instant>,
    is_passed_on: bool,
}

impl Interrupt {
    /// Sends the signal once to a program that did not get it together with farlink. Returns
    /// whether the program's time to end is over.
    pub(crate) fn is_over(&mut self, program: &Child) -> bool {
        if self.since.is_none() && Watch::is_received() {
            self.since = Some(Instant::now());
        }
        let Some(since) = self.since else {
            return false;
        };
        if since.elapsed() >= OWN_SIGNAL && !self.is_passed_on {
            self.is_passed_on = true;
            let _ = kill(Pid::from_raw(program.id() as libc::pid_t), Signal::SIGINT);
        }
        since.elapsed() >= GRACE
    }
}
