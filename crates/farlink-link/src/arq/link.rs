//! Link with a link-layer protocol: two entities, their MACs and the channel of each direction. The
//! caller passes in the time. The two MACs send independently, or alternate frame by frame if they
//! share a medium.
//!
//! The link holds a packet until it is delivered or lost. A packet is lost when neither the sender,
//! nor the receiver, nor a frame in flight refers to it any more.

use super::frame::{Frame, FrameKind, Item, Outcome};
use super::limits::ArqError;
use super::{Entity, Protocol};
use crate::link::config::{LinkConfig, LinkStats};
use crate::mac::{Confirmed, Mac};
use farlink_channel::{Channel, DropCause, Verdict};
use farlink_tcp::{Instant, Priority};
use farlink_wire::packet::{Packet, Payload};
use std::collections::VecDeque;

/// Protocol of a link and the lengths of its frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArqConfig {
    /// Protocol of both ends.
    pub protocol: Protocol,
    /// Bytes that a frame adds to its packet.
    pub header: u32,
    /// Bytes of a supervisory or unnumbered frame that carries no packet.
    pub supervisory: u32,
    /// Bytes of a status frame.
    pub status: u32,
}

impl ArqConfig {
    /// Returns the length of a frame in bytes.
    #[inline]
    fn bytes(&self, frame: &Frame) -> u32 {
        match frame.kind {
            FrameKind::Information | FrameKind::Unnumbered => frame.item.len + self.header,
            FrameKind::Status => self.status,
            _ => self.supervisory,
        }
    }
}

/// Packet that a queue discipline passes to the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Number of the packet.
    pub packet: u32,
    /// Length of the IP packet in bytes.
    pub ip_len: u32,
    /// Transport-layer data of the packet.
    pub tag: Tag,
}

/// Queue disciplines of both directions: removes the packet of a direction that is sent next.
pub type Source<'a> = dyn FnMut(usize) -> Option<Taken> + 'a;

/// Error for an offered packet: the queue in front of the window is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// Transport-layer data in a packet (stream and sequence range), which identifies retransmissions
/// of a transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tag {
    /// Flow and direction of the data.
    pub stream: u32,
    /// First sequence number.
    pub seq: u32,
    /// Bytes; 0 for none.
    pub len: u32,
    /// Set if the packet has low priority. Only the counters use it, because the queue of a link
    /// with a protocol has one class.
    pub low: bool,
}

impl Tag {
    /// Returns the tag of a packet.
    pub fn of(packet: &Packet) -> Self {
        let stream = packet.flow.0 << 1 | u32::from(packet.from_opener);
        let low = packet.priority() == Priority::Low;
        match &packet.payload {
            Payload::Tcp(segment) => {
                let (from, to) = match packet.piece {
                    // TCP's data begin after its header.
                    Some(piece) => {
                        let data = |at: u32| at.saturating_sub(segment.header_len());
                        let from = u32::from(piece.offset);
                        (data(from), data(from + u32::from(piece.len)))
                    }
                    None => (0, segment.body.len()),
                };
                Self {
                    stream,
                    seq: segment.seq.0.wrapping_add(from),
                    len: to - from,
                    low,
                }
            }
            // Only the first fragment of a datagram gets a range, because later fragments repeat no
            // data.
            Payload::Udp(_) if packet.piece.is_some_and(|piece| piece.offset > 0) => Self {
                low,
                ..Self::default()
            },
            Payload::Udp(datagram) => Self {
                stream,
                seq: datagram.number as u32,
                len: u32::from(!datagram.body.is_empty()),
                low,
            },
            // The link does not parse raw packets, so it recognises no retransmissions among them.
            Payload::Raw(_) => Self::default(),
        }
    }

    /// Returns whether both tags share a byte of data.
    fn overlaps(&self, other: &Self) -> bool {
        let after = self.seq.wrapping_sub(other.seq);
        self.stream == other.stream && (after < other.len || after.wrapping_neg() < self.len)
    }
}

/// Outcome of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// Arrived at the far end.
    Arrived {
        /// Direction, 0 or 1: the end that sent the packet.
        from: usize,
        /// Number of the packet.
        packet: u32,
    },
    /// A frame with the packet has left the transmitter. Reported only after
    /// [`ArqLink::report_departures`].
    Sent {
        /// Direction, 0 or 1: the end that sent the packet or frame.
        from: usize,
        /// Number of the packet.
        packet: u32,
        /// Set if an earlier frame with the packet had already left.
        again: bool,
    },
    /// Lost on the link.
    Lost {
        /// Direction, 0 or 1: the end that sent the packet or frame.
        from: usize,
        /// Number of the packet.
        packet: u32,
        /// Cause of the loss.
        cause: DropCause,
    },
}

/// Frame counters of one direction. Frames of this direction's sender are counted unless noted
/// otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ArqStats {
    /// Number of transmissions of frames that carry a packet.
    pub information: u64,
    /// Retransmissions among these.
    pub retransmitted: u64,
    /// Frames without a packet.
    pub supervisory: u64,
    /// Frames of any kind that the channel lost or corrupted.
    pub lost: u64,
    /// Received frames whose packet had arrived before.
    pub duplicates: u64,
    /// Received frames that were discarded because they were out of sequence or incoming while the link
    /// was re-established.
    pub discarded: u64,
    /// Number of times that the sender re-established the link.
    pub resets: u64,
    /// Packets offered while an earlier packet with the same transport data was unacknowledged on
    /// the link and undelivered.
    pub competing: u64,
    /// Packets that arrived for the first time; `delay` sums their delays.
    pub accepted: u64,
    /// Sum over `accepted` packets of the ns from handover to the MAC until arrival.
    pub delay: u64,
    /// Frames that the MAC gave up because the medium was never free.
    pub access_failures: u64,
    /// Maximum number of unacknowledged frames.
    pub window_max: u64,
    /// Integral of the number of unacknowledged frames over time (frames times ns), up to its last
    /// change.
    window_area: u128,
}

/// Record of a frame that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentFrame {
    /// Time at which the last bit left the transmitter.
    pub at: Instant,
    /// Direction, 0 or 1: the end that sent the packet or frame.
    pub from: usize,
    /// Frame that was sent.
    pub frame: Frame,
    /// Length on the wire in bytes.
    pub bytes: u32,
    /// Number of the packet in the frame, if the frame carries one that has not arrived yet.
    pub packet: Option<u32>,
    /// Time at which the first bit left the transmitter.
    pub began: Instant,
    /// Set if an earlier frame carried the same packet.
    pub again: bool,
    /// Set if the channel lost or corrupted the frame.
    pub lost: bool,
}

/// Packet that the link holds.
#[derive(Clone, Copy, Debug, Default)]
struct CarriedPacket {
    packet: u32,
    /// Number of references to the packet: from the sender, from frames in flight and from the
    /// receiver.
    holders: u32,
    /// Number of frames with the packet that were handed to the MAC.
    times: u32,
    accepted: bool,
    delivered: bool,
    /// Set once a frame with the packet has left the transmitter.
    left: bool,
    first_sent: Instant,
    tag: Tag,
}

/// State of one direction.
#[derive(Debug)]
struct Half {
    config: LinkConfig,
    channel: Channel,
    mac: Mac,
    in_flight: VecDeque<(Instant, Frame)>,
    last_arrival: Instant,
    held: Vec<CarriedPacket>,
    free: Vec<u32>,
    outstanding: u64,
    changed_at: Instant,
    reported: (u32, u64),
    /// Packets and bytes that wait in a queue discipline; `None` without a discipline.
    disciplined: Option<(u32, u64)>,
    stats: LinkStats,
    frames: ArqStats,
}

/// Link with a link-layer protocol and the state of its directions.
#[derive(Debug)]
pub struct ArqLink {
    config: ArqConfig,
    entities: [Entity; 2],
    halves: [Half; 2],
    outcomes: Vec<Outcome>,
    /// Sent frames, if recorded.
    sent: Option<Vec<SentFrame>>,
    /// Set if the link reports the departure of each frame with a packet.
    reports_departures: bool,
    /// Direction that sent last, for a shared medium.
    sent_last: Option<usize>,
}

impl ArqLink {
    /// Creates an idle link. Each direction has its parameters, a channel and a MAC.
    ///
    /// # Errors
    /// Fails if a parameter of the protocol is invalid.
    pub fn new(
        config: ArqConfig,
        halves: [(LinkConfig, Channel, Mac); 2],
    ) -> Result<Self, ArqError> {
        let entity = Entity::new(&config.protocol)?;
        Ok(Self {
            config,
            entities: [entity.clone(), entity],
            halves: halves.map(|(config, channel, mac)| Half {
                config,
                channel,
                mac,
                in_flight: VecDeque::new(),
                last_arrival: Instant::ZERO,
                held: Vec::new(),
                free: Vec::new(),
                outstanding: 0,
                changed_at: Instant::ZERO,
                reported: (0, 0),
                disciplined: None,
                stats: LinkStats::default(),
                frames: ArqStats::default(),
            }),
            outcomes: Vec::new(),
            sent: None,
            reports_departures: false,
            sent_last: None,
        })
    }

    /// Makes both directions share one medium from now on.
    pub fn share(&mut self) {
        self.sent_last = Some(1);
    }

    /// Makes the window of a direction take its packets from a queue discipline from now on.
    pub fn discipline(&mut self, from: usize) {
        self.halves[from].disciplined = Some((0, 0));
    }

    /// Notes the packets and bytes that wait in the queue discipline of a direction.
    pub fn note_disciplined(&mut self, from: usize, queued: (u32, u64)) {
        let half = &mut self.halves[from];
        half.disciplined = Some(queued);
        half.stats.queue_max = half.stats.queue_max.max(queued.0.into());
    }

    /// Returns whether a packet of a queue discipline could be sent at once.
    pub fn takes_new(&self, from: usize) -> bool {
        self.may_send(from) && self.entities[from].takes_new()
    }

    /// Makes the link report departures of frames with packets from now on.
    pub fn report_departures(&mut self) {
        self.reports_departures = true;
    }

    /// Records every frame sent from now on, for [`Self::drain_sent`].
    pub fn watch(&mut self) {
        self.sent = Some(Vec::new());
    }

    /// Removes and returns the recorded frames, in the order in which they were sent.
    pub fn drain_sent(&mut self) -> impl Iterator<Item = SentFrame> + '_ {
        self.sent.iter_mut().flat_map(|sent| sent.drain(..))
    }

    /// Returns the packet counters of a direction.
    pub fn stats(&self, from: usize) -> &LinkStats {
        &self.halves[from].stats
    }

    /// Returns the frame counters of a direction.
    pub fn arq_stats(&self, from: usize) -> &ArqStats {
        &self.halves[from].frames
    }

    /// Returns the integral of a direction's unacknowledged frames over time (frames times ns)
    /// until `now`.
    pub fn window_area(&self, from: usize, now: Instant) -> u128 {
        let half = &self.halves[from];
        let since = u128::from(now.since(half.changed_at).as_nanos());
        half.frames.window_area + since * u128::from(half.outstanding)
    }

    /// Returns the number and bytes of the packets that wait in front of a window.
    pub fn waiting(&self, from: usize) -> (u32, u64) {
        let (packets, bytes) = self.entities[from].waiting();
        match self.halves[from].disciplined {
            None => (packets, bytes),
            Some((more, longer)) => (packets + more, bytes + longer),
        }
    }

    /// Returns the number and bytes of the waiting packets if they changed since the last call.
    pub fn waiting_changed(&mut self, from: usize) -> Option<(u32, u64)> {
        let now = self.waiting(from);
        let reported = std::mem::replace(&mut self.halves[from].reported, now);
        (reported != now).then_some(now)
    }

    /// Counts a packet that the link delivered and the node at the far end dropped.
    pub fn count_drop(&mut self, from: usize, cause: DropCause, priority: Priority) {
        self.halves[from].count_drop(cause, priority == Priority::Low);
    }

    /// Returns the next deadline; [`Instant::MAX`] for none.
    #[inline]
    pub fn deadline(&self) -> Instant {
        let half = |half: &Half| {
            let arrival = half.in_flight.front().map_or(Instant::MAX, |first| first.0);
            half.mac.done_at().min(arrival)
        };
        let [a, b] = &self.entities;
        half(&self.halves[0])
            .min(half(&self.halves[1]))
            .min(a.deadline())
            .min(b.deadline())
    }

    /// Returns whether an ECN-capable packet of `ip_len` bytes is marked.
    pub fn congested(&self, from: usize, ip_len: u32) -> bool {
        let (packets, bytes) = self.waiting(from);
        packets > 0
            && self.halves[from]
                .config
                .mark
                .is_full(packets, bytes, ip_len)
    }

    /// Counts an ECN mark.
    pub fn count_mark(&mut self, from: usize) {
        self.halves[from].stats.marks += 1;
    }

    /// Offers a packet of `ip_len` bytes.
    ///
    /// # Errors
    /// Fails if the queue is full; the caller then keeps the packet.
    pub fn offer(
        &mut self,
        now: Instant,
        from: usize,
        packet: u32,
        ip_len: u32,
        tag: Tag,
    ) -> Result<(), Full> {
        let (packets, bytes) = self.waiting(from);
        let waits = packets > 0 || !self.may_send(from) || !self.entities[from].is_open();
        let half = &mut self.halves[from];
        if waits && half.config.queue.is_full(packets, bytes, ip_len) {
            half.count_drop(DropCause::Congestion, tag.low);
            return Err(Full);
        }
        self.accept(
            now,
            from,
            &Taken {
                packet,
                ip_len,
                tag,
            },
        );
        self.feed_mac(now, from, &mut |_| None);
        let waits = u64::from(self.waiting(from).0);
        let stats = &mut self.halves[from].stats;
        stats.queue_max = stats.queue_max.max(waits);
        Ok(())
    }

    /// Sends the first packet of the queue discipline of a direction, if the window and the MAC
    /// take it.
    pub fn feed(&mut self, now: Instant, from: usize, source: &mut Source<'_>) {
        self.feed_mac(now, from, source);
    }

    /// Puts a packet into the queue in front of the window.
    #[inline]
    fn accept(&mut self, now: Instant, from: usize, taken: &Taken) {
        let Taken {
            packet,
            ip_len,
            tag,
        } = *taken;
        let (half, entity) = (&mut self.halves[from], &mut self.entities[from]);
        if tag.len > 0 {
            let recovering = |item: Item| {
                let held = &half.held[item.token as usize];
                !held.delivered && held.tag.overlaps(&tag)
            };
            half.frames.competing += u64::from(entity.unacknowledged().any(recovering));
        }
        let token = half.store(CarriedPacket {
            packet,
            holders: 1,
            tag,
            ..CarriedPacket::default()
        });
        entity.offer(Item { token, len: ip_len });
        let bytes = ip_len + self.config.header + half.config.overhead;
        half.mac.on_offer(now, half.config.coded(bytes));
    }

    /// Processes all arrivals, ends of transmission and time-outs until `now`.
    pub fn advance(&mut self, now: Instant, outputs: &mut Vec<Output>) {
        self.advance_with(now, outputs, &mut |_| None);
    }

    /// Does as [`Self::advance`], and takes packets from queue disciplines.
    pub fn advance_with(
        &mut self,
        now: Instant,
        outputs: &mut Vec<Output>,
        source: &mut Source<'_>,
    ) {
        while self.deadline() <= now {
            for from in 0..2 {
                while let Some(frame) = self.halves[from].arrived(now) {
                    self.entities[1 - from].receive(now, &frame, &mut self.outcomes);
                    self.apply_outcomes(now, 1 - from, outputs);
                }
            }
            for from in 0..2 {
                if let Some(Confirmed { frame, sent }) = self.halves[from].mac.confirm(now) {
                    self.entities[from].confirm(now, &frame);
                    if sent {
                        self.transmit(now, from, frame, outputs);
                    } else {
                        self.halves[from].on_access_failure(from, &frame, outputs);
                    }
                }
            }
            for end in 0..2 {
                if self.entities[end].deadline() <= now {
                    self.entities[end].timeout(now, &mut self.outcomes);
                    self.apply_outcomes(now, end, outputs);
                }
            }
            let first = self.sent_last.map_or(0, |last| 1 - last);
            for from in [first, 1 - first] {
                self.feed_mac(now, from, source);
            }
        }
    }

    /// Returns whether the MAC accepts a frame.
    #[inline]
    fn may_send(&self, from: usize) -> bool {
        self.halves[from].mac.is_idle()
            && (self.sent_last.is_none() || self.halves[1 - from].mac.is_idle())
    }

    /// Gives the next frame to the MAC if the MAC accepts one.
    #[inline]
    fn feed_mac(&mut self, now: Instant, from: usize, source: &mut Source<'_>) {
        let may_send = self.may_send(from);
        if may_send
            && self.halves[from].disciplined.is_some()
            && self.entities[from].takes_new()
            && let Some(taken) = source(from)
        {
            self.accept(now, from, &taken);
        }
        let half = &mut self.halves[from];
        if may_send && let Some(frame) = self.entities[from].poll_frame(&mut self.outcomes) {
            if let Some(last) = &mut self.sent_last {
                *last = from;
            }
            if frame.carries() {
                half.count_information(now, frame.item);
            } else {
                half.frames.supervisory += 1;
            }
            let bytes = self.config.bytes(&frame) + half.config.overhead;
            let bytes = half.config.coded(bytes);
            let air = half.mac.request(now, frame, bytes);
            half.stats.busy += air.as_nanos();
            // The new frame takes over the reference of the released packet, so the count cannot
            // reach 0 here.
            for outcome in self.outcomes.drain(..) {
                if let Outcome::Done(token) = outcome {
                    half.held[token as usize].holders -= 1;
                }
            }
        }
        half.watch_window(now, self.entities[from].outstanding());
    }

    /// Handles the end of a frame's transmission.
    fn transmit(&mut self, now: Instant, from: usize, frame: Frame, outputs: &mut Vec<Output>) {
        let half = &mut self.halves[from];
        let bytes = self.config.bytes(&frame) + half.config.overhead;
        let passage = half.channel.pass(now, bytes);
        if frame.carries() {
            half.count_packet(frame.item);
        }
        if let Some(sent) = &mut self.sent {
            let held = frame
                .carries()
                .then(|| &half.held[frame.item.token as usize]);
            let takes = half.config.sending(half.config.coded(bytes));
            sent.push(SentFrame {
                at: now,
                from,
                frame,
                bytes: half.config.coded(bytes),
                packet: held.filter(|held| !held.delivered).map(|held| held.packet),
                began: Instant::from_nanos(now.as_nanos().saturating_sub(takes.as_nanos())),
                again: frame.carries() && half.held[frame.item.token as usize].times > 1,
                lost: passage.verdict != Verdict::Pass,
            });
        }
        if self.reports_departures && frame.carries() {
            let held = &half.held[frame.item.token as usize];
            outputs.push(Output::Sent {
                from,
                packet: held.packet,
                again: held.times > 1,
            });
        }
        let cause = match passage.verdict {
            Verdict::Pass => {
                if frame.carries() {
                    half.held[frame.item.token as usize].holders += u32::from(passage.copies);
                }
                let mut at = now + half.config.delay + passage.hold;
                if !passage.may_overtake {
                    at = at.max(half.last_arrival);
                    half.last_arrival = at;
                }
                for _ in 0..=passage.copies {
                    half.push_in_flight(at, frame);
                }
                return;
            }
            // The receiver detects corruption by the frame check sequence.
            Verdict::Corrupt => DropCause::Checksum,
            Verdict::Drop(cause) => cause,
        };
        half.frames.lost += 1;
        if frame.carries() {
            let cause = match self.config.protocol {
                Protocol::Plain => cause,
                _ => DropCause::LinkGiveUp,
            };
            half.release(from, frame.item.token, cause, outputs);
        }
    }

    /// Applies the outcomes that an entity reported.
    #[inline]
    fn apply_outcomes(&mut self, now: Instant, end: usize, outputs: &mut Vec<Output>) {
        let (outgoing, incoming) = (end, 1 - end);
        for outcome in self.outcomes.drain(..) {
            match outcome {
                Outcome::Accepted(token) => self.halves[incoming].count_accepted(now, token),
                Outcome::Deliver(token) => {
                    let half = &mut self.halves[incoming];
                    let held = &mut half.held[token as usize];
                    if held.delivered {
                        // A second delivery happens only if a number is misread after a wrap.
                        half.frames.duplicates += 1;
                    } else {
                        held.delivered = true;
                        outputs.push(Output::Arrived {
                            from: incoming,
                            packet: held.packet,
                        });
                    }
                    half.release(incoming, token, DropCause::LinkGiveUp, outputs);
                }
                Outcome::Discard(token) => {
                    let half = &mut self.halves[incoming];
                    if half.held[token as usize].accepted {
                        half.frames.duplicates += 1;
                    } else {
                        half.frames.discarded += 1;
                    }
                    half.release(incoming, token, DropCause::LinkGiveUp, outputs);
                }
                Outcome::Done(token) => {
                    self.halves[outgoing].release(outgoing, token, DropCause::LinkGiveUp, outputs);
                }
                Outcome::Reset => self.halves[outgoing].frames.resets += 1,
            }
        }
    }
}

impl Half {
    /// Stores a packet. Returns its token.
    #[inline]
    fn store(&mut self, held: CarriedPacket) -> u32 {
        if let Some(token) = self.free.pop() {
            self.held[token as usize] = held;
            token
        } else {
            self.held.push(held);
            (self.held.len() - 1) as u32
        }
    }

    /// Drops one reference to a packet. When none is left, an undelivered packet is lost.
    #[inline]
    fn release(&mut self, from: usize, token: u32, cause: DropCause, outputs: &mut Vec<Output>) {
        let held = &mut self.held[token as usize];
        held.holders -= 1;
        if held.holders > 0 {
            return;
        }
        self.free.push(token);
        if !held.delivered {
            outputs.push(Output::Lost {
                from,
                packet: held.packet,
                cause,
            });
            let low = held.tag.low;
            self.count_drop(cause, low);
        }
    }

    /// Handles a frame that the MAC gave up.
    #[cold]
    fn on_access_failure(&mut self, from: usize, frame: &Frame, outputs: &mut Vec<Output>) {
        self.frames.access_failures += 1;
        if frame.carries() {
            self.release(from, frame.item.token, DropCause::LinkGiveUp, outputs);
        }
    }

    fn count_drop(&mut self, cause: DropCause, low: bool) {
        self.stats.drops[cause as usize] += 1;
        self.stats.low_drops[cause as usize] += u64::from(low);
    }

    /// Adds a frame to those in flight, sorted by arrival time.
    #[inline]
    fn push_in_flight(&mut self, at: Instant, frame: Frame) {
        let mut place = self.in_flight.len();
        while place > 0 && self.in_flight[place - 1].0 > at {
            place -= 1;
        }
        self.in_flight.insert(place, (at, frame));
    }

    #[inline]
    fn arrived(&mut self, now: Instant) -> Option<Frame> {
        let &(at, frame) = self.in_flight.front()?;
        (at <= now).then(|| {
            self.in_flight.pop_front();
            frame
        })
    }

    #[inline]
    fn count_information(&mut self, now: Instant, item: Item) {
        let held = &mut self.held[item.token as usize];
        held.holders += 1;
        self.frames.information += 1;
        held.times += 1;
        if held.times > 1 {
            self.frames.retransmitted += 1;
        } else {
            held.first_sent = now;
        }
    }

    /// Counts a packet when the first frame with it leaves the transmitter.
    #[inline]
    fn count_packet(&mut self, item: Item) {
        let held = &mut self.held[item.token as usize];
        if !held.left {
            held.left = true;
            self.stats.packets += 1;
            self.stats.bytes += u64::from(item.len);
            self.stats.data += u64::from(held.tag.len > 0);
            self.stats.low_packets += u64::from(held.tag.low);
        }
    }

    #[inline]
    fn count_accepted(&mut self, now: Instant, token: u32) {
        let held = &mut self.held[token as usize];
        if !held.accepted {
            held.accepted = true;
            self.frames.accepted += 1;
            self.frames.delay += now.since(held.first_sent).as_nanos();
        }
    }

    #[inline]
    fn watch_window(&mut self, now: Instant, outstanding: u64) {
        if outstanding != self.outstanding {
            let since = u128::from(now.since(self.changed_at).as_nanos());
            self.frames.window_area += since * u128::from(self.outstanding);
            self.frames.window_max = self.frames.window_max.max(outstanding);
            self.outstanding = outstanding;
            self.changed_at = now;
        }
    }
}
