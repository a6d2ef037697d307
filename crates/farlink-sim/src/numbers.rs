//! Numbers of a run as one row, with the meaning of each number. The meaning is the same for all
//! runs of a scenario.

use crate::metrics::{self, Scope};
use crate::run::Outcome;
use crate::sample::derived_json;
use crate::scenario::Expanded;
use serde_json::{Value, json};

/// Consecutive numbers of a row: for each item in order, its measures in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Subject: "flow", "link", "run" or "agent".
    pub scope: &'static str,
    /// Identity of each item. For a flow it is the name; for a link, name and direction; for an
    /// agent, kind, router and link.
    pub items: Vec<Vec<String>>,
    /// Names of the measures.
    pub measures: Vec<String>,
}

impl Group {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.items.len() * self.measures.len()
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Outcome {
    /// Returns all numbers of the run as one row, with NaN if there was nothing to measure.
    /// [`Outcome::groups`] returns their meanings. The order is flows, links, run, events and
    /// simulated seconds, agents.
    pub fn numbers(&self) -> Vec<f64> {
        let whole = metrics::of_run(&self.flows, self.unfinished);
        let links = self.links.each().map(|(_, values)| values);
        let mut row = Vec::new();
        for values in self.flows.iter().chain(links).chain([&whole]) {
            row.extend(values.numbers());
        }
        row.extend([self.events as f64, self.simulated.as_secs_f64()]);
        let counted = self.agents.iter().chain(&self.handoffs);
        row.extend(counted.flatten().map(|&(_, n)| n));
        row
    }

    /// Returns the meanings of the numbers of [`Outcome::numbers`].
    pub fn groups(&self, scenario: &Expanded) -> Vec<Group> {
        let measures = |scope: Scope| {
            let known = metrics::metrics()
                .iter()
                .filter(|metric| metric.scope == scope);
            known.map(|metric| metric.name.clone()).collect::<Vec<_>>()
        };
        let links = self.links.each().map(|(id, _)| {
            let link = &scenario.links[id.link() as usize].name;
            vec![link.clone(), id.direction().name().to_owned()]
        });
        let flows = scenario.flows.iter().map(|flow| vec![flow.name.clone()]);
        let mut of_run = measures(Scope::Run);
        of_run.extend(["events".to_owned(), "simulated_s".to_owned()]);
        let mut groups = vec![
            group("flow", flows.collect(), measures(Scope::Flow)),
            group("link", links.collect(), measures(Scope::Link)),
            group("run", vec![Vec::new()], of_run),
        ];
        for (agent, counters) in scenario.agents.iter().zip(&self.agents) {
            let at = &scenario.nodes[agent.at];
            let link = &scenario.links[agent.wireless].name;
            let kind = json!(agent.spec.kind);
            let kind = kind.as_str().unwrap_or_default().to_owned();
            let item = vec![kind, at.clone(), link.clone()];
            let names = counters.iter().map(|(name, _)| (*name).to_owned());
            groups.push(group("agent", vec![item], names.collect()));
        }
        for (handoff, counters) in scenario.handoffs.iter().zip(&self.handoffs) {
            let names = counters.iter().map(|(name, _)| (*name).to_owned());
            let item = vec![handoff.spec.host.clone()];
            groups.push(group("handoff", vec![item], names.collect()));
        }
        groups
    }

    /// Returns the values derived from each link direction's channel as JSON, in order.
    pub fn derived(&self) -> Value {
        let all = self.links.each();
        all.map(|(id, _)| derived_json(&self.derived[id])).collect()
    }
}

fn group(scope: &'static str, items: Vec<Vec<String>>, measures: Vec<String>) -> Group {
    Group {
        scope,
        items,
        measures,
    }
}
