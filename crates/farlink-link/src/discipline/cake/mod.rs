//! CAKE (Hoeiland-Joergensen, Taht and Morton 2018): a shaper, tins by Diffserv codepoint, a queue
//! per flow with a fair share for each host, COBALT in each queue, and an ACK filter.
//!
//! The control flow is that of Linux's `sch_cake`. Where Linux hashes hosts or rounds a quantum by
//! chance, this discipline is exact.

mod ack_filter;
mod config;
mod diffserv;
mod flow;
mod shaper;
mod tin;

pub use ack_filter::AckFilter;
pub use config::{CakeConfig, Isolation};
pub use diffserv::Tins;
pub use shaper::{Framing, Overhead};

use super::queue::{Drops, Leaving, Reason, Waiting};
use crate::link::config::QueueLimit;
use farlink_channel::rng::Stream;
use farlink_tcp::Instant;
use farlink_wire::classify::AckHeader;
use farlink_wire::id::PacketId;
use farlink_wire::packet::Packet;
use flow::Entry;
use shaper::Clock;
use tin::{Place, Tin};

/// Facts of a packet that CAKE classifies by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Labels {
    /// Source and destination host.
    pub hosts: [u64; 2],
    /// Diffserv codepoint.
    pub dscp: u8,
    /// TCP header, if the packet may be or make a redundant ACK.
    pub ack: Option<AckHeader>,
}

/// State of CAKE.
#[derive(Debug)]
pub struct Cake {
    config: CakeConfig,
    pub(super) limit: QueueLimit,
    clock: Clock,
    tins: Vec<Tin>,
    /// Tin whose turn it is without a shaper.
    current: usize,
    packets: u32,
    bytes: u64,
    random: Stream,
}

impl Cake {
    /// Creates empty queues.
    pub fn new(config: CakeConfig, limit: QueueLimit, random: Stream) -> Self {
        let shares = config.tins.shares();
        Self {
            clock: Clock::new(config.rate.unwrap_or(1)),
            tins: shares
                .iter()
                .map(|&share| Tin::new(&config, share))
                .collect(),
            config,
            limit,
            current: 0,
            packets: 0,
            bytes: 0,
            random,
        }
    }

    pub(super) fn queued(&self) -> (u32, u64) {
        (self.packets, self.bytes)
    }

    /// Returns the time before which the shaper lets no packet leave.
    pub(super) fn ready_at(&self) -> Instant {
        match self.config.rate {
            Some(_) => self.clock.next,
            None => Instant::ZERO,
        }
    }

    /// Returns what CAKE reads in a packet.
    pub(super) fn labels(&self, packet: &Packet) -> Labels {
        let filters = self.config.ack_filter != AckFilter::No;
        Labels {
            hosts: packet.hosts(),
            dscp: packet.dscp().bits(),
            ack: filters.then(|| AckHeader::of(packet)).flatten(),
        }
    }

    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        packet: Waiting,
        labels: &Labels,
        drops: &mut Drops,
    ) -> Option<bool> {
        if self.limit.is_full(0, 0, packet.len) {
            drops.push((packet, Reason::Full));
            return None;
        }
        if self.packets == 0 {
            self.clock.catch_up(now);
        }
        let tin = &mut self.tins[self.config.tins.of(labels.dscp)];
        if tin.packets == 0 {
            tin.clock.catch_up(now);
        }
        let place = tin.place(&packet, labels.hosts);
        let entry = Entry {
            waiting: packet,
            wire: self.config.overhead.wire(packet.len),
            header: labels.ack.map(Box::new),
        };
        tin.push(place, entry);
        self.packets += 1;
        self.bytes += u64::from(packet.len);
        if self.config.ack_filter != AckFilter::No
            && let Some(position) =
                ack_filter::redundant(&tin.flow(place).queue, self.config.ack_filter)
            && let Some(older) = tin.remove(place, position)
        {
            self.discount(&older.waiting);
            drops.push((older.waiting, Reason::Redundant));
        }
        let mut kept = true;
        while self.exceeds_limit()
            && let Some(dropped) = self.drop_from_longest(now)
        {
            kept &= dropped.packet != packet.packet;
            drops.push((dropped, Reason::Full));
        }
        kept.then_some(false)
    }

    fn discount(&mut self, packet: &Waiting) {
        self.packets -= 1;
        self.bytes -= u64::from(packet.len);
    }

    fn exceeds_limit(&self) -> bool {
        match self.limit {
            QueueLimit::Unlimited => false,
            QueueLimit::Packets(limit) => self.packets > limit,
            QueueLimit::Bytes(limit) => self.bytes > limit,
        }
    }

    /// Removes the first packet of the queue with most bytes.
    fn drop_from_longest(&mut self, now: Instant) -> Option<Waiting> {
        let tins = self.tins.iter().enumerate();
        let bytes = tins.flat_map(|(tin, queues)| {
            let flows = queues.flows();
            flows.map(move |(place, flow)| (flow.bytes, std::cmp::Reverse((tin, place))))
        });
        let (_, std::cmp::Reverse((tin, place))): (u64, std::cmp::Reverse<(usize, Place)>) =
            bytes.max()?;
        let dropped = self.tins[tin].overflow(place, now)?.waiting;
        self.discount(&dropped);
        Some(dropped)
    }

    pub(super) fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Leaving> {
        let mut looks_at_decaying = true;
        while self.packets > 0 && self.ready_at() <= now {
            let current = match self.config.rate {
                Some(_) => self.tin_on_schedule(now)?,
                None => self.tin_in_turn()?,
            };
            let tin = &mut self.tins[current];
            let before = drops.len();
            let served = tin.serve(now, &mut looks_at_decaying, &mut self.random, drops);
            for (dropped, _) in &drops[before..] {
                self.packets -= 1;
                self.bytes -= u64::from(dropped.len);
            }
            let Some((entry, marked)) = served else {
                continue;
            };
            if self.config.rate.is_some() {
                self.tins[current].clock.charge_bounded(entry.wire, now);
                self.clock.charge(entry.wire);
            }
            self.discount(&entry.waiting);
            let waiting = entry.waiting;
            return Some(Leaving { waiting, marked });
        }
        None
    }

    /// Selects the last tin that is within its threshold, or else the one that is next within it.
    fn tin_on_schedule(&self, now: Instant) -> Option<usize> {
        let busy = self
            .tins
            .iter()
            .enumerate()
            .filter(|(_, tin)| tin.is_busy());
        // Ties go to the last tin.
        let best =
            busy.min_by_key(|(number, tin)| (tin.clock.next.max(now), std::cmp::Reverse(*number)));
        best.map(|(number, _)| number)
    }

    /// Selects a tin by deficit round robin.
    fn tin_in_turn(&mut self) -> Option<usize> {
        if !self.tins.iter().any(Tin::is_busy) {
            return None;
        }
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit >= 0 && tin.is_busy() {
                return Some(self.current);
            }
            if tin.deficit <= 0 {
                tin.deficit += i64::from(tin.weight);
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }

    pub(super) fn drain(&mut self, into: &mut Vec<PacketId>) {
        for tin in &mut self.tins {
            tin.drain(|waiting| into.push(waiting.packet));
        }
        (self.packets, self.bytes) = (0, 0);
    }
}

#[cfg(test)]
mod ack_filter_tests;
#[cfg(test)]
mod edges;
#[cfg(test)]
mod tests;
