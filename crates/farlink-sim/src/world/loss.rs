//! Packets that are lost or damaged: who counts it, and who is told.

use super::losses::{Lost, LostLater};
use super::{World, sending_end};
use crate::app::Side;
use crate::event_queue::{Event, Kind};
use crate::flow::EndId;
use farlink_channel::DropCause;
use farlink_tcp::{Instant, LossCause};
use farlink_wire::{FlowId, Id, LinkId, Packet, PacketId, Payload};

impl World {
    /// Takes back what is counted of losses whose time has not come.
    pub(crate) fn forget_future_losses(&mut self) {
        for lost in self.lost_later.drain(..).filter(|lost| lost.at > self.now) {
            let tally = &mut self.counters[lost.flow];
            match lost.cause {
                Some(cause) => *tally.forward_mut(cause) -= 1,
                None => tally.back -= 1,
            }
        }
    }

    /// A packet is lost that a link delivered: the node at the far end has no use for
    /// it. It is counted among the losses of the link that brought it.
    #[cold]
    pub(crate) fn lose_beyond(&mut self, link: LinkId, number: PacketId, cause: DropCause) {
        let priority = self.packets[number].priority();
        self.links.count_drop(link, cause, priority);
        self.lose(link, number, cause, self.now);
    }

    /// A packet is lost on a link, which has counted it.
    #[cold]
    pub(crate) fn lose(&mut self, link: LinkId, number: PacketId, cause: DropCause, at: Instant) {
        let packet = &self.packets[number];
        if packet.flow == FlowId::NONE {
            if let Some(probes) = &mut self.probes {
                probes.lost(at, link, packet, None, cause);
            }
            if let Some(lost) = &mut self.real.lost {
                let packet = packet.clone();
                lost.push(Lost {
                    at,
                    link,
                    cause,
                    packet,
                });
            }
        } else {
            self.lose_of_flow(link, number, cause, at);
        }
        if !self.notify_loss(link, number, cause, at) {
            self.packets.release(number);
        }
    }

    fn lose_of_flow(&mut self, link: LinkId, number: PacketId, cause: DropCause, at: Instant) {
        if self.probes.is_some() {
            let seq = self.stream_position(number);
            if let Some(probes) = &mut self.probes {
                probes.lost(at, link, &self.packets[number], seq, cause);
            }
        }
        let packet = &self.packets[number];
        let tally = &mut self.counters[packet.flow];
        // Of what is not over TCP the end that sends the data is the opener.
        let hot = self.hot.get(packet.flow);
        let back = hot.map_or(!packet.from_opener, |hot| {
            sending_end(packet, hot.sender_opens).side() == Side::To
        });
        if back {
            tally.back += 1;
        } else {
            *tally.forward_mut(cause) += 1;
        }
        if at > self.now {
            while self
                .lost_later
                .front()
                .is_some_and(|lost| lost.at <= self.now)
            {
                self.lost_later.pop_front();
            }
            let flow = packet.flow;
            let cause = (!back).then_some(cause);
            self.lost_later.push_back(LostLater { at, flow, cause });
        }
        if matches!(packet.payload, Payload::Udp(_)) {
            self.datagram_lost(packet.flow);
        }
    }

    /// The end that a packet goes to, if the packet is of its connection.
    pub(crate) fn receiving_end(&self, packet: &Packet) -> Option<EndId> {
        let flow = &self.flows[packet.flow];
        let current = flow
            .opening
            .as_ref()
            .is_none_or(|opening| opening.is_current(packet));
        let end = sending_end(packet, self.hot[packet.flow].sender_opens).other();
        (current && self.ends[end].live).then_some(end)
    }

    /// A packet is at its host with changed bits: its addresses are those of
    /// this connection, and the endpoint may make something of the rest.
    #[cold]
    pub(crate) fn damaged(&mut self, number: PacketId) {
        let packet = &self.packets[number];
        if let Some(segment) = packet.tcp()
            && let Some(end) = self.receiving_end(packet)
            && self.ends[end].conn.on_damaged(segment)
        {
            self.serve(end);
        }
    }

    /// The oracle of explicit loss notification: the end that waits for a packet
    /// hears that it was lost and why, when it would have been over the link
    /// that lost it. Returns whether the packet is kept until then.
    pub(crate) fn notify_loss(
        &mut self,
        link: LinkId,
        number: PacketId,
        cause: DropCause,
        at: Instant,
    ) -> bool {
        let packet = &self.packets[number];
        let oracle = |&end: &EndId| self.ends[end].conn.wants_loss_notices();
        let Some(segment) = packet.tcp() else {
            return false;
        };
        let Some(end) = self.receiving_end(packet).filter(oracle) else {
            return false;
        };
        match cause {
            DropCause::Loss
            | DropCause::BitError
            | DropCause::Checksum
            | DropCause::Handoff
            | DropCause::Fade
            | DropCause::LinkGiveUp => {
                let over = match cause {
                    DropCause::Checksum => at, // it went over all of them
                    _ => at + self.links[link].config().delay,
                };
                self.serial = self.serial.wrapping_add(1);
                let event = Event::new(over, Kind::Notice, end.number(), self.serial);
                self.queue.push_with(event, number.0);
                true
            }
            // Whatever it meant by that, it was no loss.
            DropCause::Agent => false,
            DropCause::Congestion
            | DropCause::Policy
            | DropCause::NoRoute
            | DropCause::HopLimit
            | DropCause::TooBig
            | DropCause::Reassembly => {
                let conn = &mut self.ends[end].conn;
                conn.on_loss_notice(segment, LossCause::Congestion);
                false
            }
        }
    }

    /// The time has come to tell of a loss by the medium.
    pub(crate) fn notice(&mut self, end: EndId, number: PacketId) {
        let packet = &self.packets[number];
        if let Some(segment) = packet.tcp()
            && self.receiving_end(packet) == Some(end)
        {
            let conn = &mut self.ends[end].conn;
            conn.on_loss_notice(segment, LossCause::Corruption);
        }
        self.packets.release(number);
    }
}
