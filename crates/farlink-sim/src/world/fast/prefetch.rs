//! Prefetches memory for the next events.
//!
//! A thousand flows do not fit into the fastest caches. Without prefetching, an arriving segment
//! waits for memory three times: for its packet, for its end, and for the heap parts of this end.
//! The order of the next arrivals on a link is known, so each arrival prefetches memory for later
//! ones. Addresses are only read from memory that was prefetched before.
//!
//! The general way is none: memory is fetched when it is read. Prefetching changes only the run
//! time. The tests check that prefetched packets are those that arrive.

use super::super::{World, end_of};
use crate::event_queue::Event;
use crate::flow::{End, EndId};
use farlink_wire::{LinkId, NodeId, PacketId};

/// Total size of all ends in bytes above which they are prefetched, because they exceed the fastest
/// caches.
const LARGE: usize = 512 << 10;

/// Number of arrivals on the same link by which a packet is prefetched in advance.
const PACKET: usize = 6;
/// Number of arrivals on the same link by which a prefetch precedes its packet. The prefetch covers
/// the packet's receiving end, its counters and the options of its segment.
const END: usize = 4;
/// Number of arrivals on any link between the prefetch of an end and the prefetch of two more
/// parts: the heap parts of its connection, and the pieces of its flow's transit times.
const APART: usize = 2;
/// Number of arrivals on any link after which the memory that these heap parts point to is
/// prefetched.
const BEHIND: usize = 3;

/// Number of directions of links above which arrivals prefetch links.
const MANY_LINKS: usize = 512;
/// Number of cache lines of a link's direction that a packet reads.
const LINK_LINES: usize = 3;

/// Prefetching state of a run.
#[derive(Default, Debug)]
pub(crate) struct Prefetch {
    /// Set if arrivals prefetch ends.
    pub(crate) is_on: bool,
    /// Set if arrivals prefetch the links, packets and routes of later arrivals on other links.
    pub(crate) by_hop: bool,
    ring: PrefetchRing,
}

/// The last four prefetched ends.
#[derive(Default, Debug)]
struct PrefetchRing {
    ends: [EndId; 4],
    count: usize,
}

impl PrefetchRing {
    #[inline(always)] // like `fast_prefetch`
    fn push(&mut self, end: EndId) {
        self.ends[self.count % 4] = end;
        self.count += 1;
    }

    /// Returns the end that was prefetched `ends` ends before the last one.
    #[inline(always)] // like `fast_prefetch`
    fn before(&self, ends: usize) -> EndId {
        self.ends[self.count.wrapping_sub(1 + ends) % 4]
    }
}

impl World {
    /// Returns whether the ends are so large that prefetching gains more time than it costs.
    pub(crate) fn is_large(&self) -> bool {
        self.ends.len() * size_of::<End>() > LARGE
    }

    /// Prefetches memory for later packets on a link.
    #[inline(never)] // links with few packets in flight never call it
    pub(in crate::world) fn fast_prefetch(&mut self, link: LinkId) {
        self.links.prefetch(link, 16);
        self.packets.prefetch_draft();
        if let Some(number) = self.links.arrives_after(link, PACKET) {
            self.packets.prefetch(number);
        }
        if !self.prefetch.is_on {
            return;
        }
        let Some((number, end)) = self.arrives_after(link, END) else {
            return;
        };
        self.packets.prefetch_options(number);
        farlink_prefetch::whole(&self.ends[end]);
        farlink_prefetch::whole(&self.counters[end.flow()].transit);
        self.prefetch.ring.push(end);
        let apart = self.prefetch.ring.before(APART);
        self.ends[apart].conn.prefetch();
        self.counters[apart.flow()].transit.prefetch();
        let behind = self.prefetch.ring.before(BEHIND);
        self.ends[behind].conn.prefetch_behind();
    }

    /// Returns whether arrivals on links prefetch memory for arrivals on others. A hop then waits
    /// for memory, because there are many links and many flows.
    pub(crate) fn has_many_links(&self) -> bool {
        self.is_large() && self.links.ids().len() > MANY_LINKS
    }

    /// Puts the next arrival of a link, if any, in the place of the arrival that is due, and
    /// prefetches memory for arrivals that came nearer. Each level of the heap is a stage, whose
    /// addresses the stage before has fetched.
    #[inline(never)] // networks with few links never call it
    pub(in crate::world) fn fast_next_arrival(&mut self, next: Option<Event>) {
        let nearer = self.queue.next_arrival(next);
        let [soon, third, fourth, fifth, sixth, last] =
            nearer.map(|event| event.is_next_arrival().then(|| LinkId(event.source())));
        if let Some(link) = last {
            farlink_prefetch::lines(&self.links[link], LINK_LINES);
        }
        if let Some(link) = sixth {
            self.links.prefetch(link, 0);
        }
        if let Some(link) = fifth
            && let Some(packet) = self.links.arrives_after(link, 0)
        {
            self.packets.prefetch_label(packet);
        }
        if let Some(link) = fourth
            && let Some((packet, node, dst)) = self.fast_arrival(link)
        {
            if node == dst {
                self.packets.prefetch(packet);
            } else {
                self.nodes[node].prefetch_route(dst);
            }
        }
        if let Some(link) = third
            && let Some((_, node, dst)) = self.fast_arrival(link)
        {
            if node == dst {
                if let Some((number, end)) = self.arrives_after(link, 0) {
                    self.packets.prefetch_options(number);
                    farlink_prefetch::whole(&self.ends[end]);
                    farlink_prefetch::whole(&self.counters[end.flow()].transit);
                }
            } else {
                let next = self.nodes[node].next_hop(dst);
                if self.links.has(next) {
                    farlink_prefetch::lines(&self.links[next], LINK_LINES);
                }
            }
        }
        if let Some(link) = soon
            && let Some((_, node, dst)) = self.fast_arrival(link)
        {
            if node == dst {
                if let Some((_, end)) = self.arrives_after(link, 0) {
                    self.ends[end].conn.prefetch();
                    self.counters[end.flow()].transit.prefetch();
                }
            } else {
                let next = self.nodes[node].next_hop(dst);
                if self.links.has(next) {
                    self.links.prefetch(next, 0);
                }
            }
        }
    }

    /// Returns the packet that arrives next over a link, the node at its end, and its destination.
    #[inline(always)]
    fn fast_arrival(&self, link: LinkId) -> Option<(PacketId, NodeId, NodeId)> {
        let packet = self.links.arrives_after(link, 0)?;
        Some((
            packet,
            self.links[link].to(),
            self.packets.label(packet).dst,
        ))
    }

    /// Returns the packet that arrives over a link after `others` further packets, and its
    /// receiving end. Returns `None` if the packet does not belong to a TCP flow.
    #[inline(always)] // like `fast_prefetch`
    fn arrives_after(&self, link: LinkId, others: usize) -> Option<(PacketId, EndId)> {
        let number = self.links.arrives_after(link, others)?;
        let label = self.packets.label(number);
        let hot = self.hot.get(label.flow)?;
        let end = end_of(label.flow, label.from_opener, hot.sender_opens).other();
        Some((number, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::monitor::Monitor;
    use crate::scenario::Expanded;
    use farlink_wire::{Direction, Id};
    use std::fmt::Write;

    fn world(flows: u32) -> World {
        let text = format!(
            "[[links]]\nbetween = [\"a\", \"b\"]\ndown = {{ rate = \"1 Gbit/s\", delay = \"20 ms\" }}\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 MB\"\ncount = {flows}\n"
        );
        let scenario = crate::scenario::load(&text, "", &[]);
        let scenario = scenario.and_then(|s| s.expand()).unwrap();
        build(&scenario, 0, &Monitor::default()).unwrap()
    }

    /// Prefetched packets arrive in the expected order, at the prefetched ends.
    #[test]
    fn prefetches_the_packets_and_ends_of_later_arrivals() {
        let mut world = world(3);
        let link = LinkId::new(0, Direction::Down);
        let next = |world: &World, n| world.arrives_after(link, n);
        let mut segments = 0;
        while let Some(event) = world.next_event() {
            let here = event.is_next_arrival() && LinkId::at(event.source()) == link;
            let ahead = here.then(|| [0, 1, 2].map(|n| next(&world, n)));
            let fresh = |world: &World| -> Vec<_> {
                let ends = world.ends.iter();
                ends.map(|end| end.conn.segments_fresh()).collect()
            };
            let before = fresh(&world);
            world.step();
            let moved = |(number, _): &(u32, u64)| {
                fresh(&world)[*number as usize] > before[*number as usize]
            };
            let movers: Vec<_> = (0..).zip(before.clone()).filter(moved).collect();
            if let (Some([first, second, third]), [(end, _)]) = (ahead, &movers[..]) {
                assert_eq!(first.map(|first| first.1), Some(EndId::at(*end)));
                assert!(second.is_none() || [next(&world, 0), next(&world, 1)] == [second, third]);
                segments += 1;
            }
        }
        assert_eq!(segments, 3 * 685); // A megabyte in segments of 1460 bytes.
    }

    /// The heap parts of an end are prefetched after the end itself was fetched.
    #[test]
    fn ring_returns_ends_in_order() {
        let mut soon = PrefetchRing::default();
        for number in 0..10 {
            soon.push(EndId::at(number));
            for before in 0..=number.min(3) {
                assert_eq!(soon.before(before as usize), EndId::at(number - before));
            }
        }
    }

    /// Returns `flows` flows over a chain of `links` links, from its first node to its last.
    fn chain(links: u32, flows: u32) -> Expanded {
        let mut text = String::new();
        for link in 0..links {
            let next = link + 1;
            let _ = write!(
                text,
                "[[links]]\nbetween = [\"n{link}\", \"n{next}\"]\n\
                 down = {{ rate = \"1 Gbit/s\", delay = \"100 us\", channel = {{ loss = 0.001 }} }}\n"
            );
        }
        let _ = write!(
            text,
            "[[flows]]\nfrom = \"n0\"\nto = \"n{links}\"\nsize = \"20 kB\"\ncount = {flows}\n\
             stagger = \"1 ms\"\n"
        );
        let scenario = crate::scenario::load(&text, "", &[]);
        scenario.and_then(|s| s.expand()).unwrap()
    }

    /// Returns 120 separate paths of 5 links, with 5 flows each.
    fn many_links() -> Expanded {
        let mut text = String::new();
        for path in 0..120 {
            for link in 0..5 {
                let next = link + 1;
                let _ = write!(
                    text,
                    "[[links]]\nbetween = [\"p{path}n{link}\", \"p{path}n{next}\"]\ndown = {{ \
                     rate = \"20 Mbit/s\", delay = \"3 ms\", channel = {{ loss = 0.01 }} }}\n"
                );
            }
            let _ = write!(
                text,
                "[[flows]]\nfrom = \"p{path}n0\"\nto = \"p{path}n5\"\nsize = \"30 kB\"\n\
                 count = 5\nstagger = \"2 ms\"\n"
            );
        }
        let scenario = crate::scenario::load(&text, "", &[]);
        scenario.and_then(|s| s.expand()).unwrap()
    }

    #[test]
    fn prefetching_by_hop_changes_no_result_and_finds_the_next_arrival() {
        let scenario = many_links();
        let mut world = build(&scenario, 0, &Monitor::default()).unwrap();
        assert!(world.prefetch.by_hop);
        let mut plain = build(&scenario, 0, &Monitor::default()).unwrap();
        plain.prefetch.by_hop = false;
        let mut arrivals = 0;
        while let Some(event) = world.next_event() {
            assert_eq!(plain.next_event(), Some(event));
            if event.is_next_arrival() {
                let link = LinkId(event.source());
                let (packet, node, dst) = world.fast_arrival(link).unwrap();
                assert_eq!(node, world.links[link].to());
                assert_eq!(dst, world.packets[packet].dst);
                arrivals += 1;
            }
            assert_eq!(world.step(), plain.step());
        }
        assert_eq!(plain.next_event(), None);
        assert!(arrivals > 100_000, "{arrivals}");
    }

    #[test]
    fn prefetches_by_hop_only_with_many_links_and_flows() {
        let by_hop = |links, flows| {
            let world = build(&chain(links, flows), 0, &Monitor::default()).unwrap();
            world.prefetch.by_hop
        };
        assert!(!by_hop(10, 500) && !by_hop(300, 10) && by_hop(300, 500));
    }

    /// A path of 64 links outlives no packet of TTL 64, so routers of such a network count.
    #[test]
    fn routers_leave_the_ttl_only_on_paths_shorter_than_it() {
        for (links, free) in [(62, true), (63, true), (64, false), (70, false)] {
            let scenario = chain(links, 3);
            let mut world = build(&scenario, 0, &Monitor::default()).unwrap();
            world.fast_collapse_hops(&scenario);
            assert_eq!(world.is_loop_free, free, "{links}");
        }
    }

    #[test]
    fn prefetches_ends_only_beyond_the_nearest_cache() {
        assert!(!world(10).prefetch.is_on);
        assert!(world(500).prefetch.is_on);
    }
}
