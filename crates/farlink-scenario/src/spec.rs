//! The schema: what a scenario may say.
//!
//! The one description of the language: the decoder, the JSON Schema and the
//! reference in `docs/scenario.md` are all derived from these types and their
//! comments.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::arq::ArqSpec;
use super::background::BackgroundSpec;
use super::burst::Burst;
use super::compression::CompressionSpec;
use super::fec::FecSpec;
use super::law::{SizeLaw, TimeLaw};
use super::process::{
    ByteErrorsSpec, CongestionSpec, InternetDelaySpec, MobileSpec, OrbitSpec, RadioSpec,
    RayleighSpec, ReconfigurationSpec, SatelliteSpec, ScriptedLossSpec,
};
use super::tcp::TcpSpec;
use super::trace::{DelayTraceSpec, LossTraceSpec, RateTraceSpec};
use super::units::{Factor, Probability, Rate, Size, Time};
use farlink_tcp::Interval;

/// A path, the flows over it and the TCP they use.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Short name, used in results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the scenario shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where its values come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Seed of every random stream. The same scenario and seed give the same
    /// bits.
    #[serde(default = "first_seed")]
    pub seed: u64,
    /// Simulated time at which the run stops. Without it the run ends when
    /// every flow is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Time>,
    /// Simulated time at which a run that does not end is stopped; the metric `unfinished` says how
    /// many flows were not done.
    #[serde(default = "day")]
    pub max_duration: Time,
    /// TCP of every flow, laid over the row of its variant.
    #[serde(default, skip_serializing_if = "TcpSpec::is_empty")]
    pub tcp: TcpSpec,
    /// Links between nodes. A node exists by being named here.
    pub links: Vec<LinkSpec>,
    /// Static routes. Without one a packet takes the path with the fewest
    /// links, ties going to the link that is written first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<RouteSpec>,
    /// Transfers from one node to another.
    pub flows: Vec<FlowSpec>,
    /// Written into a resolved scenario: the whole TCP of each entry of
    /// `flows`. On input it is compared with what the rest says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_tcp: Option<Vec<TcpSpec>>,
}

fn first_seed() -> u64 {
    1
}

fn one() -> u32 {
    1
}

fn day() -> Time {
    Time(Interval::from_secs(24 * 3600))
}

/// A link, with a transmitter, a queue, a channel and a delay each way.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Name in results; by default the two nodes with a hyphen. With `count`,
    /// `{}` in it is the number of the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The two nodes. `down` goes from the first to the second. With `count`,
    /// `{}` in a name is the number of the link.
    pub between: [String; 2],
    /// Preset that gives what is not written here. A `queue`, a `fec`,
    /// a `channel` or a `background` that is written replaces the whole one of the
    /// preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Where the values come from; with a preset, its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Number of such links, numbered from 0 where `{}` stands.
    #[serde(default = "one")]
    pub count: u32,
    /// From the first node to the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<DirectionTable>,
    /// From the second node to the first. Without it, as `down`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<DirectionTable>,
    /// Link protocol at both ends; without it each packet is sent once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arq: Option<ArqSpec>,
    /// Compression of TCP/IP headers in both directions, in front of the queue;
    /// without it headers go as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header_compression: Option<CompressionSpec>,
}

/// One direction of a link, as it is written.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectionTable {
    /// Rate of the transmitter, 1 bit/s to 1000 Gbit/s. Required unless a
    /// preset or `rate_trace` gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Rate of the transmitter over time, instead of `rate`: a trace, or a rate
    /// such as "12 Mbit/s" for its evenly spaced packet-delivery trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_trace: Option<RateTraceSpec>,
    /// One-way propagation delay, 0 s to 1 h. Required unless a preset gives
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// Framing that each packet has on the wire beyond its IP length.
    #[serde(default = "nothing")]
    pub overhead: Size,
    /// Block code over each packet with its framing, or each frame of `arq`,
    /// against the bit errors of `channel`. Its check symbols take time at `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fec: Option<FecSpec>,
    /// Limit of what waits for the transmitter; the packet being sent is not
    /// counted. What does not fit is dropped at the tail.
    #[serde(default)]
    pub queue: QueueSpec,
    /// Mark ECN-capable packets that would be dropped if this were the limit of
    /// the queue: a simple threshold, not RED. Others are never marked; `queue`
    /// still drops. "unlimited" marks none. Needs `ecn = true` of the TCPs.
    #[serde(default, skip_serializing_if = "QueueSpec::is_unlimited")]
    pub mark: QueueSpec,
    /// Packets of low priority (the dummy segments of `peach`) are sent when
    /// nothing else waits, and leave a full queue for others. Without, they
    /// compete as any packet.
    #[serde(default = "on", skip_serializing_if = "is_on")]
    #[schemars(extend("default" = true))]
    pub priorities: bool,
    /// Longest IP packet that the link takes, header included, 68 B to 65535 B;
    /// without it any. What is longer is cut into fragments, or, with the flow's
    /// `dont_fragment`, dropped (cause too_big) with word to its sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Size>,
    /// How packets longer than `mtu` are cut; "rfc791" without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragments: Option<Fragments>,
    /// What may happen to a packet on its way. One table holds stages in the
    /// standard order (gilbert, loss, ber, satellite, mobile, congestion,
    /// byte_errors, rayleigh, radio, loss_trace, scripted_loss, corrupt, duplicate,
    /// reorder, jitter, internet_delay, delay_trace, orbit, reconfiguration); a list of
    /// tables holds stages in the order written.
    #[serde(default)]
    pub channel: Channel,
    /// Other traffic that takes the transmitter and room in the queue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<BackgroundSpec>,
}

fn nothing() -> Size {
    Size(0)
}

fn on() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands out references
fn is_on(value: &bool) -> bool {
    *value
}

/// How packets are cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fragments {
    /// In multiples of 8 bytes but for the last (RFC 791).
    Rfc791,
    /// To the byte, as in wong1998, 3.3; no header could say that, so such packets
    /// can be neither captured nor emulated.
    Wong1998,
}

/// Limit of a queue: "unlimited", `{ packets = 100 }`, `{ bytes = "64 KiB" }` or
/// `{ bdp = 1.2 }`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum QueueSpec {
    /// Nothing is ever dropped.
    #[default]
    Unlimited,
    /// So many packets wait at most.
    Packets(u32),
    /// So many bytes of IP packets wait at most.
    Bytes(u64),
    /// The same in bandwidth-delay products.
    Bdp {
        /// How many.
        share: Factor,
        /// Of this round trip; else of the link's own.
        rtt: Option<Time>,
    },
}

impl QueueSpec {
    fn is_unlimited(&self) -> bool {
        *self == Self::Unlimited
    }
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QueueTable {
    /// Packets that may wait, 1 to 1000000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packets: Option<u32>,
    /// Bytes of IP packets that may wait, up to 1 TiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<Size>,
    /// The same in bandwidth-delay products: rate of this direction times the
    /// delays of both directions of this link. Results show bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bdp: Option<Factor>,
    /// Round trip that `bdp` is of, for a path longer than the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rtt: Option<Time>,
}

impl Serialize for QueueSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = QueueTable::default();
        match *self {
            Self::Unlimited => return serializer.serialize_str("unlimited"),
            Self::Packets(n) => table.packets = Some(n),
            Self::Bytes(n) => table.bytes = Some(Size(n)),
            Self::Bdp { share, rtt } => (table.bdp, table.rtt) = (Some(share), rtt),
        }
        table.serialize(serializer)
    }
}

const QUEUES: &str = "\"unlimited\", { packets = 100 }, { bytes = \"64 KiB\" } or { bdp = 1.2 }";

impl<'de> Deserialize<'de> for QueueSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = QueueSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(QUEUES)
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<QueueSpec, E> {
                if v == "unlimited" {
                    Ok(QueueSpec::Unlimited)
                } else {
                    Err(E::custom(format!("= {v:?} is unknown; write {QUEUES}")))
                }
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<QueueSpec, A::Error> {
                let table = QueueTable::deserialize(MapAccessDeserializer::new(map))?;
                let QueueTable {
                    packets,
                    bytes,
                    bdp,
                    rtt,
                } = table;
                if rtt.is_some() && bdp.is_none() {
                    return Err(A::Error::custom(
                        "has an \"rtt\" that would be ignored; it needs \"bdp\"",
                    ));
                }
                match (packets, bytes, bdp) {
                    (Some(packets), None, None) => Ok(QueueSpec::Packets(packets)),
                    (None, Some(bytes), None) => Ok(QueueSpec::Bytes(bytes.0)),
                    (None, None, Some(share)) => Ok(QueueSpec::Bdp { share, rtt }),
                    (None, None, None) => {
                        Err(A::Error::custom(format!("is empty; write {QUEUES}")))
                    }
                    (packets, bytes, _) => {
                        let first = packets.map_or("bytes", |_| "packets");
                        let both = packets.and(bytes).is_some();
                        let second = if both { "bytes" } else { "bdp" };
                        Err(A::Error::custom(format!(
                            "has both {first:?} and {second:?}; write one of them"
                        )))
                    }
                }
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl JsonSchema for QueueSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Queue".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<QueueTable>();
        json_schema!({ "title": "\"unlimited\" or table", "anyOf": [{ "const": "unlimited" }, table] })
    }
}

/// The stages of a channel, each group as it was written.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Channel(pub Vec<ChannelSpec>);

impl Serialize for Channel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [] => ChannelSpec::default().serialize(serializer),
            [table] => table.serialize(serializer),
            tables => tables.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Channel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Channel;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table such as { ber = 1e-6 }, or a list of such tables")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Channel, A::Error> {
                let table = ChannelSpec::deserialize(MapAccessDeserializer::new(map))?;
                let empty = table == ChannelSpec::default();
                Ok(Channel(if empty { Vec::new() } else { vec![table] }))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Channel, A::Error> {
                let mut tables = Vec::deserialize(SeqAccessDeserializer::new(list))?;
                tables.retain(|table| *table != ChannelSpec::default());
                Ok(Channel(tables))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl JsonSchema for Channel {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Stages".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<ChannelSpec>();
        json_schema!({
            "title": "table or list of tables",
            "anyOf": [table, { "type": "array", "items": table }],
        })
    }
}

/// Stages of a channel. Each key that is written adds a stage.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelSpec {
    /// Losses in bursts (Gilbert 1960, Elliott 1963), per packet or in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gilbert: Option<GilbertSpec>,
    /// Probability that a packet is lost, whatever its length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Probability>,
    /// Bit error rate: a packet of n bytes, overhead included, is lost when
    /// more than `correctable_bits` of its 8n bits are in error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ber: Option<Probability>,
    /// Bit errors per packet that are corrected. Needs `ber`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correctable_bits: Option<u32>,
    /// Probability that a packet arrives with changed bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<Probability>,
    /// Probability that a packet arrives twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<Probability>,
    /// Packets held back so that later ones overtake them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<ReorderSpec>,
    /// Random extra delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterSpec>,
    /// Clear sky and rain of a satellite link, per packet (Leung 1998).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub satellite: Option<SatelliteSpec>,
    /// Handoffs and fades of a mobile, in time (Leung 1998).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mobile: Option<MobileSpec>,
    /// Periods of congestion, in time (Wong 1998).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<CongestionSpec>,
    /// Errors at random distances in bytes, which spoil a checksum (West and
    /// Vaidya 1997).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte_errors: Option<ByteErrorsSpec>,
    /// Delay of the Internet between (Leung 1998).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub internet_delay: Option<InternetDelaySpec>,
    /// Fades of a Rayleigh channel, in time or per packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rayleigh: Option<RayleighSpec>,
    /// A radio of IEEE 802.15.4: loss by distance and length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio: Option<RadioSpec>,
    /// Probability of loss from a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_trace: Option<LossTraceSpec>,
    /// Extra delay from a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_trace: Option<DelayTraceSpec>,
    /// Delay and handovers of satellites on circular orbits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orbit: Option<OrbitSpec>,
    /// Changes of the path at a fixed interval, as on today's LEO services.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconfiguration: Option<ReconfigurationSpec>,
    /// Losses at places that are written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripted_loss: Option<ScriptedLossSpec>,
}

/// Burst losses: either `loss` and `burst`, or `p` and `r` with `h` and `k`.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertSpec {
    /// Mean loss, as a probability below 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Probability>,
    /// Mean length of a burst: packets, 1 or more, of a chain that moves per
    /// packet; or a time, of a chain that moves in time whatever is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Burst>,
    /// Probability of going from the good to the bad state, per packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<Probability>,
    /// Probability of going from the bad to the good state, per packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r: Option<Probability>,
    /// Probability of delivery in the bad state; 0 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub h: Option<Probability>,
    /// Probability of delivery in the good state; 1 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<Probability>,
}

/// Reordering.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReorderSpec {
    /// Probability that a packet is held back.
    pub probability: Probability,
    /// How long it is held back, up to 1 h.
    pub delay: Time,
}

/// Random extra delay, drawn for each packet.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JitterSpec {
    /// Distribution of the extra delay.
    pub distribution: Distribution,
    /// Mean, up to 1 h. Of the normal distribution before it is truncated at 0.
    pub mean: Time,
    /// Uniform: half the width, at most the mean. Normal: standard deviation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Time>,
    /// Whether a packet waits for those sent before it.
    #[serde(default = "yes")]
    pub keep_order: bool,
}

fn yes() -> bool {
    true
}

/// Distributions of jitter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// From mean - spread to mean + spread.
    Uniform,
    /// Normal, values below 0 drawn again.
    Normal,
    /// Exponential.
    Exponential,
}

/// A static route: at this node, packets for that one leave by this neighbour.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteSpec {
    /// Node that forwards.
    pub at: String,
    /// Node that packets are for.
    pub to: String,
    /// Neighbour of `at` that they are handed to.
    pub via: String,
}

/// An application's data over TCP connections, or in UDP datagrams; or several
/// such flows alike.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// Name in results; by default "flow", or "flow0", "flow1", ... With
    /// `count` above 1, `{}` in it is the number of the flow, and without `{}`
    /// it is followed by ".0", ".1", ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Node that the data comes from. `{}` is the number of the flow, modulo
    /// the number of such nodes.
    pub from: String,
    /// Node that the data goes to. `{}` as in `from`.
    pub to: String,
    /// What is carried.
    #[serde(default)]
    pub app: AppName,
    /// Length of a file, 1 B to 1 PiB. Required for "file", "repeat" and "web",
    /// which also takes a distribution, as do "smtp", "nntp" and "ftp"; without it
    /// their items are as long as those of tcplib.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<SizeLaw>,
    /// Bytes that go the other way at the same time, for "file"; "0 B" without
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<Size>,
    /// How long it goes on from `start`, for all but "file"; what is under way
    /// then is cut off. Required for "bulk".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Time>,
    /// Number of files, for "repeat" and "web". Required there without `duration`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Time from one SYN to the next, for "repeat"; "0 s" without it. A file
    /// that takes longer delays the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Time>,
    /// Number of pages, for "http". Required there without `duration`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<u64>,
    /// Time from the start of one page to the start of the next, for "http";
    /// "30 s" without it. A page that takes longer delays the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_interval: Option<Time>,
    /// Least time from the end of a page to the start of the next, for "http";
    /// "0 s" without it. For "web" the time from the end of a file to the next
    /// request, which may be drawn; Pareto from 1 s with shape 1.5 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_time: Option<TimeLaw>,
    /// Length of a request for an object, for "http" and "web"; "300 B" without
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Size>,
    /// Length of the object that a page begins with, for "http"; "10710 B"
    /// without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main_object: Option<Size>,
    /// Objects that a page asks for when the main object is there, for "http";
    /// 15 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline_objects: Option<u32>,
    /// Length of each, for "http"; "7758 B" without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline_object: Option<Size>,
    /// What connections pages or files use, for "http" and "web"; "per-page"
    /// without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<Connections>,
    /// Whether the inline objects are asked for all at once, for "http", or one
    /// after the other; true without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipelining: Option<bool>,
    /// Number of conversations, for "telnet", "rlogin", "smtp", "nntp" and "ftp".
    /// Required there without `duration`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversations: Option<u64>,
    /// Time from the arrival of one conversation to that of the next; "0 s"
    /// without it. Exponential times make a Poisson process. A conversation waits
    /// for the end of the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<TimeLaw>,
    /// How long a user types, for "telnet" and "rlogin"; that of tcplib without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typing: Option<TimeLaw>,
    /// Time from one keystroke to the next, for "telnet" and "rlogin"; that of
    /// tcplib without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keystrokes: Option<TimeLaw>,
    /// Items of a conversation, for "nntp" and "ftp"; as many as those of tcplib
    /// have without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
    /// Commands with their replies before each item, up to 1000; 4 for "smtp" and
    /// 1 for "nntp" and "ftp" without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Rate of the data in datagrams, headers not counted, up to 1000 Gbit/s.
    /// Required for "cbr" and, as the rate while it is on, for "onoff".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Data in a datagram, up to 65507 B, for "cbr" and "onoff"; "1000 B" without
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<Size>,
    /// Number of datagrams, for "cbr" and "onoff". Required there without
    /// `duration`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<u64>,
    /// How long the source is on, for "onoff", where it is required. It begins
    /// with such a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<TimeLaw>,
    /// How long the source is off then, for "onoff", where it is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<TimeLaw>,
    /// When the connection is opened, or the first datagram sent.
    #[serde(default = "at_once")]
    pub start: Time,
    /// Which end sends the SYN; without it the sender, for "http", "web",
    /// "telnet", "rlogin" and "ftp" the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens: Option<Opener>,
    /// Number of such flows, numbered from 0.
    #[serde(default = "one")]
    pub count: u32,
    /// Time between the starts of consecutive flows.
    #[serde(default = "at_once")]
    pub stagger: Time,
    /// No router may cut this flow's packets (DF): too long ones are dropped, and a
    /// TCP learns what the path takes (RFC 1191); datagrams are lost. Without,
    /// they are cut.
    #[serde(default = "on", skip_serializing_if = "is_on")]
    #[schemars(extend("default" = true))]
    pub dont_fragment: bool,
    /// How long a host waits for the rest of a packet from its first fragment on,
    /// 1 ms to 1 h; "15 s" without it (RFC 791; RFC 1122 has 60 s to 120 s). For
    /// flows with `dont_fragment = false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reassembly_timeout: Option<Time>,
    /// TCP of this flow, laid over the scenario's. Not for "cbr" and "onoff",
    /// which send UDP.
    #[serde(default, skip_serializing_if = "TcpSpec::is_empty")]
    pub tcp: TcpSpec,
}

fn at_once() -> Time {
    Time(Interval::ZERO)
}

/// Applications.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AppName {
    /// `size` bytes, then close.
    #[default]
    File,
    /// As much as goes through in `duration`.
    Bulk,
    /// Pages over HTTP/1.1, from the server `from` to the client `to`.
    Http,
    /// Files of `size`, one after the other, each on a connection of its own.
    Repeat,
    /// Requests for files of drawn sizes with pauses, from the server `from` to
    /// the client `to`.
    Web,
    /// The user `to` types, the host `from` answers each keystroke (tcplib).
    Telnet,
    /// The same as "telnet", as tcplib has it.
    Rlogin,
    /// Mail from `from` to `to`, a message a conversation (tcplib).
    Smtp,
    /// News from `from` to `to`, article by article (tcplib).
    Nntp,
    /// Files that the client `to` fetches from `from` (tcplib).
    Ftp,
    /// UDP datagrams at a constant bit rate.
    Cbr,
    /// UDP datagrams at a constant bit rate while the source is on.
    Onoff,
}

/// Connections of HTTP and of "web".
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// A new one for each page or file, closed by the server behind it.
    #[default]
    PerPage,
    /// One for all.
    Persistent,
}

/// The end of a flow that opens the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Opener {
    /// The end that sends the data, as in an upload.
    Sender,
    /// The end that receives the data, as in a download.
    Receiver,
}
