//! Jitter of hosts in whole runs, against the closed form of its distribution.

use crate::common;
use serde_json::Value;

fn metric(result: &Value, name: &str) -> f64 {
    common::metric(result, "flows", 0, name)
}

const DATAGRAMS: u32 = 10_000;

/// Sends datagrams of 1,000 bytes at this rate over a link of 100 Mbit/s and 10 ms.
fn datagrams(rate: &str, channel: &str, jitter: &str) -> Value {
    let hosts = if jitter.is_empty() {
        String::new()
    } else {
        format!("[[hosts]]\nname = \"b\"\njitter = {{ {jitter} }}\n")
    };
    common::result(&format!(
        "[[links]]\nbetween = [\"a\", \"b\"]\n\
         down = {{ rate = \"100 Mbit/s\", delay = \"10 ms\", channel = {{ {channel} }} }}\n{hosts}\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"cbr\"\nrate = \"{rate}\"\n\
         packet = \"1000 B\"\ndatagrams = {DATAGRAMS}\n"
    ))
}

/// Delay without jitter in seconds: 1,028 bytes at 100 Mbit/s, and 10 ms.
const BASE: f64 = 0.010 + 1028.0 * 8.0 / 100e6;

/// Packets sent 100 ms apart never wait for each other, so the delays are independent draws. The
/// bounds are four standard errors: sd / sqrt(n) for a mean, sqrt(p (1 - p) / n) / density for a
/// quantile.
#[test]
fn delays_follow_the_distribution_of_the_host() {
    let n = f64::from(DATAGRAMS).sqrt();
    let run = datagrams(
        "80 kbit/s",
        "",
        "distribution = \"exponential\", mean = \"2 ms\"",
    );
    let mean = metric(&run, "delay_mean") - BASE;
    assert!((mean - 0.002).abs() < 4.0 * 0.002 / n, "{mean}");
    let sd = metric(&run, "delay_sd");
    assert!((sd - 0.002).abs() < 4.0 * 0.002 * 2f64.sqrt() / n, "{sd}");
    // The quantile of 99 % is 2 ms ln 100, and the density there is 0.01 / 2 ms. The histogram adds
    // an error of 0.4 %.
    let high = metric(&run, "delay_p99") - BASE;
    let error = (0.99f64 * 0.01).sqrt() / n / (0.01 / 0.002);
    assert!(
        (high - 0.002 * 100f64.ln()).abs() < 4.0 * error + 0.004 * high,
        "{high}"
    );
    let run = datagrams(
        "80 kbit/s",
        "",
        "distribution = \"uniform\", mean = \"5 ms\", spread = \"3 ms\"",
    );
    let mean = metric(&run, "delay_mean") - BASE;
    let sd = 0.003 / 3f64.sqrt();
    assert!((mean - 0.005).abs() < 4.0 * sd / n, "{mean}");
    assert!(metric(&run, "delay_min") - BASE >= 0.002 - 1e-9);
    assert!(metric(&run, "delay_max") - BASE <= 0.008 + 1e-9);
}

/// A packet is sent every 0.1 ms, and the mean delay is 5 ms, so without order hundreds of packets
/// would overtake others.
#[test]
fn packets_stay_in_order_at_a_host() {
    let run = datagrams(
        "80 Mbit/s",
        "",
        "distribution = \"exponential\", mean = \"5 ms\"",
    );
    assert_eq!(metric(&run, "datagrams_reordered"), 0.0);
    assert!(metric(&run, "delay_mean") > BASE + 0.005);
}

/// The jitter of a host has its own random stream, so the jitter does not change which packets the channel
/// loses.
#[test]
fn the_channel_draws_the_same_with_and_without_jitter() {
    let channel = "loss = 0.05, jitter = { distribution = \"exponential\", mean = \"1 ms\" }";
    let without = datagrams("80 kbit/s", channel, "");
    let with = datagrams(
        "80 kbit/s",
        channel,
        "distribution = \"uniform\", mean = \"4 ms\", spread = \"0 s\"",
    );
    assert_eq!(
        metric(&with, "datagrams_lost"),
        metric(&without, "datagrams_lost")
    );
    let later = metric(&with, "delay_mean") - metric(&without, "delay_mean");
    assert!((later - 0.004).abs() < 1e-9, "{later}");
}
