//! Detection of starved flows. A starved flow is incomplete at the end of a run, with data in
//! flight and no arrival for a long time.

use super::{FlowKind, World};
use crate::app::Side;
use crate::flow::EndId;
use crate::log;
use farlink_tcp::{Instant, Interval};
use farlink_wire::{LinkId, NodeId};

/// Number of progress checks in a run of maximum duration, for few flows and for many. The check of
/// one flow costs about four cache misses.
const CHECKS: (u64, u64) = (64, 16);
/// Limit of the number of flows times the number of checks, above which there are fewer checks.
const VISITS: u64 = 64_000;
/// Shortest time without an arrival that counts as starvation.
const SHORTEST: Interval = Interval::from_secs(10);

/// Progress of all flows. It is checked periodically, so packets cost nothing.
#[derive(Debug)]
pub(crate) struct Watch {
    step: Interval,
    /// Time of the next check.
    pub(crate) next: Instant,
    flows: Vec<FlowProgress>,
}

/// Progress of a flow at the last check.
#[derive(Clone, Copy, Default, Debug)]
struct FlowProgress {
    arrived: u64,
    /// Time of the first check at which the flow had begun.
    began: Option<Instant>,
    /// Time of the last check at which the flow had new arrivals.
    since: Instant,
}

impl Watch {
    pub(crate) fn new(limit: Instant, flows: usize) -> Self {
        let (max, min) = CHECKS;
        let checks = (VISITS / (flows as u64).max(1)).clamp(min, max);
        let step = Interval::from_nanos((limit.as_nanos() / checks).max(1));
        Self {
            step,
            next: Instant::ZERO + step,
            flows: Vec::new(),
        }
    }

    /// Records the progress of all flows, and sets the next check after `until`, the time of the
    /// next event.
    #[cold]
    #[inline(never)]
    pub(crate) fn record(&mut self, world: &World, until: Instant) {
        let of = |flow: usize| measure(world, world.order[flow]);
        self.record_with(world.order.len(), (world.now, until), of);
    }

    /// Records the progress of `count` flows at a time, like [`Self::record`]. `measure` returns a
    /// number that grows with each arrival of a flow, and whether the flow has begun.
    pub(crate) fn record_with(
        &mut self,
        count: usize,
        (now, until): (Instant, Instant),
        measure: impl Fn(usize) -> (u64, bool),
    ) {
        self.flows.resize(count, FlowProgress::default());
        for (flow, progress) in self.flows.iter_mut().enumerate() {
            let (arrived, began) = measure(flow);
            if began && progress.began.is_none() {
                (progress.began, progress.since) = (Some(now), now);
            }
            if arrived != progress.arrived {
                (progress.arrived, progress.since) = (arrived, now);
            }
        }
        while self.next < until {
            self.next += self.step;
        }
    }

    /// Returns the starved flows of a run that reached its time limit. Each has its index in the
    /// scenario, the time of its last arrival, and the link direction with the most waiting
    /// packets.
    pub(crate) fn stalls(&mut self, world: &mut World) -> Vec<(usize, Instant, Option<LinkId>)> {
        let end = world.now;
        self.record(world, end);
        let mut stalls = Vec::new();
        for (place, progress) in self.flows.iter().enumerate() {
            let slot = world.order[place];
            let Some(began) = progress.began else {
                continue;
            };
            let silence = end.since(progress.since);
            let long = silence >= SHORTEST && silence * 2 >= end.since(began);
            if long && is_under_way(world, slot) {
                log::stall(end, place, progress.since);
                stalls.push((place, progress.since, waits_at(world, slot)));
            }
        }
        stalls
    }
}

impl World {
    /// Returns the number of starved flows whose packets wait for this link direction.
    pub(crate) fn stalled_at(&self, link: LinkId) -> usize {
        let stalls = self.completion.stalls.iter();
        stalls.filter(|stall| stall.2 == Some(link)).count()
    }
}

/// Returns a number that grows with each arrival of a flow, and whether the flow has begun.
pub(crate) fn measure(world: &World, slot: FlowKind) -> (u64, bool) {
    match slot {
        FlowKind::Tcp(number) => {
            let [from, to] = EndId::both(number).map(|end| &world.ends[end]);
            let began = from.live || to.live;
            // ACKs count too, so a handshake is progress.
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
        FlowKind::Quic(index) => {
            let flow = &world.quic[index];
            (flow.delivered(0) + flow.delivered(1), flow.has_begun())
        }
    }
}

/// Returns whether a flow is incomplete and has data in flight: over TCP unacknowledged data, over
/// UDP datagrams that may still arrive.
fn is_under_way(world: &World, slot: FlowKind) -> bool {
    match slot {
        FlowKind::Tcp(number) => {
            let is_open = world.flows[number].done_at.is_none();
            let mut ends = EndId::both(number).into_iter();
            is_open && ends.any(|end| world.ends[end].conn.unacknowledged() > 0)
        }
        FlowKind::Udp(index) => world.udp[index].unsettled() > 0,
        FlowKind::Xtp(index) => !world.xtp[index].done,
        FlowKind::Quic(index) => world.quic[index].is_under_way(),
    }
}

/// Returns the link direction of a flow's path, there or back, with the most waiting packets.
fn waits_at(world: &mut World, slot: FlowKind) -> Option<LinkId> {
    let [from, to] = nodes(world, slot);
    let mut max = None;
    for (mut at, to) in [(from, to), (to, from)] {
        // Routes may form a cycle, so the number of steps is limited.
        for _ in 0..world.nodes.len() {
            if at == to || !world.nobody_moves() {
                break;
            }
            let link = world.nodes[at].next_hop(to);
            let (packets, _) = world.links.waiting(link, world.now);
            if packets > 0 && max.is_none_or(|(count, _)| packets > count) {
                max = Some((packets, link));
            }
            at = world.links[link].to();
        }
    }
    max.map(|(_, link)| link)
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
        FlowKind::Quic(index) => world.quic[index].nodes(),
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
