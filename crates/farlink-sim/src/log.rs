//! Log of rare events. `FARLINK_LOG=debug` shows time-outs, recoveries, handoffs, resets and
//! starved flows, each with the simulated time.
//!
//! The log uses probes, which do not change results. A run checks only at its start whether the log
//! is on, so the log costs nothing per packet.

use farlink_tcp::{Instant, Mark};
use tracing::{Level, debug};

/// Returns whether a subscriber has enabled the log.
pub(crate) fn is_on() -> bool {
    tracing::enabled!(target: "farlink", Level::DEBUG)
}

/// Logs an event of an end; side 0 is the data sender.
pub(crate) fn mark(time: Instant, flow: u32, side: u8, mark: Mark) {
    let time = seconds(time);
    debug!(target: "farlink", %time, flow, side, "{}", mark.name());
}

/// Logs a handoff of a host.
pub(crate) fn handoff(time: Instant, node: u32, from_link: u32, to_link: u32) {
    let time = seconds(time);
    debug!(target: "farlink", %time, node, from_link, to_link, "handoff");
}

/// Logs that an agent ended a connection.
pub(crate) fn agent_reset(time: Instant, agent: u32, flow: u32) {
    let time = seconds(time);
    debug!(target: "farlink", %time, agent, flow, "agent resets a connection");
}

/// Logs that a flow has starved since `since`.
pub(crate) fn stall(time: Instant, flow: usize, since: Instant) {
    let (time, since) = (seconds(time), seconds(since));
    debug!(target: "farlink", %time, flow, %since, "flow starves");
}

fn seconds(time: Instant) -> String {
    format!("{:.6}", time.as_secs_f64())
}
