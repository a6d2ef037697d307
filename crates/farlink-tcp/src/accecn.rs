//! Feedback of congestion marks, classic (RFC 3168) and accurate (RFC 9768).
//!
//! With classic ECN the receiver echoes a mark in its ACKs (ECE) until the sender confirms that it
//! has reduced its window (CWR). With Accurate ECN the receiver counts marks.

mod accurate;
mod counters;
mod negotiation;
mod reports;

pub(crate) use negotiation::Negotiation;
