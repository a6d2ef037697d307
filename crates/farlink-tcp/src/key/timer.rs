//! Keys of the retransmission timer: estimator, bounds, restarts.

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

    /// Builds the algorithm with the constants of its source.
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
/// Range above 0 and below 1.
const WEIGHT: Kind = Kind::Ratio(Ratio::from_millionths(1), Ratio::from_millionths(999_999));
const ANY_RATIO: Kind = Kind::Ratio(Ratio::from_millionths(0), Ratio::from_millionths(u32::MAX));

/// Returns whether SACK recovery is in use, whose scoreboard these keys need.
fn sack(config: &Config) -> bool {
    matches!(config.recovery, Recovery::Sack { .. })
}

/// Returns SRTT and deviation before the first sample, if the estimator uses them.
fn start(config: &mut Config) -> Option<&mut (Interval, Interval)> {
    match config.rto.algorithm {
        RtoAlgorithm::Jacobson { .. } => Some(config.rto.start.get_or_insert_default()),
        _ => None,
    }
}

const TICKS: Idle = Idle {
    counts: |c| !c.rto.tick.is_zero(),
    needs: "an rto_tick above 0 s",
};

const FAST: Idle = Idle {
    counts: |c| !matches!(c.recovery, Recovery::GoBackN { .. } | Recovery::Tahoe),
    needs: "a recovery with fast retransmit, which \"go-back-n\" has not and which in \"tahoe\" \
            always restarts the timer",
};

keys! {
    /// Computation of the RTO from RTT samples.
    timer: Kind::Choice(TIMERS) => {
        get |c| Some(c.rto.algorithm.value());
        set |c, v| if c.rto.algorithm.value() != v {
            c.rto.algorithm = RtoAlgorithm::of(v);
        };
    };
    /// RTO before the first sample.
    rto_initial: HOUR => [rto.initial];
    /// Minimum RTO; with `timer = "linux"` the minimum of RTO - SRTT.
    rto_min: HOUR => [rto.min];
    /// Greatest time-out, backoff included.
    rto_max: HOUR => [rto.max];
    /// Granularity of samples and timers, such as "500 ms" for the BSD slow timer; "0 s" is exact.
    rto_tick: MINUTE => [rto.tick];
    /// Keeps RTT samples exact, so that `rto_tick` is only the interval at which expired timers are
    /// found (leung1998, 2.2.2). Needs an `rto_tick` above zero.
    rto_exact_samples: Kind::Flag => [rto.exact_samples], idle TICKS;
    /// Unit for rounding an RTO computed from samples to the nearest multiple, such as "500 ms".
    /// The result is at least one unit and at least `rto_min`; "0 s" does not round. Samples stay
    /// exact, so `rto_round` excludes `rto_tick`.
    rto_round: MINUTE => [rto.round];
    /// Time added to each RTO computed from samples, after backoff (FreeBSD: 200 ms).
    rto_slop: MINUTE => [rto.slop];
    /// Karn's algorithm: a retransmitted segment gives no RTT sample. If false, a timed segment is
    /// measured from its first transmission. `karn = false` needs `sampling = "one-per-rtt"` or
    /// `recovery = "go-back-n"`, and no timestamps. With "every-segment" each of the segments that
    /// an ACK covers then gives a sample.
    karn: Kind::Flag => [rto.karn];
    /// SRTT before the first sample. The first sample updates it like any other sample. The first
    /// RTO is `rto_srtt_initial` + `rto_k` `rto_dev_initial`; `rto_dev_initial` is required too.
    rto_srtt_initial: HOUR => {
        get |c| c.rto.start.map(|start| start.0.value());
        set |c, v| if let Some(start) = start(c) { start.0 = Interval::of(v) };
    }, needs JACOBSON;
    /// Deviation before the first sample. Needs `rto_srtt_initial`.
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
    /// Effect of a time-out on the next RTO.
    backoff: Kind::Choice(BACKOFF) => [rto.backoff];
    /// Ends the backoff at any ACK of new data, so that it counts consecutive time-outs. If false,
    /// the backoff lasts until a segment that was sent once gives a sample (Karn; RFC 6298, 5.7).
    ack_ends_backoff: Kind::Flag => (|c| backs_off(c).then_some(&mut c.rto.ack_ends_backoff)), needs "backoff = \"exponential\", and time-outs beside those of SYNs, which \"p-tcp\" has not";
    /// Up to 6 consecutive time-outs with fewer than 4 segments in flight do not back off, as with
    /// Linux's `tcp_thin_linear_timeouts`. Does not apply after the application has ended its data.
    thin_linear_timeouts: Kind::Flag => (|c| (c.rto.backoff == Backoff::Exponential).then_some(&mut c.rto.thin_linear)), needs "backoff = \"exponential\"";
    /// Segments that are timed.
    sampling: Kind::Choice(SAMPLING) => [rto.sampling];
    /// Takes an RTT sample from SACKed data, as in Linux, if the acknowledged data gives none (it
    /// is old, or was retransmitted). The sample comes from the first newly SACKed segment that was
    /// sent once.
    rtt_from_sack: Kind::Flag => (|c| sack(c).then_some(&mut c.rto.from_sack)), needs SACK;
    /// Restarts the retransmission timer at a fast retransmit, as in BSD and Linux. RFC 6298
    /// restarts it only at ACKs of new data.
    restart_on_retransmit: Kind::Flag => [restart_on_retransmit], idle FAST;
    /// Restarts the retransmission timer, as in Linux, at an ACK without new data that SACKs data
    /// sent before the last transmission of the first segment.
    restart_on_sack: Kind::Flag => (|c| sack(c).then_some(&mut c.restart_on_sack)), needs SACK;
}
