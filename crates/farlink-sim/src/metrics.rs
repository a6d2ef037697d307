//! What a run is summed up in: every metric, and its value at the end of a run.

mod definitions;

use crate::flow::EndId;
use crate::quantile::Quantiles;
use crate::world::{Slot, World};
use definitions::{FLOW, LINK, RUN};
use farlink_net::arq::FrameKind;
use farlink_net::channel::DropCause;
use farlink_net::header_compression::Compression;
use farlink_net::{ById, FlowId, Id, LinkId, NodeId};
use farlink_tcp::{Instant, Limit};
use serde::Serialize;

/// What a metric is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// A flow.
    Flow,
    /// One direction of a link.
    Link,
    /// A run as a whole.
    Run,
}

/// A metric.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Metric {
    /// Name in results.
    pub name: String,
    /// What it is of.
    pub scope: Scope,
    /// Unit; empty for numbers without one.
    pub unit: &'static str,
    /// What is measured, exactly.
    pub definition: String,
}

/// Values of one flow or direction, in the order of [`metrics`]; `None` where
/// there was nothing to measure.
///
/// A run of a thousand flows has a hundred thousand of them, more than all its
/// connections take: `None` is kept as NaN, which nothing measured is.
#[derive(Clone, Debug)]
pub(crate) struct Values(Box<[f64]>);

impl Values {
    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        self.0.iter().map(|&x| (!x.is_nan()).then_some(x))
    }

    pub(crate) fn to_vec(&self) -> Vec<f64> {
        self.0.to_vec()
    }

    /// The first: goodput of a flow.
    fn first(&self) -> Option<f64> {
        self.iter().next()?
    }
}

impl FromIterator<Option<f64>> for Values {
    fn from_iter<T: IntoIterator<Item = Option<f64>>>(iter: T) -> Self {
        Self(iter.into_iter().map(|x| x.unwrap_or(f64::NAN)).collect())
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// Where `fair_share` is among the metrics of a flow; goodput comes first.
const FAIR_SHARE: usize = 20;
/// And these.
const OVER_RUN: usize = 21;
const DELIVERED: usize = 2;

/// Every metric, flows first.
pub fn metrics() -> Vec<Metric> {
    let table = |scope, rows: &[(&str, &'static str, &str)]| -> Vec<Metric> {
        rows.iter()
            .map(|&(name, unit, definition)| Metric {
                name: name.to_owned(),
                scope,
                unit,
                definition: definition.to_owned(),
            })
            .collect()
    };
    let mut all = table(Scope::Flow, FLOW);
    all.extend(DropCause::ALL.iter().map(|cause| Metric {
        name: format!("lost_{}", cause.name()),
        scope: Scope::Flow,
        unit: "",
        definition: format!(
            "packets from the sending end that were lost, cause {}",
            cause.name()
        ),
    }));
    all.extend(table(Scope::Link, LINK));
    all.extend(DropCause::ALL.iter().map(|cause| Metric {
        name: format!("drops_{}", cause.name()),
        scope: Scope::Link,
        unit: "",
        definition: format!("packets lost, cause {}", cause.name()),
    }));
    all.extend(table(Scope::Run, RUN));
    all
}

/// Names of the causes of loss, in the order of their numbers in traces.
pub fn drop_causes() -> Vec<&'static str> {
    DropCause::ALL.iter().map(|cause| cause.name()).collect()
}

/// Names of what limits a sender, in the order of their numbers in traces.
pub fn limits() -> Vec<&'static str> {
    Limit::ALL.map(Limit::name).to_vec()
}

/// Names of the kinds of frames, in the order of their numbers in traces.
pub fn frame_kinds() -> Vec<&'static str> {
    FrameKind::NAMES.to_vec()
}

/// Values of every flow at the end of the run.
pub(crate) fn of_flows(world: &World) -> Vec<Values> {
    let mut flows: Vec<_> = world
        .order
        .iter()
        .map(|&slot| of_flow(world, slot))
        .collect();
    let run = world.now.as_secs_f64();
    for values in &mut flows {
        values.0[OVER_RUN] = values.0[DELIVERED] * 8.0 / run;
    }
    let sum: f64 = flows.iter().filter_map(Values::first).sum();
    if flows.len() > 1 && sum > 0.0 {
        let mean = sum / flows.len() as f64;
        for values in &mut flows {
            values.0[FAIR_SHARE] = values.0[0] / mean;
        }
    }
    flows
}

/// Values of a flow, but for its share of the whole.
fn of_flow(world: &World, slot: Slot) -> Values {
    let (values, number) = match slot {
        Slot::Tcp(index) => (of_tcp(world, index), index),
        Slot::Udp(index) => {
            let number = FlowId::at((world.flows.len() + index) as u32);
            (of_datagrams(world, index), number)
        }
    };
    let lost = world.tallies[number].forward;
    let lost = lost.map(|n| Some(n as f64));
    values.into_iter().chain(lost).collect()
}

fn of_datagrams(world: &World, index: usize) -> Vec<Option<f64>> {
    let flow = &world.udp[index];
    let (source, sink) = (&flow.source, &flow.sink);
    let started = source.sent > 0;
    let ended = match flow.ended_at {
        Some(ended) if flow.done => ended,
        Some(ended) => ended.min(world.now),
        None => world.now,
    };
    let duration = ended.since(source.started()).as_secs_f64();
    let bytes = sink.received * u64::from(source.packet());
    // A queue on the way stretches what the source sent.
    let arriving = sink
        .span(source.started())
        .map_or(0.0, farlink_tcp::Interval::as_secs_f64);
    let rated = duration.max(arriving);
    let count = |n: u64| Some(n as f64);
    let seconds = |nanos: Option<f64>| nanos.map(|nanos| nanos / 1e9);
    let whole = |nanos: Option<u64>| nanos.map(|nanos| nanos as f64 / 1e9);
    let mut out = vec![
        (started && rated > 0.0).then(|| bytes as f64 * 8.0 / rated),
        started.then_some(duration),
        count(bytes),
        Some(f64::from(u8::from(flow.ended_at.is_some()))),
    ];
    // What follows is about TCP and answers, up to the metrics of datagrams.
    let datagrams = FLOW.iter().position(|metric| metric.0 == "datagrams_sent");
    out.resize(datagrams.unwrap_or_default(), None);
    let lost = flow.lost();
    let known = lost + sink.received;
    let delays = sink.delays();
    out.extend([
        count(source.sent),
        count(sink.received),
        count(lost),
        count(sink.duplicated),
        count(sink.reordered),
        (known > 0).then(|| lost as f64 / known as f64),
        count(flow.longest_loss()),
        seconds(sink.delay_mean()),
        seconds(sink.delay_deviation()),
        whole(delays.least()),
        whole(delays.most()),
        whole(delays.percentile(99)),
        seconds(sink.jitter()),
    ]);
    out
}

fn of_tcp(world: &World, flow: FlowId) -> Vec<Option<f64>> {
    let state = &world.flows[flow];
    let [from, to] = EndId::both(flow).map(|end| &world.ends[end]);
    let end = state.done_at.unwrap_or(world.now);
    let started = state.done_at.is_some() || from.live;
    let span = |until: Instant| until.since(state.opened_at).as_secs_f64();
    let until = |end_complete: Option<Instant>| end_complete.unwrap_or(end);
    let duration = span(until(to.complete_at));
    let rate =
        |bytes: u64, seconds: f64| (started && seconds > 0.0).then(|| bytes as f64 * 8.0 / seconds);
    let bulk = state.stops_after.is_some();
    let completed = state.missing == 0 || (bulk && !state.failed);
    let stats = from.stats();
    let mean = |sum: u64, n: u64| (n > 0).then(|| sum as f64 / n as f64 / 1e9);
    let count = |n: u64| Some(n as f64);
    let responses = state.response_times.as_deref();
    let seconds = |nanos: Option<u64>| nanos.map(|nanos| nanos as f64 / 1e9);
    let tally = &world.tallies[flow];
    let times = tally
        .times
        .unwrap_or_else(|| from.times(state.opened_at, end));
    let [idle, slow_start, avoidance, recovery] = times.phases.map(|time| Some(time as f64 / 1e9));
    let all: u64 = times.limits.iter().sum();
    let limited = times
        .limits
        .map(|time| (all > 0).then(|| time as f64 / all as f64));
    let mut values = vec![
        rate(to.received, duration),
        started.then_some(duration),
        count(to.received),
        Some(f64::from(u8::from(completed))),
        if state.program.reverse() {
            rate(from.received, span(until(from.complete_at)))
        } else {
            None
        },
        count(stats.segments_sent),
        count(stats.segments_retransmitted),
        count(stats.timeouts),
        count(stats.fast_retransmits),
        count(stats.dup_acks),
        count(to.stats().acks_sent),
        mean(stats.rtt_sum, stats.rtt_samples),
        stats.rtt_min.map(farlink_tcp::Interval::as_secs_f64),
        (stats.rtt_samples > 0).then(|| stats.rtt_max.as_secs_f64()),
        mean(stats.rto_sum, stats.rtt_samples),
        count(stats.probes),
        count(stats.tail_probes),
        count(stats.undos),
        if state.program.responds() {
            count(state.responses)
        } else {
            None
        },
        mean(state.response_sum.as_nanos(), state.responses),
        None,
        None,
        slow_start,
        avoidance,
        recovery,
        idle,
    ];
    values.extend(limited);
    values.extend([
        started.then(|| from.largest_peer_window() as f64),
        count(tally.back),
        count(stats.dummies_sent),
        count(stats.dummies_acked),
        seconds(responses.and_then(|times| times.percentile(95))),
        seconds(responses.and_then(Quantiles::most)),
        tally.transit.mean_nanos().map(|nanos| nanos / 1e9),
        count(to.stats().segments_out_of_order),
        count(to.stats().segments_duplicate),
        count(stats.timeouts_repeated),
    ]);
    values.resize(FLOW.len(), None);
    values
}

/// Segments of data, and datagrams received, that had to cross each link.
pub(crate) fn needed(world: &World) -> ById<LinkId, u64> {
    let mut needed = world.links.ids().map(|_| 0).collect::<ById<_, _>>();
    let mut cross = |from: NodeId, to: NodeId, packets: u64| {
        let mut at = from;
        // No path is longer than there are nodes, unless routes go round.
        for _ in 0..world.nodes.len() {
            if at == to {
                break;
            }
            let link = world.nodes[at].next_hop(to);
            needed[link] += packets;
            at = world.links[link].to();
        }
    };
    for [from, to] in world.ends.as_chunks().0 {
        for (a, b) in [(from, to), (to, from)] {
            let segments = b.received.div_ceil(u64::from(a.conn.mss().max(1)));
            cross(a.node, b.node, segments);
        }
    }
    for flow in &world.udp {
        let [from, to] = flow.nodes();
        cross(from, to, flow.sink.received);
    }
    needed
}

/// Values of a directed link at the end of a run of `period` nanoseconds.
pub(crate) fn of_link(world: &World, link: LinkId, needed: u64, period: u64) -> Values {
    let here = &world.links[link];
    let offered = {
        let other = here.background_stats();
        other.packets + other.drops
    };
    let (stats, other) = world.links.stats_at(link, world.now);
    let from = link.direction() as usize;
    let line = world.links.arq(link);
    let low_full = stats.low_drops[DropCause::Congestion as usize];
    let share = |x: f64| (period > 0).then(|| x / period as f64);
    let mut out = vec![
        share(stats.busy as f64).map(|x| x.min(1.0)),
        share(stats.bytes as f64 * 8e9),
        Some(stats.packets as f64),
        Some(stats.bytes as f64),
        Some(stats.queue_max as f64),
        Some(stats.drops.iter().sum::<u64>() as f64),
        Some(stats.marks as f64),
        Some(stats.low_packets as f64),
        Some(low_full as f64),
        Some((stats.low_drops.iter().sum::<u64>() - low_full) as f64),
        (stats.data > 0).then(|| needed as f64 / stats.data as f64),
        here.has_background()
            .then(|| share(other.bytes as f64 * 8e9))
            .flatten(),
        (offered > 0).then(|| other.drops as f64 / offered as f64),
    ];
    match line {
        Some(line) => {
            let frames = line.line_stats(from);
            let mean = frames.delay as f64 / 1e9 / frames.accepted as f64;
            let counts = [
                frames.information,
                frames.retransmitted,
                frames.supervisory,
                frames.lost,
                frames.duplicates,
                frames.discarded,
                frames.resets,
                frames.competing,
            ];
            out.extend(counts.map(|n| Some(n as f64)));
            out.push((frames.accepted > 0).then_some(mean));
            out.push(share(line.window_area(from, world.now) as f64));
            out.push(Some(frames.window_max as f64));
            out.push(Some(frames.access_failures as f64));
        }
        None => out.extend([None; 12]),
    }
    match here.compression().map(Compression::stats) {
        Some(of) => {
            let counts = [
                of.compressed,
                of.uncompressed,
                of.ip,
                of.saved,
                of.tossed,
                of.wrong,
            ];
            out.extend(counts.map(|n| Some(n as f64)));
        }
        None => out.extend([None; 6]),
    }
    let drops = stats.drops.iter().map(|&n| Some(n as f64));
    out.into_iter().chain(drops).collect()
}

/// Values of a run whose flows have these values, and so many of which were cut off.
pub(crate) fn of_run(flows: &[Values], unfinished: usize) -> Values {
    let fairness = |which: usize| {
        let shares: Vec<f64> = flows
            .iter()
            .filter_map(|values| values.iter().nth(which)?)
            .collect();
        (flows.len() > 1).then(|| jain(&shares)).flatten()
    };
    // Goodput comes first among the metrics of a flow.
    [fairness(0), fairness(OVER_RUN), Some(unfinished as f64)]
        .into_iter()
        .collect()
}

/// Jain, Chiu and Hawe 1984, eq. 2; `None` if nobody got anything.
fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::load;

    #[test]
    fn every_metric_has_a_value_and_every_value_a_metric() {
        let text = "[[links]]\nbetween = [\"a\", \"b\"]\ndown = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n\
                    [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\n";
        let scenario = load(text, "test", &[]).unwrap().expand().unwrap();
        let world = crate::build::build(&scenario, 0, &crate::Monitor::default()).unwrap();
        let named = |scope| metrics().iter().filter(|m| m.scope == scope).count();
        let len = |values: Values| values.iter().count();
        assert_eq!(len(of_flow(&world, world.order[0])), named(Scope::Flow));
        assert_eq!(metrics()[FAIR_SHARE].name, "fair_share");
        assert_eq!(metrics()[OVER_RUN].name, "goodput_over_run");
        assert_eq!(metrics()[DELIVERED].name, "bytes_delivered");
        assert_eq!(metrics()[0].name, "goodput");
        let limited: Vec<_> = FLOW
            .iter()
            .filter_map(|row| row.0.strip_prefix("limited_"))
            .collect();
        assert_eq!(limited, limits());
        assert_eq!(len(of_link(&world, LinkId(0), 0, 1)), named(Scope::Link));
        assert_eq!(len(of_run(&[], 0)), named(Scope::Run));
    }

    #[test]
    fn fairness_in_closed_form() {
        let index = |shares: &[f64]| {
            let flows: Vec<Values> = shares
                .iter()
                .map(|&x| [Some(x)].into_iter().collect())
                .collect();
            of_run(&flows, 0).first()
        };
        assert_eq!(index(&[5.0, 5.0, 5.0, 5.0]), Some(1.0));
        assert_eq!(index(&[7.0, 0.0, 0.0, 0.0]), Some(0.25));
        // k of n have the same and the others nothing: k / n.
        assert_eq!(index(&[2.0, 2.0, 2.0, 0.0]), Some(0.75));
        assert_eq!(index(&[1.0, 2.0, 3.0]), Some(36.0 / (3.0 * 14.0)));
        assert_eq!(index(&[1.0]), None);
        assert_eq!(index(&[0.0, 0.0]), None);
    }
}
