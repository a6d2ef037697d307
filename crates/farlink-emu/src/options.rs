//! Options of an emulation: one object, which Python writes as JSON.

use crate::EmuError;
use crate::attach::{Attach, Attached};
use crate::endpoint::{EndpointConfig, Fetch, Service};
use crate::host::HostConfig;
use crate::program::Task;
use crate::realtime::Mode;
use crate::unit::UnitOptions;
use crate::way_out;
use farlink_sim::scenario::{self, Expanded};
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// Everything about an emulation but its scenario. What is not given has its default.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Number of the run, from which the channels draw their random numbers.
    pub run: u64,
    /// Programs that are started before `main`, and killed after it.
    pub servers: Vec<Task>,
    /// The program whose end is the end.
    pub main: Option<Task>,
    /// Congestion control of the hosts' kernels; by default the kernel's own.
    pub tcp: Option<String>,
    /// End after so many seconds, whatever the program does.
    pub seconds: Option<f64>,
    /// Hosts in user space.
    pub endpoints: Vec<UserSpace>,
    /// A transfer of checked data whose ends the hosts in user space are, where they are.
    pub transfer: Option<Transfer>,
    /// Set for one packet per read or write of a device.
    pub plain: bool,
    /// Real-time priority: a must, not wanted, or by default where it can be had.
    pub realtime: Option<bool>,
    /// Directory for captures.
    pub pcap: Option<PathBuf>,
    /// Bytes captured of a packet; 0 for all.
    pub snaplen: u32,
    /// Set if the kernel's TCP is sampled.
    pub sample: bool,
    /// Hosts that are there already.
    pub attach: Vec<Attached>,
    /// Host that is this machine itself, by which the others reach what is beyond it.
    pub internet: Option<String>,
    /// Attach also what the machine's own connection goes by.
    pub force: bool,
    /// Hosts that are neither in user space nor attached are gateways on other machines, which
    /// join here.
    pub unit: Option<UnitOptions>,
    /// Set if SIGINT from a process ends the program and the run. The call must be on the main
    /// thread.
    pub interrupt: bool,
    /// Program, with its whole path, and arguments that call [`crate::sweep`]: with `internet` it is
    /// run when farlink was killed. Empty leaves that to the next run.
    pub sweeper: Vec<String>,
}

/// A host in user space.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserSpace {
    /// Name of the host.
    pub host: String,
    /// Resolved scenario whose flows have its TCP.
    pub scenario: String,
}

/// Checked data from one host to another.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Host that has the data.
    pub sender: String,
    /// Host that fetches it.
    pub receiver: String,
    /// Port of the sender.
    pub port: u16,
    /// Bytes.
    pub bytes: u64,
}

impl Options {
    pub(crate) fn host(&self) -> HostConfig {
        HostConfig {
            congestion: self.tcp.clone(),
            plain: self.plain,
            way_out: self.internet.is_some(),
            way_out6: self.internet.is_some() && way_out::ipv6(),
            sweeper: self
                .internet
                .iter()
                .flat_map(|_| self.sweeper.clone())
                .collect(),
            ..HostConfig::default()
        }
    }

    /// The hosts that are there already.
    pub(crate) fn attached(&self) -> Vec<Attached> {
        let way_out = self.internet.iter().map(|host| Attached {
            host: host.clone(),
            to: Attach::Internet,
        });
        self.attach.iter().cloned().chain(way_out).collect()
    }

    pub(crate) fn mode(&self) -> Mode {
        match self.realtime {
            None => Mode::Best,
            Some(true) => Mode::Realtime,
            Some(false) => Mode::Normal,
        }
    }

    pub(crate) fn limit(&self) -> Option<Duration> {
        self.seconds.map(Duration::from_secs_f64)
    }

    /// The hosts in user space, each with its TCP and what it serves and fetches.
    pub(crate) fn endpoints(&self) -> Result<Vec<EndpointConfig>, EmuError> {
        self.endpoints
            .iter()
            .map(|own| self.endpoint(own))
            .collect()
    }

    fn endpoint(&self, own: &UserSpace) -> Result<EndpointConfig, EmuError> {
        let host = &own.host;
        let scenario = expand(&own.scenario)?;
        let node = scenario.nodes.iter().position(|name| name == host);
        let tcp = scenario.flows.iter().find_map(|flow| match node {
            Some(node) if flow.from == node => Some((flow.sender.clone(), flow.ip)),
            Some(node) if flow.to == node => Some((flow.receiver.clone(), flow.ip)),
            _ => None,
        });
        let (tcp, ip) = tcp.ok_or_else(|| {
            EmuError::Scenario(format!(
                "endpoint {host:?}: no flow of the scenario begins or ends there"
            ))
        })?;
        let mut services = vec![
            (7, Service::Echo),
            (9, Service::Discard),
            (19, Service::Data(u64::MAX)),
        ];
        let served = self.transfer.iter().filter(|t| t.sender == *host);
        services.extend(served.map(|t| (t.port, Service::Data(t.bytes))));
        let fetched = self.transfer.iter().find(|t| t.receiver == *host);
        Ok(EndpointConfig {
            host: host.clone(),
            tcp,
            ip,
            services,
            fetch: fetched.map(|t| Fetch {
                host: t.sender.clone(),
                port: t.port,
                size: t.bytes,
            }),
        })
    }
}

/// A resolved scenario, ready to be built.
pub(crate) fn expand(text: &str) -> Result<Expanded, EmuError> {
    scenario::load(text, "resolved scenario", &[])
        .and_then(|s| s.expand())
        .map_err(|e| EmuError::Scenario(e.to_string()))
}
