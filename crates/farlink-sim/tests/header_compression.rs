//! TCP/IP header compression (RFC 1144) over whole runs.

use crate::common::{expand, metric, result};
use farlink_sim::{ChangeError, Live, Monitor, TraceOptions, scenario, trace};
use farlink_tcp::{Body, Flags, Instant, Segment, Seq};
use farlink_wire::{NodeId, Packet, Payload};
use serde_json::Value;

fn goodput(text: &str) -> f64 {
    metric(&result(text), "flows", 0, "goodput")
}

/// Returns the study's radio link of 19.2 kbit/s after a wired link, with packets of 128 bytes.
fn radio(channel: &str, link: &str, flows: &str) -> String {
    format!(
        "[tcp]\nvariant = \"reno\"\nmss = \"88 B\"\nreceive_window = \"4096 B\"\n\
         [[links]]\nbetween = [\"fh\", \"bs\"]\n\
         down = {{ rate = \"10 Mbit/s\", delay = \"20 ms\" }}\n\
         [[links]]\nbetween = [\"bs\", \"mh\"]\n\
         down = {{ rate = \"19.2 kbit/s\", delay = \"0 s\", channel = {channel} }}\n\
         {link}\n{flows}\n"
    )
}

fn flow(app: &str) -> String {
    format!("[[flows]]\nfrom = \"fh\"\nto = \"mh\"\n{app}\n")
}

const VJ: &str = "header_compression = \"rfc1144\"";
const BULK: &str = "app = \"bulk\"\nduration = \"2000 s\"";
const CLEAN: &str = "{ loss = 0 }";

/// One-way data has three bytes of headers instead of forty, so 88 of 91 bytes are data, and not 88
/// of 128.
#[test]
fn a_lossless_link_reaches_the_goodput_of_short_headers() {
    let with = result(&radio(CLEAN, VJ, &flow(BULK)));
    let got = metric(&with, "flows", 0, "goodput");
    let expected = 19_200.0 * 88.0 / 91.0;
    assert!(
        (got / expected - 1.0).abs() < 0.001,
        "{got}, not {expected}"
    );
    let without = goodput(&radio(CLEAN, "", &flow(BULK)));
    let expected = 19_200.0 * 88.0 / 128.0;
    assert!((without / expected - 1.0).abs() < 0.001, "{without}");

    let of = |link, name| metric(&with, "links", link, name);
    // The SYN is unchanged, the first acknowledgment has a full header, and the data is compressed.
    let packets = of(2, "packets");
    assert_eq!((of(2, "vj_ip"), of(2, "vj_uncompressed")), (1.0, 1.0));
    // Packets that the link has accepted and not sent by the end are in its queue and its
    // transmitter.
    let unsent = of(2, "vj_compressed") + 2.0 - packets;
    assert!(
        (0.0..=of(2, "queue_max") + 1.0).contains(&unsent),
        "{unsent}"
    );
    assert_eq!(of(2, "vj_bytes_saved"), 37.0 * of(2, "vj_compressed"));
    // Acknowledgments of one or two segments (88 or 176 bytes) have four bytes.
    assert_eq!((of(3, "vj_ip"), of(3, "vj_uncompressed")), (1.0, 1.0));
    assert_eq!(of(3, "vj_bytes_saved"), 36.0 * of(3, "vj_compressed"));
    for link in [2, 3] {
        assert_eq!((of(link, "vj_errors"), of(link, "vj_tossed")), (0.0, 0.0));
        assert_eq!(of(link, "drops"), 0.0);
    }
    assert!(with["links"][0]["metrics"]["vj_compressed"].is_null());
}

/// With the connection number in every packet, each packet is a byte longer. So is every packet
/// after a packet of another connection.
#[test]
fn the_number_of_the_connection_takes_a_byte() {
    let link = "header_compression = { method = \"rfc1144\", compress_slot = false }";
    let got = goodput(&radio(CLEAN, link, &flow(BULK)));
    let expected = 19_200.0 * 88.0 / 92.0;
    assert!(
        (got / expected - 1.0).abs() < 0.001,
        "{got}, not {expected}"
    );
}

/// With more connections than slots, in turns, most packets have full headers.
#[test]
fn too_few_slots_compress_little() {
    let flows = flow(BULK).repeat(3);
    let part = |slots: u32| {
        let link = format!("header_compression = {{ method = \"rfc1144\", slots = {slots} }}");
        let done = result(&radio(CLEAN, &link, &flows));
        metric(&done, "links", 2, "vj_compressed") / metric(&done, "links", 2, "packets")
    };
    assert!(part(3) > 0.99, "{}", part(3));
    assert!(part(2) < 0.9 * part(3), "{}", part(2));
}

/// Below the compression, a link repairs its losses in sequence. At any loss no header is
/// decompressed wrongly, and shorter frames raise the goodput.
#[test]
fn a_link_that_recovers_in_sequence_keeps_both_ends_together() {
    for protocol in ["lapb", "mdlp", "rlp"] {
        let arq = format!("arq = {{ protocol = \"{protocol}\" }}\n");
        let text = radio("{ loss = 0.2 }", &format!("{arq}{VJ}"), &flow(BULK));
        let with = result(&text);
        for link in [2, 3] {
            let of = |name| metric(&with, "links", link, name);
            assert_eq!((of("vj_errors"), of("vj_tossed")), (0.0, 0.0));
            assert_eq!(of("drops"), 0.0);
        }
        let with = metric(&with, "flows", 0, "goodput");
        let without = goodput(&radio("{ loss = 0.2 }", &arq, &flow(BULK)));
        assert!(with > 1.1 * without, "{protocol}: {with} of {without}");
    }
}

/// A link that delivers packets out of sequence applies differences to the wrong header.
#[test]
fn reordered_headers_are_decompressed_wrongly() {
    let arq = "arq = { protocol = \"mdlp\", in_sequence = false }\n";
    let done = result(&radio("{ loss = 0.1 }", &format!("{arq}{VJ}"), &flow(BULK)));
    assert!(metric(&done, "links", 2, "vj_errors") > 100.0);
    let dropped = metric(&done, "flows", 0, "lost_checksum");
    assert!(dropped > 100.0, "{dropped}");
}

/// A lost packet costs the rest of the window and a time-out (RFC 1144, 4.2), so on a lossy link
/// compression costs TCP far more than it saves.
#[test]
fn on_a_link_that_loses_packets_compression_does_harm() {
    let lossy = "{ loss = 0.05 }";
    let with = result(&radio(lossy, VJ, &flow(BULK)));
    let of = |name| metric(&with, "links", 2, name);
    assert!(of("vj_errors") > 100.0);
    assert_eq!(of("vj_tossed"), 0.0, "a frame that vanished nobody saw");
    // Every packet with a wrong header failed its checksum, and no other packet did.
    assert_eq!(metric(&with, "flows", 0, "lost_checksum"), of("vj_errors"));
    let timeouts = metric(&with, "flows", 0, "timeouts");
    assert!(timeouts > 50.0, "{timeouts}");
    let with = metric(&with, "flows", 0, "goodput");
    let without = goodput(&radio(lossy, "", &flow(BULK)));
    assert!(with < 0.65 * without, "{with} of {without}");
}

/// Bit errors make a frame fail its check sequence. Later packets without a connection number are
/// discarded.
#[test]
fn after_bit_errors_packets_are_tossed() {
    for channel in ["{ ber = 5e-5 }", "{ corrupt = 0.04 }"] {
        let done = result(&radio(channel, VJ, &flow(BULK)));
        let of = |name| metric(&done, "links", 2, name);
        assert!(of("vj_tossed") > 50.0, "{channel}");
        assert_eq!(of("vj_errors"), 0.0, "{channel}");
        let lost = metric(&done, "flows", 0, "lost_checksum");
        assert!(lost >= of("vj_tossed"), "{channel}");
        assert_eq!(of("drops_checksum"), lost, "{channel}");
    }
}

#[test]
fn a_file_arrives_complete_over_any_link() {
    for channel in [
        "{ loss = 0.1 }",
        "{ ber = 1e-4, duplicate = 0.02 }",
        "{ corrupt = 0.05, reorder = { probability = 0.05, delay = \"200 ms\" } }",
    ] {
        for (link, flows) in [
            (VJ, flow("size = \"20 kB\"")),
            (VJ, flow("size = \"10 kB\"").repeat(3)),
            (
                "header_compression = { method = \"rfc1144\", slots = 1 }",
                flow("size = \"10 kB\"").repeat(2),
            ),
        ] {
            let done = result(&radio(channel, link, &flows));
            for n in 0..done["flows"].as_array().map_or(0, Vec::len) {
                assert_eq!(metric(&done, "flows", n, "completed"), 1.0, "{channel}");
            }
        }
    }
}

/// Time stamps change, and a changed option needs a full header.
#[test]
fn time_stamps_undo_much_of_it() {
    let text = radio(CLEAN, VJ, &flow(BULK)).replace("mss =", "timestamps = true\nmss =");
    let done = result(&text);
    let whole = metric(&done, "links", 2, "vj_uncompressed");
    let share = whole / metric(&done, "links", 2, "packets");
    // The acknowledgments of two segments are sent within the same tick of the clock.
    assert!((0.45..0.6).contains(&share), "{share}");
}

/// A mark changes the IP header, which needs a full header. TCP's ECN flags have no bit in the
/// mask, so a change of these flags gives headers with the old flags.
#[test]
fn flags_of_ecn_do_not_survive() {
    let text = radio(CLEAN, VJ, &flow(BULK))
        .replace("mss =", "ecn = true\nmss =")
        .replace("channel =", "mark = { packets = 2 }, channel =");
    let done = result(&text);
    assert!(metric(&done, "links", 2, "marks") > 10.0);
    // CWR is in one packet per round trip, and is lost there. ECE stays once it has arrived,
    // because no CWR ends it.
    assert!(metric(&done, "links", 2, "vj_errors") > 100.0);
    assert!(metric(&done, "links", 3, "vj_errors") > 0.0);
    assert_eq!(metric(&done, "flows", 0, "lost_congestion"), 0.0);
}

#[test]
fn a_run_that_is_watched_is_the_same_run() {
    let text = radio("{ ber = 5e-5 }", VJ, &flow("size = \"50 kB\"").repeat(2));
    let plain = result(&text);
    let scenario = expand(&text);
    let watched = trace(
        &scenario,
        0,
        &TraceOptions::capturing(0),
        &Monitor::default(),
    )
    .unwrap();
    let watched: Value = serde_json::from_str(&watched.outcome.to_json(&scenario)).unwrap();
    assert_eq!(plain["flows"], watched["flows"]);
    assert_eq!(plain["links"], watched["links"]);
}

/// Packets of real programs are compressed as simulated packets are, and decompressed wrongly under
/// the same conditions.
#[test]
fn packets_of_real_programs_are_compressed_too() {
    let text = "[[links]]\nbetween = [\"a\", \"b\"]\n\
         header_compression = \"rfc1144\"\n\
         down = { rate = \"8 kbit/s\", delay = \"0 s\" }\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\n";
    let mut live = Live::new(&expand(text), 0).unwrap();
    let packet = |number: u32| {
        let packet = Packet {
            ident: number as u16,
            ..Packet::new(
                NodeId(0),
                NodeId(1),
                Payload::Tcp(Segment {
                    src_port: 4000,
                    dst_port: 80,
                    seq: Seq(10 * number),
                    flags: Flags::ACK,
                    body: Body::of_bytes(b"0123456789"),
                    ..Segment::default()
                }),
            )
        };
        farlink_wire::encode(&packet, farlink_wire::Addresses::of(&packet)).unwrap()
    };
    // The packets have 50, 13 and 13 bytes, at one byte per millisecond.
    for number in 0..3 {
        live.send(Instant::ZERO, 0, packet(number)).unwrap();
    }
    let mut received = Vec::new();
    let mut take = |live: &mut Live, until_ms: u64| {
        live.advance(Instant::from_nanos(until_ms * 1_000_000), |_, due, raw| {
            received.push((due.as_nanos() / 1_000_000, raw.into_bytes()));
        });
    };
    take(&mut live, 1000);
    // After a lost packet, the next is decompressed wrongly.
    live.set(&expand(
        &text.replace("0 s\"", "0 s\", channel = { loss = 1 }"),
    ))
    .unwrap();
    live.send(Instant::from_nanos(1_000_000_000), 0, packet(3))
        .unwrap();
    take(&mut live, 2000);
    live.set(&expand(text)).unwrap();
    live.send(Instant::from_nanos(2_000_000_000), 0, packet(4))
        .unwrap();
    take(&mut live, 3000);
    let times: Vec<u64> = received.iter().map(|item| item.0).collect();
    assert_eq!(times, [50, 63, 76, 2013]);
    for (number, item) in (0..3).zip(&received) {
        assert_eq!(item.1, packet(number));
    }
    let error = farlink_wire::decode(&received[3].1).unwrap_err();
    assert_eq!(error, farlink_wire::WireError::TcpChecksum);
    let report = live.report(Instant::from_nanos(3_000_000_000));
    assert_eq!(report[0].metrics["vj_errors"], 1.0);
    let other = text.replace("\"rfc1144\"", "{ method = \"rfc1144\", slots = 3 }");
    assert_eq!(live.set(&expand(&other)), Err(ChangeError::OtherKey));
}

#[test]
fn impossible_scenarios_are_rejected() {
    let read = |link: &str| {
        let text = radio(CLEAN, link, &flow(BULK));
        scenario::load(&text, "x.toml", &[]).map_err(|e| e.to_string())
    };
    for (link, message) in [
        (
            "header_compression = \"rohc\"",
            "links[1].header_compression = \"rohc\" is unknown; write \"rfc1144\" or { method = \
             \"rfc1144\", slots = 16 }",
        ),
        (
            "header_compression = { method = \"rfc1144\", slots = 257 }",
            "links[1].header_compression.slots = 257 is out of range; write 1 to 256",
        ),
        (
            "header_compression = { method = \"rfc1144\", slots = 0 }",
            "links[1].header_compression.slots = 0 is out of range; write 1 to 256",
        ),
        (
            "header_compression = { slots = 3 }",
            "links[1].header_compression has no \"method\"",
        ),
        (
            "header_compression = { method = \"rfc1144\", slot = 3 }",
            "unknown key \"slot\" in links[1].header_compression; did you mean \"slots\"?",
        ),
    ] {
        let error = read(link).unwrap_err();
        assert!(error.contains(message), "{error}\nnot\n{message}");
    }
    let scenario = read("header_compression = \"rfc1144\"").unwrap();
    let again = scenario::load(&scenario.to_json(), "x.json", &[]).unwrap();
    assert_eq!(again, scenario);
}
