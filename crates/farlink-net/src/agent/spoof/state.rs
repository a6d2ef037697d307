//! What the agent knows of one connection: what it acknowledged in the far end's name,
//! and the segments that it answers for.

use super::super::middlebox::{Act, Note, Out};
use super::super::view::Path;
use super::Settings;
use crate::packet::Packet;
use farlink_tcp::config::RtoConfig;
use farlink_tcp::rto::RttEstimator;
use farlink_tcp::{Flags, Instant, Options, SackBlock, SackBlocks, Segment, Seq, Timestamps};
use std::collections::VecDeque;

/// Bytes of memory that a segment takes beside its data: what small ones take is bounded
/// by the buffer, too.
const SEGMENT_COST: u64 = 128;
/// Duplicate ACKs that mean a loss (RFC 5681, 3.2).
const THRESHOLD: u32 = 3;

/// A connection whose sender is on the side of the other links.
#[derive(Debug)]
pub(super) struct Spoofed {
    /// The way from the far end to the sender.
    path: Path,
    /// Ports of that way.
    ports: (u16, u16),
    /// The sender's SYN: its number and options. The options of the far end's.
    near: Option<(Seq, Options)>,
    far: Option<Options>,
    /// The sender has sent more than its SYN: for it the handshake is over.
    established: bool,
    /// Behind the data that came in order.
    next: Seq,
    /// Behind the data that the sender has an acknowledgment for.
    acked: Seq,
    /// Behind what the far end has acknowledged.
    confirmed: Seq,
    /// Next number and last clock of the far end, and its window.
    far_next: Seq,
    far_clock: u32,
    far_window: u64,
    /// Some of what is kept waits for room there.
    waits: bool,
    /// Its ACKs tell of congestion.
    far_marks: Flags,
    /// Clock of the sender, of the last data in order.
    clock: u32,
    /// Right edge of the window that the sender knows, and the field that said so.
    edge: Seq,
    field: Option<u16>,
    /// Segments that the far end has not acknowledged, in order.
    cache: VecDeque<Kept>,
    /// Their bytes.
    bytes: u64,
    duplicates: u32,
    /// Losses are being repaired up to here.
    recover: Option<Seq>,
    rtt: RttEstimator,
    pub(super) deadline: Option<Instant>,
    tries: u32,
    /// Behind the FIN of the far end and of the sender, and whether it is acknowledged.
    fins: [Option<Seq>; 2],
    fins_acked: [bool; 2],
    /// When it was last seen, and when it is in the list of timers.
    pub(super) last: Instant,
    pub(super) timer: Option<Instant>,
    pub(super) count: Count,
    /// What it did since the last call of [`Self::tell`].
    acts: Vec<(Act, Seq)>,
}

/// What is counted.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Count {
    pub(super) spoofed: u64,
    pub(super) cached: u64,
    pub(super) suppressed: u64,
    pub(super) resent: u64,
    pub(super) timeouts: u64,
    pub(super) no_room: u64,
}

/// A segment that the agent answers for.
#[derive(Debug)]
struct Kept {
    start: Seq,
    end: Seq,
    packet: Packet,
    sent: Instant,
    /// It was sent again; of it no round trip can be taken (Karn).
    again: bool,
    /// The far end reported it (RFC 2018), or it was sent again in this recovery.
    skip: bool,
    /// It goes when the far end's window has room: it was not sent, or came there in vain.
    waits: bool,
}

/// What becomes of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Becomes {
    /// It goes on.
    Goes,
    /// The same, with the acknowledgment that the sender has.
    Rewritten,
    /// The agent has dealt with it.
    Taken,
    /// An acknowledgment that the sender has already.
    Suppressed,
}

impl Spoofed {
    /// The first SYN passes. `path` is the way from the far end to the sender.
    pub(super) fn new(path: Path, ports: (u16, u16), now: Instant) -> Self {
        Self {
            path,
            ports,
            near: None,
            far: None,
            established: false,
            next: Seq::default(),
            acked: Seq::default(),
            confirmed: Seq::default(),
            far_next: Seq::default(),
            far_clock: 0,
            far_window: 0,
            waits: false,
            far_marks: Flags::default(),
            clock: 0,
            edge: Seq::default(),
            field: None,
            cache: VecDeque::new(),
            bytes: 0,
            duplicates: 0,
            recover: None,
            rtt: RttEstimator::new(RtoConfig::default()),
            deadline: None,
            tries: 0,
            fins: [None; 2],
            fins_acked: [false; 2],
            last: now,
            timer: None,
            count: Count::default(),
            acts: Vec::new(),
        }
    }

    /// Whether this SYN of the sender's is of another connection.
    pub(super) fn is_other(&self, syn: &Segment) -> bool {
        self.near.as_ref().is_some_and(|(isn, _)| *isn != syn.seq)
    }

    /// The sender's SYN passes.
    pub(super) fn near_syn(&mut self, syn: &Segment) {
        if self.near.is_some() {
            return;
        }
        let first = syn.seq.at(1);
        self.near = Some((syn.seq, syn.options.clone()));
        (self.next, self.acked, self.confirmed) = (first, first, first);
        self.edge = first.at(self.far_window);
    }

    /// The far end's SYN passes.
    pub(super) fn far_syn(&mut self, syn: &Segment) {
        if self.far.is_some() {
            return;
        }
        self.far = Some(syn.options.clone());
        self.far_next = syn.seq.at(1);
        self.far_window = u64::from(syn.window);
        self.edge = self.acked.at(self.far_window);
        self.tick_far(syn);
    }

    fn is_ready(&self) -> bool {
        self.near.is_some() && self.far.is_some()
    }

    fn tick_far(&mut self, segment: &Segment) {
        if let Some(stamps) = segment.options.timestamps {
            self.far_clock = stamps.value;
        }
    }

    /// What both ends agreed on, once both have spoken.
    fn agreed<T>(&self, of: impl Fn(&Options) -> Option<T>) -> Option<T> {
        of(&self.near.as_ref()?.1)?;
        of(self.far.as_ref()?)
    }

    fn shift(&self) -> u8 {
        self.agreed(|o| o.window_scale).unwrap_or(0).min(14)
    }

    /// Bytes that the sender has an acknowledgment for, and the far end did not confirm.
    pub(super) fn unconfirmed(&self) -> u64 {
        u64::try_from(self.acked.diff(self.confirmed)).unwrap_or(0)
    }

    /// Bytes that are kept.
    pub(super) fn held(&self) -> u64 {
        self.bytes
    }

    /// A segment comes from the sender.
    pub(super) fn take_from_sender(
        &mut self,
        settings: &Settings,
        segment: &Segment,
        packet: impl FnOnce() -> Packet,
        now: Instant,
        out: &mut Vec<Packet>,
    ) -> Becomes {
        self.last = now;
        self.established = true;
        self.note_fin(1, segment);
        let len = segment.body.len();
        if !self.is_ready() || segment.dummy {
            return Becomes::Goes;
        }
        if len == 0 {
            // One who asks whether anybody is there waits for an answer.
            if segment.seq_len() == 0 && segment.seq.diff(self.acked) < 0 {
                self.acknowledge(settings, None, out);
            }
            return Becomes::Goes;
        }
        let (start, end) = (segment.seq, segment.seq.at(u64::from(len)));
        if end.diff(self.acked) <= 0 {
            // Its acknowledgment was lost. The far end has it, or the agent.
            self.acknowledge(settings, None, out);
            let fin = segment.flags.has(Flags::FIN);
            return if fin { Becomes::Goes } else { Becomes::Taken };
        }
        if let (Some(stamps), true) = (segment.options.timestamps, start.diff(self.next) <= 0) {
            self.clock = stamps.value;
        }
        let follows = self.acked == self.next;
        if start.diff(self.edge) >= 0 {
            // A probe of a window that is closed.
            self.acknowledge(settings, None, out);
            return Becomes::Taken;
        }
        let most = (settings.buffer / SEGMENT_COST).max(64);
        let fits =
            self.bytes + u64::from(len) <= settings.buffer && (self.cache.len() as u64) < most;
        let in_order = start.diff(self.next) <= 0;
        let waits = fits && follows && self.has_to_wait(end);
        if fits && follows {
            self.keep(start, end, packet, waits, now);
        } else {
            self.count.no_room += 1;
        }
        if in_order {
            if end.diff(self.next) > 0 {
                self.next = end;
            }
            if fits && follows {
                for kept in &self.cache {
                    if kept.start.diff(self.next) <= 0 && kept.end.diff(self.next) > 0 {
                        self.next = kept.end;
                    }
                }
                self.acked = self.next;
                self.acknowledge(settings, None, out);
            }
        } else if follows {
            // A hole in front of the agent is the sender's to fill.
            self.acknowledge(settings, Some(start), out);
        }
        if waits { Becomes::Taken } else { Becomes::Goes }
    }

    /// Right edge of what the far end takes before it has more in order.
    fn far_edge(&self) -> Seq {
        self.confirmed.at(self.far_window)
    }

    /// Whether data would come to the far end in vain. As long as all arrives they may go beyond
    /// the window that it was last heard to have: it moves until they are there. Behind a loss it
    /// does not.
    fn has_to_wait(&self, end: Seq) -> bool {
        (self.recover.is_some() || self.waits) && end.diff(self.far_edge()) > 0
    }

    /// Something is missing at the far end: what is beyond its window was dropped there. Returns
    /// behind the last that was not.
    fn hold_back(&mut self) -> Option<Seq> {
        let edge = self.far_edge();
        let mut last = None;
        for kept in &mut self.cache {
            if kept.end.diff(edge) <= 0 {
                last = Some(kept.end);
            } else if !kept.waits {
                (kept.waits, kept.again) = (true, true);
                self.waits = true;
            }
        }
        last.or(self.cache.front().map(|kept| kept.end))
    }

    /// What waits goes as far as the far end's window has room now.
    fn release(&mut self, now: Instant, out: &mut Vec<Packet>) {
        let edge = self.far_edge();
        if !self.waits {
            return;
        }
        self.waits = false;
        for kept in &mut self.cache {
            if kept.waits && kept.end.diff(edge) <= 0 {
                (kept.waits, kept.skip, kept.sent) = (false, kept.again, now);
                out.push(kept.packet.clone());
                if kept.again {
                    self.count.resent += 1;
                    self.acts.push((Act::Resend, kept.start));
                }
            }
            self.waits |= kept.waits;
        }
    }

    /// Keeps a segment, unless it is kept.
    fn keep(
        &mut self,
        start: Seq,
        end: Seq,
        packet: impl FnOnce() -> Packet,
        waits: bool,
        now: Instant,
    ) {
        let at = self
            .cache
            .partition_point(|kept| kept.start.diff(start) < 0);
        if self.cache.get(at).is_some_and(|kept| kept.end == end) {
            return;
        }
        let kept = Kept {
            start,
            end,
            packet: packet(),
            sent: now,
            again: false,
            skip: false,
            waits,
        };
        self.waits |= waits;
        self.bytes += kept.len();
        self.count.cached += 1;
        self.acts.push((Act::Keep, start));
        self.cache.insert(at, kept);
        if self.deadline.is_none() {
            self.deadline = Some(now + self.rtt.rto());
        }
    }

    /// A segment comes from the far end.
    pub(super) fn take_from_far(
        &mut self,
        settings: &Settings,
        segment: &Segment,
        now: Instant,
        out: &mut Vec<Packet>,
    ) -> Becomes {
        self.last = now;
        self.note_fin(0, segment);
        let flags = segment.flags;
        if !flags.has(Flags::ACK) || !self.is_ready() {
            return Becomes::Goes;
        }
        let end = segment.seq.at(u64::from(segment.seq_len()));
        if end.diff(self.far_next) >= 0 {
            self.far_next = end;
            self.tick_far(segment);
        }
        let window = u64::from(segment.window) << self.shift();
        let bare = segment.seq_len() == 0;
        let (ack, before) = (segment.ack, self.acked);
        if ack.diff(self.confirmed) >= 0 {
            let same = window == self.far_window || !segment.options.sack.is_empty();
            let opens = self.far_window == 0 && window > 0;
            self.far_window = window;
            if window == 0 {
                // It is there, and has no room: there is hope (RFC 9293, 3.8.6.1).
                self.tries = 0;
            }
            self.far_marks = Flags(flags.0 & Flags::ECE.0);
            if ack != self.confirmed {
                self.confirm(ack, now, out);
            } else if opens && !self.cache.is_empty() {
                // What came to the closed window was dropped there.
                self.repeat_all(Act::Resend, now, out);
            } else if bare && same && !self.cache.is_empty() {
                self.duplicate(segment, now, out);
            }
            self.release(now, out);
        }
        // The handshake of a far end that opens is over with its ACK, or with one more if that
        // gets lost on the way to the sender.
        if !bare || ack.diff(before) > 0 || !self.established {
            return Becomes::Rewritten;
        }
        self.count.suppressed += 1;
        self.acts.push((Act::Suppress, ack));
        // The window opens: the sender waits for that.
        let offer = self.offer(settings);
        let known = u64::try_from(self.edge.diff(self.acked)).unwrap_or(0);
        if offer >= known + (2 * SEGMENT_COST).max(settings.buffer / 4) || known == 0 && offer > 0 {
            self.acknowledge(settings, None, out);
        }
        Becomes::Suppressed
    }

    /// The far end has all up to here.
    fn confirm(&mut self, ack: Seq, now: Instant, out: &mut Vec<Packet>) {
        self.confirmed = ack;
        for place in [&mut self.acked, &mut self.next] {
            if ack.diff(*place) > 0 {
                *place = ack;
            }
        }
        while let Some(kept) = self.cache.front().filter(|kept| kept.end.diff(ack) <= 0) {
            if !kept.again && kept.end == ack {
                self.rtt.sample(kept.sent, now);
            }
            self.bytes -= kept.len();
            self.cache.pop_front();
        }
        (self.duplicates, self.tries) = (0, 0);
        self.deadline = (!self.cache.is_empty()).then(|| now + self.rtt.rto());
        match self.recover {
            // What goes already does not go twice.
            Some(recover) if ack.diff(recover) < 0 => {
                let goes = self.cache.front().is_none_or(|kept| kept.skip);
                if !goes {
                    self.resend_first(Act::Resend, now, out);
                }
            }
            Some(_) => {
                self.recover = None;
                for kept in &mut self.cache {
                    kept.skip = false;
                }
            }
            None => {}
        }
    }

    /// The far end has again acknowledged the same.
    fn duplicate(&mut self, segment: &Segment, now: Instant, out: &mut Vec<Packet>) {
        self.duplicates += 1;
        if self.recover.is_none() && self.duplicates == THRESHOLD {
            self.recover = self.hold_back();
            self.resend_first(Act::Resend, now, out);
        }
        let blocks = segment.options.sack.as_slice();
        let highest = blocks.iter().map(|block| block.right);
        let Some(highest) = highest.reduce(|a, b| if a.diff(b) > 0 { a } else { b }) else {
            return;
        };
        let mut again = Vec::new();
        for (number, kept) in self.cache.iter_mut().enumerate() {
            if kept.end.diff(highest) > 0 {
                break;
            }
            let has = |b: &SackBlock| kept.start.diff(b.left) >= 0 && kept.end.diff(b.right) <= 0;
            let told = blocks.iter().any(has);
            if !told && !kept.skip && self.recover.is_some() {
                again.push(number);
            }
            kept.skip |= told;
        }
        for number in again {
            self.resend(Act::Resend, number, now, out);
        }
    }

    fn resend_first(&mut self, act: Act, now: Instant, out: &mut Vec<Packet>) {
        if !self.cache.is_empty() {
            self.resend(act, 0, now, out);
            self.deadline = Some(now + self.rtt.rto());
        }
    }

    fn resend(&mut self, act: Act, number: usize, now: Instant, out: &mut Vec<Packet>) {
        let kept = &mut self.cache[number];
        (kept.sent, kept.again, kept.skip, kept.waits) = (now, true, true, false);
        out.push(kept.packet.clone());
        self.count.resent += 1;
        self.acts.push((act, kept.start));
    }

    /// The timer has expired. Returns whether there is still hope.
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
        self.repeat_all(Act::Timeout, now, out);
        true
    }

    /// All that is kept goes again, as acknowledgments come.
    fn repeat_all(&mut self, act: Act, now: Instant, out: &mut Vec<Packet>) {
        for kept in &mut self.cache {
            kept.skip = false;
        }
        self.recover = self.hold_back();
        self.duplicates = 0;
        self.resend_first(act, now, out);
    }

    /// Bytes that the sender may send beyond what it has an acknowledgment for: no more
    /// than the far end would take, and never less than it was told.
    fn offer(&self, settings: &Settings) -> u64 {
        let free = settings.buffer.saturating_sub(self.bytes);
        let known = u64::try_from(self.edge.diff(self.acked)).unwrap_or(0);
        free.min(self.far_window).max(known)
    }

    /// The window field for the sender.
    pub(super) fn window(&mut self, settings: &Settings) -> u16 {
        let (offer, shift) = (self.offer(settings), self.shift());
        let field = offer.div_ceil(1 << shift).min(u64::from(u16::MAX));
        self.edge = self.acked.at(field << shift);
        self.field = Some(field as u16);
        field as u16
    }

    /// What the sender has an acknowledgment for.
    pub(super) fn acked(&self) -> Seq {
        self.acked
    }

    /// An acknowledgment goes to the sender in the far end's name. With the data that came
    /// behind a hole it is a duplicate: of the same window, and with a block.
    fn acknowledge(&mut self, settings: &Settings, hole: Option<Seq>, out: &mut Vec<Packet>) {
        let window = match (hole, self.field) {
            (Some(_), Some(field)) => field,
            _ => self.window(settings),
        };
        let mut options = Options::default();
        if self.agreed(|o| o.timestamps).is_some() {
            options.timestamps = Some(Timestamps {
                value: self.far_clock,
                echo: self.clock,
            });
        }
        if let (Some(behind), Some(())) = (hole, self.agreed(|o| o.sack_permitted.then_some(()))) {
            options.sack = SackBlocks::from_iter(self.run(behind));
        }
        let (src_port, dst_port) = self.ports;
        let segment = Segment {
            src_port,
            dst_port,
            seq: self.far_next,
            ack: self.acked,
            flags: Flags::ACK.with(self.far_marks),
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

    /// The data behind a hole that `place` is in.
    fn run(&self, place: Seq) -> Option<SackBlock> {
        let mut run: Option<SackBlock> = None;
        for kept in self
            .cache
            .iter()
            .filter(|kept| kept.start.diff(self.next) > 0)
        {
            match &mut run {
                Some(block) if kept.start.diff(block.right) <= 0 => {
                    if kept.end.diff(block.right) > 0 {
                        block.right = kept.end;
                    }
                }
                Some(block) if place.diff(block.right) < 0 => return run,
                _ => {
                    run = Some(SackBlock {
                        left: kept.start,
                        right: kept.end,
                    });
                }
            }
        }
        run
    }

    /// Both ends are reset: the agent could not deliver what it acknowledged.
    pub(super) fn resets(&self, out: &mut Vec<Packet>) {
        let (src_port, dst_port) = self.ports;
        let to_sender = Segment {
            src_port,
            dst_port,
            seq: self.far_next,
            ack: self.acked,
            flags: Flags::RST.with(Flags::ACK),
            ..Segment::default()
        };
        let to_far = Segment {
            src_port: dst_port,
            dst_port: src_port,
            seq: self.confirmed,
            ack: self.far_next,
            ..to_sender.clone()
        };
        out.extend(self.path.packet(to_sender));
        out.extend(self.path.reverse().packet(to_far));
    }

    fn note_fin(&mut self, from: usize, segment: &Segment) {
        if segment.flags.has(Flags::FIN) {
            self.fins[from] = Some(segment.seq.at(u64::from(segment.seq_len())));
        }
        if segment.flags.has(Flags::ACK)
            && let Some(fin) = self.fins[1 - from]
        {
            self.fins_acked[1 - from] |= segment.ack.diff(fin) >= 0;
        }
    }

    /// Behind what the far end has acknowledged.
    pub(super) fn confirmed(&self) -> Seq {
        self.confirmed
    }

    /// Tells what it did, if anybody wants to know.
    pub(super) fn tell(&mut self, out: &mut Out) {
        let mut acts = std::mem::take(&mut self.acts);
        for (act, seq) in acts.drain(..) {
            out.note(|| self.note(act, seq));
        }
        self.acts = acts;
    }

    /// It did something with the sender's data.
    pub(super) fn note(&self, act: Act, seq: Seq) -> Note {
        Note {
            act,
            flow: self.path.flow(),
            from_opener: !self.path.from_opener(),
            seq,
        }
    }

    /// Whether both ends have all that was sent.
    pub(super) fn is_over(&self) -> bool {
        self.fins_acked == [true; 2]
    }
}

impl Kept {
    fn len(&self) -> u64 {
        u64::try_from(self.end.diff(self.start)).unwrap_or(0)
    }
}
