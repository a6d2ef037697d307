//! End of a connection, and the events that its program sees.

use farlink_tcp::{CloseReason, Event, Instant, Interval, State};
use std::collections::VecDeque;

/// Time for which a closed connection still answers packets.
const QUIET: Interval = Interval::from_secs(60);

/// State of a connection, and the events that the connection has not reported.
#[derive(Debug, Default)]
pub(crate) struct Life {
    pub(crate) closed: Option<CloseReason>,
    /// Time until which the closed connection answers packets.
    pub(crate) until: Option<Instant>,
    peer_closed: bool,
    events: VecDeque<Event>,
}

impl Life {
    /// Reports the close of the peer's stream, once.
    pub(crate) fn peer_closes(&mut self) {
        if !std::mem::replace(&mut self.peer_closed, true) {
            self.events.push_back(Event::PeerClosed);
        }
    }

    /// Ends the connection. Returns whether it was open.
    pub(crate) fn close(&mut self, now: Instant, reason: CloseReason) -> bool {
        if self.closed.is_some() {
            return false;
        }
        self.closed = Some(reason);
        self.until = (reason != CloseReason::Reset).then(|| now + QUIET);
        self.events.push_back(Event::Closed(reason));
        true
    }

    /// Returns whether packets are answered.
    pub(crate) fn answers(&self) -> bool {
        self.closed.is_none() || self.until.is_some()
    }

    /// Ends the time in which a closed connection answers.
    pub(crate) fn expire(&mut self, now: Instant) {
        if self.until.is_some_and(|until| until <= now) {
            self.until = None;
        }
    }

    /// Returns the next event.
    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns the state in the terms of TCP.
    pub(crate) fn state(&self) -> State {
        match self.closed {
            None => State::Established,
            Some(_) if self.until.is_some() => State::TimeWait,
            Some(_) => State::Closed,
        }
    }
}
