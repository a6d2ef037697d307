//! Parameters of the agents that look at what is lost behind them.

use crate::connections::Limits;
use farlink_tcp::Interval;

/// Action on data that were lost behind the agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repair {
    /// Copies of packets are kept, and sent again (west1997, 2.6).
    Resend,
    /// Numbers are kept, and the sender is told to send again without congestion measures
    /// (west1997, 7.0).
    Mark,
}

/// Notices to the sender about trouble on the wireless link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tells {
    /// Nothing.
    Nothing,
    /// A partial acknowledgment when the local timer expires, once for each stretch of
    /// data that has come to the agent, or at each expiry (west1997, 3.3).
    Partial {
        /// Only a sender whose SYN says that it understands them.
        negotiate: bool,
        /// At each expiry.
        repeat: bool,
    },
    /// A partial acknowledgment for each packet with data (west1997, 4.2).
    EachPacket {
        /// Only a sender whose SYN says that it understands them.
        negotiate: bool,
    },
    /// A notice of a bad state when the local timer expires (west1997, 3.0).
    BadState,
}

/// Treatment of selective acknowledgments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SackHandling {
    /// Blocks pass unchanged.
    Pass,
    /// Holes under local repair are filled in: the sender sees other holes only.
    Mask,
    /// SACK is removed from the handshake.
    Off,
}

/// Parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SnoopConfig {
    /// Connections that are kept.
    pub limits: Limits,
    /// Repair of losses.
    pub repair: Repair,
    /// Notices to the sender.
    pub tells: Tells,
    /// Packets that are kept of a connection.
    pub cache: usize,
    /// Bytes of packets that are kept of all connections.
    pub memory: u64,
    /// Least local time-out.
    pub tick: Interval,
    /// Smoothed round-trip time of the wireless side before the first sample.
    pub srtt: Interval,
    /// Initial variation of the round-trip time.
    pub rttvar: Interval,
    /// Local tries after which a packet is forgotten.
    pub tries: u32,
    /// Set if retransmissions go ahead of the packets that wait for the wireless link.
    pub ahead: bool,
    /// Selective acknowledgments.
    pub sack: SackHandling,
    /// A duplicate ACK with blocks sends all that is missing below the highest.
    pub sack_repair: bool,
    /// Negative acknowledgments to the mobile host for what the radio lost of its data.
    pub uploads: bool,
    /// Most holes in the data of a mobile host that are remembered of a connection.
    pub holes: usize,
}

impl SnoopConfig {
    /// Snoop as it is without more being said.
    pub const DEFAULT: Self = Self {
        limits: Limits::DEFAULT,
        repair: Repair::Resend,
        tells: Tells::Nothing,
        cache: 10_000,
        memory: 64 << 20,
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
