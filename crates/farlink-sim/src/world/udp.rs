//! UDP flows in the event loop. Each sent datagram is an event, in addition to the events of its
//! packet.

use super::World;
use crate::app::Side;
use crate::event_queue::{Event, Kind};
use crate::flow::EndId;
use crate::udp::UdpFlow;
use farlink_tcp::{Interval, Reason, Seq};
use farlink_wire::{FlowId, HOST_TTL, Id, NodeId, PacketId, Payload};

impl World {
    /// Returns the index of the UDP flow with this flow number.
    fn udp_index(&self, flow: FlowId) -> usize {
        flow.index() - self.flows.len()
    }

    /// Returns the source and the destination host of the datagrams that an end sends.
    pub(super) fn path_of_datagrams(&self, end: EndId) -> (NodeId, NodeId) {
        let [from, to] = match self.xtp_index(end.flow()) {
            Some(index) => self.xtp[index].nodes(),
            None => match self.quic_index(end.flow()) {
                Some(index) => self.quic[index].nodes(),
                None => self.udp[self.udp_index(end.flow())].nodes(),
            },
        };
        if end.side() == Side::From {
            (from, to)
        } else {
            (to, from)
        }
    }

    /// Returns the minimum time in which the links of a flow's path can transmit the arrived
    /// datagrams: their number times the transmission time of the slowest link. Zero if routes change.
    pub(crate) fn least_sending(&self, flow: &UdpFlow) -> Interval {
        let ([mut at, to], ip_len) = (flow.nodes(), flow.ip_len());
        let mut slowest = Interval::ZERO;
        // Routes may form a cycle, so the number of steps is limited.
        for _ in 0..self.nodes.len() {
            if at == to || !self.routes_are_constant() {
                break;
            }
            let link = &self.links[self.nodes[at].next_hop(to)];
            slowest = slowest.max(link.least_sending(ip_len));
            at = link.to();
        }
        Interval::from_nanos(slowest.as_nanos().saturating_mul(flow.sink.received))
    }

    /// Sends the datagram that is due, and schedules the next one or ends the source.
    pub(crate) fn datagram_due(&mut self, index: usize) {
        if let Some(index) = index.checked_sub(self.udp.len()) {
            match index.checked_sub(self.xtp.len()) {
                Some(index) => self.quic_due(index),
                None => self.xtp_due(index),
            }
            return;
        }
        let flow = &mut self.udp[index];
        match flow.source.next() {
            Ok(at) if at <= self.now => {
                let home = &mut self.nodes[flow.node()];
                let packet = flow.send(self.now, home.ident, HOST_TTL);
                home.ident = home.ident.wrapping_add(1);
                let node = flow.node();
                if let Some(probes) = &mut self.probes {
                    probes.datagram_sent(self.now, &packet);
                }
                self.send_datagram(node, packet, (Reason::Datagram, false));
                self.schedule_datagram(index);
            }
            _ => self.schedule_datagram(index),
        }
    }

    fn schedule_datagram(&mut self, index: usize) {
        let flow = &mut self.udp[index];
        match flow.source.next() {
            Ok(at) => self
                .queue
                .push(Event::new(at, Kind::Datagram, index as u32, 0)),
            Err(end) => {
                flow.ended_at = Some(end);
                self.finish_if_drained(index);
            }
        }
    }

    /// Handles a datagram at its destination.
    pub(crate) fn datagram_arrived(&mut self, number: PacketId) {
        let packet = &self.packets[number];
        if packet.flow.index() < self.flows.len() {
            // A packet between agents, whose agent does not exist or is off.
            self.packets.release(number);
            return;
        }
        if let Some(index) = self.xtp_index(packet.flow) {
            self.xtp_arrived(index, number);
            return;
        }
        if let Some(index) = self.quic_index(packet.flow) {
            self.quic_arrived(index, number);
            return;
        }
        if let Payload::Udp(datagram) = &packet.payload {
            let index = self.udp_index(packet.flow);
            let flow = &mut self.udp[index];
            flow.under_way -= 1;
            let first = flow.sink.receive(
                self.now,
                (datagram.number, datagram.body.len()),
                datagram.sent_at,
            );
            if let Some(probes) = &mut self.probes
                && first
            {
                probes.datagram_received(self.now, packet, datagram, flow.sink.bytes);
            }
            self.finish_if_drained(index);
        }
        self.packets.release(number);
    }

    /// Counts a lost datagram, or a lost copy or fragment of one.
    pub(crate) fn datagram_lost(&mut self, flow: FlowId) {
        if self.is_counted(flow) {
            let index = self.udp_index(flow);
            self.udp[index].under_way -= 1;
            self.finish_if_drained(index);
        }
    }

    /// Counts a duplicated datagram.
    pub(crate) fn datagram_copied(&mut self, flow: FlowId) {
        if self.is_counted(flow) {
            let index = self.udp_index(flow);
            self.udp[index].under_way += 1;
        }
    }

    /// Returns whether the datagrams of a flow are counted one by one.
    fn is_counted(&self, flow: FlowId) -> bool {
        // Datagrams of a TCP flow are those of agents that split its connection.
        flow.index() >= self.flows.len()
            && self.xtp_index(flow).is_none()
            && self.quic_index(flow).is_none()
    }

    /// Completes a flow whose source has ended when no datagram is in flight.
    fn finish_if_drained(&mut self, index: usize) {
        let flow = &mut self.udp[index];
        if flow.ended_at.is_some() && flow.under_way == 0 && !flow.done {
            flow.done = true;
            self.completion.flow_done(self.now);
        }
    }

    /// Returns the position of a lost packet's data in the stream of its flow, if known.
    pub(crate) fn stream_position(&self, number: PacketId) -> Option<u64> {
        let packet = &self.packets[number];
        match &packet.payload {
            Payload::Udp(datagram) => match &datagram.carried {
                Some(carried) => carried.data().map(|(position, _)| position),
                None if let Some(index) = self.quic_index(packet.flow) => {
                    self.quic[index].position(datagram.number)
                }
                None => {
                    let source = &self.udp[self.udp_index(packet.flow)].source;
                    let len = source.constant_len()?;
                    Some(datagram.number * u64::from(len))
                }
            },
            Payload::Raw(_) => None,
            Payload::Tcp(segment) => {
                let state = &self.flows[packet.flow];
                let opening = state.opening.as_ref();
                let current = opening.is_none_or(|opening| opening.is_current(packet));
                (current && !segment.body.is_empty())
                    .then(|| {
                        self.place_in_stream(packet.flow, packet.from_opener, segment.data_seq())
                    })
                    .flatten()
            }
        }
    }

    /// Returns the position in a TCP flow's stream of a sequence number of this direction.
    pub(crate) fn place_in_stream(&self, flow: FlowId, from_opener: bool, seq: Seq) -> Option<u64> {
        let sender_opens = self.hot.get(flow)?.sender_opens;
        let side = if from_opener == sender_opens {
            Side::From
        } else {
            Side::To
        };
        self.ends[EndId::new(flow, side)].stream_offset(seq)
    }
}
