//! Runs the engine on the wall clock with real packets. The hosts are network namespaces. The only
//! uplink of each is a TUN device to the engine.
//!
//! For Linux only. Creating network namespaces requires root.
#![cfg(target_os = "linux")]

mod admission;
mod allowance;
mod arrival;
mod attach;
mod capture;
mod client;
mod clock;
mod control;
mod drive;
mod endpoint;
mod error;
mod ethernet;
mod flows;
mod gateway;
mod host;
mod interface;
mod interrupt;
mod kernels;
mod lateness;
mod namespace;
mod offload;
mod open_files;
mod options;
mod packet_socket;
mod parallel;
mod peer;
mod port;
mod program;
mod protocol;
mod realtime;
mod reaper;
mod remote;
mod report;
mod run;
mod session;
mod sock_diag;
mod sockets;
mod stamps;
mod tun;
mod tunnel;
mod unit;
mod uplink;

pub use attach::{Attach, Attached};
pub use client::{ask, execute};
pub use control::Control;
pub use drive::{Emulation, Stop};
pub use endpoint::{
    Dropped, Endpoint, EndpointConfig, EndpointReport, Failure, Fetch, Fetched, QuicConfig, Service,
};
pub use error::EmuError;
pub use gateway::{GatewayDone, GatewayOptions, gateway};
pub use host::{Counters, Host, HostConfig};
pub use lateness::Lateness;
pub use namespace::{Names, Namespace, sweep};
pub use options::{Options, Transfer, UserSpace};
pub use program::Task;
pub use protocol::{Answer, Place, Request};
pub use realtime::{Mode, Scheduling};
pub use report::{HostReport, LinkRow, Packets, Report, Samples, Server, Traffic};
pub use run::emulate;
pub use session::session;
pub use sock_diag::Sample;
pub use sockets::Sampler;
pub use unit::{GatewayReport, RejectedDatagrams, UnitOptions, new_key};
