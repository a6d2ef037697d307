//! Proxies with STP between them over whole runs.

use crate::common::{expand, load_error, metric, result};
use crate::xtp_proxy::{
    FILE, LOSSES, agent, between_proxies, check_a_file, every_kind_crosses, value,
};
use farlink_sim::Live;
use serde_json::Value;

const PACED: &str = "satellite_stp = { rate = \"1900 kbit/s\", window = \"8 MiB\" }";
const WINDOW: &str = "satellite_stp = { window = \"8 MiB\" }";
const TCP: &str = "satellite_tcp = { variant = \"sack\", receive_window = \"1 MiB\" }";

/// Returns the bytes that the satellite carried from the client to the server.
fn reverse_bytes(result: &Value) -> f64 {
    metric(result, "links", 3, "bytes")
}

/// 4 MB take 16.8 s at 1900 kbit/s. Losses of 5 % cost little more than 5 %, and each is repaired
/// by one retransmission: of n / (1 - p) packets p n / (1 - p) are sent again.
#[test]
fn a_file_crosses_at_the_configured_rate() {
    // With losses 0.0526, plus or minus three deviations of 2900 draws.
    for (satellite, again) in [("", 0.0..0.001), (LOSSES, 0.040..0.066)] {
        check_a_file(satellite, PACED, again);
    }
}

/// Either end may open the connection and send, also both at once, and one connection after the
/// other.
#[test]
fn connections_of_every_kind_cross() {
    for half in [PACED, WINDOW, "satellite_stp = { early_data = false }"] {
        every_kind_crosses(half);
    }
}

/// The claim of Henderson and Katz (1997): reports need far less of the return path than TCP's ACKs.
/// Three reports in each round trip of 0.5 s, of 48 bytes (20 IP, 8 UDP, 8 and three numbers), are
/// 290 B/s. TCP sends an ACK of 40 bytes for every other segment, 3170 B/s.
#[test]
fn reports_need_far_less_of_the_return_path_than_acks() {
    let of = |half: &str| {
        let result = result(&between_proxies("", half, FILE));
        (reverse_bytes(&result), value(&result, "duration"))
    };
    let (stp, seconds) = of(PACED);
    let expected = 3.0 / 0.51 * 48.0 * seconds;
    assert!(
        (0.9..1.1).contains(&(stp / expected)),
        "{stp} of {expected}"
    );
    let (tcp, _) = of(TCP);
    assert!(stp < 0.1 * tcp, "{stp} of {tcp}");
}

/// With a congestion window losses halve the rate, as they do in TCP. Both are far slower than STP
/// at a rate.
#[test]
fn a_congestion_window_takes_losses_for_congestion() {
    let goodput = |half| value(&result(&between_proxies(LOSSES, half, FILE)), "goodput");
    let (paced, window, tcp) = (goodput(PACED), goodput(WINDOW), goodput(TCP));
    assert!(window < 0.2 * paced, "{window} of {paced}");
    assert!(
        (0.5..3.0).contains(&(window / tcp)),
        "{window} beside {tcp}"
    );
}

/// BGN gets BGREJ if the other proxy is off, and the opener a reset.
#[test]
fn a_proxy_that_is_off_refuses_the_connection() {
    let text =
        between_proxies("", PACED, FILE).replacen("[[flows]]", "enabled = false\n[[flows]]", 1);
    let result = result(&text);
    assert_eq!(value(&result, "completed"), 0.0);
    assert_eq!(agent(&result, 0, "connections_failed"), 1.0);
    assert!(value(&result, "duration") < 2.0);
}

/// Without early data the transfer takes a round trip more.
#[test]
fn early_data_saves_a_round_trip() {
    let flow = "app = \"file\"\nsize = \"100 kB\"";
    let seconds = |half: &str| value(&result(&between_proxies("", half, flow)), "duration");
    let late = PACED.replace(" }", ", early_data = false }");
    let more = seconds(&late) - seconds(PACED);
    assert!((0.49..0.52).contains(&more), "{more} s");
}

/// Small segments of the program are joined to packets, as in every `pep`.
#[test]
fn small_segments_are_joined() {
    let flow = "app = \"file\"\nsize = \"100 kB\"\ntcp = { mss = \"100 B\" }";
    let result = result(&between_proxies("", PACED, flow));
    assert_eq!(value(&result, "completed"), 1.0);
    let packets = agent(&result, 0, "wireless_segments");
    assert!((70.0..90.0).contains(&packets), "{packets}");
}

/// A queue of 20 packets: the window finds the rate, and keeps the losses few.
#[test]
fn a_congestion_window_respects_a_short_queue() {
    let text = between_proxies("", WINDOW, FILE).replace(
        "delay = \"250 ms\", queue = \"unlimited\"",
        "delay = \"250 ms\", queue = { packets = 20 }",
    );
    let result = result(&text);
    assert_eq!(value(&result, "completed"), 1.0);
    let share = agent(&result, 0, "wireless_retransmissions") / (4e6 / 1440.0);
    assert!(share < 0.1, "{share}");
}

#[test]
fn refusals_name_the_key() {
    let good = between_proxies("", PACED, FILE);
    for (text, message) in [
        (
            good.replacen(PACED, "", 1),
            "agents[1].satellite_stp needs a proxy with satellite_stp at the other end of link \
             \"satellite\", too; write [[agents]] there with kind = \"pep\" and wireless = \
             \"satellite\"",
        ),
        (
            good.replacen(PACED, "satellite_xtp = { rate = \"1 Mbit/s\" }", 1),
            "agents[0].satellite_xtp needs a proxy with satellite_xtp at the other end",
        ),
        (
            good.replacen("window = \"8 MiB\"", "window = \"1 kB\"", 1),
            "agents[0].satellite_stp.window = \"1 kB\" is less than packet; write at least \
             \"1440 B\"",
        ),
        (
            good.replacen("window = \"8 MiB\"", "packet = \"1 kB\"", 1),
            "agents[0].satellite_stp has packet = \"1 kB\", and the proxy at the other end of link \
             \"satellite\" \"1440 B\"; write the same",
        ),
        (
            good.replacen("window = \"8 MiB\"", "polls = 0", 1),
            "agents[0].satellite_stp.polls = 0 is out of range",
        ),
        (
            between_proxies("", &format!("{PACED}\nsatellite_tcp = {{}}"), FILE),
            "agents[0].satellite_tcp would be ignored beside satellite_stp; remove one of the two",
        ),
        (
            between_proxies(
                "",
                &format!("{PACED}\nsatellite_xtp = {{ rate = \"1 Mbit/s\" }}"),
                FILE,
            ),
            "agents[0].satellite_stp would be ignored beside satellite_xtp; remove one of the two",
        ),
        (
            between_proxies("", &format!("{PACED}\nopen = \"through\""), FILE),
            "agents[0].open = \"through\" is not possible with satellite_stp, whose answer to the \
             opening is that of the other proxy; write open = \"early\"",
        ),
    ] {
        let refusal = load_error(&text);
        assert!(refusal.contains(message), "{refusal}\nand not {message}");
    }
}

#[test]
fn an_emulation_refuses_the_half() {
    let scenario = expand(&between_proxies("", PACED, FILE));
    let refusal = Live::new(&scenario, 0).expect_err("refused");
    assert_eq!(
        refusal.to_string(),
        "agents[0].satellite_stp is simulated and cannot be emulated, because its packets carry no \
         real data; write satellite_tcp"
    );
}
