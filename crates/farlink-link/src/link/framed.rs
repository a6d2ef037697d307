//! Queue disciplines in front of a link-layer protocol.
//!
//! The discipline holds the packets that wait for their first transmission. The protocol takes one
//! of them when its window is open, the MAC is idle, and no supervisory frame or retransmission
//! precedes it. A packet that the protocol has taken is beyond the discipline.

use super::{Arq, Links, Offered};
use crate::arq::{Source, Tag, Taken};
use crate::link::fate::Outcome;
use farlink_channel::DropCause;
use farlink_tcp::Instant;
use farlink_wire::id::{Direction, LinkId, PacketId};
use farlink_wire::packets::Packets;

/// Returns the directions of the link of `id`.
fn both(id: LinkId) -> [LinkId; 2] {
    Direction::BOTH.map(|direction| LinkId::new(id.link(), direction))
}

impl Links {
    /// Offers a packet to the discipline of a direction with a protocol, which sends it at once if
    /// it can.
    pub(super) fn offer_framed(
        &mut self,
        now: Instant,
        id: LinkId,
        number: PacketId,
        packets: &mut Packets,
        outcomes: &mut Vec<Outcome>,
    ) -> Offered {
        let over = &mut self.directions[id];
        if over.join_discipline((now, id), (number, packets.get_mut(number)), outcomes) {
            let from = id.direction() as usize;
            self.serve_framed(now, id, packets, outcomes, |arq, source| {
                arq.link.feed(now, from, source);
            });
        } else {
            outcomes.push(Outcome::Lost(id, number, DropCause::Congestion, now));
        }
        Offered::Decided
    }

    /// Advances a protocol with disciplines to `now`.
    pub(super) fn advance_framed(
        &mut self,
        now: Instant,
        id: LinkId,
        packets: &mut Packets,
        outcomes: &mut Vec<Outcome>,
    ) {
        self.serve_framed(now, id, packets, outcomes, |arq, source| {
            arq.link.advance_with(now, &mut arq.outputs, source);
            for from in 0..2 {
                arq.link.feed(now, from, source); // The shaper may have released a packet.
            }
        });
    }

    /// Calls `act` with the protocol of a link and the source of its packets.
    fn serve_framed(
        &mut self,
        now: Instant,
        id: LinkId,
        packets: &mut Packets,
        outcomes: &mut Vec<Outcome>,
        act: impl FnOnce(&mut Arq, &mut Source<'_>),
    ) {
        let (directions, departures) = (&mut self.directions, &mut self.departures);
        let Some(arq) = self.arq[id.link() as usize].as_deref_mut() else {
            return;
        };
        let mut source = |from: usize| {
            let id = both(id)[from];
            let (packet, ip_len) = directions[id].take_disciplined((now, id), packets, outcomes)?;
            if let Some(departures) = departures {
                departures.push((id, packet, now));
            }
            Some(Taken {
                packet: packet.0,
                ip_len,
                tag: Tag::of(&packets[packet]),
            })
        };
        act(arq, &mut source);
        for (from, id) in both(id).into_iter().enumerate() {
            if self.directions[id].has_discipline() {
                arq.link
                    .note_disciplined(from, self.directions[id].low_queued());
            }
        }
    }

    /// Returns the next deadline of a protocol with disciplines: its own, or the time at which a
    /// shaper releases a packet to it.
    pub(super) fn framed_deadline(&self, id: LinkId) -> Instant {
        let Some(arq) = self.arq(id) else {
            return Instant::MAX;
        };
        let held = |(from, id): (usize, LinkId)| {
            let until = self.directions[id].shaped_until()?;
            arq.takes_new(from).then_some(until)
        };
        let both = both(id).into_iter().enumerate();
        let own = arq.deadline();
        both.filter_map(held).fold(own, Instant::min)
    }
}
