//! The network of a scenario without its flows, for packets of real programs. A packet enters at
//! one host at the time of [`Live::send`], and leaves at another host at the time of its arrival in
//! the simulated network.

use crate::Monitor;
use crate::build::{channel_to_end, link_config, network, nodes};
use crate::metrics::{self, Scope};
use crate::monitor::RunError;
use crate::run::{agents_have_contents, agents_json, handoffs_json, headers_can_say};
use crate::scenario::{DirectionSpec, Expanded, QueueSpec};
use crate::world::Balance;
use crate::world::{World, taps};
#[cfg(test)]
use farlink_agent::Agent;
use farlink_channel::mobility::Point;
use farlink_channel::rng::Streams;
use farlink_channel::{Channel, ChannelError};
use farlink_link::LinkConfig;
use farlink_tcp::Instant;
use farlink_wire::{
    ById, Datagram, Direction, FlowId, LinkId, NodeId, NotIp, Packet, Payload, Raw,
};
use serde_json::{Map, Value};
use std::net::{IpAddr, Ipv4Addr};

/// Broadcast address of the network 10.0.0.0/8, which contains all hosts.
const EVERYBODY: Ipv4Addr = Ipv4Addr::new(10, 255, 255, 255);
/// Smallest distance of two antennas in metres, because path loss is undefined at 0.
const CLOSEST: f64 = 0.1;

/// Limit in bytes of queues without a configured limit. Without this limit, a program that sends
/// faster than its link would fill the memory.
pub const MAX_QUEUE: u64 = 64 << 20;

/// Reason why a packet of a real program was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The packet is neither IPv4 nor IPv6.
    NotIp(NotIp),
    /// Address to which no route leads, address of the sender, or multicast or broadcast address.
    NoHost(IpAddr),
}

/// Reason why [`Live::set`] or [`Live::switch_channels`] changed nothing.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ChangeError {
    /// The scenario differs in a key that cannot be changed in a running network.
    #[error(
        "only rate, delay, overhead, service_time, queue, mark and channel of a link, and enabled \
         of an agent, can be changed while packets cross it"
    )]
    OtherKey,
    /// The link of this name has a link protocol, whose state depends on the link.
    #[error(
        "the link {0} runs a protocol of its own, and cannot be changed while packets cross it"
    )]
    Protocol(String),
    /// The channel of this direction cannot be built.
    #[error("{0}.{1}: {2}")]
    Channel(String, &'static str, ChannelError),
}

/// Counters of one direction of a link.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkReport {
    /// Name of the link.
    pub link: String,
    /// "down" or "up".
    pub direction: &'static str,
    /// Set if the scenario does not limit the queue, so [`MAX_QUEUE`] does.
    pub bounded: bool,
    /// Number of packets in the queue.
    pub waiting: u32,
    /// Number of bytes of the packets in the queue, with IP headers.
    pub waiting_bytes: u64,
    /// Metrics by name. The value is null if there was nothing to measure.
    pub metrics: Map<String, Value>,
}

/// A network that carries packets of real programs.
///
/// The caller provides the time, which must not decrease. Hosts are the ends of the scenario's
/// flows; the flows do not run.
#[derive(Debug)]
pub struct Live {
    world: World,
    links: Vec<String>,
    hosts: Vec<(String, NodeId)>,
    /// Index of each node in `hosts`; `None` for routers.
    host_of: ById<NodeId, Option<usize>>,
    /// The current scenario, with a limit for every queue.
    scenario: Expanded,
    /// Link directions without a queue limit in the scenario, which [`MAX_QUEUE`] limits.
    bounded: ById<LinkId, bool>,
    run: u64,
    /// Number of successful calls of [`Live::set`]. The names of the random streams of changed
    /// channels contain this number.
    changes: u64,
    /// Positions of hosts set by [`Live::place`].
    places: ById<NodeId, Option<Point>>,
}

impl Live {
    /// Builds the network of run number `run`.
    ///
    /// # Errors
    /// Fails if the scenario cannot be built.
    pub fn new(scenario: &Expanded, run: u64) -> Result<Self, RunError> {
        headers_can_say(scenario, "emulated")?;
        agents_have_contents(scenario)?;
        let (scenario, bounded) = bounded(scenario);
        let unwatched = Monitor::default();
        let mut world = network(&scenario, run, &unwatched)?;
        // Routers need routes to every node, because they send packets themselves, such as ICMP
        // errors.
        world.set_nodes(nodes(&scenario, &world.links, true, &unwatched)?);
        let mut is_host = vec![false; scenario.nodes.len()];
        for flow in &scenario.flows {
            is_host[flow.from] = true;
            is_host[flow.to] = true;
        }
        world.set_hosts(is_host.iter().copied());
        let places = scenario.nodes.iter().map(|_| None).collect();
        let mut hosts = Vec::new();
        let host_of = (0..)
            .zip(is_host)
            .map(|(node, is_host)| {
                is_host.then(|| {
                    hosts.push((scenario.nodes[node as usize].clone(), NodeId(node)));
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
            scenario,
            bounded,
            run,
            changes: 0,
            places,
        })
    }

    /// Adds an agent at a node.
    #[cfg(test)]
    pub(crate) fn add_agent(&mut self, node: NodeId, wireless: u32, agent: Box<dyn Agent>) {
        let number = self.world.add_agent(node, wireless, agent);
        self.world.wake_agent(number);
    }

    /// Returns the name and the node of each host.
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = (&str, NodeId)> + '_ {
        self.hosts.iter().map(|(name, node)| (name.as_str(), *node))
    }

    /// Makes `host` the uplink: it gets all IPv4 packets for addresses outside of the network, and
    /// with `ipv6` also IPv6 packets.
    pub fn set_uplink(&mut self, host: NodeId, ipv6: bool) {
        self.world.set_uplink(host, ipv6);
    }

    /// Sends a packet of a program on host number `host`.
    ///
    /// # Errors
    ///
    /// Fails if the packet is not IP or has no route. Nothing changes then.
    pub fn send(&mut self, now: Instant, host: usize, bytes: Vec<u8>) -> Result<(), Refused> {
        self.enter(now, host, Raw::new(bytes).map_err(Refused::NotIp)?)
    }

    /// Like [`Self::send`], for bytes already parsed as an IP packet.
    ///
    /// # Errors
    ///
    /// Fails if the destination has no route, is the sender itself, or is a multicast or broadcast
    /// address. Nothing changes then.
    pub fn enter(&mut self, now: Instant, host: usize, raw: Raw) -> Result<(), Refused> {
        let from = self.hosts[host].1;
        let address = raw.destination();
        let to = self
            .world
            .node_for(address)
            .ok_or(Refused::NoHost(address))?;
        let next = self.world.next_node(from, to);
        // If the next node is not the destination, it must be a router to forward the packet.
        let goes = next.is_some_and(|next| next == to || self.world.is_junction(next));
        let many = address.is_multicast()
            || matches!(address, IpAddr::V4(own) if own.is_broadcast() || own == EVERYBODY);
        if !goes || to == from || many {
            return Err(Refused::NoHost(address));
        }
        let ip = raw.ip();
        let packet = Packet {
            src: from,
            dst: to,
            flow: FlowId::NONE,
            from_opener: true,
            ident: 0,
            ttl: raw.ttl().max(1),
            corrupt: false,
            ip,
            piece: None,
            payload: Payload::Raw(raw),
        };
        self.world.enter(now, from, packet);
        Ok(())
    }

    /// Returns the time of the next event.
    #[inline]
    pub fn next_time(&self) -> Option<Instant> {
        self.world.next_time()
    }

    /// Handles all events up to `now`, and calls `deliver` for each arriving packet with its host
    /// number and its arrival time.
    pub fn advance(&mut self, now: Instant, mut deliver: impl FnMut(usize, Instant, Raw)) {
        // A host's own node may have answered a packet when it entered. Such an answer has no
        // event.
        self.leave(&mut deliver);
        while let Some(event) = self.world.next_event().filter(|next| next.time() <= now) {
            self.world.handle(event);
            self.leave(&mut deliver);
        }
    }

    fn leave(&mut self, deliver: &mut impl FnMut(usize, Instant, Raw)) {
        let (due, host_of) = (self.world.now, &self.host_of);
        self.world.leave(|node, packet| {
            // The packet is freed next, so its bytes are moved instead of copied.
            let nothing = Payload::Udp(Datagram::default());
            let payload = std::mem::replace(&mut packet.payload, nothing);
            if let (Some(host), Payload::Raw(mut raw)) = (host_of[node], payload) {
                if packet.corrupt {
                    // A changed bit makes the receiver's checksum fail.
                    raw.spoil();
                }
                deliver(host, due, raw);
            }
        });
    }

    /// Changes rates, delays, queues and channels to those of another scenario with the same links.
    /// Packets in flight keep their arrival times and their order. A changed channel starts in its
    /// initial state with a new random stream.
    ///
    /// # Errors
    ///
    /// Fails if anything else differs, or if a channel cannot be built. Nothing changes in either
    /// case.
    pub fn set(&mut self, scenario: &Expanded) -> Result<(), ChangeError> {
        let (scenario, bounded) = bounded(scenario);
        let mut expected = scenario.clone();
        let same_links = expected.links.len() == self.scenario.links.len();
        for (new, old) in expected.links.iter_mut().zip(&self.scenario.links) {
            for (new, old) in [(&mut new.down, &old.down), (&mut new.up, &old.up)] {
                *new = DirectionSpec {
                    rate: old.rate,
                    delay: old.delay,
                    overhead: old.overhead,
                    service_time: old.service_time,
                    queue: old.queue,
                    mark: old.mark,
                    channel: old.channel.clone(),
                    ..new.clone()
                };
            }
        }
        for (new, old) in expected.agents.iter_mut().zip(&self.scenario.agents) {
            new.spec.enabled = old.spec.enabled;
        }
        if !same_links || expected != self.scenario {
            return Err(ChangeError::OtherKey);
        }
        let streams = Streams::new(scenario.seed, self.run);
        let mut channels: Vec<(LinkConfig, Option<Channel>)> = Vec::new();
        let pairs = scenario.links.iter().zip(&self.scenario.links);
        for (number, (new, old)) in (0..).zip(pairs) {
            for (direction, spec, old) in [
                (Direction::Down, &new.down, &old.down),
                (Direction::Up, &new.up, &old.up),
            ] {
                let changed = spec.channel != old.channel;
                let id = LinkId::new(number, direction);
                if spec != old && self.world.links.arq(id).is_some() {
                    return Err(ChangeError::Protocol(new.name.clone()));
                }
                let direction = direction.name();
                let name = format!("link/{}/{direction}/change/{}", new.name, self.changes);
                let built = changed.then(|| channel_to_end(spec, &streams, &new.name, &name));
                let failed = |e| ChangeError::Channel(new.name.clone(), direction, e);
                let built = built.transpose().map_err(failed)?;
                channels.push((link_config(spec), built));
            }
        }
        for (id, (config, channel)) in self.world.links.ids().zip(channels) {
            let link = &mut self.world.links[id];
            if *link.config() != config {
                link.set_config(config);
            }
            if let Some(channel) = channel {
                link.set_channel(channel);
            }
        }
        for (number, (new, old)) in (0..).zip(scenario.agents.iter().zip(&self.scenario.agents)) {
            let enabled = new.spec.enabled();
            if enabled != old.spec.enabled() {
                self.world.switch_agent(number, enabled);
            }
        }
        self.set_distances();
        self.changes += 1;
        (self.scenario, self.bounded) = (scenario, bounded);
        Ok(())
    }

    /// Sets the position of host number `host`: `x` metres to the right and `y` metres up. If the
    /// host walks (`[[handoffs]]` with `mobility`), the position replaces that of its walk and
    /// determines its nearest station. A radio link between two hosts with positions uses their
    /// distance.
    pub fn place(&mut self, host: usize, x: f64, y: f64) {
        let (node, at) = (self.hosts[host].1, Point { x, y });
        self.places[node] = Some(at);
        self.world.place(node, at);
        self.set_distances();
    }

    /// Sets the distance of each radio link whose two hosts have positions.
    fn set_distances(&mut self) {
        for id in self.world.links.ids().collect::<Vec<_>>() {
            let ends = [id, id.reverse()].map(|id| self.world.links[id].to());
            if let [Some(item), Some(other)] = ends.map(|end| self.places[end]) {
                self.world.links[id].set_distance(item.distance(other).max(CLOSEST));
            }
        }
    }

    /// Switches channels on or off. Without a link name and direction ("down" or "up"), all link
    /// directions are switched. Returns the number of switched directions.
    ///
    /// # Errors
    ///
    /// Fails if one of the directions has a link protocol, because its channel cannot be switched.
    /// Nothing changes then.
    pub fn switch_channels(
        &mut self,
        on: bool,
        link: Option<&str>,
        direction: Option<&str>,
    ) -> Result<usize, ChangeError> {
        let expected = |id: &LinkId| {
            link.is_none_or(|name| name == self.name(*id))
                && direction.is_none_or(|name| name == id.direction().name())
        };
        let chosen: Vec<_> = self.world.links.ids().filter(expected).collect();
        for &id in &chosen {
            if self.world.links.arq(id).is_some() {
                return Err(ChangeError::Protocol(self.name(id).to_owned()));
            }
        }
        for &id in &chosen {
            self.world.links[id].switch_channel(on);
        }
        Ok(chosen.len())
    }

    /// Returns name and direction of each link direction whose channel is off.
    pub fn channels_off(&self) -> Vec<(String, &'static str)> {
        let all = self.world.links.each();
        all.filter(|(_, link)| !link.channel_on())
            .map(|(id, _)| (self.name(id).to_owned(), id.direction().name()))
            .collect()
    }

    /// Returns the name of the link with direction `link`.
    fn name(&self, link: LinkId) -> &str {
        &self.links[link.link() as usize]
    }

    /// Stores lost packets from now on, for [`Live::take_lost`].
    pub fn keep_lost(&mut self) {
        self.world.real.lost = Some(Vec::new());
    }

    /// Calls `take` for each packet lost since the last call, with time, link, direction, cause and
    /// bytes.
    pub fn take_lost(&mut self, mut take: impl FnMut(Instant, &str, &'static str, &str, &[u8])) {
        let Some(lost) = &mut self.world.real.lost else {
            return;
        };
        for item in lost.drain(..) {
            if let Payload::Raw(raw) = &item.packet.payload {
                let name = &self.links[item.link.link() as usize];
                let direction = item.link.direction().name();
                take(item.at, name, direction, item.cause.name(), raw.bytes());
            }
        }
    }

    /// Starts to store packets that pass either side of an agent's node, for
    /// [`Live::take_crossed`]. Returns the names of the sides.
    pub fn keep_crossed(&mut self) -> Vec<String> {
        let taps = &mut self.world.agents.taps;
        taps.kept = Some(Vec::new());
        let names = taps.all.iter().flat_map(|tap| {
            let node = &self.scenario.nodes[tap.node.0 as usize];
            taps::names(node, &self.links[tap.wireless as usize])
        });
        names.collect()
    }

    /// Calls `take` for each packet that passed a side of an agent's node since the last call.
    /// Arguments are the time, the index of the side in the list of [`Live::keep_crossed`], and the
    /// bytes.
    pub fn take_crossed(&mut self, mut take: impl FnMut(Instant, usize, &[u8])) {
        let Some(kept) = &mut self.world.agents.taps.kept else {
            return;
        };
        for item in kept.drain(..) {
            if let Payload::Raw(raw) = &item.packet.payload {
                take(
                    item.at,
                    2 * item.tap + usize::from(item.is_wireless),
                    raw.bytes(),
                );
            }
        }
    }

    /// Returns the number of handled events.
    pub fn events(&self) -> u64 {
        self.world.events
    }

    /// Returns the balance of all packets.
    pub fn balance(&self) -> Balance {
        self.world.balance()
    }

    /// Returns the counters of each agent, as in a result.
    pub fn agents(&self) -> Vec<Value> {
        agents_json(&self.scenario, self.world.agents.counters(self.world.now))
    }

    /// Returns the costs of each moving host's handoffs, as in a result.
    pub fn handoffs(&self) -> Vec<Value> {
        handoffs_json(&self.scenario, self.world.roaming.counters())
    }

    /// Returns the counters of each direction of each link, up to `now`.
    pub fn report(&mut self, now: Instant) -> Vec<LinkReport> {
        let ids: Vec<_> = self
            .bounded
            .each()
            .map(|(id, &bounded)| (id, bounded))
            .collect();
        let report = |(id, bounded): (LinkId, bool)| {
            let (waiting, waiting_bytes) = self.world.links.waiting(id, now);
            LinkReport {
                link: self.name(id).to_owned(),
                direction: id.direction().name(),
                bounded,
                waiting,
                waiting_bytes,
                metrics: metrics::named(
                    Scope::Link,
                    // Without flows, the number of packets that had to cross the link is unknown.
                    &metrics::of_link(&self.world, id, None, now.as_nanos()),
                ),
            }
        };
        ids.into_iter().map(report).collect()
    }

    /// Returns the link directions on the path from host `from` to host `to`, in order, as indices
    /// of [`Live::report`].
    pub fn path(&self, from: usize, to: usize) -> Vec<usize> {
        let (mut node, to) = (self.hosts[from].1, self.hosts[to].1);
        let mut crossed = Vec::new();
        // Routes that mobility changes may form a loop. The path therefore ends after as many links
        // as there are nodes.
        while node != to && crossed.len() < self.scenario.nodes.len() {
            let Some(link) = self.world.next_link(node, to) else {
                break;
            };
            crossed.extend(self.bounded.each().position(|(id, _)| id == link));
            node = self.world.links[link].to();
        }
        crossed
    }
}

/// Returns the scenario with a limit for each queue, and for each link direction whether the
/// scenario had none.
fn bounded(scenario: &Expanded) -> (Expanded, ById<LinkId, bool>) {
    let mut scenario = scenario.clone();
    let mut bounded = ById::default();
    for link in &mut scenario.links {
        for direction in [&mut link.down, &mut link.up] {
            bounded.push(direction.queue == QueueSpec::Unlimited);
            if direction.queue == QueueSpec::Unlimited {
                direction.queue = QueueSpec::Bytes(MAX_QUEUE);
            }
        }
    }
    (scenario, bounded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::load;
    use farlink_tcp::Body;

    const PATH: &str = "[[links]]\nbetween = [\"a\", \"r\"]\n\
        down = { rate = \"8 Mbit/s\", delay = \"10 ms\", queue = { packets = 2 } }\n\
        [[links]]\nbetween = [\"r\", \"b\"]\ndown = { rate = \"8 Mbit/s\", delay = \"5 ms\" }\n\
        [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\n";

    fn live(set: &[(String, String)]) -> Live {
        let scenario = load(PATH, "test", set).unwrap().expand().unwrap();
        Live::new(&scenario, 0).unwrap()
    }

    /// A datagram of 1000 bytes from node 0 to node `to`.
    fn datagram(to: u32) -> Vec<u8> {
        let packet = Packet::new(
            NodeId(0),
            NodeId(to),
            Payload::Udp(Datagram {
                body: Body::of_bytes(&[5; 972]),
                ..Datagram::default()
            }),
        );
        farlink_wire::encode(&packet, farlink_wire::Addresses::of(&packet)).unwrap()
    }

    fn arrivals(live: &mut Live, until: u64) -> Vec<(usize, u64, Vec<u8>)> {
        let mut out = Vec::new();
        live.advance(Instant::from_nanos(until), |host, due, raw| {
            out.push((host, due.as_nanos(), raw.into_bytes()));
        });
        out
    }

    /// Each of the two links takes 1 ms to send a packet, and the delays sum up to 15 ms. The queue
    /// holds two packets.
    #[test]
    fn packets_arrive_after_link_times_with_ttl_reduced() {
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

    /// Classes read the codepoint in the header of a real packet.
    #[test]
    fn expedited_packets_of_programs_leave_first() {
        let classes = [("links.0.down.classes", "[{ dscp = 'EF' }, {}]")];
        let mut live = live(&classes.map(|(key, value)| (key.to_owned(), value.to_owned())));
        let datagram_of_class = Datagram {
            dscp: farlink_tcp::Dscp::new(46),
            body: Body::of_bytes(&[5; 972]),
            ..Datagram::default()
        };
        let packet = Packet::new(NodeId(0), NodeId(2), Payload::Udp(datagram_of_class));
        let expedited = farlink_wire::encode(&packet, farlink_wire::Addresses::of(&packet));
        for bytes in [datagram(2), datagram(2), expedited.unwrap()] {
            live.send(Instant::from_nanos(5), 0, bytes).unwrap();
        }
        let all = arrivals(&mut live, 1_000_000_000);
        let classes: Vec<_> = all.iter().map(|arrival| arrival.2[1] >> 2).collect();
        assert_eq!(classes, [0, 46, 0]);
    }

    /// A queue without a limit holds 64 MiB. Of 46,000 packets of 1500 bytes at once, 44,740 fit
    /// and one is being sent. The rest are lost.
    #[test]
    fn unlimited_queue_is_bounded_to_64_mib_in_live_network() {
        let mut live = live(&[("links.0.down.queue".into(), "unlimited".into())]);
        let mut packet = datagram(2);
        packet.truncate(28);
        packet.resize(1500, 0);
        packet[2..4].copy_from_slice(&1500u16.to_be_bytes());
        packet[10..12].fill(0);
        let sum: u32 = packet[..20]
            .chunks(2)
            .map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])))
            .sum();
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        for _ in 0..46_000 {
            live.send(Instant::ZERO, 0, packet.clone()).unwrap();
        }
        let held = MAX_QUEUE / 1500 + 1;
        let report = live.report(Instant::ZERO);
        assert!(report[0].bounded && report[2].bounded);
        let lost = report[0].metrics["drops_congestion"].as_f64();
        assert_eq!(lost, Some((46_000 - held) as f64));
        assert_eq!(live.balance().inside, held);
    }

    #[test]
    fn live_network_refuses_packets_without_destination() {
        let mut live = live(&[]);
        let mut send = |bytes| live.send(Instant::ZERO, 0, bytes).unwrap_err();
        assert_eq!(send(vec![0x70; 40]), Refused::NotIp(NotIp::Version(7)));
        let itself = farlink_wire::node_address(NodeId(0));
        assert_eq!(send(datagram(0)), Refused::NoHost(itself.into()));
        let everybody = u32::from(EVERYBODY) - u32::from(itself);
        assert_eq!(send(datagram(everybody)), Refused::NoHost(EVERYBODY.into()));
    }

    /// Packets of other hosts for addresses outside of the network go to the uplink host; such
    /// packets of the uplink itself are refused. Packets that enter at the uplink may have a
    /// foreign source, and ICMP errors about them return to the uplink.
    #[test]
    fn uplink_gets_packets_for_unknown_addresses() {
        let mut live = live(&[]);
        let (_, far) = live.hosts().last().unwrap();
        let far_number = live.hosts().len() - 1;
        let beyond = 200 << 24 | 5;
        live.set_uplink(far, false);
        live.send(Instant::ZERO, 0, datagram(beyond)).unwrap();
        // An address in 10.0.0.0/8 that no node has.
        live.send(Instant::ZERO, 0, datagram(77)).unwrap();
        assert!(
            live.send(Instant::ZERO, far_number, datagram(beyond))
                .is_err()
        );
        let foreign = Ipv4Addr::new(192, 0, 2, 1);
        let packet = Packet {
            ttl: 1,
            ..Packet::new(NodeId(2), NodeId(0), Payload::Udp(Datagram::default()))
        };
        let addresses = farlink_wire::Addresses {
            src: foreign.into(),
            ..farlink_wire::Addresses::of(&packet)
        };
        let expired = farlink_wire::encode(&packet, addresses).unwrap();
        live.send(Instant::ZERO, far_number, expired).unwrap();
        let mut got = Vec::new();
        live.advance(Instant::from_nanos(10_000_000_000), |host, _, raw| {
            got.push((host, raw.destination()));
        });
        let answers = got.iter().filter(|(_, to)| *to == IpAddr::V4(foreign));
        assert_eq!(answers.count(), 1, "{got:?}");
        assert_eq!(got.len(), 3);
        assert!(got.iter().all(|&(host, _)| host == far_number));
    }

    /// Packets in flight keep their arrival times, and the next packet uses the changed link. A
    /// scenario with other nodes or flows is refused without any change.
    #[test]
    fn changed_link_applies_to_later_packets_only() {
        let mut live = live(&[]);
        live.keep_lost();
        let scenario = |set: &[(&str, &str)]| {
            let set: Vec<_> = set
                .iter()
                .map(|(p, v)| ((*p).into(), (*v).into()))
                .collect();
            load(PATH, "test", &set).unwrap().expand().unwrap()
        };
        live.send(Instant::ZERO, 0, datagram(2)).unwrap();
        let other = scenario(&[("flows.0.size", "2 kB"), ("links.0.down.delay", "1 ms")]);
        assert_eq!(live.set(&other), Err(ChangeError::OtherKey));
        live.set(&scenario(&[("links.0.down.delay", "2 ms")]))
            .unwrap();
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        live.send(at(1), 0, datagram(2)).unwrap();
        live.advance(at(20), |_, _, _| {});
        live.send(at(20), 0, datagram(2)).unwrap();
        let due: Vec<_> = arrivals(&mut live, 1_000_000_000);
        // Sent at 20 ms: 1 + 2 ms on the first link, 1 + 5 ms on the second.
        assert_eq!(due.iter().map(|a| a.1).collect::<Vec<_>>(), [29_000_000]);
        let lossy = scenario(&[("links.0.down.channel.loss", "1")]);
        live.set(&lossy).unwrap();
        let now = at(2000);
        live.send(now, 0, datagram(2)).unwrap();
        let mut lost = Vec::new();
        live.take_lost(|at, link, direction, cause, bytes| {
            lost.push((
                at,
                link.to_owned(),
                direction,
                cause.to_owned(),
                bytes.len(),
            ));
        });
        let at_end = Instant::from_nanos(2_001_000_000);
        assert_eq!(lost, [(at_end, "a-r".into(), "down", "loss".into(), 1000)]);
        assert_eq!(live.switch_channels(false, Some("a-r"), None), Ok(2));
        assert_eq!(live.channels_off().len(), 2);
        live.send(now, 0, datagram(2)).unwrap();
        assert_eq!(arrivals(&mut live, 3_000_000_000).len(), 1);
        assert_eq!(live.switch_channels(true, None, Some("down")), Ok(2));
        live.send(at(3000), 0, datagram(2)).unwrap();
        assert!(arrivals(&mut live, 4_000_000_000).is_empty());
    }

    #[test]
    fn links_with_a_protocol_cannot_be_changed() {
        let protocol = ("links.0.arq.protocol".to_owned(), "mdlp".to_owned());
        let mut live = live(std::slice::from_ref(&protocol));
        let delay = ("links.0.down.delay".to_owned(), "2 ms".to_owned());
        let changed = load(PATH, "test", &[protocol, delay]).unwrap();
        let failed = ChangeError::Protocol("a-r".to_owned());
        assert_eq!(live.set(&changed.expand().unwrap()), Err(failed.clone()));
        assert_eq!(live.switch_channels(false, None, None), Err(failed));
        assert_eq!(live.channels_off(), []);
    }

    /// If the queue of the sender's own first link refuses a packet, this is reported at once,
    /// without an event in the network.
    #[test]
    fn refusal_by_first_link_is_reported_without_an_event() {
        let mut live = live(&[("links.0.down.mtu".into(), "500 B".into())]);
        live.send(Instant::ZERO, 0, datagram(2)).unwrap();
        let all = arrivals(&mut live, 0);
        let [(0, 0, answer)] = all.as_slice() else {
            panic!("{all:?}")
        };
        assert_eq!(answer[20..22], [3, 4]);
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
