//! Connections over several paths: exact bytes, sums of rates, schedulers and failing paths.

use crate::common::{load_error, metric, result};
use proptest::prelude::*;
use serde_json::Value;

/// Returns a scenario with two disjoint paths between the interfaces of two hosts.
fn two_paths(paths: [&str; 2], flow: &str, multipath: &str) -> String {
    let [first, second] = paths;
    format!(
        "seed = 1\nmax_duration = \"1000 s\"\n\
         [tcp]\nprofile = \"linux\"\nvariant = \"cubic\"\n\
         [[links]]\nbetween = [\"server-a\", \"client-a\"]\n{first}\n\
         [[links]]\nbetween = [\"server-b\", \"client-b\"]\n{second}\n\
         [[flows]]\nfrom = \"server-a\"\nto = \"client-a\"\n{flow}\n\
         multipath = {{ paths = [{{ from = \"server-b\", to = \"client-b\" }}] {multipath} }}\n"
    )
}

/// Returns a link in both directions.
fn link(rate: &str, delay: &str, channel: &str) -> String {
    format!(
        "down = {{ rate = \"{rate}\", delay = \"{delay}\", queue = {{ bdp = 2 }}{channel} }}\n\
         up = {{ rate = \"{rate}\", delay = \"{delay}\", queue = \"unlimited\"{channel} }}"
    )
}

fn loss(p: f64) -> String {
    format!(", channel = [{{ loss = {p} }}]")
}

fn run(paths: [&str; 2], flow: &str, multipath: &str) -> Value {
    result(&two_paths(paths, flow, multipath))
}

fn of(done: &Value, name: &str) -> f64 {
    metric(done, "flows", 0, name)
}

const SCHEDULERS: [&str; 4] = ["minrtt", "round-robin", "redundant", "blest"];

/// Every scheduler delivers exactly the file under loss on either path or on both, over paths of
/// equal and of very different RTTs.
#[test]
fn bytes_are_exact_under_loss_on_either_path() {
    for scheduler in SCHEDULERS {
        for [p, q] in [[0.0, 0.0], [0.02, 0.0], [0.0, 0.02], [0.05, 0.15]] {
            for delay in ["5 ms", "300 ms"] {
                let first = link("4 Mbit/s", "20 ms", &loss(p));
                let second = link("2 Mbit/s", delay, &loss(q));
                let key = format!(", scheduler = \"{scheduler}\"");
                let done = run([&first, &second], "size = \"1234567 B\"", &key);
                assert_eq!(of(&done, "completed"), 1.0, "{scheduler} {p} {q} {delay}");
                assert_eq!(of(&done, "bytes_delivered"), 1_234_567.0);
                assert_eq!(metric(&done, "flows", 1, "bytes_delivered"), 0.0);
                let carried =
                    of(&done, "subflow_bytes") + metric(&done, "flows", 1, "subflow_bytes");
                assert!(carried >= 1_234_567.0, "{scheduler}: {carried}");
            }
        }
    }
}

/// Two clean equal paths carry the sum of their rates: a segment of 1500 bytes has 1428 bytes of
/// data beside 20 of IP, 20 of TCP, 12 of timestamps and 20 of the DSS option.
#[test]
fn two_equal_paths_give_the_sum_of_their_rates() {
    let path = link("10 Mbit/s", "10 ms", "");
    for scheduler in ["minrtt", "round-robin", "blest"] {
        let key = format!(", scheduler = \"{scheduler}\"");
        let done = run([&path, &path], "app = \"bulk\"\nduration = \"60 s\"", &key);
        let expected = 2.0 * 10e6 * 1428.0 / 1500.0;
        let goodput = of(&done, "goodput");
        assert!(goodput <= expected, "{scheduler}: {goodput}");
        assert!(
            goodput > 0.99 * expected,
            "{scheduler}: {goodput} of {expected}"
        );
        assert!(done["flows"][1]["metrics"]["goodput"].is_null());
    }
}

/// A path with a small MTU lowers the segments of its subflow so far that the DSS option fits (RFC
/// 8684, 3.3; RFC 1191, 4). Only the first window is too long.
#[test]
fn segments_of_a_subflow_fit_a_small_mtu() {
    for mtu in ["100 B", "296 B", "576 B", "1499 B"] {
        let small =
            link("4 Mbit/s", "20 ms", "").replacen("queue", &format!("mtu = \"{mtu}\", queue"), 1);
        for paths in [[&small, &small], [&small, &link("4 Mbit/s", "20 ms", "")]] {
            let done = run([paths[0], paths[1]], "size = \"300 kB\"", "");
            assert_eq!(of(&done, "completed"), 1.0, "{mtu}");
            assert_eq!(of(&done, "bytes_delivered"), 300_000.0);
            let dropped = metric(&done, "links", 0, "drops_too_big");
            assert!((1.0..=12.0).contains(&dropped), "{mtu}: {dropped}");
        }
    }
}

/// The connection goes on over the other path when a path goes down for good, and its data is sent
/// again there.
#[test]
fn a_path_that_goes_down_leaves_the_other() {
    let good = link("4 Mbit/s", "20 ms", "");
    let dead = link(
        "4 Mbit/s",
        "10 ms",
        ", channel = [{ outage = { start = \"2 s\", duration = \"900 s\" } }]",
    );
    for scheduler in SCHEDULERS {
        for paths in [[&good, &dead], [&dead, &good]] {
            let key = format!(", scheduler = \"{scheduler}\"");
            let done = run(
                [paths[0].as_str(), paths[1].as_str()],
                "size = \"5 MB\"",
                &key,
            );
            assert_eq!(of(&done, "completed"), 1.0, "{scheduler}");
            assert_eq!(of(&done, "bytes_delivered"), 5e6);
            let duration = of(&done, "duration");
            assert!((8.0..14.0).contains(&duration), "{scheduler}: {duration}");
        }
    }
}

/// A backup path carries nothing while the first path works, and takes over when it fails.
#[test]
fn a_backup_path_is_used_only_when_the_other_fails() {
    let path = link("4 Mbit/s", "20 ms", "");
    let dead = link(
        "4 Mbit/s",
        "20 ms",
        ", channel = [{ outage = { start = \"2 s\", duration = \"900 s\" } }]",
    );
    let text = |first: &str| {
        two_paths([first, &path], "size = \"2 MB\"", "")
            .replace("to = \"client-b\" }", "to = \"client-b\", backup = true }")
    };
    let done = result(&text(&path));
    assert_eq!(metric(&done, "flows", 1, "subflow_bytes"), 0.0);
    assert_eq!(of(&done, "reinjected_bytes"), 0.0);
    let done = result(&text(&dead));
    assert_eq!(of(&done, "completed"), 1.0);
    assert!(metric(&done, "flows", 1, "subflow_bytes") > 1e6);
    assert!(of(&done, "reinjected_bytes") > 0.0);
}

/// A run ends with its connection, also if the handshake of an unused backup takes longer; and the
/// backup has no share in the numbers of the connection.
#[test]
fn an_unused_backup_changes_no_number_of_the_connection() {
    let fast = link("40 Mbit/s", "5 ms", "");
    let slow = link("2 Mbit/s", "300 ms", "");
    let text = two_paths([&fast, &slow], "size = \"500 kB\"", "")
        .replace("to = \"client-b\" }", "to = \"client-b\", backup = true }");
    let done = result(&text);
    assert!(of(&done, "duration") < 0.3);
    // The run lasts until the reset that answers the backup's SYN-ACK has arrived: two round trips.
    let whole = of(&done, "bytes_delivered") * 8.0 / of(&done, "goodput_over_run");
    assert!(whole < 1.3, "{whole} s");
    let backup = &done["flows"][1]["metrics"];
    for none in [
        "duration",
        "goodput_over_run",
        "completed",
        "limited_handshake",
    ] {
        assert!(backup[none].is_null(), "{none}");
    }
    assert!(done["metrics"]["jain"].is_null());
}

/// The redundant scheduler loses only what both paths lose: an outage of one path is no wait for the
/// data, and an outage of both is.
#[test]
fn redundant_data_waits_only_for_what_both_paths_lose() {
    let path = |is_out: bool| {
        let outage = ", channel = [{ outage = { start = \"2 s\", duration = \"1 s\" } }]";
        link("2 Mbit/s", "50 ms", if is_out { outage } else { "" })
    };
    let time = |a: bool, b: bool| {
        let key = ", scheduler = \"redundant\"";
        let done = run([&path(a), &path(b)], "size = \"1 MB\"", key);
        assert_eq!(of(&done, "completed"), 1.0);
        assert!(of(&done, "reinjected_bytes") > 0.5e6);
        of(&done, "duration")
    };
    let times = [
        time(false, false),
        time(true, false),
        time(false, true),
        time(true, true),
    ];
    assert!(times[1] < times[0] + 0.3, "{times:?}");
    assert!(times[2] < times[0] + 0.3, "{times:?}");
    assert!(times[3] > times[0] + 0.9, "{times:?}");
}

/// With a small receive window, minRTT fills the window with data of the slow path and leaves the
/// fast path idle. BLEST leaves the slow path idle instead.
#[test]
fn blest_is_blocked_less_than_minrtt_by_a_small_window() {
    let fast = link("20 Mbit/s", "10 ms", "");
    let slow = link("1 Mbit/s", "200 ms", "");
    let with = |key: &str| {
        let text = two_paths([&fast, &slow], "app = \"bulk\"\nduration = \"60 s\"", key);
        result(&text.replace("[tcp]\n", "[tcp]\nreceive_window = \"256 kB\"\n"))
    };
    let minrtt = with("");
    let blest = with(", scheduler = \"blest\"");
    let opportunistic = with(", opportunistic = true");
    let [a, b, c] = [&minrtt, &blest, &opportunistic].map(|done| of(done, "goodput"));
    assert!(b > 1.5 * a, "{a} {b}");
    assert!(c > 1.2 * a, "{a} {c}");
    assert!(of(&minrtt, "data_window_blocked") > of(&blest, "data_window_blocked"));
    assert!(of(&minrtt, "data_buffer_max") <= 256_000.0);
}

/// Keys without an effect, and combinations that are impossible, are refused with the place.
#[test]
fn what_excludes_several_paths_is_refused() {
    let path = link("4 Mbit/s", "20 ms", "");
    let text = |flow: &str, key: &str| two_paths([&path, &path], flow, key);
    let file = "size = \"1 MB\"";
    for (text, message) in [
        (text("app = \"http\"\npages = 1", ""), "multipath"),
        (text("size = \"1 MB\"\nreverse = \"1 MB\"", ""), "reverse"),
        (text(file, ", scheduler = \"fastest\""), "scheduler"),
        (
            text(file, ", scheduler = \"redundant\", opportunistic = true"),
            "opportunistic",
        ),
        (
            text(file, "").replace("to = \"client-b\"", "to = \"nobody\""),
            "nobody",
        ),
        (
            text(file, "").replace("to = \"client-b\"", "to = \"server-b\""),
            "name another node",
        ),
        (
            text(file, "").replace("{ from = \"server-b\", to = \"client-b\" }", ""),
            "paths",
        ),
        (
            text(file, "").replace(
                "to = \"client-b\" }",
                "to = \"client-b\", variant = \"quic\" }",
            ),
            "quic",
        ),
        (
            text(file, "").replace(
                "to = \"client-b\" }",
                "to = \"client-b\", variant = \"linux-bbr\" }",
            ),
            "multipath.paths[0].variant = \"linux-bbr\" has a profile, which is the flow's; write \"bbr\"",
        ),
        (
            text(file, "").replace(
                "{ from = \"server-b\", to = \"client-b\" }",
                "{ name = \"c\", from = \"server-b\" }, { name = \"c\", to = \"client-b\" }",
            ),
            "multipath.paths[1].name = \"c\" is the name of paths[0] too; rename one",
        ),
        (
            text(file, ", backup = true")
                .replace("to = \"client-b\" }", "to = \"client-b\", backup = true }"),
            "backup",
        ),
    ] {
        let error = load_error(&text);
        assert!(error.contains(message), "{message}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Data is delivered in order and each byte once, for any scheduler, rates, delays, losses and
    /// windows.
    #[test]
    fn each_byte_is_delivered_once(
        scheduler in prop::sample::select(&SCHEDULERS[..]),
        opportunistic in any::<bool>(),
        rates in [20_u32..20_000, 20_u32..20_000],
        delays in [1_u32..400, 1_u32..400],
        losses in [0.0..0.15, 0.0..0.15],
        window in 1_000_u32..500_000,
        size in 1_u32..400_000,
    ) {
        let path = |n: usize| link(
            &format!("{} kbit/s", rates[n]),
            &format!("{} ms", delays[n]),
            &loss(losses[n]),
        );
        let opportunistic = opportunistic && scheduler != "redundant";
        let key = format!(", scheduler = \"{scheduler}\", opportunistic = {opportunistic}");
        let text = two_paths([&path(0), &path(1)], &format!("size = \"{size} B\""), &key);
        let window = format!("[tcp]\nreceive_window = \"{window} B\"\n");
        let done = result(&text.replace("[tcp]\n", &window));
        prop_assert_eq!(of(&done, "completed"), 1.0);
        prop_assert_eq!(of(&done, "bytes_delivered"), f64::from(size));
    }
}
