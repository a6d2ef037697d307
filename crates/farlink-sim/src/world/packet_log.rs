//! Log of packets in the event loop: the maker of each packet, and its fate on each link.

use super::World;
use crate::probe::Crossed;
use farlink_channel::DropCause;
use farlink_link::Outcome;
use farlink_tcp::{Flags, Instant, Reason};
use farlink_wire::{FlowId, LinkId, Packet, PacketId, Payload};

impl World {
    /// Stores a packet that a node makes for this reason.
    pub(super) fn make_packet(&mut self, packet: Packet, reason: Reason, again: bool) -> PacketId {
        let number = self.packets.insert(packet);
        self.note_made(number, (reason, again));
        number
    }

    /// Stores a packet that is a part of packet `of`.
    pub(super) fn make_part(&mut self, part: Packet, of: PacketId) -> PacketId {
        let number = self.packets.insert(part);
        if let Some(log) = self
            .probes
            .as_mut()
            .and_then(|probes| probes.packets.as_mut())
        {
            log.copied(of, number, false);
        }
        number
    }

    /// Notes the reason of a new packet, and whether some of its data was sent before.
    pub(super) fn note_made(&mut self, packet: PacketId, reason: (Reason, bool)) {
        if let Some(log) = self
            .probes
            .as_mut()
            .and_then(|probes| probes.packets.as_mut())
        {
            log.made(packet, reason);
        }
    }

    /// Notes a duplicate that a link made of a packet.
    pub(super) fn note_copied(&mut self, of: PacketId, copy: PacketId) {
        if let Some(log) = self
            .probes
            .as_mut()
            .and_then(|probes| probes.packets.as_mut())
        {
            log.copied(of, copy, true);
        }
    }

    /// Notes a packet that is offered to a link.
    pub(super) fn note_offered(&mut self, link: LinkId, number: PacketId) {
        if let Some(probes) = &mut self.probes {
            probes.joins(number, self.now, self.packets[number].ecn());
        }
        if self
            .probes
            .as_ref()
            .is_none_or(|probes| probes.packets.is_none())
        {
            return;
        }
        let row = self.crossed(link, number);
        if let Some(log) = self
            .probes
            .as_mut()
            .and_then(|probes| probes.packets.as_mut())
        {
            log.offered(number, row);
        }
    }

    /// Notes the departures that followed from an offer of a packet (if any) to a link, or from an
    /// event of the link. `before` is the number of outcomes before that.
    pub(super) fn note_departures(
        &mut self,
        link: LinkId,
        offered: Option<PacketId>,
        before: usize,
    ) {
        let Some(probes) = self.probes.as_mut() else {
            return;
        };
        if !probes.watches_departures() {
            return;
        }
        let (links, packets) = (&mut self.links, &self.packets);
        // Each loop is inside the iterator, because most calls find nothing to drain. An event of a
        // link protocol serves both directions.
        for link in [link, link.reverse()] {
            let reasons = links[link].drain_reasons();
            reasons.for_each(|(packet, reason)| probes.dropped(packet, reason));
        }
        links.drain_departures().for_each(|(link, packet, at)| {
            let leaving = (packet, &packets[packet]);
            probes.may_be_marked(at, link, leaving);
            probes.departed(at, link, leaving);
        });
        let Some(packet) = offered else {
            return;
        };
        let refused = |outcome: &Outcome| matches!(outcome, Outcome::Lost(_, lost, DropCause::Congestion, _) if *lost == packet);
        if self.outcomes[before..].iter().any(refused) {
            return;
        }
        let leaving = (packet, &packets[packet]);
        probes.may_be_marked(self.now, link, leaving);
        if links.arq(link).is_none()
            && let Some(at) = links[link].departure(self.now, packet)
        {
            probes.departed(at, link, leaving);
        }
    }

    /// Builds the row of a packet that is offered to a link.
    fn crossed(&self, link: LinkId, number: PacketId) -> Crossed {
        let packet = &self.packets[number];
        let probes = self.probes.as_ref();
        let flow = probes.map_or(packet.flow.0, |probes| probes.flow(packet.flow));
        // UDP and XTP flows have no SYN. Their data sender counts as the opener.
        let sender_opens = self.hot.get(packet.flow).is_none_or(|hot| hot.sender_opens);
        let mut row = Crossed {
            time: self.now,
            link: link.link(),
            direction: link.direction() as u8,
            flow,
            number: 0,
            forward: (packet.from_opener == sender_opens).into(),
            seq: u64::MAX,
            len: 0,
            ack: u64::MAX,
            window: 0,
            flags: 0,
            sacks: 0,
            bytes: packet.ip_len(),
            fragment: packet.piece.map_or(u64::MAX, |piece| piece.offset.into()),
            retransmission: 0,
            reason: 0,
            departure: 0,
            transmissions: 0,
            arrival: 0,
            lost: 0,
            cause: 0,
        };
        if packet.flow == FlowId::NONE {
            return row;
        }
        row.seq = self.stream_position(number).unwrap_or(u64::MAX);
        match &packet.payload {
            Payload::Raw(_) => {}
            Payload::Udp(datagram) => {
                row.len = match &datagram.carried {
                    Some(carried) => carried.data().map_or(0, |(_, len)| len),
                    None => datagram.body.len(),
                };
            }
            Payload::Tcp(segment) => {
                row.len = segment.body.len();
                row.flags = segment.flags.0;
                row.sacks = segment.options.sack.as_slice().len() as u8;
                row.window = u64::from(segment.window);
                let end = super::sending_end(packet, sender_opens);
                if !segment.flags.has(Flags::SYN) {
                    row.window <<= self.ends[end].conn.window_shift();
                }
                if segment.flags.has(Flags::ACK) {
                    let ack = self.place_in_stream(packet.flow, !packet.from_opener, segment.ack);
                    row.ack = ack.unwrap_or(u64::MAX);
                }
            }
        }
        row
    }

    /// Notes the loss of a packet on a link, or behind the link.
    pub(super) fn note_lost(&mut self, packet: PacketId, at: Instant, cause: DropCause) {
        if let Some(log) = self
            .probes
            .as_mut()
            .and_then(|probes| probes.packets.as_mut())
        {
            log.lost(packet, at, cause);
        }
    }
}
