//! Recorded behaviour of a path: rates, delays and losses over time.
//!
//! A trace is immutable data. Each user (the transmitter of a link, a stage of a channel) stores
//! its own position in the trace, so one trace serves many links.

mod contacts;
mod error;
mod rate;
mod timeline;

pub use contacts::{Contact, ContactPlan, Overlap};
pub use error::TraceError;
pub use rate::{OPPORTUNITY, Pace, RateTrace};
pub use timeline::Timeline;
