//! ICMP messages of routers to real programs, and the balance of all packets.

use crate::common::expand;
use farlink_sim::{Balance, Live, Refused};
use farlink_tcp::Instant;
use farlink_wire::{NodeId, Raw, node_address};
use std::net::Ipv4Addr;

/// Returns a path a - r - s - b with 10 Mbit/s and 1 ms each.
fn path(far: &str) -> String {
    let link = |from: &str, to: &str, more: &str| {
        format!(
            "[[links]]\nbetween = [\"{from}\", \"{to}\"]\n\
             down = {{ rate = \"10 Mbit/s\", delay = \"1 ms\" {more} }}\n\
             up = {{ rate = \"10 Mbit/s\", delay = \"1 ms\" }}\n"
        )
    };
    link("a", "r", "")
        + &link("r", "s", far)
        + &link("s", "b", "")
        + "[[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\n"
}

fn live(text: &str) -> Live {
    let scenario = expand(text);
    Live::new(&scenario, 0).unwrap_or_else(|e| panic!("{e}"))
}

fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2);
    let word = |w: &[u8]| u64::from(w[0]) << 8 | w.get(1).map_or(0, |&b| u64::from(b));
    let mut sum: u64 = words.map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Returns an IP datagram of `len` bytes in total from the first node.
fn datagram(to: Ipv4Addr, protocol: u8, ttl: u8, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    bytes[0] = 0x45;
    bytes[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    (bytes[8], bytes[9]) = (ttl, protocol);
    bytes[12..16].copy_from_slice(&node_address(NodeId(0)).octets());
    bytes[16..20].copy_from_slice(&to.octets());
    let header = !sum(&bytes[..20]);
    bytes[10..12].copy_from_slice(&header.to_be_bytes());
    bytes
}

fn echo(to: Ipv4Addr, ttl: u8, len: usize) -> Vec<u8> {
    let mut bytes = datagram(to, 1, ttl, len);
    bytes[20] = 8;
    bytes[24..28].copy_from_slice(&[1, 2, 3, 4]);
    let inside = !sum(&bytes[20..]);
    bytes[22..24].copy_from_slice(&inside.to_be_bytes());
    bytes
}

fn node(number: u32) -> Ipv4Addr {
    node_address(NodeId(number))
}

/// Returns the arrivals up to `until` in nanoseconds: number of the host, time, packet.
fn arrivals(live: &mut Live, until: u64) -> Vec<(usize, u64, Raw)> {
    let mut out = Vec::new();
    live.advance(Instant::from_nanos(until), |host, due, raw| {
        out.push((host, due.as_nanos(), raw));
    });
    out
}

fn send(live: &mut Live, at: u64, bytes: Vec<u8>) -> Result<(), Refused> {
    live.send(Instant::from_nanos(at), 0, bytes)
}

/// Returns type and code of an ICMP message.
fn kind(raw: &Raw) -> [u8; 2] {
    assert_eq!(raw.bytes()[9], 1);
    assert_eq!(sum(&raw.bytes()[20..]), 0xffff);
    [raw.bytes()[20], raw.bytes()[21]]
}

const SECOND: u64 = 1_000_000_000;

/// Traceroute finds each router at its distance, and then the host.
#[test]
fn each_router_reports_an_expired_ttl() {
    let mut live = live(&path(""));
    for (ttl, router) in [(1u8, 1u32), (2, 2)] {
        let began = u64::from(ttl) * SECOND;
        let probe = datagram(node(3), 17, ttl, 60);
        send(&mut live, began, probe.clone()).unwrap();
        let all = arrivals(&mut live, began + SECOND);
        let [(host, due, answer)] = all.as_slice() else {
            panic!("{all:?}");
        };
        assert_eq!((*host, kind(answer)), (0, [11, 0]));
        assert_eq!(
            (answer.source(), answer.destination()),
            (node(router).into(), node(0).into())
        );
        // Each link takes 48 us and 1 ms there, 70.4 us and 1 ms back.
        assert_eq!(due - began, u64::from(ttl) * 2_118_400);
        let mut quoted = probe;
        quoted[8] = 1;
        let header = {
            quoted[10..12].fill(0);
            !sum(&quoted[..20])
        };
        quoted[10..12].copy_from_slice(&header.to_be_bytes());
        assert_eq!(answer.bytes()[28..], quoted, "as the router got it");
        // The message of the second router crossed a router on its way back.
        assert_eq!(answer.ttl(), 65 - ttl);
    }
    send(&mut live, 10 * SECOND, datagram(node(3), 17, 3, 60)).unwrap();
    let all = arrivals(&mut live, 11 * SECOND);
    assert_eq!((all.len(), all[0].0, all[0].2.ttl()), (1, 1, 1));
    let report = live.report(Instant::from_nanos(11 * SECOND));
    let lost: Vec<_> = report
        .iter()
        .map(|l| l.metrics["drops_hop_limit"].as_f64())
        .collect();
    assert_eq!(lost, [1.0, 0.0, 1.0, 0.0, 0.0, 0.0].map(Some));
}

#[test]
fn a_router_answers_packets_to_its_own_address() {
    let mut live = live(&path(""));
    send(&mut live, 0, echo(node(2), 64, 84)).unwrap();
    send(&mut live, 0, datagram(node(1), 17, 64, 60)).unwrap();
    send(&mut live, 0, datagram(node(1), 6, 64, 60)).unwrap();
    // A router ignores an echo reply.
    let mut reply = echo(node(1), 64, 84);
    reply[20] = 0;
    send(&mut live, 0, reply).unwrap();
    let mut all = arrivals(&mut live, SECOND);
    all.sort_by_key(|(_, _, raw)| raw.source());
    let measured: Vec<_> = all
        .iter()
        .map(|(h, _, raw)| (*h, raw.source(), kind(raw)))
        .collect();
    assert_eq!(
        measured,
        [
            (0, node(1).into(), [3, 3]),
            (0, node(1).into(), [3, 2]),
            (0, node(2).into(), [0, 0])
        ]
    );
    let balance = live.balance();
    assert_eq!((balance.for_routers, balance.answered), (4, 3));
    assert_eq!((balance.inside, balance.missing()), (0, 0));
}

#[test]
fn a_router_without_a_route_reports_unreachable() {
    let mut live = live(&path(""));
    for to in [Ipv4Addr::new(10, 0, 0, 5), Ipv4Addr::new(192, 0, 2, 1)] {
        send(&mut live, 0, datagram(to, 17, 64, 60)).unwrap();
    }
    let all = arrivals(&mut live, SECOND);
    assert_eq!(all.len(), 2);
    for (host, _, answer) in &all {
        assert_eq!(
            (*host, answer.source(), kind(answer)),
            (0, node(1).into(), [3, 0])
        );
    }
    let report = live.report(Instant::from_nanos(SECOND));
    assert_eq!(report[0].metrics["drops_no_route"], 2.0);
    for to in [[10, 255, 255, 255], [224, 0, 0, 1], [255; 4]].map(Ipv4Addr::from) {
        let refused = send(&mut live, SECOND, datagram(to, 17, 64, 60));
        assert_eq!(refused, Err(Refused::NoHost(to.into())));
    }
}

/// Packets that have no route are refused, because no router could answer.
#[test]
fn without_a_router_packets_to_unknown_addresses_are_dropped() {
    let text = "[[links]]\nbetween = [\"a\", \"b\"]\ndown = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n\
        [[links]]\nbetween = [\"c\", \"d\"]\ndown = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n\
        [[links]]\nbetween = [\"d\", \"e\"]\ndown = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n\
        [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\n\
        [[flows]]\nfrom = \"d\"\nto = \"e\"\nsize = \"1 kB\"\n";
    let mut live = live(text);
    for to in [2, 3, 4, 9].map(node) {
        let refused = send(&mut live, 0, datagram(to, 17, 64, 60));
        assert_eq!(refused, Err(Refused::NoHost(to.into())));
    }
    // A host with two links sends to a node that neither link leads to.
    let refused = live.send(Instant::ZERO, 2, datagram(node(1), 17, 64, 60));
    assert_eq!(refused, Err(Refused::NoHost(node(1).into())));
}

/// A router sends 50 errors at once, and one more for each millisecond (RFC 1812, 4.3.2.8). Echo
/// replies are no errors.
#[test]
fn errors_are_limited_in_number() {
    let mut live = live(&path("").replace("10 Mbit/s", "10 Gbit/s"));
    for _ in 0..200 {
        send(&mut live, 0, datagram(node(3), 17, 1, 60)).unwrap();
    }
    assert_eq!(arrivals(&mut live, SECOND).len(), 50);
    assert_eq!(live.balance().limited, 150);
    // With a packet every half millisecond, to a router whose bucket is full again, 50 packets are
    // answered, and then every second one.
    for i in 0..200 {
        let now = 2 * SECOND + i * 500_000;
        arrivals(&mut live, now);
        send(&mut live, now, datagram(node(3), 17, 1, 60)).unwrap();
    }
    arrivals(&mut live, 3 * SECOND);
    let answered = live.balance().answered - 50;
    assert_eq!(answered, 50 + 99, "99.5 ms have passed when the last comes");
    for _ in 0..200 {
        send(&mut live, 4 * SECOND, echo(node(1), 64, 84)).unwrap();
    }
    assert_eq!(arrivals(&mut live, 5 * SECOND).len(), 200);
    assert_eq!(live.balance().missing(), 0);
}

/// An error goes to the owner of the packet's source address, even if the packet is from another
/// host. If the address has no owner, no error is sent.
#[test]
fn an_error_goes_to_the_source_address_of_the_packet() {
    let mut live = live(&path(""));
    let from = |source: Ipv4Addr| {
        let mut bytes = datagram(node(3), 17, 1, 60);
        bytes[12..16].copy_from_slice(&source.octets());
        bytes[10..12].fill(0);
        let header = !sum(&bytes[..20]);
        bytes[10..12].copy_from_slice(&header.to_be_bytes());
        bytes
    };
    for source in [node(3), node(1), node(7), Ipv4Addr::new(192, 0, 2, 1)] {
        send(&mut live, 0, from(source)).unwrap();
    }
    let all = arrivals(&mut live, SECOND);
    let measured: Vec<_> = all
        .iter()
        .map(|(host, _, raw)| (*host, kind(raw)))
        .collect();
    assert_eq!(measured, [(1, [11, 0])]);
    assert_eq!(live.balance().missing(), 0);
}

/// A router detects a changed bit by the checksum, as a host does.
#[test]
fn a_router_finds_changed_bits() {
    let text = path("").replacen("\"1 ms\"  }", "\"1 ms\", channel = { corrupt = 1 } }", 1);
    let mut live = live(&text);
    send(&mut live, 0, echo(node(1), 64, 84)).unwrap();
    assert!(arrivals(&mut live, SECOND).is_empty());
    let report = live.report(Instant::from_nanos(SECOND));
    assert_eq!(report[0].metrics["drops_checksum"], 1.0);
    assert_eq!(live.balance().missing(), 0);
}

/// All events of packets occur together. The balance is checked after each step.
#[test]
fn the_balance_of_packets_holds_at_each_step() {
    let arq = "arq = { protocol = \"mdlp\", n2 = 2, t200 = \"50 ms\", t205 = \"5 ms\" }\n";
    let bad = ", mtu = \"300 B\", queue = { packets = 1 }, channel = { loss = 0.1, corrupt = 0.1, \
         duplicate = 0.2, reorder = { probability = 0.1, delay = \"2 ms\" } }";
    let text = path(bad);
    let (head, flow) = text.split_at(text.find("[[flows]]").unwrap());
    let lossy = head.replace("\"s\", \"b\"]\n", &format!("\"s\", \"b\"]\n{arq}"));
    let at = lossy
        .rfind("delay = \"1 ms\"  }")
        .unwrap_or_else(|| panic!("{lossy}"));
    let lossy = format!(
        "{}delay = \"1 ms\", channel = {{ ber = 1e-3 }} {}",
        &lossy[..at],
        &lossy[at + "delay = \"1 ms\" ".len()..]
    );
    let mut live = live(&(lossy + flow));
    let mut state = 1u64;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    let mut left = 0;
    for step in 0..3000u64 {
        let now = step * 200_000;
        let to = node(random(5) as u32);
        let (ttl, len) = (1 + random(4) as u8, 30 + random(900) as usize);
        let mut bytes = match random(3) {
            0 => echo(to, ttl, len),
            1 => datagram(to, 17, ttl, len),
            _ => datagram(to, 6, 64, len),
        };
        if random(2) == 0 {
            bytes[6] = 0x40;
            bytes[10..12].fill(0);
            let header = !sum(&bytes[..20]);
            bytes[10..12].copy_from_slice(&header.to_be_bytes());
        }
        left += arrivals(&mut live, now).len() as u64;
        let _ = live.send(Instant::from_nanos(now), 0, bytes);
        let balance = live.balance();
        assert_eq!((balance.missing(), balance.left), (0, left), "{balance:?}");
    }
    left += arrivals(&mut live, 100 * SECOND).len() as u64;
    let end = live.balance();
    assert_eq!(
        (end.missing(), end.inside, end.left),
        (0, 0, left),
        "{end:?}"
    );
    let Balance {
        copied,
        cut,
        answered,
        lost,
        for_routers,
        ..
    } = end;
    assert!(
        [copied, cut, answered, lost, for_routers]
            .iter()
            .all(|&n| n > 50),
        "{end:?}"
    );
    let report = live.report(Instant::from_nanos(100 * SECOND));
    for cause in [
        "congestion",
        "loss",
        "hop_limit",
        "too_big",
        "no_route",
        "link_give_up",
    ] {
        let name = format!("drops_{cause}");
        let count: f64 = report
            .iter()
            .filter_map(|l| l.metrics[&name].as_f64())
            .sum();
        assert!(count > 0.0, "{cause}: {end:?}");
    }
}
