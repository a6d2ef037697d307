//! The uplink (`--internet`): a TUN device in the machine's own network namespace that is one of
//! the hosts, with the kernel's NAT. All changes are undone at the end or, if the run was killed,
//! by the next run.

use crate::EmuError;
use crate::interface::IPV6_PREFIX;
use farlink_wire::{NodeId, node_address6};
use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Name of the uplink's TUN device, which exists while its run does.
pub(crate) const DEVICE: &str = "farlink-out";
/// Name of the nftables table with all rules.
const TABLE: &str = "farlink-internet";
/// The machine's resolver configuration.
pub(crate) const RESOLVER: &str = "/etc/resolv.conf";
/// Resolver configuration in which systemd-resolved lists its upstream servers.
const BEHIND_RESOLVED: &str = "/run/systemd/resolve/resolv.conf";

/// The uplink: NAT for the hosts, and forwarding on interfaces with external routes. Dropping the
/// value undoes the changes.
#[derive(Debug)]
pub(crate) struct Uplink(());

/// Returns the reason why this machine cannot be the uplink; `None` if it can.
pub(crate) fn refusal() -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|directory| directory.join("nft").is_file()) {
        return Some(
            "there is no program nft in PATH, by which the kernel's NAT is set; install nftables \
             (apt-get install nftables)"
                .into(),
        );
    }
    (Family::Ipv4.interfaces().is_empty() && !ipv6()).then(|| {
        "this machine has no default route itself; ip route shows those of IPv4 that it has, and ip \
         -6 route those of IPv6"
            .into()
    })
}

/// Returns whether this machine can be the uplink for IPv6. A kernel before Linux 6.17 forwards
/// IPv6 on all interfaces or on none. In this case forwarding is not switched on, because a
/// forwarding machine discards the routes learned from its router.
pub(crate) fn ipv6() -> bool {
    let on = || Family::Ipv6.forwards("all").is_ok() || ipv6_forwards_always();
    !Family::Ipv6.interfaces().is_empty() && on() && nft(&["-c"], &rules6()).is_ok()
}

/// Returns whether IPv6 forwarding is on for all interfaces already.
fn ipv6_forwards_always() -> bool {
    let all = fs::read_to_string("/proc/sys/net/ipv6/conf/all/forwarding");
    all.is_ok_and(|value| value.trim() != "0")
}

/// Address family whose forwarding is switched per interface.
#[derive(Clone, Copy)]
enum Family {
    Ipv4,
    Ipv6,
}

impl Family {
    const ALL: [(&'static str, Self); 2] = [("ipv4", Self::Ipv4), ("ipv6", Self::Ipv6)];

    /// Returns the interfaces that have a default route or a route with a gateway.
    fn interfaces(self) -> Vec<String> {
        let table = |name| {
            fs::read_to_string(Path::new("/proc/thread-self/net").join(name)).unwrap_or_default()
        };
        match self {
            Self::Ipv4 => leading_out(&table("route")),
            Self::Ipv6 => leading_out6(&table("ipv6_route")),
        }
    }

    /// Returns the path of an interface's forwarding switch. That of IPv6 exists since Linux 6.17.
    fn forwarding(self, of: &str) -> PathBuf {
        let (family, key) = match self {
            Self::Ipv4 => ("ipv4", "forwarding"),
            Self::Ipv6 => ("ipv6", "force_forwarding"),
        };
        let conf = Path::new("/proc/sys/net").join(family).join("conf");
        conf.join(of).join(key)
    }

    fn forwards(self, interface: &str) -> io::Result<bool> {
        Ok(fs::read_to_string(self.forwarding(interface))?.trim() != "0")
    }
}

fn leading_out(table: &str) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    for row in table.lines().skip(1) {
        let fields: Vec<_> = row.split_whitespace().collect();
        let [interface, to, by, _, _, _, _, mask, ..] = fields[..] else {
            continue;
        };
        let leads = by != "00000000" || (to, mask) == ("00000000", "00000000");
        // A reject route has no interface.
        if leads && interface != "*" && !list.iter().any(|item| item == interface) {
            list.push(interface.into());
        }
    }
    list
}

/// Parses the table as [`leading_out`] does, for IPv6. This table has no heading, and a reject
/// route has the interface `lo`.
fn leading_out6(table: &str) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    for row in table.lines() {
        let fields: Vec<_> = row.split_whitespace().collect();
        let [to, bits, _, _, by, _, _, _, _, interface] = fields[..] else {
            continue;
        };
        let nowhere = |address: &str| address.bytes().all(|digit| digit == b'0');
        let leads = !nowhere(by) || (nowhere(to) && bits == "00");
        if leads && interface != "lo" && !list.iter().any(|item| item == interface) {
            list.push(interface.into());
        }
    }
    list
}

/// Returns the path of the marker file of this network namespace, which records the changes. Each
/// line has a family, whether all interfaces forwarded before, and the interfaces on which
/// forwarding was switched on.
fn marker() -> io::Result<PathBuf> {
    let own = fs::metadata("/proc/thread-self/ns/net")?.ino();
    Ok(PathBuf::from(format!("/run/farlink/way-out-{own}")))
}

/// Runs an nft(8) script, which is applied as a whole or not at all.
fn nft(options: &[&str], script: &str) -> io::Result<()> {
    let mut child = Command::new("nft")
        .args(options)
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(script.as_bytes())?;
    }
    let done = child.wait_with_output()?;
    if done.status.success() {
        return Ok(());
    }
    let output = String::from_utf8_lossy(&done.stderr);
    Err(io::Error::other(
        output.lines().next().unwrap_or("nft failed").to_owned(),
    ))
}

/// Returns the rules for IPv4. Hosts get this machine's address by NAT. Other machines reach a host
/// only with replies, and packets whose source is not a host are dropped.
fn rules(network: Ipv4Addr, mask: Ipv4Addr) -> String {
    of_family("ip", &format!("{network}/{}", u32::from(mask).count_ones()))
}

/// Returns the rules for IPv6.
fn rules6() -> String {
    of_family(
        "ip6",
        &format!("{}/{IPV6_PREFIX}", node_address6(NodeId(0))),
    )
}

fn of_family(family: &str, hosts: &str) -> String {
    format!(
        "table {family} {TABLE} {{\n\
         chain out {{ type nat hook postrouting priority 100;\n\
         {family} saddr {hosts} oifname != \"{DEVICE}\" masquerade\n}}\n\
         chain between {{ type filter hook forward priority 0;\n\
         iifname \"{DEVICE}\" {family} saddr != {hosts} drop\n\
         oifname \"{DEVICE}\" ct state != {{ established, related }} drop\n}}\n}}\n"
    )
}

impl Uplink {
    /// Opens the uplink for hosts in this network. The device must exist. `ipv6` adds IPv6, for
    /// which the function [`ipv6`] must return true.
    pub(crate) fn open(network: Ipv4Addr, mask: Ipv4Addr, ipv6: bool) -> Result<Self, EmuError> {
        let failed = |e| EmuError::system("--internet: forward packets", e);
        let mut words = String::new();
        let mut changes = Vec::new();
        for (name, family) in Family::ALL {
            if matches!(family, Family::Ipv6) && (!ipv6 || ipv6_forwards_always()) {
                continue;
            }
            let before = family.forwards("all").map_err(failed)?;
            words.extend([name, if before { " 1" } else { " 0" }]);
            for interface in family.interfaces() {
                if !family.forwards(&interface).map_err(failed)? {
                    words.extend([" ", &interface]);
                    changes.push(family.forwarding(&interface));
                }
            }
            words.push('\n');
            changes.push(family.forwarding(DEVICE));
        }
        let marker = marker().map_err(failed)?;
        fs::create_dir_all("/run/farlink").map_err(failed)?;
        fs::write(marker, words).map_err(failed)?;
        // From here on, dropping `opened` undoes all changes.
        let opened = Self(());
        let rules = rules(network, mask) + &if ipv6 { rules6() } else { String::new() };
        nft(&[], &rules)
            .map_err(|e| EmuError::Machine(format!("--internet: the kernel makes no NAT: {e}")))?;
        for interface in changes {
            fs::write(interface, "1").map_err(failed)?;
        }
        Ok(opened)
    }
}

impl Drop for Uplink {
    fn drop(&mut self) {
        put_back();
    }
}

/// Undoes the changes of a killed run in the network namespace of this process.
pub(crate) fn sweep() {
    // The device ends with its run. While it exists, the rules are in use.
    if !fs::exists(Family::Ipv4.forwarding(DEVICE)).unwrap_or(true) {
        put_back();
    }
}

/// Undoes the changes in the marker file. If this fails, the marker stays for the next sweep.
fn put_back() {
    let Some((marker, words)) = marker()
        .ok()
        .and_then(|marker| Some((marker.clone(), fs::read_to_string(marker).ok()?)))
    else {
        return;
    };
    // If the table is missing, the marker is stale. Its run ended before any change, or belonged to
    // an earlier namespace with the same number.
    let table = |what, family| nft(&[], &format!("{what} table {family} {TABLE}\n"));
    if table("list", "ip").is_ok() {
        for line in words.lines() {
            let mut words = line.split(' ');
            let (name, before) = (words.next(), words.next());
            let Some((_, family)) = Family::ALL.iter().find(|(own, _)| Some(*own) == name) else {
                continue;
            };
            // This interface must continue to forward if forwarding was meanwhile switched on for
            // all interfaces.
            let expected = before == Some("0") && family.forwards("all").unwrap_or(false);
            for interface in words.filter(|_| !expected) {
                // Fails if the interface no longer exists.
                let _ = fs::write(family.forwarding(interface), "0");
            }
        }
        if table("list", "ip6").is_ok() && table("delete", "ip6").is_err()
            || table("delete", "ip").is_err()
        {
            return;
        }
    }
    let _ = fs::remove_file(marker);
}

/// Returns a resolv.conf that works in the hosts; `None` if the machine's own works. `ipv6` is set
/// if the machine is also the uplink for IPv6.
pub(crate) fn resolver(ipv6: bool) -> Option<String> {
    let read = |path| fs::read_to_string(path).ok();
    reachable(&read(RESOLVER)?, ipv6, || read(BEHIND_RESOLVED))
}

/// As [`resolver`], for given contents. Hosts cannot reach name servers at loopback and link-local
/// addresses.
fn reachable(own: &str, ipv6: bool, behind: impl FnOnce() -> Option<String>) -> Option<String> {
    let server = |line: &str| {
        let rest = line.trim().strip_prefix("nameserver")?;
        rest.split_whitespace().next().map(str::to_owned)
    };
    let good = |line: &&str| {
        server(line).is_some_and(|address| match address.parse() {
            Ok(IpAddr::V4(own)) => !own.is_loopback(),
            Ok(IpAddr::V6(own)) => ipv6 && !own.is_loopback() && !own.is_unicast_link_local(),
            Err(_) => false,
        })
    };
    let all_good = own
        .lines()
        .all(|line| server(line).is_none() || good(&line));
    if all_good {
        return None;
    }
    let behind = if own.lines().any(|line| good(&line)) {
        own.to_owned()
    } else {
        behind()?
    };
    let others = own.lines().filter(|line| server(line).is_none());
    let lines: Vec<_> = behind.lines().filter(good).chain(others).collect();
    behind
        .lines()
        .any(|line| good(&line))
        .then(|| lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn external_routes_have_a_gateway_or_are_default_routes() {
        let table = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
            eth0 00000000 0100A8C0 0003 0 0 0 00000000 0 0 0\n\
            eth0 0000A8C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n\
            eth1 00000A0A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n\
            tun0 00000000 0100080A 0003 0 0 0 00000080 0 0 0\n\
            ppp0 00000000 00000000 0001 0 0 9 00000000 0 0 0\n\
            * 00000000 00000000 0200 0 0 99 00000000 0 0 0\n";
        assert_eq!(leading_out(table), ["eth0", "tun0", "ppp0"]);
        assert!(leading_out("").is_empty());
    }

    #[test]
    fn resolv_conf_only_lists_reachable_name_servers() {
        let none = || None;
        let reachable = |own, behind: fn() -> Option<String>| reachable(own, false, behind);
        assert_eq!(reachable("nameserver 192.0.2.1\nsearch home\n", none), None);
        assert_eq!(reachable("", none), None);
        let stub = "nameserver 127.0.0.53\noptions edns0\n";
        assert_eq!(reachable(stub, none), None, "there is nobody else");
        let behind = || Some("# of resolved\nnameserver 192.0.2.9\nnameserver fe80::1\n".into());
        let expected = "nameserver 192.0.2.9\noptions edns0\n";
        assert_eq!(reachable(stub, behind).as_deref(), Some(expected));
        let mixed = "nameserver ::1\nnameserver 192.0.2.1\n";
        let expected = "nameserver 192.0.2.1\n";
        assert_eq!(reachable(mixed, none).as_deref(), Some(expected));
        let sixth = "nameserver 2001:db8::1\n";
        assert_eq!(reachable(sixth, none), None, "there is nobody else");
        let mixed = "nameserver fe80::1%eth0\nnameserver fe80::1\nnameserver 2001:db8::1\n";
        assert_eq!(super::reachable(mixed, true, none).as_deref(), Some(sixth));
        assert_eq!(super::reachable(sixth, true, none), None);
    }

    #[test]
    fn external_ipv6_routes_have_a_gateway_or_are_default_routes() {
        let nowhere = "0".repeat(32);
        let router = "fe80000000000000000000000000000a";
        let near = "20010db8000000000000000000000000";
        let row = |to: &str, bits: &str, by: &str, interface: &str| {
            format!(
                "{to} {bits} {nowhere} 00 {by} 00000400 00000001 00000000 00000003 {interface}\n"
            )
        };
        let table = row(near, "40", &nowhere, "eth1")
            + &row(&nowhere, "00", router, "eth0")
            + &row(near, "30", router, "tun0")
            + &row(&nowhere, "00", &nowhere, "ppp0")
            + &row(&nowhere, "00", &nowhere, "lo");
        assert_eq!(leading_out6(&table), ["eth0", "tun0", "ppp0"]);
    }
}
