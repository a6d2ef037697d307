//! Union of the parts of a network at the end of a run, in one world.

use super::part::Part;
use super::plan::{self, Plan};
use crate::app::Side;
use crate::flow::EndId;
use crate::scenario::Expanded;
use crate::world::{FlowCounters, FlowKind, World};
use farlink_channel::DropCause;
use farlink_tcp::Instant;
use farlink_wire::{Direction, FlowId, Id, LinkId};
use std::mem::swap;

/// Joins the parts of a run that has ended at `now`.
pub(super) fn merge(
    parts: Vec<Part>,
    scenario: &Expanded,
    plan: &Plan,
    now: Instant,
) -> Option<World> {
    let events = |part: &Part| part.world.events - part.extra;
    let events = parts.iter().map(events).sum();
    let mut worlds = parts.into_iter().map(|part| part.world);
    let mut world = worlds.next()?;
    let mut others: Vec<_> = worlds.collect();
    (world.events, world.now) = (events, now);
    links(&mut world, &mut others, plan);
    flows(&mut world, &mut others, scenario, plan);
    for other in &mut others {
        let (all, own) = (&mut world.completion, &mut other.completion);
        all.unfinished += own.unfinished;
        all.finished_at = all.finished_at.max(own.finished_at);
        all.lost_later.append(&mut own.lost_later);
    }
    Some(world)
}

/// Takes each direction from the part that sends over it, and adds the drops of the far end.
fn links(world: &mut World, others: &mut [World], plan: &Plan) {
    let parts = |world: &World, id: LinkId| {
        let part = |id: LinkId| plan.part_of[world.links[id].to().index()];
        (part(id.reverse()), part(id))
    };
    for id in world.links.ids() {
        let (from, to) = parts(world, id);
        if let Some(other) = from.checked_sub(1) {
            let theirs = &mut others[other].links;
            world.links.swap_direction(theirs, id);
            if id.direction() == Direction::Down {
                world.links.swap_protocol(theirs, id.link());
            }
        }
        if from != to {
            // The first part's copy of a direction from another part is now in that part.
            let far = to.checked_sub(1).unwrap_or(from.saturating_sub(1));
            world.links.add_far_drops(&others[far].links, id);
        }
    }
}

/// Takes each flow's ends, counters and state from the parts that have them.
fn flows(world: &mut World, others: &mut [World], scenario: &Expanded, plan: &Plan) {
    let order = world.order.clone();
    for (number, kind) in order.into_iter().enumerate() {
        let (to, from) = plan::parts_of(plan, scenario, number);
        match kind {
            FlowKind::Tcp(flow) => tcp_flow(world, others, flow, (to, from)),
            FlowKind::Udp(index) => {
                if let Some(other) = to.checked_sub(1) {
                    swap(&mut world.udp[index], &mut others[other].udp[index]);
                }
            }
            FlowKind::Xtp(index) => {
                if let Some(other) = to.checked_sub(1) {
                    swap(&mut world.xtp[index], &mut others[other].xtp[index]);
                }
            }
            FlowKind::Quic(index) => {
                if let Some(other) = to.checked_sub(1) {
                    swap(&mut world.quic[index], &mut others[other].quic[index]);
                }
            }
        }
    }
    for other in others {
        for (all, own) in world.counters.iter_mut().zip(&other.counters) {
            add_losses(all, own);
        }
    }
}

fn tcp_flow(world: &mut World, others: &mut [World], flow: FlowId, (to, from): (usize, usize)) {
    let [sender, receiver] = EndId::both(flow);
    debug_assert!(sender.side() == Side::From, "the sender is first");
    if let Some(other) = to.checked_sub(1) {
        let other = &mut others[other];
        swap(&mut world.ends[receiver], &mut other.ends[receiver]);
        swap(&mut world.flows[flow], &mut other.flows[flow]);
        swap(&mut world.hot[flow], &mut other.hot[flow]);
        let (all, own) = (&mut world.counters[flow], &mut other.counters[flow]);
        swap(&mut all.transit, &mut own.transit);
    }
    if let Some(other) = from.checked_sub(1) {
        let other = &mut others[other];
        swap(&mut world.ends[sender], &mut other.ends[sender]);
        world.counters[flow].times = other.counters[flow].times.take();
    }
}

/// Adds the losses of a flow in another part.
fn add_losses(all: &mut FlowCounters, own: &FlowCounters) {
    all.back += own.back;
    let lost = own.forward();
    for cause in DropCause::ALL.iter().copied() {
        let count = lost[cause as usize];
        if count > 0 {
            *all.forward_mut(cause) += count;
        }
    }
}
