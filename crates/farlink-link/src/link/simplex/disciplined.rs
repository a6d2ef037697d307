//! Directions with a queue discipline in place of the FIFO queue.
//!
//! The discipline takes every packet and selects the next one when the transmitter is free, so
//! each departure is an event, as in the low class ([`super::low`]).

use super::Simplex;
use super::queue::{pack, priority};
use crate::discipline::{Discipline, Drops, Leaving, Reason, Waiting};
use crate::link::config::LinkStats;
use crate::link::fate::{Fate, Outcome};
use farlink_channel::DropCause;
use farlink_small::Quantiles;
use farlink_tcp::{Ecn, Instant, Interval};
use farlink_wire::id::{LinkId, PacketId};
use farlink_wire::packet::Packet;
use farlink_wire::packets::Packets;

/// Discipline of a direction, with its counters.
#[derive(Debug)]
pub(super) struct Disciplined {
    pub(super) discipline: Discipline,
    drops: Drops,
    counts: QueueStats,
    /// Reasons of the drops since the last [`Simplex::drain_reasons`], if recorded.
    reasons: Option<Vec<(PacketId, Reason)>>,
    /// Set if the packet offered last was sent ahead of waiting packets.
    passed: bool,
}

/// Counters of a queue discipline.
#[derive(Debug, Default)]
pub struct QueueStats {
    /// Packets dropped, indexed by reason.
    drops: [u64; Reason::ALL.len()],
    /// Sojourn times in nanoseconds of the packets that left for the transmitter.
    pub sojourns: Quantiles,
    /// Sum of these times.
    total: u128,
}

impl QueueStats {
    /// Returns the number of packets dropped for a reason.
    pub fn drops(&self, reason: Reason) -> u64 {
        self.drops[reason as usize]
    }

    /// Returns the mean sojourn time in nanoseconds, if any packet left.
    pub fn sojourn_mean(&self) -> Option<f64> {
        let count = self.sojourns.count();
        (count > 0).then(|| self.total as f64 / count as f64)
    }

    fn count_departure(&mut self, sojourn: Interval) {
        self.sojourns.add(sojourn.as_nanos());
        self.total += u128::from(sojourn.as_nanos());
    }
}

impl Disciplined {
    /// Removes the packet that leaves next, and counts its sojourn time.
    fn dequeue(&mut self, now: Instant) -> Option<Leaving> {
        let leaving = self.discipline.dequeue(now, &mut self.drops)?;
        self.counts.count_departure(leaving.waiting.sojourn(now));
        Some(leaving)
    }
}

/// Returns the entry of a packet of `len` bytes that joins a discipline.
fn waiting_of(now: Instant, number: PacketId, packet: &Packet, len: u32) -> Waiting {
    Waiting {
        packet: number,
        packed: pack(len, packet.has_data(), packet.priority(), false),
        len,
        joined: now,
        flow: packet.flow_hash(),
        ecn: packet.ecn(),
    }
}

impl Simplex {
    /// Returns the direction with a queue discipline. The queue limit of the parameters becomes the
    /// limit of the discipline.
    pub fn with_discipline(mut self, mut discipline: Discipline) -> Self {
        discipline.set_limit(self.config.queue);
        self.low.disciplined = Some(Box::new(Disciplined {
            discipline,
            drops: Drops::new(),
            counts: QueueStats::default(),
            reasons: None,
            passed: false,
        }));
        self.defer_dequeue();
        self
    }

    /// Returns the discipline, if any.
    pub fn discipline(&self) -> Option<&Discipline> {
        self.low.disciplined.as_deref().map(|own| &own.discipline)
    }

    /// Returns the counters of the discipline, if any.
    pub fn queue_stats(&self) -> Option<&QueueStats> {
        self.low.disciplined.as_deref().map(|own| &own.counts)
    }

    /// Records the reason of each drop by the discipline from now on, for
    /// [`Self::drain_reasons`].
    pub(in crate::link) fn watch_reasons(&mut self) {
        if let Some(own) = &mut self.low.disciplined {
            own.reasons = Some(Vec::new());
        }
    }

    /// Removes and returns the recorded drops with their reasons.
    pub fn drain_reasons(&mut self) -> impl Iterator<Item = (PacketId, Reason)> + '_ {
        let own = self.low.disciplined.as_deref_mut();
        let reasons = own.and_then(|own| own.reasons.as_mut());
        reasons.into_iter().flat_map(|all| all.drain(..))
    }

    /// Returns the time before which the discipline lets no packet leave.
    pub(super) fn held_until(&self) -> Instant {
        let own = self.low.disciplined.as_deref();
        own.map_or(Instant::ZERO, |own| own.discipline.ready_at())
    }

    /// Returns whether a packet waits that may leave at `now` if the medium is free.
    pub(in crate::link) fn has_ready(&self, now: Instant) -> bool {
        self.has_waiting() && self.held_until() <= now
    }

    /// Returns whether a discipline replaces the queue.
    #[inline]
    pub(in crate::link) fn has_discipline(&self) -> bool {
        self.low.disciplined.is_some()
    }

    /// Returns whether a packet offered at `now` precedes all waiting packets at an idle transmitter.
    pub(in crate::link) fn passes(&self, now: Instant, packet: &Packet) -> bool {
        let own = self.low.disciplined.as_deref();
        own.is_some_and(|own| own.discipline.passes(packet)) && self.is_free(now)
    }

    /// Returns whether the packet offered last was sent ahead of waiting packets.
    pub(super) fn has_passed(&self) -> bool {
        self.low
            .disciplined
            .as_deref()
            .is_some_and(|own| own.passed)
    }

    /// Brings the counters of the low class up to date, and reports the drops of the discipline.
    /// Returns whether `offered` is among them.
    fn settle_drops(
        &mut self,
        now: Instant,
        id: LinkId,
        offered: Option<PacketId>,
        outcomes: &mut Vec<Outcome>,
    ) -> bool {
        let Some(mut own) = self.low.disciplined.take() else {
            return false;
        };
        (self.low_waiting, self.low.bytes) = own.discipline.queued();
        let mut refused = false;
        for (dropped, reason) in own.drops.drain(..) {
            let cause = match reason {
                Reason::Full | Reason::Control => DropCause::Congestion,
                Reason::Redundant => DropCause::Policy,
            };
            self.count_drop(cause, priority(dropped.packed));
            own.counts.drops[reason as usize] += 1;
            if let Some(reasons) = &mut own.reasons {
                reasons.push((dropped.packet, reason));
            }
            if offered == Some(dropped.packet) {
                refused = true;
            } else {
                outcomes.push(Outcome::Lost(id, dropped.packet, cause, now));
            }
        }
        self.low.disciplined = Some(own);
        refused
    }

    /// Offers a packet of `len` bytes to the discipline, and sends the first packet if the
    /// transmitter is idle. Returns the fate of the offered packet if known.
    pub(in crate::link) fn offer_to_discipline(
        &mut self,
        (now, id): (Instant, LinkId),
        (number, packet, len): (PacketId, &mut Packet, u32),
        medium_idle: bool,
        outcomes: &mut Vec<Outcome>,
    ) -> Option<Fate> {
        let waiting = waiting_of(now, number, packet, len);
        self.queued(now);
        if let Some(own) = &mut self.low.disciplined {
            own.passed = false;
        }
        if medium_idle && self.passes(now, packet) {
            let own = self.low.disciplined.as_deref_mut()?;
            own.passed = true;
            own.counts.count_departure(Interval::ZERO);
            return Some(self.send(now, waiting.packed));
        }
        let is_first = !self.has_waiting();
        // The limit is that of packets that wait. As without a discipline, an idle transmitter also
        // takes a packet above the limit. CAKE's shaper has to count each packet.
        let own = self.low.disciplined.as_deref_mut()?;
        let is_above = self.config.queue.is_full(0, 0, waiting.len)
            && !matches!(own.discipline, Discipline::Cake(_));
        if is_above && is_first && medium_idle && self.is_free(now) {
            let own = self.low.disciplined.as_deref_mut()?;
            own.counts.count_departure(Interval::ZERO);
            return Some(self.send(now, waiting.packed));
        }
        let own = self.low.disciplined.as_deref_mut()?;
        let offered = (waiting, &*packet);
        let marked = own.discipline.offer(now, offered, &mut own.drops);
        if self.settle_drops(now, id, Some(number), outcomes) {
            return Some(Fate::Lost {
                cause: DropCause::Congestion,
                at: now,
            });
        }
        if marked == Some(true) {
            packet.set_ecn(Ecn::Ce);
            self.count_mark();
        }
        // Packets that wait at a free transmitter precede this one, and their event is to come.
        if !self.is_free(now) || !medium_idle || !is_first || self.held_until() > now {
            self.counts.queue_max = self.counts.queue_max.max(self.low_waiting);
            return None;
        }
        let own = self.low.disciplined.as_deref_mut()?;
        let leaving = own.dequeue(now);
        let refused = self.settle_drops(now, id, Some(number), outcomes);
        let Some(leaving) = leaving else {
            return refused.then_some(Fate::Lost {
                cause: DropCause::Congestion,
                at: now,
            });
        };
        if leaving.marked {
            packet.set_ecn(Ecn::Ce);
            self.count_mark();
        }
        Some(self.send(now, leaving.waiting.packed))
    }

    /// Sends the packet that the discipline selects, if the transmitter is free at `now`. Drops and
    /// marks on the way are applied. Returns the packet and its fate.
    pub(in crate::link) fn start_disciplined(
        &mut self,
        now: Instant,
        id: LinkId,
        packets: &mut Packets,
        outcomes: &mut Vec<Outcome>,
    ) -> Option<(PacketId, Fate)> {
        self.queued(now);
        if !self.is_free(now) {
            return None;
        }
        let own = self.low.disciplined.as_deref_mut()?;
        let leaving = own.dequeue(now);
        self.settle_drops(now, id, None, outcomes);
        let leaving = leaving?;
        let packet = leaving.waiting.packet;
        if leaving.marked {
            packets.get_mut(packet).set_ecn(Ecn::Ce);
            self.count_mark();
        }
        Some((packet, self.send(now, leaving.waiting.packed)))
    }

    /// Puts a packet into the discipline in front of a link-layer protocol. Returns false if the
    /// discipline drops the packet.
    pub(in crate::link) fn join_discipline(
        &mut self,
        (now, id): (Instant, LinkId),
        (number, packet): (PacketId, &mut Packet),
        outcomes: &mut Vec<Outcome>,
    ) -> bool {
        let waiting = waiting_of(now, number, packet, packet.ip_len());
        let Some(own) = self.low.disciplined.as_deref_mut() else {
            return true;
        };
        let marked = own
            .discipline
            .offer(now, (waiting, &*packet), &mut own.drops);
        if self.settle_drops(now, id, Some(number), outcomes) {
            return false;
        }
        if marked == Some(true) {
            packet.set_ecn(Ecn::Ce);
            self.count_mark();
        }
        true
    }

    /// Removes the packet that a link-layer protocol sends next, and returns its length. Drops and
    /// marks on the way are applied.
    pub(in crate::link) fn take_disciplined(
        &mut self,
        (now, id): (Instant, LinkId),
        packets: &mut Packets,
        outcomes: &mut Vec<Outcome>,
    ) -> Option<(PacketId, u32)> {
        if !self.has_ready(now) {
            return None;
        }
        let own = self.low.disciplined.as_deref_mut()?;
        let leaving = own.dequeue(now);
        self.settle_drops(now, id, None, outcomes);
        let Leaving { waiting, marked } = leaving?;
        if marked {
            packets.get_mut(waiting.packet).set_ecn(Ecn::Ce);
            self.count_mark();
        }
        Some((waiting.packet, waiting.len))
    }

    /// Returns the time at which a shaper releases the next packet, if one waits for it.
    pub(in crate::link) fn shaped_until(&self) -> Option<Instant> {
        let until = self.held_until();
        (self.has_waiting() && until > Instant::ZERO).then_some(until)
    }

    /// Adds the drops and marks of the discipline to the counters of a link-layer protocol.
    pub(in crate::link) fn add_discipline(&self, stats: &mut LinkStats) {
        if !self.has_discipline() {
            return;
        }
        let own = self.stats();
        stats.marks += own.marks;
        for (cause, drops) in own.drops.iter().enumerate() {
            stats.drops[cause] += drops;
            stats.low_drops[cause] += own.low_drops[cause];
        }
    }
}
