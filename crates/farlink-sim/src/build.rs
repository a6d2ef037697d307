//! Builds a world from an expanded scenario.

use crate::event_queue::MAX_SOURCES;
use crate::monitor::{Monitor, RunError};
use crate::scenario::{
    AgentHandoff, AgentName, Burst, ChannelSpec, DirectionSpec, Distribution, Expanded,
    ExpandedAgent, ExpandedLink, JitterSpec, OpenName, QueueSpec, QueuedName, background,
    build_classes, process,
};
use crate::world::{Handing, Mover, Plan, World};
use farlink_agent::{
    Agent, Ebsn, Eln, Leaving, Snoop, Split, SplitSettings, Spoof, SpoofSettings, Thin,
};
use farlink_channel::rng::{Probability, Stream, Streams};
use farlink_channel::trace::Pace;
use farlink_channel::{
    BitErrors, Channel, ChannelError, Contacts, Corrupt, Distribution as JitterDistribution,
    Duplicate, Gilbert, GilbertTime, Jitter, Loss, Reorder, Stage,
};
use farlink_link::arq::ArqLink;
use farlink_link::header_compression::Compression;
use farlink_link::mac::Mac;
use farlink_link::{Link, LinkConfig, Links, QueueLimit, Simplex};
use farlink_tcp::segment::TCP_HEADER_LEN;
use farlink_tcp::{Config, Instant, Interval, IpVersion};
use farlink_wire::{Direction, NodeId};
use std::sync::Arc;

mod flows;
mod routes;

pub(crate) use routes::nodes;

/// Number of links and flows built between two checks of the monitor.
const CHECK_EVERY: usize = 1 << 12;

/// Builds the world of run number `run`.
pub(crate) fn build(scenario: &Expanded, run: u64, monitor: &Monitor) -> Result<World, RunError> {
    let mut world = network(scenario, run, monitor)?;
    let streams = Streams::new(scenario.seed, run);
    flows::add(scenario, &streams, &mut world, monitor)?;
    world.prefetch.is_on = world.is_large();
    world.prefetch.by_hop = world.has_many_links();
    Ok(world)
}

/// Builds the nodes and links of run number `run`, without flows.
pub(crate) fn network(scenario: &Expanded, run: u64, monitor: &Monitor) -> Result<World, RunError> {
    let streams = Streams::new(scenario.seed, run);
    let mut links = Links::default();
    for (number, link) in scenario.links.iter().enumerate() {
        if number.is_multiple_of(CHECK_EVERY) {
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
    let later = routes::later(scenario, &links)?;
    let mut world = World::new(nodes, links);
    world.plan_routes(later);
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
    // Link protocols may have frames to send at the start.
    for id in world.links.ids() {
        world.watch(id);
    }
    Ok(world)
}

/// Adds the moving hosts, and sets the fate of agents' state at a handoff.
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
        AgentName::Thin => Box::new(Thin::new(agent.spec.thin())),
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
    // The agent acts as a host of its links, so their MTUs limit its packets.
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
    // Over IPv6, routers do not fragment packets. "Packet too big" messages do not reach the agent,
    // because its packets have the address of another host. Its packets are therefore short enough
    // for every link whose MTU allows IPv6.
    let sides = links.iter().flat_map(|link| [&link.down, &link.up]);
    let mtus = sides.filter_map(|side| side.mtu).map(|mtu| mtu.bytes);
    let min = mtus.filter(|&mtu| mtu >= IpVersion::V6.least_mtu()).min();
    let more = IpVersion::V6.header_len() - IpVersion::V4.header_len();
    let over_v6 = |tcp: &Config| {
        let mss = tcp.mss.saturating_sub(more).max(1);
        half(tcp, mss, min, IpVersion::V6)
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
        far: spec.far(),
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
        let stream = |class| streams.stream(&format!("{name}/class{class}/discipline"));
        let shared = spec.discipline.as_ref();
        if let Some(classes) =
            build_classes(&spec.classes, shared, built.config(), queue_limit, stream)
        {
            built = built.with_discipline(classes);
        } else if let Some(discipline) = &spec.discipline {
            let stream = streams.stream(&format!("{name}/discipline"));
            if let Some(discipline) = discipline.build(built.config(), stream) {
                built = built.with_discipline(discipline);
            }
        }
        built = built.with_super_packets(spec.super_packet);
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
    // The channels of an ARQ link act on frames.
    let round_trip = link.down.delay + link.up.delay;
    let halves = Direction::BOTH.map(|direction| {
        let here = built.direction(direction);
        let stream = streams.stream(&format!("link/{}/{}/mac", link.name, direction.name()));
        let access = arq.access[direction as usize].over(round_trip);
        let mac = Mac::new(access, here.config().rate, stream);
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
        // Expansion has replaced limits in bandwidth-delay products and times by limits in bytes.
        QueueSpec::Bdp { .. } | QueueSpec::Time(_) => QueueLimit::Bytes(0),
    }
}

/// Returns the stages of a direction, followed by the jitter of the host at its end. The random
/// stream of the jitter is named after host and link, so it does not depend on the channel.
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

/// Returns the stages of a direction. Each has a random stream with its own name, so its draws do
/// not depend on other stages.
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
    if let Some(plan) = &spec.contacts {
        let contacts = Contacts::new(Arc::clone(plan));
        stages.push(Stage::Process(Box::new(contacts)));
    }
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

/// Returns the stages of one channel table, in the standard order.
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

#[cfg(test)]
mod channel_tests;
#[cfg(test)]
mod radio_tests;
