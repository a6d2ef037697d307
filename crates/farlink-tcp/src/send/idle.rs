//! What a pause leaves of the window.

use super::{Sender, context};
use crate::config::Config;
use crate::time::{Instant, Interval};

/// The restart after an idle time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Idle {
    /// The initial window, if there is a restart.
    window: Option<u64>,
    /// The window is halved for each RTO, and not the initial one at once.
    decay: bool,
    /// When the last segment had left before the pause that was dealt with last.
    dealt_with: Option<Instant>,
}

impl Idle {
    pub(super) fn new(config: &Config, mss: u32) -> Self {
        let window = config.initial_window.bytes(mss);
        Self {
            window: config.idle_restart.then_some(window),
            decay: config.idle_decay,
            dealt_with: None,
        }
    }
}

/// A window of so many segments after an idle time of more than `rto` (Linux:
/// `tcp_cwnd_restart`).
fn decayed(mut segments: u64, mut idle: Interval, rto: Interval, least: u64) -> u64 {
    let rto = rto.max(Interval::from_nanos(1));
    while idle > rto && segments > least {
        idle = idle - rto;
        segments /= 2;
    }
    segments.max(least)
}

impl Sender {
    /// New data is about to leave with nothing in flight.
    pub(super) fn restart_after_idle(&mut self, now: Instant) {
        let (idle, rto) = (now.since(self.last_sent), self.rtt.rto());
        let Some(initial) = self.idle.window.filter(|_| idle > rto) else {
            return;
        };
        let cx = context!(self, now, 0);
        if !self.idle.decay {
            self.cc.on_idle(&cx, initial);
            return;
        }
        // Once for a pause, however often it is asked whether something may leave.
        if self.idle.dealt_with.replace(self.last_sent) == Some(self.last_sent) {
            return;
        }
        let cwnd = self.cc.cwnd();
        let least = initial.min(cwnd) / cx.mss;
        let window = cx.mss * decayed(cwnd / cx.mss, idle, rto, least);
        self.cc.raise_ssthresh(cwnd / 2 + cwnd / 4);
        self.cc.on_idle(&cx, window.max(cx.mss));
    }
}
