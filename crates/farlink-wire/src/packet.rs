//! A packet: an IP header as plain values, and its payload.

use crate::carried::Carried;
pub use crate::fragment::IPV4_HEADER_LEN;
use crate::fragment::{FRAGMENT_HEADER_LEN, Mtu, Piece, write_fragment_fields};
use crate::id::{FlowId, NodeId};
use crate::ipv6;
use farlink_tcp::{Body, Dscp, Ecn, Instant, Interval, IpVersion, Priority, Segment};
use std::net::{IpAddr, Ipv4Addr};

/// Protocol number of TCP.
const TCP: u8 = 6;
/// Bytes of a UDP header (RFC 768).
pub const UDP_HEADER_LEN: u32 = 8;

/// A packet in the network.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(align(32))] // A smaller alignment would put some packets into three cache lines.
pub struct Packet {
    /// Source node.
    pub src: NodeId,
    /// Destination node.
    pub dst: NodeId,
    /// Flow of the packet.
    pub flow: FlowId,
    /// Set if the packet travels from the flow's opener to its acceptor.
    pub from_opener: bool,
    /// Identification field of the IPv4 header, or of the IPv6 fragment header.
    pub ident: u16,
    /// Remaining hops.
    pub ttl: u8,
    /// Set if bits were changed on the way, so the checksum fails at the receiver.
    pub corrupt: bool,
    /// IP header.
    pub ip: Ip,
    /// Part of the payload in this fragment; `None` for a whole packet.
    pub piece: Option<Piece>,
    /// Payload. A fragment has the payload of the whole packet.
    pub payload: Payload,
}

/// Header fields that the sender of a packet chooses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Head {
    /// Source node.
    pub src: NodeId,
    /// Destination node.
    pub dst: NodeId,
    /// Flow of the packet.
    pub flow: FlowId,
    /// Set if the packet travels from the flow's opener to its acceptor.
    pub from_opener: bool,
    /// Identification field of the IP header.
    pub ident: u16,
    /// Initial number of hops (TTL).
    pub ttl: u8,
    /// IP header.
    pub ip: Ip,
    /// Diffserv codepoint of the flow. The codepoint of a segment that has one precedes it.
    pub dscp: Dscp,
}

/// IP header of a packet: its version, and whether routers may fragment the packet. The
/// discriminant is the header's length, plus one if routers may not, because the length is needed
/// for every packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Ip {
    /// IPv4 header without options; routers may fragment.
    V4 = 20,
    /// IPv4 header with DF, which forbids routers to fragment.
    #[default]
    V4Whole = 21,
    /// IPv6 header; only the sender may fragment (RFC 8200, 5).
    V6 = 41,
}

impl Ip {
    /// Returns the header of an IP version.
    pub const fn new(version: IpVersion, dont_fragment: bool) -> Self {
        match (version, dont_fragment) {
            (IpVersion::V4, false) => Self::V4,
            (IpVersion::V4, true) => Self::V4Whole,
            (IpVersion::V6, _) => Self::V6,
        }
    }

    /// Returns the IP version.
    pub const fn version(self) -> IpVersion {
        match self {
            Self::V4 | Self::V4Whole => IpVersion::V4,
            Self::V6 => IpVersion::V6,
        }
    }

    /// Returns the length in bytes.
    #[inline]
    pub const fn header_len(self) -> u32 {
        self as u32 & !1
    }

    /// Returns the header length of a fragment in bytes.
    pub const fn fragment_header_len(self) -> u32 {
        match self.version() {
            IpVersion::V4 => self.header_len(),
            IpVersion::V6 => self.header_len() + FRAGMENT_HEADER_LEN,
        }
    }

    /// Returns whether routers must not fragment the packet.
    pub const fn dont_fragment(self) -> bool {
        self as u32 & 1 != 0
    }
}

/// Payload of a packet. It also has the ECN field of the IP header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram.
    Udp(Datagram),
    /// A packet of a real program, with its headers.
    Raw(Raw),
}

/// A UDP datagram (RFC 768).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// ECN field of the datagram's IP header.
    pub ecn: Ecn,
    /// Diffserv codepoint of the datagram's IP header.
    pub dscp: Dscp,
    /// Number of the datagram within its flow, used by the simulator. A real program would send the
    /// number in the body.
    pub number: u64,
    /// Time at which the program sent the datagram. A real program would send the time in the body.
    pub sent_at: Instant,
    /// Data. With a simulated transport it has the length of the whole packet and no contents.
    pub body: Body,
    /// Packet of a simulated transport that the datagram carries, if any.
    pub carried: Option<Box<Carried>>,
}

/// A whole IPv4 or IPv6 packet of a real program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    bytes: Vec<u8>,
    checked: bool,
    waited: Interval,
}

impl Raw {
    /// Reads the packet at the start of `bytes`, and discards the bytes after the packet.
    ///
    /// # Errors
    /// Fails if the bytes do not begin with a whole IPv4 or IPv6 packet.
    pub fn new(mut bytes: Vec<u8>) -> Result<Self, NotIp> {
        let &[first, _, high, low, ..] = bytes.as_slice() else {
            return Err(NotIp::Short);
        };
        if first >> 4 == 6 {
            let total = ipv6::total_len(&bytes)?;
            bytes.truncate(total);
            return Ok(Self {
                bytes,
                checked: false,
                waited: Interval::ZERO,
            });
        }
        if first >> 4 != 4 {
            return Err(NotIp::Version(first >> 4));
        }
        let header = usize::from(first & 15) * 4;
        let total = usize::from(u16::from_be_bytes([high, low]));
        if header < IPV4_HEADER_LEN as usize || total < header || bytes.len() < total {
            return Err(NotIp::Length);
        }
        bytes.truncate(total);
        let raw = Self {
            bytes,
            checked: false,
            waited: Interval::ZERO,
        };
        if raw.header_sum() != 0xffff {
            return Err(NotIp::Checksum);
        }
        Ok(raw)
    }

    /// Returns the bytes of the packet.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes and consumes the packet.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Marks the payload's checksum as verified, because the caller has just computed it.
    pub fn checked(self) -> Self {
        Self {
            checked: true,
            ..self
        }
    }

    /// Returns whether the checksum of the payload is known to be right.
    pub fn is_checked(&self) -> bool {
        self.checked
    }

    /// Sets the time that the packet waited before it entered the network. The packet is late by
    /// this time from the start.
    pub fn after(self, waited: Interval) -> Self {
        Self { waited, ..self }
    }

    /// Returns the time that the packet waited before it entered the network.
    pub fn waited(&self) -> Interval {
        self.waited
    }

    /// Returns whether the packet is IPv6.
    pub fn is_ipv6(&self) -> bool {
        self.bytes[0] >> 4 == 6
    }

    /// Returns the destination address.
    pub fn destination(&self) -> IpAddr {
        if self.is_ipv6() {
            return ipv6::address(&self.bytes, 24).into();
        }
        let at = |i: usize| self.bytes[i];
        Ipv4Addr::new(at(16), at(17), at(18), at(19)).into()
    }

    /// Returns the source address.
    pub fn source(&self) -> IpAddr {
        if self.is_ipv6() {
            return ipv6::address(&self.bytes, 8).into();
        }
        let at = |i: usize| self.bytes[i];
        Ipv4Addr::new(at(12), at(13), at(14), at(15)).into()
    }

    /// Flips the last bit as a transmission error does, so that the payload's checksum fails.
    pub fn spoil(&mut self) {
        self.checked = false;
        if let Some(last) = self.bytes.last_mut() {
            *last ^= 1;
        }
    }

    /// Replaces the first `own` bytes, the IPv4 and TCP headers, by `header`. The payload's
    /// checksum is unverified afterwards.
    pub fn set_headers(&mut self, own: usize, header: &[u8]) {
        if self.bytes[..own] != *header {
            self.bytes.splice(..own, header.iter().copied());
            self.checked = false;
        }
    }

    /// Builds a packet from bytes whose checksums this program has computed.
    pub fn made(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            checked: true,
            waited: Interval::ZERO,
        }
    }

    /// Replaces the first `own` bytes, the IP and TCP headers, by `header`, and recomputes lengths
    /// and checksums. The TCP header begins at `at`.
    pub(crate) fn replace_headers(&mut self, (own, at): (usize, usize), header: &[u8]) {
        self.bytes.splice(..own, header.iter().copied());
        let addresses = if self.is_ipv6() {
            let carried = (self.bytes.len() - ipv6::HEADER) as u16;
            self.bytes[4..6].copy_from_slice(&carried.to_be_bytes());
            8..ipv6::HEADER
        } else {
            let total = self.bytes.len() as u16;
            self.bytes[2..4].copy_from_slice(&total.to_be_bytes());
            self.write_checksum();
            12..IPV4_HEADER_LEN as usize
        };
        self.bytes[at + 16..at + 18].fill(0);
        let tcp = &self.bytes[at..];
        let len = (tcp.len() as u16).to_be_bytes();
        let sums = [
            ones_complement_sum(&self.bytes[addresses]),
            ones_complement_sum(&[0, TCP, len[0], len[1]]),
            ones_complement_sum(tcp),
        ];
        let sum = !ones_complement_sum(&sums.map(u16::to_be_bytes).concat());
        self.bytes[at + 16..at + 18].copy_from_slice(&sum.to_be_bytes());
        self.checked = true;
    }

    /// Returns a hash of addresses, protocol and ports (FNV-1a).
    fn flow_hash(&self) -> u64 {
        let is_ipv6 = self.is_ipv6();
        let addresses = if is_ipv6 {
            8..ipv6::HEADER
        } else {
            12..IPV4_HEADER_LEN as usize
        };
        let protocol = self.bytes[if is_ipv6 { 6 } else { 9 }];
        let (from, to) = self.ports();
        let ports = [from.to_be_bytes(), to.to_be_bytes()].concat();
        let parts = self.bytes[addresses]
            .iter()
            .chain([&protocol])
            .chain(&ports);
        parts.fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// Returns the remaining hops.
    pub fn ttl(&self) -> u8 {
        self.bytes[if self.is_ipv6() { 7 } else { 8 }]
    }

    /// Sets the remaining hops.
    pub fn set_ttl(&mut self, ttl: u8) {
        if self.is_ipv6() {
            self.bytes[7] = ttl;
            return;
        }
        self.bytes[8] = ttl;
        self.write_checksum();
    }

    /// Returns the IP header.
    pub fn ip(&self) -> Ip {
        if self.is_ipv6() {
            return Ip::V6;
        }
        Ip::new(IpVersion::V4, self.bytes[6] & 0x40 != 0)
    }

    /// Cuts the packet into fragments for a link (RFC 791, 3.2). IP options without the copied flag
    /// stay in the first fragment; the other fragments have padding instead.
    pub fn cut(&self, mtu: Mtu) -> Vec<Self> {
        let header = usize::from(self.bytes[0] & 15) * 4;
        let field = u16::from_be_bytes([self.bytes[6], self.bytes[7]]);
        let whole = Piece {
            offset: (field & 0x1fff) * 8,
            len: (self.bytes.len() - header) as u16,
            more: field & 0x2000 != 0,
        };
        mtu.cut(whole, header as u32)
            .map(|piece| {
                let from = header + usize::from(piece.offset.wrapping_sub(whole.offset));
                let mut bytes = self.bytes[..header].to_vec();
                if piece.offset != whole.offset {
                    blank_options(&mut bytes[IPV4_HEADER_LEN as usize..]);
                }
                bytes.extend_from_slice(&self.bytes[from..from + usize::from(piece.len)]);
                write_fragment_fields(&mut bytes, piece);
                Self {
                    bytes,
                    checked: false,
                    waited: self.waited,
                }
            })
            .collect()
    }

    /// Returns the byte with class of service and ECN: the type of service of IPv4, or the traffic
    /// class of IPv6.
    pub(crate) fn class(&self) -> u8 {
        if self.is_ipv6() {
            return self.bytes[0] << 4 | self.bytes[1] >> 4;
        }
        self.bytes[1]
    }

    fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.class())
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        if self.is_ipv6() {
            self.bytes[1] = self.bytes[1] & !0x30 | ecn.bits() << 4;
            return;
        }
        self.bytes[1] = self.bytes[1] & !3 | ecn.bits();
        self.write_checksum();
    }

    /// Returns source and destination port, or zeros if there are none.
    fn ports(&self) -> (u16, u16) {
        if self.is_ipv6() {
            return ipv6::ports(&self.bytes);
        }
        let header = usize::from(self.bytes[0] & 15) * 4;
        let offset = u16::from_be_bytes([self.bytes[6] & 0x1f, self.bytes[7]]);
        match (self.bytes[9], &self.bytes[header..]) {
            (6 | 17, &[a, b, c, d, ..]) if offset == 0 => {
                (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
            }
            _ => (0, 0),
        }
    }

    /// Returns the ones' complement sum of the header (RFC 791, 3.1; RFC 1071).
    fn header_sum(&self) -> u16 {
        let header = usize::from(self.bytes[0] & 15) * 4;
        ones_complement_sum(&self.bytes[..header])
    }

    /// Builds a packet from bytes and writes its IP header checksum.
    pub(crate) fn with_checksum(bytes: Vec<u8>) -> Self {
        let mut raw = Self {
            bytes,
            checked: false,
            waited: Interval::ZERO,
        };
        raw.write_checksum();
        raw
    }

    fn write_checksum(&mut self) {
        self.bytes[10..12].fill(0);
        let sum = !self.header_sum();
        self.bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Returns the ones' complement sum of 16-bit words, the last padded with zeros (RFC 1071).
pub(crate) fn ones_complement_sum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Overwrites the options without the copied flag with padding, because they belong to the first
/// fragment alone (RFC 791, 3.1).
fn blank_options(mut options: &mut [u8]) {
    const END: u8 = 0;
    const NOP: u8 = 1;
    const COPIED: u8 = 0x80;
    while let Some(&kind) = options.first().filter(|&&kind| kind != END) {
        let written = match (kind, options.get(1)) {
            (NOP, _) => 1,
            (_, Some(&len)) => usize::from(len),
            _ => 0,
        };
        if written == 0 || written > options.len() {
            return; // Malformed options are not changed.
        }
        let (option, rest) = options.split_at_mut(written);
        if kind & COPIED == 0 {
            option.fill(NOP);
        }
        options = rest;
    }
}

/// Reason why bytes are not an IPv4 or IPv6 packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotIp {
    /// Fewer bytes than the fixed header.
    #[error("too short")]
    Short,
    /// The version is neither 4 nor 6.
    #[error("IP version {0}")]
    Version(u8),
    /// Length fields contradict each other or the number of bytes.
    #[error("lengths that do not fit")]
    Length,
    /// The checksum of the header is wrong.
    #[error("wrong header checksum")]
    Checksum,
}

/// Initial TTL of a host's packets (RFC 1700).
pub const HOST_TTL: u8 = 64;

impl Packet {
    /// Builds a whole packet as a host sends it, with DF set and without a flow.
    pub fn new(src: NodeId, dst: NodeId, payload: Payload) -> Self {
        Self {
            src,
            dst,
            flow: FlowId::NONE,
            from_opener: true,
            ident: 0,
            ttl: HOST_TTL,
            corrupt: false,
            ip: Ip::default(),
            piece: None,
            payload,
        }
    }

    /// Builds a packet with an empty segment.
    pub(crate) fn of_tcp(head: Head) -> Self {
        let mut packet = Self {
            src: head.src,
            dst: head.dst,
            flow: head.flow,
            from_opener: false,
            ident: 0,
            ttl: 0,
            corrupt: false,
            ip: Ip::default(),
            piece: None,
            payload: Payload::Tcp(Segment::default()),
        };
        packet.set_head(head);
        packet
    }

    /// Sets the header, and makes the packet whole and uncorrupted.
    #[inline]
    pub(crate) fn set_head(&mut self, head: Head) {
        let Head {
            src,
            dst,
            flow,
            from_opener,
            ident,
            ttl,
            ip,
            dscp: _,
        } = head;
        (self.src, self.dst, self.flow) = (src, dst, flow);
        (self.from_opener, self.ident, self.ttl) = (from_opener, ident, ttl);
        (self.corrupt, self.ip, self.piece) = (false, ip, None);
    }

    /// Returns the length of the IP datagram: IP header, TCP header with options or UDP header,
    /// data.
    #[inline]
    pub fn ip_len(&self) -> u32 {
        match self.piece {
            Some(piece) => self.ip.fragment_header_len() + u32::from(piece.len),
            None => self.whole_len(),
        }
    }

    /// Returns the length of the whole datagram, also for a fragment.
    #[inline]
    pub fn whole_len(&self) -> u32 {
        match &self.payload {
            Payload::Tcp(segment) => {
                self.ip.header_len() + segment.header_len() + segment.body.len()
            }
            Payload::Udp(datagram) => self.ip.header_len() + UDP_HEADER_LEN + datagram.body.len(),
            Payload::Raw(raw) => raw.bytes.len() as u32,
        }
    }

    /// Returns whether the packet carries data. A dummy segment carries none. Of a packet's
    /// fragments only the first counts, and it counts with the data of the whole packet.
    #[inline]
    pub fn has_data(&self) -> bool {
        if let Some(Piece { offset: 1.., .. }) = self.piece {
            return false;
        }
        match &self.payload {
            Payload::Tcp(segment) => !segment.body.is_empty() && !segment.dummy,
            Payload::Udp(datagram) => match datagram.carried.as_deref() {
                Some(carried) => carried.data().is_some(),
                None => true,
            },
            Payload::Raw(_) => true,
        }
    }

    /// Returns the TCP segment, if the packet carries one.
    #[inline]
    pub const fn tcp(&self) -> Option<&Segment> {
        match &self.payload {
            Payload::Tcp(segment) => Some(segment),
            Payload::Udp(_) | Payload::Raw(_) => None,
        }
    }

    /// Returns the Diffserv codepoint of the IP header.
    #[inline]
    pub fn dscp(&self) -> Dscp {
        match &self.payload {
            Payload::Tcp(segment) => segment.dscp,
            Payload::Udp(datagram) => datagram.dscp,
            Payload::Raw(raw) => Dscp::new(raw.class() >> 2),
        }
    }

    /// Returns the class of service in the IP header.
    #[inline]
    pub fn priority(&self) -> Priority {
        self.dscp().priority()
    }

    /// Returns the ECN field of the packet's IP header.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        match &self.payload {
            Payload::Tcp(segment) => segment.ecn,
            Payload::Udp(datagram) => datagram.ecn,
            Payload::Raw(raw) => raw.ecn(),
        }
    }

    /// Sets the ECN field of the IP header.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        match &mut self.payload {
            Payload::Tcp(segment) => segment.ecn = ecn,
            Payload::Udp(datagram) => datagram.ecn = ecn,
            Payload::Raw(raw) => raw.set_ecn(ecn),
        }
    }

    /// Returns a hash of the packet's flow: of flow and direction in the simulator, of addresses,
    /// protocol and ports for a packet of a real program.
    pub fn flow_hash(&self) -> u64 {
        let Payload::Raw(raw) = &self.payload else {
            return u64::from(self.flow.0) << 1 | u64::from(self.from_opener);
        };
        raw.flow_hash()
    }

    /// Returns source and destination port.
    #[inline]
    pub fn ports(&self) -> (u16, u16) {
        match &self.payload {
            Payload::Tcp(segment) => (segment.src_port, segment.dst_port),
            Payload::Udp(datagram) => (datagram.src_port, datagram.dst_port),
            Payload::Raw(raw) => raw.ports(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec;

    fn datagram() -> Vec<u8> {
        let packet = Packet {
            ident: 7,
            ..Packet::new(
                NodeId(0),
                NodeId(1),
                Payload::Udp(Datagram {
                    src_port: 9,
                    dst_port: 7,
                    body: Body::of_bytes(b"hello"),
                    ..Datagram::default()
                }),
            )
        };
        codec::encode(&packet, codec::Addresses::of(&packet)).unwrap()
    }

    /// A packet is read or written at every hop, so rare fields must be behind a pointer or outside
    /// of the packet.
    #[test]
    fn packet_fits_two_cache_lines() {
        assert_eq!((size_of::<Packet>(), align_of::<Packet>()), (96, 32));
    }

    #[test]
    fn header_length_depends_on_ip_version() {
        for (version, dont_fragment, cut) in [
            (IpVersion::V4, false, true),
            (IpVersion::V4, true, false),
            (IpVersion::V6, false, false),
            (IpVersion::V6, true, false),
        ] {
            let ip = Ip::new(version, dont_fragment);
            assert_eq!((ip.version(), ip.dont_fragment()), (version, !cut));
            assert_eq!(ip.header_len(), version.header_len());
        }
        assert_eq!(Ip::default(), Ip::V4Whole);
        let of_fragments = [Ip::V4, Ip::V6].map(Ip::fragment_header_len);
        assert_eq!(of_fragments, [20, 48]);
    }

    #[test]
    fn changes_of_ttl_and_ecn_keep_the_header_checksum_valid() {
        let mut raw = Raw::new(datagram()).unwrap();
        assert_eq!(raw.ports(), (9, 7));
        assert_eq!(raw.destination(), Ipv4Addr::new(10, 0, 0, 2));
        raw.set_ttl(63);
        raw.set_ecn(Ecn::Ce);
        let raw = Raw::new(raw.into_bytes()).unwrap();
        assert_eq!((raw.ttl(), raw.ecn()), (63, Ecn::Ce));
    }

    #[test]
    fn padding_is_removed_and_invalid_datagram_is_refused() {
        let mut padded = datagram();
        padded.extend([0; 9]);
        assert_eq!(Raw::new(padded).unwrap().into_bytes(), datagram());
        let broken = |change: fn(&mut Vec<u8>)| {
            let mut bytes = datagram();
            change(&mut bytes);
            Raw::new(bytes).unwrap_err()
        };
        assert_eq!(broken(|b| b.truncate(3)), NotIp::Short);
        assert_eq!(broken(|b| b[0] = 0x75), NotIp::Version(7));
        assert_eq!(broken(|b| b[0] = 0x44), NotIp::Length);
        assert_eq!(broken(|b| b[3] = 19), NotIp::Length);
        assert_eq!(broken(|b| b[3] += 1), NotIp::Length);
        assert_eq!(broken(|b| b[8] = 1), NotIp::Checksum);
    }

    #[test]
    fn later_fragments_have_only_copied_options() {
        let mut bytes = vec![0x47, 0, 0, 0, 0, 9, 0, 0, 64, 17, 0, 0];
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend([7, 3, 4, 0x82, 4, 0, 0, 0]); // record route; security, copied
        bytes.extend(0..100);
        bytes[3] = 128;
        let sum = !ones_complement_sum(&bytes[..28]);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        let raw = Raw::new(bytes).unwrap();
        assert!(!raw.ip().dont_fragment());
        let mtu = Mtu { bytes: 68, unit: 8 };
        let parts = raw.cut(mtu);
        let fields: Vec<_> = parts
            .iter()
            .map(|p| {
                (
                    p.bytes().len(),
                    p.bytes()[6..8].to_vec(),
                    p.bytes()[20..28].to_vec(),
                )
            })
            .collect();
        let (all, copied) = (
            vec![7, 3, 4, 0x82, 4, 0, 0, 0],
            vec![1, 1, 1, 0x82, 4, 0, 0, 0],
        );
        assert_eq!(
            fields,
            [
                (68, vec![0x20, 0], all),
                (68, vec![0x20, 5], copied.clone()),
                (48, vec![0, 10], copied)
            ]
        );
        let data: Vec<u8> = parts
            .iter()
            .flat_map(|p| p.bytes()[28..].to_vec())
            .collect();
        assert_eq!(data, (0..100).collect::<Vec<u8>>());
        for part in parts {
            Raw::new(part.into_bytes()).unwrap();
        }
    }
}
