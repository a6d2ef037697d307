//! Expansion of a scenario into numbered nodes, single links, and single flows with complete TCP
//! configurations. Rules about more than one value are checked here.

use farlink_small::Map;
use std::collections::HashMap;
use std::sync::Arc;

use farlink_channel::trace::ContactPlan;
use farlink_tcp::config::Config;
use farlink_tcp::{Dscp, Interval};

use super::agent::{self, AgentSpec, ExpandedAgent};
use super::app::app;
use super::arq::ArqSpec;
use super::background;
use super::bdp;
use super::channel;
use super::checks::{LONGEST_DELAY, LONGEST_RUN, ZERO, at_most, fault, ignored, out_of_range};
use super::classes;
use super::compression::CompressionSpec;
use super::decode::{Problem, example, suggestion};
use super::discipline;
use super::expanded::{DirectionSpec, Expanded, ExpandedFlow, ExpandedLink};
use super::fec;
use super::flow::{AppName, FlowSpec, Opener};
use super::fragments;
use super::handoff::{ExpandedHandoff, HandoffSpec, Place};
use super::host_jitter;
use super::ip;
use super::mac;
use super::queue::QueueSpec;
use super::quic;
use super::roaming;
use super::spec::{DirectionTable, LinkSpec, Scenario};
use super::subflows;
use super::super_packet;
use super::trace::RatePlan;
use super::tree::Step;
use super::units::{Rate, Size, Time};

/// Maximum number of nodes, links or flows of a scenario.
const MAX_COUNT: u32 = 1_000_000;

/// Builds a path from keys and indices.
macro_rules! path {
    ($($step:expr),*) => { [$(Step::from($step)),*] };
}

// Declared here because the macro above is visible only after its definition.
mod network;

use network::{Net, reachable, routes};

pub(super) fn expand(scenario: &Scenario) -> Result<Expanded, Problem> {
    run_time(scenario)?;
    if let Some(name) = &scenario.name {
        good_name(name, "name")?;
    }
    counted("flows", scenario.flows.iter().map(|flow| flow.count))?;
    let mut nodes = Nodes::default();
    let mut links = links(scenario, &mut nodes)?;
    let net = Net::new(nodes.names.len(), &links);
    let routes = routes(scenario, &nodes, &net)?;
    ip::check(scenario)?;
    let flows = flows(scenario, &nodes)?;
    reachable(&flows, &nodes, &net, &routes)?;
    host_jitter::jitters(
        &scenario.hosts,
        &nodes.names,
        &|name| nodes.find_all(name, "name"),
        flows.iter().map(|(_, flow)| flow),
        &mut links,
    )?;
    let mut agents = agents(scenario, &nodes, &links)?;
    let handoffs = handoffs(scenario, &nodes, &links)?;
    roaming::check(&handoffs, &mut agents, &routes)?;
    let paths = ip::Paths {
        nodes: &nodes.names,
        links: &links,
        routes: &routes,
        handoffs: &handoffs,
        next_hops: &|to| net.next_hops(to),
    };
    ip::check_paths(scenario, &flows, &paths)?;
    subflows::check_agents(&agents, &flows)?;
    agent::check(&agents, flows.iter().map(|(entry, flow)| (*entry, flow)))?;
    // Without spare room: a scenario may have a million flows.
    let mut flows: Vec<_> = flows.into_iter().map(|(_, flow)| flow).collect();
    flows.shrink_to_fit();
    Ok(Expanded {
        seed: scenario.seed,
        duration: scenario.duration.map(|t| t.0),
        max_duration: scenario.max_duration.0,
        nodes: nodes.names,
        links,
        routes: routes.fixed,
        route_changes: routes.changes,
        agents,
        handoffs,
        flows,
    })
}

fn agents(
    scenario: &Scenario,
    nodes: &Nodes,
    links: &[ExpandedLink],
) -> Result<Vec<ExpandedAgent>, Problem> {
    let tcp = quic::of_agents(&scenario.tcp);
    let resolve = |(i, agent): (usize, &AgentSpec)| {
        let resolved = nodes
            .find(&agent.at, "at")
            .and_then(|at| agent.resolve(at, &nodes.names, links, &tcp));
        resolved.map_err(|problem| problem.within(i).within("agents"))
    };
    scenario.agents.iter().enumerate().map(resolve).collect()
}

fn handoffs(
    scenario: &Scenario,
    nodes: &Nodes,
    links: &[ExpandedLink],
) -> Result<Vec<ExpandedHandoff>, Problem> {
    let mut places = Vec::new();
    for link in links {
        let busy = !link.down.background.is_empty() || !link.up.background.is_empty();
        let protocol = link.arq.is_some().then_some("a protocol");
        places.push(Place {
            name: &link.name,
            a: link.a,
            b: link.b,
            keeps: if busy {
                Some("other traffic")
            } else {
                protocol
            },
        });
    }
    let resolve = |(i, handoff): (usize, &HandoffSpec)| {
        let resolved = nodes
            .find(&handoff.host, "host")
            .and_then(|host| handoff.resolve(host, &places));
        resolved.map_err(|problem| problem.within(i).within("handoffs"))
    };
    scenario.handoffs.iter().enumerate().map(resolve).collect()
}

/// Returns `pattern` with the number in place of `{}`.
fn numbered(pattern: &str, number: u32) -> String {
    pattern.replace("{}", &number.to_string())
}

fn run_time(scenario: &Scenario) -> Result<(), Problem> {
    let max = scenario.max_duration;
    at_most("max_duration", max, LONGEST_RUN)?;
    if max.0.is_zero() {
        return Err(out_of_range(
            path!["max_duration"],
            "\"0 s\" is no time; write \"24 h\"",
        ));
    }
    let Some(duration) = scenario.duration else {
        return Ok(());
    };
    if duration.0.is_zero() {
        return Err(out_of_range(
            path!["duration"],
            "\"0 s\" is no time; write \"100 s\"",
        ));
    }
    if duration > max {
        let message = format!("\"{duration}\" is above max_duration, \"{max}\"");
        return Err(out_of_range(path!["duration"], &message));
    }
    Ok(())
}

/// Checks a name, because names become parts of file names and values of columns.
fn good_name(name: &str, key: &str) -> Result<(), Problem> {
    let plain = name.replace("{}", "");
    let good = |c: char| c.is_alphanumeric() || "._-+".contains(c);
    if name.is_empty() || name.starts_with('.') || name.len() > 100 || !plain.chars().all(good) {
        let message = format!(
            "= {name:?} is not a name; write 1 to 100 letters, digits, \".\", \"_\", \"-\" or \"+\", \
             not beginning with \".\""
        );
        return Err(Problem::new(path![key], message));
    }
    Ok(())
}

/// Checks the counts of a list before any element is built.
fn counted(list: &str, counts: impl Iterator<Item = u32>) -> Result<(), Problem> {
    let mut total = 0;
    for (i, count) in counts.enumerate() {
        let before = total;
        total += u64::from(count);
        let message = if !(1..=MAX_COUNT).contains(&count) {
            format!("{count} is out of range; write 1 to {MAX_COUNT}")
        } else if total > MAX_COUNT.into() {
            format!(
                "{count} makes {total} {list} in all with the {before} before; write at most {MAX_COUNT} in all"
            )
        } else {
            continue;
        };
        return Err(out_of_range(path!["count"], &message)
            .within(i)
            .within(list));
    }
    Ok(())
}

/// Nodes, numbered in the order of their first occurrence.
#[derive(Default)]
struct Nodes {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Nodes {
    fn number(&mut self, name: String) -> usize {
        let next = self.names.len();
        let number = *self.numbers.entry(name.clone()).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        number
    }

    /// Returns the number of a node, or a problem at `key` if no node has this name.
    fn find(&self, name: &str, key: &str) -> Result<usize, Problem> {
        self.numbers.get(name).copied().ok_or_else(|| {
            let hint = suggestion(name, &self.names, "nodes");
            // A list of a thousand numbered nodes does not help the reader.
            let hint = if hint.len() > 200 {
                "nodes are named in links"
            } else {
                &hint
            };
            Problem::new(path![key], format!("= {name:?} is not a node; {hint}"))
        })
    }

    /// Returns the nodes of all numbers for a name with `{}`, otherwise the node of this name.
    fn find_all(&self, pattern: &str, key: &str) -> Result<Vec<usize>, Problem> {
        if !pattern.contains("{}") {
            return Ok(vec![self.find(pattern, key)?]);
        }
        let measured: Vec<usize> = (0..)
            .map_while(|n| self.numbers.get(&numbered(pattern, n)).copied())
            .collect();
        if measured.is_empty() {
            let first = numbered(pattern, 0);
            let message = format!("= {pattern:?} has no nodes; there is no {first:?} in links");
            return Err(Problem::new(path![key], message));
        }
        Ok(measured)
    }
}

fn links(scenario: &Scenario, nodes: &mut Nodes) -> Result<Vec<ExpandedLink>, Problem> {
    if scenario.links.is_empty() {
        return Err(Problem::new(
            path!["links"],
            format!("is empty{}", example("links")),
        ));
    }
    let mut out: Vec<ExpandedLink> = Vec::new();
    let mut names: HashMap<String, usize> = HashMap::new();
    let mut pairs: HashMap<(usize, usize), usize> = HashMap::new();
    counted("links", scenario.links.iter().map(|link| link.count))?;
    for (i, link) in scenario.links.iter().enumerate() {
        let here = |problem: Problem| problem.within(i).within("links");
        for copy in one_link(link, nodes).map_err(here)? {
            if let Some(other) = names.insert(copy.name.clone(), i) {
                let message = if other == i {
                    format!(
                        "= {:?} would be the name of several links; write \"{{}}\" in it",
                        copy.name
                    )
                } else {
                    format!(
                        "= {:?} is the name of links[{other}] too; write another",
                        copy.name
                    )
                };
                return Err(here(Problem::new(path!["name"], message)));
            }
            let pair = (copy.a.min(copy.b), copy.a.max(copy.b));
            if let Some(other) = pairs.insert(pair, i) {
                let message = format!(
                    "= {:?} are joined by links[{other}] already; a second link would carry nothing",
                    link.between
                );
                return Err(here(Problem::new(path!["between"], message)));
            }
            out.push(copy);
        }
    }
    Ok(out)
}

fn one_link(link: &LinkSpec, nodes: &mut Nodes) -> Result<Vec<ExpandedLink>, Problem> {
    for name in &link.between {
        good_name(name, "between")?;
    }
    let name = link.name_or_default();
    good_name(&name, "name")?;
    if link.count > 1 && !link.between.iter().any(|name| name.contains("{}")) {
        let message = format!(
            "= {} needs \"{{}}\" in a name in between, for example \"{}{{}}\"",
            link.count, link.between[1]
        );
        return Err(Problem::new(path!["count"], message));
    }
    if link.between[0] == link.between[1] {
        let message = format!("joins {:?} to itself; name two nodes", link.between[0]);
        return Err(Problem::new(path!["between"], message));
    }
    let mut down = direction(link.down.as_ref(), "down")?;
    let mut up = match &link.up {
        Some(_) => direction(link.up.as_ref(), "up")?,
        None => down.clone(),
    };
    channel::check_shared(&down.channel, &up.channel)?;
    let round_trip = down.delay + up.delay;
    for (key, item) in [("down", &mut down), ("up", &mut up)] {
        limits_in_bytes(item, round_trip).map_err(|fault| fault.within(key))?;
    }
    one_medium(link, &down, &up)?;
    for (key, item) in [("down", &down), ("up", &up)] {
        queues_alone(link, item).map_err(|problem| problem.within(key))?;
    }
    let arq = link.arq.as_ref().map(ArqSpec::resolve).transpose();
    let arq = arq.map_err(|problem| problem.within("arq"))?;
    if let Some(arq) = &arq {
        mac::check_dama(arq, [&down, &up], link.half_duplex)?;
    }
    let compression = link.header_compression.map(CompressionSpec::resolve);
    let header_compression = compression
        .transpose()
        .map_err(|problem| problem.within("header_compression"))?;
    (0..link.count)
        .map(|n| {
            let a = nodes.number(numbered(&link.between[0], n));
            let b = nodes.number(numbered(&link.between[1], n));
            if a == b {
                let message = format!("joins {:?} to itself; name two nodes", nodes.names[a]);
                return Err(Problem::new(path!["between"], message));
            }
            Ok(ExpandedLink {
                name: numbered(&name, n),
                a,
                b,
                down: down.clone(),
                up: up.clone(),
                half_duplex: link.half_duplex,
                arq,
                header_compression,
            })
        })
        .collect()
}

/// Refuses keys that exclude `half_duplex`, and keys that exclude `service_time`.
fn one_medium(link: &LinkSpec, down: &DirectionSpec, up: &DirectionSpec) -> Result<(), Problem> {
    let both = [("down", down), ("up", up)];
    if link.half_duplex {
        let traced = both.iter().find(|(_, item)| item.rate_trace.is_some());
        let loaded = both.iter().find(|(_, item)| !item.background.is_empty());
        let (other, instead) = match (traced, loaded) {
            (Some((key, item)), _) => (format!("{key}.{}", traced_by(item)), "write a rate"),
            (_, Some((key, _))) => {
                let instead = "write other traffic as flows, for example with app = \"cbr\"";
                (format!("{key}.background"), instead)
            }
            _ => (String::new(), ""),
        };
        if !other.is_empty() {
            let message = format!("= true does not go with {other}; {instead}");
            return Err(Problem::new(path!["half_duplex"], message));
        }
    }
    for (key, item) in both {
        if item.contacts.is_some() && link.arq.is_some() {
            let message = "does not go with arq; write a rate, or leave arq out";
            return Err(fault("contacts", message).within(key));
        }
        super_packet::check(item, link.arq.is_some(), link.half_duplex)
            .map_err(|e| e.within(key))?;
        if item.service_time.is_zero() {
            continue;
        }
        let message = if link.arq.is_some() {
            "does not go with arq; write arq.mac for the time that each frame waits"
        } else if item.contacts.is_some() {
            "does not go with contacts; write a rate"
        } else if item.rate_trace.is_some() {
            "does not go with rate_trace; write a rate"
        } else {
            continue;
        };
        return Err(fault("service_time", message).within(key));
    }
    Ok(())
}

fn direction(table: Option<&DirectionTable>, key: &'static str) -> Result<DirectionSpec, Problem> {
    let missing = |key: &str| {
        Problem::new(
            [],
            format!("has no {key:?}{}, or name a preset", example(key)),
        )
    };
    let table = table.ok_or_else(|| missing(key))?;
    one_direction(table, &missing).map_err(|problem| problem.within(key))
}

fn one_direction(
    table: &DirectionTable,
    missing: &dyn Fn(&str) -> Problem,
) -> Result<DirectionSpec, Problem> {
    let (rate_trace, contacts) = over_time(table)?;
    let rate = match (table.rate, &rate_trace) {
        (Some(_), Some(_)) => {
            let message = format!(
                "would be ignored beside {}; write one of them",
                varying(table)
            );
            return Err(Problem::new(path!["rate"], message));
        }
        (None, Some(plan)) => Rate(plan.trace.mean().max(1)),
        (rate, None) => rate.ok_or_else(|| missing("rate"))?,
    };
    let most = Rate(1_000_000_000_000);
    if rate.0 == 0 || rate > most {
        let message = format!("\"{rate}\" is out of range; write \"1 bit/s\" to \"{most}\"");
        return Err(out_of_range(path!["rate"], &message));
    }
    let delay = table.delay.or(contacts.as_ref().map(|_| ZERO));
    let delay = delay.ok_or_else(|| missing("delay"))?;
    at_most("delay", delay, LONGEST_DELAY)?;
    at_most("service_time", table.service_time, LONGEST_DELAY)?;
    if table.overhead > Size(65_536) {
        let message = format!(
            "\"{}\" is out of range; write at most \"64 KiB\"",
            table.overhead
        );
        return Err(out_of_range(path!["overhead"], &message));
    }
    in_range("queue", table.queue)?;
    in_range("mark", table.mark)?;
    for (number, class) in table.classes.iter().enumerate() {
        in_range("queue", class.queue).map_err(|fault| fault.within(number).within("classes"))?;
    }
    channel::check(&table.channel.0)?;
    background::check(&table.background)?;
    let fec = fec::resolve(table.fec.as_ref(), &table.channel.0)?;
    Ok(DirectionSpec {
        rate: rate.0,
        rate_trace,
        contacts,
        delay: delay.0,
        overhead: table.overhead.0 as u32,
        service_time: table.service_time.0,
        fec,
        queue: table.queue,
        discipline: table.discipline,
        classes: table.classes.clone(),
        mark: table.mark,
        priorities: table.priorities,
        super_packet: super_packet::segments(table)?,
        mtu: fragments::mtu(table)?,
        channel: table.channel.0.clone(),
        background: table.background.clone(),
        host_jitter: None,
    })
}

/// Returns the rates over time of a direction, and its contact plan.
fn over_time(
    table: &DirectionTable,
) -> Result<(Option<RatePlan>, Option<Arc<ContactPlan>>), Problem> {
    match (&table.rate_trace, &table.contacts) {
        (Some(_), Some(_)) => {
            let message = "would be ignored beside contacts; write one of them";
            Err(Problem::new(path!["rate_trace"], message))
        }
        (Some(trace), None) => {
            let plan = trace.plan().map_err(|p| p.within("rate_trace"))?;
            Ok((Some(plan), None))
        }
        (None, Some(contacts)) => {
            let contacts = contacts.plan().map_err(|p| p.within("contacts"))?;
            Ok((Some(contacts.rates), Some(contacts.plan)))
        }
        (None, None) => Ok((None, None)),
    }
}

/// Returns the key from which a direction has its rate over time.
fn traced_by(item: &DirectionSpec) -> &'static str {
    if item.contacts.is_some() {
        "contacts"
    } else {
        "rate_trace"
    }
}

/// Returns the key that gives a direction's rate over time.
fn varying(table: &DirectionTable) -> &'static str {
    if table.contacts.is_some() {
        "contacts"
    } else {
        "rate_trace"
    }
}

/// Writes the limits of a direction in bytes.
fn limits_in_bytes(item: &mut DirectionSpec, round_trip: Interval) -> Result<(), Problem> {
    let rate = Rate(item.rate);
    for (limit, written) in [("queue", &mut item.queue), ("mark", &mut item.mark)] {
        bdp::check(limit, *written, rate, round_trip)?;
        *written = bdp::in_bytes(*written, rate, round_trip);
    }
    for (number, class) in item.classes.iter_mut().enumerate() {
        bdp::check("queue", class.queue, rate, round_trip)
            .map_err(|fault| fault.within(number).within("classes"))?;
        class.queue = bdp::in_bytes(class.queue, rate, round_trip);
    }
    Ok(())
}

/// Checks the discipline and the classes of a direction, and refuses keys that exclude them.
fn queues_alone(link: &LinkSpec, item: &DirectionSpec) -> Result<(), Problem> {
    let excluded = [
        ("header_compression", link.header_compression.is_some()),
        ("background", !item.background.is_empty()),
        ("mark", !item.mark.is_unlimited()),
    ];
    let discipline = item.discipline.as_ref();
    discipline::alone(&excluded, discipline, !item.classes.is_empty())?;
    classes::check(&item.classes, discipline)
}

/// Checks a limit of packets or bytes.
fn in_range(key: &str, limit: QueueSpec) -> Result<(), Problem> {
    match limit {
        QueueSpec::Packets(n) if n == 0 || n > MAX_COUNT => {
            let message =
                format!("{n} is out of range; write 1 to {MAX_COUNT}, or {key} = \"unlimited\"");
            Err(out_of_range(path![key, "packets"], &message))
        }
        QueueSpec::Bytes(n) if n == 0 || n > 1 << 40 => {
            let message = format!(
                "\"{}\" is out of range; write \"1 B\" to \"1024 GiB\", or {key} = \"unlimited\"",
                Size(n)
            );
            Err(out_of_range(path![key, "bytes"], &message))
        }
        _ => Ok(()),
    }
}

/// Flows, each with the index of its entry in the scenario.
type Flows = Vec<(usize, ExpandedFlow)>;

fn flows(scenario: &Scenario, nodes: &Nodes) -> Result<Flows, Problem> {
    if scenario.flows.is_empty() {
        return Err(Problem::new(
            path!["flows"],
            format!("is empty{}", example("flows")),
        ));
    }
    scenario
        .tcp
        .check()
        .map_err(|problem| problem.within("tcp"))?;
    let mut out: Flows = Vec::new();
    let mut names: HashMap<String, usize> = HashMap::new();
    // Number of flows for which each key of [tcp] has no effect.
    let mut idle: Map<(&str, &str), usize> = Map::new();
    let (mut over_tcp, mut over_quic) = (0, false);
    for (i, flow) in scenario.flows.iter().enumerate() {
        let here = |problem: Problem| problem.within(i).within("flows");
        let config = flow_tcp(scenario, flow, i)?;
        if quic::is(&scenario.tcp_of(flow)) && !flow.app.is_udp() {
            over_quic = true;
        } else if !flow.app.is_udp() {
            over_tcp += 1;
            for key in scenario.tcp.ignored(&config) {
                *idle.entry(key).or_default() += 1;
            }
        }
        let name = scenario.flow_name(i);
        let find = |name: &str, key: &str| nodes.find_all(name, key);
        let copies = one_flow(scenario, flow, &name, nodes, &Arc::new(config)).map_err(here)?;
        for copy in subflows::with_subflows(scenario, flow, copies, &find).map_err(here)? {
            if let Some(other) = names.insert(copy.name.clone(), i) {
                let message = format!(
                    "= {:?} is the name of flows[{other}] too; write another",
                    copy.name
                );
                return Err(here(Problem::new(path!["name"], message)));
            }
            out.push((i, copy));
        }
    }
    if over_tcp == 0 && !over_quic {
        no_tcp_at_all(scenario)?;
    }
    match idle.into_iter().find(|&(_, times)| times == over_tcp) {
        Some(((key, needs), _)) => Err(ignored(key, needs).within("tcp")),
        None => Ok(out),
    }
}

/// Refuses keys of `[tcp]` in a scenario without TCP. A variant and a profile are allowed, because
/// sweeps over TCPs set them.
fn no_tcp_at_all(scenario: &Scenario) -> Result<(), Problem> {
    let mut tcp = scenario.tcp.clone();
    tcp.variant = None;
    tcp.profile = None;
    if tcp.is_empty() {
        return Ok(());
    }
    let message = "would be ignored: no flow uses TCP; remove it";
    Err(Problem::new(path!["tcp"], message))
}

/// Returns the TCP of a flow. The path of a problem is the place of the key in the scenario.
fn flow_tcp(scenario: &Scenario, flow: &FlowSpec, i: usize) -> Result<Config, Problem> {
    let here = |problem: Problem| problem.within("tcp").within(i).within("flows");
    if flow.app.is_udp() {
        // TCP keys of such a flow are refused with its other keys.
        return scenario
            .tcp
            .resolve()
            .map_err(|problem| problem.within("tcp"));
    }
    flow.tcp.check().map_err(here)?;
    let config = scenario.tcp_of(flow).resolve().map_err(|problem| {
        let own = matches!(problem.path.first(), Some(Step::Key(key)) if flow.tcp.has(key));
        if own {
            here(problem)
        } else {
            problem.within("tcp")
        }
    })?;
    if quic::is(&scenario.tcp_of(flow)) {
        return Ok(config);
    }
    let idle = match flow.tcp.variant {
        // These keys may have an effect if an override chooses another TCP.
        None => Vec::new(),
        Some(_) => flow.tcp.idle(&config),
    };
    match flow.tcp.ignored(&config).iter().chain(&idle).next() {
        Some((key, needs)) => Err(here(ignored(key, needs))),
        None => Ok(config),
    }
}

fn one_flow(
    scenario: &Scenario,
    flow: &FlowSpec,
    name: &str,
    nodes: &Nodes,
    config: &Arc<Config>,
) -> Result<Vec<ExpandedFlow>, Problem> {
    good_name(name, "name")?;
    let app = quic::over_or_not(&app(flow)?, &scenario.tcp_of(flow));
    let opens = opener(flow);
    let ip = scenario.ip_of(flow);
    let reassembly_timeout = fragments::reassembly_timeout(flow, ip)?;
    let from = nodes.find_all(&flow.from, "from")?;
    let to = nodes.find_all(&flow.to, "to")?;
    at_most("start", flow.start, LONGEST_RUN)?;
    at_most("stagger", flow.stagger, LONGEST_RUN)?;
    if flow.count == 1 && !flow.stagger.0.is_zero() {
        return Err(Problem::new(
            path!["stagger"],
            "would be ignored; it needs count",
        ));
    }
    (0..flow.count)
        .map(|n| {
            let name = match (flow.count, name.contains("{}")) {
                (2.., false) => format!("{name}.{n}"),
                _ => numbered(name, n),
            };
            let (from, to) = (from[n as usize % from.len()], to[n as usize % to.len()]);
            if from == to {
                let message = format!(
                    "= {:?} is where the flow comes from; name another node",
                    nodes.names[to]
                );
                return Err(Problem::new(path!["to"], message));
            }
            let start = flow.start.0 + flow.stagger.0 * u64::from(n);
            let (key, stop) = match scenario.duration {
                Some(duration) => ("duration", duration),
                None => ("max_duration", scenario.max_duration),
            };
            if start >= stop.0 {
                let message = format!(
                    "lets {name:?} begin at \"{}\", when the run is over; {key} is \"{stop}\"",
                    Time(start)
                );
                return Err(Problem::new(path!["start"], message));
            }
            let (sender, receiver) = (Arc::clone(config), Arc::clone(config));
            Ok(ExpandedFlow {
                name,
                from,
                to,
                app,
                start,
                duration: flow.duration.map(|time| time.0),
                opens,
                ip,
                dscp: flow.dscp.map_or(Dscp::DEFAULT, |dscp| dscp.0),
                dont_fragment: flow.dont_fragment,
                reassembly_timeout,
                sender,
                receiver,
                subflow: None,
            })
        })
        .collect()
}

/// Returns the end that opens the connections of a flow.
fn opener(flow: &FlowSpec) -> Opener {
    match flow.app {
        AppName::Http | AppName::Web | AppName::Telnet | AppName::Rlogin | AppName::Ftp => {
            Opener::Receiver
        }
        _ => flow.opens.unwrap_or(Opener::Sender),
    }
}

impl LinkSpec {
    pub(super) fn name_or_default(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.between.join("-"))
    }
}

impl Scenario {
    pub(super) fn flow_name(&self, i: usize) -> String {
        let usual = || {
            if self.flows.len() == 1 {
                "flow".to_owned()
            } else {
                format!("flow{i}")
            }
        };
        self.flows[i].name.clone().unwrap_or_else(usual)
    }
}
