//! A link: two directions, each with queue, transmitter, channel and delay, and what may
//! be on it besides: a class for low priority, a protocol that retransmits, header
//! compression, a longest packet.
//!
//! It is told the time and the packets, and says what becomes of them ([`Outcome`]) and
//! when it wants to be called again ([`Links::deadline`]).

pub(crate) mod config;
mod fate;
mod simplex;

use crate::arq::{Line, Output, SentFrame, Tag};
use crate::background::BackgroundStats;
use crate::channel::DropCause;
use crate::fragment::Mtu;
use crate::header_compression::Restored;
use crate::id::{Direction, Id, LinkId, PacketId};
use crate::packets::Packets;
pub use config::{LinkConfig, LinkStats, QueueLimit};
use farlink_tcp::{Ecn, Instant, Priority};
pub use fate::{Fate, Outcome};
pub use simplex::{LowFate, Simplex};
use std::ops::{Index, IndexMut};

/// What became of a packet that was offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offered {
    /// It is in flight behind others of its direction.
    Flies,
    /// It is in flight, and the next of its direction to arrive, then.
    FliesFirst(Instant),
    /// It is longer than packets on this link may be; it stays with its owner.
    TooLong(Mtu),
    /// The outcomes tell.
    Told,
}

/// What a link wants to be called for.
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
    line: Line,
    /// The call that counts; others are stale.
    due: Instant,
    outputs: Vec<Output>,
}

impl Link {
    /// A link without a protocol.
    pub fn new(down: Simplex, up: Simplex) -> Self {
        Self {
            simplex: [down, up],
            arq: None,
        }
    }

    /// The same link with a protocol.
    pub fn with_arq(mut self, line: Line) -> Self {
        for simplex in &mut self.simplex {
            simplex.carries_frames = true;
        }
        self.arq = Some(Box::new(Arq {
            line,
            due: Instant::MAX,
            outputs: Vec::new(),
        }));
        self
    }

    /// One of its directions.
    pub fn direction(&self, direction: Direction) -> &Simplex {
        &self.simplex[direction as usize]
    }

    /// Its protocol, if it has one.
    pub fn arq(&self) -> Option<&Line> {
        self.arq.as_deref().map(|arq| &arq.line)
    }
}

/// All links of a network.
#[derive(Debug, Default)]
pub struct Links(Vec<Link>);

impl Index<LinkId> for Links {
    type Output = Simplex;

    #[inline]
    fn index(&self, id: LinkId) -> &Simplex {
        &self.0[id.link() as usize].simplex[id.direction() as usize]
    }
}

impl IndexMut<LinkId> for Links {
    #[inline]
    fn index_mut(&mut self, id: LinkId) -> &mut Simplex {
        &mut self.0[id.link() as usize].simplex[id.direction() as usize]
    }
}

impl Links {
    /// Adds a link behind the others.
    pub fn push(&mut self, link: Link) {
        self.0.push(link);
    }

    /// Every direction of every link.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = LinkId> + ExactSizeIterator + use<> {
        (0..2 * self.0.len()).map(|number| LinkId::at(number as u32))
    }

    /// Every direction with what it is.
    pub fn each(&self) -> impl Iterator<Item = (LinkId, &Simplex)> + '_ {
        self.ids().zip(self.0.iter().flat_map(|link| &link.simplex))
    }

    /// The link of a direction.
    pub fn of(&self, id: LinkId) -> &Link {
        &self.0[id.link() as usize]
    }

    /// Whether there is such a direction.
    #[inline]
    pub fn has(&self, id: LinkId) -> bool {
        (id.link() as usize) < self.0.len()
    }

    /// The protocol of a link, if it has one.
    #[inline]
    pub fn arq(&self, id: LinkId) -> Option<&Line> {
        self.of(id).arq()
    }

    /// Offers a packet to a direction.
    #[inline(always)] // so that the fate of most packets stays in registers
    pub fn offer(
        &mut self,
        now: Instant,
        id: LinkId,
        packet: PacketId,
        packets: &mut Packets,
        outcomes: &mut Vec<Outcome>,
    ) -> Offered {
        let label = packets.label(packet);
        let over = &mut self[id];
        if label.low || !over.only_queues(label.ip_len) {
            return self.offer_with_care(now, id, packet, packets, outcomes);
        }
        let fate = over.offer(now, label.ip_len, Priority::Normal);
        if let Some(at) = fate.plain() {
            over.count_data(label.data);
            return if over.flies(packet, at) {
                Offered::FliesFirst(at)
            } else {
                Offered::Flies
            };
        }
        over.count_data(label.data && !fate.refused());
        self.meet(now, id, packet, fate, packets, outcomes);
        Offered::Told
    }

    /// Offers a packet to a direction that does more than to queue it.
    #[cold]
    fn offer_with_care(
        &mut self,
        now: Instant,
        id: LinkId,
        number: PacketId,
        packets: &mut Packets,
        outcomes: &mut Vec<Outcome>,
    ) -> Offered {
        let Link { simplex, arq } = &mut self.0[id.link() as usize];
        let from = id.direction() as usize;
        let over = &mut simplex[from];
        let packet = packets.get_mut(number);
        if let Some(mtu) = over.mtu
            && packet.ip_len() > mtu.bytes
        {
            return Offered::TooLong(mtu);
        }
        let priority = packet.priority();
        let data = packet.has_data();
        // The queue in front of a protocol has one class.
        let waits_apart = arq.is_none() && priority == Priority::Low && over.has_priorities();
        let markable = packet.ecn().markable() && !waits_apart;
        let mut congested = |over: &mut Simplex, len: u32| match arq {
            Some(arq) => arq.line.congested(from, len),
            None => over.congested(now, len),
        };
        // What others overtake in the queue is not sent in the order of the queue.
        let mut len = over.prepare(packet, !waits_apart);
        let mut mark = markable && congested(over, len);
        if mark && over.compression.is_some() {
            // The header that goes is the one with the mark.
            packet.set_ecn(Ecn::Ce);
            len = over.prepare(packet, true);
            mark = congested(over, len);
        }
        if waits_apart {
            over.commit(number);
            match over.offer_low(now, len, number) {
                LowFate::Decided(fate) => self.meet(now, id, number, fate, packets, outcomes),
                LowFate::Waits => {}
            }
            return Offered::Told;
        }
        let fate = if let Some(arq) = arq {
            let tag = Tag::of(packet);
            match arq.line.offer(now, from, number.0, len, tag) {
                Ok(()) => None,
                Err(_) => Some(Fate::Lost {
                    cause: DropCause::Congestion,
                    at: now,
                }),
            }
        } else {
            if over.low_watched {
                while let Some(last) = over.push_out(now, len) {
                    outcomes.push(Outcome::Lost(id, last, DropCause::Congestion, now));
                }
            }
            let fate = over.offer(now, len, priority);
            over.count_data(data && !fate.refused());
            Some(fate)
        };
        if !fate.is_some_and(Fate::refused) {
            if mark {
                packet.set_ecn(Ecn::Ce);
                match arq {
                    Some(arq) => arq.line.count_mark(from),
                    None => over.count_mark(),
                }
            }
            over.commit(number);
        }
        if let Some(fate) = fate {
            self.meet(now, id, number, fate, packets, outcomes);
        }
        Offered::Told
    }

    /// What becomes of a packet that was offered.
    fn meet(
        &mut self,
        now: Instant,
        id: LinkId,
        number: PacketId,
        fate: Fate,
        packets: &mut Packets,
        outcomes: &mut Vec<Outcome>,
    ) {
        let over = &mut self[id];
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
                None => packets.get_mut(number).corrupt = true,
            }
        }
        for _ in 0..copies {
            let copy = packets.copy(number);
            if let Some(compression) = &mut over.compression {
                compression.copied(number, copy);
            }
            outcomes.push(Outcome::Copied(copy));
            over.launch(id, copy, at, overtakes, outcomes);
        }
        over.launch(id, number, at, overtakes, outcomes);
    }

    /// The first packet in flight in a direction arrives. Returns it, and when the next
    /// does.
    #[inline(always)]
    pub fn arrive(&mut self, id: LinkId) -> Option<(PacketId, Option<Instant>)> {
        let flying = &mut self[id].in_flight;
        let first = flying.pop_front()?;
        Some((first.packet, flying.front().map(|next| next.arrives)))
    }

    /// A packet at the far end gets its headers, if they were compressed. Returns whether
    /// it goes on: if not, it has been thrown away there.
    #[inline]
    pub fn restore(
        &mut self,
        now: Instant,
        id: LinkId,
        number: PacketId,
        packets: &mut Packets,
    ) -> bool {
        match &mut self[id].compression {
            None => true,
            Some(compression) => {
                let packet = packets.get_mut(number);
                compression.restore(now, number, packet) == Restored::GoesOn
            }
        }
    }

    /// When a link wants to be called, and for what, if it has not said so since.
    /// To be asked whenever it was told something.
    pub fn deadline(&mut self, id: LinkId) -> Option<(Due, Instant)> {
        let Link { simplex, arq } = &mut self.0[id.link() as usize];
        let Some(arq) = arq else {
            let over = &mut simplex[id.direction() as usize];
            let due = over.low_due().filter(|_| !over.low_watched)?;
            over.low_watched = true;
            return Some((Due::Low, due));
        };
        let due = arq.line.deadline();
        (due < arq.due).then(|| {
            arq.due = due;
            (Due::Arq, due)
        })
    }

    /// Does what is due now. Returns whether that was anything: a later call may have
    /// taken its place.
    #[cold]
    pub fn advance(
        &mut self,
        now: Instant,
        id: LinkId,
        due: Due,
        packets: &mut Packets,
        outcomes: &mut Vec<Outcome>,
    ) -> bool {
        match due {
            Due::Low => {
                let over = &mut self[id];
                over.low_watched = false;
                let started = over.start_low(now);
                if let Some((number, fate)) = started {
                    self.meet(now, id, number, fate, packets, outcomes);
                }
                started.is_some()
            }
            Due::Arq => self.advance_arq(now, id, outcomes),
        }
    }

    fn advance_arq(&mut self, now: Instant, id: LinkId, outcomes: &mut Vec<Outcome>) -> bool {
        let Link { simplex, arq } = &mut self.0[id.link() as usize];
        let Some(arq) = arq.as_deref_mut().filter(|arq| arq.due == now) else {
            return false;
        };
        arq.due = Instant::MAX;
        arq.line.advance(now, &mut arq.outputs);
        let directed = |from: usize| LinkId::new(id.link(), Direction::BOTH[from]);
        for output in arq.outputs.drain(..) {
            outcomes.push(match output {
                Output::Arrived { from, packet } => {
                    Outcome::Arrived(directed(from), PacketId(packet))
                }
                Output::Lost {
                    from,
                    packet,
                    cause,
                } => {
                    simplex[from].frame_lost(now, cause, now);
                    Outcome::Lost(directed(from), PacketId(packet), cause, now)
                }
            });
        }
        true
    }

    /// Keeps every frame that protocols send from now on, for [`Self::drain_frames`].
    pub fn watch_frames(&mut self) {
        for arq in self.0.iter_mut().filter_map(|link| link.arq.as_mut()) {
            arq.line.watch();
        }
    }

    /// Gives out the frames that the protocol of a link sent since this was asked.
    /// Returns whether it has a protocol.
    pub fn drain_frames(&mut self, id: LinkId, take: impl FnMut(SentFrame)) -> bool {
        let arq = self.0[id.link() as usize].arq.as_deref_mut();
        arq.map(|arq| arq.line.drain_sent().for_each(take))
            .is_some()
    }

    /// Packets and bytes in the queue in front of the window of a direction, if they
    /// changed since this was asked.
    pub fn window_queue_changed(&mut self, id: LinkId) -> Option<(u32, u64)> {
        let arq = self.0[id.link() as usize].arq.as_deref_mut()?;
        arq.line.waiting_changed(id.direction() as usize)
    }

    /// Counts a packet that a direction carried and its far end refused.
    pub fn count_drop(&mut self, id: LinkId, cause: DropCause, priority: Priority) {
        let Link { simplex, arq } = &mut self.0[id.link() as usize];
        let from = id.direction() as usize;
        match arq {
            Some(arq) => arq.line.count_drop(from, cause, priority),
            None => simplex[from].count_drop(cause, priority),
        }
    }

    /// Counters of a direction at `now`, and those of other traffic: what waits or is
    /// being sent has not left.
    pub fn stats_at(&self, id: LinkId, now: Instant) -> (LinkStats, BackgroundStats) {
        match self.arq(id) {
            Some(line) => (
                *line.stats(id.direction() as usize),
                BackgroundStats::default(),
            ),
            None => self[id].stats_at(now),
        }
    }

    /// Packets of a direction that are lost, now or later, for any cause.
    pub fn lost(&self, id: LinkId) -> u64 {
        let drops = match self.arq(id) {
            Some(line) => line.stats(id.direction() as usize).drops,
            None => self[id].stats().drops,
        };
        drops.iter().sum()
    }
}
