//! ICMPv6 messages (RFC 4443) of routers.

use crate::icmp::{IcmpError, NamedSegment, ports_and_seq};
use crate::ipv6::{self, Carried, HEADER};
use crate::packet::{HOST_TTL, Raw, ones_complement_sum};
use std::net::Ipv6Addr;

/// Protocol numbers of ICMPv6 and UDP.
const ICMPV6: u8 = 58;
const UDP: u8 = 17;
const ECHO_REQUEST: u8 = 128;
const ECHO_REPLY: u8 = 129;
const REDIRECT: u8 = 137;
/// ICMPv6 type of the bad-state message. The papers specify none, so it is a type for experiments
/// (RFC 4443, 2.1).
const EXPERIMENT: u8 = 200;
/// Longest ICMPv6 error in bytes: the minimum MTU (RFC 4443, 2.4 c).
const LONGEST: usize = 1280;
/// Bytes of a message's header.
const MESSAGE: usize = 8;

/// Builds the error from the address `from` to the sender of a packet. The message quotes the
/// packet, and has at most 1280 bytes.
///
/// Returns `None` where RFC 4443, 2.4 e, forbids an error: about an error, about a packet to a
/// multicast address (except "packet too big"), or from a multicast or unspecified address.
pub(crate) fn error(about: &Raw, from: Ipv6Addr, error: IcmpError) -> Option<Raw> {
    let packet = about.bytes();
    let payload = ipv6::carried(packet);
    let (source, destination) = (ipv6::address(packet, 8), ipv6::address(packet, 24));
    let kind = packet.get(payload.at).copied();
    // Only the first fragment contains the ICMPv6 type.
    let an_error = payload.protocol == ICMPV6
        && (payload.is_later || kind.is_none_or(|kind| kind < ECHO_REQUEST || kind == REDIRECT));
    let to_many = destination.is_multicast() && !matches!(error, IcmpError::TooBig(_));
    if an_error || to_many || !is_one(source) {
        return None;
    }
    let (kind, code, field) = match error {
        IcmpError::NetUnreachable => (1, 0, 0),
        IcmpError::PortUnreachable => (1, 4, 0),
        IcmpError::TooBig(mtu) => (2, 0, mtu),
        IcmpError::TimeExceeded => (3, 0, 0),
        // Offset of the unknown protocol number.
        IcmpError::ProtocolUnreachable => (4, 1, payload.named_at as u32),
    };
    let quoted = &packet[..packet.len().min(LONGEST - HEADER - MESSAGE)];
    let mut message = vec![kind, code, 0, 0];
    message.extend(field.to_be_bytes());
    message.extend_from_slice(quoted);
    Some(message_of(message, from, source))
}

/// Builds the reply to an echo request, whose source is the requested address. `None` for any other
/// packet, for a fragment, and if the checksum is wrong.
pub(crate) fn echo_reply(asked: &Raw) -> Option<Raw> {
    let packet = asked.bytes();
    let Carried {
        protocol,
        at,
        is_part,
        ..
    } = ipv6::carried(packet);
    let (source, destination) = (ipv6::address(packet, 8), ipv6::address(packet, 24));
    let inside = packet.get(at..).filter(|inside| inside.len() >= MESSAGE)?;
    let is_request = protocol == ICMPV6 && !is_part && inside[..2] == [ECHO_REQUEST, 0];
    if !is_request || checksum(source, destination, inside) != 0 || !is_one(source) {
        return None;
    }
    let mut message = inside.to_vec();
    message[0] = ECHO_REPLY;
    Some(message_of(message, destination, source))
}

/// Builds the bad-state message from the address `from` to the sender of a packet; see
/// [`crate::icmp::bad_state`].
pub(crate) fn bad_state(from: Ipv6Addr, about: &[u8]) -> Option<Raw> {
    let quoted = about.get(..ipv6::carried(about).at + 8)?;
    let source = ipv6::address(about, 8);
    let mut message = vec![EXPERIMENT, 0, 0, 0, 0, 0, 0, 0];
    message.extend_from_slice(quoted);
    is_one(source).then(|| message_of(message, from, source))
}

/// Returns the segment that a bad-state message quotes. `None` for any other message.
pub(crate) fn bad_state_segment(message: &Raw) -> Option<NamedSegment> {
    let packet = message.bytes();
    let payload = ipv6::carried(packet);
    let (source, destination) = (ipv6::address(packet, 8), ipv6::address(packet, 24));
    let inside = packet.get(payload.at..)?;
    let is_one =
        payload.protocol == ICMPV6 && !payload.is_part && inside.first() == Some(&EXPERIMENT);
    if !is_one || checksum(source, destination, inside) != 0 {
        return None;
    }
    let quoted = inside
        .get(MESSAGE..)
        .filter(|quoted| quoted.len() >= HEADER)?;
    let tcp = quoted.get(ipv6::carried(quoted).at..)?;
    let (seq, ports) = ports_and_seq(tcp)?;
    Some((seq, ports, ipv6::address(quoted, 24).into()))
}

/// Builds a router's answer to a packet addressed to the router.
pub(crate) fn answer_of_router(asked: &Raw) -> Option<Raw> {
    let payload = ipv6::carried(asked.bytes());
    let why = match payload.protocol {
        ICMPV6 => return echo_reply(asked),
        // Routers do not reassemble fragments.
        _ if payload.is_part => return None,
        UDP => IcmpError::PortUnreachable,
        _ => IcmpError::ProtocolUnreachable,
    };
    error(asked, ipv6::address(asked.bytes(), 24), why)
}

/// Returns whether an address belongs to a single node, to which a message can be sent.
fn is_one(address: Ipv6Addr) -> bool {
    !address.is_multicast() && !address.is_unspecified() && !address.is_loopback()
}

/// Computes the checksum of a message with its pseudo-header (RFC 4443, 2.3). The result is 0 if
/// the message has the right checksum.
fn checksum(from: Ipv6Addr, to: Ipv6Addr, message: &[u8]) -> u16 {
    let mut pseudo = [from.octets(), to.octets()].concat();
    pseudo.extend((message.len() as u32).to_be_bytes());
    pseudo.extend([0, 0, 0, ICMPV6]);
    let sums = [ones_complement_sum(&pseudo), ones_complement_sum(message)];
    !ones_complement_sum(&sums.map(u16::to_be_bytes).concat())
}

/// Builds a packet with this message, and computes the message's checksum.
fn message_of(mut message: Vec<u8>, from: Ipv6Addr, to: Ipv6Addr) -> Raw {
    message[2..4].fill(0);
    let sum = checksum(from, to, &message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut bytes = Vec::with_capacity(HEADER + message.len());
    bytes.extend([0x60, 0, 0, 0]);
    bytes.extend((message.len() as u16).to_be_bytes());
    bytes.extend([ICMPV6, HOST_TTL]);
    bytes.extend(from.octets());
    bytes.extend(to.octets());
    bytes.append(&mut message);
    Raw::made(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeId;
    use crate::codec::node_address6;
    use farlink_tcp::Seq;

    fn packet(protocol: u8, to: Ipv6Addr, inside: &[u8]) -> Raw {
        let mut bytes = vec![0x60, 0, 0, 0, 0, 0, protocol, 1];
        bytes[4..6].copy_from_slice(&(inside.len() as u16).to_be_bytes());
        bytes.extend(node_address6(NodeId(0)).octets());
        bytes.extend(to.octets());
        bytes.extend(inside);
        Raw::new(bytes).unwrap()
    }

    fn far() -> Ipv6Addr {
        node_address6(NodeId(2))
    }

    /// Types and codes follow RFC 4443, 3; the packet is quoted unchanged, up to 1280 bytes.
    #[test]
    fn error_quotes_the_packet() {
        for (why, header) in [
            (IcmpError::NetUnreachable, [1, 0, 0, 0, 0, 0]),
            (IcmpError::PortUnreachable, [1, 4, 0, 0, 0, 0]),
            (IcmpError::TooBig(1400), [2, 0, 0, 0, 0x05, 0x78]),
            (IcmpError::TimeExceeded, [3, 0, 0, 0, 0, 0]),
            (IcmpError::ProtocolUnreachable, [4, 1, 0, 0, 0, 6]),
        ] {
            for (len, expected) in [(0, 88), (100, 188), (1192, 1280), (1460, 1280)] {
                let about = packet(17, far(), &vec![7; len]);
                let answer = about.error_of(NodeId(1), why).unwrap();
                let bytes = answer.bytes();
                assert_eq!(Raw::new(bytes.to_vec()).unwrap().bytes(), bytes);
                assert_eq!(bytes.len(), expected);
                assert_eq!([&bytes[40..42], &bytes[44..48]].concat(), header);
                let quoted = &bytes[48..];
                assert_eq!(quoted, &about.bytes()[..quoted.len()]);
                assert_eq!(answer.source(), node_address6(NodeId(1)));
                assert_eq!(answer.destination(), node_address6(NodeId(0)));
                let (from, to) = (node_address6(NodeId(1)), node_address6(NodeId(0)));
                assert_eq!(checksum(from, to, &bytes[40..]), 0);
            }
        }
    }

    #[test]
    fn no_icmp6_error_about_errors_or_multicast() {
        let why = IcmpError::TimeExceeded;
        for (kind, answered) in [(1, false), (127, false), (128, true), (137, false)] {
            let about = packet(ICMPV6, far(), &[kind; 8]);
            assert_eq!(error(&about, far(), why).is_some(), answered, "{kind}");
        }
        let group = packet(17, "ff02::1".parse().unwrap(), &[0; 8]);
        assert!(error(&group, far(), why).is_none());
        assert!(error(&group, far(), IcmpError::TooBig(1280)).is_some());
        let mut nobody = packet(17, far(), &[0; 8]).into_bytes();
        nobody[8..24].fill(0);
        assert!(error(&Raw::new(nobody).unwrap(), far(), why).is_none());
    }

    /// The message quotes the 48 bytes that identify the segment. A changed message is invalid.
    #[test]
    fn bad_state_message_names_the_waiting_segment() {
        let tcp = [0x13, 0x89, 0x9c, 0x40, 1, 2, 3, 4, 0xff, 0xff];
        let about = packet(6, far(), &tcp);
        let node = NodeId(1);
        let message = bad_state(node_address6(node), about.bytes()).unwrap();
        assert_eq!(message.bytes().len(), HEADER + MESSAGE + 48);
        assert_eq!(message.source(), node_address6(node));
        assert_eq!(message.destination(), about.source());
        let named = (Seq(0x0102_0304), (5001, 40_000), far().into());
        assert_eq!(message.bad_state_segment(), Some(named));
        let mut spoilt = message.clone();
        spoilt.spoil();
        assert_eq!(spoilt.bad_state_segment(), None);
        let error = about.error_of(node, IcmpError::TimeExceeded).unwrap();
        assert_eq!(error.bad_state_segment(), None);
        assert_eq!(
            bad_state(far(), &packet(6, far(), &tcp[..7]).into_bytes()),
            None
        );
    }

    #[test]
    fn echo_reply_repeats_the_request() {
        let mut ask = vec![ECHO_REQUEST, 0, 0, 0, 1, 2, 3, 4, 9, 9, 9];
        let sum = checksum(node_address6(NodeId(0)), far(), &ask);
        ask[2..4].copy_from_slice(&sum.to_be_bytes());
        let asked = packet(ICMPV6, far(), &ask);
        let reply = asked.answer_of_router().unwrap();
        assert_eq!(reply.source(), far());
        assert_eq!(
            (reply.bytes()[40], &reply.bytes()[44..]),
            (ECHO_REPLY, &ask[4..])
        );
        assert_eq!(reply.answer_of_router(), None, "no answer to an answer");
        let mut spoilt = asked.clone();
        spoilt.spoil();
        assert_eq!(spoilt.answer_of_router(), None);
        // A router ignores fragments of ICMPv6 and of UDP.
        for protocol in [ICMPV6, UDP] {
            let part = [&[protocol, 0, 0, 1, 0, 0, 0, 1][..], &ask].concat();
            assert_eq!(
                packet(ipv6::FRAGMENT, far(), &part).answer_of_router(),
                None
            );
        }
    }
}
