//! Everything that can be chosen about an endpoint.
//!
//! A TCP is a point on four axes: how it recovers from loss ([`Recovery`]), how
//! it controls its window ([`Control`]), how it times out ([`RtoConfig`]) and
//! how it receives ([`ReceiverConfig`]). The named points are in
//! [`crate::variant`]. Defaults are those of today's standards.

mod receiver;
mod recovery;
mod timer;

pub use receiver::{DelayedAck, DummyReply, ReceiverConfig, SnackForm, WindowScale};
pub use recovery::{
    AssumeLoss, Careful, Eln, NewRenoExit, PartialAck, PrrBound, RackConfig, RackRtt, Recovery,
    ReduceFrom, TlpConfig, Undo,
};
pub use timer::{Backoff, RtoAlgorithm, RtoConfig, Sampling};

pub use crate::congestion::ByteCounting;
pub use crate::ratio::Ratio;

use crate::congestion::{Control, Reno};
use crate::time::Interval;

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
    /// The congestion window grows only while it is in use: full or holding data
    /// back in the last window of data, or in slow start at least half full, which
    /// is the rule of Linux (`tcp_is_cwnd_limited`); the principle is that of RFC
    /// 2861, 3, and RFC 9002, 7.8. RFC 7661 has another rule. Without it every ACK of new data counts (RFC 5681, 3.1 as it
    /// stands).
    pub cwnd_validation: bool,
    /// Upper bound of the congestion window.
    pub cwnd_limit: CwndLimit,
    /// Segments leave evenly over the round trip, at a multiple of window over
    /// SRTT, where the congestion control has no rate of its own.
    pub pacing: Option<Pacing>,
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
    /// Explicit loss notification, by the receiver and to the sender.
    pub eln: Eln,
    /// Explicit bad state notification: the retransmission timer starts anew when
    /// a base station tells of one (west1997, 3).
    pub ebsn: bool,
    /// Effect of a partial acknowledgment on the retransmission timer; `None` if partial
    /// acknowledgments are not understood.
    pub ackp: Option<PartialAck>,
    /// Segments that drew a partial acknowledgment give no round-trip sample
    /// (west1997, 3.4, in the manner of Karn).
    pub ackp_karn: bool,
    /// Negative acknowledgments of a base station: what they name goes again and the window
    /// stays (Balakrishnan et al. 1995).
    pub nack: bool,
    /// Congestion control.
    pub congestion: Control,
    /// Value of an ACK where the window grows by ACKs ([`crate::congestion::Input::ByteCounting`]).
    pub byte_counting: ByteCounting,
    /// Window at the start of the connection, in segments.
    pub initial_window: InitialWindow,
    /// Slow-start threshold at the start, in bytes; `None` is unlimited.
    pub initial_ssthresh: Option<u64>,
    /// Restart from the initial window after an idle time of one RTO
    /// (RFC 5681, 4.1).
    pub idle_restart: bool,
    /// Such a restart halves the window once for each RTO of the idle time, not below
    /// the initial window, and leaves ssthresh at three quarters of the window before
    /// at least, as Linux does (`tcp_cwnd_restart`).
    pub idle_decay: bool,
    /// Time-outs of a SYN or SYN-ACK after which the connection begins with one
    /// segment, at least 1. RFC 5681, 3.1, wants it after the first, Linux does it
    /// after the second, because a time-out of 1 s (RFC 6298) is often too short.
    pub lost_syns: u32,
    /// Computation of the retransmission time-out.
    pub rto: RtoConfig,
    /// The receiving side.
    pub receiver: ReceiverConfig,
    /// Time-outs in a row for one segment before the connection is given up
    /// (R2 of RFC 9293, 3.8.3).
    pub max_retransmits: u32,
    /// Time-outs in a row for a SYN before it is given up: 7 are 183 s with the
    /// time-outs of RFC 6298, which wants 180 s (RFC 9293, 3.8.3, MUST-23).
    pub max_syn_retransmits: u32,
    /// Maximum segment lifetime; TIME-WAIT lasts twice this (RFC 9293, 3.4.2).
    pub msl: Interval,
    /// TCP Fast Open (RFC 7413).
    pub fast_open: FastOpen,
    /// Probes of an idle connection's peer.
    pub keepalive: Option<KeepAlive>,
    /// Time for which sent data, the SYN included, may stay unacknowledged before the connection is
    /// given up (RFC 9293, 3.9.1, and the local value of RFC 5482).
    pub user_timeout: Option<Interval>,
    /// Limit of FIN-WAIT-2 while nothing arrives and the application reads no more. RFC 9293 has no
    /// limit; Linux takes 60 s (`tcp_fin_timeout`).
    pub fin_wait_2: Option<Interval>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: 1460,
            send_buffer: u64::MAX,
            nagle: Nagle::Minshall,
            cwnd_validation: true,
            cwnd_limit: CwndLimit::None,
            pacing: None,
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
            eln: Eln::Off,
            ebsn: false,
            ackp: None,
            ackp_karn: false,
            nack: false,
            congestion: Control::new(&Reno::ALGORITHM),
            byte_counting: ByteCounting::Off,
            initial_window: InitialWindow::Segments(10),
            initial_ssthresh: None,
            idle_restart: true,
            idle_decay: false,
            lost_syns: 1,
            rto: RtoConfig::default(),
            receiver: ReceiverConfig::default(),
            max_retransmits: 15,
            max_syn_retransmits: 7,
            msl: Interval::from_secs(30),
            fast_open: FastOpen::Off,
            keepalive: None,
            user_timeout: None,
            fin_wait_2: None,
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

/// Keep-alive (RFC 9293, 3.8.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeepAlive {
    /// Silence before the first probe: the RFC wants 2 h unless configured.
    pub idle: Interval,
    /// Silence before another one.
    pub interval: Interval,
    /// Probes in a row without an answer before the connection is given up.
    pub probes: u32,
}

impl Default for KeepAlive {
    /// Returns the defaults of Linux (`tcp_keepalive_time`, `tcp_keepalive_intvl`,
    /// `tcp_keepalive_probes`).
    fn default() -> Self {
        Self {
            idle: Interval::from_secs(7200),
            interval: Interval::from_secs(75),
            probes: 9,
        }
    }
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

/// Window before the first acknowledgment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialWindow {
    /// Number of segments.
    Segments(u32),
    /// min(4 MSS, max(2 MSS, 4380 bytes)) (RFC 3390).
    Rfc3390,
}

impl InitialWindow {
    /// In bytes for this MSS.
    pub fn bytes(self, mss: u32) -> u64 {
        let mss = u64::from(mss);
        match self {
            Self::Segments(n) => u64::from(n.max(1)) * mss,
            Self::Rfc3390 => (4 * mss).min((2 * mss).max(4380)),
        }
    }
}

/// Pacing of a TCP that has a window alone, as Linux does it
/// (`tcp_update_pacing_rate`): no segment leaves sooner than its size over
/// ratio x window / SRTT after the one before. The first ten of a connection are
/// not paced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pacing {
    /// The ratio while the window is below half the slow-start threshold.
    pub slow_start: Ratio,
    /// The ratio after that.
    pub avoidance: Ratio,
}

impl Default for Pacing {
    /// `tcp_pacing_ss_ratio` = 200 and `tcp_pacing_ca_ratio` = 120 of Linux.
    fn default() -> Self {
        Self {
            slow_start: Ratio::new(2, 1),
            avoidance: Ratio::new(12, 10),
        }
    }
}

/// Upper bound of the congestion window, without recovery's inflation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CwndLimit {
    /// Nothing (RFC 5681).
    None,
    /// The largest window that the peer ever offered: more could never be used.
    ReceiveWindow,
}
