//! Restart of the congestion window after an idle time.

use crate::config::Config;
use crate::flight::{Flight, context};
use crate::maybe::Maybe;
use crate::time::{Instant, Interval};

/// State of the restart after an idle time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Idle {
    /// Initial window in bytes; `None` if the window is not restarted.
    window: Maybe<u64>,
    /// Last transmission before the pause that was handled, so that each pause causes one restart.
    handled: Maybe<Instant>,
}

impl Idle {
    pub(super) fn new(config: &Config, mss: u32) -> Self {
        let window = config.window.initial.bytes(mss);
        Self {
            window: config.window.idle_restart.then_some(window).into(),
            handled: Maybe::NONE,
        }
    }
    /// Restarts the window when new data is about to be sent with nothing in flight. `last_sent` is
    /// the time of the last transmission.
    pub(super) fn restart(&mut self, flight: &mut Flight, now: Instant, last_sent: Instant) {
        let (idle, rto) = (now.since(last_sent), flight.rtt.rto());
        let Some(initial) = self.window.get().filter(|_| idle > rto) else {
            return;
        };
        let cx = context!(flight, now, 0);
        if !flight.config().window.idle_decay {
            flight.cc.on_idle(&cx, initial);
            return;
        }
        // Restarts once per pause, although several calls come in one pause.
        let pause = Maybe::some(last_sent);
        if std::mem::replace(&mut self.handled, pause) == pause {
            return;
        }
        let cwnd = flight.cc.cwnd();
        let least = initial.min(cwnd) / cx.mss;
        let window = cx.mss * decayed(cwnd / cx.mss, idle, rto, least);
        flight.cc.raise_ssthresh(cwnd / 2 + cwnd / 4);
        flight.cc.on_idle(&cx, window.max(cx.mss));
    }
}

/// Returns the window in segments after an idle time of more than `rto`: `segments` halved for each
/// RTO, but at least `least` (Linux: `tcp_cwnd_restart`).
fn decayed(mut segments: u64, mut idle: Interval, rto: Interval, least: u64) -> u64 {
    let rto = rto.max(Interval::from_nanos(1));
    while idle > rto && segments > least {
        idle = idle - rto;
        segments /= 2;
    }
    segments.max(least)
}
