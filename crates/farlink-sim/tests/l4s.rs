//! L4S in whole runs: Prague and DCTCP over a dual queue and over a threshold.

use crate::common;
use serde_json::Value;

/// Two transfers over a link of 40 Mbit/s; DELAY is one-way.
const TEXT: &str = r#"
duration = "60 s"
[tcp]
receive_window = "16 MiB"
[[links]]
between = ["server", "client"]
down = { rate = "40 Mbit/s", delay = "DELAY ms", queue = { packets = 2000 }, QUEUE }
up = { rate = "40 Mbit/s", delay = "DELAY ms" }
FLOWS
"#;

fn result(delay: f64, queue: &str, tcps: &[&str]) -> Value {
    let flow = |tcp: &&str| {
        format!(
            "[[flows]]\nfrom = \"server\"\nto = \"client\"\napp = \"bulk\"\n\
             duration = \"60 s\"\ntcp = {{ {tcp} }}\n"
        )
    };
    let flows = tcps.iter().map(flow).collect::<Vec<_>>().concat();
    let text = TEXT
        .replace("DELAY", &delay.to_string())
        .replace("QUEUE", queue)
        .replace("FLOWS", &flows);
    common::result(&text)
}

fn flow(result: &Value, number: usize, metric: &str) -> f64 {
    result["flows"][number]["metrics"][metric].as_f64().unwrap()
}

fn down(result: &Value, metric: &str) -> f64 {
    result["links"][0]["metrics"][metric].as_f64().unwrap()
}

const DUAL: &str = "discipline = \"dualpi2\"";
const PRAGUE: &str = "variant = \"prague\"";

/// RFC 9332, 2.1: the square of the coupling gives a scalable and a classic flow about the same
/// rate, with and without classic ECN. Round trips are 10 to 100 ms.
#[test]
fn prague_and_cubic_share_a_dual_queue() {
    for delay in [5.0, 10.0, 25.0, 50.0] {
        for cubic in ["variant = \"cubic\", ecn = true", "variant = \"cubic\""] {
            let run = result(delay, DUAL, &[PRAGUE, cubic]);
            let ratio = flow(&run, 0, "goodput") / flow(&run, 1, "goodput");
            assert!((0.5..2.2).contains(&ratio), "{delay} ms, {cubic}: {ratio}");
            assert!(down(&run, "utilisation") > 0.93, "{delay} ms, {cubic}");
        }
    }
}

/// Without the coupling (factor 0) Prague takes nearly all of the link.
#[test]
fn coupling_protects_classic_flows() {
    let uncoupled = "discipline = { method = \"dualpi2\", coupling = 0.0 }";
    let run = result(10.0, uncoupled, &[PRAGUE, "variant = \"cubic\""]);
    let ratio = flow(&run, 0, "goodput") / flow(&run, 1, "goodput");
    assert!(ratio > 5.0, "{ratio}");
}

/// The queue of L4S traffic stays near its ramp of 0.8 to 1.2 ms, where that of classic traffic
/// stands at 15 ms.
#[test]
fn prague_waits_a_millisecond_where_cubic_waits_fifteen() {
    for delay in [5.0, 25.0] {
        let run = result(delay, DUAL, &[PRAGUE, "variant = \"cubic\", ecn = true"]);
        let waited = |number| flow(&run, number, "rtt_mean") - 2e-3 * delay;
        assert!(waited(0) < 0.0025, "{delay} ms: {}", waited(0));
        assert!(waited(1) > 0.006, "{delay} ms: {}", waited(1));
    }
}

/// DCTCP over a threshold of K packets keeps the queue near K, and fills the link if K is above a
/// seventh of the bandwidth-delay product (RFC 8257, 4.2: 67 packets here). Reno needs a whole one.
#[test]
fn dctcp_keeps_the_queue_at_the_threshold() {
    let mark = "mark = { packets = 15 }";
    let run = result(10.0, mark, &["variant = \"dctcp\""]);
    assert!(
        down(&run, "utilisation") > 0.98,
        "{}",
        down(&run, "utilisation")
    );
    let waited = flow(&run, 0, "rtt_mean") - 0.02;
    assert!(waited < 1.5 * 15.0 * 0.0003, "{waited}");
    let reno = result(10.0, mark, &["variant = \"sack\", ecn = true"]);
    assert!(down(&reno, "utilisation") < down(&run, "utilisation"));
    let exact = flow(&run, 0, "goodput");
    let linux = result(10.0, mark, &["profile = \"linux\", variant = \"dctcp\""]);
    let ratio = flow(&linux, 0, "goodput") / exact;
    assert!((0.97..1.03).contains(&ratio), "{ratio}");
}

/// Accurate ECN and the echo of DCTCP report the same marks, so the share is the same.
#[test]
fn accurate_ecn_serves_dctcp_as_its_own_echo_does() {
    let mark = "mark = { packets = 15 }";
    let own = result(10.0, mark, &["variant = \"dctcp\""]);
    let counted = result(10.0, mark, &["variant = \"dctcp\", ecn = \"accecn\""]);
    let ratio = flow(&counted, 0, "goodput") / flow(&own, 0, "goodput");
    assert!((0.98..1.02).contains(&ratio), "{ratio}");
    let marks = down(&counted, "marks") / down(&own, "marks");
    assert!((0.8..1.25).contains(&marks), "{marks}");
}

/// RFC 8511: ABE keeps more of the window after a mark, so that a link with a low threshold is used
/// more.
#[test]
fn alternative_backoff_uses_a_shallow_queue_better() {
    let mark = "mark = { packets = 15 }";
    for (variant, control, share) in [("sack", "reno", 0.8), ("cubic", "cubic", 0.85)] {
        let tcp = format!("variant = \"{variant}\", ecn = true");
        let abe = format!("{tcp}, control.{control}.beta_ecn = {share}");
        let plain = down(&result(25.0, mark, &[&tcp]), "utilisation");
        let more = down(&result(25.0, mark, &[&abe]), "utilisation");
        assert!(more > plain + 0.02, "{variant}: {plain} {more}");
    }
}
