//! Addresses of nodes, and the fields of an IP header.

use crate::id::NodeId;
use crate::packet::Packet;
use farlink_tcp::IpVersion;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Source and destination of a packet on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Addresses {
    /// Source address.
    pub src: IpAddr,
    /// Destination address, of the same version.
    pub dst: IpAddr,
}

impl Addresses {
    /// Returns the addresses of the packet's nodes in the version of its header.
    pub fn of(packet: &Packet) -> Self {
        let version = packet.ip.version();
        Self {
            src: address_of(packet.src, version),
            dst: address_of(packet.dst, version),
        }
    }
}

/// Returns the address of a node in this IP version.
pub fn address_of(node: NodeId, version: IpVersion) -> IpAddr {
    match version {
        IpVersion::V4 => node_address(node).into(),
        IpVersion::V6 => node_address6(node).into(),
    }
}

/// Returns the IPv4 address of a node: 10.0.0.1 for the first, and so on. Unique for the first 2^24
/// - 2 nodes.
pub fn node_address(node: NodeId) -> Ipv4Addr {
    let [_, x, y, z] = node.0.wrapping_add(1).to_be_bytes();
    Ipv4Addr::new(10, x, y, z)
}

/// Returns the IPv6 address of a node: fd66:6172:6c6b::1 for the first node, and so on, in a local
/// network (RFC 4193).
pub fn node_address6(node: NodeId) -> Ipv6Addr {
    let [high, low] = [
        node.0.wrapping_add(1) >> 16,
        node.0.wrapping_add(1) & 0xffff,
    ];
    Ipv6Addr::new(0xfd66, 0x6172, 0x6c6b, 0, 0, 0, high as u16, low as u16)
}

/// Returns the node that has this address; `None` for an address outside of the range of nodes.
pub fn node_of(address: impl Into<IpAddr>) -> Option<NodeId> {
    let number = match address.into() {
        IpAddr::V4(own) => u32::from(own).wrapping_sub(u32::from(node_address(NodeId(0)))),
        IpAddr::V6(own) => {
            let number = u128::from(own).wrapping_sub(u128::from(node_address6(NodeId(0))));
            u32::try_from(number).ok()?
        }
    };
    Some(NodeId(number))
}

/// Fields of an IP header that farlink uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpFields {
    /// Source and destination address.
    pub addresses: Addresses,
    /// Identification; IPv6 has the field only in fragments.
    pub ident: u16,
    /// Remaining hops.
    pub ttl: u8,
}
