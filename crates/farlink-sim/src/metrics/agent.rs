//! The measures of agents: what each counts, told once. An agent counts what it does of
//! these.

use super::{Combine, Kind, Metric, Scope};

/// Name, unit, kind, definition.
type Counted = (&'static str, &'static str, Kind, &'static str);

/// Counters of agents, and their meanings.
static COUNTED: [Counted; 32] = [
    (
        "cached",
        "",
        Kind::Count,
        "segments with data that the agent kept a copy of",
    ),
    (
        "uncached",
        "",
        Kind::Count,
        "segments with data of which it kept no copy, for lack of room",
    ),
    (
        "no_room",
        "",
        Kind::Count,
        "segments with data that it could not answer for (spoof) or note (eln), for lack of room",
    ),
    (
        "local_retransmissions",
        "",
        Kind::Count,
        "copies that the agent sent again by itself",
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
        "copies that it gave up after their last try",
    ),
    (
        "suppressed",
        "",
        Kind::Count,
        "ACKs that it kept from the sender: duplicates of what it repairs, with spoof those of \
         what it has acknowledged",
    ),
    (
        "passed",
        "",
        Kind::Count,
        "duplicate ACKs that it forwarded: their loss is the sender's",
    ),
    (
        "old_acks",
        "",
        Kind::Count,
        "ACKs below the last one that it dropped",
    ),
    (
        "acks_spoofed",
        "",
        Kind::Count,
        "acknowledgments that it sent in the name of the far end",
    ),
    (
        "partial_acks",
        "",
        Kind::Count,
        "partial acknowledgments that it sent",
    ),
    (
        "notices",
        "",
        Kind::Count,
        "notices of a bad state that it sent",
    ),
    (
        "marked",
        "",
        Kind::Count,
        "duplicate ACKs that it marked as of a wireless loss",
    ),
    (
        "unmarked",
        "",
        Kind::Count,
        "duplicate ACKs that it did not: what they ask for never came",
    ),
    (
        "injected",
        "",
        Kind::Count,
        "packets that the agent made or sent again; with split and pep all that leave the halves",
    ),
    (
        "blind",
        "",
        Kind::Count,
        "times that it found a connection to be acknowledged by another way",
    ),
    (
        "bytes_held",
        "B",
        Kind::Size,
        "bytes of the data that it keeps or relays, at the end",
    ),
    (
        "bytes_held_mean",
        "B",
        Kind::Size,
        "the same, mean over the time since its first connection",
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
        "packets with which another would have begun, for \
         which there was no room",
    ),
    (
        "fragments",
        "",
        Kind::Count,
        "pieces of TCP's packets that passed unread: the connections that they are of stall",
    ),
    (
        "connections_failed",
        "",
        Kind::Count,
        "connections that ended otherwise than by both ends' \
         wish",
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

/// Every measure of agents.
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
