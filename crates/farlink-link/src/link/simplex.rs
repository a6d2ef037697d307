//! Queue, transmitter, channel and delay of one direction of a link.
//!
//! A packet that arrives while the transmitter is busy waits in the queue. Its departure time is
//! computed on arrival and needs no event. The queue limit counts only packets that wait, neither
//! the packet being sent nor packets in flight.

mod counters;
mod disciplined;
mod fast;
mod handover;
mod low;
mod queue;
mod shared;
mod super_packet;
mod transmitter;

use crate::background::{Background, BackgroundStats};
use crate::discipline::LONGEST_PACKET;
use farlink_channel::trace::Pace;
use farlink_channel::{Channel, DropCause, Verdict};
use farlink_tcp::{Ecn, Instant, Interval, Priority, Ring};
use farlink_wire::fragment::Mtu;

use super::config::{LinkConfig, LinkStats, QueueLimit};
use super::fate::{Fate, Outcome};
use crate::header_compression::Compression;
use counters::{Counts, RareCounts};
pub use disciplined::QueueStats;
use farlink_wire::id::{LinkId, NodeId, PacketId};
use farlink_wire::packet::Packet;
use queue::{BACKGROUND, DATA, LENGTH, LOW, Queue, priority};
use transmitter::{Propagation, Transmitter};

/// Packet in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct InFlight {
    /// Arrival time at the far end.
    pub(super) arrives: Instant,
    pub(super) packet: PacketId,
}

/// State of one direction of a link.
///
/// With thousands of links, none is in the L1 cache when a packet arrives. The fields are therefore
/// ordered by use, in whole cache lines. An arrival reads the first line, and a packet that need
/// not wait reads the first three. The fields after these are rarely used.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Simplex {
    /// Packets in flight, ordered by arrival time.
    pub(super) in_flight: Ring<InFlight>,
    to: NodeId,
    channel_is_transparent: bool,
    /// Early forwarding ([`fast`]).
    early: fast::EarlyForwarding,
    /// Set if the direction has requested a call for the low class.
    pub(super) low_watched: bool,
    /// Set if the direction does more than queue packets. [`Self::only_queues`] then checks the
    /// details.
    has_slow_path: bool,
    transmitter: Transmitter,
    // The second line.
    queue: Queue,
    propagation: Propagation,
    // The third line.
    counts: Counts,
    /// Packets admitted before their arrival, if the direction admits packets early.
    admitted_early: Option<Box<fast::EarlyAdmissions>>,
    /// Number of packets that wait in the low class.
    low_waiting: u32,
    /// Direction that admits all forwarded packets early, if any.
    onto: LinkId,
    pub(super) features: Features,
    // The fields from here on are rarely used.
    channel: Channel,
    rare: RareCounts,
    config: LinkConfig,
    /// Background traffic and its counters.
    background: Option<Box<(Background, BackgroundStats)>>,
    /// Rate trace; `None` for a constant rate.
    pace: Option<Box<Pace>>,
    low: low::LowClass,
    /// Super-packets, which the channel loses whole.
    super_packets: Option<Box<super_packet::SuperPackets>>,
    pub(super) handover: handover::Handover,
    pub(super) medium: shared::Medium,
    /// Longest packet that the direction accepts; `None` for no limit.
    pub(super) mtu: Option<Mtu>,
    /// Header compression. The queue then counts compressed lengths.
    pub(super) compression: Option<Box<Compression>>,
}

/// Features of a direction beyond queueing packets.
#[derive(Debug, Default)]
pub(super) struct Features {
    /// Set if there is background traffic, a rate trace or a block code.
    needs_pacing: bool,
    /// Set if all packets wait in the low class, which selects the next packet only when the
    /// transmitter becomes free.
    pub(super) defers_dequeue: bool,
    /// Set if the link has a link-layer protocol, which sends in place of this direction.
    pub(super) carries_frames: bool,
    /// Set if packets of an agent may overtake waiting packets.
    pub(super) may_overtake: bool,
    /// Set if the direction reports the departure of each packet.
    pub(super) reports_departures: bool,
    /// Set while the channel is switched off.
    channel_off: bool,
}

impl Simplex {
    /// Creates an idle direction.
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
            super_packets: None,
            handover: handover::Handover::default(),
            medium: shared::Medium::default(),
            mtu: None,
            compression: None,
        }
        .with_flags()
    }

    /// Updates the flags that every packet reads.
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
        if let Some(own) = &mut self.low.disciplined {
            own.discipline.set_limit(config.queue);
            let packet_time = config.packet_time(LONGEST_PACKET);
            own.discipline.set_packet_time(packet_time);
        }
        self.has_slow_path = self.features.carries_frames
            || self.features.defers_dequeue
            || self.features.reports_departures
            || self.compression.is_some()
            || self.mtu.is_some()
            || config.mark != QueueLimit::Unlimited;
        self.features.needs_pacing =
            self.background.is_some() || self.pace.is_some() || config.fec.is_some();
    }

    /// Reports departures from now on. With `ahead`, packets of an agent may overtake waiting
    /// packets.
    pub(super) fn report_departures(&mut self, ahead: bool) {
        self.features.reports_departures = true;
        self.features.may_overtake |= ahead && self.compression.is_none() && !self.has_background();
        self.update_flags();
    }

    /// Marks the direction as replaced by a link-layer protocol.
    pub(super) fn carry_frames(&mut self) {
        self.features.carries_frames = true;
        self.update_flags();
    }

    /// Returns the direction with its end node.
    pub fn with_end(mut self, to: NodeId) -> Self {
        self.to = to;
        self
    }

    /// Returns the node at the far end.
    #[inline]
    pub fn to(&self) -> NodeId {
        self.to
    }

    /// Returns the longest packet that the direction accepts, if limited.
    pub fn mtu(&self) -> Option<Mtu> {
        self.mtu
    }

    /// Returns the direction with a limit on packet length.
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

    /// Returns the direction with background traffic.
    pub fn with_background(mut self, background: Background) -> Self {
        self.background = Some(Box::new((background, BackgroundStats::default())));
        self.with_flags()
    }

    /// Returns whether there is background traffic.
    pub fn has_background(&self) -> bool {
        self.background.is_some()
    }

    /// Returns the mean number of background packets per second; 0 without background traffic.
    pub fn background_packets(&self) -> f64 {
        let background = self.background.as_ref();
        background.map_or(0.0, |background| background.0.packets())
    }

    /// Returns the counters of background traffic, up to the last packet or query.
    pub fn background_stats(&self) -> BackgroundStats {
        self.background
            .as_ref()
            .map_or_else(BackgroundStats::default, |background| background.1)
    }

    /// Returns the direction with a rate trace.
    pub fn with_pace(mut self, pace: Pace) -> Self {
        self.pace = Some(Box::new(pace));
        self.with_flags()
    }

    /// Returns the parameters.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Returns the minimum transmission time of a packet of `ip_len` bytes. Returns zero with a
    /// rate trace or header compression, which alone determine the time.
    pub fn least_sending(&self, ip_len: u32) -> Interval {
        if self.pace.is_some() || self.compression.is_some() {
            Interval::ZERO
        } else {
            self.config.sending(ip_len)
        }
    }

    /// Replaces the parameters for packets offered from now on. Packets that wait or are in flight
    /// keep their times, and later packets in order do not overtake them.
    pub fn set_config(&mut self, config: LinkConfig) {
        self.keep_order();
        self.config = config;
        self.transmitter.last_wire = 0;
        self.update_flags();
    }

    /// Replaces the channel for packets offered from now on.
    pub fn set_channel(&mut self, channel: Channel) {
        self.keep_order();
        self.channel = channel;
        self.channel_is_transparent = self.features.channel_off || self.channel.is_clean();
    }

    /// Sets the distance of the two nodes in metres, for radio channels.
    pub fn set_distance(&mut self, metres: f64) {
        self.channel.set_distance(metres);
    }

    /// Switches the channel on or off. While the channel is off, packets pass unchanged and its
    /// state is frozen.
    pub fn switch_channel(&mut self, on: bool) {
        self.keep_order();
        self.features.channel_off = !on;
        self.channel_is_transparent = !on || self.channel.is_clean();
    }

    /// Returns whether the channel is switched on.
    pub fn channel_on(&self) -> bool {
        !self.features.channel_off
    }

    /// Ensures that the next packet arrives no earlier than those in flight.
    fn keep_order(&mut self) {
        if let Some(last) = self.in_flight.back() {
            self.propagation.last_arrival = self.propagation.last_arrival.max(last.arrives);
        }
    }

    /// Returns the channel.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Returns the number and IP bytes of the packets in both classes that wait for the transmitter
    /// at `now`.
    #[inline]
    pub fn queued(&mut self, now: Instant) -> (u32, u64) {
        if self.features.needs_pacing {
            self.run_background(now);
        }
        self.both_queued(now)
    }

    #[inline(always)] // like `enqueue`
    fn both_queued(&mut self, now: Instant) -> (u32, u64) {
        let (packets, bytes) = self.normal_queued(now);
        if self.low_waiting == 0 {
            return (packets, bytes);
        }
        (packets + self.low_waiting, bytes + self.low.bytes)
    }

    /// Queues the background packets that arrived until `now`.
    #[cold]
    fn run_background(&mut self, now: Instant) {
        let Some(mut background) = self.background.take() else {
            return;
        };
        let (traffic, stats) = &mut *background;
        while let Some((at, ip_len)) = traffic.next_until(now) {
            let waiting = self.both_queued(at);
            if self.admit::<true>(at, ip_len | BACKGROUND, waiting) {
                stats.packets += 1;
                stats.bytes += u64::from(ip_len);
            } else {
                stats.drops += 1;
            }
        }
        self.background = Some(background);
    }

    #[inline(always)] // like `enqueue`
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

    /// Returns the start of each transmission of the normal class that is still in the queue, with
    /// the number and IP bytes of the packets that wait behind it.
    pub fn departures(&self) -> impl Iterator<Item = (Instant, u32, u64)> + '_ {
        let (mut packets, mut bytes) = self.low_queued();
        packets += self.queue.waiting.len() as u32;
        bytes += self.queue.bytes;
        self.queue.waiting.iter().map(move |&(starts, packet)| {
            packets -= 1;
            bytes -= u64::from(packet & LENGTH);
            (starts, packets, bytes)
        })
    }

    /// Returns whether an ECN-capable packet of `ip_len` bytes offered at `now` is to be marked.
    pub fn congested(&mut self, now: Instant, ip_len: u32) -> bool {
        if self.config.mark == QueueLimit::Unlimited {
            return false;
        }
        self.queued(now);
        if self.is_free(now) {
            return false;
        }
        // Low-priority packets do not delay normal packets, so they do not count as congestion.
        let (mut packets, mut bytes) = self.normal_queued(now);
        if self.holds_normal() {
            let (more, longer) = self.overtaken_queued();
            (packets, bytes) = (packets + more, bytes + longer);
        }
        self.config.mark.is_full(packets, bytes, ip_len)
    }

    /// Returns whether a normal packet of `ip_len` bytes needs nothing but [`Self::offer`].
    #[inline]
    pub(super) fn only_queues(&self, ip_len: u32) -> bool {
        !self.low_watched && (!self.has_slow_path || self.is_within(ip_len))
    }

    /// Returns whether the direction only queues and forwards, so that packets arrive unchanged.
    #[inline]
    pub(super) fn only_forwards(&self) -> bool {
        !self.has_slow_path
    }

    /// Returns whether the MTU is the only extra feature and the packet is not longer.
    #[cold]
    fn is_within(&self, ip_len: u32) -> bool {
        !self.features.carries_frames
            && !self.features.defers_dequeue
            && !self.features.reports_departures
            && self.compression.is_none()
            && self.config.mark == QueueLimit::Unlimited
            && self.mtu.is_none_or(|mtu| ip_len <= mtu.bytes)
    }

    /// Adds a packet behind those in flight. Returns whether no other packet is in flight.
    #[inline(always)] // called for each hop
    pub fn push_in_flight(&mut self, packet: PacketId, arrives: Instant) -> bool {
        let first = self.in_flight.is_empty();
        self.in_flight.push_back(InFlight { arrives, packet });
        first
    }

    /// Prefetches the packets that will arrive and leave the queue after `others` other packets.
    #[inline]
    pub(super) fn prefetch(&self, others: usize) {
        self.in_flight.prefetch(others);
        self.queue.waiting.prefetch(others);
    }

    /// Reports or queues the arrival of a packet that the channel delivers.
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

    /// Returns the bytes that the packet has on the link if sent next. A packet is compressed only
    /// if it is certain to be sent next (`in_turn`).
    fn prepare(&mut self, packet: &Packet, in_turn: bool) -> u32 {
        match &mut self.compression {
            Some(compression) => compression.prepare(packet, in_turn),
            None => packet.ip_len(),
        }
    }

    /// Compresses a packet and decides on its ECN mark. Returns its length on the link, and whether
    /// to mark the packet if the queue accepts it.
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
        // The compressed header must contain the mark.
        packet.set_ecn(Ecn::Ce);
        let len = self.prepare(packet, in_turn);
        (len, is_congested(self, len))
    }

    /// Records that the queue accepted the packet prepared last.
    pub(super) fn commit(&mut self, packet: PacketId) {
        if let Some(compression) = &mut self.compression {
            compression.commit(packet);
        }
    }

    /// Returns the time at which the last accepted packet has left the transmitter.
    pub(super) fn left_at(&self) -> Instant {
        self.transmitter.free_at
    }

    /// Reports a loss to header compression. `at` is the time at which the packet's last bit left
    /// or would have left.
    pub(super) fn frame_lost(&mut self, now: Instant, cause: DropCause, at: Instant) {
        if let Some(compression) = &mut self.compression {
            compression.on_loss(now, cause, at + self.config.delay);
        }
    }

    /// Adds a packet to the transmitter or to the queue behind `packets` waiting packets. Returns
    /// false if the queue is full.
    #[inline(always)] // like `offer`
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

    /// Offers a packet of `ip_len` bytes without data to the FIFO queue at `now`.
    pub fn offer(&mut self, now: Instant, ip_len: u32, priority: Priority) -> Fate {
        self.enqueue(now, ip_len, priority, false)
    }

    /// Offers a packet of `ip_len` bytes to the FIFO queue at `now`.
    #[inline(always)] // keeps the fate of most packets in registers
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

    /// Enqueues a packet on a direction with background traffic, a rate trace, a code or a low
    /// class.
    #[inline(never)] // keeps the common path short
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

    /// Enqueues a packet behind `waiting` packets and bytes. With `ANY` the transmission time may
    /// depend on a rate trace or a code.
    #[inline(always)] // like `enqueue`
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

    /// Occupies the transmitter with a packet that arrived at `now`. Returns the start of
    /// transmission and whether the packet must wait.
    #[inline(always)] // like `enqueue`
    fn occupy<const ANY: bool>(&mut self, now: Instant, ip_len: u32) -> (Instant, bool) {
        let paced = ANY && self.features.needs_pacing;
        let (config, pace) = (&self.config, self.pace.as_deref_mut());
        let sent = self.transmitter.occupy(now, ip_len, config, pace, paced);
        self.counts.busy += sent.takes.as_nanos();
        (sent.starts, sent.waits)
    }

    /// Starts transmission of a packet on the idle transmitter at `now`.
    fn send(&mut self, now: Instant, packet: u32) -> Fate {
        self.occupy::<true>(now, packet & LENGTH);
        self.transmitter.packet = packet;
        self.propagate(now, packet, priority(packet))
    }

    /// Decides the fate of the packet that the transmitter accepted last. The decision is made at
    /// `now`, for the time at which the packet leaves.
    #[inline(always)] // like `enqueue`
    fn propagate(&mut self, now: Instant, packet: u32, priority: Priority) -> Fate {
        let ip_len = packet & LENGTH;
        self.counts.packets += 1;
        self.counts.data += u64::from(packet & DATA != 0);
        if priority == Priority::Low {
            self.rare.low_packets += 1;
        }
        self.counts.bytes += u64::from(ip_len);
        if self.channel_is_transparent {
            // `last_arrival` exceeds the packet's own time only after a change of the link's
            // parameters.
            let at = (self.transmitter.free_at + self.propagation.delay)
                .max(self.propagation.last_arrival);
            return Fate::Arrives {
                at,
                corrupt: false,
                copies: 0,
                overtakes: false,
            };
        }
        let (leaves, bytes) = (self.transmitter.free_at, ip_len + self.transmitter.overhead);
        let passage = match &mut self.super_packets {
            None => self.channel.pass(leaves, bytes),
            Some(joined) => {
                let channel = &mut self.channel;
                joined.pass(now, packet & DATA != 0, || channel.pass(leaves, bytes))
            }
        };
        if let Verdict::Drop(cause) = passage.verdict {
            let at = self.transmitter.free_at;
            self.rare.lose_later(now, at, cause, priority);
            return Fate::Lost { cause, at };
        }
        let mut at = self.transmitter.free_at + self.propagation.delay + passage.hold;
        if !passage.may_overtake {
            // Rounding must not change the order of packets that the channel keeps in order.
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

    /// Counts a packet that the direction delivered and the node at the far end dropped.
    pub fn count_drop(&mut self, cause: DropCause, priority: Priority) {
        self.rare.count_drop(cause, priority);
    }

    /// Counts an ECN mark.
    pub fn count_mark(&mut self) {
        self.rare.count_mark();
    }

    /// Returns the counters of all accepted packets and decided losses, including future ones; see
    /// [`Self::stats_at`].
    pub fn stats(&self) -> LinkStats {
        counters::total(&self.counts, &self.rare)
    }

    /// Returns the counters at `now`, and those of background traffic. Packets that wait or are
    /// being sent are not counted as sent, and losses after their departure are not counted yet.
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
                if packet & BACKGROUND == 0 {
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
