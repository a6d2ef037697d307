//! Errors of packets as bytes.

/// Reason why a packet cannot be encoded, or bytes cannot be decoded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WireError {
    /// The datagram is longer than its length field allows.
    #[error("a datagram of {0} bytes does not fit IP, whose length field ends at 65535")]
    TooLong(u32),
    /// The addresses are of another IP version than the packet.
    #[error("addresses of another version of IP than the packet's")]
    Addresses,
    /// The options are longer than a TCP header allows.
    #[error("{0} bytes of options do not fit a TCP header, which ends at 40")]
    TooManyOptions(u32),
    /// The bytes begin with no IPv4 header.
    #[error("no IPv4 header: {0}")]
    Ipv4(String),
    /// The bytes begin with no IPv6 header.
    #[error("no IPv6 header: {0}")]
    Ipv6(String),
    /// The length field contradicts the header's length or the number of bytes.
    #[error("IPv4 total length {total} does not fit: header {header} bytes, {available} present")]
    Ipv4Length {
        /// Total length field.
        total: usize,
        /// Bytes of the header.
        header: usize,
        /// Bytes available.
        available: usize,
    },
    /// The checksum of the IPv4 header is wrong.
    #[error("wrong IPv4 header checksum")]
    Ipv4Checksum,
    /// The fragment's offset is not a multiple of 8, so a header cannot express it.
    #[error("a fragment at byte {0} of its datagram, which is no multiple of 8")]
    FragmentOffset(u32),
    /// The packet is a fragment.
    #[error("a fragment, not a whole datagram")]
    Fragment,
    /// The packet carries another protocol than TCP.
    #[error("protocol {0}, not TCP (6)")]
    NotTcp(u8),
    /// The datagram contains no TCP header.
    #[error("no TCP header: {0}")]
    Tcp(String),
    /// The TCP checksum is wrong.
    #[error("wrong TCP checksum")]
    TcpChecksum,
    /// The length of the UDP datagram does not fit the bytes after the IP header.
    #[error("no whole UDP datagram in {0} bytes")]
    Udp(usize),
    /// The UDP checksum is wrong.
    #[error("wrong UDP checksum")]
    UdpChecksum,
    /// An option has an impossible length.
    #[error("TCP option {kind} at byte {at} of the options has a wrong length")]
    Option {
        /// Kind of the option.
        kind: u8,
        /// Offset of the option from the first byte of the options.
        at: usize,
    },
}
