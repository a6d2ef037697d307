//! What a router says of a packet that was too long (RFC 1191, 4).

use super::Key;
use std::net::Ipv4Addr;

/// The connection that an ICMP message "fragmentation needed" is about, and the
/// MTU of the next link that it names; none if these bytes are something else.
pub(super) fn reported(bytes: &[u8]) -> Option<(Key, u32)> {
    const ICMP: u8 = 1;
    const TCP: u8 = 6;
    let header = |ip: &[u8]| ip.first().map(|first| usize::from(first & 15) * 4);
    if bytes.first()? >> 4 != 4 || *bytes.get(9)? != ICMP {
        return None;
    }
    let message = bytes.get(header(bytes)?..)?;
    let (&[3, 4, _, _, _, _, high, low], quoted) = message.split_first_chunk()? else {
        return None;
    };
    let &[a, b, c, d] = quoted.get(16..20)? else {
        return None;
    };
    let &[s, t, u, v] = quoted.get(header(quoted)?..)?.get(..4)? else {
        return None;
    };
    let (ours, theirs) = (u16::from_be_bytes([s, t]), u16::from_be_bytes([u, v]));
    let key = (Ipv4Addr::new(a, b, c, d), theirs, ours);
    (quoted[9] == TCP).then_some((key, u32::from(u16::from_be_bytes([high, low]))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use farlink_net::icmp::IcmpError;
    use farlink_net::wire::{self, Addresses};
    use farlink_net::{NodeId, Packet, Payload, Raw};
    use farlink_tcp::{Body, Segment};

    #[test]
    fn the_connection_and_the_length_are_those_of_the_message() {
        let packet = Packet {
            ident: 1,
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
        let bytes = wire::encode(&packet, Addresses::of(&packet)).unwrap();
        assert_eq!(reported(&bytes), None);
        let message = Raw::new(bytes).unwrap();
        let message = message.error_of(NodeId(1), IcmpError::TooBig(576)).unwrap();
        let key = (Ipv4Addr::new(10, 0, 0, 3), 40_000, 5001);
        assert_eq!(reported(message.bytes()), Some((key, 576)));
        // Two IP headers, that of ICMP, and the ports.
        for len in 0..20 + 8 + 20 + 4 {
            assert_eq!(reported(&message.bytes()[..len]), None, "cut at {len}");
        }
    }
}
