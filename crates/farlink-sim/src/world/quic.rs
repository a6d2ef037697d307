//! QUIC flows in the event loop.

use super::World;
use crate::event_queue::{Event, Kind};
use crate::quic::Seen;
use farlink_tcp::{Instant, Reason};
use farlink_wire::{FlowId, Id, PacketId, Payload};

impl World {
    /// Returns the index of the QUIC flow with this flow number; `None` for other flows.
    pub(super) fn quic_index(&self, flow: FlowId) -> Option<usize> {
        let before = self.flows.len() + self.udp.len() + self.xtp.len();
        flow.index()
            .checked_sub(before)
            .filter(|&index| index < self.quic.len())
    }

    /// Handles the timers of a QUIC flow.
    pub(super) fn quic_due(&mut self, index: usize) {
        let flow = &mut self.quic[index];
        if flow.wakes_at <= self.now {
            flow.wakes_at = Instant::MAX;
        }
        let before = self.quic_seen(index);
        self.quic[index].on_time(self.now);
        self.quic_settle(index, before);
    }

    /// Handles a datagram at its destination.
    pub(super) fn quic_arrived(&mut self, index: usize, number: PacketId) {
        let before = self.quic_seen(index);
        let packet = &self.packets[number];
        if let Payload::Udp(datagram) = &packet.payload {
            let end = usize::from(packet.from_opener);
            self.quic[index].arrived(end, self.now, datagram);
        }
        self.packets.release(number);
        self.quic_settle(index, before);
    }

    /// Lets both ends send, records what has changed, and schedules the next call.
    fn quic_settle(&mut self, index: usize, before: Option<(Seen, u64)>) {
        self.quic[index].serve(self.now);
        for end in 0..2 {
            while let Some((bytes, ecn, has_data)) = self.quic[index].transmit(end, self.now) {
                let reason = if has_data {
                    Reason::NewData
                } else {
                    Reason::Control
                };
                let flow = &mut self.quic[index];
                let node = flow.nodes()[end];
                let home = &mut self.nodes[node];
                let packet = flow.packet(end, (&bytes, ecn), self.now, home.ident);
                home.ident = home.ident.wrapping_add(1);
                // A host that searches for the MTU does not fragment, over IPv6 either.
                let number = self.make_packet(packet, reason, false);
                self.quic_progress(index, end);
                self.send_made(node, number);
            }
        }
        if let Some((seen, read)) = before {
            self.quic_progress(index, 0);
            self.quic_progress(index, 1);
            self.quic_record(index, seen, read);
        }
        let flow = &mut self.quic[index];
        if flow.settle(self.now) {
            self.completion.flow_done(self.now);
        }
        if let Some(at) = flow.deadline().filter(|&at| at < flow.wakes_at) {
            flow.wakes_at = at;
            self.serial = self.serial.wrapping_add(1);
            let source = (self.udp.len() + self.xtp.len() + index) as u32;
            let event = Event::new(at.max(self.now), Kind::Datagram, source, self.serial);
            self.queue.push(event);
        }
    }

    /// Returns what a trace has of a flow; `None` in a run without probes.
    fn quic_seen(&self, index: usize) -> Option<(Seen, u64)> {
        let flow = &self.quic[index];
        let probed = self.probes.is_some();
        probed.then(|| (flow.ends.seen(), flow.delivered(1)))
    }

    /// Adds to the probes the changes of the data that an end has sent.
    fn quic_progress(&mut self, index: usize, end: usize) {
        let (flow, Some(probes)) = (&mut self.quic[index], &mut self.probes) else {
            return;
        };
        for change in flow.progress(end) {
            probes.quic_progress(self.now, (flow.id, end), &change);
        }
    }

    /// Adds to the probes what an event has changed.
    fn quic_record(&mut self, index: usize, before: Seen, read: u64) {
        let (flow, Some(probes)) = (&self.quic[index], &mut self.probes) else {
            return;
        };
        let now = flow.ends.seen();
        if now != before {
            let sampled = now.samples > before.samples;
            probes.quic_changed(self.now, flow.id, &now, sampled);
        }
        if flow.delivered(1) > read {
            probes.stream_delivered(self.now, flow.id, flow.delivered(1));
        }
    }
}
