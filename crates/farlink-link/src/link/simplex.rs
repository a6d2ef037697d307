//! Queue, transmitter, channel and delay of one direction of a link.
//!
//! A packet that arrives while the transmitter is busy waits in the queue; when
//! it leaves is arithmetic, not an event. The queue's limit counts what waits
//! for the transmitter: neither the packet being sent nor what is in flight.

mod counters;
mod fast;
mod handover;
mod low;
mod queue;
mod shared;
mod transmitter;

use crate::background::{Background, BackgroundStats};
use farlink_channel::trace::Pace;
use farlink_channel::{Channel, DropCause, Verdict};
use farlink_tcp::{Ecn, Instant, Interval, Priority, Ring};
use farlink_wire::fragment::Mtu;

use super::config::{LinkConfig, LinkStats, QueueLimit};
use super::fate::{Fate, Outcome};
use crate::header_compression::Compression;
use counters::{Counts, RareCounts};
use farlink_wire::id::{LinkId, NodeId, PacketId};
use farlink_wire::packet::Packet;
use queue::{DATA, LENGTH, LOW, OTHER, Queue, priority};
use transmitter::{Propagation, Transmitter};

/// A packet on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct InFlight {
    /// Arrival time at the far end.
    pub(super) arrives: Instant,
    pub(super) packet: PacketId,
}

/// State of one direction of a link.
///
/// A thousand flows have thousands of links, none of which is in the nearest cache when a packet
/// comes. So the fields lie in the order of their use, whole lines of the cache: an arrival reads
/// the first line, a packet that need not wait the first three, and nearly none what is behind.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Simplex {
    /// Packets in flight, first to arrive first.
    pub(super) in_flight: Ring<InFlight>,
    to: NodeId,
    channel_is_transparent: bool,
    /// Early forwarding ([`fast`]).
    early: fast::EarlyForwarding,
    /// Set if a call for the low class was requested.
    pub(super) low_watched: bool,
    /// Set if the direction does more than queue packets: [`Self::only_queues`] then checks in
    /// detail.
    has_slow_path: bool,
    transmitter: Transmitter,
    // The second line.
    queue: Queue,
    propagation: Propagation,
    // The third line.
    counts: Counts,
    /// Packets that were admitted before their arrival, if the direction admits packets early.
    admitted_early: Option<Box<fast::EarlyAdmissions>>,
    /// Packets that wait in the low class.
    low_waiting: u32,
    /// The direction that admits all forwarded packets early, if there is one.
    onto: LinkId,
    pub(super) features: Features,
    // What is behind here is rare.
    channel: Channel,
    rare: RareCounts,
    config: LinkConfig,
    /// Other traffic, with what became of it.
    background: Option<Box<(Background, BackgroundStats)>>,
    /// A rate that changes in time; none is a rate that does not.
    pace: Option<Box<Pace>>,
    low: low::LowClass,
    pub(super) handover: handover::Handover,
    pub(super) medium: shared::Medium,
    /// The longest packets that it takes, if there is a limit.
    pub(super) mtu: Option<Mtu>,
    /// Header compression: the queue is then told the lengths that are sent.
    pub(super) compression: Option<Box<Compression>>,
}

/// Features of a direction beside queueing packets.
#[derive(Debug, Default)]
pub(super) struct Features {
    /// Set if there is other traffic, a rate trace or a code.
    needs_pacing: bool,
    /// Set if all packets wait in the class whose packets are chosen when the transmitter is free.
    pub(super) defers_dequeue: bool,
    /// Set if a protocol is on the link, which carries nothing itself.
    carries_frames: bool,
    /// Set if an agent's packets may overtake the waiting ones.
    pub(super) may_overtake: bool,
    /// Set if the departure of each packet is reported.
    pub(super) reports_departures: bool,
    /// Set while the channel is switched off.
    channel_off: bool,
}

impl Simplex {
    /// An idle link.
    pub fn new(config: LinkConfig, channel: Channel) -> Self {
        Self {
            in_flight: Ring::new(),
            to: NodeId::default(),
            channel_is_transparent: channel.is_clean(),
            early: fast::EarlyForwarding::Off,
            low_watched: false,
            has_slow_path: false,
            transmitter: Transmitter::default(),
            queue: Queue::new(config.queue),
            propagation: Propagation::default(),
            counts: Counts::default(),
            admitted_early: None,
            low_waiting: 0,
            onto: LinkId::NONE,
            features: Features::default(),
            channel,
            rare: RareCounts::default(),
            config,
            background: None,
            pace: None,
            low: low::LowClass::default(),
            handover: handover::Handover::default(),
            medium: shared::Medium::default(),
            mtu: None,
            compression: None,
        }
        .with_flags()
    }

    /// Recomputes the flags that every packet reads.
    fn with_flags(mut self) -> Self {
        self.update_flags();
        self
    }

    fn update_flags(&mut self) {
        let config = &self.config;
        (
            self.propagation.delay,
            self.transmitter.overhead,
            self.queue.limit,
        ) = (config.delay, config.overhead, config.queue);
        self.has_slow_path = self.features.carries_frames
            || self.features.defers_dequeue
            || self.features.reports_departures
            || self.compression.is_some()
            || self.mtu.is_some()
            || config.mark != QueueLimit::Unlimited;
        self.features.needs_pacing =
            self.background.is_some() || self.pace.is_some() || config.fec.is_some();
    }

    /// Reports departures from now on; the waiting packets may be overtaken if packets are sent
    /// `ahead`.
    pub(super) fn report_departures(&mut self, ahead: bool) {
        self.features.reports_departures = true;
        self.features.may_overtake |= ahead && self.compression.is_none() && !self.has_background();
        self.update_flags();
    }

    /// A protocol is on the link from now on.
    pub(super) fn carry_frames(&mut self) {
        self.features.carries_frames = true;
        self.update_flags();
    }

    /// Returns the direction with its end node.
    pub fn with_end(mut self, to: NodeId) -> Self {
        self.to = to;
        self
    }

    /// The node at the far end.
    #[inline]
    pub fn to(&self) -> NodeId {
        self.to
    }

    /// The longest packets that it takes, if there is a limit.
    pub fn mtu(&self) -> Option<Mtu> {
        self.mtu
    }

    /// Returns the direction with a limit of packet length.
    pub fn with_mtu(mut self, mtu: Option<Mtu>) -> Self {
        self.mtu = mtu;
        self.with_flags()
    }

    /// Returns the direction with header compression.
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = Some(Box::new(compression));
        self.with_flags()
    }

    /// Returns the header compression, if any.
    pub fn compression(&self) -> Option<&Compression> {
        self.compression.as_deref()
    }

    /// Returns the direction with other traffic.
    pub fn with_background(mut self, background: Background) -> Self {
        self.background = Some(Box::new((background, BackgroundStats::default())));
        self.with_flags()
    }

    /// Returns whether there is other traffic.
    pub fn has_background(&self) -> bool {
        self.background.is_some()
    }

    /// Packets of other traffic a second, on average; 0 without any.
    pub fn background_packets(&self) -> f64 {
        let background = self.background.as_ref();
        background.map_or(0.0, |background| background.0.packets())
    }

    /// Returns the fate of other traffic, up to the last packet or question.
    pub fn background_stats(&self) -> BackgroundStats {
        self.background
            .as_ref()
            .map_or_else(BackgroundStats::default, |background| background.1)
    }

    /// Returns the direction with a rate that follows a trace.
    pub fn with_pace(mut self, pace: Pace) -> Self {
        self.pace = Some(Box::new(pace));
        self.with_flags()
    }

    /// Parameters.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Least time for which a packet of `ip_len` bytes has the transmitter; zero where a trace
    /// of rates or the compression of headers says it.
    pub fn least_sending(&self, ip_len: u32) -> Interval {
        if self.pace.is_some() || self.compression.is_some() {
            Interval::ZERO
        } else {
            self.config.sending(ip_len)
        }
    }

    /// Other parameters, for packets handed over from now on: what waits or flies
    /// keeps its times, and nothing in order overtakes it.
    pub fn set_config(&mut self, config: LinkConfig) {
        self.keep_order();
        self.config = config;
        self.transmitter.last_wire = 0;
        self.update_flags();
    }

    /// Another channel, for packets handed over from now on.
    pub fn set_channel(&mut self, channel: Channel) {
        self.keep_order();
        self.channel = channel;
        self.channel_is_transparent = self.features.channel_off || self.channel.is_clean();
    }

    /// The nodes at its ends are so many metres apart from now on, for radios of its channel.
    pub fn set_distance(&mut self, metres: f64) {
        self.channel.set_distance(metres);
    }

    /// Switches the channel on or off. While it is off, packets pass unchanged, and the channel
    /// keeps its state.
    pub fn switch_channel(&mut self, on: bool) {
        self.keep_order();
        self.features.channel_off = !on;
        self.channel_is_transparent = !on || self.channel.is_clean();
    }

    /// Returns whether packets meet the channel.
    pub fn channel_on(&self) -> bool {
        !self.features.channel_off
    }

    /// Makes the next packet arrive no earlier than those in flight.
    fn keep_order(&mut self) {
        if let Some(last) = self.in_flight.back() {
            self.propagation.last_arrival = self.propagation.last_arrival.max(last.arrives);
        }
    }

    /// Returns the channel.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Packets and IP bytes that wait for the transmitter at `now`, of both
    /// classes.
    #[inline]
    pub fn queued(&mut self, now: Instant) -> (u32, u64) {
        if self.features.needs_pacing {
            self.run_background(now);
        }
        self.both_queued(now)
    }

    #[inline(always)] // as `enqueue`
    fn both_queued(&mut self, now: Instant) -> (u32, u64) {
        let (packets, bytes) = self.normal_queued(now);
        if self.low_waiting == 0 {
            return (packets, bytes);
        }
        (packets + self.low_waiting, bytes + self.low.bytes)
    }

    /// Lets the packets of other traffic in that came until `now`.
    #[cold]
    fn run_background(&mut self, now: Instant) {
        let Some(mut background) = self.background.take() else {
            return;
        };
        let (traffic, stats) = &mut *background;
        while let Some((at, ip_len)) = traffic.next_until(now) {
            let waiting = self.both_queued(at);
            if self.admit::<true>(at, ip_len | OTHER, waiting) {
                stats.packets += 1;
                stats.bytes += u64::from(ip_len);
            } else {
                stats.drops += 1;
            }
        }
        self.background = Some(background);
    }

    #[inline(always)] // as `enqueue`
    fn normal_queued(&mut self, now: Instant) -> (u32, u64) {
        while let Some(&(starts, packet)) = self.queue.waiting.front() {
            if starts > now {
                break;
            }
            self.queue.waiting.drop_front();
            self.queue.bytes -= u64::from(packet & LENGTH);
            self.transmitter.packet = packet;
        }
        (self.queue.waiting.len() as u32, self.queue.bytes)
    }

    /// Returns the start of transmission and the IP length of each packet that waits in the normal
    /// class.
    pub fn departures(&self) -> impl Iterator<Item = (Instant, u32)> + '_ {
        let parts = |&(starts, packet): &(Instant, u32)| (starts, packet & LENGTH);
        self.queue.waiting.iter().map(parts)
    }

    /// Returns whether an ECN-capable packet of `ip_len` bytes that is handed over at `now` is
    /// marked.
    pub fn congested(&mut self, now: Instant, ip_len: u32) -> bool {
        if self.config.mark == QueueLimit::Unlimited {
            return false;
        }
        self.queued(now);
        if self.is_free(now) {
            return false;
        }
        // What waits in the low class is no congestion to others.
        let (mut packets, mut bytes) = self.normal_queued(now);
        if self.holds_normal() {
            let (more, longer) = self.overtaken_queued();
            (packets, bytes) = (packets + more, bytes + longer);
        }
        self.config.mark.is_full(packets, bytes, ip_len)
    }

    /// Returns whether a packet of `ip_len` bytes and normal priority needs nothing but
    /// [`Self::offer`].
    #[inline]
    pub(super) fn only_queues(&self, ip_len: u32) -> bool {
        !self.low_watched && (!self.has_slow_path || self.is_within(ip_len))
    }

    /// Returns whether the direction only queues and forwards: no compression, no link-layer
    /// protocol.
    #[inline]
    pub(super) fn only_forwards(&self) -> bool {
        !self.has_slow_path
    }

    /// Returns whether refusing long packets is the only other thing the direction does.
    #[cold]
    fn is_within(&self, ip_len: u32) -> bool {
        !self.features.carries_frames
            && !self.features.defers_dequeue
            && !self.features.reports_departures
            && self.compression.is_none()
            && self.config.mark == QueueLimit::Unlimited
            && self.mtu.is_none_or(|mtu| ip_len <= mtu.bytes)
    }

    /// Packet number `packet` is on its way, behind those that are. Returns whether
    /// it is the first.
    #[inline(always)] // of each hop
    pub fn push_in_flight(&mut self, packet: PacketId, arrives: Instant) -> bool {
        let first = self.in_flight.is_empty();
        self.in_flight.push_back(InFlight { arrives, packet });
        first
    }

    /// Prefetches the packets that arrive and leave the queue after `others` more.
    #[inline]
    pub(super) fn prefetch(&self, others: usize) {
        self.in_flight.prefetch(others);
        self.queue.waiting.prefetch(others);
    }

    /// A packet leaves the channel for the far end.
    pub(super) fn emit_arrival(
        &mut self,
        id: LinkId,
        packet: PacketId,
        at: Instant,
        overtakes: bool,
        outcomes: &mut Vec<Outcome>,
    ) {
        if overtakes {
            outcomes.push(Outcome::Overtakes(id, packet, at));
        } else if self.forwards_early() {
            outcomes.push(Outcome::ForwardEarly(id, packet, at));
        } else if self.push_in_flight(packet, at) {
            outcomes.push(Outcome::FirstInFlight(id, at));
        }
    }

    /// Bytes that a packet will have on the wire if it goes next; one that may not be
    /// the next (`in_turn`) is not compressed.
    fn prepare(&mut self, packet: &Packet, in_turn: bool) -> u32 {
        match &mut self.compression {
            Some(compression) => compression.prepare(packet, in_turn),
            None => packet.ip_len(),
        }
    }

    /// Prepares a packet, and decides on its ECN mark. Returns the length on the link, and whether
    /// the packet is to be marked if the queue accepts it.
    pub(super) fn prepare_marked(
        &mut self,
        packet: &mut Packet,
        in_turn: bool,
        mut is_congested: impl FnMut(&mut Self, u32) -> bool,
    ) -> (u32, bool) {
        let len = self.prepare(packet, in_turn);
        let mark = is_congested(self, len);
        if !mark || self.compression.is_none() {
            return (len, mark);
        }
        // The header that goes is the one with the mark.
        packet.set_ecn(Ecn::Ce);
        let len = self.prepare(packet, in_turn);
        (len, is_congested(self, len))
    }

    /// The queue took the packet that was prepared last.
    pub(super) fn commit(&mut self, packet: PacketId) {
        if let Some(compression) = &mut self.compression {
            compression.commit(packet);
        }
    }

    /// Returns when the last packet has left the transmitter.
    pub(super) fn left_at(&self) -> Instant {
        self.transmitter.free_at
    }

    /// A packet was lost whose last bit left or would have left at `at`.
    pub(super) fn frame_lost(&mut self, now: Instant, cause: DropCause, at: Instant) {
        if let Some(compression) = &mut self.compression {
            compression.lost(now, cause, at + self.config.delay);
        }
    }

    /// Takes a packet into the queue or the transmitter, where so many packets and
    /// bytes wait. Returns whether there was room.
    #[inline(always)] // as `offer`
    fn admit<const ANY: bool>(
        &mut self,
        now: Instant,
        packet: u32,
        (packets, bytes): (u32, u64),
    ) -> bool {
        let ip_len = packet & LENGTH;
        let busy = self.transmitter.free_at > now;
        if busy && self.queue.limit.is_full(packets, bytes, ip_len) {
            return false;
        }
        let (starts, waits) = self.occupy::<ANY>(now, ip_len);
        if waits {
            self.queue.push(starts, packet);
            self.counts.queue_max = self.counts.queue_max.max(packets + 1);
        } else {
            self.transmitter.packet = packet;
        }
        true
    }

    /// Hands over a packet of `ip_len` bytes without data at `now`, first in, first out.
    pub fn offer(&mut self, now: Instant, ip_len: u32, priority: Priority) -> Fate {
        self.enqueue(now, ip_len, priority, false)
    }

    /// Hands over a packet of `ip_len` bytes at `now`, first in, first out.
    #[inline(always)] // so that the fate of most packets stays in registers
    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        ip_len: u32,
        priority: Priority,
        data: bool,
    ) -> Fate {
        if self.features.needs_pacing || self.low_waiting > 0 {
            return self.enqueue_general(now, ip_len, priority, data);
        }
        let waiting = self.normal_queued(now);
        self.enqueue_behind::<false>(now, ip_len, priority, data, waiting)
    }

    /// Takes a packet in the general case, with all that may be beside a queue of one class.
    #[inline(never)] // what most packets take is inlined
    fn enqueue_general(
        &mut self,
        now: Instant,
        ip_len: u32,
        priority: Priority,
        data: bool,
    ) -> Fate {
        let waiting = self.queued(now);
        self.enqueue_behind::<true>(now, ip_len, priority, data, waiting)
    }

    /// Takes a packet behind this many waiting packets and bytes. With `ANY` the transmitter may be
    /// special.
    #[inline(always)] // as `enqueue`
    fn enqueue_behind<const ANY: bool>(
        &mut self,
        now: Instant,
        ip_len: u32,
        priority: Priority,
        data: bool,
        waiting: (u32, u64),
    ) -> Fate {
        let mut packet = ip_len;
        if data {
            packet |= DATA;
        }
        if priority == Priority::Low {
            packet |= LOW;
        }
        if !self.admit::<ANY>(now, packet, waiting) {
            self.count_drop(DropCause::Congestion, priority);
            return Fate::Lost {
                cause: DropCause::Congestion,
                at: now,
            };
        }
        self.propagate(now, packet, priority)
    }

    /// Occupies the transmitter with a packet that came at `now`. Returns the start of transmission,
    /// and whether the packet waits for it.
    #[inline(always)] // as `enqueue`
    fn occupy<const ANY: bool>(&mut self, now: Instant, ip_len: u32) -> (Instant, bool) {
        let paced = ANY && self.features.needs_pacing;
        let (config, pace) = (&self.config, self.pace.as_deref_mut());
        let sent = self.transmitter.occupy(now, ip_len, config, pace, paced);
        self.counts.busy += sent.takes.as_nanos();
        (sent.starts, sent.waits)
    }

    /// The transmitter, which is free, takes a packet at `now`.
    fn send(&mut self, now: Instant, packet: u32) -> Fate {
        self.occupy::<true>(now, packet & LENGTH);
        self.transmitter.packet = packet;
        self.propagate(now, packet, priority(packet))
    }

    /// Decides the fate of the last packet, at `now`, when it has left the transmitter.
    #[inline(always)] // as `enqueue`
    fn propagate(&mut self, now: Instant, packet: u32, priority: Priority) -> Fate {
        let ip_len = packet & LENGTH;
        self.counts.packets += 1;
        self.counts.data += u64::from(packet & DATA != 0);
        if priority == Priority::Low {
            self.rare.low_packets += 1;
        }
        self.counts.bytes += u64::from(ip_len);
        if self.channel_is_transparent {
            // Later than its own time only after the link was changed.
            let at = (self.transmitter.free_at + self.propagation.delay)
                .max(self.propagation.last_arrival);
            return Fate::Arrives {
                at,
                corrupt: false,
                copies: 0,
                overtakes: false,
            };
        }
        let passage = self
            .channel
            .pass(self.transmitter.free_at, ip_len + self.transmitter.overhead);
        if let Verdict::Drop(cause) = passage.verdict {
            let at = self.transmitter.free_at;
            self.rare.lose_later(now, at, cause, priority);
            return Fate::Lost { cause, at };
        }
        let mut at = self.transmitter.free_at + self.propagation.delay + passage.hold;
        if !passage.may_overtake {
            // Rounding must not swap what the channel keeps in order.
            at = at.max(self.propagation.last_arrival);
            self.propagation.last_arrival = at;
        }
        Fate::Arrives {
            at,
            corrupt: passage.verdict == Verdict::Corrupt,
            copies: passage.copies,
            overtakes: passage.may_overtake,
        }
    }

    /// Counts a packet that the link carried and its far end refused.
    pub fn count_drop(&mut self, cause: DropCause, priority: Priority) {
        self.rare.count_drop(cause, priority);
    }

    /// Counts a packet that was marked.
    pub fn count_mark(&mut self) {
        self.rare.marks += 1;
    }

    /// Returns the counters of every accepted packet and every decided loss, as if their time had
    /// come: see [`Self::stats_at`].
    pub fn stats(&self) -> LinkStats {
        counters::total(&self.counts, &self.rare)
    }

    /// Returns the counters at `now`, and those of other traffic. Packets that wait or are being
    /// sent have not left, and losses behind the transmitter have not happened.
    pub fn stats_at(&self, now: Instant) -> (LinkStats, BackgroundStats) {
        let (mut stats, mut other) = (self.stats(), self.background_stats());
        if self.transmitter.free_at > now {
            let left = self.transmitter.free_at.since(now).as_nanos();
            stats.busy -= stats.busy.min(left);
            let started = self.queue.waiting.partition_point(|entry| entry.0 <= now);
            let sending = match started.checked_sub(1) {
                Some(last) => self.queue.waiting[last].1,
                None => self.transmitter.packet,
            };
            let waiting = self.queue.waiting.iter().skip(started).map(|entry| entry.1);
            for packet in waiting.chain((sending != 0).then_some(sending)) {
                let bytes = u64::from(packet & LENGTH);
                if packet & OTHER == 0 {
                    stats.packets -= 1;
                    stats.bytes -= bytes;
                    stats.data -= u64::from(packet & DATA != 0);
                    stats.low_packets -= u64::from(packet & LOW != 0);
                } else {
                    other.packets -= 1;
                    other.bytes -= bytes;
                }
            }
        }
        self.rare.subtract_later(now, &mut stats);
        (stats, other)
    }
}

#[cfg(test)]
mod tests;
