//! STP-like transport (Henderson and Katz 1997 and 1999), derived from SSCOP (ITU-T Q.2110).
//!
//! The sender numbers its packets of data and polls the receiver a few times per round trip. A
//! report lists what is missing, and a new gap is reported at once. No timer retransmits data.

mod config;
mod connection;
mod receiver;
mod sender;
mod window;

pub use config::Config;
pub use connection::Connection;
