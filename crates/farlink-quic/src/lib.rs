//! An end of a QUIC connection: quinn-proto without a socket and without a clock.
//!
//! quinn-proto does no I/O of its own. This crate gives it a simulated time, random numbers and keys
//! from a seed, and an application that sends streams and reads some, or
//! that requests and answers, each pair on a stream of its own. Two ends with the same
//! inputs therefore send the same bytes. All packets are real: encrypted, with the TLS handshake.
//!
//! The streams that an end sends have known contents, and the end that reads them compares every byte.
//!
//! A [`Host`] is for programs that are not of this crate: a server of files, and a client.
#![forbid(unsafe_code)]

mod app;
mod config;
mod control;
mod counters;
mod dialog;
mod download;
mod end;
mod frames;
mod host;
mod ledger;
mod pattern;
mod qlog;
mod random;
mod request;
mod rescue;
mod sessions;
mod setup;
mod streams;
mod tap;
mod tls;
mod watch;

pub use config::{Acks, Config, Control};
pub use control::ControlStats;
pub use counters::{Counters, Side};
pub use dialog::Exchange;
pub use download::Fetched;
pub use end::{End, Transmitted};
pub use host::{Addressed, Host, Seen};
pub use ledger::Progress;
pub use sessions::Sessions;
pub use tls::certificate;
