//! Recorded behaviour of a path: rates, delays and losses over time.
//!
//! A trace is data; what follows it (the transmitter of a link, a stage of a
//! channel) keeps its own place in it, so that one trace serves many links.

mod error;
mod rate;
mod timeline;

pub use error::TraceError;
pub use rate::{OPPORTUNITY, Pace, RateTrace};
pub use timeline::Timeline;
