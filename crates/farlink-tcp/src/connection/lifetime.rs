//! Limits of a connection whose peer no longer answers: keep-alive, user time-out, and an end to
//! FIN-WAIT-2. All are off unless configured.

use super::state::State;
use crate::config::{Config, KeepAlive, LifetimeConfig};
use crate::seq::Offset;
use crate::time::{Instant, Interval};
use crate::timers::{Timer, Timers};

/// Limits of a connection's idle and closing times, with the state that each limit needs.
#[derive(Debug)]
pub(super) struct Lifetime {
    keepalive: Option<KeepAlive>,
    user_timeout: Option<Interval>,
    fin_wait_2: Option<Interval>,
    /// Time of the peer's last valid segment.
    last_segment: Instant,
    /// Time at which the application stopped reading.
    closed: Instant,
    /// Keep-alive probes since the peer's last segment, and the time of the last probe.
    probes: u32,
    probed: Instant,
    /// Set if a keep-alive probe must be sent.
    probe_due: bool,
    /// SND.UNA, and the time of its last move; `None` if no data is outstanding.
    una: Offset,
    since: Option<Instant>,
}

/// Inputs of the limits: state of the connection after all events of an instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watched {
    pub(super) state: State,
    /// SND.UNA, and whether data is in flight.
    pub(super) una: Offset,
    pub(super) in_flight: bool,
    /// Set if the application does not read any more.
    pub(super) read_shut: bool,
}

impl Lifetime {
    /// Returns `None` if this configuration has no limit.
    pub(super) fn new(config: &Config) -> Option<Box<Self>> {
        let LifetimeConfig {
            keepalive,
            user_timeout,
            fin_wait_2,
            ..
        } = config.lifetime;
        let any = keepalive.is_some() || user_timeout.is_some() || fin_wait_2.is_some();
        any.then(|| {
            Box::new(Self {
                keepalive,
                user_timeout,
                fin_wait_2,
                last_segment: Instant::ZERO,
                closed: Instant::ZERO,
                probes: 0,
                probed: Instant::ZERO,
                probe_due: false,
                una: 0,
                since: None,
            })
        })
    }

    /// Restarts the idle time at a segment of the peer.
    pub(super) fn on_segment(&mut self, now: Instant) {
        self.last_segment = now;
        self.probes = 0;
        self.probe_due = false;
    }

    /// Notes that the application will not read any more.
    pub(super) fn on_close(&mut self, now: Instant) {
        self.closed = now;
    }

    /// Cancels a pending probe when the connection ends.
    pub(super) fn stop(&mut self) {
        self.probe_due = false;
    }

    /// Sets the timers of the limits again after the events at `now`.
    pub(super) fn watch(&mut self, now: Instant, watched: Watched, timers: &mut Timers) {
        let Watched {
            state,
            una,
            in_flight,
            read_shut,
        } = watched;
        let closed_window = timers.runs(Timer::Persist);
        let waits = (in_flight || closed_window) && state != State::TimeWait;
        if !waits {
            self.since = None;
        } else if self.since.is_none() || una != self.una {
            self.since = Some(now);
        }
        self.una = una;
        let user = match (self.user_timeout, self.since) {
            // A peer that answers window probes is alive (RFC 9293, 3.8.6.1).
            (Some(most), Some(since)) if closed_window => since.max(self.last_segment) + most,
            (Some(most), Some(since)) => since + most,
            _ => Instant::MAX,
        };
        let open = matches!(
            state,
            State::Established | State::CloseWait | State::FinWait2
        );
        let keepalive = match self.keepalive {
            // The retransmission timer guards data in flight, so that no keep-alive is sent (RFC
            // 9293, 3.8.4).
            Some(keepalive) if open && !waits => match self.probes {
                0 => self.last_segment + keepalive.idle,
                _ => self.probed + keepalive.interval,
            },
            _ => Instant::MAX,
        };
        let fin_wait_2 = match self.fin_wait_2 {
            // An application that shut down only its sending side may read as long as data arrives.
            Some(most) if state == State::FinWait2 && read_shut => {
                self.last_segment.max(self.closed) + most
            }
            _ => Instant::MAX,
        };
        timers.set(Timer::User, user);
        timers.set(Timer::KeepAlive, keepalive);
        timers.set(Timer::FinWait2, fin_wait_2);
    }

    /// Processes a keep-alive time-out, at which a probe becomes due. Returns the time of the next
    /// probe, or `None` if all probes were unanswered.
    pub(super) fn on_keepalive(&mut self, now: Instant) -> Option<Instant> {
        let keepalive = self.keepalive.filter(|k| self.probes < k.probes)?;
        self.probes += 1;
        self.probed = now;
        self.probe_due = true;
        Some(now + keepalive.interval)
    }

    /// Returns whether a keep-alive probe is due, and clears the mark.
    pub(super) fn pop_probe(&mut self) -> bool {
        std::mem::take(&mut self.probe_due)
    }
}
