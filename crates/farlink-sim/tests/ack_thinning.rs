//! ACKs that a modem thins before a slow return link.
#![allow(clippy::print_stdout, reason = "the figures of docs/agents/thin.md")]

use crate::common::{metric, result};
use serde_json::Value;

/// Downloads 10 MB over a satellite link of 20 Mbit/s with a return link of `up`.
fn download(up: &str, tcp: &str, agent: &str) -> Value {
    let done = result(&format!(
        "[tcp]\nvariant = \"{tcp}\"\nreceive_window = \"4 MiB\"\n{agent}\n\
         [[links]]\nname = \"lan\"\nbetween = [\"client\", \"modem\"]\n\
         down = {{ rate = \"100 Mbit/s\", delay = \"1 ms\" }}\n\
         [[links]]\nname = \"satellite\"\nbetween = [\"modem\", \"server\"]\n\
         down = {{ rate = \"{up}\", delay = \"270 ms\", queue = {{ packets = 50 }} }}\n\
         up = {{ rate = \"20 Mbit/s\", delay = \"270 ms\", queue = {{ packets = 1000 }} }}\n\
         [[flows]]\nfrom = \"server\"\nto = \"client\"\nsize = \"10 MB\"\n"
    ));
    assert_eq!(metric(&done, "flows", 0, "bytes_delivered"), 1e7, "{tcp}");
    done
}

fn agent(interval: &str, on: bool) -> String {
    format!(
        "[[agents]]\nat = \"modem\"\nwireless = \"satellite\"\nkind = \"thin\"\n\
         interval = \"{interval}\"\nenabled = {on}\n"
    )
}

/// A window that grows by bytes gains from free room on the return link, and one that grows by ACKs
/// loses.
///
/// 20 Mbit/s of data ask for 830 ACKs/s of 40 bytes, 270 kbit/s. With 20 ms 50 ACKs/s remain, 16
/// kbit/s. A return link of 48 kbit/s is then no bottleneck.
#[test]
fn at_most_one_ack_leaves_per_interval() {
    for (tcp, least, most) in [("sack", 1.2, 1.5), ("cubic\"\nprofile = \"linux", 0.5, 0.7)] {
        let [without, with] =
            [false, true].map(|on| download("48 kbit/s", tcp, &agent("20 ms", on)));
        let time = |done: &Value| metric(done, "flows", 0, "duration");
        let count = |name| metric(&with, "agents", 0, name);
        println!(
            "{tcp}: {:.2} s without, {:.2} s with; {} passed, {} dropped",
            time(&without),
            time(&with),
            count("acks_passed"),
            count("acks_dropped"),
        );
        let ratio = time(&with) / time(&without);
        assert!((least..most).contains(&ratio), "{tcp} {ratio}");
        assert!(count("acks_dropped") > 2.0 * count("acks_passed"), "{tcp}");
        assert!(count("acks_passed") < 50.0 * time(&with) + 10.0, "{tcp}");
        assert!(count("acks_delayed") > count("acks_dropped"), "{tcp}");
        assert_eq!(metric(&without, "agents", 0, "acks_dropped"), 0.0, "{tcp}");
    }
}

/// An interval below the time between two ACKs drops none, and changes nothing.
#[test]
fn a_short_interval_changes_nothing() {
    let slow = |on| download("1 Mbit/s", "sack", &agent("1 us", on));
    let [without, with] = [false, true].map(slow);
    assert_eq!(metric(&with, "agents", 0, "acks_dropped"), 0.0);
    let time = |done: &Value| metric(done, "flows", 0, "duration");
    assert_eq!(time(&without), time(&with));
}
