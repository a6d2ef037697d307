//! Gains by agents at routers, over whole runs.
#![allow(clippy::print_stdout, reason = "the figures of docs/agents")]

use crate::common::{metric, result};
use serde_json::Value;

/// A mobile host behind a radio, a base station with snoop, and a fixed host.
fn mobile(tcp: &str, snoop: &str, radio: &str, flow: &str) -> String {
    format!(
        "[tcp]\nvariant = \"{tcp}\"\nreceive_window = \"1 MiB\"\n{snoop}\n\
         [[links]]\nname = \"wired\"\nbetween = [\"server\", \"base\"]\n\
         down = {{ rate = \"10 Mbit/s\", delay = \"40 ms\", queue = {{ packets = 200 }} }}\n\
         [[links]]\nname = \"radio\"\nbetween = [\"base\", \"phone\"]\n{radio}\n\
         [[flows]]\n{flow}\n"
    )
}

fn counter(done: &Value, name: &str) -> f64 {
    metric(done, "agents", 0, name)
}

/// Negative acknowledgments repair an upload over a lossy radio: it takes less time, sends no more
/// data, and delivers all bytes. Without a loss they change nothing.
#[test]
fn negative_acknowledgments_speed_up_an_upload() {
    let upload = |tcp: &str, nack: bool, loss: f64| {
        let key = if nack { "nack = true\n" } else { "" };
        let agent = format!(
            "{key}[[agents]]\nat = \"base\"\nwireless = \"radio\"\nkind = \"snoop\"\nuploads = {nack}\n"
        );
        let radio = format!(
            "down = {{ rate = \"5 Mbit/s\", delay = \"5 ms\", queue = {{ packets = 200 }} }}\n\
             up = {{ rate = \"5 Mbit/s\", delay = \"5 ms\", queue = {{ packets = 1000 }}, \
             channel = {{ loss = {loss} }} }}"
        );
        let flow = "from = \"phone\"\nto = \"server\"\nsize = \"4 MB\"";
        let done = result(&mobile(tcp, &agent, &radio, flow));
        assert_eq!(metric(&done, "flows", 0, "bytes_delivered"), 4e6, "{tcp}");
        done
    };
    for tcp in ["reno", "newreno", "sack", "cubic"] {
        let time = |done: &Value| metric(done, "flows", 0, "duration");
        let [without, with] = [false, true].map(|nack| upload(tcp, nack, 0.02));
        let gain = time(&without) / time(&with);
        println!(
            "{tcp}: {:.2} s without, {:.2} s with, {} nacks, {} sent again, {} time-outs",
            time(&without),
            time(&with),
            counter(&with, "negative_acks"),
            metric(&with, "flows", 0, "segments_retransmitted"),
            metric(&with, "flows", 0, "timeouts"),
        );
        assert!(gain > 1.5, "{tcp}: {gain}");
        assert!(counter(&with, "negative_acks") > 20.0, "{tcp}");
        let [without, with] = [false, true].map(|nack| upload(tcp, nack, 0.0));
        // The option takes 4 bytes of the SYN.
        let apart = (time(&without) - time(&with)).abs();
        assert!(apart < 0.001, "{tcp}: {apart} s");
        assert_eq!(counter(&with, "negative_acks"), 0.0, "{tcp}");
    }
}

/// With SACK off, the cache has room for a window of a thousand segments, so snoop is no slower
/// than no agent.
#[test]
fn the_cache_of_snoop_holds_a_long_window() {
    let run = |on: bool, cache: &str| {
        let agent = format!(
            "[[agents]]\nat = \"base\"\nwireless = \"radio\"\nkind = \"snoop\"\nsack = \"off\"\n\
             enabled = {on}\n{cache}"
        );
        let radio = "down = { rate = \"9 Mbit/s\", delay = \"5 ms\", queue = { packets = 500 }, \
                     channel = { loss = 0.001 } }\n\
                     up = { rate = \"9 Mbit/s\", delay = \"5 ms\" }";
        let flow = "from = \"server\"\nto = \"phone\"\nsize = \"10 MB\"";
        let text = mobile("sack", &agent, radio, flow);
        let text = text.replace(
            "delay = \"40 ms\", queue = { packets = 200 }",
            "delay = \"250 ms\"",
        );
        result(&text)
    };
    let time = |done: &Value| metric(done, "flows", 0, "duration");
    let (none, with, small) = (run(false, ""), run(true, ""), run(true, "cache = 100\n"));
    println!(
        "none {:.2} s, snoop {:.2} s, of 100 packets {:.2} s with {} uncached",
        time(&none),
        time(&with),
        time(&small),
        counter(&small, "uncached")
    );
    assert_eq!(counter(&with, "uncached"), 0.0);
    assert!(counter(&small, "uncached") > 0.0);
    assert!(time(&with) < time(&none), "{} {}", time(&with), time(&none));
    assert!(time(&with) <= time(&small));
}

/// Runs a transfer over a spoofing gateway. The wired link before the gateway loses the data
/// packets with these numbers.
fn spoofed(tcp: &str, agent: &str, lose: &[u32]) -> Value {
    let lost = if lose.is_empty() {
        String::new()
    } else {
        format!(", channel = {{ scripted_loss = {{ packets = {lose:?}, min_size = \"100 B\" }} }}")
    };
    result(&format!(
        "[tcp]\nvariant = \"{tcp}\"\nreceive_window = \"1 MiB\"\nsend_buffer = \"4 MiB\"\n\
         [[links]]\nname = \"wired\"\nbetween = [\"server\", \"gateway\"]\n\
         down = {{ rate = \"10 Mbit/s\", delay = \"5 ms\", queue = {{ packets = 1000 }}{lost} }}\n\
         [[links]]\nname = \"satellite\"\nbetween = [\"gateway\", \"client\"]\n\
         down = {{ rate = \"2 Mbit/s\", delay = \"250 ms\", queue = {{ packets = 1000 }} }}\n\
         [[agents]]\nat = \"gateway\"\nwireless = \"satellite\"\nkind = \"spoof\"\n{agent}\n\
         [[flows]]\nfrom = \"server\"\nto = \"client\"\nsize = \"2000000 B\"\n"
    ))
}

/// One packet is lost before the gateway. With a buffer for all data, one segment is retransmitted,
/// and none is sent twice over the satellite. With a buffer of 64 KiB, less than the path's
/// capacity, the transfer takes no longer than without the agent.
#[test]
fn a_loss_in_front_of_a_spoofing_gateway_costs_one_segment() {
    let of = |done: &Value, name: &str| metric(done, "flows", 0, name);
    for tcp in ["reno", "newreno", "sack", "cubic"] {
        for lose in [300, 1000] {
            let with = spoofed(tcp, "buffer = \"1 MiB\"", &[lose]);
            assert_eq!(of(&with, "segments_retransmitted"), 1.0, "{tcp} {lose}");
            assert_eq!(counter(&with, "local_retransmissions"), 0.0, "{tcp} {lose}");
            let none = spoofed(tcp, "enabled = false", &[lose]);
            let small = spoofed(tcp, "buffer = \"64 KiB\"", &[lose]);
            let again = of(&small, "segments_retransmitted");
            let [none, with, small] = [&none, &with, &small].map(|done| of(done, "duration"));
            println!(
                "{tcp} {lose}: none {none:.2} s, 1 MiB {with:.2} s, 64 KiB {small:.2} s, {again} again"
            );
            assert!(
                with < none && small < none + 0.3,
                "{tcp} {lose}: {none} {with} {small}"
            );
        }
        // On a clean path nothing is retransmitted, for any buffer.
        for buffer in ["64 KiB", "256 KiB"] {
            let clean = spoofed(tcp, &format!("buffer = \"{buffer}\""), &[]);
            assert_eq!(of(&clean, "segments_retransmitted"), 0.0, "{tcp} {buffer}");
            assert_eq!(of(&clean, "timeouts"), 0.0, "{tcp} {buffer}");
        }
    }
}
