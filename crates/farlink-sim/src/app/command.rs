//! Interface of programs: events that a program gets, and commands that it returns.

use farlink_tcp::{CloseReason, Instant, Interval};
use std::fmt;

/// Bytes of an endless transfer: more than any run can carry.
pub(super) const ENDLESS: u64 = 1 << 60;

/// An end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// The end that data comes from.
    From,
    /// The end that data goes to.
    To,
}

/// Event at an end of a flow. Bytes are counted over all connections of the flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AppEvent {
    /// The requested connection is opened now: its SYN leaves.
    Opened,
    /// The handshake is complete.
    Established,
    /// Total bytes received, at least as many as the latest [`Command::Await`] of this end
    /// requested.
    Received(u64),
    /// The peer will send no more.
    PeerClosed,
    /// The connection has ended.
    Closed(CloseReason),
    /// The time of the latest [`Command::Wake`] has come.
    Woken,
}

/// Command of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Command {
    /// Writes this many bytes at the end.
    Write(Side, u64),
    /// Requests [`AppEvent::Received`] when the end has received this many bytes in all.
    Await(Side, u64),
    /// Half-closes: the end writes no more on this connection, and goes on reading.
    Close(Side),
    /// Closes: the end neither writes nor reads any more, because the program has ended.
    Leave(Side),
    /// Opens a new connection as soon as the present one has ended at both ends. TIME-WAIT counts
    /// as ended.
    Open,
    /// Requests [`AppEvent::Woken`] at this time. A later `Wake` replaces an earlier one.
    Wake(Instant),
    /// Reports a response to the user, with its response time.
    Responded(Interval),
    /// Reports that the end has received all data that it will ever receive.
    Complete(Side),
    /// Fails the flow.
    Fail,
}

/// A program that plays both ends of a flow, on one connection or on several.
pub(crate) trait Application: fmt::Debug + Send {
    /// Returns whether the program may ask for another connection.
    fn reopens(&self) -> bool {
        true
    }

    /// Returns the finished share, from 0 to 1, after `received` bytes. Only for programs with a
    /// limited amount of work.
    fn share(&self, received: u64) -> f64;

    /// Starts the flow. Its first connection is opened now.
    fn start(&mut self, now: Instant, commands: &mut Vec<Command>);

    /// Handles an event at an end, and appends commands.
    fn on_event(&mut self, now: Instant, side: Side, what: AppEvent, commands: &mut Vec<Command>);
}
