//! Two states in continuous time with exponential dwell times.

use super::error::ChannelError;
use crate::rng::{Probability, Stream};
use farlink_tcp::{Instant, Interval};

/// A good and a bad state that alternate independently of packets.
///
/// Dwell times are drawn in order from a stream of their own, so two copies with the same stream
/// are always in the same state. The two directions of a link share a process in this way.
#[derive(Clone, Debug)]
pub(super) struct OnOff {
    /// Mean dwell times, good and bad, in nanoseconds.
    means: [f64; 2],
    bad: bool,
    /// End of the present dwell time.
    until: Instant,
    stream: Stream,
}

impl OnOff {
    /// Creates the process in its stationary distribution at time 0.
    ///
    /// # Errors
    /// Fails if a mean is below a nanosecond.
    pub(super) fn new(
        good: Interval,
        bad: Interval,
        mut stream: Stream,
    ) -> Result<Self, ChannelError> {
        if good.is_zero() || bad.is_zero() {
            return Err(ChannelError::Cannot(
                "a mean time of 0 in a state cannot be: write a time above 0",
            ));
        }
        let means = [good, bad].map(|mean| mean.as_nanos() as f64);
        let starts_bad = stream.chance(Probability::clamped(means[1] / (means[0] + means[1])));
        let mut this = Self {
            means,
            bad: starts_bad,
            until: Instant::ZERO,
            stream,
        };
        this.until = this.dwell();
        Ok(this)
    }

    /// Draws the dwell time that follows the previous one, and returns its end.
    fn dwell(&mut self) -> Instant {
        let nanos = self.stream.exponential(self.means[usize::from(self.bad)]);
        // Rounded up to a nanosecond, so that every dwell time ends after it begins.
        self.until + Interval::from_nanos(libm::ceil(nanos).max(1.0) as u64)
    }

    /// Returns whether the state is bad at `now`. Calls must not go back in time.
    #[inline]
    pub(super) fn at(&mut self, now: Instant) -> bool {
        while self.until <= now {
            self.bad = !self.bad;
            self.until = self.dwell();
        }
        self.bad
    }

    /// Returns the end of the state that the last call of [`Self::at`] returned.
    pub(super) fn until(&self) -> Instant {
        self.until
    }

    /// Returns whether the state was bad at any time from `from` to `to`.
    #[inline]
    pub(super) fn touched(&mut self, from: Instant, to: Instant) -> bool {
        let bad = self.at(from) || self.until <= to;
        self.at(to);
        bad
    }

    /// Returns the mean dwell times in seconds, good and bad.
    pub(super) fn means(&self) -> [f64; 2] {
        self.means.map(|nanos| nanos / 1e9)
    }

    /// Returns the shares of time, good and bad.
    pub(super) fn shares(&self) -> [f64; 2] {
        let sum = self.means[0] + self.means[1];
        self.means.map(|mean| mean / sum)
    }

    /// Returns the probability of being in the other state after the time `after`, for the good and
    /// for the bad state. With rates a (to bad) and b (to good), the good state has a / (a + b) (1
    /// - exp(-(a + b) t)).
    pub(super) fn leave(&self, after: Interval) -> [f64; 2] {
        let rate = 1.0 / self.means[0] + 1.0 / self.means[1];
        let moved = -libm::expm1(-rate * after.as_nanos() as f64);
        let [good, bad] = self.shares();
        [bad * moved, good * moved]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_near, stream};
    use super::*;

    #[test]
    fn dwell_times_are_exponential_and_shares_theirs() {
        let (good, bad) = (Interval::from_millis(300), Interval::from_millis(100));
        let mut chain = OnOff::new(good, bad, stream("dwells")).unwrap();
        let mut now = chain.until();
        let (mut sum, mut squares, n) = ([0.0; 2], [0.0; 2], 200_000);
        for _ in 0..n {
            let state = usize::from(chain.at(now));
            let dwell = chain.until().since(now).as_secs_f64();
            sum[state] += dwell;
            squares[state] += dwell * dwell;
            now = chain.until();
        }
        let each = f64::from(n) / 2.0;
        for (state, mean) in [(0, 0.3), (1, 0.1)] {
            assert_near(sum[state] / each, mean, mean / each.sqrt());
            // For an exponential time E[x^2] = 2 m^2, with variance 20 m^4.
            let error = 20f64.sqrt() * mean * mean / each.sqrt();
            assert_near(squares[state] / each, 2.0 * mean * mean, error);
        }
        // The share of the bad state has the variance of a renewal reward process over n cycles, 2
        // (g b / (g + b)^2)^2 / n.
        let share = sum[1] / (sum[0] + sum[1]);
        assert_near(share, 0.25, (2.0 / each).sqrt() * 0.75 * 0.25);
    }

    #[test]
    fn copies_with_one_stream_agree_for_any_sequence_of_calls() {
        let new = || {
            let ms = Interval::from_millis;
            OnOff::new(ms(5), ms(2), stream("shared")).unwrap()
        };
        let (mut often, mut seldom) = (new(), new());
        for i in 0..100_000u64 {
            let now = Instant::from_nanos(i * 300_000);
            let bad = often.at(now);
            if i % 37 == 0 {
                assert_eq!(seldom.at(now), bad, "{i}");
            }
        }
    }

    #[test]
    fn a_mean_of_nothing_is_refused() {
        let none = OnOff::new(Interval::ZERO, Interval::from_millis(1), stream("x"));
        assert_eq!(
            none.unwrap_err().to_string(),
            "a mean time of 0 in a state cannot be: write a time above 0"
        );
    }

    /// From the good state, with rates a and b, P(bad after t) = a / (a + b) (1 - exp(-(a + b) t)).
    /// With means of 30 and 10 ms, a + b is 400 / 3 per second.
    #[test]
    fn the_chance_of_a_change_follows_from_the_rates() {
        let ms = Interval::from_millis;
        let chain = OnOff::new(ms(30), ms(10), stream("leave")).unwrap();
        assert_eq!(chain.leave(Interval::ZERO), [0.0, 0.0]);
        for after in [1, 7, 500] {
            let moved = 1.0 - (-0.4 * after as f64 / 3.0).exp();
            let [good, bad] = chain.leave(ms(after));
            assert!((good - 0.25 * moved).abs() < 1e-12, "{after}: {good}");
            assert!((bad - 0.75 * moved).abs() < 1e-12, "{after}: {bad}");
        }
    }

    /// An interval touches the bad state if the interval begins in that state or lasts until its
    /// beginning.
    #[test]
    fn an_interval_touches_the_bad_state_that_it_reaches() {
        let ms = Interval::from_millis;
        let mut chain = OnOff::new(ms(30), ms(10), stream("touched")).unwrap();
        let nanosecond = Interval::from_nanos(1);
        for _ in 0..1000 {
            while chain.at(chain.until()) {}
            let end = chain.until();
            let before = Instant::ZERO + (end.since(Instant::ZERO) - nanosecond);
            assert!(!chain.clone().touched(before, before));
            let mut reaches = chain.clone();
            assert!(reaches.touched(before, end));
            assert!(reaches.bad && reaches.until > end);
            assert!(chain.touched(end, end));
            let next = chain.until() + nanosecond;
            assert!(chain.touched(end, next));
            assert!(chain.until() > next);
        }
    }
}
