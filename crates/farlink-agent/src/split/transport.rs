//! Transport of a half of a split connection: TCP, or XTP over a satellite.

use farlink_tcp::{Connection, Event, Instant, Segment, State, Stats, WriteError};
use farlink_xtp::Association;

/// Transport of a half.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a relay has its own heap allocation, and nearly every half is TCP"
)]
pub(super) enum Transport {
    Tcp(Connection),
    Xtp(Box<Satellite>),
}

/// Half over XTP.
#[derive(Debug)]
pub(super) struct Satellite {
    pub(super) association: Association,
    /// Source and destination port of its packets.
    pub(super) ports: (u16, u16),
    /// Bytes of data in a packet.
    pub(super) packet: u32,
    /// Deadline after the last packet.
    pub(super) wakes: Option<Instant>,
}

impl Transport {
    /// Handles a segment. XTP reads none.
    pub(super) fn on_segment(&mut self, now: Instant, segment: &Segment) {
        if let Self::Tcp(connection) = self {
            connection.on_segment(now, segment);
        }
    }

    pub(super) fn on_timeout(&mut self, now: Instant) {
        match self {
            Self::Tcp(connection) => connection.on_timeout(now),
            Self::Xtp(satellite) => satellite.association.on_timeout(now),
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        match self {
            Self::Tcp(connection) => connection.next_timeout(),
            Self::Xtp(satellite) => satellite.wakes,
        }
    }

    pub(super) fn abort(&mut self, now: Instant) {
        match self {
            Self::Tcp(connection) => connection.abort(now),
            Self::Xtp(satellite) => satellite.association.abort(now),
        }
    }

    pub(super) fn shutdown(&mut self, now: Instant) {
        match self {
            Self::Tcp(connection) => connection.shutdown(now),
            Self::Xtp(satellite) => satellite.association.shutdown(),
        }
    }

    /// Makes TCP explain the segments that it sends.
    pub(super) fn set_tracing(&mut self) {
        if let Self::Tcp(connection) = self {
            connection.set_tracing(true);
        }
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        match self {
            Self::Tcp(connection) => connection.poll_event(),
            Self::Xtp(satellite) => satellite.association.poll_event(),
        }
    }

    pub(super) fn state(&self) -> State {
        match self {
            Self::Tcp(connection) => connection.state(),
            Self::Xtp(satellite) => satellite.association.state(),
        }
    }

    pub(super) fn stats(&self) -> Stats {
        match self {
            Self::Tcp(connection) => connection.stats(),
            Self::Xtp(satellite) => satellite.association.stats(),
        }
    }

    pub(super) fn delivered(&self) -> u64 {
        match self {
            Self::Tcp(connection) => connection.delivered(),
            Self::Xtp(satellite) => satellite.association.delivered(),
        }
    }

    pub(super) fn acknowledged(&self) -> u64 {
        match self {
            Self::Tcp(connection) => connection.acknowledged(),
            Self::Xtp(satellite) => satellite.association.acknowledged(),
        }
    }

    pub(super) fn readable(&self) -> u64 {
        match self {
            Self::Tcp(connection) => connection.readable(),
            Self::Xtp(satellite) => satellite.association.readable(),
        }
    }

    pub(super) fn room(&self) -> u64 {
        match self {
            Self::Tcp(connection) => connection.room(),
            Self::Xtp(satellite) => satellite.association.room(),
        }
    }

    /// Returns the most bytes of data in a packet.
    pub(super) fn mss(&self) -> u32 {
        match self {
            Self::Tcp(connection) => connection.mss(),
            Self::Xtp(satellite) => satellite.packet,
        }
    }

    pub(super) fn read_len(&mut self, len: u64) -> u64 {
        match self {
            Self::Tcp(connection) => connection.read_len(len),
            Self::Xtp(satellite) => satellite.association.read_len(len),
        }
    }

    pub(super) fn write_len(&mut self, len: u64) -> Result<u64, WriteError> {
        match self {
            Self::Tcp(connection) => connection.write_len(len),
            Self::Xtp(satellite) => Ok(satellite.association.write_len(len)),
        }
    }

    /// Moves `len` bytes with their content from one half to another. XTP has no contents, and
    /// halves of real connections are TCP.
    pub(super) fn copy_to(&mut self, to: &mut Self, len: usize, scratch: &mut Vec<u8>) {
        if let (Self::Tcp(from), Self::Tcp(to)) = (self, to) {
            scratch.clear();
            from.read(scratch, len);
            let written = to.write(scratch);
            debug_assert_eq!(written, Ok(scratch.len()));
        }
    }
}
