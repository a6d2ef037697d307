//! An end of a QUIC connection: quinn-proto without a socket and without a clock.
//!
//! quinn-proto does no I/O of its own. This crate gives it a simulated time, random numbers and keys
//! from a seed, and an application that sends one stream and reads one. Two ends with the same
//! inputs therefore send the same bytes. All packets are real: encrypted, with the TLS handshake.
//!
//! The stream that an end sends has known contents, and the end that reads it compares every byte.
#![forbid(unsafe_code)]

mod config;
mod control;
mod end;
mod pattern;
mod random;
mod tls;

pub use config::{Config, Control};
pub use control::ControlStats;
pub use end::{Counters, End, Side, Transmitted};
