//! The Data Sequence Signal option of connections over several paths (RFC 8684, 3.3).

/// Mapping of a segment's data to data sequence numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(Rust, packed(2))]
pub struct DataMapping {
    /// Lower 32 bits of the data sequence number of the first byte.
    pub dsn: u32,
    /// Sequence number of the first byte relative to the subflow's initial sequence number.
    pub subflow_seq: u32,
    /// Number of bytes.
    pub len: u16,
}

impl DataMapping {
    /// Bytes of the option in a header: a data ACK and this mapping, padded.
    pub const WIRE_LEN: u32 = 20;
}

/// Bytes of the option with a data ACK alone.
pub const DATA_ACK_LEN: u32 = 8;
