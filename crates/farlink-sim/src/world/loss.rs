//! Lost and damaged packets: counters, probes and notices.

use super::losses::{Lost, LostLater};
use super::{World, sending_end};
use crate::app::Side;
use crate::event_queue::{Event, Kind};
use crate::flow::EndId;
use farlink_channel::DropCause;
use farlink_tcp::{Instant, LossCause};
use farlink_wire::{FlowId, Id, LinkId, Packet, PacketId, Payload};

impl World {
    /// Subtracts losses that are counted already but are after the end of the run.
    pub(crate) fn subtract_future_losses(&mut self) {
        for lost in self
            .completion
            .lost_later
            .drain(..)
            .filter(|lost| lost.at > self.now)
        {
            let tally = &mut self.counters[lost.flow];
            match lost.cause {
                Some(cause) => *tally.forward_mut(cause) -= 1,
                None => tally.back -= 1,
            }
        }
    }

    /// Drops a packet after its delivery by a link. The loss counts at this link.
    #[cold]
    pub(crate) fn lose_beyond(&mut self, link: LinkId, number: PacketId, cause: DropCause) {
        let priority = self.packets[number].priority();
        self.links.count_drop(link, cause, priority);
        self.lose(link, number, cause, self.now);
    }

    /// Records a packet that was lost on a link. The link has already counted the loss.
    #[cold]
    pub(crate) fn lose(&mut self, link: LinkId, number: PacketId, cause: DropCause, at: Instant) {
        self.note_lost(number, at, cause);
        let packet = &self.packets[number];
        if packet.flow == FlowId::NONE {
            if let Some(probes) = &mut self.probes {
                probes.lost(at, link, (number, packet), None, cause);
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
                probes.lost(at, link, (number, &self.packets[number]), seq, cause);
            }
        }
        let packet = &self.packets[number];
        let tally = &mut self.counters[packet.flow];
        // UDP and XTP flows have no SYN, so their data sender is treated as the opener.
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
                .completion
                .lost_later
                .front()
                .is_some_and(|lost| lost.at <= self.now)
            {
                self.completion.lost_later.pop_front();
            }
            let flow = packet.flow;
            let cause = (!back).then_some(cause);
            self.completion
                .lost_later
                .push_back(LostLater { at, flow, cause });
        }
        if matches!(packet.payload, Payload::Udp(_)) {
            self.datagram_lost(packet.flow);
        }
    }

    /// Returns the end that receives a packet, if the packet belongs to the current connection.
    pub(crate) fn receiving_end(&self, packet: &Packet) -> Option<EndId> {
        let flow = &self.flows[packet.flow];
        let current = flow
            .opening
            .as_ref()
            .is_none_or(|opening| opening.is_current(packet));
        let end = sending_end(packet, self.hot[packet.flow].sender_opens).other();
        (current && self.ends[end].live).then_some(end)
    }

    /// Passes a corrupt packet to its endpoint, which may use its header.
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

    /// Oracle of explicit loss notification. Schedules a notice of a lost packet and its cause to
    /// the receiving end, at the time when the packet would have arrived. Returns whether the
    /// packet is kept until then.
    pub(crate) fn notify_loss(
        &mut self,
        link: LinkId,
        number: PacketId,
        cause: DropCause,
        at: Instant,
    ) -> bool {
        let packet = &self.packets[number];
        let oracle = |&end: &EndId| self.ends[end].conn.uses_loss_notices();
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
                    DropCause::Checksum => at, // The packet crossed all links.
                    _ => at + self.links[link].config().delay,
                };
                self.serial = self.serial.wrapping_add(1);
                let event = Event::new(over, Kind::Notice, end.number(), self.serial);
                self.queue.push_with(event, number.0);
                true
            }
            // An agent or an ACK filter dropped the packet on purpose, so this is no loss of the
            // medium.
            DropCause::Agent | DropCause::Policy => false,
            DropCause::Congestion
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

    /// Notifies a receiving end of a loss by the medium.
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
