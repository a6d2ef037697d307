//! Explicit loss notification by an agent (west1997, 2.3.3; Balakrishnan et al. 1996).
//!
//! The agent records which data passed to the wireless link. A duplicate ACK for data that passed
//! means a loss on that link. The agent then sets the ELN option ("the segment at the
//! acknowledgment number was damaged"), and the sender retransmits without reducing its window. A
//! duplicate ACK for data that never reached the agent means congestion, and is forwarded
//! unchanged.

use super::connections::{AgentState, Connections, Limits};
use super::crossing::Crossing;
use super::middlebox::{Act, Agent, Leaving, LinkEvent, Out, Tag, TransferredState, Verdict};
use super::view::View;
use farlink_tcp::{Flags, Instant, SackBlocks, Segment, Seq};
use farlink_wire::MAX_OPTIONS_LEN;
use farlink_wire::id::{NodeId, PacketId};

/// Maximum number of recorded ranges per connection. Each hole left by a loss in front of the agent
/// begins another range. Data beyond the limit is treated as lost in front of the agent.
const MAX_RANGES: usize = 1024;

/// Agent for explicit loss notification.
#[derive(Debug)]
pub struct Eln {
    connections: Connections<Passed>,
    marked: u64,
    unmarked: u64,
    no_room: u64,
    /// Last data packet: number, slot of its connection, and sequence range.
    latest: (u32, u32, (Seq, Seq)),
}

/// Data of a connection that passed and is not yet acknowledged.
#[derive(Debug, Default)]
struct Passed {
    /// Sequence ranges (start, end), disjoint and in order.
    ranges: Vec<(Seq, Seq)>,
    /// Ranges that passed later than data above them: they fill holes left by losses in front of
    /// the agent.
    filled: Vec<(Seq, Seq)>,
    /// Last ACK with its window.
    last: Option<(Seq, u16)>,
}

/// Place of the loss that an ACK reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ReportedLoss {
    /// No loss, or an ACK that cannot be classified.
    None,
    /// Loss on the wireless link: the data after the ACK passed the agent.
    Wireless,
    /// Loss in front of the agent: the data after the ACK never reached it.
    Upstream,
}

impl Eln {
    /// Creates an agent without connections.
    pub fn new(limits: Limits) -> Self {
        Self {
            connections: Connections::new(limits),
            marked: 0,
            unmarked: 0,
            no_room: 0,
            latest: (0, 0, (Seq(0), Seq(0))),
        }
    }
}

impl Agent for Eln {
    fn on_packet(
        &mut self,
        now: Instant,
        _id: PacketId,
        crossing: Crossing,
        view: &mut View<'_>,
        out: &mut Out,
    ) -> Verdict {
        let Some((ends, segment)) = view.ends_and_segment(crossing) else {
            return Verdict::Forward;
        };
        let requested = segment.ack;
        let mut noted = None;
        let message = self
            .connections
            .on_segment(now, ends, crossing, segment, |place, passed| {
                if crossing == Crossing::ToWireless {
                    noted = passed.on_data(segment).map(|range| (place, range));
                    ReportedLoss::None
                } else {
                    passed.on_ack(segment)
                }
            });
        if let Some((place, range)) = noted {
            let serial = self.latest.0.wrapping_add(1);
            self.latest = (serial, place, range);
            return Verdict::Follow(Tag(u64::from(serial)));
        }
        match message {
            None | Some(ReportedLoss::None) => {}
            Some(ReportedLoss::Upstream) => self.unmarked += 1,
            Some(ReportedLoss::Wireless) if view.rewrite(mark) => {
                self.marked += 1;
                out.note_back(view, Act::Mark, requested);
            }
            Some(ReportedLoss::Wireless) => self.no_room += 1,
        }
        Verdict::Forward
    }

    fn follows(&self) -> bool {
        true
    }

    fn on_sent(&mut self, _now: Instant, tag: Tag, sent: LinkEvent, _out: &mut Out) {
        let (serial, place, range) = self.latest;
        // The queue refuses a packet at once, before the next packet is offered.
        if sent == LinkEvent::Refused && tag == Tag(u64::from(serial)) {
            self.connections.at(place, |passed| passed.remove(range));
        }
    }

    fn on_leave(
        &mut self,
        _now: Instant,
        host: NodeId,
        how: Leaving,
        _out: &mut Out,
    ) -> Option<TransferredState> {
        self.connections.leave(host, how)
    }

    fn on_join(&mut self, now: Instant, moved: TransferredState, _out: &mut Out) {
        self.connections.join(now, moved, |_, _| {});
    }

    fn switch(&mut self, _now: Instant, on: bool, _out: &mut Out) {
        self.connections.switch(on);
    }

    fn counters(&self, _now: Instant) -> Vec<(&'static str, f64)> {
        let mut all = vec![
            ("marked", self.marked as f64),
            ("unmarked", self.unmarked as f64),
            ("no_room", self.no_room as f64),
        ];
        all.extend(self.connections.counters());
        all
    }
}

/// Sets the ELN option. If there is no room, the option replaces the last SACK block.
pub(super) fn mark(segment: &mut Segment) {
    let options = &mut segment.options;
    options.eln = true;
    if options.wire_len() > MAX_OPTIONS_LEN {
        let blocks = options.sack.as_slice();
        let kept = blocks.len().saturating_sub(1);
        options.sack = blocks.iter().copied().take(kept).collect::<SackBlocks>();
    }
}

impl AgentState for Passed {}

impl Passed {
    /// Records data that passes to the wireless side. Returns its range, unless the data is already
    /// acknowledged.
    fn on_data(&mut self, segment: &Segment) -> Option<(Seq, Seq)> {
        let len = segment.body.len();
        if len == 0 {
            return None;
        }
        let (start, end) = (segment.data_seq(), segment.data_seq().at(u64::from(len)));
        if let Some((acked, _)) = self.last
            && end.diff(acked) <= 0
        {
            return None; // the far end already has the data
        }
        self.record((start, end));
        Some((start, end))
    }

    /// Records a range of data.
    fn record(&mut self, (start, end): (Seq, Seq)) {
        // Data usually follows the data that passed last.
        if let Some(last) = self.ranges.last_mut()
            && last.1 == start
        {
            last.1 = end;
            return;
        }
        if let Some(last) = self.ranges.last()
            && start.diff(last.1) < 0
            && self.filled.len() < MAX_RANGES
        {
            let covers = |s: &(Seq, Seq)| s.0.diff(start) <= 0 && s.1.diff(end) >= 0;
            if !self.ranges.iter().any(covers) {
                self.filled.push((start, end));
            }
        }
        let from = self.ranges.partition_point(|s| s.1.diff(start) < 0);
        let to = from + self.ranges[from..].partition_point(|s| s.0.diff(end) <= 0);
        if from == to {
            if self.ranges.len() < MAX_RANGES {
                self.ranges.insert(from, (start, end));
            }
            return;
        }
        // The new range and all ranges that it touches are merged.
        let (first, last) = (self.ranges[from].0, self.ranges[to - 1].1);
        let start = if first.diff(start) < 0 { first } else { start };
        let end = if last.diff(end) > 0 { last } else { end };
        self.ranges[from] = (start, end);
        self.ranges.drain(from + 1..to);
    }

    /// Removes data that the queue of the wireless link refused, because its loss is congestion.
    fn remove(&mut self, (start, end): (Seq, Seq)) {
        let apart = |s: &(Seq, Seq)| s.1.diff(start) <= 0 || s.0.diff(end) >= 0;
        let Some(at) = self.ranges.iter().rposition(|s| !apart(s)) else {
            return;
        };
        let (left, right) = self.ranges.remove(at);
        // The ranges stay sorted if the right part is inserted first.
        if right.diff(end) > 0 {
            self.ranges.insert(at, (end, right));
        }
        if left.diff(start) < 0 && self.ranges.len() < MAX_RANGES {
            self.ranges.insert(at, (left, start));
        }
    }

    /// Classifies an ACK from the wireless side.
    fn on_ack(&mut self, segment: &Segment) -> ReportedLoss {
        let flags = segment.flags;
        if !flags.has(Flags::ACK) || flags.has(Flags::RST) {
            return ReportedLoss::None;
        }
        let (ack, window) = (segment.ack, segment.window);
        let (last, last_window) = match self.last {
            Some(last) if ack.diff(last.0) <= 0 => last,
            _ => {
                self.last = Some((ack, window));
                self.ranges.retain(|s| s.1.diff(ack) > 0);
                self.filled.retain(|s| s.1.diff(ack) > 0);
                return ReportedLoss::None;
            }
        };
        if ack != last {
            return ReportedLoss::None; // an old ACK
        }
        self.last = Some((ack, window));
        let bare = segment.body.is_empty() && !flags.has(Flags::FIN) && !flags.has(Flags::SYN);
        // A changed window makes the ACK a window update, unless it has SACK blocks.
        let repeats = window == last_window || !segment.options.sack.is_empty();
        match self.ranges.first() {
            Some(first) if bare && repeats => {
                // Duplicate ACKs that were in flight when the sender filled the hole still mean
                // congestion.
                let has = |s: &(Seq, Seq)| s.0.diff(ack) <= 0 && s.1.diff(ack) > 0;
                if first.0.diff(ack) <= 0 && !self.filled.iter().any(has) {
                    ReportedLoss::Wireless
                } else {
                    ReportedLoss::Upstream
                }
            }
            _ => ReportedLoss::None,
        }
    }
}

#[cfg(test)]
mod tests;
