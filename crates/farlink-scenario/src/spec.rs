//! The schema of scenarios.
//!
//! The decoder, the JSON Schema and the reference in `docs/scenario.md` are generated from these
//! types and their comments.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent::AgentSpec;
use super::arq::ArqSpec;
use super::background::BackgroundSpec;
use super::channel::Channel;
use super::classes::ClassSpec;
use super::compression::CompressionSpec;
use super::contacts::ContactsSpec;
use super::discipline::DisciplineSpec;
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
    /// Links, the flows over them, and the TCP that the flows use.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct Scenario {
        /// Short name, used in results.
        name?: String;
        /// Purpose of the scenario.
        description?: String;
        /// Source of the scenario's values.
        source?: String;
        /// Seed of every random stream. The same scenario and seed give results that are equal bit
        /// by bit.
        #[serde(default = "first_seed")]
        seed: u64;
        /// Simulated time at which the run stops. By default the run ends when every flow has
        /// ended.
        duration?: Time;
        /// Simulated time at which a run without `duration` is stopped; the metric `unfinished` is
        /// then the number of flows that have not ended.
        #[serde(default = "day")]
        max_duration: Time;
        /// IP version of every flow without its own `ip`. With "v6" headers have 40 bytes, so
        /// segments are 20 bytes shorter unless `mss` is set. Routers never fragment, and every
        /// link on the path must accept packets of 1280 B.
        #[serde(default, skip_serializing_if = "IpName::is_v4")]
        #[schemars(extend("default" = "v4"))]
        ip: IpName;
        /// TCP of every flow: keys that replace those of its variant.
        #[serde(default, skip_serializing_if = "TcpSpec::is_empty")]
        tcp: TcpSpec;
        /// Links between nodes. A node exists if a link names it.
        links: Vec<LinkSpec>;
        /// Routes, static or from a time on. Without a route, packets take the path with the fewest
        /// links. Among equal paths, the link that comes first in the scenario is used.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        routes: Vec<RouteSpec>;
        /// Agents at routers. A packet passes the agents of one router in the order written.
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
        /// Complete TCP of each entry of `flows`; only in a resolved scenario. When such a scenario
        /// is read, these values are compared with those that its other keys give.
        resolved_tcp?: Vec<TcpSpec>;
    }
}

fn at_once() -> Time {
    Time(Interval::ZERO)
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands out references
fn is_at_once(time: &Time) -> bool {
    time.0.is_zero()
}

fn first_seed() -> u64 {
    1
}

fn day() -> Time {
    Time(Interval::from_secs(24 * 3600))
}

table! {
    /// A link, with a transmitter, a queue, a channel and a delay in each direction.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct LinkSpec {
        /// Name in results; by default the names of the two nodes with a hyphen. With `count`, the
        /// number of the link replaces `{}`.
        name?: String;
        /// The two nodes. `down` is the direction from the first to the second. With `count`, the
        /// number of the link replaces `{}` in a name.
        between: [String; 2];
        /// Preset for the keys that are absent here. If `queue`, `fec`, `channel` or `background`
        /// is present, it replaces that of the preset as a whole.
        preset?: String;
        /// Source of the values; with a preset, by default the preset's source.
        source?: String;
        /// Number of such links, numbered from 0. The number replaces `{}`.
        #[serde(default = "crate::defaults::one")]
        count: u32;
        /// Direction from the first node to the second.
        down?: DirectionTable;
        /// Direction from the second node to the first; by default equal to `down`.
        up?: DirectionTable;
        /// Let both directions share one medium, as with a radio that cannot send and receive at
        /// the same time. One direction sends while the other waits. If both have packets to send,
        /// they alternate by packet, or by frame of `arq`. Not with `rate_trace` or `background`.
        #[serde(default, skip_serializing_if = "is_off")]
        #[schemars(extend("default" = false))]
        half_duplex: bool;
        /// Link protocol at both ends; by default each packet is sent once.
        arq?: ArqSpec;
        /// Compression of TCP/IP headers in both directions, before the queue; by default headers
        /// are not compressed.
        header_compression?: CompressionSpec;
    }
}

table! {
    /// One direction of a link.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct DirectionTable {
        /// Rate of the transmitter, 1 bit/s to 1000 Gbit/s. Required unless a preset,
        /// `rate_trace` or `contacts` gives it.
        rate?: Rate;
        /// Rate of the transmitter over time, as an alternative to `rate`: a trace, or a constant
        /// rate such as "12 Mbit/s", which becomes a packet-delivery trace with evenly spaced
        /// packets.
        rate_trace?: RateTraceSpec;
        /// Times at which the link exists, each with its rate and delay, as an alternative to
        /// `rate`. The delay of the plan is added to `delay`, which is then 0 s by default.
        contacts?: ContactsSpec;
        /// One-way propagation delay, 0 s to 1 h. Required unless a preset gives it.
        delay?: Time;
        /// Bytes of framing that each packet has on the wire in addition to its IP length.
        #[serde(default = "crate::defaults::nothing")]
        overhead: Size;
        /// Time that the transmitter needs for each packet in addition to its bits, 0 s to 1 h, for
        /// example for a slow driver or access to a medium. Not with `arq`, which has `mac` for
        /// this, nor with `rate_trace`.
        #[serde(default = "no_time", skip_serializing_if = "is_no_time")]
        #[schemars(extend("default" = "0 s"))]
        service_time: Time;
        /// Block code over each packet with its framing, or over each frame of `arq`, against the
        /// bit errors of `channel`. Its check symbols take time at `rate`.
        fec?: FecSpec;
        /// Limit of the packets that wait for the transmitter, without the packet in transmission.
        /// Packets beyond the limit are dropped at the tail. If an unlimited queue exceeds
        /// 4,000,000 packets, the run ends.
        #[serde(default)]
        queue: QueueSpec;
        /// Discipline that selects the packets to send, to drop and to mark. It replaces a FIFO
        /// queue that drops at its tail, and `queue` is its limit. With `arq` it holds the packets that were never sent. Not with
        /// `header_compression`, `background`, `mark` or `arq.mac.access = "dama"`. Packets of low priority then have no class
        /// of their own.
        discipline?: DisciplineSpec;
        /// Classes of packets by Diffserv codepoint, in the order in which they are sent. Each has a
        /// queue of its own. Not where a `discipline` is not allowed, and in place of `priorities`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        classes: Vec<ClassSpec>;
        /// Threshold of the queue for marking: an ECN-capable packet that a queue of this limit
        /// would drop is marked (a step, not RED). Other packets are never marked, and `queue`
        /// still drops. "unlimited" marks none. Needs `ecn = true` in the TCPs.
        #[serde(default, skip_serializing_if = "QueueSpec::is_unlimited")]
        mark: QueueSpec;
        /// Send packets of low priority (the dummy segments of `peach`) only if no other packets
        /// wait, and drop them from a full queue in favour of other packets. With false, they are
        /// treated as any packet.
        #[serde(default = "crate::defaults::on", skip_serializing_if = "crate::defaults::is_on")]
        #[schemars(extend("default" = true))]
        priorities: bool;
        /// Largest number of segments of a super-packet of a sender with segmentation offload (TSO,
        /// GSO), 2 to 64. `channel` loses, corrupts or delays the whole super-packet, as netem on a
        /// veth does. A super-packet is a series of data packets that reach this direction at the
        /// same time. By default each packet passes the channel alone. Not with `arq`,
        /// `discipline` or `half_duplex`.
        super_packet?: u32;
        /// Maximum length of an IP packet on the link, with its header, 68 B to 65535 B; by default
        /// without a limit. Longer packets are cut into fragments. If the flow has `dont_fragment`,
        /// they are dropped instead (cause too_big), and the sender is notified.
        mtu?: Size;
        /// Rule by which packets longer than `mtu` are cut; the default is "rfc791".
        fragments?: Fragments;
        /// Processes that change packets on their way. In one table, stages have the standard
        /// order, which is the order of its keys below. In a list of tables, groups of stages have
        /// the order of the list.
        #[serde(default)]
        channel: Channel;
        /// Cross traffic that uses the transmitter and takes room in the queue.
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

/// Rule by which packets are cut into fragments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fragments {
    /// All fragments but the last have a multiple of 8 bytes (RFC 791).
    Rfc791,
    /// Fragments with any number of bytes, as in wong1998, 3.3. IP headers cannot express this, so
    /// such packets can be neither captured nor emulated.
    Wong1998,
}

table! {
    /// A route: the given node sends packets for a destination to the given neighbour.
    #[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct RouteSpec {
        /// Node that forwards the packets.
        at: String;
        /// Destination of the packets.
        to: String;
        /// Neighbour of `at` to which the packets are sent.
        via: String;
        /// Time from which the route applies. Earlier, an entry for the same packets with an earlier
        /// `start` applies, or else the path with the fewest links.
        #[serde(default = "at_once", skip_serializing_if = "is_at_once")]
        #[schemars(extend("default" = "0 s"))]
        start: Time;
    }
}
