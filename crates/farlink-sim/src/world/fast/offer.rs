//! Fast offer of a segment to a link that nothing observes.
//!
//! General way: [`World::forward`](super::super::World::forward), which traced runs use.
//! `tests/whole_runs.rs` compares a traced run with an untraced one.

use crate::event_queue::{Event, EventQueue, Kind};
use farlink_link::{Links, Offered, Outcome};
use farlink_tcp::Instant;
use farlink_wire::{Label, LinkId, PacketId, Packets};

/// Offers a packet to a link. Returns `None` if the packet is in flight and the caller has nothing
/// else to do. Otherwise returns the link's answer, and `outcomes.len()` before the offer.
#[inline(always)] // called for each segment
pub(in crate::world) fn fast_offer(
    now: Instant,
    link: LinkId,
    packet: (PacketId, Label),
    links: &mut Links,
    packets: &mut Packets,
    outcomes: &mut Vec<Outcome>,
    queue: &mut EventQueue,
) -> Option<(Offered, usize)> {
    let before = outcomes.len();
    match links.offer_labelled(now, link, packet, packets, outcomes) {
        Offered::InFlight => None,
        Offered::FirstInFlight(at) => {
            queue.push(Event::new(at, Kind::Arrival, link.0, 0));
            None
        }
        offered => Some((offered, before)),
    }
}
