//! Flows as written, with the keys of every application.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{LONGEST_RUN, SHORTEST, ZERO};
use super::distribution::{
    DistributionName, SizeDistribution, TimeDistribution, TimeDistributionTable,
};
use super::table::table;
use super::tcp::TcpSpec;
use super::units::{Rate, Size, Time};
use farlink_tcp::{Interval, IpVersion};

/// Largest number of bytes of one request.
pub(super) const MOST_BYTES: Size = Size(1 << 50);
/// Most pages, files or objects.
const MOST: u64 = 1_000_000;
/// Largest rate of a source in bit/s.
const MOST_RATE: Rate = Rate(1_000_000_000_000);

table! {
    /// An application's data over TCP connections or in UDP datagrams, or several such flows.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct FlowSpec for app: AppName {
        /// Name in results; by default "flow", or "flow0", "flow1", ... With `count` above 1, `{}`
        /// in the name is replaced by the number of the flow; a name without `{}` gets ".0", ".1",
        /// ...
        name?: String;
        /// Node that sends the data. `{}` is replaced by the number of the flow, modulo the number
        /// of such nodes.
        from: String;
        /// Node that receives the data. `{}` as in `from`.
        to: String;
        /// Application.
        #[serde(default)]
        app: AppName;
        /// Length of a file, 1 B to 1 PiB. Required for "file", "repeat", "stream", "xtp" and
        /// "web". "web", "smtp", "nntp" and "ftp" also take a distribution; by default the items of
        /// the last three are as long as in tcplib.
        size?: SizeDistribution, of [File, Repeat, Stream, Web, Smtp, Nntp, Ftp, Xtp];
        /// Bytes that are sent in the other direction at the same time.
        reverse?: Size = Size(0), in Size(0)..=MOST_BYTES, of [File];
        /// Duration from `start` on; data in flight at its end is cut off. Required for "bulk".
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
        /// Length of the main object, which a page requests first.
        main_object?: Size = Size(10_710), in Size(1)..=MOST_BYTES, of [Http];
        /// Number of objects that a page requests after the main object.
        inline_objects?: u32 = 15, in 0..=MOST as u32, of [Http];
        /// Length of each.
        inline_object?: Size = Size(7_758), in Size(1)..=MOST_BYTES, of [Http];
        /// Connections of pages or files.
        connections?: Connections = Connections::PerPage, of [Http, Web];
        /// Request the inline objects all at once; otherwise one after the other.
        pipelining?: bool = true, of [Http];
        /// Number of conversations. Required without `duration`.
        conversations?: u64, in 1..=MOST, of [Telnet, Rlogin, Smtp, Nntp, Ftp];
        /// Time from the arrival of one conversation to the next. Exponential times make a Poisson
        /// process. A conversation waits for the end of the previous one.
        arrivals?: TimeDistribution = TimeDistribution::Just(ZERO), of [Telnet, Rlogin, Smtp, Nntp, Ftp];
        /// Time for which a user types; by default that of tcplib.
        typing?: TimeDistribution, of [Telnet, Rlogin];
        /// Time from one keystroke to the next; by default that of tcplib.
        keystrokes?: TimeDistribution, of [Telnet, Rlogin];
        /// Number of items of a conversation; by default that of tcplib.
        items?: u64, in 1..=MOST, of [Nntp, Ftp];
        /// Commands with their replies before each item: HELO, MAIL, RCPT and DATA (RFC 821,
        /// 3.1); IHAVE (RFC 977, 3.4); PORT (RFC 959, 4.1.2).
        turns?: u32, in 0..=1000, of [Smtp = 4, Nntp = 1, Ftp = 1];
        /// Rate of the data in datagrams or messages, without headers, while the source is on.
        /// Required.
        rate?: Rate, in Rate(1)..=MOST_RATE, of [Stream, Cbr, Onoff, Xtp];
        /// Data in a datagram (RFC 768 and RFC 791: 65,535 bytes minus headers; "xtp": minus 56
        /// bytes of its own).
        packet?: Size = Size(1000), in Size(1)..=Size(65_507), of [Cbr, Onoff, Xtp];
        /// Data that may be sent at once; each burst is sent at `rate`. The default is `packet`.
        burst?: Size, in Size(1)..=MOST_BYTES, of [Xtp];
        /// Data that the receiver buffers beyond the data received in order; at least a packet.
        window?: Size = Size(1_048_576), in Size(1)..=MOST_BYTES, of [Xtp];
        /// Packets of data from one request for a status report to the next.
        sreq_every?: u32 = 16, in 1..=MOST as u32, of [Xtp];
        /// Number of datagrams. Required without `duration`.
        datagrams?: u64, in 1..=1_000_000_000_000, of [Cbr, Onoff];
        /// Time for which the source is on; it begins with such a time. Required.
        on?: TimeDistribution, of [Onoff];
        /// Time for which the source is off after it was on. Required.
        off?: TimeDistribution, of [Onoff];
        /// Time of the first SYN, or of the first datagram.
        #[serde(default = "at_once")]
        start: Time;
        /// End that sends the SYN.
        opens?: Opener, of [File = Opener::Sender, Bulk = Opener::Sender, Repeat = Opener::Sender,
            Stream = Opener::Sender, Smtp = Opener::Sender, Nntp = Opener::Sender, Http = Opener::Receiver,
            Web = Opener::Receiver, Telnet = Opener::Receiver, Rlogin = Opener::Receiver,
            Ftp = Opener::Receiver];
        /// Number of such flows, numbered from 0.
        #[serde(default = "crate::defaults::one")]
        count: u32;
        /// Time between the starts of consecutive flows.
        #[serde(default = "at_once")]
        stagger: Time;
        /// IP version of the flow's packets; by default the scenario's.
        ip?: IpName;
        /// Forbid routers to fragment this flow's packets (DF). Packets that are too long are
        /// dropped; a TCP then learns the path MTU (RFC 1191), and datagrams are lost. Otherwise
        /// routers fragment them. With `ip = "v6"` routers never fragment, and a sender of
        /// datagrams learns the path MTU too and fragments them itself.
        #[serde(default = "crate::defaults::on", skip_serializing_if = "crate::defaults::is_on")]
        #[schemars(extend("default" = true))]
        dont_fragment: bool;
        /// Time for which a host keeps the fragments of an incomplete packet from its first
        /// fragment on, 1 ms to 1 h. The default is "15 s" (RFC 791; RFC 1122 has 60 s to 120 s),
        /// with `ip = "v6"` "60 s" (RFC 8200, 4.5). For flows with `dont_fragment = false`, and for
        /// datagrams of IPv6.
        reassembly_timeout?: Time;
        /// TCP of this flow, laid over the scenario's. Not for "cbr", "onoff" and "xtp",
        /// which send UDP.
        #[serde(default, skip_serializing_if = "TcpSpec::is_empty")]
        tcp: TcpSpec;
    }
}

/// Returns the pauses of Barford and Crovella 1998.
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
    /// As much data as can be sent in `duration`.
    Bulk,
    /// Pages over HTTP/1.1, from the server `from` to the client `to`.
    Http,
    /// Files of `size`, one after the other, each on a connection of its own.
    Repeat,
    /// Messages of `size` at a constant `rate` over one connection, whether or not earlier ones
    /// have arrived.
    Stream,
    /// Requests for files of random sizes with pauses, from the server `from` to the client `to`.
    Web,
    /// The user `to` types, the host `from` answers each keystroke (tcplib).
    Telnet,
    /// Telnet with the parameters that tcplib has for rlogin.
    Rlogin,
    /// Mail from `from` to `to`, one message a conversation (tcplib).
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

/// Use of connections by "http" and "web".
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// A new connection for each page or file; the server closes it at the end.
    #[default]
    PerPage,
    /// Single connection for all.
    Persistent,
}

/// End of a flow that opens the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Opener {
    /// The end that sends the data, as in an upload.
    Sender,
    /// The end that receives the data, as in a download.
    Receiver,
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
