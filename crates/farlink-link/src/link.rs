//! Links: two directions, each with queue, transmitter, channel and delay. Optional parts are a
//! low-priority class, a link-layer protocol, header compression and an MTU.
//!
//! The caller passes in the time and the packets. The link reports their fates ([`Outcome`]) and
//! its next deadline ([`Links::deadline`]).

pub(crate) mod config;
mod fate;
mod framed;
mod parts;
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
pub use simplex::{QueueStats, Simplex};
use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

/// Reply of a link to an offered packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offered {
    /// Packet in flight behind other packets of the same direction.
    InFlight,
    /// Packet in flight that is the next of its direction to arrive, at this time.
    FirstInFlight(Instant),
    /// Arrives at this time and may be forwarded early, as with [`Outcome::ForwardEarly`].
    ForwardEarly(Instant),
    /// Longer than the MTU of the link ([`Simplex::mtu`]). The caller keeps the packet.
    TooLong,
    /// The link has no far end at present. The caller keeps the packet.
    Closed,
    /// The fate is in the outcomes.
    Decided,
}

/// Arrival of the first packet in flight in a direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Packet that arrives.
    pub packet: PacketId,
    /// Node at the far end.
    pub to: NodeId,
    /// Set if the packet is unchanged; otherwise the caller must call [`Links::restore`].
    pub is_unchanged: bool,
    /// Arrival time of the next packet in flight.
    pub next: Option<Instant>,
    /// Set if more than `MANY` packets are still in flight, too many for the L1 cache.
    pub many: bool,
}

/// Number of packets in flight above which a link's packets no longer fit the L1 cache.
const MANY: usize = 256;

/// Reason of a link's deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Due {
    /// The transmitter may be free for a packet of the low class.
    Low,
    /// An event of the link-layer protocol is due.
    Arq,
}

/// Link with its two directions.
#[derive(Debug)]
pub struct Link {
    simplex: [Simplex; 2],
    arq: Option<Box<Arq>>,
}

/// Link-layer protocol of a link, which replaces the queues and transmitters of both directions.
#[derive(Debug)]
struct Arq {
    link: ArqLink,
    /// Set if a direction has a queue discipline.
    disciplined: bool,
    /// Time of the latest requested call. Calls at other times are stale.
    due: Instant,
    outputs: Vec<Output>,
}

impl Arq {
    /// Offers a packet to the protocol. Returns a loss if the queue in front of the window is full.
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
    /// Creates a link without a link-layer protocol.
    pub fn new(down: Simplex, up: Simplex) -> Self {
        Self {
            simplex: [down, up],
            arq: None,
        }
    }

    /// Returns the link with a link-layer protocol.
    pub fn with_arq(mut self, mut link: ArqLink) -> Self {
        let mut disciplined = false;
        for (from, simplex) in self.simplex.iter_mut().enumerate() {
            simplex.carry_frames();
            if simplex.has_discipline() {
                link.discipline(from);
                disciplined = true;
            }
        }
        self.arq = Some(Box::new(Arq {
            link,
            disciplined,
            due: Instant::MAX,
            outputs: Vec::new(),
        }));
        self
    }

    /// Makes both directions of the complete link share one medium, on which they alternate.
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

/// Links of a network. The directions are adjacent in memory, because each hop reads only one.
#[derive(Debug, Default)]
pub struct Links {
    directions: ById<LinkId, Simplex>,
    /// Link-layer protocol of each link.
    arq: Vec<Option<Box<Arq>>>,
    /// Time of the latest requested call of each shared medium with a discipline. Calls at other
    /// times are stale.
    dues: BTreeMap<u32, Instant>,
    /// Departures of packets that waited in a low class, if recorded.
    departures: Option<Vec<(LinkId, PacketId, Instant)>>,
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
    /// Appends a link.
    pub fn push(&mut self, link: Link) {
        for simplex in link.simplex {
            self.directions.push(simplex);
        }
        self.arq.push(link.arq);
    }

    /// Returns the number of every direction of every link.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = LinkId> + ExactSizeIterator + use<> {
        self.directions.ids()
    }

    /// Returns every direction with its number.
    pub fn each(&self) -> impl Iterator<Item = (LinkId, &Simplex)> + '_ {
        self.directions.each()
    }

    /// Attaches an agent to a direction. The direction reports when packets leave the transmitter.
    /// With `ahead`, the agent may send packets ahead of the queue.
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

    /// Returns the link-layer protocol of a link, if any.
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

    /// Offers a packet with its label to a direction.
    #[inline(always)] // keeps the fate of most packets in registers
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

    /// Offers a packet to a direction that does more than queue it.
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
        let framed = over.features.carries_frames;
        if !ahead && !framed && over.is_due_before(now, &packets[number]) {
            // The event for this departure is still to come and stays the only one of the link.
            self.send_waiting(now, id, packets, outcomes);
        }
        let medium_idle = !self[id].medium.is_shared || !self[id.reverse()].has_ready(now);
        let over = &mut self.directions[id];
        let arq = &mut self.arq[id.link() as usize];
        let packet = packets.get_mut(number);
        if over.mtu.is_some_and(|mtu| packet.ip_len() > mtu.bytes) {
            return Offered::TooLong;
        }
        if framed && over.has_discipline() {
            return self.offer_framed(now, id, number, packets, outcomes);
        }
        let priority = packet.priority();
        let class = over.classify(priority, ahead, arq.is_some());
        let markable = packet.ecn().markable() && (arq.is_some() || !class.is_low || ahead);
        // A packet that others may overtake is not sent in the order of the offers.
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
        } else if over.has_discipline() {
            let offered = (number, &mut *packet, len);
            over.offer_to_discipline((now, id), offered, medium_idle, outcomes)
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

    /// Marks the shared medium as busy, unless the direction refused the packet.
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
                Some(compression) => compression.on_damage(number),
                None => packets.spoil(number),
            }
        }
        for _ in 0..copies {
            let copy = packets.copy(number);
            if let Some(compression) = &mut over.compression {
                compression.on_duplicate(number, copy);
            }
            outcomes.push(Outcome::Copied(number, copy));
            over.emit_arrival(id, copy, at, overtakes, outcomes);
        }
        over.emit_arrival(id, number, at, overtakes, outcomes);
    }

    /// Removes the first packet in flight of a direction, which arrives now.
    #[inline(always)] // called for each hop
    pub fn arrive(&mut self, id: LinkId) -> Option<Arrival> {
        let over = &mut self[id];
        let packet = over.in_flight.pop_front()?.packet;
        Some(Arrival {
            packet,
            to: over.to(),
            is_unchanged: over.only_forwards(),
            next: over.in_flight.front().map(|next| next.arrives),
            many: over.in_flight.len() > MANY,
        })
    }

    /// Returns the packet that arrives after `others` other packets in flight.
    #[inline]
    pub fn arrives_after(&self, id: LinkId, others: usize) -> Option<PacketId> {
        self[id].in_flight.get(others).map(|next| next.packet)
    }

    /// Prefetches the packet that arrives after `others` other packets, and the packet that leaves
    /// the queue at that time.
    #[inline]
    pub fn prefetch(&self, id: LinkId, others: usize) {
        self[id].prefetch(others);
    }

    /// Prepares a link whose far end may be disconnected later.
    pub fn may_close(&mut self, link: u32) {
        for direction in Direction::BOTH {
            self[LinkId::new(link, direction)].defer_dequeue();
        }
    }

    /// Disconnects a link: it refuses packets, and packets in flight are lost. Returns the packets
    /// that wait for its transmitters, for each direction.
    pub fn close(&mut self, link: u32) -> [Vec<PacketId>; 2] {
        Direction::BOTH.map(|direction| self[LinkId::new(link, direction)].close())
    }

    /// Reconnects a link.
    pub fn reopen(&mut self, link: u32) {
        for direction in Direction::BOTH {
            self[LinkId::new(link, direction)].reopen();
        }
    }

    /// Restores the headers of an arriving packet, if they were compressed.
    ///
    /// # Errors
    /// Returns the cause if the packet is lost at the far end: discarded by the decompressor, or
    /// the link was disconnected.
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
                    Restored::Forwarded => Ok(()),
                    Restored::Discarded => Err(DropCause::Checksum),
                }
            }
        }
    }

    /// Returns the next deadline of a link and its reason, if they changed since the last call.
    /// Must be called after each input to the link.
    pub fn deadline(&mut self, id: LinkId) -> Option<(Due, Instant)> {
        let Some(arq) = &mut self.arq[id.link() as usize] else {
            if self.directions[id].medium.is_shared {
                return self.shared_deadline(id);
            }
            let over = &mut self.directions[id];
            let due = over.low_due()?;
            if over.low_watched {
                return None;
            }
            over.low_watched = true;
            return Some((Due::Low, due));
        };
        let due = if arq.disciplined {
            self.framed_deadline(id)
        } else {
            arq.link.deadline()
        };
        let arq = self.arq[id.link() as usize].as_deref_mut()?;
        (due < arq.due).then(|| {
            arq.due = due;
            (Due::Arq, due)
        })
    }

    /// Returns the next deadline of two directions that share a medium. The call of one that waits
    /// for its shaper may come after the call that the other then needs.
    fn shared_deadline(&mut self, id: LinkId) -> Option<(Due, Instant)> {
        let dues = [id, id.reverse()].map(|id| self.directions[id].low_due());
        let due = dues.into_iter().flatten().min()?;
        let watched = self.watched(id);
        let is_early = self.dues.get(&id.link()).is_some_and(|&other| due < other);
        if self.directions[watched].low_watched && !is_early {
            return None;
        }
        self.directions[watched].low_watched = true;
        if self[id].has_discipline() || self[id.reverse()].has_discipline() {
            self.dues.insert(id.link(), due);
        }
        Some((Due::Low, due))
    }

    /// Returns the direction whose `low_watched` flag is used: `Down` for both directions of a
    /// shared medium.
    fn watched(&self, id: LinkId) -> LinkId {
        if self[id].medium.is_shared {
            LinkId::new(id.link(), Direction::Down)
        } else {
            id
        }
    }

    /// Processes the event that is due now. Returns the direction that sent a packet or processed
    /// it, or `None` if the call was stale.
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
                let due = self.dues.get(&id.link());
                if due.is_some_and(|&due| due != now) {
                    return None;
                }
                self[watched].low_watched = false;
                self.send_waiting(now, id, packets, outcomes)
            }
            Due::Arq => self.advance_arq(now, id, packets, outcomes).then_some(id),
        }
    }

    /// Sends the packet that is next in the low class or by the discipline, if the transmitter is
    /// free. On a shared medium the other direction may be the one to send.
    fn send_waiting(
        &mut self,
        now: Instant,
        id: LinkId,
        packets: &mut Packets,
        outcomes: &mut Vec<Outcome>,
    ) -> Option<LinkId> {
        let mut id = id;
        if self[id].medium.is_shared
            && self[id.reverse()].has_ready(now)
            && !(self[id].has_ready(now) && self[id].has_turn())
        {
            id = id.reverse();
        }
        let over = &mut self.directions[id];
        let sent = if over.has_discipline() {
            over.start_disciplined(now, id, packets, outcomes)
        } else {
            over.start_low(now)
        };
        let (number, fate) = sent?;
        if let Some(departures) = &mut self.departures {
            departures.push((id, number, now));
        }
        self.occupy_medium(id, fate);
        self.apply_fate(now, id, number, fate, packets, outcomes);
        Some(id)
    }

    fn advance_arq(
        &mut self,
        now: Instant,
        id: LinkId,
        packets: &mut Packets,
        outcomes: &mut Vec<Outcome>,
    ) -> bool {
        let arq = self.arq[id.link() as usize].as_deref_mut();
        let Some(arq) = arq.filter(|arq| arq.due == now) else {
            return false;
        };
        arq.due = Instant::MAX;
        if arq.disciplined {
            self.advance_framed(now, id, packets, outcomes);
        } else {
            arq.link.advance(now, &mut arq.outputs);
        }
        let Some(arq) = self.arq[id.link() as usize].as_deref_mut() else {
            return false;
        };
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

    /// Records every frame that protocols send from now on, for [`Self::drain_frames`].
    pub fn watch_frames(&mut self) {
        for arq in self.arq.iter_mut().flatten() {
            arq.link.watch();
        }
    }

    /// Records the departures of packets that waited in a low class or a discipline from now on, for
    /// [`Self::drain_departures`], and the reasons of drops, for [`Simplex::drain_reasons`].
    pub fn watch_departures(&mut self) {
        self.departures = Some(Vec::new());
        for id in self.directions.ids() {
            self.directions[id].watch_reasons();
        }
    }

    /// Removes and returns the recorded departures: directions, packets, and the times at which their
    /// transmission began.
    pub fn drain_departures(&mut self) -> impl Iterator<Item = (LinkId, PacketId, Instant)> + '_ {
        self.departures.iter_mut().flat_map(|all| all.drain(..))
    }

    /// Passes each frame recorded since the last call to `take`. Returns whether the link has a
    /// protocol.
    pub fn drain_frames(&mut self, id: LinkId, take: impl FnMut(SentFrame)) -> bool {
        let arq = self.arq_mut(id);
        arq.map(|arq| arq.link.drain_sent().for_each(take))
            .is_some()
    }

    /// Returns the number and bytes of packets in front of the window of a direction, if they
    /// changed since the last call.
    pub fn window_queue_changed(&mut self, id: LinkId) -> Option<(u32, u64)> {
        let arq = self.arq_mut(id)?;
        arq.link.waiting_changed(id.direction() as usize)
    }

    /// Returns the number and IP bytes of the packets that wait in the queue of a direction at
    /// `now`.
    pub fn waiting(&mut self, id: LinkId, now: Instant) -> (u32, u64) {
        match self.arq(id) {
            Some(arq) => arq.waiting(id.direction() as usize),
            None => self.directions[id].queued(now),
        }
    }

    /// Counts a packet that a direction delivered and the node at the far end dropped.
    pub fn count_drop(&mut self, id: LinkId, cause: DropCause, priority: Priority) {
        match self.arq_mut(id) {
            Some(arq) => arq
                .link
                .count_drop(id.direction() as usize, cause, priority),
            None => self.directions[id].count_drop(cause, priority),
        }
    }

    /// Returns the counters of a direction and of its background traffic at `now`. Packets that
    /// wait or are being sent are not counted as sent.
    pub fn stats_at(&self, id: LinkId, now: Instant) -> (LinkStats, BackgroundStats) {
        match self.arq(id) {
            Some(arq) => {
                let mut stats = *arq.stats(id.direction() as usize);
                self[id].add_discipline(&mut stats);
                (stats, BackgroundStats::default())
            }
            None => self[id].stats_at(now),
        }
    }

    /// Returns the number of packets that a direction loses for any cause, including losses that
    /// lie in the future.
    pub fn lost(&self, id: LinkId) -> u64 {
        let mut stats = match self.arq(id) {
            Some(arq) => *arq.stats(id.direction() as usize),
            None => return self[id].stats().drops.iter().sum(),
        };
        self[id].add_discipline(&mut stats);
        stats.drops.iter().sum()
    }
}
