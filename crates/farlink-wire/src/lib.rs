//! Packets and their bytes: IPv4 and IPv6, fragments, ICMP, header compression, captures, and the
//! encodings of table files.
//!
//! The lowest of the crates between TCP and the simulator. It has no types for links or channels.
#![forbid(unsafe_code)]

mod carried;
pub mod classify;
mod codec;
pub mod fragment;
pub mod icmp;
mod icmp6;
pub mod id;
mod ipv6;
pub mod packet;
pub mod packets;
pub mod parquet;
pub mod pcapng;
pub mod rfc1144;
pub mod stp;
pub mod xtp;

pub use carried::Carried;
pub use codec::{
    Addresses, IpFields, MAX_IPV4_LEN, MAX_OPTIONS_LEN, WireError, address_of, decode,
    decode_damaged, decode_headers, decode_udp, encode, encode_prefix, is_tcp_fragment,
    node_address, node_address6, node_of, rewrite, write_headers,
};
pub use id::{ById, Direction, FlowId, Id, LinkId, NodeId, PacketId};
pub use packet::{Datagram, HOST_TTL, Head, Ip, NotIp, Packet, Payload, Raw};
pub use packets::{Draft, Label, Packets};
