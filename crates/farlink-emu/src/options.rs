//! Options of an emulation, which Python passes as one JSON object.

use crate::EmuError;
use crate::attach::{Attach, Attached};
use crate::endpoint::{EndpointConfig, Fetch, QuicConfig, Service};
use crate::host::HostConfig;
use crate::program::Task;
use crate::realtime::Mode;
use crate::unit::UnitOptions;
use crate::uplink;
use farlink_channel::rng::Streams;
use farlink_sim::quic_config;
use farlink_sim::scenario::{self, App, Expanded, ExpandedFlow, QuicProgram};
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of an emulation, except its scenario. Absent keys have their default.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Number of the run, which seeds the channels' random numbers.
    pub run: u64,
    /// Programs that start before `main` and are killed after it.
    pub servers: Vec<Task>,
    /// Main program. The emulation ends with it.
    pub main: Option<Task>,
    /// Congestion control of the hosts' kernels; `None` for the kernel's default.
    pub tcp: Option<String>,
    /// Seconds after which the emulation ends, even if `main` runs.
    pub seconds: Option<f64>,
    /// User-space hosts.
    pub endpoints: Vec<UserSpace>,
    /// Transfer of checked data. Its ends that are user-space hosts serve or fetch the data.
    pub transfer: Option<Transfer>,
    /// Set to disable merging of segments: each read or write of a device carries one packet.
    pub plain: bool,
    /// Real-time priority: required if true, off if false, used if permitted if `None`.
    pub realtime: Option<bool>,
    /// Directory for captures.
    pub pcap: Option<PathBuf>,
    /// Number of captured bytes of each packet; 0 for all.
    pub snaplen: u32,
    /// Set if the kernels' TCP state is sampled.
    pub sample: bool,
    /// Existing machines and namespaces to attach as hosts.
    pub attach: Vec<Attached>,
    /// Host that represents this machine, through which the other hosts reach the internet.
    pub internet: Option<String>,
    /// Set if even an interface that carries the machine's own connections may be attached.
    pub force: bool,
    /// Makes this emulation a unit: hosts that are neither in user space nor attached are gateways
    /// on other machines.
    pub unit: Option<UnitOptions>,
    /// Set if a SIGINT from another process ends the program and the run. [`crate::emulate`] must
    /// then be called on the main thread.
    pub interrupt: bool,
    /// Absolute path and arguments of a program that calls [`crate::sweep`]. It is run if farlink
    /// is killed while `internet` is set. If empty, the next run cleans up.
    pub sweeper: Vec<String>,
}

/// A user-space host.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserSpace {
    /// Name of the host.
    pub host: String,
    /// Resolved scenario whose flows define the host's TCP.
    pub scenario: String,
}

/// A transfer of checked data between two hosts.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Host that serves the data.
    pub sender: String,
    /// Host that fetches the data.
    pub receiver: String,
    /// Port on which the sender serves.
    pub port: u16,
    /// Bytes to transfer.
    pub bytes: u64,
}

impl Options {
    pub(crate) fn host(&self) -> HostConfig {
        HostConfig {
            congestion: self.tcp.clone(),
            plain: self.plain,
            uplink: self.internet.is_some(),
            uplink6: self.internet.is_some() && uplink::ipv6(),
            sweeper: self
                .internet
                .iter()
                .flat_map(|_| self.sweeper.clone())
                .collect(),
            ..HostConfig::default()
        }
    }

    /// Returns the attached hosts, including the uplink.
    pub(crate) fn attached(&self) -> Vec<Attached> {
        let uplink = self.internet.iter().map(|host| Attached {
            host: host.clone(),
            to: Attach::Internet,
        });
        self.attach.iter().cloned().chain(uplink).collect()
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

    /// Returns the user-space hosts, each with its TCP, services and fetch.
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
            quic: self.quic(host, &scenario)?,
        })
    }

    /// Returns the QUIC of a host whose flow is over QUIC. Refuses what the host cannot serve.
    fn quic(&self, host: &str, scenario: &Expanded) -> Result<Option<QuicConfig>, EmuError> {
        let node = scenario.nodes.iter().position(|name| name == host);
        let mut flows = scenario.flows.iter();
        let of_host = |flow: &&ExpandedFlow| [Some(flow.from), Some(flow.to)].contains(&node);
        let Some((flow, App::Quic(spec))) = flows.find(of_host).map(|flow| (flow, flow.app)) else {
            return Ok(None);
        };
        if spec.service.is_some() {
            let what = match spec.program() {
                None => "pages",
                Some(QuicProgram::Repeat(_)) => "repeated files",
                Some(QuicProgram::Stream(_)) => "messages",
                Some(QuicProgram::Conversation(_)) => "conversations",
            };
            return Err(EmuError::Scenario(format!(
                "endpoint {host:?}: {what} over QUIC are simulated only; write app = \"file\", and \
                 let the program request /N for N bytes"
            )));
        }
        if spec.transport.zero_rtt() {
            return Err(EmuError::Scenario(format!(
                "endpoint {host:?}: tcp.quic.zero_rtt is simulated only: such a host remembers no \
                 session as a client; leave the key out"
            )));
        }
        let streams = Streams::new(scenario.seed, self.run);
        let mut random = streams.stream(&format!("endpoint/{host}/quic"));
        let server = self.transfer.as_ref().map(|t| &t.sender);
        Ok(Some(QuicConfig {
            config: quic_config(&spec, flow.dont_fragment, &mut random),
            whole: spec.size.unwrap_or(u64::MAX),
            known: self.endpoints.iter().any(|e| Some(&e.host) == server),
        }))
    }
}

/// Parses a resolved scenario and expands it.
pub(crate) fn expand(text: &str) -> Result<Expanded, EmuError> {
    scenario::load(text, "resolved scenario", &[])
        .and_then(|s| s.expand())
        .map_err(|e| EmuError::Scenario(e.to_string()))
}
