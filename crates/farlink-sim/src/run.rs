//! Runs a scenario: one run, many runs, or a run with probes.

use crate::build::build;
use crate::drive::{CHECK_EVERY, Drive, drive};
use crate::log;
use crate::metrics::{self, Scope, Values, named};
use crate::monitor::{Monitor, RunError};
use crate::probe::{Piece, Probes, Table};
use crate::sample::{derived, derived_json};
use crate::scenario::{App, Expanded, ExpandedFlow};
use crate::world::{FlowKind, World, taps};
use farlink_channel::Derived;
use farlink_tcp::Instant;
use farlink_wire::pcapng::CapturePoint;
use farlink_wire::{ById, LinkId, NodeId};
use serde_json::{Map, Value, json};
#[cfg(feature = "threads")]
use std::sync::{
    OnceLock,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// Result of one run.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Values by flow.
    pub(crate) flows: Vec<Values>,
    /// Values by link.
    pub(crate) links: ById<LinkId, Values>,
    /// Derived values of the channels, by link, each with the number of its stage.
    pub(crate) derived: ById<LinkId, Vec<(usize, Derived)>>,
    /// Counters of each agent, by name.
    pub(crate) agents: Vec<Vec<(&'static str, f64)>>,
    pub(crate) handoffs: Vec<Vec<(&'static str, f64)>>,
    /// Number of flows not finished at `max_duration`.
    pub unfinished: usize,
    /// Number of handled events.
    pub events: u64,
    /// Simulated time at the end.
    pub simulated: Instant,
    /// Data segments delivered over all flows (for benchmarks).
    pub segments: u64,
}

/// Data that a run with probes collects beside its tables.
#[derive(Clone, Default, Debug)]
pub struct TraceOptions {
    /// Bytes to which captured packets are cut (0: whole packets). `None` captures nothing. Packets
    /// are captured at every node where a flow begins or ends.
    pub snaplen: Option<u32>,
    /// Comment in the section header of each capture.
    pub comment: String,
    /// Adds the table `packets`, which has a row for each packet and link direction. The table is
    /// absent by default.
    pub packets: bool,
}

impl TraceOptions {
    /// Returns options that capture packets, cut to `snaplen` bytes (0: whole packets).
    pub fn capturing(snaplen: u32) -> Self {
        Self {
            snaplen: Some(snaplen),
            ..Self::default()
        }
    }
}

/// Result of a run with probes.
#[derive(Debug)]
pub struct Trace {
    /// The outcome, equal to the bit to that of a run without probes.
    pub outcome: Outcome,
    /// Tables of the run's events.
    pub tables: Vec<Table>,
    /// Captures by the name of their node.
    pub captures: Vec<(String, Vec<u8>)>,
    /// Lines of a key log file, with which the captured packets of QUIC can be decrypted. Empty
    /// without captures and without QUIC.
    pub secrets: String,
    /// Logs of both ends of each QUIC flow in the format of qlog, by file name. Empty without
    /// captures.
    pub qlogs: Vec<(String, String)>,
}

/// Runs number `run` of a scenario. The outcome is a function of scenario, seed and `run`.
///
/// # Errors
///
/// See [`RunError`].
pub fn run(scenario: &Expanded, run: u64, monitor: &Monitor) -> Result<Outcome, RunError> {
    let world = run_world(scenario, run, monitor)?;
    Ok(outcome(&world, scenario))
}

/// Runs a scenario like [`run`], and returns the world at its end.
pub(crate) fn run_world(
    scenario: &Expanded,
    run: u64,
    monitor: &Monitor,
) -> Result<World, RunError> {
    let mut world = build(scenario, run, monitor)?;
    if log::is_on() {
        observe(&mut world, Probes::default());
    } else {
        world.fast_collapse_hops(scenario);
    }
    drive(&mut world, scenario, monitor)?;
    Ok(world)
}

/// Turns probes on in a world that has not started.
pub(crate) fn observe(world: &mut World, mut probes: Probes) {
    // Flow numbers of packets: flows over TCP first, those over QUIC last.
    let mut flows: Vec<(usize, u32)> = world.order.iter().map(FlowKind::group).zip(0..).collect();
    flows.sort_unstable();
    probes.flows = flows.into_iter().map(|(_, number)| number).collect();
    if probes.watches_departures() {
        world.links.watch_departures();
    }
    world.probes = Some(Box::new(probes));
    for flow in &mut world.quic {
        flow.trace();
    }
    for end in &mut world.ends {
        end.conn.set_tracing(true);
    }
    world.watch_agents();
}

/// Runs without hop fusing. Returns also whether fusing would have been possible.
#[cfg(test)]
pub(crate) fn run_unfused(
    scenario: &Expanded,
    run: u64,
    monitor: &Monitor,
) -> Result<(Outcome, bool), RunError> {
    let mut fused = build(scenario, run, monitor)?;
    fused.fast_collapse_hops(scenario);
    let mut world = build(scenario, run, monitor)?;
    drive(&mut world, scenario, monitor)?;
    let hops = fused.links.each().any(|(_, link)| link.forwards_early());
    Ok((outcome(&world, scenario), hops))
}

/// Runs each (scenario, run) on up to `threads` threads, and returns the results in the order of
/// the jobs.
///
/// # Errors
///
/// Returns the error of the first failed job.
#[cfg(feature = "threads")]
pub fn run_all(
    jobs: &[(&Expanded, u64)],
    threads: usize,
    monitor: &Monitor,
) -> Result<Vec<Outcome>, RunError> {
    match run_each(jobs, threads, monitor, |_, outcome| outcome) {
        (outcomes, None) => Ok(outcomes),
        (_, Some(error)) => Err(error),
    }
}

/// Runs jobs like [`run_all`], and converts each outcome to `T` as soon as its run ends.
///
/// Jobs start in order, and none starts after an error or the monitor's `stop`. Returns the results
/// up to the first job without one, and the error of that job.
#[cfg(feature = "threads")]
pub fn run_each<T: Send + Sync>(
    jobs: &[(&Expanded, u64)],
    threads: usize,
    monitor: &Monitor,
    keep: impl Fn(usize, Outcome) -> T + Sync,
) -> (Vec<T>, Option<RunError>) {
    each(jobs, threads, monitor, |number, scenario, k| {
        run(scenario, k, monitor).map(|outcome| keep(number, outcome))
    })
}

/// Does `work` for the number, the scenario and the run of each job, like [`run_each`].
#[cfg(feature = "threads")]
pub(crate) fn each<T: Send + Sync>(
    jobs: &[(&Expanded, u64)],
    threads: usize,
    monitor: &Monitor,
    work: impl Fn(usize, &Expanded, u64) -> Result<T, RunError> + Sync,
) -> (Vec<T>, Option<RunError>) {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.clamp(1, jobs.len().max(1)))
        .build();
    let pool = match pool {
        Ok(pool) => pool,
        Err(e) => {
            let message = format!("cannot start {threads} threads: {e}");
            return (Vec::new(), Some(RunError::Build(message)));
        }
    };
    let results: Vec<OnceLock<Result<T, RunError>>> =
        jobs.iter().map(|_| OnceLock::new()).collect();
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    pool.broadcast(|_| {
        while !monitor.stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let (Some(&(scenario, k)), Some(slot)) = (jobs.get(number), results.get(number)) else {
                break;
            };
            let result = work(number, scenario, k);
            if result.is_err() {
                failed.store(true, Ordering::Relaxed);
            }
            let _ = slot.set(result);
            monitor.done.fetch_add(1, Ordering::Relaxed);
        }
    });
    let mut kept = Vec::with_capacity(jobs.len());
    for slot in results {
        match slot.into_inner() {
            Some(Ok(result)) => kept.push(result),
            Some(Err(error)) => return (kept, Some(error)),
            None => return (kept, Some(RunError::Interrupted)),
        }
    }
    (kept, None)
}

/// Returns an error if an agent has a half over XTP or STP, whose packets have no contents of real
/// data.
pub(crate) fn agents_have_contents(scenario: &Expanded) -> Result<(), RunError> {
    for (number, agent) in scenario.agents.iter().enumerate() {
        if let Some((key, _)) = agent.spec.far_key() {
            return Err(RunError::Build(format!(
                "agents[{number}].{key} is simulated and cannot be emulated, because its \
                 packets carry no real data; write satellite_tcp"
            )));
        }
    }
    Ok(())
}

/// Returns an error if a link has `fragments = "wong1998"`, whose packets no IPv4 header describes.
/// `what` is the participle in the message.
pub(crate) fn headers_can_say(scenario: &Expanded, what: &str) -> Result<(), RunError> {
    for link in &scenario.links {
        for (direction, spec) in [("down", &link.down), ("up", &link.up)] {
            if spec.mtu.is_some_and(|mtu| mtu.unit != 8) {
                return Err(RunError::Build(format!(
                    "{}.{direction}.fragments = \"wong1998\" makes packets that no header of IPv4 \
                     describes and that cannot be {what}; write fragments = \"rfc791\"",
                    link.name
                )));
            }
        }
    }
    Ok(())
}

/// Runs with probes.
///
/// # Errors
///
/// See [`RunError`].
pub fn trace(
    scenario: &Expanded,
    run: u64,
    options: &TraceOptions,
    monitor: &Monitor,
) -> Result<Trace, RunError> {
    let mut world = traced_world(scenario, run, options, monitor)?;
    drive(&mut world, scenario, monitor)?;
    let outcome = outcome(&world, scenario);
    let mut probes = end_probes(&mut world);
    Ok(Trace {
        outcome,
        captures: captures(&mut probes, &world, scenario),
        tables: probes.into_tables(),
        secrets: secrets(&world, options),
        qlogs: qlogs(&world, scenario),
    })
}

/// Runs with probes like [`trace`], and passes the tables to `sink` in pieces during the run. A
/// table that has `piece` rows passes on those that are final. The pieces of a table are in order
/// of time, and each table has a last piece at the end. Columns are made of a piece by the caller, so
/// that another thread may do that. The result has no `tables`.
///
/// The table `queue` has two differences to that of [`trace`]: rows of one time are in the order of
/// their links, and the last departures before the end of the run have rows too.
///
/// # Errors
///
/// See [`RunError`]. An error of `sink` ends the run.
pub fn trace_into(
    scenario: &Expanded,
    run: u64,
    options: &TraceOptions,
    monitor: &Monitor,
    piece: usize,
    sink: &mut impl FnMut(Piece) -> Result<(), RunError>,
) -> Result<Trace, RunError> {
    let mut world = traced_world(scenario, run, options, monitor)?;
    let mut drive = Drive::new(&world, scenario);
    let slice = (piece as u64).min(CHECK_EVERY);
    while !drive.advance(&mut world, scenario, monitor, slice)? {
        world.drain_probes(piece, sink)?;
    }
    drive.set_end(&mut world);
    world.watch_queues(true);
    drive.finish(&mut world);
    let outcome = outcome(&world, scenario);
    let mut probes = end_probes(&mut world);
    let captures = captures(&mut probes, &world, scenario);
    probes.into_last_pieces().try_for_each(sink)?;
    Ok(Trace {
        outcome,
        tables: Vec::new(),
        captures,
        secrets: secrets(&world, options),
        qlogs: qlogs(&world, scenario),
    })
}

/// Returns the secrets of all QUIC flows of a run with captures.
fn secrets(world: &World, options: &TraceOptions) -> String {
    match options.snaplen {
        Some(_) => world.quic.iter().map(|flow| flow.ends.secrets()).collect(),
        None => String::new(),
    }
}

/// Returns the logs of all QUIC flows by file name.
fn qlogs(world: &World, scenario: &Expanded) -> Vec<(String, String)> {
    let is_quic = |flow: &&ExpandedFlow| matches!(flow.app, App::Quic(_));
    let flows = scenario.flows.iter().filter(is_quic).zip(&world.quic);
    let logs = flows.flat_map(|(flow, own)| {
        let name = |role| format!("{}-{role}.sqlog", flow.name);
        let logs = own.ends.qlogs().into_iter();
        logs.map(move |(role, text)| (name(role), text))
    });
    logs.collect()
}

/// Builds a world with probes.
fn traced_world(
    scenario: &Expanded,
    run: u64,
    options: &TraceOptions,
    monitor: &Monitor,
) -> Result<World, RunError> {
    let mut world = build(scenario, run, monitor)?;
    let (snaplen, comment) = (options.snaplen, &options.comment);
    let mut probes = Probes::default();
    if options.packets {
        probes.packets = Some(Box::default());
    }
    if let Some(snaplen) = snaplen {
        headers_can_say(scenario, "captured")?;
        probes.captures = scenario.nodes.iter().map(|_| None).collect();
        for flow in &scenario.flows {
            for node in [flow.from, flow.to] {
                let name = &scenario.nodes[node];
                probes.captures[NodeId(node as u32)]
                    .get_or_insert_with(|| CapturePoint::new(name, comment, snaplen));
            }
        }
    }
    if let Some(snaplen) = snaplen {
        let point = |name: String| CapturePoint::new(&name, comment, snaplen);
        probes.taps = tap_names(&world, scenario)
            .map(|names| names.map(point))
            .collect();
    }
    if snaplen.is_some() {
        for flow in &mut world.quic {
            flow.ends.log();
        }
    }
    observe(&mut world, probes);
    world.links.watch_frames();
    Ok(world)
}

/// Takes the captures out of probes, by the name of their node.
fn captures(probes: &mut Probes, world: &World, scenario: &Expanded) -> Vec<(String, Vec<u8>)> {
    let hosts = std::mem::take(&mut probes.captures)
        .into_iter()
        .zip(&scenario.nodes)
        .filter_map(|(point, name)| Some((name.clone(), point?.finish())));
    let taps = std::mem::take(&mut probes.taps).into_iter().flatten();
    let taps = tap_names(world, scenario).flatten().zip(taps);
    hosts
        .chain(taps.map(|(name, point)| (name, point.finish())))
        .collect()
}

/// Takes the probes of a world at its end.
pub(crate) fn end_probes(world: &mut World) -> Box<Probes> {
    let mut probes = world.probes.take().unwrap_or_default();
    for (id, link) in world.links.each() {
        probes.departures(id, link, world.now);
    }
    probes.cut_departures(world.now);
    probes
}

impl Outcome {
    /// Returns the values of every flow, every link direction, the run, or every agent. The order
    /// is that of [`crate::metrics()`], and for agents that of their counters. NaN means that there
    /// was nothing to measure.
    pub fn values(&self, scope: Scope) -> Vec<Vec<f64>> {
        let of = |values: &[Values]| values.iter().map(|v| v.numbers().collect()).collect();
        match scope {
            Scope::Flow => of(&self.flows),
            Scope::Link => of(&self.links),
            Scope::Run => of(&[metrics::of_run(&self.flows, self.unfinished)]),
            Scope::Agent => {
                let counted = self.agents.iter();
                counted
                    .map(|all| all.iter().map(|item| item.1).collect())
                    .collect()
            }
        }
    }

    /// Returns the metrics of flows, links, the run and agents (if any), the number of events and
    /// the simulated seconds as JSON.
    pub fn to_json(&self, scenario: &Expanded) -> String {
        let flows: Vec<_> = scenario
            .flows
            .iter()
            .zip(&self.flows)
            .map(|(f, v)| json!({ "flow": f.name, "metrics": named(Scope::Flow, v) }))
            .collect();
        let links: Vec<_> = self
            .links
            .each()
            .map(|(id, v)| {
                json!({
                    "link": scenario.links[id.link() as usize].name,
                    "direction": id.direction().name(),
                    "derived": derived_json(&self.derived[id]),
                    "metrics": named(Scope::Link, v),
                })
            })
            .collect();
        let whole = metrics::of_run(&self.flows, self.unfinished);
        let mut out = json!({
            "flows": flows,
            "links": links,
            "run": [{ "metrics": named(Scope::Run, &whole) }],
            "events": self.events,
            "simulated_s": self.simulated.as_secs_f64(),
        });
        if !self.agents.is_empty() {
            out["agents"] = agents_json(scenario, self.agents.iter()).into();
        }
        if !self.handoffs.is_empty() {
            out["handoffs"] = handoffs_json(scenario, self.handoffs.iter()).into();
        }
        out.to_string()
    }
}

/// Returns the names of the captures on the two sides of each agent's node.
fn tap_names<'a>(
    world: &'a World,
    scenario: &'a Expanded,
) -> impl Iterator<Item = [String; 2]> + 'a {
    let taps = world.agents.taps.all.iter();
    taps.map(|tap| {
        let node = &scenario.nodes[tap.node.0 as usize];
        taps::names(node, &scenario.links[tap.wireless as usize].name)
    })
}

/// Formats the counters of agents, each with its kind and the names of its router and its link.
pub(crate) fn agents_json<C: AsRef<[(&'static str, f64)]>>(
    scenario: &Expanded,
    counters: impl Iterator<Item = C>,
) -> Vec<Value> {
    let agents = scenario.agents.iter().zip(counters);
    let rows = agents.map(|(agent, counters)| {
        let metrics = counted(counters.as_ref());
        json!({
            "agent": agent.spec.kind,
            "at": scenario.nodes[agent.at],
            "wireless": scenario.links[agent.wireless].name,
            "metrics": metrics,
        })
    });
    rows.collect()
}

/// Formats the costs of each host's handoffs.
pub(crate) fn handoffs_json<C: AsRef<[(&'static str, f64)]>>(
    scenario: &Expanded,
    counters: impl Iterator<Item = C>,
) -> Vec<Value> {
    let rows = scenario.handoffs.iter().zip(counters);
    rows.map(|(handoff, counters)| {
        json!({ "host": handoff.spec.host, "metrics": counted(counters.as_ref()) })
    })
    .collect()
}

fn counted(counters: &[(&'static str, f64)]) -> Map<String, Value> {
    let each = counters.iter();
    each.map(|&(name, value)| (name.to_owned(), number(value)))
        .collect()
}

/// Formats a counter as a JSON integer if it is whole, else as a real number.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        (value as i64).into()
    } else {
        value.into()
    }
}

/// Computes the outcome of a world at its end.
pub(crate) fn outcome(world: &World, scenario: &Expanded) -> Outcome {
    let cut_off = scenario.duration.is_none();
    let period = world.now.as_nanos();
    let segments =
        |end: &crate::flow::End| -> u64 { end.received.div_ceil(u64::from(end.conn.mss()).max(1)) };
    Outcome {
        flows: metrics::of_flows(world),
        links: metrics::needed(world)
            .each()
            .map(|(link, &needed)| {
                // The packets of a flow are not known by path if routes change.
                let needed = needed.filter(|_| !world.has_later_routes());
                metrics::of_link(world, link, needed, period)
            })
            .collect(),
        derived: world
            .links
            .each()
            .map(|(_, link)| derived(link.channel()))
            .collect(),
        agents: world.agents.counters(world.now).collect(),
        handoffs: world.roaming.counters().collect(),
        unfinished: if cut_off {
            world.completion.unfinished
        } else {
            0
        },
        events: world.events,
        simulated: world.now,
        segments: world.ends.iter().map(segments).sum(),
    }
}
