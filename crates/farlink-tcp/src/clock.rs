//! Sums of the time spent in each state of an enum.

use crate::time::Instant;

/// Sums the time in each of `N` states, indexed by the state's number.
#[derive(Debug)]
pub(crate) struct Clock<T, const N: usize> {
    now: Option<(T, Instant)>,
    times: [u64; N],
}

impl<T, const N: usize> Default for Clock<T, N> {
    fn default() -> Self {
        Self {
            now: None,
            times: [0; N],
        }
    }
}

impl<T: Copy + PartialEq + Into<usize>, const N: usize> Clock<T, N> {
    /// Enters `state` at `now`; `None` stops the clock. Returns whether the state changed.
    #[inline]
    pub(crate) fn set(&mut self, now: Instant, state: Option<T>) -> bool {
        let changed = self.now.map(|(state, _)| state) != state;
        if changed {
            self.times = self.times(now);
            self.now = state.map(|state| (state, now));
        }
        changed
    }

    /// Changes the state retroactively to `state` since `then`, but not before the start of the
    /// current state. Returns the time of the change, if there is one.
    pub(crate) fn set_since(&mut self, then: Instant, state: T) -> Option<Instant> {
        let (before, since) = self.now?;
        let since = since.max(then);
        (before != state && self.set(since, Some(state))).then_some(since)
    }

    /// Returns the nanoseconds in each state up to `until`.
    pub(crate) fn times(&self, until: Instant) -> [u64; N] {
        let mut times = self.times;
        if let Some((state, since)) = self.now
            && until > since
        {
            times[state.into()] += until.since(since).as_nanos();
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase::Phase;

    #[test]
    fn time_is_summed_per_state_and_not_while_stopped() {
        let at = Instant::from_nanos;
        let mut clock = Clock::<Phase, 4>::default();
        clock.set(at(5), None);
        clock.set(at(10), Some(Phase::Idle));
        clock.set(at(11), Some(Phase::SlowStart));
        clock.set(at(20), Some(Phase::SlowStart));
        clock.set(at(31), Some(Phase::Recovery));
        assert_eq!(clock.times(at(40)), [1, 20, 0, 9]);
        clock.set(at(50), Some(Phase::Avoidance));
        clock.set(at(50), Some(Phase::Recovery));
        clock.set(at(60), None);
        clock.set(at(90), Some(Phase::Avoidance));
        assert_eq!(clock.times(at(90)), [1, 20, 0, 29]);
        assert_eq!(clock.times(at(80)), [1, 20, 0, 29]);
        assert_eq!(clock.times(at(100)), [1, 20, 10, 29]);
    }

    /// A retroactive change takes its time from the current state only.
    #[test]
    fn a_retroactive_change_takes_time_from_the_current_state() {
        let at = Instant::from_nanos;
        let mut clock = Clock::<Phase, 4>::default();
        clock.set(at(10), Some(Phase::Idle));
        clock.set(at(20), Some(Phase::SlowStart));
        assert_eq!(clock.set_since(at(25), Phase::Recovery), Some(at(25)));
        assert_eq!(clock.times(at(40)), [10, 5, 0, 15]);
        assert_eq!(
            clock.set_since(at(5), Phase::Recovery),
            None,
            "already in that state"
        );
        assert_eq!(clock.set_since(at(5), Phase::Avoidance), Some(at(25)));
        assert_eq!(clock.times(at(40)), [10, 5, 15, 0]);
        let mut stopped = Clock::<Phase, 4>::default();
        assert_eq!(stopped.set_since(at(5), Phase::Avoidance), None);
    }
}
