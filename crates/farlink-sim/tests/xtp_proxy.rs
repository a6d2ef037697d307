//! Proxies with XTP between them over whole runs.

use crate::common::{expand, load_error, metric, result};
use farlink_sim::Live;
use serde_json::Value;
use std::ops::Range;

const HALF: &str = "satellite_xtp = { rate = \"1900 kbit/s\", window = \"8 MiB\" }";

fn network(satellite: &str, proxy: &str, flow: &str) -> String {
    between_proxies(satellite, &format!("{HALF}\n{proxy}"), flow)
}

/// Returns server, hub, satellite of 2 Mbit/s and 250 ms with these further keys, terminal and
/// client, a proxy with these keys at each end of the satellite, and a flow.
pub(crate) fn between_proxies(satellite: &str, proxy: &str, flow: &str) -> String {
    let agent = |at: &str| {
        format!("[[agents]]\nat = \"{at}\"\nwireless = \"satellite\"\nkind = \"pep\"\n{proxy}\n")
    };
    let link = |name: &str, a: &str, b: &str, rate: &str, more: &str| {
        let way = format!("{{ rate = \"{rate}\"{more} }}");
        format!(
            "[[links]]\nname = \"{name}\"\nbetween = [\"{a}\", \"{b}\"]\ndown = {way}\nup = {way}\n"
        )
    };
    let lan = ", delay = \"5 ms\", queue = \"unlimited\"";
    let far = format!(", delay = \"250 ms\", queue = \"unlimited\"{satellite}");
    [
        "max_duration = \"1000 s\"\n[tcp]\nreceive_window = \"1 MiB\"\nwindow_scale = \"auto\"\n"
            .to_owned(),
        link("lan", "server", "hub", "10 Mbit/s", lan),
        link("satellite", "hub", "terminal", "2 Mbit/s", &far),
        link("home", "terminal", "client", "10 Mbit/s", lan),
        agent("hub"),
        agent("terminal"),
        format!("[[flows]]\nfrom = \"server\"\nto = \"client\"\n{flow}\n"),
    ]
    .concat()
}

pub(crate) fn value(result: &Value, name: &str) -> f64 {
    metric(result, "flows", 0, name)
}

pub(crate) fn agent(result: &Value, number: usize, name: &str) -> f64 {
    metric(result, "agents", number, name)
}

pub(crate) const FILE: &str = "app = \"file\"\nsize = \"4 MB\"";
pub(crate) const LOSSES: &str = ", channel = { loss = 0.05 }";

/// 4 MB take 16.8 s at 1900 kbit/s. Losses of 5 % cost about 5 % of the rate, because XTP does not
/// take them for congestion.
#[test]
fn a_file_crosses_the_satellite_at_the_configured_rate() {
    for (satellite, again) in [("", 0.0..0.001), (LOSSES, 0.04..0.08)] {
        check_a_file(satellite, HALF, again);
    }
}

/// Checks that a file crosses proxies with this half of 1900 kbit/s in the time of its packets, and
/// the retransmissions per packet.
pub(crate) fn check_a_file(satellite: &str, half: &str, again: Range<f64>) {
    let seconds = if satellite.is_empty() {
        16.8..18.5
    } else {
        17.7..22.0
    };
    let result = result(&between_proxies(satellite, half, FILE));
    assert_eq!(value(&result, "completed"), 1.0, "{satellite}");
    assert_eq!(value(&result, "bytes_delivered"), 4e6);
    let took = value(&result, "duration");
    assert!(seconds.contains(&took), "{satellite}: {took} s");
    for number in [0, 1] {
        assert_eq!(agent(&result, number, "connections"), 1.0);
        assert_eq!(agent(&result, number, "connections_failed"), 0.0);
        assert_eq!(agent(&result, number, "bytes_lost"), 0.0);
        assert_eq!(agent(&result, number, "wireless_timeouts"), 0.0);
    }
    let share = agent(&result, 0, "wireless_retransmissions") / (4e6 / 1440.0);
    assert!(again.contains(&share), "{satellite}: {share}");
}

/// TCP between the proxies is far slower with such losses.
#[test]
fn tcp_between_the_proxies_is_slower_under_losses() {
    let xtp = result(&network(LOSSES, "", FILE));
    let text = network(LOSSES, "", FILE).replace(HALF, "satellite_tcp = { variant = \"sack\" }");
    let tcp = result(&text);
    assert!(value(&tcp, "goodput") < 0.3 * value(&xtp, "goodput"));
}

/// Either end may open the connection and send, also both at once, and one connection after the
/// other.
#[test]
fn connections_of_every_kind_cross() {
    every_kind_crosses(HALF);
}

/// Checks that connections of every kind cross proxies with this half.
pub(crate) fn every_kind_crosses(half: &str) {
    for flow in [
        "app = \"file\"\nsize = \"300 kB\"\nreverse = \"200 kB\"",
        "app = \"file\"\nsize = \"300 kB\"\nopens = \"receiver\"",
        "app = \"repeat\"\nsize = \"30 kB\"\nfiles = 10",
        "app = \"http\"\npages = 3",
    ] {
        for satellite in ["", LOSSES, ", channel = { loss = 0.3 }"] {
            let result = result(&between_proxies(satellite, half, flow));
            assert_eq!(value(&result, "completed"), 1.0, "{flow} {satellite}");
            for number in [0, 1] {
                let failed = agent(&result, number, "connections_failed");
                assert_eq!(failed, 0.0, "{flow} {satellite}");
            }
        }
    }
}

/// Without the second proxy's help FIRST gets END, and the opener a reset.
#[test]
fn a_proxy_that_is_off_refuses_the_association() {
    let text = network("", "", FILE).replacen("[[flows]]", "enabled = false\n[[flows]]", 1);
    let result = result(&text);
    assert_eq!(value(&result, "completed"), 0.0);
    assert_eq!(agent(&result, 0, "connections_failed"), 1.0);
}

/// The stack's delay applies to XTP packets as to segments: two proxies with 50 ms each way.
#[test]
fn the_stack_delays_packets_of_the_satellite() {
    let flow = "app = \"file\"\nsize = \"100 kB\"";
    let seconds = |proxy: &str| value(&result(&network("", proxy, flow)), "duration");
    let more = seconds("stack_delay = \"50 ms\"") - seconds("");
    assert!((0.19..0.45).contains(&more), "{more} s");
}

#[test]
fn refusals_name_the_key() {
    let good = network("", "", FILE);
    let alone = good.replacen(HALF, "", 1);
    for (text, message) in [
        (
            alone,
            "agents[1].satellite_xtp needs a proxy with satellite_xtp at the other end of link \
             \"satellite\", too; write [[agents]] there with kind = \"pep\" and wireless = \
             \"satellite\"",
        ),
        (
            good.replacen("window = \"8 MiB\"", "window = \"1 kB\"", 1),
            "agents[0].satellite_xtp.window = \"1 kB\" is less than packet; write at least \
             \"1440 B\"",
        ),
        (
            good.replacen("window = \"8 MiB\"", "packet = \"1 kB\"", 1),
            "agents[0].satellite_xtp has packet = \"1 kB\", and the proxy at the other end of link \
             \"satellite\" \"1440 B\"; write the same",
        ),
        (
            network("", "satellite_tcp = { variant = \"sack\" }", FILE),
            "agents[0].satellite_tcp would be ignored beside satellite_xtp; remove one of the two",
        ),
        (
            network("", "open = \"through\"", FILE),
            "agents[0].open = \"through\" is not possible with satellite_xtp, which has no answer to \
             the opening; write open = \"early\"",
        ),
    ] {
        let refusal = load_error(&text);
        assert!(refusal.contains(message), "{refusal}\nand not {message}");
    }
}

#[test]
fn an_emulation_refuses_the_half() {
    let refusal = Live::new(&expand(&network("", "", FILE)), 0).expect_err("refused");
    assert_eq!(
        refusal.to_string(),
        "agents[0].satellite_xtp is simulated and cannot be emulated, because its packets carry no \
         real data; write satellite_tcp"
    );
}
