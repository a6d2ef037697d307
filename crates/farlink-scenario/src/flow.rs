//! Flows in a scenario, with the keys of every application.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{LONGEST_RUN, SHORTEST, ZERO};
use super::distribution::{
    DistributionName, SizeDistribution, TimeDistribution, TimeDistributionTable,
};
use super::dscp::DscpSpec;
use super::multipath::MultipathSpec;
use super::python_class::PythonClass;
use super::table::table;
use super::tcp::TcpSpec;
use super::units::{Rate, Size, Time};
use farlink_tcp::{Interval, IpVersion};

/// Maximum number of bytes of one request.
pub(super) const MAX_BYTES: Size = Size(1 << 50);
/// Maximum number of pages, files or objects.
pub(super) const MAX_COUNT: u64 = 1_000_000;
/// Maximum rate of a source in bit/s.
pub(super) const MAX_RATE: Rate = Rate(1_000_000_000_000);

table! {
    /// An application's data over TCP connections or in UDP datagrams. With `count`, several such
    /// flows.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct FlowSpec for app: AppName {
        /// Name in results; by default "flow", or "flow0", "flow1", ... With `count` above 1 the
        /// flow's number replaces `{}` in the name, or is appended to it as ".0", ".1", ...
        name?: String;
        /// Node that sends the data. The number of the flow, modulo the number of such nodes,
        /// replaces `{}`.
        from: String;
        /// Node that receives the data, with `{}` as in `from`.
        to: String;
        /// Application.
        #[serde(default)]
        app: AppName;
        /// Length of a file, 1 B to 1 PiB. Required for "file", "repeat", "stream", "xtp" and
        /// "web". "web", "smtp", "nntp" and "ftp" also accept a distribution. "smtp", "nntp" and
        /// "ftp" have that of tcplib as default.
        size?: SizeDistribution, of [File, Repeat, Stream, Web, Smtp, Nntp, Ftp, Xtp];
        /// Bytes of a file that is sent in the other direction at the same time.
        reverse?: Size = Size(0), in Size(0)..=MAX_BYTES, of [File];
        /// Duration from `start`; data in flight at its end is discarded. Required for "bulk".
        duration?: Time, in SHORTEST..=Time(LONGEST_RUN), of [Bulk, Http, Repeat, Stream, Web, Telnet, Rlogin, Smtp, Nntp, Ftp, Cbr, Onoff];
        /// Number of files. Required without `duration`.
        files?: u64, in 1..=MAX_COUNT, of [Repeat, Web];
        /// Number of messages. Required without `duration`.
        messages?: u64, in 1..=MAX_COUNT, of [Stream];
        /// Time from one SYN to the next. If a file takes longer, the next SYN follows its end.
        interval?: Time = ZERO, in ZERO..=Time(LONGEST_RUN), of [Repeat];
        /// Number of pages. Required without `duration`.
        pages?: u64, in 1..=MAX_COUNT, of [Http];
        /// Time from the start of one page to the start of the next. If a page takes longer, the
        /// next page follows its end.
        page_interval?: Time = Time(Interval::from_secs(30)), in ZERO..=Time(LONGEST_RUN), of [Http];
        /// Least time from the end of a page to the start of the next. For "web", the time from the
        /// end of a file to the next request. This time may be random; the default is that of
        /// Barford and Crovella 1998.
        think_time?: TimeDistribution, of [Http = TimeDistribution::Just(ZERO), Web = pauses()];
        /// Length of a request for an object.
        request?: Size = Size(300), in Size(1)..=MAX_BYTES, of [Http, Web];
        /// Length of the main object, which is requested first.
        main_object?: Size = Size(10_710), in Size(1)..=MAX_BYTES, of [Http];
        /// Number of inline objects of a page, requested after the main object.
        inline_objects?: u32 = 15, in 0..=MAX_COUNT as u32, of [Http];
        /// Length of each inline object.
        inline_object?: Size = Size(7_758), in Size(1)..=MAX_BYTES, of [Http];
        /// Use of connections by pages or files.
        connections?: Connections = Connections::PerPage, of [Http, Web];
        /// Request all inline objects at once; if false, one after the other.
        pipelining?: bool = true, of [Http];
        /// Number of conversations. Required without `duration`.
        conversations?: u64, in 1..=MAX_COUNT, of [Telnet, Rlogin, Smtp, Nntp, Ftp];
        /// Time from the arrival of one conversation to the next. Exponential times make a Poisson
        /// process. A conversation waits for the end of the previous conversation.
        arrivals?: TimeDistribution = TimeDistribution::Just(ZERO), of [Telnet, Rlogin, Smtp, Nntp, Ftp];
        /// Time for which a user types; by default tcplib's distribution.
        typing?: TimeDistribution, of [Telnet, Rlogin];
        /// Time from one keystroke to the next; by default tcplib's distribution.
        keystrokes?: TimeDistribution, of [Telnet, Rlogin];
        /// Number of items of a conversation; by default tcplib's distribution.
        items?: u64, in 1..=MAX_COUNT, of [Nntp, Ftp];
        /// Number of commands, each with a reply, before each item: HELO, MAIL, RCPT and DATA (RFC
        /// 821, 3.1); IHAVE (RFC 977, 3.4); PORT (RFC 959, 4.1.2).
        turns?: u32, in 0..=1000, of [Smtp = 4, Nntp = 1, Ftp = 1];
        /// Rate of the data in datagrams or messages, without headers, while the source is on.
        /// Required.
        rate?: Rate, in Rate(1)..=MAX_RATE, of [Stream, Cbr, Onoff, Xtp];
        /// Bytes of data in a datagram. The maximum is 65,535 bytes minus headers (RFC 768 and RFC
        /// 791), for "xtp" minus another 56 bytes.
        packet?: Size = Size(1000), in Size(1)..=Size(65_507), of [Cbr, Onoff, Xtp];
        /// Bytes that may be sent at once. Bursts follow each other at `rate`. The default is
        /// `packet`.
        burst?: Size, in Size(1)..=MAX_BYTES, of [Xtp];
        /// Bytes that the receiver buffers beyond the data received in order; at least `packet`.
        window?: Size = Size(1_048_576), in Size(1)..=MAX_BYTES, of [Xtp];
        /// Number of data packets from one request for a status report to the next.
        sreq_every?: u32 = 16, in 1..=MAX_COUNT as u32, of [Xtp];
        /// Class in Python that gives times and sizes of messages, in place of `rate` and `size`. With
        /// "cbr", a message longer than `packet` is several datagrams at the same time.
        source?: PythonClass, of [Stream, Cbr];
        /// Number of datagrams. Required without `duration`.
        datagrams?: u64, in 1..=1_000_000_000_000, of [Cbr, Onoff];
        /// Time for which the source sends; the flow begins with such a time. Required.
        on?: TimeDistribution, of [Onoff];
        /// Time for which the source is silent after it has sent. Required.
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
        /// Time from the start of one flow to the start of the next.
        #[serde(default = "at_once")]
        stagger: Time;
        /// IP version of the flow's packets; by default the scenario's.
        ip?: IpName;
        /// Diffserv codepoint of the flow's packets in both directions, a name ("EF", "AF41", "CS1",
        /// "LE") or a number. The discipline "cake" and `classes` read it, and packets with "LE"
        /// have low priority. Dummy segments of "peach" keep LE. The default is 0.
        dscp?: DscpSpec;
        /// Forbid routers to fragment this flow's packets (DF). Routers then drop packets that are
        /// too long: a TCP is notified of the path MTU (RFC 1191), and datagrams are lost. If
        /// false, routers fragment. With `ip = "v6"` routers never fragment. A sender of datagrams
        /// is then notified of the path MTU too, and fragments datagrams itself.
        #[serde(default = "crate::defaults::on", skip_serializing_if = "crate::defaults::is_on")]
        #[schemars(extend("default" = true))]
        dont_fragment: bool;
        /// Time for which a host keeps the fragments of an incomplete packet after the first
        /// fragment arrives, 1 ms to 1 h. The default is "15 s" (RFC 791; RFC 1122 has 60 s to 120
        /// s), with `ip = "v6"` "60 s" (RFC 8200, 4.5). For flows with `dont_fragment = false`, and
        /// for datagrams over IPv6.
        reassembly_timeout?: Time;
        /// Further paths of the connection.
        multipath?: Box<MultipathSpec>, of [File, Bulk];
        /// TCP keys of this flow, which replace those of the scenario. Not for "cbr", "onoff" and
        /// "xtp", which send UDP.
        #[serde(default, skip_serializing_if = "TcpSpec::is_empty")]
        tcp: TcpSpec;
    }
}

/// Returns the pause times of Barford and Crovella 1998.
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
    /// Pages over HTTP/1.1 from the server `from` to the client `to`.
    Http,
    /// Files of `size`, one after the other, each over its own connection.
    Repeat,
    /// Messages of `size` at a constant `rate` over one connection. A message does not wait for the
    /// arrival of earlier messages.
    Stream,
    /// Files of random sizes with pauses, requested by the client `to` from the server `from`.
    Web,
    /// Keystrokes of the user `to`, each answered by the host `from` (tcplib).
    Telnet,
    /// Telnet with tcplib's parameters for rlogin.
    Rlogin,
    /// Mail from `from` to `to`, one message per conversation (tcplib).
    Smtp,
    /// News from `from` to `to`, article by article (tcplib).
    Nntp,
    /// Files that the client `to` requests from the server `from` (tcplib).
    Ftp,
    /// UDP datagrams at a constant bit rate.
    Cbr,
    /// UDP datagrams at a constant bit rate, with on-times and off-times.
    Onoff,
    /// `size` bytes over an XTP-like transport, at `rate`.
    Xtp,
}

/// Use of connections by "http" and "web".
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// A new connection for each page or file, which the server closes at the end.
    #[default]
    PerPage,
    /// One connection that carries all pages or files.
    Persistent,
}

/// End of a flow that opens its connections.
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
