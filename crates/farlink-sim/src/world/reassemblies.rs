//! Reassembly of datagrams from fragments at hosts.

use farlink_small::{Map, Set};
use farlink_tcp::{Instant, Interval};
use farlink_wire::fragment::Reassembly;
use farlink_wire::{ById, FlowId, LinkId, NodeId, Packet, PacketId, Payload};

/// Key shared by the fragments of a datagram (RFC 791, 2.3): destination, source, protocol,
/// identification.
pub(super) type Key = (NodeId, NodeId, u8, u16);

/// A datagram of which some fragments have arrived.
#[derive(Debug)]
pub(super) struct Partial {
    /// The fragment that arrived first. It becomes the whole datagram when all fragments have
    /// arrived.
    pub(super) number: PacketId,
    /// Link over which the first fragment arrived.
    pub(super) link: LinkId,
    /// Deadline of the reassembly.
    pub(super) due: Instant,
    pub(super) parts: Reassembly,
}

/// Incomplete datagrams at hosts.
#[derive(Debug, Default)]
pub(crate) struct Reassemblies {
    pub(super) partial: Map<Key, Partial>,
    /// Deadlines in order.
    pub(super) dues: Set<(Instant, Key)>,
    pub(super) spare: Vec<Reassembly>,
    /// Time of the valid time-out event; events of other times are stale.
    pub(super) watch: Option<Instant>,
    /// Reassembly time-out by flow number.
    pub(crate) timeouts: ById<FlowId, Interval>,
}

pub(super) fn key(packet: &Packet) -> Key {
    let protocol = match &packet.payload {
        Payload::Tcp(_) => 6,
        Payload::Udp(_) => 17,
        Payload::Raw(raw) => raw.bytes()[9],
    };
    (packet.dst, packet.src, protocol, packet.ident)
}

/// Returns whether two fragments with the same key belong to the same datagram. Identifications
/// repeat after 65,536 datagrams, so the key alone does not suffice.
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
