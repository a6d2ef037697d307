//! Tin of CAKE: queues of flows under DRR++, with a fair share for each host.

use super::config::{CakeConfig, Isolation};
use super::diffserv::Share;
use super::flow::{Entry, Flow, Set};
use super::shaper::Clock;
use crate::discipline::cobalt::{CobaltConfig, Head};
use crate::discipline::fair::mix;
use crate::discipline::queue::{Drops, LONGEST_PACKET, Reason, Waiting};
use farlink_channel::rng::Stream;
use farlink_tcp::{Instant, Interval};
use std::collections::{BTreeMap, VecDeque};

/// Queues that a flow may take, and number of such groups: 1024 queues in total.
const WAYS: usize = 8;
const GROUPS: usize = 128;
/// Bytes that a queue may send in its turn, at least and at most.
const QUANTUM: (u64, u64) = (300, 1514);

/// Number of a queue.
pub(super) type Place = u16;

/// Numbers of bulk queues of each source host or destination host. A host without any is absent.
#[derive(Debug, Default)]
struct Loads(BTreeMap<u64, u32>);

impl Loads {
    fn of(&self, host: u64) -> u32 {
        self.0.get(&host).copied().unwrap_or(0)
    }

    fn add(&mut self, host: u64) {
        *self.0.entry(host).or_default() += 1;
    }

    fn subtract(&mut self, host: u64) {
        let load = self.0.entry(host).or_default();
        *load = load.saturating_sub(1);
        if *load == 0 {
            self.0.remove(&host);
        }
    }
}

/// Class of traffic with queues, a threshold and a weight of its own.
#[derive(Debug)]
pub(super) struct Tin {
    isolation: Isolation,
    seed: u64,
    cobalt: CobaltConfig,
    quantum: u32,
    pub(super) clock: Clock,
    /// Bytes that the tin may send in its turn without a shaper.
    pub(super) weight: u32,
    pub(super) deficit: i64,
    pub(super) packets: u32,
    groups: Vec<Option<Box<[Flow; WAYS]>>>,
    new: VecDeque<Place>,
    old: VecDeque<Place>,
    decaying: VecDeque<Place>,
    /// Loads of source hosts and of destination hosts.
    loads: [Loads; 2],
}

impl Tin {
    pub(super) fn new(config: &CakeConfig, share: Share) -> Self {
        let (numerator, denominator) = share.of_rate;
        let rate = config.rate.map(|rate| {
            let threshold = u128::from(rate) * u128::from(numerator) / u128::from(denominator);
            (threshold as u64).max(1)
        });
        let longest = rate.map_or(Interval::ZERO, |rate| {
            Interval::of_bits(u64::from(LONGEST_PACKET) * 8, rate)
        });
        let least = Interval::from_nanos(longest.as_nanos().saturating_mul(3) / 2);
        let target = config.target.max(least);
        let more = target.saturating_sub(config.target);
        Self {
            isolation: config.isolation,
            seed: config.seed,
            cobalt: CobaltConfig {
                target,
                interval: (config.interval + more).max(target.saturating_mul(2)),
                packet_time: longest,
                ecn: true,
            },
            quantum: rate.map_or(QUANTUM.1, |rate| {
                (rate / 8 / 4096).clamp(QUANTUM.0, QUANTUM.1)
            }) as u32,
            clock: Clock::new(rate.unwrap_or(1)),
            weight: share.weight,
            deficit: 0,
            packets: 0,
            groups: (0..GROUPS).map(|_| None).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
            loads: Default::default(),
        }
    }

    /// Returns whether a queue waits for its turn.
    pub(super) fn is_busy(&self) -> bool {
        !(self.new.is_empty() && self.old.is_empty())
    }

    pub(super) fn flow(&mut self, place: Place) -> &mut Flow {
        let (group, way) = (usize::from(place) / WAYS, usize::from(place) % WAYS);
        &mut self.groups[group].get_or_insert_default()[way]
    }

    /// Returns the queues that have been used, with their numbers.
    pub(super) fn flows(&self) -> impl Iterator<Item = (Place, &Flow)> {
        let used = self.groups.iter().enumerate();
        used.filter_map(|(group, flows)| Some((group, flows.as_deref()?)))
            .flat_map(|(group, flows)| {
                let numbered = flows.iter().enumerate();
                numbered.map(move |(way, flow)| ((group * WAYS + way) as Place, flow))
            })
    }

    /// Selects the queue of a packet: that of its flow, an idle one of the same group, or one that
    /// the flow then shares.
    pub(super) fn place(&mut self, packet: &Waiting, hosts: [u64; 2]) -> Place {
        let tag = mix(self.isolation.key(packet.flow, hosts) ^ self.seed);
        let hash = tag as usize % (GROUPS * WAYS);
        let (group, first) = (hash / WAYS, hash % WAYS);
        let flows = self.groups[group].get_or_insert_default();
        let mut ways = (first..WAYS).chain(0..first);
        let own = ways.clone().find(|&way| flows[way].tag == tag);
        let own = own.or_else(|| ways.find(|&way| flows[way].set == Set::None));
        let way = own.unwrap_or(first);
        let flow = &mut flows[way];
        let is_shared = own.is_none();
        flow.tag = tag;
        let place = (group * WAYS + way) as Place;
        if flow.set == Set::None || is_shared {
            let was = std::mem::replace(&mut flow.hosts, hosts);
            if flow.set == Set::Bulk {
                self.count(was, Loads::subtract);
                self.count(hosts, Loads::add);
            }
        }
        place
    }

    /// Changes the loads of the hosts of a queue.
    fn count(&mut self, hosts: [u64; 2], change: fn(&mut Loads, u64)) {
        for (side, host) in hosts.into_iter().enumerate() {
            if self.isolation.shares_between(side) {
                change(&mut self.loads[side], host);
            }
        }
    }

    /// Returns the quantum of a queue.
    fn quantum(&mut self, place: Place) -> i64 {
        let hosts = self.flow(place).hosts;
        let load = |side: usize| self.loads[side].of(hosts[side]);
        let load = load(0).max(load(1));
        let quantum = self.quantum;
        self.flow(place).quantum(quantum, load)
    }

    /// Changes the kind of a queue, and counts bulk queues.
    fn set(&mut self, place: Place, set: Set) {
        let flow = self.flow(place);
        let before = std::mem::replace(&mut flow.set, set);
        let hosts = flow.hosts;
        match (before == Set::Bulk, set == Set::Bulk) {
            (false, true) => self.count(hosts, Loads::add),
            (true, false) => self.count(hosts, Loads::subtract),
            _ => {}
        }
    }

    /// Appends a packet to a queue, which then takes part in the rounds.
    pub(super) fn push(&mut self, place: Place, entry: Entry) {
        self.packets += 1;
        let flow = self.flow(place);
        flow.push(entry);
        match flow.set {
            Set::None | Set::Decaying => {
                if flow.set == Set::Decaying {
                    self.decaying.retain(|&other| other != place);
                }
                self.new.push_back(place);
                self.set(place, Set::Sparse);
                let quantum = self.quantum(place);
                self.flow(place).deficit = quantum;
            }
            Set::SparseWait => self.set(place, Set::Bulk),
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// Removes the packet at a position of a queue.
    pub(super) fn remove(&mut self, place: Place, position: usize) -> Option<Entry> {
        let entry = self.flow(place).remove(position)?;
        self.packets -= 1;
        Some(entry)
    }

    /// Removes the first packet of a queue, because the memory is full.
    pub(super) fn overflow(&mut self, place: Place, now: Instant) -> Option<Entry> {
        let config = self.cobalt;
        self.flow(place).cobalt.on_overflow(&config, now);
        self.remove(place, 0)
    }

    /// Serves the queue whose turn it is. Returns `None` if that queue turned out to be empty.
    /// `looks_at_decaying` is cleared once an empty queue has been looked at.
    pub(super) fn serve(
        &mut self,
        now: Instant,
        looks_at_decaying: &mut bool,
        random: &mut Stream,
        drops: &mut Drops,
    ) -> Option<(Entry, bool)> {
        loop {
            let decaying = self.decaying.front().filter(|_| *looks_at_decaying);
            *looks_at_decaying = false;
            let place = *decaying
                .or_else(|| self.new.front())
                .or_else(|| self.old.front())?;
            if self.flow(place).deficit <= 0 {
                self.end_turn(place);
                continue;
            }
            if let Some(leaving) = self.take(place, now, random, drops) {
                return Some(leaving);
            }
            self.retire(place, now);
            return None;
        }
    }

    /// Gives a queue without deficit its quantum, and its place at the end of the old queues.
    fn end_turn(&mut self, place: Place) {
        let flow = self.flow(place);
        if flow.set == Set::Sparse {
            let set = if flow.queue.is_empty() {
                Set::SparseWait
            } else {
                Set::Bulk
            };
            self.new.pop_front();
            self.set(place, set);
        } else {
            self.old.pop_front();
        }
        let quantum = self.quantum(place);
        self.flow(place).deficit += quantum;
        self.old.push_back(place);
    }

    /// Removes the next packet of a queue under COBALT. Returns the packet, and whether it is
    /// marked.
    fn take(
        &mut self,
        place: Place,
        now: Instant,
        random: &mut Stream,
        drops: &mut Drops,
    ) -> Option<(Entry, bool)> {
        let config = self.cobalt;
        loop {
            let entry = self.remove(place, 0)?;
            let flow = self.flow(place);
            // Flows do not wait for each other's queues in the sense of COBALT (only in Linux's
            // ingress mode), so the number of busy flows is 0.
            let head = flow.cobalt.decide(&config, &entry.waiting, now, 0, random);
            // The last packet of a flow is never dropped: no later packet would reveal its loss.
            if head == Head::Drop && !flow.queue.is_empty() {
                drops.push((entry.waiting, Reason::Control));
                continue;
            }
            let wire = i64::from(entry.wire);
            flow.deficit -= wire;
            self.deficit -= wire;
            return Some((entry, head == Head::Mark));
        }
    }

    /// Takes an empty queue out of the rounds.
    fn retire(&mut self, place: Place, now: Instant) {
        let config = self.cobalt;
        let flow = self.flow(place);
        flow.cobalt.on_empty(&config, now);
        let (set, at_rest) = (flow.set, flow.cobalt.is_at_rest(now));
        match set {
            Set::Decaying => self.decaying.pop_front(),
            Set::Sparse => self.new.pop_front(),
            Set::SparseWait | Set::Bulk | Set::None => self.old.pop_front(),
        };
        if at_rest {
            self.set(place, Set::None);
        } else {
            self.decaying.push_back(place);
            self.set(place, Set::Decaying);
        }
    }

    #[cfg(test)]
    pub(super) fn law(&self) -> CobaltConfig {
        self.cobalt
    }

    #[cfg(test)]
    pub(super) fn load(&self, side: usize, host: u64) -> u32 {
        self.loads[side].of(host)
    }

    #[cfg(test)]
    pub(super) fn largest_turn(&self) -> u32 {
        self.quantum
    }

    /// Removes all packets. Queues keep the state of COBALT.
    pub(super) fn drain(&mut self, mut each: impl FnMut(Waiting)) {
        for flows in self.groups.iter_mut().flatten() {
            for flow in flows.iter_mut() {
                flow.queue.drain(..).for_each(|entry| each(entry.waiting));
                (flow.bytes, flow.set) = (0, Set::None);
            }
        }
        (self.packets, self.loads) = (0, Default::default());
        self.new.clear();
        self.old.clear();
        self.decaying.clear();
    }
}
