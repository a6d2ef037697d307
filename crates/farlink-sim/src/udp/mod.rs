//! Flows of UDP datagrams (RFC 768): a source and a sink, no connection.

mod sink;
mod source;

use crate::scenario::UdpSpec;
use farlink_channel::rng::Stream;
use farlink_tcp::{Body, Instant};
use farlink_wire::{Datagram, FlowId, Ip, NodeId, Packet, Payload};
use sink::Sink;
use source::Source;

/// A flow of datagrams.
#[derive(Debug)]
pub(crate) struct UdpFlow {
    /// Flow number that packets carry.
    id: FlowId,
    from: NodeId,
    to: NodeId,
    ports: (u16, u16),
    /// The IP header of its datagrams.
    ip: Ip,
    pub(crate) source: Source,
    pub(crate) sink: Sink,
    /// Copies of its datagrams that are on their way.
    pub(crate) under_way: u64,
    /// Time at which the source ended: nothing more is sent.
    pub(crate) ended_at: Option<Instant>,
    /// Set once the source has ended and nothing is in flight.
    pub(crate) done: bool,
}

impl UdpFlow {
    pub(crate) fn new(
        id: FlowId,
        (from, to): (NodeId, NodeId),
        ports: (u16, u16),
        ip: Ip,
        spec: UdpSpec,
        stream: Stream,
        start: Instant,
    ) -> Self {
        Self {
            id,
            from,
            to,
            ports,
            ip,
            source: Source::new(spec, stream, start),
            sink: Sink::default(),
            under_way: 0,
            ended_at: None,
            done: false,
        }
    }

    /// Node that it sends from.
    pub(crate) fn node(&self) -> NodeId {
        self.from
    }

    /// Nodes that it goes from and to.
    pub(crate) fn nodes(&self) -> [NodeId; 2] {
        [self.from, self.to]
    }

    /// The next datagram leaves, as packet `ident` of its node.
    pub(crate) fn send(&mut self, now: Instant, ident: u16, ttl: u8) -> Packet {
        let number = self.source.sent;
        self.source.sent += 1;
        self.under_way += 1;
        Packet {
            src: self.from,
            dst: self.to,
            flow: self.id,
            from_opener: true,
            ident,
            ttl,
            corrupt: false,
            ip: self.ip,
            piece: None,
            payload: Payload::Udp(Datagram {
                src_port: self.ports.0,
                dst_port: self.ports.1,
                number,
                sent_at: now,
                body: Body::of_len(self.source.packet()),
                ..Datagram::default()
            }),
        }
    }

    /// Datagrams that are certain not to arrive any more.
    pub(crate) fn lost(&self) -> u64 {
        (self.source.sent - self.sink.received).saturating_sub(self.under_way)
    }

    /// Datagrams that neither arrived nor are certain not to: they are queued, held by a link
    /// protocol or on a link. Copies of one that arrived are none.
    pub(crate) fn unsettled(&self) -> u64 {
        self.source.sent - self.sink.received - self.lost()
    }

    /// Bytes of the IP packet that carries a datagram.
    pub(crate) fn ip_len(&self) -> u32 {
        Packet {
            ip: self.ip,
            ..Packet::new(
                self.from,
                self.to,
                Payload::Udp(Datagram {
                    body: Body::of_len(self.source.packet()),
                    ..Datagram::default()
                }),
            )
        }
        .ip_len()
    }

    /// Most of them in a row.
    pub(crate) fn longest_loss(&self) -> u64 {
        // Of those behind the last that came, nothing is known as long as some are
        // on their way.
        let sent = if self.under_way == 0 {
            self.source.sent
        } else {
            self.sink.highest()
        };
        self.sink.longest_gap(sent)
    }
}
