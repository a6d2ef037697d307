//! Packets in the network. Each has a number, by which queues, links and events refer to the
//! packet.

use crate::id::{ById, FlowId, NodeId, PacketId};
use crate::packet::{Head, Packet, Payload};
use farlink_tcp::{Dscp, Priority, Segment};
use std::ops::Index;

/// Fields of a packet that are read at every hop. They are stored apart from the packet, because
/// four labels fit into one cache line and a packet needs two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(16))] // No label is in two cache lines.
pub struct Label {
    /// Destination node.
    pub dst: NodeId,
    /// IP length in bytes.
    pub ip_len: u32,
    /// Flow of the packet.
    pub flow: FlowId,
    /// Set if the packet travels from the flow's opener to its acceptor.
    pub from_opener: bool,
    /// Set if the packet is a whole, unchanged segment of a flow, so its host needs only the
    /// segment.
    pub plain: bool,
    /// Set if the packet carries data.
    pub data: bool,
    class: Class,
}

/// Position of a packet in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Class {
    Normal,
    /// Low priority.
    Low,
    /// Ahead of all other packets in the queue of the next link, if possible.
    Ahead,
    LowAhead,
}

impl Label {
    /// Returns whether the packet has low priority.
    #[inline]
    pub fn is_low(self) -> bool {
        matches!(self.class, Class::Low | Class::LowAhead)
    }

    /// Builds the label of a packet with this header and segment. Equals [`Self::of`] for whole,
    /// uncorrupted TCP packets.
    #[inline(always)] // called for each packet
    fn of_segment(head: Head, segment: &Segment) -> Self {
        let body = segment.body.len();
        let low = segment.dscp == Dscp::LE;
        Self {
            dst: head.dst,
            ip_len: head.ip.header_len() + segment.header_len() + body,
            flow: head.flow,
            from_opener: head.from_opener,
            plain: head.flow != FlowId::NONE,
            data: body > 0 && !segment.dummy,
            class: if low { Class::Low } else { Class::Normal },
        }
    }

    fn of(packet: &Packet) -> Self {
        let (data, low) = (packet.has_data(), packet.priority() == Priority::Low);
        let whole = packet.piece.is_none() && !packet.corrupt && packet.flow != FlowId::NONE;
        Self {
            dst: packet.dst,
            ip_len: packet.ip_len(),
            flow: packet.flow,
            from_opener: packet.from_opener,
            plain: whole && matches!(packet.payload, Payload::Tcp(_)),
            data,
            class: if low { Class::Low } else { Class::Normal },
        }
    }
}

/// Packets in the network.
#[derive(Debug, Default)]
pub struct Packets {
    all: ById<PacketId, Packet>,
    labels: ById<PacketId, Label>,
    free: Vec<PacketId>,
}

impl Packets {
    /// Stores a packet and returns its number.
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        let id = self.vacant();
        self.free.pop();
        self.labels[id] = Label::of(&packet);
        self.all[id] = packet;
        id
    }

    /// Returns the number of the next packet.
    #[inline]
    fn vacant(&mut self) -> PacketId {
        match self.free.last() {
            Some(&id) => id,
            None => self.more(),
        }
    }

    #[cold]
    fn more(&mut self) -> PacketId {
        let blank = Packet::of_tcp(Head::default());
        self.labels.push_to_long(Label::of(&blank));
        let id = self.all.push_to_long(blank);
        self.free.push(id);
        id
    }

    /// Returns the slot of the next packet, so its segment is written in place. Otherwise copying
    /// segments would be most of the cost of a hop.
    #[inline(always)] // called for each packet
    pub fn draft(&mut self) -> Draft<'_> {
        let id = self.vacant();
        let packet = &mut self.all[id];
        if !matches!(packet.payload, Payload::Tcp(_)) {
            packet.payload = Payload::Tcp(Segment::default());
        }
        Draft {
            id,
            packet,
            label: &mut self.labels[id],
            free: &mut self.free,
        }
    }

    /// Releases a packet. Its number will be reused.
    #[inline]
    pub fn release(&mut self, id: PacketId) {
        self.free.push(id);
    }

    /// Removes a packet and returns it.
    pub fn take(&mut self, id: PacketId) -> Packet {
        let blank = Packet::of_tcp(Head::default());
        self.free.push(id);
        std::mem::replace(&mut self.all[id], blank)
    }

    /// Requests that the next link's queue place a packet ahead of all others, if possible.
    pub fn send_ahead(&mut self, id: PacketId) {
        let class = &mut self.labels[id].class;
        *class = match class {
            Class::Normal | Class::Ahead => Class::Ahead,
            Class::Low | Class::LowAhead => Class::LowAhead,
        };
    }

    /// Returns whether a packet goes ahead of others at this link, and clears the request.
    #[inline]
    pub fn takes_ahead(&mut self, id: PacketId) -> bool {
        let class = &mut self.labels[id].class;
        let (ahead, after) = match *class {
            Class::Ahead => (true, Class::Normal),
            Class::LowAhead => (true, Class::Low),
            class => (false, class),
        };
        *class = after;
        ahead
    }

    /// Returns the label of a packet.
    #[inline]
    pub fn label(&self, id: PacketId) -> Label {
        self.labels[id]
    }

    /// Prefetches the slot at the top of the free list. The slot of the next released packet is
    /// reused before it.
    #[inline]
    pub fn prefetch_draft(&self) {
        if let Some(&id) = self.free.last() {
            self.prefetch(id);
        }
    }

    /// Prefetches a packet.
    #[inline]
    pub fn prefetch(&self, id: PacketId) {
        farlink_prefetch::whole(&self.labels[id]);
        farlink_prefetch::whole(&self.all[id]);
    }

    /// Prefetches the label of a packet.
    #[inline]
    pub fn prefetch_label(&self, id: PacketId) {
        farlink_prefetch::whole(&self.labels[id]);
    }

    /// Prefetches the options of the packet's segment, because the answer's options will overwrite
    /// them.
    #[inline]
    pub fn prefetch_options(&self, id: PacketId) {
        if let Some(segment) = self.all[id].tcp() {
            segment.options.prefetch();
        }
    }

    /// Returns the packet for changes that do not affect its label. Other changes need
    /// [`Self::rewrite`].
    #[inline]
    pub fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.all[id]
    }

    /// Marks a packet as corrupted.
    pub fn spoil(&mut self, id: PacketId) {
        self.all[id].corrupt = true;
        self.labels[id].plain = false;
    }

    /// Changes a packet, and updates its label.
    pub fn rewrite<T>(&mut self, id: PacketId, change: impl FnOnce(&mut Packet) -> T) -> T {
        let done = change(&mut self.all[id]);
        self.labels[id] = Label::of(&self.all[id]);
        done
    }

    /// Stores a copy of a packet and returns its number.
    pub fn copy(&mut self, id: PacketId) -> PacketId {
        let copy = self.all[id].clone();
        self.insert(copy)
    }

    /// Returns the number of packets.
    pub fn count(&self) -> usize {
        self.all.len() - self.free.len()
    }
}

/// A packet that is being built. If it is dropped before [`Draft::send`], no packet is created.
#[derive(Debug)]
pub struct Draft<'a> {
    id: PacketId,
    packet: &'a mut Packet,
    label: &'a mut Label,
    free: &'a mut Vec<PacketId>,
}

impl Draft<'_> {
    /// Returns the segment of the slot. The segment of an old packet stays there until it is
    /// overwritten.
    #[inline(always)] // called for each packet
    pub fn segment(&mut self) -> &mut Segment {
        match &mut self.packet.payload {
            Payload::Tcp(segment) => segment,
            Payload::Udp(_) | Payload::Raw(_) => unreachable!("it has just been written"),
        }
    }

    /// Completes the packet with this header.
    #[inline(always)] // called for each packet
    pub fn send(mut self, head: Head) -> (PacketId, Label) {
        self.free.pop();
        let segment = self.segment();
        if head.dscp != Dscp::DEFAULT && segment.dscp == Dscp::DEFAULT {
            segment.dscp = head.dscp;
        }
        let label = Label::of_segment(head, segment);
        self.packet.set_head(head);
        *self.label = label;
        (self.id, label)
    }
}

impl Index<PacketId> for Packets {
    type Output = Packet;

    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        &self.all[id]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farlink_tcp::Body;

    /// A label is read at every hop, and four labels fit into a cache line.
    #[test]
    fn label_takes_a_quarter_of_a_cache_line() {
        assert_eq!(size_of::<Label>(), 16);
    }

    #[test]
    fn draft_label_equals_packet_label() {
        let mut packets = Packets::default();
        for (len, dummy, flow) in [
            (0, false, 3),
            (9, false, 3),
            (9, true, 4),
            (9, false, u32::MAX),
        ] {
            for dscp in [Dscp::DEFAULT, Dscp::LE, Dscp::new(46)] {
                let mut draft = packets.draft();
                let segment = draft.segment();
                segment.body = Body::of_len(len);
                (segment.dummy, segment.dscp) = (dummy, dscp);
                let (id, label) = draft.send(Head {
                    dst: NodeId(7),
                    flow: FlowId(flow),
                    from_opener: len > 0,
                    ..Head::default()
                });
                assert_eq!(label, Label::of(&packets[id]));
                assert_eq!(label, packets.label(id));
                let packet = packets[id].clone();
                let held = packets.insert(packet);
                assert_eq!(label, packets.label(held));
            }
        }
    }

    #[test]
    fn send_ahead_applies_once_and_keeps_priority() {
        let mut packets = Packets::default();
        for dscp in [Dscp::DEFAULT, Dscp::LE] {
            let mut draft = packets.draft();
            draft.segment().dscp = dscp;
            let (id, _) = draft.send(Head::default());
            let low = dscp == Dscp::LE;
            assert!(packets.label(id).is_low() == low && !packets.takes_ahead(id));
            packets.send_ahead(id);
            packets.send_ahead(id);
            assert!(packets.label(id).is_low() == low && packets.takes_ahead(id));
            assert!(packets.label(id).is_low() == low && !packets.takes_ahead(id));
        }
    }
}
