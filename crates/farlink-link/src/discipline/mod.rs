//! Queue disciplines: which waiting packet leaves next, and which packets are dropped or marked.
//!
//! A discipline replaces the FIFO queue in front of a transmitter. The link offers each packet that
//! has to wait, and requests the next one when the transmitter is free. Disciplines read no clock:
//! the caller passes in the time.

mod cake;
mod classes;
mod cobalt;
mod codel;
mod custom;
mod dual_pi2;
mod fair;
mod head_drop;
mod pie;
mod queue;
mod red;

pub use cake::{AckFilter, Cake, CakeConfig, Framing, Isolation, Labels, Overhead, Tins};
pub use classes::{ClassConfig, Classes};
pub use cobalt::CobaltConfig;
pub use codel::{Codel, CodelConfig};
pub use custom::{Custom, Decision, Dropper, Verdict};
pub use dual_pi2::{DualPi2, DualPi2Config};
pub use fair::{Fair, FairConfig, FairQueue};
pub use head_drop::HeadDrop;
pub use pie::{Pie, PieConfig};
pub use queue::{Drops, LONGEST_PACKET, Leaving, Reason, Waiting};
pub use red::{Red, RedConfig};

use crate::link::config::QueueLimit;
use farlink_tcp::{Dscp, Instant, Interval};
use farlink_wire::id::PacketId;
use farlink_wire::packet::Packet;

/// Queue discipline of one direction of a link.
#[derive(Debug)]
pub enum Discipline {
    /// CoDel (RFC 8289).
    Codel(Codel),
    /// PIE (RFC 8033).
    Pie(Pie),
    /// RED (Floyd and Jacobson 1993), with its gentle and adaptive forms.
    Red(Red),
    /// Dual queue with a coupled PI2 controller (RFC 9332).
    DualPi2(DualPi2),
    /// FIFO queue that drops its first packet when full.
    HeadDrop(HeadDrop),
    /// A queue per flow, served by deficit round robin (RFC 8290).
    Fair(Fair),
    /// CAKE: a shaper, tins, and a queue per flow with a fair share for each host.
    Cake(Box<Cake>),
    /// Classes by Diffserv codepoint, each with a queue of its own.
    Classes(Box<Classes>),
    /// FIFO queue under a law outside of the engine.
    Custom(Box<Custom>),
}

impl Discipline {
    /// Offers a packet as [`Self::enqueue`] does, with all that a discipline may read in the packet.
    pub fn offer(
        &mut self,
        now: Instant,
        (waiting, packet): (Waiting, &Packet),
        drops: &mut Drops,
    ) -> Option<bool> {
        match self {
            Self::Cake(queue) => queue.enqueue(now, waiting, &queue.labels(packet), drops),
            Self::Classes(queue) => queue.enqueue(now, waiting, packet.dscp(), drops),
            _ => self.enqueue(now, waiting, drops),
        }
    }

    /// Offers a packet that has to wait. Dropped packets, possibly including the offered one, are
    /// added to `drops`. Returns whether the packet was marked on arrival, or `None` if it was
    /// dropped.
    pub fn enqueue(&mut self, now: Instant, packet: Waiting, drops: &mut Drops) -> Option<bool> {
        match self {
            Self::Codel(queue) => queue.enqueue(packet, drops).then_some(false),
            Self::Pie(queue) => queue.enqueue(now, packet, drops),
            Self::Red(queue) => queue.enqueue(now, packet, drops),
            Self::DualPi2(queue) => queue.enqueue(now, packet, drops),
            Self::Fair(queue) => queue.enqueue(now, packet, drops),
            Self::HeadDrop(queue) => queue.enqueue(packet, drops).then_some(false),
            Self::Cake(queue) => queue.enqueue(now, packet, &Labels::default(), drops),
            Self::Classes(queue) => queue.enqueue(now, packet, Dscp::DEFAULT, drops),
            Self::Custom(queue) => queue.enqueue(now, packet, drops),
        }
    }

    /// Removes the packet that the transmitter sends next. Packets that the discipline drops first
    /// are added to `drops`.
    pub fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Leaving> {
        match self {
            Self::Codel(queue) => queue.dequeue(now, drops),
            Self::Pie(queue) => queue.dequeue(now),
            Self::Red(queue) => queue.dequeue(now),
            Self::DualPi2(queue) => queue.dequeue(now, drops),
            Self::Fair(queue) => queue.dequeue(now, drops),
            Self::HeadDrop(queue) => queue.dequeue(),
            Self::Cake(queue) => queue.dequeue(now, drops),
            Self::Classes(queue) => queue.dequeue(now, drops),
            Self::Custom(queue) => queue.dequeue(now, drops),
        }
    }

    /// Returns whether a packet precedes all waiting packets, so that an idle transmitter sends it
    /// at once.
    pub(crate) fn passes(&self, packet: &Packet) -> bool {
        match self {
            Self::Classes(queue) => queue.passes(packet.dscp()),
            _ => false,
        }
    }

    /// Returns the time before which no packet may leave, though packets wait: the schedule of a
    /// shaper.
    pub fn ready_at(&self) -> Instant {
        match self {
            Self::Cake(queue) => queue.ready_at(),
            _ => Instant::ZERO,
        }
    }

    /// Returns the number and bytes of the waiting packets.
    pub fn queued(&self) -> (u32, u64) {
        match self {
            Self::Codel(queue) => queue.queued(),
            Self::Pie(queue) => queue.queued(),
            Self::Red(queue) => queue.queued(),
            Self::DualPi2(queue) => queue.queued(),
            Self::Fair(queue) => queue.queued(),
            Self::HeadDrop(queue) => queue.queued(),
            Self::Cake(queue) => queue.queued(),
            Self::Classes(queue) => queue.queued(),
            Self::Custom(queue) => queue.queued(),
        }
    }
}

impl Discipline {
    /// Replaces the limit, for packets offered from now on.
    pub fn set_limit(&mut self, limit: QueueLimit) {
        match self {
            Self::Codel(queue) => queue.limit = limit,
            Self::Pie(queue) => queue.limit = limit,
            Self::Red(queue) => queue.limit = limit,
            Self::DualPi2(queue) => queue.limit = limit,
            Self::Fair(queue) => queue.limit = limit,
            Self::HeadDrop(queue) => queue.limit = limit,
            Self::Cake(queue) => queue.limit = limit,
            Self::Classes(queue) => queue.set_limit(limit),
            Self::Custom(queue) => queue.limit = limit,
        }
    }

    /// Replaces the transmission time of the longest packet, which changes with the rate of the link.
    pub fn set_packet_time(&mut self, packet_time: Interval) {
        match self {
            Self::Red(queue) => queue.set_packet_time(packet_time),
            Self::Fair(queue) => queue.set_packet_time(packet_time),
            Self::Classes(queue) => queue.set_packet_time(packet_time),
            // CAKE counts in packets of its shaper.
            Self::Codel(_)
            | Self::Pie(_)
            | Self::DualPi2(_)
            | Self::HeadDrop(_)
            | Self::Custom(_)
            | Self::Cake(_) => {}
        }
    }

    /// Removes all packets, queue by queue. The laws then see empty queues.
    pub fn drain(&mut self) -> Vec<PacketId> {
        let mut packets = Vec::new();
        match self {
            Self::Codel(queue) => queue.drain(&mut packets),
            Self::Pie(queue) => queue.drain(&mut packets),
            Self::Red(queue) => queue.drain(&mut packets),
            Self::HeadDrop(queue) => queue.queue.drain(&mut packets),
            Self::DualPi2(queue) => queue.drain(&mut packets),
            Self::Fair(queue) => queue.drain(&mut packets),
            Self::Cake(queue) => queue.drain(&mut packets),
            Self::Classes(queue) => queue.drain(&mut packets),
            Self::Custom(queue) => queue.drain(&mut packets),
        }
        packets
    }
}

#[cfg(test)]
mod edges;
#[cfg(test)]
mod tests;
