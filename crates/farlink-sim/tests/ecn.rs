//! ECN in whole runs: a queue that marks keeps the link busy without drops.

use crate::common;
use serde_json::Value;

/// With 10 Mbit/s and a round trip of 52 ms, 43 packets of 1500 bytes are in flight, and the queue
/// holds 200 more.
const TEXT: &str = r#"
duration = "60 s"
[tcp]
variant = "VARIANT"
receive_window = "1 MiB"
ecn = ECN
[[links]]
between = ["server", "client"]
down = { rate = "10 Mbit/s", delay = "25 ms", queue = { packets = 200 }, mark = MARK }
up = { rate = "10 Mbit/s", delay = "25 ms" }
[[flows]]
from = "server"
to = "client"
app = "bulk"
duration = "60 s"
"#;

fn result(variant: &str, ecn: bool, mark: &str) -> Value {
    let text = TEXT
        .replace("VARIANT", variant)
        .replace("ECN", &ecn.to_string())
        .replace("MARK", mark);
    common::result(&text)
}

fn down(result: &Value, metric: &str) -> f64 {
    result["links"][0]["metrics"][metric].as_f64().unwrap()
}

fn flow(result: &Value, metric: &str) -> f64 {
    result["flows"][0]["metrics"][metric].as_f64().unwrap()
}

const MARK: &str = "{ packets = 60 }";

/// Half of 43 + 60 packets is more than the 43 in flight, so the link is always busy after slow
/// start, and nothing is dropped or retransmitted.
#[test]
fn a_threshold_below_the_buffer_fills_the_link_without_drops() {
    for variant in ["newreno", "sack", "cubic"] {
        let run = result(variant, true, MARK);
        assert_eq!(down(&run, "drops"), 0.0, "{variant}");
        assert_eq!(flow(&run, "segments_retransmitted"), 0.0, "{variant}");
        assert_eq!(flow(&run, "timeouts"), 0.0, "{variant}");
        assert!(down(&run, "marks") > 5.0, "{variant}");
        let utilisation = down(&run, "utilisation");
        assert!(utilisation > 0.985, "{variant}: {utilisation}");
        let longest = down(&run, "queue_max");
        assert!((60.0..200.0).contains(&longest), "{variant}: {longest}");
    }
}

/// If the ends do not use ECN, no packet is marked. The result equals that without a threshold bit
/// by bit, and the full queue drops packets.
#[test]
fn packets_without_ect_are_never_marked() {
    for variant in ["newreno", "sack", "cubic"] {
        let plain = result(variant, false, "\"unlimited\"");
        let run = result(variant, false, MARK);
        assert_eq!(down(&run, "marks"), 0.0);
        assert!(down(&run, "drops") > 0.0);
        assert_eq!(plain, run, "{variant}");
    }
}

/// A threshold in bytes equals a threshold in packets of full length.
#[test]
fn bytes_and_packets_say_the_same() {
    let packets = result("sack", true, MARK);
    let bytes = result("sack", true, "{ bytes = \"90000 B\" }");
    assert!(down(&packets, "marks") > 0.0);
    assert_eq!(packets, bytes);
}

/// Without a threshold ECN has no effect: the full queue drops packets.
#[test]
fn ecn_without_marks_changes_nothing() {
    let with = result("sack", true, "\"unlimited\"");
    let without = result("sack", false, "\"unlimited\"");
    assert_eq!(with["flows"], without["flows"]);
    assert_eq!(with["links"], without["links"]);
}
