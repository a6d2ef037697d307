//! TCP flows: both ends of a connection, and the replacement of a closed connection when the
//! application opens another.

use crate::app::{Program, Side};
use farlink_channel::rng::Stream;
use farlink_small::Quantiles;
use farlink_tcp::{
    Config, Connection, Instant, Interval, Limit, LimitTimes, PhaseTimes, Record, Seq, State, Stats,
};
use farlink_wire::{FlowId, Id, NodeId, Packet};
use std::sync::Arc;

/// First port of the listening end.
const ACCEPT_PORT: u16 = 5001;
/// First ephemeral port (RFC 6335, 6), for the opening end.
const FIRST_PORT: u32 = 49_152;
const PORTS: u32 = 65_536 - FIRST_PORT;

/// Returns the source and destination port of UDP flow number `flow`. They are the ports of the
/// first connection of a TCP flow with this number.
pub(crate) fn udp_ports(flow: u32) -> (u16, u16) {
    let near = FIRST_PORT + flow % PORTS;
    (near as u16, ACCEPT_PORT + (flow / PORTS) as u16)
}

/// An end of a TCP flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct EndId(u32);

impl Id for EndId {
    #[inline]
    fn at(number: u32) -> Self {
        Self(number)
    }

    #[inline]
    fn number(self) -> u32 {
        self.0
    }
}

impl EndId {
    #[inline]
    pub(crate) fn new(flow: FlowId, side: Side) -> Self {
        Self(2 * flow.0 + side as u32)
    }

    /// Returns both ends of a flow, the data sender first.
    #[inline]
    pub(crate) fn both(flow: FlowId) -> [Self; 2] {
        [Self::new(flow, Side::From), Self::new(flow, Side::To)]
    }

    #[inline]
    pub(crate) fn flow(self) -> FlowId {
        FlowId(self.0 / 2)
    }

    #[inline]
    pub(crate) fn side(self) -> Side {
        if self.0.is_multiple_of(2) {
            Side::From
        } else {
            Side::To
        }
    }

    /// Returns the other end of this end's flow.
    #[inline]
    pub(crate) fn other(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// End of a TCP flow. A thousand ends do not fit into the cache, so each end begins at a cache
/// line, and the fields that every segment reads use as few lines as possible.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct End {
    /// Time of the valid timer event. Timer events of other times are stale.
    pub(crate) scheduled: Instant,
    /// Number of in-order bytes at which the application is notified; `u64::MAX` for never.
    pub(crate) awaits: u64,
    /// Bytes received in order, over all connections.
    pub(crate) received: u64,
    /// Number of bytes that wait for room in the send buffer.
    unwritten: u64,
    /// Node of this end.
    pub(crate) node: NodeId,
    /// Node of the other end.
    pub(crate) peer: NodeId,
    /// Set from the start to the stop of the flow.
    pub(crate) live: bool,
    /// Set if the connection closes once the application has written its remaining bytes.
    closes: bool,
    /// Set if the program reads after its close.
    reads_on: bool,
    /// Set if the application has written before its SYN is answered (TCP Fast Open). Until then a
    /// close is delayed.
    pub(crate) early: bool,
    /// Set if the flow had an earlier connection.
    reopened: bool,
    /// Set if another part of the network has this end ([`crate::parallel`]).
    pub(crate) is_remote: bool,
    pub(crate) conn: Connection,
    pub(crate) isn: Seq,
    /// Totals of earlier connections; `None` before the second connection.
    pub(crate) past: Option<Box<Past>>,
    /// Time at which the last byte that the application expects arrived; [`Instant::MAX`] before.
    pub(crate) complete_at: Instant,
}

/// Totals of earlier connections of an end.
#[derive(Debug, Default)]
pub(crate) struct Past {
    sent: u64,
    received: u64,
    stats: Stats,
    phases: PhaseTimes,
    limits: LimitTimes,
    largest_window: u64,
}

/// Nanoseconds that the data sender spent in each phase and under each limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) phases: PhaseTimes,
    pub(crate) limits: LimitTimes,
}

impl End {
    fn new(conn: Connection, [node, peer]: [NodeId; 2], isn: Seq) -> Self {
        Self {
            conn,
            node,
            peer,
            isn,
            scheduled: Instant::MAX,
            live: false,
            awaits: u64::MAX,
            received: 0,
            unwritten: 0,
            closes: false,
            reads_on: true,
            early: false,
            complete_at: Instant::MAX,
            past: None,
            reopened: false,
            is_remote: false,
        }
    }

    /// Writes `len` bytes of the application. Bytes without room in the send buffer are written by
    /// later calls of [`Self::write_on`], as by a blocking `write`.
    pub(crate) fn write(&mut self, now: Instant, len: u64) {
        self.unwritten = self.unwritten.saturating_add(len);
        self.write_on(now);
    }

    /// Closes the connection after the application's remaining bytes. With `reads_on`, the
    /// application still reads (half-close).
    pub(crate) fn close(&mut self, now: Instant, reads_on: bool) {
        self.closes = true;
        self.reads_on = reads_on;
        self.write_on(now);
    }

    /// Writes the application's remaining bytes as far as the send buffer has room. Then closes the
    /// connection if requested.
    pub(crate) fn write_on(&mut self, now: Instant) {
        if self.unwritten > 0 {
            // If the connection accepts no more data, the remaining bytes are dropped.
            let taken = self.conn.write_len(self.unwritten);
            self.unwritten -= taken.unwrap_or(self.unwritten);
        }
        if self.closes && self.unwritten == 0 && !self.early {
            self.closes = false;
            if self.reads_on {
                self.conn.shutdown(now);
            } else {
                self.conn.close(now);
            }
        }
    }

    /// Reads all in-order data for the application. Returns whether at least `awaits` bytes have
    /// been received.
    #[inline(always)] // called for each data segment
    pub(crate) fn reads(&mut self) -> bool {
        if self.conn.readable() == 0 {
            return false;
        }
        self.conn.read_len(u64::MAX);
        self.count_received();
        self.received >= self.awaits
    }

    /// Returns whether this end will do nothing until a packet arrives or its scheduled timer
    /// expires.
    #[inline(always)] // Called for each arriving segment.
    pub(crate) fn is_idle(&mut self) -> bool {
        self.conn.is_idle()
            && !self.conn.has_events()
            && !self.waits_to_write()
            && self.conn.timeout_before(self.scheduled).is_none()
    }

    /// Returns whether bytes of the application wait for room in the send buffer.
    #[inline]
    pub(crate) fn waits_to_write(&self) -> bool {
        self.unwritten > 0
    }

    /// Returns the position of this end's sequence number in the data that it sends over all
    /// connections.
    pub(crate) fn stream_offset(&self, seq: Seq) -> Option<u64> {
        let offset = seq.offset(self.isn, self.conn.snd_una())?.checked_sub(1)?;
        Some(offset + self.past.as_ref().map_or(0, |past| past.sent))
    }

    /// Updates `received` after the application has read.
    #[inline]
    pub(crate) fn count_received(&mut self) {
        self.received = self.conn.delivered();
        if self.reopened
            && let Some(past) = &self.past
        {
            self.received += past.received;
        }
    }

    /// Returns the counters summed over all connections.
    pub(crate) fn stats(&self) -> Stats {
        let mut stats = self.conn.stats();
        if let Some(past) = &self.past {
            stats.add(&past.stats);
        }
        stats
    }

    /// Returns nanoseconds by phase and by limit up to `until`, over all connections of a flow that
    /// began at `from`. Time without a connection counts as limited by the application.
    pub(crate) fn times(&self, from: Instant, until: Instant) -> Times {
        let mut phases = self.conn.phase_times(until);
        let mut limits = self.conn.limit_times(until);
        if let Some(past) = &self.past {
            add(&mut phases, past.phases);
            add(&mut limits, past.limits);
        }
        let all = if until > from {
            until.since(from).as_nanos()
        } else {
            0
        };
        let known: u64 = limits.iter().sum();
        limits[Limit::Application as usize] += all.saturating_sub(known);
        Times { phases, limits }
    }

    /// Returns the largest window that the peer offered, over all connections.
    pub(crate) fn largest_peer_window(&self) -> u64 {
        let past = self.past.as_ref().map_or(0, |past| past.largest_window);
        self.conn.largest_peer_window().max(past)
    }

    /// Returns whether the connection has ended. TIME-WAIT counts as ended.
    pub(crate) fn over(&self) -> bool {
        matches!(self.conn.state(), State::Closed | State::TimeWait)
    }

    /// Replaces the closed connection by `conn`, and adds its counters to the totals.
    pub(crate) fn renew(&mut self, conn: Connection, isn: Seq) {
        self.reopened = true;
        let past = self.past.get_or_insert_default();
        past.sent += self.conn.acknowledged();
        past.received = self.received;
        past.stats.add(&self.conn.stats());
        past.largest_window = past.largest_window.max(self.conn.largest_peer_window());
        // The clocks of a closed connection have stopped, so any later time gives their final
        // values.
        add(&mut past.phases, self.conn.phase_times(Instant::MAX));
        add(&mut past.limits, self.conn.limit_times(Instant::MAX));
        self.conn = conn;
        // Unwritten data of the previous connection is lost with it.
        self.unwritten = 0;
        self.closes = false;
        self.early = false;
        self.isn = isn;
        self.scheduled = Instant::MAX;
    }
}

fn add<const N: usize>(times: &mut [u64; N], more: [u64; N]) {
    for (sum, more) in times.iter_mut().zip(more) {
        *sum += more;
    }
}

/// State of a flow as a whole.
#[derive(Debug)]
pub(crate) struct FlowState {
    /// Set if the connection ended before all data was delivered.
    pub(crate) failed: bool,
    /// Configured duration, after which an unfinished flow is stopped.
    pub(crate) stops_after: Option<Interval>,
    /// Departure of the SYN.
    pub(crate) opened_at: Instant,
    /// End of the measurement; `None` while it continues.
    pub(crate) done_at: Option<Instant>,
    /// Time of the program's next wake-up. Wake-ups at other times are ignored.
    pub(crate) wakes_at: Instant,
    /// Number of responses to the program's user, and the sum of their times.
    pub(crate) responses: u64,
    pub(crate) response_sum: Interval,
    /// Distribution of the response times, in nanoseconds.
    pub(crate) response_times: Option<Box<Quantiles>>,
    pub(crate) program: Program,
    /// Parameters of further connections; `None` if the program opens only one.
    pub(crate) opening: Option<Box<Opening>>,
}

/// Parameters from which the connections of a flow are opened.
#[derive(Debug)]
pub(crate) struct Opening {
    /// Number of this flow, and number of all flows. The ports are computed from them, so no two
    /// flows share a port.
    flow: u32,
    flows: u32,
    /// Number of the current connection, from 0.
    number: u32,
    sender: Arc<Config>,
    receiver: Arc<Config>,
    isns: Stream,
    sender_opens: bool,
    /// Set if the program has requested another connection.
    pub(crate) wanted: bool,
}

impl Opening {
    pub(crate) fn new(
        flow: u32,
        flows: u32,
        (sender, receiver): (&Arc<Config>, &Arc<Config>),
        isns: Stream,
        sender_opens: bool,
    ) -> Self {
        Self {
            flow,
            flows,
            number: 0,
            sender: Arc::clone(sender),
            receiver: Arc::clone(receiver),
            isns,
            sender_opens,
            wanted: false,
        }
    }

    /// Returns the ends of the first connection.
    pub(crate) fn first(&mut self, from: NodeId, to: NodeId) -> [End; 2] {
        let [(a, a_isn), (b, b_isn)] = self.connection();
        [
            End::new(a, [from, to], a_isn),
            End::new(b, [to, from], b_isn),
        ]
    }

    /// Returns both ends of the next connection, each with its initial sequence number.
    pub(crate) fn next(&mut self) -> [(Connection, Seq); 2] {
        self.wanted = false;
        self.number = self.number.wrapping_add(1);
        self.connection()
    }

    /// Returns whether a packet belongs to the current connection, and not to an earlier one.
    pub(crate) fn is_current(&self, packet: &Packet) -> bool {
        let (src, dst) = packet.ports();
        let port = if packet.from_opener { src } else { dst };
        port == self.near()
    }

    fn connection(&mut self) -> [(Connection, Seq); 2] {
        let (near, far) = (self.near(), ACCEPT_PORT + (self.flow / PORTS) as u16);
        let isns = [self.isns.next_u64(), self.isns.next_u64()].map(|n| Seq(n as u32));
        let (sender, receiver) = (Arc::clone(&self.sender), Arc::clone(&self.receiver));
        let (from, to) = if self.sender_opens {
            (
                Connection::open(sender, near, far, isns[0]),
                Connection::listen(receiver, far, isns[1]),
            )
        } else {
            (
                Connection::listen(sender, far, isns[0]),
                Connection::open(receiver, near, far, isns[1]),
            )
        };
        [(from, isns[0]), (to, isns[1])]
    }

    /// Returns the opener's port of the current connection. From one connection of a flow to the
    /// next, the port increases by the number of flows.
    fn near(&self) -> u16 {
        let turns = (PORTS / self.flows).max(1);
        let port = self.flow % PORTS + self.number % turns * self.flows;
        (FIRST_PORT + port) as u16
    }
}

/// Converts the positions in a connection's record to positions over all connections.
pub(crate) fn placed(past: Option<&Past>, record: Record) -> Record {
    let Some(past) = past else {
        return record;
    };
    match record {
        Record::Sent {
            seq,
            len,
            retransmission,
        } => Record::Sent {
            seq: seq + past.sent,
            len,
            retransmission,
        },
        Record::Ack { ack, window } => Record::Ack {
            ack: ack + past.sent,
            window,
        },
        Record::Sacked { left, right } => Record::Sacked {
            left: left + past.sent,
            right: right + past.sent,
        },
        Record::Delivered { total } => Record::Delivered {
            total: total + past.received,
        },
        Record::Arrived {
            seq,
            len,
            fresh,
            duplicate,
            out_of_order,
        } => Record::Arrived {
            seq: seq + past.received,
            len,
            fresh,
            duplicate,
            out_of_order,
        },
        other => other,
    }
}
