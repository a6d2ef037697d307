//! Snoop for data from the mobile host (west1997, 2.6; Balakrishnan, Seshan, Amir, Katz 1995): the
//! base station detects radio losses and sends negative acknowledgments.
//!
//! The radio keeps packets in order, so data after a hole proves that the hole is lost. The mobile
//! host retransmits the hole at once without reducing its window.

use super::config::SnoopConfig;
use super::flow::{Head, Rtt};
use crate::view::Path;
use farlink_tcp::{
    Flags, Instant, Interval, Options, RareOptions, SackBlock, Segment, Seq, Timestamps,
};
use farlink_wire::packet::Packet;

/// Maximum number of SACK blocks beside the ELN mark. They take 4 + 4 + 8 n of 40 option bytes, and
/// timestamps take 12.
const BLOCKS: usize = 4;
const BLOCKS_WITH_TIMESTAMPS: usize = 2;

/// State of the data of one connection that a mobile host sends.
#[derive(Debug, Default)]
pub(super) struct Upload {
    /// Set if the mobile host's SYN offered negative acknowledgments.
    nack_offered: bool,
    /// Sequence number after the highest data received.
    high: Option<Seq>,
    /// Missing ranges, in sequence order and disjoint.
    holes: Vec<Hole>,
    /// Path of the data, and the header of the last data segment.
    path: Option<Path>,
    head: Head,
    /// Last acknowledgment from the fixed host, its window and its timestamps.
    acked: Option<(Seq, u16)>,
    stamps: Option<Timestamps>,
    rtt: Option<Rtt>,
}

/// Range of data lost on the radio.
#[derive(Clone, Copy, Debug)]
struct Hole {
    left: Seq,
    right: Seq,
    /// Time of the last negative acknowledgment that named the hole.
    last_nack: Option<Instant>,
    tries: u32,
}

impl Upload {
    /// Handles a segment from the mobile host.
    pub(super) fn on_data(
        &mut self,
        now: Instant,
        config: &SnoopConfig,
        segment: &Segment,
        path: Path,
    ) {
        let flags = segment.flags;
        let len = segment.seq_len();
        let (start, end) = (segment.seq, segment.seq.at(u64::from(len)));
        if flags.has(Flags::SYN) {
            if self.high.is_some() && flags.has(Flags::ACK) {
                return; // a retransmission
            }
            *self = Self {
                nack_offered: segment.options.nack,
                high: Some(end),
                ..Self::default()
            };
            return;
        }
        if !self.nack_offered || len == 0 || flags.has(Flags::RST) || segment.dummy {
            return;
        }
        let Some(high) = self.high else { return };
        self.path = Some(path);
        self.head = Head {
            ports: (segment.src_port, segment.dst_port),
            ack: segment.ack,
        };
        if start.diff(high) > 0 {
            // Holes beyond the limit are left to the mobile host's own loss recovery.
            if self.holes.len() < config.holes {
                self.holes.push(Hole {
                    left: high,
                    right: start,
                    last_nack: None,
                    tries: 0,
                });
            }
        } else {
            self.fill(now, config, start, end);
        }
        if end.diff(high) > 0 {
            self.high = Some(end);
        }
    }

    /// Handles a segment on its way to the mobile host.
    pub(super) fn on_ack(&mut self, segment: &Segment) {
        if !self.nack_offered || !segment.flags.has(Flags::ACK) || segment.flags.has(Flags::RST) {
            return;
        }
        self.stamps = segment.options.timestamps;
        let ack = segment.ack;
        if self.acked.is_some_and(|(acked, _)| ack.diff(acked) < 0) {
            return;
        }
        // Data that never passed the agent cannot be acknowledged.
        if self.high.is_some_and(|high| ack.diff(high) <= 0) {
            self.acked = Some((ack, segment.window));
            self.holes.retain(|hole| hole.right.diff(ack) > 0);
        }
    }

    /// Removes received data from the holes.
    fn fill(&mut self, now: Instant, config: &SnoopConfig, start: Seq, end: Seq) {
        let mut left = Vec::with_capacity(self.holes.len() + 1);
        let mut sample = None;
        for hole in self.holes.drain(..) {
            if hole.right.diff(start) <= 0 || hole.left.diff(end) >= 0 {
                left.push(hole);
                continue;
            }
            if hole.tries == 1 {
                sample = hole.last_nack; // Karn: only from holes named once
            }
            if hole.left.diff(start) < 0 {
                left.push(Hole {
                    right: start,
                    ..hole
                });
            }
            if hole.right.diff(end) > 0 && left.len() < config.holes {
                left.push(Hole { left: end, ..hole });
            }
        }
        self.holes = left;
        if let Some(at) = sample {
            Rtt::sample(&mut self.rtt, config, now.since(at));
        }
    }

    fn timeout(&self, config: &SnoopConfig) -> Interval {
        Rtt::timeout(self.rtt, config)
    }

    /// Returns the time at which the oldest named hole may be named again.
    pub(super) fn due(&self, config: &SnoopConfig) -> Option<Instant> {
        let oldest = self.holes.iter().filter_map(|hole| hole.last_nack).min()?;
        Some(oldest + self.timeout(config))
    }

    /// Builds a negative acknowledgment of holes that were not named recently. A packet has room
    /// for few holes, so the caller repeats the call until it returns `None`.
    pub(super) fn next_nack(
        &mut self,
        now: Instant,
        config: &SnoopConfig,
    ) -> Option<(Packet, Seq)> {
        let timeout = self.timeout(config);
        let tries = config.tries;
        let is_due = |hole: &Hole| hole.last_nack.is_none_or(|at| at + timeout <= now);
        self.holes
            .retain(|hole| !is_due(hole) || hole.tries < tries);
        let max = match self.stamps {
            Some(_) => BLOCKS_WITH_TIMESTAMPS,
            None => BLOCKS,
        };
        let (acked, window) = self.acked?;
        let path = self.path?;
        let mut blocks = Vec::with_capacity(max);
        for hole in self.holes.iter_mut().filter(|hole| is_due(hole)).take(max) {
            (hole.last_nack, hole.tries) = (Some(now), hole.tries + 1);
            blocks.push(SackBlock {
                left: hole.left,
                right: hole.right,
            });
        }
        let first = blocks.first()?.left;
        let options = Options::from(self.stamps).with(RareOptions {
            sack: blocks.into_iter().collect(),
            nack: true,
            ..RareOptions::NONE
        });
        let segment = Segment {
            src_port: self.head.ports.1,
            dst_port: self.head.ports.0,
            seq: self.head.ack,
            ack: acked,
            flags: Flags::ACK,
            window,
            options,
            ..Segment::default()
        };
        Some((path.reverse().packet(segment).ok()?, first))
    }
}
