//! Keys of loss detection and loss recovery.

use super::entry::{Idle, keys};
use super::value::{Field, Kind, Value, Word, words};
use crate::config::{
    AssumeLoss, Careful, Config, EcnMode, NewRenoExit, PrrBound, RackConfig, RackRtt, Recovery,
    ReduceFrom, TlpConfig, Undo,
};
use crate::congestion::{self, Input};
use crate::time::Interval;

const RECOVERIES: &[Word] = &[
    Word(
        "go-back-n",
        "Time-outs only, then everything again (RFC 793).",
    ),
    Word("tahoe", "Fast retransmit, then slow start (Jacobson 1988)."),
    Word(
        "reno",
        "Fast recovery, ended by the first new ACK (RFC 2581).",
    ),
    Word(
        "vegas",
        "Reno with an exact clock for each segment (Brakmo and Peterson 1995).",
    ),
    Word(
        "snack",
        "Retransmission of holes that SNACK names, beside the clocks of Vegas (CCSDS 714.0-B).",
    ),
    Word("newreno", "Partial ACKs; each resets the timer (RFC 6582)."),
    Word(
        "newreno-impatient",
        "Partial ACKs; the timer is reset at the first only (RFC 6582).",
    ),
    Word("sack", "Scoreboard and pipe (RFC 6675)."),
];

impl Field for Recovery {
    fn value(&self) -> Value {
        Value::Choice(match self {
            Self::GoBackN { .. } => "go-back-n",
            Self::Tahoe => "tahoe",
            Self::Reno => "reno",
            Self::Vegas { .. } => "vegas",
            Self::Snack { .. } => "snack",
            Self::NewReno {
                impatient: false, ..
            } => "newreno",
            Self::NewReno {
                impatient: true, ..
            } => "newreno-impatient",
            Self::Sack { .. } => "sack",
        })
    }

    /// Builds the recovery with default values for its other keys.
    fn of(value: Value) -> Self {
        let (fine_k, fine_granularity) = (4, Interval::ZERO);
        let newreno = |impatient| Self::NewReno {
            impatient,
            careful: Careful::Plain,
            exit: NewRenoExit::FlightSize,
        };
        match value {
            Value::Choice("go-back-n") => Self::GO_BACK_N,
            Value::Choice("tahoe") => Self::Tahoe,
            Value::Choice("reno") => Self::Reno,
            Value::Choice("vegas") => Self::Vegas {
                fine_k,
                fine_granularity,
                coarse_timeout: true,
            },
            Value::Choice("snack") => Self::Snack {
                fine_k,
                fine_granularity,
            },
            Value::Choice("newreno") => newreno(false),
            Value::Choice("newreno-impatient") => newreno(true),
            Value::Choice("sack") => Self::SACK,
            other => panic!("{other:?} for a recovery"),
        }
    }
}

words! { CAREFUL: Careful {
    /// Fast retransmit if the ACK covers at least `recover` (RFC 2582, 5).
    "less" Less,
    /// Fast retransmit only if the ACK covers more than `recover` (RFC 6582, 3.2).
    "plain" Plain,
    /// As "plain", or by the ACK heuristic (RFC 6582, 4.1).
    "ack" AckHeuristic,
    /// As "plain", or by the timestamp heuristic (RFC 6582, 4.2).
    "timestamp" TimestampHeuristic,
} }

words! { NEWRENO_EXIT: NewRenoExit {
    /// min(ssthresh, max(FlightSize, SMSS) + SMSS): option 1 of RFC 6582.
    "flight" FlightSize,
    /// min(ssthresh, FlightSize + SMSS), as in RFC 3782.
    "flight-rfc3782" FlightSizeRfc3782,
    /// ssthresh: option 2, as after Reno's fast recovery.
    "ssthresh" Ssthresh,
} }

words! { RACK_RTT: RackRtt {
    /// Segment sent last (RFC 8985, 6.2, step 2).
    "latest" Latest,
    /// Segment last in sequence, among the acknowledged ones if there are any (Linux:
    /// `tcp_rack_advance`).
    "last-in-sequence" LastInSequence,
} }

words! { PRR_BOUND: PrrBound {
    /// The bytes delivered, plus one segment at ACKs of new data that show no further loss (RFC
    /// 9937).
    "safe-ack" SafeAck,
    /// At most the bytes delivered (RFC 6937, PRR-CRB).
    "conservative" Conservative,
    /// The bytes delivered, plus one segment at each ACK (RFC 6937, PRR-SSRB).
    "slow-start" SlowStart,
} }

words! { REDUCE_FROM: ReduceFrom {
    /// Bytes sent and not cumulatively acknowledged, at most cwnd (RFC 5681, 3.1; RFC 6675, 5).
    "flight" FlightSize,
    /// `FlightSize` without the limit of cwnd.
    "flight-unbounded" FlightSizeUnbounded,
    /// `FlightSize` minus data that is SACKed or marked lost.
    "pipe" Pipe,
    /// The congestion window (4.3BSD, Linux).
    "cwnd" Cwnd,
} }

/// Words of `undo`, in the order of the bits.
pub(crate) const UNDO: &[Word] = &[Word("dsack", ""), Word("eifel", ""), Word("frto", "")];

impl Field for Undo {
    fn value(&self) -> Value {
        let bit = |on, place| u8::from(on) << place;
        let bits = bit(self.dsack, 0) | bit(self.eifel, 1) | bit(self.frto, 2);
        Value::Ways(UNDO, bits)
    }

    fn of(value: Value) -> Self {
        let Value::Ways(_, bits) = value else {
            panic!("{value:?} for ways to undo")
        };
        Self {
            dsack: bits & 1 != 0,
            eifel: bits & 2 != 0,
            frto: bits & 4 != 0,
        }
    }
}

/// Returns the bound of PRR, if PRR is on.
fn bound(config: &mut Config) -> Option<&mut PrrBound> {
    config.recovery.prr_mut()?.as_mut()
}

/// Returns the settings of RACK, if RACK is on.
fn rack(config: &mut Config) -> Option<&mut RackConfig> {
    config.recovery.rack_mut()?.as_mut()
}

/// Returns whether the retransmission timer uses the configured RTO and not the fine time-out of
/// Vegas.
pub(super) fn coarse_timeout(config: &Config) -> bool {
    !matches!(
        config.recovery,
        Recovery::Vegas {
            coarse_timeout: false,
            ..
        }
    )
}

/// Returns the settings of tail loss probes, if they are on.
fn tlp(config: &mut Config) -> Option<&mut TlpConfig> {
    rack(config)?.tlp.as_mut()
}

const GO_BACK_N: &str = "recovery = \"go-back-n\"";
const NEWRENO: &str = "recovery = \"newreno\" or \"newreno-impatient\"";
pub(super) const SACK: &str = "recovery = \"sack\"";
const RACK: &str = "rack = true";
const TLP: &str = "tlp = true";
const FINE: &str = "recovery = \"vegas\" or \"snack\"";

const HALVES: Idle = Idle {
    counts: |c| {
        let reno = c.congestion.algorithm().name == "reno";
        !matches!(c.recovery, Recovery::GoBackN { .. }) || reno
    },
    needs: "the congestion control \"reno\"",
};

const EXIT: Idle = Idle {
    counts: |c| {
        let newreno = matches!(c.recovery, Recovery::NewReno { .. });
        !newreno || congestion::uses_input(&c.congestion, Input::RecoveryExit)
    },
    needs: "a congestion control that takes the window of the recovery, which \"none\", bbr and \
            vegas do not",
};

const DUPACKS: Idle = Idle {
    counts: |c| match c.recovery {
        Recovery::GoBackN { .. } => false,
        Recovery::Snack { .. } => c.limited_transmit,
        _ => true,
    },
    needs: "a recovery that counts duplicate ACKs: with \"snack\" limited transmit alone does, \
            with \"go-back-n\" nothing",
};

/// Returns whether PRR can act in SACK recovery: losses reduce the window, and the congestion
/// control leaves the reduction to recovery.
pub(crate) fn reduces_by_prr(config: &Config) -> bool {
    config.assume_loss == AssumeLoss::Congestion
        && !congestion::owns_recovery_window(&config.congestion)
}

const RESCUE: Idle = Idle {
    counts: |c| !matches!(c.recovery, Recovery::Sack { rack: Some(_), .. }),
    needs: "rack = false: RACK-TLP probes a lost tail by its own rules",
};

/// Returns whether the recovery may repair one segment at a time after a time-out.
fn repairs_singly(config: &Config) -> bool {
    coarse_timeout(config) && matches!(config.recovery, Recovery::Reno | Recovery::Vegas { .. })
}

const PRR: Idle = Idle {
    counts: |c| !matches!(c.recovery, Recovery::Sack { .. }) || reduces_by_prr(c),
    needs: "assume_loss = \"congestion\" and a congestion control that leaves the window to \
            recovery, which \"none\", bbr and vegas (unless loss_cut = \"reno\") do not",
};

const ONCE: Idle = Idle {
    counts: |c| {
        let reduces = congestion::uses_input(&c.congestion, Input::FlightAtTimeout);
        let lasts = !matches!(c.recovery, Recovery::GoBackN { .. } | Recovery::Tahoe);
        coarse_timeout(c) && reduces && (c.ecn.mode != EcnMode::Off || lasts)
    },
    needs: "a time-out that sets the threshold to a part of what is in flight, which \"none\", bbr \
            and the westwoods do not, and a recovery that lasts or ecn = true",
};

const PART: Idle = Idle {
    counts: |c| {
        let uses = |input| congestion::uses_input(&c.congestion, input);
        coarse_timeout(c) && uses(Input::FlightAtTimeout) || uses(Input::FlightAtLoss)
    },
    needs: "a congestion control that keeps a part of what is in flight, which \"none\", bbr and \
            the westwoods do not, nor vegas without coarse_timeout",
};

keys! {
    /// Loss recovery. "sack" needs the SACK option, "snack" the SNACK option.
    recovery: Kind::Choice(RECOVERIES) => {
        get |c| Some(c.recovery.value());
        set |c, v| if c.recovery.value() != v {
            c.recovery = match (c.recovery, Recovery::of(v)) {
                (
                    Recovery::NewReno { careful, exit, .. },
                    Recovery::NewReno { impatient, .. },
                ) => Recovery::NewReno { impatient, careful, exit },
                (
                    Recovery::Snack { fine_k, fine_granularity },
                    Recovery::Vegas { coarse_timeout, .. },
                ) => Recovery::Vegas { fine_k, fine_granularity, coarse_timeout },
                (
                    Recovery::Vegas { fine_k, fine_granularity, .. },
                    Recovery::Snack { .. },
                ) => Recovery::Snack { fine_k, fine_granularity },
                (_, other) => other,
            };
        };
    };
    /// Sends all outstanding segments again at once at a time-out, regardless of cwnd, although the
    /// peer may have received some of them (leung1998, 2.2.1). If false, cwnd limits these
    /// retransmissions, and segments that an ACK covers meanwhile are not sent again.
    repeat_all: Kind::Flag => (|c| match &mut c.recovery {
        Recovery::GoBackN { repeat_all, .. } => Some(repeat_all),
        _ => None,
    }), needs GO_BACK_N, idle super::window::WINDOW;
    /// Sets the slow-start threshold to half of the window, at least two segments, at each
    /// duplicate ACK; cwnd does not change (leung1998, 2.2.1). Acts with `congestion = "reno"`.
    dup_acks_halve: Kind::Flag => (|c| match &mut c.recovery {
        Recovery::GoBackN { dup_acks_halve, .. } => Some(dup_acks_halve),
        _ => None,
    }), needs GO_BACK_N, idle HALVES;
    /// Rule that keeps the duplicate ACKs of a go-back-N from starting another fast retransmit (RFC
    /// 6582). "timestamp" needs the timestamps option.
    careful: Kind::Choice(CAREFUL) => (|c| match &mut c.recovery {
        Recovery::NewReno { careful, .. } => Some(careful),
        _ => None,
    }), needs NEWRENO;
    /// Window at the end of a NewReno recovery (RFC 6582, 3.2, step 3).
    newreno_exit: Kind::Choice(NEWRENO_EXIT) => (|c| match &mut c.recovery {
        Recovery::NewReno { exit, .. } => Some(exit),
        _ => None,
    }), needs NEWRENO, idle EXIT;
    /// Rescue retransmission (RFC 6675, NextSeg rule 4).
    rescue: Kind::Flag => (|c| match &mut c.recovery {
        Recovery::Sack { rescue, .. } => Some(rescue),
        _ => None,
    }), needs SACK, idle RESCUE;
    /// Proportional Rate Reduction (RFC 9937): the window falls to ssthresh over the ACKs of a
    /// recovery, not at once.
    prr: Kind::Flag => {
        get |c| match c.recovery {
            Recovery::Sack { prr, .. } => Some(prr.is_some().value()),
            _ => None,
        };
        set |c, v| if let Some(prr) = c.recovery.prr_mut() {
            *prr = bool::of(v).then(|| prr.unwrap_or(PrrBound::SafeAck));
        };
    }, needs SACK, idle PRR;
    /// Bytes that PRR may send per ACK while losses keep the data in flight below ssthresh.
    prr_bound: Kind::Choice(PRR_BOUND) => (|c| bound(c)), needs "prr = true", idle PRR;
    /// RACK (RFC 8985): a segment is lost if a later transmission was delivered, and more than a
    /// round trip and a reordering window have passed since the segment was sent. Duplicate ACKs
    /// are not counted.
    rack: Kind::Flag => {
        get |c| match c.recovery {
            Recovery::Sack { rack, .. } => Some(rack.is_some().value()),
            _ => None,
        };
        set |c, v| if let Some(rack) = c.recovery.rack_mut() {
            *rack = bool::of(v).then(|| rack.unwrap_or_default());
        };
    }, needs SACK;
    /// Divisor of RACK's reordering window: the minimum round-trip time over this number (RFC 8985,
    /// 6.2: 4), times a multiplier that D-SACK raises.
    rack_reo_divisor: Kind::Count(1, 1_000) => (|c| rack(c).map(|rack| &mut rack.reo_divisor)), needs RACK;
    /// Number of recoveries without a D-SACK after which the multiplier of the reordering window
    /// returns to 1 (RFC 8985, 6.2: 16).
    rack_reo_persist: Kind::Count(1, 1_000_000) => (|c| rack(c).map(|rack| &mut rack.reo_persist)), needs RACK;
    /// Time after which a minimum round-trip time that was not measured again is replaced.
    rack_min_rtt_window: Kind::Time(Interval::from_millis(1), Interval::from_secs(86_400)) => (|c| rack(c).map(|rack| &mut rack.min_rtt_window)), needs RACK;
    /// Segment, among those that an ACK delivers, whose round-trip time RACK uses.
    rack_rtt: Kind::Choice(RACK_RTT) => (|c| rack(c).map(|rack| &mut rack.rtt_from)), needs RACK;
    /// Tail loss probes (RFC 8985, 7). On by default with `rack`.
    tlp: Kind::Flag => {
        get |c| match c.recovery {
            Recovery::Sack { rack, .. } => rack.map(|rack| rack.tlp.is_some().value()),
            _ => None,
        };
        set |c, v| if let Some(RackConfig { tlp, .. }) = rack(c) {
            *tlp = bool::of(v).then(|| tlp.unwrap_or_default());
        };
    }, needs RACK;
    /// Probe time-out in units of the smoothed round-trip time (RFC 8985, 7.2: 2).
    tlp_srtts: Kind::Count(1, 1_000) => (|c| tlp(c).map(|tlp| &mut tlp.srtts)), needs TLP;
    /// Probe time-out before the first round-trip sample (RFC 8985, 7.2: 1 s).
    tlp_initial: Kind::Time(Interval::from_millis(1), Interval::from_secs(3600)) => (|c| tlp(c).map(|tlp| &mut tlp.initial)), needs TLP;
    /// Time added to the probe time-out while one segment is in flight, for a delayed ACK.
    tlp_max_ack_delay: Kind::seconds(60) => (|c| tlp(c).map(|tlp| &mut tlp.max_ack_delay)), needs TLP;
    /// Coefficient k of the deviation in the fine time-out, SRTT + max(G, k D).
    fine_k: Kind::Count(1, 1_000) => (|c| match &mut c.recovery {
        Recovery::Vegas { fine_k, .. } | Recovery::Snack { fine_k, .. } => Some(fine_k),
        _ => None,
    }), needs FINE;
    /// G, the minimum margin of the fine time-out above SRTT.
    fine_granularity: Kind::seconds(3600) => (|c| match &mut c.recovery {
        Recovery::Vegas { fine_granularity, .. } | Recovery::Snack { fine_granularity, .. } => {
            Some(fine_granularity)
        }
        _ => None,
    }), needs FINE;
    /// Uses the retransmission timer of `timer`, with slow start after a time-out. If false, the
    /// retransmission timer uses the fine time-out. A time-out then retransmits the first segment,
    /// and reduces the window like any other loss (leung1998, 6.2).
    coarse_timeout: Kind::Flag => (|c| match &mut c.recovery {
        Recovery::Vegas { coarse_timeout, .. } => Some(coarse_timeout),
        _ => None,
    }), needs "recovery = \"vegas\"";
    /// Number of duplicate ACKs that indicate a loss (RFC 5681, 3.2).
    dupack_threshold: Kind::Count(1, 1_000_000) => [dupack_threshold], idle DUPACKS;
    /// Limited transmit (RFC 3042).
    limited_transmit: Kind::Flag => [limited_transmit], idle super::window::WINDOW;
    /// Amount from which the slow-start threshold is computed after a loss.
    reduce_from: Kind::Choice(REDUCE_FROM) => [reduce_from], idle PART;
    /// Keeps the slow-start threshold at a time-out if a loss or mark of the same window of data
    /// already reduced it and recovery still lasts, as in Linux (`tcp_enter_loss`). RFC 5681, 3.1,
    /// reduces it again.
    reduce_once: Kind::Flag => [reduce_once], idle ONCE;
    /// Sends only the first outstanding segment again at a time-out. Each further lost segment then
    /// waits for duplicate ACKs, a check of Vegas, or a time-out of its own (leung1998, 2.2.2). If
    /// false, a time-out also sends the segments after the first again, unless an ACK covers them.
    repeat_first: Kind::Flag => (|c| repairs_singly(c).then_some(&mut c.repeat_first)), needs "recovery = \"reno\", or \"vegas\" with coarse_timeout";
    /// Methods that detect spurious retransmissions, after which the window is restored. "dsack":
    /// the peer reported all retransmissions as duplicates (RFC 2883, RFC 3708), which needs
    /// `dsack`. "eifel": an ACK echoes a timestamp older than the retransmission (RFC 3522, RFC
    /// 4015), which needs `timestamps`. "frto": after a time-out ACKs cover segments that were sent
    /// once (RFC 5682, RFC 4015).
    undo: Kind::Ways(UNDO) => [undo];
}
