//! BBR on whole paths: its share of the link, and the queue that it causes.

use crate::common::expand_with;
use farlink_sim::{Monitor, Table, Trace, TraceOptions, trace};

fn play(text: &str, set: &[(&str, &str)]) -> Trace {
    let scenario = expand_with(text, set);
    trace(&scenario, 0, &TraceOptions::default(), &Monitor::default()).unwrap()
}

fn table<'a>(trace: &'a Trace, name: &str) -> &'a Table {
    trace.tables.iter().find(|t| t.name == name).unwrap()
}

fn column(table: &Table, name: &str) -> Vec<f64> {
    let (_, column) = table.columns.iter().find(|(n, _)| *n == name).unwrap();
    let numbers = column.numbers();
    numbers.into_iter().map(|n| n as f64).collect()
}

/// Returns the bits per second delivered in order between two times in seconds.
fn goodput(trace: &Trace, from: f64, to: f64) -> f64 {
    let delivered = table(trace, "delivered");
    let (time, bytes) = (column(delivered, "time"), column(delivered, "bytes"));
    let until = |t: f64| {
        let rows = time.iter().take_while(|&&x| x <= t * 1e9).count();
        rows.checked_sub(1).map_or(0.0, |i| bytes[i])
    };
    8.0 * (until(to) - until(from)) / (to - from)
}

const GEO: &str = r#"
[tcp]
variant = "bbr"
receive_window = "1 MiB"
delayed_ack = "off"

[[links]]
name = "lan"
between = ["server", "gateway"]
down = { rate = "10 Mbit/s", delay = "10 ms", queue = "unlimited" }

[[links]]
name = "satellite"
between = ["gateway", "client"]
down = { rate = "2048 kbit/s", delay = "250 ms", queue = "unlimited" }
up = { rate = "256 kbit/s", delay = "250 ms", queue = "unlimited" }

[[flows]]
from = "server"
to = "client"
app = "bulk"
duration = "130 s"
"#;

/// Capacity of the satellite link for data, 1460 of 1500 bytes per packet.
const FULL: f64 = 2_048_000.0 * 1460.0 / 1500.0;
/// Bandwidth-delay product of the path in segments: 0.52 s plus the transmission times of a segment
/// on the links, at 170.67 segments per second.
const PRODUCT: f64 = (0.52 + 0.007_059) * 2_048_000.0 / 12_000.0;

/// Returns the maximum number of packets that wait for the satellite link between two times in
/// seconds.
fn queue(trace: &Trace, from: f64, to: f64) -> f64 {
    let queue = table(trace, "queue");
    let (time, link) = (column(queue, "time"), column(queue, "link"));
    let (way, packets) = (column(queue, "direction"), column(queue, "packets"));
    (0..time.len())
        .filter(|&i| (link[i], way[i]) == (1.0, 0.0))
        .filter(|&i| (from * 1e9..to * 1e9).contains(&time[i]))
        .map(|i| packets[i])
        .fold(0.0, f64::max)
}

/// Returns the minimum window of the sender between two times in seconds.
fn least_window(trace: &Trace, from: f64, to: f64) -> f64 {
    let state = table(trace, "state");
    let (time, side, cwnd) = (
        column(state, "time"),
        column(state, "side"),
        column(state, "cwnd"),
    );
    (0..time.len())
        .filter(|&i| side[i] == 0.0 && (from * 1e9..to * 1e9).contains(&time[i]))
        .map(|i| cwnd[i])
        .fold(f64::INFINITY, f64::min)
}

#[test]
fn a_satellite_link_is_full_between_two_probe_rtt_phases() {
    let run = play(GEO, &[]);
    // Startup fills the pipe within 4 s, plus a queue of the startup gain minus one product. After
    // Drain the window allows a queue of one product and three quanta, and probing leaves a quarter
    // of a product in the queue.
    assert!(goodput(&run, 4.0, 10.0) > 0.99 * FULL);
    assert!(queue(&run, 0.0, 10.0) <= 1.885 * PRODUCT + 10.0);
    // The first ProbeRTT ends before 12 s, and the next starts after 24 s.
    assert!(least_window(&run, 10.0, 12.0) <= 4.0 * 1460.0);
    assert!(least_window(&run, 13.0, 24.0) > PRODUCT * 1460.0);
    assert!(goodput(&run, 13.0, 24.0) > 0.99 * FULL);
    let waiting = queue(&run, 13.0, 24.0);
    assert!(waiting <= 0.25 * PRODUCT + 6.0 + 2.0, "{waiting}");
    // A ProbeRTT costs two round trips here, so 90 % of the rate remain.
    let all = goodput(&run, 10.0, 130.0) / FULL;
    assert!((0.90..0.95).contains(&all), "{all}");
}

#[test]
fn without_probing_for_the_round_trip_a_satellite_link_is_full() {
    let run = play(GEO, &[("tcp.control.bbr.rtt_window", "1000 s")]);
    assert!(goodput(&run, 10.0, 130.0) > 0.99 * FULL);
    let waiting = queue(&run, 12.0, 130.0);
    assert!(waiting <= PRODUCT + 6.0, "{waiting}");
}

#[test]
fn bit_errors_cost_a_satellite_link_little() {
    let errors = [
        ("links.satellite.down.channel.ber", "1e-6"),
        ("links.satellite.up.channel.ber", "1e-6"),
    ];
    let clean = goodput(&play(GEO, &[]), 10.0, 130.0);
    let bbr = goodput(&play(GEO, &errors), 10.0, 130.0);
    // The errors lose 1.2 % of the segments.
    assert!(bbr > 0.95 * clean, "{bbr} of {clean}");
    let [down, up] = errors;
    let sack = goodput(
        &play(GEO, &[down, up, ("tcp.variant", "sack")]),
        10.0,
        130.0,
    );
    assert!(bbr > 4.0 * sack, "{bbr} against {sack}");
}

/// Runs a flow over one link of this rate and queue, with a round trip of 50 ms.
fn one_link(rate: &str, queue: &str, duration: &str) -> Trace {
    let text = format!(
        r#"
[tcp]
variant = "bbr"
receive_window = "64 MiB"

[[links]]
between = ["sender", "receiver"]
down = {{ rate = "{rate}", delay = "25 ms", queue = {queue} }}

[[flows]]
from = "sender"
to = "receiver"
app = "bulk"
duration = "{duration}"
"#
    );
    play(&text, &[])
}

#[test]
fn a_gigabit_path_is_full_within_a_second() {
    let run = one_link("1 Gbit/s", "\"unlimited\"", "2 s");
    let share = goodput(&run, 1.0, 2.0) / (1e9 * 1460.0 / 1500.0);
    assert!(share > 0.98, "{share}");
}

#[test]
fn losses_of_startup_in_a_buffer_of_one_bdp_are_repaired() {
    let run = one_link("100 Mbit/s", r#"{ bytes = "625 kB" }"#, "8 s");
    let share = goodput(&run, 4.0, 8.0) / (1e8 * 1460.0 / 1500.0);
    assert!(share > 0.98, "{share}");
}
