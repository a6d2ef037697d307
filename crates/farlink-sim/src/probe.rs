//! Probes: what happened, row by row, in columns.
//!
//! A run without probes carries an empty `Option` and nothing else. Columns are
//! plain vectors, ready to be handed to a data frame without a copy per row.

use crate::flow::EndId;
use farlink_net::arq::SentFrame;
use farlink_net::channel::DropCause;
use farlink_net::pcapng::CapturePoint;
use farlink_net::{ById, Datagram, FlowId, LinkId, NodeId, Packet, Payload, Simplex};
use farlink_tcp::{Instant, Record};

/// A column of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// Signed 64 bits: times in nanoseconds.
    I64(Vec<i64>),
    /// Unsigned 64 bits.
    U64(Vec<u64>),
    /// Unsigned 32 bits.
    U32(Vec<u32>),
    /// Unsigned 8 bits.
    U8(Vec<u8>),
}

/// A named table of columns of one length, in order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Name.
    pub name: &'static str,
    /// Columns with their names; the first is `time`.
    pub columns: Vec<(&'static str, Column)>,
}

/// Declares a table: a row type and the columns it becomes.
macro_rules! table {
    ($(#[$doc:meta])* $row:ident $name:literal { $($field:ident: $ty:ident $column:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[allow(clippy::struct_field_names)] // the field's names: `rtt` of an `Rtt`
        pub(crate) struct $row {
            time: Instant,
            $($field: $ty,)*
        }

        impl $row {
            fn table(mut rows: Vec<Self>) -> Table {
                rows.sort_by_key(|r| r.time);
                let time = rows.iter().map(|r| r.time.as_nanos() as i64).collect();
                Table {
                    name: $name,
                    columns: vec![
                        ("time", Column::I64(time)),
                        $((stringify!($field), Column::$column(rows.iter().map(|r| r.$field).collect())),)*
                    ],
                }
            }
        }
    };
}

table!(/// Sender state.
    State "state" { flow: u32 U32, side: u8 U8, cwnd: u64 U64, ssthresh: u64 U64, flight: u64 U64, srtt: u64 U64, rto: u64 U64 });
table!(/// Round-trip samples.
    Rtt "rtt" { flow: u32 U32, side: u8 U8, rtt: u64 U64 });
table!(/// Data that left.
    Sent "segments" { flow: u32 U32, side: u8 U8, seq: u64 U64, len: u32 U32, retransmission: u8 U8 });
table!(/// Acknowledgments that arrived.
    Ack "acks" { flow: u32 U32, side: u8 U8, ack: u64 U64, window: u64 U64 });
table!(/// SACK blocks that arrived with news.
    Sack "sacks" { flow: u32 U32, side: u8 U8, left: u64 U64, right: u64 U64 });
table!(/// Moments.
    Moment "marks" { flow: u32 U32, side: u8 U8, kind: u8 U8 });
table!(/// What keeps a sender from sending more, from then on.
    Limited "limits" { flow: u32 U32, side: u8 U8, limit: u8 U8 });
table!(/// In-order data received.
    Delivered "delivered" { flow: u32 U32, side: u8 U8, bytes: u64 U64 });
table!(/// Data that arrived, and what it brought.
    Came "arrivals" { flow: u32 U32, side: u8 U8, seq: u64 U64, len: u32 U32, duplicate: u8 U8, out_of_order: u8 U8 });
table!(/// Length of a queue.
    Queue "queue" { link: u32 U32, direction: u8 U8, packets: u32 U32, bytes: u64 U64 });
table!(/// Packets that reached the far end of a link.
    Delivery "deliveries" { link: u32 U32, direction: u8 U8, flow: u32 U32, bytes: u32 U32 });
table!(/// Packets lost.
    Lost "drops" { link: u32 U32, direction: u8 U8, flow: u32 U32, bytes: u32 U32, seq: u64 U64, cause: u8 U8 });
table!(/// Frames of a link with a protocol.
    Framed "frames" { link: u32 U32, direction: u8 U8, frame: u8 U8, ns: u8 U8, nr: u8 U8, poll: u8 U8, bytes: u32 U32, retransmission: u8 U8, lost: u8 U8 });

table!(/// Datagrams that arrived, the first copy of each.
    Arrived "datagrams" { flow: u32 U32, number: u64 U64, bytes: u32 U32, delay: u64 U64 });

/// Everything that is recorded in a run.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    state: Vec<State>,
    rtt: Vec<Rtt>,
    sent: Vec<Sent>,
    acks: Vec<Ack>,
    sacks: Vec<Sack>,
    moments: Vec<Moment>,
    limits: Vec<Limited>,
    delivered: Vec<Delivered>,
    arrivals: Vec<Came>,
    queue: Vec<Queue>,
    deliveries: Vec<Delivery>,
    drops: Vec<Lost>,
    datagrams: Vec<Arrived>,
    /// The flow of the scenario that each number in packets and of ends is.
    pub(crate) flows: ById<FlowId, u32>,
    frames: Vec<Framed>,
    /// One capture point a node that has one.
    pub(crate) captures: ById<NodeId, Option<CapturePoint>>,
}

impl Probes {
    /// The number of a flow in the scenario.
    fn flow(&self, id: FlowId) -> u32 {
        self.flows.get(id).copied().unwrap_or(id.0)
    }

    /// A record of an endpoint.
    pub(crate) fn record(&mut self, end: EndId, time: Instant, record: &Record) {
        let (flow, side) = (self.flow(end.flow()), end.side() as u8);
        match *record {
            Record::Sent { len: 0, .. }
            | Record::AckSent
            | Record::DummySent
            | Record::DummyAcked
            | Record::DupAck
            | Record::DuplicateReported
            | Record::TimeoutRepeated
            | Record::Inner { .. } => {}
            Record::Sent {
                seq,
                len,
                retransmission,
            } => {
                let retransmission = u8::from(retransmission);
                self.sent.push(Sent {
                    time,
                    flow,
                    side,
                    seq,
                    len,
                    retransmission,
                });
            }
            Record::Ack { ack, window } => {
                self.acks.push(Ack {
                    time,
                    flow,
                    side,
                    ack,
                    window,
                });
            }
            Record::Sacked { left, right } => {
                self.sacks.push(Sack {
                    time,
                    flow,
                    side,
                    left,
                    right,
                });
            }
            Record::Rtt { rtt, .. } => {
                self.rtt.push(Rtt {
                    time,
                    flow,
                    side,
                    rtt: rtt.as_nanos(),
                });
            }
            Record::State {
                cwnd,
                ssthresh,
                flight,
                srtt,
                rto,
            } => {
                let (srtt, rto) = (srtt.as_nanos(), rto.as_nanos());
                self.state.push(State {
                    time,
                    flow,
                    side,
                    cwnd,
                    ssthresh,
                    flight,
                    srtt,
                    rto,
                });
            }
            Record::Limited(limit) => {
                self.limits.push(Limited {
                    time,
                    flow,
                    side,
                    limit: limit as u8,
                });
            }
            Record::Delivered { total } => {
                self.delivered.push(Delivered {
                    time,
                    flow,
                    side,
                    bytes: total,
                });
            }
            Record::Arrived {
                seq,
                len,
                duplicate,
                out_of_order,
                ..
            } => {
                self.arrivals.push(Came {
                    time,
                    flow,
                    side,
                    seq,
                    len,
                    duplicate: u8::from(duplicate),
                    out_of_order: u8::from(out_of_order),
                });
            }
            Record::Mark(mark) => {
                self.moments.push(Moment {
                    time,
                    flow,
                    side,
                    kind: mark as u8,
                });
            }
        }
    }

    /// Packets of `link` that began to be sent until `now`.
    pub(crate) fn departures(&mut self, directed: LinkId, link: &Simplex, now: Instant) {
        let (link_number, direction) = split(directed);
        let all: Vec<_> = link.departures().collect();
        let (low_packets, mut bytes) = link.low_queued();
        bytes += all.iter().map(|&(_, len)| u64::from(len)).sum::<u64>();
        for (i, &(time, len)) in all.iter().enumerate().take_while(|(_, d)| d.0 <= now) {
            bytes -= u64::from(len);
            let packets = low_packets + (all.len() - i - 1) as u32;
            self.queue.push(Queue {
                time,
                link: link_number,
                direction,
                packets,
                bytes,
            });
        }
    }

    /// Length of a queue after a packet joined it.
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

    /// A packet reached the far end of a link.
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

    /// A packet was lost; `seq` is its first byte in the stream, if it has any.
    pub(crate) fn lost(
        &mut self,
        time: Instant,
        directed: LinkId,
        packet: &Packet,
        seq: Option<u64>,
        cause: DropCause,
    ) {
        let (link, direction) = split(directed);
        let flow = self.flow(packet.flow);
        self.drops.push(Lost {
            time,
            link,
            direction,
            flow,
            bytes: packet.ip_len(),
            seq: seq.unwrap_or(u64::MAX),
            cause: cause as u8,
        });
    }

    /// A datagram left its source.
    pub(crate) fn datagram_sent(&mut self, time: Instant, packet: &Packet) {
        if let Payload::Udp(datagram) = &packet.payload {
            let len = datagram.body.len();
            self.sent.push(Sent {
                time,
                flow: self.flow(packet.flow),
                side: 0,
                seq: datagram.number * u64::from(len),
                len,
                retransmission: 0,
            });
        }
    }

    /// The first copy of a datagram arrived; `total` bytes have come now.
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
        self.delivered.push(Delivered {
            time,
            flow,
            side: 1,
            bytes: total,
        });
    }

    /// A frame was sent on link number `link`.
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
    }

    /// A packet passed the capture point of `node`.
    pub(crate) fn capture(&mut self, time: Instant, node: NodeId, packet: &Packet) {
        if let Some(Some(point)) = self.captures.get_mut(node) {
            // Only a packet that IP could not carry is refused, and the
            // scenario's limits let none be made.
            let _ = point.packet(time, packet);
        }
    }

    /// All tables.
    pub(crate) fn into_tables(self) -> Vec<Table> {
        vec![
            State::table(self.state),
            Rtt::table(self.rtt),
            Sent::table(self.sent),
            Ack::table(self.acks),
            Sack::table(self.sacks),
            Moment::table(self.moments),
            Limited::table(self.limits),
            Delivered::table(self.delivered),
            Came::table(self.arrivals),
            Queue::table(self.queue),
            Delivery::table(self.deliveries),
            Lost::table(self.drops),
            Arrived::table(self.datagrams),
            Framed::table(self.frames),
        ]
    }
}

/// Number of the link and of its direction.
fn split(directed: LinkId) -> (u32, u8) {
    (directed.link(), directed.direction() as u8)
}
