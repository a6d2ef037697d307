//! Setup of an emulation: checks of the options, then the hosts, their names, and the polled
//! sources.

use super::poller::Poller;
use super::{Emulation, REMOTE, STOP, Stop, UNIT};
use crate::EmuError;
use crate::attach::{Attach, Attached, network};
use crate::endpoint::EndpointConfig;
use crate::host::{Host, HostConfig};
use crate::lateness::Lateness;
use crate::namespace::RunFile;
use crate::open_files;
use crate::parallel::in_parallel;
use crate::peer::Peer;
use crate::realtime::Scheduling;
use crate::reaper::Reaper;
use crate::remote::Remote;
use crate::unit::{Unit, UnitOptions};
use crate::uplink::{Uplink, resolver};
use farlink_sim::Live;
use farlink_sim::scenario::Expanded;
use farlink_tcp::segment::TCP_HEADER_LEN;
use farlink_tcp::{Instant, IpVersion};
use farlink_wire::{NodeId, address_of};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::sync::Arc;
use std::sync::mpsc::channel;

/// Hosts of a scenario, and the options that choose the kind of each host.
struct Request<'a> {
    hosts: Vec<(&'a str, NodeId)>,
    /// Number of nodes of the scenario.
    nodes: u32,
    config: &'a HostConfig,
    endpoints: &'a [EndpointConfig],
    attached: &'a [Attached],
}

impl Request<'_> {
    fn node_of(&self, wanted: &str) -> Result<NodeId, EmuError> {
        let entry = self.hosts.iter().find(|(name, _)| *name == wanted);
        entry.map(|&(_, node)| node).ok_or_else(|| {
            let names: Vec<_> = self.hosts.iter().map(|(name, _)| *name).collect();
            EmuError::Scenario(format!(
                "there is no host {wanted:?}; the hosts of this scenario are {}",
                names.join(", ")
            ))
        })
    }

    /// Checks the configuration of user-space hosts. If a congestion control is chosen, some host
    /// must have a kernel.
    fn check_endpoints(&self) -> Result<(), EmuError> {
        let (config, endpoints) = (self.config, self.endpoints);
        for endpoint in endpoints {
            self.node_of(&endpoint.host)?;
            if let Some(why) = endpoint.refusal() {
                return Err(EmuError::Scenario(why));
            }
            let max = config
                .mtu
                .saturating_sub(endpoint.ip.header_len() + TCP_HEADER_LEN);
            if endpoint.tcp.mss > max {
                return Err(EmuError::Scenario(format!(
                    "endpoint {}: an mss of {} bytes does not fit packets of {} bytes; set an mss \
                     of at most {max}",
                    endpoint.host, endpoint.tcp.mss, config.mtu
                )));
            }
        }
        if endpoints.len() + self.attached.len() >= self.hosts.len()
            && let Some(congestion) = &config.congestion
        {
            return Err(EmuError::Scenario(format!(
                "tcp {congestion:?} has no effect: all hosts are in user space or attached, and no \
                 kernel is left to have it"
            )));
        }
        Ok(())
    }

    fn check_attached(&self, force: bool) -> Result<(), EmuError> {
        for (i, attachment) in self.attached.iter().enumerate() {
            self.node_of(&attachment.host)?;
            let others = &self.attached[..i];
            let mtu = self.config.mtu;
            attachment.check(others, self.endpoints, self.nodes, mtu, force)?;
        }
        Ok(())
    }

    /// Creates the hosts. A host that is neither in user space nor attached is a gateway of the
    /// unit or, without a unit, a namespace.
    fn make_hosts(&self, unit: Option<&Unit>) -> Result<Vec<Host>, EmuError> {
        let config = self.config;
        let made = in_parallel(self.hosts.clone(), |(name, node)| {
            if let Some(own) = self.endpoints.iter().find(|e| e.host == name) {
                let server = own.fetch.as_ref().map(|f| self.node_of(&f.host));
                Host::in_user_space(name, node, own, server.transpose()?)
            } else if let Some(own) = self.attached.iter().find(|a| a.host == name) {
                Host::attach(name, node, self.nodes, &own.to, config)
            } else if let Some(unit) = unit {
                Ok(Host::of_gateway(name, node, Peer::new(unit.socket())))
            } else {
                Host::create(name, node, config)
            }
        });
        made.into_iter().collect()
    }

    /// Returns the node of the host that is this machine (the uplink), if any.
    fn uplink(&self) -> Result<Option<NodeId>, EmuError> {
        let mut attached = self.attached.iter();
        let own = attached.find(|attachment| attachment.to == Attach::Internet);
        own.map(|own| self.node_of(&own.host)).transpose()
    }

    /// Opens the uplink, and writes the file by which programs resolve names through it.
    fn open_uplink(&self) -> Result<(Uplink, Option<RunFile>), EmuError> {
        let (network, mask) = network(self.nodes);
        let uplink = Uplink::open(network, mask, self.config.uplink6)?;
        let lines = resolver(self.config.uplink6);
        let file = lines.map(|lines| RunFile::create("resolv", &lines));
        Ok((uplink, file.transpose()?))
    }
}

/// Builds the poller of all sources.
fn poller(
    hosts: &[Host],
    unit: Option<&Unit>,
    stop: &EventFd,
    wake: &EventFd,
) -> nix::Result<Poller> {
    let poller = Poller::new(hosts.len())?;
    for (i, host) in hosts.iter().enumerate() {
        if let Some(port) = host.port.readable() {
            poller.add(port, i as u64)?;
        }
    }
    if let Some(unit) = unit {
        poller.add(unit.readable(), UNIT)?;
    }
    poller.add(stop, STOP)?;
    poller.add(wake, REMOTE)?;
    Ok(poller)
}

impl Emulation {
    /// Creates the namespaces of the scenario's hosts, each with its device.
    ///
    /// # Errors
    /// Fails if the scenario cannot be built, or the system refuses. Then nothing is left behind.
    pub fn new(
        scenario: &Expanded,
        run: u64,
        config: &HostConfig,
        endpoints: &[EndpointConfig],
        attached: &[Attached],
        force: bool,
        unit: Option<&UnitOptions>,
    ) -> Result<Self, EmuError> {
        let mut live = live(scenario, run)?;
        let request = Request {
            hosts: live.hosts().collect(),
            nodes: scenario.nodes.len() as u32,
            config,
            endpoints,
            attached,
        };
        request.check_endpoints()?;
        if endpoints.len() < request.hosts.len() && unit.is_none() {
            Host::check()?;
        }
        // The reaper starts first, because its error about missing privileges is clearer than the
        // errors of later checks.
        let reaper = Arc::new(Reaper::start(&config.sweeper)?);
        request.check_attached(force)?;
        let unit = unit.map(|unit| Unit::open(unit, request.nodes, config));
        let unit = unit.transpose()?;
        open_files::allow(request.hosts.len())?;
        let hosts = request.make_hosts(unit.as_ref())?;
        let (mut uplink, mut resolver) = (None, None);
        if let Some(node) = request.uplink()? {
            let (opened, file) = request.open_uplink()?;
            (uplink, resolver) = (Some(opened), file);
            live.set_uplink(node, config.uplink6);
        }
        // Each name has an address of one IP version only, because glibc would prefer IPv6.
        let ip = scenario.flows.first().map_or(IpVersion::V4, |flow| flow.ip);
        let named = |host: &Host| (host.name.clone(), address_of(host.node, ip).to_string());
        let hosts_file = RunFile::of_hosts(hosts.iter().map(named))?;
        let failed = |e: nix::Error| EmuError::system("wait for packets", e);
        let stop = EventFd::from_flags(EfdFlags::EFD_CLOEXEC).map_err(failed)?;
        let requested = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let wake = EventFd::from_flags(requested).map_err(failed)?;
        let poller = poller(&hosts, unit.as_ref(), &stop, &wake).map_err(failed)?;
        let (sender, jobs) = channel();
        let in_user_space = |&i: &usize| hosts[i].endpoint().is_some();
        Ok(Self {
            uplink,
            resolver,
            reaper,
            live,
            scenario: scenario.clone(),
            endpoints: (0..hosts.len()).filter(in_user_space).collect(),
            reached: Instant::ZERO,
            unit,
            hosts,
            poller,
            stop: Stop(Arc::new(stop)),
            lateness: Lateness::default(),
            spare: Vec::new(),
            priority: Scheduling::Normal,
            hosts_file,
            captures: None,
            remote: Remote {
                jobs: sender,
                wake: Arc::new(wake),
            },
            jobs,
        })
    }
}

/// Builds the network. Connections over several paths are refused, because their data level exists in
/// simulations only.
fn live(scenario: &Expanded, run: u64) -> Result<Live, EmuError> {
    if let Some(flow) = scenario.flows.iter().find(|flow| flow.subflow.is_some()) {
        return Err(EmuError::Scenario(format!(
            "flow {:?}: multipath is simulated only; remove it, and start programs with their \
             kernel's MPTCP",
            flow.name
        )));
    }
    Live::new(scenario, run).map_err(|e| EmuError::Scenario(e.to_string()))
}
