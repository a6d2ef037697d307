//! Interface of programs: the events that a program gets, and the commands that it returns.

use farlink_small::{Printable, printable};
use farlink_tcp::{CloseReason, Instant, Interval};

printable!(Application);

/// Number of bytes of a transfer without end, more than any run can carry.
pub(super) const ENDLESS: u64 = 1 << 60;

/// An end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// The end that sends the data.
    From,
    /// The end that receives the data.
    To,
}

/// Event at an end of a flow. Bytes are counted over all connections of the flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AppEvent {
    /// The connection that the program requested is opened; its SYN is sent now.
    Opened,
    /// The handshake is complete.
    Established,
    /// Number of bytes received in total. It is at least the number in the latest
    /// [`Command::Await`] of this end.
    Received(u64),
    /// The peer has closed its direction of the connection.
    PeerClosed,
    /// The connection has ended.
    Closed(CloseReason),
    /// The time of the latest [`Command::Wake`] is reached.
    Woken,
}

/// Command of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Command {
    /// Writes this number of bytes at the end.
    Write(Side, u64),
    /// Requests [`AppEvent::Received`] when the end has received this number of bytes in total.
    Await(Side, u64),
    /// Half-closes the connection: the end writes no more data, and still reads.
    Close(Side),
    /// Closes the connection: the end neither writes nor reads, because the program has ended.
    Leave(Side),
    /// Opens a new connection when the current one has ended at both ends. TIME-WAIT is treated as
    /// ended.
    Open,
    /// Requests [`AppEvent::Woken`] at this time, in place of the time of an earlier `Wake`.
    Wake(Instant),
    /// Records a response to the user, with its response time.
    Responded(Interval),
    /// Records that the end has received all data that the program expects.
    Complete(Side),
    /// Marks the flow as failed.
    Fail,
}

/// A program that acts at both ends of a flow, over one connection or several.
pub(crate) trait Application: Printable + Send {
    /// Returns whether the program may request another connection.
    fn reopens(&self) -> bool {
        true
    }

    /// Returns the completed share, from 0 to 1, after `received` bytes. Only for programs whose
    /// amount of data is limited.
    fn share(&self, received: u64) -> f64;

    /// Starts the flow, whose first connection is opened now.
    fn start(&mut self, now: Instant, commands: &mut Vec<Command>);

    /// Handles an event at an end, and appends commands.
    fn on_event(&mut self, now: Instant, side: Side, event: AppEvent, commands: &mut Vec<Command>);
}
