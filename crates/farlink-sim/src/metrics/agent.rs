//! Metrics of agents. Each agent has only the metrics of its kind.

use super::table::{Combine, Kind, Metric, Scope};
use farlink_small::reference;

/// Name, unit, kind and definition of a metric.
type Counted = (&'static str, &'static str, Kind, &'static str);

/// Counters of all kinds of agents, with their definitions.
static COUNTED: [Counted; 36] = [
    (
        "cached",
        "",
        Kind::Count,
        reference("segments with data copied into the agent's cache"),
    ),
    (
        "uncached",
        "",
        Kind::Count,
        reference("segments with data without a copy in the agent, for lack of room"),
    ),
    (
        "no_room",
        "",
        Kind::Count,
        reference(
            "segments with data that the agent could not acknowledge (spoof) or store (eln), for lack \
         of room",
        ),
    ),
    (
        "local_retransmissions",
        "",
        Kind::Count,
        reference("copies that the agent retransmitted by itself"),
    ),
    (
        "local_timeouts",
        "",
        Kind::Count,
        reference("expiries of the agent's own timer"),
    ),
    (
        "given_up",
        "",
        Kind::Count,
        reference("copies that the agent gave up after their last try"),
    ),
    (
        "suppressed",
        "",
        Kind::Count,
        reference(
            "ACKs that the agent did not forward to the sender: duplicates for data under repair, \
         with spoof those of data that it has acknowledged",
        ),
    ),
    (
        "passed",
        "",
        Kind::Count,
        reference("duplicate ACKs that the agent forwarded: the sender has to repair their loss"),
    ),
    (
        "old_acks",
        "",
        Kind::Count,
        reference("ACKs below the last one, which the agent dropped"),
    ),
    (
        "acks_passed",
        "",
        Kind::Count,
        reference("pure ACKs that the agent forwarded to the link"),
    ),
    (
        "acks_delayed",
        "",
        Kind::Count,
        reference("pure ACKs that waited in the agent for a newer one or for the interval's end"),
    ),
    (
        "acks_dropped",
        "",
        Kind::Count,
        reference("pure ACKs that the agent dropped for a newer one"),
    ),
    (
        "acks_spoofed",
        "",
        Kind::Count,
        reference("acknowledgments that the agent sent in the name of the far end"),
    ),
    (
        "partial_acks",
        "",
        Kind::Count,
        reference("partial acknowledgments sent by the agent"),
    ),
    (
        "negative_acks",
        "",
        Kind::Count,
        reference("negative acknowledgments that it sent to a mobile host"),
    ),
    (
        "notices",
        "",
        Kind::Count,
        reference("notices of a bad state sent by the agent"),
    ),
    (
        "marked",
        "",
        Kind::Count,
        reference("duplicate ACKs that the agent marked as of a wireless loss"),
    ),
    (
        "unmarked",
        "",
        Kind::Count,
        reference("duplicate ACKs without a mark: the requested data never came to the agent"),
    ),
    (
        "injected",
        "",
        Kind::Count,
        reference(
            "packets that the agent made or retransmitted; with split and pep all packets of the \
         halves",
        ),
    ),
    (
        "blind",
        "",
        Kind::Count,
        reference("times that the agent detected acknowledgments of a connection on another path"),
    ),
    (
        "bytes_held",
        "B",
        Kind::Size,
        reference("bytes of data that the agent keeps or relays, at the end"),
    ),
    (
        "bytes_held_mean",
        "B",
        Kind::Size,
        reference("mean of bytes_held over the time since the agent's first connection"),
    ),
    (
        "bytes_held_max",
        "B",
        Kind::Size,
        reference("the same, at most"),
    ),
    (
        "bytes_unconfirmed",
        "B",
        Kind::Size,
        reference("bytes acknowledged to their sender and not by their receiver, at the end"),
    ),
    (
        "bytes_unconfirmed_max",
        "B",
        Kind::Size,
        reference("the same, at most"),
    ),
    (
        "bytes_lost",
        "B",
        Kind::Size,
        reference(
            "bytes acknowledged to their sender that will not arrive: their connection failed",
        ),
    ),
    (
        "connections",
        "",
        Kind::Count,
        reference("connections that the agent took on"),
    ),
    (
        "connections_refused",
        "",
        Kind::Count,
        reference("packets of new connections for which the agent had no room"),
    ),
    (
        "fragments",
        "",
        Kind::Count,
        reference("fragments of TCP packets that passed unread: their connections stall"),
    ),
    (
        "connections_failed",
        "",
        Kind::Count,
        reference("connections that ended otherwise than by both ends"),
    ),
    (
        "wired_segments",
        "",
        Kind::Count,
        reference("segments with data that the wired halves sent"),
    ),
    (
        "wired_retransmissions",
        "",
        Kind::Count,
        reference("of these, those sent again"),
    ),
    (
        "wired_timeouts",
        "",
        Kind::Count,
        reference("expiries of their retransmission timers"),
    ),
    (
        "wireless_segments",
        "",
        Kind::Count,
        reference("segments with data that the wireless halves sent"),
    ),
    (
        "wireless_retransmissions",
        "",
        Kind::Count,
        reference("of these, those sent again"),
    ),
    (
        "wireless_timeouts",
        "",
        Kind::Count,
        reference("expiries of their retransmission timers"),
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
