//! TCP-Peach in whole runs: a start without slow start, a window that bit errors do not reduce, and
//! dummies that yield to other packets on links with priorities.

use crate::common::{expand_with, result_of};
use farlink_sim::{Monitor, TraceOptions, run, scenario, trace};
use serde_json::Value;

const PEACHES: [&str; 2] = ["peach", "peach-sack"];

/// A download over 10 Mbit/s with a round trip of 550 ms: 687 packets are in flight, and 50 fit
/// into the queue.
const GEO: &str = r#"
[tcp]
variant = "VARIANT"
mss = "1000 B"
[[links]]
between = ["server", "client"]
down = { rate = "10 Mbit/s", delay = "275 ms", queue = { packets = 50 } }
up = { rate = "10 Mbit/s", delay = "275 ms" }
[[flows]]
from = "server"
to = "client"
size = "1 MB"
"#;

/// Two flows over 1 Mbit/s: `b` from the start, `a` after ten seconds.
const DUMBBELL: &str = r#"
duration = "200 s"
[tcp]
mss = "1000 B"
receive_window = "64000 B"
[[links]]
between = ["left{}", "r1"]
count = 2
down = { rate = "10 Mbit/s", delay = "5 ms" }
[[links]]
name = "bottleneck"
between = ["r1", "r2"]
down = { rate = "1 Mbit/s", delay = "250 ms", queue = { packets = 30 } }
up = { rate = "1 Mbit/s", delay = "250 ms" }
[[links]]
between = ["r2", "right{}"]
count = 2
down = { rate = "10 Mbit/s", delay = "5 ms" }
[[flows]]
name = "a"
from = "left0"
to = "right0"
app = "bulk"
start = "10 s"
duration = "190 s"
tcp = { variant = "VARIANT" }
[[flows]]
name = "b"
from = "left1"
to = "right1"
app = "bulk"
duration = "200 s"
tcp = { variant = "reno" }
"#;

fn expand(text: &str, variant: &str, set: &[(&str, &str)]) -> scenario::Expanded {
    expand_with(&text.replace("VARIANT", variant), set)
}

fn result(text: &str, variant: &str, set: &[(&str, &str)], number: u64) -> Value {
    result_of(&expand(text, variant, set), number)
}

fn flow(result: &Value, number: usize, metric: &str) -> f64 {
    result["flows"][number]["metrics"][metric].as_f64().unwrap()
}

fn link(result: &Value, name: &str, metric: &str) -> f64 {
    let links = result["links"].as_array().unwrap();
    let measured = links
        .iter()
        .find(|link| link["link"] == name && link["direction"] == "down");
    measured.unwrap()["metrics"][metric].as_f64().unwrap()
}

fn duration(variant: &str, set: &[(&str, &str)], number: u64) -> f64 {
    flow(&result(GEO, variant, set, number), 0, "duration")
}

const WIDE: (&str, &str) = ("tcp.receive_window", "1 MiB");

/// With a window as large as the path's capacity, 10,000 further segments take 10,000 times the
/// 1,040 bytes of a packet at 10 Mbit/s, and only dummies are lost.
#[test]
fn without_losses_the_link_is_full() {
    let per_segment = 1040.0 * 8.0 / 10_000_000.0;
    for variant in PEACHES {
        let of = |size| result(GEO, variant, &[WIDE, ("flows.0.size", size)], 0);
        let (short, long) = (of("5 MB"), of("15 MB"));
        let more = flow(&long, 0, "duration") - flow(&short, 0, "duration");
        assert!(
            (more - 10_000.0 * per_segment).abs() < per_segment,
            "{variant}: {more} s"
        );
        assert_eq!(flow(&long, 0, "segments_retransmitted"), 0.0, "{variant}");
        assert_eq!(flow(&long, 0, "dup_acks"), 0.0, "{variant}");
    }
}

/// With a window of 64 segments, round trips are needed for the handshake, for the first segment
/// and the train of dummies, for a segment for each dummy that returns, and for the rest of the 100
/// segments. Slow start from one segment reaches this window six round trips later.
#[test]
fn the_window_is_reached_after_two_round_trips() {
    let narrow = [
        ("tcp.receive_window", "64000 B"),
        ("flows.0.size", "100 kB"),
        ("tcp.initial_window", "1"),
    ];
    for variant in PEACHES {
        let run = result(GEO, variant, &narrow, 0);
        assert_eq!(flow(&run, 0, "dummies_sent"), 63.0, "{variant}");
        assert_eq!(flow(&run, 0, "dummies_acked"), 63.0, "{variant}");
        let time = flow(&run, 0, "duration") / 0.55;
        assert!((3.5..4.2).contains(&time), "{variant}: {time} round trips");
        let reno = duration("reno", &narrow, 0) / 0.55;
        assert!(reno > time + 2.5, "reno: {reno} round trips");
    }
}

/// The total time of 5 MB in three runs with bit errors, compared with a TCP that halves its window
/// at each.
#[test]
fn bit_errors_do_not_cost_the_window() {
    for (rate, peach, with_sack) in [("1e-6", 0.5, 0.3), ("1e-5", 0.4, 0.2)] {
        let total = |variant: &str| -> f64 {
            let set = [
                ("flows.0.size", "5 MB"),
                ("tcp.receive_window", "64000 B"),
                ("links.0.down.channel.ber", rate),
            ];
            (0..3).map(|number| duration(variant, &set, number)).sum()
        };
        let newreno = total("newreno");
        for (variant, share) in PEACHES.into_iter().zip([peach, with_sack]) {
            let time = total(variant);
            assert!(
                time < share * newreno,
                "{rate}: {variant} {time} s, newreno {newreno} s"
            );
        }
    }
}

/// A Reno flow retransmits no more beside a Peach flow than beside another Reno flow, because the
/// queue drops the dummies. On a link without priorities it retransmits more.
#[test]
fn dummies_give_way_where_links_have_priorities() {
    let reno = result(DUMBBELL, "reno", &[], 0);
    for variant in PEACHES {
        let with = result(DUMBBELL, variant, &[], 0);
        let without = [("links.bottleneck.down.priorities", "false")];
        let without = result(DUMBBELL, variant, &without, 0);
        let again = |run: &Value| flow(run, 1, "segments_retransmitted");
        let measured = (again(&with), again(&reno), again(&without));
        assert!(
            measured.0 <= measured.1 && measured.1 < measured.2,
            "{variant} {measured:?}"
        );
        let goodput = |run: &Value| flow(run, 1, "goodput");
        assert!(goodput(&with) >= goodput(&reno), "{variant}");
        // On a full link nearly all dummies are dropped, and little data.
        let low = link(&with, "bottleneck", "low_drops_congestion");
        assert!(
            low > 0.9 * flow(&with, 0, "dummies_sent"),
            "{variant}: {low}"
        );
        assert!(link(&with, "bottleneck", "drops") - low < 20.0, "{variant}");
        assert!(link(&with, "bottleneck", "utilisation") > 0.97, "{variant}");
    }
}

/// With receivers that ignore dummies, or treat them as data, all data arrives, no false loss is
/// detected, and after the first train the sender behaves as Reno.
#[test]
fn receivers_without_dummy_support_are_detected() {
    for variant in PEACHES {
        for dummies in ["ignore", "plain"] {
            let set = [
                ("tcp.dummies", dummies),
                ("tcp.receive_window", "64000 B"),
                ("flows.0.size", "5 MB"),
            ];
            let run = result(GEO, variant, &set, 0);
            assert_eq!(flow(&run, 0, "dummies_acked"), 0.0);
            assert_eq!(flow(&run, 0, "dummies_sent"), 63.0, "{variant} {dummies}");
            assert_eq!(
                flow(&run, 0, "segments_retransmitted"),
                0.0,
                "{variant} {dummies}"
            );
            let reno = [
                ("tcp.receive_window", "64000 B"),
                ("flows.0.size", "5 MB"),
                ("tcp.initial_window", "1"),
            ];
            let late = flow(&run, 0, "duration") - duration("reno", &reno, 0);
            assert!(late < 5.0 * 0.55, "{variant} {dummies}: {late} s");
        }
    }
}

/// A traced run has the same results, and the queue's trace has the length of both classes
/// together.
#[test]
fn a_traced_run_is_the_same_run() {
    let expanded = expand(DUMBBELL, "peach-sack", &[]);
    let plain = run(&expanded, 0, &Monitor::default()).unwrap();
    let traced = trace(
        &expanded,
        0,
        &TraceOptions::capturing(64),
        &Monitor::default(),
    )
    .unwrap();
    assert_eq!(plain.to_json(&expanded), traced.outcome.to_json(&expanded));
    let queue = traced.tables.iter().find(|t| t.name == "queue").unwrap();
    let longest = queue.columns.iter().find_map(|(name, column)| {
        let farlink_sim::Column::U32(values) = column else {
            return None;
        };
        (*name == "packets").then(|| values.iter().copied().max())
    });
    assert_eq!(longest, Some(Some(30)));
}
