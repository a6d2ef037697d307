//! Packets as bytes: IPv4 (RFC 791) or IPv6 (RFC 8200) around TCP (RFC 9293) or UDP (RFC
//! 768), with their checksums.

use crate::fragment::Piece;
use crate::id::NodeId;
use crate::packet::{Ip, Packet, Payload};
use arrayvec::ArrayVec;
use etherparse::{IpNumber, TcpHeader, TcpSlice, UdpHeader};
use farlink_tcp::{
    Body, Ecn, Extra, FastOpenCookie, Flags, IpVersion, Options, Priority, SackBlock, SackBlocks,
    Segment, Seq, Timestamps,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

mod ip;
mod rewrite;
mod wireless;

pub use ip::is_tcp_fragment;
pub use rewrite::rewrite;

/// Most bytes of options that a TCP header holds: its length field counts up to
/// fifteen words of four bytes, five of which are fixed.
pub const MAX_OPTIONS_LEN: u32 = 40;

/// Most bytes of an IPv4 datagram: its length field has 16 bits.
pub const MAX_IPV4_LEN: u32 = 65_535;

/// Source and destination of a packet on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Addresses {
    /// Source address.
    pub src: IpAddr,
    /// Destination address, of the same version.
    pub dst: IpAddr,
}

impl Addresses {
    /// Returns the addresses of the packet's nodes in the version of its header.
    pub fn of(packet: &Packet) -> Self {
        let version = packet.ip.version();
        Self {
            src: address_of(packet.src, version),
            dst: address_of(packet.dst, version),
        }
    }
}

/// The address of a node in this version of IP.
pub fn address_of(node: NodeId, version: IpVersion) -> IpAddr {
    match version {
        IpVersion::V4 => node_address(node).into(),
        IpVersion::V6 => node_address6(node).into(),
    }
}

/// The address of a node: 10.0.0.1 for the first, and so on. Unique for the
/// first 2^24 - 2 nodes.
pub fn node_address(node: NodeId) -> Ipv4Addr {
    let [_, x, y, z] = node.0.wrapping_add(1).to_be_bytes();
    Ipv4Addr::new(10, x, y, z)
}

/// The IPv6 address of a node: fd66:6172:6c6b::1 for the first, and so on, of a network of its own
/// (RFC 4193).
pub fn node_address6(node: NodeId) -> Ipv6Addr {
    let [high, low] = [
        node.0.wrapping_add(1) >> 16,
        node.0.wrapping_add(1) & 0xffff,
    ];
    Ipv6Addr::new(0xfd66, 0x6172, 0x6c6b, 0, 0, 0, high as u16, low as u16)
}

/// The node whose address this is, if there are enough nodes for one.
pub fn node_of(address: impl Into<IpAddr>) -> Option<NodeId> {
    let number = match address.into() {
        IpAddr::V4(own) => u32::from(own).wrapping_sub(u32::from(node_address(NodeId(0)))),
        IpAddr::V6(own) => {
            let number = u128::from(own).wrapping_sub(u128::from(node_address6(NodeId(0))));
            u32::try_from(number).ok()?
        }
    };
    Some(NodeId(number))
}

/// The fields of an IP header that this program uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpFields {
    /// Source and destination address.
    pub addresses: Addresses,
    /// Identification; IPv6 has none but in fragments.
    pub ident: u16,
    /// Hops it may still take.
    pub ttl: u8,
}

/// Why a packet has no bytes, or bytes are no packet.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WireError {
    /// The datagram would be longer than its length field can say.
    #[error("a datagram of {0} bytes does not fit IP, whose length field ends at 65535")]
    TooLong(u32),
    /// Addresses of another version than the packet.
    #[error("addresses of another version of IP than the packet's")]
    Addresses,
    /// More options than a TCP header holds.
    #[error("{0} bytes of options do not fit a TCP header, which ends at 40")]
    TooManyOptions(u32),
    /// No IPv4 header.
    #[error("no IPv4 header: {0}")]
    Ipv4(String),
    /// No IPv6 header.
    #[error("no IPv6 header: {0}")]
    Ipv6(String),
    /// The length field does not fit the header or the bytes there are.
    #[error("IPv4 total length {total} does not fit: header {header} bytes, {available} present")]
    Ipv4Length {
        /// Total length field.
        total: usize,
        /// Bytes of the header.
        header: usize,
        /// Bytes there are.
        available: usize,
    },
    /// A changed IPv4 header.
    #[error("wrong IPv4 header checksum")]
    Ipv4Checksum,
    /// A fragment that no header can describe: its place is no multiple of 8.
    #[error("a fragment at byte {0} of its datagram, which is no multiple of 8")]
    FragmentOffset(u32),
    /// A part of a datagram.
    #[error("a fragment, not a whole datagram")]
    Fragment,
    /// Something else than TCP inside.
    #[error("protocol {0}, not TCP (6)")]
    NotTcp(u8),
    /// No TCP header.
    #[error("no TCP header: {0}")]
    Tcp(String),
    /// A changed segment.
    #[error("wrong TCP checksum")]
    TcpChecksum,
    /// An option whose length cannot be.
    #[error("TCP option {kind} at byte {at} of the options has a wrong length")]
    Option {
        /// Kind of the option.
        kind: u8,
        /// Start, counted from the first byte of the options.
        at: usize,
    },
}

/// The bytes of a packet. A body of which only the length is known is zeros; a
/// packet marked corrupt has one bit of its segment flipped, so that its TCP
/// checksum fails.
///
/// # Errors
/// If the packet or its options are longer than the headers can say.
pub fn encode(packet: &Packet, addresses: Addresses) -> Result<Vec<u8>, WireError> {
    let mut out = Vec::with_capacity(packet.ip_len() as usize);
    encode_prefix(packet, addresses, u32::MAX, &mut out)?;
    Ok(out)
}

/// Appends the first `max` of the bytes that [`encode`] gives, without making the
/// rest.
///
/// # Errors
/// As [`encode`]; nothing is appended then.
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
    let mut of_xtp = Vec::new();
    let body = match &packet.payload {
        Payload::Tcp(segment) => {
            let mut tcp = tcp_header(segment)?.to_bytes();
            if segment.dummy {
                tcp[12] |= DUMMY;
            }
            let sum = ip::write_header(packet, addresses, IpNumber::TCP, out)?;
            // Zeros add nothing to a ones' complement sum, so a body that is only a
            // length need not exist to be summed.
            let body = segment.body.bytes().unwrap_or_default();
            let checksum = sum.add_slice(body).add_slice(&tcp).ones_complement();
            tcp[16..18].copy_from_slice(&checksum.to_ne_bytes());
            out.extend_from_slice(&tcp);
            body
        }
        Payload::Udp(datagram) => {
            if let Some(pdu) = &datagram.xtp {
                of_xtp = pdu.to_bytes();
            }
            let sum = ip::write_header(packet, addresses, IpNumber::UDP, out)?;
            let body = datagram.body.bytes().unwrap_or(&of_xtp);
            let mut udp = UdpHeader {
                source_port: datagram.src_port,
                destination_port: datagram.dst_port,
                length: (packet.ip_len() - packet.ip.header_len()) as u16,
                checksum: 0,
            };
            let sum = sum.add_slice(body).add_slice(&udp.to_bytes());
            // 0 stands for "no checksum" (RFC 768); its other form is sent.
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

/// Encodes a fragment: a part of the datagram's bytes behind a header of its own.
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

/// Gives a packet that carries a whole TCP segment the fields of these headers of IPv4 and
/// TCP; ports and addresses, which say whose it is, stay.
pub fn write_headers(packet: &mut Packet, header: &[u8]) {
    let Payload::Tcp(segment) = &mut packet.payload else {
        return;
    };
    packet.ident = u16::from_be_bytes([header[4], header[5]]);
    packet.ip = Ip::new(IpVersion::V4, header[6] & 0x40 != 0);
    packet.ttl = header[8];
    let tcp = &header[usize::from(header[0] & 15) * 4..];
    segment.ecn = Ecn::from_bits(header[1]);
    segment.priority = Priority::from_dscp(header[1] >> 2);
    segment.seq = Seq(word(&tcp[4..]));
    segment.ack = Seq(word(&tcp[8..]));
    segment.dummy = tcp[12] & DUMMY != 0;
    segment.flags = Flags(tcp[13]);
    segment.window = u16::from_be_bytes([tcp[14], tcp[15]]);
    let options = &tcp[20..];
    if options != options_bytes(&segment.options).as_slice()
        && let Ok(options) = parse_options(options)
    {
        segment.options = options;
    }
}

/// The reserved bit of the octet of the data offset that marks dummy segments and
/// their ACKs: the first of the four that are left (RFC 9293, 3.1).
const DUMMY: u8 = 0x08;

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
    let options = options_bytes(&segment.options);
    header
        .set_options_raw(&options)
        .map_err(|_| WireError::TooManyOptions(options.len() as u32))?;
    Ok(header)
}

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const FAST_OPEN: u8 = 34;

/// The options as [`Options::wire_len`] counts them, each aligned to four bytes.
fn options_bytes(options: &Options) -> ArrayVec<u8, { MAX_OPTIONS_LEN as usize }> {
    let mut out = ArrayVec::new();
    let mut put = |bytes: &[u8]| out.extend(bytes.iter().copied());
    if let Some(mss) = options.mss {
        let [high, low] = mss.to_be_bytes();
        put(&[MSS, 4, high, low]);
    }
    match (options.sack_permitted, options.timestamps) {
        (true, Some(_)) => put(&[SACK_PERMITTED, 2]),
        (true, None) => put(&[NOP, NOP, SACK_PERMITTED, 2]),
        (false, Some(_)) => put(&[NOP, NOP]),
        (false, None) => {}
    }
    if let Some(timestamps) = options.timestamps {
        put(&[TIMESTAMPS, 10]);
        put(&timestamps.value.to_be_bytes());
        put(&timestamps.echo.to_be_bytes());
    }
    if let Some(shift) = options.window_scale {
        put(&[NOP, WINDOW_SCALE, 3, shift]);
    }
    let blocks = options.sack.as_slice();
    if !blocks.is_empty() {
        put(&[NOP, NOP, SACK, 2 + 8 * blocks.len() as u8]);
        for block in blocks {
            put(&block.left.0.to_be_bytes());
            put(&block.right.0.to_be_bytes());
        }
    }
    match options.extra {
        Extra::CookieRequest => put(&[NOP, NOP, FAST_OPEN, 2]),
        Extra::Cookie(FastOpenCookie(cookie)) => {
            put(&[NOP, NOP, FAST_OPEN, 10]);
            put(&cookie.to_be_bytes());
        }
        Extra::None | Extra::Snack(_) => {}
    }
    wireless::put(options, &mut put);
    out
}

/// The packet that these bytes are. Checksums and lengths are verified; bytes
/// behind the datagram (padding of a frame) and unknown options are skipped, as
/// are options and extensions of the IP header.
///
/// # Errors
/// If the bytes are no whole IP datagram with a TCP segment, or were changed.
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

/// Decodes the headers of a packet with a wrong TCP checksum. Fields may be damaged. `None` if the
/// checksum is right, or if there is no readable TCP header.
pub fn decode_damaged(bytes: &[u8]) -> Option<(IpFields, Segment)> {
    read(bytes, Body::of_bytes)
        .ok()
        .and_then(|(fields, segment, whole)| (!whole).then_some((fields, segment)))
}

/// The segment of a packet, with this made of its data, and whether its TCP checksum is
/// right.
fn read(
    bytes: &[u8],
    body: impl FnOnce(&[u8]) -> Body,
) -> Result<(IpFields, Segment, bool), WireError> {
    let ip::Opened {
        fields,
        class,
        segment: payload,
        pseudo,
    } = ip::open(bytes)?;
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
        priority: Priority::from_dscp(class >> 2),
        dummy: payload[12] & DUMMY != 0,
        // What damage made of the options is no option.
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

/// An option whose length is not what its kind has, or points out of the header,
/// makes the segment malformed (RFC 9293, 3.1, MUST-7).
fn parse_options(bytes: &[u8]) -> Result<Options, WireError> {
    let mut options = Options::default();
    let mut at = 0;
    while let Some(&kind) = bytes.get(at) {
        match kind {
            END => break,
            NOP => {
                at += 1;
                continue;
            }
            _ => {}
        }
        let wrong = WireError::Option { kind, at };
        let len = match bytes.get(at + 1) {
            Some(&len) if len >= 2 => usize::from(len),
            _ => return Err(wrong),
        };
        let Some(value) = bytes.get(at + 2..at + len) else {
            return Err(wrong);
        };
        match (kind, value) {
            (MSS, &[high, low]) => options.mss = Some(u16::from_be_bytes([high, low])),
            (WINDOW_SCALE, &[shift]) => options.window_scale = Some(shift),
            (SACK_PERMITTED, []) => options.sack_permitted = true,
            (SACK, _) if !value.is_empty() && value.len().is_multiple_of(8) => {
                options.sack = value
                    .chunks_exact(8)
                    .map(|block| SackBlock {
                        left: Seq(word(block)),
                        right: Seq(word(&block[4..])),
                    })
                    .collect::<SackBlocks>();
            }
            (TIMESTAMPS, _) if value.len() == 8 => {
                options.timestamps = Some(Timestamps {
                    value: word(value),
                    echo: word(&value[4..]),
                });
            }
            (FAST_OPEN, _) => take_fast_open(&mut options, value),
            (MSS | WINDOW_SCALE | SACK_PERMITTED | SACK | TIMESTAMPS, _) => return Err(wrong),
            _ => wireless::take(&mut options, kind, value, wrong)?,
        }
        at += len;
    }
    Ok(options)
}

/// A cookie of another server's length asks for one of ours; a length that none has
/// is ignored (RFC 7413, 4.1.1).
fn take_fast_open(options: &mut Options, value: &[u8]) {
    match (<[u8; 8]>::try_from(value), value.len()) {
        (Ok(cookie), _) => {
            options.extra = Extra::Cookie(FastOpenCookie(u64::from_be_bytes(cookie)));
        }
        (_, 0 | 4 | 6 | 10 | 12 | 14 | 16) => options.extra = Extra::CookieRequest,
        _ => {}
    }
}

/// The number in the first four bytes.
fn word(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests;
