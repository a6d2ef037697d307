//! Parameters of an end.

use std::time::Duration;

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

/// Wishes for the ACKs of the peer (draft-ietf-quic-ack-frequency). What is not here has
/// quinn-proto's default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Acks {
    /// Number of packets with data that may arrive without an ACK at once; by default 1.
    pub eliciting_threshold: Option<u32>,
    /// Longest delay of an ACK; by default 25 ms.
    pub max_delay: Option<Duration>,
    /// Number of packets beyond a missing one at which an ACK follows at once; by default 2.
    pub reordering_threshold: Option<u32>,
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
    /// Time without packets after which the connection ends: zero for no such time, and `None` for
    /// the default of 30 s.
    pub idle_timeout: Option<Duration>,
    /// Sends packets while the application is silent, so that the connection does not end (RFC 9000,
    /// 10.1.2).
    pub keeps_alive: bool,
    /// Round-trip time before the first sample; `None` for the default of 333 ms.
    pub initial_rtt: Option<Duration>,
    /// Number of streams over which each end sends its data, at least 1.
    pub streams: u32,
    /// ACK frequency that each end requests from its peer; `None` for no request.
    pub acks: Option<Acks>,
    /// Searches for the largest datagram that the path carries. It needs paths that do not fragment.
    pub finds_mtu: bool,
    /// Seed of all random numbers and keys of the end.
    pub seed: [u8; 32],
}

impl Config {
    /// Returns the defaults of quinn-proto with a congestion control and a seed.
    pub fn new(control: Control, seed: [u8; 32]) -> Self {
        Self {
            control,
            receive_window: None,
            send_window: None,
            idle_timeout: None,
            initial_rtt: None,
            keeps_alive: false,
            streams: 1,
            acks: None,
            finds_mtu: true,
            seed,
        }
    }
}
