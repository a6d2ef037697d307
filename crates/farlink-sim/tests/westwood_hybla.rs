//! Westwood, Westwood+ and Hybla on the GEO link: they fill it without losses,
//! and lose less than Reno's window to random losses.

use crate::common::{metric, result};
use farlink_sim::{Monitor, run, scenario};
use serde_json::Value;

const ROWS: [&str; 3] = ["westwood", "westwood+", "hybla"];

/// Seconds from open to the last byte of `bytes`, with a window of 1 MiB.
fn duration(row: &str, bytes: u64, library: &str, number: u64) -> f64 {
    let (_, text) = scenario::library()
        .iter()
        .find(|(name, _)| *name == library)
        .unwrap();
    let set = [
        ("tcp.variant", row.to_owned()),
        ("tcp.receive_window", "1 MiB".to_owned()),
        ("flows.0.size", format!("{bytes} B")),
    ]
    .map(|(path, value)| (path.to_owned(), value));
    let loaded = scenario::load(text, library, &set).unwrap();
    let expanded = loaded.expand().unwrap();
    let outcome = run(&expanded, number, &Monitor::default()).unwrap();
    let json: Value = serde_json::from_str(&outcome.to_json(&expanded)).unwrap();
    json["flows"][0]["metrics"]["duration"].as_f64().unwrap()
}

/// Once the window is large, 10,000 segments more take 10,000 times the 1,500
/// bytes of a packet at 2048 kbit/s, and a loss-free start costs no more than
/// the rounds that slow start needs for the 90 segments of the path.
#[test]
fn without_losses_the_link_is_full() {
    let per_segment = 1500.0 * 8.0 / 2_048_000.0;
    for row in ROWS {
        let (short, long) = (10_000 * 1460, 20_000 * 1460);
        let first = duration(row, short, "geo-omueti2007", 0);
        let second = duration(row, long, "geo-omueti2007", 0);
        let more = second - first;
        assert!(
            (more - 10_000.0 * per_segment).abs() < per_segment,
            "{row}: {more} s"
        );
        // 2, 4, 8, ... segments a round from the handshake on: 90 after six.
        let start = first - 10_000.0 * per_segment;
        assert!((1.0..8.5 * 0.53).contains(&start), "{row}: {start} s");
    }
}

/// 5 MB with a bit error rate of 1e-6, five runs: all take less time than
/// halving the window does, Hybla the least.
#[test]
fn random_losses_cost_less_than_they_cost_reno() {
    let total = |row: &str| -> f64 {
        (0..5)
            .map(|number| duration(row, 5_000_000, "geo-lossy", number))
            .sum()
    };
    let [westwood, plus, hybla] = ROWS.map(total);
    let sack = total("sack");
    assert!(plus < 0.7 * sack, "westwood+ {plus}, sack {sack}");
    assert!(westwood < 0.5 * sack, "westwood {westwood}, sack {sack}");
    assert!(hybla < 0.25 * sack, "hybla {hybla}, sack {sack}");
}

/// 3 MB over a GEO link of 12 Mbit/s behind a queue of 1.2 BDP. The first ACK of Linux's Hybla
/// opens the window to all of it, and what the queue drops comes back after a time-out. As Reno
/// repairs that, in Linux, the queue drops less once more than as Hybla would.
#[test]
fn reno_repairs_the_time_outs_of_linux_hybla_with_fewer_drops() {
    let run = |growth: &str| {
        let done = result(&format!(
            "[tcp]\nprofile = \"linux\"\nvariant = \"hybla\"\nreceive_window = \"4 MiB\"\n\
             [tcp.control.hybla]\nafter_timeout = \"{growth}\"\n\
             [[links]]\nbetween = [\"a\", \"b\"]\n\
             down = {{ rate = \"12 Mbit/s\", delay = \"250 ms\", queue = {{ bdp = 1.2 }} }}\n\
             up = {{ rate = \"3 Mbit/s\", delay = \"250 ms\", queue = \"unlimited\" }}\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"3 MB\"\n"
        ));
        let of = |name| metric(&done, "flows", 0, name);
        (of("segments_retransmitted"), of("timeouts"), of("duration"))
    };
    let (hybla, reno) = (run("hybla"), run("reno"));
    assert!(reno.1 > 0.0, "no time-out: {reno:?}");
    assert!(reno.0 < 0.75 * hybla.0, "{reno:?}, as Hybla {hybla:?}");
}
