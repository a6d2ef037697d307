//! Generic receive offload (GRO): consecutive segments that arrive within a time reach TCP at one
//! instant, so that they are acknowledged together.
//!
//! The rules are those of Linux (`tcp_offload.c`: `tcp_gro_receive`).

use crate::segment::{Flags, Segment};
use crate::seq::Seq;
use crate::time::Interval;

/// Greatest length of the joined packet with its headers (Linux: below `GRO_LEGACY_MAX_SIZE`, 64
/// KiB).
const MOST: u32 = 65_535;
/// Bytes of an IPv4 header.
const IP_HEADER: u32 = 20;
/// Flags that end a joined segment.
const LAST: Flags = Flags::PSH.with(Flags::FIN);
/// Flags of segments that are never joined.
const SINGLE: Flags = Flags::SYN.with(Flags::RST).with(Flags::URG);

/// Segments that wait for the segment after them.
#[derive(Debug)]
pub(crate) struct Joining {
    /// Time that the first segment waits at most.
    pub(crate) hold: Interval,
    /// Segments in order.
    pub(crate) held: Vec<Segment>,
    /// Bytes of data in `held`.
    pub(crate) bytes: u32,
    /// Sequence numbers and lengths of new data since the last call of `Connection::drain_joined`.
    pub(crate) fresh: Vec<(Seq, u32)>,
}

impl Joining {
    /// Returns `None` if segments are not joined.
    pub(crate) fn new(hold: Option<Interval>) -> Option<Box<Self>> {
        let joining = |hold| Self {
            hold,
            held: Vec::new(),
            bytes: 0,
            fresh: Vec::new(),
        };
        hold.map(joining).map(Box::new)
    }

    /// Returns whether a segment continues the held ones.
    pub(crate) fn continues(&self, segment: &Segment) -> bool {
        let Some(first) = self.held.first() else {
            return false;
        };
        let len = segment.body.len();
        let headers = IP_HEADER + first.header_len();
        let kept = |flags: Flags| flags.0 & !(LAST.0 | Flags::CWR.0);
        len > 0
            && len <= first.body.len()
            && headers + self.bytes + len <= MOST
            && first.seq.at(u64::from(self.bytes)) == segment.seq
            && kept(first.flags) == kept(segment.flags)
            && !segment.flags.has(Flags::CWR)
            && first.ack == segment.ack
            && (first.ecn, first.dscp, first.ae) == (segment.ecn, segment.dscp, segment.ae)
            && first.options == segment.options
            && !segment.dummy
    }

    /// Returns whether no segment may be joined behind this one: it is shorter than the first one,
    /// or ends a write.
    pub(crate) fn is_last(&self, segment: &Segment) -> bool {
        let longest = self.held.first().map_or(0, |first| first.body.len());
        segment.body.len() < longest || segment.flags.0 & LAST.0 != 0
    }

    pub(crate) fn push(&mut self, segment: &Segment) {
        self.bytes += segment.body.len();
        self.held.push(segment.clone());
    }
}

/// Returns whether a segment may wait for another one.
pub(crate) fn may_wait(segment: &Segment) -> bool {
    let special = segment.flags.0 & (LAST.0 | SINGLE.0) != 0;
    !segment.body.is_empty() && !special && !segment.dummy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Body;

    fn segment(seq: u32, len: u32, flags: Flags) -> Segment {
        Segment {
            seq: Seq(seq),
            ack: Seq(7),
            flags: Flags::ACK.with(flags),
            body: Body::of_len(len),
            ..Segment::default()
        }
    }

    /// Only data that differs in nothing but its sequence number and its last flags is joined, as in
    /// `tcp_gro_receive`.
    #[test]
    fn segments_that_differ_are_not_joined() {
        let none = Flags(0);
        let mut joining = Joining::new(Some(Interval::from_millis(1))).unwrap();
        joining.push(&segment(100, 50, none));
        assert!(joining.continues(&segment(150, 50, none)));
        assert!(joining.continues(&segment(150, 20, Flags::PSH)));
        for (other, why) in [
            (segment(150, 0, none), "an ACK without data"),
            (segment(150, 51, none), "longer than the first"),
            (segment(151, 50, none), "a gap"),
            (segment(150, 50, Flags::ECE), "another flag"),
            (segment(150, 50, Flags::CWR), "CWR, which answers ECE"),
        ] {
            assert!(!joining.continues(&other), "{why}");
        }
        let mut other = segment(150, 50, none);
        other.ack = Seq(8);
        assert!(!joining.continues(&other), "another acknowledgment");
    }
}
