//! The channel processes of the studies in whole runs: TCP experiences what the scenario states. If
//! the closed form of the loss does not depend on TCP's sending times, the loss must match it,
//! otherwise it must be within bounds.

use crate::common::{self, result};
use serde_json::Value;

fn flow(result: &Value, name: &str) -> f64 {
    common::metric(result, "flows", 0, name)
}

/// Returns a metric of the first link's direction to the receiver (0) or back (1).
fn link(result: &Value, way: usize, name: &str) -> f64 {
    common::metric(result, "links", way, name)
}

/// Returns a bulk flow of `seconds` over one link.
fn text(mss: u32, direction: &str, channel: &str, seconds: u32, up: &str) -> String {
    format!(
        "[tcp]\nvariant = \"newreno\"\nmss = \"{mss} B\"\nreceive_window = \"64 KiB\"\n\
         [[links]]\nbetween = [\"a\", \"b\"]\n\
         down = {{ {direction}, channel = {{ {channel} }} }}\n\
         up = {{ {direction}{up} }}\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"bulk\"\nduration = \"{seconds} s\"\n"
    )
}

#[track_caller]
fn near(measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured / expected - 1.0).abs() < tolerance,
        "{measured} is not {expected} +- {tolerance} of it"
    );
}

/// Leung 1998, equation 1. The chain changes per packet, so its loss does not depend on TCP's
/// sending times. Packets of 554 bytes have 40 bytes of headers here, and 42 in the study. At a
/// loss of 0.02 in rains of 20 packets, a run of 100,000 packets has a standard error of 5 %, and
/// four runs have half of it. The bound is four standard errors.
#[test]
fn rain_loses_the_share_of_equation_1() {
    for (b, g, loss) in [(0.01, 0.05, 0.02), (0.05, 0.5, 0.01)] {
        let channel =
            format!("satellite = {{ b = {b}, g = {g}, loss = {loss}, loss_size = \"554 B\" }}");
        let direction = "rate = \"1.544 Mbit/s\", delay = \"5 ms\"";
        let (mut packets, mut drops) = (0.0, 0.0);
        for seed in 1..5 {
            let text = text(514, direction, &channel, 1000, "");
            let run = result(&format!("seed = {seed}\n{text}"));
            packets += link(&run, 0, "packets");
            drops += link(&run, 0, "drops_fade");
            assert_eq!(link(&run, 0, "drops"), link(&run, 0, "drops_fade"));
            assert_eq!(flow(&run, "lost_fade"), link(&run, 0, "drops_fade"));
            assert_eq!(link(&run, 1, "drops"), 0.0, "the way back is clear");
        }
        assert!(packets > 350_000.0, "{packets}");
        near(drops / packets, loss, 0.1);
    }
}

/// As in Leung 1998, the average loss grows with speed (figure 5.3) and throughput falls (figure
/// 5.4). The per-packet rule does not depend on TCP's sending times.
#[test]
fn fades_lose_more_at_speed() {
    let at = |kmh: u32| {
        let channel = format!(
            "mobile = {{ speed = \"{kmh} km/h\", carrier = \"850 MHz\", fade_margin = 30, \
             loss_bad = 0.2 }}"
        );
        let direction = "rate = \"19.2 kbit/s\", delay = \"1 ms\"";
        let run = result(&text(512, direction, &channel, 20_000, ""));
        let loss = link(&run, 0, "drops_fade") / link(&run, 0, "packets");
        (loss, flow(&run, "goodput"))
    };
    let [slow, middle, fast] = [30, 75, 120].map(at);
    // The shares of bad packets of 552 bytes are 0.40 and 0.45.
    near(middle.0, 0.2 * 0.397, 0.06);
    near(fast.0, 0.2 * 0.4465, 0.06);
    assert!(fast.0 > 1.1 * slow.0, "{slow:?} {fast:?}");
    assert!(fast.1 < slow.1, "{slow:?} {fast:?}");
}

/// Handoffs drop packets, or hold them. Held packets are not lost, and the transfer is faster.
#[test]
fn handoffs_drop_or_forward() {
    let with = |handoff: &str| {
        let channel = format!(
            "mobile = {{ speed = \"75 km/h\", cell_radius = \"500 m\", handoff_region = \"50 m\", \
             handoff = \"{handoff}\" }}"
        );
        let direction = "rate = \"19.2 kbit/s\", delay = \"1 ms\"";
        // Window of section 5.5 of the study.
        result(&text(512, direction, &channel, 20_000, "").replace("64 KiB", "8 KiB"))
    };
    let (dropped, forwarded) = (with("drop"), with("forward"));
    let losses = link(&dropped, 0, "drops_handoff");
    // 20,000 s have 550 handoffs of 1.73 s. Each loses at most seven packets of 0.23 s, and fewer
    // after the first time-out.
    assert!((550.0..4500.0).contains(&losses), "{losses}");
    assert!(flow(&dropped, "timeouts") > 100.0);
    assert_eq!(link(&forwarded, 0, "drops"), 0.0);
    let gain = flow(&forwarded, "goodput") / flow(&dropped, "goodput");
    assert!(gain > 1.0, "{gain}");
    // The maximum is 512 of 552 bytes at 19.2 kbit/s, for 500 of 525 m.
    let ceiling = 19_200.0 * 512.0 / 552.0 * 500.0 / 525.0;
    near(flow(&forwarded, "goodput"), ceiling, 0.03);
}

/// Wong 1998, section 3.2.4: a period of congestion loses every packet. If both directions share
/// their state, ACKs are lost in the same periods.
#[test]
fn congestion_takes_everything_while_it_lasts() {
    let period = "congestion = { duration = \"5 s\", share = 0.05, shared = true }";
    let up = format!(", channel = {{ {period} }}");
    let direction = "rate = \"100 kbit/s\", delay = \"50 ms\"";
    let run = result(&text(512, direction, period, 20_000, &up));
    let (data, acks) = (
        link(&run, 0, "drops_congestion") / link(&run, 0, "packets"),
        link(&run, 1, "drops_congestion") / link(&run, 1, "packets"),
    );
    // TCP sends little in a period, so its loss is less than the share of time.
    assert!((0.002..0.05).contains(&data), "{data}");
    assert!(acks > 0.0 && acks < 0.05, "{acks}");
    assert!(flow(&run, "timeouts") > 150.0);
}

/// Datagrams at a constant rate lose the share of time of the outages, in bursts of one outage. If
/// they are held, none is lost, and they arrive at the end of the outage.
#[test]
fn an_outage_takes_its_share_of_time() {
    let run = |packets: &str| {
        let outage = format!(
            "outage = {{ start = \"1 s\", duration = \"2 s\", period = \"8 s\", packets = \
             \"{packets}\" }}"
        );
        let direction = "rate = \"1 Mbit/s\", delay = \"50 ms\"";
        let udp = "app = \"cbr\"\nrate = \"80 kbit/s\"\nduration = \"801 s\"\n";
        let text = text(512, direction, &outage, 1, "");
        let (head, _) = text.split_once("app = ").unwrap();
        let (_, links) = head.split_once("[[links]]").unwrap();
        result(&format!("[[links]]{links}{udp}"))
    };
    // At 10 datagrams per second, each of 100 outages loses 20 of 80.
    let (dropped, held) = (run("drop"), run("hold"));
    assert!((1999.0..=2001.0).contains(&link(&dropped, 0, "drops_fade")));
    assert_eq!(link(&held, 0, "drops"), 0.0);
    near(flow(&held, "delay_max"), 2.0 + 0.058, 0.03);
}

/// West and Vaidya 1997, section 4.3: of errors at a mean distance of 64 KiB, 20 of 1500 hit the IP
/// header. The others fail the receiver's TCP checksum.
#[test]
fn byte_errors_fail_one_checksum_or_the_other() {
    let channel = "byte_errors = { distance = \"64 KiB\" }";
    let direction = "rate = \"2 Mbit/s\", delay = \"2 ms\"";
    let run = result(&text(1460, direction, channel, 2000, ""));
    let (ip, tcp) = (
        link(&run, 0, "drops_bit_error"),
        link(&run, 0, "drops_checksum"),
    );
    let packets = link(&run, 0, "packets");
    assert!(packets > 100_000.0, "{packets}");
    near(
        (ip + tcp) / packets,
        1.0 - f64::exp(-1500.0 / 65_536.0),
        0.08,
    );
    near(ip / (ip + tcp), 20.0 / 1500.0, 0.5);
}

/// Leung 1998, section 3.3.2: if packets keep their order, the delay of an ACK is a round trip of
/// the distribution. If packets may overtake each other, TCP mistakes this for losses.
#[test]
fn the_internet_delays_and_may_reorder() {
    let with = |order: &str| {
        let channel = format!(
            "internet_delay = {{ constant = \"10 ms\", mean = \"1 ms\", raised_share = 0.04, raised \
             = [{{ weight = 0.75, mean = \"10 ms\" }}, {{ weight = 0.25, mean = \"100 ms\" }}], \
             keep_order = {order} }}"
        );
        let direction = "rate = \"10 Mbit/s\", delay = \"100 ms\"";
        result(&text(1458, direction, &channel, 500, ""))
    };
    let (ordered, overtaking) = (with("true"), with("false"));
    assert_eq!(flow(&ordered, "segments_retransmitted"), 0.0);
    assert!(flow(&overtaking, "segments_retransmitted") > 100.0);
    assert_eq!(link(&overtaking, 0, "drops"), 0.0);
    // 200 ms in both directions together, 12.3 ms on average, and the wait for earlier packets.
    let rtt = flow(&ordered, "rtt_mean");
    assert!((0.2122..0.26).contains(&rtt), "{rtt}");
    assert!(flow(&ordered, "rtt_min") > 0.21);
}

/// EN 302 307-1, Table 13: 16APSK 2/3 (2.637 bit per symbol) at 10 dB with a margin of 1 dB, QPSK
/// 1/2 (0.989) at 2 dB. The change between them loses no packet.
#[test]
fn adaptive_coding_slows_down_and_loses_nothing() {
    let at = |trace: &str| {
        let text = format!(
            "[tcp]\nvariant = \"cubic\"\nreceive_window = \"1 MiB\"\n\
             [[links]]\nbetween = [\"a\", \"b\"]\n\
             down = {{ delay = \"20 ms\", rate_trace = {{ data = \"time (s),esno (dB)\\n{trace}\", \
             symbol_rate = \"1 MBd\", margin = 1 }} }}\n\
             up = {{ rate = \"1 Mbit/s\", delay = \"20 ms\" }}\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"bulk\"\nduration = \"200 s\"\n"
        );
        let run = result(&text);
        assert_eq!(link(&run, 0, "drops"), 0.0);
        // Headers take 40 of 1500 bytes.
        flow(&run, "goodput") * 1500.0 / 1460.0
    };
    // The window of 1 MiB always fills the transmitter's queue, so the link is busy.
    near(at("0,10\\n"), 2_637_201.0, 0.01);
    near(at("0,2\\n"), 988_858.0, 0.01);
    near(at("0,10\\n100,2\\n"), 0.5 * (2_637_201.0 + 988_858.0), 0.01);
}

const MIX: &str = include_str!("../../../scenarios/internet-leung1998.toml");

/// Leung 1998, section 3.3.1: the bottleneck router has a congestion probability of 0.05 +- 0.01
/// with its mix of applications.
#[test]
fn the_application_mix_congests_the_router_as_measured() {
    let run = result(MIX);
    let router = run["links"]
        .as_array()
        .and_then(|links| {
            links
                .iter()
                .find(|l| l["link"] == "internet" && l["direction"] == "down")
        })
        .unwrap_or_else(|| panic!("{run}"));
    let metric = |name: &str| router["metrics"][name].as_f64().unwrap_or(f64::NAN);
    let (loss, load) = (metric("background_loss"), metric("background_throughput"));
    assert!((0.02..0.08).contains(&loss), "{loss}");
    assert!((36e6..45e6).contains(&load), "{load}");
    assert!(metric("drops_congestion") > 0.0);
    assert!(metric("utilisation") < 1.0);
}
