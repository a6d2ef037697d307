//! The timers of a connection: what each is for, and when it goes off.

use crate::time::Instant;

/// Timers of a connection, in the order in which due ones are handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Timer {
    /// Nothing was acknowledged for too long ([`LifetimeConfig::user_timeout`]).
    ///
    /// [`LifetimeConfig::user_timeout`]: crate::config::LifetimeConfig::user_timeout
    User,
    /// The peer has not closed for too long ([`LifetimeConfig::fin_wait_2`]).
    ///
    /// [`LifetimeConfig::fin_wait_2`]: crate::config::LifetimeConfig::fin_wait_2
    FinWait2,
    /// Nothing came for too long: a keep-alive probe, or the end (RFC 9293, 3.8.4).
    KeepAlive,
    /// A delayed acknowledgment is due (RFC 9293, 3.8.6.3).
    DelayedAck,
    /// Pacing lets the segment leave that it holds back.
    Pacing,
    /// A dummy segment is due.
    Dummy,
    /// Reordering timer: a segment is now old enough to be lost (RFC 8985, 6.2).
    Reordering,
    /// A tail loss probe is due (RFC 8985, 7.2: PTO).
    TailProbe,
    /// Retransmission (RFC 6298).
    Retransmission,
    /// The window is closed: a probe (RFC 9293, 3.8.6.1).
    Persist,
    /// No old segment can be about any more.
    TimeWait,
}

impl Timer {
    /// Timers in their order.
    pub(crate) const ALL: [Self; 11] = [
        Self::User,
        Self::FinWait2,
        Self::KeepAlive,
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

/// Deadline of each timer; [`Instant::MAX`] for one that does not run.
#[derive(Debug)]
pub(crate) struct Timers {
    delayed_ack: Instant,
    retransmission: Instant,
    /// The others, once one of them was started: at their own places.
    rare: Option<Box<[Instant; Timer::ALL.len()]>>,
    /// None goes off before, whatever was stopped since that was found out.
    none_before: Instant,
}

impl Timers {
    /// None of them runs.
    pub(crate) const fn none() -> Self {
        Self {
            delayed_ack: Instant::MAX,
            retransmission: Instant::MAX,
            rare: None,
            none_before: Instant::MAX,
        }
    }

    /// Returns the deadline; [`Instant::MAX`] if the timer does not run.
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

    /// Starts it, or starts it anew.
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

    /// Returns whether the timer is due at `now`, and stops it if so.
    #[inline]
    pub(crate) fn pop_due(&mut self, timer: Timer, now: Instant) -> bool {
        let due = now >= self.at(timer);
        if due {
            self.stop(timer);
        }
        due
    }

    /// Returns the first deadline.
    #[inline]
    pub(crate) fn next(&self) -> Option<Instant> {
        let first = self.first();
        (first != Instant::MAX).then_some(first)
    }

    /// Returns the first deadline if it is before `limit`. After nearly every segment it is not,
    /// and that is known without a search.
    #[inline(always)] // after each segment
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

    /// Each has a place of its own, so that none is missed by what looks at all.
    #[test]
    fn the_first_of_all_is_the_next() {
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
        assert_eq!(timers.next(), Some(at(91)));
        timers.stop(Timer::Persist);
        assert_eq!(timers.next_before(at(92)), None);
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
