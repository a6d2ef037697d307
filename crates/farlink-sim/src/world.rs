//! The network of a run: nodes, links, endpoints, and the handling of their events.
//!
//! The caller provides the time; no clock is read. [`World::next_event`] returns the next event and
//! [`World::handle`] handles it. There is one event per packet and hop, and one per timer.

mod agents;
#[cfg(test)]
mod balance;
mod endpoint;
mod fast;
mod fast_open;
mod forward;
mod fragments;
mod handoff;
mod icmp;
mod later_routes;
mod loss;
mod losses;
mod mover;
mod multipath;
mod packet_log;
mod passages;
mod placed;
mod quic;
#[cfg(test)]
pub(crate) mod random;
mod real_packets;
mod reassemblies;
mod routing;
pub(crate) mod stall;
pub(crate) mod taps;
mod udp;
mod xtp;

use crate::app::{AppEvent, Command, Side};
use crate::event_queue::{Event, EventQueue, Kind};
use crate::flow::{End, EndId, FlowState, Times};
use crate::multipath::Connections;
use crate::probe::Probes;
use crate::quic::QuicFlow;
use crate::transit::Transit;
use crate::udp::UdpFlow;
use crate::xtp::XtpFlow;
use farlink_channel::DropCause;
use farlink_link::{Due, Links, Outcome};
use farlink_small::Map;
use farlink_tcp::{Dscp, Event as TcpEvent, FastOpenCache, Instant};
use farlink_wire::{
    ById, FlowId, HOST_TTL, Head, Id, Ip, LinkId, NodeId, Packet, PacketId, Packets, Payload,
};
use fast::Prefetch;
pub(crate) use later_routes::LaterRoute;
use losses::LostLater;
use mover::Roaming;
pub(crate) use mover::{Mover, Plan};
use placed::Agents;
pub(crate) use placed::Handing;
pub use real_packets::Balance;
use real_packets::RealPackets;
use reassemblies::Reassemblies;
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct Node {
    /// Outgoing link for each destination; [`LinkId::NONE`] without a route. Empty for a node with
    /// a single link.
    pub(crate) routes: ById<NodeId, LinkId>,
    /// Outgoing link of a node with a single link.
    pub(crate) only: LinkId,
    /// IP identification of the next packet that the node sends.
    pub(crate) ident: u16,
    /// Set if packets that cross the node pass agents.
    pub(crate) has_agents: bool,
}

impl Node {
    /// Returns the IP identification of the node's next packet, and advances the counter.
    #[inline(always)] // called for each segment
    fn next_ident(&mut self) -> u16 {
        let ident = self.ident;
        self.ident = ident.wrapping_add(1);
        ident
    }

    /// Prefetches the outgoing link towards node `to`.
    #[inline]
    pub(crate) fn prefetch_route(&self, to: NodeId) {
        if let Some(link) = self.routes.get(to) {
            farlink_prefetch::whole(link);
        }
    }

    /// Returns the outgoing link towards node `to`.
    #[inline]
    pub(crate) fn next_hop(&self, to: NodeId) -> LinkId {
        match self.routes.get(to) {
            Some(&link) => link,
            None => self.only,
        }
    }
}

/// Transport of a flow, and its index among the flows of that transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FlowKind {
    /// Index among the TCP flows.
    Tcp(FlowId),
    /// Index among the UDP flows.
    Udp(usize),
    /// Index among the XTP flows.
    Xtp(usize),
    /// Index among the QUIC flows.
    Quic(usize),
}

impl FlowKind {
    /// Returns the sort key of the transport. Flow numbers in packets count TCP flows first, then
    /// UDP, then XTP, then QUIC.
    pub(crate) fn group(&self) -> usize {
        match self {
            Self::Tcp(_) => 0,
            Self::Udp(_) => 1,
            Self::Xtp(_) => 2,
            Self::Quic(_) => 3,
        }
    }
}

/// Counters of a flow that only metrics read. The counters that every packet changes are first, in
/// one cache line.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct FlowCounters {
    /// Transit times of data segments.
    pub(crate) transit: Transit,
    /// Number of the data sender's packets that a full queue dropped, the most frequent cause.
    congestion_drops: u64,
    /// Number of the data sender's packets lost for each other cause; `None` before the first.
    forward: Option<Box<LossesByCause>>,
    /// Number of the data receiver's packets that were lost.
    pub(crate) back: u64,
    /// Time of the data sender in each phase and at each limit, set when the measurement ends.
    pub(crate) times: Option<Box<Times>>,
}

type LossesByCause = [u64; DropCause::ALL.len()];

impl FlowCounters {
    /// Returns the number of lost packets of the data sender, by cause.
    pub(crate) fn forward(&self) -> LossesByCause {
        let mut by_cause = self.forward.as_deref().copied().unwrap_or_default();
        by_cause[DropCause::Congestion as usize] = self.congestion_drops;
        by_cause
    }

    /// Returns the counter of the data sender's losses by `cause`.
    pub(crate) fn forward_mut(&mut self, cause: DropCause) -> &mut u64 {
        match cause {
            DropCause::Congestion => &mut self.congestion_drops,
            other => &mut self.forward.get_or_insert_default()[other as usize],
        }
    }
}

/// Relation of a TCP flow to connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// The flow is one connection.
    Single,
    /// The program opens several connections in turn.
    Reopens,
    /// The flow is a subflow of a connection over several paths.
    Subflow,
}

/// Fields of a flow that every packet reads. They are separate from [`FlowState`], so that those of
/// a thousand flows fit into the L1 cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FlowHot {
    /// Set if the data sender sends the SYN.
    pub(crate) sender_opens: bool,
    /// IP version and header length of the flow's packets.
    pub(crate) ip: Ip,
    /// Diffserv codepoint of the flow's packets.
    pub(crate) dscp: Dscp,
    /// Relation of the flow to connections.
    pub(crate) form: Form,
    /// Set if an end joins arriving segments (GRO).
    pub(crate) joins: bool,
    /// Number of ends that still expect data; the flow is complete at 0.
    pub(crate) ends_pending: u8,
}

impl FlowHot {
    /// Returns the header fields of a packet that `end` sends.
    #[inline(always)] // called for each segment
    fn head(self, id: EndId, end: &End, ident: u16) -> Head {
        Head {
            src: end.node,
            dst: end.peer,
            flow: id.flow(),
            from_opener: self.sender_opens == (id.side() == Side::From),
            ident,
            ttl: HOST_TTL,
            ip: self.ip,
            dscp: self.dscp,
        }
    }

    /// Returns the side of the end that sends the SYN.
    pub(crate) fn opener(self) -> Side {
        if self.sender_opens {
            Side::From
        } else {
            Side::To
        }
    }
}

/// State of a run: nodes, links, packets, flows, agents and the event queue.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) queue: EventQueue,
    pub(crate) nodes: ById<NodeId, Node>,
    pub(crate) links: Links,
    pub(crate) packets: Packets,
    /// Outcomes that links have reported during the current event.
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) ends: ById<EndId, End>,
    /// TCP flows. Their numbers in packets come first, followed by UDP, XTP and QUIC flows.
    pub(crate) flows: ById<FlowId, FlowState>,
    /// Fields of each flow that every packet reads.
    pub(crate) hot: ById<FlowId, FlowHot>,
    /// Kind and index of each flow, in the order of the scenario.
    pub(crate) order: Vec<FlowKind>,
    /// UDP flows.
    pub(crate) udp: Vec<UdpFlow>,
    /// XTP flows.
    pub(crate) xtp: Vec<XtpFlow>,
    /// QUIC flows.
    pub(crate) quic: Vec<QuicFlow>,
    /// Counters of each flow, by flow number.
    pub(crate) counters: ById<FlowId, FlowCounters>,
    /// Serial number that orders events of equal kind, time and source.
    pub(crate) serial: u32,
    pub(crate) probes: Option<Box<Probes>>,
    pub(crate) events: u64,
    pub(crate) completion: Completion,
    pub(crate) prefetch: Prefetch,
    /// Set if no plain packet can travel more links than its TTL, and nothing reads the TTL. Routers
    /// then leave the TTL, because it is in memory that a router needs for nothing else.
    pub(crate) is_loop_free: bool,
    pub(crate) reassemblies: Reassemblies,
    pub(crate) hosts: Hosts,
    pub(crate) real: RealPackets,
    pub(crate) agents: Agents,
    pub(crate) roaming: Roaming,
}

/// Unfinished and starved flows of a run, and losses near its end.
#[derive(Default, Debug)]
pub(crate) struct Completion {
    /// Number of flows that are not complete.
    pub(crate) unfinished: usize,
    /// Time at which the most recent flow finished.
    pub(crate) finished_at: Instant,
    /// Starved flows. Each has its index in the scenario, the time of its last arrival, and the
    /// link direction of its path with the most waiting packets.
    pub(crate) stalls: Vec<(usize, Instant, Option<LinkId>)>,
    /// Losses that are already counted but may be after the end of the run.
    pub(crate) lost_later: VecDeque<LostLater>,
    /// Flows that finished since the last check, and of which another part has an end.
    pub(crate) finished_across: Vec<FlowId>,
}

impl Completion {
    /// Records that one more flow finished at `now`.
    fn flow_done(&mut self, now: Instant) {
        self.unfinished -= 1;
        self.finished_at = now;
    }
}

/// State of hosts beside their connections: connections over several paths, and per-destination
/// caches.
#[derive(Default, Debug)]
pub(crate) struct Hosts {
    /// Path MTUs in bytes of senders of IPv6 datagrams, by source and destination.
    path_mtus: Map<(NodeId, NodeId), u32>,
    /// TCP Fast Open cookies and MSS (RFC 7413, 4.1.3), by client and server.
    cookies: Map<(NodeId, NodeId), FastOpenCache>,
    /// Connections over several paths, whose subflows are TCP flows.
    pub(crate) multipath: Connections,
}

impl World {
    pub(crate) fn new(nodes: ById<NodeId, Node>, links: Links) -> Self {
        Self {
            now: Instant::ZERO,
            queue: EventQueue::default(),
            nodes,
            links,
            packets: Packets::default(),
            outcomes: Vec::new(),
            ends: ById::default(),
            flows: ById::default(),
            hot: ById::default(),
            order: Vec::new(),
            udp: Vec::new(),
            xtp: Vec::new(),
            quic: Vec::new(),
            counters: ById::default(),
            serial: 0,
            probes: None,
            events: 0,
            completion: Completion::default(),
            prefetch: Prefetch::default(),
            is_loop_free: false,
            reassemblies: Reassemblies::default(),
            hosts: Hosts::default(),
            real: RealPackets::default(),
            agents: Agents::default(),
            roaming: Roaming::default(),
        }
    }

    /// Returns the next event, and leaves it in the queue.
    #[inline]
    pub(crate) fn next_event(&self) -> Option<Event> {
        self.queue.peek()
    }

    /// Returns the time of the next event.
    #[inline]
    pub(crate) fn next_time(&self) -> Option<Instant> {
        self.queue.peek().map(|event| event.time())
    }

    /// Handles the next event. Returns whether there was one.
    #[cfg(test)]
    pub(crate) fn step(&mut self) -> bool {
        let Some(event) = self.next_event() else {
            return false;
        };
        self.handle(event);
        true
    }

    /// Handles `event`, which [`Self::next_event`] returned.
    #[inline(always)] // Half of all events are single arrivals.
    pub(crate) fn handle(&mut self, event: Event) {
        debug_assert!(self.next_event() == Some(event), "it is not the next");
        debug_assert!(event.time() >= self.now, "time goes back");
        self.now = event.time();
        self.events += 1;
        if event.is_next_arrival() {
            self.arrival(LinkId(event.source()));
        } else {
            self.handle_rare(event);
        }
    }

    /// Handles all events except in-order arrivals of packets.
    #[inline(never)] // Keeps rare cases out of the inlined path of most packets.
    fn handle_rare(&mut self, event: Event) {
        self.queue.pop();
        match event.kind() {
            Kind::Arrival => {
                let packet = PacketId(self.queue.detail(event));
                self.fast_refused_early(LinkId(event.source()), packet);
            }
            Kind::Reordered => {
                let packet = PacketId(self.queue.detail(event));
                self.reached(LinkId(event.source()), packet);
            }
            Kind::Timer => {
                self.timer(EndId::at(event.source()));
            }
            Kind::Start => {
                self.start(FlowId(event.source()));
            }
            Kind::Stop => {
                self.stop(FlowId(event.source()));
            }
            Kind::Wake => {
                self.wake(FlowId(event.source()));
            }
            Kind::Datagram => {
                self.datagram_due(event.source() as usize);
            }
            Kind::Notice => {
                let packet = PacketId(self.queue.detail(event));
                self.notice(EndId::at(event.source()), packet);
            }
            Kind::LowDue => {
                self.link_due(LinkId(event.source()), Due::Low);
            }
            Kind::Arq => {
                self.link_due(LinkId(event.source()), Due::Arq);
            }
            Kind::PathMtu => {
                let bytes = self.queue.detail(event);
                self.path_mtu(EndId::at(event.source()), bytes);
            }
            Kind::Reassembly => {
                self.give_up_partial();
            }
            Kind::Agent => {
                self.agent_due(event.source() as usize);
            }
            Kind::Switch => {
                let on = self.queue.detail(event) != 0;
                self.switch_agent(event.source() as usize, on);
            }
            Kind::Handoff => {
                self.handoff_due(event.source() as usize, event.counter());
            }
            Kind::Route => {
                self.routes_due();
            }
        }
    }

    /// Handles the arrival of the first packet in flight on a link.
    #[inline(always)] // Half of all events are single arrivals.
    fn arrival(&mut self, link: LinkId) {
        let Some(arrival) = self.links.arrive(link) else {
            return;
        };
        if arrival.many {
            self.fast_prefetch(link);
        }
        let next = arrival
            .next
            .map(|at| Event::new(at, Kind::Arrival, link.0, 0));
        if self.prefetch.by_hop {
            self.fast_next_arrival(next);
        } else {
            match next {
                Some(next) => self.queue.replace_arrival(next),
                None => self.queue.pop(),
            }
        }
        if arrival.is_unchanged {
            self.at_node(arrival.to, link, arrival.packet);
        } else {
            self.reached(link, arrival.packet);
        }
    }

    /// Handles a packet that has reached the far end of a link.
    #[inline(never)] // Keeps rare cases out of the inlined path of most packets.
    pub(crate) fn reached(&mut self, link: LinkId, number: PacketId) {
        let restored = self
            .links
            .restore(self.now, link, number, &mut self.packets);
        match restored {
            Ok(()) => self.at_node(self.links[link].to(), link, number),
            Err(cause) => self.cut_off(link, number, cause),
        }
    }

    /// Handles a packet at a node: passes it to agents, delivers it or forwards it.
    #[inline(always)] // like `arrival`
    fn at_node(&mut self, node: NodeId, link: LinkId, number: PacketId) {
        let label = self.packets.label(number);
        let goes_on = label.dst != node;
        // Fast path for arriving segments of runs without traces. Traced runs use the general path
        // below and have the same results (`tests/whole_runs.rs`).
        if !goes_on && label.plain && self.probes.is_none() {
            self.process_segment(number, label.flow, label.from_opener);
            return;
        }
        if goes_on && label.plain && self.is_loop_free {
            if !self.route_packet(node, number, label) {
                self.no_route(node, link, number);
            }
            return;
        }
        let packet = self.packets.get_mut(number);
        if let Some(probes) = &mut self.probes {
            probes.delivery(self.now, link, packet);
            if let Some(log) = &mut probes.packets {
                log.arrived(number, self.now);
            }
        }
        if goes_on {
            packet.ttl -= 1;
            if packet.ttl == 0 {
                self.expired(node, link, number);
                return;
            }
            if let Payload::Raw(raw) = &mut packet.payload {
                raw.set_ttl(packet.ttl);
            }
            if self.nodes[node].has_agents {
                self.cross(node, link, number);
                return;
            }
            if !self.route_packet(node, number, label) {
                self.no_route(node, link, number);
            }
            return;
        }
        if let Some(probes) = &mut self.probes {
            probes.capture(self.now, node, packet);
        }
        if packet.flow == FlowId::NONE {
            self.at_program(node, link, number);
            return;
        }
        if self.probes.is_some() {
            self.pass_end(number, false);
        }
        let packet = &self.packets[number];
        if packet.piece.is_some() {
            self.reassemble(link, number);
        } else {
            self.delivered(link, number);
        }
    }

    /// Delivers a complete packet to the flow at its destination host.
    #[inline]
    pub(crate) fn delivered(&mut self, link: LinkId, number: PacketId) {
        let packet = &self.packets[number];
        if packet.corrupt {
            self.damaged(number);
            self.lose_beyond(link, number, DropCause::Checksum);
            return;
        }
        match &packet.payload {
            Payload::Tcp(_) => self.on_segment(number, packet.flow, packet.from_opener),
            Payload::Udp(_) => self.datagram_arrived(number),
            Payload::Raw(_) => {
                let sender_opens = self.hot[packet.flow].sender_opens;
                self.on_icmp(sending_end(packet, sender_opens).other(), number);
            }
        }
    }

    fn start(&mut self, flow: FlowId) {
        let state = &mut self.flows[flow];
        state.opened_at = self.now;
        if let Some(at) = state.stops_after.map(|d| self.now + d) {
            self.queue.push(Event::new(at, Kind::Stop, flow.0, 0));
        }
        for end in EndId::both(flow) {
            let end = &mut self.ends[end];
            end.live = !end.is_remote;
        }
        let mut commands = Vec::new();
        self.flows[flow].program.start(self.now, &mut commands);
        self.perform(flow, &commands);
        self.open_fast(flow);
        self.serve_both(flow);
    }

    /// Serves both ends of a new connection. The opener is first, because it starts the
    /// connection's clocks.
    fn serve_both(&mut self, flow: FlowId) {
        let opener = EndId::new(flow, self.hot[flow].opener());
        self.serve(opener);
        self.serve(opener.other());
    }

    /// Handles a wake-up of an application. A stale event, whose time is not `wakes_at`, is
    /// ignored.
    fn wake(&mut self, flow: FlowId) {
        let state = &mut self.flows[flow];
        if state.wakes_at != self.now || state.done_at.is_some() {
            return;
        }
        state.wakes_at = Instant::MAX;
        self.notify(flow, Side::To, AppEvent::Woken);
        self.open_next(flow);
        for end in EndId::both(flow) {
            self.serve(end);
        }
    }

    /// Stops a flow at the end of its configured duration, even if its transfer is incomplete.
    fn stop(&mut self, flow: FlowId) {
        if self.hot[flow].form == Form::Subflow {
            self.stop_subflows(flow);
            return;
        }
        self.finish(flow);
        for end in EndId::both(flow) {
            self.ends[end].live = false;
        }
    }

    /// Ends the measurement of a flow at the current time.
    fn finish(&mut self, flow: FlowId) {
        let state = &mut self.flows[flow];
        if state.done_at.is_none() {
            state.done_at = Some(self.now);
            let from = state.opened_at;
            let sender = &self.ends[EndId::new(flow, Side::From)];
            self.counters[flow].times = Some(Box::new(sender.times(from, self.now)));
            let is_remote = EndId::both(flow).map(|end| self.ends[end].is_remote);
            if is_remote != [false; 2] {
                self.completion.finished_across.push(flow);
            }
            // The part of the receiving end counts the flow.
            if !is_remote[1] {
                self.completion.flow_done(self.now);
            }
        }
    }

    #[cold]
    fn happened(&mut self, end: EndId, event: TcpEvent) {
        if event == TcpEvent::Established && self.opened(end) {
            return;
        }
        if self.hot[end.flow()].form == Form::Subflow {
            self.subflow_event(end, event);
            return;
        }
        let event = match event {
            TcpEvent::Established => AppEvent::Established,
            TcpEvent::PeerClosed => AppEvent::PeerClosed,
            TcpEvent::Closed(reason) => AppEvent::Closed(reason),
        };
        self.notify(end.flow(), end.side(), event);
        self.open_next(end.flow());
    }

    /// Passes an event to a flow's application, and executes the commands that the application
    /// returns.
    #[cold]
    pub(crate) fn notify(&mut self, flow: FlowId, side: Side, event: AppEvent) {
        let mut commands = Vec::new();
        self.flows[flow]
            .program
            .on_event(self.now, side, event, &mut commands);
        self.perform(flow, &commands);
    }

    fn perform(&mut self, flow: FlowId, commands: &[Command]) {
        let now = self.now;
        for &command in commands {
            let state = &mut self.flows[flow];
            match command {
                Command::Write(side, len) => self.ends[EndId::new(flow, side)].write(now, len),
                Command::Await(side, total) => self.ends[EndId::new(flow, side)].awaits = total,
                Command::Close(side) => self.ends[EndId::new(flow, side)].close(now, true),
                Command::Leave(side) => self.ends[EndId::new(flow, side)].close(now, false),
                Command::Open => {
                    if let Some(opening) = &mut state.opening {
                        opening.wanted = true;
                    }
                }
                Command::Wake(at) => {
                    state.wakes_at = at;
                    self.queue.push(Event::new(at, Kind::Wake, flow.0, 0));
                }
                Command::Responded(after) => {
                    state.responses += 1;
                    state.response_sum = state.response_sum + after;
                    let times = state.response_times.get_or_insert_default();
                    times.add(after.as_nanos());
                }
                Command::Complete(side) => {
                    self.ends[EndId::new(flow, side)].complete_at = self.now;
                    self.hot[flow].ends_pending -= 1;
                }
                Command::Fail => {
                    if self.hot[flow].ends_pending > 0 {
                        state.failed = true;
                        self.finish(flow);
                    }
                }
            }
        }
    }

    /// Opens the next connection of a flow if the application has requested one and the previous
    /// connection has ended at both ends.
    fn open_next(&mut self, flow: FlowId) {
        let ends = EndId::both(flow);
        let state = &mut self.flows[flow];
        let opener = self.hot[flow].opener();
        let Some(opening) = &mut state.opening else {
            return;
        };
        if !opening.wanted
            || state.done_at.is_some()
            || !ends.iter().all(|&end| self.ends[end].over())
        {
            return;
        }
        for (end, (mut conn, isn)) in ends.into_iter().zip(opening.next()) {
            if self.probes.is_some() {
                conn.set_tracing(true);
                self.drain_trace(end);
            }
            self.ends[end].renew(conn, isn);
        }
        self.counters[flow].transit.renew();
        self.notify(flow, opener, AppEvent::Opened);
        self.open_fast(flow);
        self.serve_both(flow);
    }
}

/// Returns the end that sent a packet. `sender_opens` is set if the data sender sent the SYN.
#[inline]
pub(crate) fn sending_end(packet: &Packet, sender_opens: bool) -> EndId {
    end_of(packet.flow, packet.from_opener, sender_opens)
}

#[inline]
fn end_of(flow: FlowId, from_opener: bool, sender_opens: bool) -> EndId {
    let side = if from_opener == sender_opens {
        Side::From
    } else {
        Side::To
    };
    EndId::new(flow, side)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counters that every segment changes take one cache line, all counters of a flow two.
    #[test]
    fn hot_flow_structs_keep_their_sizes() {
        assert_eq!((size_of::<Transit>(), align_of::<Transit>()), (64, 64));
        assert_eq!(size_of::<FlowCounters>(), 128);
        assert_eq!(size_of::<FlowHot>(), 6);
        assert_eq!((size_of::<End>(), align_of::<End>()), (960, 64));
        assert_eq!(std::mem::offset_of!(End, conn), 48);
    }
}
