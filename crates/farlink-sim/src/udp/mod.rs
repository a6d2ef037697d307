//! UDP flows (RFC 768): a source and a sink, without a connection.

mod sink;
mod source;

use crate::scenario::UdpSpec;
use farlink_channel::rng::Stream;
use farlink_tcp::{Body, Dscp, Instant};
use farlink_wire::{Datagram, FlowId, Ip, NodeId, Packet, Payload};
use sink::Sink;
use source::Source;

/// A UDP flow: a source and a sink.
#[derive(Debug)]
pub(crate) struct UdpFlow {
    /// Number of the flow in its packets.
    id: FlowId,
    from: NodeId,
    to: NodeId,
    ports: (u16, u16),
    /// IP header of the datagrams.
    ip: Ip,
    dscp: Dscp,
    pub(crate) source: Source,
    pub(crate) sink: Sink,
    /// Number of datagrams in flight, with duplicates.
    pub(crate) under_way: u64,
    /// Time at which the source ended; `None` while it sends.
    pub(crate) ended_at: Option<Instant>,
    /// Set if the source has ended and no datagram is in flight.
    pub(crate) done: bool,
}

impl UdpFlow {
    pub(crate) fn new(
        id: FlowId,
        (from, to): (NodeId, NodeId),
        ports: (u16, u16),
        (ip, dscp): (Ip, Dscp),
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
            dscp,
            source: Source::new(spec, stream, start),
            sink: Sink::default(),
            under_way: 0,
            ended_at: None,
            done: false,
        }
    }

    /// Returns the source node.
    pub(crate) fn node(&self) -> NodeId {
        self.from
    }

    /// Returns the source and the destination node.
    pub(crate) fn nodes(&self) -> [NodeId; 2] {
        [self.from, self.to]
    }

    /// Builds the packet of the next datagram, with IP identification `ident`.
    pub(crate) fn send(&mut self, now: Instant, ident: u16, ttl: u8) -> Packet {
        let number = self.source.sent;
        let len = self.source.take();
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
                dscp: self.dscp,
                body: Body::of_len(len),
                ..Datagram::default()
            }),
        }
    }

    /// Returns the number of datagrams that can no longer arrive.
    pub(crate) fn lost(&self) -> u64 {
        (self.source.sent - self.sink.received).saturating_sub(self.under_way)
    }

    /// Returns the number of datagrams that have not arrived and still may: those in a queue, in an
    /// ARQ or on a link. Duplicates of arrived datagrams do not count.
    pub(crate) fn unsettled(&self) -> u64 {
        self.source.sent - self.sink.received - self.lost()
    }

    /// Returns the length in bytes of the IP packet of the shortest datagram so far.
    pub(crate) fn ip_len(&self) -> u32 {
        Packet {
            ip: self.ip,
            ..Packet::new(
                self.from,
                self.to,
                Payload::Udp(Datagram {
                    body: Body::of_len(self.source.shortest()),
                    ..Datagram::default()
                }),
            )
        }
        .ip_len()
    }

    /// Returns the largest number of consecutive datagrams that were lost.
    pub(crate) fn longest_loss(&self) -> u64 {
        // While datagrams are in flight, those after the highest received number do not count as
        // lost.
        let sent = if self.under_way == 0 {
            self.source.sent
        } else {
            self.sink.highest()
        };
        self.sink.longest_gap(sent)
    }
}
