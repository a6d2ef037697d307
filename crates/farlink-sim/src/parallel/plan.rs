//! Plan of the parts of a network: which nodes are in which part, and the lookahead of the parts.
//!
//! Links with state at both ends join their nodes, as do flows whose ends share state. The
//! lookahead is the least delay of a link between two parts. The plan takes the longest lookahead
//! at which the parts have nearly equal work.

use super::cut::Graph;
use crate::scenario::{App, Expanded};
use crate::world::{FlowKind, World};
use farlink_tcp::Interval;
use farlink_tcp::config::{Eln, FastOpen};
use farlink_wire::{Id, LinkId, NodeId};

/// Work of a packet at a hop and at its endpoint, in units of about 40 ns. ACKs are half as many as
/// segments.
const HOP: (u64, u64) = (2, 1);
const END: u64 = 6;
/// Largest share of the work, in units of a part's fair share, that a part may have for the sake
/// of a longer lookahead.
const UNEVEN: f64 = 1.15;
/// Least speed-up for which parts pay.
pub(super) const LEAST_GAIN: f64 = 1.2;

/// Parts of a network.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Part of each node.
    pub(super) part_of: Vec<usize>,
    /// Number of parts.
    pub(super) parts: usize,
    /// Least delay of a link between parts; the longest time for parts without a link between them.
    pub(super) lookahead: Interval,
    /// Share of the expected work in the part that has most.
    pub(super) largest: f64,
}

/// Returns why a scenario cannot run in parts, if it cannot.
pub(crate) fn obstacle(scenario: &Expanded) -> Option<&'static str> {
    let links = || scenario.links.iter();
    let directions = || links().flat_map(|link| [&link.down, &link.up]);
    let configs = || {
        let flows = scenario.flows.iter();
        flows.flat_map(|flow| [&flow.sender, &flow.receiver])
    };
    let rules = [
        (
            scenario.has_python_classes(),
            "a class in Python runs in it",
        ),
        (!scenario.agents.is_empty(), "it has agents"),
        (!scenario.handoffs.is_empty(), "a host moves"),
        (
            directions().any(|spec| spec.mtu.is_some()),
            "a link has an MTU",
        ),
        (
            scenario.flows.iter().any(|flow| flow.subflow.is_some()),
            "a connection has several paths",
        ),
        (
            configs().any(|config| config.notices.eln == Eln::Oracle),
            "eln = \"oracle\" notifies receivers of losses at once",
        ),
        (
            !scenario.route_changes.is_empty()
                && scenario
                    .flows
                    .iter()
                    .any(|flow| matches!(flow.app, App::Udp(_))),
            "routes change under datagrams",
        ),
    ];
    rules.into_iter().find(|rule| rule.0).map(|rule| rule.1)
}

/// Returns whether the ends of a flow may be in different parts: they share no state but what the
/// parts exchange.
pub(super) fn may_be_apart(scenario: &Expanded, number: usize) -> bool {
    let flow = &scenario.flows[number];
    let configs = [&flow.sender, &flow.receiver];
    configs
        .iter()
        .all(|config| config.fast_open == FastOpen::Off)
        && match flow.app {
            App::Bulk => true,
            App::File { reverse, .. } => reverse == 0 && !is_behind_protocol(scenario, flow.from),
            _ => false,
        }
}

/// Returns whether a link of a node has a link-layer protocol.
fn is_behind_protocol(scenario: &Expanded, node: usize) -> bool {
    let at = |a: usize, b: usize| a == node || b == node;
    let mut links = scenario.links.iter();
    links.any(|link| link.arq.is_some() && at(link.a, link.b))
}

/// Disjoint sets of nodes.
#[derive(Clone, Debug)]
struct Sets(Vec<usize>);

impl Sets {
    fn root(&mut self, node: usize) -> usize {
        let mut at = node;
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    /// Joins two sets under the lower number.
    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}

/// Expected work of a network.
struct Work {
    nodes: Vec<u64>,
    /// Packets over each direction.
    links: Vec<u64>,
}

/// Plans `parts` parts of a network that has not started, for at least this speed-up.
///
/// # Errors
/// Returns the reason why parts do not pay.
pub(super) fn plan(
    world: &World,
    scenario: &Expanded,
    parts: usize,
    least_gain: f64,
) -> Result<Plan, String> {
    let mut sets = Sets((0..world.nodes.len()).collect());
    for id in world.links.ids() {
        let (a, b) = ends_of(world, id);
        if !world.links[id].may_join_parts() || world.links.arq(id).is_some() {
            sets.join(a, b);
        }
    }
    let work = work(world, scenario, &mut sets);
    let delay = |id: LinkId| world.links[id].config().delay;
    let mut delays: Vec<_> = world.links.ids().map(delay).collect();
    delays.sort_unstable();
    delays.dedup();
    let mut best: Option<Plan> = None;
    for &least in delays.iter().rev().take(8).chain(delays.first()) {
        let mut sets = sets.clone();
        for id in world.links.ids().filter(|&id| delay(id) < least) {
            let (a, b) = ends_of(world, id);
            sets.join(a, b);
        }
        let plan = divide(world, &work, &mut sets, parts);
        let is_even = plan.largest * parts as f64 <= UNEVEN;
        if best
            .as_ref()
            .is_none_or(|best| plan.largest < best.largest * 0.95)
        {
            best = Some(plan);
        }
        if is_even {
            break;
        }
    }
    let best = best.filter(|plan| plan.parts > 1);
    let best = best.ok_or("no links with a delay divide it")?;
    if best.largest * least_gain > 1.0 {
        let percent = best.largest * 100.0;
        return Err(format!("one part would have {percent:.0} % of the work"));
    }
    Ok(best)
}

/// Returns the nodes at both ends of a direction.
fn ends_of(world: &World, id: LinkId) -> (usize, usize) {
    let to = |id: LinkId| world.links[id].to().index();
    (to(id.reverse()), to(id))
}

/// Divides the sets of nodes into parts.
fn divide(world: &World, work: &Work, sets: &mut Sets, parts: usize) -> Plan {
    let count = world.nodes.len();
    let roots: Vec<_> = (0..count).map(|node| sets.root(node)).collect();
    let mut cluster_of = vec![usize::MAX; count];
    let mut clusters = 0;
    for node in 0..count {
        if roots[node] == node {
            cluster_of[node] = clusters;
            clusters += 1;
        }
    }
    let cluster = |node: usize| cluster_of[roots[node]];
    let mut graph = Graph::new(clusters);
    for node in 0..count {
        graph.nodes[cluster(node)] += work.nodes[node];
    }
    for id in world.links.ids() {
        let (a, b) = ends_of(world, id);
        graph.join(cluster(a), cluster(b), 1 + work.links[id.index()]);
    }
    let of_cluster = graph.divide(parts);
    let part_of: Vec<_> = (0..count).map(|node| of_cluster[cluster(node)]).collect();
    let mut weights = vec![0; parts];
    for (node, &part) in part_of.iter().enumerate() {
        weights[part] += work.nodes[node];
    }
    let total: u64 = weights.iter().sum();
    let most = weights.iter().max().copied().unwrap_or(0);
    let is_cut = |&id: &LinkId| {
        let (a, b) = ends_of(world, id);
        part_of[a] != part_of[b]
    };
    let delays = world.links.ids().filter(is_cut);
    let lookahead = delays.map(|id| world.links[id].config().delay).min();
    Plan {
        parts,
        lookahead: lookahead.unwrap_or(Interval::from_nanos(u64::MAX / 4)),
        largest: most as f64 / total.max(1) as f64,
        part_of,
    }
}

/// Computes the expected work, and joins the nodes of flows whose ends cannot be apart.
fn work(world: &World, scenario: &Expanded, sets: &mut Sets) -> Work {
    let mut work = Work {
        nodes: vec![0; world.nodes.len()],
        links: vec![0; world.links.ids().len()],
    };
    for (number, flow) in scenario.flows.iter().enumerate() {
        let is_datagrams = matches!(world.order[number], FlowKind::Udp(_));
        if !is_datagrams && !may_be_apart(scenario, number) {
            sets.join(flow.from, flow.to);
        }
        let (from, to) = (NodeId(flow.from as u32), NodeId(flow.to as u32));
        for (from, to, hop) in [(from, to, HOP.0), (to, from, HOP.1)] {
            work.nodes[from.index()] += END;
            let mut at = from;
            // Routes may form a cycle, so the number of steps is limited.
            for _ in 0..world.nodes.len() {
                let link = world.nodes[at].next_hop(to);
                if at == to || !world.links.has(link) {
                    break;
                }
                let next = world.links[link].to();
                // A loss anywhere on the path changes the state of a flow of datagrams.
                if is_datagrams {
                    sets.join(at.index(), next.index());
                }
                work.links[link.index()] += hop;
                work.nodes[next.index()] += hop;
                at = next;
            }
        }
    }
    work
}

/// Returns the part that counts a flow, where its data arrives, and the part that sends its data.
pub(super) fn parts_of(plan: &Plan, scenario: &Expanded, number: usize) -> (usize, usize) {
    let flow = &scenario.flows[number];
    (plan.part_of[flow.to], plan.part_of[flow.from])
}
