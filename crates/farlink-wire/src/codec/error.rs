//! Errors of packets as bytes.

/// Why a packet has no bytes, or bytes are no packet.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WireError {
    /// The datagram would be longer than its length field can say.
    #[error("a datagram of {0} bytes does not fit IP, whose length field ends at 65535")]
    TooLong(u32),
    /// Addresses of another version than the packet.
    #[error("addresses of another version of IP than the packet's")]
    Addresses,
    /// More options than a TCP header holds.
    #[error("{0} bytes of options do not fit a TCP header, which ends at 40")]
    TooManyOptions(u32),
    /// No IPv4 header.
    #[error("no IPv4 header: {0}")]
    Ipv4(String),
    /// No IPv6 header.
    #[error("no IPv6 header: {0}")]
    Ipv6(String),
    /// The length field does not fit the header or the bytes there are.
    #[error("IPv4 total length {total} does not fit: header {header} bytes, {available} present")]
    Ipv4Length {
        /// Total length field.
        total: usize,
        /// Bytes of the header.
        header: usize,
        /// Bytes there are.
        available: usize,
    },
    /// A changed IPv4 header.
    #[error("wrong IPv4 header checksum")]
    Ipv4Checksum,
    /// A fragment that no header can describe: its place is no multiple of 8.
    #[error("a fragment at byte {0} of its datagram, which is no multiple of 8")]
    FragmentOffset(u32),
    /// A part of a datagram.
    #[error("a fragment, not a whole datagram")]
    Fragment,
    /// Something else than TCP inside.
    #[error("protocol {0}, not TCP (6)")]
    NotTcp(u8),
    /// No TCP header.
    #[error("no TCP header: {0}")]
    Tcp(String),
    /// A changed segment.
    #[error("wrong TCP checksum")]
    TcpChecksum,
    /// An option whose length cannot be.
    #[error("TCP option {kind} at byte {at} of the options has a wrong length")]
    Option {
        /// Kind of the option.
        kind: u8,
        /// Start, counted from the first byte of the options.
        at: usize,
    },
}
