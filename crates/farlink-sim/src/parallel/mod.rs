//! Parallel simulation of one network: parts with their own events, in windows of the least delay
//! of a link between parts (conservative, as in Chandy and Misra 1979).
//!
//! Results equal those of [`crate::run()`] to the bit, for any number of parts and threads. Events
//! have a total order that does not depend on parts, and events of different parts in one window
//! cannot affect each other. What the two ends of a flow share crosses between windows: departures
//! of data for its transit times, and the completion of files. Scenarios with other shared state
//! run in one part ([`plan::obstacle`]). A run whose parts turn out to affect each other within a
//! window starts again in one part.

mod control;
mod cores;
mod cut;
mod merge;
mod part;
mod plan;
mod rounds;
mod run;
#[cfg(test)]
mod tests;

pub use cores::Cores;
pub use run::{run_each_parallel, run_parallel};
