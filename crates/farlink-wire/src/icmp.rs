//! ICMP messages (RFC 792) of routers and hosts, as bytes: errors about datagrams, and echo
//! replies.

use crate::codec::{self, Addresses};
use crate::icmp6;
use crate::id::NodeId;
use crate::packet::{HOST_TTL, IPV4_HEADER_LEN, Packet, Payload, Raw, ones_complement_sum};
use farlink_tcp::Seq;
use std::net::{IpAddr, Ipv4Addr};

/// Protocol number of ICMP.
const ICMP: u8 = 1;
/// Protocol number of UDP.
const UDP: u8 = 17;
/// Longest ICMP error in bytes (RFC 1812, 4.3.2.3).
const LONGEST: usize = 576;
/// Precedence of errors: internetwork control (RFC 1812, 4.3.2.5).
const PRECEDENCE: u8 = 0xc0;
/// ICMP type of the bad-state message. The papers specify none, so it is a type for experiments
/// (RFC 4727, 4).
const EXPERIMENT: u8 = 253;
/// Bytes of an ICMP header.
const HEADER: usize = 8;
/// Bytes of an IP header without options.
const IP: usize = IPV4_HEADER_LEN as usize;

/// Reason why a datagram was not forwarded or delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpError {
    /// The router has no route to the destination (RFC 1812, 5.2.7.1).
    NetUnreachable,
    /// The destination does not support the datagram's protocol (RFC 1122, 3.2.2.1).
    ProtocolUnreachable,
    /// No program listens on the destination port (RFC 1122, 3.2.2.1).
    PortUnreachable,
    /// The datagram has DF and exceeds the next link's MTU, given in bytes (RFC 1191, 4).
    TooBig(u32),
    /// The hop count of the datagram has reached zero (RFC 1812, 5.3.1).
    TimeExceeded,
}

impl IcmpError {
    /// Returns type, code, and the last two bytes of the header.
    fn fields(self) -> (u8, u8, u16) {
        match self {
            Self::NetUnreachable => (3, 0, 0),
            Self::ProtocolUnreachable => (3, 2, 0),
            Self::PortUnreachable => (3, 3, 0),
            // The MTU field has 16 bits, as the length field of a datagram has.
            Self::TooBig(mtu) => (3, 4, mtu.min(u32::from(u16::MAX)) as u16),
            Self::TimeExceeded => (11, 0, 0),
        }
    }
}

/// Builds the message of `node` to the sender of a data packet that waits for a wireless link in a
/// bad state (west1997, 3.0). The message quotes the packet's IP header and the next 8 bytes, which
/// contain the ports and the sequence number.
pub fn bad_state(node: NodeId, about: &Packet) -> Option<Raw> {
    let encoded;
    let bytes = if let Payload::Raw(raw) = &about.payload {
        raw.bytes()
    } else {
        encoded = codec::encode(about, Addresses::of(about)).ok()?;
        &encoded
    };
    if bytes[0] >> 4 == 6 {
        return icmp6::bad_state(codec::node_address6(node), bytes);
    }
    let quoted = bytes.get(..usize::from(bytes[0] & 15) * 4 + 8)?;
    let to = Ipv4Addr::new(bytes[12], bytes[13], bytes[14], bytes[15]);
    let mut message = vec![EXPERIMENT, 0, 0, 0, 0, 0, 0, 0];
    message.extend_from_slice(quoted);
    is_one(to).then(|| message_of(message, 0, codec::node_address(node), to))
}

/// Segment quoted by a bad-state message: sequence number, ports and far address.
pub type NamedSegment = (Seq, (u16, u16), IpAddr);

impl Raw {
    /// Returns the segment that a bad-state message quotes. `None` for any other message, or if the
    /// checksum is wrong.
    pub fn bad_state_segment(&self) -> Option<NamedSegment> {
        if self.is_ipv6() {
            return icmp6::bad_state_segment(self);
        }
        let inside = self.inside();
        let is_one = self.protocol() == ICMP && self.fragment() == (0, false);
        if !is_one || inside.first() != Some(&EXPERIMENT) || ones_complement_sum(inside) != 0xffff {
            return None;
        }
        let quoted = inside.get(HEADER..)?;
        let tcp = quoted.get(usize::from(quoted.first()? & 15) * 4..)?;
        let far: [u8; 4] = quoted.get(16..20)?.try_into().ok()?;
        let (seq, ports) = ports_and_seq(tcp)?;
        Some((seq, ports, far.into()))
    }

    /// Returns source and destination of an IPv4 packet.
    fn ends(&self) -> (Ipv4Addr, Ipv4Addr) {
        let at = |i: usize| self.bytes()[i];
        let source = Ipv4Addr::new(at(12), at(13), at(14), at(15));
        (source, Ipv4Addr::new(at(16), at(17), at(18), at(19)))
    }

    /// Returns the protocol number of the payload.
    fn protocol(&self) -> u8 {
        self.bytes()[9]
    }

    /// Returns the bytes after the IP header.
    fn inside(&self) -> &[u8] {
        &self.bytes()[usize::from(self.bytes()[0] & 15) * 4..]
    }

    /// Returns the fragment offset in units of 8 bytes, and whether more fragments follow.
    fn fragment(&self) -> (u16, bool) {
        let field = u16::from_be_bytes([self.bytes()[6], self.bytes()[7]]);
        (field & 0x1fff, field & 0x2000 != 0)
    }

    /// Builds an ICMP error of `node` to the sender of this packet, in the packet's IP version.
    ///
    /// `None` if the RFCs forbid an error.
    pub fn error_of(&self, node: NodeId, error: IcmpError) -> Option<Self> {
        if self.is_ipv6() {
            return icmp6::error(self, codec::node_address6(node), error);
        }
        self.error(codec::node_address(node), error)
    }

    /// Builds the error from the address `from` to the sender. The message quotes this datagram,
    /// and has at most 576 bytes (RFC 1812, 4.3.2.3).
    ///
    /// Returns `None` where RFC 1812, 4.3.2.7, forbids an error: about an ICMP error, a fragment
    /// other than the first, or a datagram to or from a multicast or broadcast address.
    fn error(&self, from: Ipv4Addr, error: IcmpError) -> Option<Self> {
        let query = |kind: &u8| matches!(kind, 0 | 8 | 13..=18);
        let an_error = self.protocol() == ICMP && !self.inside().first().is_some_and(query);
        if an_error || self.fragment().0 > 0 || is_many(self.ends().1) || !is_one(self.ends().0) {
            return None;
        }
        let quoted = &self.bytes()[..self.bytes().len().min(LONGEST - IP - HEADER)];
        let (kind, code, rest) = error.fields();
        let mut message = Vec::with_capacity(HEADER + quoted.len());
        message.extend([kind, code, 0, 0, 0, 0]);
        message.extend(rest.to_be_bytes());
        message.extend_from_slice(quoted);
        let service = PRECEDENCE | self.bytes()[1] & 0x1c;
        Some(message_of(message, service, from, self.ends().0))
    }

    /// Builds the reply to an echo request (RFC 792; RFC 1812, 4.3.3.6), whose source is the
    /// requested address. `None` for any other packet, for a fragment, and if the checksum is
    /// wrong.
    pub fn echo_reply(&self) -> Option<Self> {
        if self.is_ipv6() {
            return icmp6::echo_reply(self);
        }
        let inside = self.inside();
        let requested = self.protocol() == ICMP && inside.len() >= HEADER && inside[..2] == [8, 0];
        if !requested || self.fragment() != (0, false) || ones_complement_sum(inside) != 0xffff {
            return None;
        }
        let mut message = inside.to_vec();
        message[0] = 0;
        let (service, (to, from)) = (self.bytes()[1] & 0xfc, self.ends());
        is_one(to).then(|| message_of(message, service, from, to))
    }

    /// Builds a router's answer to a datagram addressed to the router: an echo reply, or an error
    /// because no service takes the datagram.
    pub fn answer_of_router(&self) -> Option<Self> {
        if self.is_ipv6() {
            return icmp6::answer_of_router(self);
        }
        let error = match self.protocol() {
            ICMP => return self.echo_reply(),
            UDP => IcmpError::PortUnreachable,
            _ => IcmpError::ProtocolUnreachable,
        };
        self.error(self.ends().1, error)
    }
}

/// Reads sequence number and ports from the first 8 bytes of a TCP header.
pub(crate) fn ports_and_seq(tcp: &[u8]) -> Option<(Seq, (u16, u16))> {
    let &[a, b, c, d, s0, s1, s2, s3] = tcp.get(..8)? else {
        return None;
    };
    let port = |high, low| u16::from_be_bytes([high, low]);
    let seq = Seq(u32::from_be_bytes([s0, s1, s2, s3]));
    Some((seq, (port(a, b), port(c, d))))
}

/// Returns whether an address is multicast or limited broadcast.
fn is_many(address: Ipv4Addr) -> bool {
    address.is_multicast() || address.is_broadcast()
}

/// Returns whether an address belongs to a single host, to which a message can be sent.
fn is_one(address: Ipv4Addr) -> bool {
    !is_many(address) && !address.is_loopback() && address.octets()[0] != 0
}

/// Builds a datagram with this ICMP message, and computes the message's checksum.
fn message_of(mut message: Vec<u8>, service: u8, from: Ipv4Addr, to: Ipv4Addr) -> Raw {
    message[2..4].fill(0);
    let sum = !ones_complement_sum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let total = (IP + message.len()) as u16;
    let mut bytes = Vec::with_capacity(IP + message.len());
    bytes.extend([0x45, service]);
    bytes.extend(total.to_be_bytes());
    bytes.extend([0, 0, 0, 0, HOST_TTL, ICMP, 0, 0]);
    bytes.extend(from.octets());
    bytes.extend(to.octets());
    bytes.append(&mut message);
    Raw::with_checksum(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const ROUTER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
    const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 3);

    fn datagram(protocol: u8, from: Ipv4Addr, to: Ipv4Addr, inside: &[u8]) -> Raw {
        let mut bytes = vec![0x45, 0x2a, 0, 0, 0, 7, 0x40, 0, 1, protocol, 0, 0];
        bytes.extend(from.octets());
        bytes.extend(to.octets());
        bytes.extend(inside);
        let total = bytes.len() as u16;
        bytes[2..4].copy_from_slice(&total.to_be_bytes());
        Raw::with_checksum(bytes)
    }

    fn is_whole(answer: &Raw) {
        assert_eq!(Raw::new(answer.bytes().to_vec()).as_ref(), Ok(answer));
        assert_eq!(ones_complement_sum(&answer.bytes()[20..]), 0xffff);
        assert_eq!(answer.bytes()[8..10], [64, 1]);
    }

    /// Type and code follow RFC 792 and RFC 1812. The datagram is quoted unchanged.
    #[test]
    fn error_quotes_the_packet() {
        let about = datagram(17, HOST, FAR, &[7; 100]);
        for (error, header) in [
            (IcmpError::NetUnreachable, [3, 0, 0, 0]),
            (IcmpError::ProtocolUnreachable, [3, 2, 0, 0]),
            (IcmpError::PortUnreachable, [3, 3, 0, 0]),
            (IcmpError::TooBig(1400), [3, 4, 0x05, 0x78]),
            (IcmpError::TimeExceeded, [11, 0, 0, 0]),
        ] {
            let answer = about.error(ROUTER, error).unwrap();
            is_whole(&answer);
            assert_eq!(
                (answer.source(), answer.destination()),
                (ROUTER.into(), HOST.into())
            );
            let bytes = answer.bytes();
            assert_eq!([bytes[20], bytes[21], bytes[26], bytes[27]], header);
            assert_eq!(bytes[24..26], [0, 0]);
            assert_eq!(bytes[28..], *about.bytes());
            assert_eq!(
                bytes[1], 0xc8,
                "precedence 6, type of service as it was, no ECN"
            );
        }
    }

    #[test]
    fn icmp_error_has_at_most_576_bytes() {
        for (len, expected) in [(0, 48), (519, 567), (528, 576), (529, 576), (1480, 576)] {
            let about = datagram(6, HOST, FAR, &vec![1; len]);
            let answer = about.error(ROUTER, IcmpError::TimeExceeded).unwrap();
            is_whole(&answer);
            assert_eq!(answer.bytes().len(), expected);
        }
    }

    /// RFC 1812, 4.3.2.7.
    #[test]
    fn no_icmp_error_about_errors_later_fragments_or_multicast() {
        let none = |about: &Raw| about.error(ROUTER, IcmpError::TimeExceeded).is_none();
        let error = datagram(17, HOST, FAR, &[0; 8]).error(ROUTER, IcmpError::TimeExceeded);
        assert!(none(&error.unwrap()));
        assert!(none(&datagram(1, HOST, FAR, &[])), "the type is missing");
        for (kind, answered) in [
            (0, true),
            (3, false),
            (5, false),
            (8, true),
            (12, false),
            (13, true),
        ] {
            assert_eq!(
                !none(&datagram(1, HOST, FAR, &[kind; 8])),
                answered,
                "{kind}"
            );
        }
        let fragment = |field: [u8; 2]| {
            let mut bytes = datagram(17, HOST, FAR, &[0; 8]).into_bytes();
            bytes[6..8].copy_from_slice(&field);
            Raw::with_checksum(bytes)
        };
        assert!(none(&fragment([0, 1])) && none(&fragment([0x20, 1])));
        assert!(!none(&fragment([0x20, 0])), "the first is answered");
        for from in [[0, 0, 0, 0], [127, 0, 0, 1], [224, 0, 0, 1], [255; 4]] {
            assert!(none(&datagram(17, Ipv4Addr::from(from), FAR, &[0; 8])));
        }
        for to in [[224, 0, 0, 5], [255; 4]] {
            assert!(none(&datagram(17, HOST, Ipv4Addr::from(to), &[0; 8])));
        }
    }

    #[test]
    fn echo_reply_repeats_the_request() {
        let mut ask = vec![8, 0, 0, 0, 1, 2, 3, 4];
        ask.extend(0..57);
        let sum = !ones_complement_sum(&ask);
        ask[2..4].copy_from_slice(&sum.to_be_bytes());
        let requested = datagram(1, HOST, ROUTER, &ask);
        let reply = requested.answer_of_router().unwrap();
        is_whole(&reply);
        assert_eq!(
            (reply.source(), reply.destination()),
            (ROUTER.into(), HOST.into())
        );
        assert_eq!((reply.bytes()[20], &reply.bytes()[24..]), (0, &ask[4..]));
        assert_eq!(reply.echo_reply(), None, "no answer to an answer");
        let mut spoilt = requested.clone();
        spoilt.spoil();
        assert_eq!(spoilt.answer_of_router(), None);
        let mut part = requested.into_bytes();
        part[6] = 0x20;
        assert_eq!(Raw::with_checksum(part).answer_of_router(), None);
    }

    #[test]
    fn router_answers_transport_packets_with_unreachable() {
        for (protocol, code) in [(17, 3), (6, 2), (132, 2)] {
            let answer = datagram(protocol, HOST, ROUTER, &[0; 20]).answer_of_router();
            let answer = answer.unwrap();
            is_whole(&answer);
            assert_eq!(answer.source(), ROUTER);
            assert_eq!(answer.bytes()[20..22], [3, code]);
        }
    }
}
