//! The receiving side: reassembly, window, SACK blocks, timing of ACKs.

#[cfg(test)]
use crate::config::ReceiverConfig;
use crate::config::{Config, DelayedAck};
use crate::reason::Reason;
use crate::seq::{Offset, Seq};
use crate::time::{Instant, Interval};
use crate::timers::{Timer, Timers};
use autotune::Autotune;
use blocks::Recent;
use farlink_small::Map;
use ranges::Ranges;
use std::collections::VecDeque;
use std::sync::Arc;

mod autotune;
mod blocks;
mod damaged;
mod dsack;
mod ranges;
mod snack;
#[cfg(test)]
mod tests;

/// Upper bound in bytes on the overhead of one stored out-of-order range: its entry and its own
/// allocation.
const RANGE_COST: u64 = 128;

/// Urgency of an acknowledgment of the waiting data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AckNeed {
    /// No data to acknowledge.
    None,
    /// ACK within the configured delay.
    Delayed,
    /// ACK at once.
    Now,
}

/// Value for a FIN whose position is unknown; no stream is this long.
const UNKNOWN: Offset = Offset::MAX;

/// Receive state of a connection (RFC 9293, 3.3.1: RCV.NXT, RCV.WND).
#[derive(Debug)]
#[repr(C)] // keeps the fields that each segment needs together in memory
pub(crate) struct Receiver {
    nxt: Offset,
    /// Holes and duplicates to report; `None` while all data arrived once and in order.
    holes: Option<Box<Holes>>,
    /// Peer's initial sequence number.
    irs: Seq,
    need: AckNeed,
    shift: u8,
    /// Window field advertised last; `None` after data arrived or was read, or the buffer changed.
    /// An end that only sends reuses the value for each segment.
    advertised: Option<u16>,
    /// Reason why an acknowledgment is due at once, if it is not the number of waiting segments.
    /// Read only with tracing.
    why: Option<Reason>,
    /// Received segments whose acknowledgment is still delayed.
    waiting: u32,
    /// Number of coming data segments whose ACKs are not delayed (quick ACKs).
    quick: u32,
    /// Right edge of the advertised window; it never moves left.
    edge: Offset,
    /// Position after the last byte that the application has read.
    read: Offset,
    buffer: u64,
    /// Largest window ever offered in bytes, even if the buffer is empty.
    most: u64,
    /// Position of the peer's FIN; [`UNKNOWN`] before it is known.
    fin: Offset,
    /// Configuration of the connection. The parts of [`Config::receiver`] apply, except the size of
    /// the buffer.
    config: Arc<Config>,
    /// Growth of the buffer, if allowed.
    autotune: Option<Box<Autotune>>,
    /// Received bytes, when the peer sends bytes.
    bytes: Option<Box<Bytes>>,
}

/// Data out of order, and duplicates.
#[derive(Debug, Default)]
struct Holes {
    /// Ranges received behind a hole.
    ranges: Ranges,
    /// Start positions of recent out-of-order arrivals, newest first.
    recent: Recent,
    /// Ranges that were damaged when they last arrived (ELN).
    damaged: Ranges,
    /// Duplicate range to report (RFC 2883).
    duplicate: Option<(Offset, Offset)>,
    /// Position from which the next SNACK searches for a hole.
    snack_next: Offset,
}

/// Holes of a connection on which all data arrived in order.
static NO_HOLES: Holes = Holes {
    ranges: Ranges::EMPTY,
    recent: Recent::NONE,
    damaged: Ranges::EMPTY,
    duplicate: None,
    snack_next: 0,
};

/// Bytes that the peer sent.
#[derive(Debug, Default)]
struct Bytes {
    /// In-order bytes that the application has not read.
    unread: VecDeque<u8>,
    /// Out-of-order bytes in disjoint pieces, by position.
    parked: Map<Offset, Vec<u8>>,
}

impl Receiver {
    /// Prefetches the heap parts that arriving data will need.
    #[inline]
    pub(crate) fn prefetch(&self) {
        farlink_prefetch::boxed(&self.holes);
    }

    /// Prefetches the memory that the fields fetched by [`Self::prefetch`] point to.
    #[inline]
    pub(crate) fn prefetch_behind(&self) {
        if let Some(holes) = &self.holes {
            holes.ranges.prefetch();
        }
    }

    pub(crate) fn new(all: Arc<Config>, shift: u8) -> Self {
        let (config, mss) = (&all.receiver, all.mss);
        let mut new = Self {
            buffer: config.buffer,
            most: config.buffer,
            irs: Seq::default(),
            nxt: 0,
            edge: 0,
            shift,
            read: 1,
            holes: None,
            bytes: None,
            fin: UNKNOWN,
            waiting: 0,
            need: AckNeed::None,
            advertised: None,
            why: None,
            quick: config.delayed_ack.quick,
            autotune: config
                .buffer_max
                .filter(|&max| max > config.buffer)
                .map(|max| {
                    let gradual = config.gradual_window;
                    Box::new(Autotune::new(max, u64::from(mss), config.buffer, gradual))
                }),
            config: all,
        };
        new.resized();
        new
    }

    #[cfg(test)]
    fn of(receiver: ReceiverConfig, mss: u32, shift: u8) -> Self {
        let config = Config {
            mss,
            receiver,
            ..Config::default()
        };
        Self::new(Arc::new(config), shift)
    }

    /// Sets the peer's initial sequence number; its data starts at offset 1.
    pub(crate) fn synchronize(&mut self, irs: Seq) {
        self.irs = irs;
        self.nxt = 1;
        self.edge = 1 + u64::from(self.syn_window());
        self.advertised = None;
    }

    #[inline]
    fn holes(&self) -> &Holes {
        self.holes.as_deref().unwrap_or(&NO_HOLES)
    }

    /// Returns the configuration of the connection.
    #[inline]
    pub(crate) fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Our MSS in bytes, the unit of windows.
    #[inline]
    fn mss(&self) -> u64 {
        u64::from(self.config.mss)
    }

    /// Shift to offer on a SYN.
    pub(crate) fn shift(&self) -> u8 {
        self.shift
    }

    /// Turns window scaling off.
    pub(crate) fn without_scaling(&mut self) {
        self.shift = 0;
        self.advertised = None;
    }

    /// Next expected position (RCV.NXT); after the FIN has arrived, the position after it.
    #[inline]
    pub(crate) fn nxt(&self) -> Offset {
        self.nxt
    }

    /// Acknowledgment number to send.
    #[inline]
    pub(crate) fn ack(&self) -> Seq {
        self.irs.at(self.nxt)
    }

    /// Open part of the advertised window in bytes.
    #[inline]
    pub(crate) fn window(&self) -> u64 {
        self.edge.saturating_sub(self.nxt)
    }

    /// Returns the position of a sequence number; `None` before the peer's SYN.
    #[inline]
    pub(crate) fn offset(&self, seq: Seq) -> Option<Offset> {
        seq.offset(self.irs, self.nxt)
    }

    /// Returns the position of `seq` if it is in the window.
    #[inline]
    pub(crate) fn place_in_window(&self, seq: Seq) -> Option<Offset> {
        let inside = |&at: &Offset| at >= self.nxt && at < self.nxt + self.window();
        self.offset(seq).filter(inside)
    }

    /// In-order bytes that the application can read.
    #[inline]
    pub(crate) fn unread(&self) -> u64 {
        (self.nxt - u64::from(self.finished())).saturating_sub(self.read)
    }

    /// Returns whether all of `[from, to)` has arrived out of order.
    #[inline]
    pub(crate) fn holds(&self, from: Offset, to: Offset) -> bool {
        from > self.nxt && {
            self.holes()
                .ranges
                .up_to(from)
                .is_some_and(|(_, right)| to <= right)
        }
    }

    /// Returns whether data in `[from, to)` would be stored.
    #[inline]
    pub(crate) fn would_keep(&self, from: Offset, to: Offset) -> bool {
        from <= self.nxt
            || self.config.receiver.reassembly
                && (self.holes().ranges.len() < self.most_ranges()
                    || self.holes().ranges.joins(from, to))
    }

    /// Largest number of out-of-order ranges, so that the buffer bounds the memory that a hostile
    /// peer can occupy. Linux and FreeBSD instead charge the buffer with the memory of each waiting
    /// segment, which is more.
    fn most_ranges(&self) -> usize {
        usize::try_from(self.buffer / RANGE_COST).map_or(usize::MAX, |n| n.max(64))
    }

    /// In-order bytes of data received.
    #[inline]
    pub(crate) fn delivered(&self) -> u64 {
        self.nxt.saturating_sub(1 + u64::from(self.finished()))
    }

    /// Returns whether everything up to the peer's FIN, the FIN included, has arrived.
    #[inline]
    pub(crate) fn finished(&self) -> bool {
        self.nxt > self.fin
    }

    /// Returns how urgently an acknowledgment must be sent.
    #[inline]
    pub(crate) fn need(&self) -> AckNeed {
        self.need
    }

    /// Makes an acknowledgment due at once.
    #[inline]
    pub(crate) fn acknowledge_now(&mut self, reason: Reason) {
        self.need = AckNeed::Now;
        self.why = Some(reason);
    }

    /// Returns and clears the reason of the due acknowledgment.
    #[cold]
    pub(crate) fn pop_reason(&mut self) -> Reason {
        let every = self.config.receiver.delayed_ack.every;
        let counted = every > 1 && self.waiting >= every;
        self.why.take().unwrap_or(if counted {
            Reason::EveryNth
        } else {
            Reason::EverySegment
        })
    }

    /// Notes that an acknowledgment was sent.
    #[inline]
    pub(crate) fn acknowledged(&mut self, timers: &mut Timers) {
        // With `AckNeed::None` no ACK is delayed and no timer runs.
        if self.need != AckNeed::None {
            self.need = AckNeed::None;
            self.waiting = 0;
            timers.stop(Timer::DelayedAck);
        }
    }

    /// Reads up to `max` bytes of which only the length is known.
    #[inline(always)] // called after each segment of data
    pub(crate) fn read_len(&mut self, max: u64) -> u64 {
        let n = self.unread().min(max);
        self.consume(n);
        n
    }

    /// Reads up to `max` bytes.
    pub(crate) fn read_bytes(&mut self, out: &mut Vec<u8>, max: usize) -> usize {
        let unread = self.unread() as usize;
        let Some(bytes) = &mut self.bytes else {
            return 0;
        };
        let n = unread.min(max).min(bytes.unread.len());
        out.extend(bytes.unread.drain(..n));
        self.consume(n as u64);
        n
    }

    /// Consumes `n` bytes. A window update becomes due if the window was at most half the buffer,
    /// and has now at least doubled and grown by an MSS or more (as in Linux). Without the update a
    /// waiting sender would depend on its window probes.
    #[inline(always)] // like `read_len`
    fn consume(&mut self, n: u64) {
        self.read += n;
        self.advertised = None;
        if n > 0 && 2 * self.window() <= self.most && self.nxt > 0 && !self.finished() {
            let floor = self.mss().min(self.most / 2);
            let offer = (self.space() >> self.shift) << self.shift;
            if offer >= (2 * self.window()).max(floor) {
                self.acknowledge_now(Reason::WindowUpdate);
            }
        }
    }

    /// Sets the buffer size in bytes and ends its automatic growth.
    pub(crate) fn set_buffer(&mut self, bytes: u64) {
        let before = self.window();
        self.buffer = bytes;
        self.autotune = None;
        self.resized();
        if self.nxt > 0 && !self.finished() && self.space() >= (2 * before).max(self.mss()) {
            // Informs a sender that waits for space.
            self.acknowledge_now(Reason::WindowUpdate);
        }
    }

    /// Copies buffer size and automatic growth from `before`, which has received nothing yet.
    pub(crate) fn settings_of(&mut self, before: &Self) {
        self.buffer = before.buffer;
        if before.autotune.is_none() {
            self.autotune = None;
        }
        self.resized();
    }

    #[inline]
    fn space(&self) -> u64 {
        let space = self.buffer.saturating_sub(self.unread());
        space.min(self.most)
    }

    /// Recomputes the largest offered window after the buffer or its limit changed.
    #[inline]
    fn resized(&mut self) {
        let open = self.autotune.as_ref().and_then(|tune| tune.open());
        self.most = open.map_or(self.buffer, |open| open.min(self.buffer));
        self.advertised = None;
    }

    /// Processes data that was not received before.
    #[inline]
    fn on_data(&mut self, len: u32) {
        if self.autotune.is_some() {
            self.grown(len);
        }
    }

    /// Counts in-order data for a buffer that may grow.
    #[inline(never)]
    fn grown(&mut self, len: u32) {
        if let Some(tune) = &mut self.autotune {
            let holes = self.holes.as_deref().unwrap_or(&NO_HOLES);
            let ahead = holes.ranges.end().map_or(0, |end| end - self.nxt);
            let open = tune.open();
            self.buffer = tune.on_data(len, ahead, self.buffer);
            if self.config.receiver.delayed_ack.quick > 0 && tune.open() > open {
                // Linux, tcp_grow_window: ACKs are not delayed while the window opens.
                self.quick |= 1;
            }
            self.resized();
        }
    }

    /// Window field of a SYN, which is never scaled (RFC 7323, 2.2). Data of the peer's SYN is
    /// subtracted.
    pub(crate) fn syn_window(&self) -> u16 {
        let taken = self.nxt.saturating_sub(1);
        let window = self.buffer.min(u64::from(u16::MAX));
        window.saturating_sub(taken) as u16
    }

    /// Computes the window field to advertise. The right edge moves only by at least one segment or
    /// half the buffer (RFC 9293, 3.8.6.2.2), and never to the left.
    #[inline(always)] // called for each segment sent
    pub(crate) fn advertise(&mut self) -> u16 {
        if let Some(field) = self.advertised {
            if cfg!(debug_assertions) {
                let edge = self.edge;
                let anew = (self.advertise_anew(), self.edge);
                assert_eq!(anew, (field, edge), "what was advertised no longer holds");
            }
            return field;
        }
        let field = self.advertise_anew();
        self.advertised = Some(field);
        field
    }

    #[inline(always)] // one call site
    fn advertise_anew(&mut self) -> u16 {
        let largest = u64::from(u16::MAX);
        let field = (self.space() >> self.shift).min(largest);
        let offer = field << self.shift;
        if self.nxt + offer >= self.edge + self.mss().min(self.most / 2) {
            self.edge = self.nxt + offer;
            return field as u16;
        }
        // Rounded up, because rounding down would move the edge to the left.
        let field = self.window().div_ceil(1 << self.shift).min(largest);
        self.edge = self.edge.max(self.nxt + (field << self.shift));
        field as u16
    }

    /// Tunes the buffer when data arrives. `echo` is the age of our timestamp that the segment
    /// echoes, if any.
    #[inline(always)] // called for each data segment
    pub(crate) fn tune(&mut self, now: Instant, echo: Option<Interval>) {
        if self.autotune.is_some() {
            self.grow(now, echo);
        }
    }

    /// Updates a buffer that may grow.
    #[inline(never)]
    fn grow(&mut self, now: Instant, echo: Option<Interval>) {
        let (nxt, read, window) = (self.nxt, self.read, self.window());
        if let Some(tune) = &mut self.autotune {
            if let Some(rtt) = echo {
                tune.echoed(rtt);
            }
            if let Some(wanted) = tune.arrived(now, (nxt, read), window, echo.is_some()) {
                self.buffer = self.buffer.max(wanted);
            }
        }
        self.resized();
    }

    /// Processes data at `[start, start + len)`, already cut to the window.
    #[inline]
    pub(crate) fn data(
        &mut self,
        now: Instant,
        start: Offset,
        len: u32,
        bytes: Option<&[u8]>,
        timers: &mut Timers,
    ) {
        let end = start + u64::from(len);
        if end <= self.nxt || self.finished() {
            // An old segment: RFC 5681, 4.2.
            self.acknowledge_again(now, Reason::Duplicate, timers);
            return;
        }
        if start > self.nxt {
            if self.would_keep(start, end) {
                self.park(start, end, bytes);
                self.on_data(len);
            }
            self.acknowledge_again(now, Reason::OutOfOrder, timers);
            return;
        }
        if let Some(bytes) = bytes {
            self.push_bytes(&bytes[(self.nxt - start) as usize..]);
        }
        self.nxt = end;
        self.advertised = None;
        let filled = !self.holes().ranges.is_empty();
        if filled {
            self.unpark();
        }
        self.on_data(len);
        if self.finish_if_reached() || (filled && !self.config.receiver.delay_gap_fill) {
            self.acknowledge_now(if filled {
                Reason::HoleFilled
            } else {
                Reason::Fin
            });
            return;
        }
        self.delay_ack(now, timers);
    }

    /// Returns whether `len` in-order bytes can take the fast path. They must fit into the window,
    /// with no out-of-order data waiting and no FIN known.
    #[inline]
    pub(crate) fn continues(&self, len: u32) -> bool {
        u64::from(len) <= self.window() && self.fin == UNKNOWN && self.holes().ranges.is_empty()
    }

    /// Fast form of [`Self::data`] for data that [continues](Self::continues) the stream.
    #[inline(always)] // called for each data segment in order
    pub(crate) fn fast_data(
        &mut self,
        now: Instant,
        len: u32,
        bytes: Option<&[u8]>,
        timers: &mut Timers,
    ) {
        if let Some(bytes) = bytes {
            self.push_bytes(bytes);
        }
        self.nxt += u64::from(len);
        self.advertised = None;
        self.on_data(len);
        self.delay_ack(now, timers);
    }

    /// Appends the next in-order bytes.
    #[inline(never)]
    fn push_bytes(&mut self, fresh: &[u8]) {
        self.bytes.get_or_insert_default().unread.extend(fresh);
    }

    /// Repeats the acknowledgment for a segment that brings no new data.
    #[inline]
    pub(crate) fn acknowledge_again(&mut self, now: Instant, reason: Reason, timers: &mut Timers) {
        if self.config.receiver.delay_dup_acks {
            self.delay_ack(now, timers);
        } else {
            self.acknowledge_now(reason);
        }
    }

    /// Sets the number of full-sized segments after which an ACK is sent.
    pub(crate) fn set_ack_every(&mut self, every: u32) {
        let ack = self.config.receiver.delayed_ack;
        if ack.every == every && !ack.max_delay.is_zero() {
            return;
        }
        let mut config = Config::clone(&self.config);
        let delayed = &mut config.receiver.delayed_ack;
        if delayed.max_delay.is_zero() {
            *delayed = DelayedAck::default();
        }
        delayed.every = every;
        self.config = Arc::new(config);
    }

    /// Returns the number of coming data segments whose ACKs are not delayed.
    pub(crate) fn quick(&self) -> u32 {
        self.quick
    }

    /// Counts segments that were joined as one of the ACKs that are not delayed. `before` is
    /// [`Self::quick`] before them.
    pub(crate) fn count_joined(&mut self, before: u32) {
        if self.quick < before {
            self.quick = before - 1;
        }
    }

    /// Counts one more segment whose acknowledgment is delayed.
    #[inline(always)] // called for each data segment
    fn delay_ack(&mut self, now: Instant, timers: &mut Timers) {
        self.waiting += 1;
        let DelayedAck {
            max_delay,
            every,
            heartbeat,
            quick: _,
        } = self.config.receiver.delayed_ack;
        if self.quick > 0 {
            self.quick -= 1;
            self.need = AckNeed::Now;
        } else if self.waiting >= every || max_delay.is_zero() {
            self.need = AckNeed::Now;
        } else if self.need == AckNeed::None {
            self.need = AckNeed::Delayed;
            let due = if heartbeat {
                now.next_tick(max_delay)
            } else {
                now + max_delay
            };
            timers.set(Timer::DelayedAck, due);
        }
    }

    /// Stores the position `at` of the peer's FIN.
    pub(crate) fn fin(&mut self, at: Offset) {
        if self.fin == UNKNOWN && at >= self.nxt && self.would_keep(at, at + 1) {
            self.fin = at;
            if at > self.nxt {
                // The FIN has a sequence number, so SACK blocks must include it. Otherwise its
                // segment would seem lost.
                self.park(at, at + 1, None);
            }
        }
        self.finish_if_reached();
        self.acknowledge_now(Reason::Fin);
    }

    fn finish_if_reached(&mut self) -> bool {
        if self.nxt >= self.fin {
            self.nxt = self.fin + 1;
            self.advertised = None;
            self.edge = self.edge.max(self.nxt);
            if let Some(holes) = &mut self.holes {
                holes.ranges.clear();
            }
            return true;
        }
        false
    }

    fn park(&mut self, start: Offset, end: Offset, bytes: Option<&[u8]>) {
        if let Some(bytes) = bytes {
            self.park_bytes(start, end, bytes);
        }
        let Holes { ranges, recent, .. } = &mut **self.holes.get_or_insert_default();
        let (left, right) = ranges.insert(start, end);
        if self.config.receiver.sack {
            recent.arrived(start, (left, right));
        }
    }

    /// Stores those bytes of `[start, end)` that are not stored yet.
    #[inline(never)] // keeps code for bytes out of the instruction cache
    fn park_bytes(&mut self, start: Offset, end: Offset, bytes: &[u8]) {
        let parked = &mut self.bytes.get_or_insert_default().parked;
        let ranges = &self.holes.as_deref().unwrap_or(&NO_HOLES).ranges;
        for (from, to) in ranges.missing(start, end) {
            let piece = &bytes[(from - start) as usize..(to - start) as usize];
            parked.insert(from, piece.to_vec());
        }
    }

    /// Moves RCV.NXT over ranges that in-order data has reached.
    fn unpark(&mut self) {
        if let Some(holes) = &mut self.holes {
            while let Some(end) = holes.ranges.pop_reached(self.nxt) {
                self.nxt = self.nxt.max(end);
            }
        }
        if self.bytes.is_some() {
            self.unpark_bytes();
        }
    }

    /// Moves stored bytes that are now in order to the unread bytes.
    #[inline(never)] // keeps code for bytes out of the instruction cache
    fn unpark_bytes(&mut self) {
        let Some(Bytes { unread, parked }) = self.bytes.as_deref_mut() else {
            return;
        };
        while parked
            .first_key_value()
            .is_some_and(|(at, _)| *at < self.nxt)
            && let Some((at, piece)) = parked.pop_first()
        {
            let have = self.read + unread.len() as u64;
            if at + piece.len() as u64 > have {
                unread.extend(&piece[have.saturating_sub(at) as usize..]);
            }
        }
    }
}

#[cfg(test)]
impl Receiver {
    /// Calls [`Self::data`] without timers.
    fn arrive(&mut self, now: Instant, start: Offset, len: u32, bytes: Option<&[u8]>) {
        self.data(now, start, len, bytes, &mut Timers::none());
    }
}
