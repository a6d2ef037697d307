//! Parsing of IPv6 headers (RFC 8200).

use crate::packet::NotIp;
use std::net::Ipv6Addr;

/// Bytes of the header without extensions.
pub(crate) const HEADER: usize = 40;
/// Header numbers of extensions that may precede the upper-layer header.
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
pub(crate) const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;

/// Returns the length of the packet at the start of `bytes`.
pub(crate) fn total_len(bytes: &[u8]) -> Result<usize, NotIp> {
    let &[_, _, _, _, high, low, ..] = bytes else {
        return Err(NotIp::Short);
    };
    let total = HEADER + usize::from(u16::from_be_bytes([high, low]));
    if bytes.len() < total {
        return Err(NotIp::Length);
    }
    Ok(total)
}

/// Returns the address at offset `at` of a header: 8 is the source, 24 the destination.
pub(crate) fn address(packet: &[u8], at: usize) -> Ipv6Addr {
    let bytes: [u8; 16] = packet[at..at + 16].try_into().unwrap_or_default();
    bytes.into()
}

/// Upper-layer protocol of a packet, after its extension headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Carried {
    /// Protocol number.
    pub(crate) protocol: u8,
    /// Offset of the upper-layer header.
    pub(crate) at: usize,
    /// Offset of the byte with the protocol number.
    pub(crate) named_at: usize,
    /// `is_part` is set for every fragment, `is_later` for every fragment but the first.
    pub(crate) is_part: bool,
    pub(crate) is_later: bool,
}

/// Skips the extension headers. A truncated extension header counts as the upper-layer protocol.
pub(crate) fn carried(packet: &[u8]) -> Carried {
    let mut payload = Carried {
        protocol: packet[6],
        at: HEADER,
        named_at: 6,
        is_part: false,
        is_later: false,
    };
    while let Some(&[next, units, high, low]) = packet.get(payload.at..payload.at + 4) {
        let len = match payload.protocol {
            HOP_BY_HOP | ROUTING | DESTINATION => 8 * (usize::from(units) + 1),
            FRAGMENT => 8,
            _ => break,
        };
        if payload.at + len > packet.len() {
            break;
        }
        if payload.protocol == FRAGMENT {
            let field = u16::from_be_bytes([high, low]);
            payload.is_part |= field & 0xfff9 != 0;
            payload.is_later |= field & 0xfff8 != 0;
        }
        payload.named_at = payload.at;
        payload.protocol = next;
        payload.at += len;
        if payload.is_later {
            break;
        }
    }
    payload
}

/// Returns source and destination port, or zeros if there are none.
pub(crate) fn ports(packet: &[u8]) -> (u16, u16) {
    let payload = carried(packet);
    match packet.get(payload.at..payload.at + 4) {
        Some(&[a, b, c, d]) if matches!(payload.protocol, 6 | 17) && !payload.is_later => {
            (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
        }
        _ => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeId;
    use crate::packet::{Ip, Packet, Payload, Raw};
    use farlink_tcp::Ecn;

    /// Builds a packet with these extension headers and a UDP header from port 9 to port 7.
    fn packet(first: u8, extensions: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x6b, 0x81, 0, 0, 0, 0, first, 64];
        bytes.extend([0xfd; 16]);
        bytes.extend([0xfe; 16]);
        bytes.extend(extensions);
        bytes.extend([0, 9, 0, 7, 0, 12, 0, 0, 1, 2, 3, 4]);
        bytes[5] = (bytes.len() - HEADER) as u8;
        bytes
    }

    #[test]
    fn payload_is_found_behind_extension_headers() {
        assert_eq!(ports(&packet(17, &[])), (9, 7));
        let hop = [60, 0, 0, 0, 0, 0, 0, 0];
        let long = [&[17, 1][..], &[0; 14]].concat();
        assert_eq!(ports(&packet(0, &[&hop[..], &long].concat())), (9, 7));
        let first = packet(44, &[17, 0, 0, 1, 0, 0, 0, 5]);
        assert_eq!(ports(&first), (9, 7));
        assert!(carried(&first).is_part && !carried(&first).is_later);
        let later = packet(44, &[17, 0, 0, 8, 0, 0, 0, 5]);
        assert_eq!(ports(&later), (0, 0));
        assert!(carried(&later).is_later);
        let cut = packet(0, &[17, 200, 0, 0, 0, 0, 0, 0]);
        assert_eq!(carried(&cut).at, HEADER);
    }

    #[test]
    fn header_fields_can_be_read_and_written() {
        let mut bytes = packet(17, &[]);
        bytes.extend([9; 5]);
        let mut raw = Raw::new(bytes).unwrap();
        assert_eq!(raw.bytes().len(), HEADER + 12, "what follows is not of it");
        assert_eq!((raw.ttl(), raw.ip()), (64, Ip::V6));
        raw.set_ttl(3);
        let mut packet = Packet::new(NodeId(0), NodeId(1), Payload::Raw(raw));
        // Traffic class 0xb8: expedited forwarding, no ECN.
        assert_eq!((packet.ecn(), packet.ports()), (Ecn::NotEct, (9, 7)));
        packet.set_ecn(Ecn::Ce);
        let Payload::Raw(raw) = &packet.payload else {
            unreachable!()
        };
        assert_eq!(raw.bytes()[..8], [0x6b, 0xb1, 0, 0, 0, 12, 17, 3]);
    }

    /// Byte strings of any length cause no panic, and truncated packets are reported.
    #[test]
    fn truncated_packets_cause_no_panic() {
        for len in 0..80 {
            for first in [0, 17, 43, 44, 58, 60] {
                let mut bytes = packet(first, &[first; 24]);
                bytes.truncate(len);
                if let Ok(raw) = Raw::new(bytes) {
                    let _ = (ports(raw.bytes()), raw.source(), raw.answer_of_router());
                }
            }
        }
        assert_eq!(Raw::new(vec![0x60; 5]), Err(NotIp::Short));
        assert_eq!(Raw::new(vec![0x60; 39]), Err(NotIp::Length));
    }
}
