//! Wait of the loop for packets, or for the next deadline.

use crate::arrival::Arrivals;
use crate::clock::Clock;
use crate::realtime::{self, Budget, Mode};
use farlink_tcp::Instant;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::timer::{Expiration, TimerSetTimeFlags};
use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags};
use std::os::fd::AsFd;

/// Token of the timer among the sources.
pub(super) const TIMER: u64 = u64::MAX;

/// Sources of packets, and the timer for the next deadline.
#[derive(Debug)]
pub(super) struct Poller {
    epoll: Epoll,
    timer: TimerFd,
    /// Expiry time of the timer.
    armed: Instant,
    pub(super) arrivals: Arrivals,
    mode: Mode,
    budget: Budget,
}

impl Poller {
    /// Builds the poller for a number of hosts. In `arrivals`, the unit's socket is one more
    /// device.
    pub(super) fn new(hosts: usize) -> nix::Result<Self> {
        let timer = TimerFd::new(
            ClockId::CLOCK_MONOTONIC,
            TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK,
        )?;
        let poller = Self {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            timer,
            armed: Instant::MAX,
            arrivals: Arrivals::new(hosts + 1),
            mode: Mode::Normal,
            budget: Budget::new(false),
        };
        poller.add(&poller.timer, TIMER)?;
        Ok(poller)
    }

    /// Adds a source; `token` identifies its events.
    pub(super) fn add(&self, source: impl AsFd, token: u64) -> nix::Result<()> {
        let event = EpollEvent::new(EpollFlags::EPOLLIN, token);
        self.epoll.add(source, event)
    }

    pub(super) fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        self.budget = Budget::new(mode == Mode::Realtime);
    }

    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    /// Waits for packets or `next`. Returns the number of events.
    pub(super) fn wait(
        &mut self,
        clock: Clock,
        next: Instant,
        events: &mut [EpollEvent],
    ) -> nix::Result<usize> {
        let waited = if self.mode == Mode::Realtime {
            self.wait_exactly(clock, next, events)
        } else {
            self.wait_with_timer(clock, next, events)
        };
        match waited {
            // A signal ended the wait. Polls again, because packets that arrived in between must
            // enter the network before packets that are due leave it.
            Err(nix::Error::EINTR) => Ok(self.poll(clock.now(), events).unwrap_or(0)),
            waited => waited,
        }
    }

    /// Arms the timer for `at`, or disarms it if `at` is [`Instant::MAX`].
    fn arm(&self, clock: Clock, at: Instant) -> nix::Result<()> {
        if at == Instant::MAX {
            return self.timer.unset();
        }
        let at = Expiration::OneShot(clock.absolute(at));
        self.timer.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME)
    }

    /// Reads the timer after its expiry.
    pub(super) fn clear(&mut self) {
        self.armed = Instant::ZERO;
        // There is no expiry to read if the timer was set again in between.
        let _ = self.timer.wait();
    }

    /// Polls for packets without sleeping, so that arrivals are read even if the loop never sleeps.
    /// `before` is the time of the poll.
    fn poll(&mut self, before: Instant, events: &mut [EpollEvent]) -> nix::Result<usize> {
        self.arrivals.record_poll(before);
        self.epoll.wait(events, EpollTimeout::ZERO)
    }

    /// Sleeps until shortly before `next` by the timer, then polls packets and the clock. At normal
    /// priority, time-outs of system calls are up to 0.1 % late, and timers are not.
    fn wait_with_timer(
        &mut self,
        clock: Clock,
        next: Instant,
        events: &mut [EpollEvent],
    ) -> nix::Result<usize> {
        let before = clock.now();
        let there = self.poll(before, events)?;
        if there > 0 {
            return Ok(there);
        }
        let ahead = self.budget.polling_time();
        let at = if next == Instant::MAX {
            next
        } else {
            Instant::ZERO + next.since(Instant::ZERO).saturating_sub(ahead)
        };
        if at > before {
            let until = Arrivals::until(before, at);
            if until != self.armed {
                self.armed = until;
                self.arm(clock, until)?;
            }
            let ready = self.epoll.wait(events, EpollTimeout::NONE);
            self.record_sleep(before, until, clock.now());
            let ready = ready?;
            let is_time = ready == 1 && events[0].data() == TIMER;
            if !is_time || until < at || ahead.is_zero() {
                return Ok(ready);
            }
            self.clear();
        }
        self.busy_poll(clock, next, events)
    }

    /// Records a sleep from `before` to `now` that should have ended by `until`.
    fn record_sleep(&mut self, before: Instant, until: Instant, now: Instant) {
        self.budget.earn(now.since(before));
        self.arrivals.record_sleep(before, until, now);
    }

    /// Busy-polls packets and the clock until `next`.
    fn busy_poll(
        &mut self,
        clock: Clock,
        next: Instant,
        events: &mut [EpollEvent],
    ) -> nix::Result<usize> {
        let began = clock.now();
        let mut now = began;
        // The last poll is at `next` or later, so packets due at `next` leave after it.
        loop {
            let ready = self.poll(now, events);
            let due = now >= next;
            now = clock.now();
            if due || ready != Ok(0) {
                self.budget.spend(now.since(began));
                return ready;
            }
        }
    }

    /// Waits as [`Self::wait_with_timer`] does, but with the time-out of the poll, which is exact
    /// at real-time priority and saves a system call.
    fn wait_exactly(
        &mut self,
        clock: Clock,
        next: Instant,
        events: &mut [EpollEvent],
    ) -> nix::Result<usize> {
        let before = clock.now();
        let there = self.poll(before, events)?;
        if there > 0 {
            return Ok(there);
        }
        let ahead = self.budget.polling_time();
        let sleep = next.since(before).saturating_sub(ahead);
        if !sleep.is_zero() {
            let until = Arrivals::until(before, before + sleep);
            let timeout = until.since(before);
            let ready = realtime::wait(&self.epoll, events, timeout);
            self.record_sleep(before, until, clock.now());
            if ready != Ok(0) || timeout < sleep || ahead.is_zero() {
                return ready;
            }
        }
        self.busy_poll(clock, next, events)
    }
}
