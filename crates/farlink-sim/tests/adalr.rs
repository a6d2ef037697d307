//! TCP-ADaLR on the paths of its paper (Omueti and Trajkovic 2007): results against the paper's
//! tables, and results of the algorithm as printed.

use crate::common::{expand_with, library, result_of};
use serde_json::Value;

/// Returns the flows of run `number` of a scenario of the library.
fn flows(name: &str, number: u64, set: &[(&str, &str)]) -> Vec<Value> {
    let mut json = result_of(&expand_with(library(name), set), number);
    serde_json::from_value(json["flows"].take()).unwrap()
}

fn metric(flow: &Value, name: &str) -> f64 {
    flow["metrics"][name].as_f64().unwrap()
}

/// Returns the seconds of the download of 50 MiB without losses.
fn ideal(variant: &str, set: &[(&str, &str)]) -> f64 {
    let mut all = vec![("tcp.variant", variant)];
    all.extend_from_slice(set);
    let flow = &flows("geo-omueti2007", 0, &all)[0];
    assert_eq!(metric(flow, "segments_retransmitted"), 0.0);
    metric(flow, "duration")
}

/// Returns the seconds for 50 MiB in the steady state of a sender that the receive window limits to
/// `window` bytes, of which whole segments count. The round trip is 520 ms of propagation plus the
/// transmission times of a segment and of its ACK of 40 bytes.
fn window_limited(window: f64) -> f64 {
    let segment = 1500.0 * 8.0 * (1.0 / 10e6 + 1.0 / 2048e3);
    let ack = 40.0 * 8.0 * (1.0 / 256e3 + 1.0 / 10e6);
    let segments = (window / 1460.0).floor();
    52_428_800.0 / (segments * 1460.0) * (0.52 + segment + ack)
}

#[test]
fn table_5_is_the_stretched_window() {
    let sack = ideal("sack", &[]);
    assert!(
        (sack / window_limited(65_535.0) - 1.0).abs() < 0.02,
        "{sack}"
    );
    for variant in ["adalr-sack", "adalr-newreno"] {
        for (policy, window) in [
            ("mult_sqrt", 65_535.0 * (0.5275_f64 * 60.0).sqrt() / 4.0),
            ("add_half_rho", 65_535.0 + 0.5275 * 30.0 * 1460.0),
            ("add_rho", 65_535.0 + 0.5275 * 60.0 * 1460.0),
            ("none", 65_535.0),
        ] {
            let seconds = ideal(variant, &[("tcp.control.adalr.rwnd_increase", policy)]);
            let expected = window_limited(window);
            // Slow start with 2.8 segments per round trip costs up to 3 %.
            assert!(
                (0.995..1.03).contains(&(seconds / expected)),
                "{variant} {policy}: {seconds}, closed form {expected}"
            );
        }
        // The paper prints 0.719 without delayed ACK. The default is calibrated to this value.
        let ratio = ideal(variant, &[]) / sack;
        assert!((0.70..=0.73).contains(&ratio), "{ratio}");
    }
    // The paper prints 0.767 with delayed ACK, which the calibrated default does not reach.
    let delayed = [("tcp.delayed_ack", "200 ms")];
    let ratio = ideal("adalr-sack", &delayed) / ideal("sack", &delayed);
    assert!((0.70..=0.72).contains(&ratio), "{ratio}");
}

/// Returns the seconds for 50 MiB with a window that grows by `per_segment` bytes with each segment:
/// the integral of the round trip over the window, in segments.
fn growing_window(per_segment: f64) -> f64 {
    let (start, segments) = (65_535.0 / 1460.0, 52_428_800.0 / 1460.0);
    let growth = per_segment / 1460.0;
    // Whole segments count, half a segment fewer than the window on average.
    let round_trip = window_limited(65_535.0) * 44.0 / segments;
    round_trip / growth * ((start - 0.5 + growth * segments) / (start - 0.5)).ln()
}

#[test]
fn a_window_that_grows_with_each_call_explains_the_cost_of_delayed_acks() {
    let per_call = [("tcp.control.adalr.rwnd_increase", "per_call")];
    let delayed = [per_call[0], ("tcp.delayed_ack", "200 ms")];
    for variant in ["adalr-sack", "adalr-newreno"] {
        // Each segment has an ACK, or each two segments. Slow start costs up to 3 %.
        for (keys, expected) in [
            (&per_call[..], growing_window(0.77 * 2.0)),
            (&delayed[..], growing_window(0.77 * 1.5)),
        ] {
            let seconds = ideal(variant, keys);
            assert!(
                (0.995..1.03).contains(&(seconds / expected)),
                "{variant}: {seconds}, closed form {expected}"
            );
        }
    }
    // The paper prints 0.719 and, with delayed ACK, 0.767. The steps are calibrated to the former.
    let ratio = ideal("adalr-sack", &per_call) / ideal("sack", &[]);
    assert!((0.715..=0.725).contains(&ratio), "{ratio}");
    let ratio = ideal("adalr-sack", &delayed) / ideal("sack", &delayed[1..]);
    assert!((0.765..=0.775).contains(&ratio), "{ratio}");
}

#[test]
fn slow_start_as_printed_freezes_at_half_the_window() {
    let literal = [
        ("tcp.control.adalr.gaps", "hold"),
        ("tcp.control.adalr.subphases", "all"),
        ("tcp.control.adalr.at_threshold", "hold"),
        ("tcp.control.adalr.boost_below_breakpoint", "true"),
    ];
    // cwnd stops at a flight of half of 65,535 bytes, which is 24 segments.
    let seconds = ideal("adalr-sack", &literal);
    let expected = window_limited(24.0 * 1460.0);
    assert!(
        (seconds / expected - 1.0).abs() < 0.02,
        "{seconds} {expected}"
    );
}

#[test]
fn a_large_window_fills_the_link() {
    // 50 MiB in packets of 1500 bytes take 210.4 s at 2048 kbit/s.
    for variant in ["adalr-sack", "adalr-newreno"] {
        let seconds = ideal(variant, &[("tcp.receive_window", "1 MB")]);
        assert!((210.4..216.0).contains(&seconds), "{seconds}");
    }
}

/// Returns the mean seconds of 10 MiB over ten runs.
fn lossy(variant: &str, ber: &str) -> f64 {
    let set = [
        ("tcp.variant", variant),
        ("flows.0.size", "10 MiB"),
        ("links.satellite.down.channel.ber", ber),
        ("links.satellite.up.channel.ber", ber),
    ];
    let seconds = |n| metric(&flows("geo-lossy", n, &set)[0], "duration");
    (0..10).map(seconds).sum::<f64>() / 10.0
}

#[test]
fn bit_errors_cost_less_than_sack_and_newreno() {
    let mut before = [0.0; 4];
    for ber in ["1e-7", "1e-6", "1e-5"] {
        let now = ["adalr-sack", "adalr-newreno", "sack", "newreno"].map(|v| lossy(v, ber));
        assert!(before.iter().zip(&now).all(|(b, n)| b < n), "{now:?}");
        assert!(now.iter().all(|&n| now[0] <= n), "{ber}: {now:?}");
        if ber != "1e-7" {
            // The paper prints "up to 31 %" (Fig. 12), and does not name the error rate.
            let gain = 1.0 - now[0] / now[2];
            assert!((0.15..0.45).contains(&gain), "{ber}: {gain}");
        }
        before = now;
    }
}

fn jain(variants: [&str; 6]) -> f64 {
    let set: Vec<_> = (0..6).map(|i| format!("flows.{i}.tcp.variant")).collect();
    let set: Vec<_> = set.iter().map(String::as_str).zip(variants).collect();
    let rates: Vec<_> = flows("fairness-omueti2007", 0, &set)
        .iter()
        .map(|f| metric(f, "goodput"))
        .collect();
    let sum: f64 = rates.iter().sum();
    let min = rates.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(min > 0.3 * sum / 6.0, "starved: {rates:?}");
    sum * sum / (6.0 * rates.iter().map(|r| r * r).sum::<f64>()) // equation (2)
}

#[test]
fn long_round_trips_get_a_fairer_share() {
    let (adalr, newreno) = (jain(["adalr-newreno"; 6]), jain(["newreno"; 6]));
    // Table 8 prints 0.9510 and 0.8650.
    assert!((adalr - 0.951).abs() < 0.02, "{adalr}");
    assert!((newreno - 0.865).abs() < 0.02, "{newreno}");
    // Table 9 prints 0.9859.
    let (a, n) = ("adalr-newreno", "newreno");
    let mixed = jain([a, a, a, n, n, n]);
    assert!((0.93..0.99).contains(&mixed), "{mixed}");
}
