//! States of a connection, and events for its application.

/// Connection states (RFC 9293, 3.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// No connection.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// SYN sent.
    SynSent,
    /// SYN received and sent.
    SynReceived,
    /// Open.
    Established,
    /// We closed first; the FIN is not acknowledged.
    FinWait1,
    /// Our FIN is acknowledged; the peer may still send.
    FinWait2,
    /// The peer closed; we may still send.
    CloseWait,
    /// Both closed at once; our FIN is not acknowledged.
    Closing,
    /// The peer closed, then we; our FIN is not acknowledged.
    LastAck,
    /// Waiting until all old segments have left the network.
    TimeWait,
}

/// Event for the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The handshake is complete, or the peer's SYN had a valid Fast Open cookie. Data written now
    /// is sent (RFC 7413).
    Established,
    /// The peer will send no more (its FIN arrived in order).
    PeerClosed,
    /// The connection has ended.
    Closed(CloseReason),
}

/// Reason for the end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CloseReason {
    /// Both ends closed, and all data was delivered.
    Done,
    /// The peer sent a reset.
    Reset,
    /// The application aborted.
    Aborted,
    /// Retransmissions or probes were not answered, or a configured limit passed
    /// ([`LifetimeConfig::user_timeout`](crate::config::LifetimeConfig::user_timeout),
    /// [`LifetimeConfig::fin_wait_2`](crate::config::LifetimeConfig::fin_wait_2)).
    TimedOut,
    /// The peer refused the connection.
    Refused,
}

/// Events that the application has not polled yet. Each occurs at most once per connection, in the
/// order of the fields.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Events {
    /// Fast check: false means that no event is waiting.
    pub(super) any: bool,
    established: bool,
    peer_closed: bool,
    closed: Option<CloseReason>,
}

impl Events {
    /// Adds an event.
    pub(super) fn push(&mut self, event: Event) {
        self.any = true;
        match event {
            Event::Established => self.established = true,
            Event::PeerClosed => self.peer_closed = true,
            Event::Closed(reason) => self.closed = Some(reason),
        }
    }

    /// Returns the next event.
    #[inline(always)] // called after each segment
    pub(super) fn pop(&mut self) -> Option<Event> {
        if self.any { self.next() } else { None }
    }

    #[cold]
    fn next(&mut self) -> Option<Event> {
        self.any = self.established || self.peer_closed;
        if std::mem::take(&mut self.established) {
            Some(Event::Established)
        } else if std::mem::take(&mut self.peer_closed) {
            Some(Event::PeerClosed)
        } else {
            self.closed.take().map(Event::Closed)
        }
    }
}
