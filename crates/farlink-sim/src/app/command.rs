//! Interface of a program: its events and its commands.

use farlink_tcp::{CloseReason, Instant, Interval};
use std::fmt;

/// More than any run carries: an application that never runs dry.
pub(super) const ENDLESS: u64 = 1 << 60;

/// An end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// The one that data comes from.
    From,
    /// The one that it goes to.
    To,
}

/// Event at an end. Bytes are counted over all connections of the flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AppEvent {
    /// The connection that was asked for is opened here, now: its SYN leaves.
    Opened,
    /// The handshake is complete.
    Established,
    /// Total of received bytes, at least those waited for.
    Received(u64),
    /// The peer will send no more.
    PeerClosed,
    /// The connection has ended.
    Closed(CloseReason),
    /// The instant of the latest [`Command::Wake`] has come.
    Woken,
}

/// Command of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Command {
    /// The end writes so many bytes.
    Write(Side, u64),
    /// [`AppEvent::Received`] once the end has received so many bytes in all.
    Await(Side, u64),
    /// The end writes no more on this connection.
    Close(Side),
    /// Close, and read no more: the program has ended.
    Leave(Side),
    /// A new connection, as soon as the one there is has ended at both ends
    /// (it may sit in TIME-WAIT).
    Open,
    /// [`AppEvent::Woken`] at this instant; a later wake replaces an earlier one.
    Wake(Instant),
    /// Response to a user, with the time that it took.
    Responded(Interval),
    /// The end has received everything that it ever will.
    Complete(Side),
    /// The flow cannot go on.
    Fail,
}

/// Dialogue of the two ends of a flow, on one connection or on several.
pub(crate) trait Application: fmt::Debug + Send {
    /// Returns whether the program may ask for another connection.
    fn reopens(&self) -> bool {
        true
    }

    /// Returns the finished share, from 0 to 1, after `received` bytes, for programs that have an
    /// end of their own.
    fn share(&self, received: u64) -> f64;

    /// The flow starts; its first connection is opened now.
    fn start(&mut self, now: Instant, commands: &mut Vec<Command>);

    /// Something happened at an end.
    fn on_event(&mut self, now: Instant, side: Side, what: AppEvent, commands: &mut Vec<Command>);
}
