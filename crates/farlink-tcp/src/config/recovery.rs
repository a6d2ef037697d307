//! Settings of loss detection, loss recovery and window reduction.

use crate::time::Interval;

/// Loss recovery, one of the four axes of a TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// RFC 793: time-outs only; a time-out retransmits everything from SND.UNA.
    GoBackN {
        /// Sends all outstanding segments again at once at a time-out, regardless of cwnd. If
        /// false, cwnd limits these retransmissions, and an ACK that covers them saves them.
        repeat_all: bool,
        /// Sets ssthresh to half of the window at each duplicate ACK (leung1998, 2.2.1).
        dup_acks_halve: bool,
    },
    /// 4.3BSD-Tahoe (Jacobson 1988): fast retransmit, then slow start from one segment, with
    /// SND.NXT back at SND.UNA.
    Tahoe,
    /// 4.3BSD-Reno (RFC 2581): fast retransmit, and fast recovery until the first ACK of new data.
    Reno,
    /// Brakmo and Peterson 1995: Reno, and retransmission of a segment before three duplicate ACKs
    /// if its age exceeds the fine time-out.
    Vegas {
        /// Coefficient k of the deviation in the fine time-out SRTT + max(G, k D).
        fine_k: u32,
        /// G, the minimum margin of the fine time-out above SRTT.
        fine_granularity: Interval,
        /// Uses the retransmission timer of [`RtoConfig`](super::RtoConfig), with slow start after
        /// a time-out. If false, that timer uses the fine time-out from the first sample on,
        /// without backoff, and a time-out reduces the window like any loss (leung1998, 6.2).
        coarse_timeout: bool,
    },
    /// SCPS-TP (CCSDS 714.0-B): retransmits at once the holes that a SNACK names, and uses the fine
    /// time-out of Vegas.
    Snack {
        /// Coefficient k of the deviation in the fine time-out.
        fine_k: u32,
        /// Minimum margin of the fine time-out above SRTT.
        fine_granularity: Interval,
    },
    /// RFC 6582: a partial ACK shows the next lost segment.
    NewReno {
        /// Resets the retransmission timer only at the first partial ACK, so that a long recovery
        /// ends in a time-out ("impatient"). If false, resets it at every partial ACK ("slow but
        /// steady"; RFC 6582, 4).
        impatient: bool,
        /// Rule that keeps duplicate ACKs of a go-back-N from starting a second fast retransmit.
        careful: Careful,
        /// Window at the end of the recovery.
        exit: NewRenoExit,
    },
    /// RFC 6675: scoreboard, pipe, NextSeg.
    Sack {
        /// Rescue retransmission, rule (4) of NextSeg.
        rescue: bool,
        /// Bound of Proportional Rate Reduction. `None` sets the window to ssthresh at once. Has no
        /// effect with [`AssumeLoss::Corruption`], because a loss then reduces no window.
        prr: Option<PrrBound>,
        /// Loss detection by time (RFC 8985) instead of by counting duplicate ACKs.
        rack: Option<RackConfig>,
    },
}

impl Recovery {
    /// RFC 793: time-outs alone, and retransmissions within cwnd.
    pub const GO_BACK_N: Self = Self::GoBackN {
        repeat_all: false,
        dup_acks_halve: false,
    };

    /// RFC 6675 without PRR and RACK.
    pub const SACK: Self = Self::Sack {
        rescue: true,
        prr: None,
        rack: None,
    };

    /// Returns the PRR setting, if this recovery has one.
    pub fn prr_mut(&mut self) -> Option<&mut Option<PrrBound>> {
        match self {
            Self::Sack { prr, .. } => Some(prr),
            _ => None,
        }
    }

    /// Returns the RACK setting, if this recovery has one.
    pub fn rack_mut(&mut self) -> Option<&mut Option<RackConfig>> {
        match self {
            Self::Sack { rack, .. } => Some(rack),
            _ => None,
        }
    }
}

/// Amount from which ssthresh is computed after a loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReduceFrom {
    /// `FlightSize` of RFC 5681, 3.1, and RFC 6675, 5, step 4.2: bytes sent and not cumulatively
    /// acknowledged, at most cwnd.
    FlightSize,
    /// `FlightSize` without the limit of cwnd, as in simulators that follow the RFC literally. A
    /// loss may then raise ssthresh.
    FlightSizeUnbounded,
    /// Pipe, as in some simulators: `FlightSize` minus data that is SACKed or marked lost.
    Pipe,
    /// Congestion window, as in 4.3BSD and Linux.
    Cwnd,
}

/// Bytes that PRR may send per ACK while losses keep the bytes in flight below ssthresh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrrBound {
    /// RFC 9937: the bytes delivered, plus one segment at an ACK of new data that shows no further
    /// loss.
    SafeAck,
    /// PRR-CRB of RFC 6937: at most the bytes delivered.
    Conservative,
    /// PRR-SSRB of RFC 6937: the bytes delivered, plus one segment at each ACK.
    SlowStart,
}

/// RACK: loss detection by time (RFC 8985).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RackConfig {
    /// Divisor of the reordering window: `RACK.min_RTT` / `reo_divisor`, times a multiplier that
    /// D-SACK raises; 4 in the RFC (6.2, step 4).
    pub reo_divisor: u32,
    /// Number of recoveries without a D-SACK after which that multiplier returns to 1; 16 in the
    /// RFC (6.2, step 4).
    pub reo_persist: u32,
    /// Maximum age of `RACK.min_RTT`; an older value is replaced (6.2, step 1, gives no age; Linux:
    /// 300 s).
    pub min_rtt_window: Interval,
    /// Delivered segment whose RTT becomes `RACK.rtt`.
    pub rtt_from: RackRtt,
    /// Tail loss probes (section 7).
    pub tlp: Option<TlpConfig>,
}

impl Default for RackConfig {
    fn default() -> Self {
        Self {
            reo_divisor: 4,
            reo_persist: 16,
            min_rtt_window: Interval::from_secs(300),
            rtt_from: RackRtt::Latest,
            tlp: Some(TlpConfig::default()),
        }
    }
}

/// Segment, among those that an ACK delivers, whose RTT becomes `RACK.rtt`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RackRtt {
    /// Segment sent last (RFC 8985, 6.2, step 2).
    Latest,
    /// Segment processed last if SACKed segments come first and acknowledged ones second, each by
    /// sequence number (Linux: `tcp_rack_advance`).
    LastInSequence,
}

/// Probe time-out (PTO) of tail loss probes (RFC 8985, 7.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TlpConfig {
    /// PTO in units of SRTT; 2 in the RFC.
    pub srtts: u32,
    /// PTO before the first RTT sample; 1 s in the RFC.
    pub initial: Interval,
    /// `TLP.max_ack_delay`, which is added to the PTO while one segment is in flight. The RFC gives
    /// no value; Linux uses 200 ms.
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

/// Detection of spurious retransmissions by up to three methods. The first that detects one undoes
/// the reduction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Undo {
    /// D-SACK: the peer reported every retransmission as a duplicate (RFC 2883, RFC 3708; as in
    /// Linux). Needs [`ReceiverConfig::dsack`](super::ReceiverConfig::dsack) at the peer.
    pub dsack: bool,
    /// Eifel: the first ACK of new data echoes a timestamp older than the retransmission (RFC 3522,
    /// with the response of RFC 4015). Needs timestamps.
    pub eifel: bool,
    /// F-RTO: after a time-out new data is sent before further retransmissions. ACKs of segments
    /// that were sent once show that the time-out was spurious (RFC 5682, with the response of RFC
    /// 4015).
    pub frto: bool,
}

impl Undo {
    /// No detection.
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

    /// Combines the methods of both values.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            dsack: self.dsack || other.dsack,
            eifel: self.eifel || other.eifel,
            frto: self.frto || other.frto,
        }
    }

    /// Returns whether any method is on.
    #[must_use]
    pub const fn any(self) -> bool {
        self.dsack || self.eifel || self.frto
    }
}

/// Assumed cause of losses (SCPS-TP, CCSDS 714.0-B).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AssumeLoss {
    /// Full queues: a loss reduces the window.
    Congestion,
    /// The medium: lost data is retransmitted without a reduction of the window, also after a
    /// time-out.
    Corruption,
}

/// Explicit loss notification (west1997, 2.3.3 and 7.0).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Eln {
    /// No notification.
    Off,
    /// The network notifies the receiver of each loss and its cause
    /// ([`crate::Connection::on_loss_notice`]), and the receiver marks its ACKs.
    Oracle,
    /// The receiver reads the headers of segments that fail the checksum, and requests these
    /// segments at once by marked ACKs ([`crate::Connection::on_damaged`]).
    Checksum,
    /// An agent on the path marks the receiver's ACKs.
    Agent,
}

/// Effect of a partial acknowledgment on the retransmission timer (west1997, 3.4 and 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartialAck {
    /// Restarts the timer without backoff.
    Restart,
    /// Sets the timer to this time.
    Constant(Interval),
    /// Backs the timer off and restarts it.
    BackOff,
}

/// Guard against a second fast retransmit after a time-out (RFC 6582).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Careful {
    /// Fast retransmit if the ACK covers at least `recover` ("less careful", RFC 2582, 5).
    Less,
    /// Fast retransmit only if the ACK covers more than `recover` (RFC 6582, 3.2, step 2).
    Plain,
    /// As `Plain`, or if the ACK heuristic of RFC 6582, 4.1, indicates a loss.
    AckHeuristic,
    /// As `Plain`, or if the timestamp heuristic of RFC 6582, 4.2, indicates a loss.
    TimestampHeuristic,
}

/// Window at the full acknowledgment that ends a NewReno recovery (RFC 6582, 3.2, step 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NewRenoExit {
    /// Option 1: min(ssthresh, max(`FlightSize`, SMSS) + SMSS). If little is in flight this avoids
    /// a burst, and slow start follows.
    FlightSize,
    /// RFC 3782, 3, step 5: min(ssthresh, `FlightSize` + SMSS).
    FlightSizeRfc3782,
    /// Option 2: ssthresh, as after Reno's fast recovery.
    Ssthresh,
}
