//! Sojourn times, marks, and drops by reason of queues in whole runs: closed forms, and traces that
//! agree with metrics.

use crate::common::{column, metric, traced};
use farlink_sim::{Table, scenario};
use serde_json::Value;

/// A burst of 100 datagrams of 1500 bytes that come every 0.12 ms and need 1 ms each.
const BURST: &str = r#"
[[links]]
between = ["source", "router"]
down = { rate = "100 Mbit/s", delay = "5 ms", queue = "unlimited" }
[[links]]
between = ["router", "sink"]
down = { rate = "12 Mbit/s", delay = "DELAY", queue = { packets = LIMIT }DISCIPLINE }
[[flows]]
from = "source"
to = "sink"
app = "cbr"
rate = "1 Gbit/s"
packet = "1472 B"
datagrams = 100
"#;

/// Two transfers that fill the queue of a link.
const TRANSFERS: &str = r#"
duration = "20 s"
[tcp]
variant = "cubic"
receive_window = "8 MiB"
ecn = ECN
[[links]]
between = ["server", "client"]
down = { rate = "5 Mbit/s", delay = "20 ms", queue = { packets = 60 }DISCIPLINE }
up = { rate = UP, delay = "20 ms" }
[[flows]]
count = 2
from = "server"
to = "client"
app = "bulk"
duration = "20 s"
"#;

/// A transfer in the other direction.
const UPLOAD: &str = r#"
[[flows]]
from = "client"
to = "server"
app = "bulk"
duration = "20 s"
"#;

/// Rate of the uplink at which ACKs do not wait for long.
const FAST: &str = "\"5 Mbit/s\"";

/// Result and tables of a run.
struct Run {
    result: Value,
    tables: Vec<Table>,
}

impl Run {
    fn new(text: &str) -> Self {
        let scenario = scenario::load(text, "test", &[])
            .and_then(|loaded| loaded.expand())
            .unwrap_or_else(|e| panic!("{e}"));
        let trace = traced(text);
        let result = serde_json::from_str(&trace.outcome.to_json(&scenario)).expect("JSON");
        Self {
            result,
            tables: trace.tables,
        }
    }

    fn burst(discipline: &str, limit: u32) -> Self {
        let text = BURST.replace("LIMIT", &limit.to_string());
        Self::new(
            &text
                .replace("DELAY", "300 ms")
                .replace("DISCIPLINE", discipline),
        )
    }

    fn transfers(ecn: bool, discipline: &str, up: &str) -> Self {
        let text = TRANSFERS.replace("ECN", &ecn.to_string());
        let text = text.replace("DISCIPLINE", discipline).replace("UP", up);
        Self::new(&(text + if up == FAST { "" } else { UPLOAD }))
    }

    /// Returns the values of a column in the rows of direction number `which`.
    fn rows(&self, which: usize, table: &str, name: &str) -> Vec<u64> {
        let of = |name| column(&self.tables, table, name);
        let places = of("link").into_iter().zip(of("direction"));
        let rows = places.zip(of(name));
        rows.filter(|&((link, up), _)| 2 * link + up == which as u64)
            .map(|row| row.1)
            .collect()
    }

    fn link(&self, which: usize, name: &str) -> f64 {
        metric(&self.result, "links", which, name)
    }

    fn is_none(&self, which: usize, name: &str) -> bool {
        self.result["links"][which]["metrics"][name].is_null()
    }
}

#[test]
fn packet_k_of_a_burst_waits_k_transmissions_less_k_arrivals() {
    for discipline in ["", ", discipline = \"head-drop\"", ", discipline = \"drr\""] {
        let run = Run::burst(discipline, 1000);
        let expected: Vec<_> = (0..100).map(|k| k * 880_000).collect();
        assert_eq!(run.rows(2, "sojourns", "sojourn"), expected, "{discipline}");
        assert_eq!(run.rows(0, "sojourns", "sojourn").len(), 100);
        if discipline.is_empty() {
            assert!(run.is_none(2, "sojourn_mean") && run.is_none(2, "queue_drops_aqm"));
            continue;
        }
        assert!((run.link(2, "sojourn_mean") - 0.88e-3 * 49.5).abs() < 1e-12);
        assert_eq!(run.link(2, "sojourn_max"), 0.88e-3 * 99.0);
        assert!((run.link(2, "sojourn_p99") / 0.08624 - 1.0).abs() < 0.004);
        assert!(run.is_none(0, "sojourn_mean"));
    }
}

#[test]
fn limit_in_time_bounds_the_sojourn_time() {
    for discipline in ["", ", discipline = \"drr\""] {
        let text = BURST.replace("{ packets = LIMIT }", "\"20 ms\"");
        let text = text.replace("DELAY", "5 ms");
        let run = Run::new(&text.replace("DISCIPLINE", discipline));
        let longest = run.rows(2, "sojourns", "sojourn").into_iter().max();
        let longest = longest.unwrap_or_default();
        // 20 packets wait, and a part of one is still to be sent.
        assert!((19_000_000..=20_000_000).contains(&longest), "{longest}");
        assert!(run.link(2, "queue_drops_full") > 60.0);
    }
}

#[test]
fn drops_of_a_full_queue_have_their_reason() {
    for discipline in [
        "",
        ", discipline = \"head-drop\"",
        ", discipline = \"fq-codel\"",
    ] {
        let run = Run::burst(discipline, 20);
        let drops = run.link(2, "queue_drops_full");
        assert!(drops > 60.0, "{discipline}: {drops}");
        assert_eq!(drops, run.link(2, "drops_congestion"));
        assert_eq!(run.rows(2, "drops", "reason"), vec![0; drops as usize]);
        let left = run.rows(2, "sojourns", "sojourn").len();
        assert_eq!(left as f64, run.link(2, "packets"));
        assert_eq!(left as f64 + drops, 100.0);
    }
}

#[test]
fn drops_by_reason_add_up_to_those_by_cause_and_to_the_trace() {
    for discipline in [
        "codel", "fq-codel", "pie", "red", "cobalt", "fq-pie", "dualpi2",
    ] {
        let run = Run::transfers(false, &format!(", discipline = \"{discipline}\""), FAST);
        let [full, aqm, redundant] = ["full", "aqm", "redundant"]
            .map(|reason| run.link(0, &format!("queue_drops_{reason}")));
        assert!(aqm > 2.0, "{discipline}: {aqm}");
        assert_eq!(
            (full + aqm, redundant),
            (run.link(0, "drops_congestion"), 0.0)
        );
        let reasons = run.rows(0, "drops", "reason");
        let of = |number| reasons.iter().filter(|&&reason| reason == number).count() as f64;
        assert_eq!([of(0), of(1), of(2)], [full, aqm, 0.0], "{discipline}");
        assert!(run.rows(0, "queue_marks", "bytes").is_empty());
        let sojourns = run.rows(0, "sojourns", "sojourn");
        let mean = sojourns.iter().sum::<u64>() as f64 / sojourns.len() as f64 / 1e9;
        assert!(
            (mean / run.link(0, "sojourn_mean") - 1.0).abs() < 1e-9,
            "{mean}"
        );
        let max = sojourns.iter().max().copied().unwrap_or_default();
        assert_eq!(max as f64 / 1e9, run.link(0, "sojourn_max"));
    }
}

#[test]
fn marks_in_the_trace_are_those_counted() {
    for (discipline, codepoint) in [
        (", mark = { packets = 10 }", 2),
        (", discipline = \"codel\"", 2),
        (", discipline = \"fq-pie\"", 2),
        (", discipline = \"red\"", 2),
        (", discipline = \"cake\"", 2),
    ] {
        let run = Run::transfers(true, discipline, FAST);
        let marks = run.link(0, "marks");
        assert!(marks > 0.0, "{discipline}: {marks}");
        let rows = run.rows(0, "queue_marks", "codepoint");
        assert_eq!(rows, vec![codepoint; marks as usize], "{discipline}");
    }
    let text = TRANSFERS
        .replace("ecn = ECN", "")
        .replace("\"cubic\"", "\"prague\"");
    let text = text.replace("DISCIPLINE", ", discipline = \"dualpi2\"");
    let run = Run::new(&text.replace("UP", FAST));
    let marks = run.link(0, "marks");
    assert!(marks > 20.0, "{marks}");
    assert_eq!(
        run.rows(0, "queue_marks", "codepoint"),
        vec![1; marks as usize]
    );
}

#[test]
fn acks_dropped_by_the_filter_have_their_reason() {
    let up = "\"300 kbit/s\", discipline = { method = \"cake\", rate = \"280 kbit/s\", ack_filter = \"aggressive\" }";
    let run = Run::transfers(false, "", up);
    let redundant = run.link(1, "queue_drops_redundant");
    assert!(redundant > 50.0, "{redundant}");
    assert_eq!(redundant, run.link(1, "drops_policy"));
    let reasons = run.rows(1, "drops", "reason");
    let count = reasons.iter().filter(|&&reason| reason == 2).count();
    assert_eq!(count as f64, redundant);
}

#[test]
fn losses_beyond_the_queue_have_no_reason() {
    let run = Run::burst(", channel = { loss = 0.2 }", 1000);
    let reasons = run.rows(2, "drops", "reason");
    assert!(!reasons.is_empty());
    assert!(reasons.iter().all(|&reason| reason == u64::from(u8::MAX)));
}
