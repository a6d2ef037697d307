//! Westwood, Westwood+ and Hybla on the GEO link: they fill the link without losses, and random
//! losses reduce their rate less than Reno's.

use crate::common::{expand_with, library, metric, result, result_of};

const ROWS: [&str; 3] = ["westwood", "westwood+", "hybla"];

/// Returns the seconds from the SYN to the last byte of `bytes`, with a window of 1 MiB.
fn duration(row: &str, bytes: u64, name: &str, number: u64) -> f64 {
    let size = format!("{bytes} B");
    let set = [
        ("tcp.variant", row),
        ("tcp.receive_window", "1 MiB"),
        ("flows.0.size", &size),
    ];
    let scenario = expand_with(library(name), &set);
    metric(&result_of(&scenario, number), "flows", 0, "duration")
}

/// Once the window is large, 10,000 further segments take 10,000 times the 1,500 bytes of a packet
/// at 2048 kbit/s. The start costs at most the rounds of slow start up to the 90 segments of the
/// path.
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
        // The window has 2, 4, 8, ... segments per round after the handshake, and 90 after six
        // rounds.
        let start = first - 10_000.0 * per_segment;
        assert!((1.0..8.5 * 0.53).contains(&start), "{row}: {start} s");
    }
}

/// 5 MB with a bit error rate of 1e-6, in five runs: all three take less time than a TCP that
/// halves its window, and Hybla takes the least.
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

/// 3 MB over a GEO link of 12 Mbit/s with a queue of 1.2 BDP. The first ACK makes Linux's Hybla
/// open its window to all data, and the packets dropped by the queue are retransmitted after a
/// time-out. If Reno governs this recovery, as in Linux, the queue drops fewer packets than with
/// Hybla.
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
