//! A packet: IP header as plain values around a TCP segment.

use farlink_tcp::Segment;

/// A node of the network, by its place in the list of nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(pub u32);

/// A flow, by its place in the list of flows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FlowId(pub u32);

/// Bytes of an IPv4 header without options.
pub const IPV4_HEADER_LEN: u32 = 20;

/// A packet on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Node it comes from.
    pub src: NodeId,
    /// Node it goes to.
    pub dst: NodeId,
    /// Flow it belongs to.
    pub flow: FlowId,
    /// Whether it travels from the flow's opener to its acceptor.
    pub from_opener: bool,
    /// Identification field of the IP header.
    pub ident: u16,
    /// Hops it may still take.
    pub ttl: u8,
    /// Bits were changed on the way; the receiver's checksum will tell.
    pub corrupt: bool,
    /// What it carries, with the ECN field of the IP header.
    pub segment: Segment,
}

impl Packet {
    /// Bytes of the IP datagram: header, TCP header with options, data.
    #[inline]
    pub const fn ip_len(&self) -> u32 {
        IPV4_HEADER_LEN + self.segment.header_len() + self.segment.body.len()
    }
}
