//! Log of rare events: `FARLINK_LOG=debug` shows time-outs, recoveries, handoffs, resets and flows
//! that starve, each with the simulated time.
//!
//! A run with the log on has probes, which change no result. A run without checks once, at its
//! start, so that nothing is on the path of a packet.

use farlink_tcp::{Instant, Mark};
use tracing::{Level, debug};

/// Returns whether a subscriber asked for the log.
pub(crate) fn is_on() -> bool {
    tracing::enabled!(target: "farlink", Level::DEBUG)
}

/// Logs a moment of an end: side 0 is the end that data comes from.
pub(crate) fn mark(time: Instant, flow: u32, side: u8, mark: Mark) {
    let time = seconds(time);
    debug!(target: "farlink", %time, flow, side, "{}", mark.name());
}

/// Logs a handoff of a host.
pub(crate) fn handoff(time: Instant, node: u32, from_link: u32, to_link: u32) {
    let time = seconds(time);
    debug!(target: "farlink", %time, node, from_link, to_link, "handoff");
}

/// Logs a connection that an agent ended.
pub(crate) fn agent_reset(time: Instant, agent: u32, flow: u32) {
    let time = seconds(time);
    debug!(target: "farlink", %time, agent, flow, "agent resets a connection");
}

/// Logs a flow that starves since some time.
pub(crate) fn stall(time: Instant, flow: usize, since: Instant) {
    let (time, since) = (seconds(time), seconds(since));
    debug!(target: "farlink", %time, flow, %since, "flow starves");
}

fn seconds(time: Instant) -> String {
    format!("{:.6}", time.as_secs_f64())
}
