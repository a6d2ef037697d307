//! XTP flows in the event loop.

use super::World;
use crate::event_queue::{Event, Kind};
use farlink_tcp::{Instant, Reason};
use farlink_wire::xtp::{Content, Pdu};
use farlink_wire::{Carried, FlowId, Id, PacketId, Payload};

impl World {
    /// Returns the index of the XTP flow with this flow number; `None` for other flows.
    pub(super) fn xtp_index(&self, flow: FlowId) -> Option<usize> {
        flow.index()
            .checked_sub(self.flows.len() + self.udp.len())
            .filter(|&index| index < self.xtp.len())
    }

    /// Handles the timer of an XTP sender.
    pub(super) fn xtp_due(&mut self, index: usize) {
        let flow = &mut self.xtp[index];
        if flow.wakes_at <= self.now {
            flow.wakes_at = Instant::MAX;
        }
        flow.on_time(self.now);
        self.xtp_transmit(index);
    }

    /// Sends all packets that an XTP sender may send now, and schedules its next call.
    fn xtp_transmit(&mut self, index: usize) {
        while let Some((pdu, again)) = self.xtp[index].transmit(self.now) {
            if let Some(probes) = &mut self.probes
                && let Content::Data { seq, len, .. } = pdu.content
            {
                probes.xtp_sent(self.now, self.xtp[index].id, seq, len, again);
            }
            self.xtp_send(index, pdu, (true, again));
        }
        let flow = &mut self.xtp[index];
        if let Some(at) = flow.deadline(self.now).filter(|&at| at < flow.wakes_at) {
            flow.wakes_at = at;
            self.serial = self.serial.wrapping_add(1);
            let source = (self.udp.len() + index) as u32;
            let event = Event::new(at, Kind::Datagram, source, self.serial);
            self.queue.push(event);
        }
    }

    /// Sends a packet of the sender or the receiver; `again` is set for a retransmission.
    fn xtp_send(&mut self, index: usize, pdu: Pdu, (by_sender, again): (bool, bool)) {
        let reason = match pdu.content {
            Content::Control(_) => Reason::Control,
            Content::Data { .. } if again => Reason::Report,
            Content::Data { .. } => Reason::NewData,
        };
        let flow = &mut self.xtp[index];
        let [from, to] = flow.nodes();
        let node = if by_sender { from } else { to };
        let home = &mut self.nodes[node];
        let packet = flow.packet(pdu, by_sender, self.now, home.ident);
        home.ident = home.ident.wrapping_add(1);
        self.send_datagram(node, packet, (reason, again));
    }

    /// Handles an XTP packet at its destination.
    pub(super) fn xtp_arrived(&mut self, index: usize, number: PacketId) {
        let packet = self.packets.get_mut(number);
        let by_sender = packet.from_opener;
        let pdu = match &mut packet.payload {
            Payload::Udp(datagram) => datagram.carried.take(),
            Payload::Tcp(_) | Payload::Raw(_) => None,
        };
        self.packets.release(number);
        let Some(Carried::Xtp(pdu)) = pdu.map(|pdu| *pdu) else {
            return;
        };
        let flow = &mut self.xtp[index];
        if by_sender {
            let before = flow.delivered();
            let answer = flow.at_receiver(self.now, &pdu);
            let (id, after) = (flow.id, flow.delivered());
            if let Some(probes) = &mut self.probes
                && after > before
            {
                probes.stream_delivered(self.now, id, after);
            }
            if let Some(answer) = answer {
                self.xtp_send(index, answer, (false, false));
            }
            return;
        }
        if flow.at_sender(self.now, pdu) {
            self.completion.flow_done(self.now);
        }
        self.xtp_transmit(index);
    }
}
