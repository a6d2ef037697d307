//! Graph of a scenario's network, its configured routes, and paths of flows.

use super::{Flows, Nodes};
use crate::decode::{Problem, suggestion};
use crate::expanded::{ExpandedLink, RouteChange, Routes};
use crate::spec::Scenario;
use crate::tree::Step;
use crate::units::Time;
use farlink_tcp::Interval;
use std::collections::HashMap;

/// Graph of nodes and links.
pub(super) struct Net {
    /// Neighbours of each node, in the order of the links.
    neighbours: Vec<Vec<usize>>,
}

impl Net {
    pub(super) fn new(nodes: usize, links: &[ExpandedLink]) -> Self {
        let mut neighbours = vec![Vec::new(); nodes];
        for link in links {
            neighbours[link.a].push(link.b);
            neighbours[link.b].push(link.a);
        }
        Self { neighbours }
    }

    /// Returns the next node on the shortest path from each node to `to`. `None` stands for `to`
    /// itself and for nodes without a path.
    pub(super) fn next_hops(&self, to: usize) -> Vec<Option<usize>> {
        let mut distance = vec![usize::MAX; self.neighbours.len()];
        distance[to] = 0;
        let mut order = vec![to];
        let mut done = 0;
        while let Some(&node) = order.get(done) {
            done += 1;
            for &next in &self.neighbours[node] {
                if distance[next] == usize::MAX {
                    distance[next] = distance[node] + 1;
                    order.push(next);
                }
            }
        }
        (0..distance.len())
            .map(|node| {
                let nearer = |&next: &usize| distance[next] < distance[node];
                self.neighbours[node].iter().copied().find(nearer)
            })
            .collect()
    }

    /// Returns a number for each node. Nodes that are connected by a path have the same number.
    fn islands(&self) -> Vec<usize> {
        let mut island = vec![usize::MAX; self.neighbours.len()];
        for first in 0..island.len() {
            let mut open = vec![first];
            while let Some(node) = open.pop() {
                if island[node] == usize::MAX {
                    island[node] = first;
                    open.extend(&self.neighbours[node]);
                }
            }
        }
        island
    }
}

/// Reads the routes of a scenario.
pub(super) fn routes(scenario: &Scenario, nodes: &Nodes, net: &Net) -> Result<Routes, Problem> {
    let mut out = Routes::default();
    let mut seen: HashMap<(usize, usize, Interval), usize> = HashMap::new();
    for (i, route) in scenario.routes.iter().enumerate() {
        let here = |problem: Problem| problem.within(i).within("routes");
        let at = nodes.find(&route.at, "at").map_err(here)?;
        let to = nodes.find(&route.to, "to").map_err(here)?;
        let via = nodes.find(&route.via, "via").map_err(here)?;
        if at == to {
            let message = format!(
                "= {:?} is where the route begins; name another node",
                route.to
            );
            return Err(here(Problem::new(path!["to"], message)));
        }
        if !net.neighbours[at].contains(&via) {
            let near: Vec<_> = net.neighbours[at]
                .iter()
                .map(|&n| &nodes.names[n])
                .collect();
            let message = format!(
                "= {:?} is not a neighbour of {:?}; {}",
                route.via,
                route.at,
                suggestion(&route.via, &near, "neighbours")
            );
            return Err(here(Problem::new(path!["via"], message)));
        }
        let start = route.start.0;
        if let Some(other) = seen.insert((at, to, start), i) {
            let message = format!(
                "is for the same packets and time as routes[{other}]; remove one, or write another \
                 start"
            );
            return Err(here(Problem::new([], message)));
        }
        if start.is_zero() {
            out.fixed.push((at, to, via));
        } else {
            out.changes.push(RouteChange {
                start,
                at,
                to,
                via,
                entry: i,
            });
        }
    }
    out.changes.sort_by_key(|change| change.start);
    Ok(out)
}

/// Checks that a path exists for each flow, and a path back for its acknowledgments.
pub(super) fn reachable(
    flows: &Flows,
    nodes: &Nodes,
    net: &Net,
    routes: &Routes,
) -> Result<(), Problem> {
    let islands = net.islands();
    for (i, flow) in flows {
        let (from, to) = (&nodes.names[flow.from], &nodes.names[flow.to]);
        if islands[flow.from] != islands[flow.to] {
            let message = format!("has no path from {from:?} to {to:?}; add a link");
            return Err(Problem::new([], message).within(*i).within("flows"));
        }
    }
    if routes.fixed.is_empty() && routes.changes.is_empty() {
        return Ok(());
    }
    let mut walks = Walks::new(routes, nodes, net);
    let mut ways: Vec<(usize, usize, usize)> = Vec::new();
    for (i, flow) in flows {
        ways.extend([(*i, flow.from, flow.to), (*i, flow.to, flow.from)]);
    }
    for &(flow, from, to) in &ways {
        walks.check(flow, from, to, Interval::ZERO)?;
    }
    for changes in routes.changes.chunk_by(|a, b| a.start == b.start) {
        for change in changes {
            walks.next.insert((change.at, change.to), change.via);
        }
        let changed = |to: usize| changes.iter().any(|change| change.to == to);
        for &(flow, from, to) in ways.iter().filter(|way| changed(way.2)) {
            walks.check(flow, from, to, changes[0].start)?;
        }
    }
    Ok(())
}

/// Walks along the routes of one time.
struct Walks<'a> {
    nodes: &'a Nodes,
    net: &'a Net,
    /// Next node of the routes in the scenario, by node and destination.
    next: HashMap<(usize, usize), usize>,
    /// Next nodes on the shortest paths, by destination.
    shortest: HashMap<usize, Vec<Option<usize>>>,
}

impl<'a> Walks<'a> {
    fn new(routes: &Routes, nodes: &'a Nodes, net: &'a Net) -> Self {
        let next = routes.fixed.iter().map(|&(at, to, via)| ((at, to), via));
        Self {
            nodes,
            net,
            next: next.collect(),
            shortest: HashMap::new(),
        }
    }

    /// Refuses a circle on the path of a flow from `start` on.
    fn check(
        &mut self,
        flow: usize,
        from: usize,
        to: usize,
        start: Interval,
    ) -> Result<(), Problem> {
        let net = self.net;
        let shortest = self.shortest.entry(to).or_insert_with(|| net.next_hops(to));
        let names = &self.nodes.names;
        let (mut at, mut hops) = (from, 0);
        while at != to {
            at = self
                .next
                .get(&(at, to))
                .copied()
                .or(shortest[at])
                .unwrap_or(to);
            hops += 1;
            if hops > names.len() {
                let since = if start.is_zero() {
                    String::new()
                } else {
                    format!(" from {} on", Time(start))
                };
                let message = format!(
                    "has routes that go round in a circle{since}: packets from {:?} for {:?} come \
                     back to {:?}",
                    names[from], names[to], names[at]
                );
                return Err(Problem::new([], message).within(flow).within("flows"));
            }
        }
        Ok(())
    }
}
