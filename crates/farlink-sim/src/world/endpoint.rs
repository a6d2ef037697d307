//! TCP endpoints in the event loop: arriving segments, calls of applications, and departing
//! segments.

use super::fast::fast_offer;
use super::{Form, World, end_of, multipath};
use crate::app::{AppEvent, Side};
use crate::event_queue::{Event, Kind};
use crate::flow::{End, EndId, placed};
use farlink_tcp::{BurstBudget, Instant};
use farlink_wire::{FlowId, Id, PacketId};

impl World {
    /// Passes an arriving segment to its endpoint.
    #[inline(never)] // Most segments take an inlined copy instead.
    pub(super) fn on_segment(&mut self, number: PacketId, flow: FlowId, from_opener: bool) {
        self.process_segment(number, flow, from_opener);
    }

    #[inline(always)] // Called for each arriving segment.
    pub(super) fn process_segment(&mut self, number: PacketId, flow: FlowId, from_opener: bool) {
        let hot = self.hot[flow];
        if hot.form != Form::Single && self.special_segment(number, flow) {
            return;
        }
        let packet = &self.packets[number];
        let Some(segment) = packet.tcp() else {
            return;
        };
        let end = end_of(flow, from_opener, hot.sender_opens).other();
        if hot.joins {
            self.process_joining(number, end);
            return;
        }
        let mut receiver = &mut self.ends[end];
        let mut fresh = false;
        if receiver.live {
            let before = receiver.conn.segments_fresh();
            receiver.conn.on_segment(self.now, segment);
            fresh = receiver.conn.segments_fresh() != before;
            if fresh && end.side() == Side::To {
                let (mut seq, len) = (segment.data_seq(), segment.body.len());
                if !self.agents.all.is_empty() {
                    // A split agent may translate sequence numbers between the halves of a
                    // connection, so the position is computed from the receiver's half.
                    let place = receiver.conn.received_position(seq).unwrap_or_default();
                    seq = self.ends[end.other()].isn.at(place);
                    receiver = &mut self.ends[end];
                }
                let transit = &mut self.counters[flow].transit;
                transit.arrived(seq, len, self.now);
            }
        }
        self.packets.release(number);
        if fresh && receiver.reads() {
            self.received_awaited(end);
        } else if receiver.is_idle() && self.probes.is_none() {
            // Nothing is due to be sent. With delayed ACKs, this is so for every second segment.
            return;
        }
        self.transmit_all(end);
    }

    /// Passes an arriving segment to an end of a flow that joins segments.
    #[cold]
    #[inline(never)]
    fn process_joining(&mut self, number: PacketId, end: EndId) {
        let receiver = &mut self.ends[end];
        if let (true, Some(segment)) = (receiver.live, self.packets[number].tcp()) {
            receiver.conn.on_segment(self.now, segment);
        }
        self.packets.release(number);
        self.count_joined(end);
        self.serve(end);
    }

    /// Counts the new data that an end has joined.
    #[cold]
    #[inline(never)]
    fn count_joined(&mut self, end: EndId) {
        let joined = self.ends[end].conn.drain_joined();
        if end.side() != Side::To {
            return;
        }
        for (seq, len) in joined {
            let place = self.ends[end].conn.received_position(seq);
            let seq = self.ends[end.other()].isn.at(place.unwrap_or_default());
            let transit = &mut self.counters[end.flow()].transit;
            transit.arrived(seq, len, self.now);
        }
    }

    /// Handles the timer of an endpoint. A stale event, whose time is not `scheduled`, is ignored.
    #[inline]
    pub(super) fn timer(&mut self, end: EndId) {
        let e = &mut self.ends[end];
        if e.scheduled != self.now || !e.live {
            return;
        }
        e.scheduled = Instant::MAX;
        if e.conn.next_timeout().is_some_and(|at| at <= self.now) {
            e.conn.on_timeout(self.now);
            if e.conn.joins_segments() {
                self.count_joined(end);
            }
        }
        self.serve(end);
    }

    /// Lets the application and the endpoint of `end` react to the last event: read, write, send
    /// segments, and set the timer.
    #[inline]
    pub(crate) fn serve(&mut self, end: EndId) {
        if self.hot[end.flow()].form == Form::Subflow {
            self.serve_subflow(end);
        } else {
            self.serve_alone(end);
        }
    }

    /// Lets one endpoint and its application react to the last event.
    #[inline(never)] // like `on_segment`
    pub(super) fn serve_alone(&mut self, end: EndId) {
        let e = &mut self.ends[end];
        if e.live && e.reads() {
            self.received_awaited(end);
        }
        self.transmit_all(end);
    }

    /// Notifies an application that the number of bytes which it awaits has arrived.
    #[cold]
    fn received_awaited(&mut self, end: EndId) {
        let e = &mut self.ends[end];
        e.awaits = u64::MAX;
        let event = AppEvent::Received(e.received);
        self.notify(end.flow(), end.side(), event);
    }

    /// Sends all segments that an end may send now, and sets its timer. Reads no data.
    #[inline(always)] // Called for each arriving segment.
    fn transmit_all(&mut self, end: EndId) {
        let mut e = &mut self.ends[end];
        if !e.live {
            return;
        }
        let now = self.now;
        if e.waits_to_write() {
            e.write_on(now);
        }
        let mut hot = self.hot[end.flow()];
        let mut burst = BurstBudget::default();
        loop {
            if !e.conn.is_idle() {
                let mut draft = self.packets.draft();
                let segment = draft.segment();
                if e.conn.transmit_into(now, &mut burst, segment) {
                    let from_sender = end.side() == Side::From;
                    if from_sender && !segment.body.is_empty() {
                        let transit = &mut self.counters[end.flow()].transit;
                        transit.sent(segment.data_seq(), segment.body.len(), now);
                    }
                    if hot.form == Form::Subflow {
                        multipath::add_option(&self.hosts.multipath, end, e, segment);
                    }
                    let (node, home) = (e.node, &mut self.nodes[e.node]);
                    let link = home.next_hop(e.peer);
                    let head = hot.head(end, e, home.next_ident());
                    let (number, label) = draft.send(head);
                    if self.probes.is_some() || !self.links.has(link) {
                        self.departs_watched(end, number);
                    } else {
                        let (links, packets) = (&mut self.links, &mut self.packets);
                        let (outcomes, queue) = (&mut self.outcomes, &mut self.queue);
                        let packet = (number, label);
                        let offered =
                            fast_offer(now, link, packet, links, packets, outcomes, queue);
                        let Some((offered, before)) = offered else {
                            continue;
                        };
                        self.offered(node, link, number, offered, before);
                    }
                    // Agents and applications may have changed the end.
                    e = &mut self.ends[end];
                    hot = self.hot[end.flow()];
                    burst = BurstBudget::default();
                    continue;
                }
            }
            let Some(event) = e.conn.poll_event() else {
                break;
            };
            self.happened(end, event);
            e = &mut self.ends[end];
            hot = self.hot[end.flow()];
            burst = BurstBudget::default();
        }
        if self.probes.is_some() {
            self.drain_trace(end);
            e = &mut self.ends[end];
        }
        if let Some(due) = e.conn.timeout_before(e.scheduled) {
            e.scheduled = due;
            let timer = Event::new(due.max(now), Kind::Timer, end.number(), 0);
            self.queue.push(timer);
        }
        if hot.ends_pending == 0 {
            self.finish(end.flow());
        }
    }

    /// Sends a segment of an endpoint if probes are on, or if its route is unknown.
    #[cold]
    fn departs_watched(&mut self, end: EndId, number: PacketId) {
        let (node, reason) = (self.ends[end].node, self.ends[end].conn.explanation());
        self.note_made(number, reason);
        if let Some(probes) = &mut self.probes {
            probes.capture(self.now, node, &self.packets[number]);
            self.pass_end(number, true);
        }
        self.forward(node, number);
    }

    /// Moves the trace records of an endpoint to the probes.
    #[cold]
    pub(super) fn drain_trace(&mut self, end: EndId) {
        let (End { conn, past, .. }, probes) = (&mut self.ends[end], &mut self.probes);
        let records = conn.drain_records();
        if let Some(probes) = probes {
            records.for_each(|(time, record)| {
                probes.record(end, time, &placed(past.as_deref(), record));
            });
        }
    }
}
