//! Limits that keep a sender from sending more, with the time under each.

/// Limit that keeps a sender from sending more, from the opening of its connection on.
///
/// Exactly one of these holds at any time. A handshake or a repair is what it is
/// whatever the windows are; else it is what stopped the sender when it last sent
/// all that it may. Linux counts three of them (`tcpi_busy_time`,
/// `tcpi_rwnd_limited`, `tcpi_sndbuf_limited` of `struct tcp_info`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Limit {
    /// The connection is not established.
    Handshake,
    /// Application: all that it wrote was sent, or Nagle's rule holds the rest, or the connection
    /// is over.
    Application,
    /// Send buffer: all that fits was sent, and the application waits to write more.
    SendBuffer,
    /// The peer's window has no room for the next segment.
    ReceiveWindow,
    /// The congestion window has no room for it.
    CongestionWindow,
    /// Both have room for it, and the pacing rate holds it back.
    Pacing,
    /// A loss that was seen before the timer expired is being repaired, until all
    /// that was outstanding then is acknowledged. Tahoe's repair in slow start is
    /// none.
    Recovery,
    /// The sender waited for the retransmission timer, which expired, and repairs
    /// what was outstanding then. The wait begins with the last segment that was
    /// sent or the start of the timer, whichever came later; that it was one is
    /// known when the timer expires.
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

/// Nanoseconds by limit.
pub type LimitTimes = [u64; Limit::ALL.len()];

impl From<Limit> for usize {
    fn from(limit: Limit) -> Self {
        limit as Self
    }
}
