//! Graph of a scenario's network, its configured routes, and paths of flows.

use super::{Flows, Nodes};
use crate::decode::{Problem, suggestion};
use crate::expanded::ExpandedLink;
use crate::spec::Scenario;
use crate::tree::Step;
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

/// Configured routes: node, destination, next node.
pub(super) type Routes = Vec<(usize, usize, usize)>;

/// Reads the routes of a scenario.
pub(super) fn routes(scenario: &Scenario, nodes: &Nodes, net: &Net) -> Result<Routes, Problem> {
    let mut out: Routes = Vec::new();
    let mut seen: HashMap<(usize, usize), usize> = HashMap::new();
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
        if let Some(other) = seen.insert((at, to), i) {
            let message = format!("is for the same packets as routes[{other}]; remove one");
            return Err(here(Problem::new([], message)));
        }
        out.push((at, to, via));
    }
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
    let fixed: HashMap<(usize, usize), usize> = routes
        .iter()
        .map(|&(at, to, via)| ((at, to), via))
        .collect();
    for (i, flow) in flows {
        let here = |problem: Problem| problem.within(*i).within("flows");
        let (from, to) = (&nodes.names[flow.from], &nodes.names[flow.to]);
        if islands[flow.from] != islands[flow.to] {
            let message = format!("has no path from {from:?} to {to:?}; add a link");
            return Err(here(Problem::new([], message)));
        }
        if fixed.is_empty() {
            continue;
        }
        for (from, to) in [(flow.from, flow.to), (flow.to, flow.from)] {
            let shortest = net.next_hops(to);
            let mut at = from;
            let mut hops = 0;
            while at != to {
                at = fixed.get(&(at, to)).copied().or(shortest[at]).unwrap_or(to);
                hops += 1;
                if hops > nodes.names.len() {
                    let message = format!(
                        "has routes that go round in a circle: packets from {:?} for {:?} come \
                         back to {:?}",
                        nodes.names[from], nodes.names[to], nodes.names[at]
                    );
                    return Err(here(Problem::new([], message)));
                }
            }
        }
    }
    Ok(())
}
