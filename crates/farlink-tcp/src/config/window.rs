//! Rules of the congestion window.

use crate::congestion::ByteCounting;
use crate::ratio::Ratio;

/// Rules of the congestion window, whatever the algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowConfig {
    /// Window at the start of the connection, in segments.
    pub initial: InitialWindow,
    /// Slow-start threshold at the start, in bytes; `None` is unlimited.
    pub initial_ssthresh: Option<u64>,
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
    /// Value of an ACK where the window grows by ACKs ([`crate::congestion::Input::ByteCounting`]).
    pub byte_counting: ByteCounting,
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
}

impl Default for WindowConfig {
    fn default() -> Self {
        Self {
            initial: InitialWindow::Segments(10),
            initial_ssthresh: None,
            cwnd_validation: true,
            cwnd_limit: CwndLimit::None,
            pacing: None,
            byte_counting: ByteCounting::Off,
            idle_restart: true,
            idle_decay: false,
            lost_syns: 1,
        }
    }
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
