//! Real packets in real time: the engine driven by the wall clock, between
//! network namespaces whose only way out is a TUN device into it.
//!
//! Linux only, and with the right to make network namespaces (root).
#![cfg(target_os = "linux")]

mod arrival;
mod capture;
mod client;
mod clock;
mod control;
mod drive;
mod endpoint;
mod host;
mod interface;
mod keeper;
mod lateness;
mod namespace;
mod offload;
mod options;
mod protocol;
mod realtime;
mod remote;
mod report;
mod run;
mod session;
mod sockets;
mod tun;

pub use client::{ask, execute};
pub use control::Control;
pub use drive::{Emulation, Stop};
pub use endpoint::{Dropped, Endpoint, EndpointConfig, EndpointReport, Fetch, Fetched, Service};
pub use host::{Counters, Host, HostConfig};
pub use lateness::Lateness;
pub use namespace::{Namespace, sweep};
pub use options::{Options, Transfer, UserSpace};
pub use protocol::{Answer, Place, Request};
pub use realtime::{Mode, Ran};
pub use report::{HostReport, LinkRow, Packets, Report, Samples, Server, Traffic};
pub use run::emulate;
pub use session::{Task, session};
pub use sockets::{Sample, Sampler};

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
        /// What was tried.
        what: String,
    },
    /// The machine lacks something.
    #[error("{0}")]
    Machine(String),
    /// The system refused something else.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
}

/// What to do about missing rights.
fn rights() -> &'static str {
    if nix::unistd::geteuid().is_root() {
        "and root has not the right to here (CAP_SYS_ADMIN and CAP_NET_ADMIN); a container gets it \
         with --privileged, or --cap-add SYS_ADMIN --cap-add NET_ADMIN --device /dev/net/tun"
    } else {
        "which needs root (run it with sudo)"
    }
}

impl EmuError {
    /// Of what was tried and what the system said.
    pub(crate) fn system(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        let (what, source) = (what.into(), source.into());
        if source.kind() == io::ErrorKind::PermissionDenied {
            Self::NotPermitted { what }
        } else {
            Self::System { what, source }
        }
    }
}
