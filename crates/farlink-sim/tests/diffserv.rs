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
