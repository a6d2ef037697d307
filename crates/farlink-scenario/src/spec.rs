//! The schema: what a scenario may say.
//!
//! The one description of the language: the decoder, the JSON Schema and the
//! reference in `docs/scenario.md` are all derived from these types and their
//! comments.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent::AgentSpec;
use super::arq::ArqSpec;
use super::background::BackgroundSpec;
use super::channel::Channel;
use super::compression::CompressionSpec;
use super::fec::FecSpec;
use super::flow::{FlowSpec, IpName};
use super::handoff::HandoffSpec;
use super::host::HostSpec;
use super::queue::QueueSpec;
use super::table::table;
use super::tcp::TcpSpec;
use super::trace::RateTraceSpec;
use super::units::{Rate, Size, Time};
use farlink_tcp::Interval;

table! {
    /// A path, the flows over it and the TCP they use.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct Scenario {
        /// Short name, used in results.
        name?: String;
        /// Purpose of the scenario.
        description?: String;
        /// Source of its values.
        source?: String;
        /// Seed of every random stream. The same scenario and seed give the same
        /// bits.
        #[serde(default = "first_seed")]
        seed: u64;
        /// Simulated time at which the run stops. Without it the run ends when
        /// every flow is done.
        duration?: Time;
        /// Simulated time at which a run that does not end is stopped; the metric `unfinished` says how
        /// many flows were not done.
        #[serde(default = "day")]
        max_duration: Time;
        /// Version of IP of every flow that does not say its own. "v6" has headers of 40 bytes, so
        /// that segments have 20 bytes less unless `mss` is written; no router cuts a packet, and
        /// every link of the path takes 1280 B at least.
        #[serde(default, skip_serializing_if = "IpName::is_v4")]
        #[schemars(extend("default" = "v4"))]
        ip: IpName;
        /// TCP of every flow, laid over the row of its variant.
        #[serde(default, skip_serializing_if = "TcpSpec::is_empty")]
        tcp: TcpSpec;
        /// Links between nodes. A node exists by being named here.
        links: Vec<LinkSpec>;
        /// Static routes. Without one a packet takes the path with the fewest
        /// links, ties going to the link that is written first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        routes: Vec<RouteSpec>;
        /// Agents at routers. A packet meets those of one router in the order written.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        agents: Vec<AgentSpec>;
        /// Hosts that move from link to link.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        handoffs: Vec<HandoffSpec>;
        /// Hosts with properties of their own.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        hosts: Vec<HostSpec>;
        /// Transfers from one node to another.
        flows: Vec<FlowSpec>;
        /// Written into a resolved scenario: the whole TCP of each entry of `flows`. On input it is
        /// compared with the rest of the scenario.
        resolved_tcp?: Vec<TcpSpec>;
    }
}

fn first_seed() -> u64 {
    1
}

fn day() -> Time {
    Time(Interval::from_secs(24 * 3600))
}

table! {
    /// A link, with a transmitter, a queue, a channel and a delay each way.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct LinkSpec {
        /// Name in results; by default the two nodes with a hyphen. With `count`,
        /// `{}` in it is the number of the link.
        name?: String;
        /// The two nodes. `down` goes from the first to the second. With `count`,
        /// `{}` in a name is the number of the link.
        between: [String; 2];
        /// Preset that gives all keys that are not written here. A written `queue`, `fec`,
        /// `channel` or `background` replaces the whole one of the preset.
        preset?: String;
        /// Source of the values; with a preset, its source.
        source?: String;
        /// Number of such links, numbered from 0 where `{}` stands.
        #[serde(default = "crate::defaults::one")]
        count: u32;
        /// From the first node to the second.
        down?: DirectionTable;
        /// From the second node to the first. Without it, as `down`.
        up?: DirectionTable;
        /// Both directions share one medium, as a radio that cannot send and receive at once. While
        /// one sends the other waits; when both have something to send they alternate by packet, or
        /// by frame of `arq`. Not together with `rate_trace` or `background`.
        #[serde(default, skip_serializing_if = "is_off")]
        #[schemars(extend("default" = false))]
        half_duplex: bool;
        /// Link protocol at both ends; without it each packet is sent once.
        arq?: ArqSpec;
        /// Compression of TCP/IP headers in both directions, in front of the queue;
        /// without it headers go as they are.
        header_compression?: CompressionSpec;
    }
}

table! {
    /// One direction of a link, as written.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct DirectionTable {
        /// Rate of the transmitter, 1 bit/s to 1000 Gbit/s. Required unless a
        /// preset or `rate_trace` gives it.
        rate?: Rate;
        /// Rate of the transmitter over time, instead of `rate`: a trace, or a rate
        /// such as "12 Mbit/s" for its evenly spaced packet-delivery trace.
        rate_trace?: RateTraceSpec;
        /// One-way propagation delay, 0 s to 1 h. Required unless a preset gives it.
        delay?: Time;
        /// Framing that each packet has on the wire beyond its IP length.
        #[serde(default = "crate::defaults::nothing")]
        overhead: Size;
        /// Time of each packet at the transmitter beyond its bits, 0 s to 1 h: a slow driver,
        /// access to a medium. Not with `arq`, whose `mac` has it, nor with `rate_trace`.
        #[serde(default = "no_time", skip_serializing_if = "is_no_time")]
        #[schemars(extend("default" = "0 s"))]
        service_time: Time;
        /// Block code over each packet with its framing, or each frame of `arq`,
        /// against the bit errors of `channel`. Its check symbols take time at `rate`.
        fec?: FecSpec;
        /// Limit of the packets that wait for the transmitter, without the packet being sent.
        /// Packets beyond it are dropped at the tail.
        /// More than 4,000,000 packets in an unlimited queue end the run.
        #[serde(default)]
        queue: QueueSpec;
        /// Threshold above which ECN-capable packets are marked: those that would be dropped if
        /// this were the limit of the queue. It is no RED. Other packets are never marked; `queue`
        /// still drops. "unlimited" marks none. Needs `ecn = true` of the TCPs.
        #[serde(default, skip_serializing_if = "QueueSpec::is_unlimited")]
        mark: QueueSpec;
        /// Send packets of low priority (the dummy segments of `peach`) only when nothing else
        /// waits, and drop them from a full queue for other packets. Without, they compete as any
        /// packet.
        #[serde(default = "crate::defaults::on", skip_serializing_if = "crate::defaults::is_on")]
        #[schemars(extend("default" = true))]
        priorities: bool;
        /// Longest IP packet that the link takes, header included, 68 B to 65535 B; without it any.
        /// Longer packets are cut into fragments. With the flow's `dont_fragment` they are dropped
        /// (cause too_big), and their sender is notified.
        mtu?: Size;
        /// Rule by which packets longer than `mtu` are cut; "rfc791" without it.
        fragments?: Fragments;
        /// Processes that a packet may meet on its way. One table holds stages in the standard
        /// order, which is that of its keys below; a list of tables holds stages in the order
        /// written.
        #[serde(default)]
        channel: Channel;
        /// Cross traffic that takes the transmitter and room in the queue.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        background: Vec<BackgroundSpec>;
    }
}

fn no_time() -> Time {
    Time(Interval::ZERO)
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands out references
fn is_no_time(value: &Time) -> bool {
    value.0.is_zero()
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands out references
fn is_off(value: &bool) -> bool {
    !*value
}

/// Rule by which packets are cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fragments {
    /// In multiples of 8 bytes but for the last (RFC 791).
    Rfc791,
    /// To the byte, as in wong1998, 3.3; no header could say that, so such packets
    /// can be neither captured nor emulated.
    Wong1998,
}

table! {
    /// A static route: at this node, packets for that one leave by this neighbour.
    #[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct RouteSpec {
        /// Node that forwards.
        at: String;
        /// Node that packets are for.
        to: String;
        /// Neighbour of `at` that they are handed to.
        via: String;
    }
}
