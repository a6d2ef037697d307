//! Routes have the fewest links. Among equal routes, the link that is written first is used.

use super::*;
use crate::build::network;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Returns the number of links from each node to `to`, computed hop by hop over all links.
fn distances(scenario: &Expanded, to: usize) -> Vec<Option<u32>> {
    let mut hops = vec![None; scenario.nodes.len()];
    hops[to] = Some(0);
    for far in 0..scenario.nodes.len() as u32 {
        for link in &scenario.links {
            for (from, to) in [(link.a, link.b), (link.b, link.a)] {
                if hops[to] == Some(far) && hops[from].is_none() {
                    hops[from] = Some(far + 1);
                }
            }
        }
    }
    hops
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 4,
        max_global_rejects: u32::MAX, // Most random graphs do not connect the two ends.
        ..ProptestConfig::default()
    })]

    /// Random graphs include dead ends and loops.
    #[test]
    fn every_hop_is_the_first_link_that_leads_nearer(
        pairs in prop::collection::vec((0_usize..9, 0_usize..9), 1..16),
        ends in (0_usize..9, 0_usize..9),
        everywhere in any::<bool>(),
    ) {
        let mut joined = BTreeSet::new();
        let pairs: Vec<_> = pairs
            .into_iter()
            .filter(|&(a, b)| a != b && joined.insert((a.min(b), a.max(b))))
            .collect();
        let is_there = |node| pairs.iter().any(|&(a, b)| a == node || b == node);
        prop_assume!(ends.0 != ends.1 && is_there(ends.0) && is_there(ends.1));
        let mut text = Vec::new();
        for (number, (a, b)) in pairs.iter().enumerate() {
            text.push(format!("[[links]]\nname = \"l{number}\"\nbetween = [\"n{a}\", \"n{b}\"]\n"));
            text.push("down = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n".to_owned());
        }
        let (from, to) = ends;
        text.push(format!("[[flows]]\nfrom = \"n{from}\"\nto = \"n{to}\"\nsize = \"1 kB\"\n"));
        let loaded = crate::scenario::load(&text.concat(), "", &[]).and_then(|s| s.expand());
        // A scenario without a path between the ends of a flow is refused.
        prop_assume!(loaded.is_ok());
        let scenario = loaded.unwrap();
        let monitor = Monitor::default();
        let world = network(&scenario, 0, &monitor).unwrap();
        let nodes = nodes(&scenario, &world.links, everywhere, &monitor).unwrap();
        for to in 0..scenario.nodes.len() {
            let expected = scenario.flows.iter().any(|flow| [flow.from, flow.to].contains(&to));
            if !everywhere && !expected {
                continue;
            }
            let hops = distances(&scenario, to);
            for (at, node) in nodes.each() {
                let leaves = |id: &LinkId| world.links[id.reverse()].to() == at;
                let nearer = |id: &LinkId| {
                    let here = hops[at.index()];
                    here.is_some_and(|n| n > 0 && hops[world.links[*id].to().index()] == Some(n - 1))
                };
                let leaving: Vec<_> = world.links.ids().filter(leaves).collect();
                if leaving.len() > 1 {
                    let first = leaving.into_iter().find(nearer).unwrap_or(LinkId::NONE);
                    prop_assert_eq!(node.next_hop(NodeId(to as u32)), first);
                }
            }
        }
    }
}
