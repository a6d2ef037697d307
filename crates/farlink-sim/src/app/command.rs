//! What a program is: what it is told, and what it answers.

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

/// What happened at an end. Bytes are counted over all connections of the flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AppEvent {
    /// The connection that was asked for is opened here, now: its SYN leaves.
    Opened,
    /// The handshake is complete.
    Established,
    /// So many bytes have been received in all, at least those waited for.
    Received(u64),
    /// The peer will send no more.
    PeerClosed,
    /// The connection has ended.
    Closed(CloseReason),
    /// The instant of the latest [`Command::Wake`] has come.
    Woken,
}

/// What a program wants done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Command {
    /// The end writes so many bytes.
    Write(Side, u64),
    /// [`AppEvent::Received`] once the end has received so many bytes in all.
    Await(Side, u64),
    /// The end writes no more on this connection.
    Close(Side),
    /// The same, and it reads no more, either: the program has ended.
    Leave(Side),
    /// A new connection, as soon as the one there is has ended at both ends
    /// (it may sit in TIME-WAIT).
    Open,
    /// [`AppEvent::Woken`] at this instant; a later wake replaces an earlier one.
    Wake(Instant),
    /// What a user waited for is there, after so long.
    Responded(Interval),
    /// The end has received everything that it ever will.
    Complete(Side),
    /// The flow cannot go on.
    Fail,
}

/// What the ends of a flow say to one another, on one connection or on several.
pub(crate) trait Application: fmt::Debug + Send {
    /// Whether it ever asks for another connection.
    fn reopens(&self) -> bool {
        true
    }

    /// How much of it is done, from 0 to 1, when `received` bytes have come; for
    /// programs that have an end of their own.
    fn share(&self, received: u64) -> f64;

    /// The flow starts; its first connection is opened now.
    fn start(&mut self, now: Instant, commands: &mut Vec<Command>);

    /// Something happened at an end.
    fn on_event(&mut self, now: Instant, side: Side, what: AppEvent, commands: &mut Vec<Command>);
}
