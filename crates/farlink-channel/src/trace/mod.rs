//! Recorded behaviour of a path: rates, delays and losses over time.
//!
//! A trace is data. Its users (the transmitter of a link, a stage of a channel) keep their own
//! position in it, so one trace serves many links.

mod error;
mod rate;
mod timeline;

pub use error::TraceError;
pub use rate::{OPPORTUNITY, Pace, RateTrace};
pub use timeline::Timeline;
