//! Everything that can be chosen about an endpoint.
//!
//! A TCP is a point on four axes: how it recovers from loss ([`Recovery`]), how
//! it controls its window ([`Control`]), how it times out ([`RtoConfig`]) and
//! how it receives ([`ReceiverConfig`]). The named points are in
//! [`crate::variant`]. Defaults are those of today's standards.

use crate::congestion::{Control, Reno};
use crate::time::Interval;

/// A fixed-point fraction in millionths: exact, so that a run is the same to
/// the bit on every machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ratio(u32);

impl Ratio {
    /// Millionths in one.
    pub const ONE: u32 = 1_000_000;

    /// From millionths.
    pub const fn from_millionths(n: u32) -> Self {
        Self(n)
    }

    /// `num / den`, rounded to the nearest millionth.
    pub const fn new(num: u32, den: u32) -> Self {
        Self(((num as u64 * Self::ONE as u64 + den as u64 / 2) / den as u64) as u32)
    }

    /// As millionths.
    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// `value * self`, rounded down.
    #[inline]
    pub const fn of(self, value: u64) -> u64 {
        if let Some(product) = value.checked_mul(self.0 as u64) {
            product / Self::ONE as u64
        } else {
            ((value as u128 * self.0 as u128) / Self::ONE as u128) as u64
        }
    }

    /// As a float, for display.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ONE)
    }
}

/// All parameters of one endpoint.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// Largest segment this endpoint is willing to send and asks for, in bytes
    /// of data (RFC 9293, 3.7.1).
    pub mss: u32,
    /// Bytes the application may have queued but not yet acknowledged.
    pub send_buffer: u64,
    /// When a small segment waits for an acknowledgment (Nagle's algorithm).
    pub nagle: Nagle,
    /// The congestion window grows only while it is in use: full or holding data
    /// back in the last window of data, or in slow start at least half full, which
    /// is the rule of Linux (`tcp_is_cwnd_limited`); the principle is that of RFC
    /// 2861, 3, and RFC 9002, 7.8. RFC 7661 has another rule. Without it every ACK of new data counts (RFC 5681, 3.1 as it
    /// stands).
    pub cwnd_validation: bool,
    /// What bounds the congestion window from above.
    pub cwnd_limit: CwndLimit,
    /// Segments leave evenly over the round trip, at a multiple of window over
    /// SRTT, where the congestion control has no rate of its own.
    pub pacing: Option<Pacing>,
    /// Timestamps option (RFC 7323).
    pub timestamps: bool,
    /// Explicit Congestion Notification, if the peer agrees (RFC 3168).
    pub ecn: bool,
    /// How losses are repaired.
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
    /// What a window reduction takes the part of.
    pub reduce_from: ReduceFrom,
    /// A time-out does not reduce ssthresh where a loss or a mark of the same window
    /// of data has reduced it and is still being repaired, as in Linux
    /// (`tcp_enter_loss`). RFC 5681, 3.1, reduces it again.
    pub reduce_once: bool,
    /// Proportional Rate Reduction while SACK recovery lasts, and its bound;
    /// without, the window is ssthresh at once (RFC 6675).
    pub prr: Option<PrrBound>,
    /// Losses are found by time and not by counting duplicates (RFC 8985), with
    /// SACK recovery only.
    pub rack: Option<RackConfig>,
    /// How a reduction of the window that was not called for is found out and
    /// taken back. The congestion control has to know how
    /// ([`crate::congestion::can_undo`]).
    pub undo: Undo,
    /// What a loss is taken for that nobody told the cause of.
    pub assume_loss: AssumeLoss,
    /// Explicit loss notification, by the receiver and to the sender.
    pub eln: Eln,
    /// Explicit bad state notification: the retransmission timer starts anew when
    /// a base station tells of one (west1997, 3).
    pub ebsn: bool,
    /// What a partial acknowledgment does to the retransmission timer; `None`
    /// does not understand them.
    pub ackp: Option<PartialAck>,
    /// Segments that drew a partial acknowledgment give no round-trip sample
    /// (west1997, 3.4, in the manner of Karn).
    pub ackp_karn: bool,
    /// How the window is controlled.
    pub congestion: Control,
    /// What an ACK counts for where the window grows by ACKs
    /// ([`crate::congestion::Input::ByteCounting`]).
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
    /// How the retransmission time-out is found.
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
    /// Whether the peer of an idle connection is asked if it is there still.
    pub keepalive: Option<KeepAlive>,
    /// How long what was sent may stay unacknowledged, the SYN too, before the
    /// connection is given up (RFC 9293, 3.9.1, and the local value of RFC 5482).
    pub user_timeout: Option<Interval>,
    /// How long FIN-WAIT-2 may last while nothing comes, once the application reads no
    /// more, either. RFC 9293 has no end to it; Linux takes 60 s (`tcp_fin_timeout`).
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
            recovery: Recovery::Sack { rescue: true },
            dupack_threshold: 3,
            limited_transmit: false,
            restart_on_retransmit: false,
            restart_on_sack: false,
            reduce_from: ReduceFrom::FlightSize,
            reduce_once: false,
            prr: None,
            rack: None,
            undo: Undo::OFF,
            assume_loss: AssumeLoss::Congestion,
            eln: Eln::Off,
            ebsn: false,
            ackp: None,
            ackp_karn: false,
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
    /// Those of Linux (`tcp_keepalive_time`, `tcp_keepalive_intvl`,
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
    /// So many segments.
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

/// What an ACK counts for when it opens the window.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ByteCounting {
    /// Itself, and at most a segment (RFC 5681, equations 2 and 3).
    #[default]
    Off,
    /// The bytes that it acknowledges; in slow start at most so many segments, L
    /// of RFC 3465, and one in the slow start after a time-out (2.3).
    Limit(u32),
    /// The bytes that it acknowledges, in slow start up to ssthresh, as in Linux.
    Unlimited,
}

/// The recovery axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// RFC 793: time-outs only; after one, everything from the first
    /// unacknowledged byte is sent again.
    GoBackN,
    /// 4.3BSD-Tahoe (Jacobson 1988): fast retransmit, then slow start from one
    /// segment, going back to the first unacknowledged byte.
    Tahoe,
    /// 4.3BSD-Reno (RFC 2581): fast retransmit and fast recovery; the first
    /// ACK for new data ends it.
    Reno,
    /// Brakmo and Peterson 1995: Reno, and segments that are out for longer than
    /// a time-out from an exact clock go again before three duplicate ACKs.
    Vegas {
        /// Coefficient of the deviation in the fine time-out SRTT + max(G, k D).
        fine_k: u32,
        /// G, the least that the fine time-out exceeds SRTT by.
        fine_granularity: Interval,
        /// The retransmission timer is that of [`RtoConfig`] and slow start
        /// follows it. Without, it runs on the fine time-out from the first
        /// sample on, does not back off, and the segment that it sends again
        /// is a loss as any other (leung1998, 6.2).
        coarse_timeout: bool,
    },
    /// SCPS-TP (CCSDS 714.0-B): what a SNACK names goes again at once, beside the
    /// clocks of Vegas.
    Snack {
        /// Coefficient of the deviation in the fine time-out.
        fine_k: u32,
        /// The least that the fine time-out exceeds SRTT by.
        fine_granularity: Interval,
    },
    /// RFC 6582: a partial ACK shows the next hole.
    NewReno {
        /// Reset the retransmission timer at the first partial ACK only, so
        /// that a long recovery ends in a time-out (impatient), instead of at
        /// each (slow but steady). RFC 6582, 4.
        impatient: bool,
        /// What keeps duplicate ACKs that a go-back-N caused from starting a
        /// second fast retransmit.
        careful: Careful,
        /// The window when all is repaired.
        exit: NewRenoExit,
    },
    /// RFC 6675: scoreboard, pipe, NextSeg.
    Sack {
        /// Rescue retransmission, rule (4) of NextSeg.
        rescue: bool,
    },
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

/// What bounds the congestion window from above, recovery's inflation aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CwndLimit {
    /// Nothing (RFC 5681).
    None,
    /// The largest window that the peer ever offered: more could never be used.
    ReceiveWindow,
}

/// What the slow-start threshold is a part of after a loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReduceFrom {
    /// Sent and not cumulatively acknowledged: `FlightSize` of RFC 5681, 3.1,
    /// and RFC 6675, 5, step 4.2.
    FlightSize,
    /// The same to the letter, though it be more than the congestion window, as
    /// in a simulator that takes the RFC at its word: a loss may then raise it.
    FlightSizeUnbounded,
    /// What is left in the network: `FlightSize` without what is SACKed or
    /// presumed lost. Some simulators do this.
    Pipe,
    /// The congestion window, as 4.3BSD and Linux do.
    Cwnd,
}

/// What PRR lets out when losses took what is in flight below ssthresh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrrBound {
    /// RFC 9937: what was delivered, and a segment more at an ACK of new data
    /// that shows no further loss.
    SafeAck,
    /// PRR-CRB of RFC 6937: never more than was delivered.
    Conservative,
    /// PRR-SSRB of RFC 6937: a segment more at each ACK.
    SlowStart,
}

/// RACK: losses by time (RFC 8985).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RackConfig {
    /// The reordering window is `RACK.min_RTT` over this, times a multiple that
    /// D-SACK raises: 4 (6.2, step 4).
    pub reo_divisor: u32,
    /// Recoveries without a D-SACK after which that multiple is 1 again: 16
    /// (6.2, step 4).
    pub reo_persist: u32,
    /// How long a least round-trip time counts that is not met again (6.2, step
    /// 1, leaves it open; Linux: 300 s).
    pub min_rtt_window: Interval,
    /// Tail loss probes (section 7).
    pub tlp: Option<TlpConfig>,
}

impl Default for RackConfig {
    fn default() -> Self {
        Self {
            reo_divisor: 4,
            reo_persist: 16,
            min_rtt_window: Interval::from_secs(300),
            tlp: Some(TlpConfig::default()),
        }
    }
}

/// Tail loss probes: the probe time-out, PTO (RFC 8985, 7.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TlpConfig {
    /// Smoothed round-trip times in it: 2.
    pub srtts: u32,
    /// PTO before the first sample: 1 s.
    pub initial: Interval,
    /// `TLP.max_ack_delay`, put on top while one segment is in flight. The RFC
    /// leaves its value open; Linux takes 200 ms.
    pub max_ack_delay: Interval,
}

impl Default for TlpConfig {
    fn default() -> Self {
        Self {
            srtts: 2,
            initial: Interval::from_secs(1),
            max_ack_delay: Interval::from_millis(200),
        }
    }
}

/// How spurious retransmissions are found out: any of three ways, the first
/// that finds one counts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Undo {
    /// The peer reported every retransmission as a duplicate by D-SACK, which is
    /// its [`ReceiverConfig::dsack`] (RFC 2883, RFC 3708; as Linux).
    pub dsack: bool,
    /// The first ACK of new data echoes a timestamp from before the
    /// retransmission (Eifel, RFC 3522, with the response of RFC 4015). Needs
    /// timestamps.
    pub eifel: bool,
    /// After a time-out new data goes before retransmissions, and the ACKs of
    /// what was not sent again tell that it was spurious (F-RTO, RFC 5682, with
    /// the response of RFC 4015).
    pub frto: bool,
}

impl Undo {
    /// Not at all.
    pub const OFF: Self = Self {
        dsack: false,
        eifel: false,
        frto: false,
    };
    /// D-SACK alone.
    pub const DSACK: Self = Self {
        dsack: true,
        ..Self::OFF
    };
    /// Eifel alone.
    pub const EIFEL: Self = Self {
        eifel: true,
        ..Self::OFF
    };
    /// F-RTO alone.
    pub const FRTO: Self = Self {
        frto: true,
        ..Self::OFF
    };

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            dsack: self.dsack || other.dsack,
            eifel: self.eifel || other.eifel,
            frto: self.frto || other.frto,
        }
    }

    /// Whether there is any.
    #[must_use]
    pub const fn any(self) -> bool {
        self.dsack || self.eifel || self.frto
    }
}

/// What a loss is taken for (SCPS-TP, CCSDS 714.0-B).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AssumeLoss {
    /// A full queue: the window is reduced.
    Congestion,
    /// The medium: what is lost is sent again, and the window stays, after a
    /// time-out as well.
    Corruption,
}

/// Explicit loss notification (west1997, 2.3.3 and 7.0).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Eln {
    /// None.
    Off,
    /// The receiver is told by the network of each loss and its cause
    /// ([`crate::Connection::on_loss_notice`]), and marks its ACKs.
    Oracle,
    /// The receiver looks at segments that fail the checksum, and asks for them
    /// by marked ACKs at once ([`crate::Connection::on_damaged`]).
    Checksum,
}

/// What a partial acknowledgment does to the retransmission timer
/// (west1997, 3.4 and 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartialAck {
    /// It starts anew, without backoff.
    Restart,
    /// It goes off so long after.
    Constant(Interval),
    /// It backs off and starts anew.
    BackOff,
}

/// Guards against multiple fast retransmits after a time-out (RFC 6582).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Careful {
    /// Fast retransmit whenever the ACK covers at least `recover` ("less
    /// careful", RFC 2582, 5).
    Less,
    /// Only when the ACK covers more than `recover` (RFC 6582, 3.2 step 2).
    Plain,
    /// In addition the ACK heuristic of RFC 6582, 4.1.
    AckHeuristic,
    /// In addition the timestamp heuristic of RFC 6582, 4.2.
    TimestampHeuristic,
}

/// Window at the end of a NewReno recovery, the full acknowledgment of RFC 6582,
/// 3.2, step 3. `FlightSize` is that of this moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NewRenoExit {
    /// Option 1: min(ssthresh, max(`FlightSize`, SMSS) + SMSS). Where little is in
    /// flight, no burst, and slow start from there.
    FlightSize,
    /// The same as RFC 3782, 3, step 5, has it: min(ssthresh, `FlightSize` + SMSS).
    FlightSizeRfc3782,
    /// Option 2: ssthresh, as after Reno's fast recovery.
    Ssthresh,
}

/// The timer axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtoConfig {
    /// How samples become a time-out.
    pub algorithm: RtoAlgorithm,
    /// Time-out before the first sample.
    pub initial: Interval,
    /// Least time-out.
    pub min: Interval,
    /// Greatest time-out, backoff included.
    pub max: Interval,
    /// Clock of samples and timers: 500 ms for the BSD slow timer; zero is
    /// exact. A sample is the number of ticks that passed, and a timer goes
    /// off on a tick.
    pub tick: Interval,
    /// What a time-out does to the next.
    pub backoff: Backoff,
    /// Which segments are timed.
    pub sampling: Sampling,
    /// Where what an ACK acknowledges gives no sample of its own, because there is
    /// none or it was sent twice, the first segment that it newly SACKs and that
    /// was sent once gives one, as in Linux.
    pub from_sack: bool,
    /// Time-outs computed from samples are rounded to the nearest multiple of this,
    /// and are one of it at least; zero does not round. Samples and timers stay
    /// exact, unlike with `tick`.
    pub round: Interval,
    /// Karn's algorithm (Karn and Partridge 1987): what was sent twice gives no
    /// sample. Without, the one segment that is timed goes on being timed from
    /// when it first left. Counts with [`Sampling::OnePerRtt`] without timestamps.
    pub karn: bool,
    /// SRTT and deviation before the first sample, which moves them by the gains as
    /// any other does; without, the first sample sets them.
    pub start: Option<(Interval, Interval)>,
    /// Put on top of each time-out that is computed from samples, after its backoff
    /// and below the maximum (FreeBSD: `tcp_rexmit_slop`).
    pub slop: Interval,
}

impl Default for RtoConfig {
    fn default() -> Self {
        Self {
            algorithm: RtoAlgorithm::Rfc6298 {
                granularity: Interval::from_millis(1),
            },
            initial: Interval::from_secs(1),
            min: Interval::from_secs(1),
            max: Interval::from_secs(60),
            tick: Interval::ZERO,
            backoff: Backoff::Exponential,
            sampling: Sampling::OnePerRtt,
            from_sack: false,
            round: Interval::ZERO,
            karn: true,
            start: None,
            slop: Interval::ZERO,
        }
    }
}

/// How round-trip samples become a time-out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RtoAlgorithm {
    /// SRTT = alpha SRTT + (1 - alpha) R; RTO = beta SRTT (RFC 793, 3.7).
    Rfc793 {
        /// Weight of the old estimate, 0.8 to 0.9.
        alpha: Ratio,
        /// Delay variance factor, 1.3 to 2.0.
        beta: Ratio,
    },
    /// Jacobson 1988: err = R - SRTT; SRTT += gain err;
    /// D += `dev_gain` (|err| - D); RTO = SRTT + k D. The first sample gives
    /// SRTT = R, D = R / 2.
    Jacobson {
        /// Gain of the mean, 1/8.
        gain: Ratio,
        /// Gain of the deviation, 1/4.
        dev_gain: Ratio,
        /// Deviation coefficient: 4 (2 in the first edition of the paper).
        k: u32,
    },
    /// RFC 6298, 2: the same estimator with max(G, 4 RTTVAR).
    Rfc6298 {
        /// Clock granularity G.
        granularity: Interval,
    },
    /// Linux (Sarolahti and Kuznetsov 2002, 4): RTO = SRTT + the greatest of
    /// 4 RTTVAR in the last round trip, which is no less than
    /// [`RtoConfig::min`] and falls by a quarter a round trip. A sample far
    /// below SRTT raises RTTVAR by an eighth of what one above it would.
    Linux,
}

/// What a time-out does to the next one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backoff {
    /// Doubles, up to the maximum (RFC 6298, 5.5).
    Exponential,
    /// Stays as it is.
    None,
}

/// Which segments are timed. Retransmitted ones never are without timestamps
/// (Karn's algorithm).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sampling {
    /// One segment at a time (RFC 793; 4.3BSD).
    OnePerRtt,
    /// Every segment, as Linux does without timestamps.
    EverySegment,
}

/// The receiving side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiverConfig {
    /// Bytes the receive buffer holds: the largest window offered.
    pub buffer: u64,
    /// Bytes that the buffer may grow to by itself, as the data comes (dynamic
    /// right-sizing, as Linux does); `None` for a buffer that stays as it is.
    pub buffer_max: Option<u64>,
    /// Beside `buffer_max`: the window begins at 64 KiB and opens by two bytes for
    /// each that comes until it is the whole buffer, which is made for what is out
    /// of order besides, as in Linux since 6.16. Without, the whole buffer is offered.
    pub gradual_window: bool,
    /// Window scale (RFC 7323, 2).
    pub window_scale: WindowScale,
    /// Whether segments out of order are kept. Without, they are dropped, as
    /// RFC 793 allows.
    pub reassembly: bool,
    /// SACK (RFC 2018): offered by both sides, and sent by this one.
    pub sack: bool,
    /// Duplicates are reported in the first SACK block (D-SACK, RFC 2883). Needs
    /// `sack`.
    pub dsack: bool,
    /// SNACK (CCSDS 714.0-B): offered by both sides, and sent by this one. Not
    /// beside `sack`.
    pub snack: SnackForm,
    /// When data is acknowledged.
    pub delayed_ack: DelayedAck,
    /// What fills a hole, all of it or in part, is acknowledged as data in order is
    /// and not at once, in spite of RFC 5681, 4.2.
    pub delay_gap_fill: bool,
    /// What shows a hole, or came before, is acknowledged as data in order is and not
    /// at once, in spite of RFC 5681, 4.2.
    pub delay_dup_acks: bool,
    /// What the dummy segments of a peer meet.
    pub dummies: DummyReply,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            buffer: 65_535,
            buffer_max: None,
            gradual_window: false,
            window_scale: WindowScale::Auto,
            reassembly: true,
            sack: true,
            dsack: false,
            snack: SnackForm::Off,
            delayed_ack: DelayedAck::default(),
            delay_gap_fill: false,
            delay_dup_acks: false,
            dummies: DummyReply::Echo,
        }
    }
}

/// Forms of the SNACK option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SnackForm {
    /// Not offered.
    Off,
    /// A hole an ACK.
    Short,
    /// A hole and a bit vector of what is behind it.
    Long,
}

/// What a receiver does with dummy segments (Akyildiz, Morabito, Palazzo 2001).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DummyReply {
    /// An ACK that is marked as they are, of their class.
    Echo,
    /// Nothing.
    Ignore,
    /// It does not know them: they are data that came before, and it says so.
    Plain,
}

impl ReceiverConfig {
    /// Most bytes that the window can ever be.
    pub fn largest_window(&self) -> u64 {
        self.buffer.max(self.buffer_max.unwrap_or(0))
    }
}

/// Whether and how far the window field is scaled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowScale {
    /// Not offered.
    Off,
    /// Offered with the least shift that lets the buffer be advertised whole;
    /// not offered when that is zero.
    Auto,
    /// Offered with this shift (0 to 14).
    Shift(u8),
}

/// Delayed acknowledgment (RFC 9293, 3.8.6.3; RFC 5681, 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayedAck {
    /// Longest time an ACK waits; zero acknowledges at once.
    pub max_delay: Interval,
    /// An ACK is sent when this many full-sized segments wait for one.
    pub every: u32,
    /// Heartbeat: the ACK leaves on the next multiple of `max_delay`, as the
    /// BSD fast timer did, instead of `max_delay` after the segment.
    pub heartbeat: bool,
    /// The first so many ACKs of data leave at once, and those after them of segments
    /// that open the window ([`ReceiverConfig::gradual_window`]), as in Linux.
    pub quick: u32,
}

impl Default for DelayedAck {
    fn default() -> Self {
        Self {
            max_delay: Interval::from_millis(200),
            every: 2,
            heartbeat: false,
            quick: 0,
        }
    }
}

impl DelayedAck {
    /// Every segment at once.
    pub const OFF: Self = Self {
        max_delay: Interval::ZERO,
        every: 1,
        heartbeat: false,
        quick: 0,
    };
}
