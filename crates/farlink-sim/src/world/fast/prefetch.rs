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
use crate::flow::{End, EndId};
use farlink_wire::{LinkId, PacketId};

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

/// Prefetching state of a run.
#[derive(Default, Debug)]
pub(crate) struct Prefetch {
    /// Set if arrivals prefetch ends.
    pub(crate) is_on: bool,
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
    use farlink_wire::{Direction, Id};

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

    #[test]
    fn prefetches_ends_only_beyond_the_nearest_cache() {
        assert!(!world(10).prefetch.is_on);
        assert!(world(500).prefetch.is_on);
    }
}
