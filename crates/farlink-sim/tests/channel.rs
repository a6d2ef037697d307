//! Known pitfalls of the best-known emulator, in whole runs: the mean loss must not depend on the
//! bursts, and a queue limit on a long link must not reduce the rate.

use crate::common::{expand, result};
use farlink_sim::{Asked, Column, sample_channel};
use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// Returns the seconds that `packets` full packets take over 250 ms in each direction, with a queue
/// of a tenth of the bandwidth-delay product.
fn transfer(packets: u64, kilobits: u64) -> f64 {
    let size = 1460 * packets;
    let text = format!(
        "[tcp]\nvariant = \"newreno\"\nmss = \"1460 B\"\nreceive_window = \"64 MiB\"\n\
         initial_window = 1000000\ntimestamps = false\n\
         [[links]]\nname = \"lan\"\nbetween = [\"server\", \"gateway\"]\n\
         down = {{ rate = \"{kilobits} kbit/s\", delay = \"0 s\" }}\n\
         [[links]]\nname = \"geo\"\nbetween = [\"gateway\", \"client\"]\n\
         down = {{ rate = \"{kilobits} kbit/s\", delay = \"250 ms\", queue = {{ bdp = 0.1 }} }}\n\
         up = {{ rate = \"{kilobits} kbit/s\", delay = \"250 ms\" }}\n\
         [[flows]]\nfrom = \"server\"\nto = \"client\"\nsize = \"{size} B\"\n"
    );
    let result = result(&text);
    assert_eq!(number(&result["links"][2]["metrics"]["drops"]), 0.0);
    number(&result["flows"][0]["metrics"]["duration"])
}

#[test]
fn the_rate_over_a_geostationary_link_is_the_one_configured() {
    // If the limit of the queue counted packets in flight, the link would carry a tenth of its
    // rate. The cost of the handshake and of the first window is the same for both sizes, so it
    // cancels.
    for kilobits in [2048, 12_000, 100_000] {
        let more = transfer(40_000, kilobits) - transfer(20_000, kilobits);
        let expected = 20_000.0 * 1500.0 * 8.0 / (kilobits as f64 * 1000.0);
        assert!(
            (more / expected - 1.0).abs() < 1e-3,
            "{kilobits} kbit/s: {more} s, expected {expected} s"
        );
    }
}

#[test]
fn a_mean_loss_of_five_per_cent_is_that_at_any_correlation() {
    // A million packets each through a chain per packet and a chain in time. The deviation of the
    // mean of a chain with memory m is that of independent losses times sqrt((1 + m) / (1 - m)).
    for burst in ["1.0527", "2", "10", "100", "\"2 ms\"", "\"50 ms\""] {
        let text = format!(
            "[[links]]\nname = \"l\"\nbetween = [\"a\", \"b\"]\ndown = {{ rate = \"12 Mbit/s\", \
             delay = \"0 s\", channel = {{ gilbert = {{ loss = 0.05, burst = {burst} }} }} }}\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 B\"\n"
        );
        let expanded = expand(&text);
        let requested = Asked {
            link: "l",
            down: true,
            packets: 1_000_000,
            bytes: 1500,
            spacing: None,
        };
        let sample = sample_channel(&expanded, requested, 0).unwrap();
        let Column::U8(fates) = &sample.columns[0].1 else {
            panic!("not a fate")
        };
        let lost = fates.iter().filter(|&&fate| fate != 0).count() as f64 / 1e6;
        let memory = sample.theory.autocorrelation.unwrap()[0].max(0.0);
        let error = (0.05 * 0.95 / 1e6 * (1.0 + memory) / (1.0 - memory)).sqrt();
        assert!(
            (lost - 0.05).abs() < 4.0 * error,
            "{burst}: {lost} +- {error}"
        );
    }
}

#[test]
fn a_run_loses_the_share_of_its_channel_and_reports_derived_values() {
    let text = "[[links]]\nname = \"l\"\nbetween = [\"a\", \"b\"]\ndown = { rate = \"100 Mbit/s\", \
                delay = \"1 ms\", channel = { gilbert = { loss = 0.05, burst = 4 } } }\nup = { rate \
                = \"100 Mbit/s\", delay = \"1 ms\" }\n[[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \
                \"100 MB\"\n[tcp]\nvariant = \"sack\"\n";
    let result = result(text);
    let down = &result["links"][0];
    let (drops, packets) = (
        number(&down["metrics"]["drops_loss"]),
        number(&down["metrics"]["packets"]),
    );
    // The memory is 1 - 1 / 4 - 0.05 / 0.95 / 4 = 0.737.
    let error = (0.05 * 0.95 / packets * 1.737 / 0.263f64).sqrt();
    assert!(
        (drops / packets - 0.05).abs() < 4.0 * error,
        "{drops} of {packets}"
    );
    let report = down["derived"].as_array().unwrap();
    let burst = report
        .iter()
        .find(|row| row["name"] == "mean_burst_packets");
    assert!((number(&burst.unwrap()["value"]) - 4.0).abs() < 1e-9);
    assert_eq!(result["links"][1]["derived"], Value::Array(Vec::new()));
}
