//! Detection and repair of losses, and the reductions that follow.

use crate::time::Interval;

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
        /// The retransmission timer is that of [`RtoConfig`](super::RtoConfig) and slow start
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
        /// Rule that keeps duplicate ACKs of a go-back-N from starting a second fast retransmit.
        careful: Careful,
        /// The window when all is repaired.
        exit: NewRenoExit,
    },
    /// RFC 6675: scoreboard, pipe, NextSeg.
    Sack {
        /// Rescue retransmission, rule (4) of NextSeg.
        rescue: bool,
        /// Proportional Rate Reduction while recovery lasts, and its bound; without, the
        /// window is ssthresh at once. It has nothing to do where losses are taken for
        /// corruption, which reduce no window.
        prr: Option<PrrBound>,
        /// Losses are found by time and not by counting duplicates (RFC 8985).
        rack: Option<RackConfig>,
    },
}

impl Recovery {
    /// RFC 6675 with nothing that later RFCs put beside it.
    pub const SACK: Self = Self::Sack {
        rescue: true,
        prr: None,
        rack: None,
    };

    /// PRR, where a recovery may have it.
    pub fn prr_mut(&mut self) -> Option<&mut Option<PrrBound>> {
        match self {
            Self::Sack { prr, .. } => Some(prr),
            _ => None,
        }
    }

    /// RACK, where a recovery may have it.
    pub fn rack_mut(&mut self) -> Option<&mut Option<RackConfig>> {
        match self {
            Self::Sack { rack, .. } => Some(rack),
            _ => None,
        }
    }
}

/// Base of the slow-start threshold after a loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReduceFrom {
    /// Sent and not cumulatively acknowledged: `FlightSize` of RFC 5681, 3.1,
    /// and RFC 6675, 5, step 4.2.
    FlightSize,
    /// `FlightSize` to the letter, even if it exceeds the congestion window, as in simulators that
    /// take the RFC at its word: a loss may then raise the threshold.
    FlightSizeUnbounded,
    /// Pipe: `FlightSize` without data that is SACKed or presumed lost. Some simulators do this.
    Pipe,
    /// The congestion window, as 4.3BSD and Linux do.
    Cwnd,
}

/// Amount that PRR sends when losses have reduced the data in flight below ssthresh.
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
    /// Time for which a least round-trip time counts that is not met again (6.2, step 1, leaves it
    /// open; Linux: 300 s).
    pub min_rtt_window: Interval,
    /// Delivered segment that gives `RACK.rtt`.
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

/// Segment among those that an ACK delivers whose round-trip time is `RACK.rtt`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RackRtt {
    /// The last one sent: segments are processed in the order of departure (RFC 8985, 6.2, step 2).
    Latest,
    /// The last one processed where SACKed segments come first, then acknowledged ones, each in
    /// the order of sequence numbers (Linux: `tcp_rack_advance`).
    LastInSequence,
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

/// Detection of spurious retransmissions, by any of three methods: the first that finds one counts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Undo {
    /// The peer reported every retransmission as a duplicate by D-SACK, which is
    /// its [`ReceiverConfig::dsack`](super::ReceiverConfig::dsack) (RFC 2883, RFC 3708; as Linux).
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

    /// Returns whether any method is on.
    #[must_use]
    pub const fn any(self) -> bool {
        self.dsack || self.eifel || self.frto
    }
}

/// Assumed cause of a loss (SCPS-TP, CCSDS 714.0-B).
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
    /// The receiver does nothing: an agent on the path marks its ACKs.
    Agent,
}

/// Effect of a partial acknowledgment on the retransmission timer (west1997, 3.4 and 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartialAck {
    /// Restarts the timer, without backoff.
    Restart,
    /// Sets the timer to this time.
    Constant(Interval),
    /// Backs the timer off and restarts it.
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
    /// Window of RFC 3782, 3, step 5: min(ssthresh, `FlightSize` + SMSS).
    FlightSizeRfc3782,
    /// Option 2: ssthresh, as after Reno's fast recovery.
    Ssthresh,
}
