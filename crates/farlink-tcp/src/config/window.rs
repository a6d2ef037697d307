//! Settings of the congestion window.

use crate::congestion::{ByteCounting, SlowStartExit};
use crate::ratio::Ratio;
use crate::time::Interval;

/// Settings of the congestion window that apply to every algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowConfig {
    /// Initial window.
    pub initial: InitialWindow,
    /// Initial ssthresh in bytes; `None` is unlimited.
    pub initial_ssthresh: Option<u64>,
    /// Lets cwnd grow only while it is used, by the rule of Linux (`tcp_is_cwnd_limited`): during
    /// the last window of data cwnd stopped the sender, or in slow start at least half of cwnd was
    /// in flight. The principle is that of RFC 2861, 3, and RFC 9002, 7.8; RFC 7661 has another
    /// rule. If false, every ACK of new data raises cwnd (RFC 5681, 3.1).
    pub cwnd_validation: bool,
    /// Upper bound of cwnd.
    pub cwnd_limit: CwndLimit,
    /// Paces segments at a multiple of cwnd / SRTT, unless the congestion control has its own rate.
    pub pacing: Option<Pacing>,
    /// Releases paced segments in super-packets of the size that Linux chooses (`tcp_tso_autosize`).
    pub tso: bool,
    /// Growth of cwnd per ACK, for algorithms that grow by ACKs
    /// ([`crate::congestion::Input::ByteCounting`]).
    pub byte_counting: ByteCounting,
    /// Rule that ends slow start before a loss, for algorithms that can follow one
    /// ([`crate::congestion::Extras::slow_start`]).
    pub slow_start: SlowStartExit,
    /// Parameters of an earlier connection, for algorithms that can follow Careful Resume
    /// ([`crate::congestion::Extras::slow_start`]).
    pub resume: Option<SavedPath>,
    /// Restart from the initial window after an idle time of one RTO (RFC 5681, 4.1).
    pub idle_restart: bool,
    /// Halves cwnd in that restart once per RTO of idle time, down to the initial window, and
    /// raises ssthresh to at least 3/4 of the previous cwnd, as in Linux (`tcp_cwnd_restart`).
    pub idle_decay: bool,
    /// Number of time-outs of a SYN or SYN-ACK (at least 1) after which the connection begins with
    /// one segment. It is 1 in RFC 5681, 3.1, and 2 in Linux, because the RTO of 1 s (RFC 6298) is
    /// often too short.
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
            tso: false,
            byte_counting: ByteCounting::Off,
            slow_start: SlowStartExit::Standard,
            resume: None,
            idle_restart: true,
            idle_decay: false,
            lost_syns: 1,
        }
    }
}

/// Parameters that Careful Resume kept of an earlier connection (RFC 9959, 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SavedPath {
    /// `saved_cwnd`: bytes delivered per RTT.
    pub cwnd: u64,
    /// `saved_rtt`: least RTT.
    pub rtt: Interval,
    /// Age at the start of the run.
    pub age: Interval,
    /// Age after which the parameters are not used.
    pub lifetime: Interval,
}

impl Default for SavedPath {
    /// RFC 9959 leaves the lifetime to the path, from minutes to hours.
    fn default() -> Self {
        Self {
            cwnd: 1,
            rtt: Interval::ZERO,
            age: Interval::ZERO,
            lifetime: Interval::from_secs(3600),
        }
    }
}

/// Initial window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialWindow {
    /// Number of segments.
    Segments(u32),
    /// min(4 MSS, max(2 MSS, 4380 bytes)) (RFC 3390).
    Rfc3390,
}

impl InitialWindow {
    /// Returns the initial window in bytes for this MSS.
    pub fn bytes(self, mss: u32) -> u64 {
        let mss = u64::from(mss);
        match self {
            Self::Segments(n) => u64::from(n.max(1)) * mss,
            Self::Rfc3390 => (4 * mss).min((2 * mss).max(4380)),
        }
    }
}

/// Pacing for a congestion control without its own rate, as in Linux (`tcp_update_pacing_rate`).
/// After a segment of `n` bytes the next waits n SRTT / (ratio cwnd). The first ten segments of a
/// connection are not paced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pacing {
    /// Ratio while cwnd is below ssthresh / 2.
    pub slow_start: Ratio,
    /// Ratio otherwise.
    pub avoidance: Ratio,
}

impl Default for Pacing {
    /// Linux: `tcp_pacing_ss_ratio` = 200 and `tcp_pacing_ca_ratio` = 120 (in percent).
    fn default() -> Self {
        Self {
            slow_start: Ratio::new(2, 1),
            avoidance: Ratio::new(12, 10),
        }
    }
}

/// Upper bound of cwnd; the inflation of fast recovery does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CwndLimit {
    /// No bound (RFC 5681).
    None,
    /// Largest window that the peer ever offered; a larger cwnd could not be used.
    ReceiveWindow,
}
