//! Rows about queues: sojourn times, marks, and reasons of drops.

use super::tables::{Marked, Sojourn};
use super::{Probes, split};
use farlink_link::discipline::Reason;
use farlink_tcp::{Ecn, Instant};
use farlink_wire::{ById, LinkId, Packet, PacketId};

/// Packets that were offered to a link, and drops whose row is still to come.
#[derive(Debug, Default)]
pub(super) struct QueueWatch {
    /// Time of the latest offer of each packet, and its ECN field behind the offer. Indexed by the
    /// number of the packet, which is reused.
    joined: ById<PacketId, (Instant, Ecn)>,
    /// Reasons of drops by disciplines.
    reasons: Vec<(PacketId, Reason)>,
}

impl QueueWatch {
    /// Removes and returns the number of the reason of a drop; `None` if no queue dropped the
    /// packet.
    pub(super) fn reason(&mut self, packet: PacketId) -> Option<u8> {
        let of = |entry: &(PacketId, Reason)| entry.0 == packet;
        let index = self.reasons.iter().position(of)?;
        Some(self.reasons.swap_remove(index).1 as u8)
    }

    fn joined_mut(&mut self, packet: PacketId) -> &mut (Instant, Ecn) {
        while self.joined.get(packet).is_none() {
            self.joined.push((Instant::ZERO, Ecn::NotEct));
        }
        &mut self.joined[packet]
    }
}

impl Probes {
    /// Returns whether a table needs the departures from queues or the reasons of drops.
    pub(crate) fn watches_departures(&self) -> bool {
        self.packets.is_some()
            || self.sojourns.is_wanted
            || self.queue_marks.is_wanted
            || self.drops.is_wanted
    }

    /// Notes a packet with its ECN field before it is offered to a link at `now`.
    pub(crate) fn joins(&mut self, number: PacketId, now: Instant, ecn: Ecn) {
        *self.queues.joined_mut(number) = (now, ecn);
    }

    /// Notes the reason of a drop by a discipline. The row of the drop follows.
    pub(crate) fn dropped(&mut self, number: PacketId, reason: Reason) {
        self.queues.reasons.push((number, reason));
    }

    /// Adds a row if a queue marked the packet since its offer or the last call.
    pub(crate) fn may_be_marked(
        &mut self,
        time: Instant,
        directed: LinkId,
        (number, packet): (PacketId, &Packet),
    ) {
        let (flow, ecn) = (self.flow(packet.flow), packet.ecn());
        let before = &mut self.queues.joined_mut(number).1;
        let was = std::mem::replace(before, ecn);
        if ecn == was || ecn != Ecn::Ce {
            return;
        }
        let (link, direction) = split(directed);
        self.queue_marks.push(Marked {
            time,
            link,
            direction,
            flow,
            bytes: packet.ip_len(),
            codepoint: was as u8,
        });
    }

    /// Notes a packet whose transmission over a link begins at `time`, and its sojourn time.
    pub(crate) fn departed(
        &mut self,
        time: Instant,
        directed: LinkId,
        (number, packet): (PacketId, &Packet),
    ) {
        if let Some(log) = &mut self.packets {
            log.began(number, time);
        }
        let (link, direction) = split(directed);
        let flow = self.flow(packet.flow);
        let joined = self.queues.joined_mut(number).0;
        self.sojourns.push(Sojourn {
            time,
            link,
            direction,
            flow,
            bytes: packet.ip_len(),
            sojourn: time.since(joined).as_nanos(),
        });
    }

    /// Removes the sojourn times of packets whose transmission begins after the end of the run.
    pub(crate) fn cut_departures(&mut self, end: Instant) {
        self.sojourns.list.retain(|row| row.time <= end);
    }
}
