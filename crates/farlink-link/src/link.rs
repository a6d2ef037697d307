//! A link: two directions, each with queue, transmitter, channel and delay, and what may
//! be on it besides: a class for low priority, a protocol that retransmits, header
//! compression, a longest packet.
//!
//! It is told the time and the packets, and says what becomes of them ([`Outcome`]) and
//! when it wants to be called again ([`Links::deadline`]).

pub(crate) mod config;
mod fate;
mod simplex;

use crate::arq::{ArqLink, Output, SentFrame, Tag};
use crate::background::BackgroundStats;
use crate::header_compression::Restored;
pub use config::{LinkConfig, LinkStats, QueueLimit};
use farlink_channel::DropCause;
use farlink_tcp::{Ecn, Instant, Priority};
use farlink_wire::id::{ById, Direction, Id, LinkId, NodeId, PacketId};
use farlink_wire::packets::{Label, Packets};
pub use fate::{Fate, Outcome};
pub use simplex::Simplex;
use std::ops::{Index, IndexMut};

/// Reply of a link to an offered packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offered {
    /// In flight behind other packets of its direction.
    InFlight,
    /// In flight, and the next packet of its direction to arrive, at this time.
    FirstInFlight(Instant),
    /// Arrives at the far end at this time and may be forwarded early, as in [`Outcome::ForwardEarly`].
    ForwardEarly(Instant),
    /// Too long for the link ([`Simplex::mtu`]). The packet stays with its owner.
    TooLong,
    /// The link has no other end at present; it stays with its owner.
    Closed,
    /// The outcomes tell.
    Decided,
}

/// The first packet in flight is at the far end of a direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The packet.
    pub packet: PacketId,
    /// Node at which the packet arrives.
    pub to: NodeId,
    /// Set if the packet is unchanged; otherwise [`Links::restore`] completes it.
    pub as_it_is: bool,
    /// Arrival time of the next packet.
    pub next: Option<Instant>,
    /// Set if more packets are in flight behind this one than the nearest cache holds.
    pub many: bool,
}

/// Packets in flight on a link that are more than the nearest cache holds.
const MANY: usize = 256;

/// Reason for which a link wants to be called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Due {
    /// The transmitter may take a packet of low priority.
    Low,
    /// The protocol has something to do.
    Arq,
}

/// A link.
#[derive(Debug)]
pub struct Link {
    simplex: [Simplex; 2],
    arq: Option<Box<Arq>>,
}

/// A protocol at work: the directions of its link then carry nothing themselves.
#[derive(Debug)]
struct Arq {
    link: ArqLink,
    /// The call that counts; others are stale.
    due: Instant,
    outputs: Vec<Output>,
}

impl Arq {
    /// Offers a packet to the protocol. Returns its fate if the queue in front of the window is
    /// full.
    fn offer(
        &mut self,
        now: Instant,
        from: usize,
        number: PacketId,
        len: u32,
        tag: Tag,
    ) -> Option<Fate> {
        let refused = self.link.offer(now, from, number.0, len, tag).is_err();
        refused.then_some(Fate::Lost {
            cause: DropCause::Congestion,
            at: now,
        })
    }
}

impl Link {
    /// A link without a protocol.
    pub fn new(down: Simplex, up: Simplex) -> Self {
        Self {
            simplex: [down, up],
            arq: None,
        }
    }

    /// Returns the link with a link-layer protocol.
    pub fn with_arq(mut self, link: ArqLink) -> Self {
        for simplex in &mut self.simplex {
            simplex.carry_frames();
        }
        self.arq = Some(Box::new(Arq {
            link,
            due: Instant::MAX,
            outputs: Vec::new(),
        }));
        self
    }

    /// Returns the complete link with one medium for both directions, which take turns to send.
    pub fn half_duplex(mut self) -> Self {
        match &mut self.arq {
            Some(arq) => arq.link.share(),
            None => self.simplex.iter_mut().for_each(Simplex::share),
        }
        self
    }

    /// Returns one direction.
    pub fn direction(&self, direction: Direction) -> &Simplex {
        &self.simplex[direction as usize]
    }
}

/// Links of a network. Their directions are adjacent in memory, because each hop needs one.
#[derive(Debug, Default)]
pub struct Links {
    directions: ById<LinkId, Simplex>,
    /// Link-layer protocol of each link.
    arq: Vec<Option<Box<Arq>>>,
}

impl Index<LinkId> for Links {
    type Output = Simplex;

    #[inline]
    fn index(&self, id: LinkId) -> &Simplex {
        &self.directions[id]
    }
}

impl IndexMut<LinkId> for Links {
    #[inline]
    fn index_mut(&mut self, id: LinkId) -> &mut Simplex {
        &mut self.directions[id]
    }
}

impl Links {
    /// Adds a link behind the others.
    pub fn push(&mut self, link: Link) {
        for simplex in link.simplex {
            self.directions.push(simplex);
        }
        self.arq.push(link.arq);
    }

    /// Every direction of every link.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = LinkId> + ExactSizeIterator + use<> {
        self.directions.ids()
    }

    /// Every direction with what it is.
    pub fn each(&self) -> impl Iterator<Item = (LinkId, &Simplex)> + '_ {
        self.directions.each()
    }

    /// An agent looks after a direction: it hears when packets leave the transmitter, and
    /// may send some `ahead` of all that wait.
    pub fn attach_agent(&mut self, id: LinkId, ahead: bool) {
        if let Some(arq) = self.arq_mut(id) {
            arq.link.report_departures();
            return;
        }
        self.directions[id].report_departures(ahead);
    }

    /// Returns whether the direction exists.
    #[inline]
    pub fn has(&self, id: LinkId) -> bool {
        id.index() < self.directions.len()
    }

    /// The protocol of a link, if it has one.
    #[inline]
    pub fn arq(&self, id: LinkId) -> Option<&ArqLink> {
        self.arq[id.link() as usize].as_deref().map(|arq| &arq.link)
    }

    fn arq_mut(&mut self, id: LinkId) -> Option<&mut Arq> {
        self.arq[id.link() as usize].as_deref_mut()
    }

    /// Offers a packet to a direction.
    pub fn offer(
        &mut self,
        now: Instant,
        id: LinkId,
        packet: PacketId,
        packets: &mut Packets,
        outcomes: &mut Vec<Outcome>,
    ) -> Offered {
        let label = packets.label(packet);
        self.offer_labelled(now, id, (packet, label), packets, outcomes)
    }

    /// Offers a packet, which has this label, to a direction.
    #[inline(always)] // so that the fate of most packets stays in registers
    pub fn offer_labelled(
        &mut self,
        now: Instant,
        id: LinkId,
        (packet, label): (PacketId, Label),
        packets: &mut Packets,
        outcomes: &mut Vec<Outcome>,
    ) -> Offered {
        let over = &mut self[id];
        if label.is_low() || !over.only_queues(label.ip_len) {
            return self.offer_general(now, id, packet, packets, outcomes);
        }
        let fate = over.enqueue(now, label.ip_len, Priority::Normal, label.data);
        if let Some(at) = fate.plain() {
            return if over.forwards_early() {
                Offered::ForwardEarly(at)
            } else if over.push_in_flight(packet, at) {
                Offered::FirstInFlight(at)
            } else {
                Offered::InFlight
            };
        }
        self.apply_fate(now, id, packet, fate, packets, outcomes);
        Offered::Decided
    }

    /// Offers a packet to a direction that does more than to queue it.
    #[cold]
    fn offer_general(
        &mut self,
        now: Instant,
        id: LinkId,
        number: PacketId,
        packets: &mut Packets,
        outcomes: &mut Vec<Outcome>,
    ) -> Offered {
        let from = id.direction() as usize;
        let over = &self.directions[id];
        if over.handover.is_closed {
            return Offered::Closed;
        }
        let ahead = over.features.may_overtake && packets.takes_ahead(number);
        let behind = over.holds_normal() && !over.medium.is_shared && !ahead;
        if behind && over.low_due(false).is_some_and(|at| at <= now) {
            // What waited has left the queue as this one comes, as on a link of one class.
            self.advance(now, id, Due::Low, packets, outcomes);
        }
        let medium_idle = !self[id].medium.is_shared || !self[id.reverse()].has_waiting();
        let over = &mut self.directions[id];
        let arq = &mut self.arq[id.link() as usize];
        let packet = packets.get_mut(number);
        if over.mtu.is_some_and(|mtu| packet.ip_len() > mtu.bytes) {
            return Offered::TooLong;
        }
        let priority = packet.priority();
        let class = over.classify(priority, ahead, arq.is_some());
        let markable = packet.ecn().markable() && (arq.is_some() || !class.is_low || ahead);
        // Packets that others overtake are not sent in the order of the queue.
        let in_turn = !class.deferred || over.features.defers_dequeue && !class.is_low;
        let (len, mark) = over.prepare_marked(packet, in_turn, |over, len| {
            markable
                && match arq {
                    Some(arq) => arq.link.congested(from, len),
                    None => over.congested(now, len),
                }
        });
        let fate = if let Some(arq) = arq {
            arq.offer(now, from, number, len, Tag::of(packet))
        } else {
            over.enqueue_in_class(now, class, (number, packet, len), medium_idle, |last| {
                outcomes.push(Outcome::Lost(id, last, DropCause::Congestion, now));
            })
        };
        if !fate.is_some_and(Fate::refused) {
            if mark {
                packet.set_ecn(Ecn::Ce);
                match arq {
                    Some(arq) => arq.link.count_mark(from),
                    None => over.count_mark(),
                }
            }
            over.commit(number);
        }
        if let Some(fate) = fate {
            self.occupy_medium(id, fate);
            self.apply_fate(now, id, number, fate, packets, outcomes);
        }
        Offered::Decided
    }

    /// Occupies the shared medium of a direction, unless it refused the packet.
    fn occupy_medium(&mut self, id: LinkId, fate: Fate) {
        if self[id].medium.is_shared && !fate.refused() {
            let until = self[id].occupy_medium();
            self[id.reverse()].yield_medium(until);
        }
    }

    /// Handles the fate of an offered packet.
    fn apply_fate(
        &mut self,
        now: Instant,
        id: LinkId,
        number: PacketId,
        fate: Fate,
        packets: &mut Packets,
        outcomes: &mut Vec<Outcome>,
    ) {
        let over = &mut self[id];
        if over.features.reports_departures && !fate.refused() {
            outcomes.push(Outcome::Left(id, number, over.left_at()));
        }
        let (at, corrupt, copies, overtakes) = match fate {
            Fate::Arrives {
                at,
                corrupt,
                copies,
                overtakes,
            } => (at, corrupt, copies, overtakes),
            Fate::Lost { cause, at } => {
                over.frame_lost(now, cause, at);
                outcomes.push(Outcome::Lost(id, number, cause, at));
                return;
            }
        };
        if corrupt {
            match &mut over.compression {
                Some(compression) => compression.damaged(number),
                None => packets.spoil(number),
            }
        }
        for _ in 0..copies {
            let copy = packets.copy(number);
            if let Some(compression) = &mut over.compression {
                compression.copied(number, copy);
            }
            outcomes.push(Outcome::Copied(copy));
            over.emit_arrival(id, copy, at, overtakes, outcomes);
        }
        over.emit_arrival(id, number, at, overtakes, outcomes);
    }

    /// The first packet in flight in a direction arrives.
    #[inline(always)] // of each hop
    pub fn arrive(&mut self, id: LinkId) -> Option<Arrival> {
        let over = &mut self[id];
        let packet = over.in_flight.pop_front()?.packet;
        Some(Arrival {
            packet,
            to: over.to(),
            as_it_is: over.only_forwards(),
            next: over.in_flight.front().map(|next| next.arrives),
            many: over.in_flight.len() > MANY,
        })
    }

    /// The packet that arrives over a link after so many others.
    #[inline]
    pub fn arrives_after(&self, id: LinkId, others: usize) -> Option<PacketId> {
        self[id].in_flight.get(others).map(|next| next.packet)
    }

    /// Prefetches the packet that arrives over a link after `others` more, and the one that then
    /// leaves its queue.
    #[inline]
    pub fn prefetch(&self, id: LinkId, others: usize) {
        self[id].prefetch(others);
    }

    /// A link may lose its other end from now on.
    pub fn may_close(&mut self, link: u32) {
        for direction in Direction::BOTH {
            self[LinkId::new(link, direction)].defer_dequeue();
        }
    }

    /// A link loses its other end: it takes nothing, and what is on the way arrives nowhere.
    /// Returns what waits for its transmitters.
    pub fn close(&mut self, link: u32) -> [Vec<PacketId>; 2] {
        Direction::BOTH.map(|direction| self[LinkId::new(link, direction)].close())
    }

    /// A link has its other end again.
    pub fn reopen(&mut self, link: u32) {
        for direction in Direction::BOTH {
            self[LinkId::new(link, direction)].reopen();
        }
    }

    /// A packet at the far end gets its headers, if they were compressed.
    ///
    /// # Errors
    /// Why it does not go on, if it does not: it has been thrown away there, or nobody is there.
    #[inline(never)]
    pub fn restore(
        &mut self,
        now: Instant,
        id: LinkId,
        number: PacketId,
        packets: &mut Packets,
    ) -> Result<(), DropCause> {
        let over = &mut self[id];
        if over.is_cut(now) {
            return Err(DropCause::Handoff);
        }
        match &mut over.compression {
            None => Ok(()),
            Some(compression) => {
                let restored =
                    packets.rewrite(number, |packet| compression.restore(now, number, packet));
                match restored {
                    Restored::GoesOn => Ok(()),
                    Restored::Discarded => Err(DropCause::Checksum),
                }
            }
        }
    }

    /// Returns the next deadline of a link and its reason, if they changed since the last call.
    /// Must be called after each input to the link.
    pub fn deadline(&mut self, id: LinkId) -> Option<(Due, Instant)> {
        let Some(arq) = &mut self.arq[id.link() as usize] else {
            let other_waits =
                self.directions[id].medium.is_shared && self.directions[id.reverse()].has_waiting();
            let due = self.directions[id].low_due(other_waits)?;
            let watched = self.watched(id);
            if self.directions[watched].low_watched {
                return None;
            }
            self.directions[watched].low_watched = true;
            return Some((Due::Low, due));
        };
        let due = arq.link.deadline();
        (due < arq.due).then(|| {
            arq.due = due;
            (Due::Arq, due)
        })
    }

    /// The direction that keeps whether a call was asked for: one of two that share a medium.
    fn watched(&self, id: LinkId) -> LinkId {
        if self[id].medium.is_shared {
            LinkId::new(id.link(), Direction::Down)
        } else {
            id
        }
    }

    /// Does what is due now. Returns the direction that did it, if that was anything: a later
    /// call may have taken its place.
    #[cold]
    pub fn advance(
        &mut self,
        now: Instant,
        id: LinkId,
        due: Due,
        packets: &mut Packets,
        outcomes: &mut Vec<Outcome>,
    ) -> Option<LinkId> {
        match due {
            Due::Low => {
                let watched = self.watched(id);
                self[watched].low_watched = false;
                let mut id = id;
                if self[id].medium.is_shared
                    && self[id.reverse()].has_waiting()
                    && !(self[id].has_waiting() && self[id].has_turn())
                {
                    id = id.reverse();
                }
                let (number, fate) = self[id].start_low(now)?;
                self.occupy_medium(id, fate);
                self.apply_fate(now, id, number, fate, packets, outcomes);
                Some(id)
            }
            Due::Arq => self.advance_arq(now, id, outcomes).then_some(id),
        }
    }

    fn advance_arq(&mut self, now: Instant, id: LinkId, outcomes: &mut Vec<Outcome>) -> bool {
        let arq = self.arq[id.link() as usize].as_deref_mut();
        let Some(arq) = arq.filter(|arq| arq.due == now) else {
            return false;
        };
        arq.due = Instant::MAX;
        arq.link.advance(now, &mut arq.outputs);
        let directed = |from: usize| LinkId::new(id.link(), Direction::BOTH[from]);
        for output in arq.outputs.drain(..) {
            outcomes.push(match output {
                Output::Arrived { from, packet } => {
                    Outcome::Arrived(directed(from), PacketId(packet))
                }
                Output::Sent {
                    from,
                    packet,
                    again,
                } => {
                    let (link, packet) = (directed(from), PacketId(packet));
                    if again {
                        Outcome::Again(link, packet, now)
                    } else {
                        Outcome::Left(link, packet, now)
                    }
                }
                Output::Lost {
                    from,
                    packet,
                    cause,
                } => {
                    self.directions[directed(from)].frame_lost(now, cause, now);
                    Outcome::Lost(directed(from), PacketId(packet), cause, now)
                }
            });
        }
        true
    }

    /// Keeps every frame that protocols send from now on, for [`Self::drain_frames`].
    pub fn watch_frames(&mut self) {
        for arq in self.arq.iter_mut().flatten() {
            arq.link.watch();
        }
    }

    /// Gives out the frames that the protocol of a link sent since this was asked.
    /// Returns whether it has a protocol.
    pub fn drain_frames(&mut self, id: LinkId, take: impl FnMut(SentFrame)) -> bool {
        let arq = self.arq_mut(id);
        arq.map(|arq| arq.link.drain_sent().for_each(take))
            .is_some()
    }

    /// Packets and bytes in the queue in front of the window of a direction, if they
    /// changed since this was asked.
    pub fn window_queue_changed(&mut self, id: LinkId) -> Option<(u32, u64)> {
        let arq = self.arq_mut(id)?;
        arq.link.waiting_changed(id.direction() as usize)
    }

    /// Packets and IP bytes that wait at `now` in the queue of a direction.
    pub fn waiting(&mut self, id: LinkId, now: Instant) -> (u32, u64) {
        match self.arq(id) {
            Some(arq) => arq.waiting(id.direction() as usize),
            None => self.directions[id].queued(now),
        }
    }

    /// Counts a packet that a direction carried and its far end refused.
    pub fn count_drop(&mut self, id: LinkId, cause: DropCause, priority: Priority) {
        match self.arq_mut(id) {
            Some(arq) => arq
                .link
                .count_drop(id.direction() as usize, cause, priority),
            None => self.directions[id].count_drop(cause, priority),
        }
    }

    /// Counters of a direction at `now`, and those of other traffic: what waits or is
    /// being sent has not left.
    pub fn stats_at(&self, id: LinkId, now: Instant) -> (LinkStats, BackgroundStats) {
        match self.arq(id) {
            Some(arq) => (
                *arq.stats(id.direction() as usize),
                BackgroundStats::default(),
            ),
            None => self[id].stats_at(now),
        }
    }

    /// Packets of a direction that are lost, now or later, for any cause.
    pub fn lost(&self, id: LinkId) -> u64 {
        let drops = match self.arq(id) {
            Some(arq) => arq.stats(id.direction() as usize).drops,
            None => self[id].stats().drops,
        };
        drops.iter().sum()
    }
}
