//! What a sender is doing, and for how long: slow start, congestion avoidance,
//! recovery, or nothing.

use crate::time::Instant;

/// What a sender is doing while its connection is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Phase {
    /// Everything sent is acknowledged.
    Idle,
    /// Data is outstanding and the window is below ssthresh (for BBR: Startup).
    SlowStart,
    /// Data is outstanding and the window is at ssthresh or above.
    Avoidance,
    /// A loss is being repaired: from the fast retransmit or the time-out until
    /// all that was outstanding then is acknowledged. Tahoe's repair after a fast
    /// retransmit is slow start and counts as that.
    Recovery,
}

impl Phase {
    /// All phases, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Idle, Self::SlowStart, Self::Avoidance, Self::Recovery];
}

/// Nanoseconds by phase.
pub type PhaseTimes = [u64; Phase::ALL.len()];

/// Adds up the time in each phase.
#[derive(Debug, Default)]
pub(crate) struct PhaseClock {
    now: Option<(Phase, Instant)>,
    times: PhaseTimes,
}

impl PhaseClock {
    /// From `now` on it is `phase`; `None` while the connection is not open.
    #[inline]
    pub(crate) fn set(&mut self, now: Instant, phase: Option<Phase>) {
        if self.now.map(|(phase, _)| phase) != phase {
            self.times = self.times(now);
            self.now = phase.map(|phase| (phase, now));
        }
    }

    /// Times up to `until`; a phase that began after it counts nothing.
    pub(crate) fn times(&self, until: Instant) -> PhaseTimes {
        let mut times = self.times;
        if let Some((phase, since)) = self.now
            && until > since
        {
            times[phase as usize] += until.since(since).as_nanos();
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_gets_its_time_and_what_is_not_open_none() {
        let at = Instant::from_nanos;
        let mut clock = PhaseClock::default();
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
}
