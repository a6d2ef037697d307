//! Forwarding of packets: a node offers a packet to a link, and the link's outcomes are applied.

use super::World;
use crate::event_queue::{Event, Kind};
use crate::probe::Piece;
use farlink_channel::DropCause;
use farlink_link::{Due, Offered, Outcome};
use farlink_tcp::Interval;
use farlink_wire::{Direction, FlowId, Label, LinkId, NodeId, PacketId, Payload};

impl World {
    /// Forwards a packet from a node. Returns whether a route exists. Packets of flows always have
    /// one, because `build` refuses flows without a route.
    #[inline(never)] // Keeps rare cases out of the inlined path of most packets.
    pub(crate) fn forward(&mut self, node: NodeId, packet: PacketId) -> bool {
        self.route_packet(node, packet, self.packets.label(packet))
    }

    #[inline(always)] // of each packet and hop
    pub(super) fn route_packet(&mut self, node: NodeId, packet: PacketId, label: Label) -> bool {
        let link = self.nodes[node].next_hop(label.dst);
        if !self.links.has(link) {
            return false;
        }
        self.offer_packet(node, link, packet, label);
        true
    }

    /// Offers a packet at a node to a link.
    #[inline(never)] // like `forward`
    pub(crate) fn offer(&mut self, node: NodeId, link: LinkId, packet: PacketId) {
        self.offer_packet(node, link, packet, self.packets.label(packet));
    }

    #[inline(always)] // like `route_packet`
    fn offer_packet(&mut self, node: NodeId, link: LinkId, packet: PacketId, label: Label) {
        if self.probes.is_some() {
            self.offer_watched(node, link, packet);
            return;
        }
        let (now, outcomes) = (self.now, &mut self.outcomes);
        let before = outcomes.len();
        let packets = &mut self.packets;
        let offered = self
            .links
            .offer_labelled(now, link, (packet, label), packets, outcomes);
        self.offered(node, link, packet, offered, before);
    }

    /// Handles the link's answer to an offered packet. `before` is `outcomes.len()` before the
    /// offer.
    #[inline(always)] // like `route_packet`
    pub(super) fn offered(
        &mut self,
        node: NodeId,
        link: LinkId,
        packet: PacketId,
        offered: Offered,
        before: usize,
    ) {
        match offered {
            Offered::InFlight => {}
            Offered::FirstInFlight(at) => {
                self.queue.push(Event::new(at, Kind::Arrival, link.0, 0));
            }
            Offered::ForwardEarly(at) => self.fast_forward_early(link, packet, at),
            Offered::TooLong => self.too_long(node, link, packet),
            Offered::Closed => self.offered_to_closed(node, link, packet),
            Offered::Decided => {
                self.apply_outcomes(before);
                self.watch(link);
            }
        }
    }

    /// Offers a packet to a link of a run with probes.
    #[cold]
    fn offer_watched(&mut self, node: NodeId, link: LinkId, packet: PacketId) {
        let over = &self.links[link];
        let ip_len = self.packets[packet].ip_len();
        if over.mtu().is_some_and(|mtu| ip_len > mtu.bytes) {
            self.too_long(node, link, packet);
            return;
        }
        self.watch_queue(link);
        self.note_offered(link, packet);
        let (now, outcomes) = (self.now, &mut self.outcomes);
        let before = outcomes.len();
        let packets = &mut self.packets;
        let offered = self.links.offer(now, link, packet, packets, outcomes);
        let accepted = Some(packet).filter(|_| offered != Offered::Closed);
        self.note_departures(link, accepted, before);
        if let Offered::FirstInFlight(at) = offered {
            self.queue.push(Event::new(at, Kind::Arrival, link.0, 0));
        }
        if offered == Offered::Closed {
            self.offered_to_closed(node, link, packet);
        }
        self.apply_outcomes(before);
        self.watch(link);
        self.watch_length(link);
    }

    /// Handles the timer of a link. A stale event is ignored.
    #[cold]
    pub(crate) fn link_due(&mut self, link: LinkId, due: Due) {
        if due == Due::Low {
            self.watch_queue(link);
        }
        let (now, outcomes) = (self.now, &mut self.outcomes);
        let before = outcomes.len();
        let packets = &mut self.packets;
        let done = self.links.advance(now, link, due, packets, outcomes);
        if self.probes.is_some() {
            self.note_departures(done.unwrap_or(link), None, before);
            self.watch_frames(link);
        }
        self.apply_outcomes(before);
        if let Some(link) = done {
            self.watch_length(link);
        }
        self.watch(link);
    }

    /// Applies the outcomes from index `from`, and those that are appended while outcomes are
    /// applied.
    fn apply_outcomes(&mut self, from: usize) {
        let mut next = from;
        while let Some(&outcome) = self.outcomes.get(next) {
            next += 1;
            match outcome {
                Outcome::FirstInFlight(link, at) => {
                    self.queue.push(Event::new(at, Kind::Arrival, link.0, 0));
                }
                Outcome::ForwardEarly(link, packet, at) => {
                    self.fast_forward_early(link, packet, at);
                }
                Outcome::Overtakes(link, packet, at) => {
                    self.serial = self.serial.wrapping_add(1);
                    let event = Event::new(at, Kind::Reordered, link.0, self.serial);
                    self.queue.push_with(event, packet.0);
                }
                Outcome::Left(link, packet, at) => self.left(link, packet, at),
                Outcome::Again(_, packet, at) => self.left_again(packet, at),
                Outcome::Arrived(link, packet) => {
                    self.unfollow(packet);
                    self.reached(link, packet);
                }
                Outcome::Copied(of, copy) => {
                    self.note_copied(of, copy);
                    let copy = &self.packets[copy];
                    let flow = copy.flow;
                    self.real.copied += u64::from(flow == FlowId::NONE);
                    if matches!(copy.payload, Payload::Udp(_)) {
                        self.datagram_copied(flow);
                    }
                }
                Outcome::Lost(link, packet, cause, at) => {
                    if matches!(cause, DropCause::Congestion | DropCause::Policy) {
                        self.refused(packet);
                    } else {
                        self.unfollow(packet);
                    }
                    self.lose(link, packet, cause, at);
                }
            }
        }
        self.outcomes.truncate(from);
    }

    /// Schedules the next call of a link at the time requested by the link.
    #[inline]
    pub(crate) fn watch(&mut self, link: LinkId) {
        if let Some((due, at)) = self.links.deadline(link) {
            let (kind, source) = match due {
                Due::Low => (Kind::LowDue, link),
                // The ARQ of both directions is one state machine, which is scheduled as the
                // direction down.
                Due::Arq => (Kind::Arq, LinkId::new(link.link(), Direction::Down)),
            };
            self.queue.push(Event::new(at, kind, source.0, 0));
        }
    }

    /// Prepares the probe of a queue before packets leave the queue.
    fn watch_queue(&mut self, link: LinkId) {
        if let Some(probes) = &mut self.probes
            && self.links.arq(link).is_none()
        {
            probes.departures(link, &self.links[link], self.now);
        }
    }

    /// Adds the departures of all queues to the probes: those before the current time, or with
    /// `inclusive` also those at the current time.
    pub(crate) fn watch_queues(&mut self, inclusive: bool) {
        let Some(probes) = &mut self.probes else {
            return;
        };
        let until = self.now + Interval::from_nanos(inclusive.into());
        for (id, link) in self.links.each() {
            if self.links.arq(id).is_none() {
                probes.departures_before(id, link, until);
            }
        }
        probes.set_departed_before(until);
    }

    /// Passes rows that no later event changes to `sink`, from tables of at least `piece` rows.
    pub(crate) fn drain_probes<E>(
        &mut self,
        piece: usize,
        sink: &mut impl FnMut(Piece) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(probes) = &self.probes else {
            return Ok(());
        };
        let (queue, frames) = probes.delayed_tables_have(piece);
        if queue {
            self.watch_queues(false);
        }
        if frames {
            for link in self.links.ids() {
                self.watch_frames(link);
            }
        }
        let now = self.now;
        let probes = self.probes.as_mut();
        probes.map_or(Ok(()), |probes| probes.drain(piece, now, sink))
    }

    /// Updates the probe of a queue after packets have left the queue.
    pub(super) fn watch_closed(&mut self, link: LinkId) {
        self.watch_length(link);
    }

    /// Adds the frames that a link sent to the probes. Returns whether the link has a protocol.
    fn watch_frames(&mut self, link: LinkId) -> bool {
        let Some(probes) = &mut self.probes else {
            return false;
        };
        self.links
            .drain_frames(link, |frame| probes.frame(link.link(), &frame))
    }

    /// Records the new length of a queue in its probe.
    fn watch_length(&mut self, link: LinkId) {
        let is_plain = !self.watch_frames(link);
        let Some(probes) = &mut self.probes else {
            return;
        };
        if is_plain {
            let (packets, bytes) = self.links[link].queued(self.now);
            probes.queued(self.now, link, packets, bytes);
            return;
        }
        for direction in Direction::BOTH {
            let link = LinkId::new(link.link(), direction);
            if let Some((packets, bytes)) = self.links.window_queue_changed(link) {
                probes.queued(self.now, link, packets, bytes);
            }
        }
    }
}
