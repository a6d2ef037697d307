//! TCP Fast Open over whole runs (RFC 7413): the round trips that it saves, and cases in which it
//! saves none.

use crate::common::{self, expand_with, result_of};
use serde_json::Value;

/// A link so fast that all times are multiples of a round trip of 520 ms.
const GEO: &str = r#"
[tcp]
nagle = false
[[links]]
between = ["server", "client"]
down = { rate = "10 Gbit/s", delay = "260 ms", queue = "unlimited" }
up = { rate = "10 Gbit/s", delay = "260 ms", queue = "unlimited" }
"#;

/// Pages of one small object, each over its own connection.
const PAGES: &str = r#"
[[flows]]
from = "server"
to = "client"
app = "http"
pages = 5
page_interval = "10 s"
request = "300 B"
main_object = "5 kB"
inline_objects = 0
connections = "per-page"
duration = "100 s"
"#;

/// Runs a flow, and returns the result.
fn play(flow: &str, set: &[(&str, &str)]) -> Value {
    result_of(&expand_with(&format!("{GEO}{flow}"), set), 0)
}

fn metric(result: &Value, name: &str) -> f64 {
    common::metric(result, "flows", 0, name)
}

/// Returns the number of round trips of all responses together.
fn round_trips(result: &Value, name: &str) -> f64 {
    metric(result, name) * metric(result, "responses") / 0.52
}

fn close(got: f64, wanted: f64) {
    assert!((got - wanted).abs() < 0.01, "{got}, not {wanted}");
}

#[test]
fn a_cookie_saves_the_round_trip_of_the_handshake() {
    let sum = |how| {
        let result = play(PAGES, &[("tcp.fast_open", how)]);
        assert_eq!(metric(&result, "segments_retransmitted"), 0.0);
        round_trips(&result, "response_time_mean")
    };
    // A page takes one round trip for the handshake, and one for request and answer.
    close(sum("off"), 5.0 * 2.0);
    // The first connection gets the cookie. Each further connection saves a round trip.
    close(sum("request"), 2.0 + 4.0);
    close(sum("cookie"), 5.0);
}

#[test]
fn files_save_it_too() {
    let files = |how| {
        let flow = "[[flows]]\nfrom = \"server\"\nto = \"client\"\napp = \"repeat\"\n\
                    files = 4\nsize = \"1 kB\"\ninterval = \"10 s\"\nduration = \"100 s\"\n";
        let result = play(flow, &[("tcp.fast_open", how), ("flows.0.opens", "sender")]);
        round_trips(&result, "response_time_mean")
    };
    // The file is sent with the SYN, which takes half a round trip.
    close(files("off"), 4.0 * 1.5);
    close(files("request"), 1.5 + 3.0 * 0.5);
    close(files("cookie"), 4.0 * 0.5);
}

#[test]
fn a_cookie_is_of_two_hosts_and_all_their_flows() {
    let flow = |to: &str, start: u32| {
        format!(
            "[[flows]]\nfrom = \"server\"\nto = \"{to}\"\napp = \"file\"\nsize = \"1 kB\"\n\
             opens = \"sender\"\nstart = \"{start} s\"\n"
        )
    };
    let other = "[[links]]\nbetween = [\"server\", \"other\"]\n\
                 down = { rate = \"10 Gbit/s\", delay = \"260 ms\", queue = \"unlimited\" }\n";
    let flows = [flow("client", 0), flow("client", 5), flow("other", 10)].concat();
    let result = play(&format!("{other}{flows}"), &[("tcp.fast_open", "request")]);
    for (number, round_trips) in [1.5, 0.5, 1.5].into_iter().enumerate() {
        let metrics = &result["flows"][number]["metrics"];
        close(metrics["duration"].as_f64().unwrap() / 0.52, round_trips);
    }
}
