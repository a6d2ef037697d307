//! Schedulers of a connection over several paths.

use crate::scenario::SchedulerName;
use farlink_tcp::Interval;

/// State of a subflow that a scheduler reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// Set if the subflow is open and its last time-out was followed by an ACK of new data.
    pub(crate) works: bool,
    /// Set if the subflow could send a full segment now.
    pub(crate) has_room: bool,
    pub(crate) backup: bool,
    /// Smoothed RTT; `None` before the first sample.
    pub(crate) srtt: Option<Interval>,
    /// Congestion window and outstanding data, in bytes.
    pub(crate) window: u64,
    pub(crate) outstanding: u64,
    pub(crate) mss: u64,
}

impl Path {
    fn srtt_nanos(&self) -> u64 {
        self.srtt.map_or(0, Interval::as_nanos)
    }
}

/// Scheduler with its state.
#[derive(Debug)]
pub(crate) struct Scheduler {
    pub(crate) name: SchedulerName,
    /// Subflow that sent last, for round-robin.
    last: usize,
    /// Factor λ of BLEST, in hundredths.
    lambda: u64,
}

impl Scheduler {
    pub(crate) fn new(name: SchedulerName) -> Self {
        Self {
            name,
            last: usize::MAX,
            lambda: 100,
        }
    }

    /// Returns the subflow for the next data. `window` is the receive window of the connection.
    pub(crate) fn choose(&mut self, paths: &[Path], window: u64) -> Option<usize> {
        let chosen = match self.name {
            SchedulerName::MinRtt | SchedulerName::Redundant => least_rtt(paths, true),
            SchedulerName::RoundRobin => self.next_in_turn(paths),
            SchedulerName::Blest => self.blest(paths, window),
        };
        self.last = chosen.unwrap_or(self.last);
        chosen
    }

    fn next_in_turn(&self, paths: &[Path]) -> Option<usize> {
        let first = self.last.wrapping_add(1);
        let turn = (0..paths.len()).map(|n| (first.wrapping_add(n)) % paths.len());
        let allowed = allowed(paths);
        turn.into_iter()
            .find(|&n| allowed(&paths[n]) && paths[n].has_room)
    }

    /// Chooses as BLEST: a slower subflow is used only if its data arrives before the fastest
    /// subflow could fill the window (Ferlin et al. 2016, equations 1 and 2).
    fn blest(&self, paths: &[Path], window: u64) -> Option<usize> {
        let fast = least_rtt(paths, false)?;
        let slow = least_rtt(paths, true)?;
        if fast == slow || paths[fast].srtt.is_none() {
            return Some(slow);
        }
        let (f, s) = (&paths[fast], &paths[slow]);
        let ratio = s.srtt_nanos() as f64 / f.srtt_nanos().max(1) as f64;
        // Segments that the fast subflow sends in an RTT of the slow subflow, while its window
        // grows by one segment per RTT.
        let cwnd = f.window as f64 / f.mss as f64;
        let ahead = f.mss as f64 * (cwnd + (ratio - 1.0) / 2.0) * ratio;
        let room = window as f64 - (s.outstanding + s.mss) as f64;
        (ahead * self.lambda as f64 / 100.0 <= room).then_some(slow)
    }

    /// Adapts λ of BLEST after each RTT: larger after the window blocked the connection, otherwise
    /// smaller down to 1.
    pub(crate) fn adapt(&mut self, was_blocked: bool) {
        self.lambda = if was_blocked {
            self.lambda + 1
        } else {
            (self.lambda - 1).max(100)
        };
    }
}

/// Returns the condition under which a subflow may send: it works, and it is no backup unless all
/// that work are.
pub(crate) fn allowed(paths: &[Path]) -> impl Fn(&Path) -> bool {
    let primary = paths.iter().any(|path| path.works && !path.backup);
    move |path| path.works && (!primary || !path.backup)
}

/// Returns the allowed subflow with the least smoothed RTT. With `with_room` only subflows count that
/// could send now. Of equal RTTs the first path has precedence.
fn least_rtt(paths: &[Path], with_room: bool) -> Option<usize> {
    let allowed = allowed(paths);
    (0..paths.len())
        .filter(|&n| allowed(&paths[n]) && (!with_room || paths[n].has_room))
        .min_by_key(|&n| paths[n].srtt_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fast subflow of 20 ms without room, and a slow one with `rtt` ms and 5 segments outstanding.
    fn paths(rtt: u64) -> [Path; 2] {
        let path = |has_room, rtt, outstanding| Path {
            works: true,
            has_room,
            backup: false,
            srtt: Some(Interval::from_millis(rtt)),
            window: 10_000,
            outstanding,
            mss: 1000,
        };
        [path(false, 20, 10_000), path(true, rtt, 5000)]
    }

    /// With cwnd 10 and r = 4, the fast subflow sends 1000 (10 + 3/2) 4 = 46 kB in an RTT of the slow
    /// one, and 6 kB of the window are the slow one's.
    #[test]
    fn blest_uses_the_slow_subflow_if_the_window_has_room_for_the_fast_one() {
        let mut scheduler = Scheduler::new(SchedulerName::Blest);
        assert_eq!(scheduler.choose(&paths(80), 52_000), Some(1));
        assert_eq!(scheduler.choose(&paths(80), 51_999), None);
        // With r = 2, 1000 (10 + 1/2) 2 = 21 kB.
        assert_eq!(scheduler.choose(&paths(40), 27_000), Some(1));
        assert_eq!(scheduler.choose(&paths(40), 26_999), None);
        // A blocked RTT raises the factor by a hundredth: 21.21 kB.
        scheduler.adapt(true);
        assert_eq!(scheduler.choose(&paths(40), 27_210), Some(1));
        assert_eq!(scheduler.choose(&paths(40), 27_209), None);
        scheduler.adapt(false);
        scheduler.adapt(false);
        assert_eq!(scheduler.choose(&paths(40), 27_000), Some(1));
    }
}
