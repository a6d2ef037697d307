//! Per-connection state of an agent. The number of connections is bounded, and state is removed
//! when a connection ends.

use super::crossing::{Crossing, Ends};
use super::middlebox::{Leaving, TransferredState};
use farlink_small::Map;
use farlink_tcp::{Flags, Instant, Interval, Segment, Seq};
use farlink_wire::id::NodeId;
use std::fmt::Debug;

/// Limits on the number and the age of connections with state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Maximum number of connections with state. Packets of further connections are forwarded
    /// unread.
    pub connections: usize,
    /// Idle time after which a connection's state may be removed.
    pub idle: Interval,
    /// Number of data segments towards the wireless side without any ACK, counted from the start of
    /// a connection. At this number the agent assumes that ACKs take another path, and forwards the
    /// connection unread until it sees an ACK.
    pub blind_after: u32,
}

impl Limits {
    /// Default limits.
    pub const DEFAULT: Self = Self {
        connections: 1024,
        idle: Interval::from_secs(120),
        blind_after: 10,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Per-connection state of an agent.
pub trait AgentState: Default {
    /// Returns the bytes of cached packets in this state.
    fn bytes(&self) -> u64 {
        0
    }
}

/// Connections of an agent with their state. A connection keeps its slot as long as it has state.
#[derive(Debug)]
pub struct Connections<S> {
    limits: Limits,
    all: Vec<Option<Entry<S>>>,
    free: Vec<u32>,
    by_ends: Map<Ends, u32>,
    /// Slot of the last lookup, cached because packets of a connection arrive in bursts.
    last: u32,
    /// Time before which no connection becomes idle.
    idle_from: Instant,
    /// Bytes of cached packets of all connections.
    bytes: u64,
    /// Number of connections for which state was created.
    opened: u64,
    /// Number of packets (or transferred connections) that found no room for state.
    refused: u64,
    /// Number of connections given up because `blind_after` data segments passed without an ACK.
    blind: u64,
    /// Set while the agent is switched off; no state is created then.
    off: bool,
}

#[derive(Debug)]
struct Entry<S> {
    ends: Ends,
    state: S,
    last: Instant,
    /// Per side: the sequence number after its FIN, and whether that FIN is acknowledged. Index 0
    /// is the wireless side.
    fins: [Option<Seq>; 2],
    fins_acked: [bool; 2],
    /// Set once an ACK from the wireless side was entry.
    answered: bool,
    /// Number of data segments sent to the wireless side before its first ACK.
    unanswered: u32,
}

impl<S: AgentState> Connections<S> {
    /// Creates a table without connections.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            all: Vec::new(),
            free: Vec::new(),
            by_ends: Map::new(),
            last: 0,
            idle_from: Instant::ZERO,
            bytes: 0,
            opened: 0,
            refused: 0,
            blind: 0,
            off: false,
        }
    }

    /// Updates the state of a connection with a segment, then calls `act` with its slot and state.
    ///
    /// A SYN or data creates the state. A RST, the ACKs of both FINs, or a long idle time removes
    /// it. Returns `None` without calling `act` if the connection has no state, or if its ACKs take
    /// another path.
    pub fn on_segment<T>(
        &mut self,
        now: Instant,
        ends: Ends,
        crossing: Crossing,
        segment: &Segment,
        act: impl FnOnce(u32, &mut S) -> T,
    ) -> Option<T> {
        if self.off {
            return None;
        }
        let flags = segment.flags;
        let mut known = self.find(ends);
        if let Some(slot) = known
            && let Some(entry) = &self.all[slot as usize]
            && self.limits.is_idle(entry.last, now)
        {
            self.remove(slot);
            known = None;
        }
        let slot = if let Some(slot) = known {
            slot
        } else {
            let begins = flags.has(Flags::SYN) || !segment.body.is_empty();
            if !begins || flags.has(Flags::RST) {
                return None;
            }
            if !self.has_room(now) {
                self.refused += 1;
                return None;
            }
            self.opened += 1;
            self.add(Entry::new(ends, now))
        };
        let entry = self.all[slot as usize].as_mut()?;
        entry.last = now;
        let before = entry.state.bytes();
        let from_wireless = crossing == Crossing::FromWireless;
        if from_wireless && flags.has(Flags::ACK) {
            entry.answered = true;
        } else if !from_wireless && !segment.body.is_empty() && !entry.answered {
            entry.unanswered = entry.unanswered.saturating_add(1);
            if entry.unanswered == self.limits.blind_after.saturating_add(1) {
                self.blind += 1;
                entry.state = S::default();
            }
        }
        let is_blind = !entry.answered && entry.unanswered > self.limits.blind_after;
        let done = (!is_blind).then(|| act(slot, &mut entry.state));
        self.bytes = self.bytes - before + entry.state.bytes();
        if entry.is_over(usize::from(!from_wireless), segment) {
            self.remove(slot);
        }
        done
    }

    /// Calls `act` with the state in a slot.
    pub fn at<T>(&mut self, slot: u32, act: impl FnOnce(&mut S) -> T) -> Option<T> {
        let entry = self.all.get_mut(slot as usize)?.as_mut()?;
        let before = entry.state.bytes();
        let done = act(&mut entry.state);
        self.bytes = self.bytes - before + entry.state.bytes();
        Some(done)
    }

    /// Returns the bytes of cached packets of all connections.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of connections whose ACKs take another path.
    pub fn blind(&self) -> u64 {
        self.blind
    }

    #[inline]
    fn find(&mut self, ends: Ends) -> Option<u32> {
        let last = self.all.get(self.last as usize);
        if last.is_some_and(|entry| entry.as_ref().is_some_and(|entry| entry.ends == ends)) {
            return Some(self.last);
        }
        let slot = *self.by_ends.get(&ends)?;
        self.last = slot;
        Some(slot)
    }

    fn add(&mut self, entry: Entry<S>) -> u32 {
        let ends = entry.ends;
        let slot = if let Some(slot) = self.free.pop() {
            self.all[slot as usize] = Some(entry);
            slot
        } else {
            self.all.push(Some(entry));
            (self.all.len() - 1) as u32
        };
        self.by_ends.insert(ends, slot);
        self.last = slot;
        slot
    }

    fn remove(&mut self, slot: u32) -> Option<Entry<S>> {
        let entry = self.all[slot as usize].take()?;
        self.by_ends.remove(&entry.ends);
        self.bytes -= entry.state.bytes();
        self.free.push(slot);
        Some(entry)
    }

    /// Removes the connections of a host on the wireless side. Returns their state if it moves with
    /// the host.
    pub fn leave(&mut self, host: NodeId, how: Leaving) -> Option<TransferredState>
    where
        S: Debug + Send + 'static,
    {
        let of_host = self.by_ends.iter();
        let of_host = of_host.filter(|(ends, _)| ends.wireless_is(host));
        let slots: Vec<u32> = of_host.map(|(_, &slot)| slot).collect();
        let slots = slots.into_iter();
        let left: Vec<_> = slots.filter_map(|slot| self.remove(slot)).collect();
        (how == Leaving::Transfer).then(|| TransferredState {
            bytes: left.iter().map(|entry| entry.state.bytes()).sum(),
            state: Box::new(left),
        })
    }

    /// Adds the connections that another agent of the same kind transferred, and calls `act` with
    /// the slot and state of each. Connections that already have state or find no room are skipped.
    pub fn join(&mut self, now: Instant, moved: TransferredState, mut act: impl FnMut(u32, &mut S))
    where
        S: Debug + Send + 'static,
    {
        let Ok(left) = moved.state.downcast::<Vec<Entry<S>>>() else {
            return;
        };
        for mut entry in *left {
            if self.off || self.by_ends.contains_key(&entry.ends) {
                continue;
            }
            if !self.has_room(now) {
                self.refused += 1;
                continue;
            }
            entry.last = now;
            self.bytes += entry.state.bytes();
            let slot = self.add(entry);
            self.at(slot, |state| act(slot, state));
        }
    }

    /// Switches the agent off or on. Switching it off removes all state. While it is off, no state
    /// is created.
    pub fn switch(&mut self, on: bool) {
        self.off = !on;
        self.clear();
    }

    /// Returns whether the agent is switched off.
    #[inline]
    pub fn is_off(&self) -> bool {
        self.off
    }

    /// Removes all connections.
    pub fn clear(&mut self) {
        self.all.clear();
        self.free.clear();
        self.by_ends.clear();
        self.bytes = 0;
        self.idle_from = Instant::ZERO;
    }

    /// Returns whether there is room for another connection, after idle ones are removed.
    fn has_room(&mut self, now: Instant) -> bool {
        if self.by_ends.len() < self.limits.connections {
            return true;
        }
        if now < self.idle_from {
            return false;
        }
        let mut oldest = now;
        for slot in 0..self.all.len() {
            match &self.all[slot] {
                Some(entry) if self.limits.is_idle(entry.last, now) => {
                    self.remove(slot as u32);
                }
                Some(entry) => oldest = oldest.min(entry.last),
                None => {}
            }
        }
        self.idle_from = oldest + self.limits.idle;
        self.by_ends.len() < self.limits.connections
    }

    /// Returns the number of connections with state.
    pub fn len(&self) -> usize {
        self.by_ends.len()
    }

    /// Returns whether there are no connections.
    pub fn is_empty(&self) -> bool {
        self.by_ends.is_empty()
    }

    /// Returns the counters of connections by name.
    pub fn counters(&self) -> [(&'static str, f64); 3] {
        [
            ("connections", self.opened as f64),
            ("connections_refused", self.refused as f64),
            ("blind", self.blind as f64),
        ]
    }
}

impl Limits {
    fn is_idle(&self, last: Instant, now: Instant) -> bool {
        now.since(last) >= self.idle
    }
}

impl<S: Default> Entry<S> {
    fn new(ends: Ends, now: Instant) -> Self {
        Self {
            ends,
            state: S::default(),
            last: now,
            fins: [None; 2],
            fins_acked: [false; 2],
            answered: false,
            unanswered: 0,
        }
    }

    /// Returns whether this segment from side `from` ends the connection.
    fn is_over(&mut self, from: usize, segment: &Segment) -> bool {
        if segment.flags.has(Flags::RST) {
            return true;
        }
        if segment.flags.has(Flags::FIN) {
            self.fins[from] = Some(segment.seq.at(u64::from(segment.seq_len())));
        }
        if segment.flags.has(Flags::ACK)
            && let Some(fin) = self.fins[1 - from]
        {
            self.fins_acked[1 - from] |= segment.ack.diff(fin) >= 0;
        }
        self.fins_acked == [true; 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farlink_tcp::Body;
    use std::net::IpAddr;

    impl AgentState for u32 {}

    fn ends(port: u16) -> Ends {
        let host = |last| IpAddr::from([10, 0, 0, last]);
        Ends([(host(1), port), (host(2), 5001)])
    }

    fn segment(flags: Flags, seq: u32, ack: u32, len: u32) -> Segment {
        Segment {
            seq: Seq(seq),
            ack: Seq(ack),
            flags,
            body: Body::of_len(len),
            ..Segment::default()
        }
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Interval::from_secs(seconds)
    }

    const TO: Crossing = Crossing::ToWireless;
    const FROM: Crossing = Crossing::FromWireless;

    /// Counts a segment in the connection's state. Returns 0 for a connection without state.
    fn count(
        all: &mut Connections<u32>,
        (now, port): (Instant, u16),
        crossing: Crossing,
        segment: &Segment,
    ) -> u32 {
        let one_more = |_, n: &mut u32| {
            *n += 1;
            *n
        };
        all.on_segment(now, ends(port), crossing, segment, one_more)
            .unwrap_or(0)
    }

    #[test]
    fn state_is_kept_until_both_fins_are_acknowledged() {
        let mut all = Connections::new(Limits::default());
        let mut pass_segment = |crossing, segment| count(&mut all, (at(0), 1), crossing, &segment);
        let (ack, fin) = (Flags::ACK, Flags::ACK.with(Flags::FIN));
        assert_eq!(
            pass_segment(FROM, segment(ack, 7, 0, 0)),
            0,
            "not from its beginning"
        );
        assert_eq!(pass_segment(TO, segment(Flags::SYN, u32::MAX, 0, 0)), 1);
        assert_eq!(
            pass_segment(FROM, segment(ack.with(Flags::SYN), 6, 0, 0)),
            2
        );
        assert_eq!(pass_segment(TO, segment(fin, 0, 7, 100)), 3);
        assert_eq!(
            pass_segment(FROM, segment(fin, 7, 100, 0)),
            4,
            "all but the FIN"
        );
        assert_eq!(pass_segment(TO, segment(ack, 101, 8, 0)), 5);
        assert_eq!(pass_segment(FROM, segment(ack, 8, 101, 0)), 6, "the last");
        assert_eq!(pass_segment(TO, segment(ack, 101, 8, 0)), 0);
        assert_eq!(pass_segment(TO, segment(Flags::SYN, 0, 0, 0)), 1);
        assert_eq!(pass_segment(FROM, segment(Flags::RST, 0, 0, 0)), 2);
        assert!(all.is_empty());
    }

    #[test]
    fn state_is_bounded_and_idle_connections_make_room() {
        let limits = Limits {
            connections: 2,
            ..Limits::default()
        };
        let mut all = Connections::new(limits);
        let data = segment(Flags::ACK, 1, 1, 10);
        let entry: Vec<_> = [
            (0, 1),
            (1, 2),
            (2, 3),
            (119, 1),
            (121, 3),
            (121, 4),
            (121, 1),
        ]
        .map(|(time, port)| count(&mut all, (at(time), port), TO, &data))
        .into();
        assert_eq!(entry, [1, 1, 0, 2, 1, 0, 3]);
        // A segment after a pause longer than `idle` begins another connection.
        assert_eq!(count(&mut all, (at(241), 1), TO, &data), 1);
        assert_eq!(
            all.counters(),
            [
                ("connections", 4.0),
                ("connections_refused", 2.0),
                ("blind", 0.0)
            ]
        );
    }

    #[test]
    fn connection_without_acks_is_forwarded_unread_until_one_arrives() {
        let mut all = Connections::new(Limits::default());
        let data = segment(Flags::ACK, 1, 1, 10);
        let mut pass_segment =
            |crossing, segment: &Segment| count(&mut all, (at(0), 1), crossing, segment);
        let entry: Vec<_> = (0..12).map(|_| pass_segment(TO, &data)).collect();
        assert_eq!(entry, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0]);
        assert_eq!(pass_segment(FROM, &segment(Flags::ACK, 1, 11, 0)), 1);
        assert_eq!(pass_segment(TO, &data), 2);
        assert_eq!(all.counters()[2], ("blind", 1.0));
    }
}
