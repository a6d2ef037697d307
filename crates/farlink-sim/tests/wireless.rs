//! TCPs for lossy links over whole runs: SCPS-TP, and explicit loss notification in both forms.

use crate::common::{expand_with, result_of};
use serde_json::Value;

/// The GEO link of the satellite studies, which holds 90 segments.
const GEO: &str = r#"
[tcp]
receive_window = "256 KiB"

[[links]]
name = "satellite"
between = ["server", "client"]
down = { rate = "2048 kbit/s", delay = "260 ms", queue = { packets = 100 } }
up = { rate = "256 kbit/s", delay = "260 ms", queue = { packets = 100 } }

[[flows]]
from = "server"
to = "client"
app = "bulk"
duration = "200 s"
"#;

/// Returns the result of a run as JSON.
fn play(number: u64, set: &[(&str, &str)]) -> Value {
    result_of(&expand_with(GEO, set), number)
}

fn metric(result: &Value, name: &str) -> f64 {
    result["flows"][0]["metrics"][name].as_f64().unwrap()
}

/// Returns the mean goodput of three runs in bit/s.
fn goodput(set: &[(&str, &str)]) -> f64 {
    let runs = (0..3).map(|run| metric(&play(run, set), "goodput"));
    runs.sum::<f64>() / 3.0
}

/// Capacity of the link for data in bit/s, 1460 of 1500 bytes per packet.
const CAPACITY: f64 = 2_048_000.0 * 1460.0 / 1500.0;
const LOSS: &str = "links.0.down.channel.loss";
const CORRUPT: &str = "links.0.down.channel.corrupt";
const SCPS: [(&str, &str); 2] = [("tcp.variant", "scps"), ("tcp.assume_loss", "corruption")];
const ELN: (&str, &str) = ("tcp.variant", "eln");
const CHECKSUM: (&str, &str) = ("tcp.eln", "checksum");
const NEWRENO: (&str, &str) = ("tcp.variant", "newreno");

#[test]
fn scps_that_expects_corruption_keeps_the_link_full() {
    for (loss, share) in [("0.001", 0.95), ("0.01", 0.85)] {
        let p: f64 = loss.parse().unwrap();
        let bound = CAPACITY * (1.0 - p);
        for form in ["short", "long"] {
            let set = [SCPS[0], SCPS[1], ("tcp.snack", form), (LOSS, loss)];
            let got = goodput(&set);
            let expected = share * bound;
            assert!(got > expected && got < bound, "{loss} {form}: {got}");
        }
        // If SCPS assumes congestion, it halves its window.
        let halves = goodput(&[SCPS[0], (LOSS, loss)]);
        let keeps = goodput(&[SCPS[0], SCPS[1], (LOSS, loss)]);
        assert!(keeps > 1.5 * halves, "{loss}: {keeps} and {halves}");
        let newreno = goodput(&[NEWRENO, (LOSS, loss)]);
        assert!(halves > newreno, "{loss}: {halves} and {newreno}");
    }
}

#[test]
fn without_losses_scps_fills_the_link() {
    for assume in ["congestion", "corruption"] {
        let run = play(0, &[SCPS[0], ("tcp.assume_loss", assume)]);
        let got = metric(&run, "goodput");
        assert!(got > 0.97 * CAPACITY, "{got}");
        assert_eq!(metric(&run, "segments_retransmitted"), 0.0);
    }
}

#[test]
fn notification_beats_newreno_where_the_medium_loses() {
    for loss in ["0.001", "0.01", "0.05"] {
        for key in [LOSS, CORRUPT] {
            let newreno = goodput(&[NEWRENO, (key, loss)]);
            let eln = goodput(&[ELN, (key, loss)]);
            let min = if loss == "0.001" { 1.5 } else { 4.0 };
            assert!(eln > min * newreno, "{key} {loss}: {eln}, {newreno}");
        }
        // The checksum form only detects losses of packets that reach the host.
        let newreno = goodput(&[NEWRENO, (CORRUPT, loss)]);
        let eln = goodput(&[ELN, CHECKSUM, (CORRUPT, loss)]);
        assert!(eln > 1.5 * newreno, "{loss}: {eln}, {newreno}");
    }
}

#[test]
fn unmarked_losses_give_the_results_of_newreno() {
    let queue = ("links.0.down.queue.packets", "20");
    // Today's NewReno counts fractions of a byte, so it is configured not to.
    let whole = ("tcp.byte_counting", "off");
    let newreno = play(1, &[NEWRENO, whole, queue]);
    assert!(metric(&newreno, "fast_retransmits") > 0.0);
    for form in [&[ELN][..], &[ELN, CHECKSUM]] {
        let eln = play(1, &[form, &[queue]].concat());
        assert_eq!(eln["flows"][0]["metrics"], newreno["flows"][0]["metrics"]);
        assert!(newreno["links"].is_array());
        assert_eq!(eln["links"], newreno["links"]);
    }
    // Packets that never reach the host count as congestion in the checksum form.
    let eln = play(1, &[ELN, CHECKSUM, (LOSS, "0.01")]);
    let newreno = play(1, &[NEWRENO, whole, (LOSS, "0.01")]);
    assert_eq!(eln["flows"][0]["metrics"], newreno["flows"][0]["metrics"]);
}

/// Returns the IP bytes of the direction back in excess of 40 bytes per ACK.
fn options_back(set: &[(&str, &str)]) -> f64 {
    let run = play(0, set);
    assert_eq!(run["links"][1]["direction"], "up");
    let sum = |name: &str| run["links"][1]["metrics"][name].as_f64().unwrap();
    sum("bytes") - 40.0 * sum("packets")
}

#[test]
fn options_are_real_bytes_on_the_way_back() {
    let loss = (LOSS, "0.01");
    // The SYN has the options MSS, window scale and SCPS Capabilities. Each SNACK has 8 bytes.
    let snacks = options_back(&[SCPS[0], SCPS[1], loss]) - 12.0;
    assert!(snacks > 8.0 * 1000.0 && snacks % 8.0 == 0.0, "{snacks}");
    // Each mark has 4 bytes.
    let marks = options_back(&[ELN, loss]) - 8.0;
    assert!(marks > 4.0 * 1000.0 && marks % 4.0 == 0.0, "{marks}");
    assert_eq!(options_back(&[NEWRENO, loss]), 8.0);
}

/// With consecutive connections, a notice of the previous connection has no effect on the next, and
/// all files arrive.
#[test]
fn notices_end_with_their_connection() {
    let app = [
        ("flows.0.app", "repeat"),
        ("flows.0.size", "30 kB"),
        ("flows.0.files", "100"),
        ("flows.0.duration", "2000 s"),
    ];
    for form in [&[ELN][..], &[ELN, CHECKSUM]] {
        for key in [LOSS, CORRUPT] {
            let run = play(0, &[&app[..], form, &[(key, "0.05")]].concat());
            assert_eq!(metric(&run, "responses"), 100.0, "{form:?} {key}");
        }
    }
}
