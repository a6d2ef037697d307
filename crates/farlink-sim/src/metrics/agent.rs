//! Metrics of agents. Each agent has only the metrics of its kind.

use super::table::{Combine, Kind, Metric, Scope};

/// Name, unit, kind and definition of a metric.
type Counted = (&'static str, &'static str, Kind, &'static str);

/// Counters of all kinds of agents, with their definitions.
static COUNTED: [Counted; 33] = [
    (
        "cached",
        "",
        Kind::Count,
        "segments with data copied into the agent's cache",
    ),
    (
        "uncached",
        "",
        Kind::Count,
        "segments with data without a copy in the agent, for lack of room",
    ),
    (
        "no_room",
        "",
        Kind::Count,
        "segments with data that the agent could not acknowledge (spoof) or store (eln), for lack \
         of room",
    ),
    (
        "local_retransmissions",
        "",
        Kind::Count,
        "copies that the agent retransmitted by itself",
    ),
    (
        "local_timeouts",
        "",
        Kind::Count,
        "expiries of the agent's own timer",
    ),
    (
        "given_up",
        "",
        Kind::Count,
        "copies that the agent gave up after their last try",
    ),
    (
        "suppressed",
        "",
        Kind::Count,
        "ACKs that the agent did not forward to the sender: duplicates for data under repair, \
         with spoof those of data that it has acknowledged",
    ),
    (
        "passed",
        "",
        Kind::Count,
        "duplicate ACKs that the agent forwarded: the sender has to repair their loss",
    ),
    (
        "old_acks",
        "",
        Kind::Count,
        "ACKs below the last one, which the agent dropped",
    ),
    (
        "acks_spoofed",
        "",
        Kind::Count,
        "acknowledgments that the agent sent in the name of the far end",
    ),
    (
        "partial_acks",
        "",
        Kind::Count,
        "partial acknowledgments sent by the agent",
    ),
    (
        "negative_acks",
        "",
        Kind::Count,
        "negative acknowledgments that it sent to a mobile host",
    ),
    (
        "notices",
        "",
        Kind::Count,
        "notices of a bad state sent by the agent",
    ),
    (
        "marked",
        "",
        Kind::Count,
        "duplicate ACKs that the agent marked as of a wireless loss",
    ),
    (
        "unmarked",
        "",
        Kind::Count,
        "duplicate ACKs without a mark: the requested data never came to the agent",
    ),
    (
        "injected",
        "",
        Kind::Count,
        "packets that the agent made or retransmitted; with split and pep all packets of the \
         halves",
    ),
    (
        "blind",
        "",
        Kind::Count,
        "times that the agent detected acknowledgments of a connection on another path",
    ),
    (
        "bytes_held",
        "B",
        Kind::Size,
        "bytes of data that the agent keeps or relays, at the end",
    ),
    (
        "bytes_held_mean",
        "B",
        Kind::Size,
        "mean of bytes_held over the time since the agent's first connection",
    ),
    ("bytes_held_max", "B", Kind::Size, "the same, at most"),
    (
        "bytes_unconfirmed",
        "B",
        Kind::Size,
        "bytes acknowledged to their sender and not by their receiver, at the end",
    ),
    (
        "bytes_unconfirmed_max",
        "B",
        Kind::Size,
        "the same, at most",
    ),
    (
        "bytes_lost",
        "B",
        Kind::Size,
        "bytes acknowledged to their sender that will not arrive: their connection failed",
    ),
    (
        "connections",
        "",
        Kind::Count,
        "connections that the agent took on",
    ),
    (
        "connections_refused",
        "",
        Kind::Count,
        "packets of new connections for which the agent had no room",
    ),
    (
        "fragments",
        "",
        Kind::Count,
        "fragments of TCP packets that passed unread: their connections stall",
    ),
    (
        "connections_failed",
        "",
        Kind::Count,
        "connections that ended otherwise than by both ends",
    ),
    (
        "wired_segments",
        "",
        Kind::Count,
        "segments with data that the wired halves sent",
    ),
    (
        "wired_retransmissions",
        "",
        Kind::Count,
        "of these, those sent again",
    ),
    (
        "wired_timeouts",
        "",
        Kind::Count,
        "expiries of their retransmission timers",
    ),
    (
        "wireless_segments",
        "",
        Kind::Count,
        "segments with data that the wireless halves sent",
    ),
    (
        "wireless_retransmissions",
        "",
        Kind::Count,
        "of these, those sent again",
    ),
    (
        "wireless_timeouts",
        "",
        Kind::Count,
        "expiries of their retransmission timers",
    ),
];

/// Returns every metric of agents.
pub(super) fn described() -> impl Iterator<Item = Metric> {
    COUNTED
        .iter()
        .map(|&(name, unit, kind, definition)| Metric {
            name: name.to_owned(),
            scope: Scope::Agent,
            unit,
            kind,
            combine: Combine::Apart,
            pooled: &[],
            definition: definition.to_owned(),
        })
}
