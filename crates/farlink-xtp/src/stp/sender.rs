//! Sender of an STP stream.

use super::config::Config;
use super::window::Limit;
use crate::rtt::RoundTrip;
use farlink_small::Set;
use farlink_tcp::{Instant, Interval, Stats};
use farlink_wire::stp::{Content, Poll, Span, Stat};
use std::collections::VecDeque;

/// Time between polls before a round trip was measured, and its bounds.
const FIRST_INTERVAL: Interval = Interval::from_secs(1);
const MIN_INTERVAL: Interval = Interval::from_millis(1);
const MAX_INTERVAL: Interval = Interval::from_secs(30);
/// Time without a report after which the path counts as silent: at first, and at least.
const FIRST_SILENCE: Interval = Interval::from_secs(3);
const MIN_SILENCE: Interval = Interval::from_secs(1);

/// Packet of data that is not known to have arrived, or that follows such a packet.
#[derive(Debug)]
struct Sd {
    /// Position of its first byte in the stream.
    position: u64,
    len: u32,
    last: bool,
    /// Number of the last POLL before the last transmission, VT(PS).
    poll: u32,
    /// Number of the last transmission among those of all packets.
    transmission: u64,
    again: bool,
    state: SdState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SdState {
    Flying,
    Lost,
    Arrived,
}

/// Sends a stream, polls the receiver, and retransmits what reports show to be missing.
#[derive(Debug)]
pub(super) struct Sender {
    packet: u32,
    polls: u32,
    limit: Limit,
    /// Set once the peer is known to have the connection.
    known: bool,
    early_data: bool,
    /// Bytes that were never sent.
    unsent: u64,
    ended: bool,
    /// Set when the packet that ends the stream was sent.
    end_sent: bool,
    /// Number of the first packet in `window`, VT(A).
    base: u64,
    /// Bytes in the packets before the first one in `window`, and in all packets.
    acknowledged: u64,
    sent: u64,
    window: VecDeque<Sd>,
    /// Packets to retransmit.
    lost: Set<u64>,
    /// Number of packets under way.
    flying: u64,
    /// First packet that may not be sent, VT(MS).
    credit: u64,
    transmissions: u64,
    /// Number of the last POLL, VT(PS).
    poll: u32,
    /// POLLs without a report, and their times.
    unanswered: VecDeque<(u32, Instant)>,
    /// Time of the next POLL.
    poll_at: Option<Instant>,
    /// Time at which the lack of reports counts as silence.
    silent_at: Option<Instant>,
    /// Number of silences since the last report.
    silences: u32,
    round_trip: RoundTrip,
    pub(super) stats: Stats,
}

impl Sender {
    /// Creates a sender. With `known` the peer has the connection.
    pub(super) fn new(config: &Config, known: bool, now: Instant) -> Self {
        Self {
            packet: config.packet,
            polls: config.polls,
            limit: Limit::new(config, now),
            known,
            early_data: config.early_data,
            unsent: 0,
            ended: false,
            end_sent: false,
            base: 0,
            acknowledged: 0,
            sent: 0,
            window: VecDeque::new(),
            lost: Set::new(),
            flying: 0,
            credit: config.window / u64::from(config.packet),
            transmissions: 0,
            poll: 0,
            unanswered: VecDeque::new(),
            poll_at: None,
            silent_at: None,
            silences: 0,
            round_trip: RoundTrip::default(),
            stats: Stats::default(),
        }
    }

    /// Adds bytes to the stream.
    pub(super) fn extend(&mut self, bytes: u64) {
        self.unsent += bytes;
    }

    /// Ends the stream after the bytes added so far.
    pub(super) fn finish(&mut self) {
        self.ended = true;
    }

    /// Returns whether all of an ended stream has arrived.
    pub(super) fn is_over(&self) -> bool {
        self.end_sent && self.window.is_empty()
    }

    /// Returns the number of bytes that are acknowledged without a gap.
    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Returns the number of bytes that were added and are not acknowledged.
    pub(super) fn waiting(&self) -> u64 {
        self.unsent + self.sent - self.acknowledged
    }

    /// Learns that all of the stream has arrived.
    pub(super) fn conclude(&mut self) {
        self.advance(self.next());
    }

    /// Learns that the peer has the connection. `opening` is the time from BGN to BGAK, unless BGN
    /// was repeated and what followed the first one is lost.
    pub(super) fn opened(&mut self, now: Instant, opening: Option<Interval>) {
        if std::mem::replace(&mut self.known, true) {
            return;
        }
        if let Some(rtt) = opening {
            self.round_trip.sample(rtt, &mut self.stats);
        }
        if self.has_work() {
            let at = now + self.interval();
            self.poll_at = Some(self.poll_at.map_or(at, |before| before.min(at)));
        }
    }

    /// Learns the first packet that may not be sent.
    pub(super) fn allow(&mut self, credit: u64) {
        self.credit = self.credit.max(credit);
    }

    fn next(&self) -> u64 {
        self.base + self.window.len() as u64
    }

    fn has_new(&self) -> bool {
        self.unsent > 0 || self.ended && !self.end_sent
    }

    /// Returns whether reports are needed.
    fn has_work(&self) -> bool {
        !self.window.is_empty() || self.has_new()
    }

    /// Returns the packet to send next if the limit allowed it: a lost one before a new one.
    fn candidate(&self) -> Option<u64> {
        if self.silences > 0 || !(self.known || self.early_data) {
            return None;
        }
        let new = || (self.has_new() && self.next() < self.credit).then(|| self.next());
        self.lost.first().copied().or_else(new)
    }

    fn wanted(&self) -> Option<u64> {
        self.candidate()
            .filter(|_| self.limit.has_room(self.flying))
    }

    /// Returns the time between polls.
    fn interval(&self) -> Interval {
        let smoothed = self.round_trip.smoothed;
        let interval = smoothed.map_or(FIRST_INTERVAL, |rtt| rtt / u64::from(self.polls));
        interval
            .max(MIN_INTERVAL)
            .saturating_mul(1 << self.silences.min(16))
            .min(MAX_INTERVAL)
    }

    /// Returns the time without a report that counts as silence: two time-outs of TCP.
    fn silence(&self) -> Interval {
        let bound = self.round_trip.bound();
        bound.map_or(FIRST_SILENCE, |bound| (bound * 2).max(MIN_SILENCE))
    }

    /// Returns the next packet to send now, if any.
    pub(super) fn transmit(&mut self, now: Instant) -> Option<Content> {
        let due = self.poll_at.is_some_and(|at| at <= now);
        let Some(seq) = self.wanted().filter(|_| self.limit.next(now) <= now) else {
            if self.poll_at.is_none() && self.has_work() {
                self.poll_at = Some(now + self.interval());
            }
            return (due && self.known).then(|| Content::Poll(self.make_poll(now)));
        };
        let (position, len, last) = self.put(seq);
        self.limit.take(now, len, self.round_trip.smoothed);
        // The last packet for now asks, as no other will.
        let asks = due || self.wanted().is_none() && self.unanswered.is_empty();
        let poll = asks.then(|| self.make_poll(now));
        if self.poll_at.is_none() {
            self.poll_at = Some(now + self.interval());
        }
        Some(Content::Data {
            seq,
            position,
            len,
            last,
            poll,
        })
    }

    /// Notes the transmission of a packet. Returns its position, its length and whether it ends the
    /// stream.
    fn put(&mut self, seq: u64) -> (u64, u32, bool) {
        self.transmissions += 1;
        self.stats.segments_sent += 1;
        self.flying += 1;
        let sent = (self.poll, self.transmissions);
        if self.lost.remove(&seq) {
            let sd = &mut self.window[(seq - self.base) as usize];
            (sd.poll, sd.transmission) = sent;
            (sd.again, sd.state) = (true, SdState::Flying);
            self.stats.segments_retransmitted += 1;
            self.stats.bytes_retransmitted += u64::from(sd.len);
            self.stats.bytes_sent += u64::from(sd.len);
            return (sd.position, sd.len, sd.last);
        }
        let position = self.sent;
        let len = self.unsent.min(self.packet.into()) as u32;
        self.unsent -= u64::from(len);
        self.sent += u64::from(len);
        self.stats.bytes_sent += u64::from(len);
        let last = self.ended && self.unsent == 0;
        self.end_sent |= last;
        self.window.push_back(Sd {
            position,
            len,
            last,
            poll: sent.0,
            transmission: sent.1,
            again: false,
            state: SdState::Flying,
        });
        (position, len, last)
    }

    fn make_poll(&mut self, now: Instant) -> Poll {
        self.poll += 1;
        self.unanswered.push_back((self.poll, now));
        self.poll_at = Some(now + self.interval());
        if self.known && self.silent_at.is_none() {
            self.silent_at = Some(now + self.silence());
        }
        Poll {
            number: self.poll,
            next: self.next(),
        }
    }

    /// Returns the next deadline.
    pub(super) fn deadline(&mut self, now: Instant) -> Option<Instant> {
        let sends = self.wanted().map(|_| self.limit.next(now));
        let polls = self.poll_at.filter(|_| self.known);
        sends.into_iter().chain(polls).chain(self.silent_at).min()
    }

    /// Handles the timers.
    pub(super) fn on_time(&mut self, now: Instant) {
        if self.silent_at.is_none_or(|at| at > now) {
            return;
        }
        self.stats.timeouts += 1;
        if self.silences > 0 {
            self.stats.timeouts_repeated += 1;
        }
        self.silences += 1;
        self.limit.on_silence(self.transmissions, self.flying);
        let wait = self.silence().saturating_mul(1 << self.silences.min(16));
        self.silent_at = Some(now + wait.min(MAX_INTERVAL * 2));
    }

    /// Handles a report.
    pub(super) fn on_stat(&mut self, now: Instant, stat: &Stat) {
        self.allow(stat.credit);
        let is_new = self
            .unanswered
            .front()
            .is_some_and(|first| first.0 <= stat.poll);
        if !is_new {
            return;
        }
        while let Some(&(number, at)) = self.unanswered.front()
            && number <= stat.poll
        {
            self.unanswered.pop_front();
            if number == stat.poll {
                self.round_trip.sample(now.since(at), &mut self.stats);
                self.stats.rto_sum += self.silence().as_nanos();
            }
        }
        self.silences = 0;
        let flying = self.flying;
        let limited = self.candidate().is_some() || !self.limit.has_room(self.flying);
        let mut from = stat.next;
        let mut acked = 0;
        for &(gap_from, gap_to) in &stat.gaps {
            acked += self.mark_arrived((from, gap_from));
            from = gap_to;
        }
        acked += self.mark_arrived((from, stat.edge));
        acked += self.advance(stat.next);
        self.limit.on_acked(acked, limited);
        for &gap in &stat.gaps {
            self.lose(gap, flying, |sd| sd.poll < stat.poll);
        }
        let waits = !self.unanswered.is_empty();
        self.silent_at = waits.then(|| now + self.silence());
        let soon = now + self.interval();
        self.poll_at = self
            .poll_at
            .map(|at| at.min(soon))
            .filter(|_| self.has_work());
        if self.has_work() {
            self.poll_at.get_or_insert(soon);
        }
    }

    /// Handles a report of a new gap. It concerns first transmissions only.
    pub(super) fn on_ustat(&mut self, next: u64, credit: u64, gap: Span) {
        self.allow(credit);
        let flying = self.flying;
        let acked = self.advance(next);
        self.limit.on_acked(acked, self.candidate().is_some());
        self.lose(gap, flying, |sd| !sd.again);
    }

    /// Removes the packets before a number. Returns how many of them were not known to have arrived.
    fn advance(&mut self, next: u64) -> u64 {
        let acked = self.mark_arrived((self.base, next));
        while self.base < next
            && let Some(sd) = self.window.pop_front()
        {
            self.base += 1;
            self.acknowledged += u64::from(sd.len);
        }
        acked
    }

    /// Notes that packets have arrived. Returns how many of them were not known to have.
    fn mark_arrived(&mut self, span: Span) -> u64 {
        let mut acked = 0;
        for seq in self.in_range(span) {
            let sd = &mut self.window[(seq - self.base) as usize];
            match std::mem::replace(&mut sd.state, SdState::Arrived) {
                SdState::Arrived => continue,
                SdState::Flying => self.flying -= 1,
                SdState::Lost => {
                    self.lost.remove(&seq);
                }
            }
            acked += 1;
        }
        acked
    }

    /// Notes that the packets of a gap are lost if their last transmission counts. Before the report
    /// `flying` packets were under way.
    fn lose(&mut self, gap: Span, flying: u64, counts: impl Fn(&Sd) -> bool) {
        for seq in self.in_range(gap) {
            let sd = &mut self.window[(seq - self.base) as usize];
            if sd.state == SdState::Flying && counts(sd) {
                sd.state = SdState::Lost;
                self.flying -= 1;
                self.lost.insert(seq);
                self.limit
                    .on_lost(sd.transmission, self.transmissions, flying);
            }
        }
    }

    /// Returns the numbers of a span that are in the window.
    fn in_range(&self, (from, to): Span) -> std::ops::Range<u64> {
        from.max(self.base)..to.min(self.next())
    }
}

#[cfg(test)]
mod tests;
