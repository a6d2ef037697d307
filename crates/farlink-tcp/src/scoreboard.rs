//! Data that was sent and is not yet acknowledged: one record per segment.
//!
//! Every operation has a constant cost, amortised over the life of a segment. A record is visited
//! when it is sent, SACKed, found lost, retransmitted and acknowledged, but not at every ACK. The
//! pipe of RFC 6675 is kept as four running sums, without `SetPipe`'s recount.

mod fast;
mod order;
mod split;

pub(crate) use order::{Delivery, TimeOrder};

use crate::maybe::Maybe;
use crate::rate::RateSampler;
use crate::ring::Ring;
use crate::segment::MAX_SACK_BLOCKS;
use crate::seq::Offset;
use crate::time::{Instant, Interval};

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// Position of the first byte.
    pub(crate) start: Offset,
    /// Length in sequence numbers, SYN and FIN included.
    pub(crate) len: u32,
    state: u8,
    /// Time of the last transmission.
    pub(crate) at: Instant,
}

/// Selectively acknowledged.
const SACKED: u8 = 1;
/// Presumed lost.
const LOST: u8 = 2;
/// Retransmitted since it was presumed lost.
const RETX: u8 = 4;
/// Sent more than once at any time (Karn's rule).
const EVER_RETX: u8 = 8;

impl Sent {
    /// Returns the position after the segment.
    #[inline]
    pub(crate) const fn end(&self) -> Offset {
        self.start + self.len as u64
    }

    /// Returns whether the copy in flight is a retransmission.
    pub(crate) const fn is_again(&self) -> bool {
        self.is(RETX)
    }

    /// Returns whether the original transmission is presumed lost.
    pub(crate) const fn is_lost_or_again(&self) -> bool {
        self.is(LOST | RETX)
    }

    #[inline]
    const fn is(&self, bits: u8) -> bool {
        self.state & bits != 0
    }
}

/// Data covered by a cumulative acknowledgment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acked {
    /// Sequence space acknowledged.
    pub(crate) len: u64,
    /// Last transmission time of the last covered segment.
    pub(crate) latest: Option<Instant>,
    /// Send time for a valid RTT sample; `None` if any covered segment was retransmitted or already
    /// SACKed.
    pub(crate) sample_from: Option<Instant>,
}

/// Records of all segments in flight.
#[derive(Debug, Default)]
#[repr(C)] // keeps the fields that each segment needs together in memory
pub(crate) struct Scoreboard {
    una: Offset,
    max: Offset,
    lost: u64,
    retransmitted: u64,
    sacked: u64,
    /// Absolute index of the first record; pointers into the list are absolute.
    first: u64,
    /// Index before which all records are SACKed or lost.
    scanned_to: u64,
    /// Records before this one need no retransmission.
    next_retransmission: u64,
    segments: Ring<Sent>,
    /// Delivery-rate samples, if the controller uses them.
    pub(crate) rate: Option<Box<RateSampler>>,
    /// Transmissions in time order, for RACK.
    pub(crate) order: Option<Box<TimeOrder>>,
    /// Selectively acknowledged ranges, in order, disjoint, not adjacent.
    ranges: Ring<(Offset, Offset)>,
    /// Send time of the first segment that was sent once and that the current ACK SACKs; reset
    /// before each ACK.
    pub(crate) first_sacked: Maybe<Instant>,
    segments_sacked: u64,
    /// Total bytes presumed lost so far, except by time-outs.
    losses: u64,
}

impl Scoreboard {
    /// Prefetches the records that an acknowledgment will need.
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.segments.prefetch(0);
        if !self.ranges.is_empty() {
            self.ranges.prefetch(0);
            self.segments.prefetch(self.segments.len() / 2);
        }
    }

    /// First unacknowledged position.
    #[inline]
    pub(crate) fn una(&self) -> Offset {
        self.una
    }

    /// Position after the last byte ever sent (SND.MAX).
    #[inline]
    pub(crate) fn max(&self) -> Offset {
        self.max
    }

    /// Returns whether nothing is in flight.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.una == self.max
    }

    /// Estimated bytes in the network (`pipe` of RFC 6675).
    #[inline]
    pub(crate) fn pipe(&self) -> u64 {
        self.max - self.una - self.sacked - self.lost + self.retransmitted
    }

    /// Returns whether any unacknowledged segment was presumed lost, retransmitted or not.
    pub(crate) fn repairs(&self) -> bool {
        self.lost > 0
    }

    /// Leaves losses found by a timer out of the next rate sample.
    pub(crate) fn losses_without_ack(&mut self) {
        if let Some(rate) = &mut self.rate {
            rate.discard_losses();
        }
    }

    /// Bytes sent, not acknowledged and not presumed lost: the flight for a sender without SACK.
    #[inline]
    pub(crate) fn flight(&self) -> u64 {
        self.max - self.una - self.lost + self.retransmitted
    }

    /// Bytes that the peer is known to hold: acknowledged or SACKed.
    #[inline]
    pub(crate) fn delivered(&self) -> u64 {
        self.una + self.sacked
    }

    /// Returns the segments and bytes before `to` that the peer is not known to hold. Only segments
    /// that end at or before `to` are included.
    pub(crate) fn undelivered(&self, to: Offset) -> (u64, u64) {
        let (mut segments, mut bytes) = (0, 0);
        for s in self.segments.iter().take_while(|s| s.start < to) {
            if !s.is(SACKED) {
                segments += u64::from(s.end() <= to);
                bytes += s.end().min(to) - s.start;
            }
        }
        (segments, bytes)
    }

    /// Total bytes presumed lost so far, except by time-outs.
    #[inline]
    pub(crate) fn losses(&self) -> u64 {
        self.losses
    }

    /// The first record.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Sent> {
        self.segments.front()
    }

    /// Returns the segments whose retransmission is in flight.
    pub(crate) fn again(&self) -> impl Iterator<Item = &Sent> + '_ {
        self.segments.iter().filter(|s| s.is_again())
    }

    /// Returns the send times of the segments that an ACK of all data before `to` covers, without
    /// the last one and without those excluded from samples.
    pub(crate) fn covered(&self, to: Offset) -> impl Iterator<Item = Instant> + '_ {
        let next = self.segments.iter().skip(1);
        self.segments
            .iter()
            .zip(next)
            .take_while(move |(_, next)| next.end() <= to)
            .filter(|(segment, _)| !segment.is(SACKED | EVER_RETX))
            .map(|(segment, _)| segment.at)
    }

    /// Records new data sent at `now`.
    #[inline(always)] // called for each segment sent
    pub(crate) fn sent(&mut self, len: u32, now: Instant) {
        if let Some(rate) = &mut self.rate {
            let in_flight = self.max - self.una - self.sacked - self.lost + self.retransmitted;
            rate.on_sent(self.segments.is_empty(), now, in_flight + u64::from(len));
        }
        let index = self.first + self.segments.len() as u64;
        self.segments.push_back(Sent {
            start: self.max,
            len,
            state: 0,
            at: now,
        });
        self.max += u64::from(len);
        if let Some(order) = &mut self.order {
            order.sent(now, self.max, index);
        }
    }

    /// Acknowledges everything before `to`.
    #[inline(always)] // called for each ACK
    pub(crate) fn acknowledge(&mut self, to: Offset) -> Acked {
        let undisturbed = self.lost == 0
            && self.retransmitted == 0
            && self.ranges.is_empty()
            && self.order.is_none()
            && self.rate.is_none();
        if undisturbed {
            self.fast_acknowledge(to)
        } else {
            self.acknowledge_any(to)
        }
    }

    /// Acknowledges data in the general case: losses, SACKed data, observers.
    #[inline(never)]
    fn acknowledge_any(&mut self, to: Offset) -> Acked {
        let mut out = Acked {
            len: to - self.una,
            ..Acked::default()
        };
        let mut unambiguous = true;
        while let Some(s) = self.segments.front().copied() {
            if s.start >= to {
                break;
            }
            let covered = s.end().min(to) - s.start;
            if s.is(SACKED) {
                self.sacked -= covered;
            } else {
                if s.is(LOST) {
                    self.lost -= covered;
                }
                if s.is(RETX) {
                    self.retransmitted -= covered;
                }
            }
            unambiguous &= !s.is(SACKED | EVER_RETX);
            if let Some(order) = &mut self.order
                && s.end() <= to
                && !s.is(SACKED)
            {
                order.delivered(s.at, s.end(), s.is(EVER_RETX), true);
            }
            if let Some(rate) = &mut self.rate {
                if s.end() > to {
                    rate.on_partial_delivery(covered);
                } else {
                    rate.on_delivered(0, (covered, s.end()), s.at, !s.is(EVER_RETX));
                    rate.pop_front();
                }
            }
            if s.end() > to {
                // A peer may acknowledge part of a segment.
                let front = &mut self.segments[0];
                front.start = to;
                front.len -= covered as u32;
                break;
            }
            out.latest = Some(s.at);
            self.segments_sacked -= u64::from(s.is(SACKED));
            self.segments.pop_front();
            self.first += 1;
        }
        if unambiguous {
            out.sample_from = out.latest;
        }
        self.una = to;
        while let Some(range) = self.ranges.front_mut() {
            if range.1 <= to {
                self.ranges.pop_front();
            } else {
                range.0 = range.0.max(to);
                break;
            }
        }
        self.scanned_to = self.scanned_to.max(self.first);
        self.next_retransmission = self.next_retransmission.max(self.first);
        out
    }

    /// Marks `[left, right)` as SACKed. Returns the number of newly SACKed bytes.
    pub(crate) fn sack(&mut self, left: Offset, right: Offset) -> u64 {
        let (left, right) = (left.max(self.una), right.min(self.max));
        if left >= right {
            return 0;
        }
        let Some((from, to)) = self.touching(left, right) else {
            return 0;
        };
        let before = self.sacked;
        let mut merged = (left, right);
        if from < to {
            merged = (
                left.min(self.ranges[from].0),
                right.max(self.ranges[to - 1].1),
            );
        }
        // Visits only the parts that no range has covered yet.
        let mut at = left;
        for i in from..to {
            let (covered_from, covered_to) = self.ranges[i];
            if at < covered_from {
                self.mark_sacked(at, covered_from, merged);
            }
            at = at.max(covered_to);
        }
        if at < right {
            self.mark_sacked(at, right, merged);
        }
        match to - from {
            0 => self.ranges.insert(from, merged),
            1 => self.ranges[from] = merged,
            _ => {
                self.ranges[from] = merged;
                self.ranges.remove(from + 1..to);
            }
        }
        self.sacked - before
    }

    /// Returns the range of blocks that touch `[left, right)`. Returns `None` if the data is
    /// already SACKed, which is so for most blocks of an ACK.
    #[inline]
    fn touching(&self, left: Offset, right: Offset) -> Option<(usize, usize)> {
        let count = self.ranges.len();
        let Some(last) = self.ranges.back().filter(|last| left <= last.1) else {
            return Some((count, count)); // most new blocks lie above all ranges
        };
        if last.0 <= left {
            return (right > last.1).then_some((count - 1, count));
        }
        // Nearly all blocks of an ACK match one of the last ranges.
        for i in (count.saturating_sub(MAX_SACK_BLOCKS)..count - 1).rev() {
            let near = self.ranges[i];
            if near.0 <= left && right <= near.1 {
                return None;
            }
        }
        let from = self.ranges.partition_point(|r| r.1 < left);
        let to = self.ranges.partition_point(|r| r.0 <= right);
        let known = from < to && self.ranges[from].0 <= left && right <= self.ranges[from].1;
        (!known).then_some((from, to))
    }

    /// Returns the index of the record that contains `at`, which is not before the first record.
    ///
    /// Finds a record. Most records are as long as the first, so the index for equal lengths is
    /// tried before a binary search.
    fn index_of(&self, at: Offset) -> usize {
        if let Some(front) = self.segments.front()
            && let Some(guess) = at
                .saturating_sub(self.una)
                .checked_div(u64::from(front.len))
            && let Some(s) = self.segments.get(guess as usize)
            && s.start <= at
            && at < s.end()
        {
            return guess as usize;
        }
        self.segments.partition_point(|s| s.end() <= at)
    }

    /// Marks the records that overlap `[left, right)` and lie wholly in `within`.
    fn mark_sacked(&mut self, left: Offset, right: Offset, within: (Offset, Offset)) {
        let mut i = self.index_of(left);
        while let Some(s) = self.segments.get_mut(i) {
            if s.start >= right {
                break;
            }
            if !s.is(SACKED) && s.start >= within.0 && s.end() <= within.1 {
                let len = u64::from(s.len);
                if s.is(LOST) {
                    self.lost -= len;
                }
                if s.is(RETX) {
                    self.retransmitted -= len;
                }
                if let Some(rate) = &mut self.rate {
                    rate.on_delivered(i, (len, s.end()), s.at, !s.is(EVER_RETX));
                }
                if let Some(order) = &mut self.order {
                    order.delivered(s.at, s.end(), s.is(EVER_RETX), false);
                }
                if !s.is(EVER_RETX) {
                    let first = self.first_sacked.get();
                    let first = first.map_or(s.at, |first| first.min(s.at));
                    self.first_sacked = Maybe::some(first);
                }
                s.state = (s.state & EVER_RETX) | SACKED;
                self.sacked += len;
                self.segments_sacked += 1;
            }
            i += 1;
        }
    }

    /// Marks segments lost by `IsLost` of RFC 6675: holes with `threshold` SACKed ranges above
    /// them, or more than `threshold - 1` segments of SACKed bytes. Returns whether the first
    /// unacknowledged byte is among them.
    pub(crate) fn mark_lost(&mut self, threshold: u32, mss: u64) -> bool {
        let mut bytes = 0;
        let mut boundary = None;
        for (ranges, &(left, right)) in (1u32..).zip(self.ranges.iter().rev()) {
            bytes += right - left;
            if ranges >= threshold || bytes > u64::from(threshold - 1) * mss {
                boundary = Some(left);
                break;
            }
        }
        let Some(boundary) = boundary else {
            return false;
        };
        while let Some(s) = self
            .segments
            .get_mut((self.scanned_to - self.first) as usize)
        {
            if s.end() > boundary {
                break;
            }
            if !s.is(SACKED | LOST) {
                s.state |= LOST;
                self.lost += u64::from(s.len);
                self.losses += u64::from(s.len);
                if let Some(rate) = &mut self.rate {
                    let i = (self.scanned_to - self.first) as usize;
                    rate.on_lost(i, u64::from(s.len));
                }
            }
            self.scanned_to += 1;
        }
        self.una < boundary
    }

    /// Marks everything that is not SACKed as lost and not retransmitted, after a time-out or
    /// Tahoe's fast retransmit.
    pub(crate) fn lose_all(&mut self) {
        self.clear_reneged();
        for (i, s) in self.segments.iter_mut().enumerate() {
            if !s.is(SACKED) {
                let newly_lost = !s.is(LOST) || s.is(RETX);
                if let Some(rate) = self.rate.as_mut().filter(|_| newly_lost) {
                    rate.on_lost(i, u64::from(s.len));
                }
                s.state = (s.state & EVER_RETX) | LOST;
            }
        }
        self.lost = self.max - self.una - self.sacked;
        self.retransmitted = 0;
        self.next_retransmission = self.first;
        self.scanned_to = self.first + self.segments.len() as u64;
        if let Some(rate) = &mut self.rate {
            rate.discard_losses();
        }
    }

    /// Clears all SACK marks if the first segment is SACKed but not acknowledged, because the peer
    /// has then reneged (RFC 2018, 8).
    fn clear_reneged(&mut self) {
        if self.segments.front().is_some_and(|s| s.is(SACKED)) {
            self.ranges.clear();
            self.sacked = 0;
            self.segments_sacked = 0;
            for s in &mut self.segments {
                s.state &= !SACKED;
            }
            self.order_anew();
        }
    }

    /// Undoes all loss marks: segments that are not SACKed are in flight, as if sent once.
    pub(crate) fn clear_losses(&mut self) {
        for s in &mut self.segments {
            s.state &= EVER_RETX | SACKED;
        }
        self.lost = 0;
        self.retransmitted = 0;
        self.scanned_to = self.first;
        self.next_retransmission = self.first;
        self.order_anew();
    }

    /// Marks the first segment lost, for a fast retransmit without SACK.
    pub(crate) fn lose_front(&mut self) {
        if let Some(s) = self.segments.front_mut() {
            let len = u64::from(s.len);
            if s.is(SACKED) {
                self.sacked -= len; // The peer has discarded the segment.
                self.segments_sacked -= 1;
            }
            if !s.is(LOST) {
                self.lost += len;
                self.losses += len;
                if let Some(rate) = &mut self.rate {
                    rate.on_lost(0, len);
                }
            }
            if s.is(RETX) {
                self.retransmitted -= len;
            }
            s.state = (s.state & EVER_RETX) | LOST;
            self.next_retransmission = self.first;
            self.scanned_to = self.scanned_to.max(self.first + 1);
        }
    }

    /// Marks segments that overlap `[left, right)` as lost, because the peer reports the range
    /// missing (SNACK). Segments retransmitted less than `age` ago are skipped, because they may
    /// still arrive. Returns the last segment marked for retransmission.
    pub(crate) fn miss(
        &mut self,
        left: Offset,
        right: Offset,
        now: Instant,
        age: Interval,
    ) -> Option<Sent> {
        let mut last = None;
        let mut i = self.index_of(left);
        while let Some(s) = self.segments.get_mut(i) {
            if s.start >= right {
                break;
            }
            let waits = s.is(LOST) && !s.is(RETX);
            let fresh = s.is(EVER_RETX) && now.since(s.at) < age;
            if !s.is(SACKED) && !waits && !fresh {
                let len = u64::from(s.len);
                last = Some(*s);
                if s.is(RETX) {
                    self.retransmitted -= len;
                }
                if !s.is(LOST) {
                    self.lost += len;
                    self.losses += len;
                    if let Some(rate) = &mut self.rate {
                        rate.on_lost(i, len);
                    }
                }
                s.state = (s.state & EVER_RETX) | LOST;
                let at = self.first + i as u64;
                self.next_retransmission = self.next_retransmission.min(at);
                self.scanned_to = self.scanned_to.max(at + 1);
            }
            i += 1;
        }
        last
    }

    /// Returns whether the first segment is in flight and was sent once, or retransmitted at least
    /// `age` ago.
    pub(crate) fn front_is_due(&self, now: Instant, age: Interval) -> bool {
        self.segments.front().is_some_and(|s| {
            let again = s.is(RETX);
            if s.is(EVER_RETX) {
                (again || !s.is(LOST)) && now.since(s.at) >= age
            } else {
                !s.is(LOST)
            }
        })
    }

    /// Marks data in flight before `to` as sent twice, so that it gives no RTT sample (Karn).
    pub(crate) fn exclude_rtt_samples(&mut self, to: Offset) {
        for s in &mut self.segments {
            if s.start >= to {
                break;
            }
            s.state |= EVER_RETX;
        }
    }

    /// Returns whether [`Self::next_lost`] may find something.
    #[inline]
    pub(crate) fn may_have_lost(&self) -> bool {
        self.next_retransmission < self.scanned_to
    }

    /// Returns index and record of the first lost segment that was not retransmitted: rule (1) of
    /// `NextSeg`.
    #[inline]
    pub(crate) fn next_lost(&mut self) -> Option<(usize, Sent)> {
        while self.next_retransmission < self.scanned_to {
            let i = (self.next_retransmission - self.first) as usize;
            let s = *self.segments.get(i)?;
            if s.is(LOST) && !s.is(SACKED | RETX) {
                return Some((i, s));
            }
            // SNACK and RACK may leave segments that are not lost between lost ones.
            self.next_retransmission += 1;
        }
        None
    }

    /// Returns index and record of the first hole below the highest SACKed byte that was not
    /// retransmitted: rule (3) of `NextSeg`.
    pub(crate) fn next_hole(&mut self) -> Option<(usize, Sent)> {
        let highest = self.ranges.back()?.1;
        loop {
            let i = (self.next_retransmission - self.first) as usize;
            let s = *self.segments.get(i)?;
            if s.start >= highest {
                return None;
            }
            if s.is(SACKED | RETX) {
                self.next_retransmission += 1;
            } else {
                return Some((i, s));
            }
        }
    }

    /// Returns index and record of the last segment that is not SACKed, unless it was just
    /// retransmitted: rule (4) of `NextSeg`.
    pub(crate) fn last_hole(&self) -> Option<(usize, Sent)> {
        let i = (0..self.segments.len())
            .rev()
            .find(|&i| !self.segments[i].is(SACKED))?;
        (!self.segments[i].is(RETX)).then(|| (i, self.segments[i]))
    }

    /// Records a retransmission of the segment at index `i`.
    pub(crate) fn sent_again(&mut self, i: usize, now: Instant) {
        let s = &mut self.segments[i];
        s.state |= EVER_RETX;
        s.at = now;
        self.repeated(i, now);
    }

    /// Records a retransmission of the segment at index `i`, which is timed from its first
    /// transmission.
    pub(crate) fn repeated(&mut self, i: usize, now: Instant) {
        let s = &mut self.segments[i];
        // A tail loss probe may resend a SACKed segment, which the pipe does not count.
        if !s.is(RETX | SACKED) {
            self.retransmitted += u64::from(s.len);
            s.state |= RETX;
        }
        let end = s.end();
        if let Some(order) = &mut self.order {
            order.sent(now, end, self.first + i as u64);
        }
        let in_flight = self.pipe();
        if let Some(rate) = &mut self.rate {
            rate.on_retransmit(i, in_flight);
        }
    }

    /// Panics unless the running sums equal a recount of the records.
    pub(crate) fn check(&self) {
        let sum = |bits: u8| -> u64 {
            self.segments
                .iter()
                .filter(|s| s.is(bits))
                .map(|s| u64::from(s.len))
                .sum()
        };
        assert_eq!(self.sacked, sum(SACKED), "sacked");
        let sacked = self.segments.iter().filter(|s| s.is(SACKED)).count();
        assert_eq!(self.segments_sacked, sacked as u64, "segments SACKed");
        assert_eq!(self.lost, sum(LOST), "lost");
        assert_eq!(self.retransmitted, sum(RETX), "retransmitted");
        assert_eq!(
            self.segments.front().map_or(self.max, |s| s.start),
            self.una,
            "una"
        );
        let mut at = self.una;
        for s in &self.segments {
            assert_eq!(s.start, at, "gap in the records");
            at = s.end();
        }
        assert_eq!(at, self.max);
        if let Some(rate) = &self.rate {
            rate.check(self.segments.len());
        }
    }
}

#[cfg(test)]
mod tests;
