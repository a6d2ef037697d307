//! What comes next is asked for before it comes.
//!
//! A thousand flows are more than the nearest caches hold, and a segment that arrives waits for
//! memory again and again: for its packet, then for the end that it goes to, then for what that
//! end knows of its window and of holes. But a link knows what arrives next and after that, so
//! each arrival has the processor fetch what later ones will want. Nothing is read for that but
//! what says where things are, which an earlier step fetched.

use super::{World, end_of};
use crate::flow::{End, EndId};
use farlink_net::{LinkId, PacketId};

/// Bytes of all ends above which they are not in the nearest caches.
const LARGE: usize = 512 << 10;

// How many arrivals lie between this one and the one for which is fetched
/// its packet;
const PACKET: usize = 6;
/// the end that it goes to, what is counted there, and the options of its segment;
const END: usize = 4;
/// what that end keeps apart;
const APART: usize = 2;
/// and what it keeps apart from that.
const BEHIND: usize = 0;

impl World {
    /// Whether it pays to look ahead, which costs something for each arrival.
    pub(crate) fn is_large(&self) -> bool {
        self.ends.len() * size_of::<End>() > LARGE
    }

    /// A packet arrives over a link: what others behind it will want is fetched.
    #[inline(never)] // where little is in the way of the network nobody calls it
    pub(super) fn look_ahead(&self, link: LinkId) {
        self.links.prefetch(link, 16);
        self.packets.prefetch_draft();
        if let Some(number) = self.links.arrives_after(link, PACKET) {
            self.packets.prefetch(number);
        }
        if !self.looks_ahead {
            return;
        }
        if let Some((number, end)) = self.arrives_after(link, END) {
            self.packets.prefetch_options(number);
            farlink_prefetch::whole(&self.ends[end]);
            farlink_prefetch::whole(&self.tallies[end.flow()].transit);
        }
        if let Some((_, end)) = self.arrives_after(link, APART) {
            self.ends[end].conn.prefetch();
            self.tallies[end.flow()].transit.prefetch();
        }
        if let Some((_, end)) = self.arrives_after(link, BEHIND) {
            self.ends[end].conn.prefetch_behind();
        }
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
    use crate::run::Monitor;
    use farlink_net::{Direction, Id};

    fn world(flows: u32) -> World {
        let text = format!(
            "[[links]]\nbetween = [\"a\", \"b\"]\ndown = {{ rate = \"1 Gbit/s\", delay = \"20 ms\" }}\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 MB\"\ncount = {flows}\n"
        );
        let scenario = crate::scenario::load(&text, "", &[]);
        let scenario = scenario.and_then(|s| s.expand()).unwrap();
        build(&scenario, 0, &Monitor::default()).unwrap()
    }

    /// What is fetched is what then comes, in that order, and the end that then hears it.
    #[test]
    fn what_is_fetched_is_what_arrives() {
        let mut world = world(3);
        let link = LinkId::new(0, Direction::Down);
        let next = |world: &World, n| world.arrives_after(link, n);
        let mut heard = 0;
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
                heard += 1;
            }
        }
        assert_eq!(heard, 3 * 685); // a megabyte in segments of 1460 bytes
    }

    #[test]
    fn few_ends_are_in_the_cache_anyway() {
        assert!(!world(10).looks_ahead);
        assert!(world(500).looks_ahead);
    }
}
