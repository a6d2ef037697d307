//! Registry of metrics. Each metric is an entry in the table of its scope (flow, link, run, agent).
//! Values have the order of the table.

mod agent;
mod flow;
mod link;
mod table;

use crate::world::World;
use farlink_wire::LinkId;
use flow::{FLOW, Flow};
use link::{LINK, Link};
use serde_json::{Map, Value as Json};
use std::sync::LazyLock;
use table::{Subject, measures, taken};

pub(crate) use link::needed;
pub(crate) use table::Values;
pub use table::{Combine, Kind, Metric, Scope};

/// The values of a run's flows, and the number of flows that `max_duration` stopped.
struct Run<'a> {
    flows: &'a [Values],
    unfinished: usize,
}

enum OfRun {}

impl Subject for OfRun {
    type View<'a> = Run<'a>;
}

measures! { RUN: OfRun;
    "jain" "" Ratio Apart |r| r.fairness("goodput"),
        "Jain's fairness index of the goodputs x of n flows over TCP, (sum x)² / (n sum x²): 1/n if \
        one flow has all, 1 if all have the same; none with one such flow";
    "jain_over_run" "" Ratio Apart |r| r.fairness("goodput_over_run"),
        "Jain's fairness index of goodput_over_run: flows that began late or ended early have less";
    "unfinished" "" Count Apart |r| Some(r.unfinished as f64),
        "flows not done when max_duration cut the run off; their delivered data counts, and their \
        completed is 0; 0 for a run that a duration ends";
}

impl Run<'_> {
    /// Returns Jain's index of a metric over the TCP and XTP flows. UDP flows are excluded, because
    /// their sources set their rates.
    fn fairness(&self, measure: &str) -> Option<f64> {
        let place = |name: &str| METRICS.iter().position(|metric| metric.name == name);
        let (which, datagrams) = (place(measure)?, place("datagrams_sent")?);
        let of = |values: &Values, which: usize| values.iter().nth(which)?;
        let shares: Vec<f64> = self
            .flows
            .iter()
            .filter(|values| of(values, datagrams).is_none())
            .filter_map(|values| of(values, which))
            .collect();
        (shares.len() > 1).then(|| jain(&shares)).flatten()
    }
}

/// Metrics of flows, links, the run and agents.
static METRICS: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    let flow = FLOW.iter().flat_map(|m| m.described(Scope::Flow));
    let link = LINK.iter().flat_map(|m| m.described(Scope::Link));
    let run = RUN.iter().flat_map(|m| m.described(Scope::Run));
    flow.chain(link)
        .chain(run)
        .chain(agent::described())
        .collect()
});

/// Returns all metrics, those of flows first. Within a scope the order is that of the values.
/// Agents' metrics are those of all kinds of agents.
pub fn metrics() -> &'static [Metric] {
    &METRICS
}

/// Returns the values of `scope` by metric name.
pub(crate) fn named(scope: Scope, values: &Values) -> Map<String, Json> {
    let of = METRICS.iter().filter(|metric| metric.scope == scope);
    of.zip(values.iter())
        .map(|(metric, value)| (metric.name.clone(), value.map_or(Json::Null, Json::from)))
        .collect()
}

/// Returns the values of every flow at the end of the run.
pub(crate) fn of_flows(world: &World) -> Vec<Values> {
    // Views are made twice, because views of 100,000 flows would take 40 MB.
    let flows = || world.order.iter().map(|&slot| Flow::new(world, slot));
    let count = world.order.len();
    let mean = || {
        let sum: f64 = flows().filter_map(|flow| flow.goodput()).sum();
        (sum > 0.0).then(|| sum / count as f64)
    };
    let mean = if count > 1 { mean() } else { None };
    // In the order of the flows.
    let mut stalls = world.completion.stalls.iter().peekable();
    let values = flows().enumerate().map(|(place, mut flow)| {
        let stall = stalls.next_if(|stall| stall.0 == place);
        flow.stalled_since = stall.map(|stall| stall.1.as_secs_f64());
        flow.mean_goodput = mean;
        taken(FLOW, &flow)
    });
    values.collect()
}

/// Returns the values of a link direction after `period` nanoseconds. `needed` is the number of
/// data packets that had to cross the direction, if known.
pub(crate) fn of_link(world: &World, link: LinkId, needed: Option<u64>, period: u64) -> Values {
    taken(LINK, &Link::new(world, link, needed, period))
}

/// Returns the values of a run with these flows, of which `unfinished` were stopped.
pub(crate) fn of_run(flows: &[Values], unfinished: usize) -> Values {
    taken(RUN, &Run { flows, unfinished })
}

/// Returns Jain's index (Jain, Chiu and Hawe 1984, eq. 2); `None` if all shares are 0.
fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    #[test]
    fn each_limit_has_a_share_and_names_are_unique() {
        let names: Vec<_> = metrics().iter().map(|m| (m.scope as u8, &m.name)).collect();
        let limited: Vec<_> = metrics()
            .iter()
            .filter_map(|m| m.name.strip_prefix("limited_"))
            .collect();
        assert_eq!(limited, limits());
        let distinct: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
    }

    #[test]
    fn pooled_metrics_name_two_summed_metrics() {
        for metric in metrics() {
            let pooled = metric.combine == Combine::Pooled;
            assert_eq!(
                metric.pooled.len(),
                2 * usize::from(pooled),
                "{}",
                metric.name
            );
            for of in metric.pooled {
                let known = |m: &&Metric| m.scope == metric.scope && m.name == *of;
                let of = metrics().iter().find(known).unwrap();
                assert_eq!(of.combine, Combine::Sum);
            }
        }
    }

    #[test]
    fn fairness_in_closed_form() {
        let index = |shares: &[f64]| {
            let flows: Vec<Values> = shares
                .iter()
                .map(|&x| [Some(x)].into_iter().collect())
                .collect();
            of_run(&flows, 0).iter().next().flatten()
        };
        assert_eq!(index(&[5.0, 5.0, 5.0, 5.0]), Some(1.0));
        assert_eq!(index(&[7.0, 0.0, 0.0, 0.0]), Some(0.25));
        // If k of n shares are equal and the others 0, the index is k / n.
        assert_eq!(index(&[2.0, 2.0, 2.0, 0.0]), Some(0.75));
        assert_eq!(index(&[1.0, 2.0, 3.0]), Some(36.0 / (3.0 * 14.0)));
        assert_eq!(index(&[1.0]), None);
        assert_eq!(index(&[0.0, 0.0]), None);
    }

    /// Flows of datagrams do not count in the fairness index.
    #[test]
    fn fairness_leaves_out_flows_of_datagrams() {
        let flow = |goodput, sent: Option<f64>| -> Values {
            let value = |metric: &Metric| match metric.name.as_str() {
                "goodput" => Some(goodput),
                "datagrams_sent" => sent,
                _ => None,
            };
            let of_flows = METRICS.iter().filter(|metric| metric.scope == Scope::Flow);
            of_flows.map(value).collect()
        };
        let index = |flows: &[Values]| of_run(flows, 0).iter().next().flatten();
        let (tcp, datagrams) = (flow(3.0, None), flow(900.0, Some(7.0)));
        let both = [tcp.clone(), datagrams.clone(), tcp.clone()];
        assert_eq!(index(&both), Some(1.0));
        assert_eq!(index(&[tcp, datagrams.clone()]), None);
        assert_eq!(index(&[datagrams.clone(), datagrams]), None);
    }
}
