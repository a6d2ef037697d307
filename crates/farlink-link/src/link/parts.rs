//! Links of a network whose parts run apart: packets change parts in flight, and both parts have a
//! copy of the link.

use super::{Links, Simplex};
use farlink_channel::DropCause;
use farlink_tcp::{Instant, Interval, Priority};
use farlink_wire::id::{LinkId, PacketId};

impl Simplex {
    /// Returns whether the two nodes of the direction may be in different parts. Its packets then
    /// arrive in order, each at least the delay after its offer, and the far end has no state.
    pub fn may_join_parts(&self) -> bool {
        !self.features.carries_frames
            && !self.features.reports_departures
            && !self.medium.is_shared
            && self.compression.is_none()
            && self.mtu.is_none()
            && self.channel().keeps_order()
            && self.config().delay > Interval::ZERO
    }
}

impl Links {
    /// Removes the packets in flight of a direction, and passes each with its arrival time to
    /// `take`, in order.
    pub fn drain_in_flight(&mut self, id: LinkId, mut take: impl FnMut(Instant, PacketId)) {
        let in_flight = &mut self[id].in_flight;
        while let Some(next) = in_flight.pop_front() {
            take(next.arrives, next.packet);
        }
    }

    /// Exchanges a direction with that of the other copy of these links.
    pub fn swap_direction(&mut self, other: &mut Self, id: LinkId) {
        std::mem::swap(&mut self[id], &mut other[id]);
    }

    /// Exchanges the link-layer protocol of a link with that of the other copy of these links.
    pub fn swap_protocol(&mut self, other: &mut Self, link: u32) {
        let link = link as usize;
        std::mem::swap(&mut self.arq[link], &mut other.arq[link]);
    }

    /// Adds the drops that the far end of a direction counted in the other copy of these links.
    pub fn add_far_drops(&mut self, other: &Self, id: LinkId) {
        let far = other[id].stats();
        for cause in DropCause::ALL.iter().copied() {
            let (all, low) = (far.drops[cause as usize], far.low_drops[cause as usize]);
            for number in 0..all {
                let priority = if number < low {
                    Priority::Low
                } else {
                    Priority::Normal
                };
                self.count_drop(id, cause, priority);
            }
        }
    }
}
