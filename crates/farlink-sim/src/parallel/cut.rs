//! Division of a weighted graph into parts of nearly equal weight with light cuts.
//!
//! Each part is divided in two, again and again. A division starts from the nodes in the order of
//! their distance from a remote node. Nodes then change sides as in Fiduccia and Mattheyses (1982),
//! while the cut gets lighter. Ties go to the lower number, so the result depends on nothing else.

use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// Number of moves without a lighter cut after which a pass ends.
const PATIENCE: usize = 200;
/// Largest number of passes over a division.
const PASSES: usize = 8;
/// Share by which a side may exceed its part of the weight.
const SLACK: f64 = 0.02;

/// Undirected graph with weights.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// Weight of each node.
    pub(super) nodes: Vec<u64>,
    /// Neighbours of each node, with the weight of the edge.
    pub(super) edges: Vec<BTreeMap<usize, u64>>,
}

impl Graph {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            nodes: vec![0; nodes],
            edges: vec![BTreeMap::new(); nodes],
        }
    }

    pub(super) fn join(&mut self, a: usize, b: usize, weight: u64) {
        if a != b {
            *self.edges[a].entry(b).or_default() += weight;
            *self.edges[b].entry(a).or_default() += weight;
        }
    }

    /// Divides the graph into `parts` parts. Returns the part of each node.
    pub(super) fn divide(&self, parts: usize) -> Vec<usize> {
        let mut part_of = vec![0; self.nodes.len()];
        let mut open = vec![((0..self.nodes.len()).collect::<Vec<_>>(), 0, parts)];
        while let Some((members, first, parts)) = open.pop() {
            if parts < 2 || members.len() < 2 {
                for node in members {
                    part_of[node] = first;
                }
                continue;
            }
            let near = parts / 2;
            let share = near as f64 / parts as f64;
            let (lower, upper) = self.halve(&members, share);
            open.push((lower, first, near));
            open.push((upper, first + near, parts - near));
        }
        part_of
    }

    /// Divides some nodes into two sides, of which the first gets this share of the weight.
    fn halve(&self, members: &[usize], share: f64) -> (Vec<usize>, Vec<usize>) {
        let total: u64 = members.iter().map(|&node| self.nodes[node]).sum();
        let order = self.by_distance(members);
        let mut side = vec![None; self.nodes.len()];
        let (mut weight, aim) = (0, total as f64 * share);
        for &node in &order {
            // The node that reaches the aim goes to the side that misses its weight more.
            let near = weight as f64 + self.nodes[node] as f64 / 2.0 <= aim;
            side[node] = Some(!near);
            weight += if near { self.nodes[node] } else { 0 };
        }
        let heaviest = members.iter().map(|&node| self.nodes[node]).max();
        let slack = (total as f64 * SLACK).max(heaviest.unwrap_or(0) as f64 / 2.0);
        let mut halves = Halves {
            graph: self,
            side,
            weight,
            bounds: ((aim - slack).max(0.0) as u64, (aim + slack) as u64),
        };
        for _ in 0..PASSES {
            if !halves.improve(members) {
                break;
            }
        }
        members
            .iter()
            .partition(|&&node| halves.side[node] == Some(false))
    }

    /// Returns nodes by their distance from a remote one of them. Components follow each other.
    fn by_distance(&self, members: &[usize]) -> Vec<usize> {
        let mut is_open = vec![false; self.nodes.len()];
        for &node in members {
            is_open[node] = true;
        }
        let mut probe = is_open.clone();
        let mut order = Vec::with_capacity(members.len());
        for &start in members {
            if !is_open[start] {
                continue;
            }
            // The last node of a search is remote. Two searches find a more remote one.
            let mut start = start;
            for _ in 0..2 {
                let mut order = Vec::new();
                self.search(start, &mut probe, &mut order);
                start = order.last().copied().unwrap_or(start);
                for node in order {
                    probe[node] = true;
                }
            }
            self.search(start, &mut is_open, &mut order);
        }
        order
    }

    /// Appends the open nodes that `start` reaches, in order of distance, and closes them.
    fn search(&self, start: usize, is_open: &mut [bool], order: &mut Vec<usize>) {
        let mut queue = VecDeque::from([start]);
        is_open[start] = false;
        while let Some(node) = queue.pop_front() {
            order.push(node);
            for &next in self.edges[node].keys() {
                if is_open[next] {
                    is_open[next] = false;
                    queue.push_back(next);
                }
            }
        }
    }
}

/// Two sides of some nodes.
struct Halves<'a> {
    graph: &'a Graph,
    /// Set for nodes of the second side, and `None` for nodes of neither.
    side: Vec<Option<bool>>,
    /// Weight of the first side, and the bounds between which it stays.
    weight: u64,
    bounds: (u64, u64),
}

impl Halves<'_> {
    /// Returns by how much the cut gets lighter if a node changes its side.
    fn gain(&self, node: usize) -> i64 {
        let own = self.side[node];
        let edges = self.graph.edges[node].iter();
        let edges = edges.filter(|&(&next, _)| self.side[next].is_some());
        edges
            .map(|(&next, &weight)| {
                if self.side[next] == own {
                    -(weight as i64)
                } else {
                    weight as i64
                }
            })
            .sum()
    }

    /// Returns the weight of the first side after a node changed its side.
    fn weight_after(&self, node: usize) -> u64 {
        let weight = self.graph.nodes[node];
        match self.side[node] {
            Some(false) => self.weight - weight,
            _ => self.weight + weight,
        }
    }

    fn switch(&mut self, node: usize) {
        self.weight = self.weight_after(node);
        self.side[node] = self.side[node].map(|side| !side);
    }

    /// Moves each node at most once, and keeps the moves up to the lightest cut. Returns whether
    /// the cut is lighter.
    fn improve(&mut self, members: &[usize]) -> bool {
        let entry = |halves: &Self, node: usize| (halves.gain(node), std::cmp::Reverse(node));
        let mut heap: BinaryHeap<_> = members.iter().map(|&node| entry(self, node)).collect();
        let mut is_fixed = vec![false; self.graph.nodes.len()];
        let (mut moves, mut total, mut best) = (Vec::new(), 0, (0, 0));
        while let Some((gain, std::cmp::Reverse(node))) = heap.pop() {
            if is_fixed[node] || gain != self.gain(node) {
                continue; // an entry from before the move of a neighbour
            }
            let after = self.weight_after(node);
            let is_better_balanced = self.distance(after) < self.distance(self.weight);
            if self.distance(after) > 0 && !is_better_balanced {
                continue;
            }
            is_fixed[node] = true;
            self.switch(node);
            moves.push(node);
            total += gain;
            if total > best.0 {
                best = (total, moves.len());
            }
            if moves.len() > best.1 + PATIENCE {
                break;
            }
            for &next in self.graph.edges[node].keys() {
                if self.side[next].is_some() && !is_fixed[next] {
                    heap.push(entry(self, next));
                }
            }
        }
        for &node in &moves[best.1..] {
            self.switch(node);
        }
        best.0 > 0
    }

    /// Returns by how much a weight of the first side is outside of its bounds.
    fn distance(&self, weight: u64) -> u64 {
        let (least, most) = self.bounds;
        least.saturating_sub(weight) + weight.saturating_sub(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a torus of nodes of weight 10.
    fn torus(rows: usize, columns: usize) -> Graph {
        let mut graph = Graph::new(rows * columns);
        let node = |row: usize, column: usize| (row % rows) * columns + column % columns;
        for row in 0..rows {
            for column in 0..columns {
                graph.nodes[node(row, column)] = 10;
                graph.join(node(row, column), node(row, column + 1), 1);
                graph.join(node(row, column), node(row + 1, column), 1);
            }
        }
        graph
    }

    fn cut(graph: &Graph, part_of: &[usize]) -> u64 {
        let edges = graph.edges.iter().enumerate();
        let edges = edges.flat_map(|(a, edges)| edges.iter().map(move |(&b, &w)| (a, b, w)));
        let across = edges.filter(|&(a, b, _)| part_of[a] != part_of[b]);
        across.map(|(_, _, weight)| weight).sum::<u64>() / 2
    }

    fn weights(graph: &Graph, part_of: &[usize], parts: usize) -> Vec<u64> {
        let mut weights = vec![0; parts];
        for (node, &part) in part_of.iter().enumerate() {
            weights[part] += graph.nodes[node];
        }
        weights
    }

    #[test]
    fn torus_is_cut_near_its_shortest_rings() {
        let graph = torus(25, 40);
        for (parts, most) in [(2, 60), (4, 130), (64, 1_100)] {
            let part_of = graph.divide(parts);
            let weights = weights(&graph, &part_of, parts);
            let mean = 10_000 / parts as u64;
            assert!(weights.iter().all(|&w| w <= mean * 6 / 5), "{weights:?}");
            let cut = cut(&graph, &part_of);
            assert!(cut <= most, "{parts} parts: {cut}");
        }
    }

    /// Two cliques with one edge between them are divided at this edge, although their members
    /// alternate.
    #[test]
    fn two_cliques_are_divided_at_their_edge() {
        let mut graph = Graph::new(20);
        for a in 0..20 {
            graph.nodes[a] = 1;
            for b in (0..a).filter(|b| (a - b) % 2 == 0) {
                graph.join(a, b, 5);
            }
        }
        graph.join(3, 8, 1);
        let part_of = graph.divide(2);
        assert_eq!(cut(&graph, &part_of), 1);
        assert_eq!(weights(&graph, &part_of, 2), [10, 10]);
    }

    #[test]
    fn components_and_single_nodes_are_shared_out() {
        let mut graph = Graph::new(9);
        graph.nodes = vec![1; 9];
        let part_of = graph.divide(3);
        assert_eq!(weights(&graph, &part_of, 3), [3, 3, 3]);
        assert_eq!(Graph::new(1).divide(4), [0]);
        assert!(Graph::new(0).divide(2).is_empty());
    }
}
