//! From an expanded scenario to a world.

use crate::app::Program;
use crate::event_queue::{Event, Kind, MAX_SOURCES};
use crate::flow::{FlowState, Opening, udp_ports};
use crate::monitor::{Monitor, RunError};
use crate::scenario::{
    AgentHandoff, AgentName, App, Burst, ChannelSpec, DirectionSpec, Distribution, Expanded,
    ExpandedAgent, ExpandedLink, JitterSpec, OpenName, Opener, QueueSpec, QueuedName, background,
    process,
};
use crate::udp::UdpFlow;
use crate::world::{FlowBrief, Handing, Mover, Node, Plan, Slot, Tally, World};
use crate::xtp::XtpFlow;
use farlink_agent::{Agent, Ebsn, Eln, Leaving, Snoop, Split, SplitSettings, Spoof, SpoofSettings};
use farlink_channel::rng::{Probability, Stream, Streams};
use farlink_channel::trace::Pace;
use farlink_channel::{
    BitErrors, Channel, ChannelError, Corrupt, Distribution as JitterDistribution, Duplicate,
    Gilbert, GilbertTime, Jitter, Loss, Reorder, Stage,
};
use farlink_link::arq::ArqLink;
use farlink_link::header_compression::Compression;
use farlink_link::mac::Mac;
use farlink_link::{Link, LinkConfig, Links, QueueLimit, Simplex};
use farlink_tcp::segment::TCP_HEADER_LEN;
use farlink_tcp::{Config, Instant, Interval, IpVersion};
use farlink_wire::{ById, Direction, FlowId, Id, Ip, LinkId, NodeId};
use std::sync::Arc;

/// Links and flows that are built between two looks at the monitor.
const LOOK_EVERY: usize = 1 << 12;

/// Builds the world of run number `run`.
pub(crate) fn build(scenario: &Expanded, run: u64, monitor: &Monitor) -> Result<World, RunError> {
    let mut world = network(scenario, run, monitor)?;
    flows(
        scenario,
        &Streams::new(scenario.seed, run),
        &mut world,
        monitor,
    )?;
    world.looks_ahead = world.is_large();
    Ok(world)
}

/// Builds the nodes and links of run number `run`, without flows.
pub(crate) fn network(scenario: &Expanded, run: u64, monitor: &Monitor) -> Result<World, RunError> {
    let streams = Streams::new(scenario.seed, run);
    let mut links = Links::default();
    for (number, link) in scenario.links.iter().enumerate() {
        if number.is_multiple_of(LOOK_EVERY) {
            monitor.stopped()?;
        }
        links.push(self::link(link, &streams)?);
    }
    if links.ids().len().max(2 * scenario.flows.len()) >= MAX_SOURCES {
        return Err(RunError::Build(
            "more links or flows than can be numbered".into(),
        ));
    }
    let nodes = nodes(scenario, &links, false, monitor)?;
    let mut world = World::new(nodes, links);
    for agent in &scenario.agents {
        let at = NodeId(agent.at as u32);
        let number = world.add_agent(
            at,
            agent.wireless as u32,
            build_agent(agent, &scenario.links),
        );
        let switches = agent.spec.switches().map(|at| Instant::ZERO + at);
        world.plan_switches(number, agent.spec.enabled(), switches);
    }
    handoffs(scenario, &streams, &mut world);
    // Link protocols have something to do from the start.
    for id in world.links.ids() {
        world.watch(id);
    }
    Ok(world)
}

/// Adds the hosts that move, and says what agents do when they go.
fn handoffs(scenario: &Expanded, streams: &Streams, world: &mut World) {
    let is_left = |link: usize| {
        scenario
            .handoffs
            .iter()
            .any(|item| item.links.contains(&link))
    };
    for (number, agent) in scenario.agents.iter().enumerate() {
        let how = match agent.spec.handoff {
            Some(AgentHandoff::Keep) => None,
            Some(AgentHandoff::Transfer) => Some(Leaving::Transfer),
            Some(AgentHandoff::Lose) | None => Some(Leaving::Lose),
        };
        let peers = agent.peers.iter();
        let handing = Handing {
            how: how.filter(|_| is_left(agent.wireless)),
            rate: agent.spec.transfer_rate.map_or(0, |rate| rate.0),
            delay: agent
                .spec
                .transfer_delay
                .map_or(Interval::ZERO, |time| time.0),
            peers: peers.map(|&(link, peer)| (link as u32, peer)).collect(),
        };
        world.set_handing(number, handing);
    }
    for handoff in &scenario.handoffs {
        let spec = &handoff.spec;
        let name = format!("handoff/{}", spec.host);
        let plan = if let Some((walker, places)) = handoff.walk(streams.stream(&name)) {
            Plan::Walk {
                walker: Box::new(walker),
                places,
                every: spec.interval().0,
                hysteresis: spec.hysteresis().metres(),
            }
        } else {
            let at = spec.at.iter().flatten();
            Plan::At(at.map(|at| Instant::ZERO + at.0).collect())
        };
        world.add_mover(Mover::new(
            NodeId(handoff.host as u32),
            handoff.links.iter().map(|&link| link as u32).collect(),
            plan,
            spec.gap().0,
            spec.queued() == QueuedName::Forward,
        ));
    }
}

/// Builds an agent.
fn build_agent(agent: &ExpandedAgent, links: &[ExpandedLink]) -> Box<dyn Agent> {
    match agent.spec.kind {
        AgentName::Eln => Box::new(Eln::new(agent.spec.limits())),
        AgentName::EbsnPlain => Box::new(Ebsn::new(agent.spec.limits())),
        AgentName::Snoop | AgentName::Ackp | AgentName::Ebsn | AgentName::SeqCache => {
            Box::new(Snoop::new(agent.spec.snoop()))
        }
        AgentName::Split | AgentName::Pep | AgentName::Pepsal => {
            Box::new(Split::new(split(agent, links)))
        }
        AgentName::Spoof => Box::new(Spoof::new(SpoofSettings {
            buffer: agent.spec.buffer.map_or(u64::MAX, |buffer| buffer.0),
            tries: agent.spec.tries.unwrap_or(u32::MAX),
            limits: agent.spec.limits(),
        })),
    }
}

/// Builds the settings of an agent's split connections.
fn split(agent: &ExpandedAgent, links: &[ExpandedLink]) -> SplitSettings {
    let spec = &agent.spec;
    let buffer = spec.buffer.map_or(u64::MAX, |buffer| buffer.0);
    // The agent is a host of its links, and sends what they take whole.
    let mtu = |is_wireless: bool| {
        let there = links.iter().enumerate();
        let there = there.filter(|(_, link)| link.a == agent.at || link.b == agent.at);
        let there = there.filter(|(number, _)| (*number == agent.wireless) == is_wireless);
        let down = |link: &ExpandedLink| {
            let out = if link.a == agent.at {
                &link.down
            } else {
                &link.up
            };
            out.mtu.map(|mtu| mtu.bytes)
        };
        there.filter_map(|(_, link)| down(link)).min()
    };
    let half = |tcp: &Config, mss: u32, fits: Option<u32>, ip: IpVersion| {
        let headers = ip.header_len() + TCP_HEADER_LEN;
        let fits = fits.map_or(u32::MAX, |mtu| mtu.saturating_sub(headers).max(1));
        Arc::new(Config {
            send_buffer: buffer,
            mss: mss.min(fits),
            ..tcp.clone()
        })
    };
    let over_v4 = |tcp: &Config, is_wireless| half(tcp, tcp.mss, mtu(is_wireless), IpVersion::V4);
    // What it sends in another's name over IPv6 no router cuts, nor does it hear that it is
    // too long: it keeps to what every link takes that is one for IPv6.
    let sides = links.iter().flat_map(|link| [&link.down, &link.up]);
    let mtus = sides.filter_map(|side| side.mtu).map(|mtu| mtu.bytes);
    let least = mtus.filter(|&mtu| mtu >= IpVersion::V6.least_mtu()).min();
    let more = IpVersion::V6.header_len() - IpVersion::V4.header_len();
    let over_v6 = |tcp: &Config| {
        let mss = tcp.mss.saturating_sub(more).max(1);
        half(tcp, mss, least, IpVersion::V6)
    };
    let [wireless, wired] = agent.tcp.clone().unwrap_or_default();
    let linger = spec.linger.map_or(Interval::ZERO, |linger| linger.0);
    SplitSettings {
        tcp: [over_v4(&wireless, true), over_v4(&wired, false)],
        tcp6: [over_v6(&wireless), over_v6(&wired)],
        early: spec.open() == OpenName::Early,
        linger: (!linger.is_zero()).then_some(linger),
        stack_delay: spec.stack_delay().0,
        limits: spec.limits(),
    }
}

/// Builds a link.
fn link(link: &ExpandedLink, streams: &Streams) -> Result<Link, RunError> {
    let ends = [
        (Direction::Down, &link.down, link.b),
        (Direction::Up, &link.up, link.a),
    ];
    let [down, up] = ends.map(|(direction, spec, to)| {
        let direction = direction.name();
        let name = format!("link/{}/{direction}", link.name);
        let channel = channel_to_end(spec, streams, &link.name, &name)
            .map_err(|e| RunError::Build(format!("{}.{direction}: {e}", link.name)))?;
        let mut built = Simplex::new(link_config(spec), channel)
            .with_end(NodeId(to as u32))
            .with_mtu(spec.mtu);
        if let Some(plan) = &spec.rate_trace {
            let offset = plan.start.at(process::trace_share(streams, &name));
            built = built.with_pace(Pace::new(Arc::clone(&plan.trace), offset));
        }
        if let Some(traffic) = background::build(&spec.background, streams, &name) {
            built = built.with_background(traffic);
        }
        if let Some(config) = link.header_compression {
            built = built.with_compression(Compression::new(config));
        }
        Ok(built)
    });
    let built = Link::new(down?, up?);
    let one_medium = |built: Link| {
        if link.half_duplex {
            built.half_duplex()
        } else {
            built
        }
    };
    let Some(arq) = &link.arq else {
        return Ok(one_medium(built));
    };
    // The channels act on frames.
    let halves = Direction::BOTH.map(|direction| {
        let here = built.direction(direction);
        let stream = streams.stream(&format!("link/{}/{}/mac", link.name, direction.name()));
        let mac = Mac::new(arq.access[direction as usize], here.config().rate, stream);
        (*here.config(), here.channel().clone(), mac)
    });
    let protocol = ArqLink::new(arq.config, halves)
        .map_err(|e| RunError::Build(format!("{}.arq: {e}", link.name)))?;
    Ok(one_medium(built.with_arq(protocol)))
}

pub(crate) fn link_config(spec: &DirectionSpec) -> LinkConfig {
    LinkConfig {
        rate: spec.rate,
        delay: spec.delay,
        overhead: spec.overhead,
        service: spec.service_time,
        fec: spec.fec,
        queue: queue_limit(spec.queue),
        mark: queue_limit(spec.mark),
        priorities: spec.priorities,
    }
}

fn queue_limit(spec: QueueSpec) -> QueueLimit {
    match spec {
        QueueSpec::Unlimited => QueueLimit::Unlimited,
        QueueSpec::Packets(n) => QueueLimit::Packets(n),
        QueueSpec::Bytes(n) => QueueLimit::Bytes(n),
        // An expanded scenario has its limits in bytes.
        QueueSpec::Bdp { .. } => QueueLimit::Bytes(0),
    }
}

/// Stages of a direction, and the jitter of the host at its end. The stream of that jitter is
/// named after host and link: it draws the same numbers whatever the channel does.
pub(crate) fn channel_to_end(
    spec: &DirectionSpec,
    streams: &Streams,
    link: &str,
    name: &str,
) -> Result<Channel, ChannelError> {
    let Some(end) = &spec.host_jitter else {
        return channel(spec, streams, name);
    };
    let stream = streams.stream(&format!("host/{}/{link}/jitter", end.host));
    let mut stages = channel_stages(spec, streams, name)?;
    stages.push(Stage::Jitter(jitter(&end.jitter, stream)?));
    Ok(Channel::new(stages))
}

/// Stages of a direction, each with a random stream of its own name, so that
/// what one draws does not depend on what else there is.
pub(crate) fn channel(
    spec: &DirectionSpec,
    streams: &Streams,
    name: &str,
) -> Result<Channel, ChannelError> {
    channel_stages(spec, streams, name).map(Channel::new)
}

fn channel_stages(
    spec: &DirectionSpec,
    streams: &Streams,
    name: &str,
) -> Result<Vec<Stage>, ChannelError> {
    let mut stages = Vec::new();
    for (i, group) in spec.channel.iter().enumerate() {
        let place = process::Place {
            rate: spec.rate,
            overhead: spec.overhead,
            fec: spec.fec,
            streams,
            direction: name,
            table: i,
        };
        group_stages(group, &place, &mut stages)?;
    }
    Ok(stages)
}

/// The stages of one table, in the standard order.
fn group_stages(
    group: &ChannelSpec,
    place: &process::Place<'_>,
    stages: &mut Vec<Stage>,
) -> Result<(), ChannelError> {
    let probability = |value: f64| Probability::new(value).map_err(ChannelError::from);
    let stream = |stage: &str| place.stream(stage);
    if let Some(g) = &group.gilbert {
        let stream = stream("gilbert");
        stages.push(match (g.loss, g.burst, g.p, g.r) {
            (Some(loss), Some(Burst::Packets(burst)), ..) => {
                Stage::Gilbert(Gilbert::from_means(probability(loss.0)?, burst, stream)?)
            }
            (Some(loss), Some(Burst::Time(burst)), ..) => {
                let process = GilbertTime::from_means(probability(loss.0)?, burst.0, stream)?;
                Stage::Process(Box::new(process))
            }
            (_, _, p, r) => Stage::Gilbert(Gilbert::new(
                probability(p.map_or(0.0, |p| p.0))?,
                probability(r.map_or(0.0, |r| r.0))?,
                probability(g.h.map_or(0.0, |h| h.0))?,
                probability(g.k.map_or(1.0, |k| k.0))?,
                stream,
            )?),
        });
    }
    if let Some(p) = group.loss {
        stages.push(Stage::Loss(Loss::new(probability(p.0)?, stream("loss"))));
    }
    if let Some(ber) = group.ber {
        let correctable = group.correctable_bits.unwrap_or(0);
        let stage = BitErrors::new(probability(ber.0)?, correctable, stream("ber"));
        stages.push(Stage::BitErrors(match place.fec {
            Some(code) => stage.with_code(code),
            None => stage,
        }));
    }
    group.losses(place, stages)?;
    if let Some(p) = group.corrupt {
        stages.push(Stage::Corrupt(Corrupt::new(
            probability(p.0)?,
            stream("corrupt"),
        )));
    }
    if let Some(p) = group.duplicate {
        stages.push(Stage::Duplicate(Duplicate::new(
            probability(p.0)?,
            stream("duplicate"),
        )));
    }
    if let Some(r) = &group.reorder {
        let p = probability(r.probability.0)?;
        stages.push(Stage::Reorder(Reorder::new(
            p,
            r.delay.0,
            stream("reorder"),
        )));
    }
    if let Some(j) = &group.jitter {
        stages.push(Stage::Jitter(jitter(j, stream("jitter"))?));
    }
    group.delays(place, stages)
}

fn jitter(spec: &JitterSpec, stream: Stream) -> Result<Jitter, ChannelError> {
    let mean = spec.mean.0;
    let spread = spec.spread.map_or(mean, |s| s.0);
    let distribution = match spec.distribution {
        Distribution::Uniform => JitterDistribution::Uniform {
            low: mean - spread,
            high: mean + spread,
        },
        Distribution::Normal => JitterDistribution::Normal {
            mean,
            deviation: spread,
        },
        Distribution::Exponential => JitterDistribution::Exponential { mean },
    };
    Jitter::new(distribution, spec.keep_order, stream)
}

/// Nodes with a route to every destination that some flow has, or `everywhere`.
///
/// All that goes to a node with a single link goes to its neighbour first, so the routes to it are
/// those to the neighbour, but for the last hop. Paths are searched to nodes with several links
/// only, and among these: hosts cost no search, however many there are.
pub(crate) fn nodes(
    scenario: &Expanded,
    links: &Links,
    everywhere: bool,
    monitor: &Monitor,
) -> Result<ById<NodeId, Node>, RunError> {
    let n = scenario.nodes.len();
    // Links by the node they leave, in the order written.
    let mut leaving: Vec<Vec<LinkId>> = vec![Vec::new(); n];
    for (i, link) in (0..).zip(&scenario.links) {
        leaving[link.a].push(LinkId::new(i, Direction::Down));
        leaving[link.b].push(LinkId::new(i, Direction::Up));
    }
    let mut nodes: ById<NodeId, Node> = leaving
        .iter()
        .map(|out| Node {
            routes: if out.len() > 1 {
                vec![LinkId::NONE; n].into()
            } else {
                ById::default()
            },
            only: match out[..] {
                [only] => only,
                _ => LinkId::NONE,
            },
            ident: 0,
            has_agents: false,
        })
        .collect();
    let mut wanted = vec![everywhere; n];
    for flow in &scenario.flows {
        wanted[flow.from] = true;
        wanted[flow.to] = true;
    }
    let far_end = |link: LinkId| links[link].to().index();
    // Destinations by the node with several links that is them or is next to them.
    let mut behind: Vec<Vec<usize>> = vec![Vec::new(); n];
    for to in (0..n).filter(|&to| wanted[to]) {
        match leaving[to][..] {
            [only] => behind[far_end(only)].push(to),
            _ => behind[to].push(to),
        }
    }
    let is_router = |at: usize| leaving[at].len() > 1;
    let mut distance = vec![u32::MAX; n];
    // The nodes found so far, nearest first.
    let mut list = Vec::new();
    for (gate, behind) in behind.iter().enumerate() {
        if behind.is_empty() || !is_router(gate) {
            continue;
        }
        monitor.stopped()?;
        distance[gate] = 0;
        list.push(gate);
        let mut next = 0;
        while let Some(&at) = list.get(next) {
            next += 1;
            for to in leaving[at].iter().map(|&link| far_end(link)) {
                if is_router(to) && distance[to] == u32::MAX {
                    distance[to] = distance[at] + 1;
                    list.push(to);
                }
            }
        }
        for &at in &list[1..] {
            let nearer = |&&link: &&LinkId| {
                let to = far_end(link);
                is_router(to) && distance[to] == distance[at] - 1
            };
            let link = leaving[at].iter().find(nearer).copied();
            let routes = &mut nodes[NodeId(at as u32)].routes;
            for &to in behind {
                routes[NodeId(to as u32)] = link.unwrap_or(LinkId::NONE);
            }
        }
        let routes = &mut nodes[NodeId(gate as u32)].routes;
        for &to in behind.iter().filter(|&&to| to != gate) {
            // The only link of the last node, the other way.
            let last = leaving[to].first();
            routes[NodeId(to as u32)] = last.map_or(LinkId::NONE, |link| link.reverse());
        }
        for at in list.drain(..) {
            distance[at] = u32::MAX;
        }
    }
    for &(at, to, via) in &scenario.routes {
        let link = leaving[at]
            .iter()
            .find(|&&link| links[link].to().index() == via);
        let Some(&link) = link else {
            return Err(RunError::Build(format!(
                "no link from {} to {}",
                scenario.nodes[at], scenario.nodes[via]
            )));
        };
        let routes = &mut nodes[NodeId(at as u32)].routes;
        if let Some(route) = routes.get_mut(NodeId(to as u32)) {
            *route = link;
        }
    }
    Ok(nodes)
}

fn flows(
    scenario: &Expanded,
    streams: &Streams,
    world: &mut World,
    monitor: &Monitor,
) -> Result<(), RunError> {
    let flows = scenario.flows.len() as u32;
    let over_tcp = scenario
        .flows
        .iter()
        .filter(|flow| !matches!(flow.app, App::Udp(_) | App::Xtp(_)));
    let over_tcp = over_tcp.count();
    world.ends.reserve(2 * over_tcp);
    world.flows.reserve(over_tcp);
    world.briefs.reserve(over_tcp);
    world.tallies.reserve(scenario.flows.len());
    for (number, flow) in (0..).zip(&scenario.flows) {
        if (number as usize).is_multiple_of(LOOK_EVERY) {
            monitor.stopped()?;
        }
        let stream = |of: &str| streams.stream(&format!("flow/{}/{of}", flow.name));
        let Some(program) = Program::new(&flow.app, stream) else {
            continue;
        };
        let sender_opens = flow.opens == Opener::Sender;
        let tcps = (&flow.sender, &flow.receiver);
        let mut opening = Opening::new(number, flows, tcps, stream("isn"), sender_opens);
        let ends = opening.first(NodeId(flow.from as u32), NodeId(flow.to as u32));
        for end in ends {
            world.ends.push(end);
        }
        world.tallies.push(Tally::default());
        let patience = &mut world.reassemblies.patience;
        patience.push(flow.reassembly_timeout);
        world.briefs.push(FlowBrief {
            sender_opens,
            ip: Ip::new(flow.ip, flow.dont_fragment),
            reopens: program.reopens(),
            missing: program.completions(),
        });
        let id = world.flows.push(FlowState {
            failed: false,
            stops_after: flow.duration,
            opened_at: Instant::ZERO,
            done_at: None,
            wakes_at: Instant::MAX,
            responses: 0,
            response_sum: Interval::ZERO,
            response_times: None,
            opening: program.reopens().then(|| Box::new(opening)),
            program,
        });
        world.unfinished += 1;
        let start = Instant::ZERO + flow.start;
        world.queue.push(Event::new(start, Kind::Start, id.0, 0));
    }
    let over_tcp = world.flows.len();
    let mut tcp = world.flows.ids();
    let mut over_xtp = 0;
    for (number, flow) in (0..).zip(&scenario.flows) {
        let spec = match flow.app {
            App::Udp(spec) => spec,
            App::Xtp(_) => {
                world.order.push(Slot::Xtp(over_xtp));
                over_xtp += 1;
                continue;
            }
            _ => {
                world.order.extend(tcp.next().map(Slot::Tcp));
                continue;
            }
        };
        let index = world.udp.len();
        world.order.push(Slot::Udp(index));
        world.tallies.push(Tally::default());
        let patience = &mut world.reassemblies.patience;
        patience.push(flow.reassembly_timeout);
        let start = Instant::ZERO + flow.start;
        world.udp.push(UdpFlow::new(
            FlowId((over_tcp + index) as u32),
            (NodeId(flow.from as u32), NodeId(flow.to as u32)),
            udp_ports(number),
            Ip::new(flow.ip, flow.dont_fragment),
            spec,
            streams.stream(&format!("flow/{}/on-off", flow.name)),
            start,
        ));
        world.unfinished += 1;
        let first = Event::new(start, Kind::Datagram, index as u32, 0);
        world.queue.push(first);
    }
    flows_over_xtp(scenario, world);
    Ok(())
}

/// Builds the flows over XTP, which are numbered behind all others.
fn flows_over_xtp(scenario: &Expanded, world: &mut World) {
    for (number, flow) in (0..).zip(&scenario.flows) {
        let App::Xtp(spec) = flow.app else {
            continue;
        };
        let before = world.udp.len() + world.xtp.len();
        world.tallies.push(Tally::default());
        let patience = &mut world.reassemblies.patience;
        patience.push(flow.reassembly_timeout);
        let start = Instant::ZERO + flow.start;
        world.xtp.push(XtpFlow::new(
            FlowId((world.flows.len() + before) as u32),
            (NodeId(flow.from as u32), NodeId(flow.to as u32)),
            udp_ports(number),
            Ip::new(flow.ip, flow.dont_fragment),
            &spec,
            start,
        ));
        world.unfinished += 1;
        let first = Event::new(start, Kind::Datagram, before as u32, 0);
        world.queue.push(first);
    }
}

#[cfg(test)]
mod channel_tests;
#[cfg(test)]
mod radio_tests;
#[cfg(test)]
mod route_tests;
