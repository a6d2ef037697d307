//! Builds the flows of a world: TCP flows first, then UDP flows, then XTP flows, then
//! QUIC flows.

use crate::app::Program;
use crate::event_queue::{Event, Kind};
use crate::flow::{EndId, FlowState, Opening, udp_ports};
use crate::monitor::{Monitor, RunError};
use crate::quic::{Ends, Pages, QuicFlow, Route, Running};
use crate::scenario::{App, Expanded, ExpandedFlow, Opener, Subflow};
use crate::udp::UdpFlow;
use crate::world::{FlowCounters, FlowHot, FlowKind, Form, World};
use crate::xtp::XtpFlow;
use farlink_channel::rng::Streams;
use farlink_tcp::config::Nagle;
use farlink_tcp::{Instant, Interval};
use farlink_wire::{FlowId, Ip, NodeId};

/// Adds the flows of a scenario to a world.
pub(super) fn add(
    scenario: &Expanded,
    streams: &Streams,
    world: &mut World,
    monitor: &Monitor,
) -> Result<(), RunError> {
    world.order = kinds(scenario);
    let is_tcp = |kind: &&FlowKind| matches!(kind, FlowKind::Tcp(_));
    let over_tcp = world.order.iter().filter(is_tcp).count();
    world.ends.reserve_long(2 * over_tcp);
    world.flows.reserve(over_tcp);
    world.hot.reserve(over_tcp);
    world.counters.reserve_long(scenario.flows.len());
    for (number, flow) in (0..).zip(&scenario.flows) {
        if (number as usize).is_multiple_of(super::CHECK_EVERY) {
            monitor.stopped()?;
        }
        let stream = |of: &str| streams.stream(&format!("flow/{}/{of}", flow.name));
        let app = match flow.subflow {
            // The connection has the data. A subflow carries what it gets.
            Some(_) => &App::Bulk,
            None => &flow.app,
        };
        let Some(program) = Program::new(app, stream) else {
            continue;
        };
        let sender_opens = flow.opens == Opener::Sender;
        let tcps = (&flow.sender, &flow.receiver);
        let flows = scenario.flows.len() as u32;
        let mut opening = Opening::new(number, flows, tcps, stream("isn"), sender_opens);
        let (from, to) = nodes(flow);
        for end in opening.first(from, to) {
            world.ends.push(end);
        }
        world.hot.push(FlowHot {
            sender_opens,
            ip: Ip::new(flow.ip, flow.dont_fragment),
            dscp: flow.dscp,
            joins: tcps.0.receiver.gro.or(tcps.1.receiver.gro).is_some(),
            form: match (flow.subflow, program.reopens()) {
                (Some(_), _) => Form::Subflow,
                (None, true) => Form::Reopens,
                (None, false) => Form::Single,
            },
            ends_pending: program.completions(),
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
        if let Some(place) = flow.subflow {
            add_subflow(world, flow, id, place);
        } else {
            start(world, flow, Kind::Start, id.0);
        }
    }
    add_datagrams(scenario, streams, world);
    add_over_xtp(scenario, world);
    add_over_quic(scenario, streams, world)
}

/// Adds a subflow to its connection. The first subflow starts the others.
fn add_subflow(world: &mut World, flow: &ExpandedFlow, id: FlowId, place: Subflow) {
    let size = match flow.app {
        App::File { size, .. } => size,
        _ => u64::MAX,
    };
    let receiver = &flow.receiver.receiver;
    let window = receiver
        .buffer_max
        .map_or(receiver.buffer, |max| max.max(receiver.buffer));
    world.hosts.multipath.add(id, place, size, window);
    for end in EndId::both(id) {
        world.ends[end].conn.set_nagle(Nagle::Off);
    }
    if place.path == 0 {
        start(world, flow, Kind::Start, id.0);
    } else {
        prepare(world, flow);
    }
}

/// Returns for each flow its kind and its index among the flows of this kind.
fn kinds(scenario: &Expanded) -> Vec<FlowKind> {
    let (mut tcp, mut udp, mut xtp, mut quic) = (0.., 0.., 0.., 0..);
    let kind = |flow: &ExpandedFlow| match flow.app {
        App::Udp(_) => udp.next().map(FlowKind::Udp),
        App::Xtp(_) => xtp.next().map(FlowKind::Xtp),
        App::Quic(_) => quic.next().map(FlowKind::Quic),
        _ => tcp.next().map(|number| FlowKind::Tcp(FlowId(number))),
    };
    scenario.flows.iter().filter_map(kind).collect()
}

fn nodes(flow: &ExpandedFlow) -> (NodeId, NodeId) {
    (NodeId(flow.from as u32), NodeId(flow.to as u32))
}

/// Adds the state that flows of all kinds have.
fn prepare(world: &mut World, flow: &ExpandedFlow) {
    world.counters.push(FlowCounters::default());
    world.reassemblies.timeouts.push(flow.reassembly_timeout);
    world.completion.unfinished += 1;
}

/// Adds the first event of a flow, and the state that flows of all kinds have.
fn start(world: &mut World, flow: &ExpandedFlow, kind: Kind, number: u32) {
    prepare(world, flow);
    let at = Instant::ZERO + flow.start;
    world.queue.push(Event::new(at, kind, number, 0));
}

/// Adds the UDP flows. Their numbers follow those of the TCP flows.
fn add_datagrams(scenario: &Expanded, streams: &Streams, world: &mut World) {
    for (number, flow) in (0..).zip(&scenario.flows) {
        let App::Udp(spec) = flow.app else {
            continue;
        };
        let index = world.udp.len();
        world.udp.push(UdpFlow::new(
            FlowId((world.flows.len() + index) as u32),
            nodes(flow),
            udp_ports(number),
            (Ip::new(flow.ip, flow.dont_fragment), flow.dscp),
            spec,
            streams.stream(&format!("flow/{}/on-off", flow.name)),
            Instant::ZERO + flow.start,
        ));
        start(world, flow, Kind::Datagram, index as u32);
    }
}

/// Adds the XTP flows. Their numbers follow those of the UDP flows.
fn add_over_xtp(scenario: &Expanded, world: &mut World) {
    for (number, flow) in (0..).zip(&scenario.flows) {
        let App::Xtp(spec) = flow.app else {
            continue;
        };
        let before = world.udp.len() + world.xtp.len();
        world.xtp.push(XtpFlow::new(
            FlowId((world.flows.len() + before) as u32),
            nodes(flow),
            udp_ports(number),
            (Ip::new(flow.ip, flow.dont_fragment), flow.dscp),
            &spec,
            Instant::ZERO + flow.start,
        ));
        start(world, flow, Kind::Datagram, before as u32);
    }
}

/// Adds the QUIC flows. Their numbers follow those of the XTP flows.
#[cfg_attr(not(feature = "quic"), allow(unreachable_code))]
fn add_over_quic(
    scenario: &Expanded,
    streams: &Streams,
    world: &mut World,
) -> Result<(), RunError> {
    for (number, flow) in (0..).zip(&scenario.flows) {
        let App::Quic(spec) = flow.app else {
            continue;
        };
        let before = world.udp.len() + world.xtp.len() + world.quic.len();
        let random = streams.stream(&format!("flow/{}/quic", flow.name));
        let opens = flow.opens == Opener::Sender;
        let ends = Ends::new(&spec, opens, flow.dont_fragment, random).map_err(RunError::Build)?;
        let web = || streams.stream(&format!("flow/{}/web", flow.name));
        let pages = spec.pages().map(|pages| Box::new(Pages::new(pages, web())));
        let own = |name: &str| streams.stream(&format!("flow/{}/{name}", flow.name));
        let program = spec
            .program()
            .and_then(|program| Program::new(&program.app(), own));
        let program = program.map(|program| Box::new(Running::new(program)));
        let route = Route {
            nodes: nodes(flow).into(),
            ports: udp_ports(number),
            ip: Ip::new(flow.ip, flow.dont_fragment),
            dscp: flow.dscp,
        };
        world.quic.push(QuicFlow::new(
            FlowId((world.flows.len() + before) as u32),
            route,
            &spec,
            ends,
            (pages, program),
            Instant::ZERO + flow.start,
            flow.duration,
        ));
        start(world, flow, Kind::Datagram, before as u32);
    }
    Ok(())
}
