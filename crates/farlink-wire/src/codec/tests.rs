//! Tests of encoding and decoding.

use super::*;
use crate::fragment::IPV4_HEADER_LEN;
use crate::id::{FlowId, NodeId};
use crate::packet::Datagram;
use etherparse::Ipv4HeaderSlice;
use etherparse::checksum::Sum16BitWords;
use farlink_tcp::segment::{MAX_SACK_BLOCKS, TCP_HEADER_LEN};
use farlink_tcp::{
    AccEcnOption, AckRateOption, DataMapping, Extra, FastOpenCookie, FieldOrder, RareOptions,
    SackBlock, ScpsCapabilities, Snack, Timestamps,
};
use proptest::prelude::*;
use std::net::Ipv4Addr;
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
    let extra = prop_oneof![
        Just(Extra::None),
        snack.prop_map(Extra::Snack),
        Just(Extra::CookieRequest),
        any::<u64>().prop_map(|cookie| Extra::Cookie(FastOpenCookie(cookie))),
    ];
    let accecn = (
        any::<bool>(),
        proptest::collection::vec(0u32..1 << 24, 0..=3),
    )
        .prop_map(|(ect0_first, fields)| {
            let order = if ect0_first {
                FieldOrder::Ect0First
            } else {
                FieldOrder::Ect1First
            };
            AccEcnOption::new(order, &fields)
        });
    let scps =
        any::<(u8, u8)>().prop_map(|(bits, connection)| ScpsCapabilities { bits, connection });
    (
        any::<Option<u16>>(),
        any::<Option<u8>>(),
        any::<bool>(),
        any::<Option<(u32, u32)>>(),
        proptest::collection::vec(block, 0..=MAX_SACK_BLOCKS),
        proptest::option::of(scps),
        extra,
        any::<(bool, bool, bool, Option<Option<u8>>)>(),
        proptest::option::of(accecn),
    )
        .prop_map(
            |(mss, window_scale, sack_permitted, timestamps, sack, scps, extra, marks, accecn)| {
                let timestamps = timestamps.map(|(value, echo)| Timestamps { value, echo });
                Options::from(timestamps).with(RareOptions {
                    mss,
                    window_scale,
                    sack_permitted,
                    sack: sack.into_iter().collect(),
                    scps,
                    accecn,
                    extra,
                    ack_rate: marks.3.map(|rate| match rate {
                        None => AckRateOption::Capable,
                        Some(rate) => AckRateOption::Every(rate & 0x7f),
                    }),
                    eln: marks.0,
                    ackp: marks.1,
                    nack: marks.2,
                })
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
        prop_oneof![Just(Ip::default()), Just(Ip::V6)],
    )
        .prop_map(
            |(
                [ident, src_port, dst_port, window],
                [seq, ack],
                [ttl, flags, ecn],
                node,
                options,
                body,
                ip,
            )| {
                Packet {
                    src: NodeId(node),
                    dst: NodeId(node + 1),
                    flow: FlowId(0),
                    from_opener: true,
                    ident,
                    ttl,
                    corrupt: false,
                    ip,
                    piece: None,
                    payload: Payload::Tcp(Segment {
                        src_port,
                        dst_port,
                        seq: Seq(seq),
                        ack: Seq(ack),
                        flags: Flags(flags),
                        ecn: Ecn::from_bits(ecn),
                        dscp: Dscp::new(ecn >> 2),
                        dummy: ecn & 0x40 != 0,
                        ae: ecn & 0x20 != 0,
                        window,
                        options,
                        body,
                    }),
                }
            },
        )
}

/// Packets whose options fit into the header.
fn fitting() -> impl Strategy<Value = Packet> {
    packet().prop_filter("too many options", |packet| {
        segment_of(packet).options.wire_len() <= MAX_OPTIONS_LEN
    })
}

/// Returns `segment` in the form that `decode` returns: a body without contents becomes zeros.
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

/// Returns a SYN and its bytes, for tests that corrupt it.
fn syn() -> (Packet, Vec<u8>) {
    let packet = Packet {
        flow: FlowId(0),
        ident: 7,
        ..Packet::new(
            NodeId(0),
            NodeId(1),
            Payload::Tcp(Segment {
                src_port: 49_152,
                dst_port: 80,
                flags: Flags::SYN,
                window: 65_535,
                options: RareOptions {
                    mss: Some(1460),
                    ..RareOptions::NONE
                }
                .into(),
                ..Segment::default()
            }),
        )
    };
    let bytes = bytes_of(&packet);
    (packet, bytes)
}

/// Recomputes both checksums.
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
    /// The encoded length is the modelled length, and decoding returns the same packet.
    #[test]
    fn decode_inverts_encode(packet in fitting()) {
        let bytes = bytes_of(&packet);
        prop_assert_eq!(bytes.len() as u32, packet.ip_len());
        let (ip, segment) = decode(&bytes).unwrap();
        prop_assert_eq!(segment, with_zeros(segment_of(&packet)));
        let addresses = Addresses::of(&packet);
        let ident = if packet.ip == Ip::V6 { 0 } else { packet.ident };
        prop_assert_eq!(ip, IpFields { addresses, ident, ttl: packet.ttl });
    }

    /// Padding after the datagram changes nothing, and a truncated encoding is a prefix of the
    /// whole encoding.
    #[test]
    fn padding_behind_the_datagram_is_ignored(packet in fitting(), max in 0u32..200) {
        let whole = bytes_of(&packet);
        let mut padded = whole.clone();
        padded.extend_from_slice(&[0xa5; 9]);
        prop_assert_eq!(decode(&padded), decode(&whole));
        let mut prefix = vec![1, 2, 3];
        encode_prefix(&packet, Addresses::of(&packet), max, &mut prefix).unwrap();
        let end = whole.len().min(max as usize);
        prop_assert_eq!(&prefix[3..], &whole[..end]);
    }

    /// Encoding refuses exactly the combinations of options that exceed 40 bytes.
    #[test]
    fn options_beyond_forty_bytes_are_refused(packet in packet()) {
        let len = segment_of(&packet).options.wire_len();
        let result = encode(&packet, Addresses::of(&packet));
        if len > MAX_OPTIONS_LEN {
            prop_assert_eq!(result, Err(WireError::TooManyOptions(len)));
        } else {
            prop_assert!(result.is_ok());
        }
    }

    /// Decoding detects any single flipped bit, and a packet that is marked corrupt. IPv6 has no
    /// checksum over traffic class, flow label and hop limit.
    #[test]
    fn flipped_bits_are_detected(mut packet in fitting(), bit: prop::sample::Index) {
        let mut bytes = bytes_of(&packet);
        let bit = bit.index(8 * bytes.len());
        prop_assume!(packet.ip != Ip::V6 || !matches!(bit, 0..4 | 8..32 | 56..64));
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(decode(&bytes).is_err());
        packet.corrupt = true;
        prop_assert_eq!(decode(&bytes_of(&packet)), Err(WireError::TcpChecksum));
    }

    /// Decoding of random bytes never panics, with right and with wrong checksums.
    #[test]
    fn random_bytes_cause_no_decoder_panic(
        packet in fitting(),
        changes in proptest::collection::vec(any::<(prop::sample::Index, u8)>(), 0..8),
        cut: prop::sample::Index,
        noise in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        let _ = decode(&noise);
        let mut bytes = bytes_of(&packet);
        for (at, value) in changes {
            // The changes follow the fixed header fields, so options and flags are covered.
            let at = 32 + at.index(bytes.len() - 32).min(48);
            bytes[at] = value;
        }
        mend(&mut bytes);
        let _ = decode(&bytes);
        let _ = decode(&bytes[..cut.index(bytes.len())]);
    }
}

#[test]
fn packet_encodes_to_known_bytes() {
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
fn datagram_encodes_to_known_bytes() {
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
        // The 16-bit words 0a00 0001 0a00 0002 0011 000a 0009 0007 000a ff00 sum to 1_1338.
        0, 9, 0, 7, 0, 10, 0xec, 0xc6, 0xff, 0,
    ];
    assert_eq!(bytes[20..], expected);
    assert_eq!(bytes[9], 17);
    assert_eq!(decode(&bytes), Err(WireError::NotTcp(17)));
}

#[test]
fn ecn_is_in_the_lower_bits_of_type_of_service() {
    let (mut packet, _) = syn();
    for (ecn, tos) in [(Ecn::Ect1, 1), (Ecn::Ect0, 2), (Ecn::Ce, 3)] {
        packet.set_ecn(ecn);
        let bytes = bytes_of(&packet);
        assert_eq!(bytes[1], tos);
        // By RFC 1624, the checksum falls by the same amount as the field rises.
        assert_eq!(bytes[10..12], (0x26c3 - u16::from(tos)).to_be_bytes());
    }
}

#[test]
fn dummy_sets_the_reserved_bit() {
    let (mut packet, plain) = syn();
    segment_mut(&mut packet).dummy = true;
    let bytes = bytes_of(&packet);
    assert_eq!(bytes[32], plain[32] | 0b1000);
    assert!(decode(&bytes).unwrap().1.dummy);
}

#[test]
fn lower_effort_is_in_the_upper_bits_of_type_of_service() {
    let (mut packet, _) = syn();
    segment_mut(&mut packet).dscp = Dscp::LE;
    packet.set_ecn(Ecn::Ect0);
    let mut bytes = bytes_of(&packet);
    // RFC 8622, 5: codepoint 000001, followed by the two bits of ECN.
    assert_eq!(bytes[1], 0b0000_0110);
    // Expedited forwarding is 101110.
    bytes[1] = 0b1011_1010;
    mend(&mut bytes);
    assert_eq!(decode(&bytes).unwrap().1.dscp, Dscp::new(46));
}

#[test]
fn unknown_options_are_skipped_until_end_of_list() {
    let (packet, mut bytes) = syn();
    // Four more bytes of options after the MSS, wherever the length allows them.
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
fn malformed_option_error_has_kind_and_offset() {
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
fn invalid_segment_is_refused_with_the_reason() {
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
    assert!(matches!(broken(|b| b[0] = 0x55, true), WireError::Ipv4(_)));
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
fn node_addresses_count_up_from_10_0_0_1() {
    assert_eq!(node_address(NodeId(0)), Ipv4Addr::new(10, 0, 0, 1));
    assert_eq!(node_address(NodeId(255)), Ipv4Addr::new(10, 0, 1, 0));
    assert_eq!(
        node_address(NodeId(0xff_fffd)),
        Ipv4Addr::new(10, 255, 255, 254)
    );
}

#[test]
fn reassembled_fragments_equal_the_datagram() {
    use crate::fragment::{Mtu, Piece};
    let mut packet = Packet {
        flow: FlowId(0),
        ident: 77,
        ip: Ip::V4,
        ..Packet::new(
            NodeId(0),
            NodeId(1),
            Payload::Tcp(Segment {
                src_port: 1,
                dst_port: 2,
                body: Body::of_bytes(&(0..=255).cycle().take(1460).collect::<Vec<u8>>()),
                ..Segment::default()
            }),
        )
    };
    let addresses = Addresses::of(&packet);
    let whole = encode(&packet, addresses).unwrap();
    let all = Piece {
        offset: 0,
        len: 1480,
        more: false,
    };
    let mut data = Vec::new();
    for piece in (Mtu {
        bytes: 576,
        unit: 8,
    })
    .cut(all, 20)
    {
        packet.piece = Some(piece);
        let bytes = encode(&packet, addresses).unwrap();
        assert_eq!(bytes.len() as u32, packet.ip_len());
        let header = Ipv4HeaderSlice::from_slice(&bytes).unwrap();
        assert_eq!(
            header.header_checksum(),
            header.to_header().calc_header_checksum()
        );
        assert_eq!(header.fragments_offset().value() * 8, piece.offset);
        assert_eq!(header.more_fragments(), piece.more);
        assert_eq!(
            (header.identification(), header.dont_fragment()),
            (77, false)
        );
        assert_eq!(decode(&bytes), Err(WireError::Fragment));
        data.extend_from_slice(&bytes[20..]);
    }
    assert_eq!(data, whole[20..]);
    packet.piece = Some(Piece { offset: 108, ..all });
    assert_eq!(
        encode(&packet, addresses),
        Err(WireError::FragmentOffset(108))
    );
}

#[test]
fn cookies_encode_to_known_bytes() {
    let bytes = |extra| {
        let options = Options::from(RareOptions {
            extra,
            ..RareOptions::NONE
        });
        let bytes = options_bytes(&options);
        assert_eq!(bytes.len() as u32, options.wire_len());
        bytes.to_vec()
    };
    assert_eq!(bytes(Extra::CookieRequest), [1, 1, 34, 2]);
    let cookie = Extra::Cookie(FastOpenCookie(0x0102_0304_0506_0708));
    assert_eq!(bytes(cookie), [1, 1, 34, 10, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn data_sequence_signals_encode_to_known_bytes() {
    let ack = Extra::DataAck(0x0102_0304);
    let mapping = Extra::Mapping(DataMapping {
        dsn: 0x0506_0708,
        subflow_seq: 9,
        len: 0x0594,
    });
    let wire: [&[u8]; 2] = [
        &[30, 8, 0x20, 1, 1, 2, 3, 4],
        &[
            1, 1, 30, 18, 0x20, 5, 0, 0, 0, 0, 5, 6, 7, 8, 0, 0, 0, 9, 5, 0x94,
        ],
    ];
    for (extra, expected) in [ack, mapping].into_iter().zip(wire) {
        let options = Options::from(RareOptions {
            extra,
            ..RareOptions::NONE
        });
        let bytes = options_bytes(&options);
        assert_eq!(&bytes[..], expected);
        assert_eq!(bytes.len() as u32, options.wire_len());
        assert_eq!(parse_options(&bytes).unwrap().extra, extra);
    }
    // A DSS option of another form is ignored.
    let other = parse_options(&[30, 4, 0x20, 0x11]).unwrap();
    assert_eq!(other.extra, Extra::None);
}

#[test]
fn cookies_of_other_lengths_are_requests_or_ignored() {
    let read = |bytes: &[u8]| parse_options(bytes).unwrap().extra;
    assert_eq!(read(&[34, 6, 1, 2, 3, 4]), Extra::CookieRequest);
    assert_eq!(read(&[34, 5, 1, 2, 3]), Extra::None, "too short");
    assert_eq!(read(&[34, 7, 1, 2, 3, 4, 5]), Extra::None, "odd");
    let long = [&[34, 20][..], &[9; 18]].concat();
    assert_eq!(read(&long), Extra::None, "too long");
}

fn accecn(option: AccEcnOption) -> Options {
    Options::from(RareOptions {
        accecn: Some(option),
        ..RareOptions::NONE
    })
}

/// RFC 9768, figure 4 and table 5: 24-bit fields in network byte order.
#[test]
fn accecn_fields_are_24_bits_in_network_byte_order() {
    let option = AccEcnOption::new(FieldOrder::Ect0First, &[0x01_0203, 0x04_0506, 1]);
    let bytes = options_bytes(&accecn(option));
    assert_eq!(bytes.as_slice(), [1, 172, 11, 1, 2, 3, 4, 5, 6, 0, 0, 1]);
    let option = AccEcnOption::new(FieldOrder::Ect1First, &[1]);
    let bytes = options_bytes(&accecn(option));
    assert_eq!(bytes.as_slice(), [1, 1, 1, 174, 5, 0, 0, 1]);
}

#[test]
fn every_length_of_accecn_is_read_back() {
    for order in [FieldOrder::Ect0First, FieldOrder::Ect1First] {
        for len in 0..=3 {
            let sent = accecn(AccEcnOption::new(order, &[70_000, 0xff_ffff, 1][..len]));
            let bytes = options_bytes(&sent);
            assert_eq!(bytes.len() as u32, sent.wire_len());
            assert_eq!(parse_options(&bytes).unwrap(), sent);
        }
    }
}

/// 3.2.3: an unknown length is no error; whole fields count.
#[test]
fn whole_fields_of_accecn_of_another_length_count() {
    let longer = [&[174, 16][..], &[0, 0, 1, 0, 0, 2, 0, 0, 3, 9, 9, 9, 9, 9]].concat();
    let read = parse_options(&longer).unwrap();
    let all = AccEcnOption::new(FieldOrder::Ect1First, &[1, 2, 3]);
    assert_eq!(read.accecn, Some(all));
    let read = parse_options(&[172, 7, 0, 0, 5, 9, 9]).unwrap();
    let first = AccEcnOption::new(FieldOrder::Ect0First, &[5]);
    assert_eq!(read.accecn, Some(first));
}
