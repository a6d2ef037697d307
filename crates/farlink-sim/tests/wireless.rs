//! TCPs for links that lose packets without being full, end to end: SCPS-TP, and
//! explicit loss notification in both its forms.

use farlink_sim::{Monitor, run, scenario};
use serde_json::Value;

/// The GEO link of the satellite studies: the pipe holds 90 segments.
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

/// Metrics of the only flow.
fn play(number: u64, set: &[(&str, &str)]) -> Value {
    let set: Vec<_> = set
        .iter()
        .map(|&(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
    let scenario = scenario::load(GEO, "wireless", &set)
        .and_then(|s| s.expand())
        .unwrap();
    let outcome = run(&scenario, number, &Monitor::default()).unwrap();
    let mut json: Value = serde_json::from_str(&outcome.to_json(&scenario)).unwrap();
    json["flows"][0]["metrics"].take()
}

#[test]
fn explore() {
    for loss in ["0", "0.001", "0.01", "0.05"] {
        for (name, set) in [
            ("newreno", vec![]),
            ("sack", vec![]),
            ("vegas", vec![]),
            ("p-tcp", vec![]),
            ("scps", vec![]),
            ("scps", vec![("tcp.assume_loss", "corruption")]),
            ("scps", vec![("tcp.assume_loss", "corruption"), ("tcp.snack", "long")]),
            ("newreno", vec![("tcp.assume_loss", "corruption")]),
            ("sack", vec![("tcp.assume_loss", "corruption")]),
            ("eln", vec![]),
            ("eln", vec![("tcp.eln", "checksum")]),
            ("sack", vec![("tcp.eln", "oracle")]),
        ] {
            for key in ["loss", "corrupt"] {
                let k = format!("links.0.down.channel.{key}");
                let mut all = vec![("tcp.variant", name), (k.as_str(), loss)];
                all.extend(set.iter().copied());
                let m = play(1, &all);
                eprintln!("{loss} {key} {name} {set:?}: {} rtx {} to {} fr {}", m["goodput"], m["segments_retransmitted"], m["timeouts"], m["fast_retransmits"]);
            }
        }
    }
    eprintln!("{}", play(1, &[]));
}
