//! A gateway as seen by the unit: its sessions, the measured delay of its tunnel, and its counters.

use crate::tun::Written;
use crate::tunnel::{Inner, Pieces, Rejection, RoundTrips, Session, cut};
use farlink_tcp::{Instant, Interval};
use farlink_wire::Raw;
use serde::Serialize;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

/// Time without a datagram after which the unit considers a gateway lost, and a gateway the unit.
pub(crate) const LOST_AFTER: Interval = Interval::from_secs(3);
/// Interval of probes. The shorter interval is used until 2 * `MIN_ROUND_TRIPS` round trips are
/// measured.
const PROBE: Interval = Interval::from_millis(250);
const FIRST_PROBE: Interval = Interval::from_millis(50);
/// Number of measured round trips that an estimate of the tunnel's delay needs.
const MIN_ROUND_TRIPS: usize = 8;
/// Interval at which the tunnel's estimated delay is compared with the compensated delay.
const ALLOWANCE_INTERVAL: Interval = Interval::from_millis(500);
/// Minimum change of the tunnel's delay that changes the compensation. If 10 % of the delay is
/// more, that is the minimum.
const SMALLEST_CHANGE: Interval = Interval::from_micros(50);

/// A session and the address of its gateway.
#[derive(Debug)]
pub(crate) struct Association {
    pub(crate) own: u32,
    pub(crate) session: Session,
    pub(crate) to: SocketAddr,
}

/// Counters of a gateway, apart from those of its packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub(crate) struct PeerCounts {
    /// Number of times that the gateway joined, including the first.
    pub(crate) joined: u64,
    /// Number of times that the gateway was lost.
    pub(crate) lost: u64,
    /// Number of packets for the gateway that were dropped while it was absent.
    pub(crate) away: u64,
    /// Number of datagrams that failed authentication.
    pub(crate) forged: u64,
    /// Number of authentic datagrams that had already been received.
    pub(crate) replayed: u64,
    /// Number of datagrams of this gateway that were lost in ended sessions.
    pub(crate) missing: u64,
    /// Number of packets that the device on the gateway's machine dropped, as reported by the
    /// gateway.
    pub(crate) overflowed: u64,
}

/// A gateway, which may not have joined yet.
#[derive(Debug)]
pub(crate) struct Peer {
    socket: Arc<UdpSocket>,
    /// Random number of the gateway's process. A gateway with the same number is rejoining.
    pub(crate) instance: u64,
    current: Option<Association>,
    /// Session of an answered handshake. The first datagram in this session makes it `current`,
    /// because a replayed handshake cannot produce such a datagram.
    next: Option<(u64, Association)>,
    previous: Option<Association>,
    pub(crate) is_here: bool,
    last_received: Instant,
    probed: Instant,
    trips: RoundTrips,
    /// Time of the last join.
    joined: Instant,
    pub(crate) place: Option<(f64, f64)>,
    allowance_checked: Instant,
    /// Part of the tunnel's one-way delay that is compensated.
    pub(crate) allowed: Option<Interval>,
    /// Part of `allowed` that was subtracted from the scenario's delays.
    pub(crate) taken_off: Interval,
    pieces: Pieces,
    ident: u32,
    serial: u16,
    pub(crate) counts: PeerCounts,
    datagram: Vec<u8>,
}

/// Result of handling an authentic datagram of the gateway.
#[derive(Debug)]
pub(crate) enum PeerEvent {
    /// Nothing remains to be done.
    Nothing,
    /// Packet; the flag is set if its checksum is known to be right.
    Packet(Vec<u8>, bool),
    /// New place of the gateway: x and y in metres.
    Place(f64, f64),
    /// End of the gateway.
    Bye,
}

impl Peer {
    pub(crate) fn new(socket: Arc<UdpSocket>) -> Self {
        Self {
            socket,
            instance: 0,
            current: None,
            next: None,
            previous: None,
            is_here: false,
            last_received: Instant::ZERO,
            probed: Instant::ZERO,
            trips: RoundTrips::default(),
            joined: Instant::ZERO,
            place: None,
            allowance_checked: Instant::ZERO,
            allowed: None,
            taken_off: Interval::ZERO,
            pieces: Pieces::default(),
            ident: 0,
            // Starts at a random number, so that the unit rarely mistakes a datagram of an earlier
            // unit for a forgery.
            serial: RandomState::new().build_hasher().finish() as u16,
            counts: PeerCounts::default(),
            datagram: Vec::new(),
        }
    }

    /// Returns the number of a new session: the host's index in the upper 16 bits, and a serial
    /// number in the lower 16 bits.
    pub(crate) fn own_number(&mut self, host: usize) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        (host as u32) << 16 | u32::from(self.serial)
    }

    /// Returns the address of the gateway, if it is joined.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        let association = self.current.as_ref().filter(|_| self.is_here)?;
        Some(association.to)
    }

    /// Returns the number of datagrams from the gateway that were lost.
    pub(crate) fn missing(&self) -> u64 {
        let now = self.current.iter().chain(&self.previous);
        self.counts.missing
            + now
                .map(|association| association.session.missing())
                .sum::<u64>()
    }

    /// Returns the number of packets of which a piece was lost.
    pub(crate) fn incomplete(&self) -> u64 {
        self.pieces.incomplete
    }

    /// Stores the session of an answered handshake. The session starts with the gateway's first
    /// datagram in it.
    pub(crate) fn answered(&mut self, instance: u64, association: Association) {
        self.next = Some((instance, association));
    }

    /// Returns the one-way delay of the tunnel and its jitter if enough round trips were measured.
    pub(crate) fn path(&self) -> Option<(Interval, Interval)> {
        let known = self.trips.len() >= MIN_ROUND_TRIPS;
        Some((self.trips.one_way()?, self.trips.jitter()?)).filter(|_| known)
    }

    /// Sends a packet to the gateway.
    pub(crate) fn write(&mut self, now: Instant, raw: &Raw) -> Written {
        let mut sent = self.is_here;
        if sent {
            self.ident = self.ident.wrapping_add(1);
            let Self {
                current,
                datagram,
                socket,
                ..
            } = self;
            cut(raw.bytes(), raw.is_checked(), self.ident, |inner| {
                sent &= current
                    .as_mut()
                    .is_some_and(|association| association.send(socket, now, inner, datagram));
            });
        } else {
            self.counts.away += 1;
        }
        Written {
            delivered: u64::from(sent),
            refused: u64::from(!sent),
        }
    }

    /// Updates `allowed` if the tunnel's delay has changed by at least max([`SMALLEST_CHANGE`], 10 %).
    /// Returns whether it was updated.
    pub(crate) fn update_allowance(&mut self, now: Instant) -> bool {
        if self.trips.len() < MIN_ROUND_TRIPS
            || now.since(self.allowance_checked) < ALLOWANCE_INTERVAL
        {
            return false;
        }
        self.allowance_checked = now;
        let Some(one_way) = self.trips.one_way() else {
            return false;
        };
        let before = self.allowed.unwrap_or(Interval::ZERO);
        let smallest = SMALLEST_CHANGE.max(Interval::from_nanos(before.as_nanos() / 10));
        let changed = one_way.abs_diff(before) >= smallest;
        if changed {
            self.allowed = Some(one_way);
        }
        changed
    }

    fn send(&mut self, now: Instant, inner: Inner<'_>) {
        if let Some(association) = &mut self.current {
            // A failed send counts as a loss in the tunnel.
            association.send(&self.socket, now, inner, &mut self.datagram);
        }
    }

    /// Announces the end of the unit to the gateway.
    pub(crate) fn send_bye(&mut self, now: Instant) {
        if self.is_here {
            self.send(now, Inner::Bye);
        }
    }

    /// Detects the loss of the gateway, and sends a probe if one is due. Returns whether the
    /// gateway was lost in this call.
    pub(crate) fn on_tick(&mut self, now: Instant) -> bool {
        if !self.is_here {
            return false;
        }
        if now.since(self.last_received) >= LOST_AFTER {
            self.is_here = false;
            self.counts.lost += 1;
            return true;
        }
        let every = if self.trips.len() < 2 * MIN_ROUND_TRIPS {
            FIRST_PROBE
        } else {
            PROBE
        };
        if now.since(self.probed) >= every {
            self.probed = now;
            self.send(now, Inner::Probe { at: now.as_nanos() });
        }
        false
    }

    /// Decrypts and handles a datagram. Also returns whether the gateway has just joined.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        from: SocketAddr,
        to: u32,
        number: u64,
        body: &[u8],
    ) -> Result<(bool, PeerEvent), Rejection> {
        let mut plain = Vec::new();
        let joins = self
            .next
            .as_ref()
            .is_some_and(|(_, association)| association.own == to);
        let association = if joins {
            self.next.as_mut().map(|(_, association)| association)
        } else {
            let known = self.current.iter_mut().chain(&mut self.previous);
            known.into_iter().find(|association| association.own == to)
        };
        let association = association.ok_or(Rejection::Old)?;
        association
            .session
            .open(now, number, body, &mut plain)
            .inspect_err(|bad| match bad {
                Rejection::Forged | Rejection::Old => self.counts.forged += 1,
                Rejection::Replayed => self.counts.replayed += 1,
            })?;
        // The datagram is authentic, so its source is the gateway's current address.
        association.to = from;
        let mut is_new = false;
        if let Some((instance, association)) = self.next.take_if(|_| joins) {
            let another = self.instance != instance;
            is_new = !self.is_here || another;
            let before = self.current.replace(association);
            // Late datagrams of the previous session are accepted if it belonged to the same
            // gateway.
            let (kept, over) = if another {
                (None, before)
            } else {
                (before, None)
            };
            for old in self.previous.take().into_iter().chain(over) {
                self.counts.missing += old.session.missing();
            }
            self.previous = kept;
            self.instance = instance;
        } else if !self.is_here {
            // The unit considered the gateway lost, but the gateway did not notice the gap.
            is_new = true;
        }
        if is_new {
            // The path of the tunnel may have changed.
            self.trips = RoundTrips::default();
            self.joined = now;
            self.counts.joined += 1;
            self.is_here = true;
        }
        self.last_received = now;
        Ok((is_new, self.on_message(now, to, &plain)))
    }

    /// Handles a decrypted message of the session `own`.
    fn on_message(&mut self, now: Instant, own: u32, plain: &[u8]) -> PeerEvent {
        match Inner::read(plain) {
            Some(Inner::Probe { at }) => self.send(now, Inner::Echo { at, held: 0 }),
            // The echo of a probe that was sent before the last join would include the time of the
            // interruption.
            Some(Inner::Echo { at, .. }) if at < self.joined.as_nanos() => {}
            Some(Inner::Echo { at, held }) => {
                let took = now.as_nanos().checked_sub(at);
                if let Some(took) = took.and_then(|took| took.checked_sub(held)) {
                    self.trips.add(Interval::from_nanos(took));
                }
            }
            Some(inner @ (Inner::Packet { .. } | Inner::Piece { .. })) => {
                let whole = self.pieces.on_message(own, inner);
                return whole.map_or(PeerEvent::Nothing, |(packet, checked)| {
                    PeerEvent::Packet(packet, checked)
                });
            }
            Some(Inner::Place { x, y }) => {
                self.place = Some((x, y));
                return PeerEvent::Place(x, y);
            }
            Some(Inner::Overflowed { packets }) => self.counts.overflowed = packets,
            Some(Inner::Bye) => {
                self.is_here = false;
                // Both sessions end. A datagram that was sent before the `Bye` but arrives after it
                // then does not rejoin the gateway.
                let over = self.current.take().into_iter().chain(self.previous.take());
                self.counts.missing += over.map(|old| old.session.missing()).sum::<u64>();
                return PeerEvent::Bye;
            }
            None => {}
        }
        PeerEvent::Nothing
    }
}

impl Association {
    fn send(
        &mut self,
        socket: &UdpSocket,
        now: Instant,
        inner: Inner<'_>,
        datagram: &mut Vec<u8>,
    ) -> bool {
        self.session.seal(now, inner, datagram) && socket.send_to(datagram, self.to).is_ok()
    }
}
