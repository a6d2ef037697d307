//! Reasons that hold the sender back.

/// Reason why no segment may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BlockedOn {
    /// No data to send, or only data that Nagle's algorithm delays.
    Idle,
    /// The peer's window is too small, and ACKs of data in flight will open it.
    Peer,
    /// The congestion window is full.
    Cwnd,
    /// Pacing.
    Pace,
    /// The peer's window is too small, and nothing is in flight: the persist timer must run.
    Window,
}
