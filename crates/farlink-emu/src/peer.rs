//! A host of the scenario that is a gateway on another machine: the unit's side of it.

use crate::tun::Written;
use crate::tunnel::{Bad, Inner, Pieces, RoundTrips, Session, cut};
use farlink_tcp::{Instant, Interval};
use farlink_wire::Raw;
use serde::Serialize;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

/// A gateway that was not heard of for so long is away; and to a gateway, the unit.
pub(crate) const LOST_AFTER: Interval = Interval::from_secs(3);
/// Time between two probes; and at first, until there are some round trips.
const PROBE: Interval = Interval::from_millis(250);
const FIRST_PROBE: Interval = Interval::from_millis(50);
/// Round trips that are enough to judge the path by.
const ENOUGH: usize = 8;
/// Time between two looks at that.
const JUDGED: Interval = Interval::from_millis(500);
/// A change of the path's delay that is worth a change of the scenario's.
const WORTH: Interval = Interval::from_micros(50);

/// A session, and where its other end is.
#[derive(Debug)]
pub(crate) struct Association {
    pub(crate) own: u32,
    pub(crate) session: Session,
    pub(crate) to: SocketAddr,
}

/// Counts of a gateway beside its packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub(crate) struct PeerCounts {
    /// Number of joins, the first included.
    pub(crate) joined: u64,
    /// Number of losses.
    pub(crate) lost: u64,
    /// Packets for it that were lost since it was away.
    pub(crate) away: u64,
    /// Datagrams that were not authentic.
    pub(crate) forged: u64,
    /// Datagrams that were there before.
    pub(crate) replayed: u64,
    /// Datagrams of it that never came, in sessions that are over.
    pub(crate) missing: u64,
    /// Packets that its own device dropped, as it says.
    pub(crate) overflowed: u64,
}

/// A gateway, or the place of one that has not come.
#[derive(Debug)]
pub(crate) struct Peer {
    socket: Arc<UdpSocket>,
    /// By which it is known again.
    pub(crate) instance: u64,
    current: Option<Association>,
    /// Answered; it has not shown yet that it is not a replay.
    next: Option<(u64, Association)>,
    previous: Option<Association>,
    pub(crate) is_here: bool,
    heard: Instant,
    probed: Instant,
    trips: RoundTrips,
    /// Time of the last join.
    joined: Instant,
    pub(crate) place: Option<(f64, f64)>,
    judged: Instant,
    /// Delay of the tunnel each way, as far as it is known.
    pub(crate) allowed: Option<Interval>,
    /// Part of that delay that is taken off the scenario's delays.
    pub(crate) taken_off: Interval,
    pieces: Pieces,
    ident: u32,
    serial: u16,
    pub(crate) counts: PeerCounts,
    datagram: Vec<u8>,
}

/// Meaning of an authentic datagram of the gateway.
#[derive(Debug)]
pub(crate) enum Heard {
    /// Nothing that is of interest to others.
    Nothing,
    /// A packet; whether its checksum is known to be right.
    Packet(Vec<u8>, bool),
    /// Place of the gateway.
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
            heard: Instant::ZERO,
            probed: Instant::ZERO,
            trips: RoundTrips::default(),
            joined: Instant::ZERO,
            place: None,
            judged: Instant::ZERO,
            allowed: None,
            taken_off: Interval::ZERO,
            pieces: Pieces::default(),
            ident: 0,
            // Not from 0: what still comes of a session with a unit before this one is of no
            // session, and no forgery of one that has its number by chance.
            serial: RandomState::new().build_hasher().finish() as u16,
            counts: PeerCounts::default(),
            datagram: Vec::new(),
        }
    }

    /// A number for a session with it: that of its host, and one of its own.
    pub(crate) fn own_number(&mut self, host: usize) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        (host as u32) << 16 | u32::from(self.serial)
    }

    /// Returns the address of the gateway, if it is joined.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        let association = self.current.as_ref().filter(|_| self.is_here)?;
        Some(association.to)
    }

    /// Datagrams of it that never came.
    pub(crate) fn missing(&self) -> u64 {
        let now = self.current.iter().chain(&self.previous);
        self.counts.missing
            + now
                .map(|association| association.session.missing())
                .sum::<u64>()
    }

    /// Packets of which a piece never came.
    pub(crate) fn incomplete(&self) -> u64 {
        self.pieces.incomplete
    }

    /// Records an answer. The session starts when the gateway first sends in it.
    pub(crate) fn answered(&mut self, instance: u64, association: Association) {
        self.next = Some((instance, association));
    }

    /// Returns the delay of the tunnel each way and its variation, if known.
    pub(crate) fn path(&self) -> Option<(Interval, Interval)> {
        let known = self.trips.len() >= ENOUGH;
        Some((self.trips.one_way()?, self.trips.jitter()?)).filter(|_| known)
    }

    /// A packet for it.
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

    /// Judges what the tunnel takes each way; whether that has changed so much that the
    /// scenario's delays should.
    pub(crate) fn judge_path(&mut self, now: Instant) -> bool {
        if self.trips.len() < ENOUGH || now.since(self.judged) < JUDGED {
            return false;
        }
        self.judged = now;
        let Some(one_way) = self.trips.one_way() else {
            return false;
        };
        let before = self.allowed.unwrap_or(Interval::ZERO);
        let worth = WORTH.max(Interval::from_nanos(before.as_nanos() / 10));
        let changed = one_way.abs_diff(before) >= worth;
        if changed {
            self.allowed = Some(one_way);
        }
        changed
    }

    fn say(&mut self, now: Instant, inner: Inner<'_>) {
        if let Some(association) = &mut self.current {
            // What is lost here is lost as on the way: nobody waits for it.
            association.send(&self.socket, now, inner, &mut self.datagram);
        }
    }

    /// Tells the gateway that the unit ends.
    pub(crate) fn part(&mut self, now: Instant) {
        if self.is_here {
            self.say(now, Inner::Bye);
        }
    }

    /// Does what is due by `now`. Returns whether the gateway was lost since the last call.
    pub(crate) fn work(&mut self, now: Instant) -> bool {
        if !self.is_here {
            return false;
        }
        if now.since(self.heard) >= LOST_AFTER {
            self.is_here = false;
            self.counts.lost += 1;
            return true;
        }
        let every = if self.trips.len() < 2 * ENOUGH {
            FIRST_PROBE
        } else {
            PROBE
        };
        if now.since(self.probed) >= every {
            self.probed = now;
            self.say(now, Inner::Probe { at: now.as_nanos() });
        }
        false
    }

    /// A sealed datagram for one of its sessions. Says whether it is new here by that.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        from: SocketAddr,
        to: u32,
        number: u64,
        body: &[u8],
    ) -> Result<(bool, Heard), Bad> {
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
        let association = association.ok_or(Bad::Old)?;
        association
            .session
            .open(now, number, body, &mut plain)
            .inspect_err(|bad| match bad {
                Bad::Forged | Bad::Old => self.counts.forged += 1,
                Bad::Replayed => self.counts.replayed += 1,
            })?;
        // Its address may have changed: what is authentic tells where it is.
        association.to = from;
        let mut is_new = false;
        if let Some((instance, association)) = self.next.take_if(|_| joins) {
            let another = self.instance != instance;
            is_new = !self.is_here || another;
            let before = self.current.replace(association);
            // What still comes of the session before is taken, but not of another gateway.
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
            // It was not heard of for a while, and has not noticed.
            is_new = true;
        }
        if is_new {
            // The path may be another.
            self.trips = RoundTrips::default();
            self.joined = now;
            self.counts.joined += 1;
            self.is_here = true;
        }
        self.heard = now;
        Ok((is_new, self.heed(now, to, &plain)))
    }

    /// Heeds what was said in the session `own`.
    fn heed(&mut self, now: Instant, own: u32, plain: &[u8]) -> Heard {
        match Inner::read(plain) {
            Some(Inner::Probe { at }) => self.say(now, Inner::Echo { at, held: 0 }),
            // What it answers to a probe of before it was lost tells how long it was stopped.
            Some(Inner::Echo { at, .. }) if at < self.joined.as_nanos() => {}
            Some(Inner::Echo { at, held }) => {
                let took = now.as_nanos().checked_sub(at);
                if let Some(took) = took.and_then(|took| took.checked_sub(held)) {
                    self.trips.add(Interval::from_nanos(took));
                }
            }
            Some(inner @ (Inner::Packet { .. } | Inner::Piece { .. })) => {
                let whole = self.pieces.take(own, inner);
                return whole.map_or(Heard::Nothing, |(packet, checked)| {
                    Heard::Packet(packet, checked)
                });
            }
            Some(Inner::Place { x, y }) => {
                self.place = Some((x, y));
                return Heard::Place(x, y);
            }
            Some(Inner::Overflowed { packets }) => self.counts.overflowed = packets,
            Some(Inner::Bye) => {
                self.is_here = false;
                // What was overtaken by this on its way does not bring it back.
                let over = self.current.take().into_iter().chain(self.previous.take());
                self.counts.missing += over.map(|old| old.session.missing()).sum::<u64>();
                return Heard::Bye;
            }
            None => {}
        }
        Heard::Nothing
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
