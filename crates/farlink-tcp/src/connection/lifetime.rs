//! Limits of a connection whose peer is gone: keep-alive, user time-out, and an end to FIN-WAIT-2.
//! All are off unless configured.

use super::{CloseReason, Connection, State};
use crate::config::{Config, KeepAlive};
use crate::segment::Segment;
use crate::seq::Offset;
use crate::time::{Instant, Interval};
use crate::timers::Timer;

/// Their timers.
#[derive(Debug)]
pub(super) struct Lifetime {
    keepalive: Option<KeepAlive>,
    user_timeout: Option<Interval>,
    fin_wait_2: Option<Interval>,
    /// Time of the peer's last valid segment.
    heard: Instant,
    /// Time from which the application was done with reading, too.
    closed: Instant,
    /// Keep-alive probes since then, and when the last of them left.
    probes: u32,
    probed: Instant,
    /// A probe has to leave.
    probe_due: bool,
    /// First position that was not acknowledged, and since when.
    una: Offset,
    since: Option<Instant>,
}

impl Lifetime {
    /// `None` if there is nothing of it in this configuration.
    pub(super) fn new(config: &Config) -> Option<Box<Self>> {
        let Config {
            keepalive,
            user_timeout,
            fin_wait_2,
            ..
        } = *config;
        let any = keepalive.is_some() || user_timeout.is_some() || fin_wait_2.is_some();
        any.then(|| {
            Box::new(Self {
                keepalive,
                user_timeout,
                fin_wait_2,
                heard: Instant::ZERO,
                closed: Instant::ZERO,
                probes: 0,
                probed: Instant::ZERO,
                probe_due: false,
                una: 0,
                since: None,
            })
        })
    }

    /// A segment of the peer came.
    fn heard(&mut self, now: Instant) {
        self.heard = now;
        self.probes = 0;
        self.probe_due = false;
    }

    /// The connection has ended.
    pub(super) fn stop(&mut self) {
        self.probe_due = false;
    }
}

impl Connection {
    /// A segment came that is of this connection and of now.
    #[inline]
    pub(super) fn heard(&mut self, now: Instant) {
        if self.predicts {
            return; // there is none
        }
        if let Some(life) = &mut self.lifetime {
            life.heard(now);
        }
    }

    /// The application reads no more.
    pub(super) fn reads_no_more(&mut self, now: Instant) {
        if let (false, Some(life)) = (self.deaf, &mut self.lifetime) {
            life.closed = now;
        }
        self.deaf = true;
    }

    /// Sets the timers anew, after the events of this instant.
    #[cold]
    pub(super) fn watch_lifetime(&mut self, now: Instant) {
        let Some(life) = &mut self.lifetime else {
            return;
        };
        let una = self.tx.flight.board.una();
        let closed_window = self.tx.flight.timers.runs(Timer::Persist);
        let waits =
            (!self.tx.flight.board.is_empty() || closed_window) && self.state != State::TimeWait;
        if !waits {
            life.since = None;
        } else if life.since.is_none() || una != life.una {
            life.since = Some(now);
        }
        life.una = una;
        let user = match (life.user_timeout, life.since) {
            // A peer that answers window probes is there (RFC 9293, 3.8.6.1).
            (Some(most), Some(since)) if closed_window => since.max(life.heard) + most,
            (Some(most), Some(since)) => since + most,
            _ => Instant::MAX,
        };
        let open = matches!(
            self.state,
            State::Established | State::CloseWait | State::FinWait2
        );
        let keepalive = match life.keepalive {
            // What is in flight has the retransmission timer (RFC 9293, 3.8.4).
            Some(keepalive) if open && !waits => match life.probes {
                0 => life.heard + keepalive.idle,
                _ => life.probed + keepalive.interval,
            },
            _ => Instant::MAX,
        };
        let fin_wait_2 = match life.fin_wait_2 {
            // Who only writes no more goes on reading as long as there is something.
            Some(most) if self.state == State::FinWait2 && self.deaf => {
                life.heard.max(life.closed) + most
            }
            _ => Instant::MAX,
        };
        self.tx.flight.timers.set(Timer::User, user);
        self.tx.flight.timers.set(Timer::KeepAlive, keepalive);
        self.tx.flight.timers.set(Timer::FinWait2, fin_wait_2);
    }

    /// Nothing came for as long as keep-alive waits: another probe, or the end.
    pub(super) fn keepalive_expired(&mut self, now: Instant) {
        let keepalive = self.config().keepalive;
        let Some((life, keepalive)) = self.lifetime.as_mut().zip(keepalive) else {
            return;
        };
        if life.probes < keepalive.probes {
            life.probes += 1;
            life.probed = now;
            life.probe_due = true;
            let again = now + keepalive.interval;
            self.tx.flight.timers.set(Timer::KeepAlive, again);
        } else {
            self.end(now, CloseReason::TimedOut);
        }
    }

    /// A keep-alive probe, if one is due: a segment at SND.NXT - 1 without data, which
    /// the peer has to acknowledge (RFC 9293, 3.8.4).
    pub(super) fn keepalive_probe(&mut self, now: Instant, out: &mut Segment) -> bool {
        let life = self.lifetime.as_mut();
        let due = life.is_some_and(|life| std::mem::take(&mut life.probe_due));
        if due {
            self.ack_segment(now, out);
            out.seq = self.tx.isn.at(self.tx.flight.board.max() - 1);
        }
        due
    }
}
