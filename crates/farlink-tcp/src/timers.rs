//! Timers of a connection and their deadlines.

use crate::time::Instant;

/// Timers of a connection, in the order in which expired ones are handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Timer {
    /// Aborts the connection, because data was unacknowledged for [`LifetimeConfig::user_timeout`].
    ///
    /// [`LifetimeConfig::user_timeout`]: crate::config::LifetimeConfig::user_timeout
    User,
    /// Ends FIN-WAIT-2 after [`LifetimeConfig::fin_wait_2`].
    ///
    /// [`LifetimeConfig::fin_wait_2`]: crate::config::LifetimeConfig::fin_wait_2
    FinWait2,
    /// Sends a keep-alive probe to an idle peer, or aborts the connection (RFC 9293, 3.8.4).
    KeepAlive,
    /// Processes the segments that wait to be joined.
    Join,
    /// Sends a delayed ACK (RFC 9293, 3.8.6.3).
    DelayedAck,
    /// Sends the next segment that pacing delays.
    Pacing,
    /// Sends a dummy segment.
    Dummy,
    /// Reordering timer: a segment reaches the age at which RACK marks it lost (RFC 8985, 6.2).
    Reordering,
    /// Sends a tail loss probe (PTO of RFC 8985, 7.2).
    TailProbe,
    /// Retransmission time-out (RFC 6298).
    Retransmission,
    /// Probes a closed window (RFC 9293, 3.8.6.1).
    Persist,
    /// Ends TIME-WAIT, after which no old segment can arrive.
    TimeWait,
}

impl Timer {
    /// All timers, in order.
    pub(crate) const ALL: [Self; 12] = [
        Self::User,
        Self::FinWait2,
        Self::KeepAlive,
        Self::Join,
        Self::DelayedAck,
        Self::Pacing,
        Self::Dummy,
        Self::Reordering,
        Self::TailProbe,
        Self::Retransmission,
        Self::Persist,
        Self::TimeWait,
    ];
}

/// Deadline of each timer; [`Instant::MAX`] if it is stopped.
#[derive(Debug)]
pub(crate) struct Timers {
    delayed_ack: Instant,
    retransmission: Instant,
    /// Deadlines of the less frequent timers, indexed by [`Timer`]; allocated when one of them is
    /// started.
    rare: Option<Box<[Instant; Timer::ALL.len()]>>,
    /// Lower bound of all deadlines; may be too low after timers were stopped.
    none_before: Instant,
}

impl Timers {
    /// Builds the state in which no timer runs.
    pub(crate) const fn none() -> Self {
        Self {
            delayed_ack: Instant::MAX,
            retransmission: Instant::MAX,
            rare: None,
            none_before: Instant::MAX,
        }
    }

    /// Returns the deadline; [`Instant::MAX`] if the timer is stopped.
    #[inline]
    pub(crate) fn at(&self, timer: Timer) -> Instant {
        match timer {
            Timer::DelayedAck => self.delayed_ack,
            Timer::Retransmission => self.retransmission,
            _ => match &self.rare {
                Some(rare) => rare[timer as usize],
                None => Instant::MAX,
            },
        }
    }

    #[inline]
    pub(crate) fn runs(&self, timer: Timer) -> bool {
        self.at(timer) != Instant::MAX
    }

    /// Starts or restarts the timer.
    #[inline]
    pub(crate) fn set(&mut self, timer: Timer, at: Instant) {
        match timer {
            Timer::DelayedAck => self.delayed_ack = at,
            Timer::Retransmission => self.retransmission = at,
            _ => self.set_rare(timer, at),
        }
        self.none_before = self.none_before.min(at);
    }

    #[inline(never)]
    fn set_rare(&mut self, timer: Timer, at: Instant) {
        let none = || Box::new([Instant::MAX; Timer::ALL.len()]);
        self.rare.get_or_insert_with(none)[timer as usize] = at;
    }

    #[inline]
    pub(crate) fn stop(&mut self, timer: Timer) {
        match timer {
            Timer::DelayedAck => self.delayed_ack = Instant::MAX,
            Timer::Retransmission => self.retransmission = Instant::MAX,
            _ => {
                if let Some(rare) = &mut self.rare {
                    rare[timer as usize] = Instant::MAX;
                }
            }
        }
    }

    pub(crate) fn stop_all(&mut self) {
        *self = Self::none();
    }

    /// Returns whether the timer has expired at `now`, and stops it if so.
    #[inline]
    pub(crate) fn pop_due(&mut self, timer: Timer, now: Instant) -> bool {
        let due = now >= self.at(timer);
        if due {
            self.stop(timer);
        }
        due
    }

    /// Returns the earliest deadline.
    #[inline]
    pub(crate) fn next(&self) -> Option<Instant> {
        let first = self.first();
        (first != Instant::MAX).then_some(first)
    }

    /// Returns the earliest deadline if it is before `limit`. After most segments `none_before`
    /// excludes this without a search.
    #[inline(always)] // called after each segment
    pub(crate) fn next_before(&mut self, limit: Instant) -> Option<Instant> {
        if self.none_before >= limit {
            return None;
        }
        self.none_before = self.first();
        (self.none_before < limit).then_some(self.none_before)
    }

    #[inline]
    fn first(&self) -> Instant {
        let often = self.delayed_ack.min(self.retransmission);
        match &self.rare {
            Some(rare) => rare.iter().copied().fold(often, Ord::min),
            None => often,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each timer has its own deadline, and the search for the earliest includes all of them.
    #[test]
    fn next_returns_the_earliest_of_all_timers() {
        let at = Instant::from_nanos;
        let mut timers = Timers::none();
        assert_eq!(timers.next(), None);
        for (i, timer) in Timer::ALL.into_iter().enumerate() {
            assert_eq!(timer as usize, i);
            timers.set(timer, at(100 - i as u64));
            assert_eq!(timers.next(), Some(at(100 - i as u64)));
            assert_eq!(timers.next_before(at(100 - i as u64)), None);
            assert_eq!(timers.next_before(at(101 - i as u64)), timers.next());
            assert!(timers.runs(timer));
        }
        assert!(!timers.pop_due(Timer::User, at(99)));
        assert!(timers.pop_due(Timer::User, at(100)) && !timers.runs(Timer::User));
        timers.stop(Timer::TimeWait);
        assert_eq!(timers.next(), Some(at(90)));
        timers.stop(Timer::Persist);
        assert_eq!(timers.next_before(at(91)), None);
        assert_eq!(timers.next_before(Instant::MAX), timers.next());
        timers.set(Timer::Persist, at(50));
        assert_eq!(timers.next_before(at(60)), Some(at(50)));
        timers.stop_all();
        assert_eq!(
            (timers.next(), timers.next_before(Instant::MAX)),
            (None, None)
        );
    }
}
