//! Probes: tables of the events of a run, stored in columns.
//!
//! A run without probes has `None` here, and no other cost. Columns are plain vectors, which a data
//! frame takes without a copy per row.

mod order;
mod packets;
mod pieces;
mod queues;
mod tables;

use crate::flow::EndId;
use crate::log;
use crate::quic::{Progress, Seen};
use farlink_agent::{Act, Note};
use farlink_channel::DropCause;
use farlink_link::Simplex;
use farlink_link::arq::SentFrame;
use farlink_link::discipline::Reason;
use farlink_tcp::{Instant, Interval, Record};
use farlink_wire::pcapng::CapturePoint;
use farlink_wire::{ById, Datagram, FlowId, LinkId, NodeId, Packet, PacketId, Payload};
use tables::{
    Ack, Acted, Arrived, Came, Delivered, Delivery, Framed, Inner, Limited, Lost, Marked, Moment,
    Queue, Row, Rtt, Sack, Sent, Sojourn, State,
};

pub use order::Piece;
use order::Ties;
pub(crate) use packets::PacketLog;
pub use tables::{
    Column, Holds, Quantity, Table, TraceColumn, TraceKind, columns_of, drop_causes, frame_kinds,
    limits, quantities, reasons, traces,
};
pub(crate) use tables::{Crossed, Passage, QUANTITIES, quantity_number};

/// All tables and captures of a run.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    state: Rows<State>,
    inner: Rows<Inner>,
    rtt: Rows<Rtt>,
    sent: Rows<Sent>,
    acks: Rows<Ack>,
    sacks: Rows<Sack>,
    moments: Rows<Moment>,
    limits: Rows<Limited>,
    delivered: Rows<Delivered>,
    arrivals: Rows<Came>,
    queue: Rows<Queue>,
    deliveries: Rows<Delivery>,
    drops: Rows<Lost>,
    sojourns: Rows<Sojourn>,
    queue_marks: Rows<Marked>,
    queues: queues::QueueWatch,
    datagrams: Rows<Arrived>,
    /// Index in the scenario of each flow number used by packets and ends.
    pub(crate) flows: ById<FlowId, u32>,
    acted: Rows<Acted>,
    passages: Rows<Passage>,
    frames: Rows<Framed>,
    /// Packets on every link, if asked for.
    pub(crate) packets: Option<Box<PacketLog>>,
    /// Capture point of each node that has one.
    pub(crate) captures: ById<NodeId, Option<CapturePoint>>,
    /// The two capture points of each tap: first the side of the other links, then the side of the
    /// agent's link.
    pub(crate) taps: Vec<[CapturePoint; 2]>,
    /// Time before which all departures from queues have their rows.
    departed_before: Instant,
}

/// Rows of a table, in order of their events.
#[derive(Debug)]
struct Rows<T> {
    /// Set if the table is wanted; rows of others are dropped.
    is_wanted: bool,
    list: Vec<T>,
    /// Latest time of the rows (ns). A drain need not read all of them again to know it.
    latest: u64,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self {
            is_wanted: true,
            list: Vec::new(),
            latest: 0,
        }
    }
}

impl<T: Row> Rows<T> {
    #[inline]
    fn push(&mut self, row: T) {
        if self.is_wanted {
            let time = row.time().as_nanos();
            if time > self.latest {
                self.latest = time;
            }
            self.list.push(row);
        }
    }
}

impl Probes {
    /// Returns probes that record the tables with these names.
    pub(crate) fn of_tables(names: &[impl AsRef<str>]) -> Self {
        let mut probes = Self::default();
        let wants = |name| names.iter().any(|wanted| wanted.as_ref() == name);
        probes.state.is_wanted = wants(State::NAME);
        probes.inner.is_wanted = wants(Inner::NAME);
        probes.rtt.is_wanted = wants(Rtt::NAME);
        probes.sent.is_wanted = wants(Sent::NAME);
        probes.acks.is_wanted = wants(Ack::NAME);
        probes.sacks.is_wanted = wants(Sack::NAME);
        probes.moments.is_wanted = wants(Moment::NAME);
        probes.limits.is_wanted = wants(Limited::NAME);
        probes.delivered.is_wanted = wants(Delivered::NAME);
        probes.arrivals.is_wanted = wants(Came::NAME);
        probes.queue.is_wanted = wants(Queue::NAME);
        probes.deliveries.is_wanted = wants(Delivery::NAME);
        probes.drops.is_wanted = wants(Lost::NAME);
        probes.sojourns.is_wanted = wants(Sojourn::NAME);
        probes.queue_marks.is_wanted = wants(Marked::NAME);
        probes.datagrams.is_wanted = wants(Arrived::NAME);
        probes.acted.is_wanted = wants(Acted::NAME);
        probes.passages.is_wanted = wants(Passage::NAME);
        probes.frames.is_wanted = wants(Framed::NAME);
        probes.packets = wants(Crossed::NAME).then(Box::default);
        probes
    }

    /// Returns the index of a flow in the scenario.
    pub(crate) fn flow(&self, id: FlowId) -> u32 {
        self.flows.get(id).copied().unwrap_or(id.0)
    }

    /// Adds the rows for a record of an endpoint.
    pub(crate) fn record(&mut self, end: EndId, time: Instant, record: &Record) {
        let at = (time, self.flow(end.flow()), end.side() as u8);
        match *record {
            Record::Sent { len: 0, .. }
            | Record::AckSent
            | Record::DummySent
            | Record::DummyAcked
            | Record::DupAck
            | Record::DuplicateReported
            | Record::TimeoutRepeated => {}
            Record::Sent {
                seq,
                len,
                retransmission,
            } => self
                .sent
                .push(Sent::of(at, seq, len, retransmission.into())),
            Record::Ack { ack, window } => self.acks.push(Ack::of(at, ack, window)),
            Record::Sacked { left, right } => self.sacks.push(Sack::of(at, left, right)),
            Record::Rtt { rtt, .. } => self.rtt.push(Rtt::of(at, rtt.as_nanos())),
            Record::State {
                cwnd,
                ssthresh,
                flight,
                srtt,
                rto,
            } => {
                let (srtt, rto) = (srtt.as_nanos(), rto.as_nanos());
                let row = State::of(at, cwnd, ssthresh, flight, srtt, rto);
                self.state.push(row);
            }
            Record::Inner { metric, value } => {
                let quantity = quantity_number(metric.name);
                let value = value.unwrap_or(f64::NAN);
                self.inner.push(Inner::of(at, quantity, value));
            }
            Record::Limited(limit) => self.limits.push(Limited::of(at, limit as u8)),
            Record::Delivered { total } => self.delivered.push(Delivered::of(at, total)),
            Record::Arrived {
                seq,
                len,
                duplicate,
                out_of_order,
                ..
            } => {
                let row = Came::of(at, seq, len, duplicate.into(), out_of_order.into());
                self.arrivals.push(row);
            }
            Record::Mark(mark) => {
                log::mark(at.0, at.1, at.2, mark);
                self.moments.push(Moment::of(at, mark as u8));
            }
        }
    }

    /// Adds a row for each packet of `link` whose transmission began by `now`.
    pub(crate) fn departures(&mut self, directed: LinkId, link: &Simplex, now: Instant) {
        self.departures_before(directed, link, now + Interval::from_nanos(1));
    }

    /// Adds a row for each packet of `link` whose transmission began before `until`, unless it has
    /// one.
    pub(crate) fn departures_before(&mut self, directed: LinkId, link: &Simplex, until: Instant) {
        let (number, direction) = split(directed);
        let known = self.departed_before;
        let departures = link.departures().skip_while(|row| row.0 < known);
        for (time, packets, bytes) in departures.take_while(|row| row.0 < until) {
            self.queue.push(Queue {
                time,
                link: number,
                direction,
                packets,
                bytes,
            });
        }
    }

    /// Adds the length of a queue after a packet joined it.
    pub(crate) fn queued(&mut self, time: Instant, directed: LinkId, packets: u32, bytes: u64) {
        let (link, direction) = split(directed);
        self.queue.push(Queue {
            time,
            link,
            direction,
            packets,
            bytes,
        });
    }

    /// Adds a packet that reached the far end of a link.
    pub(crate) fn delivery(&mut self, time: Instant, directed: LinkId, packet: &Packet) {
        let (link, direction) = split(directed);
        let row = Delivery {
            time,
            link,
            direction,
            flow: self.flow(packet.flow),
            bytes: packet.ip_len(),
        };
        self.deliveries.push(row);
    }

    /// Adds a lost packet. `seq` is the stream position of its first data byte, if it has data.
    pub(crate) fn lost(
        &mut self,
        time: Instant,
        directed: LinkId,
        (number, packet): (PacketId, &Packet),
        seq: Option<u64>,
        cause: DropCause,
    ) {
        let (link, direction) = split(directed);
        let flow = self.flow(packet.flow);
        let is_full = (cause == DropCause::Congestion).then_some(Reason::Full as u8);
        let reason = self.queues.reason(number).or(is_full);
        self.drops.push(Lost {
            time,
            link,
            direction,
            flow,
            bytes: packet.ip_len(),
            seq: seq.unwrap_or(u64::MAX),
            cause: cause as u8,
            reason: reason.unwrap_or(u8::MAX),
        });
    }

    /// Adds a datagram that left its source.
    pub(crate) fn datagram_sent(&mut self, time: Instant, packet: &Packet) {
        if let Payload::Udp(datagram) = &packet.payload {
            let (at, len) = ((time, self.flow(packet.flow), 0), datagram.body.len());
            let seq = datagram.number * u64::from(len);
            self.sent.push(Sent::of(at, seq, len, 0));
        }
    }

    /// Adds data that left an XTP sender.
    pub(crate) fn xtp_sent(
        &mut self,
        time: Instant,
        flow: FlowId,
        seq: u64,
        len: u32,
        again: bool,
    ) {
        let at = (time, self.flow(flow), 0);
        self.sent.push(Sent::of(at, seq, len, again.into()));
    }

    /// Records delivered bytes of a stream over XTP or QUIC.
    pub(crate) fn stream_delivered(&mut self, time: Instant, flow: FlowId, bytes: u64) {
        let at = (time, self.flow(flow), 1);
        self.delivered.push(Delivered::of(at, bytes));
    }

    /// Adds a change of the data that an end of a flow over QUIC has sent.
    pub(crate) fn quic_progress(
        &mut self,
        time: Instant,
        (flow, end): (FlowId, usize),
        change: &Progress,
    ) {
        let at = (time, self.flow(flow), end as u8);
        match *change {
            Progress::Sent { seq, len, again } => {
                self.sent.push(Sent::of(at, seq, len, again.into()));
            }
            Progress::Acked { ack, window } => self.acks.push(Ack::of(at, ack, window)),
            Progress::Beyond { left, right } => self.sacks.push(Sack::of(at, left, right)),
        }
    }

    /// Adds the state of a QUIC sender, and its latest round-trip sample if it is new.
    pub(crate) fn quic_changed(&mut self, time: Instant, flow: FlowId, seen: &Seen, sampled: bool) {
        let at = (time, self.flow(flow), 0);
        if sampled {
            self.rtt.push(Rtt::of(at, seen.sample.as_nanos()));
        }
        let (srtt, ssthresh) = (seen.srtt.as_nanos(), seen.ssthresh);
        let row = State::of(at, seen.window, ssthresh, seen.in_flight, srtt, 0);
        self.state.push(row);
    }

    /// Adds the first copy of a datagram that arrived. `total` is the number of bytes received so
    /// far.
    pub(crate) fn datagram_received(
        &mut self,
        time: Instant,
        packet: &Packet,
        datagram: &Datagram,
        total: u64,
    ) {
        let flow = self.flow(packet.flow);
        self.datagrams.push(Arrived {
            time,
            flow,
            number: datagram.number,
            bytes: datagram.body.len(),
            delay: time.since(datagram.sent_at).as_nanos(),
        });
        self.delivered.push(Delivered::of((time, flow, 1), total));
    }

    /// Adds an action of agent number `agent`. `seq` is the stream position concerned, if any.
    pub(crate) fn agent(&mut self, time: Instant, agent: u32, note: &Note, seq: Option<u64>) {
        if note.act == Act::Reset {
            log::agent_reset(time, agent, self.flow(note.flow));
        }
        self.acted.push(Acted {
            time,
            agent,
            action: note.act as u8,
            flow: self.flow(note.flow),
            seq: seq.unwrap_or(u64::MAX),
        });
    }

    /// Adds a packet that left or reached an end of its flow, or passed a side of an agent's node.
    pub(crate) fn passage(&mut self, mut passage: Passage) {
        passage.flow = self.flow(FlowId(passage.flow));
        self.passages.push(passage);
    }

    /// Captures a packet that passed a side of tap number `tap`.
    pub(crate) fn tapped(&mut self, time: Instant, tap: usize, wireless: bool, packet: &Packet) {
        if let Some(sides) = self.taps.get_mut(tap) {
            // Errors are ignored for the reason given in `capture`.
            let _ = sides[usize::from(wireless)].packet(time, packet);
        }
    }

    /// Adds a frame sent on link number `link`.
    pub(crate) fn frame(&mut self, link: u32, sent: &SentFrame) {
        let direction = sent.from as u8;
        let frame = &sent.frame;
        self.frames.push(Framed {
            time: sent.at,
            link,
            direction,
            frame: frame.kind as u8,
            ns: frame.ns,
            nr: frame.nr,
            poll: u8::from(frame.poll),
            bytes: sent.bytes,
            retransmission: u8::from(sent.again),
            lost: u8::from(sent.lost),
        });
        if let (Some(log), Some(packet)) = (&mut self.packets, sent.packet) {
            log.began(PacketId(packet), sent.began);
        }
    }

    /// Captures a packet that passed `node`, if the node has a capture point.
    pub(crate) fn capture(&mut self, time: Instant, node: NodeId, packet: &Packet) {
        if let Some(Some(point)) = self.captures.get_mut(node) {
            // The only error is a packet too long for IP. Limits of the scenario exclude such
            // packets.
            let _ = point.packet(time, packet);
        }
    }

    /// Returns all tables. Rows of one time are in the order of their events.
    pub(crate) fn into_tables(self) -> Vec<Table> {
        let pieces = self.into_pieces(Ties::Kept);
        pieces.map(Piece::into_table).collect()
    }

    /// Returns the last pieces of all tables.
    pub(crate) fn into_last_pieces(self) -> impl Iterator<Item = Piece> {
        self.into_pieces(Ties::ByLink)
    }

    fn into_pieces(self, queue: Ties) -> impl Iterator<Item = Piece> {
        let packets = self.packets.map(|log| log.into_piece());
        let pieces = [
            Piece::of(self.state.list, Ties::Kept),
            Piece::of(self.inner.list, Ties::Kept),
            Piece::of(self.rtt.list, Ties::Kept),
            Piece::of(self.sent.list, Ties::Kept),
            Piece::of(self.acks.list, Ties::Kept),
            Piece::of(self.sacks.list, Ties::Kept),
            Piece::of(self.moments.list, Ties::Kept),
            Piece::of(self.limits.list, Ties::Kept),
            Piece::of(self.delivered.list, Ties::Kept),
            Piece::of(self.arrivals.list, Ties::Kept),
            Piece::of(self.queue.list, queue),
            Piece::of(self.deliveries.list, Ties::Kept),
            Piece::of(self.drops.list, Ties::Kept),
            Piece::of(self.sojourns.list, Ties::Kept),
            Piece::of(self.queue_marks.list, Ties::Kept),
            Piece::of(self.datagrams.list, Ties::Kept),
            Piece::of(self.acted.list, Ties::Kept),
            Piece::of(self.passages.list, Ties::Kept),
            Piece::of(self.frames.list, Ties::Kept),
        ];
        pieces.into_iter().chain(packets)
    }
}

/// Splits a link direction into the number of the link and of the direction.
fn split(directed: LinkId) -> (u32, u8) {
    (directed.link(), directed.direction() as u8)
}
