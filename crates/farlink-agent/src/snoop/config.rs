//! Parameters of agents that handle losses on the wireless side.

use crate::connections::Limits;
use farlink_tcp::Interval;

/// Action on data lost on the wireless side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repair {
    /// Keeps copies of packets and retransmits them (west1997, 2.6).
    Resend,
    /// Caches sequence numbers only, and makes the sender retransmit without congestion control
    /// (west1997, 7.0).
    Mark,
}

/// Notices to the sender about the state of the wireless link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SenderNotices {
    /// No notices.
    Nothing,
    /// Partial acknowledgment when the local timer expires: once for each range of data that has
    /// reached the agent, or at each expiry (west1997, 3.3).
    Partial {
        /// Set if only senders that offered the option in their SYN are notified.
        negotiate: bool,
        /// Set to notify at each expiry.
        repeat: bool,
    },
    /// Partial acknowledgment for each data packet (west1997, 4.2).
    EachPacket {
        /// Set if only senders that offered the option in their SYN are notified.
        negotiate: bool,
    },
    /// Notice of a bad state when the local timer expires (west1997, 3.0).
    BadState,
}

/// Treatment of selective acknowledgments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SackHandling {
    /// SACK blocks pass unchanged.
    Pass,
    /// SACK blocks for holes under local repair, so that the sender sees only other holes.
    Mask,
    /// Removes SACK from the handshake.
    Off,
}

/// Instant from which the local timer of a packet runs, and from which its ACK is timed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimerStart {
    /// The packet has left the transmitter of the wireless link.
    Departure,
    /// The packet is handed to the wireless link, where it may wait (west1997, 3.3).
    Arrival,
}

/// Parameters of the snoop agent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SnoopConfig {
    /// Limits on the connections with state.
    pub limits: Limits,
    /// Action on lost data.
    pub repair: Repair,
    /// Notices to the sender.
    pub notices: SenderNotices,
    /// Maximum number of cached packets per connection.
    pub cache: usize,
    /// Maximum number of cached bytes of all connections.
    pub memory: u64,
    /// Start of the local timer.
    pub timer_from: TimerStart,
    /// Minimum local time-out.
    pub tick: Interval,
    /// Smoothed round-trip time of the wireless side before the first sample.
    pub srtt: Interval,
    /// Initial variation of the round-trip time.
    pub rttvar: Interval,
    /// Number of local retransmissions after which a packet is given up.
    pub tries: u32,
    /// Set if retransmissions precede the packets that wait for the wireless link.
    pub ahead: bool,
    /// Treatment of SACK blocks.
    pub sack: SackHandling,
    /// Set if a duplicate ACK with SACK blocks retransmits all data missing below the highest
    /// block.
    pub sack_repair: bool,
    /// Set if the agent sends the mobile host negative acknowledgments for data lost on the radio.
    pub uploads: bool,
    /// Maximum number of recorded holes in the data of a mobile host, per connection.
    pub holes: usize,
}

impl SnoopConfig {
    /// Default parameters of snoop.
    pub const DEFAULT: Self = Self {
        limits: Limits::DEFAULT,
        repair: Repair::Resend,
        notices: SenderNotices::Nothing,
        cache: 10_000,
        memory: 64 << 20,
        timer_from: TimerStart::Departure,
        tick: Interval::from_millis(100),
        srtt: Interval::from_millis(100),
        rttvar: Interval::from_millis(250),
        tries: 10,
        ahead: true,
        sack: SackHandling::Pass,
        sack_repair: false,
        uploads: false,
        holes: 256,
    };
}
