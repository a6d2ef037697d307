//! The engine for the browser: requests and answers as JSON, columns in linear memory.
//!
//! `abi` has the functions that the page calls, and all unsafe code. The rest is safe, and runs
//! natively as well, so that tests compare the two.
#![deny(unsafe_code)]

mod abi;
mod columns;
mod edit;
mod engine;
mod failure;
mod job;
mod panics;

pub use engine::{Engine, Status};
