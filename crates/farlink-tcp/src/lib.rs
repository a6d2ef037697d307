//! A TCP endpoint without input or output: segments and time in, segments and
//! the next deadline out.
//!
//! The specification followed is RFC 9293 with RFC 5681, 6298, 6582, 6675,
//! 7323 and 9438; each rule is cited where it is implemented.
#![forbid(unsafe_code)]

pub mod config;
pub mod congestion;
pub mod rto;
pub mod segment;
pub mod seq;
pub mod time;

pub use config::Config;
pub use segment::{Body, Flags, Options, SackBlock, SackBlocks, Segment, Timestamps};
pub use seq::{Offset, Seq};
pub use time::{Instant, Interval};
