//! Flows over IPv6: headers of 40 bytes, and fragmentation by the sender alone.

use crate::common::{expand, metric, result};
use farlink_sim::{Monitor, TraceOptions, trace};
use farlink_wire::pcapng::START;
use serde_json::Value;

/// Returns a path a - r with 10 ms in each direction, then r - b with 20 ms and the keys `second`
/// of its direction down.
fn path(second: &str, flow: &str) -> String {
    format!(
        "ip = \"v6\"\n[tcp]\nvariant = \"sack\"\n\
         [[links]]\nbetween = [\"a\", \"r\"]\n\
         down = {{ rate = \"10 Mbit/s\", delay = \"10 ms\" }}\n\
         [[links]]\nbetween = [\"r\", \"b\"]\n\
         down = {{ rate = \"1 Mbit/s\", delay = \"20 ms\", {second} }}\n\
         up = {{ rate = \"1 Mbit/s\", delay = \"20 ms\" }}\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    )
}

/// Returns the capture at a node: each packet with its time in nanoseconds.
fn captured(text: &str, node: &str) -> Vec<(u64, Vec<u8>)> {
    let traced = trace(
        &expand(text),
        0,
        &TraceOptions::capturing(0),
        &Monitor::default(),
    )
    .unwrap();
    let (_, file) = traced
        .captures
        .iter()
        .find(|(name, _)| name == node)
        .unwrap();
    let number = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let (mut at, mut packets) = (0, Vec::new());
    while at < file.len() {
        if number(at) == 6 {
            let nanos = u64::from(number(at + 12)) << 32 | u64::from(number(at + 16));
            let len = number(at + 20) as usize;
            packets.push((
                nanos - START.as_nanos(),
                file[at + 28..at + 28 + len].to_vec(),
            ));
        }
        at += number(at + 4) as usize;
    }
    packets
}

/// A window of 40 segments of 1440 bytes follows the handshake. Every packet has headers of 40 and
/// 20 bytes, plus its options.
#[test]
fn a_transfer_takes_the_time_of_headers_of_sixty_bytes() {
    let text = |tcp: &str, size: u32| {
        format!(
            "ip = \"v6\"\n[tcp]\nvariant = \"newreno\"\ninitial_window = 40\n\
             receive_window = \"1 MB\"\n{tcp}\n[[links]]\nbetween = [\"a\", \"b\"]\n\
             down = {{ rate = \"1 Mbit/s\", delay = \"100 ms\", queue = {{ bytes = \"60000 B\" }} }}\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"{size} B\"\n"
        )
    };
    // SYN and SYN-ACK have the options MSS and window scale. Time stamps take 12 bytes.
    for (tcp, size, syn, ack) in [
        ("", 57_600, 60 + 8, 60),
        ("timestamps = true", 57_120, 60 + 20, 72),
    ] {
        let done = result(&text(tcp, size));
        let bytes = 2 * syn + ack + 40 * 1500;
        let expected = 0.3 + f64::from(bytes) * 8e-6;
        let duration = metric(&done, "flows", 0, "duration");
        assert!(
            (duration - expected).abs() < 1e-9,
            "{duration}, not {expected}"
        );
        // The sender sends SYN, ACK, data and FIN.
        let sent = f64::from(syn + ack + 40 * 1500 + ack);
        assert_eq!(metric(&done, "links", 0, "bytes"), sent);
        assert_eq!(metric(&done, "links", 0, "packets"), 43.0);
        // All data waits while the ACK that ends the handshake is transmitted.
        assert_eq!(metric(&done, "links", 0, "drops"), 0.0);
        let tight = text(tcp, size).replace("60000 B", "59999 B");
        assert_eq!(metric(&result(&tight), "links", 0, "drops"), 1.0);
    }
}

/// A run over IPv6 equals, in all metrics of flows, a run over IPv4 with 20 bytes more overhead on
/// every link.
#[test]
fn a_header_is_its_bytes_and_nothing_else() {
    let text = |ip: &str, more: &str, agent: &str, flows: &str| {
        let (name, overhead) = match ip {
            "v6" => ("ip = \"v6\"\n", 4),
            _ => ("", 24),
        };
        format!(
            "{name}seed = 5\nmax_duration = \"10 min\"\n[tcp]\nmss = \"1440 B\"\n{more}\n\
             [[links]]\nbetween = [\"fixed\", \"base\"]\n\
             down = {{ rate = \"10 Mbit/s\", delay = \"10 ms\", overhead = \"{overhead} B\" }}\n\
             [[links]]\nname = \"radio\"\nbetween = [\"base\", \"mobile\"]\n\
             down = {{ rate = \"2 Mbit/s\", delay = \"5 ms\", overhead = \"{overhead} B\", \
             queue = {{ packets = 20 }}, channel = {{ loss = 0.02, ber = 1e-6, corrupt = 0.01, \
             duplicate = 0.01 }} }}\n\
             up = {{ rate = \"2 Mbit/s\", delay = \"5 ms\", overhead = \"{overhead} B\" }}\n\
             {agent}[[flows]]\nfrom = \"fixed\"\nto = \"mobile\"\n{flows}\n"
        )
    };
    let agent = |kind: &str| {
        format!("[[agents]]\nat = \"base\"\nwireless = \"radio\"\nkind = \"{kind}\"\n")
    };
    let file = "size = \"800 kB\"";
    let cases = [
        ("variant = \"sack\"\ntimestamps = true", String::new(), file),
        ("variant = \"bbr\"", String::new(), file),
        ("variant = \"peach\"", String::new(), file),
        (
            "variant = \"reno\"",
            String::new(),
            "app = \"http\"\npages = 3",
        ),
        (
            "",
            String::new(),
            "app = \"cbr\"\nrate = \"1 Mbit/s\"\ndatagrams = 500",
        ),
        (
            "",
            String::new(),
            "app = \"xtp\"\nrate = \"1 Mbit/s\"\nsize = \"500 kB\"",
        ),
        ("variant = \"reno\"", agent("snoop"), file),
        (
            "variant = \"reno\"\nackp = \"restart\"",
            agent("ackp"),
            file,
        ),
        ("variant = \"eln\"\neln = \"agent\"", agent("eln"), file),
        (
            "variant = \"eln\"\neln = \"agent\"",
            agent("seqcache"),
            file,
        ),
        ("variant = \"sack\"", agent("spoof"), file),
    ];
    for (tcp, agent, flows) in cases {
        let is_udp = flows.contains("cbr") || flows.contains("xtp");
        let of = |ip| {
            let mut text = text(ip, tcp, &agent, flows);
            if is_udp {
                text = text.replace("[tcp]\nmss = \"1440 B\"\n", "");
            }
            result(&text)
        };
        let (v4, v6) = (of("v4"), of("v6"));
        assert_eq!(v4["flows"], v6["flows"], "{tcp}, {agent}, {flows}");
        // An agent counts the bytes of packets with their headers.
        let agents = |r: &Value| {
            let mut counted = r["agents"][0]["metrics"].clone();
            let counters = counted.as_object_mut().into_iter();
            counters.for_each(|counter| counter.retain(|name, _| !name.starts_with("bytes_held")));
            counted
        };
        assert_eq!(agents(&v4), agents(&v6), "{tcp}, {agent}");
        for link in 0..4 {
            let of = |r, what| metric(r, "links", link, what);
            assert_eq!(of(&v4, "packets"), of(&v6, "packets"));
            assert_eq!(of(&v4, "drops"), of(&v6, "drops"));
            let more = of(&v6, "bytes") - of(&v4, "bytes");
            assert_eq!(more, 20.0 * of(&v4, "packets"), "{tcp}, {agent}, {flows}");
        }
    }
}

/// The message arrives 20 ms after the packets were sent. A window with segments of 1440 bytes was
/// too long, and each segment is retransmitted as 1220 and 220 bytes.
#[test]
fn a_tcp_finds_the_path_mtu_in_one_round_trip() {
    let flow = "size = \"500 kB\"\ntcp = { initial_window = 4 }";
    let done = result(&path("mtu = \"1280 B\"", flow));
    assert_eq!(metric(&done, "flows", 0, "completed"), 1.0);
    assert_eq!(metric(&done, "links", 2, "drops_too_big"), 4.0);
    assert_eq!(metric(&done, "links", 2, "drops"), 4.0);
    assert_eq!(metric(&done, "flows", 0, "lost_too_big"), 4.0);
    assert_eq!(metric(&done, "flows", 0, "timeouts"), 0.0);
    assert_eq!(metric(&done, "flows", 0, "segments_retransmitted"), 8.0);
    let packets = captured(&path("mtu = \"1280 B\"", flow), "b");
    let lens: Vec<_> = packets.iter().map(|(_, bytes)| bytes.len()).collect();
    assert_eq!(lens.iter().max(), Some(&1280));
    // An MTU that all packets fit changes nothing.
    let text = path("mtu = \"1500 B\"", flow);
    assert_eq!(metric(&result(&text), "links", 2, "drops"), 0.0);
    let short = text.replace("1500 B", "1499 B");
    assert_eq!(metric(&result(&short), "links", 2, "drops_too_big"), 4.0);
}

const DATAGRAMS: &str = "app = \"cbr\"\nrate = \"100 kbit/s\"\npacket = \"1400 B\"";

/// The first of 20 datagrams is too long for the second link. Its sender learns this and fragments
/// the others: 1408 bytes of UDP are sent as 1232 and 176 bytes, each after headers of 48 bytes.
#[test]
fn a_udp_sender_fragments_to_the_path_mtu() {
    let text = path("mtu = \"1280 B\"", &format!("{DATAGRAMS}\ndatagrams = 20"));
    let done = result(&text);
    assert_eq!(metric(&done, "links", 2, "drops_too_big"), 1.0);
    assert_eq!(metric(&done, "flows", 0, "lost_too_big"), 1.0);
    assert_eq!(metric(&done, "flows", 0, "loss_rate"), 1.0 / 20.0);
    assert_eq!(metric(&done, "links", 0, "packets"), 39.0);
    let bytes = 1448.0 + 19.0 * (1280.0 + 224.0);
    assert_eq!(metric(&done, "links", 0, "bytes"), bytes);
    assert_eq!(metric(&done, "links", 2, "bytes"), bytes - 1448.0);
    // The message takes 10 ms there and 10 ms back. Datagrams sent in this time are lost as well.
    let burst = text.replace("100 kbit/s", "1120 kbit/s");
    assert_eq!(metric(&result(&burst), "links", 2, "drops_too_big"), 3.0);
    // A second flow between the two hosts uses the known MTU.
    let second = "[[flows]]\nfrom = \"a\"\nto = \"b\"\nstart = \"1 s\"\n";
    let two = result(&format!("{text}{second}{DATAGRAMS}\ndatagrams = 5\n"));
    assert_eq!(metric(&two, "links", 2, "drops_too_big"), 1.0);
    assert_eq!(metric(&two, "flows", 1, "loss_rate"), 0.0);

    let (sent, received) = (captured(&text, "a"), captured(&text, "b"));
    assert_eq!((sent.len(), received.len()), (39, 38));
    let place = |bytes: &[u8]| u16::from_be_bytes([bytes[42], bytes[43]]);
    let fragments = |packets: &[(u64, Vec<u8>)]| -> Vec<_> {
        let fragment = packets.iter().filter(|(_, bytes)| bytes[6] == 44);
        fragment
            .map(|(_, bytes)| (bytes.len(), bytes[40], place(bytes)))
            .collect()
    };
    // The payload is UDP. More fragments follow the first (1), and the second starts at byte 1232.
    let pair = [(1280, 17, 1), (224, 17, 1232)];
    for pieces in [fragments(&sent), fragments(&received)] {
        assert_eq!(pieces, pair.repeat(19));
    }
    // Both fragments of a datagram have its identification, which no other datagram has.
    let idents: Vec<_> = received
        .iter()
        .map(|(_, bytes)| bytes[44..48].to_vec())
        .collect();
    let different: std::collections::BTreeSet<_> = idents.iter().collect();
    assert!(idents.chunks(2).all(|pair| pair[0] == pair[1]) && different.len() == 19);
}

/// A host knows the MTU of its own link from the start.
#[test]
fn a_sender_fragments_to_the_mtu_of_its_own_link() {
    let text = "ip = \"v6\"\n[[links]]\nbetween = [\"a\", \"b\"]\n\
         down = { rate = \"1 Mbit/s\", delay = \"20 ms\", mtu = \"1500 B\", channel = { loss = 0.05 } }\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"cbr\"\nrate = \"400 kbit/s\"\n\
         packet = \"4000 B\"\ndatagrams = 20000\n";
    let done = result(text);
    assert_eq!(metric(&done, "links", 0, "drops_too_big"), 0.0);
    // 4008 bytes are sent as three fragments of up to 1448 bytes, in packets of 1496, 1496 and 1160
    // bytes.
    assert_eq!(metric(&done, "links", 0, "packets"), 60_000.0);
    assert_eq!(
        metric(&done, "links", 0, "bytes"),
        20_000.0 * (4008.0 + 3.0 * 48.0)
    );
    let loss = metric(&done, "flows", 0, "loss_rate");
    let expected = 1.0 - 0.95f64.powi(3);
    // The bound is four standard deviations of 20,000 draws.
    let room = 4.0 * (expected * (1.0 - expected) / 20_000.0).sqrt();
    assert!((loss - expected).abs() < room, "{loss}, not {expected}");
    assert_eq!(
        metric(&done, "flows", 0, "lost_reassembly"),
        metric(&done, "links", 0, "drops_reassembly")
    );
    // The last incomplete datagram is given up 60 s after its first fragment (RFC 8200, 4.5).
    let fits = text
        .replace("4000 B", "1452 B")
        .replace("loss = 0.05", "loss = 0");
    let fits = result(&fits);
    assert_eq!(metric(&fits, "links", 0, "packets"), 20_000.0);
    let one_more = text
        .replace("4000 B", "1453 B")
        .replace("loss = 0.05", "loss = 0");
    assert_eq!(metric(&result(&one_more), "links", 0, "packets"), 40_000.0);
}

/// The second of two fragments is lost, and the first waits for it for 60 s.
#[test]
fn parts_wait_a_minute_for_the_rest() {
    let flow = "app = \"cbr\"\nrate = \"100 kbit/s\"\npacket = \"2000 B\"\ndatagrams = 1";
    let text = path("channel = { scripted_loss = { packets = [2] } }", flow).replace(
        "delay = \"10 ms\" }",
        "delay = \"10 ms\", mtu = \"1500 B\" }",
    );
    let done = result(&text);
    // 1496 bytes at 10 Mbit/s and at 1 Mbit/s, 30 ms, and 60 s.
    let expected = 1496.0 * 8.0 * (1e-7 + 1e-6) + 0.03 + 60.0;
    let time = done["simulated_s"].as_f64().unwrap();
    assert!((time - expected).abs() < 1e-6, "{time}, not {expected}");
    let sooner = result(&format!("{text}reassembly_timeout = \"1 s\"\n"));
    let time = sooner["simulated_s"].as_f64().unwrap();
    assert!((time - expected + 59.0).abs() < 1e-6, "{time}");
}

/// Both ends of XTP send datagrams, which are fragmented like others.
#[test]
fn packets_of_xtp_are_cut_too() {
    let flow = "app = \"xtp\"\nrate = \"500 kbit/s\"\nsize = \"300 kB\"\npacket = \"3000 B\"";
    let done = result(&path("mtu = \"1280 B\", channel = { loss = 0.01 }", flow));
    assert_eq!(metric(&done, "flows", 0, "completed"), 1.0);
    assert!(metric(&done, "links", 2, "drops_too_big") > 0.0);
    assert!(
        metric(&done, "links", 2, "packets") > 300.0,
        "100 packets of three"
    );
}

/// Each flow has the headers of its own IP version on the shared link. RFC 1144 compresses those of
/// IPv4 only.
#[test]
fn flows_of_both_versions_share_a_link() {
    let text = |compression: &str| {
        let mut text = path(
            "queue = \"unlimited\"",
            "size = \"144000 B\"\nname = \"six\"",
        );
        text.push_str("[[flows]]\nname = \"four\"\nip = \"v4\"\nfrom = \"a\"\nto = \"b\"\n");
        text.push_str("size = \"146000 B\"\nstart = \"10 s\"\n");
        text.replace(
            "[[flows]]\nfrom",
            &format!("{compression}\n[[flows]]\nfrom"),
        )
    };
    let plain = text("");
    let (four, six): (Vec<_>, Vec<_>) = captured(&plain, "b")
        .into_iter()
        .partition(|(_, bytes)| bytes[0] >> 4 == 4);
    let longest = |packets: &[(u64, Vec<u8>)]| packets.iter().map(|(_, p)| p.len()).max();
    assert_eq!((longest(&four), longest(&six)), (Some(1500), Some(1500)));
    for (packets, sender) in [(&four, "10.0.0.1"), (&six, "fd66:6172:6c6b::1")] {
        let (fields, segment) = farlink_wire::decode(&packets[0].1).unwrap();
        assert_eq!(fields.addresses.src.to_string(), sender);
        assert_eq!(
            segment.options.mss,
            Some(if sender.contains(':') { 1440 } else { 1460 })
        );
    }
    let done = result(&text("header_compression = \"rfc1144\""));
    assert_eq!(metric(&done, "flows", 0, "completed"), 1.0);
    let compressed = metric(&done, "links", 2, "vj_compressed");
    assert!((99.0..110.0).contains(&compressed), "{compressed} of IPv4");
}

/// A host learns each shorter MTU on a path, and each path to another host separately.
#[test]
fn a_sender_learns_each_path_mtu_separately() {
    let link = |a: &str, b: &str, mtu: &str| {
        format!(
            "[[links]]\nbetween = [\"{a}\", \"{b}\"]\n\
             down = {{ rate = \"10 Mbit/s\", delay = \"10 ms\"{mtu} }}\n\
             up = {{ rate = \"10 Mbit/s\", delay = \"10 ms\" }}\n"
        )
    };
    let links = [
        link("a", "r", ""),
        link("r", "s", ", mtu = \"1400 B\""),
        link("s", "b", ", mtu = \"1300 B\""),
        link("r", "c", ", mtu = \"1350 B\""),
    ]
    .concat();
    let flow = |to: &str, what: &str| format!("[[flows]]\nfrom = \"a\"\nto = \"{to}\"\n{what}\n");
    let datagrams = "app = \"cbr\"\nrate = \"100 kbit/s\"\npacket = \"3000 B\"\ndatagrams = 10";
    let text = format!(
        "ip = \"v6\"\n{links}{}{}",
        flow("b", datagrams),
        flow("c", datagrams)
    );
    let done = result(&text);
    // To the first host, the first datagram is lost whole, and the second in fragments for 1400
    // bytes. To the other host, only the first is lost.
    assert_eq!(metric(&done, "flows", 0, "loss_rate"), 2.0 / 10.0);
    assert_eq!(metric(&done, "flows", 1, "loss_rate"), 1.0 / 10.0);
    // Of the three fragments of 3008 bytes, the two of 1400 bytes are too long for the last link,
    // and the one of 320 bytes is not.
    let too_long = [2, 4, 6].map(|link| metric(&done, "links", link, "drops_too_big"));
    assert_eq!(too_long, [1.0, 2.0, 1.0]);
    let tcp = result(&format!(
        "ip = \"v6\"\n{links}{}",
        flow("b", "size = \"300 kB\"")
    ));
    assert_eq!(metric(&tcp, "flows", 0, "completed"), 1.0);
    assert_eq!(metric(&tcp, "flows", 0, "timeouts"), 0.0);
    let longest = captured(
        &format!("ip = \"v6\"\n{links}{}", flow("b", "size = \"300 kB\"")),
        "b",
    );
    let longest = longest.iter().map(|(_, bytes)| bytes.len()).max();
    assert_eq!(longest, Some(1300));
}
