//! Errors of an emulation.

use std::io;

/// Reason why an emulation cannot run.
#[derive(Debug, thiserror::Error)]
pub enum EmuError {
    /// The scenario or an option is invalid, or cannot work with real packets.
    #[error("{0}")]
    Scenario(String),
    /// Permission to create namespaces or devices is missing.
    #[error(
        "{what}: not permitted; emulation makes network namespaces and TUN devices, {}",
        rights()
    )]
    NotPermitted {
        /// Action that failed.
        what: String,
    },
    /// The machine lacks a program, device or kernel feature, or the network does not respond.
    #[error("{0}")]
    Machine(String),
    /// A system call failed.
    #[error("{what}: {source}")]
    System {
        /// Action that failed.
        what: String,
        /// Error of the system call.
        source: io::Error,
    },
}

/// Returns advice about missing permissions.
fn rights() -> &'static str {
    if nix::unistd::geteuid().is_root() {
        "and root has not the right to here (CAP_SYS_ADMIN and CAP_NET_ADMIN); a container gets it \
         with --privileged, or --cap-add SYS_ADMIN --cap-add NET_ADMIN --device /dev/net/tun"
    } else {
        "which needs root (run it with sudo)"
    }
}

impl EmuError {
    /// Builds an error from the failed action and the system's error.
    pub(crate) fn system(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        let (what, source) = (what.into(), source.into());
        if source.kind() == io::ErrorKind::PermissionDenied {
            Self::NotPermitted { what }
        } else {
            Self::System { what, source }
        }
    }

    /// Builds an error of an action on a host's device.
    pub(crate) fn device(done: &str, host: &str, source: io::Error) -> Self {
        // The device's namespace has another owner, who removed the device (`ip link del`).
        if source.raw_os_error() == Some(libc::EBADFD) {
            return Self::Machine(format!(
                "the device of {host} is gone: somebody took it away"
            ));
        }
        Self::system(format!("{done} the device of {host}"), source)
    }
}
