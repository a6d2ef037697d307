//! The unit of a distributed emulation: one UDP socket by which gateways on other machines join as
//! hosts of the scenario, send their machines' packets, and receive what the network delivers.

use crate::EmuError;
use crate::admission::{Admission, Admitted};
use crate::host::{Host, HostConfig, Port};
use crate::peer::{Association, PeerCounts, PeerEvent};
use crate::tunnel::{Bad, Cookie, Key, Limits, Opened, Outer, Welcome};
use farlink_tcp::{Instant, Interval};
use serde::{Deserialize, Serialize};
use std::collections::{HashSet, VecDeque};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};

/// Interval of the checks for lost gateways and due probes.
const TICK: Interval = Interval::from_millis(25);
/// Number of handshake initiations that are remembered, so that a replayed one is not answered.
const REMEMBERED: usize = 65_536;
/// Bytes of host names and addresses in a welcome, and the overhead per host (the address and the
/// JSON around it).
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
/// If the system has no random numbers.
pub fn new_key() -> Result<String, EmuError> {
    let key = Key::random().map_err(|e| EmuError::system("draw a random key", e))?;
    Ok(key.to_string())
}

/// Status lines for the user of the unit.
pub(crate) type Notices = Arc<Mutex<Vec<String>>>;

/// Counts of unauthenticated or refused datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct RejectedDatagrams {
    /// Datagrams of an unknown type or session.
    pub unknown: u64,
    /// Handshake initiations that were not made with the key.
    pub without_key: u64,
    /// Handshake initiations that had been received before.
    pub replayed: u64,
    /// Handshake initiations that were dropped unread, because too many arrived.
    pub flooded: u64,
    /// Handshake initiations without a valid cookie, each answered with a cookie. Every gateway
    /// that joins sends at least one.
    pub unproven: u64,
    /// Authentic requests to join that were refused.
    pub refused: u64,
}

/// State of a gateway, for reports.
#[derive(Clone, Debug, Serialize)]
pub struct GatewayReport {
    /// Set while the gateway is joined.
    pub here: bool,
    /// Place that the gateway reported, as (x, y) in metres.
    pub address: Option<String>,
    /// One-way delay of the tunnel in seconds: half of the median round-trip time.
    pub place: Option<(f64, f64)>,
    /// Jitter of the tunnel in seconds: half of the difference between the 90th and the 10th
    /// percentile of the round-trip time.
    pub one_way_s: Option<f64>,
    /// Spread of that: nine tenths of the round trips less one tenth, halved, in seconds.
    pub jitter_s: Option<f64>,
    /// Datagrams from the gateway that were lost in the tunnel.
    pub taken_off_s: f64,
    /// Packets from the gateway of which a piece was lost in the tunnel.
    pub missing: u64,
    /// Packets of it of which a piece never came.
    pub incomplete: u64,
    #[serde(flatten)]
    counts: PeerCounts,
}

/// Event that a gateway's datagram causes in the engine.
#[derive(Debug)]
pub(crate) enum UnitEvent {
    /// Nothing.
    Nothing,
    /// A packet of the host with this index; the flag is set if its checksum is known to be right.
    Packet(usize, Vec<u8>, bool),
    /// New place of the host with this index: x and y in metres.
    Place(usize, f64, f64),
}

/// A unit at work.
#[derive(Debug)]
pub(crate) struct Unit {
    socket: Arc<UdpSocket>,
    key: Key,
    limits: Limits,
    nodes: u32,
    config: HostConfig,
    seen: HashSet<[u8; 16]>,
    order: VecDeque<[u8; 16]>,
    admission: Admission,
    worked: Instant,
    pub(crate) rejected: RejectedDatagrams,
    notices: Notices,
}

impl Unit {
    /// Opens its socket.
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
            seen: HashSet::new(),
            order: VecDeque::new(),
            admission,
            worked: Instant::ZERO,
            rejected: RejectedDatagrams::default(),
            notices: Arc::new(Mutex::new(vec![first])),
        })
    }

    /// Returns the socket by which datagrams to gateways are sent.
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

    /// Reads a datagram into `buffer`; `None` if none waits.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
        debug_assert!(buffer.len() >= LONGEST);
        loop {
            match self.socket.recv_from(buffer) {
                Ok(read) => return Some(read),
                // ICMP error for an earlier datagram, because its gateway has gone.
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(_) => return None,
            }
        }
    }

    /// Returns the next deadline.
    pub(crate) fn next_time(&self) -> Instant {
        self.worked + TICK
    }

    /// Detects lost gateways, and probes the others. Returns whether this was due at `now`.
    pub(crate) fn work(&mut self, now: Instant, hosts: &mut [Host]) -> bool {
        if now < self.next_time() {
            return false;
        }
        self.worked = now;
        for host in hosts {
            if let Port::Gateway(peer) = &mut host.port
                && peer.work(now)
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
                    Err(Bad::Old) => {
                        self.rejected.unknown += 1;
                        UnitEvent::Nothing
                    }
                    Err(Bad::Forged | Bad::Replayed) => UnitEvent::Nothing,
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

    /// Returns whether a handshake initiation may be read. Without a valid cookie, it is answered
    /// with one.
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

    /// Answers a handshake initiation from a proven address. Without the key, or as a replay, it
    /// gets no answer.
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
        if !self.seen.insert(opened.ephemeral) {
            self.rejected.replayed += 1;
            return;
        }
        self.order.push_back(opened.ephemeral);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
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
        // As many names as fit into the datagram.
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
