//! A fetch over QUIC between two hosts, as IP packets.

use super::*;
use crate::endpoint::{Endpoint, Fetch};
use farlink_quic::Control;
use farlink_tcp::IpVersion;
use farlink_tcp::variant;
use farlink_wire::icmp::IcmpError;
use std::sync::Arc;

const SERVER: NodeId = NodeId(0);
const CLIENT: NodeId = NodeId(2);

fn ms(count: u64) -> Interval {
    Interval::from_millis(count)
}

fn host(node: NodeId, ip: IpVersion, size: Option<u64>) -> Endpoint {
    let config = EndpointConfig {
        host: "host".into(),
        tcp: Arc::new((variant::lookup("sack").unwrap().config)()),
        ip,
        services: Vec::new(),
        fetch: size.map(|size| Fetch {
            host: "server".into(),
            port: 5001,
            size,
        }),
        quic: Some(QuicConfig {
            config: Config::new(Control::Cubic, [node.0 as u8; 32]),
            whole: 1000,
            known: true,
        }),
    };
    Endpoint::new(node, &config, Some(SERVER)).unwrap()
}

/// Carries packets over 10 ms until the client's fetch has ended. The first `refused` packets of
/// the client are answered by the message that no program has the port. `treat` may change a packet.
fn carry(
    a: &mut Endpoint,
    b: &mut Endpoint,
    refused: u64,
    mut treat: impl FnMut(u64, &mut Vec<u8>),
) -> Instant {
    let (mut now, mut count) = (Instant::ZERO, 0);
    let mut arrivals: BTreeMap<(Instant, u64), (bool, Vec<u8>)> = BTreeMap::new();
    while b.is_fetching() {
        for (to_client, end) in [(true, &mut *a), (false, &mut *b)] {
            if end.next_timeout().is_some_and(|at| at <= now) {
                end.on_timeout(now);
            }
            while let Some(mut packet) = end.poll_transmit() {
                count += 1;
                if count <= refused {
                    let raw = Raw::new(packet).unwrap();
                    packet = raw
                        .error_of(SERVER, IcmpError::PortUnreachable)
                        .unwrap()
                        .into_bytes();
                    arrivals.insert((now + ms(10), count), (true, packet));
                } else {
                    treat(count, &mut packet);
                    arrivals.insert((now + ms(10), count), (to_client, packet));
                }
            }
        }
        let timers = [a.next_timeout(), b.next_timeout()];
        let arrival = arrivals.keys().next().map(|key| key.0);
        let next = timers.into_iter().flatten().chain(arrival).min();
        let Some(next) = next else {
            assert!(!b.is_fetching(), "nothing is due, and the client waits");
            break;
        };
        now = next.max(now);
        assert!(now < Instant::from_nanos(600_000_000_000), "no end");
        while let Some(entry) = arrivals.first_entry().filter(|e| e.key().0 <= now) {
            let (to_client, packet) = entry.remove();
            if to_client { &mut *b } else { &mut *a }.receive(now, &packet);
        }
    }
    now
}

#[test]
fn a_fetch_is_whole_over_both_versions_of_ip() {
    for ip in [IpVersion::V4, IpVersion::V6] {
        let (mut a, mut b) = (host(SERVER, ip, None), host(CLIENT, ip, Some(500_000)));
        let mut longest = 0;
        carry(&mut a, &mut b, 0, |_, packet| {
            longest = longest.max(packet.len());
        });
        let got = b.report().fetched.unwrap();
        assert_eq!(
            (got.bytes, got.correct, &got.failure),
            (500_000, true, &None)
        );
        // Handshake, request and answer are two round trips.
        assert!(got.duration >= ms(40) && got.duration < ms(400), "{got:?}");
        // Quinn searches for up to 1452 bytes, and tries no more.
        assert_eq!(longest as u32, 1452 + 8 + ip.header_len());
        let (sent, own) = (a.report(), b.report());
        assert_eq!((sent.accepted, own.accepted), (1, 0));
        assert!(sent.stats.segments_sent > 300 && own.stats.segments_sent == 1);
        assert!(own.stats.acks_sent > 50);
        assert_eq!(a.secrets(), b.secrets());
        assert_eq!(a.secrets().lines().count(), 5);
    }
}

#[test]
fn damaged_datagrams_are_counted_and_sent_again() {
    let ip = IpVersion::V4;
    let (mut a, mut b) = (host(SERVER, ip, None), host(CLIENT, ip, Some(500_000)));
    carry(&mut a, &mut b, 0, |n, packet| {
        if n % 50 == 0
            && let Some(last) = packet.last_mut()
        {
            *last ^= 1;
        }
    });
    assert!(b.report().fetched.unwrap().correct);
    assert!(b.report().dropped.checksum > 3);
    assert!(a.report().stats.segments_retransmitted > 3);
    assert!(a.report().stats.fast_retransmits > 0);
}

#[test]
fn a_refused_fetch_is_repeated_soon() {
    for ip in [IpVersion::V4, IpVersion::V6] {
        let (mut a, mut b) = (host(SERVER, ip, None), host(CLIENT, ip, Some(10_000)));
        let end = carry(&mut a, &mut b, 3, |_, _| {});
        let got = b.report().fetched.unwrap();
        assert!(got.correct);
        // Three attempts of 10 ms with pauses of 50 ms, of which the duration has none.
        assert!(got.duration < ms(100), "{got:?}");
        assert!(end < Instant::ZERO + ms(700), "{end:?}");
    }
}

#[test]
fn a_fetch_that_is_refused_for_long_ends() {
    let ip = IpVersion::V4;
    let (mut a, mut b) = (host(SERVER, ip, None), host(CLIENT, ip, Some(10_000)));
    let end = carry(&mut a, &mut b, u64::MAX, |_, _| {});
    let got = b.report().fetched.unwrap();
    assert_eq!(got.failure, Some(Failure::Closed(CloseReason::Refused)));
    assert!(end >= Instant::ZERO + ms(10_000) && end < Instant::ZERO + ms(10_200));
}

#[test]
fn other_ports_and_truncated_datagrams_are_counted() {
    let mut a = host(SERVER, IpVersion::V4, None);
    let datagram = |dst_port| Datagram {
        src_port: 40_000,
        dst_port,
        body: Body::of_bytes(&[0; 100]),
        ..Datagram::default()
    };
    let to = address_of(SERVER, IpVersion::V4);
    let bytes = packet(CLIENT, to, datagram(444), 1).unwrap();
    a.receive(Instant::ZERO, &bytes);
    assert_eq!(a.report().dropped.no_port, 1);
    assert_eq!(unreachable_port(&a.poll_transmit().unwrap()), Some(40_000));
    // A datagram whose length field is too large, without a checksum.
    let mut bytes = packet(CLIENT, to, datagram(443), 1).unwrap();
    bytes[24..28].copy_from_slice(&[1, 0, 0, 0]);
    a.receive(Instant::ZERO, &bytes);
    assert_eq!(a.report().dropped.malformed, 1);
    assert_eq!(a.poll_transmit(), None);
}

#[test]
fn only_refusals_of_udp_name_a_port() {
    for ip in [IpVersion::V4, IpVersion::V6] {
        let datagram = Datagram {
            src_port: 50_123,
            dst_port: 443,
            ..Datagram::default()
        };
        let sent = packet(CLIENT, address_of(SERVER, ip), datagram, 1).unwrap();
        assert_eq!(unreachable_port(&sent), None);
        let about = Raw::new(sent).unwrap();
        let message = about.error_of(SERVER, IcmpError::TimeExceeded).unwrap();
        assert_eq!(unreachable_port(message.bytes()), None);
        let header = ip.header_len() as usize;
        let refusal = about.error_of(SERVER, IcmpError::PortUnreachable).unwrap();
        let mut refusal = refusal.into_bytes();
        assert_eq!(unreachable_port(&refusal), Some(50_123));
        for len in 0..2 * header + 8 + 2 {
            assert_eq!(unreachable_port(&refusal[..len]), None, "cut at {len}");
        }
        let inner = header + 8 + if ip == IpVersion::V4 { 9 } else { 6 };
        refusal[inner] = 6;
        assert_eq!(unreachable_port(&refusal), None);
    }
}

#[test]
fn hosts_on_different_ports_have_different_seeds() {
    let config = host(SERVER, IpVersion::V4, None)
        .quic
        .unwrap()
        .config
        .config;
    let ports = [443, 444, 443 + 256, 5001];
    let seeds: std::collections::BTreeSet<_> = ports
        .map(|port| seeded(config, port).seed)
        .into_iter()
        .collect();
    assert_eq!(seeds.len(), ports.len());
}
