//! Programs in hosts: command line, environment and exit code.

use crate::EmuError;
use crate::interrupt::{INTERRUPTED, Interrupt};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// A program to run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Name of its host.
    pub host: String,
    /// Program and arguments.
    pub argv: Vec<String>,
}

/// Interval at which a program's end is checked.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Environment variable with the name of the program's host.
pub(crate) const HOST: &str = "FARLINK_HOST";

/// Returns the exit code of a program, or 128 plus the signal that killed it.
pub(crate) fn code_of(status: ExitStatus) -> i32 {
    let killed = || 128 + status.signal().unwrap_or(0);
    status.code().unwrap_or_else(killed)
}

/// Builds the error for a program that did not start. Entering the host was allowed when the host
/// was created, so "permission denied" means that the file is not executable.
pub(crate) fn not_started(program: &str, error: io::Error) -> EmuError {
    match error.kind() {
        io::ErrorKind::NotFound => EmuError::Scenario(format!(
            "there is no program {program:?}; write its path, or a name that PATH has"
        )),
        io::ErrorKind::PermissionDenied => {
            EmuError::Scenario(format!("{program:?} cannot be run: it is not executable"))
        }
        _ => EmuError::system(format!("start {program}"), error),
    }
}

/// Waits until the program ends, `tick` returns false, or the thread that carries packets ends.
/// Returns the program's exit code, or 0 if it still runs.
pub(crate) fn wait_for<E>(
    mut program: Option<&mut Child>,
    is_over: impl Fn() -> bool,
    mut tick: impl FnMut() -> Result<bool, E>,
) -> Result<i32, E> {
    let mut interrupt = Interrupt::default();
    loop {
        if let Some(child) = &mut program {
            if let Ok(Some(status)) = child.try_wait() {
                return Ok(code_of(status));
            }
            if interrupt.is_over(child) {
                return Ok(INTERRUPTED);
            }
        }
        if !tick()? || is_over() {
            return Ok(0);
        }
        std::thread::sleep(CHECK_INTERVAL);
    }
}
