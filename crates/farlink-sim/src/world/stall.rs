//! Detection of starved flows: those still unfinished at the end of a run, with data in flight and
//! no arrival for a long time.

use super::{FlowKind, World};
use crate::app::Side;
use crate::flow::EndId;
use crate::log;
use farlink_tcp::{Instant, Interval};
use farlink_wire::{LinkId, NodeId};

/// Numbers of progress checks in a run of maximum duration, with few flows and with many. A check
/// of one flow costs some four cache misses.
const CHECKS: (u64, u64) = (64, 16);
/// Flow visits of all checks together, above which there are fewer checks.
const VISITS: u64 = 64_000;
/// Shortest time without an arrival that is reported.
const SHORTEST: Interval = Interval::from_secs(10);

/// Progress of all flows, checked periodically so that packets cost nothing.
#[derive(Debug)]
pub(crate) struct Watch {
    step: Interval,
    /// Time of the next check.
    pub(crate) next: Instant,
    seen: Vec<Seen>,
}

/// Progress of a flow at the last check.
#[derive(Clone, Copy, Default, Debug)]
struct Seen {
    arrived: u64,
    /// Time of the first check at which the flow had sent something.
    began: Option<Instant>,
    /// Time of the last check that found new arrivals.
    since: Instant,
}

impl Watch {
    pub(crate) fn new(limit: Instant, flows: usize) -> Self {
        let (most, least) = CHECKS;
        let checks = (VISITS / (flows as u64).max(1)).clamp(least, most);
        let step = Interval::from_nanos((limit.as_nanos() / checks).max(1));
        Self {
            step,
            next: Instant::ZERO + step,
            seen: Vec::new(),
        }
    }

    /// Records the progress of all flows, and sets the next check behind `until`, the time of the
    /// next event.
    #[cold]
    #[inline(never)]
    pub(crate) fn record(&mut self, world: &World, until: Instant) {
        self.seen.resize(world.order.len(), Seen::default());
        for (seen, &slot) in self.seen.iter_mut().zip(&world.order) {
            let (arrived, began) = progress(world, slot);
            if began && seen.began.is_none() {
                (seen.began, seen.since) = (Some(world.now), world.now);
            }
            if arrived != seen.arrived {
                (seen.arrived, seen.since) = (arrived, world.now);
            }
        }
        while self.next < until {
            self.next += self.step;
        }
    }

    /// Returns the starved flows of a run that reached its limit: index in the scenario, time of
    /// the last arrival, and the link direction at which it waits.
    pub(crate) fn stalls(&mut self, world: &mut World) -> Vec<(usize, Instant, Option<LinkId>)> {
        let end = world.now;
        self.record(world, end);
        let mut stalls = Vec::new();
        for (place, seen) in self.seen.iter().enumerate() {
            let slot = world.order[place];
            let Some(began) = seen.began else { continue };
            let silence = end.since(seen.since);
            let long = silence >= SHORTEST && silence * 2 >= end.since(began);
            if long && is_under_way(world, slot) {
                log::stall(end, place, seen.since);
                stalls.push((place, seen.since, waits_at(world, slot)));
            }
        }
        stalls
    }
}

impl World {
    /// Flows that starve and wait in front of this direction of a link.
    pub(crate) fn stalled_at(&self, link: LinkId) -> usize {
        let stalls = self.completion.stalls.iter();
        stalls.filter(|stall| stall.2 == Some(link)).count()
    }
}

/// Returns a measure of a flow's arrivals, which grows with each, and whether the flow has begun.
fn progress(world: &World, slot: FlowKind) -> (u64, bool) {
    match slot {
        FlowKind::Tcp(number) => {
            let [from, to] = EndId::both(number).map(|end| &world.ends[end]);
            let began = from.live || to.live;
            // ACKs count as progress too, so that a handshake is one.
            let answers = from.conn.acknowledged() + to.conn.acknowledged();
            (from.received + to.received + answers, began)
        }
        FlowKind::Udp(index) => {
            let flow = &world.udp[index];
            (flow.sink.received, flow.source.sent > 0)
        }
        FlowKind::Xtp(index) => {
            let share = world.xtp[index].share();
            ((share * 1e12) as u64, true)
        }
    }
}

/// Returns whether a flow is unfinished: over TCP with unacknowledged data, over UDP with datagrams
/// that may still arrive.
fn is_under_way(world: &World, slot: FlowKind) -> bool {
    match slot {
        FlowKind::Tcp(number) => {
            let is_open = world.flows[number].done_at.is_none();
            let mut ends = EndId::both(number).into_iter();
            is_open && ends.any(|end| world.ends[end].conn.unacknowledged() > 0)
        }
        FlowKind::Udp(index) => world.udp[index].unsettled() > 0,
        FlowKind::Xtp(index) => !world.xtp[index].done,
    }
}

/// Returns the link direction of a flow's path, either way, at which most packets wait.
fn waits_at(world: &mut World, slot: FlowKind) -> Option<LinkId> {
    let [from, to] = nodes(world, slot);
    let mut most = None;
    for (mut at, to) in [(from, to), (to, from)] {
        // Bounds the loop in case routes form a cycle.
        for _ in 0..world.nodes.len() {
            if at == to || !world.nobody_moves() {
                break;
            }
            let link = world.nodes[at].next_hop(to);
            let (packets, _) = world.links.waiting(link, world.now);
            if packets > 0 && most.is_none_or(|(count, _)| packets > count) {
                most = Some((packets, link));
            }
            at = world.links[link].to();
        }
    }
    most.map(|(_, link)| link)
}

/// Returns the source and destination node of a flow's data.
fn nodes(world: &World, slot: FlowKind) -> [NodeId; 2] {
    match slot {
        FlowKind::Tcp(number) => {
            let [from, to] = [Side::From, Side::To].map(|side| EndId::new(number, side));
            [world.ends[from].node, world.ends[to].node]
        }
        FlowKind::Udp(index) => world.udp[index].nodes(),
        FlowKind::Xtp(index) => world.xtp[index].nodes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_few_flows_64_times_and_many_16_times() {
        let limit = Instant::ZERO + Interval::from_secs(6_400);
        let step = |flows| Watch::new(limit, flows).step;
        assert_eq!(step(0), Interval::from_secs(100));
        assert_eq!(step(1_000), Interval::from_secs(100));
        assert_eq!(step(2_000), Interval::from_secs(200));
        assert_eq!(step(1_000_000), Interval::from_secs(400));
    }
}
