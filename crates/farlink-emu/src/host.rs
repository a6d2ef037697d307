//! Hosts of an emulation: a network namespace with a TUN device to the engine, a user-space TCP, an
//! attached machine or namespace, or a gateway.

use crate::EmuError;
use crate::attach::{self, Attach};
use crate::endpoint::{Endpoint, EndpointConfig};
use crate::ethernet::Station;
use crate::interface::{Control, IPV6_PREFIX};
use crate::namespace::Namespace;
use crate::peer::Peer;
use crate::port::{EthernetPort, own_mac};
use crate::stamps::{Read, Times};
use crate::tun::{self, DEVICE_QUEUE, Tun, Written};
use crate::uplink;
use farlink_tcp::Instant;
use farlink_wire::{NodeId, Raw, node_address, node_address6};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// Name of the TUN device in each namespace.
pub(crate) const DEVICE: &str = "farlink0";
/// Minimum, initial and maximum TCP buffer of the kernel (`tcp_rmem`, `tcp_wmem`) in bytes. 64 MiB
/// exceeds the bandwidth-delay product of any relevant path.
const TCP_MEMORY: &str = "4096 131072 67108864";

/// IPv6 settings with which the kernel sends no packets of its own and adds no further addresses.
const QUIET: [(&str, &str); 5] = [
    ("disable_ipv6", "0"),
    ("accept_ra", "0"),
    ("router_solicitations", "0"),
    ("addr_gen_mode", "1"),
    ("dad_transmits", "0"),
];

/// Configuration of the hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostConfig {
    /// MTU of the hosts' devices, in bytes.
    pub mtu: u32,
    /// Congestion control of the host's kernel; `None` for the kernel's default.
    pub congestion: Option<String>,
    /// Set to disable merging of segments: each read or write of the device carries one packet.
    pub plain: bool,
    /// Set if the hosts get an IPv4 default route into the emulated network.
    pub uplink: bool,
    /// Set if the hosts get an IPv6 default route into the emulated network.
    pub uplink6: bool,
    /// Set if the kernel's arrival times of packets are used, which are earlier than the times of
    /// reads.
    pub timed: bool,
    /// Program with arguments that undoes the changes of the uplink. It is run if farlink is
    /// killed.
    pub sweeper: Vec<String>,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            mtu: 1500,
            congestion: None,
            plain: false,
            uplink: false,
            uplink6: false,
            timed: true,
            sweeper: Vec::new(),
        }
    }
}

/// A host of a running emulation.
#[derive(Debug)]
pub struct Host {
    /// Name in the scenario.
    pub name: String,
    /// Node of the scenario.
    pub node: NodeId,
    pub(crate) port: Port,
    /// Counters of sent and received packets.
    pub counters: Counters,
    /// Description of the attached interface, bridge or namespace; `None` for other hosts.
    pub attached: Option<String>,
    /// The file /proc/net/dev of the host's namespace, which has the device's drops, and the name
    /// of the device.
    devices: Option<(File, String)>,
}

/// Connection of a host to the engine.
#[derive(Debug)]
pub(crate) enum Port {
    /// A kernel in a namespace.
    Kernel {
        /// Namespace of the host's programs.
        namespace: Namespace,
        /// TUN device, through which all packets of the namespace pass.
        tun: Tun,
        /// Source of the arrival times of packets.
        times: Times,
    },
    /// A user-space TCP of farlink.
    Endpoint(Box<Endpoint>),
    /// A machine on an Ethernet.
    Ethernet(Box<EthernetPort>),
    /// A gateway on another machine. Its datagrams arrive at the unit's socket.
    Gateway(Box<Peer>),
}

impl Port {
    /// Returns a descriptor that is readable when packets have arrived. Returns `None` for hosts
    /// that are polled or have no descriptor.
    pub(crate) fn readable(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Kernel { tun, .. } => Some(tun.as_fd()),
            Self::Ethernet(port) => Some(port.as_fd()),
            Self::Endpoint(_) | Self::Gateway(_) => None,
        }
    }

    /// Reads packets once, as [`Tun::read`] does.
    pub(crate) fn read(
        &mut self,
        scratch: &mut [u8],
        buffer: impl FnMut() -> Vec<u8>,
        each: impl FnMut(Vec<u8>, bool),
    ) -> io::Result<Read> {
        match self {
            Self::Kernel { tun, times, .. } => {
                Ok(if let Some(packet) = tun.read(scratch, buffer, each)? {
                    Read::Packets(times.of_packet(packet))
                } else {
                    times.drained();
                    Read::Nothing
                })
            }
            Self::Ethernet(port) => port.read(scratch, buffer, each),
            Self::Endpoint(_) | Self::Gateway(_) => Ok(Read::Nothing),
        }
    }

    /// Delivers a packet to the host. `at` is the network's time, `now` that of the wall clock. The
    /// counts returned by this function and by [`Self::flush`] add up to all packets.
    pub(crate) fn write(&mut self, at: Instant, now: Instant, raw: &Raw) -> io::Result<Written> {
        match self {
            Self::Kernel { tun, .. } => tun.write(raw),
            Self::Ethernet(port) => port.write(raw).map(|()| Written::default()),
            Self::Gateway(peer) => Ok(peer.write(now, raw)),
            Self::Endpoint(endpoint) => {
                endpoint.receive(at, raw.bytes());
                Ok(Written {
                    delivered: 1,
                    refused: 0,
                })
            }
        }
    }

    /// Writes buffered packets, because no further packets are due now.
    pub(crate) fn flush(&mut self) -> io::Result<Written> {
        match self {
            Self::Kernel { tun, .. } => tun.flush(),
            Self::Ethernet(port) => port.flush(),
            Self::Endpoint(_) | Self::Gateway(_) => Ok(Written::default()),
        }
    }
}

/// Counters of a host's packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counters {
    /// Packets sent into the network.
    pub sent: u64,
    /// Packets delivered to the host.
    pub delivered: u64,
    /// Number of packets from the host that were not complete IP packets.
    pub not_ip: u64,
    /// Number of packets from the host to addresses outside of the emulated network.
    pub no_host: u64,
    /// Packets that the host's kernel refused.
    pub refused: u64,
    /// Number of packets that the kernel dropped because the device's queue was full: the host sent
    /// faster than the engine read. Segments that the kernel had merged count as one.
    pub overflowed: u64,
}

impl Counters {
    pub(crate) fn add(&mut self, written: Written) {
        self.delivered += written.delivered;
        self.refused += written.refused;
    }
}

fn set(key: &str, value: &str) -> io::Result<()> {
    fs::write(format!("/proc/sys/net/{key}"), value)
}

impl Host {
    /// Returns the namespace; a user-space host has none.
    pub fn namespace(&self) -> Option<&Namespace> {
        match &self.port {
            Port::Kernel { namespace, .. } => Some(namespace),
            Port::Endpoint(_) | Port::Ethernet(_) | Port::Gateway(_) => None,
        }
    }

    /// Returns the TCP of a user-space host.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        match &self.port {
            Port::Kernel { .. } | Port::Ethernet(_) | Port::Gateway(_) => None,
            Port::Endpoint(endpoint) => Some(endpoint),
        }
    }

    /// Returns the IPv4 address.
    pub fn address(&self) -> Ipv4Addr {
        node_address(self.node)
    }

    /// Returns all counters. Packets that wait for the machine's hardware address count as refused.
    pub(crate) fn whole_counters(&self) -> Counters {
        let waiting = match &self.port {
            Port::Ethernet(port) => port.waiting(),
            _ => 0,
        };
        Counters {
            refused: self.counters.refused + waiting,
            ..self.counters
        }
    }

    /// Updates `overflowed` from the kernel's counters.
    pub(crate) fn look_at_device(&mut self) {
        if let Port::Ethernet(port) = &self.port {
            self.counters.overflowed += port.overflowed();
        }
        let Some((devices, name)) = &mut self.devices else {
            return;
        };
        let mut table = String::new();
        // If the table cannot be read, the counter does not change.
        let _ = devices
            .rewind()
            .and_then(|()| devices.read_to_string(&mut table));
        self.counters.overflowed = dropped(&table, name).unwrap_or(self.counters.overflowed);
    }

    /// Builds a user-space host. `server` is the node from which the host fetches.
    pub(crate) fn in_user_space(
        name: &str,
        node: NodeId,
        config: &EndpointConfig,
        server: Option<NodeId>,
    ) -> Result<Self, EmuError> {
        let endpoint = Endpoint::new(node, config, server)
            .map_err(|why| EmuError::Scenario(format!("endpoint {name}: {why}")))?;
        Ok(Self {
            name: name.to_owned(),
            node,
            port: Port::Endpoint(Box::new(endpoint)),
            counters: Counters::default(),
            attached: None,
            devices: None,
        })
    }

    /// Builds a host for a gateway on another machine.
    pub(crate) fn of_gateway(name: &str, node: NodeId, peer: Peer) -> Self {
        Self {
            name: name.to_owned(),
            node,
            port: Port::Gateway(Box::new(peer)),
            counters: Counters::default(),
            attached: None,
            devices: None,
        }
    }

    /// Checks that the machine has TUN devices and all else that hosts with a kernel need.
    pub(crate) fn check() -> Result<(), EmuError> {
        if !fs::exists(tun::DEVICES).unwrap_or(true) {
            return Err(EmuError::Machine(format!(
                "there is no {}, by which TUN devices are made; load its module (modprobe tun), or \
                 give the device to the container (--device {0})",
                tun::DEVICES
            )));
        }
        if !fs::exists("/etc/hosts").unwrap_or(true) {
            return Err(EmuError::Machine(
                "there is no /etc/hosts, in whose place programs see the names of the hosts; make \
                 one, an empty file will do"
                    .into(),
            ));
        }
        Ok(())
    }

    /// Attaches an existing machine or namespace as a host.
    pub(crate) fn attach(
        name: &str,
        node: NodeId,
        nodes: u32,
        to: &Attach,
        config: &HostConfig,
    ) -> Result<Self, EmuError> {
        let failed = |e: io::Error| {
            let is_in_use = match to {
                Attach::Interface(_) => e.kind() == io::ErrorKind::AddrInUse,
                Attach::Bridge(_) => false,
                Attach::Namespace { .. } | Attach::Internet => {
                    e.raw_os_error() == Some(libc::EBUSY)
                }
            };
            if is_in_use {
                in_use(to, name)
            } else {
                EmuError::system(format!("attach {to} as {name}"), e)
            }
        };
        let mac = own_mac();
        let station = Station::new(mac, node, nodes);
        let ethernet = |port| Port::Ethernet(Box::new(port));
        let attached = match to {
            Attach::Interface(interface) => EthernetPort::of_interface(interface, mac, station)
                .map(|port| (ethernet(port), None)),
            Attach::Bridge(bridge) => EthernetPort::of_bridge(bridge, station)
                .and_then(|(port, device)| Ok((ethernet(port), Some((own_devices()?, device))))),
            Attach::Namespace { path, .. } => attach_kernel(path, DEVICE, node, nodes, config),
            Attach::Internet => attach_kernel(
                &attach::own_namespace(),
                uplink::DEVICE,
                node,
                nodes,
                config,
            ),
        };
        let (port, devices) = attached.map_err(failed)?;
        Ok(Self {
            name: name.to_owned(),
            node,
            port,
            counters: Counters::default(),
            attached: Some(to.to_string()),
            devices,
        })
    }

    /// Creates a network namespace as a host.
    pub(crate) fn create(name: &str, node: NodeId, config: &HostConfig) -> Result<Self, EmuError> {
        let namespace = Namespace::create(name)?;
        let (tun, times, devices) = namespace
            .inside(|| {
                let has_ipv6 = fs::exists("/proc/sys/net/ipv6")?;
                if has_ipv6 {
                    // Router and neighbour discovery would send packets that no program sent.
                    for (key, value) in QUIET {
                        set(&format!("ipv6/conf/default/{key}"), value)?;
                    }
                }
                let tun = Tun::create(DEVICE, config.plain)?;
                let control = Control::open()?;
                control.up("lo")?;
                control.mtu(DEVICE, config.mtu)?;
                control.queue(DEVICE, DEVICE_QUEUE)?;
                // All hosts are in 10.0.0.0/8, so the route to this network reaches them.
                control.address(DEVICE, node_address(node), Ipv4Addr::new(255, 0, 0, 0))?;
                control.up(DEVICE)?;
                if has_ipv6 {
                    control.address6(DEVICE, node_address6(node), IPV6_PREFIX)?;
                }
                if config.uplink {
                    control.default_route(DEVICE)?;
                }
                if config.uplink6 && has_ipv6 {
                    control.default_route6(DEVICE)?;
                }
                // Without this setting, new connections would start with the ssthresh of an earlier
                // run.
                set("ipv4/tcp_no_metrics_save", "1")?;
                set("ipv4/tcp_rmem", TCP_MEMORY)?;
                set("ipv4/tcp_wmem", TCP_MEMORY)?;
                let times = Times::of_device(DEVICE, config.timed);
                Ok((tun, times, own_devices()?))
            })
            .map_err(|e| EmuError::system(format!("make the TUN device of {name}"), e))?;
        if let Some(congestion) = &config.congestion {
            namespace
                .inside(|| set("ipv4/tcp_congestion_control", congestion))
                .map_err(|e| {
                    let known =
                        fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
                    EmuError::Scenario(format!(
                        "the kernel cannot make {congestion:?} the TCP of a host ({e}); it allows: \
                         {}. --transfer and programs can choose another for their connections, as \
                         iperf3 -C {congestion} does",
                        known.unwrap_or_default().trim()
                    ))
                })?;
        }
        Ok(Self {
            name: name.to_owned(),
            node,
            port: Port::Kernel {
                namespace,
                tun,
                times,
            },
            counters: Counters::default(),
            attached: None,
            devices: Some((devices, DEVICE.to_owned())),
        })
    }
}

/// Opens the counters of devices in the calling thread's namespace.
fn own_devices() -> io::Result<File> {
    File::open("/proc/thread-self/net/dev")
}

/// Adds a device to the kernel of an existing namespace. Returns the port, and the counters of the
/// device with its name.
fn attach_kernel(
    path: &Path,
    device: &str,
    node: NodeId,
    nodes: u32,
    config: &HostConfig,
) -> io::Result<(Port, Option<(File, String)>)> {
    let namespace = Namespace::of(path)?;
    let (tun, times, devices) = namespace.inside(|| {
        let tun = Tun::create(device, config.plain)?;
        let control = Control::open()?;
        control.mtu(device, config.mtu)?;
        control.queue(device, DEVICE_QUEUE)?;
        // Only addresses of the emulated network are routed to the device. The namespace keeps its
        // other routes.
        control.address(device, node_address(node), attach::network(nodes).1)?;
        // Only settings of farlink's device change. Without IPv6 in the kernel, the files do not
        // exist.
        for (key, value) in QUIET {
            let _ = set(&format!("ipv6/conf/{device}/{key}"), value);
        }
        control.up(device)?;
        if fs::exists(format!("/proc/sys/net/ipv6/conf/{device}"))? {
            control.address6(device, node_address6(node), IPV6_PREFIX)?;
        }
        Ok((tun, Times::of_device(device, config.timed), own_devices()?))
    })?;
    let port = Port::Kernel {
        namespace,
        tun,
        times,
    };
    Ok((port, Some((devices, device.to_owned()))))
}

fn in_use(to: &Attach, host: &str) -> EmuError {
    let option = match to {
        Attach::Internet => format!("--internet {host}"),
        _ => format!("--attach {host}={to}"),
    };
    EmuError::Scenario(format!(
        "{option}: another emulation has it; end that one first (farlink ctl list)"
    ))
}

/// Returns the number of packets that the device dropped before the engine read them. In
/// /proc/net/dev this is the fourth transmit counter, after eight receive counters.
fn dropped(table: &str, device: &str) -> Option<u64> {
    let mut rows = table.lines().filter_map(|line| line.split_once(':'));
    let (_, numbers) = rows.find(|(name, _)| name.trim() == device)?;
    numbers.split_whitespace().nth(8 + 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_drops_are_read_from_proc_net_dev() {
        let table = "Inter-|   Receive                |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes packets errs \
            drop fifo colls carrier compressed\n    \
            lo:       1       2    3    4    5     6          7         8        9       10   11 \
            12    0     0       0          0\n\
            farlink0: 1 2 3 4 5 6 7 8 290 10 11 99638 0 0 0 0\n";
        assert_eq!(dropped(table, DEVICE), Some(99_638));
        assert_eq!(dropped("lo: 1 2", "lo"), None);
    }
}
