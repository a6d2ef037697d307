//! Limit of open files of the process, because many hosts need more than the usual 1,024.

use crate::EmuError;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Number of files per host: namespace, device, counters, arrival times, capture, and temporary
/// files during its creation.
const OF_HOST: u64 = 8;
/// Number of other files: libraries, the event loop, and clients of `farlink ctl`.
const OF_REST: u64 = 64;

/// Raises the limit of open files for this number of hosts.
///
/// # Errors
/// Fails if the system's hard limit is lower.
pub(crate) fn allow(hosts: usize) -> Result<(), EmuError> {
    let expected = hosts as u64 * OF_HOST + OF_REST;
    let failed = |e: nix::Error| EmuError::system("look at the limit of open files", e);
    let (now, max) = getrlimit(Resource::RLIMIT_NOFILE).map_err(failed)?;
    if now >= expected || setrlimit(Resource::RLIMIT_NOFILE, expected, max.max(expected)).is_ok() {
        return Ok(());
    }
    Err(EmuError::Machine(format!(
        "{hosts} hosts take up to {expected} open files, and this process may have {max}; allow it \
         more before (ulimit -Hn {expected}, or LimitNOFILE={expected} in a systemd unit)"
    )))
}
