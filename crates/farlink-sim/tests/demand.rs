//! DAMA on a return link, over whole runs: closed forms of latency and throughput.

use crate::common::{load_error, metric, result};
use farlink_sim::scenario;

/// Builds a link whose uplink has frames of 50 ms with 10 slots of 1280 bytes.
fn uplink(mac: &str, flow: &str, more: &str) -> String {
    format!(
        "[tcp]\nvariant = \"sack\"\nreceive_window = \"4 MiB\"\nrto_initial = \"3 s\"\n\
         [[links]]\nname = \"satellite\"\nbetween = [\"hub\", \"terminal\"]\n{more}\
         down = {{ rate = \"20 Mbit/s\", delay = \"250 ms\" }}\n\
         up = {{ rate = \"2048 kbit/s\", delay = \"250 ms\" }}\n\
         arq = {{ protocol = \"none\", header = \"0 B\", mac = {{ access = \"dama\", \
         direction = \"up\", {mac} }} }}\n\
         [[flows]]\nfrom = \"terminal\"\nto = \"hub\"\n{flow}\n"
    )
}

const FRAME: &str = "frame = \"50 ms\", slots = 10";
const BULK: &str = "app = \"bulk\"\nduration = \"200 s\"";

/// Datagrams of 91 bytes that are far apart: wait for the request slot, round trip, air, and
/// propagation.
fn lone(datagrams: u32) -> String {
    format!(
        "app = \"cbr\"\npacket = \"63 B\"\nrate = \"250 bit/s\"\ndatagrams = {datagrams}\n\
         start = \"1 ms\""
    )
}

#[test]
fn lone_packet_takes_request_round_trip_slot_and_propagation() {
    // 63 bytes at 250 bit/s are one datagram every 2.016 s, which is 16 ms later in its frame.
    let of = |mac: &str| {
        let text = uplink(&format!("{FRAME}, {mac}"), &lone(400), "");
        let (_, without_tcp) = text.split_once("\n[[links]]").expect("a link");
        let done = result(&format!("[[links]]{without_tcp}"));
        metric(&done, "flows", 0, "delay_mean")
    };
    let air = 91.0 * 8.0 / 2.048e6;
    let expected = 0.025 + 0.5 + air + 0.25;
    let got = of("piggyback = false");
    assert!((got - expected).abs() < 0.002, "{got}, not {expected}");
    let rare = of("request_every = 8");
    assert!((rare - (expected + 0.175)).abs() < 0.01, "{rare}");
    let near = of("grant_delay = \"100 ms\"");
    assert!((near - (expected - 0.4)).abs() < 0.002, "{near}");
    let constant = of("constant = 1");
    assert!(
        (constant - (0.025 + air + 0.25)).abs() < 0.002,
        "{constant}"
    );
}

#[test]
fn saturated_uplink_has_the_rate_of_the_slots_it_gets() {
    for (more, slots) in [
        ("", 10.0),
        (", max_slots = 5", 5.0),
        (", constant = 2, max_slots = 2", 2.0),
        (", constant = 2, max_slots = 6", 6.0),
    ] {
        let done = result(&uplink(&format!("{FRAME}{more}"), BULK, ""));
        let used = metric(&done, "links", 1, "utilisation");
        let share = slots / 10.0;
        // Slow start takes the first seconds.
        assert!(
            used <= share + 1e-9 && used > 0.9 * share,
            "{used}, not {share}"
        );
        assert_eq!(metric(&done, "links", 1, "drops"), 0.0);
    }
}

/// Each of SYN and data waits for a request, a grant and a slot. The answers come down at once.
#[test]
fn tcp_sees_two_round_trips() {
    let done = result(&uplink(FRAME, "app = \"file\"\nsize = \"1 kB\"", ""));
    let got = metric(&done, "flows", 0, "duration");
    // The SYN uses the request slot at 0 s, and its slot is at 0.5 s. The SYN-ACK arrives after 1 s,
    // so the request for the data is at 1.05 s and its slot at 1.55 s.
    let expected = 1.55 + 1040.0 * 8.0 / 2.048e6 + 0.25;
    assert!((got - expected).abs() < 0.001, "{got}, not {expected}");
    let plain = result(&uplink(
        &format!("{FRAME}, constant = 10"),
        "app = \"file\"\nsize = \"1 kB\"",
        "",
    ));
    let got = metric(&plain, "flows", 0, "duration");
    assert!((0.75..0.8).contains(&got), "{got}");
}

#[test]
fn impossible_frames_are_refused() {
    for (mac, message) in [
        (
            "slots = 10",
            " has no \"frame\"; write for example frame = \"50 ms\"",
        ),
        (
            "frame = \"50 ms\"",
            " has no \"slots\"; write for example slots = 20",
        ),
        (
            "frame = \"50 ms\", slots = 10, max_slots = 11",
            ".max_slots = 11 is out of range; write 1 to 10",
        ),
        (
            "frame = \"50 ms\", slots = 10, max_slots = 4, constant = 5",
            ".constant = 5 is out of range; write 0 to 4",
        ),
        (
            "frame = \"50 ms\", slots = 10, delay = \"1 ms\"",
            ".delay would be ignored; it needs access = \"constant\" or \"exponential\"",
        ),
        (
            "frame = \"1 us\", slots = 10",
            ".access = \"dama\" has slots of less than a byte; write fewer slots or a longer frame",
        ),
    ] {
        let error = load_error(&uplink(mac, BULK, ""));
        assert!(
            error.ends_with(&format!("links[0].arq.mac{message}")),
            "{error}"
        );
    }
    let error = load_error(&uplink(FRAME, BULK, "half_duplex = true\n"));
    assert!(error.contains("does not go with half_duplex"), "{error}");
    let error = load_error(&uplink(FRAME, BULK, "").replace("\"none\"", "\"rlp\""));
    assert!(error.contains("needs protocol = \"none\""), "{error}");
    let traced = uplink(FRAME, BULK, "").replace(
        "up = { rate = \"2048 kbit/s\"",
        "up = { rate_trace = \"2048 kbit/s\"",
    );
    let error = load_error(&traced);
    assert!(error.contains("rate_trace"), "{error}");
}

#[test]
fn resolved_scenario_is_the_same() {
    for mac in [
        FRAME,
        "frame = \"30 ms\", slots = 7, constant = 1, free = 0.2",
    ] {
        let scenario = scenario::load(&uplink(mac, BULK, ""), "x.toml", &[]).unwrap();
        let again = scenario::load(&scenario.to_json(), "x.json", &[]).unwrap();
        assert_eq!(again, scenario);
    }
}
