//! A server of files and its clients over a path that delays and loses datagrams.

use farlink_quic::{Config, Control, Host, Transmitted};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

const MS: u64 = 1_000_000;
const SERVER: ([u8; 4], u16) = ([10, 0, 0, 1], 443);

fn config(seed: u8) -> Config {
    Config::new(Control::Cubic, [seed; 32])
}

fn server() -> Host {
    Host::server(config(1), 7_000).unwrap()
}

fn client(seed: u8, size: u64) -> Host {
    let to = (SocketAddr::from(SERVER), "server");
    Host::client(config(seed), 0, to, size, true).unwrap()
}

/// Hosts by their address.
struct Net {
    hosts: BTreeMap<SocketAddr, Host>,
    now: u64,
    /// Number of datagrams sent.
    count: u64,
    /// Every `loss`th datagram is lost; 0 for none.
    loss: u64,
    /// Arrivals by time and number: destination, source and datagram.
    arrivals: BTreeMap<(u64, u64), (SocketAddr, SocketAddr, Transmitted)>,
    log: Vec<(u64, SocketAddr, Vec<u8>)>,
}

fn address(number: u8) -> SocketAddr {
    ([10, 0, 0, number], 49_152).into()
}

impl Net {
    fn new(loss: u64, clients: Vec<Host>) -> Self {
        let mut hosts: BTreeMap<_, _> = (2..).map(address).zip(clients).collect();
        hosts.insert(SERVER.into(), server());
        Self {
            hosts,
            now: 0,
            count: 0,
            loss,
            arrivals: BTreeMap::new(),
            log: Vec::new(),
        }
    }

    fn server(&self) -> &Host {
        &self.hosts[&SERVER.into()]
    }

    fn send_all(&mut self) {
        for (&from, host) in &mut self.hosts {
            while let Some((to, sent)) = host.transmit(self.now) {
                self.log.push((self.now, from, sent.bytes.clone()));
                self.count += 1;
                if self.loss == 0 || !self.count.is_multiple_of(self.loss) {
                    let at = (self.now + 50 * MS, self.count);
                    self.arrivals.insert(at, (to, from, sent));
                }
            }
        }
    }

    /// Runs until all connections have ended.
    fn run(&mut self) {
        loop {
            self.send_all();
            let arrival = self.arrivals.keys().next().map(|key| key.0);
            let timers = self.hosts.values_mut().filter_map(Host::deadline).min();
            let Some(next) = arrival.into_iter().chain(timers).min() else {
                return;
            };
            assert!(next < 600_000 * MS, "no end");
            self.now = next.max(self.now);
            for host in self.hosts.values_mut() {
                host.on_time(self.now);
            }
            while let Some(entry) = self.arrivals.first_entry() {
                if entry.key().0 > self.now {
                    break;
                }
                let (to, from, sent) = entry.remove();
                if let Some(host) = self.hosts.get_mut(&to) {
                    host.receive(self.now, from, sent.ecn, &sent.bytes);
                }
            }
        }
    }
}

#[test]
fn clients_get_the_bytes_they_ask_for() {
    for loss in [0, 20] {
        let sizes = [0, 1, 100_000, 3_000_000];
        let clients = (2..).zip(sizes).map(|(seed, size)| client(seed, size));
        let mut net = Net::new(loss, clients.collect());
        net.run();
        for (number, size) in (2..).zip(sizes) {
            let host = &net.hosts[&address(number)];
            let done = host.fetched().unwrap();
            assert_eq!(
                (done.bytes, done.correct, &done.failure),
                (size, true, &None)
            );
            assert!(host.is_idle() && host.is_connected());
        }
        assert!(net.server().is_idle());
        assert_eq!(net.server().accepted(), (4, 0));
        let closed = net.hosts.get_mut(&SERVER.into()).unwrap().take_closed();
        assert_eq!(closed.len(), 4, "connections end");
        let lost: u64 = closed.iter().map(|seen| seen.counters.lost).sum();
        let bytes: u64 = closed.iter().map(|seen| seen.counters.bytes).sum();
        assert_eq!(lost > 0, loss > 0);
        assert!(bytes > 3_100_000);
        let peers: BTreeSet<_> = closed.iter().map(|seen| seen.peer).collect();
        assert_eq!(peers, (2..6).map(address).collect());
    }
}

#[test]
fn counters_are_those_of_one_connection() {
    let mut net = Net::new(0, vec![client(2, 500_000), client(3, 500)]);
    net.run();
    let closed = net.hosts.get_mut(&SERVER.into()).unwrap().take_closed();
    let of = |number| {
        closed
            .iter()
            .find(|seen| seen.peer == address(number))
            .unwrap()
    };
    assert!(of(2).control_stats.rtt_samples > 50);
    assert!(of(3).control_stats.rtt_samples < 10);
    assert!(of(2).counters.window > of(3).counters.window);
    assert_eq!(net.hosts.get_mut(&SERVER.into()).unwrap().take_closed(), []);
}

#[test]
fn two_runs_are_equal_and_another_seed_is_not() {
    let run = |seed| {
        let mut net = Net::new(13, vec![client(seed, 200_000), client(9, 100_000)]);
        net.run();
        let secrets: Vec<_> = net.hosts.values().map(Host::secrets).collect();
        (net.log, secrets)
    };
    let first = run(2);
    assert!(first == run(2));
    assert!(first != run(3));
    // Both ends log the same secrets, the server those of both connections.
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let [server, one, other] = &first.1[..] else {
        panic!("{:?}", first.1);
    };
    let both: BTreeSet<_> = lines(one).union(&lines(other)).cloned().collect();
    assert_eq!(lines(server), both);
    assert_eq!(both.len(), 10);
}

#[test]
fn a_client_without_a_server_gives_up() {
    let mut net = Net::new(1, vec![client(2, 1000)]);
    net.run();
    let done = net.hosts[&address(2)].fetched().unwrap();
    assert_eq!((done.bytes, done.correct), (0, false));
    assert_eq!(done.failure.as_deref(), Some("timed out"));
    assert!(!net.hosts[&address(2)].is_connected());
    assert_eq!(net.server().accepted(), (0, 0));
}

#[test]
fn datagrams_that_are_no_quic_change_nothing() {
    let mut net = Net::new(0, vec![client(2, 1000)]);
    net.send_all();
    assert_eq!(net.server().accepted(), (0, 0));
    for bytes in [&[][..], &[0; 30], &[0xc0; 1200], &[0x40; 1200]] {
        let server = net.hosts.get_mut(&SERVER.into()).unwrap();
        server.receive(0, address(9), 0, bytes);
    }
    net.run();
    assert!(net.hosts[&address(2)].fetched().unwrap().correct);
    assert_eq!(net.server().accepted(), (1, 0));
}

#[test]
fn a_server_has_a_limit_of_connections() {
    let seeds = |count: u16| {
        (0..count).map(|number| {
            let mut config = config(2);
            config.seed[..2].copy_from_slice(&number.to_be_bytes());
            let to = (SocketAddr::from(SERVER), "server");
            Host::client(config, 0, to, 10, true).unwrap()
        })
    };
    let mut host = server();
    let (mut answers, mut all) = (0, 0);
    for (number, mut client) in (0..).zip(seeds(1030)) {
        let (_, first) = client.transmit(0).unwrap();
        let from = ([10, 0, 1, 1], 10_000 + number).into();
        host.receive(0, from, 0, &first.bytes);
        all += 1;
    }
    while let Some((to, sent)) = host.transmit(0) {
        // A refusal is one short datagram.
        answers += u64::from(to.port() >= 11_024 && sent.bytes.len() < 100);
    }
    assert_eq!((all, host.accepted()), (1030, (1024, 6)));
    assert_eq!(answers, 6);
}
