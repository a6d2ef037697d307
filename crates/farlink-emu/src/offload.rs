//! Segmentation offload. A super-packet of the kernel is split into its packets, and consecutive
//! segments are merged into a super-packet for the receiving kernel (virtio 1.2, 5.1.6; linux
//! `virtio_net.h`). The emulated network carries single packets.

use farlink_wire::Raw;

/// Length of `struct virtio_net_hdr`, which precedes each packet, in the byte order of the host.
pub(crate) const HEADER: usize = 10;
/// Flag `NEEDS_CSUM`. The checksum of a packet that was read is incomplete. The kernel need not
/// verify the checksum of a packet that is written.
const NEEDS_CHECKSUM: u8 = 1;
/// Flag `DATA_VALID`: the checksum was verified.
const DATA_VALID: u8 = 2;
/// GSO type of a TCP super-packet over IPv4.
const GSO_TCP4: u8 = 1;
/// GSO type of a TCP super-packet over IPv6.
const GSO_TCP6: u8 = 4;
/// GSO type of a UDP super-packet over IPv4 or IPv6.
const GSO_UDP: u8 = 5;
/// Bit of the GSO type: only the first segment has CWR.
const GSO_ECN: u8 = 0x80;
/// Maximum length of an IPv4 packet and of an IPv6 payload, in bytes.
const LONGEST: usize = 65_535;
/// Length of an IPv6 header without extension headers.
const IPV6: usize = 40;
const TCP: u8 = 6;
const UDP: u8 = 17;

const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const CWR: u8 = 0x80;

/// Returns the ones' complement sum in the host's byte order. The result does not depend on that
/// order (RFC 1071, 2 B).
fn sum(bytes: &[u8], start: u64) -> u64 {
    let mut total = start;
    let mut words = bytes.chunks_exact(4);
    for word in &mut words {
        total += u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
    }
    let rest = words.remainder();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    total + u64::from(u32::from_ne_bytes(last))
}

/// Folds a ones' complement sum into the two bytes of a checksum.
fn folded(mut sum: u64) -> [u8; 2] {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_ne_bytes()
}

fn is_ipv6(packet: &[u8]) -> bool {
    packet.first().is_some_and(|first| first >> 4 == 6)
}

/// Returns the sum of the pseudo-header (RFC 9293, 3.1; RFC 8200, 8.1) of a packet with `len` bytes
/// of `protocol` after its IP header.
fn pseudo(packet: &[u8], protocol: u8, len: usize) -> u64 {
    let [high, low] = (len as u16).to_be_bytes();
    let addresses = if is_ipv6(packet) { 8..40 } else { 12..20 };
    sum(&packet[addresses], sum(&[0, protocol, high, low], 0))
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn put16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Updates the length in an IP header of `header` bytes and, for IPv4, the header checksum.
fn finish_ip(packet: &mut [u8], header: usize) {
    let len = packet.len();
    if is_ipv6(packet) {
        put16(packet, 4, (len - IPV6) as u16);
        return;
    }
    put16(packet, 2, len as u16);
    packet[10..12].fill(0);
    let checksum = folded(sum(&packet[..header], 0));
    packet[10..12].copy_from_slice(&checksum);
}

/// Returns the lengths of the IP and TCP headers. `None` if the packet is a fragment, incomplete,
/// not TCP, or has IPv6 extension headers.
fn headers(packet: &[u8]) -> Option<(usize, usize)> {
    let ip = if is_ipv6(packet) {
        let len = IPV6 + usize::from(be16(packet.get(..6)?, 4));
        (packet.len() == len && packet.get(6) == Some(&TCP)).then_some(IPV6)?
    } else {
        let header = packet.get(..20)?;
        let whole = usize::from(be16(header, 2)) == packet.len();
        let uncut = [header[6] & 0x3f, header[7]] == [0, 0];
        let is_tcp = header[0] >> 4 == 4 && header[9] == TCP;
        (whole && uncut && is_tcp).then_some(usize::from(header[0] & 15) * 4)?
    };
    let tcp = usize::from(*packet.get(ip + 12)? >> 4) * 4;
    (ip >= 20 && tcp >= 20 && ip + tcp <= packet.len()).then_some((ip, tcp))
}

/// Splits the data of a read into packets with complete checksums. `each` gets each packet, and
/// whether its checksum is known to be right. `buffer` returns empty buffers. Unknown formats are
/// passed unchanged.
pub(crate) fn split(
    read: &[u8],
    mut buffer: impl FnMut() -> Vec<u8>,
    mut each: impl FnMut(Vec<u8>, bool),
) {
    let Some((head, packet)) = read.split_at_checked(HEADER) else {
        each(read.to_vec(), false);
        return;
    };
    let half = |at: usize| usize::from(u16::from_ne_bytes([head[at], head[at + 1]]));
    let (flags, kind, size) = (head[0], head[1] & !GSO_ECN, half(4));
    if size > 0 && split_parts(packet, kind, half(6), size, &mut buffer, &mut each) {
        return;
    }
    let mut out = buffer();
    out.extend_from_slice(packet);
    let (start, at) = (half(6), half(6) + half(8));
    let unfinished = flags & NEEDS_CHECKSUM != 0 && at + 2 <= out.len() && start < out.len();
    if unfinished {
        // The kernel has put the sum of the pseudo-header into the checksum field.
        let mut checksum = folded(sum(&out[start..], 0));
        if at == start + 6 && checksum == [0, 0] {
            checksum = [0xff, 0xff]; // UDP: 0 would mean "no checksum" (RFC 768)
        }
        out[at..at + 2].copy_from_slice(&checksum);
    }
    each(out, unfinished);
}

/// Splits a TCP or UDP super-packet, whose transport header begins at byte `at`, into parts with
/// `size` bytes of data. Returns whether the super-packet was valid.
fn split_parts(
    packet: &[u8],
    kind: u8,
    at: usize,
    size: usize,
    buffer: &mut impl FnMut() -> Vec<u8>,
    each: &mut impl FnMut(Vec<u8>, bool),
) -> bool {
    let is_ipv6 = is_ipv6(packet);
    let protocol = match kind {
        GSO_TCP4 if !is_ipv6 => TCP,
        GSO_TCP6 if is_ipv6 => TCP,
        GSO_UDP => UDP,
        _ => return false,
    };
    let is_tcp = protocol == TCP;
    // In IPv6, extension headers may precede the transport header.
    let begins = match packet.first() {
        Some(first) if !is_ipv6 => at >= 20 && usize::from(first & 15) * 4 == at,
        _ => at >= IPV6,
    };
    let (own, min) = match packet.get(at + 12) {
        Some(offset) if is_tcp => (usize::from(offset >> 4) * 4, 20),
        _ => (8, if is_tcp { 20 } else { 8 }),
    };
    if !begins || own < min || packet.len() < at + own {
        return false;
    }
    let (headers, data) = packet.split_at(at + own);
    let count = data.len().div_ceil(size);
    for (i, part) in data.chunks(size).enumerate() {
        let mut out = buffer();
        out.extend_from_slice(headers);
        out.extend_from_slice(part);
        let len = out.len() - at;
        if !is_ipv6 {
            put16(&mut out, 4, be16(packet, 4).wrapping_add(i as u16));
        }
        finish_ip(&mut out, at);
        let field = if is_tcp {
            let seq = be32(packet, at + 4).wrapping_add((i * size) as u32);
            out[at + 4..at + 8].copy_from_slice(&seq.to_be_bytes());
            let not_last = if i + 1 < count { FIN | PSH } else { 0 };
            let not_first = if i > 0 { CWR } else { 0 };
            out[at + 13] &= !not_last & !not_first;
            at + 16
        } else {
            put16(&mut out, at + 4, len as u16);
            at + 6
        };
        out[field..field + 2].fill(0);
        let mut checksum = folded(sum(&out[at..], pseudo(&out, protocol, len)));
        if !is_tcp && checksum == [0, 0] {
            checksum = [0xff, 0xff]; // 0 would mean "no checksum" (RFC 768)
        }
        out[field..field + 2].copy_from_slice(&checksum);
        each(out, true);
    }
    count > 0
}

/// Consecutive TCP segments of a connection that are written as one super-packet. All but the last
/// have the same size, as after the kernel's GRO.
#[derive(Debug, Default)]
pub(crate) struct Merge {
    /// The virtio header and the merged packet. Only valid if `segments` > 0.
    out: Vec<u8>,
    ip: usize,
    tcp: usize,
    /// Data length of the first segment, which no later segment may exceed.
    size: usize,
    segments: u64,
    next: u32,
    /// Set if no further segment may be merged.
    last: bool,
}

impl Merge {
    /// Returns the number of merged packets that are not yet written.
    pub(crate) fn waiting(&self) -> u64 {
        self.segments
    }

    /// Merges a packet if it continues the super-packet. Returns whether it was merged.
    pub(crate) fn add(&mut self, raw: &Raw) -> bool {
        let packet = raw.bytes();
        // A packet whose checksum is wrong or unverified is written alone, so the receiver sees the
        // checksum as it was sent.
        if self.segments == 0 || self.last || !raw.is_checked() || packet.len() > LONGEST {
            return false;
        }
        let (ip, tcp) = (self.ip, self.tcp);
        if headers(packet) != Some((ip, tcp)) {
            return false;
        }
        let first = &self.out[HEADER..];
        let data = packet.len() - ip - tcp;
        let same = |from: usize, to: usize| first[from..to] == packet[from..to];
        let same_ip = if is_ipv6(first) {
            // Traffic class, flow label, hop limit and addresses must be equal.
            same(0, 4) && same(7, ip)
        } else {
            // DSCP, ECN, flags, TTL, protocol, addresses and options must be equal.
            same(0, 2) && same(6, 10) && same(12, ip)
        };
        let flags = packet[ip + 13];
        let follows = be32(packet, ip + 4) == self.next
            && (1..=self.size).contains(&data)
            && first.len() + data <= LONGEST
            && same_ip
            && same(ip, ip + 4)
            && same(ip + 8, ip + 13)
            && flags & !PSH == ACK
            && same(ip + 14, ip + 16)
            && same(ip + 18, ip + tcp);
        if !follows {
            return false;
        }
        self.out.extend_from_slice(&packet[ip + tcp..]);
        self.out[HEADER + ip + 13] |= flags;
        self.segments += 1;
        self.next = self.next.wrapping_add(data as u32);
        self.last = data < self.size || flags & PSH != 0;
        true
    }

    /// Starts a super-packet with its first packet. The previous one must have been written.
    pub(crate) fn begin(&mut self, raw: &Raw) {
        let packet = raw.bytes();
        self.out.clear();
        self.out.extend_from_slice(&[0; HEADER]);
        if raw.is_checked() {
            self.out[0] = DATA_VALID;
        }
        self.out.extend_from_slice(packet);
        self.segments = 1;
        self.last = true;
        if raw.is_checked()
            && let Some((ip, tcp)) = headers(packet)
            && packet[ip + 13] == ACK
            && packet.len() > ip + tcp
        {
            (self.ip, self.tcp) = (ip, tcp);
            self.size = packet.len() - ip - tcp;
            self.next = be32(packet, ip + 4).wrapping_add(self.size as u32);
            self.last = false;
        }
    }

    /// Returns the bytes to write and the number of packets in them, and empties the buffer.
    pub(crate) fn finish(&mut self) -> (&[u8], u64) {
        let segments = self.segments;
        self.segments = 0;
        if segments > 1 {
            let (ip, tcp) = (self.ip, self.tcp);
            let (head, packet) = self.out.split_at_mut(HEADER);
            let mut put = |at: usize, value: usize| {
                head[at..at + 2].copy_from_slice(&(value as u16).to_ne_bytes());
            };
            put(2, ip + tcp);
            put(4, self.size);
            put(6, ip);
            put(8, 16);
            let kind = if is_ipv6(packet) { GSO_TCP6 } else { GSO_TCP4 };
            (head[0], head[1]) = (NEEDS_CHECKSUM, kind);
            finish_ip(packet, ip);
            let [a, b] = folded(pseudo(packet, TCP, packet.len() - ip));
            // With `NEEDS_CSUM`, the field holds the pseudo-header's sum itself; `folded` returned
            // its complement.
            packet[ip + 16..ip + 18].copy_from_slice(&[!a, !b]);
        }
        (&self.out, segments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farlink_tcp::{Body, Flags, IpVersion, Options, Segment, Seq, Timestamps};
    use farlink_wire::{Addresses, Ip, NodeId, Packet, Payload};

    fn segment(seq: u32, data: &[u8], flags: Flags) -> Vec<u8> {
        segment_of(IpVersion::V4, seq, data, flags)
    }

    fn segment_of(version: IpVersion, seq: u32, data: &[u8], flags: Flags) -> Vec<u8> {
        let packet = Packet {
            ident: 9,
            ip: Ip::new(version, true),
            ..Packet::new(
                NodeId(0),
                NodeId(2),
                Payload::Tcp(Segment {
                    src_port: 5001,
                    dst_port: 40_000,
                    seq: Seq(seq),
                    ack: Seq(77),
                    flags,
                    window: 500,
                    options: Options::from(Some(Timestamps { value: 3, echo: 4 })),
                    body: Body::of_bytes(data),
                    ..Segment::default()
                }),
            )
        };
        farlink_wire::encode(&packet, Addresses::of(&packet)).unwrap()
    }

    fn raw(bytes: &[u8]) -> Raw {
        Raw::new(bytes.to_vec()).unwrap().checked()
    }

    fn parts(read: &[u8]) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        split(read, Vec::new, |packet, _| out.push(packet));
        out
    }

    const SIZE: usize = 1001;

    /// A merged super-packet is split into the original packets, except for renumbered IPv4
    /// identifications. The sequence number wraps in this test.
    #[test]
    fn merged_packets_are_split_into_the_originals() {
        for version in [IpVersion::V4, IpVersion::V6] {
            merged_and_split(version);
        }
    }

    fn merged_and_split(version: IpVersion) {
        let ip = version.header_len() as usize;
        let data: Vec<u8> = (0..3 * SIZE + 17).map(|i| (i * 7) as u8).collect();
        let start = u32::MAX - 1500;
        let packets: Vec<_> = data
            .chunks(SIZE)
            .enumerate()
            .map(|(i, part)| {
                let flags = if i == 3 {
                    Flags::ACK.with(Flags::PSH)
                } else {
                    Flags::ACK
                };
                segment_of(version, start.wrapping_add((i * SIZE) as u32), part, flags)
            })
            .collect();
        let mut merge = Merge::default();
        assert!(!merge.add(&raw(&packets[0])), "nothing waits");
        merge.begin(&raw(&packets[0]));
        for packet in &packets[1..] {
            assert!(merge.add(&raw(packet)));
        }
        assert!(!merge.add(&raw(&packets[0])), "the last was short");
        let (written, count) = merge.finish();
        assert_eq!(count, 4);
        // The kernel's way of completing the checksum gives the right result.
        let mut whole = written[HEADER..].to_vec();
        let finished = folded(sum(&whole[ip..], 0));
        whole[ip + 16..ip + 18].copy_from_slice(&finished);
        assert_eq!(
            farlink_wire::decode(&whole).unwrap().1.body.len() as usize,
            data.len()
        );
        let split = parts(written);
        assert_eq!(split.len(), 4);
        for (i, (was, is)) in packets.iter().zip(&split).enumerate() {
            let (fields, is) = farlink_wire::decode(is).unwrap();
            assert_eq!(is, farlink_wire::decode(was).unwrap().1);
            if version == IpVersion::V4 {
                assert_eq!(usize::from(fields.ident), 9 + i);
            }
        }
    }

    #[test]
    fn packets_that_do_not_continue_the_segment_are_not_merged() {
        let first = segment(100, &[1; SIZE], Flags::ACK);
        let after = 100 + SIZE as u32;
        let good = segment(after, &[2; SIZE], Flags::ACK);
        let takes = |first: &Raw, second: &Raw| {
            let mut merge = Merge::default();
            merge.begin(first);
            merge.add(second)
        };
        assert!(takes(&raw(&first), &raw(&good)));
        let mut spoilt = raw(&good);
        spoilt.spoil();
        assert!(
            !takes(&raw(&first), &spoilt),
            "a changed bit would be mended"
        );
        let unknown = Raw::new(good.clone()).unwrap();
        assert!(!takes(&raw(&first), &unknown));
        assert!(!takes(&unknown, &raw(&good)));
        for other in [
            segment(after + 1, &[2; SIZE], Flags::ACK),
            segment(after, &[2; SIZE + 1], Flags::ACK),
            segment(after, &[], Flags::ACK),
            segment(after, &[2; SIZE], Flags::ACK.with(Flags::FIN)),
            segment(after, &[2; SIZE], Flags::ACK.with(Flags::CWR)),
        ] {
            assert!(!takes(&raw(&first), &raw(&other)));
        }
        // Packets with another DSCP, TTL, port, acknowledgment, window or timestamp are not merged.
        for at in [1, 8, 21, 31, 35, 45] {
            let mut other = raw(&good).into_bytes();
            other[at] ^= 1;
            finish_ip(&mut other, 20);
            assert!(!takes(&raw(&first), &raw(&other)), "{at}");
        }
        // IPv6 packets with another traffic class, flow label, hop limit, address or port are not
        // merged.
        let sixth = |seq, fill| raw(&segment_of(IpVersion::V6, seq, &[fill; SIZE], Flags::ACK));
        let (first6, good6) = (sixth(100, 1), sixth(after, 2));
        assert!(takes(&first6, &good6));
        for at in [1, 3, 7, 23, 39, 41] {
            let mut other = good6.bytes().to_vec();
            other[at] ^= 1;
            assert!(!takes(&first6, &raw(&other)), "{at}");
        }
        assert!(!takes(&raw(&first), &good6) && !takes(&first6, &raw(&good)));
        let pushed = segment(100, &[1; SIZE], Flags::ACK.with(Flags::PSH));
        assert!(!takes(&raw(&pushed), &raw(&good)), "a push is not held");
    }

    #[test]
    fn a_single_packet_is_written_unchanged() {
        let bytes = segment(5, &[3; 10], Flags::ACK.with(Flags::FIN));
        let mut merge = Merge::default();
        merge.begin(&raw(&bytes));
        assert_eq!(
            merge.finish(),
            ([&[2][..], &[0; 9], &bytes].concat().as_slice(), 1)
        );
        merge.begin(&Raw::new(bytes.clone()).unwrap());
        assert_eq!(
            merge.finish(),
            ([&[0; 10][..], &bytes].concat().as_slice(), 1)
        );
    }

    /// A kernel has left the checksum of this packet to the device.
    #[test]
    fn an_incomplete_checksum_is_completed() {
        let bytes = segment(5, &[3; 11], Flags::ACK);
        let mut read = vec![1, 0, 0, 0, 0, 0, 20, 0, 16, 0];
        if cfg!(target_endian = "big") {
            read.swap(6, 7);
            read.swap(8, 9);
        }
        read.extend_from_slice(&bytes);
        let [a, b] = folded(pseudo(&bytes, TCP, bytes.len() - 20));
        read[HEADER + 36..HEADER + 38].copy_from_slice(&[!a, !b]);
        assert_eq!(parts(&read), [bytes]);
    }

    #[test]
    fn split_accepts_arbitrary_bytes() {
        let mut read = vec![1, GSO_TCP4, 0, 0, 255, 255, 255, 255, 255, 255];
        read.extend_from_slice(&segment(5, &[3; 100], Flags::ACK));
        for len in 0..read.len() {
            parts(&read[..len]);
            for at in 0..len.min(60) {
                let mut changed = read[..len].to_vec();
                changed[at] ^= 0xff;
                parts(&changed);
            }
        }
    }

    /// TCP and UDP super-packets of both IP versions are split into three parts, the last of which
    /// is shorter. Checksums, lengths and sequence numbers of all parts are right.
    #[test]
    fn tcp_and_udp_super_packets_of_both_ip_versions_are_split() {
        let kinds = [
            (GSO_TCP4, false),
            (GSO_TCP6, true),
            (GSO_UDP, true),
            (GSO_UDP, false),
        ];
        for (kind, is_ipv6) in kinds {
            let (ip, own) = (
                if is_ipv6 { 40 } else { 20 },
                if kind == GSO_UDP { 8 } else { 20 },
            );
            let data: Vec<u8> = (0..250).collect();
            let mut packet = vec![0; ip + own];
            packet[0] = if is_ipv6 { 0x60 } else { 0x45 };
            packet[if is_ipv6 { 6 } else { 9 }] = if kind == GSO_UDP { 17 } else { 6 };
            if kind != GSO_UDP {
                packet[ip + 7] = 250; // the sequence number
                packet[ip + 12] = 0x50;
                packet[ip + 13] = ACK | PSH | FIN | CWR;
            }
            packet.extend(&data);
            let mut read = vec![0; HEADER];
            (read[0], read[1]) = (NEEDS_CHECKSUM, kind);
            read[4..6].copy_from_slice(&100u16.to_ne_bytes());
            read[6..8].copy_from_slice(&(ip as u16).to_ne_bytes());
            read.extend(&packet);
            let split = parts(&read);
            assert_eq!(split.len(), 3);
            let bodies: Vec<u8> = split.iter().flat_map(|p| p[ip + own..].to_vec()).collect();
            assert_eq!(bodies, data);
            for (i, part) in split.iter().enumerate() {
                let behind = part.len() - ip;
                let addresses = if is_ipv6 { &part[8..40] } else { &part[12..20] };
                let mut pseudo = [0, if kind == GSO_UDP { 17 } else { 6 }, 0, 0];
                put16(&mut pseudo, 2, behind as u16);
                let whole = sum(&part[ip..], sum(addresses, sum(&pseudo, 0)));
                assert_eq!(folded(whole), [0, 0]);
                let len = if is_ipv6 {
                    be16(part, 4).into()
                } else {
                    usize::from(be16(part, 2)) - ip
                };
                assert_eq!(len, behind);
                if kind == GSO_UDP {
                    assert_eq!(usize::from(be16(part, ip + 4)), behind);
                } else {
                    assert_eq!(be32(part, ip + 4), 250 + 100 * i as u32);
                    let flags = [ACK | CWR, ACK, ACK | PSH | FIN][i];
                    assert_eq!(part[ip + 13], flags);
                }
            }
            // A super-packet with the GSO type of the other IP version is passed unchanged.
            if kind != GSO_UDP {
                let mut other = read.clone();
                other[1] = GSO_TCP4 + GSO_TCP6 - kind;
                assert_eq!(parts(&other).len(), 1);
            }
            // Truncated super-packets cause no panic.
            for len in 0..HEADER + ip + own {
                let _ = parts(&read[..len]);
            }
        }
    }
}
