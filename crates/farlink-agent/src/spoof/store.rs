//! Cached segments in sequence order. Each has the number of its last transmission.
//!
//! The path to the far end keeps packets in order. A segment is therefore lost if a segment that
//! was sent *later* has arrived. A duplicate ACK caused by data sent *earlier* shows no loss,
//! because the sender has since filled the hole that it reports.

use farlink_tcp::{Instant, Interval, SackBlock, Seq};
use farlink_wire::packet::Packet;
use std::collections::VecDeque;

/// Number of later arrivals that indicate a loss, like the three duplicate ACKs of RFC 5681, 3.2.
pub(super) const THRESHOLD: usize = 3;

/// Cached segments of a connection.
#[derive(Debug)]
pub(super) struct Store {
    all: VecDeque<CachedSegment>,
    bytes: u64,
    /// Number of the last transmission.
    order: u64,
    /// Highest transmission numbers known to have arrived, descending.
    arrived: [u64; THRESHOLD],
    /// Number of the transmission that last advanced the far end's ACK.
    last_advance: u64,
    /// Shortest measured RTT to the far end.
    shortest: Option<Interval>,
}

/// Segment that the agent must deliver.
#[derive(Debug)]
pub(super) struct CachedSegment {
    pub(super) start: Seq,
    pub(super) end: Seq,
    pub(super) packet: Packet,
    /// Time and number of the last transmission.
    sent: Instant,
    order: u64,
    /// Set if the agent retransmitted the segment. Such a segment gives no RTT sample (Karn).
    pub(super) again: bool,
    /// Set if the far end SACKed the segment (RFC 2018).
    pub(super) sacked: bool,
    /// Set if an RTO marked the segment lost. ACKs then release its retransmission.
    pub(super) lost: bool,
    /// Set if the segment waits for the far end's window, because it was not sent yet or was
    /// dropped there.
    pub(super) waits: bool,
}

/// Effect of an ACK of new data.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Confirmed {
    /// Number of acknowledged segments that the agent had retransmitted.
    pub(super) again: usize,
    /// Set if the ACK came too early to be caused by the agent's retransmissions, so the originals
    /// arrived.
    pub(super) early: bool,
    /// Transmission time for an RTT sample. The segment was sent once, and was acknowledged alone
    /// or as the last of several.
    pub(super) sample: Option<Instant>,
}

impl Store {
    pub(super) fn new() -> Self {
        Self {
            all: VecDeque::new(),
            bytes: 0,
            order: 0,
            arrived: [0; THRESHOLD],
            last_advance: 0,
            shortest: None,
        }
    }

    /// Returns the bytes of cached data.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn get(&self, number: usize) -> &CachedSegment {
        &self.all[number]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &CachedSegment> {
        self.all.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut CachedSegment> {
        self.all.iter_mut()
    }

    /// Records an RTT sample of the path to the far end.
    pub(super) fn round_trip(&mut self, time: Interval) {
        self.shortest = Some(self.shortest.map_or(time, |least| least.min(time)));
    }

    /// Returns whether the first byte that the far end lacks is cached (and not lost in front of
    /// the agent).
    pub(super) fn is_due(&self, confirmed: Seq) -> bool {
        let first = self.all.front();
        first.is_some_and(|first| first.start.diff(confirmed) <= 0)
    }

    /// Returns whether a single cached segment contains all of this data.
    pub(super) fn covers(&self, start: Seq, end: Seq) -> bool {
        let after = self.all.partition_point(|kept| kept.start.diff(start) <= 0);
        let before = after.checked_sub(1).map(|at| &self.all[at]);
        before.is_some_and(|kept| kept.end.diff(end) >= 0)
    }

    /// Stores a segment that is sent now or waits.
    pub(super) fn insert(
        &mut self,
        (start, end): (Seq, Seq),
        packet: Packet,
        (waits, again): (bool, bool),
        now: Instant,
    ) {
        let at = self.all.partition_point(|kept| kept.start.diff(start) < 0);
        self.order += 1;
        let kept = CachedSegment {
            start,
            end,
            packet,
            sent: now,
            order: self.order,
            again,
            sacked: false,
            lost: false,
            waits,
        };
        self.bytes += kept.len();
        self.all.insert(at, kept);
    }

    /// Returns the end of the contiguous cached data from `place` on.
    pub(super) fn end_of_run(&self, place: Seq) -> Seq {
        let at = self.all.partition_point(|kept| kept.start.diff(place) < 0);
        let mut end = place;
        for kept in self.all.range(at.saturating_sub(1)..) {
            if kept.start.diff(end) > 0 {
                break;
            }
            if kept.end.diff(end) > 0 {
                end = kept.end;
            }
        }
        end
    }

    /// Returns the contiguous range beyond `next` that contains `place`, for a SACK block.
    pub(super) fn run(&self, next: Seq, place: Seq) -> Option<SackBlock> {
        let mut run: Option<SackBlock> = None;
        for kept in self.all.iter().filter(|kept| kept.start.diff(next) > 0) {
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

    /// Numbers a transmission at `now`. Returns the packet to send.
    pub(super) fn send(&mut self, number: usize, now: Instant) -> &Packet {
        self.order += 1;
        let kept = &mut self.all[number];
        (kept.sent, kept.order) = (now, self.order);
        (kept.lost, kept.waits) = (false, false);
        &kept.packet
    }

    /// Records a retransmission. Returns its sequence number.
    pub(super) fn mark_again(&mut self, number: usize) -> Seq {
        let kept = &mut self.all[number];
        kept.again = true;
        kept.start
    }

    /// Marks segments lost: all that were not SACKed after an RTO, otherwise those sent at least
    /// the shortest RTT ago.
    pub(super) fn mark_lost(&mut self, all: bool, now: Instant) {
        let time = self.shortest;
        for kept in &mut self.all {
            let old = all || time.is_none_or(|time| now >= kept.sent + time);
            kept.lost = old && !kept.sacked && !kept.waits;
        }
    }

    /// Returns whether an ACK at `now` can be caused by the last transmission of a segment.
    fn answers(shortest: Option<Interval>, kept: &CachedSegment, now: Instant) -> bool {
        !kept.again || shortest.is_none_or(|time| now >= kept.sent + time)
    }

    /// Returns whether the ACK of a segment would have arrived by now.
    pub(super) fn is_old(&self, kept: &CachedSegment, now: Instant) -> bool {
        self.shortest.is_none_or(|time| now >= kept.sent + time)
    }

    /// Handles an ACK of all data up to `ack`.
    pub(super) fn confirm(&mut self, ack: Seq, now: Instant) -> Confirmed {
        let mut confirmed = Confirmed::default();
        let mut last_advance = 0;
        while let Some(kept) = self.all.front().filter(|kept| kept.end.diff(ack) <= 0) {
            let answers = Self::answers(self.shortest, kept, now);
            confirmed.early |= !answers && !kept.sacked;
            confirmed.again += usize::from(kept.again);
            if !kept.again && kept.end == ack {
                confirmed.sample = Some(kept.sent);
            }
            if answers && !kept.sacked {
                last_advance = last_advance.max(kept.order);
                record_arrival(&mut self.arrived, kept.order);
            }
            self.bytes -= kept.len();
            self.all.pop_front();
        }
        self.last_advance = if last_advance == 0 {
            self.last_advance
        } else {
            last_advance
        };
        if let Some(sent) = confirmed.sample {
            self.round_trip(now.since(sent));
        }
        confirmed
    }

    /// Returns whether the first segment was sent before the transmission that last advanced the
    /// ACK.
    pub(super) fn first_was_passed(&self) -> bool {
        let first = self.all.front();
        first.is_some_and(|first| first.order < self.last_advance && !first.sacked && !first.waits)
    }

    /// Returns the number of duplicate ACKs for the first segment that are caused by data sent
    /// before it.
    pub(super) fn duplicates_of_earlier_data(&self) -> usize {
        let Some(first) = self.all.front() else {
            return 0;
        };
        let before = self.last_advance + 1..first.order;
        let rest = self.all.iter().skip(1);
        rest.filter(|kept| before.contains(&kept.order)).count()
    }

    /// Handles SACKed data. Returns the indices of lost segments: those followed by three later
    /// arrivals, or during a recovery by one.
    pub(super) fn report(
        &mut self,
        blocks: &[SackBlock],
        recovers: bool,
        now: Instant,
    ) -> Vec<usize> {
        let highest = blocks.iter().map(|block| block.right);
        let Some(highest) = highest.reduce(|a, b| if a.diff(b) > 0 { a } else { b }) else {
            return Vec::new();
        };
        let below = self
            .all
            .partition_point(|kept| kept.start.diff(highest) < 0);
        for kept in self.all.range_mut(..below).filter(|kept| !kept.sacked) {
            let has = |b: &SackBlock| kept.start.diff(b.left) >= 0 && kept.end.diff(b.right) <= 0;
            kept.sacked = blocks.iter().any(has);
            if kept.sacked {
                kept.lost = false;
                if Self::answers(self.shortest, kept, now) {
                    record_arrival(&mut self.arrived, kept.order);
                }
            }
        }
        let place = if recovers { 0 } else { THRESHOLD - 1 };
        let arrived = self.arrived[place];
        let reported = self.all.range(..below).enumerate();
        reported
            .filter(|(_, kept)| !kept.sacked && !kept.waits && kept.order < arrived)
            .map(|(number, _)| number)
            .collect()
    }
}

/// Records the arrival of a transmission.
fn record_arrival(arrived: &mut [u64; THRESHOLD], order: u64) {
    let at = arrived.partition_point(|&other| other > order);
    if at < THRESHOLD {
        arrived[at..].rotate_right(1);
        arrived[at] = order;
    }
}

impl CachedSegment {
    fn len(&self) -> u64 {
        u64::try_from(self.end.diff(self.start)).unwrap_or(0)
    }
}
