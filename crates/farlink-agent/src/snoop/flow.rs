//! State and decisions of snoop for one connection.

use super::cache::{Cache, Entry, Place};
use super::config::{Repair, SnoopConfig};
use super::upload::Upload;
use crate::connections::AgentState;
use crate::view::Path;
use farlink_tcp::{Flags, Instant, Interval, SackBlock, SackBlocks, Segment, Seq, Timestamps};
use farlink_wire::packet::Packet;

/// State of one connection whose data goes to the wireless side.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub(super) cache: Cache,
    /// Sequence number after the highest data that passed.
    high: Option<Seq>,
    /// Last ACK with its window.
    pub(super) acked: Option<(Seq, u16)>,
    /// Number of duplicates received of the ACK in `acked`.
    dups: u32,
    /// Number of duplicate ACKs still expected from the packets cached behind a retransmitted
    /// packet. The agent suppresses these duplicate ACKs.
    expected: u32,
    /// Set when the sender resends data already acknowledged, which shows that the ACK was lost.
    /// The next duplicate ACK then passes.
    pass_next_duplicate: bool,
    rtt: Option<Rtt>,
    /// Time at which the timer was restarted.
    restarted: Instant,
    pub(super) path: Option<Path>,
    pub(super) head: Head,
    /// Last timestamps from the wireless side. An end that negotiated timestamps drops segments
    /// without them (RFC 7323, 3.2).
    pub(super) stamps: Option<Timestamps>,
    /// Set if the sender's SYN offered partial acknowledgments.
    pub(super) partial_offered: bool,
    /// Number of the last partial acknowledgment, unless its data is acknowledged.
    pub(super) last_partial: Option<Seq>,
    /// State of data sent by the mobile host.
    pub(super) upload: Upload,
}

impl AgentState for Flow {
    fn bytes(&self) -> u64 {
        self.cache.bytes()
    }
}

/// Header fields of the last data segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Head {
    pub(super) ports: (u16, u16),
    /// Next sequence number that the data's sender expects from its peer.
    pub(super) ack: Seq,
}

/// Estimator of the round-trip time over the wireless side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rtt {
    smoothed: Interval,
    variation: Interval,
}

impl Rtt {
    /// Returns the estimates before the first sample.
    fn first(config: &SnoopConfig) -> Self {
        Self {
            smoothed: config.srtt,
            variation: config.rttvar,
        }
    }

    /// Returns the time after which a transmitted packet counts as lost.
    pub(super) fn timeout(rtt: Option<Self>, config: &SnoopConfig) -> Interval {
        let rtt = rtt.unwrap_or(Self::first(config));
        (rtt.smoothed + rtt.variation * 4).max(config.tick)
    }

    /// Updates the estimator with a sample.
    pub(super) fn sample(rtt: &mut Option<Self>, config: &SnoopConfig, sample: Interval) {
        let rtt = rtt.get_or_insert(Self::first(config));
        let error = sample.abs_diff(rtt.smoothed);
        rtt.variation = (rtt.variation * 3 + error) / 4;
        rtt.smoothed = (rtt.smoothed * 7 + sample) / 8;
    }
}

/// Decision on a data segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OnData {
    /// Forwards the segment.
    Pass,
    /// Forwards the segment without a copy, because the cache is full.
    Full,
    /// Forwards and caches the segment.
    Keep {
        start: Seq,
        end: Seq,
        from_sender_again: bool,
    },
}

/// Decision on an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OnAck {
    /// Forwards the ACK.
    Pass,
    /// Duplicate ACK that is forwarded because the loss was in front of the agent or the sender
    /// repairs it.
    PassDuplicate,
    /// ACK that is forwarded, and gives up the requested data because all retransmissions are used
    /// up.
    GiveUp,
    /// Drops the ACK, because a newer one has passed.
    Old,
    /// Drops a duplicate ACK.
    Suppress,
    /// Drops the ACK, and retransmits the requested data.
    Repair(Seq),
    /// Forwards the ACK with the loss marked.
    Mark,
}

impl Flow {
    /// Returns the time after which a transmitted packet counts as lost.
    pub(super) fn timeout(&self, config: &SnoopConfig) -> Interval {
        Rtt::timeout(self.rtt, config)
    }

    /// Returns the next deadline of the connection.
    pub(super) fn deadline(&self, config: &SnoopConfig) -> Option<Instant> {
        let due = self.due(config);
        match self.upload.due(config) {
            None => due,
            upload => upload.min(due.or(upload)),
        }
    }

    /// Returns the expiry of the local timer. The timer runs once the oldest packet has left the
    /// transmitter, or from its arrival with [`TimerStart::Arrival`](super::config::TimerStart). It does not run while earlier data is missing in front of the agent, because
    /// nothing can be acknowledged then.
    pub(super) fn due(&self, config: &SnoopConfig) -> Option<Instant> {
        let oldest = self.cache.front()?;
        let left = oldest.left?;
        if self
            .acked
            .is_some_and(|(acked, _)| oldest.start.diff(acked) > 0)
        {
            return None;
        }
        Some(left.max(self.restarted) + self.timeout(config))
    }

    /// Handles a segment on its way to the wireless side.
    pub(super) fn on_data(&mut self, config: &SnoopConfig, segment: &Segment) -> OnData {
        let flags = segment.flags;
        if flags.has(Flags::SYN) {
            if !flags.has(Flags::ACK) {
                *self = Self::default(); // A SYN without ACK opens another connection.
            }
            self.partial_offered |= segment.options.ackp;
            return OnData::Pass;
        }
        let len = segment.seq_len();
        if len == 0 || flags.has(Flags::RST) || segment.dummy {
            return OnData::Pass;
        }
        self.head = Head {
            ports: (segment.src_port, segment.dst_port),
            ack: segment.ack,
        };
        let (start, end) = (segment.seq, segment.seq.at(u64::from(len)));
        if self.high.is_none_or(|high| end.diff(high) > 0) {
            self.high = Some(end);
        }
        if self.acked.is_some_and(|(acked, _)| end.diff(acked) <= 0) {
            self.pass_next_duplicate = true;
            return OnData::Pass;
        }
        let place = self.cache.place_of(start, end);
        match place {
            Place::Within => {
                for entry in self.cache.touched(start, end) {
                    (entry.tries, entry.from_sender_again) = (0, true);
                }
                OnData::Pass
            }
            Place::Last | Place::Hole if self.cache.len() >= config.cache => OnData::Full,
            Place::Last | Place::Hole => OnData::Keep {
                start,
                end,
                from_sender_again: place == Place::Hole,
            },
            // Data that the agent requested from the sender arrives again, and counts as new.
            Place::Again => {
                let report =
                    |entry: &mut Entry| config.repair == Repair::Mark && entry.repaired.is_some();
                OnData::Keep {
                    start,
                    end,
                    from_sender_again: !self.cache.touched(start, end).any(report),
                }
            }
        }
    }

    /// Caches data that passes.
    pub(super) fn keep(
        &mut self,
        (start, end): (Seq, Seq),
        from_sender_again: bool,
        serial: u32,
        packet: Option<Packet>,
        left: Option<Instant>,
    ) {
        let before = self.cache.at(start).and_then(|entry| entry.repaired);
        self.cache.insert(Entry {
            start,
            end,
            packet,
            serial,
            left,
            sends: 1,
            tries: 0,
            repaired: before.filter(|_| !from_sender_again),
            from_sender_again,
        });
    }

    /// Handles a segment from the wireless side.
    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        config: &SnoopConfig,
        segment: &Segment,
    ) -> OnAck {
        let flags = segment.flags;
        if flags.has(Flags::SYN) && !flags.has(Flags::ACK) {
            *self = Self::default(); // A SYN without ACK opens another connection.
        }
        if !flags.has(Flags::ACK) || flags.has(Flags::RST) {
            return OnAck::Pass;
        }
        self.stamps = segment.options.timestamps;
        let (ack, window) = (segment.ack, segment.window);
        let bare = segment.body.is_empty() && !flags.has(Flags::FIN) && !flags.has(Flags::SYN);
        let (last, last_window) = match self.acked {
            Some(acked) if ack.diff(acked.0) <= 0 => acked,
            _ => {
                // An ACK for data that the agent never forwarded is passed on without a decision.
                if self.high.is_none_or(|high| ack.diff(high) <= 0) {
                    self.on_new_ack(now, config, ack, window);
                }
                return OnAck::Pass;
            }
        };
        if ack != last {
            return if bare { OnAck::Old } else { OnAck::Pass };
        }
        self.acked = Some((ack, window));
        if !bare || window != last_window || self.cache.len() == 0 {
            return OnAck::Pass;
        }
        if std::mem::take(&mut self.pass_next_duplicate) {
            return OnAck::Pass;
        }
        self.on_duplicate(now, config, segment)
    }

    fn on_new_ack(&mut self, now: Instant, config: &SnoopConfig, ack: Seq, window: u16) {
        // The sample uses the oldest packet. The ACK may have been delayed until a later packet
        // arrived, so a sample of the newest one would be too short on a slow link.
        if let Some(oldest) = self.cache.front()
            && oldest.end.diff(ack) <= 0
            && !oldest.from_sender_again
            && oldest.repaired.is_none()
            && let Some(left) = oldest.left
            && left <= now
        {
            Rtt::sample(&mut self.rtt, config, now.since(left));
        }
        self.cache.free(ack);
        self.acked = Some((ack, window));
        // Half of the sequence space later an old value would compare as newer.
        self.last_partial = self.last_partial.filter(|last| last.diff(ack) > 0);
        (self.dups, self.expected, self.pass_next_duplicate) = (0, 0, false);
        self.restarted = now;
    }

    fn on_duplicate(&mut self, now: Instant, config: &SnoopConfig, segment: &Segment) -> OnAck {
        let ack = segment.ack;
        let timeout = self.timeout(config);
        let behind = self.cache.behind(ack);
        // A duplicated packet also causes a duplicate ACK. A packet is known missing only once a
        // packet that left after it has arrived.
        let known =
            |entry: &Entry| entry.start.diff(ack) > 0 && entry.left.is_some_and(|at| at <= now);
        let twice = segment.options.sack.as_slice().first();
        let twice = twice.is_some_and(|block| {
            let right = block.right;
            right.diff(ack) <= 0
        });
        let is_evidence = !twice && self.cache.iter().any(known);
        self.dups += 1;
        let (dups, expected) = (self.dups, self.expected);
        let Some(lost) = self.cache.at(ack) else {
            return OnAck::PassDuplicate;
        };
        if lost.from_sender_again {
            return OnAck::PassDuplicate;
        }
        if !is_evidence {
            return OnAck::Suppress;
        }
        if config.repair == Repair::Mark {
            // The sender was already asked for the data and has sent it.
            let soon = lost.repaired.is_some_and(|at| now.since(at) < timeout);
            if soon {
                return OnAck::Suppress;
            }
            lost.repaired = Some(now);
            return OnAck::Mark;
        }
        if lost.repaired.is_some() {
            let late = lost.left.is_some_and(|left| now > left + timeout);
            if !late && (expected > 0 || dups == 1) {
                self.expected = if dups == 1 { behind } else { expected }.saturating_sub(1);
                return OnAck::Suppress;
            }
        }
        if lost.tries >= config.tries {
            let serial = lost.serial;
            self.cache.remove(serial);
            return OnAck::GiveUp;
        }
        self.expected = behind.saturating_sub(dups);
        OnAck::Repair(lost.start)
    }

    /// Returns the holes between SACK blocks, except the hole at `ack`, that were not retransmitted
    /// recently.
    pub(super) fn missing(
        &self,
        now: Instant,
        config: &SnoopConfig,
        ack: Seq,
        blocks: &SackBlocks,
    ) -> Vec<Seq> {
        let timeout = self.timeout(config);
        let rights = blocks.as_slice().iter().map(|block| block.right);
        let Some(highest) = rights.reduce(|a, b| if b.diff(a) > 0 { b } else { a }) else {
            return Vec::new();
        };
        let covered = |entry: &Entry| {
            let holds = |b: &SackBlock| {
                let (left, right) = (b.left, b.right);
                left.diff(entry.start) <= 0 && right.diff(entry.end) >= 0
            };
            blocks.as_slice().iter().any(holds)
        };
        self.cache
            .iter()
            .filter(|entry| entry.start.diff(ack) > 0 && entry.end.diff(highest) <= 0)
            .filter(|entry| !covered(entry) && !entry.from_sender_again)
            .filter(|entry| entry.repaired.is_none_or(|at| now.since(at) > timeout))
            .filter(|entry| entry.tries < config.tries)
            .map(|entry| entry.start)
            .collect()
    }

    /// Returns the SACK blocks, extended by the data under local repair that touches them.
    pub(super) fn masked(&self, ack: Seq, blocks: &SackBlocks) -> SackBlocks {
        let repaired = self
            .cache
            .iter()
            .filter(|entry| entry.repaired.is_some() && !entry.from_sender_again)
            .filter(|entry| entry.start.diff(ack) > 0);
        let repaired: Vec<_> = repaired.map(|entry| (entry.start, entry.end)).collect();
        let mut out: Vec<(Seq, Seq)> = Vec::new();
        for block in blocks.as_slice() {
            let (mut left, mut right) = (block.left, block.right);
            for &(start, end) in &repaired {
                if start.diff(right) <= 0 && end.diff(right) > 0 {
                    right = end;
                }
            }
            for &(start, end) in repaired.iter().rev() {
                if end.diff(left) >= 0 && start.diff(left) < 0 {
                    left = start;
                }
            }
            // Merges blocks that now touch.
            while let Some(place) = out
                .iter()
                .position(|item| item.0.diff(right) <= 0 && left.diff(item.1) <= 0)
            {
                let other = out.remove(place);
                left = if other.0.diff(left) < 0 {
                    other.0
                } else {
                    left
                };
                right = if other.1.diff(right) > 0 {
                    other.1
                } else {
                    right
                };
            }
            out.push((left, right));
        }
        let block = |(left, right)| SackBlock { left, right };
        out.into_iter().map(block).collect()
    }

    /// Records that the data at a sequence number was retransmitted, or requested from the sender,
    /// at `now`.
    pub(super) fn repair(&mut self, now: Instant, seq: Seq) -> Option<&mut Entry> {
        self.restarted = now;
        let entry = self.cache.at(seq)?;
        entry.repaired = Some(now);
        entry.tries += 1;
        Some(entry)
    }

    /// Returns the packet whose local timer has expired.
    pub(super) fn on_timer(&mut self, now: Instant, config: &SnoopConfig) -> Option<Seq> {
        self.due(config).filter(|&due| due <= now)?;
        self.cache.front().map(|oldest| oldest.start)
    }

    /// Gives up the oldest packet and restarts the timer for the next one.
    pub(super) fn give_up(&mut self, now: Instant) {
        let oldest = self.cache.front().map(|entry| entry.serial);
        if let Some(serial) = oldest {
            self.cache.remove(serial);
        }
        self.restarted = now;
    }

    /// Returns the next partial acknowledgment when the timer expires.
    pub(super) fn partial(&mut self, repeat: bool) -> Option<Seq> {
        let (acked, _) = self.acked?;
        let end = self.cache.run_from(acked)?;
        let news = self.last_partial.is_none_or(|last| end.diff(last) > 0);
        if news {
            self.last_partial = Some(end);
        }
        (news || repeat).then_some(end)
    }
}
