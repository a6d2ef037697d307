//! A TCP endpoint without input or output: segments and time in, segments and
//! the next deadline out.
//!
//! The specification followed is RFC 9293 with RFC 5681, 6298, 6582, 6675,
//! 3168, 7323 and 9438; each rule is cited where it is implemented.
//!
//! ```
//! use farlink_tcp::{Connection, Instant, Seq, variant};
//! use std::sync::Arc;
//!
//! let config = Arc::new((variant::lookup("sack").unwrap().config)());
//! let mut client = Connection::open(config, 5000, 80, Seq(0));
//! let syn = client.poll_transmit(Instant::ZERO).unwrap();
//! assert_eq!(syn.dst_port, 80);
//! assert!(client.next_timeout().is_some()); // until the SYN is answered
//! ```
#![forbid(unsafe_code)]

mod accecn;
mod ack_rate;
mod clock;
pub mod config;
pub mod congestion;
pub mod connection;
mod dss;
mod dummy;
mod ecn;
mod fast_open;
mod flight;
mod ip;
mod join;
pub mod key;
mod limit;
mod maybe;
mod notice;
mod phase;
mod priority;
pub mod profile;
mod rate;
mod ratio;
pub mod reason;
mod receive;
pub mod record;
mod recovery;
mod ring;
pub mod rto;
mod scoreboard;
pub mod segment;
mod send;
pub mod seq;
mod snack;
mod status;
pub mod time;
mod timers;
pub mod variant;

pub use ack_rate::AckRateOption;
pub use config::Config;
pub use connection::{
    BurstBudget, CloseReason, Connection, Event, LossCause, Notice, State, WriteError,
};
pub use dss::{DATA_ACK_LEN, DataMapping};
pub use ecn::{AccEcnOption, Ecn, FieldOrder};
pub use fast_open::{Extra, FastOpenCache, FastOpenCookie};
pub use ip::IpVersion;
pub use limit::{Limit, LimitTimes};
pub use phase::{Phase, PhaseTimes};
pub use priority::{Dscp, Priority};
pub use reason::Reason;
pub use record::{Mark, Record, Stats};
pub use ring::Ring;
pub use segment::{
    Body, Flags, Options, RareOptions, SackBlock, SackBlocks, Segment, Timestamps, reset_for,
};
pub use seq::{Offset, Seq};
pub use snack::{ScpsCapabilities, Snack};
pub use time::{Instant, Interval};
