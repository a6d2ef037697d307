//! The receiving side: reassembly, window, SACK blocks, when to acknowledge.

use crate::config::{DelayedAck, ReceiverConfig};
use crate::segment::{MAX_SACK_BLOCKS, SackBlock, SackBlocks};
use crate::seq::{Offset, Seq};
use crate::time::{Instant, Interval};
use autotune::Autotune;
use std::collections::{BTreeMap, VecDeque};

mod autotune;
mod damaged;
mod dsack;
mod snack;

/// How many recent arrivals out of order are remembered for SACK blocks.
const RECENT: usize = 8;

/// How urgently the data that waits wants an acknowledgment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AckNeed {
    /// Nothing to acknowledge.
    None,
    /// Within the delay.
    Delayed,
    /// At once.
    Now,
}

/// Receive state of a connection (RFC 9293, 3.3.1: RCV.NXT, RCV.WND).
#[derive(Debug)]
pub(crate) struct Receiver {
    config: ReceiverConfig,
    mss: u64,
    /// Peer's initial sequence number.
    irs: Seq,
    nxt: Offset,
    /// Right edge that was advertised; never moves left.
    edge: Offset,
    shift: u8,
    /// Position after the last byte that the application has read.
    read: Offset,
    /// In-order bytes not yet read, when the peer sends bytes.
    unread_bytes: VecDeque<u8>,
    /// Ranges received out of order: sorted, disjoint, not adjacent.
    ranges: Vec<(Offset, Offset)>,
    /// Their bytes in disjoint pieces, when the peer sends bytes.
    parked: BTreeMap<Offset, Vec<u8>>,
    /// Starts of recent out-of-order arrivals, newest first.
    recent: VecDeque<Offset>,
    /// A duplicate to report (RFC 2883).
    duplicate: Option<(Offset, Offset)>,
    /// The next SNACK tells of the first hole from here on.
    snack_next: Offset,
    /// What was damaged when it last came (ELN): sorted, disjoint, not adjacent.
    damaged: Vec<(Offset, Offset)>,
    /// Position of the peer's FIN.
    fin: Option<Offset>,
    /// Segments that wait for an acknowledgment.
    waiting: u32,
    need: AckNeed,
    /// When a delayed acknowledgment is due.
    deadline: Instant,
    /// What makes the buffer grow, if it may.
    autotune: Option<Box<Autotune>>,
}

impl Receiver {
    pub(crate) fn new(config: ReceiverConfig, mss: u32, shift: u8) -> Self {
        Self {
            config,
            mss: u64::from(mss),
            irs: Seq::default(),
            nxt: 0,
            edge: 0,
            shift,
            read: 1,
            unread_bytes: VecDeque::new(),
            ranges: Vec::new(),
            parked: BTreeMap::new(),
            recent: VecDeque::new(),
            duplicate: None,
            snack_next: 0,
            damaged: Vec::new(),
            fin: None,
            waiting: 0,
            need: AckNeed::None,
            deadline: Instant::MAX,
            autotune: config
                .buffer_max
                .filter(|&max| max > config.buffer)
                .map(|max| {
                    let gradual = config.gradual_window;
                    Box::new(Autotune::new(max, u64::from(mss), config.buffer, gradual))
                }),
        }
    }

    /// The peer's SYN arrived: its data starts at offset 1.
    pub(crate) fn synchronize(&mut self, irs: Seq) {
        self.irs = irs;
        self.nxt = 1;
        self.edge = 1 + u64::from(self.syn_window());
    }

    /// Shift to offer on a SYN.
    pub(crate) fn shift(&self) -> u8 {
        self.shift
    }

    /// No window scaling was agreed.
    pub(crate) fn without_scaling(&mut self) {
        self.shift = 0;
    }

    /// Next position expected; past the FIN once that was reached.
    #[inline]
    pub(crate) fn nxt(&self) -> Offset {
        self.nxt
    }

    /// Acknowledgment number to send.
    #[inline]
    pub(crate) fn ack(&self) -> Seq {
        self.irs.at(self.nxt)
    }

    /// Window that was advertised and is still open.
    #[inline]
    pub(crate) fn window(&self) -> u64 {
        self.edge.saturating_sub(self.nxt)
    }

    /// Where a sequence number lies; `None` when before the peer's SYN.
    #[inline]
    pub(crate) fn offset(&self, seq: Seq) -> Option<Offset> {
        seq.offset(self.irs, self.nxt)
    }

    /// In-order bytes that the application can read.
    #[inline]
    pub(crate) fn unread(&self) -> u64 {
        (self.nxt - u64::from(self.finished())).saturating_sub(self.read)
    }

    /// Whether all of `[from, to)`, which nothing in order reaches, is here.
    #[inline]
    pub(crate) fn holds(&self, from: Offset, to: Offset) -> bool {
        from > self.nxt && {
            let i = self.ranges.partition_point(|r| r.1 <= from);
            self.ranges
                .get(i)
                .is_some_and(|&(left, right)| left <= from && to <= right)
        }
    }

    /// Whether data from here on is kept.
    #[inline]
    pub(crate) fn keeps(&self, from: Offset) -> bool {
        from == self.nxt || self.config.reassembly
    }

    /// In-order bytes of data received.
    #[inline]
    pub(crate) fn delivered(&self) -> u64 {
        self.nxt.saturating_sub(1 + u64::from(self.finished()))
    }

    /// Whether everything up to and with the peer's FIN has arrived.
    #[inline]
    pub(crate) fn finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.nxt > fin)
    }

    /// How urgent an acknowledgment is.
    #[inline]
    pub(crate) fn need(&self) -> AckNeed {
        self.need
    }

    /// When a delayed acknowledgment is due; `Instant::MAX` when none waits.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Asks for an acknowledgment at once.
    #[inline]
    pub(crate) fn acknowledge_now(&mut self) {
        self.need = AckNeed::Now;
    }

    /// An acknowledgment left.
    #[inline]
    pub(crate) fn acknowledged(&mut self) {
        self.need = AckNeed::None;
        self.waiting = 0;
        self.deadline = Instant::MAX;
    }

    /// Reads up to `max` bytes of which only the length is known.
    pub(crate) fn read_len(&mut self, max: u64) -> u64 {
        let n = self.unread().min(max);
        self.take(n);
        n
    }

    /// Reads up to `max` bytes.
    pub(crate) fn read_bytes(&mut self, out: &mut Vec<u8>, max: usize) -> usize {
        let n = (self.unread() as usize)
            .min(max)
            .min(self.unread_bytes.len());
        out.extend(self.unread_bytes.drain(..n));
        self.take(n as u64);
        n
    }

    /// The window opens: worth an ACK of its own when it was at most half the
    /// buffer and doubles by at least a segment (as Linux does), so that a
    /// sender that waits for space is not left to its probes.
    fn take(&mut self, n: u64) {
        self.read += n;
        let floor = self.mss.min(self.most() / 2);
        if n > 0 && 2 * self.window() <= self.most() && self.nxt > 0 && !self.finished() {
            let offer = (self.space() >> self.shift) << self.shift;
            if offer >= (2 * self.window()).max(floor) {
                self.need = AckNeed::Now;
            }
        }
    }

    fn space(&self) -> u64 {
        let space = self.config.buffer.saturating_sub(self.unread());
        space.min(self.most())
    }

    /// Most that is offered, however little waits to be read.
    fn most(&self) -> u64 {
        let open = self.autotune.as_ref().and_then(|tune| tune.open());
        open.map_or(self.config.buffer, |open| open.min(self.config.buffer))
    }

    /// Data came that was not here before.
    #[inline]
    fn came(&mut self, len: u32) {
        if let Some(tune) = &mut self.autotune {
            let ahead = self.ranges.last().map_or(0, |last| last.1 - self.nxt);
            self.config.buffer = tune.came(len, ahead, self.config.buffer);
        }
    }

    /// Window field of a SYN, which is never scaled (RFC 7323, 2.2).
    pub(crate) fn syn_window(&self) -> u16 {
        self.config.buffer.min(u64::from(u16::MAX)) as u16
    }

    /// Window field to advertise. The right edge moves only by what is worth
    /// telling (RFC 9293, 3.8.6.2.2: one segment or half the buffer) and never
    /// to the left.
    #[inline]
    pub(crate) fn advertise(&mut self) -> u16 {
        let largest = u64::from(u16::MAX);
        let offer = (self.space() >> self.shift).min(largest) << self.shift;
        if self.nxt + offer >= self.edge + self.mss.min(self.most() / 2) {
            self.edge = self.nxt + offer;
        }
        // Rounded up, or the scale would move the edge to the left.
        let field = self.window().div_ceil(1 << self.shift).min(largest);
        self.edge = self.edge.max(self.nxt + (field << self.shift));
        field as u16
    }

    /// Data arrived, and with it the echo of a timestamp of ours that was sent
    /// so long ago, if there was one: the buffer grows if it is to.
    #[inline]
    pub(crate) fn tune(&mut self, now: Instant, echo: Option<Interval>) {
        let (nxt, read, window) = (self.nxt, self.read, self.window());
        if let Some(tune) = &mut self.autotune {
            if let Some(rtt) = echo {
                tune.echoed(rtt);
            }
            if let Some(wanted) = tune.arrived(now, (nxt, read), window, echo.is_some()) {
                self.config.buffer = self.config.buffer.max(wanted);
            }
        }
    }

    /// Data arrived at `[start, start + len)`, already cut to the window.
    #[inline]
    pub(crate) fn data(&mut self, now: Instant, start: Offset, len: u32, bytes: Option<&[u8]>) {
        let end = start + u64::from(len);
        if end <= self.nxt || self.finished() {
            self.need = AckNeed::Now; // an old segment: RFC 5681, 4.2
            return;
        }
        if start > self.nxt {
            if self.config.reassembly {
                self.park(start, end, bytes);
                self.came(len);
            }
            self.need = AckNeed::Now;
            return;
        }
        if let Some(bytes) = bytes {
            self.unread_bytes
                .extend(&bytes[(self.nxt - start) as usize..]);
        }
        self.nxt = end;
        let filled = !self.ranges.is_empty();
        if filled {
            self.unpark();
        }
        self.came(len);
        if self.finish_if_reached() || (filled && !self.config.delay_gap_fill) {
            self.need = AckNeed::Now;
            return;
        }
        self.waiting += 1;
        let DelayedAck {
            max_delay,
            every,
            heartbeat,
        } = self.config.delayed_ack;
        if self.waiting >= every || max_delay.is_zero() {
            self.need = AckNeed::Now;
        } else if self.need == AckNeed::None {
            self.need = AckNeed::Delayed;
            self.deadline = if heartbeat {
                now.next_tick(max_delay)
            } else {
                now + max_delay
            };
        }
    }

    /// The peer's FIN stands at `at`.
    pub(crate) fn fin(&mut self, at: Offset) {
        if self.fin.is_none() && at >= self.nxt && (at == self.nxt || self.config.reassembly) {
            self.fin = Some(at);
            if at > self.nxt {
                // It has a sequence number, and without it in a SACK block the
                // segment that carries it would seem lost.
                self.park(at, at + 1, None);
            }
        }
        self.finish_if_reached();
        self.need = AckNeed::Now;
    }

    /// SACK blocks to report, at most `most`: first the range that the latest
    /// arrival belongs to, then those reported before it (RFC 2018, 4).
    pub(crate) fn sack_blocks(&mut self, most: usize) -> SackBlocks {
        let mut out = SackBlocks::default();
        if self.ranges.is_empty() {
            self.recent.clear();
            return out;
        }
        let nxt = self.nxt;
        self.recent.retain(|&p| p >= nxt);
        let mut last: [Offset; MAX_SACK_BLOCKS] = [0; MAX_SACK_BLOCKS];
        let mut n = 0;
        for &point in &self.recent {
            if n == most.min(MAX_SACK_BLOCKS) {
                break;
            }
            let i = self.ranges.partition_point(|r| r.1 <= point);
            let Some(&(left, right)) = self.ranges.get(i) else {
                continue;
            };
            if last[..n].contains(&right) {
                continue;
            }
            last[n] = right;
            n += 1;
            out.push(SackBlock {
                left: self.irs.at(left),
                right: self.irs.at(right),
            });
        }
        out
    }

    fn finish_if_reached(&mut self) -> bool {
        if let Some(fin) = self.fin.filter(|&fin| self.nxt >= fin) {
            self.nxt = fin + 1;
            self.edge = self.edge.max(self.nxt);
            self.ranges.clear();
            return true;
        }
        false
    }

    fn park(&mut self, start: Offset, end: Offset, bytes: Option<&[u8]>) {
        if let Some(bytes) = bytes {
            self.park_bytes(start, end, bytes);
        }
        let from = self.ranges.partition_point(|r| r.1 < start);
        let to = self.ranges.partition_point(|r| r.0 <= end);
        if from == to {
            self.ranges.insert(from, (start, end));
        } else {
            let merged = (
                start.min(self.ranges[from].0),
                end.max(self.ranges[to - 1].1),
            );
            self.ranges[from] = merged;
            self.ranges.drain(from + 1..to);
        }
        if self.config.sack {
            // One entry a range is enough.
            let (left, right) = self.ranges[from];
            self.recent.retain(|&p| p < left || p >= right);
            self.recent.push_front(start);
            self.recent.truncate(RECENT);
        }
    }

    /// Keeps those bytes of `[start, end)` that no range holds yet.
    fn park_bytes(&mut self, start: Offset, end: Offset, bytes: &[u8]) {
        let mut at = start;
        let first = self.ranges.partition_point(|r| r.1 <= start);
        for &(from, to) in &self.ranges[first..] {
            if from >= end {
                break;
            }
            if at < from {
                let piece = &bytes[(at - start) as usize..(from - start) as usize];
                self.parked.insert(at, piece.to_vec());
            }
            at = at.max(to);
        }
        if at < end {
            self.parked
                .insert(at, bytes[(at - start) as usize..].to_vec());
        }
    }

    /// What arrived in order may have reached ranges that wait.
    fn unpark(&mut self) {
        let reached = self.ranges.partition_point(|r| r.0 <= self.nxt);
        let mut done = 0;
        for &(from, to) in &self.ranges[..reached] {
            if from <= self.nxt {
                self.nxt = self.nxt.max(to);
                done += 1;
            }
        }
        self.ranges.drain(..done);
        while let Some(entry) = self.parked.first_entry() {
            if *entry.key() >= self.nxt {
                break;
            }
            let (at, piece) = entry.remove_entry();
            let have = self.read + self.unread_bytes.len() as u64;
            if at + piece.len() as u64 > have {
                self.unread_bytes
                    .extend(&piece[have.saturating_sub(at) as usize..]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Interval;

    fn receiver(config: ReceiverConfig) -> Receiver {
        let mut r = Receiver::new(config, 100, 0);
        r.synchronize(Seq(1000));
        r
    }

    fn blocks(r: &mut Receiver) -> Vec<(u32, u32)> {
        r.sack_blocks(4)
            .as_slice()
            .iter()
            .map(|b| (b.left.0 - 1000, b.right.0 - 1000))
            .collect()
    }

    #[test]
    fn sack_blocks_name_the_latest_range_first() {
        let mut r = receiver(ReceiverConfig::default());
        for start in [201, 401, 601, 801, 1001] {
            r.data(Instant::ZERO, start, 100, None);
        }
        assert_eq!(
            blocks(&mut r),
            [(1001, 1101), (801, 901), (601, 701), (401, 501)]
        );
        r.data(Instant::ZERO, 301, 100, None); // joins two ranges
        assert_eq!(
            blocks(&mut r),
            [(201, 501), (1001, 1101), (801, 901), (601, 701)]
        );
        r.data(Instant::ZERO, 1, 200, None);
        assert_eq!(r.nxt(), 501);
        assert_eq!(blocks(&mut r), [(1001, 1101), (801, 901), (601, 701)]);
    }

    #[test]
    fn overlapping_pieces_give_each_byte_once() {
        let mut r = receiver(ReceiverConfig::default());
        let stream: Vec<u8> = (0..=255).collect();
        for (from, to) in [(50, 70), (60, 90), (40, 55), (10, 45), (20, 100), (0, 12)] {
            r.data(
                Instant::ZERO,
                1 + from as u64,
                (to - from) as u32,
                Some(&stream[from..to]),
            );
        }
        let mut out = Vec::new();
        assert_eq!(r.read_bytes(&mut out, usize::MAX), 100);
        assert_eq!(out, stream[..100]);
        assert_eq!(r.nxt(), 101);
    }

    #[test]
    fn without_reassembly_only_the_next_segment_counts() {
        let mut r = receiver(ReceiverConfig {
            reassembly: false,
            ..ReceiverConfig::default()
        });
        r.data(Instant::ZERO, 101, 100, None);
        r.data(Instant::ZERO, 1, 100, None);
        assert_eq!(r.nxt(), 101);
    }

    #[test]
    fn the_right_edge_never_moves_left_under_scaling() {
        let config = ReceiverConfig {
            buffer: 1 << 20,
            ..ReceiverConfig::default()
        };
        let mut r = Receiver::new(config, 100, 5);
        r.synchronize(Seq(0));
        let mut edge = 0;
        let mut at = 1;
        for len in (1..60).chain(1..60) {
            r.data(Instant::ZERO, at, len, None);
            at += u64::from(len);
            let field = u64::from(r.advertise());
            let new = r.nxt() + (field << 5);
            assert!(new >= edge, "{new} < {edge}");
            edge = new;
        }
    }

    #[test]
    fn the_window_closes_and_opens_by_a_segment_at_least() {
        let mut r = receiver(ReceiverConfig {
            buffer: 300,
            ..ReceiverConfig::default()
        });
        r.data(Instant::ZERO, 1, 300, None);
        assert_eq!(r.advertise(), 0);
        r.acknowledged();
        r.read_len(99);
        assert_eq!((r.need(), r.advertise()), (AckNeed::None, 0));
        r.read_len(1);
        assert_eq!((r.need(), r.advertise()), (AckNeed::Now, 100));
    }

    #[test]
    fn a_fin_out_of_order_is_in_the_sack_block() {
        let mut r = receiver(ReceiverConfig::default());
        r.data(Instant::ZERO, 101, 100, None);
        r.fin(201);
        assert_eq!(blocks(&mut r), [(101, 202)]);
        assert_eq!((r.nxt(), r.finished(), r.delivered()), (1, false, 0));
        r.data(Instant::ZERO, 1, 100, None);
        assert_eq!((r.nxt(), r.finished(), r.delivered()), (202, true, 200));
        assert_eq!((r.need(), r.unread()), (AckNeed::Now, 200));
        assert_eq!(blocks(&mut r), []);
    }

    #[test]
    fn delayed_acknowledgment_by_count_time_and_heartbeat() {
        let ms = Interval::from_millis;
        let mut r = receiver(ReceiverConfig::default());
        r.data(Instant::ZERO + ms(10), 1, 100, None);
        assert_eq!(
            (r.need(), r.deadline()),
            (AckNeed::Delayed, Instant::ZERO + ms(210))
        );
        r.data(Instant::ZERO + ms(20), 101, 100, None);
        assert_eq!(r.need(), AckNeed::Now);
        let delayed_ack = DelayedAck {
            heartbeat: true,
            ..DelayedAck::default()
        };
        let mut r = receiver(ReceiverConfig {
            delayed_ack,
            ..ReceiverConfig::default()
        });
        r.data(Instant::ZERO + ms(10), 1, 100, None);
        assert_eq!(r.deadline(), Instant::ZERO + ms(200));
    }
}
