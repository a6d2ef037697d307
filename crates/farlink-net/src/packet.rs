//! A packet: IP header as plain values around what it carries.

use farlink_tcp::{Body, Ecn, Segment};

/// A node of the network, by its place in the list of nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(pub u32);

/// A flow, by its place in the list of flows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FlowId(pub u32);

/// Bytes of an IPv4 header without options.
pub const IPV4_HEADER_LEN: u32 = 20;

/// Bytes of a UDP header (RFC 768).
pub const UDP_HEADER_LEN: u32 = 8;

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
    /// What it carries.
    pub payload: Payload,
}

/// What a packet carries, with the ECN field of the IP header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram.
    Udp(Datagram),
}

/// A UDP datagram (RFC 768).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    /// Port it comes from.
    pub src_port: u16,
    /// Port it goes to.
    pub dst_port: u16,
    /// ECN field of the IP header that carries it.
    pub ecn: Ecn,
    /// Place among the datagrams of its flow, counted by the simulator; a real
    /// program would have it in the body.
    pub number: u64,
    /// Data.
    pub body: Body,
}

impl Packet {
    /// Bytes of the IP datagram: its header, that of TCP with options or of UDP,
    /// data.
    #[inline]
    pub const fn ip_len(&self) -> u32 {
        IPV4_HEADER_LEN
            + match &self.payload {
                Payload::Tcp(segment) => segment.header_len() + segment.body.len(),
                Payload::Udp(datagram) => UDP_HEADER_LEN + datagram.body.len(),
            }
    }

    /// Whether it carries data.
    #[inline]
    pub const fn has_data(&self) -> bool {
        match &self.payload {
            Payload::Tcp(segment) => !segment.body.is_empty(),
            Payload::Udp(_) => true,
        }
    }

    /// The TCP segment, if it carries one.
    #[inline]
    pub const fn tcp(&self) -> Option<&Segment> {
        match &self.payload {
            Payload::Tcp(segment) => Some(segment),
            Payload::Udp(_) => None,
        }
    }

    /// The ECN field of its header.
    #[inline]
    pub const fn ecn(&self) -> Ecn {
        match &self.payload {
            Payload::Tcp(segment) => segment.ecn,
            Payload::Udp(datagram) => datagram.ecn,
        }
    }

    /// Writes the ECN field of its header.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        match &mut self.payload {
            Payload::Tcp(segment) => segment.ecn = ecn,
            Payload::Udp(datagram) => datagram.ecn = ecn,
        }
    }

    /// Source and destination port.
    #[inline]
    pub const fn ports(&self) -> (u16, u16) {
        match &self.payload {
            Payload::Tcp(segment) => (segment.src_port, segment.dst_port),
            Payload::Udp(datagram) => (datagram.src_port, datagram.dst_port),
        }
    }
}
