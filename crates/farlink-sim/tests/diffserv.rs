//! Diffserv codepoints of flows: in captures, in CAKE's tins, and as low priority.

use crate::common::{column, metric, result, traced};

/// A call and a source that overloads the link, between the same hosts.
const CALL: &str = r#"
duration = "10 s"
[[links]]
between = ["a", "b"]
down = { rate = "10 Mbit/s", delay = "20 ms", queue = { packets = 400 }DISCIPLINE }
[[flows]]
name = "call"
from = "a"
to = "b"
app = "cbr"
rate = "500 kbit/s"
packet = "972 B"
duration = "10 s"
CALL
[[flows]]
name = "bulk"
from = "a"
to = "b"
app = "cbr"
rate = "20 Mbit/s"
packet = "972 B"
duration = "10 s"
BULK
"#;

fn text(discipline: &str, call: &str, bulk: &str) -> String {
    CALL.replace("DISCIPLINE", discipline)
        .replace("CALL", call)
        .replace("BULK", bulk)
}

/// Hosts share one queue per tin, so only another tin keeps the call out of the bulk's queue.
#[test]
fn expedited_call_has_a_tin_of_its_own_in_cake() {
    let cake = ", discipline = { method = \"cake\", isolation = \"hosts\", rate = \"9 Mbit/s\" }";
    let waits = |call: &str, bulk: &str| {
        let run = result(&text(cake, call, bulk));
        metric(&run, "flows", 0, "delay_mean") - 20e-3
    };
    assert!(waits("", "") > 10e-3);
    for (call, bulk) in [
        ("dscp = \"EF\"", ""),
        ("dscp = 48", ""),
        ("", "dscp = \"CS1\""),
        ("dscp = \"VA\"", "dscp = \"LE\""),
    ] {
        // The call waits for one packet of 1000 bytes at most, and is sent for 0.8 ms.
        let waits = waits(call, bulk);
        assert!(waits < 2.6e-3, "{call} {bulk}: {waits}");
    }
    // AF41 is best effort with three tins.
    assert!(waits("dscp = \"AF41\"", "") > 10e-3);
}

/// Packets of 1000 bytes take 0.8 ms. The normal flow loses nothing, and the rest is for the other.
#[test]
fn flow_of_lower_effort_gets_what_the_others_leave() {
    for discipline in ["", ", priorities = false"] {
        let run = result(&text(discipline, "dscp = \"EF\"", "dscp = \"LE\""));
        let lost = metric(&run, "flows", 0, "datagrams_lost");
        if discipline.is_empty() {
            assert_eq!(lost, 0.0);
            assert!(metric(&run, "flows", 0, "delay_max") < 20e-3 + 1.61e-3);
            let packets = metric(&run, "links", 0, "low_packets");
            // 12,500 packets in 10 s, less the call's 643.
            assert!((11_850.0..=11_858.0).contains(&packets), "{packets}");
        } else {
            assert!(lost > 100.0, "{lost}");
        }
    }
}

/// Codepoints are in the headers of both directions of TCP, and of UDP.
#[test]
fn captured_headers_have_the_codepoint() {
    let text = "[[links]]\nbetween = [\"a\", \"b\"]\ndown = { rate = \"2 Mbit/s\", delay = \"5 ms\" }\n\
        [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"3 kB\"\nDSCP\n\
        [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"cbr\"\nrate = \"100 kbit/s\"\ndatagrams = 2\nDSCP\n";
    for (key, class) in [
        ("", 0),
        ("dscp = \"AF41\"", 34 << 2),
        ("dscp = 63", 63 << 2),
    ] {
        let run = traced(&text.replace("DSCP", key));
        let packets = column(&run.tables, "deliveries", "bytes").len();
        for (_, capture) in &run.captures {
            // Enhanced packet blocks (RFC draft pcapng, 4.3): the packet begins at byte 28.
            let mut classes = Vec::new();
            let mut at = 0;
            while at < capture.len() {
                let word =
                    |n: usize| u32::from_le_bytes(capture[at + n..at + n + 4].try_into().unwrap());
                if word(0) == 6 {
                    assert_eq!(capture[at + 28] >> 4, 4);
                    classes.push(capture[at + 29]);
                }
                at += word(4) as usize;
            }
            assert_eq!(classes.len(), packets, "{key}");
            assert!(
                classes.iter().all(|&tos| tos == class),
                "{key}: {classes:?}"
            );
        }
    }
}

/// Sources of 1000 B that send 2000, 1000 and 1000 packets per second over a link for 1000.
const SOURCES: &str = r#"
duration = "10 s"
[[links]]
between = ["a", "b"]
down = { rate = "8 Mbit/s", delay = "20 ms", queue = { packets = 50 }, classes = [CLASSES] }
[[flows]]
name = "expedited"
from = "a"
to = "b"
app = "cbr"
rate = "EXPEDITED"
packet = "972 B"
duration = "10 s"
dscp = "EF"
[[flows]]
name = "video"
from = "a"
to = "b"
app = "cbr"
rate = "7776 kbit/s"
packet = "972 B"
duration = "10 s"
dscp = "AF41"
[[flows]]
name = "rest"
from = "a"
to = "b"
app = "cbr"
rate = "7776 kbit/s"
packet = "972 B"
duration = "10 s"
"#;

/// Returns the datagrams received by each source.
fn received(expedited: &str, classes: &str) -> [f64; 3] {
    let text = SOURCES.replace("CLASSES", classes);
    let run = result(&text.replace("EXPEDITED", expedited));
    let of = |flow, name| metric(&run, "flows", flow, name);
    for flow in 0..3 {
        let sent = of(flow, "datagrams_received") + of(flow, "datagrams_lost");
        assert_eq!(
            sent + of(flow, "datagrams_under_way"),
            of(flow, "datagrams_sent")
        );
    }
    let dropped: f64 = (0..3).map(|flow| of(flow, "datagrams_lost")).sum();
    assert_eq!(dropped, metric(&run, "links", 0, "queue_drops_full"));
    [0, 1, 2].map(|flow| of(flow, "datagrams_received"))
}

/// A strict class takes the whole rate that it needs, and leaves the rest.
#[test]
fn strict_classes_starve_later_ones_by_arithmetic() {
    let strict = "{ dscp = \"EF\" }, { dscp = \"AF41\" }, {}";
    // 20 ms of delay and a queue of 50 ms are on the way at the end, 30 packets at most are new.
    let [expedited, video, rest] = received("15552 kbit/s", strict);
    assert!(
        expedited > 9_920.0 && video + rest == 0.0,
        "{expedited} {video} {rest}"
    );
    // 250 of 1000 packets per second for the first, and the second gets 750.
    let [expedited, video, rest] = received("1944 kbit/s", strict);
    assert!((2_490.0..=2_500.0).contains(&expedited), "{expedited}");
    assert!((7_420.0..=7_500.0).contains(&video), "{video}");
    assert!(rest < 3.0, "{rest}");
}

/// Classes with weights 3 and 1 share what a strict class leaves, to within a packet per weight.
#[test]
fn weighted_classes_share_the_rest() {
    let classes = "{ dscp = \"EF\" }, { dscp = \"AF41\", weight = 3, queue = \"30 ms\" }, { weight = 1, queue = \"30 ms\" }";
    let [expedited, video, rest] = received("1944 kbit/s", classes);
    assert!((2_490.0..=2_500.0).contains(&expedited), "{expedited}");
    assert!((video - 3.0 * rest).abs() <= 12.0, "{video} {rest}");
    assert!(
        (7_400.0..=7_500.0).contains(&(video + rest)),
        "{video} {rest}"
    );
}

/// The built-in low class is a strict class behind all others: a run with dummy segments and a flow
/// of lower effort has the same packets with either. ACKs often arrive at the very time of a departure.
#[test]
fn low_class_is_the_last_strict_class() {
    let text = r#"
seed = 4
duration = "40 s"
[tcp]
variant = "peach"
receive_window = "1 MiB"
[[links]]
between = ["a", "b"]
down = { rate = "2 Mbit/s", delay = "100 ms", queue = { packets = 20 }, channel = { loss = 0.005 }CLASSES }
[[flows]]
from = "a"
to = "b"
app = "bulk"
duration = "30 s"
[[flows]]
from = "a"
to = "b"
app = "onoff"
rate = "900 kbit/s"
packet = "500 B"
on = { distribution = "exponential", mean = "300 ms" }
off = { distribution = "exponential", mean = "300 ms" }
duration = "30 s"
[[flows]]
from = "a"
to = "b"
app = "cbr"
rate = "500 kbit/s"
dscp = "LE"
duration = "30 s"
"#;
    let [own, listed] = ["", ", classes = [{}, { dscp = \"LE\" }]"].map(|classes| {
        let run = result(&text.replace("CLASSES", classes));
        let links = [0, 1].map(|link| {
            let names = [
                "packets",
                "bytes",
                "drops_congestion",
                "low_packets",
                "low_drops_congestion",
                "queue_max",
                "utilisation",
            ];
            names.map(|name| metric(&run, "links", link, name))
        });
        (run["flows"].clone(), links)
    });
    assert!(own.1[0][3] > 500.0 && own.1[0][4] > 50.0, "{:?}", own.1);
    assert!(own == listed, "{:?} {:?}", own.1, listed.1);
}
