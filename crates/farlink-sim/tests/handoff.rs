//! Hosts that move from one base station to another, over whole runs.

use crate::common::{datagram, expand, metric, result};
use farlink_sim::{Live, Monitor, TraceOptions, run, trace};
use farlink_tcp::Instant;
use proptest::prelude::*;
use serde_json::Value;

/// Returns a fixed host, a router, and two base stations, each with a radio link to one mobile
/// host.
fn walk(handoff: &str, radio: &str, more: &str, flows: &str) -> String {
    let wired = |from: &str, to: &str| {
        format!(
            "[[links]]\nbetween = [\"{from}\", \"{to}\"]\n\
             down = {{ rate = \"10 Mbit/s\", delay = \"10 ms\" }}\n"
        )
    };
    let air = |name: &str, station: &str| {
        format!(
            "[[links]]\nname = \"{name}\"\nbetween = [\"{station}\", \"mobile\"]\n\
             down = {{ rate = \"2 Mbit/s\", delay = \"1 ms\", queue = {{ packets = 50 }}{radio} }}\n"
        )
    };
    [
        wired("fixed", "router"),
        wired("router", "north"),
        wired("router", "south"),
        air("radio-north", "north"),
        air("radio-south", "south"),
        format!(
            "[[handoffs]]\nhost = \"mobile\"\nlinks = [\"radio-north\", \"radio-south\"]\n{handoff}\n"
        ),
        more.to_owned(),
        flows.to_owned(),
    ]
    .concat()
}

/// Returns an agent with these keys at each station.
fn both(keys: &str) -> String {
    let item =
        |name: &str| format!("[[agents]]\nat = \"{name}\"\nwireless = \"radio-{name}\"\n{keys}\n");
    item("north") + &item("south")
}

fn transfer(from: &str, to: &str) -> String {
    format!("[[flows]]\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"2 MB\"\n")
}

fn cost(done: &Value, name: &str) -> f64 {
    metric(done, "handoffs", 0, name)
}

/// 1000 bytes every 10 ms, with 4 ms on the radio link, so no packet waits.
const STREAM: &str = "[[flows]]\nfrom = \"fixed\"\nto = \"mobile\"\napp = \"cbr\"\n\
                      rate = \"777.6 kbit/s\"\npacket = \"972 B\"\nduration = \"10 s\"\n";

/// Packets in flight to the old station when the host leaves are lost, and no others. With
/// `forward` they take the detour. Packets that arrive during the gap wait for the next link.
#[test]
fn datagrams_are_lost_or_forwarded_at_a_handoff() {
    let count = |done: &Value, name: &str| metric(done, "flows", 0, name);
    // The handoff is between two packets on the radio link: each packet is sent at 10 k ms, arrives
    // at the router after 10.8 ms, at the station after another 10.8 ms, and at the host after 5
    // ms.
    let at = "at = [\"5.0281 s\"]";
    let done = result(&walk(at, "", "", STREAM));
    // One packet is between the router and the old station.
    assert_eq!(cost(&done, "packets_lost_waiting"), 1.0);
    assert_eq!(cost(&done, "packets_lost_on_air"), 0.0);
    assert_eq!(count(&done, "datagrams_lost"), 1.0);
    let forwarded = result(&walk(
        &format!("{at}\nqueued = \"forward\""),
        "",
        "",
        STREAM,
    ));
    assert_eq!(count(&forwarded, "datagrams_lost"), 0.0);
    assert_eq!(count(&forwarded, "datagrams_reordered"), 1.0);
    // A packet on the radio link is lost in both cases.
    for queued in ["lose", "forward"] {
        let on_air = format!("at = [\"5.0238 s\"]\nqueued = \"{queued}\"");
        let done = result(&walk(&on_air, "", "", STREAM));
        assert_eq!(cost(&done, "packets_lost_on_air"), 1.0, "{queued}");
    }
    // During a gap of 1 s, 100 packets arrive at the old station.
    let gap = format!("{at}\ngap = \"1 s\"");
    let done = result(&walk(&gap, "", "", STREAM));
    assert_eq!(count(&done, "datagrams_lost"), 101.0);
    let kept = result(&walk(
        &format!("{gap}\nqueued = \"forward\""),
        "",
        "",
        STREAM,
    ));
    assert_eq!(cost(&kept, "packets_forwarded"), 100.0);
    // The stored packets arrive at the queue of the radio together, over a faster link, and exceed
    // its limit.
    assert_eq!(
        count(&kept, "datagrams_lost"),
        cost(&kept, "packets_lost_on_air") + drops(&kept)
    );
}

fn drops(done: &Value) -> f64 {
    let links = done["links"].as_array().expect("links");
    let of = |link: &Value| link["metrics"]["drops_congestion"].as_f64();
    links.iter().filter_map(of).sum()
}

/// In either direction and with a queue before the radio, TCP continues after each handoff over the
/// other station, and the links count the packets that they carried.
#[test]
fn a_transfer_continues_over_the_other_station() {
    let at = "at = [\"2 s\", \"4 s\", \"6 s\"]";
    for (from, to) in [("fixed", "mobile"), ("mobile", "fixed")] {
        for queued in ["lose", "forward"] {
            for gap in ["0 s", "300 ms"] {
                let handoff = format!("{at}\nqueued = \"{queued}\"\ngap = \"{gap}\"");
                let done = result(&walk(&handoff, "", "", &transfer(from, to)));
                assert_eq!(metric(&done, "flows", 0, "bytes_delivered"), 2e6);
                assert_eq!(cost(&done, "handoffs"), 3.0);
                for link in 6..10 {
                    assert!(metric(&done, "links", link, "packets") > 100.0, "{link}");
                }
                let waiting = cost(&done, "packets_lost_waiting");
                assert_eq!(waiting > 0.0, queued == "lose", "{from} {gap}");
            }
        }
    }
}

/// A host with three links uses them in turn, and after the last the first.
#[test]
fn it_goes_round() {
    let third = "[[links]]\nbetween = [\"router\", \"east\"]\n\
                 down = { rate = \"10 Mbit/s\", delay = \"10 ms\" }\n\
                 [[links]]\nname = \"radio-east\"\nbetween = [\"east\", \"mobile\"]\n\
                 down = { rate = \"2 Mbit/s\", delay = \"1 ms\" }\n";
    let text = walk(
        "at = [\"2 s\", \"4 s\", \"6 s\", \"8 s\"]",
        "",
        third,
        STREAM,
    );
    let text = text.replace("\"radio-south\"]", "\"radio-south\", \"radio-east\"]");
    let done = result(&text);
    let carried = [6, 8, 12].map(|link| metric(&done, "links", link, "packets"));
    // The first and the second link carry two fifths of the packets each, the third one fifth.
    for (got, expected) in carried.into_iter().zip([400.0, 400.0, 200.0]) {
        assert!((got - expected).abs() < 10.0, "{carried:?}");
    }
}

/// A walking host uses the nearest station.
#[test]
fn a_walk_goes_to_the_nearest_station() {
    let walking = |hysteresis: &str| {
        format!(
            "mobility = {{ model = \"random-waypoint\", area = [\"200 m\", \"20 m\"], \
             speed = [\"5 m/s\", \"15 m/s\"] }}\n\
             stations = [[\"50 m\", \"10 m\"], [\"150 m\", \"10 m\"]]\nhysteresis = \"{hysteresis}\""
        )
    };
    let stream = STREAM.replace("10 s", "400 s");
    let [often, seldom] = ["0 m", "60 m"].map(|hysteresis| {
        let done = result(&walk(&walking(hysteresis), "", "", &stream));
        // Both stations serve the host for about the same time.
        let carried = [6, 8].map(|link| metric(&done, "links", link, "packets"));
        assert!((carried[0] / carried[1] - 1.0).abs() < 0.5, "{carried:?}");
        cost(&done, "handoffs")
    });
    assert!(often > 1.3 * seldom && seldom > 3.0, "{often} {seldom}");
    assert!(often < 100.0, "{often}: where it is already it does not go");
}

/// A traced run has the results of a run without traces, and a repeated run has the same results.
#[test]
fn looking_changes_nothing() {
    let handoff = "at = [\"2 s\", \"4 s\"]\ngap = \"100 ms\"";
    let text = walk(
        handoff,
        "",
        &both("kind = \"snoop\""),
        &transfer("fixed", "mobile"),
    );
    let scenario = expand(&text);
    let plain = run(&scenario, 0, &Monitor::default()).expect("a run");
    let traced = trace(
        &scenario,
        0,
        &TraceOptions::capturing(0),
        &Monitor::default(),
    )
    .expect("a run");
    assert_eq!(plain, traced.outcome);
    assert_eq!(
        run(&scenario, 0, &Monitor::default()).expect("a run"),
        plain
    );
}

/// If state is lost, connections that need it are reset, and no others. If it is transferred, or
/// kept where this is possible, no connection is reset. A split connection loses the data that its
/// agent had acknowledged.
#[test]
fn split_connections_are_reset_or_go_along() {
    let at = "at = [\"3 s\"]\nqueued = \"forward\"";
    for kind in ["split", "pep", "pepsal", "spoof"] {
        let agents = both(&format!("kind = \"{kind}\""));
        let done = result(&walk(at, "", &agents, &transfer("fixed", "mobile")));
        let lost = metric(&done, "agents", 0, "bytes_lost");
        assert!(lost > 10_000.0, "{kind}: {lost}");
        assert_eq!(metric(&done, "agents", 0, "connections_failed"), 1.0);
        let received = metric(&done, "flows", 0, "bytes_delivered");
        assert!(received < 1.5e6, "{kind}: {received}");
        for delay in ["0 s", "200 ms"] {
            let keys = format!(
                "kind = \"{kind}\"\nhandoff = \"transfer\"\ntransfer_rate = \"1 Mbit/s\"\n\
                 transfer_delay = \"{delay}\""
            );
            let done = result(&walk(at, "", &both(&keys), &transfer("fixed", "mobile")));
            assert_eq!(metric(&done, "flows", 0, "bytes_delivered"), 2e6, "{kind}");
            for agent in [0, 1] {
                assert_eq!(metric(&done, "agents", agent, "bytes_lost"), 0.0);
                assert_eq!(metric(&done, "agents", agent, "connections_failed"), 0.0);
            }
            let bytes = cost(&done, "bytes_transferred");
            assert!(bytes > 10_000.0, "{kind}: {bytes}");
            let time = cost(&done, "transfer_time");
            let delay = if delay == "0 s" { 0.0 } else { 0.2 };
            let expected = bytes * 8.0 / 1e6 + delay;
            assert!((time - expected).abs() < 1e-6, "{time}, not {expected}");
        }
    }
}

/// State in transit delays connections that need it, and no others.
#[test]
fn split_connections_pause_until_their_state_has_arrived() {
    let longer = |kind: &str| {
        let [soon, late] = ["0 s", "3 s"].map(|delay| {
            let keys =
                format!("kind = \"{kind}\"\nhandoff = \"transfer\"\ntransfer_delay = \"{delay}\"");
            let at = "at = [\"2 s\"]\nqueued = \"forward\"";
            let done = result(&walk(at, "", &both(&keys), &transfer("fixed", "mobile")));
            metric(&done, "flows", 0, "duration")
        });
        late - soon
    };
    // Without the delay, packets lost on the radio link wait for a time-out of a second.
    let (split, snoop) = (longer("split"), longer("snoop"));
    assert!((1.5..6.0).contains(&split), "{split}");
    assert!(snoop.abs() < 1.0, "{snoop}");
}

/// Packets of real programs take the same paths.
#[test]
fn packets_of_real_programs_go_where_the_host_is() {
    let ms = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    // Nodes: fixed, router, north, south, mobile.
    let text = walk(
        "at = [\"1 s\"]\nqueued = \"forward\"",
        "",
        &both("kind = \"snoop\""),
        STREAM,
    );
    let mut live = Live::new(&expand(&text), 0).expect("a network");
    let mut received = Vec::new();
    for at in [500, 985, 1500] {
        live.advance(ms(at), |host, due, _| {
            received.push((host, due.as_nanos() / 1_000_000));
        });
        for (host, from, to) in [(0, 0, 4), (1, 4, 0)] {
            live.send(ms(at), host, datagram(from, to, &[7; 100]))
                .expect("a packet of this network");
        }
    }
    live.advance(ms(2000), |host, due, _| {
        received.push((host, due.as_nanos() / 1_000_000));
    });
    // The packet on its way to the old station returns to the router, which takes 20 ms more.
    assert_eq!(
        received,
        [
            (0, 521),
            (1, 521),
            (0, 1006),
            (1, 1026),
            (0, 1521),
            (1, 1521)
        ]
    );
    let report = live.report(ms(2000));
    let packets = |link: usize| report[link].metrics["packets"].as_f64();
    assert_eq!([6, 7, 8, 9].map(packets), [1.0, 2.0, 2.0, 1.0].map(Some));
    assert_eq!(live.balance().missing(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    /// For any times of handoffs, and any losses, stored packets and transfers of agents' state,
    /// every byte arrives. This holds for agents whose state connections do not need, and for split
    /// connections whose state is transferred.
    #[test]
    fn no_byte_is_lost_at_any_handoff_times(
        times in proptest::collection::vec(100..3000_u64, 1..8),
        gap in prop_oneof![Just(0_u64), 1..500_u64],
        forward in any::<bool>(),
        loss in prop_oneof![Just(0.0), Just(0.01)],
        down in any::<bool>(),
        kind in 0..8_usize,
        handoff in 0..3_usize,
        delay in prop_oneof![Just(0_u64), 1..1000_u64],
        twice in any::<bool>(),
    ) {
        let mut at = 0;
        let times: Vec<_> = times.iter().map(|after| {
            at += after + gap;
            format!("\"{at} ms\"")
        }).collect();
        let queued = if forward { "forward" } else { "lose" };
        let keys = format!("at = [{}]\nqueued = \"{queued}\"\ngap = \"{gap} ms\"", times.join(", "));
        let (kind, tcp) = [
            ("snoop", ""),
            ("ackp", "ackp = \"restart\""),
            ("ebsn", "ebsn = true"),
            ("eln", "eln = \"agent\""),
            ("seqcache", "eln = \"agent\""),
            ("split", ""),
            ("pep", ""),
            ("spoof", ""),
        ][kind];
        let hard = ["split", "pep", "spoof"].contains(&kind);
        let handoff = ["transfer", "lose", "keep"][if hard { 0 } else { handoff }];
        let takes = if handoff == "transfer" {
            format!("transfer_delay = \"{delay} ms\"\ntransfer_rate = \"2 Mbit/s\"")
        } else {
            String::new()
        };
        let agent = format!("kind = \"{kind}\"\nhandoff = \"{handoff}\"\n{takes}");
        let agents = both(&agent);
        let (from, to) = if down { ("fixed", "mobile") } else { ("mobile", "fixed") };
        let mut flows = transfer(from, to).replace("2 MB", "500 kB");
        if twice {
            flows += &transfer(to, from).replace("2 MB", "200 kB");
        }
        let radio = format!(", channel = {{ loss = {loss} }}");
        let text = format!("[tcp]\n{tcp}\n{}", walk(&keys, &radio, &agents, &flows));
        let done = result(&text);
        prop_assert_eq!(metric(&done, "flows", 0, "bytes_delivered"), 500e3, "{}", &text);
        if twice {
            prop_assert_eq!(metric(&done, "flows", 1, "bytes_delivered"), 200e3, "{}", &text);
        }
    }
}
