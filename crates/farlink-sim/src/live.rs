//! The network without flows of its own, for packets of real programs: they enter
//! at a host at the time they come, and leave at another when they are due.

use crate::build::network;
use crate::metrics::{self, Scope, metrics};
use crate::run::RunError;
use crate::scenario::Expanded;
use crate::world::World;
use farlink_net::wire::node_address;
use farlink_net::{Datagram, FlowId, NodeId, NotIpv4, Packet, Payload, Raw};
use farlink_tcp::Instant;
use serde_json::{Map, Value};
use std::net::Ipv4Addr;

/// Why a packet of a real program did not enter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// It is no IPv4 datagram.
    NotIpv4(NotIpv4),
    /// There is no host of this address, or it is the one it comes from.
    NoHost(Ipv4Addr),
}

/// Counters of one direction of a link.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkReport {
    /// Name of the link.
    pub link: String,
    /// "down" or "up".
    pub direction: &'static str,
    /// Metrics by name, null where nothing was measured.
    pub metrics: Map<String, Value>,
}

/// A network that carries packets of real programs.
///
/// Time is told and never goes back. Hosts are the nodes that flows of the
/// scenario begin or end at; its flows themselves are not run.
#[derive(Debug)]
pub struct Live {
    world: World,
    links: Vec<String>,
    hosts: Vec<(String, u32)>,
    /// Number of the host of each node.
    host_of: Vec<Option<usize>>,
}

impl Live {
    /// The network of run number `run`.
    ///
    /// # Errors
    /// If the scenario cannot be built.
    pub fn new(scenario: &Expanded, run: u64) -> Result<Self, RunError> {
        let world = network(scenario, run)?;
        let mut is_host = vec![false; scenario.nodes.len()];
        for flow in &scenario.flows {
            is_host[flow.from] = true;
            is_host[flow.to] = true;
        }
        let mut hosts = Vec::new();
        let host_of = (0..)
            .zip(is_host)
            .map(|(node, is_host)| {
                is_host.then(|| {
                    hosts.push((scenario.nodes[node as usize].clone(), node));
                    hosts.len() - 1
                })
            })
            .collect();
        Ok(Self {
            world,
            links: scenario
                .links
                .iter()
                .map(|link| link.name.clone())
                .collect(),
            hosts,
            host_of,
        })
    }

    /// Names and addresses of the hosts.
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = (&str, Ipv4Addr)> + '_ {
        self.hosts
            .iter()
            .map(|(name, node)| (name.as_str(), node_address(NodeId(*node))))
    }

    /// A program on host number `host` sends a packet, now.
    ///
    /// # Errors
    /// If it is no packet for this network; nothing happened then.
    pub fn send(&mut self, now: Instant, host: usize, bytes: Vec<u8>) -> Result<(), Refused> {
        self.enter(now, host, Raw::new(bytes).map_err(Refused::NotIpv4)?)
    }

    /// As [`Self::send`], for what is known to be a datagram.
    ///
    /// # Errors
    /// If it is for nobody here; nothing happened then.
    pub fn enter(&mut self, now: Instant, host: usize, raw: Raw) -> Result<(), Refused> {
        let from = self.hosts[host].1;
        let address = raw.destination();
        let to = u32::from(address).wrapping_sub(u32::from(node_address(NodeId(0))));
        let known = self.host_of.get(to as usize).copied().flatten().is_some();
        if !known || to == from {
            return Err(Refused::NoHost(address));
        }
        let packet = Packet {
            src: NodeId(from),
            dst: NodeId(to),
            flow: FlowId::NONE,
            from_opener: true,
            ident: 0,
            ttl: raw.ttl().max(1),
            corrupt: false,
            payload: Payload::Raw(raw),
        };
        self.world.enter(now, from, packet);
        Ok(())
    }

    /// When something is due next.
    #[inline]
    pub fn next_time(&self) -> Option<Instant> {
        self.world.next_time()
    }

    /// Does what is due by `now`. `deliver` gets each packet that arrives, with the
    /// number of its host and when it was due.
    pub fn advance(&mut self, now: Instant, mut deliver: impl FnMut(usize, Instant, Raw)) {
        while self.world.next_time().is_some_and(|at| at <= now) {
            self.world.step();
            let due = self.world.now;
            let host_of = &self.host_of;
            self.world.leave(|node, packet| {
                // The place of the packet is free: its bytes need not be copied.
                let nothing = Payload::Udp(Datagram::default());
                let payload = std::mem::replace(&mut packet.payload, nothing);
                if let (Some(host), Payload::Raw(mut raw)) = (host_of[node as usize], payload) {
                    if packet.corrupt {
                        // Its receiver's own checksum tells.
                        raw.spoil();
                    }
                    deliver(host, due, raw);
                }
            });
        }
    }

    /// What each direction of each link did, up to `now`.
    pub fn report(&self, now: Instant) -> Vec<LinkReport> {
        let all = metrics();
        (0..self.world.links.len())
            .map(|i| LinkReport {
                link: self.links[i / 2].clone(),
                direction: if i % 2 == 0 { "down" } else { "up" },
                metrics: all
                    .iter()
                    .filter(|m| m.scope == Scope::Link)
                    .zip(metrics::of_link(&self.world, i, 0, now.as_nanos()))
                    .map(|(m, v)| (m.name.clone(), v.map_or(Value::Null, Value::from)))
                    .collect(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::load;
    use farlink_net::wire;
    use farlink_tcp::Body;

    const PATH: &str = "[[links]]\nbetween = [\"a\", \"r\"]\n\
        down = { rate = \"8 Mbit/s\", delay = \"10 ms\", queue = { packets = 2 } }\n\
        [[links]]\nbetween = [\"r\", \"b\"]\ndown = { rate = \"8 Mbit/s\", delay = \"5 ms\" }\n\
        [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\n";

    fn live(set: &[(String, String)]) -> Live {
        let scenario = load(PATH, "test", set).unwrap().expand().unwrap();
        Live::new(&scenario, 0).unwrap()
    }

    /// A datagram of 1000 bytes from the first node.
    fn datagram(to: u32) -> Vec<u8> {
        let packet = Packet {
            src: NodeId(0),
            dst: NodeId(to),
            flow: FlowId::NONE,
            from_opener: true,
            ident: 0,
            ttl: 64,
            corrupt: false,
            payload: Payload::Udp(Datagram {
                body: Body::of_bytes(&[5; 972]),
                ..Datagram::default()
            }),
        };
        wire::encode(&packet, wire::Addresses::of(&packet)).unwrap()
    }

    fn arrivals(live: &mut Live, until: u64) -> Vec<(usize, u64, Vec<u8>)> {
        let mut out = Vec::new();
        live.advance(Instant::from_nanos(until), |host, due, raw| {
            out.push((host, due.as_nanos(), raw.into_bytes()));
        });
        out
    }

    /// 1 ms of sending twice and 15 ms on the way; the queue holds two.
    #[test]
    fn packets_take_their_time_and_lose_a_hop() {
        let mut live = live(&[]);
        assert_eq!(live.hosts().collect::<Vec<_>>().len(), 2);
        for _ in 0..4 {
            live.send(Instant::from_nanos(5), 0, datagram(2)).unwrap();
        }
        assert!(arrivals(&mut live, 17_000_004).is_empty());
        let all = arrivals(&mut live, 1_000_000_000);
        let due: Vec<_> = all.iter().map(|a| a.1).collect();
        assert_eq!(
            due,
            [17_000_005, 18_000_005, 19_000_005],
            "the fourth found no room"
        );
        let raw = Raw::new(all[0].2.clone()).unwrap();
        assert_eq!((all[0].0, raw.ttl()), (1, 63));
        assert_eq!(raw.bytes()[28..], datagram(2)[28..]);
        let report = live.report(Instant::from_nanos(1_000_000_000));
        assert_eq!(report[0].metrics["drops_congestion"], 1.0);
        assert_eq!(report[2].metrics["packets"], 3.0);
    }

    #[test]
    fn what_is_for_nobody_here_is_refused() {
        let mut live = live(&[]);
        let mut send = |bytes| live.send(Instant::ZERO, 0, bytes).unwrap_err();
        assert_eq!(send(vec![0x60; 40]), Refused::NotIpv4(NotIpv4::Version(6)));
        for node in [0, 1, 9] {
            let address = node_address(NodeId(node));
            assert_eq!(send(datagram(node)), Refused::NoHost(address));
        }
    }

    #[test]
    fn changed_bits_reach_the_receiver() {
        let set = ("links.0.down.channel.corrupt".into(), "1".into());
        let mut live = live(&[set]);
        live.send(Instant::ZERO, 0, datagram(2)).unwrap();
        let all = arrivals(&mut live, 1_000_000_000);
        let (last, sent) = (all[0].2.last(), 5 ^ 1);
        assert_eq!(last, Some(&sent));
    }
}
