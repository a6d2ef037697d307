//! Subflows of flows with `multipath`: the expansion of their paths, and what excludes them.

use std::sync::Arc;

use super::agent::ExpandedAgent;
use super::app::App;
use super::checks::fault;
use super::decode::Problem;
use super::expanded::ExpandedFlow;
use super::flow::FlowSpec;
use super::multipath::{CouplingName, MultipathSpec, PathSpec, SchedulerName, Subflow};
use super::quic;
use super::spec::Scenario;
use super::tree::Step;
use farlink_tcp::DataMapping;
use farlink_tcp::config::{Config, FastOpen, SnackForm};
use farlink_tcp::congestion::Coupled;

/// Maximum number of paths of a connection.
const MAX_PATHS: usize = 8;

/// Reason why the windows of a TCP cannot be coupled.
const NOT_RENO: &str =
    "lacks the congestion window of Reno, which coupling needs; write variant = \"newreno\"";

/// Returns the nodes of a name, or a problem at a key.
type Find<'a> = dyn Fn(&str, &str) -> Result<Vec<usize>, Problem> + 'a;

/// Adds the subflows of an entry to its expanded flows.
pub(super) fn with_subflows(
    scenario: &Scenario,
    flow: &FlowSpec,
    flows: Vec<ExpandedFlow>,
    find: &Find<'_>,
) -> Result<Vec<ExpandedFlow>, Problem> {
    let Some(multipath) = &flow.multipath else {
        return Ok(flows);
    };
    check(flow, multipath, &flows).map_err(|problem| problem.within("multipath"))?;
    let mut out = Vec::new();
    for (number, mut first) in flows.into_iter().enumerate() {
        let place = Subflow {
            path: 0,
            paths: multipath.paths.len() + 1,
            scheduler: multipath.scheduler(),
            backup: multipath.backup(),
            opportunistic: multipath.opportunistic(),
            coupling: multipath.coupling(),
        };
        let config =
            with_options(Config::clone(&first.sender), place.coupling).ok_or_else(|| {
                let message = format!("cannot apply: the TCP of the flow {NOT_RENO}");
                fault("coupling", message).within("multipath")
            })?;
        (first.sender, first.receiver) = (Arc::clone(&config), config);
        first.subflow = Some(place);
        out.push(first.clone());
        for (index, path) in multipath.paths.iter().enumerate() {
            let here = |problem: Problem| {
                let problem = problem.within(index).within("paths");
                problem.within("multipath")
            };
            let mut next = first.clone();
            next.subflow = Some(Subflow {
                path: index + 1,
                backup: path.backup(),
                ..place
            });
            next.name = match &path.name {
                Some(name) => format!("{}.{name}", first.name),
                None => format!("{}.{}", first.name, index + 1),
            };
            for (key, name, node) in [
                ("from", &path.from, &mut next.from),
                ("to", &path.to, &mut next.to),
            ] {
                if let Some(name) = name {
                    let nodes = find(name, key).map_err(here)?;
                    *node = nodes[number % nodes.len()];
                }
            }
            if next.from == next.to {
                return Err(here(fault(
                    "to",
                    "is where the path comes from; name another node",
                )));
            }
            if let Some(variant) = &path.variant {
                let config = tcp_of_path(scenario, flow, variant, place.coupling).map_err(here)?;
                (next.sender, next.receiver) = (Arc::clone(&config), config);
            }
            out.push(next);
        }
    }
    Ok(out)
}

/// Returns the TCP of a path with its own variant.
fn tcp_of_path(
    scenario: &Scenario,
    flow: &FlowSpec,
    variant: &str,
    coupling: CouplingName,
) -> Result<Arc<Config>, Problem> {
    let mut spec = scenario.tcp_of(flow);
    check_variant(variant)?;
    spec.variant = Some(variant.to_owned());
    if quic::is(&spec) {
        return Err(fault("variant", "= \"quic\" is no TCP; name a TCP"));
    }
    with_options(spec.resolve()?, coupling)
        .ok_or_else(|| fault("variant", format!("= \"{variant}\" {NOT_RENO}")))
}

/// Refuses a TCP of a path with a profile, which belongs to the flow.
fn check_variant(variant: &str) -> Result<(), Problem> {
    let mut profiles = ["linux-", "freebsd-"].iter();
    match profiles.find_map(|profile| variant.strip_prefix(profile)) {
        None => Ok(()),
        Some(rest) => {
            let message =
                format!("= \"{variant}\" has a profile, which is the flow's; write \"{rest}\"");
            Err(fault("variant", message))
        }
    }
}

/// Returns a TCP whose segments have room for the DSS option, and whose window can be coupled;
/// `None` if it cannot.
fn with_options(mut config: Config, coupling: CouplingName) -> Option<Arc<Config>> {
    config.mss = config.mss.saturating_sub(DataMapping::WIRE_LEN).max(1);
    if coupling != CouplingName::Off {
        config.congestion = Coupled::of(&config.congestion)?;
    }
    Some(Arc::new(config))
}

/// Refuses keys that exclude several paths.
fn check(
    flow: &FlowSpec,
    multipath: &MultipathSpec,
    flows: &[ExpandedFlow],
) -> Result<(), Problem> {
    multipath.check_keys()?;
    if !(1..MAX_PATHS).contains(&multipath.paths.len()) {
        let message = format!("needs 1 to {} further paths", MAX_PATHS - 1);
        return Err(Problem::new([Step::from("paths")], message));
    }
    for (index, path) in multipath.paths.iter().enumerate() {
        let before = &multipath.paths[..index];
        if let Some(name) = &path.name
            && let Some(other) = before.iter().position(|p| p.name.as_ref() == Some(name))
        {
            let message = format!("= \"{name}\" is the name of paths[{other}] too; rename one");
            return Err(fault("name", message).within(index).within("paths"));
        }
    }
    if multipath.backup() && multipath.paths.iter().all(PathSpec::backup) {
        let message = "= true for every path leaves none; remove it at one path";
        return Err(fault("backup", message));
    }
    if multipath.opportunistic() && multipath.scheduler() == SchedulerName::Redundant {
        let message = "would be ignored: \"redundant\" sends all data over every path; remove it";
        return Err(fault("opportunistic", message));
    }
    let message = if flow.reverse.is_some_and(|size| size.0 > 0) {
        "does not go with reverse; write a second flow"
    } else if matches!(flows.first(), Some(first) if matches!(first.app, App::Quic(_))) {
        "does not go with QUIC; name a TCP"
    } else if matches!(flows.first(), Some(first) if first.sender.fast_open != FastOpen::Off) {
        "does not go with fast_open; write fast_open = \"off\""
    } else if matches!(flows.first(), Some(first) if first.receiver.receiver.gro.is_some()) {
        "does not go with gro; remove it"
    } else if matches!(flows.first(), Some(first) if first.receiver.receiver.snack != SnackForm::Off)
    {
        "does not go with SNACK; name another TCP"
    } else {
        return Ok(());
    };
    Err(Problem::new([], message))
}

/// Refuses agents beside connections over several paths. An agent sees one path, and forwards
/// neither data sequence numbers nor data ACKs.
pub(super) fn check_agents(
    agents: &[ExpandedAgent],
    flows: &[(usize, ExpandedFlow)],
) -> Result<(), Problem> {
    let over_paths = flows.iter().find(|(_, flow)| flow.subflow.is_some());
    match over_paths {
        Some((entry, _)) if !agents.is_empty() => {
            let path = ["flows".into(), (*entry).into(), "multipath".into()];
            Err(Problem::new(path, "does not go with agents; remove them"))
        }
        _ => Ok(()),
    }
}
