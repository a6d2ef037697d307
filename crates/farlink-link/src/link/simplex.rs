//! Queue, transmitter, channel and delay of one direction of a link.
//!
//! A packet that arrives while the transmitter is busy waits in the queue; when
//! it leaves is arithmetic, not an event. The queue's limit counts what waits
//! for the transmitter: neither the packet being sent nor what is in flight.

mod ahead;
mod handover;
mod low;
mod shared;

use crate::background::{Background, BackgroundStats};
use farlink_channel::trace::Pace;
use farlink_channel::{Channel, DropCause, Verdict};
use farlink_tcp::{Instant, Interval, Priority, Ring};
use farlink_wire::fragment::Mtu;
pub use low::LowFate;
use std::collections::VecDeque;

use super::config::{LinkConfig, LinkStats, QueueLimit};
use super::fate::{Fate, Outcome};
use crate::header_compression::Compression;
use farlink_wire::id::{LinkId, NodeId, PacketId};
use farlink_wire::packet::Packet;

/// A packet on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct InFlight {
    /// Arrival time at the far end.
    pub(super) arrives: Instant,
    pub(super) packet: PacketId,
}

/// The counters that every packet moves.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    // Those that move together are not beside each other: to add to both at once takes more
    // instructions than to each.
    packets: u64,
    busy: u64,
    bytes: u64,
    data: u64,
}

/// Packets lost by cause, and those of them of low priority.
#[derive(Debug, Default)]
struct Losses {
    all: [u64; DropCause::ALL.len()],
    low: [u64; DropCause::ALL.len()],
    /// Packets among them that are lost when they have left the transmitter, possibly in the
    /// future: time, cause, and whether the priority is low.
    later: VecDeque<(Instant, DropCause, bool)>,
}

/// Packed description of a packet in the queue and in the transmitter: IP length and flags (ahead,
/// other traffic, data, low priority).
const LENGTH: u32 = (1 << 28) - 1;
/// Flag of a packet that waits in front of those without the flag.
const AHEAD: u32 = 1 << 28;
const OTHER: u32 = 1 << 29;
const DATA: u32 = 1 << 30;
const LOW: u32 = 1 << 31;

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
    free_at: Instant,
    last_arrival: Instant,
    /// Delay of the parameters.
    delay: Interval,
    to: NodeId,
    clean: bool,
    /// Early forwarding ([`ahead`]).
    hands_on: ahead::HandsOn,
    /// Set if a call for the low class was requested.
    pub(super) low_watched: bool,
    /// Set if the direction does more than queue packets: [`Self::only_queues`] then checks in
    /// detail.
    cares: bool,
    /// Bytes on the wire of the last packet; [`Self::last_sending`] is the time that they take.
    last_wire: u32,
    /// Overhead of the parameters.
    overhead: u32,
    // The second line.
    /// Start of transmission and description of each waiting packet.
    waiting: Ring<(Instant, u32)>,
    waiting_bytes: u64,
    /// Transmission time of the last packet. Lengths repeat, and a division costs as much as the
    /// rest of a hop.
    last_sending: Interval,
    /// Packets that it took before they came, if it takes them so.
    ahead: Option<Box<ahead::Ahead>>,
    /// Queue limit of the parameters.
    queue: QueueLimit,
    // The third line.
    counts: Counts,
    queue_max: u32,
    /// The packet that the transmitter took last without a wait, or out of `waiting`.
    taken: u32,
    /// Packets that wait in the low class.
    low_waiting: u32,
    /// Set if there is other traffic, a rate trace or a code.
    is_special: bool,
    /// Set if all packets wait in the class whose packets are chosen when the transmitter is free.
    pub(super) keeps: bool,
    /// The other direction sends over the same medium ([`shared`]).
    pub(super) shares: bool,
    /// Set if this direction was the last of the two to send on a shared medium.
    sent_last: bool,
    /// A protocol is on the link, which carries nothing itself.
    carries_frames: bool,
    /// Set if an agent's packets may overtake the waiting ones.
    pub(super) overtaken: bool,
    /// Set if the departure of each packet is reported.
    pub(super) tells: bool,
    channel_on: bool,
    /// The direction that takes all that it hands on, if it is one.
    onto: LinkId,
    // What is behind here is rare.
    channel: Channel,
    /// None before the first loss: thousands of links are nearly all without one.
    losses: Option<Box<Losses>>,
    config: LinkConfig,
    /// Other traffic, with what became of it.
    background: Option<Box<(Background, BackgroundStats)>>,
    /// A rate that changes in time; none is a rate that does not.
    pace: Option<Box<Pace>>,
    /// Packets that wait in the low class.
    low: VecDeque<low::Waiting>,
    low_bytes: u64,
    low_packets: u64,
    marks: u64,
    /// Set while the direction has no other end ([`handover`]).
    pub(super) is_closed: bool,
    /// Arrivals up to this time were in flight when the other end was removed.
    cut_until: Option<Instant>,
    /// Until then the other direction has the medium.
    taken_until: Instant,
    /// The longest packets that it takes, if there is a limit.
    pub(super) mtu: Option<Mtu>,
    /// Header compression: the queue is then told the lengths that are sent.
    pub(super) compression: Option<Box<Compression>>,
}

impl Simplex {
    /// An idle link.
    pub fn new(config: LinkConfig, channel: Channel) -> Self {
        Self {
            in_flight: Ring::new(),
            free_at: Instant::ZERO,
            last_arrival: Instant::ZERO,
            delay: config.delay,
            to: NodeId::default(),
            clean: channel.is_clean(),
            hands_on: ahead::HandsOn::Nothing,
            low_watched: false,
            cares: false,
            waiting: Ring::new(),
            waiting_bytes: 0,
            last_wire: 0,
            overhead: config.overhead,
            last_sending: Interval::ZERO,
            ahead: None,
            counts: Counts::default(),
            queue: config.queue,
            queue_max: 0,
            taken: 0,
            low_waiting: 0,
            is_special: false,
            keeps: false,
            shares: false,
            sent_last: false,
            carries_frames: false,
            overtaken: false,
            tells: false,
            channel_on: true,
            onto: LinkId::NONE,
            channel,
            losses: None,
            config,
            background: None,
            pace: None,
            low: VecDeque::new(),
            low_bytes: 0,
            low_packets: 0,
            marks: 0,
            is_closed: false,
            cut_until: None,
            taken_until: Instant::ZERO,
            mtu: None,
            compression: None,
        }
        .noted()
    }

    /// Recomputes the flags that every packet reads.
    fn noted(mut self) -> Self {
        self.note();
        self
    }

    fn note(&mut self) {
        let config = &self.config;
        (self.delay, self.overhead, self.queue) = (config.delay, config.overhead, config.queue);
        self.cares = self.carries_frames
            || self.keeps
            || self.tells
            || self.compression.is_some()
            || self.mtu.is_some()
            || config.mark != QueueLimit::Unlimited;
        self.is_special = self.background.is_some() || self.pace.is_some() || config.fec.is_some();
    }

    /// Reports departures from now on; the waiting packets may be overtaken if packets are sent
    /// `ahead`.
    pub(super) fn tell(&mut self, ahead: bool) {
        self.tells = true;
        self.overtaken |= ahead && self.compression.is_none() && !self.has_background();
        self.note();
    }

    /// A protocol is on the link from now on.
    pub(super) fn carry_frames(&mut self) {
        self.carries_frames = true;
        self.note();
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
        self.noted()
    }

    /// Returns the direction with header compression.
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = Some(Box::new(compression));
        self.noted()
    }

    /// Returns the header compression, if any.
    pub fn compression(&self) -> Option<&Compression> {
        self.compression.as_deref()
    }

    /// Returns the direction with other traffic.
    pub fn with_background(mut self, background: Background) -> Self {
        self.background = Some(Box::new((background, BackgroundStats::default())));
        self.noted()
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
        self.noted()
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
        self.last_wire = 0;
        self.note();
    }

    /// Another channel, for packets handed over from now on.
    pub fn set_channel(&mut self, channel: Channel) {
        self.keep_order();
        self.channel = channel;
        self.clean = !self.channel_on || self.channel.is_clean();
    }

    /// The nodes at its ends are so many metres apart from now on, for radios of its channel.
    pub fn set_distance(&mut self, metres: f64) {
        self.channel.set_distance(metres);
    }

    /// Switches the channel on or off. While it is off, packets pass unchanged, and the channel
    /// keeps its state.
    pub fn switch_channel(&mut self, on: bool) {
        self.keep_order();
        self.channel_on = on;
        self.clean = !on || self.channel.is_clean();
    }

    /// Returns whether packets meet the channel.
    pub fn channel_on(&self) -> bool {
        self.channel_on
    }

    /// Makes the next packet arrive no earlier than those in flight.
    fn keep_order(&mut self) {
        if let Some(last) = self.in_flight.back() {
            self.last_arrival = self.last_arrival.max(last.arrives);
        }
    }

    /// Returns the channel.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Counters, of every packet that the queue took and of every loss that is
    /// decided, as if their time had come: see [`Self::stats_at`].
    pub fn stats(&self) -> LinkStats {
        let none = [0; DropCause::ALL.len()];
        let (all, low) = match self.losses.as_deref() {
            Some(losses) => (losses.all, losses.low),
            None => (none, none),
        };
        LinkStats {
            packets: self.counts.packets,
            bytes: self.counts.bytes,
            busy: self.counts.busy,
            queue_max: u64::from(self.queue_max),
            marks: self.marks,
            data: self.counts.data,
            drops: all,
            low_packets: self.low_packets,
            low_drops: low,
        }
    }

    /// Counters at `now`: what waits or is being sent has not left, and has not been
    /// lost behind the transmitter either. And the same of other traffic.
    pub fn stats_at(&self, now: Instant) -> (LinkStats, BackgroundStats) {
        let (mut stats, mut other) = (self.stats(), self.background_stats());
        if self.free_at > now {
            stats.busy -= stats.busy.min(self.free_at.since(now).as_nanos());
            let started = self.waiting.partition_point(|entry| entry.0 <= now);
            let sending = match started.checked_sub(1) {
                Some(last) => self.waiting[last].1,
                None => self.taken,
            };
            let waiting = self.waiting.iter().skip(started).map(|entry| entry.1);
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
        if let Some(losses) = &self.losses {
            for &(_, cause, low) in losses.later.iter().filter(|lost| lost.0 > now) {
                stats.drops[cause as usize] -= 1;
                stats.low_drops[cause as usize] -= u64::from(low);
            }
        }
        (stats, other)
    }

    /// Counts a packet that the link carried and its far end refused.
    pub fn count_drop(&mut self, cause: DropCause, priority: Priority) {
        let losses = self.losses.get_or_insert_default();
        losses.all[cause as usize] += 1;
        losses.low[cause as usize] += u64::from(priority == Priority::Low);
    }

    /// Counts a packet that came at `now` and that the channel will lose behind the
    /// transmitter.
    fn lose_later(&mut self, now: Instant, cause: DropCause, priority: Priority) {
        self.count_drop(cause, priority);
        let at = self.free_at;
        let later = &mut self.losses.get_or_insert_default().later;
        while later.front().is_some_and(|lost| lost.0 <= now) {
            later.pop_front();
        }
        later.push_back((at, cause, priority == Priority::Low));
    }

    /// Packets and IP bytes that wait for the transmitter at `now`, of both
    /// classes.
    #[inline]
    pub fn queued(&mut self, now: Instant) -> (u32, u64) {
        if self.is_special {
            self.run_background(now);
        }
        self.both_queued(now)
    }

    #[inline(always)] // as `take`
    fn both_queued(&mut self, now: Instant) -> (u32, u64) {
        let (packets, bytes) = self.normal_queued(now);
        if self.low_waiting == 0 {
            return (packets, bytes);
        }
        (packets + self.low_waiting, bytes + self.low_bytes)
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

    #[inline(always)] // as `take`
    fn normal_queued(&mut self, now: Instant) -> (u32, u64) {
        while let Some(&(starts, packet)) = self.waiting.front() {
            if starts > now {
                break;
            }
            self.waiting.drop_front();
            self.waiting_bytes -= u64::from(packet & LENGTH);
            self.taken = packet;
        }
        (self.waiting.len() as u32, self.waiting_bytes)
    }

    /// Returns the start of transmission and the IP length of each packet that waits in the normal
    /// class.
    pub fn departures(&self) -> impl Iterator<Item = (Instant, u32)> + '_ {
        let parts = |&(starts, packet): &(Instant, u32)| (starts, packet & LENGTH);
        self.waiting.iter().map(parts)
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
        !self.low_watched && (!self.cares || self.is_within(ip_len))
    }

    /// Returns whether the direction only queues and forwards: no compression, no link-layer
    /// protocol.
    #[inline]
    pub(super) fn only_forwards(&self) -> bool {
        !self.cares
    }

    /// Returns whether refusing long packets is the only other thing the direction does.
    #[cold]
    fn is_within(&self, ip_len: u32) -> bool {
        !self.carries_frames
            && !self.keeps
            && !self.tells
            && self.compression.is_none()
            && self.config.mark == QueueLimit::Unlimited
            && self.mtu.is_none_or(|mtu| ip_len <= mtu.bytes)
    }

    /// Packet number `packet` is on its way, behind those that are. Returns whether
    /// it is the first.
    #[inline(always)] // of each hop
    pub fn flies(&mut self, packet: PacketId, arrives: Instant) -> bool {
        let first = self.in_flight.is_empty();
        self.in_flight.push_back(InFlight { arrives, packet });
        first
    }

    /// Prefetches the packets that arrive and leave the queue after `others` more.
    #[inline]
    pub(super) fn prefetch(&self, others: usize) {
        self.in_flight.prefetch(others);
        self.waiting.prefetch(others);
    }

    /// A packet leaves the channel for the far end.
    pub(super) fn launch(
        &mut self,
        id: LinkId,
        packet: PacketId,
        at: Instant,
        overtakes: bool,
        outcomes: &mut Vec<Outcome>,
    ) {
        if overtakes {
            outcomes.push(Outcome::Overtakes(id, packet, at));
        } else if self.hands_on() {
            outcomes.push(Outcome::HandsOn(id, packet, at));
        } else if self.flies(packet, at) {
            outcomes.push(Outcome::Flies(id, at));
        }
    }

    /// Bytes that a packet will have on the wire if it goes next; one that may not be
    /// the next (`in_turn`) is not compressed.
    pub(super) fn prepare(&mut self, packet: &Packet, in_turn: bool) -> u32 {
        match &mut self.compression {
            Some(compression) => compression.prepare(packet, in_turn),
            None => packet.ip_len(),
        }
    }

    /// The queue took the packet that was prepared last.
    pub(super) fn commit(&mut self, packet: PacketId) {
        if let Some(compression) = &mut self.compression {
            compression.commit(packet);
        }
    }

    /// Returns when the last packet has left the transmitter.
    pub(super) fn left_at(&self) -> Instant {
        self.free_at
    }

    /// Packs the description of a packet: its length and flags.
    pub(super) fn what(ip_len: u32, data: bool, priority: Priority, ahead: bool) -> u32 {
        let first = if ahead { AHEAD } else { 0 };
        let kind = match (priority, data) {
            (Priority::Low, _) => LOW,
            (Priority::Normal, true) => DATA,
            (Priority::Normal, false) => 0,
        };
        ip_len | kind | first
    }

    /// A packet was lost whose last bit left or would have left at `at`.
    pub(super) fn frame_lost(&mut self, now: Instant, cause: DropCause, at: Instant) {
        if let Some(compression) = &mut self.compression {
            compression.lost(now, cause, at + self.config.delay);
        }
    }

    /// Counts a packet that was marked.
    pub fn count_mark(&mut self) {
        self.marks += 1;
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
        let busy = self.free_at > now;
        if busy && self.queue.is_full(packets, bytes, ip_len) {
            return false;
        }
        let (starts, waits) = self.occupy::<ANY>(now, ip_len);
        if waits {
            self.waiting.push_back((starts, packet));
            self.waiting_bytes += u64::from(ip_len);
            self.queue_max = self.queue_max.max(packets + 1);
        } else {
            self.taken = packet;
        }
        true
    }

    /// The transmitter takes a packet that came at `now` when it is free. Returns
    /// when that is, and whether it has to wait.
    #[inline(always)] // as `take`
    fn occupy<const ANY: bool>(&mut self, now: Instant, ip_len: u32) -> (Instant, bool) {
        let special = ANY && self.is_special;
        let mut waits = self.free_at > now;
        let mut starts = self.free_at.max(now);
        let mut wire = ip_len + self.overhead;
        if special {
            wire = self.config.coded(wire);
        }
        if self.last_wire != wire {
            self.last_wire = wire;
            self.last_sending = self.config.sending(wire);
        }
        let mut sending = self.last_sending;
        if special && let Some(pace) = &mut self.pace {
            let (begins, ends) = pace.send(self.free_at, now, wire);
            sending = ends.since(starts);
            starts = begins;
            waits = starts > now;
            self.free_at = ends;
        } else {
            self.free_at = starts + sending;
        }
        self.counts.busy += sending.as_nanos();
        (starts, waits)
    }

    /// Hands over a packet of `ip_len` bytes without data at `now`, first in, first out.
    pub fn offer(&mut self, now: Instant, ip_len: u32, priority: Priority) -> Fate {
        self.take(now, ip_len, priority, false)
    }

    /// Hands over a packet of `ip_len` bytes at `now`, first in, first out.
    #[inline(always)] // so that the fate of most packets stays in registers
    pub(super) fn take(
        &mut self,
        now: Instant,
        ip_len: u32,
        priority: Priority,
        data: bool,
    ) -> Fate {
        if self.is_special || self.low_waiting > 0 {
            return self.take_any(now, ip_len, priority, data);
        }
        let waiting = self.normal_queued(now);
        self.take_behind::<false>(now, ip_len, priority, data, waiting)
    }

    /// Takes a packet in the general case, with all that may be beside a queue of one class.
    #[inline(never)] // what most packets take is inlined
    fn take_any(&mut self, now: Instant, ip_len: u32, priority: Priority, data: bool) -> Fate {
        let waiting = self.queued(now);
        self.take_behind::<true>(now, ip_len, priority, data, waiting)
    }

    /// Takes a packet behind this many waiting packets and bytes. With `ANY` the transmitter may be
    /// special.
    #[inline(always)] // as `take`
    fn take_behind<const ANY: bool>(
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
        self.leave(now, packet, priority)
    }

    /// The transmitter, which is free, takes a packet at `now`.
    fn send(&mut self, now: Instant, packet: u32) -> Fate {
        self.occupy::<true>(now, packet & LENGTH);
        self.taken = packet;
        self.leave(now, packet, low::priority(packet))
    }

    /// Decides the fate of the last packet, at `now`, when it has left the transmitter.
    #[inline(always)] // as `take`
    fn leave(&mut self, now: Instant, packet: u32, priority: Priority) -> Fate {
        let ip_len = packet & LENGTH;
        self.counts.packets += 1;
        self.counts.data += u64::from(packet & DATA != 0);
        if priority == Priority::Low {
            self.low_packets += 1;
        }
        self.counts.bytes += u64::from(ip_len);
        if self.clean {
            // Later than its own time only after the link was changed.
            let at = (self.free_at + self.delay).max(self.last_arrival);
            return Fate::Arrives {
                at,
                corrupt: false,
                copies: 0,
                overtakes: false,
            };
        }
        let passage = self.channel.pass(self.free_at, ip_len + self.overhead);
        if let Verdict::Drop(cause) = passage.verdict {
            self.lose_later(now, cause, priority);
            return Fate::Lost {
                cause,
                at: self.free_at,
            };
        }
        let mut at = self.free_at + self.delay + passage.hold;
        if !passage.may_overtake {
            // Rounding must not swap what the channel keeps in order.
            at = at.max(self.last_arrival);
            self.last_arrival = at;
        }
        Fate::Arrives {
            at,
            corrupt: passage.verdict == Verdict::Corrupt,
            copies: passage.copies,
            overtakes: passage.may_overtake,
        }
    }
}

#[cfg(test)]
mod tests;
