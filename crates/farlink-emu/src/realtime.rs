//! Real-time priority, and watching the clock for what is due within microseconds.

use crate::EmuError;
use farlink_tcp::Interval;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Time before a packet is due for which the clock is polled instead of slept: the wake-up time at
/// real-time priority.
const WATCH: Interval = Interval::from_micros(50);
/// Polling time at normal priority.
const WATCH_NORMAL: Interval = Interval::from_micros(100);
/// At normal priority a processor is for others too: of the time slept, so much can
/// be watched.
const SHARE_NORMAL: u64 = 8;
/// Most time of watching that can be saved up.
const SAVED: Interval = Interval::from_millis(20);
/// Among the priorities of SCHED_FIFO, of which 99 is the highest: above
/// programs, below what the kernel itself does at such priorities.
const PRIORITY: libc::c_int = 40;

/// Interface to the power management of the processors (`pm_qos`).
const LATENCY: &str = "/dev/cpu_dma_latency";

/// Scheduling that the engine's thread should get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Real-time priority if that can be had and another processor is there for
    /// programs, else normal priority.
    Best,
    /// Normal priority.
    Normal,
    /// Real-time priority, memory kept in place, idle processors awake, and the clock
    /// watched for longer. What is refused is an error.
    Realtime,
}

/// Scheduling that the engine's thread got.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ran {
    /// Real-time priority.
    Realtime,
    /// Normal priority, as it was to.
    Normal,
    /// Normal priority, for this reason.
    Refused(String),
}

/// Gives the calling thread, which has it until it ends, the priority of a mode. The
/// first value is to be kept as long.
pub(crate) fn enter(mode: Mode) -> Result<(Option<Realtime>, Ran), EmuError> {
    match mode {
        Mode::Normal => Ok((None, Ran::Normal)),
        Mode::Realtime => Ok((Some(Realtime::enter()?), Ran::Realtime)),
        Mode::Best => {
            // On one processor the programs would get what the engine leaves.
            if std::thread::available_parallelism().is_ok_and(|n| n.get() < 2) {
                return Ok((None, Ran::Refused("there is one processor".into())));
            }
            Ok(match prioritise() {
                Ok(()) => (None, Ran::Realtime),
                Err(error) => (None, Ran::Refused(error.desc().into())),
            })
        }
    }
}

/// Gives the calling thread real-time priority.
fn prioritise() -> nix::Result<()> {
    // SAFETY: a plain C structure, of which musl has more fields.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = PRIORITY;
    // Threads and programs that this one starts are of normal priority.
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // The system call itself, because the function of musl refuses it.
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

/// Real-time mode, until dropped. The priority stays with the thread.
#[derive(Debug)]
pub(crate) struct Realtime {
    /// Idle processors stay awake while this is open.
    _awake: Option<File>,
}

impl Realtime {
    /// Gives the calling thread real-time priority, keeps the memory of the process
    /// in place and idle processors awake: from sleep they take tens of
    /// microseconds to a packet.
    fn enter() -> Result<Self, EmuError> {
        prioritise().map_err(|e| EmuError::system("set real-time priority (SCHED_FIFO)", e))?;
        // SAFETY: no pointers.
        let locked = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
        Errno::result(locked)
            .map_err(|e| EmuError::system("keep memory in place (mlockall)", e))?;
        let awake = match OpenOptions::new().write(true).open(LATENCY) {
            Ok(mut file) => file.write_all(&0i32.to_ne_bytes()).map(|()| Some(file)),
            // A kernel without power management has none to turn off.
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        };
        let awake = awake.map_err(|e| EmuError::system(format!("write {LATENCY}"), e))?;
        Ok(Self { _awake: awake })
    }
}

impl Drop for Realtime {
    fn drop(&mut self) {
        // SAFETY: no pointers. Nothing is lost if it fails.
        let _ = unsafe { libc::munlockall() };
    }
}

/// Waits for packets or for a time that is exact to the nanosecond.
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
    // SAFETY: an EpollEvent is an epoll_event, of which there are so many; the
    // time outlives the call.
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

/// Budget of the time for which the clock may be polled: the time that was slept before, or a share
/// of it. Without a bound, packets closer together than one polling time would make a loop that
/// never sleeps. At real-time priority the kernel stops such a loop for 50 ms in each second
/// (`sched_rt_runtime_us`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Nanoseconds that may be watched now.
    left: u64,
    /// Nanoseconds of sleep that one of watching takes.
    price: u64,
    watch: Interval,
}

impl Budget {
    /// At real-time priority, or at normal.
    pub(crate) fn new(realtime: bool) -> Self {
        let (price, watch) = if realtime {
            (1, WATCH)
        } else {
            (SHARE_NORMAL, WATCH_NORMAL)
        };
        Self {
            left: 0,
            price,
            watch,
        }
    }

    /// Returns the polling time before a packet; zero where the budget does not cover a whole one.
    pub(crate) fn ahead(self) -> Interval {
        if self.left >= self.watch.as_nanos() {
            self.watch
        } else {
            Interval::ZERO
        }
    }

    pub(crate) fn slept(&mut self, time: Interval) {
        let earned = (time.as_nanos() / self.price).min(SAVED.as_nanos());
        self.left = (self.left + earned).min(SAVED.as_nanos());
    }

    pub(crate) fn watched(&mut self, time: Interval) {
        self.left = self.left.saturating_sub(time.as_nanos());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bounds the polled time: half of it is slept, and at normal priority eight ninths.
    #[test]
    fn the_time_that_is_watched_is_bounded() {
        for (realtime, price, watch) in [(true, 1, 50_000), (false, 8, 100_000)] {
            let mut budget = Budget::new(realtime);
            assert!(budget.ahead().is_zero());
            let (mut slept, mut watched) = (0, 0);
            for _ in 0..10_000 {
                let ahead = budget.ahead();
                if ahead.is_zero() {
                    budget.slept(Interval::from_micros(40));
                    slept += 40_000;
                } else {
                    assert_eq!(ahead.as_nanos(), watch);
                    budget.watched(ahead);
                    watched += ahead.as_nanos();
                }
            }
            let most = slept / price;
            assert!(watched <= most && watched > most - 2 * watch);
        }
    }

    #[test]
    fn what_can_be_saved_has_an_end() {
        for realtime in [true, false] {
            let mut budget = Budget::new(realtime);
            budget.slept(Interval::from_secs(3600));
            budget.slept(Interval::MAX);
            budget.watched(SAVED);
            assert!(budget.ahead().is_zero());
        }
    }
}
