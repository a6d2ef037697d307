//! A send buffer smaller than the application's data delays the application, and loses no data.

use crate::common::{metric, result};

/// Returns a path of 1 Gbit/s and a round trip of 100 ms, with this send buffer.
fn path(send_buffer: &str, flow: &str) -> String {
    format!(
        "[tcp]\nmss = \"1000 B\"\ninitial_window = 100\nreceive_window = \"10 MB\"\n\
         nagle = false\ndelayed_ack = \"off\"\nsend_buffer = \"{send_buffer}\"\n\
         [[links]]\nbetween = [\"a\", \"b\"]\n\
         down = {{ rate = \"1 Gbit/s\", delay = \"50 ms\", queue = \"unlimited\" }}\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    )
}

/// A file arrives whole, in as many round trips as its length is multiples of the buffer, because
/// one buffer is sent per round trip.
#[test]
fn a_file_takes_a_round_trip_for_each_buffer() {
    let done = result(&path("50 kB", "size = \"1 MB\""));
    assert_eq!(metric(&done, "flows", 0, "completed"), 1.0);
    assert_eq!(metric(&done, "flows", 0, "bytes_delivered"), 1e6);
    // The handshake, 19 acknowledged buffers, and half a round trip.
    let duration = metric(&done, "flows", 0, "duration");
    assert!((2.05..2.06).contains(&duration), "{duration}");
}

/// Every application delivers the same data with a small buffer as without a limit, in both
/// directions, and closes after the last byte.
#[test]
fn every_application_is_held_and_goes_on() {
    for flow in [
        "size = \"300 kB\"\nreverse = \"200 kB\"",
        "size = \"300 kB\"\nopens = \"receiver\"",
        "app = \"repeat\"\nsize = \"100 kB\"\nfiles = 3",
        "app = \"http\"\npages = 3\nmain_object = \"50 kB\"\nrequest = \"9 kB\"\n\
         connections = \"per-page\"",
        "app = \"http\"\npages = 3\nmain_object = \"50 kB\"\nconnections = \"persistent\"",
        "app = \"web\"\nfiles = 20\nsize = \"20 kB\"\nconnections = \"persistent\"",
        "app = \"web\"\nfiles = 20\nsize = \"20 kB\"\nconnections = \"per-page\"",
        "app = \"ftp\"\nconversations = 2\nitems = 3\nsize = \"40 kB\"",
        "app = \"smtp\"\nconversations = 3\nsize = \"40 kB\"",
        "app = \"nntp\"\nconversations = 2\nitems = 3\nsize = \"40 kB\"",
        "app = \"telnet\"\nconversations = 2\narrivals = \"20 s\"\ntyping = \"10 s\"\n\
         keystrokes = \"50 ms\"",
        "app = \"rlogin\"\nconversations = 2\narrivals = \"20 s\"\ntyping = \"10 s\"\n\
         keystrokes = \"50 ms\"",
    ] {
        let held = result(&path("4 kB", flow));
        let free = result(&path("unlimited", flow));
        let of = |of: &serde_json::Value, name: &str| of["flows"][0]["metrics"][name].as_f64();
        assert_eq!(of(&held, "completed"), Some(1.0), "{flow}");
        for name in ["bytes_delivered", "responses"] {
            assert_eq!(of(&held, name), of(&free, name), "{name} of {flow}");
        }
        let reverse = |of_it| of(of_it, "reverse_goodput").is_some();
        assert_eq!(reverse(&held), reverse(&free), "{flow}");
    }
}

/// A transfer without end sends a buffer per round trip.
#[test]
fn an_endless_transfer_gets_a_buffer_a_round_trip() {
    let done = result(&path("50 kB", "app = \"bulk\"\nduration = \"20 s\""));
    let goodput = metric(&done, "flows", 0, "goodput");
    assert!((3.9e6..4.01e6).contains(&goodput), "{goodput}");
}

/// The download of the library, whose receive window is a sixteenth of the buffer, has the same
/// results without a limit.
#[test]
fn a_buffer_above_the_window_changes_nothing() {
    let (_, text) = farlink_sim::scenario::library()
        .iter()
        .find(|(name, _)| *name == "geo-omueti2007")
        .expect("a scenario of the library");
    let held = result(&text.replace("[tcp]", "[tcp]\nsend_buffer = \"1 MiB\""));
    let free = result(text);
    for name in ["completed", "bytes_delivered", "duration"] {
        let (held, free) = (
            metric(&held, "flows", 0, name),
            metric(&free, "flows", 0, name),
        );
        assert_eq!(held, free, "{name}");
    }
    assert_eq!(metric(&held, "flows", 0, "bytes_delivered"), 52_428_800.0);
}
