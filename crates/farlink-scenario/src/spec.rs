//! The schema: what a scenario may say.
//!
//! The one description of the language: the decoder, the JSON Schema and the
//! reference in `docs/scenario.md` are all derived from these types and their
//! comments.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::agent::AgentSpec;
use super::arq::ArqSpec;
use super::background::BackgroundSpec;
use super::channel::Channel;
use super::checks::{LONGEST_RUN, SHORTEST, ZERO};
use super::compression::CompressionSpec;
use super::distribution::{
    DistributionName, SizeDistribution, TimeDistribution, TimeDistributionTable,
};
use super::fec::FecSpec;
use super::handoff::HandoffSpec;
use super::host::HostSpec;
use super::table::table;
use super::tcp::TcpSpec;
use super::trace::RateTraceSpec;
use super::units::{Factor, Rate, Size, Time};
use farlink_tcp::{Interval, IpVersion};

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

/// Largest number of bytes that is asked for at once.
pub(super) const MOST_BYTES: Size = Size(1 << 50);
/// Most pages, files or objects.
const MOST: u64 = 1_000_000;
/// Most bits per second of a source.
const MOST_RATE: Rate = Rate(1_000_000_000_000);

fn first_seed() -> u64 {
    1
}

fn one() -> u32 {
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
        #[serde(default = "one")]
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
        #[serde(default = "nothing")]
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
        #[serde(default = "on", skip_serializing_if = "is_on")]
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

fn nothing() -> Size {
    Size(0)
}

fn no_time() -> Time {
    Time(Interval::ZERO)
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands out references
fn is_no_time(value: &Time) -> bool {
    value.0.is_zero()
}

fn on() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands out references
fn is_on(value: &bool) -> bool {
    *value
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands out references
fn is_off(value: &bool) -> bool {
    !*value
}

/// Versions of IP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IpName {
    /// Headers of 20 bytes (RFC 791).
    #[default]
    V4,
    /// Headers of 40 bytes (RFC 8200).
    V6,
}

impl From<IpName> for IpVersion {
    fn from(name: IpName) -> Self {
        match name {
            IpName::V4 => Self::V4,
            IpName::V6 => Self::V6,
        }
    }
}

impl IpName {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde hands out references
    pub(super) fn is_v4(&self) -> bool {
        *self == Self::V4
    }
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

/// Limit of a queue: "unlimited", `{ packets = 100 }`, `{ bytes = "64 KiB" }` or
/// `{ bdp = 1.2 }`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum QueueSpec {
    /// Nothing is ever dropped.
    #[default]
    Unlimited,
    /// Limit of waiting packets.
    Packets(u32),
    /// Limit of waiting bytes of IP packets.
    Bytes(u64),
    /// Limit in bandwidth-delay products.
    Bdp {
        /// Number of products.
        share: Factor,
        /// Round trip of the product; else the link's own.
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
    /// Limit in bandwidth-delay products: rate of this direction times the delays of both
    /// directions of this link. Results show bytes.
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

table! {
    /// An application's data over TCP connections, or in UDP datagrams; or several
    /// such flows alike.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct FlowSpec for app: AppName {
        /// Name in results; by default "flow", or "flow0", "flow1", ... With
        /// `count` above 1, `{}` in it is the number of the flow, and without `{}`
        /// it is followed by ".0", ".1", ...
        name?: String;
        /// Node that the data comes from. `{}` is the number of the flow, modulo
        /// the number of such nodes.
        from: String;
        /// Node that the data goes to. `{}` as in `from`.
        to: String;
        /// Application.
        #[serde(default)]
        app: AppName;
        /// Length of a file, 1 B to 1 PiB. Required for "file", "repeat", "stream", "xtp" and
        /// "web", which also takes a distribution, as do "smtp", "nntp" and "ftp"; without it
        /// their items are as long as those of tcplib.
        size?: SizeDistribution, of [File, Repeat, Stream, Web, Smtp, Nntp, Ftp, Xtp];
        /// Bytes that go the other way at the same time.
        reverse?: Size = Size(0), in Size(0)..=MOST_BYTES, of [File];
        /// Duration from `start` on; data under way at its end is cut off. Required for "bulk".
        duration?: Time, in SHORTEST..=Time(LONGEST_RUN), of [Bulk, Http, Repeat, Stream, Web, Telnet, Rlogin, Smtp, Nntp, Ftp, Cbr, Onoff];
        /// Number of files. Required without `duration`.
        files?: u64, in 1..=MOST, of [Repeat, Web];
        /// Number of messages. Required without `duration`.
        messages?: u64, in 1..=MOST, of [Stream];
        /// Time from one SYN to the next. A file that takes longer delays the next.
        interval?: Time = ZERO, in ZERO..=Time(LONGEST_RUN), of [Repeat];
        /// Number of pages. Required without `duration`.
        pages?: u64, in 1..=MOST, of [Http];
        /// Time from the start of one page to the start of the next. A page that takes
        /// longer delays the next.
        page_interval?: Time = Time(Interval::from_secs(30)), in ZERO..=Time(LONGEST_RUN), of [Http];
        /// Least time from the end of a page to the start of the next. For "web" the time
        /// from the end of a file to the next request, which may be drawn; by default as in
        /// Barford and Crovella 1998.
        think_time?: TimeDistribution, of [Http = TimeDistribution::Just(ZERO), Web = pauses()];
        /// Length of a request for an object.
        request?: Size = Size(300), in Size(1)..=MOST_BYTES, of [Http, Web];
        /// Length of the object that a page begins with.
        main_object?: Size = Size(10_710), in Size(1)..=MOST_BYTES, of [Http];
        /// Objects that a page asks for when the main object is there.
        inline_objects?: u32 = 15, in 0..=MOST as u32, of [Http];
        /// Length of each.
        inline_object?: Size = Size(7_758), in Size(1)..=MOST_BYTES, of [Http];
        /// Connections of pages or files.
        connections?: Connections = Connections::PerPage, of [Http, Web];
        /// Request the inline objects all at once; otherwise one after the other.
        pipelining?: bool = true, of [Http];
        /// Number of conversations. Required without `duration`.
        conversations?: u64, in 1..=MOST, of [Telnet, Rlogin, Smtp, Nntp, Ftp];
        /// Time from the arrival of one conversation to that of the next. Exponential times
        /// make a Poisson process. A conversation waits for the end of the one before.
        arrivals?: TimeDistribution = TimeDistribution::Just(ZERO), of [Telnet, Rlogin, Smtp, Nntp, Ftp];
        /// Time for which a user types; that of tcplib without it.
        typing?: TimeDistribution, of [Telnet, Rlogin];
        /// Time from one keystroke to the next; that of tcplib without it.
        keystrokes?: TimeDistribution, of [Telnet, Rlogin];
        /// Items of a conversation; as many as those of tcplib have without it.
        items?: u64, in 1..=MOST, of [Nntp, Ftp];
        /// Commands with their replies before each item: HELO, MAIL, RCPT and DATA (RFC 821,
        /// 3.1); IHAVE (RFC 977, 3.4); PORT (RFC 959, 4.1.2).
        turns?: u32, in 0..=1000, of [Smtp = 4, Nntp = 1, Ftp = 1];
        /// Rate of the data in datagrams or messages, headers not counted, while the source is
        /// on. It has to be there.
        rate?: Rate, in Rate(1)..=MOST_RATE, of [Stream, Cbr, Onoff, Xtp];
        /// Data in a datagram (RFC 768 and RFC 791: 65,535 bytes less headers; "xtp": less 56 bytes
        /// of its own).
        packet?: Size = Size(1000), in Size(1)..=Size(65_507), of [Cbr, Onoff, Xtp];
        /// Data that may be sent at once, each burst at `rate`: as long as `packet` without it.
        burst?: Size, in Size(1)..=MOST_BYTES, of [Xtp];
        /// Data that the receiver buffers beyond the data received in order, at least a packet.
        window?: Size = Size(1_048_576), in Size(1)..=MOST_BYTES, of [Xtp];
        /// Packets of data from one request for a status report to the next.
        sreq_every?: u32 = 16, in 1..=MOST as u32, of [Xtp];
        /// Number of datagrams. Required without `duration`.
        datagrams?: u64, in 1..=1_000_000_000_000, of [Cbr, Onoff];
        /// On-time of the source, which begins with one; required.
        on?: TimeDistribution, of [Onoff];
        /// Off-time of the source after it; required.
        off?: TimeDistribution, of [Onoff];
        /// Opening of the connection, or departure of the first datagram.
        #[serde(default = "at_once")]
        start: Time;
        /// End that sends the SYN.
        opens?: Opener, of [File = Opener::Sender, Bulk = Opener::Sender, Repeat = Opener::Sender,
            Stream = Opener::Sender, Smtp = Opener::Sender, Nntp = Opener::Sender, Http = Opener::Receiver,
            Web = Opener::Receiver, Telnet = Opener::Receiver, Rlogin = Opener::Receiver,
            Ftp = Opener::Receiver];
        /// Number of such flows, numbered from 0.
        #[serde(default = "one")]
        count: u32;
        /// Time between the starts of consecutive flows.
        #[serde(default = "at_once")]
        stagger: Time;
        /// Version of IP of its packets; without it the scenario's.
        ip?: IpName;
        /// No router may cut this flow's packets (DF): too long ones are dropped, and a
        /// TCP learns what the path takes (RFC 1191); datagrams are lost. Without,
        /// they are cut. With `ip = "v6"` no router ever does, and a sender of datagrams
        /// learns it, too, and cuts them itself.
        #[serde(default = "on", skip_serializing_if = "is_on")]
        #[schemars(extend("default" = true))]
        dont_fragment: bool;
        /// Time for which a host waits for the rest of a packet from its first fragment on, 1 ms to
        /// 1 h; "15 s" without it (RFC 791; RFC 1122 has 60 s to 120 s), with `ip = "v6"` "60 s"
        /// (RFC 8200, 4.5). For flows with `dont_fragment = false`, and for datagrams of IPv6.
        reassembly_timeout?: Time;
        /// TCP of this flow, laid over the scenario's. Not for "cbr", "onoff" and "xtp",
        /// which send UDP.
        #[serde(default, skip_serializing_if = "TcpSpec::is_empty")]
        tcp: TcpSpec;
    }
}

/// The pauses of Barford and Crovella 1998.
fn pauses() -> TimeDistribution {
    TimeDistribution::Drawn(TimeDistributionTable {
        distribution: DistributionName::Pareto,
        mean: None,
        min: Some(Time(Interval::from_secs(1))),
        max: None,
        shape: Some(1.5),
        sigma: None,
    })
}

fn at_once() -> Time {
    ZERO
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
    /// Messages of `size` at a constant `rate` over one connection, late or not.
    Stream,
    /// Requests for files of drawn sizes with pauses, from the server `from` to
    /// the client `to`.
    Web,
    /// The user `to` types, the host `from` answers each keystroke (tcplib).
    Telnet,
    /// Telnet as tcplib has rlogin.
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
    /// `size` bytes over an XTP-like transport, at `rate`.
    Xtp,
}

/// Connections of HTTP and of "web".
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// A new one for each page or file, closed by the server behind it.
    #[default]
    PerPage,
    /// Single connection for all.
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
