//! Fragments, reassembly and path-MTU discovery over whole runs.

use crate::common::{expand, metric, result};
use farlink_sim::{Live, Monitor, TraceOptions, trace};
use farlink_tcp::{Body, Instant, IpVersion};
use farlink_wire::{Datagram, Ip, NodeId, Packet, Payload};
use serde_json::Value;

/// Returns a path a - r with 10 ms in each direction, then r - b with 20 ms and the keys `second`.
fn path(second: &str, flow: &str) -> String {
    format!(
        "[tcp]\nvariant = \"sack\"\n\
         [[links]]\nbetween = [\"a\", \"r\"]\n\
         down = {{ rate = \"10 Mbit/s\", delay = \"10 ms\" }}\n\
         [[links]]\nbetween = [\"r\", \"b\"]\n\
         down = {{ rate = \"1 Mbit/s\", delay = \"20 ms\", {second} }}\n\
         up = {{ rate = \"1 Mbit/s\", delay = \"20 ms\" }}\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    )
}

const FILE: &str = "size = \"146000 B\"\ndont_fragment = false";

/// Each of 100 segments of 1460 bytes is a packet of 1500 bytes, and is sent as fragments of 572 +
/// 572 + 396 bytes.
#[test]
fn a_file_arrives_whole_over_a_link_of_short_packets() {
    let plain = result(&path("queue = \"unlimited\"", FILE));
    let cut = result(&path("mtu = \"576 B\"", FILE));
    for done in [&plain, &cut] {
        assert_eq!(metric(done, "flows", 0, "completed"), 1.0);
        assert_eq!(metric(done, "flows", 0, "segments_retransmitted"), 0.0);
    }
    let sent = |r: &Value, what| metric(r, "links", 2, what);
    let (more, bytes) = (200.0, 200.0 * 20.0);
    assert_eq!(sent(&cut, "packets") - sent(&plain, "packets"), more);
    assert_eq!(sent(&cut, "bytes") - sent(&plain, "bytes"), bytes);
    assert_eq!(sent(&cut, "drops"), 0.0);
}

/// An MTU that all packets fit changes nothing.
#[test]
fn a_length_that_all_packets_have_changes_nothing() {
    let with = result(&path("mtu = \"1500 B\"", "size = \"1 MB\""));
    let without = result(&path("queue = \"unlimited\"", "size = \"1 MB\""));
    assert_eq!(with["flows"], without["flows"]);
    assert_eq!(with["links"], without["links"]);
}

/// Wong 1998, 3.3: segments of 512 bytes of data are five packets of 1024 bits, or six by the
/// standard.
#[test]
fn the_arithmetic_of_the_study_can_be_chosen() {
    let flow = "size = \"51200 B\"\ndont_fragment = false\ntcp = { mss = \"512 B\" }";
    let packets = |second: &str| metric(&result(&path(second, flow)), "links", 2, "packets");
    let whole = packets("queue = \"unlimited\"");
    assert_eq!(packets("mtu = \"128 B\"") - whole, 500.0);
    let study = "mtu = \"128 B\", fragments = \"wong1998\"";
    assert_eq!(packets(study) - whole, 400.0);
    let refused = trace(
        &expand(&path(study, flow)),
        0,
        &TraceOptions::capturing(0),
        &Monitor::default(),
    );
    let message = refused.expect_err("no capture").to_string();
    assert!(
        message.contains("that cannot be captured; write fragments"),
        "{message}"
    );
}

/// A datagram of n fragments is lost with probability 1 - (1 - p)^n. Datagrams with some arrived
/// fragments are given up after the time-out.
#[test]
fn the_loss_of_a_fragment_is_the_loss_of_the_datagram() {
    let flow = "app = \"cbr\"\nrate = \"400 kbit/s\"\npacket = \"1472 B\"\n\
                datagrams = 20000\ndont_fragment = false\nreassembly_timeout = \"2 s\"";
    let done = result(&path("mtu = \"576 B\", channel = { loss = 0.05 }", flow));
    let loss = metric(&done, "flows", 0, "loss_rate");
    let expected = 1.0 - 0.95f64.powi(3);
    // The bound is four standard deviations of 20,000 draws.
    let room = 4.0 * (expected * (1.0 - expected) / 20_000.0).sqrt();
    assert!((loss - expected).abs() < room, "{loss}, not {expected}");
    // All lost datagrams but those without any fragment are given up at the receiver.
    let given_up = metric(&done, "links", 2, "drops_reassembly");
    let lost = loss * 20_000.0;
    let all_three = 20_000.0 * 0.05f64.powi(3);
    assert!((given_up - (lost - all_three)).abs() < 4.0 * all_three.sqrt() + 1.0);
    assert_eq!(metric(&done, "flows", 0, "lost_reassembly"), given_up);
    assert_eq!(metric(&done, "links", 2, "packets"), 60_000.0);
}

#[test]
fn duplicated_and_reordered_fragments_make_no_other_data() {
    let channel = "mtu = \"300 B\", channel = { duplicate = 0.1, \
                   reorder = { probability = 0.1, delay = \"30 ms\" }, corrupt = 0.002 }";
    let flow = "size = \"600 kB\"\ndont_fragment = false\nreassembly_timeout = \"1 s\"";
    let done = result(&path(channel, flow));
    assert_eq!(metric(&done, "flows", 0, "completed"), 1.0);
    assert!(metric(&done, "links", 2, "drops_checksum") > 0.0);
    let flow = "app = \"cbr\"\nrate = \"200 kbit/s\"\npacket = \"1000 B\"\ndatagrams = 2000\n\
                dont_fragment = false\nreassembly_timeout = \"1 s\"";
    let done = result(&path(&channel.replace(", corrupt = 0.002", ""), flow));
    assert_eq!(metric(&done, "flows", 0, "loss_rate"), 0.0);
}

/// The packets of the first window are too long. The message arrives 20 ms after they were sent,
/// and no later packet is too long.
#[test]
fn a_tcp_finds_the_path_mtu_in_one_round_trip() {
    let flow = "size = \"500 kB\"\ntcp = { initial_window = 4 }";
    let done = result(&path("mtu = \"576 B\"", flow));
    assert_eq!(metric(&done, "flows", 0, "completed"), 1.0);
    assert_eq!(metric(&done, "links", 2, "drops_too_big"), 4.0);
    assert_eq!(metric(&done, "links", 2, "drops"), 4.0);
    assert_eq!(metric(&done, "flows", 0, "lost_too_big"), 4.0);
    assert_eq!(metric(&done, "flows", 0, "timeouts"), 0.0);
    // 4 segments of 1460 bytes are retransmitted, each as three of at most 536 bytes.
    assert_eq!(metric(&done, "flows", 0, "segments_retransmitted"), 12.0);
    let fits = result(&path(
        "mtu = \"576 B\"",
        "size = \"500 kB\"\ntcp = { mss = \"536 B\" }",
    ));
    let duration = |r| metric(r, "flows", 0, "duration");
    assert!((duration(&done) - duration(&fits)).abs() < 0.1);
}

#[test]
fn datagrams_that_may_not_be_cut_are_lost_with_their_cause() {
    let flow = "app = \"cbr\"\nrate = \"100 kbit/s\"\npacket = \"1000 B\"\ndatagrams = 20";
    let done = result(&path("mtu = \"576 B\"", flow));
    assert_eq!(metric(&done, "links", 2, "drops_too_big"), 20.0);
    assert_eq!(metric(&done, "flows", 0, "loss_rate"), 1.0);
}

/// Over a link protocol, each fragment is a frame. A segment that TCP retransmits while the link
/// still tries some of its fragments counts as competing.
#[test]
fn fragments_go_as_frames_over_a_link_with_a_protocol() {
    let text = "[tcp]\nvariant = \"reno\"\nmss = \"512 B\"\nreceive_window = \"4096 B\"\n\
        [[links]]\nbetween = [\"fh\", \"bs\"]\ndown = { rate = \"10 Mbit/s\", delay = \"20 ms\" }\n\
        [[links]]\nbetween = [\"bs\", \"mh\"]\n\
        down = { rate = \"19.2 kbit/s\", delay = \"0 s\", mtu = \"128 B\", fragments = \"wong1998\", \
        channel = { loss = 0.3 } }\narq = { protocol = \"rlp\" }\n\
        [[flows]]\nfrom = \"fh\"\nto = \"mh\"\nsize = \"102400 B\"\ndont_fragment = false\n\
        reassembly_timeout = \"60 s\"\n";
    let done = result(text);
    assert_eq!(metric(&done, "flows", 0, "completed"), 1.0);
    assert_eq!(metric(&done, "links", 2, "drops"), 0.0);
    assert!(
        metric(&done, "links", 2, "packets") >= 1000.0,
        "200 segments of five"
    );
}

/// A datagram of a real program is fragmented. With DF it is dropped, and its host gets a message 20
/// ms after it was sent.
#[test]
fn packets_of_real_programs_are_cut_or_refused() {
    let scenario = expand(&path("mtu = \"576 B\"", "size = \"1 kB\""));
    let mut live = Live::new(&scenario, 0).unwrap();
    let datagram = |dont_fragment| {
        let packet = Packet {
            ident: 7,
            ip: Ip::new(IpVersion::V4, dont_fragment),
            ..Packet::new(
                NodeId(0),
                NodeId(2),
                Payload::Udp(Datagram {
                    body: Body::of_bytes(&[5; 1472]),
                    ..Datagram::default()
                }),
            )
        };
        farlink_wire::encode(&packet, farlink_wire::Addresses::of(&packet)).unwrap()
    };
    live.send(Instant::ZERO, 0, datagram(false)).unwrap();
    live.send(Instant::ZERO, 0, datagram(true)).unwrap();
    let mut got = Vec::new();
    live.advance(Instant::from_nanos(1_000_000_000), |host, due, bytes| {
        got.push((host, due.as_nanos(), bytes.into_bytes()));
    });
    let lens: Vec<_> = got.iter().map(|g| (g.0, g.2.len())).collect();
    assert_eq!(lens, [(0, 576), (1, 572), (1, 572), (1, 396)]);
    // Two transmissions of 1.2 ms, 10 ms there, 10 ms and 460.8 us back.
    assert_eq!(got[0].1, 22_860_800);
    assert_eq!(
        got[0].2[20..28],
        [3, 4, got[0].2[22], got[0].2[23], 0, 0, 2, 64]
    );
    let data: Vec<u8> = got[1..].iter().flat_map(|g| g.2[20..].to_vec()).collect();
    assert_eq!(data, datagram(false)[20..]);
    let report = live.report(Instant::from_nanos(1_000_000_000));
    assert_eq!(report[2].metrics["drops_too_big"], 1.0);
    // The link carried data, but the number of packets that had to cross it is unknown.
    assert!(report[0].metrics["goodput_share"].is_null());
}
