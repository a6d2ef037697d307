//! Datagrams that hosts put together from fragments.

use farlink_net::fragment::Reassembly;
use farlink_net::{ById, FlowId, LinkId, NodeId, Packet, PacketId, Payload};
use farlink_tcp::{Instant, Interval};
use std::collections::{BTreeMap, BTreeSet};

/// What fragments of one datagram have in common (RFC 791, 2.3): destination and
/// source, protocol, identification.
pub(super) type Key = (NodeId, NodeId, u8, u16);

/// A datagram of which something is there.
#[derive(Debug)]
pub(super) struct Partial {
    /// The fragment that came first: the whole, once all are there.
    pub(super) number: PacketId,
    /// Link that it came over.
    pub(super) link: LinkId,
    /// When it is given up.
    pub(super) due: Instant,
    pub(super) parts: Reassembly,
}

/// Datagrams that hosts put together.
#[derive(Debug, Default)]
pub(crate) struct Reassemblies {
    pub(super) partial: BTreeMap<Key, Partial>,
    /// When each of these is given up, the next one first.
    pub(super) dues: BTreeSet<(Instant, Key)>,
    pub(super) spare: Vec<Reassembly>,
    /// Time of the event that looks for those to give up; others are stale.
    pub(super) watch: Option<Instant>,
    /// How long a flow's datagrams wait for their rest, by number of the flow.
    pub(crate) patience: ById<FlowId, Interval>,
}

pub(super) fn key(packet: &Packet) -> Key {
    let protocol = match &packet.payload {
        Payload::Tcp(_) => 6,
        Payload::Udp(_) => 17,
        Payload::Raw(raw) => raw.bytes()[9],
    };
    (packet.dst, packet.src, protocol, packet.ident)
}

/// Whether both are of the same datagram, and not of two that have the same
/// identification after 65,536 others.
pub(super) fn same(a: &Packet, b: &Packet) -> bool {
    let of = (a.flow, a.from_opener) == (b.flow, b.from_opener);
    of && match (&a.payload, &b.payload) {
        (Payload::Tcp(a), Payload::Tcp(b)) => {
            let place = |s: &farlink_tcp::Segment| (s.src_port, s.dst_port, s.seq, s.ack);
            place(a) == place(b) && a.flags == b.flags && a.body.len() == b.body.len()
        }
        (Payload::Udp(a), Payload::Udp(b)) => a.number == b.number,
        _ => false,
    }
}
