//! Report of an emulation and its JSON form. This module defines all names and units of the report.

use crate::endpoint::{Dropped, EndpointReport, Failure, Fetched};
use crate::flows::Flow;
use crate::host::Counters;
use crate::lateness::Lateness;
use crate::program::Task;
use crate::realtime::Scheduling;
use crate::sock_diag::Sample;
use crate::unit::{GatewayReport, RejectedDatagrams};
use farlink_sim::{Balance, LinkReport, MAX_QUEUE};
use farlink_tcp::Interval;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Report of an emulation.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Traffic that the network carried.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// Lateness of packets.
    pub lateness: Lateness,
    /// Packets that were not captured because the disk was too slow.
    pub uncaptured: u64,
    /// Error that ended the captures before the run.
    pub capture_failure: Option<String>,
    /// Scheduling of the engine's thread.
    #[serde(flatten)]
    pub priority: Scheduling,
    /// Exit code of the program, or 128 plus the signal that killed it.
    pub exit_code: i32,
    /// Set if Ctrl-C ended the emulation.
    pub interrupted: bool,
    /// Servers, in the order of the options.
    pub servers: Vec<Server>,
    /// Reports of the user-space hosts, by name.
    pub endpoints: BTreeMap<String, EndpointReport>,
    /// Namespaces of killed runs that were removed at the start.
    pub swept: Vec<String>,
    /// Samples of the kernels' TCP state, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sockets: Option<Samples>,
}

/// Traffic that the network carried.
#[derive(Clone, Debug, Serialize)]
pub struct Traffic {
    /// Duration in seconds.
    pub duration_s: f64,
    /// Events that the engine handled.
    pub events: u64,
    /// The hosts.
    pub hosts: Vec<HostReport>,
    /// Both directions of each link.
    pub links: Vec<LinkRow>,
    /// Balance of all packets.
    pub packets: Packets,
    /// Counters of the agents, if any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Value>,
    /// Costs of handoffs, if any host moves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handoffs: Vec<Value>,
    /// Unauthenticated and refused datagrams, if this is a unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strangers: Option<RejectedDatagrams>,
}

/// Packets that a host sent and received.
#[derive(Clone, Debug, Serialize)]
pub struct HostReport {
    /// Name of the host.
    pub host: String,
    /// Address of the host.
    pub address: Ipv4Addr,
    /// The attached interface, bridge or namespace, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attached: Option<String>,
    /// Packets of the host.
    #[serde(flatten)]
    pub counters: Counters,
    /// State of the gateway, if the host is on another machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<GatewayReport>,
}

/// Packets that one direction of a link carried and lost.
#[derive(Clone, Debug, Serialize)]
pub struct LinkRow {
    /// Name of the link.
    pub link: String,
    /// "down" or "up".
    pub direction: &'static str,
    /// Metrics by name; null if not measured.
    pub metrics: Map<String, Value>,
    /// Packets in the queue at the end.
    pub waiting: u32,
    /// Bytes of these packets, IP headers included.
    pub waiting_bytes: u64,
    /// Default limit of the queue in bytes; `None` if the scenario sets a limit.
    pub queue_bound_bytes: Option<u64>,
}

/// Balance of all packets. `offered` is the number of packets that entered the network plus those
/// that did not, by reason.
#[derive(Clone, Debug, Serialize)]
pub struct Packets {
    /// Packets that entered.
    #[serde(flatten)]
    pub balance: Balance,
    /// Packets that hosts sent.
    pub offered: u64,
    /// Packets sent that were not complete IP packets.
    pub not_ip: u64,
    /// Packets sent to an address outside the emulated network.
    pub no_host: u64,
    /// Packets dropped by the full device of a host.
    pub overflowed: u64,
}

/// Samples of the kernel's TCP, in order of time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Samples(pub Vec<Sample>);

/// Outcome of a server.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Server {
    /// Host and program of the server.
    #[serde(flatten)]
    pub task: Task,
    /// Exit code if the server ended before the session.
    pub exit_code: Option<i32>,
}

impl Report {
    /// Builds a report without programs.
    pub(crate) fn of(traffic: Traffic, lateness: Lateness, priority: Scheduling) -> Self {
        Self {
            traffic,
            lateness,
            uncaptured: 0,
            capture_failure: None,
            priority,
            exit_code: 0,
            interrupted: false,
            servers: Vec::new(),
            endpoints: BTreeMap::new(),
            swept: Vec::new(),
            sockets: None,
        }
    }

    /// Returns the report as JSON; docs/emulator/packets.md describes it.
    pub fn to_json(&self) -> Value {
        json!(self)
    }

    /// Returns the statistics of the running emulation as JSON.
    pub(crate) fn stats(&self, flows: &[Flow]) -> Value {
        let mut stats = json!(self.traffic);
        stats["flows"] = json!(flows);
        stats["late_p99_s"] = seconds(self.lateness.quantile(0.99)).into();
        stats
    }
}

impl Traffic {
    pub(crate) fn new(
        duration: Interval,
        events: u64,
        hosts: Vec<HostReport>,
        links: Vec<LinkReport>,
        balance: Balance,
        agents: Vec<Value>,
        handoffs: Vec<Value>,
    ) -> Self {
        let sum = |of: fn(&Counters) -> u64| hosts.iter().map(|h| of(&h.counters)).sum::<u64>();
        let (not_ip, no_host) = (sum(|c| c.not_ip), sum(|c| c.no_host));
        let overflowed = sum(|c| c.overflowed);
        Self {
            duration_s: seconds(duration),
            events,
            packets: Packets {
                balance,
                offered: balance.entered + not_ip + no_host + overflowed,
                not_ip,
                no_host,
                overflowed,
            },
            hosts,
            links: links.into_iter().map(LinkRow::from).collect(),
            agents,
            handoffs,
            strangers: None,
        }
    }
}

impl From<LinkReport> for LinkRow {
    fn from(link: LinkReport) -> Self {
        Self {
            link: link.link,
            direction: link.direction,
            metrics: link.metrics,
            waiting: link.waiting,
            waiting_bytes: link.waiting_bytes,
            queue_bound_bytes: link.bounded.then_some(MAX_QUEUE),
        }
    }
}

fn seconds(interval: Interval) -> f64 {
    interval.as_secs_f64()
}

impl Serialize for Lateness {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        json!({
            "packets": self.count(),
            "mean_s": seconds(self.mean()),
            "p50_s": seconds(self.quantile(0.5)),
            "p99_s": seconds(self.quantile(0.99)),
            "max_s": seconds(self.max()),
        })
        .serialize(to)
    }
}

impl Serialize for Scheduling {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let refused = match self {
            Self::Refused(reason) => Some(reason),
            Self::Realtime | Self::Normal => None,
        };
        json!({ "realtime": *self == Self::Realtime, "realtime_refused": refused }).serialize(to)
    }
}

impl Serialize for EndpointReport {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Dropped {
            checksum,
            not_tcp,
            fragment,
            malformed,
            no_port,
            full,
        } = self.dropped;
        json!({
            "fetched": self.fetched,
            "dropped": {
                "checksum": checksum,
                "not_tcp": not_tcp,
                "fragment": fragment,
                "malformed": malformed,
                "no_port": no_port,
                "full": full,
            },
            "accepted": self.accepted,
            "segments_sent": self.stats.segments_sent,
            "segments_retransmitted": self.stats.segments_retransmitted,
            "acks_sent": self.stats.acks_sent,
            "timeouts": self.stats.timeouts,
            "fast_retransmits": self.stats.fast_retransmits,
        })
        .serialize(to)
    }
}

impl Serialize for Fetched {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let lasted = seconds(self.duration);
        json!({
            "bytes": self.bytes,
            "seconds": lasted,
            "goodput_bit_s": 8.0 * self.bytes as f64 / lasted.max(1e-9),
            "correct": self.correct,
            "failure": self.failure.as_ref().map(|reason| match reason {
                Failure::Closed(reason) => format!("{reason:?}"),
                Failure::Quic(reason) => reason.clone(),
            }),
        })
        .serialize(to)
    }
}

/// Serialized as one list per column.
impl Serialize for Samples {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let of = |field: fn(&Sample) -> Value| self.0.iter().map(field).collect::<Vec<_>>();
        json!({
            "time_ns": of(|s| s.time.into()),
            "host": of(|s| s.host.into()),
            "local": of(|s| s.local.to_string().into()),
            "peer": of(|s| s.peer.to_string().into()),
            "ca_state": of(|s| s.ca_state.into()),
            "backoff": of(|s| s.backoff.into()),
            "mss": of(|s| s.mss.into()),
            "cwnd": of(|s| s.cwnd.into()),
            "ssthresh": of(|s| s.ssthresh.into()),
            "flight": of(|s| s.flight.into()),
            "srtt_us": of(|s| s.srtt.into()),
            "rttvar_us": of(|s| s.rttvar.into()),
            "min_rtt_us": of(|s| s.min_rtt.into()),
            "rto_us": of(|s| s.rto.into()),
            "retransmissions": of(|s| s.retransmissions.into()),
            "acked": of(|s| s.acked.into()),
            "received": of(|s| s.received.into()),
            "delivery_rate": of(|s| s.delivery_rate.into()),
        })
        .serialize(to)
    }
}
