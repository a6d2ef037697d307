//! Builds nodes and their routes: the paths with the fewest links.

use crate::monitor::{Monitor, RunError};
use crate::scenario::{Expanded, RouteChange};
use crate::world::{LaterRoute, Node};
use farlink_link::Links;
use farlink_tcp::Instant;
use farlink_wire::{ById, Direction, Id, LinkId, NodeId};

/// Builds nodes with a route to every end of a flow, or to every node if `everywhere` is set.
///
/// A packet to a node with a single link arrives through the node's neighbour. The routes to such a
/// node equal those to its neighbour, except for the last hop. Paths are therefore only searched
/// between nodes with several links, so hosts cost no search.
pub(crate) fn nodes(
    scenario: &Expanded,
    links: &Links,
    everywhere: bool,
    monitor: &Monitor,
) -> Result<ById<NodeId, Node>, RunError> {
    let graph = Graph::new(scenario, links);
    let mut nodes = graph.nodes();
    let mut wanted = vec![everywhere; scenario.nodes.len()];
    for flow in &scenario.flows {
        wanted[flow.from] = true;
        wanted[flow.to] = true;
    }
    let mut search = Search::new(&graph);
    for (gate, behind) in graph.behind_gates(&wanted).iter().enumerate() {
        if behind.is_empty() || !graph.is_router(gate) {
            continue;
        }
        monitor.stopped()?;
        search.run(gate);
        for &at in &search.list[1..] {
            let link = search.next_hop(at);
            let routes = &mut nodes[NodeId(at as u32)].routes;
            for &to in behind {
                routes[NodeId(to as u32)] = link;
            }
        }
        let routes = &mut nodes[NodeId(gate as u32)].routes;
        for &to in behind.iter().filter(|&&to| to != gate) {
            // The last hop is the single link of the destination, in the reverse direction.
            let last = graph.leaving[to].first();
            routes[NodeId(to as u32)] = last.map_or(LinkId::NONE, |link| link.reverse());
        }
    }
    for &(at, to, via) in &scenario.routes {
        let link = graph.link(scenario, at, via)?;
        let routes = &mut nodes[NodeId(at as u32)].routes;
        if let Some(route) = routes.get_mut(NodeId(to as u32)) {
            *route = link;
        }
    }
    Ok(nodes)
}

/// Returns the routes that begin during the run.
pub(crate) fn later(scenario: &Expanded, links: &Links) -> Result<Vec<LaterRoute>, RunError> {
    if scenario.route_changes.is_empty() {
        return Ok(Vec::new());
    }
    let graph = Graph::new(scenario, links);
    let route = |change: &RouteChange| {
        Ok(LaterRoute {
            start: Instant::ZERO + change.start,
            at: NodeId(change.at as u32),
            to: NodeId(change.to as u32),
            link: graph.link(scenario, change.at, change.via)?,
        })
    };
    scenario.route_changes.iter().map(route).collect()
}

/// Nodes and links as a graph.
struct Graph<'a> {
    links: &'a Links,
    /// Links by the node that they leave, in the order of the scenario.
    leaving: Vec<Vec<LinkId>>,
}

impl<'a> Graph<'a> {
    fn new(scenario: &Expanded, links: &'a Links) -> Self {
        let mut leaving = vec![Vec::new(); scenario.nodes.len()];
        for (i, link) in (0..).zip(&scenario.links) {
            leaving[link.a].push(LinkId::new(i, Direction::Down));
            leaving[link.b].push(LinkId::new(i, Direction::Up));
        }
        Self { links, leaving }
    }

    /// Returns the first link from a node to its neighbour `via`.
    fn link(&self, scenario: &Expanded, at: usize, via: usize) -> Result<LinkId, RunError> {
        let mut there = self.leaving[at].iter();
        let link = there.find(|&&link| self.far_end(link) == via);
        link.copied().ok_or_else(|| {
            let (at, via) = (&scenario.nodes[at], &scenario.nodes[via]);
            RunError::Build(format!("no link from {at} to {via}"))
        })
    }

    fn far_end(&self, link: LinkId) -> usize {
        self.links[link].to().index()
    }

    fn is_router(&self, at: usize) -> bool {
        self.leaving[at].len() > 1
    }

    /// Builds the nodes. A node with several links gets an empty routing table.
    fn nodes(&self) -> ById<NodeId, Node> {
        let node = |out: &Vec<LinkId>| Node {
            routes: if out.len() > 1 {
                vec![LinkId::NONE; self.leaving.len()].into()
            } else {
                ById::default()
            },
            only: match out[..] {
                [only] => only,
                _ => LinkId::NONE,
            },
            ident: 0,
            has_agents: false,
        };
        self.leaving.iter().map(node).collect()
    }

    /// Groups the wanted destinations by node. A destination with several links forms a group of
    /// its own. A destination with one link is in the group of its neighbour.
    fn behind_gates(&self, wanted: &[bool]) -> Vec<Vec<usize>> {
        let mut behind = vec![Vec::new(); wanted.len()];
        for to in (0..wanted.len()).filter(|&to| wanted[to]) {
            match self.leaving[to][..] {
                [only] => behind[self.far_end(only)].push(to),
                _ => behind[to].push(to),
            }
        }
        behind
    }
}

/// Breadth-first search from one node to all others with several links.
struct Search<'a> {
    graph: &'a Graph<'a>,
    /// Number of links from each node to the start; `u32::MAX` if the node is not found.
    distance: Vec<u32>,
    /// Found nodes, in order of distance.
    list: Vec<usize>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph<'a>) -> Self {
        Self {
            graph,
            distance: vec![u32::MAX; graph.leaving.len()],
            list: Vec::new(),
        }
    }

    fn run(&mut self, start: usize) {
        for at in self.list.drain(..) {
            self.distance[at] = u32::MAX;
        }
        self.distance[start] = 0;
        self.list.push(start);
        let mut next = 0;
        while let Some(&at) = self.list.get(next) {
            next += 1;
            for &link in &self.graph.leaving[at] {
                let to = self.graph.far_end(link);
                if self.graph.is_router(to) && self.distance[to] == u32::MAX {
                    self.distance[to] = self.distance[at] + 1;
                    self.list.push(to);
                }
            }
        }
    }

    /// Returns the first link of the shortest path from a found node to the start.
    fn next_hop(&self, at: usize) -> LinkId {
        let nearer = |&&link: &&LinkId| {
            let to = self.graph.far_end(link);
            self.graph.is_router(to) && self.distance[to] == self.distance[at] - 1
        };
        let mut links = self.graph.leaving[at].iter();
        links.find(nearer).copied().unwrap_or(LinkId::NONE)
    }
}

#[cfg(test)]
mod tests;
