//! SIGINT while a program of the user runs. A terminal sends Ctrl-C to the program, too, which
//! decides what it means. From a process (`kill -INT`, `timeout -s INT`) the signal may have reached
//! farlink alone, and is for the whole run.

use crate::EmuError;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::Child;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time in which a program may end by a SIGINT of its own, before it gets that of farlink.
const OWN_SIGNAL: Duration = Duration::from_millis(200);
/// Time in which a program may end after a SIGINT to farlink.
const GRACE: Duration = Duration::from_secs(3);

/// Set once a process asked for the end.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Watch for SIGINT from a process; the handling from before is back when it is dropped.
pub(crate) struct Watch {
    before: libc::sigaction,
}

impl Watch {
    /// Begins to watch.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn start() -> Result<Self, EmuError> {
        ASKED.store(false, Ordering::Relaxed);
        // SAFETY: both structures are plain data that live through the call, and the handler does
        // nothing but store to an atomic.
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

    /// Returns whether a process has asked for the end.
    pub(crate) fn is_asked() -> bool {
        ASKED.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // SAFETY: what was in force before.
        unsafe { libc::sigaction(libc::SIGINT, &raw const self.before, ptr::null_mut()) };
        ASKED.store(false, Ordering::Relaxed);
    }
}

extern "C" fn on_interrupt(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives a whole structure to a handler with SA_SIGINFO.
    if unsafe { (*info).si_code } != libc::SI_KERNEL {
        ASKED.store(true, Ordering::Relaxed);
    }
}

/// Exit code of a run that SIGINT ended.
pub(crate) const INTERRUPTED: i32 = 128 + Signal::SIGINT as i32;

/// The end of a program after a SIGINT to farlink.
#[derive(Default)]
pub(crate) struct Interrupt {
    since: Option<Instant>,
    is_passed_on: bool,
}

impl Interrupt {
    /// Passes the signal on once, to a program that did not get it with farlink; returns whether
    /// the program had its time.
    pub(crate) fn is_over(&mut self, program: &Child) -> bool {
        if self.since.is_none() && Watch::is_asked() {
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
