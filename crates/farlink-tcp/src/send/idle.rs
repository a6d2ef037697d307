//! Window after a pause.

use super::{Sender, context};
use crate::config::Config;
use crate::maybe::Maybe;
use crate::time::{Instant, Interval};

/// The restart after an idle time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Idle {
    /// The initial window, if there is a restart.
    window: Maybe<u64>,
    /// Last departure before the pause that was handled last.
    dealt_with: Maybe<Instant>,
}

impl Idle {
    pub(super) fn new(config: &Config, mss: u32) -> Self {
        let window = config.initial_window.bytes(mss);
        Self {
            window: config.idle_restart.then_some(window).into(),
            dealt_with: Maybe::NONE,
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
        let Some(initial) = self.idle.window.get().filter(|_| idle > rto) else {
            return;
        };
        let cx = context!(self, now, 0);
        if !self.config().idle_decay {
            self.cc.on_idle(&cx, initial);
            return;
        }
        // Once for a pause, however often it is asked whether something may leave.
        let pause = Maybe::some(self.last_sent);
        if std::mem::replace(&mut self.idle.dealt_with, pause) == pause {
            return;
        }
        let cwnd = self.cc.cwnd();
        let least = initial.min(cwnd) / cx.mss;
        let window = cx.mss * decayed(cwnd / cx.mss, idle, rto, least);
        self.cc.raise_ssthresh(cwnd / 2 + cwnd / 4);
        self.cc.on_idle(&cx, window.max(cx.mss));
    }
}
