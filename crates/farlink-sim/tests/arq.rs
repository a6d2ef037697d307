//! TCP over links with a link protocol, over whole runs.

use crate::common::{datagram, expand, metric, result};
use farlink_sim::{Column, Live, Monitor, TraceOptions, run, scenario, trace};
use farlink_tcp::{Instant, Interval};
use serde_json::Value;

fn goodput(text: &str) -> f64 {
    metric(&result(text), "flows", 0, "goodput")
}

/// Returns the radio link of the study after a wired link, with packets of 128 bytes that need no
/// fragments. A window of 8 segments keeps the radio link busy.
fn radio(per: f64, arq: &str, app: &str) -> String {
    format!(
        "[tcp]\nvariant = \"reno\"\nmss = \"88 B\"\nreceive_window = \"4096 B\"\n\
         [[links]]\nbetween = [\"fh\", \"bs\"]\n\
         down = {{ rate = \"10 Mbit/s\", delay = \"20 ms\" }}\n\
         [[links]]\nbetween = [\"bs\", \"mh\"]\n\
         down = {{ rate = \"19.2 kbit/s\", delay = \"0 s\", channel = {{ loss = {per} }} }}\n\
         {arq}\n\
         [[flows]]\nfrom = \"fh\"\nto = \"mh\"\n{app}\n"
    )
}

const BULK: &str = "app = \"bulk\"\nduration = \"2000 s\"";
const MAC: &str = "mac = { access = \"exponential\", delay = \"10 ms\" }";

fn arq(protocol: &str, more: &str) -> String {
    format!("arq = {{ protocol = \"{protocol}\", {MAC}{more} }}")
}

/// Each frame takes 55.8333 ms (134 bytes) plus the mean access delay.
#[test]
fn a_mac_alone_has_the_throughput_of_its_frames_and_their_delay() {
    let got = goodput(&radio(0.0, &arq("none", ""), BULK));
    let wanted = 88.0 * 8.0 / (134.0 * 8.0 / 19_200.0 + 0.010);
    // The mean of 30,000 exponential delays has a standard error whose fourfold is 0.35 % of the
    // time.
    assert!((got / wanted - 1.0).abs() < 0.005, "{got}, not {wanted}");
    let constant =
        "arq = { protocol = \"none\", mac = { access = \"constant\", delay = \"10 ms\" } }";
    let got = goodput(&radio(0.0, constant, BULK));
    assert!((got / wanted - 1.0).abs() < 0.001, "{got}, not {wanted}");
}

#[test]
fn recovery_by_the_link_saves_tcp_from_its_losses() {
    for protocol in ["lapb", "mdlp", "rlp"] {
        let text = radio(0.2, &arq(protocol, ""), BULK);
        let done = result(&text);
        assert_eq!(metric(&done, "links", 2, "drops"), 0.0, "{protocol}");
        assert_eq!(metric(&done, "links", 3, "drops"), 0.0, "{protocol}");
        assert!(metric(&done, "links", 2, "frames_retransmitted") > 1000.0);
        assert!(metric(&done, "links", 2, "link_delay_mean") > 0.065);
        let alone = goodput(&radio(0.2, &arq("none", ""), BULK));
        let with = metric(&done, "flows", 0, "goodput");
        assert!(with > 2.0 * alone, "{protocol}: {with} against {alone}");
    }
}

/// As in Wong 1998, figure 4.17 (here with packets that need no fragments), selective repeat beats
/// go-back-N, and RLP beats MDLP at a high loss. Without loss the status frames of RLP cost more
/// than the overhead of the others.
#[test]
fn protocols_rank_as_in_the_study() {
    let at = |per, protocol| goodput(&radio(per, &arq(protocol, ""), BULK));
    let [lapb, mdlp, rlp] = ["lapb", "mdlp", "rlp"].map(|p| at(0.4, p));
    assert!(rlp > mdlp && mdlp > lapb, "{rlp} {mdlp} {lapb}");
    let [lapb, mdlp, rlp] = ["lapb", "mdlp", "rlp"].map(|p| at(0.0, p));
    assert!(rlp < lapb && rlp < mdlp, "{rlp} {mdlp} {lapb}");
}

#[test]
fn abandoned_frames_have_their_own_drop_cause_and_tcp_repairs_them() {
    let file = "size = \"60 kB\"";
    let cases = [
        arq("lapb", ", n2 = 2, t1 = \"500 ms\""),
        arq("mdlp", ", n2 = 2"),
        arq("mdlp", ", n2 = 2, best_effort = true, in_sequence = false"),
        arq(
            "rlp",
            ", max_recovery_delay = \"500 ms\", in_sequence = false",
        ),
    ];
    for arq in cases {
        let done = result(&radio(0.4, &arq, file));
        let resets = metric(&done, "links", 2, "link_resets");
        assert_eq!(metric(&done, "flows", 0, "completed"), 1.0);
        let given_up = metric(&done, "links", 2, "drops_link_give_up");
        assert!(given_up > 0.0, "{arq}");
        assert_eq!(metric(&done, "links", 2, "drops"), given_up, "{arq}");
        assert_eq!(metric(&done, "flows", 0, "lost_link_give_up"), given_up);
        assert_eq!(resets > 0.0, !arq.contains("rlp"), "{arq}");
        assert!(metric(&done, "flows", 0, "segments_retransmitted") > 0.0);
    }
}

/// A minimum RTO of 200 ms expires while the link still retransmits, so TCP retransmits segments
/// that the link will deliver.
#[test]
fn retransmissions_that_compete_are_counted() {
    let text = radio(0.5, &arq("mdlp", ""), BULK);
    let done = result(&text.replace("[tcp]\n", "[tcp]\nrto_min = \"200 ms\"\n"));
    let competing = metric(&done, "links", 2, "competing_retransmissions");
    let sent = metric(&done, "flows", 0, "segments_retransmitted");
    assert!(competing > 0.0, "{competing}");
    assert!(competing <= sent, "{competing} of {sent}");
}

#[test]
fn the_window_and_the_queue_in_front_of_it_are_bounded() {
    let limited = radio(0.2, &arq("rlp", ", window = 4"), BULK).replace(
        "delay = \"0 s\", channel",
        "delay = \"0 s\", queue = { packets = 5 }, channel",
    );
    let done = result(&limited);
    assert_eq!(metric(&done, "links", 2, "window_max"), 4.0);
    let mean = metric(&done, "links", 2, "window_mean");
    assert!((1.0..4.0).contains(&mean), "{mean}");
    assert_eq!(metric(&done, "links", 2, "queue_max"), 5.0);
    assert!(metric(&done, "links", 2, "drops_congestion") > 0.0);
    // A link without a protocol has no frames.
    assert!(done["links"][0]["metrics"]["frames_sent"].is_null());
}

#[test]
fn out_of_sequence_delivery_reorders_segments_and_in_sequence_does_not() {
    let acks = |more: &str| {
        let done = result(&radio(0.3, &arq("rlp", more), BULK));
        metric(&done, "flows", 0, "dup_acks")
    };
    let (ordered, free) = (acks(""), acks(", in_sequence = false"));
    assert!(free > 5.0 * ordered.max(1.0), "{free} and {ordered}");
}

/// The queue before the window marks packets above its threshold.
#[test]
fn the_queue_marks() {
    let text = radio(0.0, &arq("lapb", ", window = 2"), BULK)
        .replace("[tcp]\n", "[tcp]\necn = true\n")
        .replace(
            "delay = \"0 s\", channel",
            "delay = \"0 s\", mark = { packets = 4 }, channel",
        );
    let done = result(&text);
    assert!(metric(&done, "links", 2, "marks") > 10.0);
    assert_eq!(metric(&done, "links", 2, "drops"), 0.0);
}

#[test]
fn a_traced_run_is_the_same_run_and_has_the_queue() {
    let text = radio(0.3, &arq("mdlp", ""), "size = \"20 kB\"");
    let scenario = expand(&text);
    let plain = run(&scenario, 0, &Monitor::default()).expect("a run");
    let traced = trace(&scenario, 0, &TraceOptions::default(), &Monitor::default()).expect("a run");
    assert_eq!(plain, traced.outcome);
    let again = run(&scenario, 0, &Monitor::default()).expect("a run");
    assert_eq!(plain, again);
    let queue = traced.tables.iter().find(|table| table.name == "queue");
    assert!(queue.is_some_and(|table| format!("{table:?}").contains("packets")));
    // Every frame is in the trace, except those that wait at the MAC when the run ends.
    let frames = traced.tables.iter().find(|table| table.name == "frames");
    let json: Value = serde_json::from_str(&plain.to_json(&scenario)).expect("JSON");
    let count = |name| metric(&json, "links", 2, name) + metric(&json, "links", 3, name);
    let columns = &frames.expect("a table of frames").columns;
    let sum = |name: &str, wanted: fn(u64) -> bool| {
        let column = columns.iter().find(|(column, _)| *column == name);
        match column.map(|(_, column)| column) {
            Some(Column::U8(values)) => values.iter().filter(|&&n| wanted(n.into())).count() as f64,
            other => panic!("{name}: {other:?}"),
        }
    };
    let information = count("frames_sent");
    assert!((information - sum("frame", |kind| kind == 0)).abs() <= 2.0);
    assert!((count("frames_supervisory") - sum("frame", |kind| kind > 0)).abs() <= 2.0);
    assert_eq!(sum("lost", |lost| lost == 1), count("frames_lost"));
    let again = count("frames_retransmitted");
    assert!((again - sum("retransmission", |again| again == 1)).abs() <= 2.0);
}

/// Packets of real programs use the same link protocol.
#[test]
fn packets_of_real_programs_are_recovered_too() {
    for protocol in ["lapb", "mdlp", "rlp"] {
        let scenario = expand(&radio(0.4, &arq(protocol, ""), BULK));
        let mut live = Live::new(&scenario, 0).expect("a network");
        let mut arrived = Vec::new();
        for number in 0..100 {
            let now = Instant::ZERO + Interval::from_millis(50) * u64::from(number);
            live.advance(now, |_, _, raw| arrived.push(raw.bytes()[28]));
            live.send(now, 0, datagram(0, 2, &[number]))
                .expect("a packet of this network");
        }
        let end = Instant::ZERO + Interval::from_secs(600);
        live.advance(end, |host, _, raw| {
            assert_eq!(host, 1);
            arrived.push(raw.bytes()[28]);
        });
        assert!(
            arrived.iter().copied().eq(0..100),
            "{protocol}: {arrived:?}"
        );
    }
}

#[test]
fn a_resolved_scenario_has_all_parameters_and_reads_back() {
    for protocol in ["none", "lapb", "mdlp", "rlp"] {
        let text = radio(0.1, &arq(protocol, ""), BULK);
        let loaded = scenario::load(&text, "test", &[]).expect("a scenario");
        let json = loaded.to_json();
        let again = scenario::load(&json, "json", &[]).expect("what was written");
        assert_eq!(again.to_json(), json);
        assert_eq!(again.expand(), loaded.expand());
        let keys = ["t1", "t200", "status_period"].map(|key| json.contains(&format!("\"{key}\"")));
        let wanted = ["lapb", "mdlp", "rlp"].map(|name| name == protocol);
        assert_eq!(keys, wanted, "{json}");
    }
}

#[test]
fn errors_have_one_line() {
    let cases = [
        (
            "arq = { protocol = \"rpl\" }",
            "test:11: links[1].arq.protocol = \"rpl\" is unknown; did you mean \"rlp\"?",
        ),
        (
            "arq = { protocol = \"rlp\", t1 = \"1 s\" }",
            "test:11: links[1].arq.t1 would be ignored; it needs protocol = \"lapb\"",
        ),
        (
            "arq = { protocol = \"rlp\", n2 = 3 }",
            "test:11: links[1].arq.n2 would be ignored; it needs protocol = \"lapb\" or \"mdlp\"",
        ),
        (
            "arq = { protocol = \"mdlp\", best_effort = true }",
            "test:11: links[1].arq.best_effort would be ignored; it needs n2",
        ),
        (
            "arq = { protocol = \"mdlp\", window = 64 }",
            "test:11: links[1].arq.window is wrong: a window of 64 frames cannot be: with numbers \
             modulo 128 write 1 to 63",
        ),
        (
            "arq = { protocol = \"lapb\", modulus = 8 }",
            "test:11: links[1].arq.window is wrong: a window of 15 frames cannot be: with numbers \
             modulo 8 write 1 to 7",
        ),
        (
            "arq = { protocol = \"lapb\", modulus = 64 }",
            "test:11: links[1].arq.modulus is wrong: sequence numbers modulo 64 cannot be: write 8 \
             or 128",
        ),
        (
            "arq = { protocol = \"lapb\", t1 = \"0 s\" }",
            "test:11: links[1].arq.t1 = \"0 s\" is out of range; write \"1 ns\" to \"1 h\"",
        ),
        (
            "arq = { protocol = \"rlp\", status_period = \"10 us\" }",
            "test:11: links[1].arq.status_period = \"10 us\" is out of range; write \"1 ms\" to \"1 \
             h\"",
        ),
        (
            "arq = { protocol = \"lapb\", n2 = 0 }",
            "test:11: links[1].arq.n2 = 0 is out of range; write 1 to 1000, or leave it out",
        ),
        (
            "arq = { protocol = \"lapb\", header = \"2 KiB\" }",
            "test:11: links[1].arq.header = \"2 KiB\" is out of range; write \"0 B\" to \"1 KiB\"",
        ),
        (
            "arq = { protocol = \"rlp\", mac = { access = \"constant\" } }",
            "test:11: links[1].arq.mac has no \"delay\"; write for example delay = \"10 ms\"",
        ),
        (
            "arq = { protocol = \"rlp\", mac = { access = \"none\", delay = \"1 ms\" } }",
            "test:11: links[1].arq.mac.delay would be ignored; it needs access = \"constant\" or \"exponential\"",
        ),
        (
            "arq = { window = 3 }",
            "test:11: links[1].arq has no \"protocol\"; write for example protocol = \"mdlp\"",
        ),
    ];
    for (arq, message) in cases {
        let error = scenario::load(&radio(0.0, arq, BULK), "test", &[]).expect_err(arq);
        assert_eq!(error.to_string(), message);
    }
}

/// Sends datagrams at the rate of the link. Returns the result, and the time in seconds that the
/// frames alone take.
fn busy(protocol: &str, (rate, delay): (f64, f64), more: &str) -> (Value, f64) {
    const COUNT: f64 = 60.0;
    let (bits, frame) = (800.0, 134.0 * 8.0);
    let mac = if delay > 0.0 {
        format!(", mac = {{ access = \"constant\", delay = \"{delay} s\" }}")
    } else {
        String::new()
    };
    let text = format!(
        "max_duration = \"20000 s\"\n[[links]]\nname = \"radio\"\nbetween = [\"bs\", \"mh\"]\n\
         down = {{ rate = \"{rate} bit/s\", delay = \"1 ms\" }}\n\
         arq = {{ protocol = \"{protocol}\"{mac}{more} }}\n\
         [[flows]]\napp = \"cbr\"\nfrom = \"bs\"\nto = \"mh\"\nrate = \"{rate} bit/s\"\n\
         packet = \"100 B\"\nduration = \"{} s\"\n",
        COUNT * bits / rate
    );
    (result(&text), COUNT * (delay + frame / rate))
}

/// No link protocol starves its data, from 4.8 kbit/s to 1 Mbit/s and for any access delay, because
/// its own frames leave time for frames with packets.
#[test]
fn no_protocol_starves_at_any_rate_and_access_delay() {
    for protocol in ["rlp", "lapb", "mdlp", "none"] {
        for rate in [4_800.0, 9_600.0, 19_200.0, 30_000.0, 128_000.0, 1e6] {
            for delay in [0.0, 0.05, 0.15, 0.2, 0.5, 1.0] {
                let (done, min) = busy(protocol, (rate, delay), "");
                let of = |name: &str| metric(&done, "flows", 0, name);
                let case = format!("{protocol}, {rate} bit/s, {delay} s");
                let sent = of("datagrams_sent");
                assert_eq!(of("datagrams_received"), sent, "{case}");
                assert!(sent >= 59.0, "{case}");
                let longest = of("delay_p99");
                assert!(longest <= 4.0 * min + 3.0, "{case}: {longest} s of {min} s");
                assert!(
                    done["flows"][0]["metrics"]["stalled_since"].is_null(),
                    "{case}"
                );
            }
        }
    }
}

/// A flow whose datagrams a link protocol no longer delivers is reported as starved.
#[test]
fn a_starved_flow_is_reported() {
    // The link retransmits forever, and nothing passes after 1 s.
    let text = "max_duration = \"600 s\"\n[[links]]\nname = \"radio\"\nbetween = [\"bs\", \"mh\"]\n\
                down = { rate = \"30 kbit/s\", delay = \"1 ms\", \
                channel = { outage = { start = \"1 s\", duration = \"3600 s\" } } }\n\
                arq = { protocol = \"rlp\" }\n";
    let datagrams = "[[flows]]\napp = \"cbr\"\nfrom = \"bs\"\nto = \"mh\"\nrate = \"20 kbit/s\"\n\
                     packet = \"100 B\"\nduration = \"20 s\"\n";
    let stream = "[[flows]]\nfrom = \"bs\"\nto = \"mh\"\nsize = \"200 kB\"\n";
    for flow in [datagrams, stream] {
        let done = result(&format!("{text}{flow}"));
        let since = metric(&done, "flows", 0, "stalled_since");
        assert!(since > 0.5 && since < 20.0, "{since} of {flow}");
        assert_eq!(metric(&done, "links", 0, "stalled_flows"), 1.0, "{flow}");
        assert_eq!(metric(&done, "links", 1, "stalled_flows"), 0.0, "{flow}");
    }
}
