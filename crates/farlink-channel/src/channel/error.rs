//! Errors of impossible parameters of channel processes.

use farlink_tcp::Interval;

/// Impossible parameters of a process.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum ChannelError {
    /// Value that is not a probability.
    #[error(transparent)]
    Probability(#[from] crate::rng::ProbabilityError),
    /// Mean burst below one packet.
    #[error("a mean burst of {0} packets cannot be: write a number of packets from 1 up")]
    Burst(f64),
    /// A mean loss of 1, with which no packet would pass.
    #[error("a mean loss of 1 leaves no packet between bursts: write a loss below 1")]
    NothingPasses,
    /// Mean loss that the mean burst does not allow, because bursts would have to touch.
    #[error(
        "a mean loss of {loss} with a mean burst of {burst} packets cannot be: at least one \
         packet passes between bursts, so the largest loss for this burst is {largest}; write \
         at most that, or a mean burst of at least {shortest}"
    )]
    LossForBurst {
        /// Mean loss in the parameters.
        loss: f64,
        /// Mean burst in the parameters, in packets.
        burst: f64,
        /// Largest mean loss with this burst.
        largest: f64,
        /// Shortest mean burst with this loss, in packets.
        shortest: f64,
    },
    /// Chain that never changes its state and therefore has no mean.
    #[error(
        "p and r cannot both be 0: the chain would stay for ever where it starts; write at least \
         one above 0"
    )]
    Frozen,
    /// Parameters that contradict each other, and what to write instead.
    #[error("{0}")]
    Cannot(&'static str),
    /// The mean time of a burst, or between bursts, is 0.
    #[error("bursts of {0:?} cannot be: write a time of 1 ns to 1 h")]
    BurstTime(Interval),
    /// Bounds in the wrong order.
    #[error("uniform jitter from {low:?} to {high:?} cannot be: write the smaller bound first")]
    Bounds {
        /// Lower bound in the parameters.
        low: Interval,
        /// Upper bound in the parameters.
        high: Interval,
    },
}
