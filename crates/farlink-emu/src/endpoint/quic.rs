//! QUIC of a user-space host: servers on two ports, and the client of a fetch.

use super::{EndpointConfig, Failure, Fetched, Key, version};
use farlink_quic::{Config, Host, Seen};
use farlink_tcp::{Body, CloseReason, Ecn, Instant, Interval, Stats};
use farlink_wire::{
    Addresses, Datagram, Ip, NodeId, Packet, Payload, Raw, WireError, address_of, decode_udp,
};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

/// Ports of the servers: that of HTTP over QUIC, and that of flows in simulations and of transfers.
const PORTS: [u16; 2] = [443, 5001];

/// QUIC of a user-space host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuicConfig {
    /// Parameters of all connections. The seed is that of the host.
    pub config: Config,
    /// Bytes of the answer to a request for `/`.
    pub whole: u64,
    /// Set if the server of the fetch is a host of farlink, whose bytes are known.
    pub known: bool,
}

/// Running QUIC of a host.
#[derive(Debug)]
pub(super) struct Quic {
    node: NodeId,
    config: QuicConfig,
    /// Name of the server of the fetch.
    server: String,
    /// Hosts by local port.
    hosts: BTreeMap<u16, Host>,
    /// Local port of the running fetch, and the time at which it began.
    client: Option<(u16, Instant)>,
    /// Counters of closed connections.
    stats: Stats,
    /// Time of the next timer.
    pub(super) due: Option<Instant>,
}

impl Quic {
    /// Creates the QUIC of a host, unless its TCP is in place of QUIC.
    ///
    /// # Errors
    /// Fails if the TLS library refuses the configuration.
    pub(super) fn new(node: NodeId, config: &EndpointConfig) -> Result<Option<Self>, String> {
        let Some(own) = config.quic.clone() else {
            return Ok(None);
        };
        let mut hosts = BTreeMap::new();
        for port in PORTS {
            hosts.insert(port, Host::server(seeded(own.config, port), own.whole)?);
        }
        let server = config.fetch.as_ref().map(|fetch| fetch.host.clone());
        Ok(Some(Self {
            node,
            config: own,
            server: server.unwrap_or_default(),
            hosts,
            client: None,
            stats: Stats::default(),
            due: None,
        }))
    }

    /// Processes a packet with a UDP datagram. Returns whether a host has its port.
    pub(super) fn receive(&mut self, now: Instant, bytes: &[u8]) -> Result<bool, WireError> {
        let (fields, datagram) = decode_udp(bytes)?;
        let Some(host) = self.hosts.get_mut(&datagram.dst_port) else {
            return Ok(false);
        };
        let from = (fields.addresses.src, datagram.src_port).into();
        let data = datagram.body.bytes().unwrap_or_default();
        host.receive(now.as_nanos(), from, datagram.ecn as u8, data);
        Ok(true)
    }

    /// Returns whether a packet reports that the server of the fetch has no program yet.
    pub(super) fn is_refusal(&self, bytes: &[u8]) -> bool {
        let refused = unreachable_port(bytes);
        self.client.is_some_and(|(port, _)| {
            refused == Some(port)
                && self
                    .hosts
                    .get(&port)
                    .is_some_and(|host| !host.is_connected())
        })
    }

    /// Opens the connection of a fetch.
    pub(super) fn fetch(&mut self, now: Instant, key: Key, size: u64) -> Option<Fetched> {
        let (address, theirs, ours) = key;
        let config = seeded(self.config.config, ours);
        let to = ((address, theirs).into(), self.server.as_str());
        match Host::client(config, now.as_nanos(), to, size, self.config.known) {
            Ok(host) => {
                self.client = Some((ours, now));
                self.hosts.insert(ours, host);
                None
            }
            Err(why) => Some(Fetched {
                bytes: 0,
                duration: Interval::ZERO,
                correct: false,
                failure: Some(Failure::Quic(why)),
            }),
        }
    }

    /// Gives up an attempt that was refused.
    pub(super) fn refused(&mut self, now: Instant) -> Fetched {
        let began = self.client.take().map(|(port, began)| {
            self.hosts.remove(&port);
            began
        });
        Fetched {
            bytes: 0,
            duration: now.since(began.unwrap_or(now)),
            correct: false,
            failure: Some(Failure::Closed(CloseReason::Refused)),
        }
    }

    /// Returns the result of the fetch, once it has ended.
    pub(super) fn fetched(&self, now: Instant) -> Option<Fetched> {
        let (port, began) = self.client?;
        let done = self.hosts.get(&port)?.fetched()?;
        Some(Fetched {
            bytes: done.bytes,
            duration: now.since(began),
            correct: done.correct,
            failure: done.failure.clone().map(Failure::Quic),
        })
    }

    /// Returns whether the connection of the fetch is still open.
    pub(super) fn is_open(&self) -> bool {
        let host = self.client.and_then(|(port, _)| self.hosts.get(&port));
        host.is_some_and(|host| !host.is_idle())
    }

    /// Handles due timers, and sends all datagrams that the connections allow.
    pub(super) fn pump(&mut self, now: Instant, ident: &mut u16, out: &mut VecDeque<Vec<u8>>) {
        let mut due = None;
        for (&port, host) in &mut self.hosts {
            host.on_time(now.as_nanos());
            while let Some((to, sent)) = host.transmit(now.as_nanos()) {
                *ident = ident.wrapping_add(1);
                let datagram = Datagram {
                    src_port: port,
                    dst_port: to.port(),
                    ecn: Ecn::from_bits(sent.ecn),
                    body: Body::of_bytes(&sent.bytes),
                    ..Datagram::default()
                };
                out.extend(packet(self.node, to.ip(), datagram, *ident));
            }
            for seen in host.take_closed() {
                self.stats.add(&counted(&seen));
            }
            due = due.into_iter().chain(host.deadline()).min();
        }
        self.due = due.map(|at| Instant::ZERO + Interval::from_nanos(at));
    }

    /// Returns the counters of all connections, by the names of those of TCP, and the numbers of
    /// accepted and refused connections.
    pub(super) fn report(&self) -> (Stats, u64, u64) {
        let (mut stats, mut accepted, mut refused) = (self.stats, 0, 0);
        for host in self.hosts.values() {
            let (more, less) = host.accepted();
            (accepted, refused) = (accepted + more, refused + less);
            for seen in host.seen() {
                stats.add(&counted(&seen));
            }
        }
        (stats, accepted, refused)
    }

    /// Returns the lines of a key log file.
    pub(super) fn secrets(&self) -> String {
        self.hosts.values().map(Host::secrets).collect()
    }
}

/// Returns the parameters of the host on a port. Hosts with one seed would have the same keys.
fn seeded(config: Config, port: u16) -> Config {
    let mut own = config;
    let [high, low] = port.to_be_bytes();
    own.seed[0] ^= high;
    own.seed[1] ^= low;
    own
}

fn counted(seen: &Seen) -> Stats {
    Stats {
        acks_sent: seen.counters.without_data,
        segments_sent: seen.counters.with_data,
        bytes_sent: seen.counters.bytes,
        segments_retransmitted: seen.counters.lost,
        fast_retransmits: seen.control_stats.reductions,
        ..Stats::default()
    }
}

/// Encodes a datagram as an IP packet.
fn packet(from: NodeId, dst: IpAddr, datagram: Datagram, ident: u16) -> Option<Vec<u8>> {
    let ip = version(dst);
    let packet = Packet {
        ident,
        ip: Ip::new(ip, true),
        ..Packet::new(from, NodeId::default(), Payload::Udp(datagram))
    };
    let src = address_of(from, ip);
    // QUIC sends no datagrams that the headers cannot encode.
    farlink_wire::encode(&packet, Addresses { src, dst }).ok()
}

/// Returns the local port of the UDP datagram of which an ICMP message says that no program has its
/// destination port (RFC 792; RFC 4443, 3.1).
fn unreachable_port(bytes: &[u8]) -> Option<u16> {
    const UDP: u8 = 17;
    let header = |ip: &[u8]| match ip.first()? >> 4 {
        4 => Some(usize::from(ip[0] & 15) * 4),
        6 => Some(40),
        _ => None,
    };
    let outer = Raw::new(bytes.to_vec()).ok()?;
    let message = bytes.get(header(bytes)?..)?;
    let (protocol, expected, at) = if outer.is_ipv6() {
        (*bytes.get(6)?, (58, [1, 4]), 6)
    } else {
        (*bytes.get(9)?, (1, [3, 3]), 9)
    };
    let quoted = message.get(8..)?;
    let is_refusal = (protocol, [message[0], message[1]]) == expected;
    let udp = quoted.get(header(quoted)?..)?;
    let &[high, low] = udp.first_chunk()?;
    (is_refusal && quoted.get(at) == Some(&UDP)).then_some(u16::from_be_bytes([high, low]))
}

#[cfg(test)]
mod tests;
