//! The retransmission timer.

use crate::ratio::Ratio;
use crate::time::Interval;

/// Retransmission timer, one of the four axes of a TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtoConfig {
    /// Computation of the RTO from RTT samples.
    pub algorithm: RtoAlgorithm,
    /// RTO before the first sample.
    pub initial: Interval,
    /// Least time-out.
    pub min: Interval,
    /// Greatest time-out, backoff included.
    pub max: Interval,
    /// Granularity of samples and timers: 500 ms for the BSD slow timer; zero is exact. A sample is
    /// the number of ticks that passed, and timers expire on a tick.
    pub tick: Interval,
    /// Keeps samples exact, so that `tick` applies to the expiry of timers alone.
    pub exact_samples: bool,
    /// Effect of a time-out on the next RTO.
    pub backoff: Backoff,
    /// Ends the backoff at any ACK of new data. If false, only an RTT sample ends it.
    pub ack_ends_backoff: bool,
    /// Thin streams (few segments in flight) do not back off.
    pub thin_linear: bool,
    /// Segments that are timed.
    pub sampling: Sampling,
    /// Takes an RTT sample from SACKed data, as in Linux, if the acknowledged data gives none (it
    /// is old, or was retransmitted). The sample comes from the first newly SACKed segment that was
    /// sent once.
    pub from_sack: bool,
    /// Unit to whose nearest multiple (at least one unit) an RTO computed from samples is rounded;
    /// zero does not round. Unlike with `tick`, samples and timers stay exact.
    pub round: Interval,
    /// Karn's algorithm (Karn and Partridge 1987): retransmitted segments give no sample. If false,
    /// a timed segment is measured from its first transmission. Effective only without timestamps,
    /// and with [`Sampling::OnePerRtt`] or [`Recovery::GoBackN`](super::Recovery::GoBackN).
    pub karn: bool,
    /// SRTT and deviation before the first sample. The first sample then updates them like any
    /// other. If `None`, the first sample sets them.
    pub start: Option<(Interval, Interval)>,
    /// Time added to each RTO computed from samples, after backoff and before the maximum applies
    /// (FreeBSD: `tcp_rexmit_slop`).
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
            exact_samples: false,
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

/// Computation of the RTO from RTT samples.
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
    /// RFC 6298, 2: the same estimator with RTO = SRTT + max(G, 4 RTTVAR).
    Rfc6298 {
        /// Clock granularity G.
        granularity: Interval,
    },
    /// Linux (Sarolahti and Kuznetsov 2002, 4): RTO = SRTT + the maximum of 4 RTTVAR during the
    /// last round. The maximum is at least [`RtoConfig::min`], and falls by a quarter of the excess
    /// per round. A sample far below SRTT raises RTTVAR by an eighth of the effect of an equal
    /// error above SRTT.
    Linux,
}

/// Effect of a time-out on the next RTO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backoff {
    /// The RTO doubles, up to the maximum (RFC 6298, 5.5).
    Exponential,
    /// The RTO does not change.
    None,
}

/// Segments that give RTT samples. Without timestamps retransmitted segments never do (Karn's
/// algorithm).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sampling {
    /// One segment at a time (RFC 793; 4.3BSD).
    OnePerRtt,
    /// Every segment, as in Linux without timestamps.
    EverySegment,
}
