//! Role and counters of an end.

/// Role in the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Opens the connection.
    Client,
    /// Waits for it.
    Server,
}

/// Counters of an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Datagrams sent with data of the stream.
    pub with_data: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Other datagrams sent.
    pub without_data: u64,
    /// Packets that were found to be lost. Their data is sent again.
    pub lost: u64,
    /// Window of the congestion control in bytes.
    pub window: u64,
    /// Threshold of slow start in bytes, if the congestion control has one and it is set.
    pub ssthresh: Option<u64>,
    /// Length of the largest datagram that the path is known to carry.
    pub mtu: u16,
}
