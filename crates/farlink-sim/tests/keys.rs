//! No key of `[tcp]` is accepted and ignored: for each variant, a value other than the variant's
//! changes some run, or is refused with the key or value that it needs.

use std::collections::{BTreeMap, BTreeSet};

use farlink_sim::{Monitor, run, scenario};
use farlink_tcp::variant;
use serde_json::Value;

type Key = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static [&'static str],
);

/// Keys, each with the keys that it needs, and with values of which at least one differs from that
/// of any variant.
const KEYS: &[Key] = &[
    ("mss", &[], &["536 B"]),
    ("receive_window", &[], &["8 KiB"]),
    ("receive_window_max", &[], &["1 MiB"]),
    (
        "gradual_window",
        &[
            ("receive_window", "256 KiB"),
            ("receive_window_max", "1 MiB"),
        ],
        &["true"],
    ),
    ("send_buffer", &[], &["8 KiB"]),
    ("window_scale", &[], &["off", "3"]),
    ("sack", &[], &["false", "true"]),
    ("dsack", &[], &["true"]),
    ("snack", &[], &["short", "long"]),
    ("assume_loss", &[], &["corruption"]),
    ("eln", &[], &["off", "oracle", "checksum"]),
    ("ebsn", &[], &["true"]),
    ("ackp", &[], &["restart", "back-off", "constant"]),
    ("ackp_timer", &[], &["4 s"]),
    ("ackp_karn", &[], &["true"]),
    ("nack", &[], &["true"]),
    ("timestamps", &[], &["true"]),
    ("ecn", &[], &["true", "accecn"]),
    ("ect1", &[("ecn", "accecn")], &["true", "false"]),
    ("ecn_echo", &[("ecn", "true")], &["dctcp", "until-cwr"]),
    ("accecn_option", &[("ecn", "accecn")], &["false"]),
    ("nagle", &[], &["off", "rfc896", "minshall"]),
    ("cwnd_validation", &[], &["false", "true"]),
    ("cwnd_limit", &[], &["receive-window"]),
    (
        "cwnd_limit",
        &[
            ("cwnd_validation", "false"),
            ("receive_window", "8 KiB"),
            ("receive_window_max", "1 MiB"),
        ],
        &["receive-window"],
    ),
    ("pacing", &[], &["true"]),
    ("tso", &[("pacing", "true")], &["true"]),
    ("pacing_ss_ratio", &[("pacing", "true")], &["1.5"]),
    ("pacing_ca_ratio", &[("pacing", "true")], &["0.8"]),
    ("reassembly", &[], &["false", "true"]),
    ("delayed_ack", &[], &["off", "500 ms"]),
    ("gro", &[], &["1 ms"]),
    ("ack_every", &[], &["5"]),
    ("ack_rate", &[], &["8"]),
    ("ack_heartbeat", &[], &["true"]),
    ("ack_quick", &[], &["16"]),
    ("ack_gap_fill", &[], &["delayed"]),
    ("dup_acks", &[], &["delayed"]),
    ("dummies", &[], &["ignore", "plain"]),
    (
        "recovery",
        &[],
        &[
            "go-back-n",
            "tahoe",
            "reno",
            "newreno",
            "newreno-impatient",
            "vegas",
        ],
    ),
    ("careful", &[], &["less", "ack"]),
    ("newreno_exit", &[], &["flight-rfc3782", "ssthresh"]),
    (
        "newreno_exit",
        &[("dummies", "plain")],
        &["flight-rfc3782", "ssthresh"],
    ),
    ("rescue", &[], &["false"]),
    ("rescue", &[("initial_window", "4")], &["false"]), // for ledbat, whose window starts small
    ("prr", &[], &["true"]),
    (
        "prr_bound",
        &[("prr", "true")],
        &["conservative", "slow-start"],
    ),
    ("rack", &[], &["true"]),
    ("rack_reo_divisor", &[("rack", "true")], &["1", "100"]),
    (
        "rack_reo_persist",
        &[("rack", "true"), ("dsack", "true")],
        &["1"],
    ),
    ("rack_min_rtt_window", &[("rack", "true")], &["1 s"]),
    (
        "rack_rtt",
        &[("rack", "true")],
        &["latest", "last-in-sequence"],
    ),
    ("tlp", &[("rack", "true")], &["false"]),
    ("tlp_srtts", &[("rack", "true")], &["3"]),
    ("tlp_initial", &[("rack", "true")], &["300 ms"]),
    ("tlp_max_ack_delay", &[("rack", "true")], &["0 s"]),
    ("fine_k", &[], &["9"]),
    ("fine_granularity", &[], &["700 ms"]),
    ("coarse_timeout", &[], &["false", "true"]),
    ("dupack_threshold", &[], &["5"]),
    ("limited_transmit", &[], &["true", "false"]),
    ("restart_on_retransmit", &[], &["true", "false"]),
    ("restart_on_sack", &[], &["true"]),
    ("reduce_from", &[], &["cwnd", "pipe", "flight-unbounded"]),
    ("reduce_once", &[], &["true"]),
    ("repeat_first", &[], &["true"]),
    ("undo", &[("timestamps", "true")], &["eifel", "frto"]),
    ("congestion", &[], &["reno", "vegas"]),
    ("byte_counting", &[], &["2", "unlimited", "acks"]),
    ("slow_start", &[], &["hystart", "hystart++", "search"]),
    (
        "resume_cwnd",
        &[("resume_cwnd", "100 kB"), ("resume_rtt", "600 ms")],
        &["1 GB"],
    ),
    (
        "resume_rtt",
        &[("resume_cwnd", "1 GB"), ("resume_rtt", "1 s")],
        &["600 ms"],
    ),
    (
        "resume_age",
        &[("resume_cwnd", "1 GB"), ("resume_rtt", "600 ms")],
        &["2 h"],
    ),
    (
        "resume_lifetime",
        &[("resume_cwnd", "1 GB"), ("resume_rtt", "600 ms")],
        &["0 s"],
    ),
    ("initial_window", &[], &["3"]),
    ("initial_ssthresh", &[], &["12 kB", "1 kB"]),
    ("initial_ssthresh", &[("dummies", "plain")], &["12 kB"]),
    ("idle_restart", &[], &["true", "false"]),
    ("idle_decay", &[], &["true"]),
    ("lost_syns", &[], &["2"]),
    ("timer", &[], &["rfc793", "jacobson", "linux"]),
    ("rto_initial", &[], &["5 s"]),
    ("rto_min", &[], &["400 ms"]),
    ("rto_max", &[], &["3 s"]),
    ("rto_tick", &[], &["500 ms"]),
    ("rto_exact_samples", &[("rto_tick", "500 ms")], &["true"]),
    ("rto_round", &[], &["500 ms"]),
    ("rto_slop", &[], &["200 ms"]),
    ("karn", &[], &["false"]),
    (
        "rto_srtt_initial",
        &[("timer", "jacobson"), ("rto_dev_initial", "1 s")],
        &["3 s"],
    ),
    (
        "rto_dev_initial",
        &[("timer", "jacobson"), ("rto_srtt_initial", "3 s")],
        &["1 s"],
    ),
    ("rto_alpha", &[], &["0.5"]),
    ("rto_beta", &[], &["1.3"]),
    (
        "rto_gain",
        &[("timer", "jacobson"), ("rto_min", "1 ms")],
        &["0.5"],
    ),
    (
        "rto_dev_gain",
        &[("timer", "jacobson"), ("rto_min", "1 ms")],
        &["0.5"],
    ),
    (
        "rto_k",
        &[("timer", "jacobson"), ("rto_min", "1 ms")],
        &["2"],
    ),
    ("rto_granularity", &[("rto_min", "1 ms")], &["700 ms"]),
    ("backoff", &[], &["none"]),
    ("ack_ends_backoff", &[], &["true"]),
    ("repeat_all", &[], &["true"]),
    ("dup_acks_halve", &[], &["true"]),
    ("thin_linear_timeouts", &[], &["true"]),
    ("sampling", &[], &["every-segment"]),
    ("rtt_from_sack", &[], &["true"]),
    ("max_retransmits", &[], &["2"]),
    ("max_syn_retransmits", &[], &["0"]),
    ("msl", &[], &["1 s"]),
    ("keepalive", &[], &["1 s"]),
    ("keepalive_interval", &[("keepalive", "1 s")], &["1 s"]),
    (
        "keepalive_probes",
        &[("keepalive", "1 s"), ("keepalive_interval", "1 s")],
        &["1"],
    ),
    ("user_timeout", &[], &["4 s"]),
    ("fin_wait_2_timeout", &[], &["1 s"]),
    ("fast_open", &[], &["cookie", "request"]),
];

/// Keys that other tests cover: `control` has tables of parameters with their own descriptions, and
/// a variant and a profile are the TCP itself.
const OTHERWISE: [&str; 5] = ["control", "variant", "profile", "resume", "quic"];

/// Paths between two nodes a and b. Each key has an effect on at least one of them.
const PATHS: &[&str] = &[
    // Losses of both kinds by the medium, in both directions. Both ends send.
    r#"
[[links]]
between = ["a", "b"]
down = { rate = "2 Mbit/s", delay = "100 ms", queue = { packets = 30 }, channel = { loss = 0.02, corrupt = 0.01 } }
[[flows]]
from = "a"
to = "b"
size = "600 kB"
reverse = "50 kB"
"#,
    // Losses by a queue, which marks packets if ECN is on.
    r#"
[[links]]
between = ["a", "b"]
down = { rate = "1 Mbit/s", delay = "150 ms", queue = { packets = 12 }, mark = { packets = 8 } }
[[flows]]
from = "a"
to = "b"
size = "1 MB"
"#,
    // A queue that tells ECT(1) from ECT(0).
    r#"
[[links]]
between = ["a", "b"]
down = { rate = "2 Mbit/s", delay = "50 ms", queue = { packets = 60 }, discipline = "dualpi2" }
[[flows]]
from = "a"
to = "b"
size = "1 MB"
"#,
    // Heavy loss with time-outs, also of SYNs.
    r#"
[[links]]
between = ["a", "b"]
down = { rate = "1 Mbit/s", delay = "100 ms", channel = { loss = 0.3 } }
[[flows]]
from = "a"
to = "b"
size = "40 kB"
count = 20
"#,
    // Less loss, and the ends of many transfers.
    r#"
[[links]]
between = ["a", "b"]
down = { rate = "1 Mbit/s", delay = "100 ms", channel = { loss = 0.1 } }
[[flows]]
from = "a"
to = "b"
size = "30 kB"
count = 60
stagger = "5 s"
"#,
    // Delays longer than the timer, and reordering.
    r#"
[[links]]
between = ["a", "b"]
down = { rate = "2 Mbit/s", delay = "150 ms", channel = { loss = 0.005, reorder = { probability = 0.02, delay = "80 ms" }, jitter = { distribution = "exponential", mean = "200 ms" } } }
[[flows]]
from = "a"
to = "b"
size = "800 kB"
"#,
    // Requests with pauses, over persistent connections.
    r#"
[[links]]
between = ["a", "b"]
down = { rate = "10 Mbit/s", delay = "200 ms" }
[[flows]]
from = "a"
to = "b"
app = "http"
pages = 6
page_interval = "20 s"
connections = "persistent"
[[flows]]
from = "a"
to = "b"
app = "telnet"
conversations = 1
typing = "20 s"
"#,
    // Requests with pauses of a few time-outs.
    r#"
[[links]]
between = ["a", "b"]
down = { rate = "10 Mbit/s", delay = "200 ms" }
[[flows]]
from = "a"
to = "b"
app = "http"
pages = 10
page_interval = "4 s"
connections = "persistent"
[[flows]]
from = "a"
to = "b"
app = "http"
pages = 6
page_interval = "7 s"
connections = "persistent"
"#,
    // Small and large files in turn over a persistent connection, with short pauses and few losses.
    r#"
[[links]]
between = ["a", "b"]
down = { rate = "10 Mbit/s", delay = "200 ms", channel = { loss = 0.002 } }
[[flows]]
from = "a"
to = "b"
app = "web"
files = 200
size = { distribution = "pareto", mean = "20 kB", shape = 1.1, max = "2 MB" }
think_time = "100 ms"
connections = "persistent"
"#,
    // Requests over separate connections.
    r#"
[[links]]
between = ["a", "b"]
down = { rate = "10 Mbit/s", delay = "200 ms" }
[[flows]]
from = "a"
to = "b"
app = "http"
pages = 3
page_interval = "20 s"
"#,
    // A path with a large bandwidth-delay product.
    r#"
[[links]]
between = ["a", "b"]
down = { rate = "20 Mbit/s", delay = "200 ms" }
[[flows]]
from = "a"
to = "b"
size = "6 MB"
"#,
    // Keystrokes over a lossy link: time-outs with little data in flight, before the end of the
    // data.
    r#"
[[links]]
between = ["a", "b"]
down = { rate = "64 kbit/s", delay = "100 ms", channel = { loss = 0.3 } }
[[flows]]
from = "a"
to = "b"
app = "telnet"
conversations = 1
typing = "60 s"
keystrokes = "1 s"
"#,
];

/// Returns the result of a run. Panics if the scenario is refused.
fn play(path: &str, set: &[(String, String)]) -> String {
    match scenario::load(path, "", set).and_then(|s| s.expand()) {
        Ok(scenario) => match run(&scenario, 0, &Monitor::default()) {
            Ok(outcome) => outcome.to_json(&scenario),
            Err(error) => panic!("{error}"),
        },
        Err(fault) => panic!("{path} {set:?}: {fault}"),
    }
}

type Set = Vec<(String, String)>;

/// Returns whether a value is accepted and changes no run; `None` if the value is refused, or
/// equals the variant's.
fn is_ignored(
    set: &Set,
    with: (String, String),
    plain: &mut BTreeMap<usize, String>,
) -> Option<bool> {
    let mut changed = set.clone();
    changed.push(with);
    let whole = |set: &Set| {
        let scenario = scenario::load(PATHS[0], "", set).ok()?;
        let json: Value = serde_json::from_str(&scenario.to_json()).ok()?;
        Some(json["resolved_tcp"].clone())
    };
    if whole(&changed)? == whole(set)? {
        return None;
    }
    let shows = |(i, path): (usize, &&str)| {
        let without = plain.entry(i).or_insert_with(|| play(path, set));
        *without != play(path, &changed)
    };
    Some(!PATHS.iter().enumerate().any(shows))
}

#[test]
fn the_table_has_every_key() {
    let schema: Value = serde_json::from_str(&scenario::schema()).unwrap();
    let keys = schema["$defs"]["TcpSpec"]["properties"]
        .as_object()
        .unwrap();
    let listed: BTreeSet<_> = KEYS.iter().map(|(key, ..)| *key).chain(OTHERWISE).collect();
    assert_eq!(listed, keys.keys().map(String::as_str).collect());
}

#[test]
fn a_key_changes_something_or_is_refused() {
    let mut ignored = Vec::new();
    for row in variant::VARIANTS {
        let mut plain: BTreeMap<Set, BTreeMap<usize, String>> = BTreeMap::new();
        let mut verdicts: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
        for (key, beside, values) in KEYS {
            let mut set = vec![("tcp.variant".to_owned(), row.name.to_owned())];
            set.extend(
                beside
                    .iter()
                    .map(|&(k, v)| (format!("tcp.{k}"), v.to_owned())),
            );
            let plain = plain.entry(set.clone()).or_default();
            for value in *values {
                let with = (format!("tcp.{key}"), (*value).to_owned());
                let verdict = is_ignored(&set, with, plain);
                verdicts.entry(key).or_default().extend(verdict);
                if verdict == Some(false) {
                    break;
                }
            }
        }
        let without_effect = verdicts
            .iter()
            .filter(|(_, all)| !all.is_empty() && all.iter().all(|&item| item));
        ignored.extend(without_effect.map(|(key, _)| format!("{} {key}", row.name)));
    }
    assert!(
        ignored.is_empty(),
        "accepted and ignored:\n{}",
        ignored.join("\n")
    );
}
