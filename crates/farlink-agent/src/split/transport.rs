//! Transport of a half of a split connection: TCP, or XTP or STP over a satellite.

use farlink_tcp::{Connection, Event, Instant, Reason, Segment, State, Stats, WriteError};
use farlink_wire::{Carried, stp, xtp};
use farlink_xtp::Association;

/// Transport of the halves towards the satellite, with its parameters.
#[derive(Clone, Copy, Debug)]
pub enum Far {
    /// XTP.
    Xtp(farlink_xtp::Config),
    /// STP.
    Stp(farlink_xtp::stp::Config),
}

/// Transport of a half.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a relay has its own heap allocation, and nearly every half is TCP"
)]
pub(super) enum Transport {
    Tcp(Connection),
    Xtp(Box<Satellite<Association>>),
    Stp(Box<Satellite<farlink_xtp::stp::Connection>>),
}

/// Half over a satellite.
#[derive(Debug)]
pub(super) struct Satellite<E> {
    end: E,
    route: Route,
}

/// Destination of the packets of a half over a satellite.
#[derive(Debug)]
pub(super) struct Route {
    /// Source and destination port.
    pub(super) ports: (u16, u16),
    /// Bytes of data in a packet.
    packet: u32,
    /// Deadline after the last packet.
    wakes: Option<Instant>,
}

/// Calls a method that the ends of all transports have.
macro_rules! of_end {
    ($transport:expr, $end:ident => $call:expr) => {
        match $transport {
            Transport::Tcp($end) => $call,
            Transport::Xtp(satellite) => {
                let $end = &mut satellite.end;
                $call
            }
            Transport::Stp(satellite) => {
                let $end = &mut satellite.end;
                $call
            }
        }
    };
}

/// Calls a method that reads the end of any transport.
macro_rules! look_at_end {
    ($transport:expr, $end:ident => $call:expr) => {
        match $transport {
            Transport::Tcp($end) => $call,
            Transport::Xtp(satellite) => {
                let $end = &satellite.end;
                $call
            }
            Transport::Stp(satellite) => {
                let $end = &satellite.end;
                $call
            }
        }
    };
}

/// Kind of a packet of a half over a satellite.
pub(super) enum Kind {
    /// Data at a position of the stream; empty for marks of XTP.
    Data(u64, u32),
    Report,
    Reset,
    Control,
}

/// Returns the kind of a packet.
pub(super) fn kind_of(pdu: &Carried) -> Kind {
    if let Some((position, len)) = pdu.data() {
        return Kind::Data(position, len);
    }
    match pdu {
        Carried::Xtp(xtp::Pdu { end: true, .. }) => Kind::Reset,
        Carried::Xtp(_) => Kind::Report,
        Carried::Stp(pdu) => match &pdu.content {
            stp::Content::End { done: false } | stp::Content::Reject => Kind::Reset,
            stp::Content::Stat(_) | stp::Content::Ustat { .. } | stp::Content::End { .. } => {
                Kind::Report
            }
            _ => Kind::Control,
        },
    }
}

impl Kind {
    /// Returns the reason of a packet; `again` is set if its data was sent before.
    pub(super) fn reason(&self, again: bool) -> Reason {
        match self {
            Self::Data(..) if again => Reason::Report,
            Self::Data(..) => Reason::NewData,
            Self::Reset => Reason::AgentReset,
            Self::Report | Self::Control => Reason::Control,
        }
    }
}

impl Transport {
    /// Creates a half over a satellite, with the number of its connection. It opens the connection
    /// or answers.
    pub(super) fn over_satellite(
        far: &Far,
        (opens, key): (bool, u64),
        buffer: u64,
        ports: (u16, u16),
        now: Instant,
    ) -> Self {
        let route = |packet| Route {
            ports,
            packet,
            wakes: None,
        };
        match far {
            Far::Xtp(config) => Self::Xtp(Box::new(Satellite {
                end: Association::new(config, opens, key, buffer, now),
                route: route(config.packet),
            })),
            Far::Stp(config) => Self::Stp(Box::new(Satellite {
                end: farlink_xtp::stp::Connection::new(config, opens, key as u32, buffer, now),
                route: route(config.packet),
            })),
        }
    }

    /// Returns the route of a half over a satellite.
    pub(super) fn route(&self) -> Option<&Route> {
        match self {
            Self::Tcp(_) => None,
            Self::Xtp(satellite) => Some(&satellite.route),
            Self::Stp(satellite) => Some(&satellite.route),
        }
    }

    /// Returns the number of the connection of a half over a satellite.
    pub(super) fn key(&self) -> Option<u64> {
        match self {
            Self::Tcp(_) => None,
            Self::Xtp(satellite) => Some(satellite.end.key()),
            Self::Stp(satellite) => Some(satellite.end.key().into()),
        }
    }

    /// Handles a packet from the satellite.
    pub(super) fn on_pdu(&mut self, now: Instant, pdu: &Carried) {
        match (self, pdu) {
            (Self::Xtp(satellite), Carried::Xtp(pdu)) => satellite.end.on_pdu(now, pdu),
            (Self::Stp(satellite), Carried::Stp(pdu)) => satellite.end.on_pdu(now, pdu),
            _ => {}
        }
    }

    /// Returns the next packet to the satellite, and whether its data was sent before. Without one
    /// the deadline is set.
    pub(super) fn transmit_pdu(&mut self, now: Instant) -> Option<(Carried, bool)> {
        match self {
            Self::Tcp(_) => None,
            Self::Xtp(satellite) => {
                if let Some(pdu) = satellite.end.transmit(now) {
                    return Some((pdu.into(), satellite.end.sent_again()));
                }
                satellite.route.wakes = satellite.end.deadline(now);
                None
            }
            Self::Stp(satellite) => {
                if let Some(pdu) = satellite.end.transmit(now) {
                    return Some((pdu.into(), satellite.end.sent_again()));
                }
                satellite.route.wakes = satellite.end.deadline(now);
                None
            }
        }
    }

    /// Handles a segment. Other transports read none.
    pub(super) fn on_segment(&mut self, now: Instant, segment: &Segment) {
        if let Self::Tcp(connection) = self {
            connection.on_segment(now, segment);
        }
    }

    pub(super) fn on_timeout(&mut self, now: Instant) {
        of_end!(self, end => end.on_timeout(now));
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        match self {
            Self::Tcp(connection) => connection.next_timeout(),
            other => other.route()?.wakes,
        }
    }

    pub(super) fn abort(&mut self, now: Instant) {
        of_end!(self, end => end.abort(now));
    }

    pub(super) fn shutdown(&mut self, now: Instant) {
        match self {
            Self::Tcp(connection) => connection.shutdown(now),
            Self::Xtp(satellite) => satellite.end.shutdown(),
            Self::Stp(satellite) => satellite.end.shutdown(),
        }
    }

    /// Makes TCP explain the segments that it sends.
    pub(super) fn set_tracing(&mut self) {
        if let Self::Tcp(connection) = self {
            connection.set_tracing(true);
        }
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        of_end!(self, end => end.poll_event())
    }

    pub(super) fn state(&self) -> State {
        look_at_end!(self, end => end.state())
    }

    pub(super) fn stats(&self) -> Stats {
        look_at_end!(self, end => end.stats())
    }

    pub(super) fn delivered(&self) -> u64 {
        look_at_end!(self, end => end.delivered())
    }

    pub(super) fn acknowledged(&self) -> u64 {
        look_at_end!(self, end => end.acknowledged())
    }

    pub(super) fn readable(&self) -> u64 {
        look_at_end!(self, end => end.readable())
    }

    pub(super) fn room(&self) -> u64 {
        look_at_end!(self, end => end.room())
    }

    /// Returns the most bytes of data in a packet.
    pub(super) fn mss(&self) -> u32 {
        match self {
            Self::Tcp(connection) => connection.mss(),
            other => other.route().map_or(1, |route| route.packet),
        }
    }

    pub(super) fn read_len(&mut self, len: u64) -> u64 {
        of_end!(self, end => end.read_len(len))
    }

    pub(super) fn write_len(&mut self, len: u64) -> Result<u64, WriteError> {
        match self {
            Self::Tcp(connection) => connection.write_len(len),
            Self::Xtp(satellite) => Ok(satellite.end.write_len(len)),
            Self::Stp(satellite) => Ok(satellite.end.write_len(len)),
        }
    }

    /// Moves `len` bytes with their content from one half to another. XTP and STP have no contents,
    /// and halves of real connections are TCP.
    pub(super) fn copy_to(&mut self, to: &mut Self, len: usize, scratch: &mut Vec<u8>) {
        if let (Self::Tcp(from), Self::Tcp(to)) = (self, to) {
            scratch.clear();
            from.read(scratch, len);
            let written = to.write(scratch);
            debug_assert_eq!(written, Ok(scratch.len()));
        }
    }
}
