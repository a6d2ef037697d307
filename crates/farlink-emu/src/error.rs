//! Why an emulation cannot be.

use std::io;

/// Why an emulation cannot be.
#[derive(Debug, thiserror::Error)]
pub enum EmuError {
    /// The scenario cannot be built, or has a part that real packets cannot have.
    #[error("{0}")]
    Scenario(String),
    /// The right to make namespaces or devices is missing.
    #[error(
        "{what}: not permitted; emulation makes network namespaces and TUN devices, {}",
        rights()
    )]
    NotPermitted {
        /// Action that was tried.
        what: String,
    },
    /// The machine lacks something.
    #[error("{0}")]
    Machine(String),
    /// The system refused something else.
    #[error("{what}: {source}")]
    System {
        /// Action that was tried.
        what: String,
        /// Error of the system.
        source: io::Error,
    },
}

/// Returns advice about missing rights.
fn rights() -> &'static str {
    if nix::unistd::geteuid().is_root() {
        "and root has not the right to here (CAP_SYS_ADMIN and CAP_NET_ADMIN); a container gets it \
         with --privileged, or --cap-add SYS_ADMIN --cap-add NET_ADMIN --device /dev/net/tun"
    } else {
        "which needs root (run it with sudo)"
    }
}

impl EmuError {
    /// Builds an error from the action that was tried and the system's error.
    pub(crate) fn system(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        let (what, source) = (what.into(), source.into());
        if source.kind() == io::ErrorKind::PermissionDenied {
            Self::NotPermitted { what }
        } else {
            Self::System { what, source }
        }
    }

    /// Builds an error of an action on the device of a host.
    pub(crate) fn device(done: &str, host: &str, source: io::Error) -> Self {
        // In a namespace of somebody else's, who can take it away (`ip link del`).
        if source.raw_os_error() == Some(libc::EBADFD) {
            return Self::Machine(format!(
                "the device of {host} is gone: somebody took it away"
            ));
        }
        Self::system(format!("{done} the device of {host}"), source)
    }
}
