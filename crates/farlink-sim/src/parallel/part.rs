//! A part of a network: a world that handles the events of its own nodes, and mail from and to
//! other parts.
//!
//! Each part has a whole world, in which the nodes, links and ends of other parts stay idle. A link
//! between two parts is in both: its queue and its channel act where its packets leave, and its
//! packets in flight are at the far end.

use super::plan::{self, Plan};
use crate::app::Side;
use crate::event_queue::{Event, Kind};
use crate::flow::{End, EndId, Times};
use crate::scenario::Expanded;
use crate::world::{FlowKind, World};
use farlink_small::Map;
use farlink_tcp::{Instant, Seq};
use farlink_wire::{ById, FlowId, Id, LinkId, Packet, PacketId};

/// Relation of a flow to a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// Both ends are in this part, or neither is.
    Whole,
    /// The data sender is here, and the receiver in this other part.
    Sends(usize),
    /// The data receiver is here, and the sender in this other part.
    Receives(usize),
}

/// Packet that arrives at a node of another part.
#[derive(Debug)]
struct Flight {
    link: LinkId,
    at: Instant,
    packet: Packet,
}

/// First departures of a flow's data, for its transit times.
#[derive(Debug)]
struct Departures {
    flow: FlowId,
    start: Seq,
    pieces: Vec<(Seq, Instant)>,
}

/// Mail from one part to another.
#[derive(Default, Debug)]
pub(super) struct Mail {
    flights: Vec<Flight>,
    departures: Vec<Departures>,
    /// Flows that are complete, and the event that completed them.
    completed: Vec<(FlowId, Event)>,
}

impl Mail {
    /// Returns the time of the first packet.
    fn first(&self) -> Option<Instant> {
        self.flights.iter().map(|flight| flight.at).min()
    }
}

/// Times of a data sender just before an event, from which times before the event follow.
#[derive(Debug)]
struct Snapshot {
    event: Event,
    /// Times at the event, and one nanosecond earlier.
    times: [Times; 2],
}

impl Snapshot {
    /// Returns the times at `at`, since when the sender did not change.
    fn at(&self, at: Instant) -> Times {
        let earlier = self.event.time().since(at).as_nanos();
        let [now, mut before] = self.times;
        let back = |now: &[u64], before: &mut [u64]| {
            for (now, before) in now.iter().zip(before) {
                *before = now - (now - *before) * earlier;
            }
        };
        back(&now.phases, &mut before.phases);
        back(&now.limits, &mut before.limits);
        before
    }
}

/// A part of a network.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) world: World,
    number: usize,
    /// Set for directions that leave the part.
    leaves: Vec<bool>,
    /// Directions that leave the part, and the part at their end.
    outgoing: Vec<(LinkId, usize)>,
    roles: ById<FlowId, Role>,
    /// Number of incomplete files whose sender is here, and their receiver elsewhere.
    files: usize,
    snapshots: Map<FlowId, Vec<Snapshot>>,
    /// Flows that an event of this part completed, and that another part sends.
    completed: Vec<(FlowId, Event)>,
    /// Number of handled events that another part handles too, and counts.
    pub(super) extra: u64,
    /// Number of ends, from the first, whose connections are closed.
    settled: usize,
    /// The last handled event.
    pub(super) last: Event,
    /// Set if the parts may differ from a whole world from now on.
    pub(super) is_broken: bool,
}

impl Part {
    /// Makes a part of a whole world that has not started.
    pub(super) fn new(mut world: World, scenario: &Expanded, plan: &Plan, number: usize) -> Self {
        let mut part = Self {
            number,
            leaves: vec![false; world.links.ids().len()],
            outgoing: Vec::new(),
            roles: world.flows.ids().map(|_| Role::Whole).collect(),
            files: 0,
            snapshots: Map::default(),
            completed: Vec::new(),
            extra: 0,
            settled: 0,
            last: Event::last_at(Instant::ZERO),
            is_broken: false,
            world: {
                world.completion.unfinished = 0;
                world
            },
        };
        part.cut_links(plan);
        part.cut_flows(scenario, plan);
        part.keep_own_events(scenario, plan);
        part
    }

    fn cut_links(&mut self, plan: &Plan) {
        let links = &mut self.world.links;
        for id in links.ids() {
            let part_at = |id: LinkId| plan.part_of[links[id].to().index()];
            let (from, to) = (part_at(id.reverse()), part_at(id));
            if from == to {
                continue;
            }
            links[id].forward_none_early();
            for next in links.ids() {
                if links[next].admits_early_from(id) {
                    links[next].admit_none_early();
                }
            }
            if from == self.number {
                self.leaves[id.index()] = true;
                self.outgoing.push((id, to));
            }
        }
    }

    fn cut_flows(&mut self, scenario: &Expanded, plan: &Plan) {
        for (number, &kind) in self.world.order.iter().enumerate() {
            let (to, from) = plan::parts_of(plan, scenario, number);
            self.world.completion.unfinished += usize::from(to == self.number);
            let FlowKind::Tcp(flow) = kind else {
                continue;
            };
            for (end, part) in EndId::both(flow).into_iter().zip([from, to]) {
                self.world.ends[end].is_remote = part != self.number;
            }
            if from == to {
                continue;
            }
            if from == self.number {
                self.roles[flow] = Role::Sends(to);
                let program = &self.world.flows[flow].program;
                self.files += usize::from(program.file_size().is_some());
            } else if to == self.number {
                self.roles[flow] = Role::Receives(from);
            }
        }
    }

    /// Removes the events of other parts.
    fn keep_own_events(&mut self, scenario: &Expanded, plan: &Plan) {
        let own = self.number;
        let datagrams: Vec<usize> = {
            let mut all: Vec<_> = self.world.order.iter().zip(0_usize..).collect();
            all.retain(|(kind, _)| kind.group() > 0);
            all.sort_by_key(|(kind, number)| (kind.group(), *number));
            all.into_iter().map(|(_, number)| number).collect()
        };
        let tcp = |flow: u32| EndId::both(FlowId(flow)).map(|end| self.world.ends[end].node);
        let is_own = |event: Event| match event.kind() {
            Kind::Start => tcp(event.source())
                .iter()
                .any(|node| plan.part_of[node.index()] == own),
            Kind::Datagram => {
                let number = datagrams[event.source() as usize];
                plan::parts_of(plan, scenario, number).0 == own
            }
            Kind::Arq | Kind::LowDue => {
                let node = self.world.links[LinkId(event.source()).reverse()].to();
                plan.part_of[node.index()] == own
            }
            _ => true,
        };
        let mut queue = std::mem::take(&mut self.world.queue);
        queue.retain(is_own);
        self.world.queue = queue;
    }

    /// Handles all events before `until`.
    pub(super) fn advance(&mut self, until: Instant) {
        while let Some(event) = self.world.next_event() {
            if event.time() >= until {
                break;
            }
            self.step(event);
        }
    }

    /// Handles the next event, `event`.
    #[inline]
    pub(super) fn step(&mut self, event: Event) {
        if event.is_next_arrival() {
            if self.leaves[event.source() as usize] {
                // The packet has left with the mail.
                self.world.queue.pop();
                return;
            }
            if self.files > 0 {
                let link = LinkId(event.source());
                let packet = self.world.links.arrives_after(link, 0);
                self.note_arrival(event, link, packet);
            }
        } else {
            self.note_rare(event);
        }
        self.last = event;
        self.world.handle(event);
        if !self.world.completion.finished_across.is_empty() {
            self.note_finished(event);
        }
    }

    /// Counts events that several parts handle, and takes snapshots before events of a sender.
    #[cold]
    fn note_rare(&mut self, event: Event) {
        match event.kind() {
            Kind::Start | Kind::Stop => {
                let is_second = matches!(self.roles[FlowId(event.source())], Role::Sends(_));
                self.extra += u64::from(is_second);
            }
            Kind::Route => self.extra += u64::from(self.number > 0),
            Kind::Timer if self.files > 0 => {
                let end = EndId::at(event.source());
                if end.side() == Side::From {
                    self.take_snapshot(event, end.flow());
                }
            }
            Kind::Reordered if self.files > 0 => {
                let packet = self.world.queue.peek_detail(event);
                let packet = packet.map(PacketId);
                self.note_arrival(event, LinkId(event.source()), packet);
            }
            _ => {}
        }
    }

    /// Takes a snapshot of the sender at which a packet arrives, if it has one.
    fn note_arrival(&mut self, event: Event, link: LinkId, packet: Option<PacketId>) {
        let Some(packet) = packet else {
            return;
        };
        let label = self.world.packets.label(packet);
        if label.dst == self.world.links[link].to() && self.roles.get(label.flow).is_some() {
            self.take_snapshot(event, label.flow);
        }
    }

    /// Takes a snapshot of a file's sender that has sent all data, if its receiver is elsewhere.
    /// Earlier, the file cannot be completed before the next mail.
    fn take_snapshot(&mut self, event: Event, flow: FlowId) {
        let state = &self.world.flows[flow];
        let Some(size) = state.program.file_size() else {
            return;
        };
        if !matches!(self.roles[flow], Role::Sends(_)) || self.world.hot[flow].ends_pending == 0 {
            return;
        }
        let sender = &self.world.ends[EndId::new(flow, Side::From)];
        let sent = sender.conn.acknowledged() + sender.conn.unacknowledged();
        if sent < size {
            return;
        }
        let (at, from) = (event.time(), state.opened_at);
        let before = Instant::from_nanos(at.as_nanos() - 1);
        let times = [at, before].map(|at| sender.times(from, at));
        let all = self.snapshots.entry(flow).or_default();
        all.push(Snapshot { event, times });
    }

    /// Notes the flows that `event` finished.
    #[cold]
    fn note_finished(&mut self, event: Event) {
        for flow in self.world.completion.finished_across.drain(..) {
            // A sender that gives up would have to tell its receiver at once.
            self.is_broken |= self.world.flows[flow].failed;
            let is_complete = self.world.hot[flow].ends_pending == 0;
            if is_complete && matches!(self.roles[flow], Role::Receives(_)) {
                self.completed.push((flow, event));
            }
        }
    }

    /// Moves all mail of this part to `boxes`, which are by part. Returns the time of the earliest
    /// packet in it.
    pub(super) fn send(&mut self, boxes: &mut [Mail]) -> Option<Instant> {
        for &(link, to) in &self.outgoing {
            let (links, packets) = (&mut self.world.links, &mut self.world.packets);
            let (counters, hot, roles) = (&mut self.world.counters, &self.world.hot, &self.roles);
            links.drain_in_flight(link, |at, number| {
                let label = packets.label(number);
                if label.data
                    && let Some(&Role::Sends(part)) = roles.get(label.flow)
                    && hot[label.flow].sender_opens == label.from_opener
                {
                    let transit = &mut counters[label.flow].transit;
                    let start = transit.start();
                    let pieces = transit.drain_departures();
                    if !pieces.is_empty() {
                        boxes[part].departures.push(Departures {
                            flow: label.flow,
                            start,
                            pieces,
                        });
                    }
                }
                let packet = packets.take(number);
                boxes[to].flights.push(Flight { link, at, packet });
            });
        }
        for (flow, event) in self.completed.drain(..) {
            if let Role::Receives(from) = self.roles[flow] {
                boxes[from].completed.push((flow, event));
            }
        }
        boxes.iter().filter_map(Mail::first).min()
    }

    /// Takes mail from another part.
    pub(super) fn receive(&mut self, mail: &mut Mail) {
        for Departures {
            flow,
            start,
            pieces,
        } in mail.departures.drain(..)
        {
            let transit = &mut self.world.counters[flow].transit;
            transit.add_departures(start, &pieces);
        }
        for Flight { link, at, packet } in mail.flights.drain(..) {
            let number = self.world.packets.insert(packet);
            if self.world.links[link].push_in_flight(number, at) {
                let arrival = Event::new(at, Kind::Arrival, link.0, 0);
                self.world.queue.push(arrival);
            }
        }
        for (flow, event) in mail.completed.drain(..) {
            self.complete(flow, event);
        }
    }

    /// Removes the snapshots, once the mail of the window has come.
    pub(super) fn forget_snapshots(&mut self) {
        if !self.snapshots.is_empty() {
            self.snapshots.clear();
        }
    }

    /// Completes a flow whose receiver got its last data at `event`.
    pub(super) fn complete(&mut self, flow: FlowId, event: Event) {
        let at = event.time();
        let later = self.snapshots.get(&flow);
        let later = later.and_then(|all| all.iter().find(|snapshot| snapshot.event > event));
        let state = &mut self.world.flows[flow];
        let sender = &self.world.ends[EndId::new(flow, Side::From)];
        let times = match later {
            Some(snapshot) => snapshot.at(at),
            None => sender.times(state.opened_at, at),
        };
        self.world.counters[flow].times = Some(Box::new(times));
        state.done_at = Some(at);
        self.world.hot[flow].ends_pending = 0;
        self.files -= 1;
    }

    /// Removes and returns the flows that the last events completed, each with its event and the
    /// part of its sender.
    pub(super) fn drain_completed(&mut self) -> Vec<(usize, FlowId, Event)> {
        let roles = &self.roles;
        let completed = self.completed.drain(..);
        completed
            .filter_map(|(flow, event)| match roles[flow] {
                Role::Receives(from) => Some((from, flow, event)),
                _ => None,
            })
            .collect()
    }

    /// Returns whether all connections of this part are closed; TIME-WAIT is treated as closed.
    pub(super) fn is_settled(&mut self) -> bool {
        let ends = &self.world.ends;
        let is_closed = |end: &End| !end.live || end.over();
        while ends
            .get(EndId::at(self.settled as u32))
            .is_some_and(is_closed)
        {
            self.settled += 1;
        }
        self.settled == ends.len()
    }

    /// Returns the time of the next event, after events whose packets have left with the mail.
    pub(super) fn next_time(&mut self) -> Option<Instant> {
        while let Some(event) = self.world.next_event() {
            if !event.is_next_arrival() || !self.leaves[event.source() as usize] {
                return Some(event.time());
            }
            self.world.queue.pop();
        }
        None
    }
}
