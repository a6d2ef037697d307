//! Limits of a sender, and the time under each.

/// Limit that keeps a sender from sending more, from the start of its connection on.
///
/// Exactly one limit applies at any time. `Handshake`, `Recovery` and `Timeout` apply regardless of
/// the windows. Otherwise the limit is the one that stopped the sender at its last transmission.
/// Linux counts three of the limits (`tcpi_busy_time`, `tcpi_rwnd_limited`, `tcpi_sndbuf_limited`
/// of `struct tcp_info`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Limit {
    /// The connection is not established.
    Handshake,
    /// Application: all its data was sent, Nagle's rule holds the rest, or the connection is
    /// closed.
    Application,
    /// Send buffer: all data in the full buffer was sent, and the application waits to write more.
    SendBuffer,
    /// The peer's window has no room for the next segment.
    ReceiveWindow,
    /// The congestion window has no room for the next segment.
    CongestionWindow,
    /// Both windows have room, but pacing delays the next segment.
    Pacing,
    /// A loss that was detected without a time-out is being repaired, until all data outstanding at
    /// the detection is acknowledged. Tahoe's repair does not count, because it is slow start.
    Recovery,
    /// The sender waits for the retransmission timer, or repairs after its expiry the data
    /// outstanding then. The wait begins at the last transmission or the start of the timer,
    /// whichever is later. It is recorded only when the timer expires.
    Timeout,
}

impl Limit {
    /// Limits in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Handshake,
        Self::Application,
        Self::SendBuffer,
        Self::ReceiveWindow,
        Self::CongestionWindow,
        Self::Pacing,
        Self::Recovery,
        Self::Timeout,
    ];

    /// Name in traces and, after `limited_`, of metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Application => "application",
            Self::SendBuffer => "send_buffer",
            Self::ReceiveWindow => "receive_window",
            Self::CongestionWindow => "congestion_window",
            Self::Pacing => "pacing",
            Self::Recovery => "recovery",
            Self::Timeout => "timeouts",
        }
    }
}

/// Nanoseconds under each limit.
pub type LimitTimes = [u64; Limit::ALL.len()];

impl From<Limit> for usize {
    fn from(limit: Limit) -> Self {
        limit as Self
    }
}
