//! The way out (`--internet`): a TUN device in the network of this machine itself, in the place of
//! one of the hosts, and the kernel's NAT behind it. What is made here is gone with the device or
//! put back, by the next run if this one was killed.

use crate::EmuError;
use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Name of the device; as long as it is there, the run that made it lives.
pub(crate) const DEVICE: &str = "farlink-out";
/// Name of the table of the kernel's packet filter (nftables) with all rules.
const TABLE: &str = "farlink-internet";
/// Where the names are asked of that programs ask for.
pub(crate) const RESOLVER: &str = "/etc/resolv.conf";
/// Where systemd-resolved says whom it asks itself.
const BEHIND_RESOLVED: &str = "/run/systemd/resolve/resolv.conf";

/// The kernel's NAT for the hosts, and forwarding on the interfaces that lead out.
#[derive(Debug)]
pub(crate) struct WayOut(());

/// Why this machine cannot be the way out of hosts, if it cannot.
pub(crate) fn refusal() -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|directory| directory.join("nft").is_file()) {
        return Some(
            "there is no program nft in PATH, by which the kernel's NAT is set; install nftables \
             (apt-get install nftables)"
                .into(),
        );
    }
    interfaces().is_empty().then(|| {
        "this machine has no default route of IPv4 itself; ip route shows those that it has".into()
    })
}

/// The interfaces by which routes of IPv4 lead beyond the networks that this machine is in.
fn interfaces() -> Vec<String> {
    leading_out(&fs::read_to_string("/proc/thread-self/net/route").unwrap_or_default())
}

fn leading_out(table: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for row in table.lines().skip(1) {
        let fields: Vec<_> = row.split_whitespace().collect();
        let [interface, to, by, _, _, _, _, mask, ..] = fields[..] else {
            continue;
        };
        let leads = by != "00000000" || (to, mask) == ("00000000", "00000000");
        // A route that refuses packets has no interface.
        if leads && interface != "*" && !found.iter().any(|one| one == interface) {
            found.push(interface.into());
        }
    }
    found
}

fn forwarding(of: &str) -> PathBuf {
    Path::new("/proc/sys/net/ipv4/conf")
        .join(of)
        .join("forwarding")
}

fn forwards(interface: &str) -> io::Result<bool> {
    Ok(fs::read_to_string(forwarding(interface))?.trim() != "0")
}

/// What says, for the network namespace that this process is in, what has to be put back: whether
/// all interfaces forwarded before, then the names of those that now do and did not.
fn marker() -> io::Result<PathBuf> {
    let own = fs::metadata("/proc/thread-self/ns/net")?.ino();
    Ok(PathBuf::from(format!("/run/farlink/way-out-{own}")))
}

/// Has nft(8) do all of `script`, or nothing.
fn nft(script: &str) -> io::Result<()> {
    let mut child = Command::new("nft")
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
    let said = String::from_utf8_lossy(&done.stderr);
    Err(io::Error::other(
        said.lines().next().unwrap_or("nft failed").to_owned(),
    ))
}

/// The rules. Hosts reach what is beyond by the address of this machine; from there nobody reaches
/// a host but by answering, and nothing leaves with a source that is no host's.
fn rules(network: Ipv4Addr, mask: Ipv4Addr) -> String {
    let hosts = format!("{network}/{}", u32::from(mask).count_ones());
    format!(
        "table ip {TABLE} {{\n\
         chain out {{ type nat hook postrouting priority 100;\n\
         ip saddr {hosts} oifname != \"{DEVICE}\" masquerade\n}}\n\
         chain between {{ type filter hook forward priority 0;\n\
         iifname \"{DEVICE}\" ip saddr != {hosts} drop\n\
         oifname \"{DEVICE}\" ct state != {{ established, related }} drop\n}}\n}}\n"
    )
}

impl WayOut {
    /// Opens it for hosts with addresses of this network, whose device is there.
    pub(crate) fn open(network: Ipv4Addr, mask: Ipv4Addr) -> Result<Self, EmuError> {
        let failed = |e| EmuError::system("--internet: forward packets", e);
        let before = forwards("all").map_err(failed)?;
        let mut changed = Vec::new();
        for interface in interfaces() {
            if !forwards(&interface).map_err(failed)? {
                changed.push(interface);
            }
        }
        let marker = marker().map_err(failed)?;
        fs::create_dir_all("/run/farlink").map_err(failed)?;
        let words = format!("{}\n{}\n", u8::from(before), changed.join("\n"));
        fs::write(marker, words).map_err(failed)?;
        // From here on it is put back when the value ends.
        let opened = Self(());
        nft(&rules(network, mask))
            .map_err(|e| EmuError::Machine(format!("--internet: the kernel makes no NAT: {e}")))?;
        for interface in changed.iter().map(String::as_str).chain([DEVICE]) {
            fs::write(forwarding(interface), "1").map_err(failed)?;
        }
        Ok(opened)
    }
}

impl Drop for WayOut {
    fn drop(&mut self) {
        put_back();
    }
}

/// Puts back what a run that was killed has left, in the network namespace of this process.
pub(crate) fn sweep() {
    // The device ends with its run: if it is there, the rules are in use.
    if !fs::exists(forwarding(DEVICE)).unwrap_or(true) {
        put_back();
    }
}

/// What cannot be put back now is found by the next sweep.
fn put_back() {
    let Some((marker, words)) = marker()
        .ok()
        .and_then(|marker| Some((marker.clone(), fs::read_to_string(marker).ok()?)))
    else {
        return;
    };
    // Without the table the marker is of a namespace that is gone and had the same number, or of
    // a run that ended before it changed anything.
    if nft(&format!("list table ip {TABLE}\n")).is_ok() {
        let (before, changed) = words.split_once('\n').unwrap_or_default();
        // Who let all interfaces forward meanwhile wants this one to do so too.
        let wanted = before == "0" && forwards("all").unwrap_or(false);
        for interface in changed.lines().filter(|name| !name.is_empty() && !wanted) {
            // An interface that has gone forwards nothing.
            let _ = fs::write(forwarding(interface), "0");
        }
        if nft(&format!("delete table ip {TABLE}\n")).is_err() {
            return;
        }
    }
    let _ = fs::remove_file(marker);
}

/// What has to be in the place of /etc/resolv.conf so that hosts can ask for names; `None` if
/// they can ask whom this machine asks.
pub(crate) fn resolver() -> Option<String> {
    let read = |path| fs::read_to_string(path).ok();
    reachable(&read(RESOLVER)?, || read(BEHIND_RESOLVED))
}

/// Name servers at a loopback address are this machine's alone, and those of IPv6 are not reached.
fn reachable(own: &str, behind: impl FnOnce() -> Option<String>) -> Option<String> {
    let server = |line: &str| {
        let rest = line.trim().strip_prefix("nameserver")?;
        rest.split_whitespace().next().map(str::to_owned)
    };
    let good = |line: &&str| {
        server(line).is_some_and(
            |address| matches!(address.parse(), Ok(IpAddr::V4(own)) if !own.is_loopback()),
        )
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
    fn ways_out_are_routes_with_a_gateway_and_default_routes() {
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
    fn hosts_ask_name_servers_that_they_reach() {
        let none = || None;
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
    }
}
