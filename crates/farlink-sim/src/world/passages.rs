//! Records of packets at the ends of flows and on both sides of an agent.

use super::World;
use super::taps::{Tap, Tapped};
use crate::probe::Passage;
use farlink_tcp::Flags;
use farlink_wire::{FlowId, NodeId, PacketId, Payload};

impl World {
    /// Records a packet at a node: it arrives over link `here`, or with `leaves` departs over it.
    /// `there` is the packet's link on the other side of the node.
    pub(super) fn tap(
        &mut self,
        node: NodeId,
        (here, there): (u32, u32),
        packet: PacketId,
        leaves: bool,
    ) {
        for number in 0..self.agents.taps.all.len() {
            let Tap { node: at, wireless } = self.agents.taps.all[number];
            if at != node || here != wireless && there != wireless {
                continue;
            }
            let is_wireless = here == wireless;
            if let Some(kept) = &mut self.agents.taps.kept {
                kept.push(Tapped {
                    at: self.now,
                    tap: number,
                    is_wireless,
                    packet: self.packets[packet].clone(),
                });
            }
            let place = if is_wireless { 2 } else { 1 };
            self.pass(place, number as u64, packet, leaves);
            if let Some(probes) = &mut self.probes {
                probes.tapped(self.now, number, is_wireless, &self.packets[packet]);
            }
        }
    }

    /// Records a packet that leaves or reaches an end of its flow, if agents are traced.
    pub(super) fn pass_end(&mut self, packet: PacketId, leaves: bool) {
        if self.agents.taps.probed && !self.agents.taps.all.is_empty() {
            let place = if self.is_forward(packet) == Some(leaves) {
                0
            } else {
                3
            };
            self.pass(place, u64::MAX, packet, leaves);
        }
    }

    /// Returns whether a packet travels in the direction of the flow's data.
    fn is_forward(&self, packet: PacketId) -> Option<bool> {
        let packet = &self.packets[packet];
        let sender_opens = self.hot.get(packet.flow)?.sender_opens;
        Some(packet.from_opener == sender_opens)
    }

    fn pass(&mut self, place: u8, tap: u64, number: PacketId, leaves: bool) {
        let packet = &self.packets[number];
        let (Payload::Tcp(segment), Some(forward)) = (&packet.payload, self.is_forward(number))
        else {
            return;
        };
        let is_end = tap == u64::MAX;
        // A corrupt packet fails its checksum and does not reach the endpoint.
        let damaged = is_end && packet.corrupt;
        if packet.flow == FlowId::NONE || packet.piece.is_some() || damaged || self.probes.is_none()
        {
            return;
        }
        let has_ack = segment.flags.has(Flags::ACK);
        let acked = has_ack.then_some(segment.ack);
        let acked =
            acked.and_then(|ack| self.place_in_stream(packet.flow, !packet.from_opener, ack));
        let passage = Passage {
            time: self.now,
            flow: packet.flow.0,
            place,
            tap,
            leaves: leaves.into(),
            forward: forward.into(),
            ident: packet.ident.into(),
            flags: segment.flags.0,
            seq: self.stream_position(number).unwrap_or(u64::MAX),
            len: segment.body.len(),
            ack: acked.unwrap_or(u64::MAX),
        };
        if let Some(probes) = &mut self.probes {
            probes.passage(passage);
        }
    }
}
