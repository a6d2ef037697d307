//! CAKE in whole runs: rate of the shaper, shares of hosts, an upload beside a download, handoffs.

use crate::common::{metric, result};
use serde_json::Value;

/// Two servers behind a router, and two clients behind a bottleneck. One client has eight transfers
/// from one server, the other one transfer from the other server.
fn household(discipline: &str) -> String {
    let links = format!(
        "duration = \"30 s\"\n[tcp]\nvariant = \"cubic\"\n\
         [[links]]\nbetween = [\"north\", \"router\"]\ndown = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
         [[links]]\nbetween = [\"south\", \"router\"]\ndown = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
         [[links]]\nname = \"last\"\nbetween = [\"router\", \"home\"]\n\
         down = {{ rate = \"20 Mbit/s\", delay = \"10 ms\", queue = {{ packets = 1000 }}{discipline} }}\n\
         [[links]]\nbetween = [\"home\", \"many\"]\ndown = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
         [[links]]\nbetween = [\"home\", \"one\"]\ndown = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n"
    );
    let transfers = (0..9).map(|number| {
        let [from, to] = if number < 8 {
            ["north", "many"]
        } else {
            ["south", "one"]
        };
        format!(
            "[[flows]]\nfrom = \"{from}\"\nto = \"{to}\"\napp = \"bulk\"\nduration = \"30 s\"\n"
        )
    });
    links + &transfers.collect::<String>()
}

fn goodput(run: &Value, flows: std::ops::Range<usize>) -> f64 {
    flows
        .map(|flow| metric(run, "flows", flow, "goodput"))
        .sum()
}

#[test]
fn hosts_share_the_rate_whatever_their_numbers_of_flows() {
    let share = |isolation: &str| {
        let keys = format!(
            ", discipline = {{ method = \"cake\", rate = \"19 Mbit/s\", isolation = \"{isolation}\" }}"
        );
        let run = result(&household(&keys));
        let (many, one) = (goodput(&run, 0..8), goodput(&run, 8..9));
        assert!(many + one > 16e6, "{isolation}: {many} {one}");
        one / (many + one)
    };
    for isolation in [
        "triple-isolate",
        "dual-srchost",
        "dual-dsthost",
        "srchost",
        "dsthost",
        "hosts",
    ] {
        let half = share(isolation);
        assert!((half - 0.5).abs() < 0.06, "{isolation}: {half}");
    }
    let ninth = share("flows");
    assert!((ninth - 1.0 / 9.0).abs() < 0.03, "{ninth}");
}

/// Constant datagrams above the rate of the shaper: those that leave have exactly its rate, with 44
/// bytes and cells for each packet.
#[test]
fn shaper_counts_overhead_and_cells() {
    let run = |keys: &str| {
        let text = format!(
            "duration = \"20 s\"\n\
             [[links]]\nname = \"dsl\"\nbetween = [\"a\", \"b\"]\n\
             down = {{ rate = \"10 Mbit/s\", delay = \"1 ms\", queue = {{ packets = 50 }}, \
             discipline = {{ method = \"cake\", rate = \"2 Mbit/s\"{keys} }} }}\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"cbr\"\nrate = \"4 Mbit/s\"\n\
             packet = \"972 B\"\nduration = \"20 s\"\n"
        );
        metric(&result(&text), "links", 0, "packets")
    };
    // Packets of 1000 bytes: 1044 bytes are 22 cells of 53 bytes, and 17 bytes more by PTM.
    for (keys, bytes) in [
        ("", 1000.0),
        (", overhead = 44", 1044.0),
        (", overhead = -14", 986.0),
        (", overhead = 44, framing = \"atm\"", 22.0 * 53.0),
        (", overhead = 44, framing = \"ptm\"", 1061.0),
        (", mpu = \"256 B\"", 1000.0),
    ] {
        let packets = run(keys);
        let expected = 20.0 * 2e6 / 8.0 / bytes;
        assert!(
            (packets - expected).abs() <= 2.0,
            "{keys}: {packets} {expected}"
        );
    }
}

/// A download of 50 Mbit/s and an upload over 1 Mbit/s. Without the filter, ACKs take half of the
/// uplink and wait; with it, they take less, and both transfers gain.
#[test]
fn filtered_acks_speed_up_a_download_and_an_upload() {
    let run = |filter: &str| {
        let text = format!(
            "duration = \"30 s\"\n[tcp]\nvariant = \"cubic\"\nreceive_window = \"4 MiB\"\n\
             [[links]]\nbetween = [\"server\", \"client\"]\n\
             down = {{ rate = \"50 Mbit/s\", delay = \"10 ms\", queue = {{ packets = 1000 }}, \
             discipline = \"cake\" }}\n\
             up = {{ rate = \"1 Mbit/s\", delay = \"10 ms\", queue = {{ packets = 1000 }}, \
             discipline = {{ method = \"cake\", rate = \"950 kbit/s\", ack_filter = \"{filter}\" }} }}\n\
             [[flows]]\nfrom = \"server\"\nto = \"client\"\napp = \"bulk\"\nduration = \"30 s\"\n\
             [[flows]]\nfrom = \"client\"\nto = \"server\"\napp = \"bulk\"\nduration = \"30 s\"\n"
        );
        let run = result(&text);
        let filtered = metric(&run, "links", 1, "drops_policy");
        let [down, up] = [0, 1].map(|flow| metric(&run, "flows", flow, "goodput"));
        [down, up, filtered]
    };
    let [plain, plain_up, none] = run("no");
    assert_eq!(none, 0.0);
    for filter in ["conservative", "aggressive"] {
        let [down, up, filtered] = run(filter);
        assert!(filtered > 10_000.0, "{filter}: {filtered}");
        assert!(down > plain + 2e6, "{filter}: {down} {plain}");
        assert!(up > 1.5 * plain_up, "{filter}: {up} {plain_up}");
    }
}

/// A whole transfer with loss on the way: SACK survives the filter, so the transfer needs no more
/// retransmissions and time-outs than without the filter.
#[test]
fn filtered_acks_keep_what_recovery_needs() {
    let run = |filter: &str| {
        let text = format!(
            "duration = \"60 s\"\n[tcp]\nvariant = \"cubic\"\nreceive_window = \"4 MiB\"\n\
             [[links]]\nbetween = [\"server\", \"client\"]\n\
             down = {{ rate = \"20 Mbit/s\", delay = \"10 ms\", queue = {{ packets = 200 }}, \
             channel = {{ loss = 0.01 }} }}\n\
             up = {{ rate = \"100 kbit/s\", delay = \"10 ms\", queue = {{ packets = 1000 }}, \
             discipline = {{ method = \"cake\", ack_filter = \"{filter}\" }} }}\n\
             [[flows]]\nfrom = \"server\"\nto = \"client\"\napp = \"bulk\"\nduration = \"60 s\"\n"
        );
        let run = result(&text);
        let of = |name| metric(&run, "flows", 0, name);
        let segments = of("segments_sent");
        (
            of("goodput"),
            of("segments_retransmitted") / segments,
            of("timeouts"),
        )
    };
    let (plain, plain_share, plain_timeouts) = run("no");
    for filter in ["conservative", "aggressive"] {
        let (goodput, share, timeouts) = run(filter);
        assert!(goodput > plain, "{filter}: {goodput} {plain}");
        // The channel loses 1 %.
        assert!(
            share < plain_share.max(0.0115),
            "{filter}: {share} {plain_share}"
        );
        assert!(
            timeouts <= plain_timeouts + 1.0,
            "{filter}: {timeouts} {plain_timeouts}"
        );
    }
}

/// A host moves between two access points with shaped radio links: each transfer ends complete, and
/// packets that waited are forwarded or lost as with a FIFO queue.
#[test]
fn transfers_survive_handoffs_between_shaped_links() {
    for queued in ["forward", "lose"] {
        let radio = |name: &str| {
            format!(
                "[[links]]\nname = \"radio-{name}\"\nbetween = [\"{name}\", \"mobile\"]\n\
                 down = {{ rate = \"5 Mbit/s\", delay = \"5 ms\", queue = {{ packets = 100 }}, \
                 discipline = {{ method = \"cake\", rate = \"2 Mbit/s\" }} }}\n\
                 [[links]]\nbetween = [\"router\", \"{name}\"]\n\
                 down = {{ rate = \"100 Mbit/s\", delay = \"5 ms\" }}\n"
            )
        };
        let text = format!(
            "duration = \"60 s\"\n\
             [[links]]\nbetween = [\"fixed\", \"router\"]\ndown = {{ rate = \"100 Mbit/s\", delay = \"5 ms\" }}\n\
             {}{}[[handoffs]]\nhost = \"mobile\"\nlinks = [\"radio-north\", \"radio-south\"]\n\
             at = [\"2 s\", \"4 s\", \"6 s\"]\ngap = \"50 ms\"\nqueued = \"{queued}\"\n\
             [[flows]]\nfrom = \"fixed\"\nto = \"mobile\"\nsize = \"2 MB\"\n\
             [[flows]]\nfrom = \"fixed\"\nto = \"mobile\"\nsize = \"1 MB\"\n",
            radio("north"),
            radio("south")
        );
        let run = result(&text);
        for (flow, bytes) in [(0, 2e6), (1, 1e6)] {
            assert_eq!(
                metric(&run, "flows", flow, "bytes_delivered"),
                bytes,
                "{queued}"
            );
        }
    }
}

/// At 19.2 kbit/s a long packet takes 631 ms. The shaper scales its target to 1.5 of them; without
/// a shaper the target is 5 ms.
#[test]
fn slow_and_fast_links_are_used() {
    for (rate, shaper, least) in [
        ("19.2 kbit/s", "19 kbit/s", 0.85),
        ("1 Gbit/s", "900 Mbit/s", 0.8),
    ] {
        let text = format!(
            "duration = \"60 s\"\n[tcp]\nvariant = \"cubic\"\nreceive_window = \"64 MiB\"\n\
             [[links]]\nbetween = [\"server\", \"client\"]\n\
             down = {{ rate = \"{rate}\", delay = \"5 ms\", queue = {{ packets = 40000 }}, \
             discipline = {{ method = \"cake\", rate = \"{shaper}\" }} }}\n\
             [[flows]]\nfrom = \"server\"\nto = \"client\"\napp = \"bulk\"\nduration = \"60 s\"\n"
        );
        let text = if rate == "1 Gbit/s" {
            text.replace("60 s", "3 s")
        } else {
            text
        };
        let used = metric(&result(&text), "links", 0, "utilisation");
        assert!(used > least, "{rate}: {used}");
    }
}
