//! IP headers as bytes: IPv4 (RFC 791) and IPv6 (RFC 8200), with the pseudo-headers of their
//! payloads.

use super::address::{Addresses, IpFields};
use super::error::WireError;
use crate::fragment::{FRAGMENT_HEADER_LEN, Piece, write_fragment_fields};
use crate::ipv6;
use crate::packet::{Ip, Packet};
use etherparse::checksum::Sum16BitWords;
use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv4HeaderSlice};
use std::net::IpAddr;

/// Maximum length of an IPv4 datagram, because its length field has 16 bits.
pub const MAX_IPV4_LEN: u32 = 65_535;

/// Maximum length of the payload after an IPv6 header, because its length field has 16 bits.
const MAX_IPV6_PAYLOAD: u32 = 65_535;

/// Appends the header of a whole packet with this protocol as its payload, and returns the sum of
/// the pseudo-header.
///
/// Returns an error and appends nothing if the packet is longer than the length field allows, or if
/// the addresses have another version.
pub(super) fn write_header(
    packet: &Packet,
    addresses: Addresses,
    protocol: IpNumber,
    out: &mut Vec<u8>,
) -> Result<Sum16BitWords, WireError> {
    let (whole, class) = (packet.whole_len(), packet.dscp().bits());
    match (packet.ip, addresses.src, addresses.dst) {
        (Ip::V4 | Ip::V4Whole, IpAddr::V4(src), IpAddr::V4(dst)) => {
            if whole > MAX_IPV4_LEN {
                return Err(WireError::TooLong(whole));
            }
            let mut header = Ipv4Header {
                identification: packet.ident,
                dont_fragment: packet.ip.dont_fragment(),
                dscp: IpDscp::try_new(class).unwrap_or_default(),
                ecn: IpEcn::try_new(packet.ecn().bits()).unwrap_or_default(),
                time_to_live: packet.ttl,
                protocol,
                source: src.octets(),
                destination: dst.octets(),
                total_len: whole as u16,
                ..Ipv4Header::default()
            };
            header.header_checksum = header.calc_header_checksum();
            out.extend_from_slice(&header.to_bytes());
        }
        (Ip::V6, IpAddr::V6(src), IpAddr::V6(dst)) => {
            let carried = whole - packet.ip.header_len();
            if carried > MAX_IPV6_PAYLOAD {
                return Err(WireError::TooLong(whole));
            }
            let class = u32::from(class << 2 | packet.ecn().bits());
            let label = flow_label(addresses, protocol.0, packet.ports());
            out.extend((6 << 28 | class << 20 | label).to_be_bytes());
            out.extend((carried as u16).to_be_bytes());
            out.extend([protocol.0, packet.ttl]);
            out.extend(src.octets());
            out.extend(dst.octets());
        }
        _ => return Err(WireError::Addresses),
    }
    Ok(pseudo_header(
        addresses,
        protocol.0,
        whole - packet.ip.header_len(),
    ))
}

/// Computes the sum of the pseudo-header of `len` bytes of a protocol (RFC 9293, 3.1; RFC 8200,
/// 8.1). Both versions sum the same words, apart from zeros.
fn pseudo_header(addresses: Addresses, protocol: u8, len: u32) -> Sum16BitWords {
    let mut sum = Sum16BitWords::new();
    for address in [addresses.src, addresses.dst] {
        sum = match address {
            IpAddr::V4(address) => sum.add_4bytes(address.octets()),
            IpAddr::V6(address) => sum.add_16bytes(address.octets()),
        };
    }
    sum.add_2bytes([0, protocol]).add_4bytes(len.to_be_bytes())
}

/// Computes the flow label of one direction of a flow: FNV-1a over addresses, protocol and ports,
/// folded to 20 bits. The result is never zero, because zero means no label (RFC 6437, 3).
fn flow_label(addresses: Addresses, protocol: u8, ports: (u16, u16)) -> u32 {
    const MASK: u32 = 0xf_ffff;
    let mut hash = 0x811c_9dc5_u32;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    };
    for address in [addresses.src, addresses.dst] {
        match address {
            IpAddr::V4(address) => add(&address.octets()),
            IpAddr::V6(address) => add(&address.octets()),
        }
    }
    add(&[protocol]);
    add(&ports.0.to_be_bytes());
    add(&ports.1.to_be_bytes());
    ((hash >> 20 ^ hash) & MASK).max(1)
}

/// Changes the bytes of a whole packet into those of a fragment (RFC 791, 3.2; RFC 8200, 4.5).
///
/// Returns an error if a fragment header cannot express the offset.
pub(super) fn cut_out(bytes: &mut Vec<u8>, packet: &Packet, piece: Piece) -> Result<(), WireError> {
    if !piece.offset.is_multiple_of(8) {
        return Err(WireError::FragmentOffset(piece.offset.into()));
    }
    let header = packet.ip.header_len() as usize;
    let from = header + usize::from(piece.offset);
    bytes.copy_within(from..from + usize::from(piece.len), header);
    bytes.truncate(header + usize::from(piece.len));
    match packet.ip {
        Ip::V4 | Ip::V4Whole => write_fragment_fields(bytes, piece),
        Ip::V6 => {
            let protocol = std::mem::replace(&mut bytes[6], ipv6::FRAGMENT);
            let len = piece.len + FRAGMENT_HEADER_LEN as u16;
            bytes[4..6].copy_from_slice(&len.to_be_bytes());
            let place = (piece.offset | u16::from(piece.more)).to_be_bytes();
            let ident = u32::from(packet.ident).to_be_bytes();
            let extension = [[protocol, 0, place[0], place[1]], ident].concat();
            bytes.splice(header..header, extension);
        }
    }
    Ok(())
}

/// Parsed IP header of a packet, and the bytes after it.
pub(super) struct Opened<'a> {
    pub(super) fields: IpFields,
    /// Type of service, or traffic class.
    pub(super) class: u8,
    /// TCP segment or UDP datagram.
    pub(super) segment: &'a [u8],
    /// Sum of its pseudo-header.
    pub(super) pseudo: Sum16BitWords,
}

/// Reads the IP header of a whole packet of a protocol.
pub(super) fn open(bytes: &[u8], protocol: IpNumber) -> Result<Opened<'_>, WireError> {
    let (fields, class, segment) = match bytes {
        [first, ..] if first >> 4 == 6 => open_v6(bytes, protocol)?,
        _ => open_v4(bytes, protocol)?,
    };
    let len = segment.len() as u32;
    Ok(Opened {
        fields,
        class,
        segment,
        pseudo: pseudo_header(fields.addresses, protocol.0, len),
    })
}

fn open_v4(bytes: &[u8], protocol: IpNumber) -> Result<(IpFields, u8, &[u8]), WireError> {
    let ip =
        Ipv4HeaderSlice::from_slice(bytes).map_err(|error| WireError::Ipv4(error.to_string()))?;
    let (header, total) = (ip.slice().len(), usize::from(ip.total_len()));
    if total < header || total > bytes.len() {
        return Err(WireError::Ipv4Length {
            total,
            header,
            available: bytes.len(),
        });
    }
    if Sum16BitWords::new().add_slice(ip.slice()).ones_complement() != 0 {
        return Err(WireError::Ipv4Checksum);
    }
    if ip.is_fragmenting_payload() {
        return Err(WireError::Fragment);
    }
    if ip.protocol() != protocol {
        return Err(WireError::NotTcp(ip.protocol().0));
    }
    let fields = IpFields {
        addresses: Addresses {
            src: ip.source_addr().into(),
            dst: ip.destination_addr().into(),
        },
        ident: ip.identification(),
        ttl: ip.ttl(),
    };
    Ok((fields, bytes[1], &bytes[header..total]))
}

fn open_v6(bytes: &[u8], protocol: IpNumber) -> Result<(IpFields, u8, &[u8]), WireError> {
    let total = ipv6::total_len(bytes).map_err(|error| WireError::Ipv6(error.to_string()))?;
    let packet = &bytes[..total];
    let payload = ipv6::carried(packet);
    if payload.is_part {
        return Err(WireError::Fragment);
    }
    if payload.protocol != protocol.0 {
        return Err(WireError::NotTcp(payload.protocol));
    }
    let fields = IpFields {
        addresses: Addresses {
            src: ipv6::address(packet, 8).into(),
            dst: ipv6::address(packet, 24).into(),
        },
        ident: 0,
        ttl: packet[7],
    };
    let class = packet[0] << 4 | packet[1] >> 4;
    Ok((fields, class, &packet[payload.at..]))
}

/// Returns the offset of the TCP segment in a packet that [`open`] accepts.
pub(super) fn segment_at(packet: &[u8]) -> usize {
    if packet[0] >> 4 == 6 {
        ipv6::carried(packet).at
    } else {
        usize::from(packet[0] & 15) * 4
    }
}

/// Returns whether the bytes are a fragment of a TCP packet.
pub fn is_tcp_fragment(bytes: &[u8]) -> bool {
    if bytes.first().is_some_and(|first| first >> 4 == 6) {
        return ipv6::total_len(bytes).is_ok_and(|total| {
            let payload = ipv6::carried(&bytes[..total]);
            payload.is_part && payload.protocol == IpNumber::TCP.0
        });
    }
    let is_it =
        |ip: Ipv4HeaderSlice<'_>| ip.is_fragmenting_payload() && ip.protocol() == IpNumber::TCP;
    Ipv4HeaderSlice::from_slice(bytes).is_ok_and(is_it)
}

#[cfg(test)]
mod tests;
