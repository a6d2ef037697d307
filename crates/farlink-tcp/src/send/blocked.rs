//! Reasons that hold the sender back.

/// Why nothing more may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BlockedOn {
    /// Nothing is there to send, or Nagle's rule holds it.
    Idle,
    /// The peer's window is too small, and what is in flight will open it.
    Peer,
    /// The congestion window is full.
    Cwnd,
    /// Pacing.
    Pace,
    /// The peer's window is too small and nothing is in flight that would open it.
    Window,
}
