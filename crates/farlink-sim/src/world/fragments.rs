//! IP fragmentation. A packet longer than the MTU of its next link is fragmented, or dropped with
//! an ICMP message to its sender. Hosts reassemble the fragments (RFC 791, 3.2; RFC 1191; RFC 8200,
//! 4.5; RFC 8201).

use super::reassemblies::{Key, Partial, key, same};
use super::{Form, World, sending_end};
use crate::event_queue::{Event, Kind};
use crate::flow::EndId;
use farlink_channel::DropCause;
use farlink_tcp::{DataMapping, Ecn, Instant, Reason};
use farlink_wire::fragment::{Added, Mtu, Piece};
use farlink_wire::icmp::IcmpError;
use farlink_wire::packet::IPV4_HEADER_LEN;
use farlink_wire::{HOST_TTL, Id, Ip, LinkId, NodeId, Packet, PacketId, Payload};

impl World {
    /// Fragments or drops a packet at `node` that exceeds the MTU of its next link.
    #[cold]
    pub(crate) fn too_long(&mut self, node: NodeId, link: LinkId, number: PacketId) {
        let Some(mtu) = self.links[link].mtu() else {
            return;
        };
        let packet = &self.packets[number];
        if let Payload::Raw(raw) = &packet.payload {
            if raw.ip().dont_fragment() {
                self.refuse(node, link, number, IcmpError::TooBig(mtu.bytes));
                return;
            }
            let parts = raw.cut(mtu);
            let template = packet.clone();
            self.packets.release(number);
            self.real.cut += (parts.len() as u64).saturating_sub(1);
            for raw in parts {
                let part = Packet {
                    payload: Payload::Raw(raw),
                    ..template.clone()
                };
                let part = self.make_part(part, number);
                self.offer(node, link, part);
            }
            return;
        }
        if packet.ip.dont_fragment() {
            self.note_offered(link, number);
            self.notify_mtu(node, number, mtu);
            self.lose_beyond(link, number, DropCause::TooBig);
            return;
        }
        let template = packet.clone();
        let whole = template.piece.unwrap_or(Piece {
            offset: 0,
            len: (template.whole_len() - IPV4_HEADER_LEN) as u16,
            more: false,
        });
        // The original packet is released last, so no fragment gets its number.
        for piece in mtu.cut(whole, IPV4_HEADER_LEN) {
            if matches!(template.payload, Payload::Udp(_)) {
                self.datagram_copied(template.flow);
            }
            let part = Packet {
                piece: Some(piece),
                ..template.clone()
            };
            let part = self.make_part(part, number);
            self.offer(node, link, part);
        }
        self.absorb(number);
    }

    /// Sends a datagram of a flow. An IPv6 datagram is fragmented by its host, to the MTU of its
    /// link or to the reported path MTU (RFC 8200, 4.5; RFC 8201, 5.2).
    pub(super) fn send_datagram(&mut self, node: NodeId, packet: Packet, why: (Reason, bool)) {
        if packet.ip == Ip::V6 {
            let link = self.nodes[node].next_hop(packet.dst);
            let of_link = self.links.has(link).then(|| self.links[link].mtu());
            let of_path = self.hosts.path_mtus.get(&(node, packet.dst)).copied();
            let max = of_link.flatten().map(|mtu| mtu.bytes).into_iter();
            let max = max.chain(of_path).min();
            if let Some(bytes) = max.filter(|&max| packet.ip_len() > max) {
                self.send_in_pieces(node, &packet, bytes, why);
                return;
            }
        }
        let number = self.make_packet(packet, why.0, why.1);
        self.send_made(node, number);
    }

    /// Fragments an IPv6 datagram at its host.
    #[cold]
    fn send_in_pieces(&mut self, node: NodeId, packet: &Packet, bytes: u32, why: (Reason, bool)) {
        let whole = Piece {
            offset: 0,
            len: (packet.whole_len() - packet.ip.header_len()) as u16,
            more: false,
        };
        let mtu = Mtu { bytes, unit: 8 };
        let mut first = None;
        for piece in mtu.cut(whole, packet.ip.fragment_header_len()) {
            self.datagram_copied(packet.flow);
            let part = Packet {
                piece: Some(piece),
                ..packet.clone()
            };
            let number = match first {
                None => self.make_packet(part, why.0, why.1),
                Some(first) => self.make_part(part, first),
            };
            first = Some(number);
            self.send_made(node, number);
        }
        self.datagram_lost(packet.flow);
    }

    pub(super) fn send_made(&mut self, node: NodeId, number: PacketId) {
        if let Some(probes) = &mut self.probes {
            probes.capture(self.now, node, &self.packets[number]);
        }
        self.forward(node, number);
    }

    /// Notifies the sender of a packet that was too long. The notice arrives after the propagation
    /// delays of the path back to the sender.
    fn notify_mtu(&mut self, node: NodeId, number: PacketId, mtu: Mtu) {
        let packet = &self.packets[number];
        if packet.tcp().is_none() && packet.ip != Ip::V6 {
            return; // The sender cannot send shorter packets.
        }
        let (mut at, mut segments) = (node, self.now);
        for _ in 0..HOST_TTL {
            let link = self.nodes[at].next_hop(packet.src);
            if at == packet.src || link == LinkId::NONE {
                break;
            }
            segments += self.links[link].config().delay;
            at = self.links[link].to();
        }
        if at != packet.src {
            return;
        }
        // UDP and XTP flows have no SYN, so their data sender is treated as the opener.
        let hot = self.hot.get(packet.flow);
        let end = sending_end(packet, hot.is_none_or(|hot| hot.sender_opens));
        self.serial = self.serial.wrapping_add(1);
        let event = Event::new(segments, Kind::PathMtu, end.number(), self.serial);
        self.queue.push_with(event, mtu.bytes);
    }

    /// Sets the path MTU in bytes, for a TCP endpoint or for a host that sends datagrams.
    pub(crate) fn path_mtu(&mut self, end: EndId, mtu: u32) {
        let Some(hot) = self.hot.get(end.flow()) else {
            let path = self.path_of_datagrams(end);
            let known = self.hosts.path_mtus.entry(path).or_insert(mtu);
            *known = mtu.min(*known);
            return;
        };
        let ip = hot.ip.version();
        let extra = match hot.form {
            Form::Subflow => DataMapping::WIRE_LEN,
            _ => 0,
        };
        let e = &mut self.ends[end];
        if e.live && e.conn.on_path_mtu(mtu, ip, extra) {
            self.serve(end);
        }
    }

    /// Adds a fragment to its datagram at the destination. Delivers the datagram once it is
    /// complete.
    #[cold]
    pub(crate) fn reassemble(&mut self, link: LinkId, number: PacketId) {
        let packet = &self.packets[number];
        let Some(piece) = packet.piece else { return };
        let (key, flow) = (key(packet), packet.flow);
        let all = &mut self.reassemblies;
        let due = self.now + all.timeouts[flow];
        let (spare, dues) = (&mut all.spare, &mut all.dues);
        let partial = all.partial.entry(key).or_insert_with(|| {
            dues.insert((due, key));
            Partial {
                number,
                link,
                due,
                parts: spare.pop().unwrap_or_default(),
            }
        });
        let (first, added) = (partial.number, partial.parts.add(piece));
        if added == Added::Waits && partial.parts.count() == 1 {
            self.watch_partial(due);
            return;
        }
        // The first fragment represents the datagram, even if it is complete alone.
        if first != number {
            if added != Added::Duplicate {
                let packet = &self.packets[number];
                let spoiled = packet.corrupt || !same(packet, &self.packets[first]);
                let congested = packet.ecn() == Ecn::Ce;
                let whole = self.packets.get_mut(first);
                whole.corrupt |= spoiled;
                if congested {
                    whole.set_ecn(Ecn::Ce); // RFC 3168, 5.3
                }
            }
            self.absorb(number);
        }
        match added {
            Added::Waits | Added::Duplicate => {}
            Added::Complete => {
                self.remove_partial(key);
                self.packets.rewrite(first, |whole| whole.piece = None);
                self.delivered(link, first);
            }
            Added::Overlap => {
                let link = self.remove_partial(key);
                self.lose_beyond(link, first, DropCause::Reassembly);
            }
        }
    }

    /// Releases a fragment that was a duplicate, or that its datagram has absorbed.
    fn absorb(&mut self, number: PacketId) {
        let packet = &self.packets[number];
        if matches!(packet.payload, Payload::Udp(_)) {
            self.datagram_lost(packet.flow);
        }
        self.packets.release(number);
    }

    /// Removes the reassembly state of a datagram. Returns the link of its first fragment.
    fn remove_partial(&mut self, key: Key) -> LinkId {
        let all = &mut self.reassemblies;
        all.partial
            .remove(&key)
            .map_or(LinkId::NONE, |mut partial| {
                all.dues.remove(&(partial.due, key));
                partial.parts.clear();
                all.spare.push(partial.parts);
                partial.link
            })
    }

    fn watch_partial(&mut self, due: Instant) {
        let all = &mut self.reassemblies;
        if all.watch.is_none_or(|at| due < at) {
            all.watch = Some(due);
            self.queue.push(Event::new(due, Kind::Reassembly, 0, 0));
        }
    }

    /// Drops incomplete datagrams whose reassembly time-out has expired.
    #[cold]
    pub(crate) fn give_up_partial(&mut self) {
        let all = &mut self.reassemblies;
        if all.watch != Some(self.now) {
            return;
        }
        all.watch = None;
        let over = all.dues.iter().take_while(|(due, _)| *due <= self.now);
        let over: Vec<Key> = over.map(|&(_, key)| key).collect();
        for key in over {
            let number = self.reassemblies.partial[&key].number;
            let link = self.remove_partial(key);
            self.lose_beyond(link, number, DropCause::Reassembly);
        }
        if let Some(&(due, _)) = self.reassemblies.dues.first() {
            self.watch_partial(due);
        }
    }
}
