//! Packets as bytes: IPv4 (RFC 791) or IPv6 (RFC 8200) around TCP (RFC 9293) or UDP (RFC
//! 768), with their checksums.

use crate::fragment::Piece;
use crate::packet::{Datagram, Ip, Packet, Payload};
use etherparse::{IpNumber, TcpHeader, TcpSlice, UdpHeader};
use farlink_tcp::{Body, Dscp, Ecn, Flags, IpVersion, Options, Segment, Seq};

mod accecn;
mod address;
mod dss;
mod error;
mod ip;
mod options;
mod rewrite;
mod wireless;

pub use address::{Addresses, IpFields, address_of, node_address, node_address6, node_of};
pub use error::WireError;
pub use ip::{MAX_IPV4_LEN, is_tcp_fragment};
pub use options::MAX_OPTIONS_LEN;
use options::{options_bytes, parse_options, word};
pub use rewrite::rewrite;

/// Length of a UDP header.
const UDP_HEADER: usize = 8;

/// Encodes a packet. A body without contents becomes zeros. A packet marked corrupt gets one
/// flipped bit in its segment, so that its TCP checksum fails.
///
/// # Errors
/// Fails if the datagram is longer than 65,535 bytes, or its options are longer than 40 bytes.
pub fn encode(packet: &Packet, addresses: Addresses) -> Result<Vec<u8>, WireError> {
    let mut out = Vec::with_capacity(packet.ip_len() as usize);
    encode_prefix(packet, addresses, u32::MAX, &mut out)?;
    Ok(out)
}

/// Appends the first `max` bytes of [`encode`]'s result without building the rest.
///
/// # Errors
/// Fails in the cases of [`encode`]; nothing is appended then.
pub fn encode_prefix(
    packet: &Packet,
    addresses: Addresses,
    max: u32,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    if let Some(piece) = packet.piece {
        return encode_fragment(packet, piece, addresses, max, out);
    }
    if let Some(segment) = packet.tcp()
        && segment.options.wire_len() > MAX_OPTIONS_LEN
    {
        return Err(WireError::TooManyOptions(segment.options.wire_len()));
    }
    let start = out.len();
    let end = start + packet.ip_len().min(max) as usize;
    let mut carried = Vec::new();
    let body = match &packet.payload {
        Payload::Tcp(segment) => {
            let mut tcp = tcp_header(segment)?.to_bytes();
            if segment.dummy {
                tcp[12] |= DUMMY;
            }
            let sum = ip::write_header(packet, addresses, IpNumber::TCP, out)?;
            // Zeros do not change a ones' complement sum, so a body without contents needs no
            // bytes.
            let body = segment.body.bytes().unwrap_or_default();
            let checksum = sum.add_slice(body).add_slice(&tcp).ones_complement();
            tcp[16..18].copy_from_slice(&checksum.to_ne_bytes());
            out.extend_from_slice(&tcp);
            body
        }
        Payload::Udp(datagram) => {
            if let Some(pdu) = &datagram.carried {
                carried = pdu.to_bytes();
            }
            let sum = ip::write_header(packet, addresses, IpNumber::UDP, out)?;
            let body = datagram.body.bytes().unwrap_or(&carried);
            let mut udp = UdpHeader {
                source_port: datagram.src_port,
                destination_port: datagram.dst_port,
                length: (packet.ip_len() - packet.ip.header_len()) as u16,
                checksum: 0,
            };
            let sum = sum.add_slice(body).add_slice(&udp.to_bytes());
            // A checksum field of 0 means "no checksum" (RFC 768), so a sum of 0 is sent as 0xffff.
            udp.checksum = match sum.ones_complement().to_be() {
                0 => 0xffff,
                sum => sum,
            };
            out.extend_from_slice(&udp.to_bytes());
            body
        }
        Payload::Raw(raw) => {
            let bytes = raw.bytes();
            out.extend_from_slice(&bytes[..bytes.len().min(max as usize)]);
            return Ok(());
        }
    };
    out.extend_from_slice(&body[..body.len().min(end.saturating_sub(out.len()))]);
    out.resize(end, 0);
    let last = start + packet.ip_len() as usize - 1;
    if packet.corrupt && last < end {
        out[last] ^= 1;
    }
    Ok(())
}

/// Encodes a fragment: part of the datagram's bytes, after its own header.
fn encode_fragment(
    packet: &Packet,
    piece: Piece,
    addresses: Addresses,
    max: u32,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let whole = Packet {
        corrupt: false,
        piece: None,
        ..packet.clone()
    };
    let mut bytes = encode(&whole, addresses)?;
    ip::cut_out(&mut bytes, packet, piece)?;
    if packet.corrupt
        && let Some(last) = bytes.last_mut()
    {
        *last ^= 1;
    }
    bytes.truncate(max as usize);
    out.append(&mut bytes);
    Ok(())
}

/// Sets the fields of a whole TCP packet from these IPv4 and TCP headers. Ports and addresses stay.
pub fn write_headers(packet: &mut Packet, header: &[u8]) {
    let Payload::Tcp(segment) = &mut packet.payload else {
        return;
    };
    packet.ident = u16::from_be_bytes([header[4], header[5]]);
    packet.ip = Ip::new(IpVersion::V4, header[6] & 0x40 != 0);
    packet.ttl = header[8];
    let tcp = &header[usize::from(header[0] & 15) * 4..];
    segment.ecn = Ecn::from_bits(header[1]);
    segment.dscp = Dscp::new(header[1] >> 2);
    segment.seq = Seq(word(&tcp[4..]));
    segment.ack = Seq(word(&tcp[8..]));
    segment.dummy = tcp[12] & DUMMY != 0;
    segment.ae = tcp[12] & AE != 0;
    segment.flags = Flags(tcp[13]);
    segment.window = u16::from_be_bytes([tcp[14], tcp[15]]);
    let options = &tcp[20..];
    if options != options_bytes(&segment.options).as_slice()
        && let Ok(options) = parse_options(options)
    {
        segment.options = options;
    }
}

/// Reserved bit next to the data offset that marks dummy segments and their ACKs: the highest of
/// the four reserved bits (RFC 9293, 3.1).
const DUMMY: u8 = 0x08;

/// Bit AE next to the data offset, the nonce sum of RFC 3540 (RFC 9768, 3.1.1).
const AE: u8 = 0x01;

fn tcp_header(segment: &Segment) -> Result<TcpHeader, WireError> {
    let flags = segment.flags;
    let mut header = TcpHeader::new(
        segment.src_port,
        segment.dst_port,
        segment.seq.0,
        segment.window,
    );
    header.acknowledgment_number = segment.ack.0;
    header.fin = flags.has(Flags::FIN);
    header.syn = flags.has(Flags::SYN);
    header.rst = flags.has(Flags::RST);
    header.psh = flags.has(Flags::PSH);
    header.ack = flags.has(Flags::ACK);
    header.urg = flags.has(Flags::URG);
    header.ece = flags.has(Flags::ECE);
    header.cwr = flags.has(Flags::CWR);
    header.ns = segment.ae;
    let options = options_bytes(&segment.options);
    header
        .set_options_raw(&options)
        .map_err(|_| WireError::TooManyOptions(options.len() as u32))?;
    Ok(header)
}

/// Decodes a packet, and verifies checksums and lengths. Bytes after the datagram (frame padding),
/// unknown TCP options, IP options and IPv6 extensions are skipped.
///
/// # Errors
/// Fails if the bytes are no whole IP datagram with a TCP segment, or a checksum is wrong.
pub fn decode(bytes: &[u8]) -> Result<(IpFields, Segment), WireError> {
    match read(bytes, Body::of_bytes)? {
        (fields, segment, true) => Ok((fields, segment)),
        _ => Err(WireError::TcpChecksum),
    }
}

/// Decodes the headers and keeps only the length of the body.
///
/// # Errors
/// As [`decode`].
pub fn decode_headers(bytes: &[u8]) -> Result<(IpFields, Segment), WireError> {
    match read(bytes, |data| Body::of_len(data.len() as u32))? {
        (fields, segment, true) => Ok((fields, segment)),
        _ => Err(WireError::TcpChecksum),
    }
}

/// Decodes the headers of a packet with a wrong TCP checksum, whose fields may be damaged. `None`
/// if the checksum is right, or if there is no readable TCP header.
pub fn decode_damaged(bytes: &[u8]) -> Option<(IpFields, Segment)> {
    read(bytes, Body::of_bytes)
        .ok()
        .and_then(|(fields, segment, whole)| (!whole).then_some((fields, segment)))
}

/// Reads the segment of a packet, with a body that `body` builds from the data. Also returns
/// whether the TCP checksum is right.
fn read(
    bytes: &[u8],
    body: impl FnOnce(&[u8]) -> Body,
) -> Result<(IpFields, Segment, bool), WireError> {
    let ip::Opened {
        fields,
        class,
        segment: payload,
        pseudo,
    } = ip::open(bytes, IpNumber::TCP)?;
    let tcp = TcpSlice::from_slice(payload).map_err(|error| WireError::Tcp(error.to_string()))?;
    let sum = pseudo.add_slice(payload);
    let whole = sum.ones_complement() == 0;
    let data = tcp.payload();
    let segment = Segment {
        src_port: tcp.source_port(),
        dst_port: tcp.destination_port(),
        seq: Seq(tcp.sequence_number()),
        ack: Seq(tcp.acknowledgment_number()),
        flags: Flags(payload[13]),
        window: tcp.window_size(),
        ecn: Ecn::from_bits(class),
        dscp: Dscp::new(class >> 2),
        dummy: payload[12] & DUMMY != 0,
        ae: payload[12] & AE != 0,
        // Malformed options of a damaged segment are ignored.
        options: match parse_options(tcp.options()) {
            Err(_) if !whole => Options::default(),
            options => options?,
        },
        body: if data.is_empty() {
            Body::EMPTY
        } else {
            body(data)
        },
    };
    Ok((fields, segment, whole))
}

#[cfg(test)]
mod tests;

/// Decodes a packet with a UDP datagram, and verifies checksums and lengths.
///
/// # Errors
/// Fails if the bytes are no whole IP datagram with a UDP datagram, or a checksum is wrong.
pub fn decode_udp(bytes: &[u8]) -> Result<(IpFields, Datagram), WireError> {
    let ip::Opened {
        fields,
        class,
        segment: payload,
        pseudo,
    } = ip::open(bytes, IpNumber::UDP)?;
    let short = || WireError::Udp(payload.len());
    let &[a, b, c, d, e, f, g, h] = payload.first_chunk().ok_or_else(short)?;
    // UDP over IPv4 may go without a checksum (RFC 768).
    let is_summed = [g, h] != [0, 0];
    if is_summed && pseudo.add_slice(payload).ones_complement() != 0 {
        return Err(WireError::UdpChecksum);
    }
    let len = usize::from(u16::from_be_bytes([e, f]));
    let data = payload.get(UDP_HEADER..len).ok_or_else(short)?;
    let datagram = Datagram {
        src_port: u16::from_be_bytes([a, b]),
        dst_port: u16::from_be_bytes([c, d]),
        ecn: Ecn::from_bits(class),
        dscp: Dscp::new(class >> 2),
        body: Body::of_bytes(data),
        ..Datagram::default()
    };
    Ok((fields, datagram))
}
