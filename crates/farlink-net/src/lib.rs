//! Parts of a packet's way: queues, transmitters, channels, delay.
//!
//! Like the TCP endpoint, everything here is told the time and never asks for it.
#![forbid(unsafe_code)]

pub mod acm;
pub mod agent;
pub mod arq;
pub mod background;
pub mod channel;
pub mod distribution;
pub mod fading;
pub mod fec;
pub mod fragment;
pub mod header_compression;
pub mod icmp;
mod icmp6;
pub mod id;
mod ipv6;
pub mod link;
pub mod mac;
pub mod mobility;
pub mod orbit;
pub mod packet;
pub mod packets;
pub mod pcapng;
pub mod radio;
pub mod rfc1144;
pub mod rng;
pub mod trace;
pub mod wire;
pub mod xtp;

pub use id::{ById, Direction, FlowId, Id, LinkId, NodeId, PacketId};
pub use link::{
    Arrival, Due, Fate, Link, LinkConfig, LinkStats, Links, LowFate, Offered, Outcome, QueueLimit,
    Simplex,
};
pub use packet::{Datagram, HOST_TTL, Head, Ip, NotIp, Packet, Payload, Raw};
pub use packets::{Draft, Label, Packets};
