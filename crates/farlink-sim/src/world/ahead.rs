//! Prefetching of what the next events need.
//!
//! A thousand flows are more than the nearest caches hold, and a segment that arrives waits for
//! memory again and again: for its packet, then for the end that it goes to, then for what that
//! end knows of its window and of holes. But a link knows what arrives next and after that, so
//! each arrival has the processor fetch what later ones will want. Nothing is read for that but
//! what says where things are, which an earlier step fetched.

use super::{World, end_of};
use crate::flow::{End, EndId};
use farlink_wire::{LinkId, PacketId};

/// Bytes of all ends above which they are not in the nearest caches.
const LARGE: usize = 512 << 10;

/// Number of later arrivals on the same link after which the packet is prefetched.
const PACKET: usize = 6;
/// Number of later arrivals after which the receiving end, its counters and the options of its
/// segment are prefetched.
const END: usize = 4;
/// After how many further arrivals, over whatever link, what that end keeps apart is fetched.
const APART: usize = 2;
/// Number of later arrivals (on any link) after which the end's heap parts are prefetched.
const BEHIND: usize = 3;

/// The ends that were fetched last.
#[derive(Default, Debug)]
pub(crate) struct Soon {
    ends: [EndId; 4],
    count: usize,
}

impl Soon {
    #[inline(always)] // as `look_ahead`
    fn push(&mut self, end: EndId) {
        self.ends[self.count % 4] = end;
        self.count += 1;
    }

    /// The one that was fetched so many ends before the last.
    #[inline(always)] // as `look_ahead`
    fn before(&self, ends: usize) -> EndId {
        self.ends[self.count.wrapping_sub(1 + ends) % 4]
    }
}

impl World {
    /// Returns whether prefetching pays, because it costs something for each arrival.
    pub(crate) fn is_large(&self) -> bool {
        self.ends.len() * size_of::<End>() > LARGE
    }

    /// A packet arrives over a link: what others behind it will want is fetched.
    #[inline(never)] // where little is in the way of the network nobody calls it
    pub(super) fn look_ahead(&mut self, link: LinkId) {
        self.links.prefetch(link, 16);
        self.packets.prefetch_draft();
        if let Some(number) = self.links.arrives_after(link, PACKET) {
            self.packets.prefetch(number);
        }
        if !self.looks_ahead {
            return;
        }
        let Some((number, end)) = self.arrives_after(link, END) else {
            return;
        };
        self.packets.prefetch_options(number);
        farlink_prefetch::whole(&self.ends[end]);
        farlink_prefetch::whole(&self.tallies[end.flow()].transit);
        self.soon.push(end);
        let apart = self.soon.before(APART);
        self.ends[apart].conn.prefetch();
        self.tallies[apart.flow()].transit.prefetch();
        let behind = self.soon.before(BEHIND);
        self.ends[behind].conn.prefetch_behind();
    }

    /// The packet that arrives over a link after so many others, and the end that it goes to, if it
    /// is of a flow over TCP.
    #[inline(always)] // as `look_ahead`
    fn arrives_after(&self, link: LinkId, others: usize) -> Option<(PacketId, EndId)> {
        let number = self.links.arrives_after(link, others)?;
        let label = self.packets.label(number);
        let brief = self.briefs.get(label.flow)?;
        let end = end_of(label.flow, label.from_opener, brief.sender_opens).other();
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

    /// Prefetched packets are those that arrive, in that order, and the prefetched end is the one
    /// that gets them.
    #[test]
    fn what_is_fetched_is_what_arrives() {
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
        assert_eq!(segments, 3 * 685); // a megabyte in segments of 1460 bytes
    }

    /// Heap parts of an end are prefetched after the end itself was fetched.
    #[test]
    fn ends_come_back_in_order() {
        let mut soon = Soon::default();
        for number in 0..10 {
            soon.push(EndId::at(number));
            for before in 0..=number.min(3) {
                assert_eq!(soon.before(before as usize), EndId::at(number - before));
            }
        }
    }

    #[test]
    fn few_ends_are_in_the_cache_anyway() {
        assert!(!world(10).looks_ahead);
        assert!(world(500).looks_ahead);
    }
}
