//! Ethernet between the emulation and a machine that is one of its hosts. Adds and removes frame
//! headers, and answers the machine's address requests (ARP, RFC 826; IPv6 neighbour discovery, RFC
//! 4861). Works on bytes, without a device or clock.

use farlink_wire::{NodeId, node_address, node_address6, node_of};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes of an Ethernet header.
pub(crate) const HEADER: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const ARP: [u8; 2] = [0x08, 0x06];
const IPV6: [u8; 2] = [0x86, 0xdd];
const EVERYBODY: Mac = Mac([0xff; 6]);
/// Length of an ARP packet for IPv4 over Ethernet. ARP packets start with the bytes below: hardware
/// type, protocol type, and the lengths of the two kinds of addresses.
const ARP_LEN: usize = 28;
const ARP_KIND: [u8; 6] = [0, 1, 0x08, 0x00, 6, 4];
/// Lengths of an IPv6 header, and of a neighbour solicitation or advertisement without options.
const IPV6_HEADER: usize = 40;
const NEIGHBOUR: usize = 24;
const ICMPV6: u8 = 58;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// Types of the options with the link-layer address of the source and of the target.
const SOURCE_ADDRESS: u8 = 1;
const TARGET_ADDRESS: u8 = 2;

/// A hardware address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mac(pub(crate) [u8; 6]);

impl Mac {
    fn at(bytes: &[u8]) -> Option<Self> {
        Some(Self(bytes.get(..6)?.try_into().ok()?))
    }

    fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }
}

/// Result of a received frame.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum FrameResult {
    /// The frame has an IP packet for the network after its Ethernet header.
    Packet,
    /// The frame is an address request. Has the frame that answers it.
    Answer(Vec<u8>),
    /// The host's hardware address, which has become known; waiting packets can be sent.
    Known,
    /// The emulation ignores the frame.
    Nothing,
}

/// The emulation's station on an Ethernet whose other station is a host. The station answers for
/// all addresses of the emulated network except the host's own.
#[derive(Debug)]
pub(crate) struct Station {
    /// Hardware address of the emulation. It differs from that of the interface, so that the kernel
    /// ignores frames sent to it.
    mac: Mac,
    /// Node of the host, and the number of nodes in the scenario.
    host: NodeId,
    nodes: u32,
    /// The host's hardware address; `None` while it is unknown.
    peer: Option<Mac>,
}

impl Station {
    pub(crate) fn new(mac: Mac, host: NodeId, nodes: u32) -> Self {
        Self {
            mac,
            host,
            nodes,
            peer: None,
        }
    }

    /// Discards the host's hardware address, so it will be requested again.
    pub(crate) fn clear_peer(&mut self) {
        self.peer = None;
    }

    /// Processes a received frame.
    pub(crate) fn on_frame(&mut self, frame: &[u8]) -> FrameResult {
        let (Some(to), Some(from)) = (Mac::at(frame), frame.get(6..).and_then(Mac::at)) else {
            return FrameResult::Nothing;
        };
        if from == self.mac || from.is_group() || !(to == self.mac || to.is_group()) {
            return FrameResult::Nothing;
        }
        let (Some(kind), Some(inside)) = (frame.get(12..HEADER), frame.get(HEADER..)) else {
            return FrameResult::Nothing;
        };
        match kind {
            kind if kind == ARP => self.on_arp(inside),
            kind if kind == IPV4 && to == self.mac => {
                let own = node_address(self.host).octets();
                if inside.get(12..16) == Some(&own) {
                    self.peer = Some(from);
                }
                FrameResult::Packet
            }
            kind if kind == IPV6 => self.on_ipv6(to, from, inside),
            _ => FrameResult::Nothing,
        }
    }

    /// Returns the Ethernet header for a packet to the host; `None` while the host's hardware
    /// address is unknown.
    pub(crate) fn header(&self, packet: &[u8]) -> Option<[u8; HEADER]> {
        let kind = if packet.first()? >> 4 == 6 {
            IPV6
        } else {
            IPV4
        };
        self.peer.map(|peer| self.header_to(peer, kind))
    }

    /// Returns a frame that asks for the host's hardware address: a neighbour solicitation for
    /// IPv6, otherwise an ARP request.
    pub(crate) fn request(&self, ipv6: bool) -> Vec<u8> {
        if ipv6 {
            let target = node_address6(self.host);
            let group = solicited_node(target);
            let [.., a, b, c, d] = group.octets();
            let to = Mac([0x33, 0x33, a, b, c, d]);
            return self.neighbour(SOLICITATION, 0, target, self.link_local(), group, to);
        }
        // A host ignores requests from its own address, so the request has the address of another
        // node.
        let asking = NodeId(u32::from(self.host.0 == 0));
        self.arp(1, node_address(asking), node_address(self.host), None)
    }

    /// Returns whether the emulation answers for this address.
    fn has(&self, address: impl Into<IpAddr>) -> bool {
        let address = address.into();
        node_of(address).is_some_and(|node| node.0 < self.nodes && node != self.host)
            || address == self.link_local()
    }

    /// Returns the emulation's link-local address, formed from its hardware address (RFC 4291, A).
    fn link_local(&self) -> Ipv6Addr {
        let [a, b, c, d, e, f] = self.mac.0;
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&[0xfe, 0x80]);
        bytes[8..].copy_from_slice(&[a ^ 2, b, c, 0xff, 0xfe, d, e, f]);
        bytes.into()
    }

    fn header_to(&self, to: Mac, kind: [u8; 2]) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..6].copy_from_slice(&to.0);
        header[6..12].copy_from_slice(&self.mac.0);
        header[12..].copy_from_slice(&kind);
        header
    }

    /// Processes an ARP packet: stores the host's hardware address, and answers requests.
    fn on_arp(&mut self, packet: &[u8]) -> FrameResult {
        let Some(packet) = packet.get(..ARP_LEN).filter(|p| p[..6] == ARP_KIND) else {
            return FrameResult::Nothing;
        };
        let address =
            |at: usize| Ipv4Addr::new(packet[at], packet[at + 1], packet[at + 2], packet[at + 3]);
        let (asks, sender, target) = (packet[6..8] == [0, 1], address(14), address(24));
        let Some(from) = Mac::at(&packet[8..]).filter(|from| !from.is_group()) else {
            return FrameResult::Nothing;
        };
        let is_host = sender == node_address(self.host);
        if is_host {
            self.peer = Some(from);
        }
        if asks && self.has(target) {
            // An address probe (sender 0.0.0.0, RFC 5227, 2.1.1) is answered too, because the
            // address is in use.
            FrameResult::Answer(self.arp(2, target, sender, Some(from)))
        } else if is_host {
            FrameResult::Known
        } else {
            FrameResult::Nothing
        }
    }

    /// Builds an ARP frame: a broadcast request (`what` is 1), or a reply to one station (2).
    fn arp(&self, what: u8, from: Ipv4Addr, about: Ipv4Addr, to: Option<Mac>) -> Vec<u8> {
        let mut frame = self.header_to(to.unwrap_or(EVERYBODY), ARP).to_vec();
        frame.extend(ARP_KIND);
        frame.extend([0, what]);
        frame.extend(self.mac.0);
        frame.extend(from.octets());
        frame.extend(to.unwrap_or(Mac([0; 6])).0);
        frame.extend(about.octets());
        frame
    }

    fn on_ipv6(&mut self, to: Mac, from: Mac, packet: &[u8]) -> FrameResult {
        let is_packet = if to == self.mac {
            FrameResult::Packet
        } else {
            FrameResult::Nothing
        };
        let Some((header, inside)) = packet.split_at_checked(IPV6_HEADER) else {
            return is_packet;
        };
        let address = |at: usize| {
            let bytes: [u8; 16] = header[at..at + 16].try_into().unwrap_or_default();
            Ipv6Addr::from(bytes)
        };
        let (source, destination) = (address(8), address(24));
        if source == node_address6(self.host) {
            self.peer = Some(from);
        }
        let about_neighbours =
            header[6] == ICMPV6 && matches!(inside.first(), Some(&(SOLICITATION | ADVERTISEMENT)));
        if !about_neighbours {
            return is_packet;
        }
        // Ignores messages that a router forwarded or that were corrupted (RFC 4861, 7.1).
        let len = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let Some(inside) = inside.get(..len).filter(|i| i.len() >= NEIGHBOUR) else {
            return FrameResult::Nothing;
        };
        if header[7] != 255 || inside[1] != 0 || checksum(source, destination, inside) != 0 {
            return FrameResult::Nothing;
        }
        let target: [u8; 16] = inside[8..NEIGHBOUR].try_into().unwrap_or_default();
        let target = Ipv6Addr::from(target);
        let own = if inside[0] == SOLICITATION {
            source
        } else {
            target
        };
        let option = if inside[0] == SOLICITATION {
            SOURCE_ADDRESS
        } else {
            TARGET_ADDRESS
        };
        let entry = option_of(&inside[NEIGHBOUR..], option).unwrap_or(from);
        let is_host = own == node_address6(self.host) && !entry.is_group();
        if is_host {
            self.peer = Some(entry);
        }
        if inside[0] == SOLICITATION && self.has(target) {
            let answer = if source.is_unspecified() {
                // Informs all nodes that the probed address is in use (RFC 4861, 7.2.4).
                let all = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
                let to = Mac([0x33, 0x33, 0, 0, 0, 1]);
                self.neighbour(ADVERTISEMENT, 0x20, target, target, all, to)
            } else {
                self.neighbour(ADVERTISEMENT, 0x60, target, target, source, entry)
            };
            FrameResult::Answer(answer)
        } else if is_host {
            FrameResult::Known
        } else {
            FrameResult::Nothing
        }
    }

    /// Builds a neighbour solicitation or advertisement. `flags` are those of an advertisement
    /// (solicited 0x40, override 0x20).
    fn neighbour(
        &self,
        what: u8,
        flags: u8,
        target: Ipv6Addr,
        from: Ipv6Addr,
        to: Ipv6Addr,
        mac: Mac,
    ) -> Vec<u8> {
        let option = if what == SOLICITATION {
            SOURCE_ADDRESS
        } else {
            TARGET_ADDRESS
        };
        let mut message = vec![what, 0, 0, 0, flags, 0, 0, 0];
        message.extend(target.octets());
        message.extend([option, 1]);
        message.extend(self.mac.0);
        let sum = checksum(from, to, &message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let mut frame = self.header_to(mac, IPV6).to_vec();
        frame.extend([0x60, 0, 0, 0, 0, message.len() as u8, ICMPV6, 255]);
        frame.extend(from.octets());
        frame.extend(to.octets());
        frame.extend(message);
        frame
    }
}

/// Returns the solicited-node multicast address of an address (RFC 4291, 2.7.1).
fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = address.octets();
    Ipv6Addr::new(
        0xff02,
        0,
        0,
        0,
        0,
        1,
        0xff00 | u16::from(a),
        u16::from_be_bytes([b, c]),
    )
}

/// Returns the hardware address in the option of type `kind` (RFC 4861, 4.6.1).
fn option_of(mut options: &[u8], kind: u8) -> Option<Mac> {
    while let [is, units, ..] = *options {
        if units == 0 {
            return None;
        }
        let (option, rest) = options.split_at_checked(usize::from(units) * 8)?;
        if is == kind {
            return Mac::at(&option[2..]);
        }
        options = rest;
    }
    None
}

/// Computes the checksum of an ICMPv6 message (RFC 4443, 2.3). The result is 0 if the message
/// contains the right checksum.
fn checksum(from: Ipv6Addr, to: Ipv6Addr, message: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let parts = [&from.octets()[..], &to.octets(), message];
    let words = parts.iter().flat_map(|part| part.chunks(2)).map(word);
    let mut sum: u32 = words.sum::<u32>() + message.len() as u32 + u32::from(ICMPV6);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Mac = Mac([2, 0, 0, 0, 0, 0xaa]);
    const THEIRS: Mac = Mac([2, 0, 0, 0, 0, 0xbb]);

    /// Returns the emulation's station for node 1 of three.
    fn station() -> Station {
        Station::new(OURS, NodeId(1), 3)
    }

    fn arp(what: u8, sender: [u8; 4], target: [u8; 4]) -> Vec<u8> {
        let far = Station::new(THEIRS, NodeId(0), 9);
        far.arp(what, sender.into(), target.into(), None)
    }

    /// The reply has the fields that RFC 826 requires.
    #[test]
    fn arp_is_answered_for_every_node_but_the_host() {
        for (target, answered) in [(1, true), (2, false), (3, true), (4, false)] {
            let mut own = station();
            let seen = own.on_frame(&arp(1, [10, 0, 0, 2], [10, 0, 0, target]));
            if answered {
                let FrameResult::Answer(frame) = seen else {
                    panic!("{target}")
                };
                assert_eq!(frame[..12], [THEIRS.0, OURS.0].concat());
                assert_eq!(frame[20..22], [0, 2]);
                assert_eq!(frame[22..32], [&OURS.0[..], &[10, 0, 0, target]].concat());
                assert_eq!(frame[32..], [&THEIRS.0[..], &[10, 0, 0, 2]].concat());
            } else {
                assert_eq!(seen, FrameResult::Known, "{target}");
            }
            assert_eq!(own.peer, Some(THEIRS));
        }
        // A station with a foreign address gets an answer, and is not taken for the host. So does
        // an address probe.
        let mut own = station();
        let seen = own.on_frame(&arp(1, [10, 0, 0, 77], [10, 0, 0, 1]));
        assert!(matches!(seen, FrameResult::Answer(_)));
        assert!(matches!(
            own.on_frame(&arp(1, [0; 4], [10, 0, 0, 3])),
            FrameResult::Answer(_)
        ));
        assert_eq!(own.header(&[0x45]), None);
    }

    /// Two stations resolve each other, as two emulations on the same Ethernet would.
    #[test]
    fn two_stations_resolve_each_other() {
        for ipv6 in [false, true] {
            let mut far = Station::new(THEIRS, NodeId(0), 3);
            let mut own = station();
            let FrameResult::Answer(answer) = far.on_frame(&own.request(ipv6)) else {
                panic!("no answer")
            };
            assert_eq!(own.on_frame(&answer), FrameResult::Known);
            assert_eq!(own.peer, Some(THEIRS));
            let kind = if ipv6 { IPV6 } else { IPV4 };
            let header = own.header(&[if ipv6 { 0x60 } else { 0x45 }]).unwrap();
            assert_eq!(header[..], [&THEIRS.0[..], &OURS.0, &kind].concat());
        }
    }

    /// The source of a request is never the requested address. For node 0 it is node 1.
    #[test]
    fn a_request_never_has_its_target_as_source() {
        for host in 0..3 {
            let frame = Station::new(OURS, NodeId(host), 3).request(false);
            let mut there = Station::new(THEIRS, NodeId(9), 3);
            let FrameResult::Answer(_) = there.on_frame(&frame) else {
                panic!("no question");
            };
            assert_ne!(frame[28..32], frame[38..42], "{host}");
        }
    }

    /// Returns a neighbour solicitation from address `from` about `target`.
    fn solicitation(from: Ipv6Addr, target: Ipv6Addr) -> Vec<u8> {
        let (far, to) = (Station::new(THEIRS, NodeId(1), 3), solicited_node(target));
        far.neighbour(
            SOLICITATION,
            0,
            target,
            from,
            to,
            Mac([0x33, 0x33, 0xff, 0, 0, 1]),
        )
    }

    /// Returns the destination and flags of an advertisement.
    fn advertised(seen: FrameResult) -> ([u8; 6], Ipv6Addr, u8) {
        let FrameResult::Answer(frame) = seen else {
            panic!("{seen:?}");
        };
        let to: [u8; 16] = frame[38..54].try_into().unwrap();
        (
            frame[..6].try_into().unwrap(),
            to.into(),
            frame[HEADER + IPV6_HEADER + 4],
        )
    }

    /// A solicitation is answered. A probe of a used address is answered to all nodes (RFC 4861,
    /// 7.2.4).
    #[test]
    fn neighbours_are_answered_for_the_nodes_and_the_emulations_own_address() {
        let host = node_address6(NodeId(1));
        for target in [node_address6(NodeId(0)), station().link_local()] {
            let mut own = station();
            let answer = advertised(own.on_frame(&solicitation(host, target)));
            assert_eq!(answer, (THEIRS.0, host, 0x60));
            assert_eq!(own.peer, Some(THEIRS));
        }
        let mut own = station();
        let looks = solicitation(Ipv6Addr::UNSPECIFIED, node_address6(NodeId(2)));
        let all = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
        assert_eq!(
            advertised(own.on_frame(&looks)),
            ([0x33, 0x33, 0, 0, 0, 1], all, 0x20)
        );
        assert_eq!(own.peer, None);
        for other in [host, node_address6(NodeId(3))] {
            assert!(!matches!(
                station().on_frame(&solicitation(host, other)),
                FrameResult::Answer(_)
            ));
        }
    }

    /// The host's hardware address is learned from its packets. Packets of other nodes, frames with
    /// a multicast source, and the emulation's own reflected frames are ignored.
    #[test]
    fn the_hosts_hardware_address_is_learned_from_its_packets_only() {
        let packet = |ipv6: bool, node: u32| {
            let mut frame = vec![0; HEADER + 40];
            frame[..6].copy_from_slice(&OURS.0);
            frame[6..12].copy_from_slice(&THEIRS.0);
            if ipv6 {
                frame[12..14].copy_from_slice(&IPV6);
                frame[22..38].copy_from_slice(&node_address6(NodeId(node)).octets());
            } else {
                frame[12..14].copy_from_slice(&IPV4);
                frame[26..30].copy_from_slice(&node_address(NodeId(node)).octets());
            }
            frame
        };
        for ipv6 in [false, true] {
            let mut own = station();
            assert_eq!(own.on_frame(&packet(ipv6, 2)), FrameResult::Packet);
            assert_eq!(own.peer, None);
            for from in [OURS.0, [3, 0, 0, 0, 0, 1]] {
                let mut frame = packet(ipv6, 1);
                frame[6..12].copy_from_slice(&from);
                assert_eq!(own.on_frame(&frame), FrameResult::Nothing);
                assert_eq!(own.peer, None);
            }
            assert_eq!(own.on_frame(&packet(ipv6, 1)), FrameResult::Packet);
            assert_eq!(own.peer, Some(THEIRS));
            let mut others = packet(ipv6, 1);
            others[..6].copy_from_slice(&[2, 0, 0, 0, 0, 0xcc]);
            assert_eq!(own.on_frame(&others), FrameResult::Nothing);
            own.clear_peer();
            assert_eq!(own.header(&[0x45]), None);
        }
        // A multicast address in a neighbour's option is ignored.
        let far = Station::new(Mac([3, 0, 0, 0, 0, 1]), NodeId(1), 3);
        let (host, to) = (node_address6(NodeId(1)), node_address6(NodeId(0)));
        let mut frame = far.neighbour(ADVERTISEMENT, 0x60, host, far.link_local(), to, OURS);
        frame[6..12].copy_from_slice(&THEIRS.0);
        let mut own = station();
        assert_eq!(own.on_frame(&frame), FrameResult::Nothing);
        assert_eq!(own.peer, None);
    }

    #[test]
    fn invalid_neighbour_messages_are_ignored() {
        let far = Station::new(THEIRS, NodeId(0), 3);
        let good = far.request(true);
        // Wrong hop limit, wrong code, a changed bit in the target, and a truncated target.
        for (at, what) in [(HEADER + 7, 64), (HEADER + 41, 1), (HEADER + 63, 9)] {
            let mut frame = good.clone();
            frame[at] = what;
            assert_eq!(station().on_frame(&frame), FrameResult::Nothing);
        }
        assert_eq!(
            station().on_frame(&good[..HEADER + IPV6_HEADER + 20]),
            FrameResult::Nothing
        );
    }

    /// Random bytes, and valid frames that were changed or truncated.
    #[test]
    fn arbitrary_frames_cause_no_panic() {
        let mut random = 1u64;
        let mut next = move || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        let far = Station::new(THEIRS, NodeId(0), 3);
        let good = [arp(1, [10, 0, 0, 2], [10, 0, 0, 1]), far.request(true)];
        let mut own = station();
        for round in 0..20_000usize {
            let mut frame = good[round % 2].clone();
            frame.truncate(next() as usize % 120);
            for _ in 0..next() % 4 {
                let len = frame.len().max(1) as u64;
                if let Some(byte) = frame.get_mut((next() % len) as usize) {
                    *byte = next() as u8;
                }
            }
            let _ = own.on_frame(&frame);
        }
        assert_eq!(own.on_frame(&[]), FrameResult::Nothing);
    }
}
