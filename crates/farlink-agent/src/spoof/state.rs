//! State of one connection: data acknowledged in the far end's name, and cached segments that the
//! agent must deliver.

use super::super::middlebox::{Act, Note, Out};
use super::super::view::{Path, View};
use super::Settings;
use super::ends::{FarEnd, Fins, Handshake};
use super::passed::Passed;
use super::store::{Store, THRESHOLD};
use farlink_tcp::config::RtoConfig;
use farlink_tcp::rto::RttEstimator;
use farlink_tcp::{Flags, Instant, Options, SackBlock, SackBlocks, Segment, Seq, Timestamps};
use farlink_wire::packet::Packet;

/// Memory (bytes) that a cached segment takes in addition to its data. Because of it, the buffer
/// also limits the number of small segments.
const SEGMENT_COST: u64 = 128;

/// Connection whose data flows to the wireless side.
#[derive(Debug)]
pub(super) struct Spoofed {
    /// Path from the far end to the sender.
    path: Path,
    /// Source and destination port of `path`.
    ports: (u16, u16),
    handshake: Handshake,
    /// Sequence number after the data received in order.
    next: Seq,
    /// Sequence number after the data acknowledged to the sender. `acked` is below `next` if some
    /// data passed without a copy.
    acked: Seq,
    /// Sequence number after the data that the far end has acknowledged.
    confirmed: Seq,
    far: FarEnd,
    /// Set if some cached data waits for the far end's window.
    waits: bool,
    /// Timestamp of the sender with the last data in order.
    clock: u32,
    /// Latest timestamp of the sender in any segment.
    latest: Option<u32>,
    /// Right edge of the widest window announced to the sender, and the last announced window
    /// field.
    edge: Seq,
    field: Option<u16>,
    /// Segments that the far end has not acknowledged.
    cache: Store,
    /// Data beyond a hole in front of the agent that passed without a copy.
    passed: Passed,
    duplicates: usize,
    /// Sequence number up to which losses are being repaired.
    recover: Option<Seq>,
    rtt: RttEstimator,
    pub(super) deadline: Option<Instant>,
    tries: u32,
    fins: Fins,
    /// Time of the last packet, and the deadline in the agent's list of timers.
    pub(super) last: Instant,
    pub(super) timer: Option<Instant>,
    pub(super) count: Count,
    /// Acts since the last call of [`Self::emit_trace`].
    acts: Vec<(Act, Seq)>,
}

/// Counters of a connection.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Count {
    pub(super) spoofed: u64,
    pub(super) cached: u64,
    pub(super) suppressed: u64,
    pub(super) resent: u64,
    pub(super) timeouts: u64,
    pub(super) no_room: u64,
}

/// Decision on a segment of either end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Disposition {
    Forward,
    /// Forward with the ACK number that the sender already has.
    ForwardRewritten,
    /// The agent has processed the segment and forwards nothing.
    Absorb,
    /// Drop an ACK that the sender already has.
    Suppress,
    /// Forward as a duplicate of the ACK that the sender already has.
    ForwardDuplicate,
}

impl Spoofed {
    /// Creates the state at the first SYN. `path` leads from the far end to the sender.
    pub(super) fn new(path: Path, ports: (u16, u16), now: Instant) -> Self {
        Self {
            path,
            ports,
            handshake: Handshake::new(now),
            next: Seq::default(),
            acked: Seq::default(),
            confirmed: Seq::default(),
            far: FarEnd::new(now),
            waits: false,
            clock: 0,
            latest: None,
            edge: Seq::default(),
            field: None,
            cache: Store::new(),
            passed: Passed::default(),
            duplicates: 0,
            recover: None,
            rtt: RttEstimator::new(RtoConfig::default()),
            deadline: None,
            tries: 0,
            fins: Fins::default(),
            last: now,
            timer: None,
            count: Count::default(),
            acts: Vec::new(),
        }
    }

    /// Returns whether this SYN of the sender opens a new connection.
    pub(super) fn is_other(&self, syn: &Segment) -> bool {
        self.handshake
            .near
            .as_ref()
            .is_some_and(|(isn, _)| *isn != syn.seq)
    }

    /// Records the sender's SYN.
    pub(super) fn near_syn(&mut self, syn: &Segment) {
        if self.handshake.near.is_some() {
            self.handshake.syn_at = None;
            return;
        }
        let first = syn.seq.at(1);
        self.handshake.near = Some((syn.seq, syn.options.clone()));
        (self.next, self.acked, self.confirmed) = (first, first, first);
        self.edge = first.at(self.far.window);
    }

    /// Records the far end's SYN.
    pub(super) fn far_syn(&mut self, syn: &Segment, now: Instant) {
        if self.handshake.far.is_some() {
            return;
        }
        if let (Some(at), true) = (self.handshake.syn_at, self.handshake.near.is_some()) {
            self.cache.round_trip(now.since(at));
        }
        self.handshake.far = Some(syn.options.clone());
        self.far.next = syn.seq.at(1);
        self.far.window = u64::from(syn.window);
        self.edge = self.acked.at(self.far.window);
        self.far.set_clock(syn);
    }

    /// Stores the sender's timestamp if it is later than the latest (RFC 7323, 5.2).
    fn store_timestamp(&mut self, segment: &Segment) {
        if let Some(stamps) = segment.options.timestamps {
            let is_later = |latest: u32| stamps.value.wrapping_sub(latest) < 1 << 31;
            if self.latest.is_none_or(is_later) {
                self.latest = Some(stamps.value);
            }
        }
    }

    /// Returns the bytes that were acknowledged to the sender and not confirmed by the far end.
    pub(super) fn unconfirmed(&self) -> u64 {
        u64::try_from(self.acked.diff(self.confirmed)).unwrap_or(0)
    }

    /// Returns the bytes of cached data.
    pub(super) fn held(&self) -> u64 {
        self.cache.bytes()
    }

    /// Handles a segment of the sender.
    pub(super) fn on_sender_segment(
        &mut self,
        settings: &Settings,
        segment: &Segment,
        packet: impl FnOnce() -> Packet,
        now: Instant,
        out: &mut Vec<Packet>,
    ) -> Disposition {
        self.last = now;
        self.handshake.established = true;
        self.fins.on_segment(1, segment);
        self.store_timestamp(segment);
        let len = segment.body.len();
        if !self.handshake.is_complete() || segment.dummy {
            return Disposition::Forward;
        }
        if len == 0 {
            // A keep-alive probe gets an answer.
            if segment.seq_len() == 0 && segment.seq.diff(self.acked) < 0 {
                self.acknowledge(settings, None, out);
            }
            return Disposition::Forward;
        }
        let (start, end) = (segment.seq, segment.seq.at(u64::from(len)));
        let disposition = if segment.flags.has(Flags::FIN) {
            Disposition::Forward
        } else {
            Disposition::Absorb
        };
        if end.diff(self.acked) <= 0 {
            // The ACK of this data was lost. The far end or the agent has the data.
            self.acknowledge(settings, None, out);
            return disposition;
        }
        if let (Some(stamps), true) = (segment.options.timestamps, start.diff(self.next) <= 0) {
            self.clock = stamps.value;
        }
        if start.diff(self.edge) >= 0 {
            // A probe of a closed window.
            self.acknowledge(settings, None, out);
            return Disposition::Absorb;
        }
        if self.cache.covers(start, end) {
            // The segment has already passed. The agent retransmits its copy if necessary.
            if self.acked == self.next {
                self.acknowledge(settings, Some(start), out);
            }
            return disposition;
        }
        let fits = self.has_room(settings, len);
        let passed = end.diff(self.next) <= 0;
        let waits = fits && self.has_to_wait(end);
        if fits {
            self.waits |= waits;
            self.count.cached += 1;
            self.acts.push((Act::Keep, start));
            self.cache
                .insert((start, end), packet(), (waits, passed), now);
        } else {
            self.count.no_room += 1;
        }
        self.advance(settings, (start, end), fits, out);
        if self.deadline.is_none() {
            self.set_timer(now);
        }
        if waits || passed && !self.may_be_lost(now) {
            return disposition;
        }
        Disposition::Forward
    }

    /// Returns whether the buffer has room for a segment with `len` bytes of data.
    fn has_room(&self, settings: &Settings, len: u32) -> bool {
        let max = (settings.buffer / SEGMENT_COST).max(64);
        self.cache.bytes() + u64::from(len) <= settings.buffer && (self.cache.len() as u64) < max
    }

    /// Advances `next` and `acked` over new data and answers the sender. `kept` is set if the data
    /// is cached, and clear if it passed without a copy.
    fn advance(
        &mut self,
        settings: &Settings,
        (start, end): (Seq, Seq),
        kept: bool,
        out: &mut Vec<Packet>,
    ) {
        let in_order = start.diff(self.next) <= 0;
        let whole = self.acked == self.next;
        if in_order {
            let passed = end.diff(self.next) <= 0;
            self.next = self.end_in_order(if passed { self.next } else { end });
        } else if !kept {
            self.passed.add(start, end);
        }
        let acked = self.cache.end_of_run(self.acked);
        if acked != self.acked {
            self.acked = acked;
            self.acknowledge(settings, None, out);
        } else if whole && !in_order {
            // The sender must fill a hole in front of the agent.
            self.acknowledge(settings, Some(start), out);
        }
    }

    /// Returns whether data that passed without a copy may be missing at the far end: duplicate
    /// ACKs show it, or no new data was acknowledged for an RTO.
    fn may_be_lost(&self, now: Instant) -> bool {
        self.duplicates >= THRESHOLD || now >= self.far.moved + self.rtt.rto()
    }

    /// Returns the end of the data received without a hole from `place` on, with or without copies.
    fn end_in_order(&mut self, mut place: Seq) -> Seq {
        loop {
            let end = self.passed.end_of_run(self.cache.end_of_run(place));
            if end == place {
                return end;
            }
            place = end;
        }
    }

    /// Starts the timer if cached data is unacknowledged, and stops it otherwise.
    fn set_timer(&mut self, now: Instant) {
        let due = self.cache.is_due(self.confirmed);
        self.deadline = due.then(|| now + self.rtt.rto());
    }

    /// Returns the right edge of the far end's window.
    fn far_edge(&self) -> Seq {
        self.confirmed.at(self.far.window)
    }

    /// Returns whether the far end would drop data up to `end` because it exceeds the window.
    /// Without a loss the data may be sent, because the window advances until it arrives. After a
    /// loss the window does not advance.
    fn has_to_wait(&self, end: Seq) -> bool {
        (self.recover.is_some() || self.waits) && end.diff(self.far_edge()) > 0
    }

    /// After a loss, marks cached data beyond the far end's window as waiting, because the far end
    /// dropped it. Returns the end of the data inside the window.
    fn hold_back(&mut self) -> Option<Seq> {
        let edge = self.far_edge();
        let mut last = None;
        for kept in self.cache.iter_mut().filter(|kept| !kept.sacked) {
            if kept.end.diff(edge) <= 0 {
                last = Some(kept.end);
            } else if !kept.waits {
                (kept.waits, kept.again) = (true, true);
                self.waits = true;
            }
        }
        let first = self.cache.iter().next();
        last.or(first.map(|kept| kept.end))
    }

    /// Sends waiting data as far as the far end's window allows.
    fn release(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if !self.waits {
            return;
        }
        let edge = self.far_edge();
        self.waits = false;
        for number in 0..self.cache.len() {
            let kept = self.cache.get(number);
            if kept.waits && kept.end.diff(edge) <= 0 {
                let (again, start) = (kept.again, kept.start);
                let packet = self.copy(number, now);
                out.push(packet);
                if again {
                    self.count.resent += 1;
                    self.acts.push((Act::Resend, start));
                }
            }
            self.waits |= self.cache.get(number).waits;
        }
    }

    /// Handles a segment of the far end.
    pub(super) fn on_far_segment(
        &mut self,
        settings: &Settings,
        segment: &Segment,
        now: Instant,
        out: &mut Vec<Packet>,
    ) -> Disposition {
        self.last = now;
        self.fins.on_segment(0, segment);
        let flags = segment.flags;
        if !flags.has(Flags::ACK) || !self.handshake.is_complete() {
            return Disposition::Forward;
        }
        let end = segment.seq.at(u64::from(segment.seq_len()));
        if end.diff(self.far.next) >= 0 {
            self.far.next = end;
            self.far.set_clock(segment);
        }
        let window = u64::from(segment.window) << self.handshake.shift();
        let bare = segment.seq_len() == 0;
        let (ack, before) = (segment.ack, self.acked);
        let mut repeats = false;
        if ack.diff(self.confirmed) >= 0 {
            let same = window == self.far.window || !segment.options.sack.is_empty();
            let opens = self.far.window == 0 && window > 0;
            self.far.window = window;
            if window == 0 {
                // The far end is alive and its window is closed, so the number of tries restarts
                // (RFC 9293, 3.8.6.1).
                self.tries = 0;
            }
            self.far.marks = Flags(flags.0 & Flags::ECE.0);
            if ack != self.confirmed {
                self.confirm(ack, now, out);
            } else if opens && !self.cache.is_empty() {
                // The far end dropped only data that arrived while its window was closed.
                self.repeat_all(Act::Resend, false, now, out);
            } else if bare && same {
                repeats = true;
                self.duplicate(segment, now, out);
            }
            self.release(now, out);
        }
        // The ACK that completes a handshake opened by the far end must pass. A further ACK passes
        // too, in case that ACK was lost.
        if !bare || ack.diff(before) > 0 || !self.handshake.established {
            return Disposition::ForwardRewritten;
        }
        if ack == before && self.acked != self.next {
            // The sender is responsible for data without a copy.
            return if repeats {
                Disposition::ForwardDuplicate
            } else {
                Disposition::ForwardRewritten
            };
        }
        self.count.suppressed += 1;
        self.acts.push((Act::Suppress, ack));
        if self.should_announce_window(settings) {
            self.acknowledge(settings, None, out);
        }
        Disposition::Suppress
    }

    /// Returns whether a wider window must be announced: the sender is blocked by the window, or
    /// the window grew much (RFC 1122, 4.2.3.3).
    fn should_announce_window(&self, settings: &Settings) -> bool {
        let offer = self.offer(settings);
        let known = u64::try_from(self.edge.diff(self.acked)).unwrap_or(0);
        let segment = self.handshake.far_mss().min(settings.buffer / 2).max(1);
        offer >= known + (2 * SEGMENT_COST).max(settings.buffer / 4)
            || known == 0 && offer > 0
            || known < segment && offer >= segment
    }

    /// Handles an ACK of all data up to a number.
    fn confirm(&mut self, ack: Seq, now: Instant, out: &mut Vec<Packet>) {
        self.confirmed = ack;
        for place in [&mut self.acked, &mut self.next] {
            if ack.diff(*place) > 0 {
                *place = ack;
            }
        }
        self.far.moved = now;
        let confirmed = self.cache.confirm(ack, now);
        self.next = self.end_in_order(self.next);
        self.acked = self.cache.end_of_run(self.acked);
        if let Some(sent) = confirmed.sample {
            self.rtt.sample(sent, now);
        }
        (self.duplicates, self.tries) = (0, 0);
        self.set_timer(now);
        if confirmed.early || self.recover.is_some_and(|recover| ack.diff(recover) >= 0) {
            // All data has arrived, so no retransmission is pending.
            self.recover = None;
            for kept in self.cache.iter_mut() {
                kept.lost = false;
            }
            if confirmed.early {
                return;
            }
        }
        if self.cache.is_due(ack) && self.cache.first_was_passed() {
            self.resend(Act::Resend, 0, now, out);
        }
        // After an RTO two segments are sent for each one that arrived (slow start).
        let mut more = 2 * confirmed.again;
        for number in 0..self.cache.len() {
            if more == 0 {
                break;
            }
            if self.cache.get(number).lost {
                self.resend(Act::Resend, number, now, out);
                more -= 1;
            }
        }
    }

    /// Handles a duplicate ACK of the far end.
    fn duplicate(&mut self, segment: &Segment, now: Instant, out: &mut Vec<Packet>) {
        self.duplicates += 1;
        let blocks = segment.options.sack.as_slice();
        let recovers = self.recover.is_some();
        let lost = self.cache.report(blocks, recovers, now);
        let due = self.cache.is_due(self.confirmed);
        if due && self.duplicates >= THRESHOLD && !lost.contains(&0) {
            let first = self.cache.get(0);
            let answered = !first.again || self.cache.is_old(first, now);
            if answered && self.duplicates >= THRESHOLD + self.cache.duplicates_of_earlier_data() {
                self.resend(Act::Resend, 0, now, out);
                if !recovers {
                    // After this loss a single duplicate ACK is enough.
                    return self.report_again(blocks, now, out);
                }
            }
        }
        for number in lost {
            self.resend(Act::Resend, number, now, out);
        }
    }

    fn report_again(&mut self, blocks: &[SackBlock], now: Instant, out: &mut Vec<Packet>) {
        for number in self.cache.report(blocks, true, now) {
            self.resend(Act::Resend, number, now, out);
        }
    }

    /// Returns a cached segment for transmission, with the sender's latest timestamp.
    /// Retransmissions of the sender may have raised the far end's TS.Recent, and PAWS would drop
    /// an older timestamp.
    fn copy(&mut self, number: usize, now: Instant) -> Packet {
        let mut packet = self.cache.send(number, now).clone();
        if let Some(latest) = self.latest {
            View::new(&mut packet).rewrite(|segment| {
                if let Some(stamps) = &mut segment.options.timestamps {
                    stamps.value = latest;
                }
            });
        }
        packet
    }

    /// Retransmits a segment that is missing at the far end.
    fn resend(&mut self, act: Act, number: usize, now: Instant, out: &mut Vec<Packet>) {
        if self.recover.is_none() {
            self.recover = self.hold_back();
        }
        let packet = self.copy(number, now);
        out.push(packet);
        let kept = self.cache.mark_again(number);
        self.count.resent += 1;
        self.acts.push((act, kept));
        if number == 0 {
            self.deadline = Some(now + self.rtt.rto());
        }
    }

    /// Handles an expired timer. Returns whether tries are left.
    pub(super) fn expire(
        &mut self,
        settings: &Settings,
        now: Instant,
        out: &mut Vec<Packet>,
    ) -> bool {
        self.deadline = None;
        self.tries += 1;
        self.count.timeouts += 1;
        if self.tries > settings.tries {
            self.acts.push((Act::GiveUp, self.confirmed));
            return false;
        }
        self.rtt.back_off();
        // A first segment that was SACKed was later dropped by the far end (reneging).
        let reneged = self.cache.iter().next().is_some_and(|first| first.sacked);
        if reneged || self.tries > 1 {
            for kept in self.cache.iter_mut() {
                kept.sacked = false;
            }
        }
        self.repeat_all(Act::Timeout, true, now, out);
        true
    }

    /// Marks cached segments lost, so that ACKs of the far end release their retransmission. After
    /// a time-out these include segments in flight, otherwise only those sent at least the shortest
    /// RTT ago. SACKed segments and those waiting for the far end's window are left out. The first
    /// segment is sent at once if it is marked or the timer has expired.
    fn repeat_all(&mut self, act: Act, timed_out: bool, now: Instant, out: &mut Vec<Packet>) {
        self.recover = self.hold_back();
        self.duplicates = 0;
        self.cache.mark_lost(timed_out, now);
        let first = self.cache.iter().next();
        if first.is_some_and(|first| timed_out || first.lost) {
            self.resend(act, 0, now, out);
        }
    }

    /// Returns the window to announce to the sender in bytes: min(W, max(B, W) - U) with the far
    /// end's window W, the buffer B and the unconfirmed bytes U. If W > B, data without room in the
    /// buffer passes uncached.
    fn offer(&self, settings: &Settings) -> u64 {
        let room = settings.buffer.max(self.far.window);
        let free = room.saturating_sub(self.unconfirmed());
        free.min(self.far.window)
    }

    /// Returns the window field for the sender. The window never shrinks, except for rounding to
    /// the scale (less than one unit; RFC 7323, 2.4).
    pub(super) fn window(&mut self, settings: &Settings) -> u16 {
        let (offer, shift) = (self.offer(settings), self.handshake.shift());
        let known = u64::try_from(self.edge.diff(self.acked)).unwrap_or(0);
        // If rounding to the scale gave 0, no later event would open the window.
        let min = u64::from(offer > 0 && self.cache.is_empty());
        let field = (offer.max(known) >> shift)
            .max(min)
            .min(u64::from(u16::MAX));
        let edge = self.acked.at(field << shift);
        if edge.diff(self.edge) > 0 {
            self.edge = edge;
        }
        self.field = Some(field as u16);
        field as u16
    }

    /// Returns the window field of a duplicate ACK.
    pub(super) fn last_field(&mut self, settings: &Settings) -> u16 {
        self.field.unwrap_or_else(|| self.window(settings))
    }

    /// Returns the sequence number after the data acknowledged to the sender.
    pub(super) fn acked(&self) -> Seq {
        self.acked
    }

    /// Sends the sender an ACK in the far end's name. For data after a hole the ACK is a duplicate,
    /// with an unchanged window and a SACK block.
    fn acknowledge(&mut self, settings: &Settings, hole: Option<Seq>, out: &mut Vec<Packet>) {
        let window = match hole {
            Some(_) => self.last_field(settings),
            None => self.window(settings),
        };
        let mut options = Options::default();
        if self.handshake.agreed(|o| o.timestamps).is_some() {
            options.timestamps = Some(Timestamps {
                value: self.far.clock,
                echo: self.clock,
            });
        }
        if let (Some(behind), Some(())) = (
            hole,
            self.handshake.agreed(|o| o.sack_permitted.then_some(())),
        ) {
            options.sack = SackBlocks::from_iter(self.cache.run(self.next, behind));
        }
        let (src_port, dst_port) = self.ports;
        let segment = Segment {
            src_port,
            dst_port,
            seq: self.far.next,
            ack: self.acked,
            flags: Flags::ACK.with(self.far.marks),
            window,
            options,
            ..Segment::default()
        };
        if let Ok(packet) = self.path.packet(segment) {
            self.count.spoofed += 1;
            self.acts.push((Act::Acknowledge, self.acked));
            out.push(packet);
        }
    }

    /// Resets both ends, because the agent could not deliver acknowledged data.
    pub(super) fn push_resets(&self, out: &mut Vec<Packet>) {
        let (src_port, dst_port) = self.ports;
        let to_sender = Segment {
            src_port,
            dst_port,
            seq: self.far.next,
            ack: self.acked,
            flags: Flags::RST.with(Flags::ACK),
            ..Segment::default()
        };
        let to_far = Segment {
            src_port: dst_port,
            dst_port: src_port,
            seq: self.confirmed,
            ack: self.far.next,
            ..to_sender.clone()
        };
        out.extend(self.path.packet(to_sender));
        out.extend(self.path.reverse().packet(to_far));
    }

    /// Returns the sequence number after the data that the far end has acknowledged.
    pub(super) fn confirmed(&self) -> Seq {
        self.confirmed
    }

    /// Traces the collected acts, if the trace is on.
    pub(super) fn emit_trace(&mut self, out: &mut Out) {
        let mut acts = std::mem::take(&mut self.acts);
        for (act, seq) in acts.drain(..) {
            out.note(|| self.note(act, seq));
        }
        self.acts = acts;
    }

    /// Builds the trace row of an act on the sender's data.
    pub(super) fn note(&self, act: Act, seq: Seq) -> Note {
        Note {
            act,
            flow: self.path.flow(),
            from_opener: !self.path.from_opener(),
            seq,
        }
    }

    /// Returns whether both ends have all data.
    pub(super) fn is_over(&self) -> bool {
        self.fins.are_acknowledged()
    }
}
