//! In-place changes of the headers of a real packet.

use super::AE;
use super::error::WireError;
use super::ip::segment_at;
use super::options::{END, MAX_OPTIONS_LEN, NOP, options_bytes, parse_options};
use crate::packet::Raw;
use farlink_tcp::{Options, Segment};

/// Changes the header of a packet from `old`, its decoded segment, to `new`. Ports, body and
/// unknown options stay.
///
/// # Errors
/// Fails if the options do not fit; the packet is then unchanged.
pub fn rewrite(raw: &mut Raw, old: &Segment, new: &Segment) -> Result<(), WireError> {
    let bytes = raw.bytes();
    let ip = segment_at(bytes);
    let own = ip + usize::from(bytes[ip + 12] >> 4) * 4;
    let mut header = bytes[..own].to_vec();
    if old.options != new.options {
        let options = merged(&header[ip + 20..], &new.options)?;
        header.truncate(ip + 20);
        header.extend(options);
        let words = (header.len() - ip) / 4;
        header[ip + 12] = header[ip + 12] & 0x0f | (words as u8) << 4;
    }
    let class = new.dscp.bits() << 2 | new.ecn.bits();
    if raw.is_ipv6() {
        header[0] = 0x60 | class >> 4;
        header[1] = class << 4 | header[1] & 0x0f;
    } else {
        header[1] = class;
    }
    let tcp = &mut header[ip..];
    tcp[4..8].copy_from_slice(&new.seq.0.to_be_bytes());
    tcp[8..12].copy_from_slice(&new.ack.0.to_be_bytes());
    tcp[12] = tcp[12] & !AE | u8::from(new.ae);
    tcp[13] = new.flags.0;
    tcp[14..16].copy_from_slice(&new.window.to_be_bytes());
    raw.replace_headers((own, ip), &header);
    Ok(())
}

/// Encodes `options`, followed by the options of `own` that the decoder does not know.
fn merged(own: &[u8], options: &Options) -> Result<Vec<u8>, WireError> {
    let room = MAX_OPTIONS_LEN as usize;
    let expected = options.wire_len();
    if expected > MAX_OPTIONS_LEN {
        return Err(WireError::TooManyOptions(expected));
    }
    let mut out = options_bytes(options).to_vec();
    let mut rest = own;
    while let Some(&kind) = rest.first().filter(|&&kind| kind != END) {
        if kind == NOP {
            rest = &rest[1..];
            continue;
        }
        // The decoder has verified the lengths.
        let len = rest
            .get(1)
            .map_or(rest.len(), |&len| usize::from(len).max(2));
        let (option, behind) = rest.split_at(len.min(rest.len()));
        if parse_options(option).is_ok_and(|read| read == Options::default()) {
            out.extend_from_slice(option);
        }
        rest = behind;
    }
    out.resize(out.len().next_multiple_of(4), END);
    if out.len() > room {
        return Err(WireError::TooManyOptions(out.len() as u32));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::super::{Addresses, decode, encode};
    use super::*;
    use crate::id::{FlowId, NodeId};
    use crate::packet::{Ip, Packet, Payload};
    use farlink_tcp::{Body, Dscp, Ecn, Flags, Seq, Timestamps};

    fn segment() -> Segment {
        Segment {
            src_port: 1,
            dst_port: 2,
            seq: Seq(3),
            ack: Seq(4),
            flags: Flags::ACK,
            window: 5,
            options: Options::from(Some(Timestamps { value: 6, echo: 7 })),
            body: Body::of_bytes(b"data"),
            ..Segment::default()
        }
    }

    fn raw(segment: Segment, ip: Ip) -> Raw {
        let packet = Packet {
            src: NodeId(0),
            dst: NodeId(1),
            flow: FlowId::NONE,
            from_opener: true,
            ident: 9,
            ttl: 60,
            corrupt: false,
            ip,
            piece: None,
            payload: Payload::Tcp(segment),
        };
        Raw::new(encode(&packet, Addresses::of(&packet)).unwrap()).unwrap()
    }

    #[test]
    fn rewrite_changes_only_the_given_fields() {
        for (ip, ident) in [(Ip::default(), 9), (Ip::V6, 0)] {
            let mut raw = raw(segment(), ip);
            let label = raw.bytes()[..4].to_vec();
            let mut expected = segment();
            expected.options.eln = true;
            (expected.window, expected.ack) = (1000, Seq(u32::MAX));
            (expected.ecn, expected.dscp) = (Ecn::Ce, Dscp::new(46));
            rewrite(&mut raw, &segment(), &expected).unwrap();
            let (fields, read) = decode(raw.bytes()).unwrap();
            assert_eq!(
                (read, fields.ident, fields.ttl),
                (expected.clone(), ident, 60)
            );
            rewrite(&mut raw, &expected, &segment()).unwrap();
            assert_eq!(decode(raw.bytes()).unwrap().1, segment());
            assert_eq!(raw.bytes()[..4], label);
        }
    }

    #[test]
    fn rewrite_keeps_unknown_options_and_fails_without_room() {
        let unknown = [30, 12, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        let mut raw = raw(segment(), Ip::default());
        let mut bytes = raw.bytes().to_vec();
        bytes.splice(40..40, unknown);
        bytes[3] += 12;
        bytes[32] += 0x30;
        let mut raw_with = Raw::with_checksum(bytes);
        let header = raw_with.bytes()[..64].to_vec();
        raw_with.replace_headers((64, 20), &header); // for the checksum of TCP
        let mut expected = segment();
        expected.options.eln = true;
        rewrite(&mut raw_with, &segment(), &expected).unwrap();
        assert_eq!(decode(raw_with.bytes()).unwrap().1, expected);
        assert_eq!(
            raw_with.bytes()[36..]
                .windows(12)
                .filter(|w| *w == unknown)
                .count(),
            1
        );
        // Options use 12 + 4 + 12 bytes, so SACK blocks of 16 bytes exceed the limit of 40.
        let before = raw_with.clone();
        let blocks = [farlink_tcp::SackBlock::default(); 2];
        let mut too_many = expected.clone();
        too_many.options.sack = blocks.into_iter().collect();
        assert!(rewrite(&mut raw_with, &expected, &too_many).is_err());
        assert_eq!(raw_with, before);
        rewrite(&mut raw, &segment(), &too_many).unwrap();
    }
}
