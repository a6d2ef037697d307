//! Observation of agents: their measures, the traces `agent` and `passages`, and captures on both
//! sides of their node.

use crate::common::{expand, metric, result};
use farlink_sim::scenario::Expanded;
use farlink_sim::{Holds, Monitor, Scope, Trace, TraceOptions, columns_of, metrics, trace};
use serde_json::Value;
use std::collections::BTreeSet;

/// Returns a transfer of 800 kB to a host behind a base station with this agent and a lossy link,
/// for a sender with these keys of `[tcp]`.
fn scenario(agent: &str, tcp: &str) -> Expanded {
    opened(agent, tcp, "sender")
}

/// Returns the same scenario with a connection opened by the end `opens`.
fn opened(agent: &str, tcp: &str, opens: &str) -> Expanded {
    let text = format!(
        "[tcp]\n{tcp}\n[[links]]\nbetween = [\"fixed\", \"base\"]\n\
         down = {{ rate = \"10 Mbit/s\", delay = \"10 ms\" }}\n\
         [[links]]\nname = \"radio\"\nbetween = [\"base\", \"mobile\"]\n\
         down = {{ rate = \"2 Mbit/s\", delay = \"5 ms\", channel = {{ loss = 0.03 }} }}\n\
         up = {{ rate = \"2 Mbit/s\", delay = \"5 ms\" }}\n\
         [[agents]]\nat = \"base\"\nwireless = \"radio\"\n{agent}\n\
         [[flows]]\nfrom = \"fixed\"\nto = \"mobile\"\nsize = \"800 kB\"\nopens = \"{opens}\"\n"
    );
    expand(&text)
}

/// Returns a run with all traces and captures, and the counters of its agent.
fn seen(agent: &str, tcp: &str) -> (Trace, Value) {
    let scenario = scenario(agent, tcp);
    let traced = trace(
        &scenario,
        0,
        &TraceOptions::capturing(0),
        &Monitor::default(),
    )
    .unwrap();
    let result: Value = serde_json::from_str(&traced.outcome.to_json(&scenario)).unwrap();
    let counted = result["agents"][0]["metrics"].clone();
    (traced, counted)
}

/// Returns the number of rows of a trace whose columns have these values. Names have their index as
/// value.
fn rows(traced: &Trace, table: &str, wanted: &[(&str, &str)]) -> u64 {
    let known = columns_of(table);
    let table = traced
        .tables
        .iter()
        .find(|entry| entry.name == table)
        .unwrap();
    let mut fits = vec![true; table.columns[0].1.numbers().len()];
    for &(name, value) in wanted {
        let column = &table
            .columns
            .iter()
            .find(|entry| entry.0 == name)
            .unwrap()
            .1;
        let holds = known.iter().find(|entry| entry.name == name).unwrap().holds;
        let number = match holds {
            Holds::Name(names) => names().iter().position(|entry| *entry == value).unwrap() as u64,
            _ => value.parse().unwrap(),
        };
        for (fit, got) in fits.iter_mut().zip(column.numbers()) {
            *fit &= got == number;
        }
    }
    fits.iter().filter(|fit| **fit).count() as u64
}

fn acts(traced: &Trace, names: &[&str]) -> u64 {
    let of = |name: &&str| rows(traced, "agent", &[("action", name)]);
    names.iter().map(of).sum()
}

fn count(counted: &Value, name: &str) -> u64 {
    counted[name].as_f64().unwrap() as u64
}

const ALL: [(&str, &str); 11] = [
    ("kind = \"snoop\"", "variant = \"reno\""),
    (
        "kind = \"snoop\"\nuploads = true",
        "variant = \"reno\"\nnack = true",
    ),
    ("kind = \"ackp\"", "variant = \"reno\"\nackp = \"restart\""),
    ("kind = \"ebsn\"", "variant = \"reno\"\nebsn = true"),
    ("kind = \"eln\"", "variant = \"eln\"\neln = \"agent\""),
    ("kind = \"seqcache\"", "variant = \"eln\"\neln = \"agent\""),
    ("kind = \"split\"", "variant = \"reno\""),
    ("kind = \"pep\"", "variant = \"reno\""),
    ("kind = \"pepsal\"", "variant = \"reno\""),
    ("kind = \"spoof\"", "variant = \"sack\""),
    ("kind = \"thin\"", "variant = \"sack\""),
];

/// The far end opens the connection (a download). The last ACK of its handshake may be lost between
/// the agent and the sender.
#[test]
fn an_agent_serves_connections_that_the_far_end_opens() {
    for (agent, tcp) in ALL {
        for lost in ["", ", channel = { scripted_loss = { packets = [2] } }"] {
            let text = format!(
                "[tcp]\n{tcp}\n[[links]]\nbetween = [\"fixed\", \"base\"]\n\
                 down = {{ rate = \"10 Mbit/s\", delay = \"10 ms\" }}\n\
                 up = {{ rate = \"10 Mbit/s\", delay = \"10 ms\"{lost} }}\n\
                 [[links]]\nname = \"radio\"\nbetween = [\"base\", \"mobile\"]\n\
                 down = {{ rate = \"2 Mbit/s\", delay = \"5 ms\", channel = {{ loss = 0.03 }} }}\n\
                 up = {{ rate = \"2 Mbit/s\", delay = \"5 ms\" }}\n\
                 [[agents]]\nat = \"base\"\nwireless = \"radio\"\n{agent}\n\
                 [[flows]]\nfrom = \"fixed\"\nto = \"mobile\"\nsize = \"300 kB\"\nopens = \"receiver\"\n"
            );
            let done = result(&text);
            let of = |what| metric(&done, "flows", 0, what);
            assert_eq!(of("completed"), 1.0, "{agent}, {lost}");
            assert!(of("duration") < 30.0, "{agent}, {lost}: {}", of("duration"));
        }
    }
}

/// Each counter of an agent is a metric of the registry, and each metric of agents in the registry
/// is a counter of some agent.
#[test]
fn every_counter_of_an_agent_is_a_measure() {
    let known = metrics()
        .iter()
        .filter(|metric| metric.scope == Scope::Agent);
    let known: BTreeSet<_> = known.map(|metric| metric.name.as_str()).collect();
    let mut counted = BTreeSet::new();
    for (agent, tcp) in ALL {
        let (_, counters) = seen(agent, tcp);
        counted.extend(counters.as_object().unwrap().keys().cloned());
        for wanted in ["connections", "blind", "injected"] {
            let has = counters.get(wanted).is_some();
            let without = agent.contains("spoof") || agent.contains("thin");
            assert!(has || without, "{agent} {wanted}");
        }
    }
    let counted: BTreeSet<_> = counted.iter().map(String::as_str).collect();
    assert_eq!(counted, known);
}

/// Each action that an agent counts has one row in its trace.
#[test]
fn the_trace_has_a_row_for_each_thing_that_an_agent_counts() {
    let (traced, counted) = seen("kind = \"snoop\"", "variant = \"reno\"");
    let resent = count(&counted, "local_retransmissions");
    assert!(resent > 3, "{counted}");
    assert_eq!(acts(&traced, &["resend", "timeout"]), resent);
    assert_eq!(acts(&traced, &["keep"]), count(&counted, "cached"));
    assert_eq!(acts(&traced, &["suppress"]), count(&counted, "suppressed"));

    let (traced, counted) = seen("kind = \"spoof\"", "variant = \"sack\"");
    let resent = count(&counted, "local_retransmissions");
    assert!(resent > 3, "{counted}");
    assert_eq!(acts(&traced, &["resend", "timeout"]), resent);
    for (act, name) in [
        ("keep", "cached"),
        ("suppress", "suppressed"),
        ("acknowledge", "acks_spoofed"),
    ] {
        assert_eq!(acts(&traced, &[act]), count(&counted, name), "{act}");
    }

    for kind in ["split", "pep"] {
        let (traced, counted) = seen(&format!("kind = \"{kind}\""), "variant = \"reno\"");
        let again = count(&counted, "wireless_retransmissions");
        assert!(again > 3, "{counted}");
        assert_eq!(acts(&traced, &["resend", "timeout"]), again);
        let sent = count(&counted, "wireless_segments");
        assert_eq!(acts(&traced, &["relay", "resend", "timeout"]), sent);
        // The first relayed segment is the first of the stream.
        assert_eq!(
            rows(&traced, "agent", &[("action", "relay"), ("seq", "0")]),
            1
        );
    }
}

/// If an agent answers the opener early, its half has sequence numbers of its own. The trace still
/// has the sender's.
#[test]
fn relayed_data_has_the_senders_numbers_when_the_receiver_opens() {
    let scenario = opened("kind = \"pep\"", "variant = \"reno\"", "receiver");
    let traced = trace(
        &scenario,
        0,
        &TraceOptions::capturing(0),
        &Monitor::default(),
    )
    .unwrap();
    for first in ["0", "1460"] {
        let wanted = [("action", "relay"), ("seq", first)];
        assert_eq!(rows(&traced, "agent", &wanted), 1, "{first}");
    }
}

/// Returns the number of packets in a pcapng file, which are blocks of type 6.
fn packets(file: &[u8]) -> u64 {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let (mut at, mut measured) = (0, 0);
    while at < file.len() {
        measured += u64::from(word(at) == 6);
        at += word(at + 4) as usize;
    }
    measured
}

/// Both sides of the node are captured, and the trace of passages has the same packets. A
/// retransmission by snoop leaves on the wireless side alone. An ACK that snoop drops arrives on
/// the wireless side and does not leave on the wired side.
#[test]
fn both_sides_of_an_agent_are_captured() {
    let (traced, counted) = seen("kind = \"snoop\"", "variant = \"reno\"");
    let names: Vec<_> = traced
        .captures
        .iter()
        .map(|capture| capture.0.as_str())
        .collect();
    let sides = ["base@radio-wired", "base@radio-wireless"];
    assert_eq!(names, ["fixed", "mobile", sides[0], sides[1]]);
    for (side, place) in [(2, "wired"), (3, "wireless")] {
        let passed = rows(&traced, "passages", &[("place", place)]);
        assert_eq!(packets(&traced.captures[side].1), passed, "{place}");
    }
    let at = |place, leaves, forward| {
        let wanted = [("place", place), ("leaves", leaves), ("forward", forward)];
        rows(&traced, "passages", &wanted)
    };
    let resent = count(&counted, "local_retransmissions");
    assert_eq!(at("wireless", "1", "1"), at("wired", "0", "1") + resent);
    let dropped = count(&counted, "suppressed") + count(&counted, "old_acks");
    assert!(dropped > 0);
    assert_eq!(at("wired", "1", "0") + dropped, at("wireless", "0", "0"));
    // The wired link loses nothing.
    assert_eq!(at("from", "1", "1"), at("wired", "0", "1"));
    assert_eq!(at("from", "0", "0"), at("wired", "1", "0"));
    assert!(at("to", "0", "1") < at("wireless", "1", "1"));
}

/// Each half of a split connection has its own packets, all of which are captured.
#[test]
fn the_halves_of_a_split_connection_are_captured() {
    let (traced, counted) = seen("kind = \"split\"", "variant = \"reno\"");
    let passed = |leaves, place| rows(&traced, "passages", &[("leaves", leaves), ("place", place)]);
    let made = count(&counted, "injected");
    assert_eq!(passed("1", "wired") + passed("1", "wireless"), made);
    assert_eq!(
        packets(&traced.captures[2].1),
        passed("0", "wired") + passed("1", "wired")
    );
}
