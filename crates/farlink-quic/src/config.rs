//! Parameters of an end.

/// Congestion controls of quinn-proto.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// CUBIC (RFC 9438), the default.
    Cubic,
    /// NewReno (RFC 9002, 7).
    NewReno,
    /// BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00).
    Bbr,
}

/// Parameters of an end. What is not here has quinn-proto's default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Congestion control.
    pub control: Control,
    /// Bytes that the peer may send beyond those read, on one stream and in all; `None` for the
    /// default of 1.25 MB for a stream and no limit for all.
    pub receive_window: Option<u64>,
    /// Bytes that wait for acknowledgments; `None` for the default of 10 MB.
    pub send_window: Option<u64>,
    /// Searches for the largest datagram that the path carries. It needs paths that do not fragment.
    pub finds_mtu: bool,
    /// Seed of all random numbers and keys of the end.
    pub seed: [u8; 32],
}
