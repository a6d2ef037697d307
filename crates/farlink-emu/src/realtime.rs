//! Real-time priority of the engine's thread, and busy-polling shortly before a packet is due.

use crate::EmuError;
use farlink_tcp::Interval;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Busy-polling time before a packet is due, at real-time priority. It exceeds the time in which a
/// thread wakes up.
const POLLING: Interval = Interval::from_micros(50);
/// Busy-polling time before a packet is due at normal priority.
const POLLING_NORMAL: Interval = Interval::from_micros(100);
/// At normal priority, polling may take 1/8 of the sleeping time, because programs need the
/// processor.
const SHARE_NORMAL: u64 = 8;
/// Maximum of the saved polling time.
const MAX_BUDGET: Interval = Interval::from_millis(20);
/// SCHED_FIFO priority (1 to 99): above programs, and below the kernel's own real-time threads.
const PRIORITY: libc::c_int = 40;

/// Device of the kernel's power management (`pm_qos`), by which idle processors are kept awake.
const LATENCY: &str = "/dev/cpu_dma_latency";

/// Requested scheduling of the engine's thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Real-time priority if this is permitted and there are at least two processors, otherwise
    /// normal priority.
    Best,
    /// Normal priority.
    Normal,
    /// Real-time priority, locked memory, processors that do not sleep when idle, and longer
    /// busy-polling. If one of these is refused, the run fails.
    Realtime,
}

/// Actual scheduling of the engine's thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scheduling {
    /// Real-time priority.
    Realtime,
    /// Normal priority, as requested.
    Normal,
    /// Normal priority, because real-time priority was refused for this reason.
    Refused(String),
}

/// Sets the scheduling of the calling thread until the thread ends. The caller must not drop the
/// first value before.
pub(crate) fn enter(mode: Mode) -> Result<(Option<Realtime>, Scheduling), EmuError> {
    match mode {
        Mode::Normal => Ok((None, Scheduling::Normal)),
        Mode::Realtime => Ok((Some(Realtime::enter()?), Scheduling::Realtime)),
        Mode::Best => {
            // With one processor, programs would only get the time left by the engine.
            if std::thread::available_parallelism().is_ok_and(|n| n.get() < 2) {
                return Ok((None, Scheduling::Refused("there is one processor".into())));
            }
            Ok(match prioritise() {
                Ok(()) => (None, Scheduling::Realtime),
                Err(error) => (None, Scheduling::Refused(error.desc().into())),
            })
        }
    }
}

/// Gives the calling thread real-time priority.
fn prioritise() -> nix::Result<()> {
    // SAFETY: a plain C structure. It has more fields with musl.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = PRIORITY;
    // Child threads and programs get normal priority.
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // Calls the kernel directly, because musl's function always fails.
    // SAFETY: the parameters outlive the call; 0 is the calling thread.
    Errno::result(unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            policy,
            &raw const parameters,
        )
    })?;
    Ok(())
}

/// Real-time mode. Dropping the value unlocks the process's memory and lets idle processors sleep
/// again, but the thread keeps its real-time priority.
#[derive(Debug)]
pub(crate) struct Realtime {
    /// While this file is open, idle processors stay awake.
    _awake: Option<File>,
}

impl Realtime {
    /// Sets real-time priority, locks the process's memory, and keeps idle processors awake. The
    /// wake-up of a sleeping processor would delay a packet by tens of microseconds.
    fn enter() -> Result<Self, EmuError> {
        prioritise().map_err(|e| EmuError::system("set real-time priority (SCHED_FIFO)", e))?;
        // SAFETY: no pointers.
        let locked = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
        Errno::result(locked)
            .map_err(|e| EmuError::system("keep memory in place (mlockall)", e))?;
        let awake = match OpenOptions::new().write(true).open(LATENCY) {
            Ok(mut file) => file.write_all(&0i32.to_ne_bytes()).map(|()| Some(file)),
            // This kernel has no power management to disable.
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        };
        let awake = awake.map_err(|e| EmuError::system(format!("write {LATENCY}"), e))?;
        Ok(Self { _awake: awake })
    }
}

impl Drop for Realtime {
    fn drop(&mut self) {
        // SAFETY: no pointers. A failure does no harm.
        let _ = unsafe { libc::munlockall() };
    }
}

/// Waits for packets, for at most `timeout`, with a resolution of nanoseconds.
pub(crate) fn wait(
    epoll: &Epoll,
    events: &mut [EpollEvent],
    timeout: Interval,
) -> nix::Result<usize> {
    let timeout = Duration::from_nanos(timeout.as_nanos());
    let timeout = libc::timespec {
        tv_sec: timeout.as_secs() as _,
        tv_nsec: libc::c_long::from(timeout.subsec_nanos()),
    };
    // SAFETY: `EpollEvent` has the layout of `epoll_event`, the length is that of the slice, and
    // the time outlives the call.
    let ready = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.0.as_raw_fd(),
            events.as_mut_ptr().cast::<libc::epoll_event>(),
            events.len() as libc::c_int,
            &raw const timeout,
            std::ptr::null::<libc::sigset_t>(),
            0usize,
        )
    };
    Errno::result(ready).map(|n| n as usize)
}

/// Budget for busy-polling, earned by sleeping. Without it, the loop would never sleep if packets
/// are closer together than the polling time. At real-time priority the kernel stops such a loop
/// for 50 ms in each second (`sched_rt_runtime_us`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Nanoseconds of polling that are available.
    left: u64,
    /// Nanoseconds of sleep that earn one nanosecond of polling.
    price: u64,
    polling: Interval,
}

impl Budget {
    /// Builds an empty budget, for real-time or normal priority.
    pub(crate) fn new(realtime: bool) -> Self {
        let (price, polling) = if realtime {
            (1, POLLING)
        } else {
            (SHARE_NORMAL, POLLING_NORMAL)
        };
        Self {
            left: 0,
            price,
            polling,
        }
    }

    /// Returns the polling time before the next packet: the whole time if the budget suffices,
    /// otherwise zero.
    pub(crate) fn polling_time(self) -> Interval {
        if self.left >= self.polling.as_nanos() {
            self.polling
        } else {
            Interval::ZERO
        }
    }

    pub(crate) fn earn(&mut self, time: Interval) {
        let earned = (time.as_nanos() / self.price).min(MAX_BUDGET.as_nanos());
        self.left = (self.left + earned).min(MAX_BUDGET.as_nanos());
    }

    pub(crate) fn spend(&mut self, time: Interval) {
        self.left = self.left.saturating_sub(time.as_nanos());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polling takes at most half of the time at real-time priority, and at most 1/9 at normal
    /// priority.
    #[test]
    fn the_polling_time_is_bounded_by_the_time_slept() {
        for (realtime, price, polling) in [(true, 1, 50_000), (false, 8, 100_000)] {
            let mut budget = Budget::new(realtime);
            assert!(budget.polling_time().is_zero());
            let (mut slept, mut watched) = (0, 0);
            for _ in 0..10_000 {
                let ahead = budget.polling_time();
                if ahead.is_zero() {
                    budget.earn(Interval::from_micros(40));
                    slept += 40_000;
                } else {
                    assert_eq!(ahead.as_nanos(), polling);
                    budget.spend(ahead);
                    watched += ahead.as_nanos();
                }
            }
            let max = slept / price;
            assert!(watched <= max && watched > max - 2 * polling);
        }
    }

    #[test]
    fn the_polling_budget_has_a_maximum() {
        for realtime in [true, false] {
            let mut budget = Budget::new(realtime);
            budget.earn(Interval::from_secs(3600));
            budget.earn(Interval::MAX);
            budget.spend(MAX_BUDGET);
            assert!(budget.polling_time().is_zero());
        }
    }
}
