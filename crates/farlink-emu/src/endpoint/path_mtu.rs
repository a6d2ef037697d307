//! ICMP messages about packets that exceed the path MTU (RFC 1191, 4; RFC 4443, 3.2).

use super::Key;
use std::net::{IpAddr, Ipv6Addr};

const TCP: u8 = 6;

/// Returns the connection and the next-hop MTU in a "fragmentation needed" or "packet too big"
/// message. Returns `None` for any other packet.
pub(super) fn reported(bytes: &[u8]) -> Option<(Key, u32)> {
    let (far, tcp, mtu) = match bytes.first()? >> 4 {
        4 => reported_v4(bytes)?,
        6 => reported_v6(bytes)?,
        _ => return None,
    };
    let &[s, t, u, v] = tcp.get(..4)? else {
        return None;
    };
    let (ours, theirs) = (u16::from_be_bytes([s, t]), u16::from_be_bytes([u, v]));
    Some(((far, theirs, ours), mtu))
}

/// Remote address and TCP segment of the quoted packet, and the next-hop MTU.
type Quoted<'a> = (IpAddr, &'a [u8], u32);

fn reported_v4(bytes: &[u8]) -> Option<Quoted<'_>> {
    const ICMP: u8 = 1;
    let header = |ip: &[u8]| ip.first().map(|first| usize::from(first & 15) * 4);
    if *bytes.get(9)? != ICMP {
        return None;
    }
    let message = bytes.get(header(bytes)?..)?;
    let (&[3, 4, _, _, _, _, high, low], quoted) = message.split_first_chunk()? else {
        return None;
    };
    let &[a, b, c, d] = quoted.get(16..20)? else {
        return None;
    };
    let tcp = quoted.get(header(quoted)?..)?;
    let mtu = u16::from_be_bytes([high, low]);
    (quoted[9] == TCP).then_some(([a, b, c, d].into(), tcp, mtu.into()))
}

/// Extension headers are not handled, because the host sends packets without them.
fn reported_v6(bytes: &[u8]) -> Option<Quoted<'_>> {
    const ICMPV6: u8 = 58;
    const HEADER: usize = 40;
    if *bytes.get(6)? != ICMPV6 {
        return None;
    }
    let message = bytes.get(HEADER..)?;
    let (&[2, 0, _, _, a, b, c, d], quoted) = message.split_first_chunk()? else {
        return None;
    };
    let far: [u8; 16] = quoted.get(24..HEADER)?.try_into().ok()?;
    let mtu = u32::from_be_bytes([a, b, c, d]);
    (quoted[6] == TCP).then_some((Ipv6Addr::from(far).into(), &quoted[HEADER..], mtu))
}

#[cfg(test)]
mod tests {
    use super::*;
    use farlink_tcp::{Body, Segment};
    use farlink_wire::icmp::IcmpError;
    use farlink_wire::{Addresses, Ip, NodeId, Packet, Payload, Raw, address_of};

    #[test]
    fn the_connection_and_the_length_are_those_of_the_message() {
        for ip in [Ip::default(), Ip::V6] {
            let packet = Packet {
                ident: 1,
                ip,
                ..Packet::new(
                    NodeId(0),
                    NodeId(2),
                    Payload::Tcp(Segment {
                        src_port: 5001,
                        dst_port: 40_000,
                        body: Body::of_len(1460),
                        ..Segment::default()
                    }),
                )
            };
            let bytes = farlink_wire::encode(&packet, Addresses::of(&packet)).unwrap();
            assert_eq!(reported(&bytes), None);
            let about = Raw::new(bytes).unwrap();
            let message = about.error_of(NodeId(1), IcmpError::TooBig(1281)).unwrap();
            let key = (address_of(NodeId(2), ip.version()), 40_000, 5001);
            assert_eq!(reported(message.bytes()), Some((key, 1281)));
            // A message has two IP headers, the ICMP header and the quoted ports.
            for len in 0..2 * ip.header_len() as usize + 8 + 4 {
                assert_eq!(reported(&message.bytes()[..len]), None, "cut at {len}");
            }
            // Other ICMP errors are ignored, and errors about other protocols.
            let other = about.error_of(NodeId(1), IcmpError::TimeExceeded).unwrap();
            assert_eq!(reported(other.bytes()), None);
            let mut udp = message.bytes().to_vec();
            let inner = ip.header_len() as usize + 8;
            udp[inner + if ip == Ip::V6 { 6 } else { 9 }] = 17;
            assert_eq!(reported(&udp), None);
        }
    }
}
