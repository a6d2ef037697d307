//! Expanded scenario: numbered nodes, single links, and single flows with complete TCP
//! configurations.

use super::agent::ExpandedAgent;
use super::app::App;
use super::arq::ArqLink;
use super::background::BackgroundSpec;
use super::channel::{ChannelSpec, JitterSpec};
use super::classes::ClassSpec;
use super::discipline::{DisciplineName, DisciplineSpec};
use super::flow::Opener;
use super::handoff::ExpandedHandoff;
use super::multipath::Subflow;
use super::queue::QueueSpec;
use super::trace::RatePlan;
use farlink_channel::fec::BlockCode;
use farlink_channel::trace::ContactPlan;
use farlink_tcp::config::Config;
use farlink_tcp::time::Interval;
use farlink_tcp::{Dscp, IpVersion};
use farlink_wire::fragment::Mtu;
use farlink_wire::rfc1144;
use std::sync::Arc;

/// A scenario with every count and `{}` expanded.
#[derive(Clone, PartialEq, Debug)]
pub struct Expanded {
    /// Seed of every random stream.
    pub seed: u64,
    /// End of the run; `None` for a run that ends when every flow has ended.
    pub duration: Option<Interval>,
    /// Simulated time at which a run without `duration` is stopped.
    pub max_duration: Interval,
    /// Names of the nodes. Indices of nodes refer to this list.
    pub nodes: Vec<String>,
    /// Links, in the order in the scenario.
    pub links: Vec<ExpandedLink>,
    /// Static routes as (at, to, via).
    pub routes: Vec<(usize, usize, usize)>,
    /// Routes that begin during the run, in the order of their times.
    pub route_changes: Vec<RouteChange>,
    /// Agents, in the order in the scenario.
    pub agents: Vec<ExpandedAgent>,
    /// Hosts that move, in the order in the scenario.
    pub handoffs: Vec<ExpandedHandoff>,
    /// Flows, in the order written.
    pub flows: Vec<ExpandedFlow>,
}

impl Expanded {
    /// Returns whether a queue or a flow has a class in Python.
    pub fn has_python_classes(&self) -> bool {
        let directions = self.links.iter().flat_map(|link| [&link.down, &link.up]);
        let mut queues = directions.flat_map(|direction| {
            let own = direction.classes.iter().map(|class| &class.discipline);
            own.chain([&direction.discipline]).flatten()
        });
        let in_python = |spec: &DisciplineSpec| spec.method() == DisciplineName::Python;
        queues.any(in_python) || self.flows.iter().any(|flow| flow.app.source().is_some())
    }
}

/// Static routes (node, destination, next node), and routes that begin later, by time.
#[derive(Default)]
pub(crate) struct Routes {
    pub(crate) fixed: Vec<(usize, usize, usize)>,
    pub(crate) changes: Vec<RouteChange>,
}

impl Routes {
    /// Returns the hops towards `to` of all routes that begin later.
    pub(crate) fn later_hops(&self, to: usize) -> impl Iterator<Item = (usize, usize)> {
        let changes = self.changes.iter().filter(move |change| change.to == to);
        changes.map(|change| (change.at, change.via))
    }
}

/// Route that begins during a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteChange {
    /// Time from the start of the run.
    pub start: Interval,
    /// Node that forwards the packets.
    pub at: usize,
    /// Destination of the packets.
    pub to: usize,
    /// Neighbour of `at` to which the packets are sent.
    pub via: usize,
    /// Number of the entry in the scenario.
    pub entry: usize,
}

/// Link.
#[derive(Clone, PartialEq, Debug)]
pub struct ExpandedLink {
    /// Name, unique among the links.
    pub name: String,
    /// Node at the start of the direction down.
    pub a: usize,
    /// Node at the start of the direction up.
    pub b: usize,
    /// Direction from `a` to `b`.
    pub down: DirectionSpec,
    /// Direction from `b` to `a`.
    pub up: DirectionSpec,
    /// Set if both directions share one medium.
    pub half_duplex: bool,
    /// Link protocol at both ends.
    pub arq: Option<ArqLink>,
    /// Header compression of both directions.
    pub header_compression: Option<rfc1144::Config>,
}

/// Direction of a link.
#[derive(Clone, PartialEq, Debug)]
pub struct DirectionSpec {
    /// Rate of the transmitter in bit/s, or the mean rate of its trace.
    pub rate: u64,
    /// Rate over time, which replaces `rate`.
    pub rate_trace: Option<RatePlan>,
    /// Contact plan, whose rates are those of `rate_trace`.
    pub contacts: Option<Arc<ContactPlan>>,
    /// One-way propagation delay.
    pub delay: Interval,
    /// Framing per packet in bytes.
    pub overhead: u32,
    /// Time that the transmitter needs for each packet in addition to its bits.
    pub service_time: Interval,
    /// Block code over each packet.
    pub fec: Option<BlockCode>,
    /// Limit of packets that wait for the transmitter.
    pub queue: QueueSpec,
    /// Queue discipline in place of the FIFO queue.
    pub discipline: Option<DisciplineSpec>,
    /// Classes by Diffserv codepoint; empty for a single queue.
    pub classes: Vec<ClassSpec>,
    /// Queue length above which ECN-capable packets are marked.
    pub mark: QueueSpec,
    /// Set if packets of low priority have a class of their own.
    pub priorities: bool,
    /// Largest number of segments of a super-packet; 0 without super-packets.
    pub super_packet: u32,
    /// MTU, and the rule by which longer packets are cut.
    pub mtu: Option<Mtu>,
    /// Stages in the order in which packets pass them.
    pub channel: Vec<ChannelSpec>,
    /// Cross traffic.
    pub background: Vec<BackgroundSpec>,
    /// Jitter of the host at the end of this direction.
    pub host_jitter: Option<HostJitter>,
}

/// Jitter of a host.
#[derive(Clone, PartialEq, Debug)]
pub struct HostJitter {
    /// Name of the host.
    pub host: String,
    /// Distribution of the delay, and whether packets stay in order.
    pub jitter: JitterSpec,
}

/// Flow.
#[derive(Clone, PartialEq, Debug)]
pub struct ExpandedFlow {
    /// Name, unique among the flows.
    pub name: String,
    /// Node that sends the data.
    pub from: usize,
    /// Node that receives the data.
    pub to: usize,
    /// Application.
    pub app: App,
    /// Time of the first SYN, or of the first datagram.
    pub start: Interval,
    /// Time after the start at which the flow is stopped.
    pub duration: Option<Interval>,
    /// End that opens the connection.
    pub opens: Opener,
    /// IP version of the flow's packets.
    pub ip: IpVersion,
    /// Diffserv codepoint of the flow's packets, in both directions.
    pub dscp: Dscp,
    /// Set if routers may not fragment the flow's packets.
    pub dont_fragment: bool,
    /// Time for which hosts keep the fragments of an incomplete packet.
    pub reassembly_timeout: Interval,
    /// TCP at `from`, shared by all flows of an entry. Flows of datagrams use neither this TCP nor
    /// `receiver`.
    pub sender: Arc<Config>,
    /// TCP at `to`.
    pub receiver: Arc<Config>,
    /// Place in a connection over several paths; `None` for other flows.
    pub subflow: Option<Subflow>,
}
