//! Links between nodes: queue, transmitter, cross traffic, header compression, link protocol and
//! MAC.
//!
//! The caller passes in the time of each packet and event. No link reads a clock.
#![forbid(unsafe_code)]

pub mod arq;
pub mod background;
pub mod discipline;
pub mod header_compression;
mod link;
pub mod mac;

pub use link::{
    Arrival, Due, Fate, Link, LinkConfig, LinkStats, Links, Offered, Outcome, QueueLimit,
    QueueStats, Simplex,
};
