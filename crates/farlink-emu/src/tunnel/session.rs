//! Encrypted session between the two ends of a tunnel.

use super::frame::{HEADER, Inner, Outer};
use super::primitives::TAG;
use super::window::Window;
use farlink_tcp::{Instant, Interval};
use snow::StatelessTransportState;

/// Limits on the use of a session's keys, the same at both ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Number of sent datagrams after which new keys are agreed on.
    pub(crate) renew_after: u64,
    /// Number of sent datagrams at which the session ends, long before the nonce wraps.
    pub(crate) end_after: u64,
    /// Age at which new keys are agreed on.
    pub(crate) renew_age: Interval,
    /// Age at which the session ends.
    pub(crate) end_age: Interval,
}

impl Default for Limits {
    /// Returns WireGuard's limits (Donenfeld 2017, 6.1).
    fn default() -> Self {
        Self {
            renew_after: 1 << 60,
            end_after: u64::MAX - (1 << 13),
            renew_age: Interval::from_secs(120),
            end_age: Interval::from_secs(180),
        }
    }
}

/// Reason for rejecting a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rejection {
    /// The authentication tag does not match.
    Forged,
    /// The number was received before, or is too far below the window to be checked.
    Replayed,
    /// The session has ended, or is unknown.
    Old,
}

/// One end of a session.
pub(crate) struct Session {
    transport: StatelessTransportState,
    /// Number of the session at the other end.
    peer: u32,
    next: u64,
    window: Window,
    since: Instant,
    limits: Limits,
    plain: Vec<u8>,
    sealed: Vec<u8>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session({:08x})", self.peer)
    }
}

impl Session {
    pub(super) fn new(
        transport: StatelessTransportState,
        peer: u32,
        since: Instant,
        limits: Limits,
    ) -> Self {
        Self {
            transport,
            peer,
            next: 0,
            window: Window::new(),
            since,
            limits,
            plain: Vec::new(),
            sealed: Vec::new(),
        }
    }

    /// Returns whether new keys should be agreed on.
    pub(crate) fn is_to_renew(&self, now: Instant) -> bool {
        self.next >= self.limits.renew_after || now.since(self.since) >= self.limits.renew_age
    }

    /// Returns whether the session has ended.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.next >= self.limits.end_after || now.since(self.since) >= self.limits.end_age
    }

    /// Returns the number of datagrams from the other end that were lost.
    pub(crate) fn missing(&self) -> u64 {
        self.window.missing()
    }

    /// Encrypts `inner` into a datagram in `out`. Returns false if the session has ended.
    pub(crate) fn seal(&mut self, now: Instant, inner: Inner<'_>, out: &mut Vec<u8>) -> bool {
        if self.is_over(now) {
            return false;
        }
        inner.write(&mut self.plain);
        let (to, number) = (self.peer, self.next);
        self.sealed.resize(self.plain.len() + TAG, 0);
        let written = self
            .transport
            .write_message(number, &self.plain, &mut self.sealed);
        let Ok(length) = written else {
            return false;
        };
        self.next += 1;
        let body = &self.sealed[..length];
        Outer::Sealed { to, number, body }.write(out);
        debug_assert_eq!(out.len(), HEADER + length);
        true
    }

    /// Authenticates and decrypts a datagram's body into `out`.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        number: u64,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Rejection> {
        if self.is_over(now) || number >= self.limits.end_after {
            return Err(Rejection::Old);
        }
        out.resize(body.len(), 0);
        let read = self.transport.read_message(number, body, out);
        out.truncate(read.map_err(|_| Rejection::Forged)?);
        if !self.window.is_new(number) {
            return Err(Rejection::Replayed);
        }
        self.window.add(number);
        Ok(())
    }
}
