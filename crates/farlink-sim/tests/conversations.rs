//! Conversations and web files over whole runs.

use crate::common::{self, load_error, result};
use serde_json::Value;

/// Returns a scenario with a link so fast and windows so large that all times are multiples of a
/// round trip of 100 ms.
fn round_trips(flow: &str) -> String {
    format!(
        "[tcp]\ninitial_window = 100\nnagle = false\nreceive_window = \"10 MiB\"\n\
         delayed_ack = \"off\"\n{}",
        path("1000 Gbit/s", "", flow)
    )
}

fn path(rate: &str, more: &str, flow: &str) -> String {
    format!(
        "[[links]]\nbetween = [\"host\", \"user\"]\n\
         down = {{ rate = \"{rate}\", delay = \"50 ms\"{more} }}\n\
         [[flows]]\nfrom = \"host\"\nto = \"user\"\n{flow}\n"
    )
}

fn metric(result: &Value, name: &str) -> f64 {
    common::metric(result, "flows", 0, name)
}

fn near(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 1e-5, "{value}, not {wanted}");
}

/// An echo takes a round trip. A user who types every 250 ms for 10 s after the handshake types 39
/// keys, at 0.25 s to 9.75 s.
#[test]
fn an_echo_takes_a_round_trip() {
    let flow = "app = \"telnet\"\nconversations = 3\narrivals = \"20 s\"\ntyping = \"10 s\"\n\
                keystrokes = \"250 ms\"";
    let result = result(&round_trips(flow));
    assert_eq!(metric(&result, "responses"), 3.0 * 39.0);
    for time in [
        "response_time_mean",
        "response_time_p95",
        "response_time_max",
    ] {
        assert!((metric(&result, time) - 0.1).abs() < 1e-3, "{time}");
    }
    // The last of three conversations ends after its handshake and 10 s, without an answer to wait
    // for.
    near(metric(&result, "duration"), 40.0 + 0.1 + 10.0);
    assert_eq!(metric(&result, "completed"), 1.0);
    assert!(metric(&result, "bytes_delivered") >= 3.0 * 39.0);
}

/// Round trips are needed for the handshake with the greeting after it, for each command, and for
/// the file. The opener's segments wait for the SYN-ACK, so the greeting arrives after 1.5 round
/// trips.
#[test]
fn each_command_takes_a_round_trip() {
    for turns in [0, 1, 5] {
        let flow = format!(
            "app = \"ftp\"\nconversations = 4\nitems = 3\nsize = \"20 kB\"\nturns = {turns}"
        );
        let result = result(&round_trips(&flow));
        assert_eq!(metric(&result, "responses"), 12.0);
        let item = 0.1 * f64::from(turns + 1);
        let mean = (3.0 * item + 0.2) / 3.0;
        assert!(
            (metric(&result, "response_time_mean") - mean).abs() < 1e-4,
            "{result}"
        );
        let max = metric(&result, "response_time_max");
        assert!((max - item - 0.2).abs() < 1e-4, "{max}");
        // Replies and greetings are sent in addition to the files.
        let more = metric(&result, "bytes_delivered") - 12.0 * 20_000.0;
        let replies = f64::from(4 + 12 * turns);
        assert!(more >= 3.0 * replies && more <= 443.0 * replies, "{more}");
    }
}

/// Mail takes the greeting, four commands, and half a round trip for the message.
#[test]
fn mail_is_pushed_after_its_commands() {
    for (app, turns) in [("smtp", 4.0), ("nntp", 1.0)] {
        let flow = format!("app = \"{app}\"\nconversations = 2\nsize = \"5 kB\"\n");
        let items = if app == "nntp" { "items = 1" } else { "" };
        let result = result(&round_trips(&(flow + items)));
        assert_eq!(metric(&result, "responses"), 2.0);
        let time = 0.2 + 0.1 * turns + 0.05;
        let mean = metric(&result, "response_time_mean");
        assert!((mean - time).abs() < 1e-4, "{app}: {mean}");
    }
}

/// In ten thousand seconds of Poisson arrivals, the number of short conversations is that of the
/// rate.
#[test]
fn conversations_arrive_as_configured() {
    let flow = "app = \"smtp\"\nduration = \"10000 s\"\n\
                arrivals = { distribution = \"exponential\", mean = \"10 s\" }";
    let result = result(&round_trips(flow));
    let count = metric(&result, "responses");
    assert!((count - 1000.0).abs() < 4.0 * 1000.0f64.sqrt(), "{count}");
    assert_eq!(metric(&result, "completed"), 1.0);
}

/// With the distributions of tcplib, real windows and a lossy path, all sent data is delivered, and
/// each response is counted once.
#[test]
fn conversations_survive_losses() {
    for (app, conversations) in [
        ("telnet", 3),
        ("rlogin", 2),
        ("smtp", 40),
        ("nntp", 3),
        ("ftp", 10),
    ] {
        let flow = format!("app = \"{app}\"\nconversations = {conversations}");
        let result = result(&path("2 Mbit/s", ", channel = { loss = 0.01 }", &flow));
        assert_eq!(metric(&result, "completed"), 1.0, "{app}");
        assert!(
            metric(&result, "responses") >= f64::from(conversations),
            "{app}"
        );
        let (mean, max) = (
            metric(&result, "response_time_mean"),
            metric(&result, "response_time_max"),
        );
        assert!(mean >= 0.1 && max >= mean, "{app}: {mean}, {max}");
    }
}

/// Web files take round trips on a fast path, and have their mean size.
#[test]
fn files_of_the_web_have_their_sizes_and_pauses() {
    let size = "size = { distribution = \"pareto\", mean = \"12 kB\", shape = 2.5 }";
    for (connections, response) in [("per-page", 0.2), ("persistent", 0.1)] {
        let flow = format!(
            "app = \"web\"\nfiles = 2000\n{size}\nthink_time = \"1 s\"\nconnections = \"{connections}\""
        );
        let result = result(&round_trips(&flow));
        assert_eq!(metric(&result, "responses"), 2000.0);
        // The first file on a persistent connection includes the handshake.
        let mean = metric(&result, "response_time_mean");
        assert!((mean - response).abs() < 1e-3, "{connections}: {mean}");
        let bytes = metric(&result, "bytes_delivered") / 2000.0;
        // The deviation of a file's size is mean / sqrt(a (a - 2)).
        let error = 12_000.0 / (2.5f64 * 0.5).sqrt() / 2000.0f64.sqrt();
        assert!((bytes - 12_000.0).abs() < 4.0 * error, "{bytes}");
        let duration = 1999.0 + 2000.0 * mean;
        assert!((metric(&result, "duration") - duration).abs() < 0.1);
    }
}

#[test]
fn errors_have_one_line() {
    let cases = [
        (
            "app = \"telnet\"",
            "flows[0] has no \"conversations\"; write for example conversations = 10, or a duration",
        ),
        (
            "app = \"smtp\"\nconversations = 1\nitems = 3",
            "flows[0].items would be ignored; it needs app = \"nntp\" or \"ftp\"",
        ),
        (
            "app = \"ftp\"\nconversations = 1\nopens = \"sender\"",
            "flows[0].opens = \"sender\" is wrong for app = \"ftp\": its client opens the \
             connections; write \"receiver\"",
        ),
        (
            "app = \"smtp\"\nconversations = 1\nopens = \"receiver\"",
            "flows[0].opens = \"receiver\" is wrong for app = \"smtp\": the end that has the items \
             opens the connections; write \"sender\"",
        ),
        (
            "app = \"web\"\nfiles = 3",
            "flows[0] has no \"size\"; write for example size = \"50 MiB\"",
        ),
        (
            "app = \"web\"\nfiles = 3\nsize = { distribution = \"pareto\", mean = \"10 kB\", \
             shape = 1.2, max = \"5 kB\" }",
            "flows[0].size.max is not above mean; write a larger max",
        ),
        (
            "app = \"http\"\npages = 3\nthink_time = { distribution = \"exponential\", mean = \"1 s\" }",
            "flows[0].think_time is a distribution, and app = \"http\" takes one value; write for \
             example think_time = \"10 s\"",
        ),
        (
            "app = \"telnet\"\nconversations = 3\nkeystrokes = { mean = \"1 s\" }",
            "flows[0].keystrokes has no \"distribution\"; write for example distribution = \
             \"exponential\"",
        ),
    ];
    for (keys, entry) in cases {
        let message = load_error(&path("1 Mbit/s", "", keys));
        assert!(message.ends_with(entry), "{message}\nnot\n{entry}");
        assert!(!message.contains('\n'));
    }
}
