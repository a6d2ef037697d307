//! Real packets in real time: the engine driven by the wall clock, between
//! network namespaces whose only way out is a TUN device into it.
//!
//! Linux only, and with the right to make network namespaces (root).
#![cfg(target_os = "linux")]

mod capture;
mod clock;
mod control;
mod drive;
mod endpoint;
mod host;
mod interface;
mod lateness;
mod namespace;
mod offload;
mod realtime;
mod remote;
mod session;
mod sockets;
mod tun;

pub use control::Control;
pub use drive::{Emulation, Report, Stop};
pub use endpoint::{Dropped, Endpoint, EndpointConfig, EndpointReport, Fetch, Fetched, Service};
pub use host::{Counters, Host, HostConfig};
pub use lateness::Lateness;
pub use namespace::{Namespace, sweep};
pub use session::{Outcome, Task, session};
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
        "{what}: not permitted; emulation makes network namespaces and TUN devices, which needs \
         root (run it with sudo)"
    )]
    NotPermitted {
        /// What was tried.
        what: String,
    },
    /// The system refused something else.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
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
