use super::*;
use farlink_tcp::segment::TCP_HEADER_LEN;
use farlink_tcp::variant;
use farlink_tcp::{Body, Extra, Options};
use farlink_wire::icmp;

const SERVER: NodeId = NodeId(0);
const CLIENT: NodeId = NodeId(2);
const PORT: u16 = 5001;

fn config(name: &str, services: &[(u16, Service)], size: Option<u64>) -> EndpointConfig {
    EndpointConfig {
        host: name.into(),
        tcp: Arc::new((variant::lookup("sack").unwrap().config)()),
        ip: IpVersion::V4,
        services: services.to_vec(),
        quic: None,
        fetch: size.map(|size| Fetch {
            host: "server".into(),
            port: PORT,
            size,
        }),
    }
}

fn server(services: &[(u16, Service)]) -> Endpoint {
    Endpoint::new(SERVER, &config("server", services, None), None).unwrap()
}

fn client(size: u64) -> Endpoint {
    Endpoint::new(CLIENT, &config("client", &[], Some(size)), Some(SERVER)).unwrap()
}

/// Builds a client that fetches `size` bytes over this IP version.
fn client_by(ip: IpVersion, size: u64) -> Endpoint {
    let mut config = EndpointConfig {
        ip,
        ..config("client", &[], Some(size))
    };
    Arc::make_mut(&mut config.tcp).mss = 1500 - ip.header_len() - TCP_HEADER_LEN;
    Endpoint::new(CLIENT, &config, Some(SERVER)).unwrap()
}

/// Carries packets with a delay of 10 ms in each direction until the client has finished. `treat`
/// gets the number and the bytes of each packet, may change the bytes of the first copy, and
/// returns the number of copies to deliver.
fn carry(a: &mut Endpoint, b: &mut Endpoint, mut treat: impl FnMut(u64, &mut Vec<u8>) -> usize) {
    let delay = Interval::from_millis(10);
    let (mut now, mut count) = (Instant::ZERO, 0);
    let mut in_flight: BTreeMap<(Instant, u64), (bool, Vec<u8>)> = BTreeMap::new();
    while b.is_fetching() {
        for (to_b, end) in [(true, &mut *a), (false, &mut *b)] {
            if end.next_timeout().is_some_and(|at| at <= now) {
                end.on_timeout(now);
            }
            while let Some(packet) = end.poll_transmit() {
                let mut first = packet.clone();
                let copies = treat(count, &mut first);
                for copy in 0..copies {
                    count += 1;
                    let bytes = if copy == 0 {
                        first.clone()
                    } else {
                        packet.clone()
                    };
                    in_flight.insert((now + delay, count), (to_b, bytes));
                }
                count += 1;
            }
        }
        let timers = [a.next_timeout(), b.next_timeout()];
        let arrival = in_flight.keys().next().map(|key| key.0);
        let next = timers.into_iter().flatten().chain(arrival).min();
        now = next.expect("nothing is due, and the client waits");
        assert!(now < Instant::from_nanos(600_000_000_000), "no end");
        while let Some(entry) = in_flight.first_entry().filter(|e| e.key().0 <= now) {
            let (to_b, bytes) = entry.remove();
            if to_b { &mut *b } else { &mut *a }.receive(now, &bytes);
        }
    }
}

fn segment(to: u16, flags: Flags) -> Segment {
    Segment {
        src_port: 40_000,
        dst_port: to,
        seq: Seq(100),
        ack: Seq(7),
        flags,
        window: 1000,
        ..Segment::default()
    }
}

fn packet(segment: Segment) -> Vec<u8> {
    packet_by(IpVersion::V4, segment)
}

fn packet_by(ip: IpVersion, segment: Segment) -> Vec<u8> {
    let mut out = VecDeque::new();
    push(&mut out, CLIENT, address_of(SERVER, ip), &mut 0, segment);
    out.pop_front().unwrap()
}

fn answer(endpoint: &mut Endpoint) -> Option<(IpAddr, Segment)> {
    let bytes = endpoint.poll_transmit()?;
    let (fields, segment) = farlink_wire::decode(&bytes).unwrap();
    let ip = version(fields.addresses.src);
    assert_eq!(fields.addresses.src, address_of(SERVER, ip));
    Some((fields.addresses.dst, segment))
}

#[test]
fn a_transfer_is_whole_over_a_clean_path() {
    for size in [0, 1, 1460, 65_536, 1_000_001] {
        let (mut a, mut b) = (server(&[(PORT, Service::Data(size))]), client(size));
        carry(&mut a, &mut b, |_, _| 1);
        let got = b.report().fetched.unwrap();
        assert_eq!((got.bytes, got.correct, &got.failure), (size, true, &None));
        assert!(got.duration >= Interval::from_millis(40), "two round trips");
        assert_eq!(a.report().stats.segments_retransmitted, 0);
        assert_eq!(a.report().dropped, Dropped::default());
    }
}

/// The program stops at a full send buffer, continues later, and closes after the last byte.
#[test]
fn a_transfer_is_whole_through_a_small_send_buffer() {
    for send_buffer in [1, 1000, 16_384] {
        let size = 20 * send_buffer + 1;
        let mut small = config("server", &[(PORT, Service::Data(size))], None);
        small.tcp = Arc::new(Config {
            send_buffer,
            ..(*small.tcp).clone()
        });
        let mut a = Endpoint::new(SERVER, &small, None).unwrap();
        let mut b = client(size);
        carry(&mut a, &mut b, |_, _| 1);
        let got = b.report().fetched.unwrap();
        assert_eq!((got.bytes, got.correct, &got.failure), (size, true, &None));
        // The sender sends at most one send buffer per round trip of 20 ms.
        assert!(got.duration >= Interval::from_millis(20 * 20), "{got:?}");
    }
}

/// Lost data is retransmitted, duplicate data counts once, and a corrupted packet is dropped
/// because of its checksum. Each case is counted.
#[test]
fn a_transfer_is_whole_over_a_bad_path() {
    let size = 500_000;
    let (mut a, mut b) = (server(&[(PORT, Service::Data(size))]), client(size));
    let (mut changed, mut gone) = (0, 0);
    carry(&mut a, &mut b, |n, bytes| match n % 50 {
        7 | 8 => {
            gone += u64::from(bytes.len() > 1000);
            0
        }
        13 => 2,
        29 | 30 => {
            changed += 1;
            gone += u64::from(bytes.len() > 1000);
            *bytes.last_mut().unwrap() ^= 1;
            1
        }
        _ => 1,
    });
    let got = b.report().fetched.unwrap();
    assert!(got.correct);
    assert!(gone > 2);
    assert!(a.report().stats.segments_retransmitted >= gone);
    let dropped = a.report().dropped.checksum + b.report().dropped.checksum;
    assert!(dropped > 2);
    assert!(
        (dropped..=dropped + 1).contains(&changed),
        "the last may be under way"
    );
}

/// A transfer is only correct if it has the expected length.
#[test]
fn a_short_or_a_long_transfer_is_not_correct() {
    for served in [99_999, 100_001] {
        let (mut a, mut b) = (server(&[(PORT, Service::Data(served))]), client(100_000));
        carry(&mut a, &mut b, |_, _| 1);
        assert!(!b.report().fetched.unwrap().correct, "{served}");
    }
}

/// A refused fetch is repeated for 10 s, and then fails.
#[test]
fn a_refused_fetch_is_repeated_and_then_fails() {
    let (mut a, mut b) = (server(&[]), client(1000));
    carry(&mut a, &mut b, |_, _| 1);
    let got = b.report().fetched.unwrap();
    assert_eq!(got.failure, Some(Failure::Closed(CloseReason::Refused)));
    assert!(!got.correct);
    // An attempt takes 20 ms until the reset, and the next follows 50 ms later.
    assert_eq!(a.report().dropped.no_port, 10_000 / 70 + 2);
}

#[test]
fn the_echo_service_returns_the_data() {
    let mut a = server(&[(7, Service::Echo)]);
    let now = Instant::ZERO;
    a.receive(now, &packet(segment(7, Flags::SYN)));
    let (_, syn_ack) = answer(&mut a).unwrap();
    assert!(syn_ack.flags.has(Flags::SYN.with(Flags::ACK)));
    let data = Segment {
        seq: Seq(101),
        ack: syn_ack.seq.at(1),
        body: Body::of_bytes(b"hello"),
        ..segment(7, Flags::ACK.with(Flags::FIN))
    };
    a.receive(now, &packet(data));
    let sent: Vec<_> = std::iter::from_fn(|| answer(&mut a)).map(|x| x.1).collect();
    let text: Vec<u8> = sent
        .iter()
        .flat_map(|s| s.body.bytes().unwrap_or_default())
        .copied()
        .collect();
    assert_eq!(text, b"hello");
    assert!(sent.iter().any(|s| s.flags.has(Flags::FIN)), "{sent:?}");
}

/// The reset has the sequence number that RFC 9293, 3.10.7.1 requires.
#[test]
fn a_port_that_nothing_listens_on_answers_with_a_reset() {
    let mut a = server(&[(PORT, Service::Discard)]);
    a.receive(Instant::ZERO, &packet(segment(81, Flags::SYN)));
    let (to, reset) = answer(&mut a).unwrap();
    assert_eq!(to, address_of(CLIENT, IpVersion::V4));
    assert_eq!((reset.src_port, reset.dst_port), (81, 40_000));
    assert_eq!(
        (reset.flags, reset.ack),
        (Flags::RST.with(Flags::ACK), Seq(101))
    );
    // A segment without a connection, to a port with a service.
    a.receive(Instant::ZERO, &packet(segment(PORT, Flags::ACK)));
    let (_, reset) = answer(&mut a).unwrap();
    assert_eq!((reset.flags, reset.seq), (Flags::RST, Seq(7)));
    // A reset is not answered.
    a.receive(Instant::ZERO, &packet(segment(81, Flags::RST)));
    assert_eq!(answer(&mut a), None);
    assert_eq!(a.report().dropped.no_port, 3);
    assert_eq!(a.report().accepted, 0);
}

/// Packets over IPv6 have the same length as over IPv4, so segments are shorter.
#[test]
fn a_transfer_over_ipv6_is_whole_and_its_packets_are_as_long() {
    for (ip, mss) in [(IpVersion::V4, 1460), (IpVersion::V6, 1440)] {
        let mut a = server(&[(PORT, Service::Data(300_000))]);
        let mut b = client_by(ip, 300_000);
        let (mut longest, mut offers) = (0, Vec::new());
        carry(&mut a, &mut b, |n, bytes| {
            longest = longest.max(bytes.len());
            let (fields, segment) = farlink_wire::decode(bytes).unwrap();
            offers.extend(segment.options.mss);
            assert_eq!(version(fields.addresses.src), ip);
            usize::from(n != 60)
        });
        assert!(b.report().fetched.unwrap().correct);
        assert_eq!((longest, &offers[..]), (1500, &[mss, mss][..]));
        assert!(a.report().stats.segments_retransmitted > 0);
        assert_eq!(a.report().dropped, Dropped::default());
    }
    // The MSS of a configuration for IPv6 fits the IPv6 header.
    let six = EndpointConfig {
        ip: IpVersion::V6,
        ..config("server", &[], None)
    };
    let lengths = |config| {
        let host = Endpoint::new(SERVER, config, None).unwrap();
        [IpVersion::V4, IpVersion::V6].map(|ip| host.tcp_over(ip).mss)
    };
    assert_eq!(lengths(&six), [1480, 1460]);
    assert_eq!(lengths(&config("server", &[], None)), [1460, 1440]);
}

/// After "packet too big", the data is retransmitted in packets of 1,280 bytes.
#[test]
fn packet_too_big_lowers_the_mtu() {
    let mut a = server(&[(PORT, Service::Data(200_000))]);
    let mut b = client_by(IpVersion::V6, 200_000);
    let mut too_long = Vec::new();
    let (mut now, mut longest) = (Instant::ZERO, 0);
    while b.is_fetching() {
        for end in [&mut a, &mut b] {
            if end.next_timeout().is_some_and(|at| at <= now) {
                end.on_timeout(now);
            }
        }
        while let Some(bytes) = b.poll_transmit() {
            a.receive(now, &bytes);
        }
        while let Some(bytes) = a.poll_transmit() {
            if bytes.len() > 1280 {
                let about = Raw::new(bytes).unwrap();
                too_long.extend(about.error_of(NodeId(1), IcmpError::TooBig(1280)));
            } else {
                longest = longest.max(bytes.len());
                b.receive(now, &bytes);
            }
        }
        for word in too_long.drain(..) {
            a.receive(now, word.bytes());
        }
        now += Interval::from_millis(1);
        assert!(now < Instant::from_nanos(60_000_000_000), "no end");
    }
    assert!(b.report().fetched.unwrap().correct);
    let stats = a.report().stats;
    assert_eq!((longest, stats.timeouts), (1280, 0));
}

#[test]
fn a_bad_packet_of_ipv6_is_dropped_for_its_reason() {
    let mut a = server(&[(PORT, Service::Discard)]);
    let good = packet_by(IpVersion::V6, segment(PORT, Flags::SYN));
    let mut bad = |change: fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        a.receive(Instant::ZERO, &bytes);
        assert!(a.poll_transmit().is_none());
    };
    bad(|b| b[45] ^= 4);
    bad(|b| b[6] = 58);
    bad(|b| {
        b[5] += 8;
        b[6] = 44;
        b.splice(40..40, [6, 0, 0, 1, 0, 0, 0, 0]);
    });
    bad(|b| b.truncate(39));
    let each_once = Dropped {
        checksum: 1,
        not_tcp: 1,
        fragment: 1,
        malformed: 1,
        ..Dropped::default()
    };
    assert_eq!(a.report().dropped, each_once);
    a.receive(Instant::ZERO, &good);
    let (to, _) = answer(&mut a).unwrap();
    assert_eq!(to, address_of(CLIENT, IpVersion::V6));
}

#[test]
fn each_bad_packet_is_dropped_for_its_reason() {
    let mut a = server(&[(PORT, Service::Discard)]);
    let good = packet(segment(PORT, Flags::SYN));
    let mut bad = |change: fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        // Computes the IPv4 header checksum again, because the engine checks it before the
        // endpoint.
        let sum = |bytes: &[u8]| {
            let words = bytes[..20].chunks(2);
            let sum: u32 = words.map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
            !((sum & 0xffff) + (sum >> 16)) as u16
        };
        bytes[10..12].fill(0);
        let sum = sum(&bytes).to_be_bytes();
        bytes[10..12].copy_from_slice(&sum);
        a.receive(Instant::ZERO, &bytes);
        assert!(a.poll_transmit().is_none());
        a.report().dropped
    };
    assert_eq!(bad(|b| b[25] ^= 4).checksum, 1);
    assert_eq!(bad(|b| b[9] = 17).not_tcp, 1);
    assert_eq!(bad(|b| b[6] = 0x20).fragment, 1);
    assert_eq!(bad(|b| b[32] = 0x10).malformed, 1, "a header of 4 bytes");
    let all = bad(|b| {
        b.truncate(30);
        b[3] = 30;
    });
    let each_once = Dropped {
        checksum: 1,
        not_tcp: 1,
        fragment: 1,
        malformed: 2,
        ..Dropped::default()
    };
    assert_eq!(all, each_once);
}

fn syn(port: u16) -> Vec<u8> {
    packet(Segment {
        src_port: port,
        options: Options::default(),
        ..segment(PORT, Flags::SYN)
    })
}

/// Computes `next_timeout` without the set of timers.
fn first_timer(endpoint: &Endpoint) -> Option<Instant> {
    let timers = endpoint.open.values().map(|o| o.connection.next_timeout());
    timers.flatten().min()
}

/// A SYN beyond the limit of connections is dropped.
#[test]
fn a_syn_beyond_the_connection_limit_is_dropped() {
    let mut a = server(&[(PORT, Service::Discard)]);
    for port in 0..=MAX_CONNECTIONS as u16 {
        a.receive(Instant::ZERO, &syn(1000 + port));
        let answered = answer(&mut a);
        assert_eq!(answered.is_some(), usize::from(port) < MAX_CONNECTIONS);
        let Some((_, syn_ack)) = answered else { break };
        let ack = Segment {
            src_port: 1000 + port,
            seq: Seq(101),
            ack: syn_ack.seq.at(1),
            ..segment(PORT, Flags::ACK)
        };
        a.receive(Instant::ZERO, &packet(ack));
    }
    assert_eq!(a.report().dropped.full, 1);
    assert_eq!(a.report().accepted, MAX_CONNECTIONS as u64);
    assert!(a.half_open.is_empty());
}

/// A flood of SYNs uses a limited number of connections and timers, and a client during the flood
/// is served.
#[test]
fn a_flood_of_syns_shuts_nobody_out() {
    let mut a = server(&[(PORT, Service::Discard)]);
    let at = |port: u16| Instant::ZERO + Interval::from_micros(u64::from(port));
    let mut meant = None;
    for port in 1..10_000 {
        a.receive(at(port), &syn(port));
        let (_, answered) = answer(&mut a).unwrap();
        if port == 5000 {
            meant = Some(answered.seq);
        }
        if port == 5100 {
            let ack = Segment {
                src_port: 5000,
                seq: Seq(101),
                ack: meant.unwrap().at(1),
                ..segment(PORT, Flags::ACK)
            };
            a.receive(at(port), &packet(ack));
        }
        assert!(a.half_open.len() <= BACKLOG && a.open.len() <= BACKLOG + 1);
        assert!(a.timers.len() <= a.open.len());
        assert_eq!(a.next_timeout(), first_timer(&a));
    }
    let open = |o: &&Open| o.connection.state() == State::Established;
    assert_eq!(a.open.values().filter(open).count(), 1);
    assert_eq!(a.report().dropped.full, 9_999 - 1 - BACKLOG as u64);
    // Handshakes without an answer expire one by one.
    while let Some(next) = a.next_timeout() {
        assert_eq!(Some(next), first_timer(&a));
        a.on_timeout(next);
        while a.poll_transmit().is_some() {}
    }
    assert_eq!((a.open.len(), a.half_open.len(), a.timers.len()), (1, 0, 0));
}

/// The receiver requests corrupted data again, and the sender does not treat the loss as
/// congestion. No time-out occurs, and the window does not shrink.
#[test]
fn explicit_loss_notification_works_by_checksum() {
    let run = |tcp: &str| {
        let with = |mut config: EndpointConfig| {
            config.tcp = Arc::new((variant::lookup(tcp).unwrap().config)());
            if tcp == "eln" {
                Arc::make_mut(&mut config.tcp).notices.eln = Eln::Checksum;
            }
            config
        };
        let served = [(PORT, Service::Data(500_000))];
        let mut a = Endpoint::new(SERVER, &with(config("server", &served, None)), None).unwrap();
        let fetching = with(config("client", &[], Some(500_000)));
        let mut b = Endpoint::new(CLIENT, &fetching, Some(SERVER)).unwrap();
        carry(&mut a, &mut b, |n, bytes| {
            if n % 40 == 18 && bytes.len() > 1000 {
                *bytes.last_mut().unwrap() ^= 1;
            }
            1
        });
        let got = b.report();
        assert!(got.fetched.as_ref().unwrap().correct);
        assert!(got.dropped.checksum > 3);
        (got.fetched.unwrap().duration, a.report().stats)
    };
    let (with, stats) = run("eln");
    let (without, _) = run("newreno");
    assert!(with < without, "{with:?} {without:?}");
    assert_eq!(stats.timeouts, 0);
}

/// An EBSN of a base station restarts the retransmission timer of its connection if `ebsn` is set.
/// An EBSN that is corrupted, or that refers to no connection, is dropped and counted.
#[test]
fn an_ebsn_restarts_the_retransmission_timer() {
    let run = |ebsn: bool, ip: IpVersion| {
        let mut config = config("server", &[(PORT, Service::Data(100_000))], None);
        Arc::make_mut(&mut config.tcp).notices.ebsn = ebsn;
        let mut a = Endpoint::new(SERVER, &config, None).unwrap();
        let mut b = client_by(ip, 100_000);
        // After the handshake, the next data is lost.
        let mut now = Instant::ZERO;
        let mut lost = None;
        for _ in 0..4 {
            if b.next_timeout().is_some_and(|at| at <= now) {
                b.on_timeout(now);
            }
            while let Some(bytes) = b.poll_transmit() {
                a.receive(now, &bytes);
            }
            while let Some(bytes) = a.poll_transmit() {
                if bytes.len() > 500 {
                    lost.get_or_insert(bytes);
                } else {
                    b.receive(now, &bytes);
                }
            }
            now += Interval::from_millis(10);
        }
        let bytes = lost.expect("data left");
        let due = a.next_timeout().expect("they are waited for");
        now += Interval::from_millis(100);
        let notice = |bytes: Vec<u8>| {
            let raw = Payload::Raw(Raw::new(bytes).unwrap());
            let about = Packet::new(SERVER, CLIENT, raw);
            icmp::bad_state(NodeId(1), &about).unwrap().bytes().to_vec()
        };
        a.receive(now, &notice(bytes.clone()));
        let after = a.next_timeout().unwrap();
        assert_eq!(a.report().dropped, Dropped::default());
        // Three invalid messages: corrupted, truncated, and about another port.
        let mut damaged = notice(bytes.clone());
        *damaged.last_mut().unwrap() ^= 1;
        let mut short = notice(bytes.clone());
        let header = ip.header_len() as u8;
        short.truncate(usize::from(header) + 20);
        match ip {
            IpVersion::V4 => short[3] = 40,
            IpVersion::V6 => short[5] = 20,
        }
        let mut other = bytes;
        other[usize::from(header) + 1] ^= 1;
        for bytes in [damaged, short, notice(other)] {
            a.receive(now + Interval::from_millis(50), &bytes);
        }
        assert_eq!(a.next_timeout(), Some(after));
        let dropped = a.report().dropped;
        assert_eq!(dropped.not_tcp + dropped.malformed, 3, "{dropped:?}");
        (due, after)
    };
    for ip in [IpVersion::V4, IpVersion::V6] {
        let (due, after) = run(true, ip);
        assert!(
            after > due + Interval::from_millis(100),
            "{due:?} {after:?}"
        );
        let (due, after) = run(false, ip);
        assert_eq!(due, after);
    }
}

#[test]
fn the_oracle_of_losses_is_refused() {
    let mut config = config("server", &[], None);
    assert_eq!(config.refusal(), None);
    Arc::make_mut(&mut config.tcp).notices.eln = Eln::Oracle;
    let why = config.refusal().unwrap();
    assert!(why.contains("server") && why.contains("checksum"), "{why}");
}

#[test]
fn cookies_that_a_host_cannot_have_are_refused() {
    let mut config = config("server", &[], None);
    Arc::make_mut(&mut config.tcp).fast_open = FastOpen::Request;
    assert_eq!(config.refusal(), None);
    Arc::make_mut(&mut config.tcp).fast_open = FastOpen::Cookie;
    let why = config.refusal().unwrap();
    assert!(why.contains("server") && why.contains("request"), "{why}");
}

/// A client that requests a TCP Fast Open cookie gets one. Data on a SYN with the cookie is
/// answered at once (RFC 7413).
#[test]
fn a_fast_open_cookie_lets_syn_data_be_answered() {
    let mut config = config("server", &[(PORT, Service::Echo)], None);
    Arc::make_mut(&mut config.tcp).fast_open = FastOpen::Request;
    let mut server = Endpoint::new(SERVER, &config, None).unwrap();
    let mut ask = |src_port, extra, body| {
        let mut syn = segment(PORT, Flags::SYN);
        (syn.src_port, syn.options.extra, syn.body) = (src_port, extra, body);
        server.receive(Instant::ZERO, &packet(syn));
        let (_, syn_ack) = answer(&mut server).unwrap();
        assert!(syn_ack.flags.has(Flags::SYN.with(Flags::ACK)));
        (
            syn_ack,
            answer(&mut server).map(|(_, segment)| segment.body),
        )
    };
    let (first, none) = ask(40_000, Extra::CookieRequest, Body::EMPTY);
    assert!(matches!(first.options.extra, Extra::Cookie(_)));
    assert_eq!(none, None);
    let data = Body::of_bytes(b"hello");
    let (second, echo) = ask(40_001, first.options.extra, data.clone());
    assert_eq!((second.ack, echo), (Seq(106), Some(data)));
}
