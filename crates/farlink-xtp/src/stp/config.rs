//! Parameters of STP.

/// Parameters of an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Rate of the data in bit/s, which replaces congestion control.
    pub rate: Option<u64>,
    /// Bytes of data in a packet.
    pub packet: u32,
    /// Bytes that the receiver buffers.
    pub window: u64,
    /// Number of polls in a round trip.
    pub polls: u32,
    /// Set if data follows BGN at once, before BGAK.
    pub early_data: bool,
}
