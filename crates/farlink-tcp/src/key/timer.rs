//! The retransmission timer: its estimator, its bounds and what starts it anew.

use super::entry::{Idle, keys};
use super::recovery::SACK;
use super::value::{Field, Kind, Value, Word, words};
use crate::config::{Backoff, Config, Ratio, Recovery, RtoAlgorithm, Sampling};
use crate::time::Interval;

const TIMERS: &[Word] = &[
    Word("rfc793", "beta SRTT (RFC 793, 3.7)."),
    Word("jacobson", "Mean and deviation (Jacobson 1988)."),
    Word("rfc6298", "SRTT + max(G, 4 RTTVAR) (RFC 6298)."),
    Word(
        "linux",
        "SRTT + the greatest of max(`rto_min`, 4 RTTVAR) of the last round trip, falling by a \
         quarter a round trip (Sarolahti and Kuznetsov 2002, 4).",
    ),
];

impl Field for RtoAlgorithm {
    fn value(&self) -> Value {
        Value::Choice(match self {
            Self::Rfc793 { .. } => "rfc793",
            Self::Jacobson { .. } => "jacobson",
            Self::Rfc6298 { .. } => "rfc6298",
            Self::Linux => "linux",
        })
    }

    /// With the constants of its source.
    fn of(value: Value) -> Self {
        match value {
            Value::Choice("rfc793") => Self::Rfc793 {
                alpha: Ratio::new(9, 10),
                beta: Ratio::new(2, 1),
            },
            Value::Choice("jacobson") => Self::Jacobson {
                gain: Ratio::new(1, 8),
                dev_gain: Ratio::new(1, 4),
                k: 4,
            },
            Value::Choice("rfc6298") => Self::Rfc6298 {
                granularity: Interval::from_millis(1),
            },
            Value::Choice("linux") => Self::Linux,
            other => panic!("{other:?} for a timer"),
        }
    }
}

words! { BACKOFF: Backoff {
    /// Doubles, up to `rto_max`.
    "exponential" Exponential,
    /// Stays as it is.
    "none" None,
} }

words! { SAMPLING: Sampling {
    /// One segment at a time.
    "one-per-rtt" OnePerRtt,
    /// Every segment.
    "every-segment" EverySegment,
} }

const RFC793: &str = "timer = \"rfc793\"";
const JACOBSON: &str = "timer = \"jacobson\"";
const RFC6298: &str = "timer = \"rfc6298\"";

fn backs_off(c: &Config) -> bool {
    let syns_alone = matches!(
        c.recovery,
        Recovery::Vegas {
            coarse_timeout: false,
            ..
        }
    );
    c.rto.backoff == Backoff::Exponential && !syns_alone
}

const HOUR: Kind = Kind::seconds(3600);
const MINUTE: Kind = Kind::seconds(60);
/// Above 0 and below 1.
const WEIGHT: Kind = Kind::Ratio(Ratio::from_millionths(1), Ratio::from_millionths(999_999));
const ANY_RATIO: Kind = Kind::Ratio(Ratio::from_millionths(0), Ratio::from_millionths(u32::MAX));

/// Returns whether SACK recovery is used, whose scoreboard these keys need.
fn sack(config: &Config) -> bool {
    matches!(config.recovery, Recovery::Sack { .. })
}

/// Mean and deviation from before the first sample, for the estimator that has them.
fn start(config: &mut Config) -> Option<&mut (Interval, Interval)> {
    match config.rto.algorithm {
        RtoAlgorithm::Jacobson { .. } => Some(config.rto.start.get_or_insert_default()),
        _ => None,
    }
}

const FAST: Idle = Idle {
    counts: |c| !matches!(c.recovery, Recovery::GoBackN | Recovery::Tahoe),
    needs: "a recovery with fast retransmit, which \"go-back-n\" has not and which in \"tahoe\" \
            always restarts the timer",
};

keys! {
    /// Computation of a time-out from round-trip samples.
    timer: Kind::Choice(TIMERS) => {
        get |c| Some(c.rto.algorithm.value());
        set |c, v| if c.rto.algorithm.value() != v {
            c.rto.algorithm = RtoAlgorithm::of(v);
        };
    };
    /// Time-out before the first sample.
    rto_initial: HOUR => [rto.initial];
    /// Least time-out; with `timer = "linux"` the least that it exceeds SRTT by.
    rto_min: HOUR => [rto.min];
    /// Greatest time-out, backoff included.
    rto_max: HOUR => [rto.max];
    /// Clock of samples and timers, such as "500 ms" for the BSD slow timer;
    /// "0 s" is exact.
    rto_tick: MINUTE => [rto.tick];
    /// Time-outs computed from samples are rounded to the nearest multiple of this,
    /// and are one of it at least (and not below `rto_min`), such as "500 ms"; "0 s"
    /// does not round. Samples stay exact, so not beside `rto_tick`.
    rto_round: MINUTE => [rto.round];
    /// Added to each time-out from samples, after its backoff (FreeBSD: 200 ms).
    rto_slop: MINUTE => [rto.slop];
    /// Karn's algorithm: a segment sent twice gives no round-trip sample. Without, a timed segment
    /// is timed from its first transmission, at any number of retransmissions. `karn = false` needs
    /// `sampling = "one-per-rtt"`, and no timestamps.
    karn: Kind::Flag => [rto.karn];
    /// Smoothed round-trip time before the first sample, which updates it as any other sample. The
    /// first time-out is this plus `rto_k` times `rto_dev_initial`, which is required beside it.
    rto_srtt_initial: HOUR => {
        get |c| c.rto.start.map(|start| start.0.value());
        set |c, v| if let Some(start) = start(c) { start.0 = Interval::of(v) };
    }, needs JACOBSON;
    /// Deviation before the first sample. It needs `rto_srtt_initial` beside it.
    rto_dev_initial: HOUR => {
        get |c| c.rto.start.map(|start| start.1.value());
        set |c, v| if let Some(start) = start(c) { start.1 = Interval::of(v) };
    }, needs JACOBSON;
    /// Weight of the old estimate.
    rto_alpha: WEIGHT => (|c| match &mut c.rto.algorithm {
        RtoAlgorithm::Rfc793 { alpha, .. } => Some(alpha),
        _ => None,
    }), needs RFC793;
    /// Delay variance factor.
    rto_beta: ANY_RATIO => (|c| match &mut c.rto.algorithm {
        RtoAlgorithm::Rfc793 { beta, .. } => Some(beta),
        _ => None,
    }), needs RFC793;
    /// Gain of the mean.
    rto_gain: WEIGHT => (|c| match &mut c.rto.algorithm {
        RtoAlgorithm::Jacobson { gain, .. } => Some(gain),
        _ => None,
    }), needs JACOBSON;
    /// Gain of the deviation.
    rto_dev_gain: WEIGHT => (|c| match &mut c.rto.algorithm {
        RtoAlgorithm::Jacobson { dev_gain, .. } => Some(dev_gain),
        _ => None,
    }), needs JACOBSON;
    /// Coefficient of the deviation.
    rto_k: Kind::Count(1, 1_000) => (|c| match &mut c.rto.algorithm {
        RtoAlgorithm::Jacobson { k, .. } => Some(k),
        _ => None,
    }), needs JACOBSON;
    /// Clock granularity G (RFC 6298, 2).
    rto_granularity: HOUR => (|c| match &mut c.rto.algorithm {
        RtoAlgorithm::Rfc6298 { granularity } => Some(granularity),
        _ => None,
    }), needs RFC6298;
    /// Effect of a time-out on the next one.
    backoff: Kind::Choice(BACKOFF) => [rto.backoff];
    /// End the backoff at any ACK of new data, so that it counts time-outs in a row. Otherwise it
    /// lasts until a segment that was sent once gives a sample (Karn; RFC 6298, 5.7).
    ack_ends_backoff: Kind::Flag => (|c| backs_off(c).then_some(&mut c.rto.ack_ends_backoff)), needs "backoff = \"exponential\", and time-outs beside those of SYNs, which \"p-tcp\" has not";
    /// Up to 6 time-outs in a row with less than 4 segments in flight do not back off, as
    /// with Linux's `tcp_thin_linear_timeouts`; not after the end of the data was written.
    thin_linear_timeouts: Kind::Flag => (|c| (c.rto.backoff == Backoff::Exponential).then_some(&mut c.rto.thin_linear)), needs "backoff = \"exponential\"";
    /// Segments that are timed.
    sampling: Kind::Choice(SAMPLING) => [rto.sampling];
    /// Take a round-trip sample from SACKed data, as in Linux. If the acknowledged data give none,
    /// because there are none or they were sent twice, the first newly SACKed segment that was sent
    /// once gives one.
    rtt_from_sack: Kind::Flag => (|c| sack(c).then_some(&mut c.rto.from_sack)), needs SACK;
    /// Restart the retransmission timer at a fast retransmit, as BSD and Linux
    /// do; RFC 6298 restarts it at ACKs of new data only.
    restart_on_retransmit: Kind::Flag => [restart_on_retransmit], idle FAST;
    /// Restart the retransmission timer at an ACK without new data that SACKs data sent before the
    /// last transmission of the first segment, as Linux does.
    restart_on_sack: Kind::Flag => (|c| sack(c).then_some(&mut c.restart_on_sack)), needs SACK;
}
