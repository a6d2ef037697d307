//! Repeated files, messages and conversations over QUIC in whole runs.

use crate::common::{expand, metric, result, result_of, traced};
use serde_json::Value;

const CLEAN: &str = "";
const LOSSY: &str = ", channel = { loss = 0.05 }";

fn value(result: &Value, name: &str) -> f64 {
    metric(result, "flows", 0, name)
}

/// Returns a path of 600 ms and 10 Mbit/s with a flow of these keys.
fn over(profile: &str, channel: &str, flow: &str) -> String {
    let way = format!("{{ rate = \"10 Mbit/s\", delay = \"300 ms\"{channel} }}");
    format!(
        "[tcp]\nprofile = \"{profile}\"\n[[links]]\nbetween = [\"a\", \"b\"]\n\
         down = {way}\nup = {way}\n[[flows]]\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    )
}

fn text(channel: &str, flow: &str) -> String {
    over("quic", channel, flow)
}

/// Checks that the mean response time is `trips` round trips, and a little for the serialization.
fn assert_trips(result: &Value, trips: f64, what: &str) {
    let mean = value(result, "response_time_mean") / 0.6;
    assert!((trips..trips + 0.03).contains(&mean), "{what}: {mean}");
}

const REPEAT: &str = "app = \"repeat\"\nfiles = 4\nsize = \"1 kB\"\ninterval = \"10 s\"\n";

/// The handshake takes a round trip, and half of one more for a server, whose client ends it.
#[test]
fn repeated_files_have_a_handshake_each() {
    for (keys, trips) in [("opens = \"sender\"", 1.5), ("opens = \"receiver\"", 2.0)] {
        let result = result(&text(CLEAN, &format!("{REPEAT}{keys}")));
        assert_eq!(value(&result, "completed"), 1.0, "{keys}");
        assert_eq!(value(&result, "responses"), 4.0, "{keys}");
        assert_eq!(value(&result, "bytes_delivered"), 4000.0, "{keys}");
        assert_trips(&result, trips, keys);
        let last = 30.0 + 0.6 * trips;
        let seconds = value(&result, "duration") - last;
        assert!((0.0..0.02).contains(&seconds), "{keys}: {seconds}");
    }
}

/// A connection for one short file ends before the server's tickets arrive, so the two tickets from
/// before the run are all that there are.
#[test]
fn early_data_saves_a_round_trip_of_two_repeated_files() {
    let flow = REPEAT.replace("files = 4", "files = 2");
    let result = result(&text(
        CLEAN,
        &format!("{flow}tcp = {{ quic = {{ zero_rtt = true }} }}"),
    ));
    assert_eq!(value(&result, "responses"), 2.0);
    assert_trips(&result, 0.5, "0-RTT");
}

/// The next file begins when the connection of the one before has ended, not before.
#[test]
fn repeated_files_without_pauses_follow_the_end_of_the_connection() {
    let flow = "app = \"repeat\"\nfiles = 3\nsize = \"1 kB\"\ninterval = \"0 s\"";
    let result = result(&text(CLEAN, flow));
    // The receiver has the file after 1.5 round trips, and its end reaches the client after 2.
    let trips = value(&result, "duration") / 0.6;
    assert!((5.5..5.6).contains(&trips), "{trips}");
}

#[test]
fn messages_take_the_delay_and_a_loss_holds_those_behind() {
    let flow = "app = \"stream\"\nmessages = 200\nsize = \"1 kB\"\nrate = \"80 kbit/s\"";
    let clean = result(&text(CLEAN, flow));
    assert_eq!(value(&clean, "responses"), 200.0);
    assert_eq!(value(&clean, "bytes_delivered"), 2e5);
    assert_trips(&clean, 0.5, "clean");
    let longest = value(&clean, "response_time_max");
    assert!((0.3..0.31).contains(&longest), "{longest}");
    // The first message leaves after the handshake, and the last 199 pauses of 0.1 s later.
    let seconds = value(&clean, "duration") - (0.9 + 19.9);
    assert!((0.0..0.01).contains(&seconds), "{seconds}");
    let lossy = result(&text(LOSSY, flow));
    assert_eq!(value(&lossy, "responses"), 200.0);
    // A lost packet arrives a round trip after its gap is seen at the earliest.
    assert!(value(&lossy, "response_time_max") > 0.9);
}

/// Conversations take the round trips of docs/applications.md: `turns` + 1 for a file that is fetched,
/// half of one less for one that is sent, and two more for the first, for handshake and greeting.
#[test]
fn conversations_take_the_round_trips_of_tcp() {
    let more = "conversations = 2\narrivals = \"30 s\"\nsize = \"500 B\"\nitems = 3\nturns = 2\n";
    for (app, each) in [("ftp", 3.0), ("nntp", 2.5)] {
        let flow = format!("app = \"{app}\"\n{more}");
        let result = result(&text(CLEAN, &flow));
        assert_eq!(value(&result, "completed"), 1.0, "{app}");
        assert_eq!(value(&result, "responses"), 6.0, "{app}");
        assert_trips(&result, each + 2.0 / 3.0, app);
    }
}

const TYPING: &str = "app = \"telnet\"\nconversations = 2\narrivals = \"200 s\"\n\
                      typing = \"100 s\"\nkeystrokes = \"45 s\"";

/// Each echo takes a round trip. Packets that keep the connection alive bridge pauses of 45 s.
#[test]
fn keystrokes_are_echoed_and_silence_does_not_end_a_connection() {
    let result = result(&text(CLEAN, TYPING));
    assert_eq!(value(&result, "completed"), 1.0);
    assert_eq!(value(&result, "responses"), 4.0);
    assert_trips(&result, 1.0, "telnet");
}

#[test]
fn programs_end_under_faults_and_runs_are_equal() {
    for flow in [
        REPEAT,
        "app = \"stream\"\nmessages = 100\nsize = \"3 kB\"\nrate = \"240 kbit/s\"",
        "app = \"smtp\"\nconversations = 5\narrivals = \"20 s\"\nturns = 4",
        "app = \"rlogin\"\nconversations = 2\narrivals = \"60 s\"\ntyping = \"30 s\"",
        TYPING,
    ] {
        for channel in [
            ", channel = { loss = 0.15 }",
            ", channel = { loss = 0.02, duplicate = 0.1, reorder = { probability = 0.1, delay = \"90 ms\" } }",
        ] {
            let text = text(channel, flow);
            let plain = result(&text);
            assert_eq!(value(&plain, "completed"), 1.0, "{flow} {channel}");
            let expanded = expand(&text);
            let trace = traced(&text).outcome.to_json(&expanded);
            let trace: Value = serde_json::from_str(&trace).unwrap();
            assert_eq!(plain["flows"], trace["flows"], "{flow} {channel}");
            assert_ne!(plain["flows"], result_of(&expanded, 1)["flows"], "{flow}");
        }
    }
}

/// Users draw the same times and sizes over TCP and QUIC.
#[test]
fn a_user_behaves_as_over_tcp() {
    let flow = "app = \"ftp\"\nconversations = 5\narrivals = \"20 s\"\nturns = 1";
    let [tcp, quic] = ["linux", "quic"].map(|profile| result(&over(profile, CLEAN, flow)));
    for name in ["responses", "bytes_delivered"] {
        assert_eq!(value(&tcp, name), value(&quic, name), "{name}");
    }
}

#[test]
fn a_dead_path_fails_a_program() {
    for flow in [
        REPEAT.to_owned(),
        format!("{TYPING}\ntcp = {{ quic = {{ idle_timeout = \"20 s\" }} }}"),
    ] {
        let result = result(&text(", channel = { loss = 1.0 }", &flow));
        assert_eq!(value(&result, "completed"), 0.0, "{flow}");
        let idle = if flow.contains("20 s\" }") {
            20.0
        } else {
            30.0
        };
        let seconds = value(&result, "duration");
        assert!((idle..idle + 1.0).contains(&seconds), "{flow}: {seconds}");
    }
}

#[test]
fn a_program_without_number_lasts_as_long_as_the_flow() {
    for flow in [
        "app = \"repeat\"\nsize = \"1 kB\"\ninterval = \"4 s\"",
        "app = \"stream\"\nsize = \"1 kB\"\nrate = \"8 kbit/s\"",
    ] {
        let result = result(&text(CLEAN, &format!("{flow}\nduration = \"20 s\"")));
        assert_eq!(value(&result, "completed"), 1.0, "{flow}");
        assert_eq!(value(&result, "duration"), 20.0, "{flow}");
        let responses = value(&result, "responses");
        let most = if flow.contains("repeat") { 5.0 } else { 20.0 };
        assert_eq!(responses, most, "{flow}");
    }
}
