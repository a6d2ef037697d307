//! Tests of the unit's socket: joining gateways, and datagrams that are forged, replayed or
//! malformed.

use super::*;
use crate::peer::{LOST_AFTER, Peer};
use crate::tunnel::{Hello, Initiation, Inner, Session};
use farlink_wire::NodeId;
use proptest::prelude::*;

/// A unit with two gateway hosts, and the socket of a gateway.
struct Network {
    unit: Unit,
    hosts: Vec<Host>,
    socket: UdpSocket,
    key: Key,
    now: Instant,
}

fn network() -> Network {
    let key = Key::random().unwrap();
    let options = UnitOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        key: key.to_string(),
    };
    let unit = Unit::open(&options, 3, &HostConfig::default()).unwrap();
    let place =
        |name: &str, last: u32| Host::of_gateway(name, NodeId(last), Peer::new(unit.socket()));
    let hosts = vec![place("left", 0), place("right", 2)];
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let soon = std::time::Duration::from_millis(200);
    socket.set_read_timeout(Some(soon)).unwrap();
    Network {
        unit,
        hosts,
        socket,
        key,
        now: Instant::from_nanos(1),
    }
}

impl Network {
    fn on_datagram(&mut self, datagram: &[u8]) -> UnitEvent {
        let from = self.socket.local_addr().unwrap();
        self.unit
            .on_datagram(self.now, from, datagram, &mut self.hosts)
    }

    fn later(&mut self, by: Interval) {
        self.now += by;
        self.unit.on_tick(self.now, &mut self.hosts);
    }

    /// Waits for the next datagram from the unit, for at most 200 ms.
    fn answer(&self) -> Option<Vec<u8>> {
        let mut buffer = vec![0; LONGEST];
        let length = self.socket.recv(&mut buffer).ok()?;
        Some(buffer[..length].to_vec())
    }

    /// Performs a handshake. Returns the unit's answer and the gateway's session.
    fn join(&mut self, host: &str, instance: u64) -> (Welcome, Session) {
        let host = host.to_owned();
        let (mut begun, hello) =
            Initiation::begin(&self.key, 1, &Hello { host, instance }).unwrap();
        self.on_datagram(&hello);
        let answer = loop {
            let answer = self.answer().expect("an answer");
            match Outer::read(&answer) {
                Some(Outer::Welcome { .. }) => break answer,
                Some(Outer::Prove { cookie, .. }) => {
                    self.on_datagram(&begun.datagram(cookie));
                }
                _ => {}
            }
        };
        let Some(Outer::Welcome { from, body, .. }) = Outer::read(&answer) else {
            panic!("{answer:?}");
        };
        let limits = Limits::default();
        let (welcome, mut session) = begun
            .finish(&self.key, from, body, self.now, limits)
            .unwrap();
        if matches!(welcome, Welcome::Joined { .. }) {
            self.say(&mut session, Inner::Overflowed { packets: 0 });
        }
        (welcome, session)
    }

    fn say(&mut self, session: &mut Session, inner: Inner<'_>) -> UnitEvent {
        let mut datagram = Vec::new();
        assert!(session.seal(self.now, inner, &mut datagram));
        self.on_datagram(&datagram)
    }

    fn is_here(&self, host: usize) -> bool {
        report(&self.hosts[host].port).unwrap().here
    }
}

#[test]
fn a_host_is_one_gateway_at_a_time() {
    let mut net = network();
    let (welcome, mut first) = net.join("right", 1);
    let Welcome::Joined { node, nodes, .. } = welcome else {
        panic!("{welcome:?}");
    };
    assert_eq!((node, nodes), (2, 3));
    assert!(net.is_here(1) && !net.is_here(0));
    let (welcome, _) = net.join("right", 2);
    assert!(matches!(welcome, Welcome::Taken(_)), "{welcome:?}");
    let (welcome, _) = net.join("moon", 2);
    assert!(matches!(welcome, Welcome::Refused(why) if why.contains("left, right")));
    // The same gateway gets new keys. Datagrams under its old keys are still accepted.
    let (welcome, mut renewed) = net.join("right", 1);
    assert!(matches!(welcome, Welcome::Joined { .. }));
    for session in [&mut first, &mut renewed] {
        let place = net.say(session, Inner::Place { x: 1.0, y: 2.0 });
        assert!(matches!(place, UnitEvent::Place(1, 1.0, 2.0)), "{place:?}");
    }
    // After the loss of the gateway, another may join as the host, and the old sessions are
    // invalid.
    net.later(LOST_AFTER);
    assert!(!net.is_here(1));
    let (welcome, mut other) = net.join("right", 2);
    assert!(matches!(welcome, Welcome::Joined { .. }));
    let bytes = &[0x45; 20][..];
    let packet = Inner::Packet {
        checked: true,
        bytes,
    };
    assert!(matches!(
        net.say(&mut other, packet),
        UnitEvent::Packet(1, ..)
    ));
    assert!(matches!(net.say(&mut renewed, packet), UnitEvent::Nothing));
    assert!(matches!(net.say(&mut first, packet), UnitEvent::Nothing));
    let counts = report(&net.hosts[1].port).unwrap().counts;
    assert_eq!((counts.joined, counts.lost), (2, 1));
}

impl Network {
    /// Returns the first message of a gateway, created with `key`, with a valid cookie.
    fn proven(&mut self, key: &Key) -> Vec<u8> {
        let host = "left".to_owned();
        let (begun, first) = Initiation::begin(key, 1, &Hello { host, instance: 9 }).unwrap();
        self.on_datagram(&first);
        let answer = self.answer().expect("a cookie");
        assert!(answer.len() <= first.len(), "more bytes than came");
        let Some(Outer::Prove { to: 1, cookie }) = Outer::read(&answer) else {
            panic!("{answer:?}");
        };
        begun.datagram(cookie)
    }
}

/// A replayed first message, or one that was not created with the key, gets no answer. A flood from
/// one source is dropped unread.
#[test]
fn first_messages_without_the_key_get_no_answer() {
    let mut net = network();
    let key = net.key.clone();
    let own = net.proven(&key);
    net.on_datagram(&own);
    assert!(net.answer().is_some());
    assert!(!net.is_here(0), "it may be a replay until more comes");
    net.on_datagram(&own);
    let other = net.proven(&Key::random().unwrap());
    net.on_datagram(&other);
    let mut changed = own.clone();
    changed[70] ^= 1;
    net.on_datagram(&changed);
    assert_eq!(net.answer(), None);
    assert_eq!(
        (net.unit.rejected.replayed, net.unit.rejected.without_key),
        (1, 2)
    );
    for _ in 0..1000 {
        net.on_datagram(&changed);
    }
    assert!(net.unit.rejected.without_key <= 50);
    assert!(net.unit.rejected.flooded >= 950);
    net.later(Interval::from_secs(1));
    let (welcome, _) = net.join("left", 9);
    assert!(
        matches!(welcome, Welcome::Joined { .. }),
        "a flood that is over"
    );
    // After any idle time, a source may send at most 50 messages at once.
    net.later(Interval::from_secs(8));
    let before = net.unit.rejected;
    for _ in 0..1000 {
        net.on_datagram(&changed);
    }
    assert_eq!(net.unit.rejected.without_key - before.without_key, 50);
}

/// Invalid messages from any number of sources do not delay a joining gateway.
#[test]
fn a_flood_without_cookies_does_not_keep_a_gateway_away() {
    let mut net = network();
    let garbage = [&[1, 0, 0, 0][..], &[7; 90]].concat();
    for n in 0..16_000u32 {
        let from = SocketAddr::from((n.to_be_bytes(), 9));
        // `from` is in 0.0.0.0/8, so the cookie does not leave this machine.
        net.unit.admits(net.now, from, 1, &[7; 16]);
    }
    net.on_datagram(&garbage);
    let (welcome, _) = net.join("left", 1);
    assert!(matches!(welcome, Welcome::Joined { .. }));
    assert!(net.is_here(0));
    assert_eq!(net.unit.rejected.flooded, 0);
}

/// A recorded first message is replayed to a restarted unit with the same key. The only answer is a
/// cookie, which is shorter than the message.
#[test]
fn a_replayed_first_message_only_draws_a_cookie() {
    let mut net = network();
    let key = net.key.clone();
    let recorded = net.proven(&key);
    let mut again = network();
    again.key = key.clone();
    again.unit.key = key;
    again.on_datagram(&recorded);
    let answer = again.answer().expect("a cookie");
    assert!(matches!(Outer::read(&answer), Some(Outer::Prove { .. })));
    assert!(answer.len() < recorded.len());
    assert_eq!(again.unit.rejected.unproven, 1);
}

/// A refused gateway gets an answer and is counted. The report has the values that the gateway
/// sent, also after its address changed or after a long silence.
#[test]
fn the_report_has_the_values_that_a_gateway_sent() {
    let mut net = network();
    net.join("moon", 1);
    let (_, mut session) = net.join("left", 1);
    net.join("left", 2);
    assert_eq!(net.unit.rejected.refused, 2);
    net.say(&mut session, Inner::Overflowed { packets: 5 });
    let report_of = |net: &Network| report(&net.hosts[0].port).unwrap();
    assert_eq!(report_of(&net).counts.overflowed, 5);
    net.later(LOST_AFTER);
    assert!(!net.is_here(0));
    let elsewhere = UdpSocket::bind("127.0.0.1:0").unwrap();
    net.socket = elsewhere;
    net.say(&mut session, Inner::Overflowed { packets: 6 });
    assert!(net.is_here(0), "it has not noticed that it was lost");
    let (entry, address) = (report_of(&net), net.socket.local_addr().unwrap());
    assert_eq!(entry.address, Some(address.to_string()));
    assert_eq!((entry.counts.joined, entry.counts.lost), (2, 1));
    net.later(Interval::from_millis(300));
    assert!(net.answer().is_some(), "it is probed where it is now");
}

/// Lost datagrams are counted in each session, and the total includes ended sessions.
#[test]
fn lost_datagrams_are_counted_across_sessions() {
    let mut net = network();
    let mut lost = Vec::new();
    for instance in 1..4 {
        let (_, mut session) = net.join("left", instance);
        for _ in 0..10 {
            assert!(session.seal(net.now, Inner::Bye, &mut lost));
        }
        net.say(&mut session, Inner::Overflowed { packets: 0 });
        assert_eq!(report(&net.hosts[0].port).unwrap().missing, 10 * instance);
        net.later(LOST_AFTER);
    }
}

/// Names for which the answer has no room are omitted.
#[test]
fn a_gateway_joins_a_scenario_of_2000_hosts() {
    let mut net = network();
    let place = |i: u32| {
        let name = format!("{i}-{}", "n".repeat(100));
        Host::of_gateway(&name, NodeId(i), Peer::new(net.unit.socket()))
    };
    net.hosts = (0..2000).map(place).collect();
    let last = net.hosts[1999].name.clone();
    let (welcome, _) = net.join(&last, 1);
    let Welcome::Joined { names, .. } = welcome else {
        panic!("{welcome:?}");
    };
    assert!((350..500).contains(&names.len()), "{}", names.len());
    assert!(net.is_here(1999));
}

/// A late datagram that was sent before the `Bye` does not rejoin the gateway.
#[test]
fn a_late_datagram_does_not_rejoin_a_gateway_that_left() {
    let mut net = network();
    let (_, mut session) = net.join("left", 1);
    let (mut late, from) = (Vec::new(), net.socket.local_addr().unwrap());
    assert!(session.seal(net.now, Inner::Overflowed { packets: 0 }, &mut late));
    assert!(matches!(
        net.say(&mut session, Inner::Bye),
        UnitEvent::Nothing
    ));
    net.unit.on_datagram(net.now, from, &late, &mut net.hosts);
    let left = report(&net.hosts[0].port).unwrap();
    assert_eq!((left.here, left.counts.joined, left.missing), (false, 1, 1));
    assert_eq!(net.unit.rejected.unknown, 1);
}

/// The tunnel's delay is estimated after eight round trips, updated when it changes by 10 %, and
/// measured again after the gateway rejoins.
#[test]
fn the_allowance_follows_the_delay_of_the_tunnel() {
    let mut net = network();
    let (_, mut session) = net.join("left", 1);
    let allowance_after = |net: &mut Network, session: &mut Session, ms: u64, times: usize| {
        net.now += Interval::from_secs(1);
        for _ in 0..times {
            let at = net.now.as_nanos() - 1_000_000 * (ms + 7);
            let held = 7_000_000;
            net.say(session, Inner::Echo { at, held });
        }
        let Port::Gateway(peer) = &mut net.hosts[0].port else {
            panic!("no gateway");
        };
        let changed = peer.update_allowance(net.now);
        changed.then(|| peer.allowed.unwrap().as_nanos() / 1_000_000)
    };
    net.now += Interval::from_secs(1);
    assert_eq!(allowance_after(&mut net, &mut session, 40, 7), None);
    assert_eq!(allowance_after(&mut net, &mut session, 40, 57), Some(20));
    assert_eq!(allowance_after(&mut net, &mut session, 43, 64), None);
    assert_eq!(allowance_after(&mut net, &mut session, 44, 64), Some(22));
    let before = net.now.as_nanos();
    net.later(LOST_AFTER);
    let (_, mut session) = net.join("left", 1);
    // A gateway that was suspended answers old probes.
    for _ in 0..8 {
        let at = before;
        net.say(&mut session, Inner::Echo { at, held: 0 });
    }
    assert!(report(&net.hosts[0].port).unwrap().one_way_s.is_none());
    assert_eq!(allowance_after(&mut net, &mut session, 10, 8), Some(5));
}

/// A packet for an absent gateway is dropped and counted.
#[test]
fn packets_for_an_absent_gateway_are_counted() {
    let mut net = network();
    let mut packet = vec![
        0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 3,
    ];
    let sum: u32 = packet
        .chunks(2)
        .map(|p| u32::from(u16::from_be_bytes([p[0], p[1]])))
        .sum();
    let sum = !(((sum >> 16) + (sum & 0xffff)) as u16);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    let raw = farlink_wire::Raw::new(packet).unwrap();
    let write = |net: &mut Network| net.hosts[1].port.write(net.now, net.now, &raw).unwrap();
    assert_eq!(write(&mut net).refused, 1);
    let (_, mut session) = net.join("right", 1);
    assert_eq!(write(&mut net).delivered, 1);
    net.say(&mut session, Inner::Bye);
    assert_eq!(write(&mut net).refused, 1);
    assert_eq!(report(&net.hosts[1].port).unwrap().counts.away, 2);
}

/// After a restart of the unit, a gateway still sends in its old session. The new unit counts these
/// datagrams as unknown, not as forged.
#[test]
fn a_restarted_unit_counts_old_sessions_as_unknown() {
    let first = || network().hosts.into_iter().nth(1).unwrap();
    let number = || match &mut first().port {
        Port::Gateway(peer) => peer.own_number(1),
        other => panic!("{other:?}"),
    };
    let numbers: HashSet<u32> = (0..4).map(|_| number()).collect();
    assert!(numbers.len() > 1, "{numbers:?}");
    assert!(numbers.iter().all(|number| number >> 16 == 1));
}

proptest! {
    /// No datagram, whether garbage or authentic, ends a joined gateway's session.
    #[test]
    fn no_datagram_ends_a_joined_session(
        datagrams in prop::collection::vec((0u8..5, prop::collection::vec(any::<u8>(), 0..80)), 40)
    ) {
        let mut net = network();
        let (_, mut session) = net.join("left", 1);
        let mut sealed = Vec::new();
        for (kind, bytes) in &datagrams {
            let datagram = [&[*kind, 0, 0, 0], &bytes[..]].concat();
            let _ = net.on_datagram(&datagram);
            // Sends the bytes as authentic content, too, unless they are a `Bye`.
            let plain = [&[kind % 7], &bytes[..]].concat();
            if let Some(inner) = Inner::read(&plain) {
                prop_assert!(session.seal(net.now, inner, &mut sealed));
                let _ = net.on_datagram(&sealed);
                let _ = net.on_datagram(&sealed);
            }
        }
        prop_assert!(net.is_here(0));
    }
}
