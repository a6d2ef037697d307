//! Flows over an XTP-like transport: one reliable stream. The sender requests status reports to
//! detect losses, and sends at a configured rate.
//!
//! Both ends are sans-IO: their inputs are times and packets, and their outputs are packets.

use crate::scenario::XtpSpec;
use farlink_tcp::{Body, Dscp, Instant, Stats};
use farlink_wire::xtp::{Content, Pdu};
use farlink_wire::{Carried, Datagram, FlowId, Ip, NodeId, Packet, Payload};
use farlink_xtp::{Config, Receiver, Sender};

/// A flow over XTP.
#[derive(Debug)]
pub(crate) struct XtpFlow {
    /// Number of the flow in its packets.
    pub(crate) id: FlowId,
    from: NodeId,
    to: NodeId,
    ports: (u16, u16),
    /// IP header of its packets.
    ip: Ip,
    dscp: Dscp,
    size: u64,
    sender: Sender,
    receiver: Receiver,
    /// Number of packets sent by both ends.
    packets: u64,
    /// Start time.
    pub(crate) start: Instant,
    /// Arrival time of the last byte; `None` before.
    pub(crate) complete_at: Option<Instant>,
    /// Set when a report has shown the sender that all data has arrived.
    pub(crate) done: bool,
    /// Time of the flow's next event.
    pub(crate) wakes_at: Instant,
}

impl XtpFlow {
    pub(crate) fn new(
        id: FlowId,
        (from, to): (NodeId, NodeId),
        ports: (u16, u16),
        (ip, dscp): (Ip, Dscp),
        spec: &XtpSpec,
        start: Instant,
    ) -> Self {
        let config = Config {
            rate: spec.rate,
            burst: spec.burst,
            packet: spec.packet,
            window: spec.window,
            sreq_every: spec.sreq_every,
        };
        Self {
            id,
            from,
            to,
            ports,
            ip,
            dscp,
            size: spec.size,
            sender: Sender::new(&config, spec.size, start),
            receiver: Receiver::new(spec.window, spec.packet),
            packets: 0,
            start,
            complete_at: None,
            done: false,
            wakes_at: Instant::MAX,
        }
    }

    /// Returns the source and the destination node.
    pub(crate) fn nodes(&self) -> [NodeId; 2] {
        [self.from, self.to]
    }

    /// Handles the sender's timer.
    pub(crate) fn on_time(&mut self, now: Instant) {
        self.sender.on_time(now);
    }

    /// Returns the next packet to send now, if any, and whether it is a retransmission.
    pub(crate) fn transmit(&mut self, now: Instant) -> Option<(Pdu, bool)> {
        let before = self.sender.stats.segments_retransmitted;
        let pdu = self.sender.transmit(now)?;
        Some((pdu, self.sender.stats.segments_retransmitted > before))
    }

    /// Returns the sender's next deadline.
    pub(crate) fn deadline(&mut self, now: Instant) -> Option<Instant> {
        self.sender.deadline(now)
    }

    /// Builds the packet of a PDU of either end, with IP identification `ident`.
    pub(crate) fn packet(&mut self, pdu: Pdu, by_sender: bool, now: Instant, ident: u16) -> Packet {
        let (from, to) = (self.from, self.to);
        let (src, dst) = if by_sender { (from, to) } else { (to, from) };
        let (near, far) = self.ports;
        let (src_port, dst_port) = if by_sender { (near, far) } else { (far, near) };
        let number = self.packets;
        self.packets += 1;
        let datagram = Datagram {
            src_port,
            dst_port,
            number,
            sent_at: now,
            dscp: self.dscp,
            body: Body::of_len(pdu.wire_len()),
            carried: Some(Box::new(Carried::Xtp(Pdu {
                key: u64::from(self.id.0) + 1,
                ..pdu
            }))),
            ..Datagram::default()
        };
        Packet {
            flow: self.id,
            from_opener: by_sender,
            ident,
            ip: self.ip,
            ..Packet::new(src, dst, Payload::Udp(datagram))
        }
    }

    /// Handles a packet at the receiver. Returns a status report if the packet requests one.
    pub(crate) fn at_receiver(&mut self, now: Instant, pdu: &Pdu) -> Option<Pdu> {
        if let Content::Data {
            seq, len, first, ..
        } = pdu.content
        {
            self.receiver.on_data(seq, len, first);
            if self.receiver.rseq >= self.size {
                self.complete_at.get_or_insert(now);
            }
        }
        let requested = pdu.sreq.then(|| self.receiver.on_request(pdu.sync));
        requested.flatten().map(|status| Pdu {
            sync: pdu.sync,
            content: Content::Control(status),
            ..Pdu::default()
        })
    }

    /// Handles a status report at the sender. Returns whether it completes the flow.
    pub(crate) fn at_sender(&mut self, now: Instant, pdu: Pdu) -> bool {
        if let Content::Control(status) = pdu.content {
            let max_spans = self.receiver.max_spans();
            self.sender.on_status(now, status, max_spans);
        }
        let done = self.sender.is_done() && !self.done;
        self.done |= done;
        done
    }

    /// Returns the number of bytes received in order.
    pub(crate) fn delivered(&self) -> u64 {
        self.receiver.rseq
    }

    /// Returns the received share of the whole stream.
    pub(crate) fn share(&self) -> f64 {
        self.receiver.rseq as f64 / self.size.max(1) as f64
    }

    /// Returns the number of received data packets, without duplicates.
    pub(crate) fn packets_received(&self) -> u64 {
        self.receiver.stats.segments_fresh
    }

    /// Returns the counters of both ends, the sender's first.
    pub(crate) fn stats(&self) -> [&Stats; 2] {
        [&self.sender.stats, &self.receiver.stats]
    }
}
