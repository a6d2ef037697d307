//! Illinois, H-TCP, LEDBAT, LEDBAT++ and Copa in whole runs: links from 19.2 kbit/s to 1 Gbit/s,
//! losses, several flows, and what each of these controls is for.

use crate::common::{metric, result};
use serde_json::Value;

const ROWS: [&str; 7] = [
    "illinois",
    "htcp",
    "ledbat",
    "ledbat++",
    "copa",
    "linux-illinois",
    "linux-htcp",
];

/// Returns the tables of a link; `extra` is added to the direction that has the data.
fn link(rate: &str, delay: &str, extra: &str) -> String {
    format!(
        "[[links]]\nname = \"l\"\nbetween = [\"a\", \"b\"]\n\
         down = {{ rate = \"{rate}\", delay = \"{delay}\"{extra} }}\n\
         up = {{ rate = \"{rate}\", delay = \"{delay}\" }}\n"
    )
}

/// Returns the `[tcp]` table of a row or of a profile and a row.
fn tcp(row: &str, more: &str) -> String {
    let keys = match row.strip_prefix("linux-") {
        Some(variant) => format!("profile = \"linux\"\nvariant = \"{variant}\""),
        None => format!("variant = \"{row}\""),
    };
    format!("[tcp]\n{keys}\nreceive_window = \"8 MiB\"\n{more}\n")
}

fn bulk(row: &str, more: &str, link: &str) -> Value {
    result(&format!(
        "duration = \"60 s\"\n{}{link}[[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"bulk\"\n\
         duration = \"1000 h\"\n",
        tcp(row, more)
    ))
}

fn goodput(done: &Value, flow: usize) -> f64 {
    metric(done, "flows", flow, "goodput") / 1e6
}

/// Files arrive whole at 19.2 kbit/s and 1 Gbit/s, at 5 and 600 ms, clean and at 15 % of loss, as
/// one flow and as eight.
#[test]
fn files_arrive_away_from_home() {
    for row in ROWS {
        for (rate, delay, size, extra) in [
            ("19.2 kbit/s", "300 ms", 20_000, ""),
            ("19.2 kbit/s", "5 ms", 20_000, ", channel = { loss = 0.15 }"),
            ("1 Gbit/s", "5 ms", 20_000_000, ""),
            ("1 Gbit/s", "300 ms", 300_000, ", channel = { loss = 0.05 }"),
            ("2 Mbit/s", "5 ms", 100_000, ", channel = { loss = 0.15 }"),
            (
                "2 Mbit/s",
                "300 ms",
                1_000_000,
                ", queue = { packets = 10 }",
            ),
        ] {
            let done = result(&format!(
                "max_duration = \"10 h\"\n{}{}[[flows]]\nfrom = \"a\"\nto = \"b\"\n\
                 size = \"{size} B\"\ncount = {}\n",
                tcp(row, ""),
                link(rate, delay, extra),
                if delay == "5 ms" { 8 } else { 1 }
            ));
            let delivered = metric(&done, "flows", 0, "bytes_delivered");
            assert_eq!(delivered, f64::from(size), "{row} {rate} {delay}");
        }
    }
}

/// Each row but the background ones fills a clean link of 67 segments within a minute.
#[test]
fn a_clean_link_is_full() {
    let clean = link("20 Mbit/s", "20 ms", ", queue = { bdp = 1.0 }");
    for (row, least) in ROWS
        .into_iter()
        .zip([19.0, 19.0, 18.0, 17.0, 19.0, 19.0, 19.0])
    {
        let done = bulk(row, "", &clean);
        assert!(goodput(&done, 0) > least, "{row}: {}", goodput(&done, 0));
    }
}

/// At 1 % of random loss Illinois, whose beta is 1/8 there, has more than twice the goodput of
/// `sack`. Copa, which does not reduce its window, fills the link, and at 15 % three quarters of it.
#[test]
fn random_losses_cost_less() {
    let lossy = |share: &str| {
        let extra = format!(", queue = {{ bdp = 1.0 }}, channel = {{ loss = {share} }}");
        link("20 Mbit/s", "20 ms", &extra)
    };
    let sack = goodput(&bulk("sack", "", &lossy("0.01")), 0);
    for row in ["illinois", "linux-illinois"] {
        let here = goodput(&bulk(row, "", &lossy("0.01")), 0);
        assert!(here > 2.0 * sack, "{row}: {here}, sack {sack}");
    }
    assert!(goodput(&bulk("copa", "", &lossy("0.01")), 0) > 18.0);
    assert!(goodput(&bulk("copa", "", &lossy("0.15")), 0) > 15.0);
}

/// After a loss on a path of 1,000 segments H-TCP's growth by time fills the link earlier than
/// `sack`.
#[test]
fn htcp_regains_a_long_path() {
    let path = link(
        "20 Mbit/s",
        "300 ms",
        ", queue = { bdp = 0.2 }, channel = { loss = 0.0001 }",
    );
    let [htcp, linux, sack] =
        ["htcp", "linux-htcp", "sack"].map(|row| goodput(&bulk(row, "", &path), 0));
    assert!(htcp > 1.5 * sack, "{htcp}, sack {sack}");
    assert!(linux > 1.5 * sack, "{linux}, sack {sack}");
}

/// Queueing delay in a queue of ten BDP (400 ms), in ms: LEDBAT rises slowly to its 100 ms, LEDBAT++
/// below 60 ms, and Copa at about 2 / delta segments. `sack` fills the queue.
#[test]
fn a_deep_queue_stays_short() {
    let deep = link("20 Mbit/s", "20 ms", ", queue = { bdp = 10.0 }");
    let queued = |row: &str| {
        let done = bulk(row, "", &deep);
        metric(&done, "flows", 0, "rtt_mean") * 1e3 - 40.0
    };
    let of = ["ledbat", "ledbat++", "copa", "sack"].map(queued);
    assert!((45.0..101.0).contains(&of[0]), "{of:?}");
    assert!((5.0..60.0).contains(&of[1]), "{of:?}");
    assert!((0.5..6.0).contains(&of[2]), "{of:?}");
    assert!(of[3] > 150.0, "{of:?}");
}

/// Goodput of the row beside a flow of `sack`, as a share of both.
fn share_beside_sack(row: &str, more: &str) -> f64 {
    let path = link("20 Mbit/s", "20 ms", ", queue = { bdp = 4.0 }");
    let done = result(&format!(
        "duration = \"120 s\"\n{}{path}\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"bulk\"\nduration = \"1000 h\"\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"bulk\"\nduration = \"1000 h\"\n\
         tcp = {{ variant = \"sack\" }}\n",
        tcp(row, more)
    ));
    goodput(&done, 0) / (goodput(&done, 0) + goodput(&done, 1))
}

/// Background transport yields to `sack`. Copa gets a share only by its competitive mode.
#[test]
fn background_yields_and_copa_competes() {
    for row in ["ledbat", "ledbat++"] {
        let share = share_beside_sack(row, "");
        assert!(share < 0.15, "{row}: {share}");
    }
    let competes = share_beside_sack("copa", "");
    let yields = share_beside_sack("copa", "[tcp.control.copa]\ncompetitive = false");
    assert!((0.25..0.75).contains(&competes), "{competes}");
    assert!(yields < 0.5 * competes, "{yields}, competitive {competes}");
}
