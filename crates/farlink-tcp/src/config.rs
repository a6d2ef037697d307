//! Configuration of an endpoint.
//!
//! A TCP is a point on four axes: loss recovery ([`Recovery`]), congestion control ([`Control`]),
//! retransmission time-out ([`RtoConfig`]) and receiver ([`ReceiverConfig`]). [`crate::variant`]
//! has the named TCPs. Defaults follow today's standards.

mod ecn;
mod lifetime;
mod notices;
mod receiver;
mod recovery;
mod timer;
mod window;

pub use ecn::{EcnConfig, EcnEcho, EcnMode};
pub use lifetime::{KeepAlive, LifetimeConfig};
pub use notices::NoticeConfig;
pub use receiver::{AckRate, DelayedAck, DummyReply, ReceiverConfig, SnackForm, WindowScale};
pub use recovery::{
    AssumeLoss, Careful, Eln, NewRenoExit, PartialAck, PrrBound, RackConfig, RackRtt, Recovery,
    ReduceFrom, TlpConfig, Undo,
};
pub use timer::{Backoff, RtoAlgorithm, RtoConfig, Sampling};
pub use window::{CwndLimit, InitialWindow, Pacing, SavedPath, WindowConfig};

pub use crate::congestion::ByteCounting;
pub use crate::ratio::Ratio;

use crate::congestion::{Control, Reno};

/// Parameters of one endpoint.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// Largest segment that this endpoint sends and requests, in bytes of data (RFC 9293, 3.7.1).
    pub mss: u32,
    /// Maximum number of bytes that the application may have queued and the peer has not
    /// acknowledged.
    pub send_buffer: u64,
    /// Rule by which a partial segment waits for an acknowledgment (Nagle's algorithm).
    pub nagle: Nagle,
    /// Timestamps option (RFC 7323).
    pub timestamps: bool,
    /// Explicit Congestion Notification, if the peer supports it.
    pub ecn: EcnConfig,
    /// Loss detection and retransmission.
    pub recovery: Recovery,
    /// Number of duplicate ACKs that indicate a loss (RFC 5681, 3.2).
    pub dupack_threshold: u32,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Restarts the retransmission timer at a fast retransmit, as in BSD and Linux. RFC 6298
    /// restarts it only at ACKs of new data, so a recovery that begins late in an RTT may end in a
    /// time-out. With RACK it also restarts when a lost retransmission is sent again.
    pub restart_on_retransmit: bool,
    /// Restarts the retransmission timer at some ACKs that SACK data, as in Linux. Such an ACK
    /// newly SACKs data sent before the last transmission of the first segment, so the path still
    /// delivers older data. RFC 6298 waits for an ACK of new data.
    pub restart_on_sack: bool,
    /// Amount from which ssthresh is computed after a loss.
    pub reduce_from: ReduceFrom,
    /// Keeps ssthresh at a time-out if a loss or mark of the same window of data already reduced it
    /// and recovery still lasts, as in Linux (`tcp_enter_loss`). RFC 5681, 3.1, reduces it again.
    pub reduce_once: bool,
    /// Sends only the first outstanding segment again at a time-out of the coarse timer (Reno and
    /// Vegas). If false, a time-out marks all outstanding segments lost.
    pub repeat_first: bool,
    /// Detection and undo of spurious window reductions. The congestion control must support undo
    /// ([`crate::congestion::can_undo`]).
    pub undo: Undo,
    /// Cause assumed for a loss that no notice explains.
    pub assume_loss: AssumeLoss,
    /// Settings for notices of nodes on the path.
    pub notices: NoticeConfig,
    /// Congestion control.
    pub congestion: Control,
    /// Settings of the congestion window that apply to every algorithm.
    pub window: WindowConfig,
    /// Computation of the retransmission time-out.
    pub rto: RtoConfig,
    /// Settings of the receiver.
    pub receiver: ReceiverConfig,
    /// TCP Fast Open (RFC 7413).
    pub fast_open: FastOpen,
    /// TCP ACK Rate Request.
    pub ack_rate: AckRate,
    /// Limits for peers that do not answer, and for the closing of a connection.
    pub lifetime: LifetimeConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: 1460,
            send_buffer: u64::MAX,
            nagle: Nagle::Minshall,
            timestamps: false,
            ecn: EcnConfig::default(),
            recovery: Recovery::SACK,
            dupack_threshold: 3,
            limited_transmit: false,
            restart_on_retransmit: false,
            restart_on_sack: false,
            reduce_from: ReduceFrom::FlightSize,
            reduce_once: false,
            repeat_first: false,
            undo: Undo::OFF,
            assume_loss: AssumeLoss::Congestion,
            notices: NoticeConfig::default(),
            congestion: Control::new(&Reno::ALGORITHM),
            window: WindowConfig::default(),
            rto: RtoConfig::default(),
            receiver: ReceiverConfig::default(),
            fast_open: FastOpen::Off,
            ack_rate: AckRate::Off,
            lifetime: LifetimeConfig::default(),
        }
    }
}

/// TCP Fast Open (RFC 7413). With `Request` or `Cookie` a listening endpoint issues cookies, and
/// accepts data on a SYN with a valid cookie.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum FastOpen {
    /// Not used.
    #[default]
    Off,
    /// A SYN carries data if a cookie is known, and requests a cookie otherwise.
    Request,
    /// As [`Self::Request`], but the client's host has the server's cookie from the start. The host
    /// passes the cookie to its connections ([`crate::Connection::set_fast_open_cache`]).
    Cookie,
}

/// Nagle's algorithm: the condition under which a partial segment waits. The segment that ends the
/// application's data never waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nagle {
    /// Sends partial segments at once.
    Off,
    /// Waits while any data is unacknowledged (RFC 896; RFC 9293, 3.7.4).
    Rfc896,
    /// Waits while another partial segment is unacknowledged, so that the end of a large write is
    /// sent at once (draft-minshall-nagle-01, 1999; Linux).
    Minshall,
    /// Never waits, and a partial segment fills each window to the byte: a sender without
    /// silly-window avoidance (RFC 793, before RFC 813).
    Fill,
}
