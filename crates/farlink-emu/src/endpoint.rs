//! A user-space TCP host: farlink's own endpoint, with any variant, in place of a namespace with a
//! kernel. It processes IPv4 and IPv6 packets as bytes, and uses no device, socket or clock.

mod app;
mod data;
mod path_mtu;
mod quic;

pub use app::{Failure, Fetched, Service};
pub use quic::QuicConfig;

use crate::flows::{End, Sender};
use app::App;
use farlink_tcp::config::{Eln, FastOpen};
use farlink_tcp::{
    CloseReason, Config, Connection, FastOpenCookie, Flags, Instant, Interval, IpVersion, Notice,
    Segment, Seq, State, Stats, reset_for,
};
use farlink_wire::icmp::IcmpError;
use farlink_wire::{
    Addresses, Ip, NodeId, Packet, Payload, Raw, WireError, address_of, node_address,
};
use quic::Quic;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

/// Maximum number of open connections. Further SYNs are not answered.
const MAX_CONNECTIONS: usize = 1024;
/// Maximum number of unfinished handshakes (the traditional maximum backlog of `listen`). A new
/// handshake replaces the oldest, as in the SYN cache of BSD, so a flood of SYNs neither fills the
/// memory nor excludes honest clients.
const BACKLOG: usize = 128;
/// First local port of a fetch (RFC 6335, 6: dynamic ports).
const DYNAMIC: u16 = 49_152;
/// Send buffer in bytes, as large as that of kernels in other hosts.
const SEND_BUFFER: u64 = 64 << 20;
/// Pause before a refused fetch is repeated, and time after which it is not repeated.
const RETRY: Interval = Interval::from_millis(50);
const TIME_LIMIT: Interval = Interval::from_secs(10);

/// Configuration of a user-space host.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// Name of the scenario's host.
    pub host: String,
    /// TCP configuration of the host.
    pub tcp: Arc<Config>,
    /// IP version of the fetch. The MSS of `tcp` is that of this version; for the other version it
    /// is adjusted to the same packet length.
    pub ip: IpVersion,
    /// Services by port.
    pub services: Vec<(u16, Service)>,
    /// Transfer that the host fetches, if any.
    pub fetch: Option<Fetch>,
    /// QUIC of the host, in place of TCP for the fetch.
    pub quic: Option<QuicConfig>,
}

/// A fetch of checked data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fetch {
    /// Host that serves the data.
    pub host: String,
    /// Port on which the data is served.
    pub port: u16,
    /// Expected number of bytes.
    pub size: u64,
}

/// Packets dropped by a user-space host, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dropped {
    /// Wrong TCP checksum.
    pub checksum: u64,
    /// Packets of protocols other than TCP.
    pub not_tcp: u64,
    /// Fragment of an IP packet.
    pub fragment: u64,
    /// Malformed headers or options.
    pub malformed: u64,
    /// No service on the port. Such packets are answered with a reset.
    pub no_port: u64,
    /// SYNs refused because there were [`MAX_CONNECTIONS`] connections, and handshakes replaced by
    /// newer ones.
    pub full: u64,
}

impl EndpointConfig {
    /// Returns a message about a TCP setting that cannot work with real packets, if any.
    pub(crate) fn refusal(&self) -> Option<String> {
        let why = if self.tcp.notices.eln == Eln::Oracle {
            "eln = \"oracle\" needs a simulated network, which tells the receiver of each \
             loss; write eln = \"checksum\""
        } else if self.tcp.fast_open == FastOpen::Cookie {
            "fast_open = \"cookie\" needs a simulated network, whose hosts know each other's \
             cookies; write fast_open = \"request\""
        } else {
            return None;
        };
        Some(format!("endpoint {}: {why}", self.host))
    }
}

/// Report of a user-space host.
#[derive(Clone, PartialEq, Debug)]
pub struct EndpointReport {
    /// Result of the fetch; `None` while it runs.
    pub fetched: Option<Fetched>,
    /// Packets that the host dropped.
    pub dropped: Dropped,
    /// Number of connections that the host accepted.
    pub accepted: u64,
    /// Sums over all connections of the host.
    pub stats: Stats,
}

/// Connection key: remote address, remote port, local port.
type Key = (IpAddr, u16, u16);
/// Greatest connection key.
const LAST_KEY: Key = (
    IpAddr::V6(Ipv6Addr::from_bits(u128::MAX)),
    u16::MAX,
    u16::MAX,
);

#[derive(Debug)]
struct Open {
    connection: Connection,
    app: App,
    /// The connection's entry in `timers`, if any.
    timer: Option<Instant>,
    /// The connection's key in `half_open`; `None` after its handshake.
    handshake: Option<u64>,
}

impl Open {
    fn new(connection: Connection, app: App) -> Self {
        Self {
            connection,
            app,
            timer: None,
            handshake: None,
        }
    }
}

/// A planned or running fetch.
#[derive(Debug)]
struct Fetching {
    from: IpAddr,
    port: u16,
    size: u64,
    /// Time of the next attempt.
    at: Option<Instant>,
    /// Time after which a refused fetch is not repeated.
    until: Option<Instant>,
    /// Connection of the last attempt.
    key: Option<Key>,
    next_port: u16,
    done: Option<Fetched>,
}

/// A running user-space host.
#[derive(Debug)]
pub struct Endpoint {
    node: NodeId,
    tcp: Arc<Config>,
    /// TCP configuration for connections over IPv6.
    tcp6: Arc<Config>,
    services: BTreeMap<u16, Service>,
    open: BTreeMap<Key, Open>,
    /// Deadlines of all connections that have one.
    timers: BTreeSet<(Instant, Key)>,
    /// Incoming connections with an unfinished handshake, oldest first.
    half_open: BTreeMap<u64, Key>,
    fetching: Option<Fetching>,
    quic: Option<Box<Quic>>,
    ident: u16,
    out: VecDeque<Vec<u8>>,
    scratch: Vec<u8>,
    dropped: Dropped,
    /// Counters of the closed connections.
    stats: Stats,
    accepted: u64,
}

impl Endpoint {
    /// Builds the host of `node`. `server` is the node of the host that `config.fetch` names.
    ///
    /// # Errors
    /// Fails if the TLS library of QUIC refuses its configuration.
    pub fn new(
        node: NodeId,
        config: &EndpointConfig,
        server: Option<NodeId>,
    ) -> Result<Self, String> {
        let fetching = config.fetch.as_ref().zip(server).map(|(f, from)| Fetching {
            from: address_of(from, config.ip),
            port: f.port,
            size: f.size,
            at: Some(Instant::ZERO),
            until: None,
            key: None,
            next_port: DYNAMIC,
            done: None,
        });
        let longest = config.tcp.mss + config.ip.header_len();
        let tcp_over = |ip: IpVersion| {
            Arc::new(Config {
                send_buffer: config.tcp.send_buffer.min(SEND_BUFFER),
                mss: longest.saturating_sub(ip.header_len()).max(1),
                ..(*config.tcp).clone()
            })
        };
        Ok(Self {
            node,
            quic: Quic::new(node, config)?.map(Box::new),
            tcp: tcp_over(IpVersion::V4),
            tcp6: tcp_over(IpVersion::V6),
            services: config.services.iter().copied().collect(),
            open: BTreeMap::new(),
            timers: BTreeSet::new(),
            half_open: BTreeMap::new(),
            fetching,
            ident: 0,
            out: VecDeque::new(),
            scratch: Vec::new(),
            dropped: Dropped::default(),
            stats: Stats::default(),
            accepted: 0,
        })
    }

    /// Processes a packet for this host.
    pub fn receive(&mut self, now: Instant, bytes: &[u8]) {
        let (fields, segment) = match farlink_wire::decode(bytes) {
            Ok(whole) => whole,
            Err(error) => {
                if let Some((key, mtu)) = path_mtu::reported(bytes)
                    && let Some(open) = self.open.get_mut(&key)
                {
                    open.connection.on_path_mtu(mtu, version(key.0), 0);
                    self.pump(now, key);
                    return;
                }
                if matches!(error, WireError::NotTcp(_)) && self.noticed(now, bytes) {
                    return;
                }
                let error = match error {
                    WireError::NotTcp(_) if self.quic.is_some() => {
                        match self.receive_quic(now, bytes) {
                            Ok(()) => return,
                            Err(error) => error,
                        }
                    }
                    error => error,
                };
                let counter = match error {
                    WireError::TcpChecksum | WireError::UdpChecksum => &mut self.dropped.checksum,
                    WireError::NotTcp(_) => &mut self.dropped.not_tcp,
                    WireError::Fragment => &mut self.dropped.fragment,
                    _ => &mut self.dropped.malformed,
                };
                *counter += 1;
                if matches!(error, WireError::TcpChecksum) && self.tcp.notices.eln == Eln::Checksum
                {
                    self.damaged(now, bytes);
                }
                return;
            }
        };
        let from = fields.addresses.src;
        let key = (from, segment.src_port, segment.dst_port);
        if let Some(open) = self.open.get_mut(&key) {
            open.connection.on_segment(now, &segment);
        } else if !self.accept(now, key, &segment) {
            return;
        }
        self.pump(now, key);
    }

    /// Processes a packet that is not TCP by the QUIC of the host.
    fn receive_quic(&mut self, now: Instant, bytes: &[u8]) -> Result<(), WireError> {
        let Some(quic) = &mut self.quic else {
            return Ok(());
        };
        if quic.is_refusal(bytes) {
            let refused = quic.refused(now);
            if let Some(fetching) = &mut self.fetching {
                fetching.ended(now, refused);
            }
        } else if !quic.receive(now, bytes)? {
            self.dropped.no_port += 1;
            let refusal = Raw::new(bytes.to_vec()).ok();
            let refusal =
                refusal.and_then(|about| about.error_of(self.node, IcmpError::PortUnreachable));
            self.out.extend(refusal.map(Raw::into_bytes));
        }
        self.pump_quic(now);
        Ok(())
    }

    /// Sends all datagrams of QUIC that its connections allow.
    fn pump_quic(&mut self, now: Instant) {
        let Some(quic) = &mut self.quic else {
            return;
        };
        quic.pump(now, &mut self.ident, &mut self.out);
        if let Some(fetching) = &mut self.fetching
            && fetching.done.is_none()
            && fetching.at.is_none()
            && let Some(fetched) = quic.fetched(now)
        {
            fetching.ended(now, fetched);
        }
    }

    /// Processes a packet that may be an EBSN of a base station. Returns whether it is an EBSN for
    /// a connection of this host.
    fn noticed(&mut self, now: Instant, bytes: &[u8]) -> bool {
        let Ok(Some((seq, (ours, theirs), far))) =
            Raw::new(bytes.to_vec()).map(|raw| raw.bad_state_segment())
        else {
            return false;
        };
        let key = (far, theirs, ours);
        let Some(open) = self.open.get_mut(&key) else {
            return false;
        };
        open.connection.on_notice(now, Notice::BadState { seq });
        self.pump(now, key);
        true
    }

    /// Processes a packet with a wrong TCP checksum. Its connection may request a retransmission.
    fn damaged(&mut self, now: Instant, bytes: &[u8]) {
        let Some((fields, segment)) = farlink_wire::decode_damaged(bytes) else {
            return;
        };
        let key = (fields.addresses.src, segment.src_port, segment.dst_port);
        if let Some(open) = self.open.get_mut(&key)
            && open.connection.on_damaged(&segment)
        {
            self.pump(now, key);
        }
    }

    /// Opens a connection for a segment without one. Returns whether a connection was opened.
    fn accept(&mut self, now: Instant, key: Key, segment: &Segment) -> bool {
        let fresh = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        let Some(&service) = self
            .services
            .get(&segment.dst_port)
            .filter(|_| fresh && !segment.flags.has(Flags::RST))
        else {
            self.dropped.no_port += 1;
            if let Some(reset) = reset_for(segment) {
                self.emit(key.0, reset);
            }
            return false;
        };
        if self.half_open.len() >= BACKLOG
            && let Some((_, oldest)) = self.half_open.pop_first()
        {
            self.dropped.full += 1;
            self.remove(oldest);
        }
        if self.open.len() >= MAX_CONNECTIONS {
            self.dropped.full += 1;
            return false;
        }
        self.accepted += 1;
        let tcp = self.tcp_over(version(key.0));
        let mut connection = Connection::listen(tcp, segment.dst_port, initial(now));
        // The secret may be predictable, because all hosts belong to the same user.
        let secret = u32::from(node_address(self.node)).into();
        connection.set_fast_open_cookie(FastOpenCookie::new(secret, client(key.0)));
        connection.on_segment(now, segment);
        let mut open = Open::new(connection, App::of(service));
        open.handshake = Some(self.accepted);
        self.half_open.insert(self.accepted, key);
        self.open.insert(key, open);
        true
    }

    /// Removes a closed connection.
    fn remove(&mut self, key: Key) {
        if let Some(open) = self.open.remove(&key) {
            self.stats.add(&open.connection.stats());
            if let Some(at) = open.timer {
                self.timers.remove(&(at, key));
            }
            if let Some(number) = open.handshake {
                self.half_open.remove(&number);
            }
        }
    }

    /// Returns the time at which [`Self::on_timeout`] must be called.
    pub fn next_timeout(&self) -> Option<Instant> {
        let retry = self.fetching.as_ref().and_then(|f| f.at);
        let first = self.timers.first().map(|&(at, _)| at);
        let quic = self.quic.as_ref().and_then(|quic| quic.due);
        first.into_iter().chain(retry).chain(quic).min()
    }

    /// Handles all deadlines up to `now`.
    pub fn on_timeout(&mut self, now: Instant) {
        // The list is built before the loop, so a timer that expires again at once waits for the
        // next call.
        let due = self.timers.range(..=(now, LAST_KEY));
        let keys: Vec<Key> = due.map(|&(_, key)| key).collect();
        for key in keys {
            if let Some(open) = self.open.get_mut(&key) {
                open.connection.on_timeout(now);
            }
            self.pump(now, key);
        }
        if let Some(key) = self.fetching.as_mut().and_then(|f| f.start(now)) {
            if let (Some(quic), Some(fetching)) = (&mut self.quic, &mut self.fetching) {
                fetching.done = quic.fetch(now, key, fetching.size);
                self.pump_quic(now);
                return;
            }
            let tcp = self.tcp_over(version(key.0));
            let connection = Connection::open(tcp, key.2, key.1, initial(now));
            let size = self.fetching.as_ref().map_or(0, |f| f.size);
            let app = App::sink(size, now);
            self.open.insert(key, Open::new(connection, app));
            self.pump(now, key);
        }
        self.pump_quic(now);
    }

    /// Returns the next packet to send.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.out.pop_front()
    }

    /// Returns whether the fetch is running or its connection is still open.
    pub fn is_fetching(&self) -> bool {
        self.fetching.as_ref().is_some_and(|f| {
            let open = f.key.and_then(|key| self.open.get(&key));
            f.done.is_none()
                || open.is_some_and(|o| o.connection.state() != State::TimeWait)
                || self.quic.as_ref().is_some_and(|quic| quic.is_open())
        })
    }

    /// Returns the report so far.
    pub fn report(&self) -> EndpointReport {
        let mut stats = self.stats;
        for open in self.open.values() {
            stats.add(&open.connection.stats());
        }
        let (mut dropped, mut accepted) = (self.dropped, self.accepted);
        if let Some(quic) = &self.quic {
            let (of_quic, more, full) = quic.report();
            stats.add(&of_quic);
            accepted += more;
            dropped.full += full;
        }
        EndpointReport {
            fetched: self.fetching.as_ref().and_then(|f| f.done.clone()),
            dropped,
            accepted,
            stats,
        }
    }

    /// Returns the lines of a key log file for the host's QUIC.
    pub(crate) fn secrets(&self) -> String {
        let quic = self.quic.as_ref();
        quic.map(|quic| quic.secrets()).unwrap_or_default()
    }

    /// Returns the state of all open connections.
    pub(crate) fn connections(&self) -> impl Iterator<Item = End> {
        self.open.iter().map(|(&(address, theirs, ours), open)| {
            let connection = &open.connection;
            let seconds = |interval: Interval| interval.as_secs_f64();
            let ssthresh = connection.ssthresh();
            End {
                local: (address_of(self.node, version(address)), ours).into(),
                peer: (address, theirs).into(),
                acked: connection.acknowledged(),
                received: connection.delivered(),
                sender: Sender {
                    cwnd_bytes: Some(connection.cwnd()),
                    ssthresh_bytes: (ssthresh < u64::MAX).then_some(ssthresh),
                    flight_bytes: Some(connection.pipe()),
                    srtt_s: connection.srtt().map(seconds),
                    min_rtt_s: connection.rtt().min().map(seconds),
                    rto_s: Some(seconds(connection.rto())),
                    retransmissions: Some(connection.stats().segments_retransmitted),
                },
            }
        })
    }

    /// Lets the connection's program read and write, then sends all segments that the connection
    /// allows.
    fn pump(&mut self, now: Instant, key: Key) {
        let Some(open) = self.open.get_mut(&key) else {
            return;
        };
        let mut segments = 0;
        loop {
            open.app.run(now, &mut open.connection, &mut self.scratch);
            let Some(segment) = open.connection.poll_transmit(now) else {
                break;
            };
            segments += 1;
            push(&mut self.out, self.node, key.0, &mut self.ident, segment);
        }
        let Open {
            connection, app, ..
        } = open;
        if let (App::Sink { done: Some(f), .. }, Some(fetching)) = (&*app, &mut self.fetching)
            && fetching.key == Some(key)
            && fetching.done.is_none()
            && fetching.at.is_none()
        {
            fetching.ended(now, f.clone());
        }
        if connection.state() == State::Closed
            || segments == 0 && connection.state() == State::Listen
        {
            self.remove(key);
            return;
        }
        let timer = connection.next_timeout();
        if timer != open.timer {
            let before = std::mem::replace(&mut open.timer, timer);
            before.map(|at| self.timers.remove(&(at, key)));
            self.timers.extend(timer.map(|at| (at, key)));
        }
        if open.connection.state() != State::SynReceived
            && let Some(number) = open.handshake.take()
        {
            self.half_open.remove(&number);
        }
    }

    fn emit(&mut self, to: IpAddr, segment: Segment) {
        push(&mut self.out, self.node, to, &mut self.ident, segment);
    }

    /// Returns the TCP configuration for an IP version.
    fn tcp_over(&self, ip: IpVersion) -> Arc<Config> {
        Arc::clone(match ip {
            IpVersion::V4 => &self.tcp,
            IpVersion::V6 => &self.tcp6,
        })
    }
}

/// Encodes a segment as an IP packet.
fn push(out: &mut VecDeque<Vec<u8>>, from: NodeId, dst: IpAddr, ident: &mut u16, segment: Segment) {
    *ident = ident.wrapping_add(1);
    let ip = version(dst);
    let packet = Packet {
        ident: *ident,
        ip: Ip::new(ip, true),
        ..Packet::new(from, NodeId::default(), Payload::Tcp(segment))
    };
    let src = address_of(from, ip);
    let mut bytes = Vec::with_capacity(packet.ip_len() as usize);
    // The endpoint builds no segments that the headers cannot encode.
    let made = farlink_wire::encode_prefix(&packet, Addresses { src, dst }, u32::MAX, &mut bytes);
    debug_assert!(made.is_ok(), "{made:?}");
    if made.is_ok() {
        out.push_back(bytes);
    }
}

/// Returns the IP version of an address.
const fn version(address: IpAddr) -> IpVersion {
    match address {
        IpAddr::V4(_) => IpVersion::V4,
        IpAddr::V6(_) => IpVersion::V6,
    }
}

/// Returns the client identity of a TCP Fast Open cookie: the client's address (RFC 7413, 4.1.2),
/// and for IPv6 the interface part of the address.
fn client(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => address.to_bits() as u32,
    }
}

/// Returns an initial sequence number by the 4-us clock of RFC 9293, 3.4.1.
fn initial(now: Instant) -> Seq {
    Seq((now.as_nanos() / 4_000) as u32)
}

impl Fetching {
    /// Returns the connection to open, if an attempt is due.
    fn start(&mut self, now: Instant) -> Option<Key> {
        self.at.filter(|&at| at <= now)?;
        self.at = None;
        self.until.get_or_insert(now + TIME_LIMIT);
        let key = (self.from, self.port, self.next_port);
        self.next_port = self.next_port.wrapping_add(1).max(DYNAMIC);
        self.key = Some(key);
        Some(key)
    }

    /// Handles the end of the fetch's connection. A refused fetch is repeated later.
    fn ended(&mut self, now: Instant, fetched: Fetched) {
        if fetched.failure == Some(Failure::Closed(CloseReason::Refused))
            && self.until.is_some_and(|u| now < u)
        {
            self.at = Some(now + RETRY);
        } else {
            self.done = Some(fetched);
        }
    }
}

#[cfg(test)]
mod tests;
