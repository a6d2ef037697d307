//! Packets as bytes: IPv4 (RFC 791) around TCP (RFC 9293) or UDP (RFC
//! 768), with both checksums.

use crate::packet::{IPV4_HEADER_LEN, NodeId, Packet, Payload};
use arrayvec::ArrayVec;
use etherparse::checksum::Sum16BitWords;
use etherparse::{
    IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv4HeaderSlice, TcpHeader, TcpSlice, UdpHeader,
};
use farlink_tcp::{
    Body, Ecn, Flags, Options, Priority, SackBlock, SackBlocks, Segment, Seq, Timestamps,
};
use std::net::Ipv4Addr;

mod wireless;

/// Most bytes of options that a TCP header holds: its length field counts up to
/// fifteen words of four bytes, five of which are fixed.
pub const MAX_OPTIONS_LEN: u32 = 40;

/// Most bytes of an IPv4 datagram: its length field has 16 bits.
pub const MAX_IPV4_LEN: u32 = 65_535;

/// Where a packet comes from and goes to on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Addresses {
    /// Source address.
    pub src: Ipv4Addr,
    /// Destination address.
    pub dst: Ipv4Addr,
}

impl Addresses {
    /// Those of the packet's nodes.
    pub fn of(packet: &Packet) -> Self {
        Self {
            src: node_address(packet.src),
            dst: node_address(packet.dst),
        }
    }
}

/// The address of a node: 10.0.0.1 for the first, and so on. Unique for the
/// first 2^24 - 2 nodes.
pub fn node_address(node: NodeId) -> Ipv4Addr {
    let [_, x, y, z] = node.0.wrapping_add(1).to_be_bytes();
    Ipv4Addr::new(10, x, y, z)
}

/// The fields of an IPv4 header that this program uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipv4Fields {
    /// Source and destination address.
    pub addresses: Addresses,
    /// Identification.
    pub ident: u16,
    /// Hops it may still take.
    pub ttl: u8,
}

/// Why a packet has no bytes, or bytes are no packet.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WireError {
    /// The datagram would be longer than its length field can say.
    #[error("a datagram of {0} bytes does not fit IPv4, which ends at 65535")]
    TooLong(u32),
    /// More options than a TCP header holds.
    #[error("{0} bytes of options do not fit a TCP header, which ends at 40")]
    TooManyOptions(u32),
    /// No IPv4 header.
    #[error("no IPv4 header: {0}")]
    Ipv4(String),
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
        /// Where it starts, counted from the first byte of the options.
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
    encode_prefix(packet, addresses, MAX_IPV4_LEN, &mut out)?;
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
    if let Some(segment) = packet.tcp()
        && segment.options.wire_len() > MAX_OPTIONS_LEN
    {
        return Err(WireError::TooManyOptions(segment.options.wire_len()));
    }
    if packet.ip_len() > MAX_IPV4_LEN {
        return Err(WireError::TooLong(packet.ip_len()));
    }
    let (src, dst) = (addresses.src.octets(), addresses.dst.octets());
    let (protocol, body) = match &packet.payload {
        Payload::Tcp(segment) => (IpNumber::TCP, &segment.body),
        Payload::Udp(datagram) => (IpNumber::UDP, &datagram.body),
        Payload::Raw(raw) => {
            let bytes = raw.bytes();
            out.extend_from_slice(&bytes[..bytes.len().min(max as usize)]);
            return Ok(());
        }
    };
    let mut ip = Ipv4Header {
        identification: packet.ident,
        dont_fragment: true,
        dscp: IpDscp::try_new(packet.priority().dscp()).unwrap_or_default(),
        ecn: IpEcn::try_new(packet.ecn().bits()).unwrap_or_default(),
        time_to_live: packet.ttl,
        protocol,
        source: src,
        destination: dst,
        total_len: packet.ip_len() as u16,
        ..Ipv4Header::default()
    };
    ip.header_checksum = ip.calc_header_checksum();
    // Zeros add nothing to a ones' complement sum, so a body that is only a
    // length need not exist to be summed.
    let body = body.bytes().unwrap_or_default();
    let sum = Sum16BitWords::new()
        .add_4bytes(src)
        .add_4bytes(dst)
        .add_2bytes([0, protocol.0])
        .add_2bytes(((packet.ip_len() - IPV4_HEADER_LEN) as u16).to_be_bytes())
        .add_slice(body);

    let start = out.len();
    let end = start + packet.ip_len().min(max) as usize;
    match &packet.payload {
        Payload::Tcp(segment) => {
            let mut tcp = tcp_header(segment)?.to_bytes();
            if segment.dummy {
                tcp[12] |= DUMMY;
            }
            let checksum = sum.add_slice(&tcp).ones_complement();
            tcp[16..18].copy_from_slice(&checksum.to_ne_bytes());
            out.extend_from_slice(&ip.to_bytes());
            out.extend_from_slice(&tcp);
        }
        Payload::Udp(datagram) => {
            let mut udp = UdpHeader {
                source_port: datagram.src_port,
                destination_port: datagram.dst_port,
                length: (packet.ip_len() - IPV4_HEADER_LEN) as u16,
                checksum: 0,
            };
            // 0 stands for "no checksum" (RFC 768); its other form is sent.
            udp.checksum = match sum.add_slice(&udp.to_bytes()).ones_complement().to_be() {
                0 => 0xffff,
                sum => sum,
            };
            out.extend_from_slice(&ip.to_bytes());
            out.extend_from_slice(&udp.to_bytes());
        }
        Payload::Raw(_) => {} // is out already
    }
    out.extend_from_slice(&body[..body.len().min(end.saturating_sub(out.len()))]);
    out.resize(end, 0);
    let last = start + packet.ip_len() as usize - 1;
    if packet.corrupt && last < end {
        out[last] ^= 1;
    }
    Ok(())
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
    wireless::put(options, &mut put);
    out
}

/// The packet that these bytes are. Checksums and lengths are verified; bytes
/// behind the datagram (padding of a frame) and unknown options are skipped, as
/// are options of the IP header.
///
/// # Errors
/// If the bytes are no whole IPv4 datagram with a TCP segment, or were changed.
pub fn decode(bytes: &[u8]) -> Result<(Ipv4Fields, Segment), WireError> {
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
    if ip.protocol() != IpNumber::TCP {
        return Err(WireError::NotTcp(ip.protocol().0));
    }
    let payload = &bytes[header..total];
    let tcp = TcpSlice::from_slice(payload).map_err(|error| WireError::Tcp(error.to_string()))?;
    let sum = Sum16BitWords::new()
        .add_4bytes(ip.source())
        .add_4bytes(ip.destination())
        .add_2bytes([0, IpNumber::TCP.0])
        .add_2bytes((payload.len() as u16).to_be_bytes())
        .add_slice(payload);
    if sum.ones_complement() != 0 {
        return Err(WireError::TcpChecksum);
    }
    let data = tcp.payload();
    let segment = Segment {
        src_port: tcp.source_port(),
        dst_port: tcp.destination_port(),
        seq: Seq(tcp.sequence_number()),
        ack: Seq(tcp.acknowledgment_number()),
        flags: Flags(payload[13]),
        window: tcp.window_size(),
        ecn: Ecn::from_bits(ip.ecn().value()),
        priority: Priority::from_dscp(ip.dcp().value()),
        dummy: payload[12] & DUMMY != 0,
        options: parse_options(tcp.options())?,
        body: if data.is_empty() {
            Body::EMPTY
        } else {
            Body::of_bytes(data)
        },
    };
    let addresses = Addresses {
        src: ip.source_addr(),
        dst: ip.destination_addr(),
    };
    Ok((
        Ipv4Fields {
            addresses,
            ident: ip.identification(),
            ttl: ip.ttl(),
        },
        segment,
    ))
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
            (MSS | WINDOW_SCALE | SACK_PERMITTED | SACK | TIMESTAMPS, _) => return Err(wrong),
            _ => wireless::take(&mut options, kind, value, wrong)?,
        }
        at += len;
    }
    Ok(options)
}

/// The number in the first four bytes.
fn word(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Datagram, FlowId};
    use farlink_tcp::segment::{MAX_SACK_BLOCKS, TCP_HEADER_LEN};
    use farlink_tcp::{ScpsCapabilities, Snack};
    use proptest::prelude::*;
    use std::num::NonZeroU16;

    fn options() -> impl Strategy<Value = Options> {
        let block = any::<(u32, u32)>().prop_map(|(left, right)| SackBlock {
            left: Seq(left),
            right: Seq(right),
        });
        let snack = (any::<u16>(), any::<NonZeroU16>(), any::<u64>(), 0u32..=64).prop_map(
            |(offset, size, bits, known)| Snack {
                offset,
                size,
                bits: bits & u64::MAX.checked_shl(64 - known).unwrap_or(0),
            },
        );
        let scps =
            any::<(u8, u8)>().prop_map(|(bits, connection)| ScpsCapabilities { bits, connection });
        (
            any::<Option<u16>>(),
            any::<Option<u8>>(),
            any::<bool>(),
            any::<Option<(u32, u32)>>(),
            proptest::collection::vec(block, 0..=MAX_SACK_BLOCKS),
            proptest::option::of(scps),
            proptest::option::of(snack),
            any::<(bool, bool)>(),
        )
            .prop_map(
                |(mss, window_scale, sack_permitted, timestamps, sack, scps, snack, marks)| {
                    Options {
                        mss,
                        window_scale,
                        sack_permitted,
                        timestamps: timestamps.map(|(value, echo)| Timestamps { value, echo }),
                        sack: sack.into_iter().collect(),
                        scps,
                        snack,
                        eln: marks.0,
                        ackp: marks.1,
                    }
                },
            )
    }

    fn body() -> impl Strategy<Value = Body> {
        prop_oneof![
            Just(Body::EMPTY),
            (1u32..3000).prop_map(Body::of_len),
            proptest::collection::vec(any::<u8>(), 1..3000).prop_map(|b| Body::of_bytes(&b)),
        ]
    }

    fn packet() -> impl Strategy<Value = Packet> {
        (
            any::<[u16; 4]>(),
            any::<[u32; 2]>(),
            any::<[u8; 3]>(),
            0u32..1 << 20,
            options(),
            body(),
        )
            .prop_map(
                |(
                    [ident, src_port, dst_port, window],
                    [seq, ack],
                    [ttl, flags, ecn],
                    node,
                    options,
                    body,
                )| {
                    Packet {
                        src: NodeId(node),
                        dst: NodeId(node + 1),
                        flow: FlowId(0),
                        from_opener: true,
                        ident,
                        ttl,
                        corrupt: false,
                        payload: Payload::Tcp(Segment {
                            src_port,
                            dst_port,
                            seq: Seq(seq),
                            ack: Seq(ack),
                            flags: Flags(flags),
                            ecn: Ecn::from_bits(ecn),
                            priority: Priority::from_dscp(ecn >> 7),
                            dummy: ecn & 0x40 != 0,
                            window,
                            options,
                            body,
                        }),
                    }
                },
            )
    }

    /// A packet whose options fit.
    fn fitting() -> impl Strategy<Value = Packet> {
        packet().prop_filter("too many options", |packet| {
            segment_of(packet).options.wire_len() <= MAX_OPTIONS_LEN
        })
    }

    /// What `decode` gives for a body of which only the length is known.
    fn with_zeros(segment: &Segment) -> Segment {
        let mut segment = segment.clone();
        if segment.body.bytes().is_none() && !segment.body.is_empty() {
            segment.body = Body::of_bytes(&vec![0; segment.body.len() as usize]);
        }
        segment
    }

    fn segment_of(packet: &Packet) -> &Segment {
        packet.tcp().unwrap()
    }

    fn segment_mut(packet: &mut Packet) -> &mut Segment {
        match &mut packet.payload {
            Payload::Tcp(segment) => segment,
            other @ (Payload::Udp(_) | Payload::Raw(_)) => panic!("{other:?}"),
        }
    }

    fn bytes_of(packet: &Packet) -> Vec<u8> {
        encode(packet, Addresses::of(packet)).unwrap()
    }

    /// A SYN and its bytes, to break.
    fn syn() -> (Packet, Vec<u8>) {
        let packet = Packet {
            src: NodeId(0),
            dst: NodeId(1),
            flow: FlowId(0),
            from_opener: true,
            ident: 7,
            ttl: 64,
            corrupt: false,
            payload: Payload::Tcp(Segment {
                src_port: 49_152,
                dst_port: 80,
                flags: Flags::SYN,
                window: 65_535,
                options: Options {
                    mss: Some(1460),
                    ..Options::default()
                },
                ..Segment::default()
            }),
        };
        let bytes = bytes_of(&packet);
        (packet, bytes)
    }

    /// Puts both checksums right again after a change.
    fn mend(bytes: &mut [u8]) {
        bytes[10..12].fill(0);
        let sum = Sum16BitWords::new()
            .add_slice(&bytes[..20])
            .ones_complement()
            .to_be();
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        bytes[36..38].fill(0);
        let sum = Sum16BitWords::new()
            .add_slice(&bytes[12..20])
            .add_2bytes([0, 6])
            .add_2bytes((bytes.len() as u16 - 20).to_be_bytes())
            .add_slice(&bytes[20..])
            .ones_complement()
            .to_be();
        bytes[36..38].copy_from_slice(&sum.to_be_bytes());
    }

    proptest! {
        /// The length is the modelled one, and nothing is lost on the way.
        #[test]
        fn decode_inverts_encode(packet in fitting()) {
            let bytes = bytes_of(&packet);
            prop_assert_eq!(bytes.len() as u32, packet.ip_len());
            let (ip, segment) = decode(&bytes).unwrap();
            prop_assert_eq!(segment, with_zeros(segment_of(&packet)));
            let addresses = Addresses::of(&packet);
            prop_assert_eq!(ip, Ipv4Fields { addresses, ident: packet.ident, ttl: packet.ttl });
        }

        /// Padding behind the datagram changes nothing; a prefix is a prefix.
        #[test]
        fn what_is_behind_does_not_count(packet in fitting(), max in 0u32..200) {
            let whole = bytes_of(&packet);
            let mut padded = whole.clone();
            padded.extend_from_slice(&[0xa5; 9]);
            prop_assert_eq!(decode(&padded), decode(&whole));
            let mut prefix = vec![1, 2, 3];
            encode_prefix(&packet, Addresses::of(&packet), max, &mut prefix).unwrap();
            let end = whole.len().min(max as usize);
            prop_assert_eq!(&prefix[3..], &whole[..end]);
        }

        /// Every combination that exceeds the header is refused, no other.
        #[test]
        fn options_end_at_forty_bytes(packet in packet()) {
            let len = segment_of(&packet).options.wire_len();
            let result = encode(&packet, Addresses::of(&packet));
            if len > MAX_OPTIONS_LEN {
                prop_assert_eq!(result, Err(WireError::TooManyOptions(len)));
            } else {
                prop_assert!(result.is_ok());
            }
        }

        /// Any one flipped bit is noticed, and so is the mark.
        #[test]
        fn changed_bits_are_noticed(mut packet in fitting(), bit: prop::sample::Index) {
            let mut bytes = bytes_of(&packet);
            let bit = bit.index(8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(decode(&bytes).is_err());
            packet.corrupt = true;
            prop_assert_eq!(decode(&bytes_of(&packet)), Err(WireError::TcpChecksum));
        }

        /// Nothing makes it panic, with right checksums or without.
        #[test]
        fn garbage_is_refused_or_read(
            packet in fitting(),
            changes in proptest::collection::vec(any::<(prop::sample::Index, u8)>(), 0..8),
            cut: prop::sample::Index,
            noise in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            let _ = decode(&noise);
            let mut bytes = bytes_of(&packet);
            for (at, value) in changes {
                // Behind the fixed parts, so that options and flags get their share.
                let at = 32 + at.index(bytes.len() - 32).min(48);
                bytes[at] = value;
            }
            mend(&mut bytes);
            let _ = decode(&bytes);
            let _ = decode(&bytes[..cut.index(bytes.len())]);
        }
    }

    #[test]
    fn a_known_packet_has_its_known_bytes() {
        let (_, bytes) = syn();
        #[rustfmt::skip]
        let expected = [
            0x45, 0, 0, 44, 0, 7, 0x40, 0, 64, 6, 0x26, 0xc3, 10, 0, 0, 1, 10, 0, 0, 2,
            0xc0, 0, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x60, 2, 0xff, 0xff, 0xc3, 0xd3, 0, 0,
            2, 4, 0x05, 0xb4,
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn a_datagram_has_its_known_bytes() {
        let packet = Packet {
            payload: Payload::Udp(Datagram {
                src_port: 9,
                dst_port: 7,
                body: Body::of_bytes(&[0xff, 0]),
                ..Datagram::default()
            }),
            ..syn().0
        };
        let bytes = bytes_of(&packet);
        assert_eq!(bytes.len() as u32, packet.ip_len());
        #[rustfmt::skip]
        let expected = [
            // 0a00 0001 0a00 0002 0011 000a 0009 0007 000a ff00 sum to 1_1338.
            0, 9, 0, 7, 0, 10, 0xec, 0xc6, 0xff, 0,
        ];
        assert_eq!(bytes[20..], expected);
        assert_eq!(bytes[9], 17);
        assert_eq!(decode(&bytes), Err(WireError::NotTcp(17)));
    }

    #[test]
    fn the_ecn_field_ends_the_type_of_service() {
        let (mut packet, _) = syn();
        for (ecn, tos) in [(Ecn::Ect1, 1), (Ecn::Ect0, 2), (Ecn::Ce, 3)] {
            packet.set_ecn(ecn);
            let bytes = bytes_of(&packet);
            assert_eq!(bytes[1], tos);
            // RFC 1624: the checksum falls by what the field rises by.
            assert_eq!(bytes[10..12], (0x26c3 - u16::from(tos)).to_be_bytes());
        }
    }

    #[test]
    fn a_dummy_has_a_reserved_bit() {
        let (mut packet, plain) = syn();
        segment_mut(&mut packet).dummy = true;
        let bytes = bytes_of(&packet);
        assert_eq!(bytes[32], plain[32] | 0b1000);
        assert!(decode(&bytes).unwrap().1.dummy);
    }

    #[test]
    fn lower_effort_begins_the_type_of_service() {
        let (mut packet, _) = syn();
        segment_mut(&mut packet).priority = Priority::Low;
        packet.set_ecn(Ecn::Ect0);
        let mut bytes = bytes_of(&packet);
        // RFC 8622, 5: 000001, and then the two bits of ECN.
        assert_eq!(bytes[1], 0b0000_0110);
        // Every other codepoint is a class that this program does not have.
        bytes[1] = 0b1011_1010;
        mend(&mut bytes);
        assert_eq!(decode(&bytes).unwrap().1.priority, Priority::Normal);
    }

    #[test]
    fn unknown_options_are_skipped_and_the_end_ends() {
        let (packet, mut bytes) = syn();
        // Four more bytes of options behind the MSS, wherever the length fits.
        let options: [&[u8]; 4] = [
            &[253, 4, 0xde, 0xad, 2, 4, 0x05, 0xb4],
            &[2, 4, 0x05, 0xb4, 253, 2, 1, 1],
            &[2, 4, 0x05, 0xb4, 0, 9, 9, 9],
            &[1, 2, 4, 0x05, 0xb4, 254, 2, 0],
        ];
        for options in options {
            bytes.truncate(40);
            bytes.extend_from_slice(options);
            bytes[3] = 48;
            bytes[32] = 0x70;
            mend(&mut bytes);
            let (_, segment) = decode(&bytes).unwrap();
            assert_eq!(&segment, segment_of(&packet), "{options:?}");
        }
    }

    #[test]
    fn malformed_options_are_refused_with_kind_and_place() {
        let (_, mut bytes) = syn();
        let options: [(&[u8; 4], u8, usize); 9] = [
            (&[2, 3, 5, 1], 2, 0),
            (&[2, 5, 5, 1], 2, 0),
            (&[2, 0, 5, 1], 2, 0),
            (&[1, 1, 3, 2], 3, 2),
            (&[1, 1, 1, 3], 3, 3),
            (&[4, 3, 0, 0], 4, 0),
            (&[1, 1, 5, 2], 5, 2),
            (&[77, 1, 0, 0], 77, 0),
            (&[21, 4, 0, 0], 21, 0),
        ];
        for (options, kind, at) in options {
            bytes[40..].copy_from_slice(options);
            mend(&mut bytes);
            assert_eq!(decode(&bytes), Err(WireError::Option { kind, at }));
        }
    }

    #[test]
    fn what_is_no_segment_is_refused_with_the_reason() {
        let broken = |change: fn(&mut Vec<u8>), mended: bool| {
            let (_, mut bytes) = syn();
            change(&mut bytes);
            if mended {
                mend(&mut bytes);
            }
            decode(&bytes).unwrap_err()
        };
        assert_eq!(broken(|b| b[8] = 63, false), WireError::Ipv4Checksum);
        assert_eq!(broken(|b| b[35] = 0, false), WireError::TcpChecksum);
        assert_eq!(broken(|b| b[6] = 0x20, true), WireError::Fragment);
        assert_eq!(broken(|b| b[7] = 1, true), WireError::Fragment);
        assert_eq!(broken(|b| b[9] = 17, true), WireError::NotTcp(17));
        let length = |total| WireError::Ipv4Length {
            total,
            header: 20,
            available: 44,
        };
        assert_eq!(broken(|b| b[3] = 45, true), length(45));
        assert_eq!(broken(|b| b[3] = 19, true), length(19));
        assert!(matches!(broken(|b| b[0] = 0x65, true), WireError::Ipv4(_)));
        assert!(matches!(broken(|b| b[0] = 0x44, true), WireError::Ipv4(_)));
        assert!(matches!(broken(Vec::clear, false), WireError::Ipv4(_)));
        assert!(matches!(broken(|b| b[32] = 0x40, true), WireError::Tcp(_)));
        assert!(matches!(broken(|b| b[32] = 0x70, true), WireError::Tcp(_)));
    }

    #[test]
    fn datagrams_end_at_the_length_field() {
        let (mut packet, _) = syn();
        let room = MAX_IPV4_LEN - IPV4_HEADER_LEN - TCP_HEADER_LEN - 4;
        segment_mut(&mut packet).body = Body::of_len(room);
        assert_eq!(bytes_of(&packet).len(), 65_535);
        segment_mut(&mut packet).body = Body::of_len(room + 1);
        let error = encode(&packet, Addresses::of(&packet)).unwrap_err();
        assert_eq!(error, WireError::TooLong(65_536));
    }

    #[test]
    fn nodes_have_addresses_of_their_own() {
        assert_eq!(node_address(NodeId(0)), Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(node_address(NodeId(255)), Ipv4Addr::new(10, 0, 1, 0));
        assert_eq!(
            node_address(NodeId(0xff_fffd)),
            Ipv4Addr::new(10, 255, 255, 254)
        );
    }
}
