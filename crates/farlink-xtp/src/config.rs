//! Parameters of XTP.

/// Parameters of an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Rate of the data in bit/s.
    pub rate: u64,
    /// Bytes that may be sent at once.
    pub burst: u64,
    /// Bytes of data in a packet.
    pub packet: u32,
    /// Bytes that the receiver buffers beyond the data received in order.
    pub window: u64,
    /// Number of data packets from one request for a status report to the next.
    pub sreq_every: u32,
}
