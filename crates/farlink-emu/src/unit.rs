//! The unit of a distributed emulation: a UDP socket for gateways on other machines. Gateways join
//! as hosts of the scenario, send packets of their machines, and receive the packets that the
//! network delivers.

use crate::EmuError;
use crate::admission::{Admission, Admitted};
use crate::host::{Host, HostConfig, Port};
use crate::peer::{Association, PeerCounts, PeerEvent};
use crate::tunnel::{Cookie, Key, Limits, Opened, Outer, Rejection, Welcome};
use farlink_tcp::{Instant, Interval};
use serde::{Deserialize, Serialize};
use std::collections::{HashSet, VecDeque};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};

/// Interval of checks for lost gateways and due probes.
const TICK: Interval = Interval::from_millis(25);
/// Number of stored handshake initiations, with which replays are detected.
const MAX_EPHEMERALS: usize = 65_536;
/// Maximum number of bytes of host names and addresses in a welcome, and the overhead per host (the
/// address, and the JSON syntax).
const NAMES: usize = 50_000;
const BESIDE: usize = 24;
/// Longest UDP datagram, in bytes.
const LONGEST: usize = 65_535;

/// Options of a unit.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitOptions {
    /// Address and port on which the unit listens.
    pub listen: SocketAddr,
    /// Shared key of the unit and its gateways, as text.
    pub key: String,
}

/// Returns a new random key as text.
///
/// # Errors
/// Fails if the system has no random numbers.
pub fn new_key() -> Result<String, EmuError> {
    let key = Key::random().map_err(|e| EmuError::system("draw a random key", e))?;
    Ok(key.to_string())
}

/// Status lines for the user of the unit.
pub(crate) type Notices = Arc<Mutex<Vec<String>>>;

/// Counters of unauthenticated or refused datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct RejectedDatagrams {
    /// Datagrams of an unknown type or session.
    pub unknown: u64,
    /// Number of handshake initiations that were not created with the key.
    pub without_key: u64,
    /// Number of handshake initiations that had already been received.
    pub replayed: u64,
    /// Number of handshake initiations that were dropped unread, because too many arrived.
    pub flooded: u64,
    /// Number of handshake initiations without a valid cookie, each answered with a cookie. Every
    /// joining gateway sends at least one.
    pub unproven: u64,
    /// Number of authentic requests to join that were refused.
    pub refused: u64,
}

/// State of a gateway, for reports.
#[derive(Clone, Debug, Serialize)]
pub struct GatewayReport {
    /// Set while the gateway is joined.
    pub here: bool,
    /// Address of the gateway; `None` while it is absent.
    pub address: Option<String>,
    /// Position that the gateway reported, as (x, y) in metres.
    pub place: Option<(f64, f64)>,
    /// One-way delay of the tunnel in seconds: half of the median round-trip time.
    pub one_way_s: Option<f64>,
    /// Jitter of the tunnel in seconds: half of the difference between the 90th and the 10th
    /// percentile of the round-trip time.
    pub jitter_s: Option<f64>,
    /// Seconds that were subtracted from the scenario's delays for this tunnel.
    pub taken_off_s: f64,
    /// Number of datagrams from the gateway that were lost in the tunnel.
    pub missing: u64,
    /// Number of packets from the gateway of which a piece was lost in the tunnel.
    pub incomplete: u64,
    #[serde(flatten)]
    counts: PeerCounts,
}

/// Event that a gateway's datagram causes in the engine.
#[derive(Debug)]
pub(crate) enum UnitEvent {
    /// Datagram that needs no action.
    Nothing,
    /// Packet of the host with this index; the flag is set if its checksum is known to be right.
    Packet(usize, Vec<u8>, bool),
    /// New position of the host with this index: x and y in metres.
    Place(usize, f64, f64),
}

/// A running unit.
#[derive(Debug)]
pub(crate) struct Unit {
    socket: Arc<UdpSocket>,
    key: Key,
    limits: Limits,
    nodes: u32,
    config: HostConfig,
    ephemerals: HashSet<[u8; 16]>,
    order: VecDeque<[u8; 16]>,
    admission: Admission,
    last_tick: Instant,
    pub(crate) rejected: RejectedDatagrams,
    notices: Notices,
}

impl Unit {
    /// Opens the unit's socket.
    pub(crate) fn open(
        options: &UnitOptions,
        nodes: u32,
        config: &HostConfig,
    ) -> Result<Self, EmuError> {
        let wrong = |why| EmuError::Scenario(format!("--key: {why}"));
        let key = options.key.parse().map_err(wrong)?;
        let socket = UdpSocket::bind(options.listen).and_then(|socket| {
            socket.set_nonblocking(true)?;
            Ok(socket)
        });
        let socket = socket.map_err(|e| {
            let to = options.listen;
            match e.kind() {
                io::ErrorKind::AddrInUse => EmuError::Scenario(format!(
                    "--listen {to}: another program has this port; write another"
                )),
                io::ErrorKind::AddrNotAvailable => EmuError::Scenario(format!(
                    "--listen {to}: this machine has no such address; 0.0.0.0 stands for all"
                )),
                _ => EmuError::system(format!("listen on {to}"), e),
            }
        })?;
        let admission =
            Admission::new().map_err(|e| EmuError::system("draw a random number", e))?;
        let first = format!("listening on {}", options.listen);
        Ok(Self {
            socket: Arc::new(socket),
            key,
            limits: Limits::default(),
            nodes,
            config: config.clone(),
            ephemerals: HashSet::new(),
            order: VecDeque::new(),
            admission,
            last_tick: Instant::ZERO,
            rejected: RejectedDatagrams::default(),
            notices: Arc::new(Mutex::new(vec![first])),
        })
    }

    /// Returns the socket from which datagrams are sent to gateways.
    pub(crate) fn socket(&self) -> Arc<UdpSocket> {
        Arc::clone(&self.socket)
    }

    /// Returns a descriptor that becomes readable when a datagram arrives.
    pub(crate) fn readable(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(crate) fn notices(&self) -> Notices {
        Arc::clone(&self.notices)
    }

    fn notice(&self, line: String) {
        tracing::debug!(target: "farlink", "{line}");
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        notices.push(line);
    }

    /// Reads a datagram into `buffer`; `None` if there is none.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
        debug_assert!(buffer.len() >= LONGEST);
        loop {
            match self.socket.recv_from(buffer) {
                Ok(read) => return Some(read),
                // ICMP error about an earlier datagram, because its gateway has gone.
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(_) => return None,
            }
        }
    }

    /// Returns the next deadline.
    pub(crate) fn next_time(&self) -> Instant {
        self.last_tick + TICK
    }

    /// Detects lost gateways, and probes the others. Returns whether this was due at `now`.
    pub(crate) fn on_tick(&mut self, now: Instant, hosts: &mut [Host]) -> bool {
        if now < self.next_time() {
            return false;
        }
        self.last_tick = now;
        for host in hosts {
            if let Port::Gateway(peer) = &mut host.port
                && peer.on_tick(now)
            {
                self.notice(format!(
                    "gateway {} is lost: nothing was heard of it for {} s",
                    host.name,
                    crate::peer::LOST_AFTER.as_secs_f64()
                ));
            }
        }
        true
    }

    /// Handles one datagram.
    pub(crate) fn on_datagram(
        &mut self,
        now: Instant,
        from: SocketAddr,
        datagram: &[u8],
        hosts: &mut [Host],
    ) -> UnitEvent {
        match Outer::read(datagram) {
            Some(Outer::Sealed { to, number, body }) => {
                let host = (to >> 16) as usize;
                let Some(Host { port, name, .. }) = hosts.get_mut(host) else {
                    self.rejected.unknown += 1;
                    return UnitEvent::Nothing;
                };
                let Port::Gateway(peer) = port else {
                    self.rejected.unknown += 1;
                    return UnitEvent::Nothing;
                };
                match peer.open(now, from, to, number, body) {
                    Ok((is_new, segments)) => {
                        if is_new {
                            self.notice(format!("gateway {name} joined from {from}"));
                        }
                        match segments {
                            PeerEvent::Nothing => UnitEvent::Nothing,
                            PeerEvent::Packet(bytes, checked) => {
                                UnitEvent::Packet(host, bytes, checked)
                            }
                            PeerEvent::Place(x, y) => UnitEvent::Place(host, x, y),
                            PeerEvent::Bye => {
                                self.notice(format!("gateway {name} left"));
                                UnitEvent::Nothing
                            }
                        }
                    }
                    Err(Rejection::Old) => {
                        self.rejected.unknown += 1;
                        UnitEvent::Nothing
                    }
                    Err(Rejection::Forged | Rejection::Replayed) => UnitEvent::Nothing,
                }
            }
            Some(Outer::Hello {
                from: peer,
                cookie,
                body,
            }) => {
                if self.admits(now, from, peer, &cookie) {
                    self.hello(now, from, peer, body, hosts);
                }
                UnitEvent::Nothing
            }
            Some(Outer::Welcome { .. } | Outer::Prove { .. }) | None => {
                self.rejected.unknown += 1;
                UnitEvent::Nothing
            }
        }
    }

    /// Returns whether a handshake initiation may be read. An initiation without a valid cookie is
    /// answered with a cookie.
    fn admits(&mut self, now: Instant, from: SocketAddr, number: u32, cookie: &Cookie) -> bool {
        match self.admission.admit(now, from, cookie) {
            Admitted::Yes => return true,
            Admitted::Prove(cookie) => {
                self.rejected.unproven += 1;
                let mut datagram = Vec::new();
                let to = number;
                Outer::Prove { to, cookie }.write(&mut datagram);
                // If this datagram is lost, the gateway retries.
                let _ = self.socket.send_to(&datagram, from);
            }
            Admitted::Flooded => self.rejected.flooded += 1,
        }
        false
    }

    /// Answers a handshake initiation from a proven address. A replay, or an initiation that was
    /// not created with the key, gets no answer.
    fn hello(
        &mut self,
        now: Instant,
        from: SocketAddr,
        number: u32,
        body: &[u8],
        hosts: &mut [Host],
    ) {
        let Some(opened) = Opened::read(&self.key, number, body) else {
            self.rejected.without_key += 1;
            return;
        };
        if !self.ephemerals.insert(opened.ephemeral) {
            self.rejected.replayed += 1;
            return;
        }
        self.order.push_back(opened.ephemeral);
        if self.order.len() > MAX_EPHEMERALS
            && let Some(oldest) = self.order.pop_front()
        {
            self.ephemerals.remove(&oldest);
        }
        let wanted = &opened.hello.host;
        let at = hosts.iter().position(|host| host.name == *wanted);
        let (own, welcome) = match at.map(|at| (at, &mut hosts[at].port)) {
            Some((at, Port::Gateway(peer)))
                if !peer.is_here || peer.instance == opened.hello.instance =>
            {
                (Some((at, peer.own_number(at))), self.welcome(at, hosts))
            }
            Some((_, Port::Gateway(peer))) => {
                let other = peer.address().map_or(String::new(), |a| format!(" at {a}"));
                let why = format!("{wanted:?} is another gateway{other} already");
                (None, Welcome::Taken(why))
            }
            Some(_) => {
                let why = format!("{wanted:?} is a host at the unit, and no gateway");
                (None, Welcome::Refused(why))
            }
            None => {
                let open = |host: &&Host| matches!(host.port, Port::Gateway(_));
                let names: Vec<_> = hosts.iter().filter(open).map(|h| h.name.as_str()).collect();
                let names = names.join(", ");
                let why = format!("there is no host {wanted:?}; gateways can be {names}");
                (None, Welcome::Refused(why))
            }
        };
        if own.is_none() {
            self.rejected.refused += 1;
        }
        let (instance, limits) = (opened.hello.instance, self.limits);
        let session = own.map_or(0, |(_, own)| own);
        let Some((datagram, session)) = opened.answer(session, &welcome, now, limits) else {
            return;
        };
        // If this datagram is lost, the gateway retries.
        let _ = self.socket.send_to(&datagram, from);
        if let Some((at, own)) = own
            && let Port::Gateway(peer) = &mut hosts[at].port
        {
            let association = Association {
                own,
                session,
                to: from,
            };
            peer.answered(instance, association);
        }
    }

    fn welcome(&self, at: usize, hosts: &[Host]) -> Welcome {
        // The datagram lists as many names as fit into it.
        let mut room = NAMES;
        let names = hosts.iter().map_while(|h| {
            room = room.checked_sub(h.name.len() + BESIDE)?;
            Some((h.name.clone(), h.address()))
        });
        let names = names.collect();
        Welcome::Joined {
            node: hosts[at].node.0,
            nodes: self.nodes,
            mtu: self.config.mtu,
            tcp: self.config.congestion.clone(),
            names,
        }
    }
}

/// Returns the state of the gateway at `port`; `None` for any other host.
pub(crate) fn report(port: &Port) -> Option<GatewayReport> {
    let Port::Gateway(peer) = port else {
        return None;
    };
    let path = peer.path();
    Some(GatewayReport {
        here: peer.is_here,
        address: peer.address().map(|address| address.to_string()),
        place: peer.place,
        one_way_s: path.map(|(one_way, _)| one_way.as_secs_f64()),
        jitter_s: path.map(|(_, jitter)| jitter.as_secs_f64()),
        taken_off_s: peer.taken_off.as_secs_f64(),
        missing: peer.missing(),
        incomplete: peer.incomplete(),
        counts: peer.counts,
    })
}

#[cfg(test)]
mod tests;
