//! Channel processes of a link: loss, bit errors, fades, radios, orbits and delay, with their
//! closed forms and random streams.
//!
//! The caller passes in the time of each packet. No process reads a clock.
#![forbid(unsafe_code)]

pub mod acm;
mod channel;
pub mod distribution;
pub mod fading;
pub mod fec;
pub mod mobility;
pub mod orbit;
pub mod paths;
pub mod radio;
pub mod rng;
pub mod trace;

pub use channel::*;
