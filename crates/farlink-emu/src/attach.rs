//! Existing machines and kernels as hosts: a machine behind an Ethernet interface or on a bridge,
//! or an existing network namespace. Impossible or dangerous attachments are refused before
//! anything is created.

use crate::EmuError;
use crate::endpoint::EndpointConfig;
use crate::host::DEVICE;
use crate::interface::Control;
use crate::namespace::Namespace;
use crate::uplink;
use farlink_wire::{NodeId, node_address};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::if_nameindex;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

/// Existing machine or kernel to use as a host.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Attach {
    /// Machine behind this Ethernet interface.
    Interface(String),
    /// Machine on this bridge, to which a port is added.
    Bridge(String),
    /// This machine itself, as the uplink of the other hosts (`--internet`).
    #[serde(skip)]
    Internet,
    /// Kernel of an existing network namespace.
    Namespace {
        /// Path of the namespace's file.
        path: PathBuf,
        /// Name as the user wrote it.
        name: String,
    },
}

impl fmt::Display for Attach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interface(name) | Self::Namespace { name, .. } => f.write_str(name),
            Self::Internet => f.write_str("this machine"),
            Self::Bridge(name) => write!(f, "bridge:{name}"),
        }
    }
}

/// A host of the scenario and its attachment.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attached {
    /// Name in the scenario.
    pub host: String,
    /// Interface, bridge or namespace that becomes the host.
    pub to: Attach,
}

/// Returns the smallest of the networks 10.0.0.0/24, /16 and /8 that contains the addresses of
/// `nodes` nodes, with its mask.
pub(crate) fn network(nodes: u32) -> (Ipv4Addr, Ipv4Addr) {
    let bits = [8, 16].into_iter().find(|&bits| nodes < (1 << bits) - 1);
    let mask = u32::MAX << bits.unwrap_or(24);
    let first = u32::from(node_address(NodeId(0)));
    (Ipv4Addr::from(first & mask), Ipv4Addr::from(mask))
}

impl Attached {
    /// Checks that the attachment is possible and does not conflict with `others`. Without `force`,
    /// an interface that carries the machine's own connections is refused.
    pub(crate) fn check(
        &self,
        others: &[Self],
        endpoints: &[EndpointConfig],
        nodes: u32,
        mtu: u32,
        force: bool,
    ) -> Result<(), EmuError> {
        let wrong = |why: String| {
            Err(EmuError::Scenario(match &self.to {
                Attach::Internet => format!("--internet {}: {why}", self.host),
                to => format!("--attach {}={to}: {why}", self.host),
            }))
        };
        if endpoints.iter().any(|e| e.host == self.host) {
            return wrong(format!(
                "--endpoint makes {} a host in user space; write one of the two",
                self.host
            ));
        }
        if let Some(other) = others.iter().find(|other| other.host == self.host) {
            return wrong(format!("{} is {} already", self.host, other.to));
        }
        if let Some(other) = others.iter().find(|other| other.to.is(&self.to)) {
            return wrong(match self.to {
                Attach::Bridge(_) => format!(
                    "{} is at it already, and the two would reach each other past the links",
                    other.host
                ),
                _ => format!("it is {} already", other.host),
            });
        }
        let refused = match &self.to {
            Attach::Interface(name) => check_interface(name, mtu, force),
            Attach::Bridge(name) => check_bridge(name, mtu, force),
            Attach::Namespace { path, .. } => check_namespace(path, DEVICE, nodes, force),
            Attach::Internet => match uplink::refusal() {
                Some(why) => Err(why),
                None => check_namespace(&own_namespace(), uplink::DEVICE, nodes, true),
            },
        };
        refused.or_else(wrong)
    }
}

impl Attach {
    /// Returns whether both name the same interface or namespace.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Namespace { path: a, .. }, Self::Namespace { path: b, .. }) => {
                let number = |path: &Path| Namespace::of(path).ok().map(|n| n.number());
                number(a) == number(b)
            }
            _ => self == other,
        }
    }
}

/// Returns whether sysfs has the entry `what` of an interface.
fn has(interface: &str, what: &str) -> bool {
    fs::exists(format!("/sys/class/net/{interface}/{what}")).unwrap_or(false)
}

/// Formats the error of a query to the kernel.
fn unknown(error: &io::Error) -> String {
    format!("the kernel does not tell of it: {error}")
}

fn check_interface(name: &str, mtu: u32, force: bool) -> Result<(), String> {
    let control = Control::open().map_err(|e| unknown(&e))?;
    there_is(&control, name)?;
    if has(name, "bridge") {
        return Err(format!("it is a bridge; write bridge:{name}"));
    }
    if let Ok(bridge) = fs::read_link(format!("/sys/class/net/{name}/brport/bridge")) {
        let bridge = bridge.file_name().unwrap_or_default().to_string_lossy();
        return Err(format!("it is a port of a bridge; write bridge:{bridge}"));
    }
    if control.hardware(name).map_err(|e| unknown(&e))? != libc::ARPHRD_ETHER {
        return Err("it is no Ethernet".into());
    }
    is_spare(name, force)?;
    is_ready(&control, name, mtu)
}

fn check_bridge(name: &str, mtu: u32, force: bool) -> Result<(), String> {
    let control = Control::open().map_err(|e| unknown(&e))?;
    there_is(&control, name)?;
    if !has(name, "bridge") {
        return Err(format!(
            "it is no bridge; write {name} for the machine behind it"
        ));
    }
    is_spare(name, force)?;
    is_ready(&control, name, mtu)
}

fn there_is(control: &Control, name: &str) -> Result<(), String> {
    if name.len() < libc::IFNAMSIZ && control.index(name).is_ok() {
        return Ok(());
    }
    let known = if_nameindex().map(|all| {
        let names = all
            .iter()
            .map(|interface| interface.name().to_string_lossy().into_owned());
        names.collect::<Vec<_>>().join(", ")
    });
    Err(format!(
        "there is no such interface; there are {}",
        known.unwrap_or_default()
    ))
}

fn is_ready(control: &Control, name: &str, mtu: u32) -> Result<(), String> {
    if control.flags(name).map_err(|e| unknown(&e))? & libc::IFF_UP == 0 {
        return Err(format!(
            "it is down; take it up first: ip link set {name} up"
        ));
    }
    let own = control.mtu_of(name).map_err(|e| unknown(&e))?;
    if own < mtu {
        return Err(format!(
            "it takes packets of {own} bytes, and hosts send {mtu}; ip link set {name} mtu {mtu}"
        ));
    }
    Ok(())
}

/// Checks that the machine itself has no connection through the interface.
fn is_spare(name: &str, force: bool) -> Result<(), String> {
    let own = if !force && has_default_route(name) {
        "the machine's default route goes by it"
    } else if !force && has_session(name) {
        "an SSH session comes by it"
    } else {
        return Ok(());
    };
    Err(format!("{own}; --force attaches it all the same"))
}

fn has_default_route(name: &str) -> bool {
    let table = |version| fs::read_to_string(format!("/proc/thread-self/net/{version}"));
    let fields = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let ipv4 = table("route")
        .unwrap_or_default()
        .lines()
        .map(fields)
        .any(|f| f.len() > 7 && f[0] == name && f[1] == "00000000" && f[7] == "00000000");
    let ipv6 = table("ipv6_route").unwrap_or_default();
    ipv4 || ipv6
        .lines()
        .map(fields)
        .any(|f| f.len() > 9 && f[9] == name && f[1] == "00" && f[0].bytes().all(|b| b == b'0'))
}

/// Returns whether an established SSH connection ends at an address of the interface.
fn has_session(name: &str) -> bool {
    let mut ends = BTreeSet::new();
    for table in ["tcp", "tcp6"] {
        let table = fs::read_to_string(format!("/proc/thread-self/net/{table}"));
        ends.extend(table.unwrap_or_default().lines().filter_map(session_in));
    }
    // Adds the session that sshd reports (client, port, server, port), because sshd may listen on a
    // port other than 22.
    let session = std::env::var("SSH_CONNECTION").unwrap_or_default();
    ends.extend(
        session
            .split(' ')
            .nth(2)
            .and_then(|address| address.parse::<IpAddr>().ok()),
    );
    let Ok(addresses) = getifaddrs() else {
        return false;
    };
    addresses
        .filter(|interface| interface.interface_name == name)
        .filter_map(|interface| {
            let address = interface.address?;
            let ipv4 = address.as_sockaddr_in().map(|a| IpAddr::V4(a.ip()));
            ipv4.or_else(|| address.as_sockaddr_in6().map(|a| IpAddr::V6(a.ip())))
        })
        .any(|address| ends.contains(&address))
}

/// Returns the local address in a row of /proc/net/tcp or tcp6 if the row is an established
/// connection to port 22.
fn session_in(row: &str) -> Option<IpAddr> {
    let mut fields = row.split_whitespace().skip(1);
    let (address, port) = fields.next()?.split_once(':')?;
    if (port, fields.nth(1)?) != ("0016", "01") {
        return None;
    }
    // Addresses are 32-bit words in the machine's byte order.
    let word = |at: usize| u32::from_str_radix(address.get(at..at + 8)?, 16).ok();
    if address.len() == 8 {
        return Some(IpAddr::V4(word(0)?.to_ne_bytes().into()));
    }
    let words = [word(0)?, word(8)?, word(16)?, word(24)?].map(u32::to_ne_bytes);
    let bytes: [u8; 16] = words.concat().try_into().ok()?;
    let address = Ipv6Addr::from(bytes);
    Some(
        address
            .to_ipv4_mapped()
            .map_or(IpAddr::V6(address), IpAddr::V4),
    )
}

/// Returns a path of this process's network namespace that is valid in other processes.
pub(crate) fn own_namespace() -> PathBuf {
    format!("/proc/{}/ns/net", std::process::id()).into()
}

/// Checks that `device` and the addresses of the emulated network can be added to a namespace.
fn check_namespace(path: &Path, device: &str, nodes: u32, force: bool) -> Result<(), String> {
    let namespace = Namespace::of(path).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => format!(
            "there is no such namespace ({}); `ip netns` lists those with names",
            path.display()
        ),
        _ => format!("{}: {e}", path.display()),
    })?;
    if namespace.is_here() && !force {
        return Err(
            "it is the machine's own network, whose connection this is; --force attaches it all \
             the same"
                .into(),
        );
    }
    let (network, mask) = network(nodes);
    let inside = |address: &Ipv4Addr| u32::from(*address) & u32::from(mask) == u32::from(network);
    let taken = namespace.inside(|| {
        let own = getifaddrs()?.find_map(|entry| {
            let address = entry.address?.as_sockaddr_in()?.ip();
            inside(&address).then_some((entry.interface_name, address))
        });
        let is_there = Control::open()?.index(device).is_ok();
        Ok((own, is_there))
    });
    match taken {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
            Err(format!("{} is no network namespace", path.display()))
        }
        Err(e) => Err(format!("it cannot be entered: {e}")),
        Ok((_, true)) => Err(format!(
            "another emulation has it (its interface {device}); end that one first"
        )),
        Ok((Some((interface, address)), _)) => Err(format!(
            "its {interface} has the address {address}, of the emulated network {network}/{}",
            u32::from(mask).count_ones()
        )),
        Ok((None, false)) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_network_is_no_larger_than_it_must_be() {
        let of = |nodes| (network(nodes).0.to_string(), network(nodes).1.to_string());
        let expected = |mask: &str| ("10.0.0.0".to_owned(), mask.to_owned());
        assert_eq!(of(2), expected("255.255.255.0"));
        assert_eq!(of(254), expected("255.255.255.0"));
        assert_eq!(of(255), expected("255.255.0.0"));
        assert_eq!(of(70_000), expected("255.0.0.0"));
    }

    /// Sample rows of a little-endian kernel.
    #[test]
    #[cfg(target_endian = "little")]
    fn ssh_sessions_are_recognized_by_port_22() {
        let row = |address: &str, state: &str| {
            let far = "0102A8C0:D431";
            session_in(&format!(
                "   0: {address} {far} {state} 00000000:00000000 00:0 0 0 0"
            ))
        };
        let own: IpAddr = [192, 0, 2, 2].into();
        assert_eq!(row("020200C0:0016", "01"), Some(own));
        assert_eq!(row("020200C0:0016", "0A"), None, "it listens");
        assert_eq!(row("020200C0:0050", "01"), None);
        let mapped = "0000000000000000FFFF0000020200C0:0016";
        assert_eq!(row(mapped, "01"), Some(own));
        assert_eq!(row("nonsense", "01"), None);
    }
}
