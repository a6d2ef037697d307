//! Tests of IPv6 packets as bytes, whose header fields are read by another parser.

use super::super::{decode, encode};
use super::*;
use crate::fragment::Mtu;
use crate::id::NodeId;
use crate::packet::{Datagram, Payload, Raw};
use crate::xtp::Pdu;
use etherparse::{Ipv6FragmentHeaderSlice, Ipv6HeaderSlice, TcpSlice, UdpSlice};
use farlink_tcp::{Body, Dscp, Ecn, Flags, Priority, Segment, Seq};

fn packet(payload: Payload) -> Packet {
    Packet {
        ident: 0xabcd,
        ttl: 61,
        ip: Ip::V6,
        ..Packet::new(NodeId(0), NodeId(0x2_0003), payload)
    }
}

fn segment() -> Segment {
    Segment {
        src_port: 49_152,
        dst_port: 5001,
        seq: Seq(1),
        flags: Flags::ACK,
        ecn: Ecn::Ect0,
        dscp: Dscp::LE,
        body: Body::of_bytes(b"odd"),
        ..Segment::default()
    }
}

fn datagram(body: Body) -> Datagram {
    Datagram {
        src_port: 9,
        dst_port: 7,
        ecn: Ecn::Ce,
        body,
        ..Datagram::default()
    }
}

fn bytes_of(packet: &Packet) -> Vec<u8> {
    encode(packet, Addresses::of(packet)).unwrap()
}

#[test]
fn segment_is_encoded_with_ipv6_header_and_checksum() {
    let packet = packet(Payload::Tcp(segment()));
    let bytes = bytes_of(&packet);
    assert_eq!((bytes.len(), packet.ip_len()), (40 + 20 + 3, 63));
    let ip = Ipv6HeaderSlice::from_slice(&bytes).unwrap().to_header();
    assert_eq!((ip.payload_length, ip.hop_limit), (23, 61));
    assert_eq!(ip.next_header, IpNumber::TCP);
    assert_eq!(ip.traffic_class, Dscp::LE.bits() << 2 | Ecn::Ect0.bits());
    assert_eq!(
        ip.source_addr(),
        "fd66:6172:6c6b::1".parse::<std::net::Ipv6Addr>().unwrap()
    );
    assert_eq!(
        ip.destination_addr(),
        "fd66:6172:6c6b::2:4".parse::<std::net::Ipv6Addr>().unwrap()
    );
    let tcp = TcpSlice::from_slice(&bytes[40..]).unwrap();
    let expected = tcp.calc_checksum_ipv6(ip.source, ip.destination).unwrap();
    assert_eq!(tcp.checksum(), expected);
    let (fields, read) = decode(&bytes).unwrap();
    assert_eq!(read, segment());
    assert_eq!((fields.ttl, fields.addresses), (61, Addresses::of(&packet)));
    // The same bytes as a packet of a real program have the same fields.
    let raw = Raw::new(bytes).unwrap();
    assert_eq!((raw.ip(), raw.ttl()), (Ip::V6, 61));
    let real = Packet {
        payload: Payload::Raw(raw),
        ..packet.clone()
    };
    assert_eq!(real.ports(), packet.ports());
    assert_eq!((real.ecn(), real.priority()), (Ecn::Ect0, Priority::Low));
}

/// Each direction of each flow has its own label, which is the same in all packets and never 0 (RFC
/// 6437, 3).
#[test]
fn flow_label_depends_on_the_flow() {
    let label = |packet: &Packet| {
        let bytes = bytes_of(packet);
        Ipv6HeaderSlice::from_slice(&bytes)
            .unwrap()
            .flow_label()
            .value()
    };
    let item = packet(Payload::Tcp(segment()));
    let mut later = packet(Payload::Tcp(Segment {
        seq: Seq(99),
        body: Body::EMPTY,
        ..segment()
    }));
    later.ttl = 3;
    assert_eq!(label(&item), label(&later));
    let mut observed = std::collections::BTreeSet::from([label(&item)]);
    let back = Packet {
        src: item.dst,
        dst: item.src,
        ..item.clone()
    };
    observed.insert(label(&back));
    for port in 1..=200 {
        let mut other = segment();
        other.src_port = port;
        observed.insert(label(&packet(Payload::Tcp(other))));
        let mut other = datagram(Body::EMPTY);
        other.dst_port = port;
        observed.insert(label(&packet(Payload::Udp(other))));
    }
    assert!(!observed.contains(&0));
    // Among 402 of 2^20 values 0.08 equal pairs are expected.
    assert!(observed.len() >= 401, "{}", observed.len());
    // FNV-1a over addresses, protocol and ports, folded to 20 bits.
    let v4 = Addresses {
        src: IpAddr::from([0, 0, 0, 0]),
        dst: IpAddr::from([0, 0, 0, 0]),
    };
    let mut hash = 0x811c_9dc5_u32;
    for byte in [0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 1, 0, 2] {
        hash = (hash ^ byte).wrapping_mul(16_777_619);
    }
    assert_eq!(flow_label(v4, 6, (1, 2)), (hash % (1 << 20)) ^ (hash >> 20));
}

/// Over IPv6 the UDP checksum is mandatory (RFC 8200, 8.1).
#[test]
fn udp_and_xtp_checksums_cover_the_ipv6_pseudo_header() {
    let pdu = Pdu::default();
    let of_xtp = Datagram {
        carried: Some(Box::new(pdu.clone().into())),
        ..datagram(Body::of_len(pdu.wire_len()))
    };
    let bodies = (0..=255).map(|n| datagram(Body::of_bytes(&[n, 2 * (n % 128)])));
    for datagram in bodies.chain([datagram(Body::of_len(999)), of_xtp]) {
        let packet = packet(Payload::Udp(datagram));
        let bytes = bytes_of(&packet);
        assert_eq!(bytes.len() as u32, packet.ip_len());
        let ip = Ipv6HeaderSlice::from_slice(&bytes).unwrap().to_header();
        let udp = UdpSlice::from_slice(&bytes[40..]).unwrap();
        assert_eq!(udp.length() as usize, bytes.len() - 40);
        let expected = udp
            .to_header()
            .calc_checksum_ipv6(&ip, udp.payload())
            .unwrap();
        assert_eq!(udp.checksum(), expected);
        assert_ne!(udp.checksum(), 0);
        assert_eq!(ip.traffic_class, Ecn::Ce.bits());
    }
}

/// 3000 bytes of data in packets of up to 1280 bytes: multiples of 8 bytes after 48 bytes of
/// headers.
#[test]
fn reassembled_fragments_equal_the_packet() {
    let body: Vec<u8> = (0..=255).cycle().take(3000).collect();
    let whole = packet(Payload::Udp(datagram(Body::of_bytes(&body))));
    let bytes = bytes_of(&whole);
    let all = Piece {
        offset: 0,
        len: 3008,
        more: false,
    };
    let mtu = Mtu {
        bytes: 1280,
        unit: 8,
    };
    let (mut data, mut lengths) = (Vec::new(), Vec::new());
    for piece in mtu.cut(all, whole.ip.fragment_header_len()) {
        let part = Packet {
            piece: Some(piece),
            ..whole.clone()
        };
        let of_part = bytes_of(&part);
        assert_eq!(of_part.len() as u32, part.ip_len());
        lengths.push(of_part.len());
        let ip = Ipv6HeaderSlice::from_slice(&of_part).unwrap();
        assert_eq!(usize::from(ip.payload_length()), of_part.len() - 40);
        assert_eq!(ip.next_header(), IpNumber::IPV6_FRAGMENTATION_HEADER);
        assert_eq!(of_part[..4], bytes[..4], "class and label are the whole's");
        assert_eq!(of_part[7..40], bytes[7..40]);
        let header = Ipv6FragmentHeaderSlice::from_slice(&of_part[40..]).unwrap();
        assert_eq!(header.next_header(), IpNumber::UDP);
        assert_eq!(header.fragment_offset().value() * 8, piece.offset);
        assert_eq!(header.more_fragments(), piece.more);
        assert_eq!(header.identification(), 0xabcd);
        assert_eq!(decode(&of_part), Err(WireError::Fragment));
        data.extend_from_slice(&of_part[48..]);
    }
    assert_eq!(lengths, [1280, 1280, 3008 - 2 * 1232 + 48]);
    assert_eq!(data, bytes[40..]);
    let nowhere = Packet {
        piece: Some(Piece { offset: 108, ..all }),
        ..whole
    };
    let refused = encode(&nowhere, Addresses::of(&nowhere));
    assert_eq!(refused, Err(WireError::FragmentOffset(108)));
}

#[test]
fn invalid_ipv6_segment_is_refused_with_the_reason() {
    let good = bytes_of(&packet(Payload::Tcp(segment())));
    let broken = |change: fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        decode(&bytes).unwrap_err()
    };
    assert!(matches!(broken(|b| b.truncate(5)), WireError::Ipv6(_)));
    assert!(matches!(broken(|b| b[5] += 1), WireError::Ipv6(_)));
    assert_eq!(broken(|b| b[6] = 17), WireError::NotTcp(17));
    assert_eq!(broken(|b| b[62] ^= 1), WireError::TcpChecksum);
    assert_eq!(broken(|b| b[23] ^= 1), WireError::TcpChecksum);
    let fragment = |b: &mut Vec<u8>| {
        b[5] += 8;
        b[6] = ipv6::FRAGMENT;
        b.splice(40..40, [6, 0, 0, 1, 0, 0, 0, 9]);
    };
    assert_eq!(broken(fragment), WireError::Fragment);
    let mut bytes = good.clone();
    fragment(&mut bytes);
    assert!(is_tcp_fragment(&bytes) && !is_tcp_fragment(&good));
    bytes[40] = 17;
    assert!(!is_tcp_fragment(&bytes) && !is_tcp_fragment(&bytes[..30]));
    // A segment after an extension header is decoded.
    let mut extended = good;
    extended[5] += 8;
    extended[6] = 60;
    extended.splice(40..40, [6, 0, 1, 4, 0, 0, 0, 0]);
    assert_eq!(decode(&extended).unwrap().1, segment());
    assert_eq!(segment_at(&extended), 48);
}

#[test]
fn length_and_addresses_must_match_the_header() {
    let mut packet = packet(Payload::Tcp(segment()));
    let with = |packet: &mut Packet, len| {
        let Payload::Tcp(segment) = &mut packet.payload else {
            unreachable!()
        };
        segment.body = Body::of_len(len);
        encode(packet, Addresses::of(packet))
    };
    let longest = with(&mut packet, 65_535 - 20).unwrap();
    assert_eq!(
        (longest.len(), longest[4..6].to_vec()),
        (65_575, vec![255; 2])
    );
    let refused = with(&mut packet, 65_536 - 20);
    assert_eq!(refused, Err(WireError::TooLong(65_576)));
    with(&mut packet, 1).unwrap();
    let v4 = Packet {
        ip: Ip::default(),
        ..packet.clone()
    };
    let refused = encode(&packet, Addresses::of(&v4));
    assert_eq!(refused, Err(WireError::Addresses));
}
