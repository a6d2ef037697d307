//! Everything that can be chosen about an endpoint.
//!
//! A TCP is a point on four axes: how it recovers from loss ([`Recovery`]), how
//! it controls its window ([`Control`]), how it times out ([`RtoConfig`]) and
//! how it receives ([`ReceiverConfig`]). The named points are in
//! [`crate::variant`]. Defaults are those of today's standards.

mod lifetime;
mod notices;
mod receiver;
mod recovery;
mod timer;
mod window;

pub use lifetime::{KeepAlive, LifetimeConfig};
pub use notices::NoticeConfig;
pub use receiver::{DelayedAck, DummyReply, ReceiverConfig, SnackForm, WindowScale};
pub use recovery::{
    AssumeLoss, Careful, Eln, NewRenoExit, PartialAck, PrrBound, RackConfig, RackRtt, Recovery,
    ReduceFrom, TlpConfig, Undo,
};
pub use timer::{Backoff, RtoAlgorithm, RtoConfig, Sampling};
pub use window::{CwndLimit, InitialWindow, Pacing, WindowConfig};

pub use crate::congestion::ByteCounting;
pub use crate::ratio::Ratio;

use crate::congestion::{Control, Reno};

/// Parameters of one endpoint.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// Largest segment this endpoint is willing to send and asks for, in bytes
    /// of data (RFC 9293, 3.7.1).
    pub mss: u32,
    /// Bytes the application may have queued but not yet acknowledged.
    pub send_buffer: u64,
    /// Rule for small segments that wait for an acknowledgment (Nagle's algorithm).
    pub nagle: Nagle,
    /// Timestamps option (RFC 7323).
    pub timestamps: bool,
    /// Explicit Congestion Notification, if the peer agrees (RFC 3168).
    pub ecn: bool,
    /// Repair of losses.
    pub recovery: Recovery,
    /// Duplicate ACKs that mean a loss (RFC 5681, 3.2).
    pub dupack_threshold: u32,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Restart the retransmission timer at a fast retransmit, as BSD and Linux
    /// do. RFC 6298 restarts it at ACKs of new data only, so that a recovery
    /// that begins late in a round trip may end in a time-out. With RACK, which
    /// sends the first segment again when it sees that its retransmission is lost,
    /// then too.
    pub restart_on_retransmit: bool,
    /// Restart the retransmission timer at an ACK that newly SACKs what left
    /// before the last transmission of the first segment, as Linux does: the
    /// path still delivers what is older. RFC 6298 waits for an ACK of new data.
    pub restart_on_sack: bool,
    /// Base of a window reduction.
    pub reduce_from: ReduceFrom,
    /// A time-out does not reduce ssthresh where a loss or a mark of the same window
    /// of data has reduced it and is still being repaired, as in Linux
    /// (`tcp_enter_loss`). RFC 5681, 3.1, reduces it again.
    pub reduce_once: bool,
    /// Detection and undo of unneeded window reductions. The congestion control must be able to
    /// undo ([`crate::congestion::can_undo`]).
    pub undo: Undo,
    /// Assumed cause of losses for which no cause was reported.
    pub assume_loss: AssumeLoss,
    /// Notices of nodes on the way, and of the medium.
    pub notices: NoticeConfig,
    /// Congestion control.
    pub congestion: Control,
    /// Rules of the congestion window, whatever the algorithm.
    pub window: WindowConfig,
    /// Computation of the retransmission time-out.
    pub rto: RtoConfig,
    /// The receiving side.
    pub receiver: ReceiverConfig,
    /// TCP Fast Open (RFC 7413).
    pub fast_open: FastOpen,
    /// Limits for a peer that does not answer, and for the end.
    pub lifetime: LifetimeConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: 1460,
            send_buffer: u64::MAX,
            nagle: Nagle::Minshall,
            timestamps: false,
            ecn: false,
            recovery: Recovery::SACK,
            dupack_threshold: 3,
            limited_transmit: false,
            restart_on_retransmit: false,
            restart_on_sack: false,
            reduce_from: ReduceFrom::FlightSize,
            reduce_once: false,
            undo: Undo::OFF,
            assume_loss: AssumeLoss::Congestion,
            notices: NoticeConfig::default(),
            congestion: Control::new(&Reno::ALGORITHM),
            window: WindowConfig::default(),
            rto: RtoConfig::default(),
            receiver: ReceiverConfig::default(),
            fast_open: FastOpen::Off,
            lifetime: LifetimeConfig::default(),
        }
    }
}

/// TCP Fast Open (RFC 7413). With either of the last two an end that waits for
/// connections gives cookies and takes data on a SYN that has one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum FastOpen {
    /// Not used.
    #[default]
    Off,
    /// A SYN asks for a cookie if none is known, and has data with it otherwise.
    Request,
    /// As [`Self::Request`], by hosts that have met before: the client's knows the
    /// server's cookie. It is the host that knows, and tells its connections
    /// ([`crate::Connection::set_fast_open_cache`]).
    Cookie,
}

/// Nagle's algorithm: when a segment that is not full waits. One that ends what
/// the application will ever write never does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nagle {
    /// Never.
    Off,
    /// While anything is unacknowledged (RFC 896; RFC 9293, 3.7.4).
    Rfc896,
    /// While another that was not full is unacknowledged, so that the end of a
    /// large write leaves at once (draft-minshall-nagle-01, 1999; Linux).
    Minshall,
}
