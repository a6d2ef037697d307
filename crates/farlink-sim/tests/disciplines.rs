//! Queue disciplines in whole runs: delay of a call beside transfers, fairness, and the delay that
//! each control law keeps.

use crate::common::{metric, result};
use serde_json::Value;

/// Two transfers and a call of 100 kbit/s over 10 Mbit/s. 1000 packets of 1500 bytes take 1.2 s.
const TEXT: &str = r#"
duration = "60 s"
[tcp]
variant = "VARIANT"
receive_window = "8 MiB"
ecn = ECN
[[links]]
between = ["server", "client"]
down = { rate = "10 Mbit/s", delay = "DELAY ms", queue = { packets = 1000 }DISCIPLINE }
up = { rate = "10 Mbit/s", delay = "DELAY ms" }
[[flows]]
from = "server"
to = "client"
app = "bulk"
duration = "60 s"
[[flows]]
from = "server"
to = "client"
app = "bulk"
start = "1 s"
duration = "59 s"
[[flows]]
from = "server"
to = "client"
app = "cbr"
rate = "100 kbit/s"
packet = "200 B"
duration = "60 s"
"#;

fn run(variant: &str, ecn: bool, delay: u32, discipline: &str) -> Value {
    let text = TEXT
        .replace("VARIANT", variant)
        .replace("ECN", &ecn.to_string())
        .replace("DELAY", &delay.to_string())
        .replace("DISCIPLINE", discipline);
    result(&text)
}

/// Returns the mean delay of the call beyond propagation and its own transmission, in ms.
fn waited(run: &Value, delay: u32) -> f64 {
    let own = f64::from(delay) + 228.0 * 8.0 / 10_000.0;
    metric(run, "flows", 2, "delay_mean") * 1e3 - own
}

fn utilisation(run: &Value) -> f64 {
    metric(run, "links", 0, "utilisation")
}

#[test]
fn drop_tail_delays_a_call_by_its_whole_buffer() {
    let run = run("cubic", false, 25, "");
    assert!(waited(&run, 25) > 500.0, "{}", waited(&run, 25));
}

#[test]
fn fair_queues_delay_a_call_by_one_packet_of_the_transfers_at_most() {
    // A packet of 1500 bytes takes 1.2 ms. The call finds one being sent, and waits for no other.
    for discipline in ["fq-codel", "fq-pie", "fq-cobalt", "cake"] {
        let run = run(
            "cubic",
            false,
            25,
            &format!(", discipline = \"{discipline}\""),
        );
        let waited = waited(&run, 25);
        assert!(waited < 1.3, "{discipline}: {waited}");
        assert!(utilisation(&run) > 0.9, "{discipline}");
    }
}

#[test]
fn one_queue_keeps_its_target_delay() {
    // CoDel allows 5 ms to persist and more for a time; PIE and PI2 hold 15 ms in the mean. RED holds
    // 5 to 15 packets of 1.2 ms. Reno without any queue would use three quarters of the link.
    for (discipline, least, most) in [
        ("codel", 2.0, 20.0),
        ("cobalt", 2.0, 20.0),
        ("pie", 5.0, 25.0),
        ("dualpi2", 5.0, 25.0),
        ("red", 2.0, 40.0),
    ] {
        let run = run(
            "newreno",
            false,
            25,
            &format!(", discipline = \"{discipline}\""),
        );
        let waited = waited(&run, 25);
        assert!((least..most).contains(&waited), "{discipline}: {waited}");
        assert!(
            utilisation(&run) > 0.75,
            "{discipline}: {}",
            utilisation(&run)
        );
    }
}

#[test]
fn marks_replace_drops_for_transfers_with_ecn() {
    for discipline in [
        "codel", "fq-codel", "pie", "fq-pie", "red", "cobalt", "cake",
    ] {
        let run = run(
            "newreno",
            true,
            25,
            &format!(", discipline = \"{discipline}\""),
        );
        assert!(metric(&run, "links", 0, "marks") > 5.0, "{discipline}");
        let retransmitted = metric(&run, "flows", 0, "segments_retransmitted");
        // Slow start may overrun PIE's bound of 10 % for marks.
        assert!(retransmitted < 700.0, "{discipline}: {retransmitted}");
    }
}

#[test]
fn round_robin_gives_a_transfer_its_half_beside_datagrams_of_the_whole_rate() {
    let text = TEXT
        .replace("VARIANT", "newreno")
        .replace("ECN", "false")
        .replace("DELAY", "25")
        .replace("100 kbit/s", "12 Mbit/s")
        .replace("200 B", "1200 B")
        .replace(
            "start = \"1 s\"\nduration = \"59 s\"",
            "start = \"59 s\"\nduration = \"1 s\"",
        );
    let share = |discipline: &str| {
        let run = result(&text.replace("DISCIPLINE", discipline));
        metric(&run, "flows", 0, "goodput") / 10e6
    };
    assert!(share("") < 0.02, "{}", share(""));
    let drr = share(", discipline = \"drr\"");
    assert!((drr - 0.48).abs() < 0.03, "{drr}");
    // CoDel drops packets of the transfer, which then uses three quarters of its half at least.
    let codel = share(", discipline = \"fq-codel\"");
    assert!((0.36..0.5).contains(&codel), "{codel}");
}

#[test]
fn disciplines_hold_at_600_ms_and_at_19_kbit() {
    for discipline in [
        "head-drop",
        "red",
        "codel",
        "pie",
        "cobalt",
        "drr",
        "fq-codel",
        "fq-pie",
        "fq-cobalt",
        "dualpi2",
        "cake",
    ] {
        let own = format!(", discipline = \"{discipline}\"");
        let far = run("cubic", false, 300, &own);
        assert!(
            utilisation(&far) > 0.3,
            "{discipline}: {}",
            utilisation(&far)
        );
        let text = TEXT
            .replace("VARIANT", "newreno")
            .replace("ECN", "false")
            .replace("DELAY", "25")
            .replace("10 Mbit/s", "19.2 kbit/s")
            .replace("100 kbit/s", "1 kbit/s")
            .replace("DISCIPLINE", &own);
        let slow = result(&text);
        let used = metric(&slow, "links", 0, "utilisation");
        // A packet takes 625 ms here, so each law spares a queue of few packets.
        assert!(used > 0.7, "{discipline}: {used}");
    }
}

/// The limit of a queue is that of packets that wait, so an idle transmitter takes packets above the
/// limit under every discipline. 480 bytes may wait here, and each segment has 1500.
#[test]
fn idle_link_takes_packets_above_the_limit_of_its_queue() {
    for method in [
        "drop-tail",
        "head-drop",
        "red",
        "codel",
        "pie",
        "cobalt",
        "drr",
        "fq-codel",
        "fq-pie",
        "fq-cobalt",
        "dualpi2",
    ] {
        let done = result(&format!(
            "max_duration = \"1000 s\"\n[tcp]\nvariant = \"sack\"\n\
             [[links]]\nbetween = [\"a\", \"b\"]\n\
             down = {{ rate = \"19.2 kbit/s\", delay = \"5 ms\", queue = \"200 ms\", \
             discipline = \"{method}\" }}\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"20 kB\"\n"
        ));
        assert_eq!(metric(&done, "flows", 0, "completed"), 1.0, "{method}");
    }
}
