//! Programs in hosts: command line, environment, and the meaning of their end.

use crate::EmuError;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// A program to run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Name of its host.
    pub host: String,
    /// Program and arguments.
    pub argv: Vec<String>,
}

/// Variable in which a program finds the name of its host.
pub(crate) const HOST: &str = "FARLINK_HOST";

/// Exit code of a program: 128 and the signal if one killed it.
pub(crate) fn code_of(status: ExitStatus) -> i32 {
    let killed = || 128 + status.signal().unwrap_or(0);
    status.code().unwrap_or_else(killed)
}

/// Why a program did not start. Entering its host needs rights that were there when
/// the host was made, so that it is the file that is missing or cannot be run.
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
