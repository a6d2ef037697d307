//! Queue disciplines in front of a link protocol: the discipline holds what was never sent.

use crate::common::{column, metric, result, traced};
use serde_json::Value;

const DISCIPLINES: [&str; 9] = [
    "codel",
    "pie",
    "red",
    "dualpi2",
    "head-drop",
    "fq-codel",
    "fq-pie",
    "drr",
    "cake",
];

/// Two transfers over 5 Mbit/s, by these keys of the link.
fn transfers(link: &str, ecn: bool) -> Value {
    result(&format!(
        "duration = \"20 s\"\n[tcp]\nvariant = \"cubic\"\nreceive_window = \"8 MiB\"\necn = {ecn}\n\
         [[links]]\nbetween = [\"server\", \"client\"]\n{link}\n\
         [[flows]]\ncount = 2\nfrom = \"server\"\nto = \"client\"\napp = \"bulk\"\nduration = \"20 s\"\n"
    ))
}

fn directions(discipline: &str, channel: &str) -> String {
    format!(
        "down = {{ rate = \"5 Mbit/s\", delay = \"20 ms\", queue = {{ packets = 100 }}{discipline}{channel} }}\n\
         up = {{ rate = \"5 Mbit/s\", delay = \"20 ms\" }}\n"
    )
}

const METRICS: [&str; 8] = [
    "utilisation",
    "sojourn_mean",
    "sojourn_p99",
    "sojourn_max",
    "queue_drops_full",
    "queue_drops_aqm",
    "queue_max",
    "marks",
];

/// Without header and recovery a frame is its packet, so that each discipline decides as on a link
/// without a protocol.
#[test]
fn a_protocol_without_recovery_changes_no_discipline() {
    let mut differ = Vec::new();
    for discipline in DISCIPLINES {
        for ecn in [false, true] {
            let keys = directions(&format!(", discipline = \"{discipline}\""), "");
            let plain = transfers(&keys, ecn);
            let arq = "arq = { protocol = \"none\", header = \"0 B\" }\n";
            let framed = transfers(&format!("{arq}{keys}"), ecn);
            for name in METRICS {
                let [a, b] = [&plain, &framed].map(|run| metric(run, "links", 0, name));
                if (a - b).abs() > 0.02 * a.abs().max(b.abs()) {
                    differ.push(format!("{discipline} {ecn} {name}: {a} and {b}"));
                }
            }
        }
    }
    assert!(differ.is_empty(), "{differ:#?}");
}

/// A burst of ten datagrams over a window of one frame. A frame of 1506 bytes takes 12.048 ms, its RR
/// of 6 bytes 0.048 ms, and both 10 ms of delay: one frame per 32.096 ms.
#[test]
fn packet_k_of_a_burst_waits_k_turns_of_a_window_of_one() {
    let text = |more: &str| {
        format!(
            "[[links]]\nbetween = [\"a\", \"b\"]\n\
             arq = {{ protocol = \"lapb\", window = 1, t2 = \"0 s\" }}\n\
             down = {{ rate = \"1 Mbit/s\", delay = \"10 ms\", discipline = \"head-drop\"{more} }}\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"cbr\"\nrate = \"100 Gbit/s\"\n\
             packet = \"1472 B\"\ndatagrams = 10\n"
        )
    };
    let run = result(&text(""));
    let mean = metric(&run, "links", 0, "sojourn_mean");
    assert!((mean / (4.5 * 0.032_096) - 1.0).abs() < 1e-3, "{mean}");
    let longest = metric(&run, "links", 0, "sojourn_max");
    assert!(
        (longest / (9.0 * 0.032_096) - 1.0).abs() < 1e-3,
        "{longest}"
    );
    assert_eq!(metric(&run, "links", 0, "queue_max"), 9.0);
    let trace = traced(&text(""));
    assert_eq!(column(&trace.tables, "sojourns", "sojourn").len(), 10);
    // A frame that is lost is sent again without a new sojourn time.
    let lossy = result(&text(", channel = { loss = 0.3 }"));
    assert!(metric(&lossy, "links", 0, "frames_retransmitted") > 0.0);
    assert_eq!(metric(&lossy, "flows", 0, "datagrams_received"), 10.0);
    // A limit of four packets in the queue drops five from the head.
    let short = result(&text(", queue = { packets = 4 }"));
    assert_eq!(metric(&short, "links", 0, "queue_drops_full"), 5.0);
    assert_eq!(metric(&short, "links", 0, "drops_congestion"), 5.0);
}

/// Each protocol repairs losses of 5 % under a law that keeps the queue short; drop-tail fills it.
#[test]
fn codel_keeps_the_queue_of_a_protocol_short() {
    for protocol in ["lapb", "mdlp", "rlp"] {
        let arq = format!("arq = {{ protocol = \"{protocol}\", modulus = 128, window = 40 }}\n");
        let lossy = ", channel = { loss = 0.05 }";
        let run = |discipline: &str, ecn| {
            transfers(&format!("{arq}{}", directions(discipline, lossy)), ecn)
        };
        let tail = run(", discipline = \"head-drop\"", false);
        let codel = run(", discipline = \"codel\"", false);
        let marks = run(", discipline = \"fq-codel\"", true);
        let sojourn = |run: &Value| metric(run, "links", 0, "sojourn_mean");
        assert!(
            sojourn(&codel) < 0.5 * sojourn(&tail),
            "{protocol} {} {}",
            sojourn(&codel),
            sojourn(&tail)
        );
        assert!(metric(&codel, "links", 0, "queue_drops_aqm") > 0.0);
        assert!(metric(&codel, "links", 0, "frames_retransmitted") > 10.0);
        assert!(metric(&marks, "links", 0, "marks") > 0.0, "{protocol}");
        assert_eq!(metric(&marks, "links", 0, "queue_drops_aqm"), 0.0);
        // The waits for repeated frames look like a standing queue to CoDel, which costs goodput.
        let [own, full] = [&codel, &tail].map(|run| metric(run, "links", 0, "utilisation"));
        assert!(own > 0.6 * full, "{protocol} {own} {full}");
    }
}

/// A shaper below the rate of the link sets the rate, and starts again after each pause.
#[test]
fn a_shaper_feeds_the_protocol_at_its_own_rate() {
    for half_duplex in [false, true] {
        let cake = ", discipline = { method = \"cake\", rate = \"2 Mbit/s\" }";
        let keys = directions(cake, "");
        let arq = "arq = { protocol = \"lapb\", modulus = 128, window = 60 }\n";
        let run = transfers(&format!("half_duplex = {half_duplex}\n{arq}{keys}"), false);
        let share = metric(&run, "links", 0, "utilisation");
        assert!((0.35..0.43).contains(&share), "{half_duplex} {share}");
    }
}

/// A voice class passes the packets that a protocol has not sent.
#[test]
fn classes_send_voice_first() {
    let text = |classes: &str| {
        format!(
            "duration = \"20 s\"\n[tcp]\nvariant = \"cubic\"\nreceive_window = \"8 MiB\"\n\
             [[links]]\nbetween = [\"server\", \"client\"]\n\
             arq = {{ protocol = \"rlp\", modulus = 128, window = 40 }}\n\
             down = {{ rate = \"2 Mbit/s\", delay = \"20 ms\", queue = {{ packets = 100 }}{classes} }}\n\
             [[flows]]\nfrom = \"server\"\nto = \"client\"\napp = \"bulk\"\nduration = \"20 s\"\n\
             [[flows]]\nfrom = \"server\"\nto = \"client\"\napp = \"cbr\"\nrate = \"64 kbit/s\"\n\
             packet = \"160 B\"\ndscp = \"EF\"\nduration = \"20 s\"\n"
        )
    };
    let classes = ", classes = [{ dscp = [\"EF\"], queue = { packets = 20 } }, { queue = { packets = 100 } }]";
    let [with, without] =
        [classes, ""].map(|keys| metric(&result(&text(keys)), "flows", 1, "delay_mean"));
    assert!(with < 0.05 && without > 3.0 * with, "{with} {without}");
}
