//! The retransmission timer.

use crate::ratio::Ratio;
use crate::time::Interval;

/// The timer axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtoConfig {
    /// Computation of the time-out from samples.
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
    /// Effect of a time-out on the next one.
    pub backoff: Backoff,
    /// Any ACK of new data ends the backoff, not a sample only.
    pub ack_ends_backoff: bool,
    /// Thin streams do not back off.
    pub thin_linear: bool,
    /// Segments that are timed.
    pub sampling: Sampling,
    /// Set if SACKed data give a sample, as in Linux: where the acknowledged data give none,
    /// because there are none or they were sent twice, the first newly SACKed segment that was sent
    /// once gives one.
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
            ack_ends_backoff: false,
            thin_linear: false,
            sampling: Sampling::OnePerRtt,
            from_sack: false,
            round: Interval::ZERO,
            karn: true,
            start: None,
            slop: Interval::ZERO,
        }
    }
}

/// Computation of a time-out from round-trip samples.
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

/// Effect of a time-out on the next one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backoff {
    /// Doubles, up to the maximum (RFC 6298, 5.5).
    Exponential,
    /// Stays as it is.
    None,
}

/// Segments that are timed. Retransmitted segments never are without timestamps (Karn's algorithm).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sampling {
    /// One segment at a time (RFC 793; 4.3BSD).
    OnePerRtt,
    /// Every segment, as Linux does without timestamps.
    EverySegment,
}
